"""The adapter for torchmetrics, in torchmetrics; `make bench`, which installs it, runs this."""

import copy
import importlib.util
import json
import multiprocessing
import pickle
import sys
import warnings
from datetime import timedelta
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.figure import Figure
from scipy.special import softmax
from torchmetrics import MetricCollection
from torchmetrics.classification import BinaryCalibrationError, MulticlassAccuracy, MulticlassCalibrationError

import bayescal as bc
from bayescal._packages import installed
from bayescal.plugins import torchmetrics as adapter
from bayescal.plugins.torchmetrics import CalibrationPosterior

ROOT = Path(__file__).resolve().parents[2]
DRAWS = 200
#: Time after which a process that does not answer is given up.
PATIENCE = timedelta(seconds=100)
NAMES = ["ece", "ece_low", "ece_high", "ece_if_calibrated", "p_calibrated"]
NUMPY = {torch.float16: np.float16, torch.float32: np.float32, torch.float64: np.float64}

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore:pkg_resources")


def binary_rows(n, seed=1):
    rng = np.random.default_rng(seed)
    p = rng.random(n)
    return p, (rng.random(n) < p**1.3).astype(np.int64)


def class_rows(n, classes=4, seed=1):
    rng = np.random.default_rng(seed)
    logits = 2 * rng.standard_normal((n, classes))
    return logits, (logits + rng.gumbel(size=(n, classes))).argmax(axis=1)


def updated(task, p, y, batches=1, **options):
    metric = CalibrationPosterior(task, draws=DRAWS, **options)
    for preds, target in zip(torch.tensor(p).chunk(batches), torch.tensor(y).chunk(batches), strict=True):
        metric.update(preds, target)
    return metric


def assert_same_counts(counts, expected, tolerance=1e-12):
    """Numbers of rows are equal; sums agree relative to the sum of absolute terms, which is at most their bound."""
    assert (counts.bins, counts.target) == (expected.bins, expected.target)
    assert np.array_equal(counts.cells, expected.cells)
    assert np.array_equal(counts.weight, expected.weight)
    assert np.array_equal(counts.weight_sq, expected.weight_sq)
    assert np.array_equal(counts.log_losses.infinite, expected.log_losses.infinite)
    n = max(1, counts.n_rows)
    for one, other in (
        (counts.deviation, expected.deviation),
        (counts.deviation_sq, expected.deviation_sq),
        (counts.losses.total, expected.losses.total),
        (counts.losses.squares, expected.losses.squares),
        (counts.log_losses.total, expected.log_losses.total),
        (counts.log_losses.squares, expected.log_losses.squares),
    ):
        np.testing.assert_allclose(one / n, other / n, rtol=tolerance, atol=tolerance)


def numbers(ev):
    low, high = ev.ece.interval()
    return [ev.ece.mean(), low, high, ev.null.mean(), ev.p_calibrated]


def size_of_state(metric):
    return sum(state.numel() * state.element_size() for state in metric.metric_state.values())


# --- the numbers of `evaluate`


@pytest.mark.parametrize("batches", [1, 7])
def test_binary_probabilities_give_the_numbers_of_evaluate(batches):
    p, y = binary_rows(2000)
    metric, ev = updated("binary", p, y, batches), bc.evaluate(y, p, draws=DRAWS, rng=0)
    assert_same_counts(metric.counts(), ev.counts)
    values = metric.compute()
    assert list(values) == NAMES
    np.testing.assert_allclose([float(each) for each in values.values()], numbers(ev), atol=1e-12)
    whole = metric.evaluation()
    assert whole.spec == ev.spec
    np.testing.assert_allclose(whole.ece.values, ev.ece.values, atol=1e-12)
    for name in ("brier_score", "log_score"):
        np.testing.assert_allclose(whole.draws(name).mean(), ev.draws(name).mean(), atol=1e-12)


@pytest.mark.parametrize("n_bins", [10, [0, 0.3, 0.5, 0.9, 1], bc.make_bins(8, closed="right")])
def test_classes_give_the_numbers_of_evaluate(n_bins):
    logits, y = class_rows(2000)
    p = softmax(logits, axis=1)
    metric = updated("multiclass", p, y, 3, num_classes=4, n_bins=n_bins, rng=5)
    ev = bc.evaluate(y, p, bins=n_bins, draws=DRAWS, rng=5)
    assert_same_counts(metric.counts(), ev.counts)
    np.testing.assert_allclose([float(each) for each in metric.compute().values()], numbers(ev), atol=1e-12)


@pytest.mark.parametrize("task", ["binary", "multiclass"])
def test_logits_give_the_numbers_of_evaluate(task):
    logits, y = class_rows(2000)
    if task == "binary":
        logits, y = logits[:, 0], (y == 0).astype(float)
    metric, ev = updated(task, logits, y, 3, logits=True), bc.evaluate(y, logits, logits=True, draws=DRAWS, rng=0)
    assert_same_counts(metric.counts(), ev.counts)
    np.testing.assert_allclose([float(each) for each in metric.compute().values()], numbers(ev), atol=1e-12)
    assert metric.counts().reading == ev.counts.reading


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
@pytest.mark.parametrize("n_bins", [10, 15])
@pytest.mark.parametrize("task", ["binary", "multiclass"])
def test_logits_of_probabilities_at_edges_are_in_the_bins_of_evaluate(task, n_bins, dtype):
    """Both convert logits to float64; softmax in float32 differs in its last digit between programs."""
    rng, n = np.random.default_rng(1), 5000
    if task == "binary":
        k, y = rng.integers(1, n_bins, n), rng.integers(0, 2, n)
        logits = np.log(k / (n_bins - k))
    else:
        k, y = rng.multinomial(n_bins - 4, np.full(4, 0.25), n) + 1, rng.integers(0, 4, n)
        logits = np.log(k / n_bins) + rng.integers(-3, 4, (n, 1))
    logits = logits.astype(dtype)
    metric, ev = (
        updated(task, logits, y, logits=True, n_bins=n_bins),
        bc.evaluate(y, logits, logits=True, bins=n_bins, draws=DRAWS, rng=0),
    )
    assert_same_counts(metric.counts(), ev.counts)
    exact = np.exp(logits.astype(float))
    exact = exact / (1 + exact) if task == "binary" else (exact / exact.sum(1, keepdims=True)).max(1)
    confidences = np.nansum(metric.counts().mean_confidence * metric.counts().n)
    assert confidences == pytest.approx(exact.sum(), rel=1e-12)


def test_float64_logits_at_edges_are_in_the_same_or_the_neighbouring_bin():
    """The last digit of a softmax in float64 differs between programs, and decides about logarithms of k / 15."""
    rng, n = np.random.default_rng(1), 20_000
    logits = np.log((rng.multinomial(11, np.full(4, 0.25), n) + 1) / 15) + rng.integers(-3, 4, (n, 1))
    y = rng.integers(0, 4, n)
    found = updated("multiclass", logits, y, logits=True).counts().cells
    expected = bc.evaluate(y, logits, logits=True, draws=DRAWS, rng=0).counts.cells
    assert np.array_equal(found.sum(1), expected.sum(1))
    assert np.abs(np.cumsum(found - expected, axis=1)).sum() < 0.05 * n


def test_logarithms_of_probabilities_as_logits_are_remarked_as_by_evaluate():
    p, y = binary_rows(500)
    ev = bc.evaluate(y, np.log(p), logits=True, draws=DRAWS, rng=0)
    assert updated("binary", np.log(p), y, 2, logits=True).evaluation().remarks == ev.remarks
    assert "log" in " ".join(ev.remarks)


def test_losses_are_infinite_where_they_are():
    p, y = [0.0, 0.0, 1.0, 1.0, 1.0, 0.5], [1, 0, 0, 0, 1, 1]
    metric = updated("binary", p, y, 2)
    assert_same_counts(metric.counts(), bc.BinnedCounts.from_arrays(y, p, target="event"))
    assert metric.counts().log_losses.infinite[:, [0, -1]].tolist() == [[0, 2], [1, 0]]


# --- edges


@settings(max_examples=60, derandomize=True, deadline=None, database=None)
@given(
    n_bins=st.integers(1, 60),
    dtype=st.sampled_from(list(NUMPY)),
    closed=st.sampled_from(["left", "right"]),
    seed=st.integers(0, 999),
    single=st.booleans(),
)
def test_a_confidence_at_an_edge_is_in_the_bin_of_evaluate(n_bins, dtype, closed, seed, single):
    """The edges of all bins in each type of floats, and their neighbours."""
    edges = (np.arange(n_bins + 1) / n_bins).astype(NUMPY[dtype])
    near = [edges, np.nextafter(edges, edges.dtype.type(0)), np.nextafter(edges, edges.dtype.type(1))]
    p = np.unique(np.concatenate(near))
    y = np.random.default_rng(seed).integers(0, 2, len(p))
    bins = bc.make_bins(edges if single and len(np.unique(edges)) == n_bins + 1 else n_bins, closed=closed)
    expected = bc.BinnedCounts.from_arrays(y, p, bins=bins, target="event")
    assert_same_counts(updated("binary", p, y, n_bins=bins).counts(), expected)


def test_edges_are_exact_fractions():
    """From exact arithmetic: float64 confidences k / M, correctly rounded, are in bin k, and their predecessors not."""
    for n_bins in (3, 7, 10, 15, 49):
        at = np.arange(1, n_bins) / n_bins
        assert all(abs(Fraction(c) - Fraction(k, n_bins)) < Fraction(1, 2**53) for k, c in enumerate(at, 1))
        zeros = np.zeros(len(at), int)
        assert updated("binary", at, zeros, n_bins=n_bins).counts().n.tolist() == [0] + [1] * (n_bins - 1)
        below = np.nextafter(at, 0)
        assert updated("binary", below, zeros, n_bins=n_bins).counts().n.tolist() == [1] * (n_bins - 1) + [0]


def test_two_bytes_meet_the_edges_as_documented():
    """0.7 as float16 equals the edge 7/10 as float16; as bfloat16 it is 0.69921875, which is below the edge."""
    bin_of = {
        dtype: int(updated_with(torch.tensor([0.7], dtype=dtype)).counts().n.argmax())
        for dtype in (torch.bfloat16, *NUMPY)
    }
    assert bin_of == {torch.bfloat16: 6, torch.float16: 7, torch.float32: 7, torch.float64: 7}


def updated_with(preds):
    metric = CalibrationPosterior("binary", n_bins=10, draws=DRAWS)
    metric.update(preds, torch.ones(len(preds)))
    return metric


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_two_bytes_are_read_as_evaluate_reads_them(dtype):
    logits, y = class_rows(3000)
    p = torch.tensor(softmax(logits, axis=1)).to(dtype)
    metric = CalibrationPosterior("multiclass", draws=DRAWS)
    metric.update(p, torch.tensor(y))
    confidence = p.max(1).values
    confidence = (confidence.float() if dtype == torch.bfloat16 else confidence).numpy()
    right = p.float().numpy().argmax(axis=1) == y
    assert_same_counts(metric.counts(), bc.BinnedCounts.from_arrays(right, confidence, target="top-label"))
    of_logits = CalibrationPosterior("multiclass", logits=True, draws=DRAWS)
    of_logits.update(torch.tensor(logits).to(dtype), torch.tensor(y))
    rounded = torch.tensor(logits).to(dtype).float()
    again = CalibrationPosterior("multiclass", logits=True, draws=DRAWS)
    again.update(rounded, torch.tensor(y))
    assert of_logits.counts() == again.counts()


# --- torchmetrics' own metric


def test_the_plug_in_value_is_that_of_torchmetrics_away_from_edges():
    """Its edges are those of linspace in float64, of which that of 0.35 among 100 bins is above 0.35."""
    logits, y = class_rows(3000)
    p = torch.tensor(softmax(logits, axis=1))
    own, theirs = CalibrationPosterior("multiclass", draws=DRAWS), MulticlassCalibrationError(4, n_bins=15)
    for metric in (own, theirs):
        metric.update(p, torch.tensor(y))
    assert own.evaluation().plug_in == pytest.approx(float(theirs.compute()), abs=1e-6)
    edge, right = torch.tensor([0.35, 0.355], dtype=torch.float64), torch.tensor([1, 0])
    own, theirs = CalibrationPosterior("binary", n_bins=100, draws=DRAWS), BinaryCalibrationError(n_bins=100)
    for metric in (own, theirs):
        metric.update(edge, right)
    assert own.counts().n[35] == 2  # 0.35 = 35 / 100 is the lower edge of this bin
    assert own.evaluation().plug_in == pytest.approx((1 - 0.35 - 0.355) / 2)
    assert float(theirs.compute()) == pytest.approx((0.65 + 0.355) / 2)


# --- processes


def of_process(rank, store, file):
    """Values, numbers of rows of all processes and of this one, of every second row, and the metric."""
    torch.distributed.init_process_group("gloo", f"file://{store}", PATIENCE, world_size=2, rank=rank)
    with np.load(file) as rows:
        metric = updated("binary", rows["p"][rank::2], rows["y"][rank::2], 10)
    values = {name: float(value) for name, value in metric.compute().items()}
    result = values, metric.counts().n_rows, int(metric.cells.sum())
    if rank:
        Path(f"{store}.json").write_text(json.dumps(result))
    counts = metric.counts()
    torch.distributed.destroy_process_group()
    return result, counts, metric


def other_process(*arguments):
    torch.set_num_threads(1)  # as workers of data loaders do, which are forked too
    of_process(*arguments)


@pytest.mark.filterwarnings("ignore:.*multi-threaded")
def test_two_processes_of_a_million_rows_give_the_numbers_of_one_pass(tmp_path):
    """The second process is forked, since to import PyTorch again takes most of the time of all tests here."""
    n = 1_000_000
    p, y = binary_rows(n)
    np.savez(tmp_path / "rows.npz", p=p, y=y)
    files = tmp_path / "store", tmp_path / "rows.npz"
    other = multiprocessing.get_context("fork").Process(target=other_process, args=(1, *files), daemon=True)
    other.start()
    try:
        first, counts, metric = of_process(0, *files)
        other.join(PATIENCE.seconds)
        assert other.exitcode == 0
    finally:
        if torch.distributed.is_initialized():
            torch.distributed.destroy_process_group()
        other.kill()
        other.join()
    assert size_of_state(metric) <= 3000
    ev = bc.evaluate_counts(bc.BinnedCounts.from_arrays(y, p, target="event"), draws=DRAWS, rng=0)
    assert_same_counts(counts, ev.counts)
    assert str(bc.evaluate_counts(counts, draws=DRAWS, rng=0)) == str(ev)
    np.testing.assert_allclose(list(first[0].values()), numbers(ev), atol=1e-12)
    assert first[1:] == (n, n // 2)  # the state of a process is its own again
    assert json.loads((tmp_path / "store.json").read_text()) == list(first)


def test_the_state_does_not_grow():
    metric = CalibrationPosterior("binary")
    sizes = set()
    for _ in range(10):
        metric.update(torch.rand(1000), torch.randint(2, (1000,)))
        sizes.add((size_of_state(metric), len(pickle.dumps(metric))))
    assert len(sizes) == 1
    assert size_of_state(metric) == 1488


# --- invalid rows

HALVES = torch.full((2,), 0.5)


@pytest.mark.parametrize(
    ("options", "preds", "target", "message"),
    [
        ({}, [0.2, 70.0, 90.0], [0, 1, 1], r"`preds` must lie in \[0, 1\]; 2 of 3 values do not, first at index 1: 70"),
        ({}, [0.2, -3.0, 1.0], [0, 1, 1], r"first at index 1: -3\. Logits\? Pass `logits=True`"),
        ({}, [0.2, float("nan")], [0, 1], "`preds` must be complete; 1 of 2 values is missing .*first at index 1"),
        ({}, [0.2, 0.4, 0.1], [0, 1, 2], r"`target` must be binary labels.*index 2: 2\. Pass whether the event"),
        ({}, [0.2, 0.4], [0, 2], r"index 1: 2\. Pass whether the event happened, as in `target == label`\.$"),
        ({}, [0.2, 0.4], [0, -100], "-100 mark rows to be left out. Pass it as `ignore_index`"),
        ({"ignore_index": 7}, [2.0, 0.4, 1.5], [7, 0, 1], "1 of 2 values does not, first at index 2: 1.5"),
        ({"logits": True}, [0.2, float("inf")], [0, 1], "`preds` must be finite.*first at index 1: inf"),
        ({"logits": True}, [0.2, -float("inf")], [0, 1], r"need `np.exp\(preds\)`"),
        (
            {},
            [[0.2, 0.8], [0.4, 0.5]],
            [0, 1],
            "must have rows that sum to 1; 1 of 2 values .* index 1",
        ),
        (
            {},
            [[0.2, 0.8], [0.4, 0.6]],
            [0, 2],
            "`target` must be class numbers 0..1, the columns of `preds`;",
        ),
        ({}, [[0.2, 0.8], [0.4, 0.6]], [0, 0.5], "`target` must be integer class numbers"),
        ({}, [[0.2, 0.8], [0.4, 0.6]], [1, 2], r"Labels 1..2\? Pass `target - 1`\.$"),
        (
            {},
            [[-0.2, 1.2], [0.4, 0.6]],
            [0, 1],
            r"`preds` must lie in .* 2 of 4 .* at index \(0, 0\): -0.2",
        ),
        ({"logits": True}, [[0.2, 0.8], [0.4, 0.6]], [0, 1], "`preds` must hold logits; its rows lie in"),
        ({"logits": True}, [[0.2, float("nan")], [4, 6]], [0, 1], "`preds` must be complete"),
        (
            {"logits": True},
            torch.tensor([[0.205, 0.805], [0.405, 0.605]], dtype=torch.float16),
            [0, 1],
            "`preds` must hold logits; its rows lie in",
        ),
    ],
)
def test_invalid_rows_are_refused_and_not_counted(options, preds, target, message):
    preds, target = torch.as_tensor(preds), torch.tensor(target)
    task = "binary" if preds.ndim == 1 else "multiclass"
    metric = CalibrationPosterior(task, **options)
    with pytest.raises(ValueError, match=message):
        metric.update(preds, target)
    assert metric.cells.sum() == 0
    late = CalibrationPosterior(task, validate_args=False, **options)
    late.update(preds, target)
    for refused in (late.compute, late.counts, late.evaluation):
        with pytest.raises(ValueError, match=r"`preds` and `target` must be valid|must hold logits"):
            refused()


def test_rows_that_are_not_checked_at_once_are_counted_in_the_error():
    metric = CalibrationPosterior("binary", validate_args=False)
    metric.update(torch.tensor([0.2, 1.2, float("nan"), 0.3]), torch.tensor([0, 1, 1, 5]))
    with pytest.raises(bc.InvalidRows, match="must be valid; 3 of 4 rows are not") as caught:
        metric.counts()
    assert (caught.value.finding.count, caught.value.finding.size) == (3, 4)


@pytest.mark.parametrize(
    ("options", "preds", "target", "message"),
    [
        ({"task": "binary"}, [0.5], torch.ones(1), "`preds` must be a tensor, not list"),
        ({"task": "binary"}, torch.ones(2, dtype=torch.bool), torch.ones(2), "`preds` must hold numbers, not dtype"),
        ({"task": "binary"}, HALVES, torch.ones(3), "first row without a partner is at index 2"),
        ({"task": "binary"}, torch.rand(4, 2), torch.ones(4), r"Pass `preds\[:, 1\]`"),
        ({"task": "multiclass"}, HALVES, torch.ones(2), r"must have shape \(N, K\) with K >= 2"),
        ({"task": "multiclass"}, torch.rand(2, 3, 5), torch.ones(2, 5), "Rows of one image or sequence depend"),
        ({"task": "multiclass", "num_classes": 3}, torch.rand(2, 4), torch.ones(2), "3 columns, `num_classes`"),
    ],
)
def test_wrong_shapes_are_refused(options, preds, target, message):
    with pytest.raises((ValueError, TypeError), match=message):
        CalibrationPosterior(**options).update(preds, target)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"task": "multilabel"}, "one binary metric per label"),
        ({"task": "event"}, "`task` must be one of"),
        ({"task": "binary", "num_classes": 2}, "`num_classes` belongs to the task 'multiclass'"),
        ({"task": "binary", "n_bins": 0}, "`n_bins` must be an integer >= 1"),
        ({"task": "binary", "model": "shrink"}, "Did you mean 'shrinkage'"),
        ({"task": "binary", "rng": None}, "`rng` must be an integer >= 0"),
        ({"task": "binary", "norm": "l1"}, "Unexpected keyword arguments: `norm`"),
    ],
)
def test_wrong_options_are_refused(options, message):
    with pytest.raises((ValueError, TypeError), match=message):
        CalibrationPosterior(**options)


def test_rows_to_be_ignored_are_left_out_whatever_they_hold():
    logits, y = class_rows(300)
    p = softmax(logits, axis=1)
    expected = bc.BinnedCounts.from_predictions(bc.Predictions.from_labels(y[100:], p[100:]))
    p[:50], p[50:100], y[:100] = np.nan, 7.0, -100
    for checked in (True, False):
        metric = updated("multiclass", p, y, 4, ignore_index=-100, validate_args=checked)
        assert_same_counts(metric.counts(), expected)


def test_rounding_is_clipped_and_empty_batches_add_nothing():
    p = torch.tensor([1 + 1e-7, -1e-7, 0.5], dtype=torch.float64)
    metric = updated("binary", p.numpy(), [1, 0, 1])
    expected = bc.BinnedCounts.from_arrays([1, 0, 1], p.clamp(0, 1), target="event")
    assert_same_counts(metric.counts(), expected)
    metric.update(torch.zeros(0), torch.zeros(0))
    assert_same_counts(metric.counts(), expected)
    metric = CalibrationPosterior("multiclass", num_classes=3, logits=True)
    metric.update(torch.zeros(0, 3), torch.zeros(0))
    assert all(value.isnan() for value in metric.compute().values())
    assert metric.evaluation().ece.mean() > 0  # the prior


def test_columns_of_one_are_columns():
    p, y = binary_rows(50)
    metric = updated("binary", p[:, None], y[:, None])
    assert metric.counts() == updated("binary", p, y).counts()


# --- what torchmetrics and Lightning do with a metric


def test_other_models_have_no_probability_of_calibration():
    p, y = binary_rows(300)
    values = updated("binary", p, y, model="dirichlet").compute()
    assert list(values) == NAMES[:-1]
    assert float(values["ece"]) == bc.evaluate(y, p, model="dirichlet", draws=DRAWS, rng=0).ece.mean()


def test_reset_clone_pickle_and_state_dict():
    p, y = binary_rows(300)
    metric = updated("binary", p, y)
    counts, values = metric.counts(), metric.compute()
    for other in (metric.clone(), copy.deepcopy(metric), pickle.loads(pickle.dumps(metric))):
        assert other.counts() == counts
        assert other.compute() == values
        other.update(torch.tensor(p), torch.tensor(y))
        assert other.counts() == counts + counts
    assert metric.state_dict() == {}
    metric.persistent(True)
    loaded = CalibrationPosterior("binary", draws=DRAWS)
    loaded.load_state_dict(metric.state_dict())
    assert loaded.counts() == counts
    metric.reset()
    assert metric.counts() == bc.BinnedCounts.empty(15, target="event")


def test_forward_evaluates_the_batch_and_adds_it():
    p, y = map(torch.tensor, binary_rows(300))
    metric = CalibrationPosterior("binary", draws=DRAWS)
    of_batches = [metric(p[rows], y[rows]) for rows in (slice(200), slice(200, None))]
    for rows, values in zip((slice(200), slice(200, None)), of_batches, strict=True):
        assert float(values["ece"]) == pytest.approx(bc.evaluate(y[rows], p[rows], draws=DRAWS, rng=0).ece.mean())
    assert_same_counts(metric.counts(), bc.BinnedCounts.from_arrays(y, p, target="event"))


#: Metrics that count by other rules than `CalibrationPosterior("binary")`; the first three have states of its shape.
OTHERS = [
    ("binary", {"n_bins": bc.make_bins(15, closed="right")}),
    ("multiclass", {}),
    ("binary", {"logits": True}),
    ("binary", {"n_bins": 10}),
]
OF_OTHERS = r"the same `task`, `n_bins`, `num_classes`, `logits` and `ignore_index`"


def test_states_are_merged():
    p, y = binary_rows(300)
    one, other = updated("binary", p[:100], y[:100]), updated("binary", p[100:], y[100:])
    of_first = one.compute()
    one.merge_state(other)
    expected = bc.BinnedCounts.from_arrays(y, p, target="event")
    assert_same_counts(one.counts(), expected)
    assert one.compute() != of_first  # `compute` stores its result
    one.merge_state(other.metric_state)
    assert one.counts().n_rows == 500


@pytest.mark.parametrize(("task", "options"), OTHERS)
def test_states_of_other_rules_are_not_added(task, options):
    p, y = binary_rows(300)
    metric, other = updated("binary", p, y), CalibrationPosterior(task, **options)
    counts, state = metric.counts(), other.metric_state
    for incoming in (other, state, {name: each for name, each in metric.metric_state.items() if name != "settings"}):
        with pytest.raises(ValueError, match=OF_OTHERS):
            metric.merge_state(incoming)
    other.persistent(True)
    with pytest.raises(RuntimeError, match=OF_OTHERS):
        metric.load_state_dict(other.state_dict())
    assert metric.counts() == counts


def test_a_loaded_state_replaces_the_stored_result():
    p, y = binary_rows(300)
    metric, other = updated("binary", p, y), updated("binary", p[:100], y[:100])
    metric.compute()
    other.persistent(True)
    metric.load_state_dict(other.state_dict())
    assert metric.compute() == other.compute()


@pytest.mark.parametrize(("task", "options"), OTHERS[:3])
def test_states_of_processes_with_other_rules_are_not_added(task, options):
    """Gathering is replaced by a function, which torchmetrics calls once per state, in their order."""
    p, y = binary_rows(300)
    for same, other in ((True, updated("binary", p, y)), (False, CalibrationPosterior(task, **options))):
        states = iter(other.metric_state.values())
        gather = {"dist_sync_fn": lambda state, group, states=states: [state, next(states)]}
        metric = updated("binary", p, y, distributed_available_fn=lambda: True, **gather)
        if same:
            assert metric.counts().n_rows == 600
            continue
        with pytest.raises(ValueError, match=OF_OTHERS):
            metric.counts()


def test_states_keep_their_types():
    """`Module.to` would convert sums to bfloat16, in which they are wrong from the fourth digit on."""
    p, y = map(torch.tensor, binary_rows(300))
    metric = updated("binary", p.numpy(), y.numpy())
    counts = metric.counts()
    module = torch.nn.ModuleDict({"metric": metric, "layer": torch.nn.Linear(2, 2)})
    for change in (module.half, module.double, lambda: module.to(torch.bfloat16), lambda: metric.set_dtype(torch.half)):
        change()
        assert metric.counts() == counts
    metric.reset()
    metric.update(p, y)
    assert metric.counts() == counts


def test_states_and_what_they_are_reset_to_move_with_the_module():
    """To the device without memory, since there is no other one here."""
    metric = torch.nn.ModuleDict({"metric": CalibrationPosterior("binary")}).to("meta")["metric"]
    states = [*metric.metric_state.values(), *metric._defaults.values()]
    assert {state.device.type for state in states} == {"meta"}
    assert [state.dtype for state in states] == 2 * [torch.int64, torch.float64, torch.int64, torch.int64]


def test_inference_mode_and_gradients():
    p, y = map(torch.tensor, binary_rows(300))
    metric = CalibrationPosterior("binary", draws=DRAWS)
    with torch.inference_mode():
        metric.reset()
        metric.update(p[:100], y[:100])
    metric.update(p[100:200].requires_grad_(), y[100:200])
    metric(p[200:].requires_grad_(), y[200:])
    assert not metric.sums.requires_grad
    assert_same_counts(metric.counts(), bc.BinnedCounts.from_arrays(y, p.detach(), target="event"))


def test_a_device_without_float64_is_counted_on_the_cpu(monkeypatch):
    """No such device is here: the CPU stands for it, so that at least the code runs."""
    monkeypatch.setattr(adapter, "NO_FLOAT64", {"cpu"})
    p, y = binary_rows(300)
    metric = updated("binary", p, y).to("cpu")
    assert metric.cells.device.type == "cpu"
    assert_same_counts(metric.counts(), bc.BinnedCounts.from_arrays(y, p, target="event"))


def test_a_collection_with_metrics_of_torchmetrics():
    logits, y = class_rows(500)
    p = torch.tensor(softmax(logits, axis=1))
    metrics = MetricCollection(
        {"calibration": CalibrationPosterior("multiclass", draws=DRAWS), "accuracy": MulticlassAccuracy(4)},
        prefix="val/",
    )
    for rows in torch.arange(500).split(100):
        metrics.update(p[rows], torch.tensor(y)[rows])
    values = metrics.compute()
    assert set(values) == {"val/accuracy", *(f"val/{name}" for name in NAMES)}
    assert float(values["val/ece"]) == pytest.approx(bc.evaluate(y, p, draws=DRAWS, rng=0).ece.mean(), abs=1e-12)
    metrics.reset()
    assert metrics["calibration"].counts().n_rows == 0
    assert metrics.clone(prefix="test/")["calibration"].bins == bc.make_bins(15)


def test_the_calls_of_lightning():
    """Those of Lightning 2.6 for `log_dict(metric.compute())`, with which the module below was run by hand as well.

    A metric is an attribute of the module, moved with it, updated in inference mode, computed and reset at the end of
    an epoch. `log_dict` takes scalars and converts them to float32.
    """
    p, y = map(torch.tensor, binary_rows(300))
    module = torch.nn.Module()
    module.calibration = CalibrationPosterior("binary", draws=DRAWS)
    module.eval().to("cpu")
    assert [type(each) for each in module.modules()][1:] == [CalibrationPosterior]
    for _ in range(2):
        with torch.inference_mode():
            for rows in torch.arange(300).split(100):
                module.calibration.update(p[rows], y[rows])
            values = module.calibration.compute()
            assert all(value.numel() == 1 and value.is_floating_point() for value in values.values())
            module.calibration.reset()
    assert float(values["ece"]) == pytest.approx(bc.evaluate(y, p, draws=DRAWS, rng=0).ece.mean(), abs=1e-12)


def test_plots():
    p, y = map(torch.tensor, binary_rows(300))
    metric = CalibrationPosterior("binary", draws=DRAWS)
    history = [metric(p[rows], y[rows]) for rows in torch.arange(300).split(100)]
    figure, axes = metric.plot()
    assert axes.get_xlabel() == bc.plot(metric.evaluation()).get_xlabel()
    assert axes.figure is figure
    with warnings.catch_warnings(action="ignore"):  # of matplotlib's style
        _, lines = metric.plot(history)
    assert [line.get_label() for line in lines.get_lines()] == NAMES
    empty = Figure().subplots()
    assert metric.plot(ax=empty)[1] is empty


# --- the page


class Module(torch.nn.Module):
    """The part of `lightning.LightningModule` that the page uses: `log_dict` takes scalars by name."""

    def log_dict(self, values):
        assert all(isinstance(name, str) and value.numel() == 1 for name, value in values.items())
        self.logged = {name: float(value) for name, value in values.items()}


def test_the_page_runs_and_prints_what_it_shows(monkeypatch):
    if not installed("lightning"):
        monkeypatch.setitem(sys.modules, "lightning", SimpleNamespace(LightningModule=Module))
    spec = importlib.util.spec_from_file_location("outputs", ROOT / "docs" / "make" / "outputs.py")
    outputs = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "outputs", outputs)
    spec.loader.exec_module(outputs)
    page = outputs.Page(ROOT / "docs" / "how-to" / "training_loops.md")
    assert page.run() == page.path.read_text(encoding="utf-8"), f"run `python docs/make/outputs.py {page.path}`"
    module = page.namespace["Classifier"]().eval()
    inputs, labels = torch.randn(300, 20), torch.randint(10, (300,))
    module.log_dict = Module.log_dict.__get__(module)
    with torch.inference_mode():
        for rows in torch.arange(300).split(100):
            module.validation_step((inputs[rows], labels[rows]), 0)
        module.on_validation_epoch_end()
        logits = module.layer(inputs)
    ev = bc.evaluate(labels, logits.double().softmax(1), rng=0)
    assert module.logged["ece"] == pytest.approx(ev.ece.mean(), abs=1e-6)
    assert module.calibration.counts().n_rows == 0


def test_a_collection_shares_states_only_between_metrics_that_count_the_same_rows():
    """The first batch has no row that the second metric ignores, so that their sums are equal after it."""
    from torchmetrics import MetricCollection

    names = {"all": {}, "some": {"ignore_index": 1}, "dirichlet": {"model": "dirichlet"}}
    metrics = MetricCollection({name: CalibrationPosterior("binary", **options) for name, options in names.items()})
    metrics.update(torch.tensor([0.2, 0.3]), torch.tensor([0, 0]))
    metrics.update(torch.tensor([0.6, 0.7]), torch.tensor([1, 1]))
    assert sorted(map(sorted, metrics.compute_groups.values())) == [["all", "dirichlet"], ["some"]]
    assert {name: metric.counts().n_rows for name, metric in metrics.items()} == {"all": 4, "some": 2, "dirichlet": 4}
