"""The text of a pattern → a program for `regex.Regex`."""

from __future__ import annotations

from bioeval_tui.errors import ExpressionError
from bioeval_tui.evaluate.assertions.expressions.regex import CLASSES, Instruction, Regex, Test

MAX_PROGRAM = 2_000

_CONTROL = {"t": "\t", "n": "\n", "r": "\r", "f": "\f", "e": "\x1b", "a": "\x07", "0": "\0"}
_ASSERTIONS = {"b": "word", "B": "not word", "A": "start", "z": "end", "Z": "end"}


def compile_pattern(pattern: str, options: frozenset[str] = frozenset()) -> Regex:
    """Return `pattern` compiled; `options` are names of Kotlin's RegexOption.

    Raises:
        ExpressionError: the pattern is wrong, too big, or uses what is not supported.
    """
    if len(pattern) > 1_000:
        raise ExpressionError("the pattern is longer than 1,000 characters")
    compiler = _Compiler(pattern, options)
    program = [*compiler.alternatives(0), ("match", None, None)]
    if compiler.at < len(pattern):
        raise compiler.error("an unmatched )")
    return Regex(pattern, tuple(_absolute(program)), compiler.groups)


class _Compiler:
    """Recursive descent; jumps are relative until the whole program stands."""

    def __init__(self, pattern: str, options: frozenset[str]) -> None:
        self.pattern = pattern
        self.at = 0
        self.groups = 0
        self.flags = {
            flag
            for flag, name in (("i", "IGNORE_CASE"), ("m", "MULTILINE"), ("s", "DOT_MATCHES_ALL"))
            if name in options
        }
        if unknown := options - {"IGNORE_CASE", "MULTILINE", "DOT_MATCHES_ALL"}:
            raise ExpressionError(f"RegexOption.{min(unknown)} is not supported")

    def error(self, what: str) -> ExpressionError:
        return ExpressionError(
            f"the pattern has {what} at its character {min(self.at, len(self.pattern)) + 1}"
        )

    def peek(self) -> str:
        return self.pattern[self.at : self.at + 1]

    def take(self) -> str:
        char = self.peek()
        self.at += 1
        return char

    def alternatives(self, depth: int) -> list[Instruction]:
        if depth > 20:
            raise self.error("too many groups inside groups")
        program = self.sequence(depth)
        while self.peek() == "|":
            self.take()
            other = self.sequence(depth)
            program = [
                ("split", 1, len(program) + 2),
                *program,
                ("jump", len(other) + 1, None),
                *other,
            ]
            self.check_size(program)
        return program

    def sequence(self, depth: int) -> list[Instruction]:
        program: list[Instruction] = []
        while self.peek() and self.peek() not in "|)":
            program += self.repeated(self.atom(depth))
            self.check_size(program)
        return program

    def check_size(self, program: list[Instruction]) -> None:
        if len(program) > MAX_PROGRAM:
            raise self.error("too much repetition")

    def repeated(self, piece: list[Instruction]) -> list[Instruction]:
        char = self.peek()
        if char and char in "*+?":
            self.take()
            least, most = {"*": (0, None), "+": (1, None), "?": (0, 1)}[char]
        elif char == "{":
            least, most = self.counts()
        else:
            return piece
        lazy = self.peek() == "?"
        if lazy:
            self.take()
        elif self.peek() == "+":
            raise self.error("a possessive quantifier, which is not supported,")
        elif self.peek() and self.peek() in "*{":
            raise self.error("two quantifiers in a row")
        if len(piece) * max(least, most or 0) > MAX_PROGRAM:
            raise self.error("too much repetition")
        program = piece * least
        if most is None:
            return program + _loop(piece, lazy)
        optional: list[Instruction] = []
        for _ in range(most - least):
            optional = [_split(1, len(piece) + len(optional) + 1, lazy), *piece, *optional]
        return program + optional

    def counts(self) -> tuple[int, int | None]:
        self.take()
        end = self.pattern.find("}", self.at)
        before, comma, after = self.pattern[self.at : max(end, self.at)].partition(",")
        if (
            end < 0
            or not before.isdecimal()
            or not (after.isdecimal() or not after)
            or len(before + after) > 8
        ):
            raise self.error("a { that does not begin a count such as {2,3}")
        self.at = end + 1
        least = int(before)
        most = int(after) if after else (None if comma else least)
        if most is not None and most < least:
            raise self.error("a count whose end is below its start")
        return least, most

    def atom(self, depth: int) -> list[Instruction]:
        char = self.take()
        if char == "(":
            return self.group(depth)
        if char == "[":
            return [("char", self.character_class(), None)]
        if char == ".":
            return [("char", (lambda _: True) if "s" in self.flags else (lambda c: c not in "\n\r"), None)]
        if char in "^$":
            kind = {"^": "start", "$": "end"}[char]
            return [("assert", kind + (" of line" if "m" in self.flags else ""), None)]
        if char in "*+?":
            self.at -= 1
            raise self.error(f"a {char} with nothing to repeat")
        if char == "\\":
            if (letter := self.peek()) in _ASSERTIONS and letter:
                self.take()
                return [("assert", _ASSERTIONS[letter], None)]
            return [("char", self.escaped(), None)]
        return [("char", self.literal(char), None)]

    def literal(self, char: str) -> Test:
        if "i" in self.flags:
            both = {char.lower(), char.upper()}
            return lambda other: other in both
        return lambda other: other == char

    def escaped(self) -> Test:
        letter = self.take()
        if letter.lower() in CLASSES and letter:
            test = CLASSES[letter.lower()]
            return test if letter.islower() else lambda char: not test(char)
        return self.literal(self.escaped_character(letter))

    def escaped_character(self, letter: str) -> str:
        if not letter:
            raise self.error("a \\ with nothing after it")
        if letter in _CONTROL:
            return _CONTROL[letter]
        if letter in "ux":
            size = 4 if letter == "u" else 2
            digits = self.pattern[self.at : self.at + size]
            if len(digits) < size or any(digit not in "0123456789abcdefABCDEF" for digit in digits):
                raise self.error(f"a \\{letter} without its {size} digits")
            self.at += size
            return chr(int(digits, 16))
        if letter.isdecimal():
            raise self.error("a back-reference, which is not supported,")
        if letter.isalpha():
            raise self.error(f"\\{letter}, which is not supported,")
        return letter

    def group(self, depth: int) -> list[Instruction]:
        flags = set(self.flags)
        slot = 0
        if self.peek() == "?":
            self.take()
            kind = self.take()
            if kind in "ims" and kind:
                return self.inline_flags(kind, depth)
            if kind == "<" and self.peek() not in ("=", "!", ""):
                self.at = self.pattern.find(">", self.at) + 1 or len(self.pattern)
                slot = self.new_group()
            elif kind != ":":
                raise self.error("look-around or another group of a kind that is not supported")
        else:
            slot = self.new_group()
        inner = self.alternatives(depth + 1)
        self.flags = flags
        self.close()
        return [("save", 2 * slot, None), *inner, ("save", 2 * slot + 1, None)] if slot else inner

    def inline_flags(self, letters: str, depth: int) -> list[Instruction]:
        before = set(self.flags)
        while (char := self.take()) and char in "ims":
            letters += char
        self.flags |= set(letters)
        if char == ")":
            return []
        if char != ":":
            raise self.error("flags of a kind that is not supported")
        inner = self.alternatives(depth + 1)
        self.flags = before
        self.close()
        return inner

    def new_group(self) -> int:
        self.groups += 1
        if self.groups > 20:
            raise self.error("more than 20 groups")
        return self.groups

    def close(self) -> None:
        if self.take() != ")":
            raise self.error("a ( that is not closed")

    def character_class(self) -> Test:
        negated = self.peek() == "^"
        self.at += negated
        tests: list[Test] = []
        while self.peek() != "]":
            if not self.peek():
                raise self.error("a [ that is not closed")
            if self.peek() in "[&" and (self.peek() == "[" or self.pattern.startswith("&&", self.at)):
                raise self.error("a set inside a set, which is not supported,")
            tests.append(self.class_item())
        self.take()
        if not tests:
            raise self.error("an empty set []")
        return lambda char: any(test(char) for test in tests) != negated

    def class_item(self) -> Test:
        char = self.take()
        if char == "\\":
            letter = self.take()
            if letter.lower() in CLASSES and letter:
                test = CLASSES[letter.lower()]
                return test if letter.islower() else lambda other: not test(other)
            char = self.escaped_character(letter)
        if self.peek() != "-" or self.pattern[self.at + 1 : self.at + 2] in ("]", ""):
            return self.literal(char)
        self.take()
        end = self.take()
        if end == "\\":
            end = self.escaped_character(self.take())
        if end < char:
            raise self.error("a range whose end is before its start")
        if "i" in self.flags:
            return lambda other: char <= other.lower() <= end or char <= other.upper() <= end
        return lambda other: char <= other <= end


def _split(first: int, second: int, lazy: bool) -> Instruction:
    return ("split", second, first) if lazy else ("split", first, second)


def _loop(piece: list[Instruction], lazy: bool) -> list[Instruction]:
    return [_split(1, len(piece) + 2, lazy), *piece, ("jump", -len(piece) - 1, None)]


def _absolute(program: list[Instruction]) -> list[Instruction]:
    result: list[Instruction] = []
    for at, (operation, first, second) in enumerate(program):
        if operation in ("split", "jump"):
            first = at + first  # type: ignore[operator]
            second = at + second if operation == "split" else None  # type: ignore[operator]
        result.append((operation, first, second))
    return result
