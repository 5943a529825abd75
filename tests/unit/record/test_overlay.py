"""Later scores are kept beside the recording, in order, with their author; the recording never
changes.
"""

from __future__ import annotations

import stat
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

import pytest

from bioeval_tui.base.errors import RecordingError
from bioeval_tui.formats import ConversationKey
from bioeval_tui.record import events
from bioeval_tui.record.overlay import (
    append_numbered,
    append_reviews,
    judgings,
    last_seq,
    read_overlay,
    state_in_force,
)
from bioeval_tui.record.reviews import fold_reviews
from bioeval_tui.record.runs import overlay_path
from bioeval_tui.record.state import RunState, apply_all
from tests.unit.record.test_state import recorded

KEY = ConversationKey("withheld", 1)


def verdict(seq: int, score: float, author: str = "ada") -> list[events.RunEvent]:
    where = {
        "run_id": "r", "at": datetime(2026, 1, 1, tzinfo=UTC), "condition": "withheld", "trial": 1,
        "attempt": 1, "author": author,
    }  # fmt: skip
    tasks = (events.TaskScored(task=1, title="t", score=score),)
    return [
        events.TranscriptScored(
            **where, seq=seq, judge="another", tasks=tasks, prompts={"p": "abc"}
        ),
        events.ConversationScored(
            **where, seq=seq + 1, score=score, parts=(), penalty=0.0, failures=0
        ),
    ]


def test_the_first_later_verdict_is_numbered_after_the_recording_and_others_after_it(
    tmp_path: Path,
) -> None:
    path = tmp_path / "run.jsonl"
    path.write_bytes(b"".join(map(events.write_event, recorded())))
    for after in (40, 40, 41):  # a run that was resumed meanwhile has more events
        append_numbered(path, verdict(1, 0.25), after=after)
    assert [event.seq for event in read_overlay(path).events] == [41, 42, 43, 44, 45, 46]
    append_numbered(path, verdict(1, 0.25), after=60)
    assert last_seq(read_overlay(path)) == 62


def test_later_verdicts_are_kept_in_order_and_the_recording_does_not_change(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    path.write_bytes(b"".join(map(events.write_event, recorded())))
    before = path.read_bytes()
    append_numbered(path, verdict(1, 0.25))
    append_numbered(path, verdict(3, 0.75, "ben"))
    overlay = read_overlay(path)
    assert last_seq(overlay) == 4
    recorded_state = apply_all(RunState(), recorded())
    (same,) = judgings(recorded_state, overlay).values()
    assert [(item.author, item.score.score if item.score else None) for item in same] == [
        ("ada", 0.25),
        ("ben", 0.75),
    ]
    assert same[0].verdict.prompts == {"p": "abc"}
    state = state_in_force(recorded_state, overlay)
    assert state.conversations[KEY].score.score == 0.75  # type: ignore[union-attr]
    assert path.read_bytes() == before
    assert stat.S_IMODE(overlay_path(path).stat().st_mode) == 0o600


def test_the_list_of_runs_keeps_only_the_latest_verdict_of_each_conversation(
    tmp_path: Path,
) -> None:
    path = tmp_path / "run.jsonl"
    path.write_bytes(b"".join(map(events.write_event, recorded())))
    review = events.Reviewed(
        run_id="r",
        seq=5,
        at=datetime(2026, 1, 1, tzinfo=UTC),
        review="x",
        author="ada",
        action="accept",
    )
    judged = apply_all(RunState(), recorded())
    for new in (verdict(1, 0.25), [review], verdict(3, 0.75, "ben"), verdict(6, 0.5)[:1]):
        append_numbered(path, new)
        short = read_overlay(path, in_force_only=True)
        assert state_in_force(judged, short) == state_in_force(judged, read_overlay(path))
    assert [event.seq for event in short.events] == [
        3,
        6,
    ], "the last verdict has no score of its own"


def test_a_partial_line_loses_no_other_line(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    path.touch()
    overlay_path(path).write_bytes(b'{"kind":"transcript_sc')
    append_numbered(path, verdict(1, 0.5))
    overlay = read_overlay(path)
    assert [event.kind for event in overlay.events] == ["transcript_scored", "conversation_scored"]
    assert [problem.line for problem in overlay.problems] == [1]


def test_without_an_overlay_there_are_no_later_scores(tmp_path: Path) -> None:
    assert read_overlay(tmp_path / "run.jsonl").events == ()


def test_concurrent_reviews_are_all_kept_with_unique_numbers(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    path.touch()
    overlay_path(path).write_bytes(b'{"kind":"reviewed","torn')

    def give(author: str) -> None:
        for number in range(10):
            append_reviews(
                path,
                [
                    events.Reviewed(
                        run_id="r", seq=0, at=datetime(2026, 1, 1, tzinfo=UTC),
                        condition="withheld", trial=1,
                        author=author, review=f"{author}{number}", action="override", task=1,
                        after=0.5, why="w",
                    )
                ],
            )  # fmt: skip

    with ThreadPoolExecutor(4) as people:
        list(people.map(give, ("ada", "ben", "cleo", "dan")))
    overlay = read_overlay(path)
    assert sorted(event.seq for event in overlay.events) == list(range(1, 41))
    assert len(fold_reviews(overlay.events).standing) == 40
    assert [problem.line for problem in overlay.problems] == [1]


def test_a_run_that_was_deleted_meanwhile_gets_no_overlay(tmp_path: Path) -> None:
    path = tmp_path / "20260101-000000-abcd.jsonl"
    with pytest.raises(RecordingError, match="was just deleted or moved"):
        append_numbered(path, verdict(1, 0.5))
    assert list(tmp_path.iterdir()) == [], "a later run of that id would get them"


def test_an_overlay_that_is_too_large_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    path.touch()
    with overlay_path(path).open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(RecordingError, match="may have at most 64,000,000 bytes"):
        read_overlay(path)
    with pytest.raises(RecordingError, match="may have at most 64,000,000 bytes"):
        append_numbered(path, verdict(1, 0.5))
