"""What a simulated user does wrong is its own fault, whatever the agent says: no score, and nothing
charged to the agent.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from bioeval_tui.report.result import load_run
from tests.servers import openai_server as srv
from tests.servers.whole_runs import WholeRun, hold, with_models

JOB = """
target: {user: ada, chatbot: bot, protocol: openai, model: agent-1, url: "URL"}
aspirationalAverage: 60000
maxTurns: 12
evaluator: {kind: llm, model: user-1, GUARDS}
scorer: {kind: rules}
facts: []
tasks: [{task: Get a reminder for nine, rules: [{pattern: Hello}]}]
"""
ASKS = "Could you please set a reminder for nine?"


async def run(
    folder: Path, *said: srv.Answer, rest: srv.Answer | None = None, guards: str = "guards: mark"
) -> tuple[WholeRun, list[dict[str, Any]]]:
    """Hold a conversation with a user who gives these answers, and then `rest`; return the user's
    requests, too.
    """
    left, asked = list(said), []

    def answer(body: dict[str, Any]) -> srv.Answer:
        if body["model"] == "agent-1":
            return srv.say("Hello. How can I help you?")
        asked.append(body)
        return left.pop(0) if left or rest is None else rest

    async with srv.OpenAIServer(otherwise=answer) as server:
        text = JOB.replace("URL", server.url).replace("GUARDS", guards)
        done = await hold(
            text, folder, settings=with_models(server.url), graph="none", conditions=("withheld",)
        )
    return done, asked


def end_of(run: WholeRun) -> tuple[str, str, str]:
    (end,), (scored,) = run.of("conversation_ended"), run.of("conversation_scored")
    assert (scored.score is None) == (end.fault == "evaluator")
    return end.reason, end.fault, end.detail


def endless() -> srv.Answer:
    async def answer(server: srv.OpenAIServer, request: Any, body: dict[str, Any]) -> Any:
        response = await srv._begin(request)
        while True:
            await response.write(srv._event(srv.chunk({"content": "and on and on "})))

    return answer


async def test_a_message_without_end_is_asked_for_once_more_and_then_the_evaluators_fault(tmp_path):
    done, asked = await run(tmp_path, rest=endless())
    reason, fault, detail = end_of(done)
    assert (reason, fault) == ("evaluator_failed", "evaluator")
    assert detail.startswith(
        "the message was longer than 1,500 characters (evaluator.maxMessageLength)"
    )
    assert len(asked) == 2
    assert "far too long" not in asked[0]["messages"][0]["content"]
    assert "far too long" in asked[1]["messages"][0]["content"]
    assert asked[0]["messages"][1:] == asked[1]["messages"][1:]


@pytest.mark.parametrize("first", [endless(), srv.say("Could you and", finish="length")])
async def test_a_shorter_message_at_the_second_attempt_is_used(tmp_path, first):
    done, _ = await run(tmp_path, first, rest=srv.say(ASKS))
    assert ASKS in [message.content for message in done.of("message_completed")]
    assert done.of("request_failed")[0].peer == "evaluator"
    assert not done.of("request_failed")[0].counted


async def test_whole_sentences_of_a_message_cut_off_twice_are_used_and_the_recording_says_so(
    tmp_path,
):
    cut = srv.say(f"{ASKS} I take it with", finish="length")
    done, _ = await run(tmp_path, cut, cut, rest=srv.say("So Long, and Thanks for All the Fish"))
    assert end_of(done)[:2] == ("signed_off", "none")
    assert done.of("message_completed")[2].content == ASKS
    (warned,) = [event for event in done.of("warned") if event.code == "message_cut"]
    assert "message 3" in warned.message
    assert "cut off at the model's length limit" in warned.message


async def test_saying_the_same_three_times_is_the_users_fault_although_the_agent_repeats_itself(
    tmp_path,
):
    done, asked = await run(tmp_path, rest=srv.say(ASKS))
    reason, fault, detail = end_of(done)
    assert (reason, fault) == ("evaluator_failed", "evaluator")
    assert "says it 3 times" in detail
    assert len(asked) == 4, "the third is asked for once more"


@pytest.mark.parametrize(
    ("guards", "expected"), [("guards: mark", "evaluator_failed"), ("guards: off", "max_turns")]
)
async def test_a_conversation_about_none_of_the_tasks_has_no_score(tmp_path, guards, expected):
    chat = [
        srv.say(words)
        for words in ("Me?", "I like birds.", "And trees.", "What about you?", "Fine.", "OK.")
    ]
    done, _ = await run(tmp_path, *chat, guards=guards)
    reason, fault, detail = end_of(done)
    assert reason == expected
    assert (fault == "evaluator") == (guards == "guards: mark")
    if fault == "evaluator":
        assert detail == "the user brought up none of the tasks in 6 messages"


@pytest.mark.parametrize("guards", ["guards: mark", "guards: off"])
async def test_goodbyes_in_other_words_end_a_conversation_at_the_second_one(tmp_path, guards):
    done, asked = await run(
        tmp_path,
        srv.say(ASKS),
        srv.say("Great, thanks, that's all I needed!"),
        rest=srv.say("You too, bye!"),
        guards=guards,
    )
    assert end_of(done)[:2] == ("signed_off", "none")
    assert len(asked) == 3
    said = [(message.role, message.signs_off) for message in done.of("message_completed")]
    assert said[-1] == ("user", True), "the second is not sent"
    assert said.count(("assistant", False)) == 3


VERDICT = {
    "tasks": [{"task": 1, "asked": 3, "messages": [2], "reason": "It greeted.", "score": 1}],
    "tone": 1,
}


@pytest.mark.parametrize("listed", ["a list", "nothing usable", "off"])
async def test_the_judge_lists_the_users_faults_in_a_request_of_its_own_and_only_quoted_ones_count(
    tmp_path, listed
):
    said = iter(
        [
            ASKS,
            "I also live in Oslo and have had a cough since May.",
            "So Long, and Thanks for All the Fish",
        ]
    )
    faults = [
        {"message": 5, "kind": "invented_fact", "quote": "I also live in Oslo"},
        {"message": 3, "kind": "invented_fact", "quote": "a cough since May"},
        {"message": 5, "kind": "gave_up", "quote": "I give up"},
        {"message": 5, "kind": "rude", "quote": "I also live in Oslo"},
    ]
    judged: list[dict[str, Any]] = []

    def answer(body: dict[str, Any]) -> srv.Answer:
        if body["model"] == "agent-1":
            return srv.say("Hello. How can I help you?")
        if body["model"] == "user-1":
            return srv.say(next(said))
        judged.append(body)
        if "faults" not in str(body["messages"][-1]["content"]):
            return srv.say(json.dumps(VERDICT))
        return srv.say(
            json.dumps({"faults": faults}) if listed == "a list" else "There are none, I think."
        )

    async with srv.OpenAIServer(otherwise=answer) as server:
        scorer = f"{{kind: llm, model: judge-1, userFaults: {str(listed != 'off').lower()}}}"
        text = (
            JOB.replace("URL", server.url)
            .replace("GUARDS", "guards: mark")
            .replace("{kind: rules}", scorer)
        )
        done = await hold(
            text.replace(", rules: [{pattern: Hello}]", ""),
            tmp_path, settings=with_models(server.url), graph="none", conditions=("withheld",),
        )  # fmt: skip
    (verdict,) = done.of("transcript_scored")
    assert verdict.error is None
    assert len(judged) == (1 if listed == "off" else 2)
    if listed != "off":
        entry = judged[1]["response_format"]["json_schema"]["schema"]["properties"]["faults"][
            "items"
        ]
        assert entry["properties"]["message"]["enum"] == [
            1,
            3,
            5,
        ], "the user's messages and no others"
        assert {"invented_fact", "gave_up"} < set(entry["properties"]["kind"]["enum"])
        assert "Do not judge the chatbot." in judged[1]["messages"][0]["content"]
    assert '"user_faults": [' in json.dumps(done.result)
    (talk,) = done.state.conversations.values()
    found = [(fault.kind, fault.message, fault.found_by) for fault in talk.user_faults]
    if listed == "a list":
        assert verdict.user_faults_refused == 2
        assert found == [("invented_fact", 5, "judge-1")]
        result = load_run(done.path)
        assert result.user_faults_words in result.warnings
        assert (
            result.user_faults_words
            == "the simulated user erred in 1 of 1 conversation: invented fact 1 (1 found by the"
            " judge)"
        )
    else:
        assert found == []
    assert any(w.code == "user_faults" for w in done.of("warned")) == (listed == "nothing usable")
