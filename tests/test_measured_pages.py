"""The pages on the choice of bins and on plans show the numbers of their files, which meet their requirements."""

import importlib
import json
from pathlib import Path

import numpy as np
import pytest

DOCS = Path(__file__).resolve().parents[1] / "docs"


@pytest.fixture
def script(monkeypatch):
    """Import a script of docs/make by its name."""
    monkeypatch.syspath_prepend(str(DOCS / "make"))
    return importlib.import_module


def numbers_of(name):
    return json.loads((DOCS / "_static" / name).read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("name", "file", "page"),
    [
        ("bin_sensitivity", "bin_sensitivity.json", "choice_of_bins.md"),
        ("planning", "planning.json", "plans.md"),
        ("cumulative_coverage", "cumulative_coverage.json", "cumulative_posterior.md"),
        ("cumulative", "cumulative.json", "cumulative.md"),
        ("recalibration", "recalibration.json", "recalibration.md"),
    ],
)
def test_a_page_shows_the_numbers_of_its_file(script, name, file, page):
    text = (DOCS / "explanation" / page).read_text(encoding="utf-8")
    for shown in script(name).tables(numbers_of(file)).values():
        assert shown.strip() in text


def test_corrected_p_values_are_nearly_uniform():
    """Without ties and weights, no chi-square test rejects at 1e-6; else at most 6 % are rejected at 5 %.

    With few distinct scores, P-values are too large, and at most 5 % are rejected.
    """
    numbers = numbers_of("cumulative.json")
    rows = [dict(zip(numbers["columns"], row, strict=True)) for row in numbers["rows"]]
    corrected = [row for row in rows if row["correction"] == "yes"]
    assert (numbers["repeats"], len(corrected)) == (10_000, 48)
    assert all(row["chi_square"] >= 1e-6 for row in corrected if row["data"] == "plain")
    few = [row["at_5"] for row in corrected if row["data"] == "few scores"]
    assert all(0.045 <= row["at_5"] <= 0.06 for row in corrected if row["data"] != "few scores")
    assert (len(few), max(few) <= 0.05, min(few) >= 0.02) == (12, True, True)
    assert max(row["at_1"] for row in corrected) <= 0.015


def test_the_average_over_bins_contains_the_truth():
    numbers = numbers_of("bin_sensitivity.json")
    rows = [dict(zip(numbers["columns"], row, strict=True)) for row in numbers["rows"]]
    coverage = [row["coverage"] for row in rows if row["method"] == "mixture"]
    assert len(coverage) == 24
    assert min(coverage) >= 0.85
    assert sum(coverage) / len(coverage) >= 0.93


def test_intervals_of_the_cumulative_difference_contain_the_truth():
    """The requirements of the page: 81 cells, also those in which posteriors of the curve alone fail."""
    numbers = numbers_of("cumulative_coverage.json")
    rows = [dict(zip(numbers["columns"], row, strict=True)) for row in numbers["rows"]]
    for quantity, least in (("Kuiper", 0.82), ("Kolmogorov-Smirnov", 0.82)):
        coverage = [r["coverage"] for r in rows if r["quantity"] == quantity and r["method"] == "pooled"]
        assert len(coverage) == 81
        assert min(coverage) >= least
        assert sum(coverage) / 81 >= 0.95
    band = [r["coverage"] for r in rows if r["method"] == "simultaneous band"]
    assert sum(band) / len(band) >= 0.93


def test_true_intercepts_and_slopes(script):
    """Of the maximum of the expected likelihood, and of the shift with the mean event rate, by quadrature."""
    from scipy import integrate, optimize
    from scipy.special import expit, logit

    study = script("recalibration")
    truth = study.true_values("flat", (-0.5, 0.7))
    rate = integrate.quad(lambda c: expit(-0.5 + 0.7 * logit(c)), 0, 1)[0]
    shift = optimize.brentq(lambda s: integrate.quad(lambda c: expit(logit(c) + s), 0, 1)[0] - rate, -3, 3)
    assert truth == pytest.approx({"intercept": -0.5, "slope": 0.7, "in the large": shift}, abs=1e-4)
    wave = study.true_values("flat", "wave")
    curve = study.curve_of("wave")

    def score(power):
        """Derivative of the expected log likelihood; 0 at the maximum."""
        return integrate.quad(
            lambda c: (curve(c) - expit(wave["intercept"] + wave["slope"] * logit(c))) * logit(c) ** power,
            1e-12, 1 - 1e-12, limit=500,
        )[0]  # fmt: skip

    assert [score(0), score(1)] == pytest.approx([0, 0], abs=1e-4)


def test_true_cumulative_curves(script):
    """The cumulative wave is 0.05 (1 - cos(8 pi t)) / (8 pi) on a flat population; a calibrated one is exactly 0."""
    from bayescal.datasets.simulate import true_curve

    study = script("cumulative_coverage")
    wave = study.curve_of_population("flat", true_curve("wave", 0.05))
    np.testing.assert_allclose(wave.max(), 0.1 / (8 * np.pi), rtol=1e-6)
    assert study.curve_of_population("rare", true_curve("calibrated")).max() == 0


def test_the_true_error_is_that_of_the_quadrature(script):
    """Sums over quantiles of the population against Gauss-Legendre quadrature over the bins."""
    from bayescal.datasets.simulate import true_ece
    from bayescal.stats.bins import equal_width_edges

    for named in (("temperature", 1.2), ("wave", 0.05), ("one bad bin", 0.3)):
        of_edges = script("bin_sensitivity").true_error("top", named)
        for number in (5, 50):
            exact = true_ece("top", named[0], strength=named[1], bins=number)
            assert of_edges(equal_width_edges(number)) == pytest.approx(exact, abs=1e-5)
