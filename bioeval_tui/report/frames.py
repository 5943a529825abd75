"""Recorded runs as tables: for pandas and Arrow, with descriptions and units of all columns; turns
as CSV and Parquet, messages as lines.

docs/python.md shows `TABLES`; columns keep their names, kinds and units. Values that were not
measured are missing, never 0.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, Literal, get_args

from bioeval_tui.base import units
from bioeval_tui.base.errors import UsageError
from bioeval_tui.base.files import csv_text
from bioeval_tui.base.text import clean_line, compact_json, spreadsheet_cell
from bioeval_tui.record.importing.chat import chat_messages
from bioeval_tui.record.importing.conversations import ImportedMessage, ImportedPart
from bioeval_tui.record.spans import known_sum
from bioeval_tui.record.state import MessageState
from bioeval_tui.record.tool_calls import call_result, injected_failure, paired_events
from bioeval_tui.report.formats.registry import Asked
from bioeval_tui.report.result import RunResult
from bioeval_tui.report.run import ConversationResult, each_conversation, why_not_asked

if TYPE_CHECKING:
    import pandas
    import pyarrow


Kind = Literal["text", "number", "whole", "flag", "time"]
TableName = Literal["conversations", "tasks", "assertions", "turns", "tools"]
Cells = Mapping[str, Any]

DTYPES: Mapping[Kind, str] = {
    "text": "string",
    "number": "float64",
    "whole": "Int64",
    "flag": "boolean",
    "time": "datetime64[ns, UTC]",
}
"""The dtype of pandas for each kind of column."""


@dataclass(frozen=True, slots=True)
class FrameColumn:
    """One column: its name, the type of its cells, and their meaning."""

    name: str
    kind: Kind
    about: str


@dataclass(frozen=True, slots=True)
class FrameTable:
    """One table: the meaning of a row, the columns, and the function that yields a conversation's
    rows.
    """

    row: str
    columns: tuple[FrameColumn, ...]
    rows: Callable[[RunResult, ConversationResult], Iterator[Cells]]


def table_rows(runs: Sequence[RunResult], name: TableName) -> Iterator[Cells]:
    """Yield the rows of a table by column; a column that a row lacks is missing there."""
    for run, talk in each_conversation(runs):
        whose = {
            "run_id": run.run_id,
            "job": run.brief.job,
            "model": run.started.model,
            "condition": talk.condition,
            "trial": talk.trial,
            "case": talk.case and (talk.case.name or None),
            "persona": talk.case and (talk.case.persona or None),
            "user_model": talk.case and (talk.case.user or None),
        }
        for cells in TABLES[name].rows(run, talk):
            yield {**whose, **cells}


def to_frame(runs: Sequence[RunResult], name: TableName) -> pandas.DataFrame:
    """Return a table as a data frame.

    Raises:
        UsageError: the table does not exist.
    """
    columns, cells = _columns(table_rows(runs, _known(name)), name)
    import pandas  # reading results without data frames does not wait for it

    return pandas.DataFrame(
        {
            column.name: pandas.Series(values, dtype=DTYPES[column.kind])
            for column, values in zip(columns, cells, strict=True)
        }
    )


def to_arrow(runs: Sequence[RunResult], name: TableName) -> pyarrow.Table:
    """Return a table as an Arrow table; each field's metadata describes its column.

    Raises:
        UsageError: the table does not exist.
    """
    return _arrow(table_rows(runs, _known(name)), name)


def _arrow(rows: Iterable[Cells], name: TableName) -> pyarrow.Table:
    columns, cells = _columns(rows, name)
    import pyarrow  # as pandas above

    types = {
        "text": pyarrow.string(),
        "number": pyarrow.float64(),
        "whole": pyarrow.int64(),
        "flag": pyarrow.bool_(),
        "time": pyarrow.timestamp("us", "UTC"),
    }
    fields = [
        pyarrow.field(column.name, types[column.kind], metadata={"about": column.about})
        for column in columns
    ]
    arrays = [
        pyarrow.array(values, field.type) for field, values in zip(fields, cells, strict=True)
    ]
    return pyarrow.Table.from_arrays(arrays, schema=pyarrow.schema(fields))


def _known(name: TableName) -> TableName:
    if name not in TABLES:
        known = ", ".join(get_args(TableName))
        raise UsageError(f"there is no table {clean_line(str(name), 40)!r}; the tables are {known}")
    return name


def _columns(
    rows: Iterable[Cells], name: TableName
) -> tuple[tuple[FrameColumn, ...], list[list[Any]]]:
    columns, listed = TABLES[name].columns, list(rows)
    return columns, [[row.get(column.name) for row in listed] for column in columns]


def _conversation(run: RunResult, talk: ConversationResult) -> Iterator[Cells]:
    scored, ended, source = talk.scored, talk.ended, run.brief.source
    timed = source is None or source.times == "told"
    yield {
        "agent": run.brief.agent,
        "rehearsal": run.brief.rehearsal,
        "imported_from": source and source.format,
        "score": talk.score,
        "shared_score": talk.shared_score,
        **{f"{part.name}_part": part.value for part in talk.parts},
        "penalty": scored and scored.penalty,
        "failures": talk.failures,
        "not_measured": None if talk.score is not None else talk.why_no_score,
        "given_scores": compact_json(scored.given) if scored and scored.given is not None else None,
        "end_reason": talk.end_reason,
        "fault": talk.fault,
        "turns": talk.turn_count,
        "started_at": talk.started_at if timed else None,
        "duration_s": ended.duration_ms / 1000 if ended and timed else None,
        "average_latency_ms": talk.average_ms,
        "facts_given": (
            len({fact.fact for fact in talk.facts}) if talk.facts or not talk.facts_unread else None
        ),
        "words_told": talk.words_told,
        "tokens_in": known_sum(message.tokens[0] for message in talk.answers),
        "tokens_out": known_sum(message.tokens[1] for message in talk.answers),
        "tone": talk.tone,
    }


def _tasks(run: RunResult, talk: ConversationResult) -> Iterator[Cells]:
    shared = run.criteria_shared(talk.trial).tasks.numbers
    for number, title in run.task_titles(talk.condition, talk.trial).items():
        task = talk.task(number)
        cells: dict[str, Any] = {"task": number, "title": title, "shared": number in shared}
        if task is None:
            yield {**cells, "not_measured": talk.why_no_verdict}
            continue
        if task.measured:
            cells |= {"score": task.score, "passed": task.passed}
        else:
            cells["not_measured"] = why_not_asked(task)
        yield {
            **cells,
            "reason": task.reason,
            "weight": task.weight,
            "asked": task.asked,
            "kept_by": task.kept_by,
            "unproved": task.unproved,
            "spread": task.spread,
            "points": task.points,
            "tags": " ".join(task.tags) or None,
            "judge": talk.verdict and talk.verdict.judge,
        }


def _assertions(run: RunResult, talk: ConversationResult) -> Iterator[Cells]:
    """Yield a row for each assertion that counts in a conversation: what it asks, and how it ended.

    `shared` says whether it counts in every condition.
    """
    shared = run.criteria_shared(talk.trial).assertions.numbers
    for index, (title, weight) in run.assertion_titles(talk.condition, talk.trial).items():
        check = talk.final_checks.get(index)
        cells: dict[str, Any] = {
            "assertion": index + 1,
            "title": title,
            "weight": weight,
            "shared": index in shared,
        }
        if check is None:
            yield {**cells, "status": "not_measured", "why": "it was not checked at the end"}
            continue
        cells |= {"status": check.status, "why": check.reason or None}
        if check.status != "not_measured":
            cells |= {
                "passed": check.status == "passed",
                "from_start": check.from_start,
                "observed": compact_json(check.observed),
                "expected": compact_json(check.expected),
            }
        yield cells


def _turns(run: RunResult, talk: ConversationResult) -> Iterator[Cells]:
    for turn in sorted({message.turn for message in talk.messages}):
        messages = [message for message in talk.messages if message.turn == turn]
        user = next((m for m in messages if m.role == "user" and m.done), None)
        agent = next((m for m in messages if m.role == "assistant"), None)
        checks = chain.from_iterable(talk.timelines.values())
        checked = [check for check in checks if check.after_turn == turn]
        facts = chain.from_iterable(message.facts for message in messages)
        failures = chain.from_iterable(message.failures for message in messages)
        yield {
            "turn": turn,
            "user": user and user.text,
            "user_sent": user and talk.sent(user),
            "agent": agent and agent.text,
            **(_times(agent) if agent else {}),
            "failures": sum(failure.counted for failure in failures),
            "facts": " ".join(str(fact.fact) for fact in facts),
            "assertions_passed": sum(check.status == "passed" for check in checked),
            "assertions_failed": sum(check.status == "failed" for check in checked),
            "score": talk.score,
            "unproved": talk.verdict and talk.unproved,
        }


def _times(agent: MessageState) -> Cells:
    names = ("latency_ms", "waited_ms", "first_token_ms", "cut_off")
    tokens_in, tokens_out = agent.tokens
    values = {name: getattr(agent, name) for name in names}
    return {
        **values,
        "tokens_in": tokens_in,
        "tokens_out": tokens_out,
        "empty": agent.is_empty if agent.done else None,
    }


def _tools(run: RunResult, talk: ConversationResult) -> Iterator[Cells]:
    for message in talk.messages:
        calls = [pair for pair in paired_events(message.generation) if pair[0] is not None]
        for number, (request, event) in enumerate(calls, start=1):
            assert request is not None
            result = call_result(request, event)
            arguments = compact_json(request.get("arguments") or {})
            yield {
                "turn": message.turn,
                "message": message.message,
                "call": number,
                "tool": str(request["function"].get("name", "")),
                # A span may tell of a call without its arguments, which is not a call without any.
                "arguments": None if request.get("argumentsTold") is False else arguments,
                "result": result and compact_json(result[0]),
                "failed": result and result[1],
                "injected": injected_failure(event),
            }


OF_EVERY_TABLE = (
    FrameColumn("run_id", "text", "the run's id"),
    FrameColumn("job", "text", "the job's name"),
    FrameColumn("model", "text", "the agent's model; missing where none was named"),
    FrameColumn(
        "condition",
        "text",
        "the name of the condition: `withheld` or `supplied`, unless the job lists others",
    ),
    FrameColumn("trial", "whole", "from 1"),
    FrameColumn("case", "text", "the id of the case; missing if the job has no cases"),
    FrameColumn(
        "persona", "text", "the name of the simulated user's persona; missing if the job has none"
    ),
    FrameColumn(
        "user_model", "text", "the model that plays the user, where the run has several of them"
    ),
)

TABLES: Mapping[TableName, FrameTable] = {
    "conversations": FrameTable("one row for each conversation (one trial under one condition)", (
        *OF_EVERY_TABLE,
        FrameColumn("agent", "text", "the agent's name"),
        FrameColumn("rehearsal", "flag", "whether a script played the user, or rules judged"),
        FrameColumn("imported_from", "text",
            "the format of the file it was imported from; missing otherwise"),
        FrameColumn("score", "number", "the composite, 0 to 1"),
        FrameColumn("shared_score", "number",
            "the same of what both conditions share: the difference is made of it; "
            "missing if there is none"),
        FrameColumn("timing_part", "number", "the composite's part for response times, 0 to 1"),
        FrameColumn("task_part", "number", "its part for tasks, 0 to 1"),
        FrameColumn("assertion_part", "number", "its part for assertions, 0 to 1"),
        FrameColumn("penalty", "number", "how much failed requests subtract, 0 to 0.5"),
        FrameColumn("failures", "whole", "requests to the agent that failed and count against it"),
        FrameColumn("not_measured", "text", "why there is no score"),
        FrameColumn("given_scores", "text", "the scores in the imported file, as JSON"),
        FrameColumn("end_reason", "text", "`signed_off`, `max_turns`, `agent_failed`, …"),
        FrameColumn("fault", "text",
            "who caused it to end early or to have no score: `none`, `agent`, `evaluator`, "
            "`judge`, `infrastructure`, `unclear`, `program`"),
        FrameColumn("turns", "whole", "the user's messages, each with its answer"),
        FrameColumn("started_at", "time", "UTC; missing if the imported file has no times"),
        FrameColumn("duration_s", "number", "seconds"),
        FrameColumn("average_latency_ms", "number", "the agent's average latency, milliseconds"),
        FrameColumn("facts_given", "whole",
            "how many facts the user gave away; missing if that cannot be told in their language"),
        FrameColumn("words_told", "whole", "words that the user told, without the greeting"),
        FrameColumn("tokens_in", "whole", "tokens that the agent's model read, if reported"),
        FrameColumn("tokens_out", "whole", "tokens that it wrote"),
        FrameColumn("tone", "number",
            "the judge's rating of the agent's tone, 0 to 1; not part of any score"),
    ), _conversation),
    "tasks": FrameTable("one row for each task of each conversation", (
        *OF_EVERY_TABLE,
        FrameColumn("task", "whole", "its number in the job, from 1"),
        FrameColumn("title", "text", "what the user wanted"),
        FrameColumn("score", "number", "0 to 1; the median if there are several verdicts"),
        FrameColumn("passed", "flag", "whether the score is above the task's `passAbove`"),
        FrameColumn("reason", "text", "why, in the judge's words"),
        FrameColumn("weight", "number", "how much it counts in the task part"),
        FrameColumn("shared", "flag",
            "whether both conditions judge it alike, so that it counts in the difference"),
        FrameColumn("asked", "whole",
            "the number of the user's message that asks for it, 0 if none does; "
            "missing if unknown"),
        FrameColumn("kept_by", "text",
            "what kept the user from asking: `user`, `turns` or `agent`; "
            "missing if it was asked for"),
        FrameColumn("unproved", "flag",
            "whether the judge quoted words that are not in the transcript, or only the user's"),
        FrameColumn("spread", "number",
            "the largest score minus the smallest, if there are several verdicts"),
        FrameColumn("points", "number", "the points of a rubric item; missing for a task"),
        FrameColumn("tags", "text", "the tags of a rubric item, separated by spaces"),
        FrameColumn("judge", "text", "the judge's name"),
        FrameColumn("not_measured", "text", "why there is no score"),
    ), _tasks),
    "assertions": FrameTable("one row for each assertion at the end of each conversation", (
        *OF_EVERY_TABLE,
        FrameColumn("assertion", "whole", "its number in the job, from 1"),
        FrameColumn("title", "text", "its name, or its expression or query"),
        FrameColumn("weight", "number", "how much it counts in the assertion part"),
        FrameColumn("shared", "flag",
            "whether it counts in both conditions, so that it counts in the difference"),
        FrameColumn("status", "text", "`passed`, `failed` or `not_measured`"),
        FrameColumn("passed", "flag", "missing if it was not measured"),
        FrameColumn("from_start", "flag", "whether it passed before the greeting already"),
        FrameColumn("observed", "text", "JSON"),
        FrameColumn("expected", "text", "JSON"),
        FrameColumn("why", "text", "why it failed or was not measured"),
    ), _assertions),
    "turns": FrameTable("one row for each turn (a message of the user and the agent's answer)", (
        *OF_EVERY_TABLE,
        FrameColumn("turn", "whole", "from 1"),
        FrameColumn("user", "text", "what the user said"),
        FrameColumn("user_sent", "flag",
            "whether the message was sent to the agent; false for the sign-off"),
        FrameColumn("agent", "text", "what the agent said"),
        FrameColumn("cut_off", "flag", "whether its model ended the answer at its length limit"),
        FrameColumn("empty", "flag",
            "whether it answered without a word; missing if it did not answer"),
        FrameColumn("latency_ms", "number", "from the request to the last byte, milliseconds"),
        FrameColumn("waited_ms", "number",
            "failed attempts and the waits between them, milliseconds; not part of the latency"),
        FrameColumn("first_token_ms", "number",
            "to the first text, milliseconds; missing if nothing was streamed"),
        FrameColumn("tokens_in", "whole", "tokens that the agent's model read, if reported"),
        FrameColumn("tokens_out", "whole", "tokens that it wrote"),
        FrameColumn("failures", "whole", "requests that failed and count against the agent"),
        FrameColumn("facts", "text",
            "the numbers of the facts that were given, separated by spaces"),
        FrameColumn("assertions_passed", "whole", "assertions that passed after the turn"),
        FrameColumn("assertions_failed", "whole", "assertions that failed after the turn"),
        FrameColumn("score", "number", "the conversation's score, 0 to 1"),
        FrameColumn("unproved", "whole", "how many verdicts on the conversation are unproved"),
    ), _turns),
    "tools": FrameTable("one row for each tool call of the agent", (
        *OF_EVERY_TABLE,
        FrameColumn("turn", "whole", "from 1"),
        FrameColumn("message", "whole",
            "the number of the agent's message in the conversation, from 1"),
        FrameColumn("call", "whole", "its number among the calls of the message, from 1"),
        FrameColumn("tool", "text", "its name"),
        FrameColumn("arguments", "text",
            "JSON; missing if only a span reported the call, without arguments"),
        FrameColumn("result", "text", "JSON; missing if the agent did not report it"),
        FrameColumn("failed", "flag",
            "whether the agent reported an error; missing if it reported no result"),
        FrameColumn("injected", "text",
            "how the job made it fail, such as `timeout`; missing if it did not"),
    ), _tools),
}  # fmt: skip
"""Every table, by the name that `to_frame` and `to_arrow` take."""


CHAT_LINES = ("openai-jsonl", "transcripts")
"""The formats that are imported as lines of chats."""

ROWS_AT_ONCE = 5_000
"""How many rows of a Parquet file are in memory while it is written."""

COLUMNS = tuple(column.name for column in TABLES["turns"].columns)


def openai_lines(runs: Sequence[RunResult], asked: Asked | None = None) -> Iterator[str]:
    """Yield one JSON object per conversation: `messages` as OpenAI's chat format has them, then
    `metadata`.

    The evaluator is the `user`, the agent the `assistant`; tool calls come with their results.
    Conversations imported from this format are written back unchanged.
    """
    for run, talk in each_conversation(runs):
        source = run.brief.source
        same = source is not None and source.format in CHAT_LINES
        chats = (_chat(message, as_it_was=same) for message in talk.sent_messages)
        messages = list(chain.from_iterable(chats))
        if same:
            line = {**(talk.record or {}), "messages": messages}
            yield json.dumps(line, ensure_ascii=False) + "\n"
            continue
        score = talk.score
        metadata = {
            "run_id": run.run_id,
            "job": run.brief.job,
            "condition": talk.condition,
            "trial": str(talk.trial),
            "end_reason": talk.end_reason or "not finished",
            "score": "" if score is None else units.number(score),
        }
        if run.started.asked_model:
            metadata["model"] = run.started.asked_model
        if talk.case is not None:
            metadata["case"] = talk.case.name
            if talk.case.persona:
                metadata["persona"] = talk.case.persona
            if talk.case.user:
                metadata["user_model"] = talk.case.user
        if messages:
            line = {"messages": messages, "metadata": metadata}
            yield json.dumps(line, ensure_ascii=False) + "\n"


def transcript_lines(run: RunResult) -> str:
    """Return a run's conversations in the form that `bioeval-tui guards` reads, with the user's
    facts.
    """
    lines = []
    for talk in run.conversations:
        case, name = talk.case, f"{talk.condition}/{talk.trial}"
        if case:
            name += f" {case.words}"
        facts = (case and case.facts) or run.started.job.get("facts") or []
        tasks = (case and case.tasks) or run.started.job.get("tasks") or []
        line = {
            "id": name,
            "condition": talk.condition,
            "messages": [{"role": m.role, "content": m.text} for m in talk.messages if m.done],
            "facts": list(facts),
            "tasks": [
                str(task.get("task", ""))
                for task in tasks
                if isinstance(task, dict) and task.get("task")
            ],
        }
        lines.append(json.dumps(line, ensure_ascii=False) + "\n")
    return "".join(lines)


def _chat(message: MessageState, *, as_it_was: bool) -> list[Any]:
    if as_it_was and message.record is not None:
        return list(message.record.get("raw") or [])
    said = ImportedPart(message.role, message.text, None)
    imported = ImportedMessage([said], message.generation)
    return list(chat_messages(imported, message.message))


def turns_csv(runs: Sequence[RunResult], asked: Asked | None = None) -> Iterator[str]:
    """Yield one row a turn; times in ms, facts as their numbers.

    `score` and `unproved` are the conversation's.

    Text that a spreadsheet would read as a formula is prefixed with an apostrophe.
    """
    yield csv_text([COLUMNS], end="\r\n")
    for row in table_rows(runs, "turns"):
        yield csv_text([[csv_cell(row.get(column)) for column in COLUMNS]], end="\r\n")


def turns_parquet(runs: Sequence[RunResult], asked: Asked) -> bytes:
    """Return one row a turn as a Parquet file: the columns of `to_frame("turns")`, typed and
    described.
    """
    from pyarrow import parquet  # as pandas above

    file, rows = io.BytesIO(), table_rows(runs, "turns")
    schema = _arrow([], "turns").schema
    with parquet.ParquetWriter(file, schema) as writer:
        # Not all texts at once: those of a large run are more than memory should hold.
        while group := list(islice(rows, ROWS_AT_ONCE)):
            writer.write_table(_arrow(group, "turns"))
    return file.getvalue()


def csv_cell(value: object) -> object:
    """Return a value as a csv_cell: None empty, fractions with three decimals, a would-be formula
    made harmless.
    """
    match value:
        case None:
            return ""
        case bool():
            return int(value)
        case float():
            return f"{value:.3f}"
        case str():
            return spreadsheet_cell(value)
        case _:
            return value
