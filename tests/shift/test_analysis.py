"""class_priors and evaluate_shifted: label shift, refusals, results."""

import json

import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.legend import Legend
from scipy.special import expit, softmax

import bayescal as bc
from bayescal.posterior.dirichlet import dirichlet_posterior
from bayescal.posterior.shrinkage.model import shrinkage_posterior
from bayescal.shift.class_frequencies import FewRowsWarning


def event(n, share, rng, n_target=None, target=0.2):
    y, y_target = np.arange(n) % 100 < 100 * share, rng.random(n_target or n) < target
    return y.astype(int), *(expit(2 * rng.normal(2.0 * each - 1, 1)) for each in (y, y_target)), y_target.astype(int)


def several(n, rng):
    y, y_target = rng.integers(3, size=n), rng.choice(3, n, p=[0.6, 0.3, 0.1])
    p, p_target = (softmax(1.75 * (rng.standard_normal((n, 3)) + 1.75 * np.eye(3)[c]), axis=1) for c in (y, y_target))
    return y, p, p_target, y_target


@pytest.fixture(scope="module")
def shifted():
    y, p, p_target, y_target = event(2000, 0.5, np.random.default_rng(1))
    return bc.evaluate_shifted(y, p, p_target, shift="label", bins=10, rng=1), y, p, p_target, y_target


def test_the_interval_agrees_with_labels_of_the_target(shifted):
    """The evaluation with 20 000 labels of the target is exact enough to be the truth; it lies in 99.9 % intervals."""
    found = shifted[0]
    _, _, p_target, y_target = event(100, 0.5, np.random.default_rng(2), n_target=20_000)
    true = bc.evaluate(y_target, p_target, bins=10, rng=1)
    for name in ("ece", "signed_error", "l2_error", "brier_score", "log_score", "auc"):
        low, high = found.draws(name).interval(0.999)
        assert low < true.draws(name).mean() < high, name
    adapted = bc.evaluate(y_target, found.adapt(p_target), bins=10, rng=1)
    low, high = found.adapted.ece.interval(0.999)
    assert low <= adapted.ece.mean() < high


def test_uncertain_frequencies_widen_the_interval(shifted):
    found = shifted[0]
    assert found.bin_draws.gap[:, 5].std() > 1.1 * found.posterior.parts[8].sample(2000, rng=1).gap[:, 5].std()


@pytest.mark.slow
def test_the_area_of_one_of_several_classes_has_uncertain_frequencies():
    """Scores of class 0 separate it from class 1 only, so that the area depends on the frequencies of 1 and 2.

    With the areas 1 and 1/2 of both pairs it is 1/2 + π_1 / (2 (1 - π_0)). Many labelled rows, and 40 of the target.
    """
    rng = np.random.default_rng(3)
    y, y_target = np.repeat([0, 1, 2], 2000), np.repeat([0, 1, 2], [20, 10, 10])
    logits = (np.array([[1.0, 0, 2], [-4, 3, 0], [1, 2, 0]])[each] for each in (y, y_target))
    p, p_target = (softmax(each + rng.normal(0, 0.5, each.shape), axis=1) for each in logits)
    found = bc.evaluate_shifted(y, p, p_target, shift="label", bins=5, draws=4000, rng=1)[0]
    share = found.priors.drawn
    area = (1 + share[:, 1] / (1 - share[:, 0])) / 2
    assert found.auc.mean() == pytest.approx(area.mean(), abs=0.25 * area.std())  # of 128 frequencies
    assert found.auc.sd() == pytest.approx(area.std(), rel=0.2)


def test_a_recalibration_that_does_not_fit_is_mentioned():
    """The probabilities of one class get another power; without it there is no remark."""
    y, p, p_target, _ = several(1000, np.random.default_rng(6))
    for power, n_remarks in (([1, 1, 1], 0), ([0.4, 1, 1], 1)):
        given = (softmax(np.log(each) * power, axis=1) for each in (p, p_target))
        found = bc.class_priors(y, *given, using="probabilities", rng=1)
        remarks = [each for each in found.remarks if "P-value of a score test" in each]
        assert len(remarks) == n_remarks
        assert all(each in str(found).replace("\n", " ") for each in remarks)


def test_the_dirichlet_model_has_uncertain_frequencies_too(shifted):
    """Many rows per bin: the standard deviation of its ECE is that of the shrinkage model, not of one frequency."""
    found = shifted[0]
    assert found.dirichlet_ece.sd() == pytest.approx(found.ece.sd(), rel=0.15)
    one = dirichlet_posterior(found.counts).sample(4000, rng=1)
    assert found.dirichlet_ece.sd() > 1.2 * bc.ece(one).values.std()


def test_parameters_belong_to_one_draw_of_the_frequencies(shifted):
    with pytest.raises(AttributeError, match=r"`parameters` differ between.*posterior\.parts\[0\]\.sample_all"):
        shifted[0].parameters  # noqa: B018  # the property raises
    assert len(shifted[0].posterior.parts[0].sample_all(50, rng=1).bin_draws.mass) == 50


def test_draws_of_parts_imply_their_frequencies(shifted):
    """Masses and accuracies imply the frequencies that the part stands for.

    Distances are in units of the spread of the frequencies that the part implies without selection. Without selection
    they are about 1 for the outer parts, and 0.2 for the middle one; with it, they were up to 0.27 and 0.05 in 12 runs.
    """
    found = shifted[0]
    part = found.posterior.part_of(4000, found.bin_draws_seed)
    implied = (found.bin_draws.mass * found.bin_draws.accuracy).sum(axis=1)
    assert np.bincount(part).tolist() == [250] * 16
    for i, within in ((0, 0.4), (8, 0.1), (15, 0.4)):
        alone = found.posterior.parts[i].sample(1000, rng=9)
        spread = (alone.mass * alone.accuracy).sum(axis=1).std()
        frequencies = found.posterior.near_priors[:, :, 1][i]
        assert implied[part == i].mean() == pytest.approx(frequencies.mean(), abs=within * spread)
        assert implied[part == i].std() == pytest.approx(np.hypot(frequencies.std(), 0.3 * spread), rel=0.25)
    assert implied.mean() == pytest.approx(found.priors.mean()[1], abs=0.001)
    assert implied.std() == pytest.approx(found.priors[1].sd(), rel=0.05)


def test_draws_of_each_class_imply_its_frequencies():
    y, p, p_target, _ = several(900, np.random.default_rng(8))
    for k, found in bc.evaluate_shifted(y, p, p_target, shift="label", bins=5, draws=1600, rng=1).items():
        implied = (found.bin_draws.mass * found.bin_draws.accuracy).sum(axis=1)
        assert implied.mean() == pytest.approx(found.priors.mean()[k], abs=0.3 * found.priors.drawn[:, k].std())


def test_draws_of_the_area_are_independent_given_the_frequencies(shifted):
    """Each draw of the frequencies has random numbers of its own."""
    assert len(np.unique(shifted[0].auc.values)) == 4000


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


def test_draws_of_the_middle_part_are_those_of_its_posterior(shifted):
    """Its frequency is near the mean of the frequencies that its draws imply, so that accuracies hardly change."""
    found = shifted[0]
    part = found.posterior.part_of(4000, found.bin_draws_seed)
    own = found.bin_draws.accuracy[part == 8, 5]
    reference = shrinkage_posterior(found.posterior.parts[8].counts).sample(4000, rng=9).accuracy[:, 5]
    assert abs(own.mean() - reference.mean()) < 5 * reference.std() * np.sqrt(1 / 250 + 1 / 4000)


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


def test_equal_mass_bins_have_equal_numbers_of_target_rows(shifted):
    _, y, p, p_target, _ = shifted
    found = bc.evaluate_shifted(y, p, p_target, shift="label", bins=8, binning="equal-mass", draws=160, rng=1)
    assert found.counts.rows.target_rows.tolist() == [250] * 8
    changed = found.adapted.counts
    assert changed.rows.target_rows.tolist() == [250] * 8


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


def test_the_same_seed_gives_the_same_draws(shifted):
    found, y, p, p_target, _ = shifted
    again = bc.evaluate_shifted(y, p, p_target, shift="label", bins=10, rng=1)
    np.testing.assert_array_equal(found.ece, again.ece)
    np.testing.assert_array_equal(found.log_score, again.log_score)
    assert not np.array_equal(found.ece, bc.evaluate_shifted(y, p, p_target, shift="label", bins=10, rng=2).ece)


def test_the_dirichlet_model(shifted):
    _, y, p, p_target, _ = shifted
    found = bc.evaluate_shifted(y, p, p_target, shift="label", bins=10, model="dirichlet", draws=500, rng=1)
    assert found.ece.mean() == pytest.approx(shifted[0].ece.mean(), abs=0.01)
    with pytest.raises(AttributeError, match="shrinkage"):
        found.p_calibrated  # noqa: B018  # the property raises


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
@pytest.mark.parametrize("shape", ["column", "matrix"])
def test_equal_scores_of_another_precision_are_equal(shape):
    """Scores of one decimal: 0.7 in float32 is below 0.7, and must be in its cell and bin. All of it as in float32."""
    y, p, p_target, _ = event(1000, 0.5, np.random.default_rng(12))
    sides = [np.clip(np.round(each, 1), 0.1, 0.9) for each in (p, p_target)]
    if shape == "matrix":
        sides = [np.column_stack([1 - each, each]).round(1) for each in sides]
    single = [each.astype(np.float32) for each in sides]
    options = {"shift": "label", "bins": 10, "draws": 160, "rng": 1}
    expected = bc.evaluate_shifted(y, *single, **options)
    evidence = bc.shift_evidence(y, *single, simulations=99, rng=1)
    for mixed in ((sides[0], single[1]), (single[0], sides[1])):
        found = bc.evaluate_shifted(y, *mixed, **options)
        np.testing.assert_array_equal(found.priors.drawn, expected.priors.drawn)
        own, other = (found, expected) if shape == "column" else (found[1], expected[1])
        np.testing.assert_allclose(own.ece.values, other.ece.values, rtol=1e-6)
        again = bc.shift_evidence(y, *mixed, simulations=99, rng=1)
        assert again.label_shift.p_value == evidence.label_shift.p_value


def test_labels_keep_their_names():
    y, p, p_target, _ = several(400, np.random.default_rng(4))
    names = np.array(["x", "y", "z"])
    found = bc.class_priors(names[y], p, p_target, classes=["x", "y", "z"], rng=1)
    assert found.classes == ("x", "y", "z")
    numbered = bc.class_priors(y, p, p_target, rng=1)
    np.testing.assert_array_equal(found.drawn, numbered.drawn)


def test_counts_give_the_draws_of_rows():
    y, p, p_target, _ = several(400, np.random.default_rng(5))
    cells = bc.ShiftCells.predicted_class(3)
    counts = bc.ShiftCounts.of_source(y, p, cells=cells) + bc.ShiftCounts.of_target(p_target, cells=cells)
    rows = bc.class_priors(y, p, p_target, cells=cells, rng=1)
    np.testing.assert_array_equal(bc.class_priors_counts(counts, rng=1).drawn, rows.drawn)


def test_probabilities_are_narrower():
    y, p, p_target, y_target = several(1000, np.random.default_rng(6))
    widths = {}
    for using in ("cells", "probabilities"):
        low, high = bc.class_priors(y, p, p_target, using=using, rng=1).interval(0.999)
        true = np.bincount(y_target) / len(y_target)
        assert ((low < true) & (true < high)).all()
        widths[using] = (high - low).mean()
    assert widths["probabilities"] < widths["cells"]


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"shift": "prior"}, ValueError, "`shift` must be one of"),
        ({"shift": None}, ValueError, "`shift` must be one of"),
        ({"y_target": [1]}, TypeError, r"If they are known, .* `bayescal\.evaluate\(y_target, y_prob_target\)`"),
        ({"using": "em"}, ValueError, "`using` must be one of"),
        ({"colour": 1}, TypeError, "takes no 'colour'"),
        ({"weights": [1, 1, 1, 1]}, TypeError, "`weights=` is an option of `shift='covariate'`"),
        ({"target": "event"}, TypeError, "`target=` is an option of `shift='covariate'`"),
        ({"y_prob_target": []}, ValueError, "`y_prob_target` is empty"),
        ({"y_prob_target": [0.2, 1.2]}, ValueError, r"`y_prob_target` must .*\[0, 1\]; 1 of 2 .* index 1: 1.2"),
        ({"y_prob_target": [0.2, np.nan]}, ValueError, "`y_prob_target`"),
        ({"y_prob_target": [[0.2, 0.8]]}, ValueError, "one column, as `y_prob` is"),
        ({"y_true": [0, 0, 0, 0]}, ValueError, "1 of 2 classes have none, the first is 1"),
        (
            {"y_prob": [[0.2, 0.8]] * 4},
            ValueError,
            "must have 2 columns, one per class.*Pass both columns",
        ),
        ({"draws": 1}, ValueError, "`draws`"),
        ({"y_prob_target": [0, 1, 1]}, TypeError, r"holds integers \(dtype int64\), as labels do.*`evaluate\("),
        ({"y_prob_target": np.array([False, True])}, TypeError, "holds booleans"),
        ({"y_prob_target": [0.0, 1.0] * 10}, ValueError, r"all of its 20 rows are 0 or 1, as labels are.*`evaluate\("),
        (
            {"y_true": [0, 1] * 10, "y_prob": [0.0, 1.0] * 10},
            ValueError,
            "`y_prob` must .* as `y_prob_target` does; all of its 20 rows",
        ),
        (
            {"shift": "covariate", "weights": [1] * 4, "y_prob_target": [0.0, 1.0] * 10},
            ValueError,
            "its 20 rows are 0 or 1",
        ),
        ({"classes": {0, 1}}, TypeError, "`classes` must be a list or tuple, .* it is a set"),
        ({"classes": {"well": 0, "ill": 1}}, TypeError, "it is a dict"),
        ({"shift": "target"}, ValueError, "Did you mean 'label'"),
        (
            {"weights": [1, 1, 1, 1]},
            TypeError,
            "`weights=` is .* `shift='covariate'`, not of `shift='label'`",
        ),
        ({"sample_weight": [1, 1, 1, 1]}, TypeError, "`weights=` is an option of `shift='covariate'`"),
        ({"shift": "covariate", "using": "cells"}, TypeError, "`using=` is an option of `shift='label'`"),
        ({"shift": "covariate", "sample_weight": [1]}, ValueError, "`weights` and `y_true` must have the same length"),
        ({"shift": "covariate", "weights": [1] * 4, "y_prob_target": [0, 1]}, TypeError, "as labels do"),
        ({"cluster": [1, 2, 3, 4]}, TypeError, "takes no 'cluster'. Intervals are those of independent rows"),
    ],
)
def test_invalid_input_is_refused(change, error, message):
    given = {"y_true": [0, 0, 1, 1], "y_prob": [0.1, 0.3, 0.6, 0.9], "y_prob_target": [0.2, 0.4], "shift": "label"}
    given |= change
    with pytest.raises(error, match=message), np.errstate(all="ignore"):
        bc.evaluate_shifted(given.pop("y_true"), given.pop("y_prob"), given.pop("y_prob_target"), rng=1, **given)


def test_few_rows_of_a_target_may_be_certain():
    y, p, _, _ = event(200, 0.5, np.random.default_rng(4))
    assert bc.class_priors(y, p, [1.0, 0.0, 1.0], rng=1).mean()[1] > 0.3


def test_shift_has_no_default():
    with pytest.raises(TypeError, match="State what differs between source and target"):
        bc.evaluate_shifted([0, 1], [0.1, 0.9], [0.5])
    with pytest.raises(TypeError, match="Labels of the target are not used"):
        bc.evaluate_shifted([0, 1], [0.1, 0.9], [1], [0.5], shift="label")


def test_other_names_of_arguments_are_told():
    with pytest.raises(TypeError, match=r"takes no 'p_target'\. Here it is called 'y_prob_target'"):
        bc.evaluate_shifted([0, 1], [0.1, 0.9], p_target=[0.5], shift="label")
    with pytest.raises(TypeError, match="Here it is called 'y_true'"):
        bc.class_priors(y_source=[0, 1], P_source=[0.1, 0.9], P_target=[0.5])
    with pytest.raises(TypeError, match=r"Call it as `shift\.weight_report\(weights\)`"):
        bc.weight_report([0, 1], [0.1, 0.9], [1, 2])


def test_columns_of_data_frames_must_agree():
    pd = pytest.importorskip("pandas")
    y, p, p_target, _ = several(60, np.random.default_rng(7))
    source, target = pd.DataFrame(p, columns=["0", "1", "2"]), pd.DataFrame(p_target, columns=["1", "0", "2"])
    with pytest.raises(ValueError, match="columns of `y_prob`, in the same order"):
        bc.class_priors(y, source, target)
    with pytest.raises(ValueError, match=r"`y_prob_target` has the columns .* the same names in another order"):
        bc.class_priors(y, p, target)
    names = np.array(["a", "b", "c"])
    other = target.set_axis(["c", "a", "b"], axis=1)
    for shift in ({"shift": "label"}, {"shift": "covariate", "weights": np.ones(60)}):
        with pytest.raises(ValueError, match=r"`y_prob_target` has the columns .* the same names in another order"):
            bc.evaluate_shifted(names[y], p, other, classes=names, **shift)


def test_columns_of_data_frames_name_the_classes_of_counts():
    pd = pytest.importorskip("pandas")
    y, p, p_target, _ = several(60, np.random.default_rng(7))
    cells = bc.ShiftCells.predicted_class(3)
    for order in (["0", "1", "2"], ["x", "y", "z"], [10, 20, 30]):
        source, target = pd.DataFrame(p, columns=order), pd.DataFrame(p_target, columns=order)
        labels = y if order[0] == "0" else np.array(order)[y]
        counts = bc.ShiftCounts.of_source(labels, source, cells=cells)
        text = bc.ShiftCounts.of_target(target.rename(columns=str), cells=cells)
        assert (text + counts).classes == ((0, 1, 2) if order[0] == "0" else tuple(order))
        with pytest.raises(ValueError, match="same classes in the same order"):
            counts + bc.ShiftCounts.of_target(target[[order[1], order[0], order[2]]], cells=cells)
    priors = bc.class_priors_counts(counts + text, rng=1)
    np.testing.assert_array_equal(priors.adapt(target), priors.adapt(p_target))
    with pytest.raises(ValueError, match="the same names in another order"):
        priors.adapt(target[[20, 10, 30]])


def test_one_column_of_a_data_frame_is_an_event():
    pd = pytest.importorskip("pandas")
    y, p, p_target = event(200, 0.5, np.random.default_rng(7))[:3]
    columns = pd.DataFrame({"p": p}), pd.DataFrame({"p": p_target})
    priors = bc.class_priors(y, *columns, rng=1)
    np.testing.assert_array_equal(priors.drawn, bc.class_priors(y, p, p_target, rng=1).drawn)
    np.testing.assert_array_equal(priors.adapt(columns[1]), priors.adapt(p_target))
    cells = bc.ShiftCells.of_confidences(columns[0], 3)
    assert cells == bc.ShiftCells.of_confidences(np.stack([1 - p, p], axis=1), 3)
    counts = bc.ShiftCounts.of_target(columns[1], cells=cells)
    np.testing.assert_array_equal(counts.target, bc.ShiftCounts.of_target(p_target, cells=cells).target)


def test_few_rows_of_a_class_warn():
    y, p = [0] * 20 + [1] * 3, np.linspace(0.05, 0.95, 23)
    with pytest.warns(FewRowsWarning, match="1 of 2 classes have fewer than 5 labelled rows, the first is 1") as told:
        found = bc.class_priors(y, p, p, rng=1)
    assert len(told) == 1
    assert any("Fewer than 5 labelled rows: class 1" in remark for remark in found.remarks)


def test_classes_that_are_hardly_told_apart_are_named():
    rng = np.random.default_rng(8)
    y, p = rng.integers(2, size=400), rng.random(400)
    found = bc.class_priors(y, p, p, rng=1)
    assert any("little information about the frequency of classes 0, 1" in remark for remark in found.remarks)
    low, high = found.interval()
    assert (high - low > 0.6).all()


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


def test_a_target_with_other_scores_than_the_source_is_refused():
    """Label shift alone cannot give scores that no row of the source has."""
    y, p, p_target = event(200, 0.5, np.random.default_rng(9))[:3]
    with pytest.raises(ValueError, match=r"100 % of the \d+ rows of the target are in \d+ bins without.*at most 50 %"):
        bc.evaluate_shifted(y, 0.6 * p, 0.7 + 0.3 * p_target, shift="label", bins=10, rng=1)
    with pytest.raises(
        ValueError, match=r"100 % of the \d+ rows of the target are in \d+ cells without .* fewer cells"
    ):
        bc.evaluate_shifted(y, 0.3 * p, 0.6 + 0.4 * p_target, shift="label", bins=10, rng=1)


def test_cells_without_labelled_rows():
    """Class 1 is predicted for no labelled row, but for rows of the target: the prior decides about its cell.

    With 700 of 1000 rows in it, the posterior has two modes of similar mass, as in [[20, 0], [40, 0]] and [300, 700].
    """
    cells = bc.ShiftCells.predicted_class(2)
    source = bc.ShiftCounts.of_source(np.arange(60) % 2, np.full(60, 0.3), cells=cells)

    def remarks(n):
        target = bc.ShiftCounts.of_target(np.repeat([0.3, 0.6], (1000 - n, n)), cells=cells)
        return " ".join(bc.class_priors_counts(source + target, rng=1).remarks)

    words = "of the target's rows are in cells without labelled rows: the prior determines how likely these cells"
    assert "without labelled rows" not in remarks(0)
    assert f"0.1 % {words}" in remarks(1)
    assert f"50 % {words}" in remarks(500)
    with pytest.raises(
        ValueError, match=r"`counts` must have a target with .* 50\.1 % of the 1000 rows .* in 1 cell w"
    ):
        remarks(501)


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
