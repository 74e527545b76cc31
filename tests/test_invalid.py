"""Findings of invalid rows: their fields and their messages."""

import pickle

import numpy as np
import pyarrow as pa
import pytest

import bayescal
from bayescal import _checks
from bayescal._invalid import Finding, InvalidRows, quoted
from bayescal.data.files.predictions import open_predictions


def test_a_message_says_everything():
    values = np.array([0.1, 12.4, 0.3, -1.0])
    with pytest.raises(
        ValueError, match=r"^`y_prob` must lie in \[0, 1\]; 2 of 4 values do not, first at index 1: 12.4. Why\?$"
    ):
        _checks.refuse("y_prob", "must lie in [0, 1]", (values < 0) | (values > 1), values, hint="Why?")


def test_findings_are_alike_if_argument_and_rule_are():
    def finding(name, rule):
        with pytest.raises(ValueError, match=rule) as caught:
            _checks.refuse(name, rule, np.array([True]))
        return caught.value.finding

    assert finding("a", "must be odd").is_like(finding("a", "must be odd"))
    assert not finding("a", "must be odd").is_like(finding("a", "must be even"))
    assert not finding("a", "must be odd").is_like(finding("b", "must be odd"))
    assert not finding("a", "must be odd").is_like("must be odd")


def test_a_finding_is_of_all_that_is_wrong_unless_it_says_at_least():
    with pytest.raises(ValueError, match=r"1 of 2 values") as caught:
        _checks.refuse("a", "must be odd", np.array([False, True]))
    found = caught.value.finding
    assert (found.first, found.count, found.size, found.at_least) == ((1,), 1, 2, False)


def test_invalid_rows_carry_what_they_say():
    """Fields and message agree, also after pickling, as when a pool of processes returns the error."""
    with pytest.raises(ValueError, match="must lie in") as caught:
        bayescal.evaluate([0, 1, 1], [0.5, 70, 90.5])
    for problem in (caught.value, pickle.loads(pickle.dumps(caught.value))):
        assert isinstance(problem, InvalidRows)
        found = problem.finding
        assert (found.argument, found.rule, found.hint) == (
            "y_prob", "must lie in [0, 1]", "Percentages? Divide by 100.",
        )  # fmt: skip
        assert (found.count, found.size, found.first, found.value) == (2, 3, (1,), 70)
        assert str(problem) == (
            "`y_prob` must lie in [0, 1]; 2 of 3 values do not, first at index 1: 70. Percentages? Divide by 100."
        )


def test_invalid_rows_of_a_model_keep_their_record():
    with pytest.raises(InvalidRows, match=r"^classifier 'b': `y_prob` must lie in \[0, 1\]; 1 of 2") as caught:
        bayescal.compare([0, 1], {"a": [0.5, 0.5], "b": [0.5, 7]})
    assert (caught.value.finding.argument, caught.value.finding.first) == ("y_prob", (1,))


def test_a_file_without_values_and_a_query_raise_invalid_rows(tmp_path):
    file = tmp_path / "rows.csv"
    file.write_text("label,p\n0,0.5\n1,\n")
    with pytest.raises(
        InvalidRows, match=r"^column 'p' must be complete; it has no value in 1 of 2 rows, first in line 3\."
    ):
        open_predictions(file, label="label", prob="p").read()
    with pytest.raises(
        InvalidRows, match=r"^`confidence` \(column 'p'\) must lie in \[0, 1\]; 2 of 2 values do not, from"
    ) as caught:
        bayescal.BinnedCounts.from_frame(pa.table({"outcome": [0, 1], "p": [-1.0, 7.0]}), confidence="p")
    found = caught.value.finding
    assert (found.argument, found.first, found.span) == ("confidence", None, (-1.0, 7.0))


def test_example_of_finding():
    finding = Finding(argument="p", rule="must lie in [0, 1]", count=2, size=9, first=(4,), value=7.0, shown="7")
    assert str(finding) == "`p` must lie in [0, 1]; 2 of 9 values do not, first at index 4: 7."
    assert (
        finding.sentence(called="column 'p'", place="in line 6")
        == "column 'p' must lie in [0, 1]; 2 of 9 values do not, first in line 6: 7."
    )


def test_example_of_quoted():
    assert quoted("a name") == "'a name'"
    assert quoted("ab" * 500_000)[-30:] == "babab'… (1,000,000 characters)"
