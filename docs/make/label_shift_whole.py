"""Compare errors under label shift, which bayescal computes from class frequencies, with a model of all rows in PyMC;
write docs/explanation/shift.md: part of `make verify`.
"""

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pages import cells, rounded, save_parts, table
from scipy.special import expit
from scipy.stats import beta, norm
from studies import about, run_study
from twins.shift import LabelShiftTwin

import bayescal as bc
from bayescal.posterior.shrinkage.model import shrinkage_posterior
from bayescal.shift.label_shift import pooled
from bayescal.shift.label_shift_result import LabelShiftEvaluation
from bayescal.verify.chains import agreement
from bayescal.verify.topic_models import SUB_MODEL

Floats = NDArray[np.float64]

SEED, ROWS, BINS = 21, 500, 10
#: Standard deviation of the intercept that is so large that its prior hardly informs about frequencies.
WIDE = 5.0
#: Points of a grid that stands for the population.
GRID = 40_001
DRAWS, FREQUENCIES = 20_000, 1000


@dataclass(frozen=True)
class DataSet:
    """Simulated predictions: scores of classes N(-1, 1) and N(1, 1); half of the source has the event."""

    factor: float
    share: float
    adapted: bool = False
    intercept_sd: float = 0.5
    #: Seed of the chains. Those of some seeds have divergent transitions; the command stops if they have.
    chains_seed: int = SEED

    def __str__(self) -> str:
        kind = "adapted" if self.adapted else "raw"
        wide = f", intercept N(0, {self.intercept_sd:g}²)" if self.intercept_sd == WIDE else ""
        return f"factor {self.factor:g}, frequency {self.share:g}, {kind}{wide}"

    @property
    def options(self) -> dict[str, Any]:
        """Options of the prior."""
        return {"sub_models": [SUB_MODEL], "intercept_sd": self.intercept_sd}

    def evaluate(self) -> tuple[LabelShiftEvaluation, float]:
        """Evaluate the target, and compute the true ECE with these bins."""
        rng = np.random.default_rng(SEED)
        y, y_target = np.arange(ROWS) % 2, rng.random(ROWS) < self.share
        p, p_target = (expit(2 * self.factor * rng.normal(2.0 * each - 1, 1)) for each in (y, y_target))
        options: dict[str, Any] = {"bins": BINS, "binning": "equal-mass", **self.options}
        raw = bc.evaluate_shifted(y, p, p_target, shift="label", draws=DRAWS, rng=SEED, **options)
        x = np.linspace(-7, 7, GRID)
        stated = expit(2 * self.factor * x)
        found, scores = (raw.adapted, raw.adapt(stated)) if self.adapted else (raw, stated)
        zero, one = (1 - self.share) * norm.pdf(x, -1), self.share * norm.pdf(x, 1)
        at = np.clip(np.searchsorted(found.counts.bins.edges, scores, side="right") - 1, 0, BINS - 1)
        gap = np.bincount(at, one - (zero + one) * scores, BINS)
        return found, float(np.abs(gap).sum() / (zero + one).sum())


SETS = (
    DataSet(1.5, 0.3),
    DataSet(1.0, 0.15),
    DataSet(1.0, 0.15, intercept_sd=WIDE, chains_seed=22),
    DataSet(1.0, 0.15, adapted=True),
)


def given_frequencies(evaluation: LabelShiftEvaluation, options: dict[str, Any], mean: float, sd: float) -> bc.Draws:
    """Compute the ECE as `evaluate_shifted` does, from frequencies with a Beta distribution of this mean and sd."""
    size = mean * (1 - mean) / sd**2 - 1
    share = beta(mean * size, (1 - mean) * size).ppf((np.arange(FREQUENCIES) + 0.5) / FREQUENCIES)
    make = partial(shrinkage_posterior, **options)
    posterior = pooled(make, np.stack([1 - share, share], axis=1), evaluation.counts)
    return bc.ece(posterior.sample(DRAWS, rng=SEED))


def compared(options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Yield one row per data set; of each quantity its mean and standard deviation, (bayescal, PyMC)."""
    for data in SETS[: options.repeats]:
        evaluation, truth = data.evaluate()
        found = agreement(LabelShiftTwin(evaluation), draws=options.draws, rng=data.chains_seed)
        error, frequency, below, within = found.rows
        given = given_frequencies(evaluation, data.options, frequency["pymc"], frequency["pymc_sd"])
        yield {
            "predictions": str(data),
            "ece": [error["closed"], error["pymc"], given.mean()],
            "ece_sd": [error["closed_sd"], error["pymc_sd"], given.sd()],
            "frequency": [frequency["closed"], frequency["pymc"]],
            "frequency_sd": [frequency["closed_sd"], frequency["pymc_sd"]],
            "truth": truth,
            "outside": [below["pymc"], 1 - within["pymc"]],
            "se": error["se"],
            "r_hat": found.worst_r_hat,
            "draws": found.reference.draws,
            "problems": found.reference.problems,
        }


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Compare all data sets; stop if chains have not converged."""
    rows = list(compared(options))
    unconverged = [f"{row['predictions']}: {row['problems']}" for row in rows if row["problems"]]
    if unconverged and not options.quick:
        raise SystemExit("chains have not converged: " + "; ".join(unconverged))
    return rounded(about(SEED, {"rows": rows}))


def tables(numbers: dict[str, Any]) -> dict[str, str]:
    """Return the text between the markers of the page."""
    form = (
        "{predictions}|{truth:.4f}|{ece[0]:.4f} ± {ece_sd[0]:.4f}|{ece[1]:.4f} ± {ece_sd[1]:.4f}"
        "|{outside[0]:.3f} / {outside[1]:.3f}|{frequency[0]:.3f} ± {frequency_sd[0]:.3f}"
        "|{frequency[1]:.3f} ± {frequency_sd[1]:.3f}|{ece[2]:.4f} ± {ece_sd[2]:.4f}"
    )
    head = (
        "Predictions | True ECE: | ECE: | ECE, PyMC: | Below / above the interval: | Frequency: "
        "| Frequency, PyMC: | ECE given the frequencies of PyMC:"
    )
    return {"label_whole": table(head, cells(numbers["rows"], form))}


def main() -> None:
    """Run the command line."""
    run_study(
        __doc__,
        measure=measure,
        tables=tables,
        numbers="label_shift_whole.json",
        page="shift.md",
        save=save_parts,
        shown=("label_whole",),
        command="make verify",
        repeats=(len(SETS), 1),
        draws=(10_000, 2000),
    )


if __name__ == "__main__":
    main()
