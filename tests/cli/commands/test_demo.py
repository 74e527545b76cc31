"""``bayescal demo``."""

import pytest

import bayescal
from bayescal import datasets


@pytest.mark.slow
def test_demo(tmp_path, monkeypatch, run):
    monkeypatch.chdir(tmp_path)
    done = run("demo", width=80)
    assert done.exit_code == 0, done.stderr
    digits = datasets.load_digits()
    for model in ("naive_bayes", "random_forest"):
        found = bayescal.evaluate(digits.y_true, digits.y_prob[model], rng=1)
        assert found.sheet().headline in " ".join(done.stdout.split())
        right = (digits.y_prob[model].argmax(axis=1) == digits.y_true).mean()
        assert f"right in {100 * right:.0f} %" in " ".join(done.stdout.split())
    assert f"Saved {tmp_path / 'bayescal-demo.png'}" in done.stdout.splitlines()
    assert [f.name for f in tmp_path.iterdir()] == ["bayescal-demo.png"]
    assert (tmp_path / "bayescal-demo.png").read_bytes().startswith(b"\x89PNG")
    assert "…" not in done.stdout
