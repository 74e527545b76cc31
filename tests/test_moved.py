"""Names of release 0.1.0 that changed still work, warn, and are listed in the changelog."""

import dataclasses
import importlib
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import bayescal as bc
from bayescal import _moved
from bayescal._moved import FOLDERS, MODULES
from bayescal.estimands.scores import brier_score
from bayescal.report.comparison_shapes import comparison_shapes
from bayescal.verify import agreement, references, simulators

PACKAGE = Path(bc.__file__).parent
CHANGELOG = PACKAGE.parent / "docs" / "changelog.md"
for _name in bc.__all__:
    getattr(bc, _name)  # imports the file, which adds its changed names
#: Old names -> new ones.
NAMES = dict(_moved.NAMES)


@pytest.mark.parametrize("old", MODULES)
def test_a_module_that_moved_has_the_same_contents(old):
    sys.modules.pop(old, None)
    with pytest.warns(DeprecationWarning, match=rf"`{old}` is now `{MODULES[old]}`") as warned:
        module = importlib.import_module(old)
    new = importlib.import_module(MODULES[old])
    assert {n for n in vars(new) if not n.startswith("_")} <= set(vars(module))
    assert all(not w.filename.startswith(importlib.import_module("bayescal").__path__[0]) for w in warned)


@pytest.mark.parametrize(
    ("folder", "name"),
    [("bayescal.data.files", "open_predictions"), ("bayescal.posterior.shrinkage", "ShrinkagePosterior")],
)
def test_a_module_that_became_a_folder_has_its_names(folder, name):
    with pytest.warns(DeprecationWarning, match=rf"`{folder}.{name}` is now `{FOLDERS[folder]}.{name}`"):
        found = getattr(importlib.import_module(folder), name)
    assert found is getattr(importlib.import_module(FOLDERS[folder]), name)


@pytest.mark.parametrize("folder", FOLDERS)
def test_other_names_of_a_folder_are_refused(folder):
    with pytest.raises(AttributeError, match="no_such_name"):
        importlib.import_module(folder).no_such_name  # noqa: B018


def test_a_class_is_the_same_by_either_path():
    code = (
        "import warnings; warnings.simplefilter('ignore')\n"
        "from bayescal.monitor import CalibrationMonitor\nimport bayescal\n"
        "print(CalibrationMonitor is bayescal.CalibrationMonitor)"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "True\n"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("smooth drift", "logistic"),
        ("many bins off", "dense"),
        ("a few bins off", "sparse"),
        ("smooth drift, many bins off", "logistic_dense"),
        ("smooth drift, a few bins off", "logistic_sparse"),
    ],
)
def test_sub_models_are_found_by_the_words_of_release_0_1_0(old, new):
    ev = bc.evaluate([0, 1, 1, 0], [0.2, 0.7, 0.8, 0.9], rng=1)
    for values in (ev.sub_models, ev.posterior.log_evidence, ev.posterior.parameter_means()):
        with pytest.warns(DeprecationWarning, match=f"`'{old}'` is now `'{new}'`"):
            assert values[old] == pytest.approx(values[new], nan_ok=True)
        with pytest.warns(DeprecationWarning, match=f"`'{old}'`"):
            assert old in values
        with pytest.warns(DeprecationWarning, match=f"`'{old}'`"):
            assert values.get(old, 7) == pytest.approx(values[new], nan_ok=True)
        assert values.get("no such", 7) == 7
    with pytest.raises(KeyError, match="no such"):
        ev.sub_models["no such"]


# --- functions, attributes and parameters

KNOWN = {"draws": 100, "rng": 1}


@cache
def evaluation():
    return bc.evaluate([0, 1, 1, 0], [0.2, 0.7, 0.8, 0.9], bins=3, **KNOWN)


@cache
def comparison():
    return bc.compare([0, 1, 1, 0], {"a": [0.2, 0.7, 0.8, 0.9], "b": [0.3, 0.4, 0.9, 0.6]}, bins=3, **KNOWN)


@cache
def monitor():
    made = bc.CalibrationMonitor(bins=3, window=1, target="event")
    return made.add([0, 1, 1, 0], [0.2, 0.7, 0.8, 0.9], time=[0, 0, 1, 1])


def planned(**assurance):
    confidence = np.linspace(0.05, 0.95, 200)
    pilot = bc.BinnedCounts.from_arrays(np.random.default_rng(1).random(200) < confidence, confidence, bins=3)
    return bc.labels_needed(pilot, width=0.1, simulations=20, draws=100, rng=1, **assurance)


def refusal(call):
    """Return the message of the error that a call raises."""
    with pytest.raises((TypeError, AttributeError, ValueError)) as raised:
        call()
    return str(raised.value)


#: Records whose fields have changed.
RECORDS = {
    "Evaluation": evaluation,
    "ShrinkageDraws": lambda: evaluation().parameters,
    "Plan": cache(planned),
    "ComparisonShapes": lambda: comparison_shapes(comparison()),
}
#: Old name -> a use of it, and the same with the new name.
USES = {
    "lp_error(bins=)": (lambda: bc.lp_error(bins=evaluation().bin_draws), lambda: evaluation().lp_error()),
    "brier_score(bins=)": (
        lambda: brier_score(bins=evaluation().bin_draws, counts=evaluation().counts, rng=1),
        lambda: brier_score(evaluation().bin_draws, evaluation().counts, rng=1),
    ),
    "Comparison.models()": (
        lambda: [list(row.values()) for row in comparison().models(0.5)],
        lambda: [list(row.values()) for row in comparison().each(0.5)],
    ),
    "Comparison.rope_curve(widths=)": (
        lambda: comparison().rope_curve(widths=[0, 0.1]),
        lambda: comparison().rope_curve([0, 0.1]),
    ),
    "CalibrationMonitor.change(reference=)": (
        lambda: monitor().change(reference=(0, 1), **KNOWN).difference(),
        lambda: monitor().change((0, 1), **KNOWN).difference(),
    ),
    "agreement_with_reference(found=)": (
        lambda: refusal(lambda: agreement.agreement_with_reference(None, found=None)),
        lambda: refusal(lambda: agreement.agreement_with_reference(None, reference=None)),
    ),
    "labels_needed(probability=)": (lambda: planned(probability=0.6).rows, lambda: planned(assurance=0.6).rows),
    "Plan.rows_for(probability=)": (lambda: planned().rows_for(probability=0.7), lambda: planned().rows_for(0.7)),
}


def uses(old):
    """The old name and the new one, as functions without arguments that return the same value."""
    new = NAMES[old]
    if old in USES:
        return USES[old]
    if old.startswith("bayescal."):
        module = {each.__name__: each for each in (agreement, references, simulators)}[old.rpartition(".")[0]]
        return (lambda: getattr(module, old.rpartition(".")[2])), lambda: getattr(module, new.rpartition(".")[2])
    owner, _, name = old.rstrip("=)").replace("(", ".").partition(".")
    new_name = re.split(r"[.(]", new.rstrip("=)"))[1]
    if owner not in RECORDS:
        return (lambda: getattr(bc, owner)(bins=evaluation().bin_draws)), lambda: getattr(evaluation(), owner)
    record = RECORDS[owner]()
    if "(" not in old:
        return (lambda: getattr(record, name)), lambda: getattr(record, new_name)
    given = {field.name: getattr(record, field.name) for field in dataclasses.fields(record)}
    value = given.pop(new_name)
    return (lambda: getattr(type(record)(**{name: value}, **given), new_name)), lambda: value


@pytest.mark.parametrize("old", NAMES)
def test_an_old_name_gives_the_same_and_warns(old):
    former, now = uses(old)
    message = f"`{old}` is now `{NAMES[old]}`; the old name will be removed in release 0.3."
    with pytest.warns(DeprecationWarning, match=f"^{re.escape(message)}$") as warned:
        found = former()
    assert [Path(w.filename) for w in warned] == [Path(__file__)]
    expected = now()
    assert type(found) is type(expected)
    if isinstance(expected, list | bc.Draws):
        np.testing.assert_array_equal(np.asarray(found), np.asarray(expected))
    else:
        assert found is expected or np.array_equal(found, expected)


def test_rows_of_models_have_the_key_model():
    with pytest.warns(DeprecationWarning, match="models"):
        assert [row["model"] for row in comparison().models()] == ["a", "b"]


def test_an_old_name_beside_the_new_one_is_refused():
    with pytest.raises(TypeError, match=r"`bins` is the former name of `bin_draws`; give `bin_draws` only\."):
        bc.ece(evaluation().bin_draws, bins=1, bin_draws=2)


def test_the_default_prior_of_the_dirichlet_model():
    counts = evaluation().counts
    with pytest.warns(DeprecationWarning, match="`'reference'` is now `'two-rows'`"):
        found = bc.dirichlet_posterior(counts, alpha="reference")
    np.testing.assert_array_equal(found.alpha, bc.dirichlet_posterior(counts, alpha="two-rows").alpha)
    assert found.prior == "two-rows prior"
    np.testing.assert_array_equal(found.alpha, 1 / 3)


@pytest.mark.parametrize(
    "of",
    [
        lambda change, name: change[name],
        lambda change, name: change.evaluations[name],
        lambda change, name: change.spans[name],
        lambda change, name: change.p_best()[name],
        lambda change, name: change.difference(name, "now").mean(),
        lambda change, name: change.decide("now", name),
        lambda change, name: change.rope_curve([0.1], "now", name).tolist(),
    ],
)
def test_the_baseline_of_a_change(of):
    change = monitor().change(**KNOWN)
    with pytest.warns(DeprecationWarning, match="`'reference'` is now `'baseline'`"):
        found = of(change, "reference")
    assert found == of(change, "baseline")
    with pytest.raises((KeyError, ValueError), match="no such"):
        of(change, "no such")


def test_names_that_are_no_attribute_of_a_module_are_refused():
    with pytest.raises(AttributeError, match="no_such_name"):
        simulators.no_such_name  # noqa: B018


def test_the_module_compare_does_not_hide_the_function():
    code = (
        "import warnings; warnings.simplefilter('ignore')\n"
        "from bayescal.compare import SameRowsWarning\nimport bayescal\n"
        "from bayescal.analyses.compare import compare\n"
        "print(bayescal.compare is compare)"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "True\n"


# --- the changelog


def former_values():
    """Keys and values of arguments that changed, of all modules that have some."""
    for path in PACKAGE.rglob("*.py"):
        if "\nFORMER = " in path.read_text(encoding="utf-8"):
            module = importlib.import_module(".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts))
            yield from ((repr(old), repr(new)) for old, new in module.FORMER.items())


def test_the_changelog_lists_all_names_that_changed():
    section = CHANGELOG.read_text(encoding="utf-8").split("### Names that changed")[1].split("\n### ")[0]
    listed = re.findall(r"^\| `(.+?)`.* \| `(.+)` \|$", section, re.M)
    changed = [*NAMES.items(), *MODULES.items(), *FOLDERS.items(), *former_values()]
    assert sorted(listed) == sorted(changed)


def test_every_file_with_a_changed_name_was_read():
    for path in PACKAGE.rglob("*.py"):
        if re.search(r"_moved\.(keywords|fields|method|functions|Attribute)\(", path.read_text(encoding="utf-8")):
            module = ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts)
            assert module in sys.modules, module
    assert _moved.NAMES == NAMES
