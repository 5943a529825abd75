"""The text of a new job: every value quoted as YAML, every key explained."""

from __future__ import annotations

import json
from dataclasses import dataclass

from bioeval_tui.text import clean_line


@dataclass(frozen=True, slots=True)
class Answers:
    """What `new` asks. `seconds` is the wished-for average latency."""

    user: str = "ada"
    chatbot: str = "my-agent"
    url: str = "http://127.0.0.1:8081"
    protocol: str = "rest"
    seconds: float = 3.0
    task: str = "Get a reminder to take warfarin tomorrow at 9"
    criteria: str = "The reminder is set with the right time zone"
    fact: str = "The user lives in Sydney (time zone Australia/Sydney)"
    rehearsal: bool = False


def job_text(answers: Answers) -> str:
    """Return the commented YAML of a job with these answers."""
    facts = f"facts:\n  - {_quoted(answers.fact)}" if answers.fact else "facts: []"
    return f"""\
# A job for bioeval-tui. `bioeval-tui check` says everything that is wrong with it, with line and column;
# `bioeval-tui schema > job.schema.json` lets an editor complete it.
# yaml-language-server: $schema=job.schema.json

target:
  user: {_quoted(answers.user)}
  chatbot: {_quoted(answers.chatbot)}
  url: {_quoted(answers.url)}
  protocol: {answers.protocol}              # rest (the embabel-agent-eval API) or openai (chat completions)

aspirationalAverage: {answers.seconds * 1000:g}   # the average latency you wish for, in milliseconds
maxTurns: 20                     # messages of both sides together, at most

# What the user asks for, one after the other. The evaluator never sees the acceptance criteria.
tasks:
  - task: {_quoted(answers.task)}
    acceptanceCriteria: {_quoted(answers.criteria)}{_rules(answers)}

# What the user knows: withheld from the evaluator in the first conversation, given when asked in the second.
{facts}

{_who(answers)}
# Statements that prepare the agent's graph before each conversation, so that both start from the same state.
setups: []
#  - cypher: MATCH (r:Reminder) DETACH DELETE r

# What must hold at the end. `weight` is 1 by default; an `invariant` is meant to hold from the start.
assertions:
  - name: the agent answered every time
    expression: evaluation.failureCount == 0
    invariant: true
#  - name: a reminder exists
#    expression: 'objectContext.entities.any {{ it.type == "Reminder" }}'
#    weight: 3
#  - name: it is in the graph
#    cypher: MATCH (r:Reminder) RETURN count(r)
#    expected: 1
"""


def _who(answers: Answers) -> str:
    if not answers.rehearsal:
        return """\
# Who plays the user and who judges: models, at OPENAI_BASE_URL with OPENAI_API_KEY.
evaluator:
  kind: llm                      # or scripted (offline), or human (you type)
  voice: You speak like a friendly, relaxed human
scorer:
  kind: llm                      # or rules (offline)
"""
    line = f"    - say: {_quoted(answers.fact)}\n      when: which|where|time zone    # a pattern in the agent's last message\n      fact: 1\n"
    return f"""\
# Offline: a script plays the user, rules judge the transcript. Such a run is called a rehearsal.
evaluator:
  kind: scripted
  lines:                         # said in order; one with `when` answers the agent's message that it fits
    - say: {_quoted(answers.task)}
{line if answers.fact else ""}scorer:
  kind: rules
"""


def _rules(answers: Answers) -> str:
    if not answers.rehearsal:
        return ""
    return """
    rules:                       # patterns that the rules judge looks for in the agent's messages
      - pattern: done|set|ready
        reason: confirmed it"""


def _quoted(text: str) -> str:
    """Return a text as a YAML double-quoted scalar (JSON's is one), on one line."""
    return json.dumps(clean_line(text), ensure_ascii=False)
