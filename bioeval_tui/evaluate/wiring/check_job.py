"""Check a job whole: its shape, and that every expression, query and pattern in it can be understood."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from bioeval_tui import plugins
from bioeval_tui.errors import ExpressionError, JobError, Problem, QueryError, UsageError
from bioeval_tui.evaluate.assertions.expressions import counts_the_end, parse
from bioeval_tui.evaluate.assertions.readings import depends_on_signoff, depends_on_user_times
from bioeval_tui.evaluate.assertions.tool_calls import parse_where
from bioeval_tui.evaluate.graphs import cypher
from bioeval_tui.evaluate.guards.language import is_english
from bioeval_tui.evaluate.job.loading import MAX_BYTES, LoadedJob, load_job
from bioeval_tui.evaluate.models.prompting import find_prompt
from bioeval_tui.evaluate.wiring.check_target import given_agent_problems, target_problems
from bioeval_tui.evaluate.wiring.job_source import JobSource, items_of
from bioeval_tui.patterns import pattern_problem
from bioeval_tui.text import clean_line
from bioeval_tui.yaml_positions import Path as FieldPath
from bioeval_tui.yaml_positions import read_yaml

_END_OF_TRANSCRIPT = (
    "the transcript ends with the evaluator's sign-off, as published; version 0.1 left it out: "
    "say which is meant with compat: embabel or compat: v0.1"
)
_USER_TIMES = (
    "timeTakenMillis of a user message is how long the evaluator took, as published; version 0.1 gave 0: "
    "say which is meant with compat: embabel or compat: v0.1"
)

UNRESTRICTED = "; where you trust the job, `bioeval-tui run --unrestricted-setups` passes its setups to Neo4j as they are"
MAX_PROBLEMS = 500
"""Most problems of one file's texts that are told."""


@dataclass(frozen=True, slots=True)
class CheckedJob:
    """A job file and everything that is wrong with it; `loaded` is None when it cannot be run."""

    path: Path
    loaded: LoadedJob | None
    problems: tuple[Problem, ...]

    @property
    def errors(self) -> tuple[Problem, ...]:
        """The problems that keep it from running."""
        return tuple(problem for problem in self.problems if problem.severity == "error")


def check_job(
    path: Path,
    *,
    embedded: bool = False,
    unrestricted_setups: bool = False,
    code: Sequence[Path] = (),
    agent_is_given: bool = False,
) -> CheckedJob:
    """Load and check a job; every problem is listed, with file, line, column and field. Setups are not looked at
    where they are `unrestricted`. Python functions are looked for in installed packages and in the folders of `code`. Where a
    function `agent_is_given`, the job's own agent does not matter.

    Where Cypher would be asked of the `embedded` graph, what that refuses is a warning. A key that is missing or of the wrong kind hides no problem of an expression elsewhere in the file.
    """
    try:
        loaded = load_job(path)
    except JobError as error:
        source = _unloaded(path)
        found = []
        if source is not None:
            found = _problems_in(source, embedded, unrestricted_setups, code, agent_is_given)
        return CheckedJob(path, None, _in_order([*error.problems, *found]))
    source = JobSource(loaded.path, loaded.document)
    found = _problems_in(source, embedded, unrestricted_setups, code, agent_is_given)
    return CheckedJob(path, loaded, _in_order([*loaded.problems, *found]))


def require_job(
    path: Path, *, unrestricted_setups: bool = False, code: Sequence[Path] = (), agent_is_given: bool = False
) -> LoadedJob:
    """Return the job, or raise `JobError` with every problem that keeps it from running."""
    checked = check_job(
        path, unrestricted_setups=unrestricted_setups, code=code, agent_is_given=agent_is_given
    )
    if checked.loaded is None or checked.errors:
        raise JobError("\n".join(map(str, checked.errors)), checked.errors)
    return checked.loaded


def _unloaded(path: Path) -> JobSource | None:
    """Return what can be read of a file that makes no job; None when it is no YAML text."""
    try:
        if not path.is_file() or path.stat().st_size > MAX_BYTES:
            return None  # a pipe or a device, perhaps: reading it might never end
        document = read_yaml(path.read_text("utf-8-sig"), clean_line(str(path)))
    except (OSError, UnicodeDecodeError):
        return None
    return JobSource(path, document)


def _in_order(problems: list[Problem]) -> tuple[Problem, ...]:
    return tuple(sorted(problems, key=lambda problem: (problem.line, problem.column)))


def _problems_in(
    source: JobSource,
    embedded: bool,
    unrestricted_setups: bool,
    code: Sequence[Path],
    agent_is_given: bool,
) -> list[Problem]:
    return [
        *_query_problems(source, unrestricted_setups),
        *_where_problems(source),
        *(_refused_by_embedded(source) if embedded else ()),
        *_evaluator_problems(source),
        *(given_agent_problems(source) if agent_is_given else target_problems(source, code)),
        *_language_problems(source),
        *_pattern_problems(source),
        *_name_problems(source, agent_is_given),
    ][:MAX_PROBLEMS]


def _language_problems(source: JobSource) -> list[Problem]:
    """Return a warning where a model plays a user whose language most guards do not know."""
    evaluator = source.part("evaluator")
    if evaluator.get("kind", "llm") != "llm" or evaluator.get("guards", "mark") in ("off", False):
        return []
    texts = [item.get("task") for _, item in items_of(source.data.get("tasks"))]
    if is_english("\n".join(text for text in texts if isinstance(text, str))):
        return []
    message = (
        "the tasks are not in English: what the simulated user says is checked only for what shows in any language, "
        "and for English phrases (docs/guards.md)"
    )
    return [replace(source.problem(("tasks",), "", message), severity="warning")]


def _query_problems(source: JobSource, unrestricted_setups: bool) -> list[Problem]:
    """Return what is wrong with expressions and Cypher."""
    compat = source.data.get("compat")
    readers: list[tuple[str, str, Callable[[str], object]]] = [
        ("assertions", "expression", lambda text: parse(text, published=compat == "embabel")),
        ("assertions", "cypher", cypher.check_read_only),
    ]
    if not unrestricted_setups:
        readers.append(("setups", "cypher", cypher.check_setup))
    found = []
    for part, key, read in readers:
        for index, item in items_of(source.data.get(part)):
            text = item.get(key)
            if not isinstance(text, str):
                continue
            try:
                read(text)
            except (ExpressionError, QueryError) as error:
                hint = UNRESTRICTED if part == "setups" and "not allowed" in error.message else ""
                found.append(source.problem((part, index, key), text, error.message + hint, error.column))
                continue
            if key == "expression" and compat is None and (doubt := _two_readings(text)):
                problem = source.problem((part, index, key), text, *doubt)
                found.append(replace(problem, severity="warning"))
    return found


def _where_problems(source: JobSource) -> list[Problem]:
    """Return what is wrong with conditions on tool calls."""
    found = []
    for index, item in items_of(source.data.get("assertions")):
        asked = item.get("toolCalls")
        for key in ("calls", "mustCall", "mustNotCall"):
            for number, call in items_of(asked.get(key) if isinstance(asked, dict) else None):
                text = call.get("where")
                try:
                    if isinstance(text, str):
                        parse_where(text)
                except ExpressionError as error:
                    path = ("assertions", index, "toolCalls", key, number, "where")
                    found.append(source.problem(path, error.text, error.message, error.column))
    return found


def _two_readings(text: str) -> tuple[str, int] | None:
    """Return a warning and its column where a condition's verdict depends on `compat`."""
    if "transcript" not in text:
        return None
    condition, place = parse(text), text.index("transcript") + 1
    if column := counts_the_end(text):
        return _END_OF_TRANSCRIPT, column
    if depends_on_signoff(condition):
        return _END_OF_TRANSCRIPT, place
    return (_USER_TIMES, place) if depends_on_user_times(condition) else None


def _refused_by_embedded(source: JobSource) -> list[Problem]:
    """Return what Neo4j would answer and the embedded graph refuses, as warnings."""
    found = []
    for part in ("setups", "assertions"):
        for index, item in items_of(source.data.get(part)):
            text = item.get("cypher")
            if not isinstance(text, str):
                continue
            try:
                cypher.check_setup(text)
            except QueryError:
                continue  # what is refused everywhere has been said
            try:
                cypher.check_embedded(text)
            except QueryError as error:
                message = f"refused unless Neo4j is set: {error.message}"
                problem = source.problem((part, index, "cypher"), text, message, error.column)
                found.append(replace(problem, severity="warning"))
    return found


def _evaluator_problems(source: JobSource) -> list[Problem]:
    evaluator, found = source.part("evaluator"), []
    facts, lines = source.data.get("facts"), evaluator.get("lines")
    if evaluator.get("kind") == "scripted" and not lines:
        message = "a scripted evaluator needs lines to say"
        found.append(source.problem(("evaluator", "kind"), "", message))
    for index, line in items_of(lines):
        fact = line.get("fact")
        if isinstance(fact, int) and isinstance(facts, list) and fact > len(facts):
            message = f"there is no fact {fact}; the job has {len(facts)}"
            found.append(source.problem(("evaluator", "lines", index, "fact"), "", message))
    if source.part("scorer").get("kind") == "rules":
        for index, task in items_of(source.data.get("tasks")):
            if not task.get("rules"):
                message = "the rules judge needs rules for every task"
                found.append(source.problem(("tasks", index), "", message))
    return found


def _pattern_problems(source: JobSource) -> list[Problem]:
    patterns: list[tuple[FieldPath, object]] = [
        (("evaluator", "lines", index, "when"), line.get("when"))
        for index, line in items_of(source.part("evaluator").get("lines"))
    ]
    for number, task in items_of(source.data.get("tasks")):
        patterns += [
            (("tasks", number, "rules", index, "pattern"), rule.get("pattern"))
            for index, rule in items_of(task.get("rules"))
        ]
    return [
        source.problem(path, pattern, problem)
        for path, pattern in patterns
        if isinstance(pattern, str) and (problem := pattern_problem(pattern)) is not None
    ]


def _name_problems(source: JobSource, agent_is_given: bool) -> list[Problem]:
    """Return what is wrong with the names of prompts, kinds and the agent's protocol."""
    found = []
    for part in ("evaluator", "scorer"):
        name = source.part(part).get("prompt")
        try:
            if isinstance(name, str) and source.part(part).get("kind", "llm") == "llm":
                find_prompt(name, source.path.parent)
        except UsageError as error:
            found.append(source.problem((part, "prompt"), "", str(error)))
    named: tuple[tuple[plugins.Group, str, str, str], ...] = (
        ("agents", "target", "protocol", "protocol"),
        ("evaluators", "evaluator", "kind", "kind of evaluator"),
        ("judges", "scorer", "kind", "kind of judge"),
    )
    for group, part, key, what in named:
        name = None if part == "target" and agent_is_given else source.part(part).get(key)
        known = (*plugins.BUILT_IN[group], *(plugin.name for plugin in plugins.installed(group)))
        if isinstance(name, str) and name not in known:
            message = f"there is no {what} `{name}`; known are: {', '.join(known)}"
            found.append(source.problem((part, key), "", message))
    return found
