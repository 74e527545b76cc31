"""MAINTENANCE.md: its numbers stand on the pages that it names, and it names every topic."""

import importlib
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
TEXT = (ROOT / "MAINTENANCE.md").read_text(encoding="utf-8")
TOPICS = ("clinical", "cumulative", "decisions", "labels", "monitoring", "planning", "shift", "survival")


def plain(text):
    """Text without line breaks, since sentences of pages are wrapped."""
    return re.sub(r"\s+", " ", text)


def section(title):
    return TEXT.split(f"## {title}\n")[1].split("\n## ")[0]


WEAK = [
    tuple(cell.strip() for cell in line.strip("|").split("|"))
    for line in section("Weak intervals").splitlines()
    if re.match(r"\| (?!Where)[A-Za-z]", line)
]


@pytest.mark.parametrize(("where", "number", "cause", "page"), WEAK)
def test_the_page_states_the_number(where, number, cause, page):
    path = ROOT / re.search(r"\((.*)\)", page).group(1)
    assert re.search(rf"(?<![\d.]){re.escape(number.split()[-1])}(?!\d)", path.read_text(encoding="utf-8")), where


def test_other_limits_are_those_of_their_pages():
    limits = plain(section("Other limits"))
    for number, page in (
        ("0.14 to 0.15", "net_benefit"),
        ("240", "plans"),
        ("140", "plans"),
        ("0.1 logits", "monitoring"),
        ("a quarter to three quarters of the streams", "monitoring"),
        ("takes about a minute", "shift"),
    ):
        assert number in limits
        assert f"[{page}]" in limits
        assert number in plain((ROOT / "docs" / "explanation" / f"{page}.md").read_text(encoding="utf-8"))


def test_every_topic_has_a_state():
    states = dict(re.findall(r"^\| `(\w+)` \| (settled|experimental) \|", section("State"), flags=re.M))
    assert sorted(states) == sorted(TOPICS)
    for topic, state in states.items():
        printed = re.search(r"^State: (\w+)\.", importlib.import_module(f"bayescal.{topic}").__doc__, flags=re.M)
        assert printed.group(1) == state, topic
    folders = {path.parent.name for path in (ROOT / "bayescal").glob("*/__init__.py")}
    assert set(TOPICS) <= folders
