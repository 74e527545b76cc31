"""Optional packages."""

import subprocess
import sys

import pytest

from bayescal._packages import installed, require


def test_a_missing_package_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "arviz", None)
    with pytest.raises(ModuleNotFoundError, match=r"which is not installed: `pip install arviz`\.") as raised:
        require("matplotlib", "arviz")
    assert raised.value.name == "arviz"


def test_a_module_is_found_without_being_imported():
    assert installed("numpy")
    assert not installed("a_package_that_nobody_has_written")
    code = "import sys; from bayescal._packages import installed; print(installed('arviz'), 'arviz' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "True False\n"


@pytest.mark.parametrize("way", ["bayescal.plugins.torchmetrics", "import_module('bayescal.plugins.torchmetrics')"])
def test_an_adapter_without_its_program_names_it(way):
    code = f"""
import sys
from importlib import import_module
import bayescal
sys.modules["torchmetrics"] = sys.modules["torch"] = None
try:
    {way}
except ModuleNotFoundError as problem:
    print(problem)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    said = "The metric `CalibrationPosterior` needs torchmetrics, which is not installed: `pip install torchmetrics`."
    assert done.stdout.strip() == said
