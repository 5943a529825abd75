"""A task that the user never asked for says nothing about the agent, if the user could have asked."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from bioeval_tui.report.agreement import rated_tasks
from bioeval_tui.report.result import load_run
from bioeval_tui.tui.runs.runs_view import preview
from tests.documents import document_of
from tests.servers import openai_server as srv
from tests.servers.whole_runs import WholeRun, hold, with_models

JOB = """
target: {user: ada, chatbot: bot, protocol: openai, model: agent-1, url: "URL"}
aspirationalAverage: 60000
maxTurns: 12
evaluator:
  kind: scripted
  lines:
    - {say: Please remind me at nine., task: 1}
    - {say: What does it cost?, task: 2, WHEN}
scorer: {kind: rules}
facts: []
tasks:
  - {task: Get a reminder for nine, rules: [{pattern: Hello}]}
  - {task: Learn what it costs, rules: [{pattern: euros}]}
"""
NEVER = "when: will never be said"
JUDGE = "scorer: {kind: llm, model: judge-1}"


async def run(
    folder: Path, text: str, *, agent: srv.Answer | None = None, judge: dict[int, int] | None = None
) -> WholeRun:
    """Hold one conversation with the script; a `judge` names the message that asks for each task, 0 for none."""
    said = agent or srv.say("Hello. How can I help you?")

    def answer(body: dict[str, Any]) -> srv.Answer:
        if body["model"] == "agent-1":
            return said
        tasks = [
            {"task": task, "asked": asked, "messages": [2], "reason": "It greeted the user.", "score": 0.1}
            for task, asked in (judge or {}).items()
        ]
        return srv.say_json({"tasks": tasks, "tone": 0.5})

    async with srv.OpenAIServer(otherwise=answer) as server:
        asked = text.replace("URL", server.url)
        return await hold(
            asked, folder, settings=with_models(server.url), graph="none", conditions=("withheld",)
        )


def second_task(done: WholeRun) -> dict[str, Any]:
    (conversation,) = done.result["conditions"]["withheld"]["trials"]
    return dict(conversation["tasks"][1])


async def test_a_script_that_ends_before_it_asks_is_the_evaluators_fault(tmp_path):
    done = await run(tmp_path, JOB.replace("WHEN", NEVER))
    (scored,) = done.of("conversation_scored")
    assert (scored.score, scored.fault) == (None, "evaluator")
    assert "the user never asked for task 2 (“Learn what it costs”)" in scored.reason
    task = second_task(done)
    assert (task["score"], task["passed"], task["asked"], task["kept_by"]) == (None, None, 0, "user")


async def test_a_task_that_was_asked_for_names_its_message(tmp_path):
    done = await run(tmp_path, JOB.replace(", WHEN", ""))
    (scored,) = done.of("conversation_scored")
    assert (scored.score is not None, scored.fault) == (True, "none")
    task = second_task(done)
    assert (task["score"], task["asked"], task["kept_by"]) == (0, 5, None)


@pytest.mark.parametrize(
    ("change", "kept_by"),
    [(("maxTurns: 12", "maxTurns: 4"), "turns"), (("facts: []", "facts: []\ncompat: embabel"), None)],
    ids=["no turn was left", "as published"],
)
async def test_the_agent_keeps_its_score_where_the_user_could_not_ask_and_as_published(
    tmp_path, change, kept_by
):
    done = await run(tmp_path, JOB.replace("WHEN", NEVER).replace(*change))
    (scored,) = done.of("conversation_scored")
    task = second_task(done)
    assert (task["score"], task["asked"], task["kept_by"]) == (0, 0, kept_by)
    assert scored.score is not None


async def test_a_preview_says_that_the_turns_were_used_up(tmp_path):
    done = await run(tmp_path, JOB.replace("WHEN", NEVER).replace("maxTurns: 12", "maxTurns: 4"))
    lost = preview(load_run(done.path)).lost
    assert [loss.reason for loss in lost if "The user had not asked for it" in loss.reason]


async def test_an_agent_that_fails_before_the_user_asks_keeps_its_score(tmp_path):
    answers = iter([srv.say("Hello. How can I help you?")])

    async def fails(server: srv.OpenAIServer, request: Any, body: dict[str, Any]) -> Any:
        return await next(answers, srv.status(500, "away"))(server, request, body)

    done = await run(tmp_path, JOB.replace(", WHEN", ""), agent=fails)
    (end,), (scored,) = done.of("conversation_ended"), done.of("conversation_scored")
    assert (end.reason, scored.score is not None) == ("agent_failed", True)
    assert second_task(done)["kept_by"] == "agent"


@pytest.mark.parametrize(
    ("named", "asked", "kept_by", "is_scored"),
    [(5, 5, None, True), (0, 0, "user", False), (2, None, None, True), (99, None, None, True)],
    ids=["asked", "never asked", "the agent's message", "no message"],
)
async def test_a_judge_names_the_users_message_and_no_other(tmp_path, named, asked, kept_by, is_scored):
    text = JOB.replace("scorer: {kind: rules}", JUDGE).replace(", task: 1", "").replace(", task: 2, WHEN", "")
    done = await run(tmp_path, text, judge={1: 3, 2: named})
    (scored,) = done.of("conversation_scored")
    assert (scored.score is not None) == is_scored
    task = second_task(done)
    assert (task["asked"], task["kept_by"]) == (asked, kept_by)


async def test_no_export_or_agreement_gives_an_unasked_task_a_score(tmp_path):
    done = await run(tmp_path, JOB.replace("WHEN", NEVER))
    loaded = load_run(done.path)
    scores = json.loads(document_of("atif", loaded))["extra"]["bioeval-tui"]["scores"]
    assert list(scores) == ["Get a reminder for nine"]
    assert [bool(item.judges) for item in rated_tasks([load_run(done.path)], every=True)[0]] == [True, False]


async def test_an_inspect_sample_names_what_counts_in_its_condition(tmp_path):
    changed = JOB.replace("WHEN", NEVER)
    changed = changed.replace(
        "for nine, rules", "for nine, acceptanceCriteria: SET, withheldCriteria: ASKED, rules"
    )
    done = await run(tmp_path, changed.replace("it costs, rules", "it costs, only: supplied, rules"))
    (sample,) = json.loads(document_of("inspect", load_run(done.path)))["samples"]
    assert (sample["input"], sample["target"]) == ("Get a reminder for nine", ["ASKED"])


@pytest.mark.parametrize(
    ("says", "kept_by"),
    [
        ("Done. This chat is now closed. Goodbye!", "agent"),
        ("So long, and thanks for all the fish", "agent"),
        ("Done. Have a nice day!", "user"),
    ],
)
async def test_an_agent_that_says_goodbye_first_is_not_left_out(tmp_path, says, kept_by):
    done = await run(tmp_path, JOB.replace("WHEN", NEVER), agent=srv.say(says))
    (scored,) = done.of("conversation_scored")
    task = second_task(done)
    assert (task["asked"], task["kept_by"]) == (0, kept_by)
    assert (scored.score is not None, scored.fault) == (
        (True, "none") if kept_by == "agent" else (False, "evaluator")
    )


async def test_a_user_who_says_goodbye_first_stays_the_one_who_ended(tmp_path):
    text = JOB.replace("WHEN", NEVER).replace("remind me at nine.", "remind me at nine. Bye.")
    done = await run(tmp_path, text, agent=srv.say("Goodbye!"))
    assert second_task(done)["kept_by"] == "user"
