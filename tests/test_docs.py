"""The docs under test: their code runs, their commands work, every public name and every page can be found."""

import importlib
import importlib.util
import io
import itertools
import json
import os
import re
import shlex
import sys
from pathlib import Path
from pkgutil import resolve_name

import numpy as np
import pytest
from PIL import Image

import bayescal
from bayescal._lazy import MODULES, former_names
from bayescal._lazy import written as public_name
from bayescal._packages import installed
from bayescal.analyses.one import DEFAULT_MODEL
from bayescal.estimands.registry import registered

ROOT = Path(__file__).resolve().parents[1]
README, DOCS = ROOT / "README.md", ROOT / "docs"
PAGES = sorted(p for p in DOCS.rglob("*.md") if not {"_build", "generated", "notebooks"} & set(p.parts))


def script(name):
    """A script of docs/make as a module."""
    spec = importlib.util.spec_from_file_location(name, DOCS / "make" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


outputs = script("outputs")
FENCE = re.compile(r"^```(?P<language>[^\n]*)\n(?P<body>.*?)^```$", re.DOTALL | re.MULTILINE)


def relative(path):
    return str(path.relative_to(ROOT))


def fences(page):
    """(language, body) of every fenced block, in order."""
    return [(m["language"], m["body"]) for m in FENCE.finditer(page.read_text(encoding="utf-8"))]


def prose(page):
    return FENCE.sub("", page.read_text(encoding="utf-8"))


def commands(body):
    return [line.removeprefix("$ ") for line in body.splitlines() if line.startswith("$ ")]


def run_command(command):
    """Run a command, which must succeed; one before ``||`` must end with exit code 1."""
    command, alternative, _ = command.partition(" || ")
    program, *arguments = shlex.split(command)
    if program == "make":
        targets = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
        assert set(arguments) <= set(targets), command
        return
    if program == "bayescal" and arguments[0] == "verify" and "--coverage" not in arguments:
        # samples with PyMC, which tests/verify/test_checks.py does; here the arguments are read
        import typer

        from bayescal.app import app

        assert Path(arguments[1]).is_file(), command
        name, verify, rest = typer.main.get_command(app).resolve_command(None, arguments)
        verify.make_context(name, rest).close()
        return
    if program == "bayescal":
        from typer.testing import CliRunner

        from bayescal.app import app

        result = CliRunner().invoke(app, arguments)
        assert result.exit_code == bool(alternative), f"{command}\n{result.output}"
        return
    assert program in ("git", "cd", "pip"), f"a command that is not tested: {command}"


def run_commands(text):
    for command in commands(text):
        run_command(command)


def same_picture(first, second):
    """Whether two PNG files have the same size and, up to rounding of the renderer, the same pixels."""
    pixels = [np.asarray(Image.open(io.BytesIO(each)).convert("RGB"), float) for each in (first, second)]
    return pixels[0].shape == pixels[1].shape and np.abs(pixels[0] - pixels[1]).mean() <= 0.5


def run(page):
    """Run the blocks and commands of a page; return the page as run, and its text with their output."""
    ran = outputs.Page(page, commands=run_commands)
    return ran, ran.run()


#: Pages whose blocks and commands take seconds.
SLOW = {
    f"docs/how-to/{name}.md"
    for name in (
        "command_line",
        "judge",
        "language_models",
        "own_plot",
        "plan_a_test_set",
        "report_a_risk_model",
        "sample_the_model",
        "scikit_learn",
        "shift",
        "subpopulations",
    )
}


@pytest.mark.parametrize(
    "page",
    [pytest.param(page, marks=[pytest.mark.slow] * (relative(page) in SLOW)) for page in (README, *PAGES)],
    ids=relative,
)
def test_every_block_and_every_command_runs_and_prints_what_the_page_shows(page):
    ran, text = run(page)
    assert text.splitlines() == page.read_text(encoding="utf-8").splitlines(), "run `make pictures`"
    for path, picture in ran.pictures.items():
        assert path.stat().st_size < 150_000
        assert same_picture(path.read_bytes(), picture), f"{path}: run `make pictures`"


def test_outputs_show_no_digits_that_another_processor_changes():
    texts_of = {
        relative(page): re.findall(r"```text\n(.*?)```", page.read_text("utf-8"), re.S) for page in (README, *PAGES)
    }
    assert [(page, text) for page, texts in texts_of.items() for text in texts if re.search(r"\d\.\d{11,}", text)] == []


def test_every_picture_of_an_output_is_on_a_page_and_described():
    linked = [
        ((page.parent / link["path"]).resolve(), link["alt"])
        for page in (README, *PAGES)
        for link in outputs.LINK.finditer(page.read_text(encoding="utf-8"))
    ]
    assert {path for path, _ in linked} >= set(outputs.PICTURES.glob("*.png"))
    assert [path for path, alt in linked if len(alt) < 30] == []


def written(tmp_path, text):
    page = tmp_path / "page.md"
    page.write_text(text, encoding="utf-8")
    return page


def test_output_and_pictures_stand_below_their_block(tmp_path):
    code = "print('a  ')\nhidden + 1\n"
    draws = "import matplotlib.pyplot as plt\nplt.figure()\n"
    blocks = f"<!-- run\nhidden = 1\n-->\n\n```python\n{code}```\n\n```python\n{draws}```\n"
    ran, text = run(written(tmp_path, f"{blocks}\nAfter.\n"))
    (picture,) = ran.pictures
    link = f"![]({os.path.relpath(picture, tmp_path)})"
    assert f"```python\n{code}```\n\n```text\na\n2\n```\n\n" in text
    assert text.endswith(f"```python\n{draws}```\n\n{link}\n\nAfter.\n")


def test_an_old_output_is_replaced_and_the_description_of_a_picture_kept(tmp_path):
    block = "```python\nimport matplotlib.pyplot as plt\nplt.figure();\n```\n"
    link = "![A line](_static/line.png)"
    ran, text = run(written(tmp_path, f"{block}\n```text\nold\n```\n\n{link}\n"))
    assert text == f"{block}\n{link}\n"
    assert list(ran.pictures) == [tmp_path / "_static" / "line.png"]


def test_a_changed_picture_is_noticed():
    white, black, wide = (io.BytesIO() for _ in range(3))
    for file, size, color in ((white, (9, 9), "white"), (black, (9, 9), "black"), (wide, (10, 9), "white")):
        Image.new("RGB", size, color).save(file, "png")
    white, black, wide = (file.getvalue() for file in (white, black, wide))
    assert same_picture(white, white)
    assert not same_picture(white, black)
    assert not same_picture(white, wide)


#: Blocks of pages that are shown and not run: page and number of them.
NOT_RUN = {"docs/contributing.md": 9, "docs/architecture.md": 6}


def test_no_block_is_skipped_by_a_marker_that_is_written_differently():
    wrong = []
    for page in (README, *PAGES):
        text = page.read_text(encoding="utf-8")
        markers = re.findall(r"^[ \t]*(?:`{3,}[ \t]*(?:python|console)|<!--[ \t]*run)", text, re.MULTILINE)
        if len(markers) != len(outputs.BLOCK.findall(text)) + NOT_RUN.get(relative(page), 0):
            wrong.append(relative(page))
    assert wrong == []


def test_a_figure_of_a_hidden_block_is_not_shown(tmp_path):
    hidden = "<!-- run\nimport matplotlib.pyplot as plt\nplt.figure()\n-->\n"
    ran, text = run(written(tmp_path, f"{hidden}\n```python\n1 + 1\n```\n"))
    assert text.endswith("```text\n2\n```\n")
    assert ran.pictures == {}


def test_a_new_picture_has_a_file_of_its_own(tmp_path):
    block = "```python\nimport matplotlib.pyplot as plt\nplt.figure();\n```\n"
    ran, _ = run(written(tmp_path, f"{block}\n{block}\n{block}\n![A line](_static/page-1.png)\n"))
    first, second, third = ran.pictures
    assert (first.name, second.name, third) == ("page-2.png", "page-3.png", tmp_path / "_static" / "page-1.png")


def test_a_block_runs_only_where_its_package_is_installed(tmp_path):
    blocks = "```python\n# needs {}\n1 + 1\n```\n\n```text\n{}\n```\n"
    absent = blocks.format("a_package_that_nobody_has_written", "as it was")
    _, text = run(written(tmp_path, absent + "\n" + blocks.format("numpy", "as it was")))
    assert text == absent + "\n" + blocks.format("numpy", 2)


def test_a_failing_block_names_its_page(tmp_path):
    with pytest.raises(ZeroDivisionError) as caught:
        run(written(tmp_path, "```python\n1 / 0\n```\n"))
    assert any(entry.path.name == "page.md" for entry in caught.traceback if hasattr(entry.path, "name"))


def test_pages_render_on_a_forge():
    """Directives and roles of Sphinx are plain text elsewhere; only pages that list others have them."""
    wrong = []
    for page in (README, *PAGES):
        if page.name == "index.md" or page.parent.name == "reference":
            continue
        text = page.read_text(encoding="utf-8")
        special = re.findall(r"^(?:`{3,}|:{3,})\{.*|\{[a-z:]+\}`.*|^:tags:.*|\A---", text, re.MULTILINE)
        wrong += [(relative(page), each) for each in special]
    assert wrong == []


def reference_entries():
    text = "\n".join(page.read_text(encoding="utf-8") for page in sorted((DOCS / "reference").glob("*.md")))
    entries = re.findall(r"^   (bayescal\.[\w.]+)$", text, re.MULTILINE)
    return [each for each in entries if "plugins" not in each or installed(each.split(".")[2])]


def test_every_public_name_is_in_the_reference():
    """Each under one name: an object that is listed under another one counts. Adapters, where their program is."""
    modules = (*MODULES, "datasets", *(f"plugins.{name}" for name in bayescal.plugins.__all__ if installed(name)))
    names = {f"bayescal.{name}" for name in {*bayescal.__all__} - {*modules, "plugins", "__version__"}}
    names |= {f"bayescal.{m}.{name}" for m in modules for name in importlib.import_module(f"bayescal.{m}").__all__}
    names |= {public_name(name) for name in former_names() if not name.startswith("evaluate_shifted")}
    listed = {id(resolve_name(entry)) for entry in reference_entries()}
    assert [name for name in sorted(names) if id(resolve_name(name)) not in listed] == []


def test_everything_in_the_reference_exists_and_is_described():
    found = {entry: resolve_name(entry) for entry in reference_entries()}
    assert len(found) > 170
    assert [entry for entry, thing in found.items() if not (thing.__doc__ or "").strip()] == []


def toctree_entries(page):
    for language, body in fences(page):
        if language == "{toctree}":
            for line in body.splitlines():
                if line.strip() and not line.startswith(":"):
                    yield page.parent / line.strip()


def with_source(entry):
    """The page or notebook that an entry without a suffix stands for, or None."""
    for suffix in (".md", ".ipynb"):
        if (found := entry.with_name(entry.name + suffix)).exists():
            return found.resolve()
    return None


def test_every_page_and_notebook_is_in_a_toctree():
    listed = {entry: with_source(entry) for page in PAGES for entry in toctree_entries(page)}
    assert [str(entry) for entry, source in listed.items() if source is None] == []
    pages = {p.resolve() for p in PAGES if p != DOCS / "index.md"} | set((ROOT / "notebooks").glob("*.ipynb"))
    assert pages - set(listed.values()) == set()


def test_links_to_files_lead_somewhere():
    dead = []
    for page in (README, *PAGES):
        text = prose(page)
        targets = re.findall(r"\]\(([^)#\s]+)[^)]*\)", text) + re.findall(r'(?:src|href)="([^"#]+)"', text)
        dead += [(relative(page), t) for t in targets if "://" not in t and not (page.parent / t).exists()]
    assert dead == []


#: An option of the command line in running text.
OPTION = r"(?<![\w-])--[a-z][a-z-]+"


def test_command_line_options_in_the_text_exist():
    import typer

    from bayescal.app import app

    group = typer.main.get_command(app)
    known = {
        option for command in group.commands.values() for parameter in command.params for option in parameter.opts
    } | {"--help"}
    named = [(relative(page), each) for page in (README, *PAGES) for each in re.findall(OPTION, prose(page))]
    assert len(named) > 20
    assert [(page, option) for page, option in named if option not in known] == []


@pytest.mark.parametrize("page", [README, DOCS / "index.md"], ids=relative)
def test_the_default_model_is_named_where_newcomers_look(page):
    said = re.findall(r"default model[^.]*?`(\w+)`", prose(page), re.DOTALL)
    assert said == [DEFAULT_MODEL]


def markdown_tables(page):
    """Rows of cells of each table of a page, without its header."""
    tables = re.findall(r"(?:^\|.*\n)+", page.read_text(encoding="utf-8"), re.MULTILINE)
    return [[[c.strip() for c in line.strip("|").split("|")] for line in t.splitlines()] for t in tables]


def test_the_coverage_page_shows_the_numbers_of_its_json():
    """Overall numbers are computed here from the cells, so that a stale page or a wrong mean is seen."""
    stored = json.loads((DOCS / "_static" / "coverage.json").read_text(encoding="utf-8"))
    rows = [dict(zip(stored["columns"], row, strict=True)) for row in stored["rows"]]
    page = DOCS / "explanation" / "coverage.md"
    overall, cells = markdown_tables(page)
    assert len(overall) == 2 + 4
    for method, *numbers, where in overall[2:]:
        of = [row for row in rows if row["method"] == method]
        worst = min(row["coverage"] for row in of)
        means = [sum(row[name] for row in of) / len(of) for name in ("coverage", "rmse", "width")]
        assert [float(n) for n in numbers] == pytest.approx([worst, *means], abs=0.0051)
        assert [float(n) for n in numbers[2:]] == pytest.approx(means[1:], abs=0.000051)
        assert any(
            where == f"{r['population']}, {r['curve']}, n = {r['n_rows']}" and r["coverage"] == worst for r in of
        )
    assert len(cells) == 2 + 54
    found = {(r["n_rows"], r["population"], r["curve"], r["method"]): r["coverage"] for r in rows}
    assert len(found) == 4 * 54
    for n_rows, population, curve, _, *shares in cells[2:]:
        for method, share in zip(cells[0][4:], shares, strict=True):
            assert float(share) == pytest.approx(found[int(n_rows), population, curve, method], abs=0.0051)
    said = page.read_text(encoding="utf-8")
    assert f"54 cells, {stored['repeats']} data sets in each, {stored['draws']} draws" in said
    assert f"one share near 0.95 is {(0.95 * 0.05 / stored['repeats']) ** 0.5:.3f}" in said


def test_the_page_of_other_errors_shows_the_numbers_of_its_json():
    """Worst and mean coverage and the mean width are computed here from the cells; weak cells are listed, no others."""
    stored = json.loads((DOCS / "_static" / "errors.json").read_text(encoding="utf-8"))
    rows = [dict(zip(stored["columns"], row, strict=True)) for row in stored["rows"]]
    page = DOCS / "explanation" / "coverage_other_errors.md"
    overall, weak = markdown_tables(page)
    shown, named = {}, ""
    for words, method, *numbers in overall[2:]:
        named = words or named  # only the first line of an estimand names it
        shown[named, method] = numbers
    names = dict(zip(dict.fromkeys(r["estimand"] for r in rows), dict.fromkeys(e for e, _ in shown), strict=True))
    assert len(names) == 8
    assert {(names[r["estimand"]], r["method"]) for r in rows} == set(shown)
    for (estimand, method), (worst, mean, width, rmse, where) in shown.items():
        of = [r for r in rows if (names[r["estimand"]], r["method"]) == (estimand, method)]
        assert len({(r["n_rows"], r["population"], r["curve"]) for r in of}) == len(of) == 54
        low = min(r["coverage"] for r in of)
        means = [sum(r[name] for r in of) / 54 for name in ("coverage", "width", "rmse")]
        assert [float(worst), float(mean)] == pytest.approx([low, means[0]], abs=0.0051)
        assert [float(width), float(rmse)] == pytest.approx(means[1:], abs=0.000051)
        worst_cells = [r for r in of if r["coverage"] == low]
        assert where in {f"{r['population']}, {r['curve']}, n = {r['n_rows']}" for r in worst_cells}
    expected = {
        (names[r["estimand"]], str(r["n_rows"]), r["population"], r["curve"])
        for r in rows
        if r["method"] == "shrinkage" and r["coverage"] < 0.9
    }
    assert {tuple(line[:4]) for line in weak[2:]} == expected
    # what the page says about the default model, and about the interval of Sun et al.
    for name, good in {"l2_error": True, "ece": True, "e90_bins": False, "l4_error": False, "mce": False}.items():
        worst, mean = (float(number) for number in shown[names[name], "shrinkage"][:2])
        assert (worst >= 0.85 and mean >= 0.93) is good
    ours, sun = (shown[names["l2_error"], method] for method in ("shrinkage", "Sun et al."))
    assert float(sun[2]) / float(ours[2]) == pytest.approx(1.16, abs=0.005)
    assert f"{sun[1]} on average against {ours[1]}" in page.read_text(encoding="utf-8")


def test_the_page_on_decompositions_shows_the_numbers_of_its_json():
    """Worst and mean coverage of each interval; those that are offered are wide enough."""
    stored = json.loads((DOCS / "_static" / "decompositions.json").read_text(encoding="utf-8"))
    (head, _, *shown), (of_pairs, _, *differences) = markdown_tables(DOCS / "explanation" / "decompositions.md")[-2:]
    assert head[:2] == of_pairs[:2] == ["Quantity", "Interval"]
    shown += [[*line[:5], line[6]] for line in differences]  # these have a column of widths
    rows = [dict(zip(stored["columns"], row, strict=True)) for row in stored["rows"]]
    assert {f"{quantity}: {interval}" for quantity, interval, *_ in shown} == {row["method"] for row in rows}
    for quantity, interval, populations, worst, mean, where in shown:
        of = {
            f"{row['population']}; n = {row['n_rows']}": row["coverage"]
            for row in rows
            if row["method"] == f"{quantity}: {interval}"
        }
        assert len(of) == int(populations) == {"multi-class": 36, "difference": 84}.get(quantity.split()[0], 26)
        assert (float(worst), float(mean)) == pytest.approx((min(of.values()), np.mean(list(of.values()))), abs=0.0051)
        assert of[where] == min(of.values())
        if interval in ("as offered", "compare_scores"):
            assert float(worst) >= (0.84 if interval == "compare_scores" else 0.85)  # standard error 0.037
            assert float(mean) >= 0.93


#: Beginnings of the names of tables: Brier score, log score and scaled Brier score.
KINDS_OF_SCORES = ("", "log_", "scaled_")


def test_the_page_of_scores_shows_the_numbers_of_its_json():
    """Worst and mean coverage and the mean width of each method are computed here from the cells."""
    stored = json.loads((DOCS / "_static" / "scores.json").read_text(encoding="utf-8"))
    page = DOCS / "explanation" / "scores.md"
    tables = markdown_tables(page)
    columns = {"scores": "columns", "differences": "difference_columns"}
    names = {f"{kind}{name}": value for kind in KINDS_OF_SCORES for name, value in columns.items()}
    of_accuracies = {"accuracies": "columns", "accuracy_differences": "difference_columns"}
    for table, (name, columns) in zip(tables[len(names) :], of_accuracies.items(), strict=True):
        rows = [dict(zip(stored[columns], row, strict=True)) for row in stored[name]]
        for method, *numbers, _ in table[2:]:
            of = [row for row in rows if row["method"] == method]
            shares = [row["coverage"] for row in of]
            expected = [min(shares), sum(shares) / len(of), sum(row["width"] for row in of) / len(of)]
            assert [float(n) for n in numbers] == pytest.approx(expected, abs=0.0051)
    for table, (name, columns) in zip(tables[: len(names)], names.items(), strict=True):
        rows = [dict(zip(stored[columns], row, strict=True)) for row in stored[name]]
        shown = {(bins, method): numbers for bins, method, *numbers in table[2:]}
        assert set(shown) == {(str(row["bins"] or "none"), row["method"]) for row in rows}
        for (bins, method), (*numbers, _) in shown.items():
            of = [row for row in rows if (str(row["bins"] or "none"), row["method"]) == (bins, method)]
            assert len({(row["n_rows"], row["population"], row["truth"]) for row in of}) == len(of)
            shares = [row["coverage"] for row in of]
            expected = [min(shares), sum(shares) / len(of), sum(row["width"] for row in of) / len(of)]
            assert [float(n) for n in numbers] == pytest.approx(expected, abs=0.0051)
            assert float(numbers[2]) == pytest.approx(expected[2], abs=0.000051)
    said = page.read_text(encoding="utf-8")
    first = {name: stored[name][0][stored[columns].index("repeats")] for name, columns in names.items()}
    for kind in KINDS_OF_SCORES:
        repeats = first[f"{kind}scores"], first[f"{kind}differences"]
        assert "with {} data sets each, 20 for differences with {}".format(*repeats) in said


def test_the_index_of_quantities_lists_every_estimand(monkeypatch):
    monkeypatch.syspath_prepend(DOCS / "make")
    quantities = script("quantities")
    page = (DOCS / "reference" / "quantities.md").read_text(encoding="utf-8")
    for name, made in quantities.page_parts().items():
        assert f"<!-- {name}: made by `{quantities.COMMAND}` -->\n\n{made}\n" in page
    estimands = markdown_tables(DOCS / "reference" / "quantities.md")[0][2:]
    package = [each for each in registered().values() if each.function.__module__.startswith("bayescal.")]
    assert [call.partition("]")[0] for _, _, _, call, *_ in estimands] == [f"[`ev.{each.name}`" for each in package]
    assert all(formula.startswith("$") for _, _, formula, *_ in estimands)
    for each in (*quantities.JOINT, *quantities.POINTS):
        first = re.match(r"(?:ev\.)?(\w+)", each.call)[1]
        assert hasattr(bayescal, first) or hasattr(bayescal.Evaluation, first), each.call
    # every call links to an object of the reference
    linked = {word for path in (DOCS / "reference").glob("*.md") for word in path.read_text(encoding="utf-8").split()}
    targets = re.findall(r"\]\(#(bayescal\.[\w.]+)\)", page)
    assert len(targets) >= len(package) + len(quantities.JOINT) + len(quantities.POINTS)
    assert set(targets) <= linked


def test_the_auc_page_shows_the_numbers_of_its_json():
    """Worst and mean coverage and the mean width of each method are computed here from the cells."""
    stored = json.loads((DOCS / "_static" / "auc.json").read_text(encoding="utf-8"))
    of_areas, of_weights, of_differences = markdown_tables(DOCS / "explanation" / "auc.md")
    shown = {"areas": [*of_areas[2:], *of_weights[2:]], "differences": of_differences[2:]}
    limits = {"50 or 200": (50, 200), "2000 or 20000": (2000, 20_000), "200 or 2000": (200, 2000)}
    for name, lines in shown.items():
        rows = [dict(zip(stored["columns"], row, strict=True)) for row in stored[name]]
        assert len({tuple(row[c] for c in stored["columns"][:5]) for row in rows}) == len(rows)
        checked = set()
        for words, method, *numbers in lines:
            low, high = limits.get(words, (50, 20_000))
            chosen = [i for i, row in enumerate(rows) if row["method"] == method and low <= row["n_rows"] <= high]
            if words not in limits:
                chosen = [i for i in chosen if rows[i]["population"] == words]
            checked |= set(chosen)
            of = [rows[i] for i in chosen]
            shares = [row["coverage"] for row in of]
            expected = [min(shares), sum(shares) / len(of), sum(row["width"] for row in of) / len(of)]
            assert [float(n) for n in numbers[:3]] == pytest.approx(expected, abs=0.0051)
            assert float(numbers[2]) == pytest.approx(expected[2], abs=0.000051)
            if method == "bayescal":  # the requirement of this page; a few heavy rows are its weakest cells
                others = [row["coverage"] for row in of if row["population"] != "weights by score"]
                assert min(others, default=1) >= 0.85
                assert expected[0] >= 0.8
                assert expected[1] >= 0.93
        assert len(checked) == len(rows)


def test_how_we_know_shows_the_numbers_of_its_json_and_nothing_failed():
    stored = json.loads((DOCS / "_static" / "verification.json").read_text(encoding="utf-8"))
    assert [
        r for part in ("agreement", "sbc", "wrong_samplers", "right_samplers") for r in stored[part] if r["problems"]
    ] == []
    assert [r["name"] for r in stored["wrong_samplers"] if not r["caught"]] == []
    assert len(stored["wrong_samplers"]) >= 20
    fewer = {r["model"]: r["runs"] for r in stored["sbc"] if r["runs"] != 10_000}
    assert fewer == {"labels of a judge, 300 rows, 60 checked": 2000}  # one data set takes a third of a second
    assert all(r["divergences"] == 0 and r["worst_r_hat"] < 1.01 and r["worst_z"] < 5 for r in stored["agreement"])
    page = DOCS / "explanation" / "how_we_know.md"
    of_agreement = next(t for t in markdown_tables(page) if t[0][0] == "Model" and "Divergences" in t[0])
    assert len(of_agreement) == 2 + len(stored["agreement"])
    for (model, data, quantities, z, r_hat, divergences, draws, _), row in zip(
        of_agreement[2:], stored["agreement"], strict=True
    ):
        assert (model, data) == (row["model"], row["data"])
        assert [int(quantities), int(divergences), int(draws)] == [
            row[n] for n in ("quantities", "divergences", "draws")
        ]
        shown, _, first = z.partition(" (first ")
        assert [float(shown), float(r_hat)] == pytest.approx([row["worst_z"], row["worst_r_hat"]], abs=0.051)
        assert (first != "") == (row.get("first_z") is not None)
    said = page.read_text(encoding="utf-8")
    assert stored["date"] in said
    assert f"pymc {stored['versions']['pymc']}" in said


def test_how_we_know_shows_the_mutants_of_its_json_and_enough_were_killed():
    """The test computes shares from the counts per module, so that it detects a stale page."""
    stored = json.loads((DOCS / "_static" / "mutation.json").read_text(encoding="utf-8"))
    names = ("places", "killed", "survived", "equivalent")
    parts = {"together": dict.fromkeys(names, 0)}
    for row in stored["modules"]:
        assert (ROOT / row["file"]).is_file(), "run `make mutation`"
        part = "/".join(row["file"].split("/")[:2])
        for name, group in itertools.product(names, (part, "together")):
            parts.setdefault(group, dict.fromkeys(names, 0))[name] += row[name]
    total = parts["together"]
    assert sum(total[name] for name in names[1:]) >= 300
    assert total["killed"] / (total["killed"] + total["survived"]) >= 0.95
    assert len(stored["survivors"]) == total["survived"]
    page = DOCS / "explanation" / "how_we_know.md"
    shown = next(t for t in markdown_tables(page) if t[0][0] == "Part")
    assert {part: list(map(int, numbers)) for part, *numbers, _ in shown[2:]} == {
        part: [counts[name] for name in names] for part, counts in parts.items()
    }
    for part, *_, share in shown[2:]:
        killed, survived = parts[part]["killed"], parts[part]["survived"]
        assert float(share.removesuffix("%")) == pytest.approx(100 * killed / (killed + survived), abs=0.051)
    said = page.read_text(encoding="utf-8")
    assert f"Run on {stored['date']} with seed {stored['seed']}" in said
    assert all(f"| {row['file']}, `{row['function'] or 'module'}` |" in said for row in stored["survivors"])


def as_seconds(said):
    number, unit = said.split()
    return float(number) * {"µs": 1e-6, "ms": 1e-3, "s": 1, "min": 60, "h": 3600}[unit]


def test_the_performance_page_shows_the_numbers_of_its_json():
    """Two digits are shown; the largest relative difference from them is that of 0.95 and 1.0."""
    stored = json.loads((DOCS / "_static" / "performance.json").read_text(encoding="utf-8"))
    rows = [row for row in stored["rows"] if row["n_rows"] == 10**8]
    page = DOCS / "performance.md"
    answer, by_size, targets, *_ = markdown_tables(page)
    ours, read = (next(r for r in rows if r["way"] == "bayescal")[name] for name in ("seconds", "read"))
    expected = sorted([read, *(row["seconds"] for row in rows)])
    assert [as_seconds(line[1]) for line in answer[2:]] == pytest.approx(expected, rel=0.051)
    reads = [float(line[2].removesuffix(" ×").replace(",", "")) for line in answer[2:]]
    assert reads == pytest.approx([seconds / read for seconds in expected], rel=0.051)
    assert len(by_size) == 2 + len({row["n_rows"] for row in stored["rows"]})
    assert sum(cell != "" for line in by_size[2:] for cell in line[2:]) == len(stored["rows"])
    kept = {line[0]: (line[2], line[3]) for line in targets[2:]}
    assert float(kept["100 million rows, in reads"][0].removesuffix(" ×")) == pytest.approx(ours / read, rel=0.051)
    way = {row["way"]: row["seconds"] for row in rows}
    for name, (own, threads) in itertools.product(
        ("scikit-learn", "torchmetrics"), (("bayescal", "one thread"), ("bayescal, two threads", "two threads"))
    ):
        faster = way[name] / way[own]
        found, said = kept[f"faster than {name}, {threads}"]
        assert float(found.removesuffix(" ×")) == pytest.approx(faster, rel=0.051)
        assert said == ("yes" if faster >= 40 else "**no**")
    said = page.read_text(encoding="utf-8")
    assert all(day in said for day in stored["dates"].values())
    assert f"torchmetrics {stored['versions']['torchmetrics']}" in said
