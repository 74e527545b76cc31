"""Run a function on many jobs, in one process or several, with or without a progress bar; random streams by name."""

import pickle
from collections.abc import Callable, Iterable, Iterator, Sequence
from hashlib import blake2b
from typing import Any

import numpy as np

from bayescal import _checks
from bayescal._progress import bar


def run_jobs[Job, Result](
    function: Callable[[Job], Result],
    jobs: Sequence[Job],
    *,
    workers: int = 1,
    progress: bool = False,
    description: str = "",
) -> Iterator[Result]:
    """Run a function on every job; results are in the order of the jobs.

    Parameters
    ----------
    function : callable
        Function of one job.
    jobs : sequence
        Arguments of the function. A job that is random must contain its generator, so that results do not depend on
        `workers`.
    workers : int, default 1
        Number of processes. With 1, jobs run in this process.
    progress : bool, default False
        Whether to show a progress bar, on standard error.
    description : str
        Label of the bar.

    Yields
    ------
    result
        Result of each job.

    Raises
    ------
    TypeError
        If `workers` is above 1 and a job cannot be pickled.

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
    # spawned, because forks of a process with threads may hang
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        yield from _shown(pool.map(function, jobs), len(jobs), progress, description)


def named_streams(rng: np.random.Generator) -> Callable[..., np.random.Generator]:
    """Make a function from names to generators, so that adding a job changes the randomness of no other job.

    Parameters
    ----------
    rng : Generator
        Randomness; one number is drawn from it.

    Returns
    -------
    callable
        ``(*names) -> Generator``: the same names give the same stream, other names an independent one.

    Examples
    --------
    >>> stream_of = named_streams(np.random.default_rng(1))
    >>> stream_of("slope").random() == stream_of("slope").random() != stream_of("intercept").random()
    True
    """
    entropy = _checks.seeds(rng, 1)[0]

    def stream_of(*names: str) -> np.random.Generator:
        digest = blake2b("\x1f".join(names).encode(), digest_size=16).digest()
        return np.random.default_rng([entropy, *np.frombuffer(digest, np.uint32).tolist()])

    return stream_of


def _require_sendable(job: Any) -> None:
    try:
        pickle.dumps(job)
    except (pickle.PicklingError, AttributeError, TypeError) as problem:
        raise TypeError(
            "with `workers` above 1, other processes must be able to import every function, which excludes lambdas and "
            f"functions inside functions ({problem}). Move it to the top of a module, or use `workers=1`."
        ) from problem


def _shown(results: Iterable[Any], total: int, progress: bool, description: str) -> Iterator[Any]:
    with bar(total, description, progress) as advance:
        for result in results:
            yield result
            advance()
