"""Responses and marks of members: what is refused."""

import numpy as np
import pytest

import bayescal as bc


@pytest.mark.parametrize(
    ("member", "words"),
    [
        ([0, 0, 0], "at least one row of positive weight; it marks 0 of 3 rows"),
        ([1, 1, 1], "must not mark all rows of positive weight; it marks 3 of 3 rows"),
        ([0, 0, 1], "at least one row of positive weight; it marks 1 of 3 rows"),
        ([1, 1, 0], "must not mark all rows of positive weight; it marks 2 of 3 rows"),
        ([1, 2, 0], "`member`"),
        ([1, 0], "`member` and `response` must have the same length"),
    ],
)
def test_invalid_members(member, words):
    with pytest.raises(ValueError, match=words):
        bc.cumulative_difference_subpopulation([1, 2, 3], [0.1, 0.2, 0.3], member, weights=[1, 1, 0])


@pytest.mark.parametrize(
    ("response", "score", "words"),
    [
        ([1, np.nan, 2], [0.1, 0.2, 0.3], "`response`"),
        ([1, 2, 3], [0.1, np.inf, 0.3], "`score` must be finite"),
        ([1, 2], [0.1, 0.2, 0.3], "`response` and `score` must have the same length"),
        ([], [], "`response` is empty; at least one row is needed[.]$"),
    ],
)
def test_invalid_rows(response, score, words):
    with pytest.raises(ValueError, match=words):
        bc.cumulative_difference_subpopulation(response, score, [1, 0, 0])


@pytest.mark.parametrize(("member", "error"), [(["a", "b", "c"], TypeError), ([1, 2, 2], bc.InvalidRows)])
def test_members_are_no_names_of_groups(member, error):
    with pytest.raises(error, match=r"`member` must .*Pass whether each row belongs to the group, as in `group == la"):
        bc.cumulative_difference_subpopulation([1, 2, 3], [0.1, 0.2, 0.3], member)


def test_fractions_are_no_members():
    with pytest.raises(bc.InvalidRows, match=r"`member` must be binary.*2 of 3 values are not") as caught:
        bc.cumulative_difference_subpopulation([1, 2, 3], [0.1, 0.2, 0.3], [0.1, 0.2, 1.0])
    assert "swapped" not in str(caught.value)
    assert "as in `group == label`" in str(caught.value)


def test_responses_are_numbers():
    with pytest.raises(TypeError, match=r"`response` must hold numbers; .* \['a', 'b'\]. Pass an outcome as 0 and 1"):
        bc.cumulative_difference_subpopulation(["a", "b"], [0.1, 0.2], [1, 0])


def test_numbers_that_cannot_be_squared_are_refused(rows_with_members):
    response, score, member, _ = rows_with_members()
    with pytest.raises(ValueError, match=r"`response` must have a range of at least 1e-80, .*; it is .*e-17"):
        bc.cumulative_difference_subpopulation(1e-171 * response, score, member)
    with pytest.raises(bc.InvalidRows, match=r"`response` must lie between -1e[+]100 and 1e[+]100"):
        bc.cumulative_difference_subpopulation(1e110 * response, score, member)
    for call in (
        lambda w: bc.cumulative_difference_subpopulation(response, score, member, weights=w),
        lambda w: bc.cumulative_difference(np.arange(150) < 40, np.linspace(0, 1, 150), weights=w),
    ):
        with pytest.raises(bc.InvalidRows, match="must be 0 or at least 1e-60 of the largest weight; 1 of 150"):
            call(np.append(np.ones(149), 1e-70))


def test_responses_whose_squares_overflow_are_refused():
    with pytest.raises(ValueError, match=r"`response` must lie between -1e\+100 and 1e\+100; .* 1: 1e\+200"):
        bc.screen_subpopulations([0, 1e200, 1, 3], [0.1, 0.2, 0.3, 0.3], list("abab"))
