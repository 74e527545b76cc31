"""Options of ``bayescal plan-validation``."""

from dataclasses import dataclass

from bayescal.cli import options as cli

NUMBERS, FORM = "Published numbers", "NUMBER or MEAN,LOW,HIGH"


@dataclass(frozen=True)
class ValidationOptions(cli.Options):
    """Published numbers of a risk model, and goals."""

    prevalence: str | None = cli.option(NUMBERS, FORM, "Share of rows with the event.")
    auc: str | None = cli.option(NUMBERS, FORM, "AUC, the c-statistic.")
    slope: str | None = cli.option(NUMBERS, FORM, "Calibration slope.")
    observed_expected: str | None = cli.option(NUMBERS, FORM, "Ratio of observed to expected events.")
    intercept: str | None = cli.option(NUMBERS, FORM, "Calibration intercept, in place of --observed-expected.")
    mean_risk: str | None = cli.option(NUMBERS, FORM, "Mean predicted risk, in place of --observed-expected.")
    width: list[str] | None = cli.option(
        cli.GOAL,
        "NAME=WIDTH",
        "Largest width of a 95 % interval: of observed_expected, in_the_large, slope, auc, ece, ici, net_benefit or "
        "standardised_net_benefit. Repeat the option for each quantity.",
    )
    threshold: float | None = cli.option(cli.GOAL, "NUMBER", "Threshold of treatment.", parser=cli.number)
    best: float | None = cli.option(
        cli.GOAL, "SHARE", "Probability of finding the best of: model, treat all, treat none.", parser=cli.number
    )
    information: float | None = cli.option(
        cli.GOAL, "SHARE", "Value of the study as a share of that of perfect information.", parser=cli.number
    )
    assurance: float | None = cli.option(
        cli.GOAL, "SHARE", "Share of studies whose intervals are narrow enough.", parser=cli.number
    )
    largest: int | None = cli.option(cli.GOAL, "NUMBER", "Largest number of rows to consider.")
    simulations: int | None = cli.option(cli.GOAL, "NUMBER", "Number of simulated studies, at least 50.")
    seed: int = cli.option(cli.MODEL, "NUMBER", cli.SEED, min=0, default=1)
