"""The page docs/explore: its stored test sets are those of the library, and it shows them, in a real browser."""

import importlib.util
import re
import shutil
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import binomtest

from bayescal import BinnedCounts
from bayescal.analyses.one import DEFAULT_MODEL
from bayescal.datasets.simulate import simulate, true_curve
from bayescal.verify.coverage import METHODS

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "explore"
REBUILD = "run `make explore`"


def module():
    spec = importlib.util.spec_from_file_location("explore", ROOT / "docs" / "make" / "explore.py")
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded


explore = module()


@pytest.fixture(scope="module")
def stored():
    return explore.read()


def setting_of(stored, rows, temperature):
    return next(each for each in stored["settings"] if (each["rows"], each["temperature"]) == (rows, temperature))


def values_of(part):
    """Values of the ECE by column, one per test set."""
    return dict(zip(explore.COLUMNS, explore.unpacked("ece", part["ece"], len(explore.COLUMNS)).T, strict=True))


def contained(part):
    """Whether the bootstrap and the posterior interval of each test set contain the truth."""
    bits = explore.unpacked("contains", part["contains"])
    return {"bootstrap": bits & 1 > 0, "posterior": bits & 2 > 0}


def every_part(stored):
    return [(setting, int(bins), part) for setting in stored["settings"] for bins, part in setting["by_bins"].items()]


def test_the_page_is_below_two_megabytes_and_has_all_settings(stored):
    assert explore.page_bytes() < 2_000_000
    assert [(each["rows"], each["temperature"]) for each in stored["settings"]] == explore.settings()
    assert {int(bins) for each in stored["settings"] for bins in each["by_bins"]} == set(explore.BINS)
    assert all(len(contained(part)["posterior"]) == stored["sets"] for _, _, part in every_part(stored))
    assert all(explore.BINS[-1] % bins == 0 for bins in explore.BINS)


@pytest.mark.slow
def test_stored_test_sets_equal_a_fresh_computation():
    assert explore.check(every=7, n_sets=2) == [], REBUILD


def test_a_changed_number_is_noticed(stored):
    setting, job = stored["settings"][0], explore.jobs(1)[0]
    sets = explore.test_sets(job)
    assert list(explore.differences(setting, sets)) == []
    sets[0]["by_bins"][15]["ece"][3] += 2
    sets[0]["counts"][1, 4] += 1
    assert list(explore.differences(setting, sets)) == [
        "100 rows, temperature 0.7: counts",
        "100 rows, temperature 0.7, 15 bins: ece",
    ]


def test_intervals_are_those_of_the_coverage_study():
    data = simulate(300, population="flat", curve=true_curve("temperature", 1.5), rng=4)
    counts = BinnedCounts.from_arrays(data.outcome, data.confidence, bins=10)
    shown = dict(zip(explore.COLUMNS, explore.intervals(data, 10, 0.05, 7)["ece"], strict=True))
    for method, names in {
        "percentile bootstrap": ("bootstrap_low", "bootstrap_high", "plug_in"),
        DEFAULT_MODEL: ("posterior_low", "posterior_high", "posterior_mean"),
    }.items():
        expected = METHODS[method](counts, explore.PROB, explore.DRAWS, np.random.default_rng(7))
        assert [shown[name] for name in names] == list(explore.in_units(expected))


def test_stored_rows_give_the_stored_plug_in_values(stored):
    """Mean confidences are rounded to 1/255 of a bin, which moves the ECE by half of that at most."""
    finest = explore.BINS[-1]
    for setting in stored["settings"]:
        kind = explore.name_of_counts(setting["rows"])
        n, k = np.moveaxis(explore.unpacked(kind, setting[kind], 2, finest), 1, 0)
        place = explore.unpacked("confidence", setting["confidence"], finest) / explore.STEPS
        assert (n.sum(axis=1) == setting["rows"]).all()
        summed = n * (np.arange(finest) + place) / finest
        for bins, part in setting["by_bins"].items():
            gap = (k - summed).reshape(stored["sets"], int(bins), -1).sum(axis=2)
            plug_in = np.abs(gap).sum(axis=1) / setting["rows"]
            assert values_of(part)["plug_in"] * stored["unit"] == pytest.approx(plug_in, abs=1 / 30 / 255 / 2 + 1e-5)


def test_what_contains_the_truth_agrees_with_the_stored_ends(stored):
    for _, _, part in every_part(stored):
        ends, truth = values_of(part), part["truth"] / stored["unit"]
        for method, inside in contained(part).items():
            low, high = ends[f"{method}_low"], ends[f"{method}_high"]
            clear = np.minimum(np.abs(low - truth), np.abs(high - truth)) > 1
            assert ((low <= truth) & (truth <= high))[clear].tolist() == inside[clear].tolist()


def test_the_message_of_the_page_is_true(stored):
    """Bootstrap intervals never contain 0; posterior intervals do, in nearly all test sets."""
    calibrated = [(part["truth"], contained(part)) for each, _, part in every_part(stored) if each["temperature"] == 1]
    assert len(calibrated) == len(explore.ROWS) * len(explore.BINS)
    assert {truth for truth, _ in calibrated} == {0.0}
    assert sum(inside["bootstrap"].sum() for _, inside in calibrated) == 0
    assert min(inside["posterior"].mean() for _, inside in calibrated) > 0.9
    assert np.mean([contained(part)["posterior"].mean() for _, _, part in every_part(stored)]) > 0.93


def test_the_page_loads_nothing_from_the_network():
    texts = {file.name: file.read_text(encoding="utf-8") for file in PAGE.iterdir()}
    for name, text in texts.items():
        assert set(re.findall(r"https?:[^\s\"'`)]*", text)) <= {"http://www.w3.org/2000/svg"}, name
        assert not re.search(r"fetch\(|XMLHttpRequest|import\(|@import|url\(|<iframe", text), name
    targets = re.findall(r'(?:src|href)="([^"]+)"', texts["index.html"])
    assert {t for t in targets if not (PAGE / t).is_file()} == {"data:,", "../index.html"}
    assert {f for f in texts if f not in targets} == {"index.html"}


def test_every_slider_has_a_label_and_every_id_exists():
    text = (PAGE / "index.html").read_text(encoding="utf-8")
    ids = re.findall(r' id="([^"]+)"', text)
    assert len(ids) == len(set(ids))
    sliders = re.findall(r'<input type="range" id="(\w+)"', text)
    assert sliders == ["temperature", "rows", "bins"]
    assert set(sliders) <= set(re.findall(r'<label for="(\w+)"', text))
    named = re.findall(r'(?:for|aria-labelledby|aria-describedby)="([^"]+)"', text)
    assert set(named) <= set(ids)


# in a browser


#: Functions that use the page as a reader does, and note what it shows.
PROBE = """(async () => {
const notes = [];
const byId = (id) => document.getElementById(id);
const all = (selector) => Array.from(document.querySelectorAll(selector));
function note() {
  const texts = ["result", "left", "overall"].map((id) => byId(id).textContent);
  const shares = all(".method p").map((each) => each.textContent);
  notes.push({ texts, shares, drawn: byId("tally").dataset.drawn.split(" ").map(Number),
    wider: document.documentElement.scrollWidth - innerWidth,
    settings: ["temperature", "rows", "bins"].map((id) => byId(id).getAttribute("aria-valuetext")),
    marks: ["#tally .interval", "#tally .interval.misses", ".dot"].map((each) => all(each).length),
    dots: all(".dot").map((each) => Number(each.getAttribute("cx"))),
    bar: ["x1", "x2"].map((end) => Number(all("#intervals .interval")[1].getAttribute(end))),
    bins: all(".bin title").map((each) => each.textContent),
    focus: document.activeElement.id, off: byId("draw").disabled });
}
function move(id, value) {
  byId(id).value = value;
  byId(id).dispatchEvent(new Event("input", { bubbles: true }));
}
async function until(drawn) {
  while (byId("tally").dataset.drawn.split(" ").length < drawn)
    await new Promise((done) => setTimeout(done, 5));
}
// frames without waiting for the screen
window.requestAnimationFrame = (next) => setTimeout(next, 0);
window.cancelAnimationFrame = clearTimeout;
STEPS
return notes;
})()"""


@pytest.fixture
def browse(browser):
    """Return a function that runs steps on the page; it returns the notes, and the messages of the console."""

    def run(steps, *, width=400, address="", source=PAGE, still=False):
        browser.open(source / "index.html", width=width, fragment=address, still=still)
        notes = browser.run(PROBE.replace("STEPS", steps))
        return notes, [str(event) for event in browser.complaints()]

    return run


def shown_percent(share):
    decimals = 1 if 0 < share < 0.005 or 0.995 <= share < 1 else 0
    return f"{100 * share:.{decimals}f}\u00a0%"


def shares_of(part, drawn):
    """The sentences that the page must show of drawn test sets."""
    for inside in contained(part).values():
        hits, total = int(inside[drawn].sum()), len(drawn)
        low, high = map(shown_percent, binomtest(hits, total).proportion_ci(method="wilson"))
        yield f"{hits} of {total} contain the truth"
        yield f"{shown_percent(hits / total)}, 95 % interval {low} to {high}"


def bins_of(setting, bins, index):
    """Descriptions of the circles of the reliability diagram of a test set."""
    finest, kind = explore.BINS[-1], explore.name_of_counts(setting["rows"])
    n, k = explore.unpacked(kind, setting[kind], 2, finest)[index].reshape(2, bins, -1).sum(axis=2)
    return [f"{b} of {a} rows have outcome 1" for a, b in zip(n, k, strict=True) if a > 0]


def test_running_shares_equal_those_of_the_data(browse, stored):
    steps = """
    note(); byId("draw").click(); note(); byId("draw-many").click(); await until(102); note();
    byId("draw-many").click(); await until(200); note();
    move("bins", 1); note(); byId("draw-many").click(); await until(101); note();
    move("temperature", 2); note(); byId("draw-many").click(); await until(101); note();
    move("rows", 4); byId("draw").click(); note(); byId("restart").click(); note();
    """
    notes, console = browse(steps)
    assert console == []
    settings = [(1000, 1, 15)] * 4 + [(1000, 1, 10)] * 2 + [(1000, 1.1, 10)] * 2 + [(10_000, 1.1, 10)] * 2
    for note, (rows, temperature, bins) in zip(notes, settings, strict=True):
        setting = setting_of(stored, rows, temperature)
        part, last = setting["by_bins"][str(bins)], note["drawn"][-100:]
        assert note["shares"] == list(shares_of(part, note["drawn"]))
        assert len(set(note["drawn"])) == len(note["drawn"])
        missed = sum(int((~inside[last]).sum()) for inside in contained(part).values())
        assert note["marks"] == [2 * len(last), missed, stored["dots"]]
        assert [min(note["dots"]), max(note["dots"])] == pytest.approx(note["bar"], abs=3.6)  # pixels: half a dot
        assert [text.split(",")[0] for text in note["bins"]] == bins_of(setting, bins, last[-1])
        assert note["wider"] <= 0
        values = [float(text.split(" ")[0].replace("\u202f", "")) for text in note["settings"]]
        assert values == [temperature, rows, bins]
    assert [len(note["drawn"]) for note in notes] == [1, 2, 102, 200, 1, 101, 1, 101, 2, 1]
    assert [note["off"] for note in notes] == [len(note["drawn"]) == stored["sets"] for note in notes]
    assert notes[4]["drawn"] == notes[3]["drawn"][-1:]  # other bins, the same rows


def test_the_sentence_states_the_stored_numbers(browse, stored):
    (note,), console = browse("note();", address="rows=300&temperature=1.5&bins=5&draws=30&seed=2")
    assert console == []
    part = setting_of(stored, 300, 1.5)["by_bins"]["5"]
    last = {name: f"{values[note['drawn'][-1]] * stored['unit']:.3f}" for name, values in values_of(part).items()}
    sentence = note["texts"][0]
    assert f"The true ECE is {part['truth']:.3f}." in sentence
    assert f"the plug-in ECE is {last['plug_in']}." in sentence
    for method, inside in contained(part).items():
        low, high = (last[f"{method}_{end}"] for end in ("low", "high"))
        verdict = "contains" if inside[note["drawn"][-1]] else "misses"
        assert f"The {method} interval, {'0' if low == '0.000' else low} to {high}, {verdict} the truth." in sentence
    hits = [inside[note["drawn"]].sum() for inside in contained(part).values()]
    assert f"Of 30 test sets, {hits[0]} bootstrap and {hits[1]} posterior intervals contain the truth." in sentence
    assert f"Over the {len(every_part(stored))} positions of the sliders" in note["texts"][2]


def test_the_sentence_waits_until_the_last_of_many_test_sets(browse):
    steps = 'note(); byId("draw-many").click(); note(); await until(101); note();'
    (before, during, after), _ = browse(steps)
    assert [len(note["drawn"]) for note in (before, during, after)] == [1, 3, 101]
    assert before["texts"][0] == during["texts"][0] != after["texts"][0]
    assert "Of 101 test sets" in after["texts"][0]


def test_with_reduced_motion_many_test_sets_appear_at_once(browse):
    steps = 'note(); byId("draw-many").click(); note();'
    (_, note), _ = browse(steps, still=True)
    assert len(note["drawn"]) == 101
    assert "Of 101 test sets" in note["texts"][0]


def test_the_focus_moves_on_when_no_test_sets_are_left(browse, stored):
    steps = 'byId("draw").focus(); note(); byId("draw").click(); note();'
    notes, _ = browse(steps, address=f"draws={stored['sets'] - 1}")
    assert [(note["focus"], note["off"]) for note in notes] == [("draw", False), ("restart", True)]
    assert notes[1]["texts"][1] == f"All {stored['sets']} stored test sets of this setting have been drawn."


@pytest.mark.parametrize("width", [320, 400, 800, 1280])
def test_nothing_is_wider_than_the_window(browse, width):
    steps = 'note(); for (const at of [0, 5]) { move("temperature", at); move("rows", 4 - at % 5); note(); }'
    notes, console = browse(steps, width=width, address="draws=150")
    assert console == []
    assert [note["wider"] for note in notes if note["wider"] > 0] == []
    assert len(notes) == 3


def test_an_error_in_a_script_would_be_noticed(browse, tmp_path):
    broken = tmp_path / "page"
    shutil.copytree(PAGE, broken)
    with (broken / "figures.js").open("a", encoding="utf-8") as file:
        file.write("nothing.of.this.name();\n")
    _, console = browse("note();", source=broken)
    assert any("nothing is not defined" in line for line in console)
