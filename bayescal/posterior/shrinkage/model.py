"""Assumptions and options of the shrinkage model, which is the default; and its compiled form for many problems."""

from collections.abc import Sequence

from bayescal import _loops
from bayescal._meant import public
from bayescal.posterior.contract import Posterior
from bayescal.posterior.shrinkage.posterior import SamplerWarning as SamplerWarning
from bayescal.posterior.shrinkage.posterior import ShrinkagePosterior as ShrinkagePosterior
from bayescal.posterior.shrinkage.prior import ENDS, make_prior
from bayescal.posterior.shrinkage.sub_model import ShrinkageDraws as ShrinkageDraws
from bayescal.stats.contract import Counts

#: From this number of problems the compiled form pays: it is compiled once, in that time, and stored.
MANY_PROBLEMS, COMPILATION = 100, "about half a minute"


@public
def shrinkage_posterior(
    counts: Counts,
    *,
    intercept_sd: float = 0.5,
    log_slope_sd: float = 0.5,
    dense_scale: float = 0.2,
    sparse_shape: float = 0.5,
    rho: float | Sequence[float] = (0.05, 0.15, 0.3, 0.5),
    sub_model_weights: Sequence[float] = (1.0, 1.0, 1.0, 1.0, 1.0),
    prior_odds: float = 1.0,
    mass_alpha: float | None = None,
    sub_models: Sequence[str] | None = None,
    pool: bool = True,
) -> ShrinkagePosterior:
    r"""Compute the posterior of the bins under the shrinkage model, which shrinks accuracies towards mean confidences.

    The notes define the symbols. M is the number of bins. A bin is *off* if its accuracy deviates from what the
    sub-model prescribes: exact calibration, the drift, or label noise.

    Parameters
    ----------
    counts : BinnedCounts
        Counts; empty counts give the prior.
    intercept_sd : float, default 0.5
        Prior standard deviation of the calibration intercept a. A value of a = 0.5 moves a confidence of 0.5 to 0.62.
        With the intercept alone, the prior mean of the ECE is 0.066.
    log_slope_sd : float, default 0.5
        Prior standard deviation of s, where exp(s) is the calibration slope. Values of s = 0.5 and -0.5 correspond to
        temperatures exp(-s) of 0.6 and 1.65. With the slope alone, the prior mean of the ECE is 0.056.
    dense_scale : float, default 0.2
        Scale of the half-Normal prior of tau in "dense", where accuracies have the standard deviation
        tau sqrt(h (1 - h)) around their centres h. The prior mean of the ECE is 0.050, about a quarter of the scale.
    sparse_shape : float, default 0.5
        Shape c of the prior density c tau^(c - 1) in "sparse", where each bin that is off has its own tau. The density
        is uniform at c = 1; smaller c makes small deviations more probable. The prior mean of the absolute gap of a bin
        that is off is 0.11 (0.16 at c = 1).
    rho : float or sequence of float, default (0.05, 0.15, 0.3, 0.5)
        Equally probable values of rho, the probability that a bin is off in "sparse". The prior mean of the ECE is
        0.027. With probability mean((1 - rho)^M), a mean over the values of rho, the ECE is exactly 0; this probability
        is 0.14 for 15 bins.
    sub_model_weights : sequence of five float, default equal
        Relative prior weights of the sub-models of the family "independent", in the order "logistic", "dense",
        "sparse", "logistic_dense", "logistic_sparse".
    prior_odds : float, default 1.0
        Prior odds of exact calibration against all other sub-models, for `p_calibrated` only.
    mass_alpha : float, optional
        Dirichlet parameter of each bin mass; default 2 / M, as in the Dirichlet model.
    sub_models : sequence of str, optional
        Names of the sub-models or families that take part; by default all of those in the notes. ``["independent"]``
        describes independent bins only. Without ``"saturated"``, saturated bins are treated like other bins.
    pool : bool, default True
        Whether the families "independent", "shared" and "small_errors" form a linear pool, in which each has a third of
        the draws. With False, all sub-models are averaged by their marginal likelihoods.

    Returns
    -------
    ShrinkagePosterior
        With `sample`, the probabilities of the sub-models and `p_calibrated`.

    Raises
    ------
    ValueError, TypeError
        If a scale or the odds are not positive, `sparse_shape` is below 0.05, `rho` is not strictly between 0 and 1,
        `sub_model_weights` are not five numbers >= 0, or `sub_models` has an unknown name or leaves no sub-model.

    Notes
    -----
    A bin with rows has the mean confidence :math:`\bar c_b`, :math:`k_b \sim \mathrm{Binomial}(n_b, \theta_b)` positive
    outcomes among its :math:`n_b` rows, and the gap :math:`\theta_b - \bar c_b`. The sub-models differ in the prior of
    the accuracies :math:`\theta_b`.

    *Independent bins* ("independent"). Five sub-models combine a drift of the logits with residuals that are
    independent given the drift. The drift has an intercept and a slope [1]_:

    .. math::
        \mathrm{logit}\, h_b = \mathrm{logit}\, \bar c_b + a + (e^s - 1)\, x_b, \quad x_b = \mathrm{logit}\, \bar c_b

    * without drift: :math:`a = s = 0`; with drift ("logistic", "logistic_dense", "logistic_sparse"): :math:`a, s`
      Normal;
    * no residual ("logistic"): :math:`\theta_b = h_b`; without drift, this is exact calibration, see below;
    * dense residual ("dense", "logistic_dense"): :math:`\theta_b \sim \mathrm{Beta}(\kappa h_b, \kappa (1 - h_b))` with
      :math:`\kappa = 1/\tau^2 - 1` and one half-Normal :math:`\tau` on (0, 1) for all bins;
    * sparse residual ("sparse", "logistic_sparse"), a spike and slab [2]_: with probability :math:`\rho` the same Beta
      with a separate :math:`\tau_b` for each bin, otherwise :math:`\theta_b = h_b`.

    *Shared errors* ("shared"). In two sub-models, several bins have the same deviation:

    * "runs": :math:`\mathrm{logit}\, \theta_b = \mathrm{logit}\, \bar c_b + \delta_{g(b)}` with one shift per segment
      g of neighbouring bins (a change-point model [3]_). At each of the E edges between bins with rows, a
      segment ends with probability :math:`\min(\nu / E, 0.9)`, with :math:`\nu \in \{1, 4, 16\}`. A segment is exact
      (:math:`\delta = 0`) with probability 1/2; otherwise :math:`\delta \sim \mathrm{Normal}(0, \tau^2)` with a density
      of :math:`\tau` proportional to :math:`\tau^{-1/2}` on (0, 2.5). Shifts are added to logits of at most 9.21 in
      size, which matters only without ``"saturated"``. If there are more than 128 bins, neighbours are
      joined into blocks.
    * "offset": :math:`\theta_b = \sin^2(\arcsin \sqrt{\bar c_b} \pm \delta)` with one :math:`\delta` for all bins that
      are off, uniform in its logarithm on (0.0001, 0.7). The probability of being off is 0.25, 0.5 or 1.

    *Small errors* ("small_errors"). One sub-model, "logistic_dense" with smaller scales: :math:`a, s \sim
    \mathrm{Normal}(0, 0.2^2)`, and a half-Normal :math:`\tau` of scale 0.1. It gives no probability to errors of
    exactly 0. Its scales are constants; the options above do not change them.

    *Noisy labels* ("noise"). The accuracies are :math:`\theta_b = (1 - \lambda) \bar c_b + \lambda \pi`, clipped to [0,
    1]: a share :math:`\lambda` of the labels is independent of the confidence, and a share :math:`\pi` of these is 1.
    Here :math:`\lambda = 1.25 u^2` with :math:`u \sim \mathrm{U}(0, 1)`, so that :math:`\lambda = 1` (all labels) is
    inside the range; :math:`\pi = 1/2` ("label_noise") or :math:`\pi \sim \mathrm{U}(0, 1)` ("label_noise_any_rate").
    The sub-model "label_noise_ends" takes part if the first or the last bin is crowded: the distance of its mean
    confidence from 0 or 1 is below a tenth of the bin width. In a crowded bin, a share :math:`\lambda_b \sim
    \mathrm{Beta}(1/2, 10)` of the labels is replaced by the outcome contrary to the confidence (1 near 0, 0 near 1):
    :math:`\theta_b = \bar c_b + \lambda_b (1 - \bar c_b)` near 0 and :math:`\bar c_b - \lambda_b \bar c_b` near 1. All
    other bins are exact.

    *Exact calibration* ("exact"): :math:`\theta_b = \bar c_b`.

    *Averaging*. The families "independent", "shared" and "small_errors" form a linear pool [4]_: each contributes a
    third of the draws of the pool, regardless of its marginal likelihood. The reason is that each family misses errors
    that another describes; if they were weighted by marginal likelihood, too few rows would suffice to select one of
    them. One exception: if the log marginal likelihood of another family is larger than that of small errors by d > 8,
    the share of small errors is multiplied by exp(-(d - 8) / 2). The pool, exact calibration and the sub-models of
    noise are averaged by marginal likelihood [5]_. Their prior weights are 10 for the pool, 0.25 for exact calibration
    and 0.5 for each sub-model of noise. The marginal likelihood of the pool is the average over its families, weighted
    by their shares.

    *Saturated bins* ("saturated") have a mean confidence within 1e-4 of 0 or 1, and a separate model: the share of
    contrary outcomes in each is :math:`0.2\, \mathrm{Beta}(1/2, 10) + 0.8\, \mathrm{Beta}(1, 1)`. Alternatively, all
    saturated bins are exact. The posterior probability of this alternative is at most 0.05; it reaches 0.05 if the
    observed shares of contrary outcomes equal those implied by the mean confidences.

    *Computation*. Given the drift, all posteriors are closed forms or sums over a small grid. Drifts are drawn by
    importance sampling with resampling; draws are exchangeable and nearly independent. Mean confidences are clipped to
    [1e-9, 1 - 1e-9], so that contrary outcomes have positive probability, and in :math:`x_b` to [1e-4, 1 - 1e-4], which
    limits how far the slope can move extreme bins. With weights, :math:`n_b` is Kish's effective number of rows. The
    prior means above are those of 15 empty equal-width bins.

    References
    ----------
    .. [1] Cox (1958), "Two further applications of a model for binary regression", Biometrika 45, 562-565.
    .. [2] T. J. Mitchell and J. J. Beauchamp (1988), "Bayesian variable selection in linear regression", Journal of
       the American Statistical Association 83, 1023-1032.
    .. [3] P. Fearnhead (2006), "Exact and efficient Bayesian inference for multiple changepoint problems", Statistics
       and Computing 16, 203-213.
    .. [4] Stone (1961), "The opinion pool", Annals of Mathematical Statistics 32, 1339-1342.
    .. [5] J. A. Hoeting, D. Madigan, A. E. Raftery and C. T. Volinsky (1999), "Bayesian model averaging: a tutorial",
       Statistical Science 14, 382-417.

    Examples
    --------
    >>> counts = bc.BinnedCounts.from_arrays([0, 1, 1, 0], [0.2, 0.7, 0.8, 0.9], bins=2)
    >>> posterior = bc.shrinkage_posterior(counts)
    >>> bc.ece(posterior.sample(rng=1)).mean(), posterior.p_calibrated
    (0.05..., 0.524...)
    """
    prior = make_prior(
        intercept_sd=intercept_sd, log_slope_sd=log_slope_sd, dense_scale=dense_scale,
        sparse_shape=sparse_shape, rho=rho, sub_model_weights=sub_model_weights,
        prior_odds=prior_odds, mass_alpha=mass_alpha, sub_models=sub_models, pool=pool,
    )  # fmt: skip
    posterior = ShrinkagePosterior(counts, prior)
    if prior.names == (ENDS,) and counts.n_rows and not posterior.crowded.any():
        raise ValueError(
            f"`sub_models` leaves only {ENDS!r}, which needs a first or last bin that has rows, is not in the model of "
            "saturated bins, and has a mean confidence less than a tenth of the bin width away from 0 or 1; here, "
            "there is none. Add another sub-model."
        )
    return posterior


def compiled_form(posterior: Posterior) -> Posterior:
    """Return the posterior in compiled form, which agrees to Monte Carlo error, or as it is if it has no such form."""
    if type(posterior) is not ShrinkagePosterior:
        return posterior
    from bayescal.posterior.shrinkage.many import CompiledShrinkagePosterior

    return CompiledShrinkagePosterior(posterior.counts, posterior.prior_options)


def compiled_form_pays(problems: int) -> bool:
    """Return whether so many problems are solved in compiled form: from `MANY_PROBLEMS` on, if numba is installed."""
    return _loops.compiles(problems > 1, problems >= MANY_PROBLEMS)


def wait_for_compilation(compiled: bool) -> str:
    """Return a message about the wait if the compiled form is used and not stored yet."""
    stored = not compiled or _loops.in_cache("posterior/shrinkage/compiled/problem.py")
    return "" if stored else f"Loops are compiled and stored, once, which takes {COMPILATION}."
