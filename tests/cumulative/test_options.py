"""Options of ``bayescal cumulative``: what their help states are the defaults of the library."""

import inspect
import re
from dataclasses import fields

import bayescal as bc
from bayescal.cumulative.options import CumulativeModelOptions, CumulativeOptions, CumulativeOutputOptions
from bayescal.cumulative.posterior_result import CumulativePosterior


def stated_defaults(record):
    """Default that the help of each option states, by name."""
    texts = {each.name: each.metadata["typer"].help for each in fields(record)}
    stated = {name: re.search(r"\[default: ([\w.]+)\]", text) for name, text in texts.items()}
    return {name: found[1] for name, found in stated.items() if found}


def test_stated_defaults_are_those_of_the_posterior():
    arguments = inspect.signature(bc.cumulative.CumulativeDifference.posterior).parameters
    (limit,) = (each.default for each in fields(CumulativePosterior) if each.name == "limit")
    stated = stated_defaults(CumulativeModelOptions)
    assert (stated["model"], int(stated["draws"])) == (arguments["model"].default, arguments["draws"].default)
    assert (stated["seed"], float(stated["below"])) == ("1", limit)


def test_options_that_are_not_given_have_no_value():
    for record in (CumulativeOptions, CumulativeModelOptions, CumulativeOutputOptions):
        assert record().given() == {}
    assert CumulativeOptions(by="site", zoom="0,1").given() == {"by": "site", "zoom": "0,1"}
    assert CumulativeModelOptions(seed=0).given() == {"seed": 0}  # 0 is a seed, not an absent one
