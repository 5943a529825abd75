"""Assertions: passed, failed with the reason, or not measured."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from bioeval_tui.base.errors import QueryError
from bioeval_tui.evaluation.assertions import Checker, holds_on_nothing
from bioeval_tui.jobs.models import CypherAssertion, ExpressionAssertion, MedalAssertion
from bioeval_tui.protocols import AssertionView, CheckResult, PeerError, Rows
from tests.unit.evaluation.conversation.fakes import FakeGraph

VIEW = AssertionView(
    {
        "resources": [
            {"id": "r", "name": "x", "labels": ["DomainNode", "Reminder"], "properties": {}}
        ]
    },
    {"transcript": [], "functionCalls": [], "failureCount": 0},
)


class AnsweringGraph(FakeGraph):
    """Answers every query with the same rows, or fails."""

    def __init__(self, answer: Rows | Exception) -> None:
        super().__init__()
        self.answer = answer

    async def query(self, cypher: str, parameters: Any = None, *, timeout_s: float = 10.0) -> Rows:
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


def cypher(expected: Any = 1) -> CypherAssertion:
    return CypherAssertion(cypher="MATCH (n) RETURN count(n)", expected=expected)


async def test_a_true_expression_passes_and_a_false_one_fails() -> None:
    check = Checker(None)
    holds = ExpressionAssertion(expression='objectContext.entities.any { it.type == "Reminder" }')
    fails = ExpressionAssertion(expression="objectContext.resources.isEmpty()")
    assert (await check(holds, VIEW)).passed is True
    assert (await check(fails, VIEW)).passed is False


@pytest.mark.parametrize(
    ("condition", "why"),
    [
        ("objectContext.resources.size == 2", "objectContext.resources.size is 1"),
        (
            "evaluation.failureCount > 3 && evaluation.done",
            "evaluation.failureCount is 0; evaluation.done is false",
        ),
        ("!(evaluation.failureCount == 0)", "evaluation.failureCount is 0"),
        ("evaluation.functionCalls.isNotEmpty()", "evaluation.functionCalls is []"),
        (
            'objectContext.resources.first().name == "y"',
            'objectContext.resources.first().name is "x"',
        ),
        ("false", "false is false"),
        (
            'objectContext.resources.none { it.id == "r" }',
            'objectContext.resources is a list of 1; number 1 matches: it.id is "r"',
        ),
    ],
)
async def test_a_false_comparison_shows_both_values(condition: str, why: str) -> None:
    result = await Checker(None)(ExpressionAssertion(expression=condition), VIEW)
    assert (result.passed, result.why) == (False, why)


DOSES = AssertionView(
    {
        "resources": [
            {"id": "w", "name": "warfarin", "labels": ["DomainNode", "Drug"], "properties": {}},
            {
                "id": "a",
                "name": "at 9",
                "labels": ["DomainNode", "Reminder"],
                "properties": {"dose": "10 mg"},
            },
            {
                "id": "b",
                "name": "at 8",
                "labels": ["DomainNode", "Reminder"],
                "properties": {"dose": "5 mg"},
            },
        ]
    },
    VIEW.evaluation,
)


@pytest.mark.parametrize(
    ("condition", "why"),
    [
        (
            '.any { "Reminder" in it.labels && it.properties["dose"] == "7 mg" }',
            'number 2 comes nearest: it.properties["dose"] is "10 mg"',
        ),
        ('.all { it.name.startsWith("at") }', 'number 1 does not match: it.name is "warfarin"'),
        ('.none { d -> d.id == "b" || d.id == "c" }', 'number 3 matches: d.id is "b"'),
        (
            '.all { if (it.id == "w") return@all true; it.id != "b" }',
            'number 3 does not match: if (it.id == "w") return@all true; it.id != "b" is false',
        ),
        (
            '.any { it.type == "Gene" && it.name == "CFTR" }',
            'none meets it.type == "Gene" or it.name == "CFTR"',
        ),
    ],
)
async def test_of_a_long_list_the_element_that_decides_is_shown(condition: str, why: str) -> None:
    asked = ExpressionAssertion(expression=f"objectContext.resources{condition}")
    result = await Checker(None)(asked, DOSES)
    assert (result.passed, result.why) == (False, f"objectContext.resources is a list of 3; {why}")


async def test_a_query_with_another_result_shows_it() -> None:
    result = await Checker(AnsweringGraph(Rows(("n",), [[2]])))(cypher(3), VIEW)
    assert (result.passed, result.why) == (False, "the query returned 2, expected 3")


async def test_an_expression_that_is_not_true_or_false_fails_and_shows_its_value() -> None:
    result = await Checker(None)(
        ExpressionAssertion(expression="objectContext.resources.size"), VIEW
    )
    assert (result.passed, result.observed) == (False, 1)
    assert result.error is not None
    assert "not true or false" in result.error


async def test_an_error_while_evaluating_is_shown_with_its_column() -> None:
    result = await Checker(None)(
        ExpressionAssertion(
            expression='objectContext.resources.first { it.name == "y" }.id == "z"'
        ),
        VIEW,
    )
    assert result.passed is False
    assert result.error is not None
    assert "column" in result.error


async def test_an_agent_without_an_object_context_is_null() -> None:
    view = AssertionView(None, VIEW.evaluation)
    assert (
        await Checker(None)(ExpressionAssertion(expression="objectContext == null"), view)
    ).passed is True


@pytest.mark.parametrize(
    ("answer", "passed", "said"),
    [
        (Rows(("n",), ((1,),)), True, None),
        (Rows(("n",), ((2,),)), False, None),
        (Rows(("n", "m"), ((1, 9),)), True, None),
        (Rows(("n",), ((1,), (1,))), False, "2 rows"),
        (Rows((), ()), False, "0 rows"),
        (QueryError("no such function"), False, "no such function"),
        (PeerError("graph", "connection refused"), None, "connection refused"),
    ],
)
async def test_a_cypher_assertion_compares_the_only_row_of_its_query(
    answer: Rows | Exception, passed: bool | None, said: str | None
) -> None:
    result = await Checker(AnsweringGraph(answer))(cypher(), VIEW)
    assert result.passed is passed
    assert (result.error is None) == (said is None)
    assert said is None or said in str(result.error)


async def test_without_a_graph_a_cypher_assertion_is_not_measured() -> None:
    result = await Checker(None, "no wheel for this machine")(cypher(), VIEW)
    assert (result.passed, result.error) == (None, "no wheel for this machine")


async def test_a_medal_assertion_grades_the_file() -> None:
    async def grade(assertion: MedalAssertion, before: Mapping[str, str]) -> CheckResult:
        return CheckResult(True, observed=assertion.task)

    medal = MedalAssertion(medal="bronze", task="a/b", submission="x.csv")
    assert (await Checker(None, grade_medal=grade)(medal, VIEW)).observed == "a/b"
    assert (await Checker(None)(medal, VIEW)).passed is None


def test_whether_an_assertion_holds_on_an_empty_state_is_known() -> None:
    assert holds_on_nothing(
        ExpressionAssertion(expression='evaluation.functionCalls.none { it.function == "delete" }')
    )
    assert not holds_on_nothing(ExpressionAssertion(expression="objectContext.resources.size == 1"))
    assert holds_on_nothing(cypher(0))
    assert not holds_on_nothing(cypher(1))
    assert holds_on_nothing(CypherAssertion(cypher="RETURN 1", expected=1, invariant=True))
