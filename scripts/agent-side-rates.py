"""Print how often the rules about agents are right, as the tables of docs/guards.md.

    uv run python scripts/agent-side-rates.py                          # what is in this repository
    uv run python scripts/agent-side-rates.py --tau FILE --craft FOLDER --symptomcheck FILE

FILE is tau-bench's historical_trajectories/gpt-4o-airline.json (MIT), with its tools' answers, and
one of symptomcheck-bench's results; FOLDER is a copy of rajpurkarlab/craft-md (MIT), from whose
results the samples were drawn. The labels of one reader are in
tests/golden/guards/agent-side-labels.jsonl.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

from bioeval_tui.guards.agent_side import (
    AGENT_RULES,
    AgentFinding,
    HeldMessage,
    HeldTalk,
    find_agent_faults,
    questions_to_compare,
)
from bioeval_tui.statistics.intervals import share_interval

GOLDEN = Path(__file__).parent.parent / "tests" / "golden" / "guards"
LABELS = GOLDEN / "agent-side-labels.jsonl"
CRAFT = GOLDEN / "craft-md-gpt4.jsonl"
HERE = "CRAFT-MD, GPT-4, 250 conversations"
SAMPLED = "CRAFT-MD, Llama 2"
Named = list[tuple[str, HeldTalk]]


@dataclass(frozen=True)
class Precision:
    """How many of the findings that were read are right."""

    rule: str
    source: str
    right: int
    read: int

    @property
    def row(self) -> str:
        """The row of the table."""
        low, high = share_interval(self.right / self.read, self.read).low, 1.0
        high = share_interval(self.right / self.read, self.read).high
        return (
            f"| `{self.rule}` | {self.source} | {self.right} of {self.read}"
            f" ({self.right / self.read:.0%}, {low:.0%} to {high:.0%}) |"
        )


@cache
def labels() -> tuple[dict[str, Any], ...]:
    """Return the labels of one reader."""
    return tuple(map(json.loads, LABELS.read_text(encoding="utf-8").splitlines()))


def precisions() -> list[Precision]:
    """Return the precision of each rule in each source, as labelled."""
    read, right = Counter[tuple[str, str]](), Counter[tuple[str, str]]()
    for label in labels():
        key = label["rule"], label["source"]
        read[key] += 1
        right[key] += label["right"]
    return [Precision(rule, source, right[rule, source], n) for (rule, source), n in read.items()]


def held(messages: Iterable[dict[str, Any]]) -> HeldTalk:
    """Return a conversation of messages with `role` and `content`."""
    return HeldTalk(
        tuple(
            HeldMessage(number, number // 2 + 1, one["role"], one["content"] or "")
            for number, one in enumerate(messages, start=1)
        )
    )


def craft_here() -> Named:
    """Return the conversations of CRAFT-MD in this repository."""
    rows = map(json.loads, CRAFT.read_text(encoding="utf-8").splitlines())
    return [(row["id"], held(row["messages"])) for row in rows]


def craft(folder: Path, model: str, start: int = 0, step: int = 1) -> Named:
    """Return a model's first conversations of every `step`-th case, from the place `start` on."""
    files = sorted((folder / "results" / model).iterdir(), key=lambda file: int(file.stem[5:]))
    found = []
    for file in files[start::step]:
        talk = json.loads(file.read_bytes())["trial_0"]["multiturn_conversation"]
        found.append((file.stem, held([one for one in talk if one["role"] != "system"])))
    return found


def tau(file: Path) -> Named:
    """Return the conversations of tau-bench with the policy and the tools' answers."""
    return [
        (f"{one['task_id']}-{one['trial']}", _tau_talk(one)) for one in json.loads(file.read_text())
    ]


def _tau_talk(one: dict[str, Any]) -> HeldTalk:
    messages: list[HeldMessage] = []
    told, shown, calls = [], [], []
    for said in one["traj"]:
        called = said.get("tool_calls") or []
        calls += [call["function"]["name"] for call in called]
        shown += [json.dumps(called)] if called else []
        if said["role"] == "system":
            told.append(said["content"])
        elif said["role"] == "tool":
            shown.append(said["content"] or "")
        elif said["role"] == "user" or said.get("content"):
            number = len(messages) + 1
            message = HeldMessage(number, number // 2 + 1, said["role"], said["content"] or "")
            if said["role"] == "assistant":
                message = replace(message, shown=tuple(shown), calls=tuple(calls))
                shown, calls = [], []
            messages.append(message)
    if calls:
        messages.append(HeldMessage(len(messages) + 1, 99, "assistant", "", calls=tuple(calls)))
    return HeldTalk(
        tuple(messages),
        told=tuple(told),
        shows_all=True,
        case=str(one["task_id"]),
        passed=one["reward"] == 1.0,
    )


def symptomcheck(file: Path) -> Named:
    """Return the conversations of a run of SymptomCheck."""
    roles = {"USER": "user", "ASSISTANT": "assistant"}
    return [
        (
            str(place),
            held(
                {"role": roles[one["role"]], "content": one["body"]}
                for one in talk["messages"]
                if one["role"] in roles
            ),
        )
        for place, talk in enumerate(json.loads(file.read_bytes())["chats"][0])
    ]


def found_in(named: Named) -> list[tuple[str, AgentFinding]]:
    """Return what all rules find, by conversation."""
    found = find_agent_faults([talk for _, talk in named])
    return [(name, one) for (name, _), own in zip(named, found, strict=True) for one in own]


def counts_row(source: str, named: Named) -> str:
    """Return how many messages of the agent each rule finds something in."""
    answers = sum(bool(one.text) for _, talk in named for one in talk.answers)
    found = found_in(named)
    by_rule = {
        rule: {(n, one.message) for n, one in found if one.rule == rule} for rule in AGENT_RULES
    }
    cells = " | ".join(str(len(messages)) for messages in by_rule.values())
    return f"| {source} | {answers:,} | {cells} |"


def planted_questions(named: Named) -> tuple[int, int]:
    """Ask a question of each conversation again at its end; return how many were found, of how
    many.
    """
    random, found, planted = Random(1), 0, 0
    for _, talk in named:
        asked = [
            (place, question)
            for place, message in enumerate(talk.messages[:-2])
            if message.role == "assistant"
            for question in questions_to_compare(message.text)
        ]
        if not asked:
            continue
        _, question = random.choice(asked)
        number = talk.messages[-1].number + 1
        more = HeldMessage(number, number, "assistant", f"Thank you. {question}")
        again = replace(talk, messages=(*talk.messages, more))
        hits = find_agent_faults([again])[0]
        planted += 1
        found += any(hit.message == number for hit in hits)
    return found, planted


def planted_numbers(named: Named) -> tuple[int, int]:
    """Change a number above 12 in an answer of each conversation; return how many were found, of
    how many.
    """
    from bioeval_tui.guards.specifics import KnownNumbers, made_up_numbers

    random, found, planted = Random(1), 0, 0
    nothing = KnownNumbers(())
    for _, talk in named:
        places = [
            (place, sentence, numbers)
            for place, message in enumerate(talk.messages)
            if message.role == "assistant"
            for sentence in message.text.split("\n")
            if not sentence.endswith("?")
            and (numbers := made_up_numbers(sentence, lambda: nothing))
        ]
        if not places:
            continue
        place, sentence, numbers = random.choice(places)
        number = random.choice(numbers)
        other = str(random.randrange(10 ** (len(number) - 1), 10 ** len(number)))
        message = talk.messages[place]
        line = sentence.replace(number, other, 1)
        changed = replace(message, text=message.text.replace(sentence, line, 1))
        messages = (*talk.messages[:place], changed, *talk.messages[place + 1 :])
        hits = find_agent_faults([replace(talk, messages=messages)], [AGENT_RULES["unsaid"]])[0]
        planted += 1
        found += any(hit.message == message.number for hit in hits)
    return found, planted


def sampled(folder: Path) -> Iterator[str]:
    """Yield the findings that were drawn and read: a row of the file of labels each, without the
    label.
    """
    named = craft(folder, "llama2-7b", 3, 4)
    for rule in ("asks_again", "forgets"):
        own = [hit for hit in found_in(named) if hit[1].rule == rule]
        for name, one in Random(1).sample(own, min(40, len(own))):
            yield f"{rule} {name} {one.message} {one.detail}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tau", type=Path)
    parser.add_argument("--craft", type=Path)
    parser.add_argument("--symptomcheck", type=Path)
    parser.add_argument("--show", action="store_true", help="list what was drawn from --craft")
    options = parser.parse_args()
    for one in precisions():
        print(one.row)
    here = craft_here()
    print(counts_row(HERE, here))
    print("asked again at the end, found:", *planted_questions(here))
    if options.symptomcheck:
        print(counts_row("SymptomCheck, GPT-4o", symptomcheck(options.symptomcheck)))
        found = planted_questions(symptomcheck(options.symptomcheck))
        print("asked again at the end, found:", *found)
    if options.tau:
        print(counts_row("τ-bench airline, GPT-4o", tau(options.tau)))
        print("changed numbers, found:", *planted_numbers(tau(options.tau)))
    if options.craft:
        for model, name in (("gpt4_1106", "GPT-4"), ("gpt3_1106", "GPT-3.5"),
                            ("mistral-v2", "Mistral v2"), ("llama2-7b", "Llama 2")):  # fmt: skip
            print(
                counts_row(
                    f"CRAFT-MD, {name}, every fourth case", craft(options.craft, model, 3, 4)
                )
            )
        if options.show:
            print(*sampled(options.craft), sep="\n")


if __name__ == "__main__":
    main()
