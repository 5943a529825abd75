"""The summary of repeated runs, per condition, never pooled."""

from __future__ import annotations

from pathlib import Path

import pytest

from bioeval_tui.record.state import lighten
from bioeval_tui.report.frames import table_rows
from bioeval_tui.report.result import load_run, result_of
from bioeval_tui.report.summary import summarise_runs
from bioeval_tui.report.words import summary_lines
from tests.documents import document_of
from tests.unit.report.recorded import Recorded, Talk, scoring

AWAY = Talk(reason="evaluator_failed", fault="infrastructure")


def test_every_figure_of_a_batch_is_given_per_condition() -> None:
    run = Recorded(
        [scoring(0.5), scoring(0.6), AWAY],
        [Talk(latencies_ms=(400, 800), failures=1), scoring(1.0), scoring(1.0)],
    ).loaded()
    lines = [f"{about}: {found}" for about, found in summary_lines(summarise_runs([run])[0])]
    assert lines[0].startswith(
        "without the facts: 0.55 (2 values: 0.50, 0.60; range 0.50 to 0.60, too few for an"
        " interval; 2 of 3 used"
    )
    assert "(the measurement failed in 1)" in lines[0]
    assert lines[0].endswith("standard error 0.050; 0.37 with the excluded as 0)")
    assert "pass^k over tasks k = 1: 0.00, 2: 0.00" in lines[1]
    (times,) = (line for line in lines if line.startswith("with the facts: response time"))
    assert "median 0.80 s, p90 1.00 s, p95 1.00 s, longest 1.00 s, median first token" in times
    assert "(1 conversation at a time); 1 failure" in times
    assert (
        "with the facts: 0 questions asked, 0.00 in each conversation; 0 of 3 facts obtained by"
        " asking" in lines
    )
    assert any(line.startswith("difference: ") for line in lines)
    assert any(line.startswith("difference of “task 1”: ") for line in lines)
    assert "longest 1.00 s" in document_of("md", run, run)


@pytest.mark.parametrize("light", [False, True])
def test_questions_are_counted_even_of_conversations_whose_texts_were_dropped(
    tmp_path: Path, light: bool
) -> None:
    answers = (
        "What can I do for you?",
        "Which time zone are you in? A city is enough.",
        "Please ask your doctor.",
    )
    talks = [Talk(says=answer) for answer in answers]
    run = load_run(Recorded(talks, talks).write(tmp_path))
    if light:
        for talk in run.state.conversations.values():
            lighten(talk)
        again = result_of(run.state)
        assert again is not None
        run = again
    asked = (
        "without the facts: 1 question asked, 0.33 in each conversation; 0 of 3 facts obtained by"
        " asking"
    )
    assert asked in [f"{about}: {words}" for about, words in summary_lines(run.summary)]


def test_facts_of_which_it_cannot_be_told_whether_they_were_given_are_not_counted_as_kept() -> None:
    run = Recorded([Talk()] * 3, [Talk(unread=True)] * 3).loaded()
    lines = [f"{about}: {found}" for about, found in summary_lines(summarise_runs([run])[0])]
    assert (
        "with the facts: 0 questions asked, 0.00 in each conversation; 0 of 3 facts obtained by"
        " asking (3 not known)" in lines
    )
    page = document_of("html", Recorded([Talk()], [Talk(unread=True)]).loaded())
    assert page.count('<td data-label="with the facts">not known</td>') == 1
    assert "No fact was given" not in page
    given = {row["condition"]: row["facts_given"] for row in table_rows([run], "conversations")}
    assert given == {"withheld": 0, "supplied": None}
