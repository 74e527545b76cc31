"""Files that are replaced whole: whatever happens to the writer, the reader finds the old text or the new one."""

import json
import os
import subprocess
import sys
import time

import numpy as np
import pytest

from bayescal import BinnedCounts, _files
from bayescal._files import document_text, json_text, read_document, write_atomically


@pytest.mark.slow
def test_twenty_processes_count_and_their_files_add_up(tmp_path):
    """Disjoint slices of one array, counted by 20 processes that were all alive at once, merged from their files."""
    from bayescal import load_counts

    rng = np.random.default_rng(2)
    confidence = np.concatenate([rng.random(9000), np.arange(1001) / 1000]).astype(np.float32)
    outcome = (rng.random(len(confidence)) < confidence).astype(np.int8)
    np.save(tmp_path / "confidence.npy", confidence)
    np.save(tmp_path / "outcome.npy", outcome)
    code = f"""
import os, sys
import numpy as np
from pathlib import Path
from bayescal import BinnedCounts, save_counts
folder, ready = Path({str(tmp_path)!r}), os.pipe()
children = []
for worker in range(20):
    if (child := os.fork()) == 0:
        os.close(ready[1])
        os.read(ready[0], 1)  # until all are there
        c, z = (np.load(folder / f"{{name}}.npy", mmap_mode="r")[worker::20] for name in ("confidence", "outcome"))
        save_counts(BinnedCounts.from_arrays(z, c, bins=20, target="event"), folder / f"part-{{worker}}.json")
        os._exit(0)
    children.append(child)
os.close(ready[1])
sys.exit(any(os.waitpid(child, 0)[1] for child in children))
"""
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    subprocess.run([sys.executable, "-c", code], check=True, env=environment)
    paths = sorted(tmp_path.glob("part-*.json"))
    assert len(paths) == 20
    merged = sum(map(load_counts, paths))
    whole = BinnedCounts.from_arrays(outcome, confidence, bins=20, target="event")
    np.testing.assert_array_equal(merged.cells, whole.cells)
    np.testing.assert_allclose(merged.deviation, whole.deviation, rtol=0, atol=1e-10)
    np.testing.assert_allclose(merged.deviation_sq, whole.deviation_sq, rtol=1e-12)
    assert merged.target == "event"
    assert not merged.weighted


def test_text_arrives_and_nothing_else_is_left(tmp_path):
    path = tmp_path / "a.json"
    assert write_atomically(path, "one ü\n") == path
    write_atomically(str(path), "two\n")
    assert path.read_bytes() == b"two\n"
    assert [p.name for p in tmp_path.iterdir()] == ["a.json"]


def test_permissions_and_links_stay(tmp_path):
    target, link = tmp_path / "target.json", tmp_path / "link.json"
    target.write_text("old")
    target.chmod(0o640)
    link.symlink_to(target)
    write_atomically(link, "new")
    assert link.is_symlink()
    assert target.read_text() == "new"
    assert target.stat().st_mode & 0o777 == 0o640


@pytest.mark.parametrize("fails", ["fsync", "replace"])
@pytest.mark.parametrize("error", [OSError("no space"), KeyboardInterrupt()])
def test_what_fails_leaves_the_old_file_and_no_draft(tmp_path, monkeypatch, fails, error):
    path = write_atomically(tmp_path / "a.json", "old")

    def fail(*_):
        raise error

    monkeypatch.setattr(_files.os, fails, fail)
    with pytest.raises(type(error)):
        write_atomically(path, "new")
    assert path.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["a.json"]


def test_the_disk_has_the_text_before_the_name_and_the_name_before_the_return(tmp_path, monkeypatch):
    done = []
    for name in ("fsync", "replace"):
        real = getattr(os, name)
        monkeypatch.setattr(_files.os, name, lambda *a, name=name, real=real: (done.append(name), real(*a))[1])
    write_atomically(tmp_path / "a.json", "text")
    assert done == ["fsync", "replace", "fsync"]


def test_abandoned_drafts_go_and_those_of_other_writers_stay(tmp_path):
    path = write_atomically(tmp_path / "a.json", "old")
    names = {
        name: tmp_path / name
        for name in (
            ".a.json-00.draft.json",
            ".a.json-11.draft.json",
            ".b.json-22.draft.json",
            ".a.json-x.json",
            ".a.json-my.draft.txt",
        )
    }
    for draft in names.values():
        draft.write_text("half")
    for name in names.keys() - {".a.json-11.draft.json"}:
        os.utime(names[name], (time.time() - 7200,) * 2)
    write_atomically(path, "new")
    assert {p.name for p in tmp_path.iterdir()} == {"a.json", *names} - {".a.json-00.draft.json"}


def test_several_files_are_replaced_together_or_not_at_all(tmp_path):
    paths = [tmp_path / "a.json", tmp_path / "b.png"]

    def half():
        with _files.replacing(paths) as drafts:
            assert [d.suffix for d in drafts] == [".json", ".png"]
            drafts[0].write_text("half")
            raise KeyError

    with pytest.raises(KeyError):
        half()
    assert list(tmp_path.iterdir()) == []
    with _files.replacing(paths) as drafts:
        for draft in drafts:
            draft.write_text("whole")
    assert sorted(tmp_path.iterdir()) == paths


def test_a_folder_that_cannot_be_listed_takes_a_file(tmp_path, monkeypatch):
    monkeypatch.setattr(_files.os, "scandir", lambda _: (_ for _ in ()).throw(PermissionError("no")))
    assert write_atomically(tmp_path / "a.json", "text").read_text() == "text"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_pipes_and_devices_are_refused(tmp_path):
    # a pipe, and not os.devnull: should this ever fail, it would replace the machine's
    pipe, link = tmp_path / "pipe", tmp_path / "link"
    os.mkfifo(pipe)
    link.symlink_to(pipe)
    for path in (pipe, link):
        with pytest.raises(OSError, match="pipe or a device"):
            write_atomically(path, "text")
    assert pipe.is_fifo()
    assert sorted(tmp_path.iterdir()) == [link, pipe]


def test_folders_are_refused(tmp_path):
    with pytest.raises(IsADirectoryError, match="is a folder"):
        write_atomically(tmp_path, "text")
    with pytest.raises(FileNotFoundError, match="no folder"):
        write_atomically(tmp_path / "no" / "a.json", "text")


# --- documents


def test_floats_come_back_bit_for_bit():
    rng = np.random.default_rng(3)
    values = rng.integers(0, 2**63, 2000, dtype=np.uint64).view(np.float64)
    values = np.concatenate([values[np.isfinite(values)], [-0.0, 5e-324, 1.7976931348623157e308, 0.1, 1 / 3]])
    again = np.array(json.loads(document_text({"values": values.tolist()}))["values"])
    np.testing.assert_array_equal(again.view(np.int64), values.view(np.int64))


def test_a_document_is_what_json_would_have_written():
    document = {"a": [], "b": {}, "c": [[1, 2.5], []], "d": {"e": [{"f": None}, True]}, "ü": "\n"}
    assert json.loads(document_text(document)) == document
    with pytest.raises(ValueError, match="JSON"):
        document_text({"a": float("nan")})


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "is empty"),
        (b" \n", "is empty"),
        (b"PAR1\xff\xfe\x00", "not a JSON document that can be read"),
        (b'{"schema": "x.y/9", "a": [1, 2', "ends too early"),
        (b'{"schema": "x.y/9"} {}', "not JSON"),
        (b'{"schema": "x.y/9", "a": NaN}', "NaN"),
        (b'{"schema": "x.y/9", "a": 1, "a": 2}', "'a' occurs more than once"),
        (b"[1]", "JSON array"),
        (b"3", "JSON number"),
        (b'{"a": 1}', "no entry 'schema'"),
        (b'{"schema": "x.y/12"}', r"is 'x.y/12'; this version of bayescal reads x.y/9. Update bayescal.$"),
        (b'{"schema": "x.y/8"}', r"is 'x.y/8'; this version of bayescal reads x.y/9. Make the document again"),
        (b'{"schema": "x.y/"}', "written for something else"),
        (b'{"schema": "x.z/1"}', "written for something else"),
        (b'{"schema": 1}', "written for something else"),
        (b"[" * 100_000, "not a JSON document that can be read"),
        (b'{"schema": "x.y/9", "a": ' + b"9" * 5000 + b"}", "not a JSON document that can be read"),
    ],
    ids=range(17),
)
def test_what_is_no_document_is_refused_with_its_name(tmp_path, content, said):
    path = tmp_path / "file.json"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=said) as raised:
        read_document(path, "x.y/9")
    assert str(raised.value).startswith(f"'{path}'")


def test_every_way_of_cutting_a_document_short_is_refused(tmp_path):
    path = tmp_path / "file.json"
    text = document_text({"schema": "x.y/1", "numbers": [[1, 25], [3, 4]]})
    for end in range(len(text.rstrip())):
        path.write_text(text[:end])
        with pytest.raises(ValueError, match=r"file\.json"):
            read_document(path, "x.y/1")


def test_a_file_that_is_not_there(tmp_path):
    (tmp_path / "counts.json").write_text("{}")
    with pytest.raises(FileNotFoundError, match=r"Did you mean 'counts\.json'"):
        read_document(tmp_path / "count.json", "x.y/1")
    with pytest.raises(IsADirectoryError, match="is a folder"):
        read_document(tmp_path, "x.y/1")
    with pytest.raises(ValueError, match="pipe or a device"):
        read_document(os.devnull, "x.y/1")


def test_several_writers_of_one_file(tmp_path):
    """The last one wins; none fails, and none takes another's draft."""
    from concurrent.futures import ThreadPoolExecutor

    path = tmp_path / "a.json"
    texts = [f"{i} " * 2000 for i in range(60)]
    with ThreadPoolExecutor(6) as pool:
        list(pool.map(lambda text: write_atomically(path, text), texts))
    assert path.read_text() in texts
    assert [p.name for p in tmp_path.iterdir()] == ["a.json"]


@pytest.mark.parametrize(
    "name",
    ["x" * 250 + ".json", "x" * 245 + "\n.json", "\N{SNOWMAN}" * 83 + ".json", "x." + "y" * 253],
    ids=["255 bytes", "line break", "three bytes a character", "long suffix"],
)
def test_names_as_long_as_a_system_allows(tmp_path, name):
    path = tmp_path / name
    path.write_text("old")  # the system allows it
    # a draft of this file that is more than an hour old, and a draft of a file with a similar name
    with _files.replacing([path]) as (own,):
        own.write_text("new")
    with _files.replacing([path.with_name(name[:-1] + "z")]) as (others,):
        others.write_text("other")
    for draft in (own, others):
        assert len(os.fsencode(draft.name)) <= 255
        draft.write_text("left behind")
        os.utime(draft, (0, 0))
    write_atomically(path, "newer")
    assert path.read_text() == "newer"
    assert not own.exists()
    assert others.exists()


def test_standard_json():
    lines = ["{", '  "label": [', "    1,", '    "a"', "  ],", '  "mean": null', "}"]
    assert json_text({"label": (1, "a"), "mean": float("nan")}).splitlines() == lines


def test_a_document_has_a_line_for_each_key_and_row():
    lines = ["{", '  "name": "a",', '  "sums": [', "    [1, 0.1],", "    [2, 0.3]", "  ]", "}"]
    assert document_text({"name": "a", "sums": [[1, 0.1], [2, 0.3]]}).splitlines() == lines
