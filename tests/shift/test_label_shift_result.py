"""Results under label shift: tables, pictures, adaptation, remarks and exports."""

import json

import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.legend import Legend
from scipy.special import expit
from shifted_sides import event, several

import bayescal as bc


def test_the_table_of_bins_has_the_rows_of_both_sides(shifted):
    from bayescal.report.document import bin_table
    from bayescal.report.tables import bins

    found, y, p, p_target, _ = shifted
    assert [row["n"] for row in bin_table(found)] == np.histogram(p, np.linspace(0, 1, 11))[0].tolist()
    table = bins(found)
    assert table.header[:5] == (
        "bin",
        "labelled rows",
        "rows of the target",
        "mean stated probability",
        "event rate by labels",
    )
    assert [int(row[2]) for row in table.rows] == np.histogram(p_target, np.linspace(0, 1, 11))[0].tolist()
    own = bins(bc.evaluate(y, p, bins=10, rng=1))
    assert own.header[:4] == ("bin", "rows", "mean stated probability", "observed event rate")


def test_the_diagram_of_a_target_names_the_rows_that_its_dots_show(shifted):
    found, y, p, _, _ = shifted
    for evaluation, words in ((found, "from labelled rows"), (bc.evaluate(y, p, bins=10, rng=1), "observed")):
        legend = bc.plot_reliability(evaluation, Figure().subplots()).get_legend()
        assert legend.get_texts()[0].get_text() == words


def test_a_diagram_of_two_populations_names_both(shifted):
    found, y, p, _, _ = shifted
    ax = bc.plot_reliability({"raw": found, "source": bc.evaluate(y, p, bins=10, rng=1)}, Figure().subplots())
    words = " ".join(legend.get_title().get_text() for legend in ax.figure.findobj(Legend))
    assert "ECE in a target under label shift or in the labelled rows, 10" in " ".join(words.split())


def test_adaptation_multiplies_the_odds(shifted):
    found = shifted[0]
    pi, rho = found.priors.mean()[1], found.priors.source[1]
    expected = expit(np.log(0.3 / 0.7) + np.log(pi / (1 - pi)) - np.log(rho / (1 - rho)))
    assert found.adapt([0.3])[0] == pytest.approx(expected)
    matrix = found.priors.adapt([[0.7, 0.3], [1.0, 0.0]])
    assert matrix[:, 1] == pytest.approx([expected, 0.0])
    with pytest.raises(AttributeError, match="adapted to the target already"):
        found.adapted.adapted  # noqa: B018  # the attribute raises


def test_scores_are_those_of_each_draw_of_the_frequencies(shifted):
    """The Brier score of the draws of a part is the weighted one of the labelled rows at its frequencies."""
    found = shifted[0]
    part, means = found.posterior.part_of(4000, found.bin_draws_seed), []
    for i in (0, 15):
        counts, own = found.posterior.parts[i].counts, found.brier_score.values[part == i]
        observed = counts.losses.total.sum() / counts.weight.sum()
        # draws of a part stand for frequencies around its own, and also use the scores of the target
        assert own.mean() == pytest.approx(observed, abs=1.5 * found.brier_score.sd())
        means.append(own.mean())
    error = found.brier_score.values[part == 0].std() * np.sqrt(2 / 250)
    assert abs(means[1] - means[0]) > 8 * error


def test_adapted_predictions_are_evaluated_in_both_populations():
    """Unequal classes of the source: rows of both sides are counted at the probabilities that `adapt` returns."""
    y, p, p_target, _ = event(800, 0.2, np.random.default_rng(11), target=0.6)
    found = bc.evaluate_shifted(y, p, p_target, shift="label", bins=10, draws=160, rng=1)
    counts, changed = found.adapted.counts, found.adapt(p_target)
    np.testing.assert_array_equal(counts.rows.target_rows, np.histogram(changed, np.linspace(0, 1, 11))[0])
    np.testing.assert_array_equal(counts.n, np.histogram(found.adapt(p), np.linspace(0, 1, 11))[0])
    assert counts.share @ np.nan_to_num(counts.mean_confidence) == pytest.approx(changed.mean())


def test_printing_and_exports(shifted):
    found = shifted[0]
    text = str(found)
    assert "If class frequencies alone differ" in text
    assert "ece adapted" in text
    assert "Frequency of class 1 in the target" in text
    frame = found.to_frame()
    assert frame.loc["ece_adapted", "mean"] == pytest.approx(found.adapted.ece.mean())
    saved, priors = json.loads(found.to_json()), found.priors
    assert saved["table"]
    assert saved["class_frequencies"] == priors.table()
    assert list(priors.to_frame().index) == [0, 1]
    assert priors[1].mean() == pytest.approx(priors.mean()[1])
    assert "frequency of class 1 in the target" in str(priors)
    assert priors.summary().shape[0] == 2
    tree = priors.to_datatree()
    drawn = tree["posterior"]["frequency"].stack(sample=("chain", "draw")).transpose("sample", "class")
    np.testing.assert_array_equal(drawn, priors.drawn)
    assert tree["constant_data"]["worth"].values.tolist() == priors.worth.tolist()
    assert tree["observed_data"]["n_source"].values.tolist() == [1000, 1000]
    assert priors.p_increase[1] == 0
    assert list(priors) == [0, 1]
    assert 2 not in priors
    assert [draws.mean() for draws in priors.values()] == pytest.approx(priors.mean())
    with pytest.raises(KeyError, match="no class 2"):
        priors[2]
    with pytest.raises(KeyError, match=r"no class '1' among .* Did you mean 1 \(int\)\?"):
        priors["1"]
    with pytest.raises(TypeError, match=r"not ClassPriors; ArviZ plots its draws"):
        bc.plot_posterior(priors)


def test_a_diagram_of_classes_names_the_population():
    y, p, p_target, _ = several(200, np.random.default_rng(3))
    found = bc.evaluate_shifted(y, p, p_target, shift="label", bins=5, draws=160, rng=1)
    figure = bc.plot_reliability(found).figure
    titles = " ".join(legend.get_title().get_text() for legend in figure.findobj(Legend))
    titles = " ".join(titles.split())
    assert "classwise ECE in a target under label shift, 5 equal-width bins" in titles
    assert "N = 200 labelled rows" in titles


def test_hypotheses_are_averaged(shifted):
    found = shifted[0]
    assert found.p_calibrated == pytest.approx(np.mean([part.p_calibrated for part in found.posterior.parts]))
    assert sum(found.sub_models.values()) == pytest.approx(1)
    assert found.adapted.p_calibrated > found.p_calibrated


@pytest.mark.slow
def test_several_classes():
    y, p, p_target, y_target = several(1500, np.random.default_rng(3))
    found = bc.evaluate_shifted(y, p, p_target, shift="label", bins=10, draws=800, classes=["a", "b", "c"][:0] or None)
    assert found.classes == (0, 1, 2)
    for k, each in found.items():
        true = bc.evaluate(y_target == k, p_target[:, k], bins=10, rng=1)
        low, high = each.ece.interval(0.9999)
        assert low < true.ece.mean() < high
    assert "Of 3 classes in the target" in str(found)
    assert list(found.to_frame().index) == [0, 1, 2]
    np.testing.assert_allclose(found.adapt(p_target).sum(axis=1), 1)
    with pytest.raises(KeyError, match="no class 7"):
        found[7]


@pytest.mark.slow
@pytest.mark.parametrize(("n", "expected"), [(24, [True, True]), (60, [True, False]), (400, [False, False])])
def test_few_labelled_rows_are_mentioned_however_many_the_target_has(n, expected):
    y, p, p_target, _ = event(n, 0.5, np.random.default_rng(10), n_target=3000)
    y = np.arange(n) % 2
    found = bc.evaluate_shifted(y, p, p_target, shift="label", bins=10, draws=160, rng=1)
    texts = ("fewer than 10 effective source rows per bin", "fewer than 30 labelled rows")
    assert [any(text in remark for remark in found.remarks) for text in texts] == expected


def test_bins_without_labelled_rows_are_mentioned():
    rng = np.random.default_rng(9)
    y, p = np.arange(400) % 2, np.clip(rng.normal(0.4 + 0.2 * (np.arange(400) % 2), 0.1), 0, 0.75)
    found = bc.evaluate_shifted(y, p, np.r_[p[:200], np.full(50, 0.95)], shift="label", bins=10, rng=1)
    assert any("20 % of the target's rows are in bins without labelled rows" in remark for remark in found.remarks)


@pytest.mark.slow
def test_bins_without_labelled_rows_are_mentioned_for_each_class():
    rng = np.random.default_rng(9)
    y, p, p_target, _ = several(600, rng)
    high = np.tile([0.97, 0.02, 0.01], (150, 1))
    p = np.clip(p, 0.05, 0.9)
    p, p_target = p / p.sum(axis=1, keepdims=True), np.r_[p_target[:450], high]
    found = bc.evaluate_shifted(y, p, p_target, shift="label", bins=20, draws=160, rng=1)
    assert any("without labelled rows" in text for text in found.remarks)
    sheet, signed = found.sheet(estimand="signed_error"), [each.draws("signed_error").mean() for each in found.values()]
    assert sheet.header[-1] == "adapted"
    assert f"the signed error is largest for class {np.argmax(signed)}: " in sheet.sentence
    assert sheet.spec.startswith("signed error of each of 3 classes")
