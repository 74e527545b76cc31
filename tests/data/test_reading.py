"""Rows of a matrix that sum to 1 up to rounding, and numbers that are logarithms of probabilities."""

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bayescal as bc
from bayescal import ClasswiseCounts, InvalidRows, evaluate
from bayescal.data import reading
from bayescal.data.files import source as sources
from bayescal.data.predictions import Predictions
from bayescal.data.reading import Reading, RowSums, unit_rows

pytestmark = pytest.mark.filterwarnings("error")


def softmax_rows(rng: np.random.Generator, n: int, classes: int, scale: float = 1.5) -> np.ndarray:
    values = np.exp(scale * rng.normal(size=(n, classes)))
    return values / values.sum(axis=1, keepdims=True)


def labels_of(rng: np.random.Generator, matrix: np.ndarray) -> np.ndarray:
    return (rng.random(len(matrix))[:, None] > matrix.cumsum(axis=1)[:, :-1]).sum(axis=1)


def rounding_allowed(matrix: np.ndarray, decimals: int) -> bool:
    """The rule, from integers: the sum of the entries in units of the last decimal, against K/2 units and 0.02."""
    units = np.rint(matrix * 10**decimals).astype(int).sum(axis=1) - 10**decimals
    most = int(np.abs(units).max())
    return 2 * most <= matrix.shape[1] and most * 50 <= 10**decimals


@settings(max_examples=150, deadline=None)
@given(
    st.integers(0, 10**6), st.integers(2, 20), st.integers(1, 6), st.sampled_from([np.float64, np.float32]),
    st.integers(8, 60),
)  # fmt: skip
def test_softmax_rounded_to_decimals_is_divided_by_its_sums_or_refused(
    seed: int, classes: int, decimals: int, dtype: type, n: int
) -> None:
    rng = np.random.default_rng(seed)
    exact = softmax_rows(rng, n, classes)
    y, rounded = labels_of(rng, exact), np.round(exact, decimals)
    matrix = rounded.astype(dtype)
    fewest = next(d for d in range(1, 7) if (np.abs(rounded - np.round(rounded, d)) < 1e-9).all())
    deviation = np.abs(rounded.sum(axis=1) - 1).max()
    before = matrix.copy()
    if deviation > 0.001001 and not rounding_allowed(rounded, fewest):
        with pytest.raises(InvalidRows, match=r"must have rows that sum to 1.*largest deviation.*keepdims=True"):
            Predictions.from_labels(y, matrix)
        return
    read = Predictions.from_labels(y, matrix)
    every = Predictions.classwise(y, matrix)
    assert np.array_equal(matrix, before)
    if deviation > 0.001001:
        wanted = rounded / rounded.sum(axis=1, keepdims=True)
        assert read.reading.divided == int((np.abs(rounded.sum(axis=1) - 1) > 0.4 * 10.0**-fewest).sum())
        assert read.reading.deviation == pytest.approx(deviation, abs=1e-5)
    else:
        wanted = rounded
    tolerance = 1e-6 if dtype is np.float32 else 1e-12
    if not 0.000999 < deviation <= 0.001001:  # at the tolerance of today, either is right
        np.testing.assert_allclose(read.confidence, wanted.max(axis=1), rtol=0, atol=tolerance)
        np.testing.assert_allclose(np.stack([p.confidence for p in every], 1), wanted, rtol=0, atol=tolerance)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 20), st.floats(0.03, 0.7), st.booleans(), st.sampled_from([3, 6, 16]))
def test_rows_that_are_not_normalised_are_refused(
    seed: int, classes: int, off: float, above: bool, decimals: int
) -> None:
    rng = np.random.default_rng(seed)
    matrix = softmax_rows(rng, 30, classes, scale=0.1)
    matrix[7] *= 1 + off if above and matrix[7].max() * (1 + off) <= 1 else 1 - off
    with pytest.raises(InvalidRows, match="must have rows that sum to 1; 1 of 30 values does not, first at index 7"):
        Predictions.from_labels(np.zeros(30, int), np.round(matrix, decimals + 2))


@pytest.mark.parametrize("factor", [0.5, 1.4])
@pytest.mark.parametrize("decimals", [1, 2, 3, 16])
def test_sums_far_from_1_are_refused(factor: float, decimals: int) -> None:
    matrix = np.round(factor * softmax_rows(np.random.default_rng(3), 40, 4, 0.2), decimals)
    for target in ("top-label", "classwise"):
        with pytest.raises(InvalidRows, match="keepdims=True"):
            evaluate(np.zeros(40, int), matrix, target=target)


def test_the_largest_deviation_is_the_rule_of_the_issue() -> None:
    # K/2 10^-d: five classes, two decimals -> 0.02 (the cap), three decimals -> 0.0025
    for off, accepted in ((0.02, True), (0.03, False), (0.002, True), (0.003, False)):
        matrix = np.array([[0.25 + off, 0.25, 0.2, 0.2, 0.1]])
        if accepted:
            assert reading.unit_rows("y_prob", matrix)[1].divided == 1
        else:
            with pytest.raises(InvalidRows):
                reading.unit_rows("y_prob", matrix)


def test_the_result_says_how_many_rows_were_divided_and_equals_that_of_the_divided_matrix() -> None:
    rng = np.random.default_rng(0)
    exact = softmax_rows(rng, 200, 5)
    y, matrix = labels_of(rng, exact), np.round(exact, 3)
    sums = matrix.sum(axis=1, keepdims=True)
    off = int((np.abs(sums - 1) > 5e-4).sum())
    said = f"{off} of 200 rows sum to 1 only up to rounding (largest deviation {np.abs(sums - 1).max():.2g})"
    for target in ("top-label", "classwise"):
        divided = np.where(np.abs(sums - 1) > 5e-4, matrix / sums, matrix)
        own, clean = (evaluate(y, each, target=target, rng=1, draws=200) for each in (matrix, divided))
        assert said in str(own)
        assert said not in str(clean)
        assert own.ece.mean() == clean.ece.mean()
    groups = evaluate(y, matrix, by=y > 1, rng=1, draws=50)
    assert [text.startswith("all rows: " + said) for text in groups.remarks].count(True) == 1
    compared = bc.compare(y, {"rounded": matrix, "clean": matrix / sums}, rng=1, draws=50)
    assert any(text.startswith("rounded: " + said) for text in compared.remarks)


def csv_of(path, y: np.ndarray, matrix: np.ndarray) -> str:
    names = ",".join(f"p{k}" for k in range(matrix.shape[1]))
    rows = (f"{label}," + ",".join(map(repr, row)) for label, row in zip(y.tolist(), matrix.tolist(), strict=True))
    path.write_text("\n".join([f"y,{names}", *rows]) + "\n")
    return str(path)


def test_a_file_in_blocks_is_read_as_its_rows_at_once(tmp_path, monkeypatch) -> None:
    rng = np.random.default_rng(5)
    n = sources.ROWS + 300
    exact = softmax_rows(rng, n, 4)
    y, matrix = labels_of(rng, exact), np.round(exact, 2)
    # all decimals of the first block are one: alone, its rows of sum 1.02 would be accepted by K/2 10^-1
    matrix[: sources.ROWS] = [0.3, 0.3, 0.2, 0.2]
    path = csv_of(tmp_path / "rounded.csv", y, matrix)
    monkeypatch.setattr(sources, "BLOCK", 1)
    counts = bc.count_file(path, label="y", prob_prefix="p")
    clean = matrix / matrix.sum(axis=1, keepdims=True)
    right = clean.argmax(axis=1) == y
    wanted = bc.BinnedCounts.from_arrays(right, clean.max(axis=1), target="top-label")
    assert np.array_equal(counts.cells, wanted.cells)
    np.testing.assert_allclose(counts.deviation, wanted.deviation, rtol=0, atol=1e-9)
    assert counts.reading.divided == int((np.abs(matrix.sum(axis=1) - 1) > 0.005).sum())
    classes = bc.count_file(path, label="y", prob_prefix="p", target="classwise")
    assert classes == ClasswiseCounts.from_arrays(y, clean) or np.allclose(
        classes[2].deviation, ClasswiseCounts.from_arrays(y, clean)[2].deviation, atol=1e-9
    )


def test_the_decimals_of_all_blocks_decide(tmp_path, monkeypatch) -> None:
    n = sources.ROWS + 300
    matrix = np.tile([0.25, 0.25, 0.25, 0.25], (n, 1))
    matrix[100] = [0.26, 0.25, 0.25, 0.25]  # 0.01 off: accepted with two decimals
    y = np.zeros(n, int)
    monkeypatch.setattr(sources, "BLOCK", 1)
    counts = bc.count_file(csv_of(tmp_path / "two.csv", y, matrix), label="y", prob_prefix="p")
    assert counts.reading.divided == 1
    matrix[n - 1] = [0.2501, 0.2499, 0.25, 0.25]  # four decimals in the last block
    with pytest.raises(InvalidRows, match=rf"1 of {n} values does not, first in line 102: 1.01. The largest dev.*0.01"):
        bc.count_file(csv_of(tmp_path / "four.csv", y, matrix), label="y", prob_prefix="p")


@pytest.mark.slow
@pytest.mark.parametrize("library", ["pandas", "polars", "duckdb"])
def test_the_engine_of_a_data_frame_divides_the_same_rows(library: str) -> None:
    pd = pytest.importorskip("pandas")
    other = pytest.importorskip(library)
    rng = np.random.default_rng(2)
    exact = softmax_rows(rng, 300, 3)
    y, matrix = labels_of(rng, exact), np.round(exact, 2)

    def counted(values: np.ndarray) -> ClasswiseCounts:
        table = pd.DataFrame(values, columns=["a", "b", "c"]).assign(label=y)
        frame = {
            "pandas": lambda: table, "polars": lambda: other.from_pandas(table),
            "duckdb": lambda: other.from_df(table),
        }[library]()  # fmt: skip
        return ClasswiseCounts.from_frame(frame, probabilities={0: "a", 1: "b", 2: "c"})

    wanted = ClasswiseCounts.from_arrays(y, matrix)
    own = counted(matrix)
    assert own[0].reading.divided == wanted[0].reading.divided > 0
    assert own[0].reading.deviation == pytest.approx(0.01)
    np.testing.assert_allclose(own.joint, wanted.joint, rtol=0, atol=1e-9)
    np.testing.assert_allclose(own[1].deviation, wanted[1].deviation, rtol=0, atol=1e-9)
    with pytest.raises(InvalidRows, match=r"sum to 1; 300 of 300 rows do not, 0\.6\. .*largest deviation is 0\.4"):
        counted(0.6 * exact)
    with pytest.raises(InvalidRows, match=r"must lie in \[0, 1\]"):
        counted(np.where(np.arange(300)[:, None] == 5, [1.01, 0.0, 0.0], matrix))


def test_probabilities_with_logits_are_refused_and_log_softmax_is_not() -> None:
    rng = np.random.default_rng(1)
    exact = softmax_rows(rng, 200, 3)
    y = labels_of(rng, exact)
    for matrix in (exact, np.round(exact, 2), exact.astype(np.float32)):
        with pytest.raises(ValueError, match=r"rows lie in \[0, 1\] and sum to 1.*Drop `logits=True`"):
            evaluate(y, matrix, logits=True)
    ev = evaluate(y, np.log(exact), logits=True, rng=1, draws=50)
    assert not any("log-probabilities" in text or "rounding" in text for text in ev.remarks)
    np.testing.assert_allclose(Predictions.from_labels(y, np.log(exact), logits=True).confidence, exact.max(axis=1))


def ece(y: np.ndarray, p: np.ndarray, **options) -> float:
    return evaluate(y, p, model="dirichlet", rng=1, draws=2, **options).plug_in


def test_one_column_of_values_below_0_names_both_readings_and_each_is_right_for_its_kind() -> None:
    rng = np.random.default_rng(0)
    n = 20_000
    odds = np.minimum(rng.normal(-1.5, 0.5, n), -1e-3)
    rare = rng.random(n) < 1 / (1 + np.exp(-odds))
    probability = rng.uniform(0.05, 0.95, n)
    frequent = rng.random(n) < probability
    for y, values in ((rare, odds), (frequent, np.log(probability))):
        with pytest.raises(InvalidRows) as problem:
            evaluate(y, values)
        assert "`np.exp(y_prob)`" in str(problem.value)
        assert "`logits=True`" in str(problem.value)
    # calibrated data of both kinds: the right reading leaves sampling noise, the wrong one an error
    assert ece(rare, odds, logits=True) < 0.012
    assert ece(rare, np.exp(odds)) > 0.04
    assert ece(frequent, np.exp(np.log(probability))) < 0.012
    assert ece(frequent, np.log(probability), logits=True) > 0.15
    remark = "All logits are <= 0: no probability exceeds 0.5; log-probabilities need exp instead."
    assert remark in str(evaluate(rare[:20], odds[:20], logits=True, rng=1, draws=50))
    assert remark not in evaluate(rare[:19], odds[:19], logits=True, rng=1, draws=50).remarks
    assert remark not in evaluate(rare[:30], np.append(odds[:29], 0.1), logits=True, rng=1, draws=50).remarks


def test_minus_infinity_is_named() -> None:
    values = np.array([-0.1, -np.inf, -2.0])
    with pytest.raises(InvalidRows, match=r"-inf is the logarithm of 0.*`np\.exp\(y_prob\)`.*`logits=True`"):
        evaluate([1, 0, 1], values)
    with pytest.raises(InvalidRows, match=r"first at index 1: -inf\. -inf is the logarithm of 0.*np\.exp.*-1000"):
        evaluate([1, 0, 1], values, logits=True)
    assert Predictions.from_labels([1, 0, 1], np.exp(values)).confidence[1] == 0
    with pytest.raises(InvalidRows, match="must be complete"):
        evaluate([1, 0, 1], [-0.1, -np.inf, np.nan])
    with pytest.raises(InvalidRows, match=r"Logits\? Pass `logits=True`\.$"):
        evaluate([1, 0, 1], [-0.1, 0.3, -2.0])


def test_a_file_names_log_probabilities_only_if_no_block_has_other_values(tmp_path, monkeypatch) -> None:
    n = sources.ROWS + 10
    values = np.full(n, -0.5)
    path = tmp_path / "logs.csv"

    def write() -> None:
        path.write_text("y,s\n" + "\n".join(f"{i % 2},{v!r}" for i, v in enumerate(values.tolist())) + "\n")

    monkeypatch.setattr(sources, "BLOCK", 1)
    write()
    with pytest.raises(InvalidRows, match=rf"{n} of {n} .*`logprob=True`.*`logits=True`"):
        bc.count_file(path, label="y", prob="s")
    counts = bc.count_file(path, label="y", prob="s", logprob=True)
    assert counts.mean_confidence[counts.occupied] == pytest.approx(np.exp(-0.5))
    assert bc.count_file(path, label="y", prob="s", logits=True).reading.not_above_half == n
    with pytest.raises(ValueError, match="exclude each other"):
        bc.count_file(path, label="y", prob="s", logits=True, logprob=True)
    values[-1] = 0.5
    write()
    with pytest.raises(InvalidRows, match=r"Logits\? Pass `logits=True`\.$"):
        bc.count_file(path, label="y", prob="s")
    with pytest.raises(InvalidRows, match=rf"at most 0; 1 of {n} values does not, first in line {n + 1}: 0\.5"):
        bc.count_file(path, label="y", prob="s", logprob=True)


@pytest.mark.parametrize("engine", ["arrays", "pandas", "polars", "duckdb", "file"])
def test_rows_that_sum_to_one_stay_in_their_bins(engine, tmp_path) -> None:
    """Dividing them by 1 + 2e-16 would move 0.3 below an edge; each way of counting gives the bins of these rows."""
    rng = np.random.default_rng(5)
    exact = rng.dirichlet(np.ones(5), 2000)
    y, matrix = (exact.cumsum(axis=1) < rng.random((2000, 1))).sum(axis=1), exact.round(2)
    whole = np.abs(matrix.sum(axis=1) - 1) < 1e-9
    own = matrix / np.where(whole, 1.0, matrix.sum(axis=1))[:, None]
    assert 100 < whole.sum() < 1900
    columns = [f"p{k}" for k in range(5)]
    table = pa.table({"y": y, **{name: matrix[:, k] for k, name in enumerate(columns)}})
    options = {"label": "y", "probabilities": dict(enumerate(columns)), "bins": 10}
    if engine == "arrays":
        counts = bc.ClasswiseCounts.from_arrays(y, matrix, bins=10)
    elif engine == "file":
        pq.write_table(table, tmp_path / "rows.parquet")
        counts = bc.count_file(tmp_path / "rows.parquet", label="y", prob_prefix="p", target="classwise", bins=10)
    else:
        frames = {
            "pandas": table.to_pandas,
            "polars": lambda: pl.from_arrow(table),
            "duckdb": lambda: duckdb.from_arrow(table),
        }
        counts = bc.ClasswiseCounts.from_frame(frames[engine](), **options)
    for k in range(5):
        index = np.minimum(np.searchsorted(np.arange(11) / 10, own[:, k], side="right") - 1, 9)
        cells = np.stack([np.bincount(index[(y == k) == z], minlength=10) for z in (False, True)])
        np.testing.assert_array_equal(counts[k].cells, cells)


def test_readings_of_two_batches_add_rows_and_take_the_larger_deviation():
    assert Reading(divided=3, deviation=0.001) + Reading(divided=1, deviation=0.002) == Reading(4, 0.002)


def test_three_decimals_explain_a_sum_of_0_999():
    sums = RowSums.of(np.array([[0.333, 0.333, 0.333], [0.2, 0.3, 0.5]]))
    assert (sums.decimals, sums.off, sums.accepted) == (3, 1, True)
    assert sums.deviation == pytest.approx(0.001, rel=1e-9)


def test_rows_of_two_decimals_are_divided_by_their_sum():
    matrix, reading = unit_rows("y_prob", np.array([[0.33, 0.33, 0.33], [0.2, 0.3, 0.5]]))
    assert reading.divided == 1
    assert reading.deviation == pytest.approx(0.01, rel=1e-9)
    np.testing.assert_allclose(matrix, [[1 / 3] * 3, [0.2, 0.3, 0.5]], rtol=1e-12)
