"""All numbers of 16 captions of Tygert (2021), digit by digit; a test counts them."""

import sys
from pathlib import Path

import numpy as np
import pytest

import bayescal as bc

sys.path.append(str(Path(__file__).parent))

import tygert_figures as tygert

NUMBERS = {"kuiper": "kuiper", "ks": "kolmogorov_smirnov"}


def assert_caption(cd, caption):
    """The number of scores, and both statistics and their ratios to the published sigma, with all printed digits."""
    assert f"{cd.n:,}" == caption.n
    printed = caption._asdict()
    for name, attribute in NUMBERS.items():
        value = getattr(cd, attribute)
        assert f"{value:#.4g}" == printed[name]
        assert f"{value / cd.sigma:#.4g}" == printed[f"{name}_over_sigma"]


@pytest.mark.parametrize("figure", tygert.CALIBRATION)
def test_captions_about_calibration(figure):
    rows = tygert.calibration_rows(figure)
    assert_caption(bc.cumulative.difference(rows.outcome, rows.score), tygert.CALIBRATION[figure])


@pytest.mark.parametrize("figure", tygert.SUBPOPULATIONS)
def test_captions_about_subpopulations(figure):
    rows = tygert.subpopulation_rows(figure)
    sub = bc.cumulative.subpopulation(rows.outcome, rows.score, rows.member, weights=rows.weights)
    caption = tygert.SUBPOPULATIONS[figure]
    assert_caption(sub, caption)
    shown = [
        [line.split()[-3] for line in str(sub).splitlines() if line.startswith(f" {name}")] for name in ("Kui", "Kol")
    ]
    assert shown == [[f"{float(caption.kuiper_over_sigma):.2f}"], [f"{float(caption.ks_over_sigma):.2f}"]]
    for row, value in zip(sub.table(), (caption.kuiper_over_sigma, caption.ks_over_sigma), strict=True):
        assert f"{row['in_published_sigma']:#.4g}" == value
        assert row["in_sigma"] == row["value"] / sub.null_sigma


def test_numbers_of_captions():
    captions = [*tygert.SUBPOPULATIONS.values(), *tygert.CALIBRATION.values()]
    assert sum(len(caption) - 1 for caption in captions) == 64


def test_cells_of_figure_3_depend_on_rounding():
    """Scores of the same recipe with other last digits: rows midway between two members change their cell."""
    rows = tygert.subpopulation_rows(3)
    score = (np.arange(tygert.ROWS) + 0.5) / tygert.ROWS
    np.testing.assert_allclose(score, rows.score, rtol=0, atol=1e-15)
    sub = bc.cumulative.subpopulation(rows.outcome, score, rows.member)
    assert f"{sub.kolmogorov_smirnov:#.4g}" != tygert.SUBPOPULATIONS[3].ks
