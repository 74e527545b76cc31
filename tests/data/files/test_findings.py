"""Invalid values in blocks are reported once, about all rows, with the line of the first."""

import numpy as np
import pytest
from file_tables import write

from bayescal import _checks
from bayescal._invalid import InvalidRows
from bayescal.data.files.findings import BlockFindings, NamedColumns, sums_of_file
from bayescal.data.files.formats import open_source
from bayescal.data.reading import unit_rows


@pytest.fixture
def stream(tmp_path):
    """A file of nine rows, whose first row is in line 2."""
    source = open_source(write(tmp_path / "x.csv", "label,p\n" + "0,0.5\n" * 9))
    return NamedColumns(source, {"y_prob": "column 'p'"}, ("p", "q", "r"))


def test_blocks_are_numbered_within_the_file(stream):
    findings = BlockFindings(stream)
    for block in ([0.5, 0.5, 0.5], [0.5, 7.0, 8.0], [0.5, 0.5, 9.0]):
        with findings.block(3):
            _checks.probabilities("y_prob", np.array(block))
    with pytest.raises(
        InvalidRows, match=r"^column 'p' must lie in \[0, 1\]; 3 of 9 values do not, first in line 6: 7"
    ):
        findings.report()


def test_a_block_that_breaks_another_rule_may_hide_more(stream):
    findings = BlockFindings(stream)
    for block in ([0.5, 7.0, 0.5], [0.5, np.nan, 0.5]):
        with findings.block(3):
            _checks.probabilities("y_prob", np.array(block))
    with pytest.raises(InvalidRows, match=r"at least 1 of 6 values"):
        findings.report()


def test_blocks_without_findings_report_nothing(stream):
    findings = BlockFindings(stream)
    with findings.block(2):
        _checks.probabilities("y_prob", np.array([0.0, 1.0]))
    findings.report()


def test_other_errors_are_raised_at_once(stream):
    with pytest.raises(KeyError), BlockFindings(stream).block(2):
        raise KeyError("p")


def problem_of(matrix):
    with pytest.raises(InvalidRows) as raised:
        unit_rows("y_prob", matrix, whole=False)
    return raised.value


def test_sums_of_all_blocks_say_whether_rows_are_rounded(stream):
    """Thirds to two decimals sum to 0.99; with an entry of seven decimals anywhere in the file, this is no rounding."""
    thirds, exact = np.full((1, 3), 0.33), np.array([[0.25, 0.25, 0.5]])
    sums = sums_of_file(problem_of(thirds), lambda: iter([thirds, exact]), stream)
    assert (sums.off, sums.decimals, sums.accepted) == (1, 2, True)
    long = np.array([[0.1234567, 0.3765433, 0.5]])
    with pytest.raises(
        InvalidRows, match=r"column 'p' must have rows that sum to 1; 1 of 2 values does not, first in line 2"
    ):
        sums_of_file(problem_of(thirds), lambda: iter([thirds, long]), stream)


def test_a_problem_that_is_not_about_sums_is_raised_again(stream):
    with pytest.raises(InvalidRows) as raised:
        _checks.probabilities("y_prob", np.array([7.0]))
    with pytest.raises(InvalidRows) as again:
        sums_of_file(raised.value, lambda: iter([]), stream)
    assert again.value is raised.value
