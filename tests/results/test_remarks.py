"""Remarks are derived from counts alone."""

import numpy as np
import pytest

import bayescal as bc
from bayescal import ClasswiseCounts
from bayescal.estimands.registry import registered
from bayescal.results.remarks import (
    grid_remarks,
    hidden_errors,
    mistake_remarks,
    of_several,
    reading_remarks,
    remarks_of,
    rows_in_clusters,
)
from bayescal.stats.binned import BinnedCounts

SAID = "At least 90 % of the rows are in bins whose mean confidence is within 0.002 of 0 or 1"


def saturated(share, n=1000, near=0.0, wrong=2):
    """Make counts in which a share of the confidences is 0 or 1 and the others lie between the outer bins."""
    rng = np.random.default_rng(1)
    c = np.linspace(0.1, 0.9, n)
    sure = np.arange(n) < share * n
    c[sure] = np.where(np.arange(n) % 2, 1 - near, near)[sure]
    z = np.where(sure, c > 0.5, rng.random(n) < c)
    z[:wrong] = ~z[:wrong].astype(bool)
    return BinnedCounts.from_arrays(z, c, target="event")


@pytest.mark.parametrize(
    ("counts", "told"),
    [
        (saturated(1.0), True),
        (saturated(0.9, near=0.0019), True),
        (saturated(0.9), True),
        (saturated(0.89), False),
        (saturated(1.0, near=0.0021), False),
        (saturated(0.0), False),
        (BinnedCounts.empty(5), False),
        (saturated(1.0, wrong=0), True),
    ],
)
def test_confidences_of_zero_and_one(counts, told):
    assert any(SAID in remark for remark in remarks_of(counts, "shrinkage")) is told
    assert not any(SAID in remark for remark in remarks_of(counts, "dirichlet"))


def test_naive_bayes_of_the_shipped_data_is_told():
    """91 % of its confidences are within 1e-4 of 0 or 1, others of the same bins are not."""
    cancer = bc.datasets.load_breast_cancer()
    assert any(SAID in r for r in bc.evaluate(cancer.y_true, cancer.y_prob["naive_bayes"], rng=1).remarks)
    assert not bc.evaluate(cancer.y_true, cancer.y_prob["random_forest"], rng=1).remarks


def test_weights_decide_where_nearly_all_rows_are():
    """Rows of weight 0 do not count."""
    y, p = np.r_[np.zeros(500), np.tile([0, 1], 250)], np.r_[np.zeros(500), np.full(500, 0.5)]
    for weight, told in ((np.r_[np.ones(500), np.zeros(500)], True), (np.r_[np.full(500, 0.02), np.ones(500)], False)):
        remarks = remarks_of(BinnedCounts.from_arrays(y, p, weights=weight), "shrinkage")
        assert any(SAID in remark for remark in remarks) is told


def counts_of(n_rows, bins, weights=None):
    rng = np.random.default_rng(2)
    p = (np.arange(n_rows) + 0.5) / n_rows
    return BinnedCounts.from_arrays(rng.random(n_rows) < p, p, bins=bins, weights=weights)


@pytest.mark.parametrize(
    ("counts", "said"),
    [
        (counts_of(1000, 100), ()),
        (counts_of(999, 100), ("fewer than 10 effective rows per occupied bin",)),
        (counts_of(30, 3), ()),
        (counts_of(29, 2), ("fewer than 30 effective rows",)),
        (counts_of(29, 3), ("fewer than 10 effective rows", "fewer than 30 effective rows")),
        (counts_of(29, 1), ("fewer than 30 effective rows",)),
        (counts_of(1000, 20, np.r_[np.ones(990), np.full(10, 1000.0)]), ("fewer than 10", "fewer than 30")),
    ],
)
def test_few_rows(counts, said):
    remarks = [remark for remark in remarks_of(counts, "shrinkage") if remark != hidden_errors(counts)]
    assert len(remarks) == len(said)
    for remark, words in zip(remarks, said, strict=True):
        assert words in remark
    assert not set(remarks_of(counts, "dirichlet")) & set(remarks)


def one_bin_off(share, n=20_000, confidence=0.9, gap=-0.3):
    """Make counts of calibrated rows near 0.5, and of a bin that holds a share of the rows and is off."""
    rare = int(share * n)
    p = np.r_[np.full(n - rare, 0.5), np.full(rare, confidence)]
    z = np.r_[np.arange(n - rare) % 2, np.arange(rare) < round((confidence + gap) * rare)]
    return BinnedCounts.from_arrays(z, p, bins=10)


@pytest.mark.parametrize(
    ("counts", "told"),
    [
        (one_bin_off(0.05), True),
        (one_bin_off(0.11), False),  # `e90_bins` counts it
        (one_bin_off(0.05, gap=0.0), False),
        # with 56 rows the variance is 56 x 0.9 x 0.1 = 5.04; with 55 rows it is below 5
        (one_bin_off(0.0028), True),
        (one_bin_off(0.00275), False),
        # 1000 rows at 0.9: the standard error is 0.3 / sqrt(1000) = 0.00949, and five of them are 0.0474
        (one_bin_off(0.05, gap=-0.048), True),
        (one_bin_off(0.05, gap=-0.047), False),
    ],
)
def test_a_rare_bin_that_is_clearly_off_is_named(counts, told):
    said = [remark for remark in remarks_of(counts, "shrinkage") if "e90_bins" in remark]
    assert bool(said) is told
    assert remarks_of(counts, "dirichlet") == ()


def test_a_rare_bin_that_is_about_as_wrong_as_others_is_not_named():
    """Half of the rows are off by 0.28, a rare bin by 0.3: about one standard error of its 150 rows more."""
    rest = BinnedCounts.from_arrays(np.arange(2000) < 440, np.full(2000, 0.5), bins=10)
    both = rest + BinnedCounts.from_arrays(np.arange(150) < 90, np.full(150, 0.9), bins=10)
    assert not [remark for remark in remarks_of(both, "shrinkage") if "e90_bins" in remark]
    fine = BinnedCounts.from_arrays(np.arange(2000) < 1000, np.full(2000, 0.5), bins=10)
    both = fine + BinnedCounts.from_arrays(np.arange(150) < 90, np.full(150, 0.9), bins=10)
    assert [remark for remark in remarks_of(both, "shrinkage") if "e90_bins" in remark]


def test_the_rare_bin_is_named_with_its_share_and_its_gap():
    (remark,) = remarks_of(one_bin_off(0.05), "shrinkage")
    assert remark.startswith("The bin from 0.9 to 1 has 5 % of the rows and an observed gap of -0.3. The E90 of bins")
    assert remark.endswith("it counts errors that at least 10 % of the population have.")


def test_every_result_prints_the_remark_once():
    rng = np.random.default_rng(1)
    label = rng.integers(0, 2, 400)
    p = label.astype(float)
    p[:2] = 1 - p[:2]
    p = np.clip(p, 1e-9, 1 - 1e-9)  # probabilities of exactly 0 and 1 have a remark of their own
    fine = rng.random(400)
    site = np.repeat(["north", "south"], 200)
    known = {"rng": 1, "draws": 50}
    ev = bc.evaluate(label, p, **known)
    (remark,) = ev.remarks
    assert SAID in remark
    results = {
        "": ev,
        "all rows, north, south: ": bc.evaluate(label, p, by=site, **known),
        "sure: ": bc.compare(label, {"sure": p, "fine": fine}, **known),
        "class 0, class 1: ": bc.evaluate(label, np.column_stack([1 - p, p]), target="classwise", **known),
    }
    for names, result in results.items():
        assert result.sheet().remarks.count(names + remark) == 1
        assert " ".join(str(result).split()).count(SAID) == 1
        assert SAID in result._repr_html_()
    assert results["class 0, class 1: "].remarks == ("class 0, class 1: " + remark,)
    assert bc.evaluate(label, fine, **known).remarks == ()
    monitor = bc.monitoring.CalibrationMonitor(window=1, target="event").add(label, p, time=np.arange(400) % 2)
    assert "now, baseline: " + remark in monitor.change((0, 1), (1, 2), **known).sheet().remarks


def test_many_names_are_cut():
    assert of_several(dict.fromkeys("abcde", ("x.",)) | {"f": ("y.",)}) == ["a, b, c and 2 more: x.", "f: y."]


def test_counts_that_do_not_order_rows_name_the_remedy_and_merged_ones_do_not():
    rng = np.random.default_rng(1)
    p = rng.random(500)
    fine = BinnedCounts.from_arrays(rng.random(500) < p, p, bins=1500)
    coarse = BinnedCounts.from_arrays(p > 0.5, p, bins=5)
    (merged,), (coarse,) = (grid_remarks(each, [registered()["auc"]]) for each in (fine.coarsen(15), coarse))
    assert "`bayescal count --bins 1500`, then `bayescal report --bins 15`" in coarse
    assert merged.endswith("includes this error.")


def rows_of(scores, curve, n=2000, seed=1, **options):
    rng = np.random.default_rng(seed)
    c = scores(rng, n)
    return BinnedCounts.from_arrays((rng.random(n) < curve(c)).astype(int), c, target="event", **options)


def uniform(low, high):
    return lambda rng, n: rng.uniform(low, high, n)


def values(*scores, p=None):
    return lambda rng, n: rng.choice(np.array(scores), n, p=p)


@pytest.mark.parametrize(
    ("scores", "curve"),
    [
        (uniform(0, 0.06), lambda c: 0.06 - c),
        (uniform(0, 0.06), lambda c: np.full_like(c, 0.03)),
        (uniform(0.02, 0.06), lambda c: 0.08 - c),
        (uniform(0.47, 0.53), lambda c: 1 - c),
        (values(0.95, 1.0), lambda c: np.where(c < 1, 1.0, 0.9)),
        (values(0.94, 0.99, 1.0, p=[0.4, 0.4, 0.2]), lambda c: np.interp(c, [0.94, 0.99, 1], [1.0, 0.97, 0.9])),
        (lambda rng, n: rng.beta(2, 300, n), lambda c: np.full_like(c, 2 / 302)),
    ],
)
def test_errors_inside_a_bin_of_most_rows_are_told(scores, curve):
    """Rare events, risks, words near 1: the bin hides that the order is reversed or lost. Five data sets each."""
    for seed in range(5):
        counts = rows_of(scores, curve, seed=seed)
        for model in ("shrinkage", "dirichlet"):
            (remark,) = [r for r in remarks_of(counts, model) if "At least half of the rows" in r]
        assert "equal mass" in remark
        assert "exact calibration" in remark


@pytest.mark.parametrize(
    ("scores", "curve"),
    [
        (uniform(0, 1), lambda c: c),
        (uniform(0, 1), lambda c: 0.2 + 0.6 * c),
        (lambda rng, n: rng.beta(1, 4, n), lambda c: c),
        (lambda rng, n: rng.beta(0.3, 0.3, n), lambda c: c),
        (values(0.03), lambda c: c),
        (lambda rng, n: 0.03 + 1e-7 * rng.random(n), lambda c: c),
        (values(0.95, 1.0), lambda c: np.full_like(c, 0.7)),  # the bin shows nearly all of the error
    ],
)
def test_ordinary_rows_are_not_told_of_errors_inside_a_bin(scores, curve):
    for seed in range(5):
        assert hidden_errors(rows_of(scores, curve, seed=seed)) is None


def test_the_remedy_fits_the_bins():
    """Bins of equal mass are named for bins of equal width only."""
    custom = rows_of(uniform(0, 0.06), lambda c: 0.06 - c, bins=[0, 0.5, 1])
    assert "equal mass" not in hidden_errors(custom)
    assert "more bins" in hidden_errors(custom)
    assert hidden_errors(BinnedCounts.empty(5)) is None


def test_spread_and_covariance_inside_bins_are_those_of_numpy():
    rng = np.random.default_rng(3)
    c, w = rng.random(200), rng.random(200)
    y = (rng.random(200) < c).astype(int)
    counts = BinnedCounts.from_arrays(y, c, bins=3, weights=w)
    for b in range(3):
        inside = np.minimum((c * 3).astype(int), 2) == b
        cov = np.cov(np.stack([c, y])[:, inside], aweights=w[inside], ddof=0)
        assert counts.within_variance[b] == pytest.approx(cov[0, 0])
        assert counts.within_covariance[b] == pytest.approx(cov[0, 1])


def test_example_of_reading_remarks():
    counts = ClasswiseCounts.from_arrays([1, 0], [[0.33, 0.33, 0.33], [0.2, 0.3, 0.5]])
    assert reading_remarks(counts[0].reading, 2) == (
        "1 of 2 rows sum to 1 only up to rounding (largest deviation 0.01); the rows were divided by their sums.",
    )


def test_example_of_mistake_remarks():
    assert mistake_remarks(BinnedCounts.from_arrays([0, 1, 1] * 20, [0.0, 1.0, 1.0] * 20)) == (
        "The probabilities equal the outcomes in 60 of 60 rows. Were outcomes passed as probabilities?",
    )


def test_example_of_rows_in_clusters():
    assert rows_in_clusters(1000, 200, weighted=False) == "The rows are in 200 clusters (5 rows on average)"


def test_example_of_several():
    assert of_several({"north": ("Few rows.",), "south": (), "west": ("Few rows.",)}) == ["north, west: Few rows."]


def test_rows_that_counts_do_not_order_are_named_with_the_error_of_the_augrc():
    """By brute force: with the right predictions of each bin first or last, the AUGRC differs by twice the error."""
    rng = np.random.default_rng(5)
    place, right = rng.integers(0, 5, 300), rng.random(300) < 0.8
    middle = (place + 0.5) / 5
    counts = bc.BinnedCounts.from_arrays(right, middle, bins=5)
    ends = [
        bc.evaluate(right, middle + way * np.where(right, 0.01, -0.01), target="confidence", draws=20, rng=1)
        for way in (1, -1)
    ]
    low, high = (each.plug_in_of("augrc") for each in ends)
    ev = bc.evaluate_counts(counts, draws=20, rng=1)
    assert ev.plug_in_of("augrc") == pytest.approx((low + high) / 2)
    (remark,) = (each for each in ev.sheet(estimands=["augrc"]).remarks if "do not order rows" in each)
    assert f"the AUGRC is known to within {(high - low) / 2:.2g}; its interval includes this error" in remark
    for known in ends:
        assert not any("do not order" in each for each in known.sheet(estimands=["augrc", "atb"]).remarks)
    only = bc.evaluate_counts(bc.BinnedCounts.from_arrays([1, 1], [0.2, 0.3], bins=1), draws=20, rng=1)
    assert not any("do not order" in each for each in only.sheet(estimands=["augrc"]).remarks)


def test_the_plug_in_atb_of_bins_is_no_number_for_a_leaderboard():
    """Between the confidences 0.4 and 0.8, sums of gaps are -0.2 and 0.1 on both sides; one bin has their sum only."""
    y, p = np.tile([0, 1], 20), np.tile([0.4, 0.8], 20)
    ev = bc.evaluate(y, p, bins=1, draws=20, rng=1)
    of_counts = bc.evaluate_counts(bc.BinnedCounts.from_arrays(y, p, bins=1, target="event"), draws=20, rng=1)
    between, whole = (-0.4 / 2) ** 2 + (0.2 / 2) ** 2, (-0.4 / 2 + 0.2 / 2) ** 2
    assert ev.plug_in_of("atb") == pytest.approx(0.4 * between + 0.6 * whole)
    assert np.isnan(of_counts.plug_in_of("atb"))
    assert whole < between
    said = "It needs the rows: sums of bins have none."
    assert any(said in remark for remark in of_counts.sheet(estimands=["atb"]).remarks)
    assert not any(said in remark for remark in of_counts.sheet().remarks)
