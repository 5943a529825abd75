"""Makes untrusted text safe, once, on input.

Text of agents, models, submissions, job files and leaderboards can contain terminal control
sequences, bidirectional overrides and other invisible characters. `clean` replaces each with a
visible symbol, so that a reader sees that something was there and a terminal never acts on it. What
languages need, such as the direction marks of Arabic, stays as it was for those who read the text:
the judge, the simulated user, documents. Only `terminal_text` draws it, too.
"""

from __future__ import annotations

import contextlib
import html
import json
import math
import re
import unicodedata
from collections import deque
from collections.abc import Iterable, Sequence
from itertools import chain
from pathlib import Path, PurePath
from typing import Any

from bioeval_tui.base.peer_limits import (
    MAX_COMBINING,
    MAX_DEPTH,
    MAX_LETTER,
    MAX_NUMBER,
    MAX_TEXT,
    MAX_VALUES,
)

_MOST_DIGITS = 400
"""More digits than any number has that a double holds."""
_BRACKETS = re.compile(r'(?:[^"\[\]{}]++|"(?:[^"\\]++|\\.)*+"?+)*+([\[\]{}])', re.DOTALL)
"""Each bracket of JSON that is in no text; possessive, so that broken JSON takes linear time, too.
"""
_LONGEST_NAME, _LONGEST_PATH, _LONGEST_DEEP = 40, 120, 40
"""Most characters shown of a key, of the path of a value, and of one with many levels, whose first
ones say which field it is.
"""
SHORTEST_SECRET = 8
"""Shorter secrets, such as the key `x` of a local server, also occur in ordinary words."""

# Whole escape sequences first, so that their payload does not stay behind as stray letters.
_SEQUENCES = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # CSI
    # OSC, DCS, SOS, PM, APC; possessive: no way back
    r"|\x1b[\]PX^_][^\x07\x1b\x9c]{0,4096}+(?:\x07|\x1b\\|\x9c)"
    r"|\x9b[0-?]*[ -/]*[@-~]"  # C1 CSI
    # C1 OSC, DCS, SOS, PM, APC
    r"|[\x9d\x90\x98\x9e\x9f][^\x07\x1b\x90-\x9f]{0,4096}+(?:\x07|\x9c)"
    r"|\x1b[ -/]*[0-~]"  # two-byte escapes
)
_UNSAFE = (  # characters that a terminal or a reader could be fooled by
    r"\x00-\x08\x0b-\x1f\x7f-\x9f"  # C0 (but tab and newline), DEL, C1
    # invisible; embeddings and overrides, which reach beyond the text, unlike marks and isolates
    r"\u180e\u2028-\u202e\u2061-\u2065\u206a-\u206f\ufff9-\ufffb\ufffe\uffff"
    r"\U000e0000-\U000e0fff"  # tags and variation selectors supplement
    r"\ud800-\udfff"  # lone surrogates
)
_HALVES = re.compile(r"[\ud800-\udfff]")
_LEADING, _FOLLOWING = r"\u1100-\u115f\ua960-\ua97c", r"\u1160-\u11ff\ud7b0-\ud7fb"
"""The parts of a Korean syllable: its first consonants, and the vowels and last consonants, which
have no width of their own.
"""
_TONES = r"\U0001f3fb-\U0001f3ff"
"""Of skin: each changes the emoji before it."""
_FIRST, _LATER = re.compile(f"[{_LEADING}]"), re.compile(f"[{_FOLLOWING}{_TONES}]")
# Marks are neither letters nor spaces: only such a run, and one of parts of syllables, can be drawn
# as one letter without an end, and few texts have one.
_MAY_BE_ONE_LETTER = re.compile(
    rf"(?:[^\w\s\x00-\x7f]|[{_LEADING}{_FOLLOWING}]){{{MAX_COMBINING + 1},}}"
)
_SKIN_TONES = re.compile(f"(?<=[{_TONES}])[{_TONES}]+")
_JOINER = "\u200d"
_JOINERS = "\u200c\u200d"
_BLOCKS_OF_MARKS = (range(0x1AB0, 0x1B00), range(0x20D0, 0x2100))
"""Blocks whose free places will be marks, which a newer browser knows and this Python does not."""
# Soft hyphen, direction marks and isolates, and spaces without width: Arabic, Hebrew and Thai are
# written with them.
_FORMATTING = r"\u00ad\u061c\u200b\u200e\u200f\u2060\u2066-\u2069\ufeff"
_UNSAFE_INPUT = re.compile(f"[{_UNSAFE}]")
UNSAFE = re.compile(f"[{_UNSAFE}{_FORMATTING}]")
"""One character that no terminal gets as it is."""
_INVISIBLE = re.compile(f"[{_FORMATTING}]")
_SPACES = re.compile("[\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000]")
_IDLE_JOINERS = re.compile("\u034f|(?<=[\\x00-\\x7f])[\u200c\u200d](?=[\\x00-\\x7f])")
"""Joiners that change nothing where they stand; in Arabic or Hindi, they change a word."""
_TITLE = re.compile(r"<title[^<>]*>([^<]*)", re.IGNORECASE)

FORMULA_STARTS = (
    "=",
    "+",
    "-",
    "@",
    "＝",
    "＋",
    "－",
    "＠",
    "\t",
    "\r",
    "\n",
    " ",
    "\u00a0",
    "\u3000",
)
"""Characters that start a formula in a spreadsheet, even after spaces."""


def clean(text: str, limit: int = MAX_TEXT) -> str:
    """Return `text` without anything that could mislead a terminal or a reader.

    Escape sequences become `␛`, control and invisible characters their Unicode picture or `⍰`;
    carriage returns become newlines. Characters that languages need are kept: the joiner and
    non-joiner (emoji, Persian, Indic scripts), the narrow no-break space (French), direction marks
    and isolates, soft hyphens and spaces without width. Of more than `MAX_COMBINING` marks in a
    row, of any script, the rest goes: no word has as many, and they would cover the lines around
    them. Of more than `MAX_LETTER` characters that are drawn as one, such as an endless Korean
    syllable or emoji, the rest is a `⍰`, because no two programs agree on its width. Text beyond
    `limit` characters is cut and says so. Cleaning twice changes nothing more.
    """
    if len(text) > limit:
        text = text[:limit] + f"\n… cut after {limit:,} characters"
    if text.isascii() and text.isprintable():
        return text
    text = (
        text.replace("\r\n", "\n")
        .replace("\r", "\n")
        .replace("\u2028", "\n")
        .replace("\u2029", "\n")
    )
    text = _SEQUENCES.sub("␛", text)
    text = _UNSAFE_INPUT.sub(_picture, text)
    if text.isascii():
        return text
    return _MAY_BE_ONE_LETTER.sub(_shorten_letters, _SKIN_TONES.sub("⍰", text))


def needs_cleaning(text: str) -> bool:
    """Return whether `clean` may change a text that is not too long; a false alarm only costs
    time.
    """
    return bool(
        _UNSAFE_INPUT.search(text) or _MAY_BE_ONE_LETTER.search(text) or _SKIN_TONES.search(text)
    )


def terminal_text(text: str, limit: int = MAX_TEXT) -> str:
    """Return `text` cleaned for a terminal, which draws no direction marks: they become `⍰`,
    too.
    """
    cleaned = clean(text, limit)
    if cleaned.isascii():
        return cleaned
    return UNSAFE.sub(_picture, cleaned)


def visible_text(text: str) -> str:
    """Return `text` as it reads, for comparisons: without soft hyphens, direction marks, isolates,
    spaces without width.
    """
    if text.isascii():
        return text
    return _INVISIBLE.sub("", text)


def reading_form(text: str) -> str:
    """Return `text` as it reads (`visible_text`), with each letter and its accents as one
    character where there is one, and one kind of space.
    """
    if text.isascii():
        return text
    read = _IDLE_JOINERS.sub("", _SPACES.sub(" ", visible_text(text)))
    return unicodedata.normalize("NFC", read)


def clean_line(text: str, limit: int = 500) -> str:
    """Return `text` cleaned and on one line: newlines and tabs become single spaces."""
    return clean(" ".join(text[: limit * 4].split()), limit).replace("\n", " ")


def clean_value(value: Any, limit: int = MAX_TEXT) -> Any:
    """Return a JSON-like value with every text in it (keys too) cleaned."""
    match value:
        case str():
            return clean(value, limit)
        case dict():
            return {clean(str(key), 1000): clean_value(item, limit) for key, item in value.items()}
        case list() | tuple():
            return [clean_value(item, limit) for item in value]
        case _:
            return value


def size_of(value: Any, most: int) -> int:
    """Return the number of items and characters of a JSON-like value; stops counting beyond
    `most`.
    """
    size = 0
    waiting = [value]
    while waiting and size <= most:
        item = waiting.pop()
        match item:
            case str():
                size += len(item)
            case dict():
                size += 2 * len(item) + sum(map(len, map(str, item)))
                if size <= most:
                    waiting += item.values()
            case list() | tuple():
                size += len(item)
                if size <= most:
                    waiting += item
            case _:
                pass
    return size


def count_of(value: Any) -> int:
    """Return the number of values in a JSON value; iterative, because deep nesting overflows the
    stack.
    """
    count, waiting = 0, [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, dict | list):
            count += len(item)
            waiting += _children(item)
    return count


def _children(item: dict[str, Any] | list[Any] | tuple[Any, ...]) -> Iterable[Any]:
    if isinstance(item, dict):
        return item.values()
    return item


def is_large(value: Any, limit: int = 20_000) -> bool:
    """Return whether a JSON-like value has more than `limit` items and characters."""
    return size_of(value, limit) > limit


class ExcessiveJsonError(ValueError):
    """JSON that is nested too deep, or has too many values or a number that no double holds."""


def parse_json(text: str | bytes) -> Any:
    """Return the value of a peer's JSON.

    Raises:
        ExcessiveJsonError: it exceeds `MAX_DEPTH` or `MAX_VALUES`, or has a number that
            `MAX_NUMBER` excludes.
        ValueError: it is not JSON.
    """
    if isinstance(text, bytes | bytearray):
        # As JSON's own reader does; it lets halves of characters through, which are looked for
        # below.
        text = bytes(text).decode(json.detect_encoding(text), "surrogatepass")
    try:
        value = _JSON.decode(text)
    except RecursionError:
        raise ExcessiveJsonError(_excess_of_text(text)) from None
    if excess := excess_of(value):
        raise ExcessiveJsonError(excess)
    # `\ud800` alone is JSON, but no text that could be sent, written or put into a URL.
    halves = "\\ud" in text.lower() or (not text.isascii() and _HALVES.search(text))
    if halves:
        return _replace_surrogates(value)
    return value


def objects(value: Any) -> list[dict[str, Any]]:
    """Return the objects of a JSON list; empty for anything else."""
    if isinstance(value, list):
        return [item for item in value if isinstance(item, dict)]
    return []


def text_or_json(value: Any) -> str:
    """Return a text as it is, and anything else as JSON."""
    if isinstance(value, str):
        return value
    return compact_json(value)


def json_or_text(value: Any, *, quoted: bool = False) -> Any:
    """Return the list or object in a JSON text, or with `quoted` also the text in quotation marks;
    any other value is unchanged.
    """
    begins = ("{", "[", '"') if quoted else ("{", "[")
    if isinstance(value, str) and value.lstrip()[:1] in begins:
        with contextlib.suppress(ValueError, RecursionError):
            return json.loads(value)
    return value


def _replace_surrogates(value: Any) -> Any:
    """Return a JSON value with a picture for each half of a character, in keys, too, as `clean`
    would.
    """
    match value:
        case str():
            return _HALVES.sub(_picture, value)
        case dict():
            return {
                _replace_surrogates(key): _replace_surrogates(item) for key, item in value.items()
            }
        case list():
            return [_replace_surrogates(item) for item in value]
        case _:
            return value


def _whole_number(digits: str) -> int | float:
    # Python refuses to convert more than 4,300 digits, with an error that does not say where they
    # stand.
    if len(digits) <= _MOST_DIGITS:
        return int(digits)
    return math.copysign(math.inf, int(digits[:2]))


# `json.loads` would make one for each value that is read.
_JSON = json.JSONDecoder(parse_int=_whole_number)


def excess_of(value: Any, path: Sequence[str] = (), *, own_levels: int = 0) -> str:
    """Return how a JSON value exceeds `MAX_DEPTH`, `MAX_VALUES` or `MAX_NUMBER`, and where, in a
    few words, or "".

    `path` is where it stands in a larger value. `own_levels` are what this program puts around what
    a peer sent, such as the list of its events: they count neither as levels nor as values.
    Iterative, because deep nesting overflows the stack.
    """
    level, values = [value], 0
    deepest: Any = value
    for depth in range(MAX_DEPTH + own_levels - len(path)):
        children: list[Any] = []
        for item in level:
            if isinstance(item, dict | list | tuple):
                children += _children(item)
                deepest = item or deepest
            elif isinstance(item, int | float) and not -MAX_NUMBER <= item <= MAX_NUMBER:
                return (
                    f"with {_number_words(item)} at {_find_place(item, value, path) or 'its top'}"
                )
        level = children
        if depth >= own_levels:
            values += len(level)
        if values > MAX_VALUES:
            return f"with more than {MAX_VALUES:,} values"
        if not level:
            return ""
    return _deep_words(_find_place(deepest, value, path))


def _deep_words(place: str) -> str:
    """Return what is wrong with a value that is nested too deep, with the place of its last level
    that is allowed.
    """
    words = f"nested deeper than {MAX_DEPTH}"
    if place:
        words += f" at {shorten(place, _LONGEST_DEEP)}"
    return words


def _excess_of_text(text: str) -> str:
    """Return how JSON exceeds the limits that is too deep for JSON's reader, as `excess_of` does
    for a value.

    Its first part, down to the last level that is allowed, is closed and read in its place.
    """
    closers: list[str] = []
    for opened, token in enumerate(_BRACKETS.finditer(text)):
        if opened > 2 * MAX_VALUES:
            return f"with more than {MAX_VALUES:,} values"
        bracket = token[1]
        if bracket in "]}":
            del closers[-1:]
        elif len(closers) < MAX_DEPTH:
            closers.append("]" if bracket == "[" else "}")
        else:
            try:
                first_part = text[: token.start(1)] + "0" + "".join(reversed(closers))
                inner = json.loads(
                    first_part, parse_int=_whole_number, object_pairs_hook=_last_member
                )
            except ValueError:
                break
            names: list[str | int] = []
            while inner:
                name = next(iter(inner)) if isinstance(inner, dict) else len(inner) - 1
                names.append(name)
                inner = inner[name]
            return _deep_words(_path_words(names[:-1]))
    return _deep_words("")


def _last_member(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    # The last one of a name that comes twice has the place of the first in a dict.
    return dict(pairs[-1:])


def is_too_deep(value: Any) -> bool:
    """Return whether a JSON value is nested deeper than `MAX_DEPTH`; code that walks one is
    recursive.
    """
    level = [value]
    for _ in range(MAX_DEPTH):
        containers = (item for item in level if isinstance(item, dict | list))
        level = [*chain.from_iterable(map(_children, containers))]
        if not level:
            return False
    return True


def _number_words(number: float) -> str:
    """Return what is wrong with a number that no double holds, or that JSON does not know."""
    if number != number:
        return "NaN, which is no number in JSON,"
    return "a number that is larger than a double holds"


def _find_place(wanted: Any, value: Any, path: Sequence[str]) -> str:
    """Return the path of one object in a JSON value, such as `events[0].arguments.dose`; empty if
    the value does not have it.

    `path` is that of the value itself. Nothing here is recursive: the value may be too deep for it.
    """
    # A path is made of links: the parent's link, the name in the parent, and the item itself. Whole
    # paths of half a million values would take long.
    waiting: deque[tuple[Any, str | int, Any]] = deque([(None, "", value)])
    while waiting:
        link = waiting.popleft()
        item = link[2]
        if item is wanted:
            names: list[str | int] = []
            while link[0] is not None:
                names.append(link[1])
                link = link[0]
            return _path_words([*path, *reversed(names)])
        if isinstance(item, dict):
            waiting += [(link, str(key), child) for key, child in item.items()]
        elif isinstance(item, list | tuple):
            waiting += [(link, number, child) for number, child in enumerate(item)]
    return ""


def _path_words(names: Sequence[str | int]) -> str:
    """Return a path in a JSON value for a sentence; the rest of a long one says nothing."""
    parts = [f"[{name}]" if isinstance(name, int) else f".{name[:_LONGEST_NAME]}" for name in names]
    path = "".join(parts).removeprefix(".")
    return shorten(clean_line(path[: 2 * _LONGEST_PATH]), _LONGEST_PATH)


def json_problem(error: ValueError | RecursionError) -> str:
    """Return why `json.loads` rejected a text, for a sentence; what Python says of depth and digits
    helps nobody.
    """
    if isinstance(error, RecursionError):
        return f"nested too deeply; use at most {MAX_DEPTH} levels"
    if isinstance(error, json.JSONDecodeError):
        place = (
            f"line {error.lineno}, column {error.colno}"
            if error.lineno > 1
            else f"column {error.colno}"
        )
        return f"not JSON at {place}: {clean_line(error.msg)}"
    if isinstance(error, UnicodeDecodeError):
        return f"not UTF-8 at byte {error.start + 1}; save it as UTF-8"
    return "a number has too many digits; write it as a text, in quotes"


def spreadsheet_cell(text: str) -> str:
    """Return `text` for a CSV cell: ends of lines as newlines, and an apostrophe before a would-be
    formula.
    """
    # before Python 3.13 csv leaves a `\r` without quotes
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    if visible_text(text).startswith(FORMULA_STARTS):
        return f"'{text}"
    return text


def mask_secret(text: str, secret: str) -> str:
    """Return `text` with `[key]` for a secret; one of fewer than 8 characters, such as `x`, only as
    a whole word.
    """
    if not secret:
        return text
    if len(secret) >= SHORTEST_SECRET:
        return text.replace(secret, "[key]")
    return re.sub(rf"(?<!\w){re.escape(secret)}(?!\w)", "[key]", text)


def shorten(text: str, width: int) -> str:
    """Return `text` on one line and at most `width` characters, an ellipsis marking the cut.

    The cut is after a word, unless that would cost more than a third of the width: addresses and
    Chinese have no spaces.
    """
    line = " ".join(text.split())
    if len(line) <= width:
        return line
    room = max(0, width - 1)
    last_space = line.rfind(" ", 0, room + 1)
    if last_space > 2 * width // 3:
        room = last_space
    return line[:room].rstrip(" ,;:.") + "…"


def file_title(path: str | PurePath) -> str:
    """Return what a job or a file is called on screens: its name without the extension, on one
    line.
    """
    return shorten(clean_line(PurePath(path).stem), 80)


_LINE_MARKS = re.compile(
    r"^[ \t]*(?:#{1,6}[ \t]+|(?:>[ \t]?)+|(?:```|~~~).*$"
    r"|(?=[^-\n]*-[^|\n]*\|)[ :|-]+$)",  # one way only to match: the text is an agent's
    re.MULTILINE,
)
"""Marks of a heading and of a quotation, lines around code and below the heads of a table."""
_LINK = re.compile(r"!?\[([^][]*)\]\([^()\s]*\)")
_AROUND = re.compile(
    r"(\*\*|~~|`+)(?=[^\s*~`])([^*~`]+)(?<=\S)\1"
    r"|(?<![\w*])(\*|__?)(?=[^\s*_])([^*]+?)(?<=[^\s*_])\3(?![\w*])"
)
"""Emphasis and code. A single `*` or `_` within a word is part of it, as in `2*3*4`."""


def quotation(text: str, width: int) -> str:
    """Return what somebody said, cleaned, as `shorten` does, without its Markdown marks.

    A line of text has no room for headings and tables, and the marks would only be in the way.
    This does not parse Markdown: what it does not know stays as it was written.
    """
    said = _LINK.sub(r"\1", _LINE_MARKS.sub("", clean(text[: width * 8])))
    for _ in range(2):  # emphasis within emphasis
        said = _AROUND.sub(r"\2\4", said)
    return shorten(said, width)


def compact_json(value: Any) -> str:
    """Return `value` as compact JSON; other values become text."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)


def upper_first(text: str) -> str:
    """Return `text` with a capital at the beginning, the rest unchanged."""
    return text[:1].upper() + text[1:]


def is_html(text: str) -> bool:
    """Return whether a response is a page for a browser."""
    return text[:200].lstrip().lower().startswith(("<!doctype html", "<html"))


def page_title(text: str) -> str:
    """Return the title of an HTML page on one line, or an empty string."""
    match = _TITLE.search(text)
    if match:
        return shorten(clean_line(html.unescape(match[1])), 80)
    return ""


def listed(words: Iterable[object]) -> str:
    """Return words as a list: `a`, `a and b`, `a, b and c`."""
    *first, last = map(str, words)
    return " and ".join(filter(None, (", ".join(first), last)))


def both_or_all(count: int) -> str:
    """Return how so many are called together: `one`, `both`, or `all 3`."""
    return {1: "one", 2: "both"}.get(count, f"all {count}")


def plural(count: int, noun: str, nouns: str = "") -> str:
    """Return `1 turn`, `3 turns`, `1,043 entries`."""
    return f"{count:,} {noun if count == 1 else nouns or noun + 's'}"


def join_names(names: Sequence[str], separator: str = ", ", most: int = 20) -> str:
    """Return names for a sentence: `a, b, c`, or the first `most` and how many more there are."""
    shown = [*names[:most]]
    if len(names) > most:
        shown.append(f"and {len(names) - most:,} more")
    return separator.join(shown)


def home_relative(path: Path) -> str:
    """Return `path` with the user's home folder written as `~`, cleaned for display."""
    try:
        return clean_line("~/" + str(path.relative_to(Path.home())))
    except (ValueError, RuntimeError):
        return clean_line(str(path))


def _picture(match: re.Match[str]) -> str:
    character = match.group()
    code = ord(character)
    if code < 0x20:
        return chr(0x2400 + code)
    if code == 0x7F:
        return "␡"
    return "⍰"


def _is_mark(character: str) -> bool:
    if (
        character in _JOINERS
        or _LATER.match(character)
        or unicodedata.category(character).startswith("M")
    ):
        return True
    return any(ord(character) in block for block in _BLOCKS_OF_MARKS)


def _shorten_letters(match: re.Match[str]) -> str:
    """Return a run without the marks that follow `MAX_COMBINING` others, and with `⍰` for what
    makes one letter too long.
    """
    run = match.group()
    marks, firsts = set(filter(_is_mark, set(run))), set(_FIRST.findall(run))
    if not marks and not firsts:  # such as a line of dashes
        return run
    kept: list[str] = []
    before, in_a_row, length = "", 0, 0
    for character in run:
        if character in marks:
            in_a_row += 1
        elif not _INVISIBLE.match(
            character
        ):  # a mark after a space without width is drawn on the letter before it
            in_a_row = 0
        if in_a_row > MAX_COMBINING:
            continue
        joins = (
            character in marks or before == _JOINER or (character in firsts and before in firsts)
        )
        length = length + 1 if joins else 1
        before = character
        if length <= MAX_LETTER:
            kept.append(character)
        elif length == MAX_LETTER + 1:
            if kept[-1] == _JOINER:
                kept.pop()
            kept.append("⍰")
    return "".join(kept)
