"""The language-model judge, or a panel of several, each called once or more; and its list of the
simulated user's faults.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain, product
from pathlib import Path
from typing import Any

from bioeval_tui.base.errors import NotMeasuredError, UsageError
from bioeval_tui.base.text import clean, clean_line, listed, shorten
from bioeval_tui.jobs.models import ModelOptions
from bioeval_tui.jobs.rendering import Templates
from bioeval_tui.peers.models.answer import ChatAnswer, object_schema, text_of
from bioeval_tui.peers.models.model import ChatModel, ChatRequest
from bioeval_tui.peers.models.prompting import (
    Prompt,
    example_words,
    find_prompt,
    judge_context,
    render_prompt,
    rules_of_user,
    shows_example,
)
from bioeval_tui.peers.models.quotations import locate, only_of_the_user, plain_form
from bioeval_tui.peers.models.reasoning import strip_reasoning
from bioeval_tui.peers.models.shown import FOR_JUDGES, is_shortened, states_shown
from bioeval_tui.peers.models.verdicts import (
    MAX_QUOTE,
    MAX_REASON,
    Question,
    Reading,
    answer_schema,
    nameable,
    quoted_from_nowhere,
    read_answer,
)
from bioeval_tui.peers.retry import MODEL_RULE, RetryRule, attempts
from bioeval_tui.peers.seams import (
    JudgeView,
    ListedFaults,
    PeerError,
    TaskVerdict,
    TranscriptMessage,
    Verdict,
)
from bioeval_tui.peers.spending import LimitReachedError, place
from bioeval_tui.record.events import UserFault
from bioeval_tui.record.participants import judge_name
from bioeval_tui.record.spans import known_sum
from bioeval_tui.statistics.means import exact_mean

SCORE_ALL = "Score the conversation. Answer with the JSON object alone."
_Failure = PeerError | NotMeasuredError | LimitReachedError


class LLMJudge:
    """Scores a transcript with each of `models`, `repeats` times each."""

    def __init__(
        self,
        *,
        models: Sequence[str],
        job_dir: Path | None,
        repeats: int = 1,
        items_per_request: int | None = None,
        chat: ChatModel,
        retries: RetryRule = MODEL_RULE,
        at_once: int = 4,
    ) -> None:
        """At most `at_once` requests run concurrently. `chat` is closed with the judge.
        `items_per_request` is the job's, which the judge's name says.

        Without `job_dir`, jobs are a stranger's: what they add to the body of requests may name a
        server, and is left out.
        """
        self.identity = judge_name(models, repeats, items_per_request)
        self._models = tuple(models)
        self._repeats = repeats
        self._job_dir = job_dir
        self._retries = retries
        self._chat = chat
        self._slots = asyncio.Semaphore(at_once)

    async def score(self, view: JudgeView) -> Sequence[Verdict]:
        """Return every verdict; a missing one is a `Verdict` with an `error`.

        A verdict takes several requests where the job limits what one of them asks about.

        Raises `NotMeasuredError` with the reasons if fewer than two thirds are usable, `PeerError`
        if that is because the judge could not be reached, and `LimitReachedError` if the budget is
        spent.
        """
        try:
            prompt = find_prompt(view.job.scorer.prompt, self._job_dir)
            split = view.job.scorer.split(tuple(view.job.judged_in(view.condition)))
            requests = [
                await self._request(prompt, view, numbers, is_part=len(split) > 1)
                for numbers in split
            ]
        except UsageError as problem:
            raise NotMeasuredError(str(problem)) from problem
        asked = list(product(self._models, range(1, self._repeats + 1)))
        answers = await asyncio.gather(
            *(
                self._one(model, number, requests, self._options(view, number))
                for model, number in asked
            )
        )
        failures = [failure for _, failure in answers if failure is not None]
        if not enough(len(asked) - len(failures), len(asked)):
            raise _not_measured(failures, len(asked))
        return [verdict for verdict, _ in answers]

    async def user_faults(self, view: JudgeView) -> ListedFaults:
        """Return the faults of the simulated user that the first model lists, in one request.

        Raises `NotMeasuredError` if its answer cannot be read, `PeerError` if it could not be
        reached.
        """
        model = self._models[0]
        users = [message.message for message in view.transcript if message.role == "user"]
        instructions = _Instructions(find_prompt(FAULTS_PROMPT, None), view, self._chat.templates)
        kinds: tuple[str, ...] = FAULT_KINDS
        if rules_of_user(view.job):
            kinds = (*kinds, BROKEN_RULE)
        options, schema = self._options(view, 1), faults_schema(users, kinds)

        async def ask(text: str) -> ChatAnswer:
            messages = [{"role": "system", "content": text}, {"role": "user", "content": LIST_ALL}]
            return await self._whole_answer(ChatRequest(model, messages, options, schema))

        async with self._slots, place("judge"):
            answer, _ = await instructions.fitting(ask)
        label = clean_line(model, 100)
        try:
            listed = read_faults(strip_reasoning(text_of(answer, "judge")), view.transcript, label)
        except ValueError as problem:
            raise NotMeasuredError(
                f"{label} gave no usable list of the user's faults: {problem}"
            ) from problem
        return replace(listed, tokens_in=answer.tokens_in, tokens_out=answer.tokens_out)

    async def reword(self, text: str, view: JudgeView) -> str:
        """Return a criterion in the first model's own words, in one request; `view` is a
        conversation that is judged by it.

        Raises `NotMeasuredError` if it gives no other words, `PeerError` if it could not be
        reached.
        """
        model = self._models[0]
        prompt = find_prompt(REWORD_PROMPT, None)
        told = await render_prompt(prompt, {"text": text}, self._chat.templates)
        messages = [{"role": "system", "content": told}, {"role": "user", "content": REWORD}]
        schema = object_schema({"reworded": {"type": "string"}})
        async with self._slots, place("judge"):
            answer = await self._whole_answer(
                ChatRequest(model, messages, self._options(view, 1), schema)
            )
        label = clean_line(model, 100)
        words = read_reworded(strip_reasoning(text_of(answer, "judge")))
        if not words or plain_form(words) == plain_form(text):
            raise NotMeasuredError(f"{label} gave no other words for “{shorten(text, 80)}”")
        return words

    async def aclose(self) -> None:
        """Close the connections."""
        await self._chat.aclose()

    async def _request(
        self, prompt: Prompt, view: JudgeView, numbers: Sequence[int], *, is_part: bool
    ) -> _Request:
        """Return what is asked about the tasks with these numbers; `is_part` if others are asked
        about in requests of their own.

        Raises `UsageError`.
        """
        instructions = _Instructions(prompt, view, self._chat.templates, numbers)
        await instructions.text(0)
        published = prompt.origin == "job"
        bare = replace(view, transcript=(), state_before=None, state_after=None)
        examples = ""
        if published:
            context = judge_context(prompt, bare, wanted=numbers)
            examples = await render_prompt(prompt, context, self._chat.templates)
        question = Question(
            view.job.judged,
            view.transcript,
            states_shown(view),
            tuple(numbers),
            "\n".join([prompt.text, example_words(prompt), *view.job.facts]),
            published=published,
            examples=examples,
        )
        users: list[int] = []
        if not view.job.rubric:
            users = [m.message for m in view.transcript if m.role == "user"]
        schema = partial(
            answer_schema,
            messages=nameable(view.transcript),
            users=users,
            quotes=shows_example(prompt),
            binary=bool(view.job.rubric),
        )
        return _Request(instructions, question, schema, is_part)

    def _options(self, view: JudgeView, number: int) -> ModelOptions:
        """Return what the job asks of a model in the repeat of that number."""
        options = view.job.scorer.seeded(number)
        if self._job_dir is not None:
            return options
        return options.model_copy(update={"extra_body": {}})

    async def _whole_answer(self, request: ChatRequest) -> ChatAnswer:
        """Return the model's answer to a prompt that it received whole."""
        async for attempt in attempts(self._retries):
            with attempt:
                answer = await self._chat.complete(request)
        self._chat.prompt_check.require_whole(answer, request.model, request.messages)
        return answer

    async def _one(
        self, model: str, number: int, requests: Sequence[_Request], options: ModelOptions
    ) -> tuple[Verdict, _Failure | None]:
        """Return one verdict, or one with an `error` and its cause.

        Once a request has failed, no other of this verdict begins: it would be paid for a verdict
        that is missing all the same.
        """
        label = clean_line(model, 100)
        if self._repeats > 1:
            label += f" #{number}"
        parts = [_Answers(request.question.wanted) for request in requests]
        failures: list[tuple[str, _Failure]] = []

        async def ask(request: _Request, got: _Answers) -> None:
            async with self._slots, place("judge"):
                if failures:
                    return
                failed = await self._ask(model, f"{label}{request.about}", request, got, options)
            if failed is not None:
                failures.append(failed)

        await asyncio.gather(*map(ask, requests, parts))
        if failures:
            why, failure = failures[0]
            return _verdict(label, parts, why), failure
        verdict = _verdict(label, parts)
        size = max((got.size for got in parts), default=0)
        shortened = requests[0].instructions.shortened(label, size) if requests else ""
        return replace(verdict, shortened=shortened), None

    async def _ask(
        self,
        model: str,
        label: str,
        request: _Request,
        got: _Answers,
        options: ModelOptions,
    ) -> tuple[str, _Failure] | None:
        """Add to `got` what the model answers to a request; return why a task has no verdict, in
        words that begin with `label`, and the cause, or None if all have one.

        All its tasks are asked for at once, then what is missing at once, then what is still
        missing task by task.
        """
        question = request.question

        async def ask(tasks: Sequence[int], opening: str, *after: dict[str, Any]) -> str:
            async def send_instructions(text: str) -> ChatAnswer:
                messages = [
                    {"role": "system", "content": text},
                    {"role": "user", "content": opening},
                    *after,
                ]
                return await self._whole_answer(
                    ChatRequest(model, messages, options, request.schema(tasks))
                )

            answer, got.size = await request.instructions.fitting(send_instructions, got.size)
            got.add(answer, question, tasks)
            return answer.content[:4000].strip()

        try:
            first = await ask(got.missing, request.opening)
            if got.missing:
                await ask(got.missing, request.opening, *_again(first, got))
            for task in got.unscored if len(got.wanted) > 1 else ():
                await ask([task], _only([task], question))
                if task in got.unscored:
                    break
        except (PeerError, LimitReachedError) as error:
            if got.unscored:
                why = f"{label}: {error}"
                # Of a model alone, the cause is what people read: it names the task, too.
                if request.is_part and isinstance(error, PeerError):
                    error.args = (f"{request.about.removeprefix(', ')}: {error}",)
                return why, error
        if not got.unscored:
            return None
        often = f" in {got.answers} answers"
        if got.answers == 2:
            often = ", twice"
        why = f"{label} gave no usable verdict{often}; the last time: {got.why}"
        if got.over_content:
            return why, PeerError("judge", why, unusable=True, over_content=True)
        return why, NotMeasuredError(why)


class _Instructions:
    """A prompt with a conversation in it: in full and, for a model whose context is too short for
    that, with less of it.
    """

    def __init__(
        self,
        prompt: Prompt,
        view: JudgeView,
        templates: Templates,
        numbers: Sequence[int] | None = None,
    ) -> None:
        """The prompt asks about the tasks with these `numbers`, about all if it is None."""
        self._prompt = prompt
        self._numbers = numbers
        self._view = view
        self._templates = templates
        self._texts: dict[int, str] = {}

    async def text(self, size: int) -> str:
        """Return the prompt with as much of the conversation as `FOR_JUDGES[size]` has room for:
        most for 0, and less for each greater one.

        Raises `UsageError`.
        """
        if size not in self._texts:
            self._texts[size] = await render_prompt(
                self._prompt, self._context(size), self._templates
            )
        return self._texts[size]

    async def fitting(
        self, ask: Callable[[str], Awaitable[ChatAnswer]], size: int = 0
    ) -> tuple[ChatAnswer, int]:
        """Return the answer to the prompt of this size, or of the first smaller one that fits the
        context; and the size.

        Raises `PeerError` if none does.
        """
        while True:
            try:
                return await ask(await self.text(size)), size
            except PeerError as error:
                if not error.too_long or (smaller := self._smaller(size)) is None:
                    raise
                size = smaller

    def shortened(self, label: str, size: int) -> str:
        """Return a sentence on what was left out of the conversation at this size; empty if nothing
        was.
        """
        room = FOR_JUDGES[size]
        if not size and not is_shortened(self._view.transcript, room):
            return ""
        sentence = (
            f"{label} was shown the conversation shortened to {room.message:,} characters a message"
        )
        if size:
            sentence += ", because more of it does not fit its context"
        return sentence

    def _smaller(self, size: int) -> int | None:
        """Return the next size at which something is left out that was not before."""
        shown = self._context(size)["boundary"]  # a hash of it
        later = range(size + 1, len(FOR_JUDGES))
        return next((each for each in later if self._context(each)["boundary"] != shown), None)

    def _context(self, size: int) -> dict[str, Any]:
        return judge_context(self._prompt, self._view, FOR_JUDGES[size], self._numbers)


@dataclass(frozen=True, slots=True)
class _Request:
    """What is asked at once: some tasks, with the instructions for these alone."""

    instructions: _Instructions
    question: Question
    schema: Callable[[Sequence[int]], dict[str, Any]]
    is_part: bool
    """Whether other tasks are asked about in requests of their own."""

    @property
    def opening(self) -> str:
        """The message that asks for the verdict."""
        # A prompt of the job's own may show all tasks in each request.
        if self.is_part:
            return _only(self.question.wanted, self.question)
        return SCORE_ALL

    @property
    def about(self) -> str:
        """Which tasks it asks about, such as `, task 3`; empty if it is all of them."""
        if not self.is_part:
            return ""
        noun = "task" if len(self.question.wanted) == 1 else "tasks"
        return f", {noun} {listed(self.question.wanted)}"


@dataclass
class _Answers:
    """What the answers so far have given.

    `unproved` verdicts quote words that are not in the conversation, or only the user's.
    """

    wanted: Sequence[int]
    """The numbers of the tasks to score."""
    proved: dict[int, TaskVerdict] = field(default_factory=dict)
    unproved: dict[int, TaskVerdict] = field(default_factory=dict)
    tone: float | None = None
    note: str = ""
    why: str = ""
    over_content: bool = False
    """Whether a provider's filter or a refusal stopped one of the answers."""
    answers: int = 0
    size: int = 0
    """The place in `FOR_JUDGES` of how much of the conversation fits the model's context."""
    sent: int | None = None
    received: int | None = None

    @property
    def missing(self) -> list[int]:
        """The tasks without a proved verdict."""
        return [task for task in self.wanted if task not in self.proved]

    @property
    def unscored(self) -> list[int]:
        """The tasks without any verdict."""
        return [task for task in self.missing if task not in self.unproved]

    def add(self, answer: ChatAnswer, question: Question, tasks: Sequence[int]) -> None:
        """Keep the verdicts of one answer on `tasks`, and what is wrong with the others; count its
        tokens.
        """
        self.answers += 1
        self.sent = known_sum((self.sent, answer.tokens_in))
        self.received = known_sum((self.received, answer.tokens_out))
        reading, unusable = Reading(), ""
        try:
            text = text_of(answer, "judge")
        except PeerError as problem:  # of an answer that was cut off, the complete part counts
            unusable, text = str(problem), ""
            if answer.finish == "length":
                text = answer.content
            self.over_content = self.over_content or problem.over_content
        if content := strip_reasoning(text).strip():
            reading = read_answer(content, question, tasks)
        elif text.strip():
            unusable = unusable or "the answer was empty but for its reasoning"
        unproved: list[str] = []
        for task, verdict in reading.verdicts.items():
            by_user = only_of_the_user(verdict, question.transcript, question.states)
            wrong = list(filter(None, [*quoted_from_nowhere([verdict]), by_user]))
            if wrong:
                self.unproved.setdefault(task, verdict)
            else:
                self.proved.setdefault(task, verdict)
            unproved += wrong
        if self.tone is None:
            self.tone = reading.tone
        self.note = self.note or reading.note
        self.why = unusable or "; ".join([*reading.problems, *unproved])

    @property
    def verdicts(self) -> tuple[TaskVerdict, ...]:
        """The verdict of each task, proved where there is one."""
        return tuple(self.proved.get(task) or self.unproved[task] for task in self.wanted)


def _verdict(label: str, parts: Sequence[_Answers], error: str = "") -> Verdict:
    """Return the verdict that the answers to all requests make, or the missing one with its
    `error`; both with the tokens that were paid for.
    """
    sent = known_sum(part.sent for part in parts)
    received = known_sum(part.received for part in parts)
    note = next((part.note for part in parts if part.note), "")
    if error:
        return Verdict(label, (), None, sent, received, error, note)
    tones = [part.tone for part in parts if part.tone is not None]
    tone = exact_mean(tones) if tones else None
    tasks = tuple(chain.from_iterable(part.verdicts for part in parts))
    return Verdict(label, tasks, tone, sent, received, error, note)


def _again(first: str, got: _Answers) -> list[dict[str, Any]]:
    """Return the messages to add: the shortened answer, what was wrong with it, and which tasks are
    missing.
    """
    which = "Score every task exactly once"
    if len(got.missing) < len(got.wanted):
        which = f"Score only these tasks: {', '.join(map(str, got.missing))}"
    note = f"That could not be used: {got.why}. {which}, and answer with the JSON object alone."
    messages = [{"role": "user", "content": note}]
    if first:
        messages.insert(0, {"role": "assistant", "content": first})
    return messages


def _only(tasks: Sequence[int], question: Question) -> str:
    """Return the message that asks for these tasks alone."""
    named = [
        f"{task} ({shorten(clean_line(question.tasks[task - 1].task), 300)})" for task in tasks
    ]
    if len(named) == 1:
        return (
            f"Score only task {named[0]}. Answer with the JSON object alone, with this one task"
            " in its list."
        )
    return (
        f"Score only tasks {listed(named)}. Answer with the JSON object alone, with these"
        f" {len(named)} tasks in its list."
    )


def _not_measured(failures: Sequence[_Failure], wanted: int) -> _Failure:
    if stopped := next(
        (failure for failure in failures if isinstance(failure, LimitReachedError)), None
    ):
        return stopped
    reasons = list(dict.fromkeys(str(failure) for failure in failures))
    if wanted == 1:
        return failures[0]
    message = (
        f"only {wanted - len(failures)} of {wanted} verdicts are usable, fewer than two thirds: "
        + "; ".join(shorten(reason, 200) for reason in reasons[:3])
    )
    faults = {failure.fault if isinstance(failure, PeerError) else "judge" for failure in failures}
    if "unclear" in faults:
        return PeerError("judge", message, unusable=True, over_content=True)
    if faults == {"infrastructure"}:
        return PeerError("judge", message)
    return NotMeasuredError(message)


def enough(given: int, wanted: int) -> bool:
    """Return whether at least two thirds of the verdicts that a transcript needs exist."""
    return given > 0 and given * 3 >= wanted * 2


REWORD_PROMPT = "eval/reword"
REWORD = "Rewrite the criterion. Answer with the JSON object alone."


def read_reworded(text: str) -> str:
    """Return the criterion of an answer to `REWORD_PROMPT`; empty if there is none."""
    start = text.find("{")
    if start < 0:
        return ""
    try:
        value, _ = json.JSONDecoder(strict=False).raw_decode(text, start)
    except ValueError:
        return ""
    words = value.get("reworded") if isinstance(value, dict) else None
    if not isinstance(words, str):
        return ""
    return clean(words.strip(), MAX_REASON)


FAULTS_PROMPT = "eval/user_faults"
"""Asked in a request of its own, because together with the verdicts a small model leaves some
faults out.
"""
LIST_ALL = "List the user's faults. Answer with the JSON object alone."
FAULT_KINDS = (
    "invented_fact",
    "contradicted_fact",
    "out_of_role",
    "gave_up",
    "early_signoff",
    "never_ended",
    "repetition",
    "non_answer",
)
BROKEN_RULE = "broken_rule"
"""The kind of a fault against a persona's rules, listed only if it has any."""
MOST_FAULTS = 20
"""At most so many faults of one conversation are kept; more of a list are a model that does not
stop.
"""
MOST_NUMBERED = 500
"""A schema with more numbers of messages is refused by providers; then any number is allowed, and
checked afterwards.
"""


def faults_schema(users: Sequence[int], kinds: Sequence[str]) -> dict[str, Any]:
    """Return the JSON Schema of the list, in the strict subset that providers support, for these
    messages of the user and kinds of faults.
    """
    number: dict[str, Any] = {"type": "integer"}
    if 0 < len(users) < MOST_NUMBERED:
        number["enum"] = list(users)
    fault = {
        "message": number,
        "kind": {"type": "string", "enum": list(kinds)},
        "quote": {"type": "string"},
    }
    return object_schema(
        {"faults": {"type": "array", "items": object_schema(fault), "maxItems": MOST_FAULTS}}
    )


def read_faults(text: str, transcript: Sequence[TranscriptMessage], judge: str) -> ListedFaults:
    """Return the listed faults whose quotation is in a message of the user, and how many others
    were listed.

    A quotation that is in another message of the user than the judge named counts for that one.

    Raises:
        ValueError: the text contains no JSON object with the list `faults`.
    """
    start = text.find("{")
    if start < 0:
        raise ValueError("the answer contains no JSON")
    value, _ = json.JSONDecoder(strict=False).raw_decode(text, start)
    listed = value.get("faults") if isinstance(value, dict) else None
    if not isinstance(listed, list):
        raise ValueError("the answer has no list `faults`")
    users = [message for message in transcript if message.role == "user"]
    faults: dict[tuple[str, int], UserFault] = {}
    refused = max(0, len(listed) - MOST_FAULTS)
    for given in listed[:MOST_FAULTS]:
        entry = given if isinstance(given, dict) else {}
        kind, quote = str(entry.get("kind")), str(entry.get("quote") or "")
        named = [message for message in users if message.message == entry.get("message")]
        place = None
        if kind in (*FAULT_KINDS, BROKEN_RULE) and quote.strip():
            place = locate(quote, named) or locate(quote, users)
        if place is None:
            refused += 1
            continue
        words = shorten(clean_line(quote), MAX_QUOTE)
        faults.setdefault(
            (kind, place), UserFault(kind=kind, message=place, quote=words, found_by=judge)
        )
    return ListedFaults(tuple(faults.values()), refused)
