"""The page of the other programs shows what its JSON file holds; `make conformance`, which writes both, runs this."""

import importlib.util
import json
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).resolve().parents[2] / "docs"
FILE = json.loads((DOCS / "_static" / "conformance.json").read_text(encoding="utf-8"))
CASES = {case["id"]: case for case in FILE["cases"]}


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


@pytest.fixture(scope="module")
def results():
    return json.loads((DOCS / "_static" / "conformance_programs.json").read_text(encoding="utf-8"))


def page_table(name):
    text = (DOCS / "conformance.md").read_text(encoding="utf-8")
    part = text.split(f"<!-- {name}: made by `make conformance` -->")[1].split("<!-- end -->")[0]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in part.strip().splitlines()]


def agreeing(call, target, rule, error):
    """The cases in which a convention gives the stored result, counted without the code of the page."""
    found = 0
    for name, result in call["results"].items():
        for group in CASES[name]["values"].get(target, []):
            if rule in group["rules"] and error in group["errors"]:
                expected = group["errors"][error]
                number = isinstance(result, float) and expected is not None
                floored = expected is not None and error.startswith("debiased") and max(expected[1], 0.0)
                near = number and abs(result - (floored if error.startswith("debiased") else expected[1])) <= 1e-6
                found += near or (expected is None and result == "nan")
    return found


def test_the_page_shows_the_results_of_its_json(results):
    calls = {(each["program"], each["call"]): each for each in results["calls"]}
    lines = page_table("best")[2:]
    assert {(line[0], line[3].strip("`")) for line in lines} == set(calls)
    for program, convention, agree, text in lines:
        call, words = calls[program, text.strip("`")], convention.replace("`", "").split(", ")
        target = words.pop(0) if words[0] in FILE["targets"] else "event"
        error, shown = words.pop(), int(agree.split()[0])
        assert [agreeing(call, target, rule, error) for rule in words] == [shown] * len(words), text
        assert max(agreeing(call, t, r, error) for t in FILE["targets"] for r in FILE["rules"]) == shown
        answers = list(call["results"].values())
        nan = answers.count("nan")
        raised = sum(isinstance(answer, str) for answer in answers) - nan
        expected = [
            f"{shown} of {len(answers)}",
            *[f"raises in {raised}"] * (raised > 0),
            *[f"NaN in {nan}"] * (nan > 0),
        ]
        assert agree.split("; ") == expected
    text = (DOCS / "conformance.md").read_text(encoding="utf-8")
    assert all(f"{name} {version}" in text for name, version in results["programs"].items())


@pytest.mark.parametrize("name", ["width_counts", "mass_counts"])
def test_the_page_counts_the_agreeing_cases_of_each_rule(results, name):
    binning = {"width_counts": "equal-width", "mass_counts": "equal-mass"}[name]
    shown, programs = {}, ()
    for first, *cells in page_table(name):
        if first == "Rule":
            programs = cells
        elif first.startswith("`"):
            shown |= {(program, first.strip("`")): cell for program, cell in zip(programs, cells, strict=True)}
    rules = [rule for rule, about in FILE["rules"].items() if about["binning"] == binning]
    assert {rule for _, rule in shown} == set(rules)
    calls = {}
    for each in results["calls"]:
        cases = [CASES[case] for case in each["results"]]
        if cases[0]["binning"] == binning and "confidence" in cases[0]:
            calls.setdefault(each["program"], each)
    assert {program for program, _ in shown} == set(calls)
    for program, call in calls.items():
        errors = ["mean-occupied", "mean-all"] if program == "scikit-learn" else ["l1"]
        counts = [max(agreeing(call, "event", rule, error) for error in errors) for rule in rules]
        assert [int(shown[program, rule].strip("*")) for rule in rules] == counts
        assert [shown[program, rule].startswith("**") for rule in rules] == [n == max(counts) for n in counts]


def test_at_least_eight_other_programs_were_run_on_all_cases_that_they_take(results, scripts):
    programs = scripts["conformance_programs"]
    assert set(results["programs"]) == set(programs.PROGRAMS)
    assert len(results["programs"]) >= 9
    taken = {(call.program, call.text): call for call in programs.of_bayescal()}
    for each in results["calls"]:
        if each["program"] == "bayescal":
            call = taken[each["program"], each["call"]]
            assert list(each["results"]) == [case["id"] for case in FILE["cases"] if call.takes(case)]


def test_the_package_agrees_with_its_convention_in_every_case(results):
    lines = [line for line in page_table("best")[2:] if line[0] == "bayescal"]
    assert len(lines) == 7
    assert all(len(set(line[2].split(" of "))) == 1 for line in lines)


#: Program -> rules of its first calls for equal-width bins and for equal-mass bins, which the text describes.
RULES_OF = {
    "bayescal": ("left-own", "mass-whole-ties"),
    "scikit-learn": ("right-linspace", "mass-quantile-right-percent"),
    "torchmetrics": ("left-mirrored-1-apart", None),
    "netcal": ("left-linspace", "mass-quantile-left-rounded"),
    "mapie": ("right-linspace-0-apart", "mass-quantile-right-minimum-apart"),
    "uncertainty-calibration": ("right", "mass-midpoints"),
    "relplot": ("floor-quotient-1-apart", None),
    "model-diagnostics": ("right-range", "mass-order-statistic"),
    "calzone-tool": ("right-linspace-0-dropped", "mass-quantile-right-minimum-dropped"),
    "pycalib": ("left-stretched", None),
    "calibstats": ("left-linspace", "mass-quantile-left-merged"),
    "probcal": ("left-linspace", "mass-quantile-left-rounded"),
    "calikit": ("floor-product", "mass-split"),
    "classifier-calibration": ("floor-percent", None),
}


def test_the_text_of_the_page_describes_the_measured_rules():
    found = {}
    for program, convention, _, _ in page_table("best")[2:]:
        words = convention.replace("`", "").split(", ")
        if words[0] not in FILE["targets"]:
            binning = "mass" if words[0].startswith("mass") else "width"
            found.setdefault((program, binning), words[0])
    for program, (width, mass) in RULES_OF.items():
        assert (found[program, "width"], found.get((program, "mass"))) == (width, mass)
    differing = {}
    for program, _, reason, names in page_table("differences")[2:]:
        differing.setdefault((program, reason), []).append(names.replace("`", "").split(", "))
    assert differing["torchmetrics", "as `left-own`"] == [["edge-57-of-100"]]
    assert "float32-edge-7-of-10" in differing["netcal", "no convention of the file"][0]
    assert "three-classes-missing" in differing["netcal", "raises RuntimeError"][0]
    assert differing["netcal", "as target `event`, `left`"] == [["two-classes", "two-classes-one-label"]]
