"""The sub-models in PyMC and their average, without MCMC: log densities and deterministics against the definitions."""

import itertools

import numpy as np
import pytest
from pymc.blocking import DictToArrayBijection
from scipy import stats
from scipy.special import betaincinv, betaln, expit, gammaln, logit, logsumexp, softmax

from bayescal import BinnedCounts, shrinkage_posterior
from bayescal.posterior.shrinkage.prior import SUB_MODELS
from bayescal.verify.pymc_models import calibrated_model, dirichlet_model, shrinkage_model

pytestmark = pytest.mark.measuring

RHO = np.array([0.05, 0.15, 0.3, 0.5])
OTHERS = [
    "runs",
    "offset",
    "small_errors",
    "label_noise",
    "label_noise_any_rate",
    "exact",
]
#: Prior weights of all sub-models as the documentation of the model has them: 10 for the pool in equal shares.
WEIGHTS = dict(zip(SUB_MODELS, [2 / 3] * 5, strict=True)) | dict(
    zip(OTHERS, [20 / 9, 10 / 9, 10 / 3, 0.5, 0.5, 0.25], strict=True)
)


@pytest.fixture(scope="module")
def counts():
    """Four bins, the first one empty."""
    rng = np.random.default_rng(1)
    confidence = rng.uniform(0.26, 1, 60)
    return BinnedCounts.from_arrays(rng.random(60) < confidence**1.4, confidence, bins=4)


# --- the shrinkage model


def log_binomial(k, n, h):
    return gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1) + k * np.log(h) + (n - k) * np.log1p(-h)


def log_beta_binomial(k, n, h, tau):
    kappa = tau**-2 - 1
    a, b = kappa * h, kappa * (1 - h)
    return gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1) + betaln(a + k, b + n - k) - betaln(a, b)


def sub_model(kind, at, n, k, confidence):
    """Log likelihood, accuracies, bins off: the model's definition, in numpy."""
    drift, residual = kind
    h = (
        expit(logit(confidence) + at["intercept"] + np.expm1(at["log_slope"]) * logit(confidence))
        if drift
        else confidence
    )
    if residual == "none":
        return log_binomial(k, n, h).sum(), h, np.zeros(len(n))
    tau = at["tau"] if residual == "dense" else at["tau_of_bin"]
    kappa = tau**-2 - 1
    off = log_beta_binomial(k, n, h, tau)
    accuracy = betaincinv(kappa * h + k, kappa * (1 - h) + n - k, at["u_accuracy"])
    if residual == "dense":
        return off.sum(), accuracy, np.ones(len(n))
    on = log_binomial(k, n, h)
    by_rho = np.array([np.logaddexp(np.log1p(-rho) + on, np.log(rho) + off).sum() for rho in RHO]) - np.log(4)
    rho = RHO[(np.cumsum(softmax(by_rho)) < at["u_rho"]).sum()]
    is_off = at["u_off"] < rho * np.exp(off) / (rho * np.exp(off) + (1 - rho) * np.exp(on))
    return logsumexp(by_rho), np.where(is_off, accuracy, h), is_off.astype(float)


def segmentations(n_bins):
    """Every way to cut bins into segments, as tuples of (first, last + 1)."""
    for cuts in itertools.product([False, True], repeat=n_bins - 1):
        bounds = [0, *(i + 1 for i, cut in enumerate(cuts) if cut), n_bins]
        yield list(itertools.pairwise(bounds))


def runs(at, n, k, confidence):
    """Log likelihood by enumeration, and for the drawn state its posterior probability of each place."""
    shift = 2.5 * at["u_scale"] ** 2 * at["z_shift"]
    moved = log_binomial(k, n, expit(logit(confidence) + shift[:, None]))  # by the bin where the segment begins
    on = log_binomial(k, n, confidence)
    size = len(n)
    total = []
    for rate in np.minimum(np.array([1.0, 4.0, 16.0]) / (size - 1), 0.9):
        for segments in segmentations(size):
            p = rate ** (len(segments) - 1) * (1 - rate) ** (size - len(segments)) / 3
            each = [np.exp(moved[a, a:b].sum()) / 2 + np.exp(on[a:b].sum()) / 2 for a, b in segments]
            total.append(p * np.prod(each))
    # what is drawn: whole segments of one shift, each that of its first bin
    states = set()
    for segments in segmentations(size):
        for off in itertools.product([False, True], repeat=len(segments)):
            accuracy = np.array(confidence)
            for (a, b), is_off in zip(segments, off, strict=True):
                if is_off:
                    accuracy[a:b] = expit(logit(confidence[a:b]) + shift[a])
            states.add(tuple(np.round(accuracy, 9)))
    return np.log(np.sum(total)), states


def one_amount(at, n, k, confidence):
    angle = np.arcsin(np.sqrt(confidence))
    high, low = (np.sin(np.clip(angle + s * np.exp(at["log_amount"]), 0, np.pi / 2)) ** 2 for s in (1, -1))
    on, up, down = (np.exp(log_binomial(k, n, np.clip(h, 1e-9, 1 - 1e-9))) for h in (confidence, high, low))
    rhos = np.array([0.25, 0.5, 1.0])
    by_rho = np.array([((1 - rho) * on + rho * (up + down) / 2).prod() for rho in rhos])
    rho = rhos[(np.cumsum(by_rho / by_rho.sum())[:-1] < at["u_rho"]).sum()]
    slab = rho * (up + down) / 2
    off = at["u_off"] < slab / (slab + (1 - rho) * on)
    moved = np.where(at["u_up"] < up / (up + down), high, low)
    return np.log(by_rho.mean()), np.where(off, moved, confidence), off, rho


def noise(at, n, k, confidence, rate):
    share = 1.25 * at["u_noise"] ** 2
    accuracy = confidence * (1 - share) + rate * share
    return log_binomial(k, n, np.clip(accuracy, 1e-9, 1 - 1e-9)).sum(), np.clip(accuracy, 0, 1)


def small_errors(at, n, k, confidence):
    """Log likelihood and accuracy: a drift and a dense residual with variables of their own."""
    own = {"intercept": at["small_intercept"], "log_slope": at["small_log_slope"], "tau": at["small_tau"]}
    return sub_model((True, "dense"), {**own, "u_accuracy": at["u_small_accuracy"]}, n, k, confidence)[:2]


def likelihood_of(name, at, n, k, confidence):
    """Of any sub-model."""
    if name == "small_errors":
        return small_errors(at, n, k, confidence)[0]
    if name in SUB_MODELS:
        return sub_model(SUB_MODELS[name], at, n, k, confidence)[0]
    if name.startswith("label"):
        return noise(at, n, k, confidence, 0.5 if name == "label_noise" else at["u_noise_rate"])[0]
    if name == "exact":
        return log_binomial(k, n, confidence).sum()
    return (runs if name.startswith("runs") else one_amount)(at, n, k, confidence)[0]


def prior_density(model, at, mass_alpha, n_rows=60):
    """Of every free variable, by scipy; Uniforms add nothing. As many rows are expected as there are."""
    densities = {
        "rate": lambda v: stats.gamma.logpdf(v, mass_alpha, scale=n_rows / (len(v) * mass_alpha)).sum(),
        "intercept": lambda v: stats.norm.logpdf(v, 0, 0.5),
        "log_slope": lambda v: stats.norm.logpdf(v, 0, 0.5),
        "tau": lambda v: stats.truncnorm.logpdf(v, 0, 5, 0, 0.2),
        "tau_of_bin": lambda v: stats.beta.logpdf(v, 0.5, 1).sum(),
        "z_shift": lambda v: stats.norm.logpdf(v).sum(),
        "log_amount": lambda v: stats.uniform.logpdf(v, np.log(1e-4), np.log(7000)),
        "contrary": lambda v: np.log(0.2 * stats.beta.pdf(v, 0.5, 10) + 0.8).sum(),
        "small_intercept": lambda v: stats.norm.logpdf(v, 0, 0.2),
        "small_log_slope": lambda v: stats.norm.logpdf(v, 0, 0.2),
        "small_tau": lambda v: stats.truncnorm.logpdf(v, 0, 10, 0, 0.1),
        "noise_at_end": lambda v: stats.beta.logpdf(v, 0.5, 10).sum(),
    }
    return sum(densities[v.name](at[v.name]) for v in model.free_RVs if not v.name.startswith("u_"))


@pytest.mark.parametrize("name", SUB_MODELS)
def test_each_sub_model_is_its_definition(counts, name, assert_same_up_to_a_constant, scattered):
    n, k, confidence = counts.n[1:], counts.k[1:], counts.mean_confidence[1:]
    model = shrinkage_model(counts, name)
    assert list(model.coords["bin"]) == [1, 2, 3]  # the empty bin is left out
    pairs = []
    for density, at in scattered(model):
        likelihood, accuracy, off = sub_model(SUB_MODELS[name], at, n, k, confidence)
        rows = stats.poisson.logpmf(n, at["rate"]).sum()
        pairs.append((density, likelihood + rows + prior_density(model, at, 2 / 4)))
        np.testing.assert_allclose(at["accuracy"], accuracy, rtol=1e-9)
        np.testing.assert_array_equal(at["off"], off)
        np.testing.assert_allclose(at["gap"], accuracy - confidence, atol=1e-12)
        assert at["ece"] == pytest.approx((at["rate"] / at["rate"].sum() * np.abs(at["gap"])).sum())
    assert_same_up_to_a_constant(pairs)
    np.testing.assert_allclose(pairs[0][0], pairs[0][1], rtol=1e-9)  # and that constant is 0


def test_small_errors_are_their_definition(counts, scattered):
    n, k, confidence = counts.n[1:], counts.k[1:], counts.mean_confidence[1:]
    model = shrinkage_model(counts, "small_errors", dense_scale=0.9)  # whose scales are constants
    for density, at in scattered(model):
        likelihood, accuracy = small_errors(at, n, k, confidence)
        rows = stats.poisson.logpmf(n, at["rate"]).sum()
        assert density == pytest.approx(likelihood + rows + prior_density(model, at, 2 / 4), rel=1e-9)
        np.testing.assert_allclose(at["accuracy"], accuracy, rtol=1e-9)
        assert at["slope"] == pytest.approx(np.exp(at["small_log_slope"]))


def test_runs_of_bins_off_are_their_definition(counts, scattered):
    """Every segmentation of three bins, off or not: the recursion sums over all, and draws one of them."""
    n, k, confidence = counts.n[1:], counts.k[1:], counts.mean_confidence[1:]
    model = shrinkage_model(counts, "runs")
    drawn = []
    for density, at in scattered(model, 40):
        likelihood, states = runs(at, n, k, confidence)
        rows = stats.poisson.logpmf(n, at["rate"]).sum()
        assert density == pytest.approx(likelihood + rows + prior_density(model, at, 2 / 4), rel=1e-9)
        assert tuple(np.round(at["accuracy"], 9)) in states
        np.testing.assert_array_equal(at["off"], at["accuracy"] != confidence)
        drawn.append(tuple(at["off"]))
    assert len(set(drawn)) > 3


def test_segments_are_drawn_as_often_as_they_are_probable(counts):
    """At one point of the shifts, over many Uniforms: off probabilities by enumeration."""
    n, k, confidence = counts.n[1:], counts.k[1:], counts.mean_confidence[1:]
    model = shrinkage_model(counts, "runs")
    discrete = [model[name] for name in ("u_end", "u_segment", "u_changes")]
    compiled = model.compile_fn(
        model.replace_rvs_by_values([model["off"], model["u_scale"], model["z_shift"], model.logp(jacobian=False)]),
        on_unused_input="ignore",
        mode="FAST_COMPILE",
    )
    rng, start = np.random.default_rng(4), model.initial_point()
    start["z_shift"] = np.array([-0.8, 0.5, 1.2])
    off = []
    for _ in range(1500):
        point = {v.name: logit(rng.random(start[v.name].shape)) for v in map(model.rvs_to_values.get, discrete)}
        values = compiled({**start, **point})
        off.append(values[0])
    at = {"u_scale": values[1], "z_shift": values[2]}
    shift = 2.5 * at["u_scale"] ** 2 * at["z_shift"]
    moved = np.exp(log_binomial(k, n, expit(logit(confidence) + shift[:, None])))
    on, expected, total = np.exp(log_binomial(k, n, confidence)), np.zeros(3), 0.0
    for rate in (1 / 2, 0.9, 0.9):
        for segments in segmentations(3):
            p = rate ** (len(segments) - 1) * (1 - rate) ** (3 - len(segments))
            for which in itertools.product([False, True], repeat=len(segments)):
                each = [(moved[a, a:b] if o else on[a:b]).prod() / 2 for (a, b), o in zip(segments, which, strict=True)]
                where = np.repeat(which, [b - a for a, b in segments])
                expected, total = expected + p * np.prod(each) * where, total + p * np.prod(each)
    expected /= total
    # five standard errors of 1500 draws
    np.testing.assert_allclose(np.mean(off, axis=0), expected, atol=5 * 0.5 / np.sqrt(1500))
    assert np.ptp(expected) > 0.05


def test_bins_off_by_one_amount_are_their_definition(counts, scattered):
    n, k, confidence = counts.n[1:], counts.k[1:], counts.mean_confidence[1:]
    model = shrinkage_model(counts, "offset")
    for density, at in scattered(model):
        likelihood, accuracy, off, rho = one_amount(at, n, k, confidence)
        rows = stats.poisson.logpmf(n, at["rate"]).sum()
        assert density == pytest.approx(likelihood + rows + prior_density(model, at, 2 / 4), rel=1e-9)
        np.testing.assert_allclose(at["accuracy"], accuracy, rtol=1e-9)
        np.testing.assert_array_equal(at["off"], off)
        assert (at["rho"], at["amount"]) == (rho, pytest.approx(np.exp(at["log_amount"])))


@pytest.mark.parametrize("name", ["label_noise", "label_noise_any_rate"])
def test_label_noise_is_its_definition(counts, name, scattered):
    n, k, confidence = counts.n[1:], counts.k[1:], counts.mean_confidence[1:]
    model = shrinkage_model(counts, name)
    for density, at in scattered(model):
        rate = 0.5 if name == "label_noise" else at["noise_rate"]
        likelihood, accuracy = noise(at, n, k, confidence, rate)
        rows = stats.poisson.logpmf(n, at["rate"]).sum()
        assert density == pytest.approx(likelihood + rows + prior_density(model, at, 2 / 4), rel=1e-9)
        np.testing.assert_allclose(at["accuracy"], accuracy, rtol=1e-9)
        assert at["noise"] == pytest.approx(1.25 * at["u_noise"] ** 2)
        assert not at["off"].any()


def test_noise_at_the_ends_is_its_definition(scattered):
    """Crowded at 0 and at 1, and one bin between; the share of each end has a Beta of its own."""
    y, p = (
        np.repeat([0, 1, 0, 1, 0, 1], [40, 2, 3, 5, 1, 20]),
        np.repeat([0.0, 0.02, 0.4, 0.4, 0.99, 0.99], [40, 2, 3, 5, 1, 20]),
    )
    counts = BinnedCounts.from_arrays(y, p, bins=3)
    model = shrinkage_model(counts, "label_noise_ends")
    assert list(model.coords["crowded_bin"]) == [0, 2]
    confidence = np.array([0.04 / 42, 0.4, 0.99])
    for density, at in scattered(model, 10):
        first, last = at["noise_at_end"]
        accuracy = np.array([first + (1 - first) * confidence[0], 0.4, 0.99 * (1 - last)])
        likelihood = log_binomial(counts.k, counts.n, accuracy).sum()
        rows = stats.poisson.logpmf(counts.n, at["rate"]).sum()
        assert density == pytest.approx(likelihood + rows + prior_density(model, at, 2 / 3, 71), rel=1e-7)
        np.testing.assert_allclose(at["accuracy"], accuracy, rtol=1e-9)
        assert not at["off"].any()


def test_noise_at_the_ends_takes_part_where_an_end_is_crowded(counts, scattered):
    """And then has the weight of the other sub-models of noise."""
    y, p = np.repeat([0, 1, 0, 1], [40, 2, 3, 5]), np.repeat([0.0, 0.02, 0.4, 0.4], [40, 2, 3, 5])
    families = ["noise", "exact"]
    of_crowded = shrinkage_model(BinnedCounts.from_arrays(y, p, bins=3), sub_models=families)
    assert list(of_crowded.coords["hypothesis"]) == [
        "label_noise", "label_noise_any_rate", "label_noise_ends", "exact"
    ]  # fmt: skip
    n, k, confidence = np.array([42, 8]), np.array([2, 5]), np.array([0.04 / 42, 0.4])
    for _, at in scattered(of_crowded, 5):
        share = at["noise_at_end"][0]
        each = [noise(at, n, k, confidence, rate)[0] for rate in (0.5, at["u_noise_rate"])]
        each += [log_binomial(k, n, np.array([share + (1 - share) * confidence[0], 0.4])).sum()]
        each += [log_binomial(k, n, confidence).sum()]
        np.testing.assert_allclose(at["p_sub_model"], softmax(np.log([0.5, 0.5, 0.5, 0.25]) + each), rtol=1e-7)
    assert list(shrinkage_model(counts, sub_models=families).coords["hypothesis"]) == [
        "label_noise", "label_noise_any_rate", "exact"
    ]  # fmt: skip


def test_saturated_bins_are_beta_binomial_or_as_stated(scattered):
    """A bin at 0 and one at 1, and an ordinary one between; 5 % of draws are as stated if no outcome is contrary."""
    for contrary in (0, 1):
        y, p = (
            np.repeat([0, 1, 0, 1], [40 - contrary, contrary, 3, 20]),
            np.repeat([0.0, 0.0, 0.4, 1.0], [40 - contrary, contrary, 3, 20]),
        )
        counts = BinnedCounts.from_arrays(y, p, bins=3)
        model = shrinkage_model(counts, "label_noise", sub_models=["label_noise", "saturated"])
        assert list(model.coords["saturated_bin"]) == [0, 2]
        for density, at in scattered(model, 10):
            share = at["contrary"]
            likelihood = stats.binom.logpmf([contrary, 0], [40, 20], share).sum() + stats.binom.logpmf(
                0, 3, np.clip(at["accuracy"][1], 1e-9, 1)
            )
            rows = stats.poisson.logpmf(counts.n, at["rate"]).sum()
            assert density == pytest.approx(likelihood + rows + prior_density(model, at, 2 / 3, 63), abs=1e-5)
            stated = not contrary and at["u_stated"] < 0.05
            np.testing.assert_allclose(at["accuracy"][[0, 2]], [0, 1] if stated else [share[0], 1 - share[1]])
            np.testing.assert_array_equal(at["off"], [not stated, 0, not stated])


def test_exact_calibration_of_saturated_bins_is_likelihood_of_what_is_stated(scattered):
    """With its prior odds, it has the Binomial at 1e-9; the others the Betas."""
    y, p = np.repeat([0, 1, 0, 1], [40, 1, 3, 5]), np.repeat([0.0, 0.0, 0.4, 0.4], [40, 1, 3, 5])
    counts = BinnedCounts.from_arrays(y, p, bins=3)
    names = ["label_noise", "exact", "saturated"]
    model = shrinkage_model(counts, with_calibrated=True, sub_models=names, prior_odds=3.0)
    for _, at in scattered(model, 5):
        other = noise(at, np.array([8]), np.array([5]), np.array([0.4]), 0.5)[0] + stats.binom.logpmf(
            1, 41, at["contrary"][0]
        )
        exact = stats.binom.logpmf(5, 8, 0.4) + stats.binom.logpmf(1, 41, 1e-9)
        odds = np.exp(exact - other) * 3
        np.testing.assert_allclose(at["p_sub_model"], [1 / (1 + odds), odds / (1 + odds)], rtol=1e-7)


def test_the_average_of_all_sub_models_has_the_stated_weights(counts, scattered):
    n, k, confidence = counts.n[1:], counts.k[1:], counts.mean_confidence[1:]
    third = np.full(3, 1 / 3)
    # at e^-10, the share of small errors is a third of e^-1
    faded = np.array([(1 - np.exp(-1) / 3) / 2, (1 - np.exp(-1) / 3) / 2, np.exp(-1) / 3])
    for evidence, shares in (
        (np.ones(3), third), (np.exp([0, -3, -5]), third), (np.exp([0, -3, -10]), faded)
    ):  # fmt: skip
        families = dict(zip(("independent", "shared", "small_errors"), np.log(evidence), strict=True))
        model = shrinkage_model(counts, family_evidence=families)
        assert list(model.coords["hypothesis"]) == list(WEIGHTS)
        # shares divided by the evidences, times their average
        by = dict(zip(families, shares * (shares @ evidence) / evidence / third, strict=True))
        weight = dict(WEIGHTS)
        weight |= {name: weight[name] * by["independent"] for name in SUB_MODELS}
        weight |= {name: weight[name] * by["shared"] for name in OTHERS[:2]}
        weight["small_errors"] *= by["small_errors"]
        for density, at in scattered(model, 10):
            each = np.array([likelihood_of(name, at, n, k, confidence) for name in WEIGHTS])
            joint = each + np.log(list(weight.values()))
            rows = stats.poisson.logpmf(n, at["rate"]).sum()
            np.testing.assert_allclose(at["p_sub_model"], softmax(joint), rtol=1e-7)
            assert density == pytest.approx(logsumexp(joint) + rows + prior_density(model, at, 2 / 4), rel=1e-9)


def test_runs_of_many_bins_are_refused():
    with pytest.raises(ValueError, match="at most 64 bins with rows for the PyMC model of errors in runs of bins, not"):
        shrinkage_model(BinnedCounts.empty(65), "runs")


@pytest.mark.parametrize("with_calibrated", [False, True])
def test_the_average_is_the_mixture_of_the_sub_models(counts, with_calibrated, scattered):
    n, k, confidence = counts.n[1:], counts.k[1:], counts.mean_confidence[1:]
    weights = np.array([3.0, 1.0, 1.0, 2.0, 1.0])
    model = shrinkage_model(
        counts,
        with_calibrated=with_calibrated,
        sub_models=["independent"],
        sub_model_weights=weights,
        prior_odds=0.25,
        mass_alpha=1.5,
    )
    prior = weights / weights.sum()
    if with_calibrated:
        prior = np.append(0.8 * prior, 0.2)  # odds of 1 to 4
    kinds = [*SUB_MODELS.values(), (False, "none")][: len(prior)]
    weight = np.log(10 / prior[:5].sum())  # the five have a weight of 10 together
    for density, at in scattered(model):
        each = [sub_model(kind, at, n, k, confidence) for kind in kinds]
        joint = np.array([likelihood for likelihood, _, _ in each]) + np.log(prior)
        rows = stats.poisson.logpmf(n, at["rate"]).sum()
        assert density == pytest.approx(logsumexp(joint) + weight + rows + prior_density(model, at, 1.5))
        np.testing.assert_allclose(at["p_sub_model"], softmax(joint), rtol=1e-8)
        chosen = (np.cumsum(softmax(joint))[:-1] < at["u_sub_model"]).sum()
        assert at["sub_model"] == chosen
        np.testing.assert_allclose(at["accuracy"], each[chosen][1], rtol=1e-9)
        np.testing.assert_array_equal(at["off"], each[chosen][2])


def test_under_exact_calibration_nothing_is_off(counts, scattered):
    """And its likelihood is the evidence that the closed form states, which leaves out the binomial coefficients."""
    model = calibrated_model(counts)
    evidence = shrinkage_posterior(counts).log_evidence["exact"]
    n, k = counts.n, counts.k
    orders = (gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1)).sum()
    for density, at in scattered(model, 3):
        np.testing.assert_array_equal(at["gap"], 0)
        assert at["ece"] == 0
        rows = stats.poisson.logpmf(n[1:], at["rate"]).sum()
        assert density == pytest.approx(evidence + orders + rows + prior_density(model, at, 2 / 4))


def test_effective_numbers_of_rows_enter_by_the_same_formula(weighted, scattered):
    n, k = weighted.effective_n, weighted.effective_k
    confidence = weighted.mean_confidence
    for _, at in scattered(shrinkage_model(weighted, sub_models=["independent"]), 5):
        joint = [sub_model(kind, at, n, k, confidence)[0] for kind in SUB_MODELS.values()]
        np.testing.assert_allclose(at["p_sub_model"], softmax(joint), rtol=1e-8)


def test_the_leverage_of_the_slope_is_limited(scattered):
    """Beyond 1e-4 from 0 and 1 a confidence has its own logit, and the slope moves it as it would one at 1e-4."""
    counts = BinnedCounts.from_arrays([0, 1, 1, 1], [0.3, 0.99999, 0.99999, 0.99999], bins=2)
    confidence = counts.mean_confidence
    for _, at in scattered(shrinkage_model(counts, "logistic", sub_models=["independent"]), 5):
        moved = np.expm1(at["log_slope"]) * logit(np.clip(confidence, 1e-4, 1 - 1e-4))
        np.testing.assert_allclose(at["accuracy"], expit(logit(confidence) + at["intercept"] + moved), rtol=1e-9)


def test_confidences_of_0_and_1_are_kept_inside(scattered):
    """A bin at exactly 1 with a contrary outcome: 1e-9 of probability for it, and gaps that are exactly 0."""
    counts = BinnedCounts.from_arrays([1, 1, 0], [1.0, 1.0, 1.0], bins=2)
    only = {"sub_models": ["independent"]}
    for options in ({}, only):
        for _, at in scattered(shrinkage_model(counts, with_calibrated=True, **options), 5):
            assert np.isfinite(at["p_sub_model"]).all()
    _, at = scattered(calibrated_model(counts, **only), 1)[0]
    assert at["gap"].tolist() == [0.0]


def test_without_rows_the_models_are_the_prior(scattered):
    model = shrinkage_model(BinnedCounts.empty(3))
    expected = np.array(list(WEIGHTS.values())) / 11.25
    for _, at in scattered(model, 3):
        np.testing.assert_allclose(at["p_sub_model"], expected)
    assert list(dirichlet_model(BinnedCounts.empty(3)).coords["occupied_bin"]) == []


@pytest.mark.parametrize("sub_model", ["logistic", "logistic_dense", "logistic_sparse", "small_errors"])
def test_gradients_exist_where_a_drift_moves_bins_to_0_or_1(sub_model):
    """1 minus the probability is 0 in floating point there, and chains that pass by would diverge."""
    counts = BinnedCounts.from_arrays([0, 1, 1, 1], [0.001, 0.4, 0.9, 0.999], bins=4)
    model = shrinkage_model(counts, sub_model)
    value = model.logp_dlogp_function(ravel_inputs=True, mode="FAST_COMPILE")
    value.set_extra_values({})
    start = DictToArrayBijection.map(model.initial_point()).data
    names = [name for name, at in model.initial_point().items() for _ in range(at.size)]
    drift = [i for i, name in enumerate(names) if name.endswith(("intercept", "log_slope"))]
    assert len(drift) == 2
    for intercept, log_slope in itertools.product((-30.0, 0.0, 30.0), (0.0, 2.5, 4.0)):
        at = start.copy()
        at[drift] = intercept, log_slope
        density, gradient = value(at)
        assert np.isfinite(density)
        assert np.isfinite(gradient).all()
