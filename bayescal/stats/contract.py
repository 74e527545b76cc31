"""The protocol of counts: everything that posteriors, estimands and results ask for; checks and sums of counts."""

from collections.abc import Callable, Mapping
from functools import reduce
from operator import add
from typing import Any, Protocol, runtime_checkable

from bayescal import _checks
from bayescal._arrays import Array, Bools, Floats, Ints
from bayescal.stats.bins import Bins
from bayescal.stats.clusters import PairedClusters
from bayescal.stats.losses import LossSums
from bayescal.stats.ranks import Ranks
from bayescal.stats.sums import Coefficients


@runtime_checkable
class Counts(Protocol):
    """Counts of one binary problem by bin: a frozen record, whose sum with another is the counts of all their rows.

    `BinnedCounts` is the one that the package makes from rows. Other records, such as counts of clustered or censored
    rows, need these members; arrays have shape (n_bins,).
    """

    @property
    def bins(self) -> Bins: ...  # edges of the bins
    @property
    def target(self) -> str: ...  # question: ``"event"``, ``"top-label"`` or ``"confidence"``
    @property
    def n(self) -> Array: ...  # rows per bin
    @property
    def k(self) -> Array: ...  # rows with outcome 1 per bin
    @property
    def n_rows(self) -> int: ...  # rows of all bins
    @property
    def weight(self) -> Array: ...  # total weight of the rows per bin: their number, if rows have no weights
    @property
    def weighted(self) -> bool: ...  # whether rows have weights other than 1
    @property
    def occupied(self) -> Bools: ...  # bins with positive weight
    @property
    def accuracy(self) -> Floats: ...  # observed share of outcome 1 per bin; NaN without rows whose outcome is known
    @property
    def mean_confidence(self) -> Floats: ...  # mean confidence per bin; NaN in empty bins
    @property
    def share(self) -> Floats: ...  # share of all rows, or of all weight, per bin
    @property
    def effective_n(self) -> Floats: ...  # effective number of rows per bin: the evidence that posteriors use
    @property
    def effective_k(self) -> Floats: ...  # effective number of rows with outcome 1 per bin
    @property
    def effective_rows(self) -> float: ...  # effective number of rows of all bins
    @property
    def losses(self) -> LossSums | None: ...  # squared errors, for the Brier score; None if they were not counted
    @property
    def log_losses(self) -> LossSums | None: ...  # log losses, for the log score; None if they were not counted
    @property
    def ranks(self) -> Ranks | None: ...  # rows on a finer grid than the bins, for the AUC; None if there is none
    def __add__(self, other: Any, /) -> "Counts": ...  # return the counts of the rows of both


@runtime_checkable
class HasSpread(Protocol):
    """Counts that know how confidences vary inside the bins; arrays have shape (n_bins,), NaN in empty bins."""

    @property
    def within_variance(self) -> Floats: ...  # variance of the confidences inside each bin
    @property
    def within_covariance(self) -> Floats: ...  # covariance of outcome and confidence inside each bin


class Paired(Protocol):
    """Joint counts of two classifiers on the same rows: everything that comparisons ask for."""

    @property
    def first(self) -> Counts: ...  # counts of the first classifier
    @property
    def second(self) -> Counts: ...  # counts of the second classifier
    @property
    def cells(self) -> Ints: ...  # joint cells: bin and outcome of each classifier
    @property
    def n(self) -> Ints: ...  # rows per joint cell
    @property
    def weight(self) -> Floats: ...  # weight per joint cell
    @property
    def weight_sq(self) -> Floats: ...  # squared weights per joint cell
    @property
    def loss_difference(self) -> LossSums | None: ...  # differences of squared errors; None if not counted
    @property
    def log_loss_difference(self) -> LossSums | None: ...  # differences of log losses; None if not counted
    @property
    def loss_covariance(self) -> Floats | None: ...  # of the two Brier scores; None if the sums of losses contain it
    @property
    def area_correlation(self) -> float | None: ...  # correlation of the AUCs; None if the joint cells give it
    @property
    def risk_correlation(self) -> float | None: ...  # correlation of the AUGRCs; None if the joint cells give it
    @property
    def clusters(self) -> PairedClusters | None: ...  # sums over clusters; None if rows are independent

    # Cosine similarity over rows, or over clusters, of two linear functions of gaps and masses of the bins
    def linear_cosine(self, of_gap: Coefficients, of_mass: Coefficients) -> float: ...
    def gap_cosine(self, gaps: Coefficients) -> float: ...  # cosine similarity over rows of two profiles of gaps by bin


Pairs = Mapping[tuple[int, int], Paired]  #: Joint counts of the classifiers i < j.


def require_kind(kind: type, remedy: str, counts: Any, name: str = "counts") -> None:
    """Refuse counts that are not of a type; `remedy`, from its punctuation on, says how to make them."""
    _checks.instance(name, counts, kind, remedy)


def total_of[C](counts: Mapping[Any, C], require: Callable[[Any, str], None] = lambda counts, name: None) -> C:
    """Return the counts of all rows, given those of groups; `require` checks the counts of each, which have a name."""
    for label, of_group in counts.items():
        require(of_group, f"counts[{label!r}]")
    if not counts:
        raise ValueError("`counts` is an empty mapping; give the counts of at least one group.")
    return reduce(add, counts.values())


_ACCEPTED: set[type] = set()  #: Types that satisfy the protocol, whose check takes longer than that of other arguments.


def require_counts(counts: Any, name: str = "counts") -> None:
    """Refuse a value that does not satisfy `Counts`; name the members that it lacks, or hint at `BinnedCounts`."""
    if type(counts) in _ACCEPTED:
        return
    if isinstance(counts, Counts):
        _ACCEPTED.add(type(counts))
        return
    members = Counts.__protocol_attrs__  # type: ignore[attr-defined]  # every protocol has it; typeshed does not list it
    needed = sorted(member for member in members if not member.startswith("_"))
    missing = [member for member in needed if not hasattr(type(counts), member) and not hasattr(counts, member)]
    if len(missing) < len(needed) / 2:
        raise TypeError(f"`{name}` is a {type(counts).__name__}, which lacks {', '.join(missing)}; see `Counts`.")
    raise TypeError(
        f"`{name}` must be BinnedCounts, not {type(counts).__name__}; "
        "make them with `BinnedCounts.from_arrays(outcome, confidence)`, or use `evaluate`."
    )
