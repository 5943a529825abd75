"""Texts and regular expressions."""

from __future__ import annotations

import re
from collections.abc import Callable
from decimal import ROUND_HALF_UP, Context, Decimal

from bioeval_tui.base.errors import ExpressionError
from bioeval_tui.expressions.regex import Regex, compile_pattern
from bioeval_tui.expressions.signatures import kotlin, library
from bioeval_tui.expressions.stdlib.iteration import Function, not_negative
from bioeval_tui.expressions.text_forms import to_text
from bioeval_tui.expressions.values import (
    CELL,
    Budget,
    Char,
    EnumValue,
    Long,
    OrderedSet,
    Pair,
    RegexMatch,
    Sequence,
    Value,
    type_name,
)

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
    options = option if isinstance(option, OrderedSet) else filter(None, [option])
    return compile_pattern(pattern, frozenset(map(str, options)))


@kotlin("String.matches(regex: Regex): Boolean")
def matches(budget: Budget, text: str, pattern: Regex) -> bool:
    return pattern.match_entire(text, budget) is not None


@kotlin("String.contains(regex: Regex): Boolean")
def contains_match(budget: Budget, text: str, pattern: Regex) -> bool:
    return pattern.search(text, 0, budget) is not None


@kotlin("Regex.find(input: String, startIndex: Int = _): MatchResult?")
def find(budget: Budget, pattern: Regex, text: str, start: int = 0) -> RegexMatch | None:
    if not 0 <= start <= len(text):
        raise ExpressionError(
            f"startIndex {start} is out of bounds for a string of length {len(text)}"
        )
    return pattern.search(text, start, budget)


@kotlin("String.replace(regex: Regex, replacement: String): String")
def replace_matches(budget: Budget, text: str, pattern: Regex, replacement: str) -> str:
    return _replaced(budget, text, pattern.all(text, budget), _filler(budget, replacement))


@kotlin("String.replaceFirst(regex: Regex, replacement: String): String")
def replace_first_match(budget: Budget, text: str, pattern: Regex, replacement: str) -> str:
    match = pattern.search(text, 0, budget)
    return _replaced(budget, text, [match] if match else [], _filler(budget, replacement))


@kotlin("String.split(regex: Regex, limit: Int = _): List<String>")
def split_at_matches(budget: Budget, text: str, pattern: Regex, limit: int = 0) -> list[str]:
    matches = pattern.all(text, budget)
    if not_negative(limit, "limit"):  # 0 stands for any number of parts
        matches = matches[: limit - 1]
    parts: list[str] = []
    start = 0
    for match in matches:
        # a place in the list, and two bytes a character
        budget.hold(CELL + 2 * (match.start - start))
        parts.append(text[start : match.start])
        start = match.end
    return [*parts, text[start:]]


@kotlin("String.replace(regex: Regex, transform: (MatchResult) -> CharSequence): String")
def replace_by(budget: Budget, text: str, pattern: Regex, transform: Function) -> str:
    return _replaced(budget, text, pattern.all(text, budget), transform)


def _replaced(
    budget: Budget, text: str, matches: list[RegexMatch], replacement: Callable[[RegexMatch], str]
) -> str:
    """Return the text with what `replacement` returns in place of each match."""
    parts: list[str] = []
    start = 0
    for match in matches:
        for part in (text[start : match.start], replacement(match)):
            # Before it is kept, as replacements may be much longer than the text.
            budget.build_text(len(part))
            budget.hold(CELL)
            parts.append(part)
        start = match.end
    # The rest after the last match is at most the whole text.
    budget.build_text(len(text))
    return "".join([*parts, text[start:]])


def _filler(budget: Budget, replacement: str) -> Callable[[RegexMatch], str]:
    """Return a function that inserts a match's groups for `$1`; a backslash makes the next
    character literal.
    """

    def filled(match: RegexMatch) -> str:
        def fill(reference: re.Match[str]) -> str:
            if reference[1] is not None:
                return reference[1]
            groups = len(match.group_values)
            group = (
                int(reference[2]) if reference[2] else match.names.get(reference[3] or "", groups)
            )
            if group >= groups:
                raise ExpressionError(
                    "the replacement has a $ without a group; write \\$ for a dollar sign"
                )
            budget.build_text(len(match.group_values[group]))
            return match.group_values[group]

        budget.build_text(len(replacement))
        return _REFERENCE.sub(fill, replacement)

    return filled


def _pattern_first(compute: Callable[..., object]) -> Callable[..., object]:
    """Return a function of a text and a pattern as one of a pattern and a text."""
    return lambda budget, pattern, text, *rest: compute(budget, text, pattern, *rest)


library(
    {
        "Regex.matches(input: String): Boolean": _pattern_first(matches),
        "Regex.containsMatchIn(input: String): Boolean": _pattern_first(contains_match),
        "Regex.findAll(input: String): Sequence<MatchResult>": lambda budget, pattern, text: (
            Sequence(lambda: pattern.all(text, budget))
        ),
        "Regex.matchEntire(input: String): MatchResult?": lambda budget, pattern, text: (
            pattern.match_entire(text, budget)
        ),
        "Regex.replace(input: String, replacement: String): String": _pattern_first(
            replace_matches
        ),
        "Regex.replace(input: String, transform: (MatchResult) -> CharSequence): String": (
            _pattern_first(replace_by)
        ),
        "Regex.split(input: String, limit: Int = _): List<String>": _pattern_first(
            split_at_matches
        ),
        "Regex.pattern: String": lambda _, pattern: pattern.pattern,
        "MatchResult.value: String": lambda _, found: found.value,
        "MatchResult.groupValues: List<String>": lambda _, found: found.group_values,
        "MatchResult.destructured: List<String>": lambda _, found: found.group_values[1:],
        "MatchResult.range: IntRange": lambda _, found: range(
            found.start, found.start + len(found.value)
        ),
    }
)


_WIDE = Context(prec=2_000)
_SPECIFIER = re.compile(r"%(?:(\d+)\$)?([-0+ ,]*)(\d{1,3})?(?:\.(\d{1,3}))?([a-zA-Z%])")


def _folded(budget: Budget, text: Value, ignore_case: bool) -> str:
    budget.read_text(len(text))
    if not ignore_case:
        return str(text)
    budget.build_text(len(text))
    # One character must stay one, so that indices stay the same: `ß`.upper() has two.
    upper = text.upper()
    folded = upper.lower() if len(upper) == len(text) else text.lower()
    if len(folded) == len(text):
        return str(folded)
    return str(text)


def _built(change: Callable[..., str]) -> Callable[..., str]:
    """Return `change` as a function that counts a text as long as its receiver."""

    def compute(budget: Budget, text: str, *arguments: Value) -> str:
        budget.build_text(len(text))
        return change(str(text), *arguments)

    return compute


@kotlin("String.startsWith(prefix: String / char: Char, ignoreCase: Boolean = _): Boolean")
def starts_with(budget: Budget, text: str, prefix: str, ignore_case: bool = False) -> bool:
    head = text[: len(prefix)]
    return _folded(budget, head, ignore_case) == _folded(budget, prefix, ignore_case)


@kotlin("String.endsWith(suffix: String / char: Char, ignoreCase: Boolean = _): Boolean")
def ends_with(budget: Budget, text: str, suffix: str, ignore_case: bool = False) -> bool:
    tail = text[max(0, len(text) - len(suffix)) :]
    return _folded(budget, tail, ignore_case) == _folded(budget, suffix, ignore_case)


@kotlin("String.contains(other: String / char: Char, ignoreCase: Boolean = _): Boolean")
def contains(budget: Budget, text: str, other: str, ignore_case: bool = False) -> bool:
    return _folded(budget, other, ignore_case) in _folded(budget, text, ignore_case)


@kotlin(
    "String?.equals(other: String?, ignoreCase: Boolean): Boolean",
    "Char.equals(other: Char, ignoreCase: Boolean): Boolean",
)
def equals(budget: Budget, text: str | None, other: str | None, ignore_case: bool) -> bool:
    if text is None or other is None:
        return text is other
    return _folded(budget, text, ignore_case) == _folded(budget, other, ignore_case)


@kotlin("CharSequence.contentEquals(other: CharSequence): Boolean")
def content_equals(budget: Budget, text: str, other: str) -> bool:
    budget.read_text(len(text))
    return str(text) == str(other)


@kotlin("String.replaceFirstChar(transform: (Char) -> Any): String")
def replace_first_char(budget: Budget, text: str, transform: Function) -> str:
    budget.build_text(len(text))
    if text:
        return str(transform(Char(text[0]))) + text[1:]
    return text


@kotlin("String.commonPrefixWith(other: String): String")
def common_prefix_with(budget: Budget, text: str, other: str) -> str:
    budget.build_text(len(text))
    size = next(
        (at for at, (a, b) in enumerate(zip(text, other, strict=False)) if a != b),
        min(len(text), len(other)),
    )
    return text[:size]


@kotlin("String.commonSuffixWith(other: String): String")
def common_suffix_with(budget: Budget, text: str, other: str) -> str:
    return common_prefix_with(budget, text[::-1], other[::-1])[::-1]


def _rows(budget: Budget, text: str) -> list[str]:
    """Return the lines of a text without its first and its last if they are blank."""
    budget.build_text(len(text))
    rows = text.replace("\r\n", "\n").split("\n")
    if len(rows) > 1 and not rows[-1].strip():
        del rows[-1]
    if not rows[0].strip():
        del rows[0]
    return rows


@kotlin("String.trimIndent(): String")
def trim_indent(budget: Budget, text: str) -> str:
    rows = _rows(budget, text)
    least = min((len(row) - len(row.lstrip()) for row in rows if row.strip()), default=0)
    return "\n".join(row[least:] for row in rows)


@kotlin("String.trimMargin(marginPrefix: String = _): String")
def trim_margin(budget: Budget, text: str, margin: str = "|") -> str:
    if not margin.strip():
        raise ExpressionError("marginPrefix must not be blank")
    rows = ((row, row.lstrip()) for row in _rows(budget, text))
    return "\n".join(bare[len(margin) :] if bare.startswith(margin) else row for row, bare in rows)


@kotlin("String.trim(predicate: (Char) -> Boolean): String")
def trim_by(budget: Budget, text: str, predicate: Function) -> str:
    return trim_start_by(budget, trim_end_by(budget, text, predicate), predicate)


@kotlin("String.trimStart(predicate: (Char) -> Boolean): String")
def trim_start_by(budget: Budget, text: str, predicate: Function) -> str:
    budget.build_text(len(text))
    return text[
        next(
            (place for place, char in enumerate(text) if not predicate.test(Char(char))), len(text)
        ) :
    ]


@kotlin("String.trimEnd(predicate: (Char) -> Boolean): String")
def trim_end_by(budget: Budget, text: str, predicate: Function) -> str:
    return trim_start_by(budget, text[::-1], predicate)[::-1]


@kotlin("String.compareTo(other: String, ignoreCase: Boolean = _): Int")
def compare_to(budget: Budget, text: str, other: str, ignore_case: bool = False) -> int:
    left, right = _folded(budget, text, ignore_case), _folded(budget, other, ignore_case)
    gaps = (ord(a) - ord(b) for a, b in zip(left, right, strict=False) if a != b)
    return next(gaps, len(left) - len(right))


@kotlin("String.partition(predicate: (Char) -> Boolean): Pair<String, String>")
def partition(budget: Budget, text: str, predicate: Function) -> Pair:
    budget.build_text(len(text))
    marked = [(char, predicate.test(Char(char))) for char in text]
    return Pair("".join(c for c, yes in marked if yes), "".join(c for c, yes in marked if not yes))


@kotlin(
    "String.indexOf(string: String / char: Char, startIndex: Int = _, ignoreCase: Boolean = _): Int"
)
def index_of(
    budget: Budget, text: str, other: str, start: int = 0, ignore_case: bool = False
) -> int:
    return _folded(budget, text, ignore_case).find(
        _folded(budget, other, ignore_case), max(0, start)
    )


@kotlin("String.lastIndexOf(string: String / char: Char): Int")
def last_index_of(budget: Budget, text: str, other: str) -> int:
    budget.read_text(len(text))
    return str(text).rfind(str(other))


@kotlin("CharSequence.isBlank(): Boolean")
def is_blank(budget: Budget, text: str) -> bool:
    budget.read_text(len(text))
    return not text or text.isspace()


@kotlin("String.ifBlank(defaultValue: () -> T): T")
def if_blank(budget: Budget, text: str, default: Function) -> Value:
    if is_blank(budget, text):
        return default()
    return text


@kotlin(
    "String.split(vararg delimiters: String / vararg delimiters: Char, ignoreCase: Boolean = _,"
    " limit: Int = _): List<String>"
)
def split(
    budget: Budget,
    text: str,
    delimiters: tuple[str, ...],
    ignore_case: bool = False,
    limit: int = 0,
) -> list[str]:
    if not delimiters:
        raise ExpressionError('split needs a delimiter, such as split(",")')
    not_negative(limit, "limit")
    folded = _folded(budget, text, ignore_case)
    wanted = [_folded(budget, delimiter, ignore_case) for delimiter in delimiters]
    parts: list[str] = []
    start = at = 0
    while limit == 0 or len(parts) < limit - 1:
        places = [
            (place, order)
            for order, mark in enumerate(wanted)
            if (place := folded.find(mark, at)) >= 0
        ]
        budget.step(1 + len(wanted))
        if not places:
            break
        place, order = min(places)
        size = len(wanted[order])
        parts.append(text[start:place])
        budget.hold(CELL + 2 * (place - start))
        start, at = place + size, place + max(size, 1)
        if at > len(text):
            break
    parts.append(text[start:])
    return parts


@kotlin("String.lines(): List<String>")
def lines(budget: Budget, text: str) -> list[str]:
    budget.build_text(len(text))
    return budget.collect(text.replace("\r\n", "\n").replace("\r", "\n").split("\n"))


@kotlin(
    "String.replace(oldValue: String / oldChar: Char, newValue: String / newChar: Char, ignoreCase:"
    " Boolean = _): String"
)
def replace(budget: Budget, text: str, old: str, new: str, ignore_case: bool = False) -> str:
    folded, wanted = _folded(budget, text, ignore_case), _folded(budget, old, ignore_case)
    count = folded.count(wanted)
    budget.build_text(len(text) + count * len(new))
    if not ignore_case:
        return str(text).replace(str(old), str(new))
    budget.hold(2 * CELL * count)
    return str(new).join(split(budget, text, (old,), True))


@kotlin("String.replaceFirst(oldValue: String, newValue: String): String")
def replace_first(budget: Budget, text: str, old: str, new: str) -> str:
    budget.build_text(len(text) + len(new))
    return text.replace(old, new, 1)


@kotlin("String.substring(startIndex: Int, endIndex: Int = _): String")
def substring(budget: Budget, text: str, start: int, end: int | None = None) -> str:
    stop = len(text) if end is None else end
    if not 0 <= start <= stop <= len(text):
        raise ExpressionError(
            f"substring({start}, {stop}) is out of bounds for a string of length {len(text)}"
        )
    budget.build_text(stop - start)
    return text[start:stop]


@kotlin("String.substring(range: IntRange): String", "String.slice(indices: IntRange): String")
def substring_range(budget: Budget, text: str, places: range) -> str:
    return substring(budget, text, places.start, max(places.stop, places.start))


@kotlin(
    "String.removeSurrounding(delimiter: String): String",
    "String.removeSurrounding(prefix: String, suffix: String): String",
)
def remove_surrounding(budget: Budget, text: str, prefix: str, suffix: str | None = None) -> str:
    budget.build_text(len(text))
    end = prefix if suffix is None else suffix
    wrapped = len(text) >= len(prefix) + len(end) and text.startswith(prefix) and text.endswith(end)
    if wrapped:
        return text[len(prefix) : len(text) - len(end)]
    return text


@kotlin("String.repeat(n: Int): String")
def repeat(budget: Budget, text: str, n: int) -> str:
    budget.build_text(len(text) * not_negative(n, "n"))
    return text * n


@kotlin("String.toBooleanStrict(): Boolean")
def to_boolean_strict(_: Budget, text: str) -> bool:
    if text not in ("true", "false"):
        raise ExpressionError("this string is neither true nor false")
    return text == "true"


def _padded(change: Callable[..., str]) -> Callable[..., str]:
    """Return `change`, which is given a length and a character, as a function that counts what it
    builds.
    """

    def compute(budget: Budget, text: str, size: int, pad: str = " ") -> str:
        budget.build_text(max(len(text), not_negative(size, "length")))
        return change(text, size, pad)

    return compute


def _single(change: Callable[[str], str]) -> Callable[[Budget, Char], Char]:
    """Return `change` for a character; one that would become two stays as it is."""
    return lambda _, char: Char(change(str(char))) if len(change(str(char))) == 1 else char


@kotlin("Char.digitToInt(): Int")
def digit_to_int(_: Budget, char: Char) -> int:
    if not char.isdecimal():
        raise ExpressionError("this character is not a digit")
    return int(char)


library(
    {
        "CharSequence.length: Int": lambda _, text: len(text),
        "String.decapitalize(): String": _built(lambda text: text[:1].lower() + text[1:]),
        "String.lineSequence(): Sequence<String>": lambda budget, text: Sequence(
            lambda: lines(budget, text)
        ),
        "String|Char.lowercase(): String": _built(str.lower),
        "String.toLowerCase(): String": _built(str.lower),
        "String|Char.uppercase(): String": _built(str.upper),
        "Char.titlecase(): String": _built(str.upper),
        "String.toUpperCase(): String": _built(str.upper),
        "Char.lowercaseChar(): Char": _single(str.lower),
        "Char.uppercaseChar(): Char": _single(str.upper),
        "String.capitalize(): String": _built(
            lambda text: text[:1].upper() + text[1:] if len(text[:1].upper()) == 1 else text
        ),
        "String.padStart(length: Int, padChar: Char = _): String": _padded(str.rjust),
        "String.padEnd(length: Int, padChar: Char = _): String": _padded(str.ljust),
        "CharSequence.isNotBlank(): Boolean": lambda budget, text: not is_blank(budget, text),
        "CharSequence?.isNullOrBlank(): Boolean": lambda budget, text: (
            text is None or is_blank(budget, text)
        ),
        "String?.orEmpty(): String": lambda _, text: text or "",
        "String.removePrefix(prefix: String): String": _built(str.removeprefix),
        "String.removeSuffix(suffix: String): String": _built(str.removesuffix),
        "String?.toBoolean(): Boolean": lambda _, text: text is not None and text.lower() == "true",
        "String.toBooleanStrictOrNull(): Boolean?": (
            lambda _, text: {
                "true": True,
                "false": False,
            }.get(text)
        ),
        "Char.isDigit(): Boolean": lambda _, char: char.isdecimal(),
        "Char.isLetter(): Boolean": lambda _, char: char.isalpha(),
        "Char.isLetterOrDigit(): Boolean": lambda _, char: char.isalpha() or char.isdecimal(),
        "Char.isWhitespace(): Boolean": lambda _, char: char.isspace(),
        "Char.isUpperCase(): Boolean": lambda _, char: char.isupper(),
        "Char.isLowerCase(): Boolean": lambda _, char: char.islower(),
        "Char.digitToIntOrNull(): Int?": lambda _, char: int(char) if char.isdecimal() else None,
    }
)

for _name, _strip in (("trim", str.strip), ("trimStart", str.lstrip), ("trimEnd", str.rstrip)):

    def _stripped(text: str, chars: tuple[str, ...], strip: Callable[..., str] = _strip) -> str:
        return strip(text, "".join(chars) or None)

    library(
        {
            f"String.{_name}(vararg chars: Char): String": _built(_stripped),
            f"String.{_name}(): String": _built(_strip),
        }
    )

for _name, _find, _after in (
    ("Before", str.find, False),
    ("After", str.find, True),
    ("BeforeLast", str.rfind, False),
    ("AfterLast", str.rfind, True),
):

    def _cut(
        text: str,
        mark: str,
        missing: str | None = None,
        find: Callable[..., int] = _find,
        after: bool = _after,
    ) -> str:
        place = find(text, mark)
        if place < 0:
            if missing is None:
                return text
            return missing
        if after:
            return text[place + len(mark) :]
        return text[:place]

    _signature = (
        f"String.substring{_name}(delimiter: String / delimiter: Char,"
        " missingDelimiterValue: String = _): String"
    )
    library({_signature: _built(_cut)})


@kotlin("String.format(vararg args: Any?): String")
def format_(budget: Budget, text: str, args: tuple[Value, ...]) -> str:
    following = iter(args)
    parts: list[str] = []
    start = 0
    while (percent := text.find("%", start)) >= 0:
        match = _SPECIFIER.match(text, percent)
        if match is None:
            raise ExpressionError(
                "a % in this format is not followed by a specifier such as s, d or .2f; write %%"
                " for a percent sign"
            )
        parts.append(text[start:percent])
        parts.append(_written(budget, match, following, args))
        budget.build_text(len(parts[-1]))
        start = match.end()
    budget.build_text(len(text))
    return "".join([*parts, text[start:]])


def _written(
    budget: Budget, match: re.Match[str], following: object, args: tuple[Value, ...]
) -> str:
    place, flags, width, precision, kind = match.groups()
    if kind in "%n":
        if kind == "%":
            return "%"
        return "\n"
    try:
        value = args[int(place) - 1] if place else next(following)  # type: ignore[call-overload]
    except (StopIteration, IndexError):
        raise ExpressionError(f"the format has no value for {match.group()}") from None
    # Java writes a negative number to base 16 or 8 as its two's complement.
    bits = 2**64 - 1 if type(value) is Long else 2**32 - 1
    if kind in "sS":
        shown = to_text(value, budget)
        if precision:
            shown = shown[: int(precision)]
    elif kind in "bB":
        shown = str(value if type(value) is bool else value is not None).lower()
    elif value is None:
        shown = "null"
    elif kind == "d" and type(value) in (int, Long) and not precision:
        shown = _signed(value, f"{abs(value):,d}" if "," in flags else f"{abs(value):d}", flags)
    elif kind in "xX" and type(value) in (int, Long) and not precision:
        shown = f"{value & bits:x}"
    elif kind == "o" and type(value) in (int, Long):
        shown = f"{value & bits:o}"
    elif kind in "cC" and type(value) is Char:
        shown = str(value)
    elif kind == "f" and type(value) is float:
        shown = _fixed(value, int(precision or 6), flags)
    else:
        raise ExpressionError(
            f"{match.group()} cannot format {type_name(value)}; %s, %d, %x, %o, %f, %c and %b are"
            " supported"
        )
    if kind in "SBXC":
        shown = shown.upper()
    size = int(width or 0)
    if "-" in flags:
        return shown.ljust(size)
    if "0" in flags and value is not None:
        return shown.zfill(size)
    return shown.rjust(size)


def _fixed(value: float, digits: int, flags: str) -> str:
    if value != value or value in (float("inf"), float("-inf")):
        if value != value:
            return "NaN"
        return _signed(value, "Infinity", flags)
    rounded = Decimal(repr(abs(value))).quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP, _WIDE)
    return _signed(value, f"{rounded:,f}" if "," in flags else f"{rounded:f}", flags)


def _signed(value: float, shown: str, flags: str) -> str:
    if value < 0:
        return "-" + shown
    if "+" in flags:
        return "+" + shown
    if " " in flags:
        return " " + shown
    return shown
