"""Names of release 0.1.0 that moved still work, and warn."""

import importlib
import subprocess
import sys

import pytest

import bayescal as bc
from bayescal._moved import FOLDERS, MODULES


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


@pytest.mark.parametrize(
    ("module", "old", "new"),
    [
        ("bayescal.verify.simulators", "reference_simulator", "dirichlet_simulator"),
        ("bayescal.verify.simulators", "ReferenceSimulator", "DirichletSimulator"),
        ("bayescal.verify.references", "mirror", "pymc_model"),
    ],
)
def test_a_name_that_changed_within_its_module_still_works(module, old, new):
    with pytest.warns(DeprecationWarning, match=rf"`{module}.{old}` is now `{module}.{new}`") as warned:
        found = getattr(importlib.import_module(module), old)
    assert found is getattr(importlib.import_module(module), new)
    assert warned[0].filename == __file__
    with pytest.raises(AttributeError, match=f"module '{module}' has no attribute 'no_such_name'"):
        importlib.import_module(module).no_such_name  # noqa: B018


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
        assert old not in values
    with pytest.raises(KeyError, match="no such"):
        ev.sub_models["no such"]
