"""The first evaluation of a process: numba costs nothing while no compiled loop is used (`make bench`).

Seconds of the processor, which depend less on other work than those of a clock, as ratios within one run.
"""

import os
import resource
import subprocess
import sys

import numpy as np
import pytest

#: Repetitions, of which the first fills the caches of the disk and does not count; more, up to MOST, if other work of
#: the machine hides the shortest time. At most this ratio.
REPEATS, MOST, AT_MOST = 2 if "BAYESCAL_QUICK" in os.environ else 4, 12, 1.1
FIRST = """
import sys
if "without numba" in sys.argv:
    sys.modules["numba"] = None
import numpy as np
import bayescal as bc
rng = np.random.default_rng(1)
p = rng.random(1000)
print(bc.evaluate(rng.random(1000) < p, p, rng=1))
"""
COUNT = "import numpy as np, bayescal as bc; bc.BinnedCounts.from_arrays(np.zeros(20_000), np.zeros(20_000))"


def seconds_of(code, *arguments, **environment):
    """Return the processor time of a process."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    clean = {name: value for name, value in os.environ.items() if name != "BAYESCAL_COMPILE"}
    command = [sys.executable, "-c", code, *arguments]
    subprocess.run(command, env=clean | environment, check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


@pytest.mark.parametrize("cached", [True, False])
def test_it_takes_no_longer_with_numba_than_without(cached, tmp_path):
    folder = {"NUMBA_CACHE_DIR": str(tmp_path)}
    if cached:
        seconds_of(COUNT, **folder, BAYESCAL_COMPILE="always")
    assert any(tmp_path.rglob("*.nbi")) == cached
    seconds, installed, without = [], np.inf, 0.0
    while len(seconds) < REPEATS or (installed > AT_MOST * without and len(seconds) < MOST):
        seconds.append((seconds_of(FIRST, **folder), seconds_of(FIRST, "without numba")))
        installed, without = map(min, zip(*(seconds[1:] or seconds), strict=True))
    assert installed <= AT_MOST * without, seconds


IMPORT = """
import time
import numpy
begin = time.process_time()
import bayescal
print(time.process_time() - begin)
"""


def test_the_import_takes_at_most_20_milliseconds_over_that_of_numpy():
    """Seconds of the processor; the smallest of some processes, since other work only adds."""
    command = [sys.executable, "-c", IMPORT]
    seconds = [float(subprocess.run(command, check=True, capture_output=True, text=True).stdout) for _ in range(10)]
    assert min(seconds) <= 0.020, seconds
