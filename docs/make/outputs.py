"""Run the Python of README.md and of the pages of docs, and write below each block what it prints and draws: part of
`make pictures`. With --quick, the code of the README runs, and nothing is written.

A block that begins with ```python is run; the blocks of a page share a namespace and an empty working directory. Its
output stands below it in a block that begins with ```text, and each figure in a link to a picture. Code between
`<!-- run` and `-->` is run too, and readers do not see it: it makes the files that a page reads, and checks its
sentences. A block that begins with `# bayescal/` shows a file of the package, and is not run. One that begins with
`# needs PACKAGE` is run, and its output replaced, only where this package is installed.
"""

import argparse
import ast
import contextlib
import io
import itertools
import os
import re
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt

from bayescal._packages import installed

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PICTURES = DOCS / "_static" / "outputs"
BLOCK = re.compile(
    r"^<!-- run\n(?P<hidden>.*?)^-->$"
    r"|^```console\n(?P<commands>.*?)^```$"
    r"|^```python\n(?P<shown>(?!# bayescal/).*?)^```\n"
    r"(?P<below>(?:\n```text\n.*?^```\n|\n!\[[^\]]*\]\([^)]*_static/[^)]*\.png\)\n)*)",
    re.DOTALL | re.MULTILINE,
)
LINK = re.compile(r"!\[(?P<alt>[^\]]*)\]\((?P<path>[^)]*)\)")


def pages() -> list[Path]:
    """Return README.md and all written pages of docs."""
    made = {"_build", "generated", "notebooks"}
    return [ROOT / "README.md", *sorted(page for page in DOCS.rglob("*.md") if not made & set(page.parts))]


@dataclass
class Page:
    """A page whose blocks are run in order; `pictures` holds what they draw, by file.

    `commands` is called with the text of each block that begins with ```console; by default nothing is run.
    """

    path: Path
    commands: Callable[[str], None] = lambda text: None
    namespace: dict[str, Any] = field(default_factory=lambda: {"__name__": "__main__"})
    pictures: dict[Path, bytes] = field(default_factory=dict)

    def run(self) -> str:
        """Run all blocks in an empty directory, and return the text of the page with their outputs."""
        plt.switch_backend("agg")
        plt.close("all")
        with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
            return BLOCK.sub(self._with_output, self.path.read_text(encoding="utf-8"))

    def _with_output(self, block: re.Match[str]) -> str:
        if block["hidden"] is not None:
            self._execute(block["hidden"])
            plt.close("all")  # a figure that readers do not see belongs to no block
            return block[0]
        if block["commands"] is not None:
            self.commands(block["commands"])
            return block[0]
        needs = re.match(r"# needs (\w+)\n", block["shown"])
        if needs and not installed(needs[1]):
            return block[0]
        printed = self._execute(block["shown"])
        parts = [f"```python\n{block['shown']}```\n"]
        if printed:
            parts.append(f"```text\n{printed}```\n")
        parts += self._drawn(LINK.finditer(block["below"]))
        return "\n".join(parts)

    def _execute(self, code: str) -> str:
        """Run code and return what it prints, and the value of its last line, unless it draws."""
        module = ast.parse(code, str(self.path))
        value = module.body.pop() if module.body and isinstance(module.body[-1], ast.Expr) else None
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(module, str(self.path), "exec"), self.namespace)
            if isinstance(value, ast.Expr):
                shown = eval(compile(ast.Expression(value.value), str(self.path), "eval"), self.namespace)
                if shown is not None and not plt.get_fignums():
                    print(repr(shown))
        lines = [line.rstrip() for line in printed.getvalue().splitlines()]
        return "".join(f"{line}\n" for line in lines)

    def _drawn(self, links: Iterator[re.Match[str]]) -> Iterator[str]:
        """Take all open figures; yield one link for each, with the file and the description of the previous one."""
        for number in plt.get_fignums():
            link = next(links, None)
            to = (self.path.parent / link["path"]).resolve() if link else self._new_picture()
            picture = io.BytesIO()
            # without date and version, so that equal pictures are equal files
            plt.figure(number).savefig(picture, dpi=100, metadata={"Software": None})
            plt.close(number)
            self.pictures[to] = picture.getvalue()
            to_page = os.path.relpath(to, self.path.parent)
            yield f"![{link['alt'] if link else ''}]({to_page})\n"

    def _new_picture(self) -> Path:
        """Return the first numbered file that neither the page nor a figure of this run uses."""
        names = (f"{self.path.stem}-{number}.png".lower() for number in itertools.count(1))
        text, made = self.path.read_text(encoding="utf-8"), {path.name for path in self.pictures}
        return PICTURES / next(name for name in names if name not in text and name not in made)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="run the README only, and write nothing")
    parser.add_argument("page", nargs="*", type=Path, help="pages to run; all if none is named")
    arguments = parser.parse_args()
    for path in [path.resolve() for path in arguments.page] or pages()[: 1 if arguments.quick else None]:
        page = Page(path)
        text = page.run()
        if not arguments.quick:
            path.write_text(text, encoding="utf-8")
            for to, picture in page.pictures.items():
                to.parent.mkdir(exist_ok=True)
                to.write_bytes(picture)
