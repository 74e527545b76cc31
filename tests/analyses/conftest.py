"""Let the tests in this folder import `compared_rows`."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parent))
