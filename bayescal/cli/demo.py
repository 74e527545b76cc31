"""``bayescal demo``: two real classifiers, what they are worth, and how to ask the same of one's own."""

import shlex
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING

from bayescal.cli import outputs
from bayescal.cli.report import show
from bayescal.cli.words import console
from bayescal.datasets import load_digits, path
from bayescal.evaluate import evaluate
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
"""
YOUR_OWN_SHELL = """\
bayescal report FILE --label COLUMN --prob COLUMN --plot OUT.png
bayescal report FILE --label COLUMN --prob-prefix PREFIX --plot OUT.png
"""


def run() -> None:
    """Evaluate two models of the digits, print what was found, and save a picture in the current folder.

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
    with outputs.replacing([target]) as (draft,):
        outputs.save_figure(draft, outputs.picture(evaluations))

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
    screen.rule("Side by side", align="left")
    screen.print("\n" + in_plain_words(evaluations) + "\n")
    screen.print(f"Picture saved: {target}\n", soft_wrap=True)
    _your_own(screen)


def in_plain_words(evaluations: dict[str, Evaluation]) -> str:
    """Say what two evaluations of the same rows, each taken by itself, show about one another.

    Parameters
    ----------
    evaluations : dict of str to Evaluation
        Two results by name.

    Returns
    -------
    str
        Size and direction of each error, whether the intervals overlap, and what cannot be said without a paired
        comparison.
    """
    (name_a, a), (name_b, b) = evaluations.items()
    (low_a, high_a), (low_b, high_b) = a.ece.interval(outputs.PROB), b.ece.interval(outputs.PROB)
    off = " ".join(
        f"{name}: off by {e.ece.mean():.3f} on average, {_direction(e)}; right in "
        f"{_percent(e.counts.k.sum() / e.counts.n_rows)} of the cases."
        for name, e in evaluations.items()
    )
    both = f"The {_percent(outputs.PROB)} intervals of the two errors"
    if high_a < low_b or high_b < low_a:
        better = name_a if high_a < low_b else name_b
        verdict = f"{both} do not overlap: on these images, {better} is the better calibrated one."
    else:
        verdict = f"{both} overlap: from these alone, neither can be called the better calibrated one."
    return (
        f"{off} {verdict} How large the difference is, and how sure one can be of it, two separate posteriors do not "
        "say, because both models saw the same images: that takes a paired comparison."
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
    digits = path("digits")
    for title, code in (
        ("In Python", YOUR_OWN_PYTHON),
        ("In the shell (Parquet, CSV, TSV or JSON lines)", YOUR_OWN_SHELL),
        (
            "In the shell, what you have just seen",
            f"bayescal report {shlex.quote(str(digits))} --label label --prob-prefix naive_bayes_",
        ),
    ):
        screen.print(f"\n{title}:\n")
        screen.print(textwrap.indent(code.rstrip(), "    "), style="bold", soft_wrap=True)
    screen.print("\nEvery option: bayescal report --help\n")
