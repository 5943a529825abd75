"""Java's regular expressions, matched by the `regex` library with a time limit.

What both write differently is translated: `\\d`, `\\w` and `\\s` are ASCII, `.` and `$` know all of
Java's line ends, `\\Q…\\E`, `\\h`, `\\Z`, `\\p{Alpha}`. What only `regex` knows is refused, as Java
would.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import regex

from bioeval_tui.base.errors import ExpressionError
from bioeval_tui.expressions.values import (
    CELL,
    Budget,
    LimitError,
    RegexMatch,
    decode_units,
    encode_units,
)

_LINE_ENDS = r"\n\r\x85\u2028\u2029"
_BLANK = r" \t\xA0\u1680\u180e\u2000-\u200a\u202f\u205f\u3000"
_CLASSES = {
    "d": "0-9",
    "w": "a-zA-Z_0-9",
    "s": r" \t\n\x0B\f\r",
    "h": _BLANK,
    "v": r"\n\x0B\f\r\x85\u2028\u2029",
}
_END = rf"(?=(?:\r\n|[{_LINE_ENDS}])?\Z)"
_OUTSIDE = {"b": r"\b", "B": r"\B", "A": r"\A", "z": r"\Z", "Z": _END, "R": r"\R"}
_CONTROL = {"t": r"\t", "n": r"\n", "r": r"\r", "f": r"\f", "e": r"\x1b", "a": r"\x07"}
_POSIX = {
    "Lower": "a-z",
    "Upper": "A-Z",
    "ASCII": r"\x00-\x7f",
    "Alpha": "a-zA-Z",
    "Digit": "0-9",
    "Alnum": "a-zA-Z0-9",
    "Punct": r"!-/:-@\[-`{-~",
    "Graph": "!-~",
    "Print": r"\x20-~",
    "Blank": r" \t",
    "Cntrl": r"\x00-\x1f\x7f",
    "XDigit": "0-9a-fA-F",
    "Space": r" \t\n\x0B\f\r",
}
_PROPERTY = re.compile(r"\{\^?[\w=]{1,40}\}|[A-Z]")
_GROUP = re.compile(
    r"\?(?:[:=!>]|<[=!]|<(?P<name>[a-zA-Z][a-zA-Z0-9]*)>"
    r"|(?P<flags>[a-z]*(?:-[a-z]+)?)(?P<end>[:)]))"
)
_QUANTIFIER = re.compile(r"\{\d{1,5}(?:,\d{0,5})?\}")
_OPTIONS = {
    "IGNORE_CASE": regex.IGNORECASE,
    "MULTILINE": regex.MULTILINE,
    "DOT_MATCHES_ALL": regex.DOTALL,
}
_MOST_GROUPS = 50
_MOST_REPEATED = 20_000


@dataclass(frozen=True, slots=True, eq=False)
class Regex:
    """A compiled pattern."""

    pattern: str
    compiled: Any

    def match_entire(self, text: str, budget: Budget) -> RegexMatch | None:
        """Return the match of the whole text, or None."""
        return next(self._found("fullmatch", text, 0, budget), None)

    def search(self, text: str, start: int, budget: Budget) -> RegexMatch | None:
        """Return the first match at or after `start`, or None."""
        return next(self._found("search", text, start, budget), None)

    def all(self, text: str, budget: Budget) -> list[RegexMatch]:
        """Return all matches that do not overlap."""
        return list(self._found("finditer", text, 0, budget))

    def _found(self, how: str, text: str, start: int, budget: Budget) -> Iterator[RegexMatch]:
        budget.read_text(len(text))
        whole = decode_units(text)
        places = {"pos": len(decode_units(text[:start]))} if how != "fullmatch" else {}
        method = {
            "fullmatch": self.compiled.fullmatch,
            "search": self.compiled.search,
            "finditer": self.compiled.finditer,
        }[how]
        try:
            matches = method(whole, timeout=budget.seconds_left(), concurrent=True, **places)
            if how != "finditer":  # one match, or None
                matches = filter(None, [matches])
            for match in matches:
                yield _make_match(match, whole, budget)
        except TimeoutError:
            raise LimitError(
                "this pattern exceeds the time limit of an expression; write one that backtracks"
                " less"
            ) from None


def _make_match(match: Any, text: str, budget: Budget) -> RegexMatch:
    groups = [encode_units(group or "") for group in (match.group(), *match.groups())]
    budget.hold(2 * CELL + sum(CELL + 2 * len(group) for group in groups))
    budget.step(1 + len(groups))
    return RegexMatch(
        groups[0], groups, len(encode_units(text[: match.start()])), dict(match.re.groupindex)
    )


def _class(content: str, negated: bool, inside: bool) -> str:
    if negated:
        return f"[^{content}]"
    if inside:
        return content
    return f"[{content}]"


def compile_pattern(pattern: str, options: frozenset[str]) -> Regex:
    """Return `pattern` compiled; `options` are names of Kotlin's RegexOption.

    Raises:
        ExpressionError: the pattern is wrong, too big, or uses what is not supported.
    """
    return Regex(pattern, _compiled(pattern, options))  # a new one: in Kotlin, no two are equal


# an expression is evaluated after each turn, and by `check` on many made-up states
@lru_cache(maxsize=256)
def _compiled(pattern: str, options: frozenset[str]) -> Any:
    if len(pattern) > 1_000:
        raise ExpressionError("the pattern is longer than 1,000 characters")
    if unknown := options - _OPTIONS.keys():
        raise ExpressionError(f"RegexOption.{min(unknown)} is not supported")
    flags = regex.V1 | regex.UNICODE
    for name in options:
        flags |= _OPTIONS[name]
    translated = _Translator(
        decode_units(pattern), "DOT_MATCHES_ALL" in options, "MULTILINE" in options
    ).run()
    try:
        return regex.compile(translated, flags, cache_pattern=False)
    except (regex.error, RecursionError, OverflowError) as error:
        reason = getattr(error, "msg", "") or "it is nested too deeply"
        raise ExpressionError(f"invalid pattern: {reason}") from None


class _Translator:
    def __init__(self, pattern: str, dot_all: bool, lines: bool) -> None:
        self.pattern = pattern
        self.at = 0
        self.flags = [(dot_all, lines)]
        """Of each open group: whether `.` matches all, and `$` at every line's end."""
        self.sizes = [0]
        """Of each open group, with its repetitions written out."""
        self.last = 1

    def error(self, what: str) -> ExpressionError:
        return ExpressionError(
            f"the pattern has {what} at its character {min(self.at, len(self.pattern)) + 1}"
        )

    def run(self) -> str:
        parts: list[str] = []
        while self.at < len(self.pattern):
            parts.append(self.piece())
        if len(self.flags) > 1:
            raise self.error("a ( that is not closed")
        return "".join(parts)

    def piece(self) -> str:
        char = self.pattern[self.at]
        if char not in "(){*+?|":
            self.last = 1
            self.sizes[-1] += 1
        if char == "\\":
            return self.escaped(inside=False)
        if char == "[":
            return self.character_set()
        if char == "(":
            return self.group()
        self.at += 1
        if char == ")":
            if len(self.flags) == 1:
                raise self.error("an unmatched )")
            self.flags.pop()
            self.last = self.sizes.pop()
            self.sizes[-1] += self.last
        if char == ".":
            if self.flags[-1][0]:
                return "."
            return f"[^{_LINE_ENDS}]"
        if char == "$":
            if self.flags[-1][1]:
                return rf"(?=[{_LINE_ENDS}]|\Z)"
            return _END
        if char == "{":
            return self.counted()
        return char

    def counted(self) -> str:
        self.at -= 1
        match = _QUANTIFIER.match(self.pattern, self.at)
        if match is None:
            raise self.error("a { that does not start a count such as {2,3}")
        self.sizes[-1] += self.last * max(int(count) for count in re.findall(r"\d+", match.group()))
        if self.sizes[-1] > _MOST_REPEATED:
            raise self.error("too much repetition")
        self.at = match.end()
        return match.group()

    def group(self) -> str:
        if len(self.flags) > _MOST_GROUPS:
            raise self.error("groups that are nested too deeply")
        if not self.pattern.startswith("(?", self.at):
            self.at += 1
            self.flags.append(self.flags[-1])
            self.sizes.append(0)
            return "("
        match = _GROUP.match(self.pattern, self.at + 1)
        if match is None:
            raise self.error("an unsupported kind of group")
        self.at = match.end()
        on, _, off = (match["flags"] or "").partition("-")
        if set(on + off) - set("ims"):
            raise self.error(f"the flags {on + off}; i, m and s are supported,")
        dot_all, lines = self.flags[-1]
        now = (("s" in on or dot_all) and "s" not in off, ("m" in on or lines) and "m" not in off)
        if match["end"] == ")":
            self.flags[-1] = now
        else:
            self.flags.append(now)
            self.sizes.append(0)
        if on or off or match["end"] != ")":
            return "(" + match.group()
        return ""

    def character_set(self) -> str:
        parts = ["["]
        self.at += 1
        if self.pattern.startswith("^", self.at):
            parts.append("^")
            self.at += 1
        first = True
        while not self.pattern.startswith("]", self.at) or first:
            if self.at >= len(self.pattern):
                raise self.error("a [ that is not closed")
            char = self.pattern[self.at]
            if char == "]":
                raise self.error("an empty set []")
            first = False
            if char == "\\":
                parts.append(self.escaped(inside=True))
            elif char == "[":
                parts.append(self.character_set())
            elif self.pattern.startswith("&&", self.at):
                parts.append("&&")
                self.at += 2
            else:
                self.at += 1
                if char in "|~&#":
                    char = "\\" + char
                parts.append(char)
        self.at += 1
        return "".join([*parts, "]"])

    def escaped(self, *, inside: bool) -> str:
        letter = self.pattern[self.at + 1 : self.at + 2]
        if not letter:
            raise self.error("a \\ with nothing after it")
        start, self.at = self.at, self.at + 2
        if letter.lower() in _CLASSES:
            return _class(_CLASSES[letter.lower()], letter.isupper(), inside)
        if letter in _CONTROL:
            return _CONTROL[letter]
        if letter == "Q":
            text, mark, _ = self.pattern[self.at :].partition("\\E")
            self.at += len(text + mark)
            return str(regex.escape(text))
        if letter in "pP":
            return self.property(letter == "P", inside)
        if letter in "ux":
            return self.coded(letter)
        if not inside and letter in _OUTSIDE:
            return _OUTSIDE[letter]
        if not inside and letter.isdecimal() and letter != "0":
            return "\\" + letter
        if not inside and letter == "k" and (name := re.match(r"<(\w+)>", self.pattern[self.at :])):
            self.at += name.end()
            return f"(?P={name[1]})"
        if letter.isalnum():
            self.at = start
            raise self.error(f"\\{letter}, which is not supported,")
        return str(regex.escape(letter))

    def property(self, negated: bool, inside: bool) -> str:
        match = _PROPERTY.match(self.pattern, self.at)
        if match is None:
            raise self.error("a \\p without its {name}")
        self.at = match.end()
        name = match.group().strip("{}")
        if name in _POSIX:
            return _class(_POSIX[name], negated, inside)
        if name.startswith("java"):
            raise self.error(f"\\p{{{name}}}, which is not supported,")
        return f"\\{'P' if negated else 'p'}{{{name.removeprefix('Is')}}}"

    def coded(self, letter: str) -> str:
        match = re.compile(
            r"[0-9a-fA-F]{4}" if letter == "u" else r"[0-9a-fA-F]{2}|\{[0-9a-fA-F]{1,6}\}"
        ).match(self.pattern, self.at)
        if match is None:
            raise self.error(f"a \\{letter} without its digits")
        self.at = match.end()
        return str(regex.escape(chr(min(int(match.group().strip("{}"), 16), 0x10FFFF))))
