"""`--redact`: no screen, report, export or picture of a recording says who the person was."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path

import click
import pytest

from bioeval_tui.cli.main import main
from bioeval_tui.grade.task_report import ReportExtra
from bioeval_tui.grading import TaskReport
from bioeval_tui.record import events
from bioeval_tui.record.events import read_event
from bioeval_tui.record.masking import current, use
from bioeval_tui.record.masking.mask import Mask
from bioeval_tui.record.masking.rules import load_rules
from bioeval_tui.record.overlay import append_numbered
from bioeval_tui.record.reading import read_recording
from bioeval_tui.record.state import RunState, apply
from tests.command import call, group
from tests.integration.marked import GOLDEN, NAME, RULES, leaks, marked_lines
from tests.integration.program import sample_agent

RUN, OTHER = "20261120-210356-44c7", "20261121-000000-beef"
DATA_OF = ("--data-dir", NAME)


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with two recordings, a later judging, a job file and a graded report, all of them
    about a person.
    """
    folder = tmp_path_factory.mktemp("masking")
    runs = folder / "data" / "runs"
    runs.mkdir(parents=True, mode=0o700)
    lines = marked_lines()
    (runs / f"{RUN}.jsonl").write_bytes(b"".join(lines))
    (runs / f"{OTHER}.jsonl").write_bytes(
        b"".join(line.replace(RUN.encode(), OTHER.encode()) for line in lines)
    )
    verdict = next(
        event for event in map(read_event, lines) if isinstance(event, events.TranscriptScored)
    )
    append_numbered(
        runs / f"{RUN}.jsonl",
        [verdict.model_copy(update={"author": NAME, "judge": f"judge of {NAME}"})],
    )
    (folder / "rules.yml").write_text(RULES, "utf-8")
    jobs = folder / "jobs"
    jobs.mkdir()
    job = (Path(__file__).parents[2] / "sample_jobs" / "medication_reminder.yml").read_text("utf-8")
    (jobs / "zedekiah_quartermain.yml").write_text(
        f"# for {NAME}\n{job.replace('warfarin', NAME)}", "utf-8"
    )
    lost = replace(report(), score=None, valid_submission=False)
    listed = [report().to_dict(), lost.to_dict()]
    (folder / "reports.json").write_text(json.dumps(listed), "utf-8")
    return folder


def report() -> TaskReport:
    """A submission by the person."""
    return TaskReport(
        task_id="oncology/breast-cancer", score=0.9, gold_threshold=0.99, silver_threshold=0.95,
        bronze_threshold=0.9,
        median_threshold=0.8, any_medal=True, gold_medal=False, silver_medal=False,
        bronze_medal=True, above_median=True,
        submission_exists=True, valid_submission=True, is_lower_better=False,
        created_at=datetime(2026, 1, 1, tzinfo=UTC),
        submission_path=f"/data/{NAME}/submission.csv",
        extra=ReportExtra(agent=NAME, warnings=(f"about {NAME}",)),
    )  # fmt: skip


OUTPUTS: dict[str, Sequence[str]] = {
    "html": ("runs", "report", RUN, OTHER, "--format", "html"),
    "md": ("runs", "report", RUN, "--format", "md"),
    "json": ("runs", "report", RUN, "--format", "json"),
    "inspect": ("runs", "export", RUN, "--to", "inspect"),
    "openai": ("runs", "export", RUN, "--to", "openai-jsonl"),
    "csv": ("runs", "export", RUN, "--to", "csv"),
    "compare": ("runs", "compare", RUN, OTHER, "--texts"),
    "compare json": ("runs", "compare", RUN, OTHER, "--json"),
    "explain": ("runs", "explain", RUN),
    "explain json": ("runs", "explain", RUN, "--json"),
    "show": ("runs", "show", RUN),
    "show json": ("runs", "show", RUN, "--json"),
    "list": ("runs", "list"),
    "list json": ("runs", "list", "--json"),
    "junit": ("runs", "gate", RUN, "--fail-under", "0.1", "--junit", "{folder}/out.xml", "--json",
        "{folder}/gate.json", "--md", "{folder}/out.md"),
    "medals": ("medals", "{folder}/reports.json", "--table", *DATA_OF),
    "medals html": ("medals", "{folder}/reports.json", "--format", "html", *DATA_OF),
    "medals md": ("medals", "{folder}/reports.json", "--format", "md", *DATA_OF),
    "medals csv": ("medals", "{folder}/reports.json", "--format", "csv"),
    "medals json": ("medals", "{folder}/reports.json", "--json"),
}  # fmt: skip


def outputs(folder: Path, *options: str) -> dict[str, str]:
    """Return what each command says, on both streams and into files."""
    found = {}
    for name, arguments in OUTPUTS.items():
        given = [argument.format(folder=folder) for argument in arguments]
        done = call(*given, *options, catch_exceptions=False)
        use(Mask())
        files = [
            Path(argument) for argument in given if argument.endswith((".xml", "gate.json", ".md"))
        ]
        found[name] = done.stdout + done.stderr + "".join(path.read_text("utf-8") for path in files)
    return found


def recorded_hashes(recordings: Mapping[Path, bytes]) -> set[str]:
    """Return the beginnings of all hashes of texts in recordings."""
    found: set[str] = set()
    for line in chain.from_iterable(data.splitlines() for data in recordings.values()):
        row = json.loads(line)
        hashes = [row.get(name) for name in ("job_sha256", "question", "digest")]
        hashes += [*row.get("prompts", {}).values(), *row.get("digests", {}).values()]
        found |= {one[:8] for one in hashes if one}
    return found


def test_no_report_and_no_export_names_the_person(
    recorded: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BIOEVAL_DATA_DIR", str(recorded / "data"))
    before = {path: path.read_bytes() for path in (recorded / "data" / "runs").glob("*.jsonl")}
    masked = outputs(recorded, "--redact", str(recorded / "rules.yml"))
    assert {name: leaks(text) for name, text in masked.items() if leaks(text)} == {}
    for name in ("html", "md"):
        assert "not de-identification" in masked[name]
    for name in ("json", "inspect", "show json", "compare json", "list json", "medals json"):
        json.loads(masked[name])
    tags = {name: set(re.findall(r"\[PASSPORT-\w{5}\]", text)) for name, text in masked.items()}
    assert len(set().union(*tags.values())) == 1  # one passport, one tag, wherever it stands
    # Who has the job but for the name could confirm a guess with a hash of it.
    written = recorded_hashes(before)
    assert {name for name, text in masked.items() if any(one in text for one in written)} == set()
    # The recordings are as they were, and without rules every one of these would have named the
    # person.
    assert {path: path.read_bytes() for path in before} == before
    plain = outputs(recorded)
    assert {"html", "md", "json", "inspect", "junit", "list json"} <= {
        name for name, text in plain.items() if any(one in text for one in written)
    }
    assert {name for name, text in plain.items() if not leaks(text)} <= {"explain", "explain json"}
    assert all("[PATIENT-1]" not in text for text in plain.values())


def test_every_command_that_shows_recordings_takes_rules() -> None:
    program, _ = group()
    context = click.Context(program)
    without = set()
    for name in program.table:
        command = program.get_command(context, name)
        each = [command]
        if isinstance(command, click.Group):
            each = [command.get_command(context, one) for one in command.list_commands(context)]
        without |= {name for one in each if not any(p.name == "redact" for p in one.params)}
    hidden = {
        "check",
        "schema",
        "assert",
        "agent",
        "grade",
        "grade-sample",
        "validate",
        "tasks",
        "baseline",
        "ledger",
        "plan",
        "samples",
        "docs",
        "doctor",
        "engine",
    }
    assert without == hidden, "whatever is new is thought about"


def test_invalid_rules_are_one_sentence_before_anything_is_shown(
    recorded: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("BIOEVAL_DATA_DIR", str(recorded / "data"))
    (tmp_path / "rules.yml").write_text("names:\n  - 42\n")
    monkeypatch.setattr(
        "sys.argv", ["bioeval-tui", "runs", "show", RUN, "--redact", str(tmp_path / "rules.yml")]
    )
    with pytest.raises(SystemExit) as stopped:
        main()
    said = capsys.readouterr()
    assert (stopped.value.code, said.out) == (2, "")
    assert said.err.endswith(
        "rules.yml:2:5: names[0]: text is needed here; put a number in quotes, such as '0042'\n"
    )


def test_no_state_of_a_replay_ever_names_the_person(recorded: Path) -> None:
    """Folded event by event, as a screen sees it: also between two pieces of a name."""
    use(Mask(load_rules(recorded / "rules.yml", recorded)))
    path = recorded / "data" / "runs" / f"{RUN}.jsonl"
    state, shown, partial = RunState(), set(), 0
    for event in read_recording(path).events:
        apply(state, event)
        for talk in state.conversations.values():
            shown |= {message.text for message in talk.messages}
            partial += sum(not message.done and bool(message.text) for message in talk.messages)
    assert partial > 100
    assert [text for text in shown if leaks(text)] == []
    beginnings = [
        text[-n:]
        for text in shown
        for n in range(4, 12)
        if len(text) >= n and leaks_beginning(text[-n:])
    ]
    assert beginnings == []
    assert len(read_recording(path).events) == len(path.read_bytes().splitlines())


def leaks_beginning(text: str) -> bool:
    """Say whether a text is the beginning of a mark."""
    return any(
        mark.lower().startswith(text.lower())
        for mark in ("Zedekiah", "Quartermain", "ZQ-004", "NX4815")
    )


async def test_the_masked_end_of_an_unfinished_message_is_shown_at_the_end(
    recorded: Path, tmp_path: Path
) -> None:
    from bioeval_tui.record.reading import follow

    lines = (recorded / "data" / "runs" / f"{RUN}.jsonl").read_bytes().splitlines(keepends=True)
    last = max(n for n, line in enumerate(lines[:200]) if b'"message_delta"' in line)
    cut = tmp_path / "cut.jsonl"
    cut.write_bytes(b"".join(lines[: last + 1]))
    use(Mask(load_rules(recorded / "rules.yml", recorded)))
    followed = [
        event async for batch in follow(cut, still_written=lambda: False) for event in batch
    ]
    states = [RunState(), RunState()]
    for state, many in zip(states, (followed, read_recording(cut).events), strict=True):
        for event in many:
            apply(state, event)
    live, read = (
        [m.text for talk in s.conversations.values() for m in talk.messages] for s in states
    )
    assert live == read
    use(Mask())
    raw = RunState()
    for event in read_recording(cut).events:
        apply(raw, event)
    open_text = list(raw.conversations.values())[-1].messages[-1].text
    assert live[-1] == load_rules(recorded / "rules.yml", recorded).replace(open_text)


def test_without_rules_nothing_is_masked() -> None:
    assert not current().active
    assert [e.model_dump() for e in read_recording(GOLDEN).events] == [
        read_event(line).model_dump() for line in GOLDEN.read_bytes().splitlines()
    ]


@pytest.mark.parametrize("trials", [1, 2])
def test_headless_output_is_masked_and_the_recording_is_not(
    trials: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BIOEVAL_DATA_DIR", str(tmp_path))
    (tmp_path / "rules.yml").write_text("names: [Socrates]\nidentifiers: [warfarin]\n")
    options = ("--headless", "--redact", tmp_path / "rules.yml")
    if trials == 1:
        said = call("demo", *options, catch_exceptions=False)
    else:  # what was said in several trials is read from the recording, not kept
        asked = ("medication_reminder", "--rehearsal", "--repeat", trials)
        with sample_agent(tmp_path, "--guess") as url:
            said = call("run", *asked, "--agent-url", url, *options, catch_exceptions=False)
    assert "WHY" in said.stdout
    assert "[ID-1]" in said.stdout
    assert "warfarin" not in (said.stdout + said.stderr).lower()
    (recording,) = (tmp_path / "runs").glob("*.jsonl")
    text = recording.read_text("utf-8")
    assert "warfarin" in text
    assert "Socrates" in text
    assert "[ID-1]" not in text
