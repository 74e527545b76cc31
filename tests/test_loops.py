"""When compiled loops are used: after enough work of numpy, and never without numba."""

import importlib
import os
import subprocess
import sys

import numpy as np
import pytest

import bayescal as bc
from bayescal import _loops


def test_a_loop_is_compiled_when_numpy_has_worked_long_enough(monkeypatch):
    monkeypatch.delenv("BAYESCAL_COMPILE", raising=False)
    monkeypatch.setattr(_loops, "_spent", {})
    monkeypatch.setattr(_loops, "in_cache", lambda: True)
    importlib.import_module("numba")
    column = np.zeros(_loops.FEW_ROWS)
    asked = [_loops.compiled("a loop", [column, None], 0.4 * _loops.LOAD) is not None for _ in range(4)]
    assert asked == [False, False, True, True]
    assert _loops.compiled("a loop", [column[:-1]], 0.0) is None  # too few rows to notice
    assert _loops.compiled("a loop", [column.astype(np.float16)], 9.0) is None  # numba has no half precision
    assert _loops.compiled("a loop", [column.astype(">f8")], 9.0) is None
    assert _loops.compiled("another", [column], 0.0) is None


@pytest.mark.parametrize("version", ["313", "27"])
@pytest.mark.parametrize("numba_is_imported", [False, True])
def test_numpy_works_as_long_as_the_compiled_loop_needs_to_begin(numba_is_imported, version, monkeypatch, tmp_path):
    """Code in the cache counts only if it is for this version of Python; `LOAD` is needed in any case."""
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(sys, "version_info", (3, 13, 0))
    monkeypatch.delitem(sys.modules, "numba", raising=False)
    if numba_is_imported:
        monkeypatch.setitem(sys.modules, "numba", None)
    seconds = _loops.LOAD + (0 if numba_is_imported else _loops.IMPORT)
    assert _loops.in_cache.__wrapped__() is False
    (tmp_path / "bayescal_0123").mkdir()
    (tmp_path / "bayescal_0123" / f"_compiled._add-107.py{version}.nbi").touch()
    monkeypatch.setattr(_loops, "in_cache", _loops.in_cache.__wrapped__)
    assert _loops._seconds_before_it_runs() == seconds + (0 if version == "313" else _loops.COMPILE)


def test_the_environment_variable_is_checked(monkeypatch):
    monkeypatch.setenv("BAYESCAL_COMPILE", "yes")
    with pytest.raises(ValueError, match="BAYESCAL_COMPILE must be one of"):
        bc.plug_in_ece([0, 1], [0.2, 0.7])


def test_without_numba_numpy_does_the_same():
    """In a process in which importing numba fails."""
    code = """
import sys
sys.modules["numba"] = None
import numpy as np, bayescal as bc
c = np.random.default_rng(1).random(50_000)
print(repr(bc.BinnedCounts.from_arrays(c < 0.3, c).deviation.tolist()))
"""
    environment = {**os.environ, "BAYESCAL_COMPILE": "always"}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    c = np.random.default_rng(1).random(50_000)
    assert done.stdout.strip() == repr(bc.BinnedCounts.from_arrays(c < 0.3, c).deviation.tolist())


def test_where_numba_is_told_not_to_compile_numpy_counts(monkeypatch):
    """A switch of debuggers and of coverage; the loops would be Python's, over rows."""
    import numba

    monkeypatch.setenv("BAYESCAL_COMPILE", "always")
    assert _loops.compiled("rows", [np.zeros(10)], 0.0) is not None
    monkeypatch.setattr(numba.config, "DISABLE_JIT", 1)
    assert _loops.compiled("rows", [np.zeros(10)], 0.0) is None
