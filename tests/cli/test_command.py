"""The steps that all commands share: options in, records out; outputs checked, result computed, saved, shown."""

import dataclasses
import inspect
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import pytest
import typer
from typer.testing import CliRunner

import bayescal
from bayescal.app import app
from bayescal.cli import commands
from bayescal.cli.command import Job, Result, command
from bayescal.cli.options import ColumnOptions, ModelOptions, Options


@dataclass(frozen=True)
class Weather(Options):
    rain: Annotated[float | None, typer.Option(help="Rain per day.")] = None
    days: Annotated[list[int] | None, typer.Option(help="Days.")] = None
    windy: Annotated[bool, typer.Option("--windy")] = False


@dataclass(frozen=True)
class Forecast(Result):
    numbers: dict
    log: list
    exit_code = 3

    def contents(self):
        return {"json": self.document, "plot": lambda: pytest.fail("nobody asked for a picture")}

    def document(self):
        self.log.append("save")
        return self.numbers

    def show(self, screen, *, details=False):
        self.log.append("show")
        screen.print("It rains.")


def program(log, output):
    """A program with one command, which writes to `output` and logs its steps."""

    def forecast(place: Annotated[str, typer.Argument()], weather: Weather, times: int = 1) -> Job:
        """Forecast the weather."""

        def compute():
            log.append(("compute", place, weather, times))
            if weather.rain == -1:
                raise ValueError("`draws` must be more.")
            return Forecast({"rain": weather.rain}, log)

        return Job(compute, {"json": output})

    app = typer.Typer()
    app.command()(command(forecast))
    return app


def test_fields_of_records_become_options_in_their_order():
    def report(file: Path, columns: ColumnOptions, model: ModelOptions, times: int = 2) -> Job: ...

    parameters = inspect.signature(command(report)).parameters
    fields = [each.name for each in (*dataclasses.fields(ColumnOptions), *dataclasses.fields(ModelOptions))]
    assert list(parameters) == ["file", *fields, "times"]
    assert parameters["file"].default is inspect.Parameter.empty
    assert (parameters["seed"].default, parameters["times"].default) == (1, 2)


def test_two_records_with_one_option_are_refused():
    def report(one: ModelOptions, other: ModelOptions) -> Job: ...

    with pytest.raises(ValueError, match="duplicate parameter name"):
        command(report)


def test_values_come_back_as_records_and_the_steps_are_in_order(tmp_path):
    log, out = [], tmp_path / "x.json"
    done = CliRunner().invoke(program(log, out), ["Oslo", "--rain", "0", "--days", "1", "--days", "2", "--times", "5"])
    assert log == [("compute", "Oslo", Weather(0.0, [1, 2], False), 5), "save", "show"]
    assert json.loads(out.read_text()) == {"rain": 0.0}
    assert done.exit_code == 3
    assert done.stdout.splitlines() == ["It rains.", f"Saved {out}"]


def test_nothing_is_computed_if_an_output_cannot_be_written(tmp_path):
    log = []
    done = CliRunner().invoke(program(log, tmp_path / "x.txt"), ["Oslo"])
    assert (done.exit_code, done.stdout, log) == (2, "", [])
    assert done.stderr.startswith("Error: --json writes .json files")


def test_nothing_is_saved_if_the_input_is_invalid(tmp_path):
    log = []
    done = CliRunner().invoke(program(log, tmp_path / "x.json"), ["Oslo", "--rain", "-1"])
    assert (done.exit_code, done.stdout, done.stderr) == (2, "", "Error: --draws must be more.\n")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["report", "x.csv", "--judge", "grade"], "--judge; `bayescal judged` has it"),
        (["compare", "x.csv", "--horizon", "5"], "--horizon; `bayescal survival` has it"),
        (["judged", "x.csv", "--width", "0.1"], "--width; `bayescal plan"),
    ],
)
def test_an_option_of_another_command_is_found_there(arguments, words):
    done = CliRunner().invoke(app, arguments, env={"COLUMNS": "120", "TERM": "dumb"})
    assert done.exit_code == 2
    assert f"No such option: {words}" in done.stderr


def test_an_unknown_option_belongs_to_no_command():
    done = CliRunner().invoke(app, ["report", "x.csv", "--no-such-thing"], env={"COLUMNS": "120", "TERM": "dumb"})
    assert "has it" not in done.stderr


def test_commands_are_those_of_the_core_and_one_per_topic():
    core = {each.function.__name__ for each in commands.COMMANDS}
    topics = {path.parent.name for path in Path(bayescal.__file__).parent.glob("*/command.py")} - {"cli"}
    names = {"planning": "plan", "labels": "judged"}
    of_topics = {names.get(topic, topic) for topic in topics} | {"plan-validation"}
    assert set(typer.main.get_command(app).commands) == core | of_topics


@pytest.mark.parametrize(
    ("arguments", "option"),
    [
        (["compare", "x.csv", "--estimand", "ece", "--estimand", "auc"], "--estimand"),
        (["plan", "x.csv", "--width", "0.1", "--estimand", "ece", "--estimand=auc"], "--estimand"),
        (["report", "x.csv", "--estimand", "ece", "--estimand", "auc", "--bins", "5", "--bins", "10"], "--bins"),
        (["cumulative", "x.csv", "--label", "a", "--label", "b"], "--label"),
        (["merge", "x.json", "-o", "a.json", "--output", "b.json"], "--output"),
    ],
)
def test_a_second_value_is_refused_where_an_option_takes_one(arguments, option):
    done = CliRunner().invoke(app, arguments, env={"COLUMNS": "120", "TERM": "dumb"})
    assert (done.exit_code, done.stdout) == (2, ""), done.output
    assert f"{option} takes one value and was given 2 times." in done.stderr


def test_options_that_take_several_values_and_flags_may_be_repeated():
    for arguments in (
        ["report", "x.csv", "--estimand", "ece", "--estimand", "auc"],
        ["report", "x.csv", *["--logits"] * 2],
    ):
        done = CliRunner().invoke(app, arguments, env={"COLUMNS": "120", "TERM": "dumb"})
        assert "there is no file 'x.csv'" in done.stderr
