"""net_benefit: observed values by definition, prevalence, weights, counts, inputs, and refusals."""

import json

import numpy as np
import pandas as pd
import pytest

import bayescal as bc

T = np.array([0.1, 0.2, 0.5])


def rows(n=400, *, seed=1):
    rng = np.random.default_rng(seed)
    p = rng.beta(1, 2, n)
    return (rng.random(n) < p).astype(int), {"new": p, "old": np.clip(p + 0.2 * rng.standard_normal(n), 0, 1)}


Y, P = rows()


def net_benefit(y, p, t, w=None):
    """Vickers and Elkin (2006)."""
    w = np.ones(len(y)) if w is None else w
    treated = p >= t
    return (w * treated * (np.where(y == 1, 1.0, -t / (1 - t)))).sum() / w.sum()


# --- definitions


@pytest.mark.parametrize("weighted", [False, True])
def test_observed_values_by_definition(weighted, data):
    w = np.random.default_rng(2).exponential(size=len(data.y)) if weighted else None
    found = bc.decisions.net_benefit(data.y, data.p, T, weights=w, rng=1).observed
    for name, p in [*data.p.items(), ("treat all", np.ones(len(data.y)))]:
        np.testing.assert_allclose(found[name], [net_benefit(data.y, p, t, w) for t in T], rtol=1e-12)


def test_known_prevalence_undoes_the_sampling_of_cases(close_to):
    """A sample of half cases, with the prevalence of the population, gives the net benefit of the population."""
    rng = np.random.default_rng(3)
    p = rng.beta(1, 9, 200_000)
    y = rng.random(len(p)) < p
    cases, controls = np.flatnonzero(y)[:4000], np.flatnonzero(~y)[:4000]
    chosen = np.concatenate([cases, controls])
    found = bc.decisions.net_benefit(y[chosen], p[chosen], T, prevalence=float(y.mean()), rng=1)
    mean, sd = found.moments["model"]
    close_to(mean, [net_benefit(y, p, t) for t in T], sd)
    assert (found.prevalence_draws == y.mean()).all()
    np.testing.assert_allclose(found.treat_all.values, y.mean() - T / (1 - T) * (1 - y.mean()) * np.ones((4000, 1)))
    assert f"prevalence {y.mean():g}" in found.spec
    # weights of the outcome change nothing
    weighted = bc.decisions.net_benefit(
        y[chosen], p[chosen], T, prevalence=float(y.mean()), weights=1.0 + 9 * ~y[chosen], rng=1
    )
    np.testing.assert_allclose(weighted.net_benefit["model"].values, found.net_benefit["model"].values, rtol=1e-9)
    np.testing.assert_allclose(weighted.observed["model"], found.observed["model"])


def test_weights_of_one_change_nothing_and_their_scale_does_not_matter(data, pair):
    for weights in (np.ones(len(data.y)), np.full(len(data.y), 1e200)):
        found = bc.decisions.net_benefit(data.y, data.p, T, weights=weights, rng=1)
        np.testing.assert_allclose(found.net_benefit["new"].values, pair.net_benefit["new"].values, rtol=1e-9)


# --- counts and inputs


def test_counts_give_the_same_result(data, pair):
    counts = sum(
        bc.ThresholdCounts.from_arrays(data.y[part], {name: p[part] for name, p in data.p.items()})
        for part in (slice(0, 150), slice(150, None))
    )
    found = bc.net_benefit_counts(counts, T, rng=1)
    assert found.table() == pair.table()
    both = bc.PairedCounts.from_arrays(data.y, data.p["new"], data.y, data.p["old"], bins=10, target="event")
    paired = bc.net_benefit_counts(both, T, rng=1)
    np.testing.assert_array_equal(paired.net_benefit["first"].values, pair.net_benefit["new"].values)


def test_a_file_in_blocks(tmp_path, data, single):
    path = tmp_path / "scores.csv"
    pd.DataFrame({"y": data.y, "p": data.p["new"]}).to_csv(path, index=False)
    counts = bc.count_file(path, label="y", prob="p", bins=100)
    assert bc.net_benefit_counts(counts, T, rng=1).table() == single.table()


def test_a_data_frame_has_one_column_per_model(pair, data, single):
    assert bc.decisions.net_benefit(data.y, pd.DataFrame(data.p), T, rng=1).table() == pair.table()
    assert bc.decisions.net_benefit(pd.Series(data.y), pd.Series(data.p["new"]), T, rng=1).table() == single.table()


def test_labels_and_logits(data, single):
    names = np.where(data.y == 1, "ill", "well")
    logits = np.log(data.p["new"] / (1 - data.p["new"]))
    found = bc.decisions.net_benefit(names, logits, T, classes=("well", "ill"), logits=True, rng=1)
    assert found.observed["model"] == pytest.approx(single.observed["model"])


def test_a_hundred_million_rows(data, pair):
    counts = bc.ThresholdCounts.from_arrays(data.y, data.p, T)
    for _ in range(18):
        counts = counts + counts
    found = bc.net_benefit_counts(counts, rng=1)
    assert found.counts.n_rows == 400 * 2**18
    np.testing.assert_allclose(found.moments["new"][0], pair.observed["new"], atol=1e-6)


def test_without_rows_the_result_is_the_prior():
    found = bc.net_benefit_counts(bc.ThresholdCounts.empty(T), rng=1)
    # 0.45 of the scores of the prior are 1, and 0.1 are uniform
    np.testing.assert_allclose(found.moments["model"][0], (0.45 + 0.1 * (1 - T)) / 2 * (1 - T / (1 - T)))
    assert np.isnan(found.observed["model"]).all()


def test_reproducible(data, pair):
    again = bc.decisions.net_benefit(data.y, data.p, T, rng=1)
    np.testing.assert_array_equal(again.net_benefit["new"].values, pair.net_benefit["new"].values)
    assert (
        bc.decisions.net_benefit(data.y, data.p, T, rng=2).net_benefit["new"].values != pair.net_benefit["new"].values
    ).all()


# --- refusals


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"y_true": [0, 2]}, ValueError, "`y_true` must be binary labels, 0 or 1; 1 of 2"),
        (
            {"y_prob": [0.2, 1.7]},
            ValueError,
            r"`y_prob` must lie in \[0, 1\]; 1 of 2 values does not, first at index 1",
        ),
        ({"y_prob": {"a": [0.2, 0.7], "b": [0.2, np.nan]}}, ValueError, r"model 'b': `y_prob` must be complete"),
        ({"y_prob": [0.2]}, ValueError, "same length"),
        ({"y_prob": [[0.2, 0.8], [0.3, 0.7]]}, ValueError, r"it may hold 2 imputations, or the rows of a matrix"),
        ({"thresholds": [0.5, 0.2]}, ValueError, "strictly increasing"),
        ({"pseudo_rows": 0}, ValueError, "`pseudo_rows` must be finite and > 0"),
        ({"pseudo_rows": 1e3}, ValueError, "`pseudo_rows` must give numbers of rows in"),
        ({"prevalence": 1.2}, ValueError, "`prevalence` must lie strictly between 0 and 1"),
        ({"prevalence": "10%"}, TypeError, r"`prevalence`.*Write 0.1"),
        ({"harm": -0.1}, ValueError, r"`harm` must lie in \[0, 1\)"),
        ({"harm": {"modle": 0.1}}, ValueError, r"`harm` must name models; 'modle'.*Did you mean 'model'"),
        ({"harm": "0.1"}, TypeError, "`harm` must be a number"),
        ({"draws": 1}, ValueError, "`draws` must be an integer >= 2"),
        ({"rng": "seed"}, TypeError, "`rng`"),
        ({"y_prob": {}}, ValueError, "at least one model"),
    ],
)
def test_arguments_that_are_refused(arguments, error, message):
    with pytest.raises(error, match=message):
        bc.decisions.net_benefit(**({"y_true": [0, 1], "y_prob": [0.2, 0.7], "thresholds": [0.2, 0.5]} | arguments))


def test_case_control_weights_need_the_prevalence(data):
    with pytest.raises(ValueError, match=r"must not depend on the outcome alone.*`prevalence=0.1`"):
        bc.decisions.net_benefit(data.y, data.p, T, weights=np.where(data.y == 1, 0.2, 1.0))


def test_other_names_of_arguments(data):
    with pytest.raises(TypeError, match="Here it is called 'thresholds'"):
        bc.decisions.net_benefit(data.y, data.p, threshold=0.2)
    with pytest.raises(TypeError, match=r"takes no 'prob'\. Here it is called 'y_prob'"):
        bc.decisions.net_benefit(data.y, prob=data.p)
    with pytest.raises(TypeError, match=r"`decisions.net_benefit` takes no 'bye'\. Did you mean 'by'\?"):
        bc.decisions.net_benefit(data.y, data.p, bye=data.y)
    with pytest.raises(ValueError, match="`thresholds` is empty; at least one threshold is needed"):
        bc.decisions.net_benefit(data.y, data.p, [])
    with pytest.raises(TypeError, match="Here it is called 'weights'"):
        bc.decisions.net_benefit(data.y, data.p, T, importance_weights=data.y)


# --- a threshold of 0: every row is treated


@pytest.mark.parametrize("more", [{}, {"cluster": np.arange(len(Y)) // 4}, {"prevalence": 0.1}])
def test_a_threshold_of_0_alone_and_with_options(more, data):
    found = bc.decisions.net_benefit(data.y, data.p["new"], 0, rng=1, draws=300, **more)
    if "prevalence" in more:
        assert found.net_benefit["model"].mean() == pytest.approx([0.1])
    else:
        assert found.net_benefit["model"].mean() == pytest.approx([data.y.mean()], abs=0.01)
    assert found.sentence().startswith("At the threshold 0, the net benefit of the model is 0.")
    assert "0" in str(found)


def test_a_threshold_of_0_in_counts_files_documents_and_pictures(tmp_path, data):
    every = [0.0, *T]
    counts = bc.ThresholdCounts.from_arrays(data.y, data.p, every)
    assert (counts.cells[:, :-1] > 0).all()
    frame = pd.DataFrame({"y": data.y, **data.p})
    assert bc.ThresholdCounts.from_frame(frame, every, outcome="y", confidence=list(data.p)) == counts
    assert bc.ThresholdCounts.from_arrays(data.y, data.p, T).at(every) == counts
    assert counts.at(every) == counts
    assert counts.at(T) == bc.ThresholdCounts.from_arrays(data.y, data.p, T)
    bc.save_counts(counts, tmp_path / "counts.json")
    assert bc.load_counts(tmp_path / "counts.json") == counts
    document = json.loads((tmp_path / "counts.json").read_text())
    document["cells"][0][0] = 0
    (tmp_path / "wrong.json").write_text(json.dumps(document))
    with pytest.raises(ValueError, match="must be at least 1 for each model"):
        bc.load_counts(tmp_path / "wrong.json")
    binned = bc.BinnedCounts.from_arrays(data.y, data.p["new"], bins=10, target="event")
    assert bc.ThresholdCounts.from_bins(binned, [0, 0.5]) == bc.ThresholdCounts.from_arrays(
        data.y, data.p["new"], [0, 0.5]
    )
    found = bc.net_benefit_counts(counts, rng=1, draws=200)
    assert json.loads(found.to_json())["table"][0]["threshold"] == 0
    ax = bc.plot_decision_curve(found)
    assert ax.get_xlim()[0] == 0
    assert all(np.isfinite(line.get_ydata()[0]) for line in ax.lines)
