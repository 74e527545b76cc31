"""Outcomes that are not 0 or 1: each message says what to do, and doing it works."""

import re

import numpy as np
import pytest

import bayescal as bc
from bayescal import BinnedCounts, InvalidRows, evaluate
from bayescal.data.columns import binary, column, own_hints, require_marks, require_ratios, scale_free
from bayescal.data.predictions import Predictions

N = 60
P = np.random.default_rng(0).uniform(0.05, 0.95, N)
Y = (np.random.default_rng(1).random(N) < P).astype(int)
MATRIX = np.stack([P, (1 - P) / 2, (1 - P) / 2], axis=1)


def message_of(*arguments: object, **options: object) -> str:
    with pytest.raises((ValueError, TypeError)) as problem:
        evaluate(*arguments, **options)
    return str(problem.value)


def test_partial_credit_is_not_taken_for_probabilities() -> None:
    credit = np.resize([1.0, 0.5, 0.0], N)
    said = message_of(credit, P)
    assert "20 of 60 values are not, first at index 1: 0.5. Partial credit, with 3 distinct values?" in said
    assert "`y_true >= 0.5`" in said
    assert "swapped" not in said
    assert Predictions.from_labels(credit >= 0.5, P).outcome.sum() == 40
    assert "Partial credit, with 3 distinct values?" in message_of([0, 0.5, 1], [0.2, 0.4, 0.6])


def test_soft_labels_and_real_responses_are_told_apart() -> None:
    soft = np.linspace(0.01, 0.99, N)
    assert f"Soft labels, with {N} distinct values?" in message_of(soft, P)
    real = message_of(100 * soft, P)
    assert "Real numbers?" in real
    assert "`y_true >= limit`" in real
    for said in (message_of(soft, P), real):
        assert "swapped" not in said
        assert "`bayescal.cumulative.subpopulation` takes real responses" in said
    member = np.arange(N) % 2 == 0
    assert np.isfinite(bc.cumulative_difference_subpopulation(100 * soft, P, member).kuiper)


def test_swapped_columns_are_recognised_if_the_other_one_holds_0_and_1() -> None:
    for y in (Y, Y.astype(float), Y.tolist()):
        said = message_of(P, y)
        assert "`y_prob` holds only 0 and 1: are `y_true` and `y_prob` swapped?" in said
    with pytest.raises(InvalidRows, match="`y_prob` holds only 0 and 1: are `y_true` and `y_prob` swapped"):
        BinnedCounts.from_arrays(P, Y)


def test_an_engine_recognises_them_too() -> None:
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"p": P, "y": Y.astype(float), "credit": np.resize([1.0, 0.5, 0.0], N)})
    with pytest.raises(InvalidRows, match="if `confidence` holds only 0 and 1, are `outcome` and `confidence` swapped"):
        BinnedCounts.from_frame(frame, outcome="p", confidence="y")
    with pytest.raises(InvalidRows, match=r"20 of 60 values are not\. Fractions\? .*`outcome >= 0\.5`"):
        BinnedCounts.from_frame(frame, outcome="credit", confidence="p")
    with pytest.raises(InvalidRows, match=r"No value is above 0: log-probabilities need exp\(x\), .*a sigmoid"):
        BinnedCounts.from_frame(frame.assign(p=-P), outcome="y", confidence="p")
    with pytest.raises(InvalidRows, match=r"-inf is the logarithm of 0"):
        BinnedCounts.from_frame(frame.assign(p=np.where(frame.index == 3, -np.inf, -P)), outcome="y", confidence="p")
    with pytest.raises(InvalidRows, match=r"Logits\? Apply a sigmoid first"):
        BinnedCounts.from_frame(frame.assign(p=0.5 - P), outcome="y", confidence="p")


@pytest.mark.parametrize("label", [-100, 255, -1])
@pytest.mark.parametrize("dtype", [np.int64, np.float64])
def test_labels_of_ignored_rows_are_named(label: int, dtype: type) -> None:
    for of_rows, prob in ((Y, P), (Y + np.resize([0, 1], N), MATRIX)):
        y = of_rows.astype(dtype)
        y[[3, 7]] = label
        said = message_of(y, prob)
        assert "2 of 60 values are not, first at index 3" in said
        assert f"Drop these rows from all columns: `y_true != {label}`." in said
        kept = y != label
        assert len(Predictions.from_labels(y[kept], prob[kept])) == N - 2


def test_two_labels_are_not_ignored_rows() -> None:
    assert "`classes=(-1, 1)`" in message_of(2 * Y - 1, P)
    assert "`classes=(0, 255)`" in message_of(255 * Y, P)
    assert "Drop these rows" not in message_of(np.resize([0, 1, 2, -1], N), P)


@pytest.mark.parametrize("channels", ["none", "first", "last"])
def test_masks_of_images_are_flattened_as_the_message_says(channels: str) -> None:
    rng = np.random.default_rng(4)
    y_true = rng.integers(0, 2 if channels == "none" else 3, (5, 4, 6))
    y_prob = rng.random(y_true.shape)
    if channels != "none":
        y_prob = rng.dirichlet(np.ones(3), y_true.shape)
    if channels == "first":
        y_prob = np.moveaxis(y_prob, -1, 1)
    said = message_of(y_true, y_prob)
    calls = [call for call in re.findall(r"`([^`]*)`", said) if "(" in call]
    names = {"numpy": np, "y_true": y_true, "y_prob": y_prob}
    flat, labels = (eval(call, names) for call in calls[:2])
    cluster = eval(calls[2].removeprefix("cluster="), names)
    assert len(flat) == len(labels) == len(cluster) == y_true.size
    assert np.array_equal(cluster.reshape(y_true.shape)[2], np.full((4, 6), 2))
    if channels == "first":
        assert np.array_equal(flat[7], y_prob[0, :, 1, 1])
    ev = evaluate(labels, flat, cluster=cluster, rng=1, draws=20)
    assert "5 clusters" in str(ev)


def test_other_shapes_of_masks() -> None:
    assert "`y_prob.reshape(-1)`" in message_of(np.zeros((2, 1, 3, 3)), np.full((2, 1, 3, 3), 0.5))
    assert "`y_true.reshape(-1)`" in message_of(np.zeros((2, 3, 3)), np.full(18, 0.5))
    assert "reshape(-1, 3)" in message_of(np.zeros((2, 4, 4)), np.full((2, 4, 4, 3), 1 / 3), target="classwise")


def test_indicator_matrices() -> None:
    one_hot = np.eye(3, dtype=int)[np.resize([0, 1, 2], N)]
    assert "`numpy.argmax(y_true, axis=1)` gives class numbers" in message_of(one_hot, MATRIX)
    several = one_hot.copy()
    several[0] = 1
    assert "One column at a time: `y_true[:, k]`" in message_of(several, MATRIX)
    assert "One column at a time: `y_true[:, k]`" in message_of(several, P)


class Bfloat16:
    """A tensor as PyTorch makes it: numpy cannot read it, and `.float()` returns one that it can."""

    dtype, shape, ndim = "torch.bfloat16", (N,), 1

    def detach(self) -> "Bfloat16":
        return self

    def float(self) -> np.ndarray:
        return P.astype(np.float32)

    def __len__(self) -> int:
        return N

    def __array__(self, *_: object, **__: object) -> np.ndarray:
        raise TypeError("Got unsupported ScalarType BFloat16")


def test_bfloat16_names_its_conversion() -> None:
    assert "`y_prob` has dtype torch.bfloat16, which numpy does not have; pass `y_prob.float()`." in message_of(
        Y, Bfloat16()
    )
    assert len(Predictions.from_labels(Y, Bfloat16().float())) == N


def test_functions_without_the_keyword_logits_do_not_name_it() -> None:
    with pytest.raises(InvalidRows, match=r"`np\.exp\(y_prob\)`, .*`scipy\.special\.expit`; the") as problem:
        bc.cumulative_difference(Y, -P)
    assert "logits=True" not in str(problem.value)


def test_ignored_labels_are_named_before_a_threshold_would_make_them_outcomes() -> None:
    credit = np.where(np.arange(N) % 3 == 0, 0.5, Y.astype(float))
    credit[7] = -100
    said = message_of(credit, P)
    assert "Does -100 mark rows to be left out?" in said
    assert ">=" not in said
    assert "`y_true != -100`" in message_of(np.r_[-100, Y[1:]], P, classes=(0, 1))


def test_one_image_with_classes_first_has_no_clusters() -> None:
    y_true, y_prob = np.zeros((6, 5), int), np.full((3, 6, 5), 1 / 3)
    said = message_of(y_true, y_prob)
    flat, labels = (eval(call, {"numpy": np, "y_true": y_true, "y_prob": y_prob})
                    for call in re.findall(r"`([^`]*)`", said) if "(" in call)  # fmt: skip
    assert (flat.shape, labels.shape) == ((30, 3), (30,))
    assert "cluster" not in said


def test_class_numbers_beside_ignored_labels_and_infinite_logarithms() -> None:
    labels = np.resize([0, 1, 2], N)
    labels[3] = -100
    assert "Does -100 mark rows" in message_of(labels, MATRIX, classes=(0, 1, 2))
    with np.errstate(divide="ignore"):
        logs = np.log(np.eye(3)[np.resize([0, 1, 2], N)])
    assert "-inf is the logarithm of 0. Log-probabilities? Pass `np.exp(y_prob)`." in message_of(labels.clip(0), logs)


WITHOUT_LOGITS = {
    "BinnedCounts.from_arrays": lambda p: bc.BinnedCounts.from_arrays(Y, p),
    "CalibrationMonitor.add": lambda p: bc.monitoring.CalibrationMonitor().add(Y, p),
    "LogitCounts.from_arrays": lambda p: bc.LogitCounts.from_arrays(Y, p),
    "ThresholdCounts.from_arrays": lambda p: bc.ThresholdCounts.from_arrays(Y, p),
    "equal_mass_edges": lambda p: bc.equal_mass_edges(p, 5),
    "CalibrationDisplay.from_predictions": lambda p: bc.CalibrationDisplay.from_predictions(Y, p),
    "ClassPriors.adapt": lambda p: bc.class_priors(Y, P, P, draws=50, rng=1).adapt(p),
    "LabelShiftEvaluation.adapt": lambda p: bc.evaluate_shifted(Y, P, P, shift="label", draws=50, rng=1).adapt(p),
    "ShiftCells.of_confidences": lambda p: bc.ShiftCells.of_confidences(p, 3),
    "Recalibration.recalibrated": lambda p: bc.recalibration(Y, P, draws=50, rng=1).recalibrated(p),
    "LogisticRecalibration.fit": lambda p: bc.LogisticRecalibration().fit(p, Y),
}


@pytest.mark.parametrize("name", WITHOUT_LOGITS)
def test_functions_without_logits_name_the_inverse(name: str) -> None:
    """Of one column of values <= 0, and of log-odds of both signs."""
    for values, hint in ((np.log(P), r"`np\.exp\(.*scipy\.special\.expit"), (np.log(P) + 1, r"scipy\.special\.expit")):
        with pytest.raises(InvalidRows, match=hint) as problem:
            WITHOUT_LOGITS[name](values)
        assert "logits=True" not in str(problem.value)


@pytest.mark.parametrize("name", ["CalibrationDisplay.from_predictions", "ShiftCells.of_confidences"])
def test_matrices_of_functions_without_logits_name_the_softmax(name: str) -> None:
    """A sigmoid of each entry has rows that do not sum to 1."""
    calls = {
        "CalibrationDisplay.from_predictions": lambda x: bc.CalibrationDisplay.from_predictions(Y, x),
        "ShiftCells.of_confidences": lambda x: bc.ShiftCells.of_confidences(x, 3),
    }
    with pytest.raises(InvalidRows, match=r"scipy\.special\.softmax\(logits, axis=1\)"):
        calls[name](np.log(MATRIX) + 1)


def test_marks_are_numbers_or_booleans() -> None:
    message = (
        r"^`outcome` must hold 0 and 1, or booleans; it holds other labels, such as \['no', 'yes'\]\. Pass whether"
    )
    with pytest.raises(TypeError, match=message):
        require_marks("outcome", ["yes", "no"])
    require_marks("outcome", [True, False])


def test_hints_of_functions_without_keywords_of_evaluate() -> None:
    """Two labels need `classes=` in `evaluate`; elsewhere, the hint says what to pass."""
    labels, rule = np.array([3, 5]), "`event` must be binary labels, 0 or 1; 2 of 2 .*"
    with pytest.raises(InvalidRows, match=rule + r" Two labels\? Pass `classes=\(3, 5\)`"):
        binary("event", labels, None)
    message = rule + r" Pass whether the event happened, as in `y_true == label`\.$"
    with pytest.raises(InvalidRows, match=message), own_hints():
        binary("event", labels, None)


def test_a_matrix_of_one_column_is_a_column() -> None:
    assert column("p", np.array([[0.5], [0.25]])).tolist() == [0.5, 0.25]
    with pytest.raises(ValueError, match=r"`p` must be one-dimensional.*shape is \(1, 2\)"):
        column("p", np.array([[0.5, 0.25]]))


def test_weights_are_divided_by_a_power_of_two_where_squares_would_overflow() -> None:
    weight = np.array([3e200, 1e200])
    scaled = scale_free(weight)
    assert scaled.max() < 1
    assert np.log2(weight / scaled).tolist() == [np.round(np.log2(weight[0] / scaled[0]))] * 2
    assert scale_free(np.array([1.0, 2.0])).tolist() == [1.0, 2.0]


def test_weights_far_below_the_largest_are_refused() -> None:
    assert require_ratios(np.array([1.0, 0.0, 1e-59])).tolist() == [1.0, 0.0, 1e-59]
    with pytest.raises(ValueError, match=r"`weights` must be 0 or at least 1e-60 of the largest weight"):
        require_ratios(np.array([1.0, 1e-61]))
