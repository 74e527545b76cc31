"""Words and decimals of printed results."""

import numpy as np
import pytest

import bayescal as bc
from bayescal import BinnedCounts, _render
from bayescal.results.wording import calibration, direction_words, row_numbers, sub_models

QUANTITIES = ["ece", "l2_error", "e90_bins", "signed_error", "overconfidence", "underconfidence"]


@pytest.fixture(scope="module")
def ev():
    rng = np.random.default_rng(1)
    p = rng.random(1000) * 0.8  # the last of five bins stays empty
    return bc.evaluate(rng.random(1000) < p**1.5, p, bins=5, rng=1, model="dirichlet")


def test_the_probability_of_calibration_is_never_said_to_be_zero():
    posterior = bc.shrinkage_posterior(bc.BinnedCounts.from_arrays([0, 1, 1], [0.2, 0.7, 0.9]))
    for rounded, said in ((0.0, "probability < 0.01 at"), (1.0, "probability > 0.99 at"), (0.5, "probability 0.50 at")):
        assert said in calibration(rounded, posterior)


#: Beginning of the line about sub-models.
SUB_MODELS = "Sub-model probabilities, if the classifier is not exactly calibrated"


def test_sub_models_are_told_by_family_and_within_it():
    told = sub_models({"a": {"b, c": 0.3, "d": 0.09, "e": 0.01}, "f": {"g": 0.4}, "h": {"i": 0.1}, "j": {"k": 0.001}})
    assert told == f"{SUB_MODELS}: a: 0.44 (b, c: 0.75; d: 0.23); f: 0.44 (g: > 0.99); h: 0.11 (i: > 0.99)."
    own_name = sub_models({"a": {"a": 0.5}, "b": {"c": 0.5}})
    assert own_name == f"{SUB_MODELS}: a: 0.50; b: 0.50 (c: > 0.99)."


def test_nothing_is_told_of_sub_models_that_describe_nothing():
    """Without another sub-model there is no Bayes factor; if all bins are saturated, sub-models keep their prior."""
    y, p = np.repeat([0, 1], 50), np.repeat([0.0, 1.0], 50)
    saturated = str(bc.evaluate(y, p, rng=1).details())
    assert "Exact calibration: probability" in saturated
    assert SUB_MODELS not in " ".join(saturated.split())
    alone = str(bc.evaluate(y, np.repeat([0.2, 0.7], 50), rng=1, sub_models=["exact"]).details())
    assert "Exact calibration:" not in alone
    assert SUB_MODELS not in " ".join(alone.split())


def test_sub_models_of_an_evaluation_leave_exact_calibration_out(ev):
    rng = np.random.default_rng(1)
    p = rng.random(300)
    made = bc.evaluate(rng.random(300) < p, p, rng=1)
    assert "exact" in made.sub_models
    (line,) = [line for line in made.details().notes if line.startswith(SUB_MODELS)]
    assert "exact" not in line.removeprefix(SUB_MODELS)
    assert "independent bins: 0." in line
    assert "shared errors: 0." in line
    only = bc.evaluate([0, 1], [0.2, 0.7], rng=1, sub_models=["exact"])
    assert not [line for line in only.sheet().remarks if line.startswith(SUB_MODELS)]


def test_narrow_intervals_have_more_decimals():
    """An interval as wide as 6e-5 is seen in the fifth decimal; sentence and table show it."""
    assert [_render.decimals(w) for w in (0.5, 0.01, 0.001, 0.0009, 6e-5, 0.0)] == [3, 3, 3, 4, 5, 3]
    p = np.linspace(0.01, 0.99, 1000)
    counts = bc.BinnedCounts.from_arrays(np.arange(1000) % 3 == 0, p)
    for _ in range(20):
        counts = counts + counts
    ev = bc.evaluate_counts(counts, rng=1)
    low, high = ev.ece.interval(0.95)
    d = _render.decimals(high - low)
    assert d >= 4
    assert f"{low:.{d}f} to {high:.{d}f}" in ev.sentence()
    assert f"{low:.{d}f}" != f"{high:.{d}f}"
    assert f"{low:.{d + 1}f}" in str(ev)


@pytest.mark.parametrize("target", ["event", "classwise", "top-label", "confidence"])
def test_only_confidence_is_called_over_or_under_confident(target):
    """An under-confident classifier of events has an `overconfidence`: it states small probabilities too high."""
    rng = np.random.default_rng(1)
    truth = rng.random(2000)
    timid = 1 / (1 + ((1 - truth) / truth) ** 0.6)
    counts = bc.BinnedCounts.from_arrays(rng.random(2000) < truth, timid, target=target)
    ev = bc.evaluate_counts(counts, rng=1, draws=200)
    assert min(ev.overconfidence.mean(), ev.underconfidence.mean()) > 0.01
    printed, page = str(ev), ev._repr_html_()
    of_events = target in ("event", "classwise")
    for text in (printed, page):
        for word in ("overconfidence", "underconfidence"):
            assert (word in text) is not of_events
        for word in ("stated too high", "stated too low"):
            assert (word in text) is of_events
    assert [row["quantity"] for row in ev.table()] == [*QUANTITIES, *["accuracy"] * (not of_events)]


def test_what_rounds_to_zero_has_no_sign():
    """IEEE 754 has a negative zero, and rounding a negative number to zero keeps its sign."""
    assert _render.number(-0.00001) == "0.0000"
    assert _render.number(-0.0) == "0.0000"
    assert _render.number(-0.00005001) == "-0.0001"
    assert _render.number(float("nan")) == "-"
    # five rows in one bin whose mean confidence is 1e-9 above the accuracy
    counts = bc.BinnedCounts.from_arrays([0, 1, 0, 1], [0.5 + 1e-9] * 4, bins=1, target="event")
    assert "-0.0000" not in str(bc.evaluate_counts(counts, rng=1, draws=50))


def test_example_of_direction_words():
    assert direction_words("event") == ("stated too high", "stated too low")
    assert direction_words("top-label") == ("over-confident", "under-confident")


def test_example_of_row_numbers():
    assert row_numbers(BinnedCounts.from_arrays([0, 1], [0.2, 0.7], weights=[1, 3])) == {
        "rows": 2,
        "effective rows": "2",
    }
