"""Medal assertions: the file that the agent leaves is graded, and the report becomes part of the
run.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from bioeval_tui.evaluation.medal_assertions import matching, medal_result, newest
from bioeval_tui.grading import Invalid, NotGraded, TaskReport
from bioeval_tui.jobs.models import MedalAssertion
from tests.servers.rest_agent import RestAgentServer
from tests.servers.whole_runs import WholeRun, hold

JOB = """
target: {user: ada, chatbot: bot}
aspirationalAverage: 60000
greetings: [Hello]
evaluator: {kind: scripted, lines: [{say: Please predict.}]}
scorer: {kind: rules}
facts: []
tasks: []
assertions:
"""
MEDALS = """
  - {medal: silver, task: lab/numbers, submission: out/predictions.csv, weight: 3}
  - {medal: gold, task: numbers, submission: "out/*.csv"}
  - {medal: above_median, task: lab/numbers, submission: out/predictions.csv}
  - {medal: bronze, task: lab/numbers, submission: out/other/predictions.csv}
"""
# The task's board runs from 0.0 to 1.0 by tenths, lower is better: gold is 0.0, silver 0.1, bronze
# 0.3.
RIGHT = "id,y\na,1.0\nb,2.0\nc,3.00\n"  # no copy of the bytes of the answers
NEAR = "id,y\na,1.1\nb,2.1\nc,3.1\n"


@dataclass
class HandingIn(RestAgentServer):
    """Leaves a file when it is asked to predict; which one, depends on how often it was asked
    before.
    """

    leave: Callable[[int], None] = lambda times: None
    asked: int = 0

    async def _message(self, request: web.Request) -> web.Response:
        if "predict" in (await request.json())["message"]["content"]:
            self.leave(self.asked)
            self.asked += 1
        return await super()._message(request)


async def run(
    folder: Path, tasks: Any, text: str, leave: Callable[[int], None], **options: Any
) -> WholeRun:
    tasks.data = folder / "data" / "tasks"
    grader = {"metric": "mean_absolute_error", "target": "y"}
    tasks.add(grader=grader, config={"awards_medals": True})
    (folder / "out").mkdir()
    async with HandingIn(answer_s=0, leave=leave) as agent:
        settings = {"tasks_dirs": (tasks.root,)}
        return await hold(
            text, folder, settings=settings, agent_url=agent.url, graph="none", **options
        )


async def test_the_agents_file_is_graded_and_its_report_kept(tasks: Any, tmp_path: Path) -> None:
    file = tmp_path / "out" / "predictions.csv"

    def leave(times: int) -> None:
        file.write_text(NEAR if times == 0 else RIGHT)

    done = await run(tmp_path, tasks, JOB + MEDALS, leave)
    withheld, supplied = (done.result["conditions"][name] for name in ("withheld", "supplied"))
    seen = [(c["status"], c["observed"], c["expected"]) for c in withheld["assertions"]]
    assert seen == [
        ("passed", "silver", "silver"),
        ("failed", "silver", "gold"),
        ("passed", "silver", "above_median"),
        ("failed", None, "bronze"),
    ]
    assert "no file matches out/other/predictions.csv" in withheld["assertions"][3]["error"]
    assert [c["observed"] for c in supplied["assertions"][:3]] == ["gold"] * 3, (
        "better than silver is silver, too"
    )
    # timing 1; (3 + 1) of 6 and (3 + 1 + 1) of 6 hold; (1 + 4·a) / 5
    assert done.state.scores() == {"withheld": 0.73, "supplied": 0.87}
    graded = done.of("submission_graded", "withheld")
    assert [g.report["score"] if g.report else None for g in graded] == [0.1, 0.1, 0.1, None]
    assert TaskReport.from_dict(graded[0].report).silver_medal
    assert {c.after_turn for c in done.of("assertion_checked")} == {2}, (
        "after the conversation, not after each turn"
    )
    assert done.result["clean"], done.result["warnings"]


async def test_only_a_file_that_the_conversation_made_counts(tasks: Any, tmp_path: Path) -> None:
    file = tmp_path / "out" / "predictions.csv"
    medal = "  - {medal: gold, task: lab/numbers, submission: out/*.csv}\n"

    def leave(times: int) -> None:
        if times == 0:
            file.write_text(RIGHT)

    done = await run(tmp_path, tasks, JOB + medal, leave)
    (withheld,), (supplied,) = (
        done.result["conditions"][name]["assertions"] for name in ("withheld", "supplied")
    )
    assert (withheld["status"], withheld["observed"]) == ("passed", "gold")
    assert supplied["status"] == "failed", "the file is that of the conversation before"
    assert (
        "predictions.csv was there before the conversation began and did not change"
        in supplied["error"]
    )
    assert done.result["clean"], done.result["warnings"]


@pytest.mark.long
async def test_a_file_that_is_written_again_with_an_old_time_counts(
    tasks: Any, tmp_path: Path
) -> None:
    file = tmp_path / "out" / "predictions.csv"
    medal = "  - {medal: gold, task: lab/numbers, submission: out/predictions.csv}\n"

    def leave(times: int) -> None:
        file.write_text(NEAR if times == 0 else RIGHT)
        os.utime(file, (1, 1))

    done = await run(tmp_path, tasks, JOB + medal, leave)
    seen = [held["assertions"][0]["observed"] for held in done.result["conditions"].values()]
    assert seen == ["silver", "gold"]


@pytest.mark.long
async def test_medal_assertions_use_the_leaderboard_that_the_run_names(
    tasks: Any, tmp_path: Path
) -> None:
    board = tmp_path / "board.csv"
    board.write_text("teamName,score,submissionDate\na,0.5,2025\nb,1.0,2025\n")
    file = tmp_path / "out" / "predictions.csv"
    medal = "  - {medal: gold, task: lab/numbers, submission: out/predictions.csv}\n"
    done = await run(
        tmp_path,
        tasks,
        JOB + medal,
        lambda times: file.write_text(NEAR) and None,
        leaderboard=str(board),
    )
    (checked,) = done.result["conditions"]["supplied"]["assertions"]
    assert checked["status"] == "passed"
    assert done.of("submission_graded", "supplied")[0].report["leaderboard_size"] == 2


@pytest.mark.long
async def test_a_file_that_the_agent_removed_is_clean_and_an_unknown_task_is_not_measured(
    tasks: Any, tmp_path: Path
) -> None:
    medals = (
        "  - {medal: bronze, task: lab/numbers, submission: 'out/*.csv'}\n"
        "  - {medal: bronze, task: lab/nothing, submission: 'out/*.csv', weight: 2}\n"
    )
    broken = tmp_path / "out" / "predictions.csv"
    done = await run(
        tmp_path, tasks, JOB + medals, lambda times: broken.write_text("id,y\na,1.0\n") and None
    )
    assert done.result["clean"], done.result["warnings"]
    for held in done.result["conditions"].values():
        invalid, unknown = held["assertions"]
        assert (invalid["status"], invalid["observed"]) == ("failed", "invalid")
        assert "2 ids are missing" in invalid["error"]
        assert unknown["status"] == "not_measured"
        assert "lab/nothing" in unknown["error"]
        assert held["score"] is None
        assert "lab/nothing" in held["reason"]


def report(medal: str | None, *, above: bool = True) -> TaskReport:
    medals = {f"{name}_medal": name == medal for name in ("gold", "silver", "bronze")}
    thresholds = {f"{name}_threshold": 0.5 for name in ("gold", "silver", "bronze", "median")}
    return TaskReport(
        task_id="a/b", score=0.5, **thresholds, any_medal=medal is not None, **medals,
        above_median=above,
        submission_exists=True, valid_submission=True, is_lower_better=False,
        created_at=datetime(2026, 1, 1),
        submission_path="x.csv",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("asked", "reached"),
    [
        ("gold", {"gold"}),
        ("silver", {"gold", "silver"}),
        ("bronze", {"gold", "silver", "bronze"}),
        ("above_median", {"gold", "silver", "bronze", "above_median"}),
    ],
)
def test_a_better_medal_than_required_passes(asked: str, reached: set[str]) -> None:
    required: Any = asked
    assertion = MedalAssertion(medal=required, task="a/b", submission="x.csv")
    outcomes = {name: report(name) for name in ("gold", "silver", "bronze")}
    outcomes |= {"above_median": report(None), "no medal": report(None, above=False)}
    results = {name: medal_result(assertion, outcome) for name, outcome in outcomes.items()}
    assert {name for name, result in results.items() if result.passed} == reached
    assert {name: result.observed for name, result in results.items()} == {
        name: name for name in results
    }
    assert all(result.report == outcomes[name].to_dict() for name, result in results.items())


def test_an_invalid_file_fails_and_an_ungraded_one_is_not_measured() -> None:
    assertion = MedalAssertion(medal="bronze", task="a/b", submission="x.csv")
    invalid = medal_result(assertion, Invalid(report(None), "3 rows are\x1b[2J missing"))
    assert (invalid.passed, invalid.observed) == (False, "invalid")
    assert "\x1b" not in str(invalid.error)
    not_graded = medal_result(assertion, NotGraded("a/b", "x.csv", "the grader hung"))
    assert (not_graded.passed, not_graded.error) == (None, "the grader hung")


def test_the_newest_of_several_files_is_graded(tmp_path: Path) -> None:
    for at, name in enumerate(("b.csv", "c.csv", "a.csv"), start=1):
        (tmp_path / name).write_text("x")
        os.utime(tmp_path / name, (at, at))
    (tmp_path / "d.csv").mkdir()
    assert newest(matching(tmp_path, "*.csv")) == tmp_path / "a.csv"
    assert matching(tmp_path, "b.csv") == [tmp_path / "b.csv"]
    assert matching(tmp_path, str(tmp_path / "c.csv")) == [tmp_path / "c.csv"]
    assert matching(tmp_path, "nothing/*.csv") == []
    assert matching(tmp_path, "\0") == []


def test_a_file_outside_the_jobs_folder_needs_a_folder_that_the_user_named(
    tmp_path: Path,
) -> None:
    job, work, private = (tmp_path / name for name in ("job", "work", "private"))
    for folder in (job, work, private):
        folder.mkdir()
        (folder / "answers.csv").write_text("x")
    (work / "link.csv").symlink_to(private / "answers.csv")
    (job / "link").symlink_to(private)
    for pattern in (
        f"{work}/*.csv",
        f"{private}/answers.csv",
        "../private/*.csv",
        "link/*.csv",
        "link/answers.csv",
    ):
        assert matching(job, pattern) == [], pattern
    assert matching(job, f"{work}/*.csv", (work,)) == [work / "answers.csv"]
    for pattern in (
        f"{private}/*.csv",
        f"{work}/link.csv",
        f"{work}/../private/*.csv",
        f"{tmp_path}/*/*.csv",
    ):
        assert matching(job, pattern, (work,)) == [], pattern
    assert matching(None, "*.csv") == [], "an imported run has no folder"
