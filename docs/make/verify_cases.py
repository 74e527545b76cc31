"""The posteriors that `make verify` compares with PyMC, and the simulators of its simulation-based calibration.

To add a row, add an entry to `of_named_quantities` or `of_bins`, and to `simulators`. The seed of each row derives from
its name, so a new row does not change the others; ``python docs/make/verify.py --only NAME`` runs it alone.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
from sbc.cell_shift import CellShiftSimulator
from sbc.class_priors import ClassPriorSimulator
from sbc.judge import JudgeSimulator
from sbc.net_benefit import NetBenefitSimulator
from sbc.pooling import PoolingSimulator
from sbc.random_effects import RandomEffectsSimulator
from sbc.recalibration import RecalibrationSimulator
from sbc.selection import SelectionSimulator
from sbc.simulators import dirichlet_simulator, shrinkage_simulator
from sbc.smooth_curve import SmoothCurveSimulator
from twins.clinical import RecalibrationTwin, SmoothCurveTwin
from twins.examples import few_groups, four_cells, simulated_curve, three_classes, two_classes
from twins.net_benefit import NetBenefitTwin
from twins.pooling import PoolingTwin, RandomEffectsTwin, prior_of
from twins.selection import SelectionTwin
from twins.survival import simulated_rows
from twins.two_effects import TwoEffectsTwin

import bayescal as bc
from bayescal.clinical.slope.posterior import recalibration_posterior
from bayescal.cumulative.draws import SUB_MODELS as SEGMENTS
from bayescal.cumulative.draws import segments_posterior
from bayescal.posterior.shrinkage.prior import ENDS, EXACT, INDEPENDENT, NAMES, NOISE, SATURATED, SHARED, SMALL, WORDS

SEED = 4
#: Shipped predictions with most rows in the top bin, and with few rows, nearly all of them in the first and last bin.
DIGITS, CANCER = ("digits", "logistic_regression"), ("breast_cancer", "naive_bayes")
CANCER_FOREST = ("breast_cancer", "random_forest")
CANCER_LOGISTIC = ("breast_cancer", "logistic_regression")
#: Width of the cells of logits, so wide that chains are short, and distance of probabilities from 0 and 1.
CELLS, FLOOR = 0.25, 1e-6
#: Predictions with few rows, most of them near 1, for which chains move freely between the sub-models of noise.
WINE = ("wine", "naive_bayes")
#: Edges of bins of which the first and the last hold confidences within 1e-4 of 0 and of 1.
SATURATED_ENDS = (0.0, 0.0001, 0.1, 0.5, 0.9, 0.9999, 1.0)
#: The same for simulation-based calibration, with two such bins at each end.
SATURATED_BINS = (0, 4e-5, 8e-5, 0.4, 0.7, 1 - 8e-5, 1 - 4e-5, 1)
#: Right sampler of the picture.
SHOWN_SAMPLER = "independent bins, 500 rows"
#: Share of the data sets that samplers run of which one takes a third of a second.
OF_JUDGE = "labels of a judge, 300 rows, 60 checked"
SHARE_OF_RUNS = {OF_JUDGE: 0.2}
#: Models that are compared with --quick; `make references QUICK=1` samples the Dirichlet model.
QUICK = ("shrinkage: smooth drift",)


def counts_of(data: tuple[str, str], bins: Any = 15) -> bc.BinnedCounts:
    """Count a shipped prediction set as `evaluate` does."""
    stored = getattr(bc.datasets, f"load_{data[0]}")()
    return bc.evaluate(stored.y_true, stored.y_prob[data[1]], bins=bins, draws=2, rng=SEED).counts


def net_benefit_twin(prevalence: float | None = None) -> NetBenefitTwin:
    """Take few rows of two classifiers, so that the prior matters, at two thresholds."""
    stored = bc.datasets.load_breast_cancer()
    names = ("naive_bayes", "random_forest") if prevalence is None else ("random_forest",)
    scores = {name: stored.y_prob[name][::8] for name in names}
    return NetBenefitTwin(bc.ThresholdCounts.from_arrays(stored.y_true[::8], scores, [0.2, 0.7]), prevalence)


def words_of(data: tuple[str, str]) -> str:
    """Return the name of a prediction set in words."""
    return " ".join(data).replace("_", " ")


@dataclass(frozen=True)
class Case:
    """A posterior that is compared with PyMC: its name, words for its data, a function that makes it, options."""

    name: str
    data: str
    posterior: Callable[[], Any]
    options: Mapping[str, bool] = field(default_factory=dict)


def cases() -> list[Case]:
    """List every closed form that has a PyMC model. A new row may stand anywhere, because rows have own seeds."""
    return [*of_bins(), *of_named_quantities()]


def of_named_quantities() -> Iterator[Case]:
    """Yield twins of posteriors that are not about bins."""
    for data in (DIGITS, CANCER_LOGISTIC):
        yield Case("intercept and slope", words_of(data), partial(recalibration_twin, data))
    yield Case("net benefit of two models", "breast cancer, every eighth row", net_benefit_twin)
    yield Case(
        "net benefit, known prevalence", "breast cancer, every eighth row", lambda: net_benefit_twin(prevalence=0.1)
    )
    cells = np.array([[1, 2, 2, 5, 4, 6], [14, 9, 7, 6, 4, 5]], float)
    yield Case("selective prediction", "65 rows in six cells", partial(SelectionTwin, cells))
    yield Case("random effects", "8 differences", random_effects_twin)
    yield Case("two random effects", "6 centres", two_effects_twin)
    yield Case("survival curve of one bin", "132 simulated rows", simulated_rows)
    yield Case("smooth curve", "600 simulated rows", lambda: SmoothCurveTwin(simulated_curve()))
    yield Case("class frequencies from cells", "three classes in six cells", three_classes)
    yield Case("class frequencies from cells", "two classes, ten rows of the target per labelled row", two_classes)
    yield Case("shift of cells", "four cells, 60 and 50 rows", four_cells)
    yield Case("groups with own components", "three small groups", lambda: pooling_twin(together=False))
    yield Case("groups with the same component", "three small groups", lambda: pooling_twin(together=True))
    yield Case("groups that may be alone", "three small groups", lambda: pooling_twin(together=False, alone=0.4))


def pooling_twin(*, together: bool, alone: float = 0.0) -> PoolingTwin:
    """Make the twin of one family of partial pooling."""
    return PoolingTwin(few_groups(), prior_of(together=together, alone=alone))


def random_effects_twin() -> RandomEffectsTwin:
    """Make the twin of eight differences between data sets, with errors of different size."""
    estimate = [0.031, -0.012, 0.048, 0.022, 0.067, 0.005, 0.018, -0.003]
    error = [0.012, 0.018, 0.009, 0.025, 0.015, 0.007, 0.030, 0.011]
    return RandomEffectsTwin(np.array(estimate), np.array(error), scale=0.05)


def two_effects_twin() -> TwoEffectsTwin:
    """Make the twin of the lines of six centres, whose estimates are correlated and of different precision."""
    estimate = [[0.42, 0.61], [-0.15, 0.93], [0.10, 1.12], [0.65, 0.55], [0.22, 0.80], [-0.40, 1.05]]
    sd, rho = np.array([[0.2, 0.15], [0.1, 0.2], [0.3, 0.25], [0.15, 0.1], [0.25, 0.2], [0.2, 0.3]]), 0.3
    covariance = np.einsum("ja,jb->jab", sd, sd) * np.array([[1.0, rho], [rho, 1.0]])
    return TwoEffectsTwin(np.array(estimate), covariance)


def recalibration_twin(data: tuple[str, str]) -> RecalibrationTwin:
    """Make the twin of intercept and slope of a shipped prediction set; of several classes, of the most probable."""
    stored = getattr(bc.datasets, f"load_{data[0]}")()
    p = stored.y_prob[data[1]]
    y, p = (stored.y_true, p) if p.ndim == 1 else (p.argmax(axis=1) == stored.y_true, p.max(axis=1))
    counts = bc.LogitCounts.from_arrays(y, p, step=CELLS).floored(FLOOR)
    return RecalibrationTwin(recalibration_posterior(counts))


def of_bins() -> Iterator[Case]:
    """Yield posteriors of the bins."""
    for alpha in ("two-rows", "jeffreys"):
        yield of(f"Dirichlet model, {alpha} prior", DIGITS, bc.dirichlet_posterior, alpha=alpha)
    yield of("Dirichlet model, two-rows prior", CANCER, bc.dirichlet_posterior)
    for name in NAMES:
        if name not in (EXACT, ENDS):  # see `exact_calibration`, and below
            yield of(f"shrinkage: {WORDS[name]}", DIGITS, bc.shrinkage_posterior, sub_models=[name])
    yield of(f"shrinkage: {WORDS[ENDS]}", CANCER, bc.shrinkage_posterior, sub_models=[ENDS])
    yield of("shrinkage: noisy labels", WINE, bc.shrinkage_posterior, sub_models=[NOISE, EXACT])
    noise = [NOISE, SATURATED]
    yield of("shrinkage: saturated bins and noise", CANCER, bc.shrinkage_posterior, SATURATED_ENDS, sub_models=noise)
    for data in (DIGITS, CANCER):
        yield of("shrinkage: independent bins", data, bc.shrinkage_posterior, sub_models=[INDEPENDENT])
    for data in (DIGITS, CANCER_FOREST):
        yield of("shrinkage: the default", data, bc.shrinkage_posterior)
    yield of("segments model", DIGITS, segments_posterior)
    calibrated = of("shrinkage: p_calibrated", DIGITS, bc.shrinkage_posterior)
    yield replace(calibrated, options={"with_calibrated": True})


def of(name: str, data: tuple[str, str], posterior: Callable[..., Any], bins: Any = 15, **options: Any) -> Case:
    """Make the case of a posterior of the bins of a shipped prediction set."""
    return Case(name, words_of(data), lambda: posterior(counts_of(data, bins), **options))


def simulators() -> dict[str, Any]:
    """Simulators of every sampler under several priors; 15 bins, or 7 if some are saturated."""
    return {
        "Dirichlet model, two-rows prior": dirichlet_simulator(),
        "Dirichlet model, jeffreys prior": dirichlet_simulator(alpha="jeffreys"),
        "Dirichlet model, uniform prior": dirichlet_simulator(alpha="uniform"),
        "Dirichlet model, jeffreys prior, weights": dirichlet_simulator(alpha="jeffreys", weight=3.0, discarded=60),
        SHOWN_SAMPLER: shrinkage_simulator(),
        "independent bins, 20 rows": shrinkage_simulator(rows=20),
        "shared errors, 500 rows": shrinkage_simulator(sub_models=[SHARED]),
        "shared errors, 20 rows": shrinkage_simulator(sub_models=[SHARED], rows=20),
        "small errors, 500 rows": shrinkage_simulator(sub_models=[SMALL]),
        "small errors, 20 rows": shrinkage_simulator(sub_models=[SMALL], rows=20),
        "noisy labels, 500 rows": shrinkage_simulator(sub_models=[NOISE]),
        "noisy labels, 20 rows": shrinkage_simulator(sub_models=[NOISE], rows=20),
        "noisy labels, crowded ends, 500 rows": shrinkage_simulator(sub_models=[NOISE, EXACT], crowded=True),
        "segments model, 500 rows": shrinkage_simulator(sub_models=SEGMENTS, pool=False),
        "segments model, 20 rows": shrinkage_simulator(sub_models=SEGMENTS, pool=False, rows=20),
        "all but independent bins, 500 rows": shrinkage_simulator(sub_models=[SHARED, NOISE, EXACT]),
        "intercept and slope, 200 rows": RecalibrationSimulator(),
        "smooth curve, 10 bins of 20 rows": SmoothCurveSimulator(),
        "smooth curve, 10 bins of 10 rows": SmoothCurveSimulator(rows_per_bin=10),
        "smooth curve, 15 bins of 60 rows": SmoothCurveSimulator(rows_per_bin=60, n_bins=15),
        "groups with own components, 4 of 40 rows": PoolingSimulator(),
        "groups with the same component, 4 of 40 rows": PoolingSimulator(together=True),
        "groups with own components, 8 of 15 rows": PoolingSimulator(n_groups=8, rows=15),
        "groups that may be alone, 4 of 40 rows": PoolingSimulator(alone=0.4),
        "intercept and slope, 30 rows": RecalibrationSimulator(rows=30, shape=(0.5, 8.0)),
        "net benefit of two models, 30 rows": NetBenefitSimulator(),
        "random effects, 5 data sets": RandomEffectsSimulator(),
        "random effects, 30 data sets": RandomEffectsSimulator(30),
        "net benefit of one model, 200 rows": NetBenefitSimulator(("a",), rows=200),
        "class frequencies, 2 classes": ClassPriorSimulator(),
        "class frequencies, 2 classes, large target": ClassPriorSimulator(source_rows=30, target_rows=3000),
        "class frequencies, 3 classes": ClassPriorSimulator(3, n_ranges=1),
        "shift of cells, 4 cells": CellShiftSimulator(),
        "shift of cells, 10 cells": CellShiftSimulator(10, rows=(300, 200)),
        "saturated bins, 200 rows": shrinkage_simulator(bins=SATURATED_BINS, rows=200, sub_models=[NOISE, SATURATED]),
        OF_JUDGE: JudgeSimulator(),
        "selective prediction, 30 rows": SelectionSimulator(),
        "selective prediction, 500 rows": SelectionSimulator(20, 500),
    }
