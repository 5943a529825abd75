"""The openai package, whose types are loaded once somebody asks for one.

Importing it runs some 400 modules of typed requests and answers, a third of the time that a run takes to start, and
`ChatModel` sends and reads plain data. While it is imported here, the packages below `openai.types` are therefore left to run
when a name is first looked up in them. They are its own modules and run its own code, for everybody in this process.
If it was imported before, nothing is different.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import ModuleType
from typing import TYPE_CHECKING

POSTPONED = "openai.types"
_lock = threading.RLock()
_running: set[str] = set()


class _Waiting(ModuleType):
    """A module that has not run yet. The import system finds in it what it needs to import others from its folder."""

    def __getattr__(self, name: str) -> object:
        if name.startswith("__") and name != "__all__":
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        _run(self)
        value: object = ModuleType.__getattribute__(self, name)
        return value

    def __dir__(self) -> list[str]:
        _run(self)
        return list(self.__dict__)


def _run(module: ModuleType) -> None:
    """Run a module that waits. Other threads that look into it wait meanwhile; this one sees what there is so far."""
    with _lock:
        if type(module) is ModuleType or module.__name__ in _running:
            return
        _running.add(module.__name__)
        try:
            assert isinstance(module.__loader__, SourceFileLoader)
            module.__loader__.exec_module(module)
            module.__class__ = ModuleType
        finally:
            _running.discard(module.__name__)


class _Postpone(MetaPathFinder, Loader):
    """Finds the packages below `POSTPONED`, and loads them without running them."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return where the package is, to be loaded by this object; None for everything else."""
        if fullname != POSTPONED and not fullname.startswith(f"{POSTPONED}."):
            return None
        spec = PathFinder.find_spec(fullname, path)
        if (
            spec is None
            or not spec.submodule_search_locations
            or not isinstance(spec.loader, SourceFileLoader)
        ):
            return None
        spec.loader_state, spec.loader = spec.loader, self
        return spec

    def exec_module(self, module: ModuleType) -> None:
        """Leave the module waiting, with its own loader."""
        assert module.__spec__ is not None
        module.__spec__.loader = module.__loader__ = module.__spec__.loader_state
        module.__spec__.loader_state = None
        module.__class__ = _Waiting


if TYPE_CHECKING:
    import openai
    from openai import providers
else:
    _finder = _Postpone()
    sys.meta_path.insert(0, _finder)
    try:
        import openai
        from openai import providers
    finally:
        sys.meta_path.remove(_finder)

__all__ = ["openai", "providers"]
