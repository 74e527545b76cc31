"""The same work many times over: in this process or in several, with or without a progress bar."""

import pickle
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from bayescal import _checks


def run_jobs[Job, Result](
    function: Callable[[Job], Result],
    jobs: Sequence[Job],
    *,
    workers: int = 1,
    progress: bool = False,
    description: str = "",
) -> Iterator[Result]:
    """Do every job; results come in the order of the jobs.

    Parameters
    ----------
    function : callable
        Of one job.
    jobs : sequence
        What to do. Whatever is random in a job must be in it, so that workers change nothing.
    workers : int, default 1
        Processes; 1 is this one.
    progress : bool, default False
        Whether to show a progress bar, on standard error.
    description : str
        What the bar says.

    Yields
    ------
    result
        Of each job.

    Raises
    ------
    TypeError
        If a job cannot be sent to another process.

    Examples
    --------
    >>> list(run_jobs(abs, [-1, 2, -3]))
    [1, 2, 3]
    """
    workers = min(_checks.whole_number("workers", workers), max(len(jobs), 1))
    if workers == 1:
        yield from _shown(map(function, jobs), len(jobs), progress, description)
        return
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    _require_sendable(jobs[0])
    # new processes, not forks: those of a process with threads may hang
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        yield from _shown(pool.map(function, jobs), len(jobs), progress, description)


def _require_sendable(job: Any) -> None:
    try:
        pickle.dumps(job)
    except (pickle.PicklingError, AttributeError, TypeError) as problem:
        raise TypeError(
            f"with `workers` above 1 every function must be one that another process can import, unlike a lambda or a "
            f"function inside a function ({problem}). Move it to the top of a module, or use `workers=1`."
        ) from problem


def _shown(results: Iterable[Any], total: int, progress: bool, description: str) -> Iterator[Any]:
    if not progress:
        yield from results
        return
    from rich.console import Console
    from rich.progress import track

    yield from track(results, description=description, total=total, console=Console(stderr=True))
