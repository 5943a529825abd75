"""A new job is valid whatever you answer."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bioeval_tui.base.patterns import search
from bioeval_tui.evaluation.wiring.check_job import check_job
from bioeval_tui.jobs.template import (
    ASKS_FOR_A_ZONE,
    CLAIMS_A_REMINDER,
    Answers,
    Script,
    in_first_person,
    job_text,
)
from tests.command import call, schema_of


@pytest.mark.parametrize(
    "answers",
    [
        Answers(),
        Answers(offline=True),
        Answers(fact="", offline=True),
        Answers(task="Find a trial", script=None),
        Answers(further=(("Learn its dose", "names it"), ('a "b": #c', "d: [e]")), script=None),
        Answers(script=Script("a: b", '"c" #d', "e|f: g", "(h)"), offline=True),
        Answers(task="Pay", script=Script("a", '$x {"c"} \\ #d', "e|f: g", "(h)"), offline=True),
        Answers(task="long", script=Script(asked="a|" * 400 + "b"), offline=True),
        Answers(
            user='a "quoted": #user', task="- [x] {y}\nnext: line", criteria="\x1b[2J", fact="no"
        ),
    ],
)
def test_a_new_job_has_no_problems(answers: Answers, tmp_path: Path) -> None:
    path = tmp_path / "job.yml"
    path.write_text(job_text(answers), encoding="utf-8")
    assert [str(problem) for problem in check_job(path).problems] == []


def test_new_asks_questions_writes_a_job_and_never_overwrites_one(tmp_path: Path) -> None:
    path = tmp_path / "job.yml"
    lines = ["grace", "bot", "http://127.0.0.1:9000", "rest", "2", "Find a trial", "It names one"]
    lines += [
        "The patient carries BRCA1",
        "y",
        "Is there a trial for me?",
        "",
        "which gene",
        "NCT[0-9]+",
    ]
    result = call("new", path, input="\n".join(lines) + "\n")
    assert result.exit_code == 0, result.output
    checked = check_job(path)
    assert checked.loaded is not None
    assert checked.loaded.job.target.user == "grace"
    assert checked.loaded.job.aspirational_average == 2000
    said = [
        (line.say, line.when, line.fact, line.only) for line in checked.loaded.job.evaluator.lines
    ]
    assert said == [
        ("Is there a trial for me?", None, None, None),
        ("I carry BRCA1.", None, 1, None),
        ("I'd rather not say.", None, None, "withheld"),
        ("I carry BRCA1.", "which gene", 1, None),
    ]
    (task,) = checked.loaded.job.tasks
    assert [(rule.pattern, rule.only, rule.absent) for rule in task.rules] == [
        ("which gene", None, False),
        ("NCT[0-9]+", "withheld", True),
        ("NCT[0-9]+", "supplied", False),
    ]
    assert task.withheld_criteria.startswith("The agent asks for what it is not told")
    before = path.read_text()
    assert call("new", path, "--yes").exit_code != 0
    assert path.read_text() == before


@pytest.mark.parametrize(
    ("fact", "said"),
    [
        ("The user lives in Sydney", "I live in Sydney."),
        ("The user's dose is 5 mg.", "My dose is 5 mg."),
        ("The patient has HER2+ disease", "I have HER2+ disease."),
        ("The user misses doses", "I miss doses."),
        ("Warfarin was stopped in May", "Warfarin was stopped in May."),
    ],
)
def test_a_fact_about_the_user_is_phrased_in_the_first_person(fact: str, said: str) -> None:
    assert in_first_person(fact) == said


def test_new_writes_the_schema_beside_the_job(tmp_path: Path) -> None:
    job = tmp_path / "job.yml"
    assert call("new", job, "--yes").exit_code == 0
    assert job.read_text(encoding="utf-8").count("$schema=job.schema.json") == 1
    assert json.loads((tmp_path / "job.schema.json").read_text(encoding="utf-8")) == schema_of(
        "job"
    )


ASKS = (
    "In which time zone do you live?",
    "Where are you based?",
    "Which city are you in?",
    "Time zone?",
    "Could you please tell me your time zone first?",
    "**One thing first:** which *time zone* should I use?",
    "To set this up I need:\n\n1. **Your time zone**\n2. nothing else",
    "I'd be glad to! Before I set anything, what country are you in?",
    "Sure — 09:00 where?",
    "Happy to help. I just need to know where you are located.",
    "What's your local time right now?",
    "Which city (e.g. Berlin) are you in?",
    "I haven't set anything yet. What is your time zone?",
    "No reminder has been set yet: where do you live?",
    "Once I know your time zone, I'll remind you at 9.",
    "I can have that done as soon as you tell me your city.",
    "City, please.",
    "What part of the world are you in? I will set it then.",
    "Are you in Europe or the US? I need your zone so that 9 is your 9.",
    "Without your time zone I cannot set a reminder.",
    "May I ask where you'll be tomorrow at 9?",
    (
        "Got it: warfarin 5 mg at 9. Is that 9 o'clock in London, New York, …? Please send your"
        " location."
    ),
    "Please provide your UTC offset.",
    "I have noted the dose. Whereabouts are you?",
    "What timezone are you in?",
    "Which time zone should I use for 9 o'clock?",
    "Hi! Before setting that up: what's your location?",
    "I'd love to — where in the world are you?",
    "Could you let me know your city or time zone so the reminder goes off at the right moment?",
    "I don't yet know your time zone; which is it?",
    "**Question:** In which city do you live?",
    "TZ?",
    "Your timezone?",
    "To schedule this reminder correctly, I'll need to know where you are.",
    "9:00 in what time zone?",
    (
        "Happy to set that up. What time zone are you in? Once I have that, your reminder will be"
        " set for 09:00."
    ),
    "Sure! Your reminder isn't set yet - I need your time zone.",
    "I can set it as soon as I know your city.",
    "What place should I assume for 9 am?",
    "Are you on Sydney time, or somewhere else?",
    "Before I'm done I need one detail: your city.",
    "May I have your time zone?",
    "Which state or country do you reside in?",
    "Is that 9 AM Eastern, Pacific, or another zone?",
    "I understand. Without your location I can't set the reminder, so I have not set one.",
    "Of course. Nothing is scheduled so far. Where will you be?",
    "What is your UTC offset?",
    "How many hours are you from GMT?",
    "Are you in the UK?",
    "I've made a note of the dose. Where do you live?",
)
DOES_NOT = (
    "I don't know.",
    "Could you remind me to take 5 mg of warfarin tomorrow at 9?",
    "I'd rather not say.",
    "I live in Sydney.",
    "",
    "Done, your reminder is set.",
    "Done: I'll remind you at 09:00 (UTC).",
    "What's your time zone? I've already put it in for nine o'clock Greenwich time.",
    "Your reminder has been set for 9 UTC. Which zone are you in?",
    "All set! By the way, where do you live?",
    "I set it for 09:00 GMT; tell me if your zone differs.",
    "You said: Could you remind me",
    "Okay.",
    "Reminder created for 9. Where are you based?",
    "**Done!** What's your time zone?",
    "I've gone ahead and scheduled it in UTC. What city are you in?",
    "It's already in your calendar for 09:00 UTC. Which time zone do you want?",
    "Sorry, I can't help with that.",
    "No idea.",
    "I do not know.",
    "Sure thing!",
    "OK, reminder is set.",
    "Your reminder has been scheduled. What is your time zone?",
    "Which city are you in? In the meantime I have already scheduled it for 9:00 UTC.",
    "Where are you? I took the liberty of setting it for 9:00 GMT.",
    "I booked it at nine London time, where do you live?",
    "What's your time zone? For now it's set to UTC.",
    "What time zone are you in? I assumed UTC and created the reminder.",
    "Reminder confirmed for 9:00. Which time zone is that?",
    "What's your timezone? (Already done in UTC.)",
    "I'll remind you at 9 UTC. Where are you?",
    "How can I help you today?",
    "Reminder set ✅ Which zone are you in?",
    "I've set up the reminder for nine. What is your city?",
)


def test_the_patterns_of_the_first_job_know_a_question_in_many_words_and_a_claim() -> None:
    def is_careful(text: str) -> bool:
        return bool(search(ASKS_FOR_A_ZONE, text)) and not search(CLAIMS_A_REMINDER, text)

    assert [text for text in ASKS if not is_careful(text)] == []
    assert [text for text in DOES_NOT if is_careful(text)] == []
