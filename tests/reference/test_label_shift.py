"""Class frequencies of a target from other programs (abstention, quapy), on real predictions under label shift."""

import numpy as np
import pytest

import bayescal as bc
from bayescal.shift.class_frequencies import adapted
from bayescal.shift.class_frequencies_posterior import most_probable
from bayescal.shift.counts import ShiftCells, ShiftCounts
from bayescal.shift.prior_likelihood import PriorLikelihoodPosterior, recalibrated
from bayescal.shift.rows import ShiftedRows

FAMILY = "label_shift"
#: Calls whose numbers are checked.
CHECKED = {"EM", "EM_default", "EM_labels", "BBSE_hard", "BBSE_soft", "EMImbalanceAdapter", "quapy"}


@pytest.fixture(scope="module")
def sides(reference_data):
    """Labels and probabilities of the source, those of the target."""
    data, rows = reference_data("cifar10_vgg16"), reference_data("labelshift_cifar10_vgg")
    p, y = data["probs"].astype(np.float64), data["labels"]
    source, target = rows["source_index"], rows["target_index"]
    return y[source], p[source], y[target], p[target]


@pytest.fixture(scope="module")
def expected(records):
    """Values by the name of the call."""
    found = {}
    for record in records(FAMILY):
        call = record["call"].split("(")[0].split(".")[-1]
        found["quapy" if record["package"] == "quapy" else call] = record["value"]
    return found


def em(p_target, frequency, steps=3000):
    """Multipliers of expectation maximisation: most probable frequencies without a prior, over those of the source."""
    ratio = (p_target / frequency).T
    return most_probable(ratio, np.ones(len(p_target)), alpha=0.0, steps=steps) / frequency


def test_every_record_is_checked(records, expected):
    assert len(records(FAMILY)) == 7
    assert set(expected) == CHECKED


@pytest.mark.parametrize("call", ["EM", "EM_default"])
def test_expectation_maximisation_with_mean_probabilities(sides, expected, call):
    _, p, y_target, p_target = sides
    found, value = em(p_target, p.mean(axis=0)), expected[call]
    np.testing.assert_allclose(found, value["multipliers"], rtol=1e-5)
    changed = adapted(p_target, found)
    np.testing.assert_allclose(changed[:3], value["adapted_first3"], rtol=1e-5)
    np.testing.assert_allclose(changed.mean(axis=0), value["adapted_mean"], rtol=1e-5)
    assert (changed.argmax(axis=1) == y_target).mean() == pytest.approx(value["acc_after"], rel=1e-5)


def test_expectation_maximisation_with_label_frequencies(sides, expected):
    y, _, _, p_target = sides
    frequency = np.bincount(y, minlength=10) / len(y)
    found = em(p_target, frequency)
    np.testing.assert_allclose(found, expected["EM_labels"]["multipliers"], rtol=1e-5)
    np.testing.assert_allclose(found * frequency, expected["quapy"]["target_prior"], rtol=1e-5)


def test_predicted_classes_solve_the_equations_of_black_box_shift_estimation(sides, expected):
    """Without a prior, the most probable frequencies of square tables solve C' pi = q where all are positive."""
    y, p, _, p_target = sides
    cells = ShiftCells.predicted_class(10)
    counts = ShiftCounts.of_source(y, p, cells=cells) + ShiftCounts.of_target(p_target, cells=cells)
    rates = counts.source / counts.by_class[:, None]
    found = most_probable(rates, counts.target, alpha=0.0, steps=20_000)
    frequency = counts.by_class / counts.n_source
    np.testing.assert_allclose(found / frequency, expected["BBSE_hard"]["multipliers"], rtol=1e-5)


def test_the_posteriors_contain_the_estimates_and_the_truth(sides, expected):
    """Estimates of other programs lie inside 95 % intervals; true frequencies of the target in 99.9 % ones."""
    y, p, y_target, p_target = sides
    frequency = np.bincount(y, minlength=10) / len(y)
    true = np.bincount(y_target, minlength=10) / len(y_target)
    for using, call in (("cells", "BBSE_hard"), ("cells", "BBSE_soft"), ("probabilities", "EM_labels")):
        priors = bc.class_priors(y, p, p_target, using=using, draws=4000, rng=1)
        low, high = priors.interval(0.95)
        estimate = np.array(expected[call]["multipliers"]) * frequency
        assert ((low < estimate) & (estimate < high)).all(), call
        low, high = priors.interval(0.999)
        assert ((low < true) & (true < high)).all()


def test_the_recalibrated_record(sides, expected):
    """Its calibrator left the predictions as they were: its numbers are those without recalibration, to 1e-3.

    The recalibration here lowers the log loss of the source from 0.287 to 0.214, so that its multipliers differ.
    """
    y, p, y_target, p_target = sides
    frequency = np.bincount(y, minlength=10) / len(y)
    found = em(p_target, frequency)
    value = expected["EMImbalanceAdapter"]
    np.testing.assert_allclose(found, value["multipliers"], rtol=1e-3)
    correct = adapted(p_target, found).argmax(axis=1) == y_target
    assert correct.mean() == pytest.approx(value["acc_after"], rel=1e-5)
    parameters = PriorLikelihoodPosterior(ShiftedRows.read(y, p, p_target)).recalibration[0]
    losses = [-np.log(each[np.arange(len(y)), y]).mean() for each in (p, recalibrated(p, parameters))]
    assert losses == [pytest.approx(0.2872, abs=1e-4), pytest.approx(0.2137, abs=1e-4)]
