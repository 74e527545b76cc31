"""Spiegelhalter's and Hosmer-Lemeshow statistics of MAPIE, calzone and rms."""

import numpy as np
import pytest

import bayescal as bc


def rows(record, reference_data):
    data = reference_data(record["data"])
    score, _, outcome = record["view"].partition(" vs ")
    return data[score].astype(float), data[outcome].astype(int)


def test_spiegelhalters_statistic(records, reference_data):
    """MAPIE's P-value is one-sided."""
    found = [record for record in records("clinical") if "spiegelhalter" in record["call"]]
    assert len(found) == 27
    for record in found:
        p, y = rows(record, reference_data)
        tests, value = bc.calibration_tests(y, p), record["value"]
        if "p_value" in record["call"]:
            one_sided = tests.p_spiegelhalter / 2 if tests.z > 0 else 1 - tests.p_spiegelhalter / 2
            assert one_sided == pytest.approx(value, rel=1e-9, abs=1e-15)
        else:
            z, p_value = (value, None) if np.ndim(value) == 0 else value
            assert tests.z == pytest.approx(z, rel=1e-9)
            assert p_value is None or tests.p_spiegelhalter == pytest.approx(p_value, rel=1e-9, abs=1e-15)


def test_spiegelhalters_statistic_of_rms(records, reference_data):
    found = [record for record in records("clinical") if record["call"].startswith("rms::val.prob")]
    assert len(found) >= 4
    for record in found:
        p, y = rows(record, reference_data)
        value, tests = record["value"], bc.calibration_tests(y, p)
        assert tests.z == pytest.approx(value["S:z"], rel=1e-9)
        assert tests.p_spiegelhalter == pytest.approx(value["S:p"], rel=1e-8)


def test_hosmer_lemeshow_statistic(records, reference_data):
    """Calzone keeps the mean score of a group at least 1e-7 from 0 and 1; only two data sets have such groups."""
    found = [record for record in records("clinical") if "hosmer" in record["call"]]
    assert len(found) == 9
    moved = []
    for record in found:
        p, y = rows(record, reference_data)
        tests = bc.calibration_tests(y, p, fitted=True)
        statistic, p_value, df = record["value"]
        groups = tests.hosmer_lemeshow
        mean = np.clip(groups.expected / groups.n, 1e-7, 1 - 1e-7)
        if (mean != groups.expected / groups.n).any():
            moved.append(record["data"])
            own = np.sum(groups.n * (groups.observed / groups.n - mean) ** 2 / (mean * (1 - mean)))
            assert own == pytest.approx(statistic, rel=1e-9)
            assert tests.p_hosmer_lemeshow == p_value == 0
        else:
            assert groups.chi_squared == pytest.approx(statistic, rel=1e-5)
            assert tests.p_hosmer_lemeshow == pytest.approx(p_value, rel=1e-5, abs=1e-12)
        assert groups.df == df
    assert moved == ["sk_breast_cancer_nb", "precip_niamey"]
