"""The score card's numbers follow the formula that scored the run."""

import pytest
from run_script import scripted_run

from bioeval_tui.record import score
from bioeval_tui.record.events import Warned
from bioeval_tui.record.state import RunState, apply_all
from bioeval_tui.report.frames import table_rows
from bioeval_tui.report.result import load_run, result_of
from bioeval_tui.report.sentences import sentence
from bioeval_tui.tui.live import score_card_view
from tests.unit.report.recorded import GOLDEN, Recorded, Talk, shown


@pytest.fixture
def state() -> RunState:
    return apply_all(RunState(), scripted_run())


@pytest.mark.parametrize("condition", ["withheld", "supplied"])
def test_the_parts_minus_the_penalty_are_the_score(state: RunState, condition: str) -> None:
    talk = shown(state)[1].talks_by_condition[condition]
    weighted = sum(item.share for item in score_card_view.shares(talk))
    assert max(0.0, weighted - talk.penalty) == pytest.approx(talk.score, abs=0.00501)


@pytest.mark.parametrize("condition", ["withheld", "supplied"])
@pytest.mark.parametrize("width", [10, 57, 120])
def test_the_score_bar_is_as_long_as_the_score(state: RunState, condition: str, width: int) -> None:
    talk = shown(state)[1].talks_by_condition[condition]
    cells = score_card_view.score_bar(talk, width)
    assert sum(len(cell.text) for cell in cells) == width
    signs = {sign for sign, _ in score_card_view.SIGNS.values()}
    filled = sum(len(cell.text) for cell in cells if cell.text[0] in signs)
    assert filled == pytest.approx(talk.score * width, abs=1)


def test_each_possible_gain_follows_the_formula(state: RunState) -> None:
    talk = state.conversation("withheld")
    found = {sentence(gain): gain.by for gain in result_of(state).conversation("withheld", 1).gains}
    better = score.compose(
        [*talk.score.parts[:2], score.assertion_part([(3, True), (2, True), (1, True)])], 1
    )
    assert found["assertion “reminder exists”"] == pytest.approx(better.score - talk.score.score)
    assert found["no failures (now 1)"] == pytest.approx(0.30, abs=0.011)
    assert list(found.values()) == sorted(found.values(), reverse=True)


def test_both_scores_come_first_and_their_mean_is_the_published_one(state: RunState) -> None:
    first = score_card_view.rows(*shown(state))[0]
    assert (first.label.text, [cell.text for cell in first.cells.values()]) == (
        "score",
        ["0.29", "0.96"],
    )
    assert first.uplift.text == "+0.67"
    assert score_card_view.mean(*shown(state)) == f"{state.ended.mean:.2f}"


def test_a_rehearsal_is_labelled(state: RunState) -> None:
    said = score_card_view.brief_text(shown(state)[0])
    assert any("user: a script · judge: rules, no model" in line for line in said)


def test_the_usual_model_is_named_only_where_somebody_named_it() -> None:
    """A REST agent alone knows its model: older recordings hold the usual one for each of them."""
    events = scripted_run()
    started = events[0].model_copy(update={"model": "gpt-4.1-mini"})
    named = started.model_copy(update={"job": {**started.job, "target": {"model": "gpt-4.1-mini"}}})
    for first, shows in ((started, False), (named, True)):
        held = apply_all(RunState(), [first, *events[1:]])
        assert (
            any("gpt-4.1-mini" in line for line in score_card_view.brief_text(shown(held)[0]))
            == shows
        )


def test_a_run_that_is_not_clean_shows_no_uplift_anywhere() -> None:
    state = apply_all(RunState(), scripted_run(clean=False))
    first, *others = score_card_view.rows(*shown(state))
    assert first.uplift.text == "not shown"
    assert {row.uplift.text for row in others} <= {"–", "", "both fail"}


def test_rows_show_reason_evidence_and_uplift(state: RunState) -> None:
    row = score_card_view.rows(*shown(state))[1]
    assert row.uplift.text == "+0.70"
    assert row.details["supplied"][0].text == "the reminder has date, dose and zone"
    assert row.evidence["supplied"].message == 8
    assert row.evidence["supplied"].quote.startswith("Done: warfarin")


def test_a_missing_verdict_of_a_panel_is_shown_beside_the_others() -> None:
    script = scripted_run()
    scored = next(e for e in script if e.kind == "transcript_scored" and e.condition == "supplied")
    lacks = Warned(
        run_id=scored.run_id, seq=0, at=scored.at, condition="supplied", trial=1,
        attempt=scored.attempt,
        code="verdict_missing", message="one of the 3 verdicts is missing",
    )  # fmt: skip
    row = score_card_view.rows(*shown(apply_all(RunState(), [*script, lacks])))[1]
    assert row.details["supplied"][1].text == "! one of the 3 verdicts is missing"
    assert "missing" not in " ".join(cell.text for cell in row.details["withheld"])


def test_tone_is_marked_as_not_in_the_score(state: RunState) -> None:
    assert any(
        row.label.text == "tone (not in score)" for row in score_card_view.more_rows(*shown(state))
    )


def test_faults_are_counted_by_who_caused_them(state: RunState) -> None:
    assert score_card_view.faults(shown(state)[0]) == ""
    spoilt = Talk(reason="evaluator_failed", fault="evaluator")
    unjudged = Talk(tasks=None)
    recorded = Recorded(
        [spoilt] * 4, [unjudged, Talk(reason="agent_failed", fault="agent", failures=2)]
    )
    run = recorded.loaded()
    assert score_card_view.faults(shown(run.state)[0]).endswith(": agent 1 · evaluator 4 · judge 1")
    told = sorted(held["fault"] for held in table_rows([run], "conversations"))
    assert told == ["agent", *["evaluator"] * 4, "judge"]


def test_an_unmeasured_score_is_a_dash_with_its_reason() -> None:
    script = scripted_run()
    scored = next(event for event in script if event.kind == "conversation_scored")
    spoilt = scored.model_copy(update={"score": None, "reason": "judge timed out after 60 s"})
    state = apply_all(RunState(), [spoilt if event is scored else event for event in script])
    assert score_card_view.rows(*shown(state))[0].cells["withheld"].text == "–"
    assert score_card_view.mean(*shown(state)) == "–"
    result = shown(state)[0]
    said = [result.answer.what_and_why, *(cell.text for cell in score_card_view.notes(result))]
    assert sum("judge timed out after 60 s" in text for text in said) == 1, "once"
    assert result.conversation("withheld", 1).gains == ()


def test_the_judges_evidence_is_shown_without_its_markdown() -> None:
    found = score_card_view.rows(*shown(load_run(GOLDEN).state))
    details = [cell.text for row in found for cell in row.details.get("supplied", ())]
    assert any(
        text.startswith("“Warfarin and ibuprofen interact (major): raised risk") for text in details
    )


def test_a_check_that_fails_in_both_says_so_in_place_of_a_change() -> None:
    low = Talk(tasks=(0.2,), holds=(False,))
    run = Recorded([low] * 2, [low] * 2).loaded()
    result, trial = shown(run.state)
    for rows in (score_card_view.rows(result, trial), score_card_view.run_rows(result)):
        checks = [row for row in rows if row.mark.strip("1× ") == "" and row.mark.strip()]
        assert [row.uplift.text for row in checks] == ["both fail"] * 2
