"""Closed form against PyMC: stored reference posteriors, one comparison with MCMC, and all that can go wrong."""

import json
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from pytensor.compile.mode import Mode

from bayescal import BinnedCounts, datasets, dirichlet_posterior, evaluate, shrinkage_posterior
from bayescal.verify import chains as module
from bayescal.verify.chains import (
    LARGEST_R_HAT,
    LARGEST_Z,
    Reference,
    agreement,
    agreement_with_reference,
    reference,
)
from bayescal.verify.models import family_evidence, pymc_model
from bayescal.verify.pymc_models import shrinkage_model

pytestmark = pytest.mark.measuring
#: Graphs that are computed once, in Python: to rewrite them would take longer.
AS_WRITTEN = Mode(linker="py", optimizer=None)
STORED = sorted((Path(__file__).parents[1] / "reference" / "posteriors").glob("*.json"))


def load(path):
    """The stored reference, and a function that makes the posterior it is of, or another."""
    stored = json.loads(path.read_text(encoding="utf-8"))
    about = {name: stored.pop(name) for name in ("data", "classifier", "bins", "model", "options")}
    rows = getattr(datasets, f"load_{about['data']}")()

    def posterior(**changes):
        options = {**about["options"], **changes}
        p = rows.y_prob[about["classifier"]]
        return evaluate(rows.y_true, p, bins=about["bins"], model=about["model"], draws=2, rng=1, **options).posterior

    return Reference.from_dict(stored), posterior


# --- stored references: no MCMC


def test_there_is_a_reference_of_every_model():
    names = {path.stem for path in STORED}
    assert {"digits_dirichlet", "digits_shrinkage", "digits_a_few_bins_off", "digits_smooth_drift"} <= names
    new = ["runs_of_bins_off", "bins_off_by_one_amount", "label_noise", "label_noise_of_any_rate", "logistic_default"]
    assert {f"digits_{name}" for name in new} | {"cancer_saturated", "cancer_noise_at_the_ends"} <= names
    assert len(names) == 19


@pytest.mark.parametrize("path", STORED, ids=lambda p: p.stem)
def test_closed_forms_agree_with_the_stored_references(path):
    """By the rules of posteriordb: 10000 draws, R-hat < 1.01, no divergences, within 5 Monte Carlo standard errors.

    About 60 quantities each, means and standard deviations: a right closed form leaves 5 standard errors in some
    reference with a probability of 1e-3 at most; seeds are fixed.
    """
    found, posterior = load(path)
    assert found.draws >= 10_000
    assert found.divergences == 0
    assert max(row["r_hat"] for row in found.rows.values()) < LARGEST_R_HAT
    result = agreement_with_reference(posterior(), found, draws=100_000, rng=1)
    assert result.agrees, result.verdict
    assert len(result.rows) >= 25


@pytest.mark.parametrize(
    ("name", "changes", "seen"),
    [
        ("digits_dirichlet", {"alpha": "perks"}, "mass"),
        ("cancer_dirichlet_jeffreys", {"alpha": "uniform"}, "accuracy"),
        ("cancer_dirichlet_jeffreys", {"bin_variance": 0.01}, "confidence"),
        ("cancer_dirichlet_original", {"formula": "corrected", "alpha": 1 / 8}, "ece"),
        ("digits_shrinkage", {"sparse_shape": 1.0}, "P("),
        ("cancer_shrinkage", {"sub_model_weights": (2, 1, 1, 1, 1)}, "P("),
        ("digits_many_bins_off", {"dense_scale": 0.25}, "tau"),
        ("digits_a_few_bins_off", {"rho": (0.05, 0.15, 0.3)}, "rho"),
        ("digits_smooth_drift", {"log_slope_sd": 0.6}, "slope"),
        ("digits_logistic_default", {"sub_model_weights": (2, 1, 1, 1, 1)}, "P("),
        ("digits_logistic_default", {"rho": (0.05, 0.15)}, "P("),
        ("cancer_saturated", {"mass_alpha": 1.0}, "mass"),
    ],
)
def test_another_prior_is_not_what_was_stored(name, changes, seen):
    """The comparison has power: each of these changes is small, and each is seen."""
    found, posterior = load(next(path for path in STORED if path.stem == name))
    result = agreement_with_reference(posterior(**changes), found, draws=50_000, rng=1)
    assert not result.agrees
    assert any(
        row["quantity"].startswith(seen) and max(abs(row["z"]), abs(np.nan_to_num(row["z_sd"]))) > LARGEST_Z
        for row in result.rows
    ), result.verdict


def test_a_reference_survives_json():
    found, _ = load(STORED[0])
    assert Reference.from_dict(json.loads(json.dumps(found.to_dict()))) == found


def test_a_reference_of_something_else_is_refused():
    found, _ = load(next(path for path in STORED if path.stem == "digits_dirichlet"))
    other = dirichlet_posterior(BinnedCounts.empty(3))
    with pytest.raises(ValueError, match=r"`reference` must have .* \d+ are in one only: .*accuracy\[10\]"):
        agreement_with_reference(other, found)


# --- MCMC


@pytest.fixture(scope="module")
def counts():
    rng = np.random.default_rng(1)
    confidence = rng.random(80)
    return BinnedCounts.from_arrays(rng.random(80) < confidence, confidence, bins=3)


def test_nuts_agrees_and_says_what_it_did(counts):
    """The one test with MCMC of the quick suite: three bins, 4000 draws."""
    found = agreement(dirichlet_posterior(counts, alpha="jeffreys"), draws=4000, rng=1)
    assert found.agrees, found.verdict
    assert found.reference.draws == 4000
    assert {"bayescal", "pymc", "arviz", "numpy"} <= set(found.reference.versions)
    assert found.worst < LARGEST_Z
    assert str(found).splitlines()[-1] == found.verdict
    assert f"They agree: {len(found.rows)} quantities" in found.verdict


# --- what can go wrong, with chains that are made up: the closed form's own draws, spoilt


@pytest.fixture
def made_up(monkeypatch):
    """Put the closed form's draws in place of NUTS; `change` spoils them, `diverging` says how many diverge a call."""
    import arviz as az

    asked = []

    def install(posterior, change=lambda values: values, diverging=(0, 0, 0)):
        def chains(model, draws, target_accept, seed, progress):
            bins = posterior.sample(draws, rng=seed + len(asked))
            values = {name: getattr(bins, name) for name in ("mass", "accuracy", "confidence", "gap")}
            values["ece"] = (bins.mass * np.abs(bins.gap)).sum(axis=1)
            values = {n: v.reshape(4, -1, *v.shape[1:]) for n, v in change(values).items()}
            flags = np.zeros((4, draws // 4), bool)
            flags[0, : diverging[len(asked)]] = True
            asked.append((draws, target_accept))
            vectors = [name for name in values if name != "ece"]
            return az.from_dict(
                {"posterior": values, "sample_stats": {"diverging": flags}},
                dims={name: ["bin"] for name in vectors},
                coords={"bin": np.arange(len(posterior.counts.bins))},
            )

        monkeypatch.setattr(module, "_chains", chains)
        monkeypatch.setattr(module, "pymc_model", lambda posterior, with_calibrated, form=None: None)
        return asked

    return install


def test_good_chains_are_asked_for_once(counts, made_up):
    posterior = dirichlet_posterior(counts)
    asked = made_up(posterior)
    assert agreement(posterior, rng=1).agrees
    assert asked == [(10_000, 0.95)]


def test_divergent_chains_are_run_again_with_smaller_steps(counts, made_up):
    posterior = dirichlet_posterior(counts)
    asked = made_up(posterior, diverging=(3, 0, 0))
    found = agreement(posterior, rng=1)
    assert found.agrees
    assert asked == [(10_000, 0.95), (10_000, 0.99)]
    assert found.reference.target_accept == 0.99


def test_chains_that_stay_bad_give_no_verdict(counts, made_up):
    posterior = dirichlet_posterior(counts)
    asked = made_up(posterior, diverging=(3, 2, 1))
    found = agreement(posterior, rng=1)
    assert asked == [(10_000, 0.95), (10_000, 0.99), (10_000, 0.999)]
    assert not found.agrees
    assert found.problems == ["1 divergent transitions"]
    assert found.verdict.startswith("No verdict: 1 divergent transitions")


def test_chains_that_do_not_mix_are_run_longer(counts, made_up):
    """Each chain somewhere else: R-hat sees it, and more draws do not help."""

    def apart(values):
        shift = np.repeat(np.linspace(0, 0.2, 4), len(values["accuracy"]) // 4)[:, None]
        return {"accuracy": values.pop("accuracy") + shift, **values}

    posterior = dirichlet_posterior(counts)
    asked = made_up(posterior, apart)
    found = agreement(posterior, rng=1)
    assert [draws for draws, _ in asked] == [10_000, 30_000, 90_000]
    assert any(problem.startswith("R-hat of 1.01 or more: ") for problem in found.problems)
    assert found.reference.rows["accuracy[0]"]["r_hat"] > 1.01
    assert found.reference.rows["confidence[0]"]["r_hat"] < 1.01


@pytest.mark.parametrize("name", ["r_hat", "ess"])
@pytest.mark.parametrize("value", [np.nan, 399.0])
def test_chains_worth_too_little_or_nobody_knows_what_are_no_reference(name, value):
    """An effective size of 399, an R-hat of 399, and either undefined."""
    found, _ = load(STORED[0])
    assert found.problems == []
    row = {**found.rows["ece"], name: value}
    assert len(replace(found, rows={**found.rows, "ece": row}).problems) == 1


def test_earlier_attempts_are_told(counts, made_up):
    posterior = dirichlet_posterior(counts)
    made_up(posterior, diverging=(3, 0, 0))
    assert agreement(posterior, rng=1).reference.earlier == ("3 divergent transitions",)


def test_only_the_average_can_take_in_exact_calibration(counts):
    for posterior in (dirichlet_posterior(counts), shrinkage_posterior(counts, sub_models=["logistic"])):
        with pytest.raises(ValueError, match="`with_calibrated` needs"):
            pymc_model(posterior, with_calibrated=True)


def test_a_shift_of_a_tenth_of_a_standard_deviation_is_named(counts, made_up):
    """0.1 sd is 0.1 sqrt(10000) = 10 standard errors; 0.01 sd is one and is not seen."""
    posterior = dirichlet_posterior(counts)
    sd = np.sqrt(posterior.accuracy_variance())

    def shifted(by):
        return lambda values: {**values, "accuracy": values["accuracy"] + by * sd * (np.arange(3) == 1)}

    made_up(posterior, shifted(0.1))
    found = agreement(posterior, rng=1)
    assert len(found.problems) == 1
    assert "accuracy[1]" in found.problems[0]
    assert found.verdict.startswith("They differ: 5 standard errors or more apart: ")
    assert [abs(row["z"]) for row in found.apart] == sorted((abs(row["z"]) for row in found.apart), reverse=True)
    assert "accuracy[0]" not in found.problems[0]
    z = next(row["z"] for row in found.rows if row["quantity"] == "accuracy[1]")
    assert -14 < z < -6
    assert not str(found).splitlines()[-1].startswith("They agree")
    made_up(posterior, shifted(0.0))
    assert agreement(posterior, rng=1).agrees


def test_a_wrong_width_is_named(counts, made_up):
    """A standard deviation 10 % too large: 0.1 sqrt(2 * 10000) = 14 standard errors of a standard deviation."""
    posterior = dirichlet_posterior(counts)
    mean = posterior.mass_mean()
    made_up(posterior, lambda values: {**values, "mass": mean + 1.1 * (values["mass"] - mean)})
    apart = agreement(posterior, rng=1).problems
    assert len(apart) == 1
    assert all(f"mass[{b}]" in apart[0] for b in range(3))


def test_a_rare_event_that_the_chains_never_saw_is_no_difference(counts):
    """Probability 1e-5 in 10000 draws: none expected, none seen; 1e-2 would have been seen a hundred times."""
    found, posterior = load(next(path for path in STORED if path.stem == "digits_shrinkage"))
    result = agreement_with_reference(posterior(), found, draws=100_000, rng=1)
    name = "P(logistic)"
    row = {"mean": 0.0, "mcse_mean": 0.0, "sd": 0.0, "mcse_sd": 0.0, "r_hat": 1.0, "ess": 10_000.0}
    rare = replace(found, rows={**found.rows, name: row})
    with_rare = agreement_with_reference(posterior(), rare, draws=100_000, rng=1)
    seen = next(r for r in with_rare.rows if r["quantity"] == name)
    p = next(r for r in result.rows if r["quantity"] == name)["closed"]
    expected = np.sqrt(p * 10_000 / (1 - p)) if p * 10_000 < 20 else np.inf
    assert seen["z"] == pytest.approx(expected)


def test_the_mirror_of_the_pool_divides_weights_by_the_evidences(counts):
    """By hand: averages of the evidences within each family, by the weights that are documented."""
    posterior = shrinkage_posterior(counts)
    evidence = {name: np.exp(value) for name, value in posterior.log_evidence.items()}
    five = np.mean([evidence[name] for name in list(evidence)[:5]])
    two = (evidence["runs"] + 0.5 * evidence["offset"]) / 1.5
    small = evidence["small_errors"]
    expected = {"independent": 0.0, "shared": np.log(two / five), "small_errors": np.log(small / five)}
    assert family_evidence(posterior) == pytest.approx(expected)
    assert family_evidence(shrinkage_posterior(counts, sub_models=["shared"])) == {"shared": 0.0}
    # the PyMC model has these weights: at each point the shares of the families differ by that ratio
    few = ["logistic", "offset"]
    posterior = shrinkage_posterior(counts, sub_models=few)
    ratio = family_evidence(posterior)["shared"]
    for with_calibrated, expected in ((False, ratio), (True, 0.0)):
        model = pymc_model(posterior, with_calibrated=with_calibrated)
        found, plain = (
            m.compile_fn(m.replace_rvs_by_values([m["p_sub_model"], m.logp()]), mode=AS_WRITTEN)(m.initial_point())[0]
            for m in (model, shrinkage_model(counts, with_calibrated=with_calibrated, sub_models=few))
        )
        odds = [np.log(p[1] / p[0]) for p in (found, plain)]
        assert odds[0] == pytest.approx(odds[1] - expected)


def test_a_wrong_evidence_of_a_family_would_show(counts, monkeypatch):
    """The stored reference of the pool was made with the right ratio; a closed form of other shares does not agree."""
    found, posterior = load(next(path for path in STORED if path.stem == "digits_logistic_default"))
    right = posterior()
    shares = right.probabilities
    independent, shared = (sum(right.families[name].values()) for name in ("independent", "shared"))
    assert independent == pytest.approx(shared)
    by_family = {f: list(names) for f, names in right.families.items()}
    moved = shares | {n: shares[n] * 1.2 for n in by_family["independent"]}
    moved |= {n: shares[n] * 0.8 for n in by_family["shared"]}
    right.__dict__["probabilities"] = moved
    result = agreement_with_reference(right, found, draws=50_000, rng=1)
    assert not result.agrees
    assert any(row["quantity"] == "P(runs)" for row in result.apart)


def test_all_bins_saturated_leave_nothing_to_the_sub_models():
    counts = BinnedCounts.from_arrays([0, 1, 0, 1, 1], [0.0, 1.0, 0.0, 1.0, 1.0], bins=2)
    model = pymc_model(shrinkage_posterior(counts))
    assert [v.name for v in model.free_RVs] == ["rate", "contrary", "u_stated"]
    assert list(model.coords["hypothesis"]) == ["exact"]


def test_only_posteriors_with_a_pymc_model_are_compared(counts):
    class Other:
        counts = BinnedCounts.empty(2)

    with pytest.raises(TypeError, match=r"not Other\. Evaluate rows first"):
        pymc_model(Other())
    for each in (Other(), counts):
        with pytest.raises(TypeError, match="`posterior` must be an evaluation under the Dirichlet or the shrinkage"):
            agreement(each)
    with pytest.raises(ValueError, match="`draws`"):
        reference(dirichlet_posterior(counts), draws=2)


def test_the_mirror_is_of_what_the_posterior_believes(counts):
    """The free variables name the model; its constants are the posterior's, so densities are those of its options."""
    for options in ({"dense_scale": 0.4}, {"mass_alpha": 3.0}, {"sub_model_weights": (1, 2, 3, 4, 5)}):
        options |= {"sub_models": ["independent"]}
        posterior = shrinkage_posterior(counts, **options)
        model, plain = pymc_model(posterior), shrinkage_model(counts, sub_models=["independent"])
        at = model.initial_point()
        density = [m.compile_logp(mode=AS_WRITTEN)(at) for m in (model, shrinkage_model(counts, **options), plain)]
        assert density[0] == density[1] != density[2]
    only = shrinkage_posterior(counts, sub_models=["sparse"])
    assert [v.name for v in pymc_model(only).free_RVs] == ["rate", "u_accuracy", "tau_of_bin", "u_off", "u_rho"]
    with_all = pymc_model(shrinkage_posterior(counts), with_calibrated=True)
    assert len(with_all.coords["hypothesis"]) == 11
    five = pymc_model(shrinkage_posterior(counts, sub_models=["independent"]), with_calibrated=True)
    assert len(five.coords["hypothesis"]) == 6
    assert [v.name for v in pymc_model(dirichlet_posterior(counts)).free_RVs] == ["q_cell", "mu"]


def test_the_segments_model_has_equal_prior_weights_in_pymc():
    """Without the pool, no evidence of the closed form enters the PyMC model."""
    from bayescal.cumulative.draws import segments_posterior
    from bayescal.verify.pymc_models import _log_weights

    counts = BinnedCounts.from_arrays([0, 1, 1, 0, 1], [0.2, 0.7, 0.8, 0.9, 0.4], bins=3)
    posterior = segments_posterior(counts)
    assert family_evidence(posterior) == {}
    assert _log_weights(posterior.prior_options, False, {}) == {"logistic": 0.0, "runs": 0.0}
    pooled = shrinkage_posterior(counts, sub_models=["logistic", "runs"])
    assert family_evidence(pooled)["shared"] == pytest.approx(
        pooled.log_evidence["runs"] - pooled.log_evidence["logistic"], rel=1e-12
    )


def test_the_segments_model_is_simulated_with_its_own_weights():
    from sbc.simulators import prior_probabilities, shrinkage_simulator

    from bayescal.cumulative.draws import SUB_MODELS

    simulator = shrinkage_simulator(bins=5, rows=100, sub_models=SUB_MODELS, pool=False)
    assert prior_probabilities(simulator.prior).tolist() == [0.5, 0.5]
    with pytest.raises(ValueError, match="linear pool"):
        shrinkage_simulator(bins=5, rows=100, sub_models=SUB_MODELS)


@pytest.mark.measuring
def test_chains_that_do_not_end_are_stopped(counts, monkeypatch):
    """The limit is far below the time that so many draws need."""
    monkeypatch.setattr(module, "MOST_SECONDS", 20.0)
    with pytest.raises(TimeoutError, match=r"did not end within 20 seconds.*without nutpie"):
        agreement(shrinkage_posterior(counts, sub_models=["logistic"]), draws=4_000_000, rng=1)


def test_only_the_time_limit_hides_an_interruption():
    with pytest.raises(KeyboardInterrupt), module._limited_time(60):
        raise KeyboardInterrupt
    with pytest.raises(TimeoutError), module._limited_time(0.01):
        time.sleep(5)
    with module._limited_time(60):
        pass
