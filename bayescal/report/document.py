"""Results as data for JSON documents."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from bayescal._version import __version__
from bayescal.draws import Draws
from bayescal.results.classwise import ClasswiseEvaluation
from bayescal.results.comparison import Comparison
from bayescal.results.evaluation import Evaluation
from bayescal.results.wording import SMALL_ECE

#: Changes when a reader of the file would have to change.
SCHEMA, COMPARISON_SCHEMA = "bayescal.report/1", "bayescal.compare/1"
#: Probability of all intervals in documents and on the command line.
PROB = 0.95
#: Half-widths of practical equivalence at which its probability is saved, beside the one that was asked for.
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
        ``bins``, a list of bins; with ``target="classwise"`` in place of it ``classes``, each with its ``bins``.
    """
    found: dict[str, Any] = {
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
        return {**found, "bins": bin_table(evaluation)}
    return {**found, "classes": [{"label": label, "bins": bin_table(evaluation[label])} for label in evaluation]}


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
        Keys schema, bayescal (version), spec, sentence, parameters, interval; ``differences``, one
        record for each pair of models, with the probability of practical equivalence at several widths; ``models``,
        one record each, with the table and the bins of its own evaluation.
    """
    differences = comparison.table(PROB, estimand=estimand)
    widths = sorted({*ROPES, comparison.rope})
    for row in differences:
        shares = comparison.rope_curve(widths, row["first"], row["second"], estimand)
        row["p_within"] = [{"rope": w, "probability": p} for w, p in zip(widths, shares, strict=True)]
    models = comparison.models(PROB, estimand=estimand)
    for row in models:
        evaluation = comparison[row["model"]]
        row |= {"question": evaluation.question, "table": evaluation.table(PROB), "bins": bin_table(evaluation)}
    return {
        "schema": COMPARISON_SCHEMA,
        "bayescal": __version__,
        "spec": comparison.spec,
        "sentence": comparison.sentence(PROB, estimand=estimand),
        "parameters": dict(parameters),
        "interval": {"probability": PROB, "kind": "equal-tailed"},
        "differences": differences,
        "models": models,
    }


def bin_table(evaluation: Evaluation) -> list[dict[str, Any]]:
    """Return one record per bin; means, shares and interval are missing (NaN) where a bin has no rows."""
    counts = evaluation.counts
    ends = np.where(counts.occupied, Draws(evaluation.bins.accuracy).interval(PROB), np.nan)
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
