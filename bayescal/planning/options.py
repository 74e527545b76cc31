"""Options of ``bayescal plan-validation``."""

from dataclasses import dataclass
from pathlib import Path

from bayescal._texts import read_texts
from bayescal.cli import options as cli

HELP = read_texts(Path(__file__).with_suffix(".txt"))

NUMBERS, FORM = "Published numbers", "NUMBER or MEAN,LOW,HIGH"


@dataclass(frozen=True)
class ValidationOptions(cli.Options):
    """Published numbers of a risk model, and goals."""

    prevalence: str | None = cli.option(NUMBERS, FORM, HELP["prevalence"])
    auc: str | None = cli.option(NUMBERS, FORM, HELP["auc"])
    slope: str | None = cli.option(NUMBERS, FORM, HELP["slope"])
    observed_expected: str | None = cli.option(NUMBERS, FORM, HELP["observed_expected"])
    intercept: str | None = cli.option(NUMBERS, FORM, HELP["intercept"])
    mean_risk: str | None = cli.option(NUMBERS, FORM, HELP["mean_risk"])
    width: list[str] | None = cli.option(cli.GOAL, "NAME=WIDTH", HELP["width"])
    threshold: float | None = cli.option(cli.GOAL, "NUMBER", HELP["threshold"], parser=cli.number)
    best: float | None = cli.option(cli.GOAL, "SHARE", HELP["best"], parser=cli.number)
    information: float | None = cli.option(cli.GOAL, "SHARE", HELP["information"], parser=cli.number)
    assurance: float | None = cli.option(cli.GOAL, "SHARE", HELP["assurance"], parser=cli.number)
    largest: int | None = cli.option(cli.GOAL, "NUMBER", HELP["largest"])
    simulations: int | None = cli.option(cli.GOAL, "NUMBER", HELP["simulations"])
    seed: int = cli.option(cli.MODEL, "NUMBER", cli.SEED, min=0, default=1)
