"""Decompositions of scores: parts add up, weights and permutations, errors, printing."""

import json

import numpy as np
import pytest

import bayescal as bc
from bayescal.results.scores import CORP, MURPHY


def signed_sum(result, signs):
    return sum(sign * getattr(result, name) for name, sign in signs.items())


def random_set(rng):
    """Rows of random kind: smooth or tied probabilities, some exactly 0 and 1, with or without weights of any scale."""
    n = int(rng.integers(1, 200))
    p = rng.beta(*rng.uniform(0.1, 3, 2), n)
    if rng.random() < 0.5:
        p = np.round(p, int(rng.integers(1, 3)))
    y = (rng.random(n) < rng.choice([p, 1 - p, np.full(n, rng.random())])).astype(int)
    weights = None if rng.random() < 0.4 else rng.gamma(0.5, size=n) * 10.0 ** rng.uniform(-3, 3) + 1e-300
    return y, p, weights


@pytest.mark.slow
def test_parts_add_up_on_1000_random_sets():
    rng = np.random.default_rng(15)
    for _ in range(1000):
        y, p, weights = random_set(rng)
        score = np.average((y - p) ** 2, weights=weights)
        corp = bc.brier_decomposition(y, p, weights=weights)
        binning = str(rng.choice(["equal-width", "equal-mass"]))
        murphy = bc.brier_decomposition(
            y, p, weights=weights, method="murphy", bins=int(rng.integers(1, 30)), binning=binning
        )
        for result, signs in ((corp, CORP), (murphy, MURPHY)):
            assert result.score == pytest.approx(score, abs=1e-12)
            assert signed_sum(result, signs) == pytest.approx(score, abs=1e-12)
        assert murphy.reliability - murphy.generalized_resolution + murphy.uncertainty == pytest.approx(
            score, abs=1e-12
        )
        assert corp.uncertainty == pytest.approx(murphy.uncertainty, abs=1e-12)
        p = np.clip(p, 1e-9, 1 - 1e-9)
        of_log = bc.log_score_decomposition(y, p, weights=weights)
        log_score = np.average(-np.log(np.where(y == 1, p, 1 - p)), weights=weights)
        assert signed_sum(of_log, CORP) == pytest.approx(log_score, abs=1e-12)
        for result in (corp, of_log):
            assert min(result.miscalibration, result.discrimination, result.uncertainty) >= 0


def test_counts_of_batches_and_merged_bins_decompose_as_all_rows():
    rng = np.random.default_rng(4)
    p = rng.random(300)
    y = rng.random(300) < p
    batches = [bc.BinnedCounts.from_arrays(y[i::3], p[i::3], bins=20) for i in range(3)]
    added, whole = bc.murphy_decomposition(sum(batches)), bc.BinnedCounts.from_arrays(y, p, bins=20)
    for name in (*MURPHY, "score"):
        assert getattr(added, name) == pytest.approx(getattr(bc.murphy_decomposition(whole), name), abs=1e-15)
    merged = bc.murphy_decomposition(whole.coarsen(5))
    for name in (*MURPHY, "score"):
        direct = bc.murphy_decomposition(bc.BinnedCounts.from_arrays(y, p, bins=5))
        assert getattr(merged, name) == pytest.approx(getattr(direct, name), abs=1e-14)


def test_rows_of_weight_zero_count_nothing():
    y, p, w = [0, 1, 0, 1, 1], [0.2, 0.4, 0.7, 0.9, 0.0], [1, 2, 1, 1, 0]
    for decompose in (bc.brier_decomposition, bc.log_score_decomposition):
        with_zero, without = decompose(y, p, weights=w), decompose(y[:4], p[:4], weights=w[:4])
        assert [getattr(with_zero, name) for name in CORP] == [getattr(without, name) for name in CORP]


def test_a_permutation_and_the_scale_of_weights_change_nothing():
    rng = np.random.default_rng(6)
    y, p, w = rng.integers(0, 2, 50), rng.random(50).round(1), rng.gamma(1, size=50)
    order = rng.permutation(50)
    for method in ("corp", "murphy"):
        one = bc.brier_decomposition(y, p, weights=w, method=method)
        other = bc.brier_decomposition(y[order], p[order], weights=1e100 * w[order], method=method)
        for name in CORP if method == "corp" else MURPHY:
            assert getattr(one, name) == pytest.approx(getattr(other, name), abs=1e-14)


def test_top_labels_are_a_binary_problem():
    wine = bc.datasets.load_wine()
    matrix = wine.y_prob["naive_bayes"]
    right, top = matrix.argmax(axis=1) == wine.y_true, matrix.max(axis=1)
    assert bc.brier_decomposition(wine.y_true, matrix).score == bc.brier_decomposition(right, top).score
    assert "of top-label" in bc.brier_decomposition(wine.y_true, matrix).spec


def test_an_observed_outcome_of_probability_zero_has_no_log_score():
    with pytest.raises(bc.InvalidRows, match=r"2 of 4 values are, first at index 1: 0\. To limit.*np\.clip"):
        bc.log_score_decomposition([0, 1, 0, 1], [0.2, 0.0, 1.0, 0.9])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "yates"}, "`method` must be one of"),
        ({"bins": 5}, "`bins` is for `method='murphy'`"),
        ({"binning": "equal-mass"}, "`binning` is for `method='murphy'`"),
        ({"target": "classwise"}, "needs a matrix"),
    ],
)
def test_wrong_options(options, message):
    with pytest.raises(ValueError, match=message):
        bc.brier_decomposition([0, 1], [0.2, 0.7], **options)


def test_counts_that_cannot_be_decomposed():
    with pytest.raises(ValueError, match="at least one row"):
        bc.murphy_decomposition(bc.BinnedCounts.empty(5))
    with pytest.raises(TypeError, match="for rows, use `brier_decomposition`"):
        bc.murphy_decomposition([0.2, 0.7])


def test_how_it_prints_and_is_exported(tmp_path):
    result = bc.brier_decomposition([0, 1, 0, 1], [0.2, 0.4, 0.7, 0.9], weights=[1, 1, 1, 2])
    shown = str(result)
    assert shown.startswith(
        "The observed Brier score is 0.1820 = miscalibration 0.0820 - discrimination 0.1400 + uncertainty"
    )
    assert "miscalibration and discrimination are too large on average" in " ".join(shown.split())
    assert str(result.details()) == "Brier score, CORP decomposition of event, N = 4 (weighted, effective N = 4)"
    frame = result.to_frame()
    assert frame.index.tolist() == ["miscalibration", "discrimination", "uncertainty", "Brier score"]
    assert frame["sign"].tolist() == ["+", "-", "+", "="]
    assert frame["value"].tolist() == [result.miscalibration, result.discrimination, result.uncertainty, result.score]
    assert json.loads(result.to_json())["kind"] == "CorpDecomposition"
    assert "miscalibration & + & 0.0820" in result.to_latex()
    assert "within-bin variance" in bc.brier_decomposition([0, 1], [0.2, 0.7], method="murphy").to_html(
        tmp_path / "a.html"
    ).read_text(encoding="utf-8")


def test_weights_that_round_to_nothing_have_no_log_score():
    with pytest.raises(ValueError, match="must not differ by more than about 1e15"):
        bc.log_score_decomposition([1, 0], [0.6, 0.6], weights=[1, 1e-17])
