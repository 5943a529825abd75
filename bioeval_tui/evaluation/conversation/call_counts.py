"""How many calls a conversation makes, usually and at most, counted before it is held.

An estimate (`wiring/estimate.py`, for `run --dry-run` and the run dialog) multiplies these with the
conversations of a run. They restate loops that stand elsewhere: each names the one that it counts,
and whoever changes that loop has to change the count.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from bioeval_tui.base.peer_limits import MAX_ROUNDS
from bioeval_tui.jobs.models import Api, ConversationSeed, EvaluationJob, ModelOptions
from bioeval_tui.peers.retry import RetryRule

TIMES_HELD = 2
"""How often a conversation is held (`JobRun._hold`): once more if the connection to the agent
breaks.
"""


TRIES_OF_A_MESSAGE = 2
"""How often the user's model is asked for a message of another form (`Dialogue._try_to_speak`)."""


TRIES_IN_ROLE = 2
"""How often it is asked for a message that no guard objects to (`Dialogue._evaluator_speaks`)."""


@dataclass(frozen=True, slots=True)
class Calls:
    """How many calls are made if nothing is sent twice, and at most."""

    usual: int = 0
    most: int = 0

    def times(self, number: int) -> Calls:
        """Return that many times these calls."""
        return Calls(self.usual * number, self.most * number)


NO_CALLS = Calls()


def total_calls(calls: Iterable[Calls]) -> Calls:
    """Return all calls together."""
    listed = list(calls)
    return Calls(sum(each.usual for each in listed), sum(each.most for each in listed))


def agent_calls(
    job: EvaluationJob, rule: RetryRule, ours_for_s: float, *, is_model: bool, takes_history: bool
) -> Calls:
    """Return the calls of the agent in one conversation: every second message, and seeds that it
    has to be told.
    """
    messages = job.max_messages // 2
    if not takes_history:
        for seed in job.seeds:
            if isinstance(seed, ConversationSeed):
                messages += sum(message.role == "user" for message in seed.messages)
    each, refused = rule.most_requests(ours_for_s), 0
    if is_model:
        # A model is asked again after each round of tool calls, and only what failed of a round is
        # repeated.
        if job.target.tools:
            each += MAX_ROUNDS - 1
        refused = most_refusals(
            job.target, job.target.api, instructed=bool(job.target.system_prompt), schema=False
        )
    return Calls(messages, TIMES_HELD * (messages * each + refused))


def evaluator_calls(job: EvaluationJob, rule: RetryRule, ours_for_s: float) -> Calls:
    """Return the calls of the user's model in one conversation: for each of its messages but the
    greeting.
    """
    messages = job.max_messages // 2 - 1
    tries = TRIES_OF_A_MESSAGE
    if job.evaluator.guards != "off":
        tries *= TRIES_IN_ROLE
    refused = most_refusals(job.evaluator, job.evaluator.api, instructed=True, schema=True)
    each = tries * rule.most_requests(ours_for_s)
    return Calls(messages, TIMES_HELD * (messages * each + refused))


def judge_calls(job: EvaluationJob, tasks: int, rule: RetryRule, *, lists_faults: bool) -> Calls:
    """Return the calls of one of the judge's models for one transcript with so many tasks to score.

    The tasks of a request are asked for at once, then what is missing, then task by task
    (`LLMJudge`). A model that also `lists_faults` of the user is asked for them once.
    """
    if not tasks:
        return NO_CALLS
    refused = most_refusals(job.scorer, job.scorer.api, instructed=True, schema=True)
    requests = []
    for group in job.scorer.split(range(tasks)):
        questions = 2
        if len(group) > 1:
            questions += len(group)
        # Requests that are under way together are each refused what the server does not take.
        requests.append(Calls(1, questions * rule.attempts + refused))
    verdict = total_calls(requests).times(job.scorer.repeats)
    # What the server refused for the verdict is left out by now.
    faults = Calls(1, rule.attempts) if lists_faults else NO_CALLS
    return total_calls((verdict, faults))


def most_refusals(options: ModelOptions, api: Api, *, instructed: bool, schema: bool) -> int:
    """Return how many requests a server can refuse for an option before it takes one without them
    (`ChatModel`).

    `instructed`: the messages have a system message.
    """
    asked = [
        options.temperature is not None,
        options.max_tokens is not None,
        options.streaming,
        options.streaming and api == "chat",  # its `stream_options`
        instructed,
    ]
    return sum(asked) + 2 * schema  # a schema, then JSON alone
