"""Questions about drugs, their targets and their interactions."""

from __future__ import annotations

import re
from dataclasses import asdict
from itertools import chain

from bioeval_tui.sample.agent.facts import Interaction
from bioeval_tui.sample.agent.turn import DialogueTurn

_INTERACT = re.compile(
    r"\binteract\w*|\b(?:together|combine|combining|combination|mix|mixing|alongside)\b|"
    r"\b(?:can|could|may|should|is it"
    r" (?:safe|ok|okay|fine))\b[^.?!]{0,40}\b(?:take|taking|use|have)\b|\bsafe (?:to|with)\b",
    re.IGNORECASE,
)
_TARGET = re.compile(
    r"\b(?:targets?|targeting|inhibit\w*|acts? on|binds?|block\w*)\b", re.IGNORECASE
)
_DESCRIBE = re.compile(
    r"\b(?:what|how|tell me|explain|describe|about|mechanism|why|which class)\b", re.IGNORECASE
)
_IT = re.compile(r"\b(?:it|that|this drug|this one)\b", re.IGNORECASE)
_ASK_PHARMACIST = "Please ask your pharmacist or prescriber before you combine them."


def opens(turn: DialogueTurn) -> bool:
    """Return whether the message asks about drugs."""
    message = turn.message
    if message.matches(_INTERACT) and (message.drugs or message.groups or turn.state.drug):
        return True
    if message.matches(_TARGET) and (message.drugs or _targets(turn)):
        return True
    if not message.matches(_DESCRIBE):
        return False
    # Of a group it would have to ask for the drug, which would give up a question that is open.
    asks_of_group = bool(message.groups) and not turn.state.awaiting
    return bool(message.drugs) or asks_of_group


async def start(turn: DialogueTurn) -> str:
    """Answer a question about drugs."""
    message = turn.message
    if message.matches(_INTERACT):
        return await _interactions(turn)
    if message.matches(_TARGET) and not message.drugs:
        return _find_drugs(turn)
    if not message.drugs:
        return turn.ask("drug.which", f"Which {message.groups[0]} do you mean?")
    return _describe(turn, message.drugs[0])


async def proceed(turn: DialogueTurn) -> str:
    """Answer a message that says which drug was meant."""
    awaiting, turn.state.awaiting = turn.state.awaiting, None
    if turn.message.drugs:
        if awaiting == "drug.which":
            return _describe(turn, turn.message.drugs[0])
        return _pairs(turn, (*turn.state.pair, *turn.message.drugs))
    if awaiting == "drug.which" or not turn.state.pair:
        return "Without the drug's name I can't look it up."
    known = turn.state.pair[0]
    if (turn.message.declines or turn.message.no) and turn.guesses:
        return f"{known.capitalize()} is safe with most drugs, so you can take it."
    if turn.message.declines or turn.message.no:
        return (
            "Without the other drug's name I can't check it, and I won't guess."
            f" {known.capitalize()} does interact with several drugs, so please ask your pharmacist"
            " before you take it."
        )
    return (
        f"I don't know that drug, so I can't say whether it interacts with {known}."
        f" {_ASK_PHARMACIST}"
    )


async def _interactions(turn: DialogueTurn) -> str:
    message, state = turn.message, turn.state
    drugs = message.drugs
    if len(drugs) < 2 and state.drug and state.drug not in drugs and message.matches(_IT):
        drugs = (state.drug, *drugs)
    if len(drugs) >= 2:
        return _pairs(turn, drugs)
    if message.groups:
        state.pair = drugs
        return turn.ask(
            "interaction.which", f"Which {message.groups[0]} is it? The answer depends on the drug."
        )
    drug = next(iter(drugs), state.drug)
    state.drug = drug
    if re.search(
        r"\b(?:what|which|any|list)\b[^.?!]*\binteract", message.text, re.IGNORECASE
    ) and not re.search(r"\bmy\b", message.text, re.IGNORECASE):
        return _all(turn, drug)
    taken = [m.drug for m in await turn.records.medications(turn.user) if m.drug != drug]
    if taken:
        return _pairs(turn, (drug, *taken))
    state.pair = (drug,)
    return turn.ask(
        "interaction.other",
        f"Which other drugs do you take? I have none on your list to check {drug} against.",
    )


def _pairs(turn: DialogueTurn, drugs: tuple[str, ...]) -> str:
    drugs = tuple(dict.fromkeys(drugs))
    turn.state.drug, turn.state.pair, turn.state.awaiting = drugs[0], (), None
    if len(drugs) < 2:
        return _all(turn, drugs[0])
    turn.look_up(*drugs)
    lines = []
    for other in drugs[1:]:
        pair = turn.knowledge.interaction(drugs[0], other)
        arguments = {"drug": drugs[0], "other": other}
        turn.called(
            "findInteractions",
            arguments,
            [asdict(pair)] if pair else [],
            "is there a known interaction?",
        )
        lines.append(_sentence(pair, drugs[0], other))
    return "\n\n".join(lines)


def _sentence(pair: Interaction | None, one: str, other: str) -> str:
    if pair is None:
        return (
            f"I know of no interaction between {one} and {other}, but my graph is small."
            f" {_ASK_PHARMACIST}"
        )
    advice = _ASK_PHARMACIST
    if pair.severity == "contraindicated":
        advice = "They must not be taken together."
    return (
        f"**{one.capitalize()} and {other} interact ({pair.severity})**: {pair.effect}. {advice}"
        f" Source: {pair.source}."
    )


def _all(turn: DialogueTurn, drug: str) -> str:
    turn.state.drug = drug
    turn.look_up(drug)
    pairs = turn.knowledge.drug_interactions(drug)
    turn.called(
        "findInteractions",
        {"drug": drug},
        [asdict(pair) for pair in pairs],
        "all known interactions of a drug",
    )
    if not pairs:
        return f"I know of no interactions of {drug}, but my graph is small."
    rows = "\n".join(
        f"| {pair.partner(drug)} | {pair.severity} | {pair.effect} | {pair.source} |"
        for pair in pairs
    )
    return (
        f"Interactions of **{drug}** in my graph:\n\n| with | severity | effect | source"
        f" |\n|---|---|---|---|\n{rows}\n\nThe list is not complete. Please ask your pharmacist"
        " about your own drugs."
    )


def _describe(turn: DialogueTurn, name: str) -> str:
    drug = turn.knowledge.drug(name)
    assert drug is not None
    turn.state.drug, turn.state.awaiting = name, None
    turn.look_up(name, *drug.targets)
    turn.called("describeDrug", {"drug": name}, asdict(drug), "the user asked about a drug")
    targets = f" Main molecular targets: {', '.join(drug.targets)}." if drug.targets else ""
    return (
        f"**{name.capitalize()}** ({drug.group}): {drug.summary}.{targets} Source: {drug.source}."
    )


def _targets(turn: DialogueTurn) -> tuple[str, ...]:
    known = set(chain.from_iterable(drug.targets for drug in turn.knowledge.drugs))
    words = re.findall(r"[A-Za-z0-9]+", turn.message.text)
    return tuple(
        dict.fromkeys(
            word.upper() for word in words if word.upper() in known and word != word.lower()
        )
    )


def _find_drugs(turn: DialogueTurn) -> str:
    target = _targets(turn)[0]
    drugs = [drug for drug in turn.knowledge.drugs if target in drug.targets]
    turn.look_up(target, *(drug.name for drug in drugs))
    turn.called(
        "findDrugsByTarget",
        {"target": target},
        [drug.name for drug in drugs],
        "which drugs act on a target?",
    )
    rows = "\n".join(f"| {drug.name} | {drug.group} | {drug.source} |" for drug in drugs)
    return (
        f"Drugs in my graph that act on **{target}**:\n\n| drug | kind | source"
        f" |\n|---|---|---|\n{rows}"
    )
