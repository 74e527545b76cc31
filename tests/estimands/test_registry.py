"""The registry: which records are refused, the order, synonyms, and errors that name the right estimand."""

import subprocess
import sys

import numpy as np
import pytest

import bayescal as bc
from bayescal.estimands.registry import RESERVED, as_estimand, estimand, estimand_called, registered

SHIFTS = ({"shift": "label"}, {"shift": "covariate", "weights": np.ones(60)})


def test_names_with_another_meaning_are_reserved():
    """Every public attribute of an evaluation, and every entry of its data tree, that is no estimand."""
    y, p = [0, 1, 1] * 20, [0.2, 0.7, 0.9] * 20
    shifted = (bc.evaluate_shifted(y, p, p, draws=50, rng=1, **each) for each in SHIFTS)
    for ev in (bc.evaluate(y, p, draws=50, rng=1), *shifted):
        tree = ev.to_datatree()
        names = {name for name in dir(ev) if not name.startswith("_")} | set(tree["posterior"].variables)
        assert names - set(registered()) <= RESERVED


def test_an_estimand_can_be_defined_again(registry, rows):
    """As when a notebook cell runs twice: the later definition holds."""
    y, p = rows
    before = bc.evaluate(y, p, draws=20, rng=1)
    groups = bc.evaluate(y, p, by=p > 0.5, draws=20, rng=1)
    for size in (1.0, 2.0):

        @estimand("twice", better="larger", bounds=(0, 2))
        def twice(bins, size=size):
            return np.full(len(bins), size)

        assert before.twice.mean() == size
        assert np.all(groups.draws("twice").values == size)
    assert bc.evaluate(y, p, draws=20, rng=1).twice.mean() == 2


def test_errors_come_first_whichever_file_is_imported_first():
    code = "import bayescal.estimands.scores\nfrom bayescal.estimands.registry import registered\nprint(*registered())"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert (shown[0], shown[-4:]) == ("ece", ["log_score", "scaled_brier_score", "augrc", "atb"])


def test_own_estimands_come_last_in_a_fresh_process():
    code = """
import bayescal as bc
bc.register_estimand(bc.Estimand("own", bc.ece, "own"))
try:
    bc.register_estimand(bc.Estimand("e90_bins", lambda bins: bins.mass[:, 0], "own"))
except ValueError as problem:
    print(problem)
print([row["quantity"] for row in bc.evaluate([0, 1, 1], [0.2, 0.7, 0.9], rng=1).table()])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    refused, table = done.stdout.splitlines()
    assert refused.startswith("`name` must be new; 'e90_bins'")
    assert table.startswith("['ece', ")
    assert table.endswith(", 'own']")


def test_one_estimand_in_three_forms():
    """By name, as a function and as a record it is the same record."""
    assert as_estimand("ece") is as_estimand(bc.ece) is as_estimand(registered()["ece"])
    own = as_estimand(lambda bins: bins.mass[:, 0])
    assert (own.symbol, own.better, own.reported) == ("<lambda>", "nearest zero", False)


def test_the_words_of_each_estimand():
    words = {key: (each.words("top-label"), each.words("event")) for key, each in registered().items()}
    assert words == {
        "ece": ("ECE", "ECE"),
        "l2_error": ("l_2 error", "l_2 error"),
        "e90_bins": ("E90 of bins", "E90 of bins"),
        "signed_error": ("signed error", "signed error"),
        "overconfidence": ("over-confidence", "error of probabilities stated too high"),
        "underconfidence": ("under-confidence", "error of probabilities stated too low"),
        "accuracy": ("accuracy", "accuracy"),
        "auc": ("top-label AUC", "AUC"),
        "squared_l2_error": ("squared l_2 error", "squared l_2 error"),
        "brier_score": ("top-label Brier score", "Brier score"),
        "log_score": ("top-label log score", "log score"),
        "scaled_brier_score": ("top-label scaled Brier score", "scaled Brier score"),
        "largest_regret": ("largest regret", "largest regret"),
        "augrc": ("AUGRC", "AUGRC"),
        "atb": ("ATB", "ATB"),
    }


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("roc_auc", "is `evaluation.auc`"),
        ("roc_auc_score", "is `evaluation.auc`"),
        ("log_loss", "The log score is `evaluation.log_score`"),
        ("NLL", "The log score is `evaluation.log_score`"),
        ("acu", "Did you mean 'auc' or 'accuracy' or 'augrc'?"),  # attributes and estimands, named once
        ("cross_entropy", "`evaluation.log_score`"),
        ("brier", "`evaluation.brier_score`"),
        ("brier_score_loss", "`evaluation.brier_score`"),
        ("rmsce", "`evaluation.l2_error`"),
        ("max_error", "The 90th percentile of the absolute error (E90 of bins) is `evaluation.e90_bins`"),
        ("e90", "`e90_bins` over bins, and `e90` of `bayescal.clinical.calibration_curve(y_true, y_prob)`"),
        (
            "mce",
            "draws and plug-in value of the MCE are `bayescal.estimands.largest_error(bayescal.evaluate(",
        ),
        (
            "max_calibration_error",
            "value of the MCE are `bayescal.estimands.largest_error(",
        ),
        ("ace", "The adaptive calibration error is `bayescal.evaluate(y_true, y_prob, binning='equal-mass').ece`"),
        ("ACE", "The average calibration error is no estimand of this package"),
        ("to_fram", "Did you mean 'to_frame'"),
        ("xyzzy_plugh", "no attribute 'xyzzy_plugh'."),
    ],
)
def test_an_unknown_attribute_names_the_right_one(rows, name, said):
    ev = bc.evaluate(*rows, draws=10, rng=1)
    with pytest.raises(AttributeError) as caught:
        getattr(ev, name)
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("log_score", "The log score is `bayescal.evaluate(y_true, y_prob).log_score`."),
        ("brier_score", "`bayescal.evaluate(y_true, y_prob).brier_score`"),
        ("expected_calibration_error", "`bayescal.evaluate(y_true, y_prob).ece`"),
        ("mce", "order=float('inf')"),
        ("evaluat", "Did you mean `bayescal.evaluate`"),
    ],
)
def test_an_unknown_name_of_the_package_names_the_right_one(name, said):
    with pytest.raises(AttributeError) as caught:
        getattr(bc, name)
    assert said in str(caught.value)


def test_unknown_names_do_not_hide_modules_and_protocols():
    assert not hasattr(bc, "__wrapped__")
    assert not hasattr(bc, "_nothing")
    from bayescal import report

    assert report.__name__ == "bayescal.report"


def test_every_synonym_leads_to_its_estimand():
    """Each name in the registry is found; of two estimands with one synonym, the first."""
    taken = set()
    for each in registered().values():
        for word in (each.name, each.symbol, each.title, *each.synonyms):
            if word not in taken:
                assert estimand_called(word.upper().replace(" ", "_")) is each
            taken.add(word)


def test_a_table_of_chosen_estimands(rows):
    ev = bc.evaluate(*rows, draws=200, rng=1)
    chosen = ["auc", "ece", lambda bins: bins.mass[:, 0]]
    assert [row["quantity"] for row in ev.table(estimands=chosen)] == ["auc", "ece", "<lambda>"]
    assert ev.table(estimands=["auc"])[0]["mean"] == ev.auc.mean()
    assert list(ev.to_frame(estimands=["auc", "brier_score"]).index) == ["auc", "brier_score"]
    assert list(ev.summary(estimands=["log_score"]).index) == ["log_score"]
    assert [row[0] for row in ev.sheet(estimands=chosen).rows] == ["auc", "ece", "<lambda>"]
    assert "auc" in ev.to_latex(estimands=["auc"])
    with pytest.raises(TypeError, match=r"must be a list of estimands, as in `estimands=\['auc'\]`"):
        ev.table(estimands="auc")
    with pytest.raises(ValueError, match="`estimands` is empty"):
        ev.table(estimands=[])


def test_example_of_estimand_called():
    assert [estimand_called(name).name for name in ("roc_auc_score", "LogLoss", "brier", "RMSCE")] == [
        "auc",
        "log_score",
        "brier_score",
        "l2_error",
    ]
