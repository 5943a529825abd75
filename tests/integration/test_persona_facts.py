"""Personas that hold facts back or get them wrong: a job goes in, and what its user told comes
out.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from bioeval_tui import Results, evaluate
from bioeval_tui.evaluation.wiring.check_job import check_job
from tests.command import call

JOB: dict[str, Any] = {
    "target": {"user": "patient", "chatbot": "doctor", "remembers": False},
    "aspirationalAverage": None,
    "tasks": [{"task": "Get a reminder for warfarin", "rules": [{"pattern": "is set"}]}],
    "facts": ["The user lives in Sydney", "The dose is 5 mg of warfarin"],
    "evaluator": {
        "kind": "scripted",
        "lines": [
            {"say": "Please set a reminder for my warfarin", "task": 1},
            {"when": "Where", "say": "I live in Sydney.", "fact": 1},
            {"when": "Where", "say": "I live in Sydney, as I said.", "fact": 1},
            {"when": "dose", "say": "It is 5 mg.", "fact": 2},
            {"say": "I would rather not say", "only": "withheld"},
        ],
    },
    "scorer": {"kind": "rules"},
}
QUESTIONS = (("Where do you live?", "Sydney"), ("Which dose?", "mg"))
UNKNOWN = "I don't know."
PAGE = Path(__file__).parents[2] / "docs" / "evaluate-your-agent.md"


def asking(times: int) -> Callable[..., str]:
    """Make an agent that asks for each fact up to so many times, and then sets the reminder."""

    def answer(message: str, conversation: Any) -> str:
        said = conversation.messages
        heard = " ".join([message, *(m["content"] for m in said if m["role"] == "user")])
        asked = [m["content"] for m in said if m["role"] == "assistant"]
        if "warfarin" not in heard:
            return "How can I help you?"
        for question, value in QUESTIONS:
            if value not in heard and asked.count(question) < times:
                return question
        return "The reminder is set."

    return answer


def hold(folder: Path, facts: dict[str, Any], times: int = 1, **more: Any) -> Results:
    options = {"trials": 2, "seed": 3, **more.pop("options", {})}
    job = {**JOB, "personas": [{"name": "forgetful", "facts": facts}], **more}
    path = folder / "job.yml"
    path.write_text(yaml.safe_dump(job, sort_keys=False), encoding="utf-8")
    return evaluate(path, agent=asking(times), progress=False, graph="none", **options)


def trials(run: Results, condition: str = "supplied") -> list[dict[str, Any]]:
    held: list[dict[str, Any]] = run.to_dict()["conditions"][condition]["trials"]
    return held


def lines(trial: dict[str, Any]) -> list[str]:
    """Return what the user said after asking for its task."""
    return [m["content"] for m in trial["messages"] if m["role"] == "user" and m["sent"]][2:]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("BIOEVAL_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_with_a_share_of_0_everything_is_told_and_with_1_nothing(folder: Path) -> None:
    told, kept = (trials(hold(folder, {"holdsBack": share})) for share in (0, 1))
    assert [lines(trial) for trial in told] == [["I live in Sydney.", "It is 5 mg."]] * 2
    assert [lines(trial) for trial in kept] == [[UNKNOWN, UNKNOWN]] * 2
    for trial, numbers in ((told[0], []), (kept[1], [1, 2])):
        assert trial["persona_facts"] == {
            "persona": "forgetful", "facts": 2, "held_back": numbers, "until": "never", "wrong": [],
        }  # fmt: skip
        assert len(trial["facts"]) == 2 - len(numbers)
        assert trial["user_faults"] == []


def test_what_is_drawn_is_the_same_in_every_condition_of_a_trial_and_by_its_seed(
    folder: Path,
) -> None:
    conditions = [
        {"name": "withheld", "words": "knows nothing", "facts": "none"},
        {"name": "some", "words": "knows the dose", "facts": [2]},
        {"name": "supplied", "words": "knows all"},
    ]
    options = {"trials": 6}
    half, parts = {"holdsBack": 0.5}, {"conditions": conditions, "options": options}
    run, again = (hold(folder, half, **parts) for _ in range(2))
    drawn = {name: [t["persona_facts"] for t in trials(run, name)] for name in ("some", "supplied")}
    assert drawn["supplied"] == [each["persona_facts"] for each in trials(again)]
    assert [each["persona_facts"] for each in trials(run, "withheld")] == [None] * 6
    held_back = [each["held_back"] for each in drawn["supplied"]]
    assert [[2] if 2 in numbers else [] for numbers in held_back] == [
        each["held_back"] for each in drawn["some"]
    ]
    assert len(set(map(tuple, held_back))) > 1
    other = hold(folder, half, conditions=conditions, options={"trials": 6, "seed": 4})
    assert [each["persona_facts"]["held_back"] for each in trials(other)] != held_back


def test_a_fact_is_told_once_it_was_asked_for_twice(folder: Path) -> None:
    facts = {"holdsBack": [1], "until": "asked_twice"}
    [first, _] = trials(hold(folder, facts, times=1))
    assert lines(first) == [UNKNOWN, "It is 5 mg."]
    [second, _] = trials(hold(folder, facts, times=2))
    assert lines(second) == [UNKNOWN, "I live in Sydney.", "It is 5 mg."]
    assert [fact["fact"] for fact in second["facts"]] == [1, 2]


def test_a_wrong_value_is_told_and_said_beside_the_score_in_every_view(folder: Path) -> None:
    run = hold(folder, {"holdsBack": [1], "wrong": {"5 mg": "50 mg"}}, options={"trials": 1})
    [trial] = trials(run)
    assert lines(trial) == [UNKNOWN, "It is 50 mg."]
    [fact] = trial["facts"]
    assert fact["text"] == "The dose is 50 mg of warfarin"
    assert trial["persona_facts"]["wrong"] == [{"fact": 2, "right": "5 mg", "wrong": "50 mg"}]
    assert trial["fault"] == "none"
    assert run.to_dict()["conditions"]["withheld"]["trials"][0]["persona_facts"] is None
    words = (
        "the user held back 1 of 2 facts and got 1 wrong: “50 mg” for “5 mg” (persona forgetful)"
    )
    assert words in call("runs", "show", run.run_id).stdout
    for form in ("html", "md"):
        call("runs", "report", run.run_id, "--format", form, "--output", f"report.{form}")
        shown = Path(f"report.{form}").read_text(encoding="utf-8")
        assert words in shown
        assert "held back" in shown.replace(words, "")


def test_a_run_says_in_one_line_what_the_persona_did_in_all_trials(folder: Path) -> None:
    run = hold(folder, {"holdsBack": [1], "wrong": {"5 mg": "50 mg"}})
    words = "the user held back 2 of 4 facts and got 2 wrong in 2 conversations (persona forgetful)"
    assert ("USERS", words) in run.answer.lines
    assert words in call("runs", "show", run.run_id).stdout
    plain = hold(folder, {"holdsBack": 0}, options={"trials": 1})
    assert "USERS" not in dict(plain.answer.lines)


def test_a_value_is_wrong_where_it_stands_as_a_whole_and_facts_are_counted(folder: Path) -> None:
    facts = ["The dose is 5 mg at 5 pm", "It was 5.5 mg or 1.5 mg", "The user is 5 years old"]
    personas = [{"name": "odd", "facts": {"wrong": {"5": "50"}}}]
    job = yaml.safe_dump({**JOB, "facts": facts, "personas": personas})
    (folder / "job.yml").write_text(job, encoding="utf-8")
    run = evaluate(folder / "job.yml", agent=asking(1), progress=False, graph="none", trials=1)
    [trial] = trials(run)
    assert [each["fact"] for each in trial["persona_facts"]["wrong"]] == [1, 3]
    assert "got 2 wrong: “50” for “5” (" in call("runs", "show", run.run_id).stdout
    warned = [str(each) for each in check_job(folder / "job.yml").problems]
    told = "“5” stands in facts 1 and 3, and each is told wrong: write more of it, such as 5 mg"
    assert any(told in each for each in warned)


def test_the_placebo_user_is_yoked_to_what_is_told(folder: Path) -> None:
    told = hold(folder, {"holdsBack": [1]}, controls=True, options={"trials": 1})
    [trial] = trials(told, "placebo")
    first, second = lines(trial)
    assert first == UNKNOWN
    assert second.startswith(f"{UNKNOWN} ")
    assert trial["persona_facts"] is None


def test_the_stand_in_has_only_the_facts_that_it_tells(folder: Path) -> None:
    stand_in = {"kind": "stand-in", "options": {"until": "is set"}}
    facts = {"holdsBack": [1], "wrong": {"5 mg": "50 mg"}}
    parts = {"evaluator": stand_in, "greetings": ["Please set a reminder for my warfarin"]}
    [trial, _] = trials(hold(folder, facts, **parts))
    assert lines(trial) == ["The dose is 50 mg of warfarin"]
    late = {**facts, "until": "asked_twice"}
    [trial, _] = trials(hold(folder, late, times=2, **parts))
    assert lines(trial) == ["The user lives in Sydney", "The dose is 50 mg of warfarin"]
    assert [fact["fact"] for fact in trial["facts"]] == [1, 2]


@pytest.mark.parametrize(
    ("facts", "field", "says"),
    [
        ("holdsBack: 1.2", "personas[0].facts.holdsBack", "must be at most 1"),
        ("holdsBack: -0.1", "personas[0].facts.holdsBack", "must be at least 0"),
        ("holdsBack: [1, 3]", "personas[0].facts.holdsBack[1]",
            "there is no fact 3: the job has 2 facts"),
        ("wrong: {7 mg: 70 mg}", "personas[0].facts.wrong.7 mg",
            "no fact says “7 mg” as a whole value"),
        ("wrong: {mg: gram}", "", ""),
        ("wrong: {the: a}", "wrong.the",
            "“the” stands in facts 1 and 2, and each is told wrong: write more of it"),
        ("holdsBack: 0.5", "facts.holdsBack",
            "is drawn anew in each run: give `seed:`, such as that of a run in its report"),
        ("wrong: {5 mg: about 5 mg}", "personas[0].facts", "still has the right value"),
        ("until: later", "personas[0].facts.until", "must be 'never' or 'asked_twice'"),
        ("holdBack: 0.5", "personas[0].facts.holdBack", "did you mean holdsBack?"),
    ],
)  # fmt: skip
def test_check_says_each_mistake_in_one_sentence(
    folder: Path, facts: str, field: str, says: str
) -> None:
    path = folder / "job.yml"
    whole = yaml.safe_dump(JOB) + "personas:\n  - name: forgetful\n    facts: {" + facts + "}\n"
    path.write_text(whole, encoding="utf-8")
    problems = [str(each) for each in check_job(path).problems if "personas" in str(each)]
    if not says:
        assert problems == []
        return
    [problem] = problems
    assert field in problem
    assert says in problem


def test_a_value_need_not_be_in_the_facts_of_every_case(folder: Path) -> None:
    (folder / "cases.csv").write_text("dose\n5 mg\n7 mg\n", encoding="utf-8")
    facts = ["The user lives in Sydney", "The dose is {{ case.dose }}"]
    for right, problems in (("7 mg", 0), ("9 mg", 1)):
        personas = [{"name": "odd", "facts": {"wrong": {right: "70 mg"}}}]
        job = {**JOB, "facts": facts, "personas": personas, "cases": "cases.csv"}
        (folder / "job.yml").write_text(yaml.safe_dump(job), encoding="utf-8")
        found = [each for each in check_job(folder / "job.yml").problems if "no fact" in str(each)]
        assert len(found) == problems


def test_check_warns_of_what_has_no_effect(folder: Path) -> None:
    lines_ = [*JOB["evaluator"]["lines"][:3], {"say": "It is five.", "fact": 2}]
    personas = [{"name": "odd", "rules": ["Be short"], "facts": {"wrong": {"5 mg": "50 mg"}}}]
    job = {**JOB, "evaluator": {"kind": "scripted", "lines": lines_}, "personas": personas}
    path = folder / "job.yml"
    path.write_text(yaml.safe_dump(job), encoding="utf-8")
    warned = [str(each) for each in check_job(path).problems]
    assert any("rules: no effect: only a model that plays the user" in each for each in warned)
    told = "tells fact 2 without “5 mg”, which the persona odd gets wrong: it is said as it stands"
    assert any(told in each for each in warned)


def test_the_example_in_the_docs_gives_the_line_that_stands_below_it(folder: Path) -> None:
    section = PAGE.read_text("utf-8").partition("#### Rules, and facts")[2]
    for language, name in (("yaml", "kept.yml"), ("python", "kept.py")):
        found = re.search(rf"```{language}\n(.*?)```", section, re.DOTALL)
        assert found is not None
        (folder / name).write_text(found[1], encoding="utf-8")
    line = re.search(r"^    (the user held back .*)$", section, re.MULTILINE)
    assert line is not None
    done = call("run", "kept.yml", "--code", ".", "--condition", "supplied", "--headless")
    rules = "personas[1].rules: no effect: only a model that plays the user is told them"
    assert f"note: {rules}" in done.stdout + done.stderr
    run = re.search(r"^run (\S+)", done.stdout, re.MULTILINE)
    assert run is not None
    shown = [call("runs", "show", run[1], "--trial", str(trial)).stdout for trial in (1, 2)]
    assert [line[1] in each for each in shown] == [False, True], done.stdout + shown[1]


def test_a_job_from_a_conversation_holds_the_same_facts_back(folder: Path) -> None:
    parts = {"assertions": [{"expression": "evaluation.transcript.isEmpty()"}]}
    run = hold(folder, {"holdsBack": 0.5, "wrong": {"5 mg": "50 mg"}}, **parts)
    drawn = trials(run)[1]["persona_facts"]["held_back"]
    done = call("new", "--from", run.run_id, "--trial", "2", "again.yml")
    made = yaml.safe_load((folder / "again.yml").read_text(encoding="utf-8"))
    facts = {"holdsBack": drawn, "wrong": {"5 mg": "50 mg"}}
    assert made["personas"][0]["facts"] == facts, done.stdout
