"""Words of a clinical summary: the direction of errors, few events, and numbers of rows."""

import numpy as np
import pytest

import bayescal as bc
from bayescal.clinical.words import beside, direction, observed_below, of_events, of_rows


@pytest.mark.parametrize(
    ("shift", "slope", "words"),
    [
        (1.0, 1.0, "the predicted risks are too low on average."),
        (-1.0, 0.5, "the predicted risks are too high on average and too extreme."),
        (0.0, 2.0, "the predicted risks are not extreme enough."),
        (0.0, 1.0, "the intervals contain the values of calibrated risks."),
        (1.0, -1.0, "the predicted risks are too low on average and lower where events are more frequent."),
    ],
)
def test_the_sentence_states_the_direction(shift, slope, words):
    """Outcomes of 4000 rows from known curves, around a mean logit of 0; each interval misses in 5 % of data sets."""
    rng = np.random.default_rng(5)
    x = rng.normal(0, 1, 4000)
    y = (rng.random(4000) < 1 / (1 + np.exp(-(shift + slope * x)))).astype(int)
    summary = bc.clinical_summary(y, 1 / (1 + np.exp(-x)), draws=500, rng=1)
    assert summary.sentence().endswith(f": {words}")
    reversed_event = "The AUC is below 0.5: is the event coded the other way round?" in summary.remarks
    assert reversed_event is (slope < 0)


def test_counts_of_weighted_rows_say_what_is_weighted(data):
    """Rows of weight 0 count neither as rows nor as events."""
    weights = np.where(np.arange(len(data.y)) < 500, 0.0, 1.0 + data.p)
    summary = bc.clinical_summary(data.y, data.p, weights=weights, draws=200, rng=1)
    kept, share = data.y[500:], 100 * np.average(data.y, weights=weights)
    assert (summary.n_rows, summary.n_events) == (1000, kept.sum())
    effective = summary.evaluation.counts.effective_rows
    assert summary.sheet().rows[0][1] == f"1000 (effective {effective:.0f})"
    assert summary.sheet().rows[1][1] == f"{kept.sum()} (weighted share {share:.1f} %)"


@pytest.mark.parametrize(
    ("n_events", "said"),
    [
        (1, "Only 1 event, 99 fewer than a validation needs: all"),
        (4, "Only 4 events, 96 fewer than a validation needs: all"),
        (5, "Only 5 events, 95 fewer than needed: a val"),
        (99, "Only 99 events, 1 fewer than needed: a"),
        (100, ""),
    ],
)
def test_few_events_have_a_remark(n_events, said):
    y = np.arange(1000) < n_events
    for outcome, words in (
        (y, said),
        (~y, said.replace("events", "rows without event").replace("1 event,", "1 row without event,")),
    ):
        remarks = bc.clinical_summary(outcome, np.linspace(0.2, 0.8, 1000)[::-1], draws=50, rng=1).remarks
        assert any(remark.startswith(words) for remark in remarks if remark.startswith("Only")) is bool(said)


def test_example_of_events():
    assert (of_events(198, 0.165, weighted=False), of_events(198, 0.229, weighted=True)) == (
        "198 (16.5 %)",
        "198 (weighted share 22.9 %)",
    )


def test_example_of_rows():
    assert of_rows(1200, 750.2, weighted=True) == "1200 (effective 750)"


def test_example_of_direction():
    low, extreme = {"low": 1.2, "high": 1.5}, {"low": 0.6, "high": 0.8}
    assert (
        direction({"observed_expected": low, "slope": extreme})
        == "the predicted risks are too low on average and too extreme"
    )


def test_example_of_observed_below():
    assert observed_below([["AUC", "0.8", "0.7", "0.9", "0.81", "1"], ["ECE", "0.1", "0.0", "0.2", "", "0"]]) == [
        ["AUC", "0.8", "0.7", "0.9", "1"],
        ["  observed", "0.81", "", "", ""],
        ["ECE", "0.1", "0.0", "0.2", "0"],
    ]


def test_tables_of_two_models_side_by_side():
    one, other = (
        [["AUC", "0.8", "0.7", "0.9", "0.81", "1"]],
        [["AUC", "0.6", "0.5", "0.7", "0.62", "1"]],
    )
    assert beside([one, other]) == [
        ["AUC", "0.8 (0.7, 0.9)", "0.6 (0.5, 0.7)", "1"],
        ["  observed", "0.81", "0.62", ""],
    ]
