"""Medal assertions: grade a file that the agent wrote, and compare its medal with the required
one.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Collection, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from bioeval_tui.base.errors import BioevalError
from bioeval_tui.base.files import real
from bioeval_tui.base.settings import Settings
from bioeval_tui.base.text import clean_line
from bioeval_tui.grade.ledger import file_hash
from bioeval_tui.grade.outcomes import Invalid, NotGraded
from bioeval_tui.grade.service import Grading
from bioeval_tui.jobs.models import MedalAssertion
from bioeval_tui.peers.seams import CheckResult

if TYPE_CHECKING:
    from bioeval_tui.grade.outcomes import Outcome


MEDAL_ORDER = ("bronze", "silver", "gold")


class MedalGrader:
    """Grades the files of medal assertions, one at a time, and again only if they changed.

    Paths are relative to the job's folder. `allowed` are other folders that the user named; an
    absolute path must be below one of them.
    """

    def __init__(self, settings: Settings, job_dir: Path | None, allowed: Sequence[Path]) -> None:
        self._grading = Grading(settings)
        self._job_dir, self._allowed = job_dir, allowed
        self._turn = asyncio.Lock()
        self._graded: dict[tuple[str, Path, str], Outcome] = {}

    async def files(self, patterns: Collection[str]) -> dict[str, str]:
        """Return the state of each file that a pattern names, by its path: what is there before a
        conversation.
        """

        def look() -> dict[str, str]:
            found = (matching(self._job_dir, pattern, self._allowed) for pattern in patterns)
            return {str(path): _state(path) for path in chain.from_iterable(found)}

        return await asyncio.to_thread(look)

    async def grade(self, assertion: MedalAssertion, before: Mapping[str, str]) -> CheckResult:
        """Grade the newest file that the conversation made: one that is not as it was `before`."""
        files = await asyncio.to_thread(
            matching, self._job_dir, assertion.submission, self._allowed
        )
        made = files
        if before:
            made = [path for path in files if before.get(str(path)) != _state(path)]
        if not made:
            return CheckResult(
                False, expected=assertion.medal, error=self._why_none(assertion, files)
            )
        try:
            async with self._turn:
                try:
                    outcome = await asyncio.to_thread(
                        self._grade_once, newest(made), assertion.task
                    )
                finally:
                    await asyncio.to_thread(self._grading.close)
        except (BioevalError, OSError) as error:
            return CheckResult(None, expected=assertion.medal, error=clean_line(str(error)))
        return medal_result(assertion, outcome)

    def _why_none(self, assertion: MedalAssertion, files: Sequence[Path]) -> str:
        pattern = clean_line(assertion.submission)
        if files:
            name = clean_line(newest(files).name, 200)
            return (
                f"{name} was there before the conversation began and did not change: only a file"
                " that the conversation makes counts"
            )
        error = f"no file matches {pattern}"
        if assertion.submission.startswith(("/", "~")):
            error += (
                "; outside the job's folder only a folder given with --submissions is looked at"
            )
        return error

    def _grade_once(self, path: Path, task_id: str) -> Outcome:
        key = (task_id, path, _state(path))
        outcome = self._graded.get(key) or self._grading.grade(path, task_id)
        if not isinstance(outcome, NotGraded):
            self._graded[key] = outcome
        return outcome


def _state(path: Path) -> str:
    """Return when a file was written and a hash of its contents, as one text."""
    try:
        return f"{path.stat().st_mtime_ns} {file_hash(path)}"
    except OSError:
        return ""


def medal_result(assertion: MedalAssertion, outcome: Outcome) -> CheckResult:
    """Return whether a graded file reaches the medal asked for, or better."""
    if isinstance(outcome, NotGraded):
        return CheckResult(None, expected=assertion.medal, error=clean_line(outcome.reason))
    if isinstance(outcome, Invalid):
        return CheckResult(
            False,
            "invalid",
            assertion.medal,
            clean_line(outcome.reason),
            report=outcome.report.to_dict(),
        )
    observed = outcome.medal or "no medal"
    if outcome.above_median and not outcome.medal:
        observed = "above_median"
    if assertion.medal == "above_median":
        passed = outcome.above_median
    else:
        wanted = MEDAL_ORDER.index(assertion.medal)
        passed = outcome.medal is not None and MEDAL_ORDER.index(outcome.medal) >= wanted
    if outcome.doubts:
        observed += f" (in doubt: {outcome.doubt_words})"
    return CheckResult(passed, observed, assertion.medal, report=outcome.to_dict())


def newest(files: Sequence[Path]) -> Path:
    """Return the file that was written last."""
    return max(files, key=_written)


def _written(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


def matching(folder: Path | None, pattern: str, allowed: Sequence[Path] = ()) -> list[Path]:
    """Return the files that a path or glob below the job's folder names.

    A job may come from anywhere: neither `..` nor a link leads out of its folder. An absolute path
    counts only below it, or below a folder that the user allowed, for agents that work elsewhere.
    """
    with contextlib.suppress(OSError, ValueError, NotImplementedError, IndexError, RuntimeError):
        candidate = Path(pattern).expanduser()
        if candidate.is_absolute():
            known = list(allowed)
            if folder is not None:
                known.insert(0, folder.absolute())
            roots = [base for base in known if candidate.is_relative_to(base)]
            tried = [(base, str(candidate.relative_to(base))) for base in roots]
        else:
            tried = [(folder, pattern)] if folder is not None else []
        found: list[Path] = []
        for base, relative in tried:
            found += [
                path
                for path in base.glob(relative)
                if path.is_file() and real(path).is_relative_to(real(base))
            ]
        return found
    return []
