"""The rules of a mask: read from a file, with every error in one sentence with its line; found in a
text; and their replacements.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
import secrets
import unicodedata
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import accumulate, chain, pairwise
from pathlib import Path
from typing import Any, NamedTuple

import regex

from bioeval_tui.base.errors import InputError, NotMeasuredError, Problem
from bioeval_tui.base.files import below, private_dir, read_small, write_new
from bioeval_tui.base.patterns import find_all, pattern_problem, search
from bioeval_tui.base.text import clean_line, visible_text
from bioeval_tui.base.yaml_positions import Path as FieldPath, YamlDocument, read_yaml


class Folded(NamedTuple):
    """The letters and digits of a text, lower case and without accents, digits as 0 to 9, and the
    position of each in the text.
    """

    letters: str
    at: list[int]


def fold(text: str) -> Folded:
    """Return the letters and digits of `text`, folded."""
    if text.isascii():
        at = [index for index, character in enumerate(text) if character.isalnum()]
        return Folded("".join([text[index] for index in at]).lower(), at)
    letters, places = [], []
    for index, character in enumerate(text):
        for folded in _folded(character):
            letters.append(folded)
            places.append(index)
    return Folded("".join(letters), places)


TATWEEL = "\u0640"
"""Stretches an Arabic word: مـحـمـد is محمد."""

_PLAIN = str.maketrans(
    {
        # letters with a stroke or joined, which Unicode does not take apart
        "ł": "l", "ø": "o", "đ": "d", "ð": "d", "ı": "i", "ħ": "h", "ŧ": "t", "þ": "th", "æ": "ae",
        "œ": "oe", "ə": "e", "ɓ": "b", "ɗ": "d", "ƙ": "k", "ŋ": "ng",
        # Arabic and Persian ways to write one letter, and Hebrew letters as they are inside a word
        "ى": "ي", "ی": "ي", "ک": "ك", "ة": "ه", "ۀ": "ه", "ہ": "ه", "ٱ": "ا",
        "ך": "כ", "ם": "מ", "ן": "נ", "ף": "פ", "ץ": "צ",
        # what only stretches a word, or stands for an apostrophe
        TATWEEL: "", "ʹ": "", "ʻ": "", "ʼ": "", "ʽ": "", "ʾ": "", "ʿ": "",
    }
)  # fmt: skip

_SPELLINGS = str.maketrans(
    {"ä": "ae", "ö": "oe", "ü": "ue", "ø": "oe", "å": "aa", "đ": "dj", "ð": "dh"}
)
"""How letters are written where a keyboard lacks them, if not without their accents."""


@lru_cache(maxsize=32_768)
def _folded(character: str) -> str:
    plain = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", character).casefold())
    return "".join(filter(_is_folded, map(_digit, plain.translate(_PLAIN))))


def _digit(character: str) -> str:
    """Return a digit of any script as 0 to 9, and every other character as it is."""
    value = unicodedata.decimal(character, None)
    return character if value is None else str(value)


def _is_folded(character: str) -> bool:
    """Return whether a character distinguishes words: letters, digits, and the vowel signs that
    scripts such as Devanagari and Thai write as marks.

    Without the signs, राम would be found in रोम.
    """
    if unicodedata.combining(character):
        return False
    return character.isalnum() or bool(_VOWEL_SIGN.match(character))


_VOWEL_SIGN = regex.compile(r"[\p{Mn}\p{Mc}--\p{Variation_Selector}--\u034f]", regex.V1)

_SPACED = regex.compile(r"[\p{Latin}\p{Greek}\p{Cyrillic}\p{Nd}]+")
"""Letters of scripts whose words stand alone.

In other scripts, words follow each other without spaces, or what belongs to a name is written in
one word with it: 김철수는, لمحمد, לדוד, राम के रामजी.
"""

_SYLLABLES = regex.compile(r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Bopomofo}]")

_UNSPACED = regex.compile(
    r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Bopomofo}\p{Hangul}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}"
    r"\p{Tibetan}]+"
)
"""Letters of names that are written with and without spaces: 山田太郎, 山田 太郎."""


@lru_cache(maxsize=32_768)
def _is_letter(character: str) -> bool:
    return character.isalpha() and bool(_folded(character))


@lru_cache(maxsize=32_768)
def _joins(character: str) -> bool:
    """Return whether a name may stand beside this letter without a space."""
    return not _SPACED.fullmatch(_folded(character))


@lru_cache(maxsize=32_768)
def _is_unspaced(character: str) -> bool:
    return bool(_UNSPACED.fullmatch(_folded(character)))


def _is_silent(character: str) -> bool:
    """Return whether a character neither distinguishes nor separates words."""
    return character == TATWEEL or bool(unicodedata.combining(character))


def _is_one_word(before: str, after: str) -> bool:
    """Return whether two letters side by side are of one word, as far as that can be told."""
    if not before or not after or not _is_letter(before) or not _is_letter(after):
        return False
    if before.islower() and after.isupper():
        return False
    return not _joins(before) and not _joins(after)


ELLIPSIS = "…"

HIDDEN = "[MASKED]"
"""Replaces a whole text that could not be searched in time, because none of it may be shown."""

MOST_BETWEEN = 4
"""The maximum number of characters other than letters and digits between the words of a name."""

LONG_IDENTIFIER = 6
"""Identifiers with at least this many letters and digits are also found inside longer words."""

PATTERN_REACH = 100
"""The number of characters at the end of a streamed text that are delayed, because patterns may
still match more.
"""

SHORTEST_PART = 4
"""Minimum number of letters of a shortened name ("Zede…") that are masked."""

SHORTEST_SYLLABLES = 2
"""The same where a letter is a syllable or a word ("山田…")."""

MOST_SLOW = 5
"""After this many timeouts, every text is hidden immediately."""


class MaskedSpan(NamedTuple):
    """A span of a text, `end` exclusive, and its replacement."""

    start: int
    end: int
    instead: str


@dataclass(frozen=True, slots=True)
class LiteralRule:
    """A name or identifier, matched letter by letter; `joints` are the boundaries between its
    words.

    `comma_at` is the boundary where a comma is required, for a name with its last word first.
    """

    letters: str
    instead: str
    is_name: bool
    joints: frozenset[int] = frozenset()
    comma_at: int = 0

    @classmethod
    def of(cls, text: str, instead: str, *, is_name: bool) -> LiteralRule:
        """Return the literal for a text; its letters are empty when it has none."""
        return cls._join_words(_words(text), instead, is_name)

    @classmethod
    def _join_words(cls, words: Sequence[str], instead: str, is_name: bool) -> LiteralRule:
        folded = [fold(word).letters for word in words]
        ends = accumulate(map(len, folded))
        return cls("".join(folded), instead, is_name, frozenset(ends))

    @classmethod
    def last_name_first(cls, text: str, instead: str) -> LiteralRule | None:
        """Return the literal for `Lovelace, Ada` where `text` is `Ada Lovelace`; None for a single
        word.
        """
        words = _words(text)
        if len(words) < 2:
            return None
        turned = cls._join_words([words[-1], *words[:-1]], instead, True)
        return replace(turned, comma_at=min(turned.joints))


def _words(text: str) -> list[str]:
    characters = (c if _folded(c) or _is_silent(c) else " " for c in text)
    return "".join(characters).split()


def spelled_out(text: str) -> str:
    """Return `Mueller` for `Müller`: a name as it is spelled where a keyboard lacks its letters."""
    composed = unicodedata.normalize("NFC", text)
    lower = composed.lower()
    spelled = lower.translate(_SPELLINGS)
    return text if spelled == lower else spelled


@dataclass(frozen=True, slots=True)
class PatternRule:
    """A regular expression; each different match gets its own tag after `label`."""

    pattern: str
    label: str


class Rules:
    """Names and identifiers by their letters, and patterns.

    The tags of patterns are derived with `key`.

    A tag depends only on the text and the key, so an identifier has the same tag in every run,
    report and tab. It reveals nothing without the key.
    """

    def __init__(
        self,
        literals: Sequence[LiteralRule],
        patterns: Sequence[PatternRule] = (),
        key: bytes = b"",
    ) -> None:
        self._literals = {literal.letters: literal for literal in literals if not literal.comma_at}
        self._turned = {literal.letters: literal for literal in literals if literal.comma_at}
        self._patterns = tuple(patterns)
        self._key = key
        # with the plural's s, what follows it decides
        whole = [letters + "s" for letters in (*self._literals, *self._turned)]
        self._beginnings = set(chain.from_iterable(map(accumulate, whole)))
        self._longest = max(map(len, whole), default=0)
        self._cut: dict[str, str] = {}
        for literal in literals:
            for n in range(_shortest_part(literal.letters), len(literal.letters)):
                for part in (literal.letters[:n], literal.letters[-n:]):
                    self._cut[part] = literal.instead
        self._shortest_cut = min(map(len, self._cut), default=SHORTEST_PART)
        self._slow = 0
        labels = {literal.instead.rpartition("-")[0].lstrip("[") for literal in literals}
        labels |= {rule.label for rule in patterns}
        choice = "|".join(map(regex.escape, sorted(labels)))
        self._replaced = regex.compile(rf"\[(?:{choice})-[0-9A-Z]{{1,8}}\]|{regex.escape(HIDDEN)}")

    def replace(self, text: str) -> str:
        """Return the text with all matches of the rules replaced. A second call changes nothing."""
        spans = self.spans(text)
        if not spans:
            return text
        return replaced(text, spans)

    def keyed_hash(self, text: str) -> str:
        """Return a hash that nobody can compute without the key."""
        key = self._key or _PROCESS_KEY
        return hmac.digest(key, text.encode("utf-8", "replace"), hashlib.sha256).hex()

    def worded(self, text: str) -> str:
        """Return a text whose matches were replaced with a word for each, such as `PATIENT_1` for
        `[PATIENT-1]`.

        The names of tools, functions, variables and hosts, patterns and expressions have no place
        for brackets.
        """
        return str(self._replaced.sub(lambda match: match[0].strip("[]").replace("-", "_"), text))

    def spans(self, text: str) -> list[MaskedSpan]:
        """Return the rules' matches, in order and without overlaps."""
        if self._slow >= MOST_SLOW:
            if text:
                return [MaskedSpan(0, len(text), HIDDEN)]
            return []
        folded = fold(text)
        literals = self._find_literals(folded, text) + self._find_cut(folded, text)
        try:
            patterns = self._find_patterns(text)
        except NotMeasuredError:
            self._slow += 1
            return [MaskedSpan(0, len(text), HIDDEN)]
        if not literals and not patterns:
            return []
        kept = [(match.start(), match.end()) for match in self._replaced.finditer(text)]

        def is_kept(span: MaskedSpan) -> bool:
            at = bisect_right(kept, span.start, key=lambda one: one[0]) - 1
            return at >= 0 and span.end <= kept[at][1]

        def touches_kept(span: MaskedSpan) -> bool:
            """Return whether a tag is a part: "[PATIENT-1]23456" is not the identifier 123456."""
            at = bisect_left(kept, span.end, key=lambda one: one[0]) - 1
            return at >= 0 and span.start < kept[at][1]

        spans = [span for span in literals if not touches_kept(span)]
        spans += [span for span in patterns if not is_kept(span)]
        return _joined(spans)

    def settled(self, text: str) -> int:
        """Return the length of the part of a growing text that no later text can change."""
        folded = fold(text)
        end = len(text)
        for length in range(min(self._longest, len(folded.letters)), 0, -1):
            if folded.letters[-length:] in self._beginnings:
                end = folded.at[-length]
                break
        if (cut := text.rfind(ELLIPSIS, max(0, len(text) - self._longest * 2))) >= 0:
            end = min(end, cut)
        for rule in self._patterns:
            end = min(end, len(text) - PATTERN_REACH)
            try:
                matches = find_all(rule.pattern, text, partial=True)
            except NotMeasuredError:
                return 0
            end = min(
                [
                    end,
                    *(f.start for f in matches if f.partial or f.end >= len(text) - PATTERN_REACH),
                ]
            )
        for span in self.spans(text):
            if span.start < end < span.end:
                end = span.start
        return max(0, end)

    def _find_literals(self, folded: Folded, text: str) -> list[MaskedSpan]:
        spans = self._find(self._literals, folded, text)
        turned = self._find(self._turned, folded, text) if _COMMA.search(text) else []
        return spans + [
            t for t in turned if not any(f.start < t.end and t.start < f.end for f in spans)
        ]

    def _find(
        self, literals: Mapping[str, LiteralRule], folded: Folded, text: str
    ) -> list[MaskedSpan]:
        spans = []
        for letters, literal in literals.items():
            at = folded.letters.find(letters)
            while at >= 0:
                places = folded.at[at : at + len(letters)]
                if _is_whole(folded, at, len(letters)) and _stands_alone(literal, places, text):
                    end = places[-1] + 1
                    while end < len(text) and _is_silent(text[end]):
                        end += 1
                    spans.append(MaskedSpan(places[0], end, literal.instead))
                at = folded.letters.find(letters, at + 1)
        return spans

    def _find_cut(self, folded: Folded, text: str) -> list[MaskedSpan]:
        """Find the rest of a name in a shortened text, on either side of an ellipsis."""
        spans = []
        at = text.find(ELLIPSIS) if self._cut else -1
        while at >= 0:
            reach = self._longest * 2
            first = bisect_left(folded.at, at - reach)
            here = bisect_left(folded.at, at)  # an ellipsis has no letters of its own
            last = bisect_left(folded.at, at + 1 + reach)
            for start in range(max(first, here - self._longest), here - self._shortest_cut + 1):
                begins = folded.at[start]
                instead = self._cut.get(folded.letters[start:here])
                if instead and not _is_one_word(text[begins - 1 : begins], text[begins]):
                    spans.append(MaskedSpan(begins, at, instead))
                    break
            for stop in range(min(last, here + self._longest), here + self._shortest_cut - 1, -1):
                end = folded.at[stop - 1] + 1
                instead = self._cut.get(folded.letters[here:stop])
                if instead and not _is_one_word(text[end - 1], text[end : end + 1]):
                    spans.append(MaskedSpan(at + 1, end, instead))
                    break
            at = text.find(ELLIPSIS, at + 1)
        return spans

    def _find_patterns(self, text: str) -> list[MaskedSpan]:
        spans = []
        for rule in self._patterns:
            for match in find_all(rule.pattern, text):
                if match.end > match.start:
                    tag = self._tag(rule.label, text[match.start : match.end])
                    spans.append(MaskedSpan(match.start, match.end, f"[{rule.label}-{tag}]"))
        return spans

    def _tag(self, label: str, text: str) -> str:
        message = f"{label}\0{fold(text).letters or text}".encode("utf-8", "replace")
        return base64.b32encode(hmac.digest(self._key, message, hashlib.sha256))[:5].decode()


def _shortest_part(letters: str) -> int:
    if _SYLLABLES.match(letters):
        return SHORTEST_SYLLABLES
    return SHORTEST_PART


def _is_whole(folded: Folded, at: int, length: int) -> bool:
    """Return whether letters begin and end with a character of the text.

    Otherwise 이수 would be found in 이순, whose last syllable has one more letter.
    """
    end = at + length
    if at and folded.at[at - 1] == folded.at[at]:
        return False
    return end == len(folded.at) or folded.at[end] != folded.at[end - 1]


def _stands_alone(literal: LiteralRule, places: list[int], text: str) -> bool:
    """Return whether matching letters are the name or identifier, and not part of other words."""
    for number, (a, b) in enumerate(pairwise(places), start=1):
        if b - a < 2:
            between = ""
        else:
            between = "".join(c for c in visible_text(text[a + 1 : b]) if not _is_silent(c))
        if len(between) > MOST_BETWEEN:
            return False
        if between and literal.is_name and number not in literal.joints:
            is_spread = between.isspace() and _is_unspaced(text[a]) and _is_unspaced(text[b])
            if not is_spread:
                return False
        if number == literal.comma_at and not _COMMA.search(between):
            return False
    before, after = text[places[0] - 1 : places[0]], text[places[-1] + 1 : places[-1] + 2]
    first, last = text[places[0]], text[places[-1]]
    if literal.is_name:
        begins = not _is_one_word(before, first)
        if after in ("s", "S") and not _is_one_word(after, text[places[-1] + 2 : places[-1] + 3]):
            return begins  # the plural
        return begins and not _is_one_word(last, after)
    if len(literal.letters) >= LONG_IDENTIFIER:
        return True
    return _is_apart(before) and _is_apart(after)


def _is_apart(neighbour: str) -> bool:
    """Return whether an identifier ends before this character."""
    return not neighbour.isalnum() or (_is_letter(neighbour) and _joins(neighbour))


_COMMA = re.compile("[,،，、]")


def _joined(spans: list[MaskedSpan]) -> list[MaskedSpan]:
    """Return the spans in order; those that overlap become one, under the name of the first and
    longest.
    """
    joined: list[MaskedSpan] = []
    for span in sorted(spans, key=lambda span: (span.start, -span.end)):
        if joined and span.start < joined[-1].end:
            joined[-1] = joined[-1]._replace(end=max(joined[-1].end, span.end))
        else:
            joined.append(span)
    return joined


def replaced(text: str, spans: Iterable[MaskedSpan], start: int = 0, end: int | None = None) -> str:
    """Return `text[start:end]` with the spans in it replaced; no span may extend beyond it."""
    pieces, at, end = [], start, len(text) if end is None else end
    for span in spans:
        if start <= span.start and span.end <= end:
            pieces += [text[at : span.start], span.instead]
            at = span.end
    return "".join([*pieces, text[at:end]])


MAX_BYTES = 1_000_000
MAX_ENTRIES = 5_000
KEYS = {"names": "PATIENT", "identifiers": "ID", "patterns": ""}
SHORTEST = {"names": 2, "identifiers": 3}
KEY_FILE = "masking.key"
_PROCESS_KEY = secrets.token_bytes(32)
"""For rules without patterns, which write no key: hashes differ from process to process."""
_LABEL = re.compile(r"[A-Z][A-Z0-9_]{0,19}")


def load_rules(path: Path, data_dir: Path) -> Rules:
    """Read a rules file.

    Patterns need a key, which is stored in `data_dir` and created if it is missing.

    Raises:
        InputError: with every problem found, each with its line and what would be right.
    """
    shown = clean_line(str(path))
    document = read_yaml(_read(path, shown), shown, "give names, identifiers or patterns")
    reader = _Reader(document, shown)
    literals, patterns = reader.read()
    if reader.problems:
        raise InputError("\n".join(map(str, reader.problems)), tuple(reader.problems))
    if patterns or (data_dir / KEY_FILE).exists():
        return Rules(literals, patterns, _key(data_dir))
    return Rules(literals)


def _read(path: Path, shown: str) -> str:
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
        if len(data) > MAX_BYTES:
            raise InputError(
                f"{shown}: larger than {MAX_BYTES:,} bytes, too large for a rules file"
            )
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InputError(f"{shown}: not UTF-8 text; save the rules as UTF-8") from None
    except OSError as error:
        raise InputError(
            f"{shown}: cannot be read: {error.strerror}; give a YAML file of rules"
        ) from None


def _key(data_dir: Path) -> bytes:
    path = below(private_dir(data_dir), KEY_FILE)
    if not path.exists():
        write_new(path, secrets.token_bytes(32))
    try:
        key = read_small(path)
    except PermissionError:  # another one in its place would give other words for the same texts
        raise
    except OSError:
        key = b""
    if len(key) < 32:
        raise InputError(
            f"{clean_line(str(path))}: not a masking key; delete the file to create a new one"
        )
    return key


class _Reader:
    """Validates the file and records problems with their positions."""

    def __init__(self, document: YamlDocument, file: str) -> None:
        self.problems = document.problems
        self._document = document
        self._file = file
        self._counts: Counter[str] = Counter()
        self._spelled: list[LiteralRule] = []

    def read(self) -> tuple[list[LiteralRule], list[PatternRule]]:
        """Return the file's rules."""
        value = self._document.value
        if value is None and self.problems:
            return [], []
        if not isinstance(value, dict):
            self._wrong((), f"lists are needed under the keys {', '.join(KEYS)}")
            return [], []
        literals: list[LiteralRule] = []
        patterns: list[PatternRule] = []
        for key, entries in value.items():
            if key not in KEYS:
                self._wrong(
                    (key,),
                    f"unknown key `{clean_line(str(key), 40)}`; the keys are {', '.join(KEYS)}",
                    key=True,
                )
            elif not isinstance(entries, list) or not entries:
                self._wrong((key,), "a list with at least one entry is needed here")
            elif len(entries) > MAX_ENTRIES:
                self._wrong((key,), f"{len(entries):,} entries; the limit is {MAX_ENTRIES:,}")
            elif key == "patterns":
                patterns += [
                    rule
                    for n, entry in enumerate(entries)
                    if (rule := self._pattern((key, n), entry))
                ]
            else:
                for n, entry in enumerate(entries):
                    literals += self._literals((key, n), entry)
        self._twice(literals)
        # first, because the last of two literals with equal letters is used: the listed one
        return [*self._spelled, *literals], patterns

    def _literals(self, path: FieldPath, entry: Any) -> list[LiteralRule]:
        kind, label = str(path[0]), KEYS[str(path[0])]
        if isinstance(entry, dict):
            if not set(entry) <= {"text", "as"} or "text" not in entry:
                self._wrong(path, "an entry has `text` and may have `as`")
                return []
            label, entry = self._label((*path, "as"), entry.get("as", label)), entry["text"]
        self._counts[label] += 1
        instead = f"[{label}-{self._counts[label]}]"
        literals = []
        for text in entry if isinstance(entry, list) else [entry]:
            if not isinstance(text, str):
                self._wrong(path, "text is needed here; put a number in quotes, such as '0042'")
                continue
            literal = LiteralRule.of(text, instead, is_name=kind == "names")
            if _length(text) < SHORTEST[kind]:
                self._wrong(
                    path,
                    f"too short: {SHORTEST[kind]} letters or digits at least, or half the text"
                    " would be masked",
                )
                continue
            literals.append(literal)
            if literal.is_name:
                literals += _last_name_first(text, instead)
                if (spelled := spelled_out(text)) != text:
                    self._spelled.append(LiteralRule.of(spelled, instead, is_name=True))
                    self._spelled += _last_name_first(spelled, instead)
        return literals

    def _pattern(self, path: FieldPath, entry: Any) -> PatternRule | None:
        if (
            not isinstance(entry, dict)
            or set(entry) != {"pattern", "as"}
            or not isinstance(entry["pattern"], str)
        ):
            self._wrong(
                path,
                "`pattern` (a regular expression) and `as` (a word such as MRN) are needed here",
            )
            return None
        problem = pattern_problem(entry["pattern"])
        if problem is None and _matches_nothing(entry["pattern"]):
            problem = "the pattern matches an empty text; it must match at least one character"
        if problem is not None:
            self._wrong((*path, "pattern"), problem)
            return None
        return PatternRule(entry["pattern"], self._label((*path, "as"), entry["as"]))

    def _label(self, path: FieldPath, label: Any) -> str:
        if isinstance(label, str) and _LABEL.fullmatch(label):
            return label
        self._wrong(path, "use a word in capitals of at most 20 characters, such as PATIENT or MRN")
        return "X"

    def _twice(self, literals: list[LiteralRule]) -> None:
        known: dict[str, str] = {}
        for literal in (one for one in literals if not one.comma_at):
            if known.setdefault(literal.letters, literal.instead) != literal.instead:
                self._wrong(
                    (),
                    f"{known[literal.letters]} and {literal.instead} are the same text; list it"
                    " once",
                )

    def _wrong(self, path: FieldPath, message: str, *, key: bool = False) -> None:
        place = self._document.place(path, key=key)
        name = "".join(
            f"[{part}]" if isinstance(part, int) else f".{part}" for part in path
        ).lstrip(".")
        field = "" if key else clean_line(name)
        self.problems.append(Problem(message, self._file, place.line, place.column, field))


def _last_name_first(text: str, instead: str) -> list[LiteralRule]:
    turned = LiteralRule.last_name_first(text, instead)
    return [] if turned is None else [turned]


def _length(text: str) -> int:
    """Return the number of letters and digits; a Korean syllable is one."""
    return sum(1 for character in unicodedata.normalize("NFC", text) if _folded(character))


def _matches_nothing(pattern: str) -> bool:
    return search(pattern, "") is not None
