"""Options of ``bayescal survival``."""

from censored_rows import run

from bayescal.survival.options import SurvivalColumnOptions, SurvivalQuestionOptions


def test_help_has_the_defaults_of_the_library():
    done = run("--help")
    assert done.exit_code == 0
    assert "--horizon" in done.stdout
    assert "[default: 10]" in done.stdout
    assert "inspect" not in done.stdout  # --horizon has no default


def test_only_options_that_are_set_are_given():
    assert SurvivalColumnOptions(time="years", risk=["a", "b"]).given() == {"time": "years", "risk": ["a", "b"]}
    assert SurvivalQuestionOptions(horizon=5.0).given() == {"horizon": 5.0}
