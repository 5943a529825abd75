"""What a run keeps of its conversations, and what a resumed one, which does not repeat them, reads
from its recording.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product

from bioeval_tui.evaluation.conversation.observe import Observation
from bioeval_tui.peers.seams import GraphSnapshot, RecordSnapshot
from bioeval_tui.record import events, score as composite
from bioeval_tui.record.condition_names import Condition
from bioeval_tui.record.events import Fault
from bioeval_tui.record.state import ConversationState, RunState

MOST_UNMEASURED: Mapping[Fault, int] = {"infrastructure": 3, "program": 3, "judge": 5, "unclear": 5}
"""After so many conversations in a row that are not measured by this fault, the next ones would not
be, either.
"""


@dataclass(slots=True)
class ConversationRecord:
    """What the run keeps of one conversation: its starting state and its score."""

    start: Observation | None = None
    score: float | None = None
    cancelled: bool = False
    unmeasured: events.ConversationScored | None = None
    """Its end, if it has no score by a fault in `MOST_UNMEASURED`."""
    judged: bool = False
    """Whether the judge gave a verdict, or no conversation of the run needs one."""

    def take(self, scored: events.ConversationScored) -> None:
        """Keep what the run needs of a conversation's score."""
        self.score = scored.score
        lost = scored.score is None and scored.fault in MOST_UNMEASURED and not scored.cancelled
        # One pause of this program is in every conversation that was held meanwhile, and says
        # nothing of the next ones.
        paused = any(part.reason == composite.DID_NOT_RUN for part in scored.parts)
        self.unmeasured = None
        if lost and not paused:
            self.unmeasured = scored


@dataclass(frozen=True)
class Earlier:
    """What a resumed run already has: finished conversations, and how many times others were
    started.
    """

    finished: Mapping[tuple[Condition, int], ConversationRecord]
    attempts: Mapping[tuple[Condition, int], int]
    clean: bool = True
    compared: frozenset[str] | None = None
    sessions: Mapping[str, str] = field(default_factory=dict)
    """The titles of the conversations that had a session, by its id."""

    @property
    def has_begun(self) -> bool:
        """Whether a conversation was begun, finished or not."""
        return bool(self.attempts)


@dataclass(frozen=True)
class Resumption:
    """Where to continue a run: its state, the number of its last event, its trials, and whether it
    ended.
    """

    earlier: Earlier
    after_seq: int
    trials: int
    ended: bool

    def owes(self, conditions: Sequence[Condition], trials: int) -> bool:
        """Return whether a conversation of that many trials is missing."""
        asked = product(conditions, range(1, trials + 1))
        return any(each not in self.earlier.finished for each in asked)


def find_resumption(state: RunState) -> Resumption:
    """Return where to continue the run with this state."""
    # Starts are compared once all conversations of a trial are held: those of other trials can be
    # large, and are not needed again.
    open_trials = {trial for _, trial in missing_conversations(state, count_trials(state))}
    finished: dict[tuple[Condition, int], ConversationRecord] = {}
    attempts: dict[tuple[Condition, int], int] = {}
    sessions: dict[str, str] = {}
    for key, talk in state.conversations.items():
        attempts[key.condition, key.trial] = talk.attempt
        title = f"{state.condition_title(key.condition)}, {state.trial_words(key.trial)}"
        sessions |= {attempt.session_id: title for attempt in talk.attempts if attempt.session_id}
        if is_finished(talk):
            score = talk.score.score if talk.score else None
            start = _first_observation(talk) if key.trial in open_trials else None
            finished[key.condition, key.trial] = ConversationRecord(start, score)
    earlier = Earlier(finished, attempts, state.clean, _compared_parts(state), sessions)
    return Resumption(earlier, state.last_seq, count_trials(state), state.ended is not None)


def count_trials(state: RunState) -> int:
    """Return the number of trials: the planned number, or the existing one if that is larger."""
    numbers = [1, *(key.trial for key in state.conversations)]
    if state.started:
        numbers.append(state.started.trials)
    return max(numbers)


def is_finished(talk: ConversationState) -> bool:
    """Return whether a conversation has its result: it ended by itself and was scored, even if
    without a number.

    A cancelled one is run again; so is one whose judge was interrupted.
    """
    if talk.ended is None or talk.score is None:
        return False
    return talk.ended.reason != "cancelled" and not talk.score.cancelled


def missing_conversations(
    state: RunState, trials: int | None = None
) -> list[tuple[Condition, int]]:
    """Return the missing conversations, in order; `trials` is the number of trials if it is larger
    than before.
    """
    if state.started is None:
        return []
    numbers = range(1, (trials or state.started.trials) + 1)
    return [
        (condition, trial)
        for trial, condition in product(numbers, state.started.conditions)
        if (talk := state.conversation(condition, trial)) is None or not is_finished(talk)
    ]


def excluded_trials(state: RunState) -> list[int]:
    """Return the trials in which a conversation has no score: whoever's fault that is, it does not
    count.
    """
    return sorted(
        {
            key.trial
            for key, talk in state.conversations.items()
            if is_finished(talk) and talk.score is not None and talk.score.score is None
        }
    )


def _compared_parts(state: RunState) -> frozenset[str] | None:
    """Return the parts of the starting states that every finished trial compared; None without a
    finished trial.
    """
    trials: dict[int, list[frozenset[str]]] = {}
    for key, talk in state.conversations.items():
        if is_finished(talk) and talk.start_parts is not None:
            trials.setdefault(key.trial, []).append(talk.start_parts)
    seen = [frozenset.intersection(*starts) for starts in trials.values() if len(starts) > 1]
    if seen:
        return frozenset.intersection(*seen)
    return None


def _first_observation(talk: ConversationState) -> Observation | None:
    seen = talk.start
    if seen is None:
        return None
    graph = None
    if seen.graph is not None:
        graph = GraphSnapshot(
            seen.graph.get("labels", {}),
            seen.graph.get("relationships", {}),
            str(seen.graph.get("digest", "")),
        )
    records = None
    if seen.fhir is not None:
        records = RecordSnapshot(seen.fhir.get("resources", {}), str(seen.fhir.get("digest", "")))
    return Observation(
        seen.object_context, graph, seen.error, digests=seen.digests, records=records
    )
