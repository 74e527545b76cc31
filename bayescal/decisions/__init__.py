"""Decisions: net benefit, decision curves, whether recalibration pays, and which predictions to keep.

A patient is treated if the stated risk is at least a threshold, which weighs the harm of treatment against that of a
missed event. `net_benefit` compares risk models with treating all and with treating none, as posteriors at each
threshold; `loss_ratio` is the loss of decisions after recalibration, divided by the loss before. `selective` states how
often predictions are wrong if only the most confident ones are kept, and the others are given to a person.

State: settled.

Examples
--------
>>> import bayescal as bc
>>> cancer = bc.datasets.load_breast_cancer()
>>> curves = bc.decisions.net_benefit(cancer.y_true, cancer.y_prob, [0.1, 0.5], rng=1)
>>> curves.difference("random_forest", "naive_bayes").mean().round(3)
array([0.009, 0.016])
"""

from bayescal._lazy import public_names as _public_names

__getattr__, __dir__, __all__ = _public_names(__name__, __file__)
