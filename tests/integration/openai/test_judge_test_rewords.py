"""`judge-test` asks by the same criteria in other words, given in a job or found by the judge."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from bioeval_tui.base.errors import ExitCode
from tests.integration.openai.test_items_per_request import (
    RUBRIC,
    TASKS,
    World,
    scored,
    world as world,
)
from tests.servers import openai_server as srv

OTHER = "SECOND: somebody states what it costs"


def text_of(body: dict[str, Any]) -> str:
    return "\n".join(each["content"] for each in body["messages"])


def fooled_by(words: str) -> Any:
    """Return a judge that fails task 2 where it is told so."""
    return lambda tasks, body: scored(body, {2: 0} if words in text_of(body) else {})


async def test_given_words_show_the_share_of_verdicts_that_change(world: World) -> None:
    await world.run(None)
    world.fails = fooled_by("SECOND")
    first, second, third = TASKS
    world.write(None, tasks=[first, {**second, "acceptanceCriteria": OTHER}, third])
    options = ("judge-test", world.result["run_id"], "--reworded", "job.yml")
    forecast = json.loads((await world.call(*options, "--dry-run", "--json")).stdout)
    world.asked.clear()
    done = await world.call(*options, "--json")
    assert len(world.asked) == forecast["calls"]
    printed = json.loads(done.stdout)
    found = printed["changes"]["reworded"]
    assert (found["items"], found["flip_rate"]) == (2, 1.0), "of the criterion with other words"
    assert printed["reworded"] == [
        {"criterion": "BETA: a price is named", "reworded": OTHER},
    ]
    words = (await world.call(*options)).stdout
    assert "reworded: the criterion says the same in other words" in words
    assert f"reworded: “BETA: a price is named” as “{OTHER}”" in words


async def test_given_words_of_a_rubric(world: World) -> None:
    await world.run(None, "--condition", "supplied", rubric=RUBRIC)
    world.fails = fooled_by("SECOND")
    first, second, third = RUBRIC
    world.write(None, rubric=[first, {**second, "criterion": OTHER}, third])
    run = world.result["run_id"]
    done = await world.call("judge-test", run, "--reworded", "job.yml", "--json")
    found = json.loads(done.stdout)["changes"]["reworded"]
    assert (found["items"], found["flip_rate"]) == (1, 1.0)
    world.write(None, rubric=[first, second])
    refused = await world.call("judge-test", run, "--reworded", "job.yml")
    assert refused.returncode == ExitCode.BAD_INPUT
    assert "it has 2" in refused.stderr
    world.write(None, rubric=RUBRIC)
    refused = await world.call("judge-test", run, "--reworded", "job.yml")
    assert refused.returncode == ExitCode.BAD_INPUT
    assert "says no criterion of these runs in other words" in refused.stderr


async def test_the_judges_own_words_are_asked_for_once_each_and_shown(world: World) -> None:
    await world.run(None)
    rewritten: list[str] = []

    def judge(tasks: tuple[int, ...], body: dict[str, Any]) -> srv.Answer:
        return fooled_by("SECOND")(tasks, body)

    def answer(body: dict[str, Any]) -> srv.Answer:
        if body["messages"][-1]["content"].startswith("Rewrite the criterion"):
            (criterion,) = re.findall(r'"([A-Z]+: [^"]+)"', body["messages"][0]["content"])
            rewritten.append(criterion)
            words = {"BETA": OTHER, "ALPHA": "FIRST: somebody says that it was set"}
            return srv.say_json({"reworded": words.get(criterion.split(":")[0], criterion)})
        return own_answer(body)

    own_answer = world.answer
    world.fails = judge
    world.server.otherwise = answer
    options = ("judge-test", world.result["run_id"], "--reword")
    forecast = json.loads((await world.call(*options, "--dry-run", "--json")).stdout)
    world.asked.clear()
    done = await world.call(*options, "--json")
    assert sorted(rewritten) == [task["acceptanceCriteria"] for task in TASKS]
    assert len(world.asked) + len(rewritten) == forecast["calls"]
    printed = json.loads(done.stdout)
    assert [one["reworded"].split(":")[0] for one in printed["reworded"]] == ["FIRST", "SECOND"]
    assert any("gave no other words for “GAMMA" in error for error in printed["errors"])
    found = printed["changes"]["reworded"]
    assert (found["items"], found["flip_rate"]) == (4, pytest.approx(0.5))


async def test_words_are_given_or_asked_for_not_both(world: World) -> None:
    await world.run(None)
    run = world.result["run_id"]
    done = await world.call("judge-test", run, "--reword", "--reworded", "job.yml")
    assert done.returncode == ExitCode.BAD_INPUT
    assert "--reworded or --reword, not both" in done.stderr
