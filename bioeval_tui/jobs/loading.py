"""Load a job file; report every problem in it at once, each with its line, column and field."""

from __future__ import annotations

import difflib
import hashlib
import json
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from bioeval_tui import plugins
from bioeval_tui.base.addresses import HTTP, url_problem
from bioeval_tui.base.credentials import strip_credentials
from bioeval_tui.base.errors import JobError, Problem, RecordingError, UsageError
from bioeval_tui.base.text import clean_line, clean_value, file_title, listed, plural
from bioeval_tui.base.yaml_positions import Path as FieldPath, YamlDocument, read_yaml, show_path
from bioeval_tui.jobs import models
from bioeval_tui.jobs.models import EvaluationJob
from bioeval_tui.record.cases import Case, job_with_case, plain_parts
from bioeval_tui.record.condition_names import PLACEBO_NAME
from bioeval_tui.record.conditions import ConditionConfig
from bioeval_tui.record.masking import masking

if TYPE_CHECKING:
    from bioeval_tui.record.events import RunStarted

MAX_BYTES = 2_000_000
MOST_UNPACKED = 100
"""So many jobs of cases are unpacked at a time: about as many as there are conversations."""
MAX_PROBLEMS = 500
"""Maximum number of problems of a file that are listed."""
NEEDS = "a job needs at least target, aspirationalAverage, tasks and facts"
LEFT_OUT = "# Left out, because the recording came from elsewhere: "
"""Begins the line of a job file that names what `new --from` did not take over; `check` and `run`
repeat it.
"""


@dataclass(frozen=True)
class LoadedJob:
    """A job with its file; `problems` contains only warnings."""

    job: EvaluationJob
    path: Path
    sha256: str
    document: YamlDocument
    problems: tuple[Problem, ...]

    @property
    def name(self) -> str:
        """The file's name without its extension, which is the job's name on screen."""
        return file_title(self.path)


def load_job(path: Path) -> LoadedJob:
    """Read and validate a job file.

    Raises:
        JobError: with every problem found in the file.
    """
    shown = str(path)
    try:
        if not path.is_file():
            what = "is a folder" if path.is_dir() else "does not exist or is not a file"
            raise JobError(
                f"{clean_line(shown)} {what}",
                (Problem(f"{what}; give a YAML job file", clean_line(shown)),),
            )
        if path.stat().st_size > MAX_BYTES:
            raise JobError(
                "too large", (Problem(f"larger than {MAX_BYTES:,} bytes", clean_line(shown)),)
            )
        data = path.read_bytes()
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise JobError("not UTF-8", (Problem("not UTF-8 text", clean_line(shown), line),)) from None
    except OSError as error:
        raise JobError(
            "cannot be read", (Problem(f"cannot be read: {error.strerror}", clean_line(shown)),)
        ) from None
    return parse_job(text, path, hashlib.sha256(data).hexdigest())


def parse_job(text: str, path: Path, sha256: str = "") -> LoadedJob:
    """Validate a job's text; `path` is used for messages and to find files beside it.

    Raises `JobError`.
    """
    file = clean_line(str(path))
    document = read_yaml(text, file, NEEDS)
    problems = list(document.problems)
    job: EvaluationJob | None = None
    if document.value is not None or not problems:
        try:
            job = job_from_data(document.value)
        except ValidationError as error:
            problems += _list_problems(error, document, file)
    if job is not None:
        problems += _address_problems(job, document, file)
        problems += _condition_problems(job, document, file)
    if job is None or any(problem.severity == "error" for problem in problems):
        problems.sort(key=lambda problem: (problem.line, problem.column))
        if len(problems) > MAX_PROBLEMS:
            problems[MAX_PROBLEMS:] = [
                Problem(f"more than {MAX_PROBLEMS} problems; the rest is not listed", file)
            ]
        raise JobError("\n".join(map(str, problems)), tuple(problems))
    warnings = (*_left_out(text, file), *_warnings(job, document, file))
    return LoadedJob(job, path, sha256, document, warnings)


def _left_out(text: str, file: str) -> Iterator[Problem]:
    for number, line in enumerate(text.splitlines(), start=1):
        if line.startswith(LEFT_OUT):
            named = clean_line(line.removeprefix(LEFT_OUT), 500)
            message = (
                f"this job came from a stranger's recording, without its {named}; the comments"
                " below this line have them"
            )
            yield Problem(message, file, number, 1, severity="warning")


def job_from_data(data: Any) -> EvaluationJob:
    """Build a job from JSON-like data, its texts cleaned. Raises pydantic's `ValidationError`.

    If the job has a rubric and no prompt of its own, the judge uses the prompt for rubrics.
    """
    job = EvaluationJob.model_validate_json(
        json.dumps(clean_value(data), default=str), by_alias=True, by_name=False
    )
    if not job.rubric or job.scorer.prompt != models.SCORE_PROMPT:
        return job
    return job.model_copy(
        update={"scorer": job.scorer.model_copy(update={"prompt": models.RUBRIC_PROMPT})}
    )


class PackedJob:
    """The job of a case, packed: a job takes 20 kB, and a run may have ten thousand."""

    __slots__ = ("_bytes", "like")

    def __init__(self, job: EvaluationJob, like: bytes = b"") -> None:
        """`like` is `job_bytes` of one that is almost the same, which makes it ten times as
        small.
        """
        packer = zlib.compressobj(1, zdict=like)
        self._bytes = packer.compress(job_bytes(job)) + packer.flush()
        self.like = like

    def unpack(self) -> EvaluationJob:
        """Return the job, made anew."""
        unpacked = zlib.decompressobj(zdict=self.like).decompress(self._bytes)
        return EvaluationJob.model_validate_json(unpacked, by_alias=True, by_name=False)


def job_bytes(job: EvaluationJob) -> bytes:
    """Return a job as JSON, with users, passwords and queries of its URLs."""
    return job.model_dump_json(by_alias=True).encode()


class CaseJobs(Sequence[EvaluationJob]):
    """The jobs of a run's cases, of which only those that were asked for last are unpacked."""

    def __init__(self, packed: Iterable[PackedJob]) -> None:
        self._packed = list(packed)
        self._last: dict[int, EvaluationJob] = {}

    def __len__(self) -> int:
        return len(self._packed)

    def __getitem__(self, place: Any) -> Any:
        if isinstance(place, slice):
            return [self[at] for at in range(len(self))[place]]
        at = range(len(self))[place]
        if at not in self._last:
            if len(self._last) >= MOST_UNPACKED:
                del self._last[next(iter(self._last))]
            self._last[at] = self._packed[at].unpack()
        return self._last[at]


def recorded_job(started: RunStarted, name: str, case: Case | None = None) -> EvaluationJob:
    """Build the job of the recording `name`, with the tasks and facts of a case if it has its own.

    An imported job needs neither an agent's URL nor a target latency, which foreign files don't
    have.

    Raises:
        RecordingError: it is not a job, or is one of another version of this program.
    """
    data = dict(started.job)
    if started.source is not None:
        data = {"target": {"user": "user", "chatbot": "agent"}, "aspirationalAverage": 1.0} | data
    if case is not None:
        own = (each.parts for each in started.cases if each.key == case.key)
        parts = next(own, None)
        data = job_with_case(data, case) if parts is None else data | plain_parts(parts)
    try:
        return job_from_data(data)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        field = clean_line(".".join(map(str, first["loc"])), 100)
        why = clean_line(first["msg"], 200)
        if masking() and first["type"] == "string_too_long":
            why += "; --redact has replaced names in it: give them a shorter `as` in its rules"
        raise RecordingError(
            f"{name}: the job in its first event cannot be used: {field}: {why}"
        ) from None


def job_snapshot(job: EvaluationJob, *, exclude_defaults: bool = False) -> dict[str, Any]:
    """Return the job as JSON-like data under its published keys; `job_from_data` reads it back.

    Users, passwords and queries of URLs are left out, because a snapshot is written to a file.
    """
    snapshot = job.model_dump(mode="json", by_alias=True, exclude_defaults=exclude_defaults)
    target = snapshot["target"]
    for name in ("url", "knowledgeUrl", "objectContextUrl"):
        if target.get(name):
            target[name] = strip_credentials(target[name])
    return snapshot


def _takes_any_scheme(protocol: str) -> bool:
    try:
        known = plugins.agent_protocol(protocol)
    except UsageError:
        return True  # `check` says what is wrong with the plug-in
    return known is None or known.any_scheme


def _address_problems(job: EvaluationJob, document: YamlDocument, file: str) -> Iterator[Problem]:
    """Yield what is wrong with addresses.

    Only of files: an imported recording may have any, and calls none.
    """
    any_scheme = job.target.url is not None and _takes_any_scheme(job.target.protocol)
    for path, url, schemes in (
        (("target", "url"), job.target.url, () if any_scheme else HTTP),
        (("target", "knowledgeUrl"), job.target.knowledge_url, HTTP),
        (("target", "objectContextUrl"), job.target.object_context_url, HTTP),
        (("evaluator", "url"), job.evaluator.url, HTTP),
        (("scorer", "url"), job.scorer.url, HTTP),
    ):
        if url is not None and (problem := url_problem(url, schemes)):
            place = document.place(path)
            yield Problem(problem, file, place.line, place.column, show_path(path))


def _condition_problems(job: EvaluationJob, document: YamlDocument, file: str) -> Iterator[Problem]:
    """Yield where the job names a condition or a fact that it does not have, and rules of which
    none counts in a condition.
    """
    known = [condition.name for condition in job.held_in]

    def problem(path: FieldPath, message: str) -> Problem:
        place = document.place(path)
        return Problem(message, file, place.line, place.column, show_path(path))

    for number, condition in enumerate(job.conditions or ()):
        if condition.is_placebo:
            yield problem(
                ("conditions", number, "name"),
                f"{PLACEBO_NAME} is what `controls: true` adds; give yours another name",
            )
        numbers = condition.facts if isinstance(condition.facts, tuple) else ()
        if wrong := [fact for fact in numbers if fact > len(job.facts) and not job.cases]:
            yield problem(
                ("conditions", number, "facts"),
                f"there is no fact {wrong[0]}; the job has {len(job.facts)}",
            )
    first = (job.order or "").removesuffix("-first")
    if first not in ("", "random", "parallel", *known):
        yield problem(("order",), f"{first} is no condition of the job; it has {listed(known)}")
    for path, item in _conditional_parts(job):
        if item.only not in (None, *known):
            yield problem(
                (*path, "only"), f"{item.only} is no condition of the job; it has {listed(known)}"
            )
        rules = item.rules if isinstance(item, models.JobTask | models.RubricItem) else ()
        for condition in job.held_in if rules else ():
            counts = any(rule.applies(condition.name) for rule in rules)
            if item.applies(condition.name) and not counts:
                yield problem(path, f"{condition.title}: no rule counts")


def _conditional_parts(job: EvaluationJob) -> Iterator[tuple[FieldPath, models.OfCondition]]:
    """Yield whatever may name in `only` the one condition that it is for: tasks, a rubric's items,
    assertions, the user's lines, and rules of tasks and items; each with its place in the job.
    """
    parts: dict[FieldPath, Sequence[Any]] = {
        ("tasks",): job.tasks,
        ("rubric",): job.rubric,
        ("assertions",): job.assertions,
        ("evaluator", "lines"): job.evaluator.lines,
    }
    for path, items in parts.items():
        for index, item in enumerate(items):
            if isinstance(item, models.OfCondition):
                yield (*path, index), item
            if isinstance(item, models.JobTask | models.RubricItem):
                for at, rule in enumerate(item.rules):
                    yield (*path, index, "rules", at), rule


def _warnings(job: EvaluationJob, document: YamlDocument, file: str) -> Iterator[Problem]:
    def warning(message: str, field: str) -> Problem:
        place = document.place((field,))
        return Problem(message, file, place.line, place.column, field, "warning")

    if not job.tasks and not job.rubric:
        yield warning("no tasks: the score leaves its task part out", "tasks")
    # A rubric that comes from the cases is not known yet.
    counting = [*job.judged, *job.assertions] if job.judged or not job.rubric else []
    for condition in job.held_in:
        if counting and not any(each.applies(condition.name) for each in counting):
            message = (
                f"{condition.title}: only response times are scored, since all tasks and"
                " assertions are for other conditions"
            )
            yield warning(message, "tasks")
    most = max(sum(task.applies(condition.name) for task in job.tasks) for condition in job.held_in)
    least = 2 * most + 2
    if job.max_turns < least:
        message = (
            f"{plural(job.max_turns, 'message')} are few for {plural(most, 'task')}: those of both"
            f" sides count, so at least {least} are needed"
        )
        yield warning(message, "maxTurns")


def _list_problems(error: ValidationError, document: YamlDocument, file: str) -> list[Problem]:
    problems: dict[FieldPath, Problem] = {}
    for detail in error.errors(include_url=False):
        path = _known_path(detail, document)
        if path in problems:
            continue
        if len(problems) > MAX_PROBLEMS:
            break
        place = document.place(path, key=detail["type"] == "extra_forbidden")
        if detail["type"] == "missing":
            place = document.place(path[:-1])
        problems[path] = Problem(
            error_message(detail, path), file, place.line, place.column, show_path(path)
        )
    return list(problems.values())


def field_path(detail: ErrorDetails) -> FieldPath:
    """Return the path of a validation error's field in a job's data."""
    path: FieldPath = tuple(part for part in detail["loc"] if part not in models.TAGS)
    if len(path) > 2 and path[0] in models.KINDS:
        path = (*path[:2], *path[3:])  # pydantic names the kind of a union's member after the index
    return path


def _known_path(detail: ErrorDetails, document: YamlDocument) -> FieldPath:
    path = field_path(detail)
    # A missing key, or one that was cleaned, has no position in the file, but its parent has.
    has_no_value = detail["type"] in ("missing", "extra_forbidden")
    known = path[:-1] if has_no_value else path
    while known and known not in document.values:
        known = known[:-1]
    if has_no_value:
        return (*known, path[-1])
    return known


def error_message(detail: ErrorDetails, path: FieldPath) -> str:
    """Return what is wrong with a field, as a phrase that follows its name."""
    value = detail.get("input")
    match detail["type"]:
        case "missing":
            return "required key is missing"
        case "kind_unknown":
            return clean_line(detail["msg"]) + _meant(value, str(path[0]))
        case "extra_forbidden":
            return _unknown_key(path)
        case "string_type":
            hint = "; put it in quotes" if _is_scalar(value) else ""
            return f"must be text, not {_describe(value)}{hint}"
        case "float_type" | "int_type" | "float_parsing" | "int_parsing" | "int_from_float":
            kind = "a whole number" if detail["type"].startswith("int") else "a number"
            return f"must be {kind}, not {_describe(value)}"
        case "bool_type":
            return f"must be true or false, not {_describe(value)}"
        case "tuple_type" | "list_type":
            return f"must be a list, not {_describe(value)}"
        case "model_type" | "dict_type" | "model_attributes_type":
            return f"must be a mapping of keys, not {_describe(value)}"
        case "literal_error":
            return f"must be {detail.get('ctx', {}).get('expected', '')}, not {_describe(value)}"
        case "string_pattern_mismatch" if form := next(
            (_FORMS[n] for n in path[::-1] if n in _FORMS), ""
        ):
            return f"must be {form}, not {_describe(value)}"
        case "string_too_short":
            return "must not be empty"
        case "greater_than_equal" | "greater_than" | "less_than_equal" | "less_than" as compared:
            key, words = _LIMITS[compared]
            limit = detail.get("ctx", {}).get(key)
            if isinstance(limit, float) and limit.is_integer():
                limit = int(limit)
            return f"must be {words} {limit}"
        case "finite_number":
            return "must be a finite number"
        case _:
            message = clean_line(detail["msg"])
            return message[:1].lower() + message[1:]


_LIMITS = {
    "greater_than_equal": ("ge", "at least"),
    "greater_than": ("gt", "greater than"),
    "less_than_equal": ("le", "at most"),
    "less_than": ("lt", "less than"),
}
"""Where a validation error has the limit of a number, and what a number must be before it."""
_FORMS = {
    "apiKeyEnv": "the name of an environment variable",
    "headers": (
        "a header's name, of letters, digits and hyphens, with a value of visible ASCII characters"
    ),
    "headersEnv": (
        "the name of an environment variable, if need be after a word, such as `Bearer MY_TOKEN`"
    ),
    "function": "of the form module:function, such as my_agent:answer",
    "name": "a name of at most 64 letters, digits, points, hyphens and underscores",
}
"""What a text must be if it does not match its pattern, by key."""


def _is_scalar(value: object) -> bool:
    return isinstance(value, bool | int | float)


def _describe(value: object) -> str:
    match value:
        case None:
            return "nothing"
        case bool():
            return "the yes/no value " + ("true" if value else "false")
        case int() | float():
            return f"the number {value}"
        case str():
            return f"'{clean_line(value, 60)}'"
        case list():
            return "a list"
        case _:
            return "a mapping"


_PARTS: dict[str, tuple[type[BaseModel], ...]] = {
    "target": (models.TargetConfig,),
    "evaluator": (models.EvaluatorConfig,),
    "scorer": (models.ScorerConfig,),
    "tasks": (models.JobTask,),
    "fhir": (models.FhirConfig,),
    "rubric": (models.RubricItem,),
    "personas": (models.Persona,),
    "cases": (models.CasesConfig,),
    "conditions": (ConditionConfig,),
    **{part: tuple(kinds.values()) for part, kinds in models.KINDS.items()},
}
_NESTED: dict[str, type[BaseModel]] = {
    "lines": models.ScriptLine,
    "rules": models.RuleConfig,
    "tools": models.ToolConfig,
    "fails": models.ToolFailure,
    "facts": models.PersonaFactsConfig,
    "fhir": models.FhirWrite,
    "toolCalls": models.ToolCallsConfig,
    "calls": models.CallConfig,
    "mustCall": models.CallConfig,
    "mustNotCall": models.CallConfig,
    "conversation": models.SeedMessage,
}


def _meant(value: object, part: str) -> str:
    """Return a suggestion for the misspelt key of a list item that determines its kind."""
    kinds = models.KINDS[part]
    for key in value if isinstance(value, dict) else ():
        if near := difflib.get_close_matches(str(key), kinds, 1, 0.6):
            return f"; instead of {clean_line(str(key), 40)}, did you mean {near[0]}?"
    return ""


_OTHER_NAMES = {"numpredict": "maxTokens", "npredict": "maxTokens", "stopsequences": "stop"}
"""What model servers call an option, where the key is not near enough to the name to be found by
it.
"""
_IN_BODY = {
    "topk", "minp", "typicalp", "mirostat", "presencepenalty", "frequencypenalty", "repeatpenalty",
    "repetitionpenalty", "logitbias", "numctx", "keepalive", "thinking", "think", "enablethinking",
    "chattemplatekwargs", "grammar", "guidedjson", "cacheprompt", "servicetier",
}  # fmt: skip
"""Options of model servers that no key stands for: `extraBody` sends them."""


def _unknown_key(path: FieldPath) -> str:
    parts = _PARTS.get(str(path[0]), (EvaluationJob,)) if len(path) > 1 else (EvaluationJob,)
    for name in path[1:-1]:
        if name in _NESTED:
            parts = (_NESTED[str(name)],)
    fields = chain.from_iterable(part.model_fields.items() for part in parts)
    known = sorted({field.alias or name for name, field in fields})
    plain = {key.lower(): key for key in known}  # `top_p` and `max_tokens` mean topP and maxTokens
    asked = str(path[-1]).replace("_", "").replace("-", "").lower()
    if "extraBody" in known and asked in _IN_BODY:
        return f"unknown key; send it with extraBody: {{{clean_line(str(path[-1]), 40)}: …}}"
    if (meant := _OTHER_NAMES.get(asked)) in known:
        return f"unknown key, did you mean {meant}?"
    near = difflib.get_close_matches(asked, plain, 1, 0.5)
    near = near or [key for key in plain if len(key) > 3 and (key in asked or asked in key)]
    if near:
        return f"unknown key, did you mean {plain[near[0]]}?"
    return f"unknown key; known are {', '.join(known)}"
