"""Run the Python of README.md; write what it prints below it, and its picture to docs/_static: `make pictures`."""

import contextlib
import io
import re
from pathlib import Path

import matplotlib.pyplot as plt

ROOT = Path(__file__).resolve().parents[2]
README, PICTURE = ROOT / "README.md", ROOT / "docs" / "_static" / "reliability.png"
BLOCK_AND_OUTPUT = re.compile(r"```python\n(?P<code>.*?)```\n\n```text\n.*?```", re.DOTALL)


def run(match: re.Match[str]) -> str:
    """One block of Python with the output that it has today; namespaces are shared, as in one session."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(match["code"], NAMESPACE)
    return f"```python\n{match['code']}```\n\n```text\n{printed.getvalue()}```"


if __name__ == "__main__":
    plt.switch_backend("agg")
    NAMESPACE: dict[str, object] = {}
    README.write_text(BLOCK_AND_OUTPUT.sub(run, README.read_text(encoding="utf-8")), encoding="utf-8")
    PICTURE.parent.mkdir(exist_ok=True)
    # no date and no version inside, so that the same picture is the same file
    plt.figure(1).savefig(PICTURE, dpi=110, metadata={"Software": None})
