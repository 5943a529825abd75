"""BioML-bench's names for programs written for it: `from bioeval_tui.compat import biomlbench`.

After that line `from biomlbench.grade import grade_csv` and its like import this program's own,
unless BioML-bench itself is installed, which is then left alone.
"""

from bioeval_tui.grade.biomlbench import install
from bioeval_tui.grade.tasks.registry import registry

biomlbench = install(registry.tasks_dirs)

__all__ = ["biomlbench"]
