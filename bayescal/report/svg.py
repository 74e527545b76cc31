"""Figures as SVG inside a page: identifiers of their own, and colours that follow the page."""

import re
import threading
import warnings
from collections.abc import Callable
from io import StringIO
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

from bayescal import _packages
from bayescal.report.drawing import BLUE, GREY, ORANGE, SKY

if TYPE_CHECKING:
    from markupsafe import Markup
    from matplotlib.figure import Figure

#: Colours of text and background while a figure is drawn, which nothing else has.
INK, PAPER = "#0a0b0c", "#f9fafb"
#: Colours of a figure -> names of the colours of the page, in its style sheet.
COLOURS = {BLUE: "blue", ORANGE: "orange", SKY: "sky", GREY: "grey", INK: "ink", PAPER: "paper"}
STYLE: Any = {
    "svg.fonttype": "none",  # text remains text, which can be searched, and in which the browser finds all characters
    "font.sans-serif": ["DejaVu Sans"],
    **dict.fromkeys(("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color"), INK),
    **dict.fromkeys(("axes.facecolor", "figure.facecolor", "savefig.facecolor"), PAPER),
}
#: Maximum size of a point of a figure, in pixels of the page.
LARGEST = 1.5
#: Fonts of the width of matplotlib's own, with which it has measured the text.
FONTS = "'DejaVu Sans', Verdana"
#: Matplotlib's style is global: two pages that threads draw at a time would leave each other's.
_STYLED = threading.Lock()
_COLOUR = re.compile("|".join(COLOURS), re.IGNORECASE)
_REFERENCE = re.compile(r"^#(.+)$|url\(#([^)]+)\)")


def inline_svg(draw: Callable[[], "Figure"], prefix: str) -> "Markup":
    """Draw a figure as an SVG element for an HTML page; text is escaped, and the same figure gives the same text.

    `draw` is called in matplotlib's default style, so the user's style has no effect. `prefix` begins all identifiers
    in the element; it differs for each figure of a page.
    """
    _packages.require("matplotlib")
    import matplotlib as mpl
    from markupsafe import Markup
    from matplotlib import style

    written = StringIO()
    default = style.context("default", after_reset=True)
    with _STYLED, default, mpl.rc_context(STYLE | {"svg.hashsalt": prefix}), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from")  # the browser has fonts for it
        draw().savefig(written, format="svg", metadata={"Date": None})
    root = ElementTree.fromstring(written.getvalue())
    _strip(root)
    _rename(root, prefix)
    box = root.attrib["viewBox"]
    root.attrib = {"viewBox": box, "role": "img", "style": f"max-width: {LARGEST * float(box.split()[2]):.0f}px"}
    return Markup(ElementTree.tostring(root, encoding="unicode"))  # ElementTree has escaped the text


def _strip(root: ElementTree.Element) -> None:
    """Remove namespaces, metadata, and style sheets, which would apply to the whole page."""
    for element in root.iter():
        element.tag = element.tag.rpartition("}")[2]
        element.attrib = {name.rpartition("}")[2]: _styled(name, value) for name, value in element.attrib.items()}
        for child in list(element):
            if child.tag.rpartition("}")[2] in ("metadata", "style"):
                element.remove(child)


def _styled(name: str, value: str) -> str:
    """Return an attribute with the colours and fonts of the page."""
    if name == "d":
        return re.sub(r"(\.\d{2})\d+", r"\1", value).replace("\n", "")  # hundredths of a point are invisible
    if name not in ("style", "fill", "stroke"):
        return value
    value = value.replace("'DejaVu Sans'", FONTS)
    return _COLOUR.sub(lambda found: f"var(--{COLOURS[_known(found[0])]})", value)


def _known(colour: str) -> str:
    return next(each for each in COLOURS if each.lower() == colour.lower())


def _rename(root: ElementTree.Element, prefix: str) -> None:
    """Number the identifiers that the figure refers to, and remove the others."""
    used = [found[1] or found[2] for e in root.iter() for v in e.attrib.values() if (found := _REFERENCE.search(v))]
    new = {old: f"{prefix}-{i}" for i, old in enumerate(dict.fromkeys(used))}
    for element in root.iter():
        if (own := element.attrib.pop("id", None)) in new:
            element.set("id", new[own])
        for name, value in element.attrib.items():
            if found := _REFERENCE.search(value):
                old = found[1] or found[2]
                element.set(name, value.replace(f"#{old}", f"#{new[old]}"))
