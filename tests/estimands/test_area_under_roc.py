"""AUC: exact values, the variance and covariance of DeLong et al. in fractions, and a posterior that covers."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from scipy.special import expit, ndtri
from scipy.stats import beta
from sklearn.metrics import roc_auc_score

import bayescal as bc
from bayescal.estimands.area_under_roc import beta_parameters, correlation_of_aucs, delong_variance, ranks_of
from bayescal.estimands.registry import registered
from bayescal.stats.ranks import Ranks


def normal_scores(n, area, prevalence=0.5, seed=1):
    """Outcomes, and confidences with this AUC in the population."""
    rng = np.random.default_rng(seed)
    outcome = (rng.random(n) < prevalence).astype(np.int64)
    return outcome, expit((rng.standard_normal(n) + np.sqrt(2) * ndtri(area) * outcome) / 2)


# --- DeLong, DeLong and Clarke-Pearson (1988) by hand


OUTCOME = [1, 1, 1, 0, 0, 0, 0]
FIRST = [0.9, 0.6, 0.4, 0.5, 0.4, 0.2, 0.1]
SECOND = [0.8, 0.7, 0.3, 0.3, 0.7, 0.1, 0.2]


def kernel(x, y):
    """Equation 2: 1, 1/2 or 0."""
    return Fraction(1 + (y < x) - (y > x), 2)


def components(confidence):
    """Equations 3: structural components of rows with outcome 1, and with outcome 0."""
    ones = [c for c, z in zip(confidence, OUTCOME, strict=True) if z]
    zeros = [c for c, z in zip(confidence, OUTCOME, strict=True) if not z]
    by_one = [sum(kernel(x, y) for y in zeros) / len(zeros) for x in ones]
    by_zero = [sum(kernel(x, y) for x in ones) / len(ones) for y in zeros]
    return by_one, by_zero


def covariance(one, other, less):
    """Equation 6: the sum of covariances of components, divided by the number of rows; divisor n - less."""
    total = Fraction(0)
    for a, b in zip(components(one), components(other), strict=True):
        mean_a, mean_b, n = sum(a) / len(a), sum(b) / len(b), len(a)
        total += sum((x - mean_a) * (y - mean_b) for x, y in zip(a, b, strict=True)) / (n - less) / n
    return total


@pytest.mark.parametrize("confidence", [FIRST, SECOND])
def test_the_variance_of_delong_by_hand(confidence):
    ranks = Ranks.of_rows(np.array(confidence), np.array(OUTCOME))
    by_one, _ = components(confidence)
    assert ranks.auc == pytest.approx(float(sum(by_one) / len(by_one)), rel=1e-14)
    assert delong_variance(ranks) == pytest.approx(float(covariance(confidence, confidence, 1)), rel=1e-12)


def test_the_correlation_of_two_areas_by_hand():
    compared = bc.compare(OUTCOME, {"first": FIRST, "second": SECOND}, rng=1)
    expected = covariance(FIRST, SECOND, 0) / np.sqrt(
        float(covariance(FIRST, FIRST, 0) * covariance(SECOND, SECOND, 0))
    )
    assert compared.pairs[0, 1].area_correlation == pytest.approx(float(expected), rel=1e-12)


def test_the_parameters_by_hand():
    """A = 11/12 with n = 3, 4; see the formula in the docstring of `auc`."""
    by_one, _ = components(FIRST)
    area = sum(by_one) / 3
    variance = covariance(FIRST, FIRST, 0)
    variance += sum((Fraction(1, 3) - area + area**2) / n**2 for n in (3, 4))
    fewest = Fraction(12, 7)
    centre = (area * fewest + Fraction(1, 2)) / (fewest + 1)
    trials = centre * (1 - centre) / variance
    expected = area * trials + Fraction(1, 2), (1 - area) * trials + Fraction(1, 2)
    found = beta_parameters(Ranks.of_rows(np.array(FIRST), np.array(OUTCOME)))
    assert found == pytest.approx([float(each) for each in expected], rel=1e-12)
    drawn = bc.evaluate(OUTCOME, FIRST, draws=40_000, rng=1).auc
    low, high = beta.ppf([0.025, 0.975], *map(float, expected))
    assert drawn.interval(0.95) == pytest.approx((low, high), abs=0.01)


def test_one_row_of_an_outcome_has_no_variance_but_a_posterior():
    ranks = Ranks.of_rows(np.array([0.1, 0.2, 0.9]), np.array([0, 0, 1]))
    assert np.isnan(delong_variance(ranks))
    low, high = bc.evaluate([0, 0, 1], [0.1, 0.2, 0.9], rng=1).auc.interval(0.95)
    assert low < 0.3 < 0.99 < high


# --- the observed value


@pytest.mark.parametrize("target", ["event", "top-label"])
@pytest.mark.parametrize("weighted", [False, True])
def test_rows_give_the_exact_value(target, weighted):
    rng = np.random.default_rng(2)
    p = np.round(rng.random(500), 2)
    outcome = (rng.random(500) < p).astype(int)
    weight = rng.gamma(1, size=500) if weighted else None
    given = p if target == "event" else np.stack([1 - p, p], axis=1)
    confidence, right = (p, outcome) if target == "event" else (np.maximum(p, 1 - p), outcome == (p > 0.5))
    ev = bc.evaluate(outcome, given, target=target, weights=weight, rng=1)
    expected = roc_auc_score(right, confidence, sample_weight=weight)
    assert ev.plug_in_of("auc") == pytest.approx(expected, rel=1e-12)
    assert ev.row("auc")["plug_in"] == pytest.approx(expected, rel=1e-12)
    low, high = ev.auc.interval(0.95)
    assert low < expected < high


def test_scores_beyond_one_by_rounding():
    with pytest.warns(UserWarning, match="rounding"):
        ev = bc.evaluate([0, 1, 1, 0], [0.2, 0.3, 1 + 1e-12, 1], rng=1)
    assert ev.plug_in_of("auc") == 0.625


def test_every_group_has_its_own_value():
    outcome, p = normal_scores(900, 0.8)
    by = np.arange(900) % 3
    grouped = bc.evaluate(outcome, p, by=by, rng=1)
    assert grouped.overall.plug_in_of("auc") == pytest.approx(roc_auc_score(outcome, p), rel=1e-12)
    for label, of_group in grouped.items():
        expected = roc_auc_score(outcome[by == label], p[by == label])
        assert of_group.plug_in_of("auc") == pytest.approx(expected, rel=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("weighted", [False, True])
def test_engines_give_the_value_of_the_bins_within_their_error(weighted):
    outcome, p = normal_scores(3000, 0.8)
    weight = np.random.default_rng(3).gamma(1, size=3000) if weighted else None
    exact = roc_auc_score(outcome, p, sample_weight=weight)
    frame = pa.table({"y": outcome, "p": p, **({"w": weight} if weighted else {})})
    for bins, most in ((15, 0.07), (1000, 0.001)):
        counts = bc.BinnedCounts.from_frame(
            frame, outcome="y", confidence="p", weights="w" if weighted else None, bins=bins
        )
        ev = bc.evaluate_counts(counts, rng=1)
        assert abs(ev.plug_in_of("auc") - exact) <= bc.auc_grid_error(counts) < most
        place = np.floor(p * bins)
        assert ev.plug_in_of("auc") == pytest.approx(roc_auc_score(outcome, place, sample_weight=weight), rel=1e-10)


def test_the_grid_error_is_part_of_the_draws():
    outcome, p = normal_scores(2000, 0.8)
    fine, coarse = (bc.BinnedCounts.from_arrays(outcome, p, bins=bins) for bins in (1000, 5))
    error = bc.auc_grid_error(coarse)
    a, b = beta_parameters(ranks_of(coarse))
    drawn = bc.evaluate_counts(coarse, draws=40_000, rng=1).auc.values
    assert drawn.var() == pytest.approx(beta.var(a, b) + error**2 / 3, rel=0.03)
    low, high = np.quantile(drawn, [0.025, 0.975])
    assert low < roc_auc_score(outcome, p) < high
    of_fine = bc.evaluate_counts(fine.coarsen(5), rng=1).auc
    assert of_fine.sd() < drawn.std() / 2


def test_effective_rows_of_each_outcome():
    """All rows with outcome 0 have the weight 3: the effective numbers of rows are the numbers of rows.

    Bins know squares of weights of both outcomes together, here 1 + 3 * 9 = 28 of the weight 1 + 3 * 3 = 10: a tenth of
    them is taken as that of the outcome 1.
    """
    outcome, p = normal_scores(2000, 0.8, prevalence=0.1)
    weights = np.where(outcome, 1.0, 3.0)
    exact = bc.evaluate(outcome, p, weights=weights, rng=1).counts.ranks.rows
    np.testing.assert_allclose(exact, [np.sum(outcome == 0), outcome.sum()], rtol=1e-12)
    few = bc.BinnedCounts.from_arrays([1, 0, 0, 0], [0.1, 0.2, 0.3, 0.4], weights=[1, 3, 3, 3], bins=1)
    np.testing.assert_allclose(ranks_of(few).rows, [81 / 25.2, 1 / 2.8], rtol=1e-12)


# --- limits


@pytest.mark.parametrize("outcome", [[0, 0, 0], [1, 1, 1]])
def test_one_outcome_alone_is_refused(outcome):
    ev = bc.evaluate(outcome, [0.2, 0.4, 0.9], rng=1)
    with pytest.raises(ValueError, match=f"have none with outcome {1 - outcome[0]}"):
        _ = ev.auc
    with pytest.raises(ValueError, match="the AUC needs rows"):
        bc.auc_grid_error(ev.counts)
    assert np.isnan(ev.plug_in_of("auc"))
    assert not registered()["auc"].available(ev.counts)
    assert registered()["auc"].available(bc.BinnedCounts.from_arrays([0, 1], [0.2, 0.3]))
    empty = bc.BinnedCounts.empty(5)
    assert not registered()["auc"].available(empty)
    with pytest.raises(ValueError, match="have none with outcome 0 or 1"):
        ranks_of(empty)


def test_labels_instead_of_draws_are_refused():
    with pytest.raises(TypeError, match=r"call `bayescal.evaluate\(y_true, y_prob\)`; its attribute `auc`"):
        bc.auc([0, 1], [0.2, 0.7])


@pytest.mark.parametrize(("right", "most"), [(True, 0.999), (False, 0.001)])
def test_a_perfect_order_leaves_room(right, most):
    """Ten rows of outcome 1 among 1000: one misranked row in 30 has probability (29/30)^10 = 0.7 to be unseen."""
    outcome = np.repeat([0, 1], [990, 10])
    p = np.linspace(0.01, 0.99, 1000)[:: 1 if right else -1]
    low, high = sorted(abs(value - (not right)) for value in bc.evaluate(outcome, p, rng=1).auc.interval(0.95))
    assert low < 1 - 0.5 / 30 - 0.05
    assert high > 0.999
    assert bc.evaluate(outcome, p, rng=1).plug_in_of("auc") == right


def test_reversed_confidences_give_the_mirror_image():
    outcome, p = normal_scores(400, 0.8)
    up, down = (ranks_of(bc.evaluate(outcome, c, rng=1).counts) for c in (p, 1 - p))
    np.testing.assert_allclose(beta_parameters(up), beta_parameters(down)[::-1], rtol=1e-9)


def test_it_is_larger_if_better_and_not_in_tables():
    record = registered()["auc"]
    assert (record.better, record.reported, record.of_calibration) == ("larger", False, False)
    assert "c statistic" in record.synonyms
    ev = bc.evaluate(*normal_scores(300, 0.8), rng=1)
    assert "auc" not in {row["quantity"] for row in ev.table()}
    assert ev.row("auc")["quantity"] == "auc"


# --- several classifiers


def three(n=1500, seed=4):
    outcome, good = normal_scores(n, 0.9, seed=seed)
    rng = np.random.default_rng(seed)
    score = np.log(good / (1 - good))
    return outcome, {"good": good, "noisy": expit(score + rng.standard_normal(n)), "cubed": good**3}


def test_differences_are_those_of_delong():
    outcome, by_name = three()
    compared = bc.compare(outcome, by_name, draws=20_000, rng=1)
    ranks = {name: ranks_of(compared[name].counts) for name in by_name}
    placed = {n: r.placements[outcome, r.cell_of(by_name[n])] for n, r in ranks.items()}
    apart = placed["good"] - placed["noisy"]
    sd = np.sqrt(sum(np.var(apart[outcome == z], ddof=1) / np.sum(outcome == z) for z in (0, 1)))
    difference = compared.difference("good", "noisy", "auc")
    assert difference.mean() == pytest.approx(ranks["good"].auc - ranks["noisy"].auc, abs=0.05 * sd)
    assert difference.sd() == pytest.approx(sd, rel=0.05)
    assert compared.sentence(estimand="auc").startswith("good and cubed have the same AUC in every draw")
    assert compared.p_best("auc")["noisy"] < 0.01


def test_the_same_order_is_the_same_area():
    outcome, by_name = three()
    compared = bc.compare(outcome, by_name, rng=1)
    assert not compared.difference("good", "cubed", "auc").values.any()
    twins = bc.compare(outcome, {"one": by_name["good"], "other": by_name["good"]}, rng=1)
    assert not twins.difference("one", "other", "auc").values.any()
    pair = bc.PairedCounts.from_arrays(outcome, by_name["good"], outcome, by_name["good"], target="event")
    from_counts = bc.compare_counts({("one", "other"): pair}, rng=1)
    assert not from_counts.difference("one", "other", "auc").values.any()


def test_each_classifier_keeps_its_own_draws():
    outcome, by_name = three()
    compared = bc.compare(outcome, by_name, rng=1)
    for i, name in enumerate(by_name):
        np.testing.assert_array_equal(np.sort(compared.draws("auc").values[:, i]), np.sort(compared[name].auc.values))


def test_joint_counts_approach_the_correlation_of_the_rows_from_below():
    outcome, by_name = three()
    exact = bc.compare(outcome, by_name, rng=1).pairs[0, 1].area_correlation
    found = []
    for bins in (15, 1000):
        pair = bc.PairedCounts.from_arrays(outcome, by_name["good"], outcome, by_name["noisy"], bins=bins)
        assert pair.area_correlation is None
        found.append(correlation_of_aucs([pair.first, pair.second], {(0, 1): pair})[0, 1])
        swapped = correlation_of_aucs([pair.second, pair.first], {(0, 1): pair.swapped()})[0, 1]
        assert swapped == pytest.approx(found[-1], rel=1e-9)
    assert 0 < found[0] < found[1] <= exact + 0.005
    assert found[1] == pytest.approx(exact, abs=0.02)


def test_different_outcomes_of_two_classifiers():
    """For the target "top-label" each classifier is right or wrong on its own; influences are checked by all rows."""
    rng = np.random.default_rng(6)
    label = rng.integers(0, 3, 400)
    by_name = {}
    for name, sharp in (("a", 2.0), ("b", 1.5)):
        logit = sharp * np.eye(3)[label] + rng.standard_normal((400, 3))
        by_name[name] = np.exp(logit) / np.exp(logit).sum(axis=1, keepdims=True)
    compared = bc.compare(label, by_name, rng=1)
    influence = []
    for name, matrix in by_name.items():
        right, confidence = matrix.argmax(axis=1) == label, matrix.max(axis=1)
        area = roc_auc_score(right, confidence)
        assert compared[name].plug_in_of("auc") == pytest.approx(area, rel=1e-12)
        placed = [
            np.mean((confidence[right != z] < c) if z else (confidence[right != z] > c))
            for z, c in zip(right, confidence, strict=True)
        ]
        influence.append((np.array(placed) - area) / np.where(right, right.mean(), 1 - right.mean()))
    assert compared.pairs[0, 1].area_correlation == pytest.approx(np.corrcoef(influence)[0, 1], rel=1e-9)


def influences(outcome, confidence):
    """Placement less the area, divided by the share of the outcome, by all pairs."""
    other = outcome[:, None] != outcome
    above = np.sign(confidence[:, None] - confidence) * np.where(outcome, 1, -1)[:, None]
    placed = ((1 + above) / 2 * other).sum(axis=1) / other.sum(axis=1)
    return (placed - placed[outcome == 1].mean()) / np.where(outcome, outcome.mean(), 1 - outcome.mean())


def test_the_correlation_of_weighted_areas_is_that_of_weighted_placements():
    """Two weighted means over the same rows have the covariance sum w^2 u v / (sum w)^2, here by all pairs of rows."""
    outcome, by_name = three(1000)
    pair = {name: by_name[name] for name in ("good", "noisy")}
    weights = np.random.default_rng(1).gamma(2.0, 1.0, 1000) * np.abs(by_name["good"] - 0.5) ** 2
    weighted = []
    for p in pair.values():
        below = (p[:, None] > p).astype(float) + 0.5 * (p[:, None] == p)
        other = (outcome[:, None] != outcome) * weights
        placed = (np.where(outcome[:, None] == 1, below, 1 - below) * other).sum(axis=1) / other.sum(axis=1)
        area = np.average(placed[outcome == 1], weights=weights[outcome == 1])
        total = np.bincount(outcome, weights)
        weighted.append(weights * (placed - area) / total[outcome])
    one, two = weighted
    expected = one @ two / np.sqrt((one @ one) * (two @ two))
    compared = bc.compare(outcome, pair, weights=weights, rng=1)
    assert compared.pairs[0, 1].area_correlation == pytest.approx(expected, rel=1e-9)
    # rows that are their own clusters
    alone = bc.compare(outcome, pair, weights=weights, cluster=np.arange(1000), rng=1)
    assert alone.pairs[0, 1].area_correlation == pytest.approx(expected, rel=1e-9)
    # joint counts in so many bins that hardly any different rows are tied; the number of equal rows varies
    copies = np.random.default_rng(2).integers(1, 20, 1000)
    outcome, weights, p, q = (np.repeat(each, copies) for each in (outcome, weights, *pair.values()))
    (again,) = bc.compare(outcome, {"a": p, "b": q}, weights=weights, rng=1).pairs.values()
    counts = bc.PairedCounts.from_arrays(outcome, p, outcome, q, weights=weights, bins=1000, target="event")
    found = correlation_of_aucs([counts.first, counts.second], {(0, 1): counts})[0, 1]
    assert found == pytest.approx(again.area_correlation, abs=0.01)


def test_the_same_cells_are_not_the_same_classifier():
    """Both classifiers have the same two bins in every row, and their order within the bins differs.

    The bins alone have correlation 1. From counts, each posterior has a part of variance E^2 / 3 for the grid error E;
    from ranks, a part for the variation within bins. These parts are not shared.
    """
    outcome, p = normal_scores(1000, 0.8)
    q = (np.floor(2 * p) + np.random.default_rng(1).random(1000)) / 2
    pair = bc.PairedCounts.from_arrays(outcome, p, outcome, q, bins=2)
    place, rows = np.floor(2 * p), np.array([np.sum(outcome == z) for z in (0, 1)])
    area = roc_auc_score(outcome, place)
    spread = [np.var(influences(outcome, place)[outcome == z] * np.mean(outcome == z)) for z in (0, 1)]
    variance = ((rows * spread + 1 / 3 - area + area**2) / rows**2).sum()
    of_error = bc.auc_grid_error(pair.first) ** 2 / 3
    found = correlation_of_aucs([pair.first, pair.second], {(0, 1): pair})[0, 1]
    assert found == pytest.approx(variance / (variance + of_error), rel=1e-9)
    low, high = bc.compare_counts({("a", "b"): pair}, rng=1).difference("a", "b", "auc").interval(0.95)
    assert low < roc_auc_score(outcome, p) - roc_auc_score(outcome, q) < high

    (ranked,) = bc.compare(outcome, {"a": p, "b": q}, bins=2, rng=1).pairs.values()
    both = ranked + ranked
    shares = [np.var(influences(outcome, place)) / np.var(influences(outcome, each)) for each in (p, q)]
    found = correlation_of_aucs([both.first, both.second], {(0, 1): both})[0, 1]
    assert found == pytest.approx(np.sqrt(np.prod(shares)), rel=1e-9)


def test_sums_of_pairs_have_the_correlation_of_the_bins():
    outcome, by_name = three()
    (pair,) = bc.compare(outcome, {n: by_name[n] for n in ("good", "noisy")}, rng=1).pairs.values()
    assert pair.swapped().area_correlation == pair.area_correlation
    both = pair + pair
    assert both.area_correlation is None
    assert both.first.ranks.total.sum() == 3000
    assert (pair + bc.PairedCounts.empty(15, target="event")).area_correlation == pair.area_correlation
    joint = correlation_of_aucs([both.first, both.second], {(0, 1): both})
    assert 0.3 < joint[0, 1] < pair.area_correlation


# --- coverage


@pytest.mark.parametrize(("n", "prevalence", "area"), [(50, 0.5, 0.6), (50, 0.5, 0.99), (1000, 0.01, 0.95)])
def test_intervals_contain_the_truth(n, prevalence, area):
    """300 data sets: with a coverage of 0.92, fewer than 260 would have a probability of 3e-4; see the page."""
    inside = 0
    for seed in range(300):
        outcome, p = normal_scores(n, area, prevalence, seed)
        if 0 < outcome.sum() < n:
            low, high = beta.ppf([0.025, 0.975], *beta_parameters(Ranks.of_rows(p, outcome)))
            inside += low <= area <= high
        else:
            inside += 1
    assert inside >= 260


def test_counts_of_other_types_need_no_ranks():
    counts = bc.BinnedCounts.from_arrays(*normal_scores(500, 0.8))
    assert bc.auc_grid_error(replace(counts, ranks=None)) == bc.auc_grid_error(counts) > 0


def test_draws_are_not_combined_with_those_of_the_bins():
    ev = bc.evaluate([0, 1, 0, 1, 1], [0.2, 0.4, 0.5, 0.7, 0.9], draws=100, rng=1)
    with pytest.raises(TypeError, match="dependence is unknown"):
        ev.auc - ev.ece


def test_two_classifiers_that_separate_the_outcomes_differ():
    """Neither ranks a row wrongly, so the rows do not show that the areas are equal; a copy has the same area."""
    rng = np.random.default_rng(1)
    outcome = np.arange(100) % 2
    first, second = (0.5 * outcome + 0.5 * rng.random(100) for _ in range(2))
    comparison = bc.compare(outcome, {"a": first, "b": second, "c": first}, rng=1)
    low, high = comparison.difference("a", "b", estimand="auc").interval(0.95)
    assert low < -0.005
    assert high > 0.005
    assert comparison.difference("a", "c", estimand="auc").interval(0.95) == (0.0, 0.0)
