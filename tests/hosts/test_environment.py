"""The environment of `make hosts` has the pinned programs and no PyTorch."""

import sys
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PINNED = dict(
    line.split(" ;")[0].split("==")
    for line in (ROOT / ".ci" / "requirements" / "hosts.txt").read_text(encoding="utf-8").splitlines()[1:]
)


@pytest.mark.parametrize("program", ["inspect-ai", "lm-eval", "mlflow", "scikit-learn", "skore"])
def test_each_program_has_its_pinned_version(program):
    assert version(program) == PINNED[program]


def test_no_program_brings_pytorch():
    assert find_spec("torch") is None


def test_this_environment_is_not_that_of_the_other_tests():
    assert Path(sys.prefix) == ROOT / ".venv-hosts"
