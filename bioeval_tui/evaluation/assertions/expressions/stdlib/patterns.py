"""Regular expressions: Regex(…) and the functions of texts that take one."""

from __future__ import annotations

import re
from collections.abc import Callable

from bioeval_tui.errors import ExpressionError
from bioeval_tui.evaluation.assertions.expressions.limits import CELL, Budget
from bioeval_tui.evaluation.assertions.expressions.regex import Regex, compile_pattern
from bioeval_tui.evaluation.assertions.expressions.signatures import kotlin, library
from bioeval_tui.evaluation.assertions.expressions.stdlib.sequences import Function, not_negative
from bioeval_tui.evaluation.assertions.expressions.values import EnumValue, Found, OrderedSet, Sequence

_REFERENCE = re.compile(r"\\(.)|\$(\d)|\$\{(\w*)\}|\$", re.DOTALL)


@kotlin(
    "Regex(pattern: String, option: RegexOption = _): Regex",
    "Regex(pattern: String, options: Set<RegexOption>): Regex",
    "String.toRegex(option: RegexOption = _): Regex",
    "String.toRegex(options: Set<RegexOption>): Regex",
)
def regex(budget: Budget, pattern: str, option: EnumValue | OrderedSet | None = None) -> Regex:
    budget.step(100 + 10 * len(pattern))
    budget.hold(CELL * (10 + len(pattern)))
    options = option if isinstance(option, OrderedSet) else [option] if option else []
    return compile_pattern(pattern, frozenset(map(str, options)))


@kotlin("String.matches(regex: Regex): Boolean")
def matches(budget: Budget, text: str, pattern: Regex) -> bool:
    return pattern.match_entire(text, budget) is not None


@kotlin("String.contains(regex: Regex): Boolean")
def contains(budget: Budget, text: str, pattern: Regex) -> bool:
    return pattern.search(text, 0, budget) is not None


@kotlin("Regex.find(input: String, startIndex: Int = _): MatchResult?")
def find(budget: Budget, pattern: Regex, text: str, start: int = 0) -> Found | None:
    if not 0 <= start <= len(text):
        raise ExpressionError(f"startIndex {start} is out of bounds for a string of length {len(text)}")
    return pattern.search(text, start, budget)


@kotlin("String.replace(regex: Regex, replacement: String): String")
def replace(budget: Budget, text: str, pattern: Regex, replacement: str) -> str:
    return _replaced(budget, text, pattern.all(text, budget), _filler(budget, replacement))


@kotlin("String.replaceFirst(regex: Regex, replacement: String): String")
def replace_first(budget: Budget, text: str, pattern: Regex, replacement: str) -> str:
    found = pattern.search(text, 0, budget)
    return _replaced(budget, text, [found] if found else [], _filler(budget, replacement))


@kotlin("String.split(regex: Regex, limit: Int = _): List<String>")
def split(budget: Budget, text: str, pattern: Regex, limit: int = 0) -> list[str]:
    found = pattern.all(text, budget)
    if not_negative(limit, "limit"):
        found = found[: limit - 1]
    parts: list[str] = []
    start = 0
    for match in found:
        budget.hold(CELL + 2 * (match.start - start))
        parts.append(text[start : match.start])
        start = match.start + len(match.value)
    return [*parts, text[start:]]


@kotlin("String.replace(regex: Regex, transform: (MatchResult) -> CharSequence): String")
def replace_by(budget: Budget, text: str, pattern: Regex, transform: Function) -> str:
    return _replaced(budget, text, pattern.all(text, budget), transform)


def _replaced(budget: Budget, text: str, found: list[Found], written: Callable[[Found], str]) -> str:
    parts: list[str] = []
    start = 0
    for match in found:
        for part in (text[start : match.start], written(match)):
            budget.build_text(len(part))
            budget.hold(CELL)
            parts.append(part)
        start = match.start + len(match.value)
    budget.build_text(len(text))
    return "".join([*parts, text[start:]])


def _filler(budget: Budget, replacement: str) -> Callable[[Found], str]:
    """Return a function that inserts a match's groups for `$1`; a backslash makes the next character literal."""

    def filled(match: Found) -> str:
        def fill(reference: re.Match[str]) -> str:
            if reference[1] is not None:
                return reference[1]
            group = (
                int(reference[2])
                if reference[2]
                else match.names.get(reference[3] or "", len(match.group_values))
            )
            if group >= len(match.group_values):
                raise ExpressionError("the replacement has a $ without a group; write \\$ for a dollar sign")
            budget.build_text(len(match.group_values[group]))
            return match.group_values[group]

        budget.build_text(len(replacement))
        return _REFERENCE.sub(fill, replacement)

    return filled


def _of_pattern(compute: Callable[..., object]) -> Callable[..., object]:
    """Return a function of a text and a pattern as one of a pattern and a text."""
    return lambda budget, pattern, text, *rest: compute(budget, text, pattern, *rest)


library(
    {
        "Regex.matches(input: String): Boolean": _of_pattern(matches),
        "Regex.containsMatchIn(input: String): Boolean": _of_pattern(contains),
        "Regex.findAll(input: String): Sequence<MatchResult>": lambda budget, pattern, text: Sequence(
            lambda: pattern.all(text, budget)
        ),
        "Regex.matchEntire(input: String): MatchResult?": lambda budget, pattern, text: pattern.match_entire(
            text, budget
        ),
        "Regex.replace(input: String, replacement: String): String": _of_pattern(replace),
        "Regex.replace(input: String, transform: (MatchResult) -> CharSequence): String": _of_pattern(
            replace_by
        ),
        "Regex.split(input: String, limit: Int = _): List<String>": _of_pattern(split),
        "Regex.pattern: String": lambda _, pattern: pattern.pattern,
        "MatchResult.value: String": lambda _, found: found.value,
        "MatchResult.groupValues: List<String>": lambda _, found: found.group_values,
        "MatchResult.destructured: List<String>": lambda _, found: found.group_values[1:],
        "MatchResult.range: IntRange": lambda _, found: range(found.start, found.start + len(found.value)),
    }
)
