"""Check the samplers: `make verify`. Compares closed forms with PyMC, runs simulation-based calibration of every
sampler and of wrong samplers, and measures the power of these checks. Writes the numbers, the picture and the tables of
docs/explanation/how_we_know.md; the exit status is 0 only if everything agrees. With --quick, a part of each check runs
and nothing is written; with --only TEXT or --part NAME, the rows whose name contains the text, or of this part, run and
replace those stored; with --redraw, page and picture are made from the stored numbers.
"""

import argparse
import json
import os
import platform
import re
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
from jobs import named_streams
from pages import cells, fill, rounded, save_parts, table, versions_of
from rich.console import Console
from sbc.controls import run_controls
from sbc.mistakes import controls
from sbc.ranks import Ranks, sbc
from sbc.simulators import DirichletSimulator, dirichlet_simulator
from studies.truncation import (
    N_ROWS,
    PLACES,
    WIDTHS,
    confidence_posterior,
    mean_of_truncated,
    truncated_ece_mean,
    truncation_study,
)
from verify_cases import DIGITS, QUICK, SEED, SHARE_OF_RUNS, SHOWN_SAMPLER, Case, cases, counts_of, simulators, words_of

import bayescal as bc
from bayescal.verify.chains import agreement

DOCS = Path(__file__).resolve().parents[1]
NUMBERS, PICTURE = DOCS / "_static" / "verification.json", DOCS / "_static" / "sbc.png"
PAGE = DOCS / "explanation" / "how_we_know.md"
PROGRAMS = ("bayescal", "numpy", "scipy", "pymc", "pytensor", "arviz", "nutpie")
#: Largest difference from PyMC in Monte Carlo standard errors; R-hat; probabilities of a false alarm per right sampler.
LARGEST_Z, LARGEST_R_HAT, SBC_ERROR_RATE, CONTROLS_ERROR_RATE = 5.0, 1.01, 1e-4, 1e-6
CHAINS, TUNE, TARGET_ACCEPT = 4, 1500, 0.95
#: A difference above this many standard errors is measured again, with so many times as many draws; that counts.
AGAIN_Z, TIMES_AGAIN = 4.0, 4
#: Power of simulation-based calibration: factors of the standard deviation, numbers of runs, repetitions.
TOO_WIDE, POWER_RUNS, POWER_REPEATS = (1.05, 1.2), (100, 1000, 10_000), 20
#: Two-sample test: draws, shift in standard deviations, level, attempts, repetitions.
KS_DRAWS, KS_SHIFT, KS_LEVEL, KS_TRIES, KS_REPEATS = 10_000, 0.05, 0.05, 3, 1000
ONE_SAMPLE_DRAWS, ONE_SAMPLE_LEVEL, ONE_SAMPLE_REPEATS = 300_000, 1e-6, 200
#: Factor of the standard deviation of the wrong sampler in the picture.
SHOWN_FACTOR = 1.1

#: Rows that are not made from a list of cases.
EXACT_ROW = "exact calibration: masses"
TRUNCATED_ROWS = ("truncated likelihood: bins", "truncated likelihood: mean ECE")
#: Parts that may run alone.
PARTS = ("agreement", "sbc", "controls", "power")
#: Parts of the stored numbers whose rows may run alone, and what identifies a row of each.
KEYS = {
    "agreement": ("model", "data"),
    "sbc": ("model",),
    "wrong_samplers": ("of", "name"),
    "right_samplers": ("problem",),
    "ranks": ("sampler",),
}

console = Console(stderr=True, highlight=False)
Row = dict[str, Any]


@dataclass(frozen=True)
class Settings:
    """Amount of work: draws, data sets, processes."""

    draws: int = 10_000
    runs: int = 10_000
    workers: int = 2
    quick: bool = False
    only: str = ""
    part: str = ""

    def chosen(self, *names: str) -> bool:
        """Whether a row runs: one of its names contains the text of ``--only``."""
        return any(self.only.lower() in name.lower() for name in names)


def streams() -> Callable[..., np.random.Generator]:
    """Return the function from the name of a row to its random stream."""
    return named_streams(np.random.default_rng(SEED))


# --- closed form against PyMC


def agreements(settings: Settings) -> list[Row]:
    """Compare every posterior with its PyMC model, and exact calibration with two formulas."""
    every = [case for case in cases() if not settings.quick or case.name in QUICK]
    rows = [compared(case, settings) for case in every if settings.chosen(case.name)]
    if settings.chosen(EXACT_ROW):
        rows.append(exact_calibration(settings))
    return rows


def compared(case: Case, settings: Settings) -> Row:
    """Compare one posterior with its PyMC model."""
    with timed(f"{case.name}, {case.data}") as row:
        rng = streams()("agreement", case.name, case.data)
        found, first = agreement(case.posterior(), draws=settings.draws, rng=rng, **case.options), None
        if found.worst > AGAIN_Z:
            first, rng = found.worst, streams()("agreement again", case.name, case.data)
            found = agreement(case.posterior(), draws=TIMES_AGAIN * settings.draws, rng=rng, **case.options)
        quantities = [r["quantity"] for r in found.rows]
        kinds = (re.sub(r"\[\d+\]|<= [\d.e-]+", "", q).replace(" )", ")") for q in quantities)
        row |= {
            "model": case.name,
            "data": case.data,
            "quantities": len(quantities),
            "kinds": list(dict.fromkeys(kinds)),
            "worst_z": found.worst,
            "first_z": first,
            "worst_r_hat": found.worst_r_hat,
            "divergences": found.reference.divergences,
            "draws": found.reference.draws,
            "target_accept": found.reference.target_accept,
            "attempts": 1 + len(found.reference.earlier),
            "problems": found.problems,
        }
    return row


def exact_calibration(settings: Settings) -> Row:
    """Compare exact calibration: masses are Dirichlet(2 / M + n), outcomes Binomial at the mean confidences."""
    from scipy import stats

    from bayescal.verify.pymc_models import calibrated_model

    counts = counts_of(DIGITS)
    with timed(f"exact calibration, {words_of(DIGITS)}") as row:
        model, used = calibrated_model(counts), counts.occupied
        a = 2 / len(counts.bins) + counts.n[used]
        exact = {f"mass[{b}]": stats.beta(a[i], a.sum() - a[i]) for i, b in enumerate(np.flatnonzero(used))}
        chains = sampled(model, ["mass"], settings)
        drawn = {name: chains["mass"][..., i] for i, name in enumerate(exact)}
        row |= against_exact(drawn, {name: (d.mean(), d.std()) for name, d in exact.items()}, chains)
        row |= {"model": EXACT_ROW, "data": words_of(DIGITS), "kinds": ["mass"]}
        expected = stats.binom.logpmf(counts.k[used], counts.n[used], counts.mean_confidence[used]).sum()
        off = float(abs(model["outcomes"].eval() / expected - 1))
        row["log_likelihood_off_by"] = off
        if not off < 1e-9:
            row["problems"].append(f"the log-likelihood is off by {off:.2g} of its value")
    return row


def sampled(model: Any, names: list[str], settings: Settings) -> dict[str, Any]:
    """Sample a model; return chains by name, each (chain, draw, ...), and the number of divergences."""
    import pymc as pm

    tree = pm.sample(
        settings.draws // CHAINS,
        tune=TUNE,
        chains=CHAINS,
        target_accept=TARGET_ACCEPT,
        random_seed=SEED,
        progressbar=False,
        quiet=True,
        compute_convergence_checks=False,
        model=model,
    )
    return {name: tree.posterior[name].values for name in names} | {
        "divergences": int(tree.sample_stats.diverging.sum())
    }


def against_exact(drawn: dict[str, Any], exact: dict[str, tuple[float, float | None]], chains: dict[str, Any]) -> Row:
    """Compare chains with exact means and standard deviations (None: unknown), in Monte Carlo standard errors."""
    import arviz as az

    table = az.summary(az.from_dict({"posterior": drawn}), kind="all", round_to="none")
    z = [(table["mean"][name] - mean) / table["mcse_mean"][name] for name, (mean, _) in exact.items()]
    z += [(table["sd"][name] - sd) / table["mcse_sd"][name] for name, (_, sd) in exact.items() if sd is not None]
    worst, r_hat, divergences = float(np.abs(z).max()), float(table["r_hat"].max()), chains["divergences"]
    problems = [f"{worst:.1f} standard errors apart"] if not worst < LARGEST_Z else []
    problems += [f"R-hat {r_hat:.3f}"] if not r_hat < LARGEST_R_HAT else []
    problems += [f"{divergences} divergences"] if divergences else []
    return {
        "quantities": len(exact),
        "worst_z": worst,
        "worst_r_hat": r_hat,
        "divergences": divergences,
        "draws": int(next(iter(drawn.values())).size),
        "target_accept": TARGET_ACCEPT,
        "attempts": 1,
        "problems": problems,
    }


# --- the truncated likelihood


def truncated_likelihood(settings: Settings) -> list[Row]:
    """Compare NUTS on the truncated likelihood with quadrature: cells of the study, and the mean ECE of real counts."""
    if not settings.chosen(*TRUNCATED_ROWS):
        return []
    from bayescal.verify.pymc_models import dirichlet_model

    counts, cells = one_bin_a_cell()
    low, widths = counts.bins.edges[:-1], counts.bins.widths
    with timed("truncated likelihood, a bin for each cell of the study") as bins_row:
        chains = sampled(
            dirichlet_model(counts, "jeffreys", form="rates", truncation="confidences"), ["mu", "confidence"], settings
        )
        drawn, exact = {}, {}
        for b, (n, place) in enumerate(cells):
            found = confidence_posterior(n, place)
            mu = float(found.weight @ found.location)
            mu_sd = float(np.sqrt(found.weight @ (found.location - mu) ** 2))
            exact |= {f"mu[{b}]": (mu, mu_sd), f"confidence[{b}]": (found.mean(), found.sd())}
            drawn |= {f"{name}[{b}]": (chains[name][..., b] - low[b]) / widths[b] for name in ("mu", "confidence")}
        bins_row |= against_exact(drawn, exact, chains)
        bins_row |= {"model": TRUNCATED_ROWS[0], "data": "one bin per cell of the table below"}
    bins_row |= {"kinds": ["mu", "confidence"]}
    if settings.quick:
        return [bins_row]
    with timed(f"truncated likelihood, {words_of(DIGITS)}") as ece_row:
        posterior = bc.dirichlet_posterior(counts_of(DIGITS), alpha="jeffreys")
        chains = sampled(
            dirichlet_model(posterior.counts, "jeffreys", form="rates", truncation="confidences"), ["ece"], settings
        )
        ece_row |= against_exact({"ece": chains["ece"]}, {"ece": (truncated_ece_mean(posterior), None)}, chains)
        ece_row |= {"model": TRUNCATED_ROWS[1], "data": words_of(DIGITS)}
    return [bins_row, ece_row | {"kinds": ["ece"]}]


def one_bin_a_cell() -> tuple[bc.BinnedCounts, list[tuple[int, float]]]:
    """Make counts with one bin per cell of the study (rows, place of their mean), of three widths, and an empty bin."""
    cells = [(n, place) for n in N_ROWS for place in PLACES]
    widths = np.repeat(WIDTHS, (1, 6, 5))
    edges = np.concatenate([[0], np.cumsum(widths), [1]])
    where = np.repeat(edges[:-2] + widths * [place for _, place in cells], [n for n, _ in cells])
    return bc.BinnedCounts.from_arrays(np.arange(len(where)) % 2, where, bins=edges), [*cells, (0, 0.5)]


def shipped_data() -> list[Row]:
    """Compute the mean ECE of shipped predictions under both likelihoods, and the place of their fullest bin."""
    rows = []
    for name in bc.datasets.names():
        for classifier in getattr(bc.datasets, f"load_{name}")().y_prob:
            counts = counts_of((name, classifier))
            posterior, fullest = bc.dirichlet_posterior(counts), int(counts.n.argmax())
            place = (counts.mean_confidence - counts.bins.edges[:-1]) / counts.bins.widths
            rows.append(
                {
                    "data": words_of((name, classifier)),
                    "share": counts.n[fullest] / counts.n_rows,
                    "from_edge": min(place[fullest], 1 - place[fullest]),
                    "conjugate": posterior.ece_mean(),
                    "truncated": truncated_ece_mean(posterior),
                }
            )
    return rows


# --- simulation-based calibration


def simulation_based_calibration(settings: Settings) -> tuple[list[Row], dict[str, Any]]:
    """Run simulation-based calibration of every sampler; return results, and histograms for the picture."""
    rows, ranks = [], {}
    for i, (name, simulator) in enumerate(simulators().items()):
        # with --quick every fifth row
        if not settings.chosen(name) or (settings.quick and i % 5 and name != SHOWN_SAMPLER):
            continue
        rng, runs = streams()("sbc", name), round(settings.runs * SHARE_OF_RUNS.get(name, 1))
        with timed(f"{runs} data sets, {name}") as row:
            ranks[name] = sbc(simulator, runs=runs, rng=rng, workers=settings.workers, progress=True)
            row |= {
                "model": name,
                "runs": runs,
                "draws": ranks[name].n_draws,
                "samples": len(ranks[name].samples),
                "p": ranks[name].p_value,
                "problems": [f"not uniform: {sample}" for sample in ranks[name].rejected(SBC_ERROR_RATE)],
            }
        rows.append(row)
    if SHOWN_SAMPLER not in ranks:
        return rows, {}
    wrong = dirichlet_simulator(alpha="uniform")
    ranks["wrong"] = sbc(wrong, TooWide(wrong, SHOWN_FACTOR), runs=settings.runs, rng=SEED)
    return rows, {name: histograms(ranks[name]) for name in (SHOWN_SAMPLER, "wrong")}


@dataclass(frozen=True)
class TooWide:
    """The right sampler with the standard deviations of all accuracies multiplied by a factor."""

    simulator: DirichletSimulator
    factor: float

    def __call__(self, counts: Any, n_draws: int, rng: np.random.Generator) -> Any:
        right = self.simulator.sample(counts, n_draws, rng)
        mean = right.accuracy.mean(axis=0)
        return replace(right, accuracy=np.clip(mean + self.factor * (right.accuracy - mean), 0, 1))


def histograms(ranks: Ranks) -> dict[str, list[int]]:
    """Return the histograms of all single quantities, which the picture needs."""
    return {
        name: ranks.histogram(name).tolist() for name, sample in ranks.samples.items() if len(sample) == ranks.n_runs
    }


def ranks_of(stored: dict[str, list[int]]) -> Ranks:
    """Make ranks with stored histograms of 20 cells."""
    return Ranks({name: np.repeat(np.arange(0, 100, 5), counted) for name, counted in stored.items()}, 99, 20)


# --- power of the checks


def power_of_sbc(settings: Settings) -> list[Row]:
    """Measure how often too wide accuracies are detected, by all ranks together and by those of the ECE alone."""
    simulator, rows = dirichlet_simulator(alpha="uniform"), []
    for factor in TOO_WIDE:
        for runs in POWER_RUNS[:1] if settings.quick else POWER_RUNS:
            with timed(f"accuracies {percent(factor - 1)} too wide, {runs} data sets") as row:
                seeds = range(2 if settings.quick else POWER_REPEATS)
                found = [sbc(simulator, TooWide(simulator, factor), runs=runs, rng=seed) for seed in seeds]
                row |= {
                    "factor": factor,
                    "runs": runs,
                    "repeats": len(found),
                    "seen": np.mean([bool(ranks.rejected(SBC_ERROR_RATE)) for ranks in found]),
                    "seen_by_ece": np.mean([ranks.p_values["ece"] < SBC_ERROR_RATE for ranks in found]),
                    "problems": [],
                }
            rows.append(row)
    return rows


def power_of_tests(settings: Settings) -> list[Row]:
    """Measure how often wrong and right samplers pass a repeated two-sample test, and a single one-sample test."""
    from scipy import stats

    rng = np.random.default_rng(SEED)

    def retried(shift: float) -> bool:
        for _ in range(KS_TRIES):
            one, other = rng.standard_normal((2, KS_DRAWS))
            if stats.ks_2samp(one, other + shift, method="asymp").pvalue > KS_LEVEL:
                return True
        return False

    def once(shift: float) -> bool:
        u = stats.norm.cdf(np.sort(rng.standard_normal(ONE_SAMPLE_DRAWS) + shift))
        i = np.arange(len(u)) / len(u)
        distance = max((u - i).max(), (i + 1 / len(u) - u).max())
        return bool(distance < np.sqrt(np.log(2 / ONE_SAMPLE_LEVEL) / (2 * len(u))))

    recipes = [
        (f"two samples of {KS_DRAWS}, at {KS_LEVEL:g}, up to {KS_TRIES} tries", retried, KS_REPEATS),
        (f"one sample of {ONE_SAMPLE_DRAWS}, at {ONE_SAMPLE_LEVEL:g}, one try", once, ONE_SAMPLE_REPEATS),
    ]
    rows = []
    for name, passes, repeats in recipes:
        with timed(name) as row:
            times = 20 if settings.quick else repeats
            row |= {
                "recipe": name,
                "repeats": times,
                "wrong_passed": np.mean([passes(KS_SHIFT) for _ in range(times)]),
                "right_passed": np.mean([passes(0.0) for _ in range(times)]),
                "problems": [],
            }
        rows.append(row)
    return rows


# --- positive controls


def positive_controls(settings: Settings) -> tuple[list[Row], list[Row]]:
    """Run every wrong sampler, and the right ones on the same problems."""
    chosen = [c for c in controls() if settings.chosen(c.name, c.of)]
    if not chosen:
        return [], []
    if settings.quick:
        chosen = [c for c in chosen if c.runs <= 100][::6]
    with timed("wrong samplers") as row:
        found = run_controls(
            error_rate=CONTROLS_ERROR_RATE, rng=SEED, chosen=chosen, workers=settings.workers, progress=True
        )
        row["problems"] = [f"not caught: {name}" for name in found.survivors]
        row["problems"] += [f"false alarm: {problem}" for problem in found.false_alarms]
    wrong = [row | {"problems": [] if row["caught"] else ["not caught"]} for row in found.rows]
    right = [row | {"problems": ["false alarm"] if row["caught"] else []} for row in found.right]
    return [row | {"by": row["by"][:1]} for row in wrong], right


# --- all of it


@contextmanager
def timed(what: str) -> Iterator[Row]:
    """Print the result and the time of a check; the caller puts its results into the row."""
    row: Row = {}
    begin = time.perf_counter()
    yield row
    took, problems = f"[dim]{time.perf_counter() - begin:.0f} s[/]", row.get("problems", [])
    if problems:
        console.print(f"[bold red]FAILED[/]  {what}: {'; '.join(problems)}  {took}", soft_wrap=True)
    else:
        console.print(f"[green]ok[/]  {what}{in_short(row)}  {took}", soft_wrap=True)


def in_short(row: Row) -> str:
    """Return the number that decides a check, in words."""
    if "worst_z" in row:
        return f": {row['quantities']} quantities, largest difference {row['worst_z']:.1f} standard errors"
    return f": p = {row['p']:.2g}" if "p" in row else ""


def checked(settings: Settings) -> dict[str, list[Row]]:
    """Run the checks, the fastest first, or one part of them."""
    parts: dict[str, list[Row]] = {}
    if settings.part in ("", "agreement"):
        console.rule("closed form against PyMC")
        parts["agreement"] = [*agreements(settings), *truncated_likelihood(settings)]
    if settings.part in ("", "sbc"):
        console.rule("simulation-based calibration")
        parts["sbc"], shown = simulation_based_calibration(settings)
        parts["ranks"] = [{"sampler": name, "histograms": of} for name, of in shown.items()]
    if settings.part in ("", "controls"):
        console.rule("samplers that are wrong on purpose")
        parts["wrong_samplers"], parts["right_samplers"] = positive_controls(settings)
    return parts


def replaced(stored: dict[str, Any], parts: dict[str, list[Row]]) -> dict[str, Any]:
    """Put rows that ran alone into stored numbers, in the place of their former values or after the last row.

    Stored rows of samplers that no longer exist are left out.
    """
    numbers = dict(stored)
    exists = {
        "wrong_samplers": {(each.of, each.name) for each in controls()},
        "sbc": {(each,) for each in simulators()},
    }
    for part, rows in parts.items():
        names = KEYS[part]
        of_part = [
            row for row in stored[part] if part not in exists or tuple(row[name] for name in names) in exists[part]
        ]
        places = {tuple(row[name] for name in names): i for i, row in enumerate(of_part)}
        for row in rounded(rows):
            new, place = row | {"date": date.today().isoformat()}, places.get(tuple(row[name] for name in names))
            if place is None:
                of_part.append(new)
            else:
                of_part[place] = new
        numbers[part] = of_part
    return numbers


def measure(settings: Settings) -> dict[str, Any]:
    """Run every part."""
    parts = checked(settings)
    ranks = parts.pop("ranks")
    return rounded({**power(settings), **parts, "ranks": ranks})


def power(settings: Settings) -> dict[str, Any]:
    """Measure the power of the checks, and the effect of the truncation; return also date, versions and settings."""
    console.rule("power of the checks")
    return {
        "date": date.today().isoformat(),
        "versions": {"python": platform.python_version(), **dict(versions_of(PROGRAMS))},
        "settings": {
            "seed": SEED,
            "largest_z": LARGEST_Z,
            "largest_r_hat": LARGEST_R_HAT,
            "sbc_error_rate": SBC_ERROR_RATE,
            "controls_error_rate": CONTROLS_ERROR_RATE,
            "ks_shift": KS_SHIFT,
            "nearest": float(mean_of_truncated(0.0)),
        },
        "power_of_sbc": power_of_sbc(settings),
        "power_of_tests": power_of_tests(settings),
        "truncation": truncation_study().rows,
        "shipped": shipped_data(),
    }


def failures(numbers: dict[str, Any]) -> list[str]:
    """List everything that does not agree, in words."""
    return [
        f"{row.get('model') or row.get('name')}: {problem}"
        for part in ("agreement", "sbc", "wrong_samplers", "right_samplers")
        for row in numbers[part]
        for problem in row["problems"]
    ]


# --- the page


def percent(share: float) -> str:
    """Format a share, as in 5 %."""
    return f"{100 * share:.0f} %"


def tables(numbers: dict[str, Any]) -> dict[str, str]:
    """Return the text between each pair of markers."""
    about, versions = numbers["settings"], numbers["versions"]
    programs = ", ".join(f"{name} {number}" for name, number in versions.items())
    wrong, right = numbers["wrong_samplers"], numbers["right_samplers"]
    caught, alarms = sum(r["caught"] for r in wrong), sum(r["caught"] for r in right)
    sets = [row["runs"] for row in wrong]
    found = failures(numbers)
    verdict = "Everything agreed." if not found else "**Not everything agreed**: " + "; ".join(found) + "."
    return {
        "conditions": f"{verdict} Run on {numbers['date']} with {programs}{run_later(numbers)}.\n",
        "agreement": table(
            "Model | Data | Quantities: | Largest difference: | Worst R-hat: | Divergences: | Draws: | Attempt:",
            cells(
                [row | {"first": first_words(row.get("first_z"))} for row in numbers["agreement"]],
                "{model}|{data}|{quantities}|{worst_z:.1f}{first}|{worst_r_hat:.3f}|{divergences}|{draws}|{attempts}",
            ),
        ),
        "sbc": table(
            "Sampler | Data sets: | Samples of ranks: | Smallest p-value, after Bonferroni:",
            cells(numbers["sbc"], "{model}|{runs}|{samples}|{p:.2g}"),
        ),
        "controls": f"**{caught} of {len(wrong)} wrong samplers were caught, and {alarms} of {len(right)} right ones "
        f"called wrong**, with {min(sets)} to {max(sets)} data sets each.\n",
        "mistakes": table(
            "Sampler | Mistake | Data sets: | What saw it first",
            (
                (r["of"], r["name"].replace("|", "\\|"), r["runs"], r["by"][0] if r["caught"] else "**nothing**")
                for r in wrong
            ),
        ),
        "power": table(
            "Standard deviation of accuracies too large by | Data sets: | Seen by all ranks together: "
            "| Seen by the ranks of the ECE alone:",
            (
                (percent(r["factor"] - 1), r["runs"], percent(r["seen"]), percent(r["seen_by_ece"]))
                for r in numbers["power_of_sbc"]
            ),
        ),
        "recipes": table(
            f"Kolmogorov-Smirnov test | A shift of {about['ks_shift']:g} sd passes: | A right sampler passes:",
            ((r["recipe"], percent(r["wrong_passed"]), percent(r["right_passed"])) for r in numbers["power_of_tests"]),
        ),
        "truncation": truncation_table(numbers["truncation"]),
        "shipped": table(
            "Predictions | Rows in the fullest bin: | Their mean, from the nearer edge: | Mean ECE, conjugate: "
            "| Mean ECE, truncated:",
            cells(
                [row | {"share": percent(row["share"])} for row in numbers["shipped"]],
                "{data}|{share}|{from_edge:.2f}|{conjugate:.4f}|{truncated:.4f}",
            ),
        ),
    }


def first_words(z: float | None) -> str:
    """State the difference with fewer draws, if it was measured again."""
    return "" if z is None else f" (first {z:.1f})"


def run_later(numbers: dict[str, Any]) -> str:
    """Say how many checks ran alone, and when."""
    later = [row["date"] for part in KEYS for row in numbers[part] if row.get("date", "") > numbers["date"]]
    before = [row["date"] for part in KEYS for row in numbers[part] if row.get("date", "~") < numbers["date"]]
    texts = [
        f"; {len(of)} of the checks were run {when}, the {word} on {end(of)}"
        for of, when, word, end in ((later, "later", "last", max), (before, "before", "first", min))
        if of
    ]
    return "".join(texts)


def truncation_table(rows: list[Row]) -> str:
    """Make the table of both posteriors in units of the width, with the change of the ECE for each width."""
    widths = list(dict.fromkeys(row["width"] for row in rows))
    shown = [dict(row) for row in rows if row["width"] == widths[0]]
    for row in rows:
        same = next(r for r in shown if (r["n_rows"], r["observed"]) == (row["n_rows"], row["observed"]))
        same[f"ece_{widths.index(row['width'])}"] = row["ece_change"]
    head = "Rows: | Observed: | Conjugate: | Truncated: | " + " | ".join(f"ECE, width 1/{1 / w:.0f}:" for w in widths)
    moments = "{conjugate_mean:.3f} ± {conjugate_sd:.3f}|{truncated_mean:.3f} ± {truncated_sd:.3f}"
    return table(head, cells(shown, f"{{n_rows}}|{{observed:.2f}}|{moments}|{{ece_0:.4f}}|{{ece_1:.4f}}|{{ece_2:.4f}}"))


def draw(numbers: dict[str, Any]) -> Any:
    """Draw the ranks of a right sampler and of a wrong one, side by side."""
    import matplotlib.pyplot as plt
    from sbc.rank_plot import plot_ranks

    plt.switch_backend("agg")
    figure, panels = plt.subplots(1, 2, figsize=(11, 4.2), layout="constrained")
    titles = ["the sampler of independent bins", f"a wrong sampler: accuracies {percent(SHOWN_FACTOR - 1)} too wide"]
    for ax, stored, name in zip(panels, numbers["ranks"], titles, strict=True):
        plot_ranks(ranks_of(stored["histograms"]), ax)
        ax.set_title(f"{name}\n{ax.get_title(loc='left')}", loc="left", fontsize=9.5)
        ax.spines[["top", "right"]].set_visible(False)
    panels[1].set_ylabel("")
    return figure


def main() -> int:
    """Run the command line; return 0 if everything agrees."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a little of each, to try; writes nothing")
    parser.add_argument(
        "--only", default="", metavar="TEXT", help="rows whose name contains the text; others as stored"
    )
    parser.add_argument("--part", default="", choices=PARTS, help="rows of this part; others as stored")
    parser.add_argument("--redraw", action="store_true", help="run nothing; page and picture from the stored numbers")
    parser.add_argument("--workers", type=int, default=min(4, os.cpu_count() or 1), help="processes")
    asked = parser.parse_args()
    few = {"draws": 4000, "runs": 100, "quick": True} if asked.quick else {}
    settings = Settings(workers=asked.workers, only=asked.only, part=asked.part, **few)
    if asked.redraw or asked.only or asked.part:
        numbers = json.loads(NUMBERS.read_text(encoding="utf-8"))
        of_power = asked.part == "power"
        parts = {} if asked.redraw or of_power else checked(settings)
        if asked.only and not of_power and not any(parts.values()):
            parser.error(f"--only {asked.only!r}: no row, simulator or wrong sampler has this in its name")
        numbers = replaced(numbers, parts) | (rounded(power(settings)) if of_power else {})
    else:
        numbers = measure(settings)
    figure, page = draw(numbers), tables(numbers)
    if not asked.quick:
        if not asked.redraw:
            save_parts(NUMBERS, numbers)
        fill(PAGE, "make verify", page)
        figure.savefig(PICTURE, dpi=90, metadata={"Software": None})
    found = failures(numbers)
    console.rule()
    for problem in found:
        console.print(f"[bold red]FAILED[/]  {problem}")
    if not found:
        console.print("[green]Everything agrees.[/]" + (" Nothing was written." if asked.quick else ""))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
