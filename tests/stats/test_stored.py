"""Counts as files: they come back bit for bit, and what is no counts is refused."""

import json
from dataclasses import replace

import numpy as np
import pytest
from stored_counts import BY_HAND, COUNTS, PAIR_BY_HAND, changed, rows, same_bits, without_log_losses

from bayescal import BinnedCounts, PairedCounts, load_counts, save_counts
from bayescal.stats.bins import Bins
from bayescal.stats.stored import counts_document, counts_from_document


@pytest.mark.parametrize("name", COUNTS)
def test_counts_come_back_bit_for_bit(tmp_path, name):
    counts = COUNTS[name]
    path = save_counts(counts, tmp_path / "counts.json")
    same_bits(load_counts(path), counts)
    assert load_counts(str(path)).n_rows == counts.n_rows


def test_documents_written_by_hand(tmp_path):
    path = tmp_path / "counts.json"
    path.write_text(json.dumps(BY_HAND))
    z, c = [0, 1, 1], [0.125, 0.5, 1.0]
    assert load_counts(path) == BinnedCounts.from_arrays(z, c, bins=2, target="event")
    path.write_text("\ufeff" + json.dumps(PAIR_BY_HAND, indent=1))
    expected = PairedCounts.from_predictions
    from bayescal import Predictions

    first, second = (
        Predictions.from_outcomes(z, values, [1, 2, 3], target="event") for values in (c, [0.5, 0.25, 0.25])
    )
    own = BinnedCounts.from_predictions(first, bins=2)
    other = BinnedCounts.from_predictions(second, bins=[0, 0.375, 0.625, 1])
    assert load_counts(path) == expected(first, second, own, other)


@pytest.mark.parametrize("document", [BY_HAND, PAIR_BY_HAND])
def test_files_without_log_losses_have_no_log_score(tmp_path, document):
    path = tmp_path / "counts.json"
    path.write_text(json.dumps(without_log_losses(document)))
    old, new = load_counts(path), counts_from_document(document)
    if isinstance(new, PairedCounts):
        assert old.log_loss_difference is old.first.log_losses is None
        assert old.loss_difference == new.loss_difference
        assert (old + new).log_loss_difference is None
    else:
        assert old.log_losses is None
        assert old == replace(new, log_losses=None)
        assert (old + new).log_losses is None
        assert (old + new).losses == new.losses + new.losses
    assert "log_losses" not in save_counts(old, path).read_text()
    assert load_counts(path) == old


def test_the_file_is_small_and_says_what_it_is(tmp_path):
    z, c = rows(10_000)
    text = save_counts(BinnedCounts.from_arrays(z, c, target="event"), tmp_path / "a.json").read_text()
    assert len(text) < 4500
    assert text.startswith('{\n  "schema": "bayescal.counts/2",\n  "kind": "binned",\n  "target": "event",')
    assert "weight" not in text  # rows say it all
    assert max(map(len, text.splitlines())) < 600


@pytest.mark.parametrize("name", ["plain", "weights 1.0", "custom", "pair", "weighted pair"])
def test_one_changed_integer_is_always_noticed(name):
    """Each count in turn is raised by one: the number of rows, or a margin, then differs."""
    document = counts_document(COUNTS[name])

    def integers(value, path=()):
        if isinstance(value, dict):
            for key in value.keys() & {"cells", "n", "rows", "first", "second"}:
                yield from integers(value[key], (*path, key))
        elif isinstance(value, list):
            for i, item in enumerate(value):
                yield from integers(item, (*path, i))
        else:
            yield path, value

    places = list(integers(document))
    for path, value in places[:: max(1, len(places) // 60)]:
        with pytest.raises(ValueError):  # noqa: PT011 -- which rule breaks depends on the place
            counts_from_document(changed(document, path, value + 1))
    counts_from_document(document)


def test_what_is_no_counts_is_not_written(tmp_path):
    with pytest.raises(TypeError, match="PairedCounts"):
        save_counts({"cells": []}, tmp_path / "a.json")
    other_edges = BinnedCounts.empty(Bins(np.array([0, 0.3, 1]), "equal-width"))  # would come back as 0, 0.5, 1
    with pytest.raises(ValueError, match="do not have the edges k / 2"):
        save_counts(other_edges, tmp_path / "a.json")
    assert list(tmp_path.iterdir()) == []


def test_files_of_workers_add_up(tmp_path):
    z, c = rows(5000)
    paths = [save_counts(BinnedCounts.from_arrays(z[i::7], c[i::7], bins=20), tmp_path / f"{i}.json") for i in range(7)]
    merged, whole = sum(map(load_counts, paths)), BinnedCounts.from_arrays(z, c, bins=20)
    np.testing.assert_array_equal(merged.cells, whole.cells)
    np.testing.assert_allclose(merged.deviation, whole.deviation, atol=1e-12)
