"""The pages of the sources: every call, test and page in their tables exists; and statements without another test."""

import ast
import inspect
import re
from dataclasses import fields, is_dataclass
from pathlib import Path

import numpy as np
import pytest
from scipy.integrate import quad

import bayescal as bc
from bayescal.cumulative.brownian import sf_max_abs

ROOT = Path(__file__).parents[1]
PAGES = sorted((ROOT / "docs" / "sources").glob("*.md"))
SOURCES = [page for page in PAGES if page.name != "index.md"]
HEAD = ["What", "Where in the text", "Call", "Status, and where it is checked"]


def rows_of(page):
    """Cells of the rows of all tables of a page, with the header of each table; bars in formulas are \\lvert."""
    header = None
    for line in page.read_text(encoding="utf-8").splitlines():
        if not line.startswith("|"):
            header = None
            continue
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if header is None:
            header = cells
        elif not set(line) <= set("|-: "):
            yield header, cells


def names_in(page):
    """Everything in backticks in the tables of a page."""
    return [name for _, cells in rows_of(page) for cell in cells for name in re.findall(r"`([^`]+)`", cell)]


def resolved(path):
    """Return the object at a dotted path below `bc`; of a field of a dataclass, the field."""
    found = bc
    for name in path.split(".")[1:]:
        if not hasattr(found, name) and is_dataclass(found):
            found = {each.name: each for each in fields(found)}.get(name)
            assert found is not None, path
        else:
            found = getattr(found, name)
    return found


CALLS = [(page.name, name) for page in SOURCES for name in names_in(page) if name.startswith("bc.")]


def test_there_is_a_page_for_each_source():
    assert [page.stem for page in SOURCES] == [
        "bayesian_ece", "clinical_guide", "gao_parameswaran_peng", "kumar_liang_ma", "tygert"
    ]  # fmt: skip
    assert len(CALLS) > 60


@pytest.mark.parametrize(("page", "call"), CALLS)
def test_calls_exist(page, call):
    """Each dotted path leads to an object, and each keyword is one of its parameters, or an option of a model."""
    tree = ast.parse(call, mode="eval").body
    while isinstance(tree, ast.Attribute) and not isinstance(tree.value, ast.Name | ast.Attribute):
        result, tree = tree.attr, tree.value  # an attribute of a result
        assert hasattr(bc.Evaluation, result) or result in bc.estimands.registered()
    function = resolved(ast.unparse(tree.func if isinstance(tree, ast.Call) else tree))
    if isinstance(tree, ast.Call):
        known = inspect.signature(function).parameters
        options = inspect.signature(bc.dirichlet_posterior).parameters
        assert {each.arg for each in tree.keywords} <= {*known, *options}


@pytest.mark.parametrize("page", SOURCES, ids=lambda page: page.stem)
def test_tests_that_are_named_exist(page):
    for name in names_in(page):
        if not re.match(r"(tests|docs|notebooks)/", name):
            continue
        file, _, function = name.partition("::")
        assert (ROOT / file).exists(), name
        assert not function or re.search(rf"^def {function}\(", (ROOT / file).read_text(encoding="utf-8"), re.M), name


@pytest.mark.parametrize("page", SOURCES, ids=lambda page: page.stem)
def test_pages_that_are_linked_exist(page):
    for target in re.findall(r"\]\(([^)#]+)", page.read_text(encoding="utf-8")):
        assert "://" in target or (page.parent / target).exists(), target


@pytest.mark.parametrize("page", SOURCES, ids=lambda page: page.stem)
def test_rows_are_complete_and_only_data_are_missing(page):
    rows = [(header, cells) for header, cells in rows_of(page) if header == HEAD]
    assert len(rows) >= 9
    for _, cells in rows:
        what, where, call, status = cells
        assert what, cells
        assert where, cells
        assert re.match("agrees|measured|differs|not offered|missing: needs ", status), cells
        assert "missing" not in status[1:], cells
        assert call or re.match("not offered|missing|agrees", status), cells


def test_a_binned_error_of_0_hides_an_error_of_0_49():
    """Example 3.2 of Kumar, Liang and Ma: in each bin, outcome 1 in the first p of a narrow range of scores."""
    width = 0.02
    score = np.linspace(0.5 - width / 2, 0.5 + width / 2, 20_001)[:-1]
    outcome = (np.arange(20_000) < 10_000).astype(int)
    assert bc.plug_in_error(outcome, score, order=2, bins=15) < 1e-5
    assert np.sqrt(np.mean((score - outcome) ** 2)) > 0.49
    low, high = bc.evaluate(outcome, score, rng=1).ece.interval()
    assert low == 0
    assert high < 0.02


def test_coarser_bins_have_smaller_errors():
    """Proposition 3.3 of Kumar, Liang and Ma, of observed values, for nested bins and two orders."""
    rng = np.random.default_rng(4)
    p = rng.random(3000)
    y = (rng.random(3000) < np.clip(p + 0.1 * np.sin(40 * p), 0, 1)).astype(int)
    for order in (1, 2):
        errors = [bc.plug_in_error(y, p, order=order, bins=bins) for bins in (4, 8, 16, 32, 64)]
        assert errors == sorted(errors)


def test_the_debiased_estimate_is_closer():
    """Figure 4 of Kumar, Liang and Ma: 100 scores, 1000 rows. The plug-in value is too high by sum v_b / N.

    v_b is the variance of an outcome in bin b. The difference of the two mean squared errors is about 40 of its
    standard errors from 0. The two checks of means fail by chance for about 1 of 10 000 other seeds.
    """
    rng, scores = np.random.default_rng(6), (np.arange(100) + 0.5) / 100
    true = np.clip(scores + 0.05, 0, 1)
    truth, edges = np.mean((scores - true) ** 2), np.linspace(0, 1, 101)
    p = np.repeat(scores, 10)
    errors = []
    for _ in range(200):
        y = (rng.random(1000) < np.repeat(true, 10)).astype(int)
        debiased = bc.estimands.debiased_squared_l2_error(bc.BinnedCounts.from_arrays(y, p, bins=edges))
        errors.append((debiased - truth, bc.plug_in_error(y, p, order=2, bins=edges) ** 2 - truth))
    debiased, plug_in = np.array(errors).T
    assert plug_in.mean() == pytest.approx(np.mean(true * (1 - true) / 10), abs=4 * plug_in.std() / np.sqrt(200))
    assert abs(debiased.mean()) < 4 * debiased.std() / np.sqrt(200)
    gain = plug_in**2 - debiased**2
    assert gain.mean() > 3 * gain.std() / np.sqrt(200)


def test_the_kuiper_statistic_does_not_depend_on_the_start():
    """Remark 1 of Tygert: walks around a circle have the same range, wherever they start."""
    rng = np.random.default_rng(5)
    p = np.sort(rng.random(500))
    y = (rng.random(500) < p).astype(int)
    curve = np.append(0, np.cumsum(y - p)) / 500
    expected = bc.cumulative.difference(y, p).kuiper
    for start in (0, 100, 499):
        assert np.ptp(curve - curve[start]) == pytest.approx(expected, rel=1e-12)


def test_the_mean_maximum_of_brownian_motion():
    """Remarks 2 and 7 of Tygert: the mean of the maximum of |B| on [0, 1] is the square root of pi / 2."""
    assert quad(lambda x: float(sf_max_abs(x)), 0, 12, limit=200)[0] == pytest.approx(np.sqrt(np.pi / 2), rel=1e-6)
