"""Adapters for programs in which people evaluate classifiers: one module for each, which needs that program.

Each module is imported when it is first used, as in ``bayescal.plugins.sklearn``.
"""

from types import ModuleType as _ModuleType

from bayescal._lazy import PLUGINS as _PLUGINS

__all__ = list(_PLUGINS)


def __getattr__(name: str) -> _ModuleType:
    """Import the module of a program."""
    from importlib import import_module

    from bayescal._packages import NEEDED, require

    if name not in __all__:
        known = ", ".join(f"`{each}`" for each in __all__)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}. Its modules are {known}.")
    try:
        return import_module(f"{__name__}.{name}")
    except ModuleNotFoundError as problem:
        if problem.name in NEEDED:
            require(problem.name)
        raise


def __dir__() -> list[str]:
    return __all__
