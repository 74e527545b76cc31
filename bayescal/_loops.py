"""When compiled loops over rows pay: numba takes seconds to compile, once, and most of a second to load."""

import os
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from types import ModuleType
from typing import Any

from numpy.typing import NDArray

from bayescal import _checks

#: Seconds that numpy has spent on one kind of loop before it is compiled: about what loading compiled code costs.
WORTH = 0.25
#: Rows from which a loop that is ready is taken; below, both are done before one notices.
FEW_ROWS = 5_000
#: What a user may set `BAYESCAL_COMPILE` to.
CHOICES = ("auto", "always", "never")

_spent: dict[tuple[object, ...], float] = {}


def compiled(name: str, columns: Sequence[NDArray[Any] | None], seconds: float) -> ModuleType | None:
    """Return the compiled loops if they pay for this call, else None; either way the same numbers come out.

    Parameters
    ----------
    name : str
        The loop.
    columns : sequence of ndarray or None
        Its arguments, the first of them with an entry a row; what is compiled depends on their kinds.
    seconds : float
        What numpy needs for this call, roughly.

    Returns
    -------
    module or None
        `bayescal._compiled`.

    Raises
    ------
    ValueError
        If the environment variable BAYESCAL_COMPILE is none of auto, always and never.

    Notes
    -----
    With "auto" a loop is compiled once numpy has spent `WORTH` seconds on it in this process, this call included: who
    counts a thousand rows never waits for a compiler, and who counts a stream does so once.
    """
    choice = _choice()
    given = [column for column in columns if column is not None]
    if choice == "never" or not all(map(_known_to_numba, given)):
        return None
    kind = (name, *((column.dtype, column.flags.c_contiguous, column.flags.writeable) for column in given))
    _spent[kind] = _spent.get(kind, 0.0) + seconds
    if choice == "auto" and (_spent[kind] < WORTH or len(given[0]) < FEW_ROWS):
        return None
    loops = _load()
    # a debugger's switch: what is not compiled then would be a Python loop over rows
    return None if loops is None or _switched_off() else loops


def compiles(possible: bool, pays: bool) -> bool:
    """Return whether other loops than those over rows are compiled.

    Parameters
    ----------
    possible : bool
        Whether they are compiled if BAYESCAL_COMPILE is ``"always"``.
    pays : bool
        The same for ``"auto"``.

    Returns
    -------
    bool
        False if it is ``"never"`` or numba cannot be imported.
    """
    choice = _choice()
    wanted = {"auto": pays, "always": possible, "never": False}[choice]
    return wanted and _load() is not None and not _switched_off()


def _choice() -> str:
    choice = os.environ.get("BAYESCAL_COMPILE", "auto")
    if choice not in CHOICES:
        raise ValueError(f"the environment variable BAYESCAL_COMPILE must be one of {CHOICES}, not {choice!r}.")
    return choice


def _switched_off() -> bool:
    """Whether numba compiles nothing, as its option for debugging asks."""
    import numba

    return bool(getattr(numba.config, "DISABLE_JIT", False))


@cache
def _load() -> ModuleType | None:
    """Import the compiled loops; None if numba cannot be imported, since numpy computes the same."""
    try:
        from bayescal import _compiled
    except ImportError:
        return None
    except Exception as problem:  # a file of the user that has the name of a module numba imports, such as coverage.py
        warnings.warn(
            f"numba cannot be imported ({type(problem).__name__}: {problem}); rows are counted without it, which is "
            "slower. Is a file of yours named like a module?",
            RuntimeWarning,
            skip_file_prefixes=_checks.PACKAGE,
        )
        return None
    return _compiled


def _known_to_numba(column: NDArray[Any]) -> bool:
    half_or_long = column.dtype.kind == "f" and column.dtype.itemsize not in (4, 8)
    return column.dtype.isnative and column.dtype.kind in "biuf" and not half_or_long


def in_threads[T](work: Callable[[int], T], parts: Iterable[int]) -> Iterator[T]:
    """Results of work on parts, in the order of the parts; one thread, unless BAYESCAL_THREADS asks for more.

    Parameters
    ----------
    work : callable
        What is done with a part; it lets other threads run.
    parts : iterable of int
        The parts.

    Returns
    -------
    iterator
        The results; the same with any number of threads.

    Raises
    ------
    ValueError
        If the environment variable BAYESCAL_THREADS is not a whole number above 0.
    """
    asked = os.environ.get("BAYESCAL_THREADS", "1")
    if not (asked.isdecimal() and int(asked) > 0):
        raise ValueError(f"the environment variable BAYESCAL_THREADS must be a whole number above 0, not {asked!r}.")
    parts = list(parts)
    if int(asked) == 1 or len(parts) < 2:
        return map(work, parts)
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(int(asked)) as pool:
        return iter(list(pool.map(work, parts)))
