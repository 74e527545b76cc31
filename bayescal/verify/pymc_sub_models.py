"""The sub-models of the shrinkage prior in PyMC, parts of `bayescal.verify.pymc_models.shrinkage_model`.

NUTS needs a smooth density, so each sub-model sums out its discrete variables. They are then drawn given all others,
each from a Uniform of its own through its inverse distribution function.
"""

from collections.abc import Callable, Collection
from typing import Any, NamedTuple

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from scipy.special import gammaln

from bayescal._arrays import Bools, Floats
from bayescal.posterior.shrinkage.prior import ENDS, EXACT, SMALL, SUB_MODELS, ShrinkagePrior
from bayescal.verify.pooling_models import logit

#: A symbolic value in the graph of a model.
Tensor = Any

DIM = "unsaturated_bin"  #: Dimension of the bins that the sub-models describe, which are not saturated.
LARGEST_KAPPA = 1e9  #: Largest concentration of a Beta; beyond it, differences of log Gammas lose their digits.
#: How far from 0 and 1 the likelihood keeps accuracies, and where the leverage of the slope is limited.
FLOOR, LEVERAGE_FLOOR = 1e-9, 1e-4
#: Runs of bins off: expected numbers of changes, largest probability of a change, prior probability of being off,
#: largest scale. The recursion over segments is unrolled, so models with more bins would take long to compile.
CHANGES, LARGEST_RATE, SEGMENT_OFF, LARGEST_SCALE = (1.0, 4.0, 16.0), 0.9, 0.5, 2.5
LARGEST_DIFFERENCE = 1.5  #: Largest scale of a difference between groups, in standard deviations of a response.
#: Largest logit from which bins in runs are shifted.
FARTHEST_ORIGIN = 9.21
MOST_BINS_IN_RUNS = 64
#: Bins off by one amount: range of the amount, shares of bins that are off.
AMOUNTS, AMOUNT_RHO = (1e-4, 0.7), (0.25, 0.5, 1.0)
LARGEST_NOISE = 1.25  #: Label noise: its share is this times the square of a Uniform.
#: Label noise at the ends: how near to 0 or 1 mean confidences of these bins are, in widths; Beta of the share.
CROWDED_WITHIN, SHARE_AT_ENDS = 0.1, (0.5, 10.0)
#: Saturated bins: how near to 0 or 1, odds that all are as stated; weights and Betas of the mixture for the share of
#: contrary outcomes.
SATURATED_WITHIN, STATED_ODDS = 1e-4, 0.05 / 0.95
CONTRARY_WEIGHTS, CONTRARY = (0.2, 0.8), ((0.5, 10.0), (1.0, 1.0))
#: Small errors: standard deviations of intercept and log slope, scale of tau.
SMALL_DRIFT_SD, SMALL_TAU_SCALE = 0.2, 0.1
LOG_OF_NOTHING = -690.0  #: Replaces log 0, so that the gradient exists.


class BinRows(NamedTuple):
    """Effective rows, positives and mean confidences of some bins, and whether they are crowded at 0 or 1."""

    n: Floats
    k: Floats
    confidence: Floats
    crowded: Bools

    def of(self, which: Bools) -> "BinRows":
        """Select bins by a mask."""
        return BinRows(self.n[which], self.k[which], self.confidence[which], self.crowded[which])

    @property
    def inside(self) -> Floats:
        """Mean confidences, kept away from 0 and 1 for the likelihood."""
        return np.clip(self.confidence, FLOOR, 1 - FLOOR)

    def drifted(self, intercept: Tensor, log_slope: Tensor) -> Tensor:
        """Log-odds of the confidences after a drift."""
        x = logit(np.clip(self.inside, LEVERAGE_FLOOR, 1 - LEVERAGE_FLOOR))
        return logit(self.inside) + intercept + pt.expm1(log_slope) * x

    def log_likelihood_at(self, log_odds: Tensor) -> Tensor:
        """Log-likelihood of the outcomes of each bin, whose gradient exists for all log-odds."""
        ways = gammaln(self.n + 1) - gammaln(self.k + 1) - gammaln(self.n - self.k + 1)
        return ways - self.k * pt.softplus(-log_odds) - (self.n - self.k) * pt.softplus(log_odds)

    def log_likelihood(self, accuracy: Tensor) -> Tensor:
        """Log-likelihood of the outcomes of each bin."""
        return pm.Binomial.logp(self.k, self.n, pt.clip(accuracy, FLOOR, 1 - FLOOR))


class SubModelGraph(NamedTuple):
    """Graph of a sub-model: log-likelihood of all outcomes, and accuracies, bins that are off and parameters."""

    log_likelihood: Tensor
    accuracy: Tensor
    off: Tensor
    parameters: dict[str, Tensor]


class Centre(NamedTuple):
    """Centres of the accuracies: their log-odds in the likelihood, and the accuracy of a bin that is not off."""

    log_odds: Tensor
    accuracy: Tensor


def sub_models(rows: BinRows, prior: ShrinkagePrior, names: Collection[str]) -> dict[str, SubModelGraph]:
    """Write the named sub-models of bins that are not saturated in the model on the context stack."""
    if not len(rows.n):
        return dict.fromkeys(names, SubModelGraph(pt.as_tensor(0.0), pt.zeros(0), pt.zeros(0), {}))
    others: dict[str, Callable[[], SubModelGraph]] = {
        "runs": lambda: _runs(rows),
        "offset": lambda: _one_amount(rows),
        SMALL: lambda: _small_errors(rows),
        "label_noise": lambda: _noise(rows, free_rate=False),
        "label_noise_any_rate": lambda: _noise(rows, free_rate=True),
        ENDS: lambda: _noise_at_ends(rows),
        EXACT: lambda: _exact(rows),
    }
    independent = _independent(rows, prior, [name for name in names if name in SUB_MODELS])
    return {name: independent[name] if name in independent else others[name]() for name in names}


def categorical(probability: Tensor, uniform: Tensor) -> Tensor:
    """Draw an index with these probabilities from a Uniform, by the inverse distribution function."""
    return pt.sum(pt.cumsum(probability)[:-1] < uniform)


def _uniform(name: str, dims: str | None = None) -> Tensor:
    """Return the Uniform of a name. Sub-models share it, because only one of them is chosen at a time."""
    existing = pm.modelcontext(None).named_vars
    return existing[name] if name in existing else pm.Uniform(name, dims=dims)


def _exact(rows: BinRows) -> SubModelGraph:
    stated = pt.as_tensor(rows.confidence)
    return SubModelGraph(pt.sum(rows.log_likelihood(rows.inside)), stated, pt.zeros(len(rows.n)), {})


# --- independent bins


def _independent(rows: BinRows, prior: ShrinkagePrior, names: Collection[str]) -> dict[str, SubModelGraph]:
    if not names:
        return {}
    kinds = {name: SUB_MODELS[name] for name in names}
    centres = _centres(rows, prior, drifts={drift for drift, _ in kinds.values()})
    residuals = _residuals(rows, prior, {residual for _, residual in kinds.values()})
    return {name: residuals[residual](centres[drift]) for name, (drift, residual) in kinds.items()}


def _centres(rows: BinRows, prior: ShrinkagePrior, drifts: set[bool]) -> dict[bool, Centre]:
    """Write the centres without drift and, if needed, with it."""
    centres = {False: Centre(pt.as_tensor(logit(rows.inside)), pt.as_tensor(rows.confidence))}
    if True in drifts:
        intercept = pm.Normal("intercept", mu=0, sigma=prior.intercept_sd)
        log_slope = pm.Normal("log_slope", mu=0, sigma=prior.log_slope_sd)
        pm.Deterministic("slope", pt.exp(log_slope))
        log_odds = rows.drifted(intercept, log_slope)
        centres[True] = Centre(log_odds, pt.sigmoid(log_odds))
    return centres


def _residuals(rows: BinRows, prior: ShrinkagePrior, kinds: set[str]) -> dict[str, Any]:
    """Functions of a `Centre` that write how bins deviate from their centres."""
    n, k = rows.n, rows.k

    def none(centre: Centre) -> SubModelGraph:
        return SubModelGraph(pt.sum(rows.log_likelihood_at(centre.log_odds)), centre.accuracy, pt.zeros(len(n)), {})

    if kinds == {"none"}:
        return {"none": none}
    u_accuracy = pm.Uniform("u_accuracy", dims=DIM)

    def if_off(centre: Centre, tau: Tensor) -> tuple[Tensor, Tensor]:
        """Log-likelihood and accuracy of each bin that is off."""
        kappa = pt.minimum(tau**-2 - 1, LARGEST_KAPPA)
        alpha, beta = (kappa * pt.sigmoid(sign * centre.log_odds) for sign in (1, -1))
        return pm.BetaBinomial.logp(k, n, alpha, beta), pt.betaincinv(alpha + k, beta + (n - k), u_accuracy)

    if "dense" in kinds:
        tau = pm.TruncatedNormal("tau", mu=0, sigma=prior.dense_scale, lower=0, upper=1)

    def dense(centre: Centre) -> SubModelGraph:
        log_likelihood, accuracy = if_off(centre, tau)
        return SubModelGraph(pt.sum(log_likelihood), accuracy, pt.ones(len(n)), {})

    if "sparse" in kinds:
        tau_of_bin = pm.Beta("tau_of_bin", alpha=prior.sparse_shape, beta=1, dims=DIM)

    def sparse(centre: Centre) -> SubModelGraph:
        on = rows.log_likelihood_at(centre.log_odds)
        off, accuracy_if_off = if_off(centre, tau_of_bin)
        log_likelihood, is_off, rho = _some_bins_off(on, off, np.array(prior.rho))
        accuracy = pt.switch(is_off, accuracy_if_off, centre.accuracy)
        return SubModelGraph(log_likelihood, accuracy, pt.cast(is_off, "float64"), {"rho": rho})

    return {"none": none, "dense": dense, "sparse": sparse}


def _some_bins_off(on: Tensor, off: Tensor, rhos: Floats) -> tuple[Tensor, Tensor, Tensor]:
    """Log-likelihood of all bins, from those of each bin if on and if off; bins that are off; and rho."""
    log_on, log_off = np.maximum(np.log(np.maximum(1 - rhos, 1e-300)), LOG_OF_NOTHING), np.log(rhos)
    u_off, u_rho = _uniform("u_off", DIM), _uniform("u_rho")
    each = pt.logaddexp(log_on[:, None] + on, log_off[:, None] + off)
    by_rho = pt.sum(each, axis=1) - np.log(len(rhos))
    chosen = categorical(pt.special.softmax(by_rho), u_rho)
    odds = pt.as_tensor(log_off - log_on)[chosen]
    return pt.logsumexp(by_rho), u_off < pt.sigmoid(odds + off - on), pt.as_tensor(rhos)[chosen]


# --- shared errors


def _runs(rows: BinRows) -> SubModelGraph:
    """Write shifts that are constant on segments: a segment has the shift of the bin at which it begins."""
    count = len(rows.n)
    if count > MOST_BINS_IN_RUNS:
        raise ValueError(
            f"`counts` must have at most {MOST_BINS_IN_RUNS} bins with rows for the PyMC model of errors in runs of "
            f'bins, not {count}. Use fewer bins, or leave this sub-model out, as in `sub_models=["independent"]`.'
        )
    shift = LARGEST_SCALE * pm.Uniform("u_scale", dims=DIM) ** 2 * pm.Normal("z_shift", dims=DIM)
    stated = rows.log_likelihood(rows.inside)
    origin = np.clip(logit(rows.inside), -FARTHEST_ORIGIN, FARTHEST_ORIGIN)
    eta = origin + shift[:, None]
    # log-likelihood relative to no shift, without underflow
    ratio = rows.k * (origin - logit(rows.inside) + shift[:, None]) + rows.n * (
        pt.softplus(logit(rows.inside)) - pt.softplus(eta)
    )
    log_likelihood, which, by = in_segments(ratio, shift, count, DIM)
    accuracy = pt.switch(which, pt.sigmoid(origin + by), rows.confidence)
    return SubModelGraph(log_likelihood + pt.sum(stated), accuracy, pt.cast(which, "float64"), {})


def in_segments(ratio: Tensor, shift: Tensor, count: int, dims: str) -> tuple[Tensor, Tensor, Tensor]:
    """Sum over segments, and draw them: log-likelihood ratio of all bins, which bins are off, and their shifts.

    `ratio` has the log-likelihood ratio of each bin (column) if the segment that begins at a bin (row) is off.
    """
    u_end, u_segment = (pm.Uniform(name, dims=dims) for name in ("u_end", "u_segment"))
    u_changes = _uniform("u_changes")
    rates = np.minimum(np.array(CHANGES) / max(count - 1, 1), LARGEST_RATE)
    # ends[s] of a segment that begins at s: log-likelihood ratio if off, by end; prior by number of changes and end
    off, either, prior = [], [], []
    for s in range(count):
        off.append(pt.cumsum(ratio[s, s:]))
        either.append(pt.logaddexp(np.log(SEGMENT_OFF) + off[s], np.log1p(-SEGMENT_OFF)))
        goes_on, stops = np.arange(count - s), np.arange(s + 1, count + 1) < count
        prior.append(np.log1p(-rates)[:, None] * goes_on + np.log(rates)[:, None] * stops)
    # log-likelihood ratio of all bins from s on, given that a segment begins there, by number of changes
    after = [pt.zeros(len(rates))]
    for s in reversed(range(count)):
        rest = pt.stack(after, axis=1)
        after.insert(0, pt.logsumexp(either[s] + prior[s] + rest, axis=1))
    # from the left, for a segment that begins at s: where it ends, and whether it is off
    rate = categorical(pt.special.softmax(after[0]), u_changes)
    ends, offs = [], []
    for s in range(count):
        by_end = either[s] + pt.as_tensor(prior[s])[rate] + pt.stack(after[s + 1 :], axis=1)[rate]
        length = categorical(pt.special.softmax(by_end), u_end[s])
        ends.append(s + 1 + length)
        odds = np.log(SEGMENT_OFF) - np.log1p(-SEGMENT_OFF) + off[s][length]
        offs.append(u_segment[s] < pt.sigmoid(odds))
    end, is_off, shift_here, bins = ends[0], offs[0], shift[0], [(offs[0], shift[0])]
    for b in range(1, count):
        begins = pt.eq(end, b)
        end, is_off = pt.switch(begins, ends[b], end), pt.switch(begins, offs[b], is_off)
        shift_here = pt.switch(begins, shift[b], shift_here)
        bins.append((is_off, shift_here))
    which, by = (pt.stack(values) for values in zip(*bins, strict=True))
    return pt.logsumexp(after[0]) - np.log(len(rates)), which, by


def difference_model(difference: Floats, variance: Floats, unit: float) -> "pm.Model":
    """Write true differences in ordered bins, given Normal observed ones: a drift, or segments that differ from 0."""
    count = len(difference)
    with pm.Model(coords={DIM: np.arange(count)}) as model:
        place = np.linspace(-1, 1, count) if count > 1 else np.zeros(1)
        tau = LARGEST_DIFFERENCE * unit * pm.Uniform("u_tau") ** 2
        drift = tau * (pm.Normal("z_intercept") + pm.Normal("z_slope") * place)
        shift = LARGEST_DIFFERENCE * unit * pm.Uniform("u_scale", dims=DIM) ** 2 * pm.Normal("z_shift", dims=DIM)

        def ratio(mean: Tensor) -> Tensor:
            return (mean * difference - mean**2 / 2) / variance

        of_segments, which, by = in_segments(ratio(shift[:, None]), shift, count, DIM)
        both = pt.stack([pt.sum(ratio(drift)), of_segments]) - np.log(2)
        pm.Potential("log_likelihood", pt.logsumexp(both))
        is_drift = pt.eq(categorical(pt.special.softmax(both), pm.Uniform("u_model")), 0)
        pm.Deterministic("is_drift", pt.cast(is_drift, "float64"))
        pm.Deterministic("difference", pt.switch(is_drift, drift, pt.switch(which, by, 0.0)), dims=DIM)
    return model


def _one_amount(rows: BinRows) -> SubModelGraph:
    """Write bins that are off by one amount, up or down."""
    amount = pt.exp(pm.Uniform("log_amount", *np.log(AMOUNTS)))
    angle = np.arcsin(np.sqrt(rows.confidence))
    high, low = (pt.sin(pt.clip(angle + sign * amount, 0, np.pi / 2)) ** 2 for sign in (1, -1))
    up, down = rows.log_likelihood(high), rows.log_likelihood(low)
    off = pt.logaddexp(up, down) - np.log(2)
    log_likelihood, is_off, rho = _some_bins_off(rows.log_likelihood(rows.inside), off, np.array(AMOUNT_RHO))
    moved = pt.switch(pm.Uniform("u_up", dims=DIM) < pt.sigmoid(up - down), high, low)
    accuracy = pt.switch(is_off, moved, rows.confidence)
    return SubModelGraph(log_likelihood, accuracy, pt.cast(is_off, "float64"), {"amount": amount, "rho": rho})


# --- small errors


def _small_errors(rows: BinRows) -> SubModelGraph:
    """Write a small drift and small residuals in all bins, with variables of their own."""
    intercept = pm.Normal("small_intercept", mu=0, sigma=SMALL_DRIFT_SD)
    log_slope = pm.Normal("small_log_slope", mu=0, sigma=SMALL_DRIFT_SD)
    tau = pm.TruncatedNormal("small_tau", mu=0, sigma=SMALL_TAU_SCALE, lower=0, upper=1)
    kappa, log_odds = pt.minimum(tau**-2 - 1, LARGEST_KAPPA), rows.drifted(intercept, log_slope)
    alpha, beta = (kappa * pt.sigmoid(sign * log_odds) for sign in (1, -1))
    accuracy = pt.betaincinv(alpha + rows.k, beta + (rows.n - rows.k), pm.Uniform("u_small_accuracy", dims=DIM))
    log_likelihood = pt.sum(pm.BetaBinomial.logp(rows.k, rows.n, alpha, beta))
    parameters = {"intercept": intercept, "slope": pt.exp(log_slope), "tau": tau}
    return SubModelGraph(log_likelihood, accuracy, pt.ones(len(rows.n)), parameters)


# --- noisy labels


def _noise(rows: BinRows, free_rate: bool) -> SubModelGraph:
    """Write accuracies as mixtures of the confidence and the rate of outcome 1 among noisy labels."""
    noise = LARGEST_NOISE * _uniform("u_noise") ** 2
    rate = _uniform("u_noise_rate") if free_rate else pt.as_tensor(0.5)
    accuracy = (1 - noise) * rows.confidence + noise * rate
    parameters = {"noise": noise} | ({"noise_rate": rate} if free_rate else {})
    off = pt.zeros(len(rows.n))
    return SubModelGraph(pt.sum(rows.log_likelihood(accuracy)), pt.clip(accuracy, 0, 1), off, parameters)


def is_crowded(edges: Floats, confidence: Floats) -> Bools:
    """Whether a bin can have a noise share of its own: the first and the last, if confidences are close to 0 or 1."""
    width = np.diff(edges)
    at_0 = (edges[:-1] == edges[0]) & (confidence - edges[0] < CROWDED_WITHIN * width)
    at_1 = (edges[1:] == edges[-1]) & (edges[-1] - confidence < CROWDED_WITHIN * width)
    return at_0 | at_1


def _noise_at_ends(rows: BinRows) -> SubModelGraph:
    """Write a share of contrary outcomes for each crowded bin; other bins are exactly calibrated."""
    accuracy = pt.as_tensor(rows.confidence)
    if rows.crowded.any():
        share, stated = pm.Beta("noise_at_end", *SHARE_AT_ENDS, dims="crowded_bin"), rows.confidence[rows.crowded]
        noisy = pt.switch(stated > 0.5, (1 - share) * stated, stated + share * (1 - stated))
        accuracy = pt.set_subtensor(accuracy[np.flatnonzero(rows.crowded)], noisy)
    return SubModelGraph(pt.sum(rows.log_likelihood(accuracy)), accuracy, pt.zeros(len(rows.n)), {})


# --- saturated bins


class Saturated(NamedTuple):
    """Saturated bins: log-likelihoods of the Betas and of exact calibration; accuracies, and whether they are off."""

    log_likelihood: Tensor
    log_exact: Tensor
    accuracy: Tensor
    off: Tensor


def is_saturated(confidence: Floats) -> Bools:
    """Whether each mean confidence is within 1e-4 of 0 or 1."""
    return np.minimum(confidence, 1 - confidence) < SATURATED_WITHIN * (1 + 1e-9)  # 1 - 0.9999 is rounded


def saturated_bins(rows: BinRows) -> Saturated:
    """Write the share of contrary outcomes of each saturated bin in the model on the context stack.

    The state in which all of them are exactly as stated has no prior probability. Its odds are a function of the
    outcomes: 0.05 / 0.95 times the likelihood ratio of the stated against the observed shares. This model repeats the
    formula and draws the state from a Uniform, so it checks the implementation but not the formula.
    """
    if not len(rows.n):
        return Saturated(0.0, 0.0, pt.zeros(0), pt.zeros(0))
    high = rows.confidence > 0.5
    contrary, stated = np.where(high, rows.n - rows.k, rows.k), np.where(high, 1 - rows.confidence, rows.confidence)
    betas = [pm.Beta.dist(*each, shape=len(high)) for each in CONTRARY]
    share = pm.Mixture("contrary", w=CONTRARY_WEIGHTS, comp_dists=betas, dims="saturated_bin")
    as_stated = pm.Uniform("u_stated") < _probability_of_all_as_stated(contrary, rows.n, stated)
    accuracy = pt.switch(as_stated, rows.confidence, pt.switch(high, 1 - share, share))
    off = pt.switch(as_stated, pt.zeros(len(high)), pt.ones(len(high)))
    exact = pm.Binomial.logp(contrary, rows.n, np.maximum(stated, FLOOR))
    return Saturated(pt.sum(pm.Binomial.logp(contrary, rows.n, share)), pt.sum(exact), accuracy, off)


def _probability_of_all_as_stated(contrary: Floats, n: Floats, stated: Floats) -> float:
    """Compute the posterior probability that all bins are as stated, by the formula of the model."""
    seen = np.where(n > 0, contrary / np.where(n > 0, n, 1), 0.0)
    log_odds = np.log(STATED_ODDS)
    with np.errstate(divide="ignore"):
        for r, of, p, q in zip(contrary, n, stated, seen, strict=True):
            # 0 to the power of 0 is 1
            log_odds += r * (np.log(p) - np.log(q)) if r > 0 else 0.0
            log_odds += (of - r) * (np.log1p(-p) - np.log1p(-q)) if of > r else 0.0
    return float(1 / (1 + np.exp(-log_odds)))
