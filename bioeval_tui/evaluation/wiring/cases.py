"""The cases of a job: each row of its table (`case_table.py`) with each persona, as a separate job
with every placeholder filled.

`check_job` makes `Cases` of a job file, and a run records what differs in each (`recorded_cases`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePath
from typing import Any

from pydantic import ValidationError

from bioeval_tui.base import units
from bioeval_tui.base.errors import JobError, NotMeasuredError, Problem, UsageError
from bioeval_tui.base.files import is_hidden, real
from bioeval_tui.base.text import clean_line
from bioeval_tui.base.yaml_positions import Path as FieldPath, show_path
from bioeval_tui.evaluation.wiring.case_table import (
    CaseChoice,
    CaseRow,
    CaseTable,
    choose_rows,
    near,
    read_cases,
)
from bioeval_tui.jobs import filling
from bioeval_tui.jobs.loading import (
    LoadedJob,
    PackedJob,
    error_message,
    field_path,
    job_bytes,
    job_from_data,
    job_snapshot,
)
from bioeval_tui.jobs.models import ConversationSeed, EvaluationJob
from bioeval_tui.record.cases import JobCase
from bioeval_tui.record.run_options import MOST_CASES

MOST_TOLD = 100
"""Maximum number of problems of one text that are listed."""
MOST_BYTES = 8_000_000
"""Maximum size of a run's filled-in texts, which are in the first line of the recording."""


@dataclass(frozen=True, slots=True)
class CaseJob:
    """A case: its row (None without a table of cases), its persona's name, its job, and the model
    of its user where a run has several.
    """

    row: CaseRow | None
    persona: str
    packed: PackedJob
    user: str = ""

    @property
    def job(self) -> EvaluationJob:
        """Its job, unpacked anew."""
        return self.packed.unpack()

    @property
    def name(self) -> str:
        """The row's id; without rows the persona's name."""
        if self.row is not None:
            return self.row.id
        return self.persona

    @property
    def key(self) -> tuple[str, str]:
        """The name and the persona of the case in a recording, where a case without a row has only
        a name; users are no part of a job's cases.
        """
        if self.row is None:
            return self.name, ""
        return self.name, self.persona

    def recorded(self, before: Mapping[str, Any]) -> JobCase:
        """Return the case in the form of the recording: its differences from the job's snapshot."""
        parts = {
            key: value for key, value in job_snapshot(self.job).items() if value != before[key]
        }
        name, persona = self.key
        return JobCase(name=name, persona=persona, user=self.user, parts=parts)


def recorded_cases(cases: Sequence[CaseJob], template: EvaluationJob) -> tuple[JobCase, ...]:
    """Return the cases of a run in the form of its recording.

    Raises:
        UsageError: they are more than a run may have.
    """
    recorded = _in_recording(cases, template)
    if wrong := _more_than_a_run_has(recorded):
        raise UsageError(wrong)
    return recorded


def more_than_a_run_has(cases: Sequence[CaseJob], template: EvaluationJob) -> str:
    """Return why a run cannot have all of these cases, as a sentence; empty if it can."""
    return _more_than_a_run_has(_in_recording(cases, template))


def _in_recording(cases: Sequence[CaseJob], template: EvaluationJob) -> tuple[JobCase, ...]:
    before = job_snapshot(template)
    return tuple(case.recorded(before) for case in cases)


def _more_than_a_run_has(recorded: Sequence[JobCase]) -> str:
    if len(recorded) > MOST_CASES:
        return (
            f"a run has at most {MOST_CASES:,} cases, and these are {len(recorded):,}; select fewer"
            " with --cases"
        )
    size = sum(len(case.model_dump_json()) for case in recorded)
    if size > MOST_BYTES:
        return (
            f"these {len(recorded):,} cases fill in {units.size(size, decimals=1)} of the job, and"
            f" those of a run at most {units.size(MOST_BYTES)}; select fewer with --cases"
        )
    return ""


class Cases:
    """The cases of one job file; empty without a table of cases and personas."""

    def __init__(self, loaded: LoadedJob, choice: CaseChoice) -> None:
        """Read the table and fill the job from it.

        Raises:
            JobError: the table cannot be read; with every problem.
            UsageError: the command line asks for cases that are not there.
        """
        self.loaded = loaded
        try:
            self.table = self._table(choice)
        except NotMeasuredError as error:  # a package that reads the table is not installed
            raise self._wrong(("cases",), str(error)) from None
        self.placeholders: dict[FieldPath, filling.PlaceholderText] = {}
        self._problems: list[Problem] = []
        self._rows: dict[tuple[FieldPath, str], list[tuple[CaseRow | None, str]]] = {}
        self._tried = 0
        self.jobs: tuple[CaseJob, ...] = ()
        self.count = 0
        """The number of cases, including those that are not checked."""
        if self.table is None and not loaded.job.personas:
            self._reject_placeholders()
            return
        rows: Sequence[CaseRow | None] = (None,)
        if self.table is not None:
            rows = choose_rows(self.table, choice, loaded.job.seed)
        self.count = len(rows) * max(1, len(loaded.job.personas))
        self._read_placeholders()
        if not self._problems:
            self._tried = len(rows[: choice.first])
            self.jobs = tuple(self._filled(rows[: choice.first]))

    def _table(self, choice: CaseChoice) -> CaseTable | None:
        config, folder = self.loaded.job.cases, self.loaded.path.parent
        asked = [
            name
            for name, given in (("--cases", choice.only), ("sample", choice.sample))
            if given is not None
        ]
        if choice.file is not None:
            return read_cases(Path(choice.file), config.id if config else None)
        if config is None:
            if asked:
                raise UsageError(
                    f"{asked[0]}: {self.loaded.path.name} has no `cases`; name a table of them with"
                    " --cases-file"
                )
            return None
        if config.file is None:
            raise self._wrong(("cases",), "give a `file` here, or --cases-file on the command line")
        path = real(folder / config.file)
        if not path.is_relative_to(real(folder)):
            raise self._wrong(
                ("cases", "file"),
                "must be a file in the job's folder; --cases-file takes a file from anywhere",
            )
        if is_hidden(PurePath(config.file)) or is_hidden(path.relative_to(real(folder))):
            raise self._wrong(("cases", "file"), "no part of its path may begin with a dot")
        if not path.is_file():
            shown = clean_line(str(config.file))
            raise self._wrong(("cases", "file"), f"there is no file {shown} in the job's folder")
        return read_cases(folder / config.file, config.id)

    def _wrong(self, path: FieldPath, message: str) -> JobError:
        problem = self._problem(path, message)
        return JobError(str(problem), (problem,))

    def _problem(self, path: FieldPath, message: str) -> Problem:
        place = self.loaded.document.place(path)
        file = clean_line(str(self.loaded.path))
        return Problem(clean_line(message), file, place.line, place.column, show_path(path))

    def _reject_placeholders(self) -> None:
        """Reject a placeholder for a list of items in a job without cases."""
        items: list[tuple[FieldPath, object]] = [
            (("rubric", at), item) for at, item in enumerate(self.loaded.job.rubric)
        ]
        for number, seed in enumerate(self.loaded.job.seeds):
            if isinstance(seed, ConversationSeed):
                items += [
                    (("seeds", number, "conversation", at), item)
                    for at, item in enumerate(seed.conversation)
                ]
        message = "{{ … }} needs a table of cases: name one with `cases` or --cases-file"
        self._problems += [
            self._problem(path, message) for path, item in items if isinstance(item, str)
        ]

    def _read_placeholders(self) -> None:
        """Read every text with placeholders, and check that the table has their columns."""
        for path, text in filling.find_texts(job_snapshot(self.loaded.job)):
            if not filling.has_placeholders(text):
                continue
            try:
                placeholder = self.placeholders[path] = filling.read_placeholders(path, text)
            except filling.PlaceholderError as error:
                self._problems.append(self._problem(path, str(error)))
                continue
            columns = self.table.columns if self.table is not None else ()
            for column in sorted(placeholder.columns.difference(columns)):
                there = "; without a table of cases there are none"
                if columns:
                    there = near(column, columns)
                self._problems.append(
                    self._problem(path, f"the cases have no column {column!r}{there}")
                )

    def _filled(self, rows: Sequence[CaseRow | None]) -> Iterator[CaseJob]:
        template, like = job_snapshot(self.loaded.job), job_bytes(self.loaded.job)
        for row in rows:
            for persona in self.loaded.job.personas or (None,):
                name, context = "", dict[str, Any](case={}, persona={})
                if row is not None:
                    context["case"] = row.values
                if persona is not None:
                    name, context["persona"] = persona.name, persona.model_dump(by_alias=True)
                try:
                    data = filling.fill_job(template, self.placeholders, context)
                    data["cases"] = None
                    # A row may have no history: its only message is what the user says now.
                    data["seeds"] = [
                        seed for seed in data["seeds"] if seed.get("conversation") != []
                    ]
                    if persona is not None:
                        data["personas"] = [persona.model_dump(mode="json", by_alias=True)]
                        data["evaluator"]["voice"] = persona.manner(data["evaluator"]["voice"])
                    case = CaseJob(row, name, PackedJob(job_from_data(data), like))
                except filling.UnfilledError as error:
                    self.tell(row, error.placeholder.path, str(error))
                except ValidationError as error:
                    for detail in error.errors(include_url=False)[:MOST_TOLD]:
                        path = field_path(detail)
                        self.tell(row, path, f"{show_path(path)} {error_message(detail, path)}")
                else:
                    yield case

    def tell(
        self, row: CaseRow | None, path: FieldPath, message: str, *, severity: str = "error"
    ) -> None:
        """Record that a row's value is wrong in a text of the job.

        `path` may be that of the filled job.
        """
        parents = (path[:end] for end in range(len(path), 0, -1))
        found = filter(None, map(self._first_placeholder, parents))
        where = next((placeholder.path for placeholder in found), path)
        self._rows.setdefault((where, severity), []).append((row, message))

    def _first_placeholder(self, path: FieldPath) -> filling.PlaceholderText | None:
        return next(
            (
                placeholder
                for at, placeholder in self.placeholders.items()
                if at[: len(path)] == path
            ),
            None,
        )

    @property
    def problems(self) -> list[Problem]:
        """The problems of rows, each at its row; a problem of all rows is reported once, at the
        job's placeholder.
        """
        problems = list(self._problems)
        for (path, severity), mistakes in self._rows.items():
            found = self._row_problems(path, mistakes, is_filled=severity == "warning")
            problems += [replace(problem, severity=severity) for problem in found]
        return problems

    def _row_problems(
        self, path: FieldPath, mistakes: Sequence[tuple[CaseRow | None, str]], *, is_filled: bool
    ) -> Iterator[Problem]:
        rows = list(dict.fromkeys(row.number for row, _ in mistakes if row is not None))
        if self.table is None or (len(rows) == self._tried > 1):
            message = mistakes[0][1]
            if rows:
                whole = "as every row fills this" if is_filled else "no row fills this"
                message = f"{whole}; row {rows[0]}: {message}"
            yield self._problem(path, message)
            return
        place = self.loaded.document.place(path)
        where = f"{show_path(path) or 'the job'} ({clean_line(self.loaded.path.name)}:{place.line})"
        what = f"as this fills {where}" if is_filled else f"does not fill {where}"
        columns: list[str] = []
        if path in self.placeholders:
            columns = sorted(self.placeholders[path].columns)
        for row, message in mistakes[:MOST_TOLD]:
            if row is not None:
                yield self.table.problem(
                    row, ", ".join(_suspects(row, columns)), f"{what}: {message}"
                )


def _suspects(row: CaseRow, columns: list[str]) -> list[str]:
    """Return which of a text's columns a row lacks; all of them if it has a value in each."""
    return [column for column in columns if row.values.get(column) in (None, "")] or columns
