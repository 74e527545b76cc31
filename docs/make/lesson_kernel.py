"""Run a lesson in a fresh kernel, and its checks in the same kernel after the last cell."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import nbformat
from jupyter_client import AsyncKernelManager
from jupyter_client.kernelspec import KernelSpecManager
from nbclient import NotebookClient
from nbformat import NotebookNode

#: Seconds that one cell may take.
TIMEOUT = 600
#: Only errors of the kernel itself appear in the terminal.
QUIET = ["--log-level=ERROR"]
#: Read by matplotlib because the file is in the working directory of the kernel; readers have their own settings.
MATPLOTLIBRC = "figure.dpi: 80\n"
#: Settings of the person who runs the command that would change outputs: where figures go, colours, and start files.
FOREIGN = ("MPLBACKEND", "MATPLOTLIBRC", "FORCE_COLOR", "NO_COLOR", "PYTHONSTARTUP", "PYTHONWARNINGS")
#: The number of threads determines the order of sums, and so their last digits.
THREADS = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")
#: Call each function `check_*` of a file with the variables of the kernel that its parameters name.
RUN_CHECKS = """\
from inspect import signature as _signature
from runpy import run_path as _run_path

_checks = [_check for _name, _check in _run_path({path!r}).items() if _name.startswith("check_")]
assert _checks, "no function check_* in the file of checks"
for _check in _checks:
    _check(**{{_parameter: globals()[_parameter] for _parameter in _signature(_check).parameters}})
"""


async def executed(notebook: NotebookNode, checks: Path) -> NotebookNode:
    """Return the notebook with the outputs of a fresh kernel; raise if a cell or a check fails, naming neither."""
    fresh = nbformat.from_dict({**notebook, "cells": [*notebook.cells, _checking(checks)]})
    for cell in fresh.cells:
        if cell.cell_type == "code":
            cell.outputs = []  # those of a cell without code would stay
    with _workplace() as where:
        client = NotebookClient(
            fresh, km=_kernel(), timeout=TIMEOUT, record_timing=False, coalesce_streams=True, extra_arguments=QUIET
        )
        await client.async_execute(cleanup_kc=True, **where)
    del fresh.cells[-1]
    fresh.metadata = notebook.metadata  # the kernel adds the versions of Python and IPython
    return fresh


def _checking(checks: Path) -> NotebookNode:
    return nbformat.v4.new_code_cell(RUN_CHECKS.format(path=str(checks)))


def _kernel() -> AsyncKernelManager:
    """Return the kernel of the Python that runs this command; kernels that a user has installed are not searched."""
    return AsyncKernelManager(kernel_name="python3", kernel_spec_manager=KernelSpecManager(kernel_dirs=[]))


@contextmanager
def _workplace() -> Iterator[dict[str, Any]]:
    """Yield an empty working directory and an environment without the settings of the user."""
    with TemporaryDirectory(prefix="lesson-", ignore_cleanup_errors=True) as folder:
        Path(folder, "matplotlibrc").write_text(MATPLOTLIBRC, encoding="utf-8")
        kept = {name: value for name, value in os.environ.items() if name not in FOREIGN}
        inside = {"IPYTHONDIR": str(Path(folder, "ipython")), "TMPDIR": folder}
        yield {"cwd": folder, "env": {**kept, **THREADS, **inside}}
