"""Attributes that users of other programs try: the error names what this package has."""

import copy
import pickle
import re

import pytest

import bayescal as bc
from bayescal.datasets.simulate import simulate
from bayescal.results import foreign_names

ROWS = simulate(400, population="flat", rng=1)
Y, P = ROWS.outcome, ROWS.confidence
RESULTS = {
    "recalibration": bc.recalibration(Y, P, rng=1),
    "net_benefit": bc.net_benefit(Y, {"a": P, "b": P**2}, [0.2, 0.5], draws=50, rng=1),
    "curve": bc.calibration_curve(Y, P, draws=50, rng=1),
    "tests": bc.calibration_tests(Y, P),
    "clinical": bc.clinical_summary(Y, P, 0.2, draws=50, rng=1),
    "loss_ratio": bc.loss_ratio(Y[:200], P[:200], Y[200:], P[200:], draws=50, rng=1),
}
TRIED = [
    ("recalibration", "citl", "`in_the_large`"),
    ("recalibration", "calibration_in_the_large", "`in_the_large`"),
    ("recalibration", "Intercept", "`intercept`"),
    ("recalibration", "coef_", "`intercept` and `slope`"),
    ("recalibration", "calibration_slope", "`slope`"),
    ("recalibration", "Eavg", "bayescal.calibration_curve"),
    ("recalibration", "c_index", "`auc` of `bayescal.evaluate"),
    ("recalibration", "Brier", "bayescal.evaluate"),
    ("net_benefit", "standardised", r"`standardized\[model\]`"),
    ("net_benefit", "sNB", r"`standardized\[model\]`"),
    ("net_benefit", "net_intervention_avoided", r"`avoided\[model\]`"),
    ("net_benefit", "nb", r"`net_benefit\[model\]`"),
    ("net_benefit", "treat_none", "is 0 at every threshold"),
    ("net_benefit", "delta", r"`difference\(first, second\)`"),
    ("net_benefit", "sensitivity", r"`posterior\.sample\(\)`"),
    ("net_benefit", "net_benefits", r"`net_benefit\[model\]`"),
    ("curve", "ICI", "`ici`"),
    ("curve", "Eavg", "`ici`"),
    ("curve", "integrated_calibration_index", "`ici`"),
    ("curve", "E_max", "`emax`|'emax'"),
    ("curve", "mce", "`e90`.*`emax`"),
    ("curve", "prob_true", r"`band\(\)`"),
    ("curve", "citl", "bayescal.recalibration"),
    ("tests", "chi2", r"`hosmer_lemeshow\.chi_squared`"),
    ("tests", "p_value", "`p_spiegelhalter` and `p_hosmer_lemeshow`"),
    ("clinical", "c_statistic", r"`evaluation\.auc`.*`summary\[name\]\.evaluation\.auc`"),
    ("clinical", "citl", r"`recalibration\.in_the_large`"),
    ("clinical", "ICI", "`calibration_curve`"),
    ("clinical", "thresholds", r"`net_benefit\.thresholds`"),
    ("clinical", "difference", r"`net_benefit\.difference\(first, second\)`.*`bayescal\.compare"),
    ("clinical", "plot", r"`bayescal\.plot_decision_curve\(summary\)`"),
    ("loss_ratio", "loss_ratio", "`mean_ratio`"),
]


@pytest.mark.parametrize(("which", "name", "hint"), TRIED)
def test_the_error_names_the_attribute(which, name, hint):
    with pytest.raises(AttributeError, match=hint):
        getattr(RESULTS[which], name)


TABLES = {
    "recalibration": foreign_names.RECALIBRATION,
    "net_benefit": foreign_names.NET_BENEFIT,
    "curve": foreign_names.CALIBRATION_CURVE,
    "tests": foreign_names.CALIBRATION_TESTS,
    "clinical": foreign_names.CLINICAL,
    "loss_ratio": foreign_names.LOSS_RATIO,
}


@pytest.mark.parametrize("which", TABLES)
def test_every_hint_names_something_that_exists(which):
    """The first name in each pair of backticks is an attribute of the result, of bayescal, or of an evaluation."""
    evaluation = bc.evaluate(Y, P, draws=50, rng=1)
    for words in set(TABLES[which].values()):
        for code in re.findall("`([^`]+)`", words):
            first = re.match(r"(?:summary(?:\[name\])?\.)?(bayescal\.)?(\w+)", code)
            assert first is not None
            owner = bc if first[1] else RESULTS[which]
            assert hasattr(owner, first[2]) or hasattr(evaluation, first[2]), (which, code)


@pytest.mark.parametrize("which", RESULTS)
def test_results_can_still_be_copied(which):
    assert copy.copy(RESULTS[which]).spec == pickle.loads(pickle.dumps(RESULTS[which])).spec
    with pytest.raises(AttributeError, match="has no attribute '_repr_latex_'"):
        _ = RESULTS[which]._repr_latex_


def test_a_decision_curve_is_no_mapping():
    with pytest.raises(TypeError, match=r"`net_benefit\['b'\]`"):
        RESULTS["net_benefit"]["b"]
    with pytest.raises(TypeError, match=r"`net_benefit\['a'\]`"):
        list(RESULTS["net_benefit"])
