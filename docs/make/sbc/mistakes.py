"""The registry of wrong samplers, and the simulators on which each is tested."""

from functools import cache

import numpy as np

from bayescal.cumulative.draws import SUB_MODELS as SEGMENTS
from bayescal.posterior.shrinkage.prior import ENDS, EXACT, NOISE, SHARED, SMALL
from sbc.cell_shift import CELL_SHIFT_MISTAKES, CellShiftSimulator
from sbc.class_priors import CLASS_PRIOR_MISTAKES, ClassPriorSimulator
from sbc.control import Control
from sbc.judge import JUDGE_MISTAKES, JUDGE_PROBLEMS
from sbc.net_benefit import NET_BENEFIT_MISTAKES, NetBenefitSimulator
from sbc.pooling import LONE, OWN, POOLING_MISTAKES, SAME, UNSPOILT_POOLING, PoolingSimulator
from sbc.random_effects import RANDOM_EFFECTS_MISTAKES, RandomEffectsSimulator
from sbc.ranks import NamedSimulator, Simulator
from sbc.recalibration import RECALIBRATION_MISTAKES, UNSPOILT_RECALIBRATION, RecalibrationSimulator
from sbc.selection import OF_SELECTION, SELECTION_MISTAKES, SelectionSimulator
from sbc.simulators import dirichlet_simulator, shrinkage_simulator
from sbc.smooth_curve import SMOOTH_CURVE_MISTAKES, UNSPOILT_SMOOTH_CURVE, SmoothCurveSimulator
from sbc.wrong_dirichlet import DIRICHLET_MISTAKES
from sbc.wrong_families import FAMILY_MISTAKES, UNSPOILT_FAMILIES
from sbc.wrong_shrinkage import SHRINKAGE_MISTAKES, UNSPOILT

#: Edges on one side of 0.5, where intercept and slope are correlated.
HIGH_CONFIDENCES = (0, 0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95, 0.98, 1)
#: Two bins at each end in which all confidences are within 1e-4 of it.
SATURATED_ENDS = (0, 4e-5, 8e-5, 0.4, 0.7, 1 - 8e-5, 1 - 4e-5, 1)


@cache
def problems() -> dict[str, Simulator | NamedSimulator]:
    """Simulators by name; the right sampler passes on each."""
    skew = np.stack([np.linspace(0.5, 3.0, 10), np.linspace(2.0, 0.25, 10)])
    return {
        "weak prior": dirichlet_simulator(),
        "jeffreys": dirichlet_simulator(alpha="jeffreys", bins=10),
        "uniform": dirichlet_simulator(alpha="uniform", bins=10, rows=100),
        "few rows": dirichlet_simulator(alpha="uniform", bins=10, rows=15),
        "three bins": dirichlet_simulator(alpha="uniform", bins=3, rows=3),
        "skew prior": dirichlet_simulator(alpha=skew, bins=10, rows=100),
        "weights": dirichlet_simulator(alpha="jeffreys", bins=10, weight=3.0, discarded=60),
        "shrinkage": shrinkage_simulator(bins=9, rows=150),
        "many rows": shrinkage_simulator(bins=9, rows=30_000),
        # truths come from one sub-model only, so that four others do not hide an error in it
        "drift": shrinkage_simulator(bins=HIGH_CONFIDENCES, rows=60, sub_model_weights=(1, 0, 0, 0, 0)),
        "dense": shrinkage_simulator(bins=9, rows=60, sub_model_weights=(0, 1, 0, 0, 0)),
        "sparse": shrinkage_simulator(bins=9, rows=600, sub_model_weights=(0, 0, 1, 0, 0)),
        "runs": shrinkage_simulator(bins=9, rows=300, sub_models=["runs"]),
        "segments": shrinkage_simulator(bins=9, rows=600, sub_models=SEGMENTS, pool=False),
        "offset": shrinkage_simulator(bins=9, rows=900, sub_models=["offset"]),
        "small errors": shrinkage_simulator(bins=9, rows=90, sub_models=[SMALL]),
        "label_noise": shrinkage_simulator(bins=9, rows=150, sub_models=["label_noise_any_rate"]),
        ENDS: shrinkage_simulator(bins=9, rows=150, sub_models=[ENDS], crowded=True),
        "saturated": shrinkage_simulator(bins=SATURATED_ENDS, rows=150, sub_models=["label_noise", "saturated"]),
        # one family of the pool, and all outside it
        "shared errors and others": shrinkage_simulator(bins=9, rows=3000, sub_models=[SHARED, NOISE, EXACT]),
        "intercept and slope": RecalibrationSimulator(),
        "net benefit": NetBenefitSimulator(),
        OF_SELECTION: SelectionSimulator(),
        "smooth curve": SmoothCurveSimulator(),
        "random effects": RandomEffectsSimulator(),
        "class frequencies": ClassPriorSimulator(),
        "shift of cells": CellShiftSimulator(),
        **JUDGE_PROBLEMS,
        OWN: PoolingSimulator(),
        SAME: PoolingSimulator(together=True),
        LONE: PoolingSimulator(alone=0.4),
    }


def controls(of: str | None = None) -> tuple[Control, ...]:
    """All positive controls, or those of one sampler.

    For a mistake in another sampler, make a `Control` whose `of` names the sampler, and add its simulator to
    `problems`. The `sample` method of the simulator is the right sampler; the wrong one is any function
    ``(counts, n_draws, rng) -> BinDraws``.

    Parameters
    ----------
    of : str, optional
        Name of the sampler: "dirichlet", "shrinkage", "recalibration", "net benefit", "smooth curve", "random effects",
        "pooling", "class frequencies", "shift of cells", "judge" or "selection". By default all.

    Returns
    -------
    tuple of Control
        Controls whose names are unique for each sampler.

    Examples
    --------
    >>> samplers = ("dirichlet", "shrinkage", "recalibration", "net benefit", "smooth curve", "random effects")
    >>> samplers += ("pooling", "class frequencies", "shift of cells", "judge", "selection")
    >>> len(controls()) == sum(len(controls(of)) for of in samplers)
    True
    """
    every = (
        *DIRICHLET_MISTAKES,
        *SHRINKAGE_MISTAKES,
        *FAMILY_MISTAKES,
        *RECALIBRATION_MISTAKES,
        *NET_BENEFIT_MISTAKES,
        *SELECTION_MISTAKES,
        *SMOOTH_CURVE_MISTAKES,
        *RANDOM_EFFECTS_MISTAKES,
        *POOLING_MISTAKES,
        *CLASS_PRIOR_MISTAKES,
        *CELL_SHIFT_MISTAKES,
        *JUDGE_MISTAKES,
    )
    return tuple(c for c in every if of in (None, c.of))


def unspoilt() -> tuple[Control, ...]:
    """Controls without a mistake, none of which may be caught.

    Several wrong samplers draw some values again. These controls do the same without the mistake, which shows that the
    mistake is detected and not the additional step.

    Returns
    -------
    tuple of Control
        Right samplers, for ``run_controls(chosen=unspoilt())``.
    """
    return (*UNSPOILT, *UNSPOILT_FAMILIES, *UNSPOILT_RECALIBRATION, *UNSPOILT_SMOOTH_CURVE, *UNSPOILT_POOLING)
