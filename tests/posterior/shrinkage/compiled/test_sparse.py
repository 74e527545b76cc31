"""Compiled errors in a few bins, with and without drift, against the other form."""

import pytest

pytest.importorskip("numba")


@pytest.mark.parametrize("name", ["sparse", "logistic_sparse"])
def test_draws_have_the_same_distribution(name, same_distribution):
    same_distribution(name)
