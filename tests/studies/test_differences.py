"""The coverage study of differences: truths known beforehand, methods whose coverage is known, streams that do not mix.

Seeds are fixed. Monte Carlo comparisons allow five standard errors (`close_to`): a false alarm in 1.7 million.
"""

import json
import re
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import expit, logit
from studies import differences
from studies.differences import (
    COLUMNS,
    METHODS,
    STUDY_PAIRS,
    Stated,
    bootstrap_difference,
    difference_study,
    true_difference,
)

import bayescal as bc
from bayescal.datasets.simulate import BetaPopulation
from bayescal.stats.paired import PairedCounts

pytestmark = pytest.mark.measuring

DOCS = Path(__file__).resolve().parents[2] / "docs"
HONEST, BOLD, NOISY = Stated("honest"), Stated("bold", slope=2), Stated("noisy", noise=0.5)
CELL = {"sizes": [200], "populations": ["flat"], "pairs": [(HONEST, BOLD)]}


def everything(pair, prob, draws, rng):
    return -1.0, 1.0, 0.5


def nothing(pair, prob, draws, rng):
    return 2.0, 5.0, 2.5


def coin(pair, prob, draws, rng):
    """Contains the truth with probability `prob`, whatever the data."""
    return (-1.0, 1.0, 0.0) if rng.random() < prob else (2.0, 3.0, 2.5)


def squared(probability, rng):
    return probability**2


def counts(n=500, seed=1, noise=0.5):
    rng = np.random.default_rng(seed)
    p = rng.random(n)
    y = (rng.random(n) < p).astype(int)
    a, b = (Stated("m", noise=noise, slope=s)(p, rng) for s in (1, 1.5))
    return PairedCounts.from_arrays(y, a, y, b, bins=10, target="event"), (y, a, b)


# --- what the models state, and the truth


def test_what_a_model_states_by_hand():
    """Odds 3 squared are 9; odds 1 times e; 1/2 + 0.05 sin(4 pi) = 1/2; 0.55 + 0.3; clipped at 1."""
    rng = np.random.default_rng(1)

    def at(p, **known):
        return float(Stated("m", **known)(np.array([p]), rng)[0])

    assert at(0.75, slope=2) == pytest.approx(0.9)
    assert at(0.5, shift=1) == pytest.approx(np.e / (1 + np.e))
    assert at(0.5, wave=0.05) == pytest.approx(0.5)
    assert at(1 / 16, wave=0.05) == pytest.approx(1 / 16 + 0.05)
    assert at(0.55, off=0.3) == pytest.approx(0.85)
    assert [at(p, off=0.3) for p in (0.5, 0.57)] == pytest.approx([0.5, 0.57])
    assert at(0.55, off=0.9) == 1
    np.testing.assert_allclose(HONEST(np.array([0, 0.3, 1.0]), rng), [0, 0.3, 1])


def test_noise_is_of_each_call_and_has_its_standard_deviation(close_to, mcse):
    rng, p = np.random.default_rng(2), np.full(10_000, 0.3)
    one, other = (logit(NOISY(p, rng)) - logit(0.3) for _ in range(2))
    close_to(one.std(), 0.5, mcse.sd(one))
    close_to(np.corrcoef(one, other)[0, 1], 0, 1 / 100)


def test_without_noise_the_truth_is_that_of_quadrature():
    """Monotone statements have an inverse: bins of the confidence are intervals of the probability."""

    def by_quadrature(inverse, stated, density):
        edges = [inverse(e) for e in np.arange(16) / 15]
        gaps = [quad(lambda p: (p - stated(p)) * density(p), *ends, epsabs=1e-10)[0] for ends in pairwise(edges)]
        return np.abs(gaps).sum()

    def bold(p):
        return expit(2 * logit(p))

    def unbold(c):
        return expit(logit(c) / 2)

    flat = by_quadrature(unbold, bold, lambda p: 1.0)
    assert true_difference("flat", BOLD, HONEST) == pytest.approx(flat, abs=2e-4)
    assert true_difference("flat", HONEST, BOLD) == pytest.approx(-flat, abs=2e-4)
    rare = BetaPopulation(2, 3)
    expected = by_quadrature(unbold, bold, lambda p: 12 * p * (1 - p) ** 2)
    assert true_difference(rare, BOLD, squared) == pytest.approx(
        expected - by_quadrature(np.sqrt, np.square, lambda p: 12 * p * (1 - p) ** 2), abs=2e-4
    )


def test_with_noise_the_truth_is_that_of_the_mixture():
    """Confidence 1/2 +- 1/4, whatever the probability: with one bin, and with two, by hand.

    p is uniform, so E[p] = 1/2: one bin has no gap; bins below and above 1/2 have gaps of 1/4 each.
    """

    def coin_flip(probability, rng):
        return np.where(rng.random(probability.shape) < 0.5, 0.25, 0.75)

    assert true_difference("flat", coin_flip, HONEST, bins=1) == pytest.approx(0, abs=1e-3)
    assert true_difference("flat", coin_flip, HONEST, bins=2) == pytest.approx(1 / 4, abs=1e-3)


def test_bins_may_have_edges_that_confidences_hit():
    """0.29 * 100 is 28.999...: a confidence on an edge belongs to the bin above it, as everywhere."""

    def stated(p, rng):
        return np.where(p < 0.29, 0.29, np.where(p < 0.5, p, p - 0.1))

    on_edge = true_difference("flat", stated, HONEST, bins=[0, 0.29, 1])
    # all rows are in the upper bin: what is stated too high, 0.29^2 / 2, cancels with what is too low, 0.1 for half
    assert on_edge == pytest.approx(0.05 - 0.29**2 / 2, abs=2e-4)


def test_a_model_against_itself_differs_by_nothing():
    assert true_difference("top", BOLD, BOLD) == 0
    assert abs(true_difference("flat", NOISY, NOISY)) < 2e-4


# --- the study


@pytest.fixture
def quick_truth(monkeypatch):
    """A truth of fewer rows, where only how it is used is tested."""
    monkeypatch.setattr(differences, "TRUTH_ROWS", 20_000)


def test_an_interval_of_everything_always_covers_and_one_beyond_never(quick_truth):
    study = difference_study(
        sizes=[50, 100], populations=["flat", "top"], methods={"all": everything, "none": nothing}, repeats=2, rng=1
    )
    assert len(study.rows) == 2 * 2 * len(STUDY_PAIRS) * 2
    for row in study.rows:
        assert row["coverage"] == (row["method"] == "all")
        assert row["width"] == (2 if row["method"] == "all" else 3)
        assert np.isnan(row["width_ratio"])
        if row["method"] == "all":
            assert row["bias"] == pytest.approx(0.5 - row["truth"], abs=1e-12)
            assert row["rmse"] == pytest.approx(abs(0.5 - row["truth"]), abs=1e-12)


def test_there_are_enough_cells():
    """At least 24, as was promised: the pairs, two populations, two sizes."""
    assert len(STUDY_PAIRS) * 2 * 2 >= 24


def test_a_method_that_covers_with_a_known_probability_is_found_to(close_to, quick_truth):
    study = difference_study(**CELL, methods={"coin": coin}, prob=0.8, repeats=500, draws=2, rng=2)
    close_to(study.rows[0]["coverage"], 0.8, np.sqrt(0.8 * 0.2 / 500))


def test_overall_takes_the_worst_and_the_mean_over_cells(quick_truth):
    def only_many_rows(pair, prob, draws, rng):
        return (-1.0, 1.0, 0.1) if pair.n_rows > 60 else (2.0, 6.0, -0.1)

    study = difference_study(
        sizes=[50, 70, 90], populations=["flat"], pairs=[(HONEST, HONEST)], repeats=2, rng=1,
        methods={"m": only_many_rows, "unpaired": everything},
    )  # fmt: skip
    found = study.overall()[0]
    assert (found["method"], found["cells"]) == ("m", 3)
    assert (found["worst_coverage"], found["worst_cell"]) == (0.0, "flat, honest - honest, n = 50")
    assert found["mean_coverage"] == pytest.approx(2 / 3)
    # biases -0.1, 0.1, 0.1 do not cancel
    assert found["mean_absolute_bias"] == pytest.approx(0.1)
    assert found["mean_rmse"] == pytest.approx(0.1)
    assert found["mean_width"] == pytest.approx((4 + 2 + 2) / 3)
    assert found["mean_width_ratio"] == pytest.approx((2 + 1 + 1) / 3)


def test_neither_other_methods_nor_workers_change_results(quick_truth):
    asked = {**CELL, "pairs": [(HONEST, BOLD), (NOISY, NOISY)], "repeats": 2, "draws": 50, "rng": 5}
    together = difference_study(methods=list(METHODS), **asked)
    for name in ("paired", "basic bootstrap"):
        alone = difference_study(methods=[name], **asked)
        assert [{**row, "width_ratio": 0} for row in alone.rows] == [
            {**row, "width_ratio": 0} for row in together.rows if row["method"] == name
        ]
    two_processes = difference_study(methods=list(METHODS), **asked, workers=2)
    assert two_processes.rows == together.rows
    assert difference_study(methods=["paired"], **{**asked, "rng": 6}).rows != together.rows[:1]


def test_rows_are_what_the_models_state_of_one_event(quick_truth):
    """Without noise, both confidences follow from one probability, and outcomes are as frequent as that."""
    seen = []

    def watching(pair, prob, draws, rng):
        seen.append(pair)
        return 0.0, 1.0, 0.0

    difference_study(sizes=[20_000], populations=["flat"], pairs=[(HONEST, BOLD)], methods={"m": watching}, repeats=1)
    (pair,) = seen
    np.testing.assert_array_equal(pair.cells[:, 1], pair.cells[:, 3])
    edges = np.arange(16) / 15
    for a, b in zip(*pair.cells[:, [0, 2]].T, strict=True):
        bold = expit(2 * logit(edges[[a, a + 1]]))
        assert bold[0] <= edges[b + 1] + 1e-12
        assert edges[b] <= bold[1] + 1e-12
    first = pair.first
    error = np.sqrt(first.mean_confidence * (1 - first.mean_confidence) / first.n)
    assert (np.abs(first.accuracy - first.mean_confidence) < 5 * error).all()


# --- the methods


def test_paired_is_what_compare_says():
    pair, (y, a, b) = counts()
    low, high, estimate = METHODS["paired"](pair, 0.9, 300, np.random.default_rng(4))
    found = bc.compare(y, {"a": a, "b": b}, bins=10, draws=300, rng=4).difference("a", "b")
    assert (low, high) == found.interval(0.9)
    assert estimate == found.mean()


def test_unpaired_has_the_same_mean_and_another_order():
    pair, _ = counts(noise=0.1)
    paired, unpaired = (METHODS[m](pair, 0.9, 500, np.random.default_rng(4)) for m in ("paired", "unpaired"))
    assert paired[2] == pytest.approx(unpaired[2], abs=1e-12)
    assert paired[1] - paired[0] < unpaired[1] - unpaired[0]


@pytest.mark.parametrize("noise", [0.0, 0.5])
def test_the_bootstrap_is_that_of_rows(noise, close_to, mcse):
    """Rows are resampled here, one by one, with nothing but numpy."""
    pair, (y, a, b) = counts(400, noise=noise)
    rng, n_draws = np.random.default_rng(7), 4000
    place = [np.minimum((c * 10).astype(int), 9) for c in (a, b)]

    def difference(rows):
        eces = [
            np.abs(np.bincount(at[rows], (y - c)[rows], minlength=10)).sum() / len(rows)
            for at, c in zip(place, (a, b), strict=True)
        ]
        return eces[0] - eces[1]

    by_rows = np.array([difference(rng.integers(400, size=400)) for _ in range(n_draws)])
    plug_in, resampled = bootstrap_difference(pair, n_draws, rng=8)
    fast = resampled.values
    assert plug_in == pytest.approx(difference(np.arange(400)), abs=1e-12)
    close_to(fast.mean(), by_rows.mean(), np.hypot(mcse.mean(fast), mcse.mean(by_rows)), "mean")
    close_to(fast.std(), by_rows.std(), np.hypot(mcse.sd(fast), mcse.sd(by_rows)), "sd")
    for q in (0.025, 0.975):
        error = np.hypot(mcse.quantile(fast, q), mcse.quantile(by_rows, q))
        close_to(np.quantile(fast, q), np.quantile(by_rows, q), error, f"quantile {q}")


def test_the_basic_interval_is_the_percentile_interval_reflected():
    pair, _ = counts()
    (low, high, plug_in), (basic_low, basic_high, estimate) = (
        METHODS[f"{name} bootstrap"](pair, 0.9, 500, np.random.default_rng(3)) for name in ("percentile", "basic")
    )
    assert (basic_low + high) / 2 == pytest.approx(plug_in, abs=1e-12)
    assert (basic_high + low) / 2 == pytest.approx(plug_in, abs=1e-12)
    assert basic_low < estimate < basic_high


def test_the_joint_dirichlet_is_the_dirichlet_model_of_both(close_to, mcse):
    """Many rows and no prior to speak of: the mean and sd of the difference by draws of its own, cell by cell."""
    pair, _ = counts(2000)
    q = np.random.default_rng(9).dirichlet(pair.n, 4000)
    eces = []
    for margin, at, z in ((pair.first, 0, 1), (pair.second, 2, 3)):
        ece = np.zeros(4000)
        for b in range(10):
            inside = pair.cells[:, at] == b
            right = q[:, inside] @ pair.cells[inside, z]
            ece += np.abs(right - q[:, inside].sum(axis=1) * margin.mean_confidence[b])
        eces.append(ece)
    expected = eces[0] - eces[1]
    low, high, mean = METHODS["joint Dirichlet"](pair, 0.9, 4000, np.random.default_rng(4))
    close_to(mean, expected.mean(), np.sqrt(2) * mcse.mean(expected))
    for q_, found in ((0.05, low), (0.95, high)):
        close_to(found, np.quantile(expected, q_), np.sqrt(2) * mcse.quantile(expected, q_))


def test_the_package_covers_where_the_joint_dirichlet_does_not(quick_truth):
    """0.95 of 60 intervals are 57; under a coverage of 0.9 fewer than 42 have a probability below 2e-5."""
    study = difference_study(
        sizes=[1000], populations=["flat"], pairs=STUDY_PAIRS[:1], methods=["paired", "joint Dirichlet"], repeats=60,
        draws=400, rng=11,
    )  # fmt: skip
    covered = {row["method"]: row["coverage"] for row in study.rows}
    assert covered["paired"] >= 42 / 60
    assert covered["joint Dirichlet"] < 0.2


# --- as data, and what is refused


def test_the_frame_has_one_row_a_cell_and_method(quick_truth):
    frame = difference_study(**CELL, methods={"all": everything}, repeats=2, rng=1).to_frame()
    assert list(frame.columns) == list(COLUMNS)
    assert frame[["first", "second", "population"]].to_numpy().tolist() == [["honest", "bold", "flat"]]


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"methods": ["paird"]}, "Did you mean 'paired'"),
        ({"sizes": [0]}, "`sizes`"),
        ({"repeats": 0}, "`repeats`"),
        ({"prob": 1.0}, "`prob`"),
        ({"draws": 1}, "`draws`"),
        ({"populations": ["tpo"]}, "Did you mean 'top'"),
        ({"pairs": []}, "`pairs` must name at least one"),
        ({"sizes": []}, "`sizes` must name at least one"),
        ({"populations": []}, "`populations` must name at least one"),
        ({"methods": []}, "`methods` must name at least one"),
    ],
)
def test_what_cannot_be_asked_is_refused(wrong, said, quick_truth):
    with pytest.raises(ValueError, match=said):
        difference_study(**{**CELL, "repeats": 1, "draws": 10, **wrong})


def test_functions_that_no_other_process_can_import_are_refused(quick_truth):
    with pytest.raises(TypeError, match="workers"):
        difference_study(**{**CELL, "sizes": [50, 60]}, methods={"m": lambda *_: (0, 1, 0)}, repeats=1, workers=2)


# --- what the docs say


def stored_rows():
    stored = json.loads((DOCS / "_static" / "differences.json").read_text(encoding="utf-8"))
    return stored, [dict(zip(stored["columns"], row, strict=True)) for row in stored["rows"]]


def test_the_stored_study_is_as_good_as_the_page_says():
    """At least 24 cells of 100 repeats; worst coverage, mean coverage, and the width for two similar models."""
    stored, rows = stored_rows()
    assert stored["repeats"] >= 100
    paired = [row for row in rows if row["method"] == "paired"]
    assert len(paired) >= 24
    assert min(row["coverage"] for row in paired) >= 0.75
    assert np.mean([row["coverage"] for row in paired]) >= 0.92
    similar = [row["width_ratio"] for row in paired if row["second"] == "nearly over-confident"]
    assert len(similar) == 4
    assert max(similar) <= 0.5
    for row in paired:
        (unpaired,) = (r for r in rows if r["method"] == "unpaired" and all(r[k] == row[k] for k in COLUMNS[:4]))
        assert row["width_ratio"] == pytest.approx(row["width"] / unpaired["width"], rel=1e-3)


def test_the_page_shows_the_numbers_of_its_json():
    """Overall numbers are computed here from the cells, so that a stale page or a wrong mean is seen."""
    stored, rows = stored_rows()
    text = (DOCS / "explanation" / "comparing.md").read_text(encoding="utf-8")
    tables = {
        name: [[c.strip() for c in line.strip("|").split("|")] for line in body.strip().splitlines()]
        for name, body in re.findall(r"<!-- (\w+): made by `make coverage` -->\n(.*?)<!-- end -->", text, re.S)
    }
    for method, *numbers, where in tables["overall"][2:]:
        of = [row for row in rows if row["method"] == method]
        worst = min(of, key=lambda row: row["coverage"])
        means = [np.mean([abs(row[name]) for row in of]) for name in ("coverage", "bias", "rmse", "width")]
        assert [float(n) for n in numbers] == pytest.approx([worst["coverage"], *means], abs=0.0051)
        assert where == f"{worst['population']}, {worst['first']} - {worst['second']}, n = {worst['n_rows']}"
    assert len(tables["overall"]) == 2 + len(METHODS)
    for first, second, ratios in tables["pairs"][2:]:
        of = [r["width_ratio"] for r in rows if (r["method"], r["first"], r["second"]) == ("paired", first, second)]
        assert ratios == f"{min(of):.2f} to {max(of):.2f}"
    assert len(tables["pairs"]) == 2 + len(STUDY_PAIRS)
    by_cell = {(r["n_rows"], r["population"], f"{r['first']} - {r['second']}", r["method"]): r for r in rows}
    assert len(tables["cells"]) == 2 + len(by_cell) // len(METHODS)
    for n_rows, population, models, truth, *shares, bias, width, ratio in tables["cells"][2:]:
        paired = by_cell[int(n_rows), population, models, "paired"]
        told = [float(x) for x in (truth, bias, width)]
        assert told == pytest.approx([paired[k] for k in ("truth", "bias", "width")], abs=0.000051)
        assert float(ratio) == pytest.approx(paired["width_ratio"], abs=0.0051)
        for method, share in zip(tables["cells"][0][4:], shares, strict=False):
            assert float(share) == pytest.approx(
                by_cell[int(n_rows), population, models, method]["coverage"], abs=0.0051
            )
    assert f"{len(by_cell) // len(METHODS)} cells, {stored['repeats']} data sets in each" in text
