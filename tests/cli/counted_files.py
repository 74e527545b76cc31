"""A file of rows that counts and blocks share, in three formats, and commands that succeed or are refused."""

import numpy as np
import polars as pl
from typer.testing import CliRunner

from bayescal.app import app

N = 9_000
ROW = ["--label", "y", "--prob", "p"]


def run(*arguments):
    return CliRunner().invoke(app, [str(a) for a in arguments], env={"COLUMNS": "120", "TERM": "dumb"})


def done(*arguments):
    result = run(*arguments)
    assert result.exit_code == 0, result.output
    return result.stdout


def refused(*arguments):
    result = run(*arguments)
    assert (result.exit_code, result.stdout) == (2, ""), result.output
    assert result.stderr.startswith("Error: ")
    assert result.stderr.count("\n") == 1
    return result.stderr


def table():
    rng = np.random.default_rng(6)
    p = rng.random(N)
    matrix = rng.dirichlet([0.4, 0.6, 1.0], N)
    return {
        "y": (rng.random(N) < p**1.2).astype(np.int64),
        "p": p,
        "w": np.where(np.arange(N) < 4096, 0.0, rng.gamma(0.5, size=N)),  # the first two blocks weigh nothing
        "label": (matrix.cumsum(axis=1) > rng.random((N, 1))).argmax(axis=1),
        **{f"q{k}": matrix[:, k] for k in range(3)},
    }


def write(frame, path):
    writers = {".parquet": "write_parquet", ".csv": "write_csv", ".jsonl": "write_ndjson"}
    getattr(pl.DataFrame(frame), writers[path.suffix])(path)
    return path


def matrix_of(rows):
    return np.column_stack([rows[f"q{k}"] for k in range(3)])
