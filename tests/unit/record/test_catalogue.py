"""The list of runs: built from files, rebuilt when damaged, honest about interrupted runs."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import sqlite3
import stat
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from bioeval_tui.base.errors import RecordingError, UsageError
from bioeval_tui.base.settings import Settings
from bioeval_tui.record import catalogue
from bioeval_tui.record.catalogue import Catalogue, RunFilter
from bioeval_tui.record.events import Reviewed, RunEvent, RunResumed, write_event
from bioeval_tui.record.overlay import append_numbered, append_reviews, read_overlay
from bioeval_tui.record.reading import read_recording
from bioeval_tui.record.runs import (
    CataloguedRun,
    LiveInfo,
    is_run_id,
    new_run_ids,
    overlay_path,
    process_start,
    write_live,
)
from bioeval_tui.record.state import RunState, apply_all
from bioeval_tui.tui.data.run_list import RunList
from tests.command import call
from tests.journals import write_hostile_journal
from tests.unit.record.test_state import recorded
from tests.unit.record.test_versions import GOLDEN
from tests.unit.report.recorded import Recorded, Talk, scoring
from tests.unit.report.test_judged_again import judged

ID = "20260101-000000-abcd"


def write(folder: Path, run_id: str, events: list[RunEvent]) -> Path:
    path = folder / f"{run_id}.jsonl"
    path.write_bytes(b"".join(map(write_event, events)))
    return path


def test_a_finished_run_is_listed_with_its_scores(tmp_path: Path) -> None:
    write(tmp_path, ID, list(recorded()))
    (run,) = Catalogue(tmp_path).runs()
    assert (run.run_id, run.job, run.status) == (ID, "job", "completed")
    assert run.scores.keys() == {"withheld", "supplied"}
    assert run.score is not None
    assert {"run_id", "job", "status", "started_at", "score", "fault"} <= run.to_dict().keys()


def test_a_run_without_its_end_is_listed_as_interrupted_with_its_messages(tmp_path: Path) -> None:
    events = list(recorded())
    write(tmp_path, ID, events[: len(events) // 2])
    (run,) = Catalogue(tmp_path).runs()
    assert run.status == "interrupted"
    done = sum(1 for event in events[: len(events) // 2] if event.kind == "message_completed")
    assert run.messages == done > 0


def test_a_run_whose_engine_is_alive_is_listed_as_running(tmp_path: Path) -> None:
    path = write(tmp_path, ID, list(recorded())[:3])
    write_live(path, LiveInfo(os.getpid(), process_start(os.getpid()), 1, "t"))
    assert Catalogue(tmp_path).runs()[0].status == "running"
    write_live(path, LiveInfo(os.getpid(), "a process that had our id before us", 1, "t"))
    assert Catalogue(tmp_path).runs()[0].status == "interrupted"


def test_the_list_follows_the_files_and_repairs_itself(tmp_path: Path) -> None:
    catalogue = Catalogue(tmp_path)
    path = write(tmp_path, ID, list(recorded())[:3])
    assert [run.status for run in catalogue.runs()] == ["interrupted"]
    write(tmp_path, ID, list(recorded()))
    assert [run.status for run in catalogue.runs()] == ["completed"]
    (tmp_path / "catalogue.sqlite").write_bytes(
        b"this is no database at all, but long enough" * 100
    )
    assert [run.status for run in catalogue.runs()] == ["completed"]
    path.unlink()
    assert catalogue.runs() == []


@pytest.mark.parametrize(
    "change", ["create table another (x)", "pragma user_version = 1", "drop index runs_open"]
)
def test_a_list_of_another_version_or_with_other_tables_is_made_anew(
    tmp_path: Path, change: str
) -> None:
    write(tmp_path, ID, list(recorded()))
    listed = Catalogue(tmp_path).runs()
    file = tmp_path / "catalogue.sqlite"

    def tables() -> tuple[Any, ...]:
        with contextlib.closing(sqlite3.connect(file)) as database:
            version = database.execute("pragma user_version").fetchone()
            return version, *database.execute("select name from sqlite_master order by name")

    before = tables()
    with contextlib.closing(sqlite3.connect(file)) as database, database:
        database.execute(change)
    assert tables() != before
    assert Catalogue(tmp_path).runs() == listed
    assert tables() == before


def test_a_damaged_list_leaves_no_connection_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Counted(sqlite3.Connection):
        open = 0

        def __init__(self, *given: Any, **options: Any) -> None:
            super().__init__(*given, **options)
            Counted.open += 1

        def close(self) -> None:
            Counted.open -= 1
            super().close()

    monkeypatch.setattr(catalogue.sqlite3, "connect", partial(sqlite3.connect, factory=Counted))
    write(tmp_path, ID, list(recorded()))
    (tmp_path / "catalogue.sqlite").write_bytes(
        b"this is no database at all, but long enough" * 100
    )
    assert [run.status for run in Catalogue(tmp_path).runs()] == ["completed"]
    assert Counted.open == 0


def test_a_run_can_be_named_by_the_beginning_or_end_of_its_id(tmp_path: Path) -> None:
    for run_id in (ID, "20260102-000000-beef"):
        write(tmp_path, run_id, list(recorded()))
    catalogue = Catalogue(tmp_path)
    assert catalogue.find("beef").stem.endswith("beef")
    assert catalogue.find(ID).stem == ID
    with pytest.raises(UsageError, match="2 runs match"):
        catalogue.find("2026")
    with pytest.raises(UsageError, match="no such run"):
        catalogue.find("../../etc/passwd")


@pytest.mark.parametrize(
    "text", ["20260101-000000-ffff", "notes", "catalogue.sqlite", "", "2026-01", "ABCD-"]
)
def test_what_names_no_run_is_refused(tmp_path: Path, text: str) -> None:
    write(tmp_path, ID, list(recorded()))
    (tmp_path / "notes.jsonl").write_text("{}\n")
    assert Catalogue(tmp_path).find("ABCD").stem == ID, "an end may be in capitals"
    with pytest.raises(UsageError, match="no such run"):
        Catalogue(tmp_path).find(text, least=0)


def test_a_run_is_named_by_as_many_characters_as_are_needed(tmp_path: Path) -> None:
    write(tmp_path, ID, list(recorded()))
    for text, least in (("abcd", 4), ("abcd", 3), (ID, len(ID))):
        assert Catalogue(tmp_path).find(text, least=least).stem == ID
    with pytest.raises(UsageError, match="give at least 5 characters"):
        Catalogue(tmp_path).find("abcd", least=5)


def test_an_empty_or_missing_folder_has_no_runs(tmp_path: Path) -> None:
    assert Catalogue(tmp_path / "nowhere").runs() == []


def test_new_ids_are_safe_as_file_names(tmp_path: Path) -> None:
    assert all(map(is_run_id, new_run_ids(2, tmp_path)))
    assert not is_run_id("../x")


def spoil(path: Path) -> None:
    """Overwrite a file so that it looks unchanged, but whoever reads it finds nothing in it."""
    looks = path.stat()
    path.write_bytes(b" " * looks.st_size)
    os.utime(path, ns=(looks.st_atime_ns, looks.st_mtime_ns))


def test_a_finished_run_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    finished = write(tmp_path, ID, list(recorded()))
    unfinished = write(tmp_path, "20260102-000000-beef", list(recorded())[:5])
    catalogue = Catalogue(tmp_path)
    first = catalogue.runs()
    spoil(finished)
    spoil(unfinished)
    assert catalogue.runs() == first
    events = list(recorded())[:9]
    write(tmp_path, "20260102-000000-beef", events)
    of_unfinished, of_finished = catalogue.runs()
    assert of_finished == first[1]
    assert (
        of_unfinished.messages
        == sum(event.kind == "message_completed" for event in events)
        > first[0].messages
    )
    os.utime(tmp_path, ns=(0, 0))  # a folder that has not changed for long
    catalogue.runs()
    monkeypatch.setattr(Catalogue, "_entries", None)  # not even the names are looked at
    assert len(catalogue.runs()) == 2


def test_listing_runs_does_not_change_their_folder(tmp_path: Path) -> None:
    """A changed folder would be searched again as a whole, each time."""
    events = list(recorded())
    path = write(tmp_path, ID, events[:5])
    listed = Catalogue(tmp_path)
    listed.runs()
    before = tmp_path.stat().st_mtime_ns
    with path.open("ab") as file:
        file.write(b"".join(map(write_event, events[5:])))
    assert [run.status for run in listed.runs()] == ["completed"]
    assert tmp_path.stat().st_mtime_ns == before


def test_a_resumed_run_is_listed_as_running(tmp_path: Path) -> None:
    path = write(tmp_path, ID, list(recorded()))
    os.utime(tmp_path, ns=(0, 0))
    catalogue = Catalogue(tmp_path)
    assert catalogue.runs()[0].status == "completed"
    write_live(path, LiveInfo(os.getpid(), process_start(os.getpid()), 1, "t"))
    last = recorded()[-1]
    again = RunResumed(run_id=last.run_id, seq=last.seq + 1, at=last.at, program_version="0")
    path.write_bytes(path.read_bytes() + write_event(again))
    assert catalogue.runs()[0].status == "running"


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        (RunFilter(job="JO"), 3),
        (RunFilter(job="other"), 0),
        (RunFilter(status="interrupted"), 1),
        (RunFilter(status="completed"), 2),
        (RunFilter(status="rehearsal"), 1),
        (RunFilter(status="imported"), 0),
        (RunFilter(min_score=0.1), 2),
        (RunFilter(min_score=1.0), 0),
        (RunFilter(fault="none"), 3),
        (RunFilter(fault="agent"), 0),
        (RunFilter(since=datetime(2000, 1, 1, tzinfo=UTC)), 3),
        (RunFilter(before=datetime(2000, 1, 1, tzinfo=UTC)), 0),
        (RunFilter(model="gpt"), 0),
    ],
)
def test_runs_can_be_filtered_by_job_status_score_fault_time_and_model(
    tmp_path: Path, wanted: RunFilter, found: int
) -> None:
    started, *others = recorded()
    for number, rehearsal in enumerate((False, True)):
        first = started.model_copy(update={"rehearsal": rehearsal})
        write(tmp_path, f"20260102-00000{number}-beef", [first, *others])
    write(tmp_path, ID, list(recorded())[:5])
    assert len(Catalogue(tmp_path).runs(wanted)) == found


@pytest.mark.parametrize(
    ("seconds", "since", "before"), [(-0.001, True, False), (0, True, False), (0.001, False, True)]
)
def test_a_run_that_began_at_the_time_itself_is_since_it_and_not_before(
    tmp_path: Path, seconds: float, since: bool, before: bool
) -> None:
    run = Recorded([Talk()])
    run.write(tmp_path)
    at = run.events()[0].at + timedelta(seconds=seconds)
    assert bool(Catalogue(tmp_path).runs(RunFilter(since=at))) is since
    assert bool(Catalogue(tmp_path).runs(RunFilter(before=at))) is before


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ({"min_score": 0.14}, 1), ({"min_score": 0.15}, 1), ({"min_score": 0.1 + 0.05}, 1),
        ({"min_score": 0.1501}, 0),
        # a whole fault, of one or two
        ({"fault": "agent"}, 1), ({"fault": "unclear"}, 1), ({"fault": "clear"}, 0),
        ({"fault": "age"}, 0), ({"fault": "agent, unclear"}, 1), ({"fault": "none"}, 0),
        # both at once
        ({"min_score": 0.15, "fault": "agent"}, 1), ({"min_score": 0.16, "fault": "agent"}, 0),
        ({"min_score": 0.15, "fault": "judge"}, 0),
    ],
)  # fmt: skip
def test_a_run_is_found_at_its_score_and_by_a_whole_fault(
    tmp_path: Path, wanted: dict[str, Any], found: int
) -> None:
    blamed = [replace(scoring(0.1), fault="agent"), replace(scoring(0.2), fault="unclear")]
    Recorded([blamed[0]], [blamed[1]]).write(tmp_path)
    assert len(Catalogue(tmp_path).runs(RunFilter(**wanted))) == found


@pytest.mark.parametrize(
    ("withheld", "supplied", "difference"),
    [
        (scoring(0.5), scoring(0.75), 0.25),
        (scoring(0.5), Talk(tasks=None), None),
        (Talk(tasks=None), scoring(0.75), None),
        (Talk(tasks=None), Talk(tasks=None), None),
    ],
)
def test_a_run_has_a_difference_once_both_conditions_have_a_score(
    tmp_path: Path, withheld: Talk, supplied: Talk, difference: float | None
) -> None:
    Recorded([withheld], [supplied]).write(tmp_path)
    (run,) = Catalogue(tmp_path).runs()
    assert run.difference == difference
    (again,) = Catalogue(tmp_path).runs()
    assert again == run


def test_the_newest_runs_come_first_up_to_the_limit(tmp_path: Path) -> None:
    for number in range(4):
        later = [
            event.model_copy(update={"at": event.at + timedelta(days=number)})
            for event in recorded()
        ]
        write(tmp_path, f"2026010{number}-000000-beef", later)
    assert [run.run_id[:8] for run in Catalogue(tmp_path).runs(limit=2)] == ["20260103", "20260102"]


def test_new_ids_are_unique(tmp_path: Path) -> None:
    ids = new_run_ids(500, tmp_path)
    assert len(set(ids)) == 500
    assert all(map(is_run_id, ids))


def test_reviews_are_listed_with_the_score_and_read_again_only_when_they_change(
    tmp_path: Path,
) -> None:
    path = write(tmp_path, ID, list(recorded()))
    catalogue = Catalogue(tmp_path)
    assert catalogue.runs()[0].reviewed is None
    where = {
        "run_id": ID,
        "seq": 0,
        "at": datetime(2026, 1, 2, tzinfo=UTC),
        "condition": "withheld",
        "trial": 1,
    }
    given = Reviewed(
        **where,
        author="ada",
        review="1",
        action="fault",
        fault="evaluator",
        why="it gave the answer away",
    )
    append_reviews(path, [given])
    (run,) = catalogue.runs()
    assert run.reviewed is not None
    assert (run.reviewed["score"], run.reviewed["reviewers"]) == (None, ["ada"])
    assert (run.reviewed["scores"]["withheld"], run.score) == (None, catalogue.runs()[0].score)
    assert run.to_dict()["reviewed"] == run.reviewed
    whole, overlay = path.read_bytes(), overlay_path(path).read_bytes()
    looks = [file.stat() for file in (path, overlay_path(path))]
    spoil(path)
    spoil(overlay_path(path))
    assert catalogue.runs() == [run]
    for file, content, before in zip(
        (path, overlay_path(path)), (whole, overlay), looks, strict=True
    ):
        file.write_bytes(content)
        os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    undo = Reviewed(**where, author="ada", review="2", action="undo", undoes="1")
    append_reviews(path, [undo])
    assert catalogue.runs()[0].reviewed is None


def test_the_json_list_agrees_with_each_run(tmp_path: Path) -> None:
    events = list(recorded())
    runs = tmp_path / "runs"
    runs.mkdir()
    write(runs, ID, events)
    write(runs, "20260102-000000-abcd", events[: len(events) // 2])

    def listed(*arguments: str) -> list[dict[str, Any]]:
        env = {"BIOEVAL_DATA_DIR": str(tmp_path)}
        done = call("runs", "list", "--json", *arguments, env=env, catch_exceptions=False)
        return json.loads(done.stdout)

    assert listed() == [run.to_dict() for run in Catalogue(runs).runs()]
    assert len(listed("--status", "completed")) == len(listed("--limit", "1")) == 1
    assert listed("--job", "other") == []


@pytest.mark.parametrize(
    ("kind", "fields"),
    [
        ("run_started", {"trials": 10**12}),
        ("run_started", {"trials": 0}),
        ("run_started", {"concurrency": 10**12}),
        ("run_started", {"conditions": ["withheld"] * 1000}),
        ("run_started", {"options": {"concurrency": 10**12}}),
        ("run_started", {"options": {"concurrency": "many"}}),
        ("run_started", {"options": {"requests_per_minute": -1}}),
        ("run_started", {"options": {"agent_url": ["http://a"]}}),
        ("run_started", {"options": {"judge_model": [1]}}),
        ("run_started", {"options": {"judge_model": ["m"] * 100_000}}),
        ("run_started", {"options": {"submissions": "/"}}),
        ("run_started", {"options": {"order": "sideways"}}),
        ("run_started", {"options": {"graph": {}}}),
        ("run_resumed", {"kind": "run_resumed", "program_version": "1", "trials": 10**12}),
        ("conversation_started", {"max_messages": 10**12}),
        ("conversation_started", {"trial": 10**12}),
        ("message_completed", {"turn": 10**12}),
        ("message_completed", {"tokens_in": 10**400}),
        ("state_observed", {"after_turn": 10**12}),
        ("run_ended", {"seq": 10**400}),
        ("conversation_scored", {"score": 7.5}),
        ("conversation_scored", {"score": -0.1}),
        ("conversation_scored", {"parts": [{"name": "task", "weight": -1, "value": 1}]}),
        ("conversation_scored", {"parts": [{"name": "task", "weight": 1, "value": 9}]}),
        ("transcript_scored", {"tasks": [{"task": 1, "title": "t", "score": 9}]}),
        ("run_ended", {"mean": 7.5}),
    ],
)
def test_an_endless_value_or_one_of_the_wrong_kind_is_damage(
    kind: str, fields: dict[str, Any], tmp_path: Path
) -> None:
    rows = [json.loads(line) for line in (GOLDEN / "version-1.jsonl").read_bytes().splitlines()]
    at = next(at for at, row in enumerate(rows) if row["kind"] in (kind, "run_ended"))
    rows[at] |= fields
    path = tmp_path / f"{rows[0]['run_id']}.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    assert [problem.line for problem in read_recording(path).problems] == [at + 1]
    assert [run.run_id for run in Catalogue(tmp_path).runs()] == [path.stem], (
        "the others are listed, too"
    )


def test_the_list_shows_the_result_of_the_whole_run(tmp_path: Path) -> None:
    for cut in (None, 30, 60, 90):
        rows = (GOLDEN / "version-1.jsonl").read_bytes().splitlines(keepends=True)[:cut]
        path = tmp_path / "20260101-000000-abcd.jsonl"
        path.write_bytes(b"".join(rows))
        state = apply_all(RunState(), read_recording(path).events)
        (found,) = Catalogue(tmp_path).runs()
        assert state.started is not None
        assert (found.began, found.scores) == (state.started.at, state.scores())
        assert (found.score is None) or (
            state.ended is not None and found.score == state.ended.mean
        )
        held = state.conversations.values()
        assert found.messages == sum(message.done for talk in held for message in talk.messages)
        ends = {talk.ended.fault for talk in held if talk.ended} | {
            t.score.fault for t in held if t.score
        }
        assert found.fault == (", ".join(sorted(ends - {"none"})) or "none")


def test_the_list_is_private_to_its_owner(tmp_path: Path) -> None:
    write(tmp_path, ID, list(recorded()))
    (tmp_path / "catalogue.sqlite").touch(0o644)
    assert len(Catalogue(tmp_path).runs()) == 1
    assert stat.S_IMODE((tmp_path / "catalogue.sqlite").stat().st_mode) == 0o600


def test_a_list_that_another_process_has_locked_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(catalogue, "LOCKED_S", 0.01)
    write(tmp_path, ID, list(recorded()))
    assert len(Catalogue(tmp_path).runs()) == 1
    file = tmp_path / "catalogue.sqlite"
    before = file.stat().st_ino
    with contextlib.closing(sqlite3.connect(file, isolation_level=None)) as holder:
        holder.execute("begin exclusive")
        write(tmp_path, "20260102-000000-beef", list(recorded()))
        listed = Catalogue(tmp_path)
        assert len(listed.runs()) == 2
        write(tmp_path, "20260103-000000-beef", list(recorded()))
        assert len(listed.runs()) == 3
    assert file.stat().st_ino == before


@pytest.mark.parametrize(
    "refusal", ["SQLITE_FULL", "SQLITE_READONLY", "SQLITE_CANTOPEN", "SQLITE_IOERR"]
)
def test_runs_are_listed_in_a_read_only_folder(
    refusal: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, ID, list(recorded()))

    def refuse(self: Catalogue) -> sqlite3.Connection:
        error = sqlite3.OperationalError("no")
        error.sqlite_errorcode = getattr(sqlite3, refusal)
        raise error

    monkeypatch.setattr(Catalogue, "_open", refuse)
    assert [run.run_id for run in Catalogue(tmp_path).runs()] == [ID]
    assert [path.name for path in tmp_path.iterdir()] == [f"{ID}.jsonl"]


def test_read_only_listing_leaves_nothing_in_the_folder(tmp_path: Path) -> None:
    write(tmp_path, ID, list(recorded()))
    assert len(Catalogue(tmp_path, writes=False).runs()) == 1
    assert [path.name for path in tmp_path.iterdir()] == [f"{ID}.jsonl"]


def test_a_short_prefix_can_show_a_run_but_not_delete_it(tmp_path: Path) -> None:
    write(tmp_path, ID, list(recorded()))
    assert Catalogue(tmp_path).find("2").stem == ID
    with pytest.raises(UsageError, match="at least 6 characters"):
        Catalogue(tmp_path).find("2", least=6)
    assert Catalogue(tmp_path).find("0-abcd", least=6).stem == ID


@pytest.mark.skipif(os.name == "nt", reason="needs POSIX")
def test_pipes_devices_folders_and_loops_of_links_named_like_a_run_are_not_runs(
    tmp_path: Path,
) -> None:
    write(tmp_path, ID, list(recorded()))
    os.mkfifo(tmp_path / "20260101-000000-aaaa.jsonl")
    (tmp_path / "20260101-000000-bbbb.jsonl").mkdir()
    (tmp_path / "20260101-000000-cccc.jsonl").symlink_to("/dev/zero")
    for name, target in (("dddd", "dddd"), ("eeee", "ffff"), ("ffff", "eeee")):
        (tmp_path / f"20260101-000000-{name}.jsonl").symlink_to(f"20260101-000000-{target}.jsonl")
    os.mkfifo(overlay_path(tmp_path / f"{ID}.jsonl"))
    assert [run.run_id for run in Catalogue(tmp_path).runs()] == [ID]
    with pytest.raises(RecordingError, match="is not a file"):
        read_overlay(tmp_path / f"{ID}.jsonl")


COLUMNS = {
    "runs": {
        "run_id": "id", "size": "integer", "modified": "integer", "ended": "integer", "job": "text",
        "status": "status",
        "started_at": "time", "started": "real", "score": "real or null", "fault": "text",
        "scores": "object",
        "messages": "integer", "model": "text or null", "rehearsal": "integer",
        "batch_id": "text or null",
        "clean": "integer", "imported": "integer", "identity": "object",
    },
    "overlays": {
        "run_id": "id", "size": "integer", "modified": "integer", "reviewed": "object or null",
        "judged_again": "object or null",
    },
    "folder": {"modified": "integer"},
}  # fmt: skip
VALUES = [
    b"\x00\xff", "", "not [ JSON", "[1, 2]",
    '{"withheld": "x", "agent": 5, "score": "x", "reviewers": [1]}',
    "../../x", "9999-99-99T99:99", -1, 10**18, 1e308, 0.5, None,
]  # fmt: skip


ONE = {
    "runs": "where run_id = (select max(run_id) from runs)",
    "overlays": "",
    "folder": "",
}
"""Which row is damaged."""


def may_be(kind: str, value: object) -> bool:
    """Return whether a value is of a column's kind, so that nothing can tell that it was
    changed.
    """
    match value:
        case None:
            return "null" in kind
        case str():
            return kind.startswith("text")
        case int():
            return kind.startswith(("integer", "real", "text"))  # SQLite makes it a real, or a text
        case float():
            return kind.startswith(("real", "text"))
    return False


@pytest.fixture(scope="module")
def listed_before(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of two runs, one of them reviewed and judged again, with the list of them."""
    folder = tmp_path_factory.mktemp("before")
    path = Recorded([Talk(tasks=(0.2,))], [Talk(tasks=(1.0,))]).write(folder)
    write(folder, "20260102-000000-beef", list(recorded())[:5])
    where = {
        "run_id": path.stem,
        "seq": 0,
        "at": datetime(2026, 1, 2, tzinfo=UTC),
        "condition": "withheld",
        "trial": 1,
    }
    append_reviews(
        path,
        [Reviewed(**where, author="ada", review="1", action="fault", fault="evaluator", why="so")],
    )
    append_numbered(path, judged(0.5, "another"))
    assert sorted((bool(run.reviewed), run.judged_again) for run in Catalogue(folder).runs()) == [
        (False, False),
        (True, True),
    ]
    return folder


def copied(folder: Path, target: Path) -> tuple[Path, sqlite3.Connection]:
    """Return a copy of the folder whose list would be trusted, and an open connection to that
    list.
    """
    shutil.copytree(folder, target)  # with the times of the files
    database = sqlite3.connect(target / "catalogue.sqlite", isolation_level=None)
    database.execute("pragma journal_mode = memory")
    database.execute("pragma ignore_check_constraints = on")
    os.utime(target, ns=(0, 0))
    database.execute("update folder set modified = 0")
    return target, database


def doors(folder: Path) -> list[list[CataloguedRun]]:
    """Return the runs as each reader of the list gets them: a command, a screen, a folder that may
    only be read.
    """
    screen = RunList(Settings(data_dir_override=str(folder.parent)), writes=False)
    return [
        Catalogue(folder, writes=False).runs(),
        screen.runs(),
        Catalogue(folder).runs(),
        Catalogue(folder).runs(),
    ]


def told(runs: list[CataloguedRun]) -> list[dict[str, Any]]:
    return [run.to_dict() | {"path": None} for run in runs]


@pytest.mark.parametrize(
    "share", [pytest.param(3, marks=pytest.mark.part), pytest.param(1, marks=pytest.mark.long)]
)
@pytest.mark.parametrize(
    ("at", "table", "column"),
    [(at, *place) for at, place in enumerate((t, c) for t in COLUMNS for c in COLUMNS[t])],
)
def test_a_damaged_value_of_any_column_is_replaced(
    at: int, table: str, column: str, share: int, listed_before: Path, tmp_path: Path
) -> None:
    """With a share of 3, every third value: of the next column, the others."""
    wanted = told(Catalogue(listed_before, writes=False).runs())
    kind = COLUMNS[table][column]
    for number, value in enumerate(VALUES[at % share :: share]):
        (tmp_path / str(number)).mkdir()
        folder, database = copied(listed_before, tmp_path / str(number) / "runs")
        # no null as a key
        with (
            contextlib.closing(database),
            contextlib.suppress(sqlite3.IntegrityError),
        ):
            database.execute(f"update {table} set {column} = ? {ONE[table]}", (value,))
        found = [told(runs) for runs in doors(folder)]
        assert may_be(kind, value) or found == [wanted] * 4, value


@pytest.mark.parametrize(
    "change",
    [
        "create trigger t after update on runs begin delete from runs; end",
        "create trigger t after insert on runs begin select raise(abort, 'no'); end",
        "alter table runs rename to other; create view runs as select * from other",
        (
            "alter table runs rename to other; create view runs as select *, randomblob(1000000000)"
            " as x from other"
        ),
        "drop table overlays",
        "drop index runs_started",
        "alter table runs add column more text",
        "create table more (x)",
        "create unique index u on runs (ended)",
        "delete from folder",
        "pragma user_version = 7",
        (
            "pragma writable_schema = on; update sqlite_master set sql = 'create table runs (x)'"
            " where name = 'runs'"
        ),
        (
            "pragma writable_schema = on; update sqlite_master set rootpage = 1 where name ="
            " 'runs_started'"
        ),
        "update runs set job = cast(x'ff80' as text)",
        "update runs set identity = cast(x'7b2261ff223a317d' as text)",
        "update runs set scores = '{\"withheld\": 1e999}'",
        "update runs set scores = '{' || printf('%.*c', 100000, '[') || '}'",
        (
            "insert into runs select '20269999-000000-aaaa' || char(0) || '/../x', size, modified,"
            " ended, job, status, started_at, started, score, fault, scores, messages, model,"
            " rehearsal, batch_id, clean, imported, identity, difference, chatbot from runs limit 1"
        ),
    ],
)
def test_tables_that_this_program_did_not_make_are_replaced(
    change: str, listed_before: Path, tmp_path: Path
) -> None:
    wanted = told(Catalogue(listed_before, writes=False).runs())
    folder, database = copied(listed_before, tmp_path / "runs")
    with contextlib.closing(database):
        database.executescript(change)
    for runs in doors(folder):
        assert told(runs) == wanted


def test_a_damaged_page_is_replaced_wherever_it_is(listed_before: Path, tmp_path: Path) -> None:
    wanted = told(Catalogue(listed_before, writes=False).runs())
    folder, database = copied(listed_before, tmp_path / "runs")
    database.close()
    file = folder / "catalogue.sqlite"
    whole = file.read_bytes()
    cuts = [whole[:size] for size in range(0, len(whole), 3000)]
    noise = [whole[:at] + b"\xa5" * 64 + whole[at + 64 :] for at in range(0, len(whole), 509)]
    for data in (*cuts, *noise, b"this is no database at all, but long enough" * 100):
        file.write_bytes(data)
        for runs in (Catalogue(folder, writes=False).runs(), Catalogue(folder).runs()):
            assert told(runs) == wanted


@pytest.mark.skipif(os.name == "nt", reason="needs POSIX")
@pytest.mark.parametrize("beside", ["", "-journal", "-wal", "-shm"])
@pytest.mark.parametrize("how", ["link", "dangling link", "second name", "pipe", "folder"])
def test_a_list_is_never_written_through_a_link(
    beside: str, how: str, listed_before: Path, tmp_path: Path
) -> None:
    wanted = told(Catalogue(listed_before, writes=False).runs())
    folder, database = copied(listed_before, tmp_path / "runs")
    database.execute("vacuum into ?", (str(tmp_path / "places.sqlite"),))
    database.execute("pragma user_version = 7")
    database.close()
    theirs = tmp_path / "places.sqlite"
    theirs.chmod(0o644)
    before = theirs.read_bytes()
    place = folder / f"catalogue.sqlite{beside}"
    place.unlink(missing_ok=True)
    match how:
        case "link":
            place.symlink_to(theirs)
        case "dangling link":
            place.symlink_to(tmp_path / "new")
        case "second name":
            os.link(theirs, place)
        case "pipe":
            os.mkfifo(place)
        case "folder":
            place.mkdir()
    for runs in doors(folder):
        assert told(runs) == wanted
    assert theirs.read_bytes() == before
    assert stat.S_IMODE(theirs.stat().st_mode) == 0o644
    assert not (tmp_path / "new").exists()


def test_a_journal_that_names_another_file_does_not_delete_it(
    listed_before: Path, tmp_path: Path
) -> None:
    # SQLite undoes the changes in a journal, and then deletes the file that the journal names.
    wanted = told(Catalogue(listed_before, writes=False).runs())
    folder, database = copied(listed_before, tmp_path / "runs")
    database.close()
    theirs = tmp_path / "thesis.txt"

    def planted() -> None:
        theirs.write_text("precious")
        write_hostile_journal(folder / "catalogue.sqlite", theirs)

    planted()
    with contextlib.closing(sqlite3.connect(folder / "catalogue.sqlite")) as database:
        database.execute("select * from runs").fetchall()
    assert not theirs.exists(), "the test shows what SQLite does"
    planted()
    for runs in doors(folder):
        assert told(runs) == wanted
    assert theirs.read_text() == "precious"
