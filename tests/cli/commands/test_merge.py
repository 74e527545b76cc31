"""``bayescal merge``: counts of several files add, and other bins are refused."""

import bayescal as bc


def saved(path, y_true, y_prob, bins=2):
    counts = bc.BinnedCounts.from_arrays(y_true, y_prob, bins=bins)
    bc.save_counts(counts, path)
    return counts


def test_counts_add(run, tmp_path):
    one = saved(tmp_path / "one.json", [0, 1], [0.2, 0.4])
    other = saved(tmp_path / "other.json", [1, 1, 0], [0.7, 0.9, 0.6])
    out = tmp_path / "sum.json"
    done = run("merge", tmp_path / "one.json", tmp_path / "other.json", "-o", out)
    assert done.exit_code == 0, done.stderr
    assert bc.load_counts(out) == one + other
    assert bc.load_counts(out).n.tolist() == [2, 3]
    assert bc.load_counts(out).k.tolist() == [1, 2]


def test_a_sum_may_replace_one_of_its_files(run, tmp_path):
    one = saved(tmp_path / "one.json", [0, 1], [0.2, 0.4])
    other = saved(tmp_path / "other.json", [1], [0.7])
    assert run("merge", tmp_path / "one.json", tmp_path / "other.json", "-o", tmp_path / "one.json").exit_code == 0
    assert bc.load_counts(tmp_path / "one.json") == one + other


def test_other_bins_are_refused(run, tmp_path):
    saved(tmp_path / "one.json", [0, 1], [0.2, 0.4])
    saved(tmp_path / "other.json", [1], [0.7], bins=3)
    done = run("merge", tmp_path / "one.json", tmp_path / "other.json", "-o", tmp_path / "sum.json")
    assert (done.exit_code, done.stdout) == (2, "")
    assert "bins" in done.stderr
    assert not (tmp_path / "sum.json").exists()
