"""Names of release 0.1.0 that moved; they still work for one release, with a `DeprecationWarning`."""

import functools
import importlib
import os
import sys
import warnings
from importlib.machinery import ModuleSpec
from types import FunctionType, ModuleType

TYPE_CHECKING = False  # not from `typing`, whose import would take a fifth of the time of `import bayescal`
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

#: Files that a warning skips, so that it shows the line of the caller.
PACKAGE = (os.path.dirname(__file__),)

#: Modules of release 0.1.0 -> where their contents are now.
MODULES = {
    "bayescal.compare": "bayescal.analyses.compare",
    "bayescal.monitor": "bayescal.analyses.monitor",
    "bayescal.planning": "bayescal.analyses.planning.labels_needed",
    "bayescal.data.class_columns": "bayescal.data.files.class_columns",
    "bayescal.data.formats": "bayescal.data.files.formats",
    "bayescal.data.matching": "bayescal.data.files.matching",
    "bayescal.data.parquet": "bayescal.data.files.parquet",
    "bayescal.data.source": "bayescal.data.files.source",
    "bayescal.data.text": "bayescal.data.files.text",
    "bayescal.data.row_states": "bayescal.stats.query.row_states",
    "bayescal.data.row_sums": "bayescal.stats.query.row_sums",
    "bayescal.data.simulate": "bayescal.datasets.simulate",
    "bayescal.estimands.goal_curve": "bayescal.analyses.planning.goal_curve",
    "bayescal.estimands.joint": "bayescal.posterior.joint",
    "bayescal.results.plan": "bayescal.analyses.planning.plan",
    "bayescal.verify.coverage": "bayescal.verify.studies.coverage",
    "bayescal.verify.differences": "bayescal.verify.studies.differences",
    "bayescal.verify.truncation": "bayescal.verify.studies.truncation",
}
#: Modules of release 0.1.0 that are folders now -> the module that holds their contents.
FOLDERS = {
    "bayescal.data.files": "bayescal.data.files.predictions",
    "bayescal.posterior.shrinkage": "bayescal.posterior.shrinkage.model",
}
#: Functions, attributes and parameters of release 0.1.0 -> their names now. The helpers below add to it.
NAMES: "dict[str, str]" = {}


def warn(old: str, new: str) -> None:
    """Warn that a name has changed."""
    warnings.warn(
        f"`{old}` is now `{new}`; the old name will be removed in release 0.3.",
        DeprecationWarning,
        stacklevel=2,
        skip_file_prefixes=PACKAGE,
    )


def keywords[F: Callable[..., Any]](path: str = "", /, **new: str) -> "Callable[[F], F]":
    """Let a function take its keywords of release 0.1.0 too, given as ``old="new"``; `path` is its name in warnings."""

    def decorate(function: F) -> F:
        called = path or function.__qualname__.removesuffix(".__init__")
        labels = {old: (f"{called}({old}=)", f"{called}({name}=)") for old, name in new.items()}
        NAMES.update(labels.values())
        announce = warn  # the new function below has no names of this module

        def renamed(*args: "Any", **given: "Any") -> "Any":
            for old in new.keys() & given.keys():
                if new[old] in given:
                    raise TypeError(f"`{old}` is the former name of `{new[old]}`; give `{new[old]}` only.")
                announce(*labels[old])
                given[new[old]] = given.pop(old)
            return function(*args, **given)

        # with the globals of the other module, since doctest ignores functions that seem to be imported
        same_module = FunctionType(renamed.__code__, function.__globals__, closure=renamed.__closure__)
        return functools.update_wrapper(same_module, function)  # type: ignore[return-value]  # same signature

    return decorate


class Attribute:
    """An attribute of release 0.1.0 that has a new name."""

    def __init__(self, new: str) -> None:
        self.new = new

    def __set_name__(self, owner: type, name: str) -> None:
        self.labels = f"{owner.__name__}.{name}", f"{owner.__name__}.{self.new}"
        NAMES.update([self.labels])

    def __get__(self, instance: object, owner: type) -> "Any":
        if instance is None:
            return self
        warn(*self.labels)
        return getattr(instance, self.new)


def fields[C: type](**new: str) -> "Callable[[C], C]":
    """Let a dataclass have its fields of release 0.1.0 too, as attributes and as keywords."""

    def decorate(record: C) -> C:
        for old, name in new.items():
            attribute = Attribute(name)
            setattr(record, old, attribute)
            attribute.__set_name__(record, old)
        record.__init__ = keywords(**new)(record.__init__)  # type: ignore[misc]  # of a class, on purpose
        return record

    return decorate


def method[F: Callable[..., Any]](old: str, new: str) -> "Callable[[F], F]":
    """Let a method of release 0.1.0 name the one that takes its place."""
    NAMES.update({old: new})

    def decorate(function: F) -> F:
        @functools.wraps(function)
        def warned(*args: "Any", **given: "Any") -> "Any":
            warn(old, new)
            return function(*args, **given)

        return warned  # type: ignore[return-value]  # same signature

    return decorate


def functions(module: str, **new: str) -> "Callable[[str], Any]":
    """Return a `__getattr__` for a module in which names have changed."""
    NAMES.update({f"{module}.{old}": f"{module}.{name}" for old, name in new.items()})

    def renamed(name: str) -> "Any":
        if name not in new:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        warn(f"{module}.{name}", f"{module}.{new[name]}")
        return getattr(sys.modules[module], new[name])

    return renamed


def value(given: "Any", former: "Mapping[str, str]") -> "Any":
    """Return a value under its new name, if it is one of release 0.1.0."""
    if not isinstance(given, str) or given not in former:
        return given
    warn(repr(given), repr(former[given]))
    return former[given]


class ByKey(dict[str, "Any"]):  # a generic class would import `typing`
    """Values by key; the keys of release 0.1.0 in `former` work for one release, with a `DeprecationWarning`."""

    former: "Mapping[str, str]"

    def __missing__(self, key: str) -> "Any":
        if not dict.__contains__(self, self.former.get(key)):
            raise KeyError(key)
        return self[value(key, self.former)]

    def __contains__(self, key: object) -> bool:
        if dict.__contains__(self, key):
            return True
        found = dict.__contains__(self, self.former.get(key))  # type: ignore[call-overload]  # None is no key
        if found:
            value(key, self.former)
        return found

    def get(self, key: str, default: "Any" = None) -> "Any":
        """Return the value of a key, also of a former one."""
        try:
            return self[key]
        except KeyError:
            return default


def names_of(folder: str) -> "Callable[[str], Any]":
    """Return a `__getattr__` for a folder that was a module in release 0.1.0."""
    new = FOLDERS[folder]

    def of_new_module(name: str) -> "Any":
        file = os.path.join(PACKAGE[0], *folder.split(".")[1:], f"{name}.py")
        if not name.startswith("_") and not os.path.exists(file):  # else an import asks for a module of the folder
            module = importlib.import_module(new)
            if hasattr(module, name):
                warn(f"{folder}.{name}", f"{new}.{name}")
                return getattr(module, name)
        raise AttributeError(f"module {folder!r} has no attribute {name!r}")

    return of_new_module


def find(name: str) -> ModuleSpec | None:
    """Return the specification of a module in `MODULES`, for the import system."""
    return ModuleSpec(name, _Loader()) if name in MODULES else None  # type: ignore[arg-type]  # importlib.abc is slow


class _Loader:
    """Makes a module whose names are those of the new one."""

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        warn(spec.name, MODULES[spec.name])
        folder, _, name = spec.name.rpartition(".")
        parent = sys.modules[folder]
        if name in getattr(parent, "__all__", ()):  # lazy_loader does not let a module hide the function of its name
            vars(parent).setdefault("__lazy_shadowed__", set()).add(name)
        return ModuleType(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        new = importlib.import_module(MODULES[module.__name__])
        module.__dict__.update({name: value for name, value in vars(new).items() if not name.startswith("__")})
