"""What `check` says of personas that keep to rules, hold facts back or get them wrong: what no case
has, and what has no effect.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any

from bioeval_tui.base.text import clean_line, plural
from bioeval_tui.base.yaml_positions import Path as FieldPath
from bioeval_tui.evaluation.wiring.cases import CaseJob, Cases
from bioeval_tui.jobs.models import EvaluationJob
from bioeval_tui.peers.offline import HUMAN
from bioeval_tui.peers.persona_facts import draw_persona_facts
from bioeval_tui.record.persona_facts import value_pattern

MOST_CASES = 500
"""So many cases' lines are looked at."""


def change_facts(personas: Any) -> bool:
    """Return whether a persona of a job's data holds facts back, or gets them wrong."""
    return any(isinstance(one, dict) and one.get("facts") for one in _listed(personas))


def without_effect(personas: Any, kind: str) -> Iterator[tuple[FieldPath, str]]:
    """Yield which keys of the personas in a job's data have no effect, by who plays the user."""
    for index, persona in enumerate(_listed(personas)):
        if not isinstance(persona, dict):
            continue
        if persona.get("rules") and kind != "llm":
            yield (
                ("personas", index, "rules"),
                "no effect: only a model that plays the user is told them",
            )
        if persona.get("facts") and kind == HUMAN:
            yield ("personas", index, "facts"), "no effect: a person plays the user"


def wrong_facts(job: EvaluationJob, cases: Cases) -> Iterator[tuple[FieldPath, str]]:
    """Yield which facts and values of the personas no case has.

    Nothing is concluded from some of the cases.
    """
    if cases.count > len(cases.jobs):
        return
    for index, persona in enumerate(job.personas):
        facts = [case.job.facts for case in cases.jobs if case.persona == persona.name]
        if persona.facts is None or not facts:
            continue
        most = max(map(len, facts))
        held_back = persona.facts.holds_back
        for place, number in enumerate(held_back if isinstance(held_back, tuple) else ()):
            if number > most:
                yield (
                    ("personas", index, "facts", "holdsBack", place),
                    f"there is no fact {number}: the job has {plural(most, 'fact')}",
                )
        for right in persona.facts.wrong:
            if not any(map(value_pattern(right).search, chain.from_iterable(facts))):
                yield (
                    ("personas", index, "facts", "wrong", right),
                    f"no fact says “{clean_line(right, 60)}” as a whole value",
                )


def ambiguous(job: EvaluationJob, cases: Cases) -> Iterator[tuple[FieldPath, str]]:
    """Yield which wrong values stand in several places of a case's facts, all of which are told
    wrong: “5” is in “5 mg at 5 pm” twice.
    """
    for index, persona in enumerate(job.personas):
        facts = [case.job.facts for case in cases.jobs[:MOST_CASES] if case.persona == persona.name]
        for right in persona.facts.wrong if persona.facts is not None else ():
            found = next(filter(None, (_several_places(right, each) for each in facts)), "")
            if found:
                yield ("personas", index, "facts", "wrong", right), found


def _several_places(value: str, facts: Sequence[str]) -> str:
    """Return where in some facts a value stands, if in several places; else an empty text."""
    pattern = value_pattern(value)
    counts = {number: len(pattern.findall(fact)) for number, fact in enumerate(facts, start=1)}
    numbers = [number for number, count in counts.items() if count]
    if sum(counts.values()) < 2:
        return ""
    where = f"{counts[numbers[0]]} times in fact {numbers[0]}"
    if len(numbers) > 1:
        where = f"in facts {', '.join(map(str, numbers[:-1]))} and {numbers[-1]}"
    message = f"“{clean_line(value, 60)}” stands {where}, and each is told wrong: write more of it"
    followed = re.search(rf"{pattern.pattern}\s+\w+", facts[numbers[0] - 1], re.IGNORECASE)
    if followed is None:
        return message
    return f"{message}, such as {clean_line(followed[0], 80)}"


def lines_without_value(cases: Cases) -> Iterator[tuple[FieldPath, str]]:
    """Yield once each line of a script that tells a fact without the value that is to be wrong."""
    found = chain.from_iterable(map(_lines_without_value, cases.jobs[:MOST_CASES]))
    yield from dict.fromkeys(found)


def _lines_without_value(case: CaseJob) -> Iterator[tuple[FieldPath, str]]:
    job = case.job
    drawn = draw_persona_facts(job, 0, 1, range(1, len(job.facts) + 1))
    if drawn is None or job.evaluator.kind != "scripted":
        return
    for index, line in enumerate(job.evaluator.lines):
        for each in drawn.wrong_of(line.fact or 0):
            if not value_pattern(each.right).search(line.say):
                yield (
                    ("evaluator", "lines", index),
                    f"tells fact {each.fact} without “{clean_line(each.right, 60)}”, which the"
                    f" persona {clean_line(case.persona, 60)} gets wrong: it is said as it stands",
                )


def _listed(value: Any) -> list[Any]:
    if isinstance(value, list):
        return value
    return []
