"""Run a task's preparer: in this process for included tasks, otherwise in a separate one.

Code of other tasks may print, change folders, call `sys.exit` and import `biomlbench`, whose
stand-ins must not appear in a user's program, so it runs in a child process, whose output goes to stderr;
its arguments are REQUEST.json and OUTCOME.json.
"""

from __future__ import annotations

import contextlib
import csv
import inspect
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import TYPE_CHECKING

from bioeval_tui.errors import BioevalError, InputError, NotMeasuredError
from bioeval_tui.files import write_whole
from bioeval_tui.grade.batch.containment import LINUX, enter_domain, hide_process, supervise
from bioeval_tui.isolation import find_installed, module_command
from bioeval_tui.settings import plain_environment
from bioeval_tui.text import clean_line

if TYPE_CHECKING:
    from bioeval_tui.grade.tasks.task import Task


END_WITHIN_S = 10.0


class PrepareError(NotMeasuredError):
    """A task could not be prepared; the message says what to do."""


def run_here(task_id: str, function: Callable[..., object], raw: Path, draft: Path) -> None:
    """Call `function` with the folders that its parameters name: raw, and public and private (or prepared) below `draft`.

    Raises:
        PrepareError: it failed; the sentence says how.
        InputError: it asks for other arguments.
    """
    public, private = draft / "public", draft / "private"
    public.mkdir(parents=True, exist_ok=True)
    private.mkdir(exist_ok=True)
    offered = {"raw": raw, "prepared": draft, "public": public, "private": private}
    wanted = list(inspect.signature(function).parameters)
    if unknown := [name for name in wanted if name not in offered]:
        raise InputError(
            f"the preparer of {task_id} has unknown parameters: {', '.join(unknown)}; use raw, public and private"
        )
    try:
        function(**{name: offered[name] for name in wanted})
    except BioevalError:
        raise
    except FileNotFoundError as error:
        missing = clean_line(str(error.filename or error))
        raise PrepareError(
            f"the preparer of {task_id} cannot find {missing}; put the raw data into {raw}"
        ) from error
    except ImportError as error:
        name = clean_line(error.name or str(error))
        raise PrepareError(
            f"the preparer of {task_id} needs the package {name}, which is not installed"
        ) from error
    except Exception as error:  # a preparer is other people's code and may raise anything
        kind = type(error).__name__
        raise PrepareError(f"the preparer of {task_id} failed: {kind}: {clean_line(str(error))}") from error


def run_in_child(task: Task, draft: Path) -> None:
    """Run the preparer of a task in a child process, its output on stderr.

    Raises:
        PrepareError, InputError: as for `run_here`; also when the process dies or leaves early.
    """
    draft.mkdir(parents=True, exist_ok=True)
    request, outcome = draft.parent / "request.json", draft.parent / "outcome.json"
    paths = {"folder": task.folder, "root": task.root, "raw": task.raw_dir, "draft": draft}
    values = {name: str(path.absolute()) for name, path in paths.items()}
    write_whole(
        request, json.dumps({"task_id": task.id, "reference": task.preparer_reference, **values}), sync=False
    )
    hide_process()
    command = module_command("bioeval_tui.grade.tasks.preparer", str(request), str(outcome))
    # stdout is for data, so a preparer's output goes to stderr.
    with subprocess.Popen(  # noqa: S603 (our own interpreter)
        command, stdin=subprocess.DEVNULL, stdout=2, env=plain_environment(), start_new_session=True
    ) as child:
        try:
            code = child.wait()
        except BaseException:  # this program handles Ctrl-C and stops the child
            child.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                child.wait(END_WITHIN_S)
            child.kill()
            raise
    if not outcome.is_file():
        how = f"was killed by signal {-code}" if code < 0 else f"left early with exit code {code}"
        raise PrepareError(f"the preparer of {task.id} {how}")
    result = json.loads(outcome.read_text(encoding="utf-8"))
    if result["error"] is not None:
        raise (InputError if result["input"] else PrepareError)(result["error"])


def _offer_polaris(raw: Path) -> None:
    """Let preparers read `polaris.load_benchmark(…).target_cols` if polaris is not installed.

    The answer is stored with the download; for data added by hand, it is the columns after the first, which
    is correct for benchmarks with one input (checked by the checksums).
    """
    data, noted = raw / "polaris_train_data.csv", raw / "polaris_benchmark.json"
    if find_installed("polaris") is not None:
        return
    if noted.is_file():
        targets = json.loads(noted.read_text(encoding="utf-8"))["target_cols"]
    elif data.is_file():
        with data.open(encoding="utf-8", newline="") as file:
            targets = next(csv.reader(file), [])[1:]
    else:
        return
    module = ModuleType("polaris")
    vars(module)["load_benchmark"] = lambda name: SimpleNamespace(target_cols=list(targets))
    sys.modules["polaris"] = module


def main() -> None:
    """The child process: read the request, run the preparer, write the outcome."""
    from bioeval_tui.grade.biomlbench import install  # in the process that was started for it
    from bioeval_tui.grade.tasks.task_code import load_function

    if LINUX:
        supervise(os.getppid())  # the preparer's children end with it
    enter_domain()
    request = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    root = Path(request["root"])
    install([root])
    _offer_polaris(Path(request["raw"]))
    problem: BioevalError | None = None
    try:
        function = load_function(request["reference"], Path(request["folder"]), root)
        run_here(request["task_id"], function, Path(request["raw"]), Path(request["draft"]))
    except BioevalError as error:
        problem = error
    result = {"error": None if problem is None else str(problem), "input": isinstance(problem, InputError)}
    write_whole(sys.argv[2], json.dumps(result), sync=False)


if __name__ == "__main__":
    main()
