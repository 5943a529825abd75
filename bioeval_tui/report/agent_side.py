"""What an agent did wrong by its own words in each conversation of a run: a table of its own, which
no score contains and which is made only when somebody asks for it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from bioeval_tui import plugins
from bioeval_tui.base.text import clean_line
from bioeval_tui.guards import AgentFinding, AgentRule, HeldMessage, HeldTalk
from bioeval_tui.guards.agent_side import AGENT_RULES, find_agent_faults
from bioeval_tui.record.cases import job_part
from bioeval_tui.record.events import StateObserved
from bioeval_tui.record.state import ConversationState, MessageState
from bioeval_tui.record.tool_calls import request_of, result_of
from bioeval_tui.report.findings import AgentSideLooked
from bioeval_tui.report.result import AgentSideRow, RunResult


def with_agent_side(run: RunResult, names: Sequence[str]) -> RunResult:
    """Return a run with what the rules found about its agent: this program's, and those of the
    plug-ins of these names.

    Raises:
        UsageError: there is no such plug-in, or it cannot be used.
    """
    rules = [*AGENT_RULES.values(), *map(_rule, names)]
    shows_tools = any(map(_shows_tools, run.talks))
    held = [_held(run, talk, shows_tools) for talk in run.talks]
    rows = tuple(_rows(run, held, rules))
    looked = AgentSideLooked(
        len({(row.condition, row.trial, row.message) for row in rows}),
        sum(len(talk.answers) for talk in held),
        len(held),
        sum(bool(talk.told) for talk in held),
        shows_tools,
    )
    return replace(run, agent_side=rows, agent_looked=looked)


def _rule(name: str) -> AgentRule:
    """Return a plug-in's rule, whose exceptions name it."""
    rule = plugins.load_description(AgentRule, "agent_rules", name)

    def find(talk: HeldTalk, others: Sequence[HeldTalk]) -> list[AgentFinding]:
        with plugins.blamed("agent_rules", name):
            return [
                AgentFinding(name, int(one.message), clean_line(one.detail, 400))
                for one in rule.find(talk, others)
            ]

    return replace(rule, find=find)


def _rows(
    run: RunResult, held: Sequence[HeldTalk], rules: Sequence[AgentRule]
) -> Iterator[AgentSideRow]:
    about = {rule.name: rule.about for rule in rules}
    for talk, found in zip(run.talks, find_agent_faults(held, rules), strict=True):
        for one in found:
            yield AgentSideRow(
                talk.key.condition,
                run.condition_title(talk.key.condition),
                talk.key.trial,
                talk.trial_words,
                one.message,
                one.rule,
                about[one.rule],
                clean_line(one.detail, 400),
            )


def _shows_tools(talk: ConversationState) -> bool:
    """Return whether the recording has what tools answered, or the agent's state."""
    if any(observed.object_context for observed in talk.observations):
        return True
    events = (event for message in talk.messages for event in message.generation)
    return any(result_of(event) is not None for event in events)


def _held(run: RunResult, talk: ConversationState, shows_tools: bool) -> HeldTalk:
    told = tuple(_prompts(run, talk))
    return HeldTalk(
        tuple(_message(message, talk.observations) for message in talk.messages if message.text),
        told=told,
        # An agent may have any number from a prompt that nobody sees.
        shows_all=shows_tools and bool(told),
        case=f"{talk.key.condition} {talk.case.name if talk.case else ''}",
        passed=_passed(talk),
        gave_up=any(violation.rule == "gave_up" for violation in talk.violations),
    )


def _prompts(run: RunResult, talk: ConversationState) -> Iterator[str]:
    """Yield what the agent was told before: by the job, in its events, or as an imported file has
    it.
    """
    if prompt := job_part(run.state.trial_job(talk.key.trial), "target").get("systemPrompt"):
        yield str(prompt)
    for message in talk.messages:
        for event in message.generation:
            if isinstance(event.get("systemPrompt"), str):
                yield event["systemPrompt"]
        for raw in (message.record or {}).get("raw") or ():
            if isinstance(raw, Mapping) and raw.get("role") in ("system", "developer"):
                yield from _leaves(raw.get("content"))


def _passed(talk: ConversationState) -> bool:
    """Return whether something was judged or checked at the end, and everything passed."""
    tasks = talk.verdict.tasks if talk.verdict is not None and not talk.verdict.error else ()
    outcomes = [task.passed is True for task in tasks if task.measured]
    outcomes += [check.status == "passed" for check in talk.final_checks.values() if check.weight]
    return bool(outcomes) and all(outcomes)


def _message(message: MessageState, observations: Sequence[StateObserved]) -> HeldMessage:
    if message.role != "assistant":
        return HeldMessage(message.message, message.turn, message.role, message.text)
    # The state after an answer, too: what the agent put there it did not make up for its answer.
    states = [one.object_context for one in observations if one.after_turn <= message.turn]
    calls = filter(None, map(request_of, message.generation))
    return HeldMessage(
        message.message,
        message.turn,
        message.role,
        message.text,
        tuple(_texts([*message.generation, *filter(None, states)])),
        tuple(clean_line(str(call["function"].get("name")), 200) for call in calls),
    )


def _texts(shown: Iterable[Any]) -> Iterator[str]:
    """Yield what was shown as JSON, which tells what is of one kind, and each text in it, whose
    lines are lines.
    """
    for one in shown:
        yield json.dumps(one, ensure_ascii=False, default=str)
        yield from _leaves(one)


def _leaves(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for each in value.values():
            yield from _leaves(each)
    elif isinstance(value, list | tuple):
        for each in value:
            yield from _leaves(each)
