"""How the simulated user speaks, compared with people in every view of a run."""

from __future__ import annotations

import json
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from bioeval_tui.record.importing.into_runs import import_file
from bioeval_tui.report import manner
from bioeval_tui.report.comparison import compare
from bioeval_tui.report.document import run_document
from bioeval_tui.report.formats.console import print_comparison
from bioeval_tui.report.manner import manners
from bioeval_tui.report.result import load_run
from tests.command import call
from tests.documents import document_of
from tests.unit.report.recorded import Recorded, Talk

GOLDEN = Path(__file__).parents[2] / "golden"
CRAFT_MD = GOLDEN / "published" / "craft-md-25.jsonl"


def test_a_simulated_patient_is_compared_with_people_in_show_and_reports(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BIOEVAL_DATA_DIR", str(tmp_path))
    path = import_file(CRAFT_MD, tmp_path / "runs").path
    run = load_run(path)
    (found,) = manners([run])
    rows = {row.name: row for row in found.rows}
    assert found.conversations == 25
    assert rows["questions"].unlike is False
    assert rows["out_of_role"].unlike  # "The case vignette does not mention a rash"
    assert rows["out_of_role"].people == "0.0 % (0.0 % to 0.0 %)"
    assert rows["words_per_turn"].people == "12.7 (5.4 to 26.9)"
    assert rows["facts_in_first_answer"].people == "not known"
    shown = call("runs", "show", path.stem).stdout
    for text in (shown, document_of("md", run), document_of("html", run)):
        assert "turns out of role" in text
        assert "PriMock57 (CC BY 4.0)" in text
        assert "unlike these people" in text
        assert "simulated user" not in text, "another system spoke"
        assert "the user, with the facts" in text.lower() or "does the user speak" in text.lower()
    told = run_document(run)["realism"]["supplied"]["figures"]["out_of_role"]
    assert (told["unlike_people"], told["people"]) == (True, [0.0003, 0.0, 0.0])


def test_speaker_labels_do_not_change_the_figures(tmp_path: Path) -> None:
    lines = [json.loads(line) for line in CRAFT_MD.read_text(encoding="utf-8").splitlines()]
    for line in lines:
        for message in line["messages"]:
            name = "Ada" if message["role"] == "user" else "Doctor"
            message["content"] = f"{name}: {message['content']}"
    named = tmp_path / "named.jsonl"
    named.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    one, two = (
        manners([load_run(import_file(f, tmp_path / "runs").path)])[0] for f in (CRAFT_MD, named)
    )
    assert one.rows == two.rows


def test_a_jobs_greeting_does_not_count_as_the_simulated_users_words() -> None:
    run = load_run(GOLDEN / "demo-run.jsonl")
    run.state.job["evaluator"]["kind"] = "llm"
    withheld, supplied = manners([run])
    assert withheld.user == "the simulated user"
    assert "## The simulated user, " in document_of("md", run)
    assert "Does the simulated user speak" in document_of("html", run)
    run.state.job["evaluator"]["kind"] = "human"
    assert manners([run])[0].user == "the user"
    run.state.job["evaluator"]["kind"] = "llm"
    said = [
        m.text
        for m in run.state.conversations[next(iter(run.state.conversations))].messages
        if m.role == "user"
    ]
    assert withheld.conversations == supplied.conversations == 1
    # one conversation tells of no other
    assert all(row.measure.interval is None for row in withheld.rows)
    assert withheld.note.startswith(
        "1 conversation is too few to tell whether this user is like people; 10 would"
    )
    mean = withheld.rows[0].measure.value
    assert mean is not None
    assert mean > len(said[0].split())  # "Hello" is left out
    assert withheld.rows[1].measure.value is None  # the facts were withheld


def test_turns_out_of_role_are_not_checked_where_the_guards_are_off() -> None:
    said = [Talk(latencies_ms=(1.0, 1.0))]
    for guards, shows in (("mark", "0.0 %"), ("off", "not checked")):
        job = {"evaluator": {"kind": "llm", "guards": guards}}
        (found,) = manners([Recorded(said, started={"job": job}).loaded()])
        assert {row.name: row.found for row in found.rows}["out_of_role"] == shows


def test_reports_of_a_rehearsal_compare_no_script_with_people_and_name_no_unasked_model() -> None:
    run = load_run(GOLDEN / "demo-run.jsonl")
    assert manners([run]) == []
    for text in (document_of("md", run), document_of("html", run)):
        assert "people" not in text
        assert "gpt-4.1-mini" not in text
    assert not run.brief.model
    assert "gpt-4.1-mini" not in run.summary.label
    printed = StringIO()
    print_comparison(compare(run, run), Console(file=printed, width=120))
    assert "gpt-4.1-mini" not in printed.getvalue()
    run.state.job["target"]["model"] = "gpt-4.1-mini"
    assert "gpt-4.1-mini" in document_of("html", run)


def test_a_user_who_speaks_another_language_is_not_compared_with_english_people(
    tmp_path: Path,
) -> None:
    said = [
        {"role": "assistant", "content": "Seit wann haben Sie die Schmerzen?"},
        {
            "role": "user",
            "content": (
                "Ich habe seit drei Tagen Schmerzen im Knie, und es wird leider nicht besser."
            ),
        },
    ]
    path = tmp_path / "german.jsonl"
    path.write_text(json.dumps({"id": "a", "messages": said}) + "\n", "utf-8")
    assert manners([load_run(import_file(path, tmp_path / "runs").path)]) == []


def test_a_large_run_is_measured_in_as_many_conversations_as_are_read_the_same_each_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = load_run(import_file(CRAFT_MD, tmp_path / "runs").path)
    (whole,) = manners([run])
    monkeypatch.setattr(manner, "MOST_MEASURED", whole.held)
    assert manners([run]) == [whole]
    assert "measured in" not in whole.note
    monkeypatch.setattr(manner, "MOST_MEASURED", whole.held - 1)
    (drawn,) = manners([run])
    assert (drawn.conversations, drawn.held) == (whole.held - 1, whole.held)
    assert drawn.note.startswith(f"measured in {whole.held - 1} of {whole.held} conversations. ")
    assert manners([run]) == [drawn]
