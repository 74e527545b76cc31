"""The public names: that they are there, documented, and found under one name only."""

import ast
import builtins
import doctest
import importlib
import importlib.util
import inspect
import pickle
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bayescal
from bayescal._lazy import MODULES, former_names, written
from bayescal._packages import installed

STUB = Path(bayescal.__file__).with_suffix(".pyi")
NAMES = sorted(bayescal.__all__)
#: The names of the package before topics were public modules.
# fmt: off
FORMER = [
    "BinDraws", "BinSensitivity", "BinnedCounts", "Bins", "CalibrationCurve", "CalibrationDisplay",
    "CalibrationMonitor", "CalibrationTests", "ClassPriors", "ClasswiseCounts", "ClasswiseEvaluation",
    "ClinicalSummary", "ClusterSums", "Comparison", "ComparisonOverDatasets", "ConfidenceSequence",
    "CorpDecomposition", "CovariateShiftEvaluation", "CumulativeBand", "CumulativeDifference",
    "CumulativePosterior", "CurveBand", "Draws", "Estimand", "Evaluation", "Evidence", "GroupedEvaluation",
    "GroupedNetBenefit", "GroupedRecalibration", "InvalidRows", "IsotonicRecalibration", "LabelShiftClasses",
    "LabelShiftEvaluation", "LogisticRecalibration", "LogitCounts", "LossRatio", "ModelParts", "ModelSensitivity",
    "MultiClassScore", "MurphyDecomposition", "NetBenefit", "PairedCounts", "Plan", "Predictions",
    "Recalibration", "ScoreComparison", "ShiftCells", "ShiftCounts", "ShiftEvidence", "SubpopulationDifference",
    "SubpopulationScreen", "SurvivalComparison", "SurvivalCounts", "SurvivalEvaluation", "SurvivalHorizons",
    "ThresholdCounts", "WeightReport", "__version__", "auc", "auc_grid_error", "bin_sensitivity",
    "brier_decomposition", "calibration_curve", "calibration_tests", "class_priors", "class_priors_counts",
    "clinical_summary", "compare", "compare_counts", "compare_independent", "compare_over_datasets",
    "compare_scores", "compare_survival", "count_file", "count_shift_files", "count_survival_file",
    "cumulative_difference", "cumulative_difference_subpopulation", "datasets", "debiased_squared_l2_error",
    "dirichlet_posterior", "e90_bins", "ece", "equal_effective_mass_edges", "equal_mass_edges", "evaluate",
    "evaluate_counts", "evaluate_shifted", "evaluate_shifted_counts", "evaluate_survival",
    "evaluate_survival_counts", "l2_error", "labels_needed", "largest_error", "load_counts",
    "log_score_decomposition", "logit_bins", "loss_ratio", "lp_error", "make_bins", "multiclass_brier_score",
    "multiclass_log_score", "murphy_decomposition", "net_benefit", "net_benefit_counts", "overconfidence",
    "plot_bin_sensitivity", "plot_calibration_curve", "plot_comparison", "plot_confidence_sequence",
    "plot_cumulative", "plot_decision_curve", "plot_evidence", "plot_forest", "plot_horizons",
    "plot_loss_ratio", "plot_over_datasets", "plot_posterior", "plot_recalibration", "plot_reliability",
    "plug_in_ece", "plug_in_error", "recalibration", "recalibration_counts", "register_estimand",
    "risk_at_horizon", "rows_for_c_emp", "save_counts", "screen_subpopulations", "shift_evidence",
    "shrinkage_posterior", "signed_error", "squared_l2_error", "underconfidence", "weight_report",
]
# fmt: on
#: All public objects by name; those of a module are named after it, with a colon, and each has one name.
OBJECTS = {name: getattr(bayescal, name) for name in NAMES if not (name.startswith("__") or name in MODULES)}
OBJECTS |= {
    f"{module}:{name}": thing
    for module in MODULES
    for name in getattr(bayescal, module).__all__
    if OBJECTS.get(name) is not (thing := getattr(getattr(bayescal, module), name))
}
OBJECTS |= {name: getattr(bayescal, name) for name in set(FORMER) - set(NAMES) if written(name) == f"bayescal.{name}"}
#: The rest of the reference, such as posteriors that users hold; no name has a point, which members have.
PAGES = (page.read_text(encoding="utf-8") for page in Path(__file__).parents[1].glob("docs/reference/*.md"))
ENTRIES = [entry.rpartition(".") for page in PAGES for entry in re.findall(r"^   (bayescal\.[\w.]+)$", page, re.M)]
#: Adapters whose programs are not installed are tested where they are.
ENTRIES = [each for each in ENTRIES if "plugins" not in each[0] or installed(each[0].rpartition(".")[2])]
#: Methods on a page belong to a class that is listed.
ENTRIES = [each for each in ENTRIES if importlib.util.find_spec(each[0])]
KNOWN = {id(thing) for thing in OBJECTS.values()}
OBJECTS |= {
    f"{module.replace('.', ':')}:{name}": thing
    for module, _, name in ENTRIES
    if id(thing := getattr(importlib.import_module(module), name)) not in KNOWN
}
FUNCTIONS = [name for name, thing in OBJECTS.items() if inspect.isfunction(thing)]
CLASSES = [name for name, thing in OBJECTS.items() if inspect.isclass(thing)]


def test_the_face_is_small():
    """The package lists at most 36 names, and each public module 5 to 22."""
    assert len(dir(bayescal)) <= 36
    sizes = {module: len(dir(getattr(bayescal, module))) for module in MODULES}
    assert [module for module, size in sizes.items() if not 5 <= size <= 22] == []


def test_no_short_name_is_that_of_a_module_of_its_folder():
    for module in MODULES:
        folder = STUB.parent / module
        assert {file.stem for file in folder.iterdir()} & set(dir(getattr(bayescal, module))) == set()


def test_each_public_module_describes_itself_with_an_example():
    for module in (bayescal, *(getattr(bayescal, name) for name in MODULES)):
        assert len(module.__doc__.splitlines()) < 40, module
        assert ">>> import bayescal as bc" in module.__doc__, module


def test_the_package_says_where_to_begin_and_names_its_modules():
    listed = re.findall(r"^\* `(\w+)`: ", bayescal.__doc__, re.M)
    assert "Begin with `evaluate`." in bayescal.__doc__
    assert sorted(listed) == sorted((*MODULES, "datasets", "plugins"))


def test_former_names_still_lead_to_what_they_meant():
    """All of them, without a warning, by attribute and by import, and none of them is listed."""
    assert set(FORMER) == set(former_names()) | (set(NAMES) - set(MODULES) - {"plot", "plugins", "pymc_model"})
    assert set(former_names()) & set(dir(bayescal)) == set()
    for name in FORMER:
        space = {}
        exec(f"from bayescal import {name}", space)
        thing = getattr(bayescal, name)
        assert space[name] is thing
        if name in former_names():
            module, new = former_names()[name]
            assert getattr(importlib.import_module(f"bayescal.{module}"), new) is thing
            assert thing.__name__ == new
        if inspect.isfunction(thing) or inspect.isclass(thing):
            assert pickle.loads(pickle.dumps(thing)) is thing


def test_names_that_the_design_asks_for():
    needed = (
        "evaluate evaluate_counts compare compare_counts plug_in_ece BinnedCounts make_bins count_file save_counts "
        "load_counts Draws Evaluation Comparison CalibrationDisplay plot plot_reliability plot_posterior "
        "plot_comparison plot_forest InvalidRows datasets plugins pymc_model __version__"
    )
    assert {*needed.split(), *MODULES} == set(NAMES)


def test_names_resolve_to_what_their_module_defines():
    """A public object is where its stub says, and its own module calls it by that name."""
    for public in ("bayescal", *(f"bayescal.{module}" for module in MODULES)):
        stub = ast.parse(Path(importlib.import_module(public).__file__).with_suffix(".pyi").read_text())
        for node in stub.body:
            if not isinstance(node, ast.ImportFrom) or not node.module:
                continue
            for alias in node.names:
                thing = getattr(importlib.import_module(public), alias.asname)
                assert getattr(importlib.import_module(f"{public}.{node.module}"), alias.name) is thing
                if hasattr(thing, "__module__"):
                    assert thing.__module__ == f"{public}.{node.module}" or public == "bayescal.scores"
                    assert thing.__name__ == alias.asname


# --- documentation


def sections(text):
    """numpydoc sections of a docstring: title -> body."""
    parts = re.split(r"\n([A-Z][A-Za-z ]+)\n-{3,}\n", inspect.cleandoc(text))
    return {"Summary": parts[0], **dict(zip(parts[1::2], parts[2::2], strict=True))}


def documented_parameters(body):
    heads = re.findall(r"^(\S.*)$", body, flags=re.MULTILINE)
    return {name.strip().lstrip("*") for head in heads for name in head.split(" : ")[0].split(",")}


def parameters(thing):
    """Names of the parameters; users do not call warnings and protocols."""
    if inspect.isclass(thing) and (issubclass(thing, Warning) or getattr(thing, "_is_protocol", False)):
        return []
    return [name for name in inspect.signature(thing).parameters if name not in ("self", "cls")]


def members():
    """Public methods and properties that are defined in the package."""
    for name in CLASSES:
        for member, thing in vars(OBJECTS[name]).items():
            if not member.startswith("_") and (
                callable(thing) or isinstance(thing, classmethod | property) or hasattr(thing, "func")
            ):
                yield (
                    f"{name}.{member}",
                    thing.__func__
                    if isinstance(thing, classmethod)
                    else getattr(thing, "fget", getattr(thing, "func", thing)),
                )


MEMBERS = dict(members())


def faults(name, thing):
    """Yield what is missing in the docstring and the annotations of a public function, class, method or property."""
    found = sections(thing.__doc__ or "")
    summary = found["Summary"].split("\n\n")[0].rstrip()
    if not summary or summary[0].islower() or summary[-1] not in ".?:" or len(summary) >= 240:
        yield f"{name}: its docstring must begin with one sentence"
    function, member = inspect.isfunction(thing) and "." not in name, "." in name
    stated = documented_parameters(found.get("Parameters", ""))
    if not (member and "Parameters" not in found) and set(parameters(thing)) != stated:
        yield f"{name}: documented are {sorted(stated)}, its parameters are {parameters(thing)}"
    if (function or name.endswith(".sample")) and parameters(thing) and "Parameters" not in found:
        yield f"{name}: no section of parameters"
    if function and not found.get("Returns", "").strip():
        yield f"{name}: it does not say what it returns"
    if function and ">>> " not in found.get("Examples", ""):
        yield f"{name}: no example"
    if not inspect.isclass(thing) and "return" not in thing.__annotations__:
        yield f"{name}: the result is not annotated"
    if not inspect.isclass(thing) and not set(parameters(thing)) <= set(thing.__annotations__):
        yield f"{name}: a parameter is not annotated"


def test_everything_public_is_documented_and_annotated():
    assert len(FUNCTIONS) > 50
    assert len(CLASSES) > 40
    assert len(MEMBERS) > 400
    named = OBJECTS | MEMBERS
    assert [fault for name in (*FUNCTIONS, *CLASSES, *MEMBERS) for fault in faults(name, named[name])] == []


DOCUMENTED = """Add numbers.

    Parameters
    ----------
    a, b : int
        Numbers.

    Returns
    -------
    int
        The sum.

    Examples
    --------
    >>> add(1, 2)
    3
    """


@pytest.mark.parametrize(
    ("name", "old", "new", "fault"),
    [
        ("add", "Add", "add", "begin with one sentence"),
        ("add", "numbers.\n\n", "numbers\n\n", "begin with one sentence"),
        ("add", "Add numbers", "Add " + 60 * "many " + "numbers", "begin with one sentence"),
        ("add", "a, b", "a", "documented are ['a'], its parameters are ['a', 'b']"),
        ("Sums.add", "a, b", "a", "documented are ['a'], its parameters are ['a', 'b']"),
        ("add", "Returns", "Result", "does not say what it returns"),
        ("add", ">>> ", "", "no example"),
        ("add", "", "", None),
        ("Sums.add", ">>> ", "", None),
        ("Sums.sample", "Parameters\n    -", "Notes\n    -", "no section of parameters"),
    ],
)
def test_the_reader_finds_what_is_missing(name, old, new, fault):
    def add(a: int, b: int) -> int:
        return a + b

    add.__doc__ = DOCUMENTED.replace(old, new, 1) if old else DOCUMENTED
    found = list(faults(name, add))
    assert len(found) == (fault is not None)
    assert fault is None or fault in found[0]


def test_the_reader_finds_what_is_not_annotated():
    def add(a, b: int):
        return a + b

    add.__doc__ = DOCUMENTED
    assert len(list(faults("add", add))) == 2
    del add.__doc__
    assert len(list(faults("Sums.add", add))) == 3


def test_public_docstrings_name_only_what_a_reader_finds():
    """Classes between backticks are public, in the reference, or in Python."""
    known = {name.rpartition(":")[2].partition(".")[0] for name in OBJECTS} | {*FORMER, *dir(builtins)}
    texts = {name: thing.__doc__ or "" for name, thing in (OBJECTS | MEMBERS).items()}
    named = {name: re.findall(r"(?<!`)`([A-Z][a-z]+[A-Z]\w+)\b[^`]*`(?!`)", text) for name, text in texts.items()}
    assert sum(map(len, named.values())) > 80
    assert {name: words for name, words in named.items() if not known.issuperset(words)} == {}


def unbound(text):
    """Names that the examples of a docstring use, but neither assign nor import."""
    bound, used = set(dir(builtins)), []
    for example in doctest.DocTestParser().get_examples(text):
        for node in ast.walk(ast.parse(example.source)):
            if isinstance(node, ast.Name):
                used.append(node.id) if isinstance(node.ctx, ast.Load) else bound.add(node.id)
            elif isinstance(node, ast.alias):
                bound.add((node.asname or node.name).partition(".")[0])
            elif isinstance(node, ast.arg):
                bound.add(node.arg)
            elif isinstance(node, ast.FunctionDef | ast.ClassDef | ast.ExceptHandler):
                bound.add(node.name)
    return sorted(set(used) - bound)


def test_examples_run_in_a_fresh_interpreter():
    """pytest runs them among the globals of their module, which a reader who pastes them does not have."""
    modules = {"bayescal": bayescal} | {name: getattr(bayescal, name) for name in (*MODULES, "datasets")}
    bases = {base for name in CLASSES for base in OBJECTS[name].__mro__ if base.__module__.startswith("bayescal.")}
    of_bases = {f"{base.__name__}.{name}": part for base in bases for name, part in vars(base).items()}
    texts = {name: thing.__doc__ for name, thing in (modules | OBJECTS | MEMBERS | of_bases).items()}
    with_examples = {name: text for name, text in texts.items() if isinstance(text, str) and ">>> " in text}
    assert len(with_examples) > 150
    assert {name: names for name, text in with_examples.items() if (names := unbound(text))} == {}


@pytest.mark.parametrize(
    ("example", "names"),
    [
        (">>> add(1, 2)", ["add"]),
        (">>> import bayescal as bc\n>>> bc.ece(x)", ["x"]),
        (">>> from a import add\n>>> x = [add(i, 2) for i in range(3)]\n>>> x[0]", []),
        (">>> def twice(x):\n...     return 2 * x\n>>> twice(1), (lambda y: y)(2)", []),
        (">>> with open(path) as file:\n...     file.read()", ["path"]),
        (">>> try:\n...     1 / 0\n... except ZeroDivisionError as problem:\n...     print(problem)", []),
    ],
)
def test_the_reader_of_examples_finds_names_without_an_import(example, names):
    assert unbound(example) == names


def test_nothing_public_returns_anything():
    """The exceptions are statistics of `Draws`, whose type depends on the shape of the draws."""
    of_draws = {f"Draws.{name}" for name in ("mcse", "mean", "median", "pr", "quantile", "sd", "std")}
    returned = {
        name: getattr(thing, "__annotations__", {}).get("return") for name, thing in (OBJECTS | MEMBERS).items()
    }
    returning = {name for name, kind in returned.items() if kind in (Any, "Any")}
    assert returning - of_draws == set()


def test_options_are_keywords():
    """Data by position, options by name: so that options can be added and moved."""
    for name, data in {"evaluate": 2, "plug_in_ece": 2, "evaluate_counts": 1, "dirichlet_posterior": 1}.items():
        kinds = [p.kind for p in inspect.signature(OBJECTS[name]).parameters.values()]
        assert kinds[:data] == [inspect.Parameter.POSITIONAL_OR_KEYWORD] * data
        assert all(kind in (inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.VAR_KEYWORD) for kind in kinds[data:])


def test_randomness_is_always_called_rng():
    for name, thing in (OBJECTS | MEMBERS).items():
        if callable(thing):
            words = set(parameters(thing))
            assert not words & {"seed", "random_state", "key"}, name


def test_results_have_no_plot_method():
    """A plot must know what an evaluation is, so it is a function of it: results would import upwards."""
    for name in CLASSES:
        # CalibrationDisplay, as in scikit-learn, and metrics of torchmetrics
        in_report = OBJECTS[name].__module__.startswith(("bayescal.report.", "bayescal.plugins."))
        assert hasattr(OBJECTS[name], "plot") == in_report


def test_a_first_session():
    """What a newcomer types, in the order of the README."""
    rng = np.random.default_rng(1)
    p = rng.random(500)
    ev = bayescal.evaluate(rng.random(500) < p, p, rng=1)
    assert 0 < ev.ece.mean() < 0.2
    assert ev.ece.interval(0.95)[0] < ev.ece.mean() < ev.ece.interval(0.95)[1]
    assert 0 <= ev.ece.pr(lambda e: e < 0.02) <= 1
    assert np.asarray(ev.ece).shape == (4000,)
    counts = bayescal.BinnedCounts.from_arrays([0, 1], [0.2, 0.7]) + bayescal.BinnedCounts.from_arrays([1], [0.9])
    assert counts.n_rows == 3
    posterior = bayescal.dirichlet_posterior(counts, alpha="perks")
    assert bayescal.ece(posterior.sample(100, rng=1)).values.shape == (100,)


def test_docstrings_name_their_subject():
    """None begins with "What", "Who" or "Of", which stand for a noun that the reader has to find."""
    for file in Path(bayescal.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                first = (ast.get_docstring(node) or "").split(" ")[0]
                assert first not in ("What", "Who", "Of"), f"{file.name}: {getattr(node, 'name', 'module')}"


def test_sections_of_docstrings_are_unique_and_citations_resolve():
    for file in Path(bayescal.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.FunctionDef | ast.ClassDef | ast.Module):
                continue
            text, where = ast.get_docstring(node) or "", f"{file}: {getattr(node, 'name', 'module')}"
            sections = re.findall(r"^(\w[\w ]+)\n-{4,}$", text, re.M)
            assert len(sections) == len(set(sections)), where
            assert set(re.findall(r"\[(\d)\]_", text)) == set(re.findall(r"^\.\. \[(\d)\]", text, re.M)), where
