"""Limits, carets and states of expressions, and what the documentation promises about them."""

from __future__ import annotations

import itertools
import re
import time
from typing import Any

import pytest
from hypothesis import given, strategies as st

from bioeval_tui.base.errors import ExpressionError
from bioeval_tui.expressions import (
    LimitError,
    Limits,
    caret,
    evaluate,
    parse,
    scope,
)

EMPTY = scope(None, {})


def _error(text: str) -> ExpressionError:
    with pytest.raises(ExpressionError) as caught:
        evaluate(parse(text), EMPTY)
    return caught.value


def test_a_missing_object_context_is_null() -> None:
    assert evaluate(parse("objectContext == null"), EMPTY) is True
    assert evaluate(parse("objectContext?.resources?.size ?: 0 == 0"), EMPTY) is True
    assert "use ?.resources" in _error("objectContext.resources.size == 1").message


def test_missing_parts_of_the_object_context_are_empty() -> None:
    names = scope({"resources": [{"name": "x"}]}, {})
    assert evaluate(parse("objectContext.resources[0].labels.isEmpty()"), names) is True
    assert evaluate(parse("objectContext.resources[0].properties.isEmpty()"), names) is True
    assert evaluate(parse("objectContext.resources[0].type == null"), names) is True
    assert evaluate(parse("evaluation.transcript.size + evaluation.failureCount"), names) == 0


def test_the_type_of_a_resource_is_its_first_label_except_domain_node() -> None:
    labels = [["DomainNode"], ["DomainNode", "Drug", "Thing"], ["Other"]]
    names = scope(
        {"resources": [{"id": str(i), "labels": given} for i, given in enumerate(labels)]}, {}
    )
    assert evaluate(parse("objectContext.resources.map { it.type }"), names) == [
        None,
        "Drug",
        "Other",
    ]
    assert evaluate(parse("objectContext.entities.map { it.id }"), names) == ["0", "1"]


@pytest.mark.parametrize(
    "context",
    [{"resources": 5}, {"resources": [7]}, {"resources": [{"labels": "Drug"}]}, {"functions": {}}],
)
def test_an_object_context_of_the_wrong_shape_names_the_part(context: dict[str, object]) -> None:
    with pytest.raises(ExpressionError, match=r"must be an? (list|object|map)"):
        scope(context, {})


def test_an_expression_can_be_evaluated_on_plain_json() -> None:
    names = {"objectContext": {"resources": [{"labels": ["Drug"]}]}, "evaluation": {"done": True}}
    assert (
        evaluate(
            parse('objectContext.resources.any { it.type == "Drug" } && evaluation.done'), names
        )
        is True
    )


def test_evaluating_an_expression_does_not_change_the_state() -> None:
    context = {"resources": [{"name": "b", "aliases": ["z", "a"]}, {"name": "a"}]}
    names = scope(context, {})
    evaluate(parse("objectContext.resources.sortedBy { it.name }.map { it.aliases + 1 }"), names)
    assert evaluate(parse("objectContext.resources[0].aliases"), names) == ["z", "a"]


def test_the_value_of_an_expression_is_json() -> None:
    text = 'listOf(setOf(1), 1 to "a", mapOf(1 to 2L), 1..3, 0.0 / 0.0, \'c\', "💊".take(1))'
    wanted = [[1], [1, "a"], {"1": 2}, "1..3", "NaN", "c", "�"]
    assert evaluate(parse(text), EMPTY) == wanted


@pytest.mark.parametrize(
    ("literal", "text"), [(r"'\n'", r"\n"), (r"'\''", "'"), (r"'\u000a'", r"\n"), ("'\"'", r"\"")]
)
def test_a_character_may_be_an_escaped_line_break_or_quote(literal: str, text: str) -> None:
    assert evaluate(parse(f'{literal}.toString() == "{text}"'), EMPTY) is True


@pytest.mark.parametrize("literal", ["'''", "'\n'", "''", "'ab'"])
def test_single_quotes_contain_one_character(literal: str) -> None:
    assert "single quotes contain one character" in str(_error(f"{literal} == 'a'"))


@pytest.mark.parametrize(
    ("limits", "text", "message"),
    [
        (Limits(steps=50), "(1..100).all { it > 0 }", "more than 50 steps"),
        (Limits(memory=1_000_000), '"x".repeat(600000)', "more than 1 MB"),
        (Limits(seconds=0.0), "(1..10000).all { it > 0 }", "longer than 0 s"),
    ],
)
def test_each_limit_names_what_was_exceeded(limits: Limits, text: str, message: str) -> None:
    with pytest.raises(LimitError, match=message) as caught:
        evaluate(parse(text), {}, limits)
    assert caught.value.text == text
    assert caught.value.column > 0


def test_memory_limits_apply_to_each_element_separately() -> None:
    limits = Limits(memory=3_000_000)
    text = '(1..50).all { ("x".repeat(200000) + it).length > 0 }'
    assert evaluate(parse(text), {}, limits) is True


def test_an_expression_that_is_too_long_or_too_deep_is_refused_when_parsed() -> None:
    for text in ("1" * 10_001, "(" * 100 + "1" + ")" * 100, "1" + " to 1" * 600):
        with pytest.raises(ExpressionError, match=r"longer than|deep"):
            parse(text)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("listOf(1, 2) * 3 == 6", r"\* does not work on List<Int> and Int"),
        (
            "mapOf(1 to listOf(2))[1] + listOf(3) == null",
            "null is not allowed here, give a default with",
        ),
        ("for (i in 1..3) { i }", "loops are not supported; use any, all"),
        ("fun twice(x: Int) = 2", "functions cannot be declared"),
    ],
)
def test_what_kotlin_does_not_allow_or_is_not_supported_says_why(text: str, says: str) -> None:
    with pytest.raises(ExpressionError, match=says):
        parse(text)


def test_as_many_calls_in_a_row_as_the_limit_are_parsed() -> None:
    limits = Limits(depth=5)
    parse("1" + ".toLong()" * 5, limits)
    with pytest.raises(ExpressionError, match="more than 5 calls in a row"):
        parse("1" + ".toLong()" * 6, limits)


def test_the_caret_is_under_the_column_of_the_error() -> None:
    error = _error("true &&\n  objectContext.nope")
    assert caret(error) == "  objectContext.nope\n                ^"


def test_the_caret_counts_wide_characters_and_shows_control_characters() -> None:
    assert caret(_error('"日本" + x')).splitlines()[1] == " " * 9 + "^"
    shown = caret(ExpressionError("no", "a\x1b[2Jb nope", 7))
    assert "\x1b" not in shown
    assert shown.splitlines()[1] == " " * 6 + "^"


def test_the_caret_of_a_long_line_shows_the_text_around_it() -> None:
    lines = caret(_error("true && " * 20 + "nope")).splitlines()
    assert len(lines[0]) < 130
    assert lines[0][lines[1].index("^") :].startswith("nope")


def searched(pattern: str, text: str) -> Any:
    """Return what a pattern of the agent's state finds first in a text of it."""
    resource = "objectContext.resources[0]"
    names = scope({"resources": [{"name": text, "labels": [pattern]}]}, {})
    return evaluate(parse(f"Regex({resource}.labels.first()).find({resource}.name)?.value"), names)


@pytest.mark.parametrize(
    ("pattern", "text", "found"),
    [
        (r"\d+", "١2", "2"),
        (r"\w+", "é_a", "_a"),
        (r"[\w&&[^b]]+", "bab", "a"),
        (r"a.b", "a\rb a-b", "a-b"),
        (r"(?s)a.b", "a\nb", "a\nb"),
        (r"(?m)^b$", "a\nb", "b"),
        (r"a$", "a\r\n", "a"),
        (r"\Qa.b\E", "axb a.b", "a.b"),
        (r"(?<year>\d{4})-\k<year>", "2026-2026", "2026-2026"),
        (r"a++b|\h", "aa c", " "),
        (r"\p{Lu}\p{Alpha}", "éÉa", "Éa"),
        (r"(?i)DOSE\Z", "dose\n", "dose"),
        (r"[a|b~~]+", "~|a", "~|a"),
    ],
)
def test_patterns_have_the_meaning_they_have_in_java(pattern: str, text: str, found: str) -> None:
    assert searched(pattern, text) == found


@pytest.mark.parametrize(
    "pattern",
    [r"(?R)", r"(?P<a>x)", r"(?:a){e<=1}", r"\K", r"\N{DOLLAR SIGN}", r"(?x)a", "(a{200}){200}"],
)
def test_patterns_that_java_does_not_accept_are_refused(pattern: str) -> None:
    with pytest.raises(ExpressionError, match="the pattern has"):
        searched(pattern, "")


def test_a_pattern_with_runaway_backtracking_times_out() -> None:
    with pytest.raises(LimitError, match="this pattern exceeds the time limit"):
        evaluate(parse('Regex("(a|a)*$").containsMatchIn("a".repeat(5000) + "b")'), EMPTY)


def test_a_chain_of_thousands_of_operators_can_be_evaluated() -> None:
    assert evaluate(parse("+".join(["1"] * 600) + " == 600"), EMPTY) is True
    assert evaluate(parse(" && ".join(["evaluation.failureCount == 0"] * 300)), EMPTY) is True


def test_strict_mode_refuses_expressions_that_only_this_program_knows() -> None:
    for text in (
        'evaluation.transcript.any { it.role == "user" }',
        'objectContext.resources.any { it.type == "Drug" }',
    ):
        parse(text)
        with pytest.raises(ExpressionError):
            parse(text, published=True)


NEVER = (
    ('calls.all { it.failure == "timout" }', 'failure is never "timout", did you mean timeout?'),
    ('calls.none { "TIMEOUT" != it.failure }', "did you mean timeout?"),
    ('calls.any { it.failure in listOf("error", "late") }', "truncated, wrong_type, delayed or"),
    ('calls.any { setOf("timeot").contains(it.failure) }', "did you mean timeout?"),
    ('calls.any { it.failure?.equals("eror") == true }', "did you mean error?"),
    ('calls.any { when (it.failure) { "delay" -> true else -> false } }', "mean delayed?"),
    ('calls.any { val how = it.failure; how == "tmeout" }', "did you mean timeout?"),
    ('evaluation.transcript.any { it.role == "asistant" }', "did you mean assistant?"),
    ('evaluation.transcript.any { it.role.name == "agent" }', "user, assistant, system or tool"),
    ('evaluation.transcript.map { it.role }.any { it == "bot" }', "system or tool"),
    ('evaluation.job.tasks.any { it.type == "quest" }', "did you mean question?"),
)


@pytest.mark.parametrize(("text", "sentence"), NEVER)
def test_a_text_that_a_value_of_few_never_is_is_refused(text: str, sentence: str) -> None:
    with pytest.raises(ExpressionError, match=re.escape(sentence)):
        parse(text.replace("calls.", "evaluation.functionCalls."))


def test_what_a_value_of_few_can_be_is_compared_with() -> None:
    for text in (
        '(it.failure ?: "none") == "none"',
        'it.failure == "error" || it.failure == null || it.failure in listOf("timeout", null)',
        'it.failure?.contains("tim") == true',
        'it.failure.let { "late" } == "late"',
    ):
        parse(f"evaluation.functionCalls.all {{ {text} }}")
    parse('evaluation.transcript.any { it.role == "tool" || "ass" in it.role }')


@given(st.text(alphabet='ab1.?:!(){}[]"$ +-*/<>=&|,it\n', max_size=40))
def test_any_text_is_an_expression_or_an_error_with_a_column(text: str) -> None:
    try:
        evaluate(parse(text), EMPTY)
    except ExpressionError as error:
        assert 1 <= error.column <= len(text) + 1  # noqa: PT017
        assert caret(error)  # noqa: PT017


def test_only_the_threads_own_work_uses_up_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a busy machine, a thread waits for a processor, which is no reason to fail."""
    text, limits = parse("(1..3000).all { it > 0 }"), Limits(seconds=60.0)
    for clock, goes_on in (("monotonic", True), ("thread_time", False)):
        with monkeypatch.context() as patched:
            patched.setattr(time, clock, itertools.count(step=1_000.0).__next__)
            if goes_on:
                assert evaluate(text, {}, limits) is True
            else:
                with pytest.raises(LimitError, match="takes longer than 60 s"):
                    evaluate(text, {}, limits)
