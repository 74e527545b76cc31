"""PooledPosterior: the joint posterior of the bins of many groups under partial pooling."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayescal import _checks
from bayescal.draws import BinDraws
from bayescal.posterior.pooling.alone import Alone, AveragesModels, SeparateGroups
from bayescal.posterior.pooling.evidence import Deviations, Rows, deviations
from bayescal.posterior.pooling.group_bins import GroupBins
from bayescal.posterior.pooling.masses import draw_masses
from bayescal.posterior.pooling.prior import ALONE, COMMON, DEVIATING, Component, PoolingPrior
from bayescal.posterior.pooling.sampling import Approximations, Chosen, draw_accuracies, draw_deviations
from bayescal.posterior.pooling.weights import Mixture, mixture
from bayescal.stats.contract import Counts
from bayescal.stats.log_odds import logit

Floats = NDArray[np.float64]
#: Draws of the common curve.
CENTRES = 10
#: Seed of the draws of the weights.
WEIGHTS_SEED = 1


@dataclass(frozen=True, eq=False)
class PooledDraws:
    """Joint draws of all groups.

    Parameters
    ----------
    mass, accuracy : ndarray, shape (n_groups, n_draws, n_used)
        Masses and accuracies of the bins with rows in some group.
    chosen : Chosen
        Component of every group and centre of every draw.
    deviation : ndarray, shape (n_groups, n_draws, 2)
        Intercepts and slopes.
    """

    mass: Floats
    accuracy: Floats
    chosen: Chosen
    deviation: Floats


@dataclass(frozen=True, eq=False)
class PooledPosterior:
    r"""Joint posterior of the accuracies and masses of many groups that borrow strength from each other.

    Parameters
    ----------
    bins : GroupBins
        Sums of the groups.
    centres : ndarray, shape (n_centres, n_used)
        Draws of the common curve: logit of the accuracy minus logit of the mean confidence.
    prior : PoolingPrior, default DEVIATING
        Constants of the prior.
    alone : SeparateGroups, optional
        Posteriors of the groups without pooling; needed if the prior has a component of groups alone, and only then.

    Raises
    ------
    ValueError
        If `alone` is missing, or is not used.

    Notes
    -----
    Group g has accuracies with logits :math:`\eta_{gb} = \mathrm{logit}\,\bar c_{gb} + \delta_b + a_g + b_g (x_{gb} -
    \bar x_g)`, where :math:`\delta` is a draw of the common curve, or 0 (exact calibration), and :math:`x =
    \mathrm{logit}\,\bar c`. Accuracies are :math:`\mathrm{expit}\,\eta_{gb}`, or vary around it as
    :math:`\mathrm{Beta}(\kappa h, \kappa (1 - h))` with :math:`\kappa = 1 / \tau^2 - 1`. The centre and the standard
    deviations of a, b and the residual form a component of a mixture over a fixed grid [1]_, whose weights all groups
    share; see `mixture`. If a group has another mean confidence than all rows in a bin, :math:`\delta_b` is replaced by
    `GroupBins.shifts`. Every draw of the common curve has the same number of draws: the groups do not change its
    posterior.

    A group may also be unlike all others. One component of the mixture is therefore the posterior of the group alone,
    with the marginal likelihood of its own rows: the data decide how often a group has this component, in which its
    draws are those without pooling, masses included.

    References
    ----------
    .. [1] M. Stephens (2017), "False discovery rates: a new deal", Biostatistics 18, 275-294.
    """

    bins: GroupBins
    centres: Floats
    prior: PoolingPrior = DEVIATING
    alone: SeparateGroups | None = None

    def __post_init__(self) -> None:
        if (self.alone is None) != (self.prior.alone == 0):
            raise ValueError("`alone` must be given if the prior has a component of groups alone, and only then.")

    @classmethod
    def of(
        cls,
        counts: Sequence[Counts],
        overall: Counts,
        drawn: BinDraws,
        prior: PoolingPrior = DEVIATING,
        alone: Sequence[AveragesModels] = (),
    ) -> "PooledPosterior":
        """Take draws of the curve of all rows as centres: one from each of equal parts, in the order of their ECE.

        `alone` holds the posterior of each group without pooling, if the prior has groups alone.
        """
        used = overall.occupied
        confidence = np.broadcast_to(drawn.confidence, drawn.accuracy.shape)[:, used]
        at = (2 * np.arange(CENTRES) + 1) * len(drawn) // (2 * CENTRES)
        chosen = np.argsort((drawn.weight * np.abs(drawn.gap)).sum(axis=1), kind="stable")[at]
        delta = logit(drawn.accuracy[chosen][:, used]) - logit(confidence[chosen])
        bins = GroupBins.of(counts, overall)
        return cls(bins, delta, prior, Alone(alone, used, bins.confidence) if prior.alone else None)

    @property
    def components(self) -> tuple[Component, ...]:
        """The components of the mixture."""
        return self.prior.components

    @cached_property
    def shares(self) -> Floats:
        """Posterior probability of every component for every group, shape (n_groups, n_components)."""
        return np.mean([each.shares() for each in self._mixtures], axis=0)

    @cached_property
    def shifts(self) -> Floats:
        """Shifts of the logits of the confidences by the common curve, shape (n_centres, n_groups, n_used)."""
        return self.bins.shifts(self.centres)

    @cached_property
    def _fits(self) -> list[Deviations]:
        """Deviations under every component with a centre: of every group beside every centre, or of every group."""
        bins, n_centres = self.bins, len(self.centres)
        tiled = bins.take(np.tile(np.arange(len(bins)), n_centres))
        offset = tiled.start + self.shifts.reshape(tiled.n.shape)
        around = Rows(tiled.n, tiled.k, offset, tiled.lever)
        diagonal = Rows(bins.n, bins.k, bins.start, bins.lever)
        return [deviations(around if c.centre == COMMON else diagonal, c[1:]) for c in self.prior.pooled]

    @cached_property
    def log_evidence(self) -> Floats:
        """Log marginal likelihoods, shape (n_centres, n_groups, n_components)."""
        shape = len(self.centres), len(self.bins)
        each = [fit.log_evidence for fit in self._fits] + ([] if self.alone is None else [self.alone.log_evidence])
        return np.stack([np.broadcast_to(values.reshape(-1, shape[1]), shape) for values in each], axis=2)

    @cached_property
    def _mixtures(self) -> list[Mixture]:
        """Posterior of the weights for every centre, with a fixed seed."""
        n_centres = len(self.centres)
        streams = np.random.default_rng(WEIGHTS_SEED).spawn(n_centres)
        each = zip(self.log_evidence, streams, strict=True)
        return [mixture(of, self.prior, rng, n_centres=n_centres) for of, rng in each]

    def sample(self, n_draws: int = 4000, *, rng: Any = None) -> PooledDraws:
        """Draw all groups jointly.

        Parameters
        ----------
        n_draws : int, default 4000
            Number of draws.
        rng : None, int, SeedSequence or Generator
            Seed or generator, as for `numpy.random.default_rng`.

        Returns
        -------
        PooledDraws
            Draw number i of all groups has the same draw of the common curve and the same weights.
        """
        n_draws = _checks.whole_number("draws", n_draws)
        for_choice, for_deviations, for_accuracies, for_masses, for_alone = _checks.generator(rng).spawn(5)
        chosen = self._choose(n_draws, for_choice)
        fits = Approximations.of(self._fits, len(self.centres), len(self.bins))
        deviation = draw_deviations(self.bins, self.shifts, self.prior, fits, chosen, for_deviations)
        accuracy = draw_accuracies(self.bins, self.shifts, self.prior, chosen, deviation, for_accuracies)
        mass = draw_masses(self.bins, np.array(self.prior.precisions), n_draws, for_masses)
        if self.alone is not None:
            self._draw_alone(self.alone, chosen, mass, accuracy, for_alone)
        return PooledDraws(mass, accuracy, chosen, deviation)

    def _draw_alone(
        self, alone: SeparateGroups, chosen: Chosen, mass: Floats, accuracy: Floats, rng: np.random.Generator
    ) -> None:
        """Replace the draws in which a group is evaluated alone."""
        own = np.array([c.centre == ALONE for c in self.components])[chosen.component]
        for group, stream in enumerate(rng.spawn(len(own))):
            if count := int(own[group].sum()):
                masses, accuracy[group, own[group]] = alone.draw(group, count, stream)
                if masses is not None:
                    mass[group, own[group]] = masses

    def _choose(self, n_draws: int, rng: np.random.Generator) -> Chosen:
        """Draw components, the same number of draws for every centre, in random order."""
        n_centres = len(self.centres)
        of = np.sort(np.resize(rng.permutation(n_centres), n_draws))
        sizes = np.bincount(of, minlength=n_centres).tolist()
        component = np.concatenate(
            [each.draw(size, rng) for each, size in zip(self._mixtures, sizes, strict=True)], axis=1
        )
        order = rng.permutation(n_draws)
        return Chosen(component[:, order], of[order])


@dataclass(frozen=True, eq=False)
class GroupPosterior:
    """Posterior of one group under partial pooling; its draws are joint with those of the other groups.

    Parameters
    ----------
    counts : BinnedCounts
        Counts of the group.
    pooled : PooledPosterior
        Joint posterior of all groups.
    place : int
        Position of the group.
    used : ndarray of bool, shape (n_bins,)
        Bins with rows in some group.
    pooling : {"partial", "complete"}, default "partial"
        How the groups are pooled.
    prior : str, default ""
        The prior as text, for printing.
    """

    counts: Counts
    pooled: PooledPosterior
    place: int
    used: NDArray[np.bool_]
    pooling: str = "partial"
    prior: str = ""

    def __repr__(self) -> str:
        return f"GroupPosterior({self.counts!r}, one of {len(self.pooled.bins)} groups)"

    def sample(self, n_draws: int = 4000, *, rng: Any = None) -> BinDraws:
        """Draw the bins of this group; the other groups, which are drawn too, are left out."""
        return self.of_draws(self.pooled.sample(n_draws, rng=rng))

    def of_draws(self, drawn: PooledDraws) -> BinDraws:
        """Return the bins of this group among joint draws."""
        mass, accuracy = drawn.mass[self.place], drawn.accuracy[self.place]
        confidence = self.counts.bins.midpoints.copy()
        confidence[self.used] = self.pooled.bins.confidence[self.place]
        if not self.used.all():
            some = mass
            mass = np.zeros((len(some), len(self.used)))
            mass[:, self.used] = some
            accuracy, some = np.broadcast_to(confidence, mass.shape).copy(), accuracy
            accuracy[:, self.used] = some
        return BinDraws(mass, accuracy, confidence[None], self.used, mass)
