"""The agent's German and Chinese: what it understands of a reminder, in the English of its rules,
and its answers.

It is a phrasebook, so that the rules exist once. What is not in it is answered as not understood,
in the language asked in.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

Replacements = Sequence[tuple[str, str]]
"""Patterns, and what stands instead."""


@dataclass(frozen=True)
class Phrasebook:
    """One language. `begins` recognises a message in it."""

    begins: re.Pattern[str]
    understood: Replacements
    answers: Replacements
    not_understood: str

    def translate(self, text: str) -> str:
        """Return a message in the words that the rules know."""
        for pattern, english in self.understood:
            text = re.sub(pattern, english, text, flags=re.IGNORECASE)
        return text

    def translated(self, answer: str) -> str:
        """Return an answer of the rules in this language."""
        for pattern, words in self.answers:
            if match := re.match(pattern, answer, re.DOTALL):
                return match.expand(words)
        return self.not_understood


_DONE = (
    r"Done: I'll remind you to take (?P<drug>[\w-]+)(?: (?P<dose>\d[\w. ]*?))? on \w+ (?P<day>\d+"
    r" \w+ \d+) at (?P<time>[\d:]+) "
    r"\((?:\w+, )?(?P<zone>[\w/]+)\)"
)

_WORD = (
    "(?:ich|sie|mich|danke|tschüss|und|nicht|bitte|wie|welche|sich|mir|uns|der|das|ist|sind"
    "|wohne|nehme|möchte|sich)"
)
GERMAN = Phrasebook(
    # Two words, because one may be a name.
    re.compile(
        rf"^\W*(?:hallo|guten (?:tag|morgen|abend))\b|\b{_WORD}\b.*\b{_WORD}\b", re.IGNORECASE
    ),
    (
        (
            (
                r"(?:können|könnten) sie mich (?:bitte )?(morgen um \d{1,2}) uhr an ([\w-]+)"
                r" erinnern\?*"
            ),
            r"remind me to take \2 \1",
        ),
        (r"\bmorgen um\b", "tomorrow at"),
        (r"\bich wohne in\b", "I live in"),
        (
            (
                r"\bdas (?:möchte|will) ich (?:lieber )?nicht sagen\b|\bdas weiß ich (?:leider"
                r" )?nicht\b"
            ),
            "I'd rather not say",
        ),
        (r"\bes sind\b", "It is"),
        (r"\bverträgt sich ([\w-]+) mit ([\w-]+)\?*", r"does \1 interact with \2?"),
        (r"\b(?:hallo|guten (?:tag|morgen|abend))\b", "hello"),
        (r"\b(?:vielen )?danke?\b|\btschüss\b|\bauf wiedersehen\b", "thanks"),
    ),
    (
        (
            r"Hello\.",
            (
                "Guten Tag. Ich bin ein kleiner Beispielassistent mit festen Regeln. Was kann ich"
                " für Sie tun?"
            ),
        ),
        (r"Which time zone", "In welcher Zeitzone sind Sie? Eine Stadt genügt."),
        (
            r"I don't know that place",
            "Diesen Ort kenne ich nicht. Welche größere Stadt liegt in derselben Zeitzone?",
        ),
        (
            r"Which dose of (?P<drug>[\w-]+)",
            r"Welche Dosis \g<drug> nehmen Sie? Ich schreibe sie in die Erinnerung.",
        ),
        (
            r"I can't set a reminder",
            "Ohne Ihre Zeitzone kann ich keine Erinnerung einrichten. Es wurde nichts gespeichert.",
        ),
        (
            _DONE,
            (
                r"Erledigt: Ich erinnere Sie am \g<day> um \g<time> Uhr (\g<zone>) an \g<drug>"
                r" \g<dose>."
            ),
        ),
        (
            r".*\bbleeding\b",
            (
                "Beide zusammen erhöhen das Risiko einer Blutung. Bitte fragen Sie in Ihrer"
                " Apotheke nach."
            ),
        ),
        (r"You are welcome", "Gern geschehen."),
        (r"At what time", "Um wie viel Uhr, und an welchem Tag?"),
    ),
    "Das habe ich nicht verstanden, weil ich nur festen Regeln folge. Fragen Sie mich nach einer"
    " Erinnerung.",
)

CHINESE = Phrasebook(
    re.compile("[\u4e00-\u9fff]"),
    (
        (r".*请.*提醒我明天早上九点吃华法林.*", "remind me to take warfarin tomorrow at 9"),
        ("我住在", "I live in "),
        ("上海", "Shanghai"),
        ("悉尼", "Sydney"),
        (".*(?:不想说|不知道|不清楚).*", "I'd rather not say"),
        (r"(\d+)\s*毫克", r"\1 mg"),
        ("华法林和布洛芬能一起吃吗.?", "does warfarin interact with ibuprofen?"),
        ("你好|您好", "hello"),
        ("谢谢|再见", "thanks"),
    ),
    (
        (r"Hello\.", "您好！我是一个按固定规则工作的示例助手。请问有什么可以帮您？"),
        (r"Which time zone", "请问您在哪个时区？告诉我城市就行。"),
        (r"I don't know that place", "我不认识这个地方。同一时区里有哪个大城市？"),
        (r"Which dose of ", "请问华法林的剂量是多少？我会写进提醒里。"),
        (r"I can't set a reminder", "没有您的时区，我无法设置提醒。什么都没有保存。"),
        (_DONE, r"好的，已设置提醒：\g<day> \g<time>（\g<zone>）服用华法林 \g<dose>。"),
        (r".*\bbleeding\b", "这两种药一起吃会增加出血的风险，请咨询药剂师。"),
        (r"You are welcome", "不客气。"),
        (r"At what time", "请问是哪一天、几点？"),
    ),
    "我没有听懂，因为我只按固定规则工作。您可以让我设置提醒。",
)


def find_phrasebook(text: str) -> Phrasebook | None:
    """Return the phrasebook of the language that a message is in; None if it is neither German nor
    Chinese.
    """
    return next((book for book in (CHINESE, GERMAN) if book.begins.search(text)), None)
