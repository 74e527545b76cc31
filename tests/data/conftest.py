"""Lets tests of this folder import `hostile_files`, which stands beside them."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parent))
