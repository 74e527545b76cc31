"""Outputs of commands are whole or absent."""

import signal
import sys

import pytest

from bayescal.cli import outputs

TINY = ["--label", "label", "--prob", "p"]


@pytest.mark.parametrize(
    ("output", "told"),
    [
        (["--json", "nowhere/x.json"], "--json: there is no folder"),
        (["--json", "x.txt"], "--json writes .json files"),
        (["--plot", "x.jpeg"], "--plot writes .png or .pdf or .svg files"),
        (["--netcdf", "x.json"], "--netcdf writes .nc or .netcdf files"),
        (["--html", "x.pdf"], "--html writes .html or .htm files"),
        (["--html", "nowhere/x.html"], "--html: there is no folder"),
        (["--html", "folder.html"], "exists and is not a file"),
        (["--json", "folder.json"], "exists and is not a file"),
        (["--json", "tiny.json"], "--json would overwrite FILE"),
    ],
)
def test_outputs_are_refused_before_anything_is_read(tmp_path, output, told, refused):
    (tmp_path / "folder.json").mkdir()
    (tmp_path / "folder.html").mkdir()
    file = tmp_path / "tiny.json"
    file.write_text("this is never looked at")
    before = sorted(tmp_path.iterdir())
    assert told in refused(file, *TINY, output[0], tmp_path / output[1])
    assert sorted(tmp_path.iterdir()) == before


def test_an_output_is_replaced_as_a_whole_and_links_are_followed(tiny, report, read_json):
    real, link = tiny.with_name("real.json"), tiny.with_name("link.json")
    real.write_text("old")
    link.symlink_to(real)
    report(tiny, *TINY, "--json", link)
    assert link.is_symlink()
    assert read_json(real)["schema"] == "bayescal.report/1"
    assert sorted(f.name for f in tiny.parent.iterdir()) == ["link.json", "real.json", "tiny.csv"]


def test_a_file_is_as_readable_as_any_other(tiny, report):
    report(tiny, *TINY, "--json", tiny.with_name("x.json"))
    assert tiny.with_name("x.json").stat().st_mode == tiny.stat().st_mode


def test_nothing_is_left_when_writing_fails(tiny, monkeypatch, refused):
    def half(path, figure):
        path.write_bytes(b"\x89PNG half of a pic")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(outputs, "save_figure", half)
    old = tiny.with_name("old.png")
    old.write_bytes(b"old")
    told = refused(tiny, *TINY, "--json", tiny.with_name("x.json"), "--plot", old)
    assert "No space left on device" in told
    assert old.read_bytes() == b"old"
    assert sorted(f.name for f in tiny.parent.iterdir()) == ["old.png", "tiny.csv"]  # nor the JSON without its picture


@pytest.mark.skipif(sys.platform == "win32", reason="limits of POSIX")
@pytest.mark.parametrize("option", ["json", "html", "plot", "netcdf", "output"])
def test_a_full_disk_is_one_message_and_leaves_no_draft(tiny, option, monkeypatch, run):
    """No file may be longer than 400 bytes; HDF5 ends the process with a segmentation fault if it writes the file."""
    import resource

    def on_a_full_disk(*what, write=outputs._write):
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (400, hard))
        try:
            write(*what)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))

    monkeypatch.setattr(outputs, "_write", on_a_full_disk)
    old = tiny.with_name(f"old{outputs.SUFFIXES[option][0]}")
    old.write_bytes(b"old")
    full = run("count" if option == "output" else "report", tiny, *TINY, f"--{option}", old)
    assert (full.exit_code, full.stdout) == (2, "")
    assert full.stderr == f"Error: --{option}: '{old}' cannot be written: File too large.\n"
    assert old.read_bytes() == b"old"
    assert sorted(f.name for f in tiny.parent.iterdir()) == [old.name, "tiny.csv"]


def test_a_link_into_a_folder_that_does_not_exist(tiny, refused):
    link = tiny.with_name("link.json")
    link.symlink_to("nowhere/x.json")
    told = refused(tiny, *TINY, "--json", link)
    assert (
        f"--json: '{link}' is a symbolic link to 'nowhere/x.json', and the folder of that file does not exist" in told
    )


# writes half a picture over an old one, and is then stopped
STOPPED = """
import os, signal, sys, time
from bayescal.app import main
from bayescal.cli import outputs
def half(path, figure):
    path.write_bytes(b"half")
    os.kill(os.getpid(), signal.{signal})
    time.sleep(30)
outputs.save_figure = half
sys.argv = ["bayescal", "report", "tiny.csv", "--label", "label", "--prob", "p", "--json", "x.json", "--plot", "x.png"]
main()
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
@pytest.mark.parametrize("name", ["SIGINT", "SIGKILL"])
def test_a_stopped_process_leaves_no_half_file(tiny, name, in_processes):
    old = tiny.with_name("x.png")
    old.write_bytes(b"old")
    stopped = in_processes(STOPPED.format(signal=name), tiny.parent)
    assert stopped.returncode in ({-signal.SIGKILL} if name == "SIGKILL" else {1, 130, -signal.SIGINT}), stopped.stderr
    assert "Traceback" not in stopped.stderr
    assert old.read_bytes() == b"old"
    assert not tiny.with_name("x.json").exists()
    if name == "SIGINT":
        assert sorted(f.name for f in tiny.parent.iterdir()) == ["tiny.csv", "x.png"]
