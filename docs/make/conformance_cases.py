"""The cases: few rows each, chosen so that conventions give different numbers."""
# ruff: noqa: E501 -- one case per line

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

Case = dict[str, Any]
Matrix = Sequence[Sequence[float]]


def case(
    name: str,
    about: str,
    *,
    confidence: Sequence[float] = (),
    outcome: Sequence[int] = (),
    probability: Matrix = (),
    label: Sequence[int] = (),
    bins: int = 10,
    binning: str = "equal-width",
    edges: Sequence[float] | None = None,
    weight: Sequence[float] | None = None,
    dtype: str = "float64",
) -> Case:
    """Make one case; floats are stored as the numbers that they are in the type of the confidences."""
    if edges is not None:
        binning, bins = "custom", len(edges) - 1
    rows = {"probability": _in_type(probability, dtype), "label": list(label)}
    if not len(probability):
        rows = {"confidence": _in_type(confidence, dtype), "outcome": list(outcome)}
    bins_asked = {"binning": binning, "bins": bins, "edges": edges if edges is None else list(edges)}
    return {"id": name, "about": about, "dtype": dtype, **bins_asked, **rows, "weight": weight}


def _in_type(values: Any, dtype: str) -> Any:
    return np.asarray(values, dtype=dtype).astype(np.float64).tolist()


def up(value: float, dtype: str = "float64") -> float:
    return float(np.nextafter(np.dtype(dtype).type(value), np.dtype(dtype).type(2)))


def down(value: float, dtype: str = "float64") -> float:
    return float(np.nextafter(np.dtype(dtype).type(value), np.dtype(dtype).type(-1)))


def at_edge(name: str, about: str, value: float, k: int, bins: int, dtype: str = "float64") -> Case:
    """A row at the edge k/M, with outcome 1; the bin below has another row with outcome 1, the bin above one with 0."""
    columns = {"confidence": [(k - 0.625) / bins, value, (k + 0.375) / bins], "outcome": [1, 1, 0]}
    return case(name, about, **columns, bins=bins, dtype=dtype)


def edge_cases() -> Iterator[Case]:
    for k, bins in [(1, 2), (3, 4), (1, 3), (2, 3), (3, 10), (6, 10), (7, 10), (7, 15), (11, 15), (29, 100), (57, 100)]:
        edge = k / bins
        yield at_edge(f"edge-{k}-of-{bins}", f"a row at float64({k}/{bins}) = {edge!r}", edge, k, bins)
    for k, bins in [(1, 2), (3, 10), (7, 10), (29, 100)]:
        for side, value in (("below", down(k / bins)), ("above", up(k / bins))):
            about = f"a row at {value!r}, the float64 just {side} float64({k}/{bins})"
            yield at_edge(f"{side}-{k}-of-{bins}", about, value, k, bins)
    yield at_edge("edge-290-of-1000", "1000 bins: a row at 0.29", 0.29, 290, 1000)
    yield at_edge("edge-573-of-1000", "1000 bins: a row at 0.573", 0.573, 573, 1000)
    yield at_edge("edge-5807-of-10000", "10 000 bins: a row at 0.5807", 0.5807, 5807, 10_000)
    edges = [k / 10 for k in range(11)]
    outcome = [0, 1, 1, 0, 1, 0, 1, 1, 0, 1, 0]
    yield case("all-tenths", "a row at each of 0, 0.1, ..., 1; ten bins", confidence=edges, outcome=outcome)
    yield case("tenths-twenty-bins", "the same rows; twenty bins", confidence=edges, outcome=outcome, bins=20)


def end_cases() -> Iterator[Case]:
    tiny = up(0.0)
    few: list[tuple[str, str, list[float], list[int], int]] = [
        ("one-above-row", "confidence 1 shares the last bin with 0.95, and the gaps cancel in part", [0.95, 1.0], [1, 0], 10),
        ("zero-with-row", "confidence 0 shares the first bin with 0.05", [0.0, 0.05, 0.55], [1, 0, 1], 10),
        ("zero-and-one", "confidences 0 and 1, and rows beside them", [0.0, 0.04, 0.96, 1.0], [1, 0, 1, 0], 10),
        ("only-zero", "all confidences are 0", [0.0, 0.0, 0.0], [0, 1, 0], 5),
        ("only-one", "all confidences are 1", [1.0, 1.0, 1.0, 1.0], [1, 0, 1, 1], 5),
        ("zero-one-bin", "confidence 0 in a single bin", [0.0, 0.25, 0.5], [1, 0, 1], 1),
        ("one-one-bin", "confidence 1 in a single bin", [0.5, 0.75, 1.0], [1, 1, 0], 1),
        ("smallest-float", "the smallest positive float64", [tiny, 0.05, 0.55], [1, 0, 1], 10),
        ("next-to-one", "the largest float64 below 1", [0.95, down(1.0)], [1, 0], 10),
        ("zeros-and-rows", "several rows of confidence 0, all wrong", [0.0, 0.0, 0.02, 0.3125], [1, 1, 0, 0], 5),
        ("right-at-ends", "confidences 0 and 1, all right", [0.0, 1.0, 1.0, 0.0], [0, 1, 1, 0], 10),
        ("wrong-at-ends", "confidences 0 and 1, all wrong", [0.0, 1.0, 1.0], [1, 0, 0], 10),
    ]  # fmt: skip
    for name, about, confidence, outcome, bins in few:
        yield case(name, about, confidence=confidence, outcome=outcome, bins=bins)


def _many(n: int) -> tuple[list[float], list[int]]:
    """Rows without confidences on an edge, and outcomes that follow them roughly."""
    confidence = [((37 * i) % (n + 1) + 0.5) / (n + 2) for i in range(n)]
    return confidence, [int((i * i + 3 * i) % 11 < 11 * c) for i, c in enumerate(confidence)]


def plain_cases() -> Iterator[Case]:
    confidence, outcome = _many(40)
    for bins in (1, 7, 10, 15):
        yield case(
            f"forty-rows-{bins}",
            f"40 rows, none at an edge; {bins} bins",
            confidence=confidence,
            outcome=outcome,
            bins=bins,
        )
    few: list[tuple[str, str, list[float], list[int], int]] = [
        ("one-row", "a single row", [0.8125], [0], 10),
        ("more-bins-than-rows", "5 rows and 50 bins: most bins are empty", [0.111, 0.333, 0.555, 0.777, 0.999], [0, 1, 1, 1, 0], 50),
        ("empty-bins", "occupied bins at both ends only", [0.01, 0.07, 0.93, 0.97, 0.99], [0, 1, 1, 1, 0], 10),
        ("ties", "ties inside bins", [0.375, 0.375, 0.375, 0.8125, 0.8125, 0.8125, 0.8125], [0, 1, 1, 1, 1, 0, 1], 5),
        ("all-outcomes-0", "all outcomes 0", [0.15, 0.35, 0.65, 0.85], [0, 0, 0, 0], 5),
        ("all-outcomes-1", "all outcomes 1", [0.15, 0.35, 0.65, 0.85], [1, 1, 1, 1], 5),
        ("calibrated", "no gap in any bin; the debiased squared l_2 error is negative", [0.25, 0.25, 0.25, 0.25, 0.75, 0.75, 0.75, 0.75], [0, 1, 0, 0, 1, 1, 0, 1], 2),
        ("signs-in-a-bin", "gaps of opposite sign inside a bin cancel", [0.625, 0.75, 0.6875, 0.125, 0.25], [1, 0, 1, 0, 1], 2),
        ("singles-and-pairs", "bins with one row and bins with several", [0.1, 0.35, 0.35, 0.35, 0.9], [1, 0, 1, 1, 1], 5),
    ]  # fmt: skip
    for name, about, confidence, outcome, bins in few:
        yield case(name, about, confidence=confidence, outcome=outcome, bins=bins)


def float32_cases() -> Iterator[Case]:
    single = "float32"
    for k, bins in [(1, 10), (3, 10), (6, 10), (7, 10), (1, 3), (7, 15), (29, 100)]:
        value = float(np.float32(k / bins))
        side = "above" if value > k / bins else "below"
        about = f"a row at float32({k}/{bins}) = {value!r}, {side} float64({k}/{bins})"
        yield at_edge(f"float32-edge-{k}-of-{bins}", about, value, k, bins, single)
    for side, step in (("below", down), ("above", up)):
        value = step(0.3, single)
        yield at_edge(f"float32-{side}-3-of-10", f"the float32 just {side} float32(0.3)", value, 3, 10, single)
    yield case("float32-one", "confidence 1 in float32", confidence=[0.95, 1.0], outcome=[1, 0], dtype=single)
    yield case("float32-zero", "confidence 0 in float32", confidence=[0.0, 0.05, 0.55], outcome=[1, 0, 1], dtype=single)


def weight_cases() -> Iterator[Case]:
    some = {"confidence": [0.125, 0.15625, 0.4375, 0.8125, 0.84375], "outcome": [0, 1, 1, 1, 0], "bins": 5}
    yield case("weights-integers", "integer weights", **some, weight=[1, 2, 3, 4, 5])
    yield case("weights-equal", "equal weights of 2: as without weights", **some, weight=[2, 2, 2, 2, 2])
    yield case("weights-fractions", "weights below 1", **some, weight=[0.5, 0.25, 0.125, 0.75, 0.0625])
    yield case("weights-unequal", "one row has most of the weight", **some, weight=[1, 1, 1, 1000, 1])
    edge = {"confidence": [0.2625, 0.3, 0.3625], "outcome": [1, 1, 0]}
    yield case("weights-edge", "weights, and a row at 0.3", **edge, weight=[1, 3, 2])
    mass = {"confidence": [0.1, 0.2, 0.2, 0.6, 0.7, 0.9], "outcome": [0, 1, 0, 1, 0, 1]}
    yield case("weights-equal-mass", "weights with equal-mass bins, whose edges ignore them", **mass, weight=[1, 2, 1, 4, 1, 2], bins=3, binning="equal-mass")  # fmt: skip


def equal_mass_cases() -> Iterator[Case]:
    confidence, outcome = _many(40)
    close = 0.5
    few: list[tuple[str, str, list[float], list[int], int]] = [
        ("divisible", "6 rows, 3 bins, no ties", [0.1, 0.22, 0.35, 0.5, 0.64, 0.9], [1, 0, 0, 1, 1, 1], 3),
        ("remainder", "7 rows, 3 bins, no ties", [0.1, 0.22, 0.35, 0.5, 0.64, 0.8, 0.9], [1, 0, 0, 1, 1, 0, 1], 3),
        ("unsorted", "the rows are not sorted", [0.9, 0.1, 0.64, 0.35, 0.5, 0.22, 0.8], [1, 1, 1, 0, 1, 0, 0], 3),
        ("ties-at-cut", "a run of ties across a cut, outcomes 1 first", [0.1, 0.2, 0.4, 0.4, 0.4, 0.9], [0, 1, 1, 0, 0, 1], 2),
        ("ties-at-cut-reordered", "the same rows, outcomes 0 first", [0.1, 0.2, 0.4, 0.4, 0.4, 0.9], [0, 1, 0, 0, 1, 1], 2),
        ("all-tied", "all confidences equal", [0.7, 0.7, 0.7, 0.7], [1, 0, 0, 1], 2),
        ("two-values", "two values, four bins", [0.2, 0.2, 0.2, 0.2, 0.2, 0.8, 0.8, 0.8], [0, 0, 1, 0, 0, 1, 0, 1], 4),
        ("ties-at-maximum", "ties at the largest confidence reach below an inner edge", [0.1, 0.2, 0.3, 0.9, 0.9, 0.9, 0.9], [0, 1, 1, 1, 0, 0, 1], 3),
        ("ties-at-minimum", "ties at the smallest confidence reach above an inner edge", [0.1, 0.1, 0.1, 0.1, 0.4, 0.6, 0.8], [0, 1, 1, 0, 0, 1, 1], 3),
        ("more-bins-than-rows", "3 rows, 5 bins", [0.2, 0.5, 0.9], [1, 0, 1], 5),
        ("ends", "confidences 0 and 1", [0.0, 0.0, 0.3, 0.6, 1.0, 1.0], [1, 0, 0, 1, 1, 0], 3),
        ("one-bin", "one bin", [0.1, 0.4, 0.6, 0.8], [0, 1, 1, 0], 1),
        ("neighbours", "two neighbouring floats beside a cut", [0.2, close, up(close), 0.8], [1, 1, 0, 0], 2),
        ("quantiles-at-rows", "every quantile is a confidence: 11 rows, 5 bins", [0.02, 0.11, 0.23, 0.31, 0.42, 0.55, 0.61, 0.72, 0.83, 0.88, 0.97], [1, 0, 0, 1, 0, 1, 0, 1, 1, 0, 1], 5),
        ("forty-rows", "40 rows, 7 bins", confidence, outcome, 7),
    ]  # fmt: skip
    for name, about, values, outcomes, bins in few:
        yield case(f"mass-{name}", about, confidence=values, outcome=outcomes, bins=bins, binning="equal-mass")


def custom_cases() -> Iterator[Case]:
    some = {"confidence": [0.05, 0.1, 0.3, 0.35, 0.6, 0.95], "outcome": [0, 1, 1, 0, 1, 1]}
    yield case("custom-uneven", "uneven edges, two rows at edges", **some, edges=[0.0, 0.1, 0.3, 1.0])
    yield case(
        "custom-two",
        "two bins with an edge at 0.5",
        confidence=[0.5, 0.25, 0.75],
        outcome=[1, 1, 0],
        edges=[0.0, 0.5, 1.0],
    )
    ends = {"confidence": [0.0, 0.0625, 0.9375, 1.0], "outcome": [1, 0, 1, 0]}
    yield case("custom-ends", "rows at 0 and 1, narrow outer bins", **ends, edges=[0.0, 0.125, 0.875, 1.0])
    yield case(
        "custom-float32",
        "float32 confidences at the edge 0.7",
        confidence=[0.65, 0.7, 0.8],
        outcome=[1, 1, 0],
        edges=[0.0, 0.7, 1.0],
        dtype="float32",
    )
    yield case("custom-narrow", "neighbouring floats as edges", confidence=[0.45, 0.5, up(0.5), 0.55], outcome=[1, 1, 0, 0], edges=[0.0, 0.5, up(0.5), 1.0])  # fmt: skip


THIRD = 1 / 3


def matrix_at_edge(name: str, about: str, value: float, k: int, bins: int, dtype: str = "float64") -> Case:
    """As `at_edge`, for the probability of class 0 of three classes; another row has the third class."""
    first = [(k - 0.625) / bins, value, (k + 0.375) / bins]
    rows = [*([p, 0.625 * (1 - p), 0.375 * (1 - p)] for p in first), [0.03125, 0.0625, 0.90625]]
    return case(name, about, probability=rows, label=[0, 0, 1, 2], bins=bins, dtype=dtype)


def matrix_cases() -> Iterator[Case]:
    two = [[0.75, 0.25], [0.40625, 0.59375], [0.125, 0.875], [0.625, 0.375], [0.28125, 0.71875]]
    three = [
        [0.7, 0.2, 0.1],
        [0.15, 0.6, 0.25],
        [0.05, 0.1, 0.85],
        [0.45, 0.35, 0.2],
        [0.31, 0.3, 0.39],
        [0.25, 0.55, 0.2],
    ]
    tied = [[0.375, 0.375, 0.25], [0.25, 0.375, 0.375], [0.4375, 0.125, 0.4375], [0.5, 0.25, 0.25]]
    few: list[tuple[str, str, Matrix, list[int], int]] = [
        ("two-classes", "K = 2: probability of class 1 against top label", two, [0, 0, 1, 1, 1], 5),
        ("two-classes-tied", "K = 2: probabilities 1/2, 1/2", [[0.5, 0.5], [0.5, 0.5], [0.25, 0.75]], [0, 1, 1], 4),
        ("two-classes-ends", "K = 2: probabilities 0 and 1", [[0.0, 1.0], [1.0, 0.0], [0.05, 0.95], [0.95, 0.05]], [0, 0, 1, 1], 10),
        ("two-classes-one-label", "K = 2: no row has class 0", two, [1, 1, 1, 1, 1], 5),
        ("three-classes", "K = 3", three, [0, 1, 1, 1, 2, 0], 5),
        ("three-classes-fifteen-bins", "K = 3, 15 bins", three, [0, 1, 1, 1, 2, 0], 15),
        ("three-classes-tied", "K = 3: ties for the largest probability", tied, [0, 2, 2, 1], 5),
        ("three-classes-thirds", "K = 3: all probabilities float64(1/3), an edge of three bins", [[THIRD] * 3, [THIRD] * 3, [0.5, 0.3, 0.2]], [0, 2, 0], 3),
        ("three-classes-missing", "K = 3: no row has class 1", three, [0, 0, 2, 0, 2, 0], 5),
        ("three-classes-never-predicted", "K = 3: class 2 is never predicted, and no row has it", [[0.7, 0.2, 0.1], [0.2, 0.65, 0.15], [0.55, 0.25, 0.2]], [0, 1, 1], 5),
        ("three-classes-one-label", "K = 3: all rows have class 2", three, [2, 2, 2, 2, 2, 2], 5),
        ("three-classes-ends", "K = 3: probabilities 0 and 1", [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.02, 0.98], [0.9, 0.1, 0.0]], [2, 1, 2, 0], 10),
        ("three-classes-edges", "K = 3: probabilities at edges of ten bins", [[0.3, 0.6, 0.1], [0.7, 0.2, 0.1], [0.1, 0.3, 0.6], [0.33, 0.34, 0.33]], [0, 0, 2, 1], 10),
        ("four-classes", "K = 4: class sizes 3, 2, 1, 0", [[0.4, 0.3, 0.2, 0.1], [0.2, 0.5, 0.2, 0.1], [0.65, 0.15, 0.1, 0.1], [0.1, 0.1, 0.75, 0.05], [0.25, 0.45, 0.2, 0.1], [0.3, 0.15, 0.3, 0.25]], [0, 1, 0, 2, 0, 1], 5),
    ]  # fmt: skip
    for name, about, probability, label, bins in few:
        yield case(name, about, probability=probability, label=label, bins=bins)
    for k, bins in [(7, 10), (57, 100), (23, 30)]:
        about = f"K = 3: a top probability at float64({k}/{bins})"
        yield matrix_at_edge(f"three-classes-edge-{k}-of-{bins}", about, k / bins, k, bins)
    yield matrix_at_edge("three-classes-above-7-of-10", "K = 3: a top probability just above 0.7", up(0.7), 7, 10)
    for k, bins in [(7, 10), (3, 10)]:
        about = f"K = 3 in float32: a probability at float32({k}/{bins})"
        yield matrix_at_edge(f"three-classes-float32-edge-{k}-of-{bins}", about, k / bins, k, bins, "float32")
    yield case(
        "three-classes-float32",
        "K = 3 in float32: probabilities at edges",
        probability=few[12][2],
        label=[0, 0, 2, 1],
        dtype="float32",
    )
    yield case(
        "three-classes-mass",
        "K = 3, equal-mass bins",
        probability=three,
        label=[0, 1, 1, 1, 2, 0],
        bins=2,
        binning="equal-mass",
    )
    yield case("three-classes-weights", "K = 3, weights", probability=three, label=[0, 1, 1, 1, 2, 0], bins=5, weight=[1, 2, 1, 3, 1, 2])  # fmt: skip


def all_cases() -> list[Case]:
    """All cases, in the order of the file."""
    kinds = (
        plain_cases,
        edge_cases,
        end_cases,
        float32_cases,
        weight_cases,
        equal_mass_cases,
        custom_cases,
        matrix_cases,
    )
    return [case for kind in kinds for case in kind()]
