"""Files that commands write: checked before anything is computed, and written whole or not at all."""

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from bayescal._arrays import Figure
from bayescal._checks import quoted
from bayescal._files import json_text, replacing
from bayescal._presented import LATEX_SUFFIXES, PAGE_SUFFIXES
from bayescal.stats.stored import save_counts

SUFFIXES = {
    "json": (".json",),
    "output": (".json",),
    "html": PAGE_SUFFIXES,
    "latex": LATEX_SUFFIXES,
    "plot": (".png", ".pdf", ".svg"),
    "netcdf": (".nc", ".netcdf"),
}
DPI = 150
#: Metadata that would differ between two files of the same picture.
NO_DATE = {".png": {}, ".pdf": {"CreationDate": None}, ".svg": {"Date": None}}


def check(outputs: Mapping[str, Path], besides: Sequence[Path] = ()) -> dict[str, Path]:
    """Refuse outputs that cannot be written, or are inputs `besides`; return the files by option, links followed."""
    taken = {path.resolve(): "FILE" for path in besides}
    for kind, path in outputs.items():
        if path.suffix.lower() not in SUFFIXES[kind]:
            raise ValueError(f"--{kind} writes {' or '.join(SUFFIXES[kind])} files, not '{path}'.")
        place = path.resolve()
        if path.is_symlink() and not place.parent.is_dir():
            raise FileNotFoundError(
                f"--{kind}: '{path}' is a symbolic link to {quoted(os.readlink(path))}, and the folder of that file "
                "does not exist; create it first."
            )
        if not place.parent.is_dir():
            raise FileNotFoundError(f"--{kind}: there is no folder '{path.parent}'; create it first.")
        if path.exists() and not path.is_file():
            raise ValueError(f"--{kind}: '{path}' exists and is not a file.")
        if not os.access(place.parent, os.W_OK):
            raise PermissionError(f"--{kind}: the folder '{path.parent}' cannot be written to.")
        if place in taken:
            raise ValueError(f"--{kind} would overwrite {taken[place]}: '{path}'.")
        taken[place] = f"--{kind}"
    return {kind: path.resolve() for kind, path in outputs.items()}


def save(to_save: Mapping[str, Path], contents: Mapping[str, Callable[[], Any]]) -> None:
    """Write all outputs, or none of them; the others are unchanged if one cannot be written.

    `to_save` are files as `check` returns them. `contents` has a function per option that makes what `_write` takes;
    only those of options in `to_save` are called.
    """
    with replacing(list(to_save.values())) as drafts:
        for (kind, path), draft in zip(to_save.items(), drafts, strict=True):
            content = contents[kind]()
            try:
                _write(kind, draft, content)
            except OSError as problem:
                raise OSError(f"--{kind}: '{path}' cannot be written: {problem.strerror or problem}.") from problem


def _write(kind: str, path: Path, content: Any) -> None:
    if kind == "json":
        path.write_text(json_text(content), encoding="utf-8", newline="\n")
    elif kind == "output":
        save_counts(content, path)
    elif kind in ("html", "latex"):
        path.write_text(content, encoding="utf-8", newline="\n")
    elif kind == "plot":
        save_figure(path, content)
    else:
        path.write_bytes(bytes(content.to_netcdf()))  # written by HDF5 itself, a full disk crashes the process


def save_figure(path: Path, figure: "Figure") -> None:
    """Write a picture in the format of its suffix, without the date."""
    suffix = path.suffix.lower()
    figure.savefig(path, format=suffix[1:], dpi=DPI, metadata=NO_DATE[suffix])
