"""The table of rules, and all code that checks rows, on values just inside and just outside every rule."""

import warnings

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import bayescal as bc
from bayescal import _rules
from bayescal._invalid import InvalidRows
from bayescal.app import app
from bayescal.data.predictions import Predictions
from bayescal.stats._kernel import accumulate, accumulate_classes
from bayescal.stats.bins import make_bins

NAN, INF, TINY = float("nan"), float("inf"), 5e-324
COMPLETE, FINITE = "must be complete", "must be finite"
BINARY, UNIT = "must be binary labels, 0 or 1", "must lie in [0, 1]"
POSITIVE, SUMMABLE = "must be >= 0", "must be below 1e+140, so that squares can be summed over batches"
NOT_FINITE = [(NAN, COMPLETE), (INF, FINITE), (-INF, FINITE)]


def beside(value, towards):
    return float(np.nextafter(value, towards))


#: Column -> values, each with the rule that it breaks, or None.
CASES = {
    "outcome": [
        *((value, None) for value in (0.0, -0.0, 1.0)),
        *((value, BINARY) for value in (TINY, -TINY, beside(1, 0), beside(1, 2), 0.5, 2.0, -1.0)),
        *NOT_FINITE,
    ],
    "confidence": [
        *((value, None) for value in (0.0, -0.0, TINY, 0.5, beside(1, 0), 1.0, beside(1, 2), -1e-6, 1 + 1e-6)),
        *((value, UNIT) for value in (beside(-1e-6, -1), beside(1 + 1e-6, 2), -2.0, 1.5, 70.0, 1e300)),
        *NOT_FINITE,
    ],
    "weights": [
        *((value, None) for value in (0.0, -0.0, TINY, 1.0, beside(1e140, 0))),
        *((value, POSITIVE) for value in (-TINY, -1.0, -1e300)),
        *((value, SUMMABLE) for value in (1e140, 1e300)),
        *NOT_FINITE,
    ],
}
GOOD = {"outcome": [0.0, 1.0, 1.0], "confidence": [0.2, 0.7, 0.9], "weights": [1.0, 1.0, 1.0]}
#: Arguments of `from_arrays`.
ARGUMENTS = {"outcome": "y_true", "confidence": "y_prob"}
ENGINES = {
    "pandas": lambda t: t.to_pandas(),
    "pandas nullable": lambda t: t.to_pandas(types_mapper={pa.float64(): pd.Float64Dtype()}.get),
    "polars": pl.from_arrow,
    "polars lazy": lambda t: pl.from_arrow(t).lazy(),
    "pyarrow": lambda t: t,
    "duckdb": duckdb.from_arrow,
}


def in_loops(choice):
    def count(columns, folder, monkeypatch):
        monkeypatch.setenv("BAYESCAL_COMPILE", choice)
        arrays = {name: np.array(values) for name, values in columns.items()}
        bc.BinnedCounts.from_arrays(arrays["outcome"], arrays["confidence"], weights=arrays["weights"], bins=5)

    return count


def as_predictions(columns, folder, monkeypatch):
    rows = Predictions.from_outcomes(columns["outcome"], columns["confidence"], columns["weights"])
    bc.BinnedCounts.from_predictions(rows)


def in_engine(engine):
    def count(columns, folder, monkeypatch):
        bc.BinnedCounts.from_frame(ENGINES[engine](pa.table(columns)), weights="weights")

    return count


def by_command(suffix):
    def count(columns, folder, monkeypatch):
        path, table = folder / f"rows{suffix}", pa.table(columns)
        if suffix == ".parquet":
            pq.write_table(table, path)
        else:
            rows = zip(*columns.values(), strict=True)
            path.write_text("\n".join([",".join(columns), *(",".join(map(repr, row)) for row in rows)]) + "\n")
        names = ("--label", "outcome", "--prob", "confidence", "--weights", "weights")
        done = CliRunner().invoke(app, ["count", str(path), *names, "-o", str(folder / "counts.json")])
        if done.exit_code:
            raise ValueError(done.stderr)

    return count


FORMS = {
    "compiled loops": in_loops("always"),
    "numpy loops": in_loops("never"),
    "predictions": as_predictions,
    **{engine: in_engine(engine) for engine in ENGINES},
    "csv": by_command(".csv"),
    "parquet": by_command(".parquet"),
}


@pytest.mark.parametrize("column", CASES)
def test_the_table_itself(column):
    for value, words in CASES[column]:
        broken = [rule.words for rule in _rules.ROW[column] if not rule.holds(np.array([value])).all()]
        assert (broken or [None])[0] == words, value


@pytest.mark.parametrize("column", CASES)
def test_a_rule_names_the_values_that_break_it(column):
    for value, words in CASES[column]:
        for rule in _rules.ROW[column]:
            if rule.words == words:
                with pytest.raises(InvalidRows) as caught:
                    rule.require(column, np.array([0.0, value]))
                found = caught.value.finding
                assert (found.argument, found.rule, found.count, found.first) == (column, words, 1, (1,))


@pytest.mark.slow
@pytest.mark.parametrize("column", CASES)
@pytest.mark.parametrize("form", FORMS)
def test_every_form_has_the_rules_of_the_table(form, column, tmp_path, monkeypatch):
    """A file cannot tell NaN from other text that is no number, and says so for both."""
    of_file = form in ("csv", "parquet")
    for value, words in CASES[column]:
        columns = {**GOOD, column: [GOOD[column][0], value, GOOD[column][2]]}
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", ".*taken as rounding")
            if words is None:
                FORMS[form](columns, tmp_path, monkeypatch)
                continue
            with pytest.raises(ValueError, match="must") as caught:
                FORMS[form](columns, tmp_path, monkeypatch)
        if of_file:
            expected = "must hold numbers" if words == COMPLETE else words
            assert f"column '{column}' {expected}" in str(caught.value), value
        else:
            argument = ARGUMENTS.get(column, column) if form in ("compiled loops", "numpy loops") else column
            assert (caught.value.finding.argument, caught.value.finding.rule) == (argument, words), value
            assert (caught.value.finding.count, caught.value.finding.size) == (1, 3)
            if form not in ENGINES:
                assert caught.value.finding.first == (1,)


@pytest.mark.parametrize("column", CASES)
@pytest.mark.parametrize("choice", ["always", "never"])
def test_loops_take_every_valid_value_without_a_second_look(choice, column, monkeypatch):
    """Clipping and the largest weight are left to the caller of the loops."""
    monkeypatch.setenv("BAYESCAL_COMPILE", choice)
    for value, words in CASES[column]:
        columns = {**GOOD, column: [value, *GOOD[column][1:]]}
        arrays = [np.array(columns[name]) for name in ("confidence", "outcome", "weights")]
        taken = accumulate(*arrays, make_bins(5)) is not None
        assert taken == ((words is None and not (column == "confidence" and not 0 <= value <= 1)) or words == SUMMABLE)


# --- matrices


def matrix_with(entry, n_classes, dtype=np.float64):
    """Three rows; of the second one, a column has this entry and another what is left of 1."""
    matrix = np.full((3, n_classes), 1 / n_classes, dtype)
    matrix[1] = 0
    matrix[1, :2] = entry, 1 - entry
    return matrix


def counted(choice, target):
    def count(label, matrix, monkeypatch):
        monkeypatch.setenv("BAYESCAL_COMPILE", choice)
        if target == "classwise":
            return bc.BinnedCounts.classwise(label, matrix)
        return bc.evaluate(label, matrix, rng=1, draws=2)

    return count


MATRIX_FORMS = {
    **{f"{target}, {c}": counted(c, target) for target in ("classwise", "top") for c in ("always", "never")},
    "predictions": lambda label, matrix, monkeypatch: Predictions.classwise(label, matrix),
}  # fmt: skip


@pytest.mark.parametrize("n_classes", [2, 30])
@pytest.mark.parametrize("form", MATRIX_FORMS)
def test_every_form_has_the_rules_of_a_matrix(form, n_classes, monkeypatch):
    for value, words in CASES["confidence"]:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", ".*(taken as rounding|invalid value)")
            matrix = matrix_with(value, n_classes)
            if words is None:
                MATRIX_FORMS[form]([0, 1, 1], matrix, monkeypatch)
                continue
            with pytest.raises(InvalidRows) as caught:
                MATRIX_FORMS[form]([0, 1, 1], matrix, monkeypatch)
        assert (caught.value.finding.argument, caught.value.finding.rule) == ("y_prob", words), value
        assert caught.value.finding.first == (1, 0)


@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 1e-3), (np.float32, 1e-3), (np.float16, 2e-2)])
@pytest.mark.parametrize("n_classes", [2, 30])
@pytest.mark.parametrize("form", MATRIX_FORMS)
def test_every_form_has_the_tolerance_of_sums(form, n_classes, dtype, tolerance, monkeypatch):
    for off, fine in ((0.9, True), (-0.9, True), (1.1, False), (-1.1, False)):
        matrix = matrix_with(0.5, n_classes, dtype)
        matrix[1, 1] += off * tolerance
        if fine:
            MATRIX_FORMS[form]([0, 1, 1], matrix, monkeypatch)
            continue
        with pytest.raises(InvalidRows, match=r"^`y_prob` must have rows that sum to 1; 1 of 3 values") as caught:
            MATRIX_FORMS[form]([0, 1, 1], matrix, monkeypatch)
        assert caught.value.finding.rule == _rules.SUMS_TO_ONE.words
        assert not _rules.SUMS_TO_ONE.holds(matrix.sum(axis=1, dtype=float))[1]


@pytest.mark.parametrize("form", MATRIX_FORMS)
def test_every_form_has_the_rules_of_class_numbers(form, monkeypatch):
    outside = "must be class numbers 0..2, the columns of `y_prob`"
    integer = "must be integer class numbers"
    cases = [*((value, None) for value in (0.0, 1.0, 2.0)), *((v, outside) for v in (-1.0, 3.0, -TINY, beside(2, 3)))]
    cases += [*((value, integer) for value in (0.5, TINY, beside(2, 0))), *NOT_FINITE]
    assert _rules.class_number(3).words == outside
    for value, words in cases:
        label, matrix = np.array([0.0, value, 2.0]), np.full((3, 3), 1 / 3)
        if words is None:
            MATRIX_FORMS[form](label, matrix, monkeypatch)
            continue
        with pytest.raises(InvalidRows) as caught:
            MATRIX_FORMS[form](label, matrix, monkeypatch)
        assert (caught.value.finding.argument, caught.value.finding.rule) == ("y_true", words), value


@pytest.mark.parametrize("choice", ["always", "never"])
def test_loops_over_classes_take_valid_matrices_without_a_second_look(choice, monkeypatch):
    monkeypatch.setenv("BAYESCAL_COMPILE", choice)
    for value, fine in ((0.0, True), (TINY, True), (1.0, True), (-TINY, False), (beside(1, 2), False), (NAN, False)):
        matrix, label = matrix_with(value, 2), np.array([0, 1, 1])
        assert (accumulate_classes(matrix, label, None, make_bins(5), 1e-3) is not None) == fine, value


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("0,1.0000009,-0.0000009", None),
        ("0,0.5,0.5009", None),
        ("0,0.5,0.5011", "must have rows that sum to 1"),
        ("0,1.0000011,-0.0000011", UNIT),
        ("0,inf,0.5", FINITE),
        ("0,nan,0.5", "must hold numbers"),
        ("2,0.5,0.5", "must be labels from --classes [0, 1]"),
    ],
)
@pytest.mark.parametrize("target", ["top-label", "classwise"])
def test_the_command_line_has_the_rules_of_a_matrix(target, line, said, tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text(f"label,p_0,p_1\n1,0.2,0.8\n{line}\n")
    asked = ["report", str(path), "--label", "label", "--prob-prefix", "p_", "--target", target, "--draws", "2"]
    done = CliRunner().invoke(app, asked)
    assert done.exit_code == (0 if said is None else 2), done.output
    if said is not None:
        assert said in done.stderr
        assert "first in line 3" in done.stderr
