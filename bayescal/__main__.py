"""``python -m bayescal`` and ``bayescal`` are the command line."""

import sys

from bayescal import _packages


def main() -> None:
    """Run the command line, or say what to install for it."""
    try:
        _packages.require("typer")
    except ModuleNotFoundError as problem:
        print(f"Error: {problem}", file=sys.stderr)
        sys.exit(2)
    from bayescal.app import main as run

    run()


if __name__ == "__main__":
    main()
