"""The scripted run and the sample rows are shared with the pilot tests."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "tui"))
