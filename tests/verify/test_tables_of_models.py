"""Tables of the models in PyMC: every class of the package has a model or a reason, before one is imported."""

import importlib
import pkgutil
import subprocess
import sys

import bayescal as bc
from bayescal._presented import Presented
from bayescal.verify import models

#: Bases that no result is made of directly.
MIXINS = {"Joint", "Judged", "OfEstimand"}


def classes():
    """Results, and the posteriors of the package."""
    skipped = ("bayescal.verify", "bayescal.__main__", "bayescal.cli", "bayescal.app", "bayescal.plugins.")
    for module in pkgutil.walk_packages(bc.__path__, "bayescal."):
        if not module.name.startswith(skipped):
            importlib.import_module(module.name)

    def below(kind):
        return {kind} | {each for sub in kind.__subclasses__() for each in below(sub)}

    of_modules = {
        thing
        for name, module in sys.modules.items()
        if name.startswith("bayescal.") and not name.startswith(skipped)
        for thing in vars(module).values()
        if isinstance(thing, type) and thing.__module__ == name and not getattr(thing, "_is_protocol", False)
    }
    posteriors = {each for each in of_modules if each.__name__.endswith("Posterior") and hasattr(each, "sample")}
    results = {each for each in below(Presented) - {Presented} if each.__module__.startswith("bayescal.")}
    return {each for each in results if each.__name__ not in MIXINS} | posteriors


def path(kind):
    return f"{kind.__module__}.{kind.__qualname__}"


def test_every_result_and_posterior_has_a_model_or_a_reason():
    tables, found = {*models.WRITERS, *models.reasons()["without"]}, classes()
    assert len(found) > 45
    assert [path(each) for each in found if not tables & {path(base) for base in each.__mro__}] == []
    assert set(models.WRITERS) & set(models.reasons()["without"]) == set()


def test_the_tables_name_classes_that_exist():
    for each in (*models.WRITERS, *models.reasons()["without"], *models.reasons()["before"]):
        module, _, name = each.rpartition(".")
        assert path(getattr(importlib.import_module(module), name)) == each


def test_models_are_loaded_when_they_are_needed():
    code = (
        "import sys, bayescal as bc; bc.pymc_model; bc.verify; ev = bc.evaluate([0, 1], [0.2, 0.7], rng=1)\n"
        "try: bc.pymc_model(None)\nexcept TypeError: print([m for m in ('pymc', 'bayescal.shift') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
