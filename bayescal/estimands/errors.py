"""Calibration errors: functions of each draw of the bins, so that all errors of an evaluation are drawn jointly."""

from collections.abc import Callable
from functools import wraps

import numpy as np

from bayescal import _checks
from bayescal._meant import public
from bayescal.draws import BinDraws, Draws
from bayescal.estimands.registry import estimand


def _of_bins[**P](function: Callable[P, Draws]) -> Callable[P, Draws]:
    """Let a function of draws of the bins say what to call instead if it is given labels and probabilities."""

    @wraps(function)
    def checked(*args: P.args, **kwargs: P.kwargs) -> Draws:
        argument = args[0] if args else kwargs.get("bin_draws", EXAMPLE)  # without any, Python names what is missing
        argument = kwargs.get("y_true", argument)
        if not isinstance(argument, BinDraws):
            name = function.__name__
            raise TypeError(
                f"`bin_draws` must be BinDraws, not {type(argument).__name__}. For labels and probabilities, call "
                f"`bayescal.evaluate(y_true, y_prob)`; its attribute `{name}` has the draws of this estimand."
            )
        return function(*args, **kwargs)

    return checked


ROUNDING = 1e-9  #: Tolerance for rounding of sums of masses.
#: Bins of the examples below: two draws of three bins, the last of which has no rows.
EXAMPLE = BinDraws(
    mass=np.array([[0.5, 0.3, 0.2], [0.25, 0.5, 0.25]]),
    accuracy=np.array([[0.3, 0.4, 1.0], [0.0, 0.5, 1.0]]),
    confidence=np.array([[0.1, 0.5, 0.6], [0.3, 0.5, 0.5]]),
    occupied=np.array([True, True, False]),
    weight=np.array([[0.5, 0.3, 0.2], [0.25, 0.5, 0.25]]),
)


@estimand(
    "ECE",
    title="Expected Calibration Error",
    of_calibration=True,
    citation="Naeini, Cooper and Hauskrecht (2015), AAAI; Guo et al. (2017), ICML, equation 3",
    formula=r"\sum_b m_b |\theta_b - \mu_b|",
    synonyms=("estimated calibration error", "l_1 calibration error"),
)
@_of_bins
@public
def ece(bin_draws: BinDraws) -> Draws:
    r"""Draw the Expected Calibration Error, :math:`\sum_b m_b |\theta_b - \mu_b|`.

    It is the mean absolute gap between accuracies :math:`\theta` and mean confidences :math:`\mu`, weighted by the
    masses m of the bins [1]_ [2]_.

    Returns
    -------
    Draws
        In [0, 1]; 0 if every bin is calibrated on average.

    References
    ----------
    .. [1] M. P. Naeini, G. F. Cooper and M. Hauskrecht (2015), "Obtaining well calibrated probabilities using Bayesian
       binning", Proceedings of the AAAI Conference on Artificial Intelligence 29.
    .. [2] C. Guo, G. Pleiss, Y. Sun and K. Q. Weinberger (2017), "On calibration of modern neural networks",
       Proceedings of the 34th International Conference on Machine Learning, PMLR 70, equation 3.

    Examples
    --------
    Three bins with masses 0.5, 0.3 and 0.2 have gaps of 0.2, -0.1 and 0.4 in the first draw:
    0.5 x 0.2 + 0.3 x 0.1 + 0.2 x 0.4 = 0.21. In the second draw a bin without a gap adds nothing.

    >>> from bayescal.estimands.errors import EXAMPLE
    >>> EXAMPLE.mass, EXAMPLE.gap
    (array([[0.5 , 0.3 , 0.2 ],
           [0.25, 0.5 , 0.25]]), array([[ 0.2, -0.1,  0.4],
           [-0.3,  0. ,  0.5]]))
    >>> bc.estimands.ece(EXAMPLE).values
    array([0.21, 0.2 ])
    """
    # Guo et al. (2017), equation 3, for each draw
    return Draws(_weighted(bin_draws, np.abs(bin_draws.gap)), "ece")


@_of_bins
@public
def lp_error(bin_draws: BinDraws, p: float = 2.0) -> Draws:
    r"""Draw the l_p calibration error, :math:`(\sum_b m_b |\theta_b - \mu_b|^p)^{1/p}`.

    Kumar et al. [1]_ use l_2 and l_p errors of the population.

    Parameters
    ----------
    p : float, default 2
        The order, finite and at least 1; 1 gives the ECE. For the limit of large p, use `largest_error`.

    Returns
    -------
    Draws
        In [0, 1], at least the ECE; it does not decrease if p increases.

    Raises
    ------
    ValueError
        If `p` is below 1 or infinite.

    References
    ----------
    .. [1] A. Kumar, P. Liang and T. Ma (2019), "Verified uncertainty calibration", Advances in Neural Information
       Processing Systems 32.

    Examples
    --------
    Higher orders weigh large gaps more. The bins of `ece` with p = 4: 0.5 x 0.2^4 + 0.3 x 0.1^4 + 0.2 x 0.4^4 =
    0.00595, whose fourth root is 0.278. Order 1 is the ECE, and as p grows the error approaches the largest gap, 0.4.

    >>> from bayescal.estimands.errors import EXAMPLE
    >>> [float(bc.estimands.lp_error(EXAMPLE, p).values[0]) for p in (1, 4, 1000)]
    [0.21, 0.278, 0.399]
    """
    order = float(_checks.positive("p", p))
    if order < 1:
        raise ValueError(f"`p` must be >= 1, not {p}; below 1, the error is not a norm.")
    gap = np.abs(bin_draws.gap)
    # divide by the largest gap of the draw, so that high powers do not underflow
    largest = gap.max(axis=1)
    scaled = gap / np.where(largest > 0, largest, 1.0)[:, None]
    return Draws(largest * _weighted(bin_draws, scaled**order) ** (1 / order), f"l{p:g}_error")


@estimand(
    "l_2 error",
    of_calibration=True,
    citation="Kumar, Liang and Ma (2019), NeurIPS, section 2",
    formula=r"\left(\sum_b m_b (\theta_b - \mu_b)^2\right)^{1/2}",
    synonyms=("root mean square calibration error", "RMSCE", "l_2 calibration error"),
)
@_of_bins
@public
def l2_error(bin_draws: BinDraws) -> Draws:
    r"""Draw the l_2 (root mean square) calibration error, :math:`(\sum_b m_b (\theta_b - \mu_b)^2)^{1/2}`.

    It is `lp_error` of order 2 [1]_, and gives large gaps more weight than the ECE.

    Returns
    -------
    Draws
        In [0, 1], at least the ECE.

    References
    ----------
    .. [1] A. Kumar, P. Liang and T. Ma (2019), as for `lp_error`.

    Examples
    --------
    The bins of `ece`: 0.5 x 0.2^2 + 0.3 x 0.1^2 + 0.2 x 0.4^2 = 0.055, whose square root is 0.2345. Its square exceeds
    that of the ECE by the variance of the absolute gaps, here 0.055 - 0.21^2 = 0.0109.

    >>> from bayescal.estimands.errors import EXAMPLE
    >>> bc.estimands.l2_error(EXAMPLE).values
    array([0.2345, 0.2915])
    >>> bc.estimands.l2_error(EXAMPLE).values ** 2 - bc.estimands.ece(EXAMPLE).values ** 2
    array([0.0109, 0.045 ])
    """
    return Draws(lp_error(bin_draws, 2).values, "l2_error")


@public
def largest_error(bin_draws: BinDraws, share: float = 0.0) -> Draws:
    r"""Draw the largest absolute error that a share of the population have.

    For a share s, it is :math:`\max\{t : \sum_b m_b 1(|\theta_b - \mu_b| \ge t) \ge s\}`: bins with errors of this
    size or larger hold at least the share s. With s = 0 it is the maximum calibration error (MCE) [1]_, the largest
    error of any bin with rows; with s = 0.1 it is `e90_bins`.

    Parameters
    ----------
    share : float, default 0
        The share s, in [0, 1). The mass of a bin is uncertain, so bins near the limit count in some draws only.

    Returns
    -------
    Draws
        In [0, 1]; it does not increase with `share`. With ``share=0`` it is at least every l_p error of the same bins.

    Raises
    ------
    ValueError, TypeError
        If `share` is not a number in [0, 1).

    Notes
    -----
    No interval of the MCE is reliable. The MCE is often that of a bin with few rows, about which the rows say little.
    If many bins have errors of nearly equal size, the largest of their draws exceeds the largest of their errors. In
    the standard cells of `coverage_study`, the lowest coverage of 95 % intervals is 0.35 with ``share=0``: 2000 rows
    with rare confidences and one bad bin.

    References
    ----------
    .. [1] M. P. Naeini, G. F. Cooper and M. Hauskrecht (2015), as for `ece`.

    Examples
    --------
    The third of the bins of `ece` has the largest gap, but no rows: its gaps of 0.4 and 0.5 do not count. Of the
    others, the largest gaps are 0.2 in the first draw and 0.3 in the second, in bins with masses 0.5 and 0.25. At least
    40 % of the population have an error of 0.2 in the first draw, and of 0 in the second.

    >>> from bayescal.estimands.errors import EXAMPLE
    >>> EXAMPLE.occupied
    array([ True,  True, False])
    >>> bc.estimands.largest_error(EXAMPLE).values
    array([0.2, 0.3])
    >>> bc.estimands.largest_error(EXAMPLE, share=0.4).values
    array([0.2, 0. ])
    """
    gap = np.abs(bin_draws.gap)[:, bin_draws.occupied]
    share = _checks.fraction("share", share, or_zero=True)
    if share == 0:
        return Draws(gap.max(axis=1), "largest_error")
    mass = np.broadcast_to(bin_draws.mass[:, bin_draws.occupied], gap.shape)
    largest_first = np.argsort(-gap, axis=1)
    held = np.take_along_axis(mass, largest_first, axis=1).cumsum(axis=1)
    enough = held >= share - ROUNDING
    enough[:, -1] = True  # bins without rows may have mass, so that the others hold less than the share
    each = np.arange(len(gap))
    return Draws(gap[each, largest_first[each, enough.argmax(axis=1)]], "largest_error")


SHARE_OF_E90 = 0.1  #: Share of the population that must have an error for `e90_bins` to count it.


@estimand(
    "E90 of bins",
    title="90th percentile of the absolute error",
    of_calibration=True,
    citation="Harrell (2015), Regression Modeling Strategies; there of a curve",
    formula=r"\max\{t : \sum_b m_b 1(|\theta_b - \mu_b| \ge t) \ge 0.1\}",
    synonyms=("largest error of at least 10 % of the population", "maximum calibration error without rare bins"),
)
@_of_bins
@public
def e90_bins(bin_draws: BinDraws) -> Draws:
    r"""Draw the 90th percentile of the absolute error of the bins (E90 of bins).

    It is the largest error that 10 % of the population have: `largest_error` of the share 0.1. Harrell's E90 [1]_ is
    this percentile along a smooth curve, ``bayescal.clinical.calibration_curve(y_true, y_prob).e90``. The two differ,
    because a bin has a single error, the difference of its means.

    Returns
    -------
    Draws
        In [0, 1]. It is smaller than the ECE if a bin with less than 10 % of the population has a large error.

    Warnings
    --------
    An error of a single bin with less than 10 % of the population does not count. `Evaluation.remarks` names a bin with
    less than 10 % of the rows whose observed gap is larger than `e90_bins` by more than five standard errors.

    Notes
    -----
    In the standard cells of `coverage_study`, the lowest coverage of 95 % intervals is 0.86 (300 rows, one bad bin).
    Two bins with equal errors of opposite sign are worse, 0.69: in each draw the larger one of two noisy gaps decides.
    `l2_error` weighs large errors too, but averages them; it holds its coverage better. `largest_error` without a share
    is the maximum calibration error (MCE), of which no interval is reliable.

    References
    ----------
    .. [1] F. E. Harrell (2015), Regression Modeling Strategies, 2nd edition, Springer (E50, E90 and Emax).

    Examples
    --------
    The third of the bins of `ece` has the largest gap, but no rows. Of the others, the largest gaps are 0.2 in the
    first draw and 0.3 in the second, in bins with masses 0.5 and 0.25.

    >>> from bayescal.estimands.errors import EXAMPLE
    >>> bc.estimands.e90_bins(EXAMPLE).values
    array([0.2, 0.3])

    A bin with 5 % of the population and an error of 0.5 does not count: the error of the others is 0.01, and the ECE is
    0.05 x 0.5 + 0.95 x 0.01 = 0.0345.

    >>> mass, accuracy = np.array([[0.05, 0.95]]), np.array([[0.4, 0.51]])
    >>> bins = bc.BinDraws(mass, accuracy, np.array([[0.9, 0.5]]), np.ones(2, bool), mass)
    >>> float(bc.estimands.e90_bins(bins).values[0]), float(bc.estimands.ece(bins).values[0])
    (0.01, 0.0345)
    """
    return Draws(largest_error(bin_draws, SHARE_OF_E90).values, "e90_bins")


@estimand(
    "signed error",
    better="nearest zero",
    bounds=(-1.0, 1.0),
    of_total=True,
    citation="Van Calster et al. (2019), BMC Med.",
    formula=r"\sum_b m_b (\theta_b - \mu_b)",
    synonyms=("calibration in the large (as a difference)", "mean bias", "miscalibration bias"),
)
@_of_bins
@public
def signed_error(bin_draws: BinDraws) -> Draws:
    r"""Draw the signed error, :math:`\sum_b m_b (\theta_b - \mu_b)`: mean outcome minus mean confidence.

    It measures calibration in the large [1]_. It is 0 if gaps of opposite sign cancel.

    Returns
    -------
    Draws
        In [-1, 1]; negative if confidences are too high on average. It equals `underconfidence` minus
        `overconfidence`, except for rows in clusters, where its draws use the design effect of the total.

    References
    ----------
    .. [1] B. Van Calster, D. J. McLernon, M. van Smeden, L. Wynants and E. W. Steyerberg (2019), "Calibration: the
       Achilles heel of predictive analytics", BMC Medicine 17, 230.

    Examples
    --------
    Gaps of opposite sign cancel. The first draw of the bins of `ece`: 0.5 x 0.2 - 0.3 x 0.1 + 0.2 x 0.4 = 0.15. This is
    the mean accuracy, 0.47, less the mean confidence, 0.32.

    >>> from bayescal.estimands.errors import EXAMPLE
    >>> bc.estimands.signed_error(EXAMPLE).values
    array([0.15, 0.05])
    >>> [float((EXAMPLE.mass * values).sum(axis=1)[0]) for values in (EXAMPLE.accuracy, EXAMPLE.confidence)]
    [0.47, 0.32]
    """
    return Draws(_weighted(bin_draws, bin_draws.gap), "signed_error")


@estimand("over-confidence", stated="stated too high", of_total=True, formula=r"\sum_b m_b \max(\mu_b - \theta_b, 0)")
@_of_bins
@public
def overconfidence(bin_draws: BinDraws) -> Draws:
    r"""Draw the part of the ECE from bins with too high confidence, :math:`\sum_b m_b \max(\mu_b - \theta_b, 0)`.

    For probabilities of an event, read it as "stated too high". An under-confident classifier states small
    probabilities too high and large ones too low, so it has both parts.

    Returns
    -------
    Draws
        In [0, 1]; its sum with `underconfidence` is the ECE.

    Examples
    --------
    One of the bins of `ece` is over-confident in each draw, not the same one: 0.3 x 0.1 and 0.25 x 0.3.

    >>> from bayescal.estimands.errors import EXAMPLE
    >>> bc.estimands.overconfidence(EXAMPLE).values
    array([0.03 , 0.075])
    """
    return Draws(_weighted(bin_draws, np.maximum(-bin_draws.gap, 0.0)), "overconfidence")


@estimand("under-confidence", stated="stated too low", of_total=True, formula=r"\sum_b m_b \max(\theta_b - \mu_b, 0)")
@_of_bins
@public
def underconfidence(bin_draws: BinDraws) -> Draws:
    r"""Draw the part of the ECE from bins with too low confidence, :math:`\sum_b m_b \max(\theta_b - \mu_b, 0)`.

    For probabilities of an event, read it as "stated too low".

    Returns
    -------
    Draws
        In [0, 1]; its sum with `overconfidence` is the ECE.

    Examples
    --------
    The first draw of the bins of `ece`: 0.5 x 0.2 + 0.2 x 0.4 = 0.18. Both parts add up to the ECE within each draw.

    >>> from bayescal.estimands.errors import EXAMPLE
    >>> bc.estimands.underconfidence(EXAMPLE).values
    array([0.18 , 0.125])
    >>> bc.estimands.underconfidence(EXAMPLE).values + bc.estimands.overconfidence(EXAMPLE).values
    array([0.21, 0.2 ])
    """
    return Draws(_weighted(bin_draws, np.maximum(bin_draws.gap, 0.0)), "underconfidence")


def _weighted(bin_draws: BinDraws, values: np.ndarray) -> np.ndarray:
    return np.einsum("sb,sb->s", np.broadcast_to(bin_draws.weight, values.shape), values)
