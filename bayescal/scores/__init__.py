"""Proper scores: the Brier score and the log score of all classes, comparisons, and decompositions.

Scores of two classes are also estimands of every evaluation (``ev.brier_score``, ``ev.log_score``). The functions of
this module take a matrix of probabilities: `multiclass_brier` and `multiclass_log` estimate one score, and `compare`
compares classifiers on the same rows. `brier_decomposition`, `log_decomposition` and `murphy_decomposition` divide
a score of two classes into miscalibration, discrimination and uncertainty.

Examples
--------
>>> import bayescal as bc
>>> wine = bc.datasets.load_wine()
>>> print(bc.scores.multiclass_brier(wine.y_true, wine.y_prob["naive_bayes"]).sentence())
The observed multi-class Brier score (sum over 3 classes) is 0.0351 (95 % credible interval 0.0127 to 0.0837).
"""

from bayescal._lazy import public_names as _public_names

__getattr__, __dir__, __all__ = _public_names(__name__, __file__)
