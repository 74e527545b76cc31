"""A progress bar on standard error, for work that consists of many equal parts."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from time import monotonic

SECONDS_BEFORE_BAR = 2.0  #: Seconds of work after which a bar appears by itself.


@contextmanager
def bar(total: int, description: str, progress: bool | None = None, wait: str = "") -> Iterator[Callable[[], None]]:
    """Write `wait`, if any, and show how many parts of some work are done; yield a function to call after each part."""
    if not (progress is None or isinstance(progress, bool)):
        raise TypeError(f"`progress` must be True, False or None, not {progress!r}.")
    terminal = sys.stderr is not None and sys.stderr.isatty()
    if progress is False or sys.stderr is None or not (terminal or progress):
        yield lambda: None
        return
    if wait:
        print(wait, file=sys.stderr, flush=True)
    if terminal:
        yield from _moving_bar(total, description, 0.0 if progress else SECONDS_BEFORE_BAR)
    else:
        yield _lines(total, description)


def _moving_bar(total: int, description: str, patience: float) -> Iterator[Callable[[], None]]:
    """Yield a function that moves a bar, which appears when the work has taken so many seconds."""
    from rich.console import Console
    from rich.progress import Progress

    # in a notebook, rich would display the bar among the results
    shown = Progress(console=Console(stderr=True, force_jupyter=False), transient=True)
    task, begin = shown.add_task(description, total=total), monotonic()
    started = False

    def advance() -> None:
        nonlocal started
        shown.advance(task)
        if not started and monotonic() - begin >= patience:
            started = True
            shown.start()

    try:
        yield advance
    finally:
        if started:
            shown.stop()


def _lines(total: int, description: str) -> Callable[[], None]:
    """Return a function that writes a line whenever another tenth of the work is done."""
    parts = count(1)

    def advance() -> None:
        done = next(parts)
        if 10 * done // total > 10 * (done - 1) // total:
            print(f"{description}: {done} of {total}", file=sys.stderr, flush=True)

    return advance
