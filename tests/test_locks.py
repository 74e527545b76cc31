"""Locks of objects that are pickled or inherited by a forked process."""

import copy
import os
import pickle
import threading

import pytest

from bayescal._locks import ProcessLock


def taken_elsewhere(lock):
    """Whether another thread can take the lock within a tenth of a second."""
    taken = threading.Event()

    def take():
        with lock:
            taken.set()

    thread = threading.Thread(target=take, daemon=True)
    thread.start()
    thread.join(0.1)
    return taken.is_set()


def test_one_thread_may_take_it_twice_and_another_waits():
    lock = ProcessLock()
    with lock, lock:
        assert not taken_elsewhere(lock)
    assert taken_elsewhere(lock)


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda lock: pickle.loads(pickle.dumps(lock))])
def test_a_copy_is_another_lock(copied):
    lock = ProcessLock()
    with lock:
        assert taken_elsewhere(copied(lock))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_forked_process_does_not_wait_for_a_thread_that_it_does_not_have():
    lock, held, done = ProcessLock(), threading.Event(), threading.Event()

    def hold():
        with lock:
            held.set()
            done.wait(10)

    thread = threading.Thread(target=hold)
    thread.start()
    assert held.wait(10)
    child = os.fork()
    if child == 0:
        with lock:
            os._exit(7)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    done.set()
    thread.join()
