"""ICI, E50, E90 and Emax of R's curves; Spiegelhalter's and Hosmer-Lemeshow statistics of MAPIE, calzone and rms."""

import numpy as np
import pytest
from scipy.special import expit, logit, xlog1py, xlogy

import bayescal as bc
from bayescal.estimands.classical_curves import CURVES, FEW, KNOTS, errors_of, spline_basis
from bayescal.estimands.local_regression import _local_parabola

#: Beginnings of calls, and our names.
CALLS = {
    "lowess(p,y,iter=0)": "lowess",
    "loess(y~p) ": "loess",
    "glm(y~qlogis(p)": "logistic",
    "glm(y~p,": "logistic_probability",
    "rms::lrm(y~rcs(qlogis(p),3))": "spline_3",
    "rms::lrm(y~rcs(qlogis(p),4))": "spline_4",
}


def rows(record, reference_data):
    data = reference_data(record["data"])
    score, _, outcome = record["view"].partition(" vs ")
    return data[score].astype(float), data[outcome].astype(int)


def test_errors_of_the_curves_of_r(records, reference_data):
    """To 1e-9 where R solves exactly; iterations of glm and lrm end earlier, those of lrm at 2.5e-5 of precip_EMOS.

    The next test repeats the iterations of lrm.
    """
    found = [record for record in records("clinical_ici") if "direct" not in record["call"]]
    assert len(found) == 31
    seen = set()
    for record in found:
        p, y = rows(record, reference_data)
        key = next(key for begin, key in CALLS.items() if record["call"].startswith(begin))
        seen.add(key)
        errors = errors_of(CURVES[key](p, y.astype(float)), p)
        tolerance = 1e-9 if key in ("lowess", "loess") else 3e-5 if key.startswith("spline") else 1e-5
        for name, value in record["value"].items():
            # the errors of df_binary, whose scores are a logistic fit to the same rows, are 0 up to rounding
            assert errors[name.lower()] == pytest.approx(value, rel=tolerance, abs=1e-10), (record["id"], name)
    assert seen == set(CURVES)


def test_errors_of_splines_where_lrm_stops(records, reference_data):
    """To 1e-9 after the steps that lrm takes: one more after the deviance has changed by less than 0.025."""
    found = [record for record in records("clinical_ici") if "rcs" in record["call"]]
    assert len(found) == 10
    for record in found:
        p, y = rows(record, reference_data)
        x, n_knots = logit(p), int(record["call"].rpartition(",")[2][0])
        knots = np.quantile(x, KNOTS[n_knots])
        if len(x) < FEW:
            knots[[0, -1]] = np.sort(x)[[4, -5]]
        basis = np.column_stack([np.ones_like(x), spline_basis(x, knots)])
        errors = errors_of(expit(basis @ newton_of_lrm(basis, y)), p)
        for name, value in record["value"].items():
            assert errors[name.lower()] == pytest.approx(value, rel=1e-9), (record["id"], name)


def newton_of_lrm(basis, y, eps=0.025):
    """Newton's method from the intercept alone, with the stopping rule of rms 6.5.0."""
    b = np.zeros(basis.shape[1])
    b[0] = logit(y.mean())
    before, last = np.inf, False
    for _ in range(50):
        q = expit(basis @ b)
        deviance = -2 * (xlogy(y, q) + xlog1py(1 - y, -q)).sum()
        if last:
            return b
        last, before = abs(before - deviance) < eps, deviance
        b = b + np.linalg.solve(basis.T @ ((q * (1 - q))[:, None] * basis), basis.T @ (y - q))
    raise AssertionError("no convergence")


def test_the_local_fits_of_loess_without_interpolation(records, reference_data):
    found = [record for record in records("clinical_ici") if "direct" in record["call"]]
    assert len(found) == 5
    for record in found:
        p, y = rows(record, reference_data)
        order = np.argsort(p)
        fitted = np.array([_local_parabola(p[order], y[order].astype(float), at)[0] for at in p])
        for name, value in errors_of(fitted, p).items():
            assert value == pytest.approx(record["value"][{"ici": "ICI"}.get(name, name.capitalize())], rel=1e-9)


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
    """And the errors of val.prob, which are those of lowess."""
    found = [record for record in records("clinical") if record["call"].startswith("rms::val.prob")]
    assert len(found) >= 4
    for record in found:
        p, y = rows(record, reference_data)
        value, tests = record["value"], bc.calibration_tests(y, p)
        assert tests.z == pytest.approx(value["S:z"], rel=1e-9)
        assert tests.p_spiegelhalter == pytest.approx(value["S:p"], rel=1e-8)
        errors = errors_of(CURVES["lowess"](p, y.astype(float)), p)
        assert errors["ici"] == pytest.approx(value["Eavg"], rel=1e-9)
        assert errors["e90"] == pytest.approx(value["E90"], rel=1e-9)


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
