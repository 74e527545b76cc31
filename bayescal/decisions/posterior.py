"""Posterior of the outcome and the scores of models, in cells between thresholds: a Dirichlet process."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from bayescal import _checks
from bayescal._arrays import Bools, Floats, Generator, Ints
from bayescal.decisions.counts import ThresholdCounts
from bayescal.stats.clusters import masses_of_units

AT_ENDS = 0.9  #: Share of the scores of the prior that are 0 or 1, half of it each; the others are uniform.
PSEUDO_ROWS_RANGE = (0.1, 100.0)  #: Range of the number of pseudo-rows.
REMAINDER = 1e-6  #: The prior of several models has atoms until the mean of the mass that remains is below this share.
CHUNK = 4_000_000  #: Maximum number of draws times joint cells that are in memory at a time.


@dataclass(frozen=True, eq=False)
class ScoreCellsPosterior:
    """Posterior of the probabilities of outcome and score cell, of one or several models on the same rows.

    The prior is a Dirichlet process [1]_ whose base distribution has an event probability of 0.5 and independent scores
    of all models; its weight is the number of pseudo-rows a: the prior counts as much as a rows. With probability 0.9 a
    score is 0 or 1, both equally likely, and else uniform; see `base_shares`. So the rows of one outcome that a model
    treats have the prior parameter a / 2 (0.45 + 0.1 (1 - t)), nearly a / 4 at every threshold t; those that only the
    first of two models treats have nearly a / 8. With a = 2, the prior of the four combinations of outcome and
    treatment is nearly that of Jeffreys [3]_, half a row each; with a = 4 it is nearly uniform. Results at one
    threshold do not depend on the other thresholds. The posterior is again a Dirichlet process, with the rows as
    further atoms. Uniform scores alone would give treated rows almost no prior at thresholds near 1: if no false
    positive was seen there, the posterior would be sure that there is none.

    The masses of one model are one Dirichlet. For several models, the rows of each joint cell have a Gamma mass, and
    the prior is drawn by stick-breaking [2]_: Gamma mass a in all, in atoms with shares Beta(1, a) of what remains,
    each at scores and an outcome from the base distribution. Models may therefore differ in a draw where no row shows
    it. The margin of each model is its own posterior.

    For rows in clusters, such as patients with several rows, the Dirichlet process is one of clusters: the rows of a
    cluster have one Gamma mass per row in common, standard exponential. The prior counts as much as a independent rows:
    each of its atoms is a cluster of d rows with one outcome, where d is the design effect of the share of outcome 1,
    the number of rows in clusters that carry the evidence of one independent row. One of the d rows has independent
    scores of all models; on the scores of the others, the models agree. For clusters of one row, it is the one above.

    With `counts.strata`, as for right-censored rows, the shares of cells within a stratum have the Dirichlet
    distribution of the effective rows of its cells, and the strata, with the prior as one of them, that of the
    effective rows of each stratum. If both numbers are equal, as without censoring, this is the Dirichlet above.

    If `given_outcome`, as for case-control data, probabilities are given the outcome: each row of the mass sums to 1.

    .. [1] T. S. Ferguson (1973), "A Bayesian analysis of some nonparametric problems", Annals of Statistics 1, 209-230.
    .. [2] J. Sethuraman (1994), "A constructive definition of Dirichlet priors", Statistica Sinica 4, 639-650.
    .. [3] H. Jeffreys (1946), "An invariant form for the prior probability in estimation problems", Proceedings of the
       Royal Society A 186, 453-461.
    """

    counts: ThresholdCounts
    pseudo_rows: float
    given_outcome: bool

    def __post_init__(self) -> None:
        _checks.between("pseudo_rows", np.atleast_1d(self.pseudo_rows), *PSEUDO_ROWS_RANGE, "numbers of rows")

    @property
    def prior(self) -> str:
        """The prior in words."""
        return f"prior: {self.pseudo_rows:g} pseudo-row{'s' * (self.pseudo_rows != 1)}"

    @property
    def _rows(self) -> Floats:
        """Effective number of rows of each joint cell."""
        return self.counts.effective(by_outcome=self.given_outcome)

    def parameters(self, model: int) -> Floats:
        """Parameters of the Dirichlet of one model, by outcome and score cell; shape (2, n_bins)."""
        return self.pseudo_rows / 2 * base_shares(self.counts.thresholds) + self.counts.margin(model, self._rows)

    def sample(self, n_draws: int = 4000, *, rng: Any = None) -> Floats:
        """Draw the probabilities of outcome and score cell jointly over models, (n_draws, n_models, 2, n_bins)."""
        rng, clusters = _checks.generator(rng), self.counts.clusters
        one = len(self.counts.models) == 1
        if one and clusters is None and self.counts.strata is None:
            mass = rng.standard_gamma(self.parameters(0), (n_draws, 1, 2, self.counts.n_bins))
        else:
            mass = self._prior_mass(n_draws, rng)
            add = self._add_rows if clusters is None else self._add_clusters
            add(mass, rng)
            mass = mass.reshape(*mass.shape[:2], 2, -1).swapaxes(0, 1)
        # the total is the same for all models: their cells hold the same atoms
        mass /= mass.sum(axis=-1 if self.given_outcome else (-2, -1), keepdims=True)
        return mass

    def _prior_mass(self, n_draws: int, rng: Generator) -> Floats:
        """Draw the Gamma masses of the prior, shape (n_models, n_draws, 2 * n_bins); joint over models."""
        n_models, clusters = len(self.counts.models), self.counts.clusters
        atoms, outcome = self._atoms(n_draws, rng)
        scores = rng.random((n_models, *atoms.shape))
        mass = np.stack([self._summed(atoms, outcome, score) for score in scores])
        # rows that carry as much evidence as one independent row; on the scores of the others, the models agree
        more = 0.0 if clusters is None else clusters.outcome_effect(self.counts.weight_sq) - 1
        if more > 0:
            mass += more * self._summed(atoms, outcome, rng.random(atoms.shape))
        return mass.reshape(n_models, n_draws, 2 * self.counts.n_bins)

    def _summed(self, atoms: Floats, outcome: Bools, score: Floats) -> Floats:
        """Sum the masses of atoms by draw, outcome and score cell, shape (n_draws * 2 * n_bins,)."""
        n_draws, size = len(atoms), 2 * self.counts.n_bins
        last = np.cumsum(base_shares(self.counts.thresholds))[:-1]
        cell = outcome * self.counts.n_bins + np.searchsorted(last, score, side="right")
        place = np.arange(n_draws)[:, None] * size + cell
        return np.bincount(place.ravel(), atoms.ravel(), n_draws * size)

    def _add_rows(self, mass: Floats, rng: Generator) -> None:
        """Add the Gamma masses of the rows of each joint cell to those of the prior."""
        if self.counts.strata is None:
            self._add_cells(mass, np.arange(len(self._rows)), rng)
            return
        stratum, rows = self.counts.strata
        for at, total in enumerate(rows):
            part = np.zeros_like(mass)
            self._add_cells(part, np.flatnonzero(stratum == at), rng)
            drawn_rows = np.maximum(part[0].sum(axis=1), np.finfo(np.float64).tiny)
            mass += part * (rng.standard_gamma(total, mass.shape[1]) / drawn_rows)[:, None]

    def _add_cells(self, mass: Floats, cells: Ints, rng: Generator) -> None:
        """Add the Gamma masses of the rows of some joint cells."""
        counts, rows = self.counts, self._rows
        n_models, n_draws, size = mass.shape
        step = max(CHUNK // n_draws, 1)
        for start in range(0, len(cells), step):
            part = cells[start : start + step]
            masses = rng.standard_gamma(rows[part, None], (len(part), n_draws))
            for i in range(n_models):
                place = counts.outcome[part] * (size // 2) + counts.cells[part, i]
                order = np.argsort(place, kind="stable")
                first = np.flatnonzero(np.diff(place[order], prepend=-1))
                mass[i][:, place[order][first]] += np.add.reduceat(masses[order], first, axis=0).T

    def _add_clusters(self, mass: Floats, rng: Generator) -> None:
        """Add the rows of each cluster, multiplied by one standard exponential number per cluster."""
        counts = self.counts
        assert counts.clusters is not None  # the caller has checked
        n_models, n_draws, size = mass.shape
        rows = counts.clusters.matrix(counts.n_bins, counts.rates(by_outcome=self.given_outcome))
        mass += masses_of_units(rows, n_draws, rng).reshape(n_draws, n_models, size).swapaxes(0, 1)

    def _atoms(self, n_draws: int, rng: Generator) -> tuple[Floats, Bools]:
        """Draw the atoms of the prior by stick-breaking: their masses and outcomes, shape (n_draws, n_atoms)."""
        a = self.pseudo_rows
        n_atoms = int(np.ceil(np.log(REMAINDER) / np.log(a / (1 + a)))) + 1
        # log of what remains after each break: Beta(1, a) leaves 1 - v = u^(1 / a) with a uniform u
        left = np.exp(-np.cumsum(rng.standard_exponential((n_draws, n_atoms - 1)) / a, axis=1))
        left = np.concatenate([np.ones((n_draws, 1)), left, np.zeros((n_draws, 1))], axis=1)
        atoms = rng.standard_gamma(a, (n_draws, 1)) * (left[:, :-1] - left[:, 1:])
        return atoms, rng.random((n_draws, n_atoms)) < 0.5

    def prevalence_mean_and_sd(self) -> tuple[float, float]:
        """Exact mean and standard deviation of the probability of outcome 1, if it is not given: that of a Beta."""
        parts, total = self._strata(0)
        zero, one = parts.sum(axis=-1).T
        mean, variance = _of_strata(one, one, zero + one, total)
        return float(mean), float(variance) ** 0.5

    def _strata(self, model: int) -> tuple[Floats, Floats]:
        """Parameters of one model by stratum, (n_strata, 2, n_bins), and effective rows of each stratum.

        The prior is a stratum. Without strata, there is one with all rows and the prior.
        """
        counts = self.counts
        if counts.strata is None:
            whole = self.parameters(model)[None]
            return whole, whole.sum(axis=(1, 2))
        stratum, rows = counts.strata
        prior = np.tile(self.pseudo_rows / 2 * base_shares(counts.thresholds), (2, 1))
        parts = (counts.margin(model, np.where(stratum == at, self._rows, 0.0)) for at in range(len(rows)))
        return np.stack([prior, *parts]), np.append(self.pseudo_rows, rows)

    def mean_and_sd(self, gain: Floats) -> tuple[Floats, Floats]:
        r"""Exact mean and standard deviation of expected gains of treating, each of shape (n_models, n_thresholds).

        `gain`, shape (2, n_thresholds), is that of a treated row of each outcome. By the aggregation property of the
        Dirichlet, with parameters :math:`A_z` of the treated rows of outcome z and the sum A of all parameters, the
        mean is :math:`m = \sum_z g_z A_z / A` and the variance :math:`(\sum_z g_z^2 A_z / A - m^2) / (A + 1)`. Given
        the outcome, each outcome is a Dirichlet of its own, and means and variances add. Strata have these moments,
        which those of a Dirichlet of strata join. Rows in clusters have no such moments.
        """
        if self.counts.clusters is not None:
            raise ValueError("moments of rows in clusters have no closed form; take those of draws.")
        means, sds = [], []
        for i in range(len(self.counts.models)):
            parts, rows = self._strata(i)
            above = np.cumsum(parts[..., ::-1], axis=-1)[..., ::-1][..., 1:]
            whole = parts.sum(axis=-1, keepdims=True)
            first, second = gain * above, gain**2 * above
            if not self.given_outcome:
                first, second, whole = (values.sum(axis=-2, keepdims=True) for values in (first, second, whole))
            mean, variance = _of_strata(first, second, whole, whole if self.given_outcome else rows[:, None, None])
            means.append(mean.sum(axis=0))
            sds.append(np.sqrt(np.maximum(variance, 0.0).sum(axis=0)))
        return np.stack(means), np.stack(sds)

    def design_effects(self, gain: Floats) -> Floats:
        r"""Variance of expected gains between clusters, over that of independent rows; shape (n_models, n_thresholds).

        With the influence :math:`h_i = (c_i - \bar c) / N` of each row, whose contribution is :math:`c_i`, and J
        clusters, it is :math:`\frac{J}{J - 1} \sum_j (\sum_{i \in j} h_i)^2 / \sum_i h_i^2`. NaN if all rows contribute
        the same.
        """
        counts = self.counts
        if counts.clusters is None:
            raise ValueError("rows are in no clusters, so that there is no design effect.")
        number, size = counts.clusters.number, 2 * counts.n_bins
        rows = counts.clusters.matrix(counts.n_bins, np.ones(2))
        treated = np.arange(counts.n_bins)[:, None] > np.arange(len(counts.thresholds))
        contribution = gain[:, None] * treated  # (2, n_bins, n_thresholds)
        squares = 1 / np.where(counts.weight_sq > 0, counts.rates(by_outcome=self.given_outcome), 1.0)
        effects = []
        for i in range(len(counts.models)):
            weight = counts.margin(i, counts.weight)[..., None]
            axis = 1 if self.given_outcome else (0, 1)
            total = np.maximum(weight.sum(axis=axis, keepdims=True), np.finfo(np.float64).tiny)
            mean = (weight * contribution).sum(axis=axis, keepdims=True) / total
            influence = (contribution - mean) / total
            of_cluster = rows[:, i * size : (i + 1) * size] @ influence.reshape(size, -1)
            alone = (weight * squares[:, None, None] * influence**2).sum(axis=(0, 1))
            between = (of_cluster**2).sum(axis=0) * number / (number - 1)
            effects.append(np.divide(between, alone, out=np.full_like(alone, np.nan), where=alone > 0))
        return np.stack(effects)


def _of_strata(first: Floats, second: Floats, whole: Floats, rows: Floats) -> tuple[Floats, Floats]:
    r"""Return mean and variance of the gain of a Dirichlet of strata, whose cells have Dirichlet distributions.

    Axis 0 is the stratum: `first` and `second` are sums of parameter times gain, and times its square, `whole` is the
    sum of the parameters of its cells, and `rows` the parameter of the stratum. With mean m and variance v of each,
    parameters a of strata and their sum A, the variance of :math:`\sum_s M_s X_s` is :math:`\sum_s a_s ((m_s - m)^2 +
    (a_s + 1) v_s) / (A (A + 1))` with the mean :math:`m = \sum_s a_s m_s / A`.
    """
    some = np.maximum(whole, np.finfo(np.float64).tiny)
    means = first / some
    variances = (second / some - means**2) / (whole + 1)
    whole = rows.sum(axis=0)
    mean = (rows * means).sum(axis=0) / whole
    spread = (rows * ((means - mean) ** 2 + (rows + 1) * variances)).sum(axis=0)
    return mean, spread / (whole * (whole + 1))


def base_shares(thresholds: Floats) -> Floats:
    """Share of each score cell in the base distribution of the prior, shape (n_thresholds + 1,).

    It is 0.1 times the width of the cell, and 0.45 more for the cells of the scores 0 and 1: the first, or the second
    if the first threshold is 0, and the last one.
    """
    shares = (1 - AT_ENDS) * np.diff(np.concatenate([[0.0], thresholds, [1.0]]))
    shares[int(len(thresholds) > 0 and thresholds[0] == 0)] += AT_ENDS / 2
    shares[-1] += AT_ENDS / 2
    return shares
