"""Grader and preparer code: functions loaded from a task's own folder, whatever its name.

Published configs say `biomlbench.tasks.<folder>.<task>.grade:grade`. Folder and task may hold hyphens
and dots, and the config may have been copied from another task, so the module is looked for beside
the config first and imported under a package made for the purpose; relative imports work.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.machinery
import importlib.util
import re
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from bioeval_tui.errors import InputError, NotMeasuredError
from bioeval_tui.installation import install_command
from bioeval_tui.text import clean_line

NEEDS_POLARIS = (
    "install polaris-lib with pandas, pyarrow, scikit-learn and pyyaml in an environment of its own "
    "(it needs older packages than this program) and name that environment's Python in BIOEVAL_WORKER_PYTHON"
)
_lock = threading.Lock()


class CodeError(NotMeasuredError):
    """A task's own code cannot be imported."""


def load_function(reference: str, folder: Path | None, root: Path | None = None) -> Callable[..., Any]:
    """Return the function that `reference` (`module:function`) names.

    The module is looked for in the task's `folder` below `root` first, then among those that are installed.

    Raises:
        InputError: `reference` is not of that form.
        CodeError: the module cannot be imported or has no such function; the sentence says what to install.
    """
    module_name, separator, function_name = reference.partition(":")
    if not separator or not module_name or not function_name.isidentifier():
        raise InputError(f"`{clean_line(reference, 100)}` is not of the form module:function")
    last = module_name.rpartition(".")[2]
    own_file = None if folder is None else folder / f"{last}.py"
    if own_file is not None and not own_file.is_file():
        own_file = None
    where = own_file or clean_line(reference, 100)
    try:
        with _lock:
            if own_file is not None:
                module = _import_own(last, own_file.parent, root or own_file.parents[1])
            else:
                module = importlib.import_module(module_name)
    except ImportError as error:
        raise CodeError(_import_sentence(error, where)) from error
    except Exception as error:  # importing runs somebody else's code; the sentence names what it raised
        kind = type(error).__name__
        raise CodeError(f"{where} cannot be loaded: {kind}: {clean_line(str(error))}") from error
    function = getattr(module, function_name, None)
    if not callable(function):
        raise CodeError(f"{where} has no function `{function_name}`")
    return function  # type: ignore[no-any-return]


def _import_sentence(error: ImportError, where: Path | str) -> str:
    missing = (error.name or "").partition(".")[0]
    if missing == "biomlbench":
        return (
            f"{where} imports biomlbench, which is not installed; grade from the command line, or put "
            "`from bioeval_tui.compat import biomlbench` before"
        )
    if missing == "polaris":
        return f"{where} needs polaris: {NEEDS_POLARIS}"
    if missing in ("Levenshtein", "pycocotools"):
        command = install_command([missing.lower()], "graders")
        return f"{where} needs the package {missing}: install with `{command}`"
    if missing and isinstance(error, ModuleNotFoundError):
        return f"{where} needs the package {missing}, which is not installed"
    return f"{where} cannot be imported: {clean_line(str(error))}"


def _import_own(name: str, folder: Path, root: Path) -> ModuleType:
    parts = folder.relative_to(root).parts if folder.is_relative_to(root) else (folder.name,)
    digest = hashlib.sha256(str(root).encode()).hexdigest()[:12]
    package = f"_bioeval_tasks_{digest}"
    place = root
    _ensure_package(package, place)
    for part in parts:
        package = f"{package}.{re.sub(r'[.]', '·', part)}"
        place = place / part
        _ensure_package(package, place)
    return importlib.import_module(f"{package}.{name}")


def _ensure_package(name: str, folder: Path) -> None:
    if name in sys.modules:
        return
    init = folder / "__init__.py"
    if init.is_file():
        spec = importlib.util.spec_from_file_location(name, init, submodule_search_locations=[str(folder)])
        assert spec is not None
        load_as(name, spec)
        return
    spec = importlib.machinery.ModuleSpec(name, None, is_package=True)
    spec.submodule_search_locations = [str(folder)]
    sys.modules[name] = importlib.util.module_from_spec(spec)


def load_as(name: str, spec: importlib.machinery.ModuleSpec) -> ModuleType:
    """Import the module that `spec` describes under `name`."""
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module
