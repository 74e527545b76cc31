"""JSON documents: their text, files that are replaced atomically, and validation when they are read."""

import contextlib
import hashlib
import json
import math
import os
import re
import secrets
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date, time
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from bayescal import _checks
from bayescal._invalid import errors_of

ABANDONED_SECONDS = 3600  #: Age in seconds from which a draft is taken to be left over from a process that was killed.
DRAFT = ".draft"
#: Maximum length in bytes of the name of a file, and of its suffix, to be repeated in the name of its draft.
LONG_NAME, LONG_SUFFIX = 120, 32


def write_atomically(path: str | Path, text: str) -> Path:
    """Replace a file atomically: readers find the complete old text or the complete new text at any time.

    A draft in the same folder replaces the file, or the target of a symbolic link, in one step; it is on disk when the
    function returns. If the process is killed, the draft may remain; a call more than an hour later removes it.
    """
    target = Path(os.path.realpath(path))
    if target.is_dir():
        raise IsADirectoryError(f"'{path}' is a folder; name a file in it.")
    if not target.parent.is_dir():
        raise FileNotFoundError(f"'{path}': there is no folder '{target.parent}'; make it first.")
    if target.exists() and not target.is_file():  # os.replace would put a file in the place of /dev/null
        raise OSError(f"'{path}' is a pipe or a device, which cannot be replaced by a file; name a file.")
    with replacing([target]) as (draft,):
        draft.write_text(text, encoding="utf-8", newline="\n")
    return target


@contextlib.contextmanager
def replacing(targets: Sequence[Path]) -> Iterator[list[Path]]:
    """Yield drafts to write to, which replace their targets if no exception is raised."""
    drafts = [t.with_name(_draft_name(t, secrets.token_hex(8))) for t in targets]
    try:
        yield drafts
        for draft, target in zip(drafts, targets, strict=True):
            _sync(draft, os.O_RDWR)
            with contextlib.suppress(FileNotFoundError):
                draft.chmod(target.stat().st_mode & 0o7777)
            _remove_abandoned(target, beside=draft)
        for draft, target in zip(drafts, targets, strict=True):
            os.replace(draft, target)
    except BaseException:
        for draft in drafts:
            draft.unlink(missing_ok=True)
        raise
    for folder in {target.parent for target in targets}:
        with contextlib.suppress(OSError):  # some systems cannot open a folder, and do not need to
            _sync(folder, os.O_RDONLY)


def _draft_name(target: Path, token: str) -> str:
    """Return the name of a draft: it contains the target's name or, since systems allow 255 bytes, a digest of it."""
    name = target.name
    if len(os.fsencode(name)) > LONG_NAME:
        name = f"{name[:16]}-{hashlib.sha256(os.fsencode(name)).hexdigest()[:16]}"
    suffix = target.suffix if len(os.fsencode(target.suffix)) <= LONG_SUFFIX else ""
    return f".{name}-{token}{DRAFT}{suffix}"


def _sync(path: Path, access: int) -> None:
    """Flush a file, or the entries of a folder, to disk."""
    handle = os.open(path, access)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _remove_abandoned(target: Path, beside: Path) -> None:
    """Remove old drafts of a file; `beside` was just written, so its time is the current time of the file system."""
    now = beside.stat().st_mtime
    before, after = _draft_name(target, "/").split("/")  # file names cannot contain a slash
    name = re.compile(re.escape(before) + "[0-9a-f]+" + re.escape(after))
    with contextlib.suppress(OSError):  # saving must not fail because the folder cannot be listed
        for entry in os.scandir(target.parent):
            if name.fullmatch(entry.name):
                # another process may have removed the draft, or own it
                with contextlib.suppress(OSError):
                    if now - entry.stat(follow_symlinks=False).st_mtime > ABANDONED_SECONDS:
                        os.unlink(entry.path)


def document_text(document: Mapping[str, Any]) -> str:
    """Format a document as readable JSON: one line per key or row of numbers; floats are exact when read back."""
    return _indented(document, "") + "\n"


def json_text(document: Mapping[str, Any]) -> str:
    r"""Format a result as standard JSON: NaN and infinities as null, a lone surrogate of a file name as ``\udcff``."""
    text = json.dumps(_plain(document), indent=2, ensure_ascii=False, allow_nan=False)
    return text.encode("utf-8", "backslashreplace").decode() + "\n"


def _plain(value: Any) -> Any:
    """Convert values to types of JSON."""
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | np.ndarray):
        return [_plain(item) for item in value]
    if isinstance(value, np.generic) and value.dtype.kind not in "mM":
        value = value.item()
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, str | int):
        return value
    return value.isoformat() if isinstance(value, date | time) else str(value)


def named_file(path: Any, suffixes: Sequence[str], reason: str) -> Path:
    """Require the name of a file with one of these suffixes, in lower case; `reason` ends the message."""
    if not isinstance(path, str | Path):
        raise TypeError(f"`path` must be the name of a file, not {type(path).__name__}, as in 'report{suffixes[0]}'.")
    if Path(path).suffix.lower() not in suffixes:
        name = _checks.quoted(Path(path).name)
        raise ValueError(f"`path` must end in {' or '.join(suffixes)}, not {name}: {reason}")
    return Path(path)


def _indented(value: Any, margin: str) -> str:
    inner = margin + "  "
    if isinstance(value, Mapping) and value:
        lines = [f"{inner}{json.dumps(key)}: {_indented(item, inner)}" for key, item in value.items()]
        return "{\n" + ",\n".join(lines) + f"\n{margin}}}"
    if isinstance(value, list) and any(isinstance(item, list | Mapping) for item in value):
        return "[\n" + ",\n".join(inner + _indented(item, inner) for item in value) + f"\n{margin}]"
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def read_document(path: str | Path, schema: str) -> dict[str, Any]:
    """Read a JSON document and check its schema: a name, a slash and a version."""
    path = existing_file(path)
    try:
        text = path.read_bytes().decode("utf-8-sig")
        document = json.loads(text, object_pairs_hook=_unique, parse_constant=_no_constant)
    except json.JSONDecodeError as problem:
        if not text.strip():
            raise ValueError(f"'{path}' is empty; it should hold {schema}.") from problem
        short = " The file ends too early." if problem.pos >= len(text.rstrip()) else ""
        raise ValueError(
            f"'{path}' is not JSON: {problem.msg} at line {problem.lineno}, column {problem.colno}.{short}"
        ) from problem
    except (ValueError, RecursionError) as problem:  # bytes that are not UTF-8, duplicate entries, NaN and infinities
        raise ValueError(f"'{path}' is not a JSON document that can be read: {problem}") from problem
    with errors_of(f"'{path}'"):
        return require_schema(document, schema)


def existing_file(path: str | Path) -> Path:
    """Require a file that exists; the message suggests similar names."""
    path = Path(path)
    _require_utf8(path)
    if path.is_dir():
        raise IsADirectoryError(f"'{path}' is a folder; name the file in it.")
    if path.is_symlink() and not path.exists():
        raise FileNotFoundError(
            f"'{path}' is a symbolic link to {_checks.quoted(os.readlink(path))}, which does not exist."
        )
    if not path.exists():
        folder = path.parent
        near = _checks.did_you_mean(path.name, [p.name for p in folder.iterdir()]) if folder.is_dir() else ""
        raise FileNotFoundError(f"there is no file '{path}'.{near}")
    if not path.is_file():
        raise ValueError(f"'{path}' is a pipe or a device; write it to a file first.")
    return path


def file_names(files: Sequence[Path]) -> list[str]:
    """Return names that differ: stems of the files, their full names, names with the folder, or paths."""
    stems = [Path(file.name.removesuffix(".gz")).stem for file in files]
    within = [f"{file.resolve().parent.name}/{stem}" for file, stem in zip(files, stems, strict=True)]
    for names in (stems, [file.name for file in files], within):
        if len(set(names)) == len(names):
            return names
    return [str(file) for file in files]


def _require_utf8(path: Path) -> None:
    """Raise if a file name is not UTF-8, because messages cannot show it and engines cannot open it."""
    name = str(path.absolute())
    try:
        name.encode()
    except UnicodeEncodeError as problem:
        readable = name.encode(errors="surrogateescape").decode(errors="backslashreplace")
        raise ValueError(f"the name of the file '{readable}' is not UTF-8; rename the file or its folder.") from problem


def require_schema(document: Any, schema: str) -> dict[str, Any]:
    """Require a mapping with this schema; messages distinguish newer and older versions from other documents."""
    if not isinstance(document, Mapping):
        raise ValueError(f"it should hold {schema}, and holds a JSON {_json_kind(document)}.")
    stated = document.get("schema")
    if stated is None:
        raise ValueError(
            f"it has no entry 'schema', which would be {schema!r}; its entries are "
            f"{_checks.quoted(sorted(document)[:10])}."
        )
    if stated == schema:
        return dict(document)
    name, _, version = schema.rpartition("/")
    kind, _, version_of_file = stated.rpartition("/") if isinstance(stated, str) else ("", "", "")
    if kind == name and version_of_file.isdecimal():
        repair = "Update bayescal." if int(version_of_file) > int(version) else "Make the document again from the rows."
        raise ValueError(f"its schema is {_checks.quoted(stated)}; this version of bayescal reads {schema}. {repair}")
    raise ValueError(f"its schema is {_checks.quoted(stated)}, not {schema!r}: it was written for something else.")


def require_entries(document: Any, needed: Iterable[str], optional: Iterable[str] = (), where: str = "") -> None:
    """Require a mapping with all of `needed` and nothing else but `optional`, so that misspelt entries raise."""
    inside = f" in {where}" if where else ""
    if not isinstance(document, Mapping):
        raise ValueError(f"{where or 'the document'} must be a JSON object, not a {_json_kind(document)}.")
    missing = [key for key in needed if key not in document]
    known = [*needed, *optional]
    unknown = [key for key in document if key not in known]
    if missing:
        raise ValueError(f"entries {missing} are missing{inside}; there are {_checks.quoted(list(document))}.")
    if unknown:
        near = _checks.did_you_mean(unknown[0], known)
        raise ValueError(f"entries {_checks.quoted(unknown)} are unknown{inside}.{near}")


def _json_kind(value: Any) -> str:
    kinds = {list: "array", str: "string", bool: "truth value", type(None): "null", dict: "object"}
    return kinds.get(type(value), "number")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    entries = dict(pairs)
    if len(entries) < len(pairs):
        ((twice, _),) = Counter(name for name, _ in pairs).most_common(1)
        raise ValueError(f"the entry {_checks.quoted(twice)} occurs more than once.")
    return entries


def _no_constant(word: str) -> NoReturn:
    raise ValueError(f"it holds {word}, which is not a finite number.")
