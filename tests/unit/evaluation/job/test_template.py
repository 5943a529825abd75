"""A new job is valid whatever you answer."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bioeval_tui.evaluation.job.template import Answers, Script, in_first_person, job_text
from bioeval_tui.evaluation.wiring.check_job import check_job
from tests.command import call, schema_of


@pytest.mark.parametrize(
    "answers",
    [
        Answers(),
        Answers(offline=True),
        Answers(fact="", offline=True),
        Answers(task="Find a trial", script=None),
        Answers(script=Script("a: b", '"c" #d', "e|f: g", "(h)"), offline=True),
        Answers(user='a "quoted": #user', task="- [x] {y}\nnext: line", criteria="\x1b[2J", fact="no"),
    ],
)
def test_a_new_job_has_no_problems(answers: Answers, tmp_path: Path) -> None:
    path = tmp_path / "job.yml"
    path.write_text(job_text(answers), encoding="utf-8")
    assert [str(problem) for problem in check_job(path).problems] == []


def test_new_asks_questions_writes_a_job_and_never_overwrites_one(tmp_path: Path) -> None:
    path = tmp_path / "job.yml"
    lines = ["grace", "bot", "http://127.0.0.1:9000", "rest", "2", "Find a trial", "It names one"]
    lines += ["The patient carries BRCA1", "y", "Is there a trial for me?", "", "which gene", "NCT[0-9]+"]
    result = call("new", path, input="\n".join(lines) + "\n")
    assert result.exit_code == 0, result.output
    checked = check_job(path)
    assert checked.loaded is not None
    assert checked.loaded.job.target.user == "grace"
    assert checked.loaded.job.aspirational_average == 2000
    said = [(line.say, line.when, line.fact) for line in checked.loaded.job.evaluator.lines]
    assert said == [
        ("Is there a trial for me?", None, None),
        ("I carry BRCA1.", "which gene", 1),
        ("I'd rather not say.", "which gene", None),
    ]
    (task,) = checked.loaded.job.tasks
    assert [(rule.pattern, rule.only, rule.absent) for rule in task.rules] == [
        ("which gene", None, False),
        ("NCT[0-9]+", "supplied", False),
        ("NCT[0-9]+", "withheld", True),
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
    assert json.loads((tmp_path / "job.schema.json").read_text(encoding="utf-8")) == schema_of("job")
