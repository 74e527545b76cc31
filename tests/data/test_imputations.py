"""Lists of imputed predictions and outcomes: how they are read, and what is refused."""

import re

import numpy as np
import pytest

from bayescal.data.imputations import imputed_sets

Y, P = [0, 1, 1, 0], [0.2, 0.7, 0.9, 0.4]


@pytest.mark.parametrize(
    ("y_true", "y_prob"),
    [
        (Y, P),
        (np.array(Y), np.array(P)),
        (Y, [[p] for p in P]),  # a column
        ([[y] for y in Y], P),
        (Y, [[p, 1 - p] for p in P]),  # a matrix
        (Y, np.array([P, P])),  # an array is no list of arrays
        (Y, {"a": P, "b": np.array(P)}),
        (Y, []),
        (Y, ["a", "b"]),
        (Y, None),
    ],
)
def test_other_columns_are_no_imputations(y_true, y_prob):
    assert imputed_sets(y_true, y_prob) is None


def test_predictions_outcomes_and_both():
    p, y = [P, P[::-1]], (Y, Y[::-1])
    assert imputed_sets(Y, p) == [(Y, P), (Y, P[::-1])]
    assert imputed_sets(y, P) == [(Y, P), (Y[::-1], P)]
    assert imputed_sets(y, p) == [(Y, P), (Y[::-1], P[::-1])]


def test_models_with_and_without_imputations():
    found = imputed_sets(Y, {"a": [P, P[::-1]], "b": P})
    assert found == [(Y, {"a": P, "b": P}), (Y, {"a": P[::-1], "b": P})]


def test_values_do_not_matter():
    """Probabilities that are 0 and 1, and outcomes that are no outcomes, are left to the verb."""
    assert imputed_sets(Y, [Y, Y]) == [(Y, Y), (Y, Y)]
    assert imputed_sets([P, P], Y) == [(P, Y), (P, Y)]


@pytest.mark.parametrize(
    ("y_true", "y_prob", "said"),
    [
        (Y, [P], "`y_prob` must have at least 2 imputations, .* and has 1. .* pass the array itself, `y_prob[0]`."),
        ([Y], P, "`y_true` must have at least 2 imputations"),
        (Y, {"a": [P]}, "`y_prob['a']` must have at least 2 imputations"),
        (Y, [P, P[:3]], "as long as `y_true`, 4, .* a list of 2 arrays, and that at index 1 has length 3. As the rows"),
        (
            Y,
            [P[:3], P[:3]],
            "a list of 2 arrays, and that at index 0 has length 3. As the rows of a matrix",
        ),
        ([Y, Y[:2]], P, "`y_true` must have arrays as long as the first, 4, .* that at index 1 has length 2. Pass one"),
        ([Y, Y], [P, P, P], "`y_prob` must have as many imputations as `y_true`, which has 2; it has 3."),
        (Y, {"a": [P, P], "b": [P, P, P]}, "`y_prob['b']` must have as many imputations as `y_prob['a']`"),
        (Y, [P, P, P, P], "list of 4 arrays of length 4: it may hold 4 imputations, or the rows of a matrix."),
        (Y, [P, 0.5], "that at index 1 is a single value"),
    ],
)
def test_refusals_name_the_first_index_and_the_lengths(y_true, y_prob, said):
    with pytest.raises(ValueError, match=re.escape(said).replace(r"\.\*", ".*")):
        imputed_sets(y_true, y_prob)
