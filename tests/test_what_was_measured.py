"""The page of all measurements has a line for every printed interval, and reads the stored numbers of its studies."""

import importlib
import inspect
import pkgutil
from pathlib import Path

import pytest

import bayescal.analyses
import bayescal.results
from bayescal._lazy import former_names
from bayescal._presented import Presented
from bayescal.clinical.curve import result as calibration_curve
from bayescal.clinical.slope import result as recalibration
from bayescal.estimands.registry import registered

DOCS = Path(__file__).resolve().parents[1] / "docs"
#: Results without intervals, and bases of others.
WITHOUT = {
    *("CalibrationTests", "Evidence", "WeightReport", "SubpopulationScreen", "TargetEvaluation"),
    *("Cumulative", "CumulativeDifference", "OfEstimand", "_Decomposition", "Joint"),
    *("Judged", "ByLabel", "Choices", "BesideOthers", "Imputed", "DistributionTests", "OfWindows"),
}


@pytest.fixture
def page(monkeypatch):
    monkeypatch.syspath_prepend(str(DOCS / "make"))
    return importlib.import_module("what_was_measured")


def results():
    """Names of all results of the package."""
    for folder in sorted(path.parent.name for path in Path(bayescal.__file__).parent.glob("*/__init__.py")):
        package = importlib.import_module(f"bayescal.{folder}")
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if not module.name.startswith("bayescal.plugins."):  # their programs may be missing
                importlib.import_module(module.name)
    waiting, found = [Presented], set()
    while waiting:
        waiting += (new := [c for c in waiting.pop().__subclasses__() if c.__module__.startswith("bayescal.")])
        found |= {each.__name__ for each in new}
    return found


def printed():
    """Names of everything that is printed with an interval."""
    quantities = importlib.import_module("quantities")
    listed = (*quantities.JOINT, *quantities.CUMULATIVE, *quantities.DECISIONS)
    estimands = {name for name, each in registered().items() if each.function.__module__.startswith("bayescal.")}
    rows = {*recalibration.QUANTITIES, *calibration_curve.ERRORS}
    return estimands | {each.name for each in listed} | rows | (results() - WITHOUT)


def test_every_printed_interval_has_a_line(page):
    listed = {name for interval in page.INTERVALS for name in interval.prints}
    assert printed() == listed


def test_results_with_a_probability_print_intervals():
    """A table whose intervals have a probability belongs to a result that is not in the list of those without."""
    for name in WITHOUT & {*dir(bayescal), *former_names()}:
        assert "prob" not in inspect.signature(getattr(bayescal, name).table).parameters


def test_every_line_has_a_study_or_a_reason(page):
    for interval in page.INTERVALS:
        assert bool(interval.studies) != bool(interval.reason), interval.words
        for study in interval.studies:
            shares = study.coverages()
            assert len(shares), (interval.words, study)
            assert (shares >= 0).all()
            assert (shares <= 1).all()
            assert (DOCS / "make" / f"{page.SCRIPTS.get(study.name, study.name)}.py").is_file()
            assert (DOCS / "explanation" / f"{page.PAGES.get(study.name, study.name)}.md").is_file()


@pytest.mark.slow
def test_the_page_shows_its_tables(page):
    text = page.PAGE.read_text(encoding="utf-8")
    for shown in page.tables().values():
        assert shown.strip() in text


def test_the_share_of_a_cell_that_was_measured_again_counts(page, monkeypatch):
    numbers = {
        "columns": ["method", "coverage", "again"],
        "rows": [
            ["bayescal", 0.95, None],
            ["bayescal", 0.70, 0.81],
            ["Wald", 0.1, None],
            ["bayescal", float("nan"), None],
        ],
        "others": [{"method": "bayescal", "missed": 0.25}],
    }
    monkeypatch.setattr(page, "numbers_of", lambda name: numbers)
    assert page.Study("any", {"method": "bayescal"}).coverages().tolist() == [0.95, 0.81]
    assert page.Study("any", {"method": ("bayescal", "Wald")}).coverages().tolist() == [0.95, 0.81, 0.1]
    missed = page.Study("any", parts=("others",), share=lambda row: 1 - row["missed"])
    assert missed.coverages().tolist() == [0.75]
    interval = page.Interval("slope", ("slope",), (page.Study("any", {"method": "bayescal"}, about="all"),))
    assert list(page.lines_of(interval)) == [
        ["slope", "[any](any.md); all", 2, "0.880", "0.81", "weak", "`docs/make/any.py`"]
    ]
