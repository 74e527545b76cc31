"""Files in blocks: the same answer and the same messages as at once; counts as files; progress; Ctrl-C."""

import json
import os
import pty
import re
import select
import signal
import subprocess
import sys
import time

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from counted_files import ROW, N, done, matrix_of, refused, run, write

import bayescal as bc
from bayescal.data.files import source
from bayescal.data.files.predictions import open_predictions


@pytest.fixture
def small_blocks(monkeypatch):
    """Blocks of 2048 rows, so that a small file has several."""
    monkeypatch.setattr(source, "ROWS", 2048)
    monkeypatch.setattr(source, "BLOCK", 2048)


@pytest.fixture(params=[".parquet", ".csv", ".jsonl"])
def file(request, rows, tmp_path):
    return write(rows, tmp_path / f"rows{request.param}")


def report_json(path, *arguments):
    out = path.with_name("out.json")
    done("report", path, *arguments, "--json", out)
    return json.loads(out.read_text(encoding="utf-8"))


def test_blocks_have_equal_lengths(file, small_blocks):
    blocks = list(open_predictions(file, label="y", prob="p").blocks())
    assert [len(b.y_true) for b in blocks] == [2048] * 4 + [N - 4 * 2048]


def test_blocks_are_the_rows_in_order(file, rows, small_blocks):
    blocks = list(open_predictions(file, label="y", prob="p", weights="w").blocks())
    for name, values in (("y_true", rows["y"]), ("y_prob", rows["p"]), ("weights", rows["w"])):
        np.testing.assert_array_equal(np.concatenate([getattr(b, name) for b in blocks]), values)


@pytest.mark.parametrize("together", [777, 3000])
def test_blocks_of_a_file_whose_row_groups_are_no_blocks(together, rows, tmp_path, small_blocks):
    """The engine then gives fewer rows than a block has, or a block and a part of the next."""
    path = tmp_path / "rows.parquet"
    pq.write_table(pa.table(rows), path, row_group_size=together)
    blocks = list(open_predictions(path, label="y", prob="p").blocks())
    assert [len(b.y_true) for b in blocks] == [2048] * 4 + [N - 4 * 2048]
    np.testing.assert_array_equal(np.concatenate([b.y_prob for b in blocks]), rows["p"])


@pytest.mark.parametrize("lengths", [[5, 5, 2], [1] * 12, [12], [3, 9], [4, 4, 4], [7, 1, 4]])
def test_chunks_of_any_length_become_blocks_of_one(lengths):
    values = np.arange(12)
    chunks = [[c, -c] for c in np.split(values, np.cumsum(lengths)[:-1])]
    blocks = list(source._of_equal_length(iter(chunks), 4))
    assert [[column.tolist() for column in block] for block in blocks] == [
        [[i, i + 1, i + 2, i + 3], [-i, -i - 1, -i - 2, -i - 3]] for i in (0, 4, 8)
    ]


CASES = {
    "event": (ROW, {}),
    "weights": ([*ROW, "--weights", "w"], {"weights": "w"}),
    "equal-mass": ([*ROW, "--binning", "equal-mass"], {"binning": "equal-mass"}),
    "top-label": (["--label", "label", "--prob-prefix", "q"], {}),
    "classwise": (["--label", "label", "--prob-prefix", "q", "--target", "classwise"], {"target": "classwise"}),
    "classwise, equal-mass": (
        ["--label", "label", "--prob-prefix", "q", "--target", "classwise", "--binning", "equal-mass"],
        {"target": "classwise", "binning": "equal-mass"},
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_a_report_in_blocks_is_that_of_all_rows(case, rows, tmp_path, small_blocks):
    arguments, known = CASES[case]
    path = write(rows, tmp_path / "rows.parquet")
    found = report_json(path, *arguments, "--draws", 500)
    y, p = (rows["y"], rows["p"]) if "--prob" in arguments else (rows["label"], matrix_of(rows))
    known = {**known, **({"weights": rows["w"]} if "weights" in known else {})}
    expected = bc.evaluate(y, p, draws=500, rng=1, **known)
    assert found["question"] == expected.question
    for row, other in zip(found["table"], expected.table(0.95), strict=True):
        numbers = [[r[k] for k in ("mean", "sd", "low", "high", "plug_in")] for r in (row, other)]
        np.testing.assert_allclose(*numbers, rtol=1e-9, atol=1e-12)
    if case != "classwise, equal-mass" and "bins" in found:
        assert [b["n"] for b in found["bins"]] == expected.counts.n.tolist()
        assert [b["k"] for b in found["bins"]] == expected.counts.k.tolist()


BAD = {
    "out of range": ({"p": {5: 7.0, 4000: 1.5, 8999: 2.0}}, ROW),  # the hint is about the first block with such rows
    "not a number": ({"p": {2100: np.nan, 8999: np.nan}}, ROW),
    "labels": ({"y": {3000: 2, 3001: 7, 9: 1}}, ROW),
    "weights": ({"w": {4097: -1.0, 8000: -3.0}}, [*ROW, "--weights", "w"]),
    "all weights zero": ({"w": dict.fromkeys(range(N), 0.0)}, [*ROW, "--weights", "w"]),
    "matrix": ({"q1": {2500: 1.25, 8000: 1.5}}, ["--label", "label", "--prob-prefix", "q"]),
    "rows that do not sum to one": (
        {"q1": {2500: 0.0, 2501: 0.0, 8999: 0.0}},
        ["--label", "label", "--prob-prefix", "q", "--target", "classwise"],
    ),
    "class numbers": ({"label": {8998: 3}}, ["--label", "label", "--prob-prefix", "q"]),
    "overshoot": ({"p": {2100: 1 + 1e-9, 8999: 1 + 2e-9}}, ROW),
}


@pytest.mark.slow
@pytest.mark.parametrize("suffix", [".parquet", ".csv"])
@pytest.mark.parametrize("case", BAD)
def test_messages_are_about_all_rows(case, suffix, rows, tmp_path, monkeypatch):
    """Word for word what is said when the file is one block: how many, of how many, and where first."""
    changes, arguments = BAD[case]
    frame = {name: np.array(values) for name, values in rows.items()}
    for name, values in changes.items():
        frame[name][list(values)] = list(values.values())
    path = write(frame, tmp_path / f"rows{suffix}")
    said = []
    for small in (False, True):
        if small:
            monkeypatch.setattr(source, "ROWS", 2048)
            monkeypatch.setattr(source, "BLOCK", 2048)
        result = run("report", path, *arguments, "--draws", 20)
        assert result.exit_code == (0 if case == "overshoot" else 2)
        said.append(result.stderr)
    assert said[0] == said[1]
    assert said[0].startswith("Note: " if case == "overshoot" else "Error: ")
    assert f"of {N}" in said[0] or f"of {3 * N}" in said[0]


def in_blocks_and_at_once(monkeypatch, *arguments):
    """What is said of a file of one block, then of several."""
    said = []
    for block in (2**21, 2048):
        monkeypatch.setattr(source, "ROWS", min(block, 16_384))
        monkeypatch.setattr(source, "BLOCK", block)
        result = run(*arguments)
        said.append(result.stdout + result.stderr)
    return said


# a block may weigh nothing, or (weights that decay with time) less than what can be squared
@pytest.mark.slow
@pytest.mark.parametrize("early", [0.0, 1e-150, 5e-324])
@pytest.mark.parametrize(
    "arguments",
    [ROW, [*ROW, "--binning", "equal-mass"], ["--label", "label", "--prob-prefix", "q", "--target", "classwise"]],
)
def test_a_block_may_weigh_next_to_nothing(arguments, early, rows, tmp_path, monkeypatch):
    w = np.where(np.arange(N) < 4096, early, rows["w"])
    path = write({**rows, "w": w}, tmp_path / "rows.parquet")
    one, other = in_blocks_and_at_once(monkeypatch, "report", path, *arguments, "--weights", "w", "--draws", 200)
    assert one == other
    assert one.lstrip().startswith("The ")


@pytest.mark.parametrize("early", [0.0, 2.0**-500])
def test_losses_of_a_block_that_weighs_next_to_nothing(early, rows, tmp_path, small_blocks):
    """A power of two changes no digit: the losses of such rows are as small as their weights."""
    w = np.where(np.arange(N) < 4096, early, rows["w"])
    path = write({**rows, "w": w}, tmp_path / "rows.parquet")
    done("count", path, *ROW, "--weights", "w", "-o", tmp_path / "counts.json")
    found = bc.load_counts(tmp_path / "counts.json")
    losses = (rows["y"] - rows["p"]) ** 2
    np.testing.assert_allclose(found.losses.total.sum(), np.sum(w * losses), rtol=1e-10)
    np.testing.assert_allclose(found.losses.squares.sum(), np.sum(w * losses**2), rtol=1e-10)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({5000: 1e200}, "column 'w' must be below 1e+140, .*; 1 of 9000 values is not, first in row 5001: 1e+200"),
        (dict.fromkeys(range(N), 1e-150), "column 'w' must be above 1e-140 at their largest"),
    ],
)
def test_weights_whose_squares_cannot_be_summed(change, message, rows, tmp_path, small_blocks):
    w = rows["w"].copy()
    w[list(change)] = list(change.values())
    path = write({**rows, "w": w}, tmp_path / "rows.parquet")
    assert re.search(message.replace("+", r"\+"), refused("report", path, *ROW, "--weights", "w"))


def test_of_two_problems_one_may_hide_behind_the_other(rows, tmp_path, small_blocks):
    """Of row 3001 it is not asked whether its weight is allowed: its confidence is not."""
    p, w = rows["p"].copy(), np.ones(N)
    w[[5, 3000]], p[3000] = -1, 7
    path = write({**rows, "p": p, "w": w}, tmp_path / "rows.parquet")
    told = refused("report", path, *ROW, "--weights", "w")
    assert "column 'w' must be >= 0; at least 1 of 9000 values is not, first in row 6: -1" in told


def test_what_is_rounding_is_not_counted_with_what_is_wrong(rows, tmp_path, monkeypatch):
    p = rows["p"].copy()
    p[[5, 3000]] = 1 + 1e-9, 2
    path = write({**rows, "p": p}, tmp_path / "rows.parquet")
    for told in in_blocks_and_at_once(monkeypatch, "report", path, *ROW):
        assert "column 'p' must lie in [0, 1]; 1 of 9000 values does not, first in row 3001: 2." in told


def test_text_and_no_value_in_a_late_block(tmp_path, small_blocks):
    lines = [f"{i % 2},0.{i % 10}" for i in range(N)]
    lines[5000], lines[8000], lines[8001] = "1,", "1,high", "0,low"
    path = tmp_path / "rows.csv"
    path.write_text("y,p\n" + "\n".join(lines) + "\n")
    told = refused("report", path, *ROW)
    assert "column 'p' must hold numbers; 3 of 9000 rows do not (1 of them empty), first in line 5002: no value" in told


@pytest.fixture
def counted(rows, tmp_path):
    path = write(rows, tmp_path / "rows.parquet")
    done("count", path, *ROW, "-o", tmp_path / "c.json")
    return tmp_path / "c.json"


def test_a_sum_may_replace_one_of_its_parts(counted, rows, tmp_path):
    more = write(rows, tmp_path / "more.csv")
    done("count", more, *ROW, "-o", tmp_path / "more.json")
    done("merge", counted, tmp_path / "more.json", "-o", counted)
    assert bc.load_counts(counted).n_rows == 2 * N


# blocks that take a while, as those of a file larger than memory do
SLOW = """
import sys, time
from bayescal.data.files import source
source.ROWS = source.BLOCK = 2048
fetch = source.Source._fetch_blocks
def slow(self, expressions, rows):
    for block in fetch(self, expressions, rows):
        print("a block", flush=True)
        yield block
        time.sleep({pause})
source.Source._fetch_blocks = slow
from bayescal.app import main
sys.argv = ["bayescal", *{arguments}]
main()
"""


def slow(arguments, pause):
    return [sys.executable, "-c", SLOW.format(arguments=arguments, pause=pause)]


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="pseudo-terminals of POSIX")
def test_a_terminal_sees_how_far_it_is(rows, tmp_path):
    write(rows, tmp_path / "rows.csv")
    master, terminal = pty.openpty()
    environment = {**os.environ, "COLUMNS": "100", "TERM": "xterm"}
    process = subprocess.Popen(
        slow(["count", "rows.csv", *ROW, "-o", "c.json"], 0.15),
        cwd=tmp_path,
        stdout=subprocess.DEVNULL,
        stderr=terminal,
        env=environment,
    )
    os.close(terminal)
    shown = b""
    while process.poll() is None or select.select([master], [], [], 0)[0]:
        try:
            shown += os.read(master, 4096) if select.select([master], [], [], 0.1)[0] else b""
        except OSError:  # the terminal's other end is closed
            break
    os.close(master)
    assert process.wait() == 0, shown
    assert b"Counting 'rows.csv'" in shown
    assert re.search(rb"4,096 of [89],\d{3} rows", shown)  # of text, how many there are is a guess


@pytest.mark.slow
def test_no_bar_where_nobody_looks(rows, tmp_path):
    write(rows, tmp_path / "rows.csv")
    quiet = subprocess.run(
        slow(["count", "rows.csv", *ROW, "-o", "c.json"], 0), cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert quiet.stderr == ""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
@pytest.mark.parametrize("command", [["report", "--json", "x.json"], ["count", "-o", "x.json"]])
def test_ctrl_c_while_a_file_is_read_leaves_nothing(command, rows, tmp_path):
    write(rows, tmp_path / "rows.parquet")
    name, *out = command
    process = subprocess.Popen(
        slow([name, "rows.parquet", *ROW, *out], 20),
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout.readline() == "a block\n"
    time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    _, told = process.communicate(timeout=30)
    assert process.returncode in (1, 130, -signal.SIGINT)
    assert "Traceback" not in told
    assert [f.name for f in tmp_path.iterdir()] == ["rows.parquet"]
