"""PyMC versions of the models, used to check the closed forms and as a starting point for other priors.

Each function returns a `pymc.Model`, so ``with dirichlet_model(counts): pymc.sample()`` samples it. The only inputs it
shares with the closed-form samplers are counts (with weights: Kish's effective numbers) and constants of the prior.

Constants of a prior are arguments. To replace a prior by another, add the difference of their log densities to a model.
This replaces the Normal prior of the intercept by a Student t, for which there is no closed form::

    with shrinkage_model(counts, "logistic") as model:
        a = model["intercept"]
        heavy, normal = pm.StudentT.dist(nu=3, sigma=0.5), pm.Normal.dist(sigma=0.5)
        pm.Potential("heavier", pm.logp(heavy, a) - pm.logp(normal, a))
        pm.sample()
"""

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from numpy.typing import ArrayLike
from pymc.logprob.transforms import Transform

from bayescal import _checks
from bayescal._arrays import Floats
from bayescal._meant import known_keywords, public
from bayescal._texts import text_of
from bayescal.decisions.counts import ThresholdCounts
from bayescal.posterior.dirichlet import dirichlet_posterior
from bayescal.posterior.shrinkage import prior as priors
from bayescal.posterior.shrinkage.model import shrinkage_posterior
from bayescal.stats.contract import Counts, require_counts
from bayescal.verify import pymc_sub_models

#: A symbolic value in the graph of a model.
Tensor = Any

FORMS = ("dirichlet", "rates")  #: How the cells of the Dirichlet model are written.
TRUNCATIONS = ("mean", "confidences")  #: Variables that may be truncated to their bin.
#: The share of small errors in the pool fades if another family has more evidence than theirs times exp(FADE_FROM).
FADE_FROM = 8.0
#: Logarithms of rates are bounded below by this, and shares of cells by its exponential.
SMALLEST_LOG, SMALLEST_SHARE = -690.0, 1e-300


@public
def dirichlet_model(
    counts: Counts,
    alpha: str | ArrayLike | None = None,
    *,
    form: str = "dirichlet",
    truncation: str = "mean",
    formula: str = "corrected",
    bin_variance: ArrayLike | None = None,
) -> pm.Model:
    r"""Write the Dirichlet model (Bayesian ECE) in PyMC.

    Parameters
    ----------
    counts : Counts
        Counts; empty counts give the prior.
    alpha, formula, bin_variance
        As for `bayescal.dirichlet_posterior`.
    form : {"dirichlet", "rates"}, default "dirichlet"
        How the cells are written; the posterior is the same. ``dirichlet`` has a Dirichlet prior and multinomial
        counts, as in the notes. ``rates`` has independent Gamma rates and Poisson counts, with which chains move
        freely; see the notes.
    truncation : {"mean", "confidences"}, default "mean"
        Which variable is confined to the bin. With ``mean`` it is the bin mean mu, as in the closed form. With
        ``confidences`` it is each confidence; the likelihood then has a normalising constant that depends on mu, the
        posterior is not conjugate, and the mean of the confidences in a bin is not mu.

    Returns
    -------
    pymc.Model
        Dims ``bin`` and ``outcome``; with ``form="dirichlet"`` also ``cell``, the 2 M pairs of outcome and bin. Free:
        ``q_cell`` (cell), or ``rate`` (outcome, bin), and ``mu`` (bin). Deterministic: ``q`` (outcome, bin), ``mass``,
        ``accuracy``, ``confidence``, ``gap`` (bin) and ``ece``.

    Raises
    ------
    ValueError, TypeError
        As `bayescal.dirichlet_posterior`; if `form` or `truncation` is another word.

    Notes
    -----
    .. math::
        q \sim \mathrm{Dirichlet}(\alpha), \quad (z_i, b_i) \sim \mathrm{Categorical}(q), \quad
        \mu_b \sim \mathrm{N}(\mathrm{mid}_b, s_b^2)\,1\{\mu_b \in I_b\}, \quad c_i \mid b \sim \mathrm{N}(\mu_b, s_b^2)

    The rows enter through their numbers in each cell, which are multinomial, and the confidences of a bin through their
    mean, which is sufficient for :math:`\mu_b`. With weights, masses and accuracies have different effective numbers of
    rows, so that the numbers of rows per bin are multinomial and the outcomes within a bin Binomial; effective numbers
    need not be whole.

    With ``form="rates"``, rates r are the expected numbers of rows: :math:`q = r / \sum r` is Dirichlet and independent
    of :math:`\sum r`, and Poisson counts given their total are multinomial.

    On the simplex, the logarithm of a cell without rows has a long tail. Chains of ``form="dirichlet"`` therefore need
    small steps: pass ``target_accept=0.97`` to `pymc.sample`, or use ``form="rates"``.
    With hundreds of bins use ``form="rates"``, because shares of empty cells fall below the smallest number.

    Examples
    --------
    >>> counts = bc.BinnedCounts.from_arrays([0, 1, 1, 0], [0.2, 0.7, 0.8, 0.9], bins=2)
    >>> model = bc.verify.dirichlet_model(counts, alpha="jeffreys")
    >>> model.named_vars_to_dims["q"], [v.name for v in model.free_RVs]
    (('outcome', 'bin'), ['q_cell', 'mu'])
    >>> print(model.str_repr().splitlines()[0].split())
    ['q_cell', '~', 'Dirichlet(<constant>)']
    """
    _checks.one_of("form", form, FORMS)
    _checks.one_of("truncation", truncation, TRUNCATIONS)
    known = dirichlet_posterior(counts, alpha=alpha, formula=formula, bin_variance=bin_variance)
    n, k, rows = _effective(counts)
    bins, seen = counts.bins, counts.occupied & (n > 0)  # bins of a target may have no labelled rows
    low, high, sd = bins.edges[:-1], bins.edges[1:], known.relative_sd * bins.widths
    coords = {"bin": np.arange(len(bins)), "outcome": [0, 1], "occupied_bin": np.flatnonzero(seen)}
    with pm.Model(coords=coords) as model:
        q, accuracy = (_multinomial_cells if form == "dirichlet" else _poisson_cells)(known.alpha, n, k, rows)
        mass = pm.Deterministic("mass", q.sum(axis=0), dims="bin")
        accuracy = pm.Deterministic("accuracy", accuracy, dims="bin")

        # bin means, and the mean of the confidences of each bin
        mu = pm.TruncatedNormal("mu", mu=bins.midpoints, sigma=sd, lower=low, upper=high, dims="bin")
        mean_sd = sd[seen] / np.sqrt(n[seen])
        observed = counts.mean_confidence[seen]
        pm.Normal("mean_confidence", mu=mu[seen], sigma=mean_sd, observed=observed, dims="occupied_bin")
        confidence = mu
        if truncation == "confidences":
            below, above = (low - mu) / sd, (high - mu) / sd
            inside = _normal_cdf(above) - _normal_cdf(below)
            pm.Potential("truncation", -n * pt.log(inside), dims="bin")
            confidence = mu + sd * (_normal_density(below) - _normal_density(above)) / inside
        confidence = pm.Deterministic("confidence", confidence, dims="bin")

        gap = pm.Deterministic("gap", accuracy - confidence, dims="bin")
        weight = mass if formula == "corrected" else q[1] / q[1].sum()
        pm.Deterministic("ece", pt.sum(weight * pt.abs(gap)))
    return model


def _multinomial_cells(alpha: Floats, n: Floats, k: Floats, rows: Floats) -> tuple[Tensor, Tensor]:
    """Write a Dirichlet prior of the cells and their multinomial counts; return ``q`` and the accuracies."""
    model = pm.modelcontext(None)
    model.add_coord("cell", [f"outcome {z}, bin {b}" for z in (0, 1) for b in range(len(n))])
    q_cell = pm.Dirichlet("q_cell", alpha.ravel(), dims="cell")
    q = pm.Deterministic("q", q_cell.reshape(alpha.shape), dims=("outcome", "bin"))
    # a cell below the smallest number would have no accuracy
    log_q = pt.log(pt.maximum(q, SMALLEST_SHARE))
    log_odds = log_q[1] - log_q[0]
    counted = np.stack([n - k, k])
    if _is_whole(counted) and np.allclose(n, rows):
        cells = np.rint(counted).astype(np.int64).ravel()
        pm.Multinomial("cells", n=cells.sum(), p=q_cell, observed=cells, dims="cell")
    else:
        pm.Potential("rows", (rows * pt.log(pt.maximum(q.sum(axis=0), SMALLEST_SHARE))).sum())
        pm.Potential("outcomes", (k * log_odds - n * pt.softplus(log_odds)).sum())
    return q, pt.sigmoid(log_odds)


def _poisson_cells(alpha: Floats, n: Floats, k: Floats, rows: Floats) -> tuple[Tensor, Tensor]:
    """Write Gamma rates of the cells, Poisson rows and Binomial outcomes; return ``q`` and the accuracies."""
    rate = _rates(alpha, rows, dims=("outcome", "bin"))
    q = pm.Deterministic("q", rate / rate.sum(), dims=("outcome", "bin"))
    accuracy = pt.sigmoid(pt.log(rate[1]) - pt.log(rate[0]))
    _counted("rows", pm.Poisson, rows, rate.sum(axis=0))
    _counted("positives", pm.Binomial, k, n, accuracy)
    return q, accuracy


@public
def shrinkage_model(
    counts: Counts,
    sub_model: str | None = None,
    *,
    with_calibrated: bool = False,
    family_evidence: Mapping[str, float] | None = None,
    **prior: Any,
) -> pm.Model:
    r"""Write the shrinkage model in PyMC: one of its sub-models, or their average.

    Parameters
    ----------
    counts : Counts
        Counts; empty counts give the prior.
    sub_model : str, optional
        A key of `ShrinkagePosterior.probabilities`, such as ``"sparse"``. By default, all sub-models that take part are
        averaged.
    with_calibrated : bool, default False
        Whether exact calibration takes part with its prior odds against all others instead of its small weight in the
        average. The mean of ``p_sub_model`` at ``exact`` is then ``p_calibrated``.
    family_evidence : mapping of str to float, optional
        Log marginal likelihoods of the families of the pool; by default, they are equal. See the notes.
    **prior
        Constants of the prior, as for `bayescal.shrinkage_posterior`.

    Returns
    -------
    pymc.Model
        Dim ``bin``: the occupied bins, and ``unsaturated_bin``, ``saturated_bin`` and ``crowded_bin``. Free, where the
        sub-model has them: ``rate``, ``intercept``, ``log_slope``, ``tau``, ``tau_of_bin``, ``z_shift``,
        ``log_amount``, ``small_intercept``, ``small_log_slope``, ``small_tau``, ``noise_at_end``, ``contrary``, and
        Uniforms named ``u_...``. Deterministic: ``mass``,
        ``accuracy``, ``off``, ``gap`` (bin) and ``ece``; ``slope``; under one sub-model its ``rho``, ``amount``,
        ``noise`` and ``noise_rate``; under the average ``p_sub_model`` (given the free ones), along the dim
        ``hypothesis``, and ``sub_model``.

    Raises
    ------
    ValueError, TypeError
        If there is no such sub-model, or it is "runs" with more than 64 bins that have rows; or as
        `bayescal.shrinkage_posterior`.

    Notes
    -----
    NUTS needs a smooth density, so all discrete variables are summed out: outcomes of bins that are not off are
    Binomial around the centres h, outcomes of bins that are off Beta-binomial,

    .. math::
        \prod_b \left[(1 - \rho)\, \mathrm{Bin}(k_b \mid n_b, h_b)
        + \rho\, \mathrm{BetaBin}(k_b \mid n_b, \kappa_b h_b, \kappa_b (1 - h_b))\right]

    for a sparse residual, averaged over :math:`\rho`; runs of bins are summed over all ways to divide the bins into
    segments, by a recursion from the right. The variables that were summed out are then drawn given all others, each
    from a Uniform of its own through its inverse distribution function: the sub-model, :math:`\rho`, whether a bin is
    off, its accuracy, :math:`\mathrm{Beta}(\kappa h + k, \kappa (1 - h) + n - k)`, and the ends of segments.

    The average is Bayesian, with fixed prior weights. The package's posterior is a linear pool of three families, which
    have equal shares of its draws whatever their evidences are, except that the share of small errors fades if its
    evidence is far below that of another family. For given outcomes this equals a Bayesian average with other prior
    weights: the shares divided by the evidences of the families and scaled to the same sum. They are computed from
    `family_evidence`, which the closed form provides. With wrong values, the posterior probabilities of the families
    would not equal the shares here.

    Examples
    --------
    >>> from bayescal.verify.pymc_models import shrinkage_model
    >>> counts = bc.BinnedCounts.from_arrays([0, 1, 1, 0], [0.2, 0.7, 0.8, 0.9], bins=2)
    >>> model = shrinkage_model(counts, "logistic", intercept_sd=1.0)
    >>> [v.name for v in model.free_RVs]
    ['rate', 'intercept', 'log_slope']
    """
    if with_calibrated and sub_model is not None:
        raise ValueError(text_of("exact calibration of one sub-model"))
    return _shrinkage(counts, sub_model, with_calibrated, family_evidence or {}, prior)


@public
def calibrated_model(counts: Counts, **prior: Any) -> pm.Model:
    """Write exact calibration in PyMC: every accuracy is the mean confidence, and only the masses are unknown.

    Parameters
    ----------
    counts : Counts
        Counts.
    **prior
        Constants of the prior, as for `bayescal.shrinkage_posterior`.

    Returns
    -------
    pymc.Model
        Variables as in `shrinkage_model`; ``gap`` and ``ece`` are 0, except for saturated bins, with their own model.

    Examples
    --------
    >>> from bayescal.verify.pymc_models import calibrated_model
    >>> counts = bc.BinnedCounts.from_arrays([0, 1, 1, 0], [0.2, 0.7, 0.8, 0.9], bins=2)
    >>> [v.name for v in calibrated_model(counts).free_RVs]
    ['rate']
    """
    return _shrinkage(counts, priors.EXACT, False, {}, prior)


def _shrinkage(
    counts: Counts,
    sub_model: str | None,
    with_calibrated: bool,
    family_evidence: Mapping[str, float],
    options: Mapping[str, Any],
) -> pm.Model:
    require_counts(counts)
    known_keywords("`shrinkage_model`", options, shrinkage_posterior)
    prior = shrinkage_posterior(counts, **options).prior_options
    used = counts.occupied if counts.occupied.any() else np.ones(len(counts.bins), bool)
    n, k, rows = (values[used] for values in _effective(counts))
    confidence = np.where(counts.occupied, np.clip(counts.mean_confidence, 0, 1), counts.bins.midpoints)[used]
    apart = pymc_sub_models.is_saturated(confidence) & (priors.SATURATED in prior.sub_models)
    crowded = pymc_sub_models.is_crowded(counts.bins.edges, counts.mean_confidence)[used] & ~apart
    if not crowded.any():
        prior = prior.without_ends()
    if sub_model is not None:
        _checks.one_of("sub_model", sub_model, priors.NAMES)
    log_weight = {sub_model: 0.0} if sub_model else _log_weights(prior, with_calibrated, family_evidence)
    if apart.all() and not with_calibrated:  # no bin is left for the sub-models
        log_weight = {priors.EXACT: 0.0}
    labels = np.flatnonzero(used)
    coords: dict[str, Any] = {"bin": labels, pymc_sub_models.DIM: labels[~apart], "saturated_bin": labels[apart]}
    coords |= {"hypothesis": list(log_weight), "crowded_bin": labels[crowded]}
    with pm.Model(coords=coords) as model:
        # masses ~ Dirichlet, written with rates as in `dirichlet_model`
        each = 2 / len(counts.bins) if prior.mass_alpha is None else prior.mass_alpha
        rate = _rates(np.full(len(rows), each), rows, dims=("bin",))
        mass = pm.Deterministic("mass", rate / rate.sum(), dims="bin")
        _counted("rows", pm.Poisson, rows, rate)

        of_used = pymc_sub_models.BinRows(n, k, confidence, crowded)
        beside = pymc_sub_models.saturated_bins(of_used.of(apart))
        graphs = pymc_sub_models.sub_models(of_used.of(~apart), prior, log_weight)
        log_saturated = {
            name: beside.log_exact if with_calibrated and name == priors.EXACT else beside.log_likelihood
            for name in graphs
        }
        joint = pt.stack([g.log_likelihood + log_saturated[name] + log_weight[name] for name, g in graphs.items()])
        pm.Potential("outcomes", pt.logsumexp(joint))
        chosen: Any = 0
        if len(graphs) > 1:
            probability = pm.Deterministic("p_sub_model", pt.special.softmax(joint), dims="hypothesis")
            chosen = pm.Deterministic("sub_model", pymc_sub_models.categorical(probability, pm.Uniform("u_sub_model")))
        else:
            for name, value in next(iter(graphs.values())).parameters.items():
                pm.Deterministic(name, value)
        place = np.argsort(np.concatenate([np.flatnonzero(~apart), np.flatnonzero(apart)]))
        of_chosen = (pt.stack([getattr(g, name) for g in graphs.values()])[chosen] for name in ("accuracy", "off"))
        accuracy, off = (
            pt.concatenate([one, other])[place]
            for one, other in zip(of_chosen, (beside.accuracy, beside.off), strict=True)
        )
        accuracy = pm.Deterministic("accuracy", accuracy, dims="bin")
        pm.Deterministic("off", off, dims="bin")
        gap = pm.Deterministic("gap", accuracy - confidence, dims="bin")
        pm.Deterministic("ece", pt.sum(mass * pt.abs(gap)))
    return model


def _log_weights(
    prior: priors.ShrinkagePrior, with_calibrated: bool, family_evidence: Mapping[str, float]
) -> dict[str, float]:
    """Log prior weights of the sub-models in the Bayesian average, up to a constant."""
    families = dict(prior.families)
    if with_calibrated:
        families.pop(priors.EXACT, None)
    pool = [family for family in prior.pooled if family in families]
    total = {family: sum(weights.values()) for family, weights in families.items()}
    if pool:
        log_evidence = np.array([family_evidence.get(family, 0.0) for family in pool])
        log_share = np.log(_pool_shares(pool, log_evidence))
        # the families have their shares of the posterior of the pool, whose evidence is their average
        weights = np.log(priors.POOL_WEIGHT) + np.logaddexp.reduce(log_share + log_evidence) + log_share - log_evidence
        total |= dict(zip(pool, np.exp(weights), strict=True))
    weight = {
        name: np.log(w) + np.log(total[family]) - np.log(sum(weights.values()))
        for family, weights in families.items()
        for name, w in weights.items()
    }
    if with_calibrated:
        weight[priors.EXACT] = np.log(prior.prior_odds) + np.log(sum(total.values()))
    return {name: float(w) for name, w in weight.items()}


def _pool_shares(pool: list[str], log_evidence: Floats) -> Floats:
    """Shares of the families in the pool: equal, but small errors fade if another family has far more evidence."""
    share = np.full(len(pool), 1 / len(pool))
    if priors.SMALL not in pool or len(pool) == 1:
        return share
    small = np.array([family == priors.SMALL for family in pool])
    behind = log_evidence[~small].max() - log_evidence[small].max()
    share[small] *= min(1.0, np.exp(FADE_FROM / 2 - behind / 2))
    share[~small] = (1 - share[small].sum()) / (~small).sum()
    return share


def _effective(counts: Counts) -> tuple[Floats, Floats, Floats]:
    """Effective rows and positives of each bin, and effective rows in proportion to the shares, for the masses."""
    n = counts.effective_n
    return n, np.minimum(counts.effective_k, n), counts.effective_rows * counts.share


def score_cells_model(counts: ThresholdCounts, pseudo_rows: float = 3.0) -> pm.Model:
    """Write the posterior of outcome and score cells of one or several classifiers in PyMC; counts have no weights.

    Free: ``rate`` (outcome, cell). Deterministic: ``q``, the probabilities of outcome and joint score cell, of shape
    (2, n_bins, ..., n_bins) with one axis per classifier, ``score_0``, ``score_1``, ...

    All joint cells are written out, those without rows too, so that the Dirichlet process of the prior, which has the
    weight of `pseudo_rows` rows, is a Dirichlet with one parameter per joint cell: the product of its shares of the
    base distribution, in which a score is 0 or 1 with probability 0.45 each, and uniform with probability 0.1. Rates
    are Gamma and counts Poisson, as in `dirichlet_model`.
    """
    n_classifiers, shape = len(counts.models), (2, *[counts.n_bins] * len(counts.models))
    share = 0.1 * np.diff(np.concatenate([[0.0], counts.thresholds, [1.0]]))
    share[[0, -1]] += 0.45
    base = np.full((2, 1), 0.5)
    for _ in range(n_classifiers):
        base = (base[:, :, None] * share).reshape(2, -1)
    rows = np.zeros(shape, dtype=np.int64)
    rows[counts.outcome, *counts.cells[:, :-1].T] = counts.n
    rows = rows.reshape(2, -1)
    ends = [0.0, *counts.thresholds.tolist(), 1.0]
    scores = [f"{low:g} to {high:g}" for low, high in pairwise(ends)]
    axes = {f"score_{i}": scores for i in range(n_classifiers)}
    with pm.Model(coords={"outcome": [0, 1], "cell": np.arange(rows.shape[1]), **axes}) as model:
        rate = _rates(pseudo_rows * base, rows.astype(np.float64), dims=("outcome", "cell"))
        pm.Deterministic("q", (rate / rate.sum()).reshape(shape), dims=("outcome", *axes))
        pm.Poisson("rows", rate, observed=rows, dims=("outcome", "cell"))
    return model


def _rates(alpha: Floats, rows: Floats, dims: tuple[str, ...]) -> Tensor:
    """Expected numbers of rows. Their shares are Dirichlet whatever their scale, which affects the sampler only."""
    beta = alpha.sum() / max(rows.sum(), 1.0)
    return pm.Gamma("rate", alpha, beta, dims=dims, default_transform=_SmallShape(alpha))


class _SmallShape(Transform):
    """Transformation of Gamma variables of small shape to a scale on which their density is even.

    The logarithm of such a variable has a long exponential left tail, of length 1 / shape, and a short right one.
    log r = y - (1 / shape - 1) log(1 + exp(-y)) compresses the left tail and leaves the right one unchanged.
    """

    name = "evened"
    ndim_supp = 0

    def __init__(self, shape: ArrayLike) -> None:
        self.stretch = 1 / np.minimum(shape, 1.0) - 1

    def backward(self, value: Tensor, *inputs: Tensor) -> Tensor:
        # below the smallest number there would be no gradient; no result depends on such values
        return pt.exp(pt.maximum(value - self.stretch * pt.softplus(-value), SMALLEST_LOG))

    def forward(self, value: Tensor, *inputs: Tensor) -> Tensor:
        """Roughly: it only decides where a chain starts."""
        log_value = pt.log(value)
        return pt.switch(log_value > 0, log_value, log_value / (1 + self.stretch))

    def log_jac_det(self, value: Tensor, *inputs: Tensor) -> Tensor:
        log_rate = value - self.stretch * pt.softplus(-value)
        return log_rate + pt.log1p(self.stretch * pt.sigmoid(-value))


def _counted(name: str, distribution: Any, value: Floats, *parameters: Tensor) -> None:
    """Counts as observed; effective numbers of rows, which need not be whole, by the same formula."""
    if _is_whole(value):
        distribution(name, *parameters, observed=np.rint(value).astype(np.int64), dims="bin")
    else:
        pm.Potential(name, distribution.logp(value, *parameters), dims="bin")


def _is_whole(value: Floats) -> bool:
    return bool(np.allclose(value, np.rint(value), rtol=1e-12, atol=1e-9))


def _normal_cdf(z: Tensor) -> Tensor:
    return 0.5 * pt.erfc(-z / np.sqrt(2))


def _normal_density(z: Tensor) -> Tensor:
    return pt.exp(-0.5 * z**2) / np.sqrt(2 * np.pi)
