"""Replaces what tells who a person is in what real users wrote, before it becomes a case: by words,
such as EMAIL_1.

It knows e-mail addresses, telephone and other long numbers, and names with which people introduce
themselves. Any other name is masked only if `--redact` lists it.
"""

from __future__ import annotations

import re
from collections.abc import Callable

_NAME = r"[^\W\d_a-z][\w'’-]+"
_PATTERNS = (
    ("EMAIL", re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+")),
    # Of dates, doses and measured values, none is as long, or begins and is separated as telephone
    # numbers are.
    (
        "NUMBER",
        re.compile(
            r"(?<![\w.])(?:(?:\+\d|0\d|\(\d)(?:[ ()-]{0,2}\d){7,}|\d{3}[-. ]\d{3}[-."
            r" ]\d{4}|(?:[A-Z]{2,4}[- ]?)?\d{6,})(?!\w)"
        ),
    ),
)
_INTRODUCED = (
    re.compile(
        r"\b(?i:my name is|my name's|ich heiße|mein name ist|je m['’]appelle|me llamo)"
        rf"\s+({_NAME}(?:\s+{_NAME}){{0,2}})"
    ),
    # One word may be anything: “I am American”.
    re.compile(rf"\b(?i:i am|i['’]m|this is|ich bin|je suis|soy)\s+({_NAME}(?:\s+{_NAME}){{1,2}})"),
)
_SHORTEST = 3
"""Minimum number of characters of a part of a name that is replaced alone."""


class Persons:
    """The words for the persons of one conversation: the same one for the same address, number or
    name.
    """

    def __init__(self) -> None:
        self._words: dict[str, str] = {}
        self._counts: dict[str, int] = {}
        self._names: list[tuple[re.Pattern[str], str]] = []

    @property
    def found(self) -> int:
        """How many addresses, numbers and persons were replaced."""
        return len(self._words)

    def learn(self, text: str) -> None:
        """Note the names with which somebody introduces himself in a text, to replace them in
        all.
        """
        for pattern in _INTRODUCED:
            for match in pattern.finditer(text):
                name = match[1]
                parts = [part for part in name.split() if len(part) >= _SHORTEST]
                wanted = "|".join(map(re.escape, [name, *parts]))
                if name not in self._words:
                    self._names.append(
                        (re.compile(rf"\b(?:{wanted})\b"), self._word("PERSON", name))
                    )

    def masked(self, text: str) -> str:
        """Return a text with these words instead."""
        for kind, pattern in _PATTERNS:
            text = pattern.sub(self._replace(kind), text)
        for pattern, word in self._names:
            text = pattern.sub(word, text)
        return text

    def _replace(self, kind: str) -> Callable[[re.Match[str]], str]:
        return lambda match: self._word(kind, match[0])

    def _word(self, kind: str, value: str) -> str:
        if value not in self._words:
            self._counts[kind] = self._counts.get(kind, 0) + 1
            self._words[value] = f"{kind}_{self._counts[kind]}"
        return self._words[value]
