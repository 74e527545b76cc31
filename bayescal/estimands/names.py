"""Other names of quantities, as in papers and other programs -> what this package calls them, for messages."""

from bayescal._meant import letters
from bayescal.estimands.estimand import Estimand
from bayescal.estimands.registry import FORMER, registered

#: Shortest beginning of a name that is completed, as "brier" is to "brier_score".
SHORTEST = 4


def estimand_called(name: str) -> Estimand | None:
    """Return the registered estimand with this name or synonym, in any spelling; None if there is none.

    Examples
    --------
    >>> [estimand_called(name).name for name in ("roc_auc_score", "LogLoss", "brier", "RMSCE")]
    ['auc', 'log_score', 'brier_score', 'l2_error']
    """
    asked = letters(name)
    called = {
        letters(word): each
        for each in reversed(registered().values())  # of two with one synonym, the first counts
        for word in (*each.synonyms, each.title, each.symbol, each.name)
    }
    called |= {letters(former): registered()[name] for former, name in FORMER.items()}
    if asked in called:
        return called[asked]
    if len(asked) < SHORTEST:
        return None
    longer = [each for word, each in called.items() if word.startswith(asked)]
    within = [word for word in called if len(word) >= SHORTEST and asked.startswith(word)]
    return longer[-1] if longer else called[max(within, key=len)] if within else None


def hint(name: str, written: str) -> str:
    """Return how an estimand is written, if an attribute that does not exist is another name of it.

    Parameters
    ----------
    name : str
        The attribute.
    written : str
        How an estimand is written instead, with ``{}`` for its name.

    Returns
    -------
    str
        A sentence after a space, or an empty string.
    """
    meant = estimand_called(name)
    if meant is None:
        return ""
    title = meant.title if meant.title == meant.symbol else f"{meant.title} ({meant.symbol})"
    return f" The {title} is `{written.format(meant.name)}`."
