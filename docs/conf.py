"""Sphinx configuration, for `make docs`. Neither building nor reading the pages needs a network."""

import datetime
import shutil
from importlib.metadata import metadata
from pathlib import Path

from docutils.nodes import SkipNode
from latex2mathml.converter import convert

from bayescal._packages import installed
from bayescal.estimands.registry import registered

_package = metadata("bayescal")
project = "bayescal"
author = _package["Author"] or "The bayescal developers"
version = release = _package["Version"]
copyright = f"{datetime.date.today().year}, {author}"  # noqa: A001  # Sphinx's own name

extensions = ["sphinx.ext.autodoc", "sphinx.ext.autosummary", "numpydoc", "myst_nb"]
exclude_patterns = ["_build", "**/.ipynb_checkpoints"]
templates_path = ["_templates"]
# docstrings name things in single backticks; where such a thing has a page, that becomes a link
default_role = "py:obj"

autosummary_generate = True
# adapters are described without their programs; `make bench` installs these
autodoc_mock_imports = [name for name in ("inspect_ai", "torch", "torchmetrics") if not installed(name)]
toc_object_entries_show_parents = "hide"  # "plot" and not "CalibrationDisplay.plot", which is cut
autodoc_typehints = "none"  # the numpydoc sections say types in words, with shapes and ranges
numpydoc_show_class_members = False  # the template of a class lists them

myst_enable_extensions = ["dollarmath", "colon_fence"]
myst_heading_anchors = 3
nb_execution_mode = "off"  # pages and notebooks hold their outputs
nb_merge_streams = True

html_theme = "pydata_sphinx_theme"
html_title = "bayescal"
html_static_path = ["_static"]
html_css_files = ["bayescal.css"]
html_show_sourcelink = False
html_copy_source = False
html_sidebars = {"architecture": [], "conformance": []}
html_theme_options = {
    "navbar_end": ["theme-switcher"],
    "header_links_before_dropdown": 4,  # more of them need a second line at a width of 1280 pixels
    "footer_start": ["copyright"],
    "footer_end": [],
    "show_prev_next": True,
    "secondary_sidebar_items": ["page-toc"],
}


def _mathml(formula, display):
    return convert(formula.replace(r"\sim", r"\;\sim\;"), display=display)  # the converter takes ~ for a letter


def _inline_formula(self, node):
    self.body.append(_mathml(node.astext(), "inline"))
    raise SkipNode


def _display_formula(self, node):
    self.body.append(f'<div class="formula">{_mathml(node.astext(), "block")}</div>')
    raise SkipNode


def _write_estimands(app):
    """Write the table of registered estimands, which the reference includes."""
    rows = []
    for each in registered().values():
        better = f"{each.comparative} is better" if each.better else ""
        shown = "every table" if each.reported else "by name"
        rows.append(f"| `{each.name}` | {each.title} | {better} | {shown} | {each.citation} |")
    header = "| Name | In words | Direction | Shown | Citation |\n| --- | --- | --- | --- | --- |\n"
    folder = Path(app.srcdir, "reference", "generated")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "estimands.inc").write_text(header + "\n".join(rows) + "\n", encoding="utf-8")


def _copy_page_that_moves(app, problem):
    """Copy docs/explore, which is no page of Sphinx and also opens without being built."""
    if problem is None and app.builder.format == "html":
        shutil.copytree(Path(app.srcdir, "explore"), Path(app.outdir, "explore"), dirs_exist_ok=True)


def setup(app):
    """Formulas as MathML, which browsers draw by themselves: no script from elsewhere. A table of estimands."""
    app.connect("builder-inited", _write_estimands)
    app.connect("build-finished", _copy_page_that_moves)
    app.add_html_math_renderer("mathml", (_inline_formula, None), (_display_formula, None))


html_math_renderer = "mathml"
