"""Hostile files give the table of an independent reader or a clear refusal, never another table or error."""

import os
import re

import pytest
from hostile_files import KINDS, hostile_file, hostile_files
from typer.testing import CliRunner

from bayescal.app import app
from bayescal.data.files.predictions import open_predictions
from bayescal.stats.stored import load_counts

#: Files of all kinds together; the long form takes some minutes.
FILES = int(os.environ.get("BAYESCAL_HOSTILE", "300"))
#: Terms of the engine that must not occur in messages of the package.
JARGON = re.compile(r"duckdb|strict_mode|Possible (fixes|solution)|Traceback|SQL|ignore_errors", re.IGNORECASE)
LONGEST_MESSAGE = 2000


def placed(hostile, folder):
    """Write the file and its decoys into a folder of their own."""
    for name, content in [*hostile.decoys, (hostile.name, hostile.content)]:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return hostile.name


def outcome(hostile, name):
    """Return what is wrong with the result of reading the file, or None; `name` is relative to the current folder."""
    try:
        rows = open_predictions(name, label="label", prob="p").read()
    except (ValueError, OSError) as problem:
        said = str(problem)
        if JARGON.search(said) or not 10 < len(said) < LONGEST_MESSAGE:
            return f"unclear: {said[:300]}"
        return None if hostile.table is None or hostile.may_refuse else f"refused: {said[:300]}"
    except BaseException as problem:
        return f"{type(problem).__name__}: {str(problem)[:300]}"
    if hostile.table is None:
        return f"accepted {len(rows.y_true)} rows of a file that a strict reader refuses"
    read = rows.y_true.astype(float).tolist(), rows.y_prob.astype(float).tolist()
    return (
        None if read == hostile.table else f"{len(read[0])} rows in place of {len(hostile.table[0])}, or other values"
    )


@pytest.mark.slow
def test_files_of_all_kinds_give_the_independent_table_or_are_refused(tmp_path, monkeypatch):
    wrong = []
    for i, hostile in enumerate(hostile_files(FILES)):
        folder = tmp_path / str(i)
        name = placed(hostile, folder)
        monkeypatch.chdir(folder)
        problem = outcome(hostile, name)
        if problem:
            wrong.append(f"{hostile.kind} {i}: {problem}")
    assert wrong == [], "\n".join([f"{len(wrong)} of {FILES}", *wrong[:40]])


@pytest.mark.slow
def test_every_kind_has_files_that_are_read_and_most_kinds_have_files_that_are_refused():
    """The independent readers decide; a generator that made only broken files would test little."""
    made = {kind: [hostile_file(kind, seed).table is None for seed in range(40)] for kind in KINDS}
    assert {kind for kind, refused in made.items() if all(refused)} <= {"json_broken", "comments_and_directives"}
    assert sum(any(refused) for refused in made.values()) > 20
    assert len(made) >= 20


@pytest.mark.slow
def test_apostrophes_are_text(tmp_path, monkeypatch):
    """400 files in which only double quotes quote fields: none may be refused."""
    monkeypatch.chdir(tmp_path)
    wrong = []
    for seed in range(400 if "BAYESCAL_HOSTILE" in os.environ else 60):
        hostile = hostile_file("apostrophes", seed)
        assert hostile.table is not None
        problem = outcome(hostile, placed(hostile, tmp_path))
        wrong += [f"{seed}: {problem}"] if problem else []
    assert wrong == []


@pytest.mark.slow
def test_the_command_line_counts_the_same_rows_or_says_what_is_wrong(tmp_path, monkeypatch):
    wrong, read = [], 0
    for i, hostile in enumerate(hostile_files(max(70, FILES // 10))):
        folder = tmp_path / str(i)
        name = placed(hostile, folder)
        monkeypatch.chdir(folder)
        done = CliRunner().invoke(app, ["count", "--label", "label", "--prob", "p", "-o", "counts.json", "--", name])
        if done.exit_code not in (0, 2) or "Traceback" in done.output or not (done.exit_code or hostile.table):
            wrong.append(f"{hostile.kind} {i}: exit status {done.exit_code}, {done.exception!r}, {done.output[-300:]}")
        elif done.exit_code == 0:
            read += 1
            counted = load_counts(folder / "counts.json").n_rows
            if counted != len(hostile.table[0]):
                wrong.append(f"{hostile.kind} {i}: {counted} rows in place of {len(hostile.table[0])}")
    assert wrong == [], "\n".join(wrong[:20])
    assert read > 20


@pytest.mark.parametrize("kind", KINDS)
def test_files_do_not_depend_on_the_day(kind):
    assert hostile_file(kind, 7).content == hostile_file(kind, 7).content
