"""Words of decision curves: sentences, few rows, few treated rows, and remarks."""

import numpy as np
import pytest

import bayescal as bc
from bayescal.decisions.counts import ThresholdCounts
from bayescal.decisions.words import few_rows, few_treated, of_draws, ranges, remarks_of, shown, thresholds_and_rows

T = np.array([0.1, 0.2, 0.5])


def test_sentence_of_one_threshold(data):
    found = bc.decisions.net_benefit(data.y, data.p["new"], 0.2, rng=1)
    mean, (low, high) = found.moments["model"][0][0], found.net_benefit["model"].interval()
    assert found.sentence().startswith(
        f"At the threshold 0.2, the net benefit of the model is {mean:.3f} (95 % credible interval {low[0]:.3f} to "
        f"{high[0]:.3f}), that of treating all {found.treat_all.mean()[0]:.3f}; the probability"
    )


def test_sentence_of_several_thresholds(pair, single, data):
    np.testing.assert_array_equal(pair.p_useful["new"] >= 0.95, [False, True, True])
    np.testing.assert_array_equal(pair.p_useful["old"] >= 0.95, [False, False, True])
    assert pair.sentence() == (
        "The net benefit is larger than those of treating all and treating none (probability >= 0.95) for new at the "
        "thresholds 0.2 to 0.5; for old at the threshold 0.5."
    )
    assert "(probability >= 0.9) for new at all 3 thresholds, 0.1 to 0.5; for old at" in pair.sentence(0.9)
    assert single.sentence() == (
        "The model has a larger net benefit than treating all and treating none (probability >= 0.95) at the "
        "thresholds 0.2 to 0.5."
    )
    useless = bc.decisions.net_benefit([0, 1] * 50, [0.9, 0.1] * 50, [0.3, 0.6], rng=1)
    assert useless.sentence().endswith("(probability >= 0.95) at no threshold.")
    many = bc.decisions.net_benefit(data.y, {f"model {i}": data.p["new"] for i in range(7)}, T, draws=100, rng=1)
    assert many.sentence().endswith(". The table has 2 more.")


def test_a_model_that_treats_nobody_is_not_called_useful():
    """Its net benefit is 0 whatever the outcomes are; the prior, which treats some, is no finding."""
    y = np.repeat([1, 0], [24, 1976])
    constant = bc.decisions.net_benefit(y, np.full(2000, 0.012), [0.02, 0.05, 0.1], rng=1)
    assert not constant.observed["model"].any()
    assert constant.p_useful["model"][0] > 0.95
    assert (constant.p_useful["model"] > 0.85).all()
    assert constant.few_rows["model"].all()
    assert constant.sentence().endswith("at no threshold, since all have too few rows on a side.")
    assert [row[-2:] for row in constant.sheet().rows] == [["-", "-"]] * 3
    at_one = bc.decisions.net_benefit(y, np.full(2000, 0.012), 0.05, rng=1).sentence()
    assert "too few rows lie on a side of the threshold" in at_one
    # four rows that reach the threshold are too few, five are enough
    for n_above, few in ((4, True), (5, False)):
        found = bc.decisions.net_benefit(y, np.repeat([0.5, 0.01], [n_above, 2000 - n_above]), [0.1, 0.3], rng=1)
        assert found.few_rows["model"].tolist() == [few, few]
        assert ("at all 2 thresholds" in found.sentence()) is not few
        assert {row[-2] for row in found.sheet().rows} == {"-" if few else "> 0.99"}


@pytest.mark.parametrize(
    ("t", "n_below", "n_above", "few"),
    [
        (0.01, 299, 2000, True),
        (0.01, 300, 2000, False),
        (0.1, 29, 2000, True),
        (0.1, 30, 2000, False),
        (0.9, 2000, 29, True),
        (0.9, 2000, 30, False),
        (0.5, 5, 100, True),
        (0.5, 6, 6, False),
    ],
)
def test_the_rule_of_three_marks_few_rows(t, n_below, n_above, few):
    """Three rows of the other outcome must be expected on each side of t at a risk of t: 3 / t rows, or 3 / (1 - t)."""
    y = np.arange(n_below + n_above) % 2
    p = np.repeat([t / 2, (1 + t) / 2], [n_below, n_above])
    found = bc.decisions.net_benefit(y, p, t, draws=10, rng=1)
    assert found.few_rows["model"].tolist() == [few]
    assert any(remark.startswith("Too few rows") for remark in found.sheet().remarks) is few


def test_rows_without_events_below_a_low_threshold_do_not_show_that_the_model_is_useful():
    """0 events of 15 are compatible with a risk of 0.18 (0.82^15 = 0.05), far above the threshold of 0.01.

    The prior agrees; the posterior says so for any other threshold at which some rows are below.
    """
    rng = np.random.default_rng(1)
    y = np.concatenate([np.zeros(15, int), rng.random(185) < 0.25])
    p = np.concatenate([np.full(15, 0.004), rng.uniform(0.1, 0.5, 185)])
    found = bc.decisions.net_benefit(y, p, [0.01, 0.2], rng=1)
    assert found.p_useful["model"][0] < 0.5
    assert "0.01" not in found.sentence()
    assert found.sheet().rows[0][-2:] == ["-", "-"]
    assert "below the threshold at 0.01 (model)" in found.sheet().remarks[0]


@pytest.mark.parametrize(("n_below", "few"), [(6, False), (5, True)])
def test_few_rows_of_case_control_data(n_below, few):
    """With half cases and a prevalence of 0.01, a risk of 0.01 is one of 0.5 in the rows: 6 of them expect 3 events."""
    y = np.arange(206) % 2
    p = np.repeat([0.005, 0.3], [n_below, 206 - n_below])
    options = {"draws": 10, "rng": 1}
    assert bc.decisions.net_benefit(y, p, 0.01, prevalence=0.01, **options).few_rows["model"].tolist() == [few]
    assert bc.decisions.net_benefit(y, p, 0.01, **options).few_rows["model"].tolist() == [True]


def test_printing_shortens_and_says_so(data, pair):
    found = bc.decisions.net_benefit(data.y, data.p["new"], rng=1)
    text = str(found)
    assert "The table shows 9 of 99 thresholds; `table()` has all." in text
    assert len(found.sheet(whole=True).rows) == 99
    assert "Too few rows reach the threshold at" in text
    assert found.spec == "net benefit of 1 model, 99 thresholds from 0.01 to 0.99, N = 400, prior: 3 pseudo-rows"
    assert "shows" not in str(pair)


def test_remarks_count_rows():
    y, p = np.array([0, 1] * 20), np.array([0.2, 0.7] * 20)
    remarks = bc.decisions.net_benefit(y, p, [0.1, 0.5, 0.9], rng=1).sheet().remarks
    assert any("reach the threshold at 0.9 (model)" in text for text in remarks)
    assert any("below the threshold at 0.1 (model)" in text for text in remarks)
    assert len(bc.decisions.net_benefit(y, p, 0.5, rng=1).sheet().remarks) == 0


def test_outcomes_without_rows_are_remarked():
    """All about rows of an outcome that no row has is the prior: 3 pseudo-rows, of which half have each outcome."""
    p = np.random.default_rng(1).random(50)
    found = bc.decisions.net_benefit(np.ones(50, int), p, [0.2], prevalence=0.1, rng=1)
    assert any(remark.startswith("No row has outcome 0") for remark in found.sheet().remarks)
    y = (p > 0.5).astype(int)
    assert not any("outcome" in remark for remark in bc.decisions.net_benefit(y, p, [0.2], rng=1).sheet().remarks)
    weights = np.where(p >= 0.5, 0.0, 1.0 + p)
    silent = bc.decisions.net_benefit(np.arange(50) % 2, p, [0.7], weights=weights, rng=1).sheet().remarks
    assert any(remark.startswith("Too few rows reach the threshold at 0.7") for remark in silent)


@pytest.mark.parametrize(
    ("t", "zeros", "ones", "few"),
    [
        (0.99, 4, 400, [True, False]),  # 99^2 * 4.5 against 400.5
        (0.99, 5, 400, [False, False]),
        (0.5, 0, 400, [False, False]),  # 0.5 of 401 pseudo-counts of the variance
        (0.5, 4, 5, [True, False]),
        (0.01, 400, 4, [False, True]),  # 4.5 against 400.5 / 99^2
        (0.01, 400, 5, [False, False]),
    ],
)
def test_few_treated_rows_that_decide(t, zeros, ones, few):
    """Fewer than 5 treated rows of an outcome, with a tenth of the variance or more."""
    y = np.repeat([0, 1, 0, 1], [zeros, ones, 2000, 2000])
    p = np.repeat([(1 + t) / 2, t / 2], [zeros + ones, 4000])
    found = bc.decisions.net_benefit(y, p, t, draws=10, rng=1)
    assert found.few_treated["model"][:, 0].tolist() == few
    said = [remark for remark in found.sheet().remarks if "determine most of the uncertainty" in remark]
    assert len(said) == any(few) * (not found.few_rows["model"][0])
    if said:
        assert said[0].startswith(
            f"Fewer than 5 treated rows with outcome {few.index(True)} determine most of the uncertainty at {t:g}"
        )


def test_few_treated_rows_of_case_control_data():
    """With a prevalence of 0.1, ten treated of 100 events have more variance than three of 10 000 other rows."""
    y = np.repeat([1, 0], [100, 10_000])
    p = np.repeat([0.6, 0.1, 0.6, 0.1], [10, 90, 3, 9997])
    # 0.1^2 10.5 / 100^2 against 0.9^2 3.5 / 10 000^2
    assert not bc.decisions.net_benefit(y, p, 0.5, prevalence=0.1, draws=10, rng=1).few_treated["model"].any()
    # at a prevalence of 0.01 the first is a hundred times smaller
    found = bc.decisions.net_benefit(y, p, 0.5, prevalence=0.01, draws=10, rng=1).few_treated["model"]
    assert found[:, 0].tolist() == [True, False]


def test_example_of_shown():
    t = np.arange(1, 100) / 100
    assert t[shown(t)].tolist() == [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9]


def test_example_of_few_rows():
    counts = ThresholdCounts.from_arrays([0, 1] * 20, [0.2, 0.7] * 20, [0.1, 0.5, 0.9])
    assert few_rows(counts)["model"].tolist() == [[False, False, True], [True, False, False]]


def test_example_of_few_treated():
    """At 0.9 a false positive counts as much as nine true positives; at 0.5 they count the same, so that 40 decide."""
    counts = ThresholdCounts.from_arrays([0] * 50 + [1] * 40, [0.1] * 48 + [0.95] * 42, [0.5, 0.9])
    assert few_treated(counts)["model"].tolist() == [[False, True], [False, False]]


def test_example_of_draws():
    assert (of_draws(1.0), of_draws(0.75), of_draws(0.0)) == ("> 0.99", "0.75", "< 0.01")


def test_example_of_ranges():
    assert ranges(np.array([0.1, 0.2, 0.3, 0.5]), np.array([True, True, False, True])) == "0.1 to 0.2 and 0.5"


def test_example_of_thresholds_and_rows():
    assert (
        thresholds_and_rows(ThresholdCounts.from_arrays([0, 1], [0.2, 0.7], [0.1, 0.5]))
        == "2 thresholds from 0.1 to 0.5, N = 2"
    )


def test_remarks_name_thresholds_with_few_rows():
    few, below = remarks_of(ThresholdCounts.from_arrays([0, 1] * 20, [0.2, 0.7] * 20, [0.1, 0.5, 0.9]))
    assert few.startswith("Too few rows reach the threshold at 0.9 (model): fewer than 5, or fewer tha")
    assert below.startswith("Too few rows lie below the threshold at 0.1 (model): fewer than 5, or fewer")
