"""Results of multiply imputed rows: the draws of all imputations together, and the share of missing information."""

import re
from collections.abc import Callable, Sequence
from dataclasses import fields, replace
from functools import cached_property, partial
from typing import Any, ClassVar, NoReturn, Self

import numpy as np

from bayescal import _checks, _render
from bayescal._invalid import errors_of
from bayescal._meant import public
from bayescal._presented import Presented
from bayescal.draws import Draws, fingerprint
from bayescal.results.of_groups import OfGroups

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
    few imputations, intervals of a mixture are too narrow [2]_. Use 20 or more.

    References
    ----------
    .. [1] D. B. Rubin (1987), Multiple Imputation for Nonresponse in Surveys, Wiley, section 3.3.
    .. [2] X. Zhou and J. P. Reiter (2010), "A note on Bayesian inference after multiple imputation", The American
       Statistician 64, 159-163.

    Examples
    --------
    >>> import numpy as np
    >>> import bayescal as bc
    >>> rng = np.random.default_rng(1)
    >>> imputed = list(np.where(rng.random(500) < 0.3, rng.random((5, 500)), rng.random(500)))
    >>> rc = bc.clinical.recalibration(rng.random(500) < imputed[0], imputed, rng=1)
    >>> len(rc.imputations), round(rc.table()[2]["missing_information"], 2)
    (5, 0...)
    """

    imputations: tuple[R, ...]

    #: Attributes and methods whose draws are joined; attributes that are averaged; those of single imputations alone.
    _joins: ClassVar[tuple[str, ...]] = ()
    _calls: ClassVar[tuple[str, ...]] = ()
    _means: ClassVar[tuple[str, ...]] = ()
    _without: ClassVar[tuple[str, ...]] = ()

    def __init_subclass__(cls, **options: Any) -> None:
        """Define these attributes and methods."""
        super().__init_subclass__(**options)
        for names, get in ((cls._joins, _join), (cls._calls, _join_calls), (cls._means, _mean), (cls._without, _none)):
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
        listed = [t[0] if len(t) == number else f"{len(t)} of {number} imputations: {t[0]}" for t in concerned.values()]
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


def _join(name: str, result: Imputed[Any]) -> Any:
    return joined([getattr(each, name) for each in result.imputations])


def _join_calls(name: str, result: Imputed[Any]) -> Callable[..., Any]:
    return lambda *args, **options: joined([getattr(each, name)(*args, **options) for each in result.imputations])


def _mean(name: str, result: Imputed[Any]) -> Any:
    return averaged([getattr(each, name) for each in result.imputations])


def _none(name: str, result: Imputed[Any]) -> NoReturn:
    raise AttributeError(f"`{name}` exists for a single imputation, as in `result.imputations[0].{name}`.")


def fields_of(record: Any) -> dict[str, Any]:
    """Return the fields of a dataclass by name."""
    return {each.name: getattr(record, each.name) for each in fields(record)}


def _origin_of(origins: Sequence[Any]) -> int:
    return fingerprint("imputations", *origins)


def joined(values: Sequence[Any]) -> Any:
    """Join the draws of all imputations: arrays, `Draws`, or tuples or dicts of them."""
    if isinstance(values[0], dict):
        return {key: joined([each[key] for each in values]) for key in values[0]}
    if isinstance(values[0], tuple):
        return tuple(map(joined, zip(*values, strict=True)))
    draws = np.concatenate([np.asarray(each) for each in values])
    if isinstance(values[0], Draws):
        return Draws(draws, values[0].name, _origin_of([each.origin for each in values]))
    return draws


def averaged(values: Sequence[Any]) -> Any:
    """Return the mean over the imputations, or whether any is true; of None, None."""
    if isinstance(values[0], dict):
        return {key: averaged([each[key] for each in values]) for key in values[0]}
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
    groups = {label: mix([each.groups[label] for each in results]) for label in first.groups}
    return replace(first, groups=groups, overall=mix([each.overall for each in results]))
