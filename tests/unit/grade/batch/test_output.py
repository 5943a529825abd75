"""A batch's files: nothing finished is lost, nothing is graded or reported twice."""

from __future__ import annotations

import errno
import json
import math
import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from bioeval_tui.base import files
from bioeval_tui.base.errors import InputError, StorageError, UsageError
from bioeval_tui.grade.batch.feeding import BatchItem, Result
from bioeval_tui.grade.batch.run import InProcess, grade_batch
from bioeval_tui.grade.score_numbers import exact_percentile
from bioeval_tui.grade.tally import Tally
from bioeval_tui.grading import TaskReport, aggregate_reports, load_outcomes, load_reports
from bioeval_tui.report.agents import agent_entry, mean_percentile
from bioeval_tui.report.answer import answer_medals


class Breaks:
    """Grades in process, in reverse order, and breaks off after some; remembers what it was asked
    for.
    """

    def __init__(self, tasks, after: int | None = None) -> None:
        self.inner, self.after, self.asked = InProcess(tasks.registry), after, []

    def stream(self, items: Sequence[BatchItem]) -> Iterator[Result]:
        self.asked = [item.number for item in items]
        for count, result in enumerate(self.inner.stream(list(reversed(items)))):
            if count == self.after:
                raise KeyboardInterrupt
            yield result


@pytest.fixture
def listed(tasks) -> Path:
    task = tasks.add(scores=[n / 100 for n in range(50)])
    lines = []
    for n in range(10):
        tasks.submit(f"id,y\na,1.{n}\nb,2\nc,3\n", f"2025_run-group_agent{n}/s.csv")
        lines.append({"task_id": task, "submission_path": f"2025_run-group_agent{n}/s.csv"})
    lines.append({"task_id": task, "submission_path": None})
    return tasks.submit("".join(json.dumps(line) + "\n" for line in lines), "list.jsonl")


def read(path: Path) -> dict:
    return json.loads(path.read_text(encoding="utf-8"))


def test_the_report_has_the_published_shape_in_the_lists_order(
    tasks, listed: Path, tmp_path: Path
) -> None:
    result = grade_batch(listed, tmp_path / "out", Breaks(tasks))
    report = read(result.report_path)
    expected = aggregate_reports(load_reports(result.report_path))
    assert list(report) == [*expected, "not_graded", "extra"]
    assert report["extra"] == {
        "total_invalid_submissions": 1,
        "total_not_graded": 0,
        "total_scored_on_part_of_rows": 0,
        "total_in_doubt": 0,
        "avg_leaderboard_percentile_with_zeros": result.average_with_zeros,
    }
    assert {key: report[key] for key in expected} == expected
    agents = [(item["extra"].get("agent")) for item in report["task_reports"]]
    assert agents == [f"agent{n}" for n in range(10)] + [None]
    assert report["task_reports"][3]["submission_path"] == str(
        listed.parent / "2025_run-group_agent3/s.csv"
    )
    assert (result.valid, result.invalid, result.not_graded) == (10, 1, ())
    singles = sorted(result.individual_dir.iterdir())
    assert len(singles) == 11
    assert read(result.individual_dir / "lab_numbers.json") == report["task_reports"][0]
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert names == {result.report_path.name, result.individual_dir.name}


@pytest.mark.parametrize("as_published", [False, True])
def test_means_of_percentiles_are_of_numbers_that_are_not_rounded(
    tasks, tmp_path: Path, as_published: bool
) -> None:
    """13 and 0 of 14 entries are worse: (92.857 + 0) / 2 = 46.43. Of 92.9, the mean would be 46.5,
    and of 85.7 and three invalid ones 21.425, where (85.714 + 0) / 4 = 21.43.
    """
    task = tasks.add(scores=[n / 100 for n in range(13)] + [5.0])
    tasks.submit("id,y\na,1.001\nb,2\nc,3\n", "good/s.csv")
    tasks.submit("id,y\na,100\nb,200\nc,300\n", "bad/s.csv")
    lines = [
        {"task_id": task, "submission_path": path} for path in ("good/s.csv", "bad/s.csv", None)
    ]
    listed = tasks.submit("".join(json.dumps(line) + "\n" for line in lines), "list.jsonl")
    result = grade_batch(listed, tmp_path / "out", InProcess(tasks.registry))
    reports = load_reports(result.report_path)
    assert [report.leaderboard_percentile for report in reports] == [92.9, 0.0, None]
    assert read(result.report_path)["avg_leaderboard_percentile"] == 46.4
    if as_published:
        reports = [replace(report, extra=None) for report in reports]
    tally = Tally.of(reports)
    assert tally.percentile == pytest.approx(1300 / 28)
    assert tally.percentile_with_zeros == pytest.approx(1300 / 42)
    assert result.average_with_zeros == 31.0
    assert "average percentile 46.4 (31.0 with 1 invalid as 0)" in answer_medals(reports).what
    entries = [agent_entry("ada", report.task_id, report) for report in reports]
    assert mean_percentile(entries, others_as_zero=False) == pytest.approx(1300 / 28)


@pytest.mark.parametrize(
    ("rounded", "size", "beaten", "exact"),
    [
        (92.9, 14, 13, 1300 / 14),
        (92.9, 14, None, 1300 / 14),
        (0.1, 1000, None, 0.1),
        (50.0, 3001, 1500, 150_000 / 3001),
        (92.9, None, None, 92.9),
        (92.9, 0, None, 92.9),
        (92.9, 14, 3, 92.9),
        (92.9, 7, None, 92.9),
        (None, 14, None, None),
    ],
)
def test_a_percentile_without_its_rounding(
    rounded: float | None, size: int | None, beaten: int | None, exact: float | None
) -> None:
    assert exact_percentile(rounded, size, beaten) == exact


def test_an_interrupted_batch_resumes_where_it_stopped(tasks, listed: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    with pytest.raises(KeyboardInterrupt):
        grade_batch(listed, out, Breaks(tasks, after=4))
    assert len(load_reports(out)) == 4
    assert len(list(out.glob("*_individual_reports/*.json"))) == 4
    again = Breaks(tasks)
    seen: list[tuple[int, int]] = []
    result = grade_batch(
        listed, out, again, resume=True, on_progress=lambda p: seen.append((p.done, p.resumed))
    )
    assert again.asked == [0, 1, 2, 3, 4, 5, 6]
    assert seen[0] == (4, 4)
    assert seen[-1] == (11, 4)
    whole = grade_batch(listed, tmp_path / "other", Breaks(tasks))
    assert comparable(read(result.report_path)) == comparable(read(whole.report_path))


def comparable(report: dict) -> dict:
    for item in report["task_reports"]:
        item.pop("created_at")
        item["extra"].pop("grader_seconds")
    return report


def test_a_journal_cut_in_mid_line_loses_only_that_line(
    tasks, listed: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    with pytest.raises(KeyboardInterrupt):
        grade_batch(listed, out, Breaks(tasks, after=4))
    journal = next(out.glob("*_grading.jsonl"))
    loaded = load_outcomes(out)
    assert loaded.awaited == 11 - len(loaded.results) > 0
    assert "of an unfinished batch have no result yet" in loaded.awaited_words
    data = journal.read_bytes()
    journal.write_bytes(data[:-40])
    again = Breaks(tasks)
    result = grade_batch(listed, out, again, resume=True)
    assert len(again.asked) == 8
    assert read(result.report_path)["total_runs"] == 11
    assert load_outcomes(out).awaited_words == ""


def test_a_changed_list_is_not_resumed(tasks, listed: Path, tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        grade_batch(listed, tmp_path / "out", Breaks(tasks, after=4))
    listed.write_text(listed.read_text() + "\n")
    with pytest.raises(UsageError, match="the list of submissions has changed"):
        grade_batch(listed, tmp_path / "out", Breaks(tasks), resume=True)


def test_resuming_without_an_earlier_batch_starts_a_new_one(
    tasks, listed: Path, tmp_path: Path
) -> None:
    assert grade_batch(listed, tmp_path / "out", Breaks(tasks), resume=True).valid == 10


def test_ungraded_submissions_can_be_retried_with_resume(tasks, tmp_path: Path) -> None:
    task = tasks.add(code="def grade(s, a):\n    raise OSError('disk on fire')\n", sample="a\n1\n")
    line = json.dumps({"task_id": task, "submission_path": tasks.submit("a\n1\n").name})
    listed = tasks.submit(line, "list.jsonl")
    first = grade_batch(listed, tmp_path / "out", InProcess(tasks.registry))
    assert first.not_graded[0]["attempts"] == 2
    assert "OSError: disk on fire (grade.py, line 2)" in first.not_graded[0]["reason"]
    (tasks.root / task / "leaderboard.csv").touch()
    again = Breaks(tasks)
    second = grade_batch(listed, tmp_path / "out", again, resume=True)
    assert again.asked == [0]
    assert second.report_path == first.report_path


def test_hostile_paths_and_ids_stay_inside_the_output_folder(tasks, tmp_path: Path) -> None:
    task = tasks.add()
    lines = [
        {"task_id": task, "submission_path": 'a "report": {"x"}, "\u2028\x1b[2J.csv'},
        {"task_id": "../../etc/passwd", "submission_path": "x.csv"},
        {"task_id": task, "submission_path": "\udcff.csv"},
        {"task_id": task, "submission_path": "/dev/zero"},
    ]
    listed = tasks.submit("".join(json.dumps(line) + "\n" for line in lines), "list.jsonl")
    result = grade_batch(listed, tmp_path / "out", InProcess(tasks.registry))
    report = read(result.report_path)
    assert report["total_runs"] == 3
    assert len(report["not_graded"]) == 1
    assert "is not an ordinary file" in report["task_reports"][2]["extra"]["error"]
    assert report["task_reports"][0]["submission_path"].endswith(lines[0]["submission_path"])
    assert {path.parent for path in result.individual_dir.iterdir()} == {result.individual_dir}


def test_reports_of_the_published_programs_can_be_loaded(tmp_path: Path) -> None:
    golden = json.loads((Path(__file__).parents[3] / "golden" / "aggregate.json").read_text())[
        "cases"
    ][10]
    reports = golden["task_reports"]
    file = tmp_path / "2025_grading_report.json"
    file.write_text(json.dumps({**golden["expect"], "task_reports": reports}))
    assert [report.to_dict() for report in load_reports(file)] == reports
    assert len(load_reports(tmp_path)) == len(reports)
    older = {
        key: value
        for key, value in reports[0].items()
        if "percentile" not in key and key != "beats_human"
    }
    older["competition_id"] = older.pop("task_id")
    (tmp_path / "mle.json").write_text(json.dumps({"competition_reports": [older]}))
    assert load_reports(tmp_path / "mle.json")[0].task_id == reports[0]["task_id"]


@pytest.mark.parametrize("after", [0, 2, 9])
def test_a_full_disk_ends_the_batch_with_one_sentence_and_resume_completes_it(
    tasks, listed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, after: int
) -> None:
    out, space, write = tmp_path / "out", [after * 1500 + 400], os.write

    def filling(descriptor: int, data: bytes) -> int:
        taken = min(len(data), space[0])
        if not taken:
            raise OSError(errno.ENOSPC, "No space left on device")
        space[0] -= taken
        return write(descriptor, bytes(data[:taken]))

    with monkeypatch.context() as patched:
        patched.setattr(files.os, "write", filling)
        with pytest.raises(
            StorageError, match=r"the disk is full.*run the same command with --resume"
        ):
            grade_batch(listed, out, Breaks(tasks))
    for single in out.glob("*_individual_reports/*"):
        assert single.suffix == ".json"
        json.loads(single.read_text())
    result = grade_batch(listed, out, Breaks(tasks), resume=True)
    whole = grade_batch(listed, tmp_path / "other", Breaks(tasks))
    assert comparable(read(result.report_path)) == comparable(read(whole.report_path))
    assert len(list(result.individual_dir.glob("*.json"))) == 11


def test_resume_rewrites_a_report_cut_by_a_crash(tasks, listed: Path, tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        grade_batch(listed, tmp_path / "out", Breaks(tasks, after=4))
    cut = next((tmp_path / "out").glob("*_individual_reports/*.json"))
    cut.write_bytes(cut.read_bytes()[:50])
    grade_batch(listed, tmp_path / "out", Breaks(tasks), resume=True)
    json.loads(cut.read_text())


@pytest.mark.parametrize("key", ["gold_threshold", "valid_submission", "leaderboard_size", "extra"])
def test_a_value_of_the_wrong_type_in_a_report_is_named(tmp_path: Path, key: str) -> None:
    golden = json.loads((Path(__file__).parents[3] / "golden" / "aggregate.json").read_text())[
        "cases"
    ][10]
    file = tmp_path / "r.json"
    file.write_text(json.dumps({"task_reports": [{**golden["task_reports"][0], key: "yes"}]}))
    with pytest.raises(InputError, match=f"r.json is not a grading report: `{key}` must be"):
        load_reports(file)


def test_a_published_report_with_a_score_of_nan_is_invalid_and_writes_standard_json(
    tmp_path: Path,
) -> None:
    golden = json.loads((Path(__file__).parents[3] / "golden" / "aggregate.json").read_text())[
        "cases"
    ][10]
    changed = {
        **golden["task_reports"][0],
        "score": math.nan,
        "valid_submission": True,
        "median_threshold": math.nan,
    }
    (tmp_path / "r.json").write_text(json.dumps({"task_reports": [changed]}))
    (report,) = load_reports(tmp_path / "r.json")
    assert (report.score, report.valid_submission) == (None, False)
    values = json.loads(json.dumps(report.to_dict(), allow_nan=False))
    assert values["median_threshold"] is None
    assert values["extra"]["error"] == "the score is not a finite number (nan)"
    assert math.isnan(TaskReport.from_dict(values).median_threshold)
