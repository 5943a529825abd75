"""Prepare a task: its raw data, split, leaderboard and checksums.

Idempotent: a task that is prepared is skipped. The split is written to a temporary folder and moved
into place once it is complete and its checksums match. An interrupted preparation removes the
folder itself; `remove_drafts` removes it for a process that was killed.

`checksums.yaml` has `zip: <md5>` of a downloaded archive, and `public` and `private` with one entry
a file. An entry is the MD5 of the file's bytes, or `content-sha256:<hex>`: the bytes of an HDF5
file differ between library versions that store the same arrays.

The preparer runs in a child process: this module, started with a request and the path of its
outcome.
"""

from __future__ import annotations

import contextlib
import csv
import hashlib
import inspect
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import yaml

from bioeval_tui.base.archives import ArchiveError, open_archive
from bioeval_tui.base.errors import BioevalError, InputError, NotMeasuredError, StorageError
from bioeval_tui.base.files import (
    Target,
    below,
    csv_text,
    folder_below,
    folder_file,
    named,
    real,
    storage_error,
    write_whole,
)
from bioeval_tui.base.isolation import find_installed, module_command
from bioeval_tui.base.settings import plain_environment
from bioeval_tui.base.streams import make_lasting
from bioeval_tui.base.text import clean_line
from bioeval_tui.base.yaml_positions import load_yaml, syntax_problem
from bioeval_tui.grade.batch.containment import LINUX, enter_domain, hide_process, supervise
from bioeval_tui.grade.tasks.source_types import BuiltinSource, get_source
from bioeval_tui.grade.tasks.sources import TaskSource
from bioeval_tui.grade.tasks.task import SHIPPED_TASKS, Task

END_WITHIN_S = 10.0


class PrepareError(NotMeasuredError):
    """A task could not be prepared; the message says what to do."""


def run_here(task_id: str, function: Callable[..., object], raw: Path, draft: Path) -> None:
    """Call `function` with the folders that its parameters name: raw, and public and private (or
    prepared) below `draft`.

    Raises:
        PrepareError: it failed; the sentence says how.
        InputError: it asks for other arguments.
    """
    public, private = folder_below(draft, "public"), folder_below(draft, "private")
    offered = {"raw": raw, "prepared": draft, "public": public, "private": private}
    wanted = list(inspect.signature(function).parameters)
    if unknown := [name for name in wanted if name not in offered]:
        raise InputError(
            f"the preparer of {task_id} has unknown parameters: {', '.join(unknown)}; use raw,"
            " public and private"
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
        raise PrepareError(
            f"the preparer of {task_id} failed: {kind}: {clean_line(str(error))}"
        ) from error


def run_in_child(task: Task, draft: Path) -> None:
    """Run the preparer of a task in a child process, its output on stderr.

    Raises:
        PrepareError, InputError: as for `run_here`; also when the process dies or leaves early.
    """
    request, outcome = below(draft.parent, "request.json"), draft.parent / "outcome.json"
    paths = {"folder": task.folder, "root": task.root, "raw": task.raw_dir, "draft": draft}
    values = {name: str(path.absolute()) for name, path in paths.items()}
    write_whole(
        request,
        json.dumps({"task_id": task.id, "reference": task.preparer_reference, **values}),
        sync=False,
    )
    hide_process()
    command = module_command("bioeval_tui.grade.tasks.prepare", str(request), str(outcome))
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
        error = InputError if result["input"] else PrepareError
        raise error(result["error"])


def _offer_polaris(raw: Path) -> None:
    """Let preparers read `polaris.load_benchmark(…).target_cols` if polaris is not installed.

    The answer is stored with the download; for data added by hand, it is the columns after the
    first, which is correct for benchmarks with one input (checked by the checksums).
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


CONTENT = "content-sha256:"


def read_checksums(path: Path) -> dict[str, Any]:
    """Return the checksums of a task; empty if it has none.

    Raises:
        InputError: the file is not a YAML mapping.
    """
    if not path.is_file():
        return {}
    try:
        # All scalars stay text, because a checksum may consist of digits only.
        written = path.read_text(encoding="utf-8")
        data = load_yaml(written, yaml.BaseLoader)
    except yaml.MarkedYAMLError as error:
        problem = syntax_problem(error, written, str(path))
        raise InputError(str(problem), (problem,)) from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: not valid YAML: {error}") from None
    if data in (None, ""):
        return {}
    if not isinstance(data, dict):
        raise InputError(f"{path}: checksums must be a mapping of file names to checksums")
    return data


def file_checksum(path: Path, like: str = "") -> str:
    """Return the checksum of a file, of the same kind as `like` (MD5 of the bytes by default)."""
    if like.startswith(CONTENT):
        return CONTENT + _hdf5_digest(path)
    with path.open("rb") as file:
        return hashlib.file_digest(file, lambda: hashlib.md5(usedforsecurity=False)).hexdigest()


def folder_checksums(folder: Path) -> dict[str, str]:
    """Return the checksums to record for the data files of a folder, by name."""
    names = sorted(path.name for path in folder.iterdir() if path.suffix not in (".md", ""))
    return {
        name: file_checksum(folder / name, CONTENT if name.endswith(".h5ad") else "")
        for name in names
    }


def mismatches(expected: Mapping[str, Any], folders: Mapping[str, Path]) -> list[str]:
    """Return a sentence for each file that is missing or differs.

    `folders` maps `public` and `private`.
    """
    differences = []
    for part, folder in folders.items():
        listed = expected.get(part)
        if not isinstance(listed, Mapping):
            continue
        for name, checksum in listed.items():
            path = folder / str(name)
            if not path.is_file():
                differences.append(f"{part}/{name} is missing")
            elif file_checksum(path, str(checksum)) != str(checksum):
                differences.append(f"{part}/{name} differs from its checksum")
    return differences


def _hdf5_digest(path: Path) -> str:
    import h5py  # for HDF5 files alone
    import numpy as np

    digest = hashlib.sha256()

    def add(name: str, item: Any) -> None:
        if not isinstance(item, h5py.Dataset):
            return
        if h5py.check_string_dtype(item.dtype) is not None:
            texts = item.asstr()[()]
            payload = "\0".join(np.atleast_1d(texts).ravel().tolist()).encode()
        else:
            values = np.ascontiguousarray(item[()])
            payload = values.astype(values.dtype.newbyteorder("<"), copy=False).tobytes()
        digest.update(f"{name}|{item.shape}|{len(payload)}|".encode() + payload)

    with h5py.File(path, "r") as file:
        names: list[str] = []
        file.visit(names.append)
        for name in sorted(names):
            add(name, file[name])
    return digest.hexdigest()


STAMP = ".verified"
"""A file in `prepared`, written once the checksums matched; it contains the MD5 of checksums.yaml
at that time.
"""


UNFINISHED = ".unfinished"
"""A file in `raw` while a download runs."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """The result of `prepare_task`. `verified` is False if the task has no checksums."""

    task_id: str
    was_ready: bool
    verified: bool


def prepare_task(
    task: Task,
    *,
    force: bool = False,
    source: TaskSource | None = None,
    tell: Callable[[str], None] = lambda sentence: None,
) -> Prepared:
    """Prepare a task and return what was done.

    Args:
        task: the task, from a registry; its data goes below the registry's data folder.
        force: prepare again, from the existing raw files.
        source: the source of the data; by default, the task's `data_source.type`.
        tell: called with a message at each slow step.

    Raises:
        SourceError: the data is not available (no network, missing package or credentials).
        PrepareError: the preparer failed, or its files differ from the checksums.
        InputError: config.yaml or checksums.yaml is wrong.
    """
    prepared = task.public_dir.parent
    checksums = read_checksums(task.checksums)
    listed = any(checksums.get(part) for part in ("public", "private"))
    if not force and _is_ready(task, checksums, prepared):
        return Prepared(task.id, was_ready=True, verified=listed)
    if source is None:
        source = get_source(task.data_source)
    own = folder_below(task.data_dir, task.id)
    _get_leaderboard(task, source)
    _get_raw(task, source, checksums, tell)
    tell(f"preparing {task.id}")
    with tempfile.TemporaryDirectory(dir=own, prefix=_draft_prefix(os.getpid())) as name:
        draft = folder_below(Path(name), "prepared")
        _run_preparer(task, draft)
        _verify(task, checksums, draft)
        write_whole(folder_file(draft, STAMP), _stamp(task))
        _swap(draft, folder_file(own, prepared.name), Path(name) / "old")
    if (reason := task.why_not_prepared()) is not None:
        raise PrepareError(f"the preparer of {task.id} ran, but {reason}")
    return Prepared(task.id, was_ready=False, verified=listed)


def prepare_shipped(
    task: Task, own: Path, tell: Callable[[str], None] = lambda sentence: None
) -> None:
    """Prepare a task that needs no download, unless it is prepared, or its data belongs elsewhere
    than in the folder `own`.

    Another folder was given to be read: nothing is written there unless somebody asks for it
    (`tasks prepare`).

    Raises:
        BioevalError: as `prepare_task`.
    """
    may_write = real(task.data_dir) == real(own)
    if may_write and not task.is_prepared and (task.data_source or {}).get("type") == "builtin":
        prepare_task(task, tell=tell)


def remove_drafts(task: Task, pid: int) -> None:
    """Remove the unfinished files of a process that has ended, because a signal may prevent its
    cleanup.
    """
    for draft in task.public_dir.parent.parent.glob(f"{_draft_prefix(pid)}*"):
        shutil.rmtree(draft, ignore_errors=True)


def _draft_prefix(pid: int) -> str:
    return f".preparing-{pid}-"


def _is_ready(task: Task, checksums: dict[str, object], prepared: Path) -> bool:
    if not (task.is_prepared and task.sample_submission.is_file()):
        return False
    stamp = prepared / STAMP
    ours = stamp.is_file()
    if ours and stamp.read_bytes() == _stamp(task).encode():
        return True
    try:
        _verify(task, checksums, prepared)
    except PrepareError:
        if ours:
            return False  # prepared by an older version of the task: prepare it again
        raise
    with contextlib.suppress(StorageError):  # a read-only folder is only verified again next time
        write_whole(below(task.data_dir, stamp.relative_to(task.data_dir)), _stamp(task))
    return True


def _stamp(task: Task) -> str:
    if task.checksums.is_file():
        return file_checksum(task.checksums)
    return "no checksums"


def _swap(draft: Path, prepared: Target, old: Path) -> None:
    # Another process may prepare the same task; the last one wins, with the same files.
    for _ in range(3):
        with contextlib.suppress(FileNotFoundError):
            prepared.rename(old)
        try:
            draft.rename(prepared)
        except OSError:
            shutil.rmtree(old, ignore_errors=True)
            continue
        return
    raise PrepareError(f"{prepared} cannot be replaced; is another program writing there?")


def _get_raw(
    task: Task, source: TaskSource, checksums: dict[str, object], tell: Callable[[str], None]
) -> None:
    raw = folder_below(task.data_dir, task.id, task.raw_dir.name)
    marker = folder_file(raw, UNFINISHED)
    if marker.exists():
        _empty(raw)  # an earlier download was killed
    if any(raw.iterdir()):
        return  # downloaded before, or put there by hand
    if not isinstance(source, BuiltinSource):
        tell(f"getting the data of {task.id}")
    write_whole(marker, b"")
    try:
        archive = source.download(task.data_source or {}, raw)
        if archive is not None and archive.suffix == ".zip":
            tell(f"unpacking {archive.name}")
            _unpack(archive, raw, checksums.get("zip"), task)
    except BaseException:
        _empty(raw)
        raise
    marker.unlink()


def _empty(folder: Path) -> None:
    for item in folder.iterdir():
        if item.is_dir() and not item.is_symlink():
            shutil.rmtree(item)
        else:
            item.unlink()


def _unpack(archive: Path, raw: Path, expected: object, task: Task) -> None:
    if isinstance(expected, str) and file_checksum(archive) != expected:
        raise PrepareError(
            f"{archive.name} is not the file that {task.checksums} expects: the download is"
            " damaged, or the source has changed its data"
        )
    try:
        with open_archive(archive) as file:
            file.unpack(raw)
    except ArchiveError as problem:
        raise PrepareError(f"{archive.name} cannot be unpacked: {problem}; prepare again") from None
    except OSError as error:
        raise storage_error(raw, error) from None


def _run_preparer(task: Task, draft: Path) -> None:
    if task.root == SHIPPED_TASKS:
        run_here(task.id, task.prepare_fn, task.raw_dir, draft)
    else:
        run_in_child(task, draft)
    write_whole(folder_file(folder_below(draft, "public"), "description.md"), task.description)


def _verify(task: Task, checksums: dict[str, object], prepared: Path) -> None:
    wrong = mismatches(checksums, {"public": prepared / "public", "private": prepared / "private"})
    if wrong:
        more = f" and {len(wrong) - 3} more" if len(wrong) > 3 else ""
        raise PrepareError(
            f"the prepared data of {task.id} is not what {task.checksums} expects:"
            f" {'; '.join(wrong[:3])}{more}"
        )


def _get_leaderboard(task: Task, source: TaskSource) -> None:
    if task.leaderboard.is_file() or task.published_board is not None:
        return
    rows = source.leaderboard(task.data_source or {})
    if not rows:
        raise PrepareError(
            f"{task.id} has no leaderboard: put a CSV file with the columns teamName, score,"
            f" submissionDate at {task.leaderboard}"
        )
    lines = (
        (clean_line(row.team_name), repr(row.score), clean_line(row.submission_date))
        for row in rows
    )
    if task.leaderboard.parent == task.folder:
        place = below(task.root, task.leaderboard.relative_to(task.root))
    else:
        place = named(task.leaderboard)  # a file that the user chose
    write_whole(place, csv_text([("teamName", "score", "submissionDate"), *lines]))


def main() -> None:
    """The child process: read the request, run the preparer, write the outcome."""
    from bioeval_tui.grade.biomlbench import install  # in the process that was started for it
    from bioeval_tui.grade.tasks.task_code import load_function

    if LINUX:
        supervise(os.getppid())  # the preparer's children end with it
    enter_domain()
    make_lasting()
    request = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    root = Path(request["root"])
    install([root])
    _offer_polaris(Path(request["raw"]))
    problem: BioevalError | None = None
    sys.dont_write_bytecode = True  # the task's folder was given to be read
    try:
        function = load_function(request["reference"], Path(request["folder"]), root)
        run_here(request["task_id"], function, Path(request["raw"]), Path(request["draft"]))
    except BioevalError as error:
        problem = error
    result = {
        "error": None if problem is None else str(problem),
        "input": isinstance(problem, InputError),
    }
    write_whole(named(Path(sys.argv[2])), json.dumps(result), sync=False)


if __name__ == "__main__":
    main()
