"""The temporary tasks of the unit tests of grading."""

import runpy
from pathlib import Path

_shared = runpy.run_path(str(Path(__file__).parents[2] / "unit" / "grade" / "conftest.py"))
tasks = _shared["tasks"]
forks_templates = _shared["forks_templates"]
starts_templates = _shared["starts_templates"]
