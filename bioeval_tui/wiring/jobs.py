"""Check a job whole: its shape, and that every expression, query and pattern in it can be understood."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from bioeval_tui import cypher_guard, plugins
from bioeval_tui.assertions.expressions import parse
from bioeval_tui.errors import ExpressionError, JobError, Problem, QueryError, UsageError
from bioeval_tui.jobs.loading import LoadedJob, load_job
from bioeval_tui.jobs.models import CypherAssertion, ExpressionAssertion
from bioeval_tui.jobs.positions import Path as FieldPath
from bioeval_tui.jobs.positions import show_path
from bioeval_tui.patterns import pattern_problem
from bioeval_tui.prompting import find_prompt
from bioeval_tui.text import clean_line


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


def check_job(path: Path, *, embedded: bool = False) -> CheckedJob:
    """Load and check a job; every problem is listed, with file, line, column and field.

    Where Cypher would be asked of the `embedded` graph, what that refuses is a warning.
    """
    try:
        loaded = load_job(path)
    except JobError as error:
        return CheckedJob(path, None, error.problems)
    found = [
        *loaded.problems,
        *_assertion_problems(loaded),
        *_setup_problems(loaded),
        *(_refused_by_embedded(loaded) if embedded else ()),
        *_evaluator_problems(loaded),
        *_pattern_problems(loaded),
        *_name_problems(loaded),
    ]
    return CheckedJob(path, loaded, tuple(found))


def require_job(path: Path) -> LoadedJob:
    """Return the job, or raise `JobError` with every problem that keeps it from running."""
    checked = check_job(path)
    if checked.loaded is None or checked.errors:
        raise JobError("\n".join(map(str, checked.errors)), checked.errors)
    return checked.loaded


def _assertion_problems(loaded: LoadedJob) -> list[Problem]:
    found = []
    for index, assertion in enumerate(loaded.job.assertions):
        try:
            if isinstance(assertion, ExpressionAssertion):
                parse(assertion.expression)
            elif isinstance(assertion, CypherAssertion):
                cypher_guard.check_read_only(assertion.cypher)
        except ExpressionError as error:
            path = ("assertions", index, "expression")
            found.append(
                _problem(loaded, path, assertion.model_dump()["expression"], error.message, error.column)
            )
        except QueryError as error:
            path = ("assertions", index, "cypher")
            found.append(
                _problem(loaded, path, assertion.model_dump()["cypher"], error.message, error.column)
            )
    return found


def _setup_problems(loaded: LoadedJob) -> list[Problem]:
    found = []
    for index, setup in enumerate(loaded.job.setups):
        try:
            cypher_guard.check_setup(setup.cypher)
        except QueryError as error:
            found.append(
                _problem(loaded, ("setups", index, "cypher"), setup.cypher, error.message, error.column)
            )
    return found


def _refused_by_embedded(loaded: LoadedJob) -> list[Problem]:
    """Return what Neo4j would answer and the embedded graph refuses, as warnings."""
    texts: list[tuple[FieldPath, str]] = [
        (("assertions", index, "cypher"), assertion.cypher)
        for index, assertion in enumerate(loaded.job.assertions)
        if isinstance(assertion, CypherAssertion)
    ]
    texts += [(("setups", index, "cypher"), setup.cypher) for index, setup in enumerate(loaded.job.setups)]
    found = []
    for path, text in texts:
        try:
            cypher_guard.check_setup(text)  # what is refused everywhere has been said
        except QueryError:
            continue
        try:
            cypher_guard.check_embedded(text)
        except QueryError as error:
            message = f"refused unless Neo4j is set: {error.message}"
            problem = _problem(loaded, path, text, message, error.column)
            found.append(replace(problem, severity="warning"))
    return found


def _evaluator_problems(loaded: LoadedJob) -> list[Problem]:
    job, found = loaded.job, []
    if job.evaluator.kind == "scripted" and not job.evaluator.lines:
        message = "a scripted evaluator needs lines to say"
        found.append(_problem(loaded, ("evaluator", "kind"), "", message))
    for index, line in enumerate(job.evaluator.lines):
        if line.fact is not None and line.fact > len(job.facts):
            message = f"there is no fact {line.fact}; the job has {len(job.facts)}"
            found.append(_problem(loaded, ("evaluator", "lines", index, "fact"), "", message))
    if job.scorer.kind == "rules":
        for index, task in enumerate(job.tasks):
            if not task.rules:
                message = "the rules judge needs rules for every task"
                found.append(_problem(loaded, ("tasks", index), "", message))
    return found


def _pattern_problems(loaded: LoadedJob) -> list[Problem]:
    patterns: list[tuple[FieldPath, str]] = [
        (("evaluator", "lines", index, "when"), line.when)
        for index, line in enumerate(loaded.job.evaluator.lines)
        if line.when is not None
    ]
    for number, task in enumerate(loaded.job.tasks):
        patterns += [
            (("tasks", number, "rules", i, "pattern"), rule.pattern) for i, rule in enumerate(task.rules)
        ]
    return [
        _problem(loaded, path, pattern, problem)
        for path, pattern in patterns
        if (problem := pattern_problem(pattern)) is not None
    ]


def _name_problems(loaded: LoadedJob) -> list[Problem]:
    """Return what is wrong with the names of prompts and of the agent's protocol."""
    job, found = loaded.job, []
    prompts = (
        ("evaluator", job.evaluator.kind, job.evaluator.prompt),
        ("scorer", job.scorer.kind, job.scorer.prompt),
    )
    for part, kind, name in prompts:
        try:
            if kind == "llm":
                find_prompt(name, loaded.path.parent)
        except UsageError as error:
            found.append(_problem(loaded, (part, "prompt"), "", str(error)))
    named: tuple[tuple[plugins.Group, FieldPath, str, str], ...] = (
        ("agents", ("target", "protocol"), "protocol", job.target.protocol),
        ("evaluators", ("evaluator", "kind"), "kind of evaluator", job.evaluator.kind),
        ("judges", ("scorer", "kind"), "kind of judge", job.scorer.kind),
    )
    for group, path, what, name in named:
        known = (*plugins.BUILT_IN[group], *(plugin.name for plugin in plugins.installed(group)))
        if name not in known:
            message = f"there is no {what} `{name}`; known are: {', '.join(known)}"
            found.append(_problem(loaded, path, "", message))
    return found


def _problem(loaded: LoadedJob, path: FieldPath, text: str, message: str, column: int = 0) -> Problem:
    place = loaded.place(path)
    line, at = place.inside(text, column) if column else (place.line, place.column)
    return Problem(clean_line(message), clean_line(str(loaded.path)), line, at, show_path(path))
