"""Results of SymptomCheck Bench (medaks/symptomcheck-bench): one JSON object with vignettes, chats
and their verdicts.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bioeval_tui.formats import (
    FileLook,
    GivenScore,
    Header,
    ImportedConversation,
    ImportedMessage,
    ImportedPart,
    InputError,
    members,
    messages_of,
    moment,
    note,
    object_at,
    objects,
)

KEYS = {"vignettes", "vignette_indices", "num_experiments"}


def fits(look: FileLook) -> bool:
    """Return whether a file contains SymptomCheck Bench's results."""
    return look.shape == "object" and look.first.keys() >= KEYS


def read(file: Path) -> Iterator[Header | ImportedConversation]:
    """Yield the conversations of a results file, one for each vignette and experiment.

    The file is read whole: its verdicts, which stand at the end, belong to the conversations before
    them.

    Raises:
        InputError: chats, vignettes and verdicts do not fit each other; the message says which.
    """
    with file.open("rb") as opened:
        data: dict[str, Any] = dict(members(opened))
    vignettes, chats = objects(data.get("vignettes")), data.get("chats")
    if not isinstance(chats, list) or not all(isinstance(each, list) for each in chats):
        raise InputError("`chats` must be a list of lists, one for each experiment")
    began = moment(data.get("dt"))
    yield Header(
        name=f"SymptomCheck Bench {data.get('vignette_file') or ''}".strip(),
        agent=str(data.get("doctor_llm") or ""),
        model=str(data.get("doctor_llm") or ""),
        evaluator=str(data.get("patient_llm") or ""),
        judge="SymptomCheck Bench's verdict",
        at=began,
        licence="MIT",
        origin="medaks/symptomcheck-bench",
        record={key: data[key] for key in data.keys() - {"vignettes", "chats", "evaluation"}},
    )
    for number, talks in enumerate(chats):
        positions: Any = object_at(data.get("evaluation"), str(number)).get("positions")
        verdicts: int | str = "no"
        if isinstance(positions, list):
            verdicts = len(positions)
        if not verdicts == len(talks) == len(vignettes):
            raise InputError(
                f"experiment {number + 1} has {len(talks)} chats for {len(vignettes)} vignettes and"
                f" {verdicts} verdicts; there must be as many of each"
            )
        numbers: Any = data.get("vignette_indices")
        if not isinstance(numbers, list) or len(numbers) != len(talks):
            numbers = range(len(talks))
        for at, chat, vignette, position in zip(numbers, talks, vignettes, positions, strict=True):
            yield _conversation(at, chat, object_at(vignette, "data") or vignette, position)


def _conversation(
    at: Any, chat: Any, vignette: dict[str, Any], position: Any
) -> ImportedConversation:
    if not isinstance(chat, dict) or not isinstance(chat.get("messages"), list):
        raise InputError(f"the chat of vignette {at} must be a JSON object with `messages`")
    if isinstance(position, bool) or not isinstance(position, int):
        raise InputError(
            f"the verdict on vignette {at} must be the place of the right diagnosis, or -1"
        )
    wanted = str(vignette.get("correct_diagnosis") or "")
    listed = position > 0
    reason = f"{wanted} is not in the list"
    if listed:
        reason = f"{wanted} stands in place {position} of the list"
    return ImportedConversation(
        name=f"vignette {at}",
        messages=_messages(chat["messages"]),
        condition="supplied",  # the simulated patient always has the whole vignette
        scores=[GivenScore("right diagnosis in the list", float(listed), position, reason)],
        request=(f"Name the diagnosis: {vignette.get('chief_complaints') or ''}", wanted),
        facts=tuple(facts_of(vignette)),
        reason="signed_off",
        record={"position": position},
    )


def _messages(messages: list[Any]) -> list[ImportedMessage]:
    roles: dict[str, Any] = {"SYSTEM": "system", "USER": "user", "ASSISTANT": "assistant"}
    for role in {str(each.get("role")) for each in objects(messages)} - roles.keys():
        note(f"messages that are left out, by their role: {role}")
    pieces = [
        ImportedPart(roles[str(each.get("role"))], str(each.get("body") or ""), each)
        for each in objects(messages)
        if str(each.get("role")) in roles
    ]
    return messages_of(pieces)


def facts_of(vignette: dict[str, Any]) -> Iterator[str]:
    """Yield what the patient was told, one line of the vignette each."""
    for key, value in vignette.items():
        if key != "correct_diagnosis" and str(value or "").strip() not in ("", "-", "None"):
            yield f"{key.replace('_', ' ')}: {value}"
