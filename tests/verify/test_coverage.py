"""The coverage study: methods whose coverage is known beforehand, streams that do not mix, bootstraps against rows.

Seeds are fixed. Monte Carlo comparisons allow five standard errors (`close_to`): a false alarm in 1.7 million.
"""

import itertools

import numpy as np
import pytest

from bayescal.datasets.simulate import simulate
from bayescal.estimands.errors import ece
from bayescal.estimands.plug_in import observed_bins
from bayescal.stats.binned import BinnedCounts
from bayescal.verify.studies.coverage import COLUMNS, METHODS, bootstrap_ece, coverage_study

CELL = {"sizes": [200], "populations": ["flat"], "curves": ["calibrated"]}


def everything(counts, prob, draws, rng):
    return 0.0, 1.0, 0.5


def nothing(counts, prob, draws, rng):
    return 2.0, 3.0, 2.5


def coin(counts, prob, draws, rng):
    """Contains the truth with probability `prob`, whatever the data."""
    return (0.0, 1.0, 0.5) if rng.random() < prob else (2.0, 3.0, 2.5)


def test_an_interval_of_everything_always_covers_and_one_beyond_never():
    study = coverage_study(
        sizes=[50, 100], populations=["flat", "top"], methods={"all": everything, "none": nothing}, repeats=5, rng=1
    )
    assert len(study.rows) == 2 * 2 * 6 * 2
    by_method = {method: [r for r in study.rows if r["method"] == method] for method in ("all", "none")}
    assert {r["coverage"] for r in by_method["all"]} == {1.0}
    assert {r["coverage"] for r in by_method["none"]} == {0.0}
    # a constant estimate has no variance: bias and root mean square error are its distance from the truth
    for row in by_method["all"]:
        assert row["width"] == 1.0
        assert row["bias"] == pytest.approx(0.5 - row["truth"], abs=1e-12)
        assert row["rmse"] == pytest.approx(abs(0.5 - row["truth"]), abs=1e-12)


def test_a_method_that_covers_with_a_known_probability_is_found_to(close_to):
    repeats = 2000
    study = coverage_study(**CELL, methods={"coin": coin}, prob=0.8, repeats=repeats, draws=1, rng=2)
    close_to(study.rows[0]["coverage"], 0.8, np.sqrt(0.8 * 0.2 / repeats))


def test_an_end_of_the_interval_belongs_to_it():
    study = coverage_study(**CELL, methods={"point": lambda *_: (0.0, 0.0, 0.0)}, repeats=3, rng=1)
    assert study.rows[0]["truth"] == 0
    assert study.rows[0]["coverage"] == 1


def test_overall_takes_the_worst_and_the_mean_over_cells():
    def only_many_rows(counts, prob, draws, rng):
        return (0.0, 1.0, 0.0) if counts.n_rows > 60 else (2.0, 4.0, 0.0)

    cells = {"populations": ["flat"], "curves": ["calibrated"]}
    study = coverage_study(sizes=[50, 70, 90], **cells, methods={"m": only_many_rows}, repeats=2, rng=1)
    (found,) = study.overall()
    assert (found["worst_coverage"], found["worst_cell"]) == (0.0, "flat, calibrated, n = 50")
    assert found["mean_coverage"] == pytest.approx(2 / 3)
    assert found["mean_width"] == pytest.approx((2 + 1 + 1) / 3)
    assert found["cells"] == 3


def test_results_do_not_depend_on_which_other_methods_are_asked():
    asked = {**CELL, "curves": ["calibrated", ("shift", 0.3)], "repeats": 4, "draws": 50, "rng": 5}
    together = coverage_study(methods=list(METHODS), **asked)
    for name in METHODS:
        alone = coverage_study(methods=[name], **asked)
        assert alone.rows == [row for row in together.rows if row["method"] == name]
    other_seed = coverage_study(methods=["dirichlet"], **{**asked, "rng": 6})
    assert other_seed.rows != [row for row in together.rows if row["method"] == "dirichlet"]


def test_data_sets_have_the_size_asked_and_differ():
    seen = []

    def watching(counts, prob, draws, rng):
        seen.append(counts)
        return 0.0, 1.0, 0.0

    coverage_study(**CELL, methods={"m": watching}, repeats=5, rng=1)
    assert [counts.n_rows for counts in seen] == [200] * 5
    assert not any(np.array_equal(a.k, b.k) for a, b in itertools.combinations(seen, 2))


@pytest.mark.parametrize(
    ("n_rows", "population", "curve"),
    [(40, "flat", "calibrated"), (400, "top", "temperature"), (3000, "rare", "shift")],
)
def test_the_bootstrap_is_that_of_rows(n_rows, population, curve, close_to, mcse):
    """Rows are resampled here, one by one, with nothing but numpy."""
    data, n_draws = simulate(n_rows, population=population, curve=curve, rng=4), 4000
    rng, place = np.random.default_rng(7), np.minimum((data.confidence * 15).astype(int), 14)
    residual = data.outcome - data.confidence
    rows = np.array(
        [
            np.abs(np.bincount(place[i], residual[i], minlength=15)).sum() / n_rows
            for i in (rng.integers(n_rows, size=n_rows) for _ in range(n_draws))
        ]
    )
    counts = BinnedCounts.from_arrays(data.outcome, data.confidence, bins=15)
    fast = bootstrap_ece(counts, n_draws, rng=8).values
    close_to(fast.mean(), rows.mean(), np.hypot(mcse.mean(fast), mcse.mean(rows)), "mean")
    close_to(fast.std(), rows.std(), np.hypot(mcse.sd(fast), mcse.sd(rows)), "sd")
    for q in (0.025, 0.975):
        error = np.hypot(mcse.quantile(fast, q), mcse.quantile(rows, q))
        close_to(np.quantile(fast, q), np.quantile(rows, q), error, f"quantile {q}")


def intervals(counts, seed=3):
    return {
        name: METHODS[f"{name} bootstrap"](counts, 0.9, 500, np.random.default_rng(seed))
        for name in ("percentile", "basic")
    }


def test_the_basic_interval_is_the_percentile_interval_reflected_at_the_plug_in_value():
    data = simulate(5000, population="flat", curve="temperature", strength=2.0, rng=1)
    counts = BinnedCounts.from_arrays(data.outcome, data.confidence, bins=15)
    plug_in = np.abs(counts.k - counts.n * counts.mean_confidence).sum() / 5000
    (low, high, estimate), (basic_low, basic_high, _) = intervals(counts).values()
    assert estimate == pytest.approx(plug_in, abs=1e-12)
    assert basic_low > 0  # far from calibrated: nothing is cut off
    assert (basic_low + high) / 2 == pytest.approx(plug_in, abs=1e-12)
    assert (basic_high + low) / 2 == pytest.approx(plug_in, abs=1e-12)


def test_the_basic_interval_is_cut_off_at_zero():
    data = simulate(300, population="flat", curve="calibrated", rng=2)
    counts = BinnedCounts.from_arrays(data.outcome, data.confidence, bins=15)
    (low, high, plug_in), (basic_low, basic_high, estimate) = intervals(counts).values()
    assert 2 * plug_in - high < 0
    assert basic_low == 0
    assert 0 <= basic_low <= estimate <= basic_high
    assert basic_high == pytest.approx(max(2 * plug_in - low, 0), abs=1e-12)


def test_a_models_interval_and_estimate_are_those_of_its_draws():
    from bayescal.posterior.dirichlet import dirichlet_posterior

    data = simulate(100, rng=1)
    counts = BinnedCounts.from_arrays(data.outcome, data.confidence, bins=15)
    drawn = ece(dirichlet_posterior(counts).sample(200, rng=np.random.default_rng(1))).values
    low, high, estimate = METHODS["dirichlet"](counts, 0.9, 200, np.random.default_rng(1))
    assert [low, high] == pytest.approx(np.quantile(drawn, [0.05, 0.95]))
    assert estimate == pytest.approx(drawn.mean())
    assert float(ece(observed_bins(counts)).values[0]) != estimate


def test_the_default_model_contains_a_truth_of_zero_that_the_others_miss():
    """0.95 of 60 intervals are 57; under a coverage of 0.95 fewer than 48 have a probability below 1e-5."""
    study = coverage_study(
        sizes=[2000], populations=["flat"], curves=["calibrated"], bins=10, repeats=60, draws=400, rng=11
    )
    covered = {row["method"]: row["coverage"] for row in study.rows}
    assert covered["shrinkage"] >= 48 / 60
    assert covered["dirichlet"] == covered["percentile bootstrap"] == 0
    assert 0 < covered["basic bootstrap"] < covered["shrinkage"]


def test_the_frame_has_one_row_a_cell_and_method():
    frame = coverage_study(**CELL, methods={"all": everything}, repeats=2, rng=1).to_frame()
    assert list(frame.columns) == list(COLUMNS)
    assert frame["coverage"].tolist() == [1.0]


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"methods": ["shrinkge"]}, "Did you mean 'shrinkage'"),
        ({"sizes": [0]}, "`sizes`"),
        ({"repeats": 0}, "`repeats`"),
        ({"prob": 1.0}, "`prob`"),
        ({"curves": ["temprature"]}, "Did you mean 'temperature'"),
        ({"populations": ["tpo"]}, "Did you mean 'top'"),
    ],
)
def test_what_cannot_be_asked_is_refused(wrong, said):
    with pytest.raises(ValueError, match=said):
        coverage_study(**{**CELL, "repeats": 1, "draws": 10, **wrong})


@pytest.mark.parametrize("argument", ["sizes", "populations", "curves", "methods"])
def test_an_empty_list_is_refused(argument):
    with pytest.raises(ValueError, match=f"`{argument}` must name at least one"):
        coverage_study(**{argument: []})
