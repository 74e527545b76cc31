"""Decides when to use compiled loops over rows: to import numba takes a second, and to compile a loop two more."""

import os
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path
from types import ModuleType

from bayescal import _checks
from bayescal._arrays import Array

#: Seconds that compiled loops need before they run: to load machine code from the disk, to import numba, to compile.
LOAD, IMPORT, COMPILE = 0.25, 0.75, 1.75
FEW_ROWS = 5_000  #: Minimum number of rows to use a compiled loop; with fewer, numpy is fast enough.
CHOICES = ("auto", "always", "never")  #: Values of the environment variable `BAYESCAL_COMPILE`.

_spent: dict[tuple[object, ...], float] = {}


def compiled(name: str, columns: Sequence[Array | None], seconds: float) -> ModuleType | None:
    """Return the compiled loops if they are worth loading for this call, otherwise None; results are the same.

    `columns` are the arguments of the loop, `seconds` is the approximate time of numpy. With "auto" in
    BAYESCAL_COMPILE, a loop is used once numpy has spent as many seconds on it in this process as the compiled one
    needs before it runs. So numba is not imported for few rows, and at most half of the time is lost.
    """
    choice = choice_of_user()
    arrays = [column for column in columns if column is not None]
    if choice == "never" or not all(map(_known_to_numba, arrays)):
        return None
    kind = (name, *((column.dtype, column.flags.c_contiguous, column.flags.writeable) for column in arrays))
    _spent[kind] = _spent.get(kind, 0.0) + seconds
    if choice == "auto" and (len(arrays[0]) < FEW_ROWS or _spent[kind] < _seconds_before_it_runs()):
        return None
    loops = _load()
    # if numba is switched off for debugging, these loops would run in Python, row by row
    return None if loops is None or _switched_off() else loops


def compiles(possible: bool, pays: bool) -> bool:
    """Return whether other loops than those over rows are compiled."""
    choice = choice_of_user()
    wanted = {"auto": pays, "always": possible, "never": False}[choice]
    return wanted and _load() is not None and not _switched_off()


def choice_of_user() -> str:
    """Return the value of the environment variable, which must be one of `CHOICES`."""
    choice = os.environ.get("BAYESCAL_COMPILE", "auto")
    if choice not in CHOICES:
        raise ValueError(f"the environment variable BAYESCAL_COMPILE must be one of {CHOICES}, not {choice!r}.")
    return choice


def _seconds_before_it_runs() -> float:
    return LOAD + (0.0 if "numba" in sys.modules else IMPORT) + (0.0 if in_cache() else COMPILE)


@cache
def in_cache(file: str = "_compiled.py") -> bool:
    """Whether the cache holds machine code of any loop of a file: in the folder NUMBA_CACHE_DIR, or beside the file."""
    source, folder = Path(__file__).parent / file, os.environ.get("NUMBA_CACHE_DIR")
    pattern = f"{source.stem}.*.py{sys.version_info[0]}{sys.version_info[1]}*.nbi"
    stored = Path(folder).glob(f"{source.parent.name}_*/{pattern}") if folder else None
    return any((source.parent / "__pycache__").glob(pattern) if stored is None else stored)


def _switched_off() -> bool:
    """Whether numba compiles nothing, as its option for debugging asks."""
    import numba

    return bool(getattr(numba.config, "DISABLE_JIT", False))


@cache
def _load() -> ModuleType | None:
    """Import the compiled loops; None if numba cannot be imported, because numpy computes the same numbers."""
    try:
        from bayescal import _compiled
    except ImportError:
        return None
    except Exception as problem:  # e.g. a file of the user named like a module that numba imports
        warnings.warn(
            f"numba cannot be imported ({type(problem).__name__}: {problem}); the work is done without it, which is "
            "slower. Is one of your files named like a module?",
            RuntimeWarning,
            skip_file_prefixes=_checks.PACKAGE,
        )
        return None
    return _compiled


def _known_to_numba(column: Array) -> bool:
    half_or_long = column.dtype.kind == "f" and column.dtype.itemsize not in (4, 8)
    return column.dtype.isnative and column.dtype.kind in "biuf" and not half_or_long


def in_threads[T](work: Callable[[int], T], parts: Iterable[int]) -> Iterator[T]:
    """Apply a function to parts, in one thread or in the number of threads given by BAYESCAL_THREADS."""
    threads = os.environ.get("BAYESCAL_THREADS", "1")
    if not (threads.isdecimal() and int(threads) > 0):
        raise ValueError(f"the environment variable BAYESCAL_THREADS must be a whole number above 0, not {threads!r}.")
    parts = list(parts)
    if int(threads) == 1 or len(parts) < 2:
        return map(work, parts)
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(int(threads)) as pool:
        return iter(list(pool.map(work, parts)))
