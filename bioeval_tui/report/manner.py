"""How the simulated user speaks compared with people, by condition, without a model."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from bioeval_tui.record.events import ROLE_RULES
from bioeval_tui.record.names import CONDITIONS, Condition
from bioeval_tui.report.findings import MannerBasis
from bioeval_tui.report.run import ConversationResult, RecordedRun
from bioeval_tui.report.sentences import sentence
from bioeval_tui.report.statistics.realism import (
    RATES,
    REFERENCES,
    Band,
    Measure,
    Realism,
    RealismReference,
    UserTranscript,
    realism,
)
from bioeval_tui.report.summary import condition_title
from bioeval_tui.uncertainty import FEWEST_UNITS
from bioeval_tui.units import number1, share

LABELS = {
    "words_per_turn": "words per turn",
    "facts_in_first_answer": "facts given in the first answer",
    "questions": "turns with a question",
    "hedges": "hedges per 100 words",
    "repetition": "repeated phrases",
    "out_of_role": "turns out of role",
}
SHARES = LABELS.keys() - RATES


@dataclass(frozen=True, slots=True)
class MannerRow:
    """One figure: the measured value, and people's range, if there is one."""

    name: str
    measure: Measure
    band: Band | None

    @property
    def label(self) -> str:
        """The name of the statistic."""
        return LABELS[self.name]

    @property
    def found(self) -> str:
        """Such as `12.6 (12.3 to 12.8)`."""
        if self.measure.value is None:
            return "not checked" if self.name == "out_of_role" else "–"
        interval = self.measure.interval
        around = f" ({self._words(interval.low)} to {self._words(interval.high)})" if interval else ""
        return f"{self._words(self.measure.value)}{around}"

    @property
    def people(self) -> str:
        """Such as `12.7 (5.4 to 26.9)`."""
        if self.band is None:
            return "not known"
        return (
            f"{self._words(self.band.mean)} ({self._words(self.band.low)} to {self._words(self.band.high)})"
        )

    @property
    def unlike(self) -> bool:
        """Whether the whole interval is outside the middle 90 % of people's conversations."""
        interval = self.measure.interval
        return (
            interval is not None
            and self.band is not None
            and (interval.high < self.band.low or interval.low > self.band.high)
        )

    def _words(self, value: float) -> str:
        return share(value, 1) if self.name in SHARES else number1(value)


@dataclass(frozen=True, slots=True)
class RunManner:
    """How the simulated user speaks in one condition."""

    condition: Condition
    title: str
    """What the jobs call it, else `facts withheld`."""
    conversations: int
    rows: tuple[MannerRow, ...]
    reference: RealismReference

    @property
    def column(self) -> str:
        """The heading of the measured values."""
        return "measured [95 % interval]" if self.conversations >= FEWEST_UNITS else "measured"

    @property
    def note(self) -> str:
        """What it is compared with and, with too few conversations, why no value has an interval."""
        people = self.reference
        return sentence(
            MannerBasis(
                self.conversations,
                FEWEST_UNITS,
                people.name,
                people.licence,
                people.about,
                people.conversations,
            )
        )


def manners(runs: Sequence[RecordedRun]) -> list[RunManner]:
    """Return how the simulated user speaks in each condition; nothing without messages, or if it follows a script."""
    made = []
    runs = [run for run in runs if run.kind_of("evaluator") != "scripted"]
    for condition in CONDITIONS:
        transcripts = [_transcript(run, talk) for run in runs for talk in run.conversations_in(condition)]
        told = realism(transcripts)
        if told.words_per_turn.value is not None:
            title, count = condition_title(runs, condition), told.words_per_turn.conversations
            made.append(RunManner(condition, title, count, tuple(_rows(told)), REFERENCES[0]))
    return made


def _rows(told: Realism) -> list[MannerRow]:
    return [MannerRow(name, getattr(told, name), REFERENCES[0].bands.get(name)) for name in LABELS]


def _transcript(run: RecordedRun, talk: ConversationResult) -> UserTranscript:
    """Return the sent messages without the greeting, which is drawn from the job."""
    greeting = run.started.source is None
    sent = [
        message
        for message in talk.messages
        if talk.sent(message) and not (greeting and message.message == 1) and not message.operator
    ]
    messages = [(message.role, message.text) for message in sent]
    facts = talk.case.facts if talk.case is not None else run.state.job.get("facts") or ()
    target = run.state.job.get("target")
    names = {message.speaker for message in talk.messages}
    names |= {str(target[key]) for key in ("user", "chatbot") if isinstance(target, dict) and target.get(key)}
    told = tuple(map(str, facts)) if talk.condition == "supplied" else ()
    evaluator = run.state.job.get("evaluator")
    out: Collection[int] | None
    if not greeting:
        # Imported only for a foreign file, on which no guard ran: it takes a tenth of a second.
        from bioeval_tui.evaluation.guards.transcripts import out_of_role

        out = out_of_role(messages)
    elif isinstance(evaluator, dict) and evaluator.get("guards") == "off":
        out = None
    else:
        faulty = {fault.message for fault in talk.user_faults if fault.kind in ROLE_RULES}
        out = [place for place, message in enumerate(sent) if message.message in faulty]
    return UserTranscript(messages, told, tuple(sorted(names - {"user", "agent"})), out)


def manner_dicts(manners_of_run: Sequence[RunManner]) -> dict[str, Any]:
    """Return it for JSON, by condition."""
    return {
        one.condition: {
            "conversations": one.conversations,
            "reference": {
                "name": one.reference.name,
                "source": one.reference.source,
                "licence": one.reference.licence,
            },
            "figures": {
                row.name: {
                    "value": row.measure.value,
                    "interval": [row.measure.interval.low, row.measure.interval.high]
                    if row.measure.interval
                    else None,
                    "people": [row.band.mean, row.band.low, row.band.high] if row.band else None,
                    "unlike_people": row.unlike,
                }
                for row in one.rows
            },
        }
        for one in manners_of_run
    }
