"""Randomly drawn reviews correct the judge's scores; other reviews do not."""

from __future__ import annotations

import csv
import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from random import Random

import pytest

from bioeval_tui.base.errors import InputError, UsageError
from bioeval_tui.base.settings import Settings
from bioeval_tui.record import events
from bioeval_tui.record.importing.into_runs import import_file
from bioeval_tui.record.overlay import append_numbered, append_reviews
from bioeval_tui.report.agreement import agreement_report, label_tasks, rated_tasks
from bioeval_tui.report.correction import corrections, draw, last_draw, progress
from bioeval_tui.report.result import load_run
from bioeval_tui.tui.data.services import AppServices
from bioeval_tui.tui.review_items import ReviewSource
from tests.command import call
from tests.unit.report.recorded import import_scores

CASES = 200
"""Conversations, each a case of its own."""


def truth(case: int) -> bool:
    return Random(case).random() < 0.6


def judged(case: int) -> bool:
    """A judge that passes everything that is good, and 40 % of what is not."""
    return truth(case) or Random(f"judge {case}").random() < 0.4


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("BIOEVAL_DATA_DIR", str(tmp_path))
    return import_scores(tmp_path, "results", [[float(judged(case))] for case in range(CASES)])


def say(asked: Sequence[tuple[Path, events.Drawn]], *, not_blind: int | None = None) -> None:
    """Review what was drawn from a run; all but the one at the place `not_blind` without seeing the
    judge's score.
    """
    path = asked[0][0]
    entries = [
        events.Reviewed(
            run_id=path.stem, seq=0, at=datetime.now(UTC), condition=drawn.condition,
            trial=drawn.trial, attempt=1,
            author="ada", review=f"ada {drawn.trial}", action="override", task=drawn.task,
            after=float(truth(drawn.trial - 1)), blind=place != not_blind,
        )
        for place, (_, drawn) in enumerate(asked)
    ]  # fmt: skip
    append_reviews(path, entries)


def test_a_reviewed_sample_estimates_the_human_score_and_the_gain_of_ten_more_reviews(
    run: Path,
) -> None:
    say(draw([load_run(run)], 100, 7))
    score, passes = corrections([load_run(run)], rated_tasks([load_run(run)], every=True)[0])
    assert score.found is not None
    people = sum(map(truth, range(CASES))) / CASES
    assert score.found.interval.low <= people <= score.found.interval.high
    assert score.found.judge > score.found.interval.high  # the judge alone is far off
    assert (
        f"judge {score.found.judge:.2f}; people would say {score.found.estimate:.2f} ["
        in score.words
    )
    assert f"from 100 reviews of {CASES}" in score.words
    assert passes.found is not None
    assert score.found.width_after_ten_more < score.found.interval.width
    shown = call("runs", "agreement", run.stem).stdout
    assert "people would say" in shown
    assert "ten more reviews: ±" in shown
    assert "sensitivity 1.00" in shown
    (judge,) = json.loads(call("runs", "agreement", run.stem, "--json").stdout)["judges"]
    assert judge["corrected"]["score"]["reviews"] == 100
    assert judge["against_people"]["confusion"]["false_negatives"] == 0


def test_what_people_would_say_stands_in_every_view_of_a_run_and_never_a_blend(
    run: Path, tmp_path: Path
) -> None:
    say(draw([load_run(run)], 100, 7))
    (found,) = corrections([load_run(run)], rated_tasks([load_run(run)], every=True)[0])[:1]
    assert found.found is not None
    one = found.found
    said = (
        f"tasks: people would say {one.estimate:.2f} [{one.interval.low:.2f},"
        f" {one.interval.high:.2f}] (100 of {CASES} verdicts reviewed; the judge said"
        f" {one.judge:.2f})"
    )
    page = tmp_path / "run.md"
    assert call("runs", "report", run.stem, "--output", str(page)).exit_code == 0
    assert said in page.read_text(encoding="utf-8").replace("\\", "")
    assert said in call("runs", "show", run.stem).stdout
    assert said in json.loads(call("runs", "show", run.stem, "--json").stdout)["people_say"][0]
    assert said in call("runs", "gate", run.stem, "--fail-under", "supplied:0.1").stdout
    assert f"A, {found_title(run)}{said}" in call("runs", "compare", run.stem, run.stem).stdout


def judge_again(run: Path, judge: str, cases: range) -> None:
    """Record later verdicts, as `runs rescore` does."""
    verdicts = [
        events.TranscriptScored(
            run_id=run.stem, seq=0, at=datetime.now(UTC), condition="supplied", trial=case + 1,
            attempt=1, author="ada",
            judge=judge, prompts={"eval/score": "cafe" * 16},
            tasks=(events.TaskScored(task=1, title="", score=float(truth(case))),),
        )
        for case in cases
    ]  # fmt: skip
    append_numbered(run, verdicts)


@pytest.mark.parametrize(
    ("cases", "since"),
    [
        (range(150), False),  # has fewer of the reviews
        (range(CASES), True),  # has none: it came after the draw
    ],
)
def test_the_progress_is_of_the_judge_with_the_most_reviews(
    run: Path, cases: range, since: bool
) -> None:
    if not since:
        judge_again(run, "new", cases)
    say(draw([load_run(run)], 100, 7))
    if since:
        judge_again(run, "new", cases)
    every = corrections([load_run(run)], rated_tasks([load_run(run)], every=True)[0])
    of_scores = [each for each in every if each.what == "score"]
    recorded, new = sorted(of_scores, key=lambda each: each.judge.judge == "new")
    assert recorded.found is not None
    assert recorded.found.reviews == 100
    assert new.found is None if since else new.found is not None and new.found.reviews < 100
    assert progress([load_run(run)]) == f"{recorded.words}; {recorded.worth}"


@pytest.mark.long
def test_another_judge_since_the_draw_makes_a_calibration_stale_in_every_view_and_gates_nothing(
    run: Path,
) -> None:
    say(draw([load_run(run)], 100, 7))
    judge_again(run, "new", range(CASES))
    stale = (
        "stale: the reviews were drawn before new (eval/score cafecafe) judged; draw again, with"
        " another --seed"
    )
    said = f"tasks: what people would say about the tasks is unknown: {stale}"
    assert said.replace("tasks: ", "", 1) in call("runs", "show", run.stem).stdout
    assert stale in call("runs", "compare", run.stem, run.stem).stdout
    gate = call("runs", "gate", run.stem, "--fail-under", "supplied:0.1")
    assert (gate.exit_code, stale in gate.stdout) == (0, True)
    old, _, new, _ = corrections([load_run(run)], rated_tasks([load_run(run)], every=True)[0])
    assert old.found is not None
    assert (new.judge.judge, new.found, new.refused) == ("new", None, stale)
    say(draw([load_run(run)], 100, 8))
    assert "stale" not in call("runs", "show", run.stem).stdout
    shown = call("runs", "show", run.stem).stdout.splitlines()
    assert "people would say 0." in shown[0], "the headline, before the judge's score"
    markdown = call("runs", "report", run.stem, "--format", "md").stdout
    assert 0 < markdown.index("eople would say 0.") < markdown.index(load_run(run).answer.what[:20])


def test_a_model_that_was_replaced_within_a_run_is_calibrated_by_no_sample(run: Path) -> None:
    judge_again(run, "asked for m, served m-1", range(CASES // 2))
    judge_again(run, "asked for m, served m-2", range(CASES // 2, CASES))
    say(draw([load_run(run)], 100, 7))
    (said,) = load_run(run).people_say
    assert said.endswith(
        "unknown: stale: the verdicts are by asked for m, served m-1 (eval/score cafecafe) and by"
        " asked for m, served m-2 (eval/score cafecafe); judge all again with `bioeval-tui runs"
        " rescore`, then draw again"
    )


def found_title(run: Path) -> str:
    return f"{load_run(run).state.condition_title('supplied')}: "


def test_the_same_seed_draws_the_same_sample_and_records_it_once(run: Path) -> None:
    first, again = draw([load_run(run)], 20, 7), draw([load_run(run)], 20, 7)
    assert first == again
    assert draw([load_run(run)], 20, 8) != first
    kept = last_draw(run)
    assert kept is not None
    assert (kept.seed, kept.population, len(kept.items)) == (8, CASES, 20)


def test_reviews_that_were_not_drawn_correct_nothing(run: Path) -> None:
    say(draw([load_run(run)], 60, 7))
    run.with_suffix(".overlay.jsonl").write_bytes(
        b"".join(
            line
            for line in run.with_suffix(".overlay.jsonl").read_bytes().splitlines(keepends=True)
            if b"reviews_drawn" not in line
        )
    )
    found = corrections([load_run(run)], rated_tasks([load_run(run)], every=True)[0])
    assert {each.found for each in found} == {None}
    assert "not a random sample" in found[0].refused


def test_fewer_than_thirty_reviews_are_refused(run: Path) -> None:
    say(draw([load_run(run)], 100, 7)[:29])
    found = corrections([load_run(run)], rated_tasks([load_run(run)], every=True)[0])
    assert "29 reviews are too few: at least 30 are needed" in found[0].refused
    assert progress([load_run(run)]) == "29 of 100 drawn are reviewed"


def test_only_blind_scores_up_to_the_first_gap_count(run: Path) -> None:
    drawn = draw([load_run(run)], 100, 7)
    say(drawn[:40] + drawn[41:], not_blind=35)  # one was too hard to say
    found = corrections([load_run(run)], rated_tasks([load_run(run)], every=True)[0])
    assert found[0].found is not None
    assert found[0].found.reviews == 35


def test_a_blind_score_that_is_changed_later_still_counts_as_it_was_given(run: Path) -> None:
    drawn = draw([load_run(run)], 100, 7)
    say(drawn)
    before = corrections([load_run(run)], rated_tasks([load_run(run)], every=True)[0])[0].found
    path, first = drawn[0]
    changed = events.Reviewed(
        run_id=path.stem, seq=0, at=datetime.now(UTC), condition=first.condition,
        trial=first.trial, attempt=1, author="ada", review="again", action="override",
        task=first.task, after=1.0 - truth(first.trial - 1),
    )  # fmt: skip
    append_reviews(path, [changed])
    items = rated_tasks([load_run(run)], every=True)[0]
    assert corrections([load_run(run)], items)[0].found == before
    (item,) = (item for item in items if item.people and not item.people["ada"].blind)
    assert (item.people_score, item.blind_score) == (changed.after, truth(first.trial - 1))


def test_what_was_drawn_says_that_scores_after_a_gap_do_not_count_yet(run: Path) -> None:
    drawn = draw([load_run(run)], 40, 7)
    say(drawn[:5] + drawn[6:16])
    words = "5 of 40 drawn are reviewed; 10 after the first without a blind score do not count yet"
    assert progress([load_run(run)]) == words


def test_a_stratified_draw_is_estimated_by_stratum(run: Path) -> None:
    say(draw([load_run(run)], 100, 7, "verdict"))
    score = corrections([load_run(run)], rated_tasks([load_run(run)], every=True)[0])[0]
    assert score.found is not None
    people = sum(map(truth, range(CASES))) / CASES
    assert score.found.interval.low <= people <= score.found.interval.high


def test_review_without_a_terminal_prints_the_draw(run: Path) -> None:
    done = call("review", run.stem, "--sample", "5", "--seed", "7")
    assert done.return_value == 0
    assert len(done.stdout.splitlines()) == 5
    assert done.stdout.splitlines()[0].startswith(f"{run.stem} supplied ")


def test_the_review_queue_follows_the_drawn_order(run: Path) -> None:
    drawn = draw([load_run(run)], 40, 7)
    services = AppServices(Settings.from_environment())
    source = ReviewSource((run.stem,), drawn=True)
    queue = services.review_desk.queue(source)
    assert [item.id.key.trial for item in queue if item.id.key] == [item.trial for _, item in drawn]
    assert queue[0].sample == "0 of 40 drawn are reviewed"
    say(drawn)
    assert "ten more reviews" in services.review_desk.queue(source)[0].sample


@pytest.mark.long
def test_a_table_of_labels_can_replace_reviews(run: Path, tmp_path: Path) -> None:
    table = tmp_path / "labels.csv"
    with table.open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["case", "physician"])
        rows.writerows([case, "pass" if truth(case) else "fail"] for case in range(0, CASES, 2))
    shown = call(
        "runs", "agreement", run.stem, "--labels", str(table), "--column", "physician"
    ).stdout
    assert f"{CASES // 2} tasks scored by 1 reviewer" in shown
    assert "not a random sample" in shown
    told = call(
        "runs",
        "agreement",
        run.stem,
        "--labels",
        str(table),
        "--column",
        "physician",
        "--labels-drawn",
    ).stdout
    assert f"from {CASES // 2} reviews of {CASES}" in told
    table.write_text("case,label\n7,0.5\n999,1\n", encoding="utf-8")
    with pytest.raises(InputError, match="line 3: no judged task fits"):
        label_tasks(rated_tasks([load_run(run)], every=True)[0], table)
    table.write_text("case,label\n7,five\n", encoding="utf-8")
    with pytest.raises(InputError, match="line 2: label is 'five', not a number from 0 to 1"):
        label_tasks(rated_tasks([load_run(run)], every=True)[0], table)


def test_judges_can_be_compared_with_each_other_without_reviews(run: Path) -> None:
    items = [
        replace(
            item,
            judges={
                next(iter(item.judges)): score,
                next(iter(item.judges))._replace(judge="mild"): min(1.0, score + 0.2),
            },
        )
        for item in rated_tasks([load_run(run)], every=True)[0]
        for score in item.judges.values()
    ]
    among = agreement_report(items).among
    assert among is not None
    assert among.tasks == CASES
    mild = next(found for judge, found in among.deviations.items() if judge.judge == "mild")
    assert mild.direction == "better"


def test_a_run_without_verdicts_cannot_be_sampled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    golden = Path(__file__).parents[2] / "golden" / "foreign" / "chat.jsonl"
    path = import_file(golden, tmp_path / "runs").path
    with pytest.raises(UsageError, match="no judged task"):
        draw([load_run(path)], 3, 1)


def test_no_view_of_a_sampled_run_mixes_peoples_scores_with_the_judges(
    run: Path, tmp_path: Path
) -> None:
    say(draw([load_run(run)], 40, 7))
    assert load_run(run).reviewed_words == f"by ada, 40 of {CASES} tasks"
    page = tmp_path / "run.html"
    assert call("runs", "report", run.stem, "--output", str(page)).exit_code == 0
    shown = page.read_text(encoding="utf-8") + call("runs", "show", run.stem).stdout
    mixed = load_run(run).apply_reviews().summary.conditions[0].score.mean
    assert f"→ {mixed:.2f} (reviewed)" not in shown
