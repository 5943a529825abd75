"""The files of a batch: a journal line and a file for each report, and the grading report at the
end.

The journal, `<timestamp>_grading.jsonl`, is what `--resume` reads; it reaches the disk once a
second. It is removed when every submission was graded and everything else is on the disk. Files
appear under their names only when they are complete.
"""

from __future__ import annotations

import codecs
import contextlib
import json
import math
import os
import re
import time
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any

from bioeval_tui.base.errors import InputError, NotMeasuredError, StorageError, UsageError
from bioeval_tui.base.files import (
    Folder,
    Target,
    folder_below,
    folder_file,
    is_full,
    open_own,
    storage_error,
    sync_all,
    write_fully,
    write_whole,
    writing_whole,
)
from bioeval_tui.base.portable import lock
from bioeval_tui.base.text import plural
from bioeval_tui.grade.outcome_json import report_text
from bioeval_tui.grade.published_totals import ReportTotals
from bioeval_tui.grade.report_fields import time_stamp
from bioeval_tui.grade.report_files import INDIVIDUAL, JOURNAL, REPORT
from bioeval_tui.grade.score_numbers import exact_percentile, numpy_round
from bioeval_tui.grade.submissions import Submission, SubmissionList
from bioeval_tui.grade.tally import percentile_with_zeros

_SYNC_EVERY_S = 1.0


@dataclass(frozen=True, slots=True)
class BatchResult:
    """The result of a batch. `totals` are the published keys without the reports.

    `average_with_zeros` is the average percentile with 0 for each submission that is invalid or was
    not graded. `names` are the files of the reports in `individual_dir`, in the report's order.
    """

    report_path: Path
    individual_dir: Path
    totals: dict[str, Any]
    valid: int
    invalid: int
    not_graded: tuple[dict[str, Any], ...]
    average_with_zeros: float | None
    names: tuple[str, ...]
    partial: int
    """How many valid submissions were scored on only a part of the rows."""
    in_doubt: int
    """How many valid submissions have a score that is in doubt."""


class BatchOutput:
    """The files of one batch; use as a context manager.

    Args:
        folder: the output folder, made if it is not there.
        listed: the submissions.
        resume: resume the interrupted batch of the same list in `folder`, if there is one.

    Raises:
        UsageError: `resume`, and the list has changed since; or the batch is still running.
        InputError: the folder cannot be written.
        StorageError: the disk is full.
    """

    def __init__(self, folder: Path, listed: SubmissionList, *, resume: bool) -> None:
        self._listed = listed
        self._names = _file_names(listed.submissions)
        self._places = array("q", [-1]) * len(listed.submissions)
        self._percentiles = array("d", [math.nan]) * len(listed.submissions)
        self._exact_percentiles = array("d", [math.nan]) * len(listed.submissions)
        self._totals = ReportTotals()
        self._partial = 0
        self._in_doubt = 0
        self._failed: dict[int, dict[str, Any]] = {}
        try:
            own = folder_below(folder)
            journal = _latest(folder, listed) if resume else None
            self.resumed = journal is not None
            if journal:
                self._journal_path = folder_file(own, journal.name)
            else:
                self._journal_path = _claim(own)
            self._prefix = self._journal_path.name.removesuffix(JOURNAL)
            self.report_path = folder_file(own, f"{self._prefix}{REPORT}")
            self.individual_dir = folder_below(folder, f"{self._prefix}{INDIVIDUAL}")
            self._journal: IO[bytes] = os.fdopen(
                open_own(self._journal_path, os.O_RDWR), "r+b", buffering=0
            )
        except OSError as error:
            if is_full(error):
                raise storage_error(folder, error) from None
            raise InputError(f"{folder} cannot be written: {error.strerror or error}") from None
        _lock(self._journal)
        self._synced = time.monotonic()
        if journal is None:
            self._append({"submissions_sha256": listed.digest, "count": len(listed.submissions)})
        else:
            self._replay()

    def __enter__(self) -> BatchOutput:
        return self

    def __exit__(self, *_: object) -> None:
        self._journal.close()

    def remaining(self) -> list[Submission]:
        """Return the submissions that have no report yet."""
        return [item for item in self._listed.submissions if self._places[item.number] < 0]

    @property
    def finished(self) -> int:
        """The number of submissions with a report."""
        return sum(1 for place in self._places if place >= 0)

    def add(self, number: int, outcome_text: str) -> str:
        """Write an outcome (as text, see `outcome_json.to_text`); return its kind: `report`,
        `invalid` or `not_graded`.

        Raises:
            StorageError: the disk is full; what is done is kept.
        """
        kind = outcome_text[2 : outcome_text.index('"', 2)]
        if kind == "not_graded":
            self._failed[number] = json.loads(outcome_text)["not_graded"]
            for inner in ("final", "elsewhere"):
                self._failed[number].pop(inner, None)
            return kind
        text = report_text(outcome_text)
        line = f'{{"number": {number}, "outcome": {outcome_text}}}\n'
        try:
            self._keep(number, self._write(line.encode("utf-8", "replace")), json.loads(text))
            self._write_single(number, text)
        except StorageError as error:
            raise self._full(error) from None
        return kind

    def _keep(self, number: int, place: int, report: dict[str, Any]) -> None:
        """Store a report's position in the journal, and its values for the totals."""
        self._places[number] = place
        self._totals.count(report)
        extra = report["extra"]
        self._partial += extra.get("rows_scored", 0) < extra.get("rows_expected", 0)
        self._in_doubt += bool(extra.get("doubts"))
        percentile = report["leaderboard_percentile"]
        exact = exact_percentile(
            percentile, report["leaderboard_size"], extra.get("entries_beaten")
        )
        if percentile is None or exact is None:
            return
        self._percentiles[number] = percentile
        self._exact_percentiles[number] = exact

    def _write_single(self, number: int, text: str, *, unless_whole: bool = False) -> None:
        lines = "{\n  " + text[1:-1].replace(",\r", ",\n  ") + "\n}"
        path = folder_file(self.individual_dir, self._names[number])
        if unless_whole:
            with contextlib.suppress(OSError):
                if path.stat().st_size == len(lines.encode("utf-8", "replace")) + 1:
                    return
        # Synced before the journal is removed, see `finish`; syncing each file would take most of
        # the time.
        write_whole(path, lines + "\n", sync=False)

    def finish(self) -> BatchResult:
        """Write the whole report and, if nothing is left to grade, remove the journal.

        Raises:
            StorageError: the disk is full; the journal keeps every report for `resume`.
        """
        ranked, exact = (
            [value for value in values if not math.isnan(value)]
            for values in (self._percentiles, self._exact_percentiles)
        )
        summary = self._totals.to_dict(ranked, numpy_round)
        failed = tuple(self._failed[number] for number in sorted(self._failed))
        invalid = self._totals.runs - self._totals.valid
        with_zeros = percentile_with_zeros(exact, invalid + len(failed))
        zeros = None if with_zeros is None else numpy_round(with_zeros, 1)
        extra = {
            "total_invalid_submissions": invalid,
            "total_not_graded": len(failed),
            "avg_leaderboard_percentile_with_zeros": zeros,
            "total_scored_on_part_of_rows": self._partial,
            "total_in_doubt": self._in_doubt,
        }
        try:
            with writing_whole(self.report_path) as file:
                self._write_report(codecs.getwriter("utf-8")(file), summary, failed, extra)
            sync_all()
            if not failed and not self.remaining():
                self._journal.close()
                self._journal_path.unlink(missing_ok=True)
        except StorageError as error:
            raise self._full(error) from None
        except OSError as error:
            raise self._full(storage_error(self.report_path, error)) from None
        names = tuple(
            name for name, place in zip(self._names, self._places, strict=True) if place >= 0
        )
        return BatchResult(
            self.report_path,
            self.individual_dir,
            summary,
            self._totals.valid,
            invalid,
            failed,
            zeros,
            names,
            self._partial,
            self._in_doubt,
        )

    def _full(self, error: StorageError) -> StorageError:
        done = (
            f"{plural(self.finished, 'report is', 'reports are')} kept in {self._journal_path.name}"
        )
        return StorageError(f"{error}; {done}: then run the same command with --resume")

    def _write_report(
        self,
        file: codecs.StreamWriter,
        summary: dict[str, Any],
        failed: Sequence[dict[str, Any]],
        extra: dict[str, Any],
    ) -> None:
        head = ",\n".join(
            f"  {json.dumps(key)}: {json.dumps(value)}" for key, value in summary.items()
        )
        file.write("{\n" + head + ',\n  "task_reports": [')
        separator, end = "\n    ", "]"
        for text in self._report_texts():
            file.write(separator + text)
            separator, end = ",\n    ", "\n  ]"
        file.write(end)
        listed = ",\n    ".join(json.dumps(item, ensure_ascii=False) for item in failed)
        if listed:
            listed = f"\n    {listed}\n  "
        file.write(f',\n  "not_graded": [{listed}]')
        file.write(f',\n  "extra": {json.dumps(extra)}\n}}\n')

    def _report_texts(self) -> Iterator[str]:
        with self._journal_path.open("rb") as journal:
            for place in self._places:
                if place >= 0:
                    journal.seek(place)
                    yield report_text(_outcome_text(journal.readline()))

    def _append(self, value: dict[str, Any]) -> None:
        self._write(json.dumps(value).encode() + b"\n")

    def _write(self, line: bytes) -> int:
        place = self._journal.tell()
        try:
            write_fully(self._journal.fileno(), line)
            now = time.monotonic()
            if now - self._synced > _SYNC_EVERY_S:
                os.fsync(self._journal.fileno())
                self._synced = now
        except OSError as error:
            with contextlib.suppress(OSError):  # a line that is not whole is not there
                self._journal.truncate(self._journal.seek(place))
            raise storage_error(self._journal_path, error) from None
        return place

    def _replay(self) -> None:
        place = 0
        with self._journal_path.open("rb") as journal:
            for line in journal:
                if not line.endswith(b"\n"):
                    break
                with contextlib.suppress(ValueError, KeyError, TypeError):
                    self._replay_line(line, place)
                place += len(line)
        # A line that was cut off by a crash is overwritten.
        self._journal.seek(place)
        self._journal.truncate()

    def _replay_line(self, line: bytes, place: int) -> None:
        number = json.loads(line).get("number")
        if isinstance(number, int) and 0 <= number < len(self._places) and self._places[number] < 0:
            text = report_text(_outcome_text(line))
            self._keep(number, place, json.loads(text))
            # Rewritten if a crash or a full disk left it missing or incomplete.
            self._write_single(number, text, unless_whole=True)


def _outcome_text(line: bytes) -> str:
    """Return the outcome's part of a journal line."""
    text = line.decode("utf-8")
    return text[text.index('"outcome": ') + len('"outcome": ') : -2]


_NOT_IN_NAMES = re.compile(r"[^\w. -]")
"""What stands in the way of a file's name in some system."""


def _file_names(submissions: Sequence[Submission]) -> list[str]:
    """Return a file name for each report: the task's, and `-2`, `-3`, … for its further
    submissions.
    """
    taken: set[str] = set()
    counts: dict[str, int] = {}
    names = []
    for item in submissions:
        stem = _NOT_IN_NAMES.sub("_", item.task_id)[:150].lstrip(".") or "task"
        count = counts.get(stem, 0)
        while True:
            count += 1
            name = f"{stem}.json" if count == 1 else f"{stem}-{count}.json"
            if name not in taken:
                break
        counts[stem] = count
        taken.add(name)
        names.append(name)
    return names


def _claim(folder: Folder) -> Target:
    stamp = time_stamp(datetime.now(UTC))
    for count in range(1, 10_000):
        prefix = stamp if count == 1 else f"{stamp}-{count}"
        if any((folder / f"{prefix}{ending}").exists() for ending in (REPORT, INDIVIDUAL)):
            continue
        path = folder_file(folder, f"{prefix}{JOURNAL}")
        with contextlib.suppress(FileExistsError):
            os.close(open_own(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o644))
            return path
    raise NotMeasuredError(f"no free name for a report in {folder}")


def _latest(folder: Path, listed: SubmissionList) -> Path | None:
    others = False
    journals = [
        path for path in folder.glob(f"*{JOURNAL}") if path.is_file() and not path.is_symlink()
    ]
    for path in sorted(journals, key=lambda item: item.stat().st_mtime, reverse=True):
        with path.open("rb") as journal:
            try:
                head = json.loads(journal.readline())
                digest = head.get("submissions_sha256")
            except (ValueError, RecursionError, AttributeError):
                continue
        if digest == listed.digest:
            return path
        others = True
    if others:
        raise UsageError(
            f"the list of submissions has changed since the batch in {folder} began; grade it again"
            " without --resume"
        )
    return None


def _lock(file: IO[bytes]) -> None:
    try:
        lock(file.fileno())
    except BlockingIOError:
        raise UsageError("this batch is being graded by another process") from None
