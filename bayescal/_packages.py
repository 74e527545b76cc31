"""Packages that only some functions need, and the message if one of them is not installed.

numpy, scipy, arviz-stats, narwhals, lazy-loader and rich are always needed. numba is not in the table: without it,
numpy computes the same sums, more slowly.
"""

import sys
from importlib.util import find_spec

#: Module -> the functions that need it, as the beginning of a sentence, and the package to install.
NEEDED = {
    "arviz": ("Summary tables, data trees and leave-one-out values need", "arviz"),
    "duckdb": ("Files of predictions need", "duckdb"),
    "inspect_ai": ("The metric `calibration` needs", "inspect-ai"),
    "jinja2": ("HTML pages need", "jinja2"),
    "matplotlib": ("Plots need", "matplotlib"),
    "pandas": ("Data frames of results need", "pandas"),
    "pymc": ("Models for Markov chains need", "pymc"),
    "sklearn": ("Scorers need", "scikit-learn"),
    "torchmetrics": ("The metric `CalibrationPosterior` needs", "torchmetrics"),
    "typer": ("The command line needs", "typer"),
}


def installed(module: str) -> bool:
    """Return whether a module without a parent can be imported; it is not imported."""
    if module in sys.modules:
        return sys.modules[module] is not None
    return find_spec(module) is not None


def require(*modules: str) -> None:
    """Raise ModuleNotFoundError, which says what to install, unless all modules, keys of `NEEDED`, can be imported."""
    for module in modules:
        if not installed(module):
            purpose, package = NEEDED[module]
            raise ModuleNotFoundError(
                f"{purpose} {package}, which is not installed: `pip install {package}`.", name=module
            )
