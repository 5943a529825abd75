"""Judges compared with people over recorded runs: overlays, numbers, JSON, CSV, the terminal and
the gate.
"""

from __future__ import annotations

import asyncio
import csv
import io
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from bioeval_tui.base.errors import ExitCode, InputError, UsageError
from bioeval_tui.record import events
from bioeval_tui.record.overlay import append_numbered, append_reviews
from bioeval_tui.record.runs import overlay_path
from bioeval_tui.report.agreement import agreement_report, change, label_tasks, rated_tasks
from bioeval_tui.report.correction import draw
from bioeval_tui.report.result import load_run
from tests.command import call
from tests.documents import document_of
from tests.servers import openai_server as srv
from tests.unit.report.recorded import Recorded, Talk, reviewed

NOW = datetime(2026, 11, 21, tzinfo=UTC)
JUDGED = ((0.2, 0.9), (0.8, 0.4))
ADA = ((0.2, 0.9), (0.4, 0.4))
BEN = ((0.0, 0.9), (0.4, 0.6))


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two conversations of two tasks, reviewed by two people, one of them blind."""
    monkeypatch.setenv("BIOEVAL_DATA_DIR", str(tmp_path))
    folder = tmp_path / "runs"
    folder.mkdir(mode=0o700)
    found = Recorded([Talk(tasks=JUDGED[0])], [Talk(tasks=JUDGED[1], says="goodbye")]).write(folder)
    for author, scores in (("ada", ADA), ("ben", BEN)):
        for condition, both in zip(("withheld", "supplied"), scores, strict=True):
            given = [
                reviewed(
                    0, author, review=f"{author}{condition}{task}", condition=condition, task=task,
                    after=score,
                    why="=it did <b>", blind=author == "ben",
                )
                for task, score in enumerate(both, start=1)
            ]  # fmt: skip
            append_reviews(found, given)
    return found


def judge_again(path: Path, scores: tuple[tuple[float, ...], ...]) -> None:
    for condition, both in zip(("withheld", "supplied"), scores, strict=True):
        tasks = tuple(
            events.TaskScored(task=n, title="t", score=s) for n, s in enumerate(both, start=1)
        )
        append_numbered(
            path,
            [
                events.TranscriptScored(
                    run_id="r", seq=9, at=NOW, condition=condition, trial=1, attempt=1,
                    author="ada",
                    judge="another", tasks=tasks, prompts={"eval/score": "abcdef0123456789"},
                )
            ],
        )  # fmt: skip


def test_each_judge_is_compared_with_people_and_people_with_each_other(path: Path) -> None:
    judge_again(path, ((0.1, 0.9), (0.4, 0.5)))
    report = agreement_report(*rated_tasks([load_run(path)]))
    assert [(pair.a, pair.prompt) for pair in report.judges] == [
        ("another", "eval/score abcdef01"), ("judge", "no prompt"),
    ]  # fmt: skip
    another, judge = (pair.agreement for pair in report.judges)
    # People: 0.1, 0.9, 0.4, 0.5; the recorded judge is 0.1, 0, 0.4 and 0.1 away, and passes one
    # task that they fail.
    assert judge.n == 4
    assert judge.mean_absolute_difference == pytest.approx(0.15)
    assert judge.bias == pytest.approx((0.1 + 0 + 0.4 - 0.1) / 4)
    assert judge.kappa == pytest.approx(0.5)
    assert (another.kappa, another.mean_absolute_difference) == (1.0, pytest.approx(0.0))
    (people,) = report.people
    assert (people.a, people.b, people.agreement.n) == ("ada", "ben", 4)
    assert people.agreement.mean_absolute_difference == pytest.approx(0.1)
    assert report.people_alpha == pytest.approx(people.agreement.alpha)
    gaps = report.judges[1].gaps
    assert (round(gaps[0].difference, 2), gaps[0].passes_differ) == (0.4, True)
    assert (report.blind, report.given) == (4, 8)
    assert any("--blind" in note for note in report.notes)


async def test_rescoring_shows_whether_the_new_judge_agrees_better_with_people(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    items, _ = rated_tasks([load_run(path)])
    assert change(items) is None
    first, *rest = path.read_text("utf-8").splitlines()
    started = json.loads(first)
    started["job"] = {**started["job"], "target": {"user": "u", "chatbot": "c"}}
    path.write_text("\n".join([json.dumps(started), *rest]) + "\n", encoding="utf-8")

    def verdict(body: dict[str, Any]) -> srv.Answer:
        text = "\n".join(str(message["content"]) for message in body["messages"])
        said, scores = ("goodbye", (0.4, 0.5)) if "goodbye" in text else ("hello", (0.1, 0.9))
        tasks = [
            {"task": number, "scored": "t", "score": score, "reason": "So.", "evidence": [said]}
            for number, score in enumerate(scores, start=1)
        ]
        return srv.say_json({"tone": 0.5, "tasks": tasks})

    async with srv.OpenAIServer(otherwise=verdict) as server:
        monkeypatch.setenv("OPENAI_API_KEY", "k")
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        done = await asyncio.to_thread(
            call, "runs", "rescore", path.stem, "--judge-model", "another"
        )
    found = change(rated_tasks([load_run(path)])[0])
    assert found is not None
    assert found.closer.mean == pytest.approx(-0.15)
    assert "against 4 tasks that people scored" in done.stdout
    assert "mean |difference| 0.15 → 0.00" in done.stdout
    assert "too few to tell" in done.stdout


def test_agreement_can_be_limited_to_blind_reviews_and_printed_as_json_or_csv(
    path: Path, tmp_path: Path
) -> None:
    result = call("runs", "agreement", "--blind", "--json")
    data = json.loads(result.stdout)
    assert (data["reviewers"], data["tasks"], data["scores_given_blind"]) == (["ben"], 4, 4)
    assert data["judges"][0]["mean_absolute_difference"] == pytest.approx((0.2 + 0 + 0.4 + 0.2) / 4)
    assert data["judges"][0]["disagreements"][0]["passes_differ"] is True
    output = tmp_path / "calibration.csv"
    assert call("runs", "agreement", path.stem, "--output", str(output)).return_value == ExitCode.OK
    rows = list(csv.DictReader(io.StringIO(output.read_text("utf-8"))))
    assert [(row["judge_score"], row["reviewers"]) for row in rows[:1]] == [("0.8", "ada; ben")]
    assert rows[0]["why"].startswith("'=it did"), "a spreadsheet would run it"
    text = call("runs", "agreement", path.stem, width=160).stdout
    assert "4 tasks scored by 2 reviewers" in text
    assert "ada and ben" in text
    with pytest.raises(UsageError, match="no judge"):
        raise call("runs", "agreement", "--judge", "nobody").exception or AssertionError


def test_without_reviews_agreement_says_that_there_are_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BIOEVAL_DATA_DIR", str(tmp_path))
    assert call("runs", "agreement").return_value == ExitCode.NOT_MEASURED


def test_a_gate_uses_reviews_only_when_asked(path: Path, tmp_path: Path) -> None:
    # The judge passes task 1 of the second conversation with 0.8, people give it 0.4.
    scores = load_run(path).state.scores()
    bar = f"supplied:{scores['supplied']}"
    assert call("runs", "gate", path.stem, "--fail-under", bar).return_value == ExitCode.OK
    summary = tmp_path / "summary.md"
    result = call(
        "runs", "gate", path.stem, "--fail-under", bar, "--reviewed", "--md", str(summary)
    )
    assert result.return_value == ExitCode.BELOW
    assert "(reviewed)" in result.output
    assert "by ada, ben" in summary.read_text("utf-8")
    with pytest.raises(UsageError, match="give a threshold"):
        raise call("runs", "gate", path.stem).exception or AssertionError


def test_reports_show_both_scores_and_the_recording_stays(path: Path) -> None:
    before = path.read_bytes()
    run = load_run(path)
    assert run.reviewed is not None
    assert run.people_score("supplied", 1, 1) == pytest.approx(0.4)
    markdown, html = document_of("md", run), document_of("html", run)
    assert "0.80 → 0.40 (reviewed)" in markdown
    assert "Reviewed: without the facts" in markdown
    assert "<strong>0.40</strong> (reviewed)" in html
    assert "by ada, ben" in html
    assert "=it did &lt;b&gt;" in html
    judge_again(path, ((0.1, 0.9), (0.4, 0.5)))
    again = load_run(path)
    assert "Reviews and later scores" in document_of("md", again)
    assert {review.kind for review in again.reviews} == {"override", "override, blind"}
    assert "0.40 (reviewed)" in document_of("md", again), "it stands on the latest verdict"
    assert path.read_bytes() == before
    overlay_path(path).write_bytes(overlay_path(path).read_bytes()[:-20])
    torn = load_run(path)
    assert torn.problems
    assert torn.reviewed is not None


def test_tasks_that_only_a_later_judge_could_score_can_be_labelled(tmp_path: Path) -> None:
    path = Recorded([Talk(tasks=None)], [Talk(tasks=None)]).write(tmp_path)
    assert rated_tasks([load_run(path)], every=True) == ([], [])
    judge_again(path, ((0.2, 0.9), (0.8, 0.4)))
    labels = tmp_path / "labels.csv"
    labels.write_text(
        "condition,trial,task,label\nwithheld,1,1,0.2\nsupplied,1,2,yes\n", encoding="utf-8"
    )
    items = label_tasks(rated_tasks([load_run(path)], every=True)[0], labels)
    assert [(item.key.condition, item.task, item.latest) for item in items if item.people] == [
        ("supplied", 2, 0.4), ("withheld", 1, 0.2),
    ]  # fmt: skip
    assert len(items) == 4
    assert len(draw([load_run(path)], 4, 1)) == 4


BAD = (
    "x",
    "-1",
    "1.5",
    "1e3",
    "nan",
    "inf",
    "9" * 5000,
    "1_0",
    "0x1",
    "١",
    "²",
    "½",
    "true",
    "None",
    "[1]",
    "=1+1",
    "1,5",
    "\u200b1",
    "1\u202e2",
    "\x1b[31m1",
    "withheld ",
    "WITHHELD",
    "both",
    "1;2",
    "１",
    "+1",
    "- 1",
    "1/1",
    "''",
    "%s",
)


@pytest.mark.parametrize(
    "column", ["case_trial", "trial", "condition", "task", "run_id", "label", "case", "reviewer"]
)
def test_a_bad_value_of_a_label_file_is_named_with_its_line(
    path: Path, tmp_path: Path, column: str
) -> None:
    items = rated_tasks([load_run(path)], every=True)[0]
    for value in BAD:
        file = tmp_path / "labels.csv"
        row = {
            "case": "",
            "case_trial": "",
            "trial": "1",
            "condition": "withheld",
            "task": "1",
            "run_id": "",
            "label": "1",
        }
        with file.open("w", newline="", encoding="utf-8") as opened:
            opened.write(",".join({**row, column: ""}) + "\n\n")
            csv.writer(opened).writerow({**row, column: value}.values())
        said = ""
        try:
            label_tasks(items, file)
        except InputError as error:
            said = str(error)
        assert not said or said.startswith(f"{file}, line 3: ")
        assert f": {column} is " in said or column not in ("case_trial", "trial")
        assert "\x1b" not in said


@pytest.mark.parametrize(("count", "more"), [(11, ""), (12, ""), (13, "and 1 more; --json")])
def test_twelve_tasks_on_which_two_differ_are_listed_and_others_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, count: int, more: str
) -> None:
    monkeypatch.setenv("BIOEVAL_DATA_DIR", str(tmp_path))
    folder = tmp_path / "runs"
    folder.mkdir(mode=0o700)
    run = Recorded([Talk(tasks=(0.2,) * count)]).write(folder)
    append_reviews(
        run, [reviewed(0, review=f"r{task}", task=task, after=0.4) for task in range(1, count + 1)]
    )
    text = call("runs", "agreement", run.stem, width=160).stdout
    assert f" differ on {count}\n" in text
    listed = [line for line in text.splitlines() if line.endswith(f"{run.stem} withheld 1")]
    assert len(listed) == min(count, 12)
    assert more in text
    assert ("more; --json" in text) == bool(more)
