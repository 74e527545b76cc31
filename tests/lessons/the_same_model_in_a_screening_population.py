"""Checks of the statements in `notebooks/15_the_same_model_in_a_screening_population.ipynb`."""

import numpy as np
import pytest

import bayescal as bc


def check_the_model_is_calibrated_in_the_clinic(clinic):
    assert clinic.ece.interval()[0] == 0
    assert clinic.ece.mean() < 0.02


def check_label_shift_explains_the_difference(evidence):
    assert evidence.no_shift.p_value < 0.01
    assert evidence.label_shift.p_value > 0.05
    assert len(evidence.remarks) == 2


def check_the_frequency(priors, ill_screened, risk_screened):
    low, high = priors.interval()
    assert low[1] < ill_screened.mean() < high[1]
    assert risk_screened.mean() > 2 * ill_screened.mean()


def check_without_and_with_labels(shifted, known, clinic):
    """Both intervals contain the error of the population, from many rows; so they overlap."""
    (low, high), (least, most) = shifted.ece.interval(), known.ece.interval()
    assert max(low, least) < min(high, most)
    assert low > 10 * clinic.ece.mean()
    assert shifted.signed_error.interval()[1] < 0


def check_adapted_predictions(shifted, adapted, ill_screened, risk_screened):
    assert shifted.adapted.ece.interval()[0] == 0
    assert abs(adapted.mean() - ill_screened.mean()) < 0.02
    own = bc.evaluate(ill_screened, adapted, rng=1)
    assert own.ece.interval()[0] < shifted.adapted.ece.interval()[1]
    assert np.mean(risk_screened >= 0.2) > 2 * np.mean(adapted >= 0.2)


def check_weights(weights, older, sick_elder, stated, elder, sick, at_clinic):
    report = bc.weight_report(weights)
    assert report.remarks == ()
    assert report.effective_share < 0.6
    truth = bc.evaluate(sick_elder, stated(elder), rng=1).ece.mean()
    low, high = older.ece.interval()
    assert low < truth < high
    assert bc.evaluate(sick, stated(at_clinic), rng=1).ece.mean() < low


def check_exercises(contradicted, wrong, ill_third, report, mistaken, sick, stated, at_clinic, oldest, weights_of):
    assert contradicted.label_shift.p_value < 0.05
    assert wrong.interval()[0][1] > 1.5 * ill_third.mean()
    assert report.effective_rows < 30
    with pytest.raises(ValueError, match="at least 30 effective rows"):
        bc.evaluate_shifted(
            sick, stated(at_clinic), stated(oldest), shift="covariate", weights=weights_of(at_clinic, oldest)
        )
    assert mistaken.label_shift.p_value < 0.05
