"""Recordings from others are imported safely."""

from __future__ import annotations

import json
import stat
from datetime import UTC, datetime
from pathlib import Path

import pytest

from bioeval_tui.base.errors import RecordingError
from bioeval_tui.record.catalogue import Catalogue
from bioeval_tui.record.events import Reviewed
from bioeval_tui.record.importing import into_runs
from bioeval_tui.record.importing.into_runs import import_recording
from bioeval_tui.record.overlay import append_reviews, read_overlay
from bioeval_tui.record.reviews import fold_reviews
from bioeval_tui.record.runs import overlay_path
from tests.unit.report.recorded import import_scores


def test_an_imported_run_keeps_its_id_and_is_private(mailed: Path, tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    done = import_recording(mailed, runs)
    assert done.new
    assert [run.run_id for run in Catalogue(runs).runs()] == [done.run_id]
    assert stat.S_IMODE(done.path.stat().st_mode) == 0o600
    assert done.path.read_bytes() == mailed.read_bytes()
    assert not import_recording(mailed, runs).new


def test_imported_text_is_cleaned_and_damaged_lines_are_reported(
    mailed: Path, tmp_path: Path
) -> None:
    rows = mailed.read_bytes().splitlines()
    hostile = json.loads(rows[5])
    hostile["content"] = "\x1b]52;c;aGk=\x07 and \u202e reversed"
    rows[5] = json.dumps(hostile).encode()
    rows.insert(7, b"\x1b[2J not json")
    mailed.write_bytes(b"\n".join(rows) + b"\n")
    done = import_recording(mailed, tmp_path / "runs")
    assert [problem.line for problem in done.problems] == [8]
    taken_in = done.path.read_bytes().splitlines()
    assert "\x1b" not in json.loads(taken_in[5])["content"]
    assert "\u202e" not in json.loads(taken_in[5])["content"]
    assert len(taken_in) == len(rows), "line numbers stay what they were"


def test_an_invalid_id_never_becomes_a_file_name(mailed: Path, tmp_path: Path) -> None:
    mailed.write_text(
        mailed.read_text().replace(
            json.loads(mailed.read_bytes().splitlines()[0])["run_id"], "../evil"
        )
    )
    with pytest.raises(RecordingError, match="run id"):
        import_recording(mailed, tmp_path / "runs")
    assert not list(tmp_path.rglob("evil*"))


def test_an_import_does_not_overwrite_another_recording_with_the_same_id(
    mailed: Path, tmp_path: Path
) -> None:
    done = import_recording(mailed, tmp_path / "runs")
    mailed.write_bytes(b"\n".join(mailed.read_bytes().splitlines()[:50]) + b"\n")
    with pytest.raises(RecordingError, match="another recording already has this id"):
        import_recording(mailed, tmp_path / "runs")
    assert done.path.stat().st_size > mailed.stat().st_size


@pytest.mark.parametrize("data", [b"", b"hello\n", b'{"kind":"warned"}\n', b"\x00\xff" * 100])
def test_a_file_that_is_not_a_recording_is_refused_in_one_sentence(
    tmp_path: Path, data: bytes
) -> None:
    path = tmp_path / "x.jsonl"
    path.write_bytes(data)
    with pytest.raises(RecordingError, match="not a recording") as refused:
        import_recording(path, tmp_path / "runs")
    assert refused.value.problems == (), "one sentence, not one for each line"


def test_reviews_from_two_machines_are_merged(mailed: Path, tmp_path: Path) -> None:
    def give(path: Path, author: str, hour: int, score: float) -> None:
        at = datetime(2026, 11, 21, hour, tzinfo=UTC)
        where = {"run_id": "r", "seq": 0, "at": at, "condition": "withheld", "trial": 1, "task": 1}
        given = Reviewed(
            **where,
            author=author,
            review=f"{author}{hour}",
            action="override",
            after=score,
            why="w",
        )
        append_reviews(path, [given])

    done = import_recording(mailed, tmp_path / "runs")
    give(done.path, "ada", 12, 0.9)
    give(mailed, "ada", 9, 0.1)
    give(mailed, "ben\x1b[2J", 10, 0.5)
    for expected in (("2 reviews imported with it",), ()):
        assert import_recording(mailed, tmp_path / "runs").notes == expected
    (opinions,) = fold_reviews(read_overlay(done.path).events).tasks.values()
    assert {name: entry.after for name, entry in opinions.items()} == {"ada": 0.9, "ben␛": 0.5}


def test_a_review_imported_twice_at_once_is_kept_once(mailed: Path, tmp_path: Path) -> None:
    path = import_recording(mailed, tmp_path / "runs").path
    given = Reviewed(
        run_id=path.stem, seq=0, at=datetime(2026, 1, 1, tzinfo=UTC), author="ada", review="r1",
        action="note",
    )  # fmt: skip
    assert append_reviews(path, [given]) == 1
    assert append_reviews(path, [given]) == 0
    assert len(read_overlay(path).events) == 1


def test_an_import_does_not_replace_a_run_created_meanwhile(
    mailed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = tmp_path / "runs"
    mine = runs / f"{json.loads(mailed.read_bytes().splitlines()[0])['run_id']}.jsonl"
    mark = into_runs._mark_imported

    def slowly(target: Path) -> None:
        mark(target)
        mine.write_text("mine")  # between the look and the last step

    monkeypatch.setattr(into_runs, "_mark_imported", slowly)
    with pytest.raises(
        RecordingError, match="another process just imported a recording with this id"
    ):
        import_recording(mailed, runs)
    assert mine.read_text() == "mine"


@pytest.mark.parametrize(("less", "whole"), [(0, True), (1, False)])
def test_a_line_and_an_overlay_of_just_the_limit_are_imported(
    mailed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, less: int, whole: bool
) -> None:
    lines = mailed.read_bytes().splitlines(keepends=True)
    longest = max(map(len, lines))
    monkeypatch.setattr(into_runs, "MAX_LINE", longest - less)
    overlay_path(mailed).write_bytes(lines[-1])
    monkeypatch.setattr(into_runs, "MAX_OVERLAY", len(lines[-1]) - less)
    done = import_recording(mailed, tmp_path / "runs")
    kept = [line for line in lines if whole or len(line) < longest]
    assert done.path.read_bytes() == b"".join(kept)
    assert overlay_path(done.path).exists() is whole
    assert ("were imported" in done.notes[0]) is whole


@pytest.mark.parametrize(("less", "whole"), [(0, True), (1, False)])
def test_a_message_of_just_the_limit_is_imported_from_another_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, less: int, whole: bool
) -> None:
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
    first = import_scores(tmp_path / "first", "t", [[1.0]])
    longest = max(map(len, first.read_bytes().splitlines(keepends=True)))
    monkeypatch.setattr(into_runs, "MAX_LINE", longest - less)
    if whole:
        second = import_scores(tmp_path / "second", "t", [[1.0]])
        # Their names begin with the time, which may be another second.
        assert second.stat().st_size == first.stat().st_size
        return
    with pytest.raises(RecordingError, match="has a message of more than"):
        import_scores(tmp_path / "second", "t", [[1.0]])


def test_an_overlay_that_is_too_large_is_left_out_of_an_import(
    mailed: Path, tmp_path: Path
) -> None:
    with overlay_path(mailed).open("wb") as file:
        file.truncate(1 << 40)
    done = import_recording(mailed, tmp_path / "runs")
    assert done.notes == (
        "its later scores and reviews were left out: they have more than 64,000,000 bytes",
    )
    assert [run.run_id for run in Catalogue(tmp_path / "runs").runs()] == [done.run_id]
