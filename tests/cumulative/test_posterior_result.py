"""CumulativePosterior: summaries, bands, printing and refusals."""

import json
import re

import numpy as np
import pytest

import bayescal as bc
from bayescal.cumulative.brownian import quantile_max_abs
from bayescal.datasets.simulate import simulate

MODELS = ("pooled", "segments")


@pytest.fixture(scope="module")
def observed():
    rows = simulate(1500, population="flat", curve="temperature", strength=1.5, rng=1)
    return bc.cumulative_difference(rows.outcome, rows.confidence)


@pytest.fixture(scope="module")
def posteriors(observed):
    return {model: observed.posterior(800, rng=1, model=model) for model in MODELS}


@pytest.mark.parametrize("model", MODELS)
def test_draws(posteriors, model):
    posterior = posteriors[model]
    for name in ("kuiper", "kolmogorov_smirnov"):
        draws = getattr(posterior, name)
        assert len(draws) == 800
        assert ((np.asarray(draws) >= 0) & (np.asarray(draws) <= 1)).all()
    assert posterior.curve.values.shape == (800, 64)
    assert posterior.score.shape == (64,)
    assert float(posterior.kuiper < 0.02) == np.mean(np.asarray(posterior.kuiper) < 0.02)
    assert sum(posterior.sub_models.values()) == pytest.approx(1)
    assert set(posterior.sub_models) == {"logistic", "runs"}


def test_joint_draws_can_be_combined_and_pooled_ones_cannot(posteriors):
    joint = posteriors["segments"]
    ratio = np.asarray(joint.kuiper - joint.kolmogorov_smirnov)
    assert (ratio >= 0).all()
    assert (ratio <= np.asarray(joint.kolmogorov_smirnov) + 1e-15).all()
    with pytest.raises(TypeError, match="same evaluation"):
        posteriors["pooled"].kuiper - posteriors["pooled"].kolmogorov_smirnov


def test_bands(observed, posteriors):
    posterior = posteriors["pooled"]
    band = posterior.band(0.9)
    half = quantile_max_abs(0.9) * observed.robust_sigma
    np.testing.assert_allclose(band.high - band.low, 2 * half, rtol=1e-12)
    np.testing.assert_allclose((band.low + band.high) / 2, observed.curve[1:], atol=1e-15)
    np.testing.assert_array_equal(band.score, observed.score)
    pointwise = posterior.band(0.9, simultaneous=False)
    low, high = np.quantile(posterior.curve.values, [0.05, 0.95], axis=0)
    np.testing.assert_allclose([pointwise.low, pointwise.high], [low, high])
    np.testing.assert_array_equal(pointwise.score, posterior.score)
    with pytest.raises(ValueError, match="`prob`"):
        posterior.band(1.0)


def test_table_and_sentence(observed, posteriors):
    for model, posterior in posteriors.items():
        kuiper, smirnov = posterior.table(0.8)
        assert kuiper["quantity"] == "kuiper"
        assert (kuiper["low"], kuiper["high"]) == posterior.kuiper.interval(0.8)
        assert (kuiper["plug_in"], smirnov["plug_in"]) == (observed.kuiper, observed.kolmogorov_smirnov)
        # 1.596 and 1.253 sigma less what 1500 steps miss, 2 and 1 times 0.58 steps, up to squares of a step
        step = observed.scale.mean_step
        assert kuiper["null_mean"] == pytest.approx((np.sqrt(8 / np.pi) - 2 * 0.5826 * step) * observed.sigma, rel=1e-3)
        assert smirnov["null_mean"] == pytest.approx((np.sqrt(np.pi / 2) - 0.5826 * step) * observed.sigma, rel=1e-3)
        assert [row["null_mean"] for row in observed.table()] == [kuiper["null_mean"], smirnov["null_mean"]]
        credible = "credible interval" in posterior.sentence()
        assert credible == (model == "segments")  # a confidence distribution has no credible interval
        pool = any("This is a pool, not the posterior of one model" in remark for remark in posterior.details().notes)
        assert pool == (model == "pooled")


@pytest.mark.slow
def test_null_mean_is_the_mean_of_calibrated_sets():
    """200 calibrated sets of 200 rows; a standard error of about 3 % of the mean."""
    plug_in, null = [], []
    for seed in range(200):
        rows = simulate(200, population="flat", rng=seed)
        cd = bc.cumulative_difference(rows.outcome, rows.confidence)
        plug_in.append([cd.kuiper, cd.kolmogorov_smirnov])
        null.append([row["null_mean"] for row in cd.posterior(2, rng=1, model="segments").table()])
    plug_in, null = np.array(plug_in), np.array(null)
    error = plug_in.std(axis=0) / np.sqrt(200)
    assert (np.abs(plug_in.mean(axis=0) - null.mean(axis=0)) < 4 * error).all()


@pytest.mark.parametrize("model", MODELS)
def test_the_probability_of_exact_calibration_is_printed(model):
    rows = simulate(2000, population="flat", rng=1)
    posterior = bc.cumulative_difference(rows.outcome, rows.confidence).posterior(800, rng=1, model=model)
    assert posterior.p_zero == np.mean(np.asarray(posterior.kuiper) < 1e-12)
    assert 0.2 < posterior.p_zero < 0.95
    zero, *_, models = posterior.details().notes
    assert zero == f"Probability of a Kuiper statistic of 0 (exact calibration): {posterior.p_zero:.2f}."
    drift, exact, segments = (float(x) for x in re.findall(r"0[.][0-9]+", models))
    assert drift + exact + segments == pytest.approx(1, abs=0.011)
    assert exact == pytest.approx(np.mean(np.abs(posterior.curve.values).max(axis=1) < 1e-12), abs=0.005)


def test_presentation(posteriors, tmp_path):
    posterior = posteriors["pooled"]
    text = str(posterior)
    assert "Kuiper statistic" in text
    assert "pooled model" in posterior.spec
    assert json.loads(posterior.to_json())
    assert list(posterior.to_frame().index) == ["kuiper", "kolmogorov_smirnov"]
    assert "Kuiper" in posterior.to_latex()
    posterior.to_html(tmp_path / "page.html")
    assert "CumulativePosterior" in repr(posterior)


def test_arviz_summarises_the_draws(observed, posteriors):
    for model, posterior in posteriors.items():
        summary = posterior.summary(0.9)
        assert list(summary.index) == ["kuiper", "kolmogorov_smirnov"]
        tree = posterior.to_datatree()
        np.testing.assert_array_equal(np.ravel(tree.posterior["kuiper"]), posterior.kuiper.values)
        assert tree.posterior["curve"].shape == (4, 200, 64)
        # every bin ends at a score of the rows, where both curves are equal
        at = np.searchsorted(observed.score, posterior.score)
        np.testing.assert_allclose(tree.observed_data["observed_curve"], observed.curve[1:][at], atol=1e-12)
        assert tree.constant_data["n_rows"].sum() == 1500
        assert tree.attrs["model"] == model
    with pytest.raises(AttributeError, match="Draws of the statistics are `kuiper` and `kolmogorov_smirnov`"):
        posteriors["pooled"].draws  # noqa: B018  # it raises


def test_few_rows_are_said():
    few = bc.cumulative_difference([0, 1, 1], [0.2, 0.4, 0.9]).posterior(50, rng=1)
    assert any("effective rows" in remark for remark in few.remarks)
    low, high = few.kuiper.interval(0.95)
    assert 0 <= low < 0.05 < high <= 1


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"draws": 1}, ValueError, "`draws` must be an integer >= 2"),
        ({"draws": 2.5}, (TypeError, ValueError), "`draws`"),
        ({"model": "shrinkage"}, ValueError, "`model` must be one of"),
        ({"model": "inversion"}, ValueError, "`model` must be one of"),
    ],
)
def test_refusals(observed, arguments, error, message):
    with pytest.raises(error, match=message):
        observed.posterior(**arguments)


def test_the_same_seed_gives_the_same_draws(observed, posteriors):
    again = observed.posterior(800, rng=1)
    np.testing.assert_array_equal(again.kuiper.values, posteriors["pooled"].kuiper.values)
    np.testing.assert_array_equal(again.curve.values, posteriors["segments"].curve.values)


def waves_inside_bins(n, bins):
    """Errors of 0.2 of either sign in both halves of bins of width 0.2: D is 0.033, and 0 at the edges of 5 bins."""
    rng = np.random.default_rng(0)
    score = rng.uniform(0.2, 0.8, n)
    outcome = rng.random(n) < score + 0.2 * np.where((score * 5) % 1 < 0.5, 1, -1)
    return bc.cumulative_difference.from_counts(bc.BinnedCounts.from_arrays(outcome, score, bins=bins))


def test_coarse_counts_have_no_posterior():
    with pytest.raises(
        ValueError, match=r"bins of the counts must be finer .* by 0.16, .* 10 times .* `kuiper_interval`"
    ):
        waves_inside_bins(20_000, 5).posterior(rng=1)
    low, high = waves_inside_bins(20_000, 5).kuiper_interval()
    assert low < 0.2 * 0.5 / 3 < high


def test_the_posterior_of_counts_states_their_error():
    cd = waves_inside_bins(20_000, 200)
    posterior = cd.posterior(800, rng=1)
    assert posterior.kuiper.interval(0.95)[0] < 0.2 * 0.5 / 3 < posterior.kuiper.interval(0.95)[1]
    text = " ".join(posterior.remarks)
    assert f"exceed those of the counts by up to {cd.grid_error:.2g}, which intervals do not include" in text
    assert "From counts" not in " ".join(bc.cumulative_difference([0, 1, 1], [0.2, 0.4, 0.9]).posterior(50).remarks)


@pytest.mark.parametrize(("rate", "said"), [(0.005, True), (0.05, False)])
def test_a_remark_names_few_expected_events(rate, said):
    """About 5 and 50 expected events of 1000 rows."""
    score = np.linspace(0, 2 * rate, 1001)[1:]
    outcome = np.arange(1000) % round(1 / rate) == 0
    posterior = bc.cumulative_difference(outcome, score).posterior(100, rng=1)
    assert any("effective number of expected outcomes" in remark for remark in posterior.remarks) == said
