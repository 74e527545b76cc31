"""A result as one HTML page that needs no other file: sentence, pictures as SVG, tables, what was read."""

import base64
import hashlib
import re
import threading
import warnings
from collections.abc import Callable, Iterable, Mapping
from importlib.resources import files
from io import StringIO
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from bayescal import _files, _packages, _presented, _render
from bayescal._arrays import Figure, Markup
from bayescal._version import __version__
from bayescal.estimands.registry import EstimandLike
from bayescal.report.drawing import BLUE, GREY, ORANGE, SKY
from bayescal.report.page_content import content_of
from bayescal.report.tables import Table

#: Colours of text and background while a figure is drawn, which nothing else has.
INK, PAPER = "#0a0b0c", "#f9fafb"
#: Colours of a figure -> names of the colours of the page, in its style sheet.
COLOURS = {BLUE.lower(): "blue", ORANGE.lower(): "orange", SKY.lower(): "sky", GREY: "grey", INK: "ink", PAPER: "paper"}
STYLE: Any = {
    "svg.fonttype": "none",  # text remains text, which can be searched, and in which the browser finds all characters
    "font.sans-serif": ["DejaVu Sans"],
    **dict.fromkeys(("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color"), INK),
    **dict.fromkeys(("axes.facecolor", "figure.facecolor", "savefig.facecolor"), PAPER),
}
LARGEST = 1.5  #: Maximum size of a point of a figure, in pixels of the page.
FONTS = "'DejaVu Sans', Verdana"  #: Fonts of the width of matplotlib's own, with which it has measured the text.
#: Matplotlib's style is global: two pages that threads draw at a time would leave each other's.
_STYLED = threading.Lock()
_COLOUR = re.compile("|".join(COLOURS), re.IGNORECASE)
_REFERENCE = re.compile(r"^#(.+)$|url\(#([^)]+)\)")


def inline_svg(draw: Callable[[], "Figure"], prefix: str) -> "Markup":
    """Draw a figure as an SVG element for an HTML page; text is escaped, and the same figure gives the same text."""
    _packages.require("matplotlib")
    import matplotlib as mpl
    from markupsafe import Markup
    from matplotlib import style

    written, default = StringIO(), style.context("default", after_reset=True)
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
    return _COLOUR.sub(lambda match: f"var(--{COLOURS[match[0].lower()]})", value)


def _rename(root: ElementTree.Element, prefix: str) -> None:
    """Number the identifiers that the figure refers to, and remove the others."""
    used = [match[1] or match[2] for e in root.iter() for v in e.attrib.values() if (match := _REFERENCE.search(v))]
    new = {old: f"{prefix}-{i}" for i, old in enumerate(dict.fromkeys(used))}
    for element in root.iter():
        if (identifier := element.attrib.pop("id", None)) in new:
            element.set("id", new[identifier])
        for name, value in element.attrib.items():
            if match := _REFERENCE.search(value):
                old = match[1] or match[2]
                element.set(name, value.replace(f"#{old}", f"#{new[old]}"))


#: Words for the parameters of the command line, in this order; further ones keep their name.
WORDS = {
    "file": "file", "files": "files", "key": "column of keys", "rows": "rows read",
    "label": "column of labels", "prob": "columns of probabilities", "weights": "column of weights",
    "by": "column of groups", "sub_models": "sub-models", "draws": "posterior draws", "below": "limit",
}  # fmt: skip
#: Rows that do not obey the rules raise an error, so that a result contains all rows or does not exist.
REFUSED_ROWS = "0 (an input with an invalid row is refused as a whole)"


def page(
    result: _presented.Presented,
    *,
    estimand: EstimandLike = "ece",
    parameters: Mapping[str, Any] | None = None,
    notes: Iterable[str] = (),
    more: Iterable[Table] = (),
) -> str:
    """Return the page of a result as HTML. It has no date, and the same result gives the same text."""
    _packages.require("jinja2", "matplotlib")
    from markupsafe import Markup

    content = content_of(result, estimand)
    script, style, template = (
        files("bayescal.report").joinpath(f"page.{kind}").read_text(encoding="utf-8") for kind in ("js", "css", "html")
    )
    # the script is the text between the tags, with the line break that the template has before it
    digest = base64.b64encode(hashlib.sha256(f"\n{script}".encode()).digest()).decode()
    return _render.filled(
        template,
        title=content.title,
        file=_in_words((parameters or {}).get("file", "")),
        sheet=content.sheet,
        lead=content.lead,
        tables=[*content.tables, *more],
        pictures=[
            {"caption": each.caption, "wide": each.wide, "svg": inline_svg(each.draw, f"picture{i}")}
            for i, each in enumerate(content.pictures, start=1)
        ],
        facts=[*_facts(content.rows, parameters or {}), *(("note", _render.printed(note)) for note in notes)],
        version=__version__,
        style=Markup(style),  # a file of this package
        script=Markup(script),
        script_hash=f"sha256-{digest}",
    )


def save_page(result: _presented.Presented, path: str | Path, **options: Any) -> Path:
    """Write the page of a result to a file, with the options of `page`; `Evaluation.to_html` describes the errors."""
    reason = "the page is HTML, which a browser shows and can print as PDF."
    return _files.write_atomically(_files.named_file(path, _presented.PAGE_SUFFIXES, reason), page(result, **options))


def _facts(rows: Mapping[str, object], parameters: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return what was read and how, as pairs of words; what was not given is left out."""
    settings = {name: value for name, value in parameters.items() if value is not None and value is not False}
    if "rows" in settings:
        rows = {name: n for name, n in rows.items() if name != "rows"}
    named = "model" if "models" in settings else "classifier"
    classifiers = settings.pop(f"{named}s", [])
    facts = {WORDS.get(name, name): _in_words(value) for name, value in settings.items()}
    facts |= {_render.name(name): str(n) for name, n in rows.items()}
    for each in classifiers:
        file, label, prob = (_in_words(each[name]) for name in ("file", "label", "prob"))
        facts[f"{named} {_render.name(each['name'])}"] = f"file {file}; labels {label}; probabilities {prob}"
    return [*facts.items(), ("rows refused", REFUSED_ROWS)] if facts else []


def _in_words(value: Any) -> str:
    if isinstance(value, list | tuple):
        return ", ".join(map(_in_words, value))
    return "yes" if value is True else _render.printed(value)
