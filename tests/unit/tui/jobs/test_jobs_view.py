"""The table of jobs, the text of a job with its problems, and the form of a run."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import history
import pytest
from rich.cells import cell_len

from bioeval_tui.errors import Problem
from bioeval_tui.tui.items import JobItem
from bioeval_tui.tui.jobs import jobs_view
from bioeval_tui.tui.jobs.jobs_view import RunForm
from bioeval_tui.tui.jobs.source_view import MAX_LINES, Source
from bioeval_tui.tui.shared import bars_view
from bioeval_tui.tui.shared.rows_widget import title_lines

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)


def test_a_row_shows_a_jobs_content_and_results() -> None:
    first, warned, broken, new = (jobs_view.row(job, NOW) for job in history.jobs(NOW))
    assert first["last run"].text == "12 min ago"
    assert first["score"].text == "0.78"
    assert first["last runs"].text.endswith("·▇")
    assert warned["check"].text == "! 1 warning"
    assert broken["check"].text == "✗ 2 errors"
    assert broken["tasks"].text == "–"
    assert new["last runs"].text == "no run yet"


def test_jobs_can_be_sorted_by_each_column_and_filtered_by_words() -> None:
    table = jobs_view.listing()
    table.fill(history.jobs(NOW))
    assert [job.name for job in table.visible][:2] == ["cohort_question", "drug_interaction"]
    table.sort_by(1)
    assert table.visible[0].name == "drug_interaction"
    table.sort_by(6)
    assert [job.name for job in table.visible][:2] == ["medication_reminder", "variant_triage"]
    table.sort_by(6)
    assert table.visible[-1].name == "medication_reminder"
    table.search("warning triage")
    assert [job.name for job in table.visible] == ["variant_triage"]


def test_a_sparkline_has_a_fixed_scale_and_shows_gaps() -> None:
    assert bars_view.spark([0.0, 0.5, 1.0, None], 10) == "▁▅█·"
    assert bars_view.spark([0.1] * 20, 5) == "▁" * 5
    assert bars_view.spark([], 5) == ""


def test_problems_are_shown_under_their_lines() -> None:
    problem = Problem("unknown key", "", 2, 3, "b")
    rows = Source("a: 1\nb: 2\nc: 3\n", (problem,)).rows(60)
    assert [row.number for row in rows] == [1, 2, None, 3]
    assert rows[2].kind == "error"
    assert rows[2].cells[0].text == "✗ 2:3  b: unknown key"


@pytest.mark.parametrize("line", [0, 99])
def test_a_problem_without_a_line_is_shown_too(line: int) -> None:
    rows = Source("a: 1", (Problem("is odd", "", line, severity="warning"),)).rows(60)
    said = [row for row in rows if row.kind == "warning"]
    assert len(said) == 1
    assert "is odd" in said[0].cells[0].text


def test_text_wraps_to_the_width_and_nothing_is_lost() -> None:
    text = "key: " + "word " * 40 + "x" * 100 + " 你好" * 30
    for width in (8, 17, 40):
        rows = Source(text).rows(width)
        drawn = ["".join(cell.text for cell in row.cells) for row in rows]
        assert max(map(cell_len, drawn)) <= width
        assert "".join(drawn).replace(" ", "") == text.replace(" ", "")


def test_words_are_kept_whole_where_they_fit() -> None:
    assert title_lines("one two three", 8, 8) == ["one two", "three"]
    assert title_lines("abcdefghij", 4, 4) == ["abcd", "efgh", "ij"]


def test_yaml_keys_and_comments_are_highlighted_but_not_inside_block_text() -> None:
    rows = Source("# note\nkey: |\n  not: a key\nother: 1").rows(40)
    assert [row.cells[0].tone for row in rows] == ["quiet", "quiet", "plain", "quiet"]
    assert [cell.text for cell in rows[1].cells][1] == "key"
    assert rows[1].cells[1].tone == "busy"


def test_a_huge_file_is_cut_and_says_so() -> None:
    rows = Source("x: 1\n" * (MAX_LINES + 7)).rows(40)
    assert rows[-1].cells[0].text == "… 7 more lines"


JOB = JobItem(Path("/jobs/a.yml"), "a")


def test_the_run_dialog_becomes_a_run_request() -> None:
    form = RunForm(
        "url", "http://127.0.0.1:8081/", "m1, m2,m1", "job", " 3 ", "random", "yes", " big ", "a,b", "4"
    )
    assert jobs_view.wrong(form) == ""
    request = jobs_view.request(JOB, form)
    assert request.jobs == (Path("/jobs/a.yml"),)
    assert (request.agent_url, request.agent_url_is_given) == ("http://127.0.0.1:8081", True)
    assert request.models == ("m1", "m2")
    assert (request.trials, request.order, request.parallel) == (3, "random", True)
    assert (request.evaluator_model, request.judge_model, request.concurrency) == ("big", ("a", "b"), 4)
    words = "2 models × 2 conditions × 3 repeats: 12 conversations, at most 4 at once"
    assert jobs_view.size_words(form) == words
    words = "2 models × 50 cases × 2 conditions × 3 repeats: 600 conversations, at most 4 at once"
    assert jobs_view.size_words(form, 50) == words
    # A rehearsal asks no model, whatever was typed for the time before.
    rehearsal = jobs_view.request(JOB, replace(form, played="rehearsal"))
    assert (rehearsal.evaluator_model, rehearsal.judge_model) == (None, None)


def test_a_form_chooses_cases_and_receives_spans() -> None:
    form = RunForm(cases=" 1-20,case_7 ", sample="5", spans="yes", repeats="2")
    request = jobs_view.request(replace(JOB, cases=50), form)
    assert (request.cases, request.sample, request.otlp) == ("1-20,case_7", 5, 4318)
    assert jobs_view.size_words(form, 50) == "the chosen cases × 2 conditions × 2 repeats"
    request = jobs_view.request(JOB, replace(form, spans="job"))
    assert (request.cases, request.sample, request.otlp) == (None, None, None)


def test_a_rehearsal_with_the_sample_agent_needs_no_address() -> None:
    request = jobs_view.request(JOB, RunForm("sample", "nonsense", played="rehearsal"))
    assert request.mode == "rehearsal"
    assert request.sample_agent
    assert request.agent_url is None


@pytest.mark.parametrize(
    ("form", "about"),
    [
        (RunForm("url", ""), "address"),
        (RunForm("url", "localhost:8081"), "address"),
        (RunForm("url", "file:///etc/passwd"), "address"),
        (RunForm(repeats="0"), "repeats"),
        (RunForm(repeats="²"), "repeats"),
        (RunForm(repeats="99999999999999999999"), "repeats"),
        (RunForm(concurrency="many"), "conversations"),
        (RunForm(sample="0"), "sample"),
        (RunForm(evaluator="a, b"), "evaluator"),
    ],
)
def test_an_error_in_the_run_dialog_is_one_sentence(form: RunForm, about: str) -> None:
    assert jobs_view.wrong(form).startswith(about)


@pytest.mark.parametrize(
    "kept", [None, [], {"agent": "nowhere", "repeats": 3, "url": None}, {"unknown": "x"}]
)
def test_damaged_saved_choices_give_the_defaults(kept: object) -> None:
    assert RunForm.remembered(kept) == RunForm()


def test_the_run_dialog_is_remembered() -> None:
    form = RunForm("url", "http://a", "m", "rehearsal", "2", "random", "yes")
    assert RunForm.remembered(form.to_dict()) == form
