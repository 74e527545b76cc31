"""Positive controls: samplers that are wrong on purpose and must be detected by the checks.

A check that cannot fail is no evidence. Each `Control` puts one plausible mistake into the package's sampler;
`run_controls` reports which mistakes simulation-based calibration detects.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from jobs import named_streams, run_jobs

from bayescal import _checks
from bayescal.draws import BinDraws
from sbc.control import Control
from sbc.mistakes import controls, problems, unspoilt
from sbc.ranks import Sampler, sbc

#: Masses must sum to 1 within this.
SUM_TOLERANCE = 1e-9


@dataclass(frozen=True)
class ControlResults:
    """Results of `run_controls`.

    Parameters
    ----------
    rows : list of dict
        One per control: name, of, problem, runs (simulated data sets), caught, by (the quantities with the smallest
        p-values, or the rules of probability that the draws break), p (of all ranks, Bonferroni).
    right : list of dict
        The same for the right sampler on each problem, with the largest number of data sets of its wrong samplers. Here
        `caught` is a false alarm.
    error_rate : float
        Probability of a false alarm for one sampler.
    """

    rows: list[dict[str, Any]]
    right: list[dict[str, Any]]
    error_rate: float

    @property
    def caught(self) -> int:
        """Number of controls that were caught."""
        return sum(row["caught"] for row in self.rows)

    @property
    def kill_rate(self) -> float:
        """Share of the controls that were caught, in [0, 1]."""
        return self.caught / len(self.rows)

    @property
    def survivors(self) -> list[str]:
        """Names of the controls that were not caught."""
        return [row["name"] for row in self.rows if not row["caught"]]

    @property
    def false_alarms(self) -> list[str]:
        """Problems on which the right sampler was "caught"."""
        return [row["problem"] for row in self.right if row["caught"]]

    def __str__(self) -> str:
        of, width = (max(len(row[name]) for row in self.rows) for name in ("of", "name"))
        lines = [
            f"{row['of']:{of}}  {row['name']:{width}}  {'caught' if row['caught'] else 'MISSED'}  "
            f"{', '.join(row['by'])}".rstrip()
            for row in self.rows
        ]
        fewest, most = (f(row["runs"] for row in self.rows) for f in (min, max))
        sets = f"{most}" if fewest == most else f"{fewest} to {most}"
        return "\n".join(
            [
                *lines,
                f"{self.caught} of {len(self.rows)} wrong samplers caught, {len(self.false_alarms)} of "
                f"{len(self.right)} right ones ({sets} data sets each, error rate {self.error_rate:g})",
            ]
        )


def run_controls(
    *,
    runs: int | None = None,
    error_rate: float = 1e-6,
    rng: Any = None,
    chosen: Sequence[Control] | None = None,
    workers: int = 1,
    progress: bool = False,
) -> ControlResults:
    """Run every wrong sampler, and the right one on the same problems.

    Parameters
    ----------
    runs : int, optional
        Number of simulated data sets for each sampler; by default the number that each control needs.
    error_rate : float, default 1e-6
        Probability that a right sampler is rejected.
    rng : None, int, SeedSequence or Generator
        Randomness; every sampler has a stream of its own, which does not depend on the others.
    chosen : sequence of Control, optional
        Controls to run; all of `controls` by default.
    workers : int, default 1
        Number of processes; results are the same for any number. With more than one, `chosen` can only hold controls
        out of `controls` and `unspoilt`, because workers look them up by name.
    progress : bool, default False
        Whether to show a progress bar.

    Returns
    -------
    ControlResults
        Printing it gives the table and the kill rate.

    Raises
    ------
    ValueError, TypeError
        If `error_rate` is not in (0, 1), a number is not a positive integer, or workers cannot look up a control.

    References
    ----------
    Simulation-based calibration: Talts, Betancourt, Simpson, Vehtari and Gelman (2018), arXiv:1804.06788; see `sbc`.

    Examples
    --------
    >>> few = [control for control in controls() if control.name == "Beta arguments swapped"]
    >>> results = run_controls(runs=200, rng=1, chosen=few)
    >>> results.kill_rate, results.false_alarms
    (1.0, [])
    """
    error_rate = _checks.fraction("error_rate", error_rate)
    wrong = list(controls() if chosen is None else chosen)
    if _checks.whole_number("workers", workers) > 1:
        _require_registered(wrong)
    needed: dict[str, int] = {}
    sizes = [control.runs if runs is None else _checks.whole_number("runs", runs) for control in wrong]
    for control, size in zip(wrong, sizes, strict=True):
        needed[control.problem] = max(size, needed.get(control.problem, 0))
    samplers: list[tuple[str, Control | tuple[str, str] | None, int]]
    samplers = [(problem, None, size) for problem, size in needed.items()]
    samplers += [
        (control.problem, control if workers == 1 else (control.of, control.name), size)
        for control, size in zip(wrong, sizes, strict=True)
    ]
    stream_of = named_streams(_checks.generator(rng))
    names = [(problem, "") for problem in needed] + [(control.of, control.name) for control in wrong]
    jobs = [_Job(*each, error_rate, stream_of(*name)) for each, name in zip(samplers, names, strict=True)]
    rows = list(run_jobs(_examine, jobs, workers=workers, progress=progress, description="wrong samplers"))
    return ControlResults(rows[len(needed) :], rows[: len(needed)], error_rate)


class _Job(NamedTuple):
    """One sampler on one problem; `control` is None for the right sampler, and (of, name) for a worker process."""

    problem: str
    control: Control | tuple[str, str] | None
    runs: int
    error_rate: float
    rng: np.random.Generator


def _require_registered(chosen: Sequence[Control]) -> None:
    unknown = [control.name for control in chosen if control not in (*controls(), *unspoilt())]
    if unknown:
        raise ValueError(
            f"with `workers` above 1, `chosen` can only hold controls out of `controls()`; {len(unknown)} of "
            f"{len(chosen)} are not, first {unknown[0]!r}. Use `workers=1`."
        )


def _examine(job: _Job) -> dict[str, Any]:
    """Check that the draws obey the rules of probability, and that truths rank uniformly among them."""
    simulator, control = problems()[job.problem], job.control
    if isinstance(control, tuple):
        control = next(c for c in (*controls(), *unspoilt()) if (c.of, c.name) == control)
    sampler: Sampler = simulator.sample if control is None else control.sampler(simulator)
    broken: set[str] = set()

    def watched(data: Any, n_draws: int, rng: np.random.Generator) -> Any:
        drawn = sampler(data, n_draws, rng)
        broken.update(broken_rules(drawn, data))
        return drawn

    ranks = sbc(simulator, watched, runs=job.runs, rng=job.rng)
    rejected = ranks.rejected(job.error_rate)
    return {
        "name": "right sampler" if control is None else control.name,
        "of": "" if control is None else control.of,
        "problem": job.problem,
        "runs": job.runs,
        "caught": bool(rejected or broken),
        "by": [*sorted(broken), *rejected[:3]],
        "p": ranks.p_value,
    }


def broken_rules(bins: BinDraws | Mapping[str, Any], counts: Any) -> list[str]:
    """List the rules of probability that some draws break.

    Parameters
    ----------
    bins : BinDraws or mapping of str to ndarray
        Draws of shape (n_draws, n_sets, n_bins), or draws by name, which must be numbers.
    counts : StackedCounts or list
        Data sets; those of bins are used for their edges.

    Returns
    -------
    list of str
        Empty if all draws obey all rules.
    """
    if isinstance(bins, Mapping):
        return [f"not: {name} is a number" for name, values in bins.items() if not np.isfinite(values).all()]
    edges = counts.bins.edges
    inside = (bins.confidence >= edges[:-1]) & (bins.confidence <= edges[1:])
    rules = {
        "masses sum to 1": np.abs(bins.mass.sum(axis=-1) - 1) < SUM_TOLERANCE,
        "accuracies lie in [0, 1]": (bins.accuracy >= 0) & (bins.accuracy <= 1),
        "mean confidences lie in their bins": inside,
    }
    return [f"not: {rule}" for rule, holds in rules.items() if not holds.all()]
