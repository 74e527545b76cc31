"""Results of multiply imputed rows: the draws of all imputations together, and the share of missing information."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from functools import cached_property, partial
from typing import Any, ClassVar, NoReturn, Self

import numpy as np

from bayescal import _checks, _render
from bayescal._arrays import Floats
from bayescal._invalid import errors_of
from bayescal._meant import public
from bayescal._presented import Presented
from bayescal.draws import Draws, fingerprint
from bayescal.estimands.registry import as_estimand
from bayescal.results.of_groups import OfGroups

Bounds = tuple[float, float]  #: Smallest and largest possible value.
UNBOUNDED, SHARE, POSITIVE = (-np.inf, np.inf), (0.0, 1.0), (0.0, np.inf)
LONGER_TAILS = 2.42  #: By how much squared 95 % quantiles of t exceed Normal ones, times the degrees: (z^2 + 1) / 2.
#: Fewer imputations than this are named in a remark; largest number of shares of missing information that are listed.
FEW_IMPUTATIONS, MOST_LISTED = 5, 16
#: Columns that are means over the imputations, and keys that identify a row.
OF_ROWS, IDENTITY = ("observed", "plug_in", "null_mean", "ideal"), ("model", "quantity", "threshold")


@public
class Imputed[R: Presented](Presented):
    r"""A result of multiply imputed rows: the mixture of the posteriors of all imputations.

    A verb that is given a list of imputed predictions returns it, such as `recalibration`. It is also of the usual
    class, such as `Recalibration`. Each imputation contributes the same number of draws, and observed values are means
    over the imputations, whose results are in ``imputations``. Rows of tables also have ``missing_information``.

    Notes
    -----
    ``missing_information`` is the share of the variance that is due to missing values, :math:`(1 + 1 / M) B / ((1 +
    1 / M) B + W)` [1]_, where B is the variance of the M posterior means, and W the mean of the posterior variances.
    The mixture has the variance :math:`W + (1 - 1 / M) B`, and that of Rubin's rules is :math:`W + (1 + 1 / M) B`: with
    few imputations, intervals of a mixture are too narrow [2]_. The draws of each imputation are therefore moved away
    from the mean of all, by the factor :math:`\\sqrt{(M + 1) / (M - 1)}`, and the variance is that of Rubin's rules.
    Quantities with bounds are moved by the same power of their odds or of their distance from the bound, which they do
    not cross. Use 20 imputations or more: B itself is uncertain with few.

    References
    ----------
    .. [1] D. B. Rubin (1987), Multiple Imputation for Nonresponse in Surveys, Wiley, section 3.3.
    .. [2] X. Zhou and J. P. Reiter (2010), "A note on Bayesian inference after multiple imputation", The American
       Statistician 64, 159-163.

    Examples
    --------
    >>> imputed = list(np.where(rng.random(500) < 0.3, rng.random((5, 500)), rng.random(500)))
    >>> rc = bc.clinical.recalibration(rng.random(500) < imputed[0], imputed, rng=1)
    >>> len(rc.imputations), round(rc.table()[2]["missing_information"], 2)
    (5, 0...)
    """

    imputations: tuple[R, ...]

    #: Attributes and methods whose draws are joined, with the bounds of their values (None: draws of an estimand by
    #: name have its bounds); attributes that are averaged; those of single imputations alone.
    _joins: ClassVar[Mapping[str, Bounds]] = {}
    _calls: ClassVar[Mapping[str, Bounds | None]] = {}
    _means: ClassVar[tuple[str, ...]] = ()
    _without: ClassVar[tuple[str, ...]] = ()

    def __init_subclass__(cls, **options: Any) -> None:
        """Define these attributes and methods."""
        super().__init_subclass__(**options)
        for name, bounds in cls._joins.items():
            setattr(cls, name, property(partial(_join, name, bounds)))
        for name, of_call in cls._calls.items():
            setattr(cls, name, property(partial(_join_calls, name, of_call)))
        for names, get in ((cls._means, _mean), (cls._without, _none)):
            for name in names:
                setattr(cls, name, property(partial(get, name)))

    @classmethod
    def of(cls, results: Sequence[R], **changed: Any) -> Self:
        """Mix the results of the imputations; `changed` are fields that differ from those of the first one."""
        return cls(**{**fields_of(results[0]), **changed, "imputations": tuple(results)})

    @property
    def _origin(self) -> int:
        return _origin_of([each._origin for each in self.imputations])  # type: ignore[attr-defined]

    def table(self, prob: float = 0.95) -> list[dict[str, Any]]:
        """Return the numbers as data: those of one imputation's `table`, and missing_information."""
        return self._of_sets(super().table(prob), self._tables_of_sets)

    @cached_property
    def _tables_of_sets(self) -> list[list[dict[str, Any]]]:
        return [each.table() for each in self.imputations]

    def _of_sets(self, rows: list[dict[str, Any]], tables: Sequence[Sequence[dict[str, Any]]]) -> list[dict[str, Any]]:
        """Add the share of missing information to rows, and set numbers without a posterior to means over the sets."""
        places, complete = [{_identity(row): row for row in table} for table in tables], []
        for row in rows:
            sets = [place[_identity(row)] for place in places]
            names = (*(name for name in OF_ROWS if name in row), *(["mean"] if np.isnan(row["sd"]) else []))
            means = {name: averaged([each[name] for each in sets]) for name in names}
            complete.append({**row, **means, "missing_information": _missing(sets)})
        return complete

    def _words_of(self, row: dict[str, Any]) -> str:
        raise NotImplementedError

    @property
    def spec(self) -> str:
        """Number of imputations, and the specification of the first."""
        return f"{len(self.imputations)} imputations, {super().spec}"

    @property
    def remarks(self) -> tuple[str, ...]:
        """Warn of few imputations; remarks on imputations, those that differ in numbers alone as that on the first."""
        number, concerned = len(self.imputations), dict[tuple[str, int], list[str]]()
        for each in self.imputations:
            patterns = [re.sub(r"[\d.,]+", "", text) for text in each.remarks]  # type: ignore[attr-defined]
            for i, text in enumerate(each.remarks):  # type: ignore[attr-defined]
                concerned.setdefault((patterns[i], patterns[:i].count(patterns[i])), []).append(text)
        few = f"Only {number} imputations: intervals may be too narrow. Make at least {FEW_IMPUTATIONS}, better 20."
        listed = [
            t[0] if len(t) == number and len(set(t)) == 1 else f"{len(t)} of {number} imputations, first: {t[0]}"
            for t in concerned.values()
        ]
        return (few, *listed) if number < FEW_IMPUTATIONS else tuple(listed)

    def sheet(self, **options: Any) -> _render.Sheet:
        """Return the sentence, table and remarks that printing shows, as data; options are those of one imputation."""
        shares = {self._words_of(row): row["missing_information"] for row in self.table()}
        known = {name: share for name, share in shares.items() if not np.isnan(share)}
        listed = ", ".join(f"{name} {share:.2f}" for name, share in known.items())
        if len(known) > MOST_LISTED:
            most = max(known, key=known.__getitem__)
            listed = f"{min(known.values()):.2f} to {known[most]:.2f} ({most})"
        line = f"{len(self.imputations)} imputations. Share of the variance that is due to missing values: {listed}."
        sheet = super().sheet(**options)
        return replace(sheet, remarks=(line, *sheet.remarks))

    def _more(self, prob: float) -> dict[str, Any]:
        return {**super()._more(prob), "imputations": len(self.imputations)}


def _join(name: str, bounds: Bounds, result: Imputed[Any]) -> Any:
    return joined([getattr(each, name) for each in result.imputations], bounds)


def _join_calls(name: str, bounds: Bounds | None, result: Imputed[Any]) -> Callable[..., Any]:
    def call(*args: Any, **options: Any) -> Any:
        of_call = as_estimand(args[0]).bounds if bounds is None else bounds
        return joined([getattr(each, name)(*args, **options) for each in result.imputations], of_call)

    return call


def _mean(name: str, result: Imputed[Any]) -> Any:
    return averaged([getattr(each, name) for each in result.imputations])


def _none(name: str, result: Imputed[Any]) -> NoReturn:
    raise AttributeError(f"`{name}` exists for a single imputation, as in `result.imputations[0].{name}`.")


def fields_of(record: Any) -> dict[str, Any]:
    """Return the fields of a dataclass by name."""
    return {each.name: getattr(record, each.name) for each in fields(record)}


def _origin_of(origins: Sequence[Any]) -> int:
    return fingerprint("imputations", *origins)


def joined(values: Sequence[Any], bounds: Bounds = UNBOUNDED) -> Any:
    """Join the draws of all imputations, moved apart: arrays, `Draws`, or tuples or dicts of them."""
    if isinstance(values[0], dict):
        return {key: joined([each[key] for each in values], bounds) for key in values[0]}
    if isinstance(values[0], tuple):
        return tuple(joined(each, bounds) for each in zip(*values, strict=True))
    draws = np.concatenate(apart([np.asarray(each) for each in values], bounds))
    if isinstance(values[0], Draws):
        return Draws(draws, values[0].name, _origin_of([each.origin for each in values]))
    return draws


def apart(values: Sequence[Floats], bounds: Bounds) -> list[Floats]:
    """Move the draws of each imputation, on axis 0, away from the mean of all, within bounds."""
    (low, high), means = bounds, np.stack([each.mean(axis=0) for each in values])
    power = excess(means, np.mean([each.var(axis=0) for each in values], axis=0))
    if np.isinf(low):
        if np.isfinite(high):
            return [-each for each in apart([-each for each in values], (-high, np.inf))]
        return [each + power * move for each, move in zip(values, means - means.mean(axis=0), strict=True)]
    with np.errstate(all="ignore"):
        log_odds = np.log(means - low) - (np.log(high - means) if np.isfinite(high) else 0.0)
        ratios = np.exp(power * (log_odds - log_odds.mean(axis=0)))
    ratios = np.where(np.isfinite(ratios), ratios, 1.0)  # with a mean at a bound, none moves
    moved = [ratio * (each - low) for each, ratio in zip(values, ratios, strict=True)]
    if np.isinf(high):
        return [low + up for up in moved]
    return [low + (high - low) * up / (up + (high - each)) for up, each in zip(moved, values, strict=True)]


def excess(means: Floats, variance: Floats | float) -> Floats:
    """Return the factor by which means of imputations move away from their mean, minus 1; see `Imputed`."""
    number = len(means)
    between = (1 + 1 / number) * means.var(axis=0, ddof=1)
    missing = np.divide(between, between + variance, out=np.zeros_like(between), where=between > 0)
    return np.sqrt((number + 1) / (number - 1) * (1 + LONGER_TAILS * missing / (number - 1))) - 1


def averaged(values: Sequence[Any]) -> Any:
    """Return the mean over the imputations, or whether any is true; of None, None."""
    if isinstance(values[0], dict):  # a share that some lack is 0 there
        keys = dict.fromkeys(key for each in values for key in each)
        nothing: dict[str, Any] = {
            key: {} if isinstance(next(e[key] for e in values if key in e), dict) else 0.0 for key in keys
        }
        return {key: averaged([each.get(key, nothing[key]) for each in values]) for key in keys}
    if values[0] is None:
        return None
    array = np.asarray(values)
    mean = array.any(axis=0) if array.dtype == bool else array.mean(axis=0)
    return mean if mean.ndim else mean.item()


def _identity(row: dict[str, Any]) -> tuple[str, ...]:
    return tuple(str(row.get(key)) for key in IDENTITY)


def _missing(sets: Sequence[dict[str, Any]]) -> float:
    """Return the share of the variance that is due to missing values; 0 for a quantity that is known."""
    between = (1 + 1 / len(sets)) * np.var([row["mean"] for row in sets], ddof=1)
    total = float(between + np.mean([row["sd"] ** 2 for row in sets]))
    return float(between / total) if total else 0.0


def of_imputations(verb: Callable[..., Any], mix: Callable[..., Any], sets: Sequence[Any], arguments: Any) -> Any:
    """Call a verb with the outcomes and predictions of each set, and mix the results; of groups, of each one.

    Imputations have seeds of their own, and the same number of draws, `draws` / M rounded up, at least 2.
    """
    draws = _checks.whole_number("draws", arguments["draws"], at_least=2)
    seeds, results = _checks.seeds(arguments["rng"], len(sets)), []
    for j, ((y, p), seed) in enumerate(zip(sets, seeds, strict=True)):
        of_set = {"y_true": y, "y_prob": p, "draws": max(-(-draws // len(sets)), 2), "rng": seed}
        with errors_of(f"imputation {j}"):
            results.append(verb(**{**arguments, **of_set}))
    first = results[0]
    if not isinstance(first, OfGroups):
        return mix(results)
    in_all = [label for label in first.groups if all(label in each.groups for each in results)]
    groups = {label: mix([each.groups[label] for each in results]) for label in in_all}
    changed: dict[str, Any] = {"groups": groups, "overall": mix([each.overall for each in results])}
    if hasattr(first, "without"):
        lost = {
            label: f"imputation {j}: {why}" for j, each in enumerate(results) for label, why in each.without.items()
        }
        changed["without"] = lost
    return replace(first, **changed)
