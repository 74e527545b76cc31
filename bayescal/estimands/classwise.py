"""Means over classes of the calibration errors of single classes."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from bayescal import _checks
from bayescal._arrays import Bools
from bayescal.draws import Draws

MOST_EXACT = 0.05  #: Largest share of draws in which all classes are exactly calibrated.


def jointly_exact(log_bayes_factors: ArrayLike, n_draws: int, *, rng: Any = None) -> Bools:
    r"""Choose the draws in which all classes are exactly calibrated, given their log Bayes factors, shape (n_classes,).

    They are a share :math:`0.05 \min(1, \prod_k B_k)` of the draws, to within one draw. The mean over classes is 0 only
    if all classes are exact in the same draw. If many classes are drawn independently, this has negligible probability,
    and no interval of the mean would contain 0. The limit of 5 % is fixed. Without it, the product of many Bayes
    factors could leave hardly any other draws, even if all classes are slightly over-confident. With it, the lower
    bound of an interval can be 0, and the upper bound hardly changes.
    """
    share = MOST_EXACT * np.exp(min(float(np.asarray(log_bayes_factors, dtype=np.float64).sum()), 0.0))
    generator = _checks.generator(rng)
    chosen = np.arange(n_draws) < int(np.floor(share * n_draws + generator.random()))
    return generator.permutation(chosen)


def classwise_mean(by_class: Draws) -> Draws:
    """Draw the unweighted mean of the ECEs of all classes (classwise ECE), given joint draws (n_draws, n_classes).

    Nixon, Dusenberry, Zhang, Jerfel and Tran (2019), "Measuring calibration in deep learning", CVPR Workshops, call it
    the static calibration error.
    """
    return Draws(by_class.values.mean(axis=1), "classwise_ece")


def root_mean_square(by_class: Draws) -> Draws:
    r"""Draw the root mean square of the errors of all classes, :math:`(\frac1K \sum_k e_k^2)^{1/2}`.

    It is at least the mean over classes. Of l_2 errors, it is the marginal calibration error of Kumar, Liang and Ma
    (2019), "Verified uncertainty calibration", Advances in Neural Information Processing Systems 32, section 2, with
    equal weights of the classes.
    """
    errors = by_class.values
    return Draws(np.sqrt(np.einsum("sk,sk->s", errors, errors) / errors.shape[1]), "rms_error")


def marginal_mean(by_class: Draws, frequency: ArrayLike) -> Draws:
    """Draw the mean of the ECEs of all classes, weighted by class frequency >= 0, which sums to 1 (marginal error)."""
    share = np.asarray(frequency, dtype=np.float64)
    _checks.same_length(("frequency", "by_class"), (len(share), by_class.values.shape[1]))
    if (share < 0).any() or not abs(share.sum() - 1) <= 1e-9:
        raise ValueError(f"`frequency` must be >= 0 and sum to 1; it sums to {share.sum():g}.")
    return Draws(by_class.values @ share, "marginal_error")
