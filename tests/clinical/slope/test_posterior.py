"""Intercept and slope against quadrature of the same density, written independently; priors; improper posteriors."""

import numpy as np
import pytest
from scipy import integrate, optimize, stats
from scipy.special import expit, log_expit

import bayescal as bc
from bayescal import LogitCounts
from bayescal.clinical.slope.posterior import (
    RecalibrationPrior,
    in_the_large,
    observed_expected,
    recalibration_posterior,
)


def rows_of(n, intercept, slope, seed, shape=(1.0, 2.0)):
    rng = np.random.default_rng(seed)
    p = np.clip(rng.beta(*shape, n), 1e-12, 1 - 1e-12)
    return (rng.random(n) < expit(intercept + slope * np.log(p / (1 - p)))).astype(int), p


def log_density(counts, prior):
    """Log of prior times likelihood at arrays (t, b) of one shape; t is the logit of the event rate at the lever."""
    x, n, k = counts.logit, counts.n, counts.k
    w = n * expit(x) * expit(-x)
    lever = w @ x / w.sum()

    def f(t, b):
        eta = t[..., None] + b[..., None] * (x - lever)
        value = log_expit(eta) @ k + log_expit(-eta) @ (n - k)
        if prior == "jeffreys":
            v = n * expit(eta) * expit(-eta)
            return value + 0.5 * np.log(v.sum(axis=-1) * (v @ x**2) - (v @ x) ** 2)
        if prior == "flat":
            return value
        return value + stats.norm.logpdf(t, lever, prior[0]) + stats.norm.logpdf(b, 1, prior[1])

    return f, lever


def plain_grid(counts, prior, t_range, b_range, size=600):
    """Nodes, their masses and the log evidence: sums over a plain grid, much finer than the density varies."""
    f, lever = log_density(counts, prior)
    t, b = (np.linspace(*ends, size) for ends in (t_range, b_range))
    values = np.stack([f(np.full(size, one), b) for one in t])
    mass = np.exp(values - values.max())
    cell = (t[1] - t[0]) * (b[1] - b[0])
    return (
        t[:, None] - lever * b,
        np.broadcast_to(b, mass.shape),
        mass / mass.sum(),
        np.log(mass.sum() * cell) + values.max(),
    )


@pytest.mark.slow
@pytest.mark.parametrize("prior", [(2.5, 1.0), (0.3, 0.2), "jeffreys", "flat"])
@pytest.mark.parametrize(("n", "intercept", "slope", "shape"), [(300, 0.3, 0.7, (1, 2)), (60, 0.0, 1.0, (0.5, 4))])
def test_sums_over_a_plain_grid_give_the_same(prior, n, intercept, slope, shape):
    """Quantiles to 1e-3 of the probability, which is the error of the plain grid; moments and evidence to 1e-4."""
    counts = LogitCounts.from_arrays(*rows_of(n, intercept, slope, 3, shape), step=0.2)
    posterior = recalibration_posterior(counts, prior=prior)
    (a, sd_a), (b, sd_b) = posterior.moments("intercept"), posterior.moments("slope")
    _, lever = log_density(counts, prior)
    sd_t = (posterior.sample(4000, rng=1) @ [1, lever]).std()
    nodes = plain_grid(counts, prior, a + b * lever + sd_t * np.array([-14, 9]), b + sd_b * np.array([-7, 18]))
    for name, values, mean, sd in zip(("intercept", "slope"), nodes, (a, b), (sd_a, sd_b), strict=False):
        mass = nodes[2]
        for p in (0.025, 0.5, 0.975):
            at = posterior.quantile(name, p)
            below = mass[values < at].sum() + mass[values == at].sum() / 2
            step = mass.sum(axis=0).max() if name == "slope" else 0.0  # the mass of the nodes next to the quantile
            assert below == pytest.approx(p, abs=1e-3 + step)
        exact = (mass * values).sum()
        assert mean == pytest.approx(exact, abs=1e-4 * sd)
        assert sd == pytest.approx(np.sqrt((mass * (values - exact) ** 2).sum()), rel=2e-4)
    if isinstance(prior, tuple):
        assert posterior.log_evidence == pytest.approx(nodes[3], abs=1e-4)
        f, _ = log_density(counts, "flat")
        assert posterior.log_bayes_factor == pytest.approx(f(np.array(lever), np.array(1.0)) - nodes[3], abs=1e-4)
    else:
        assert np.isnan(posterior.log_bayes_factor)


def test_one_dimensional_quadrature_gives_exact_quantiles():
    """With nearly no freedom of the slope, the intercept is a one-dimensional integral."""
    counts = LogitCounts.from_arrays(*rows_of(100, 0.5, 1.0, 5))
    posterior = recalibration_posterior(counts, prior=(2.5, 1e-4))
    f, lever = log_density(counts, (2.5, 1e-4))
    top = f(np.linspace(-3, 3, 601) + lever, np.ones(601)).max()

    def density(a):
        return np.exp(f(np.array(a + lever), np.array(1.0)) - top)

    total = integrate.quad(density, -3, 4, epsabs=1e-12)[0]
    for q in (0.025, 0.5, 0.975):
        at = posterior.quantile("intercept", q)
        assert integrate.quad(density, -3, at, epsabs=1e-12)[0] / total == pytest.approx(q, abs=2e-4)


def test_draws_are_from_the_marginals():
    """Kolmogorov-Smirnov tests at 1e-6 each, and the correlation of the draws."""
    counts = LogitCounts.from_arrays(*rows_of(500, 0.2, 1.3, 7))
    posterior = recalibration_posterior(counts)
    drawn = posterior.sample(100_000, rng=1)
    for name, values in zip(("intercept", "slope"), drawn.T, strict=True):
        fine = np.linspace(0, 1, 2001)
        u = np.interp(values, posterior.quantile(name, fine), fine)
        assert stats.kstest(u, "uniform").pvalue > 1e-6
        mean, sd = posterior.moments(name)
        assert values.mean() == pytest.approx(mean, abs=5 * sd / np.sqrt(len(values)))
        assert values.std() == pytest.approx(sd, rel=0.02)
    np.testing.assert_array_equal(posterior.sample(10, rng=4), posterior.sample(10, rng=4))


def test_many_rows_are_the_normal_of_the_information():
    """10^9 rows in counts: mean and standard deviation of maximum likelihood."""
    counts = LogitCounts.from_arrays(*rows_of(10_000, 0.2, 0.8, 9))
    sums = {name: 10**5 * getattr(counts.binned, name) for name in ("cells", "weight", "deviation", "deviation_sq")}
    many = LogitCounts(
        type(counts.binned)(counts.binned.bins, **sums, weight_sq=10**5 * counts.binned.weight_sq, target="event")
    )
    posterior = recalibration_posterior(many)
    x, n, k = many.logit, many.n, many.k
    at = np.array([0.0, 1.0])
    design = np.stack([np.ones_like(x), x])
    for _ in range(50):
        h = expit(at @ design)
        information = (design * (n * h * (1 - h))) @ design.T
        at = at + np.linalg.solve(information, design @ (k - n * h))
    sds = np.sqrt(np.diag(np.linalg.inv(information)))
    for name, value, sd in zip(("intercept", "slope"), at, sds, strict=True):
        mean, own = posterior.moments(name)
        assert mean == pytest.approx(value, abs=0.01 * sd)
        assert own == pytest.approx(sd, rel=1e-3)


# --- calibration in the large


def test_in_the_large_is_the_shift_with_the_same_mean():
    """Without randomness of the logits (10^9 rows in each cell), the shift solves its equation."""
    x = np.array([-2.0, -0.5, 1.0])
    counts = LogitCounts.from_arrays([0, 1] * 3, np.repeat(expit(x), 2))
    binned = counts.binned
    scaled = {name: 10**9 * getattr(binned, name) for name in ("cells", "weight", "deviation", "deviation_sq")}
    many = LogitCounts(type(binned)(binned.bins, **scaled, weight_sq=10**9 * binned.weight_sq, target="event"))
    drawn = np.array([[0.4, 0.6], [-1.0, 2.0], [0.3, 1.0]])
    shift = in_the_large(many, drawn, rng=np.random.default_rng(1))
    for (a, b), s in zip(drawn, shift, strict=True):
        exact = optimize.brentq(lambda v, a=a, b=b: (expit(x + v) - expit(a + b * x)).mean(), -10, 10, xtol=1e-12)
        assert s == pytest.approx(exact, abs=2e-4)
    assert shift[2] == pytest.approx(0.3, abs=1e-9)


def test_in_the_large_of_many_cells_is_that_of_the_rows():
    """The cells are merged into 48: the shift differs by less than 2e-4 from that of all cells."""
    y, p = rows_of(200_000, -0.5, 0.7, 11)
    counts = LogitCounts.from_arrays(y, p)
    assert len(counts.n) > 200
    drawn = np.array([[-0.5, 0.7], [0.2, 1.5]])
    x, n = counts.logit, counts.n
    exact = [
        optimize.brentq(lambda v, a=a, b=b: n @ (expit(x + v) - expit(a + b * x)), -10, 10, xtol=1e-12)
        for a, b in drawn
    ]
    shifts = np.array([in_the_large(counts, drawn, rng=np.random.default_rng(i)) for i in range(400)])
    np.testing.assert_allclose(shifts.mean(axis=0), exact, atol=3 * shifts.std(axis=0).max() / 20 + 2e-4)


def test_in_the_large_varies_with_the_logits():
    """Mean and standard deviation by bisection in each of 4000 full Bayesian bootstraps of the rows.

    With slope 0.3, the shift depends on which logits are drawn. Both have a Monte Carlo error of 1.1 % of the
    standard deviation; 6 % is nearly four standard errors of their difference.
    """
    p = np.random.default_rng(3).beta(0.5, 1.5, 60)
    p = np.clip(p, 1e-4, 1 - 1e-4)
    x = np.log(p / (1 - p))
    counts = LogitCounts.from_arrays(np.arange(60) % 2, p, step=0.001)
    q = np.random.default_rng(4).dirichlet(np.ones(60), 4000)
    low, high = np.full(4000, -20.0), np.full(4000, 20.0)
    goal = q @ expit(-0.5 + 0.3 * x)
    for _ in range(60):
        middle = (low + high) / 2
        above = (q * expit(x + middle[:, None])).sum(axis=1) > goal
        low, high = np.where(above, low, middle), np.where(above, middle, high)
    shift = in_the_large(counts, np.tile([-0.5, 0.3], (4000, 1)), rng=np.random.default_rng(5))
    assert shift.std() == pytest.approx(middle.std(), rel=0.06)
    assert shift.mean() == pytest.approx(middle.mean(), abs=0.08 * middle.std())


# --- observed / expected events


def test_observed_expected_is_a_ratio_of_means_in_each_draw():
    """Mean and standard deviation in 4000 full Bayesian bootstraps of the rows; certain rows count on both sides."""
    p = np.append(np.clip(np.random.default_rng(3).beta(0.5, 1.5, 60), 1e-4, 1 - 1e-4), [1.0, 1.0, 1.0, 0.0])
    y = np.append(np.arange(60) % 2, [1, 1, 1, 0])
    counts = LogitCounts.from_arrays(y, p, step=0.001)
    q = np.random.default_rng(4).dirichlet(np.ones(64), 4000)
    rate = np.append(expit(-0.5 + 0.3 * np.log(p[:60] / (1 - p[:60]))), [1.0, 1.0, 1.0, 0.0])
    expected = (q @ rate) / (q @ p)
    ratio = observed_expected(counts, np.tile([-0.5, 0.3], (4000, 1)), rng=np.random.default_rng(5))
    assert ratio.std() == pytest.approx(expected.std(), rel=0.06)
    assert ratio.mean() == pytest.approx(expected.mean(), abs=0.08 * expected.std())


def test_observed_expected_exceeds_1_where_the_shift_exceeds_0():
    """Both are functionals of the same distribution of the logits."""
    y, p = rows_of(500, -0.25, 0.8, 3)
    rc = bc.recalibration(y, p, rng=1)
    assert 0.05 < float(rc.in_the_large > 0) < 0.95
    np.testing.assert_array_equal(rc.observed_expected.values > 1, rc.in_the_large.values > 0)


# --- what has no posterior


@pytest.mark.parametrize(
    ("y", "p"), [([0, 0, 1, 0, 1, 1], [0.1, 0.2, 0.3, 0.6, 0.7, 0.9]), ([0, 0, 1, 1], [0.1, 0.2, 0.7, 0.8])]
)
def test_jeffreys_prior_of_few_rows_by_quadrature(y, p):
    """Sums over a and b, of rows and not of cells; the second data set is separated, with heavy tails."""
    x, y = np.log(np.array(p) / (1 - np.array(p))), np.array(y)

    def density(b):
        centre = -b * x.mean()
        reach = 40 + abs(b) * np.ptp(x)
        a = np.linspace(centre - reach, centre + reach, 1201)
        eta = a[:, None] + b * x
        log_w = log_expit(eta) + log_expit(-eta)
        pairs = [2 * np.log(abs(x[i] - x[j])) + log_w[:, i] + log_w[:, j] for i in range(len(x)) for j in range(i)]
        value = log_expit(eta) @ y + log_expit(-eta) @ (1 - y) + 0.5 * np.logaddexp.reduce(pairs, axis=0)
        return np.exp(value).sum() * (a[1] - a[0])

    b = np.linspace(-6, 60, 1101)
    cdf = np.cumsum([density(each) for each in b])
    expected = np.interp([0.025, 0.5, 0.975], (cdf - 0) / cdf[-1], b + 0.03)
    found = recalibration_posterior(LogitCounts.from_arrays(y, p), prior="jeffreys").quantile(
        "slope", [0.025, 0.5, 0.975]
    )
    np.testing.assert_allclose(found, expected, rtol=0.05, atol=0.02)


def test_jeffreys_prior_is_refused_where_the_grid_does_not_describe_its_tails():
    """Separated in wide logits: 60 rows, 34 events."""
    rng = np.random.default_rng(2)
    for sd in (2, 5, 8, 12):
        p = expit(rng.normal(0, sd, 60))
        y = (rng.random(60) < p).astype(int)
    assert p[y == 0].max() < p[y == 1].min()
    counts = LogitCounts.from_arrays(y, p)
    with pytest.raises(ValueError, match="must not be 'jeffreys' for these rows: outcomes are nearly separated"):
        recalibration_posterior(counts, prior="jeffreys")
    assert np.isfinite(recalibration_posterior(counts).quantile("slope", [0.025, 0.975])).all()


def test_separated_outcomes():
    """The weak prior answers; the flat one has no posterior."""
    counts = LogitCounts.from_arrays([0, 0, 0, 1, 1, 1], [0.1, 0.2, 0.3, 0.6, 0.7, 0.9])
    low, high = recalibration_posterior(counts).quantile("slope", [0.025, 0.975])
    assert 0 < low < high < 5
    with pytest.raises(ValueError, match=r"`prior` must not be 'flat' for these rows: outcomes are separated"):
        recalibration_posterior(counts, prior="flat")


@pytest.mark.parametrize("outcome", [0, 1])
def test_one_outcome_only(outcome):
    p = np.linspace(0.1, 0.4, 20)
    counts = LogitCounts.from_arrays(np.full(20, outcome), p)
    posterior = recalibration_posterior(counts)
    low, high = posterior.quantile("intercept", [0.025, 0.975])
    assert np.isfinite([low, high]).all()
    with pytest.raises(ValueError, match="have one value only"):
        recalibration_posterior(counts, prior="flat")


@pytest.mark.parametrize(
    ("y", "p", "message"),
    [
        ([1, 0, 1], [0.0, 0.3, 0.6], r"exactly 0 for rows with outcome 1 \(1 of 3 rows\)"),
        ([1, 0, 0], [0.2, 0.3, 1.0], r"exactly 1 for rows with outcome 0 \(1 rows\).*pass `floor=1e-6`"),
        ([0, 1], [0.0, 1.0], "values strictly between 0 and 1"),
        ([0, 1, 1], [0.4, 0.4, 0.4], "at least two distinct values"),
    ],
)
def test_rows_without_a_slope(y, p, message):
    with pytest.raises(ValueError, match=message):
        recalibration_posterior(LogitCounts.from_arrays(y, p))


@pytest.mark.parametrize(
    ("prior", "error", "message"),
    [
        ("jefreys", ValueError, "Did you mean 'jeffreys'"),
        ((1.0,), ValueError, "a pair of standard deviations"),
        ((1.0, -1.0), ValueError, "`prior` must be finite and > 0"),
        (object(), TypeError, "`prior` must be a number or an array"),
    ],
)
def test_priors_that_are_none(prior, error, message):
    with pytest.raises(error, match=message):
        recalibration_posterior(LogitCounts.from_arrays([0, 1], [0.2, 0.6]), prior=prior)


@pytest.mark.parametrize(
    ("prior", "words"),
    [
        ("weak", "prior shift ~ Normal(0, 2.5), slope ~ Normal(1, 1)"),
        ((0.3, 0.25), "prior shift ~ Normal(0, 0.3), slope ~ Normal(1, 0.25)"),
        ("jeffreys", "Jeffreys prior"),
        ("flat", "flat prior"),
    ],
)
def test_priors_in_words(prior, words):
    assert str(RecalibrationPrior.read(prior)) == words
