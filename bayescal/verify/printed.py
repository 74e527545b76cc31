"""The formula that the document of the original program prints, which is not the Expected Calibration Error."""

from typing import Any

import numpy as np

from bayescal import _checks
from bayescal._meant import public
from bayescal.draws import Draws
from bayescal.posterior.dirichlet import DirichletPosterior
from bayescal.results.evaluation import Evaluation


@public
def printed_formula(posterior: Evaluation | DirichletPosterior, n_draws: int = 4000, *, rng: Any = None) -> Draws:
    r"""Draw the formula that the document of the original program prints; it is not a calibration error.

    Parameters
    ----------
    posterior : Evaluation or DirichletPosterior
        An evaluation with ``model="dirichlet"``, or the posterior of the Dirichlet model.

    Returns
    -------
    Draws
        Shape (n_draws,), in [0, 1].

    Raises
    ------
    TypeError, ValueError
        If `posterior` is of another model, or `n_draws` is no whole number of at least 1.

    Notes
    -----
    The document of the original program [1]_ prints

    .. math:: \sum_b q_{1b}\, |q_{1b} - p_b|

    with the probability :math:`q_{1b}` that a row is in bin b *and* has outcome 1, and the mean confidence :math:`p_b`.
    The ECE has the mass :math:`m_b = q_{0b} + q_{1b}` as its weight, and the accuracy :math:`\theta_b = q_{1b} / m_b`
    beside the confidence:

    .. math:: \mathrm{ECE} = \sum_b m_b\, |\theta_b - p_b| = \sum_b |q_{1b} - m_b\, p_b|.

    A joint probability is not an accuracy: :math:`q_{1b}` is small if few rows are in the bin, however well the bin is
    calibrated. With equal masses of M calibrated bins, the printed formula is :math:`(1 - 1/M) \sum_b p_b^2 / M`, which
    grows with the number of bins. No function of the package reports it.

    References
    ----------
    .. [1] Google (2020), uncertainty_metrics, https://github.com/google/uncertainty-metrics: the function
       ``bayesian_expected_calibration_error`` and the document ``g3doc/bayesian-ece.md``.

    Examples
    --------
    The probabilities of the random forest are nearly calibrated:

    >>> import bayescal as bc
    >>> cancer = bc.datasets.load_breast_cancer()
    >>> ev = bc.evaluate(cancer.y_true, cancer.y_prob["random_forest"], bins=10, model="dirichlet", rng=1)
    >>> round(ev.ece.mean(), 3), round(bc.verify.printed_formula(ev, rng=1).mean(), 3)
    (0.034, 0.313)
    """
    of_bins = posterior.posterior if isinstance(posterior, Evaluation) else posterior
    if not isinstance(of_bins, DirichletPosterior):
        raise TypeError(
            f"`posterior` must be of the Dirichlet model, not a {type(of_bins).__name__}: pass "
            "`bayescal.evaluate(y_true, y_prob, model='dirichlet')`."
        )
    bins = of_bins.sample(_checks.whole_number("n_draws", n_draws), rng=rng)
    q = bins.mass * bins.accuracy
    return Draws((q * np.abs(q - bins.confidence)).sum(axis=1), "printed formula")
