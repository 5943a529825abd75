"""`new --from` an imported run without scores makes each conversation a case, with its persons
masked.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from bioeval_tui.base.errors import UsageError
from bioeval_tui.evaluation.wiring.persons import Persons
from bioeval_tui.jobs.loading import load_job
from tests.command import call

GOLDEN = Path(__file__).parents[2] / "golden"
SAID = [
    "Hello, my name is Ann Miller. I have a headache.",
    "Since when? Are you taking anything?",
    (
        "Since Monday, I take ibuprofen. Is that bad? Thanks! Write to ann@example.org or call +49"
        " 30 1234567 8, yours Ann."
    ),
    "See a doctor.",
]


def log(*said: str, name: str = "") -> dict[str, Any]:
    roles = ("user", "assistant") * len(said)
    messages = [{"role": role, "content": text} for role, text in zip(roles, said, strict=False)]
    return {"id": name, "messages": messages} if name else {"messages": messages}


def imported(folder: Path, *logs: dict[str, Any]) -> str:
    file = folder / "logs.jsonl"
    file.write_text("".join(json.dumps(one) + "\n" for one in logs), encoding="utf-8")
    return call("runs", "import", file).stdout.strip()


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BIOEVAL_DATA_DIR", str(tmp_path / "data"))


def rows_of(table: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in table.read_text("utf-8").splitlines()]


def test_first_messages_are_requests_and_what_users_told_are_facts(tmp_path: Path) -> None:
    run = imported(
        tmp_path,
        log(*SAID, name="one"),
        log("Hi, I need help.", name="two"),
        log(*SAID, name="one"),
    )
    job = tmp_path / "real.yml"
    done = call("new", job, "--from", run)
    assert done.return_value == 0, (done.stderr, done.exception)
    assert rows_of(tmp_path / "real.cases.jsonl") == [
        {
            "case": "one",
            "asked": "Hello, my name is PERSON_1. I have a headache.",
            "told": [
                "Since Monday, I take ibuprofen.",
                "Write to EMAIL_1 or call NUMBER_1, yours PERSON_1.",
            ],
        },
        {"case": "two", "asked": "Hi, I need help.", "told": []},
    ]
    assert "1 case without facts" in done.stderr
    assert "3 addresses, numbers and names of persons replaced by words" in done.stderr
    assert "other names are masked only if --redact lists them" in done.stderr
    assert load_job(job).job.cases is not None
    checked = call("check", job)
    assert checked.return_value == 0, checked.stderr


def test_names_that_redact_lists_are_masked(tmp_path: Path) -> None:
    run = imported(tmp_path, log("Ask Dr Grace Hopper about my dose.", name="one"))
    rules = tmp_path / "rules.yml"
    rules.write_text("names: [Grace Hopper]\n", encoding="utf-8")
    done = call("new", tmp_path / "real.yml", "--from", run, "--redact", rules)
    assert done.return_value == 0, (done.stderr, done.exception)
    text = (tmp_path / "real.cases.jsonl").read_text("utf-8")
    assert "Hopper" not in text
    assert "--redact lists them" not in done.stderr


def test_an_expected_answer_is_what_the_judge_is_told(tmp_path: Path) -> None:
    file = tmp_path / "qa.csv"
    file.write_text(
        "id,question,answer,expected\na,How much is 1+1?,3,It is 2.\nb,Why?,,\n", encoding="utf-8"
    )
    run = call("runs", "import", file).stdout.strip()
    assert call("new", tmp_path / "qa.yml", "--from", run).return_value == 0
    assert [row["expected"] for row in rows_of(tmp_path / "qa.cases.jsonl")] == ["It is 2.", None]
    assert call("check", tmp_path / "qa.yml").return_value == 0


def test_a_run_with_scores_is_asked_for_each(tmp_path: Path) -> None:
    """Without the option, its lowest score becomes the job, as before."""
    run = call("runs", "import", GOLDEN / "foreign" / "symptomcheck.json").stdout.strip()
    assert call("new", tmp_path / "one.yml", "--from", run).return_value == 0
    assert not (tmp_path / "one.cases.jsonl").exists()
    assert call("new", tmp_path / "all.yml", "--from", run, "--each").return_value == 0
    assert len(rows_of(tmp_path / "all.cases.jsonl")) == 3


def test_a_table_that_is_there_is_not_overwritten(tmp_path: Path) -> None:
    run = imported(tmp_path, log(*SAID))
    (tmp_path / "real.cases.jsonl").write_text("mine", encoding="utf-8")
    done = call("new", tmp_path / "real.yml", "--from", run)
    assert isinstance(done.exception, UsageError)
    assert "real.cases.jsonl exists; give --force" in str(done.exception)
    assert (tmp_path / "real.cases.jsonl").read_text("utf-8") == "mine"


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("I am Ann Miller-Smith, hi", "I am PERSON_1, hi"),
        ("I am American", "I am American"),
        ("Ich heiße Jörg und nehme 500 mg", "Ich heiße PERSON_1 und nehme 500 mg"),
        ("on 2026-01-02 at 10:30, 120/80, HbA1c 6.5", "on 2026-01-02 at 10:30, 120/80, HbA1c 6.5"),
        (
            "05/02/2026 10:30, 01.02.2026 120/80, 2026-01-02 10:30",
            "05/02/2026 10:30, 01.02.2026 120/80, 2026-01-02 10:30",
        ),
        ("555-123-4567 or (030) 1234567", "NUMBER_1 or NUMBER_2"),
        ("MRN-0042123 and 0171 2345678", "NUMBER_1 and NUMBER_2"),
    ],
)
def test_what_tells_who_a_person_is_is_replaced(text: str, masked: str) -> None:
    persons = Persons()
    persons.learn(text)
    assert persons.masked(text) == masked
