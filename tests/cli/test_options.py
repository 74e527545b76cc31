"""Records of options."""

from dataclasses import dataclass
from typing import Annotated

import pytest
import typer

from bayescal.cli.options import Options, refuse


@dataclass(frozen=True)
class Weather(Options):
    rain: Annotated[float | None, typer.Option(help="Rain per day.")] = None
    days: Annotated[list[int] | None, typer.Option(help="Days.")] = None
    windy: Annotated[bool, typer.Option("--windy")] = False


def test_options_that_were_given():
    """Zero is given; None, a flag that is off and an empty list are not."""
    assert Weather(0.0, [], True).given() == {"rain": 0.0, "windy": True}
    assert Weather(None, [0], False).given() == {"days": [0]}


def test_options_that_exclude_each_other_are_named():
    refuse({}, "with counts")
    with pytest.raises(ValueError, match=r"^--prob-prefix, --label cannot be used with counts\.$"):
        refuse({"prob_prefix": "p_", "label": "y"}, "with counts")
