"""Options of ``bayescal shift``."""

from shifted_sides import run

from bayescal.shift.options import ShiftColumnOptions, ShiftQuestionOptions


def test_the_help_names_both_files_and_defaults():
    text = run("--help").stdout
    assert all(shown in text for shown in ("SOURCE", "TARGET", "--evidence", "[default: cells]", "[default: 15]"))


def test_only_options_that_are_set_are_given():
    assert ShiftColumnOptions(label="ill", prob="p").given() == {"label": "ill", "prob": "p"}
    assert ShiftQuestionOptions(shift="label").given() == {"shift": "label"}
    assert ShiftQuestionOptions().given() == {}
