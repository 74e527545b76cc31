"""Jobs: in order, the same in any number of processes, and an error that says what cannot be sent."""

import functools
import operator

import pytest
from jobs import run_jobs

double = functools.partial(operator.mul, 2)


@pytest.mark.parametrize("workers", [1, 2])
def test_results_come_in_order(workers):
    assert list(run_jobs(double, range(20), workers=workers)) == list(range(0, 40, 2))


def test_no_jobs():
    assert list(run_jobs(double, [], workers=3)) == []


def test_a_bar_on_standard_error(capsys):
    assert list(run_jobs(double, [1, 2], progress=True, description="doubling")) == [2, 4]
    said = capsys.readouterr()
    assert said.out == ""
    assert "doubling" in said.err


def test_what_cannot_be_sent_is_named():
    with pytest.raises(TypeError, match=r"excludes lambdas.*workers=1"):
        list(run_jobs(operator.call, [lambda: 1, lambda: 2], workers=2))
    with pytest.raises(ValueError, match="`workers` must be an integer >= 1"):
        list(run_jobs(double, [1], workers=0))
