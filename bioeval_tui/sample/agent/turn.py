"""The context of one turn: the message, the session's state, the records, and the functions that
can be called.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from bioeval_tui.base.text import compact_json
from bioeval_tui.sample.agent.facts import Knowledge
from bioeval_tui.sample.agent.mentions import ReadMessage, SpokenTime
from bioeval_tui.sample.agent.records import Records


def _function(name: str, description: str, view: str, **parameters: str) -> dict[str, Any]:
    return {
        "name": name,
        "description": description,
        "label": description.split(".")[0],
        "view": view,
        "staticMethod": False,
        "inputTypeSchema": {
            "type": "object",
            "properties": {
                key: {"type": "string", "description": text} for key, text in parameters.items()
            },
        },
    }


_DRUG = "name of a drug"

FUNCTIONS = [
    _function(
        "createReminder", "Set a reminder. Needs a date with its time zone.", "Reminder",
        what="what to be reminded of", date="ISO 8601 with offset", timeZone="IANA name",
        drug=_DRUG, dose="such as 5 mg",
    ),
    _function("listReminders", "List the user's own reminders.", "Reminder"),
    _function("deleteReminders", "Delete the user's own reminders, after they confirmed it.",
        "Reminder"),
    _function("recordMedication", "Keep a drug that the user takes.", "Medication", drug=_DRUG,
        dose="such as 5 mg"),
    _function("listMedications", "List the drugs that the user takes.", "Medication"),
    _function("removeMedication", "Remove a drug from the user's own list.", "Medication",
        drug=_DRUG),
    _function("describeDrug", "Tell what a drug is and what it targets.", "Drug", drug=_DRUG),
    _function("findDrugsByTarget", "List drugs that act on a target.", "Drug",
        target="gene symbol"),
    _function("findInteractions", "Find interactions of one drug, or between two.", "Drug",
        drug=_DRUG, other=_DRUG),
    _function("classifyVariant", "Tell how a variant is classified.", "Variant", gene="gene symbol",
        variant="HGVS name"),
    _function("countPatients", "Count synthetic patients.", "Patient",
        criteria="conditions, drugs, sex, age"),
]  # fmt: skip


Awaiting = Literal[
    "reminder.what", "reminder.when", "reminder.zone", "reminder.dose", "reminder.delete",
    "medication.drug", "medication.dose", "interaction.other", "interaction.which", "drug.which",
    "variant.which", "cohort.what", "cohort.age",
]  # fmt: skip


@dataclass(slots=True)
class ReminderDraft:
    """A reminder with details still missing."""

    drug: str = ""
    what: str = ""
    when: SpokenTime = field(default_factory=SpokenTime)
    zone: str = ""
    dose: str = ""
    dose_declined: bool = False


@dataclass(slots=True)
class State:
    """What a session remembers between messages.

    Facts about users are not in it: they are in the records.
    """

    awaiting: Awaiting | None = None
    reminder: ReminderDraft | None = None
    medication: str = ""
    drug: str = ""
    """The last drug mentioned, which "it" refers to."""
    pair: tuple[str, ...] = ()
    variant: str = ""
    """The gene for which a variant was asked."""
    cohort: tuple[str, ...] = ()
    looked_up: dict[str, None] = field(default_factory=dict)
    """Names of drugs, targets and variants that were answered about, in order."""


@dataclass(slots=True)
class DialogueTurn:
    """One user message on its way to an answer."""

    message: ReadMessage
    user: str
    state: State
    knowledge: Knowledge
    records: Records
    clock: Callable[[], datetime]
    guesses: bool
    """Whether it fills in what the user does not say: UTC, an age, a variant, that drugs go
    together.
    """
    events: list[Mapping[str, Any]] = field(default_factory=list)

    def called(
        self, function: str, arguments: Mapping[str, Any], output: Any, why: str = ""
    ) -> None:
        """Record a function call and its result, as generation events."""
        self.events.append(
            {
                "request": {
                    "function": {"name": function},
                    "arguments": dict(arguments),
                    "context": why,
                }
            }
        )
        self.events.append({"output": output if isinstance(output, str) else compact_json(output)})

    def ask(self, awaiting: Awaiting, question: str) -> str:
        """Return a question and remember that its answer is pending."""
        self.state.awaiting = awaiting
        return question

    def look_up(self, *names: str) -> None:
        """Remember what was answered; the object context shows it."""
        self.state.looked_up.update(dict.fromkeys(names))
