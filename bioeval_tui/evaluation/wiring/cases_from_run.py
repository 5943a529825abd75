"""Cases and a job out of real conversations: what users asked first is each case's request, what
they told after it its facts.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from bioeval_tui.base.errors import UsageError
from bioeval_tui.base.text import clean, clean_line, plural
from bioeval_tui.evaluation.wiring.persons import Persons
from bioeval_tui.jobs.template import Answers, conversation_cases_text
from bioeval_tui.peers.goodbyes import without_signoff
from bioeval_tui.record.cases import job_part
from bioeval_tui.record.importing.chat import sentences
from bioeval_tui.record.masking import masking
from bioeval_tui.record.reading import started_run
from bioeval_tui.record.run_options import MOST_CASES
from bioeval_tui.record.runs import is_own
from bioeval_tui.record.state import ConversationState, RunState

LONGEST_FACT = 500
"""Maximum number of characters of a sentence that is a fact."""
FEWEST_WORDS = 3
"""A shorter sentence, such as “Thanks!”, tells nothing that an agent has to ask for."""


@dataclass(frozen=True, slots=True)
class CasesOfRun:
    """A table of cases as JSON Lines, the job for it, and sentences on what was left out and
    masked.
    """

    table: str
    job: str
    notes: tuple[str, ...]


def is_unjudged(recording: Path, runs_dir: Path) -> bool:
    """Return whether a run has no failure to write a job from: it came from elsewhere, and nothing
    in it was scored.

    Raises:
        RecordingError: the recording cannot be read.
    """
    if is_own(recording, runs_dir):
        return False
    state, _, _ = started_run(recording)
    return not any(
        talk.verdict is not None
        or talk.final_checks
        or (talk.ended and talk.ended.reason == "agent_failed")
        for talk in state.conversations.values()
    )


def build_cases(recording: Path, table: str) -> CasesOfRun:
    """Return a case for each conversation of a run, and a job for the table of that name.

    Raises:
        RecordingError: the recording cannot be read.
        UsageError: no user said anything, or there are too many conversations.
    """
    state, started, _ = started_run(recording, by_words=True)
    rows: list[dict[str, Any]] = []
    silent = masked = 0
    for talk in _first_conversations(state):
        persons = Persons()
        row = _case(talk, f"conversation {len(rows) + silent + 1}", started.job, persons)
        masked += persons.found
        if row is None:
            silent += 1
        else:
            rows.append(row)
    if not rows:
        raise UsageError(f"{started.run_id}: no user said anything in its conversations")
    if len(rows) > MOST_CASES:
        raise UsageError(
            f"{started.run_id}: {len(rows):,} conversations; a job has at most {MOST_CASES:,} cases"
        )
    title = f"{plural(len(rows), 'conversation')} of run {started.run_id}"
    has_facts, has_expected = (any(row[key] for row in rows) for key in ("told", "expected"))
    if not has_expected:
        rows = [{key: value for key, value in row.items() if key != "expected"} for row in rows]
    lines = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    job = conversation_cases_text(
        Answers(), table, clean_line(title), has_facts=has_facts, has_expected=has_expected
    )
    return CasesOfRun(lines, job, tuple(_notes(rows, silent, masked)))


def _first_conversations(state: RunState) -> Iterator[ConversationState]:
    """Yield the first conversation of each case; those without a name are cases of their own."""
    seen: set[str] = set()
    for talk in state.conversations.values():
        name = talk.case.name if talk.case is not None else ""
        if not name or name not in seen:
            seen.add(name)
            yield talk


def _case(talk: ConversationState, name: str, job: Any, persons: Persons) -> dict[str, Any] | None:
    """Return a conversation's row of the table; None if the user said nothing.

    `name` is that of a conversation without a case. `persons` learns the persons in its texts, and
    masks them.
    """
    signoff = str(job_part(job, "evaluator").get("signoff") or "")
    texts = [message.text for message in talk.messages if message.role == "user"]
    said = texts
    if signoff:
        said = [without_signoff(text, signoff) or "" for text in texts]
    said = [text for text in (clean(each).strip() for each in said) if text]
    if not said:
        return None
    for text in said:
        persons.learn(text)
    asked, *later = [persons.masked(text) for text in said]
    told = filter(_tells, chain.from_iterable(map(sentences, later)))
    expected = ""
    if talk.case:
        name = persons.masked(talk.case.name)
        # The job for the table has one task, so one column of criteria.
        expected = next((str(task.get("acceptanceCriteria") or "") for task in talk.case.tasks), "")
    return {
        "case": name,
        "asked": asked,
        "told": list(dict.fromkeys(told)),
        "expected": persons.masked(expected) or None,
    }


def _tells(sentence: str) -> bool:
    """Return whether a sentence of the user may be a fact: no question, no thanks, nothing too long
    for one.
    """
    if len(sentence) > LONGEST_FACT or sentence.rstrip().endswith(("?", "？", "؟")):
        return False
    # Some languages have no spaces between words.
    return len(sentence.split()) >= FEWEST_WORDS or not sentence.isascii()


def _notes(rows: list[dict[str, Any]], silent: int, masked: int) -> Iterator[str]:
    untold = sum(not row["told"] for row in rows)
    if silent:
        yield f"{plural(silent, 'conversation')} in which no user said anything, left out"
    if untold:
        yield (
            f"{plural(untold, 'case')} without facts: the user told nothing after the first message"
        )
    yield (
        f"{plural(masked, 'address, number or name', 'addresses, numbers and names')} of persons"
        " replaced by words"
    )
    if not masking():
        yield (
            "other names are masked only if --redact lists them (docs/masking.md): read the table"
            " before you share it or run it with a model of others"
        )
