"""Outputs of a lesson: reduce them to what a second run gives again, and find differences between two runs.

Texts must be equal. Pictures must have the same size, and their pixels may differ by `TOLERANCE` on average. Cells with
the tag `chains` show results of Markov chains, whose course depends on the last digit of every number, and so on the
processor: of their texts the words are compared, and of their pictures the size.
"""

import re
from base64 import b64decode
from collections.abc import Iterator
from difflib import unified_diff
from io import BytesIO
from itertools import zip_longest
from pathlib import Path
from tempfile import mkdtemp
from typing import NamedTuple

import numpy as np
from nbformat import NotebookNode
from numpy.typing import NDArray
from PIL import Image

#: Largest mean absolute difference of two pictures over pixels and colours, in steps of 1/255.
TOLERANCE = 0.1
PICTURE = "image/png"
CHAINS = "chains"
ADDRESS = re.compile(r"\b0x[0-9a-f]{6,}\b")
NUMBER = re.compile(r"\s*[-+]?\d[\d.]*(e[-+]?\d+)?")


class Part(NamedTuple):
    """One form of one output: text of a stream or of a value, or a picture in base64."""

    kind: str
    content: str


def tidied(notebook: NotebookNode) -> NotebookNode:
    """Replace memory addresses in outputs, which differ between runs. Changes the notebook."""
    for cell in _code(notebook):
        for output in cell.outputs:
            texts = output if "text" in output else output.get("data", {})
            for kind, content in texts.items():
                if isinstance(content, str) and kind != PICTURE:
                    texts[kind] = ADDRESS.sub("0x...", content)
    return notebook


def warnings(notebook: NotebookNode) -> Iterator[str]:
    """Yield a message for each cell that writes to stderr, as warnings do."""
    for place, cell in _places(notebook):
        for part in _parts(cell):
            if part.kind == "stderr":
                yield f"{place}: the cell writes to stderr\n{part.content}"


def differences(committed: NotebookNode, fresh: NotebookNode) -> Iterator[str]:
    """Yield a message for each output that differs. Both notebooks have the same cells."""
    for (place, before), (_, after) in zip(_places(committed), _places(fresh), strict=True):
        for old, new in _unequal(before, after):
            yield f"{place}: {_shown(old, new)}"


def keep_equal(committed: NotebookNode, fresh: NotebookNode) -> None:
    """Replace fresh outputs by the committed ones if they do not differ, so that equal pictures stay equal files."""
    for (_, before), (_, after) in zip(_places(committed), _places(fresh), strict=True):
        if _exact(before) and not any(_unequal(before, after)):
            after.outputs = before.outputs


def _code(notebook: NotebookNode) -> list[NotebookNode]:
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def _places(notebook: NotebookNode) -> Iterator[tuple[str, NotebookNode]]:
    """Yield each cell with code, and its number among all cells with its first line."""
    for number, cell in enumerate(notebook.cells, 1):
        if cell.cell_type == "code":
            yield f"cell {number} ({cell.source.partition('\n')[0]})", cell


def _parts(cell: NotebookNode) -> list[Part]:
    parts = []
    for output in cell.outputs:
        if "text" in output:
            parts.append(Part(output.name, output.text))
        else:
            parts += [Part(kind, str(content)) for kind, content in sorted(output.data.items())]
    return parts


def _exact(cell: NotebookNode) -> bool:
    return CHAINS not in cell.metadata.get("tags", [])


def _unequal(before: NotebookNode, after: NotebookNode) -> Iterator[tuple[Part, Part]]:
    """Yield the parts that differ; only the first pair if they are not of the same kind, as the others are shifted."""
    for old, new in zip_longest(_parts(before), _parts(after), fillvalue=Part("nothing", "")):
        if old.kind != new.kind:
            yield old, new
            return
        if not _equal(old, new, exact=_exact(before)):
            yield old, new


def _equal(old: Part, new: Part, *, exact: bool) -> bool:
    if old.kind == PICTURE:
        return _distance(old, new) <= (TOLERANCE if exact else 255)
    return old == new if exact else NUMBER.sub("#", old.content) == NUMBER.sub("#", new.content)


def _distance(old: Part, new: Part) -> float:
    """Return the mean absolute difference of two pictures; infinite if their sizes differ."""
    before, after = _pixels(old), _pixels(new)
    return float(np.abs(before - after).mean()) if before.shape == after.shape else np.inf


def _pixels(picture: Part) -> NDArray[np.float64]:
    """Return height, width and four colours, with transparency."""
    return np.asarray(Image.open(BytesIO(b64decode(picture.content))).convert("RGBA"), float)


def _shown(old: Part, new: Part) -> str:
    """Return both outputs: lines of text that differ, or pictures with the files that contain them."""
    if old.kind != new.kind:
        return f"committed is {old.kind}, fresh is {new.kind}\n{_text(old)}{_text(new)}"
    if old.kind != PICTURE:
        lines = unified_diff(old.content.splitlines(), new.content.splitlines(), "committed", "fresh", lineterm="")
        return f"{old.kind} differs\n" + "\n".join(lines)
    folder, sizes = Path(mkdtemp(prefix="lesson-pictures-")), []
    for name, picture in (("committed", old), ("fresh", new)):
        (folder / f"{name}.png").write_bytes(b64decode(picture.content))
        height, width, _ = _pixels(picture).shape
        sizes.append(f"{name}: {width} x {height} pixels, {folder / name}.png")
    distance = f"by {_distance(old, new):.3g} of 255 on average, allowed is {TOLERANCE:g}"
    return "\n".join([f"pictures differ {distance}", *sizes])


def _text(part: Part) -> str:
    return "" if part.kind == PICTURE else part.content
