"""Compiled errors of one size against the other form."""

import pytest

pytest.importorskip("numba")


def test_draws_have_the_same_distribution(same_distribution):
    same_distribution("offset")
