"""Logs of language models and several files on the command line, against the same in Python."""

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import bayescal as bc
from bayescal.app import app

LOGS = Path(__file__).parents[1] / "read" / "logs"
FAST = ["--draws", "200"]
VERBAL = ["--format", "inspect", "--correct", "graded", "--confidence", "output.completion"]


def run(*arguments):
    return CliRunner().invoke(app, [str(a) for a in arguments], env={"COLUMNS": "120", "TERM": "dumb"})


def document(tmp_path, *arguments):
    path = tmp_path / "out.json"
    done = run(*arguments, "--json", path)
    assert done.exit_code == 0, done.stderr
    return json.loads(path.read_text()), done


def means_of(written):
    """Return the posterior mean of the ECE of each group."""
    return {each["label"]: each["table"][0]["mean"] for each in written["groups"]}


def refused(*arguments):
    done = run(*arguments)
    assert (done.exit_code, done.stdout) == (2, "")
    return done.stderr


def many(folder, model, subjects=57):
    """Write a log of a subject again for many subjects, whose questions are then others."""
    (source,) = (LOGS / "lm_eval" / model).glob("samples_law_*.jsonl")
    time = source.stem.removeprefix("samples_law_")
    place = folder / model
    place.mkdir(parents=True)
    for i in range(subjects):
        (place / f"samples_subject_{i}_{time}.jsonl").write_text(source.read_text())
    return place


def test_subjects_of_a_folder_are_groups(tmp_path):
    folder = LOGS / "lm_eval" / "small"
    of_command, done = document(tmp_path, "report", folder, "--format", "lm-eval")
    result = bc.evaluate(**bc.read.lm_eval(folder).rows(), rng=1)
    assert done.stderr == ""
    means = means_of(of_command)
    assert means == pytest.approx({name: result[name].ece.mean() for name in result}, abs=1e-12)
    assert of_command["parameters"]["rows"] == 24


@pytest.mark.slow
def test_57_subjects_of_two_models(tmp_path):
    one, other = (many(tmp_path / "logs", model) for model in ("small", "large"))
    report = run("report", one, "--format", "lm-eval", *FAST)
    assert report.exit_code == 0
    assert report.stdout.count("subject_") >= 57
    compared, done = document(tmp_path, "compare", one, other, "--format", "lm-eval", *FAST)
    assert "small - large" in done.stdout
    assert compared["parameters"]["rows"] == 57 * 8
    over = run("compare", one, other, "--format", "lm-eval", "--by", "subject", *FAST)
    assert over.exit_code == 0, over.stderr
    assert "57" in over.stdout


def test_logs_of_inspect(tmp_path):
    told = refused("report", LOGS / "inspect_json", *VERBAL)
    assert "--abstain must say" in told
    assert "Pass --abstain drop" in told
    of_command, done = document(tmp_path, "report", LOGS / "inspect_json", *VERBAL, "--abstain", "drop")
    answers = bc.read.inspect(LOGS / "inspect_json", scorer="graded", confidence="output.completion", abstain="drop")
    assert f"Note: {answers.remarks[0]}" in done.stderr
    assert of_command["parameters"]["rows"] == len(answers)
    wrong, _ = document(tmp_path, "report", LOGS / "inspect_json", *VERBAL, "--abstain", "wrong")
    assert wrong["parameters"]["rows"] == 24
    assert "--correct must say which of 4 scores" in refused("report", LOGS / "inspect_eval", "--format", "inspect")
    assert "one of them" in refused("report", LOGS / "inspect_eval", *VERBAL, "--abstain", "wrong")


@pytest.mark.slow
def test_models_in_one_folder_are_compared(tmp_path):
    options = ["--format", "inspect", "--correct", "match", "--confidence", "metadata.said"]
    compared, _ = document(tmp_path, "compare", LOGS / "inspect_eval", *options)
    answers = bc.read.inspect(LOGS / "inspect_eval", scorer="match", confidence="metadata.said")
    result = bc.compare(**bc.read.matched(answers), rng=1)
    assert {"mockllm/small", "mockllm/large"} == set(result.names)
    assert all(name in json.dumps(compared["classifiers"]) for name in result.names)
    over = run("compare", LOGS / "inspect_eval", *options, "--abstain", "drop")
    assert over.exit_code == 0
    assert "--by must be subject" in refused("compare", LOGS / "inspect_eval", *options, "--by", "topic")


def test_models_in_one_folder_have_no_report_of_their_own():
    told = refused(
        "report",
        LOGS / "inspect_eval",
        "--format",
        "inspect",
        "--correct",
        "match",
        "--abstain",
        "drop",
        "--partial",
        "wrong",
    )
    assert "of 2 models, ['mockllm/small', 'mockllm/large']; name the files of one of them, or compare them" in told


def test_questions_that_one_model_did_not_answer(tmp_path):
    options = [*VERBAL, "--abstain", "drop"]
    done = run("compare", LOGS / "inspect_eval", *options)
    assert done.exit_code == 0
    assert "Questions that not all models answered are left out" in done.stderr


def answers_file(tmp_path, name, shift=0):
    grades = ["C", "I", "N", "C", "I", "C"]
    lines = [
        {"id": f"q{i // 2}", "grade": grades[(i + shift) % 6], "sure": 0.5 + 0.08 * i, "topic": "xy"[i % 2]}
        for i in range(6)
    ]
    path = tmp_path / name
    path.write_text("\n".join(map(json.dumps, lines)))
    return path


def test_grades_of_abstention_in_json_lines(tmp_path):
    path = answers_file(tmp_path, "a.jsonl")
    columns = ["--correct", "grade", "--confidence", "sure"]
    assert "1 has no grade (first question 'a/3')" in refused("report", path, *columns, "--abstained", "N")
    dropped, _ = document(tmp_path, "report", path, *columns, "--abstained", "N", "--abstain", "drop")
    assert dropped["parameters"]["rows"] == 5
    grouped, _ = document(tmp_path, "report", path, *columns, "--abstain", "wrong", "--by", "topic", "--cluster", "id")
    assert means_of(grouped).keys() == {"x", "y"}
    assert "--correct is given once" in refused(
        "compare", path, *columns, "--correct", "b", "--abstain", "drop", "--key", "id"
    )
    other = answers_file(tmp_path, "b.jsonl", 3)
    told = refused("compare", path, other, *columns, "--abstained", "N", "--key", "id")
    assert "--abstain must say" in told


def test_logarithms_and_percentages_of_json_lines(tmp_path):
    path = tmp_path / "l.jsonl"
    path.write_text("\n".join(json.dumps({"ok": i % 2, "l": -0.1 * (i + 1), "p": 10 * i}) for i in range(8)))
    logs, _ = document(
        tmp_path, "report", path, "--correct", "ok", "--confidence", "l", "--logprob", "--abstain", "drop"
    )
    expected = bc.evaluate(np.arange(8) % 2, np.exp(-0.1 * np.arange(1, 9)), target="confidence", rng=1)
    assert logs["table"][0]["plug_in"] == pytest.approx(expected.plug_in, abs=1e-12)
    percent, _ = document(tmp_path, "report", path, "--correct", "ok", "--confidence", "p", "--percent")
    expected = bc.evaluate(np.arange(8) % 2, np.arange(8) / 10, target="confidence", rng=1)
    assert percent["table"][0]["plug_in"] == pytest.approx(expected.plug_in, abs=1e-12)
    assert "--percent" in refused("report", path, "--correct", "ok", "--confidence", "p", "--abstain", "drop")


def test_several_files_are_groups(tmp_path):
    rng = np.random.default_rng(1)
    parts = {}
    for name in ("north", "south"):
        p = rng.random(40)
        y = (rng.random(40) < p).astype(int)
        parts[name] = (y, p)
        lines = "".join(f"{a},{b!r},{'uv'[i % 2]}\n" for i, (a, b) in enumerate(zip(y, p.tolist(), strict=True)))
        (tmp_path / f"{name}.csv").write_text("label,p,site\n" + lines)
    files = [tmp_path / "north.csv", tmp_path / "south.csv"]
    columns = ["--label", "label", "--prob", "p"]
    of_command, _ = document(tmp_path, "report", *files, *columns)
    y, p = (np.concatenate(each) for each in zip(*parts.values(), strict=True))
    result = bc.evaluate(y, p, by=np.repeat([*parts], 40), rng=1)
    assert means_of(of_command) == pytest.approx({name: result[name].ece.mean() for name in parts}, abs=1e-12)
    by_site, _ = document(tmp_path, "report", *files, *columns, "--by", "site")
    assert means_of(by_site).keys() == {"u", "v"}
    (tmp_path / "south.csv").write_text("label,p,site\n1,0.5,u\n0,7,v\n")
    assert "1 of 42 values" in refused("report", *files, *columns)
    (tmp_path / "south.csv").write_text("label,q\n1,0.5\n")
    assert "'south.csv' has no column 'p'" in refused("report", *files, *columns)


def test_a_star_stands_for_all_choices(tmp_path):
    path = tmp_path / "choices.jsonl"
    (source,) = (LOGS / "lm_eval" / "small").glob("samples_physics_*.jsonl")
    records = [json.loads(line) for line in source.read_text().splitlines()]
    four = [each for each in records if len(each["filtered_resps"]) == 4]
    path.write_text("\n".join(map(json.dumps, four)))
    of_command, _ = document(
        tmp_path, "report", path, "--label", "target", "--prob-prefix", "filtered_resps.*.0", "--logits"
    )
    answers = bc.read.lm_eval(path)
    expected = bc.evaluate(**answers.rows(), rng=1)
    assert of_command["table"][0]["plug_in"] == pytest.approx(expected.plug_in, abs=1e-12)
    assert "must begin at least two columns" in refused(
        "report", path, "--label", "target", "--prob-prefix", "filtered_resps.*.7"
    )


def test_options_that_do_not_go_with_a_format():
    folder = LOGS / "lm_eval" / "small"
    for option in (["--label", "a"], ["--partial", "wrong"], ["--weights", "w"], ["--logits"]):
        assert f"{option[0]} cannot be used with --format lm-eval" in refused(
            "report", folder, "--format", "lm-eval", *option
        )
    assert "--format must be one of" in refused("report", folder, "--format", "lmeval")
    assert "the format of its logs" in refused("report", folder, "--label", "a", "--prob", "b")
    (archive, *_) = sorted((LOGS / "inspect_eval").iterdir())
    assert "--format inspect" in refused("report", archive, "--label", "a", "--prob", "b")
    assert "is a folder" in refused("report", folder, folder, "--label", "a", "--prob", "b")


@pytest.mark.parametrize("command", ["report", "compare"])
def test_logs_without_a_format_name_it(tmp_path, command):
    """Whatever columns of a log are named as correctness and confidence, the command names the format instead."""
    samples = sorted((LOGS / "lm_eval" / "small").glob("samples_*.jsonl"))[:2]
    evals = sorted((LOGS / "inspect_eval").glob("*.eval"))[:2]
    named = ["--correct", "acc", "--confidence", "filtered_resps.0.0"]
    for files, name, options in (
        (samples, "lm-eval", []),
        (samples, "lm-eval", named),
        (evals, "inspect", []),
        (evals, "inspect", ["--correct", "match", "--confidence", "answer"]),
    ):
        assert f"is a log; add --format {name}." in refused(command, *files, *options)
    said = " ".join(refused(command, LOGS / "lm_eval" / "small", LOGS / "lm_eval" / "large", *named).split())
    assert "is a folder" in said
    assert "--format lm-eval, inspect or json-lines" in said


def test_options_of_logs_are_refused_for_tables(tmp_path):
    table = tmp_path / "table.csv"
    table.write_text("y,p\n" + "1,90\n0,80\n" * 20)
    for more in (["--correct", "y", "--confidence", "p"], ["--label", "y", "--prob", "p"]):
        said = " ".join(refused("report", table, *more, "--percent").split())
        assert "--percent belongs to logs of language models; 'table.csv' is a table." in said
        said = " ".join(refused("report", table, *more, "--percent", "--abstain", "drop").split())
        assert "--percent, --abstain belong to" in said


def test_lines_of_several_models_are_matched_by_a_question(tmp_path):
    """Without --key, lines would be matched by their number."""
    options = ["--correct", "ok", "--confidence", "p", "--percent"]
    files = [tmp_path / "a.jsonl", tmp_path / "b.jsonl"]
    by = ["--by", "topic", "--key", "id", *FAST]
    for file, order in zip(files, (range(40), reversed(range(40))), strict=True):
        file.write_text(
            "".join(json.dumps({"id": i, "ok": i % 3 > 0, "p": 50 + i, "topic": i % 4}) + "\n" for i in order)
        )
    assert "need --key" in refused("compare", *files, *options)
    written, _ = document(tmp_path, "compare", *files, *options, "--key", "id", *FAST)
    over, _ = document(tmp_path, "compare", *files, *options, *by)
    assert over["parameters"]["by"] == "topic"
    assert [each["name"] for each in over["datasets"]] == [f"topic {i}" for i in range(4)]
    files[1].write_text(files[0].read_text())
    again, _ = document(tmp_path, "compare", *files, *options, "--key", "id", *FAST)
    assert written == again
    with files[1].open("a") as file:
        file.write(json.dumps({"id": 99, "ok": True, "p": 70}) + "\n")
    said = " ".join(refused("compare", *files, *options, "--key", "id").split())
    assert "Pass --abstain drop" in said
    assert "unmatched" not in said
    assert run("compare", *files, *options, "--key", "id", "--abstain", "drop", *FAST).exit_code == 0
    assert "--target must be confidence" in refused("compare", *files, *options, "--key", "id", "--target", "event")


def test_files_of_one_model_are_one_classifier(tmp_path):
    """As a shell writes them, with a file per subject or task."""
    folders = [LOGS / "lm_eval" / name for name in ("small", "large")]
    files = [file for folder in folders for file in sorted(folder.glob("samples_*.jsonl"))]
    of_files, _ = document(tmp_path, "compare", *files, "--format", "lm-eval", *FAST)
    of_folders, _ = document(tmp_path, "compare", *folders, "--format", "lm-eval", *FAST)
    for each in (of_files, of_folders):
        each["parameters"].pop("files")
    assert of_files["parameters"]["rows"] == 24
    assert of_files == of_folders
