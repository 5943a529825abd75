"""The exception hierarchy. Every exception has a message that a user can act on.

    BioevalError                    exit 2 unless a subclass says otherwise
    ├── UsageError                  wrong use of the command line or a setting; exit 2
    ├── InputError                  a file that the user gave is wrong: file, line, column, field
    │   ├── JobError                a job file; carries every problem found
    │   ├── RecordingError          a recording that cannot be opened
    │   └── InvalidSubmissionError  a submission that a grader cannot score
    ├── ExpressionError             an assertion's text is wrong, or ran into a limit
    ├── QueryError                  a Cypher query is refused, wrong, or not supported
    │   └── ForbiddenQueryError     a valid one that only an unrestricted setup may have
    └── UnavailableError            a peer could not be reached or did not answer in time; exit 3
        ├── NotMeasuredError        something could not be measured, with the reason
        └── StorageError            a file could not be written: full disk, no permission

A screen that crashes raises `ScreenCrashError`, a bug like any other exception: exit code 3.

Failures that are expected during a run (an agent's 500, a judge's malformed answer) are values in
events, not exceptions that cross a module.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from errno import EAGAIN, ENOMEM


class ExitCode(IntEnum):
    """The exit codes of the process."""

    OK = 0
    BELOW = 1
    """Measured, and below a threshold of the gate (`report/gate.py`)."""
    BAD_INPUT = 2
    """Something that the user gave is wrong; nothing was measured."""
    NOT_MEASURED = 3
    """Something that was asked for could not be measured, or its result not be written."""
    INTERRUPTED = 130


class BioevalError(Exception):
    """Base of every error that is shown to a user as one sentence."""

    exit_code: ExitCode = ExitCode.BAD_INPUT


class UsageError(BioevalError):
    """The command line or a setting was used wrongly."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong with a file.

    `line` and `column` count from 1; 0 means that the position is not known.
    """

    message: str
    file: str = ""
    line: int = 0
    column: int = 0
    field: str = ""
    severity: str = "error"

    def __str__(self) -> str:
        where = self.file
        if self.line:
            where += f":{self.line}"
            if self.column:
                where += f":{self.column}"
        parts = [part for part in (where, self.field) if part]
        return ": ".join([*parts, self.message])


UNKNOWN_TASK = "unknown task"
"""How the reason begins why a submission for a task that nobody knows was not graded."""


class InputError(BioevalError):
    """A file that the user gave is wrong. `problems` lists everything found, not just the first."""

    def __init__(self, message: str, problems: tuple[Problem, ...] = ()) -> None:
        super().__init__(message)
        self.problems = problems


class JobError(InputError):
    """A job file is wrong."""


class RecordingError(InputError):
    """A recording cannot be opened."""


class InvalidSubmissionError(InputError):
    """A submission is invalid because of its file. Graders raise it."""

    def __init__(self, message: str = "", problems: tuple[Problem, ...] = ()) -> None:
        super().__init__(message, problems)


class ExpressionError(BioevalError):
    """An expression is wrong or exceeded a limit.

    `column` counts from 1 in `text`; 0 means that it is not known.
    """

    def __init__(self, message: str, text: str = "", column: int = 0) -> None:
        super().__init__(message)
        self.message = message
        self.text = text
        self.column = column


class QueryError(BioevalError):
    """A Cypher query is not allowed, invalid, or uses something that is not supported.

    `column` counts from 1 in the query's text (its lines joined); 0 means that it is not known.
    """

    def __init__(self, message: str, column: int = 0) -> None:
        super().__init__(message)
        self.message = message
        self.column = column


class ForbiddenQueryError(QueryError):
    """A valid Cypher query that is not allowed here, except in an unrestricted setup."""


class InvalidQueryError(QueryError):
    """A query or a path cannot be asked whatever there is to find: the job is wrong, and what the
    agent did does not count.
    """


class UnavailableError(BioevalError):
    """A peer could not be reached or did not answer in time."""

    exit_code = ExitCode.NOT_MEASURED


class NotMeasuredError(UnavailableError):
    """Something could not be measured; the message is the reason, and `ways` says what you can do
    about it.
    """

    def __init__(self, message: str, *, ways: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.ways = ways


class StorageError(UnavailableError):
    """A file could not be written; the message names it and says why."""


def forbidden(error: BaseException) -> str:
    """Return which file or folder this user may not open, as a sentence; empty for any other error.

    It may lie in somebody else's folder, or be left by a run as the administrator.
    """
    if isinstance(error, PermissionError) and error.filename is not None:
        return f"{error.filename} cannot be opened: permission denied; it may be another user's"
    return ""


def exhausted(error: BaseException) -> str:
    """Return what this machine, or a limit set for this program, ran out of, as a sentence; empty
    for any other error.
    """
    if isinstance(error, MemoryError) or (isinstance(error, OSError) and error.errno == ENOMEM):
        return "no memory is left for this program"
    threads = isinstance(error, RuntimeError) and str(error) == "can't start new thread"
    if threads or (isinstance(error, OSError) and error.errno == EAGAIN):
        return (
            "this program cannot start another thread or process: memory, or their number, is"
            " limited"
        )
    return ""


class ScreenCrashError(Exception):
    """A screen crashed: a defect.

    The message names the error's type and text; the error itself is the cause.
    """
