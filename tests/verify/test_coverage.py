"""The coverage study: methods whose coverage is known beforehand, streams that do not mix, bootstraps against rows.

Seeds are fixed. Monte Carlo comparisons allow five standard errors (`close_to`): a false alarm in 1.7 million.
"""

import itertools
from dataclasses import dataclass

import numpy as np
import pytest

import bayescal as bc
from bayescal.datasets.simulate import BetaPopulation, simulate, true_bins
from bayescal.draws import Draws
from bayescal.estimands.errors import ece
from bayescal.estimands.plug_in import observed_bins
from bayescal.stats.binned import BinnedCounts
from bayescal.verify.coverage import (
    COLUMNS,
    METHODS,
    CoverageResults,
    Scenario,
    cells_of,
    checked_setup,
    contains,
    coverage_study,
    name_of,
    run_cell,
    score,
    stacked,
    standard_error,
)
from bayescal.verify.methods import (
    TOLERANCE,
    basic_interval,
    bootstrap_bins,
    bootstrap_ece,
    methods_of,
    percentile_interval,
)

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


@pytest.mark.slow
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
    with pytest.raises(ValueError, match=f"`{argument}` must name at least one {argument[:-1]}, and is empty"):
        coverage_study(**{argument: []})


# --- other estimands


def truth_of(estimand, population="flat", curve=("wave", 0.05), bins=8, **known):
    cell = {"sizes": [20], "populations": [population], "curves": [curve], "repeats": 1, "draws": 10, "rng": 1}
    study = coverage_study(estimand=estimand, methods={"all": everything}, bins=bins, **cell, **known)
    assert study.estimand == getattr(estimand, "__name__", estimand)
    return study.rows[0]["truth"]


@pytest.mark.parametrize(
    ("estimand", "expected"),
    [
        # each eighth holds half a period of 0.05 sin(8 pi c), whose mean is +-0.1 / pi
        ("ece", 0.1 / np.pi),
        ("l2_error", 0.1 / np.pi),
        ("e90_bins", 0.1 / np.pi),
        ("signed_error", 0.0),
        ("overconfidence", 0.05 / np.pi),
        ("underconfidence", 0.05 / np.pi),
    ],
)
def test_true_values_of_a_wave_in_closed_form(estimand, expected):
    assert truth_of(estimand) == pytest.approx(expected, abs=1e-12)


def test_true_values_of_one_bad_bin_in_closed_form():
    """20 bins, of which [0.8, 0.85) is off by 0.3 and [0.85, 0.9) by 0.3 in 0.02 of 0.05: by 0.12."""
    bad = {"curve": ("one bad bin", 0.3), "bins": 20}
    assert truth_of("ece", **bad) == pytest.approx(0.05 * 0.3 + 0.05 * 0.12)
    assert truth_of("l2_error", **bad) == pytest.approx((0.05 * 0.3**2 + 0.05 * 0.12**2) ** 0.5)
    assert truth_of(bc.lp_error, **bad) == truth_of("l2_error", **bad)
    assert truth_of("e90_bins", **bad) == pytest.approx(0.12)  # a tenth of the population has at least this error
    assert truth_of("signed_error", **bad) == -truth_of("overconfidence", **bad) == pytest.approx(-0.021)

    def largest(bins):
        return bc.largest_error(bins, share=0)

    assert truth_of(largest, **bad) == pytest.approx(0.3)


def test_true_bins_of_other_populations():
    """Beta(2, 1) has the density 2 c: masses 1/4 and 3/4, means 1/3 and 7/9, and E c^2 = 1/8 and 5/8 in the halves."""
    made = true_bins(BetaPopulation(2, 1), lambda c: c**2, bins=2)
    np.testing.assert_allclose(made.mass, [[1 / 4, 3 / 4]], rtol=1e-9)
    np.testing.assert_allclose(made.confidence, [[1 / 3, 7 / 9]], rtol=1e-6)
    np.testing.assert_allclose(made.accuracy, [[1 / 8, 5 / 8]], rtol=1e-6)
    top = true_bins("top", "calibrated", bins=4)
    assert top.occupied.tolist() == [False, False, True, True]
    np.testing.assert_array_equal(top.gap, 0)
    np.testing.assert_allclose(top.confidence[0, :2], [0.125, 0.375])

    def uniform(rng, n_rows):
        return rng.random(n_rows)

    sampled = true_bins(uniform, "calibrated", bins=4, rows=40_000)
    np.testing.assert_allclose(sampled.mass, 0.25, atol=5 * np.sqrt(0.25 * 0.75 / 40_000))
    np.testing.assert_array_equal(sampled.gap, 0)


@pytest.mark.slow
@pytest.mark.parametrize("estimand", ["l2_error", "e90_bins", "signed_error"])
def test_methods_are_those_of_the_estimand(estimand, close_to, mcse):
    """The bootstrap again row by row, and the model from its draws."""
    data, n_draws = simulate(400, population="flat", curve="shift", rng=4), 2000
    counts = BinnedCounts.from_arrays(data.outcome, data.confidence, bins=5)
    function, methods = getattr(bc, estimand), methods_of(estimand)
    drawn = function(bc.dirichlet_posterior(counts).sample(200, rng=np.random.default_rng(1))).values
    low, high, estimate = methods["dirichlet"](counts, 0.9, 200, np.random.default_rng(1))
    assert (low, high, estimate) == pytest.approx((*np.quantile(drawn, [0.05, 0.95]), drawn.mean()))
    rng, fast = np.random.default_rng(7), function(bootstrap_bins(counts, n_draws, rng=8)).values
    rows = [
        function(observed_bins(BinnedCounts.from_arrays(data.outcome[i], data.confidence[i], bins=5))).values[0]
        for i in (rng.integers(400, size=400) for _ in range(n_draws))
    ]
    rows = np.array(rows)
    close_to(fast.mean(), rows.mean(), np.hypot(mcse.mean(fast), mcse.mean(rows)), "mean")
    close_to(fast.std(), rows.std(), np.hypot(mcse.sd(fast), mcse.sd(rows)), "sd")


def test_the_basic_interval_of_a_signed_error_may_be_negative():
    data = simulate(3000, population="flat", curve="shift", strength=-0.5, rng=1)
    counts = BinnedCounts.from_arrays(data.outcome, data.confidence)
    low, high, estimate = methods_of("signed_error")["basic bootstrap"](counts, 0.95, 500, np.random.default_rng(1))
    assert low < estimate < high < 0


def test_a_bin_without_rows_in_a_resample_has_no_gap():
    counts = BinnedCounts.from_arrays([0, 1, 1], [0.1, 0.6, 0.9], bins=3)
    drawn = bootstrap_bins(counts, 200, rng=1)
    assert (drawn.mass == 0).any()
    np.testing.assert_array_equal(drawn.gap[drawn.mass == 0], 0)
    np.testing.assert_allclose(drawn.mass.sum(axis=1), 1)


def test_an_estimand_of_more_than_the_bins_needs_a_truth():
    with pytest.raises(ValueError, match=r"`truth` must be given for `estimand='brier_score'`"):
        coverage_study(**CELL, estimand="brier_score", repeats=1, draws=10)
    seen = []

    def brier(population, curve, bins):
        seen.append((population, str(curve), len(bins)))
        return 1 / 6  # calibrated and uniform: E c (1 - c) = 1/6

    study = coverage_study(**CELL, estimand="brier_score", truth=brier, repeats=20, draws=200, rng=1)
    assert seen == [("flat", "calibrated", 15)]
    assert {row["method"] for row in study.rows} == {"shrinkage", "dirichlet"}
    assert study.rows[0]["coverage"] >= 0.7  # 14 of 20: below that with a probability of 1e-4 if it is 0.95


@pytest.mark.parametrize(
    ("estimand", "error", "said"),
    [
        ("e90_bin", ValueError, "Did you mean 'e90_bins'"),
        ("max_error", ValueError, "Did you mean 'e90_bins'"),
        (3, TypeError, "`estimand` must be a name, an Estimand or a function"),
    ],
)
def test_estimands_that_are_none(estimand, error, said):
    with pytest.raises(error, match=said):
        coverage_study(**CELL, estimand=estimand, repeats=1, draws=10)


# --- the skeleton of studies, on a study of a mean whose truth and coverage are known

HALF_WIDTH = 1.959964  # of the standard Normal


@dataclass(frozen=True)
class Normals:
    """Normal rows around a mean."""

    mean: float

    def __call__(self, n_rows, rng):
        return rng.normal(self.mean, 1, n_rows)


def exact(rows, prob, draws, rng):
    """The 95 % interval of the mean when the standard deviation is known to be 1."""
    reach = HALF_WIDTH / np.sqrt(len(rows))
    return rows.mean() - reach, rows.mean() + reach, rows.mean()


def shifted(rows, prob, draws, rng):
    low, high, estimate = exact(rows, prob, draws, rng)
    return low + 10, high + 10, estimate + 10


def random_point(rows, prob, draws, rng):
    value = rng.random()
    return value, value, value


SCENARIOS = [Scenario({"population": f"mean {m}"}, m, Normals(m)) for m in (0.0, 2.0)]
KNOWN = {"exact": exact, "shifted": shifted, "random": random_point}


def run_cells(given, scenarios, rng):
    return [run_cell(cell) for cell in cells_of(given, scenarios, rng=rng)]


def setup(methods=None, sizes=(10, 40), repeats=3):
    return checked_setup(KNOWN, methods, sizes, repeats=repeats, prob=0.95, draws=5)


def test_coverage_bias_and_width_of_an_exact_interval(close_to):
    """Coverage is 0.95, the mean error 0 and its standard deviation 1 / sqrt(n), by theory."""
    repeats = 2000
    cells = run_cells(setup(["exact", "shifted"], repeats=repeats), SCENARIOS[1:], rng=1)
    for (right, wrong), n in zip(cells, (10, 40), strict=True):
        assert (right["n_rows"], right["population"], right["truth"], right["repeats"]) == (n, "mean 2.0", 2.0, repeats)
        close_to(right["coverage"], 0.95, np.sqrt(0.95 * 0.05 / repeats))
        close_to(right["bias"], 0, 1 / np.sqrt(n * repeats))
        close_to(right["rmse"], 1 / np.sqrt(n), 1 / np.sqrt(2 * n * repeats))
        assert right["width"] == pytest.approx(2 * HALF_WIDTH / np.sqrt(n))
        assert (wrong["coverage"], wrong["bias"]) == (0, pytest.approx(right["bias"] + 10))


def test_cells_are_each_size_with_each_scenario():
    cells = run_cells(setup(["exact"]), SCENARIOS, rng=1)
    places = [(row["n_rows"], row["population"]) for (row,) in cells]
    assert places == [(10, "mean 0.0"), (10, "mean 2.0"), (40, "mean 0.0"), (40, "mean 2.0")]


def test_other_methods_do_not_change_results():
    together = run_cells(setup(), SCENARIOS, rng=3)
    for i, name in enumerate(KNOWN):
        assert run_cells(setup([name]), SCENARIOS, rng=3) == [[cell[i]] for cell in together]
    assert run_cells(setup(), SCENARIOS, rng=4) != together


def test_methods_see_one_data_set_and_data_sets_differ():
    seen = {"a": [], "b": []}

    def watching(name):
        return lambda rows, *_: (seen[name].append(rows), (0.0, 1.0, 0.0))[1]

    run_cells(setup({name: watching(name) for name in seen}, sizes=[5], repeats=4), SCENARIOS[:1], rng=1)
    assert all(a is b for a, b in zip(seen["a"], seen["b"], strict=True))
    assert len({rows.tobytes() for rows in seen["a"]}) == 4


def test_score_by_hand():
    """Two of three contain 1; errors -1, 0 and 4; widths 2, 2 and 0."""
    found = score(np.array([[-1.0, 1.0, 0.0], [0.0, 2.0, 1.0], [5.0, 5.0, 5.0]]), 1.0)
    assert found == pytest.approx({"coverage": 2 / 3, "bias": 1.0, "rmse": np.sqrt(17 / 3), "width": 4 / 3})


def test_ends_belong_to_an_interval_and_rounding_does_not_decide():
    assert contains([0.2, 0.2 + TOLERANCE / 2, 0.2 + 3 * TOLERANCE], 0.5, 0.2).tolist() == [True, True, False]
    assert contains(0.1, [0.2, 0.2 - TOLERANCE / 2, 0.2 - 3 * TOLERANCE], 0.2).tolist() == [True, True, False]
    assert contains(0.1, 0.3, [0.0, 0.2, 0.4]).tolist() == [False, True, False]


def test_results_of_data_sets_are_stacked_by_method():
    found = stacked({"a": (i, i + 1), "b": (10 * i, 0)} for i in range(3))
    assert {name: values.tolist() for name, values in found.items()} == {
        "a": [[0, 1], [1, 2], [2, 3]],
        "b": [[0, 0], [10, 0], [20, 0]],
    }


def test_bootstrap_intervals_by_hand():
    """Quartiles of 1..5 are 2 and 4, their mean is 3; reflected at 10: 16, 18 and 17."""
    resampled = Draws(np.array([5.0, 1.0, 4.0, 2.0, 3.0]))
    assert percentile_interval(10.0, resampled, 0.5) == (2, 4, 10)
    assert basic_interval(10.0, resampled, 0.5) == (16, 18, 17)


def test_overall_by_hand():
    class Results(CoverageResults):
        columns = ("n_rows", "coverage")
        cell_name = "n = {n_rows}"
        averages = {"mean_coverage": lambda row: row["coverage"]}  # noqa: RUF012

    shares = {"a": [0.9, 0.7, 0.8], "b": [1.0, 0.9, 0.5]}
    rows = [
        {"n_rows": n, "method": method, "coverage": share}
        for method, each in shares.items()
        for n, share in zip((10, 20, 30), each, strict=True)
    ]
    results = Results(rows, 0.95)
    assert results.methods == ["a", "b"]
    assert list(results.to_frame().columns) == ["n_rows", "coverage"]
    assert results.overall() == [
        {"method": "a", "cells": 3, "worst_coverage": 0.7, "worst_cell": "n = 20", "mean_coverage": pytest.approx(0.8)},
        {"method": "b", "cells": 3, "worst_coverage": 0.5, "worst_cell": "n = 30", "mean_coverage": pytest.approx(0.8)},
    ]


def test_names_for_tables():
    assert [name_of(thing) for thing in ("flat", exact, 3)] == ["flat", "exact", "3"]


@pytest.mark.parametrize(
    ("wrong", "error", "message"),
    [
        ({"methods": ["exct"]}, ValueError, "Did you mean 'exact'"),
        ({"methods": []}, ValueError, "`methods` must name at least one"),
        ({"sizes": []}, ValueError, "`sizes` must name at least one"),
        ({"curves": []}, ValueError, "`curves` must name at least one"),
        ({"sizes": [3, 0]}, ValueError, "`sizes` must be an integer >= 1, not 0"),
        ({"repeats": 1.5}, TypeError, "`repeats` must be an integer"),
        ({"draws": 0}, ValueError, "`draws` must be an integer >= 1"),
        ({"prob": 95}, ValueError, "`prob`"),
    ],
)
def test_arguments_that_no_study_can_use_are_refused(wrong, error, message):
    right = {"available": KNOWN, "methods": None, "sizes": [10], "repeats": 1, "prob": 0.95, "draws": 5}
    with pytest.raises(error, match=message):
        checked_setup(**{**right, **wrong})


def test_example_of_standard_error():
    assert standard_error(0.95, 100) == pytest.approx(0.0218, abs=1e-4)
