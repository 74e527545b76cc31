"""Counts as small JSON files: written atomically, and validated completely when read."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from bayescal import _checks, _files
from bayescal._meant import public
from bayescal.data.predictions import TARGETS
from bayescal.stats.binned import BinnedCounts
from bayescal.stats.classwise import ClasswiseCounts
from bayescal.stats.documents.bins import bins_document, bins_from_document
from bayescal.stats.documents.classes import classes_document, classes_from_document
from bayescal.stats.documents.logits import logits_document, logits_from_document
from bayescal.stats.documents.losses import LOSSES, may_lack
from bayescal.stats.documents.pairs import pair_document, pair_from_document
from bayescal.stats.documents.shift import shift_document, shift_from_document
from bayescal.stats.documents.sums import NEEDED, sums_document, sums_from_document
from bayescal.stats.documents.survival import survival_document, survival_from_document
from bayescal.stats.documents.thresholds import thresholds_document, thresholds_from_document
from bayescal.stats.logits import LogitCounts
from bayescal.stats.paired import PairedCounts, require_paired
from bayescal.stats.shift_counts import ShiftCounts
from bayescal.stats.survival_counts import SurvivalCounts
from bayescal.stats.threshold_counts import ThresholdCounts

type SavedCounts = (
    BinnedCounts | PairedCounts | ClasswiseCounts | LogitCounts | ShiftCounts | SurvivalCounts | ThresholdCounts
)

#: Kinds that one function writes and one reads: type, and both functions.
_WHOLE: dict[str, tuple[type, Callable[[Any], dict[str, Any]], Callable[[Any], Any]]] = {
    "logit": (LogitCounts, logits_document, logits_from_document),
    "shift": (ShiftCounts, shift_document, shift_from_document),
    "survival": (SurvivalCounts, survival_document, survival_from_document),
    "threshold": (ThresholdCounts, thresholds_document, thresholds_from_document),
}

#: The version changes whenever readers of the file have to change.
SCHEMA = "bayescal.counts/2"
#: Schema of release 0.1.0, without sums of losses.
WITHOUT_LOSSES = "bayescal.counts/1"


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
        The saved counts. To merge the files of several workers, use ``sum(map(load_counts, paths))``. Files of release
        0.1.0 have no sums of losses: counts that include one give every result except the Brier score.

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
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     workers = [
    ...         save_counts(BinnedCounts.from_arrays([0, 1], [0.2, c], bins=2), Path(folder) / f"{c}.json")
    ...         for c in (0.7, 0.9)
    ...     ]
    ...     sum(map(load_counts, workers)).n
    array([2, 2])
    """
    document = _files.read_document(path, SCHEMA, [WITHOUT_LOSSES])
    try:
        return counts_from_document(document)
    except ValueError as problem:
        raise ValueError(f"'{path}': {problem}") from problem


def counts_document(counts: SavedCounts) -> dict[str, Any]:
    """Convert counts to plain data for JSON.

    Parameters
    ----------
    counts : BinnedCounts, PairedCounts, ClasswiseCounts, LogitCounts, SurvivalCounts, ShiftCounts or ThresholdCounts
        The counts.

    Returns
    -------
    dict
        Keys "schema", "kind" ("binned", "paired", "classwise", "logit", "shift", "survival" or "threshold") and the
        sums of that kind.
    """
    if isinstance(counts, BinnedCounts):
        about = {"target": counts.target, "bins": bins_document(counts.bins)}
        return {"schema": SCHEMA, "kind": "binned", **about, **sums_document(counts)}
    for kind, (of_kind, document_of, _) in _WHOLE.items():
        if isinstance(counts, of_kind):
            return {"schema": SCHEMA, "kind": kind, **document_of(counts)}
    if isinstance(counts, ClasswiseCounts):
        return {"schema": SCHEMA, "kind": "classwise", **classes_document(counts)}
    return {"schema": SCHEMA, "kind": "paired", **pair_document(require_paired(counts))}


def counts_from_document(document: Any) -> SavedCounts:
    """Convert plain data to counts, with validation.

    Parameters
    ----------
    document : mapping
        Data as `counts_document` returns them.

    Returns
    -------
    BinnedCounts, PairedCounts, ClasswiseCounts, LogitCounts, SurvivalCounts, ShiftCounts or ThresholdCounts
        The counts.

    Raises
    ------
    ValueError
        If an entry is missing, unknown or invalid, or sums are impossible for rows.
    """
    document = _files.require_schema(document, SCHEMA, [WITHOUT_LOSSES])
    kind = document.pop("kind", None)
    _checks.one_of("kind", kind, ["binned", "paired", "classwise", *_WHOLE])
    losses = [] if document.pop("schema") == WITHOUT_LOSSES else LOSSES
    if kind == "paired":
        return pair_from_document(document, losses)
    if kind in _WHOLE:
        counts: SavedCounts = _WHOLE[kind][2](document)
        return counts
    if kind == "classwise":
        return classes_from_document(document)
    _files.require_entries(document, ["target", "bins", *NEEDED, *losses], may_lack(losses))
    _checks.one_of("target", document["target"], TARGETS)
    sums = {name: value for name, value in document.items() if name not in ("target", "bins")}
    return sums_from_document(sums, bins_from_document(document["bins"]), document["target"], losses=losses)
