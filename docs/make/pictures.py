"""Run the Python of README.md; write what it prints below it, and its picture to docs/_static: `make pictures`. With
--quick, the code runs but nothing is written.
"""

import argparse
import contextlib
import io
import re
from pathlib import Path

import matplotlib.pyplot as plt

ROOT = Path(__file__).resolve().parents[2]
README, PICTURE = ROOT / "README.md", ROOT / "docs" / "_static" / "reliability.png"
BLOCK_AND_OUTPUT = re.compile(r"```python\n(?P<code>.*?)```\n\n```text\n.*?```", re.DOTALL)


def run(match: re.Match[str]) -> str:
    """Run a block of Python and return it with its output; all blocks share a namespace."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(match["code"], NAMESPACE)
    return f"```python\n{match['code']}```\n\n```text\n{printed.getvalue()}```"


if __name__ == "__main__":
    plt.switch_backend("agg")
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="write nothing")
    quick = parser.parse_args().quick
    NAMESPACE: dict[str, object] = {}
    page = BLOCK_AND_OUTPUT.sub(run, README.read_text(encoding="utf-8"))
    picture = io.BytesIO()
    # without date and version, so that equal pictures are equal files
    plt.figure(1).savefig(picture, dpi=110, metadata={"Software": None})
    if not quick:
        README.write_text(page, encoding="utf-8")
        PICTURE.parent.mkdir(exist_ok=True)
        PICTURE.write_bytes(picture.getvalue())
