"""A lock for objects that are pickled, copied or inherited by a forked process."""

import os
from threading import Lock


class ProcessLock:
    """A lock that is held only in the process that acquired it.

    A fork copies a lock but not the thread that holds it, so an ordinary lock could stay locked in the child forever.
    This class keeps one lock per process. Unpickling or deep-copying it creates a new lock.
    """

    def __init__(self) -> None:
        self._of_process: dict[int, Lock] = {}

    def __enter__(self) -> None:
        self._own().acquire()

    def __exit__(self, *_: object) -> None:
        self._own().release()

    def __reduce__(self) -> tuple[type["ProcessLock"], tuple[()]]:
        return ProcessLock, ()

    def _own(self) -> Lock:
        return self._of_process.setdefault(os.getpid(), Lock())  # atomic: all threads get the same lock
