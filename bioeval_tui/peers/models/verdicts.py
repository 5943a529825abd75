"""Reads a judge model's answer: which tasks it scores, with which reason and evidence.

`judge.py` asks with `answer_schema` and reads with `read_answer`; what is not usable is said in a
`MalformedAnswerError`, which the judge is told when it is asked again. The scores in the text are
found by `found_scores.py`, quotations by `quotations.py`. What may mean two things is not read.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, TypeGuard

from bioeval_tui.base.text import clean, clean_line, shorten
from bioeval_tui.jobs.models import JobTask
from bioeval_tui.peers.models.answer import object_schema
from bioeval_tui.peers.models.found_scores import Entries, ScoredEntry, ScoreGroups, readings
from bioeval_tui.peers.models.quotations import (
    holds_parts,
    locate,
    plain_form,
    plain_message,
    told_message,
)
from bioeval_tui.peers.models.shown import shown_calls
from bioeval_tui.peers.seams import Evidence, TaskVerdict, TranscriptMessage

MAX_EVIDENCE = 10
MAX_REASON = 2000
MAX_QUOTE = 300
"""Characters of a message that stand as evidence where the judge names the message."""
LARGEST = 10**9
"""Larger numbers, and `nan`, are not read as any."""
SCORES = tuple(step / 10 for step in range(11))
SHORTEST_COPY = 12
"""Characters. Shorter sentences of a prompt may well be a judge's own words."""
MOST_NUMBERS = 400
"""Most numbers of messages in a schema; providers limit all values of its `enum`s together."""
_REASON = {"type": "string", "pattern": r'^[^"\\\n 0-9.,:;!?-][^"\\\n]{4,299}$'}
_LINE = {"type": "string", "pattern": r'^[^"\\\n]{1,300}$'}
"""A text that ends.

Grammars made of a pattern put it between quotes as it is, so that it must exclude them.
"""
_SENTENCE_END = re.compile(r"(?<=[.!?:;])\s+|\n")
_WORD = re.compile(r"\w+")
_IS_LETTER = re.compile(r"[^\W\d_]")
_NUMBERED = re.compile(
    r"\W{0,3}(?:task|criterion|item|message)?[\s_#.:-]{0,3}([0-9]{1,4})(?:\s{0,3}[.:)-](.*))?",
    re.DOTALL | re.I,
)
_DECIMAL = re.compile(r"-?(?:[0-9]{1,6}(?:\.[0-9]{1,20})?|\.[0-9]{1,20})")
_ESCAPES = re.compile(r'\\(["/\\nrt])')
_STRING = re.compile(r'"([^"\\\n]{1,2000})"')


class MalformedAnswerError(Exception):
    """Something in the answer is not usable; the message says what is wrong, for the judge and for
    the user.
    """


@dataclass(frozen=True, slots=True)
class Question:
    """What a judge is asked: the job's tasks, the conversation, and what else it is shown.

    `wanted` are the numbers of the tasks to score, all if it is empty. `prompt` is the text of its
    instructions and the job's facts, which an answer may not repeat. With `published`, an answer
    may have the published shape: `scored` and `score` alone, in the tasks' order unless `scored`
    repeats their words; `examples` are then the instructions without the conversation, whose scores
    may not be copied either.
    """

    tasks: Sequence[JobTask]
    transcript: Sequence[TranscriptMessage]
    states: Sequence[str] = ()
    wanted: Sequence[int] = ()
    prompt: str = ""
    published: bool = False
    examples: str = ""


@dataclass(slots=True)
class Reading:
    """What an answer says: the verdict of each task, by number, and why others are missing."""

    verdicts: dict[int, TaskVerdict] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    tone: float | None = None
    note: str = ""
    """What was left out without harm."""


def answer_schema(
    tasks: Sequence[int],
    messages: Sequence[int] = (),
    *,
    users: Sequence[int] = (),
    quotes: bool = False,
    binary: bool = False,
) -> dict[str, Any]:
    """Return the JSON Schema of an answer on the tasks with these numbers, in the strict subset
    that providers support.

    The judge names `messages` by their numbers, 0 for none of them; with `quotes`, it quotes them
    instead, as the published prompts ask for. It says which of the `users` messages asks for each
    task, unless there are none. `binary` scores are 0 or 1.
    """
    steps = {"type": "number", "enum": [0, 1] if binary else list(SCORES)}
    number: dict[str, Any] = {"type": "integer"}
    if len(messages) < MOST_NUMBERS:
        number["enum"] = [*messages, 0]
    task: dict[str, Any] = {"task": {"type": "integer", "enum": list(tasks)}}
    if quotes:
        task |= {"scored": _LINE, "score": {"type": "number"}, "reason": _REASON}
        task |= {"evidence": {"type": "array", "items": _LINE, "maxItems": 3}}
    else:
        if users:
            task["asked"] = {"type": "integer"}
            if len(users) + len(messages) < MOST_NUMBERS:
                task["asked"]["enum"] = [*users, 0]
        task |= {"messages": {"type": "array", "items": number, "minItems": 1, "maxItems": 3}}
        task |= {"reason": _REASON, "score": steps}
    count = len(tasks)
    return object_schema(
        {
            "tasks": {
                "type": "array",
                "items": object_schema(task),
                "minItems": count,
                "maxItems": count,
            },
            "tone": {"type": "number", "enum": list(SCORES)},
        }
    )


def read_answer(text: str, asked: Question, wanted: Sequence[int] = ()) -> Reading:
    """Return what an answer says about the `wanted` tasks (all); one with two different scores, or
    an unusable one, has none.
    """
    wanted = wanted or asked.wanted or range(1, len(asked.tasks) + 1)
    record = plain_form("\n".join(message.content for message in asked.transcript))
    best = Reading()
    for scores in readings(text, lambda raw: plain_form(raw) in record):
        reading = _read(text, scores, asked, wanted)
        if not best.problems or len(reading.verdicts) > len(best.verdicts):
            best = reading
        if not best.problems:
            break
    return best


def _read(text: str, scores: ScoreGroups, asked: Question, wanted: Sequence[int]) -> Reading:
    reading = Reading()
    if not scores.is_json:
        reading.problems.append(f"it is not JSON: {shorten(clean_line(text), 80)}")
        return reading
    reading.tone, reading.note = _tone(
        next((g.tone for g in scores.groups if g.tone is not None), None)
    )
    refused: dict[int, str] = {}
    for group in scores.groups:
        if _scores_without_reasons(group) in _example_scores(asked.examples):
            reading.problems.append("it is the example of the instructions, word for word")
            continue
        in_group: set[int] = set()
        for number, entry in _number_entries(group, asked, wanted, reading.problems):
            if number in in_group:
                refused[number] = _scored_twice(number)
            in_group.add(number)
            try:
                verdict = _verdict(number, entry.given, asked)
            except MalformedAnswerError as problem:
                refused.setdefault(number, str(problem))
                continue
            # Another group may repeat a score (the same answer twice), but not change it.
            earlier = reading.verdicts.setdefault(number, verdict)
            if earlier.score != verdict.score:
                refused[number] = _scored_twice(number)
    for number in refused:
        reading.verdicts.pop(number, None)
    reading.problems += refused.values()
    missing = [str(n) for n in wanted if n not in reading.verdicts and n not in refused]
    if missing:
        reading.problems.append(f"no score for task {', '.join(missing)} (of {len(asked.tasks)})")
    return reading


def _scored_twice(number: int) -> str:
    return f"task {number} is scored twice"


def _number_entries(
    group: Entries, asked: Question, wanted: Sequence[int], problems: list[str]
) -> Iterator[tuple[int, ScoredEntry]]:
    """Yield each entry with its task: by number, by its words, or in order if no entry says which
    it is.
    """
    count = len(asked.tasks)
    numbers = [_task_number(entry, asked) for entry in group.entries]
    unnamed = all(number is None for number in numbers)
    if (
        unnamed
        and len(numbers) == len(wanted)
        and (asked.published or not any(map(_says_which, group.entries)))
    ):
        numbers = list(wanted)
    wrong = next(
        (number for number in numbers if number is not None and not 1 <= number <= count), None
    )
    if wrong is not None:  # the others may be counted in another way, too
        problems.append(f"there is no task {wrong}; tasks are numbered from 1 to {count}")
        return
    for number, entry in zip(numbers, group.entries, strict=True):
        if number is None:
            problems.append(
                "an entry of `tasks` does not say which task it scores: `task` must be its number"
            )
        else:
            yield number, entry


@lru_cache(maxsize=8)
def _example_scores(instructions: str) -> frozenset[str]:
    """Return the scores of each example in the instructions, in the form of
    `_scores_without_reasons`.
    """
    if not instructions:
        return frozenset()
    scores = next(readings(instructions, lambda raw: False))
    return frozenset(_scores_without_reasons(group) for group in scores.groups) - {""}


def _scores_without_reasons(group: Entries) -> str:
    """Return what entries in the published shape say, tone included; empty if one of them has a
    reason of its own.
    """
    if any(entry.given.get("reason") for entry in group.entries):
        return ""
    scores = [[entry.given.get("scored"), entry.given["score"]] for entry in group.entries]
    return json.dumps([group.tone, scores], default=str)


def _says_which(entry: ScoredEntry) -> bool:
    return any(entry.given.get(key) not in (None, "") for key in ("task", "scored"))


def _task_number(entry: ScoredEntry, asked: Question) -> int | None:
    for given in (entry.given.get("task"), entry.given.get("scored"), entry.key):
        if (number := _whole(given)) is not None:
            return number
        if isinstance(given, str) and (words := plain_form(given)):
            named = [
                n for n, task in enumerate(asked.tasks, start=1) if plain_form(task.task) == words
            ]
            if len(named) == 1:
                return named[0]
            numbered = _NUMBERED.fullmatch(given)
            if numbered and (not numbered[2] or _is_task(int(numbered[1]), numbered[2], asked)):
                return int(numbered[1])
    return None


def _is_task(number: int, words: str, asked: Question) -> bool:
    return number in range(1, len(asked.tasks) + 1) and plain_form(
        asked.tasks[number - 1].task
    ) == plain_form(words)


def _whole(given: Any) -> int | None:
    if not _is_number(given) or given != int(given):
        return None
    return int(given)


def _is_number(given: Any) -> TypeGuard[int | float]:
    """Return whether a JSON value is a number within `LARGEST`; NaN is within no bounds."""
    if isinstance(given, bool) or not isinstance(given, int | float):
        return False
    return -LARGEST <= given <= LARGEST


def _verdict(number: int, given: Mapping[str, Any], asked: Question) -> TaskVerdict:
    score = _unit(f"the score of task {number}", given["score"])
    reason = given.get("reason", "")
    if not isinstance(reason, str) or not (asked.published or _IS_LETTER.search(reason)):
        raise MalformedAnswerError(f"task {number} has no reason")
    reason = clean(reason.strip(), MAX_REASON)
    if _is_copied(reason, asked.prompt):
        raise MalformedAnswerError(f"the reason of task {number} is copied from the instructions")
    if _is_repeated(reason, _shown(asked)):
        raise MalformedAnswerError(
            f"the reason of task {number} only repeats words of the conversation or of a task"
        )
    about = f"{asked.tasks[number - 1].task} {reason}"
    evidence = tuple(dict.fromkeys(_evidence(number, given, asked, about)))[:MAX_EVIDENCE]
    if score > 0 and not evidence and not asked.published:
        raise MalformedAnswerError(f"task {number} has a score above 0 and no evidence")
    return TaskVerdict(number, score, reason, evidence, _asking_message(given.get("asked"), asked))


def _asking_message(given: Any, asked: Question) -> int | None:
    """Return the user's message that a judge names as asking for a task, 0 for none; None if it
    names another or none.
    """
    number = _message_number(given, is_quote=False)
    users = {0, *(message.message for message in asked.transcript if message.role == "user")}
    if number in users:
        return number
    return None


def _evidence(
    number: int, given: Mapping[str, Any], asked: Question, about: str
) -> Iterator[Evidence]:
    """Yield the messages that are named, in their own words, and the quotations that are given."""
    for key in ("messages", "message", "evidence"):
        named = given.get(key)
        if named is None:
            continue
        for item in named if isinstance(named, list) else [named]:
            text: Any = item
            if isinstance(item, Mapping):
                text = next(
                    (item[key] for key in ("quote", "text", "content", "message") if key in item),
                    None,
                )
            message = _message_number(
                text, is_quote=key == "evidence" and not isinstance(item, Mapping)
            )
            if message is not None:
                if message:
                    yield _quote_message(number, message, asked, about)
            elif not isinstance(text, str):
                raise MalformedAnswerError(
                    f"the evidence of task {number} is neither messages nor quotations"
                )
            elif text.strip():
                yield _read_quotation(number, text.strip(), asked)


def _message_number(text: Any, *, is_quote: bool) -> int | None:
    """Return the number of a message; in a list of quotations, "3" is a quotation."""
    if (
        isinstance(text, str)
        and not is_quote
        and (match := _NUMBERED.fullmatch(text))
        and not match[2]
    ):
        return int(match[1])
    return _whole(text)


def _quote_message(number: int, named: int, asked: Question, about: str) -> Evidence:
    message = next((each for each in asked.transcript if each.message == named), None)
    if message is None or not (quote := message_words(message, about)):
        raise MalformedAnswerError(
            f"the evidence of task {number} is message {named}, which has no words"
        )
    return Evidence(quote, named)


def message_words(message: TranscriptMessage, about: str = "") -> str:
    """Return the words of a message that stand for it: all, or its sentence nearest to `about`;
    else its tool calls.
    """
    text = told_message(message).strip()
    if not plain_form(text):
        return shown_calls([message]).get(message.message, "")[:MAX_QUOTE]
    if len(text) <= MAX_QUOTE:
        return text
    wanted = frozenset(_WORD.findall(plain_form(about)))
    sentences = [sentence.strip() for sentence in _SENTENCE_END.split(text) if plain_form(sentence)]
    return max(
        sentences, key=lambda words: len(wanted.intersection(_WORD.findall(plain_form(words))))
    )[:MAX_QUOTE]


def nameable(transcript: Sequence[TranscriptMessage]) -> list[int]:
    """Return the numbers of the messages that a judge can name as evidence: those that say or do
    something.
    """
    return [each.message for each in transcript if locate(message_words(each), [each]) is not None]


def _read_quotation(number: int, quote: str, asked: Question) -> Evidence:
    copied = (
        _line_content(quote),
        _ESCAPES.sub(_unescape, quote),
    )  # from the record, which is JSON
    for words in dict.fromkeys(clean(form, MAX_REASON) for form in (quote, *copied) if form):
        if (message := locate(words, asked.transcript, asked.states)) is not None:
            return Evidence(words, message)
    if _is_copied(quote, asked.prompt) or _is_repeated(quote, [*_task_words(asked), asked.prompt]):
        raise MalformedAnswerError(f"the evidence of task {number} is copied from the instructions")
    return Evidence(clean(quote, MAX_REASON))


def _line_content(line: str) -> str:
    """Return the content of a message if `line` is one of the record's, else an empty text."""
    if not line.startswith("{"):
        return ""
    try:
        content = json.loads(line).get("content")
    except (ValueError, RecursionError):
        return ""
    if isinstance(content, str):
        return content
    return ""


def _unescape(match: re.Match[str]) -> str:
    if match[1] in "nrt":
        return " "
    return match[1]


def _is_copied(words: str, prompt: str) -> bool:
    """Return whether every sentence of `words` is one of the prompt's, or of a string in its
    example.
    """
    sentences = _sentences(words)
    return (
        bool(sentences)
        and min(map(len, sentences)) >= SHORTEST_COPY
        and sentences <= _instructions(prompt)
    )


def _is_repeated(words: str, texts: Sequence[str]) -> bool:
    """Return whether every sentence of `words` stands in one of these texts: small models repeat
    what they read.
    """
    sentences = _sentences(words)
    return max(map(len, sentences), default=0) >= SHORTEST_COPY and all(
        any(holds_parts([sentence], plain_message(text)) for text in texts)
        for sentence in sentences
    )


def _task_words(asked: Question) -> list[str]:
    """Return the words of the tasks, in which no evidence can be found."""
    words = []
    for task in asked.tasks:
        texts = (task.task, task.acceptance_criteria, task.withheld_criteria)
        words += [f"Done when: {text}" for text in texts if text]
    return words


def _shown(asked: Question) -> list[str]:
    """Return the tasks and messages, whose words say nothing about how well a task was done."""
    return [*_task_words(asked), *(message.content for message in asked.transcript)]


@lru_cache(maxsize=8)
def _instructions(prompt: str) -> frozenset[str]:
    return _sentences("\n".join([prompt, *_STRING.findall(prompt)]))


@lru_cache(maxsize=8)
def _sentences(text: str) -> frozenset[str]:
    plain = (
        plain_form(each).rstrip(".!?:;,").removeprefix("- ") for each in _SENTENCE_END.split(text)
    )
    return frozenset(each for each in plain if each)


def _tone(given: Any) -> tuple[float | None, str]:
    if given is None:
        return None, ""
    try:
        return _unit("tone", given), ""
    except MalformedAnswerError as problem:
        return None, f"the judge's tone was left out: {problem}"


def quoted_from_nowhere(verdicts: Sequence[TaskVerdict]) -> list[str]:
    """Return a sentence for the judge for each quotation that is not in the transcript."""
    sentences = []
    for verdict in verdicts:
        sentences += [
            f"the evidence of task {verdict.task} is not in the conversation:"
            f" {shorten(clean_line(item.quote), 200)!r}"
            for item in verdict.evidence
            if item.message is None
        ]
    return sentences


def _unit(what: str, value: Any) -> float:
    if isinstance(value, str) and _DECIMAL.fullmatch(value.strip()):
        value = float(value)
    if not _is_number(value):
        raise MalformedAnswerError(f"{what} is not a number")
    if not 0 <= value <= 1:
        raise MalformedAnswerError(f"{what} is {value:g}; it must be from 0 to 1")
    return float(value)
