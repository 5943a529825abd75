"""The functions that the agent can call, as its object context lists them."""

from __future__ import annotations

from typing import Any


def _function(name: str, description: str, view: str, **parameters: str) -> dict[str, Any]:
    return {
        "name": name,
        "description": description,
        "label": description.split(".")[0],
        "view": view,
        "staticMethod": False,
        "inputTypeSchema": {
            "type": "object",
            "properties": {key: {"type": "string", "description": text} for key, text in parameters.items()},
        },
    }


_DRUG = "name of a drug"

FUNCTIONS = [
    _function(
        "createReminder", "Set a reminder. Needs a date with its time zone.", "Reminder",
        what="what to be reminded of", date="ISO 8601 with offset", timeZone="IANA name", drug=_DRUG, dose="such as 5 mg",
    ),
    _function("listReminders", "List the user's own reminders.", "Reminder"),
    _function("deleteReminders", "Delete the user's own reminders, after they confirmed it.", "Reminder"),
    _function("recordMedication", "Keep a drug that the user takes.", "Medication", drug=_DRUG, dose="such as 5 mg"),
    _function("listMedications", "List the drugs that the user takes.", "Medication"),
    _function("removeMedication", "Remove a drug from the user's own list.", "Medication", drug=_DRUG),
    _function("describeDrug", "Tell what a drug is and what it targets.", "Drug", drug=_DRUG),
    _function("findDrugsByTarget", "List drugs that act on a target.", "Drug", target="gene symbol"),
    _function("findInteractions", "Find interactions of one drug, or between two.", "Drug", drug=_DRUG, other=_DRUG),
    _function("classifyVariant", "Tell how a variant is classified.", "Variant", gene="gene symbol", variant="HGVS name"),
    _function("countPatients", "Count synthetic patients.", "Patient", criteria="conditions, drugs, sex, age"),
]  # fmt: skip
