"""The cache of compiled code: damaged, missing, or on a full disk."""

import os
import subprocess
import sys

import numpy as np
import pytest


def test_a_full_disk_is_no_reason_not_to_count(monkeypatch):
    from numba.core import caching

    from bayescal import _jit

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(caching.IndexDataCacheFile, "save", full)
    assert _jit.compiled()(lambda x: x + 1)(1) == 2


def triple(x):
    return 3 * x


@pytest.fixture
def cached(tmp_path, monkeypatch):
    """Compile a function as in a new process, with a cache on disk."""
    numba = pytest.importorskip("numba")
    from bayescal import _jit

    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))

    def compile_and_call():
        made = _jit.compiled()(triple)
        assert made(14) == 42
        return sum(made.stats.cache_hits.values())

    assert [compile_and_call(), compile_and_call()] == [0, 1]
    return compile_and_call


def test_a_part_is_compiled_within_its_callers_once_for_all_constants(tmp_path, monkeypatch):
    """Callers have its machine code: where the cache has theirs, it is not even lowered."""
    numba = pytest.importorskip("numba")
    from bayescal import _jit

    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    in_python, results = power, []
    for _ in range(2):
        part = _jit.compiled(part=True)(in_python)
        monkeypatch.setitem(globals(), "power", part)
        results.append((_jit.compiled(folder=True)(sum_of_powers)(3.0), [*part.overloads.values()]))
    (first, (lowered,)), (second, none) = results
    assert first == second == 1 + 9 + 27
    assert none == []
    assert lowered.library.get_pointer_to_function(lowered.fndesc.llvm_func_name) == 0


def power(x, n):
    result = 1.0
    for _ in range(n):
        result *= x
    return result


def sum_of_powers(x):
    return power(x, 0) + power(x, 2) + power(x, n=3)


@pytest.mark.parametrize("suffix", ["nbi", "nbc"])
def test_a_cache_that_was_cut_short_is_compiled_anew(suffix, cached, tmp_path):
    """The cache may be cut at any length; afterwards it is complete again."""
    (file,) = tmp_path.rglob(f"*.{suffix}")
    whole = file.read_bytes()
    for length in (0, 1, len(whole) // 2, len(whole) - 40):  # the last 32 bytes are a digest
        file.write_bytes(whole[:length])
        assert [cached(), cached()] == [0, 1]
    file.write_bytes(b"no pickle")
    assert [cached(), cached()] == [0, 1]


def test_a_cache_with_a_wrong_bit_is_compiled_anew(cached, tmp_path):
    """Without detection, one in ten wrong bits crashes the process and some give wrong numbers."""
    (file,) = tmp_path.rglob("*.nbc")
    for part in np.linspace(0, 1, 12):
        damaged = bytearray(file.read_bytes())  # compiled anew it may be a few bytes longer or shorter
        damaged[int(part * (len(damaged) - 1))] ^= 16
        file.write_bytes(damaged)
        assert [cached(), cached()] == [0, 1]


@pytest.mark.parametrize("suffix", ["nbi", "nbc"])
def test_a_cache_that_can_be_neither_read_nor_repaired(suffix, cached, tmp_path):
    (file,) = tmp_path.rglob(f"*.{suffix}")
    file.unlink()
    file.mkdir()
    assert [cached(), cached()] == [0, 0]


def test_no_folder_for_the_cache(tmp_path, monkeypatch):
    from numba.core import caching

    from bayescal import _jit

    def refuse(*_):
        raise PermissionError(13, "Permission denied")

    for locator in caching.CompileResultCacheImpl._locator_classes:
        monkeypatch.setattr(locator, "ensure_cache_path", refuse)
    assert _jit.compiled()(triple)(14) == 42


def test_a_damaged_cache_of_the_package_in_a_new_process(tmp_path, monkeypatch):
    """Use a real process without a home folder."""
    numba = pytest.importorskip("numba")
    from bayescal import _jit

    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    from bayescal import _compiled

    assert _jit.compiled()(_compiled._in_range.py_func)(np.array([0, 1, 0]))
    code = "import numpy as np; from bayescal import _compiled; print(_compiled._in_range(np.array([0, 1, 0])))"
    environment = {k: v for k, v in os.environ.items() if k not in ("HOME", "XDG_CACHE_HOME")}
    environment |= {"NUMBA_CACHE_DIR": str(tmp_path), "BAYESCAL_COMPILE": "always"}
    files = [*tmp_path.rglob("*.nbi"), *tmp_path.rglob("*.nbc")]
    assert len(files) == 2
    for file in files:
        file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])
    halves = {file: file.stat().st_size for file in files}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "True\n", "")
    assert all(file.stat().st_size > size for file, size in halves.items())
