"""Pages and documents of topics: the file `page.py` of a folder registers those of its results."""

from importlib import import_module
from pathlib import Path

#: Name of the package, and its folder.
PACKAGE, FOLDER = "bayescal", Path(__file__).parents[1]


def load_page_of(kind: type) -> None:
    """Import `page.py` of the folder in which a result, or a class that it inherits from, is defined."""
    for each in kind.__mro__:
        package, *folders = each.__module__.split(".")
        if package != PACKAGE or len(folders) < 2 or folders[0] == "report":
            continue
        if (FOLDER / folders[0] / "page.py").is_file():
            import_module(f"bayescal.{folders[0]}.page")
