"""The Dirichlet model: Dirichlet-multinomial cells (outcome, bin) and truncated-Normal bin means."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betaln, erfcx, log_ndtr, ndtr, ndtri, ndtri_exp, roots_legendre

from bayescal import _checks
from bayescal._arrays import Floats, Generator
from bayescal._meant import public
from bayescal.draws import BinDraws
from bayescal.posterior.beta_binomial import absolute_gap
from bayescal.stats.contract import Counts, require_counts

FORMULAS = ("corrected", "original")
#: Ranges of prior parameters within which draws and their sums are accurate in float64.
ALPHA_RANGE, SD_RANGE = (1e-12, 1e12), (1e-6, 1e6)
#: Prior pseudo-rows per cell of each named prior, given the number of bins M.
PRIORS = {
    "perks": lambda n_bins: 1 / (2 * n_bins),
    "two-rows": lambda n_bins: 1 / n_bins,
    "jeffreys": lambda n_bins: 0.5,
    "uniform": lambda n_bins: 1.0,
}


@dataclass(frozen=True, eq=False)
class DirichletPosterior:
    """Posterior of bin masses, accuracies and mean confidences under the Dirichlet model.

    Make it with `dirichlet_posterior`, which describes the model. Cells have the conjugate posterior of a multinomial
    with a Dirichlet prior [1]_; draws are independent.

    Parameters
    ----------
    counts : BinnedCounts
        The counts.
    alpha : ndarray, shape (2, n_bins)
        Prior pseudo-rows of each cell: outcome 0 in the first row, outcome 1 in the second.
    prior : str
        The prior as text, for printing; it includes the formula if that is "original".
    formula : {"corrected", "original"}
        Which weights the gaps have in errors.
    relative_sd : ndarray, shape (n_bins,)
        Prior standard deviation of the mean confidence of each bin, and of a confidence around it, in bin widths.

    References
    ----------
    .. [1] A. Gelman, J. B. Carlin, H. S. Stern, D. B. Dunson, A. Vehtari and D. B. Rubin (2013), Bayesian Data
       Analysis, 3rd edition, CRC Press, section 3.4.
    """

    counts: Counts
    alpha: Floats
    prior: str
    formula: str
    relative_sd: Floats

    def __repr__(self) -> str:
        return f"DirichletPosterior({self.counts!r}, {self.prior})"

    @property
    def mass_parameters(self) -> Floats:
        """Dirichlet parameters of the bin masses, shape (n_bins,)."""
        return self.alpha.sum(axis=0) + self.counts.effective_rows * self.counts.share

    @property
    def accuracy_parameters(self) -> tuple[Floats, Floats]:
        """Beta parameters (a, b) of the accuracies, each of shape (n_bins,)."""
        positive = self.counts.effective_k
        negative = np.maximum(self.counts.effective_n - positive, 0.0)
        return self.alpha[1] + positive, self.alpha[0] + negative

    @property
    def confidence_parameters(self) -> tuple[Floats, Floats, Floats, Floats]:
        """Parameters (loc, scale, low, high) of the truncated-Normal bin means, each of shape (n_bins,)."""
        edges, widths = self.counts.bins.edges, self.counts.bins.widths
        loc, scale = self._within_bins()
        return edges[:-1] + widths * loc, widths * scale, edges[:-1], edges[1:]

    def _within_bins(self) -> tuple[Floats, Floats]:
        """Location and scale of bin means in bin widths from the lower edge, since squares of tiny widths underflow."""
        counts, bins = self.counts, self.counts.bins
        n = counts.effective_n
        # precision-weighted mean of midpoint and observed mean, which depends only on n: both variances are equal
        observed = np.where(counts.occupied, counts.mean_confidence - bins.midpoints, 0.0) / bins.widths
        return 0.5 + np.clip(observed, -0.5, 0.5) * (n / (n + 1)), self.relative_sd / np.sqrt(n + 1)

    def sample(self, n_draws: int = 4000, *, rng: Any = None) -> BinDraws:
        """Draw independently from the joint posterior of the bins.

        Mass, accuracy and confidence have the shape (n_draws, n_bins).

        Parameters
        ----------
        n_draws : int, default 4000
            Number of draws, at least 1.
        rng : None, int, SeedSequence or Generator
            Seed or generator, as for `numpy.random.default_rng`.

        Notes
        -----
        Masses are drawn from a Dirichlet and accuracies, independently, from Betas. By the aggregation property of the
        Dirichlet, this is equivalent to drawing all cells, and it never divides by the mass of an empty bin.
        """
        n_draws = _checks.whole_number("draws", n_draws)
        rng = _checks.generator(rng)
        mass = _dirichlet(self.mass_parameters, n_draws, rng)
        accuracy = rng.beta(*self.accuracy_parameters, size=mass.shape)
        within = sample_truncated_normal(*self._within_bins(), 0.0, 1.0, n_draws, rng=rng)
        occupied = self.counts.occupied if self.counts.occupied.any() else np.ones_like(self.counts.occupied)
        weight = mass
        if self.formula == "original":  # P(bin | outcome 1), the weight of a bin in the original program
            joint = mass * accuracy
            total = joint.sum(axis=-1, keepdims=True)
            # the mass of outcome 1 can underflow to 0 in all bins under tiny priors without data; use the masses then
            weight = np.where(total > 0, joint / np.where(total > 0, total, 1), mass)
        return BinDraws(mass, accuracy, self._at(within), occupied, weight)

    def _at(self, within: Floats) -> Floats:
        """Convert relative positions within bins to confidences; the last axis of `within` is the bin."""
        bins = self.counts.bins
        return np.minimum(bins.edges[:-1] + bins.widths * within, bins.edges[1:])

    def mass_mean(self) -> Floats:
        """Exact posterior mean of the bin masses, shape (n_bins,)."""
        return self.mass_parameters / self.mass_parameters.sum()

    def accuracy_mean(self) -> Floats:
        """Exact posterior mean of the accuracies, shape (n_bins,)."""
        a, b = self.accuracy_parameters
        return a / (a + b)

    def accuracy_variance(self) -> Floats:
        """Exact posterior variance of the accuracies, shape (n_bins,)."""
        a, b = self.accuracy_parameters
        return a / (a + b) * (b / (a + b)) / (a + b + 1)

    def confidence_mean(self) -> Floats:
        """Exact posterior mean of the mean confidences, shape (n_bins,)."""
        return self._at(truncated_normal_moments(*self._within_bins(), 0.0, 1.0)[0])

    def ece_mean(self) -> float:
        r"""Posterior mean of the ECE, :math:`\sum_b E[m_b] E|\theta_b - \mu_b|`, by quadrature without random numbers.

        It is accurate to about ten digits.

        Raises
        ------
        NotImplementedError
            If ``formula="original"``, because the weights then depend on the accuracies.

        Examples
        --------
        >>> import bayescal as bc
        >>> counts = bc.BinnedCounts.from_arrays([0, 1, 1, 0], [0.2, 0.7, 0.8, 0.9], bins=2)
        >>> bc.dirichlet_posterior(counts).ece_mean()
        0.217658
        """
        return float(self.mass_mean() @ self._gap_moments()[0])

    def ece_variance(self) -> float:
        """Posterior variance of the ECE, by quadrature without random numbers; see `ece_mean`."""
        first, second = self._gap_moments()
        a = self.mass_parameters
        share, total = a / a.sum(), a.sum()
        # expected variance given the masses: gaps are independent, E[m_b^2] = share_b (a_b + 1) / (total + 1)
        within = (share * (a + 1) / (total + 1)) @ np.maximum(second - first**2, 0.0)
        # variance of the expectation given the masses, which is a linear form of a Dirichlet
        between = share @ (first - share @ first) ** 2 / (total + 1)
        return float(within + between)

    def ece_sd(self) -> float:
        """Posterior standard deviation of the ECE, by quadrature without random numbers; see `ece_mean`."""
        return float(np.sqrt(self.ece_variance()))

    @property
    def log_marginal_likelihood(self) -> float:
        r"""Log probability of the sequence of outcomes, given the bins of the rows.

        It is :math:`\sum_b \log \mathrm{B}(\alpha_{1b} + k_b, \alpha_{0b} + n_b - k_b) - \log \mathrm{B}(\alpha_{1b},
        \alpha_{0b})`, without the probabilities of the bins and of the confidences.
        """
        return float((betaln(*self.accuracy_parameters) - betaln(self.alpha[1], self.alpha[0])).sum())

    def log_left_out(self) -> Floats:
        r"""Log probability of the outcome of one row given all other rows, for each cell of outcome and bin.

        It is :math:`\log \{(\alpha_{zb} + n_{zb} - 1) / (\alpha_b + n_b - 1)\}`, shape (2, n_bins), with outcome 0 in
        the first row; NaN for cells without rows.
        """
        n, k = self.counts.effective_n, self.counts.effective_k
        rows = np.stack([n - k, k])
        with np.errstate(invalid="ignore", divide="ignore"):
            others = np.log(self.alpha + (rows - 1)) - np.log(self.alpha.sum(axis=0) + (n - 1))
        return np.where(rows > 0, others, np.nan)

    def _gap_moments(self) -> tuple[Floats, Floats]:
        """Return E|theta - mu| and E(theta - mu)^2 of each bin."""
        if self.formula == "original":
            raise NotImplementedError(
                "exact moments exist only for `formula='corrected'`, because the original weights depend on the "
                "accuracies. Sample instead."
            )
        a, b = self.accuracy_parameters
        centre, spread = self.accuracy_mean(), np.sqrt(self.accuracy_variance())
        bins, (loc, scale) = self.counts.bins, self._within_bins()
        low, high, widths = bins.edges[:-1, None], bins.edges[1:, None], bins.widths[:, None]
        breaks = (np.clip(_beta_breaks(centre, spread), low, high) - low) / widths
        nodes, weights = truncated_normal_rule(loc, scale, np.zeros_like(loc), np.ones_like(loc), breaks)
        c = np.minimum(low + widths * nodes, high)
        first = (weights * absolute_gap(c, a[:, None], b[:, None])).sum(axis=1)
        mean = (weights * c).sum(axis=1)
        variance = (weights * (c - mean[:, None]) ** 2).sum(axis=1)
        return first, spread**2 + variance + (centre - mean) ** 2


def _beta_breaks(centre: Floats, spread: Floats) -> Floats:
    """Points between which E|theta - c| is smooth in c: around the accuracy, and geometrically towards 0 and 1."""
    steps = np.concatenate([-(2.0 ** np.arange(-1, 6)), [0.0], 2.0 ** np.arange(-1, 6)])
    towards = 2.0 ** -np.arange(3, 40, 3)
    near_ends = np.broadcast_to(np.concatenate([towards, 1 - towards]), (len(centre), 2 * len(towards)))
    return np.concatenate([centre[:, None] + spread[:, None] * steps, near_ends], axis=1)


def _dirichlet(parameters: Floats, n_draws: int, rng: Generator) -> Floats:
    """Draw from Dirichlets, shape (n_draws, ..., n_bins); numpy accepts one vector of parameters per call."""
    vectors = parameters.reshape(-1, parameters.shape[-1])
    draws = [rng.dirichlet(vector, n_draws) for vector in vectors]
    return draws[0] if parameters.ndim == 1 else np.stack(draws, axis=1).reshape(n_draws, *parameters.shape)


@public
def dirichlet_posterior(
    counts: Counts,
    *,
    alpha: str | ArrayLike | None = None,
    formula: str = "corrected",
    bin_variance: ArrayLike | None = None,
) -> DirichletPosterior:
    r"""Compute the posterior of the bins under the Dirichlet model (Bayesian ECE).

    Parameters
    ----------
    counts : BinnedCounts
        Counts; empty counts give the prior.
    alpha : {"two-rows", "perks", "jeffreys", "uniform"}, float or array of shape (2, n_bins), optional
        Prior pseudo-rows of each of the 2 M cells (outcome, bin): ``two-rows`` 1/M, ``perks`` 1/(2M) [2]_,
        ``jeffreys`` 1/2 [3]_, ``uniform`` 1. The default ``two-rows`` has the weight of two rows in total.
        ``uniform`` has the weight of 2 M rows and pulls every accuracy towards 1/2.
    formula : {"corrected", "original"}, default "corrected"
        ``original`` reproduces numbers of the original program: bins are weighted by P(bin | outcome 1), and
        variances are width / 12. The documentation lists its errors.
    bin_variance : float or array of shape (n_bins,), optional
        Prior variance of the mean confidence of a bin, and variance of a confidence around it. The default is
        width^2 / 12, the variance of a uniform distribution on the bin (width / 12 under the original formula).

    Returns
    -------
    DirichletPosterior
        With the methods `sample`, `ece_mean` and `ece_sd`.

    Raises
    ------
    ValueError, TypeError
        If `alpha` is neither the name of a prior nor numbers in [1e-12, 1e12], or has the wrong shape; if a standard
        deviation implied by `bin_variance` is not between 1e-6 and 1e6 bin widths.

    Notes
    -----
    The model has cell probabilities q, bin means :math:`\mu_b` on the bin :math:`I_b`, outcomes z and confidences c:

    .. math::
        q \sim \mathrm{Dirichlet}(\alpha), \quad (z_i, b_i) \sim \mathrm{Categorical}(q), \quad
        \mu_b \sim \mathrm{N}(\mathrm{mid}_b, s^2)\,1\{\mu_b \in I_b\}, \quad c_i \mid b \sim \mathrm{N}(\mu_b, s^2)

    The posterior has masses :math:`m \sim \mathrm{Dirichlet}(\alpha_{0b} + \alpha_{1b} + n_b)`,
    accuracies :math:`\theta_b \sim \mathrm{Beta}(\alpha_{1b} + k_b, \alpha_{0b} + n_b - k_b)` and a truncated Normal
    for each :math:`\mu_b`, all independent [1]_. With weights, accuracies and means use Kish's effective number of rows
    of each bin [4]_; the masses use that of all rows, divided among the bins by weight.

    If the classifier is calibrated, 95 % intervals of this model do not contain its ECE of 0; see the documentation
    before you report them.

    References
    ----------
    .. [1] A. Gelman et al. (2013), section 3.4, as for `DirichletPosterior`.
    .. [2] W. Perks (1947), "Some observations on inverse probability including a new indifference rule", Journal of the
       Institute of Actuaries 73, 285-334.
    .. [3] H. Jeffreys (1946), "An invariant form for the prior probability in estimation problems", Proceedings of the
       Royal Society A 186, 453-461.
    .. [4] Kish (1965), Survey Sampling, Wiley.

    Examples
    --------
    >>> counts = bc.BinnedCounts.from_arrays([0, 1, 1, 0], [0.2, 0.7, 0.8, 0.9], bins=2)
    >>> posterior = bc.dirichlet_posterior(counts, alpha="jeffreys")
    >>> posterior.accuracy_mean()
    array([0.25 , 0.625])
    """
    require_counts(counts)
    _checks.one_of("formula", formula, FORMULAS)
    n_bins = len(counts.bins)
    prior = "two-rows" if alpha is None else alpha
    if isinstance(prior, str):
        _checks.one_of("alpha", prior, PRIORS)
        pseudo_rows, words = np.full((2, n_bins), PRIORS[prior](n_bins)), f"{prior} prior"
    else:
        pseudo_rows = _checks.between("alpha", _checks.positive("alpha", prior, (2, n_bins)), *ALPHA_RANGE)
        words = f"prior of {pseudo_rows[0, 0]:g} per cell" if np.ndim(prior) == 0 else "custom prior"
    widths = counts.bins.widths
    if bin_variance is not None:
        sd = np.sqrt(_checks.positive("bin_variance", bin_variance, (n_bins,)))
        relative_sd = _checks.between("bin_variance", sd / widths, *SD_RANGE, of="standard deviations in bin widths")
    elif formula == "original":
        relative_sd = np.sqrt(widths / 12) / widths
    else:
        relative_sd = np.full(n_bins, np.sqrt(1 / 12))
    if formula == "original":
        words += ", original formula"
    return DirichletPosterior(counts, pseudo_rows, words, formula, relative_sd)


def truncated_normal_quantile(
    u: ArrayLike, loc: ArrayLike, scale: ArrayLike, low: ArrayLike, high: ArrayLike
) -> Floats:
    r"""Compute the quantiles at probabilities u of Normal(loc, scale^2) truncated to [low, high]; all broadcast.

    If the interval contains the mean, :math:`x = \Phi^{-1}(\Phi(a) + u (\Phi(b) - \Phi(a)))`, where a and b are the
    standardised bounds. If it lies in one tail, the same formula is evaluated with logarithms of tail probabilities
    (`scipy.special.ndtri_exp`) to avoid underflow. Newton steps then refine the distance from the bound nearer to the
    mean, which avoids cancellation. This is accurate to 10 000 standard deviations.
    """
    u, loc, scale, low, high = (np.asarray(v, dtype=np.float64) for v in (u, loc, scale, low, high))
    a, b = (low - loc) / scale, (high - loc) / scale
    tail = (a > 0) | (b < 0)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):  # each formula is used only where it is valid
        if tail.all():
            x = _tail_quantile(u, a, b, scale, low, high)
        else:
            cdf = ndtr(a)
            x = loc + scale * ndtri(cdf + u * (ndtr(b) - cdf))
            if tail.any():
                x = np.where(tail, _tail_quantile(u, a, b, scale, low, high), x)
    return np.clip(x, low, high)


def _tail_quantile(u: Floats, a: Floats, b: Floats, scale: Floats, low: Floats, high: Floats) -> Floats:
    """Quantile for 0 < a < b or a < b < 0 (standardised bounds), from the distance to the bound nearer to the mean."""
    upper = a > 0
    near = np.abs(np.where(upper, a, b))
    beyond = np.where(upper, u, 1 - u)  # share of the probability between the near bound and x
    # log of P(Z > |x|) / P(Z > near), from the same ratio at the far bound
    log_ratio = np.log1p(beyond * np.expm1(_log_tail_ratio(near, (high - low) / scale)))
    distance = np.maximum(-ndtri_exp(log_ndtr(-near) + log_ratio) - near, 0.0)
    for _ in range(2):
        slope = -np.sqrt(2 / np.pi) / erfcx((near + distance) / np.sqrt(2))
        distance = np.maximum(distance - (_log_tail_ratio(near, distance) - log_ratio) / slope, 0.0)
    distance = scale * np.where(np.isfinite(log_ratio), distance, np.inf)
    return np.where(upper, low + distance, high - distance)


def _log_tail_ratio(near: Floats, distance: Floats) -> Floats:
    """Logarithm of P(Z > near + distance) / P(Z > near), without a difference of two large numbers."""
    scaled = erfcx((near + distance) / np.sqrt(2)) / erfcx(near / np.sqrt(2))
    return np.log(scaled) - distance * (near + distance / 2)


def sample_truncated_normal(
    loc: ArrayLike, scale: ArrayLike, low: ArrayLike, high: ArrayLike, n_draws: int, *, rng: Any = None
) -> Floats:
    """Draw from Normal(loc, scale^2) truncated to [low, high] by inversion; all broadcast, draws on a new axis 0."""
    shape = np.broadcast_shapes(*(np.shape(v) for v in (loc, scale, low, high)))
    u = _checks.generator(rng).random((n_draws, *shape))
    return truncated_normal_quantile(u, loc, scale, low, high)


def truncated_normal_rule(
    loc: Floats, scale: Floats, low: Floats, high: Floats, breaks: Floats | None = None, order: int = 16
) -> tuple[Floats, Floats]:
    """Compute nodes and weights, shape (n_bins, n_nodes), of rules for expectations under truncated Normals.

    The parameters have shape (n_bins,); the weights of each row sum to 1. Panels of `order` Gauss-Legendre nodes end at
    `breaks`, shape (n_bins, n_breaks), between which the integrand is smooth, and at distances of 0, 1/2, 1, 2, 4, ...
    units from the mode of the density. The unit is the standard deviation, divided by a if the mode is a > 1 standard
    deviations away from the mean.
    """
    peak = np.clip(loc, low, high)
    steepness = np.abs(peak - loc) / scale
    reach = scale / np.maximum(1.0, steepness)
    steps = reach[:, None] * np.concatenate([[0.0], 2.0 ** np.arange(-1, 6)])
    ends = [low[:, None], high[:, None], peak[:, None] - steps, peak[:, None] + steps]
    if breaks is not None:
        ends.append(breaks)
    edges = np.sort(np.clip(np.concatenate(ends, axis=1), low[:, None], high[:, None]), axis=1)
    x, w = roots_legendre(order)
    half = np.diff(edges, axis=1)[..., None] / 2
    nodes = edges[:, :-1, None] + half * (1 + x)
    # density relative to the mode: exp(-(z^2 - z_peak^2) / 2), with the difference of squares factored
    shift = (nodes - peak[:, None, None]) / scale[:, None, None]
    start = ((peak - loc) / scale)[:, None, None]
    weights = half * w * np.exp(-shift * (shift / 2 + start))
    rows = len(loc)
    nodes, weights = nodes.reshape(rows, -1), weights.reshape(rows, -1)
    return nodes, weights / weights.sum(axis=1, keepdims=True)


def truncated_normal_moments(
    loc: ArrayLike, scale: ArrayLike, low: ArrayLike, high: ArrayLike
) -> tuple[Floats, Floats]:
    """Compute mean and variance of Normal(loc, scale^2) truncated to [low, high], by quadrature; all broadcast."""
    parameters = np.broadcast_arrays(*(np.asarray(v, dtype=np.float64) for v in (loc, scale, low, high)))
    shape = parameters[0].shape
    loc, scale, low, high = (np.ravel(v) for v in parameters)
    nodes, weights = truncated_normal_rule(loc, scale, low, high)
    peak = np.clip(loc, low, high)[:, None]
    shift = (weights * (nodes - peak)).sum(axis=1)
    variance = (weights * (nodes - peak - shift[:, None]) ** 2).sum(axis=1)
    return (peak[:, 0] + shift).reshape(shape), variance.reshape(shape)
