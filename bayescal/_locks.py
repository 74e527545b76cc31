"""A lock for objects that are pickled, copied or inherited by a forked process."""

import os
from threading import RLock


class ProcessLock:
    """A lock that is held only in the process that acquired it, and that unpickling or deep-copying makes anew.

    A fork copies a lock but not the thread that holds it, so an ordinary lock could stay locked in the child forever.
    The thread that holds the lock may acquire it again, as in a signal handler, which would otherwise wait for itself.
    """

    def __init__(self) -> None:
        self._of_process: dict[int, RLock] = {}

    def __enter__(self) -> None:
        self._lock_of_process().acquire()

    def __exit__(self, *_: object) -> None:
        self._lock_of_process().release()

    def __reduce__(self) -> tuple[type["ProcessLock"], tuple[()]]:
        return ProcessLock, ()

    def _lock_of_process(self) -> RLock:
        return self._of_process.setdefault(os.getpid(), RLock())  # atomic: all threads get the same one
