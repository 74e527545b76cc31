"""class_priors and evaluate_shifted: label shift, refusals, results."""

import numpy as np
import pytest
from scipy.special import softmax
from shifted_sides import event, several

import bayescal as bc
from bayescal.posterior.dirichlet import dirichlet_posterior
from bayescal.posterior.shrinkage.model import shrinkage_posterior


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


@pytest.mark.slow
def test_draws_of_each_class_imply_its_frequencies():
    y, p, p_target, _ = several(900, np.random.default_rng(8))
    for k, found in bc.evaluate_shifted(y, p, p_target, shift="label", bins=5, draws=1600, rng=1).items():
        implied = (found.bin_draws.mass * found.bin_draws.accuracy).sum(axis=1)
        assert implied.mean() == pytest.approx(found.priors.mean()[k], abs=0.3 * found.priors.drawn[:, k].std())


def test_draws_of_the_area_are_independent_given_the_frequencies(shifted):
    """Each draw of the frequencies has random numbers of its own."""
    assert len(np.unique(shifted[0].auc.values)) == 4000


def test_draws_of_the_middle_part_are_those_of_its_posterior(shifted):
    """Its frequency is near the mean of the frequencies that its draws imply, so that accuracies hardly change."""
    found = shifted[0]
    part = found.posterior.part_of(4000, found.bin_draws_seed)
    own = found.bin_draws.accuracy[part == 8, 5]
    reference = shrinkage_posterior(found.posterior.parts[8].counts).sample(4000, rng=9).accuracy[:, 5]
    assert abs(own.mean() - reference.mean()) < 5 * reference.std() * np.sqrt(1 / 250 + 1 / 4000)


@pytest.mark.slow
def test_equal_mass_bins_have_equal_numbers_of_target_rows(shifted):
    _, y, p, p_target, _ = shifted
    found = bc.evaluate_shifted(y, p, p_target, shift="label", bins=8, binning="equal-mass", draws=160, rng=1)
    assert found.counts.rows.target_rows.tolist() == [250] * 8
    changed = found.adapted.counts
    assert changed.rows.target_rows.tolist() == [250] * 8


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
