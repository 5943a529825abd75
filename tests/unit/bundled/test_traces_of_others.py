"""`runs import` reads what Langfuse, LangSmith and MLflow export: turns, tool calls, latencies,
tokens, models, scores.

The files have the keys that the SDKs of langfuse 5.0, langsmith 0.15 and mlflow 3.17 write.
"""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from tests.unit.bundled.reading import import_of, refusal_of, written

ASKED, CALL = "Weather in Paris?", ("weather", {"city": "Paris"}, "sunny")
TALK = [
    ("user", ASKED),
    ("assistant", "It is sunny."),
    ("user", "And now?"),
    ("assistant", "Still sunny."),
]


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BIOEVAL_DATA_DIR", str(tmp_path / "data"))


def at(second: float) -> str:
    return f"2026-01-02T03:04:{second:06.3f}Z"


def langfuse(number: int, asked: str, answered: str) -> dict[str, Any]:
    """A trace as `GET /api/public/traces/ID` and the download of a trace have it."""
    trace, begin = f"t{number}", number * 10
    shared = {
        "traceId": trace,
        "level": "DEFAULT",
        "statusMessage": None,
        "version": None,
        "metadata": {},
    }
    observations = [
        {**shared, "id": f"{trace}-a", "type": "SPAN", "name": "agent", "startTime": at(begin),
            "endTime": at(begin + 2),
         "parentObservationId": None, "input": None, "output": None},
        {**shared, "id": f"{trace}-g", "type": "GENERATION", "name": "chat", "startTime": at(begin),
            "endTime": at(begin + 1),
         "completionStartTime": at(begin + 0.25), "parentObservationId": f"{trace}-a",
         "model": "m-1",
         "input": [{"role": "system", "content": "be nice"},
             {"role": "user", "content": f"Answer: {asked}"}],
         "output": {"role": "assistant", "content": answered},
         "usageDetails": {"input": 7, "output": 3, "total": 10},
         "usage": {"input": 7, "output": 3, "unit": "TOKENS"}},
        {**shared, "id": f"{trace}-t", "type": "TOOL", "name": "weather",
            "startTime": at(begin + 1), "endTime": at(begin + 2),
         "parentObservationId": f"{trace}-a", "input": {"city": "Paris"}, "output": "sunny"},
    ]  # fmt: skip
    return {
        "id": trace, "timestamp": at(begin), "name": "weatherman", "input": {"question": asked},
        "output": answered,
        "sessionId": "s1", "userId": "u1", "release": None, "version": None, "public": False,
        "environment": "default",
        "tags": [], "metadata": {}, "observations": observations,
        "scores": [{"id": "x", "name": "helpful", "value": 0.75, "source": "ANNOTATION",
                "comment": "good"}],
    }  # fmt: skip


TRACES = [langfuse(1, ASKED, "It is sunny."), langfuse(2, "And now?", "Still sunny.")]


def as_blob(observation: dict[str, Any]) -> dict[str, Any]:
    """An observation as exports to a blob storage have it, in snake case."""
    return {
        "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in key): value
        for key, value in observation.items()
    }


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("traces.json", TRACES),
        ("traces.jsonl", list(reversed(TRACES))),
        ("answer.json", {"data": TRACES, "meta": {"page": 1}}),
        ("session.json", {"id": "s1", "createdAt": at(0), "projectId": "p", "traces": TRACES}),
        ("download.jsonl", [{"trace": {**each, "observations": None},
                    "observations": each["observations"]} for each in TRACES]),
    ],
)  # fmt: skip
def test_langfuse_traces_of_a_session_are_a_conversation(
    name: str, value: Any, tmp_path: Path
) -> None:
    read = import_of(written(tmp_path / name, value))
    assert read.talks == [TALK]
    assert read.calls() == [CALL, CALL]
    (talk,) = read.run.conversations
    assert talk.session_id == "s1"
    assert [(m.latency_ms, m.tokens) for m in talk.messages if m.role == "assistant"] == [
        (2000, (7, 3))
    ] * 2
    assert talk.messages[1].first_token_ms == 250
    assert (read.run.started.agent, read.run.started.model) == ("weatherman", "m-1")
    assert talk.verdict is not None
    assert [(task.title, task.score) for task in talk.verdict.tasks] == [("helpful", 0.75)]
    assert (
        "given several times in a conversation, of which the last counts: score helpful"
        in read.said
    )
    assert "conversations by `sessionId`; 2 steps as tool calls" in read.said
    assert "what the user said, from `input` of agent steps (2)" in read.said


def test_langfuse_observations_alone_are_read_and_the_prompt_is_what_was_asked(
    tmp_path: Path,
) -> None:
    listed = [
        {**as_blob(each), "session_id": "s1"} for trace in TRACES for each in trace["observations"]
    ]
    read = import_of(written(tmp_path / "observations.jsonl", listed))
    assert read.talks == [
        [(role, f"Answer: {text}" if role == "user" else text) for role, text in TALK]
    ]
    assert read.calls() == [CALL, CALL]
    assert "conversations by `session_id`" in read.said
    assert "what the user said, from `input` of model steps (2)" in read.said


def test_langfuse_csv_has_json_in_its_cells(tmp_path: Path) -> None:
    file = tmp_path / "traces.csv"
    with file.open("w", encoding="utf-8", newline="") as out:
        table = csv.DictWriter(
            out, ["id", "timestamp", "name", "userId", "sessionId", "release", "input", "output"]
        )
        table.writeheader()
        for trace in TRACES:
            row = {key: trace[key] for key in table.fieldnames if key not in ("input", "output")}
            table.writerow(
                {**row, "input": json.dumps(trace["input"]), "output": json.dumps(trace["output"])}
            )
    assert import_of(file).talks == [TALK]


def human(text: str) -> dict[str, Any]:
    kwargs = {"content": text, "type": "human"}
    return {
        "lc": 1,
        "type": "constructor",
        "id": ["langchain", "schema", "messages", "HumanMessage"],
        "kwargs": kwargs,
    }


def model(text: str, **more: Any) -> dict[str, Any]:
    kwargs = {"content": text, "type": "ai", "tool_calls": [], **more}
    return {
        "lc": 1,
        "type": "constructor",
        "id": ["langchain", "schema", "messages", "AIMessage"],
        "kwargs": kwargs,
    }


def langsmith(number: int, asked: str, answered: str) -> list[dict[str, Any]]:
    """The runs of a trace of LangGraph, as the client of LangSmith writes them."""
    trace, begin = f"r{number}", number * 10
    metadata = {"metadata": {"thread_id": "thread-1", "ls_model_name": "m-1"}}
    calling = model(
        "",
        tool_calls=[{"name": "weather", "args": {"city": "Paris"}, "id": f"c{number}"}],
        usage_metadata={"input_tokens": 7, "output_tokens": 3, "total_tokens": 10},
    )
    result = {
        "lc": 1,
        "type": "constructor",
        "id": ["langchain", "schema", "messages", "ToolMessage"],
        "kwargs": {"content": "sunny", "type": "tool", "tool_call_id": f"c{number}"},
    }
    shared = {"trace_id": trace, "error": None, "extra": metadata, "session_id": "a-project"}
    return [
        {**shared, "id": trace, "name": "agent", "run_type": "chain", "start_time": at(begin),
            "end_time": at(begin + 2),
         "parent_run_id": None, "inputs": {"messages": [human(asked)]},
         "outputs": {"messages": [human(asked), calling, result, model(answered)]},
         "feedback_stats": {"helpful": {"n": 2, "avg": 0.5}}},
        {**shared, "id": f"{trace}m", "name": "ChatModel", "run_type": "llm",
            "start_time": at(begin), "end_time": at(begin + 1),
         "parent_run_id": trace, "inputs": {"messages": [[human(asked)]]},
         "outputs": {"generations": [[{"text": "", "type": "ChatGeneration",
                         "message": calling}]]}},
        {**shared, "id": f"{trace}t", "name": "weather", "run_type": "tool",
            "start_time": at(begin + 1),
         "end_time": at(begin + 2), "parent_run_id": trace,
         "inputs": {"input": "{'city': 'Paris'}"},
         "outputs": {"output": result}},
    ]  # fmt: skip


RUNS = [*langsmith(1, ASKED, "It is sunny."), *langsmith(2, "And now?", "Still sunny.")]


def nested(runs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Root runs, each with its children inside it."""
    roots = [run for run in runs if not run["parent_run_id"]]
    return [
        {**root, "child_runs": [run for run in runs if run["parent_run_id"] == root["id"]]}
        for root in roots
    ]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("runs.jsonl", RUNS),
        ("runs.json", list(reversed(RUNS))),
        ("answer.json", {"runs": RUNS, "cursors": {}}),
        ("nested.json", nested(RUNS)),
    ],
)
def test_langsmith_runs_of_a_thread_are_a_conversation(
    name: str, value: Any, tmp_path: Path
) -> None:
    """A project is `session_id` there, and no conversation."""
    read = import_of(written(tmp_path / name, value))
    assert read.talks == [TALK]
    assert read.calls() == [CALL, CALL]
    (talk,) = read.run.conversations
    assert talk.session_id == "thread-1"
    assert [(m.latency_ms, m.tokens) for m in talk.messages if m.role == "assistant"] == [
        (2000, (7, 3))
    ] * 2
    assert (read.run.started.agent, read.run.started.model) == ("agent", "m-1")
    assert talk.verdict is not None
    assert [(task.title, task.score) for task in talk.verdict.tasks] == [("helpful", 0.5)]
    assert "conversations by `metadata.thread_id`" in read.said


def test_a_failed_trace_is_the_agents_failure(tmp_path: Path) -> None:
    root, *_ = langsmith(1, ASKED, "")
    failed = {**root, "outputs": None, "error": "TimeoutError: 30 s"}
    read = import_of(
        written(tmp_path / "r.jsonl", [failed, failed | {"id": "other", "trace_id": "other"}])
    )
    (talk,) = read.run.conversations
    assert (talk.end_reason, talk.fault) == ("agent_failed", "agent")


def mlflow(number: int, asked: str, answered: str, version: int = 3) -> dict[str, Any]:
    """A trace as `Trace.to_json` writes it, of version 3 or 2."""
    trace, begin = f"tr-{number}", 1_767_323_040_000_000_000 + number * 10**10

    def span(
        name: str, kind: str, parent: str | None, start: int, end: int, **more: Any
    ) -> dict[str, Any]:
        told = {"mlflow.traceRequestId": trace, "mlflow.spanType": kind, **more}
        attributes = {key: json.dumps(value) for key, value in told.items()}
        times = (begin + start * 10**9, begin + end * 10**9)
        if version == 2:
            return {"name": name, "context": {"span_id": f"0x{name}", "trace_id": "0x1"},
                "parent_id": parent and f"0x{parent}",
                    "start_time": times[0], "end_time": times[1], "status_code": "OK",
                    "status_message": "",
                    "attributes": attributes, "events": []}  # fmt: skip
        return {
            "trace_id": "zJf7XmWI6ttfu+NGO+pJsQ==",
            "span_id": name,
            "parent_span_id": parent,
            "name": name,
            "start_time_unix_nano": times[0],
            "end_time_unix_nano": times[1],
            "events": [],
            "status": {"code": "STATUS_CODE_OK", "message": ""},
            "attributes": attributes,
        }

    function = {"name": "weather", "arguments": '{"city": "Paris"}'}
    calling = {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "c1", "type": "function", "function": function}],
    }
    spans = [
        span("agent", "AGENT", None, 0, 2,
            **{"mlflow.spanInputs": {"question": asked}, "mlflow.spanOutputs": answered}),
        span("chat", "CHAT_MODEL", "agent", 0, 1, **{
            "mlflow.spanInputs": {"model": "m-1", "messages": [{"role": "user", "content": asked}]},
            "mlflow.spanOutputs": {"model": "m-1", "choices": [{"message": calling}]},
            "mlflow.chat.tokenUsage": {"input_tokens": 7, "output_tokens": 3, "total_tokens": 10}}),
        span("weather", "TOOL", "agent", 1, 2,
            **{"mlflow.spanInputs": {"city": "Paris"}, "mlflow.spanOutputs": "sunny"}),
    ]  # fmt: skip
    metadata = {"mlflow.trace.session": "s1"}
    if version == 2:
        info: dict[str, Any] = {
            "request_id": trace,
            "timestamp_ms": begin // 10**6,
            "request_metadata": metadata,
        }
    else:
        info = {
            "trace_id": trace,
            "request_time": "2026-01-02T03:04:00Z",
            "trace_metadata": metadata,
            "state": "OK",
        }
    feedback = {
        "assessment_name": "good",
        "source": {"source_type": "HUMAN"},
        "feedback": {"value": True},
        "rationale": "fine",
    }
    return {
        "info": {**info, "tags": {"mlflow.traceName": "weatherman"}, "assessments": [feedback]},
        "data": {"spans": spans},
    }


@pytest.mark.parametrize(
    ("name", "version"), [("t.json", 3), ("t.jsonl", 3), ("t.jsonl", 2), ("several.json", 3)]
)
def test_mlflow_traces_of_a_session_are_a_conversation(
    name: str, version: int, tmp_path: Path
) -> None:
    listed = [
        mlflow(1, ASKED, "It is sunny.", version),
        mlflow(2, "And now?", "Still sunny.", version),
    ]
    read = import_of(
        written(tmp_path / name, {"traces": listed} if name == "several.json" else listed)
    )
    assert read.talks == [TALK]
    assert read.calls() == [CALL, CALL]
    (talk,) = read.run.conversations
    assert [(m.latency_ms, m.tokens) for m in talk.messages if m.role == "assistant"] == [
        (2000, (7, 3))
    ] * 2
    assert (read.run.started.agent, read.run.started.model) == ("weatherman", "m-1")
    assert talk.verdict is not None
    assert [(task.title, task.score, task.reason) for task in talk.verdict.tasks] == [
        ("good", 1, "fine")
    ]
    assert "conversations by `mlflow.trace.session`" in read.said


def test_one_trace_of_mlflow_is_a_document(tmp_path: Path) -> None:
    assert import_of(written(tmp_path / "t.json", mlflow(1, ASKED, "It is sunny."))).talks == [
        TALK[:2]
    ]


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ([TRACES[0], {"id": "x"}],
            "line 2: must be a trace with `id` and `timestamp`, or an observation with `traceId`"),
        ([{**TRACES[0], "input": None, "output": None, "observations": []}] * 2,
            "nothing was said in its 1 trace: its traces"),
        ([RUNS[0], {"id": "x"}],
            "line 2: must be a run with `id`, `run_type`, `inputs` and `outputs`"),
        ([mlflow(1, "a", "b"), {"info": {}, "data": {}}],
            "line 2: must be a trace with `info` and `data`, which has `spans`"),
    ],
)  # fmt: skip
def test_what_cannot_be_told_is_refused_with_the_place(
    value: Any, said: str, tmp_path: Path
) -> None:
    assert said in refusal_of(written(tmp_path / "t.jsonl", value))
