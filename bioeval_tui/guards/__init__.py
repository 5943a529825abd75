"""Guards: what a simulated user must not say, found by rules in the language that it speaks.

A model that plays a user tells what it should not know, answers as if it were the agent, or asks
the agent's questions itself. Each guard is a function of what was said so far and the new message,
and returns a `Violation` or None; no model is asked. Most violations have the user speak again; one
that cannot be undone is no fault of the agent, and its conversation does not count.

- `check(view, text)` applies every guard to a message before it is sent; `brings_up_nothing`,
  `keeps_saying_goodbye` and `unread` are asked beside it.
- `newly_disclosed_facts` and `disclosed_facts` keep the ledger: which facts the user told, in whose
  words; `asks_for` says whether the agent had asked, and
  `asks_for_just` whether for that fact itself.
- `find_shared_word` and `unrelated` say whether what the placebo's user tells has anything to do
  with a job, whose language is `job_language`.
- `check_transcripts` and `messages_out_of_role` look at conversations that were held, here or
  elsewhere.
- `agent_side.find_agent_faults` finds what the agent did wrong in conversations that have ended: no
  guard, but rules of the same kind (`AGENT_RULES`, and plug-ins), which no score contains. A run
  that does not ask for it does not load it.

The rules of each language are data, in `languages`.
"""

from bioeval_tui.guards.checks import (
    NOT_LOOKED_FOR,
    GuardTotals,
    Hit,
    check,
    check_transcripts,
    keeps_saying_goodbye,
    messages_out_of_role,
    unread,
)
from bioeval_tui.guards.content import (
    asks_for,
    asks_for_just,
    brings_up_nothing,
    disclosed_facts,
    newly_disclosed_facts,
)
from bioeval_tui.guards.held import AgentFinding, AgentRule, HeldMessage, HeldTalk
from bioeval_tui.guards.placebo import SharedWord, find_shared_word, job_language, unrelated
from bioeval_tui.guards.specifics import Known

__all__ = [
    "NOT_LOOKED_FOR",
    "AgentFinding",
    "AgentRule",
    "GuardTotals",
    "HeldMessage",
    "HeldTalk",
    "Hit",
    "Known",
    "SharedWord",
    "asks_for",
    "asks_for_just",
    "brings_up_nothing",
    "check",
    "check_transcripts",
    "disclosed_facts",
    "find_shared_word",
    "job_language",
    "keeps_saying_goodbye",
    "messages_out_of_role",
    "newly_disclosed_facts",
    "unread",
    "unrelated",
]
