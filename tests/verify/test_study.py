"""The skeleton of coverage studies, on a study of a mean whose truth and coverage are known."""

from dataclasses import dataclass

import numpy as np
import pytest

from bayescal.draws import Draws
from bayescal.verify.studies.study import (
    TOLERANCE,
    CoverageResults,
    Scenario,
    basic_interval,
    checked_setup,
    contains,
    name_of,
    percentile_interval,
    run_cells,
    score,
    stacked,
)

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
