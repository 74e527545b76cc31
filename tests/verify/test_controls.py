"""Positive controls: every wrong sampler is caught, the right one is not, and the report can say otherwise."""

from dataclasses import replace

import numpy as np
import pytest

from bayescal.verify.controls import Control, broken_rules, controls, problems, run_controls


@pytest.fixture(scope="module")
def results():
    return run_controls(runs=1000, error_rate=1e-6, rng=1)


def test_every_wrong_sampler_is_caught(results, capsys):
    with capsys.disabled():
        print(f"\n{str(results).splitlines()[-1]}")
    assert results.survivors == []
    assert results.kill_rate == 1.0
    assert len(results.rows) >= 20


def test_the_right_sampler_is_not(results):
    assert results.false_alarms == []
    assert {row["problem"] for row in results.right} == set(problems())


def test_the_mistakes_that_were_asked_for(results):
    """By name, so that none is lost."""
    wanted = [
        "prior forgotten",
        "posterior = prior",
        "variance for standard deviation",
        "alpha off by one",
        "half the data",
        "Beta arguments swapped",
        "weights ignored",
        "last bin's rows dropped",
        "truncation on the wrong side",
        "truncation forgotten",
        "n for n + 1 in the precision",
        "width / 12 for width^2 / 12",
        "middle of the bin for the observed mean",
        "masses from counts without prior",
        "masses independent of each other",
        "accuracy of the neighbouring bin",
        "float32",
        "one uniform for accuracy and mean confidence",
        "rows of alpha swapped",
        "each draw thrice",
    ]
    names = [row["name"] for row in results.rows]
    assert set(wanted) <= set(names)
    assert len(set(names)) == len(names)


def test_most_are_caught_by_ranks_alone(results):
    """Rules that any draw must obey (masses sum to 1) see a few; ranks see all but what only the rules see."""
    by_rules_only = [row["name"] for row in results.rows if row["caught"] and row["p"] > 1e-6]
    assert by_rules_only == []


def test_the_table_says_what_was_caught_by_what(results):
    lines = str(results).splitlines()
    assert len(lines) == len(results.rows) + 1
    assert any(line.startswith("Beta arguments swapped") and "caught  " in line for line in lines)
    assert lines[-1].startswith(f"{results.caught} of {len(results.rows)} wrong samplers caught, 0 of ")


def test_a_sampler_that_is_right_would_survive():
    """So the kill rate is not 1 by construction."""
    right = Control("nothing wrong", "jeffreys", lambda model: model.sample)
    hidden = Control(
        "a shift that is too small to see",
        "jeffreys",
        lambda model: (
            lambda c, n, rng: (lambda bins: replace(bins, accuracy=np.clip(bins.accuracy + 1e-4, 0, 1)))(
                model.sample(c, n, rng)
            )
        ),
    )
    results = run_controls(runs=300, rng=2, chosen=[right, hidden])
    assert results.survivors == ["nothing wrong", "a shift that is too small to see"]
    assert results.kill_rate == 0.0
    assert "MISSED" in str(results)


def test_every_control_draws_from_its_own_problem():
    """Each differs from the right sampler given the same seed, and keeps the shape."""
    for control in controls():
        model = problems()[control.problem]
        _, counts = model.simulate(20, np.random.default_rng(3))
        right, wrong = (s(counts, 99, np.random.default_rng(4)) for s in (model.sample, control.sampler(model)))
        assert wrong.accuracy.shape == right.accuracy.shape, control.name
        assert any(
            not np.array_equal(getattr(right, name), getattr(wrong, name))
            for name in ("mass", "accuracy", "confidence", "weight")
        ), control.name


def test_rules_of_probabilities():
    model = problems()["uniform"]
    _, counts = model.simulate(5, np.random.default_rng(5))
    bins = model.sample(counts, 10, np.random.default_rng(6))
    assert broken_rules(bins, counts) == []
    assert broken_rules(replace(bins, mass=bins.mass * 1.01), counts) == ["not: masses sum to 1"]
    assert broken_rules(replace(bins, accuracy=bins.accuracy + 1), counts) == ["not: accuracies lie in [0, 1]"]
    assert broken_rules(replace(bins, confidence=np.full_like(bins.mass, np.nan)), counts) == [
        "not: mean confidences lie in their bins"
    ]
