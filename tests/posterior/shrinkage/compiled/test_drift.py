"""Compiled drifts without residual and with a dense one, and a dense residual alone, against the other form."""

import pytest

pytest.importorskip("numba")


@pytest.mark.parametrize("name", ["logistic", "dense", "logistic_dense", "small_errors"])
def test_draws_have_the_same_distribution(name, same_distribution):
    same_distribution(name)
