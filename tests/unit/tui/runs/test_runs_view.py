"""The history of runs as a table, the card of a run, and two runs side by side."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import history
from rich.cells import cell_len

from bioeval_tui.report.comparison import Comparison
from bioeval_tui.report.previews import Loss, RunPreview
from bioeval_tui.tui.runs import comparison_view, runs_view
from tests.unit.tui.lines import text

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)


def whole(found: Comparison, width: int) -> str:
    rows = [row.line for row in comparison_view.table(found, width)]
    return text([*comparison_view.head(found), *rows])


def test_the_newest_run_comes_first_and_running_ones_are_marked() -> None:
    table = runs_view.listing()
    table.fill(reversed(history.history(NOW)))
    assert table.visible[0].status == "running"
    cells = runs_view.row(table.visible[0], NOW, marked=True, exact=False)
    assert cells["status"].text == "● live"
    assert cells[""].text == runs_view.MARK
    assert cells["mean"].text == "–"


def test_times_are_relative_or_exact() -> None:
    run = history.history(NOW)[4]
    assert runs_view.row(run, NOW, marked=False, exact=False)["started"].text == "yesterday"
    exact = runs_view.row(run, NOW, marked=False, exact=True)["started"].text
    assert exact == f"{run.started_at.astimezone():%m-%d %H:%M}"


def test_runs_can_be_filtered_by_job_status_and_fault() -> None:
    table = runs_view.listing()
    table.fill(history.history(NOW))
    for words, count in (("variant", 3), ("interrupted", 1), ("fault judge", 1), ("medication rehearsal", 2)):
        table.search(words)
        assert len(table.visible) == count, words


def test_every_column_sorts_and_missing_values_come_last() -> None:
    table = runs_view.listing()
    table.fill(history.history(NOW))
    for column in range(len(runs_view.COLUMNS)):
        table.sort_by(column)
        assert len(table.visible) == 10
    table.sort_by(6)
    assert table.visible[0].score == 0.78
    assert table.visible[-1].score is None


def test_a_card_shows_the_jobs_trend_and_the_runs_place_in_it() -> None:
    all_runs = history.history(NOW)
    said = text(runs_view.card(all_runs[1], all_runs, NOW, 40))
    assert "means of 6 runs of this job" in said
    assert "+0.07 since the previous run" in said
    assert "best 0.78   worst 0.31   last 0.78" in said
    bars, pointer = said.splitlines()[13:15]
    assert pointer.index("▲") == len(bars) - 1


def test_a_trend_says_in_what_the_run_before_differs_besides_its_results() -> None:
    all_runs = history.history(NOW)
    mine = {"agent": "a", "agent's model": "m", "program": "2"}
    theirs = {"agent": "a", "agent's model": "n", "program": "1"}
    all_runs[1] = replace(all_runs[1], identity=mine)
    assert "which differs in" not in text(runs_view.card(all_runs[1], all_runs, NOW, 40))
    all_runs[4] = replace(all_runs[4], identity=theirs)
    said = text(runs_view.card(all_runs[1], all_runs, NOW, 40))
    assert "+0.07 since the previous run\nwhich differs in agent's model, program" in said


def test_a_card_says_why_points_were_lost_above_the_scores() -> None:
    lost = Loss("“a reminder”: it has no time zone.", 2, "Done.")
    found = RunPreview("It failed.", "withheld, trial 3", (lost,), (("task “a reminder” to 1.0", "+0.20"),))
    said = text(runs_view.card(history.history(NOW)[1], [], NOW, 40, found)).splitlines()
    at = said.index("where it lost points: withheld, trial 3")
    assert said[at + 1 : at + 3] == ["“a reminder”: it has no time zone.", "the judge quotes turn 2: “Done.”"]
    scores = next(n for n, line in enumerate(said) if line.startswith("withheld  "))
    assert said.index("+0.20  task “a reminder” to 1.0") < scores


def test_a_card_says_what_to_do_if_no_conversation_took_place() -> None:
    found = RunPreview("No conversation took place.", "withheld", ways=("look at the agent's log",))
    said = text(runs_view.card(history.history(NOW)[1], [], NOW, 40, found)).splitlines()
    assert said[said.index("what you can do") + 1] == "look at the agent's log"


def test_a_first_run_has_no_trend_yet() -> None:
    run = replace(history.history(NOW)[0], job="new")
    assert "no run of this job with this agent has ended yet" in text(runs_view.card(run, [run], NOW, 40))


def test_a_run_of_one_condition_is_not_part_of_the_trend() -> None:
    all_runs = history.history(NOW)
    alone = replace(all_runs[1], score=None, scores={"supplied": 0.9})
    assert runs_view.status_of(alone).text == "■ completed"
    said = text(runs_view.card(alone, [alone, *all_runs[2:]], NOW, 40))
    assert "supplied    0.90" in said
    assert "withheld    not run" in said
    assert "mean and difference need both conditions" in said
    assert "means of 5 runs of this job" in said
    assert "with both conditions has ended yet" in text(runs_view.card(alone, [alone], NOW, 40))
    assert runs_view.status_of(replace(alone, scores={"supplied": None})) == runs_view.NO_SCORE


def test_the_trend_is_of_the_newest_runs_only() -> None:
    many = [history.run(n, "a", 0.5, ago=timedelta(hours=n), now=NOW) for n in range(500)]
    lines = runs_view.trend_lines(runs_view.trend(many, many[0]), many[0], 30)
    assert cell_len(lines[1][0].text) == 30


def test_unchanged_rows_are_not_computed_again() -> None:
    table = runs_view.listing()
    first = history.history(NOW)
    table.fill(first)
    seen = []
    keys = table._keys
    table._keys = lambda run: (seen.append(run.run_id), keys(run))[1]  # type: ignore[func-returns-value]
    changed = replace(first[0], status="completed", score=0.5)
    table.fill([changed, *first[1:]])
    assert seen == [changed.run_id]


def test_a_comparison_starts_with_its_conclusion_and_signs_every_difference() -> None:
    said = whole(history.compared(), 110)
    assert said.index("B scores higher on 1 of 2 tasks") < said.index("FACTS WITHHELD")
    for words in (
        "▲ better",
        "▲ fixed",
        "▼ broken",
        "50%",
        "−0.39 s",
        "judge: A rules, B gpt-4.1-mini",
    ):
        assert words in said


def test_a_comparison_fits_its_width_or_wraps_only_sentences() -> None:
    found = history.compared()
    sentences = {condition.sentence for condition in found.conditions} | {f"! {note}" for note in found.notes}
    sentences |= set(found.brief_words)
    for width in (70, 110):
        for line in whole(found, width).splitlines():
            assert cell_len(line) <= width + 1 or line in sentences


def test_runs_without_a_common_condition_say_so() -> None:
    found = replace(history.compared(), conditions=())
    assert "no condition in common" in whole(found, 80)
