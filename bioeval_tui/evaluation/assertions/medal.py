"""Medal assertions: grade a file that the agent wrote, and compare its medal with the required one."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from bioeval_tui.errors import BioevalError
from bioeval_tui.evaluation.assertions.checker import GradeMedal
from bioeval_tui.evaluation.job.models import MedalAssertion
from bioeval_tui.evaluation.seams import CheckResult
from bioeval_tui.grade.outcomes import Invalid, NotGraded
from bioeval_tui.grade.service import Grading
from bioeval_tui.settings import Settings
from bioeval_tui.text import clean_line

if TYPE_CHECKING:
    from bioeval_tui.grade.outcomes import Outcome


MEDAL_ORDER = ("bronze", "silver", "gold")


def medal_grader(settings: Settings, job_dir: Path | None, allowed: Sequence[Path] = ()) -> GradeMedal:
    """Return a function that grades a medal assertion's file. Paths are relative to the job's folder; the newest match counts.

    `allowed` are other folders that the user named; an absolute path must be below one of them.

    Files are graded one at a time, and again only if they changed.
    """
    grading = Grading(settings)
    turn = asyncio.Lock()
    graded: dict[tuple[str, Path, int, int], Outcome] = {}

    def outcome_of(path: Path, task_id: str) -> Outcome:
        found = path.stat()
        key = (task_id, path, found.st_mtime_ns, found.st_size)
        outcome = graded.get(key) or grading.grade(path, task_id)
        if not isinstance(outcome, NotGraded):
            graded[key] = outcome
        return outcome

    async def grade(assertion: MedalAssertion) -> CheckResult:
        path = await asyncio.to_thread(newest, job_dir, assertion.submission, allowed)
        if path is None:
            error = f"no file matches {clean_line(assertion.submission)}"
            if assertion.submission.startswith(("/", "~")):
                error += "; outside the job's folder only a folder given with --submissions is looked at"
            return CheckResult(False, expected=assertion.medal, error=error)
        try:
            async with turn:
                try:
                    outcome = await asyncio.to_thread(outcome_of, path, assertion.task)
                finally:
                    await asyncio.to_thread(grading.close)
        except (BioevalError, OSError) as error:
            return CheckResult(None, expected=assertion.medal, error=clean_line(str(error)))
        return medal_result(assertion, outcome)

    return grade


def medal_result(assertion: MedalAssertion, outcome: Outcome) -> CheckResult:
    """Return whether a graded file reaches the medal asked for, or better."""
    if isinstance(outcome, NotGraded):
        return CheckResult(None, expected=assertion.medal, error=clean_line(outcome.reason))
    if isinstance(outcome, Invalid):
        return CheckResult(
            False, "invalid", assertion.medal, clean_line(outcome.reason), report=outcome.report.to_dict()
        )
    observed = outcome.medal or ("above_median" if outcome.above_median else "no medal")
    if assertion.medal == "above_median":
        passed = outcome.above_median
    else:
        wanted = MEDAL_ORDER.index(assertion.medal)
        passed = outcome.medal is not None and MEDAL_ORDER.index(outcome.medal) >= wanted
    return CheckResult(passed, observed, assertion.medal, report=outcome.to_dict())


def newest(folder: Path | None, pattern: str, allowed: Sequence[Path] = ()) -> Path | None:
    """Return the file that a path or glob below the job's folder names, the newest if there are several.

    A job may come from anywhere: neither `..` nor a link leads out of its folder. An absolute path counts only below
    it, or below a folder that the user allowed, for agents that work elsewhere.
    """
    with contextlib.suppress(OSError, ValueError, NotImplementedError, IndexError, RuntimeError):
        candidate = Path(pattern).expanduser()
        if candidate.is_absolute():
            known = [*([folder.absolute()] if folder is not None else []), *allowed]
            roots = [base for base in known if candidate.is_relative_to(base)]
            tried = [(base, str(candidate.relative_to(base))) for base in roots]
        else:
            tried = [(folder, pattern)] if folder is not None else []
        found = [
            path
            for base, relative in tried
            for path in base.glob(relative)
            if path.is_file() and path.resolve().is_relative_to(base.resolve())
        ]
        return max(found, key=lambda path: path.stat().st_mtime, default=None)
    return None
