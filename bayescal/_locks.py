"""A lock that an object can own and still be pickled, copied and inherited by a forked process."""

import os
from threading import RLock


class ProcessLock:
    """A lock, free in every process but the one that took it.

    A fork copies a lock but not the thread that holds it, so an ordinary lock could stay taken in the child for ever.
    Here each process has a lock of its own. Pickles and deep copies are new locks. The thread that holds the lock may
    take it again, as in a signal handler, which would wait for itself otherwise.
    """

    def __init__(self) -> None:
        self._of_process: dict[int, RLock] = {}

    def __enter__(self) -> None:
        self._own().acquire()

    def __exit__(self, *_: object) -> None:
        self._own().release()

    def __reduce__(self) -> tuple[type["ProcessLock"], tuple[()]]:
        return ProcessLock, ()

    def _own(self) -> RLock:
        return self._of_process.setdefault(os.getpid(), RLock())  # atomic: all threads get the same one
