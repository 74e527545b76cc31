"""Names of release 0.1.0 that moved. They work for one release, with a `DeprecationWarning` that names the new one."""

import importlib
import os
import sys
import warnings
from importlib.machinery import ModuleSpec
from types import ModuleType

TYPE_CHECKING = False  # as `typing` has it, whose import would be a fifth of the time of `import bayescal`
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

#: Frames of the package are skipped, so that a warning shows the line of the caller.
PACKAGE = (os.path.dirname(__file__),)

#: Modules of release 0.1.0 -> where their contents are now.
MODULES = {
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


def warn(old: str, new: str) -> None:
    """Warn that a name has changed."""
    warnings.warn(
        f"`{old}` is now `{new}`; the old name goes in release 0.3.",
        DeprecationWarning,
        stacklevel=2,
        skip_file_prefixes=PACKAGE,
    )


def names_of(folder: str) -> "Callable[[str], Any]":
    """Return a `__getattr__` for a folder that was a module in release 0.1.0."""
    new = FOLDERS[folder]

    def of_new_module(name: str) -> "Any":
        if not name.startswith("_"):
            module = importlib.import_module(new)
            if hasattr(module, name):
                warn(f"{folder}.{name}", f"{new}.{name}")
                return getattr(module, name)
        raise AttributeError(f"module {folder!r} has no attribute {name!r}")

    return of_new_module


def renamed(module: str, names: "dict[str, str]") -> "Callable[[str], Any]":
    """Return a `__getattr__` for a module in which names have changed, from old to new ones."""

    def by_old_name(name: str) -> "Any":
        if name not in names:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        warn(f"{module}.{name}", f"{module}.{names[name]}")
        return getattr(sys.modules[module], names[name])

    return by_old_name


class _Finder:
    """Finds the modules of `MODULES`, after all other finders."""

    @staticmethod
    def find_spec(
        name: str, path: "Sequence[str] | None" = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name not in MODULES:
            return None
        return ModuleSpec(name, _Loader())  # type: ignore[arg-type]  # importlib.abc is slow to import


class _Loader:
    """Makes a module whose names are those of the new one."""

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        warn(spec.name, MODULES[spec.name])
        return ModuleType(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        new = importlib.import_module(MODULES[module.__name__])
        module.__dict__.update({name: value for name, value in vars(new).items() if not name.startswith("__")})


def install() -> None:
    """Let imports find the modules that moved."""
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.append(_Finder())
