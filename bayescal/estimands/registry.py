"""The registry of estimands and their synonyms, which tables, comparisons, plots, options and documentation read."""

from collections.abc import Callable, Iterable
from functools import cache
from importlib import import_module
from keyword import iskeyword
from pkgutil import iter_modules
from typing import Any

import numpy as np

from bayescal import _checks
from bayescal._meant import letters, public
from bayescal.draws import BinDraws
from bayescal.estimands.estimand import Estimand

#: The name of an estimand, its record, or a function of draws of the bins.
EstimandLike = str | Estimand | Callable[[BinDraws], Any]

#: Names in use for attributes of `Evaluation`, entries of its data tree, dimensions and table columns.
RESERVED = frozenset({
    "adapt", "adapted", "bayes_factor", "bin", "bin_draws", "bin_draws_seed", "chain", "classifier",
    "confidence", "counts", "details", "difference", "dirichlet_ece", "dirichlet_seed", "draw_total_bins",
    "draw", "draws", "evaluate_adapted", "metrics", "of_adapted", "gap", "group", "intercept", "label",
    "largest_share", "loo", "lp_error", "mass", "model", "null", "null_bin_draws", "of", "own_remarks",
    "p_calibrated", "parameters", "period", "plug_in", "plug_in_of", "population", "posterior", "priors",
    "question", "regret", "remarks", "row", "selective_risk", "sensitivity", "sentence", "sheet", "slope",
    "spec", "sub_model", "sub_models", "summary", "table", "to_datatree", "to_dict", "to_frame", "to_html",
    "to_json", "to_latex", "to_pymc", "under_prior", "weight_report", "window", "worst_regret",
})  # fmt: skip
FORMER = {"max_error": "e90_bins"}  #: Former names of estimands, for messages.
_REGISTRY: dict[str, Estimand] = {}
SHORTEST = 4  #: Shortest beginning of a name that is completed, as "brier" is to "brier_score".


@public
def register(estimand: Estimand) -> Estimand:
    """Register an estimand, so that evaluations, tables, comparisons and plots include it.

    Parameters
    ----------
    estimand : Estimand
        The record.

    Returns
    -------
    Estimand
        The same record.

    Raises
    ------
    ValueError
        If the name is not an identifier, is reserved, or belongs to another function (of another module or qualified
        name); if the name of the coordinate is in use.

    Examples
    --------
    Registering the same record again changes nothing.

    >>> bc.estimands.register(bc.estimands.registered()["ece"]).symbol
    'ECE'
    """
    _load_package()
    return _add(estimand)


def _add(estimand: Estimand) -> Estimand:
    name, known = estimand.name, _REGISTRY.get(estimand.name)
    if not isinstance(name, str) or not name.isidentifier() or iskeyword(name) or name.startswith("_"):
        raise ValueError(
            f"`name` must be an identifier without a leading underscore, not {name!r}: it is an attribute."
        )
    if name in RESERVED:
        raise ValueError(f"`name` must not be {name!r}, which means something else in an evaluation.")
    if known is not None and _origin(known) != _origin(estimand):
        raise ValueError(f"`name` must be new; {name!r} is registered already, for another function.")
    if estimand.coordinate is not None:
        axis, values = estimand.coordinate
        others = [each.coordinate for each in _REGISTRY.values() if each.coordinate and each.name != name]
        if axis in RESERVED or any(axis == other and values != at for other, at in others):
            raise ValueError(f"`coordinate` must have a name of its own; {axis!r} is taken.")
    _REGISTRY[name] = estimand
    return estimand


def _origin(estimand: Estimand) -> tuple[Any, Any]:
    """Return module and qualified name of the function, which do not change if a notebook cell runs again."""
    return getattr(estimand.function, "__module__", None), getattr(estimand.function, "__qualname__", None)


def estimand[F: Callable[..., Any]](symbol: str, **fields: Any) -> Callable[[F], F]:
    """Register the decorated function as an estimand named after it; `symbol` follows "the" in a sentence."""

    def decorate(function: F) -> F:
        record = Estimand(function.__name__, function, symbol, **fields)
        # files of this folder are imported by `_load_package`, which `bayescal.estimands.register` calls first
        _add(record) if function.__module__.startswith("bayescal.estimands.") else register(record)
        return function

    return decorate


@public
def registered() -> dict[str, Estimand]:
    """Return all registered estimands by name, those of this package first.

    Returns
    -------
    dict of str to Estimand
        A new dictionary; changing it does not change the registry.

    Examples
    --------
    >>> bc.estimands.registered()["ece"].bounds
    (0.0, 1.0)
    """
    _load_package()
    return dict(sorted(_REGISTRY.items(), key=lambda item: _place(item[1])))


def _place(estimand: Estimand) -> tuple[int, str]:
    """Sort `errors` first, then other files of this package by name, whichever was imported first; then the rest."""
    module = getattr(estimand.function, "__module__", None) or ""
    if module == "bayescal.estimands.errors":
        return 0, ""
    return (1, module) if module.startswith("bayescal.") else (2, "")


@cache
def _load_package() -> None:
    """Import the files of this folder, which register their estimands; `errors` first, to be first in tables."""
    names = [module.name for module in iter_modules(import_module("bayescal.estimands").__path__)]
    for name in sorted(names, key=lambda name: (name != "errors", name)):
        import_module(f"bayescal.estimands.{name}")


def meant() -> dict[str, str]:
    """Return symbols, synonyms and former names in small letters, and the name of the estimand: for messages."""
    words = {word.casefold(): each.name for each in registered().values() for word in (*each.synonyms, each.symbol)}
    return words | FORMER


def is_registered(estimand: Estimand) -> bool:
    """Return whether this record is registered under its name."""
    return registered().get(estimand.name) is estimand


def as_estimand(quantity: EstimandLike) -> Estimand:
    """Return the record of an estimand, given its name, its record or a function of draws of the bins.

    For an unregistered function, values nearer to zero are taken as better.
    """
    if isinstance(quantity, Estimand):
        return quantity
    if isinstance(quantity, str):
        _load_package()
        if quantity not in _REGISTRY:
            _checks.one_of("estimand", quantity, [*registered()], short=meant())
        return _REGISTRY[quantity]
    if not callable(quantity):
        raise TypeError(
            f"`estimand` must be a name, an Estimand or a function of BinDraws, not {type(quantity).__name__}."
            f"{' Pass one at a time.' if isinstance(quantity, list | tuple) else ''}"
        )
    for known in registered().values():
        if known.function is quantity:
            return known
    name = getattr(quantity, "__name__", "estimand")
    words = name.replace("_", " ")
    return Estimand(name, quantity, words, better="nearest zero", bounds=(-np.inf, np.inf), reported=False)


def as_scalar(quantity: EstimandLike) -> Estimand:
    """Return the record as `as_estimand` does, but raise ValueError for a curve."""
    known = as_estimand(quantity)
    if known.coordinate is not None:
        raise ValueError(
            f"`estimand` {known.name!r} is a curve; its draws are `evaluation.{known.name}`, along "
            f"{known.coordinate[0]!r}."
        )
    return known


def as_scalars(estimands: Iterable[EstimandLike]) -> list[Estimand]:
    """Return the records of the estimands of a table, as `as_scalar` does: at least one, with different names."""
    if isinstance(estimands, str | Estimand) or callable(estimands):
        raise TypeError(f"`estimands` must be a list of estimands, as in `estimands=[{estimands!r}]`.")
    chosen = [as_scalar(each) for each in estimands]
    if not chosen:
        raise ValueError("`estimands` is empty; a table needs at least one.")
    names = [each.name for each in chosen]
    if twice := [name for i, name in enumerate(names) if name in names[:i]]:
        raise ValueError(
            f"`estimands` must have different names; {twice[0]!r} is given twice. For a function, make an "
            "`Estimand` with a name of its own."
        )
    return chosen


def estimand_called(name: str) -> Estimand | None:
    """Return the registered estimand with this name or synonym, in any spelling; None if there is none."""
    asked = letters(name)
    called = {
        letters(word): each
        for each in reversed(registered().values())  # of two with one synonym, the first counts
        for word in (*each.synonyms, each.title, each.symbol, each.name)
    }
    called |= {letters(former): registered()[name] for former, name in FORMER.items()}
    if asked in called:
        return called[asked]
    if len(asked) < SHORTEST:
        return None
    longer = [each for word, each in called.items() if word.startswith(asked)]
    within = [word for word in called if len(word) >= SHORTEST and asked.startswith(word)]
    return longer[-1] if longer else called[max(within, key=len)] if within else None


def hint(name: str, written: str) -> str:
    """Return a sentence after a space about how an estimand is `written`, if an unknown attribute means one."""
    meant = estimand_called(name)
    if meant is None:
        return ""
    title = meant.title if meant.title == meant.symbol else f"{meant.title} ({meant.symbol})"
    return f" The {title} is `{written.format(meant.name)}`."
