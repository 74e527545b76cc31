"""Compiled label noise against the other form."""

import pytest

pytest.importorskip("numba")


@pytest.mark.parametrize("name", ["label_noise", "label_noise_any_rate", "label_noise_ends"])
def test_draws_have_the_same_distribution(name, same_distribution):
    same_distribution(name)
