"""A recorded run's assertions checked again by a mended job, at the command line: without the
agent, and nothing is overwritten.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from bioeval_tui.base.errors import ExitCode
from bioeval_tui.base.settings import Settings
from bioeval_tui.record.events import AssertionChecked, ConversationScored
from bioeval_tui.record.importing.into_runs import import_recording
from bioeval_tui.record.reading import read_recording
from bioeval_tui.report.document import run_document
from bioeval_tui.report.result import load_run
from tests.command import call
from tests.documents import document_of
from tests.unit.record.test_versions import GOLDEN

EXISTS, GRAPH, DOSE, DELETED = range(4)
"""The recorded run's assertions: three on what is recorded, one on the graph."""


@pytest.fixture
def recording(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("BIOEVAL_DATA_DIR", str(tmp_path / "data"))
    return import_recording(GOLDEN / "version-1.jsonl", Settings.from_environment().runs_dir).path


def mended(recording: Path, folder: Path, change: Any) -> Path:
    """Write the run's job with its assertions changed."""
    job = json.loads(recording.read_bytes().splitlines()[0])["job"]
    job["assertions"] = change(job["assertions"]) or job["assertions"]
    file = folder / "mended.yml"
    file.write_text(json.dumps(job), encoding="utf-8")  # JSON is YAML, too
    return file


def rescore(recording: Path, file: Path, *more: str) -> Any:
    return call("runs", "rescore", recording.stem, "--job", file, *more)


def statuses(recording: Path, condition: str) -> dict[str, str]:
    talk = run_document(load_run(recording))["conditions"][condition]
    return {check["title"]: check["status"] for check in talk["assertions"]}


def invert_dose(assertions: list[dict[str, Any]]) -> None:
    assertions[DOSE]["expression"] = (
        '!objectContext.resources.any { it.properties["dose"] == "5 mg" }'
    )


def test_a_mended_assertion_changes_the_verdict_and_each_change_is_listed_with_old_and_new(
    recording: Path, tmp_path: Path
) -> None:
    before = recording.read_bytes()
    shown = rescore(recording, mended(recording, tmp_path, invert_dose), "--json")
    assert shown.return_value == ExitCode.OK, shown.output
    (printed,) = json.loads(shown.stdout)
    found = [
        (one["condition"], one["title"], one["old"], one["new"])
        for one in printed["changed_assertions"]
    ]
    assert found == [
        ("withheld", "the dose is in the reminder", "failed", "passed"),
        ("supplied", "the dose is in the reminder", "passed", "failed"),
    ]
    assert "objectContext.resources" in printed["changed_assertions"][1]["why"]
    assert printed["changed_assertions"][1]["job"] == "mended.yml"
    # Weights 3, 2, 1, 1: with the facts, 6 of 7 pass now. The other parts, 1 and 2·1, are as
    # recorded.
    assert printed["scores"]["supplied"] == pytest.approx(round((1 + 2 + 4 * 6 / 7) / 7, 2))
    assert recording.read_bytes() == before, "the recording keeps what was found then"
    assert statuses(recording, "supplied")["the dose is in the reminder"] == "failed"


def test_the_change_is_said_on_the_console_in_show_and_in_reports(
    recording: Path, tmp_path: Path
) -> None:
    line = (
        "with the facts, trial 1, “the dose is in the reminder”: recorded passed, in mended.yml"
        " failed"
    )
    said = rescore(recording, mended(recording, tmp_path, invert_dose))
    assert line in said.stdout
    assert line in call("runs", "show", recording.stem).stdout
    for kind in ("md", "html"):
        assert line in document_of(kind, load_run(recording))


def test_the_newest_counts_in_gates_and_the_recorded_one_as_recorded(
    recording: Path, tmp_path: Path
) -> None:
    gate = ("runs", "gate", recording.stem, "--fail-under", "supplied.assertion:1")
    assert call(*gate).return_value == ExitCode.OK
    rescore(recording, mended(recording, tmp_path, invert_dose))
    assert call(*gate).return_value == ExitCode.BELOW
    recorded = load_run(recording, as_recorded=True)
    talk = run_document(recorded)["conditions"]["supplied"]
    assert {check["status"] for check in talk["assertions"]} == {"passed"}
    # By the recorded criteria again, nothing of the mended job counts.
    assert call("runs", "rescore", recording.stem).return_value == ExitCode.OK
    assert call(*gate).return_value == ExitCode.OK


def test_an_assertion_on_the_graph_says_that_it_cannot_be_checked_again(
    recording: Path, tmp_path: Path
) -> None:
    unchanged = rescore(recording, mended(recording, tmp_path, invert_dose))
    says = "“the reminder has the right time zone” cannot be checked again: it asks the graph"
    assert says in unchanged.stderr
    assert "the recorded verdict stays" in unchanged.stderr
    assert statuses(recording, "supplied")["the reminder has the right time zone"] == "passed"

    def other_query(assertions: list[dict[str, Any]]) -> None:
        assertions[GRAPH]["expected"] = 2

    changed = rescore(recording, mended(recording, tmp_path, other_query), "--json")
    assert changed.return_value == ExitCode.NOT_MEASURED
    assert says in changed.stderr
    (printed,) = json.loads(changed.stdout)
    assert [(one["old"], one["new"]) for one in printed["changed_assertions"]] == [
        ("failed", "not_measured"),
        ("passed", "not_measured"),
    ]
    assert printed["scores"] == {"withheld": None, "supplied": None}


def test_assertions_may_be_added_left_out_and_in_another_order(
    recording: Path, tmp_path: Path
) -> None:
    def change(assertions: list[dict[str, Any]]) -> list[dict[str, Any]]:
        calls = {
            "toolCalls": {"mustNotCall": ["createReminder"]},
            "name": "sets no reminder",
            "weight": 7,
        }
        says = {
            "expression": 'evaluation.transcript.any { "warfarin" in it.content }',
            "name": "says the name",
        }
        return [says, assertions[DELETED], assertions[GRAPH], assertions[EXISTS], calls]

    shown = rescore(recording, mended(recording, tmp_path, change), "--json")
    assert shown.return_value == ExitCode.OK, shown.output
    (printed,) = json.loads(shown.stdout)
    found = {
        (one["condition"], one["title"]): (one["old"], one["new"])
        for one in printed["changed_assertions"]
    }
    assert found["supplied", "says the name"] == (None, "passed")
    assert found["supplied", "sets no reminder"] == (None, "failed")
    assert found["withheld", "sets no reminder"] == (None, "passed")
    assert found["supplied", "the dose is in the reminder"] == ("passed", None)
    assert ("supplied", "nothing was deleted") not in found
    assert list(statuses(recording, "supplied").values()) == [
        "passed",
        "passed",
        "passed",
        "passed",
        "failed",
    ]


def test_what_was_held_gives_the_recorded_verdicts_again(recording: Path, tmp_path: Path) -> None:
    """The state, transcript and calls of the recording are those that the live assertions saw."""

    def renamed(assertions: list[dict[str, Any]]) -> None:
        for number, each in enumerate(assertions):
            each["name"] = f"number {number}"

    recorded = [
        e for e in read_recording(recording).events if isinstance(e, AssertionChecked) and e.final
    ]
    shown = rescore(recording, mended(recording, tmp_path, renamed), "--json")
    (printed,) = json.loads(shown.stdout)
    assert printed["changed_assertions"] == []
    run = load_run(recording)
    again = [check for talk in run.conversations for check in talk.final_checks.values()]
    assert [(c.index, c.status, c.observed) for c in again] == [
        (c.index, c.status, c.observed) for c in recorded
    ]
    scored = [e for e in read_recording(recording).events if isinstance(e, ConversationScored)]
    assert [talk.score for talk in run.conversations] == [e.score for e in scored]


def test_a_state_that_was_not_recorded_is_not_measured(recording: Path, tmp_path: Path) -> None:
    rows = [json.loads(line) for line in recording.read_bytes().splitlines()]
    for row in rows:
        if row["kind"] == "state_observed":
            row |= {
                "object_context": None,
                "error": "the object context is too large and is not kept",
            }
    recording.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    shown = rescore(recording, mended(recording, tmp_path, invert_dose))
    assert shown.return_value == ExitCode.NOT_MEASURED
    assert (
        "the recording has no object context of the end: the object context is too large"
        in shown.output
    )


def test_a_job_without_tasks_is_checked_again_without_a_judge(
    recording: Path, tmp_path: Path
) -> None:
    rows = [json.loads(line) for line in recording.read_bytes().splitlines()]
    rows[0]["job"]["tasks"] = []
    rows = [row for row in rows if row["kind"] != "transcript_scored"]
    recording.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    file = mended(recording, tmp_path, invert_dose)
    shown = rescore(recording, file, "--json")
    assert shown.return_value == ExitCode.OK, shown.output
    assert len(json.loads(shown.stdout)[0]["changed_assertions"]) == 2


def rewrite(recording: Path, change: Any) -> None:
    rows = [json.loads(line) for line in recording.read_bytes().splitlines()]
    rows = [row for row in rows if change(row) is not False]
    recording.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def test_a_conversation_in_which_the_agent_said_nothing_is_checked_again_too(
    recording: Path, tmp_path: Path
) -> None:
    def silent(row: dict[str, Any]) -> bool:
        of_agent = row["kind"].startswith("message_") and row.get("role") == "assistant"
        if row["kind"] == "conversation_ended" and row["condition"] == "withheld":
            row |= {"reason": "agent_failed", "fault": "agent"}
        return not (of_agent and row["condition"] == "withheld") and row["kind"] != "message_delta"

    rewrite(recording, silent)
    shown = rescore(recording, mended(recording, tmp_path, invert_dose), "--json")
    assert shown.return_value == ExitCode.OK, shown.output
    (printed,) = json.loads(shown.stdout)
    assert [one["condition"] for one in printed["changed_assertions"]] == ["withheld", "supplied"]
    assert printed["scores"]["withheld"] is not None


def test_assertions_are_filled_in_from_the_cases_of_the_given_job(
    recording: Path, tmp_path: Path
) -> None:
    """A run of two cases, in both of which the agent set the dose of 5 mg; one case asks for
    another.
    """

    def with_cases(row: dict[str, Any]) -> None:
        if row["kind"] == "run_started":
            parts = {key: row["job"][key] for key in ("tasks", "facts", "setups", "assertions")}
            row["cases"] = [{"name": name, "parts": parts} for name in ("five", "ten")]
            row["trials"] = 2

    def twice(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
        held = [row for row in rows if row.get("condition")]
        return [rows[0], *held, *({**row, "trial": 2} for row in held), rows[-1]]

    rewrite(recording, with_cases)
    rows = twice([json.loads(line) for line in recording.read_bytes().splitlines()])
    numbered = (json.dumps({**row, "seq": seq}) for seq, row in enumerate(rows, start=1))
    recording.write_text("\n".join(numbered) + "\n", encoding="utf-8")
    (tmp_path / "cases.jsonl").write_text(
        '{"name": "five", "dose": "5 mg"}\n{"name": "ten", "dose": "10 mg"}\n', encoding="utf-8"
    )

    def by_case(assertions: list[dict[str, Any]]) -> None:
        assertions[DOSE]["expression"] = (
            'objectContext.resources.any { it.properties["dose"] == {{ case.dose }} }'
        )

    file = mended(recording, tmp_path, by_case)
    job = json.loads(file.read_text(encoding="utf-8")) | {
        "cases": {"file": "cases.jsonl", "id": "name"}
    }
    file.write_text(json.dumps(job), encoding="utf-8")
    shown = rescore(recording, file, "--json")
    assert shown.return_value == ExitCode.OK, shown.output
    (printed,) = json.loads(shown.stdout)
    found = [
        (one["condition"], one["trial"], one["old"], one["new"])
        for one in printed["changed_assertions"]
    ]
    assert found == [("supplied", 2, "passed", "failed")]


def test_assertions_on_an_imported_log_are_checked_where_it_has_what_they_ask(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BIOEVAL_DATA_DIR", str(tmp_path / "data"))
    call_made = {
        "id": "c1",
        "type": "function",
        "function": {"name": "search", "arguments": '{"of": "warfarin"}'},
    }
    messages = [
        {"role": "user", "content": "Is it safe?"},
        {"role": "assistant", "content": None, "tool_calls": [call_made]},
        {"role": "tool", "tool_call_id": "c1", "content": "It thins the blood."},
        {"role": "assistant", "content": "Ask a pharmacist."},
    ]
    log = tmp_path / "log.jsonl"
    log.write_text(json.dumps({"messages": messages}) + "\n", encoding="utf-8")
    job = tmp_path / "job.yml"
    job.write_text(
        "target: {user: ada, chatbot: bot}\naspirationalAverage: 1000\nscorer: {kind:"
        " rules}\nfacts: [She takes warfarin]\ntasks: [{task: Learn whether it is safe, rules:"
        " [{pattern: pharmacist}]}]\nassertions:\n  - {name: looks it up, toolCalls: {mustCall:"
        " [search]}}\n  - {name: asks twice, toolCalls: {calls: [search, search]}}\n  - {name:"
        " keeps a note, expression: 'objectContext.resources.size == 1'}\n",
        encoding="utf-8",
    )
    imported = call("runs", "import", log, "--job", job)
    assert imported.exception is None, imported.exception
    (path,) = Settings.from_environment().runs_dir.glob("*.jsonl")
    shown = rescore(path, job, "--json")
    assert shown.return_value == ExitCode.NOT_MEASURED
    assert (
        "“keeps a note” cannot be checked again: the recording has no object context of the end"
        in shown.stderr
    )
    (printed,) = json.loads(shown.stdout)
    assert [(one["title"], one["old"], one["new"]) for one in printed["changed_assertions"]] == [
        ("looks it up", None, "passed"),
        ("asks twice", None, "failed"),
        ("keeps a note", None, "not_measured"),
    ]
