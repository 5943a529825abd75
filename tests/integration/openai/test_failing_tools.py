"""Tools that the job makes fail: a job goes in, and what of its calls failed comes out."""

from __future__ import annotations

import re
import threading
from http.server import HTTPServer
from pathlib import Path
from typing import Any

import pytest
import yaml

from bioeval_tui import evaluate
from bioeval_tui.evaluation.wiring.check_job import check_job
from bioeval_tui.jobs.models import ToolConfig
from bioeval_tui.peers.agents.tools import DeclaredTools
from bioeval_tui.record.tool_calls import call_event, injected_words, result_event
from bioeval_tui.report.result import load_run
from tests.documents import document_of
from tests.servers import openai_server as srv
from tests.servers.openai_server import OpenAIServer
from tests.servers.whole_runs import WholeRun, hold

PAGE = Path(__file__).parents[3] / "docs" / "agents.md"


async def answered(tool: dict[str, Any], calls: int, drawn_by: str = "7/1") -> list[str]:
    """Return how each of some equal calls of a tool fails; empty for one that does not."""
    tools = DeclaredTools([ToolConfig(**{"name": "use", **tool})], drawn_by=drawn_by)
    return [(await tools.answer("use", {})).injected for _ in range(calls)]


@pytest.mark.parametrize(
    ("answer", "how", "content", "error"),
    [
        ({"dose": 5}, "timeout", "", "the tool use did not answer in time"),
        ("warfarin", "truncated", "warf", ""),
        ("warfarin", "wrong_type", "-1", ""),
        ({"dose": 5}, "wrong_type", "-1", ""),
        (5, "wrong_type", "n/a", ""),
        (True, "wrong_type", "n/a", ""),
        ("5", "wrong_type", "n/a", ""),
        ("ok", "delayed", "the result is not ready yet; make the same call again to get it", ""),
    ],
)
async def test_what_the_agent_gets_of_a_call_that_fails(
    answer: Any, how: str, content: str, error: str
) -> None:
    tool = ToolConfig(name="use", answer=answer, fails={"how": how, "calls": (1,)})
    got = await DeclaredTools([tool]).answer("use", {})
    assert (got.content, got.error, got.injected) == (content, error, how)


async def test_a_late_answer_comes_with_the_same_call_and_its_function_runs_once() -> None:
    tool = ToolConfig(name="use", template="{{ n }}", fails={"how": "delayed", "share": 1.0})
    tools = DeclaredTools([tool])
    said = [(await tools.answer("use", {"n": n})).content for n in (1, 2, 1, 2, 1)]
    await tools.aclose()
    late = "the result is not ready yet; make the same call again to get it"
    assert said == [late, late, "1", "2", late]


async def test_the_share_and_the_numbers_of_calls_at_their_ends() -> None:
    timeout = {"answer": "ok", "fails": {"how": "timeout", "share": 0.0}}
    assert await answered(timeout, 20) == [""] * 20
    timeout["fails"] = {"how": "timeout", "share": 1.0}
    assert await answered(timeout, 20) == ["timeout"] * 20
    several = ({"how": "truncated", "calls": (1, 3)}, {"how": "timeout", "calls": (3, 4)})
    found = await answered({"answer": "ok", "fails": several}, 5)
    assert found == ["truncated", "", "truncated", "timeout", ""]
    half = {"answer": "ok", "fails": {"how": "timeout", "share": 0.5}}
    drawn = await answered(half, 400)
    assert drawn == await answered(half, 400)
    assert drawn != await answered(half, 400, "7/2")
    assert 160 < drawn.count("timeout") < 240


JOB: dict[str, Any] = {
    "target": {
        "user": "ada",
        "chatbot": "bot",
        "protocol": "openai",
        "model": "m",
        "tools": [
            {"name": "look", "answer": "5 mg", "fails": {"how": "timeout", "share": 0.5}},
            {"name": "save", "answer": "saved", "fails": [{"how": "truncated", "calls": [2]}]},
        ],
    },
    "aspirationalAverage": None,
    "tasks": [{"task": "Learn the dose", "rules": [{"pattern": "dose"}]}],
    "facts": ["It is evening"],
    "evaluator": {"kind": "scripted", "lines": [{"say": "Which dose?", "task": 1}]},
    "scorer": {"kind": "rules"},
    "assertions": [
        {"expression": 'evaluation.functionCalls.any { it.failure == "truncated" }'},
        {"expression": "evaluation.functionCalls.first().failure == null", "timeline": False},
        {"toolCalls": {"mustCall": [{"name": "save", "where": "it.failure == null"}]}},
        {"toolCalls": {"noErrors": True}},
    ],
}


def calling(body: dict[str, Any]) -> srv.Answer:
    """Call each tool twice for each message of the user, and then say something."""
    since = [message["role"] for message in body["messages"]][::-1].index("user")
    if since < 8:
        name = ("look", "save")[since // 2 % 2]
        return srv.call_tool(name, {"n": since}, call_id=f"c{len(body['messages'])}")
    return srv.say("The dose is 5 mg.")


async def held(
    server: OpenAIServer, folder: Path, *, trials: int = 3, seed: int = 7, records: bool = True
) -> WholeRun:
    server.otherwise = calling
    job = JOB | {"target": JOB["target"] | {"recordEvents": records}}
    options = {"agent_url": server.url, "trials": trials, "seed": seed}
    return await hold(yaml.safe_dump(job), folder, **options)


async def test_the_same_calls_fail_in_both_conditions_and_when_the_run_is_repeated(
    server: OpenAIServer, tmp_path: Path
) -> None:
    (tmp_path / "again").mkdir()
    runs = [await held(server, tmp_path), await held(server, tmp_path / "again")]
    found = [
        [
            [trial["tool_failures"] for trial in run.result["conditions"][name]["trials"]]
            for name in ("withheld", "supplied")
        ]
        for run in runs
    ]
    assert found[0] == found[1]
    withheld, supplied = found[0]
    assert withheld == supplied
    assert len({str(trial) for trial in withheld}) > 1
    assert {(each["tool"], each["how"]) for trial in withheld for each in trial} == {
        ("look", "timeout"),
        ("save", "truncated"),
    }
    again = await held(server, tmp_path / "again", seed=8)
    other = [trial["tool_failures"] for trial in again.result["conditions"]["withheld"]["trials"]]
    assert other != withheld
    # What assertions see is what was recorded, and an injected failure is no error of the agent's.
    outcomes = []
    for trial in runs[0].result["conditions"]["withheld"]["trials"]:
        failed = {(each["message"], each["call"]) for each in trial["tool_failures"]}
        outcomes.append("failed" if (2, 1) in failed else "passed")
        statuses = [each["status"] for each in trial["assertions"]]
        assert statuses == ["passed", outcomes[-1], "passed", "passed"]
    assert set(outcomes) == {"passed", "failed"}


async def test_every_view_says_at_its_turn_which_call_failed(
    server: OpenAIServer, tmp_path: Path
) -> None:
    run = await held(server, tmp_path)
    (tmp_path / "short").mkdir()
    short = await held(server, tmp_path / "short", trials=1, records=False)
    bare = short.result["conditions"]["withheld"]["trials"][0]["tool_failures"]
    assert bare == run.result["conditions"]["withheld"]["trials"][0]["tool_failures"]
    loaded = load_run(run.path)
    assert re.fullmatch(
        r"the job made (look|save) fail in \d+ of 24 calls, (look|save) in \d+ of 24 calls",
        loaded.answer.tools,
    )
    for kind in ("html", "md"):
        shown = document_of(kind, loaded)
        assert loaded.answer.tools in shown
        assert "the job made save fail: its answer was cut off" in shown
        assert "the job made look fail: its answer timed out" in shown
    asked = [message["content"] for message in server.received[-1].body["messages"]]
    assert "sa" in asked


def test_several_failures_of_a_message_are_one_sentence_for_each_tool() -> None:
    ways = [("look", "timeout"), ("save", "delayed"), ("look", "truncated"), ("look", "timeout")]
    events: list[dict[str, Any]] = []
    for number, (tool, how) in enumerate(ways):
        events.append(call_event(tool, {}, f"c{number}"))
        events.append(result_event("", f"c{number}", injected=how))
    assert injected_words(events) == [
        "the job made look fail 3 times: its answer timed out, was cut off",
        "the job made save fail: its answer was late",
    ]


def test_check_names_each_mistake(tmp_path: Path) -> None:
    wrong = {
        "{how: timeout}": "a failure needs `share` or `calls`, and not both",
        "{how: timeout, share: 0.5, calls: [1]}": "a failure needs `share` or `calls`",
        "{how: slow, share: 0.5}": "must be 'timeout', 'truncated', 'wrong_type' or 'delayed'",
        "{how: timeout, share: 1.5}": "must be at most 1",
        "{how: timeout, calls: [0]}": "must be at least 1",
        "{how: timeout, sharee: 0.5}": "did you mean share?",
    }
    for fails, says in wrong.items():
        problems = checked(tmp_path, f"answer: ok, fails: {fails}")
        assert any(says in each for each in problems), (fails, problems)
    assert any(
        "a tool with `error` always fails, so `fails` has no effect" in each
        for each in checked(tmp_path, "error: away, fails: {how: timeout, calls: [1]}")
    )


@pytest.mark.parametrize(
    ("fails", "says"),
    [
        ("{how: timeout, calls: [1, 1]}", "fails.calls: lists call 1 2 times, and it fails once"),
        ("[]", "fails: lists no failure: the tool never fails"),
        (
            "[{how: timeout, share: 1}, {how: truncated, calls: [2]}]",
            "fails[1]: never comes: `timeout` before it has `share: 1`, so meets every call",
        ),
        ("{how: timeout, share: 0.5}", "fails.share: is drawn anew in each run: give `seed:`"),
        ("{how: timeout, share: 1}", ""),
        ("[{how: truncated, calls: [1, 2]}, {how: timeout, share: 1.0}]", ""),
    ],
)
def test_check_warns_of_a_failure_that_does_nothing(tmp_path: Path, fails: str, says: str) -> None:
    found = [each for each in checked(tmp_path, f"answer: ok, fails: {fails}") if "fails" in each]
    assert len(found) == bool(says), found
    assert says in " ".join(found)


def checked(folder: Path, tool: str) -> list[str]:
    """Return what `check` says of a job with a tool."""
    path = folder / "job.yml"
    path.write_text(
        "target: {user: ada, chatbot: bot, protocol: openai, tools: [{name: use, " + tool + "}]}\n"
        "aspirationalAverage: null\ntasks: [{task: Learn the dose}]\nfacts: []\n",
        encoding="utf-8",
    )
    return [str(problem) for problem in check_job(path).problems]


async def test_the_example_in_the_docs_finds_the_careless_agent(tmp_path: Path) -> None:
    section = PAGE.read_text("utf-8").partition("### Tools that fail")[2]
    job = re.search(r"```yaml\n(.*?)```", section, re.DOTALL)
    agent = re.search(r"```python\n(.*?)```", section, re.DOTALL)
    assert job is not None
    assert agent is not None
    module: dict[str, Any] = {"__name__": "careless"}
    exec(agent[1], module)
    module["Chat"].log_message = lambda *_: None
    with HTTPServer(("127.0.0.1", 0), module["Chat"]) as serving:
        threading.Thread(target=serving.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{serving.server_port}/v1"
        run = await hold(job[1], tmp_path, agent_url=url, trials=3)
        serving.shutdown()
    for condition in run.result["conditions"].values():
        found = [
            (bool(trial["tool_failures"]), trial["assertions"][0]["status"])
            for trial in condition["trials"]
        ]
        assert set(found) == {(True, "failed"), (False, "passed")}


def test_no_agent_excuses_its_own_failures(tmp_path: Path) -> None:
    def answer(message: str, conversation: Any) -> str:
        conversation.tool_called("look", {}, "away", error="away")
        conversation.happened({"output": "away", "error": True, "injected": "timeout"})
        return "The dose is 5 mg."

    job = JOB | {"target": {"user": "ada", "chatbot": "bot", "remembers": False}}
    job["assertions"] = [{"toolCalls": {"noErrors": True}}]
    path = tmp_path / "job.yml"
    path.write_text(yaml.safe_dump(job), encoding="utf-8")
    found = evaluate(path, agent=answer, progress=False).to_dict()
    talk = found["conditions"]["withheld"]["trials"][0]
    assert talk["tool_failures"] == []
    assert talk["assertions"][0]["status"] == "failed"
