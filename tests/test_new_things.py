"""The edits that docs/architecture.md describes for a new estimand, posterior, counts type and verb are enough.

The test makes exactly these edits in a copy of the package, and uses what was added in a process of its own.
"""

import importlib.util
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
#: A block of the page that names a file of the package in its first line.
BLOCK = re.compile(r"^```python\n# (bayescal/\S+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
#: New lines of an existing file go after these: imports after the last one like them, entries after the opening line.
AFTER = {"from bayescal.posterior": None, '    "': "MODELS: dict", "from .": None}

USE = """
import json
import matplotlib
matplotlib.use("agg")
import numpy as np
import bayescal as bc
from bayescal.report.document import document
from bayescal.stats.survey import SurveyCounts

rng = np.random.default_rng(1)
p = rng.random(2000) * 0.9  # the last bin is empty
y = (rng.random(2000) < p).astype(int)
counts = bc.BinnedCounts.from_arrays(y, p, target="event")
survey = SurveyCounts(counts, 4.0)
evaluations = {
    "estimand": bc.evaluate(y, p, rng=1),
    "posterior": bc.evaluate(y, p, model="uniform", rng=1),
    "counts": bc.evaluate_counts(survey, rng=1),
    "counts and posterior": bc.evaluate_counts(survey + survey, model="uniform", rng=1),
}
assert evaluations["counts"].counts.effective_rows == 500
for name, ev in evaluations.items():
    assert "net_benefit" in str(ev) and "net_benefit" in ev._repr_html_(), name
    assert "net_benefit" in ev.summary().index, name
    assert "net_benefit" in ev.to_datatree()["posterior"], name
    json.dumps(document(ev, {}))
    for plot in (bc.plot_reliability, bc.plot_posterior):
        plot(ev).figure.savefig(f"{name}.png")
assert "uniform model" in evaluations["posterior"].question
# a quarter of the evidence: intervals twice as wide
sds = {
    design: bc.evaluate_counts(SurveyCounts(counts, design), model="uniform", rng=1).net_benefit.sd()
    for design in (1.0, 4.0)
}
assert abs(sds[4.0] / sds[1.0] - 2) < 0.1, sds
comparisons = {
    "new things": bc.compare_independent({n: evaluations[n] for n in ("posterior", "counts and posterior")}, rng=1),
    "verb": bc.compare_halves(y, p, rng=1, model="uniform"),
}
for name, comparison in comparisons.items():
    assert "net benefit" in comparison.sentence(estimand="net_benefit"), name
    assert "net_benefit" in comparison.to_datatree()["posterior"], name
    json.dumps(document(comparison, estimand="net_benefit"))
    bc.plot_comparison(comparison, estimand="net_benefit").figure.savefig(f"{name}.png")
    assert str(comparison)
groups = bc.evaluate(y, p, by=p > 0.5, model="uniform", rng=1)
assert groups.p_best("net_benefit")[True] > 0.99
bc.plot_forest(groups, estimand="net_benefit").figure.savefig("groups.png")
"""


def edited(text, lines):
    """Return the text with new lines in the places that the page names."""
    old = text.splitlines()
    for line in lines:
        start = next(start for start in AFTER if line.startswith(start))
        found = [i for i, each in enumerate(old) if each.startswith(AFTER[start] or start)]
        old.insert(found[-1] + 1, line)
    return "\n".join(old) + "\n"


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    """Return a folder with a copy of the package in which the edits of the page were made, and the edited files."""
    folder = tmp_path_factory.mktemp("new")
    shutil.copytree(ROOT / "bayescal", folder / "bayescal")
    blocks = BLOCK.findall(PAGE)
    for name, code in blocks:
        file = folder / name
        text = edited(file.read_text(encoding="utf-8"), code.splitlines()) if file.exists() else code
        file.write_text(text, encoding="utf-8")
    return folder, [name for name, _ in blocks]


def test_the_page_describes_a_new_thing_in_each_of_four_layers(copy):
    assert {Path(name).parts[1] for name in copy[1]} == {"estimands", "posterior", "analyses", "stats", "__init__.pyi"}


def test_new_things_print_plot_compare_and_export(copy):
    folder, _ = copy
    done = subprocess.run([sys.executable, "-c", USE], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert len(list(folder.glob("*.png"))) == 7


def test_new_things_keep_the_layers(copy):
    spec = importlib.util.spec_from_file_location("layers", Path(__file__).with_name("test_layers.py"))
    layers = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(layers)
    folder, names = copy
    for name in names:
        if name.endswith(".py"):
            assert layers.violations(name.removeprefix("bayescal/"), (folder / name).read_text(encoding="utf-8")) == []


def test_the_command_line_knows_them(copy):
    folder, _ = copy
    shown = subprocess.run(
        [sys.executable, "-m", "bayescal", "report", "--help"],
        cwd=folder, capture_output=True, text=True, check=True, env={"COLUMNS": "200", "TERM": "dumb"},
    ).stdout  # fmt: skip
    assert "uniform" in shown
