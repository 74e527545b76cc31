"""Point estimates of calibration errors, for comparison with the literature and with other programs."""

from numbers import Real
from typing import Any

import numpy as np

from bayescal import _checks
from bayescal._arrays import Classes
from bayescal._meant import public
from bayescal.analyses.one import count_rows
from bayescal.data.matrix import ClassRows
from bayescal.data.predictions import read_rows
from bayescal.estimands.errors import ece, largest_error, lp_error
from bayescal.estimands.plug_in import debiased_squared_l2_error, observed_bins
from bayescal.stats.binned import BinnedCounts
from bayescal.stats.classwise import count_classes


@public
def plug_in_ece(
    y_true: Any,
    y_prob: Any,
    *,
    target: str | None = None,
    bins: Any = 15,
    weights: Any = None,
    binning: str = "equal-width",
    classes: Classes = None,
    logits: bool = False,
) -> float:
    r"""Compute the plug-in ECE of the rows, :math:`\sum_b \frac{n_b}{N} |\bar z_b - \bar c_b|`.

    This is the number that most packages call ECE [1]_. It is biased upwards as an estimate of the ECE of the
    population, because sampling noise adds to the absolute gap of every bin.

    Returns
    -------
    float
        In [0, 1]; 0 if the share of outcome 1 equals the mean confidence in every bin. For ``target="classwise"``, the
        unweighted mean over classes [2]_.

    References
    ----------
    .. [1] C. Guo, G. Pleiss, Y. Sun and K. Q. Weinberger (2017), "On calibration of modern neural networks",
       Proceedings of the 34th International Conference on Machine Learning, PMLR 70, equation 3.
    .. [2] J. Nixon, M. W. Dusenberry, L. Zhang, G. Jerfel and D. Tran (2019), "Measuring calibration in deep learning",
       CVPR Workshops (there called static calibration error).

    Examples
    --------
    Two bins with half of the rows each; their gaps are 1/2 - 0.3 and 1 - 0.8.

    >>> bc.plug_in_ece([0, 1, 1, 1], [0.2, 0.4, 0.7, 0.9], bins=2)
    0.2
    """
    return plug_in_error(
        y_true, y_prob, target=target, bins=bins, weights=weights, binning=binning, classes=classes, logits=logits
    )


@public
def plug_in_error(
    y_true: Any,
    y_prob: Any,
    *,
    order: float = 1,
    debiased: bool = False,
    target: str | None = None,
    bins: Any = 15,
    weights: Any = None,
    binning: str = "equal-width",
    classes: Classes = None,
    logits: bool = False,
) -> float:
    r"""Compute the plug-in l_p calibration error of the rows.

    It is :math:`(\sum_b \frac{n_b}{N} |\bar z_b - \bar c_b|^p)^{1/p}`.

    Parameters
    ----------
    order : float, default 1
        The order p, at least 1. Order 1 is the ECE, 2 the root mean square error, and ``np.inf`` the largest error of a
        bin (maximum calibration error [1]_).
    debiased : bool, default False
        Whether to subtract the sampling variance of the accuracies; only for order 2 [2]_. The result is the square
        root of `debiased_squared_l2_error`, or 0 if that is negative.

    Returns
    -------
    float
        In [0, 1]. For ``target="classwise"``, :math:`(\frac1K \sum_k e_k^p)^{1/p}` of the errors :math:`e_k` of the
        classes (marginal calibration error [2]_ with equal weights), which is their mean for order 1 and their maximum
        for order infinity.

    Raises
    ------
    ValueError, TypeError
        As for `evaluate`; also if `order` is below 1, or if `debiased` is asked for another order than 2.

    References
    ----------
    .. [1] M. P. Naeini, G. F. Cooper and M. Hauskrecht (2015), "Obtaining well calibrated probabilities using Bayesian
       binning", Proceedings of the AAAI Conference on Artificial Intelligence 29.
    .. [2] A. Kumar, P. Liang and T. Ma (2019), "Verified uncertainty calibration", Advances in Neural Information
       Processing Systems 32.

    Examples
    --------
    Two bins with half of the rows each have gaps of 0.2 and 0.4: the mean is 0.3, the root mean square
    (0.5 x 0.04 + 0.5 x 0.16)^(1/2) = 0.316.

    >>> y, p = [0, 1, 1, 1], [0.2, 0.4, 0.5, 0.7]
    >>> [round(bc.plug_in_error(y, p, bins=2, order=order), 3) for order in (1, 2, np.inf)]
    [0.3, 0.316, 0.4]
    """
    order = _valid_order(order, debiased)
    reading = {"classes": classes, "logits": logits, "weights": weights}
    if target == "classwise":
        rows = ClassRows.read(y_true, y_prob, **reading, with_target=True)
        counts = count_classes(rows.scale_free(), bins, binning)
    else:
        counts = (count_rows(read_rows(y_true, y_prob, target=target, **reading), bins, binning),)
    errors = np.array([_error(c, order, debiased) for c in counts])
    if order == 1:
        return float(errors.mean())
    # divide by the largest error, so that high powers do not underflow
    largest = errors.max()
    if order == np.inf or largest == 0:
        return float(largest)
    return float(largest * np.mean((errors / largest) ** order) ** (1 / order))


def _valid_order(order: Any, debiased: bool) -> float:
    if isinstance(order, bool) or not isinstance(order, Real):
        hint = " For the maximum calibration error, pass `float('inf')`." if isinstance(order, str) else ""
        raise TypeError(f"`order` must be a number >= 1, not {_checks.quoted(order)}.{hint}")
    order = float(order)
    if not order >= 1:  # also NaN
        raise ValueError(f"`order` must be at least 1, not {order:g}; below 1, the error is not a norm.")
    if debiased and order != 2:
        raise ValueError(f"`debiased=True` is defined for `order=2` only, not for {order:g}.")
    return order


def _error(counts: BinnedCounts, order: float, debiased: bool) -> float:
    if debiased:
        return float(np.sqrt(max(debiased_squared_l2_error(counts), 0.0)))
    observed = observed_bins(counts)
    if order == np.inf:
        return float(largest_error(observed).values[0])
    return float((ece(observed) if order == 1 else lp_error(observed, order)).values[0])
