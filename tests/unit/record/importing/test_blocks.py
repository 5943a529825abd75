"""Chats whose messages have content blocks keep their tool calls, and what is not understood is
said.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from bioeval_tui.formats import RunResult
from bioeval_tui.record.tool_calls import transcript_calls
from bioeval_tui.report.result import load_run
from tests.command import call
from tests.documents import document_of

ASKED = "Could you remind me to take 5 mg of warfarin tomorrow at 9?"
DONE = "Done: I'll remind you tomorrow at 9."


def call_of(identity: str, **arguments: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": identity, "name": "createReminder", "input": arguments}


def result_of(identity: str, content: Any, **more: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": identity, "content": content, **more}


ANTHROPIC = {
    "system": [{"type": "text", "text": "You help."}],
    "messages": [
        {"role": "user", "content": ASKED},
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "A reminder.", "signature": "x"},
                {"type": "text", "text": "Let me."},
                call_of("c1", dose=5),
                call_of("c2", dose=7, at={"hour": 9}),
            ],
        },
        {
            "role": "user",
            "content": [
                result_of("c2", [{"type": "text", "text": "no"}], is_error=True),
                result_of("c1", "created"),
                {"type": "text", "text": "Thanks, go on."},
            ],
        },
        {"role": "assistant", "content": [call_of("c3")]},
        {"role": "user", "content": [result_of("c3", "created again")]},
        {"role": "assistant", "content": DONE},
    ],
}
AI_SDK = {
    "messages": [
        {"role": "user", "content": [{"type": "text", "text": ASKED}]},
        {
            "role": "assistant",
            "content": [
                {
                    "type": "tool-call",
                    "toolCallId": "c1",
                    "toolName": "createReminder",
                    "input": {"dose": 5},
                }
            ],
        },
        {
            "role": "tool",
            "content": [
                {
                    "type": "tool-result",
                    "toolCallId": "c1",
                    "toolName": "createReminder",
                    "output": {"type": "json", "value": {"made": True}},
                }
            ],
        },
        {"role": "assistant", "content": [{"type": "text", "text": DONE}]},
    ]
}
BEDROCK = {
    "messages": [
        {"role": "user", "content": [{"text": ASKED}]},
        {
            "role": "assistant",
            "content": [
                {"toolUse": {"toolUseId": "c1", "name": "createReminder", "input": {"dose": 5}}}
            ],
        },
        {
            "role": "user",
            "content": [
                {
                    "toolResult": {
                        "toolUseId": "c1",
                        "content": [{"text": "made"}],
                        "status": "error",
                    }
                }
            ],
        },
        {"role": "assistant", "content": [{"text": DONE}]},
    ]
}


def imported(file: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[RunResult, str]:
    """Import a file with the command; return the run, and what was said on the way."""
    data = file.parent / "data"
    monkeypatch.setenv("BIOEVAL_DATA_DIR", str(data))
    done = call("runs", "import", file)
    assert done.exit_code == 0, done.exception or done.output
    return load_run(data / "runs" / f"{done.stdout.strip()}.jsonl"), done.stderr


def written(folder: Path, *conversations: Any, shape: str = "lines") -> Path:
    """Write conversations, one a line, as a list, or the only one as an indented object."""
    file = folder / "chats"
    texts = {
        "lines": "".join(json.dumps(each) + "\n" for each in conversations),
        "list": json.dumps(conversations),
        "object": json.dumps(conversations[0], indent=1),
    }
    file.write_text(texts[shape], encoding="utf-8")
    return file


def calls(run: RunResult, trial: int = 1) -> list[tuple[str, Any, Any, bool]]:
    """Return the tool calls of a conversation as assertions see them."""
    talk = run.talks[trial - 1]
    seen = [{"role": message.role, "events": message.generation} for message in talk.messages]
    return [
        (each.name, each.arguments, each.result, each.failed) for each in transcript_calls(seen)
    ]


def said(run: RunResult, trial: int = 1) -> list[tuple[str, str]]:
    """Return what the two sides said."""
    return [
        (message.role, message.text) for message in run.talks[trial - 1].messages if message.text
    ]


@pytest.mark.parametrize("shape", ["lines", "list", "object"])
def test_anthropics_blocks_are_read_with_calls_arguments_and_results(
    shape: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, told = imported(written(tmp_path, ANTHROPIC, shape=shape), monkeypatch)
    assert calls(run) == [
        ("createReminder", {"dose": 5}, "created", False),
        ("createReminder", {"dose": 7, "at": {"hour": 9}}, "no", True),
        ("createReminder", {}, "created again", False),
    ]
    assert said(run) == [
        ("user", ASKED),
        ("assistant", "Let me."),
        ("user", "Thanks, go on."),
        ("assistant", DONE),
    ]
    assert {"reasoning": "A reminder."} in run.talks[0].messages[1].generation
    assert told.startswith(
        "note: conversations in OpenAI's chat format, or with Anthropic's blocks: 1 conversation\n"
    )
    assert "not read" not in told
    # An export is what was imported: nothing of it is lost.
    (line,) = document_of("openai-jsonl", run).splitlines()
    assert json.loads(line) == ANTHROPIC


@pytest.mark.parametrize(
    ("chat", "result", "failed"),
    [(AI_SDK, {"made": True}, False), (BEDROCK, "made", True)],
    ids=["AI SDK", "Bedrock"],
)
def test_others_that_mean_the_same_are_read_too(
    chat: Any, result: Any, failed: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, told = imported(written(tmp_path, chat), monkeypatch)
    assert calls(run) == [("createReminder", {"dose": 5}, result, failed)]
    assert said(run) == [("user", ASKED), ("assistant", DONE)]
    assert "not read" not in told


def test_a_later_conversation_may_be_the_first_with_blocks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = {
        "messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}]
    }
    run, _ = imported(written(tmp_path, plain, ANTHROPIC), monkeypatch)
    assert [len(calls(run, trial)) for trial in (1, 2)] == [0, 3]


HELLO = {"role": "user", "content": "Hi"}


@pytest.mark.parametrize(
    ("chat", "note"),
    [
        ({"messages": [HELLO, {"role": "assistant", "content": [{"type": "audio", "id": "a"}]}]},
         "parts of messages that are not read, only named: audio"),
        ({"messages": [HELLO, {"role": "assistant", "content": [{"video": {}, "x": 1}]}]},
         "parts of messages that are not read, only named: video, x"),
        ({"messages": [HELLO, {"role": "assistant", "content": "",
                        "parts": [{"type": "text", "text": "Hello"}]}]},
         "keys of messages that are not read: parts"),
        ({"messages": [HELLO, {"role": "assistant", "content": "", "tool_calls": ["now"]}]},
         "values under `tool_calls` of messages that are no objects, and not read"),
        ({"messages": [HELLO, {"role": "assistant", "content": "", "tool_calls": [{"id": "x"}]}]},
         "tool calls without a name, which are called unknown"),
        ({"messages": [HELLO], "chosen": {"content": "Hello"}},
            "keys beside `messages` that are not read: chosen"),
        ({"messages": [HELLO], "response": {"content": "Hello"}},
            "so it was read: the last answer from `response`, which is beside `messages`"),
    ],
)  # fmt: skip
def test_what_a_reader_takes_without_understanding_it_is_said_and_recorded(
    chat: Any, note: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, told = imported(written(tmp_path, chat), monkeypatch)
    assert f"note: {note}\n" in told
    assert [each.message for each in run.state.warnings if each.code == "so_it_was_read"] == [note]


def test_roles_and_versions_that_readers_of_other_formats_do_not_know_are_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    foreign = Path(__file__).parents[3] / "golden" / "foreign"
    tau = json.loads((foreign / "tau2.json").read_text("utf-8"))
    tau["simulations"][0]["messages"].append({"role": "tick", "content": "a mark"})
    atif = json.loads((foreign / "trajectory.json").read_text("utf-8")) | {
        "schema_version": "ATIF-v2.0"
    }
    symptoms = json.loads((foreign / "symptomcheck.json").read_text("utf-8"))
    symptoms["chats"][0][0]["messages"].append({"role": "NURSE", "body": "a word"})
    inspect = json.loads((foreign / "inspect-several-scorers.json").read_text("utf-8")) | {
        "version": 3
    }
    for data, note in (
        (tau, "messages that are left out, by their role: tick"),
        (atif, "trajectories of another version, read as ATIF-v1.7: ATIF-v2.0"),
        (symptoms, "messages that are left out, by their role: NURSE"),
        (inspect, "a log of another version, read as version 2: 3"),
    ):
        _, told = imported(written(tmp_path, data, shape="object"), monkeypatch)
        assert f"note: {note}\n" in told
