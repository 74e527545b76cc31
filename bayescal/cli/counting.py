"""A bar on the terminal that shows how many rows of a file have been read."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from bayescal import _render
from bayescal.cli.words import console
from bayescal.stats.files import COUNTING, EDGES, Progress

#: Words for the passes over a file.
STEPS = {COUNTING: "Counting", EDGES: "Edges of bins"}


class Bars:
    """One bar per pass over a file, on stderr if that is a terminal; a file of one block has none."""

    def __init__(self, file: str) -> None:
        self._file, self._step = file, ""
        self._bar: Any = None
        self._task: Any = None

    def __call__(self, at: Progress) -> None:
        """Show how far a pass has come."""
        if at.step != self._step:
            self._begin(at)
        if at.about is None or at.rows < at.about:
            self._bar.start()
        of_all = "" if at.about is None else f" of {at.about:,}"
        self._bar.update(self._task, completed=at.rows, so_far=f"{at.rows:,}{of_all} rows")

    def _begin(self, at: Progress) -> None:
        from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

        self.stop()
        columns = (
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            TextColumn("{task.fields[so_far]}", markup=False),
            TimeRemainingColumn(),
        )
        screen = console(stderr=True)
        self._bar = Progress(*columns, console=screen, transient=True, disable=not screen.is_terminal)
        self._task = self._bar.add_task(f"{STEPS[at.step]} '{_render.name(self._file)}'", total=at.about, so_far="")
        self._step = at.step

    def stop(self) -> None:
        """Remove the bar."""
        if self._bar is not None:
            self._bar.stop()


@contextmanager
def bars(file: str) -> Iterator[Bars]:
    """Show bars while a file is read; yield the argument `progress` of functions that read it."""
    shown = Bars(file)
    try:
        yield shown
    finally:
        shown.stop()
