"""The agent's records about its users, and the two places it can store them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol

from bioeval_tui.sample.agent.facts import BUILT_IN, Knowledge


@dataclass(frozen=True, slots=True)
class Reminder:
    """A reminder; `date` is ISO 8601 with its offset, `time_zone` an IANA name, `repeats` daily or empty."""

    id: str
    what: str
    date: str
    time_zone: str
    drug: str = ""
    dose: str = ""
    repeats: str = ""


@dataclass(frozen=True, slots=True)
class Medication:
    """A drug that a user takes; `dose` may be empty."""

    id: str
    drug: str
    dose: str = ""


class GraphAnswer(Protocol):
    """A graph's answer to a query: rows of JSON-like values."""

    @property
    def rows(self) -> tuple[tuple[Any, ...], ...]: ...


class AgentGraph(Protocol):
    """The part of a knowledge graph that the agent needs. Values are passed as parameters, never inserted as text."""

    async def query(
        self, cypher: str, parameters: Mapping[str, Any] | None = None, *, timeout_s: float = 10.0
    ) -> GraphAnswer: ...

    async def execute(
        self, cypher: str, parameters: Mapping[str, Any] | None = None, *, timeout_s: float = 30.0
    ) -> None: ...


class Records(Protocol):
    """The data that the dialogue reads and writes. Users are identified by name, and see only their own records."""

    async def knowledge(self) -> Knowledge: ...
    async def reminders(self, user: str) -> list[Reminder]: ...
    async def add_reminder(self, user: str, reminder: Reminder) -> None: ...
    async def delete_reminders(self, user: str) -> None: ...
    async def medications(self, user: str) -> list[Medication]: ...
    async def put_medication(self, user: str, medication: Medication) -> None: ...
    async def remove_medication(self, user: str, drug: str) -> None: ...
    async def time_zone(self, user: str) -> str: ...
    async def set_time_zone(self, user: str, zone: str) -> None: ...
    async def add_document(self, user: str, text: str) -> None: ...


class MemoryRecords:
    """Records in this process, for use without a graph."""

    def __init__(self) -> None:
        self._reminders: dict[str, list[Reminder]] = {}
        self._medications: dict[str, dict[str, Medication]] = {}
        self._zones: dict[str, str] = {}

    async def knowledge(self) -> Knowledge:
        return BUILT_IN

    async def reminders(self, user: str) -> list[Reminder]:
        return sorted(self._reminders.get(user, []), key=lambda reminder: reminder.date)

    async def add_reminder(self, user: str, reminder: Reminder) -> None:
        self._reminders.setdefault(user, []).append(reminder)

    async def delete_reminders(self, user: str) -> None:
        self._reminders.pop(user, None)

    async def medications(self, user: str) -> list[Medication]:
        return sorted(self._medications.get(user, {}).values(), key=lambda medication: medication.drug)

    async def put_medication(self, user: str, medication: Medication) -> None:
        kept = self._medications.setdefault(user, {})
        known = kept.get(medication.drug)
        kept[medication.drug] = replace(known, dose=medication.dose) if known else medication

    async def remove_medication(self, user: str, drug: str) -> None:
        self._medications.get(user, {}).pop(drug, None)

    async def time_zone(self, user: str) -> str:
        return self._zones.get(user, "")

    async def set_time_zone(self, user: str, zone: str) -> None:
        self._zones[user] = zone

    async def add_document(self, user: str, text: str) -> None:
        return None
