"""`runs import` reads OpenTelemetry traces: what instrumentations write, and what this program
exports.
"""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from google.protobuf import json_format
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.models.instrumented import InstrumentationSettings

from bioeval_tui.formats import calls_of
from bioeval_tui.record.importing.into_runs import import_file
from bioeval_tui.report.result import load_run
from tests.documents import document_of
from tests.unit.bundled.reading import import_of, refusal_of, written

GOLDEN = Path(__file__).parents[2] / "golden"
ASKED = "What's the weather in Paris?"
TALK = [
    ("user", "Hi"),
    ("assistant", "Hello!"),
    ("user", ASKED),
    ("assistant", "It is sunny in Paris"),
]
CALL = ("weather", {"city": "Paris"}, "sunny in Paris")


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BIOEVAL_DATA_DIR", str(tmp_path / "data"))


def weatherman(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    last: Any = messages[-1].parts[-1]
    if last.part_kind == "tool-return":
        return ModelResponse(parts=[TextPart(f"It is {last.content}")])
    if "weather" in last.content:
        return ModelResponse(parts=[ToolCallPart("weather", {"city": "Paris"}, tool_call_id="c1")])
    return ModelResponse(parts=[TextPart("Hello!")])


@pytest.fixture(scope="module")
def request_of_pydantic_ai() -> Any:
    """What pydantic-ai's instrumentation sends of two questions of one conversation: a trace for
    each.
    """
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    agent = Agent(FunctionModel(weatherman), name="weatherman")
    agent.instrument = InstrumentationSettings(tracer_provider=provider)

    @agent.tool_plain
    def weather(city: str) -> str:
        return f"sunny in {city}"

    async def hold() -> None:
        first = await agent.run("Hi")
        await agent.run(ASKED, message_history=first.all_messages())

    asyncio.run(hold())
    return encode_spans(exporter.get_finished_spans())


def as_protobuf(file: Path, request: Any) -> Path:
    file.write_bytes(request.SerializeToString())
    return file


def as_lengths(file: Path, request: Any) -> Path:
    """Write as a collector does: each message after its length."""
    body = request.SerializeToString()
    file.write_bytes(len(body).to_bytes(4, "big") + body)
    return file


def as_document(file: Path, request: Any) -> Path:
    file.write_text(json_format.MessageToJson(request), encoding="utf-8")
    return file


def as_line(file: Path, request: Any) -> Path:
    """Write a trace a line, with the keys that older writers used."""
    lines = []
    for resource in json_format.MessageToDict(request)["resourceSpans"]:
        for scope in resource["scopeSpans"]:
            for span in scope["spans"]:
                one = {
                    "resource": resource["resource"],
                    "scope_spans": [{"scope": scope["scope"], "spans": [span]}],
                }
                lines.append(json.dumps({"resource_spans": [one]}))
    file.write_text("\n".join(reversed(lines)) + "\n", encoding="utf-8")
    return file


@pytest.mark.parametrize("write", [as_protobuf, as_lengths, as_document, as_line])
def test_a_conversation_of_several_traces_is_read_with_calls_tokens_and_times(
    write: Any, request_of_pydantic_ai: Any, tmp_path: Path
) -> None:
    read = import_of(write(tmp_path / "traces", request_of_pydantic_ai))
    assert read.talks == [TALK]
    assert read.calls() == [CALL]
    assert read.run.started.agent == "weatherman"
    assert read.run.started.model == "function:weatherman:"
    answers = [m for m in read.run.conversations[0].messages if m.role == "assistant"]
    assert all(
        m.latency_ms is not None and m.latency_ms > 0 and (m.tokens[0] or 0) > 0 for m in answers
    )
    assert read.run.brief.source is not None
    assert read.run.brief.source.times == "told"
    assert (
        "so it was read: conversations by `gen_ai.conversation.id`; 1 step as tool calls"
        in read.said
    )


def span(
    number: int, *, parent: int = 0, trace: int = 1, name: str = "step", **attributes: Any
) -> dict[str, Any]:
    def value(given: Any) -> dict[str, Any]:
        return {"intValue": str(given)} if isinstance(given, int) else {"stringValue": given}

    told = {key.replace("__", "."): given for key, given in attributes.items()}
    return {
        "traceId": f"{trace:032x}",
        "spanId": f"{number:016x}",
        "parentSpanId": f"{parent:016x}" if parent else "",
        "name": name,
        "startTimeUnixNano": str(1_700_000_000_000_000_000 + number * 1_000_000_000),
        "endTimeUnixNano": str(1_700_000_000_500_000_000 + number * 1_000_000_000),
        "attributes": [{"key": key, "value": value(given)} for key, given in told.items()],
    }


def traces(*spans: dict[str, Any], service: str = "my-agent") -> dict[str, Any]:
    resource = {"attributes": [{"key": "service.name", "value": {"stringValue": service}}]}
    return {
        "resourceSpans": [
            {"resource": resource, "scopeSpans": [{"scope": {}, "spans": list(spans)}]}
        ]
    }


INFERENCE = (
    span(1, openinference__span__kind="AGENT", session__id="s1", input__value=ASKED,
        output__value="It is sunny in Paris"),
    span(
        2, parent=1, openinference__span__kind="LLM", llm__model_name="m-1",
        llm__token_count__prompt=7,
        llm__token_count__completion=3,
        **{
            "llm.input_messages.0.message.role": "system",
            "llm.input_messages.0.message.content": "be nice",
            "llm.input_messages.1.message.role": "user",
            "llm.input_messages.1.message.content": f"Answer this: {ASKED}",
            "llm.output_messages.0.message.role": "assistant",
            "llm.output_messages.0.message.tool_calls.0.tool_call.id": "c1",
            "llm.output_messages.0.message.tool_calls.0.tool_call.function.name": "weather",
            "llm.output_messages.0.message.tool_calls.0.tool_call.function.arguments": (
                '{"city": "Paris"}'
            ),
        },
    ),
    span(
        3, parent=1, openinference__span__kind="TOOL", tool__name="weather",
        input__value='{"city": "Paris"}',
        output__value="sunny in Paris",
    ),
)  # fmt: skip


def test_openinference_has_the_users_own_words_not_the_prompt_around_them(tmp_path: Path) -> None:
    """The call stands in the model's answer and in a span of its own, and is one."""
    read = import_of(written(tmp_path / "phoenix.json", traces(*INFERENCE)))
    assert read.talks == [[("user", ASKED), ("assistant", "It is sunny in Paris")]]
    assert read.calls() == [CALL]
    (talk,) = read.run.conversations
    assert talk.session_id == "s1"
    assert talk.messages[1].tokens == (7, 3)
    assert talk.messages[1].latency_ms == 500
    assert (read.run.started.agent, read.run.started.model) == ("my-agent", "m-1")
    assert "what the user said, from `input.value` of agent steps (1)" in read.said


def test_a_trace_that_repeats_the_conversation_adds_only_what_is_new(tmp_path: Path) -> None:
    """Models are given the whole conversation each time; yes, said twice, stays twice."""
    history: list[dict[str, str]] = []
    spans = []
    said = [("user", "yes"), ("assistant", "sure?"), ("user", "yes"), ("assistant", "fine")]
    for number, ((_, asked), (_, answered)) in enumerate(
        zip(said[::2], said[1::2], strict=True), start=1
    ):
        history.append({"role": "user", "content": asked})
        attributes = {
            "gen_ai.operation.name": "chat",
            "gen_ai.conversation.id": "c",
            "gen_ai.input.messages": json.dumps(history),
            "gen_ai.output.messages": json.dumps([{"role": "assistant", "content": answered}]),
        }
        history.append({"role": "assistant", "content": answered})
        spans.append(span(number, trace=number, **attributes))
    assert import_of(written(tmp_path / "t.json", traces(*spans))).talks == [said]


def test_older_instrumentations_have_messages_in_events_or_numbered_attributes(
    tmp_path: Path,
) -> None:
    numbered = span(
        1, **{"gen_ai.prompt.0.role": "user", "gen_ai.prompt.0.content": "Hi",
            "gen_ai.completion.0.content": "Hello!",
              "gen_ai.completion.0.role": "assistant", "gen_ai.system": "openai"},
    )  # fmt: skip
    with_events = span(2, trace=2, **{"gen_ai.operation.name": "chat"})
    with_events["events"] = [
        {
            "name": name,
            "timeUnixNano": "1",
            "attributes": [{"key": key, "value": {"stringValue": text}}],
        }
        for name, key, text in (
            ("gen_ai.user.message", "content", "Hi"),
            ("gen_ai.choice", "message", '{"role": "assistant", "content": "Hello!"}'),
        )
    ]
    read = import_of(written(tmp_path / "t.json", traces(numbered, with_events)))
    assert read.talks == [TALK[:2]] * 2
    assert "conversations by trace" in read.said


def test_a_span_that_came_twice_counts_once(tmp_path: Path) -> None:
    """Exporters send again what was not confirmed, so that a collector's file may have it twice."""
    read = import_of(written(tmp_path / "t.jsonl", [traces(*INFERENCE), traces(*INFERENCE[1:])]))
    assert read.calls() == [CALL]
    assert read.run.conversations[0].messages[1].tokens == (7, 3)
    assert "2 steps that came twice, counted once" in read.said


def test_what_is_missing_of_a_file_is_said(tmp_path: Path) -> None:
    """Half a file is no half run that looks like a whole one."""
    cut = written(
        tmp_path / "cut.json", traces(INFERENCE[0], span(9, trace=9, parent=8, name="alone"))
    )
    read = import_of(cut)
    assert len(read.talks) == 1
    assert "1 step whose parent is not in the file, which may be cut off" in read.said
    assert "1 trace in which nothing was said, left out" in read.said
    assert any("nothing was said" in warning for warning in read.run.warnings)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"traceId": "xyz"}, "span 1: `traceId` must be 32 hexadecimal digits"),
        ({"startTimeUnixNano": "soon"}, "`startTimeUnixNano` must be nanoseconds since 1970"),
        (
            {"attributes": []},
            "nothing was said in its 1 trace: its spans need `gen_ai.input.messages`",
        ),
    ],
)
def test_a_file_that_cannot_be_read_is_refused_with_the_place(
    change: Any, said: str, tmp_path: Path
) -> None:
    file = written(tmp_path / "t.jsonl", [traces({**INFERENCE[0], **change})] * 2)
    found = refusal_of(file)
    assert said in found
    assert "t.jsonl" in found


def test_a_protobuf_file_that_is_cut_off_is_refused(
    request_of_pydantic_ai: Any, tmp_path: Path
) -> None:
    for write, said in (
        (as_protobuf, "or it is cut off"),
        (as_lengths, "message 1: the file ends before the"),
    ):
        file = write(tmp_path / "t.pb", request_of_pydantic_ai)
        file.write_bytes(file.read_bytes()[:-9])
        assert said in refusal_of(file)


@pytest.mark.parametrize("name", ["demo-run.jsonl", "recordings/version-1.jsonl"])
def test_what_is_exported_comes_back(name: str, tmp_path: Path) -> None:
    run = load_run(import_file(GOLDEN / name, tmp_path / "before").path)
    file = tmp_path / "run.otlp.jsonl"
    file.write_text(str(document_of("otlp", run)), encoding="utf-8")
    read = import_of(file).run
    assert len(read.conversations) == len(run.conversations) > 0
    for old, new in zip(run.conversations, read.conversations, strict=True):
        assert (new.condition, new.session_id, new.end_reason) == (
            old.condition,
            old.session_id,
            old.end_reason,
        )
        assert (new.case and new.case.name) == (old.case and old.case.name)
        assert new.score == pytest.approx(old.score) if old.score is not None else new.score is None
        told = [(m.role, m.text, m.latency_ms, m.first_token_ms, m.tokens) for m in old.messages]
        assert [
            (m.role, m.text, m.latency_ms, m.first_token_ms, m.tokens) for m in new.messages
        ] == told
        assert [calls(m) for m in new.messages] == [calls(m) for m in old.messages]
        if old.verdict and not old.verdict.error:
            given = {task.title: task.score for task in old.verdict.tasks if task.measured}
            assert new.verdict is not None
            assert {task.title: task.score for task in new.verdict.tasks} == pytest.approx(given)
    assert (read.started.agent, read.started.model) == (run.started.agent, run.started.model)


def test_calls_that_only_the_agents_own_spans_tell_come_back(tmp_path: Path) -> None:
    """An export has these spans as they came, below the answer, and no call of its own for them."""
    run = load_run(import_file(GOLDEN / "demo-run.jsonl", tmp_path / "before").path)
    line = json.loads(str(document_of("otlp", run)).splitlines()[0])
    spans = line["resourceSpans"][0]["scopeSpans"][0]["spans"]
    answer = next(each for each in spans if each["name"] == "invoke_agent")
    told = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "weather",
        "gen_ai.tool.call.arguments": '{"city": "Paris"}',
        "gen_ai.tool.call.result": "sunny in Paris",
    }
    own = {**span(77, **told), "traceId": answer["traceId"], "parentSpanId": answer["spanId"]}
    linked = [{"key": "bioeval.link", "value": {"stringValue": "as told"}}]
    own["links"] = [{"traceId": f"{5:032x}", "spanId": f"{77:016x}", "attributes": linked}]
    line["resourceSpans"] += traces(own)["resourceSpans"]
    assert CALL in import_of(written(tmp_path / "run.otlp.jsonl", [line])).calls()


def calls(message: Any) -> list[Any]:
    return [
        (one.name, one.arguments, out and out.value) for one, out in calls_of(message.generation)
    ]


def test_the_times_of_a_trace_are_those_of_the_run(tmp_path: Path) -> None:
    read = import_of(written(tmp_path / "t.json", traces(*INFERENCE)))
    assert read.run.started.at.timestamp() == 1_700_000_001
