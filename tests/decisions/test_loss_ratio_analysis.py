"""loss_ratio: losses by definition, labels, and refusals."""

import numpy as np
import pytest
from recalibrated_rows import FOUND, PV, YV, P, T, Y

import bayescal as bc


def loss(y, p, t, w):
    return np.average(np.where(p >= t, t * (1 - y), (1 - t) * y), weights=w)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("recalibration", ["isotonic", "logistic"])
def test_losses_by_definition(weighted, recalibration):
    w = np.random.default_rng(3).exponential(size=len(Y)) if weighted else None
    found = bc.loss_ratio(Y, P, YV, PV, T, weights=w, recalibration=recalibration, rng=1)
    transformer = {"isotonic": bc.IsotonicRecalibration, "logistic": bc.LogisticRecalibration}[recalibration]()
    after = transformer.fit(PV, YV).transform(P)
    for of, p in zip(found.observed, (P, after), strict=True):
        np.testing.assert_allclose(of, [loss(Y, p, t, w) for t in T], rtol=1e-12)
    assert found.spec.startswith(f"loss ratio of {recalibration} recalibration on 400 validation rows, 3 thresholds")


def test_labels_and_logits():
    labels = [np.where(y, "yes", "no") for y in (Y, YV)]
    logits = [np.log(p) - np.log1p(-p) for p in (P, PV)]
    found = bc.loss_ratio(
        labels[0], logits[0], labels[1], logits[1], T, classes=("no", "yes"), logits=True, rng=1
    )  # fmt: skip
    np.testing.assert_allclose(found.observed, FOUND.observed)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"recalibration": "isotonc"}, ValueError, "`recalibration` must be one of .*Did you mean 'isotonic'"),
        ({"y_true_validation": np.ones(400, int)}, ValueError, "`y_true_validation` must hold both outcomes"),
        ({"y_prob_validation": PV + 1}, ValueError, r"`y_prob_validation` must lie in \[0, 1\]"),
        ({"y_true_validation": YV[:-1]}, ValueError, "`y_true_validation`.*`y_prob_validation`"),
        ({"y_true_validation": np.where(YV, "b", "a")}, TypeError, "`y_true_validation` holds string labels"),
        ({"y_true_validation": Y, "y_prob_validation": P.copy()}, ValueError, "must be other rows than the test rows"),
        ({"y_prob": P + 1}, ValueError, r"`y_prob` must lie in \[0, 1\]"),
        ({"thresholds": [0.0, 0.5]}, ValueError, "the loss before recalibration must not be 0.*first at 0"),
        ({"y_true": P > 0.5, "y_prob": (P > 0.5) * 1.0}, ValueError, "loss before recalibration must not be 0"),
        ({"draws": 1}, ValueError, "`draws`"),
    ],
)
def test_what_is_refused(arguments, error, message):
    given = {"y_true": Y, "y_prob": P, "y_true_validation": YV, "y_prob_validation": PV, "thresholds": T}
    with pytest.raises(error, match=message):
        bc.loss_ratio(**(given | arguments))
