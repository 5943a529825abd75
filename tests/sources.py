"""The project's own Python files, parsed once in a process for all tests that examine them."""

from __future__ import annotations

import ast
import functools
import gc
import importlib.util
import sys
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "bioeval_tui"


@functools.cache
def modules(folder: str = "bioeval_tui") -> dict[str, ast.Module]:
    """Return every Python file below a folder of the project, by its path in that folder, scripts
    included.
    """
    return {
        path.relative_to(ROOT / folder).as_posix(): ast.parse(path.read_bytes())
        for path in sorted((ROOT / folder).rglob("*"))
        if path.suffix == ".py" or _is_script(path)
    }


@functools.cache
def nodes(folder: str = "bioeval_tui") -> dict[str, list[ast.AST]]:
    """Return everything that stands in each Python file below a folder of the project."""
    # with a million objects that all stay, collecting garbage takes two thirds of the time
    gc.disable()
    try:
        return {name: list(ast.walk(tree)) for name, tree in modules(folder).items()}
    finally:
        gc.enable()


def _is_script(path: Path) -> bool:
    return path.is_file() and not path.suffix and b"python" in path.read_bytes().partition(b"\n")[0]


def load_script(name: str) -> ModuleType:
    """Load a Python file of `scripts/`, whose name no import statement can have, such as
    `guard-rates.py`.
    """
    module_name = name.removesuffix(".py").replace("-", "_")
    spec = importlib.util.spec_from_file_location(module_name, ROOT / "scripts" / name)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[module_name] = module  # dataclasses look their module up there
    spec.loader.exec_module(module)
    return module
