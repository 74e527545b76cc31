"""``bayescal demo``: two real classifiers, what they are worth, and how to ask the same of one's own."""

import shlex
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bayescal.analyses.compare import compare
from bayescal.cli.command import Result
from bayescal.cli.comparison import show_differences
from bayescal.cli.evaluation import show_evaluation
from bayescal.datasets import load_digits, path
from bayescal.estimands.estimand import registered
from bayescal.evaluate import evaluate
from bayescal.report.document import PROB
from bayescal.report.figure import picture
from bayescal.results.comparison import Comparison
from bayescal.results.evaluation import Evaluation

if TYPE_CHECKING:
    from rich.console import Console

SEED = 1
#: Model in the data set, and what it is called.
SHOWN = {"naive_bayes": "Naive Bayes", "random_forest": "Random forest"}
YOUR_OWN_PYTHON = """\
import bayescal as bc
ev = bc.evaluate(y_true, y_prob)     # labels, and one column or one per class
print(ev); bc.plot_reliability(ev)
print(bc.compare(y_true, {"old": y_prob, "new": y_prob_new}))    # on the same rows
"""
YOUR_OWN_SHELL = """\
bayescal report FILE --label COLUMN --prob COLUMN --plot OUT.png
bayescal report FILE --label COLUMN --prob-prefix PREFIX --plot OUT.png
bayescal compare FILE --label COLUMN --prob COLUMN --prob COLUMN
"""


@dataclass(frozen=True)
class Tour(Result):
    """Evaluations of two classifiers, and their comparison.

    Parameters
    ----------
    evaluations : dict of str to Evaluation
        Evaluations by name of the classifier.
    comparison : Comparison
        Their comparison.
    """

    evaluations: dict[str, Evaluation]
    comparison: Comparison

    def contents(self) -> dict[str, Callable[[], Any]]:
        """Make the picture."""
        return {"plot": lambda: picture(self.evaluations)}

    def show(self, screen: "Console") -> None:
        """Print the evaluations, the comparison, and how to get the same for one's own predictions."""
        n_rows = next(iter(self.evaluations.values())).counts.n_rows
        screen.print()
        screen.print(
            f"Two classifiers have named the digit in {n_rows} handwritten images and said how sure they are. "
            "Does 90 % sure mean right 90 times out of 100? The Expected Calibration Error (ECE) is how far off that "
            "is on average."
        )
        for name, evaluation in self.evaluations.items():
            screen.print()
            screen.rule(name, align="left")
            show_evaluation(screen, evaluation)
        screen.rule("Which is better calibrated?", align="left")
        screen.print("\n" + in_plain_words(self.evaluations) + "\n")
        screen.print(self.comparison.sentence(PROB))
        show_differences(screen, self.comparison, registered()["ece"])
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
    """Say how far off each model is, which way, and how often it is right.

    Parameters
    ----------
    evaluations : dict of str to Evaluation
        Results by name.

    Returns
    -------
    str
        A sentence for each.
    """
    return " ".join(
        f"{name}: off by {e.ece.mean():.3f} on average, {_direction(e)}; right in "
        f"{_percent(e.counts.k.sum() / e.counts.n_rows)} of the cases."
        for name, e in evaluations.items()
    )


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def _direction(evaluation: Evaluation) -> str:
    """Which way most of the error goes."""
    over, under = evaluation.overconfidence.mean(), evaluation.underconfidence.mean()
    if max(over, under) < 2 * min(over, under):
        return "in both directions"
    share = "nearly always" if max(over, under) > 10 * min(over, under) else "mostly"
    return f"{share} too sure" if over > under else f"{share} not sure enough"


def _your_own(screen: "Console") -> None:
    screen.rule("The same for your own predictions", align="left")
    file = shlex.quote(str(path("digits")))
    both = " ".join(f"--prob-prefix {shlex.quote(f'{name}={model}_')}" for model, name in SHOWN.items())
    for title, code in (
        ("In Python", YOUR_OWN_PYTHON),
        ("In the shell (Parquet, CSV, TSV or JSON lines)", YOUR_OWN_SHELL),
        (
            "In the shell, what you have just seen",
            f"bayescal report {file} --label label --prob-prefix naive_bayes_\n"
            f"bayescal compare {file} --label label {both}",
        ),
    ):
        screen.print(f"\n{title}:\n")
        screen.print(textwrap.indent(code.rstrip(), "    "), style="bold", soft_wrap=True)
    screen.print("\nEvery option: bayescal report --help, bayescal compare --help\n")
