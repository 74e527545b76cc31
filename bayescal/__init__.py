"""Calibration of classifiers with credible intervals: posteriors of the Expected Calibration Error (ECE).

Begin with `evaluate`. It takes labels and probabilities, and returns an `Evaluation`, which prints as a sentence and a
table. `compare` compares classifiers on the same rows, `evaluate_counts` evaluates counts of streams and files
(`BinnedCounts`, `count_file`). `plot` draws the picture of any result, and `pymc_model` writes its model in PyMC.
``dir(bayescal)`` lists all names.

Each topic is a module, whose docstring has an example:

* `clinical`: the table of a risk model for a paper, intercept and slope, smooth calibration curve
* `decisions`: net benefit and decision curves
* `survival`: risks at a horizon, from right-censored times
* `shift`: a target population without labels
* `labels`: labels of an imperfect judge, and outcomes that are known for some rows
* `monitoring`: streams in windows, change, alarms
* `planning`: how many labels a test set needs
* `cumulative`: calibration without bins, and of subpopulations
* `scores`: proper scores of all classes, and decompositions
* `estimands`: the quantities of an evaluation, and how to add one
* `verify`: the models in PyMC, and comparisons with Markov chains
* `read`: logs of evaluations of language models
* `plugins`: adapters for programs in which people evaluate classifiers
* `datasets`: predictions of three classifiers on three data sets

Examples
--------
A random forest on 1797 handwritten digits:

>>> import bayescal as bc
>>> digits = bc.datasets.load_digits()
>>> ev = bc.evaluate(digits.y_true, digits.y_prob["random_forest"], rng=1)
>>> print(ev.sentence().partition(" The plug-in")[0])
The Expected Calibration Error is 0.198 (95 % credible interval 0.189 to 0.207).
>>> ev.ece < 0.2
P(ece < 0.2) = 0.6...
"""

from bayescal._lazy import public_names as _public_names

# names are imported at first use, so that `import bayescal` takes little time; __init__.pyi lists them
__getattr__, __dir__, __all__ = _public_names(__name__, __file__)


def __reduce_ex__(protocol):  # type: ignore[no-untyped-def]  # noqa: N807  # pickle calls this name; see below
    """Pickle the package by its name: `lazy_loader` changes its type, and cloudpickle knows plain modules only."""
    from importlib import import_module

    return import_module, (__name__,)
