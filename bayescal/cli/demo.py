"""``bayescal demo``: two real classifiers, what they are worth, and how to ask the same of one's own."""

import shlex
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING

from bayescal import _render
from bayescal._files import replacing
from bayescal.analyses.compare import compare
from bayescal.cli import outputs
from bayescal.cli.compare import show_differences
from bayescal.cli.report import show
from bayescal.cli.words import console
from bayescal.datasets import load_digits, path
from bayescal.estimands.estimand import registered
from bayescal.evaluate import evaluate
from bayescal.report.document import PROB
from bayescal.report.figure import picture
from bayescal.results.evaluation import Evaluation

if TYPE_CHECKING:
    from rich.console import Console

SEED = 1
PICTURE = "bayescal-demo.png"
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


def run() -> None:
    """Evaluate and compare two models of the digits, print what was found, save a picture in the current folder.

    Raises
    ------
    OSError
        If the current folder cannot be written to.
    """
    target = outputs.check({"plot": Path.cwd() / PICTURE})["plot"]
    digits = load_digits()
    evaluations = {}
    for model, name in SHOWN.items():
        found = evaluate(digits.y_true, digits.y_prob[model], rng=SEED)
        assert isinstance(found, Evaluation)
        evaluations[name] = found
    probabilities = {name: digits.y_prob[model] for model, name in SHOWN.items()}
    comparison = compare(digits.y_true, probabilities, rng=SEED)
    with replacing([target]) as (draft,):
        outputs.save_figure(draft, picture(evaluations))

    screen = console()
    screen.print()
    screen.print(
        f"Two classifiers have named the digit in {len(digits.y_true)} handwritten images and said how sure they are. "
        "Does 90 % sure mean right 90 times out of 100? The Expected Calibration Error (ECE) is how far off that is "
        "on average."
    )
    for name, evaluation in evaluations.items():
        screen.print()
        screen.rule(name, align="left")
        show(screen, evaluation)
    screen.rule("Which is better calibrated?", align="left")
    screen.print("\n" + in_plain_words(evaluations) + "\n")
    screen.print(comparison.sentence(PROB))
    show_differences(screen, comparison, registered()["ece"])
    screen.print(f"Picture saved: {_render.visible(target)}\n", soft_wrap=True)
    _your_own(screen)


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
