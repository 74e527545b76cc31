"""Remarks on a smooth calibration curve: missing outcomes, unequal bins, and rows that contradict the model."""

import numpy as np
from numpy.typing import NDArray

from bayescal import _render
from bayescal.stats.merged import MergedCounts

Floats = NDArray[np.float64]

#: Bins with more than this multiple of an equal share, and fewer bins than this, are named in a remark.
UNEQUAL, FEW_BINS = 2.0, 10
#: A bin whose observed rate is this many standard deviations from the curve contradicts the model.
CONTRADICTS = 4.5
#: Largest error of an observed rate by rounding.
ROUNDING = 1e-9


def of_outcomes(counts: MergedCounts, contradicted: float) -> list[str]:
    """Name outcomes that are missing, and rows that contradict a score of exactly 0 or 1."""
    texts, rate = [], float(counts.accuracy @ counts.share)
    if np.abs(counts.accuracy - np.round(rate)).max() < ROUNDING:
        texts.append(
            f"No row has outcome {1 - round(rate)}: the curve follows from the prior and from the absence of this "
            "outcome."
        )
    if contradicted:
        rows = (
            f"Rows with {_render.percent(contradicted)} of the weight contradict"
            if counts.weighted
            else f"{contradicted:.0f} of {counts.n_rows} rows contradict"
        )
        texts.append(
            f"{rows} a score of exactly 0 or 1, so that exact calibration is impossible. The curve is smooth: it "
            "spreads this error to neighbouring scores, so that the largest error is too small and the ICI may be too "
            "large. Look at these rows."
        )
    return texts


def of_bins(counts: MergedCounts, wanted: int, *, counted: bool) -> list[str]:
    """Name bins that are few or unequal, because equal scores, or counted bins, are not divided."""
    n_bins = len(counts.share)
    ratio = float(counts.share.max()) * wanted
    if n_bins >= FEW_BINS and ratio <= UNEQUAL:
        return []
    whole, effect = (
        ("counted bins", "Count in finer bins. Errors within a bin average out")
        if counted
        else ("equal scores", "The curve spreads an error of one score to its neighbours: the ICI may be too large")
    )
    return [
        f"The curve has {n_bins} bin{'s' * (n_bins > 1)} instead of {wanted}, and the largest holds "
        f"{100 * counts.share.max():.0f} % of the rows, because {whole} are not divided. {effect}; "
        "coverage was measured with bins of equal mass."
    ]


def of_fit(counts: MergedCounts, score: Floats, mean: Floats, sd: Floats) -> list[str]:
    """Name the bin that contradicts the curve most, if any does."""
    variance = np.maximum(mean * (1 - mean) / counts.effective_n + sd**2, 1e-12)
    off = np.abs(counts.accuracy - mean) / np.sqrt(variance)
    worst = int(off.argmax())
    # at least one row beyond what is expected: in bins at 0 or 1, the variance alone is no guide
    if off[worst] < CONTRADICTS or abs(counts.accuracy[worst] - mean[worst]) * counts.effective_n[worst] < 2:
        return []
    return [
        f"The model contradicts the rows around score {score[worst]:.3g}, where the observed rate is "
        f"{counts.accuracy[worst]:.3g} and that of the curve {mean[worst]:.3g}: the error is neither smooth nor "
        "small there. Do not rely on the intervals; `cumulative_difference` assumes no curve."
    ]
