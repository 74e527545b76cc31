"""Accuracy: the share of predictions that are right, which the counts determine if the outcome is being right."""

from bayescal.draws import BinDraws, Draws
from bayescal.estimands.estimand import EVENTS, Estimand


def accuracy(bin_draws: BinDraws) -> Draws:
    r"""Draw the share of rows with outcome 1, :math:`\sum_b m_b \theta_b`.

    Under the targets ``top-label`` and ``confidence``, outcome 1 means that the prediction is right, so that this is
    the accuracy. It is the mean confidence plus the signed error of the same draws. Probabilities of an event have no
    accuracy without a threshold, from which on the event is predicted: bins do not determine it, because the threshold
    need not be one of their edges.

    The first draw of the bins of `ece`: 0.5 x 0.3 + 0.3 x 0.4 + 0.2 x 1 = 0.47.

    >>> from bayescal.estimands.errors import EXAMPLE
    >>> accuracy(EXAMPLE).values.round(2)
    array([0.47, 0.5 ])
    """
    return Draws((bin_draws.mass * bin_draws.accuracy).sum(axis=1), "accuracy")


#: It is not registered: under the target "event", the same draws are the prevalence.
ACCURACY = Estimand("accuracy", accuracy, "accuracy", better="larger", of_total=True, reported=False)


def has_accuracy(target: str) -> bool:
    """Return whether outcome 1 means that the prediction is right.

    >>> has_accuracy("top-label"), has_accuracy("event")
    (True, False)
    """
    return target not in EVENTS
