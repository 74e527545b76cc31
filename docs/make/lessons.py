"""Run the lessons in `notebooks`, each in a fresh kernel, with the checks in tests/lessons: `make lessons` writes their
outputs.

With --check (`make notebooks`), outputs are compared with the committed ones; with --run, only the checks count, for
versions of other packages than the pinned ones; with --quick, the first lesson is compared. All three write nothing.
"""

import argparse
import asyncio
import sys
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

import nbformat
from lesson_kernel import executed
from lesson_outputs import differences, keep_equal, tidied, warnings
from nbclient.exceptions import CellExecutionError, CellTimeoutError

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOKS = ROOT / "notebooks"
#: The checks of notebooks/NN_name.ipynb are in name.py.
CHECKS = ROOT / "tests" / "lessons"
#: Notebooks that run at the same time, each in a process of its own.
PROCESSES = 2


def lessons(folder: Path = NOTEBOOKS) -> list[Path]:
    """Return the notebooks in the order in which they are read."""
    return sorted(folder.glob("*.ipynb"))


def checks_of(lesson: Path, folder: Path = CHECKS) -> Path:
    """Return the file of checks of a lesson; its name has no number."""
    return folder / f"{lesson.stem.partition('_')[2]}.py"


async def problems_of(lesson: Path, checks: Path, mode: str) -> list[str]:
    """Run a lesson; compare its outputs ("check"), write them ("write"), or only run it ("run"). Return what failed."""
    committed = nbformat.read(lesson, as_version=4)
    try:
        fresh = tidied(await executed(committed, checks))
    except (CellExecutionError, CellTimeoutError) as failure:
        return [str(failure)]
    if mode == "run":
        return []
    problems = list(warnings(fresh))
    if mode == "check":
        problems += differences(committed, fresh)
    elif not problems:
        keep_equal(committed, fresh)
        nbformat.write(fresh, lesson)
    return problems


async def all_problems(chosen: Iterable[Path], mode: str, *, checks: Path = CHECKS) -> list[str]:
    """Run several lessons, two at a time; print the time of each; return what failed, with the name of the lesson."""
    free = asyncio.Semaphore(PROCESSES)

    async def one(lesson: Path) -> list[str]:
        async with free:
            begin = time.monotonic()
            problems = await problems_of(lesson, checks_of(lesson, checks), mode)
            print(f"{lesson.name}: {time.monotonic() - begin:.0f} s", flush=True)
        return [f"{lesson.name}, {problem}" for problem in problems]

    found = await asyncio.gather(*map(one, sorted(chosen, key=_takes_long, reverse=True)))
    return [problem for problems in found for problem in problems]


def _takes_long(lesson: Path) -> bool:
    """Whether a lesson samples with PyMC or corrects labels of judges: it takes about a minute and starts first."""
    return any(name in lesson.read_text(encoding="utf-8") for name in ("bayescal.verify", "bc.labels.judged"))


def main(arguments: Sequence[str] | None = None) -> None:
    """Read the options, run the lessons, and exit with what failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    modes = parser.add_mutually_exclusive_group()
    modes.add_argument("--check", action="store_const", const="check", dest="mode", help="compare outputs")
    modes.add_argument("--run", action="store_const", const="run", dest="mode", help="run cells and checks only")
    modes.add_argument("--quick", action="store_true", help="compare the outputs of the first lesson")
    parser.add_argument("lessons", nargs="*", type=Path, help="notebooks; all if none is named")
    options = parser.parse_args(arguments)
    chosen = options.lessons or (lessons()[:1] if options.quick else lessons())
    mode = "check" if options.quick else options.mode or "write"
    if problems := asyncio.run(all_problems(chosen, mode)):
        sys.exit("\n\n".join([*problems, "If the new outputs are right, run `make lessons`."]))


if __name__ == "__main__":
    main()
