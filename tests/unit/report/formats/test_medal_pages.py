"""Graded reports as HTML, Markdown, CSV and JSON."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace
from pathlib import Path

import pytest

from bioeval_tui.base.errors import UsageError
from bioeval_tui.grade.printing.reports import medal_table
from bioeval_tui.grade.task_report import ReportExtra, now
from bioeval_tui.grading import TaskReport
from bioeval_tui.tui.medals.medals_view import column_number
from tests.command import call
from tests.documents import medals_of

EVIL = '=1+1"><script>alert(1)</script>|`[x](http://evil)'


def report(
    score: float | None, *, medal: str = "", agent: str = "careful", error: str = ""
) -> TaskReport:
    valid = score is not None
    return TaskReport(
        task_id="oncology/breast-cancer", score=score, gold_threshold=0.99, silver_threshold=0.98,
        bronze_threshold=0.97, median_threshold=0.9, any_medal=bool(medal),
        gold_medal=medal == "gold",
        silver_medal=medal == "silver", bronze_medal=medal == "bronze", above_median=bool(medal),
        submission_exists=True, valid_submission=valid, is_lower_better=False, created_at=now(),
        submission_path="a.csv", leaderboard_percentile=90.0 if valid else None,
        leaderboard_size=120,
        extra=ReportExtra(agent=agent, error=error or None,
            next_medal="gold" if medal == "silver" else None,
                          score_needed=0.99 if medal == "silver" else None,
                          leaderboard_position=11 if valid else None),
    )  # fmt: skip


REPORTS = [
    report(0.9812345678, medal="silver"),
    report(0.995, medal="gold"),
    report(None, error="7 ids are missing"),
]


def test_the_summary_counts_medals_and_gives_the_mean_with_invalid_ones_as_0() -> None:
    words = (
        "1 gold, 1 silver, 1 invalid of 3; average percentile 90.0 (60.0 with 1 invalid as 0); 2"
        " above the median."
    )
    assert words in medals_of("md", REPORTS)
    assert "Nothing is graded." in medals_of("md", [])


@pytest.mark.parametrize("kind", ["html", "md"])
def test_several_agents_are_compared_before_the_rows_of_all(kind: str) -> None:
    page = medals_of(kind, [*REPORTS, report(0.5, agent="hasty")])
    assert 0 < page.index("Agents") < page.index("Submissions")
    assert "Agents" not in medals_of(kind, REPORTS)


def test_every_format_shows_medal_score_and_missing_submissions() -> None:
    texts: dict[str, str | bytes] = {
        kind: medals_of(kind, REPORTS) for kind in ("html", "md", "csv", "json")
    }
    for kind in ("html", "md"):
        assert "gold begins at 0.99" in texts[kind]
        assert "7 ids are missing" in texts[kind]
    rows = list(csv.DictReader(io.StringIO(texts["csv"])))
    assert rows[0]["score"] == "0.9812345678"  # a score is never rounded
    assert [row["medal"] for row in rows] == ["silver", "gold", ""]
    assert [TaskReport.from_dict(one) for one in json.loads(texts["json"])] == REPORTS


@pytest.mark.parametrize(
    ("score", "text"), [(0.5, "0.5"), (1234.56789, "1234.56789"), (-0.0, "0"), (1e-7, "0")]
)
def test_a_score_is_one_text_wherever_it_is_shown(
    score: float, text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    one = report(score)
    assert f" | {text} | " in medals_of("md", [one])
    assert f'data-label="score" class="n">{text}</td>' in medals_of("html", [one])
    assert one.score_words == f"score {text}"
    assert column_number(score).rstrip() == text
    assert len(column_number(score)) == len(text.partition(".")[0]) + len(".12345")
    medal_table([one])
    assert f" {text} " in capsys.readouterr().out


def test_rows_of_no_agent_are_told_apart_by_their_files(
    capsys: pytest.CaptureFixture[str],
) -> None:
    named = replace(report(0.5, agent="ada"), submission_path="runs/ada.csv")
    unnamed = [
        replace(report(0.5), submission_path=f"runs/{name}.csv", extra=None)
        for name in ("first", "second")
    ]
    medal_table([named, *unnamed])
    *shown, page, markdown = (
        capsys.readouterr().out,
        medals_of("html", [named, *unnamed]),
        medals_of("md", [named, *unnamed]),
    )
    for text in (*shown, page, markdown):
        assert "agent or file" in text
        assert all(name in text for name in ("ada", "first.csv", "second.csv"))
    assert "agent or file" not in medals_of("md", [named])


def test_hostile_text_in_a_medal_page_is_shown_literally() -> None:
    hostile = [report(0.5, agent=EVIL, error=EVIL)]
    page = medals_of("html", hostile)
    assert "<script" not in page
    assert "default-src &#39;none&#39;" in page
    assert "[x](" not in medals_of("md", hostile)
    assert next(csv.DictReader(io.StringIO(medals_of("csv", hostile))))["agent"].startswith("'=")


@pytest.mark.parametrize("begin", ["=", "+", "-", "@", "＝", "＠", "\n=", " =", "\t"])
def test_a_cell_that_looks_like_a_formula_gets_an_apostrophe(begin: str) -> None:
    (row,) = csv.DictReader(io.StringIO(medals_of("csv", [report(0.5, agent=f"{begin}1+1")])))
    assert row["agent"] == f"'{begin}1+1"


@pytest.mark.parametrize("name", ["m.html", "m.md", "m.csv", "m.json"])
def test_the_file_name_decides_the_format_of_a_medal_page(tmp_path: Path, name: str) -> None:
    source = tmp_path / "one.json"
    source.write_text(json.dumps(REPORTS[0].to_dict()))
    done = call("medals", source, "--output", tmp_path / name)
    assert done.exception is None, done.exception
    written = tmp_path / name
    assert "breast-cancer" in written.read_text()
    assert written.stat().st_mode & 0o777 == 0o600
    done = call("medals", source, "--output", tmp_path / "m.pdf")
    assert isinstance(done.exception, UsageError)
