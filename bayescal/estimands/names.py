"""Other names of quantities, as in papers and other programs -> what this package calls them, for messages."""

from collections.abc import Iterable

from bayescal import _checks
from bayescal.estimands.estimand import Estimand, letters
from bayescal.estimands.registry import FORMER, registered

#: Shortest beginning of a name that is completed, as "brier" is to "brier_score".
SHORTEST = 4
#: Names that are no estimand of one evaluation, in small letters, and what to do.
_ELSEWHERE = {
    "mce": "No interval of the maximum calibration error (MCE) is reliable: `e90_bins` is the 90th percentile of the "
    "error (E90 of bins), `bayescal.largest_error(evaluation.bin_draws)` draws the MCE, and "
    "`bayescal.plug_in_error(y_true, y_prob, order=float('inf'))` is its plug-in value.",
    "ace": "ACE has two meanings. The adaptive calibration error is the `ece` of "
    "`bayescal.evaluate(..., binning='equal-mass')`, for classes with `target='classwise'`; the average calibration "
    "error is no estimand of this package.",
    "sce": "The classwise ECE is the `ece` of `bayescal.evaluate(..., target='classwise')`.",
}
_ELSEWHERE |= dict.fromkeys(
    ("kuiper", "kuiperstatistic", "cemp", "pkuiper"),
    "The Kuiper statistic (c_emp) is `bayescal.cumulative_difference(outcome, score).kuiper`.",
)
_ELSEWHERE |= dict.fromkeys(
    ("ks", "kserror", "ksstatistic", "kolmogorovsmirnov", "kolmogorovsmirnovstatistic", "pkolmogorovsmirnov"),
    "The Kolmogorov-Smirnov statistic is `bayescal.cumulative_difference(outcome, score).kolmogorov_smirnov`.",
)
_ELSEWHERE |= dict.fromkeys(
    ("ici", "eavg", "integratedcalibrationindex", "e50", "emax"),
    "ICI, E50 and Emax belong to a smooth curve: `bayescal.calibration_curve(y_true, y_prob)` has `ici`, `e50`, `e90` "
    "and `emax`.",
)
_ELSEWHERE["e90"] = (
    "The 90th percentile of the absolute error is `e90_bins` over bins, and `e90` of "
    "`bayescal.calibration_curve(y_true, y_prob)` along a smooth curve."
)
_ELSEWHERE |= dict.fromkeys(("maxcalibrationerror", "maximumcalibrationerror"), _ELSEWHERE["mce"])
_ELSEWHERE |= dict.fromkeys(("adaptiveece", "adaptivecalibrationerror"), _ELSEWHERE["ace"])
_ELSEWHERE |= dict.fromkeys(("classwiseece", "staticcalibrationerror"), _ELSEWHERE["sce"])


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


def hint(name: str, written: str, known: Iterable[str] = ()) -> str:
    """Return what to write in place of an attribute that does not exist, or similar names; may be empty.

    Parameters
    ----------
    name : str
        The attribute.
    written : str
        How an estimand is written instead, with ``{}`` for its name.
    known : iterable of str, optional
        Attributes that exist, besides estimands.

    Returns
    -------
    str
        A sentence after a space, or an empty string.
    """
    meant = estimand_called(name)
    if meant is not None:
        title = meant.title if meant.title == meant.symbol else f"{meant.title} ({meant.symbol})"
        return f" The {title} is `{written.format(meant.name)}`."
    elsewhere = _ELSEWHERE.get(letters(name))
    if elsewhere:
        return f" {elsewhere}"
    return _checks.did_you_mean(name, [*(word for word in known if not word.startswith("_")), *registered()])
