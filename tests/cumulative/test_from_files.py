"""Files of rows and of counts -> results of the library, their sheets, and what is saved."""

import numpy as np
import pytest

import bayescal as bc
from bayescal.cli.options import ColumnOptions
from bayescal.cumulative.from_files import WORDS, cumulative_of_file
from bayescal.cumulative.options import CumulativeModelOptions, CumulativeOptions, CumulativeOutputOptions

COLUMNS = ColumnOptions(label="y", prob="p")
#: Residuals of 0.8, -0.4, 0.4 and -0.8.
ROWS = "y,p,site\n1,0.2,a\n0,0.4,b\n1,0.6,a\n0,0.8,b\n"


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text(ROWS)
    return path


def result_of(file, *, groups=None, model=None, columns=COLUMNS):
    options = groups or CumulativeOptions(), model or CumulativeModelOptions(draws=50)
    return cumulative_of_file(file, columns, *options, CumulativeOutputOptions())


def test_rows_have_a_posterior_whose_document_includes_them(file):
    done = result_of(file)
    assert done.result.curve == pytest.approx([0, 0.2, 0.1, 0.2, 0])
    assert done.result.kuiper == pytest.approx(0.2)
    assert [sheet.sentence for sheet in done.sheets(80)] == [done.result.sentence(), done.posterior.sentence()]
    assert done.contents()["json"]()["observed"]["rows"] == 4
    assert done.parameters == {
        **{"file": "rows.csv", "rows": 4, "label": "y", "prob": "p"},
        **{"model": "pooled", "draws": 50, "seed": 1, "below": 0.02},
    }


def test_groups_have_no_posterior(file):
    alone = CumulativeModelOptions()
    screen = result_of(file, groups=CumulativeOptions(by="site"), model=alone)
    assert (set(screen.result), screen.posterior) == ({"a", "b"}, None)
    one = result_of(file, groups=CumulativeOptions(by="site", value="a"), model=alone)
    assert one.result.group == "site = a"
    assert len(one.sheets(80)) == 1
    with pytest.raises(ValueError, match=r"column 'site' has no value 'c'; it has 'a', 'b' \(2 values\)"):
        result_of(file, groups=CumulativeOptions(by="site", value="c"), model=alone)


def test_a_part_of_counts(tmp_path):
    counts = bc.BinnedCounts.from_arrays([1, 0, 1, 0], [0.2, 0.4, 0.6, 0.8], bins=10)
    path = bc.save_counts(counts, tmp_path / "counts.json")
    done = result_of(path, groups=CumulativeOptions(zoom="0,0.5"), columns=ColumnOptions())
    assert done.result.curve == pytest.approx([0, 0.4, 0.2])
    assert done.parameters["bins"] == 10


def test_words_that_are_replaced_are_those_of_the_library():
    """Each key of the replacements occurs in a text of a result."""
    rng = np.random.default_rng(1)
    score = rng.random(200) / 100
    cd = bc.cumulative.difference(rng.random(200) < score, score)
    screen = bc.cumulative.screen(rng.random(200), score, np.arange(200) % 40)
    texts = " ".join(f"{each} {each.details()}" for each in (cd, cd.posterior(50, rng=1), screen))
    for words in WORDS:
        assert words in " ".join(texts.split())
