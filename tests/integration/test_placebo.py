"""A placebo beside the two conditions: a job goes in, and what of the difference is the facts'
comes out.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from bioeval_tui import Results, evaluate
from bioeval_tui.pytest_plugin import Evaluation
from tests.command import call

FACT = "The user lives in Sydney, in a blue house beside the old harbour bridge"
LINE = "I live in Sydney, in a blue house beside the old harbour bridge."
JOB: dict[str, Any] = {
    "target": {"user": "patient", "chatbot": "doctor", "remembers": False},
    "aspirationalAverage": None,
    "tasks": [
        {
            "task": "Get a reminder for warfarin",
            "acceptanceCriteria": "Sets the reminder in the zone",
            "withheldCriteria": "Asks for the zone",
            "rules": [{"pattern": "reminder is set"}],
        }
    ],
    "facts": [FACT],
    "evaluator": {
        "kind": "scripted",
        "lines": [
            {"say": "Please set a reminder for my warfarin", "task": 1},
            {"say": LINE, "fact": 1},
            {"say": "I would rather not say", "only": "withheld"},
        ],
    },
    "scorer": {"kind": "rules"},
    "assertions": [
        {"name": "set", "expression": 'evaluation.transcript.any { it.content.contains("is set") }'}
    ],
}
Agent = Callable[[list[dict[str, str]]], str]


def needs_facts(messages: list[dict[str, str]]) -> str:
    """Set the reminder for whoever lives in Sydney."""
    return "The reminder is set." if said(messages, "Sydney") else "Where do you live?"


def needs_talk(messages: list[dict[str, str]]) -> str:
    """Set the reminder for whoever talks long enough."""
    words = sum(len(m["content"].split()) for m in messages if m["role"] == "user")
    return "The reminder is set." if words > 16 else "Where do you live?"


def said(messages: list[dict[str, str]], word: str) -> bool:
    return any(word in message["content"] for message in messages if message["role"] == "user")


@pytest.fixture
def job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("BIOEVAL_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.chdir(tmp_path)
    return write(JOB, tmp_path / "job.yml")


def write(job: dict[str, Any], path: Path) -> Path:
    path.write_text(yaml.safe_dump(job, sort_keys=False), encoding="utf-8")
    return path


def remembering(agent: Agent) -> Callable[..., str]:
    """Make an agent that hears the whole conversation."""

    def answer(message: str, conversation: Any) -> str:
        return agent([*conversation.messages, {"role": "user", "content": message}])

    return answer


def hold(job: Path, agent: Agent, **options: Any) -> Results:
    options = {"trials": 5, "control": True, "graph": "none", **options}
    return evaluate(job, agent=remembering(agent), **options)


def user_lines(document: dict[str, Any], condition: str) -> list[str]:
    trial = document["conditions"][condition]["trials"][0]
    return [m["content"] for m in trial["messages"] if m["role"] == "user" and m["sent"]][1:]


def test_the_placebo_user_does_not_know_and_talks_as_long(job: Path) -> None:
    document = hold(job, needs_facts).to_dict()
    asked, answered = user_lines(document, "placebo")
    assert asked == JOB["evaluator"]["lines"][0]["say"]
    assert answered.startswith("I don't know. ")
    assert not re.search("Sydney|house|harbour|bridge", answered)
    told = {name: one["words_told"] for name, one in document["conditions"].items()}
    assert told["supplied"] == 20
    assert abs(told["placebo"] - 20) <= 2
    assert told["withheld"] == 12
    held = document["conditions"]["placebo"]["trials"]
    assert [trial["facts"] for trial in held] == [[]] * 5
    assert sum(trial["words_told"] for trial in held) == pytest.approx(5 * told["placebo"])
    # the criteria are those without the facts
    assert held[0]["tasks"][0]["title"] == JOB["tasks"][0]["task"]


@pytest.mark.parametrize(
    ("agent", "facts", "talk", "words"),
    [
        (needs_facts, 1.0, 0.0, "the facts, not the longer talk: +1.00 of +1.00"),
        (needs_talk, 0.0, 1.0, "the longer talk, not the facts: +1.00 of +1.00"),
    ],
    ids=["facts", "talk"],
)
def test_the_difference_is_told_apart(
    job: Path, agent: Agent, facts: float, talk: float, words: str
) -> None:
    """Only the assertion is alike in both: the task has criteria of its own without the facts."""
    run = hold(job, agent)
    document = run.to_dict()
    placebo = document["placebo"]
    assert document["difference"]["mean"] == placebo["total"]["mean"] == 1.0
    assert (placebo["facts"]["mean"], placebo["longer_talk"]["mean"]) == (facts, talk)
    assert placebo["trials"] == 5
    assert placebo["words"].startswith(words)
    assert document["answer"]["control"] == placebo["words"]
    assert f"FACTS {words}" in str(run)
    shown = call("runs", "show", run.run_id).stdout
    assert f"FACTS {words}" in shown
    assert "words that the user told in a conversation" in shown
    for form in ("html", "md"):
        call("runs", "report", run.run_id, "--format", form, "--output", f"report.{form}")
        assert words in Path(f"report.{form}").read_text(encoding="utf-8")
    report = json.loads(call("runs", "report", run.run_id, "--format", "json").stdout)
    assert report["summary"][0]["placebo"]["words"] == placebo["words"]
    assert words in Evaluation(report, "fail").why()


def test_a_batch_says_it_of_each_and_the_placebo_is_in_none_of_its_means(job: Path) -> None:
    source = "def {}(message):\n    return 'The reminder is set.' if {} else 'Where do you live?'\n"
    Path("batch_agents.py").write_text(
        source.format("facts", "'Sydney' in message")
        + source.format("talk", "len(message.split()) > 8"),
        encoding="utf-8",
    )
    for name in ("facts", "talk"):
        target = {**JOB["target"], "protocol": "python", "function": f"batch_agents:{name}"}
        write({**JOB, "controls": True, "target": target}, Path(f"{name}.yml"))
    options = ("--code", ".", "--repeat", "5", "--headless")
    told = call("run", "facts.yml", "talk.yml", *options).stdout
    assert "WHAT  Mean of both conditions: " in told
    assert (
        "FACTS batch_agents:facts: the facts, not the longer talk; batch_agents:talk: the longer"
        " talk, not the facts\n"
    ) in told


def test_the_longer_talk_is_no_effect_of_the_facts(job: Path) -> None:
    answer = hold(job, needs_talk).to_dict()["answer"]
    assert answer["outcome"] == "longer_talk"
    assert answer["attributed"] is None
    assert hold(job, needs_facts).to_dict()["answer"]["outcome"] == "facts_help"


def test_nothing_is_said_of_it_without_the_control(job: Path) -> None:
    run = hold(job, needs_facts, control=False)
    document = run.to_dict()
    assert list(document["conditions"]) == ["withheld", "supplied"]
    assert document["placebo"] is None
    assert document["answer"]["control"] == ""
    shown = call("runs", "show", run.run_id).stdout
    assert "FACTS" not in shown
    assert "words" not in shown
    assert document["conditions"]["supplied"]["words_told"] == 20


def test_the_placebo_is_in_no_mean_and_no_threshold_of_all(job: Path) -> None:
    with_control, without = hold(job, needs_facts), hold(job, needs_facts, control=False)
    assert with_control.score == without.score == 0.5
    for threshold, code in (("0.5", 0), ("task:0", 0), ("placebo:0.1", 1), ("supplied:1", 0)):
        gate = call("runs", "gate", with_control.run_id, "--fail-under", threshold)
        assert gate.return_value == code, threshold
    compared = call("runs", "compare", with_control.run_id, without.run_id, "--json")
    found = json.loads(compared.stdout)
    assert list(found["conditions"]) == ["withheld", "supplied"]
    told = call("runs", "compare", with_control.run_id, without.run_id).stdout
    assert "with a placebo" not in told
    assert "note: the placebo is not compared: A 0.00, the other run has none\n" in told
    again = hold(job, needs_talk)
    told = call("runs", "compare", with_control.run_id, again.run_id).stdout
    assert "note: the placebo is not compared: A 0.00, B 1.00\n" in told


def test_without_the_condition_withheld_there_is_no_effect_to_tell(job: Path) -> None:
    Path("two_agent.py").write_text(
        "def answer(message):\n"
        "    return 'The reminder is set.' if 'Sydney' in message else 'Where do you live?'\n",
        encoding="utf-8",
    )
    target = {**JOB["target"], "protocol": "python", "function": "two_agent:answer"}
    write({**JOB, "controls": True, "target": target}, job)
    two = ("--condition", "supplied", "--condition", "placebo")
    told = call("run", "job.yml", "--code", ".", "--headless", *two).stdout
    assert "WHAT  1.00 with the facts, 0.00 with a placebo" in told
    assert "and the effect of the facts needs the condition withheld as well\n" in told


def test_a_run_of_the_placebo_alone_has_conversations(job: Path) -> None:
    Path("alone_agent.py").write_text(
        "def answer(message):\n    return 'The reminder is set.'\n", encoding="utf-8"
    )
    target = {**JOB["target"], "protocol": "python", "function": "alone_agent:answer"}
    write({**JOB, "controls": True, "target": target}, job)
    alone = ("run", "job.yml", "--code", ".", "--condition", "placebo", "--headless")
    expected = {"": 0, "placebo:0.5": 0, "task:0.5": 0, "assertion:1": 0}
    for threshold, code in expected.items():
        options = ("--repeat", "3", "--fail-under", threshold) if threshold else ()
        run = call(*alone, *options)
        assert run.return_value == code, (threshold, run.stdout)
        assert "no conversation was run" not in run.stdout


@pytest.mark.parametrize(
    ("answer", "apart"),
    [(12, True), (11, False), (20, True), (21, False)],
)
def test_talk_of_more_than_a_quarter_more_or_less_is_not_told_apart(
    job: Path, answer: int, apart: bool
) -> None:
    """With the facts 16 words are told: 4 in the request and 12 in the answer. A quarter is 4."""
    told = dict(JOB, controls=True, placeboFacts=[" ".join(["lamp"] * (answer - 3 - 4 + 0))])
    lines = [
        {"say": "Set a warfarin reminder", "task": 1},
        {"say": " ".join(["Sydney"] * 12), "fact": 1},
    ]
    told["evaluator"] = {"kind": "scripted", "lines": lines}
    write(told, job)
    document = hold(job, needs_facts, control=False).to_dict()
    total = document["conditions"]["placebo"]["words_told"]
    assert document["conditions"]["supplied"]["words_told"] == 16
    assert total == answer
    placebo = document["placebo"]
    assert (placebo["facts"] is not None) is apart
    if not apart:
        assert placebo["words"] == (
            "not told apart from the longer talk: the user told 16.0 words with the facts and"
            f" {total:.1f} with the placebo, which differ by more than a quarter"
        )
        assert document["difference"]["mean"] == 1.0  # the sum is known


def test_check_refuses_a_placebo_that_has_to_do_with_the_job(job: Path) -> None:
    wrong = {
        "My reminders are on the fridge": "“reminders” with tasks[0].task",
        "There is a zone without cars": "“zone” with tasks[0].acceptanceCriteria",
        "The bridge is being painted": "“bridge” with facts[0]",
    }
    write(dict(JOB, controls=True, placeboFacts=["The tram was full", *wrong]), job)
    told = call("check", "job.yml").stdout
    for index, words in enumerate(wrong.values(), start=1):
        assert f"placeboFacts[{index}]: shares {words}" in told
    assert "placeboFacts[0]" not in told
    assert "no problem" not in told


@pytest.mark.parametrize(
    ("changes", "hint"),
    [
        ({"controls": True, "placeboFacts": ["Lamps"]},
            "placeboFacts: the user would tell about 20 words with the facts and 11 with the"
            " placebo: where these differ by more than a quarter"),
        ({"controls": True, "placeboFacts": ["Lamps"], "evaluator": {"kind": "llm"}},
            "placeboFacts: the user would tell about 14 words with the facts and 4 with"),
        ({"placeboFacts": ["Lamps"]},
            "placeboFacts: nobody says them: only `controls: true` or --control adds a placebo"),
        ({"controls": True, "placeboFacts": []}, "placeboFacts: an empty list is as none"),
    ],
    ids=["short", "short with a model", "no control", "empty"],
)  # fmt: skip
def test_a_hint_comes_before_a_run_that_could_tell_nothing(
    job: Path, changes: dict[str, Any], hint: str
) -> None:
    write({**JOB, **changes}, job)
    told = call("check", "job.yml").stdout
    assert told.count(hint) == 1
    assert "hint: " in told
    assert "no problems" in told


def test_a_dry_run_gives_the_hint_too(job: Path) -> None:
    write({**JOB, "target": {**JOB["target"], "url": "http://127.0.0.1:9"}}, job)
    assert "would tell about" not in call("check", "job.yml").stdout
    fine = call("run", "job.yml", "--dry-run", "--control").stdout
    assert "placeboFacts" not in fine
    short = {**JOB, "placeboFacts": ["Lamps"], "target": {**JOB["target"], "url": "http://h:9"}}
    write(short, job)
    assert "would tell about 20 words" in call("run", "job.yml", "--dry-run", "--control").stdout
    assert "nobody says them" in call("run", "job.yml", "--dry-run").stdout


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"facts": [], "evaluator": {**JOB["evaluator"], "lines": JOB["evaluator"]["lines"][:1]}},
            "without facts, a placebo controls nothing"),
        ({"conditions": [{"name": "supplied"}], "evaluator": {"kind": "llm"}},
            "beside a condition withheld"),
        ({"evaluator": {"kind": "human"}}, "a person who plays the user can be no placebo"),
        ({"tasks": [{"task": "Lassen Sie sich morgen um neun an die Tabletten erinnern",
            "rules": [{"pattern": "x"}]}], "facts": ["Die Patientin wohnt in Wien"]},
            "the tasks are in German: write what the user tells in `placeboFacts`"),
    ],
    ids=["no facts", "one condition", "a person", "German"],
)  # fmt: skip
def test_check_says_why_a_job_can_have_no_placebo(
    job: Path, changes: dict[str, Any], why: str
) -> None:
    assertions: dict[str, Any] = {"assertions": []}
    write({**JOB, "controls": True, **assertions, **changes}, job)
    assert why in call("check", "job.yml").stdout


def test_a_condition_of_that_name_is_refused(job: Path) -> None:
    named = [{"name": "withheld", "facts": "none"}, {"name": "supplied"}, {"name": "placebo"}]
    write({**JOB, "conditions": named}, job)
    assert "placebo is what `controls: true` adds" in call("check", "job.yml").stdout


def test_a_dry_run_says_what_it_adds(job: Path) -> None:
    write({**JOB, "target": {**JOB["target"], "url": "http://127.0.0.1:9"}}, job)
    plain = json.loads(call("run", "job.yml", "--dry-run", "--json", "--repeat", "3").stdout)[0]
    found = call("run", "job.yml", "--dry-run", "--json", "--repeat", "3", "--control").stdout
    forecast = json.loads(found)[0]
    assert plain["control"] is None
    added = forecast["calls"] - plain["calls"]
    assert forecast["conversations"] == plain["conversations"] + 3
    assert forecast["control"] == f"of these, the placebo adds 3 conversations and {added} calls"
    assert (
        forecast["control"]
        in call("run", "job.yml", "--dry-run", "--control", "--repeat", "3").stdout
    )
    refused = call("run", "job.yml", "--dry-run", "--control", "--condition", "supplied")
    assert "--control needs all conditions" in str(refused.exception)


def test_a_job_may_ask_for_it_and_the_recording_says_so(job: Path) -> None:
    write({**JOB, "controls": True}, job)
    run = hold(job, needs_facts, control=False, trials=1)
    assert list(run.to_dict()["conditions"]) == ["withheld", "supplied", "placebo"]
    (recording,) = Path("data/runs").glob("*.jsonl")
    started = json.loads(recording.read_text(encoding="utf-8").split("\n")[0])
    assert started["conditions"] == ["withheld", "supplied", "placebo"]
    assert started["job"]["controls"] is True
    assert "too few" not in run.to_dict()["placebo"]["words"]
    assert run.to_dict()["placebo"]["words"].startswith("1 trial cannot tell the facts from")
    alone = hold(job, needs_facts, control=False, trials=1, conditions=("supplied",)).to_dict()
    assert list(alone["conditions"]) == ["supplied"]
    assert alone["placebo"] is None


def test_the_same_seed_tells_the_same(job: Path) -> None:
    runs = [hold(job, needs_facts, trials=3, seed=seed) for seed in (1, 1, 2)]
    first, again, other = [
        [
            trial["messages"][4]["content"]
            for trial in run.to_dict()["conditions"]["placebo"]["trials"]
        ]
        for run in runs
    ]
    assert first == again
    assert first != other


def test_several_conversations_at_a_time_tell_it_apart_as_well(job: Path) -> None:
    found = hold(job, needs_facts, concurrency=4, trials=6).to_dict()
    assert found["placebo"]["words"].startswith("the facts, not the longer talk: +1.00 of +1.00")


AGENT = """\
def answer(message, conversation):
    heard = [one["content"] for one in conversation.messages if one["role"] == "user"]
    if "Sydney" in " ".join([*heard, message]):
        return "The reminder is set."
    return "Where do you live?"
"""
COMMAND = ("run", "job.yml", "--code", ".", "--graph", "none", "--headless")


@pytest.fixture
def by_command(job: Path) -> Path:
    """The same job for the command line, with its agent in a file."""
    target = {**JOB["target"], "protocol": "python", "function": "placebo_agent:answer"}
    Path("placebo_agent.py").write_text(AGENT, encoding="utf-8")
    sys.modules.pop("placebo_agent", None)  # that of another test, in another folder
    return write({**JOB, "target": target}, job)


def shown(run: str) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(call("runs", "show", run, "--json").stdout)
    return document


def test_an_interrupted_run_is_resumed_with_its_placebo(by_command: Path) -> None:
    assert call(*COMMAND, "--control", "--repeat", "5").return_value == 0
    (path,) = Path("data/runs").glob("*.jsonl")
    before = shown(path.stem)
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    begun = [n for n, line in enumerate(lines) if '"conversation_started"' in line]
    path.write_text("".join(lines[: begun[-1] + 3]), encoding="utf-8")
    assert call("runs", "resume", path.stem, "--code", ".", "--headless").return_value == 0
    after = shown(path.stem)
    assert after["placebo"] == before["placebo"]
    assert user_lines(after, "placebo") == user_lines(before, "placebo")
    last = after["conditions"]["placebo"]["trials"][-1]
    said = [message["content"] for message in last["messages"]]
    earlier = before["conditions"]["placebo"]["trials"][-1]["messages"]
    assert said == [message["content"] for message in earlier]


def test_a_run_judged_again_is_told_apart_by_the_new_verdicts(by_command: Path) -> None:
    call(*COMMAND, "--control", "--repeat", "5")
    (path,) = Path("data/runs").glob("*.jsonl")
    assert shown(path.stem)["placebo"]["facts"]["mean"] == 1.0
    assert call("runs", "rescore", path.stem).return_value == 0
    again = shown(path.stem)
    assert again["placebo"]["facts"]["mean"] == 1.0
    assert [len(judging) for judging in [again["judged_again"]]] != [0]


def test_a_gate_of_the_command_line_does_not_count_the_placebo(by_command: Path) -> None:
    assert call(*COMMAND, "--control", "--fail-under", "0.5").return_value == 0
    assert call(*COMMAND, "--control", "--fail-under", "0.51").return_value == 1
    assert call(*COMMAND, "--control", "--fail-under", "placebo:0.5").return_value == 1
    assert call(*COMMAND, "--control", "--fail-under", "withheld:0,supplied:1").return_value == 0


def test_the_documented_example_prints_what_the_page_says(
    job: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = (Path(__file__).parents[2] / "docs" / "evaluate-your-agent.md").read_text("utf-8")
    part = page.partition("### The facts, or the longer talk?")[2].partition("### ")[0]
    written, agent, printed = re.findall(r"```\w*\n(.*?)```", part, re.DOTALL)[:3]
    Path("talk.yml").write_text(written, encoding="utf-8")
    Path("talk.py").write_text(agent, encoding="utf-8")
    command, *lines = printed.strip().split("\n")
    assert call("check", "talk.yml", "--code", ".").return_value == 0
    held = call(*command.split()[2:])
    assert held.return_value == 0
    assert [line for line in lines if line not in held.stdout] == []


def test_a_stand_in_for_a_model_is_yoked_to_what_it_would_have_said(job: Path) -> None:
    """It gives a fact that fits the question; else it says the same as with the facts."""
    user = {"kind": "stand-in", "options": {"until": "is set|goodbye"}}
    write(
        {**JOB, "evaluator": user, "tasks": [{"task": "Live", "rules": [{"pattern": "set"}]}]}, job
    )

    def asks(messages: list[dict[str, str]]) -> str:
        questions = ["Do you live beside the harbour bridge?", "Do you own a zebra?", "Goodbye"]
        return questions[min(len([m for m in messages if m["role"] == "user"]), 3) - 1]

    document = hold(job, asks, trials=1).to_dict()
    said = {name: user_lines(document, name) for name in ("withheld", "supplied", "placebo")}
    assert said["withheld"] == ["I don't know.", "I don't know."]
    assert said["supplied"] == [FACT, "I don't know."]
    placebo, unknown = said["placebo"]
    assert unknown == "I don't know."
    assert placebo.startswith("I don't know. ")
    assert "harbour" not in placebo
    told = [document["conditions"][name]["words_told"] for name in ("supplied", "placebo")]
    assert abs(told[0] - told[1]) <= 1


def test_cases_have_their_own_placebo_and_are_clustered(job: Path) -> None:
    rows = "\n".join(["id,town", *(f"{n},Town{n}" for n in range(12))])
    Path("cases.csv").write_text(rows, encoding="utf-8")
    lines = [
        JOB["evaluator"]["lines"][0],
        {"say": "I live in {{ case.town }} by the sea", "fact": 1},
    ]
    write(
        {
            **JOB,
            "controls": True,
            "cases": {"file": "cases.csv", "id": "id"},
            "facts": ["The user lives in {{ case.town }} by the sea"],
            "evaluator": {"kind": "scripted", "lines": lines},
        },
        job,
    )

    def knows_town(messages: list[dict[str, str]]) -> str:
        return "The reminder is set." if said(messages, "Town") else "Where do you live?"

    run = hold(job, knows_town, control=False, trials=1)
    document = run.to_dict()
    assert document["placebo"]["words"].startswith("the facts, not the longer talk: +1.00")
    assert document["placebo"]["trials"] == 12
    wrong = yaml.safe_load(job.read_text("utf-8")) | {"placeboFacts": ["Town3 is loud", "A kite"]}
    write(wrong, job)
    told = call("check", "job.yml").stdout
    assert "placeboFacts[0]" in told
    assert "shares “Town” with facts[0]" in told
    assert "placeboFacts[1]" not in told
