"""The same tasks on the spot as the unit tests of grading have."""

import runpy
from pathlib import Path

_shared = runpy.run_path(str(Path(__file__).parents[2] / "unit" / "grade" / "conftest.py"))
tasks = _shared["tasks"]
