"""Brier scores and log losses of other programs on real data, weighted and of several classes."""

import re
from collections import Counter

import numpy as np
import pytest

import bayescal as bc

FAMILIES = ("scores", "scores_weighted")
REPRODUCED = {"scores": 20, "scores_weighted": 1}
#: Records that are not checked here: part of the call -> why, and how many.
NOT_OFFERED = {
    r"roc_auc_score|ci\.auc": ("an area under the ROC curve", 18),
    r"log_loss\(y,P": ("the log loss of all classes; ours is that of a binary problem", 2),
    r"compute_bias": ("a test of the mean error", 1),
}
#: Estimands by part of the call.
ESTIMANDS = {"brier": "brier_score", r"numpy: mean_i sum_k": "brier_score", "log_loss": "log_score"}


def why_not(record):
    return next((pattern for pattern in NOT_OFFERED if re.search(pattern, record["call"])), None)


def value_of(record, data):
    """The observed score from the sums of counts; of several classes, the mean or the sum over classes."""
    estimand = next(name for pattern, name in ESTIMANDS.items() if re.search(pattern, record["call"]))
    if record["view"].startswith("probs,labels"):
        counts = bc.BinnedCounts.classwise(data["labels"], data["probs"].astype(np.float64))
        each = [float(c.losses.total.sum() / c.n_rows) for c in counts]
        return np.sum(each) if "sum_k" in record["call"] else np.mean(each)
    view, _, weights = record["view"].partition(", sample_weight=")
    score, _, outcome = view.partition(" vs ")
    label, probability = data[outcome or "labels"], data[score].astype(np.float64)
    ev = bc.evaluate(label, probability, weights=data[weights] if weights else None, draws=10, rng=1)
    return ev.plug_in_of(estimand)


@pytest.mark.parametrize("family", FAMILIES)
def test_every_record_that_is_offered_is_reproduced(family, records, reference_data):
    reproduced = 0
    for record in records(family):
        if why_not(record) is None:
            value = value_of(record, reference_data(record["data"]))
            assert value == pytest.approx(record["value"], rel=1e-9), f"{record['data']}: {record['call']}"
            reproduced += 1
    assert reproduced == REPRODUCED[family]


def test_the_records_left_out_are_those_listed(records):
    left_out = Counter(why_not(r) for family in FAMILIES for r in records(family))
    del left_out[None]
    assert left_out == {pattern: count for pattern, (_, count) in NOT_OFFERED.items()}


def test_data_without_a_finite_log_loss(reference_data):
    """An ensemble forecast states probabilities of 0 and 1, some of them wrong. There is no record of its log loss."""
    data = reference_data("precip_niamey")
    label, probability = data["labels"], data["ENS"]
    stated = np.where(label == 1, probability, 1 - probability)
    counts = bc.BinnedCounts.from_arrays(label, probability)
    assert counts.log_losses.infinite.sum() == (stated == 0).sum() > 0
    np.testing.assert_allclose(counts.log_losses.total.sum(), -np.log(stated[stated > 0]).sum(), rtol=1e-12)
