"""Descriptions that many docstrings share: `public` adds them where they complete the list of parameters."""

import ast

import bayescal as bc
from bayescal._described import _shared_texts, described, with_imports
from bayescal._meant import public

SHARED = _shared_texts()
PROB, RNG, AX = SHARED["prob=0.95"], SHARED["rng=None"], SHARED["ax=None"]
HEAD = "Parameters\n----------"


def sentence(self, prob=0.95):
    """Say it."""


def table(self, prob=0.95):
    """Return rows.

    Returns
    -------
    list of dict
        Rows.
    """


def own(self, prob=0.95):
    """Return it.

    Parameters
    ----------
    prob : float, default 0.95
        Another meaning.
    """


def partly(first, *, prob=0.95, second, rng=None, **options):
    """Return it.

    It has a paragraph.

    Parameters
    ----------
    first : int
        A number,

        and a list.
    second, **options
        Others.

    Raises
    ------
    ValueError
        Never.
    """


def incomplete(first, other, *, prob=0.95):
    """Return it.

    Parameters
    ----------
    first : int
        A number.
    """


def unknown(self, prob=0.95, *, other=None):
    """Return it."""


def passed_on(self, prob=0.95, **options):
    """Return it."""


def several(*values, prob=0.95):
    """Return it."""


def needed(self, estimand, rng=0):
    """Return it."""


def none(self):
    """Return it."""


def summary(self, prob=0.9, **options):
    """Return it."""


def test_a_docstring_without_a_section_gets_one():
    assert described(sentence) == f"Say it.\n\n{HEAD}\n{PROB}"
    assert described(table) == f"Return rows.\n\n{HEAD}\n{PROB}\n\nReturns\n-------\nlist of dict\n    Rows."


def test_missing_parameters_are_inserted_in_the_order_of_the_signature():
    entries = f"first : int\n    A number,\n\n    and a list.\n{PROB}\nsecond, **options\n    Others.\n{RNG}"
    expected = f"Return it.\n\nIt has a paragraph.\n\n{HEAD}\n{entries}\n\nRaises\n------\nValueError\n    Never."
    assert described(partly) == expected


def test_a_list_stays_as_it_is_unless_it_becomes_complete():
    for function in (own, incomplete, unknown, passed_on, several, needed, none):
        assert described(function) is function.__doc__


def test_a_description_holds_for_one_default():
    assert described(summary) is summary.__doc__  # its default is 0.9
    summary.__defaults__ = (0.95,)
    assert described(summary) == f"Return it.\n\n{HEAD}\n{PROB}\n{SHARED['options of summary']}"
    for key, text in SHARED.items():
        name, _, written = key.partition("=")
        default = ast.literal_eval(written) if written else None
        head, is_options = text.partition("\n")[0], key.startswith("options of ")
        assert head == "**options" if is_options else head.startswith(f"{name} : ")
        assert ("default" in head) == isinstance(default, float | int | str) or is_options
        assert f"default {default}" in head.replace('"', "") or "default" not in head


def test_plots_return_their_axes():
    def plot(result, ax=None):
        """Draw it.

        Parameters
        ----------
        result : Evaluation
            The result.
        """

    returned = "Returns\n-------\nmatplotlib Axes\n    `ax`, or the new one; its ``.figure`` saves the picture."
    assert described(plot) == f"Draw it.\n\n{HEAD}\nresult : Evaluation\n    The result.\n{AX}\n\n{returned}"


def test_plots_with_a_colour_state_their_errors_behind_what_they_return():
    def plot(result, ax=None, color=None):
        """Draw it.

        Parameters
        ----------
        result, ax, color
            Some.

        Returns
        -------
        matplotlib Axes
            Two of them.

        Notes
        -----
        A note.
        """

    text = described(plot)
    errors = text.index("Raises\n------\nTypeError\n    If `result` is something else")
    assert text.index("Two of them.") < errors < text.index("Notes")
    plot.__doc__ = text
    assert described(plot) == text


def test_the_mark_completes_functions_and_methods():
    def interval(prob=0.95):
        """Return it."""

    assert PROB in public(interval).__doc__
    assert PROB in bc.Evaluation.row.__doc__
    assert "bin_draws : BinDraws\n    Draws of the bins." in bc.estimands.ece.__doc__
    assert "estimand : str" in bc.Comparison.p_best.__doc__
    assert AX in bc.plot.__doc__
    assert "estimand : str" in bc.Comparison.sentence.__doc__  # which escapes what it returns


def test_examples_begin_with_the_usual_imports_of_what_they_use():
    text = """Return it, as `bc.evaluate`.

    Examples
    --------
    Two values:

    >>> import json
    >>> abc.simulated = bc.evaluate(np.zeros(2), [0, 1])
    """
    imports = ">>> import numpy as np\n    >>> import bayescal as bc\n    "
    expected = text.replace(">>> import json", f"{imports}>>> import json")
    assert with_imports(text) == expected
    assert with_imports(expected) is expected
    for other in ("Return it, as `bc.evaluate` of np.zeros.", ">>> abc.np", None):
        assert with_imports(other) is other


def test_the_mark_completes_examples_of_functions_classes_and_methods():
    for thing in (bc.evaluate, bc.Draws, bc.Evaluation.regret):
        assert thing.__doc__.count(">>> import numpy as np\n") == 1
        assert thing.__doc__.count(">>> import bayescal as bc\n") == 1
    assert ">>> from matplotlib.figure import Figure\n" in bc.plot.__doc__
