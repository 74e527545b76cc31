"""Net benefit of imputed predictions."""

import numpy as np
import pytest

import bayescal as bc
from bayescal.decisions.thresholds import TREAT_ALL
from bayescal.results.imputed import Imputed

RNG = np.random.default_rng(3)
P = RNG.random((6, 300)) ** 2
Y = (RNG.random(300) < P[0]).astype(int)
AT = [0.2, 0.5]


def further(means, within):
    """Factor minus 1 by which means of imputations move: Rubin's variance, and his t distribution to first order."""
    m = len(means)
    between = (1 + 1 / m) * np.var(means, axis=0, ddof=1)
    return np.sqrt((m + 1) / (m - 1) * (1 + (1.96**2 + 1) / 2 * between / (between + within) / (m - 1))) - 1


def test_draws_are_those_of_all_imputations():
    nb = bc.decisions.net_benefit(Y, {"a": list(P), "b": P[0]}, AT, draws=600, rng=1)
    assert isinstance(nb, Imputed)
    assert isinstance(nb, bc.decisions.NetBenefit)
    assert nb.net_benefit["a"].values.shape == (600, 2)
    for name, of in (("a", lambda each: each.net_benefit["a"]), ("a - b", lambda each: each.difference("a", "b"))):
        parts = [of(each).values for each in nb.imputations]
        means = np.mean(parts, axis=1, keepdims=True)
        moved = parts + further(means[:, 0], np.mean(np.var(parts, axis=1), axis=0)) * (means - means.mean(axis=0))
        if name == "a":  # a difference moves as its parts do
            np.testing.assert_allclose(of(nb).values, np.concatenate(moved), rtol=1e-3)
        assert of(nb).values.std() == pytest.approx(np.std(moved), rel=0.1)
    single = [np.mean([(p >= t) * (Y - t / (1 - t) * (1 - Y)) for p in P]) for t in AT]
    np.testing.assert_allclose(nb.observed["a"], single)
    np.testing.assert_allclose([row["observed"] for row in nb.table()][:2], single)
    assert np.sum([nb.p_best[name] for name in (*nb.models, TREAT_ALL)], axis=0) == pytest.approx(1, abs=0.2)


def test_identical_imputations_give_the_result_of_one():
    """Means of 4000 draws: 4.5 standard errors, false alarms about 1e-5 each."""
    one = bc.decisions.net_benefit(Y, P[0], AT, rng=1)
    nb = bc.decisions.net_benefit(Y, [P[0]] * 20, AT, rng=2)
    for mine, theirs in zip(nb.table(), one.table(), strict=True):
        assert mine["mean"] == pytest.approx(theirs["mean"], abs=4.5 * theirs["sd"] / 4000**0.5)
        assert mine["missing_information"] < 1e-20
        assert mine["observed"] == pytest.approx(theirs["observed"])
        assert mine["low"] == pytest.approx(theirs["low"], abs=0.2 * theirs["sd"])


def test_groups_clusters_and_a_known_prevalence():
    by = bc.decisions.net_benefit(Y, list(P), AT, by=np.arange(300) % 2, draws=60, rng=1)
    assert all(isinstance(each, Imputed) for each in (*by.values(), by.overall))
    clustered = bc.decisions.net_benefit(Y, list(P), AT, cluster=np.arange(300) // 3, draws=60, rng=1)
    assert clustered.design_effects["model"].shape == (2,)
    known = bc.decisions.net_benefit(Y, list(P), AT, prevalence=0.1, draws=60, rng=1)
    assert [row["sd"] for row in known.treat_all_table()] == pytest.approx([0.0, 0.0])
    assert [row["mean"] for row in known.treat_all_table()] == pytest.approx([0.1 - 0.25 * 0.9, 0.1 - 0.9])


def test_text_and_document():
    nb = bc.decisions.net_benefit(Y, list(P[:3]), AT, draws=60, rng=1)
    assert "3 imputations. Share of the variance that is due to missing values: model at 0.2 0." in str(nb)
    assert "Only 3 imputations" in " ".join(str(nb).split())
    assert nb.spec.startswith("3 imputations, net benefit of 1 model")
    assert nb.to_dict()["imputations"] == 3
    assert nb.to_frame().loc["model", "missing_information"].between(0, 1).all()
