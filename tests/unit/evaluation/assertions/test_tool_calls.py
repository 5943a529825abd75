"""Assertions on tool calls: what they check, what they report, and when they are not measured."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st
from pydantic import ValidationError

from bioeval_tui.evaluation.assertions import _match_up, check_tool_calls, holds_on_nothing
from bioeval_tui.evaluation.wiring.check_job import check_job
from bioeval_tui.jobs.models import ToolCallsAssertion, ToolCallsConfig
from bioeval_tui.protocols import AssertionView, CheckResult
from bioeval_tui.record.tool_calls import (
    call_event,
    call_text,
    parse_arguments,
    result_event,
    transcript_calls,
)

LOOK = call_event("lookUp", {"drug": "warfarin"})
SET_5 = call_event("createReminder", {"dose": 5, "when": {"hour": 9, "zone": "Australia/Sydney"}})
SET_10 = call_event("createReminder", {"dose": 10})
DELETE = call_event("deleteAll", {})


def view(*turns: list[dict[str, Any]], **target: Any) -> AssertionView:
    """Return what assertions see of a conversation in which the agent told these events in each
    turn.
    """
    transcript: list[dict[str, Any]] = []
    for events in turns:
        transcript += [
            {"role": "user", "content": "x", "events": []},
            {"role": "assistant", "content": "y", "events": events},
        ]
    return AssertionView(None, {"transcript": transcript, "job": {"target": target}})


def check(asked: dict[str, Any], *turns: list[dict[str, Any]], **target: Any) -> CheckResult:
    return check_tool_calls(
        ToolCallsConfig.model_validate(asked, strict=False), view(*turns, **target)
    )


@pytest.mark.parametrize(
    ("match", "wanted", "holds"),
    [
        ("strict", ["lookUp", "createReminder"], True),
        ("strict", ["createReminder", "lookUp"], False),
        ("strict", ["lookUp"], False),
        ("strict", ["lookUp", "createReminder", "createReminder"], False),
        ("unordered", ["createReminder", "lookUp"], True),
        ("unordered", ["lookUp"], False),
        ("unordered", ["lookUp", "lookUp"], False),
        ("subset", ["createReminder", "deleteAll", "lookUp"], True),
        ("subset", ["lookUp"], False),
        ("superset", ["lookUp"], True),
        ("superset", ["lookUp", "lookUp"], False),
        ("superset", [], True),
        ("strict", [], False),
    ],
)
def test_tool_call_sequences_are_compared_in_the_jobs_mode(
    match: str, wanted: list[str], holds: bool
) -> None:
    found = check({"calls": wanted, "match": match}, [LOOK], [SET_5])
    assert found.passed is holds
    assert found.observed == [
        "turn 1: lookUp(drug=\"warfarin\")",
        "turn 2: createReminder(dose=5, when={\"hour\":9,\"zone\":\"Australia/Sydney\"})",
    ]  # fmt: skip
    assert bool(found.error) is not holds


@pytest.mark.parametrize(
    ("call", "holds"),
    [
        ({"arguments": {"dose": 5}}, True),
        ({"arguments": {"dose": 5.0}}, True),
        ({"arguments": {"dose": "5"}}, False),
        ({"arguments": {"dose": True}}, False),
        ({"arguments": {"dose": 5}, "compare": "exact"}, False),
        (
            {
                "arguments": {"dose": 5, "when": {"zone": "Australia/Sydney", "hour": 9}},
                "compare": "exact",
            },
            True,
        ),
        ({"arguments": {"when": {"hour": 9}}}, False),
        ({"where": '(it.args["dose"] as Number).toDouble() in 4.0..6.0'}, True),
        ({"where": 'it.args["dose"] == 10'}, False),
    ],
)
def test_arguments_are_compared_exactly_in_part_or_by_an_expression(
    call: dict[str, Any], holds: bool
) -> None:
    asked = {"mustCall": [{"name": "createReminder", **call}]}
    assert check(asked, [LOOK, SET_5]).passed is holds


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ({"mustCall": ["deleteAll"]},
            'deleteAll was not called; it called lookUp(drug="warfarin"), createReminder(dose=10)'),
        ({"mustCall": [{"name": "createReminder", "arguments": {"dose": 5}}]},
            "createReminder(dose=5, …) was not called, but createReminder(dose=10)"),
        ({"mustNotCall": ["createReminder"]}, "createReminder was called: createReminder(dose=10)"),
        ({"order": ["createReminder", "lookUp"]}, "lookUp was called before createReminder"),
        ({"order": ["lookUp", "deleteAll"]}, "not called, so in no order: deleteAll"),
        ({"maxCalls": 1}, "2 calls, at most 1"),
        ({"maxCalls": {"lookUp": 0}}, "1 call of lookUp, at most 0"),
        ({"noErrors": True}, "createReminder(dose=10) failed: no such zone"),
        ({"calls": ["lookUp"]}, "more was called than that: createReminder(dose=10)"),
        ({"calls": ["lookUp", "createReminder", "lookUp"]}, "lookUp was not called after lookUp"),
        ({"calls": [{"name": "lookUp"}, {"name": "deleteAll"}]},
            "call 2 is createReminder(dose=10), not deleteAll"),
        ({"calls": ["deleteAll"], "match": "superset"}, "not called: deleteAll; called: lookUp"),
        ({"mustCall": [{"name": "lookUp", "where": 'it.args["dose"]!!.toString() == ""'}]},
            "of lookUp("),
    ],
)  # fmt: skip
def test_a_failed_tool_call_assertion_shows_the_calls(asked: dict[str, Any], says: str) -> None:
    found = check(
        asked, [LOOK, {"output": "found"}, SET_10, result_event("no such zone", failed=True)]
    )
    assert found.passed is False
    assert says in str(found.error)


@pytest.mark.parametrize(
    "asked",
    [
        {"mustCall": ["lookUp"]},
        {"mustNotCall": ["deleteAll"]},
        {"maxCalls": 3},
        {"noErrors": True},
        {"calls": []},
        {"calls": [], "match": "subset"},
        {"order": ["lookUp"]},
    ],
)
def test_an_agent_that_reports_no_tool_calls_is_not_measured(asked: dict[str, Any]) -> None:
    found = check(asked, [{"systemPrompt": "Be kind."}], [])
    assert (found.passed, found.observed) == (None, None)
    assert "if it reports every call it makes, set target.tellsToolCalls: true" in str(found.error)


@pytest.mark.parametrize("told", [{"tellsToolCalls": True}, {"tools": [{"name": "lookUp"}]}])
def test_where_all_calls_are_reported_no_report_means_no_call(told: dict[str, Any]) -> None:
    assert check({"mustNotCall": ["deleteAll"]}, [], **told).passed is True
    assert check({"mustCall": ["lookUp"]}, [], **told).passed is False


def test_without_results_errors_of_tool_calls_are_not_measured() -> None:
    assert check({"noErrors": True}, [LOOK]).passed is None
    assert check({"noErrors": True}, [LOOK, {"output": "found"}]).passed is True
    assert check({"noErrors": True, "mustCall": ["deleteAll"]}, [LOOK]).passed is False


def test_tool_calls_are_checked_per_turn_or_over_all_turns() -> None:
    turns = ([LOOK], [LOOK, SET_5], [])
    assert check({"maxCalls": 2}, *turns).passed is False
    assert check({"maxCalls": 2, "turn": "each"}, *turns).passed is True
    assert "turn 2: 2 calls" in str(check({"maxCalls": 1, "turn": "each"}, *turns).error)
    assert check({"calls": ["lookUp"], "turn": 1}, *turns).passed is True
    assert check({"mustCall": ["lookUp"], "turn": 3}, *turns).passed is False
    late = check({"mustCall": ["lookUp"], "turn": 4}, *turns)
    assert (late.passed, str(late.error).partition(":")[0]) == (
        False,
        "turn 4, which did not take place",
    )
    assert check({"mustNotCall": ["lookUp"], "turn": 4}, *turns).passed is True


@pytest.mark.parametrize("kept", [2, 1, 0])
def test_results_without_ids_are_those_of_the_first_calls_that_have_none(kept: int) -> None:
    """The last calls have not been answered yet."""
    calls = [call_event("a", {}), call_event("b", {})]
    results = [result_event("A"), result_event("B", failed=True)][:kept]
    transcript = [
        {"role": "user", "events": []},
        {"role": "assistant", "events": [*calls, *results]},
    ]
    found = [
        (call.name, call.result, call.failed)
        for call in transcript_calls(transcript)
        if call.has_result
    ]
    assert found == [("a", "A", False), ("b", "B", True)][:kept]


def test_an_order_names_each_tool_once() -> None:
    with pytest.raises(ValidationError, match="names a tool twice"):
        ToolCallsConfig.model_validate({"order": ["a", "b", "b"]}, strict=False)


def test_results_are_matched_to_their_calls_in_any_order() -> None:
    events = [
        call_event("a", {}, "1"), call_event("b", {}, "2"), result_event("B", "2", failed=True),
        result_event("A", "1"),
        call_event("c", {}), {"output": "C"},
    ]  # fmt: skip
    calls = transcript_calls(view(events).evaluation["transcript"])
    assert [(call.name, call.result, call.failed) for call in calls] == [
        ("a", "A", False), ("b", "B", True), ("c", "C", False),
    ]  # fmt: skip


@given(st.lists(st.lists(st.booleans(), min_size=4, max_size=4), max_size=4))
def test_the_pairing_of_calls_is_the_largest_possible(fits: list[list[bool]]) -> None:
    def largest(row: int, taken: frozenset[int]) -> int:
        if row == len(fits):
            return 0
        free = [column for column in range(4) if fits[row][column] and column not in taken]
        return max(
            [largest(row + 1, taken), *(1 + largest(row + 1, taken | {column}) for column in free)]
        )

    found = _match_up(fits, 4)
    assert all(fits[row][column] for row, column in found.items())
    assert len(set(found.values())) == len(found) == largest(0, frozenset())


@pytest.mark.parametrize(
    ("asked", "holds"),
    [({"mustNotCall": ["x"]}, True), ({"maxCalls": 3}, True), ({"mustCall": ["x"]}, False),
        ({"calls": ["x"]}, False)],
)  # fmt: skip
def test_an_assertion_that_holds_without_tool_calls_keeps_the_run_clean(
    asked: dict[str, Any], holds: bool
) -> None:
    assertion = ToolCallsAssertion.model_validate({"toolCalls": asked}, strict=False)
    assert holds_on_nothing(assertion) is holds


JOB = """
target: {{user: a, chatbot: b}}
aspirationalAverage: 1
tasks: []
facts: []
assertions:
  - toolCalls: {asked}
"""


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ("{mustCall: [lookUp, {name: a, where: 'it.args.size == 1'}], maxCalls: 3}", None),
        ("{maxCalls: {lookUp: 1}, turn: each}", None),
        ("{}", "7:16: assertions[0].toolCalls: one of the keys `calls`, `mustCall`"),
        ("{mustCal: [lookUp]}", "unknown key, did you mean mustCall?"),
        ("{calls: [{name: x, args: {}}]}",
            "assertions[0].toolCalls.calls[0].args: unknown key, did you mean"),
        ("{mustCall: [{name: a, where: 'it.arg.size == 1'}]}",
            "7:49: assertions[0].toolCalls.mustCall[0].where: unknown property arg"),
        ("{maxCalls: many}", "assertions[0].toolCalls.maxCalls: must be a mapping"),
        ("{noErrors: true, turn: 0}", "assertions[0].toolCalls.turn"),
    ],
)  # fmt: skip
def test_check_reports_errors_in_tool_call_assertions_with_their_position(
    tmp_path: Path, asked: str, says: str | None
) -> None:
    path = tmp_path / "job.yml"
    path.write_text(JOB.format(asked=asked), encoding="utf-8")
    errors = [str(problem) for problem in check_job(path).errors]
    assert errors == [] if says is None else any(says in error for error in errors), errors


def test_the_order_of_arguments_does_not_matter() -> None:
    one, other = {"b": {"y": 1, "x": 2}, "a": 1}, {"a": 1, "b": {"x": 2, "y": 1}}
    assert call_text("f", one) == call_text("f", other) == 'f(a=1, b={"x":2,"y":1})'


def test_the_sign_off_is_not_a_turn_of_the_agent() -> None:
    seen = view([LOOK], [LOOK])
    seen.evaluation["transcript"].append({"role": "user", "content": "Bye", "events": []})
    asked = ToolCallsConfig.model_validate({"calls": ["lookUp"], "turn": "each"}, strict=False)
    assert check_tool_calls(asked, seen).passed is True


@pytest.mark.parametrize(("turn", "passed"), [(1, True), (2, None), ("each", None), (None, None)])
def test_with_missing_spans_tool_calls_are_not_measured(turn: object, passed: bool | None) -> None:
    seen = replace(view([LOOK], [], tellsToolCalls=True), untraced_turns=(2,))
    found = check_tool_calls(
        ToolCallsConfig.model_validate({"mustNotCall": ["deleteAll"], "turn": turn}, strict=False),
        seen,
    )
    assert found.passed is passed
    assert passed or "turn 2" in str(found.error)


def test_a_span_without_arguments_is_a_call_with_unknown_arguments() -> None:
    silent = call_event("deleteAll", {}) | {"span": "ab"}
    silent["request"]["argumentsTold"] = False
    assert check({"mustNotCall": ["deleteAll"]}, [silent]).passed is False
    found = check({"mustCall": [{"name": "deleteAll", "arguments": {"really": True}}]}, [silent])
    assert found.passed is None
    assert "do not contain its arguments" in str(found.error)


@pytest.mark.parametrize(
    "malformed",
    [
        call_event("lookUp", '{"drug": "warfarin', "c1"),
        {
            "request": {
                "function": {"name": "lookUp"},
                "arguments": '{"drug": "warfarin',
                "id": "c1",
            }
        },
        call_event("lookUp", parse_arguments('["warfarin"]'), "c1"),
        {"request": {"function": {"name": "lookUp"}, "arguments": ["warfarin"], "id": "c1"}},
    ],
    ids=["recorded", "sent by a REST agent or imported", "a list, recorded", "a list, sent"],
)
@pytest.mark.parametrize(
    "result", [[], [result_event("found", "c1")]], ids=["no result", "a result"]
)
@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ({"mustCall": ["lookUp"]}, "lookUp was not called"),
        ({"mustCall": [{"name": "lookUp", "arguments": {"drug": "warfarin"}}]}, "was not called"),
        ({"mustCall": [{"name": "lookUp", "where": 'it.args["drug"] == null'}]}, "was not called"),
        ({"calls": ["lookUp"]}, "call 1 is lookUp"),
        ({"calls": ["lookUp"], "match": "superset"}, "not called: lookUp"),
        ({"order": ["lookUp", "deleteAll"]}, "not called, so in no order: lookUp"),
        ({"noErrors": True}, "lookUp"),
        ({"mustNotCall": ["lookUp"]}, "lookUp was called"),
        ({"maxCalls": {"lookUp": 0}}, "1 call of lookUp, at most 0"),
    ],
)
def test_a_call_whose_arguments_are_no_json_object_has_failed_and_earns_no_credit(
    malformed: dict[str, Any], result: list[dict[str, Any]], asked: dict[str, Any], says: str
) -> None:
    found = check(asked, [malformed, *result, DELETE])
    assert found.passed is False
    assert says in (found.error or "")
    assert any("failed" in line for line in found.observed)


def test_arguments_that_a_rest_agent_sends_as_json_text_are_read() -> None:
    told = {"request": {"function": {"name": "lookUp"}, "arguments": '{"drug": "warfarin"}'}}
    assert check(
        {"mustCall": [{"name": "lookUp", "arguments": {"drug": "warfarin"}}]}, [told]
    ).passed


@pytest.mark.parametrize(("drug", "passed"), [("warfarin", True), ("aspirin", False)])
def test_the_only_argument_of_a_call_may_be_reported_without_its_name(
    drug: str, passed: bool
) -> None:
    told = call_event("lookUp", {"arguments": drug})
    asked = {"mustCall": [{"name": "lookUp", "arguments": {"drug": "warfarin"}}]}
    assert check(asked, [told]).passed is passed


@pytest.mark.parametrize(("count", "more"), [(4, ""), (5, ""), (6, " and 1 more")])
def test_five_calls_are_listed_and_others_counted(count: int, more: str) -> None:
    error = check({"maxCalls": 3}, [call_event(f"f{at}", {}) for at in range(count)]).error
    listed = ", ".join(call_text(f"f{at}", {}) for at in range(min(count, 5)))
    assert error == f"{count} calls, at most 3: {listed}{more}"
