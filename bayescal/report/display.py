"""CalibrationDisplay: the reliability diagram of an estimator or of predictions, with scikit-learn's interface."""

from typing import Any

import numpy as np

from bayescal import _checks, _render
from bayescal._arrays import Array, Axes, Figure, Line2D, SubFigure
from bayescal._invalid import quoted
from bayescal._meant import public
from bayescal._synonyms import BINNINGS as STRATEGIES
from bayescal._texts import text_of
from bayescal.analyses.one import DEFAULT_MODEL
from bayescal.data.columns import class_numbers, column, own_hints
from bayescal.data.frames import column_names, same_rows, to_array
from bayescal.data.matrix import refuse_contradiction
from bayescal.evaluate import evaluate
from bayescal.report.drawing import axes_or_new
from bayescal.report.overlay import add_evaluation, known_properties
from bayescal.results.evaluation import Evaluation
from bayescal.stats.bins import Bins

#: Pairs of labels whose second label is positive if `pos_label` is not given, as in scikit-learn.
PAIRS = ((0, 1), (-1, 1))


@public
class CalibrationDisplay:
    """Reliability diagram with credible bars, with the interface of scikit-learn's class of the same name.

    Create it with `from_estimator` or `from_predictions`, which also draw it. scikit-learn need not be installed, and
    every classifier with ``predict_proba`` and ``classes_`` can be used.

    Parameters
    ----------
    evaluation : Evaluation
        The result of `evaluate`.
    y_prob : ndarray, optional
        The probabilities that were evaluated.
    estimator_name : str, optional
        Name in the legend.
    pos_label : int, float, bool or str, optional
        The positive class, which the axis labels state.
    prob : float, default 0.95
        Probability of the credible intervals, in (0, 1).

    Attributes
    ----------
    evaluation : Evaluation
        The full result: the posterior of the ECE, tables, sentence, counts.
    prob_true, prob_pred : ndarray, shape (n_occupied,)
        Share of positives and mean probability of each bin with rows.
    line_ : matplotlib Line2D
        The dots, and the line through them if they are connected, after `plot`.
    ax_ : matplotlib Axes
        The axes, after `plot`; the histogram is ``ax_.child_axes[0]``.
    figure_ : matplotlib Figure
        The figure, after `plot`.

    See Also
    --------
    plot_reliability : The diagram of evaluations.

    Notes
    -----
    There are five differences from scikit-learn:

    - The default number of bins is 15, as everywhere in bayescal; in scikit-learn it is 5.
    - Bins are [a, b), the last one is closed; in scikit-learn they are (a, b]. With ``strategy="uniform"``, `prob_true`
      and `prob_pred` agree unless a probability equals an inner edge, such as 0.2 with five bins.
    - ``strategy="quantile"`` gives bins whose numbers of rows differ by at most one if no probabilities are equal;
      equal probabilities share a bin. scikit-learn interpolates between rows. Both choose the same bins if the number
      of rows is a multiple of the number of bins and no probabilities are equal.
    - The dots are not connected; ``linestyle="-"`` connects them.
    - Classifiers with more than two classes are accepted.

    Examples
    --------
    >>> p = rng.random(1000)
    >>> y = np.where(rng.random(1000) < p, "yes", "no")
    >>> display = bc.CalibrationDisplay.from_predictions(
    ...     y, p, n_bins=5, pos_label="yes", name="forest", rng=1, ax=Figure().subplots()
    ... )
    >>> display
    CalibrationDisplay(forest: event ECE 0.01... [0.000, 0.0...])
    >>> display.prob_pred.round(2)
    array([0.1, 0.3, 0.5, 0.7, 0.9])
    """

    line_: "Line2D"
    ax_: "Axes"
    figure_: "Figure | SubFigure"

    def __init__(
        self,
        evaluation: Evaluation,
        y_prob: Array | None = None,
        *,
        estimator_name: str | None = None,
        pos_label: Any = None,
        prob: float = 0.95,
    ) -> None:
        remedy = ": use `from_estimator` or `from_predictions`, or make one with `bayescal.evaluate(y_true, y_prob)`."
        _checks.instance("evaluation", evaluation, Evaluation, remedy)
        self.evaluation = evaluation
        self.y_prob = y_prob
        self.estimator_name = estimator_name
        self.pos_label = pos_label
        self.prob = _checks.fraction("prob", prob)

    @property
    def name(self) -> str | None:
        """The name in the legend."""
        return self.estimator_name

    @property
    def prob_true(self) -> Array:
        """Share of positives in each bin with rows."""
        return self.evaluation.counts.accuracy[self.evaluation.counts.occupied]

    @property
    def prob_pred(self) -> Array:
        """Mean probability in each bin with rows."""
        return self.evaluation.counts.mean_confidence[self.evaluation.counts.occupied]

    def __repr__(self) -> str:
        low, high = self.evaluation.ece.interval(self.prob)
        mean, low, high = _render.numbers(self.evaluation.ece.mean(), low, high, least=3)
        name = "" if self.estimator_name is None else f"{_render.name(self.estimator_name)}: "
        return f"{type(self).__name__}({name}{self.evaluation.counts.target} ECE {mean} [{low}, {high}])"

    def plot(
        self,
        *,
        ax: "Axes | None" = None,
        name: str | None = None,
        ref_line: bool = True,
        reference_color: Any = None,
        above_color: Any = None,
        below_color: Any = None,
        **kwargs: Any,
    ) -> "CalibrationDisplay":
        """Draw the diagram, or add it to one that `ax` holds.

        The result is the display itself, with `line_`, `ax_` and `figure_`.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; by default on a new pyplot figure. On axes with the diagram of another display, the line,
            bars, histogram and legend entry are added.
        name : str, optional
            Name in the legend; by default `estimator_name`.
        ref_line : bool, default True
            Whether the diagonal and the sides above and below it are drawn.
        reference_color, above_color, below_color : matplotlib color, optional
            Colours of the diagonal and of its sides.
        **kwargs
            Properties of the line, as for matplotlib's ``plot``: ``color``, ``marker``, ``linestyle`` and so on. By
            default the dots are not connected; ``linestyle="-"`` connects them. The color is also that of the bars and
            the histogram. ``label`` replaces the whole entry of the legend.

        Raises
        ------
        ValueError
            If a color is unknown to matplotlib, or `ax` holds another plot of bayescal that is divided into parts, or a
            diagram of another target.
        TypeError
            If `ax` is not an Axes.
        """
        ax = axes_or_new(ax, figsize=(5.6, 6.4))
        about = "" if self.pos_label is None else f" (positive class: {_render.name(self.pos_label)})"
        self.line_ = add_evaluation(
            ax, self.evaluation, self.estimator_name if name is None else name,
            prob=self.prob, ref_line=ref_line, style=kwargs, about=about,
            reference_color=reference_color, above_color=above_color, below_color=below_color,
        )  # fmt: skip
        self.ax_, self.figure_ = ax, ax.figure
        return self

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,  # scikit-learn's name
        y: Any,
        *,
        n_bins: Any = 15,
        strategy: str = "uniform",
        pos_label: Any = None,
        name: str | None = None,
        ax: "Axes | None" = None,
        ref_line: bool = True,
        prob: float = 0.95,
        model: str = DEFAULT_MODEL,
        draws: int = 4000,
        rng: Any = None,
        weights: Any = None,
        **kwargs: Any,
    ) -> "CalibrationDisplay":
        """Evaluate a fitted classifier on data and draw the diagram.

        With two classes, the target is ``event``: is the positive class as frequent as stated? With more classes and no
        `pos_label`, it is the default of `evaluate`, ``top-label``: is the most probable class right as often as its
        probability states? With `pos_label`, it is ``event`` for that class against all others.

        Parameters
        ----------
        estimator : object
            A fitted classifier with ``predict_proba`` and ``classes_``, such as a Pipeline, GridSearchCV or
            CalibratedClassifierCV. Evaluate it on data that it was not fitted to.
        X : array-like
            Features, as for ``estimator.predict_proba``.
        y : array-like, shape (n_rows,)
            Labels; every one must be a class of the estimator.
        n_bins : int, array-like or Bins, default 15
            Number of bins, or edges. scikit-learn's default is 5.
        strategy : {"uniform", "quantile"}, default "uniform"
            Bins of equal width, or with equal numbers of rows.
        pos_label : int, float, bool or str, optional
            The positive class; by default ``estimator.classes_[1]`` if there are two.
        name : str, optional
            Name in the legend; by default the name of the estimator's class.
        ax, ref_line, **kwargs
            As for `plot`.

        Raises
        ------
        TypeError
            If the estimator has no ``predict_proba`` or no ``classes_``.
        ValueError
            If a label or `pos_label` is not a class of the estimator, and as for `evaluate`. An error of the estimator,
            such as scikit-learn's ``NotFittedError``, is passed through.

        Examples
        --------
        >>> from sklearn.datasets import load_breast_cancer
        >>> from sklearn.naive_bayes import GaussianNB
        >>> X, y = load_breast_cancer(return_X_y=True)
        >>> classifier = GaussianNB().fit(X[::2], y[::2])
        >>> display = bc.CalibrationDisplay.from_estimator(classifier, X[1::2], y[1::2], rng=1, ax=Figure().subplots())
        >>> display.estimator_name, display.pos_label, round(display.evaluation.ece.mean(), 2)
        ('GaussianNB', 1, 0.06)
        """
        known_properties("CalibrationDisplay.from_estimator", kwargs)
        same_rows({"X": X, "y": y, "weights": weights})
        matrix, classes = _predicted(estimator, X)
        number = class_numbers("y", column("y", to_array("y", y)), classes, "the classes of `estimator`")
        _checks.same_length(("y", "X"), (len(number), len(matrix)))
        options = {"n_bins": n_bins, "strategy": strategy, "model": model, "draws": draws, "rng": rng}
        options |= {"weights": weights}
        if pos_label is None and len(classes) == 2:
            pos_label = classes[1]
        if pos_label is None:
            evaluation, y_prob = _evaluated(number, matrix, **options), matrix
        else:
            positive = _position(pos_label, classes)
            y_prob = matrix[:, positive]
            evaluation = _evaluated((number == positive).astype(np.int64), y_prob, **options)
        shown = type(estimator).__name__ if name is None else name
        display = cls(evaluation, y_prob, estimator_name=shown, pos_label=pos_label, prob=prob)
        return display.plot(ax=ax, ref_line=ref_line, **kwargs)

    @classmethod
    def from_predictions(
        cls,
        y_true: Any,
        y_prob: Any,
        *,
        n_bins: Any = 15,
        strategy: str = "uniform",
        pos_label: Any = None,
        name: str | None = None,
        ax: "Axes | None" = None,
        ref_line: bool = True,
        prob: float = 0.95,
        model: str = DEFAULT_MODEL,
        draws: int = 4000,
        rng: Any = None,
        weights: Any = None,
        **kwargs: Any,
    ) -> "CalibrationDisplay":
        """Evaluate predictions and draw the diagram.

        Parameters
        ----------
        y_true : array-like, shape (n_rows,)
            Labels. With a column of probabilities, two labels at most.
        y_prob : array-like, shape (n_rows,) or (n_rows, n_classes)
            Probabilities of the positive class, with target ``event``; or of every class, with the default target of
            `evaluate`, ``top-label``. The columns of a data frame name the classes; those of an array are 0..K-1.
        n_bins, strategy, name, ax, ref_line, prob, model, draws, rng, weights, **kwargs
            As for `from_estimator`; the default name is "Classifier".
        pos_label : int, float, bool or str, optional
            The positive class. By default 1, if the labels are 0 and 1 or -1 and 1; required for other labels.

        Raises
        ------
        ValueError, TypeError
            If one column of probabilities has more than two labels, `pos_label` is missing or is not a label; and as
            for `evaluate`.

        Examples
        --------
        >>> display = bc.CalibrationDisplay.from_predictions(
        ...     [-1, 1, 1, 1], [0.2, 0.4, 0.7, 0.9], n_bins=2, rng=1, ax=Figure().subplots()
        ... )
        >>> display.prob_true, display.prob_pred
        (array([0.5, 1. ]), array([0.3, 0.8]))
        """
        known_properties("CalibrationDisplay.from_predictions", kwargs)
        same_rows({"y_true": y_true, "y_prob": y_prob, "weights": weights})
        probabilities = to_array("y_prob", y_prob)
        options = {"n_bins": n_bins, "strategy": strategy, "model": model, "draws": draws, "rng": rng}
        options |= {"weights": weights}
        if probabilities.ndim == 2 and probabilities.shape[1] > 1:
            if pos_label is not None:
                raise ValueError(text_of("probabilities of the displayed label"))
            evaluation = _evaluated(y_true, y_prob, **options)
        else:
            probabilities = column("y_prob", probabilities)
            outcome, pos_label = _outcomes(y_true, pos_label)
            evaluation = _evaluated(outcome, probabilities, **options)
        shown = "Classifier" if name is None else name
        display = cls(evaluation, probabilities, estimator_name=shown, pos_label=pos_label, prob=prob)
        return display.plot(ax=ax, ref_line=ref_line, **kwargs)


def _evaluated(y_true: Any, y_prob: Any, *, n_bins: Any, strategy: str, **options: Any) -> Evaluation:
    """Evaluate the default target, with scikit-learn's names of the bins."""
    _checks.one_of("strategy", strategy, STRATEGIES)
    has_edges = isinstance(n_bins, Bins) or np.ndim(n_bins) > 0
    bins = n_bins if has_edges else _checks.whole_number("n_bins", n_bins)
    with own_hints():
        evaluation = evaluate(y_true, y_prob, bins=bins, binning=STRATEGIES[strategy], **options)
    assert isinstance(evaluation, Evaluation)  # neither groups nor classwise
    return evaluation


def _predicted(estimator: Any, features: Any) -> tuple[Array, list[Any]]:
    """Return the probabilities of a fitted classifier, and its classes."""
    kind = type(estimator).__name__
    if isinstance(estimator, type):
        raise TypeError(f"`estimator` must be a fitted estimator, not the class {estimator.__name__}: fit an instance.")
    try:
        predict = estimator.predict_proba
    except AttributeError as problem:
        if isinstance(problem, ValueError):  # scikit-learn's NotFittedError is both
            raise
        raise TypeError(text_of("estimator without probabilities", kind=kind)) from problem
    predicted = predict(features)  # first, since an estimator that is not fitted says so here
    classes = getattr(estimator, "classes_", None)
    if classes is None:
        raise TypeError(
            f"`estimator` has no `classes_`, the label of each column of its probabilities ({kind}); "
            "pass its probabilities to `from_predictions`."
        )
    matrix = to_array("estimator.predict_proba(X)", predicted)
    labels = np.asarray(classes).tolist() if all(np.ndim(label) == 0 for label in classes) else []
    if matrix.ndim != 2 or matrix.shape[1] != len(labels) or len(labels) < 2:
        raise ValueError(
            f"`estimator` must predict one label per row, with at least two classes: {kind} has the classes "
            f"{quoted(classes)}. If it has several outputs, pass the probabilities of one output to `from_predictions`."
        )
    refuse_contradiction(column_names(predicted), labels)
    return matrix, labels


def _position(pos_label: Any, classes: list[Any]) -> int:
    """Return the column of the positive class."""
    same = [i for i, label in enumerate(classes) if isinstance(label, str) == isinstance(pos_label, str)]
    positions = [i for i in same if classes[i] == pos_label]
    if not positions:
        raise ValueError(f"`pos_label` must be a class of `estimator`, one of {quoted(classes)}, not {pos_label!r}.")
    return positions[0]


def _outcomes(y_true: Any, pos_label: Any) -> tuple[Array, Any]:
    """Return which labels are positive, as 0 and 1, and the positive label; scikit-learn's rule for the default."""
    labels = column("y_true", to_array("y_true", y_true))
    _checks.not_empty("y_true", len(labels))
    if labels.dtype.kind == "f":
        _checks.finite("y_true", labels)
    occurring = np.unique(labels).tolist()
    if len(occurring) > 2 and labels.dtype.kind == "f" and ((labels > 0) & (labels < 1)).any():
        raise ValueError(text_of("labels are fractions"))
    if len(occurring) > 2:
        raise ValueError(text_of("more than two labels to display", number=len(occurring), such=quoted(occurring[:3])))
    pair = next((p for p in PAIRS if set(occurring) <= set(p) and (pos_label is None or pos_label in p)), None)
    if pos_label is None and pair is None:
        raise ValueError(
            f"`pos_label` is needed: the labels of `y_true` are {quoted(occurring)}, neither 0 and 1 nor -1 and 1. "
            f"Pass the one to which `y_prob` refers, as in `pos_label={occurring[-1]!r}`."
        )
    positive = 1 if pos_label is None else pos_label
    if pair is None and not any(isinstance(v, str) == isinstance(positive, str) and v == positive for v in occurring):
        raise ValueError(
            f"`pos_label` must be a label of `y_true`, one of {quoted(occurring)}, not {positive!r}. If no row is "
            "positive, pass zeros as `y_true`."
        )
    return (labels == positive).astype(np.int64), positive
