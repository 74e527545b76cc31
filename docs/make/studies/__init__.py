"""Skeleton of the scripts that measure coverage: command line, jobs, stored numbers, and parts of their tables."""

import argparse
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from jobs import run_jobs
from numpy.typing import NDArray
from pages import fill, rows_of, save_rows

from bayescal import __version__
from bayescal.verify.coverage import contains, standard_error
from bayescal.verify.methods import TOLERANCE

DOCS = Path(__file__).resolve().parents[2]
Row = dict[str, Any]
Floats = NDArray[np.float64]

#: Data sets per cell and draws of a study, and of its short form.
REPEATS, DRAWS = (100, 2), (2000, 200)
#: Draws of studies with many posteriors.
FEWER_DRAWS = (1000, 200)
#: How many times as many fresh data sets are drawn in a cell whose coverage is below the bar of its study.
TIMES_AGAIN = 4


def run_study(
    description: str | None,
    *,
    measure: Callable[[argparse.Namespace], Mapping[str, Any]],
    tables: Callable[[dict[str, Any]], Mapping[str, str]],
    numbers: str,
    page: str,
    save: Callable[[Path, Mapping[str, Any]], None] = save_rows,
    shown: Sequence[str] = ("overall",),
    picture: Callable[[dict[str, Any], bool], None] | None = None,
    command: str = "make coverage",
    repeats: tuple[int, int] = REPEATS,
    draws: tuple[int, int] = DRAWS,
    parts: Sequence[str] = (),
) -> None:
    """Run the command line of a coverage study: measure, store the numbers, and write them to a page.

    Parameters
    ----------
    description : str or None
        Text of --help.
    measure : callable
        From the arguments (repeats, draws, workers, quick) to the numbers.
    tables : callable
        From the numbers to the tables of the page, by the names of their markers.
    numbers, page : str
        Names of the files in ``docs/_static`` and ``docs/explanation`` that they are written to.
    save : callable, default save_rows
        Function that writes the numbers.
    shown : sequence of str, default ("overall",)
        Tables that --quick prints.
    picture : callable, optional
        Function that draws the numbers, and writes the picture if its second argument is true.
    command : str, default "make coverage"
        Command that the markers of the page name.
    repeats, draws : pair of int
        Data sets per cell, and draws of each posterior, in full and with --quick.
    parts : sequence of str, default ()
        Parts that --only can measure alone; `measure` reads ``options.only``, by default all, and returns numbers of
        these parts.
    """
    options = _options(description, repeats, draws, parts)
    file = DOCS / "_static" / numbers
    if options.quick:
        results = dict(measure(options))
    else:
        if not options.redraw:
            numbers_of_parts = measure(options)
            save(file, numbers_of_parts if len(options.only) == len(parts) else _merged(file, numbers_of_parts))
        results = json.loads(file.read_text(encoding="utf-8"))
    if picture:
        picture(results, not options.quick)
    texts = tables(results)
    if options.quick:
        print(*(texts[name] for name in shown if name in texts), sep="\n")
    else:
        fill(DOCS / "explanation" / page, command, texts)


def _merged(file: Path, numbers: Mapping[str, Any]) -> dict[str, Any]:
    """Put numbers of some parts into the stored ones, if there are any; all parts must have the same settings."""
    if not file.exists():
        return dict(numbers)
    stored = json.loads(file.read_text(encoding="utf-8"))
    for name, value in numbers.items():
        # rows have their numbers of data sets
        if not isinstance(value, list) and name != "repeats" and value != stored.get(name, value):
            raise SystemExit(f"{file.name} has {name} {stored[name]!r}, not {value!r}: measure all parts.")
    return {**stored, **numbers, "repeats": stored["repeats"]}


def _options(
    description: str | None, repeats: tuple[int, int], draws: tuple[int, int], parts: Sequence[str]
) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--repeats", type=int, help=f"data sets per cell: {repeats[0]}, or {repeats[1]} with --quick")
    parser.add_argument("--draws", type=int, help=f"draws of each posterior: {draws[0]}, or {draws[1]} with --quick")
    parser.add_argument("--workers", type=int, default=2, help="processes, where a study can use several")
    parser.add_argument("--redraw", action="store_true", help="measure nothing; write page and picture from the file")
    parser.add_argument("--quick", action="store_true", help="measure a few data sets; write nothing")
    if parts:
        listed = ", ".join(parts)
        parser.add_argument("--only", nargs="+", choices=parts, metavar="PART", default=parts, help=f"of {listed}")
    options = parser.parse_args()
    options.only = list(dict.fromkeys(options.only)) if parts else []
    options.repeats = options.repeats or repeats[options.quick]
    options.draws = options.draws or draws[options.quick]
    return options


def about(seed: int, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Version, settings and seed of a study, in the order in which they are stored."""
    return {"bayescal": __version__, **settings, "seed": seed}


def measured(seed: int, settings: Mapping[str, Any], columns: Sequence[str], rows: Iterable[Row]) -> dict[str, Any]:
    """Numbers of a study as they are stored."""
    return {**about(seed, settings), "columns": list(columns), "rows": rows_of(columns, rows)}


def jobs_of(cells: Sequence[tuple[Any, ...]], *settings: Any, rng: np.random.Generator) -> list[tuple[Any, ...]]:
    """Each cell with the settings, and a random stream of its own."""
    return [(*cell, *settings, stream) for cell, stream in zip(cells, rng.spawn(len(cells)), strict=True)]


def rows_of_jobs(function: Callable[[Any], list[Row]], jobs: Sequence[Any], **known: Any) -> list[Row]:
    """Rows of all jobs, with a progress bar."""
    return list(chain.from_iterable(run_jobs(function, jobs, progress=True, **known)))


def coverage_rows(cell: Row, by_method: Mapping[str, Floats], truth: float | Floats) -> list[Row]:
    """One row per method: shares of intervals (low, high) that contain the truth or lie below it, and mean width."""
    rows = []
    for method, (low, high) in ((method, ends.T) for method, ends in by_method.items()):
        numbers = {
            "coverage": float(contains(low, high, truth).mean()),
            "above": float(np.mean(truth > high + TOLERANCE)),
            "width": float((high - low).mean()),
        }
        rows.append({**cell, "method": method, **numbers, "repeats": len(low)})
    return rows


def with_fresh_sets(
    rows: list[Row],
    again: Callable[[int], list[Row]],
    *,
    bar: float,
    where: Mapping[str, Any],
    of: Sequence[str] = (),
) -> list[Row]:
    """Measure a cell again in fresh data sets if its coverage is below the bar; their share counts.

    Parameters
    ----------
    rows : list of dict
        Rows of the first data sets of one cell.
    again : callable
        From `TIMES_AGAIN` to the same rows of so many times as many fresh data sets.
    bar : float
        Least coverage of the rows that are judged.
    where : mapping
        Columns of these rows, and their values.
    of : sequence of str, default ()
        Columns in which rows must agree with one below the bar to be replaced, too; by default, all rows are.

    Returns
    -------
    list of dict
        The rows that count. The column ``first`` is the coverage in the first data sets, or None for rows that were not
        measured again.
    """

    def key(row: Row) -> tuple[Any, ...]:
        return tuple(row[name] for name in of)

    judged = (row for row in rows if all(row[name] == value for name, value in where.items()))
    low = {key(row) for row in judged if row["coverage"] < bar}
    fresh = again(TIMES_AGAIN) if low else rows
    return [
        new | {"first": old["coverage"]} if key(old) in low else old | {"first": None}
        for old, new in zip(rows, fresh, strict=True)
    ]


def one_line_per_cell(rows: Iterable[Row], key: Sequence[str]) -> list[Row]:
    """Join the rows of a cell, which agree in the columns `key`.

    Other values are named by the first word of their method: ``percentile_width`` for "percentile bootstrap".
    """
    lines: dict[tuple[Any, ...], Row] = {}
    for row in rows:
        line = lines.setdefault(tuple(row[name] for name in key), {name: row[name] for name in key})
        line |= {f"{first_word(row['method'])}_{name}": value for name, value in row.items() if name not in key}
    return list(lines.values())


def first_word(method: str) -> str:
    """Return the first word of a method's name."""
    return method.split()[0]


def coverages(methods: Iterable[str]) -> str:
    """Format of the coverage of each method, for `one_line_per_cell`."""
    return "|".join(f"{{{first_word(method)}_coverage:.2f}}" for method in methods)


def errors_near(prob: float, *repeats: int) -> list[str]:
    """Standard errors of one share near `prob`, for each number of data sets."""
    return [f"{standard_error(prob, each):.3f}" for each in repeats]


def conditions(numbers: Mapping[str, Any], n_cells: int) -> str:
    """Conditions of a study with one number of data sets for all cells, and standard errors of its shares."""
    repeats, prob = numbers["repeats"], numbers["prob"]
    of_one, of_mean = errors_near(prob, repeats, repeats * n_cells)
    return (
        f"bayescal {numbers['bayescal']}: {n_cells} cells, {repeats} data sets in each, {numbers['draws']} draws or "
        f"resamples, seed {numbers['seed']}.\nThe standard error of one share near {prob:g} is {of_one}, "
        f"that of the mean over all cells {of_mean}.\n"
    )
