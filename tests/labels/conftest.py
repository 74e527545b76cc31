"""Let the tests in this folder import `judged_sets`; one evaluation."""

import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parent))

from judged_sets import judged_set


@pytest.fixture(scope="session")
def judged():
    """300 of 2000 rows are checked: two ranges of confidence."""
    return judged_set(n=2000, checked=300).judged()
