"""The PyMC model of any result: what has one, its names, and its density or its chains against the closed form."""

import warnings
from functools import cache

import numpy as np
import pandas as pd
import pytest
from scipy import integrate, stats
from scipy.special import expit

import bayescal as bc
from bayescal.cumulative.segments import NormalSegments
from bayescal.datasets.simulate import simulate
from bayescal.posterior.pooling.prior import PARTIAL
from bayescal.posterior.random_effects import RandomEffectsPosterior
from bayescal.verify import models

pytestmark = pytest.mark.slow
pm = pytest.importorskip("pymc")

#: Largest difference of means in standard errors. With about 60 comparisons, the probability that right chains exceed
#: it somewhere is 60 * 6e-5 = 0.004; seeds are fixed.
LARGEST_Z = 4
ROWS = simulate(240, population="flat", curve="temperature", strength=1.5, rng=1)
Y, P = ROWS.outcome, ROWS.confidence
TARGET = np.random.default_rng(2).beta(2, 3, 150)


def over_datasets(**more):
    sets = {f"set {i}": (Y[i::4], {"a": P[i::4], "b": expit(2 * np.log(P[i::4] / (1 - P[i::4])))}) for i in range(4)}
    for i, (_, each) in enumerate(sets.values()):
        each.update({name: p[i::4] for name, p in more.items()})
    return bc.compare_over_datasets(sets, bins=3, rng=1, draws=500)


def two_columns():
    both = np.stack([1 - P, P], axis=1), np.stack([1 - TARGET, TARGET], axis=1)
    return bc.shift.label(Y, *both, bins=3, rng=1, draws=200, sub_models=["logistic_dense"], mass_alpha=50.0)


def three_classes():
    p = np.random.default_rng(1).dirichlet(np.ones(3), 300)
    y = np.arange(300) % 3
    return bc.shift.label(y, p, p[:100], bins=3, rng=1, draws=50, sub_models=["logistic_dense"])


def members(n):
    return bc.cumulative.subpopulation(Y[:n], P[:n], np.arange(n) % 2 == 0)


#: A result of each kind that has a model, and the options that it needs.
MADE = {
    "Dirichlet": (lambda: bc.evaluate(Y, P, bins=4, model="dirichlet", rng=1), {}),
    "Dirichlet, rates": (lambda: bc.evaluate(Y, P, bins=4, model="dirichlet", rng=1), {"form": "rates"}),
    "shrinkage": (lambda: bc.evaluate(Y, P, bins=4, rng=1), {}),
    "shrinkage with exact calibration": (lambda: bc.evaluate(Y, P, bins=4, rng=1), {"with_calibrated": True}),
    "survival": (lambda: bc.survival.evaluate(np.linspace(1, 9, len(Y)), Y, P, horizon=6, bins=4, rng=1), {}),
    "covariate shift": (lambda: bc.shift.covariate(Y, P, TARGET, weights=1 + P, bins=4, rng=1), {}),
    "label shift": (lambda: bc.shift.label(Y, P, TARGET, bins=3, rng=1, sub_models=["logistic_dense"]), {}),
    "groups": (lambda: bc.evaluate(Y, P, bins=3, by=np.arange(len(Y)) % 3, pooling="partial", rng=1), {"form": "own"}),
    "groups together": (
        lambda: bc.evaluate(Y, P, bins=3, by=np.arange(len(Y)) % 3, pooling="partial", rng=1),
        {"form": "together"},
    ),
    "recalibration": (lambda: bc.clinical.recalibration(Y, P, rng=1), {}),
    "smooth curve": (lambda: bc.clinical.calibration_curve(Y, P, rng=1), {"form": "smooth"}),
    "net benefit": (lambda: bc.decisions.net_benefit(Y, {"a": P, "b": P**2}, [0.3, 0.6], rng=1), {}),
    "segments": (lambda: bc.cumulative.difference(Y[:30], P[:30]).posterior(model="segments", rng=1), {}),
    "differences": (lambda: NormalSegments(np.array([0.3, 0.2, -0.1]), np.array([0.02, 0.03, 0.02]), 0.5), {}),
    "subpopulation": (lambda: members(30).posterior(50, model="segments", rng=1), {}),
    "two groups": (
        lambda: bc.cumulative.compare_subpopulations(
            Y[:30], P[:30], np.arange(30) % 2 == 0, np.arange(30) % 2 == 1
        ).posterior(50, model="segments", rng=1),
        {},
    ),
    "class frequencies": (lambda: bc.shift.class_priors(Y, P, TARGET, rng=1), {}),
    "shift of cells": (lambda: bc.shift.evidence(Y, P, TARGET, rng=1), {}),
    "data sets": (over_datasets, {"pair": ("b", "a")}),
}


@cache
def made(name):
    return MADE[name][0]()


def model_of(name):
    return bc.pymc_model(made(name), **MADE[name][1])


# --- every class


def path(kind):
    return f"{kind.__module__}.{kind.__qualname__}"


def test_a_result_of_each_writer_is_tried_here():
    """Posteriors are reached by their results."""
    kinds = {path(base) for name in MADE for base in type(made(name)).__mro__}
    results = {each for each in models.WRITERS if ".posterior." not in each and "Posterior" not in each.split(".")[-1]}
    assert results - kinds == set()


# --- names


@pytest.mark.parametrize("name", MADE)
def test_models_have_dims_names_pictures_and_a_density(name):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = model_of(name)
        text, picture = model.str_repr(), pm.model_to_mermaid(model)
    variables = [*model.free_RVs, *model.observed_RVs, *model.deterministics]
    assert [v.name for v in variables if v.ndim and v.name not in model.named_vars_to_dims] == []
    assert {v.name for v in variables} <= {line.split()[0] for line in text.splitlines()}
    assert [v.name for v in variables if f"\n{v.name}([" not in picture] == []
    density = model.compile_logp(mode="FAST_COMPILE")(model.initial_point())
    assert np.isfinite(density)


def test_the_dirichlet_model_is_written_in_the_letters_of_its_document():
    text = bc.evaluate(Y, P, bins=4, model="dirichlet", rng=1).to_pymc().str_repr()
    for letters in ("q_cell ~ Dirichlet(", "cells ~ Multinomial(240, q_cell)", "mu ~ TruncatedNormal(", "ece = Determ"):
        assert letters in text
    assert "mean_confidence ~ Normal(" in text
    assert "Gamma" not in text
    assert "rate ~ Gamma(" in model_of("Dirichlet, rates").str_repr()


# --- what has none, and options


@pytest.mark.parametrize(
    ("result", "says"),
    [
        (lambda: None, r"not NoneType\. Evaluate rows first, as in `bayescal.pymc_model\(bayescal.evaluate\("),
        (lambda: P, "not ndarray. Evaluate rows first"),
        (lambda: {"a": P}, "not dict. Evaluate rows first"),
        (lambda: made("Dirichlet").counts, "not BinnedCounts. Evaluate the counts first, as in"),
        (lambda: made("Dirichlet").ece, "not Draws. Pass the result from which"),
        (lambda: bc.PairedCounts.from_arrays(Y, P, Y, P**2, bins=3), "not PairedCounts. Pass the result that"),
        (lambda: bc.compare(Y, {"a": P, "b": P**2}, bins=3, rng=1), r"pymc_model\(result\['a'\]\)`"),
        (lambda: bc.bin_sensitivity(Y, P, n_bins=(5, 10), rng=1), r"`bayescal.pymc_model\(result\['equal-width', 5\]"),
        (lambda: bc.clinical.summary(Y, P, [0.2], rng=1), r"`bayescal.pymc_model\(result.decision_curve\)`"),
        (lambda: bc.cumulative.difference(Y, P), "CumulativeDifference has no PyMC model: it is a statistic"),
        (lambda: members(60), "SubpopulationDifference has no PyMC model: it is a statistic"),
        (lambda: bc.monitoring.CalibrationMonitor(bins=4), r"`bayescal.pymc_model\(monitor.evaluate\(\)\)`"),
        (lambda: pd.DataFrame({"p": P}), r"not DataFrame\. Evaluate rows first"),
        (
            lambda: type("Other", (), dict.fromkeys(("sample", "counts", "prior")))(),
            "A Other has no PyMC model: `bayescal.verify.models.WRITERS`",
        ),
    ],
)
def test_what_has_no_model_says_why(result, says):
    with pytest.raises(TypeError, match=says):
        bc.pymc_model(result())


@pytest.mark.parametrize(
    ("name", "options", "says"),
    [
        ("Dirichlet", {"form": "gamma"}, "`form` must be one of"),
        ("Dirichlet", {"pair": ("a", "b")}, "`pair` is an option of a `ComparisonOverDatasets`"),
        ("Dirichlet", {"with_calibrated": True}, "`with_calibrated` needs a shrinkage posterior"),
        ("recalibration", {"form": "rates"}, "`form` is an option of the Dirichlet model"),
        ("smooth curve", {}, "`form` must be given.*`form='smooth'` or `form='shrinkage'`"),
        ("groups", {}, "`form` must be given.*`form='own'` or `form='together'`"),
        ("data sets", {"pair": "a"}, "`pair` must be the names of two classifiers"),
    ],
)
def test_wrong_options_are_refused(name, options, says):
    with pytest.raises(ValueError, match=says):
        bc.pymc_model(made(name), **options)


@pytest.mark.parametrize(
    ("result", "says"),
    [
        (lambda: bc.cumulative.difference(Y, P).posterior(rng=1), "`result` must have `model='segments'`"),
        (lambda: members(60).posterior(50, rng=1), "`result` must have `model='segments'`"),
        (lambda: over_datasets(c=P**2), r"`pair` must name two of the 3 classifiers .*, as in `pair=\('a', 'b'\)`"),
        (lambda: bc.clinical.recalibration(Y, P, prior="jeffreys", rng=1), "must have a Normal prior"),
        (lambda: bc.shift.class_priors(Y, P, TARGET, using="probabilities", rng=1), "`using='cells'`"),
        (lambda: bc.shift.label(Y, P, TARGET, bins=3, rng=1), r"`sub_models=\['logistic_dense'\]`"),
        (lambda: bc.evaluate(Y, P, bins=3, by=np.arange(len(Y)) % 2, rng=1), "`pooling='partial'`"),
        (
            lambda: bc.decisions.net_benefit(Y, {"a": P, "b": P}, np.linspace(0.1, 0.9, 40), rng=1),
            "at most 2000 joint cells.*41",
        ),
        (lambda: bc.decisions.net_benefit(Y, P, [0.5], weights=P, rng=1), "without weights and without clusters"),
        (lambda: three_classes()[0], "of two classes for a PyMC model of its rows, not 3"),
        (lambda: RandomEffectsPosterior(np.zeros((2, 3)), np.ones((2, 3)), 0.1), "one problem for a PyMC model, not 2"),
    ],
)
def test_results_without_a_model_say_which_have_one(result, says):
    with pytest.raises(ValueError, match=says):
        bc.pymc_model(result())


def test_scores_of_0_are_not_in_the_model_of_a_curve():
    curve = bc.clinical.calibration_curve(np.r_[Y, np.zeros(100, int)], np.r_[P, np.zeros(100)], rng=1)
    with pytest.raises(ValueError, match="at exactly 0 or 1"):
        bc.pymc_model(curve, form="smooth")


# --- densities


@pytest.mark.parametrize("of", [0, 1])
def test_label_shift_gives_each_class_its_rows(of):
    """The rows of the source by class, and the prior of the masses, at one point."""
    model = bc.pymc_model(two_columns()[of])
    rows = two_columns()[of].counts.rows
    point, chosen = model.initial_point(), model.replace_rvs_by_values([model["accuracy"], model["mass"]])
    accuracy, mass = model.compile_fn(chosen)(point)
    found = model.compile_logp([model["source"]])(point)
    of_class = mass * accuracy, mass * (1 - accuracy)
    each = [stats.multinomial(rows.by_class[c].sum(), q / q.sum()) for c, q in zip((of, 1 - of), of_class, strict=True)]
    expected = sum(one.logpmf(rows.by_class[c]) for c, one in zip((of, 1 - of), each, strict=True))
    assert float(found) == pytest.approx(expected, rel=1e-9)
    spread = pm.draw(model["mass"], 4000, random_seed=1)[:, 0].var()
    assert spread == pytest.approx(stats.dirichlet([50.0] * 3).var()[0], rel=0.15)


def test_bins_of_a_target_without_labelled_rows_have_a_density():
    few = bc.shift.covariate(Y[P > 0.25], P[P > 0.25], TARGET, weights=P[P > 0.25], bins=4, model="dirichlet", rng=1)
    assert (few.counts.n[few.counts.occupied] == 0).any()
    for form in ("dirichlet", "rates"):
        model = bc.pymc_model(few, form=form)
        assert np.isfinite(model.compile_logp()(model.initial_point()))


def counts_with(empty, weights=None):
    """240 rows in the upper bins of 20, so that this number of bins is empty."""
    confidence = empty / 20 + (1 - empty / 20) * P
    return bc.BinnedCounts.from_arrays(Y, confidence, bins=20, weights=weights)


def log_density_of_cells(posterior, q, mu):
    """Log density of q and mu under the closed form, up to a constant."""
    a, b = posterior.accuracy_parameters
    mass, accuracy = q.sum(axis=0), q[1] / q.sum(axis=0)
    loc, scale, low, high = posterior.confidence_parameters
    return (
        ((posterior.mass_parameters - 2) * np.log(mass)).sum()  # with the Jacobian of (mass, accuracy) -> q
        + ((a - 1) * np.log(accuracy) + (b - 1) * np.log1p(-accuracy)).sum()
        + stats.truncnorm.logpdf(mu, (low - loc) / scale, (high - loc) / scale, loc, scale).sum()
    )


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("empty", [0, 7, 17])
def test_the_density_of_the_dirichlet_form_is_that_of_the_closed_form(
    empty, weighted, scattered, assert_same_up_to_a_constant
):
    counts = counts_with(empty, 1 + P if weighted else None)
    assert (~counts.occupied).sum() == empty
    posterior = bc.dirichlet_posterior(counts)
    points = scattered(bc.pymc_model(posterior))
    assert_same_up_to_a_constant(
        [(density, log_density_of_cells(posterior, at["q"], at["mu"])) for density, at in points]
    )
    for _, at in points[:3]:
        np.testing.assert_allclose(at["accuracy"], at["q"][1] / at["q"].sum(axis=0))
        assert at["ece"] == pytest.approx((at["mass"] * np.abs(at["accuracy"] - at["mu"])).sum())


@pytest.mark.parametrize("mistake", ["another prior", "another formula of the variance"])
def test_a_wrong_writer_is_caught(mistake, scattered, monkeypatch):
    posterior = bc.dirichlet_posterior(counts_with(7))

    def wrong(posterior):
        if mistake == "another prior":
            return bc.verify.dirichlet_model(posterior.counts, "perks")
        return bc.verify.dirichlet_model(posterior.counts, bin_variance=posterior.counts.bins.widths**2 / 6)

    monkeypatch.setitem(models.WRITERS, path(type(posterior)), wrong)
    differences = [
        density - log_density_of_cells(posterior, at["q"], at["mu"])
        for density, at in scattered(bc.pymc_model(posterior))
    ]
    assert np.ptp(differences) > 1


def test_the_density_of_intercept_and_slope(scattered, assert_same_up_to_a_constant):
    result = made("recalibration")
    counts, pairs = result.counts, []
    lever = float(np.average(counts.logit, weights=counts.n * expit(counts.logit) * expit(-counts.logit)))
    for density, at in scattered(bc.pymc_model(result)):
        prior = stats.norm.logpdf(at["intercept"] + lever * (at["slope"] - 1), 0, 2.5)
        prior += stats.norm.logpdf(at["slope"], 1, 1) + stats.gamma.logpdf(at["rate"], counts.n).sum()
        rates = expit(at["intercept"] + at["slope"] * counts.logit)
        pairs.append((density, prior + stats.binom.logpmf(counts.k, counts.n, rates).sum()))
    assert_same_up_to_a_constant(pairs)


def test_the_density_of_score_cells_is_that_of_the_closed_form(scattered, assert_same_up_to_a_constant):
    """Shares of Gamma rates: those of one classifier have the parameters of its posterior."""
    result = bc.decisions.net_benefit(Y, P, [0.3, 0.6], rng=1)
    alpha = result.posterior.parameters(0)
    before = 2.0 / 240 * result.posterior.pseudo_rows / 2  # rate of the Gamma prior
    pairs = [
        (density, stats.gamma.logpdf(at["rate"], alpha, scale=1 / (1 + before)).sum())
        for density, at in scattered(bc.pymc_model(result))
    ]
    assert_same_up_to_a_constant(pairs)


def test_groups_have_the_evidences_of_the_package(scattered):
    """Components without drift do not depend on intercepts and slopes: their ratios are those of the closed form."""
    pooled = next(iter(made("groups").groups.values())).posterior.pooled
    still = [i for i, c in enumerate(PARTIAL.components) if c.intercept_sd == c.slope_sd == 0]
    assert len(still) == 9  # four residuals around two centres, and groups alone
    evidence = pooled.log_evidence[len(pooled.shifts) // 2][:, still]
    for _, at in scattered(bc.pymc_model(pooled, form="own"), 2):
        found = np.log(at["probability"][:, still]) - np.log(at["weights"][still])
        np.testing.assert_allclose(found - found[:, :1], evidence - evidence[:, :1], atol=1e-6)


def test_the_density_of_differences_is_the_average_over_segmentations(scattered, assert_same_up_to_a_constant):
    """Given scales and shifts: a drift, or each of the segmentations of three bins, half of whose segments are 0."""
    one, pairs = made("differences"), []
    d, v, x = one.difference, one.variance, np.array([-1.0, 0.0, 1.0])

    def likelihood(mean):
        return stats.norm.pdf(d, mean, np.sqrt(v)).prod()

    for density, at in scattered(bc.pymc_model(one)):
        tau = 0.75 * at["u_tau"] ** 2
        drift = likelihood(tau * (at["z_intercept"] + at["z_slope"] * x))
        shift = 0.75 * at["u_scale"] ** 2 * at["z_shift"]
        segments = 0.0
        for changes in (1, 4, 16):
            rate = min(changes / 2, 0.9)
            for first, second in np.ndindex(2, 2):
                start = np.array([0, 1 if first else 0, 2 if second else (1 if first else 0)])
                weight = (rate if first else 1 - rate) * (rate if second else 1 - rate) / 3
                begins = np.unique(start)
                for off in np.ndindex(*[2] * len(begins)):
                    by = dict(zip(begins.tolist(), off, strict=True))
                    mean = np.array([shift[s] * by[s] for s in start.tolist()])
                    segments += weight * likelihood(mean) / 2 ** len(begins)
        prior = stats.norm.logpdf(np.r_[at["z_intercept"], at["z_slope"], at["z_shift"]]).sum()
        pairs.append((density, np.log((drift + segments) / 2) + prior))
        if at["is_drift"]:
            np.testing.assert_allclose(at["difference"], tau * (at["z_intercept"] + at["z_slope"] * x))
        else:
            assert set(at["difference"].round(9)) <= {0.0, *shift.round(9)}
    assert_same_up_to_a_constant(pairs)


# --- the printed formula


def test_the_printed_formula_against_quadrature():
    """A cell is Beta and independent of the mean confidence, which is a truncated Normal."""
    posterior = bc.dirichlet_posterior(bc.BinnedCounts.from_arrays(Y, P, bins=2))
    a, total = posterior.accuracy_parameters[0], posterior.mass_parameters.sum()
    exact = 0.0
    for shape, loc, scale, low, high in zip(a, *posterior.confidence_parameters, strict=True):
        cell = stats.beta(shape, total - shape)
        mean = stats.truncnorm((low - loc) / scale, (high - loc) / scale, loc, scale)
        exact += integrate.dblquad(
            lambda q, mu, cell=cell, mean=mean: q * abs(q - mu) * cell.pdf(q) * mean.pdf(mu), low, high, 0, 1
        )[0]
    drawn = bc.verify.printed_formula(posterior, 40_000, rng=1)
    assert abs(drawn.mean() - exact) < 4 * drawn.mcse()
    assert abs(posterior.ece_mean() - exact) > 0.05


def test_the_printed_formula_is_large_for_a_calibrated_classifier():
    """With M equal masses it is nearly (1 - 1 / M) times the mean squared confidence: 0.8 / 3 and 0.95 / 3."""
    rows = simulate(100_000, population="flat", curve="calibrated", rng=1)
    for bins, expected in ((5, 0.8 * 0.33), (20, 0.95 / 3)):
        ev = bc.evaluate(rows.outcome, rows.confidence, bins=bins, model="dirichlet", rng=1)
        assert ev.ece.mean() < 0.02
        assert bc.verify.printed_formula(ev, rng=1).mean() == pytest.approx(expected, abs=0.005)
    for other in (made("shrinkage"), made("shrinkage").posterior):
        with pytest.raises(TypeError, match="must be of the Dirichlet model, not a ShrinkagePosterior"):
            bc.verify.printed_formula(other)


# --- chains


def chains_of(model, draws=4000):
    """Draws of all variables, chain by chain: (chain, draw, ...)."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tree = pm.sample(
            draws // 4, tune=1500, chains=4, target_accept=0.97, random_seed=1, progressbar=False, model=model,
            compute_convergence_checks=False,
        )  # fmt: skip
    assert int(tree.sample_stats.diverging.sum()) == 0
    return {name: values.values for name, values in tree.posterior.items()}


def z_scores(chains, closed):
    """Differences of means in standard errors, for each quantity; the number of effective draws is ArviZ's."""
    import arviz as az

    scores = {}
    for name, values in closed.items():
        found = chains[name].reshape(*chains[name].shape[:2], -1)
        values = values.reshape(len(values), -1)
        for i in range(found.shape[2]):
            one = az.from_dict({"posterior": {"x": found[..., i]}})
            error = np.hypot(float(az.mcse(one)["x"]), values[:, i].std() / np.sqrt(len(values)))
            scores[f"{name}[{i}]"] = float(found[..., i].mean() - values[:, i].mean()) / error
    return scores


def worst(chains, closed):
    return max(abs(z) for z in z_scores(chains, closed).values())


def of_bins(posterior):
    draws = posterior.sample(40_000, rng=2)
    return {"ece": bc.ece(draws).values, "mass": draws.mass, "accuracy": draws.accuracy}


@pytest.mark.measuring
@pytest.mark.parametrize("empty", [0, 7, 17])
def test_chains_of_the_dirichlet_form(empty):
    """No transition diverges, and all means agree; chains of another prior do not."""
    counts = counts_with(empty)
    chains = chains_of(bc.pymc_model(bc.dirichlet_posterior(counts)))
    assert worst(chains, of_bins(bc.dirichlet_posterior(counts))) < LARGEST_Z
    assert worst(chains, of_bins(bc.dirichlet_posterior(counts, alpha="uniform"))) > LARGEST_Z


def of_recalibration(prior):
    drawn = bc.clinical.recalibration(Y, P, prior=prior, draws=40_000, rng=2).drawn
    return {"intercept": drawn[:, 0], "slope": drawn[:, 1]}


def of_net_benefit(pseudo_rows):
    counts = made("net benefit").counts
    mass = bc.decisions.net_benefit_counts(counts, pseudo_rows=pseudo_rows, rng=1).posterior.sample(40_000, rng=2)
    return {"margins": mass}


def net_benefit_margins(chains):
    q = chains["q"]  # (chain, draw, outcome, score of a, score of b)
    return {"margins": np.stack([q.sum(axis=4), q.sum(axis=3)], axis=2)}


def of_frequencies(counts):
    from bayescal.shift.class_frequencies_posterior import ClassPriorPosterior

    return {"pi": ClassPriorPosterior(counts).sample(20_000, rng=2)}


def of_cells(counts):
    from bayescal.shift.statistics import CellShiftPosterior

    posterior = CellShiftPosterior(counts.source.sum(axis=0), counts.target)
    # proposals are shared by the draws of a call
    sides = np.concatenate([posterior.sample(40, rng=i) for i in range(500)])
    return {"difference": sides[:, 1] - sides[:, 0]}


def cells_of_chains(chains):
    return {"difference": chains["shares"][:, :, 1] - chains["shares"][:, :, 0]}


def of_population(pair):
    mean, spread, new = made("data sets").random_effects(*pair).sample(40_000, np.random.default_rng(2))
    return {"mean": mean[:, 0], "spread": spread[:, 0], "new": new[:, 0]}


#: Sub-models of the smooth curve, without exact calibration, which has no prior probability among them.
OFF = ("drift", "curve", "both")


def of_smooth(prior_exact):
    """Probabilities of the sub-models with deviations, which the closed form has without draws, and the ICI."""
    from bayescal.clinical.curve.posterior import smooth_curve_posterior

    posterior = smooth_curve_posterior(made("smooth curve").posterior.smooth.counts, prior_exact=prior_exact)
    weights = np.tile([posterior.probabilities[name] for name in OFF], (2, 1))
    return {"weights": weights, "ici": bc.ece(posterior.sample(40_000, rng=2)).values}


def smooth_of_chains(chains):
    names = np.array([name.split(" ")[0] for name in model_of("smooth curve").coords["component"]])
    weights = [chains["probability"][..., names == name].sum(axis=-1) for name in OFF]
    return {"weights": np.stack(weights, axis=-1), "ici": chains["ici"]}


#: Quantities of chains and of the closed form, and those of a wrong closed form.
COMPARED = {
    "recalibration": (dict, lambda: of_recalibration("weak"), lambda: of_recalibration((0.1, 0.1))),
    "net benefit": (net_benefit_margins, lambda: of_net_benefit(3.0), lambda: of_net_benefit(30.0)),
    "class frequencies": (
        dict,
        lambda: of_frequencies(made("class frequencies").counts),
        lambda: of_frequencies(bc.shift.class_priors(1 - Y, P, TARGET, rng=1).counts),
    ),
    "shift of cells": (
        cells_of_chains,
        lambda: of_cells(made("shift of cells").counts),
        lambda: of_cells(bc.shift.evidence(Y, P, TARGET[:20], rng=1).counts),
    ),
    "smooth curve": (smooth_of_chains, lambda: of_smooth(0.0), lambda: of_smooth(0.5)),
    "data sets": (dict, lambda: of_population(("b", "a")), lambda: of_population(("a", "b"))),
}


@pytest.mark.measuring
@pytest.mark.parametrize("name", COMPARED)
def test_chains_of_the_model_of_a_result(name):
    """At least 4000 draws; the same chains do not agree with the closed form of a wrong prior or of other rows."""
    quantities, right, wrong = COMPARED[name]
    chains = quantities(chains_of(model_of(name)))
    assert worst(chains, right()) < LARGEST_Z
    assert worst(chains, wrong()) > LARGEST_Z


@pytest.mark.measuring
def test_chains_of_differences():
    """Means, squares and shares of 0 in each of three bins, and that of a drift; not those of another variance."""
    one = made("differences")
    chains = chains_of(bc.pymc_model(one))

    def of(posterior):
        drawn = posterior.sample(40_000, np.random.default_rng(2))
        return {"difference": drawn, "squares": drawn**2, "zero": (drawn == 0).astype(float)}

    found = {"difference": chains["difference"], "squares": chains["difference"] ** 2}
    found["zero"] = (chains["difference"] == 0).astype(float)
    assert worst(found, of(one)) < LARGEST_Z
    assert worst(found, of(NormalSegments(one.difference, 2 * one.variance, one.unit))) > LARGEST_Z
    drift = chains["is_drift"].mean()
    assert drift == pytest.approx(one.p_drift, abs=0.05)


@pytest.mark.measuring
@pytest.mark.parametrize("name", ["survival", "covariate shift", "segments"])
def test_chains_of_bins_with_effective_numbers(name):
    """Results whose counts are effective numbers, or whose bins are many: the comparison of all quantities."""
    result = made(name)
    posterior = result.drawn.posterior if name == "segments" else result.posterior
    one = bc.shrinkage_posterior(posterior.counts, sub_models=["logistic"])
    found = bc.verify.agreement(one, draws=4000, rng=1)
    assert found.agrees, found.verdict
    wrong = bc.shrinkage_posterior(posterior.counts, sub_models=["logistic"], intercept_sd=0.05)
    assert not bc.verify.agreement_with_reference(wrong, found.reference, rng=1).agrees


@pytest.mark.measuring
@pytest.mark.parametrize("name", ["survival", "covariate shift"])
def test_chains_of_the_average_of_all_sub_models(name):
    """The same for the default model as a whole."""
    found = bc.verify.agreement(made(name), draws=4000, rng=1)
    assert found.agrees, found.verdict
    wrong = bc.shrinkage_posterior(made(name).posterior.counts, intercept_sd=0.02, log_slope_sd=0.02)
    assert not bc.verify.agreement_with_reference(wrong, found.reference, rng=1).agrees
