"""A recording contains everything that was appended, in order, despite a full disk or a partial
last line.
"""

from __future__ import annotations

import asyncio
import errno
import gc
import json
import stat
from datetime import UTC, datetime
from pathlib import Path

import pytest

from bioeval_tui.base.errors import RecordingError
from bioeval_tui.base.peer_limits import MAX_DAMAGED, MAX_LINE
from bioeval_tui.record import events, reading, recorder as recorder_module
from bioeval_tui.record.reading import LineReader, batches, follow, read_recording
from bioeval_tui.record.recorder import Recorder


def note(seq: int, text: str = "x") -> events.Warned:
    return events.Warned(
        run_id="r", seq=seq, at=datetime(2026, 1, 1, tzinfo=UTC), code="c", message=text
    )


def end(seq: int) -> events.RunEnded:
    return events.RunEnded(
        run_id="r", seq=seq, at=datetime(2026, 1, 1, tzinfo=UTC), status="completed"
    )


async def test_an_event_is_in_the_file_once_written_returns(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path / "run.jsonl")
    for seq in range(1, 101):
        recorder.append(note(seq))
    await recorder.written()
    assert [event.seq for event in read_recording(recorder.path).events] == list(range(1, 101))
    await recorder.aclose()


async def test_recordings_are_private_to_their_owner(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path / "runs" / "run.jsonl")
    await recorder.aclose()
    assert stat.S_IMODE(recorder.path.stat().st_mode) == 0o600
    assert stat.S_IMODE(recorder.path.parent.stat().st_mode) == 0o700


async def test_a_full_disk_pauses_the_run_and_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[str | None] = []
    loop = asyncio.get_running_loop()
    full = asyncio.Event()

    def trouble(sentence: str | None) -> None:
        said.append(sentence)
        loop.call_soon_threadsafe(full.set)

    recorder = Recorder(tmp_path / "run.jsonl", on_trouble=trouble)
    disk = recorder._file
    monkeypatch.setattr("bioeval_tui.record.recorder.RETRY_S", 0.001)
    recorder._file = FullDisk(disk)  # type: ignore[assignment]
    recorder.append(note(1))
    waiting = asyncio.create_task(recorder.written())
    await full.wait()
    assert not waiting.done(), "the run waits before its next request"
    assert said[0] is not None
    assert "No space left" in said[0]
    recorder._file = disk
    await waiting
    await recorder.aclose()
    assert [event.seq for event in read_recording(recorder.path).events] == [1]
    assert said[-1] is None


@pytest.mark.parametrize("cancelled", [(0,), (1,), (0, 1), (1, 2, 4)])
@pytest.mark.parametrize("gives_up", [False, True])
async def test_those_that_wait_for_a_full_disk_go_on_though_others_were_cancelled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cancelled: tuple[int, ...], gives_up: bool
) -> None:
    """More wait than are woken at once."""
    monkeypatch.setattr("bioeval_tui.record.recorder.RETRY_S", 0.001)
    recorder = Recorder(tmp_path / "run.jsonl")
    disk = recorder._file
    recorder._file = FullDisk(disk)  # type: ignore[assignment]
    recorder.append(note(1))
    waiting = [asyncio.create_task(recorder.written()) for _ in range(5)]
    await asyncio.sleep(0)
    for at in cancelled:
        waiting[at].cancel()
    if gives_up:
        recorder.limit_retries(0.0)
    else:
        recorder._file = disk
    async with asyncio.timeout(10):
        ended = await asyncio.gather(*waiting, return_exceptions=True)
    for at, each in enumerate(ended):
        if at in cancelled:
            assert isinstance(each, asyncio.CancelledError)
        elif gives_up:
            assert isinstance(each, RecordingError)
        else:
            assert each is None
    if not gives_up:
        await recorder.aclose()
        assert [event.seq for event in read_recording(recorder.path).events] == [1]


class FullDisk:
    """Refuses every write."""

    def __init__(self, file: object) -> None:
        self._file = file

    def write(self, data: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    def __getattr__(self, name: str) -> object:
        return getattr(self._file, name)


def test_partial_and_damaged_lines_are_reported_and_the_rest_is_read(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    good = [events.write_event(note(seq)) for seq in (1, 2, 3)]
    path.write_bytes(good[0] + b"\xff{not json\n" + good[1] + good[2][:20])
    recording = read_recording(path)
    assert [event.seq for event in recording.events] == [1, 2]
    assert [(problem.line, problem.message) for problem in recording.problems] == [
        (2, "damaged line, left out: it is not JSON"),
        (4, "the last line is torn; it is left out"),
    ]


def test_a_damaged_line_names_the_field_that_is_wrong(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    good = json.loads(events.write_event(note(1)))
    wrong = [{**good, "at": "soon"}, {**good, "seq": None}, {**good, "kind": 3}, [good]]
    path.write_bytes(b"".join(json.dumps(one).encode() + b"\n" for one in (good, *wrong)))
    messages = [problem.message for problem in read_recording(path).problems]
    assert [message.removeprefix("damaged line, left out: ") for message in messages] == [
        "`warned.at`: input should be a valid datetime or date, input is too short",
        "`warned.seq`: input should be a valid integer",
        "`kind`: input should be a valid string",
        "Input should be an object",
    ]


@pytest.mark.parametrize("begin", [b"\0" * (MAX_LINE + 2), b"{\n" * (MAX_DAMAGED + 1)])
def test_a_file_that_is_no_recording_is_not_read_to_its_end(tmp_path: Path, begin: bytes) -> None:
    # One of 3 GB under a run's name in one's own folder held up `runs list` for a minute.
    path = tmp_path / "run.jsonl"
    path.write_bytes(begin + b" " * (8 << 20) + b"\n" + events.write_event(note(1)))
    reader = LineReader(path.name)
    assert not [event for batch in batches(path, reader) for event in batch]
    assert reader.is_hopeless
    assert reader.taken < len(begin) + (4 << 20)


def test_after_ten_thousand_damaged_lines_the_rest_of_a_recording_is_left_out(
    tmp_path: Path,
) -> None:
    path = tmp_path / "run.jsonl"
    line = events.write_event(note(1))
    path.write_bytes(line + b"\n \n" + b"{\n" * MAX_DAMAGED + line + b"{\n" + line)
    found = read_recording(path)
    assert len(found.events) == 2, "before and among the damaged lines, and not after them"
    assert len(found.problems) == MAX_DAMAGED + 1, "empty lines are no damage"
    assert found.problems[-1].message == "more than 10,000 damaged lines; the rest is left out"


@pytest.mark.parametrize("on", [True, False])
def test_reading_a_recording_leaves_the_garbage_collector_as_it_was(
    tmp_path: Path, on: bool
) -> None:
    path = tmp_path / "run.jsonl"
    path.write_bytes(events.write_event(note(1)))
    (gc.enable if on else gc.disable)()
    try:
        read_recording(path)
        assert gc.isenabled() is on
    finally:
        gc.enable()


async def test_following_looks_at_the_file_sixty_times_a_second(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "run.jsonl"
    path.write_bytes(events.write_event(note(1)))
    waits: list[float] = []

    async def slept(seconds: float) -> None:
        waits.append(seconds)
        path.write_bytes(events.write_event(note(1)) + events.write_event(end(2)))

    monkeypatch.setattr(reading.asyncio, "sleep", slept)
    assert [event.seq async for batch in follow(path) for event in batch] == [1, 2]
    assert waits == [pytest.approx(1 / 60)]


def test_a_file_without_an_event_is_not_a_recording(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    path.write_text("hello\n")
    with pytest.raises(RecordingError, match="not a recording"):
        read_recording(path)


async def test_following_a_file_sees_it_appear_grow_and_end(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    seen: list[int] = []
    first = asyncio.Event()

    async def watch() -> None:
        async for batch in follow(path, frame_s=0):
            seen.extend(event.seq for event in batch)
            first.set()

    watching = asyncio.create_task(watch())
    await asyncio.sleep(0)
    recorder = Recorder(path)
    recorder.append(note(1))
    await first.wait()
    recorder.append(note(2))
    recorder.append(end(3))
    await watching
    await recorder.aclose()
    assert seen == [1, 2, 3]


async def test_following_ends_when_the_writer_is_gone(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    path.write_bytes(b"".join(events.write_event(note(seq)) for seq in range(1, 6)))
    seen = [
        event.seq
        async for batch in follow(path, still_written=lambda: False, frame_s=0)
        for event in batch
    ]
    assert seen == [1, 2, 3, 4, 5]


@pytest.mark.parametrize("torn", [b"", b'{"kind":"warn', b"x" * 3_000_000])
async def test_following_a_resumed_run_skips_its_earlier_end_and_a_partial_line(
    tmp_path: Path, torn: bytes
) -> None:
    path = tmp_path / "run.jsonl"
    path.write_bytes(b"".join(map(events.write_event, [note(1), end(2)])) + torn)
    seen: list[int] = []
    began, written = asyncio.Event(), asyncio.Event()

    async def watch() -> None:
        async for batch in follow(
            path, ends=1, frame_s=0, still_written=lambda: not written.is_set()
        ):
            seen.extend(event.seq for event in batch)
            began.set()

    watching = asyncio.create_task(watch())
    await began.wait()
    recorder = Recorder(path, resume=True)
    for event in (resumed(3), note(4), end(5)):
        recorder.append(event)
    await recorder.aclose()
    written.set()
    await watching
    assert seen == [1, 2, 3, 4, 5]


async def test_following_from_the_start_sees_a_resumed_run_to_its_last_end(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    path.write_bytes(
        b"".join(map(events.write_event, [note(1), end(2), resumed(3), note(4), end(5)]))
    )
    seen = [event.seq async for batch in follow(path, frame_s=0) for event in batch]
    assert seen == [1, 2, 3, 4, 5]


@pytest.mark.parametrize("torn", [b"", b'{"kind":"warn', b"x" * 3_000_000])
async def test_resuming_removes_a_partial_last_line_and_appends(
    tmp_path: Path, torn: bytes
) -> None:
    path = tmp_path / "run.jsonl"
    path.write_bytes(events.write_event(note(1)) + torn)
    recorder = Recorder(path, resume=True)
    recorder.append(note(2))
    await recorder.aclose()
    recording = read_recording(path)
    assert [event.seq for event in recording.events] == [1, 2]
    assert recording.problems == ()


async def test_a_second_writer_is_refused_and_a_recording_is_not_overwritten(
    tmp_path: Path,
) -> None:
    path = tmp_path / "run.jsonl"
    recorder = Recorder(path)
    with pytest.raises(RecordingError, match="another process is writing to it"):
        Recorder(path, resume=True)
    recorder.append(note(1))
    await recorder.aclose()
    with pytest.raises(RecordingError, match="not overwritten"):
        Recorder(path)
    assert len(read_recording(path).events) == 1


def resumed(seq: int) -> events.RunResumed:
    return events.RunResumed(
        run_id="r", seq=seq, at=datetime(2026, 1, 1, tzinfo=UTC), program_version="0"
    )


@pytest.mark.parametrize("what", ["deleted", "moved"])
async def test_a_recording_deleted_between_opening_and_locking_is_not_written(
    what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "run.jsonl"
    path.write_bytes(events.write_event(note(1)))
    lock = recorder_module.lock

    def late(descriptor: int) -> None:
        if what == "moved":
            path.rename(tmp_path / "elsewhere.jsonl")
            path.symlink_to(tmp_path / "copy.jsonl")
            (tmp_path / "copy.jsonl").write_bytes(b"")
        else:
            path.unlink()
        lock(descriptor)

    monkeypatch.setattr(recorder_module, "lock", late)
    with pytest.raises(RecordingError, match="just deleted or moved"):
        Recorder(path, resume=True)


async def test_a_new_recording_survives_a_power_cut(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[Path] = []
    monkeypatch.setattr(recorder_module, "sync_folder", synced.append)
    await Recorder(tmp_path / "run.jsonl").aclose()
    assert synced == [tmp_path]


async def test_a_recording_can_be_moved_more_than_once_and_continues(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path / "run.jsonl")
    recorder.append(note(1))
    folders = [tmp_path / "one", tmp_path / "two"]
    for number, folder in enumerate(folders, start=2):
        folder.mkdir()
        await asyncio.to_thread(recorder.move, folder)
        assert recorder.path.resolve().parent == folder
        recorder.append(note(number))
        await recorder.written()
    await recorder.aclose()
    assert [event.seq for event in read_recording(recorder.path).events] == [1, 2, 3]
    assert [event.seq for event in read_recording(folders[0] / "run.jsonl").events] == [1, 2]


async def test_a_move_that_is_refused_leaves_the_recording_where_it_is(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path / "run.jsonl")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "run.jsonl").touch()
    for folder, why in (
        (tmp_path / "none", "is not a folder"),
        (tmp_path, "already contains the recording"),
        (tmp_path / "full", "already exists and is not overwritten"),
    ):
        with pytest.raises(RecordingError, match=why):
            await asyncio.to_thread(recorder.move, folder)
    recorder.append(note(1))
    await recorder.aclose()
    assert not recorder.path.is_symlink()
    assert len(read_recording(recorder.path).events) == 1


async def test_moves_that_wait_while_the_disk_is_full_all_get_an_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bioeval_tui.record.recorder.RETRY_S", 0.001)
    recorder = Recorder(tmp_path / "run.jsonl")
    recorder._file = FullDisk(recorder._file)  # type: ignore[assignment]
    recorder.append(note(1))
    folders = [tmp_path / "none", tmp_path / "room"]
    folders[1].mkdir()
    moving = [asyncio.to_thread(recorder.move, folder) for folder in folders]
    async with asyncio.timeout(10):
        refused, moved = await asyncio.gather(*moving, return_exceptions=True)
        assert isinstance(refused, RecordingError)
        assert moved is None
        await recorder.written()
    await recorder.aclose()
    assert [event.seq for event in read_recording(folders[1] / "run.jsonl").events] == [1]


async def test_a_recorder_that_gave_up_refuses_to_move_and_to_wait(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bioeval_tui.record.recorder.RETRY_S", 0.001)
    recorder = Recorder(tmp_path / "run.jsonl")
    recorder._file = FullDisk(recorder._file)  # type: ignore[assignment]
    recorder.append(note(1))
    with pytest.raises(RecordingError, match="the last events could not be written"):
        await recorder.aclose(timeout_s=0.01)
    with pytest.raises(RecordingError, match="the run has ended"):
        recorder.move(tmp_path)
    with pytest.raises(RecordingError, match="the last events could not be written"):
        await recorder.written()


async def test_a_listener_hears_of_trouble_once_and_when_it_is_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[str | None] = []

    def hear(trouble: str | None) -> None:
        said.append(trouble)
        if len(said) == 1:
            raise ValueError("a defect of the listener")

    monkeypatch.setattr("bioeval_tui.record.recorder.RETRY_S", 0.001)
    recorder = Recorder(tmp_path / "run.jsonl", on_trouble=hear)
    disk = recorder._file
    recorder._file = FullDisk(disk)  # type: ignore[assignment]
    recorder.append(note(1))
    await asyncio.sleep(0.05)
    recorder._file = disk
    await recorder.written()
    await recorder.aclose()
    assert said == ["cannot write run.jsonl: No space left on device", None]
