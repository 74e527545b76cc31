"""A result as one HTML page that needs no other file: sentence, pictures, tables, specification, what was read."""

import base64
import hashlib
from collections.abc import Iterable, Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

from bayescal import _files, _packages, _presented, _render
from bayescal._version import __version__
from bayescal.estimands.registry import EstimandLike
from bayescal.report.page_content import content_of
from bayescal.report.svg import inline_svg
from bayescal.report.tables import Table

#: Words for the parameters of the command line, in this order; further ones keep their name.
WORDS = {
    "file": "file",
    "files": "files",
    "key": "column of keys",
    "rows": "rows read",
    "label": "column of labels",
    "prob": "columns of probabilities",
    "weights": "column of weights",
    "by": "column of groups",
    "sub_models": "sub-models",
    "draws": "posterior draws",
    "below": "limit",
}
#: Rows that do not obey the rules raise an error, so that a result contains all rows or does not exist.
REFUSED = "0 (an input with an invalid row is refused as a whole)"


def page(
    result: _presented.Presented,
    *,
    estimand: EstimandLike = "ece",
    parameters: Mapping[str, Any] | None = None,
    notes: Iterable[str] = (),
    more: Iterable[Table] = (),
) -> str:
    """Return the page of a result as HTML. It has no date, and the same result gives the same text.

    `estimand` is a choice of comparisons only. `parameters` and `notes` of the command line say what was read; the
    tables `more` follow those of the result.

    >>> import bayescal as bc
    >>> text = page(bc.evaluate([0, 1, 1, 1], [0.2, 0.4, 0.7, 0.9], bins=2, rng=1))
    >>> text.count("<svg"), text.count("<table")
    (2, 4)
    """
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
    given = {name: value for name, value in parameters.items() if value is not None and value is not False}
    if "rows" in given:
        rows = {name: n for name, n in rows.items() if name != "rows"}
    named = "model" if "models" in given else "classifier"
    classifiers = given.pop(f"{named}s", [])
    facts = {WORDS.get(name, name): _in_words(value) for name, value in given.items()}
    facts |= {_render.name(name): str(n) for name, n in rows.items()}
    for each in classifiers:
        file, label, prob = (_in_words(each[name]) for name in ("file", "label", "prob"))
        facts[f"{named} {_render.name(each['name'])}"] = f"file {file}; labels {label}; probabilities {prob}"
    return [*facts.items(), ("rows refused", REFUSED)] if facts else []


def _in_words(value: Any) -> str:
    if isinstance(value, list | tuple):
        return ", ".join(map(_in_words, value))
    return "yes" if value is True else _render.printed(value)
