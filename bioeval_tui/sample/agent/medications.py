"""The list of drugs that a user takes."""

from __future__ import annotations

import re
from dataclasses import asdict

from bioeval_tui.sample.agent.records import Medication
from bioeval_tui.sample.agent.turn import DialogueTurn

_TAKES = re.compile(
    r"\bi(?:'m| am)? (?:also |now |currently |already"
    r" )*(?:take|taking|on|using|use|prescribed|started)\b",
    re.IGNORECASE,
)
_ADD = re.compile(
    r"\b(?:add|note|record|save|put|write)\b[^?!]{0,60}\b(?:medications?|medicines?|meds|list)\b|"
    r"\b(?:add|note|record|save)\b[^?!]{0,20}\bthat i (?:take|am on)\b",
    re.IGNORECASE,
)
_LIST = re.compile(
    r"\b(?:list|show|what|which|see|check)\b[^.?!]{0,30}\b(?:medications?|medicines?"
    r"|meds)\b(?![^.?!]*\binteract)|\bwhat (?:am i|do i) (?:taking|take)\b",
    re.IGNORECASE,
)
_REMOVE = re.compile(
    r"\b(?:remove|delete|drop)\b[^.?!]{0,40}\b(?:from|off)\b[^.?!]{0,20}\b(?:medications?"
    r"|medicines?|meds|list)\b",
    re.IGNORECASE,
)


def opens(turn: DialogueTurn) -> bool:
    """Return whether the message is about the user's own medications."""
    message = turn.message
    tells = message.matches(_TAKES) and ("?" not in message.text or bool(message.dose))
    return tells or any(message.matches(pattern) for pattern in (_REMOVE, _ADD, _LIST))


async def start(turn: DialogueTurn) -> str:
    """Answer a message about the user's own medications."""
    if turn.message.matches(_REMOVE):
        return await _remove(turn)
    if turn.message.matches(_LIST) and not turn.message.matches(_ADD):
        return await _list(turn)
    if not turn.message.drugs:
        return turn.ask("medication.drug", "Which drug do you take? I know a few dozen.")
    turn.state.medication = turn.message.drugs[0]
    return await _record(turn)


async def proceed(turn: DialogueTurn) -> str:
    """Answer a message while a medication is unfinished."""
    if turn.message.drugs:
        turn.state.medication = turn.message.drugs[0]
    if not turn.state.medication:
        turn.state.awaiting = None
        return "I don't know that drug, so I did not note it."
    return await _record(turn)


async def _record(turn: DialogueTurn) -> str:
    drug, dose = turn.state.medication, turn.message.dose
    turn.state.drug = drug
    if not dose and not (
        turn.state.awaiting == "medication.dose" and (turn.message.declines or turn.message.no)
    ):
        return turn.ask("medication.dose", f"Which dose of {drug} do you take?")
    turn.state.awaiting, turn.state.medication = None, ""
    medication = Medication(f"{turn.user}-{drug}", drug, dose)
    await turn.records.put_medication(turn.user, medication)
    turn.called(
        "recordMedication",
        {"drug": drug, "dose": dose},
        asdict(medication),
        "the user told what they take",
    )
    others = [m.drug for m in await turn.records.medications(turn.user) if m.drug != drug]
    pairs = [pair for other in others if (pair := turn.knowledge.interaction(drug, other))]
    answer = (
        f"Noted: {drug} {dose}.".replace(" .", ".") if dose else f"Noted: {drug}, without a dose."
    )
    if pairs:
        turn.look_up(drug, *(pair.partner(drug) for pair in pairs))
        warnings = "\n".join(
            f"- **{pair.first} and {pair.second}** ({pair.severity}): {pair.effect}. Source:"
            f" {pair.source}."
            for pair in pairs
        )
        answer += f"\n\nPlease ask your pharmacist about this:\n\n{warnings}"
    return answer


async def _list(turn: DialogueTurn) -> str:
    medications = await turn.records.medications(turn.user)
    turn.called(
        "listMedications",
        {},
        [asdict(medication) for medication in medications],
        "the user asked for their list",
    )
    if not medications:
        return "I have no medications on your list."
    rows = "\n".join(
        f"| {medication.drug} | {medication.dose or 'not given'} |" for medication in medications
    )
    return f"Your medications:\n\n| drug | dose |\n|---|---|\n{rows}"


async def _remove(turn: DialogueTurn) -> str:
    kept = {medication.drug for medication in await turn.records.medications(turn.user)}
    drug = next(iter(turn.message.drugs), "")
    if drug not in kept:
        return f"{drug.capitalize() or 'That drug'} is not on your list; nothing was removed."
    await turn.records.remove_medication(turn.user, drug)
    turn.called(
        "removeMedication",
        {"drug": drug},
        {"removed": drug},
        "the user asked to remove it from their list",
    )
    return (
        f"I removed {drug} from your list. Please don't stop taking a drug without asking your"
        " prescriber."
    )
