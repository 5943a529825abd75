"""Grader and preparer code: functions loaded from a task's own folder, whatever its name.

Published configs use `biomlbench.tasks.<folder>.<task>.grade:grade`. Folder and task may contain
hyphens and dots, and the config may have been copied from another task, so the module is looked up
beside the config first, and imported under a generated package; relative imports work.
"""

from __future__ import annotations

import ast
import contextlib
import hashlib
import importlib
import importlib.machinery
import importlib.util
import re
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

from bioeval_tui.base.errors import InputError, NotMeasuredError
from bioeval_tui.base.installation import install_command
from bioeval_tui.base.text import clean_line

NEEDS_POLARIS = (
    "install polaris-lib with pyarrow, scikit-learn, pyyaml and this program's version of pandas in"
    " an environment of its own and name that environment's Python in BIOEVAL_WORKER_PYTHON"
    " (docs/grading.md, Graders with code)"
)
NEEDS_NUMPY = (
    "install an older numpy in an environment of its own and name that environment's Python in"
    " BIOEVAL_WORKER_PYTHON (docs/grading.md, Graders with code)"
)
_lock = threading.Lock()


class CodeError(NotMeasuredError, ImportError):
    """A task's own code cannot be imported."""


class MissingPackageError(CodeError):
    """A task's own code needs a package, or a version of one, that is not installed."""


def load_function(reference: str, folder: Path | None, root: Path | None) -> Callable[..., Any]:
    """Return the function that `reference` (`module:function`) names.

    The module is looked up in the task's `folder` below `root` first, then among installed ones.

    Raises:
        InputError: `reference` is not of that form.
        CodeError: the module cannot be imported or has no such function; the message says what to
            install.
    """
    module_name, separator, function_name = reference.partition(":")
    if not separator or not module_name or not function_name.isidentifier():
        raise InputError(f"`{clean_line(reference, 100)}` is not of the form module:function")
    last = module_name.rpartition(".")[2]
    own_file = None if folder is None else folder / f"{last}.py"
    if own_file is not None and not own_file.is_file():
        own_file = None
    where = own_file or clean_line(reference, 100)
    if root is not None:
        _offer_tasks(root)
    try:
        with _lock:
            if own_file is not None:
                module = _import_own(last, own_file.parent, root or own_file.parents[1])
            else:
                module = importlib.import_module(module_name)
    except ImportError as error:
        raise import_problem(error, where) from error
    except Exception as error:  # importing runs other people's code, which may raise anything
        kind = type(error).__name__
        raise CodeError(f"{where} cannot be loaded: {kind}: {clean_line(str(error))}") from error
    function = getattr(module, function_name, None)
    if not callable(function):
        raise CodeError(f"{where} has no function `{function_name}`")
    return function  # type: ignore[no-any-return]


def import_problem(error: ImportError, where: Path | str) -> CodeError:
    """Return the error for a grader's or preparer's failed import, with what to install.

    Args:
        where: the imported file, or its name in the task's config.
    """
    if isinstance(error, CodeError):
        return error
    missing = (error.name or "").partition(".")[0]
    if missing == "biomlbench":
        return CodeError(
            f"{where} imports {clean_line(error.name or '', 100)}, which is not installed; grade"
            " from the command line, or put `from bioeval_tui.compat import biomlbench` before"
        )
    if missing == "polaris":
        return MissingPackageError(f"{where} needs polaris: {NEEDS_POLARIS}")
    if missing in ("Levenshtein", "pycocotools"):
        command = install_command([missing.lower()], "graders")
        return MissingPackageError(f"{where} needs the package {missing}: install with `{command}`")
    if missing and isinstance(error, ModuleNotFoundError):
        return MissingPackageError(f"{where} needs the package {missing}, which is not installed")
    return CodeError(f"{where} cannot be imported: {clean_line(str(error))}")


def _offer_tasks(root: Path) -> None:
    """Let code below `root` import `biomlbench.tasks…` from `root`, if our stand-in is in use."""
    tasks = sys.modules.get("biomlbench.tasks")
    if (
        tasks is not None
        and getattr(tasks, "__bioeval__", False)
        and str(root) not in tasks.__path__
    ):
        tasks.__path__ = [*tasks.__path__, str(root)]


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
    full_name = f"{package}.{name}"
    if full_name in sys.modules:
        return sys.modules[full_name]
    loader = _GraderLoader(full_name, str(folder / f"{name}.py"))
    spec = importlib.util.spec_from_loader(full_name, loader)
    assert spec is not None
    module = load_as(full_name, spec)
    if "joblib" in (folder / f"{name}.py").read_text("utf-8"):
        _send_whole(module)
    return module


def _send_whole(module: ModuleType) -> None:
    """Let joblib send the functions of a module to its processes, which cannot import what only
    this one knows.
    """
    for name in ("joblib.externals.cloudpickle", "cloudpickle"):  # up to joblib 1.5, and since
        with contextlib.suppress(ImportError):
            importlib.import_module(name).register_pickle_by_value(module)


def _ensure_package(name: str, folder: Path) -> None:
    if name in sys.modules:
        return
    init = folder / "__init__.py"
    if init.is_file():
        spec = importlib.util.spec_from_file_location(
            name, init, submodule_search_locations=[str(folder)]
        )
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


class _GraderLoader(importlib.machinery.SourceFileLoader):
    """Loads a grader so that `int(array)` and `float(array)` take an array of one element, as
    before NumPy 2.4.

    Published graders rely on it. Only these calls in the grader's own file are changed; line
    numbers stay the same.
    """

    def get_code(self, fullname: str) -> CodeType:
        """Compile the source, never from or to a cache."""
        tree = ast.parse(self.get_data(self.path), self.path)
        return compile(_ScalarCalls().visit(tree), self.path, "exec", dont_inherit=True)

    def exec_module(self, module: ModuleType) -> None:
        """Run the module, which finds `scalar` under a name that no grader uses."""
        vars(module)[_SCALAR] = scalar
        super().exec_module(module)


_SCALAR = "__bioeval_scalar__"


class _ScalarCalls(ast.NodeTransformer):
    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        if (
            isinstance(node.func, ast.Name)
            and node.func.id in ("int", "float")
            and len(node.args) == 1
        ):
            called = ast.copy_location(ast.Name(_SCALAR, ast.Load()), node.func)
            return ast.copy_location(ast.Call(called, [node.func, *node.args], node.keywords), node)
        return node


def scalar(kind: Callable[..., Any], value: Any, **named: Any) -> Any:
    """Return `kind(value)`; a NumPy array of one element counts as that element."""
    if (
        getattr(value, "ndim", 0)
        and getattr(value, "size", 0) == 1
        and type(value).__module__ == "numpy"
    ):
        value = value.reshape(-1)[0]
    return kind(value, **named)
