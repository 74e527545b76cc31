"""Tables as LaTeX."""

import re

import numpy as np
import pytest

import bayescal as bc
from bayescal._export import latex_table, latex_text


def rows(n=600):
    rng = np.random.default_rng(1)
    p = rng.random(n)
    return (rng.random(n) < p**1.2).astype(int), p


Y, P = rows()

FAST = {"draws": 200, "rng": 1}

EV = bc.evaluate(Y, P, **FAST)


def test_the_caption_is_text():
    text = EV.to_latex(caption=EV.sentence())
    caption = re.search(r"\\caption\{(.*)\}\n", text)[1]
    assert caption.replace(r"\%", "%") == EV.sentence()
    assert "\\caption{event ECE, 15 equal-width bins" in EV.to_latex()
    with pytest.raises(TypeError, match="`caption` must be text, not int"):
        EV.to_latex(caption=3)
    with pytest.raises(ValueError, match=r"`label` must hold only ASCII letters.*not 'a b'"):
        EV.to_latex(label="a b")
    enough = bc.planning.labels_needed(EV.counts, width=0.9, simulations=20, draws=200, rng=1)
    with pytest.raises(ValueError, match="has no table"):
        enough.to_latex()


def test_line_breaks_of_a_caption_are_spaces():
    """An empty line within the caption would end a paragraph, which LaTeX refuses there."""
    assert r"  \caption{one two three}" in EV.to_latex(caption="one two\n\n three").splitlines()


def test_latex_is_written_to_a_file(tmp_path):
    path = EV.to_latex(tmp_path / "table.tex", caption="ECE")
    assert path == tmp_path / "table.tex"
    assert path.read_text(encoding="utf-8") == EV.to_latex(caption="ECE")
    with pytest.raises(ValueError, match="`path` must end"):
        EV.to_latex(tmp_path / "table.txt")


def test_a_group_named_by_the_sign_of_a_missing_number():
    result = bc.evaluate([0, 1, 1, 0], [0.2, 0.7, 0.8, 0.4], by=["-", "-", "b", "b"], bins=2, rng=1)
    rows = [line.strip() for line in result.to_latex().splitlines()]
    assert [row.partition(" &")[0] for row in rows if row.endswith("\\\\")][-2:] == ["-", "b"]


def test_a_table_in_latex():
    assert latex_text("50 % of a_b") == r"50 \% of a\_b"
    assert latex_table(["", "n"], [["a_b", "-1"]], caption="Groups.").splitlines() == [
        r"\begin{table}",
        r"  \centering",
        r"  \caption{Groups.}",
        r"  \begin{tabular}{lr}",
        r"    \toprule",
        r"     & n \\",
        r"    \midrule",
        r"    a\_b & $-1$ \\",
        r"    \bottomrule",
        r"  \end{tabular}",
        r"\end{table}",
    ]
