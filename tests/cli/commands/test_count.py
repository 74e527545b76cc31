"""``bayescal count``: the counts are those of the library, whatever the number of files."""

import pytest

import bayescal as bc


@pytest.fixture
def halves(tmp_path):
    files = [tmp_path / "monday.csv", tmp_path / "tuesday.csv"]
    for file, rows in zip(files, ("0,0.2\n1,0.4\n", "1,0.7\n1,0.9\n"), strict=True):
        file.write_text("won,p\n" + rows)
    return files


def test_files_are_counted_together(run, halves, tmp_path):
    out = tmp_path / "all.json"
    done = run("count", *halves, "--label", "won", "--prob", "p", "--bins", "2", "-o", out)
    assert done.exit_code == 0, done.stderr
    counts = bc.BinnedCounts.from_arrays([0, 1, 1, 1], [0.2, 0.4, 0.7, 0.9], bins=2, target="event")
    assert bc.load_counts(out) == counts
    assert bc.load_counts(out).n.tolist() == [2, 2]


def test_a_file_of_counts_is_no_file_of_rows(run, halves, tmp_path):
    out = tmp_path / "all.json"
    columns = ("--label", "won", "--prob", "p")
    assert run("count", *halves, *columns, "-o", out).exit_code == 0
    again = run("count", out, *columns, "-o", tmp_path / "again.json")
    assert again.exit_code == 2
    assert again.stderr.startswith("Error: ")
    assert not (tmp_path / "again.json").exists()
