"""Monitors that several tests of this folder share."""

import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parent))

from monitored_streams import monitored


@pytest.fixture(scope="session")
def monitor():
    return monitored()
