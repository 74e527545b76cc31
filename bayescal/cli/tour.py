"""Two classifiers of handwritten digits, evaluated and compared, as ``bayescal demo`` shows them."""

import shlex
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from string import Template
from typing import Any

from bayescal._arrays import Console
from bayescal._texts import text_of
from bayescal.analyses.compare import compare
from bayescal.cli.command import Result, show_sheet
from bayescal.cli.comparison import difference_sheet
from bayescal.datasets import load_digits, path
from bayescal.estimands.registry import registered
from bayescal.evaluate import evaluate
from bayescal.report.figure import picture
from bayescal.results.comparison import Comparison
from bayescal.results.evaluation import Evaluation

SEED = 1
#: Names of the classifiers by their names in the data set.
SHOWN = {"naive_bayes": "Naive Bayes", "random_forest": "Random forest"}


@dataclass(frozen=True)
class Tour(Result):
    """Evaluations of two classifiers, by name, and their comparison."""

    evaluations: dict[str, Evaluation]
    comparison: Comparison

    def contents(self) -> dict[str, Callable[[], Any]]:
        """Make the picture."""
        return {"plot": lambda: picture(self.evaluations)}

    def show(self, screen: "Console", *, details: bool = False) -> None:
        """Print the evaluations, the comparison, and commands for other predictions."""
        n_rows = next(iter(self.evaluations.values())).counts.n_rows
        screen.print()
        screen.print(text_of("demonstration", n_rows=n_rows))
        for name, evaluation in self.evaluations.items():
            screen.print()
            screen.rule(name, align="left")
            show_sheet(screen, evaluation.sheet(), details=False)
        screen.rule("Which is better calibrated?", align="left")
        screen.print("\n" + in_plain_words(self.evaluations))
        show_sheet(screen, difference_sheet(self.comparison, registered()["ece"]), details=True)
        _your_own(screen)


def show_digits() -> Tour:
    """Evaluate and compare two classifiers of handwritten digits."""
    digits = load_digits()
    evaluations = {}
    for model, name in SHOWN.items():
        evaluation = evaluate(digits.y_true, digits.y_prob[model], rng=SEED)
        assert isinstance(evaluation, Evaluation)
        evaluations[name] = evaluation
    probabilities = {name: digits.y_prob[model] for model, name in SHOWN.items()}
    return Tour(evaluations, compare(digits.y_true, probabilities, rng=SEED))


def in_plain_words(evaluations: dict[str, Evaluation]) -> str:
    """Return the calibration error of each classifier, its direction and the accuracy, in one sentence each."""
    return " ".join(
        f"{name}: off by {e.ece.mean():.3f} on average, {_direction(e)}; right in "
        f"{100 * (e.counts.k.sum() / e.counts.n_rows):.0f} % of the cases."
        for name, e in evaluations.items()
    )


def _direction(evaluation: Evaluation) -> str:
    """Return the direction of most of the error."""
    over, under = evaluation.overconfidence.mean(), evaluation.underconfidence.mean()
    if max(over, under) < 2 * min(over, under):
        return "in both directions"
    share = "nearly always" if max(over, under) > 10 * min(over, under) else "mostly"
    return f"{share} overconfident" if over > under else f"{share} underconfident"


def _your_own(screen: "Console") -> None:
    screen.rule("The same for your own predictions", align="left")
    both = " ".join(f"--prob-prefix {shlex.quote(f'{name}={model}_')}" for model, name in SHOWN.items())
    for title, code in your_own(file=shlex.quote(str(path("digits"))), both=both):
        screen.print(f"\n{title}:\n")
        screen.print(textwrap.indent(code.rstrip(), "    "), style="bold", soft_wrap=True)
    screen.print("\nAll options: bayescal report --help, bayescal compare --help\n")


def your_own(**places: str) -> list[list[str]]:
    """Return titles and code for predictions of the reader, from ``tour.txt``, with the places of files filled in."""
    text = Template(Path(__file__).with_suffix(".txt").read_text(encoding="utf-8")).safe_substitute(places)
    return [part.split("\n", 1) for part in text.split("\n\n")]
