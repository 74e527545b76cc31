"""Rows of two sides: precision, columns of data frames, and targets that are refused."""

import numpy as np
import pytest
from shifted_sides import event, several

import bayescal as bc


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


def test_few_rows_of_a_target_may_be_certain():
    y, p, _, _ = event(200, 0.5, np.random.default_rng(4))
    assert bc.class_priors(y, p, [1.0, 0.0, 1.0], rng=1).mean()[1] > 0.3


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


def test_a_target_with_other_scores_than_the_source_is_refused():
    """Label shift alone cannot give scores that no row of the source has."""
    y, p, p_target = event(200, 0.5, np.random.default_rng(9))[:3]
    with pytest.raises(ValueError, match=r"100 % of the \d+ rows of the target are in \d+ bins without.*at most 50 %"):
        bc.evaluate_shifted(y, 0.6 * p, 0.7 + 0.3 * p_target, shift="label", bins=10, rng=1)
    with pytest.raises(
        ValueError, match=r"100 % of the \d+ rows of the target are in \d+ cells without .* fewer cells"
    ):
        bc.evaluate_shifted(y, 0.3 * p, 0.6 + 0.4 * p_target, shift="label", bins=10, rng=1)
