"""CORP decompositions of model-diagnostics, and isotonic regression of scikit-learn and R, on real data."""

import re

import numpy as np
import pytest

import bayescal as bc
from bayescal.estimands.decompositions import isotonic_fit

#: Records that are not offered -> why.
NOT_OFFERED = {
    ("isotonic", "sk_breast_cancer_nb", "scikit-learn"): "pools probabilities that differ by less than 1e-15",
}
REPRODUCED = {"decomposition": 17, "isotonic": 18}
PARTS = ("miscalibration", "discrimination", "uncertainty", "score")


def key(record):
    return record["family"], record["data"], record["package"]


def rows(record, data):
    """Probabilities, outcomes and weights of a record."""
    view = record["view"].split(",")[0].split(":")[0]
    score, _, label = view.partition(" vs ")
    if score in ("lr", "lr_test"):
        score = "lr_test"
    weights = data["fnlwgt"] if "weights" in record["view"] else None
    return data[score], data[label or "labels"], weights


def check_decomposition(record, data, close):
    p, y, weights = rows(record, data)
    decompose = bc.log_score_decomposition if "LogLoss" in record["call"] else bc.brier_decomposition
    result = decompose(y, p, weights=weights)
    for part in PARTS:
        if record["value"][part] is not None:  # missing for two data sets
            assert close(getattr(result, part), record["value"][part]), part


def check_isotonic(record, data, close):
    p, y, _ = rows(record, data)
    recalibration = bc.IsotonicRecalibration().fit(p, y)
    after, expected = recalibration.transform(p), record["value"]
    levels = np.unique(isotonic_fit(p, y, None).fitted)
    first, last = (expected.get(f"levels_{end}", expected.get(end)) for end in ("first", "last"))
    assert len(levels) == expected.get("n_levels", expected.get("n_blocks"))
    assert close(levels[: len(first)], first)
    assert close(levels[-len(last) :], last)
    if expected["brier_after"] is not None:
        assert close(np.mean((y - after) ** 2), expected["brier_after"])
    if record["package"] == "scikit-learn":
        assert close(np.mean((y - p) ** 2), expected["brier_before"])
        assert close(after.sum(), expected["sum_pred"])
        at, values = np.transpose(expected["pred_at"])
        assert close(recalibration.transform(at), values)


def check_new_rows(record, data, close):
    """Fitted to validation rows, applied to test rows; losses as the convention of the record states."""
    recalibration = bc.IsotonicRecalibration().fit(data["lr_val"], data["labels_val"])
    y, expected = data["labels"], record["value"]
    for name, p in {"before": data["lr_test"], "after": recalibration.transform(data["lr_test"])}.items():
        assert close(np.mean((y - p) ** 2), expected[f"brier_{name}"])
        for threshold in (0.1, 0.2, 0.5):
            loss = np.mean(np.where(y == 1, (1 - threshold) * (p < threshold), threshold * (p >= threshold)))
            assert close(loss, expected[f"loss_p{threshold}_{name}"])


@pytest.mark.parametrize("family", REPRODUCED)
def test_every_record_that_is_offered_is_reproduced(family, records, reference_data):
    reproduced = 0
    for record in records(family):
        if key(record) in NOT_OFFERED:
            continue
        relative = float(re.fullmatch(r"rtol (\S+)", record["tolerance"])[1])

        def close(value, expected, relative=relative):
            return np.asarray(value) == pytest.approx(np.asarray(expected), rel=relative, abs=1e-14)

        check = check_decomposition if family == "decomposition" else check_isotonic
        if "applied to test" in record["view"]:
            check = check_new_rows
        check(record, reference_data(record["data"]), close)
        reproduced += 1
    assert reproduced == REPRODUCED[family]


def test_the_records_left_out_are_those_listed(records):
    every = [record for family in REPRODUCED for record in records(family)]
    left_out = [key(record) for record in every if key(record) in NOT_OFFERED]
    assert sorted(left_out) == sorted(NOT_OFFERED)
    assert sum(REPRODUCED.values()) + len(left_out) == len(every) == 36
    assert len(left_out) < 0.1 * len(every)


def test_the_record_left_out_differs_for_the_stated_reason(records, reference_data):
    data = reference_data("sk_breast_cancer_nb")
    p = data["probs"]
    pooled = np.where(p < 1e-15, 0.0, p)  # scikit-learn's resolution
    (record,) = [r for r in records("isotonic") if key(r) in NOT_OFFERED]
    levels = np.unique(isotonic_fit(pooled, data["labels"], None).fitted)
    assert levels[:6] == pytest.approx(record["value"]["levels_first"], rel=1e-9)
