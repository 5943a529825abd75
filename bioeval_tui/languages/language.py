"""What is known of a language: its words and endings, and the phrases by which a simulated user is
checked.

Everything is written as people write it and folded here, so that tables need no escapes and hold
with and without accents.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise

import regex

from bioeval_tui.languages.segments import folded, tokens

_SPECIAL = regex.compile(r"\\.|\(\?[:=!<]*|.", regex.DOTALL)
_GAP = {True: r"(?:[\w'-]+,? ){0,3}?", False: r".{0,8}?"}


class Phrases:
    """A table of phrases, one a line, which are found in a folded text as whole words.

    In a phrase, `…` stands for up to three words (eight letters in scripts without spaces), `*` at
    the end of a word for any ending, and `(a|b)`, `?` and lookarounds mean what they do in a
    pattern. A line that ends with `|` continues on the next; one that begins with `#` is a comment.
    """

    def __init__(self, table: str, *, spaced: bool = True) -> None:
        lines = (line.strip() for line in regex.sub(r"\|\n\s*", "|", table).splitlines())
        rules = [self._rule(line, spaced) for line in lines if line and not line.startswith("#")]
        self._pattern = regex.compile("|".join(rules)) if rules else None

    @staticmethod
    def _rule(line: str, spaced: bool) -> str:
        parts = _SPECIAL.findall(line)
        rule = "".join(part if part.isascii() or part == "…" else folded(part) for part in parts)
        rule = rule.replace("… ", _GAP[spaced]).replace("…", _GAP[spaced])
        rule = regex.sub(r"(?<=[\p{L}\p{M}])(?<!\\w)\*", r"[\\w'-]*", rule)
        rule = regex.sub(r"\((?!\?)", "(?:", rule)
        if spaced:
            return rf"(?<![\p{{L}}\p{{M}}\p{{N}}])(?:{rule})(?![\p{{L}}\p{{M}}\p{{N}}])"
        return f"(?:{rule})"

    def find(self, text: str) -> str:
        """Return the first phrase in a folded text, or ''."""
        match = self._pattern.search(text) if self._pattern else None
        return match.group() if match else ""

    def remove(self, text: str) -> str:
        """Return a folded text without the phrases."""
        return self._pattern.sub(" ", text) if self._pattern else text


@dataclass(frozen=True)
class Rules:
    """What the guards and the ledger know of a language.

    Tables are those of `Phrases`, lists are words with spaces between. In the words of `units`,
    `am` and `pm`, `_` is a space.
    """

    common: str
    """Words that are too common to identify a fact. A text is recognised by them, too."""
    numbers: Mapping[str, int]
    """Numbers in words, from 0 on."""
    units: Mapping[str, str]
    """Units, and all the words for each."""
    clock: Iterable[tuple[str, int | None]]
    """Patterns of clock times, in which `{h}` is the hour and `{n}` another number, and the minutes
    that they mean: before the hour if negative, as said in `m` if None.
    """
    am: str
    """Parts of the day before noon."""
    pm: str
    """Parts of the day from noon on."""
    months: str
    """The twelve months, other names of one joined by `|`."""
    weekdays: str
    """The seven days from Monday on."""
    unknowing: str
    """Says that one does not know, or will not tell."""
    requests: str
    """Asks for something without a question mark."""
    further: str
    """Goes on to something else: but, also."""
    offers: str
    """Offers help, which is no question."""
    farewells: str
    closings: str
    """Ends a conversation with other words than a farewell, such as "that's all"."""
    thanks: str
    helper: str
    """Plainly a helper's words: who it is, what it offers and what it did."""
    helping: str
    """What a helper says, and people seldom: questions to a patient, advice, sympathy."""
    sources: str
    """Speaks of a prompt, a vignette, instructions, or of being a model."""
    endings: str = ""
    """Endings that words of one stem have."""
    beginnings: str = ""
    """Articles and particles that are written as one word with the next."""
    forms: str = ""
    """Letters that begin forms of a verb: "I live", "she lives"."""
    spaced: bool = True
    """Whether there are spaces between words."""
    capitals: bool = False
    """Whether a capital within a sentence begins a name."""
    elides: bool = False
    """Whether an apostrophe ends an article or pronoun: l'aspirine."""


STEM = 6
"""Letters of a stem that count: allergisch and Allergie are of one stem."""
SHORTEST_STEM = 3


@dataclass(frozen=True)
class Language:
    """A language by its code (BCP 47) and English name.

    Without rules, guards and ledger cannot read it.
    """

    code: str
    name: str
    rules: Rules | None = field(default=None, repr=False, compare=False)

    @property
    def told(self) -> Rules:
        """The rules of a language that has some."""
        assert self.rules is not None
        return self.rules

    @cached_property
    def common(self) -> frozenset[str]:
        """The folded words that identify nothing."""
        if self.rules:
            return frozenset(folded(self.told.common).split())
        return frozenset()

    def phrases(self, name: str) -> Phrases:
        """Return a table of phrases of `Rules` by its name."""
        if name not in self._tables:
            table = getattr(self.rules, name) if self.rules else ""
            self._tables[name] = Phrases(table, spaced=self.rules.spaced if self.rules else True)
        return self._tables[name]

    @cached_property
    def _tables(self) -> dict[str, Phrases]:
        return {}

    def stem(self, word: str) -> str:
        """Return a folded word without its endings, cut to the letters by which stems are
        compared.
        """
        if self.rules is None:
            return word[:STEM]
        word = word[_longest(self._beginnings, len(word) - SHORTEST_STEM, word.startswith) :]
        word = word[: len(word) - _longest(self._endings, len(word) - SHORTEST_STEM, word.endswith)]
        word = word[_longest(self._forms, len(word) - SHORTEST_STEM, word.startswith) :]
        return word[:STEM]

    def keys(self, text: str) -> frozenset[str]:
        """Return the stems of all words of a text; of scripts without spaces, pairs of letters
        between common words.
        """
        return frozenset(key for key, _ in self.marked_keys(text))

    def marked_keys(self, text: str) -> Iterable[tuple[str, str]]:
        """Yield each stem that may identify something, and its word; of scripts without spaces, the
        letters.
        """
        letters: list[tuple[str, int, int]] = []
        for token in tokens(text):
            if token.spaced:
                yield from self._pairs(letters, text)
                letters = []
                word = token.key
                if self.rules is not None and self.rules.elides:
                    word = word.rpartition("'")[2] or word
                if len(word) > 1 and not word[0].isdigit():
                    yield self.stem(word), word
                continue
            if letters and letters[-1][2] != token.start:
                yield from self._pairs(letters, text)
                letters = []
            letters.append((token.key, token.start, token.end))
        yield from self._pairs(letters, text)

    def _pairs(self, letters: list[tuple[str, int, int]], text: str) -> Iterable[tuple[str, str]]:
        """Yield overlapping pairs of the letters that are left between common words; a letter alone
        as it is.
        """
        if not letters:
            return
        run = "".join(letter for letter, _, _ in letters)
        if len(run) != len(letters):  # letters with marks, which no common word of ours has
            run = "".join(letter[0] for letter, _, _ in letters)
        at = 0
        spans = []
        if self._common_pattern:
            spans = [match.span() for match in self._common_pattern.finditer(run)]
        for start, end in [*spans, (len(run), len(run))]:
            piece = letters[at:start]
            if len(piece) == 1 and not _is_kana(piece[0][0]):
                yield piece[0][0], text[piece[0][1] : piece[0][2]]
            for (one, begins, _), (two, _, ends) in pairwise(piece):
                yield one + two, text[begins:ends]
            at = end

    @cached_property
    def _common_pattern(self) -> regex.Pattern[str] | None:
        words = sorted((word for word in self.common if not word.isascii()), key=len, reverse=True)
        if words:
            return regex.compile("|".join(map(regex.escape, words)))
        return None

    @cached_property
    def _beginnings(self) -> tuple[str, ...]:
        return _longest_first(self.told.beginnings)

    @cached_property
    def _endings(self) -> tuple[str, ...]:
        return _longest_first(self.told.endings)

    @cached_property
    def _forms(self) -> tuple[str, ...]:
        return _longest_first(self.told.forms)


def _longest_first(parts: str) -> tuple[str, ...]:
    return tuple(sorted(folded(parts).split(), key=len, reverse=True))


def _longest(parts: Iterable[str], most: int, fits: Callable[[str], bool]) -> int:
    """Return the length of the longest part that fits, of at most so many letters; 0 if none
    does.
    """
    return next((len(part) for part in parts if len(part) <= most and fits(part)), 0)


def _is_kana(letter: str) -> bool:
    return "\u3040" <= letter[:1] <= "\u30ff"
