"""Estimand: one record per quantity, with its function, its words and the direction of better values."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from numbers import Real
from typing import Any, Literal

import numpy as np

from bayescal import _checks
from bayescal._arrays import Floats
from bayescal._meant import letters, public
from bayescal.draws import BinDraws, Draws
from bayescal.stats.clusters import clusters_of
from bayescal.stats.contract import Counts
from bayescal.stats.losses import KINDS, is_finite

Better = Literal["smaller", "larger", "nearest zero"]

#: What an estimand may need besides draws of the bins: members of the counts with sums of losses; "outcomes" are rows
#: with both outcomes, "predictions" rows whose outcome is whether a prediction is right, and "thresholds" the edges of
#: bins that are closed on the left, for rows that are not in clusters; "labelled rows" are rows of the population with
#: observed outcomes, not those of another population or of a judge; "event rate" are rows with both outcomes that are
#: not in clusters.
NEEDS = (*KINDS, "outcomes", "predictions", "thresholds", "labelled rows", "event rate")
#: What the ranks of rows in clusters must hold, by need.
OF_CLUSTERS = {"outcomes": "design_effect", "labelled rows": "by_cluster"}
MOST_BINS = 200  #: Most bins whose edges are thresholds: the time grows with their square.
#: Targets whose confidence is the probability of an event, not the confidence in a prediction.
EVENTS = ("event", "classwise")
#: The target whose event differs between classifiers, and the words of this event.
OWN_EVENT, OWN_EVENT_WORDS = "top-label", "top label is right"


class UnavailableError(AttributeError, ValueError):
    """Counts lack what an estimand needs, so that ``hasattr(evaluation, name)`` is False.

    Like `sklearn.exceptions.NotFittedError`, it is an AttributeError and a ValueError.
    """


@public
@dataclass(frozen=True)
class Estimand:
    """A quantity of one evaluation: the function that draws it, its names, and which of its values are better.

    Parameters
    ----------
    name : str
        Identifier: the attribute of `Evaluation`, the value of ``estimand=`` and the column of tables.
    function : callable
        Takes `BinDraws` and returns `Draws` or an array of shape (n_draws,), or (n_draws, n_points) for a curve.
        If `needs` is not empty, it also takes the counts and ``rng=``.
    symbol : str
        Words that follow "the" in a sentence, such as ``"ECE"``.
    title : str, optional
        Full name, such as ``"Expected Calibration Error"``; by default the symbol.
    better : {"smaller", "larger", "nearest zero"} or None
        Which of two values is better. If it is None, comparisons raise an error instead of ranking classifiers.
    bounds : (float, float)
        Smallest and largest possible value.
    of_calibration : bool, default False
        Whether a better value means better calibration, so that sentences may say "better calibrated".
    same_event : bool, default False
        Whether values of two classifiers can be compared only if their outcomes are of the same event, as for scores
        and discrimination. The event of the target ``top-label``, whether the most probable class is right, differs
        between classifiers.
    stated : str, optional
        For a one-sided error: words for the gap if the target is an event, such as ``"stated too high"``.
    coordinate : (str, tuple of float), optional
        For a curve: the name and the values of its coordinate.
    needs : frozenset of str
        What the function needs besides the bins: ``"losses"`` (squared errors), ``"log_losses"``, ``"outcomes"`` (rows
        with both outcomes), ``"predictions"`` (rows whose outcome is whether a prediction is right), ``"thresholds"``
        (edges of bins that are closed on the left, and independent rows), ``"labelled rows"`` (observed outcomes of the
        population itself), ``"event rate"`` (independent rows with both outcomes), or nothing.
    reported : bool, default True
        Whether the table of every evaluation includes it.
    plug_in : callable, optional
        Takes the counts and returns the observed value; by default the function of the observed bins.
    joint : callable, optional
        Draws the values of several classifiers on the same rows jointly. It takes their counts, paired counts, number
        of draws and ``rng=``, and returns an array of shape (n_draws, n_classifiers), or None if the rows are too few.
    correlation : callable, optional
        Takes the counts of several classifiers on the same rows and their paired counts, and returns the correlation
        matrix of the posteriors, in place of the one from the draws of the bins.
    of_total : bool, default False
        Whether a common shift of all gaps changes it most, as for sums of signed gaps. For rows in clusters, gaps of
        different bins are correlated, so that its draws use the design effect of the total.
    citation : str, default ""
        Paper and equation.
    formula : str, default ""
        Definition in LaTeX, with masses m, accuracies theta and mean confidences mu of the bins b.
    synonyms : tuple of str, default ()
        Other names of the same quantity in papers and programs.
    note : str, default ""
        What a reader of its row in a table must know, printed below the table.

    Raises
    ------
    ValueError
        If `better`, `bounds` or `needs` are invalid.
    TypeError
        If the function cannot be called, or `needs` is a string.

    Examples
    --------
    >>> def mean_accuracy(bin_draws):
    ...     return (bin_draws.mass * bin_draws.accuracy).sum(axis=1)
    >>> record = bc.estimands.Estimand("mean_accuracy", mean_accuracy, "mean accuracy", better="larger")
    >>> bc.evaluate([0, 1, 1, 1], [0.3, 0.6, 0.8, 0.9], rng=1).draws(record)
    Draws(mean_accuracy: mean 0.65..., 95 % interval [0.41..., 0.87...], 4000 draws)
    """

    name: str
    function: Callable[..., Any]
    symbol: str
    title: str = ""
    better: Better | None = "smaller"
    bounds: tuple[float, float] = (0.0, 1.0)
    of_calibration: bool = False
    same_event: bool = False
    stated: str = ""
    coordinate: tuple[str, tuple[float, ...]] | None = None
    needs: frozenset[str] = frozenset()
    reported: bool = True
    plug_in: Callable[[Counts], float] | None = None
    joint: Callable[..., Floats | None] | None = None
    correlation: Callable[..., Floats] | None = None
    of_total: bool = False
    citation: str = ""
    formula: str = ""
    synonyms: tuple[str, ...] = ()
    note: str = ""

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise TypeError(f"`function` must be a function of BinDraws, not {type(self.function).__name__}.")
        if self.better is not None:
            _checks.one_of("better", self.better, ("smaller", "larger", "nearest zero"))
        if isinstance(self.needs, str):
            raise TypeError(f"`needs` must be a set, as in {{{self.needs!r}}}, not a string.")
        for need in self.needs:
            _checks.one_of("needs", need, NEEDS)
        if not isinstance(self.bounds, tuple) or len(self.bounds) != 2 or not self.bounds[0] < self.bounds[1]:
            raise ValueError(f"`bounds` must be (smallest, largest) with smallest < largest; not {self.bounds!r}.")
        if not self.title:
            object.__setattr__(self, "title", self.symbol)

    def draw(self, bin_draws: BinDraws, counts: Counts, *, rng: Any = None) -> Draws:
        """Draw the quantity from the bins of one evaluation.

        The shape of the draws is (n_draws,), or (n_draws, n_points) for a curve.

        Parameters
        ----------
        counts : BinnedCounts
            The counts behind them.

        Raises
        ------
        TypeError, ValueError
            If the function returns another shape, or values that are not finite.
        """
        result = self.function(bin_draws, counts, rng=rng) if self.needs else self.function(bin_draws)
        values = np.asarray(result)
        shape = (len(bin_draws),) if self.coordinate is None else (len(bin_draws), len(self.coordinate[1]))
        if values.shape != shape or values.dtype.kind not in "fiu":
            each = "one number" if self.coordinate is None else f"{shape[-1]} numbers"
            raise TypeError(
                f"`estimand` {self.name!r} must return {each} per draw, shape {shape}; it returned {values.dtype} of "
                f"shape {values.shape}."
            )
        bad = ~np.isfinite(values)
        if bad.any():
            _checks.refuse("estimand", "must be finite in every draw", bad, values)
        return result if isinstance(result, Draws) else Draws(values.astype(np.float64), self.name)

    def badness(self, values: Floats) -> Floats:
        """Transform values so that smaller is better.

        The result is the values themselves if smaller is better, their negative if larger is better, their absolute
        values if the value nearest zero is best. Values are an array of any shape.

        Raises
        ------
        ValueError
            If `better` is None.
        """
        if self.better is None:
            raise ValueError(
                f"`estimand` {self.name!r} has no better direction, so its values cannot be ranked; set `better=` in "
                "its Estimand."
            )
        return -values if self.better == "larger" else self.compared(values)

    def compared(self, values: Floats) -> Floats:
        """Return an array of values as comparisons show them: absolute values if the value nearest zero is the best."""
        return np.abs(values) if self.better == "nearest zero" else values

    @property
    def compared_name(self) -> str:
        """Name of the draws of `compared` values, such as ``"size of signed_error"``."""
        return f"size of {self.name}" if self.better == "nearest zero" else self.name

    def words(self, target: str) -> str:
        """Return the words that follow "the" in a sentence about rows of this target.

        "Over-confidence" describes the confidence in a prediction. For probabilities of an event the word misleads: an
        under-confident classifier states small probabilities too high and large ones too low.

        Examples
        --------
        >>> from bayescal.estimands.registry import registered
        >>> registered()["overconfidence"].words("top-label"), registered()["overconfidence"].words("event")
        ('over-confidence', 'error of probabilities stated too high')
        >>> registered()["brier_score"].words("top-label"), registered()["brier_score"].words("event")
        ('top-label Brier score', 'Brier score')
        """
        one_sided = self._one_sided(target)
        return f"error of probabilities {one_sided}" if one_sided else self._of_event(self.symbol, target)

    def of_target(self, target: str) -> str:
        """Return the words of a specification, in which the target always stands first, once.

        Examples
        --------
        >>> from bayescal.estimands.registry import registered
        >>> registered()["brier_score"].of_target("top-label"), registered()["ece"].of_target("top-label")
        ('top-label Brier score', 'top-label ECE')
        """
        words = self.words(target)
        return words if self.has_own_event(target) else f"{target} {words}"

    def _of_event(self, words: str, target: str) -> str:
        """Return words that name the target too, if values depend on its event and this differs between classifiers."""
        return f"{target} {words}" if self.has_own_event(target) else words

    def has_own_event(self, target: str) -> bool:
        """Return whether values of two classifiers cannot be compared, because each has an event of its own.

        Examples
        --------
        >>> from bayescal.estimands.registry import registered
        >>> registered()["auc"].has_own_event("top-label"), registered()["ece"].has_own_event("top-label")
        (True, False)
        """
        return self.same_event and target == OWN_EVENT

    def _one_sided(self, target: str) -> str:
        """Return words for the gap of a one-sided error of an event; empty for other estimands and targets."""
        return self.stated if target in EVENTS else ""

    def row_label(self, target: str) -> str:
        """Return the label of the row of a printed table: the name, or the words of a one-sided error of an event.

        The symbol stands in place of a name with other words.

        Examples
        --------
        >>> from bayescal.estimands.registry import registered
        >>> registered()["overconfidence"].row_label("top-label"), registered()["overconfidence"].row_label("event")
        ('overconfidence', 'stated too high')
        >>> registered()["ece"].row_label("event"), registered()["e90_bins"].row_label("event")
        ('ece', 'E90 of bins')
        """
        named = self.name if letters(self.name) == letters(self.symbol) else self.symbol
        return self._one_sided(target) or self._of_event(named, target)

    def draws_label(self, target: str) -> str:
        """Return the name of draws: that of the estimand, with the event if it differs between classifiers.

        Examples
        --------
        >>> from bayescal.estimands.registry import registered
        >>> registered()["auc"].draws_label("top-label"), registered()["auc"].draws_label("event")
        ('auc of the event "top label is right"', 'auc')
        """
        return f'{self.name} of the event "{OWN_EVENT_WORDS}"' if self.has_own_event(target) else self.name

    def column_label(self, target: str) -> str:
        """Return the label of the column of a printed table: the symbol, or the words of a one-sided error of an event.

        Examples
        --------
        >>> from bayescal.estimands.registry import registered
        >>> registered()["overconfidence"].column_label("top-label"), registered()["ece"].column_label("event")
        ('over-confidence', 'ECE')
        """
        return self._one_sided(target) or self._of_event(self.symbol, target)

    def axis_label(self, target: str) -> str:
        """Return the label of an axis: title and symbol, or the words of the estimand.

        Examples
        --------
        >>> from bayescal.estimands.registry import registered
        >>> registered()["ece"].axis_label("event"), registered()["e90_bins"].axis_label("event")
        ('Expected Calibration Error (ECE)', '90th percentile of the absolute error (E90 of bins)')
        """
        if self.title == self.symbol:
            return self.words(target)
        return self._of_event(f"{self.title} ({self.symbol})", target)

    @property
    def comparative(self) -> str:
        """Words for a better value: "smaller", "larger" or "nearer to 0"; empty if no value is better."""
        return {"nearest zero": "nearer to 0", None: ""}.get(self.better, str(self.better))

    def best(self, target: str) -> str:
        """Return words for the best value, for rows of this target.

        Examples
        --------
        >>> from bayescal.estimands.registry import registered
        >>> registered()["ece"].best("event"), registered()["signed_error"].best("event")
        ('smallest ECE', 'signed error nearest to 0')
        """
        words = self.words(target)
        superlative = {"smaller": f"smallest {words}", "larger": f"largest {words}"}
        return superlative.get(str(self.better), f"{words} nearest to 0")

    def available(self, counts: Counts) -> bool:
        """Return whether the counts have what the estimand needs: finite losses, both outcomes, or a fitting target.

        Tables and files of all estimands omit an estimand that is not available. Its draws raise a `ValueError`, so
        that one row of infinite loss does not prevent the other results.
        """
        # in the class first: the message of the error about an instance names similar attributes, which takes time
        if hasattr(type(counts), "lacking") and self.needs & getattr(counts, "lacking", frozenset()):
            return False
        if "predictions" in self.needs and counts.target in EVENTS:
            return False
        fitting = counts.bins.closed == "left" and 2 <= len(counts.bins) <= MOST_BINS
        if "thresholds" in self.needs and (clusters_of(counts) or not fitting):
            return False
        if "labelled rows" in self.needs and not (counts.occupied.any() and all_labelled(counts)):
            return False
        if self.needs & {"outcomes", "event rate"} and not 0 < counts.effective_k.sum() < counts.effective_n.sum():
            return False
        if "event rate" in self.needs and clusters_of(counts):
            return False
        held = [name for need, name in OF_CLUSTERS.items() if need in self.needs]
        if clusters_of(counts) and any(getattr(counts.ranks, name, None) is None for name in held):
            return False
        return all(is_finite(getattr(counts, need)) for need in self.needs & KINDS.keys())


def all_labelled(counts: Counts) -> bool:
    """Return whether all rows are of the population itself, and their outcomes are observed, in every bin with rows."""
    of_others = getattr(counts, "rows_by_outcome", None) is not None
    return not of_others and not bool(np.isnan(counts.accuracy[counts.occupied]).any())


def checked_limit(name: str, value: Any, estimand: Estimand, instead: str = "") -> float:
    """Return a limit, which must be on the side of better values and strictly within the bounds of the estimand."""
    prefix, above = name.removesuffix("above").removesuffix("below"), name.endswith("above")
    if estimand.better is None or above != (estimand.better == "larger"):
        rule = {
            "larger": f"larger values are better: use `{prefix}above`",
            "smaller": f"smaller values are better: use `{prefix}below`",
            "nearest zero": f"values nearer to 0 are better: use `{prefix}below`, for its absolute value",
        }.get(str(estimand.better), f"no value is better, so no limit can be reached{instead}")
        raise ValueError(f"`{name}` does not fit `estimand` {estimand.name!r}: {rule}.")
    low, high = estimand.bounds
    if estimand.better == "nearest zero":
        low, high = 0.0, max(abs(low), abs(high))
    limit = checked_number(name, value)
    if not low < limit < high:
        hint = " Percent? Divide by 100." if high == 1 < limit <= 100 else ""
        raise ValueError(
            f"`{name}` must lie strictly between {low:g} and {high:g} for {estimand.name!r}, not {value}.{hint}"
        )
    return limit


def checked_number(name: str, value: Any) -> float:
    """Return a finite number."""
    if isinstance(value, bool) or not isinstance(value, Real) or not math.isfinite(value):
        raise TypeError(f"`{name}` must be a finite number, not {value!r}.{_checks.of_percent(value)}")
    return float(value)


def within_limit(values: Floats, limit: float, estimand: Estimand) -> float:
    """Return the share of draws on the better side of a limit."""
    if estimand.better == "larger":
        return float((values > limit).mean())
    return float((estimand.badness(values) < limit).mean())
