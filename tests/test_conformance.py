"""The conformance cases: their exact values, and the package on them; `make conformance` tests the page."""

import importlib.util
import json
import sys
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

import bayescal as bc

DOCS = Path(__file__).resolve().parents[1] / "docs"
FILE = json.loads((DOCS / "_static" / "conformance.json").read_text(encoding="utf-8"))
CASES = {case["id"]: case for case in FILE["cases"]}
SINGLE = [case for case in FILE["cases"] if "confidence" in case]
MATRIX = [case for case in FILE["cases"] if "probability" in case]


@pytest.fixture(scope="module")
def scripts():
    """The scripts, which import each other by their file names."""
    folder = DOCS / "make"
    sys.path.insert(0, str(folder))
    try:
        yield {
            name: importlib.import_module(name)
            for name in ("conformance", "conformance_rules", "conformance_programs", "conformance_cases")
        }
    finally:
        sys.path.remove(str(folder))


def stated(case, target, rule, error):
    """The pair of exact value and float of one convention."""
    (group,) = (g for g in case["values"][target] if rule in g["rules"])
    return group["errors"][error]


def value(case, target, rule, error):
    return stated(case, target, rule, error)[1]


def exact(name, rule, error="l1", target="event"):
    return Fraction(stated(CASES[name], target, rule, error)[0])


def ids(cases):
    return [case["id"] for case in cases]


# --- the file; `make conformance QUICK=1` compares it with its definitions


def test_cases_cover_what_the_page_promises():
    assert len(CASES) == len(FILE["cases"]) >= 60
    assert {case["binning"] for case in FILE["cases"]} == {"equal-width", "equal-mass", "custom"}
    assert {case["dtype"] for case in FILE["cases"]} == {"float64", "float32"}
    assert {len(case["probability"][0]) for case in MATRIX} == {2, 3, 4}
    assert any(case["weight"] for case in MATRIX)
    assert any(case["weight"] for case in SINGLE)
    assert max(case["bins"] for case in SINGLE) == 10_000
    for case in FILE["cases"]:
        used = {rule for groups in case["values"].values() for g in groups for rule in g["rules"]}
        assert used <= set(FILE["rules"])
        assert {e for groups in case["values"].values() for g in groups for e in g["errors"]} <= set(FILE["errors"])
    assert {t for case in FILE["cases"] for t in case["values"]} == set(FILE["targets"])


@pytest.mark.parametrize("case", FILE["cases"], ids=ids(FILE["cases"]))
def test_floats_are_exact_and_of_the_stated_type(case):
    for name in ("confidence", "probability", "edges"):
        if case.get(name):
            stored = np.array(case[name])
            spelled = np.vectorize(float.fromhex)(case[f"{name}_hex"])
            np.testing.assert_array_equal(stored, spelled)
            if name != "edges":
                np.testing.assert_array_equal(stored, stored.astype(case["dtype"]).astype(float))


@pytest.mark.parametrize("case", FILE["cases"], ids=ids(FILE["cases"]))
def test_a_value_is_the_root_of_its_fraction(case):
    for groups in case["values"].values():
        for group in groups:
            for error, pair in group["errors"].items():
                if pair is not None:
                    power = FILE["errors"][error]["power"]
                    assert pair[1] == pytest.approx(float(Fraction(pair[0])) ** (1 / power), rel=1e-15, abs=0)


def test_conventions_that_differ_differ_by_far_more_than_the_tolerance():
    for case in FILE["cases"]:
        for groups in case["values"].values():
            values = sorted(g["errors"]["l1"][1] for g in groups if g["errors"]["l1"])
            gaps = [b - a for a, b in pairwise(values)]
            assert all(gap < 1e-12 or gap > 1e-4 for gap in gaps), case["id"]


def test_rounding_is_that_of_floating_point(scripts):
    rounded = scripts["conformance_rules"].rounded
    rng = np.random.default_rng(3)
    for dtype, bits in (("float64", 53), ("float32", 24)):
        for a, b in rng.random((300, 2)).astype(dtype):
            for computed, of_fractions in (
                (a * b, Fraction(float(a)) * Fraction(float(b))),
                (a / b, Fraction(float(a)) / Fraction(float(b))),
            ):
                assert computed.dtype == dtype
                assert rounded(of_fractions, bits) == Fraction(float(computed))


# --- values calculated by hand


def test_values_calculated_by_hand():
    # 0.95 with outcome 1 and 1 with outcome 0: one bin |1/2 - 0.975|; apart (0.05 + 1) / 2
    c = Fraction(0.95)
    assert exact("one-above-row", "left-own") == abs(Fraction(1, 2) - (c + 1) / 2)
    assert exact("one-above-row", "left-linspace-1-apart") == ((1 - c) + 1) / 2
    assert [
        value(CASES["one-above-row"], "event", r, "l1") for r in ("left", "left-linspace-1-apart")
    ] == pytest.approx([0.475, 0.525])
    # no gaps; two bins with accuracies 1/4 and 3/4 and four rows each
    assert exact("calibrated", "left", "l1") == 0
    assert exact("calibrated", "left", "debiased-l2-squared") == -Fraction(3, 16) / 3
    # three rows at 3/8 with mean 2/3, four at 13/16 with mean 3/4
    assert exact("ties", "right") == Fraction(3, 7) * (Fraction(2, 3) - Fraction(3, 8)) + Fraction(4, 7) * (
        Fraction(13, 16) - Fraction(3, 4)
    )
    assert exact("ties", "left", "max") == Fraction(2, 3) - Fraction(3, 8)
    assert exact("ties", "left", "mean-all") == (Fraction(2, 3) - Fraction(3, 8) + Fraction(1, 16)) / 5
    middle = Fraction(3, 7) * (Fraction(2, 3) - Fraction(3, 10)) + Fraction(4, 7) * (Fraction(9, 10) - Fraction(3, 4))
    assert exact("ties", "left", "l1-middle") == middle
    # the debiased error of a single row: 0, or the squared gap
    assert exact("one-row", "left", "debiased-l2-squared") == 0
    assert exact("one-row", "left", "debiased-l2-squared-single-kept") == Fraction(13, 16) ** 2
    # weights 1, 2 | 3 | 4, 5 in bins 0, 2 and 4
    gaps = [
        2 - (Fraction(1, 8) + 2 * Fraction(5, 32)),
        3 * (1 - Fraction(7, 16)),
        4 - (4 * Fraction(13, 16) + 5 * Fraction(27, 32)),
    ]
    assert exact("weights-integers", "left") == sum(map(abs, gaps)) / 15
    # equal masses: ties at a cut stay together, or are separated in the order of the rows
    low, tied, high = Fraction(0.1) + Fraction(0.2), Fraction(0.4), Fraction(0.9)
    assert exact("mass-ties-at-cut", "mass-split") == (abs(2 - low - tied) + abs(1 - 2 * tied - high)) / 6
    assert exact("mass-ties-at-cut-reordered", "mass-split") == (abs(1 - low - tied) + abs(2 - 2 * tied - high)) / 6
    assert exact("mass-ties-at-cut", "mass-whole-ties") == exact("mass-ties-at-cut-reordered", "mass-whole-ties")


def test_targets_calculated_by_hand():
    # rows (3/8, 3/8, 1/4), (1/4, 3/8, 3/8), (7/16, 1/8, 7/16), (1/2, 1/4, 1/4) with labels 0, 2, 2, 1; five bins:
    # the first three are in [0.2, 0.4), [0.2, 0.4), [0.4, 0.6) and the last in [0.4, 0.6)
    name = "three-classes-tied"
    first, last = (1 - Fraction(3, 4), 0 - Fraction(15, 16)), (1 - Fraction(3, 4), 1 - Fraction(15, 16))
    assert exact(name, "left", target="top-label") == sum(map(abs, first)) / 4
    assert exact(name, "left", target="top-label-last") == sum(map(abs, last)) / 4
    # classes are predicted 3, 1, 0 times: class 0 has bins {3/8: right}, {7/16, 1/2: wrong}; class 1 has {3/8: wrong}
    within = [(Fraction(5, 8) + Fraction(15, 16)) / 3, Fraction(3, 8)]
    assert exact(name, "left", target="top-label-within-mean") == sum(within) / 2
    assert exact(name, "left", target="top-label-within-share") == within[0] * Fraction(3, 4) + within[1] / 4
    # columns: bins of width 1/5
    zero = [abs(1 - Fraction(5, 8)), Fraction(15, 16)]
    one = [Fraction(1, 8), abs(1 - Fraction(1))]
    two = [abs(1 - Fraction(7, 8)), 1 - Fraction(7, 16)]
    errors = [sum(each) / 4 for each in (zero, one, two)]
    assert exact(name, "left", target="classwise-mean") == sum(errors) / 3
    assert exact(name, "left", target="classwise-sum") == sum(errors)
    assert exact(name, "left", target="classwise-frequency") == (errors[0] + errors[1] + 2 * errors[2]) / 4
    assert exact(name, "left", "max", "classwise-mean") == Fraction(9, 16)


# --- the package on the cases

TOLERANCE = {"float64": 1e-12, "float32": 1e-7}
SIDES = {"left": "left-own", "right": "right-own"}
ORDERS = {"l1": 1, "l2": 2, "max": np.inf}


def near(case, expected):
    return pytest.approx(expected, abs=TOLERANCE[case["dtype"]])


def bins_of(case, closed):
    asked = case["edges"] or case["bins"]
    if case["binning"] != "equal-mass":
        return {"bins": bc.make_bins(asked, closed=closed)}
    if "confidence" in case:
        confidence = np.array(case["confidence"], case["dtype"])
        return {"bins": bc.make_bins(asked, binning="equal-mass", confidence=confidence, closed=closed)}
    return {"bins": asked, "binning": "equal-mass"}


@pytest.mark.parametrize("closed", SIDES)
@pytest.mark.parametrize("case", SINGLE, ids=ids(SINGLE))
def test_the_package_on_confidences(case, closed):
    rule = "mass-whole-ties" if case["binning"] == "equal-mass" else SIDES[closed]
    rows = case["outcome"], np.array(case["confidence"], case["dtype"])
    given = {"weights": case["weight"], **bins_of(case, closed)}
    assert bc.plug_in_ece(*rows, **given) == near(case, value(case, "event", rule, "l1"))
    for error, order in ORDERS.items():
        assert bc.plug_in_error(*rows, order=order, **given) == near(case, value(case, "event", rule, error)), error
    squared = max(value(case, "event", rule, "debiased-l2-squared"), 0)
    assert bc.plug_in_error(*rows, order=2, debiased=True, **given) ** 2 == near(case, squared)


@pytest.mark.parametrize("closed", SIDES)
@pytest.mark.parametrize("case", MATRIX, ids=ids(MATRIX))
def test_the_package_on_matrices(case, closed):
    if case["binning"] == "equal-mass" and closed == "right":
        pytest.skip("equal-mass bins of a matrix are those of its columns")
    rule = "mass-whole-ties" if case["binning"] == "equal-mass" else SIDES[closed]
    matrix = np.array(case["probability"], case["dtype"])
    given = {"weights": case["weight"], "classes": range(matrix.shape[1]), **bins_of(case, closed)}
    for target, named in (("top-label", "top-label"), ("classwise", "classwise-mean")):
        for error, order in ORDERS.items():
            found = bc.plug_in_error(case["label"], matrix, target=target, order=order, **given)
            assert found == near(case, value(case, named, rule, error)), (target, error)
    if matrix.shape[1] == 2:
        del given["classes"]
        found = bc.plug_in_ece(case["label"], matrix[:, 1], **given)
        assert found == near(case, value(case, "event", rule, "l1"))
