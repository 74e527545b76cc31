"""The study of other packages: true values, the bins that the packages use, coverage, and the page of its numbers."""

import importlib.util
import json
import sys
from pathlib import Path

import numpy as np
import pytest

import bayescal as bc
from bayescal.datasets.simulate import Curve, simulate

DOCS = Path(__file__).resolve().parents[1] / "docs"
ROWS = simulate(500, population="flat", curve="temperature", strength=1.5, rng=3)


@pytest.fixture(scope="module")
def related():
    """The script, which imports its neighbours by their file names."""
    folder = str(DOCS / "make")
    sys.path.insert(0, folder)
    try:
        spec = importlib.util.spec_from_file_location("related", DOCS / "make" / "related.py")
        loaded = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(loaded)
    finally:
        sys.path.remove(folder)
    return loaded


@pytest.fixture(scope="module")
def stored():
    numbers = json.loads((DOCS / "_static" / "related.json").read_text(encoding="utf-8"))
    return numbers, [dict(zip(numbers["columns"], row, strict=True)) for row in numbers["rows"]]


def test_the_true_l2_error_is_the_root_mean_square_of_the_gaps(related):
    """For uniform confidences and the curve c^2, the gap of the bin [a, b] is (a^2 + ab + b^2) / 3 - (a + b) / 2."""
    a, b = np.arange(15) / 15, np.arange(1, 16) / 15
    gap = (a**2 + a * b + b**2) / 3 - (a + b) / 2
    expected = np.sqrt(np.mean(gap**2))
    assert related.true_l2_error("flat", Curve("square", None, np.square)) == pytest.approx(expected, abs=1e-6)
    assert related.true_l2_error("top", Curve("calibrated", None, lambda c: c)) == 0
    assert related.true_l2_error("top", Curve("lower", None, lambda c: c - 0.1)) == pytest.approx(0.1)


def test_a_cell_compares_every_interval_with_the_truth_of_its_own_bins(related, monkeypatch):
    """Temperatures are symmetric around 0.5, so that gaps cancel in one bin; 0.0583 in 15 bins is in coverage.md."""

    def program(rows, draws, seed):
        assert (len(rows), draws, seed >= 0) == (300, 7, True)
        yield ("fifteen", "contains"), (0.058, 0.059), 15
        yield ("fifteen", "below"), (0.0, 0.05), 15
        yield ("one", "contains"), (0.0, 0.01), [0, 1]
        yield ("l2", "above"), (0.9, 1.0), None

    monkeypatch.setattr(related, "of_bayescal", program)
    for name in ("of_calibstats", "of_probcal", "of_uncertainty_calibration"):
        monkeypatch.setattr(related, name, lambda rows, draws, seed: ())
    rows = related.of_cell((300, "flat", ("temperature", 1.5), 3, 7, np.random.default_rng(1)))
    found = {(r["estimand"], r["method"]): (r["coverage"], r["above"], round(r["width"], 9)) for r in rows}
    assert found == {
        ("fifteen", "contains"): (1, 0, 0.001),
        ("fifteen", "below"): (0, 1, 0.05),
        ("one", "contains"): (1, 0, 0.01),
        ("l2", "above"): (0, 0, 0.1),
    }
    truth = {row["estimand"]: row["truth"] for row in rows}
    assert truth["fifteen"] == pytest.approx(0.0583, abs=5e-5)
    assert truth["one"] == pytest.approx(0, abs=1e-9)
    assert truth["fifteen"] < truth["l2"] < 0.1
    assert {row["repeats"] for row in rows} == {3}


def bins_of(related, program):
    """The bins that the study assigns to each method of a program."""
    return {key: bins for key, _, bins in program(ROWS, 5, 1)}


def test_calibstats_has_the_bins_that_the_study_assigns_to_it(related):
    calibstats = pytest.importorskip("calibstats")
    assert bins_of(related, related.of_calibstats) == {
        (related.WIDTH, "calibstats"): 15,
        (related.WIDTH, "calibstats_basic"): 15,
        (related.SQUARED, "calibstats_debiased"): None,
    }
    plug_in = bc.plug_in_ece(ROWS.outcome, ROWS.confidence, bins=15)
    assert calibstats.ece(ROWS.confidence, ROWS.outcome) == pytest.approx(plug_in, abs=1e-12)
    settings = {"n_boot": 50, "alpha": 0.05, "seed": 9}
    basic = calibstats.bootstrap_ci(ROWS.confidence, ROWS.outcome, calibstats.ece, method="basic", **settings)
    ends = {key[1]: ends for key, ends, _ in related.of_calibstats(ROWS, 50, 9)}
    assert ends["calibstats_basic"] == pytest.approx(basic.ci, abs=1e-12)
    # without its correction, the debiased error is the l_2 error in the same bins
    counts = bc.BinnedCounts.from_arrays(ROWS.outcome, ROWS.confidence, bins=15)
    gap, share = counts.accuracy - counts.mean_confidence, counts.share
    squared = calibstats.calibration_error(ROWS.confidence, ROWS.outcome, norm="l2") ** 2
    assert squared == pytest.approx((share * gap**2).sum(), abs=1e-12)
    corrected = (share * (gap**2 - counts.accuracy * (1 - counts.accuracy) / (counts.n - 1))).sum()
    assert calibstats.debiased_ece(ROWS.confidence, ROWS.outcome) ** 2 == pytest.approx(corrected, abs=1e-12)


def test_probcal_has_the_bins_that_the_study_assigns_to_it(related):
    metrics = pytest.importorskip("probcal.metrics")
    for edges in bins_of(related, related.of_probcal).values():
        plug_in = bc.plug_in_ece(ROWS.outcome, ROWS.confidence, bins=edges)
        assert metrics.ece(ROWS.outcome, ROWS.confidence) == pytest.approx(plug_in, abs=1e-12)


def test_uncertainty_calibration_has_the_bins_that_the_study_assigns_to_it(related):
    calibration = pytest.importorskip("calibration")
    (bins,) = bins_of(related, related.of_uncertainty_calibration).values()
    plug_in = bc.plug_in_ece(ROWS.outcome, ROWS.confidence, bins=bins)
    found = calibration.get_calibration_error(ROWS.confidence, ROWS.outcome, p=1, debias=False)
    assert found == pytest.approx(plug_in, abs=1e-12)


def tables_of_page():
    """Cells of the tables that the command wrote: of all kinds of test sets together, and of each."""
    text = (DOCS / "explanation" / "related_work.md").read_text(encoding="utf-8")
    for name in ("overall", "cells"):
        part = text.split(f"<!-- {name}: made by `make related` -->")[1].split("<!-- end -->")[0]
        yield [[cell.strip() for cell in line.strip("|").split("|")] for line in part.strip().splitlines()]


def test_the_page_shows_the_numbers_of_its_json(related, stored):
    """Means are computed here from the cells, so that a stale page or a wrong mean is seen."""
    numbers, rows = stored
    overall, cells = tables_of_page()
    titles = {title: method for method, title in related.TITLES.items()}
    assert {(line[0], titles[line[1]]) for line in overall[2:]} == {(r["estimand"], r["method"]) for r in rows}
    for estimand, title, *shown in overall[2:]:
        of = [r for r in rows if (r["estimand"], r["method"]) == (estimand, titles[title])]
        assert len({(r["n_rows"], r["population"], r["curve"]) for r in of}) == len(of) == 16
        every, exact = [r["coverage"] for r in of], [r["coverage"] for r in of if r["curve"] == "calibrated"]
        assert len(exact) == 4
        expected = [min(every), sum(every) / 16, sum(exact) / 4, (sum(every) - sum(exact)) / 12]
        assert [float(n) for n in shown[:4]] == pytest.approx(expected, abs=0.0051)
        assert float(shown[4]) == pytest.approx(sum(r["width"] for r in of) / 16, abs=0.000051)
    in_width = {
        (r["n_rows"], r["population"], r["curve"], r["method"]): r for r in rows if r["estimand"] == related.WIDTH
    }
    assert len(cells) == 2 + 16
    assert len(in_width) == 16 * 3
    for n_rows, population, curve, truth, *shares in cells[2:]:
        for title, share in zip(cells[0][4:], shares, strict=True):
            row = in_width[int(n_rows), population, curve, titles[title]]
            assert float(share) == pytest.approx(row["coverage"], abs=0.0051)
            assert float(truth) == pytest.approx(row["truth"], abs=0.000051)
    text = (DOCS / "explanation" / "related_work.md").read_text(encoding="utf-8")
    assert f"16 cells, {numbers['repeats']} data sets in each" in text
    assert f"one share near 0.95 is {(0.95 * 0.05 / numbers['repeats']) ** 0.5:.3f}" in text
    assert all(f"{name} {version}" in text for name, version in numbers["programs"].items())


def test_the_study_has_at_least_forty_data_sets_per_cell(stored):
    numbers, rows = stored
    assert {row["repeats"] for row in rows} == {numbers["repeats"]}
    assert numbers["repeats"] >= 40
