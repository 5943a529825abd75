"""Evaluate conversational agents for biomedicine, and grade machine-learning submissions, in the terminal.

From Python: `from bioeval_tui import evaluate, load_run` (docs/python.md). Nothing heavy is imported before one is called.
"""

from importlib import import_module
from typing import Any

__version__ = "0.1.0"
__all__ = ["Results", "evaluate", "evaluate_async", "load_run"]


def __getattr__(name: str) -> Any:
    if name == "evaluate":
        return import_module("bioeval_tui.evaluate")  # which can be called
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module("bioeval_tui.library"), name)
