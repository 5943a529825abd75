"""Screens and reports show the same figures of a trial."""

from __future__ import annotations

import json
from io import StringIO
from xml.etree import ElementTree

from rich.console import Console

from bioeval_tui.formats import RunResult
from bioeval_tui.record import events
from bioeval_tui.record.state import apply_all
from bioeval_tui.report import rows
from bioeval_tui.report.document import run_document
from bioeval_tui.report.formats.console import print_score_card
from bioeval_tui.tui.live import score_card_view
from tests.documents import document_of
from tests.unit.report.recorded import Recorded, Talk, shown


def test_screen_and_report_show_the_same_median_first_token_time() -> None:
    run = Recorded(
        [Talk(latencies_ms=(100.0, 100.0, 1900.0))]
    ).loaded()  # each first token comes at the end
    more = score_card_view.more_rows(*shown(run.state))
    (row,) = [row for row in more if row.label.text == "average answer"]
    assert "median first token 0.10 s" in row.details["withheld"][0].text
    table = document_of("md", run).partition("## Response times")[2]
    head, figures = [
        line.split(" | ")
        for line in table.splitlines()
        if line.startswith("|") and "---" not in line
    ][:2]
    assert figures[head.index("median first token")] == "0.10 s"


def unproved(score: float = 0.25, trials: int = 1) -> RunResult:
    """A run whose judge rests the task's score on words that nobody said."""
    run = Recorded([Talk(tasks=(score,))] * trials, [Talk(tasks=(1.0,))] * trials).loaded()
    talk = run.state.conversations["withheld", 1]  # type: ignore[index]
    assert talk.verdict is not None
    (task,) = talk.verdict.tasks
    quoted = task.model_copy(update={"evidence": (events.EvidenceQuoted(quote="I flew to Mars"),)})
    apply_all(run.state, [talk.verdict.model_copy(update={"tasks": (quoted,), "seq": 999})])
    return run


def test_invented_quotations_of_several_trials_are_counted() -> None:
    shown, run = StringIO(), unproved(0.9, trials=3)
    print_score_card(run, Console(file=shown, width=200))
    card = score_card_view.card_text(run)
    for view in (shown.getvalue(), card, document_of("md", run), document_of("html", run)):
        assert "1 of 3 verdicts unproved: the judge quotes words" in view


def test_of_several_trials_the_card_says_what_the_judge_missed_where_a_task_scored_lowest() -> None:
    run = Recorded([Talk(tasks=(0.5,)), Talk(tasks=(0.2,)), Talk()], [Talk()] * 3).loaded()
    _, row, *_ = score_card_view.run_rows(run)  # below the score
    (withheld,), (supplied,) = row.details["withheld"], row.details["supplied"]
    assert withheld.text.startswith("mean score 0.57; trial 2: ")
    assert supplied.text == "mean score 1.00"


def test_an_invented_quotation_is_marked_wherever_it_is_shown() -> None:
    run = unproved()
    _, task, *_ = score_card_view.rows(*shown(run.state))  # below the score
    assert (task.cells["withheld"].text, task.cells["supplied"].text) == ("? 0.25", "✓ 1.00")
    assert task.details["withheld"][0].text.startswith("unproved: ")
    assert "✗ 0.25 unproved" in document_of("md", run)
    assert "unproved</span>" in document_of("html", run)
    assert "unproved, the judge quotes words that are not in the transcript" in document_of(
        "junit", run
    )
    # A verdict that has passed is what nobody would look at otherwise.
    suite, other = ElementTree.fromstring(document_of("junit", unproved(0.9))).findall("testsuite")
    count = "properties/property[@name='unproved']"
    assert suite.find(count).get("value") == "1"  # type: ignore[union-attr]
    assert other.find(count).get("value") == "0"  # type: ignore[union-attr]
    assert "unproved" in suite.findtext("testcase[@name='task: task 1']/system-out", "")
    assert (
        "0.25 unproved"
        in json.loads(document_of("inspect", run))["samples"][0]["scores"]["tasks"]["explanation"]
    )
    card = Console(file=StringIO(), width=200)
    print_score_card(run, card)
    assert "✗ 0.25 unproved" in card.file.getvalue()  # type: ignore[attr-defined]
    result = run_document(run)
    assert (result["unproved"], result["conditions"]["withheld"]["unproved"]) == (1, 1)
    assert result["conditions"]["withheld"]["tasks"][0]["unproved"]
    assert not result["conditions"]["supplied"]["tasks"][0]["unproved"]
    assert document_of("csv", run).splitlines()[1].endswith(",1")


def test_a_run_of_cases_names_tasks_and_assertions_without_placeholders() -> None:
    job = {
        "tasks": [{"task": "Learn whether {{ case.drug | trim }} is safe", "passAbove": 0.6}],
        "assertions": [{"name": "{{ case.drug }} was looked up", "expression": "true"}],
    }
    run = Recorded([Talk()], [Talk()], cases=1, started={"job": job}).loaded()
    card = StringIO()
    print_score_card(run, Console(file=card, width=200))
    assert "{{" not in card.getvalue() + document_of("md", run)
    assert run.task_titles() == {1: "Learn whether ‹drug› is safe"}
    assert run.brief.tasks[0][0] == "Learn whether ‹drug› is safe"


def test_criteria_that_differ_are_named_by_the_conditions_titles() -> None:
    task = {"task": "Remind me", "acceptanceCriteria": "Reminds", "withheldCriteria": "Asks"}
    said = rows.criteria_words({"tasks": [task]}, task)
    assert said == "with the facts: Reminds\nwithout the facts: Asks"
