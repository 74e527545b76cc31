"""Remarks on silent mistakes: outcomes or hard predictions as probabilities, and probabilities of the other outcome."""

import numpy as np
import pytest

import bayescal as bc
from bayescal import BinnedCounts, evaluate
from bayescal.results.remarks import mistake_remarks

OUTCOMES, HARD = (
    "Were outcomes passed as probabilities?",
    "All probabilities are exactly 0 or 1. If they are hard predictions",
)
REVERSED = "Are these the probabilities of the other outcome?"


def rows(n: int = 200, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    p = rng.random(n)
    return (rng.random(n) < p).astype(int), p


def remark_of(y: np.ndarray, p: np.ndarray, **options: object) -> str:
    """The remark; equal from rows, from counts of other bins, from two batches, and for both models."""
    options = {"target": "event", **options}
    counts = BinnedCounts.from_arrays(y, p, bins=50, **options)
    found = mistake_remarks(counts)
    assert len(found) < 2
    weights = options.get("weights")
    half = len(y) // 2
    parts = [
        BinnedCounts.from_arrays(y[part], p[part], bins=50, target=options["target"],
                                 weights=None if weights is None else weights[part])
        for part in (slice(half), slice(half, None))
    ]  # fmt: skip
    assert mistake_remarks(sum(parts)) == found
    assert mistake_remarks(counts.coarsen(5)) == found
    return "".join(found)


@pytest.mark.parametrize("weighted", [False, True])
def test_outcomes_and_hard_predictions(weighted: bool) -> None:
    y, p = rows()
    weights = np.random.default_rng(3).uniform(0.5, 2, len(y)) if weighted else None
    nearly = y.copy()
    nearly[7] = 1 - nearly[7]
    for values, share in ((y, "200 of 200"), (nearly, "199 of 200")):
        said = remark_of(y, values.astype(float), weights=weights)
        assert OUTCOMES in said
        assert weighted or f"equal the outcomes in {share} rows" in said
    assert HARD in remark_of(y, (p > 0.5).astype(float), weights=weights)
    assert OUTCOMES in remark_of(y, np.clip(y, 1e-3, 1 - 1e-3), weights=weights)
    assert remark_of(y, p, weights=weights) == ""
    # almost hard, and right as often as a good classifier is
    assert remark_of(y, np.where((p > 0.5) & (p < 0.999), 1 - 1e-6, np.minimum(p, 0.5)), weights=weights) == ""


def test_certain_answers_that_are_all_right_are_not_taken_for_outcomes() -> None:
    assert HARD in remark_of(np.ones(50, int), np.ones(50), target="confidence")


def test_few_rows_are_not_judged() -> None:
    assert mistake_remarks(BinnedCounts.from_arrays([0, 1] * 9 + [1], [0.0, 1.0] * 9 + [1.0], target="event")) == ()
    assert mistake_remarks(BinnedCounts.from_arrays([0, 1] * 10, [0.0, 1.0] * 10, target="event"))
    assert mistake_remarks(BinnedCounts.empty(5)) == ()


def test_printed_results_have_the_remarks() -> None:
    y, p = rows()
    for model in ("shrinkage", "dirichlet"):
        assert REVERSED in " ".join(str(evaluate(y, 1 - p, model=model, rng=1, draws=50)).split())
        assert OUTCOMES in " ".join(str(evaluate(y, y.astype(float), model=model, rng=1, draws=50)).split())
    matrix = np.eye(2)[y]
    assert "200 of 200 predictions are right. Were labels passed" in " ".join(evaluate(y, matrix, rng=1).remarks)
    compared = bc.compare(y, {"good": p, "reversed": 1 - p}, rng=1, draws=50)
    auc = 1 - evaluate(y, p, rng=1, draws=50).counts.ranks.auc
    told = [text for text in compared.remarks if REVERSED in text]
    assert told == [f"reversed: The AUC is {auc:.2g}, clearly below 0.5. {REVERSED}"]


@pytest.mark.parametrize("target", ["event", "confidence", "classwise", "top-label"])
def test_a_reversed_event(target: str) -> None:
    y, p = rows()
    said = remark_of(y, 1 - p, target=target)
    assert ("clearly below 0.5" in said) is (target != "top-label")
    assert remark_of(y, p, target=target) == ""


def test_false_alarms_of_scores_without_information_are_at_most_one_in_a_thousand() -> None:
    """2000 data sets with AUC 0.5 have at most 6 alarms: with a rate of 1/1000, more have probability 0.005."""
    rng = np.random.default_rng(12)
    alarms = 0
    for n, rate in ((30, 0.5), (60, 0.25), (200, 0.1), (400, 0.5)):
        for _ in range(500):
            score = rng.beta(0.7, 2, n) if rate < 0.5 else np.round(rng.random(n), 1)
            counts = BinnedCounts.from_arrays(rng.random(n) < rate, score, bins=20, target="event")
            alarms += any("AUC" in text for text in mistake_remarks(counts))
    assert alarms <= 6


def test_rows_in_clusters_give_less_evidence() -> None:
    rng = np.random.default_rng(0)
    cluster = np.repeat(np.arange(12), 40)
    p = rng.random(12)[cluster]
    y = (rng.random(12) < 0.5)[cluster].astype(int)
    alone = evaluate(y, np.where(y, 0.45, 0.55) * 0.9 + 0.1 * p, rng=1, draws=20)
    within = evaluate(y, p, cluster=cluster, rng=1, draws=20)
    assert any("AUC" in text for text in alone.remarks)
    assert not any("AUC" in text for text in within.remarks)


_RNG = np.random.default_rng(3)
SCORE = _RNG.random(300).clip(0.05, 0.95)
OUTCOME = (_RNG.random(300) < SCORE).astype(int)


def printed(result: object) -> str:
    return " ".join(str(result).split())


FEW = {"rng": 1, "draws": 50}
OF_ONE_COLUMN = {
    "evaluate": lambda y, p: bc.evaluate(y, p, **FEW),
    "compare": lambda y, p: bc.compare(y, {"a": p, "b": SCORE}, **FEW),
    "bins": lambda y, p: bc.bin_sensitivity(y, p, **FEW),
    "curve": lambda y, p: bc.calibration_curve(y, p, **FEW),
    "tests": bc.calibration_tests,
    "CORP": bc.brier_decomposition,
    "Murphy": lambda y, p: bc.brier_decomposition(y, p, method="murphy"),
    "net benefit": lambda y, p: bc.decisions.net_benefit(y, p, 0.5, **FEW),
    "net benefit of two": lambda y, p: bc.decisions.net_benefit(y, {"a": p, "b": SCORE}, 0.5, **FEW),
    "net benefit of groups": lambda y, p: bc.decisions.net_benefit(y, p, 0.5, by=np.arange(300) % 3, **FEW),
    "recalibration": lambda y, p: bc.recalibration(y, p, floor=1e-6, **FEW),
    "clinical summary": lambda y, p: bc.clinical_summary(y, p, thresholds=[0.5], floor=1e-6, **FEW),
    "loss ratio": lambda y, p: bc.loss_ratio(y, p, OUTCOME[::-1], SCORE, **FEW),
    "label shift": lambda y, p: bc.evaluate_shifted(y, p, p[::2], shift="label", **FEW),
    "covariate shift": lambda y, p: bc.evaluate_shifted(y, p, p, shift="covariate", weights=np.ones(300), **FEW),
}
#: These have no sums of losses, or refuse the rows.
NOT_HARD = {"recalibration", "label shift"}


@pytest.mark.slow
@pytest.mark.parametrize("name", OF_ONE_COLUMN)
def test_every_result_of_one_column(name: str) -> None:
    """One remark for each mistake, and none for calibrated probabilities."""
    of = OF_ONE_COLUMN[name]
    signs = ("clearly below 0.5", "event coded the other way", "All probabilities are exactly 0 or 1")
    assert not any(sign in printed(of(OUTCOME, SCORE)) for sign in signs)
    assert sum(sign in printed(of(OUTCOME, 1 - SCORE)) for sign in signs) == 1
    if name not in NOT_HARD:
        assert signs[2] in printed(of(OUTCOME, (SCORE > 0.5).astype(float)))
