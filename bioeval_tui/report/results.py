"""The results of runs, for Python programs: `bioeval_tui.evaluation` and `bioeval_tui.load_run` return it."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from dataclasses import dataclass, fields
from functools import cached_property
from html import escape
from typing import TYPE_CHECKING, Any

from bioeval_tui.errors import UsageError
from bioeval_tui.record.names import CONDITIONS, Condition
from bioeval_tui.report.conclusion import conclude_batch
from bioeval_tui.report.document import run_document
from bioeval_tui.report.findings import Outcome
from bioeval_tui.report.frames import TableName, table_rows, to_arrow, to_frame
from bioeval_tui.report.result import RunResult
from bioeval_tui.report.sentences import difference_words, spread_words
from bioeval_tui.report.statistics.differences import Difference
from bioeval_tui.report.summary import ConditionSummary, Summary, summarise_runs
from bioeval_tui.units import number

if TYPE_CHECKING:
    import pandas
    import pyarrow


@dataclass(frozen=True, slots=True)
class FactsDifference(Difference):
    """Supplied − withheld, paired by trial."""

    @property
    def words(self) -> str:
        """The difference with its interval and verdict, in words."""
        return difference_words(self)


@dataclass(frozen=True, slots=True)
class NotMeasured:
    """Something that has no value: `what` is `score`, `task 2` or `assertion 1`, numbered as in the job."""

    run_id: str
    condition: Condition
    trial: int
    what: str
    why: str


@dataclass(frozen=True)
class Results:
    """The results of one or several runs. A run is one job with one agent and model.

    Scores are in [0, 1]. None means that something was not measured, never 0; `not_measured` says why.
    """

    loaded: tuple[RunResult, ...]

    @property
    def runs(self) -> tuple[Results, ...]:
        """Each run by itself."""
        return tuple(Results((run,)) for run in self.loaded)

    @property
    def run_id(self) -> str:
        """The run's id, which `bioeval-tui runs show` and `load_run` take. Raises `UsageError` if there are several."""
        return self._only().run_id

    @property
    def sentence(self) -> str:
        """The conclusion in one sentence, made by rules from the recording, never by a model."""
        return conclude_batch(self.loaded).sentence

    @property
    def outcome(self) -> Outcome:
        """The stable code for the kind of conclusion in `sentence`."""
        return conclude_batch(self.loaded).outcome

    @property
    def score(self) -> float | None:
        """The run's mean of both conditions, as published. Raises `UsageError` if there are several runs."""
        return self._only().mean

    @property
    def scores(self) -> dict[Condition, float | None]:
        """The mean of each condition over the trials that have a score; `conditions` has its interval."""
        return {name: condition.score.mean for name, condition in self.conditions.items()}

    @property
    def conditions(self) -> dict[Condition, ConditionSummary]:
        """Each condition: score with its interval, tasks, assertions, pass^k and response times over all trials.

        Raises `UsageError` if there are several agents or models, which are never pooled.
        """
        return {condition.condition: condition for condition in self._summary().conditions}

    @property
    def difference(self) -> FactsDifference | None:
        """Supplied − withheld, paired by trial, with its interval and verdict; None if only one condition was run.

        Raises `UsageError` if there are several agents or models.
        """
        found = self._summary().uplift
        if found is None:
            return None
        return FactsDifference(**{each.name: getattr(found, each.name) for each in fields(found)})

    uplift = difference
    """An older name of `difference`."""

    @property
    def not_measured(self) -> tuple[NotMeasured, ...]:
        """Every score, task and assertion without a value, with the reason; empty if all were measured."""
        return tuple(self._missing())

    def to_frame(self, table: TableName = "conversations") -> pandas.DataFrame:
        """Return `conversations`, `tasks`, `assertions`, `turns` or `tools` as a data frame of pandas.

        Raises:
            UsageError: the table does not exist.
            NotMeasuredError: pandas is not installed; the message has the command that installs it.
        """
        return to_frame(self.loaded, table)

    def to_arrow(self, table: TableName = "conversations") -> pyarrow.Table:
        """Return the same tables for Arrow; as `to_frame`, but needs pyarrow."""
        return to_arrow(self.loaded, table)

    def to_dict(self) -> dict[str, Any]:
        """Return the whole result of the run; `bioeval-tui schema result` describes it. Raises `UsageError` if there are several."""
        return run_document(self._only())

    def __await__(self) -> Generator[None, None, Results]:
        """Return itself, so that `await evaluate(…)` works in a notebook."""
        yield from ()
        return self

    def __str__(self) -> str:
        return self.sentence

    def __repr__(self) -> str:
        return f"<Results {' '.join(run.run_id for run in self.loaded)}: {self.sentence}>"

    def _repr_html_(self) -> str:
        """Return the HTML that a notebook shows."""
        cells = [[summary.label, *self._score_cells(summary)] for summary in self._summaries]
        heading = ("agent", "withheld", "supplied", "difference")
        lines = [
            f"<p><b>{escape(self.sentence)}</b></p>",
            _html_row("th", heading),
            *(_html_row("td", row) for row in cells),
            f"<p>{' '.join(f'<code>bioeval-tui runs show {escape(run.run_id)}</code>' for run in self.loaded)}</p>",
        ]
        return f"{lines[0]}<table>{''.join(lines[1:-1])}</table>{lines[-1]}"

    @staticmethod
    def _score_cells(summary: Summary) -> Iterator[str]:
        for name in CONDITIONS:
            condition = next(
                (condition for condition in summary.conditions if condition.condition == name), None
            )
            yield (
                "not run"
                if condition is None
                else f"{number(condition.score.mean)} ({spread_words(condition.score)})"
            )
        yield difference_words(summary.uplift) if summary.uplift else "not run"

    def _only(self) -> RunResult:
        if len(self.loaded) != 1:
            raise UsageError(f"there are {len(self.loaded)} runs; take one of them, such as .runs[0]")
        return self.loaded[0]

    @cached_property
    def _summaries(self) -> list[Summary]:
        return summarise_runs(self.loaded)

    def _summary(self) -> Summary:
        if len(self._summaries) != 1:
            labels = ", ".join(summary.label for summary in self._summaries)
            raise UsageError(f"agents and models are never pooled ({labels}); take one of .runs")
        return self._summaries[0]

    def _missing(self) -> Iterator[NotMeasured]:
        for run in self.loaded:
            for condition, trial in run.planned:
                talk = run.conversation(condition, trial)
                if talk is None or talk.score is None:
                    reason = talk.why_no_score if talk else run.detail or "it was not run"
                    yield NotMeasured(run.run_id, condition, trial, "score", reason)
        for row in table_rows(self.loaded, "tasks"):
            if row.get("score") is None:
                yield _missing_of(row, f"task {row['task']}", row["not_measured"])
        for row in table_rows(self.loaded, "assertions"):
            if row["status"] == "not_measured":
                yield _missing_of(
                    row, f"assertion {row['assertion']}", row["why"] or "no reason was recorded"
                )


def _missing_of(row: Any, what: str, why: str) -> NotMeasured:
    return NotMeasured(row["run_id"], row["condition"], row["trial"], what, why)


def _html_row(tag: str, cells: Any) -> str:
    return f"<tr>{''.join(f'<{tag}>{escape(cell)}</{tag}>' for cell in cells)}</tr>"
