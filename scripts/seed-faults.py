#!/usr/bin/env python3
"""Put faults into conversations that nobody here wrote, and count how many of them the guards find.

    uv run python scripts/seed-faults.py [--symptomcheck FILE ...] [--transcripts FILE ...] [--half
    first|second] [--seed N]

CRAFT-MD and τ-bench are in tests/golden/guards. FILE is one of SymptomCheck's runs
(github.com/medaks/symptomcheck-bench at 36c80b4, symptomcheck_bench/results/medask_eval/nov24), or
conversations in the format of `bioeval-tui guards`, each with a vignette.

Every conversation gets at most one fault of each kind, in one of its messages, drawn with a seed.
The conversations are split by their place: the rules were written with the first half (and
`WORDINGS` of the first half) in view, the second half and its wordings are what to read. A fault
counts as found if a rule of its kind finds it in that message. What the guards find in the
conversations as they were published counts as false, except in messages that are labelled as out of
role.
"""

from __future__ import annotations

import argparse
import io
import json
import random
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bioeval_tui.guards.checks import Hit, check_transcripts

DATA = Path(__file__).parent.parent / "tests" / "golden" / "guards"
HALVES = ("first", "second")
Messages = list[dict[str, str]]


@dataclass(frozen=True)
class Conversation:
    """One published conversation; `told` is what its user knows, `labelled` are messages known to
    be faulty.
    """

    id: str
    told: str
    messages: Messages
    labelled: frozenset[int] = frozenset()

    @property
    def turns(self) -> list[int]:
        """The places (from 0) of the user's messages that answer the agent."""
        return [
            place
            for place, message in enumerate(self.messages)
            if place
            and message["role"] == "user"
            and self.messages[place - 1]["role"] == "assistant"
        ]


@dataclass(frozen=True)
class Source:
    """All conversations of one origin."""

    name: str
    conversations: Sequence[Conversation]


# Some from public games, scripts and chat logs, some made up; the second half was written before
# any rule read it.
WORDINGS: Mapping[str, Mapping[str, Sequence[str]]] = {
    "stage direction": {
        "first": (
            "*sighs*", "*shakes head*", "(pauses)", "*coughs weakly*", "[nods]", "*looks away*",
            "(clears throat)",
            "*takes a deep breath*", "*rubs her temples*", "(laughs nervously)",
            "*thinks for a moment*", "*frowns*",
        ),
        "second": (
            "*nods slowly*", "*stares at ceiling*", "*leans back*", "(winks)", "[sigh]",
            "*sips black coffee*",
            "*settles closer, showing trust*", "*shifts uncomfortably in the chair*",
            "(voice trembling)",
            "*typing…*", "*glances at the clock*", "[long pause]",
        ),
    },
    "out of role": {
        "first": (
            "As the patient, I would say:", "Patient:", "Based on my character's profile,",
            "Sure! Here is the next message:",
            "The patient would answer:", "In this scenario,", "As an AI playing a user,", "User:",
        ),
        "second": (
            "Speaking as the patient:", "According to my persona,",
            "Here's what the user would say next:",
            "Staying in character:", "As a simulated patient, I'd reply:", "The patient replies:",
            "**Patient**:",
            "Okay, playing the role of the patient now.",
        ),
    },
    "narrates tasks": {
        "first": (
            "Task 1 is done. Moving on to task 2.", "That completes my first task.", "Next task:",
            "Now for the second item on my list.",
            "My next task is this.", "Task 2:",
        ),
        "second": (
            "Okay, the first task has been dealt with, so on to the next one.",
            "Task one complete.", "I can now go to task 3.",
            "Moving to the next item on my list.", "That was the last of my tasks.",
            "Proceeding with task 2.",
        ),
    },
    "gave up": {
        "first": (
            "Forget it, I give up.", "Never mind, I'll figure it out.", "This is pointless.",
            "You're not helping, I'm done.",
            "I don't want to talk about this anymore.", "Never mind.",
            "I'll just ask somebody else.",
        ),
        "second": (
            "Forget it, I'm leaving!", "This is going nowhere.", "Never mind, I'll think about it.",
            "Okay, whatever. I give up on this.",
            "I've had enough of this.", "Let's just drop it.", "I'm wasting my time here.",
            "Actually, never mind.",
        ),
    },
}  # fmt: skip
CLOSINGS = {
    "first": (
        "You're welcome! Have a great day!",
        "Take care, and don't hesitate to come back.",
        "Goodbye!",
    ),
    "second": (
        "You're very welcome. Goodbye, and all the best!",
        "My pleasure. Is there anything else I can help you with?",
        "Bye! Stay safe.",
    ),
}
RULES = {
    "swapped roles": {"role_swap"},
    "altered value": {"contradiction", "invention"},
    "cut end": {"early_signoff"},
    "never ends": {"never_ended"},
    "repeats": {"repetition"},
    "stage direction": {"out_of_role"},
    "out of role": {"out_of_role", "leak"},
    "narrates tasks": {"out_of_role"},
    "gave up": {"gave_up"},
}
"""The kinds of faults, and the rules that claim to find them."""
FREE = {*(rule for rules in RULES.values() for rule in rules), "non_answer"}


class Seeder:
    """Puts faults into the conversations of one half of a source."""

    def __init__(self, source: Source, half: str, goodbyes: Sequence[str], seed: int) -> None:
        self.name, self.half, self._seed = source.name, half, seed
        self.conversations = source.conversations[HALVES.index(half) :: 2]
        self._goodbyes = goodbyes
        self._random = random.Random()
        self._agents = [
            (one.id, message["content"])
            for one in self.conversations
            for message in one.messages[1:-1]
            if message["role"] == "assistant" and len(message["content"].split()) >= 6
        ]
        self._ways: dict[str, Callable[[Conversation], tuple[Messages, int] | None]] = {
            "swapped roles": self._swapped,
            "altered value": self._altered,
            "cut end": self._cut,
            "never ends": self._endless,
            "repeats": self._repeated,
        }

    def seeded(self, kind: str) -> Iterator[tuple[Conversation, Messages, int]]:
        """Yield each conversation that can have the fault, up to and with the faulty message, and
        that message's place.
        """
        self._random.seed(f"{self.name} {self.half} {kind} {self._seed}")
        for one in self.conversations:
            made = self._ways[kind](one) if kind in self._ways else self._worded(one, kind)
            if made is not None:
                yield one, *made

    def _said(self, one: Conversation, place: int, words: str) -> tuple[Messages, int]:
        return [*one.messages[:place], {"role": "user", "content": words}], place

    def _swapped(self, one: Conversation) -> tuple[Messages, int] | None:
        if not one.turns:
            return None
        other = self._random.choice([words for owner, words in self._agents if owner != one.id])
        return self._said(one, self._random.choice(one.turns), other)

    def _repeated(self, one: Conversation) -> tuple[Messages, int] | None:
        long = [place for place in one.turns if len(one.messages[place]["content"].split()) >= 6]
        if len(long) < 2:
            return None
        first, *later = long
        return self._said(one, self._random.choice(later), one.messages[first]["content"])

    def _altered(self, one: Conversation) -> tuple[Messages, int] | None:
        options = [(place, words) for place in one.turns for words in self._alterations(one, place)]
        return self._said(one, *self._random.choice(options)) if options else None

    def _alterations(self, one: Conversation, place: int) -> Iterator[str]:
        """Yield the user's message with one value that it was told replaced by another."""
        text, told = one.messages[place]["content"], one.told.lower()
        before = "\n".join([told, *(m["content"].lower() for m in one.messages[:place])])
        for match in _VALUE.finditer(text):
            value, unit = match["number"].lower(), match["unit"].lower().rstrip("s")
            if not _told(value, unit, told):
                continue
            number = _NUMBERS.index(value) if value in _NUMBERS else int(value)
            for new in self._random.sample(
                [number + 1, number + 3, 2 * number + 1, 3 * number + 2], 4
            ):
                if unit in ("am", "pm") and new > 12:
                    continue
                spelled = _NUMBERS[new] if value in _NUMBERS and new < len(_NUMBERS) else str(new)
                if not _told(spelled, unit, before):
                    yield text[: match.start("number")] + spelled + text[match.end("number") :]
                    break
        for match in _SIDE.finditer(text):
            side, part = match["side"].lower(), match["part"].lower()
            other = "right" if side == "left" else "left"
            if f"{side} {part}" in told and f"{other} {part}" not in before:
                yield text[: match.start("side")] + other + text[match.end("side") :]

    def _cut(self, one: Conversation) -> tuple[Messages, int] | None:
        """Say goodbye where the agent has just asked for something."""
        asked = [
            place
            for place in one.turns[:-1]
            if one.messages[place - 1]["content"].rstrip().endswith("?")
            and not re.search(
                r"anything else|would you like|help you", one.messages[place - 1]["content"], re.I
            )
        ]
        if not asked:
            return None
        return self._said(one, self._random.choice(asked), self._random.choice(self._goodbyes))

    def _endless(self, one: Conversation) -> tuple[Messages, int] | None:
        goodbyes = self._random.sample(self._goodbyes, 3)
        messages = [*one.messages]
        if messages[-1]["role"] == "user":
            messages.append(
                {"role": "assistant", "content": self._random.choice(CLOSINGS[self.half])}
            )
        for number, goodbye in enumerate(goodbyes):
            if number:
                messages.append(
                    {"role": "assistant", "content": self._random.choice(CLOSINGS[self.half])}
                )
            messages.append({"role": "user", "content": goodbye})
        return messages, len(messages) - 1

    def _worded(self, one: Conversation, kind: str) -> tuple[Messages, int] | None:
        if not one.turns:
            return None
        place, words = (
            self._random.choice(one.turns),
            self._random.choice(WORDINGS[kind][self.half]),
        )
        text = one.messages[place]["content"]
        if kind == "gave up":
            return self._said(one, place, words)
        behind = kind == "stage direction" and self._random.random() < 0.5
        return self._said(one, place, f"{text} {words}" if behind else f"{words} {text}")


_NUMBERS = re.findall(
    r"\w+",
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen"
    " sixteen seventeen eighteen nineteen twenty",
)
_UNIT = (
    r"years?|months?|weeks?|days?|hours?|minutes?|mg|kg|pounds?|percent|packs?|drinks?|beers?"
    r"|cigarettes?|bags?|passengers?|am|pm"
)
_VALUE = re.compile(
    rf"(?<![\w.,-])(?P<number>\d{{1,3}}|{'|'.join(_NUMBERS[1:])})[ -]?(?P<unit>{_UNIT})\b",
    re.IGNORECASE,
)
_SIDE = re.compile(r"\b(?P<side>left|right) (?P<part>[a-z]{3,})\b", re.IGNORECASE)


def _told(value: str, unit: str, text: str) -> bool:
    """Return whether a text has the value, in digits or as a word, with its unit."""
    spelled = {value}
    if value in _NUMBERS:
        spelled.add(str(_NUMBERS.index(value)))
    elif int(value) < len(_NUMBERS):
        spelled.add(_NUMBERS[int(value)])
    return re.search(rf"(?<![\w.])(?:{'|'.join(spelled)})[ -]?{unit}", text) is not None


def sources(symptomcheck: Sequence[Path]) -> list[Source]:
    """Return the published conversations."""
    labels = defaultdict(set)
    for row in map(
        json.loads, (DATA / "craft-md-labels.jsonl").read_text(encoding="utf-8").splitlines()
    ):
        labels[row["id"]].add(row["message"])
    found = []
    for name, file in (
        ("CRAFT-MD", "craft-md-gpt4.jsonl"),
        ("τ-bench", "tau-bench-gpt-4o-airline.jsonl"),
    ):
        rows = map(json.loads, (DATA / file).read_text(encoding="utf-8").splitlines())
        found.append(
            Source(
                name,
                [
                    Conversation(
                        row["id"], row["vignette"], row["messages"], frozenset(labels[row["id"]])
                    )
                    for row in rows
                ],
            )
        )
    for path in symptomcheck:
        given = json.loads(path.read_text(encoding="utf-8"))
        found.append(Source(f"SymptomCheck {path.stem}", list(_symptomcheck(path.stem, given))))
    return found


def _transcripts(path: Path) -> Source:
    rows = map(json.loads, path.read_text(encoding="utf-8").splitlines())
    return Source(
        path.stem, [Conversation(row["id"], row["vignette"], row["messages"]) for row in rows]
    )


def _symptomcheck(name: str, given: Mapping[str, Any]) -> Iterator[Conversation]:
    roles = {"USER": "user", "ASSISTANT": "assistant"}
    for number, (chat, vignette) in enumerate(
        zip(given["chats"][0], given["vignettes"], strict=True)
    ):
        told = [
            str(text)
            for key, text in vignette["data"].items()
            if key != "correct_diagnosis" and text != "-"
        ]
        messages = [
            {"role": roles[message["role"]], "content": message["body"]}
            for message in chat["messages"]
            if message["role"] in roles
        ]
        yield Conversation(f"{name} {number}", "\n".join(told), messages)


def hits(conversations: Sequence[tuple[str, str, Messages]]) -> dict[str, dict[int, list[Hit]]]:
    """Return what the guards find, by the conversation's id and the message's number."""
    lines = (
        json.dumps({"id": i, "vignette": told, "messages": said}) for i, told, said in conversations
    )
    found: dict[str, dict[int, list[Hit]]] = defaultdict(lambda: defaultdict(list))
    for hit in check_transcripts(io.BytesIO("\n".join(lines).encode()), "seeded"):
        if isinstance(hit, Hit):
            found[hit.id][hit.message].append(hit)
        elif isinstance(hit, Exception):
            raise hit
    return found


def main() -> None:
    """Print one table of what was found, and one of what was found wrongly."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--symptomcheck", type=Path, nargs="*", default=[], metavar="FILE")
    parser.add_argument("--transcripts", type=Path, nargs="*", default=[], metavar="FILE")
    parser.add_argument("--half", choices=HALVES, default="second")
    parser.add_argument(
        "--seed",
        type=int,
        default=0,
        help="draws other messages, values and words (the default is 0)",
    )
    parser.add_argument(
        "--show", choices=[*RULES, "false"], help="list what was missed, or found wrongly"
    )
    options = parser.parse_args()
    origins = [*sources(options.symptomcheck), *map(_transcripts, options.transcripts)]
    goodbyes = _goodbyes(origins[1], options.half)
    print(
        f"| seeded fault ({options.half} half) | " + " | ".join(one.name for one in origins) + " |"
    )
    print("|---" * (len(origins) + 1) + "|")
    seeders = [Seeder(one, options.half, goodbyes, options.seed) for one in origins]
    shown = []
    for kind, rules in RULES.items():
        if options.show not in (None, kind):
            continue
        cells = []
        for seeder in seeders:
            seeded = list(seeder.seeded(kind))
            found = hits([(str(n), one.told, said) for n, (one, said, _) in enumerate(seeded)])
            count = 0
            for number, (one, said, place) in enumerate(seeded):
                ok = any(hit.rule in rules for hit in found[str(number)][place + 1])
                count += ok
                if not ok and options.show == kind:
                    shown.append(
                        f"{one.id}: {said[place - 1]['content'][-200:]!r} →"
                        f" {said[place]['content']!r}"
                    )
            share = f" ({count / len(seeded):.0%})" if seeded else ""
            cells.append(f"{count} of {len(seeded)}{share}")
        print(f"| {kind} | " + " | ".join(cells) + " |")
    print()
    if options.show in (None, "false"):
        _false(seeders, options.show == "false")
    print("\n".join(shown))


def _goodbyes(tau: Source, half: str) -> list[str]:
    """Return the last messages of τ-bench's customers that only say goodbye, by reading them."""
    last = (one.messages[-1] for one in tau.conversations[HALVES.index(half) :: 2])
    texts = (m["content"].replace("###STOP###", "").strip() for m in last if m["role"] == "user")
    goodbye = re.compile(
        r"(?=.*\b(?:that's (?:all|everything)|great day|good day|take care|all set|bye|you too)\b)",
        re.I | re.S,
    )
    asks = re.compile(r"\?|\bplease\b|\btransfer\b", re.I)
    return sorted({text for text in texts if goodbye.search(text) and not asks.search(text)})


def _false(seeders: Sequence[Seeder], show: bool) -> None:
    print("| found in messages as published | " + " | ".join(one.name for one in seeders) + " |")
    print("|---" * (len(seeders) + 1) + "|")
    rows: dict[str, list[str]] = defaultdict(list)
    shown = []
    for seeder in seeders:
        whole = [(one.id, one.told, one.messages) for one in seeder.conversations]
        found, counts, messages, void = hits(whole), Counter[str](), 0, 0
        for one in seeder.conversations:
            for place, message in enumerate(one.messages, start=1):
                if message["role"] != "user" or place in one.labelled:
                    continue
                messages += 1
                mine = [hit for hit in found[one.id][place] if hit.rule in FREE]
                counts.update({hit.rule for hit in mine})
                counts["any but non_answer"] += any(hit.rule != "non_answer" for hit in mine)
                void += any(hit.effect == "void" for hit in mine)
                for hit in mine if show else ():
                    before = one.messages[place - 2]["content"][-160:]
                    shown.append(
                        f"{hit.rule}/{hit.effect} {one.id} {place}: {before!r} →"
                        f" {message['content'][:300]!r} ({hit.detail})"
                    )
        for name in (*sorted(FREE), "any but non_answer"):
            rows[name].append(f"{counts[name]} of {messages:,} ({counts[name] / messages:.2%})")
        rows["void"].append(f"{void} of {messages:,} ({void / messages:.2%})")
    for name, cells in rows.items():
        print(f"| {name} | " + " | ".join(cells) + " |")
    print("\n".join(shown))


if __name__ == "__main__":
    main()
