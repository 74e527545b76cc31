"""The comparison of a sub-model in compiled loops with the other form, which was checked by quadrature."""

import numpy as np
import pytest
from moments_of_ece import ece_mean, ece_sd
from scipy import stats

from bayescal.estimands.errors import ece

DRAWS = 20_000


@pytest.fixture
def same_distribution(counts_of_kind, both):
    """Assert that draws of one sub-model have the same distribution; the bound is exceeded by chance below 1e-4.

    Accuracies bin by bin and parameters, by two-sample tests; moments of the ECE by quadrature.
    """

    def check(name):
        counts = counts_of_kind("crowded", 400, bins=6)
        one, other = both(counts, sub_models=[name])
        assert one.crowded.any()
        first, second = one.sample_all(DRAWS, rng=1), other.sample_all(DRAWS, rng=2)
        tests = [
            stats.ks_2samp(first.bin_draws.accuracy[:, b], second.bin_draws.accuracy[:, b]).pvalue
            for b in np.flatnonzero(counts.occupied)
        ]
        for parameter in ("intercept", "slope", "rho", "amount", "noise", "noise_rate"):
            values = [getattr(drawn, parameter) for drawn in (first, second)]
            assert np.array_equal(*(np.isnan(v) for v in values)), parameter
            if not np.isnan(values[0]).any():
                tests.append(stats.ks_2samp(*values).pvalue)
        assert min(tests) * len(tests) > 1e-5, (name, tests)
        off = [drawn.off.mean(axis=0) for drawn in (first, second)]
        assert np.all(np.abs(off[0] - off[1]) < 4.5 * np.sqrt(0.5 / DRAWS) + 0.002)
        errors = ece(second.bin_draws).values
        assert errors.mean() == pytest.approx(ece_mean(one), abs=4.5 * errors.std() / np.sqrt(DRAWS) + 1e-6)
        assert errors.std() == pytest.approx(ece_sd(one), rel=0.04, abs=1e-9)

    return check
