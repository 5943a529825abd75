"""Loads functions that a job names as `module:function`, from installed packages or folders that the user allowed.

A job may come from anybody, so it must not decide what runs: the standard library, the working folder and PYTHONPATH
are not searched, and the function must be meant for this use, as the name of its first parameter shows.
"""

from __future__ import annotations

import ast
import asyncio
import contextlib
import contextvars
import functools
import importlib
import importlib.util
import inspect
import re
import site
import sys
import sysconfig
import threading
from collections.abc import Callable, Iterator, Sequence
from importlib.machinery import ModuleSpec, PathFinder
from importlib.metadata import packages_distributions
from pathlib import Path
from typing import Any, TextIO

from bioeval_tui.errors import UsageError
from bioeval_tui.text import clean_line


def locate(reference: str, folders: Sequence[Path]) -> ModuleSpec:
    """Find the module of `module:function` without importing anything.

    Raises:
        UsageError: it is neither installed nor in one of the folders, or has no such function.
    """
    module, _, name = reference.partition(":")
    top, *below = module.split(".")
    spec = PathFinder.find_spec(top, [str(folder) for folder in folders]) or _installed(top)
    path = top
    for part in below:
        if spec is None or spec.submodule_search_locations is None:
            break
        path = f"{path}.{part}"
        spec = PathFinder.find_spec(path, list(spec.submodule_search_locations))
    if spec is None or path != module:
        given = " or ".join(clean_line(str(folder), 200) for folder in folders)
        where = f"nor in {given}" if folders else "and no folder was given with --code DIR"
        raise UsageError(f"module {clean_line(module, 100)} not found: it is not installed, {where}")
    if _lacks(spec, name.partition(".")[0]):
        raise UsageError(f"{clean_line(spec.origin or module, 200)} has no function {clean_line(name, 100)}")
    return spec


def load(reference: str, folders: Sequence[Path], first_parameter: str) -> Callable[..., Any]:
    """Import `module:function` and return the function.

    Raises:
        UsageError: it cannot be found or imported, or its first parameter has another name than `first_parameter`.
    """
    locate(reference, folders)
    shown = clean_line(reference, 100)
    module, _, name = reference.partition(":")
    try:
        with printing_elsewhere():
            found: Any = _imported(module, tuple(folders))
        for part in name.split("."):
            found = getattr(found, part)
    except UsageError:
        raise
    except (Exception, SystemExit) as error:  # importing runs other people's code
        why = clean_line(f"{type(error).__name__}: {error}", 300)
        raise UsageError(f"{shown} cannot be loaded: {why}") from error
    if not callable(found):
        raise UsageError(f"{shown} is not a function")
    if next(iter(_parameters(found)), "") != first_parameter:
        raise UsageError(
            f"{shown} was not written for this purpose: its first parameter must be called `{first_parameter}`"
        )
    checked: Callable[..., Any] = found
    return checked


@contextlib.contextmanager
def printing_elsewhere() -> Iterator[None]:
    """Redirect the output of this task and its threads to stderr, because a report may go to stdout."""
    if sys.stdout is not None and not isinstance(sys.stdout, _Stdout):
        sys.stdout = _Stdout(sys.stdout)
    before = _inside.get()
    _inside.set(True)
    try:
        yield
    finally:
        _inside.set(before)


async def in_thread(function: Callable[..., Any], *given: Any) -> Any:
    """Call a function in its own thread; return its result or raise its exception.

    The thread is a daemon, so a call that never ends does not keep the program from ending.
    """
    loop = asyncio.get_running_loop()
    answered: asyncio.Future[Any] = loop.create_future()
    context = contextvars.copy_context()

    def settle(result: Any, error: BaseException | None) -> None:
        if answered.done():
            return
        if error is None:
            answered.set_result(result)
        else:
            answered.set_exception(error)

    def work() -> None:
        result, error = None, None
        try:
            result = context.run(function, *given)
        except Exception as raised:  # it belongs to the caller
            error = raised
        except BaseException as raised:
            error = RuntimeError(f"{type(raised).__name__}: {raised}")
        with contextlib.suppress(RuntimeError):  # the loop is closed
            loop.call_soon_threadsafe(settle, result, error)

    threading.Thread(target=work, name="function of a job", daemon=True).start()
    return await answered


def reference_to(function: Callable[..., Any]) -> str:
    """Return a function's name in jobs and recordings: `module:function`."""
    named = function if hasattr(function, "__qualname__") else type(function)
    place = [re.sub(r"[^\w.]+", "_", str(part)) for part in (named.__module__, named.__qualname__)]
    return ":".join(part if part[:1].isidentifier() else f"_{part}" for part in place)


def takes(function: Callable[..., Any], parameter: str) -> bool:
    """Return whether a function has a parameter of that name."""
    return parameter in _parameters(function)


def _parameters(function: Callable[..., Any]) -> list[str]:
    try:
        return list(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        return []


def _imported(module: str, folders: tuple[Path, ...]) -> Any:
    """Import a module from where it was located, even if another one of that name is earlier on the path."""
    top = module.partition(".")[0]
    spec = PathFinder.find_spec(top, [str(folder) for folder in folders]) or _installed(top)
    assert spec is not None
    known = sys.modules.get(top)
    if known is not None and spec.origin and getattr(known, "__file__", None) not in (spec.origin, None):
        raise UsageError(
            f"{clean_line(spec.origin, 200)} has the name of another module, {clean_line(str(known.__file__), 200)}; rename it"
        )
    for folder in folders:
        if str(folder) not in sys.path:
            sys.path.append(str(folder))  # last: for modules that these modules import from their folder
    if known is None:
        made = importlib.util.module_from_spec(spec)
        sys.modules[top] = made
        try:
            if spec.loader is not None:
                spec.loader.exec_module(made)
        except BaseException:
            del sys.modules[top]
            raise
    return importlib.import_module(module)


def _installed(top: str) -> ModuleSpec | None:
    """Return the spec of an installed package's module; None for the standard library."""
    if top in sys.stdlib_module_names:
        return None
    found = PathFinder.find_spec(top, list(_site_folders()))
    if found is None and top in packages_distributions():  # installed in a way that only its finder knows
        try:
            found = importlib.util.find_spec(top)
        except (ImportError, ValueError):
            found = None
    return found


@functools.lru_cache(maxsize=1)
def _site_folders() -> tuple[str, ...]:
    """Return the folders where packages are installed, including editable ones."""
    own = [sysconfig.get_path("purelib"), sysconfig.get_path("platlib"), *site.getsitepackages()]
    if site.ENABLE_USER_SITE:
        own.append(site.getusersitepackages())
    links = []
    for folder in dict.fromkeys(own):
        for file in sorted(Path(folder).glob("*.pth")):
            try:
                lines = file.read_text("utf-8").splitlines()
            except (OSError, UnicodeDecodeError):
                continue
            links += [line for line in lines if line and Path(line).is_dir()]
    return tuple(dict.fromkeys([*own, *links]))


def _lacks(spec: ModuleSpec, name: str) -> bool:
    """Return whether a module's source certainly does not define a name."""
    if spec.origin is None or not spec.origin.endswith(".py"):
        return False
    try:
        tree = ast.parse(Path(spec.origin).read_bytes())
    except (OSError, SyntaxError, ValueError):
        return False  # importing says it better
    bound: set[str] = set()
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                bound.add(node.name)
            case ast.Name(ctx=ast.Store()):
                bound.add(node.id)
            case ast.Import() | ast.ImportFrom():
                bound |= {(alias.asname or alias.name).partition(".")[0] for alias in node.names}
    return name not in bound and "*" not in bound and "__getattr__" not in bound


_inside: contextvars.ContextVar[bool] = contextvars.ContextVar("inside_a_function", default=False)
"""Whether the running code is a function of a job."""


class _Stdout:
    """stdout, except that output of a job's functions goes to stderr."""

    def __init__(self, own: TextIO) -> None:
        self._own = own

    def __getattr__(self, name: str) -> Any:
        return getattr(sys.stderr if _inside.get() else self._own, name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._own)
