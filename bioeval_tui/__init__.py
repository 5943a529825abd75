"""Evaluate conversational agents for biomedicine, and grade machine-learning submissions, in the
terminal.

From Python: `from bioeval_tui import evaluate, load_run` (docs/python.md). Nothing is imported
before one is used: with `python -m bioeval_tui` this file runs while the working folder is still on
the import path.
"""

__version__ = "0.1.0"
__all__ = ["Results", "evaluate", "evaluate_async", "load_run"]


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module  # see above

    value: object = getattr(import_module("bioeval_tui.library"), name)
    return value
