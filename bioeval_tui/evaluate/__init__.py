"""Agents and conversations.

`from bioeval_tui import evaluate` imports this package, which is callable: a call is
`bioeval_tui.library.evaluate`.
"""

import sys
from importlib import import_module
from types import ModuleType
from typing import Any


class _CallablePackage(ModuleType):
    def __call__(self, *given: Any, **asked: Any) -> Any:
        return import_module("bioeval_tui.library").evaluate(*given, **asked)


sys.modules[__name__].__class__ = _CallablePackage
