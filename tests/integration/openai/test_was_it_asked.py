"""A task that the user never asked for says nothing about the agent, if the user could have
asked.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from bioeval_tui.base.files import private_dir
from bioeval_tui.base.settings import Settings
from bioeval_tui.evaluation.wiring.rescore import Rescorer
from bioeval_tui.record.importing.into_runs import import_file
from bioeval_tui.report.agreement import rated_tasks
from bioeval_tui.report.document import run_document
from bioeval_tui.report.result import RunResult, load_run
from tests.command import call
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
    """Hold one conversation with the script; a `judge` names the message that asks for each task, 0
    for none.
    """
    said = agent or srv.say("Hello. How can I help you?")

    def answer(body: dict[str, Any]) -> srv.Answer:
        if body["model"] == "agent-1":
            return said
        tasks = [
            {
                "task": task,
                "asked": asked,
                "messages": [2],
                "reason": "It greeted the user.",
                "score": 0.1,
            }
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
    assert (task["score"], task["passed"], task["asked"], task["kept_by"]) == (
        None,
        None,
        0,
        "user",
    )


async def test_a_task_that_was_asked_for_names_its_message(tmp_path):
    done = await run(tmp_path, JOB.replace(", WHEN", ""))
    (scored,) = done.of("conversation_scored")
    assert (scored.score is not None, scored.fault) == (True, "none")
    task = second_task(done)
    assert (task["score"], task["asked"], task["kept_by"]) == (0, 5, None)


@pytest.mark.parametrize(
    ("change", "kept_by"),
    [
        (("maxTurns: 12", "maxTurns: 4"), "turns"),
        (("facts: []", "facts: []\ncompat: embabel"), None),
    ],
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


@pytest.mark.parametrize(("most", "kept_by"), [(4, "turns"), (6, "user")])
async def test_one_turn_that_is_left_is_enough_to_ask(tmp_path, most, kept_by):
    """Four messages were sent: of six, the user had one more, and its answer."""
    done = await run(
        tmp_path, JOB.replace("WHEN", NEVER).replace("maxTurns: 12", f"maxTurns: {most}")
    )
    (scored,) = done.of("conversation_scored")
    assert second_task(done)["kept_by"] == kept_by
    assert scored.fault == ("evaluator" if kept_by == "user" else "none")


async def test_a_loss_says_that_the_turns_were_used_up(tmp_path):
    done = await run(tmp_path, JOB.replace("WHEN", NEVER).replace("maxTurns: 12", "maxTurns: 4"))
    lowest = load_run(done.path).lowest
    assert lowest is not None
    lost = lowest.why_lost
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
async def test_a_judge_names_the_users_message_and_no_other(
    tmp_path, named, asked, kept_by, is_scored
):
    text = (
        JOB.replace("scorer: {kind: rules}", JUDGE)
        .replace(", task: 1", "")
        .replace(", task: 2, WHEN", "")
    )
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
    assert [bool(item.judges) for item in rated_tasks([load_run(done.path)], every=True)[0]] == [
        True,
        False,
    ]


async def test_an_inspect_sample_names_what_counts_in_its_condition(tmp_path):
    changed = JOB.replace("WHEN", NEVER)
    changed = changed.replace(
        "for nine, rules", "for nine, acceptanceCriteria: SET, withheldCriteria: ASKED, rules"
    )
    done = await run(
        tmp_path, changed.replace("it costs, rules", "it costs, only: supplied, rules")
    )
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


async def test_where_no_turn_was_left_an_agents_goodbye_kept_nobody_from_asking(tmp_path):
    job = JOB.replace("WHEN", NEVER).replace("maxTurns: 12", "maxTurns: 4")
    done = await run(tmp_path, job, agent=srv.say("Done. This chat is now closed. Goodbye!"))
    (end,) = done.of("conversation_ended")
    assert (end.reason, second_task(done)["kept_by"]) == ("max_turns", "turns")


async def test_a_user_who_says_goodbye_first_stays_the_one_who_ended(tmp_path):
    text = JOB.replace("WHEN", NEVER).replace("remind me at nine.", "remind me at nine. Bye.")
    answers = iter([srv.say("Hello.")])

    async def answer(server: srv.OpenAIServer, request: Any, body: dict[str, Any]) -> Any:
        return await next(answers, srv.say("Goodbye!"))(server, request, body)

    done = await run(tmp_path, text, agent=answer)
    assert second_task(done)["kept_by"] == "user"


LOG = [
    ("user", "Please remind me at nine."),
    ("assistant", "Done."),
    ("user", "Thanks."),
    ("assistant", "Sure."),
]


async def judge_log(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    job: str,
    said: list[tuple[str, str]] = LOG,
    asked: dict[int, int] | None = None,
) -> RunResult:
    """Import a log with a job, and let a judge say which message asks for each task: 1 for the
    first, none for the second.
    """
    monkeypatch.setenv("BIOEVAL_DATA_DIR", str(folder / "data"))
    messages = [{"role": role, "content": words} for role, words in said]
    (folder / "log.jsonl").write_text(json.dumps({"messages": messages}) + "\n", encoding="utf-8")
    (folder / "job.yml").write_text(job.replace("URL", "http://127.0.0.1:1"), encoding="utf-8")
    given = call(
        "runs", "import", folder / "log.jsonl", "--job", folder / "job.yml", catch_exceptions=False
    )
    path = folder / "data" / "runs" / f"{given.stdout.strip()}.jsonl"
    tasks = [
        {
            "task": task,
            "asked": number,
            "messages": [2],
            "reason": "It answered the user.",
            "score": 0.0,
        }
        for task, number in (asked or {1: 1, 2: 0}).items()
    ]
    answer = srv.say_json({"tasks": tasks, "tone": 0.5})
    async with srv.OpenAIServer(otherwise=lambda body: answer) as server:
        judged = await Rescorer(path, Settings(**with_models(server.url))).judge_again("ada")
    assert [one.error for one in judged] == [""]
    return load_run(path)


PLAIN = (
    JOB.replace("scorer: {kind: rules}", JUDGE)
    .replace(", task: 1", "")
    .replace(", task: 2, WHEN", "")
)


@pytest.mark.parametrize(
    ("job", "kept_by"),
    [
        (PLAIN, "user"),
        (PLAIN.replace("maxTurns: 12", "maxTurns: 4"), "user"),
        (JOB.replace("scorer: {kind: rules}", JUDGE).replace(", WHEN", ""), "user"),
        (PLAIN.replace("facts: []", "facts: []\ncompat: embabel"), None),
    ],
    ids=[
        "no reason",
        "a limit that was not the log's",
        "a script that did not play its user",
        "as published",
    ],
)
async def test_a_task_of_a_log_that_nobody_asked_for_is_not_measured(
    tmp_path, monkeypatch, job, kept_by
):
    run = await judge_log(tmp_path, monkeypatch, job)
    (talk,) = run.conversations
    assert [(task.asked, task.kept_by) for task in talk.tasks] == [(1, None), (0, kept_by)]
    document = run_document(run)["conditions"]["supplied"]
    listed = [task["score"] for task in document["tasks"]]
    (again,) = json.loads(json.dumps(run_document(run)["judged_again"]))
    if kept_by is None:
        assert (document["score"], listed) == (0.0, [0.0, 0.0])
        return
    assert (document["score"], listed) == (None, [0.0, None])
    assert [task["score"] for task in again["tasks"]] == [0.0, None]
    assert (
        document["reason"]
        == "task not measured: the user never asked for task 2 (“Learn what it costs”) and could"
        " have"
    )
    assert talk.fault == "evaluator"


async def test_a_log_whose_script_lines_were_said_in_other_words_keeps_what_the_judge_names(
    tmp_path, monkeypatch
):
    scripted = JOB.replace("scorer: {kind: rules}", JUDGE).replace(", WHEN", "")
    said = [("user", "Nine o'clock, remind me, and the price?"), ("assistant", "Done, 3 euros.")]
    run = await judge_log(tmp_path, monkeypatch, scripted, said, asked={1: 1, 2: 1})
    assert [(task.asked, task.measured) for talk in run.conversations for task in talk.tasks] == [
        (1, True)
    ] * 2


async def test_a_log_that_its_agent_ended_keeps_the_score(tmp_path, monkeypatch):
    run = await judge_log(tmp_path, monkeypatch, PLAIN, [*LOG[:1], ("assistant", "Done. Goodbye!")])
    assert [task.kept_by for talk in run.conversations for task in talk.tasks] == [None, "agent"]


@pytest.mark.parametrize("kind", ["inspect", "atif"])
async def test_an_export_that_is_imported_again_gives_an_unasked_task_no_score(
    tmp_path, monkeypatch, kind
):
    monkeypatch.setenv("BIOEVAL_DATA_DIR", str(tmp_path / "data"))
    done = await run(tmp_path, JOB.replace("WHEN", NEVER))
    file = tmp_path / f"{kind}.json"
    file.write_text(document_of(kind, load_run(done.path)), encoding="utf-8")
    path = import_file(file, private_dir(tmp_path / "data" / "runs")).path
    (talk,) = load_run(path).conversations
    assert "Learn what it costs" not in {task.title for task in talk.tasks}
    assert talk.score is None


@pytest.mark.parametrize("kind", ["inspect", "atif"])
async def test_so_does_the_export_of_a_log_that_was_judged(tmp_path, monkeypatch, kind):
    judged = await judge_log(tmp_path, monkeypatch, PLAIN)
    file = tmp_path / f"{kind}.json"
    file.write_text(document_of(kind, judged), encoding="utf-8")
    path = import_file(file, private_dir(tmp_path / "data" / "runs")).path
    (talk,) = load_run(path).conversations
    assert ([task.title for task in talk.tasks], talk.score) == (["Get a reminder for nine"], None)
