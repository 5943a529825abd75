"""Reports are found wherever the programs leave them, and each submission counts once, as its
agent's.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from bioeval_tui.base.errors import InputError
from bioeval_tui.grading import load_reports
from tests.command import call

POINTER = "version https://git-lfs.github.com/spec/v1\noid sha256:12\nsize 7266\n"
GROUP = "2026-01-28T06-45-31-GMT_run-group_ada"
Write = Callable[..., Path]


def report(
    task: str,
    path: str | None,
    medal: str | None = None,
    *,
    at: str = "2026-01-29T01-08-47-GMT",
    **more: Any,
) -> dict[str, Any]:
    """Return a report as MLE-bench writes it: without a percentile; of no submission without a
    path.
    """
    valid = path is not None and medal != "invalid"
    won = {f"{name}_medal": medal == name for name in ("gold", "silver", "bronze")}
    return {
        "competition_id": task, "score": 0.9 if valid else None, "gold_threshold": 0.9,
        "silver_threshold": 0.8,
        "bronze_threshold": 0.7, "median_threshold": 0.5, "any_medal": any(won.values()), **won,
        "above_median": valid, "submission_exists": path is not None, "valid_submission": valid,
        "is_lower_better": False, "created_at": at, "submission_path": path, **more,
    }  # fmt: skip


def run_of(task: str, number: int, group: str = GROUP) -> str:
    return f"runs/{group}/{task}_{UUID(int=number)}/submission/submission.csv"


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def write(name: str, reports: list[dict[str, Any]] | str, *, bare: bool = False) -> Path:
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        text = (
            reports
            if isinstance(reports, str)
            else json.dumps(reports if bare else {"competition_reports": reports})
        )
        file.write_text(text)
        return file

    return write


def agents(*places: Path) -> dict[str, dict[str, Any]]:
    found = call("medals", *places, "--agents", "--json")
    assert found.return_value == 0, found.exception
    return {one["agent"]: one for one in json.loads(found.stdout)}


@pytest.mark.parametrize(
    "name",
    [
        f"runs/{GROUP}/2026-01-29T00-00-00-GMT_grading_report.json",
        f"runs/{GROUP}/grading_report_10.json",
        f"runs/{GROUP}/hourly/grading_report_0.json",
        f"runs/{GROUP}/grading_summary.json",
        f"runs/{GROUP}/results.json",
        f"runs/{GROUP}/graded/2026-01-29T00-00-00-GMT_grading_report.json",
        "runs/ada_group1/grading_report_group_1.json",
        "runs/2026-01-29T00-00-00-GMT_grading_report.json",
    ],
)
@pytest.mark.parametrize("place", ["runs", "."])
def test_reports_are_found_from_runs_and_from_the_checkout(
    write: Write, tmp_path: Path, name: str, place: str
) -> None:
    write(name, [report("t-1", run_of("t-1", 1), "gold"), report("t-2", None)])
    found = call("medals", tmp_path / place, "--json")
    assert [one["task_id"] for one in json.loads(found.stdout)] == ["t-1", "t-2"]
    assert agents(tmp_path / place)["ada"]["any_medal_share"] == 0.5


def test_individual_reports_count_where_their_whole_report_is_not(
    write: Write, tmp_path: Path
) -> None:
    for task in ("t-1", "t-2"):
        write(f"out/x_individual_reports/{task}.json", json.dumps(report(task, run_of(task, 1))))
    assert len(load_reports(tmp_path / "out")) == 2
    write("out/x_grading_report.json", [report("t-1", run_of("t-1", 1))])
    assert len(load_reports(tmp_path / "out")) == 1
    write("out/x_grading_report.json", POINTER)
    assert len(load_reports(tmp_path / "out")) == 2


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (
            POINTER,
            (
                "a_grading_report.json is a Git LFS pointer, not the file itself: `git lfs pull`"
                " fetches it"
            ),
        ),
        ('{"competition_reports": [', "not JSON at column 26"),
        ('{"name": "x"}', "is not a grading report: not a task report: task_id"),
        ("", "not JSON at column 1"),
        ("7", "is not a grading report: an object or a list of reports is expected"),
    ],
)
@pytest.mark.parametrize("where", [".", "runs", f"runs/{GROUP}", f"runs/{GROUP}/hourly"])
def test_files_without_reports_are_an_error_that_names_them(
    write: Write, tmp_path: Path, content: str, said: str, where: str
) -> None:
    write(f"{where}/a_grading_report.json", content)
    write(f"{where}/b_grading_report.json", content)
    found = call("medals", tmp_path / where.partition("/")[0], "--table")
    assert isinstance(found.exception, InputError)
    assert said in str(found.exception)
    assert "2 files with no report that can be read" in str(found.exception)


def test_a_folder_with_other_json_is_no_empty_table(write: Write, tmp_path: Path) -> None:
    write(f"runs/{GROUP}/config.json", '{"a": 1}')
    found = call("medals", tmp_path / "runs", "--table")
    assert isinstance(found.exception, InputError)
    assert "config.json is not a grading report" in str(found.exception)


def test_one_bad_file_stops_no_other_and_is_named_and_counted(write: Write, tmp_path: Path) -> None:
    write(f"runs/{GROUP}/grading_report_1.json", POINTER)
    write(f"runs/{GROUP}/grading_report_2.json", [report("t-1", run_of("t-1", 1))])
    found = call("medals", tmp_path / "runs", "--table")
    assert found.return_value == 0
    assert "of 1 submission;" in found.stdout
    assert "1 file with no report that can be read" in found.stderr
    assert "grading_report_1.json is a Git LFS pointer" in found.stderr


@pytest.mark.parametrize(
    ("at", "read"),
    [
        ("2026-01-26T18-58-19-GMT", "2026-01-26T18:58:19"),
        ("2026-01-26T18-58-19-UTC", "2026-01-26T18:58:19"),
        ("2026-01-26T18-58-19", "2026-01-26T18:58:19"),
        ("2026-01-26 18:58:19", "2026-01-26T18:58:19"),
        ("2026-01-26T18:58:19Z", "2026-01-26T18:58:19+00:00"),
        ("yesterday", None),
        (1769453899, None),
        (None, None),
    ],
)
def test_a_time_in_another_form_costs_only_the_time(
    write: Write, at: Any, read: str | None
) -> None:
    (found,) = load_reports(write("r.json", [report("t-1", run_of("t-1", 1), at=at)]))
    assert found.to_dict()["created_at"] == read
    for form in ("csv", "html", "md", "json"):
        assert (
            "t-1"
            in call(
                "medals", write("r.json", [report("t-1", "x.csv", at=at)]), "--format", form
            ).stdout
        )


def test_a_list_of_reports_is_read_and_what_medals_prints_is_read_again(
    write: Write, tmp_path: Path
) -> None:
    listed = write(
        "grading_summary.json",
        [report("t-1", run_of("t-1", 1), "gold"), report("t-2", None)],
        bare=True,
    )
    first = call("medals", listed, "--json").stdout
    failed = {"task_id": "t-3", "submission_path": "x", "reason": "the grader hung", "agent": "bob"}
    whole = {"task_reports": [report("t-1", run_of("t-1", 1))], "not_graded": [failed]}
    for text in (first, call("medals", write("whole.json", json.dumps(whole)), "--json").stdout):
        again = call("medals", write("again.json", text), "--json").stdout
        assert json.loads(again) == json.loads(text)
    assert "the grader hung" in again


def test_the_agent_of_a_run_without_a_submission_is_that_of_its_folder_or_of_its_report(
    write: Write, tmp_path: Path
) -> None:
    won, lost = report("t-1", run_of("t-1", 1), "gold"), report("t-2", None)
    for name in (f"runs/{GROUP}/grading_report.json", "elsewhere/report.json"):
        found = agents(write(name, [won, lost]))
        assert list(found) == ["ada"]
        assert (found["ada"]["submissions"], found["ada"]["graded"]) == (2, 1)
        assert found["ada"]["any_medal_share"] == 0.5


def test_every_view_names_the_same_agent_of_a_run_without_a_submission(write: Write) -> None:
    file = write(
        f"runs/{GROUP}/grading_report.json", [report("t-1", run_of("t-1", 1)), report("t-2", None)]
    )
    rows = csv.DictReader(io.StringIO(call("medals", file, "--format", "csv").stdout))
    assert [row["agent"] for row in rows] == ["ada", "ada"]
    assert (
        call("medals", file, "--format", "html").stdout.count(
            'data-label="agent" class="agent" dir="auto">ada<'
        )
        == 2
    )
    assert call("medals", file, "--format", "md").stdout.count("| ada |") == 2
    assert [
        one["extra"]["agent"] for one in json.loads(call("medals", file, "--json").stdout)[1:]
    ] == ["ada"]


def test_without_a_known_agent_a_sentence_says_so(write: Write) -> None:
    found = call("medals", write("r.json", [report("t-1", "x.csv")]), "--agents")
    assert found.return_value == 0
    assert "no submission says which agent made it" in found.stdout


@pytest.mark.parametrize("without_path", ["", run_of("t-3", 3)])
def test_a_submission_that_was_graded_again_counts_once_by_its_newest_grading(
    write: Write, tmp_path: Path, without_path: str
) -> None:
    """Three submissions have three results, the mended one is silver, and the run without a file is
    counted once.
    """
    late = "2026-01-30T01:08:47"
    before = [
        report("t-1", run_of("t-1", 1), "gold"),
        report("t-2", run_of("t-2", 2), "invalid"),
        report("t-3", None),
    ]
    again = [
        report("t-1", run_of("t-1", 1), "gold", at=late),
        report("t-2", run_of("t-2", 2), "silver", at=late),
        report("t-3", without_path or None, "bronze" if without_path else None, at=late),
    ]
    write("out/b_grading_report.json", before)
    write("out/a_grading_report.json", again)
    found = call("medals", tmp_path / "out", "--table")
    bronze = 1 if without_path else 0
    third = "1 bronze" if bronze else "1 invalid"
    assert f"1 gold, 1 silver, {third} of 3;" in found.stdout
    assert "3 other gradings of the same submissions are left out" in found.stderr
    one = agents(tmp_path / "out")["ada"]
    assert (one["submissions"], one["any_medal_share"]) == (3, pytest.approx((2 + bronze) / 3))


def test_a_grading_that_failed_replaces_no_report(write: Write, tmp_path: Path) -> None:
    write("out/a_grading_report.json", [report("t-1", run_of("t-1", 1), "gold")])
    failed = {"task_id": "t-1", "submission_path": run_of("t-1", 1), "reason": "the grader hung"}
    write("out/b_grading_report.json", json.dumps({"task_reports": [], "not_graded": [failed]}))
    assert "1 gold of 1 submission" in call("medals", tmp_path / "out", "--table").stdout


def test_several_files_with_one_name_in_a_list_and_seeds_without_a_file_stay_apart(
    write: Write, tmp_path: Path
) -> None:
    """A list may name a file twice, and three seeds of a task may all have left nothing."""
    write(
        "out/1_grading_report.json",
        [report("t-1", "x.csv"), report("t-1", "x.csv"), report("t-2", None)],
    )
    write("out/2_grading_report.json", [report("t-3", "y.csv"), report("t-2", None)])
    assert len(load_reports(tmp_path / "out")) == 5


def test_without_percentiles_nobody_is_ranked_and_medals_order_the_agents(write: Write) -> None:
    few = [report(f"t-{n}", run_of("t", n), "gold" if n < 3 else None) for n in range(12)]
    bob = GROUP.replace("ada", "bob")
    many = [report(f"t-{n}", run_of("t", n, bob), "gold" if n < 8 else None) for n in range(11)]
    file = write("r.json", [*few, *many, report("t-11", None, extra={"agent": "bob"})])
    text = " ".join(call("medals", file, "--agents", width=400).stdout.split())
    assert "bob 11 of 12 graded 66.7 %" in text
    assert "12 tasks; percentile of 0 of 11 valid submissions ada 12 of 12 graded 25.0 %" in text
    assert "no ranks: percentiles on leaderboards are unknown for all valid submissions" in text
    assert "±" not in text
    assert "the same" not in text
    found = agents(file)
    for one in found.values():
        assert (one["percentile"], one["rank"], one["rank_graded"], one["behind_next"]) == (
            None,
            None,
            None,
            None,
        )
    for form in (("--table",), ("--format", "md"), ("--format", "html")):
        assert "percentile unknown for all 23 valid" in call("medals", file, *form).stdout


def test_an_agent_without_any_percentile_has_no_rank_among_those_that_have_one(
    write: Write,
) -> None:
    """Failures of an agent whose valid submissions have no percentile are not its percentile, and
    not the last rank.
    """
    known = [report(f"t-{n}", run_of("t", n), leaderboard_percentile=50.0 + n) for n in range(12)]
    other = [report(f"t-{n}", run_of("t", n, GROUP.replace("ada", "bob"))) for n in range(11)]
    third = [
        report(f"t-{n}", run_of("t", n, GROUP.replace("ada", "cy")), "invalid") for n in range(12)
    ]
    file = write("r.json", [*known, *other, report("t-11", None, extra={"agent": "bob"}), *third])
    found = agents(file)
    assert list(found) == ["ada", "cy", "bob"]
    assert (found["bob"]["percentile"], found["bob"]["rank"], found["bob"]["behind_next"]) == (
        None,
        None,
        None,
    )
    assert (found["ada"]["rank"], found["cy"]["rank"], found["cy"]["percentile"]) == (
        [1, 1],
        [2, 2],
        0.0,
    )
    text = " ".join(call("medals", file, "--agents", width=400).stdout.split())
    assert "no rank for bob: no percentile is known" in text
    assert "over 12 of 23 valid" in " ".join(call("medals", file, "--table").stdout.split())


@pytest.mark.parametrize("percentile", [-1e308, -0.1, 100.1, 1e308])
def test_a_percentile_that_none_can_be_makes_a_report_none(write: Write, percentile: float) -> None:
    """One such report would move an agent's mean anywhere; two of the largest have no sum."""
    forged = [report("a", run_of("a", n), leaderboard_percentile=percentile) for n in range(2)]
    shown = call("medals", write("x_grading_report.json", forged), "--table")
    assert shown.return_value is None or shown.return_value == 2
    assert "`leaderboard_percentile` must be from 0 to 100" in str(shown.exception) + shown.stderr
