"""Files that commands write: whole or not at all, and refused before anything is computed."""

import json
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bayescal._files import replacing

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SUFFIXES = {"json": (".json",), "output": (".json",), "plot": (".png", ".pdf", ".svg"), "netcdf": (".nc", ".netcdf")}
DPI = 150
#: What would make two files of the same picture differ.
NO_DATE = {".png": {}, ".pdf": {"CreationDate": None}, ".svg": {"Date": None}}


def check(outputs: Mapping[str, Path | None], besides: Path | Sequence[Path] = ()) -> dict[str, Path]:
    """Refuse outputs that could not be written, before time is spent on computing.

    Parameters
    ----------
    outputs : mapping of str to Path or None
        Option ("json", "output", "plot", "netcdf") and file; None where it was not asked for.
    besides : Path or sequence of Path, optional
        The input, which must not be overwritten.

    Returns
    -------
    dict of str to Path
        The outputs asked for, links followed.

    Raises
    ------
    ValueError, OSError
        If a suffix is not supported, a folder does not exist or cannot be written to, or two files are one.
    """
    wanted = {kind: path for kind, path in outputs.items() if path is not None}
    taken = {path.resolve(): "FILE" for path in ([besides] if isinstance(besides, Path) else besides)}
    for kind, path in wanted.items():
        if path.suffix.lower() not in SUFFIXES[kind]:
            raise ValueError(f"--{kind} writes {' or '.join(SUFFIXES[kind])} files; '{path}' is none by its name.")
        place = path.resolve()
        if not place.parent.is_dir():
            raise FileNotFoundError(f"--{kind}: there is no folder '{path.parent}'; make it first.")
        if path.exists() and not path.is_file():
            raise ValueError(f"--{kind}: '{path}' exists and is not a file.")
        if not os.access(place.parent, os.W_OK):
            raise PermissionError(f"--{kind}: the folder '{path.parent}' cannot be written to.")
        if place in taken:
            raise ValueError(f"--{kind} would overwrite {taken[place]}: '{path}'.")
        taken[place] = f"--{kind}"
    return {kind: path.resolve() for kind, path in wanted.items()}


def save(to_save: Mapping[str, Path], **made: Callable[[], Any]) -> None:
    """Write all outputs, or none of them.

    Parameters
    ----------
    to_save : mapping of str to Path
        What `check` gave.
    **made : callable
        For each kind of output what makes it, called only if it is wanted: data for ``json``, a figure for ``plot``, a
        DataTree for ``netcdf``.

    Raises
    ------
    OSError
        If one cannot be written; the others are then as they were, too.
    """
    with replacing(list(to_save.values())) as drafts:
        for kind, draft in zip(to_save, drafts, strict=True):
            content = made[kind]()
            if kind == "json":
                save_json(draft, content)
            elif kind == "plot":
                save_figure(draft, content)
            else:
                content.to_netcdf(draft)


def save_json(path: Path, document: Mapping[str, Any]) -> None:
    """Write JSON that any parser reads: NaN and infinities become null."""
    text = json.dumps(_plain(document), indent=2, ensure_ascii=False, allow_nan=False)
    # a file name that is not UTF-8 contains lone surrogates, which UTF-8 cannot encode: write them as \\udcff
    path.write_text(text + "\n", encoding="utf-8", errors="backslashreplace")


def save_figure(path: Path, figure: "Figure") -> None:
    """Write a picture in the format of its suffix, without the date."""
    suffix = path.suffix.lower()
    figure.savefig(path, format=suffix[1:], dpi=DPI, metadata=NO_DATE[suffix])


def _plain(value: Any) -> Any:
    """Numpy's and other types as JSON's; what is not a finite number is null."""
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | np.ndarray):
        return [_plain(item) for item in value]
    if isinstance(value, np.generic):
        value = value.item()
    return None if isinstance(value, float) and not np.isfinite(value) else value
