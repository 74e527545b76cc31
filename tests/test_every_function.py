"""Every public function: no foreign warning for any valid input, and the same bits in other processes.

``BAYESCAL_INPUTS=2000 pytest tests/test_every_function.py`` tries 2000 generated inputs in all; by default each
function gets one.
"""

import importlib.util
import inspect
import json
import os
import pickle
import subprocess
import sys
from pathlib import Path

import cloudpickle
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import bayescal as bc
from bayescal._lazy import former_names

FILE = Path(__file__).with_name("every_function.py")
SPEC = importlib.util.spec_from_file_location("every_function", FILE)
every = importlib.util.module_from_spec(SPEC)
sys.modules["every_function"] = every  # dataclasses look their module up
SPEC.loader.exec_module(every)

NAMES = [*every.CALLS, *every.DRAWN]
INPUTS = max(1, int(os.environ.get("BAYESCAL_INPUTS", "0")) // len(NAMES) + 1)


def test_every_function_is_called():
    functions = {name for name in (*bc.__all__, *former_names()) if inspect.isfunction(getattr(bc, name))}
    called = {part for name in NAMES for part in name.split(", ")}
    assert functions - every.ELSEWHERE <= called


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=INPUTS, derandomize=True, deadline=None, database=None, suppress_health_check=list(HealthCheck))
@given(
    seed=st.integers(0, 999),
    n=st.integers(1, 50),
    scores=st.sampled_from(list(every.SCORES)),
    outcomes=st.sampled_from(list(every.OUTCOMES)),
    weights=st.sampled_from(list(every.WEIGHTS)),
)
def test_no_foreign_warning_and_no_foreign_error(name, seed, n, scores, outcomes, weights):
    """Warnings of the package itself, and errors that it raises, are answers; those of numpy are not."""
    assert every.unexpected(name, every.generated(seed, n, scores, outcomes, weights)) == []


@pytest.mark.parametrize("module", [pickle, cloudpickle])
def test_the_package_is_pickled_by_its_name(module):
    """As cloudpickle does for modules; functions that name the package as `bc` hold it."""
    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
        assert module.loads(module.dumps(bc, protocol=protocol)) is bc


@pytest.mark.slow
def test_results_in_processes_of_joblib_have_the_same_bits():
    """From functions of a script, which joblib sends by value, with the package that they name."""
    environment = {**os.environ, "BAYESCAL_COMPILE": "never", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, FILE], capture_output=True, text=True, check=False, env=environment, timeout=300
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == []
