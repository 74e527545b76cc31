"""Counts as small JSON files: written atomically, and validated completely when read."""

from pathlib import Path
from typing import Any

from bayescal import _checks, _files
from bayescal._meant import public
from bayescal.stats.kinds import SavedCounts, counts_kinds, kind_of

#: The version changes whenever readers of the file have to change.
SCHEMA = "bayescal.counts/2"


@public
def save_counts(counts: SavedCounts, path: str | Path) -> Path:
    """Write counts to a small JSON file, to merge or evaluate them elsewhere.

    Parameters
    ----------
    counts : BinnedCounts, PairedCounts, ClasswiseCounts, LogitCounts, SurvivalCounts, ShiftCounts or ThresholdCounts
        The counts.
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
    >>> from bayescal import BinnedCounts
    >>> counts = BinnedCounts.from_arrays([0, 1, 1], [0.2, 0.7, 0.9], bins=5)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = save_counts(counts, Path(folder) / "counts.json")
    ...     load_counts(path) == counts
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
    BinnedCounts, PairedCounts, ClasswiseCounts, LogitCounts, SurvivalCounts, ShiftCounts or ThresholdCounts
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
    >>> from bayescal import BinnedCounts
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     workers = [
    ...         save_counts(BinnedCounts.from_arrays([0, 1], [0.2, c], bins=2), Path(folder) / f"{c}.json")
    ...         for c in (0.7, 0.9)
    ...     ]
    ...     sum(map(load_counts, workers)).n
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
    counts: SavedCounts = counts_kinds()[str(kind)].read(document)
    return counts
