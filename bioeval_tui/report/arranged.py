"""What a job itself did to its conversations, summed up over runs: facts that its personas held
back or got wrong, and tools that it made fail.

Neither is a fault of the user or the agent, but the scores rest on it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import chain

from bioeval_tui.record.cases import job_part
from bioeval_tui.record.persona_facts import PersonaFacts
from bioeval_tui.record.tool_calls import injected_failures, request_of
from bioeval_tui.report import findings as of
from bioeval_tui.report.run import RecordedRun


def facts_kept_by(runs: Sequence[RecordedRun]) -> tuple[of.FactsKeptBy, ...]:
    """Return what each persona did to the facts in the conversations of some runs, in the order in
    which they first did; empty if none holds facts back or gets them wrong, or for one trial alone,
    of which every view says it.
    """
    if sum(len(run.trials) for run in runs) < 2:
        return ()
    by_persona: dict[str, list[PersonaFacts]] = {}
    for run in runs:
        drawn = filter(None, (talk.persona_facts for talk in run.talks))
        for each in drawn:
            by_persona.setdefault(each.persona, []).append(each)
    return tuple(_summed_up(persona, each) for persona, each in by_persona.items())


def _summed_up(persona: str, drawn: Sequence[PersonaFacts]) -> of.FactsKeptBy:
    return of.FactsKeptBy(
        persona,
        sum(len(each.held_back) for each in drawn),
        sum(each.facts for each in drawn),
        sum(len(each.wrong_facts) for each in drawn),
        len(drawn),
    )


def tools_made_fail(runs: Sequence[RecordedRun]) -> of.ToolsMadeFail | None:
    """Return how many calls of each tool the job made fail in the conversations of some runs; None
    if none.
    """
    called: Counter[str] = Counter()
    failed: Counter[str] = Counter()
    # The texts of a large recording are read for this, so only if there can be any failures.
    with_failures = filter(_makes_tools_fail, runs)
    for talk in chain.from_iterable(run.talks for run in with_failures):
        for message in talk.messages:
            requests = filter(None, map(request_of, message.generation))
            called.update(str(request["function"].get("name", "")) for request in requests)
            failed.update(each.tool for each in injected_failures(message.generation))
    if not failed:
        return None
    # A result without its call, in a damaged recording, is still one call.
    return of.ToolsMadeFail(
        tuple((tool, count, max(count, called[tool])) for tool, count in failed.items())
    )


def _makes_tools_fail(run: RecordedRun) -> bool:
    tools = job_part(run.state.job, "target").get("tools")
    if not isinstance(tools, Sequence):
        return False
    return any(isinstance(tool, Mapping) and tool.get("fails") for tool in tools)
