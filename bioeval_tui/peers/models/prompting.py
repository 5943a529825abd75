"""Prompts: a template is found, asked what it uses, and filled with what happened in a
conversation.

The evaluator and the judge (`evaluator.py`, `judge.py`) do that in this order: `find_prompt`, in
the job's folder or the package; `has_turns` or `shown_to_judge`; `evaluator_context` or
`judge_context`; and `render_prompt`. What of a conversation fits is decided in `shown.py`.
`prompt_hashes` identifies a run's prompts in its recording.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from importlib import resources
from pathlib import Path, PurePosixPath
from typing import Any, Literal

from jinja2 import TemplateSyntaxError, nodes

from bioeval_tui.base.errors import UsageError
from bioeval_tui.base.files import is_hidden, real
from bioeval_tui.base.text import clean_line
from bioeval_tui.jobs.models import EvaluationJob, JobTask
from bioeval_tui.jobs.rendering import Templates
from bioeval_tui.jobs.sandbox import Sandbox, render
from bioeval_tui.peers.models.shown import (
    FOR_JUDGES,
    FOR_USERS,
    Room,
    other_events,
    shorten_list,
    shown_text,
    state_text,
    tool_calls,
)
from bioeval_tui.peers.seams import EvaluatorView, JudgeView, TranscriptMessage, evaluator_job
from bioeval_tui.record.condition_names import PLACEBO_NAME, without_control
from bioeval_tui.record.participants import Role

SUFFIXES = (".jinja", ".jinja2", ".j2")
MAX_TEMPLATE = 200_000
"""Longest template, in bytes."""
_JSON = json.JSONEncoder(ensure_ascii=False)
"""`json.dumps` would make one for each message, of which each request repeats all."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """A template's text, and where it was found: `job` or `package`."""

    name: str
    text: str
    origin: str


def find_prompt(name: str, job_dir: Path | None) -> Prompt:
    """Return the template called `name`, with or without its suffix.

    A model is sent the whole file, so a job can name templates only: no `.env`, no key, nothing in
    `.git`.

    Raises:
        UsageError: with the places that were searched.
    """
    relative = PurePosixPath(name)
    if (
        relative.is_absolute()
        or ".." in relative.parts
        or "\\" in name
        or "\0" in name
        or len(name) > 200
    ):
        raise UsageError(
            f"prompt `{clean_line(name, 100)}`: must be a name below the job's folder, without `..`"
        )
    if is_hidden(relative):
        raise UsageError(
            f"prompt `{clean_line(name, 100)}`: no part of its name may begin with a dot"
        )
    if job_dir is not None:
        root = real(job_dir)
        for file_name in _file_names(name):
            path = root / file_name
            if not path.is_file():
                continue
            path = real(path)
            if _is_template_below(root, path):
                return Prompt(name, _read(path, name), "job")
    if (text := _packaged(relative)) is not None:
        return Prompt(name, text, "package")
    raise UsageError(
        f"prompt `{clean_line(name, 100)}`: not found in the job's folder or the package; its"
        f" file's name must end in {', '.join(SUFFIXES)}"
    )


def _file_names(name: str) -> tuple[str, ...]:
    if name.endswith(SUFFIXES):
        return (name,)
    return tuple(name + suffix for suffix in SUFFIXES)


def _is_template_below(root: Path, path: Path) -> bool:
    """Return whether a file, after following links, is a template in the job's folder."""
    if not path.is_relative_to(root) or path.suffix not in SUFFIXES:
        return False
    return not is_hidden(path.relative_to(root))


@lru_cache(maxsize=32)
def _packaged(relative: PurePosixPath) -> str | None:
    """Return the text of this package's template of that name; None if it has none.

    Each conversation looks for its templates, but those of the package stay as they are.
    """
    folder = resources.files("bioeval_tui.peers.models") / "prompts"
    for file_name in _file_names(relative.name):
        file = folder.joinpath(*relative.parts[:-1], file_name)
        if file.is_file():
            return file.read_text(encoding="utf-8")
    return None


def _read(path: Path, name: str) -> str:
    try:
        with path.open("rb") as file:
            data = file.read(MAX_TEMPLATE + 1)
    except OSError as problem:
        raise UsageError(
            f"prompt `{clean_line(name, 100)}` cannot be read: {clean_line(problem.strerror or '')}"
        ) from None
    if len(data) > MAX_TEMPLATE:
        raise UsageError(f"prompt `{clean_line(name, 100)}` is longer than {MAX_TEMPLATE:,} bytes")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        raise UsageError(
            f"prompt `{clean_line(name, 100)}` is not UTF-8 at byte {problem.start + 1}"
        ) from None


def complete_prompt(prompt: Prompt) -> Prompt:
    """Return an evaluator's prompt with everything that its model is told in every conversation:
    the example, too.
    """
    if not has_turns(prompt):
        return prompt
    return replace(prompt, text="\n".join([prompt.text, *(content for _, content in DIALOGUE)]))


def prompt_hashes(job: EvaluationJob, job_dir: Path | None) -> dict[str, str]:
    """Return the hashes of the prompts for a job's models, by name."""
    used = []
    if job.evaluator.kind == "llm":
        used.append(complete_prompt(find_prompt(job.evaluator.prompt, job_dir)))
    if job.scorer.kind == "llm":
        used.append(find_prompt(job.scorer.prompt, job_dir))
    return {prompt.name: prompt_sha(prompt.name, prompt.text) for prompt in used}


def prompt_sha(name: str, text: str) -> str:
    """Return the SHA-256 that identifies a prompt, over its name and its text."""
    return hashlib.sha256(f"{name}\0{text}".encode()).hexdigest()


def has_turns(prompt: Prompt) -> bool:
    """Return whether the conversation follows an evaluator's prompt as chat messages: it does not
    use `transcript`.
    """
    return "transcript" not in _names(prompt.text)


def is_without_conversation(prompt: Prompt) -> bool:
    """Return whether an evaluator's prompt stays the same while the conversation goes on.

    One of the job may also draw at random.
    """
    return prompt.origin == "package" and not _names(prompt.text) & {"transcript", "boundary"}


def tells_placebo(prompt: Prompt) -> bool:
    """Return whether an evaluator's prompt says what the placebo's user tells."""
    return "placebo" in _names(prompt.text)


def shows_example(prompt: Prompt) -> bool:
    """Return whether a judge's template shows `example`, whose tasks have quotations as
    evidence.
    """
    return "example" in _names(prompt.text)


def shown_to_judge(prompt: Prompt, job: EvaluationJob) -> Literal["none", "tools", "all"]:
    """Return what the judge sees besides messages: `scorer.context`, as far as the template uses
    it.
    """
    names, wanted = _names(prompt.text), job.scorer.context
    if wanted == "none" or not names & {"tools", "events", "state"}:
        return "none"
    if wanted == "all" and names & {"events", "state"}:
        return "all"
    return "tools"


@lru_cache(maxsize=8)
def _names(template: str) -> frozenset[str]:
    """Return the names in a template; none for an invalid one, which rendering reports.

    It is parsed but not compiled, because compiling computes constants of any size in this process.
    """
    try:
        return frozenset(node.name for node in Sandbox().parse(template).find_all(nodes.Name))
    except (TemplateSyntaxError, RecursionError, ValueError):
        return frozenset()


def evaluator_context(view: EvaluatorView, most: int = FOR_USERS[0]) -> dict[str, Any]:
    """Return the variables of an evaluator's template; of each message, at most so many
    characters.
    """
    config = evaluator_job(view.job, view.facts, view.condition).model_dump(
        mode="json", by_alias=True
    )
    more = {
        "facts": list(view.facts),
        "note": view.note,
        "condition": without_control(view.condition),
        "placebo": list(view.placebo),
    }
    return _context(config, _messages(view.transcript, most), **more)


def judge_context(
    prompt: Prompt,
    view: JudgeView,
    room: Room = FOR_JUDGES[0],
    wanted: Collection[int] | None = None,
) -> dict[str, Any]:
    """Return the variables of a judge's template.

    They are `config`, `transcript`, `example` (as published), `facts`, `condition`, `judged` (what
    is scored in this condition: `number`, `text`, `criteria`), `placebo` (whether the user was told
    to talk to no purpose), `boundary`, and the agent's `tools`,
    `events` and `state` (`before`, `after`), which are empty if `scorer.context` excludes them;
    `known` has the facts as the user's persona has them, and `rules` what it keeps to.
    `example` and `judged` have only the `wanted` tasks, all if it is None.
    """
    config = view.job.model_dump(mode="json", by_alias=True)
    asked = {
        number: task
        for number, task in view.job.judged_in(view.condition).items()
        if wanted is None or number in wanted
    }
    example = json.dumps(_example(view.job, asked), ensure_ascii=False, indent=2)
    shown = shown_to_judge(prompt, view.job)
    calls: list[dict[str, Any]] = []
    events: list[dict[str, Any]] = []
    before = after = None
    if shown != "none":
        calls = tool_calls(view.transcript)
    if shown == "all":
        events = other_events(view.transcript)
        before, after = view.state_before, view.state_after
    state = {"before": state_text(before, room.state), "after": state_text(after, room.state)}
    known: Sequence[str] = view.job.facts
    if (drawn := view.persona_facts) is not None:
        known = drawn.known_to_user(view.job.facts)
        told = enumerate(view.job.facts, start=1)
        config["facts"] = [drawn.explained(number, fact) for number, fact in told]
    return _context(
        config,
        _messages(view.transcript, room.message),
        facts=config["facts"],
        known=list(known),
        rules=list(rules_of_user(view.job)),
        condition=without_control(view.condition),
        placebo=view.condition == PLACEBO_NAME,
        judged=[
            {
                "number": number,
                "text": task.task,
                "criteria": task.criteria(view.job.condition(view.condition)),
            }
            for number, task in asked.items()
        ],
        example=example,
        tools=shorten_list(calls, room.calls),
        events=shorten_list(events, room.calls),
        state=state,
    )


def rules_of_user(job: EvaluationJob) -> tuple[str, ...]:
    """Return the rules of the persona that a job, filled in from its case, has."""
    if len(job.personas) == 1:
        return job.personas[0].rules
    return ()


def _messages(transcript: Sequence[TranscriptMessage], most: int) -> list[dict[str, Any]]:
    return [
        {"message": m.message, "role": m.role, "content": shown_text(m, most)} for m in transcript
    ]


def _context(
    config: Mapping[str, Any], transcript: list[dict[str, Any]], **more: Any
) -> dict[str, Any]:
    # A hash of the enclosed text, which therefore cannot contain it.
    digest = hashlib.sha256()
    for message in transcript:
        digest.update(f"{message['role']}\0{message['content']}\0".encode("utf-8", "replace"))
    for name in ("tools", "events", "state"):
        digest.update(json.dumps(more.get(name), default=str).encode())
    return {
        "config": config,
        "transcript": transcript,
        "boundary": f"RECORD-{digest.hexdigest()[:16]}",
        **more,
    }


EXAMPLE_REASON = "What the chatbot did or failed to do."
EXAMPLE_QUOTE = "words quoted from the conversation"
"""What a judge's example says; a verdict that only copies it is none (`example_words`)."""


def example_words(prompt: Prompt) -> str:
    """Return the words of `example` that a judge may copy, one on a line; empty if the template
    does not show it.
    """
    if shows_example(prompt):
        return f"{EXAMPLE_REASON}\n{EXAMPLE_QUOTE}"
    return ""


def _example(job: EvaluationJob, asked: Mapping[int, JobTask]) -> dict[str, Any]:
    high, low = (1, 0) if job.rubric else (0.9, 0.4)
    tasks = [
        {
            "task": number,
            "scored": task.task,
            "score": high if number % 2 else low,
            "reason": EXAMPLE_REASON,
            "evidence": [EXAMPLE_QUOTE],
        }
        for number, task in asked.items()
    ]
    return {"tone": 0.5, "tasks": tasks}


DIALOGUE: tuple[tuple[Role, str], ...] = (
    ("assistant", "Hello, this is the swimming pool. What can I do for you?"),
    ("user", "Hi, I'd like to know when the early lessons for adults are."),
    ("assistant", "Twice a week before breakfast. Which level were you in last time?"),
    ("user", "I don't know, sorry. That was years ago."),
    ("assistant", "No problem, you can start with the beginners and change later."),
    ("user", "Sounds good. Do I have to bring a cap?"),
    ("assistant", "Yes, please."),
)
"""An example of how a user writes, about something that no job is about.

It shows no goodbye, because models copy it.
"""


def turns(view: EvaluatorView, most: int = FOR_USERS[0]) -> list[dict[str, str]]:
    """Return the example and the conversation as chat messages: the chatbot is `user`, the
    simulated user `assistant`.

    They alternate, and begin and end with `user`, as many models' chat templates require.
    """
    chatbot = clean_line(view.job.target.chatbot, 100)
    between: tuple[Role, str] = ("assistant", f"(This is a new chat, with {chatbot}.)")
    transcript = [(message.role, shown_text(message, most)) for message in view.transcript]
    messages: list[dict[str, str]] = []
    for role, content in (*DIALOGUE, between, *transcript):
        swapped = "user" if role == "assistant" else "assistant"
        if messages and messages[-1]["role"] == swapped:
            messages[-1]["content"] += f"\n\n{content}"
        else:
            messages.append({"role": swapped, "content": content})
    if messages[-1]["role"] == "assistant":
        messages.append({"role": "user", "content": "(No answer yet.)"})
    for message in messages:
        if message["role"] == "assistant":
            message["content"] = _JSON.encode({"message": message["content"]})
        else:
            message["content"] = message["content"] or "(An empty message.)"
    return messages


async def render_prompt(prompt: Prompt, context: Mapping[str, Any], templates: Templates) -> str:
    """Return the prompt filled with `context`; a prompt from the job's folder is rendered in a
    process that can be killed.

    Raises:
        UsageError: the template is wrong, or takes too much time or memory.
    """
    if prompt.origin == "package":
        return render(prompt.name, prompt.text, context)
    return await templates.render(prompt.name, prompt.text, context)
