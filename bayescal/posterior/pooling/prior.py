"""The prior of partial pooling: components of the mixture, and their prior weights."""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from bayescal._arrays import Floats

#: Centres from which groups deviate: the curve of all rows, and exact calibration. Groups that are evaluated alone have
#: none.
COMMON, DIAGONAL, ALONE = "common", "diagonal", "alone"
#: Standard deviations over groups of the intercept and the slope; (0, 0) is no drift.
DRIFT_SDS = (
    *((0.0, 0.0), (0.1, 0.1), (0.25, 0.25), (0.7, 0.7)),
    *((0.1, 0.0), (0.16, 0.0), (0.25, 0.0), (0.4, 0.0), (0.7, 0.0)),
)
#: Standard deviations of accuracies around their drift, in units of sqrt(h (1 - h)); 0 is no residual.
TAUS = (0.0, 0.03, 0.08, 0.2)
PSEUDO_GROUPS = 4.0  #: Prior weight of the weights, in groups, if each group has a component of its own.
TOGETHER = 0.25  #: Share of the draws in which all groups have the same component.
#: Precisions of the masses of the bins around the shares of all rows.
PRECISIONS = tuple(np.geomspace(3.0, 3e4, 9).tolist())
#: Prior weight of a group that is evaluated alone, and largest share of the draws in which all groups are.
UNLIKE_OTHERS, APART = 1 / 3, 0.5
#: That share decreases with the square root of the ratio of marginal likelihoods, once its logarithm exceeds this.
REFUTED = 3.0
#: Factor of the prior weight of a component without residual, and of one without drift from exact calibration.
SIMPLER = 2.0


class Component(NamedTuple):
    """How groups deviate: from which centre, and the standard deviations of intercept, slope and residual."""

    centre: str
    intercept_sd: float
    slope_sd: float
    tau: float

    @property
    def exact(self) -> bool:
        """Whether groups do not deviate from the centre."""
        return self.intercept_sd == self.slope_sd == self.tau == 0


@dataclass(frozen=True)
class PoolingPrior:
    """Constants of the prior of partial pooling.

    Parameters
    ----------
    drift_sds : tuple of (float, float)
        Standard deviations of intercept and slope.
    taus : tuple of float
        Standard deviations of the residuals, in [0, 1).
    centres : tuple of str
        Centres: ``"common"``, ``"diagonal"`` or both.
    pseudo_groups : float
        Weight of the prior of the weights, in groups.
    together : float
        Share of the draws in which all groups have the same component, in [0, 1]. It is fixed: the data do not choose
        between the two families.
    precisions : tuple of float
        Equally probable precisions of the masses of the bins, in rows.
    alone : float, default 0
        Prior weight of one more component, the last one, in [0, 1): the group is evaluated alone; see `Alone`.
    apart : float, default 0
        Largest share of the draws in which all groups are evaluated alone, in [0, 1); only if `alone` > 0.

    Examples
    --------
    >>> from bayescal.posterior.pooling.prior import PoolingPrior
    >>> prior = PoolingPrior()
    >>> len(prior.components), prior.components[0]
    (72, Component(centre='common', intercept_sd=0.0, slope_sd=0.0, tau=0.0))
    >>> round(float(prior.weights[0]), 3)
    0.021
    """

    drift_sds: tuple[tuple[float, float], ...] = DRIFT_SDS
    taus: tuple[float, ...] = TAUS
    centres: tuple[str, ...] = (COMMON, DIAGONAL)
    pseudo_groups: float = PSEUDO_GROUPS
    together: float = TOGETHER
    precisions: tuple[float, ...] = PRECISIONS
    alone: float = 0.0
    apart: float = 0.0

    @cached_property
    def scales(self) -> tuple[tuple[float, float, float], ...]:
        """Standard deviations of intercept, slope and residual, the same for each centre."""
        return tuple((*drift, tau) for tau in self.taus for drift in self.drift_sds)

    @cached_property
    def components(self) -> tuple[Component, ...]:
        """The components: every scale around the first centre, then around the second; then groups alone, if any."""
        return (*self.pooled, *[Component(ALONE, 0.0, 0.0, 0.0)] * (self.alone > 0))

    @property
    def pooled(self) -> tuple[Component, ...]:
        """The components of groups that deviate from a centre."""
        return tuple(Component(centre, *scale) for centre in self.centres for scale in self.scales)

    @cached_property
    def weights(self) -> Floats:
        """Prior weights of the components, shape (n_components,); they add up to 1."""
        without = [c.centre == DIAGONAL and c.intercept_sd == c.slope_sd == 0 for c in self.pooled]
        plain = [SIMPLER ** ((c.tau == 0) + each) for c, each in zip(self.pooled, without, strict=True)]
        weights = np.array(plain) / np.sum(plain)
        return np.append((1 - self.alone) * weights, self.alone) if self.alone > 0 else weights


DEVIATING = PoolingPrior()  #: The prior of groups that all deviate from a centre.
PARTIAL = PoolingPrior(alone=UNLIKE_OTHERS, apart=APART)  #: The default of partial pooling.
#: All groups have the curve of all rows.
COMPLETE = PoolingPrior(drift_sds=((0.0, 0.0),), taus=(0.0,), centres=(COMMON,))
