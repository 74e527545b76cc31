"""Logs of evaluations of language models, read as their programs write them.

`lm_eval` reads the files ``samples_*.jsonl`` of lm-evaluation-harness, `inspect` the logs of Inspect, ``.eval`` and
``.json``, and `json_lines` those of other programs. All return `Answers`: for each answer whether it was right, its
confidence, its subject, its question, its epoch and its model. `Answers.rows` gives the arguments of
`bayescal.evaluate`, and `matched` those of `bayescal.compare` for several models on the same questions, and `judged`
those of `bayescal.labels.judged` for a judge's grades and a person's. None of the programs needs to be installed.

Examples
--------
Answers of one subject, and the arguments of `bayescal.evaluate`:

>>> import bayescal as bc
>>> answers = bc.read.Answers([True, False, True, True], [0.9, 0.8, 0.6, 0.7], question=["a", "b", "c", "d"])
>>> answers.accuracy
0.75
>>> round(bc.evaluate(**answers.rows(), bins=5, rng=1).plug_in, 3)
0.35
"""

from bayescal._lazy import public_names as _public_names

__getattr__, __dir__, __all__ = _public_names(__name__, __file__)
