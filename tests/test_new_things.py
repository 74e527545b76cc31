"""The edits that docs describe for a new estimand, posterior, type of counts, verb and topic are enough.

The tests make exactly these edits in copies of the package, and use what was added in processes of their own.
"""

import importlib.util
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
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


def copy_with_edits(page, folder):
    """Make the edits of a page in a copy of the package; return the folder of the copy, and the edited files."""
    shutil.copytree(ROOT / "bayescal", folder / "bayescal")
    blocks = BLOCK.findall((ROOT / "docs" / page).read_text(encoding="utf-8"))
    for name, code in blocks:
        file = folder / name
        file.parent.mkdir(exist_ok=True)
        text = edited(file.read_text(encoding="utf-8"), code.splitlines()) if file.exists() else code
        file.write_text(text, encoding="utf-8")
    return folder, [name for name, _ in blocks]


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    return copy_with_edits("architecture.md", tmp_path_factory.mktemp("new"))


@pytest.fixture(scope="module")
def topic(tmp_path_factory):
    return copy_with_edits("contributing.md", tmp_path_factory.mktemp("topic"))


def test_the_page_describes_a_new_thing_in_each_of_four_layers(copy):
    assert {Path(name).parts[1] for name in copy[1]} == {"estimands", "posterior", "analyses", "stats", "__init__.pyi"}


@pytest.mark.slow
def test_new_things_print_plot_compare_and_export(copy):
    folder, _ = copy
    done = subprocess.run([sys.executable, "-c", USE], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert len(list(folder.glob("*.png"))) == 7


@pytest.mark.parametrize("page", ["copy", "topic"])
def test_new_things_keep_the_layers(page, request):
    spec = importlib.util.spec_from_file_location("layers", Path(__file__).with_name("test_layers.py"))
    layers = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(layers)
    folder, names = request.getfixturevalue(page)
    for name in names:
        if name.endswith(".py"):
            source = (folder / name).read_text(encoding="utf-8")
            # a new topic has the rules of any other that needs no other topic
            path, source = (text.replace("precision", "monitoring") for text in (name, source))
            assert layers.violations(path.removeprefix("bayescal/"), source) == []


@pytest.mark.parametrize(("page", "start"), [("copy", "compare_halves"), ("topic", "precision:")])
def test_the_public_names_are_documented_annotated_and_marked(page, start, request):
    """They keep the rules of `test_public_api.py` and `test_meant.py`."""
    rules = f"""
import sys
sys.path[:0] = [".", {str(ROOT / "tests")!r}]
import test_public_api as api
new = {{name: thing for name, thing in (api.OBJECTS | api.MEMBERS).items() if name.startswith({start!r})}}
assert new
assert [fault for name, thing in new.items() for fault in api.faults(name, thing)] == []
assert [name for name, thing in new.items() if api.unbound(thing.__doc__)] == []
assert [name for name in api.FUNCTIONS if name in new and not hasattr(new[name], "public")] == []
assert [name for name in api.FUNCTIONS if name in new and new[name].__annotations__["return"] is api.Any] == []
"""
    done = subprocess.run(
        [sys.executable, "-c", rules], cwd=request.getfixturevalue(page)[0], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_the_examples_print_what_they_show(copy, topic):
    for folder, files in ((copy[0], ["analyses/halves.py"]), (topic[0], ["precision"])):
        command = [sys.executable, "-m", "pytest", "-q", "--doctest-modules", *(f"bayescal/{file}" for file in files)]
        options = ["-p", "no:cacheprovider", "--doctest-continue-on-failure", "-o", "doctest_optionflags=NUMBER"]
        done = subprocess.run([*command, *options], cwd=folder, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout


@pytest.mark.slow
def test_the_command_line_knows_them(copy):
    folder, _ = copy
    shown = subprocess.run(
        [sys.executable, "-m", "bayescal", "report", "--help"],
        cwd=folder, capture_output=True, text=True, check=True, env={"COLUMNS": "200", "TERM": "dumb"},
    ).stdout  # fmt: skip
    assert "uniform" in shown


# --- a topic

USE_TOPIC = """
import json
from pathlib import Path
import numpy as np
import bayescal as bc

assert "precision" in dir(bc) and dir(bc.precision) == ["Precision", "evaluate", "plot_precision"]
rng = np.random.default_rng(1)
p = rng.random(2000)
y = (rng.random(2000) < p).astype(int)
result = bc.precision.evaluate(y, p, threshold=0.5, rng=1)
# 766 events among 1017 rows: mean and sd of Beta(766.5, 251.5)
k, n = int(y[p >= 0.5].sum()), int((p >= 0.5).sum())
a, b = k + 0.5, n - k + 0.5
sd = np.sqrt(a * b / (a + b) ** 2 / (a + b + 1))
assert (result.events, result.rows) == (k, n)
assert abs(result.precision.mean() - a / (a + b)) < 5 * sd / np.sqrt(4000)
assert abs(result.precision.sd() / sd - 1) < 0.06
assert f"{k / n:.4f}" in str(result) and "observed" in result._repr_html_()
assert result.to_frame().loc["precision", "observed"] == k / n
assert json.loads(result.to_json())["events"] == k
assert "toprule" in result.to_latex()
assert "<svg" in result.to_html() and "events among" in result.to_html()
assert bc.plot(result).get_xlabel() == "precision"
for call, words in (
    (lambda: bc.precision.evaluate(y, 1 - p, treshold=0.2), "threshold"),
    (lambda: bc.precision.evaluate(y, 2 * p), "y_prob"),
    (lambda: bc.precision.evaluate(y, p / 4), "`threshold` is 0.5"),
    (lambda: bc.precision.evalute, "evaluate"),
):
    try:
        call()
    except (TypeError, ValueError, AttributeError) as problem:
        assert words in str(problem), problem
    else:
        raise AssertionError(words)
Path("rows.csv").write_text("y,p\\n" + "\\n".join(f"{a},{b}" for a, b in zip(y, p)))
"""


def program(folder, *arguments, code=0):
    """Run the program of a copy, and return what it prints."""
    command = [sys.executable, "-m", "bayescal", *arguments]
    environment = {"COLUMNS": "200", "TERM": "dumb", "MPLBACKEND": "agg"}
    done = subprocess.run(command, cwd=folder, capture_output=True, check=False, env=environment, encoding="utf-8")
    assert done.returncode == code, done.stderr
    return done.stdout + done.stderr


def test_a_topic_needs_files_of_one_folder_and_one_line_of_the_stub(topic):
    folder, names = topic
    outside = [name for name in names if not name.startswith("bayescal/precision/")]
    assert outside == ["bayescal/__init__.pyi"]
    old, new = ((place / outside[0]).read_text(encoding="utf-8").splitlines() for place in (ROOT, folder))
    assert len(new) == len(old) + 1


@pytest.mark.slow
def test_a_topic_has_verb_picture_page_document_and_command(topic):
    folder, _ = topic
    environment = {"MPLBACKEND": "agg", "PATH": ""}
    done = subprocess.run(
        [sys.executable, "-c", USE_TOPIC], cwd=folder, capture_output=True, text=True, check=False, env=environment
    )
    assert done.returncode == 0, done.stderr
    columns = ["--label", "y", "--prob", "p", "--threshold", "0.5", "--json", "out.json", "--html", "out.html"]
    shown = program(folder, "precision", "rows.csv", *columns)
    assert "observed" in shown
    document = json.loads((folder / "out.json").read_text(encoding="utf-8"))
    assert document["kind"] == "Precision"
    assert document["parameters"]["threshold"] == 0.5
    assert document["table"][0]["quantity"] == "precision"
    assert (folder / "out.html").stat().st_size > 1000
    assert "--logits cannot be used here" in program(folder, "precision", "rows.csv", *columns, "--logits", code=2)
    assert "precision" in program(folder, "--help")
    assert "[default: 4000]" in program(folder, "precision", "--help")
