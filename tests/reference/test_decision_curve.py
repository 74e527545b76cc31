"""Net benefit of dcurves, in Python and in R: observed values, and posterior means between them and the prior."""

import numpy as np
import pytest
from scipy.stats import beta

import bayescal as bc


def rows(record, data):
    """Outcome and scores by model."""
    if record["data"] == "fte_nfl":
        return data["labels"], {"p": data["probs"]}
    scores = {name: data[name].astype(float) for name in ("cancerpredmarker", "famhistory")}
    return data["cancer"], scores


@pytest.mark.parametrize("place", range(3))
def test_net_benefit_of_dcurves(records, reference_data, place):
    """The fourth record of the family is about survival times."""
    record = [r for r in records("decision_curve") if r["data"] != "dcurves_df_surv"][place]
    y, scores = rows(record, reference_data(record["data"]))
    named = [{"model": v.get("model", v.get("variable")), **v} for v in record["value"]]
    # at 0, where everybody is treated, dcurves has a value and this package refuses
    thresholds = sorted({v["threshold"] for v in named} - {0.0})
    found = bc.decisions.net_benefit(y, scores, thresholds, rng=1)
    compared = 0
    for value in named:
        if value["threshold"] == 0 or value["model"] == "none":
            continue
        k = thresholds.index(value["threshold"])
        name = "treat all" if value["model"] == "all" else value["model"]
        observed = found.observed[name][k]
        # R's file has ten decimals
        assert observed == pytest.approx(value["net_benefit"], rel=1e-9, abs=6e-11), (name, value["threshold"])
        if name != "treat all":
            avoided = (observed - found.observed["treat all"][k]) * (1 - thresholds[k]) / thresholds[k]
            assert avoided == pytest.approx(value["net_intervention_avoided"], rel=1e-9, abs=1e-8)
        compared += 1
    assert compared == {0: 27, 1: 22, 2: 38}[place]


def test_probability_of_being_useful_near_treating_all(reference_data):
    """Where the model and treating all treat the same patients, independent draws of both see no difference.

    The model leaves 83 rows untreated, without event, and is useful if their event rate is below the threshold: by the
    prior, 1.5 (0.45 + 0.1 / 100) pseudo-rows per outcome, the event rate is a Beta(0.677, 83.677). BayesDCA's recipe
    has 0.57: prevalence, sensitivity and specificity with independent Beta(1, 1) priors.
    """
    data = reference_data("dcurves_df_binary")
    y, p = data["cancer"], data["cancerpredmarker"]
    found = bc.decisions.net_benefit(y, p, 0.01, draws=20_000, rng=1)
    untreated = beta(1.5 * 0.451, 83 + 1.5 * 0.451)
    assert untreated.cdf(0.01) == pytest.approx(0.7217, abs=0.0001)
    assert found.p_useful["model"][0] == pytest.approx(untreated.cdf(0.01), abs=0.01)
    assert found.few_rows["model"][0]
    # treating all is better by the mass of these rows times (q - 0.01) / 0.99; their event rate q is independent of it
    loss = untreated.expect(lambda q: (q - 0.01) / 0.99, lb=0.01) * (83 + 3 * 0.451) / 753
    assert found.evpi[0] == pytest.approx(loss, rel=0.05)
    rng, treated = np.random.default_rng(1), p >= 0.01
    prevalence = rng.beta(1 + y.sum(), 1 + (1 - y).sum(), 20_000)
    sensitivity = rng.beta(1 + (y * treated).sum(), 1 + (y * ~treated).sum(), 20_000)
    specificity = rng.beta(1 + ((1 - y) * ~treated).sum(), 1 + ((1 - y) * treated).sum(), 20_000)
    model = prevalence * sensitivity - (1 - prevalence) * (1 - specificity) * 0.01 / 0.99
    treat_all = prevalence - (1 - prevalence) * 0.01 / 0.99
    assert (model > np.maximum(treat_all, 0)).mean() == pytest.approx(0.57, abs=0.02)


@pytest.mark.parametrize(("threshold", "sd"), [(0.15, 0.0106), (0.35, 0.0113)])
def test_sd_of_the_difference_of_two_models(reference_data, threshold, sd):
    """Values of the design study, to the digits that it states."""
    data = reference_data("dcurves_df_binary")
    models = {"marker": data["cancerpredmarker"], "history": data["famhistory"].astype(float)}
    found = bc.decisions.net_benefit(data["cancer"], models, threshold, draws=20_000, rng=1)
    assert found.difference().values.std() == pytest.approx(sd, abs=2e-4)
