"""Let the tests in this folder import `stored_counts` and `class_rows`."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parent))
