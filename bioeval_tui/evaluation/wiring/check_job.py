"""Check a whole job: its keys, its target, and every expression, query and pattern in it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

from jinja2 import TemplateSyntaxError
from pydantic.alias_generators import to_camel

from bioeval_tui import plugins
from bioeval_tui.base.errors import (
    ExpressionError,
    ForbiddenQueryError,
    JobError,
    Problem,
    QueryError,
    UsageError,
)
from bioeval_tui.base.patterns import is_always_found, pattern_problem
from bioeval_tui.base.settings import Settings
from bioeval_tui.base.text import clean_line, clean_value, shorten
from bioeval_tui.base.yaml_positions import Path as FieldPath, YamlDocument, read_yaml, show_path
from bioeval_tui.evaluation.asserted_conditions import constant, parse_where
from bioeval_tui.evaluation.engine.interface import EngineSpec
from bioeval_tui.evaluation.wiring import persona_checks, tool_checks
from bioeval_tui.evaluation.wiring.case_table import CaseChoice
from bioeval_tui.evaluation.wiring.cases import CaseJob, Cases, more_than_a_run_has
from bioeval_tui.evaluation.wiring.participants import Participants
from bioeval_tui.evaluation.wiring.placebo import (
    control_problem,
    placebo_hints,
    text_problems,
    unused_placebo,
)
from bioeval_tui.evaluation.wiring.records import url_wrong
from bioeval_tui.expressions import parse
from bioeval_tui.fhir import paths
from bioeval_tui.fhir.queries import check_write, parse_query
from bioeval_tui.graphs.cypher import asks_nothing, check_read_only, check_setup
from bioeval_tui.graphs.graphqlite import check_embedded
from bioeval_tui.guards import NOT_LOOKED_FOR
from bioeval_tui.jobs.filling import has_placeholders
from bioeval_tui.jobs.loading import (
    MAX_BYTES,
    MAX_PROBLEMS,
    NEEDS,
    LoadedJob,
    job_snapshot,
    load_job,
)
from bioeval_tui.jobs.models import KINDS, EvaluationJob, JobTask, ModelOptions
from bioeval_tui.jobs.sandbox import Sandbox
from bioeval_tui.languages import LANGUAGES, language_of
from bioeval_tui.languages.english import ENGLISH
from bioeval_tui.peers import python_code
from bioeval_tui.peers.models.prompting import find_prompt
from bioeval_tui.plugins import AgentProtocol
from bioeval_tui.record.cases import job_part


class JobSource:
    """The content of a job file, valid or not. Values of the wrong type count as absent."""

    def __init__(
        self, path: Path, document: YamlDocument, filled: dict[str, Any] | None = None
    ) -> None:
        """`filled` is the file's content, filled in from a case."""
        self.path = path
        self.document = document
        value = filled
        if filled is None:
            value = clean_value(document.value)
        self.data: dict[str, Any] = value if isinstance(value, dict) else {}

    def part(self, name: str) -> dict[str, Any]:
        """Return the mapping of that name."""
        return job_part(self.data, name)

    def problem(self, path: FieldPath, message: str, text: str = "", column: int = 0) -> Problem:
        """Return a problem of the field; `column` counts in its `text`, from 1."""
        place = self.document.place(path)
        line, at = place.line, place.column
        if column:
            line, at = place.inside(text, column)
        return Problem(clean_line(message), clean_line(str(self.path)), line, at, show_path(path))

    def warning(self, path: FieldPath, message: str, text: str = "", column: int = 0) -> Problem:
        """Return a problem that does not keep the job from running."""
        return replace(self.problem(path, message, text, column), severity="warning")


def indexed_mappings(value: object) -> list[tuple[int, dict[str, Any]]]:
    """Return the mappings of a list, each with its index."""
    if not isinstance(value, list):
        return []
    return [(index, item) for index, item in enumerate(value) if isinstance(item, dict)]


_RESERVED = ("model", "messages", "input", "stream")
"""Keys of a request's body that the program itself sets."""


def target_problems(source: JobSource, code: Sequence[Path]) -> list[Problem]:
    """Return what is wrong with the job's agent, seeds and tools."""
    target = source.part("target")
    try:
        protocol = plugins.agent_protocol(str(target.get("protocol", "rest")))
    except UsageError as error:
        return [source.problem(("target", "protocol"), str(error))]
    problems: list[Problem] = []
    if protocol is not None:
        problems += _seed_problems(source, protocol)
        problems += _unused_keys(source, target, protocol)
        problems += _state_problems(source, target, protocol)
    return [
        *problems,
        *_function_problems(source, target, protocol, code),
        *_interpreter_problems(source, target, protocol, code),
        *_template_problems(source, target),
        *_option_problems(source, protocol),
    ]


def given_agent_problems(source: JobSource) -> list[Problem]:
    """Return which parts of the job don't work with a function as the agent."""
    protocol = plugins.agent_protocol("python")
    if protocol:
        return list(_seed_problems(source, protocol))
    return []


def _seed_problems(source: JobSource, protocol: AgentProtocol) -> Iterator[Problem]:
    """Yield problems with text seeds for an agent that has no knowledge service."""
    if "texts" in protocol.takes:
        return
    where = "in a `conversation` seed"
    if protocol.has("systemPrompt"):
        where = f"in `target.systemPrompt`, or {where}"
    message = f"an agent that speaks {protocol.name} does not accept texts; tell it {where}"
    for index, seed in indexed_mappings(source.data.get("seeds")):
        if "text" in seed:
            yield source.problem(("seeds", index, "text"), message)


def _unused_keys(
    source: JobSource, target: dict[str, Any], protocol: AgentProtocol
) -> Iterator[Problem]:
    """Yield a warning for each key that an agent of this protocol does not know."""
    if protocol.uses is None:
        return
    for key in target:
        if protocol.has(key) or not any(known.has(key) for known in plugins.PROTOCOLS):
            continue  # few jobs have such a key, and so import the bundled protocols
        own = plugins.own_agent_protocols()
        used = ", ".join(known.name for known in own if known.has(key))
        message = f"an agent that speaks {protocol.name} does not use this key; it is for {used}"
        yield source.warning(("target", key), message)


def _state_problems(
    source: JobSource, target: dict[str, Any], protocol: AgentProtocol
) -> Iterator[Problem]:
    """Yield a warning for each expression that needs a state which this agent cannot provide."""
    if protocol.tells.get("state") != plugins.BY_URL or target.get("objectContextUrl"):
        return
    message = (
        f"objectContext is null: the state of an agent that speaks {protocol.name} is read at"
        " target.objectContextUrl"
    )
    for index, item in indexed_mappings(source.data.get("assertions")):
        if "objectContext" in str(item.get("expression")):
            yield source.warning(("assertions", index, "expression"), message)


def model_option_problems(source: JobSource, part: str) -> Iterator[Problem]:
    """Yield what is wrong with the options of the part's model."""
    options = source.part(part)
    body, responses = options.get("extraBody"), options.get("api") == "responses"
    taken = set(_RESERVED)
    if options.get("tools"):
        taken.add("tools")
    if not isinstance(body, dict):
        body = {}
    for key in body:
        if key in taken:
            yield source.problem((part, "extraBody", key), "the program itself fills this in")
        elif key in ModelOptions.model_fields and to_camel(key) in options:
            yield source.problem(
                (part, "extraBody", key), f"{part}.{to_camel(key)} sets this already"
            )
    for key in ("seed", "stop"):
        if responses and key in options:
            message = (
                f"OpenAI's Responses API has no {key}; servers that do not know it refuse every"
                " request"
            )
            yield source.warning((part, key), message)


def _function_problems(
    source: JobSource, target: dict[str, Any], protocol: AgentProtocol | None, code: Sequence[Path]
) -> Iterator[Problem]:
    """Yield the Python functions that are missing or cannot be found. Nothing is imported."""
    named: list[tuple[tuple[str | int, ...], Any]] = [
        (("target", "function"), target.get("function"))
    ]
    if protocol is not None and protocol.is_function and not target.get("function"):
        message = "an agent in Python needs the key `function`: its function, as module:function"
        yield source.problem(("target", "protocol"), message)
    named += [
        (("target", "tools", index, "function"), tool.get("function"))
        for index, tool in indexed_mappings(target.get("tools"))
    ]
    for path, reference in named:
        if isinstance(reference, str) and ":" in reference:
            elsewhere = path == ("target", "function") and bool(target.get("python"))
            try:
                python_code.locate(reference, code, elsewhere=elsewhere)
            except UsageError as error:
                yield source.problem(path, str(error))


def _interpreter_problems(
    source: JobSource, target: dict[str, Any], protocol: AgentProtocol | None, code: Sequence[Path]
) -> Iterator[Problem]:
    """Yield what is wrong with the interpreter for the agent's function. It is not started."""
    named = target.get("python")
    if isinstance(named, str) and protocol is not None and protocol.is_function:
        try:
            python_code.interpreter(named, source.path.parent, code)
        except UsageError as error:
            yield source.problem(("target", "python"), str(error))


def _template_problems(source: JobSource, target: dict[str, Any]) -> Iterator[Problem]:
    for index, tool in indexed_mappings(target.get("tools")):
        template = tool.get("template")
        try:
            if isinstance(template, str):
                Sandbox().parse(template)
        except (TemplateSyntaxError, RecursionError) as error:
            what = "too deep"
            if isinstance(error, TemplateSyntaxError):
                what = f"line {error.lineno}: {error.message}"
            yield source.problem(("target", "tools", index, "template"), f"no template: {what}")


def _option_problems(source: JobSource, protocol: AgentProtocol | None) -> Iterator[Problem]:
    """Yield the options that have no effect, because their part is not a plug-in."""
    without: list[str] = []
    if protocol is not None and protocol.uses is not None and not protocol.has("options"):
        without.append(protocol.name)
    for part, key, usual, own in (
        ("target", "protocol", "rest", without),
        ("evaluator", "kind", "llm", plugins.BUILT_IN["evaluators"]),
        ("scorer", "kind", "llm", plugins.BUILT_IN["judges"]),
    ):
        name = source.part(part).get(key, usual)
        if source.part(part).get("options") and name in own:
            message = f"options are for plug-ins; {part}.{key} {name} takes none"
            yield source.problem((part, "options"), message)


UNRESTRICTED = (
    "; where you trust the job, `bioeval-tui run --unrestricted-setups` passes its setups to Neo4j"
    " as they are"
)
EVERY_CASE = CaseChoice()


@dataclass(frozen=True, slots=True)
class CheckedJob:
    """A job file, its cases, and everything that is wrong with them; `loaded` is None when it
    cannot be run.
    """

    path: Path
    loaded: LoadedJob | None
    problems: tuple[Problem, ...]
    cases: tuple[CaseJob, ...] = ()
    case_count: int = 0
    """The number of selected cases, even if only the first ones were checked."""
    hints: tuple[Problem, ...] = ()
    """What is probably not meant, though nothing is wrong with it."""

    @property
    def errors(self) -> tuple[Problem, ...]:
        """The problems that keep it from running."""
        return tuple(problem for problem in self.problems if problem.severity == "error")

    def required(self) -> LoadedJob:
        """Return the job, or raise `JobError` with every problem that keeps it from running."""
        if self.loaded is None or self.errors:
            raise JobError("\n".join(map(str, self.errors)), self.errors)
        return self.loaded


def check_job(
    path: Path,
    *,
    embedded: bool = False,
    unrestricted_setups: bool = False,
    code: Sequence[Path] = (),
    agent_is_given: bool = False,
    choice: CaseChoice = EVERY_CASE,
    settings: Settings | None = None,
) -> CheckedJob:
    """Load and check a job and its cases; every problem is listed, with file, line, column and
    field.

    With `unrestricted_setups`, setups are not checked. Python functions are searched in installed
    packages and in the folders of `code`. If a function `agent_is_given`, the job's own agent is
    ignored. With the `embedded` graph, queries that it rejects give warnings. A key that is missing
    or of the wrong kind hides no problem of an expression elsewhere in the file. With `settings`,
    which have the models that a job does not name, there is a hint on a judge of the agent's or the
    user's model family.
    """
    find_problems = partial(
        _problems,
        embedded=embedded,
        unrestricted_setups=unrestricted_setups,
        code=code,
        agent_is_given=agent_is_given,
    )
    try:
        loaded = load_job(path)
    except JobError as error:
        found = list(error.problems)
        if unloaded := _read_invalid(path):
            found += find_problems(unloaded)
        return CheckedJob(path, None, _sorted_by_place(found))
    source = JobSource(loaded.path, loaded.document)
    try:
        cases = Cases(loaded, choice)
    except JobError as error:
        problems = find_problems(source, with_cases=True)
        return CheckedJob(
            path, loaded, _sorted_by_place([*loaded.problems, *problems, *error.problems])
        )
    problems = find_problems(source, with_cases=bool(cases.jobs or cases.problems))
    problems += _placebo_problems(source, loaded.job)
    problems += [source.problem(*wrong) for wrong in persona_checks.wrong_facts(loaded.job, cases)]
    problems += [source.warning(*wrong) for wrong in persona_checks.ambiguous(loaded.job, cases)]
    problems += [source.warning(*line) for line in persona_checks.lines_without_value(cases)]
    _tell_of_cases(loaded, cases, unrestricted_setups)
    return CheckedJob(
        path,
        loaded,
        _sorted_by_place([*loaded.problems, *problems, *cases.problems]),
        cases.jobs,
        cases.count,
        (
            *_guessed_facts(source),
            *_rules_read_words(source),
            *_silence_passes(source, loaded.job),
            *(source.warning(*hint) for hint in placebo_hints(loaded.job)),
            *_nothing_to_split(source),
            *_more_cases_than_a_run_has(source, loaded.job, cases),
            *_judge_family(source, loaded, settings),
        ),
    )


def _problems(
    source: JobSource,
    *,
    embedded: bool,
    unrestricted_setups: bool,
    code: Sequence[Path],
    agent_is_given: bool,
    with_cases: bool = False,
) -> list[Problem]:
    """Return what is wrong with a job (`check_job`).

    `with_cases`: texts with gaps are looked at as its cases fill them.
    """
    problems = [
        *_text_problems(source, unrestricted_setups, with_cases),
        *_fhir_problems(source),
        *_unfailable(source),
        *_other_tools(source),
    ]
    if embedded:
        problems += _embedded_problems(source)
    if not with_cases:
        problems += [source.problem(*wrong) for wrong in _script_problems(source)]
        problems += [source.problem(*wrong) for wrong in text_problems(source.data)]
    if agent_is_given:
        problems += given_agent_problems(source)
    else:
        problems += target_problems(source, code)
    problems += model_option_problems(source, "evaluator")
    problems += model_option_problems(source, "scorer")
    if not agent_is_given:
        problems += model_option_problems(source, "target")
    problems += _language_problems(source)
    problems += _persona_problems(source)
    problems += _failing_tools(source)
    problems += _drawn_without_seed(source)
    problems += _unpublished_keys(source)
    problems += _name_problems(source, agent_is_given)
    return problems[:MAX_PROBLEMS]


def _tell_of_cases(loaded: LoadedJob, cases: Cases, unrestricted_setups: bool) -> None:
    """Look at what each case fills in, and tell its row of what is wrong there."""
    for case in cases.jobs:
        filled = JobSource(loaded.path, loaded.document, job_snapshot(case.job))
        for text in _texts(filled, unrestricted_setups):
            if text.path not in cases.placeholders:
                continue
            if (wrong := text.wrong()) is not None:
                cases.tell(case.row, text.path, f"{wrong[0]}: {shorten(text.text, 200)}")
            elif never := _never_decides(filled, text):
                cases.tell(case.row, text.path, never, severity="warning")
        for field, message in (*_script_problems(filled), *text_problems(filled.data)):
            cases.tell(case.row, field, message)
        for field, refused, where in _wrong_writes(filled):
            if any(place[:2] == field[:2] for place in cases.placeholders):
                cases.tell(case.row, field, f"{refused.message}: {shorten(where, 200)}")


def _judge_family(
    source: JobSource, loaded: LoadedJob, settings: Settings | None
) -> Iterator[Problem]:
    """Yield that the judge is of the agent's or the user's model family, as far as the job and the
    settings name them.
    """
    if settings is None:
        return
    who = Participants(loaded.job, loaded.path.parent, EngineSpec(runs=()), None, settings)
    if note := who.judge_family():
        yield source.warning(("scorer", "model"), note)


RULES_READ_WORDS = (
    "rules find words, they do not read meaning as a model does (kind: llm): right in other words"
    " is missed, and so is wrong; give the weight to assertions on what the agent does"
)


def _rules_read_words(source: JobSource) -> Iterator[Problem]:
    """Yield what the rules of a job cannot tell."""
    if source.part("scorer").get("kind") == "rules":
        yield source.problem(("scorer", "kind"), RULES_READ_WORDS)


def _silence_passes(source: JobSource, job: EvaluationJob) -> Iterator[Problem]:
    """Yield the conditions in which an agent that says nothing passes every task by its rules."""
    if job.scorer.kind != "rules":
        return
    for condition in job.held_in:
        tasks = job.judged_in(condition.name).values()
        if tasks and all(_score_of_silence(t, condition.name) > t.pass_above for t in tasks):
            message = (
                f"{condition.title}: an agent that says nothing passes every task, since most of"
                " its rules' `weight` is `absent`; give more to rules for what is right to say"
            )
            yield source.problem(("rubric" if job.rubric else "tasks",), message)


def _score_of_silence(task: JobTask, condition: str) -> float:
    rules = [rule for rule in task.rules if rule.applies(condition)]
    met = [rule for rule in rules if rule.absent and not is_always_found(rule.pattern)]
    return sum(rule.weight for rule in met) / sum(rule.weight for rule in rules) if met else 0.0


def _nothing_to_split(source: JobSource) -> Iterator[Problem]:
    """Yield that `itemsPerRequest` has no effect, because no model judges."""
    scorer = source.part("scorer")
    kind = scorer.get("kind", "llm")
    if kind != "llm" and scorer.get("itemsPerRequest") is not None:
        message = (
            "no effect: it is about the requests to a model as judge, and the job's judge is"
            f" `{clean_line(str(kind), 60)}`"
        )
        yield source.problem(("scorer", "itemsPerRequest"), message)


def _more_cases_than_a_run_has(
    source: JobSource, job: EvaluationJob, cases: Cases
) -> Iterator[Problem]:
    """Yield that a run cannot have all cases."""
    if cases.jobs and (message := more_than_a_run_has(cases.jobs, job)):
        yield source.problem(("cases",), message)


_QUOTED = re.compile(r"""["']([^"'\\\n]{1,100})["']""")


def _guessed_facts(source: JobSource) -> Iterator[Problem]:
    """Yield the assertions of both conditions that ask for words which only a fact says: withheld,
    they can only be guessed.
    """
    facts = [str(fact) for fact in source.data.get("facts") or () if isinstance(fact, str)]
    lines = [
        line
        for _, line in indexed_mappings(source.part("evaluator").get("lines"))
        if line.get("fact") is None
    ]
    others = {
        key: source.data.get(key)
        for key in ("target", "tasks", "greetings", "seeds", "setups", "personas")
    }
    known = " ".join(_leaves([others, lines])).casefold()
    for index, item in indexed_mappings(source.data.get("assertions")):
        if item.get("only") is not None:
            continue
        asked = item.get("expression") or item.get("cypher") or item.get("path")
        texts = [str(asked or "")]
        matches = chain.from_iterable(map(_QUOTED.finditer, texts))
        words = [match[1] for match in matches]
        words += _leaves([item.get("expected"), item.get("toolCalls")])
        for word in dict.fromkeys(words):
            if (number := _find_word(word, facts)) and not _find_word(word, [known]):
                yield source.warning(
                    ("assertions", index),
                    f"only fact {number} says “{shorten(clean_line(word), 60)}”: where the facts"
                    " are withheld, an agent can only guess it; `only: supplied` leaves the"
                    " assertion out there",
                )
                break


def _leaves(value: Any) -> list[str]:
    """Return the texts and numbers in a value."""
    if isinstance(value, dict):
        return _leaves(list(value.values()))
    if isinstance(value, list | tuple):
        return list(chain.from_iterable(map(_leaves, value)))
    if value is None or isinstance(value, bool):
        return []
    return [str(value)]


def _find_word(word: str, texts: Sequence[str]) -> int | None:
    """Return the number of the first text that has a word, as a whole one; None if none has."""
    whole = re.compile(rf"(?<!\w){re.escape(word.casefold())}(?!\w)")
    return next((n for n, text in enumerate(texts, start=1) if whole.search(text.casefold())), None)


def _read_invalid(path: Path) -> JobSource | None:
    """Return the readable parts of an invalid job file; None if it is not YAML."""
    try:
        if not path.is_file() or path.stat().st_size > MAX_BYTES:
            return None  # a pipe or a device, perhaps: reading it might never end
        document = read_yaml(path.read_text("utf-8-sig"), clean_line(str(path)), NEEDS)
    except (OSError, UnicodeDecodeError):
        return None
    return JobSource(path, document)


def _sorted_by_place(problems: list[Problem]) -> tuple[Problem, ...]:
    return tuple(sorted(problems, key=lambda problem: (problem.line, problem.column)))


@dataclass(frozen=True, slots=True)
class _Text:
    """A text of a job that a part of the program must be able to read."""

    path: FieldPath
    text: str
    read: Callable[[str], object]

    def wrong(self) -> tuple[str, int] | None:
        """Return the problem and its column, or None."""
        try:
            self.read(self.text)
        except (ExpressionError, QueryError) as error:
            # Only of a setup may a user allow what is forbidden.
            if self.path[0] == "setups" and isinstance(error, ForbiddenQueryError):
                return error.message + UNRESTRICTED, error.column
            return error.message, error.column
        return None


def _texts(source: JobSource, unrestricted_setups: bool) -> Iterator[_Text]:
    """Yield the job's expressions, queries and patterns."""
    published = source.data.get("compat") == "embabel"

    def some(
        path: FieldPath, item: dict[str, Any], key: str, read: Callable[[str], object]
    ) -> Iterator[_Text]:
        # That one must not be empty is already said.
        if isinstance(text := item.get(key), str) and text:
            yield _Text((*path, key), text, read)

    for index, item in indexed_mappings(source.data.get("assertions")):
        path: FieldPath = ("assertions", index)
        yield from some(path, item, "expression", lambda text: parse(text, published=published))
        yield from some(path, item, "cypher", check_read_only)
        yield from some(path, item, "fhir", parse_query)
        if "fhir" in item and not paths.lacks_library():
            given = _given(item["fhir"])
            yield from some(path, item, "path", partial(paths.check_path, given=given))
        asked = item.get("toolCalls")
        if not isinstance(asked, dict):
            continue
        for key in ("calls", "mustCall", "mustNotCall"):
            for number, call in indexed_mappings(asked.get(key)):
                yield from some((*path, "toolCalls", key, number), call, "where", parse_where)
    for index, item in indexed_mappings(source.data.get("setups")):
        if not unrestricted_setups:
            yield from some(("setups", index), item, "cypher", check_setup)
    for index, line in indexed_mappings(source.part("evaluator").get("lines")):
        yield from some(("evaluator", "lines", index), line, "when", _read_pattern)
    for part in ("tasks", "rubric"):
        for number, judged in indexed_mappings(source.data.get(part)):
            for index, rule in indexed_mappings(judged.get("rules")):
                yield from some((part, number, "rules", index), rule, "pattern", _read_pattern)


def _given(query: object) -> str:
    """Return the type of what a query of a FHIR server gives; empty if the query is wrong."""
    try:
        return parse_query(str(query)).given
    except QueryError:
        return ""


def _read_pattern(pattern: str) -> None:
    if (problem := pattern_problem(pattern)) is not None:
        raise ExpressionError(problem)


def _text_problems(
    source: JobSource, unrestricted_setups: bool, with_cases: bool
) -> Iterator[Problem]:
    for each in _texts(source, unrestricted_setups):
        if with_cases and has_placeholders(each.text):
            continue
        if (wrong := each.wrong()) is not None:
            message, column = wrong
            yield source.problem(each.path, message, each.text, column)


def _never_decides(source: JobSource, checked: _Text) -> str:
    """Return why a criterion is met, or missed, by any agent, as a sentence; empty if it is not."""
    part, at, *_, key = checked.path
    criteria = dict(indexed_mappings(source.data.get(str(part))))
    shown = f"`{shorten(clean_line(checked.text), 60)}`"
    if key == "pattern" and part in ("tasks", "rubric") and is_always_found(checked.text):
        rule = dict(indexed_mappings(criteria[int(at)].get("rules")))[int(checked.path[3])]
        met = "can never be met" if rule.get("absent") else "cannot fail"
        return (
            f"{met}: {shown} is found in messages that have no letter in common, such as “no” and"
            " “Hm.”"
        )
    if key == "expression" and (value := constant(parse(checked.text))) is not None:
        never = "cannot fail" if value else "can never pass"
        return f"{never}: {shown} is {str(value).lower()} whatever the agent does"
    if key == "cypher" and part == "assertions" and asks_nothing(checked.text):
        return (
            f"cannot fail, or never pass: {shown} asks nothing of the graph, so its result is"
            " always the same"
        )
    if part == "assertions" and key == "path" and paths.asks_nothing(checked.text):
        return (
            f"cannot fail, or never pass: {shown} asks nothing of what the query returns, so its"
            " result is always the same"
        )
    return ""


def _fhir_problems(source: JobSource) -> Iterator[Problem]:
    """Yield what is wrong with the job's FHIR server and with what its setups write to it."""
    for part in ("setups", "assertions"):
        for index, item in indexed_mappings(source.data.get(part)):
            if "fhir" in item and source.data.get("fhir") is None:
                message = "the job names no FHIR server: it needs the key `fhir` with its `url`"
                yield source.problem((part, index, "fhir"), message)
    asked = [
        index
        for index, item in indexed_mappings(source.data.get("assertions"))
        if "fhir" in item and isinstance(item.get("path"), str)
    ]
    if asked and (lacking := paths.lacks_library()):
        # The job may be right: it cannot run here, which `run` says before it starts.
        yield source.warning(("assertions", asked[0], "path"), f"not checked: {lacking}")
    url = source.part("fhir").get("url")
    if isinstance(url, str) and (wrong := url_wrong(url)):
        yield source.problem(("fhir", "url"), wrong)
    for field, error, text in _wrong_writes(source):
        yield source.problem(field, error.message, text, error.column)


def _wrong_writes(source: JobSource) -> Iterator[tuple[FieldPath, QueryError, str]]:
    """Yield the paths of setups that cannot write what they name; one with a placeholder is left to
    its cases.
    """
    for index, item in indexed_mappings(source.data.get("setups")):
        write = item.get("fhir")
        if not isinstance(write, dict) or has_placeholders(str(write)):
            continue
        method, where, resource = (write.get(key) for key in ("method", "path", "resource"))
        if method not in ("PUT", "POST", "DELETE") or not isinstance(where, str) or not where:
            continue
        if method != "DELETE" and not isinstance(resource, dict):
            continue
        try:
            check_write(method, where, resource)
        except QueryError as error:
            yield ("setups", index, "fhir", "path"), error, where


def _unfailable(source: JobSource) -> Iterator[Problem]:
    """Yield a warning for each criterion that no agent can fail, or none can meet."""
    for each in _texts(source, unrestricted_setups=True):
        if has_placeholders(each.text) or each.wrong() is not None:
            continue
        if message := _never_decides(source, each):
            yield source.warning(each.path, message)
    for index, item in indexed_mappings(source.data.get("assertions")):
        asked = item.get("toolCalls")
        if (
            isinstance(asked, dict)
            and asked.get("calls") == []
            and asked.get("match") == "superset"
        ):
            rest = ("mustCall", "mustNotCall", "order", "maxCalls", "noErrors")
            if not any(asked.get(key) for key in rest):
                message = "cannot fail: any calls are a superset of none"
                yield source.warning(("assertions", index, "toolCalls", "calls"), message)


def _other_tools(source: JobSource) -> Iterator[Problem]:
    """Yield a warning for each tool of an assertion that the job does not give its agent: it is not
    called, whatever happens.

    An agent of another protocol than openai may have tools of its own.
    """
    target = source.part("target")
    tools = [str(tool.get("name")) for _, tool in indexed_mappings(target.get("tools"))]
    if not tools or target.get("protocol") != "openai":
        return
    for index, item in indexed_mappings(source.data.get("assertions")):
        asked = item.get("toolCalls")
        if not isinstance(asked, dict):
            continue
        for key in ("calls", "mustCall", "mustNotCall", "order"):
            listed = asked.get(key)
            if not isinstance(listed, list):
                continue
            for number, call in enumerate(listed):
                name = call.get("name") if isinstance(call, dict) else call
                if isinstance(name, str) and name not in tools and not has_placeholders(name):
                    close = get_close_matches(name, tools, 1, 0.6)
                    shown = shorten(clean_line(name), 60)
                    message = (
                        f"`{shown}` is not one of `target.tools`, so the agent is not offered it"
                    )
                    more = f"; did you mean {close[0]}?" if close else f": {', '.join(tools)}"
                    yield source.warning(
                        ("assertions", index, "toolCalls", key, number), message + more
                    )


def _failing_tools(source: JobSource) -> Iterator[Problem]:
    """Yield a warning for each failure of a tool that does nothing."""
    for path, message in tool_checks.failures_without_effect(source.part("target").get("tools")):
        yield source.warning(path, message)


def _drawn_without_seed(source: JobSource) -> Iterator[Problem]:
    """Yield a warning if what is held back or fails is drawn anew in each run."""
    shares = list(tool_checks.drawn_shares(source.data))
    if shares and source.data.get("seed") is None:
        message = "is drawn anew in each run: give `seed:`, such as that of a run in its report"
        yield source.warning(shares[0], message)


def _persona_problems(source: JobSource) -> Iterator[Problem]:
    """Yield a warning if personas, or their rules, make no difference."""
    evaluator, personas = source.part("evaluator"), source.data.get("personas")
    kind = evaluator.get("kind", "llm")
    for path, message in persona_checks.without_effect(personas, kind):
        yield source.warning(path, message)
    differ = "persona." in str(evaluator.get("lines")) or persona_checks.change_facts(personas)
    if personas and kind == "scripted" and not differ:
        message = (
            "a scripted user says the same lines for every persona; use lines with {{ persona.name"
            " }}, or a model"
        )
        yield source.warning(("personas",), message)


_UNPUBLISHED = {
    "tasks": ("only", "withheldCriteria", "weight"),
    "setups": ("fhir",),
    "assertions": (
        "only",
        *(kind for kind in KINDS["assertions"] if kind not in ("expression", "cypher")),
    ),
}
"""What changes a score, and the published program does not know."""


def _unpublished_keys(source: JobSource) -> Iterator[Problem]:
    """Yield a warning for each key of a job with `compat: embabel` by which its score is not the
    published one.
    """
    if source.data.get("compat") != "embabel":
        return
    paths: list[FieldPath] = [
        (key,) for key in ("rubric", "conditions", "controls") if source.data.get(key)
    ]
    for part, keys in _UNPUBLISHED.items():
        for index, item in indexed_mappings(source.data.get(part)):
            paths += [(part, index, key) for key in keys if item.get(key) is not None]
    for path in paths:
        message = (
            f"embabel-agent-eval does not know `{path[-1]}`, so with compat: embabel the score is"
            " still another"
        )
        yield source.warning(path, message)


def _language_problems(source: JobSource) -> Iterator[Problem]:
    """Yield a warning if a model plays a user in whose language the guards look for less than in
    English.
    """
    evaluator = source.part("evaluator")
    if evaluator.get("kind", "llm") != "llm" or evaluator.get("guards", "mark") in ("off", False):
        return
    foreign = [
        item["language"]
        for _, item in indexed_mappings(source.data.get("personas"))
        if item.get("language")
    ]
    if spoken := [str(language) for language in foreign if str(language).lower() != "english"]:
        known = any(spoken[0].lower() in (one.name.lower(), one.code) for one in LANGUAGES)
        message = f"a persona speaks {spoken[0]}, in which {NOT_LOOKED_FOR[known]} (docs/guards.md)"
        yield source.warning(("personas",), message)
        return
    listed = [item.get("task") for _, item in indexed_mappings(source.data.get("tasks"))]
    texts = [text for text in listed if isinstance(text, str)]
    # One foreign task among English ones is as little understood as all.
    for what, text in [
        ("the tasks are", "\n".join(texts)),
        *(("a task is", text) for text in texts),
    ]:
        language = language_of(text)
        if language is not None and language != ENGLISH:
            looked_for = NOT_LOOKED_FOR[language.rules is not None]
            yield source.warning(
                ("tasks",), f"{what} in {language.name}, in which {looked_for} (docs/guards.md)"
            )
            return


def _embedded_problems(source: JobSource) -> Iterator[Problem]:
    """Yield warnings for queries that Neo4j would answer but the embedded graph rejects."""
    for part in ("setups", "assertions"):
        for index, item in indexed_mappings(source.data.get(part)):
            text = item.get("cypher")
            if not isinstance(text, str):
                continue
            try:
                check_setup(text)
            except QueryError:
                continue  # what is refused everywhere has been said
            try:
                check_embedded(text)
            except QueryError as error:
                message = f"rejected unless Neo4j is configured: {error.message}"
                yield source.warning((part, index, "cypher"), message, text, error.column)


def _placebo_problems(source: JobSource, job: EvaluationJob) -> Iterator[Problem]:
    """Yield why a job cannot have the placebo that it asks for."""
    if job.controls and (why := control_problem(job)):
        yield source.problem(("controls",), why)
    elif job.controls and (unused := unused_placebo(job, source.path.parent)):
        yield source.warning(("evaluator", "prompt"), unused)


def _script_problems(source: JobSource) -> Iterator[tuple[FieldPath, str]]:
    """Yield what is missing for the script or the rules judge."""
    evaluator = source.part("evaluator")
    lines = evaluator.get("lines")
    if evaluator.get("kind") == "scripted" and not lines:
        yield ("evaluator", "kind"), "a scripted evaluator needs lines to say"
    for index, line in indexed_mappings(lines):
        for key in ("fact", "task"):
            number, known = line.get(key), source.data.get(f"{key}s")
            if isinstance(number, int) and isinstance(known, list) and number > len(known):
                yield (
                    ("evaluator", "lines", index, key),
                    f"there is no {key} {number}; the job has {len(known)}",
                )
    if source.part("scorer").get("kind") == "rules":
        part, what = "tasks", "task"
        if source.data.get("rubric"):
            part, what = "rubric", "item of the rubric"
        for index, item in indexed_mappings(source.data.get(part)):
            if not item.get("rules"):
                yield (part, index), f"the rules judge needs rules for every {what}"


def _name_problems(source: JobSource, agent_is_given: bool) -> Iterator[Problem]:
    """Yield what is wrong with the names of prompts, kinds and the agent's protocol."""
    for part in ("evaluator", "scorer"):
        name = source.part(part).get("prompt")
        try:
            if isinstance(name, str) and source.part(part).get("kind", "llm") == "llm":
                find_prompt(name, source.path.parent)
        except UsageError as error:
            yield source.problem((part, "prompt"), str(error))
    named: tuple[tuple[plugins.Group, str, str, str], ...] = (
        ("agents", "target", "protocol", "protocol"),
        ("evaluators", "evaluator", "kind", "kind of evaluator"),
        ("judges", "scorer", "kind", "kind of judge"),
    )
    for group, part, key, what in named:
        if part == "target" and agent_is_given:
            continue
        name = source.part(part).get(key)
        if isinstance(name, str) and name not in plugins.names(group):
            yield source.problem((part, key), plugins.no_such(group, name, what))
