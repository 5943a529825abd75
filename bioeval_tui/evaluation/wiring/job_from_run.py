"""A job from a failed conversation: it asks the same things, and asserts what went wrong, for the
user to edit.

Of a run of the user's own, it is the run's job: its agent, user, script and judge. A recording that
came from elsewhere may hold anybody's job, so that only what is said and checked is taken over
(`OF_STRANGERS`). What would reach into the user's graph, files, keys or network is left out, and
stands in comments.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import chain
from pathlib import Path
from typing import Any

import yaml

from bioeval_tui import plugins
from bioeval_tui.base.errors import UsageError
from bioeval_tui.base.text import clean, clean_line, shorten
from bioeval_tui.evaluation.wiring.participants import given_models
from bioeval_tui.guards import Known, asks_for, disclosed_facts
from bioeval_tui.jobs.loading import LEFT_OUT, job_snapshot, recorded_job
from bioeval_tui.jobs.models import RUBRIC_PROMPT, EvaluationJob, Persona, PersonaFactsConfig
from bioeval_tui.jobs.template import Answers
from bioeval_tui.languages import language_of
from bioeval_tui.languages.english import ENGLISH
from bioeval_tui.peers.goodbyes import without_signoff
from bioeval_tui.record.condition_names import Condition
from bioeval_tui.record.events import RunStarted, TaskScored
from bioeval_tui.record.masking import masking
from bioeval_tui.record.persona_facts import PersonaFacts
from bioeval_tui.record.reading import started_run
from bioeval_tui.record.runs import is_own
from bioeval_tui.record.state import ConversationState, RunState

LONGEST_ANSWER = 80
"""Most characters of criteria that are read as the expected answer itself, not as a description of
it.
"""
LONGEST_QUOTE = 200
"""Most characters of an answer that the job must not hear again."""
WIDTH = 110
_MASKED = (
    "# Each name that --redact lists is a word here, such as PATIENT_1. Where one stands in an"
    " address, or in what a\n# function, variable, protocol or model is called, write what is"
    " right."
)


def draft_job(recording: Path, runs_dir: Path, trial: int | None) -> str:
    """Return the commented YAML of a job that holds a failed conversation again.

    Args:
        recording: the recording of a run, held here or imported.
        runs_dir: the folder of the user's own runs.
        trial: the trial; by default, that of the conversation with the lowest score.

    Raises:
        RecordingError: the recording, or the job in it, cannot be read.
        UsageError: no conversation failed, or there is no such trial.
    """
    state, started, _ = started_run(recording, by_words=True)
    talk = _choose(state, trial)
    if talk is None:
        which = "no conversation"
        if trial is not None:
            which = f"no conversation in trial {trial}"
        raise UsageError(
            f"{started.run_id}: {which} has both messages and a failed task, assertion or answer;"
            " --trial N takes another one"
        )
    return _Draft(state, started, talk, own=is_own(recording, runs_dir)).text()


def _choose(state: RunState, trial: int | None) -> ConversationState | None:
    """Return the conversation with the lowest score, of equal ones one with the facts before one
    without them, and none of a placebo; one of a named trial need not have failed.
    """
    talks = [
        talk
        for talk in state.conversations.values()
        if any(map(_is_answer, talk.messages))
        and not state.condition(talk.key.condition).is_placebo
    ]
    if trial is not None:
        talks = [talk for talk in talks if talk.key.trial == trial]
        failed = [talk for talk in talks if _has_failed(talk)] or talks
    else:
        failed = [talk for talk in talks if _has_failed(talk)]

    def badness(talk: ConversationState) -> tuple[float, bool, int]:
        score = 1.0
        if talk.score and talk.score.score is not None:
            score = talk.score.score
        return score, state.condition(talk.key.condition).facts == "none", talk.key.trial

    return min(failed, key=badness, default=None)


def _is_answer(message: Any) -> bool:
    return message.role == "assistant" and bool(message.text.strip())


def _has_failed(talk: ConversationState) -> bool:
    if _agent_failed(talk) or any(check.status == "failed" for check in talk.final_checks.values()):
        return True
    if talk.verdict is None or talk.verdict.error:
        return False
    return any(each.outcome == "failed" for each in talk.verdict.tasks)


def _agent_failed(talk: ConversationState) -> bool:
    return talk.ended is not None and talk.ended.reason in ("agent_failed", "timed_out")


Keys = tuple[str, ...]


def _anything(value: Any) -> bool:
    return True


def _has_address(protocol: str) -> bool:
    """Return whether a protocol is this package's own, for an agent that is called and not
    loaded.
    """
    if not plugins.is_own("agents", protocol):
        return False
    known = plugins.agent_protocol(protocol)
    return known is not None and not known.is_function


def _each(part: str, *keys: str) -> dict[Keys, Callable[[Any], bool]]:
    return dict.fromkeys([(part, key) for key in keys], _anything)


OF_STRANGERS: Mapping[Keys, Callable[[Any], bool]] = {
    **dict.fromkeys(
        [("about",), ("tasks",), ("facts",), ("rubric",), ("personas",), ("greetings",),
            ("maxTurns",), ("compat",),
         ("aspirationalAverage",), ("conditions",), ("order",), ("seed",), ("sensitive",)],
        _anything,
    ),
    **_each("target", "user", "chatbot", "api", "systemPrompt", "streaming", "tellsToolCalls",
        "remembers", "recordEvents",
            "maxRequestsPerMinute", "temperature", "topP", "maxTokens", "seed", "stop",
            "reasoningEffort", "timeoutMs"),
    **_each("evaluator", "name", "voice", "signoff", "temperature", "maxMessageLength", "lines"),
    **_each("scorer", "temperature", "context", "evidence"),
    ("target", "protocol"): _has_address,
    ("target", "tools"): lambda tool: "function" not in tool,
    ("evaluator", "kind"): lambda kind: plugins.is_own("evaluators", kind),
    ("scorer", "kind"): lambda kind: plugins.is_own("judges", kind),
    ("seeds",): lambda seed: "conversation" in seed,  # a text stays in the user's knowledge service
    # which name a file, or ask a server that is left out
    ("assertions",): lambda assertion: not {"medal", "fhir"} & set(assertion),
}  # fmt: skip
"""The keys that are taken over of a stranger's job, with what a value, or each item of a list, must
be. All others are left out.
"""


def _split(data: Mapping[str, Any], path: Keys = ()) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return what is taken over of a stranger's job, and what is left out."""
    kept: dict[str, Any] = {}
    left: dict[str, Any] = {}
    for key, value in data.items():
        here = (*path, key)
        is_harmless = OF_STRANGERS.get(here)
        if is_harmless is None and not path and isinstance(value, dict):
            kept[key], left[key] = _split(value, here)
            if not kept[key]:  # an empty part may have defaults, such as the port of `telemetry`
                del kept[key]
        elif is_harmless is None:
            left[key] = value
        elif isinstance(value, list):
            kept[key] = [item for item in value if is_harmless(item)]
            left[key] = [item for item in value if not is_harmless(item)]
        elif is_harmless(value):
            kept[key] = value
        else:
            left[key] = value
    return kept, {key: value for key, value in left.items() if value not in ([], {})}


def _resolved_job(job: EvaluationJob, started: RunStarted, trial: int) -> EvaluationJob:
    """Return a run's job with what the command line and the environment chose for it, and the
    model's seeds of a trial.
    """
    known = started.options
    starts_agent = started.had_sample_agent or known.get("local_model")
    judges = known.get("judge_model") or job.scorer.model
    if isinstance(judges, list) and len(judges) == 1:
        judges = judges[0]
    target = {
        "url": None if starts_agent else known.get("agent_url") or job.target.url,
        "model": started.asked_model or job.target.model,
    }
    users = known.get("evaluator_model") or job.evaluator.model
    if isinstance(job.evaluator.model, str) and len(given_models(users)) > 1:
        users = job.evaluator.model  # the user of this trial
    if isinstance(users, list) and len(users) == 1:
        users = users[0]
    evaluator = {"model": users}
    return job.model_copy(
        update={
            "target": job.target.seeded(trial).model_copy(update=target),
            "evaluator": job.evaluator.seeded(trial).model_copy(update=evaluator),
            "scorer": job.scorer.model_copy(update={"model": judges}),
            "order": "parallel" if known.get("parallel") else known.get("order") or job.order,
        }
    )


def _agent_is_not_there(started: RunStarted) -> str:
    """Return how to get the agent of a run that had no address of its own; empty for others."""
    if started.had_sample_agent:
        return (
            "The run started the sample agent; `bioeval-tui agent` starts it at the usual address."
        )
    if started.options.get("local_model"):
        return (
            "The agent was the language model of `bioeval-tui demo --local-model`: give another"
            " with target.url."
        )
    if started.options.get("agent_function"):
        return "The agent was a function of a Python program, which has to run this job again."
    return ""


def _options(started: RunStarted) -> str:
    """Return the options of `run` that a job has no key for."""
    given = ""
    graph = started.options.get("graph", "auto")
    if graph != "auto":
        given += f" --graph {clean_line(str(graph))}"
    if len(started.conditions) == 1:
        given += f" --condition {started.conditions[0]}"
    return given


@dataclass(frozen=True, slots=True)
class _Said:
    """A message of the user that was answered: its words, the facts that it gives when asked, and
    the task that it asks for.
    """

    words: str
    facts: tuple[int, ...]
    task: int | None

    def line(self, job: EvaluationJob, only: Condition | None = None) -> dict[str, Any]:
        """Return it as a line of a script, said in one condition or in all.

        One that gives a fact is said only where that is known.
        """
        line: dict[str, Any] = {"say": self.words}
        fact = next(iter(self.facts), None)
        knowing = [condition.name for condition in job.held_in if fact and condition.knows(fact)]
        if fact and only in (None, *knowing):
            line["fact"] = fact
        if only is not None and knowing != [only]:
            line["only"] = only
        if self.task:
            line["task"] = self.task
        return line


def _merged(
    before: list[tuple[_Said, list[Condition]]], condition: Condition, said: Sequence[_Said]
) -> list[tuple[_Said, list[Condition]]]:
    """Return the messages of earlier conditions, each with those in which it was said, and the
    messages of another.
    """
    words = [each.words for each, _ in before]
    matcher = SequenceMatcher(None, words, [each.words for each in said], autojunk=False)
    merged: list[tuple[_Said, list[Condition]]] = []
    for tag, begin, end, other_begin, other_end in matcher.get_opcodes():
        if tag == "equal":
            merged += [(each, [*conditions, condition]) for each, conditions in before[begin:end]]
            continue
        merged += before[begin:end]
        merged += [(each, [condition]) for each in said[other_begin:other_end]]
    return merged


class _Draft:
    """The parts of the job, each as YAML with comments."""

    def __init__(
        self, state: RunState, started: RunStarted, talk: ConversationState, *, own: bool
    ) -> None:
        """Read what the job is made of.

        `own` says that this program recorded the run on this machine, so that nothing in its job is
        a stranger's.
        """
        self.started, self.talk, self.own = started, talk, own
        self.condition: Condition = talk.key.condition
        self.job = recorded_job(started, started.run_id, talk.case)
        self.answers = [clean(message.text) for message in talk.messages if _is_answer(message)]
        self.scored = {each.task: each for each in _tasks(talk)}
        held = [state.conversation(condition, talk.key.trial) for condition in state.conditions]
        self.both = [each for each in held if each is not None]
        self.said = {
            each.key.condition: tuple(_answered_messages(each, self.job)) for each in self.both
        }
        self.title = (
            f"{talk.trial_words} of run {started.run_id}, {state.condition_title(self.condition)}"
        )

    def text(self) -> str:
        """Return the whole job."""
        job, left_out = self._adopted_job()
        checks = "# What failed then, and must hold."
        if not job.get("assertions"):
            checks, job["assertions"] = (
                "# What went wrong then, as an assertion.",
                [self._regression()],
            )
        told = (
            "# What the user knows: withheld in the first conversation, given when asked in the"
            " second."
        )
        people = "# Who plays the user, and who judges."
        if not self._was_scripted:
            people += " The lines are what the user said then, for a rehearsal."
        wanted = (
            "# What the user asks for. `rules` say what to find in the agent's messages in a"
            " rehearsal."
        )
        sections = {
            "# The agent, as docs/agents.md says.": ("target", "aspirationalAverage", "maxTurns"),
            wanted: ("tasks", "rubric"),
            told: ("facts",),
            people: (
                "personas",
                "greetings",
                "evaluator",
                "scorer",
            ),
            "# How both conversations start.": ("seeds", "setups"),
            checks: ("assertions",),
        }
        placed = set(chain.from_iterable(sections.values()))
        sections["# More of the run's job."] = tuple(key for key in job if key not in placed)
        blocks = [self._head(left_out)]
        for comment, keys in sections.items():
            if part := {key: job[key] for key in keys if key in job}:
                blocks.append(f"{comment}\n{_yaml(part)}")
        return "\n".join(blocks)

    def _adopted_job(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the data of the job, and what is left out of a stranger's."""
        told = self.started.job
        job = self.job
        if self.own:
            job = _resolved_job(job, self.started, self.talk.key.trial)
        drawn = next((each.persona_facts for each in self.both if each.persona_facts), None)
        data = _minimal_data(job, drawn)
        # What failed in the other condition, too: with one alone, a careless agent would pass
        # there.
        checks = chain.from_iterable(talk.final_checks.items() for talk in self.both)
        failed = {index for index, check in checks if check.status == "failed"}
        data["assertions"] = [
            each for index, each in enumerate(data.get("assertions", ())) if index in failed
        ]
        left: dict[str, Any] = {}
        if not self.own:
            data, left = _split(data)
            usual = Answers()
            data["target"]["url"] = usual.url
            if "target" not in told:  # the file of another tool does not say who is asked
                data["target"] |= {"user": usual.user, "chatbot": usual.chatbot}
            if "aspirationalAverage" not in told:
                data["aspirationalAverage"] = usual.seconds * 1000
            if "maxTurns" not in told:
                data["maxTurns"] = 2 * max(map(len, self.said.values())) + 4
        if not self.job.rubric:
            for number, task in enumerate(data["tasks"], start=1):
                task.setdefault("rules", self._drafted_rules(number))
        if greeting := self.said[self.condition][:1]:
            data["greetings"] = [greeting[0].words]
        if not self._was_scripted:
            lines = list(self._lines()) or [{"say": "Is there anything else?"}]
            data["evaluator"] = {**data.get("evaluator", {}), "lines": lines}
        return data, left

    @property
    def _was_scripted(self) -> bool:
        """Whether a script played the user, which knows what to say to a better agent, too."""
        return self.job.evaluator.kind == "scripted" and bool(self.job.evaluator.lines)

    def _head(self, left_out: Mapping[str, Any]) -> str:
        """Return the comments above the job: what went wrong, how to run it, and the keys of a
        stranger's job that were left out.
        """
        wrong = [f"#   - {shorten(line, 300)}" for line in self._went_wrong()]
        if self.own:
            options = _options(self.started)
        else:  # a stranger's models are left out, and a rehearsal needs none
            options = " --rehearsal"
        lines = [
            f"# A job from {clean_line(self.title)}. What went wrong there:",
            *(wrong or ["#   - nothing that was checked"]),
            (
                "# It asks the same things again. Edit what is expected, then: bioeval-tui check"
                f" FILE, bioeval-tui run FILE{options}"
            ),
        ]
        if self.own and (hint := _agent_is_not_there(self.started)):
            lines.append(f"# {hint}")
        if masking():
            lines.append(_MASKED)
        if left_out:
            lines += [
                f"{LEFT_OUT}{', '.join(_names(left_out))}",
                "# Put back what you trust, and delete these lines:",
                *(f"#   {line}" for line in _yaml(left_out).splitlines()),
            ]
        return "\n".join([*lines, "# yaml-language-server: $schema=job.schema.json", ""])

    def _went_wrong(self) -> Iterator[str]:
        for task in self.scored.values():
            if task.outcome == "failed":
                yield f"task {task.task}, {clean_line(task.title)}{_reason_clause(task.reason)}"
        for check in self.talk.final_checks.values():
            if check.status == "failed":
                yield f"assertion “{clean_line(check.title)}”{_reason_clause(check.reason)}"
        if self.talk.ended is not None and _agent_failed(self.talk):
            yield f"the agent failed: {clean_line(self.talk.ended.detail)}"

    def _drafted_rules(self, number: int) -> list[dict[str, Any]]:
        """Return rules for a task without any: the expected answer, the failed one that must not
        come again, or any answer.
        """
        scored = self.scored.get(number)
        if scored is None or scored.outcome != "failed":
            return [{"pattern": r"\w", "reason": "answered; say what is right"}]
        criteria = self._criteria(number)
        if _is_answer_itself(criteria):
            return [{"pattern": _tolerant(criteria), "reason": "gave the expected answer"}]
        wrong = _tolerant(self._words_to_avoid(number))
        return [{"pattern": wrong, "absent": True, "reason": "did not answer as before"}]

    def _criteria(self, number: int) -> str:
        task = self.job.judged_in(self.condition).get(number)
        if task is None:
            return ""
        return clean_line(task.criteria(self.job.condition(self.condition)), 2_000)

    def _words_to_avoid(self, number: int) -> str:
        """Return what the judge quotes of the agent, else its last answer; of a long one, how it
        ends.
        """
        quoted = ""
        if number in self.scored:
            quotes = [each.quote for each in self.scored[number].evidence if each.quote.strip()]
            quoted = next(
                (quote for quote in quotes if any(quote in answer for answer in self.answers)), ""
            )
        words = (quoted or self.answers[-1]).strip()
        if len(words) <= LONGEST_QUOTE:
            return words
        # The first word may be cut, and the pattern matches only whole words.
        return re.sub(r"\A\S*\s+", "", words[-LONGEST_QUOTE:])

    def _lines(self) -> Iterator[dict[str, Any]]:
        """Yield what the user said after the greeting, in each condition of the trial, so that a
        rehearsal of either says the same.
        """
        held = {condition: said[1:] for condition, said in self.said.items() if said[1:]}
        merged: list[tuple[_Said, list[Condition]]] = []
        for condition, said in held.items():
            merged = _merged(merged, condition, said)
        for each, conditions in merged:
            if len(conditions) == len(held):
                yield each.line(self.job)
            else:
                yield from (each.line(self.job, condition) for condition in conditions)

    def _regression(self) -> dict[str, Any]:
        answers = 'evaluation.transcript.filter { it.role == "assistant" }'
        if _agent_failed(self.talk):
            return {
                "name": "the agent answered every time",
                "expression": "evaluation.failureCount == 0",
            }
        failed = [number for number, task in self.scored.items() if task.outcome == "failed"]
        number = next(iter(failed), 1)
        criteria = self._criteria(number)
        if failed and _is_answer_itself(criteria):
            return {
                "name": "the last answer is the expected one",
                "expression": (
                    f"{answers}.takeLast(1).any {{"
                    f" it.content.contains(Regex({_kotlin('(?i)' + _tolerant(criteria))})) }}"
                ),
            }
        return {
            "name": "the agent does not answer as before",
            "expression": (
                f"{answers}.none {{ {_kotlin(self._words_to_avoid(number))} in it.content }}"
            ),
        }


def _tasks(talk: ConversationState) -> Sequence[TaskScored]:
    """Return the tasks as the judge scored them; none without a verdict."""
    if talk.verdict is None:
        return ()
    return talk.verdict.tasks


def _reason_clause(reason: str | None) -> str:
    """Return a reason as it follows what failed; nothing without one."""
    if reason:
        return f": {clean_line(reason)}"
    return ""


def _answered_messages(talk: ConversationState, job: EvaluationJob) -> Iterator[_Said]:
    """Yield the user's messages that were answered, with the facts that each gave when asked: as
    recorded, else by the ledger's rule.
    """
    signoff, facts = job.evaluator.signoff, job.facts
    asking = {each.asked: each.task for each in _tasks(talk) if each.asked}
    last = max(
        (message.message for message in talk.messages if message.role == "assistant"), default=0
    )
    given: set[int] = set()
    said = "\n".join(message.text for message in talk.messages if message.role == "user")
    heard, before = (
        "",
        Known(language=language_of("\n".join(facts)) or language_of(said) or ENGLISH),
    )
    for message in talk.messages:
        words: str | None = message.text
        if message.signs_off and signoff:
            words = without_signoff(message.text, signoff)
        if message.role == "assistant":
            heard = message.text
        elif message.message < last and words and words.strip():
            numbers = tuple(fact.fact for fact in message.facts if fact.asked is not False)
            if not talk.facts and heard:
                mentioned = disclosed_facts(words, facts, given, before)
                numbers = tuple(n for n in mentioned if asks_for(heard, facts[n - 1]) is not False)
            given.update(numbers)
            known = tuple(number for number in numbers if number <= len(facts))
            yield _Said(clean(words).strip(), known, asking.get(message.message))
        before.read(message.text)


def _is_answer_itself(criteria: str) -> bool:
    return 0 < len(criteria) <= LONGEST_ANSWER


def _tolerant(words: str) -> str:
    """Return a pattern for whole words that allows other spaces and hyphens between them."""
    inner = r"[\s-]+".join(re.escape(part) for part in re.split(r"[\s-]+", words.strip()) if part)
    before, after = (
        r"\b" if edge.isalnum() else "" for edge in (words.strip()[0], words.strip()[-1])
    )
    return f"{before}{inner}{after}"


def _minimal_data(job: EvaluationJob, drawn: PersonaFacts | None) -> dict[str, Any]:
    """Return the data of a job as one would write it: without defaults, without a table of cases,
    whose row fills it in, and with the facts that its persona held back as they were `drawn`.
    """
    # The voice has the persona's manner by now: only its name, rules, and which facts it gives, are
    # still to be said.
    personas = tuple(
        Persona(name=each.name, tells=each.tells, rules=each.rules, facts=_as_drawn(each, drawn))
        for each in job.personas
    )
    job = job.model_copy(update={"cases": None, "personas": personas})
    snapshot = job_snapshot(job, exclude_defaults=True)
    if job.rubric and job.scorer.prompt == RUBRIC_PROMPT:
        del snapshot["scorer"]["prompt"]
    return {key: value for key, value in snapshot.items() if value != {}}


def _as_drawn(persona: Persona, drawn: PersonaFacts | None) -> PersonaFactsConfig | None:
    """Return what a persona does to the facts, with those that it held back: another seed would
    draw others.
    """
    if persona.facts is None or drawn is None:
        return persona.facts
    return persona.facts.model_copy(update={"holds_back": drawn.held_back})


def _names(part: Mapping[str, Any]) -> Iterator[str]:
    """Yield the keys of a job's data, with those of its parts, such as `target.url`."""
    for key, value in part.items():
        if isinstance(value, dict):
            yield from (f"{key}.{name}" for name in value)
        else:
            yield key


def _yaml(value: Any) -> str:
    return str(yaml.safe_dump(value, sort_keys=False, allow_unicode=True, width=WIDTH))


def _kotlin(text: str) -> str:
    """Return a text as a literal of an expression, in which `$` does not begin a template."""
    return json.dumps(text, ensure_ascii=False).replace("$", "\\$")
