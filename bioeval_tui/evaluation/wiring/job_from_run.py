"""A job from a failed conversation: it asks the same things, and asserts what went wrong, for the user to edit."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml
from pydantic import TypeAdapter, ValidationError

from bioeval_tui.errors import UsageError
from bioeval_tui.evaluation.conversation.transcript import without_signoff
from bioeval_tui.evaluation.guards.content import asks_for, disclosed_facts
from bioeval_tui.evaluation.guards.specifics import Known
from bioeval_tui.evaluation.job.models import Assertion, JobPart, RuleConfig, Setup, TargetConfig
from bioeval_tui.evaluation.job.template import Answers
from bioeval_tui.languages import language_of
from bioeval_tui.languages.english import ENGLISH
from bioeval_tui.record.cases import judged_in
from bioeval_tui.record.names import Condition
from bioeval_tui.record.reading import started_run
from bioeval_tui.record.state import ConversationState, RunState
from bioeval_tui.text import clean, clean_line, compact_json, shorten

LONGEST_ANSWER = 80
"""Most characters of criteria that are read as the expected answer itself, not as a description of it."""
LONGEST_QUOTE = 200
"""Most characters of an answer that the job must not hear again."""
WIDTH = 110


def job_from(recording: Path, trial: int | None = None) -> str:
    """Return the commented YAML of a job that holds a failed conversation again.

    Args:
        recording: the recording of a run, held here or imported.
        trial: the trial; by default, that of the conversation with the lowest score.

    Raises:
        UsageError: no conversation failed, or there is no such trial.
    """
    state, started, _ = started_run(recording)
    talk = _choose(state, trial)
    if talk is None:
        which = f"in trial {trial} " if trial is not None else ""
        raise UsageError(
            f"{started.run_id}: no conversation {which}has both messages and a failed task, assertion or answer; "
            "--trial N takes another one"
        )
    return _Draft(state, talk, started.run_id).text()


def _choose(state: RunState, trial: int | None) -> ConversationState | None:
    """Return the conversation with the lowest score, with facts supplied before withheld; one of a named trial need not have failed."""
    talks = [talk for talk in state.conversations.values() if any(map(_is_answer, talk.messages))]
    if trial is not None:
        talks = [talk for talk in talks if talk.key.trial == trial]
        failed = [talk for talk in talks if _has_failed(talk)] or talks
    else:
        failed = [talk for talk in talks if _has_failed(talk)]

    def badness(talk: ConversationState) -> tuple[float, bool, int]:
        score = talk.score.score if talk.score and talk.score.score is not None else 1.0
        return score, talk.key.condition == "withheld", talk.key.trial

    return min(failed, key=badness, default=None)


def _is_answer(message: Any) -> bool:
    return message.role == "assistant" and bool(message.text.strip())


def _has_failed(talk: ConversationState) -> bool:
    tasks = talk.verdict.tasks if talk.verdict is not None and not talk.verdict.error else ()
    checks = talk.final_checks.values()
    by_agent = talk.ended is not None and talk.ended.reason in ("agent_failed", "timed_out")
    return (
        by_agent
        or any(each.outcome == "failed" for each in tasks)
        or any(check.status == "failed" for check in checks)
    )


class _Draft:
    """The parts of the job, each as YAML with comments."""

    def __init__(self, state: RunState, talk: ConversationState, run_id: str) -> None:
        self.talk, self.run_id = talk, run_id
        self.job = state.job_of(talk.key.trial)
        self.condition: Condition = talk.key.condition
        signoff = str(_part(self.job, "evaluator").get("signoff") or "")
        listed = tuple(clean_line(str(fact)) for fact in self.job.get("facts") or ())
        self.case_facts = dict(enumerate(listed, start=1))
        self.asked = list(_answered_messages(talk, signoff, listed))
        self.answers = [clean(message.text) for message in talk.messages if _is_answer(message)]
        self.facts = self._facts()
        self.scored = {each.task: each for each in (talk.verdict.tasks if talk.verdict else ())}
        self.title = f"{talk.trial_words} of run {run_id}, {state.condition_title(self.condition)}"

    def text(self) -> str:
        """Return the whole job."""
        parts = (
            self._head(),
            self._target(),
            self._asks(),
            self._known(),
            self._user(),
            self._state(),
            self._checks(),
        )
        return "\n".join(parts)

    def _facts(self) -> dict[int, str]:
        """Return the facts that were given when asked, by their number; all of the case if none was."""
        given = {number for _, facts in self.asked for number in facts}
        return {number: fact for number, fact in self.case_facts.items() if not given or number in given}

    def _head(self) -> str:
        wrong = "\n".join(f"#   - {shorten(line, 300)}" for line in self._went_wrong())
        return f"""\
# A job from {clean_line(self.title)}. What went wrong there:
{wrong or "#   - nothing that was checked"}
# It asks the same things again. Edit what is expected, then: bioeval-tui check FILE, bioeval-tui run FILE --rehearsal
# yaml-language-server: $schema=job.schema.json
"""

    def _went_wrong(self) -> Iterator[str]:
        for task in self.scored.values():
            if task.outcome == "failed":
                why = f": {clean_line(task.reason)}" if task.reason else ""
                yield f"task {task.task}, {clean_line(task.title)}{why}"
        for check in self.talk.final_checks.values():
            if check.status == "failed":
                why = f": {clean_line(check.reason)}" if check.reason else ""
                yield f"assertion “{clean_line(check.title)}”{why}"
        if self.talk.ended is not None and self.talk.ended.reason in ("agent_failed", "timed_out"):
            yield f"the agent failed: {clean_line(self.talk.ended.detail)}"

    def _target(self) -> str:
        usual = Answers()
        given = _as_written(TargetConfig, self.job.get("target"))
        if given is None:  # imported: the file does not say how to reach its agent
            given = {
                "user": usual.user,
                "chatbot": usual.chatbot,
                "url": usual.url,
                "protocol": usual.protocol,
            }
        average = self.job.get("aspirationalAverage", usual.seconds * 1000)
        return f"""\
target:                          # your agent, as docs/agents.md says
{_yaml(given, 2)}
aspirationalAverage: {"null" if average is None else f"{average:g}"}       # target for the average latency, in milliseconds; null: no part of the score
maxTurns: {2 * len(self.asked) + 4}
"""

    def _asks(self) -> str:
        lines = ["# What the user asks for. The evaluator never sees the acceptance criteria.", "tasks:"]
        for number, task in judged_in(self.job, self.condition).items():
            criteria = clean_line(str(task.get("acceptanceCriteria") or ""), 2_000)
            lines += [
                f"  - task: {_quote(clean_line(str(task.get('task') or 'Hold the conversation again'), 2_000))}",
                f"    acceptanceCriteria: {_quote(criteria)}",
                "    rules:                       # for a rehearsal: what to find in the agent's messages",
                *(f"      - {compact_json(rule)}" for rule in self._rules(number, task, criteria)),
            ]
        return "\n".join(lines if len(lines) > 2 else ["tasks: []"]) + "\n"

    def _rules(self, number: int, task: Mapping[str, Any], criteria: str) -> list[dict[str, Any]]:
        """Return the task's own rules; else the expected answer, the failed one that must not come again, or any answer."""
        own = [kept for rule in task.get("rules") or () if (kept := _as_written(RuleConfig, rule))]
        if own:
            return own
        scored = self.scored.get(number)
        if scored is None or scored.outcome != "failed":
            return [{"pattern": r"\w", "reason": "answered; say what is right"}]
        if _is_answer_itself(criteria):
            return [{"pattern": _tolerant(criteria), "reason": "gave the expected answer"}]
        return [
            {
                "pattern": _tolerant(self._wrong_words(number)),
                "absent": True,
                "reason": "did not answer as before",
            }
        ]

    def _wrong_words(self, number: int) -> str:
        """Return what the judge quotes of the agent, else how its last answer ends."""
        scored = self.scored.get(number)
        quotes = [each.quote for each in (scored.evidence if scored else ()) if each.quote.strip()]
        heard = next((quote for quote in quotes if any(quote in answer for answer in self.answers)), "")
        last = (heard or self.answers[-1]).strip()
        return last if len(last) <= LONGEST_QUOTE else re.sub(r"\A\S*\s+", "", last[-LONGEST_QUOTE:])

    def _known(self) -> str:
        about = "# What the user knows: withheld in the first conversation, given when asked in the second."
        if not self.facts:
            return f"{about}\nfacts: []\n"
        lines = [about, "facts:", *(f"  - {_quote(fact)}" for fact in self.facts.values())]
        if others := [fact for number, fact in self.case_facts.items() if number not in self.facts]:
            lines += ["# Nobody asked for these then:", *(f"#  - {_quote(fact)}" for fact in others)]
        return "\n".join(lines) + "\n"

    def _user(self) -> str:
        numbers = {fact: at for at, fact in enumerate(self.facts, start=1)}
        lines = []
        for words, given in self.asked[1:]:
            fact = next((numbers[each] for each in given if each in numbers), None)
            lines.append(f"    - say: {_quote(words)}")
            if fact:
                lines.append(f"      fact: {fact}                    # left out where the fact is withheld")
        script = "\n".join(
            ["  lines:                         # what the user said then, for a rehearsal", *lines]
        )
        return f"""\
greetings: [{_quote(self.asked[0][0])}]
evaluator:
  kind: llm                      # llm, scripted (offline: says the lines), or human (you type)
{script if lines else "  lines: [{say: " + _quote("Is there anything else?") + "}]"}
scorer:
  kind: llm                      # llm, or rules (offline: looks for the tasks' patterns)
"""

    def _state(self) -> str:
        kept = [each for setup in self.job.get("setups") or () if (each := _as_written(Setup, setup))]
        return f"setups:\n{_yaml(kept, 2)}" if kept else "setups: []\n"

    def _checks(self) -> str:
        """Return the assertions that failed; without one, that the agent does not fail in the same way."""
        listed = self.job.get("assertions") or ()
        failed = [index for index, check in self.talk.final_checks.items() if check.status == "failed"]
        found = [
            kept
            for index in failed
            if index < len(listed) and (kept := _as_written(Assertion, listed[index]))
        ]
        if found:
            return f"# What failed then, and must hold.\nassertions:\n{_yaml(found, 2)}"
        return "# What went wrong then, as an assertion.\nassertions:\n" + _yaml([self._regression()], 2)

    def _regression(self) -> dict[str, Any]:
        answers = 'evaluation.transcript.filter { it.role == "assistant" }'
        if self.talk.ended is not None and self.talk.ended.reason in ("agent_failed", "timed_out"):
            return {"name": "the agent answered every time", "expression": "evaluation.failureCount == 0"}
        failed = [number for number, task in self.scored.items() if task.outcome == "failed"]
        number = failed[0] if failed else 1
        task = judged_in(self.job, self.condition).get(number, {})
        criteria = clean_line(str(task.get("acceptanceCriteria") or ""), 2_000)
        if failed and _is_answer_itself(criteria):
            return {
                "name": "the last answer is the expected one",
                "expression": f"{answers}.takeLast(1).any {{ it.content.contains(Regex({_kotlin('(?i)' + _tolerant(criteria))})) }}",
            }
        return {
            "name": "the agent does not answer as before",
            "expression": f"{answers}.none {{ {_kotlin(self._wrong_words(number))} in it.content }}",
        }


def _answered_messages(
    talk: ConversationState, signoff: str, facts: tuple[str, ...]
) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Yield the user's messages that were answered, with the facts that each gave when asked: as recorded, else by the ledger's rule."""
    last = max(message.message for message in talk.messages if message.role == "assistant")
    given: set[int] = set()
    said = "\n".join(message.text for message in talk.messages if message.role == "user")
    heard, before = "", Known(language=language_of("\n".join(facts)) or language_of(said) or ENGLISH)
    for message in talk.messages:
        words = without_signoff(message.text, signoff) if message.signs_off and signoff else message.text
        if message.role == "assistant":
            heard = message.text
        elif message.message < last and words and words.strip():
            numbers = tuple(fact.fact for fact in message.facts if fact.asked)
            if not talk.facts and heard:
                mentioned = disclosed_facts(words, facts, given, before)
                numbers = tuple(number for number in mentioned if asks_for(heard, facts[number - 1]))
            given.update(numbers)
            yield clean(words).strip(), numbers
        before.read(message.text)


def _is_answer_itself(criteria: str) -> bool:
    return 0 < len(criteria) <= LONGEST_ANSWER


def _tolerant(words: str) -> str:
    """Return a pattern for whole words that allows other spaces and hyphens between them."""
    inner = r"[\s-]+".join(re.escape(part) for part in re.split(r"[\s-]+", words.strip()) if part)
    before, after = (r"\b" if edge.isalnum() else "" for edge in (words.strip()[0], words.strip()[-1]))
    return f"{before}{inner}{after}"


def _as_written(kind: Any, recorded: Any) -> dict[str, Any] | None:
    """Return a part of a recorded job as one would write it, without defaults; None if this version cannot read it."""
    try:
        part = TypeAdapter[JobPart](kind).validate_python(recorded)
    except ValidationError:
        return None
    return part.model_dump(mode="json", by_alias=True, exclude_defaults=True)


def _part(job: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    part = job.get(name)
    return part if isinstance(part, Mapping) else {}


def _yaml(value: Any, indent: int) -> str:
    text = yaml.safe_dump(value, sort_keys=False, allow_unicode=True, width=WIDTH)
    return "".join(f"{' ' * indent}{line}\n" for line in text.splitlines())


def _quote(text: str) -> str:
    """Return a text as a YAML double-quoted scalar (JSON's is one)."""
    return json.dumps(text, ensure_ascii=False)


def _kotlin(text: str) -> str:
    """Return a text as a literal in an expression."""
    return json.dumps(text, ensure_ascii=False).replace("$", "\\$")
