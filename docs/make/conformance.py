"""Write the cases of docs/_static/conformance.json, give them to other programs, and write which convention each
follows to docs/conformance.md: `make conformance`.
"""

import argparse
import contextlib
import io
import json
import math
import sys
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import batched
from pathlib import Path
from typing import Any

from conformance_cases import all_cases
from conformance_exact import ERRORS, TARGETS, values_of
from conformance_programs import MASS, PROGRAMS, WIDTH, Call, Rows, all_calls
from conformance_rules import RULES, rules_for
from pages import fill, table, versions_of

DOCS = Path(__file__).resolve().parents[1]
CASES, RESULTS, PAGE = (
    DOCS / "_static" / "conformance.json",
    DOCS / "_static" / "conformance_programs.json",
    DOCS / "conformance.md",
)
SCHEMA = "calibration-error-conformance/1"
#: How near a number must be: some programs add in float32, and values of different conventions differ by far more.
TOLERANCE = 1e-6
Case, Results = dict[str, Any], dict[str, float | str]
#: Programs side by side in a table.
COLUMNS = 7
#: Target, rule and error.
Convention = tuple[str, str, str]


# --- the file of cases


def stated(value: Fraction | None, power: int) -> list[Any] | None:
    """Return the exact value to its power as a string, and the value as a float."""
    return None if value is None else [str(value), float(value) if power == 1 else math.sqrt(value)]


def hexadecimal(values: Sequence[Any]) -> list[Any]:
    return [hexadecimal(value) if isinstance(value, Sequence) else float(value).hex() for value in values]


def with_values(case: Case) -> Case:
    """Add the exact floats and the values of all conventions to a case."""
    floats = {
        f"{name}_hex": hexadecimal(case[name]) for name in ("confidence", "probability", "edges") if case.get(name)
    }
    values = {
        target: [
            {**group, "errors": {name: stated(value, ERRORS[name].power) for name, value in group["errors"].items()}}
            for group in groups
        ]
        for target, groups in values_of(case).items()
    }
    return {**case, **floats, "values": values}


def document() -> dict[str, Any]:
    """Return the whole file: definitions of the conventions, and the cases."""
    return {
        "schema": SCHEMA,
        "targets": {name: target.words for name, target in TARGETS.items()},
        "rules": {name: {"binning": rule.binning, "words": rule.words} for name, rule in RULES.items()},
        "errors": {name: {"words": error.words, "power": error.power} for name, error in ERRORS.items()},
        "cases": [with_values(case) for case in all_cases()],
    }


def text_of(cases: Mapping[str, Any]) -> str:
    """Return the file with one line per case and group, so that differences between versions are readable."""
    lines = [f'"{key}": {json.dumps(value, indent=1)},' for key, value in cases.items() if key != "cases"]
    blocks = []
    for case in cases["cases"]:
        head = json.dumps({key: value for key, value in case.items() if key != "values"})[:-1]
        targets = []
        for target, groups in case["values"].items():
            rows = ",\n  ".join(json.dumps(group) for group in groups)
            targets.append(f' "{target}": [\n  {rows}]')
        blocks.append(f'{head}, "values": {{\n' + ",\n".join(targets) + "}}")
    return "{\n" + "\n".join(lines) + '\n"cases": [\n' + ",\n".join(blocks) + "\n]\n}\n"


# --- what the programs return


def result_of(call: Call, case: Case) -> float | str:
    """Return the number, rounded to ten digits; "nan", or the name of the exception that was raised."""
    try:
        with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            value = float(call.run(Rows(case)))
    except Exception as error:  # whatever a program raises is its answer
        return type(error).__name__
    return float(f"{value:.10g}") if math.isfinite(value) else str(value)


def measure(cases: Sequence[Case]) -> dict[str, Any]:
    """Give all programs all cases that they take."""
    calls = [
        {
            "program": call.program,
            "call": call.text,
            "results": {case["id"]: result_of(call, case) for case in cases if call.takes(case)},
        }
        for call in all_calls()
    ]
    return {"programs": dict(versions_of(PROGRAMS)), "calls": calls}


def save(measured: Mapping[str, Any]) -> None:
    calls = ",\n".join(json.dumps(call) for call in measured["calls"])
    RESULTS.write_text(
        f'{{\n"programs": {json.dumps(measured["programs"])},\n"calls": [\n{calls}\n]\n}}\n', encoding="utf-8"
    )


# --- which convention a program follows


class Comparison:
    """The results of one call, and the conventions that give them.

    Parameters
    ----------
    call : Call
        The call.
    results : mapping
        Its result by case.
    cases : mapping
        The cases of the file by their identifiers.
    """

    def __init__(self, call: Call, results: Results, cases: Mapping[str, Case]) -> None:
        self.call, self.results, self.cases = call, results, cases
        agreeing: dict[Convention, list[str]] = {}
        for name in results:
            for convention in self.conventions_of(name):
                agreeing.setdefault(convention, []).append(name)
        # among conventions that agree equally often, the earlier ones of the file
        order = [list(TARGETS), list(RULES), list(ERRORS)]
        self.agreeing = dict(
            sorted(
                agreeing.items(),
                key=lambda each: (-len(each[1]), *(names.index(n) for names, n in zip(order, each[0], strict=True))),
            )
        )
        self.best = next(iter(self.agreeing))
        self.as_good = [c for c, names in self.agreeing.items() if len(names) == len(self.agreeing[self.best])]

    def conventions_of(self, name: str) -> Iterator[Convention]:
        """Yield the conventions that give the result in one case."""
        case = self.cases[name]
        for target, groups in case["values"].items():
            for group in groups:
                for error in self.call.errors:
                    if error in group["errors"] and self.agrees(self.results[name], group["errors"][error]):
                        yield from ((target, rule, error) for rule in group["rules"])

    def agrees(self, result: float | str, expected: list[Any] | None) -> bool:
        if expected is None or isinstance(result, str):
            return expected is None and result == "nan"
        value = max(expected[1], 0.0) if self.call.floored else expected[1]
        return abs(result - value) <= TOLERANCE

    @property
    def differing(self) -> list[str]:
        """Cases in which the best convention gives another value."""
        return [name for name in self.results if name not in self.agreeing[self.best]]

    def reason(self, name: str) -> str:
        """Say what the result of a differing case is instead."""
        result = self.results[name]
        if isinstance(result, str):
            return "NaN" if result == "nan" else f"raises {result}"
        target, _, error = self.best
        found = list(self.conventions_of(name))
        same = [rule for t, rule, e in found if (t, e) == (target, error)]
        if same:
            first = [rule for rule in self.ranked_rules(target, error) if rule in same]
            return f"as `{first[0]}`"
        return f"as target `{found[0][0]}`, `{found[0][1]}`" if found else "no convention of the file"

    def ranked_rules(self, target: str, error: str) -> list[str]:
        """Rules by the number of cases in which they agree."""
        return [rule for t, rule, e in self.agreeing if (t, e) == (target, error)]

    def count(self, *, target: str | None = None, rule: str | None = None) -> int:
        """Largest number of agreeing cases among the conventions with this target or rule."""
        matching = [len(n) for (t, r, _), n in self.agreeing.items() if target in (None, t) and rule in (None, r)]
        return max(matching, default=0)


def compared(measured: Mapping[str, Any], cases: Sequence[Case]) -> list[Comparison]:
    """Compare the results of all calls with the conventions."""
    by_name = {case["id"]: case for case in cases}
    results = {(each["program"], each["call"]): each["results"] for each in measured["calls"]}
    return [Comparison(call, results[call.program, call.text], by_name) for call in all_calls()]


# --- tables


def convention_words(comparison: Comparison) -> str:
    """Name the best convention and those that agree as often; the target only where cases have several."""
    target, rule, error = comparison.best
    rules = list(dict.fromkeys(r for t, r, e in comparison.as_good if (t, e) == (target, error)))
    named = f"`{rule}`" if len(rules) == 1 else ", ".join(f"`{each}`" for each in rules)
    errors = list(dict.fromkeys(e for _, _, e in comparison.as_good))
    words = f"{named}, `{errors[0]}`"
    return f"`{target}`, {words}" if comparison.call.matrix else words


def agreement_words(comparison: Comparison) -> str:
    """Say in how many cases the best convention agrees, and count exceptions and NaN."""
    answers = list(comparison.results.values())
    nan = answers.count("nan")
    raised = sum(isinstance(answer, str) for answer in answers) - nan
    words = [f"{len(comparison.agreeing[comparison.best])} of {len(answers)}"]
    return "; ".join([*words, *([f"raises in {raised}"] if raised else []), *([f"NaN in {nan}"] if nan else [])])


def best_table(comparisons: Iterable[Comparison]) -> str:
    """One line per call: the convention that agrees in most cases."""
    lines = [
        [each.call.program, convention_words(each), agreement_words(each), f"`{each.call.text}`"]
        for each in comparisons
    ]
    return table("Program | Convention | Agrees in | Call", lines)


def first_calls(comparisons: Iterable[Comparison], binning: str) -> dict[str, Comparison]:
    """The first call of each program for one confidence per row and such bins."""
    first: dict[str, Comparison] = {}
    for each in comparisons:
        if each.call.binning == binning and not each.call.matrix:
            first.setdefault(each.call.program, each)
    return first


def rule_tables(comparisons: Iterable[Comparison], binning: str) -> str:
    """One line per rule, one column per program: number of agreeing cases; several tables, so that each is narrow."""
    first = first_calls(comparisons, binning)
    return "\n".join(_rule_table(dict(part), binning) for part in batched(first.items(), COLUMNS, strict=False))


def _rule_table(first: Mapping[str, Comparison], binning: str) -> str:
    best = [each.count() for each in first.values()]
    lines = [[f"`{rule}`", *_bold([c.count(rule=rule) for c in first.values()], best)] for rule in rules_for(binning)]
    lines.append(["*cases*", *(len(each.results) for each in first.values())])
    return table("Rule | " + " | ".join(f"{program}:" for program in first), lines)


def _bold(counts: Iterable[int], best: Iterable[int]) -> list[Any]:
    return [f"**{count}**" if count == most else count for count, most in zip(counts, best, strict=True)]


def target_table(comparisons: Iterable[Comparison]) -> str:
    """One line per call with a matrix, one column per target: agreeing cases with the rule that agrees most often."""
    lines = []
    for each in (each for each in comparisons if each.call.matrix):
        counts = [each.count(target=target) for target in TARGETS]
        lines.append([f"{each.call.program} `{each.call.text}`", *_bold(counts, [max(counts)] * len(counts))])
    return table("Program and call | " + " | ".join(f"{target}:" for target in TARGETS), lines)


def difference_table(comparisons: Iterable[Comparison]) -> str:
    """One line per program, reason and list of cases, with the calls."""
    calls: dict[tuple[str, str, str], list[str]] = {}
    for each in comparisons:
        reasons: dict[str, list[str]] = {}
        for name in each.differing:
            reasons.setdefault(each.reason(name), []).append(f"`{name}`")
        for reason, names in reasons.items():
            calls.setdefault((each.call.program, reason, ", ".join(names)), []).append(f"`{each.call.text}`")
    lines = ([program, "; ".join(texts), reason, names] for (program, reason, names), texts in calls.items())
    return table("Program | Call | What it returns | In these cases", lines)


def definitions(words: Mapping[str, str]) -> str:
    return "".join(f"* `{name}`: {text}.\n" for name, text in words.items())


def tables(measured: Mapping[str, Any], cases: Sequence[Case]) -> dict[str, str]:
    """Return the texts of the page by the names of their markers."""
    comparisons = compared(measured, cases)
    n_values = sum(len(g["rules"]) * len(g["errors"]) for c in cases for gs in c["values"].values() for g in gs)
    counted = f"{len(cases)} cases, {len(TARGETS)} targets, {len(RULES)} rules, {len(ERRORS)} errors"
    programs = ", ".join(f"{name} {version}" for name, version in measured["programs"].items())
    return {
        "contents": f"{counted}: {n_values} values.\n",
        "targets": definitions({name: target.words for name, target in TARGETS.items()}),
        "equal_width": definitions({n: r.words for n, r in RULES.items() if r.binning == WIDTH}),
        "equal_mass": definitions({n: r.words for n, r in RULES.items() if r.binning == MASS}),
        "errors": definitions({name: error.words for name, error in ERRORS.items()}),
        "programs": f"{programs}.\n",
        "best": best_table(comparisons),
        "width_counts": rule_tables(comparisons, WIDTH),
        "mass_counts": rule_tables(comparisons, MASS),
        "target_counts": target_table(comparisons),
        "differences": difference_table(comparisons),
    }


def main() -> int:
    """Run the command line; return 1 if, with --quick, the stored cases differ from their definitions."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--redraw", action="store_true", help="run no program's cases; write the page from the files")
    parser.add_argument("--quick", action="store_true", help="compare the cases with the stored ones; write nothing")
    options = parser.parse_args()
    text = text_of(document())
    cases = json.loads(text)["cases"]
    if options.quick:
        print(tables(measure(cases), cases)["best"])
        same = text == CASES.read_text(encoding="utf-8")
        print(
            f"{CASES.name}: {'the stored cases equal' if same else 'THE STORED CASES DIFFER FROM'} their definitions."
        )
        return int(not same)
    if not options.redraw:
        CASES.write_text(text, encoding="utf-8")
        save(measure(cases))
    fill(PAGE, "make conformance", tables(json.loads(RESULTS.read_text(encoding="utf-8")), cases))
    return 0


if __name__ == "__main__":
    sys.exit(main())
