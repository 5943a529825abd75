"""Sample jobs and submissions, and the jobs of plug-ins, by their names."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from os import PathLike
from pathlib import Path

from bioeval_tui import plugins
from bioeval_tui.base.errors import BioevalError, UsageError
from bioeval_tui.base.files import below, folder_below, write_whole
from bioeval_tui.base.text import clean_line, join_names
from bioeval_tui.sample.paths import sample_jobs, sample_submissions


def job_names() -> list[str]:
    """Return the names of the sample jobs on the command line."""
    return sorted(path.stem for path in sample_jobs().glob("*.yml"))


def list_names() -> list[str]:
    """Return the names of the sample lists of submissions, the shortest first."""
    return sorted(
        (path.stem for path in sample_submissions().glob("*.jsonl")), key=len, reverse=True
    )


def agent_names() -> list[str]:
    """Return the agents that the sample submissions are from."""
    return sorted(
        folder.name.rpartition("_")[2] for folder in sample_submissions().glob("*_run-group_*")
    )


@cache
def plugin_jobs() -> tuple[Path, ...]:
    """Return the jobs that packages bring, such as `mediq`; without those that cannot be loaded."""
    folders = []
    for name in plugins.names("jobs"):
        with suppress(BioevalError):
            folders.append(_plugin_job(name))
    return tuple(folders)


def _plugin_job(name: str) -> Path:
    path = plugins.load("jobs", name)
    if not isinstance(path, str | PathLike):
        kind = clean_line(type(path).__name__, 80)
        raise UsageError(f"the job plug-in {name} is no path of a job file, but of the type {kind}")
    return Path(path)


def find_job(path: Path) -> Path:
    """Return the job that `path` names, a sample or a plug-in's; `path` itself if it is a file or
    not a bare name.

    Raises:
        UsageError: it is a name, and neither a file nor such a job, or the plug-in cannot be
            loaded.
    """
    if not _is_name(path):
        return path
    if path.name in job_names():
        return sample_jobs() / f"{path.name}.yml"
    if path.name in plugins.names("jobs"):
        return _plugin_job(path.name)
    raise _unknown(path, "sample job", [*job_names(), *plugins.names("jobs")])


def find_list(path: Path) -> Path:
    """Return the sample list of submissions that `path` names; otherwise as `find_job`.

    Raises:
        UsageError: it is neither a file nor a sample.
    """
    if not _is_name(path):
        return path
    if path.name in list_names():
        return sample_submissions() / f"{path.name}.jsonl"
    raise _unknown(path, "sample list of submissions", list_names())


def find_submission(path: Path, task_id: str) -> Path:
    """Return the submission of the sample agent that `path` names for a task; otherwise as
    `find_job`.

    Raises:
        UsageError: it is neither a file nor a sample agent, or that agent has no submission for the
            task.
    """
    if not _is_name(path):
        return path
    if path.name in agent_names():
        task = task_id.rpartition("/")[2]
        files = sorted(sample_submissions().glob(f"*_run-group_{path.name}/{task}.*"))
        if not files:
            raise UsageError(
                f"the sample agent {path.name} has no submission for {clean_line(task_id, 80)}"
            )
        return files[0]
    raise _unknown(path, "sample agent", agent_names())


def copy_samples(folder: Path, *, force: bool = False) -> list[Path]:
    """Copy the jobs, submissions and benchmarks into three folders below `folder`; return the files
    that were written.

    An existing file with the same content is left alone.

    Raises:
        UsageError: another file would be overwritten and `force` is not set, or a folder cannot be
            written. No existing file is changed then.
    """
    wanted = [(source, folder / target) for source, target in _files()]
    try:
        new = [
            (source, target)
            for source, target in wanted
            if not target.is_file() or target.read_bytes() != source.read_bytes()
        ]
        taken = [target for _, target in new if target.exists() or target.is_symlink()]
        if taken and not force:
            others = f" and {len(taken) - 1} more" if len(taken) > 1 else ""
            shown = clean_line(str(taken[0]), 300)
            raise UsageError(
                f"{shown}{others} would be overwritten: choose another folder, or overwrite with"
                " --force"
            )
        for source, target in new:
            place = target.relative_to(folder)
            folder_below(folder, place.parent)
            write_whole(below(folder, place), source.read_bytes())
    except OSError as error:
        where = clean_line(str(error.filename or folder), 300)
        raise UsageError(f"{where} cannot be written: {error.strerror}") from None
    return [target for _, target in new]


def _files() -> Iterator[tuple[Path, Path]]:
    for folder in (sample_jobs(), sample_submissions()):
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                yield path, Path(folder.name) / path.relative_to(folder)
    for name in plugins.bundled("jobs"):
        folder = find_job(Path(name)).parent
        for path in sorted(folder.iterdir()):
            if path.is_file() and path.suffix != ".py":
                yield path, Path("benchmarks") / name / path.name


def _is_name(path: Path) -> bool:
    """Whether it is a bare name and not a file: `job.yml`, `./job` and `folder/job` are always
    paths.
    """
    return path.name == str(path) and not path.suffix and not path.exists()


def _unknown(path: Path, what: str, names: list[str]) -> UsageError:
    shown = clean_line(path.name, 80)
    return UsageError(f"{shown} is neither a file nor a {what}; use one of {join_names(names)}")
