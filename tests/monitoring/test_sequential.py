"""Evidence and confidence sequences of a monitor: what they do not depend on, what they refuse, how they print."""

import json
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from monitored_streams import REFERENCE, monitored, rows
from scipy.stats import binom, hypergeom, norm

from bayescal import BinnedCounts, CalibrationMonitor, ConfidenceSequence, Evidence, Predictions
from bayescal.monitoring import sequential, statistics


def all_values(monitor):
    """Return the values of all sequential results."""
    sequence = monitor.confidence_sequence()
    tested = (monitor.evidence(), monitor.evidence(reference=REFERENCE))
    return [*(each.log_values for each in tested), sequence.low, sequence.high]


def test_both_processes_raise_an_alarm_after_the_change(monitor):
    evidence, change = monitor.evidence(), monitor.evidence(reference=REFERENCE)
    assert isinstance(evidence, Evidence)
    assert evidence.windows == tuple(range(10))
    assert change.windows == tuple(range(4, 10))
    assert evidence.alarm == monitor.alarm
    assert evidence.raised is True
    assert evidence.alarm in (6, 7)
    assert change.alarm in (6, 7, 8)
    assert evidence.values[evidence.alarm] >= 20
    assert (evidence.values[: evidence.alarm] < 20).all()
    assert evidence.hypothesis == "exact calibration"
    assert change.hypothesis == "no change since the reference [0, 4)"


def test_no_alarm_without_a_change():
    calm = monitored(change=4000)
    assert calm.alarm is None
    assert calm.evidence(reference=REFERENCE).alarm is None
    said = "No alarm after 10 windows: the evidence that outcomes differ from the predicted probabilities is 0."
    assert calm.evidence().sentence().startswith(said)
    assert not calm.evidence().raised
    assert "The absence of an alarm does not show that the classifier is calibrated" in calm.evidence().remarks[-1]
    assert "slow changes may raise none" in calm.evidence(reference=REFERENCE).remarks[-1]


def test_a_curve_that_is_wrong_but_constant_is_no_change():
    constant = monitored(change=0, n_rows=8000)
    assert constant.alarm is not None
    assert constant.evidence(reference=REFERENCE).alarm is None


def test_an_alarm_needs_the_threshold():
    """Values just below 20 raise none; a value of 20 that rounding made smaller does."""

    def with_values(*values):
        n = len(values)
        return Evidence(tuple(range(n)), np.full(n, 10), np.log(values), 0.05, None, "question")

    assert with_values(1, 19.9999, 3).alarm is None
    assert not with_values(1, 19.9999, 3).raised
    assert with_values(1, 19.9, 20 - 1e-14, 3).alarm == 2


def test_the_level_is_that_of_the_threshold(monitor):
    evidence = monitor.evidence(level=1e-6)
    assert evidence.threshold == pytest.approx(1e6)
    first = int(np.flatnonzero(evidence.values >= 1e6)[0])
    assert evidence.alarm == first > monitor.alarm


def test_batches_workers_and_restarts_do_not_matter(monitor, tmp_path):
    z, c, t = rows()
    order = np.random.default_rng(2).permutation(len(z))
    workers = [CalibrationMonitor(bins=10, window=1) for _ in range(3)]
    for i, part in enumerate(np.array_split(order, 12)):
        workers[i % 3].add(z[part], c[part], time=t[part])
    merged = sum(workers)
    merged.save(tmp_path / "state.json")
    for other in (merged, CalibrationMonitor.load(tmp_path / "state.json")):
        for expected, found in zip(all_values(monitor), all_values(other), strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


def test_the_size_of_blocks_does_not_matter(monitor, monkeypatch):
    expected = all_values(monitor)
    monkeypatch.setattr(statistics, "CELLS", 30)  # three windows of ten bins
    for found, values in zip(all_values(monitor), expected, strict=True):
        np.testing.assert_allclose(found, values, rtol=1e-9, atol=1e-12)


def test_later_windows_do_not_alter_earlier_values(monitor):
    z, c, t = rows()
    early = CalibrationMonitor(bins=10, window=1).add(z[t < 7], c[t < 7], time=t[t < 7])
    for expected, found in zip(all_values(monitor), all_values(early), strict=True):
        np.testing.assert_allclose(found, expected[: len(found)], rtol=1e-12)
    np.testing.assert_allclose(monitor.evidence(end=7).log_values, early.evidence().log_values, rtol=1e-12)


@pytest.mark.slow
def test_windows_before_0_have_random_numbers_of_their_own():
    """With shared numbers, scores of windows depend on each other, and calibrated streams raise alarms."""
    numbers = [-3, -2, -1, 0, 1, 2, 3]
    each = sequential._uniform(7, numbers, 3)
    assert len(np.unique(each)) == 21
    np.testing.assert_array_equal(sequential._uniform(7, numbers[::2], 3), each[::2])
    rng, found = np.random.default_rng(8), 0
    for _ in range(20):
        c = rng.random(300)
        stream = CalibrationMonitor(bins=5, window=1).add(rng.random(300) < c, c, time=np.arange(300) - 350)
        found += stream.evidence(reference=(-350, -300)).raised
    assert found <= binom.isf(0.001, 20, 0.05)


def test_random_numbers_belong_to_a_window():
    """Windows 4 and 6 have the same random numbers whether or not window 5 has rows."""
    both = sequential._uniform(7, [4, 5, 6], 3)
    np.testing.assert_array_equal(sequential._uniform(7, [4, 6], 3), both[[0, 2]])
    assert len(np.unique(both)) == 9
    assert not np.isin(sequential._uniform(8, [4], 3), both).any()
    assert sequential._uniform(7, [-(2**40)], 3).shape == (1, 3)


@pytest.mark.parametrize("highest", [1.0, 0.5])
def test_the_evidence_of_a_change_by_its_definition(highest):
    """Window by window: scipy's hypergeometric distribution given the rows before; the reference fixes the variance.

    Half of the bins may have no rows of the reference; their centres are then midpoints.
    """
    z, c, t = rows()
    known = (c < highest) | (t >= REFERENCE[1])
    monitor = CalibrationMonitor(bins=10, window=1).add(z[known], c[known], time=t[known])
    reference, seed = monitor.counts(*REFERENCE), int(np.random.default_rng(3).integers(2**63))
    before_n, before_k = reference.n.copy(), reference.k.copy()
    c = np.where(before_n > 0, reference.mean_confidence, np.arange(0.05, 1, 0.1))
    assert (before_n == 0).sum() == (0 if highest == 1 else 5)
    mixture, values = statistics.Mixture.start(10), []
    for number in range(4, 10):
        n, k = monitor.windows[number].n, monitor.windows[number].k
        u = sequential._uniform(seed, [number], 10)[0]
        given = (before_n + n, before_k + k, n)
        z = norm.ppf(hypergeom.cdf(k - 1, *given) + u * hypergeom.pmf(k, *given))
        z[before_n == 0] = 0
        scale = np.sqrt(n * c * (1 - c) * before_n / (before_n + n))
        mixture, value = mixture.after(statistics.change_e_values(z[None], scale[None], c))
        values.append(value[0])
        before_n, before_k = before_n + n, before_k + k
    np.testing.assert_allclose(monitor.evidence(reference=REFERENCE, rng=3).log_values, values, rtol=1e-9)


def test_values_are_the_same_at_every_call(monitor):
    """Otherwise the first alarm over several looks would be false more often than `level`."""
    seeds = np.random.SeedSequence(9)

    def values(rng):
        return monitor.evidence(reference=REFERENCE, rng=rng).log_values

    for rng in (5, None, seeds):
        np.testing.assert_array_equal(values(rng), values(rng))
    np.testing.assert_array_equal(values(0), monitor.evidence(reference=REFERENCE).log_values)
    np.testing.assert_array_equal(values(0), values(None))
    assert (values(5) != values(6)).any()
    np.testing.assert_array_equal(monitor.evidence(rng=5).log_values, monitor.evidence(rng=6).log_values)


def test_a_reference_of_counts(monitor):
    """Counts of the same rows as a span; the windows of the span are then tested too, unless `start` excludes them."""
    counts = monitor.counts(*REFERENCE)
    found = monitor.evidence(4, reference=counts)
    np.testing.assert_array_equal(found.log_values, monitor.evidence(reference=REFERENCE).log_values)
    assert found.hypothesis == "no change since the reference (counts)"
    assert len(monitor.evidence(reference=counts)) == 10


def test_windows_before_the_reference_are_not_tested(monitor):
    found = monitor.evidence(reference=(2, 4))
    assert found.windows == tuple(range(4, 10))
    assert "4 windows are not tested: they belong to the reference or precede its end." in found.remarks
    (only,) = (each for each in monitor.evidence(reference=(0, 1)).remarks if "not tested" in each)
    assert only == "1 window is not tested: it belongs to the reference or precedes its end."


def test_bins_without_rows_of_the_reference():
    monitor = CalibrationMonitor(bins=2, window=1)
    monitor.add([0, 1, 0], [0.1, 0.2, 0.3], time=0)
    monitor.add([1, 1, 0], [0.9, 0.8, 0.2], time=1).add([1, 1, 0], [0.9, 0.8, 0.2], time=2)
    found = monitor.evidence(reference=(0, 1))
    assert np.isfinite(found.log_values).all()
    assert "4 of 6 rows lie in bins without rows of the reference" in " ".join(found.remarks)
    assert "of these, 3 are the reference." in " ".join(found.remarks)


def test_the_confidence_sequence(monitor):
    sequence = monitor.confidence_sequence()
    assert isinstance(sequence, ConfidenceSequence)
    assert sequence.n_rows.tolist() == list(range(400, 4001, 400))
    assert (sequence.low <= sequence.plug_in).all()
    assert (sequence.plug_in <= sequence.high).all()
    assert sequence.interval == (sequence.low[-1], sequence.high[-1])
    expected = [monitor.evaluate(end=t, rng=1, draws=10).plug_in for t in (1, 10)]
    np.testing.assert_allclose(sequence.plug_in[[0, 9]], expected, rtol=1e-12)
    assert sequence.above(0.0) == sequence.windows[int(np.flatnonzero(sequence.low > 0)[0])]
    assert sequence.below(0.2) == sequence.windows[int(np.flatnonzero(sequence.high < 0.2)[0])]
    assert sequence.above(0.9) is None
    wider = monitor.confidence_sequence(prob=0.999)
    assert (wider.high > sequence.high).all()
    assert (sequence.prob, wider.prob) == (0.95, 0.999)


def test_times_of_dates():
    monitor = CalibrationMonitor(bins=5, window="1d")
    first = datetime(2026, 3, 1, tzinfo=UTC)
    for day in range(3):
        monitor.add([1] * 4, [0.3] * 4, time=first + timedelta(days=day))
    assert monitor.alarm == datetime(2026, 3, 3, tzinfo=UTC)
    assert "Alarm in the window 2026-03-03 UTC" in monitor.evidence().sentence()
    monitor.add([1] * 4, [0.3] * 4, time=first + timedelta(days=3))
    assert "confidence_sequence(start='2026-03-04T00:00+00:00')`" in monitor.evidence().remarks[-1]
    assert len(monitor.confidence_sequence(start="2026-03-04T00:00+00:00")) == 1
    assert json.loads(monitor.evidence().to_json())["alarm"] == "2026-03-03T00:00:00+00:00"
    assert monitor.confidence_sequence().windows == tuple(monitor.windows)


def test_without_rows_there_is_no_alarm():
    monitor = CalibrationMonitor(window=1)
    assert monitor.alarm is None
    evidence = monitor.evidence()
    assert (len(evidence), evidence.alarm, evidence.table()) == (0, None, [])
    assert evidence.values.shape == evidence.p_values.shape == (0,)
    assert evidence.sentence() == "There are no windows to test, and therefore no evidence."
    assert (evidence.raised, evidence.remarks) == (False, ())
    assert str(evidence)
    assert json.loads(evidence.to_json())["table"] == []
    monitor.add([0, 1], [0.1, 0.6], time=0)
    nothing = monitor.evidence(reference=(0, 1))
    assert len(nothing) == 0
    assert nothing.sentence().startswith("There are no windows to test after the reference [0, 1)")
    with pytest.raises(ValueError, match="there are no rows in"):
        CalibrationMonitor(window=1).confidence_sequence()


def test_forgotten_windows_are_named(monitor):
    shorter = (monitor + 0).forget(3)
    assert shorter.evidence().windows == tuple(range(3, 10))
    assert "The windows before 3 are forgotten" in shorter.evidence().remarks[0]
    assert "The windows before 3 are forgotten" in shorter.confidence_sequence().remarks[0]
    np.testing.assert_array_equal(shorter.evidence().log_values, monitor.evidence(3).log_values)


@pytest.mark.parametrize(
    ("call", "error", "said"),
    [
        (lambda m: CalibrationMonitor().evidence(), ValueError, "`evidence` needs windows"),
        (lambda m: CalibrationMonitor().alarm, ValueError, "Make it with `window=`"),
        (lambda m: CalibrationMonitor().confidence_sequence(), ValueError, "`confidence_sequence` needs windows"),
        (lambda m: m.evidence(level=5), ValueError, "`level` must lie strictly between 0 and 1, not 5. Percent"),
        (
            lambda m: m.evidence(level=0.95),
            ValueError,
            "`level` must be below 0.5, not 0.95. `level` is the probability",
        ),
        (lambda m: m.evidence(level=0.5), ValueError, "0.95, is `prob` of `confidence_sequence`."),
        (lambda m: m.confidence_sequence(prob=1), ValueError, "`prob` must lie"),
        (lambda m: m.confidence_sequence(prob=0.05), ValueError, "0.05, is `level` of `evidence`."),
        (lambda m: m.confidence_sequence(prob=0.5), ValueError, "`prob` must be above 0.5, not 0.5."),
        (lambda m: m.confidence_sequence(level=0.05), TypeError, "`CalibrationMonitor.confidence_sequence` takes no"),
        (lambda m: m.confidence_sequence(level=0.05), TypeError, "Here it is called 'prob': "),
        (lambda m: m.confidence_sequence(alpha=0.05), TypeError, "confidence_sequence(prob=1 - alpha)`."),
        (lambda m: m.evidence(baseline=(0, 4)), TypeError, "Here it is called 'reference': "),
        (lambda m: m.evidence(alpha=0.05), TypeError, "Here it is called 'level': "),
        (
            lambda m: m.evidence(threshold=20),
            TypeError,
            "An alarm is raised where the evidence is at least 1 / `level`",
        ),
        (lambda m: m.evidence(ref=(0, 4)), TypeError, "Did you mean 'reference'?"),
        (lambda m: m.evidence((0, 4)), TypeError, "not (0, 4). `start` and `end` are bounds of the windows that are"),
        (lambda m: m.evidence(m.counts(0, 4)), TypeError, "a reference is `reference=(start, end)`."),
        (lambda m: m.evidence(7, 4), ValueError, "`start` is 7, and `end` is 4."),
        (lambda m: m.evidence().p_value, AttributeError, "P-values are `p_values`."),
        (lambda m: m.evidence().treshold, AttributeError, "Did you mean 'threshold'"),
        (lambda m: m.confidence_sequence().level, AttributeError, "The probability that all intervals hold is `prob`."),
        (lambda m: m.evidence(rng=np.random.default_rng(1)), TypeError, "not a Generator: its state changes"),
        (lambda m: m.evidence(start=0.5), ValueError, "`start` must be where a window of 1 begins"),
        (lambda m: m.evidence(reference=(0, 0.5)), ValueError, "`reference`: `end` must be where a window"),
        (lambda m: m.evidence(reference=(2, None)), ValueError, "`reference` must have an end"),
        (lambda m: m.evidence(reference=4), TypeError, "`reference` must be a pair of bounds"),
        (lambda m: m.evidence(reference=(20, 30)), ValueError, "there are no rows in `reference`"),
        (lambda m: m.evidence(reference=BinnedCounts.empty(10)), ValueError, "`reference` has no rows"),
        (lambda m: m.evidence(reference=BinnedCounts.empty(7)), ValueError, "same edges"),
        (lambda m: m.evidence(reference=(0, 1), rng="a"), TypeError, "`rng` must be"),
        (lambda m: m.confidence_sequence().above(2), ValueError, "`limit` must"),
        (lambda m: m.confidence_sequence().above("2%"), TypeError, "Write 0.02"),
    ],
)
def test_refusals(monitor, call, error, said):
    with pytest.raises(error) as caught:
        call(monitor)
    assert said in str(caught.value)


def test_weights_are_refused():
    """A row of weight 100 would be counted as 100 independent outcomes."""
    monitor = CalibrationMonitor(window=1).add([0, 1], [0.2, 0.7], time=0)
    monitor.add([0, 1], [0.2, 0.7], time=1, weights=[1.0, 100.0])
    for call in (monitor.evidence, monitor.confidence_sequence, lambda: monitor.alarm):
        with pytest.raises(ValueError, match=r"do not support weights.*1 of 2 have weights, first window 1"):
            call()
    weighted = BinnedCounts.from_arrays([0, 1], [0.2, 0.7], weights=[1.0, 2.0])
    with pytest.raises(ValueError, match="first the reference"):
        CalibrationMonitor(window=1).evidence(reference=weighted)
    assert monitor.evidence(end=1).alarm is None
    monitor.add([0, 1], [0.2, 0.7], time=2)
    with pytest.raises(ValueError, match="1 of 1 have weights, first the reference"):
        monitor.evidence(reference=(1, 2))


def test_all_classes_of_a_row_are_refused():
    """The outcomes of the classes of a row are 1 exactly once, so they are not independent."""
    y_prob = np.random.default_rng(1).dirichlet([1, 1, 1], 90)
    labels = np.arange(90) % 3
    monitor = CalibrationMonitor(window=1, target="classwise")
    for problem in Predictions.classwise(labels, y_prob):
        monitor.add_predictions(problem, time=0)
    for call in (monitor.evidence, monitor.confidence_sequence, lambda: monitor.alarm):
        with pytest.raises(ValueError, match="Make a monitor of each class"):
            call()
    one = CalibrationMonitor(window=1, target="event").add(labels == 0, y_prob[:, 0], time=0)
    assert len(one.evidence(level=0.05 / 3)) == 1


def test_names_and_arguments_of_other_results_are_answered():
    monitor = CalibrationMonitor(window=1).add([0, 1], [0.2, 0.7], time=[0, 1])
    with pytest.raises(TypeError, match=r"'limit'\. A limit belongs to the result: .*above\(0\.02\)`\."):
        monitor.confidence_sequence(limit=0.02)
    with pytest.raises(TypeError, match=r"'cluster'\. Intervals are those of independent rows"):
        monitor.add([0], [0.1], time=2, cluster=["a"])
    with pytest.raises(TypeError, match=r"either of them None, or BinnedCounts of other rows; not ndarray\."):
        monitor.evidence(reference=np.eye(2))
    with pytest.raises(AttributeError, match=r"Pictures of results are drawn by `bayescal\.plot\(result\)`\."):
        monitor.evidence().plot()
    with pytest.raises(AttributeError, match=r"are `low` and `high`, the last one is `interval`\."):
        _ = monitor.confidence_sequence().upper
    assert monitor.n_rows == 2
