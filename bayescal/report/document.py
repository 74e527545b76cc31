"""Results as data for JSON documents."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from bayescal._version import __version__
from bayescal.draws import Draws
from bayescal.estimands.registry import as_estimand
from bayescal.results.classwise import ClasswiseEvaluation
from bayescal.results.comparison import Comparison
from bayescal.results.evaluation import Evaluation
from bayescal.results.wording import SMALL_ECE

#: Changes when a reader of the file would have to change.
SCHEMA, COMPARISON_SCHEMA = "bayescal.report/1", "bayescal.compare/2"
#: Probability of all intervals in documents and on the command line.
PROB = 0.95
#: Half-widths at which the probability of practical equivalence is saved, in addition to the rope of the comparison.
ROPES = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1)


def document(evaluation: Evaluation | ClasswiseEvaluation, parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return a result as data for JSON, without dates or names of machines.

    Parameters
    ----------
    evaluation : Evaluation or ClasswiseEvaluation
        The result.
    parameters : mapping
        Arguments with which the call can be repeated.

    Returns
    -------
    dict
        Keys schema, bayescal (version), spec, sentence, question, parameters, interval, table, probability_below and
        ``bins``, a list of bins. With ``target="classwise"``, ``classes``, each with its ``bins``, replaces ``bins``.
    """
    result: dict[str, Any] = {
        "schema": SCHEMA,
        "bayescal": __version__,
        "spec": evaluation.spec,
        "sentence": evaluation.sentence(PROB),
        "question": evaluation.question,
        "parameters": dict(parameters),
        "interval": {"probability": PROB, "kind": "equal-tailed"},
        "table": evaluation.table(PROB),
        "probability_below": {"ece": SMALL_ECE, "probability": evaluation.ece.pr(lambda e: e < SMALL_ECE)},
    }
    if isinstance(evaluation, Evaluation):
        return {**result, "bins": bin_table(evaluation)}
    return {**result, "classes": [{"label": label, "bins": bin_table(evaluation[label])} for label in evaluation]}


def comparison_document(comparison: Comparison, estimand: str, parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return a comparison as data for JSON, without dates or names of machines.

    Parameters
    ----------
    comparison : Comparison
        The result.
    estimand : str
        Name of the estimand.
    parameters : mapping
        Arguments with which the call can be repeated.

    Returns
    -------
    dict
        Keys schema, bayescal (version), spec, sentence, parameters, interval; ``estimand``, with its name, its title
        and ``better``, which states which values are better ("smaller", "larger" or "nearest zero"); ``differences``,
        one record per pair of classifiers, with the probability of practical equivalence at several half-widths;
        ``classifiers``, one record each, with the table and the bins of its own evaluation.
    """
    record, differences = as_estimand(estimand), comparison.table(PROB, estimand=estimand)
    ropes = sorted({*ROPES, comparison.rope})
    for row in differences:
        shares = comparison.rope_curve(ropes, row["first"], row["second"], estimand)
        row["p_within"] = [{"rope": rope, "probability": p} for rope, p in zip(ropes, shares, strict=True)]
    classifiers = comparison.each(PROB, estimand=estimand)
    for row in classifiers:
        evaluation = comparison[row[comparison.axis]]
        row |= {"question": evaluation.question, "table": evaluation.table(PROB), "bins": bin_table(evaluation)}
    return {
        "schema": COMPARISON_SCHEMA,
        "bayescal": __version__,
        "spec": comparison.spec,
        "sentence": comparison.sentence(PROB, estimand=estimand),
        "parameters": dict(parameters),
        "interval": {"probability": PROB, "kind": "equal-tailed"},
        "estimand": {"name": record.name, "title": record.title, "better": record.better},
        "differences": differences,
        "classifiers": classifiers,
    }


def bin_table(evaluation: Evaluation) -> list[dict[str, Any]]:
    """Return one record per bin; means, shares and interval are missing (NaN) where a bin has no rows."""
    counts = evaluation.counts
    ends = np.where(counts.occupied, Draws(evaluation.bin_draws.accuracy).interval(PROB), np.nan)
    columns = {
        "low": counts.bins.edges[:-1],
        "high": counts.bins.edges[1:],
        "n": counts.n,
        "k": counts.k,
        "mean_confidence": counts.mean_confidence,
        "accuracy": counts.accuracy,
        "accuracy_low": ends[0],
        "accuracy_high": ends[1],
    }
    rows = zip(*(np.asarray(column).tolist() for column in columns.values()), strict=True)
    return [dict(zip(columns, row, strict=True)) for row in rows]
