"""The version of the package."""

import re

import bayescal


def test_the_version_is_that_of_the_distribution():
    from importlib.metadata import version

    assert bayescal.__version__ == version("bayescal")
    assert re.fullmatch(r"\d+\.\d+\.\d+.*", bayescal.__version__)
