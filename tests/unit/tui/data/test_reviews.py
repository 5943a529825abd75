"""Reviews by several people, kept beside recordings and grading reports without changing them."""

from __future__ import annotations

import json
import stat
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import pytest

from bioeval_tui.base.errors import UsageError
from bioeval_tui.base.settings import Settings
from bioeval_tui.grading import TaskReport
from bioeval_tui.record.masking import use
from bioeval_tui.record.masking.mask import Mask
from bioeval_tui.record.masking.rules import LiteralRule, Rules
from bioeval_tui.record.overlay import read_overlay
from bioeval_tui.record.reviews import reviewed_mark
from bioeval_tui.record.runs import overlay_path
from bioeval_tui.report.result import load_run
from bioeval_tui.tui.data.services import AppServices
from bioeval_tui.tui.grading_items import MedalRow
from bioeval_tui.tui.review_items import NewReview, ReviewItem, ReviewSource
from tests.command import call
from tests.unit.record.test_versions import GOLDEN

ID = "20260101-000000-abcd"


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(data_dir_override=str(tmp_path / "data"))


@pytest.fixture
def recording(settings: Settings) -> Path:
    settings.runs_dir.mkdir(parents=True, mode=0o700)
    path = settings.runs_dir / f"{ID}.jsonl"
    path.write_bytes((GOLDEN / "version-1.jsonl").read_bytes())
    return path


def desk_of(settings: Settings, reviewer: str = "ada", *reports: Path) -> AppServices:
    return AppServices(settings, reports=reports, reviewer=reviewer)


def give(desk: AppServices, item: ReviewItem, given: NewReview) -> str:
    return desk.review_desk.give(item, given, desk.reviewer)


async def rows_at(settings: Settings, place: Path) -> list[MedalRow]:
    """Return the rows of the reports there."""
    found: list[MedalRow] = []
    async for row in desk_of(settings, "ada", place).medals():
        if row is None:
            break
        found.append(row)
    return found


def test_an_unasked_task_offers_no_score_to_accept(settings: Settings, recording: Path) -> None:
    text = recording.read_text(encoding="utf-8").replace(
        '"task":2,', '"task":2,"asked":0,"kept_by":"user",'
    )
    recording.write_text(text, encoding="utf-8")
    items = desk_of(settings).review_desk.queue(ReviewSource((ID,)))
    (judged,) = (
        i.judged for i in items if i.id.key and i.id.key.condition == "withheld" and i.id.task == 2
    )
    assert judged is not None
    assert judged.score is None
    assert judged.why_not.startswith("The user never asked for it")


def test_two_people_can_review_a_run(settings: Settings, recording: Path) -> None:
    before = recording.read_bytes()
    ada, ben = desk_of(settings), desk_of(settings, "ben")
    source = ReviewSource((ID,))
    items = ada.review_desk.queue(source)
    assert [(i.id.key.condition if i.id.key else "", i.id.task) for i in items] == [
        (condition, task) for condition in ("withheld", "supplied") for task in (1, 2, 3)
    ]
    first = items[0]
    assert first.judged is not None
    assert first.judged.score is not None
    assert load_run(recording).reviewed is None
    give(ada, first, NewReview("override", score=0.5, why="half of it"))
    give(
        ben,
        ben.review_desk.queue(source)[0],
        NewReview("override", score=1.0, why="all of it", blind=True),
    )
    give(
        ada, items[1], NewReview("accept", score=items[1].judged.score if items[1].judged else None)
    )
    note = give(ada, items[0], NewReview("note", why="odd"))
    again = ada.review_desk.queue(source)
    assert again[0].conversation is first.conversation, (
        "a reader's place in the transcript must not be lost"
    )
    opinions = again[0].opinions
    assert {name: entry.after for name, entry in opinions.items()} == {"ada": 0.5, "ben": 1.0}
    assert opinions["ada"].before == first.judged.score
    assert opinions["ben"].before == 0.5, "what Ben found was Ada's"
    assert [entry.why for entry in again[0].notes] == ["odd"]
    ada.review_desk.undo(again[0], note, ada.reviewer)
    assert (ada.review_desk.queue(source))[0].notes == ()
    found = load_run(recording).reviewed
    assert found is not None
    assert (found.reviewers, found.tasks, found.disputed) == (("ada", "ben"), 2, 1)
    assert recording.read_bytes() == before
    entries = read_overlay(recording).events
    assert [entry.seq for entry in entries] == [1, 2, 3, 4, 5]
    assert {entry.author for entry in entries} == {"ada", "ben"}
    assert stat.S_IMODE(overlay_path(recording).stat().st_mode) == 0o600


def test_a_second_score_is_never_blind_even_after_an_undo(
    settings: Settings, recording: Path
) -> None:
    desk, source = desk_of(settings), ReviewSource((ID,))
    blind = NewReview("override", score=0.5, why="half of it", blind=True)
    first, second = desk.review_desk.queue(source)[:2]
    desk.review_desk.undo(first, give(desk, first, blind), desk.reviewer)
    for item, one in ((first, desk), (first, desk_of(settings, "ben")), (second, desk)):
        give(one, item, blind)
    again = desk.review_desk.queue(source)
    assert [again[0].opinions[name].blind for name in ("ada", "ben")] == [False, True]
    assert again[1].opinions["ada"].blind


def test_a_fault_applies_to_the_whole_conversation(settings: Settings, recording: Path) -> None:
    desk = desk_of(settings)
    source = ReviewSource((str(recording),))
    item = desk.review_desk.queue(source)[0]
    give(desk, item, NewReview("fault", fault="evaluator", why="it never asked"))
    faults = [bool(found.faults) for found in desk.review_desk.queue(source)]
    assert faults == [True] * 3 + [False] * 3
    found = load_run(recording).reviewed
    assert found is not None
    assert (found.scores["withheld"], found.mean) == (None, None)


def test_with_masked_names_reviews_can_be_read_but_not_added(
    settings: Settings, recording: Path
) -> None:
    desk = desk_of(settings, "Ada")
    give(
        desk,
        desk.review_desk.queue(ReviewSource((ID,)))[0],
        NewReview("override", score=0.5, why="Ada saw it"),
    )
    use(Mask(Rules((LiteralRule.of("Ada", "[NAME]", is_name=True),))))
    try:
        item = desk_of(settings).review_desk.queue(ReviewSource((ID,)))[0]
        assert "Ada" not in str(item.opinions)
        assert len(item.opinions) == 1
        with pytest.raises(UsageError, match="without --redact"):
            give(desk_of(settings, "ben"), item, NewReview("note", why="hm"))
    finally:
        use(Mask())


def report(task: str, **changes: object) -> TaskReport:
    found = TaskReport(
        task_id=task, score=0.9, gold_threshold=0.8, silver_threshold=0.7, bronze_threshold=0.6,
        median_threshold=0.5, any_medal=True, gold_medal=True, silver_medal=False,
        bronze_medal=False,
        above_median=True, submission_exists=True, valid_submission=True, is_lower_better=False,
        created_at=datetime(2026, 11, 21), submission_path=f"{task}/submission.csv",
    )  # fmt: skip
    return replace(found, **changes)  # type: ignore[arg-type]


async def test_marks_of_submissions_are_stored_beside_the_report(
    settings: Settings, tmp_path: Path
) -> None:
    folder = tmp_path / "results"
    single = folder / "2026_individual_reports" / "a.json"
    single.parent.mkdir(parents=True)
    whole = folder / "2026_grading_report.json"
    reports = [report("made/a"), report("made/b", valid_submission=False)]
    whole.write_text(json.dumps({"task_reports": [found.to_dict() for found in reports]}))
    single.write_text(json.dumps(reports[0].to_dict()))
    before = whole.read_bytes()
    desk = desk_of(settings)
    items = desk.review_desk.queue(ReviewSource(reports=(whole,)))
    assert [(item.title, item.graded) for item in items] == [
        ("made/a", "valid"),
        ("made/b", "invalid"),
    ]
    give(
        desk,
        items[0],
        NewReview("override", mark="suspicious", why="the scores of the leaderboard's first"),
    )
    give(desk, items[1], NewReview("accept", mark="invalid"))
    for place in (whole, folder, single):
        rows = await rows_at(settings, place)
        assert reviewed_mark(desk.review_desk.marks(rows)[0]) == "suspicious"
    assert [
        bool(item.opinions) for item in desk.review_desk.queue(ReviewSource(reports=(folder,)))
    ] == [
        True,
        True,
    ]
    assert whole.read_bytes() == before
    assert (folder / "reviews.overlay.jsonl").is_file()
    unsaved = replace(items[0], row=replace(rows[0], folder=None))
    with pytest.raises(UsageError, match="without a report"):
        give(desk, unsaved, NewReview("accept", mark="valid"))
    assert desk.review_desk.queue(ReviewSource(rows=(replace(rows[0], folder=None),))) == []


def test_exported_medal_tables_include_the_reviewers_marks(
    settings: Settings, tmp_path: Path
) -> None:
    folder = tmp_path / "results"
    folder.mkdir()
    whole = folder / "2026_grading_report.json"
    whole.write_text(
        json.dumps({"task_reports": [report("made/a").to_dict(), report("made/b").to_dict()]})
    )
    desk = desk_of(settings)
    item = desk.review_desk.queue(ReviewSource(reports=(folder,)))[0]
    give(desk, item, NewReview("override", mark="invalid", why="=leaked <b>"))
    for kind, words in (
        ("html", "reviewed: invalid (ada: =leaked &lt;b&gt;)"),
        ("md", "invalid (ada: =leaked &lt;b&gt;)"),
        ("csv", "invalid (ada: =leaked <b>)"),
    ):  # fmt: skip
        result = call("medals", whole, "--format", kind)
        assert words in result.output
    result = call("medals", folder, "--format", "json")
    assert json.loads(result.output) == json.loads(whole.read_text())["task_reports"]
