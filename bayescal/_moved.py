"""Names of release 0.1.0 that moved; they still work for one release, with a `DeprecationWarning`."""

import importlib
import os
import sys
import warnings
from importlib.machinery import ModuleSpec
from types import ModuleType

TYPE_CHECKING = False  # not from `typing`, whose import would take a fifth of the time of `import bayescal`
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

#: Files that a warning skips, so that it shows the line of the caller.
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
        f"`{old}` is now `{new}`; the old name will be removed in release 0.3.",
        DeprecationWarning,
        stacklevel=2,
        skip_file_prefixes=PACKAGE,
    )


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
