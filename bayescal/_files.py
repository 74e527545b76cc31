"""Small files that must never be half there: JSON documents, read with care and replaced whole."""

import contextlib
import hashlib
import json
import os
import re
import secrets
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

from bayescal import _checks

#: A draft that nobody has touched for so many seconds belongs to a process that was killed.
ABANDONED = 3600
DRAFT = ".draft"
#: Maximum length in bytes of a target's name, and of its suffix, that the name of a draft repeats.
LONG_NAME, LONG_SUFFIX = 120, 32


def write_atomically(path: str | Path, text: str) -> Path:
    """Replace a file so that whoever reads it, at any time, finds the old text or the new one, whole.

    Parameters
    ----------
    path : str or Path
        The file. A symbolic link is followed: the file it leads to is replaced.
    text : str
        What it shall hold, written as UTF-8.

    Returns
    -------
    Path
        The file that was written. When this returns, the text is on the disk.

    Raises
    ------
    OSError
        If the folder is missing or cannot be written to, or the file is a pipe or a device. What was there is then as
        it was.

    Notes
    -----
    The text goes to a draft in the same folder, which takes the file's place in one step. A process that is killed
    leaves its draft behind: a hidden file with ``.draft`` in its name, never read, and removed by a call an hour later.
    """
    target = Path(os.path.realpath(path))
    if target.is_dir():
        raise IsADirectoryError(f"'{path}' is a folder; name a file in it.")
    if not target.parent.is_dir():
        raise FileNotFoundError(f"'{path}': there is no folder '{target.parent}'; make it first.")
    if target.exists() and not target.is_file():  # os.replace would put a file in the place of /dev/null
        raise OSError(f"'{path}' is a pipe or a device, which a file cannot take the place of; name a file.")
    with replacing([target]) as (draft,):
        draft.write_text(text, encoding="utf-8", newline="\n")
    return target


@contextlib.contextmanager
def replacing(targets: Sequence[Path]) -> Iterator[list[Path]]:
    """Files to write to; they take their targets' places, all of them, only when everything went well.

    Parameters
    ----------
    targets : sequence of Path
        Files to be made or replaced, links followed.

    Yields
    ------
    list of Path
        A new path per target in the same folder, with the same suffix unless the suffix is very long. The drafts are
        removed on any exception, including Ctrl-C.
    """
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
        with contextlib.suppress(OSError):  # some systems cannot open a folder, and need not
            _sync(folder, os.O_RDONLY)


def _draft_name(target: Path, token: str) -> str:
    """Return the name of a draft: it contains the target's name or, since systems allow 255 bytes, a digest of it."""
    name = target.name
    if len(os.fsencode(name)) > LONG_NAME:
        name = f"{name[:16]}-{hashlib.sha256(os.fsencode(name)).hexdigest()[:16]}"
    suffix = target.suffix if len(os.fsencode(target.suffix)) <= LONG_SUFFIX else ""
    return f".{name}-{token}{DRAFT}{suffix}"


def _sync(path: Path, access: int) -> None:
    """Have a file, or the names in a folder, on the disk."""
    handle = os.open(path, access)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _remove_abandoned(target: Path, beside: Path) -> None:
    """Remove old drafts of one file; `beside`, written just now, tells the file system's own time."""
    now = beside.stat().st_mtime
    before, after = _draft_name(target, "/").split("/")  # file names cannot contain a slash
    name = re.compile(re.escape(before) + "[0-9a-f]+" + re.escape(after))
    with contextlib.suppress(OSError):  # a folder that cannot be listed is no reason not to save
        for entry in os.scandir(target.parent):
            if name.fullmatch(entry.name):
                # another writer may have removed it, or own it
                with contextlib.suppress(OSError):
                    if now - entry.stat(follow_symlinks=False).st_mtime > ABANDONED:
                        os.unlink(entry.path)


def document_text(document: Mapping[str, Any]) -> str:
    """JSON that people read: one key a line, one row of numbers a line; floats come back bit for bit.

    Parameters
    ----------
    document : mapping
        Of strings, numbers, lists and mappings; no NaN and no infinities.

    Returns
    -------
    str
        Ends with a line break.

    Examples
    --------
    >>> print(document_text({"name": "a", "sums": [[1, 0.1], [2, 0.3]]}), end="")
    {
      "name": "a",
      "sums": [
        [1, 0.1],
        [2, 0.3]
      ]
    }
    """
    return _indented(document, "") + "\n"


def _indented(value: Any, margin: str) -> str:
    inner = margin + "  "
    if isinstance(value, Mapping) and value:
        lines = [f"{inner}{json.dumps(key)}: {_indented(item, inner)}" for key, item in value.items()]
        return "{\n" + ",\n".join(lines) + f"\n{margin}}}"
    if isinstance(value, list) and any(isinstance(item, list | Mapping) for item in value):
        return "[\n" + ",\n".join(inner + _indented(item, inner) for item in value) + f"\n{margin}]"
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def read_document(path: str | Path, schema: str, older: Sequence[str] = ()) -> dict[str, Any]:
    """Read a JSON document of a known schema, or say what is wrong with the file.

    Parameters
    ----------
    path : str or Path
        The file.
    schema : str
        What its entry ``schema`` must be: a name, a slash and a version.
    older : sequence of str, default ()
        Earlier versions of the schema that the caller reads as well.

    Returns
    -------
    dict
        The document; its entry ``schema`` has been checked.

    Raises
    ------
    OSError, ValueError
        If there is no such file, or it is a folder, is not JSON, ends too early, or has another schema.
    """
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
    except (ValueError, RecursionError) as problem:  # bytes that are no text; what the two hooks below refuse
        raise ValueError(f"'{path}' is not a JSON document that can be read: {problem}") from problem
    try:
        return require_schema(document, schema, older)
    except ValueError as problem:
        raise ValueError(f"'{path}': {problem}") from problem


def existing_file(path: str | Path) -> Path:
    """Require a file to read; the message suggests names that are near."""
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


def _require_utf8(path: Path) -> None:
    """Refuse a file name that is not UTF-8: messages cannot show it and the engine cannot open it."""
    name = str(path.absolute())
    try:
        name.encode()
    except UnicodeEncodeError as problem:
        readable = name.encode(errors="surrogateescape").decode(errors="backslashreplace")
        raise ValueError(f"the name of the file '{readable}' is not UTF-8; rename the file or its folder.") from problem


def require_schema(document: Any, schema: str, older: Sequence[str] = ()) -> dict[str, Any]:
    """Require a mapping whose entry ``schema`` is known; a later version and another kind have their own messages."""
    if not isinstance(document, Mapping):
        raise ValueError(f"it should hold {schema}, and holds a JSON {_json_kind(document)}.")
    found = document.get("schema")
    if found is None:
        raise ValueError(
            f"it has no entry 'schema', which would be {schema!r}; its entries are "
            f"{_checks.quoted(sorted(document)[:10])}."
        )
    if isinstance(found, str) and found in (schema, *older):
        return dict(document)
    name, _, version = schema.rpartition("/")
    if isinstance(found, str) and found.rpartition("/")[0] == name:
        raise ValueError(
            f"its schema is {_checks.quoted(found)}; this version of bayescal reads {name}/{version}. Update bayescal."
        )
    raise ValueError(f"its schema is {_checks.quoted(found)}, not {schema!r}: it was written for something else.")


def require_entries(document: Any, needed: Iterable[str], optional: Iterable[str] = (), where: str = "") -> None:
    """Require a mapping with all of `needed` and nothing beside `optional`: no misspelt entry goes unseen."""
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
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"the entry {_checks.quoted(_twice(names))} occurs more than once.")
    return found


def _twice(names: Iterable[str]) -> str:
    """Return the name that occurs most often."""
    return max(Counter(names).items(), key=lambda item: item[1])[0]


def _no_constant(word: str) -> NoReturn:
    raise ValueError(f"it holds {word}, which is no number that counts could have.")
