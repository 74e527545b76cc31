"""Remarks: warnings about the interval of a result, derived from its counts and its model."""

from collections.abc import Mapping

import numpy as np

from bayescal.stats.binned import BinnedCounts

#: Confidences this near to 0 or 1 count as saturated.
NEAR = 1e-4
#: Share of saturated rows from which the interval of the shrinkage model is known to fail.
SATURATED = 0.2
#: Maximum number of results that are named before a shared remark.
NAMED = 3


def remarks_of(counts: BinnedCounts, model: str) -> tuple[str, ...]:
    """Collect the remarks on one result.

    Parameters
    ----------
    counts : BinnedCounts
        The counts.
    model : str
        Name of the posterior.

    Returns
    -------
    tuple of str
        One or two sentences each; empty if no problem is known.

    Examples
    --------
    >>> remarks_of(BinnedCounts.from_arrays([0, 1, 1], [0.2, 0.7, 0.9]), "shrinkage")
    ()
    >>> len(remarks_of(BinnedCounts.from_arrays([0, 1, 1], [0.0, 1.0, 1.0]), "shrinkage"))
    1
    """
    found = (remark(counts, model) for remark in _REMARKS)
    return tuple(text for text in found if text is not None)


def of_several(remarks: Mapping[str, tuple[str, ...]]) -> list[str]:
    """Merge the remarks on several results: each occurs once, after the names of the results that it concerns.

    Parameters
    ----------
    remarks : mapping of str to tuple of str
        The remarks on each result, by name.

    Returns
    -------
    list of str
        One entry per remark.

    Examples
    --------
    >>> of_several({"north": ("Few rows.",), "south": (), "west": ("Few rows.",)})
    ['north, west: Few rows.']
    """
    concerned: dict[str, list[str]] = {}
    for name, texts in remarks.items():
        for text in texts:
            concerned.setdefault(text, []).append(name)
    return [f"{_listed(names)}: {text}" for text, names in concerned.items()]


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return ", ".join(names[:NAMED]) + more


def _saturated(counts: BinnedCounts, model: str) -> str | None:
    """Warn about confidences of 0 and 1: their log odds are infinite, and a few wrong ones mislead the model."""
    if model != "shrinkage" or not counts.n_rows:
        return None
    occupied = counts.occupied
    mean = counts.mean_confidence[occupied]
    saturated = np.minimum(mean, 1 - mean) <= NEAR
    if counts.n[occupied][saturated].sum() < SATURATED * counts.n_rows:
        return None
    return (
        f"At least {100 * SATURATED:g} % of the confidences are 0 or 1 (within {NEAR:g}). If a few of these are wrong, "
        "the interval of the shrinkage model is known to be too narrow or to lie too high: in simulations with 1000 "
        "rows, 95 % intervals contained the true ECE about half of the time."
    )


#: All remarks: functions of counts and model that return a text or None.
_REMARKS = (_saturated,)
