"""Tables of phrases: one short rule a line, compared with one sentence in plain words."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from bioeval_tui.evaluation.guards.common import sentences

LONGEST = 80
"""Longer sentences, in words, are compared in pieces of this many words, so that no rule takes long."""
SHORT_WORDS = 2_000
"""Longer runs of letters, in characters, are cut: no language has such words."""

# "'d" is "had" as well, which no rule needs.
_CONTRACTIONS = (
    (re.compile(r"\bcan't\b|\bcannot\b"), "can not"),
    (re.compile(r"\bwon't\b"), "will not"),
    (re.compile(r"n't\b"), " not"),
    (re.compile(r"'m\b"), " am"),
    (re.compile(r"'re\b"), " are"),
    (re.compile(r"'ve\b"), " have"),
    (re.compile(r"'ll\b"), " will"),
    (re.compile(r"'d\b"), " would"),
    (re.compile(r"\blet's\b"), "let us"),
    (re.compile(r"\b(he|here|how|it|she|that|there|what|where|who)'s\b"), r"\1 is"),
)
# Words that change no rule's meaning: "I can certainly also help you" is "I can help you".
_ADVERBS = re.compile(
    r"\b(?:just|also|always|still|already|even|ever|now|very|quite|too|"
    r"(?!(?:app|bel|dai|ear|fami|f|ho|hour|ju|like|month|mul|on|re|rep|sup|ug|week)ly\b)\w+ly) "
)
_NAME = re.compile(r"[A-Z][A-Z_]+")


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence as it was written, and in `plain` words: lower case, without contractions and adverbs."""

    written: str
    plain: str

    @property
    def asks(self) -> bool:
        """Whether it is a question."""
        return self.plain.endswith("?")


def plain_sentences(text: str) -> Iterator[Sentence]:
    """Yield the sentences of a message."""
    for written in sentences(text):
        words = [word[:SHORT_WORDS] for word in written.replace("’", "'").lower().split()]
        for start in range(0, len(words), LONGEST):
            plain = " ".join(words[start : start + LONGEST])
            for contraction, spelled in _CONTRACTIONS:
                plain = contraction.sub(spelled, plain)
            yield Sentence(written, _ADVERBS.sub("", plain).rstrip(" \"'”*)"))


class Phrases:
    """A table of rules, of which one must match a sentence.

    Each line is one rule; a line that ends with `|` continues on the next, and a line that begins with `#` is a comment.
    A rule matches whole words. In it, a word in capitals stands for its entry in `words`, `…` for up to three words, and
    `*` at the end of a word for any ending.
    """

    def __init__(self, table: str, words: Mapping[str, str]) -> None:
        lines = (line.strip() for line in re.sub(r"\|\n\s*", "|", table).splitlines())
        rules = [self._compiled(line, words) for line in lines if line and not line.startswith("#")]
        self._pattern = re.compile("|".join(rules))

    @staticmethod
    def _compiled(rule: str, words: Mapping[str, str]) -> str:
        while _NAME.search(rule):
            rule = _NAME.sub(lambda name: f"(?:{words[name.group()]})", rule)
        rule = re.sub(r"(?<=[a-z])(?<!\\w)\*", r"\\w*", rule.replace("… ", r"(?:\w+ ){0,3}"))
        rule = re.sub(r"\((?!\?)", "(?:", rule)
        return rf"(?<!\w)(?:{rule})(?!\w)"

    def find(self, sentence: Sentence) -> str:
        """Return the plain words that a rule matches, or ''."""
        match = self._pattern.search(sentence.plain)
        return match.group() if match else ""
