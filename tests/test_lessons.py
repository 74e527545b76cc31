"""Lessons: what each contains, and that `make notebooks` fails if a statement or an output is wrong."""

import ast
import asyncio
import re
import sys
import tomllib
from base64 import b64decode, b64encode
from io import BytesIO
from pathlib import Path

import nbformat
import numpy as np
import pytest
from packaging.requirements import Requirement
from PIL import Image

ROOT = Path(__file__).resolve().parents[1]
NOTEBOOKS = ROOT / "notebooks"
FILES = sorted(NOTEBOOKS.glob("*.ipynb"))

pytestmark = pytest.mark.skipif(not FILES, reason="the lessons are not part of a source distribution")


@pytest.fixture(scope="module")
def lessons():
    """The command, which imports the files beside it."""
    sys.path.insert(0, str(ROOT / "docs" / "make"))
    try:
        import lessons
    finally:
        sys.path.remove(str(ROOT / "docs" / "make"))
    return lessons


@pytest.fixture(scope="module")
def outputs(lessons):
    return sys.modules["lesson_outputs"]


def code_cells(path):
    return [cell for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == "code"]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_lesson_states_duration_and_aims_at_its_top(path):
    first = nbformat.read(path, as_version=4).cells[0].source
    assert re.search(r"^# .+\n\n\*\*Duration:\*\* \d+ minutes", first)
    assert len(re.findall(r"^\* ", first.partition("**At the end you will be able to**\n\n")[2], re.MULTILINE)) >= 3


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_lesson_has_outputs_without_warnings_and_no_assertions(path):
    cells = code_cells(path)
    assert sum(bool(cell.outputs) for cell in cells) > len(cells) / 2
    assert [cell.execution_count for cell in cells] == list(range(1, len(cells) + 1))
    for cell in cells:
        assert not re.search(r"^\s*assert\b", cell.source, re.MULTILINE)
        assert not any(output.output_type == "error" or output.get("name") == "stderr" for output in cell.outputs)
        assert set(cell.metadata) <= {"tags"}
        assert cell.metadata.get("tags", ["chains"]) == ["chains"]


def test_a_lesson_has_checks_and_every_file_of_checks_a_lesson(lessons):
    files = {lessons.checks_of(path) for path in FILES}
    assert files == set(lessons.CHECKS.glob("*.py"))
    for path in files:
        assert len(re.findall(r"^def check_", path.read_text(encoding="utf-8"), re.MULTILINE)) >= 5


def text_of(path):
    return "\n".join(cell.source for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == "markdown")


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_lesson_has_exercises_with_solutions(path):
    exercises, solutions = text_of(path).split("## Exercises")[1].split("## Solutions")
    numbers = re.findall(r"^(\d)\. ", exercises, re.MULTILINE)
    assert len(numbers) >= 3
    assert re.findall(r"^\*\*Exercise (\d)\.\*\*", solutions, re.MULTILINE) == numbers


def test_pictures_of_lessons_are_described_files_of_the_documentation():
    links = [link for path in FILES for link in re.findall(r"!\[([^\]]*)\]\(([^)]*)\)", text_of(path))]
    assert links
    for described, target in links:
        assert len(described) >= 30
        assert target.startswith("../docs/_static/")
        assert (NOTEBOOKS / target).is_file()


def test_the_extra_of_the_lessons_has_all_that_they_import():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    declared = [*project["dependencies"], *project["optional-dependencies"]["notebooks"]]
    distributions = {"sklearn": "scikit-learn", "sksurv": "scikit-survival"}
    nodes = [node for path in FILES for cell in code_cells(path) for node in ast.walk(ast.parse(cell.source))]
    modules = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    modules |= {node.module for node in nodes if isinstance(node, ast.ImportFrom)}
    names = {name.partition(".")[0] for name in modules} - sys.stdlib_module_names
    assert {distributions.get(name, name) for name in names} <= {Requirement(text).name for text in declared}


def test_the_index_of_lessons_states_their_titles_and_durations_in_order():
    index = (ROOT / "docs" / "tutorials" / "index.md").read_text(encoding="utf-8")
    assert re.findall(r"^\.\./notebooks/(\S+)$", index, re.MULTILINE) == [path.stem for path in FILES]
    listed = re.findall(r"^\| (\d+)\. \*(.+)\*: .+ \| (\d+) minutes \|$", index, re.MULTILINE)
    for path, (number, title, minutes) in zip(FILES, listed, strict=True):
        assert path.name.startswith(f"{int(number):02}_")
        first = nbformat.read(path, as_version=4).cells[0].source
        assert first.startswith(f"# {title}")
        assert f"**Duration:** {minutes} minutes" in first


def test_the_lessons_are_small():
    assert sum(path.stat().st_size for path in FILES) < 180_000 * len(FILES)


CELLS = (
    "import matplotlib.pyplot as plt\nvalue = 3",
    "print('first')\nprint(f'value {value}')\nobject()",
    "figure, ax = plt.subplots(figsize=(3, 2))\nax.plot([0, 1], [0, value]);",
)
TRUE_CHECK = "def check_value(value, ax):\n    assert value == 3\n    assert len(ax.lines) == 1\n"


@pytest.fixture(scope="module")
def written(lessons, tmp_path_factory):
    """A small lesson that the command has written, in a folder with its checks."""
    folder = tmp_path_factory.mktemp("lesson")
    path = folder / "01_small.ipynb"
    save(path, CELLS)
    (folder / "small.py").write_text(TRUE_CHECK, encoding="utf-8")
    assert run(lessons, path, "write") == []
    return path


@pytest.fixture
def lesson(written, tmp_path):
    """A copy of it."""
    for path in written.parent.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    return tmp_path / written.name


def save(path, sources):
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in sources])
    nbformat.write(notebook, path)


def change(path, number, edit):
    """Edit one cell of a notebook, and store it."""
    notebook = nbformat.read(path, as_version=4)
    edit(notebook.cells[number])
    nbformat.write(notebook, path)


def run(lessons, path, mode="check"):
    return asyncio.run(lessons.all_problems([path], mode, checks=path.parent))


@pytest.mark.slow
def test_a_written_lesson_contains_outputs_that_a_second_run_gives(written):
    assert sorted(path.name for path in written.parent.iterdir()) == ["01_small.ipynb", "small.py"]
    printed, value = code_cells(written)[1].outputs
    assert printed.text == "first\nvalue 3\n"
    assert value.data["text/plain"] == "<object at 0x...>"
    assert len(code_cells(written)) == len(CELLS)


@pytest.mark.slow
def test_writing_again_changes_no_byte(lessons, lesson, capsys):
    before = lesson.read_bytes()
    assert run(lessons, lesson, "write") == []
    assert re.fullmatch(r"01_small\.ipynb: \d+ s\n", capsys.readouterr().out)
    assert lesson.read_bytes() == before


@pytest.mark.slow
def test_a_written_lesson_passes_whatever_the_settings_of_the_user_and_the_check_writes_nothing(
    lessons, lesson, monkeypatch, tmp_path_factory
):
    home = tmp_path_factory.mktemp("home")
    (home / "matplotlibrc").write_text("figure.dpi: 300\naxes.facecolor: red\n", encoding="utf-8")
    kernel = home / "jupyter" / "kernels" / "python3"
    kernel.mkdir(parents=True)
    (kernel / "kernel.json").write_text('{"argv": ["false"], "display_name": "x", "language": "python"}')
    startup = home / "ipython" / "profile_default" / "startup"
    startup.mkdir(parents=True)
    (startup / "1.py").write_text("print = None\n", encoding="utf-8")
    for name, value in {
        "MPLBACKEND": "agg",
        "MATPLOTLIBRC": home / "matplotlibrc",
        "IPYTHONDIR": home / "ipython",
        "JUPYTER_PATH": home / "jupyter",
        "JUPYTER_DATA_DIR": home / "jupyter",
        "FORCE_COLOR": "1",
        "COLUMNS": "20",
    }.items():
        monkeypatch.setenv(name, str(value))
    monkeypatch.chdir(home)
    before = lesson.read_bytes()
    assert run(lessons, lesson) == []
    assert lesson.read_bytes() == before
    assert sorted(path.name for path in lesson.parent.iterdir()) == ["01_small.ipynb", "small.py"]


@pytest.mark.slow
def test_a_false_statement_is_reported_and_nothing_is_written(lessons, lesson):
    checks = lesson.parent / "small.py"
    checks.write_text(TRUE_CHECK.replace("== 3", "== 4"), encoding="utf-8")
    before = lesson.read_bytes()
    (problem,) = run(lessons, lesson, "write")
    assert problem.startswith("01_small.ipynb, ")
    assert "check_value" in problem
    assert "AssertionError" in problem
    assert lesson.read_bytes() == before


@pytest.mark.slow
def test_a_cell_that_fails_is_reported(lessons, lesson):
    change(lesson, 1, lambda cell: cell.update(source="print(1 / 0)"))
    (problem,) = run(lessons, lesson)
    assert "print(1 / 0)" in problem
    assert "ZeroDivisionError" in problem


def paint(cell):
    """Draw a black rectangle into the picture of a cell."""
    with Image.open(BytesIO(b64decode(cell.outputs[0].data["image/png"]))) as picture:
        pixels = np.array(picture.convert("RGBA"))
    pixels[40:44, 40:80, :3] = 0
    cell.outputs[0].data["image/png"] = encoded(pixels)


@pytest.mark.slow
def test_changed_outputs_are_reported_with_both(lessons, lesson):
    def edit(cell):
        cell.outputs[0].update(text="first\nvalue 2\n")
        cell.outputs.pop()

    change(lesson, 1, edit)
    change(lesson, 2, paint)
    text, missing, picture = run(lessons, lesson)
    assert text.startswith("01_small.ipynb, cell 2 (print('first')): stdout differs\n")
    assert "\n-value 2\n+value 3" in text
    assert "cell 2 (print('first')): committed is nothing, fresh is text/plain\n<object at 0x...>" in missing
    assert picture.startswith("01_small.ipynb, cell 3 (figure, ax = plt.subplots(figsize=(3, 2))): pictures differ by")
    assert "of 255 on average, allowed is 0.1\n" in picture
    stored = [Path(name) for name in re.findall(r"\S+\.png", picture)]
    assert [path.name for path in stored] == ["committed.png", "fresh.png"]
    assert stored[1].read_bytes() != stored[0].read_bytes()
    assert run(lessons, lesson, "run") == []


@pytest.mark.slow
def test_a_warning_is_refused(lessons, lesson):
    change(lesson, 0, lambda cell: cell.update(source=cell.source + "\nimport warnings\nwarnings.warn('old')"))
    before = lesson.read_bytes()
    (problem,) = run(lessons, lesson, "write")
    assert "cell 1 (import matplotlib.pyplot as plt): the cell writes to stderr\n" in problem
    assert "UserWarning: old" in problem
    assert lesson.read_bytes() == before


def encoded(pixels):
    buffer = BytesIO()
    Image.fromarray(pixels).save(buffer, "png")
    return b64encode(buffer.getvalue()).decode()


def notebook_with(*outputs, tags=()):
    cell = nbformat.v4.new_code_cell("draw()", outputs=list(outputs), metadata={"tags": list(tags)})
    return nbformat.v4.new_notebook(cells=[cell])


def picture_output(pixels):
    return nbformat.v4.new_output("display_data", {"image/png": encoded(pixels)})


def printed(text):
    return nbformat.v4.new_output("stream", text=text)


@pytest.mark.parametrize(("shade", "differs"), [(0, False), (1, False), (6, True), (200, True)])
def test_pictures_may_differ_by_a_tenth_of_a_step_on_average(outputs, shade, differs):
    """One pixel in 25 changes, in three of the four colours: 0.03 on average for a shade of 1, 0.18 for 6."""
    before = np.full((10, 10, 4), 255, np.uint8)
    after = before.copy()
    after[::5, ::5, 0] -= shade
    after[::5, ::5, 1] -= shade
    after[::5, ::5, 2] -= shade
    mean = 3 * shade / 100
    found = list(outputs.differences(notebook_with(picture_output(before)), notebook_with(picture_output(after))))
    assert bool(found) == differs == (mean > 0.1)


def test_sizes_of_pictures_are_compared(outputs):
    small, large = (notebook_with(picture_output(np.zeros((10, width, 4), np.uint8))) for width in (10, 11))
    (problem,) = outputs.differences(small, large)
    assert "committed: 10 x 10 pixels" in problem
    assert "fresh: 11 x 10 pixels" in problem


def test_of_cells_with_chains_words_and_sizes_are_compared(outputs):
    def differ(before, after):
        pair = [notebook_with(each, tags=["chains"]) for each in (before, after)]
        return bool(list(outputs.differences(*pair)))

    black, white = (picture_output(np.full((10, 10, 4), level, np.uint8)) for level in (0, 255))
    assert not differ(printed("mean  0.25, 1e-05 draws"), printed("mean -1.255, 2.5e-07 draws"))
    assert differ(printed("They agree: 0.1"), printed("They differ: 0.1"))
    assert not differ(black, white)
    assert differ(black, picture_output(np.zeros((10, 11, 4), np.uint8)))
    assert differ(printed("1"), black)


def test_equal_pictures_keep_their_bytes(outputs):
    pixels = np.full((50, 50, 4), 255, np.uint8)
    other = pixels.copy()
    other[0, 0, 0] = 0
    before, after = (notebook_with(picture_output(each)) for each in (pixels, other))
    assert before.cells[0].outputs != after.cells[0].outputs
    outputs.keep_equal(before, after)
    assert before.cells[0].outputs == after.cells[0].outputs
