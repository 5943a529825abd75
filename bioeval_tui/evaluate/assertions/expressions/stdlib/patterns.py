"""Regular expressions: Regex(…) and the functions of texts that take one."""

from __future__ import annotations

import re

from bioeval_tui.errors import ExpressionError
from bioeval_tui.evaluate.assertions.expressions.limits import CELL, Budget
from bioeval_tui.evaluate.assertions.expressions.regex import Regex
from bioeval_tui.evaluate.assertions.expressions.regex_compiler import compile_pattern
from bioeval_tui.evaluate.assertions.expressions.signatures import kotlin
from bioeval_tui.evaluate.assertions.expressions.stdlib.sequences import not_negative
from bioeval_tui.evaluate.assertions.expressions.values import Found, RegexOption, Value

_REFERENCE = re.compile(r"\\(.)|\$(\d)|\$\{\w*\}|\$", re.DOTALL)


@kotlin(
    "Regex(pattern: String, option: RegexOption = _): Regex", "String.toRegex(option: RegexOption = _): Regex"
)
def regex(budget: Budget, pattern: str, option: RegexOption | None = None) -> Regex:
    budget.step(1 + len(pattern))
    compiled = compile_pattern(pattern, frozenset([option.name] if option else []))
    budget.step(len(compiled.program))
    budget.hold(2 * CELL * len(compiled.program))
    return compiled


@kotlin("String.matches(regex: Regex): Boolean")
def matches(budget: Budget, text: str, pattern: Regex) -> bool:
    return pattern.match_at(text, 0, budget, full=True) is not None


@kotlin("Regex.matches(input: String): Boolean")
def matched_by(budget: Budget, pattern: Regex, text: str) -> bool:
    return matches(budget, text, pattern)


@kotlin("String.contains(regex: Regex): Boolean")
def contains(budget: Budget, text: str, pattern: Regex) -> bool:
    return pattern.search(text, 0, budget) is not None


@kotlin("Regex.containsMatchIn(input: String): Boolean")
def contains_match_in(budget: Budget, pattern: Regex, text: str) -> bool:
    return contains(budget, text, pattern)


@kotlin("Regex.find(input: String, startIndex: Int = _): MatchResult?")
def find(budget: Budget, pattern: Regex, text: str, start: int = 0) -> Found | None:
    if not 0 <= start <= len(text):
        raise ExpressionError(f"startIndex {start} does not fit a text of length {len(text)}")
    return pattern.search(text, start, budget)


@kotlin("Regex.findAll(input: String): List")
def find_all(budget: Budget, pattern: Regex, text: str) -> list[Found]:
    return pattern.all(text, budget)


@kotlin("Regex.matchEntire(input: String): MatchResult?")
def match_entire(budget: Budget, pattern: Regex, text: str) -> Found | None:
    return pattern.match_at(text, 0, budget, full=True)


@kotlin("String.replace(regex: Regex, replacement: String): String")
def replace(budget: Budget, text: str, pattern: Regex, replacement: str) -> str:
    return _replaced(budget, text, pattern.all(text, budget), replacement)


@kotlin("Regex.replace(input: String, replacement: String): String")
def replace_in(budget: Budget, pattern: Regex, text: str, replacement: str) -> str:
    return replace(budget, text, pattern, replacement)


@kotlin("String.replaceFirst(regex: Regex, replacement: String): String")
def replace_first(budget: Budget, text: str, pattern: Regex, replacement: str) -> str:
    found = pattern.search(text, 0, budget)
    return _replaced(budget, text, [found] if found else [], replacement)


@kotlin("String.split(regex: Regex, limit: Int = _): List")
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


@kotlin("Regex.split(input: String, limit: Int = _): List")
def split_by(budget: Budget, pattern: Regex, text: str, limit: int = 0) -> list[str]:
    return split(budget, text, pattern, limit)


@kotlin("Regex.pattern: String")
def pattern_of(_: Budget, pattern: Regex) -> str:
    return pattern.pattern


@kotlin("MatchResult.value: String")
def value(_: Budget, found: Found) -> str:
    return found.value


@kotlin("MatchResult.groupValues: List")
def group_values(_: Budget, found: Found) -> list[str]:
    return found.group_values


@kotlin("MatchResult.range: Range")
def range_of(_: Budget, found: Found) -> range:
    return range(found.start, found.start + len(found.value))


def _replaced(budget: Budget, text: str, found: list[Found], replacement: str) -> str:
    parts: list[str] = []
    start = 0
    for match in found:
        for part in (text[start : match.start], _filled(budget, replacement, match)):
            budget.build_text(len(part))
            budget.hold(CELL)
            parts.append(part)
        start = match.start + len(match.value)
    budget.build_text(len(text))
    return "".join([*parts, text[start:]])


def _filled(budget: Budget, replacement: str, match: Found) -> str:
    """Put the match's groups where the replacement says `$1`; a backslash makes the next one literal."""

    def fill(reference: re.Match[str]) -> Value:
        if reference[1] is not None:
            return reference[1]
        if reference[2] is None or int(reference[2]) >= len(match.group_values):
            raise ExpressionError(
                "the replacement has a $ that names no group; write \\$ for the sign itself"
            )
        group = match.group_values[int(reference[2])]
        budget.build_text(len(group))
        return group

    budget.build_text(len(replacement))
    return _REFERENCE.sub(fill, replacement)
