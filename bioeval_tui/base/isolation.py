"""Keep the working folder off the import path, in this process and in the Pythons that it starts.

People start this program in folders full of files that others wrote. Python by itself would import
a `random.py` from there, with every key in the environment.

`__main__` imports this module first: what it imports itself has to be part of the interpreter or
already loaded (no `pathlib`, no `__future__`).
"""

# ruff: noqa: PTH100, PTH109, PTH120

import os
import sys
from importlib.machinery import ModuleSpec, PathFinder

is_program = False
"""Whether this process is the program itself, as `__main__` says, and not one that uses it as a
library.
"""
_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
# As `-m` does, which finds only what is installed: the package may also lie in a checkout. It comes
# last on the path, so that what is installed wins.
_RUN = (
    "import runpy, sys; place = sys.argv.pop(1); place in sys.path or sys.path.append(place); "
    "runpy.run_module(sys.argv.pop(1), run_name='__main__', alter_sys=True)"
)
# Another Python gets only this package, and none of the packages installed beside it, which are for
# this Python.
_RUN_ALONE = """
import importlib.util, runpy, sys
place = sys.argv.pop(1)
spec = importlib.util.spec_from_file_location(
    "bioeval_tui", place + "/__init__.py", submodule_search_locations=[place]
)
package = sys.modules["bioeval_tui"] = importlib.util.module_from_spec(spec)
spec.loader.exec_module(package)
runpy.run_module(sys.argv.pop(1), run_name="__main__", alter_sys=True)
"""


def module_command(module: str, *arguments: str, python: str | None = None) -> list[str]:
    """Return the command that runs a module of this package: with this Python, or with `python` and
    its packages.
    """
    if python is not None:
        return [python, "-P", "-c", _RUN_ALONE, _PACKAGE, module, *arguments]
    return [sys.executable, "-P", "-c", _RUN, os.path.dirname(_PACKAGE), module, *arguments]


def program_command(*arguments: str) -> list[str]:
    """Return the command that runs this program as a child process."""
    return module_command("bioeval_tui", *arguments)


def script_command(script: str, *arguments: str, python: str | None = None) -> list[str]:
    """Return the command that runs a file with `python`, which may be too old to know `-P`.

    A file's own folder comes first on the import path, not the working folder.
    """
    return [python or sys.executable, os.path.abspath(script), *arguments]


def code_command(code: str, *arguments: str) -> list[str]:
    """Return the command that runs some code with the standard library alone, which starts
    quickly.
    """
    return [sys.executable, "-I", "-S", "-c", code, *arguments]


def leave_out_working_folder(*, run_by_name: bool) -> None:
    """Remove the working folder from the import path.

    Python puts it there for `python -m` (`run_by_name`) and for each empty entry of PYTHONPATH,
    which children would inherit. An entry that names the folder stays: the user chose it.
    """
    here = _working_folder()
    if run_by_name and not sys.flags.safe_path and sys.path[:1] == [here]:
        del sys.path[0]
    named = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    kept = [entry for entry in named if entry]
    if len(kept) < len(named):
        os.environ["PYTHONPATH"] = os.pathsep.join(kept)
        if here not in map(os.path.abspath, kept):
            sys.path[:] = [entry for entry in sys.path if entry != here]


def find_installed(name: str) -> ModuleSpec | None:
    """Return the location of a top-level package without importing it; None if it is not installed.

    A folder of its name in the working folder does not count, although a user's own script would
    see it.
    """
    path = sys.path[1:] if sys.path[:1] in ([""], [_working_folder()]) else sys.path
    for finder in sys.meta_path:
        spec = finder.find_spec(name, path if finder is PathFinder else None)
        if spec is not None and spec.origin is not None:  # without an origin it is a bare folder
            return spec
    return None


def _working_folder() -> str:
    try:
        return os.getcwd()
    except OSError:
        return ""  # it was deleted: nothing can be imported from it
