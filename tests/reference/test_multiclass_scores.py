"""Scores of all classes against scikit-learn, pycalib and the definition, on real data."""

import re

import pytest

import bayescal as bc


def test_every_multi_class_record_is_reproduced(records, reference_data):
    of_classes = [r for r in records("scores") if r["data"] in ("cifar10_vgg16", "sk_wine_nb")]
    for record in of_classes:
        data = reference_data(record["data"])
        y, matrix = data["labels"], data["probs"].astype(float)
        if "log_loss" in record["call"]:
            value = bc.multiclass_log_score(y, matrix / matrix.sum(axis=1, keepdims=True))
        else:
            convention = "mean" if "brier_score" in record["call"] else "sum"
            value = bc.multiclass_brier_score(y, matrix, convention=convention)
        relative = float(re.fullmatch(r"rtol (\S+)", record["tolerance"])[1])
        assert value.observed == pytest.approx(record["value"], rel=relative), record["call"]
    assert len(of_classes) == 6
