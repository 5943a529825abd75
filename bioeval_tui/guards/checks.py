"""All guards over one message of the simulated user, or over transcripts of any origin, one JSON
object a line.

The guards for the end of a conversation are here, too: given up, ended too early, or never.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Annotated, Any, BinaryIO

from bioeval_tui.base.errors import InputError
from bioeval_tui.base.peer_limits import MAX_BLANK_LINES
from bioeval_tui.base.printed import Fields
from bioeval_tui.base.text import clean, clean_line, shorten, visible_text
from bioeval_tui.guards.common import (
    can_be_read,
    is_in_english,
    last_agent_message,
    said_by_user,
    sentences,
    signs_off,
    so_far,
    spoken_language,
    tasks_told,
    without_signoff,
    word_count,
)
from bioeval_tui.guards.content import (
    contradiction,
    facts_given_away,
    invention,
    right_value,
    untouched_tasks,
    why_unread,
)
from bioeval_tui.guards.placebo import off_placebo
from bioeval_tui.guards.voice import leak, non_answer, out_of_role, repetition, role_swap
from bioeval_tui.jobs.models import EvaluationJob
from bioeval_tui.languages import language_of
from bioeval_tui.peers.goodbyes import only_goodbye, says_goodbye
from bioeval_tui.peers.models.prompting import Prompt
from bioeval_tui.peers.seams import EvaluatorView, TranscriptMessage, Violation
from bioeval_tui.record.condition_names import PUBLISHED_NAMES, Condition
from bioeval_tui.record.conditions import SUPPLIED
from bioeval_tui.record.importing.json_pieces import json_value
from bioeval_tui.record.participants import Role
from bioeval_tui.record.warning_codes import FACTS_UNREAD

LONGEST_GIVING_UP = 25
"""A longer message, in words, that has such a phrase does not give up."""

_REQUEST = re.compile(
    r"\?|\b(?:please|could you|can you|would you|tell me|show me|give me|remind me|i need|i"
    r" want|i['’]d like|i would like)\b",
    re.IGNORECASE,
)
# A question that "that's all" or "no, thanks" answers.
_OFFER = re.compile(
    r"\b(?:anything|something|what) else\b|\belse (?:i|we|you) |\bany (?:other |further |more"
    r" )?(?:questions|concerns)\b|\b(?:can|could|may|shall) i\b"
    r"|\bwould you like\b|\b(?:help|assist) you\b|\blet me know if\b|\b(?:ok|okay|all"
    r" ?right|sounds? good|makes? sense)\W*$",
    re.IGNORECASE,
)
_ANSWERS = re.compile(
    r"^\W*(?:no|nope|not|yes|yeah|yep|sure|okay|ok|please|alright)\b", re.IGNORECASE
)
# An answer to "Any other symptoms?"
_THAT_IS_ALL = re.compile(
    r"^\W*(?:(?:no|nope|i (?:think|guess|believe)),? )*that(?:['’]s| is) (?:all|everything|about"
    r" it)\b[^.!,]*[.!]?\s*$",
    re.IGNORECASE,
)
_OPEN = re.compile(
    r"\b(?:what|when|where|which|who|how|why|describe|provide|tell me|let me know|specify)\b",
    re.IGNORECASE,
)
_GIVES_UP = re.compile(
    r"^\W*(?:\w+,? ){0,2}?(?:never ?mind\b|forget (?:it|about it|this|the whole thing)\b|drop"
    r" it\b|i(?:'ll| will)? (?:just )?(?:give up|quit)\b"
    r"|i(?:'m| am) (?:giving up|out of here|leaving|done(?: here| talking| with (?:this|you|it)(?:"
    r" \w+)?)?(?=\W*$))|whatever\b)"
    r"|\b(?:i(?:'m| am) done|i give up|i(?:'m| am) giving up)(?=\W*$)|\bi give up on"
    r" (?:this|you|it)\b"
    r"|\bi(?:'ve| have) had (?:enough(?=\W*$)|enough of (?:this|you)(?=\W*$))"
    r"|\b(?:this|it|talking to you)(?:'s| is) (?:all )?(?:pointless|useless|hopeless|no use|a waste"
    r" of (?:my )?time|going nowhere|getting (?:us|me) nowhere)\b"
    r"|\b(?:you(?:'re| are)|i(?:'m| am)|just) wasting my time\b|\bwaste of (?:my )?time(?=\W*$)"
    r"|\byou(?:'re| are) (?:not helping|no help|not (?:being )?(?:any |very"
    r" )?help(?:ful)?|useless)(?=\W*$|[,;])"
    r"|\bi (?:don't|do not) (?:want|feel like|care) (?:to )?(?:talk|talking|go"
    r" on|continue|discuss|discussing|do)\b[^.?!]{0,30}\b(?:any ?more|any longer)\b"
    r"|\bi(?:'ll| will) (?:just |rather |simply )?(?:ask|try|call|find|look for|go to)"
    r" (?:someone|somebody|somewhere|another \w+|it) ?(?:else|elsewhere)?(?=\W*$)"
    r"|\b(?:let's|let us) (?:just )?(?:drop|forget|leave|stop) (?:it|this|that)?(?: here|"
    r" there)?(?=\W*$)",
    re.IGNORECASE,
)


class _Requests:
    """Counts the user's messages that ask for something."""

    def __init__(self, view: EvaluatorView) -> None:
        self.count = 0

    def take(self, message: TranscriptMessage) -> None:
        """Receive the next message."""
        self.count += message.role == "user" and bool(_REQUEST.search(message.content))


def early_end(view: EvaluatorView, text: str) -> Violation | None:
    """Find a goodbye while a task has not been brought up, or instead of an answer to the agent's
    question.
    """
    if not signs_off(view, text) and not says_goodbye(text):
        return None
    if not is_in_english(view, without_signoff(view, text)):
        return None
    left = untouched_tasks(view, text)
    requests = so_far(view, _Requests).count + bool(_REQUEST.search(without_signoff(view, text)))
    # As many requests as tasks: the last may use other words than the task.
    if left and requests < len(tasks_told(view)):
        task = shorten(clean_line(view.job.tasks[left[0] - 1].task), 80)
        return Violation(
            "early_signoff",
            f"ends while task {left[0]} has not been brought up: “{task}”",
            f"You said goodbye too early. You have not yet brought up: {task}. Bring it up now.",
            "mark",
        )
    question = _unanswered(view, text)
    if not question:
        return None
    return Violation(
        "early_signoff",
        f"says goodbye instead of answering “{shorten(question, 80)}”",
        "You said goodbye, but the chatbot had asked you something. Answer it first.",
        "mark",
    )


def _unanswered(view: EvaluatorView, text: str) -> str:
    """Return the agent's question to which a message says only goodbye; empty if it asked nothing
    that needs an answer.
    """
    words = without_signoff(view, text)
    if words and (not only_goodbye(words) or _THAT_IS_ALL.search(words)):
        return ""
    asked = [part for part in sentences(last_agent_message(view)) if part.endswith("?")]
    asked = [part for part in asked if not _OFFER.search(part)]
    if not asked or (_ANSWERS.search(words) and not _OPEN.search(asked[-1])):
        return ""
    return asked[-1]


def keeps_saying_goodbye(view: EvaluatorView, text: str) -> bool:
    """Return whether a message says goodbye, and nothing else, after one that did the same: then
    the conversation is over.

    Thanks alone are no goodbye until the third time.
    """
    said = said_by_user(view).texts
    # the first is the greeting
    if len(said) < 2 or not only_goodbye(text) or not only_goodbye(said[-1]):
        return False
    return (
        says_goodbye(text) or says_goodbye(said[-1]) or (len(said) > 2 and only_goodbye(said[-2]))
    )


def never_ended(view: EvaluatorView, text: str) -> Violation | None:
    """Find the third goodbye in a row. People say it twice."""
    before = said_by_user(view).texts[-2:]
    if signs_off(view, text) or not keeps_saying_goodbye(view, text):
        return None
    if len(before) < 2 or not all(only_goodbye(said) for said in before):
        return None
    return Violation(
        "never_ended",
        f"says goodbye for the third time, without the sign-off: “{shorten(clean_line(text), 80)}”",
        "You have said goodbye already. Say it with exactly these words:"
        f" {view.job.evaluator.signoff}",
        "mark",
    )


def gave_up(view: EvaluatorView, text: str) -> Violation | None:
    """Find a message that gives up what the user wanted."""
    words = without_signoff(view, text)
    if word_count(words) > LONGEST_GIVING_UP or "?" in words or re.search(r"\d", words):
        return None
    for part in sentences(words.replace("’", "'")):
        if match := _GIVES_UP.search(part):
            return Violation(
                "gave_up",
                f"gives up: “{shorten(match.group().strip(), 80)}”",
                "You gave up. Stay with what you want until the chatbot has done it, has answered"
                " it, or clearly cannot.",
                "mark",
                match.group().strip(),
            )
    return None


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
    "right_value": "says the right value of a fact that its persona gets wrong",
    "invention": "makes up a number or a quantity",
    "off_placebo": "says something else than its placebo text",
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
    right_value,
    contradiction,
    invention,
    off_placebo,
    non_answer,
    repetition,
)


def check(view: EvaluatorView, text: str, prompt: Prompt | None = None) -> list[Violation]:
    """Return the violations in the evaluator's message `text`, the most serious first.

    `prompt` is the evaluator's prompt, whose words must not appear. The job's `evaluator.guards`
    decides the effect of a finding: with `strict`, every finding voids the message.
    """
    mode = view.job.evaluator.guards
    if mode == "off":
        return []
    text = visible_text(text[:MAX_CHECKED])
    verdicts = [leak(view, text, prompt), *(guard(view, text) for guard in _GUARDS)]
    violations = [violation for violation in verdicts if violation is not None]
    if mode == "strict":
        violations = [replace(violation, effect="void") for violation in violations]
    return sorted(violations, key=lambda violation: violation.effect != "void")


NOT_LOOKED_FOR: Mapping[bool, str] = {
    True: "giving up, an early end, contradictions and non-answers are not looked for",
    False: (
        "roles, goodbyes in other words than the sign-off and facts are not looked for, and nothing"
        " is concluded from them"
    ),
}
"""What guards do not look for in languages other than English, by whether rules for the language
are known.
"""


def unread(view: EvaluatorView, *, guarded: bool) -> Iterator[tuple[str, str]]:
    """Yield what of a finished conversation cannot be read: the code of a warning, and a sentence.

    `guarded` says whether guards check its user. What `check` says of the tasks' language is not
    said again.
    """
    told, why = len(view.facts), why_unread(view)
    if told and why:
        yield (
            FACTS_UNREAD,
            f"whether the user gave the agent a fact cannot be told: {why} (docs/guards.md)",
        )
    spoken = spoken_language(view)
    checked = guarded and view.job.evaluator.guards != "off"
    already_said = language_of("\n".join(tasks_told(view).values())) == spoken
    if checked and not can_be_read(spoken) and not already_said:
        said = (
            f"the simulated user speaks {spoken.name}, in which {NOT_LOOKED_FOR[False]}"
            " (docs/guards.md)"
        )
        yield "language_unread", said


MAX_LINE = 16_000_000
"""Maximum number of bytes of a line."""
MAX_MESSAGES = 2_000
"""Maximum number of messages of a conversation, because each is compared with the previous ones."""
_UNHEARD = ("system", "developer", "tool", "function")
"""Roles that are counted, but neither checked nor heard by the user."""


@dataclass(frozen=True, slots=True)
class Hit:
    """One finding in a conversation, by its id.

    `message` counts from 1 over all messages of the conversation.
    """

    id: str
    message: int
    violation: Violation

    def to_dict(self) -> dict[str, Any]:
        """Return the finding for JSON."""
        found = self.violation
        return HIT.of(found, id=self.id, message=self.message, detail=clean_line(found.detail))


HIT = Fields(
    Violation,
    "id", "message", "rule", "effect", "detail",
    called="Hit",
    about="One finding. `message` counts from 1 over all messages of the conversation.",
    id=str,
    message=int,
    effect=str,
)  # fmt: skip
PrintedHit = Annotated[dict[str, Any], HIT]


@dataclass(slots=True)
class GuardTotals:
    """The totals. A void message does not also count as marked."""

    conversations: int = 0
    user_messages: int = 0
    marked: int = 0
    void: int = 0
    bad_lines: int = 0
    by_rule: dict[str, int] = field(default_factory=lambda: dict.fromkeys(RULES, 0))
    unread: dict[str, int] = field(default_factory=dict)
    """Conversations of a language that cannot be read, by its name."""


def check_transcripts(lines: BinaryIO, name: str) -> Iterator[Hit | InputError | GuardTotals]:
    """Yield every finding in the order of the file, an error for each line that cannot be read, and
    the totals last.

    Only one line is in memory at a time.
    """
    totals = GuardTotals()
    number = blank = 0
    while line := lines.readline(MAX_LINE + 1):
        number += 1
        blank += line.isspace()
        if blank > MAX_BLANK_LINES:
            totals.bad_lines += 1
            message = f"more than {MAX_BLANK_LINES:,} lines are blank; the rest is left out"
            yield InputError(f"{clean_line(name, 200)}, line {number}: {message}")
            break
        try:
            if line.strip():
                yield from _hits(_parse(_whole(line, lines)), number, totals)
        except InputError as problem:
            totals.bad_lines += 1
            yield InputError(f"{clean_line(name, 200)}, line {number}: {problem}")
    yield totals


_OF_ROLE = (leak, out_of_role, role_swap)
"""The guards of the rules that `record.events.ROLE_RULES` names."""


def messages_out_of_role(messages: Sequence[tuple[str, str]]) -> frozenset[int]:
    """Return the places (from 0) of the user's messages, of (role, text) in order, that leave the
    role.

    Only these guards run: of a file with thousands of conversations, the others would take most of
    the time.
    """
    lines = [
        {"role": role if role in ("user", "assistant") else "system", "content": text}
        for role, text in messages
    ]
    heard: list[TranscriptMessage] = []
    view = EvaluatorView(_empty_job(), SUPPLIED.name, 1, (), heard)
    out = set()
    for place, (role, content) in enumerate(_messages({"messages": lines})):
        if role in _UNHEARD:
            continue
        said = visible_text(content[:MAX_CHECKED])
        if role == "user" and any(guard(view, said) for guard in _OF_ROLE):
            out.add(place)
        heard.append(TranscriptMessage(place + 1, _speaker(role), content))
    return frozenset(out)


def _speaker(role: str) -> Role:
    if role == "user":
        return "user"
    return "assistant"


@cache
def _empty_job() -> EvaluationJob:
    return _job({})


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
    facts = job.condition(condition).known(job.facts)
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
                totals.by_rule[violation.rule] = totals.by_rule.get(violation.rule, 0) + 1
                yield Hit(identity, place, violation)
        heard.append(TranscriptMessage(place, _speaker(role), content))
    spoken = spoken_language(view)
    if not can_be_read(spoken):
        totals.unread[spoken.name] = totals.unread.get(spoken.name, 0) + 1


def _parse(line: bytes) -> Mapping[str, Any]:
    data = json_value(line.strip())
    if not isinstance(data, dict):
        raise InputError("must be a JSON object with `id` and `messages`")
    return data


def _messages(data: Mapping[str, Any]) -> list[tuple[str, str]]:
    messages = data.get("messages")
    if not isinstance(messages, list):
        raise InputError("`messages` must be a list of objects with `role` and `content`")
    if len(messages) > MAX_MESSAGES:
        raise InputError(
            f"`messages` has {len(messages):,} entries; at most {MAX_MESSAGES:,} are checked"
        )
    told = []
    for place, message in enumerate(messages, start=1):
        role = message.get("role") if isinstance(message, dict) else None
        if role not in ("user", "assistant", *_UNHEARD):
            raise InputError(
                f"message {place}: `role` must be user (the simulated user) or assistant (the"
                " agent)"
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
    if not isinstance(texts, list) or not all(
        isinstance(text, str) and text.strip() for text in texts
    ):
        raise InputError(f"`{key}` must be a list of texts")
    return tuple(clean(text) for text in texts)


def _condition(data: Mapping[str, Any]) -> Condition:
    condition = data.get("condition", SUPPLIED.name)
    if condition not in PUBLISHED_NAMES:
        raise InputError(f"`condition` must be {' or '.join(PUBLISHED_NAMES)}")
    return str(condition)
