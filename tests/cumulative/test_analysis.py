"""Verbs of cumulative differences: the definition on small data, ties, weights, columns, groups, and messages."""

import numpy as np
import pytest

import bayescal as bc
from bayescal._invalid import InvalidRows

HAND = ([1, 0, 0, 1, 1], [0.2, 0.2, 0.6, 0.6, 0.9])


def test_hand_examples():
    cd = bc.cumulative_difference(*HAND)
    assert cd.curve == pytest.approx([0, 0.12, 0.08, 0.1])
    assert cd.abscissae == pytest.approx([0, 0.4, 0.8, 1])
    assert (cd.kuiper, cd.worst_interval) == (pytest.approx(0.12), (0.2, 0.2))
    assert bc.cumulative_difference([1, 0], [0.25, 0.75]).kuiper == 0.375
    flat = bc.cumulative_difference([1, 1, 0, 0, 1], [0.5] * 4 + [1.0])
    assert (flat.kuiper, flat.worst_interval) == (0, (0.5, 1.0))


def test_order_of_rows_has_no_effect_and_weights_only_have_ratios(simulated):
    outcome, score, weights = simulated(weighted=True)
    cd = bc.cumulative_difference(outcome, score)
    order = np.random.default_rng(2).permutation(len(score))
    assert np.array_equal(bc.cumulative_difference(outcome[order], score[order]).curve, cd.curve)
    assert np.array_equal(bc.cumulative_difference(outcome, score, weights=np.ones(300)).curve, cd.curve)
    one = bc.cumulative_difference(outcome, score, weights=weights)
    for factor in (2.0**20, 2.0**-700, 3.7, 1e-120, 1e120, 1e200):
        other = bc.cumulative_difference(outcome, score, weights=weights * factor)
        np.testing.assert_allclose(other.curve, one.curve, rtol=1e-12, atol=1e-16)
        assert other.sigma == pytest.approx(one.sigma, rel=1e-12)
        assert other.p_kuiper == pytest.approx(one.p_kuiper, rel=1e-11)


def test_columns_of_other_types_give_the_same_numbers(simulated):
    outcome, score, _ = simulated()
    cd = bc.cumulative_difference(outcome, score)
    for y in (outcome.tolist(), outcome.astype(np.int8), outcome.astype(float)):
        assert bc.cumulative_difference(y, score.tolist()).kuiper == cd.kuiper
    single = score.astype(np.float32)
    assert bc.cumulative_difference(outcome, single).kuiper == pytest.approx(
        bc.cumulative_difference(outcome, single.astype(np.float64)).kuiper, rel=1e-12
    )


@pytest.mark.parametrize(
    ("y_true", "y_prob", "weights", "words"),
    [
        ([0, 1], [0.2, np.nan], None, "`y_prob`"),
        ([0, 1], [0.2, 1.5], None, r"`y_prob` must lie in \[0, 1\]"),
        ([0, 2], [0.2, 0.5], None, "`y_true`"),
        ([0, 1], [0.2, 0.5], [1, -1], "`weights`"),
        ([0, 1], [0.2, 0.5], [0, 0], "`weights`"),
    ],
)
def test_invalid_rows(y_true, y_prob, weights, words):
    with pytest.raises(InvalidRows, match=words):
        bc.cumulative_difference(y_true, y_prob, weights=weights)


# --- advice


@pytest.mark.parametrize(
    ("y_true", "y_prob", "error", "words"),
    [
        (
            [0, 1],
            [-2.0, 3.0],
            InvalidRows,
            r"`y_prob` .* Logits\? Pass probabilities, as in `scipy.special.expit\(logits\)`\.",
        ),
        (
            ["no", "yes"],
            [0.2, 0.7],
            TypeError,
            r"`y_true` must hold 0 and 1.*\['no', 'yes'\].*as in `y_true == label`",
        ),
        ([1, 2], [0.2, 0.7], InvalidRows, "`y_true` must be binary.*Pass whether the event happened, as in"),
        ([0.2, 0.7], [0, 1], InvalidRows, "are `y_true` and `y_prob` swapped"),
        ([], [], ValueError, "`y_true` is empty; at least one row is needed[.]$"),
    ],
)
def test_messages_name_the_arguments_of_the_function(y_true, y_prob, error, words):
    with pytest.raises(error, match=words) as caught:
        bc.cumulative_difference(y_true, y_prob)
    for elsewhere in ("classes=", "`logits=", "`outcome`", "`score`"):
        assert elsewhere not in str(caught.value)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda y, p: bc.cumulative_difference(y), "missing 1 .*`cumulative.difference.from_counts"),
        (lambda y, p: bc.cumulative_difference(y, p, bins=10), r"takes no 'bins'\. There are no bins to choose"),
        (
            lambda y, p: bc.cumulative_difference(y, p, by=y),
            r"bayescal\.cumulative\.screen\(y_true, y_prob, by=site\)`",
        ),
        (lambda y, p: bc.cumulative_difference(outcome=y, y_prob=p), "Here it is called 'y_true'"),
        (lambda y, p: bc.cumulative_difference(y_true=y, score=p), "Here it is called 'y_prob'"),
        (lambda y, p: bc.cumulative_difference(y, p, weigths=p), "Did you mean 'weights'"),
        (lambda y, p: bc.cumulative_difference_subpopulation(y, p, by=y), "Here it is called 'member'"),
        (lambda y, p: bc.screen_subpopulations(y, p, group=y), "Here it is called 'by'"),
    ],
)
def test_keywords_of_other_functions(call, words):
    with pytest.raises(TypeError, match=words):
        call([0, 1], [0.2, 0.7])


@pytest.mark.parametrize("name", ["kuiper", "ks", "c_emp"])
def test_evaluations_and_the_package_name_the_function(name):
    for owner in (bc, bc.evaluate([0, 1], [0.2, 0.7], draws=10, rng=1)):
        with pytest.raises(AttributeError, match=r"`bayescal.cumulative.difference\(y_true, y_prob\)[.]k"):
            getattr(owner, name)


def test_the_average_difference_of_a_subpopulation_has_a_standard_error():
    """Members deviate by 1/2 and -1/2 from the means of their cells: 1 / (2 sqrt(2 - 1)) = 1/2."""
    sub = bc.cumulative_difference_subpopulation([1, 0, 2, 1], [0.1, 0.2, 0.3, 0.4], [True, False, False, True])
    assert sub.slope(-np.inf, np.inf).standard_error == pytest.approx(0.5)
    assert "Average difference over the subpopulation: 0.0000 (standard error 0.5000)." in sub.remarks[0]
    with pytest.raises(AttributeError, match="It needs outcomes 0 and 1"):
        _ = sub.c_emp_bound


def test_an_error_that_all_groups_share_is_no_difference(rows_in_groups):
    """Responses are 0.2 too high everywhere: calibration by group needs the rows of each group alone."""
    response, score, group, _ = rows_in_groups(20_000)
    residual = response + 0.2 - score
    screen = bc.screen_subpopulations(residual, score, group)
    assert screen.flagged == ()
    assert screen.sentence().startswith("None of the 25 groups is shown to differ from the full population")


def test_wrong_arguments(rows_in_groups):
    response, score, group, _ = rows_in_groups(50)
    with pytest.raises(ValueError, match="`by` and `response` must have the same length"):
        bc.screen_subpopulations(response, score, group[:-1])
    with pytest.raises(ValueError, match="at least two groups"):
        bc.screen_subpopulations(response, score, np.zeros(50))
    with pytest.raises(ValueError, match="`statistic`"):
        bc.screen_subpopulations(response, score, group, statistic="ks")
    with pytest.raises(ValueError, match="`fdr`"):
        bc.screen_subpopulations(response, score, group, fdr=2)
    with pytest.raises(TypeError, match=r"Pass the column itself, as in `by=frame\['ward'\]"):
        bc.screen_subpopulations(response, score, by="ward")
    with pytest.raises(TypeError, match=r"it is a list of columns. Pass a data frame, as in `by=frame\[\["):
        bc.screen_subpopulations(response, score, by=[group, group])
    with pytest.raises(KeyError, match=r"no group 99 among .* and 14 more"):
        bc.screen_subpopulations(response, score, group)[99]
