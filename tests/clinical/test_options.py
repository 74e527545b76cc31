"""Options of ``bayescal clinical``."""

import inspect

from bayescal.cli.keywords import keywords_of
from bayescal.cli.options import DrawsOptions
from bayescal.clinical.analysis import summary
from bayescal.clinical.options import ClinicalOutputOptions, ClinicalQuestionOptions, RiskColumnOptions


def test_options_that_are_not_given_have_the_defaults_of_the_library():
    keywords = keywords_of(summary, ClinicalQuestionOptions(), DrawsOptions())
    arguments = inspect.signature(summary).parameters
    for name in ("bins", "binning", "floor", "draws"):
        assert keywords[name] == arguments[name].default
    assert keywords["rng"] == 1


def test_options_that_are_given_replace_them():
    question = ClinicalQuestionOptions(threshold=["0.1,0.2"], bins="7", floor=0.01)
    keywords = keywords_of(summary, question, DrawsOptions(draws=10, seed=3))
    assert (keywords["bins"], keywords["floor"], keywords["draws"], keywords["rng"]) == (7, 0.01, 10, 3)
    assert keywords["threshold"] == ["0.1,0.2"]
    for record in (RiskColumnOptions, ClinicalQuestionOptions, ClinicalOutputOptions):
        assert record().given() == {}
