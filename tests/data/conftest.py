"""Let the tests in this folder import `hostile_files`."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parent))
