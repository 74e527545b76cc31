"""What all benchmarks share: ways that are skipped where their packages are missing, and the read beside them."""

import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parent))


@pytest.fixture(scope="session")
def read():
    """The loop that reads arrays and does nothing; numba comes with PyMC."""
    from measuring import reader

    return reader()


@pytest.fixture
def prepared(monkeypatch):
    """A way's call on arrays, made once before it is timed; skipped if its packages are missing."""

    def prepare(way, arrays, bins):
        if way.missing:
            pytest.skip(f"{', '.join(way.missing)} is not installed (`make bench` installs it)")
        monkeypatch.setenv("BAYESCAL_COMPILE", "auto")  # put back afterwards, whatever the way sets
        call = way.prepare(arrays, bins)
        call()
        return call

    return prepare
