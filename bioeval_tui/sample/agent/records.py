"""The agent's records about its users, the two places it can store them, and what it learns from a
text sent to it.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Protocol

from bioeval_tui.sample.agent.facts import BUILT_IN, Drug, Interaction, Knowledge, Patient, Variant
from bioeval_tui.sample.agent.mentions import read


@dataclass(frozen=True, slots=True)
class Reminder:
    """A reminder; `date` is ISO 8601 with its offset, `time_zone` an IANA name, `repeats` daily or
    empty.
    """

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
    """The part of a knowledge graph that the agent needs.

    Values are passed as parameters, never inserted as text.
    """

    async def query(
        self, cypher: str, parameters: Mapping[str, Any] | None = None, *, timeout_s: float = 10.0
    ) -> GraphAnswer: ...

    async def execute(
        self, cypher: str, parameters: Mapping[str, Any] | None = None, *, timeout_s: float = 30.0
    ) -> None: ...


class Records(Protocol):
    """The data that the dialogue reads and writes.

    Users are identified by name, and see only their own records.
    """

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
        return sorted(
            self._medications.get(user, {}).values(), key=lambda medication: medication.drug
        )

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


VERSION = 1

_WRITE = (
    (
        "UNWIND $drugs AS r MERGE (d:Drug {name: r.name}) "
        "SET d.group = r.group, d.summary = r.summary, d.aliases = r.aliases, d.source = r.source"
    ),
    "UNWIND $targets AS r MERGE (t:Target {name: r.target})",
    (
        "UNWIND $targets AS r MERGE (d:Drug {name: r.drug}) MERGE (t:Target {name: r.target}) MERGE"
        " (d)-[:TARGETS]->(t)"
    ),
    (
        "UNWIND $interactions AS r MERGE (a:Drug {name: r.first}) MERGE (b:Drug {name: r.second})"
        " MERGE (a)-[i:INTERACTS_WITH]->(b) SET i.severity = r.severity, i.effect = r.effect,"
        " i.source = r.source"
    ),
    (
        "UNWIND $variants AS r MERGE (v:Variant {gene: r.gene, name: r.name}) SET v.protein ="
        " r.protein, v.classification = r.classification, v.condition = r.condition, v.aliases ="
        " r.aliases, v.source = r.source"
    ),
    (
        "UNWIND $patients AS r MERGE (p:Synthetic:Patient {id: r.id}) SET p.age = r.age, p.sex ="
        " r.sex, p.synthetic = true"
    ),
    "UNWIND $conditions AS r MERGE (c:Condition {name: r.condition})",
    (
        "UNWIND $conditions AS r MERGE (p:Patient {id: r.id}) MERGE (c:Condition {name:"
        " r.condition}) MERGE (p)-[:HAS_CONDITION]->(c)"
    ),
    (
        "UNWIND $taken AS r MERGE (p:Patient {id: r.id}) MERGE (d:Drug {name: r.drug}) MERGE"
        " (p)-[:TAKES]->(d)"
    ),
    "MERGE (k:KnowledgeBase {name: 'sample agent'}) SET k.version = $version",
)

_USER = "MERGE (u:DomainNode:User {name: $user}) "


class GraphRecords:
    """Records in a graph that is queried with Cypher. Passes on the graph's exceptions."""

    def __init__(self, graph: AgentGraph) -> None:
        self._graph = graph

    async def knowledge(self) -> Knowledge:
        """Return the knowledge in the graph, writing it first if it is missing."""
        known = await self._rows(
            "MATCH (k:KnowledgeBase {name: 'sample agent'}) WHERE k.version = $version RETURN"
            " count(k) AS n",
            version=VERSION,
        )
        if known[0][0] == 0:
            for statement in _WRITE:
                await self._graph.execute(statement, _parameters(BUILT_IN, statement))
        return Knowledge(
            await self._drugs(),
            await self._interactions(),
            await self._variants(),
            await self._patients(),
        )

    async def _drugs(self) -> tuple[Drug, ...]:
        targets: dict[str, list[str]] = {}
        for drug, target in await self._rows(
            "MATCH (d:Drug)-[:TARGETS]->(t:Target) RETURN d.name AS drug, t.name AS target ORDER BY"
            " drug, target"
        ):
            targets.setdefault(drug, []).append(target)
        rows = await self._rows(
            "MATCH (d:Drug) RETURN d.name AS name, d.group AS kind, d.summary AS summary, d.aliases"
            " AS aliases, d.source AS source ORDER BY name"
        )
        return tuple(
            Drug(
                name,
                kind or "drug",
                summary or "",
                tuple(targets.get(name, ())),
                tuple(aliases or ()),
                source or "",
            )
            for name, kind, summary, aliases, source in rows
            if name
        )

    async def _interactions(self) -> tuple[Interaction, ...]:
        rows = await self._rows(
            "MATCH (a:Drug)-[i:INTERACTS_WITH]->(b:Drug) RETURN a.name AS one, b.name AS other, "
            "i.severity AS severity, i.effect AS effect, i.source AS source ORDER BY one, other"
        )
        return tuple(Interaction(*(value or "" for value in row)) for row in rows)

    async def _variants(self) -> tuple[Variant, ...]:
        rows = await self._rows(
            "MATCH (v:Variant) RETURN v.gene AS gene, v.name AS name, v.protein AS protein,"
            " v.classification AS class, v.condition AS condition, v.aliases AS aliases, v.source"
            " AS source ORDER BY gene, name"
        )
        return tuple(
            Variant(
                gene,
                name,
                protein or "",
                kind or "",
                condition or "",
                tuple(aliases or ()),
                source or "",
            )
            for gene, name, protein, kind, condition, aliases, source in rows
        )

    async def _patients(self) -> tuple[Patient, ...]:
        queries = {
            "conditions": (
                "MATCH (p:Synthetic)-[:HAS_CONDITION]->(x:Condition) RETURN p.id AS id, x.name AS"
                " name"
            ),
            "drugs": "MATCH (p:Synthetic)-[:TAKES]->(x:Drug) RETURN p.id AS id, x.name AS name",
        }
        lists: dict[str, dict[str, list[str]]] = {}
        for kind, cypher in queries.items():
            for patient, name in await self._rows(cypher + " ORDER BY id, name"):
                lists.setdefault(kind, {}).setdefault(patient, []).append(name)
        rows = await self._rows(
            "MATCH (p:Synthetic) RETURN p.id AS id, p.age AS age, p.sex AS sex ORDER BY id"
        )
        return tuple(
            Patient(key, age, sex, *(tuple(lists.get(kind, {}).get(key, ())) for kind in queries))
            for key, age, sex in rows
        )

    async def reminders(self, user: str) -> list[Reminder]:
        rows = await self._rows(
            "MATCH (u:User {name: $user})-[:HAS_REMINDER]->(r:Reminder) RETURN r.id AS id, r.name"
            " AS name, r.date AS date, r.timeZone AS zone, r.drug AS drug, r.dose AS dose,"
            " r.repeats AS repeats ORDER BY date, id",
            user=user,
        )
        return [Reminder(*(value or "" for value in row)) for row in rows]

    async def add_reminder(self, user: str, reminder: Reminder) -> None:
        kept = {
            "id": reminder.id,
            "name": reminder.what,
            "date": reminder.date,
            "zone": reminder.time_zone,
        }
        kept |= {"drug": reminder.drug, "dose": reminder.dose, "repeats": reminder.repeats}
        await self._graph.execute(_USER + "SET u.id = $user", {"user": user})
        await self._graph.execute(
            "MATCH (u:User {name: $user}) CREATE (u)-[:HAS_REMINDER]->(r:DomainNode:Reminder {id:"
            " $id, name: $name, date: $date, timeZone: $zone, drug: $drug, dose: $dose, repeats:"
            " $repeats})",
            {"user": user, **kept},
        )
        await self._graph.execute(
            "MATCH (r:Reminder {id: $id}) MATCH (d:Drug {name: $drug}) MERGE (r)-[:ABOUT]->(d)",
            {"id": reminder.id, "drug": reminder.drug},
        )

    async def delete_reminders(self, user: str) -> None:
        await self._graph.execute(
            "MATCH (u:User {name: $user})-[:HAS_REMINDER]->(r:Reminder) DETACH DELETE r",
            {"user": user},
        )

    async def medications(self, user: str) -> list[Medication]:
        rows = await self._rows(
            "MATCH (u:User {name: $user})-[:TAKES]->(m:Medication) RETURN m.id AS id, m.drug AS"
            " drug, m.dose AS dose ORDER BY drug",
            user=user,
        )
        return [Medication(*(value or "" for value in row)) for row in rows]

    async def put_medication(self, user: str, medication: Medication) -> None:
        given = {
            "user": user,
            "id": medication.id,
            "drug": medication.drug,
            "dose": medication.dose,
        }
        name = {"name": f"{medication.drug} {medication.dose}".strip()}
        await self._graph.execute(_USER + "SET u.id = $user", {"user": user})
        await self._graph.execute(
            "MATCH (u:User {name: $user}) MERGE (u)-[:TAKES]->(m:DomainNode:Medication {id: $id}) "
            "SET m.drug = $drug, m.dose = $dose, m.name = $name",
            {**given, **name},
        )
        await self._graph.execute(
            "MATCH (m:Medication {id: $id}) MATCH (d:Drug {name: $drug}) MERGE (m)-[:OF]->(d)",
            {"id": medication.id, "drug": medication.drug},
        )

    async def remove_medication(self, user: str, drug: str) -> None:
        await self._graph.execute(
            "MATCH (u:User {name: $user})-[:TAKES]->(m:Medication {drug: $drug}) DETACH DELETE m",
            {"user": user, "drug": drug},
        )

    async def time_zone(self, user: str) -> str:
        rows = await self._rows("MATCH (u:User {name: $user}) RETURN u.timeZone AS zone", user=user)
        if rows:
            return str(rows[0][0] or "")
        return ""

    async def set_time_zone(self, user: str, zone: str) -> None:
        await self._graph.execute(
            _USER + "SET u.id = $user, u.timeZone = $zone", {"user": user, "zone": zone}
        )

    async def add_document(self, user: str, text: str) -> None:
        key = hashlib.sha256(text.encode()).hexdigest()[:16]
        await self._graph.execute(_USER + "SET u.id = $user", {"user": user})
        await self._graph.execute(
            "MATCH (u:User {name: $user}) MERGE (u)-[:TOLD]->(d:DomainNode:Document {id: $id}) "
            "SET d.name = 'note', d.text = $text",
            {"user": user, "id": key, "text": text},
        )

    async def _rows(self, cypher: str, **parameters: Any) -> tuple[tuple[Any, ...], ...]:
        return (await self._graph.query(cypher, parameters)).rows


def _parameters(knowledge: Knowledge, statement: str) -> dict[str, Any]:
    """Return the parameters that a statement names."""
    targets: list[dict[str, str]] = []
    for drug in knowledge.drugs:
        targets += [{"drug": drug.name, "target": target} for target in drug.targets]
    conditions: list[dict[str, str]] = []
    taken: list[dict[str, str]] = []
    for patient in knowledge.patients:
        conditions += [{"id": patient.id, "condition": name} for name in patient.conditions]
        taken += [{"id": patient.id, "drug": name} for name in patient.drugs]
    everything: dict[str, Any] = {
        "version": VERSION,
        "drugs": [_plain(drug) for drug in knowledge.drugs],
        "targets": targets,
        "interactions": [_plain(pair) for pair in knowledge.interactions],
        "variants": [_plain(variant) for variant in knowledge.variants],
        "patients": [_plain(patient) for patient in knowledge.patients],
        "conditions": conditions,
        "taken": taken,
    }
    return {name: value for name, value in everything.items() if f"${name}" in statement}


def _plain(value: Any) -> dict[str, Any]:
    return {
        name: list(item) if isinstance(item, tuple) else item
        for name, item in asdict(value).items()
    }


_TAKES = re.compile(
    r"\b(?:takes?|taking|is on|am on|uses|prescribed|treated with)\b", re.IGNORECASE
)
_LIVES = re.compile(r"\b(?:lives?|living|based|resides?|time ?zone)\b", re.IGNORECASE)
_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")


async def learn(user: str, text: str, knowledge: Knowledge, records: Records) -> list[str]:
    """Store the text, and the user's medications and time zone that it mentions; return what was
    learned.
    """
    await records.add_document(user, text)
    learned = []
    for sentence in _SENTENCE.split(text):
        mentioned = read(sentence, knowledge)
        if mentioned.drugs and _TAKES.search(sentence):
            for drug in mentioned.drugs:
                dose = mentioned.dose if len(mentioned.drugs) == 1 else ""
                await records.put_medication(user, Medication(f"{user}-{drug}", drug, dose))
                learned.append(f"takes {drug} {dose}".strip())
        if mentioned.zone and _LIVES.search(sentence):
            await records.set_time_zone(user, mentioned.zone)
            learned.append(f"time zone {mentioned.zone}")
    return learned
