"""What is right can differ between the conditions: tasks, criteria, assertions and rubric items of
one of them.
"""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from bioeval_tui.base.settings import Secret, Settings
from bioeval_tui.evaluation.wiring.judge_tests import JudgeTester
from bioeval_tui.protocols import TaskVerdict, Verdict
from bioeval_tui.report.formats.console import print_score_card
from bioeval_tui.report.frames import to_frame
from bioeval_tui.report.result import load_run, result_of
from bioeval_tui.report.words import summary_lines
from bioeval_tui.sample.paths import sample_recordings
from bioeval_tui.tui.live import score_card_view
from tests.documents import document_of
from tests.servers import openai_server as srv
from tests.servers.whole_runs import WholeRun, hold, with_models
from tests.unit.evaluation.conversation.fakes import FakeJudge

REHEARSED = "no: only a rehearsal: a script speaks and rules judge; it takes models"
JOB = """
target: {user: ada, chatbot: bot, protocol: openai, model: agent-1, url: "URL"}
aspirationalAverage: 60000
evaluator:
  kind: scripted
  lines:
    - {say: Please remind me at nine., task: 1}
    - {say: I live in Sydney., when: which time zone, fact: 1}
    - {say: How do I find my time zone?, task: 2}
scorer: {kind: llm, model: judge-1}
facts: [The user lives in Sydney]
tasks:
  - {task: Get a reminder, acceptanceCriteria: THE REMINDER IS SET, \
withheldCriteria: ASKS AND SETS NOTHING}
  - {task: Learn how to find the time zone, only: withheld}
assertions:
  - {expression: 'evaluation.transcript.any { it.content.contains("Done") }', name: done, \
only: supplied}
  - {expression: 'evaluation.transcript.none { it.content.contains("Done") }', name: careful, \
only: withheld}
"""
CAREFUL, GUESSING = "careful", "guessing"


async def run(folder: Path, agent: str) -> tuple[WholeRun, dict[str, str]]:
    """Hold both conversations with a careful or a guessing agent; return the judge's prompts,
    too.
    """
    prompts: dict[str, str] = {}

    def answer(body: dict[str, Any]) -> srv.Answer:
        if body["model"] == "agent-1":
            said = str([m["content"] for m in body["messages"] if m["role"] == "user"])
            if "nine" not in said:
                return srv.say("Hello.")
            knows = "Sydney" in said or agent == GUESSING
            return srv.say(
                "Done, it is set." if knows else "In which time zone are you? I set nothing yet."
            )
        told = body["messages"][0]["content"]
        withheld = "ASKS AND SETS NOTHING" in told
        prompts["withheld" if withheld else "supplied"] = told
        is_right = ("Done" in told.split("# The conversation")[1]) != withheld
        wanted = body["response_format"]["json_schema"]["schema"]["properties"]["tasks"]["items"]
        numbers = wanted["properties"]["task"]["enum"]
        entries = [
            {
                "task": n,
                "asked": 3,
                "messages": [4],
                "reason": "It answered so.",
                "score": float(is_right),
            }
            for n in numbers
        ]
        return srv.say_json({"tasks": entries, "tone": 0.5})

    async with srv.OpenAIServer(otherwise=answer) as server:
        done = await hold(
            JOB.replace("URL", server.url), folder, settings=with_models(server.url), graph="none"
        )
    return done, prompts


def scores(done: WholeRun) -> dict[str, float | None]:
    return {event.condition: event.score for event in done.of("conversation_scored")}


@pytest.mark.parametrize(("agent", "expected"), [(CAREFUL, 1.0), (GUESSING, 0.14)])
async def test_an_agent_that_asks_scores_more_than_one_that_guesses(tmp_path, agent, expected):
    done, _ = await run(tmp_path, agent)
    assert scores(done) == {"withheld": expected, "supplied": 1.0}


async def test_only_what_counts_in_a_condition_is_asked_judged_and_checked(tmp_path):
    done, prompts = await run(tmp_path, CAREFUL)
    judged = {
        name: [t["task"] for t in c["trials"][0]["tasks"]]
        for name, c in done.result["conditions"].items()
    }
    assert judged == {"withheld": [1, 2], "supplied": [1]}
    checked = {
        name: [a["title"] for a in c["trials"][0]["assertions"]]
        for name, c in done.result["conditions"].items()
    }
    assert checked == {"withheld": ["careful"], "supplied": ["done"]}
    said = {name: str(done.of("message_completed", name)) for name in ("withheld", "supplied")}
    assert ("find my time zone" in said["withheld"], "find my time zone" in said["supplied"]) == (
        True,
        False,
    )
    assert "THE REMINDER IS SET" in prompts["supplied"]
    assert "THE REMINDER IS SET" not in prompts["withheld"]


async def test_the_judge_is_told_whether_the_user_knew_the_facts(tmp_path):
    _, prompts = await run(tmp_path, CAREFUL)
    assert "The user did not know them" in prompts["withheld"]
    assert "The user knew them" in prompts["supplied"]


async def test_a_part_of_the_other_condition_only_says_so(tmp_path):
    only = JOB.replace("- {task: Get a reminder,", "- {task: Get a reminder, only: withheld,")
    async with srv.OpenAIServer() as server:
        done = await hold(
            only.replace("URL", server.url),
            tmp_path,
            settings=with_models(server.url),
            graph="none",
            conditions=("supplied",),
        )
    (scored,) = done.of("conversation_scored")
    assert "every task is for the other condition only" in scored.reason


async def test_a_judge_test_pairs_reordered_tasks_of_one_condition_with_themselves(
    tmp_path, monkeypatch
):
    class Judge(FakeJudge):
        async def score(self, view):
            return [
                Verdict(
                    "j",
                    tuple(
                        TaskVerdict(number, 0.5) for number in view.job.judged_in(view.condition)
                    ),
                )
            ]

    done, _ = await run(tmp_path, CAREFUL)
    tester = JudgeTester(
        done.path, Settings(data_dir_override=str(tmp_path), openai_api_key=Secret("k"))
    )
    monkeypatch.setattr(tester, "make_judge", Judge)
    talks = [talk for talk in tester.judgeable() if talk.key.condition == "supplied"]
    asked, _ = await tester.ask(talks, 0)
    assert {each.task for each in asked} == {1}


async def test_a_judge_test_pairs_reordered_rubric_items_with_themselves(tmp_path, monkeypatch):
    class Judge(FakeJudge):
        async def score(self, view):
            judged = view.job.judged_in(view.condition)
            return [
                Verdict(
                    "j", tuple(TaskVerdict(n, len(task.task) / 10) for n, task in judged.items())
                )
            ]

    rubric = (
        "rubric: [{criterion: a, points: 1}, {criterion: bb, points: 1}, {criterion: ccc, points:"
        " 1}]\n"
    )
    text = JOB[: JOB.index("assertions:")] + rubric
    async with srv.OpenAIServer() as server:
        done = await hold(
            text.replace("URL", server.url),
            tmp_path,
            settings=with_models(server.url),
            graph="none",
        )
    tester = JudgeTester(
        done.path, Settings(data_dir_override=str(tmp_path), openai_api_key=Secret("k"))
    )
    monkeypatch.setattr(tester, "make_judge", Judge)
    (talk,) = [
        talk for talk in done.state.conversations.values() if talk.key.condition == "supplied"
    ]
    asked, _ = await tester.ask([talk], 0)
    reordered = {each.task: each.score for each in asked if each.change == "reordered"}
    assert reordered == {1: 0.1, 2: 0.2, 3: 0.3}


async def test_tasks_are_printed_in_the_jobs_order_whichever_condition_has_them(tmp_path):
    changed = JOB.replace(", only: withheld}\nassertions", "}\nassertions")
    changed = changed.replace(
        "- {task: Get a reminder,", "- {task: Get a reminder, only: supplied,"
    )
    changed = changed.replace("kind: llm, model: judge-1", "kind: rules").replace(
        "SET,", "SET, rules: [{pattern: Hello}],"
    )
    changed = changed.replace(
        "time zone}\nassertions", "time zone, rules: [{pattern: Hello}]}\nassertions"
    )
    async with srv.OpenAIServer() as server:
        done = await hold(
            changed.replace("URL", server.url),
            tmp_path,
            settings=with_models(server.url),
            graph="none",
        )
    said = io.StringIO()
    print_score_card(result_of(done.state), Console(file=said, width=200))
    told_text = said.getvalue()
    assert told_text.index("1 Get a reminder") < told_text.index("2 Learn how")


async def test_an_answer_says_that_each_condition_has_its_own_criteria(tmp_path):
    told = "each by its own criteria"
    done, _ = await run(tmp_path, CAREFUL)
    own = result_of(done.state).answer
    assert own.what == f"1.00 → 1.00 with the facts, {told}."
    assert own.sure.endswith(
        "the conditions share no criteria, so no effect of the facts is claimed"
    )
    shared = "1.00 → 1.00 on the 3 criteria both share"
    careful, guessing = (load_run(path).answer for path in sample_recordings("batch"))
    assert careful.what == "1.00 → 1.00 with the facts."
    assert careful.sure == REHEARSED
    assert guessing.what.startswith(
        f"0.50 → 1.00 with the facts; {shared}. Fails without the facts only: task 1 “Get"
    )
    assert guessing.sure == REHEARSED
    alike = JOB.replace(", only: withheld", "").replace(", only: supplied", "")
    async with srv.OpenAIServer() as server:
        job = alike.replace(", withheldCriteria: ASKS AND SETS NOTHING", "").replace(
            "URL", server.url
        )
        done = await hold(job, tmp_path, settings=with_models(server.url), graph="none")
    assert told not in result_of(done.state).answer.what


async def test_no_view_of_one_run_calls_the_difference_an_uplift_by_facts(tmp_path):
    result = load_run((await run(tmp_path, CAREFUL))[0].path)
    card = score_card_view.card_text(result, result.trial(1))
    several = "\n".join(map(str, summary_lines(result.summary)))
    for view in (several, document_of("md", result)):
        assert "difference" in view
        assert "uplift" not in view
    for view in (card, score_card_view.card_text(result)):
        assert "change" in view
        assert "uplift" not in view
    assert "Difference: " in (page := document_of("html", result))
    assert "uplift" not in page.casefold()


async def test_documents_say_what_is_not_for_a_condition_and_frames_what_a_task_weighs(tmp_path):
    done, _ = await run(tmp_path, CAREFUL)
    loaded = load_run(done.path)
    text = document_of("md", loaded)
    assert [
        line.count("– not for this condition")
        for line in text.splitlines()
        if line.startswith("| done |")
    ] == [1]
    assert text.count("– not for this condition") == 3, "two assertions and a task"
    assert "not checked" not in text
    page = document_of("html", loaded)
    assert page.count("– not for this condition") == 3
    assert "not checked" not in page
    frame = to_frame([loaded], "tasks")
    assert list(frame["weight"]) == [1.0, 1.0, 1.0]
    assert list(frame["kept_by"].isna()) == [True, True, True]
