"""Calibration in a target population from labelled rows of a source: dispatches on what differs between them."""

from collections.abc import Sequence
from typing import Any, Literal, overload

from bayescal import _checks
from bayescal._meant import public
from bayescal.analyses.one import DEFAULT_MODEL
from bayescal.shift.cells import ShiftCells
from bayescal.shift.covariate_shift import evaluate_covariate_shift
from bayescal.shift.covariate_shift_result import CovariateShiftEvaluation
from bayescal.shift.label_shift import evaluate_label_shift
from bayescal.shift.label_shift_result import LabelShiftClasses, LabelShiftEvaluation

#: Other names of both shifts.
CALLED = dict.fromkeys(("prior", "prior probability", "priors", "class", "classes", "target"), "label")
CALLED |= dict.fromkeys(("feature", "features", "covariates"), "covariate")


@overload
def evaluate_shifted(
    y_true: Any,
    y_prob: Any,
    y_prob_target: Any,
    *,
    shift: Literal["label"],
    using: str = "cells",
    cells: ShiftCells | None = None,
    bins: Any = 15,
    binning: str = "equal-width",
    model: str = DEFAULT_MODEL,
    draws: int = 4000,
    rng: Any = None,
    classes: Sequence[Any] | None = None,
    logits: bool = False,
    **options: Any,
) -> LabelShiftEvaluation | LabelShiftClasses: ...
@overload
def evaluate_shifted(
    y_true: Any,
    y_prob: Any,
    y_prob_target: Any,
    *,
    shift: Literal["covariate"],
    weights: Any,
    target: str | None = None,
    bins: Any = 15,
    binning: str = "equal-width",
    model: str = DEFAULT_MODEL,
    draws: int = 4000,
    rng: Any = None,
    classes: Sequence[Any] | None = None,
    logits: bool = False,
    **options: Any,
) -> CovariateShiftEvaluation: ...
@overload
def evaluate_shifted(
    y_true: Any, y_prob: Any, y_prob_target: Any, *, shift: str, **options: Any
) -> LabelShiftEvaluation | LabelShiftClasses | CovariateShiftEvaluation: ...
@public
def evaluate_shifted(
    y_true: Any,
    y_prob: Any,
    y_prob_target: Any,
    *,
    shift: str,
    using: str | None = None,
    cells: ShiftCells | None = None,
    weights: Any = None,
    target: str | None = None,
    bins: Any = 15,
    binning: str = "equal-width",
    model: str = DEFAULT_MODEL,
    draws: int = 4000,
    rng: Any = None,
    classes: Sequence[Any] | None = None,
    logits: bool = False,
    **options: Any,
) -> LabelShiftEvaluation | LabelShiftClasses | CovariateShiftEvaluation:
    r"""Compute the posterior of the calibration error in a target population, from labelled rows of a source.

    Parameters
    ----------
    y_true : array-like, shape (n_source,)
        Labels of the source: 0/1 or booleans if `y_prob` is a column, class numbers 0..K-1 if it is a matrix. Other
        labels need `classes`.
    y_prob : array-like of float, shape (n_source,) or (n_source, n_classes)
        Probabilities stated for the rows of the source, in [0, 1].
    y_prob_target : array-like of float, shape (n_target,) or (n_target, n_classes)
        Probabilities that the same classifier states for rows of the target, whose labels are unknown.
    shift : {"label", "covariate"}
        What differs between source and target. It has no default, because predictions alone cannot identify it.

        - ``label``: the class frequencies, as when a disease is rarer among those who are screened. The rows of each
          class have the same distribution in both.
        - ``covariate``: the distribution of the features. Rows with equal features have the same probability of each
          class in both. It needs `weights`.
    using : {"cells", "probabilities"}, optional
        For ``label`` only: as for `class_priors`; by default ``cells``.
    cells : ShiftCells, optional
        For ``label`` only: as for `class_priors`.
    weights : array-like of float, shape (n_source,), optional
        For ``covariate`` only, and required there: the density of the target divided by that of the source at each row
        of the source, up to a factor.
    target : {"event", "top-label", "confidence"}, optional
        For ``covariate`` only: as for `evaluate`.
    bins, binning, model, draws, rng, classes, logits
        As for `evaluate`. ``binning="equal-mass"`` divides the rows of the target. For ``label``, `draws` must be at
        least 16; they are divided between 16 draws of the class frequencies.
    **options
        Options of the model, as for `evaluate`.

    Returns
    -------
    LabelShiftEvaluation, LabelShiftClasses or CovariateShiftEvaluation
        For ``label``: for a column, an `Evaluation` of the event in the target; for a matrix, a mapping from each class
        to such an evaluation. Both have `priors`, the posterior of the class frequencies, and `adapt`, which adapts
        predictions to them; ``evaluation.adapted`` evaluates the adapted predictions.
        For ``covariate``: an `Evaluation` of the target, of the event or of the top label.

    Raises
    ------
    ValueError, TypeError
        For invalid input, as for `evaluate`; if `shift` is not given or unknown, or a class has no labelled row;
        if more than half of the rows of the target are in bins, or for ``label`` in cells, without labelled rows; for
        ``covariate``, if `weights` are missing or leave fewer than 30 effective rows.

    Warns
    -----
    FewRowsWarning
        If a class has fewer than 5 labelled rows.
    WeightsWarning
        If weights are too uneven to be reliable; see `weight_report`.

    See Also
    --------
    evaluate_shifted_counts : The same under label shift from counts of streams or large data.
    class_priors : The class frequencies alone.
    evaluate : If labels of the target are known.
    shift_evidence : Whether source and target differ, and whether class frequencies alone explain it.
    weight_report : The evidence of weighted rows.

    Notes
    -----
    Mean confidences of the bins are those of the target's rows. If :math:`\theta_s` is the event rate in a bin of the
    source, Bayes' rule gives the event rate in the target:

    .. math::
        \theta_t = \frac{r \theta_s}{1 - \theta_s + r \theta_s}, \quad r = \frac{\pi / (1 - \pi)}{\rho / (1 - \rho)},

    with the frequencies :math:`\rho` of the event in the source and :math:`\pi` in the target [1]_. For each of 16
    draws of :math:`\pi`, the n labelled rows of a bin become :math:`n (1 - \theta_s + r \theta_s)^2 / r` rows of the
    target with the event rate :math:`\theta_t`. If :math:`\pi` is known, label shift also implies how the distributions
    of scores differ between source and target, which is further evidence about :math:`\theta_t` and the masses. The
    posterior of `model` is computed from this evidence. Draws whose masses and event rates imply a frequency near
    :math:`\pi` are kept and pooled over :math:`\pi`. [Shift](../explanation/shift.md) has the formulas and the coverage
    of the intervals.

    With more than two classes, each class is evaluated against the others, whose composition differs between source
    and target, too: r then depends on the classes of the labelled rows in the bin.

    Under covariate shift, the accuracies of the bins are those of the weighted labelled rows [2]_, with Kish's
    effective number of rows. The uncertainty of the weights is not part of the interval, nor are differences in
    features from which the weights were not computed.

    References
    ----------
    .. [1] M. Saerens, P. Latinne and C. Decaestecker (2002), "Adjusting the outputs of a classifier to new a priori
       probabilities: a simple procedure", Neural Computation 14, 21-41.
    .. [2] H. Shimodaira (2000), "Improving predictive inference under covariate shift by weighting the log-likelihood
       function", Journal of Statistical Planning and Inference 90, 227-244.

    Examples
    --------
    Half of the source has the event, and a sixth of the target:

    >>> import numpy as np
    >>> rng = np.random.default_rng(1)
    >>> y, y_target = rng.random(2000) < 1 / 2, rng.random(2000) < 1 / 6
    >>> p, p_target = (1 / (1 + np.exp(-2 * rng.normal(2 * each - 1.0, 1))) for each in (y, y_target))
    >>> evaluation = evaluate_shifted(y, p, p_target, shift="label", rng=1)
    >>> evaluation.ece.interval(0.95)
    (0.1..., 0.1...)
    >>> evaluation.adapted.ece.interval(0.95)
    (0.0, 0.0...)

    A feature has the mean 0 in the source and 1 in the target, and the classifier ignores half of its effect:

    >>> x, x_target = rng.standard_normal(2000), rng.standard_normal(5000) + 1
    >>> y = rng.random(2000) < 1 / (1 + np.exp(-2 * x))
    >>> p, p_target = (1 / (1 + np.exp(-each)) for each in (x, x_target))
    >>> evaluate_shifted(y, p, p_target, shift="covariate", weights=np.exp(x), rng=1).ece.interval(0.95)
    (0.0..., 0.1...)
    """
    _checks.one_of("shift", shift, ("label", "covariate"), CALLED)
    own = {"label": {"using": using, "cells": cells}, "covariate": {"weights": weights, "target": target}}
    given = {kind: {name: value for name, value in each.items() if value is not None} for kind, each in own.items()}
    for kind, each in given.items():
        if each and kind != shift:
            raise TypeError(f"`{next(iter(each))}=` is an option of `shift={kind!r}`, not of `shift={shift!r}`.")
    options = {"bins": bins, "binning": binning, "model": model, "draws": draws, "rng": rng, **options}
    evaluate = evaluate_label_shift if shift == "label" else evaluate_covariate_shift
    return evaluate(y_true, y_prob, y_prob_target, classes=classes, logits=logits, **options, **given[shift])
