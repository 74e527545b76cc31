"""How many labels a test set needs, and which.

`labels_needed` takes counts of a pilot and a goal: a narrow interval (``width=``), a limit that the error is below or
above with high probability (``below=``, ``above=``), or a verdict on two classifiers (``difference=``). It simulates
test sets of many sizes from the posterior of the pilot. The result is a `Plan`. `checks_needed` plans which rows people
should check if a judge labelled all of them. `validation` plans an external validation from published numbers, without
a pilot.

State: settled.

Examples
--------
Given this pilot, the ECE is below 0.005 with a probability of 0.6, so that no assurance of 0.8 can be promised:

>>> import numpy as np
>>> import bayescal as bc
>>> rng = np.random.default_rng(1)
>>> confidence = rng.random(300)
>>> pilot = bc.BinnedCounts.from_arrays(rng.random(300) < confidence, confidence, bins=5)
>>> plan = bc.planning.labels_needed(pilot, below=0.005, rng=1)
>>> plan.rows is None, round(plan.reachable, 1)
(True, 0.4)
"""

from bayescal._lazy import public_names as _public_names

__getattr__, __dir__, __all__ = _public_names(__name__, __file__)
