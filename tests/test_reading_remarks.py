"""Every result of divided rows, or of logits that are all <= 0, states this: whatever the function, on both sides."""

import numpy as np
import pytest

import bayescal as bc

_RNG = np.random.default_rng(1)
_MATRIX = _RNG.dirichlet(np.ones(5), 120)
LABEL = (_MATRIX.cumsum(axis=1) < _RNG.random((120, 1))).sum(axis=1)
ROUNDED = _MATRIX.round(3)
#: Log-odds of a rare event, or log-probabilities: nobody can tell.
LOGIT = -np.abs(_RNG.normal(size=120)) - 0.1
EVENT = (_RNG.random(120) < 1 / (1 + np.exp(-LOGIT))).astype(int)
EVENT[:10] = 1
N_OFF = int((np.abs(ROUNDED.sum(axis=1) - 1) > 1e-9).sum())
OTHER = np.roll(LOGIT, 1)
FEW = {"rng": 1, "draws": 200}
TOP = {"target": "top-label", **FEW}

OF_MATRIX = {
    "classwise": lambda p: bc.evaluate(LABEL, p, **FEW),
    "top label": lambda p: bc.evaluate(LABEL, p, **TOP),
    "groups": lambda p: bc.evaluate(LABEL, p, by=EVENT, **TOP),
    "compare": lambda p: bc.compare(LABEL, {"a": p, "b": p[:, ::-1]}, **TOP),
    "compare_independent": lambda p: bc.compare_independent(
        {f"{i}": bc.evaluate(LABEL[:n], p[:n], **TOP) for i, n in enumerate((70, 120))}, rng=1
    ),
    "data sets": lambda p: bc.compare_over_datasets(
        {f"d{i}": (LABEL[i::3], {"a": p[i::3], "b": p[i::3, ::-1]}) for i in range(3)}, **TOP
    ),
    "bins": lambda p: bc.bin_sensitivity(LABEL, p, **TOP),
    "curve": lambda p: bc.calibration_curve(LABEL, p, **TOP),
    "curve of counts": lambda p: bc.CalibrationCurve.from_counts(bc.evaluate(LABEL, p, bins=100, **TOP).counts, **FEW),
    "tests": lambda p: bc.calibration_tests(LABEL, p, target="top-label"),
    "Brier score": bc.multiclass_brier_score.__get__(LABEL),
    "log score": bc.multiclass_log_score.__get__(LABEL),
    "scores": lambda p: bc.compare_scores(LABEL, {"a": p, "b": p[:, ::-1]}, **FEW),
    "CORP": lambda p: bc.brier_decomposition(LABEL, p, target="top-label"),
    "Murphy": lambda p: bc.brier_decomposition(LABEL, p, target="top-label", method="murphy"),
    "class frequencies": lambda p: bc.class_priors(LABEL, p, _MATRIX, **FEW),
    "class frequencies, target": lambda p: bc.class_priors(LABEL, _MATRIX, p, **FEW),
    "label shift": lambda p: bc.evaluate_shifted(LABEL, p, _MATRIX, shift="label", **FEW),
    "covariate shift": lambda p: bc.evaluate_shifted(LABEL, p, _MATRIX, shift="covariate", weights=np.ones(120), **TOP),
    "covariate shift, target": lambda p: bc.evaluate_shifted(
        LABEL, _MATRIX, p, shift="covariate", weights=np.ones(120), **TOP
    ),
    "evidence of shift": lambda p: bc.shift_evidence(LABEL, p, _MATRIX, **FEW),
}
RARE = {"logits": True, **FEW}
OF_LOGITS = {
    "evaluate": lambda x: bc.evaluate(EVENT, x, **RARE),
    "compare": lambda x: bc.compare(EVENT, {"a": x, "b": x * 2}, **RARE),
    "bins": lambda x: bc.bin_sensitivity(EVENT, x, **RARE),
    "curve": lambda x: bc.calibration_curve(EVENT, x, **RARE),
    "tests": lambda x: bc.calibration_tests(EVENT, x, logits=True),
    "recalibration": lambda x: bc.recalibration(EVENT, x, **RARE),
    "clinical summary": lambda x: bc.clinical_summary(EVENT, x, thresholds=[0.2], **RARE),
    "net benefit": lambda x: bc.decisions.net_benefit(EVENT, x, 0.2, **RARE),
    "net benefit of two": lambda x: bc.decisions.net_benefit(EVENT, {"a": x, "b": x * 2}, 0.2, **RARE),
    "loss ratio": lambda x: bc.loss_ratio(EVENT, x, EVENT, OTHER, **RARE),
    "CORP": lambda x: bc.brier_decomposition(EVENT, x, logits=True),
    "class frequencies": lambda x: bc.class_priors(EVENT, x, x, **RARE),
    "label shift": lambda x: bc.evaluate_shifted(EVENT, x, x, shift="label", **RARE),
    "covariate shift": lambda x: bc.evaluate_shifted(EVENT, x, x, shift="covariate", weights=np.ones(120), **RARE),
    "evidence of shift": lambda x: bc.shift_evidence(EVENT, x, x, **RARE),
}


def printed(result: object) -> str:
    return " ".join(str(result).split())


@pytest.mark.slow
@pytest.mark.parametrize("name", OF_MATRIX)
def test_divided_rows_are_stated(name):
    text = printed(OF_MATRIX[name](ROUNDED))
    if name not in {"compare_independent", "data sets"}:  # each part states its own rows
        assert f"{N_OFF} of 120 rows sum to 1 only up to rounding" in text
    assert "the rows were divided by their sums" in text


@pytest.mark.slow
@pytest.mark.parametrize("name", OF_LOGITS)
def test_logits_of_which_none_is_positive_are_stated(name):
    remark = "All logits are <= 0: no probability exceeds 0.5; log-probabilities need exp instead."
    text = printed(OF_LOGITS[name](LOGIT))
    assert remark in text
    if name == "clinical summary":
        assert text.count(remark) == 1
    mixed = np.where(np.arange(120) == 0, 0.5, LOGIT)
    assert remark not in printed(OF_LOGITS[name](mixed))


@pytest.mark.slow
def test_exact_rows_have_no_remark():
    for name, result_of in OF_MATRIX.items():
        assert "divided by their sums" not in printed(result_of(_MATRIX)), name


@pytest.mark.parametrize("side", [0, 1])
def test_counts_of_both_sides_keep_their_readings(side, tmp_path):
    """In sums, in saved counts, and in counts of files, whose blocks are divided after a pass over all rows."""
    cells = bc.ShiftCells.predicted_class(5)
    matrices = [_MATRIX, _MATRIX]
    matrices[side] = ROUNDED
    halves = [
        part
        for i in range(2)
        for part in (
            bc.ShiftCounts.of_source(LABEL[i::2], matrices[0][i::2], cells=cells, classes=range(5)),
            bc.ShiftCounts.of_target(matrices[1][i::2], cells=cells),
        )
    ]
    counts = sum(halves, start=halves.pop())
    assert [each.divided for each in counts.readings] == [N_OFF * (side == 0), N_OFF * (side == 1)]
    bc.save_counts(counts, tmp_path / "counts.json")
    assert bc.load_counts(tmp_path / "counts.json").readings == counts.readings
    for name, matrix in zip(("source", "target"), matrices, strict=True):
        rows = [",".join(["label", *(f"p_{k}" for k in range(5))])]
        rows += [f"{y}," + ",".join(map(repr, p.tolist())) for y, p in zip(LABEL, matrix, strict=True)]
        (tmp_path / f"{name}.csv").write_text("\n".join(rows), encoding="utf-8")
    files = (tmp_path / "source.csv", tmp_path / "target.csv")
    counted = bc.count_shift_files(*files, label="label", prob_prefix="p_", cells=cells)
    assert counted.readings == counts.readings
    assert f"{['Source', 'Target'][side]}: {N_OFF} of 120 rows" in printed(bc.class_priors_counts(counted, rng=1))


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in OF_LOGITS if name != "loss ratio"])
def test_probabilities_given_as_logits_are_stated(name):
    remark = "All logits lie in [0, 1], as probabilities do; as logits, they are probabilities of 0.5 to 0.73."
    p = np.linspace(0.01, 0.99, 120)
    assert remark in printed(OF_LOGITS[name](p))
    assert remark not in printed(OF_LOGITS[name](p * 2))
