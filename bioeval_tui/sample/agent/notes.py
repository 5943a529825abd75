"""Learns from a text that is sent to the knowledge service."""

from __future__ import annotations

import re

from bioeval_tui.sample.agent.facts import Knowledge
from bioeval_tui.sample.agent.language import read
from bioeval_tui.sample.agent.records import Medication, Records

_TAKES = re.compile(r"\b(?:takes?|taking|is on|am on|uses|prescribed|treated with)\b", re.IGNORECASE)
_LIVES = re.compile(r"\b(?:lives?|living|based|resides?|time ?zone)\b", re.IGNORECASE)
_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")


async def learn(user: str, text: str, knowledge: Knowledge, records: Records) -> list[str]:
    """Store the text, and the user's medications and time zone that it mentions; return what was learned."""
    await records.add_document(user, text)
    learned = []
    for sentence in _SENTENCE.split(text):
        said = read(sentence, knowledge)
        if said.drugs and _TAKES.search(sentence):
            for drug in said.drugs:
                dose = said.dose if len(said.drugs) == 1 else ""
                await records.put_medication(user, Medication(f"{user}-{drug}", drug, dose))
                learned.append(f"takes {drug} {dose}".strip())
        if said.zone and _LIVES.search(sentence):
            await records.set_time_zone(user, said.zone)
            learned.append(f"time zone {said.zone}")
    return learned
