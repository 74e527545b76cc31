"""Intercept and slope, curve and summary of rows in clusters: sandwich by hand, copies, groups, and what is refused."""

import numpy as np
import pytest
from scipy import stats
from scipy.special import expit, logit

import bayescal as bc
from bayescal.clinical.slope.analysis import in_clusters
from bayescal.clinical.slope.counts import LogitCounts
from bayescal.clinical.slope.posterior import recalibration_posterior
from bayescal.data.groups import Clusters
from bayescal.data.predictions import Predictions


def simulated(n_clusters=60, size=15, shift=0.7, slope=0.2, seed=3):
    """Rows of clusters that differ in level and slope."""
    rng = np.random.default_rng(seed)
    cluster = np.repeat(np.arange(n_clusters), size)
    x = np.round(rng.normal(-1, 1, len(cluster)) / 0.05) * 0.05  # at the middles of cells, where counts are exact
    of = rng.normal([0.1, 0.9], [shift, slope], (n_clusters, 2))[cluster]
    return (rng.random(len(x)) < expit(of[:, 0] + of[:, 1] * x)).astype(int), expit(x), cluster


def sandwich(y, p, cluster):
    """Maximum likelihood, and the covariance with scores of clusters, each corrected for its own information."""
    design, at = np.stack([np.ones(len(y)), logit(p)], axis=1), np.array([0.0, 1.0])
    for _ in range(30):
        h = expit(design @ at)
        information = (design * (h * (1 - h))[:, None]).T @ design
        at = at + np.linalg.solve(information, design.T @ (y - h))
    bread, meat, labels = np.linalg.inv(information), np.zeros((2, 2)), np.unique(cluster)
    for label in labels:
        rows = design[cluster == label]
        weight = (h * (1 - h))[cluster == label]
        own = (rows * weight[:, None]).T @ rows @ bread
        score = np.linalg.solve(np.eye(2) - own, rows.T @ (y - h)[cluster == label])
        meat += np.outer(score, score)
    return at, bread @ meat @ bread * (len(labels) - 1) / len(labels)


def test_standard_deviations_are_those_of_the_sandwich():
    """With a flat prior, the posterior of 900 rows is nearly Normal; the factor is that of t with 59 degrees."""
    y, p, cluster = simulated()
    best, covariance = sandwich(y, p, cluster)
    rc = bc.clinical.recalibration(y, p, cluster=cluster, prior="flat", draws=20_000, rng=1)
    factor = stats.t.ppf(0.975, 59) / stats.norm.ppf(0.975)
    expected = factor * np.sqrt(np.diag(covariance))
    for name, mean, sd in zip(("intercept", "slope"), best, expected, strict=True):
        row = {each["quantity"]: each for each in rc.table()}[name]
        assert row["mean"] == pytest.approx(mean, abs=0.1 * sd)
        assert row["sd"] == pytest.approx(sd, rel=0.04)
        assert row["high"] - row["low"] == pytest.approx(2 * 1.96 * sd, rel=0.05)
    drawn = np.corrcoef(rc.intercept.values, rc.slope.values)[0, 1]
    assert drawn == pytest.approx(covariance[0, 1] / np.sqrt(np.prod(np.diag(covariance))), abs=0.04)
    assert rc.slope.sd() == pytest.approx(expected[1], rel=0.04)
    alone = bc.clinical.recalibration(y, p, prior="flat", rng=1)
    assert rc.table()[1]["sd"] > 1.2 * alone.table()[1]["sd"]  # the case says something


def test_copies_of_rows_count_once():
    """Four copies of each row, as clusters: intervals and Bayes factor are nearly those of the rows themselves."""
    y, p, _ = simulated(shift=0.0, slope=0.0)
    one = bc.clinical.recalibration(y, p, rng=1)
    copies = [np.repeat(each, 4) for each in (y, p, np.arange(len(y)))]
    four = bc.clinical.recalibration(copies[0], copies[1], cluster=copies[2], rng=1)
    ignored = bc.clinical.recalibration(copies[0], copies[1], rng=1)
    for mine, theirs, narrow in zip(four.table(), one.table(), ignored.table(), strict=True):
        assert mine["sd"] == pytest.approx(theirs["sd"], rel=0.1), mine["quantity"]
        assert narrow["sd"] < 0.6 * theirs["sd"]
    assert four.observed_expected.sd() == pytest.approx(one.observed_expected.sd(), rel=0.1)
    assert four.log_bayes_factor == pytest.approx(one.log_bayes_factor, abs=0.5)
    assert abs(ignored.log_bayes_factor - one.log_bayes_factor) > 0.5


def test_no_direction_is_narrower_than_that_of_independent_rows():
    """Clusters whose sums vary less than those of independent rows: both outcomes occur equally often in each."""
    rng = np.random.default_rng(1)
    y, p = np.tile([0, 1], 300), np.repeat(rng.choice(expit(np.arange(-2, 2, 0.05)), 300), 2)
    alone, within = (bc.clinical.recalibration(y, p, cluster=c, rng=1) for c in (None, np.repeat(np.arange(300), 2)))
    for mine, theirs in zip(within.table()[1:], alone.table()[1:], strict=True):
        assert mine["sd"] >= 0.999 * theirs["sd"]


def test_the_widened_posterior_has_consistent_draws_quantiles_and_moments():
    y, p, cluster = simulated(n_clusters=12)
    rc = bc.clinical.recalibration(y, p, cluster=cluster, draws=20_000, rng=1)
    for name, draws in (("intercept", rc.intercept), ("slope", rc.slope)):
        mean, sd = rc.posterior.moments(name)
        assert draws.mean() == pytest.approx(mean, abs=4 * sd / 20_000**0.5)
        assert draws.sd() == pytest.approx(sd, rel=0.02)
        assert draws.interval() == pytest.approx(rc.exact_interval(name), abs=0.08 * sd)


def test_counts_in_clusters_add_and_have_floors():
    y, p, cluster = simulated()

    def counted(part):
        rows = Predictions(confidence=p[part], outcome=y[part], weight=None, target="event")
        return LogitCounts.from_predictions(rows, clusters=Clusters.from_column(cluster[part], len(y[part])))

    whole, halves = counted(slice(None)), counted(slice(0, 450)) + counted(slice(450, None))
    assert (whole.clusters.number, halves.clusters.number) == (60, 60)
    each = [in_clusters(recalibration_posterior(of)).moments("slope") for of in (whole, halves)]
    assert each[0] == pytest.approx(each[1])
    floored = whole.floored(0.2)
    assert floored.clusters.weight.sum() == len(y)
    assert sum(floored.in_clusters[3]) == pytest.approx(floored.n.sum())
    with pytest.raises(ValueError, match="cannot be added to counts without"):
        whole + LogitCounts.from_arrays(y, p)


def test_groups_weights_and_remarks():
    y, p, cluster = simulated()
    by = bc.clinical.recalibration(y, p, by=cluster % 2, cluster=cluster, rng=1)
    inside = cluster % 2 == 1
    alone = bc.clinical.recalibration(y[inside], p[inside], cluster=cluster[inside], rng=1)
    assert by[1].exact_interval("slope") == pytest.approx(alone.exact_interval("slope"))
    whole = bc.clinical.recalibration(y, p, cluster=cluster, rng=1)
    assert by.overall.exact_interval("slope") == pytest.approx(whole.exact_interval("slope"))
    assert whole.remarks[0].startswith("The rows are in 60 clusters (15 rows on average): standard deviations of the")
    assert len(whole.remarks) == 1
    assert "With fewer than 40 (effective) clusters" in by[1].remarks[1]
    weighted = [
        bc.clinical.recalibration(y, p, cluster=cluster, weights=w, rng=1) for w in (np.ones(900), np.full(900, 3.0))
    ]
    for each in weighted:
        assert each.exact_interval("slope") == pytest.approx(whole.exact_interval("slope"), rel=1e-6)


def test_a_single_cluster_is_refused():
    y, p, cluster = simulated()
    for call in (bc.clinical.recalibration, bc.clinical.calibration_curve, bc.clinical.summary):
        with pytest.raises(ValueError, match="at least two clusters"):
            call(y, p, cluster=np.zeros(900), draws=50, rng=1)
        with pytest.raises(ValueError, match="same length"):
            call(y, p, cluster=cluster[1:], draws=50, rng=1)


def test_groups_that_are_clusters_lead_to_a_new_centre():
    y, p, cluster = simulated(n_clusters=6)
    said = (
        r"6 of 6 groups have one, first 0\. If the groups are the clusters, leave out `cluster`, and `\.new_centre\(\)`"
    )
    with pytest.raises(ValueError, match=said):
        bc.clinical.recalibration(y, p, by=cluster, cluster=cluster)


def test_the_curve_has_the_design_effect_of_the_mean_residual():
    """Copies of rows have nearly the interval of the rows themselves, and a remark states the effect."""
    y, p, _ = simulated(n_clusters=40, shift=0.0, slope=0.0)
    copies = [np.repeat(each, 3) for each in (y, p, np.arange(len(y)))]
    one = bc.clinical.calibration_curve(y, p, draws=1000, rng=1)
    three = bc.clinical.calibration_curve(copies[0], copies[1], cluster=copies[2], draws=1000, rng=1)
    ignored = bc.clinical.calibration_curve(copies[0], copies[1], draws=1000, rng=1)
    width = [np.ptp(each.rates([0.3]).interval()) for each in (one, three)]
    assert width[1] == pytest.approx(width[0], rel=0.15)
    rows = [each.counts.effective_n.sum() for each in (one, three, ignored)]
    assert rows == pytest.approx([600, 600, 1800], rel=0.02)
    assert "in 600 clusters (3 rows on average)" in three.remarks[0]
    assert "design effect of the mean residual is 3" in three.remarks[0]


def test_all_parts_of_a_summary_have_clusters():
    y, p, cluster = simulated(n_clusters=45, size=10)
    plain, within = (bc.clinical.summary(y, p, [0.3], cluster=c, draws=500, rng=1) for c in (None, cluster))
    wide, narrow = ({row["quantity"]: row["sd"] for row in each.table()} for each in (within, plain))
    for name in ("auc", "in_the_large", "slope", "observed_expected", "net_benefit", "net_benefit_all"):
        if name in wide:
            assert wide[name] > narrow[name], name
    assert {"in_the_large", "slope", "net_benefit"} <= set(wide)
    assert len(within.remarks) > len(plain.remarks)
    imputed = bc.clinical.summary(y, [p, p**1.1, p**0.9], cluster=cluster, draws=60, rng=1)
    assert len(imputed.imputations) == 3
    groups = bc.clinical.summary(y, p, by=cluster % 3, cluster=cluster, draws=200, rng=1)
    assert groups[0].recalibration.counts.clusters.number == 15
    assert groups.draws("ece", pooled=True) == {}
    assert np.isnan(groups.differences("ece")[0]["pooled_mean"])
    assert np.isfinite(groups.differences("slope")[0]["pooled_mean"])


@pytest.mark.parametrize("n_clusters", [2, 8])
def test_the_prior_stays_where_it_is(n_clusters):
    """Moments and Bayes factor by quadrature of the widened likelihood times the prior, on another grid."""
    y, p, cluster = simulated(n_clusters=n_clusters, size=20)
    alone, rc = (bc.clinical.recalibration(y, p, cluster=c, draws=100, rng=1) for c in (None, cluster))
    posterior = alone.posterior
    mass = np.exp(posterior.log_mass)
    mean = np.array([mass.sum(axis=1) @ posterior.t, mass.sum(axis=0) @ posterior.b])
    dt, db = posterior.t - mean[0], posterior.b - mean[1]
    sds = np.sqrt([mass.sum(axis=1) @ dt**2, mass.sum(axis=0) @ db**2])
    # the factor of the slope is that of the last coordinate; the mixed element follows from the new lever
    first = (rc.posterior.t[1] - rc.posterior.t[0]) / (posterior.t[1] - posterior.t[0])
    last = rc.posterior.wider[1]
    to = np.array([[first, (posterior.lever - rc.posterior.lever) * last], [0.0, last]])
    t, b = np.meshgrid(*(m + np.linspace(-40, 40, 801) * sd for m, sd in zip(mean, sds, strict=True)), indexing="ij")
    t0, b0 = mean[:, None, None] + np.einsum("ij,jkl->ikl", np.linalg.inv(to), np.array([t - mean[0], b - mean[1]]))
    x = logit(p)
    weight = p * (1 - p)
    centre = weight @ x / weight.sum()
    log = np.zeros_like(t)
    for outcome, at in zip(y, x, strict=True):
        line = t0 + b0 * (at - posterior.lever)
        log += outcome * line - np.logaddexp(0, line)
    log += stats.norm.logpdf(t + b * (centre - posterior.lever) - centre, 0, 2.5) + stats.norm.logpdf(b, 1, 1)
    share = np.exp(log - log.max())
    area = (t[1, 0] - t[0, 0]) * (b[0, 1] - b[0, 0])
    evidence = log.max() + np.log(share.sum() * area)
    share /= share.sum()
    slope = (share * b).sum()
    assert rc.posterior.moments("slope") == pytest.approx((slope, ((share * (b - slope) ** 2).sum()) ** 0.5), rel=0.02)
    at = np.linalg.solve(to, np.array([posterior.lever, 1.0]) - mean) + mean
    line = at[0] + at[1] * (x - posterior.lever)
    assert rc.log_bayes_factor == pytest.approx((y * line - np.logaddexp(0, line)).sum() - evidence, abs=0.05)
    assert rc.posterior.moments("slope")[1] < 1.05  # that of the prior is 1


def test_clusters_without_a_logit_do_not_count():
    """40 clusters of rows at exactly 0 change nothing, and a single other cluster is refused."""
    y, p, cluster = simulated(n_clusters=6)
    more = np.append(y, np.zeros(40, int)), np.append(p, np.zeros(40)), np.append(cluster, -1 - np.arange(40))
    one = bc.clinical.recalibration(y, p, cluster=cluster, rng=1)
    other = bc.clinical.recalibration(more[0], more[1], cluster=more[2], rng=1)
    assert other.exact_interval("slope") == pytest.approx(one.exact_interval("slope"), rel=1e-6)
    with pytest.raises(ValueError, match="at least two clusters"):
        bc.clinical.recalibration(more[0], more[1], cluster=(more[2] < 0).astype(int), rng=1)


def test_copies_of_rows_that_contradict_their_score_count_once():
    rng = np.random.default_rng(2)
    p = np.append(rng.uniform(0.05, 0.95, 360), np.zeros(40))
    y = (rng.random(400) < p).astype(int)
    y[-3:] = 1
    one = bc.clinical.calibration_curve(y, p, draws=100, rng=1)
    copies = [np.repeat(each, 4) for each in (y, p, np.arange(400))]
    four = bc.clinical.calibration_curve(copies[0], copies[1], cluster=copies[2], draws=100, rng=1)
    assert four.posterior.within == one.posterior.within
    assert four.probabilities["exact"] == pytest.approx(one.probabilities["exact"], abs=0.1)


def test_few_effective_rows_are_named_as_such():
    y, p, _ = simulated(n_clusters=30, size=2)
    copies = [np.repeat(each, 8) for each in (y, p, np.arange(60))]
    text = " ".join(bc.clinical.calibration_curve(copies[0], copies[1], cluster=copies[2], draws=50, rng=1).remarks)
    assert "With fewer than 100 effective rows the curve is logistic" in text


def test_pooled_slopes_of_groups_in_clusters_stay_near_their_own():
    """Six groups of 40 rows in 4 clusters: posteriors are hardly narrower than the prior, which is not divided out."""
    y, p, cluster = simulated(n_clusters=24, size=10, shift=0.9, slope=0.5)
    by = bc.clinical.summary(y, p, by=cluster % 6, cluster=cluster, draws=300, rng=1)
    pooled = [each.mean() for each in by.draws("slope", pooled=True).values()]
    alone = [each.recalibration.slope.mean() for each in by.values()]
    assert min(alone) - 0.5 < min(pooled) <= max(pooled) < max(alone) + 0.5
