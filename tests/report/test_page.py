"""The HTML page of a result: one file, the printed numbers, names that are shown and never run, tables that sort."""

import dataclasses
import io
import re
import subprocess
import tomllib
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from html.parser import HTMLParser
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from markupsafe import Markup
from matplotlib import pyplot as plt
from rich.console import Console
from typer.testing import CliRunner

import bayescal as bc
from bayescal import _presented, _render
from bayescal.app import app
from bayescal.cli.command import show_sheet
from bayescal.cli.comparison import difference_sheet
from bayescal.estimands.registry import registered
from bayescal.report.page import COLOURS, inline_svg, page

OWNED = "document.title = 'owned'"
#: Names that a careless page would run, break at, or lose.
HOSTILE = {
    "script": f"<script>{OWNED}</script>",
    "closed": f"</title></style></script></svg></td>--><script>{OWNED}</script><!--",
    "image": f'<img src=x onerror="{OWNED}">',
    "attribute": f'" onmouseover="{OWNED}" x="',
    "single": f"' autofocus onfocus='{OWNED}' '",
    "frame": f'<iframe srcdoc="<script>parent.{OWNED}</script>">',
    "vector": f'<svg><animate onbegin="{OWNED}" attributeName=x dur=1s>',
    "link": f'<a href="javascript:{OWNED}">x</a>',
    "style": "<style>*{display:none}</style>",
    "data": f"]]><![CDATA[<script>{OWNED}</script>",
    "template": "{{ 7*7 }}{% raw %}{# x #}",
    "entity": "&lt;b&gt; &amp;amp; &#60;",
    "ansi": "\x1b[31mred\x1b[0m\x9b2J",
    "line": "two\nlines\u2028more",
    "bidi": "user\u202e\u2066nimda\u2069",
    "surrogate": "caf\udce9",
    "math": "a$b$c",
    "broken math": r"$\frac{",
    "long": "x" * 100,
    "words": "Größe 東 \N{GRINNING FACE}",
}
NAMES = list(HOSTILE.values())
#: Elements of a page.
TAGS = {
    *(
        "html",
        "head",
        "meta",
        "title",
        "style",
        "body",
        "main",
        "h1",
        "h2",
        "p",
        "div",
        "figure",
        "figcaption",
        "section",
    ),
    *("table", "thead", "tbody", "tr", "th", "td", "ul", "li", "code", "footer", "script"),
    *("svg", "g", "path", "text", "use", "defs", "clippath", "rect", "tspan"),
}
KINDS = ["event", "top-label", "classwise", "groups", "two", "three", "change", "monitor", "plan", "prior", "hostile"]


def rows(n=600, seed=1):
    rng = np.random.default_rng(seed)
    p = rng.random(n)
    return (rng.random(n) < p**1.2).astype(int), p


@cache
def result(kind):
    """One result of each kind, with few draws."""
    y, p = rows()
    rng = np.random.default_rng(2)
    fast = {"draws": 200, "rng": 1}
    matrix = rng.dirichlet(np.ones(4), len(y))
    classes = [int(row @ np.arange(4)) for row in rng.multinomial(1, matrix)]
    if kind == "event":
        return bc.evaluate(y, p, **fast)
    if kind == "top-label":
        return bc.evaluate(classes, matrix, weights=rng.random(len(y)), **fast)
    if kind == "classwise":
        return bc.evaluate(classes, matrix, target="classwise", **fast)
    if kind == "groups":
        return bc.evaluate(y, p, by=[f"g{i % 30}" for i in range(len(y))], **fast)
    if kind == "two":
        return bc.compare(y, {"a": p, "b": p**1.5}, **fast)
    if kind == "three":
        return bc.compare(y, {"a": p, "b": p**1.5, "c": p**0.5}, **fast)
    if kind == "prior":
        return bc.evaluate_counts(bc.BinnedCounts.empty(5), **fast)
    if kind == "plan":
        return bc.planning.labels_needed(
            bc.BinnedCounts.from_arrays(y, p), width=0.05, simulations=20, draws=200, rng=1
        )
    if kind in ("monitor", "change"):
        monitor = bc.monitoring.CalibrationMonitor(window=100.0, target="event")
        monitor.add(y, p, time=np.arange(len(y), dtype=float))
        return monitor if kind == "monitor" else monitor.change((0.0, 300.0), (300.0, 600.0), **fast)
    labels = np.array(NAMES, dtype=object)[np.arange(len(y)) % len(NAMES)]
    by = pd.Series(labels, name=HOSTILE["script"], dtype=object)
    return bc.evaluate(y, p, by=by, **fast)


class Reader(HTMLParser):
    """The parts of a page: elements with their attributes, visible words, tables as rows of cells."""

    void = ("meta",)

    def __init__(self, html):
        super().__init__()
        self.elements, self.open, self.words, self.tables, self.ids = [], [], "", [], []
        self.feed(html)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        self.ids += [value for name, value in attrs if name == "id"]
        if tag not in self.void:
            self.open.append(tag)
        if tag == "table":
            self.tables.append([])
        elif tag == "tr":
            self.tables[-1].append([])
        elif tag in ("td", "th"):
            self.tables[-1][-1].append("")

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        self.open.pop()

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if {"style", "script"} & set(self.open):
            return
        self.words += data
        if {"td", "th"} & set(self.open):
            self.tables[-1][-1][-1] += data


@cache
def text_of(kind):
    return page(result(kind))


@cache
def read(kind):
    return Reader(text_of(kind))


# --- one file


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_a_page_is_complete_and_needs_nothing_else(kind):
    text, parts = text_of(kind), read(kind)
    assert text.startswith("<!DOCTYPE html>")
    assert text.endswith("</html>\n")
    tags = {tag for tag, _ in parts.elements}
    assert tags <= TAGS
    attributes = {name for _, attrs in parts.elements for name in attrs}
    assert not {name for name in attributes if name.startswith("on") or name in ("src", "srcdoc", "action")}
    links = {value for _, attrs in parts.elements for name, value in attrs.items() if name.endswith("href")}
    assert all(link.startswith("#") for link in links)
    assert not re.search(r"https?:|@import|url\((?!#)", text)
    assert [tag for tag, _ in parts.elements].count("script") == 1


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_identifiers_are_unique_and_references_lead_somewhere(kind):
    text, ids = text_of(kind), read(kind).ids
    assert len(set(ids)) == len(ids)
    assert set(re.findall(r'(?:href="|url\()#([\w-]+)', text)) == set(ids)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_the_same_result_gives_the_same_bytes(kind, tmp_path):
    """Whatever the settings of matplotlib are; drawing changes neither them nor the figures of pyplot."""
    text = text_of(kind)
    before, figures = dict(mpl.rcParams), plt.get_fignums()
    with mpl.rc_context({"font.size": 20, "axes.facecolor": "red", "text.color": "white", "svg.fonttype": "path"}):
        path = result(kind).to_html(tmp_path / "x.html")
    assert path == tmp_path / "x.html"
    assert path.read_bytes() == text.encode()
    assert dict(mpl.rcParams) == before
    assert plt.get_fignums() == figures


def test_colours_are_those_of_the_page():
    """No colour of a picture is fixed, so that all of them follow the light or dark mode."""
    for kind in KINDS:
        for drawn in re.findall(r"<svg.*?</svg>", text_of(kind), re.DOTALL):
            used = set(re.findall(r"(?:fill|stroke): ([^;\"]+)", drawn))
            assert {colour for colour in used if colour != "none" and not colour.startswith("var(--")} == set()
            assert {colour[6:-1] for colour in used if colour != "none"} <= set(COLOURS.values())
    style = text_of("prior")
    for name in COLOURS.values():
        assert len(re.findall(rf"--{name}: #", style)) == 2, name  # one light, one dark


@pytest.mark.slow
def test_threads_do_not_disturb_each_other():
    before = dict(mpl.rcParams)
    with ThreadPoolExecutor(4) as pool:
        texts = list(pool.map(page, [result("two"), result("event")] * 3))
    assert texts == [text_of("two"), text_of("event")] * 3
    assert dict(mpl.rcParams) == before


# --- the printed content


def printed_cells(sheet):
    return [list(row) for row in sheet.rows]


@pytest.mark.parametrize("kind", ["event", "top-label", "classwise", "groups", "change", "monitor", "plan", "prior"])
def test_the_page_shows_what_printing_shows(kind):
    made = result(kind)
    sheet = made.sheet(whole=True)
    parts = read(kind)
    assert parts.tables[0][1:] == printed_cells(sheet)
    assert parts.tables[0][0][1:] == list(sheet.header[1:])
    for text in (sheet.sentence, sheet.spec, *sheet.remarks, *sheet.notes):
        assert text in parts.words
    in_print = str(made).split()
    numbers = [cell for row in made.sheet().rows for cell in row[1:]]
    assert numbers
    assert set(" ".join(numbers).split()) <= set(in_print)


@pytest.mark.slow
def test_a_long_table_is_whole_on_the_page():
    grouped = result("groups")
    assert len(grouped.sheet().rows) == 26
    names = dict(zip(grouped.groups, grouped.names, strict=True))
    in_order = [names[label] for label in grouped.in_order()]
    assert [row[0] for row in read("groups").tables[0][1:]] == ["all rows", *in_order]
    assert "Not shown" in str(grouped)
    assert "Not shown" not in read("groups").words
    y, matrix = np.arange(300) % 30, np.random.default_rng(1).dirichlet(np.ones(30), 300)
    many = bc.evaluate(y, matrix, target="classwise", draws=50, rng=1)
    assert len(Reader(page(many)).tables[0]) == 1 + 2 + 30
    names = {f"m{i}": np.clip(rows()[1] + i / 100, 0, 1) for i in range(8)}
    eight = bc.compare(rows()[0], names, draws=50, rng=1)
    assert len(Reader(page(eight)).tables[1]) == 1 + 28
    assert len(eight.sheet().rows) == 7
    assert len(eight.sheet(whole=True).rows) == 28


@pytest.mark.slow
@pytest.mark.parametrize("estimand", ["ece", "brier_score", "signed_error"])
def test_a_comparison_shows_the_tables_of_the_command_line(estimand):
    made, record = result("three"), registered()[estimand]
    parts = Reader(page(made, estimand=estimand))
    screen = Console(width=200, file=io.StringIO())
    show_sheet(screen, difference_sheet(made, record), details=True)
    shown = [line.split() for line in screen.file.getvalue().splitlines()]
    measures, differences, classifiers = parts.tables[:3]
    assert [row[0] for row in measures[1:]] == list(made)
    assert len(differences) == 4
    for row in differences[1:]:
        assert " ".join(row).split() in shown
    table = made.each(estimand=estimand)
    assert [row[0] for row in classifiers[1:]] == [row["classifier"] for row in table]
    assert [row[1:5] for row in classifiers[1:]] == [
        [_render.number(row[name]) for name in ("mean", "sd", "low", "high")] for row in table
    ]
    assert made.sentence(estimand=estimand) in parts.words


def test_the_bins_are_those_of_the_counts():
    made = result("event")
    header, *table = read("event").tables[2]
    assert header == ["bin", "rows", "mean stated probability", "observed event rate", "2.5 %", "97.5 %"]
    assert [int(row[1]) for row in table] == made.counts.n.tolist()
    assert [float(row[3]) for row in table] == pytest.approx(made.counts.accuracy, abs=5.1e-5)
    empty = Reader(page(bc.evaluate([0, 1, 1], [0.1, 0.9, 0.95], bins=3, draws=50, rng=1))).tables[2]
    assert empty[2] == ["0.333 to 0.667", "0", "-", "-", "-", "-"]


def test_edges_that_differ_late_differ_on_the_page():
    edges = [0, 0.999991, 0.999992, 1]
    made = bc.evaluate([0, 1, 1], [0.1, 0.9999915, 0.9999925], bins=edges, draws=50, rng=1)
    table = Reader(page(made)).tables[2]
    assert [row[0] for row in table[1:]] == ["0 to 0.999991", "0.999991 to 0.999992", "0.999992 to 1"]


def test_what_was_read():
    parameters = {"file": "a.csv", "rows": 600, "prob": ["p", "q"], "weights": None, "logits": False, "seed": 1}
    facts = Reader(page(result("event"), parameters=parameters, notes=["column 'p': \x1b[0m"])).tables[-1]
    assert [fact[0] for fact in facts] == [
        "file",
        "rows read",
        "columns of probabilities",
        "seed",
        "rows refused",
        "note",
    ]
    assert dict(facts)["columns of probabilities"] == "p, q"
    assert dict(facts)["note"] == r"column 'p': \x1b[0m"
    assert dict(facts)["rows refused"].startswith("0 (")
    assert dict(read("top-label").tables[-1])["rows"] == "600"
    effective = float(dict(read("top-label").tables[-1])["effective rows"])
    assert effective == pytest.approx(result("top-label").counts.effective_rows, abs=0.5)
    assert dict(read("change").tables[-1])["rows, baseline"] == "300"
    apart = bc.compare_independent({"a": result("event"), "b": bc.evaluate(*rows(100), draws=200, rng=1)})
    assert dict(Reader(page(apart)).tables[-1])["rows of b"] == "100"


# --- names from data


def test_nothing_is_lost_and_nothing_is_an_element():
    parts = read("hostile")
    assert parts.elements[0][0] == "html"
    first = [row[0] for row in parts.tables[0]]
    for name in NAMES:
        assert _render.visible(name) in first, ascii(name)
    assert _render.name(HOSTILE["script"]) in result("hostile").spec
    assert result("hostile").spec in parts.words
    for character in parts.words:
        assert character == "\n" or character.isprintable(), ascii(character)


@pytest.mark.slow
@pytest.mark.parametrize("names", [NAMES[:2], NAMES[2:7], NAMES[7:12], NAMES[12:]], ids=range(4))
def test_names_of_classifiers_and_classes(names):
    y, p = rows()
    made = bc.compare(y, {name: p ** (1 + i / 10) for i, name in enumerate(names)}, draws=50, rng=1)
    matrix = np.random.default_rng(1).dirichlet(np.ones(len(names)), len(y))
    labels = [names[i % len(names)] for i in range(len(y))]
    classes = bc.evaluate(labels, matrix, classes=names, target="classwise", draws=50, rng=1)
    texts = [page(shown) for shown in (made, classes)]
    for text in texts:
        words = Reader(text).words
        for name in names:
            assert _render.name(name) in words
    drawn = Reader("".join(re.findall(r"<svg.*?</svg>", texts[0], re.DOTALL))).words
    for name in names:  # long ones are wrapped and shortened
        assert _render.visible(name).replace(" ", "")[:5] in re.sub(r"\s", "", drawn)


def test_a_name_that_claims_to_be_markup():
    class Claims(str):
        def __html__(self):
            return str(self)

    y, p = rows(60)
    for kind in (Markup, Claims):
        by = np.array([kind(HOSTILE["script"]), "b"], dtype=object)[np.arange(60) % 2]
        text = page(bc.evaluate(y, p, by=by, draws=50, rng=1), parameters={"file": kind("<b>")}, notes=[kind("<i>")])
        parts = Reader(text)
        assert [tag for tag, _ in parts.elements].count("script") == 1
        assert not {"b", "i"} & {tag for tag, _ in parts.elements}


def test_text_enters_in_one_function():
    filled = _render.filled("<p title='{{ x }}'>{{ x }}</p>", x="'\"<&>\x1b")
    assert filled == "<p title='&#39;&#34;&lt;&amp;&gt;\\x1b'>&#39;&#34;&lt;&amp;&gt;\\x1b</p>"


def test_text_in_a_picture_is_escaped():
    from matplotlib.figure import Figure

    def draw():
        figure = Figure(figsize=(3, 1))
        for i, name in enumerate(NAMES):
            figure.text(0, i / len(NAMES), _render.visible(name), parse_math=False)
        return figure

    parts = Reader(f"{inline_svg(draw, 'x')}")
    assert {tag for tag, _ in parts.elements} <= {"svg", "g", "path", "text", "defs"}
    for name in NAMES:
        assert _render.visible(name) in parts.words


# --- files


@pytest.mark.parametrize(
    ("path", "error", "said"),
    [
        ("x.pdf", ValueError, r"`path` must end in .html or .htm, not 'x.pdf'.*print as PDF"),
        ("x", ValueError, "`path` must end in .html or .htm, not 'x'"),
        (3, TypeError, "`path` must be the name of a file, not int"),
        ("nowhere/x.html", FileNotFoundError, "there is no folder"),
        ("folder.html", IsADirectoryError, "is a folder"),
    ],
)
def test_paths_that_are_refused(tmp_path, monkeypatch, path, error, said):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder.html").mkdir()
    with pytest.raises(error, match=said):
        result("prior").to_html(path)
    assert [p.name for p in tmp_path.iterdir()] == ["folder.html"]


def test_without_a_path_the_page_is_returned(tmp_path):
    evaluation = result("prior")
    text = evaluation.to_html()
    assert evaluation.to_html(tmp_path / "x.html").read_text(encoding="utf-8") == text


def test_a_file_is_replaced(tmp_path):
    path = tmp_path / "X.HTM"
    path.write_text("old")
    result("prior").to_html(str(path))
    assert path.read_text(encoding="utf-8").startswith("<!DOCTYPE")
    assert [p.name for p in tmp_path.iterdir()] == ["X.HTM"]


def test_an_estimand_of_the_comparison(tmp_path):
    path = result("two").to_html(tmp_path / "x.html", estimand="brier_score")
    assert "Brier score" in path.read_text(encoding="utf-8")
    with pytest.raises(ValueError, match="`estimand`"):
        result("two").to_html(tmp_path / "y.html", estimand="no_such")
    assert not (tmp_path / "y.html").exists()


def test_something_else_has_no_page():
    with pytest.raises(TypeError, match="`result` must be a result of this package, as an Evaluation, not dict"):
        page({})


# --- in a browser


#: Elements that leave the page or their picture, texts of a picture that overlap, and unreadable texts.
FLAWS = """(() => {
  const flaws = [];
  const inside = (a, b) => a.left > b.left - 1 && a.right < b.right + 1 && a.top > b.top - 1 && a.bottom < b.bottom + 1;
  const page = new DOMRect(0, 0, innerWidth, document.documentElement.scrollHeight);
  if (document.documentElement.scrollWidth > innerWidth) flaws.push("wider than the window");
  for (const each of document.querySelectorAll("main *:not(svg *)"))
    if (each.getClientRects().length && !inside(each.getBoundingClientRect(), page)) flaws.push("cut: " + each.tagName);
  for (const picture of document.querySelectorAll("svg")) {
    const texts = [...picture.querySelectorAll("text")].map((text) => [text, text.getBoundingClientRect()]);
    texts.forEach(([text, box], i) => {
      if (!inside(box, picture.getBoundingClientRect())) flaws.push("outside: " + text.textContent);
      if (box.height < 5) flaws.push("tiny: " + text.textContent);
      for (const [other, its] of texts.slice(0, i)) {
        const across = Math.min(box.right, its.right) - Math.max(box.left, its.left);
        const down = Math.min(box.bottom, its.bottom) - Math.max(box.top, its.top);
        if (text.parentNode !== other.parentNode && across > 2 && down > 0.4 * Math.min(box.height, its.height))
          flaws.push("overlap: " + text.textContent + " / " + other.textContent);
      }
    });
  }
  const cells = [...document.querySelectorAll("td, th")].filter((cell) => cell.scrollWidth > cell.clientWidth + 1);
  return flaws.concat(cells.map((cell) => "too wide: " + cell.textContent));
})()"""
COLUMN = """(table, column) =>
  [...document.querySelectorAll("table")[table].tBodies[0].rows].map((row) => row.cells[column].textContent)"""
CLICK = """(table, column) => document.querySelectorAll("table")[table].tHead.rows[0].cells[column]
  .querySelector("button").click()"""


@pytest.fixture
def opened(browser, tmp_path):
    """Return a function that writes a page, opens it in the browser, and returns the browser."""

    def open_page(text, **options):
        path = tmp_path / "page.html"
        path.write_text(text, encoding="utf-8")
        browser.open(path, **options)
        return browser

    return open_page


def without_policy(text):
    changed = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", text)
    assert changed != text
    return changed


@pytest.mark.parametrize("policy", [True, False], ids=["page", "without its policy"])
@pytest.mark.parametrize("kind", ["groups", "classifiers", "columns"])
def test_hostile_names_do_not_run(opened, kind, policy):
    y, p = rows()
    if kind == "groups":
        text = text_of("hostile")
    elif kind == "classifiers":
        text = page(bc.compare(y, {name: p ** (1 + i / 10) for i, name in enumerate(NAMES[:9])}, draws=50, rng=1))
    else:
        parameters = {"file": NAMES[0], "label": NAMES[1], "prob": NAMES, "classes": NAMES}
        text = page(result("event"), parameters=parameters, notes=NAMES)
    shown = opened(text if policy else without_policy(text))
    title = shown.run("document.title")
    shown.run("document.querySelectorAll('*').forEach((e) => e.dispatchEvent(new Event('mouseover')))")
    shown.run("document.querySelectorAll('*').forEach((e) => e.dispatchEvent(new Event('focus')))")
    assert shown.complaints() == []
    assert shown.run("document.title") == title
    assert title != "owned"
    assert len(shown.requests()) == 1
    assert shown.run("document.querySelectorAll('script, img, iframe, a').length") == 1
    words = shown.run("document.body.textContent")
    for name in NAMES if kind != "classifiers" else NAMES[:9]:
        assert _render.visible(name) in words


def test_hostile_groups_of_a_file_do_not_run(opened, tmp_path):
    """A file whose column of groups, labels of groups and other columns are hostile, reported with --by."""
    y, p = rows()
    names = [name for name in NAMES if name != HOSTILE["surrogate"]]  # files are UTF-8
    column, prob = HOSTILE["closed"], HOSTILE["ansi"]
    by = [names[i % len(names)] for i in range(len(y))]
    file, out = tmp_path / "rows.parquet", tmp_path / "page.html"
    pd.DataFrame({HOSTILE["single"]: y, prob: p, column: by}).to_parquet(file)
    arguments = ["report", file, "--label", HOSTILE["single"], "--prob", prob, "--by", column, "--draws", "50"]
    done = CliRunner().invoke(app, [*map(str, arguments), "--html", str(out)], env={"COLUMNS": "200"})
    assert done.exit_code == 0, done.output
    assert not re.search(r"[\x1b\x9b\u202e]", done.output)
    text = out.read_text(encoding="utf-8")
    for shown in (opened(text), opened(without_policy(text))):
        shown.run("document.querySelectorAll('*').forEach((e) => e.dispatchEvent(new Event('mouseover')))")
        assert shown.complaints() == []
        assert shown.run("document.title").startswith("Calibration report: groups")
        assert shown.run("document.querySelectorAll('script, img, iframe, a').length") == 1
        words = shown.run("document.body.textContent")
        for name in [*names, column, prob, HOSTILE["single"]]:
            assert _render.name(name) in words, ascii(name)


def test_pages_of_a_monitor_and_of_a_plan_have_their_own_headings():
    for kind, title, table in (
        ("monitor", "Calibration over time", "Windows"),
        ("plan", "How many labels are needed", "Simulated numbers of rows"),
    ):
        assert f"<h1>{title}</h1>" in text_of(kind)
        assert f"<h2>{table}</h2>" in text_of(kind)
    assert dict(read("monitor").tables[-1])["windows with rows"] == "6"


def test_pages_of_cumulative_differences_are_titled_and_drawn():
    y, p = rows()
    cd = bc.cumulative_difference(y, p)
    member = np.arange(len(y)) % 3 == 0
    for made, title, table in (
        (cd, "Cumulative difference", "Statistics"),
        (cd.posterior(draws=50, rng=1), "Posterior of the cumulative difference", "Statistics of the population"),
        (
            bc.cumulative_difference_subpopulation(y, p, member),
            "Cumulative difference of a subpopulation",
            "Statistics",
        ),
        (bc.screen_subpopulations(y, p, member), "Subpopulations", "Groups"),
    ):
        text = page(made)
        assert f"<h1>{title}</h1>" in text
        assert f"<h2>{table}</h2>" in text
        assert text.count("<svg") == 1
        assert Reader(text).tables[0][1:] == printed_cells(made.sheet(whole=True))


def test_the_distribution_contains_the_files_of_the_page():
    """The wheel contains the folder of the package, where these files are; .gitignore would exclude files."""
    root = Path(bc.__file__).parents[1]
    if not (root / ".git").exists():
        pytest.skip("not a clone of the repository")
    build = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["hatch"]["build"]["targets"]
    assert build["wheel"] == {"packages": ["bayescal"]}
    needed = ["report/page.html", "report/page.css", "report/page.js", "py.typed", "__init__.pyi"]
    tracked = subprocess.run(["git", "ls-files", "bayescal"], cwd=root, capture_output=True, text=True, check=True)
    assert {f"bayescal/{name}" for name in needed} <= set(tracked.stdout.split())


def test_the_browser_would_notice(opened):
    """The same names without escaping run, and the policy of the page stops them."""
    text = text_of("event").replace("<h1>", f"<h1>{HOSTILE['script']}{HOSTILE['image']}")
    assert opened(without_policy(text)).run("document.title") == "owned"
    shown = opened(text)
    assert shown.run("document.title") == "Calibration report"
    assert any("Content Security Policy" in str(event) for event in shown.complaints())


def test_tables_sort(opened):
    shown = opened(text_of("groups"))
    column = lambda i: shown.run(f"({COLUMN})(0, {i})")  # noqa: E731
    click = lambda i: shown.run(f"({CLICK})(0, {i})")  # noqa: E731
    written = [column(i) for i in range(3)]
    click(2)
    assert column(2) == sorted(written[2], key=float)
    assert column(2) != written[2]
    assert sorted(zip(*(column(i) for i in range(3)), strict=True)) == sorted(zip(*written, strict=True))
    titles = "[...document.querySelectorAll('table')[0].tHead.rows[0].cells].map((c) => c.getAttribute('aria-sort'))"
    assert shown.run(titles)[:4] == [None, None, "ascending", None]
    click(2)
    assert column(2) == sorted(written[2], key=float, reverse=True)
    click(0)
    assert column(0) == ["all rows", *(f"g{i}" for i in range(30))]  # g2 before g10
    assert shown.run(titles)[:4] == ["ascending", None, None, None]
    click(0)
    click(0)
    assert [column(i) for i in range(3)] == written
    assert shown.run(titles)[0] is None
    assert shown.complaints() == []


def test_numbers_with_a_sign_and_missing_numbers_sort(opened):
    made = result("three")
    cells = ["0.50", "< 0.01", "-", "0.01", "> 0.99", "-0.2", "1.00", "0.00", "1e-05"]
    text = page(made)
    table = re.search(r"<tbody>.*?</tbody>", text, re.DOTALL)[0]
    body = "".join(f"<tr><th>x</th><td>{Markup.escape(cell)}</td></tr>" for cell in cells)
    shown = opened(text.replace(table, f"<tbody>{body}</tbody>"))
    shown.run(f"({CLICK})(0, 1)")
    upwards = ["-0.2", "0.00", "1e-05", "< 0.01", "0.01", "0.50", "> 0.99", "1.00", "-"]
    assert shown.run(f"({COLUMN})(0, 1)") == upwards
    shown.run(f"({CLICK})(0, 1)")
    assert shown.run(f"({COLUMN})(0, 1)") == [*upwards[-2::-1], "-"]


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [400, 1280])
def test_nothing_is_cut_and_nothing_overlaps(opened, width, dark):
    for kind in KINDS:
        shown = opened(text_of(kind), width=width, dark=dark)
        assert shown.run(FLAWS) == [], kind
        ink, paper = shown.run(
            "[getComputedStyle(document.documentElement)].map((s) => [s.color, s.backgroundColor])[0]"
        )
        brightness = [sum(map(int, re.findall(r"\d+", colour)[:3])) / 765 for colour in (ink, paper)]
        assert abs(brightness[0] - brightness[1]) > 0.7
        assert (brightness[1] < 0.5) == dark


def test_the_browser_would_see_a_flaw(opened):
    shown = opened(text_of("event"), width=400)
    shown.run("document.querySelectorAll('svg text').forEach((text) => (text.style.fontSize = '22px'))")
    flaws = shown.run(FLAWS)
    assert any(flaw.startswith("overlap") for flaw in flaws)
    assert any(flaw.startswith("outside") for flaw in flaws)


def test_a_page_can_be_printed(opened, tmp_path):
    shown = opened(text_of("groups"), dark=True)
    shown.print(tmp_path / "page.pdf")
    assert (tmp_path / "page.pdf").read_bytes().startswith(b"%PDF")
    shown._call(
        "Emulation.setEmulatedMedia", media="print", features=[{"name": "prefers-color-scheme", "value": "dark"}]
    )
    assert shown.run("getComputedStyle(document.documentElement).backgroundColor") == "rgb(255, 255, 255)"


def test_a_result_of_another_kind_has_a_page(tmp_path):
    """A record that prints itself needs nothing more."""

    @dataclasses.dataclass(frozen=True, repr=False)
    class Halves(_presented.Presented):
        spec = "two halves"

        def sheet(self, *, whole=False):
            return _render.Sheet("All is well.", self.spec, ("", "n"), [["first", "1"]])

    text = Halves().to_html(tmp_path / "x.html").read_text(encoding="utf-8")
    assert Reader(text).tables[0] == [["name", "n"], ["first", "1"]]
    assert "All is well." in text


def test_the_page_of_an_evaluation_shows_scores_beside_errors():
    y, p = [0, 1, 1, 0, 1, 1], [0.2, 0.7, 0.9, 0.4, 0.6, 0.8]
    text = page(bc.evaluate(y, p, draws=100, rng=1))
    assert "Discrimination and scores" in text
    table = text.split("Discrimination and scores")[1].split("</table>")[0]
    for words in ("AUC", "Brier score", "log score"):
        assert words in table
    infinite = page(bc.evaluate(y, [0.2, 0.0, 0.9, 0.4, 0.6, 0.8], draws=100, rng=1))
    table = infinite.split("Discrimination and scores")[1].split("</table>")[0]
    assert "Brier score" in table
    assert "log score" not in table
