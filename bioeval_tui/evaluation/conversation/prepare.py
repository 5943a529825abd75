"""Preparation of a conversation: setups, the session, seeds, and the starting state."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable

from bioeval_tui.errors import BioevalError, NotMeasuredError, QueryError
from bioeval_tui.evaluation.conversation.attempts import stream_whole, with_retries
from bioeval_tui.evaluation.conversation.emitter import ConversationEmitter
from bioeval_tui.evaluation.conversation.plan import Parts, RunPlan
from bioeval_tui.evaluation.job.models import ConversationSeed, CypherAssertion, EvaluationJob, Seed, TextSeed
from bioeval_tui.evaluation.seams import Agent, PeerError
from bioeval_tui.record import events
from bioeval_tui.record.events import AgentsGraph
from bioeval_tui.text import clean_line, plural

GRAPH_S = 10.0
"""How long the graph may take to answer before a run begins."""


def asks_graph(job: EvaluationJob) -> bool:
    """Return whether a job has setups or Cypher assertions."""
    return bool(job.setups) or any(isinstance(assertion, CypherAssertion) for assertion in job.assertions)


async def preflight(plan: RunPlan, parts: Parts) -> None:
    """Find problems that would invalidate every conversation, before the first one costs anything.

    Raises:
        NotMeasuredError: the graph that the job asks for does not answer.
    """
    if parts.graph is None or not asks_graph(plan.job):
        return
    try:
        await parts.graph.query("RETURN 1 AS reached", timeout_s=GRAPH_S)
    except (PeerError, QueryError) as error:
        raise NotMeasuredError(
            f"the knowledge graph, which the job's setups or Cypher assertions use, is not available: {clean_line(str(error))}"
        ) from error


def require_graph(plan: RunPlan, parts: Parts) -> None:
    """Raise `NotMeasuredError` if the job needs a graph but has none, because no conversation could have a score.

    Called once the agent has opened a session, because the sample agent reports its graph, and an unreachable agent is
    reported first. With `--graph none`, the conversations run and Cypher assertions are not measured.
    """
    if parts.graph is not None:
        return
    if plan.job.setups:
        raise NotMeasuredError(f"{plural(len(plan.job.setups), 'setup')} cannot run: {parts.no_graph}")
    asking = sum(isinstance(assertion, CypherAssertion) for assertion in plan.job.assertions)
    if asking and not parts.does_without_graph:
        raise NotMeasuredError(
            f"{plural(asking, 'Cypher assertion')} cannot be checked: {parts.no_graph}",
            ways=("--graph none runs the conversations without it",),
        )


async def require_agents_graph(plan: RunPlan, parts: Parts) -> AgentsGraph | None:
    """Return whether the agent says that it uses the graph that setups and assertions query; None if none is needed.

    Raises:
        NotMeasuredError: it says that it uses another one.
    """
    if parts.graph is None or not asks_graph(plan.job):
        return None
    other = await parts.other_graph()
    if other:
        raise NotMeasuredError(f"setups and Cypher assertions would query the wrong graph: {other}")
    return "unknown" if other is None else "same"


async def apply_setups(plan: RunPlan, parts: Parts, emitter: ConversationEmitter) -> None:
    """Run the job's setups, if there is a graph.

    Raises:
        NotMeasuredError: a setup failed, so the condition cannot start from a known state.
    """
    for index, setup in enumerate(plan.job.setups if parts.graph is not None else ()):
        began = time.monotonic()
        error: str | None = None
        try:
            assert parts.graph is not None
            await parts.graph.execute(setup.cypher, timeout_s=plan.limits.setup_s)
        except (QueryError, PeerError) as failure:
            error = clean_line(str(failure))
        emitter.emit(
            events.SetupApplied,
            index=index,
            cypher=setup.cypher,
            elapsed_ms=(time.monotonic() - began) * 1000,
            error=error,
        )
        if error is not None:
            raise NotMeasuredError(f"setup {index + 1} failed: {error}")


async def apply_seeds(
    plan: RunPlan, agent: Agent, emitter: ConversationEmitter, ours: Callable[[PeerError], bool]
) -> None:
    """Send the seeds to the agent. Assistant messages that its protocol cannot record are left out, with a warning.

    `ours` recognises refusals caused by our own concurrency; failures of seeds never count.

    Raises:
        NotMeasuredError: a seed was rejected, so the agent would lack knowledge that the job gives it.
    """
    skipped = 0
    for index, seed in enumerate(plan.job.seeds):
        what = "text" if isinstance(seed, TextSeed) else "conversation"
        refused = ""
        try:
            detail = await _apply_seed(seed, agent, emitter, plan, ours)
        except BioevalError as error:
            detail = refused = clean_line(str(error))
        emitter.emit(events.SeedApplied, index=index, what=what, applied=not detail, detail=detail)
        if refused:
            raise NotMeasuredError(f"seed {index + 1} was rejected: {refused}")
        skipped += bool(detail)
    if skipped:
        message = f"{skipped} of {plural(len(plan.job.seeds), 'seed')} only partly applied, so the agent knows less than the job intends"
        emitter.emit(events.Warned, code="seed_not_applied", message=message)


async def _apply_seed(
    seed: Seed, agent: Agent, emitter: ConversationEmitter, plan: RunPlan, ours: Callable[[PeerError], bool]
) -> str:
    """Apply one seed; return what could not be applied, empty if everything was."""

    async def persistently(attempt: Callable[[], Awaitable[None]]) -> None:
        await with_retries(
            attempt, emitter, plan.limits, plan.limits.agent_retries, counts=lambda error: False, ours=ours
        )

    if isinstance(seed, TextSeed):
        await persistently(lambda: agent.seed_text(seed.text))
        return ""
    return await _replay(seed, agent, persistently)


async def _replay(
    seed: ConversationSeed,
    agent: Agent,
    persistently: Callable[[Callable[[], Awaitable[None]]], Awaitable[None]],
) -> str:
    left_out = 0
    for message in seed.messages:
        if await agent.seed_history(message.role, message.content):
            continue
        if message.role == "assistant":
            left_out += 1
            continue

        async def ask(content: str = message.content) -> None:
            await stream_whole(agent.send(content), None)

        await persistently(ask)
    return f"{left_out} given assistant messages could not be recorded as history" if left_out else ""
