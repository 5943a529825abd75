"""The published name of `bioeval_tui.grade`: what BioML-bench's grading does, as a library.

Importing it loads no pandas.

from bioeval_tui.grading import registry, grade_submission
report = grade_submission(Path("submission.csv"), registry.get_task("oncology/breast-cancer"))
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bioeval_tui import grade
from bioeval_tui.grade import __all__

if TYPE_CHECKING:
    from bioeval_tui.grade import *  # noqa: F403


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(grade, name)


def __dir__() -> list[str]:
    return __all__
