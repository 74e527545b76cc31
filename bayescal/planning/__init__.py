"""How many labels a test set needs.

`labels_needed` takes counts of a pilot and a goal: a narrow interval (``width=``), a limit that the error is below or
above with high probability (``below=``, ``above=``), or a verdict on two classifiers (``difference=``). It simulates
test sets of many sizes from the posterior of the pilot. The result is a `Plan`.

Examples
--------
>>> import bayescal as bc
>>> cancer = bc.datasets.load_breast_cancer()
>>> pilot = bc.BinnedCounts.from_arrays(cancer.y_true, cancer.y_prob["random_forest"])
>>> plan = bc.planning.labels_needed(pilot, width=0.03, simulations=50, draws=200, rng=1)
>>> plan.rows
0
"""

from bayescal._lazy import public_names as _public_names

__getattr__, __dir__, __all__ = _public_names(__name__, __file__)
