"""Prompts: looked up in the job's folder, then in the package, and rendered in a sandbox.

Whatever comes from a job or a transcript is data: it is put into the template's gaps and never read as a
template itself. An evaluator's template sees a job without acceptance criteria, rules, assertions and
setups, and without facts where they are withheld.
"""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path, PurePosixPath
from typing import Any, Literal

from jinja2 import StrictUndefined, Template, TemplateError, TemplateSyntaxError, meta
from jinja2.exceptions import SecurityError
from jinja2.sandbox import ImmutableSandboxedEnvironment

from bioeval_tui.errors import UsageError
from bioeval_tui.evaluate.job.models import EvaluationJob
from bioeval_tui.evaluate.job.withholding import for_evaluator
from bioeval_tui.evaluate.models import happened
from bioeval_tui.evaluate.seams import EvaluatorView, JudgeView, TranscriptMessage
from bioeval_tui.text import clean_line

SUFFIXES = (".jinja", ".jinja2", ".j2", "")
MAX_TEMPLATE = 200_000
MAX_PROMPT = 2_000_000
MAX_STEPS = 100_000
MAX_KEPT = 2_000
"""Longer texts, in characters, are not kept for the next prompt."""
_UNSAFE_STRING_METHODS = frozenset(
    {"center", "ljust", "rjust", "zfill", "format", "format_map", "expandtabs", "translate"}
)


@dataclass(frozen=True, slots=True)
class Prompt:
    """A template's text, and where it was found: `job` or `package`."""

    name: str
    text: str
    origin: str


def find_prompt(name: str, job_dir: Path | None) -> Prompt:
    """Return the template called `name`. Raises `UsageError` naming the places that were looked at."""
    relative = PurePosixPath(name)
    if relative.is_absolute() or ".." in relative.parts or "\\" in name or "\0" in name or len(name) > 200:
        raise UsageError(
            f"prompt `{clean_line(name, 100)}`: a name below the job's folder is wanted, without `..`"
        )
    if job_dir is not None:
        root = job_dir.resolve()
        for suffix in SUFFIXES:
            path = (root / (name + suffix)).resolve()
            if path.is_relative_to(root) and path.is_file():
                return Prompt(name, _read(path, name), "job")
    packaged = resources.files("bioeval_tui.evaluate.models") / "prompts"
    for suffix in SUFFIXES:
        file = packaged.joinpath(*relative.parts[:-1], relative.name + suffix)
        if file.is_file():
            return Prompt(name, file.read_text(encoding="utf-8"), "package")
    raise UsageError(
        f"prompt `{clean_line(name, 100)}`: there is no such file, with or without .jinja, in the job's folder or the program"
    )


def prompt_sha(name: str, text: str) -> str:
    """Return the SHA-256 that identifies a prompt, over its name and its text."""
    return hashlib.sha256(f"{name}\0{text}".encode()).hexdigest()


def prompt_hashes(job: EvaluationJob, job_dir: Path | None) -> dict[str, str]:
    """Return the hash of each prompt that a job's models are given, by name."""
    wanted = []
    if job.evaluator.kind == "llm":
        wanted.append(job.evaluator.prompt)
    if job.scorer.kind == "llm":
        wanted.append(job.scorer.prompt)
    return {name: prompt_sha(name, find_prompt(name, job_dir).text) for name in wanted}


def evaluator_prompt(prompt: Prompt, view: EvaluatorView) -> str:
    """Return what the evaluator is told. Raises `UsageError` when the template is wrong."""
    transcript = _messages(view.transcript)
    config = for_evaluator(view.job, view.facts).model_dump(mode="json", by_alias=True)
    return _render(
        prompt, config, transcript, facts=list(view.facts), note=view.note, condition=view.condition
    )


def judge_prompt(prompt: Prompt, view: JudgeView) -> str:
    """Return what the judge is told. Raises `UsageError` when the template is wrong.

    Templates see `config`, `transcript`, `example` (as published), `facts`, `boundary`, and what happened: `tools`,
    `events` and `state` (`before`, `after`), empty where `scorer.context` leaves them out.
    """
    config = view.job.model_dump(mode="json", by_alias=True)
    example = json.dumps(_example(view.job), ensure_ascii=False, indent=2)
    shown = shown_to_judge(prompt, view.job)
    calls = happened.tool_calls(view.transcript) if shown != "none" else []
    events = happened.other_events(view.transcript) if shown == "all" else []
    state = {
        "before": happened.state_text(view.state_before if shown == "all" else None),
        "after": happened.state_text(view.state_after if shown == "all" else None),
    }
    return _render(
        prompt,
        config,
        _messages(view.transcript),
        facts=config["facts"],
        example=example,
        tools=happened.bounded(calls),
        events=happened.bounded(events),
        state=state,
    )


def shown_to_judge(prompt: Prompt, job: EvaluationJob) -> Literal["none", "tools", "all"]:
    """Return what the judge is shown besides the words: `scorer.context`, as far as the template has a place for it."""
    try:
        names = meta.find_undeclared_variables(_Sandbox().parse(prompt.text))
    except TemplateSyntaxError:
        return "none"  # rendering it says what is wrong
    wanted = job.scorer.context
    if wanted == "none" or not names & {"tools", "events", "state"}:
        return "none"
    return "all" if wanted == "all" and names & {"events", "state"} else "tools"


def _example(job: EvaluationJob) -> dict[str, Any]:
    tasks = [
        {
            "task": number,
            "scored": task.task,
            "score": 0.9 if number % 2 else 0.4,
            "reason": "What the chatbot did or failed to do.",
            "evidence": ["words quoted from the conversation"],
        }
        for number, task in enumerate(job.tasks, start=1)
    ]
    return {"tone": 0.5, "tasks": tasks}


def _messages(transcript: Sequence[TranscriptMessage]) -> list[dict[str, Any]]:
    return [{"message": m.message, "role": m.role, "content": m.content} for m in transcript]


def _render(prompt: Prompt, config: Mapping[str, Any], transcript: list[dict[str, Any]], **more: Any) -> str:
    # Made from what it encloses, so nobody who writes into the transcript can know it.
    digest = hashlib.sha256()
    for said in transcript:
        digest.update(f"{said['role']}\0{said['content']}\0".encode("utf-8", "replace"))
    for name in ("tools", "events", "state"):
        digest.update(json.dumps(more.get(name), default=str).encode())
    context = {
        "config": config,
        "transcript": transcript,
        "boundary": f"RECORD-{digest.hexdigest()[:16]}",
        **more,
    }
    parts: list[str] = []
    length = 0
    where = f"prompt `{clean_line(prompt.name, 100)}`"
    try:
        for part in _compiled(prompt.text).generate(context):
            length += len(part)
            if length > MAX_PROMPT:
                raise UsageError(f"{where}: it becomes longer than {MAX_PROMPT:,} characters")
            parts.append(part)
    except TemplateSyntaxError as problem:
        raise UsageError(
            f"{where}, line {problem.lineno}: {clean_line(problem.message or 'wrong syntax')}"
        ) from None
    except SecurityError as problem:
        raise UsageError(f"{where}: not allowed: {clean_line(str(problem))}") from None
    except TemplateError as problem:
        raise UsageError(f"{where}: {clean_line(problem.message or str(problem))}") from None
    except (ArithmeticError, LookupError, TypeError, ValueError, RecursionError, AttributeError) as problem:
        raise UsageError(f"{where}: {clean_line(str(problem))}") from None
    return "".join(parts).strip()


@functools.lru_cache(maxsize=32)
def _compile(text: str) -> tuple[_Sandbox, Template]:
    """Compile a template once: that takes ten times as long as rendering it."""
    environment = _Sandbox()
    return environment, environment.from_string(text)


def _compiled(text: str) -> Template:
    """Return the template, with all its steps before it. Raises what Jinja raises."""
    environment, template = _compile(text)
    environment.steps = 0
    return template


def _as_json(value: Any) -> str:
    if isinstance(value, str) and len(value) <= MAX_KEPT:
        return _text_as_json(value)
    if isinstance(value, dict) and list(value) == ["role", "content"]:
        role, content = value.values()
        if isinstance(role, str) and isinstance(content, str) and len(content) <= MAX_KEPT:
            return _message_as_json(role, content)
    return json.dumps(value, ensure_ascii=False)


# Every message of a conversation is written again into each prompt that follows it.
@functools.lru_cache(maxsize=4096)
def _text_as_json(value: str) -> str:
    return json.dumps(value, ensure_ascii=False)


@functools.lru_cache(maxsize=4096)
def _message_as_json(role: str, content: str) -> str:
    return json.dumps({"role": role, "content": content}, ensure_ascii=False)


class _Sandbox(ImmutableSandboxedEnvironment):
    """A sandbox in which a template can neither run long nor grow large."""

    intercepted_binops = frozenset({"*", "**", "%"})

    def __init__(self) -> None:
        super().__init__(
            undefined=StrictUndefined, trim_blocks=False, lstrip_blocks=False, keep_trailing_newline=False
        )
        self.steps = 0
        self.globals["range"] = self._range
        self.filters["as_json"] = _as_json
        for name in ("center", "format", "indent"):
            self.filters.pop(name, None)

    def is_safe_attribute(self, obj: Any, attr: str, value: Any) -> bool:
        """Refuse the methods of texts that make much out of little."""
        if isinstance(obj, str) and attr in _UNSAFE_STRING_METHODS:
            return False
        return super().is_safe_attribute(obj, attr, value)

    def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
        """Allow arithmetic on numbers of ordinary size, and nothing else."""
        for operand in (left, right):
            if not isinstance(operand, int | float) or abs(operand) > 1e6:
                raise SecurityError(f"`{operator}` works on numbers up to 1,000,000")
        if operator == "**" and abs(right) > 16:
            raise SecurityError("`**` works up to 16")
        return super().call_binop(context, operator, left, right)

    def _range(self, *bounds: int) -> range:
        numbers = range(*bounds)
        self.steps += len(numbers)
        if self.steps > MAX_STEPS:
            raise SecurityError(f"more than {MAX_STEPS:,} steps of range")
        return numbers


def _read(path: Path, name: str) -> str:
    try:
        data = path.read_bytes()
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
