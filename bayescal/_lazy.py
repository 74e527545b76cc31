"""Public names, which are imported at first use: those that stubs list, and former names of the package."""

import ast
import functools
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

import lazy_loader

PACKAGE = __name__.partition(".")[0]
#: Public modules of the package: its folders that have a stub.
MODULES = tuple(sorted(stub.parent.name for stub in Path(__file__).parent.glob("*/__init__.pyi")))
#: Adapters for other programs.
PLUGINS = tuple(sorted(file.stem for file in Path(__file__).parent.glob("plugins/[a-z]*.py")))


def public_names(module: str, file: str) -> tuple[Callable[[str], object], Callable[[], list[str]], list[str]]:
    """Return `__getattr__`, `__dir__` and `__all__` of a module, whose names the stub of `file` lists."""
    attribute, directory, listed = lazy_loader.attach_stub(module, file)

    def find(name: str) -> object:
        try:
            return attribute(name)
        except ModuleNotFoundError as problem:
            from bayescal._packages import NEEDED, require

            if problem.name in NEEDED:
                require(problem.name)
            raise
        except AttributeError as problem:
            from importlib.util import find_spec

            if name.startswith("_"):
                raise
            if find_spec(f"{module}.{name}") is not None:  # it may be imported after this error, which must be cheap
                picture = f" The picture of a result is drawn by `{PACKAGE}.plot(result)`." if name == "plot" else ""
                raise AttributeError(
                    f"module {module!r} has no attribute {name!r}, the name of a module inside it that is not public."
                    f"{picture or f' Public names are those of `dir({module})`.'}"
                ) from None
            if module == PACKAGE and name in former_names():
                return former(name)
            hint = import_module(f"{PACKAGE}.estimands.registry").hint
            of_estimand = hint(name, f"{PACKAGE}.evaluate(y_true, y_prob).{{}}") if module == PACKAGE else ""
            instead = of_estimand or import_module(f"{PACKAGE}._meant").of_module(name, module, listed)
            raise AttributeError(f"module {module!r} has no attribute {name!r}.{instead}") from problem

    return find, directory, listed


@functools.cache
def former_names() -> dict[str, tuple[str, str]]:
    """Return module and name of each former name of the package: the assignments of its stub.

    >>> former_names()["evaluate_survival"]
    ('survival', 'evaluate')
    """
    stub = ast.parse(Path(__file__).with_name("__init__.pyi").read_text(encoding="utf-8"))
    assigned = [each for each in stub.body if isinstance(each, ast.Assign)]
    places = {ast.unparse(each.targets[0]): ast.unparse(each.value).removeprefix(f"{PACKAGE}.") for each in assigned}
    return {name: tuple(place.rsplit(".", 1)) for name, place in places.items()}  # type: ignore[misc]  # two parts


def former(name: str) -> object:
    """Return the function or class that has a former name."""
    module, new = former_names()[name]
    thing = getattr(import_module(f"{PACKAGE}.{module}"), new)
    vars(sys.modules[PACKAGE])[name] = thing
    return thing


def written(name: str) -> str:
    """Return how to write a public or a former name of the package."""
    module, new = former_names().get(name, ("", name))
    return f"{PACKAGE}.{module}.{new}" if module in MODULES else f"{PACKAGE}.{name}"


def place_of(function: Callable[..., object]) -> tuple[str, str]:
    """Return the public module of a function and its name there; an empty module for the package and for others."""
    import inspect

    name = function.__name__
    for module in ("", *MODULES):
        public = sys.modules.get(f"{PACKAGE}.{module}".rstrip("."))
        if name in getattr(public, "__all__", ()) and inspect.unwrap(getattr(public, name)) is inspect.unwrap(function):
            return module, name
    return "", name
