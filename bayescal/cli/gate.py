"""Requirements on a report or a comparison: the program ends with exit code 1 if one is not met."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from bayescal import _checks, _render
from bayescal._arrays import Console
from bayescal.cli.command import Result
from bayescal.cli.comparison import ComparedFiles
from bayescal.cli.evaluation import EvaluatedFile, named_estimands
from bayescal.cli.options import CompareGateOptions, GateOptions, Options
from bayescal.cli.words import say
from bayescal.estimands.estimand import checked_limit, checked_number, within_limit
from bayescal.estimands.registry import as_scalar
from bayescal.results.evaluation import Evaluation
from bayescal.results.over_datasets import ComparisonOverDatasets

ASSURANCE = 0.9  #: Default of --assurance.


@dataclass(frozen=True)
class Required(Result):
    """A result with a requirement: for each label, a statement must have at least a given posterior probability."""

    result: Result
    statement: str  # such as "P(ECE < 0.05)"
    assurance: float
    probabilities: Mapping[str, float]  # by label; of one evaluation or one pair, the label is not shown
    kinds: str  # what the labels name, in the plural

    @property
    def unmet(self) -> list[str]:
        """Labels whose probability is too small, in order."""
        return [label for label, probability in self.probabilities.items() if probability < self.assurance]

    @property
    def exit_code(self) -> int:
        """0 if the requirement is met, 1 if not."""
        return int(bool(self.unmet))

    @property
    def sentence(self) -> str:
        """The requirement and the probability; for several labels the number that fail, and the first."""
        n, unmet = len(self.probabilities), self.unmet
        smallest = min(self.probabilities, key=lambda label: self.probabilities[label])
        rule = f"{self.statement} must be at least {self.assurance:g}"
        if n == 1:
            return f"{rule}; it is {self._shown(smallest)}."
        rule += f" for each of {n} {self.kinds}"
        if not unmet:
            return f"{rule}; the smallest is {self._shown(smallest)}, for {_checks.quoted(smallest)}."
        verb = "have" if len(unmet) > 1 else "has"
        first = f"{_checks.quoted(unmet[0])} with {self._shown(unmet[0])}"
        return f"{rule}; {len(unmet)} of {n} {verb} a smaller probability, first {first}."

    def _shown(self, label: str) -> str:
        """Write a probability with enough digits to show whether it is below the assurance."""
        probability = self.probabilities[label]
        texts = (f"{probability:.{digits}g}" for digits in range(3, 18))
        return next(text for text in texts if (float(text) < self.assurance) == (probability < self.assurance))

    def contents(self) -> Mapping[str, Callable[[], Any]]:
        """Make the contents of the result; the JSON document has the requirement, too."""
        contents = self.result.contents()
        requirement = {
            "statement": self.statement,
            "assurance": self.assurance,
            "met": not self.unmet,
            "probabilities": [{"label": label, "probability": p} for label, p in self.probabilities.items()],
        }
        return {**contents, "json": lambda: {**contents["json"](), "requirement": requirement}}

    def sheets(self, width: int) -> Sequence[_render.Sheet]:
        """Return the sheets of the result."""
        return self.result.sheets(width)

    def show(self, screen: "Console", *, details: bool = False) -> None:
        """Print the result, and whether the requirement is met: if not, on stderr."""
        self.result.show(screen, details=details)
        if self.unmet:
            say("Not met", "bold red", self.sentence)
        else:
            screen.print(f"Met: {self.sentence}", soft_wrap=True)


def require_of_report[Question: Options](
    gate: GateOptions, question: Question, evaluate: Callable[[Question], EvaluatedFile]
) -> Result:
    """Evaluate, and state whether each group, class or file has a quantity on the better side of a limit."""
    limits = {name: value for name, value in gate.given().items() if name.startswith("require")}
    assurance = _assurance(gate, limits, "--require-below or --require-above")
    if not limits:
        return evaluate(question)
    if len(limits) > 1:
        raise ValueError("--require-below and --require-above cannot be used together: one quantity has one limit.")
    names = named_estimands(question.given().get("estimand")) or ["ece"]
    (name, value), record = next(iter(limits.items())), as_scalar(names[0])
    if len(names) > 1:
        raise ValueError(f"--{name.replace('_', '-')} is about one quantity; --estimand names {len(names)}.")
    limit = checked_limit(name, value, record)
    report = evaluate(replace(question, estimand=None))  # type: ignore[call-arg]  # a field of all of them
    evaluation: Any = report.evaluation
    several = not isinstance(evaluation, Evaluation)
    if "estimand" in question.given() and not several:
        parameters = {**report.parameters, "estimand": [record.name]}
        report = replace(report, estimands=[record], parameters=parameters)
    evaluations = {str(label): evaluation[label] for label in evaluation.labels} if several else {"": evaluation}
    probabilities = {
        label: within_limit(each.draws(record).values, limit, record) for label, each in evaluations.items()
    }
    symbol = f"|{record.symbol}|" if record.better == "nearest zero" else record.symbol
    statement = f"P({symbol} {'>' if record.better == 'larger' else '<'} {limit:g})"
    kinds = ("classes" if evaluation.axis == "class" else "groups") if several else ""
    return Required(report, statement, assurance, probabilities, kinds)


def require_of_comparison(gate: CompareGateOptions, compare: Callable[[], ComparedFiles]) -> Result:
    """Compare, and state whether each later classifier is worse than the first by at most some difference."""
    rope = gate.require_no_worse
    assurance = _assurance(gate, {} if rope is None else {"rope": rope}, "--require-no-worse")
    if rope is None:
        return compare()
    if checked_number("require_no_worse", rope) < 0:
        raise ValueError(f"`require_no_worse` must be >= 0, the largest difference that is accepted, not {rope:g}.")
    compared = compare()
    comparison, record = compared.comparison, compared.estimand
    first, *others = comparison.labels
    worse = {label: comparison.decide(first, label, rope=rope, estimand=record)["p_left"] for label in others}
    probabilities = {label: round(1 - p, 12) for label, p in worse.items()}
    symbol = f"|{record.symbol}|" if record.better == "nearest zero" else record.symbol
    symbol = f"mean {symbol}" if isinstance(comparison, ComparisonOverDatasets) else symbol
    than = f">= {symbol} of {first} - {rope:g}" if record.better == "larger" else f"<= {symbol} of {first} + {rope:g}"
    subject = f"{symbol} of {others[0]}" if len(others) == 1 else symbol
    return Required(compared, f"P({subject} {than})", assurance, probabilities, "classifiers")


def _assurance(gate: Options, requirements: Mapping[str, Any], options: str) -> float:
    assurance = gate.given().get("assurance")
    if assurance is not None and not requirements:
        raise ValueError(f"--assurance needs {options}: the statement that is to have this probability.")
    return _checks.fraction("assurance", ASSURANCE if assurance is None else assurance)
