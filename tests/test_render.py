"""The text of a result is the same string wherever Python runs."""

import sys

import pytest
from jupyter_client.manager import run_kernel

from bayescal import _render
from bayescal._render import Sheet

SETUP = """
import numpy as np, bayescal as bc
rng = np.random.default_rng(1)
p = rng.random(400)
y = rng.random(400) < p
site = np.where(np.arange(400) % 2, "north", "south")
matrix = np.column_stack([1 - p, p])
counts = bc.BinnedCounts.from_arrays(y, p, target="event")
known = {"rng": 1, "draws": 200}
monitor = bc.monitoring.CalibrationMonitor(window=1, target="event").add(y, p, time=np.arange(400) % 2)
results = {
    "Evaluation": bc.evaluate(y, p, **known),
    "ClasswiseEvaluation": bc.evaluate(y.astype(int), matrix, target="classwise", **known),
    "GroupedEvaluation": bc.evaluate(y, p, by=site, **known),
    "Comparison": bc.compare(y, {"one": p, "other": p**2}, **known),
    "Plan": bc.planning.labels_needed(counts, width=0.04, simulations=30, **known),
    "CalibrationMonitor": monitor,
    "Change": monitor.change((0, 1), (1, 2), **known),
}
"""
NAMES = (
    "Evaluation",
    "ClasswiseEvaluation",
    "GroupedEvaluation",
    "Comparison",
    "Plan",
    "CalibrationMonitor",
    "Change",
)


@pytest.fixture(scope="module")
def kernel():
    """Return the (kind, text) of every output that a real Jupyter kernel sends for a cell, in order."""
    with run_kernel() as client:

        def run(code):
            outputs = []

            def keep(message):
                content = message["content"]
                if message["msg_type"] == "stream":
                    before = outputs.pop()[1] if outputs and outputs[-1][0] == content["name"] else ""
                    outputs.append((content["name"], before + content["text"]))
                elif message["msg_type"] in ("display_data", "execute_result", "error"):
                    outputs.append((message["msg_type"], str(content)))

            client.execute_interactive(code, timeout=120, output_hook=keep)
            return outputs

        assert run(SETUP) == []
        yield run


@pytest.fixture(scope="module")
def here():
    """Return the same results in this process, which is not a notebook."""
    names = {}
    exec(SETUP, names)
    assert tuple(names["results"]) == NAMES
    return names["results"]


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_text_in_jupyter_is_the_text_of_a_terminal(kernel, here, name):
    """By default, rich displays the table of `str(result)` in a notebook and returns a string without it."""
    expected = str(here[name])
    sheet = here[name].sheet()
    words = " ".join(expected.split())
    parts = [sheet.headline, " ".join(sheet.header), " ".join(sheet.rows[-1]), *sheet.remarks]
    places = [words.index(" ".join(part.split())) for part in parts]
    assert places == sorted(places)
    assert places[0] == 0
    assert kernel(f"print(results[{name!r}])") == [("stdout", expected + "\n")]
    assert kernel(f"logged = f'{{results[{name!r}]}}'") == []
    assert kernel("print(logged)") == [("stdout", expected + "\n")]


@pytest.mark.slow
def test_a_result_at_the_end_of_a_cell_is_one_html_table(kernel):
    ((kind, content),) = kernel("results['Evaluation']")
    assert kind == "execute_result"
    assert content.count("<table>") == 1


def test_text_is_as_wide_as_the_terminal_and_at_most_100_columns(monkeypatch):
    """In a file the width is 100, whatever COLUMNS says; numbers are never cut."""
    sheet = Sheet(
        "The error is small. " * 12, "spec", ("", "mean"), [["ece", "0.0100"]], ["A warning. " * 15], ["n " * 90]
    )
    for columns, terminal, width in (
        (60, True, 60),
        (80, True, 80),
        (120, True, 100),
        (10, True, 40),
        (60, False, 100),
    ):
        monkeypatch.setenv("COLUMNS", str(columns))
        monkeypatch.setattr(sys.stdout, "isatty", lambda terminal=terminal: terminal)
        assert _render.page_width() == width
        lines = _render.text(sheet).splitlines() + _render.details_text(sheet).splitlines()
        assert width - 20 < max(map(len, lines)) <= width
        assert "0.0100" in _render.text(sheet)


def test_printing_leaves_notes_and_specification_to_the_details():
    sheet = Sheet("Sentence. More.", "the spec", ("", "mean"), [["ece", "0.01"]], ["remark"], ["note"], "Sentence.")
    for shown, details in (
        (_render.text(sheet), _render.details_text(sheet)),
        (_render.html(sheet), _render.details_html(sheet)),
    ):
        assert all(word in shown for word in ("Sentence.", "0.01", "remark"))
        assert not any(word in shown for word in ("More.", "note", "the spec"))
        assert all(word in details for word in ("note", "the spec"))
        assert not any(word in details for word in ("Sentence", "0.01", "remark"))
    assert _render.details_text(sheet) == "note\n\nthe spec"
