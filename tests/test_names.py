"""User-supplied names of columns, classes, groups, models and files are displayed but never interpreted."""

import io
import itertools
import json
import os
import re
import subprocess
import sys
import unicodedata
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import polars as pl
import pytest
from matplotlib.figure import Figure
from matplotlib.text import Text
from rich.console import Console
from typer.testing import CliRunner

import bayescal as bc
from bayescal import _render
from bayescal._lazy import former_names
from bayescal._presented import Presented
from bayescal.app import app
from bayescal.cli import counts as cli_counts
from bayescal.cli import outputs
from bayescal.cli.words import console, prepare_terminal
from bayescal.data.files.predictions import open_predictions
from bayescal.stats.files import Counting, count_stream

NAMES = {
    "colour": "\x1b[31mred\x1b[0m",
    "one byte csi": "\x9b2J wiped",
    "link": "\x1b]8;;http://example.org\x1b\\here\x1b]8;;\x1b\\",
    "title": "\x1b]0;owned\x07",
    "return": "real\rfake",
    "backspace": "abc\b\b\bxyz",
    "line break": "two\nlines",
    "separators": "a\u2028b\u2029c\x85d\x0be\x0cf",
    "bidi": "user\u202e\u2066nimda\u2069",
    "tab": "a\tb",
    "quotes": 'it\'s "quoted" `so`',
    "rich": "[red]alarm[/] [link=http://example.org]x[/link] [/]",
    "html": "<script>alert(1)</script><b>&amp;",
    "mathtext": r"$\frac{1}{2}$ x_1^2 $",
    "broken mathtext": r"$\nosuch{$ and $_$ \alpha",
    "percent": "100 % {sure} {0} %s %(x)s",
    "path": "../../etc/passwd",
    "umlaut": "Größe 東",
    "joiner": "نمی\u200cخواهم",
    "long": "x" * 5000,
    "dash": "--label",
}
# matplotlib warns that its font has no Chinese characters
pytestmark = pytest.mark.filterwarnings("ignore:Glyph .* missing from")

TRIPLES = list(itertools.batched(NAMES.values(), 3))
#: Names that caused harm on the command line.
WORST = ["colour", "link", "line break", "separators", "bidi", "rich", "broken mathtext", "long", "dash"]


def assert_harmless(text, line_breaks=True):
    """Require no control character except line breaks, no separator, bidirectional control or lone surrogate."""
    for character in text:
        if character == "\n" and line_breaks:
            continue
        category = unicodedata.category(character)
        assert category not in {"Cc", "Cs", "Zl", "Zp"}, ascii(text[:300])
        assert category != "Cf" or character in "\u200c\u200d", ascii(text[:300])


def rows(n=60):
    rng = np.random.default_rng(1)
    p = rng.random(n)
    return (rng.random(n) < p).astype(int), p


class Reader(HTMLParser):
    """Return the tags and words of an HTML fragment."""

    def __init__(self, html):
        super().__init__()
        self.tags, self.words = set(), ""
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)

    def handle_data(self, data):
        self.words += data


def assert_shown_and_harmless(result, names, capsys):
    """Return all printed forms of a result."""
    print(result)
    printed = capsys.readouterr().out
    html = Reader(result._repr_html_())
    for text in (printed, str(result), repr(result), html.words, result.sentence(), result.spec):
        assert_harmless(text)
        assert len(text) < 20_000
    assert html.tags <= {"div", "p", "table", "thead", "tbody", "tr", "th", "td", "code"}
    for name in names:
        beginning = _render.name(name)[:8].split("_")[0].strip()
        assert beginning in printed.replace("\n", " "), ascii(name)
        assert beginning in html.words


# --- the function behind it


@pytest.mark.parametrize("name", NAMES.values(), ids=NAMES)
def test_visible_is_harmless_and_says_what_was_there(name):
    shown = _render.visible(name)
    assert_harmless(shown, line_breaks=False)
    if name.isprintable() or "\u200c" in name:
        assert shown == name
    else:  # escaped as in Python, so that it can be read back
        back = re.sub(r"\\(?:x..|u....|[nrt])", lambda found: json.loads(f'"{_json(found[0])}"'), shown)
        assert back == name


def _json(escape):
    return escape.replace("\\x", "\\u00")


@pytest.mark.parametrize("length", [1, 99, 100, 101, 10**6])
def test_names_have_an_end(length):
    assert _render.name("\x1b" * length) == ("\\x1b" * length if length <= 25 else _render.name("\x1b" * length))
    assert len(_render.name("a" * length)) == min(length, 100)
    assert len(_render.name("\x1b" * length)) <= 100
    assert len(_render.printed("\x1b" * length)) <= 2000


# --- Python


@pytest.mark.slow
@pytest.mark.parametrize("names", TRIPLES, ids=range(len(TRIPLES)))
def test_models(names, capsys):
    y, p = rows()
    for some in (names, names[1:]):
        made = bc.compare(y, {name: p ** (1 + i) for i, name in enumerate(some)}, rng=1, draws=50, model="dirichlet")
        assert made.names == some  # data keep the original names
        assert {row["first"] for row in made.table()} < set(some)
        assert_shown_and_harmless(made, some, capsys)
        assert_harmless(made.verdict())
        assert_harmless(repr(made.difference(*some[:2])))
        assert_drawn(bc.plot_comparison(made, Figure(figsize=(9, 8)).subplots()), some)
    assert_drawn(bc.plot_comparison(made, Figure(figsize=(3, 3)).subplots()), ())
    assert_drawn(bc.plot_forest(made.evaluations, Figure(figsize=(8, 8)).subplots()), some)


@pytest.mark.slow
def test_groups(capsys):
    y, p = rows()
    by = np.array([*NAMES.values()], dtype=object)[np.arange(len(y)) % len(NAMES)]
    for name in ("site\x1b[31m", "x" * 5000):
        made = bc.evaluate(y, p, by=pd.Series(by, name=name), rng=1, draws=50, model="dirichlet")
        assert set(made) == set(NAMES.values())
        assert_shown_and_harmless(made, NAMES.values(), capsys)
        assert_drawn(bc.plot_forest(made, Figure(figsize=(8, 30)).subplots()), made)
    assert_shown_and_harmless(made.compare(), [], capsys)


@pytest.mark.slow
def test_classes(capsys):
    rng = np.random.default_rng(2)
    labels = list(NAMES.values())
    matrix = rng.dirichlet(np.ones(len(labels)), 60)
    y = [labels[i % len(labels)] for i in range(60)]
    made = bc.evaluate(y, matrix, classes=labels, target="classwise", rng=1, draws=50, model="dirichlet")
    assert made.classes == tuple(labels)
    assert_shown_and_harmless(made, labels[:18], capsys)
    assert_drawn(bc.plot_posterior(made, Figure().subplots()), ())
    for label in labels[:4]:
        assert_shown_and_harmless(made[label], [], capsys)
        assert_drawn(bc.plot_reliability(made[label], Figure().subplots()), ())
    each = {label: made[label] for label in made}
    assert_drawn(bc.plot_forest(each, Figure(figsize=(8, 30)).subplots(), estimand="signed_error"), labels)
    with pytest.raises(KeyError) as refused:
        made["\x1b[31mnone"]
    assert_harmless(str(refused.value))


def assert_drawn(ax, names):
    """Every name appears literally in the saved picture and is not read as a formula."""
    figure = ax.figure
    figure.savefig(os.devnull, format="svg")
    texts = figure.findobj(Text)
    for text in texts:
        assert_harmless(text.get_text())
        assert not text.get_parse_math() or "$" not in text.get_text()
    words = "".join(t.get_text() for t in texts).replace("\n", "").replace(" ", "")
    for name in names:
        assert _render.name(name).split("_")[0].replace(" ", "")[:5] in words, ascii(name)


# --- the command line


def run(*arguments, width=100):
    return CliRunner().invoke(app, [str(a) for a in arguments], env={"COLUMNS": str(width), "TERM": "dumb"})


def write(path, columns):
    """Write a CSV file with Python's csv module."""
    import csv

    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))
    return path


def assert_answered(done, *names):
    assert done.exit_code == 0, done.output
    assert_harmless(done.output)
    for name in names:
        assert _render.name(name)[:8] in done.output, ascii(name)


@pytest.mark.slow
@pytest.mark.parametrize("name", [NAMES[key] for key in WORST], ids=WORST)
def test_columns_on_the_command_line(tmp_path, name):
    """Use a Parquet file, which can store every name."""
    y, p = rows()
    file = tmp_path / "rows.parquet"
    pl.DataFrame({"label": y, name: p, "other": p**1.5}).write_parquet(file)
    fast = ("--model", "dirichlet", "--draws", "50")
    assert_answered(run("report", file, "--label", "label", f"--prob={name}", *fast))
    if "=" not in name:
        plot = tmp_path / "out.png"
        compared = ("compare", file, "--label", "label", f"--prob={name}", "--prob", "other", *fast, "--plot", plot)
        assert_answered(run(*compared), name)
    wrong = run("report", file, "--label", "label", f"--prob={name}!")
    assert wrong.exit_code == 2
    assert_harmless(wrong.output)
    assert len(wrong.output) < 2100


@pytest.mark.parametrize("key", ["colour", "line break", "rich", "mathtext", "umlaut"])
def test_files_on_the_command_line(tmp_path, key):
    y, p = rows()
    name = NAMES[key].replace("/", "")
    file = write(tmp_path / f"{name}.csv", {"label": y, "p": p})
    out, counts = tmp_path / f"{name}.json", tmp_path / f"{name}.counts.json"
    done = run("report", file, "--label", "label", "--prob", "p", "--draws", "50", "--json", out)
    assert_answered(done)
    assert f"Saved {_render.visible(out)}" in done.stdout.splitlines()
    assert json.loads(out.read_text())["parameters"]["file"] == file.name
    assert_answered(run("count", file, "--label", "label", "--prob", "p", "-o", counts))
    assert_answered(run("merge", counts, "-o", counts))
    for wrong in (run("report", tmp_path / f"no {name}"), run("report", file, "--label", "p", f"--{name}")):
        assert wrong.exit_code == 2
        assert_harmless(wrong.output)


def test_an_output_whose_name_is_not_utf8(tmp_path):
    y, p = rows()
    file, out = write(tmp_path / "rows.csv", {"label": y, "p": p}), tmp_path / os.fsdecode(b"caf\xe9.json")
    try:
        out.touch()
    except OSError:
        pytest.skip("this file system takes names in UTF-8 only")
    done = run("report", file, "--label", "label", "--prob", "p", "--draws", "50", "--json", out)
    assert_answered(done)
    assert "caf\\udce9.json" in done.stdout
    outputs.save({"json": tmp_path / "names.json"}, {"json": lambda: {"file": out.name}})
    assert json.loads((tmp_path / "names.json").read_text(encoding="utf-8")) == {"file": out.name}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["x" * 250, "x" * 244 + "\n"], ids=["255 bytes", "line break"])
def test_outputs_with_long_names(tmp_path, name):
    y, p = rows()
    file = write(tmp_path / "rows.csv", {"label": y, "p": p})
    outputs = {"--json": ".json", "--html": ".html", "--plot": ".png", "--netcdf": ".nc"}
    chosen = {option: tmp_path / f"{name[: 255 - len(suffix)]}{suffix}" for option, suffix in outputs.items()}
    arguments = itertools.chain.from_iterable(chosen.items())
    assert_answered(run("report", file, "--label", "label", "--prob", "p", "--draws", "50", *arguments))
    assert all(path.stat().st_size for path in chosen.values())
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted(["rows.csv", *(p.name for p in chosen.values())])
    too_long = run("report", file, "--label", "label", "--prob", "p", "--json", tmp_path / ("y" * 300 + ".json"))
    assert too_long.exit_code == 2
    assert "File name too long" in too_long.output


@pytest.mark.parametrize(
    ("classes", "said"),
    [
        ("no\nyes", "on one line; there are 2 lines"),
        ("no,yes\n\n", "on one line; there are 2 lines"),
        ("no\ryes", "`classes`|--classes"),
        ('"no,yes', "unexpected end of data"),
        ("x" * 200_000 + ",b", "field larger than field limit"),
    ],
    ids=range(5),
)
def test_classes_with_line_breaks(tmp_path, classes, said):
    file = write(tmp_path / "rows.csv", {"label": ["no", "yes"], "p": [0.2, 0.9]})
    done = run("report", file, "--label", "label", "--prob", "p", "--classes", classes)
    assert done.exit_code == 2
    assert re.search(said, done.output)
    assert_harmless(done.output)
    assert len(done.output) < 2100


def test_a_class_with_a_line_break_in_quotes(tmp_path):
    file = write(tmp_path / "rows.csv", {"label": ["no\nno", "yes", "yes"], "p": [0.2, 0.9, 0.8]})
    assert_answered(run("report", file, "--label", "label", "--prob", "p", "--classes", '"no\nno",yes'))


# --- terminals


def process(*arguments, command=("-m", "bayescal"), **environment):
    return subprocess.run(
        [sys.executable, *command, *map(str, arguments)],
        capture_output=True,
        check=False,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1", **environment},
    )


@pytest.fixture(scope="module")
def two_models(tmp_path_factory):
    y, p = rows()
    return write(tmp_path_factory.mktemp("names") / "rows.csv", {"label": y, "Größe 東": p, "b\x1b[31m": p**1.5})


@pytest.mark.slow
@pytest.mark.parametrize("encoding", ["ascii", "cp1252"])
def test_a_terminal_that_cannot_show_a_character(two_models, encoding):
    ask = (
        "compare",
        two_models,
        "--label",
        "label",
        "--prob",
        "Größe 東",
        "--prob",
        "b\x1b[31m",
        "--draws",
        "50",
        "--details",
    )
    done = process(*ask, PYTHONIOENCODING=encoding, PYTHONUTF8="0", COLUMNS="100")
    shown = done.stdout.decode(encoding)
    assert (done.returncode, done.stderr) == (0, b"")
    assert_harmless(shown)
    expected = "Größe 東".encode(encoding, "backslashreplace").decode(encoding)
    assert expected in shown
    assert "rope 0.01" in shown.splitlines()[-2]  # the output is complete


def test_a_terminal_without_columns(two_models):
    done = process("report", two_models, "--label", "label", "--prob", "Größe 東", "--draws", "50", COLUMNS="0")
    lines = done.stdout.decode().splitlines()
    assert (done.returncode, done.stderr) == (0, b"")
    assert all(len(line) <= 80 for line in lines if "event ECE" not in line)
    for quantity in ("ece", "l2_error", "signed_error"):  # each with six numbers
        (row,) = [line for line in lines if line.split()[:1] == [quantity]]
        assert len(re.findall(r"-?\d\.\d{4}", row)) == 6


@pytest.mark.parametrize("columns", ["0", "1", "-3", "abc", "", "39", "1001", "9" * 5000, "²", " 80"])
def test_columns_that_cannot_be_used_are_taken_for_80(columns, monkeypatch):
    monkeypatch.setenv("COLUMNS", columns)
    prepare_terminal()
    assert os.environ["COLUMNS"] == "80"


@pytest.mark.parametrize("columns", ["40", "100", "1000"])
def test_columns_that_can_be_used_stay(columns, monkeypatch):
    monkeypatch.setenv("COLUMNS", columns)
    prepare_terminal()
    assert os.environ["COLUMNS"] == columns


@pytest.mark.parametrize("width", [0, 1, 40])
def test_no_number_is_lost_in_the_narrowest_terminal(two_models, width):
    done = run("report", two_models, "--label", "label", "--prob", "Größe 東", "--draws", "50", width=width)
    for quantity in ("ece", "signed_error"):
        (row,) = [line for line in done.stdout.splitlines() if line.split()[:1] == [quantity]]
        assert len(re.findall(r"-?\d\.\d{4}", row)) == 6


@pytest.mark.slow
def test_nobody_listens(two_models):
    ask = f"{sys.executable} -m bayescal report '{two_models}' --label label --prob 'Größe 東' --draws 50"
    # the status of a pipe is that of its last command; a closed output is an error, since nothing can be printed
    for pipe, status in (("| true", 0), (">&- 2>&-", 2)):
        done = subprocess.run(["sh", "-c", f"{ask} {pipe}"], capture_output=True, check=False, env=os.environ)
        assert done.stderr == b"", pipe
        assert done.returncode == status, pipe


def test_printing_a_result_where_lines_cannot_be_drawn():
    code = "import bayescal as bc; print(bc.evaluate([0, 1], [0.1, 0.9], rng=1, draws=50))"
    done = process(command=("-c", code), PYTHONIOENCODING="cp1252", PYTHONUTF8="0")
    assert (done.returncode, done.stderr) == (0, b"")
    assert "-----" in done.stdout.decode("cp1252")


def test_the_name_of_a_file_is_no_markup_in_the_bar(tmp_path, monkeypatch):
    """The progress bar is shown only on a terminal and only if a file has several blocks."""
    file = tmp_path / "[red]\x1b[2J[rows].csv"
    file.write_text("label,p\n" + "0,0.2\n1,0.9\n" * 10)
    screen = Console(file=io.StringIO(), force_terminal=True, width=100, _environ={"TERM": "xterm"})
    monkeypatch.setattr(cli_counts, "console", lambda stderr: screen)
    stream = open_predictions(file, label="label", prob="p")
    monkeypatch.setattr(type(stream), "blocks", lambda self: iter([self.read()] * 2))
    monkeypatch.setattr(type(stream.source), "rows_about", lambda self: None)
    with cli_counts.bars(file.name) as progress:
        assert count_stream(stream, Counting(), progress).n_rows == 40
    shown = screen.file.getvalue()
    assert "[red]\\x1b[2J[rows].csv" in shown
    assert "\x1b[2J" not in shown


# --- one door for text


def test_sentences_of_results_are_printed_through_one_door():
    kinds = [
        thing for thing in (getattr(bc, name) for name in (*bc.__all__, *former_names())) if isinstance(thing, type)
    ]
    said = [(kind, method) for kind in kinds for method in ("sentence", "verdict") if hasattr(kind, method)]
    assert len(said) > 20
    assert [kind for kind, _ in said if not issubclass(kind, Presented)] == []
    for kind, method in said:
        assert getattr(kind, method).__wrapped__.__name__ == method, kind


def test_sentences_that_name_groups_hold_no_control_characters():
    rng = np.random.default_rng(1)
    p = rng.random(400)
    y, by = (rng.random(400) < p**3).astype(int), np.array(["\x1b[31ma", "b\x07\n", "c\u202e"])[np.arange(400) % 3]
    found = [
        bc.recalibration(y, p, by=by, draws=50, rng=1),
        bc.screen_subpopulations(y, p, by=by),
        bc.evaluate(y, p, by=by, draws=50, rng=1),
        bc.decisions.net_benefit(y, p, thresholds=[0.2], by=by, draws=50, rng=1),
    ]
    for result in found:
        assert result.sentence().isprintable()


def test_text_on_the_terminal_holds_no_control_characters(capsys):
    """Whatever a command prints; line breaks of the command itself stay."""
    console().print("\nof \x1b[31mred\x07 and \u202eright\n", soft_wrap=True)
    assert capsys.readouterr().out == "\nof \\x1b[31mred\\x07 and \\u202eright\n\n"
