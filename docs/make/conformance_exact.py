"""Calibration errors in exact rational arithmetic: what is binned (targets), and functions of the bins (errors)."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from conformance_rules import RULES, Binned, Fractions, Problem, rules_for

Case = Mapping[str, Any]


# --- errors: functions of the bins


@dataclass(frozen=True)
class Bin:
    """One occupied bin: its weight (number of rows without weights), its effective number of rows, and its gaps."""

    mass: Fraction
    size: Fraction
    accuracy: Fraction
    gap: Fraction
    middle_gap: Fraction | None


def occupied(of: Problem, binned: Binned) -> list[Bin]:
    """Sums over the rows of each bin; without weights, every row has weight 1."""
    rows: dict[int, list[int]] = {}
    for i, index in enumerate(binned.index):
        if index is not None:
            rows.setdefault(index, []).append(i)
    bins = []
    for index, inside in sorted(rows.items()):
        mass = sum((of.weight[i] for i in inside), Fraction(0))
        size = mass**2 / sum(of.weight[i] ** 2 for i in inside)
        accuracy = sum(of.weight[i] * of.outcome[i] for i in inside) / mass
        gap = accuracy - sum(of.weight[i] * of.confidence[i] for i in inside) / mass
        middles = {**dict(enumerate(binned.middles)), -1: Fraction(0), binned.n_bins: Fraction(1)}
        middle = accuracy - middles[index] if binned.middles else None
        bins.append(Bin(mass, size, accuracy, gap, middle))
    return bins


def mean_power(power: int) -> Callable[[list[Bin], Fraction, int], Fraction]:
    return lambda bins, total, n_bins: sum(b.mass * abs(b.gap) ** power for b in bins) / total


def largest(bins: list[Bin], total: Fraction, n_bins: int) -> Fraction:
    return max(abs(b.gap) for b in bins)


def from_middles(bins: list[Bin], total: Fraction, n_bins: int) -> Fraction | None:
    return sum(b.mass * abs(b.middle_gap) for b in bins) / total if bins[0].middle_gap is not None else None


def mean_of_occupied(bins: list[Bin], total: Fraction, n_bins: int) -> Fraction:
    return sum(abs(b.gap) for b in bins) / len(bins)


def mean_of_all(bins: list[Bin], total: Fraction, n_bins: int) -> Fraction:
    return sum(abs(b.gap) for b in bins) / max(n_bins, len(bins))


def debiased(single: str) -> Callable[[list[Bin], Fraction, int], Fraction]:
    """Squared gaps minus the sampling variance of the accuracy; a bin with one row has no estimate of it."""

    def error(bins: list[Bin], total: Fraction, n_bins: int) -> Fraction:
        parts = []
        for b in bins:
            if b.size > 1:
                parts.append(b.mass * (b.gap**2 - b.accuracy * (1 - b.accuracy) / (b.size - 1)))
            elif single == "kept":
                parts.append(b.mass * b.gap**2)
        return sum(parts, Fraction(0)) / total

    return error


@dataclass(frozen=True)
class Error:
    """A function of the bins: its words, its value to a power (so that it is rational), and that power."""

    words: str
    function: Callable[[list[Bin], Fraction, int], Fraction | None]
    power: int = 1
    #: How errors of several classes become one: mean of these powers, or the largest; None if not defined here.
    classes: str | None = None


_KUMAR = (
    "sum of n_b/N ((z_b - c_b)^2 - z_b (1 - z_b) / (n_b - 1)), the debiased squared l_2 error of Kumar, Liang and Ma"
)
_KISH = "with weights, n_b - 1 has Kish's effective number of rows"
ERRORS = {
    "l1": Error("sum of n_b/N |z_b - c_b|, the plug-in ECE", mean_power(1), classes="mean"),
    "l2": Error("root of the sum of n_b/N (z_b - c_b)^2", mean_power(2), 2, "mean"),
    "max": Error("largest |z_b - c_b| of the occupied bins (maximum calibration error)", largest, classes="max"),
    "debiased-l2-squared": Error(f"{_KUMAR}; a bin with one row contributes 0; {_KISH}", debiased("zero")),
    "debiased-l2-squared-single-kept": Error(
        f"the same, but a bin with one row contributes its squared gap; {_KISH}", debiased("kept")
    ),
    "l1-middle": Error("sum of n_b/N |z_b - middle of the bin|", from_middles),
    "mean-occupied": Error(
        "unweighted mean of |z_b - c_b| over the occupied bins (average calibration error, one meaning of ACE)",
        mean_of_occupied,
        classes="mean",
    ),
    "mean-all": Error("unweighted mean of |z_b - c_b| over all bins; empty bins count as 0", mean_of_all),
}


# --- targets: which binary problems a case contains


@dataclass(frozen=True)
class Target:
    """What is binned: its words, and its binary problems with the share of each in the error."""

    words: str
    problems: Callable[[Case], list[tuple[Problem, Fraction]]]
    matrix: bool
    classes: bool = False


def _fractions(values: Sequence[float]) -> list[Fraction]:
    return [Fraction(value) for value in values]


def _problem(case: Case, confidence: Fractions, right: Sequence[bool], rows: Sequence[int] | None = None) -> Problem:
    rows = range(len(confidence)) if rows is None else rows
    weight = _fractions(case["weight"]) if case["weight"] else [Fraction(1)] * len(confidence)
    columns = (confidence, [Fraction(int(each)) for each in right], weight)
    chosen = ([column[i] for i in rows] for column in columns)
    return Problem(*chosen, case["dtype"], case["binning"], case["bins"], _fractions(case["edges"] or ()))


def of_event(case: Case) -> list[tuple[Problem, Fraction]]:
    if "confidence" in case:
        return [(_problem(case, _fractions(case["confidence"]), case["outcome"]), Fraction(1))]
    rows = case["probability"]
    if len(rows[0]) != 2:
        return []
    return [(_problem(case, [Fraction(row[1]) for row in rows], [label == 1 for label in case["label"]]), Fraction(1))]


def predicted(case: Case, last: bool = False) -> list[int]:
    """The most probable class of each row: the first or the last of tied ones."""
    order = reversed if last else list
    return [max(order(range(len(row))), key=row.__getitem__) for row in case["probability"]]


def of_top(case: Case, last: bool = False) -> list[tuple[Problem, Fraction]]:
    top = predicted(case, last)
    confidence = [Fraction(max(row)) for row in case["probability"]]
    right = [t == label for t, label in zip(top, case["label"], strict=True)]
    return [(_problem(case, confidence, right), Fraction(1))]


def of_top_within(case: Case, by_share: bool) -> list[tuple[Problem, Fraction]]:
    ((rows, _),) = of_top(case)
    top = predicted(case)
    classes = sorted(set(top))
    found = []
    for k in classes:
        inside = [i for i, t in enumerate(top) if t == k]
        share = Fraction(len(inside), len(top)) if by_share else Fraction(1, len(classes))
        chosen = {name: [getattr(rows, name)[i] for i in inside] for name in ("confidence", "outcome", "weight")}
        found.append((replace(rows, **chosen), share))
    return found


def of_classes(case: Case, share: Callable[[int, int], Fraction]) -> list[tuple[Problem, Fraction]]:
    """One problem per class; `share` is given the number of classes and of rows whose label is the class."""
    found = []
    for k in range(len(case["probability"][0])):
        is_class = [label == k for label in case["label"]]
        confidence = [Fraction(row[k]) for row in case["probability"]]
        found.append((_problem(case, confidence, is_class), share(len(case["probability"][0]), sum(is_class))))
    return found


def of_present(case: Case) -> list[tuple[Problem, Fraction]]:
    present = len(set(case["label"]))
    return [each for each in of_classes(case, lambda k, n: Fraction(int(n > 0), present)) if each[1]]


TARGETS = {
    "event": Target(
        "the confidences as given; of a matrix with two columns, the probability of class 1", of_event, False
    ),
    "top-label": Target(
        "largest probability of each row against whether its class (the first of tied ones) is right", of_top, True
    ),
    "top-label-last": Target("the same, with the last of tied classes", lambda case: of_top(case, last=True), True),
    "top-label-within-mean": Target(
        "top-label error of the rows of each predicted class, unweighted mean over predicted classes",
        lambda case: of_top_within(case, by_share=False),
        True,
        True,
    ),
    "top-label-within-share": Target(
        "the same, weighted by the share of rows with that predicted class",
        lambda case: of_top_within(case, by_share=True),
        True,
        True,
    ),
    "classwise-mean": Target(
        "error of each column of the matrix, unweighted mean over all K classes (for l2 the root of the mean square, "
        "for max the largest)",
        lambda case: of_classes(case, lambda k, n: Fraction(1, k)),
        True,
        True,
    ),
    "classwise-present": Target("the same over classes that are the label of at least one row", of_present, True, True),
    "classwise-sum": Target(
        "the sum over all K classes", lambda case: of_classes(case, lambda k, n: Fraction(1)), True, True
    ),
    "classwise-frequency": Target(
        "errors of the columns, weighted by the share of rows with that label",
        lambda case: of_classes(case, lambda k, n: Fraction(n, len(case["label"]))),
        True,
        True,
    ),
}


# --- values of a case


def errors_of(problems: list[tuple[Problem, Fraction]], bins: list[Binned], classes: bool) -> Iterator[tuple[str, Any]]:
    """Yield each error that is defined, to its power; None if every row was dropped."""
    for name, error in ERRORS.items():
        if classes and error.classes is None:
            continue
        values = []
        for (problem, share), binned in zip(problems, bins, strict=True):
            inside = occupied(problem, binned)
            kept = sum((b.mass for b in inside), Fraction(0))
            values.append((error.function(inside, kept, binned.n_bins) if inside else None, share))
        if any(value is None for value, _ in values):
            if error.function is not from_middles:
                yield name, None
        elif error.classes == "max" and classes:
            if all(share == values[0][1] for _, share in values):  # the largest has no weights
                yield name, max(value for value, _ in values)
        else:
            yield name, sum(value * share for value, share in values)


def groups_of(case: Case, target: str) -> list[dict[str, Any]]:
    """Rules that put the rows into the same bins, the bin of each row, and the errors."""
    of = TARGETS[target]
    problems = of.problems(case)
    groups: dict[Any, dict[str, Any]] = {}
    for name in rules_for(case["binning"]) if problems else []:
        bins = [RULES[name].bins(problem) for problem, _ in problems]
        values = dict(errors_of(problems, bins, of.classes))
        key = (tuple(b.index for b in bins), tuple(b.n_bins for b in bins), str(values))
        index = [list(b.index) for b in bins]
        group = {"rules": [], "index": index if of.classes else index[0], "errors": values}
        groups.setdefault(key, group)["rules"].append(name)
    return list(groups.values())


def values_of(case: Case) -> dict[str, list[dict[str, Any]]]:
    """All values of a case by target, as exact fractions."""
    names = [name for name, target in TARGETS.items() if target.matrix <= ("probability" in case)]
    return {name: groups for name in names if (groups := groups_of(case, name))}
