"""Counts as small JSON files, written atomically and validated when read; the registry of kinds of counts."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol, Self

from bayescal import _checks, _files
from bayescal._meant import public
from bayescal.stats.binned import BinnedCounts
from bayescal.stats.bins import Bins

SCHEMA = "bayescal.counts/2"  #: The version changes whenever readers of the file have to change.

#: The package, whose files named `document.py` or in folders named `documents` register kinds when they are imported.
PACKAGE = Path(__file__).parents[1]


class SavedCounts(Protocol):
    """Counts of any kind: a number of rows, and a sum of two."""

    @property
    def n_rows(self) -> int:
        """Number of rows."""

    def __add__(self, other: Any) -> Self:
        """Return the counts of the rows of both."""


def _deviations(counts: BinnedCounts) -> bytes:
    return counts.deviation.tobytes() + counts.cells.tobytes()


@dataclass(frozen=True)
class CountsKind:
    """A kind of counts that can be saved."""

    name: str  # value of "kind" in the document
    counts: type
    document: Callable[[Any], dict[str, Any]]  # counts -> plain data for JSON, without "schema" and "kind"
    read: Callable[[dict[str, Any]], Any]  # plain data without these entries -> counts, with validation
    words: str  # in messages, such as "counts of right-censored rows"
    instead: str = ""  # for counts that ``bayescal report`` cannot evaluate: what to do
    binary: Callable[[Any], BinnedCounts] = lambda counts: counts  # counts -> those of the first classifier or class
    about: Callable[[Any], str] | None = None  # counts -> target, and bins or thresholds
    fingerprint: Callable[[Any], bytes] | None = None  # counts -> sums that different rows hardly share

    def described(self, counts: Any) -> str:
        """Return the target, and the bins or thresholds."""
        if self.about:
            return self.about(counts)
        one = self.binary(counts)
        return f"{one.target}, {one.bins}"

    def sums_of(self, counts: Any) -> bytes:
        """Return sums that different rows hardly have in common."""
        return self.fingerprint(counts) if self.fingerprint else _deviations(self.binary(counts))


@dataclass(frozen=True)
class BinsKind:
    """Bins of a type of their own, which are stored by their parameters instead of their edges."""

    name: str
    bins: type
    document: Callable[[Any], dict[str, Any]]
    read: Callable[[Mapping[str, Any]], Bins]


_kinds: dict[str, CountsKind] = {}
_bins: dict[str, BinsKind] = {}


def _registering[**P, K: (CountsKind, BinsKind)](kind: Callable[P, K], kinds: dict[str, K]) -> Callable[P, None]:
    """Return a function that makes a kind and adds it; files that convert counts to documents call it when imported."""

    def register(*values: P.args, **named: P.kwargs) -> None:
        record = kind(*values, **named)
        kinds[record.name] = record

    return register


register_counts, register_bins = _registering(CountsKind, _kinds), _registering(BinsKind, _bins)


def counts_kinds() -> Mapping[str, CountsKind]:
    """Return all kinds of counts by name, in alphabetical order."""
    _load_package()
    return dict(sorted(_kinds.items()))


def bins_kinds() -> Mapping[str, BinsKind]:
    """Return all kinds of bins that have a type of their own, by name."""
    _load_package()
    return _bins


def kind_of(counts: object) -> CountsKind:
    """Return the kind of counts; raise TypeError if they are of another type."""
    kinds = counts_kinds().values()
    for kind in kinds:
        if type(counts) is kind.counts:
            return kind
    types = [kind.counts.__name__ for kind in kinds]
    raise TypeError(f"`counts` must be {', '.join(types[:-1])} or {types[-1]}, not {type(counts).__name__}.")


@cache
def _load_package() -> None:
    for file in sorted([*PACKAGE.rglob("document.py"), *PACKAGE.rglob("documents/*.py")]):
        parts = file.relative_to(PACKAGE.parent).with_suffix("").parts
        import_module(".".join(parts).removesuffix(".__init__"))


@public
def save_counts(counts: SavedCounts, path: str | Path) -> Path:
    """Write counts to a small JSON file, to merge or evaluate them elsewhere.

    Parameters
    ----------
    counts : BinnedCounts, PairedCounts, ClasswiseCounts, LogitCounts, SurvivalCounts, ...
        The counts, of any of these types; also ShiftCounts, ThresholdCounts and JudgedCounts.
    path : str or Path
        The file. An existing file is replaced in one step, so that readers never see an incomplete file.

    Returns
    -------
    Path
        The file that was written.

    Raises
    ------
    TypeError
        If `counts` are of another type, or the label of a class is neither text nor a number.
    OSError
        If the folder does not exist or is not writable.

    See Also
    --------
    load_counts : Read the file.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> counts = bc.BinnedCounts.from_arrays([0, 1, 1], [0.2, 0.7, 0.9], bins=5)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = bc.save_counts(counts, Path(folder) / "counts.json")
    ...     bc.load_counts(path) == counts
    True
    """
    return _files.write_atomically(path, _files.document_text(counts_document(counts)))


@public
def load_counts(path: str | Path) -> SavedCounts:
    """Read counts from a file that `save_counts` wrote; all sums are equal bit for bit.

    Parameters
    ----------
    path : str or Path
        The file.

    Returns
    -------
    BinnedCounts, PairedCounts, ClasswiseCounts, LogitCounts, SurvivalCounts, ...
        The saved counts. To merge the files of several workers, use ``sum(map(load_counts, paths))``.

    Raises
    ------
    FileNotFoundError, IsADirectoryError
        If the file does not exist; the message suggests similar names.
    ValueError
        If the file is not JSON, is truncated, has another schema, or holds impossible sums, such as negative numbers
        of rows or a mean confidence outside its bin. The message names the file and the entry.

    See Also
    --------
    save_counts : Write the file.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     workers = [
    ...         bc.save_counts(bc.BinnedCounts.from_arrays([0, 1], [0.2, c], bins=2), Path(folder) / f"{c}.json")
    ...         for c in (0.7, 0.9)
    ...     ]
    ...     sum(map(bc.load_counts, workers)).n
    array([2, 2])
    """
    document = _files.read_document(path, SCHEMA)
    try:
        return counts_from_document(document)
    except ValueError as problem:
        raise ValueError(f"'{path}': {problem}") from problem


def counts_document(counts: SavedCounts) -> dict[str, Any]:
    """Convert counts to plain data for JSON: "schema", "kind" (a name of `counts_kinds`) and the sums of that kind."""
    kind = kind_of(counts)
    return {"schema": SCHEMA, "kind": kind.name, **kind.document(counts)}


def counts_from_document(document: Any) -> SavedCounts:
    """Convert plain data, as `counts_document` returns them, to counts; refuse invalid entries and impossible sums."""
    document = _files.require_schema(document, SCHEMA)
    kind, _ = document.pop("kind", None), document.pop("schema")
    _checks.one_of("kind", kind, [*counts_kinds()])
    return counts_kinds()[str(kind)].read(document)
