"""Numbers and durations as the screens write them."""

import pytest
from run_script import scripted_run

from bioeval_tui.base.units import clock, duration, number, signed
from bioeval_tui.record.state import RunState, apply_all
from bioeval_tui.report.brief import make_brief
from bioeval_tui.tui.shared.cells import Cell, asked_lines, packed, spark, uplift, wrapped
from bioeval_tui.tui.shared.wrapped_lines import title_lines


@pytest.mark.parametrize(
    ("elapsed", "text"), [(0, "00:00"), (72.9, "01:12"), (3661, "1:01:01"), (-3, "00:00")]
)
def test_elapsed_time_is_shown_as_a_clock(elapsed: float, text: str) -> None:
    assert clock(elapsed) == text


@pytest.mark.parametrize(("elapsed", "text"), [(8.4, "8 s"), (108, "1 m 48 s"), (7380, "2 h 03 m")])
def test_a_duration_is_shown_in_words(elapsed: float, text: str) -> None:
    assert duration(elapsed) == text


def test_a_missing_score_is_a_dash_and_never_zero() -> None:
    assert number(None) == "–"
    assert number(0.0) == "0.00"


@pytest.mark.parametrize(("value", "text"), [(0.7, "+0.70"), (-0.1, "−0.10"), (0.001, "±0.00")])
def test_differences_carry_their_sign(value: float, text: str) -> None:
    assert signed(value) == text


def test_uplift_needs_both_conditions() -> None:
    assert uplift(0.7) == Cell("+0.70", "good")
    assert uplift(None).text == "–"


def test_a_sparkline_has_a_fixed_scale_and_shows_gaps() -> None:
    assert spark([0.0, 0.5, 1.0, None], 10) == "▁▅█·"
    assert spark([0.1] * 20, 5) == "▁" * 5
    assert spark([], 5) == ""


def test_entries_that_do_not_fit_beside_each_other_begin_the_next_line() -> None:
    entries = [[Cell("one")], [Cell("two"), Cell("!")], [Cell("three")]]
    lines = packed(entries, 10)
    assert ["".join(cell.text for cell in line) for line in lines] == ["one  two!", "three"]


def test_a_line_of_chinese_or_japanese_may_end_between_two_letters() -> None:
    assert wrapped("2 询问华法林和布洛芬能不能一起吃", 20) == [
        "2 询问华法林和布洛芬",
        "能不能一起吃",
    ]
    assert wrapped("これはペンです。はい", 16) == ["これはペンです。", "はい"]
    assert wrapped("한국어 문장은 공백이 있다", 20) == ["한국어 문장은 공백이", "있다"]
    assert wrapped("a time-zone", 7) == ["a time-", "zone"]


def test_a_wrapped_line_of_a_file_keeps_its_indentation() -> None:
    assert title_lines("    - {name: a long  one}", 18, 12) == ["    - {name: a", "long  one}"]
    assert title_lines("    averylongword", 10, 12) == ["    averyl", "ongword"]
    assert title_lines("", 10, 12) == [""]


def test_a_pane_says_only_what_is_right_in_its_own_condition() -> None:
    state = apply_all(RunState(), scripted_run())
    assert state.started is not None
    job = {
        **state.job,
        "tasks": [{"task": "Ask", "acceptanceCriteria": "It does", "withheldCriteria": "It asks"}],
    }
    started = state.started.model_copy(update={"job": job})
    brief = make_brief(apply_all(RunState(), [started]), started)
    for condition, expected in (("withheld", "It asks"), ("supplied", "It does")):
        lines = ["".join(cell.text for cell in line) for line in asked_lines(brief, condition)]
        assert lines == ["What the agent is asked for", " 1 Ask", f"   {expected}"]
