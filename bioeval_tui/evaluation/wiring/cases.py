"""The cases of a job: each row of its table with each persona, as a separate job with every placeholder filled."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from bioeval_tui.errors import JobError, NotMeasuredError, Problem, UsageError
from bioeval_tui.evaluation.job.filling import (
    PlaceholderError,
    PlaceholderText,
    Unfilled,
    filled,
    has_placeholders,
    read_placeholders,
    texts_of,
)
from bioeval_tui.evaluation.job.loading import LoadedJob, field_path, job_from_data, job_snapshot, message_of
from bioeval_tui.evaluation.job.models import ConversationSeed, EvaluationJob
from bioeval_tui.evaluation.wiring.case_file import CaseChoice, CaseRow, CaseTable, chosen, near, read_cases
from bioeval_tui.record.events import JobCase
from bioeval_tui.text import clean_line
from bioeval_tui.yaml_positions import Path as FieldPath
from bioeval_tui.yaml_positions import show_path

MOST_CASES = 10_000
MOST_TOLD = 100
"""Maximum number of problems of one text that are listed."""
MOST_BYTES = 8 << 20
"""Maximum size of a run's filled-in texts, which are in the first line of the recording."""


@dataclass(frozen=True, slots=True)
class CaseJob:
    """A case: its row (None if the job has only personas), its persona's name, and its job."""

    row: CaseRow | None
    persona: str
    job: EvaluationJob

    @property
    def name(self) -> str:
        """The row's id; without rows the persona's name."""
        return self.row.id if self.row is not None else self.persona

    def recorded(self, template: EvaluationJob) -> JobCase:
        """Return the case in the form of the recording: the differences from the job."""
        before, now = job_snapshot(template), job_snapshot(self.job)
        parts = {key: value for key, value in now.items() if value != before[key]}
        return JobCase(name=self.name, persona=self.persona if self.row is not None else "", parts=parts)


def recorded_cases(cases: Sequence[CaseJob], template: EvaluationJob) -> tuple[JobCase, ...]:
    """Return the cases of a run in the form of its recording.

    Raises:
        UsageError: they are more than a run may have.
    """
    found = tuple(case.recorded(template) for case in cases)
    if len(found) > MOST_CASES or sum(len(case.model_dump_json()) for case in found) > MOST_BYTES:
        raise UsageError(
            f"a run has at most {MOST_CASES:,} cases, which fill in at most {MOST_BYTES >> 20} MB, and these are "
            f"{len(found):,}; select fewer with --cases or --sample"
        )
    return found


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
        self.placeholders: dict[FieldPath, PlaceholderText] = {}
        self._problems: list[Problem] = []
        self._rows: dict[FieldPath, list[tuple[CaseRow | None, str]]] = {}
        self._tried = 0
        self.jobs: tuple[CaseJob, ...] = ()
        self.count = 0
        """The number of cases, including those that are not checked."""
        if self.table is None and not loaded.job.personas:
            self._reject_placeholders()
            return
        rows = chosen(self.table, choice, loaded.job.seed) if self.table is not None else (None,)
        self.count = len(rows) * max(1, len(loaded.job.personas))
        self._read_placeholders()
        if not self._problems:
            self._tried = len(rows[: choice.first])
            self.jobs = tuple(self._filled(rows[: choice.first]))

    def _table(self, choice: CaseChoice) -> CaseTable | None:
        config, folder = self.loaded.job.cases, self.loaded.path.parent
        asked = [
            name
            for name, given in (("--cases", choice.only), ("--sample", choice.sample))
            if given is not None
        ]
        if choice.file is not None:
            return read_cases(Path(choice.file), config.id if config else None)
        if config is None:
            if asked:
                raise UsageError(
                    f"{asked[0]}: {self.loaded.path.name} has no `cases`; name a table of them with --cases-file"
                )
            return None
        if config.file is None:
            raise self._wrong(("cases",), "give a `file` here, or --cases-file on the command line")
        path = (folder / config.file).resolve()
        if not path.is_relative_to(folder.resolve()):
            raise self._wrong(
                ("cases", "file"),
                "must be a file in the job's folder; --cases-file takes a file from anywhere",
            )
        return read_cases(folder / config.file, config.id)

    def _wrong(self, path: FieldPath, message: str) -> JobError:
        problem = self._problem(path, message)
        return JobError(str(problem), (problem,))

    def _problem(self, path: FieldPath, message: str) -> Problem:
        place = self.loaded.place(path)
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
                    (("seeds", number, "conversation", at), item) for at, item in enumerate(seed.conversation)
                ]
        message = "{{ … }} needs a table of cases: name one with `cases` or --cases-file"
        self._problems += [self._problem(path, message) for path, item in items if isinstance(item, str)]

    def _read_placeholders(self) -> None:
        """Read every text with placeholders, and check that the table has their columns."""
        for path, text in texts_of(job_snapshot(self.loaded.job)):
            if not has_placeholders(text):
                continue
            try:
                placeholder = self.placeholders[path] = read_placeholders(path, text)
            except PlaceholderError as error:
                self._problems.append(self._problem(path, str(error)))
                continue
            columns = self.table.columns if self.table is not None else ()
            for column in sorted(placeholder.columns.difference(columns)):
                there = near(column, columns) if columns else "; without a table of cases there are none"
                self._problems.append(self._problem(path, f"the cases have no column {column!r}{there}"))

    def _filled(self, rows: Sequence[CaseRow | None]) -> Iterator[CaseJob]:
        template = job_snapshot(self.loaded.job)
        for row in rows:
            for persona in self.loaded.job.personas or (None,):
                context = {
                    "case": row.values if row is not None else {},
                    "persona": persona.model_dump(by_alias=True) if persona is not None else {},
                }
                try:
                    data = filled(template, self.placeholders, context)
                    data["cases"] = None
                    # A row may have no history: its only message is what the user says now.
                    data["seeds"] = [seed for seed in data["seeds"] if seed.get("conversation") != []]
                    if persona is not None:
                        data["personas"] = [persona.model_dump(mode="json", by_alias=True)]
                        data["evaluator"]["voice"] = persona.manner(data["evaluator"]["voice"])
                    case = CaseJob(row, persona.name if persona is not None else "", job_from_data(data))
                except Unfilled as error:
                    self.tell(row, error.placeholder.path, str(error))
                except ValidationError as error:
                    for detail in error.errors(include_url=False)[:MOST_TOLD]:
                        path = field_path(detail)
                        self.tell(row, path, f"{show_path(path)} {message_of(detail, path)}")
                else:
                    yield case

    def tell(self, row: CaseRow | None, path: FieldPath, message: str) -> None:
        """Record that a row's value is wrong in a text of the job. `path` may be that of the filled job."""
        placeholder = next(
            (
                placeholder
                for end in range(len(path), 0, -1)
                if (placeholder := self._placeholder_in(path[:end]))
            ),
            None,
        )
        self._rows.setdefault(placeholder.path if placeholder else path, []).append((row, message))

    def _placeholder_in(self, path: FieldPath) -> PlaceholderText | None:
        return next(
            (placeholder for at, placeholder in self.placeholders.items() if at[: len(path)] == path), None
        )

    @property
    def problems(self) -> list[Problem]:
        """The problems of rows, each at its row; a problem of all rows is reported once, at the job's placeholder."""
        found = list(self._problems)
        for path, told in self._rows.items():
            columns = sorted(self.placeholders[path].columns) if path in self.placeholders else []
            rows = list(dict.fromkeys(row.number for row, _ in told if row is not None))
            if self.table is None or (len(rows) == self._tried > 1):
                first = f"no row fills this; row {rows[0]}: " if rows else ""
                found.append(self._problem(path, first + told[0][1]))
                continue
            place = self.loaded.place(path)
            where = f"{show_path(path) or 'the job'} ({clean_line(self.loaded.path.name)}:{place.line})"
            found += [
                self.table.problem(
                    row, ", ".join(_suspects(row, columns)), f"does not fill {where}: {message}"
                )
                for row, message in told[:MOST_TOLD]
                if row is not None
            ]
        return found


def _suspects(row: CaseRow, columns: list[str]) -> list[str]:
    """Return which of a text's columns a row lacks; all of them if it has a value in each."""
    return [column for column in columns if row.values.get(column) in (None, "")] or columns
