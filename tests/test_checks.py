"""Messages: argument, rule, how many, where, which value, a hint."""

import numpy as np
import pytest

from bayescal import _checks, _invalid, _rules
from bayescal._checks import of_percentages
from bayescal.data.reading import unit_rows
from bayescal.stats.contract import Counts


def test_one_bad_value_is_in_the_singular():
    with pytest.raises(ValueError, match=r"^`x` must be odd; 1 of 3 values is not, first at index 2: 4\.$"):
        _checks.refuse("x", "must be odd", np.array([False, False, True]), np.array([1, 3, 4]))


def test_a_matrix_has_a_pair_for_an_index():
    bad = np.zeros((2, 3), bool)
    bad[1, 2] = True
    with pytest.raises(ValueError, match=r"1 of 6 values is not, first at index \(1, 2\): 5\.$"):
        _checks.refuse("m", "must be small", bad, np.arange(6).reshape(2, 3))


@pytest.mark.parametrize(
    ("value", "quoted"),
    [(np.float64(0.1), "0.1"), (1 / 3, "0.33333333"), (np.int64(7), "7"), ("a'b", '"a\'b"'), (None, "None")],
)
def test_values_are_quoted_as_python_has_them(value, quoted):
    assert _invalid._quote(value) == quoted


def test_lengths():
    _checks.same_length(("a", "b"), (3, 3))
    with pytest.raises(
        ValueError, match=r"`a` and `b` must have the same length .*; `a` has 3, `b` has 5, .* index 3\. Look\.$"
    ):
        _checks.same_length(("a", "b"), (3, 5), "Look.")


def test_missing_and_finite():
    _checks.finite("x", np.array([1.0, 2.0]))
    _checks.finite("x", np.array([1, 2]))
    _checks.finite("x", np.array([]))
    with pytest.raises(
        ValueError, match=r"`x` must be complete; 2 of 3 values are missing \(NaN, null or None\), first at index 1"
    ):
        _checks.finite("x", np.array([1.0, np.nan, np.nan]))
    with pytest.raises(ValueError, match=r"`x` must be finite; 1 of 3 values is not, first at index 0: -inf"):
        _checks.finite("x", np.array([-np.inf, 1.0, 2.0]))
    with pytest.raises(ValueError, match="must be complete"):  # missing comes first
        _checks.finite("x", np.array([np.inf, np.nan]))


def test_probabilities_come_back_as_themselves():
    values = np.array([0.0, 0.5, 1.0])
    assert _checks.probabilities("p", values) is values


def test_rounding_is_clipped_with_one_warning_and_a_copy():
    values = np.array([0.5, 1 + 1e-9, -1e-8])
    with pytest.warns(
        UserWarning, match=r"`p`: 2 of 3 values lie outside \[0, 1\] by at most 1e-08 \(first at index 1\)"
    ) as caught:
        clipped = _checks.probabilities("p", values)
    assert len(caught) == 1
    np.testing.assert_array_equal(clipped, [0.5, 1.0, 0.0])
    assert values[1] == 1 + 1e-9


@pytest.mark.parametrize(
    ("values", "hint"),
    [
        ([0.2, 1.00001], "Only an overshoot of 1e-06"),
        ([0.2, 55.0], "Percentages? Divide by 100."),
        ([0.2, 255.0], "Scores are not probabilities"),
        ([-3.0, 2.0], "Logits? Pass `logits=True`."),
        ([-0.1, 0.4], "Logits? Pass `logits=True`."),
    ],
)
def test_hints_for_scales(values, hint):
    with pytest.raises(ValueError, match=r"must lie in \[0, 1\]") as caught:
        _checks.probabilities("y_prob", np.array(values))
    assert hint in str(caught.value)


def test_rows_sum_to_one_within_what_their_dtype_can_say():
    rng = np.random.default_rng(1)
    matrix = rng.dirichlet(np.ones(1000), 50)
    for dtype in (np.float16, np.float32, np.float64):
        unit_rows("p", matrix.astype(dtype))
    matrix[7] *= 1.01
    with pytest.raises(
        ValueError, match=r"`p` must have rows that sum to 1; 1 of 50 values does not, first at index 7: 1.01"
    ):
        unit_rows("p", matrix)


@pytest.mark.parametrize(("value", "expected"), [(3, 3), (3.0, 3), (np.int32(3), 3), (np.float64(3), 3)])
def test_whole_numbers(value, expected):
    assert _checks.whole_number("n", value) == expected
    assert type(_checks.whole_number("n", value)) is int


@pytest.mark.parametrize("value", [True, np.True_, 2.5, "3", None, [3], np.nan, 3j])
def test_no_whole_numbers(value):
    with pytest.raises(TypeError, match="`n` must be an integer >= 1"):
        _checks.whole_number("n", value)


def test_whole_numbers_have_a_least():
    with pytest.raises(ValueError, match="`draws` must be an integer >= 2, not 1"):
        _checks.whole_number("draws", 1, at_least=2)


def test_one_of_suggests():
    _checks.one_of("target", "event", ["event", "top-label"])
    with pytest.raises(ValueError, match=r"`target` must be one of .*, not 'toplabel'\. Did you mean 'top-label'\?"):
        _checks.one_of("target", "toplabel", ["event", "top-label"])
    with pytest.raises(ValueError, match=r"not 'zzz'\.$"):
        _checks.one_of("target", "zzz", ["event", "top-label"])


def test_positive_broadcasts_a_number():
    np.testing.assert_array_equal(_checks.positive("a", 2, (2, 2)), np.full((2, 2), 2.0))
    assert _checks.positive("a", 2).shape == ()


@pytest.mark.parametrize("rng", [-1, 1.5, "seed", [1.5]])
def test_generators_that_are_none(rng):
    with pytest.raises((TypeError, ValueError), match="`rng` must be None, an integer"):
        _checks.generator(rng)


def test_generators():
    made = np.random.default_rng(1)
    assert _checks.generator(made) is made
    assert _checks.generator(np.random.SeedSequence(3)).random() == np.random.default_rng(3).random()
    assert _checks.generator(None).random() != _checks.generator(None).random()


def test_a_random_state_seeds_a_generator_that_can_spawn():
    """Each call takes numbers from it, so that two calls differ, and equal states give equal numbers."""
    states = [np.random.RandomState(1) for _ in range(2)]
    drawn = [[_checks.generator(state).spawn(2)[1].random() for _ in range(2)] for state in states]
    assert drawn[0] == drawn[1]
    assert drawn[0][0] != drawn[0][1]


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("a" * 100, repr("a" * 100)),
        ("a" * 101, repr("a" * 100) + "… (101 characters)"),
        (b"a" * 1_000_000, repr(b"a" * 100) + "… (1,000,000 bytes)"),
        ([0.5] * 3, "[0.5, 0.5, 0.5]"),
    ],
)
def test_values_are_quoted_and_cut(value, shown):
    assert _checks.quoted(value) == shown


def test_every_message_cuts_long_values():
    long = "m" * 1_000_000
    for check in (
        lambda: _checks.one_of("model", long, ["a", "b"]),
        lambda: _checks.whole_number("draws", long),
        lambda: _checks.fraction("ci_prob", long),
        lambda: _checks.positive("alpha", long),
        lambda: _checks.refuse("y_true", "must be short", np.array([True]), np.array([long])),
        lambda: _checks.refuse("y_true", "must be short", np.array([True]), np.array([[long] * 9], dtype=object)),
    ):
        with pytest.raises((ValueError, TypeError)) as refused:
            check()
        assert len(str(refused.value)) < 1000


# --- where one rule ends and the next begins


def test_exact_zeros_and_ones_are_no_overshoot():
    values = np.array([0.0, 1.0, 1 + 1e-9, 0.0, -1e-8, 1.0])
    with pytest.warns(
        _checks.RoundingWarning, match=r"`p`: 2 of 6 values .* by at most 1e-08 \(first at index 2\)"
    ) as caught:
        np.testing.assert_array_equal(_checks.probabilities("p", values), [0, 1, 1, 0, 0, 1])
    assert caught[0].message.finding.count == 2
    assert caught[0].filename == __file__


def test_the_warning_names_the_line_of_the_caller_however_deep_the_check():
    """Python shows this line and issues a warning once per line."""
    from bayescal import BinnedCounts

    with pytest.warns(_checks.RoundingWarning) as caught:
        BinnedCounts.from_arrays([0, 1], [0.5, 1 + 1e-9])
    assert [warning.filename for warning in caught] == [__file__]


def test_exact_zeros_and_ones_are_not_counted_beside_bad_values():
    with pytest.raises(ValueError, match=r"1 of 4 values does not, first at index 2: 1\.2\."):
        _checks.probabilities("p", np.array([0.0, 1.0, 1.2, 1 + 1e-7]))


@pytest.mark.parametrize("edge", [-1e-6, 1 + 1e-6])
def test_the_largest_overshoot_is_still_clipped_and_the_next_number_is_refused(edge):
    middle = 0.5
    with pytest.warns(_checks.RoundingWarning, match="1 of 2 values"):
        np.testing.assert_array_equal(_checks.probabilities("p", np.array([middle, edge])), [middle, round(edge)])
    beyond = np.nextafter(edge, edge + (edge - middle))
    with pytest.raises(ValueError, match=r"1 of 3 values does not, first at index 2"):
        _checks.probabilities("p", np.array([middle, edge, beyond]))


@pytest.mark.parametrize(
    ("low", "high", "hint"),
    [
        (0.0, 1.5, "Only an overshoot"),
        (0.0, 1.51, "Percentages"),
        (0.0, 100.0, "Percentages"),
        (0.0, 100.5, "Scores are not"),
        (-0.1, 1.2, "Logits"),
    ],
)
def test_hints_at_the_ends_of_their_ranges(low, high, hint):
    assert _rules.scale_hint(low, high).startswith(hint)


@pytest.mark.parametrize(
    ("dtype", "within", "beyond"),
    [(np.float16, 0.019, 0.022), (np.float32, 0.0009, 0.0012), (np.float64, 0.0009, 0.0011)],
)
def test_rows_may_be_off_by_what_their_dtype_allows_and_no_more(dtype, within, beyond):
    for off in (within, -within):
        unit_rows("p", np.array([[0.5, 0.5 + off]], dtype))
    for off in (beyond, -beyond):
        with pytest.raises(ValueError, match=r"1 of 1 values does not, first at index 0"):
            unit_rows("p", np.array([[0.5, 0.5 + off]], dtype))


def test_other_dtypes_are_taken_as_doubles_are():
    assert _rules.row_sum_tolerance(np.longdouble) == _rules.row_sum_tolerance(np.float64) == 1e-3


def test_at_most_three_near_names_and_only_near_ones():
    known = ["alpha1", "alpha2", "alpha3", "alpha4", "zzz"]
    assert _checks.did_you_mean("alpha", known).count("alpha") == 3
    # similarity is 2 * common letters / all letters: 2 * 2 / 8 = 0.5 is near enough, 2 * 2 / 9 is not
    assert _checks.did_you_mean("abxy", ["abuv"]) == " Did you mean 'abuv'?"
    assert _checks.did_you_mean("abxy", ["abuvw"]) == ""


def test_one_is_the_least_whole_number_unless_told():
    assert _checks.whole_number("n", 1) == 1
    with pytest.raises(ValueError, match="`n` must be an integer >= 1, not 0"):
        _checks.whole_number("n", 0)


@pytest.mark.parametrize("value", [0, -1.0, np.inf, np.nan])
def test_positive_is_finite_and_above_zero(value):
    with pytest.raises(ValueError, match=r"`a` must be finite and > 0; 1 of 2 values is not, first at index 1"):
        _checks.positive("a", [0.5, value])
    with pytest.raises(ValueError, match="1 of 1 values is not, first at index 0"):
        _checks.positive("a", value)


def test_positive_keeps_arrays_and_their_shape():
    np.testing.assert_array_equal(_checks.positive("a", [1, 2], (2,)), [1.0, 2.0])
    assert _checks.positive("a", [1, 2]).shape == (2,)
    with pytest.raises(ValueError, match=r"`a` must be a number or have shape \(3,\), not \(2,\)"):
        _checks.positive("a", [1, 2], (3,))
    with pytest.raises(TypeError, match="`a` must be a number or an array of numbers, not 'x'"):
        _checks.positive("a", "x")


def test_a_range_holds_both_of_its_ends():
    values = np.array([1.0, 2.0, 3.0])
    assert _checks.between("x", values, 1, 3) is values
    for bad, at in (([0.5, 2.0], 0), ([2.0, 3.5], 1), ([2.0, np.nan], 1)):
        with pytest.raises(ValueError, match=rf"`x` must give values in \[1, 3\]; 1 of 2 .* at index {at}"):
            _checks.between("x", np.array(bad), 1, 3)


@pytest.mark.parametrize(
    ("value", "percent"), [(0, False), (-0.5, False), (1, False), (1.5, True), (100, True), (100.5, False)]
)
def test_fractions_lie_strictly_between_0_and_1(value, percent):
    with pytest.raises(ValueError, match="`prob` must lie strictly between 0 and 1") as caught:
        _checks.fraction("prob", value)
    assert str(caught.value).endswith("Percent? Divide by 100.") == percent


@pytest.mark.parametrize("value", [True, "0.5", None])
def test_fractions_are_numbers(value):
    with pytest.raises(TypeError, match=r"`prob` must be a number in \(0, 1\)"):
        _checks.fraction("prob", value)
    assert _checks.fraction("prob", 0.25) == 0.25


@pytest.mark.parametrize(
    ("value", "hint"), [("4%", " Write 0.04."), ("12.5 %", " Write 0.125."), ("4", ""), ("x%", ""), ("%", ""), (4, "")]
)
def test_a_percentage_as_text_is_written_as_a_number(value, hint):
    assert _checks.of_percent(value) == hint


def test_example_of_percentages():
    assert (of_percentages("85%"), of_percentages("85")) == ("Percentages? Write 0.85 in place of '85%'.", "")


def test_instance_names_the_class_and_how_to_make_one():
    _checks.instance("bins", [1], list)
    for kind, words in ((int, "an int"), (float, "a float"), (Counts, "Counts")):
        with pytest.raises(TypeError) as caught:
            _checks.instance("bins", [1], kind, "; make it.")
        assert str(caught.value) == f"`bins` must be {words}, not list; make it."
