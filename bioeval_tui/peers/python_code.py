"""Loads functions that a job names as `module:function`, from installed packages or folders that
the user allowed.

A job may come from anybody, so it must not decide what runs: the standard library, the working
folder and PYTHONPATH are not searched, and the function must be meant for this use, as the name of
its first parameter shows.
"""

from __future__ import annotations

import ast
import contextlib
import contextvars
import functools
import importlib.util
import os
import re
import site
import sys
import sysconfig
from collections.abc import Callable, Iterator, Sequence
from importlib.machinery import ModuleSpec, PathFinder
from importlib.metadata import packages_distributions
from pathlib import Path
from typing import Any, TextIO

from bioeval_tui.base.errors import UsageError
from bioeval_tui.base.files import real
from bioeval_tui.base.text import clean_line
from bioeval_tui.peers.function_calls import UnusableError, load_function


def locate(
    reference: str, folders: Sequence[Path], *, elsewhere: bool = False
) -> ModuleSpec | None:
    """Find the module of `module:function` without importing anything.

    None if it is in no folder and another interpreter, `elsewhere`, may have it installed.

    Raises:
        UsageError: it is neither installed nor in one of the folders, or has no such function.
    """
    module, _, name = reference.partition(":")
    top, *below = module.split(".")
    spec = PathFinder.find_spec(top, [str(folder) for folder in folders])
    if spec is None and elsewhere and top not in sys.stdlib_module_names:
        return None
    spec = spec or _installed(top)
    path = top
    for part in below:
        if spec is None or spec.submodule_search_locations is None:
            break
        path = f"{path}.{part}"
        spec = PathFinder.find_spec(path, list(spec.submodule_search_locations))
    if spec is None or path != module:
        given = " or ".join(clean_line(str(folder), 200) for folder in folders)
        where = "and no folder was given with --code DIR"
        if folders:
            where = f"nor in {given}"
        raise UsageError(
            f"module {clean_line(module, 100)} not found: it is not installed, {where}"
        )
    if _lacks_name(spec, name.partition(".")[0]):
        raise UsageError(
            f"{clean_line(spec.origin or module, 200)} has no function {clean_line(name, 100)}"
        )
    return spec


def load(reference: str, folders: Sequence[Path], first_parameter: str) -> Callable[..., Any]:
    """Import `module:function` and return the function.

    Raises:
        UsageError: it cannot be found or imported, or its first parameter has another name than
            `first_parameter`.
    """
    locate(reference, folders)
    try:
        with printing_elsewhere():
            return load_function(reference, tuple(map(str, folders)), _installed, first_parameter)
    except UnusableError as error:
        raise UsageError(clean_line(f"{clean_line(reference, 100)}{error}", 600)) from error


def interpreter(named: str, job_dir: Path | None, folders: Sequence[Path]) -> Path:
    """Return the absolute path of an interpreter that a job names, relative to the job's folder or
    one of `folders`.

    The last part of the path stays as it is, because a virtual environment's interpreter is a link
    out of it.

    Raises:
        UsageError: there is no such program, or it is in none of the `folders`.
    """
    shown = clean_line(named, 200)
    allowed = [real(folder) for folder in folders]
    outside = False
    for start in filter(None, (job_dir, *folders)):
        try:
            path = start.absolute() / named
            path = real(path.parent) / path.name
            if not path.is_file():
                continue
        except (OSError, RuntimeError, ValueError):  # a circle of links, or no path at all
            continue
        if not any(path.is_relative_to(folder) for folder in allowed):
            outside = True
        elif not os.access(path, os.X_OK):
            raise UsageError(
                f"{shown} is not a program: it must be executable, such as venv/bin/python"
            )
        else:
            return path
    if outside:
        raise UsageError(f"{shown} is in no folder that was given with --code DIR")
    where = "and no folder was given with --code DIR"
    if folders:
        where = "beside the job or in a folder given with --code"
    raise UsageError(f"interpreter {shown} not found, {where}")


@contextlib.contextmanager
def printing_elsewhere() -> Iterator[None]:
    """Redirect the output of this task and its threads to stderr, because a report may go to
    stdout.
    """
    if sys.stdout is not None and not isinstance(sys.stdout, _Stdout):
        sys.stdout = _Stdout(sys.stdout)
    before = _inside.get()
    _inside.set(True)
    try:
        yield
    finally:
        _inside.set(before)


def function_reference(function: Callable[..., Any]) -> str:
    """Return a function's name in jobs and recordings: `module:function`."""
    named = function if hasattr(function, "__qualname__") else type(function)
    place = [re.sub(r"[^\w.]+", "_", str(part)) for part in (named.__module__, named.__qualname__)]
    return ":".join(part if part[:1].isidentifier() else f"_{part}" for part in place)


def _installed(top: str) -> ModuleSpec | None:
    """Return the spec of an installed package's module; None for the standard library."""
    if top in sys.stdlib_module_names:
        return None
    spec = PathFinder.find_spec(top, list(_site_folders()))
    if spec is None:  # installed in a way that only its finder knows?
        with contextlib.suppress(ImportError, ValueError):
            spec = importlib.util.find_spec(top)
        # Asked last, because it reads the metadata of all packages.
        if spec is not None and top not in packages_distributions():
            spec = None
    return spec


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


def _lacks_name(spec: ModuleSpec, name: str) -> bool:
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
