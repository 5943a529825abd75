"""All guards over one message of the simulated user, or over transcripts of any origin, one JSON object a line."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, BinaryIO

from bioeval_tui.errors import InputError
from bioeval_tui.evaluation.guards.common import sentences
from bioeval_tui.evaluation.guards.content import contradiction, facts_given_away, invention
from bioeval_tui.evaluation.guards.ending import early_end, gave_up, never_ended
from bioeval_tui.evaluation.guards.voice import leak, non_answer, out_of_role, repetition, role_swap
from bioeval_tui.evaluation.job.models import EvaluationJob
from bioeval_tui.evaluation.models.prompting import Prompt
from bioeval_tui.evaluation.seams import EvaluatorView, TranscriptMessage, Violation
from bioeval_tui.record.events import ROLE_RULES
from bioeval_tui.record.importing.looking import line_value
from bioeval_tui.record.names import CONDITIONS, Condition
from bioeval_tui.text import clean, clean_line

MAX_CHECKED = 10_000
"""Maximum number of characters of a message that are checked; people type fewer."""

RULES: Mapping[str, str] = {
    "leak": "shows its reasoning or words of its prompt",
    "out_of_role": "speaks of the vignette, the prompt or its instructions",
    "role_swap": "speaks as the assistant",
    "fact_withheld": "says a fact that was withheld from it",
    "fact_unasked": "gives a fact that the agent had not asked for",
    "early_signoff": "ends while a task has not been brought up, or instead of an answer",
    "never_ended": "says goodbye again and again",
    "gave_up": "gives up what it wanted",
    "contradiction": "contradicts a fact that it was told",
    "invention": "makes up a number or a quantity",
    "non_answer": "answers what it has mentioned, not what it was asked",
    "repetition": "says again what it said before",
}
"""Every rule, and what breaks it."""

# The most serious first: the evaluator's second attempt is told only the first finding.
_GUARDS: tuple[Callable[[EvaluatorView, str], Violation | None], ...] = (
    out_of_role,
    role_swap,
    facts_given_away,
    early_end,
    never_ended,
    gave_up,
    contradiction,
    invention,
    non_answer,
    repetition,
)


def check(view: EvaluatorView, text: str, prompt: Prompt | None = None) -> list[Violation]:
    """Return the violations in the evaluator's message `text`, the most serious first.

    `prompt` is the evaluator's prompt, whose words must not appear. The job's
    `evaluator.guards` decides the effect of a finding: with `strict`, every finding voids the message.
    """
    mode = view.job.evaluator.guards
    if mode == "off":
        return []
    text = text[:MAX_CHECKED]
    verdicts = [leak(view, text, prompt), *(guard(view, text) for guard in _GUARDS)]
    violations = [violation for violation in verdicts if violation is not None]
    if mode == "strict":
        violations = [replace(violation, effect="void") for violation in violations]
    return sorted(violations, key=lambda violation: violation.effect != "void")


MAX_LINE = 16_000_000
"""Maximum number of bytes of a line."""
MAX_MESSAGES = 2_000
"""Maximum number of messages of a conversation, because each is compared with the previous ones."""
_UNHEARD = ("system", "developer", "tool", "function")
"""Roles that are counted, but neither checked nor heard by the user."""


@dataclass(frozen=True, slots=True)
class Hit:
    """One finding. `message` counts from 1 over all messages of the conversation."""

    id: str
    message: int
    rule: str
    effect: str
    detail: str


@dataclass(slots=True)
class GuardTotals:
    """The totals. A void message does not also count as marked."""

    conversations: int = 0
    user_messages: int = 0
    marked: int = 0
    void: int = 0
    bad_lines: int = 0
    by_rule: dict[str, int] = field(default_factory=lambda: dict.fromkeys(RULES, 0))


def check_transcripts(lines: BinaryIO, name: str) -> Iterator[Hit | InputError | GuardTotals]:
    """Yield every finding in the order of the file, an error for each line that cannot be read, and the totals last.

    Only one line is in memory at a time.
    """
    totals = GuardTotals()
    number = 0
    while line := lines.readline(MAX_LINE + 1):
        number += 1
        try:
            if line.strip():
                yield from _hits(_parse(_whole(line, lines)), number, totals)
        except InputError as problem:
            totals.bad_lines += 1
            yield InputError(f"{clean_line(name, 200)}, line {number}: {problem}")
    yield totals


def messages_out_of_role(messages: Sequence[tuple[str, str]]) -> frozenset[int]:
    """Return the places (from 0) of the user's messages, of (role, text) in order, that leave the role."""
    lines = [
        {"role": role if role in ("user", "assistant") else "system", "content": text}
        for role, text in messages
    ]
    hits = _hits({"messages": lines}, 1, GuardTotals())
    return frozenset(hit.message - 1 for hit in hits if hit.rule in ROLE_RULES)


def _whole(line: bytes, lines: BinaryIO) -> bytes:
    """Return the line; raise `InputError`, after skipping the rest of it, if it is too long."""
    if len(line) > MAX_LINE:
        while line and not line.endswith(b"\n"):
            line = lines.readline(MAX_LINE)
        raise InputError(f"longer than {MAX_LINE:,} bytes")
    return line


def _hits(data: Mapping[str, Any], number: int, totals: GuardTotals) -> Iterator[Hit]:
    messages = _messages(data)
    job, condition = _job(data), _condition(data)
    identity = clean_line(str(data.get("id", number)), 200)
    facts = job.facts if condition == "supplied" else ()
    heard: list[TranscriptMessage] = []
    view = EvaluatorView(job, condition, 1, facts, heard)
    totals.conversations += 1
    for place, (role, content) in enumerate(messages, start=1):
        if role in _UNHEARD:
            continue
        if role == "user":
            violations = check(view, content)
            effects = {violation.effect for violation in violations}
            totals.user_messages += 1
            totals.void += "void" in effects
            totals.marked += effects == {"mark"}
            for violation in violations:
                totals.by_rule[violation.rule] += 1
                yield Hit(identity, place, violation.rule, violation.effect, clean_line(violation.detail))
        heard.append(TranscriptMessage(place, "user" if role == "user" else "assistant", content))


def _parse(line: bytes) -> Mapping[str, Any]:
    data = line_value(line.strip())
    if not isinstance(data, dict):
        raise InputError("must be a JSON object with `id` and `messages`")
    return data


def _messages(data: Mapping[str, Any]) -> list[tuple[str, str]]:
    messages = data.get("messages")
    if not isinstance(messages, list):
        raise InputError("`messages` must be a list of objects with `role` and `content`")
    if len(messages) > MAX_MESSAGES:
        raise InputError(f"`messages` has {len(messages):,} entries; at most {MAX_MESSAGES:,} are checked")
    told = []
    for place, message in enumerate(messages, start=1):
        role = message.get("role") if isinstance(message, dict) else None
        if role not in ("user", "assistant", *_UNHEARD):
            raise InputError(
                f"message {place}: `role` must be user (the simulated user) or assistant (the agent)"
            )
        content = message.get("content")
        if content is None and role != "user":
            content = ""  # a message that only calls tools
        if not isinstance(content, str):
            raise InputError(f"message {place}: `content` must be text")
        told.append((role, clean(content)))
    return told


def _job(data: Mapping[str, Any]) -> EvaluationJob:
    if "facts" in data and "vignette" in data:
        raise InputError("give `facts` or `vignette`, not both")
    vignette = data.get("vignette", "")
    if not isinstance(vignette, str):
        raise InputError("`vignette` must be text")
    facts = _texts(data, "facts") or sentences(clean(vignette))
    tasks = [{"task": task} for task in _texts(data, "tasks")]
    return EvaluationJob.model_validate(
        {
            "target": {"user": "user", "chatbot": "assistant"},
            "aspirationalAverage": 1000.0,
            "tasks": tuple(tasks),
            "facts": tuple(facts),
        }
    )


def _texts(data: Mapping[str, Any], key: str) -> tuple[str, ...]:
    texts = data.get(key, [])
    if not isinstance(texts, list) or not all(isinstance(text, str) and text.strip() for text in texts):
        raise InputError(f"`{key}` must be a list of texts")
    return tuple(clean(text) for text in texts)


def _condition(data: Mapping[str, Any]) -> Condition:
    condition = data.get("condition", "supplied")
    if condition not in CONDITIONS:
        raise InputError("`condition` must be withheld or supplied")
    return condition  # type: ignore[no-any-return]
