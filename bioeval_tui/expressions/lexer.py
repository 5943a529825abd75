"""Text → tokens; string templates have their own tokens."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from bioeval_tui.base.errors import ExpressionError
from bioeval_tui.expressions.values import INT_MAX, LONG_MAX, Char, Long, encode_units

KEYWORDS_NOT_SUPPORTED = {
    **dict.fromkeys(
        ("break", "continue", "do", "for", "while"),
        "loops are not supported; use any, all, filter, map and their like",
    ),
    **dict.fromkeys(("class", "interface", "object"), "classes cannot be declared"),
    "fun": "functions cannot be declared; write a lambda where it is needed",
    "import": "imports are not possible; functions are called by their plain names",
    "package": "packages cannot be declared",
    "super": "`super` is not supported",
    "throw": "exceptions are not supported; make the condition false instead",
    "try": "exceptions are not supported; use toIntOrNull, firstOrNull, as? and their like",
    "typealias": "types cannot be declared",
    "typeof": "`typeof` is not supported; write `is`",
    "var": "values cannot change; write val",
}
"""Words that start unsupported constructs, with what to write instead."""

RESERVED = frozenset((*KEYWORDS_NOT_SUPPORTED, "as", "is", "in", "else", "when", "val", "return"))

_SPACE = re.compile(r"(?:[ \t\r\f]|//[^\n]*|/\*(?:[^*]|\*(?!/))*\*/)+")
_NAME = re.compile(r"[^\W\d]\w*")
_NUMBER = re.compile(
    r"0[xX](?P<hex>[0-9a-fA-F][0-9a-fA-F_]*)|0[bB](?P<binary>[01][01_]*)"
    r"|(?P<double>(?:\d[\d_]*)?\.\d[\d_]*(?:[eE][+-]?\d+)?|\d[\d_]*[eE][+-]?\d+)"
    r"|(?P<whole>\d[\d_]*)"
)
_BASES = {"hex": 16, "binary": 2, "whole": 10}
_SYMBOLS = re.compile(
    r"===|!==|\.\.<|!in\b|!is\b|&&|\|\||==|!=|<=|>=|\?:|\?\.|!!|\.\.|->|::"
    r"|[-+*/%<>!().,\[\]{}:;=?@&|~^]"
)
_PLAIN = re.compile(r'[^"\\$\n]+')
_RAW_PLAIN = re.compile(r'[^"$]+')
_ESCAPES = {"t": "\t", "b": "\b", "n": "\n", "r": "\r", "'": "'", '"': '"', "\\": "\\", "$": "$"}


@dataclass(frozen=True, slots=True)
class Token:
    """`kind` is `name`, `literal`, `template`, `symbol` or `end`.

    `value` is the name, the literal's value, the symbol, or a template's parts: texts and lists of
    tokens. `first` is true if the token is the first on its line.
    """

    kind: str
    value: Any
    column: int
    first: bool = False
    quoted: bool = False


def tokens(text: str) -> list[Token]:
    """Return the tokens of `text`, an `end` token last.

    Raises:
        ExpressionError: with the column of the character that cannot be read.
    """
    return _Lexer(text).run(0, inside_template=False)[0]


class _Lexer:
    def __init__(self, text: str) -> None:
        self.text = text
        self.templates = 0

    def run(self, start: int, *, inside_template: bool) -> tuple[list[Token], int]:
        """Read from `start` to the end, or to the `}` that closes a template; return what comes
        after.
        """
        tokens: list[Token] = []
        place, braces, first = start, 0, False
        while place < len(self.text):
            char = self.text[place]
            if char == "\n":
                first, place = True, place + 1
                continue
            if space := _SPACE.match(self.text, place):
                first = first or "\n" in space.group()
                place = space.end()
                continue
            if self.text.startswith("/*", place):
                raise self.error("this comment is not closed with */", place)
            if inside_template and char == "}" and braces == 0:
                break
            braces += (char == "{") - (char == "}")
            token, place = self.token(place, first)
            tokens.append(token)
            first = False
        else:
            if inside_template:
                raise self.error("this template is not closed with }", start - 2)
        tokens.append(Token("end", "", place + 1, first))
        return tokens, place + 1

    def token(self, place: int, first: bool) -> tuple[Token, int]:
        char = self.text[place]
        column = place + 1
        if char == '"':
            return self.string(place, first)
        if char == "'":
            return self.character(place, first)
        if char == "`":
            end = self.text.find("`", column)
            if end <= column:
                raise self.error("this quoted name is not closed", place)
            return Token("name", self.text[column:end], column, first, quoted=True), end + 1
        if number := _NUMBER.match(self.text, place):
            value, end = self.number(number)
            return Token("literal", value, column, first), end
        if name := _NAME.match(self.text, place):
            return Token("name", name.group(), column, first), name.end()
        if symbol := _SYMBOLS.match(self.text, place):
            return Token("symbol", symbol.group(), column, first), symbol.end()
        raise self.error(f"unexpected character {char!r}", place)

    def number(self, match: re.Match[str]) -> tuple[int | float, int]:
        end = match.end()
        suffix = _NAME.match(self.text, end)
        letters = suffix.group() if suffix else ""
        if match["double"]:
            if letters:
                raise self.error(
                    f"unsupported number suffix {letters!r}; write a Double such as 1.5", end
                )
            double = float(match["double"].replace("_", ""))
            if double == float("inf"):
                raise self.error("this number is out of range", match.start())
            return double, end
        if letters not in ("", "L"):
            raise self.error(f"unsupported number suffix {letters!r}; write 1, 1L or 1.0", end)
        group = next(name for name in _BASES if match[name])
        digits = match[group].replace("_", "").lstrip("0") or "0"
        if len(digits) > 64:
            raise self.error("this number is out of range", match.start())
        value = int(digits, _BASES[group])
        if value > LONG_MAX:
            raise self.error("this number is out of range", match.start())
        if letters or value > INT_MAX:
            value = Long(value)
        return value, end + len(letters)

    def character(self, place: int, first: bool) -> tuple[Token, int]:
        inside = place + 1
        written = self.text[inside : inside + 1]
        if written == "\\":
            value, end = self.escape(inside)
        else:
            value, end = encode_units(written), inside + 1
        # A quote or a line break is a character only if it is escaped.
        is_one = len(value) == 1 and written not in ("'", "\n")
        if not is_one or not self.text.startswith("'", end):
            raise self.error(
                'single quotes contain one character; write strings in double quotes "…"', place
            )
        return Token("literal", Char(value), place + 1, first), end + 1

    def escape(self, place: int) -> tuple[str, int]:
        letter = self.text[place + 1 : place + 2]
        if letter == "u":
            digits = self.text[place + 2 : place + 6]
            if not re.fullmatch(r"[0-9a-fA-F]{4}", digits):
                raise self.error("\\u needs four hexadecimal digits", place)
            return chr(int(digits, 16)), place + 6
        if letter not in _ESCAPES or not letter:
            raise self.error(f"unknown escape \\{letter}", place)
        return _ESCAPES[letter], place + 2

    def string(self, place: int, first: bool) -> tuple[Token, int]:
        raw = self.text.startswith('"""', place)
        quote = '"""' if raw else '"'
        parts: list[str | list[Token]] = []
        at = place + len(quote)
        while True:
            if at >= len(self.text) or (not raw and self.text[at] == "\n"):
                raise self.error("this text is not closed with " + quote, place)
            if self.text.startswith(quote, at):
                break
            part, at = self.part(at, raw)
            if isinstance(part, str) and parts and isinstance(parts[-1], str):
                parts[-1] += part
            else:
                parts.append(part)
        at += len(quote)
        while raw and self.text.startswith('"', at):  # """a"""" ends in a quote of its own
            parts.append('"')
            at += 1
        if all(isinstance(part, str) for part in parts):
            return Token("literal", "".join(map(str, parts)), place + 1, first), at
        return Token("template", parts, place + 1, first), at

    def part(self, at: int, raw: bool) -> tuple[str | list[Token], int]:
        char = self.text[at]
        if char == "\\" and not raw:
            return self.escape(at)
        if char == "$" and self.text.startswith("{", at + 1):
            self.templates += 1
            if self.templates > 8:
                raise self.error("templates are nested too deeply", at)
            inner = self.run(at + 2, inside_template=True)
            self.templates -= 1
            return inner
        if char == "$" and (name := _NAME.match(self.text, at + 1)):
            column = at + 2
            return [
                Token("name", name.group(), column),
                Token("end", "", name.end() + 1),
            ], name.end()
        if char in '$"':
            return char, at + 1
        match = (_RAW_PLAIN if raw else _PLAIN).match(self.text, at)
        assert match is not None
        return encode_units(match.group()), match.end()

    def error(self, message: str, place: int) -> ExpressionError:
        return ExpressionError(message, self.text, place + 1)
