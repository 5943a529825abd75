"""Print what the facts ledger and the guards find in nine languages, as the table of
docs/guards.md.

    uv run python scripts/language-rates.py [--show]

The messages are in tests/golden/guards/languages.jsonl. `--show` lists those that were missed or
wrongly found.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from bioeval_tui.guards.checks import check
from bioeval_tui.guards.content import newly_disclosed_facts
from bioeval_tui.jobs.models import EvaluationJob
from bioeval_tui.languages import LANGUAGES
from bioeval_tui.peers.goodbyes import only_goodbye
from bioeval_tui.peers.seams import EvaluatorView, TranscriptMessage, Violation

DATA = Path(__file__).parent.parent / "tests" / "golden" / "guards" / "languages.jsonl"


@dataclass
class LanguageRates:
    """Counts over the messages in one language; each pair is what was found, of how many."""

    name: str
    own_words: list[int] = field(default_factory=lambda: [0, 0])
    other_words: list[int] = field(default_factory=lambda: [0, 0])
    wrong: list[int] = field(default_factory=lambda: [0, 0])
    """Facts found in messages that do not give them."""
    withheld: list[int] = field(default_factory=lambda: [0, 0])
    """Messages that say a withheld fact in its own words, and are marked or void."""
    void: list[int] = field(default_factory=lambda: [0, 0])
    """Messages in role that are void, in conversations about any of the cases."""
    marked: list[int] = field(default_factory=lambda: [0, 0])
    role_swap: list[int] = field(default_factory=lambda: [0, 0])
    out_of_role: list[int] = field(default_factory=lambda: [0, 0])
    goodbyes: list[int] = field(default_factory=lambda: [0, 0])
    shown: list[str] = field(default_factory=list)

    @property
    def row(self) -> str:
        """The row of the table."""
        counts = (self.own_words, self.other_words, self.wrong, self.withheld, self.void,
            self.marked, self.role_swap,
                  self.out_of_role, self.goodbyes)  # fmt: skip
        return f"| {self.name} | {' | '.join(f'{found:,}/{of:,}' for found, of in counts)} |"

    def count(self, name: str, found: bool, said: str, *, wanted: bool = True) -> None:
        """Count one message; keep it if what was found is not what was wanted."""
        pair = getattr(self, name)
        pair[0] += found
        pair[1] += 1
        if found != wanted:
            self.shown.append(f"{self.name}, {name}: {said}")


def rates(half: str) -> list[LanguageRates]:
    """Return the rates of each language on one half of the messages, `first` or `second`."""
    rows = [json.loads(line) for line in DATA.read_text(encoding="utf-8").splitlines()]
    found = []
    for language in LANGUAGES:
        counts = LanguageRates(language.name)
        mine = [row for row in rows if row["language"] == language.code and row["half"] == half]
        cases = [row for row in mine if "case" in row]
        for case in cases:
            _facts(counts, case)
            _in_role(counts, case, cases)
        for row in mine:
            if "case" not in row:
                _roles(counts, row, cases[0]["facts"])
        found.append(counts)
    return found


@cache
def _job(facts: tuple[str, ...]) -> EvaluationJob:
    return EvaluationJob.model_validate(
        {
            "target": {"user": "ada", "chatbot": "bot"},
            "aspirationalAverage": 1.0,
            "tasks": (),
            "facts": facts,
        }
    )


def _view(facts: Sequence[str], *, supplied: bool, heard: Sequence[str] = ()) -> EvaluatorView:
    job = _job(tuple(facts))
    roles = ("user", "assistant")
    said = [
        TranscriptMessage(place + 1, roles[place % 2], text) for place, text in enumerate(heard)
    ]
    return EvaluatorView(
        job, "supplied" if supplied else "withheld", 1, job.facts if supplied else (), said
    )


def _facts(counts: LanguageRates, case: dict[str, Any]) -> None:
    """Count the facts that the ledger finds in each message of a case by itself."""
    facts = case["facts"]
    for name in ("own_words", "other_words", "none"):
        for place, said in enumerate(case[name]):
            given = newly_disclosed_facts(_view(facts, supplied=True), said, ())
            if name != "none":
                counts.count(name, place + 1 in given, f"{facts[place]!r} in {said!r}")
            for number, fact in enumerate(facts, start=1):
                if name == "none" or number != place + 1:
                    counts.count("wrong", number in given, f"{fact!r} in {said!r}", wanted=False)


def _in_role(counts: LanguageRates, case: dict[str, Any], cases: Sequence[dict[str, Any]]) -> None:
    """Count void and marked messages: each in a conversation with the facts of its case, and in one
    that withholds those of each other case.
    """
    for said in case["own_words"]:
        found = check(_view(case["facts"], supplied=False), said)
        counts.count("withheld", any(one.rule == "fact_withheld" for one in found), said)
    for said in (*case["own_words"], *case["other_words"], *case["none"]):
        views = [_view(case["facts"], supplied=True)]
        views += [_view(other["facts"], supplied=False) for other in cases if other is not case]
        for view in views:
            # Nobody asked here, and a number of its own case is told nowhere in another.
            others = {"fact_unasked"} if view.condition == "supplied" else {"invention"}
            found = [one for one in check(view, said) if one.rule not in others]
            counts.count("void", _has(found, "void"), f"{said!r}: {found}", wanted=False)
            counts.count("marked", _has(found, "mark"), f"{said!r}: {found}", wanted=False)


def _has(violations: Sequence[Violation], effect: str) -> bool:
    return any(one.effect == effect for one in violations)


def _roles(counts: LanguageRates, row: dict[str, Any], facts: Sequence[str]) -> None:
    for rule in ("role_swap", "out_of_role"):
        for said in row[rule]:
            found = {one.rule for one in check(_view(facts, supplied=True), said)}
            counts.count(rule, bool(found & {"role_swap", "out_of_role", "leak"}), said)
    for said in row["goodbyes"]:
        counts.count("goodbyes", only_goodbye(said), said)


def lines(found: Sequence[LanguageRates]) -> Iterator[str]:
    """Yield the table."""
    yield (
        "| language | facts in their own words | in other words | wrongly | withheld, noticed | in"
        " role, void | marked | plays the assistant | speaks of its prompt | goodbyes |"
    )
    yield "|---" * 10 + "|"
    yield from (one.row for one in found)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--show", action="store_true")
    show = parser.parse_args().show
    for half in ("first", "second"):
        found = rates(half)
        print(f"{half} half\n\n" + "\n".join(lines(found)))
        if show:
            print("\n".join(line for one in found for line in one.shown))


if __name__ == "__main__":
    main()
