"""Messages of the library in the words of the command line."""

import subprocess
import sys

import pytest

TINY = ["--label", "label", "--prob", "p"]


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("0,0.5\n1,NA\n", "column 'p' must hold numbers; 1 of 2 rows does not, first in line 3: 'NA'."),
        ("0,0.5\n\n1,12.4\n0,-3\n", "column 'p' must lie in [0, 1]; 2 of 3 values do not, first in line 4: 12.4."),
        ("0,0.5\n1,-3\n", "first in line 3: -3. Logits? Pass --logits."),
        ("0,0.5\n2,0.5\n", "column 'label' must be binary labels, 0 or 1; 1 of 2 values is not, first in line 3: 2"),
        ("0.5,1\n0.2,0\n", "are column 'label' and column 'p' swapped?"),
        (
            "0,0.5\nx,0.5\n",
            "column 'label' must hold numbers or true/false; 1 of 2 rows does not, first in line 3: 'x'",
        ),
        ("no,0.5\nyes,0.5\n", "String labels ('no', 'yes') need --classes to say what they mean: first"),
        ("0,0.5\n1,inf\n", "column 'p' must be finite; 1 of 2 values is not, first in line 3: inf"),
        (
            "0\n",
            "must have 2 fields in every row, as in its first line; 1 of 1 rows does not, first in line 2: 1 field.",
        ),
        ("", "has columns but no rows"),
    ],
)
def test_bad_rows_are_told_with_how_many_and_the_first_line(tmp_path, content, told, refused):
    file = tmp_path / "x.csv"
    file.write_text("label,p\n" + content)
    assert told in refused(file, *TINY)


@pytest.mark.parametrize(
    ("rows", "arguments", "told"),
    [
        (
            "1,0.5,0.5\n0,-0.5,1.5\n",
            [],
            "2 of 4 values do not, first in line 3, column 'p_0': -0.5. Logits? Pass --logits",
        ),
        ("1,0.5,0.5\n0,0.5,0.9\n", [], "must have rows that sum to 1; 1 of 2 values does not, first in line 3: 1.4."),
        ("1,0.5,0.5\n2,0.5,0.5\n", [], "labels from --classes [0, 1]; 1 of 2 values is not, first in line 3: 2"),
        ("1,0.5,0.5\n", ["--target", "event"], "For two classes pass --prob with the column of class 1"),
        ("1,0.5,0.5\n", ["--classes", "a,b,c"], "or 2 names for them"),
    ],
)
def test_a_matrix_is_told_with_its_columns(tmp_path, rows, arguments, told, refused):
    file = tmp_path / "x.csv"
    file.write_text("label,p_0,p_1\n" + rows)
    assert told in refused(file, "--label", "label", "--prob-prefix", "p_", *arguments)


def test_a_clipped_overshoot_is_a_note_with_its_line(tmp_path, report):
    file = tmp_path / "x.csv"
    file.write_text("label,p\n0,0.5\n1,1.0000001\n")
    done = report(file, *TINY)
    assert done.stderr.startswith("Note: column 'p': 1 of 2 values lie outside [0, 1]")
    assert "first in line 3" in done.stderr


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="descriptors of POSIX")
@pytest.mark.parametrize("arguments", [["report", "tiny.csv", *TINY, "--json", "x.json"], ["--version"], ["--help"]])
def test_a_closed_output_is_an_error(tiny, arguments, read_json):
    """Python would print nothing and succeed; the file is written before anything is printed."""
    code = "import sys; from bayescal.app import main; sys.argv[0] = 'bayescal'; main()"
    line = ["sh", "-c", '"$@" >&-', "sh", sys.executable, "-c", code, *arguments]
    closed = subprocess.run(line, cwd=tiny.parent, capture_output=True, text=True, check=False)
    assert closed.returncode == 2, closed.stderr
    assert closed.stderr == "Error: nothing can be printed, since standard output is closed.\n"
    if "--json" in arguments:
        assert read_json(tiny.with_name("x.json"))["schema"] == "bayescal.report/1"
