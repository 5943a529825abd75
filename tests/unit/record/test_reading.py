"""A recording of any length is read and replayed in a bounded amount of memory."""

from __future__ import annotations

import json
import weakref
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from bioeval_tui.base.errors import RecordingError
from bioeval_tui.evaluation.engine.attach import ReplayedRun
from bioeval_tui.record import events, reading
from bioeval_tui.record.events import MessageCompleted, RunEnded, RunEvent, RunStarted
from bioeval_tui.record.reading import (
    BLOCK,
    LineReader,
    Outline,
    RecordedEvents,
    complete_size,
    follow,
    read_recording,
    run_events,
)
from tests.unit.evaluation.conversation.fakes import AT
from tests.unit.report.recorded import Recorded, scoring

GOLDEN = Path(__file__).parents[2] / "golden" / "demo-run.jsonl"
KEPT = 20
"""More than one block of `few_kept` has, and fewer than the recording."""


@pytest.fixture
def few_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "MOST_KEPT", KEPT)
    monkeypatch.setattr(reading, "BLOCK", 1_000)


@pytest.mark.parametrize(("less", "events"), [(0, 1), (1, 0)])
def test_an_unfinished_line_of_just_the_limit_is_kept_until_its_end(
    monkeypatch: pytest.MonkeyPatch, less: int, events: int
) -> None:
    line = GOLDEN.read_bytes().splitlines()[0]
    monkeypatch.setattr(reading, "MAX_LINE", len(line) - less)
    reader = LineReader("run.jsonl")
    assert reader.feed(line) == []
    assert len(reader.problems) == less
    assert len(reader.feed(b"\n")) == events


@pytest.mark.parametrize("at_once", [True, False])
def test_a_line_that_is_too_long_is_named_by_its_number(
    monkeypatch: pytest.MonkeyPatch, at_once: bool
) -> None:
    line = GOLDEN.read_bytes().splitlines(keepends=True)[0]
    monkeypatch.setattr(reading, "MAX_LINE", len(line))
    reader = LineReader("run.jsonl")
    long = b"x" * (len(line) + 1)
    if at_once:
        assert len(reader.feed(line + line + long)) == 2
    else:
        assert len(reader.feed(line + line)) == 2
        assert reader.feed(long) == []
    assert [(problem.line, problem.message) for problem in reader.problems] == [
        (3, f"a line is longer than {len(line):,} bytes")
    ]
    assert len(reader.feed(b"rest\n" + line)) == 1
    assert [problem.line for problem in reader.problems] == [3, 3]
    reader.feed(b"torn")
    reader.finish()
    assert reader.problems[-1].line == 5


@pytest.mark.usefixtures("few_kept")
@pytest.mark.parametrize(
    "damage", [b"", b"\n\n", b"{}\n", b'{"kind": "\xff\n', b"x" * 5_000 + b"\n"]
)
def test_events_that_are_read_again_are_those_that_were_read(tmp_path: Path, damage: bytes) -> None:
    lines = GOLDEN.read_bytes().splitlines(keepends=True)
    path = tmp_path / "run.jsonl"
    path.write_bytes(
        b"".join(line + damage * (n % 7 == 3) for n, line in enumerate(lines)) + b'{"torn": '
    )
    wanted = list(read_recording(path).events)
    events = RecordedEvents(path)
    assert [event for batch in events.read() for event in batch] == wanted
    assert list(events) == events[:] == wanted
    assert [events[n] for n in (-1, 0, len(wanted) // 2)] == [
        wanted[n] for n in (-1, 0, len(wanted) // 2)
    ]
    assert events[25:61] == wanted[25:61]
    with pytest.raises(IndexError):
        events[len(wanted)]


@pytest.mark.usefixtures("few_kept")
def test_a_recording_that_is_gone_or_changed_is_named(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    path.write_bytes(GOLDEN.read_bytes())
    events = RecordedEvents(path)
    assert sum(map(len, events.read())) == len(events)
    path.write_bytes(b"\n" * 1_000_000)
    with pytest.raises(RecordingError, match=r"run\.jsonl: changed"):
        events[-1]
    path.unlink()
    with pytest.raises(RecordingError, match=r"run\.jsonl: changed"):
        events[-1]
    with pytest.raises(RecordingError, match="cannot be read"):
        list(RecordedEvents(path).read())
    path.write_bytes(b"{}\n")
    with pytest.raises(RecordingError, match="not a recording"):
        list(RecordedEvents(path).read())


@pytest.mark.usefixtures("few_kept")
@pytest.mark.parametrize("speed", [None, 1.0], ids=["at once", "at a pace"])
async def test_a_replay_keeps_few_events(speed: float | None) -> None:
    view = ReplayedRun(GOLDEN, speed, clock=count(step=1e6).__next__)
    wanted = list(read_recording(GOLDEN).events)
    shown: list[weakref.ref[RunEvent]] = []
    for _ in range(2):
        seen = []
        async for batch in view.events():
            shown += map(weakref.ref, batch)
            seen += [event.seq for event in batch]
            del batch
        assert seen == [event.seq for event in wanted]
    alive = {id(event) for one in shown if (event := one()) is not None}
    assert len(wanted) > 5 * KEPT
    assert len(alive) < 3 * KEPT
    assert view.marks[-1].given == view.given == len(wanted)


@pytest.mark.usefixtures("few_kept")
async def test_a_replay_goes_to_every_place_without_its_events() -> None:
    view = ReplayedRun(GOLDEN, None)
    assert [event async for batch in view.events() for event in batch]
    wanted = list(read_recording(GOLDEN).events)
    for mark in reversed(view.marks):
        assert not view.seek(mark.given), "events are shown from the beginning again"
        playing = view.events()
        shown: list[RunEvent] = []
        while len(shown) < mark.given:
            shown += await anext(playing)
        assert shown == wanted[: mark.given]
        assert view.given == mark.given
    messages = [n for n, event in enumerate(wanted, start=1) if isinstance(event, MessageCompleted)]
    assert view.step()
    assert view.heading == messages[0]


@pytest.mark.parametrize("mark", ["\u0e49", "\u0951", "\u0f71", "\u0301", "\u05b8"])
@pytest.mark.parametrize("escaped", [True, False])
def test_marks_in_a_strangers_recording_are_bounded_however_they_are_written(
    mark: str, escaped: bool, tmp_path: Path
) -> None:
    rows = [json.loads(line) for line in GOLDEN.read_bytes().splitlines()]
    at = next(at for at, row in enumerate(rows) if row["kind"] == "message_completed")
    rows[at]["content"] = "a" + mark * 400 + " and กตัญญู"
    path = tmp_path / "recording.jsonl"
    path.write_text(
        "".join(json.dumps(row, ensure_ascii=escaped) + "\n" for row in rows), encoding="utf-8"
    )
    (found,) = (event for event in read_recording(path).events if event.seq == rows[at]["seq"])
    assert isinstance(found, MessageCompleted)
    assert found.content == "a" + mark * 8 + " and กตัญญู"


PLACE = {"run_id": "r", "seq": 1, "at": AT, "condition": "withheld", "trial": 1, "attempt": 1}


def said_outline(number: int, **more: Any) -> RunEvent:
    return MessageCompleted(
        **(PLACE | more), message=number, turn=1, role="user", speaker="s", content="x"
    )


def ended(fault: str, **more: Any) -> RunEvent:
    return events.ConversationEnded(**(PLACE | more), reason="signed_off", fault=fault)


def scored(score: float | None, fault: str = "none", **more: Any) -> RunEvent:
    return events.ConversationScored(
        **(PLACE | more), score=score, parts=(), penalty=0.0, failures=0, fault=fault
    )


@pytest.mark.parametrize(
    ("told", "messages", "faults", "score"),
    [
        ([], 0, [], None),
        ([said_outline(1), said_outline(2)], 2, [], None),
        ([said_outline(1), said_outline(1)], 1, [], None),  # completed twice
        # what ended it comes before why it has no score, and each takes the place of the one before
        ([ended("agent")], 0, ["agent"], None),
        ([ended("none"), scored(0.5)], 0, [], 0.5),
        ([ended("none"), scored(None, "judge")], 0, ["judge"], None),
        ([ended("agent"), scored(None, "judge")], 0, ["agent"], None),
        ([ended("none"), scored(None, "judge"), scored(0.5)], 0, [], 0.5),
        ([scored(None, "judge")], 0, ["judge"], None),
        ([ended("agent"), ended("none"), scored(0.25)], 0, [], 0.25),
        # only the newest attempt counts, and one without a number is the first
        ([ended("agent", attempt=1), ended("none", attempt=2), scored(0.5, attempt=2)], 0, [], 0.5),
        ([ended("none", attempt=2), scored(0.5, attempt=2), ended("agent", attempt=1)], 0, [], 0.5),
        ([said_outline(1, attempt=None), said_outline(2, attempt=1)], 2, [], None),
        ([said_outline(1, attempt=None), said_outline(2, attempt=2)], 1, [], None),
        # what is of no conversation
        ([said_outline(1, trial=None), ended("agent", condition=None)], 0, [], None),
    ],
)
def test_an_outline_has_the_values_of_the_whole_run(
    told: list[RunEvent], messages: int, faults: list[str], score: float | None
) -> None:
    outlined = Outline()
    for event in (Recorded([scoring(0.5)]).events()[0], *told):
        outlined.take(event)
    assert (outlined.messages, outlined.faults) == (messages, faults)
    assert outlined.scores() == {"withheld": score}
    assert Outline().scores() == {}


@pytest.mark.parametrize(
    ("warned", "ends", "clean"),
    [([], [True], True), ([], [False], False), (["other"], [True], True),
        (["not_clean"], [True], False), (["clean_unknown"], [], False),
        ([], [False, True], False), ([], [], True)],
)  # fmt: skip
def test_a_run_is_clean_in_its_outline_if_nothing_says_otherwise(
    warned: list[str], ends: list[bool], clean: bool
) -> None:
    outlined = Outline()
    for code in warned:
        outlined.take(events.Warned(**PLACE, code=code, message="m"))
    for number, each in enumerate(ends, start=2):
        at = {"run_id": "r", "seq": 1, "at": AT}
        outlined.take(Recorded([scoring(0.5)]).events()[0])
        outlined.take(events.RunResumed(**at, program_version="1", trials=number))
        assert outlined.ended is None
        assert outlined.started is not None
        assert outlined.started.trials == number
        outlined.take(events.RunEnded(**at, status="completed", clean=each, trials=9))
        assert outlined.started.trials == 9
    assert outlined.clean == clean


def test_when_a_run_began_and_ended_is_found_without_reading_what_lies_between(
    tmp_path: Path,
) -> None:
    written = GOLDEN.read_bytes()
    path = tmp_path / "run.jsonl"
    path.write_bytes(written + written.splitlines()[-1].replace(b"run_ended", rb"run_\u0065nded"))
    every = read_recording(GOLDEN).events
    of_run = [event for event in every if isinstance(event, RunStarted | RunEnded)]
    assert list(run_events(path)) == of_run, "the last line is torn"
    assert complete_size(path) == len(written)
    path.write_bytes(path.read_bytes() + b"\n")
    assert [event.kind for event in run_events(path)] == ["run_started", "run_ended", "run_ended"]
    assert complete_size(path) == path.stat().st_size
    assert complete_size(tmp_path / "none") == 0
    path.write_bytes(b"x" * (BLOCK + 5))
    assert complete_size(path) == 0
    path.write_bytes(b"\n" + b"x" * (BLOCK + 5))
    assert complete_size(path) == 1


async def test_a_run_can_be_followed_from_where_it_went_on() -> None:
    lines = GOLDEN.read_bytes().splitlines(keepends=True)
    begin = len(b"".join(lines[:40]))
    batches = follow(GOLDEN, begin=begin)
    found = [event async for batch in batches for event in batch]
    assert found == list(read_recording(GOLDEN).events[40:])
