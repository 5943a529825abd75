"""A realistic scripted run as a list of events: two conditions, retries, facts, functions,
assertions, scores.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from bioeval_tui.base.settings import Settings
from bioeval_tui.protocols import Condition
from bioeval_tui.record import events, score as composite
from bioeval_tui.record.events import RunEvent
from bioeval_tui.record.runs import recording_path

RUN_ID = "7f3a2c91"
BEGAN = datetime(2026, 11, 20, 9, 0, 0, tzinfo=UTC)

JOB: dict[str, Any] = {
    "evaluator": {"name": "Socrates", "kind": "scripted"},
    "target": {"user": "ada", "chatbot": "reminders"},
    "scorer": {"kind": "rules"},
    "aspirationalAverage": 1500.0,
    "maxTurns": 20,
    "tasks": [
        {
            "task": "Set a reminder to take warfarin tomorrow at 9",
            "acceptanceCriteria": "has a time zone",
        },
        {
            "task": "Ask what warfarin interacts with",
            "type": "question",
            "acceptanceCriteria": "names aspirin",
        },
    ],
    "facts": ["The user lives in Sydney", "The dose is 5 mg"],
    "assertions": [
        {
            "name": "reminder exists",
            "expression": 'objectContext.entities.any { it.type == "Reminder" }',
            "weight": 3.0,
        },
        {
            "name": "date has a zone",
            "expression": 'objectContext.entities.all { it.properties["tz"] != null }',
            "weight": 2.0,
        },
        {
            "name": "nothing was deleted",
            "cypher": "MATCH (n:Deleted) RETURN count(n)",
            "expected": 0,
            "weight": 1.0,
        },
    ],
}

TITLES = [a["name"] for a in JOB["assertions"]]
WEIGHTS = [a["weight"] for a in JOB["assertions"]]

ANSWER = """Warfarin interacts with several drugs in my graph:

| drug | effect | evidence |
|---|---|---|
| aspirin | more bleeding | DrugBank |
| amiodarone | slower clearance | DrugBank |
| rifampicin | faster clearance | DrugBank |

Please ask a clinician before you change a dose."""

# One line a turn: user's words, agent's words, latency and first token in ms, what passes after it.
WITHHELD = [
    ("Hi", "Hello, I keep reminders and know a few drugs.", 420, 90, (False, True, True)),
    (
        "Could you remind me to take warfarin tomorrow at 9?",
        "Which time zone are you in?",
        910,
        210,
        (False, True, True),
    ),
    (
        "I'd rather not say.",
        "I can't set it without a time zone. Shall I help with something else?",
        3420,
        340,
        (False, True, True),
    ),
    ("What does warfarin interact with?", ANSWER, 1280, 260, (False, True, True)),
]
SUPPLIED = [
    ("Hi", "Hello, I keep reminders and know a few drugs.", 430, 95, (False, True, True)),
    (
        "Could you remind me to take warfarin tomorrow at 9?",
        "Which time zone are you in?",
        1010,
        190,
        (False, True, True),
    ),
    ("Sydney.", "And which dose should I note?", 1190, 240, (False, True, True)),
    (
        "5 mg.",
        "Done: warfarin 5 mg, 21 November 09:00, Australia/Sydney.",
        1620,
        310,
        (True, True, True),
    ),
    ("What does warfarin interact with?", ANSWER, 1340, 250, (True, True, True)),
]
FUNCTION = {
    "request": {
        "function": {"name": "createReminder"},
        "arguments": {"date": "2026-11-21T09:00", "tz": "Australia/Sydney", "dose": "5 mg"},
    }
}


class Script:
    """Collects events with running numbers and times; `at` advances by what each step takes."""

    def __init__(self) -> None:
        self.events: list[RunEvent] = []
        self.at = BEGAN

    def add(self, kind: type[events.EventBase], after_ms: float = 0.0, **values: Any) -> None:
        """Append one event `after_ms` after the one before."""
        self.at += timedelta(milliseconds=after_ms)
        event = kind(run_id=RUN_ID, seq=len(self.events) + 1, at=self.at, **values)
        self.events.append(event)  # type: ignore[arg-type]


def scripted_run(*, clean: bool = True, rehearsal: bool = True) -> list[RunEvent]:
    """Return the whole run: withheld first, then supplied."""
    script = Script()
    script.add(
        events.RunStarted,
        job_name="medication_reminder",
        job_path="sample_jobs/medication_reminder.yml",
        job=JOB,
        job_sha256="0" * 64,
        program_version="0.1.0",
        agent="sample agent",
        evaluator="scripted" if rehearsal else "gpt-4.1-mini",
        judge="rules" if rehearsal else "gpt-4.1-mini",
        graph="embedded",
        rehearsal=rehearsal,
        model="rule-based",
        seed=7,
    )
    withheld = _conversation(script, "withheld", WITHHELD, task_scores=(0.2, 0.9))
    if not clean:
        script.add(
            events.Warned,
            code="not_clean",
            message="the graph held 3 nodes before supplied that it did not hold before withheld",
        )
    supplied = _conversation(script, "supplied", SUPPLIED, task_scores=(0.9, 0.8))
    script.add(
        events.RunEnded,
        after_ms=5,
        status="completed",
        scores={"withheld": withheld, "supplied": supplied},
        mean=composite.mean_of([withheld, supplied]),
        clean=clean,
    )
    return script.events


def scripted_run_of(only: Condition) -> list[RunEvent]:
    """Return a run that holds one condition."""
    started, *held, ended = [event for event in scripted_run() if event.condition in (None, only)]
    scores = {only: ended.scores[only]}  # type: ignore[union-attr]
    return [
        started.model_copy(update={"conditions": (only,)}),
        *held,
        ended.model_copy(update={"scores": scores, "mean": None}),
    ]


def _conversation(
    script: Script,
    condition: Condition,
    turns: list[tuple[Any, ...]],
    task_scores: tuple[float, float],
) -> float | None:
    where: dict[str, Any] = {"condition": condition, "trial": 1, "attempt": 1}
    script.add(
        events.SetupApplied,
        12,
        index=0,
        cypher="MATCH (n) DETACH DELETE n",
        elapsed_ms=11.0,
        **where,
    )
    script.add(
        events.ConversationStarted,
        40,
        session_id=f"s-{condition}",
        greeting="Hi",
        max_messages=20,
        **where,
    )
    _observe(script, 0, False, where)
    for turn, line in enumerate(turns, start=1):
        _turn(script, condition, turn, line, where)
    _sign_off(script, len(turns) + 1, where)
    passed = turns[-1][4]
    for index, holds in enumerate(passed):
        _check(script, index, len(turns), holds, where, final=True)
    return _score(script, condition, turns, task_scores, passed, where)


def _turn(
    script: Script, condition: Condition, turn: int, line: tuple[Any, ...], where: dict[str, Any]
) -> None:
    said, answer, latency, first, passed = line
    asked, answered = 2 * turn - 1, 2 * turn
    script.add(
        events.MessageStarted,
        30,
        message=asked,
        turn=turn,
        role="user",
        speaker="Socrates",
        **where,
    )
    script.add(
        events.MessageCompleted,
        180,
        message=asked,
        turn=turn,
        role="user",
        speaker="Socrates",
        content=said,
        latency_ms=180.0,
        **where,
    )
    facts = {"Sydney.": (1, JOB["facts"][0]), "5 mg.": (2, JOB["facts"][1])}
    if said in facts:
        number, text = facts[said]
        script.add(
            events.FactDisclosed,
            fact=number,
            text=text,
            message=asked,
            turn=turn,
            asked=True,
            **where,
        )
    script.add(
        events.MessageStarted,
        1,
        message=answered,
        turn=turn,
        role="assistant",
        speaker="agent",
        **where,
    )
    waited = 0.0
    if condition == "withheld" and turn == 3:
        waited = 103.0
        script.add(
            events.RequestFailed,
            waited,
            peer="agent",
            request_attempt=1,
            error="503 Service Unavailable",
            status=503,
            wait_ms=100.0,
            counted=True,
            message=answered,
            **where,
        )
    _stream(script, answered, answer, latency, first, where)
    generation = (FUNCTION, {"output": "reminder r1 created"}) if answer.startswith("Done") else ()
    script.add(
        events.MessageCompleted,
        5,
        message=answered,
        turn=turn,
        role="assistant",
        speaker="agent",
        content=answer,
        latency_ms=float(latency),
        waited_ms=waited,
        first_token_ms=float(first),
        tokens_in=40 * turn,
        tokens_out=len(answer.split()),
        generation=generation,
        **where,
    )
    _observe(script, turn, passed[0], where)
    for index, holds in enumerate(passed):
        _check(script, index, turn, holds, where)


def _stream(
    script: Script, message: int, answer: str, latency: float, first: float, where: dict[str, Any]
) -> None:
    words = answer.split(" ")
    pause = (latency - first) / max(1, len(words) - 1)
    script.add(events.MessageDelta, first, message=message, text=words[0], **where)
    if answer.startswith("Done"):
        script.add(events.MessageDelta, 0, message=message, generation=(FUNCTION,), **where)
    for word in words[1:]:
        script.add(events.MessageDelta, pause, message=message, text=" " + word, **where)


def _observe(script: Script, turn: int, reminder: bool, where: dict[str, Any]) -> None:
    resources = [{"id": "u1", "name": "ada", "labels": ["DomainNode", "User"], "properties": {}}]
    if reminder:
        resources.append(
            {
                "id": "r1",
                "name": "warfarin",
                "labels": ["DomainNode", "Reminder"],
                "properties": {"tz": "Australia/Sydney", "dose": "5 mg"},
            }
        )
    graph = {
        "nodes": {"User": 1, "Reminder": int(reminder)},
        "relationships": {"HAS": int(reminder)},
    }
    script.add(
        events.StateObserved,
        4,
        after_turn=turn,
        object_context={"context": "ada", "resources": resources, "functions": []},
        graph=graph,
        elapsed_ms=4.0,
        **where,
    )


def _check(
    script: Script,
    index: int,
    turn: int,
    holds: bool,
    where: dict[str, Any],
    *,
    final: bool = False,
) -> None:
    script.add(
        events.AssertionChecked,
        1,
        index=index,
        title=TITLES[index],
        weight=WEIGHTS[index],
        after_turn=turn,
        final=final,
        status="passed" if holds else "failed",
        observed=0 if index == 2 else holds,
        expected=0 if index == 2 else True,
        **where,
    )


def _sign_off(script: Script, turn: int, where: dict[str, Any]) -> None:
    number = 2 * turn - 1
    script.add(
        events.MessageStarted,
        30,
        message=number,
        turn=turn,
        role="user",
        speaker="Socrates",
        **where,
    )
    script.add(
        events.MessageCompleted,
        150,
        message=number,
        turn=turn,
        role="user",
        speaker="Socrates",
        content="So Long, and Thanks for All the Fish",
        signs_off=True,
        **where,
    )
    script.add(
        events.ConversationEnded, 2, reason="signed_off", fault="none", duration_ms=8_000.0, **where
    )


def _score(
    script: Script,
    condition: Condition,
    turns: list[tuple[Any, ...]],
    task_scores: tuple[float, float],
    passed: tuple[bool, ...],
    where: dict[str, Any],
) -> float | None:
    reasons = (
        "no reminder was made: the agent asked for a time zone and was not told"
        if condition == "withheld"
        else "the reminder has date, dose and zone",
        "names aspirin, amiodarone and rifampicin, and refers to a clinician",
    )
    quotes = (turns[-2][1] if condition == "supplied" else turns[2][1], "aspirin")
    tasks = tuple(
        events.TaskScored(
            task=number,
            title=JOB["tasks"][number - 1]["task"],
            score=score,
            reason=reasons[number - 1],
            evidence=(
                events.EvidenceQuoted(
                    quote=quotes[number - 1], message=2 * len(turns) - (2 if number == 1 else 0)
                ),
            ),
            passed=score > 0.6,
        )
        for number, score in enumerate(task_scores, start=1)
    )
    script.add(events.TranscriptScored, 300, judge="rules", tone=0.9, tasks=tasks, **where)
    latencies = [float(line[2]) for line in turns]
    failures = 1 if condition == "withheld" else 0
    result = composite.compose(
        [
            composite.timing_part(JOB["aspirationalAverage"], latencies),
            composite.task_part(task_scores, 2),
            composite.assertion_part(list(zip(WEIGHTS, passed, strict=True))),
        ],
        failures,
    )
    script.add(
        events.ConversationScored,
        5,
        score=result.score,
        parts=result.parts,
        penalty=result.penalty,
        failures=failures,
        average_latency_ms=sum(latencies) / len(latencies),
        **where,
    )
    return result.score


def run_of_trials(trials: int, *, end: bool = True) -> list[RunEvent]:
    """Return the run held several times over: the last trial breaks off in its middle, the one
    before failed.
    """
    events_of_one = scripted_run()
    made: list[RunEvent] = [events_of_one[0].model_copy(update={"trials": trials})]
    for trial in range(1, trials + 1):
        held = [event for event in events_of_one if event.condition is not None]
        if trial == trials:
            held = held[: len(held) // 3]
        made += [event.model_copy(update={"trial": trial}) for event in held]
    if trials > 1:
        made = [
            event.model_copy(update={"reason": "evaluator_failed", "fault": "evaluator"})
            if isinstance(event, events.ConversationEnded)
            and (event.trial, event.condition) == (trials - 1, "supplied")
            else event
            for event in made
        ]
    return [*made, events_of_one[-1]] if end else made


def write_runs(settings: Settings, run_ids: Sequence[str]) -> None:
    """Write a recording of the scripted run for each id."""
    settings.runs_dir.mkdir()
    for run_id in run_ids:
        lines = [
            event.model_copy(update={"run_id": run_id}).model_dump_json()
            for event in scripted_run()
        ]
        recording_path(settings.runs_dir, run_id).write_text("\n".join(lines) + "\n")
