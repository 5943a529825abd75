"""The text of a new job: every value quoted as YAML, every key explained."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from bioeval_tui import plugins
from bioeval_tui.base.settings import Settings
from bioeval_tui.base.text import clean_line

_PLACE = (
    r"zone|\btz\b|where|city|town|country|region|locat|place\b|part of the world|live\b|based|are"
    r" you in|clock"
    "|local time|utc|gmt"
)
_REQUEST = "please|tell|need|let me know|(?:once|as) i know|share|provide|give me|without"
ASKS_FOR_A_ZONE = (
    rf"(?:{_PLACE})(?:e\.g\.|[^.!?])*(?:\?|please)"  # a question
    rf"|(?:{_REQUEST})[^!?]{{0,150}}(?:{_PLACE})"  # a request, perhaps with a list
)
"""A question about a place or a time zone, or a request for it."""

_CONDITION = (
    "once|when|if|until|unless|before|after|soon|no|not|none|never|nothing|without"
    "|can|could|would|should|want|need|like|what|which|where|how"
)
_SET = "(?:set|put|scheduled|created|booked|added|saved|arranged|confirmed|in your calendar)"
_ALREADY = "(?: just| already| now| gone ahead and| went ahead and)*"
CLAIMS_A_REMINDER = (
    rf"(?:^|[.!?;:\n])(?:(?!\b(?:{_CONDITION})\b|n['’]t\b)[^.!?;:\n])*?\b(?:done|all set|reminder"
    rf" {_SET}"
    rf"|i(?:['’]ll| will) remind you|(?:i['’]ve|i have|it['’]s|is|are|was|been){_ALREADY} {_SET}"
    rf"|i{_ALREADY} {_SET} (?:it|this|that|one|an?|the|your)|took the liberty"
    r"|(?:created|scheduled|booked) (?:it|the|your|a))\b"
)
"""A sentence that says that the reminder is set, with no word before it that denies it or makes it
a condition.
"""


@dataclass(frozen=True, slots=True)
class Script:
    """The script of a rehearsal: what the user says, and patterns for the agent's answers.

    `asked` matches the agent's message that asks for the fact, `done` the one that says that the
    task is done. What the user says does not depend on them, so an agent that asks in other words
    is answered, too. `last` is said at the end, to an agent that asked for something else first.
    """

    ask: str = "Could you remind me to take 5 mg of warfarin tomorrow at 9?"
    tell: str = "I live in Sydney."
    asked: str = ASKS_FOR_A_ZONE
    done: str = CLAIMS_A_REMINDER
    last: str = "At 9 in the morning, please."


LONGEST_ANSWER = 2_000
"""The maximum length of an answer to one of `new`'s questions, in characters."""

ASKS_FIRST = "The agent asks for what it is not told, and neither guesses it nor acts as if it knew"
"""What is right where the user cannot tell the fact, whatever the task is."""


@dataclass(frozen=True, slots=True)
class Answers:
    """The answers to `new`'s questions.

    `seconds` is the target latency; without a `script`, the job has no lines.

    `withheld` is what is right where the user does not know the fact; empty for the same as
    `criteria`.
    """

    user: str = "ada"
    chatbot: str = "my-agent"
    url: str = "http://127.0.0.1:8081"
    protocol: str = "rest"
    seconds: float = 3.0
    task: str = "Get a reminder to take 5 mg of warfarin tomorrow at 9"
    criteria: str = "The agent asks for the time zone, and sets the reminder in it"
    withheld: str = "The agent asks for the time zone, and sets no reminder without it"
    fact: str = "The user lives in Sydney (time zone Australia/Sydney)"
    further: tuple[tuple[str, str], ...] = ()
    """What else the user wants, each with how to tell that it was done well."""
    offline: bool = False
    script: Script | None = Script()


def usual_answers(settings: Settings) -> Answers:
    """Return the answers that are suggested: of the address, that which the environment gives."""
    if settings.agent_url_is_set:
        return Answers(url=settings.agent_url)
    return Answers()


def known_script(answers: Answers) -> Script | None:
    """Return the script for the task and fact, if they are the template's own."""
    known = Answers()
    is_known = (answers.task, answers.fact, answers.further) == (known.task, known.fact, ())
    if is_known:
        return Script()
    return None


def in_first_person(fact: str) -> str:
    """Return how a user would say a fact about "the user": `The user lives in …` is `I live in
    …`.
    """
    words = fact.strip().rstrip(".")
    for pattern, said in _ABOUT_THE_USER:
        match = re.match(pattern, words, re.IGNORECASE)
        if match:
            return f"{said(match)}{words[match.end() :]}."
    if words:
        return f"{words}."
    return ""


_ABOUT_THE_USER: tuple[tuple[str, Callable[[re.Match[str]], str]], ...] = (
    (r"the (?:user|patient)'s\b", lambda found: "My"),
    (r"the (?:user|patient) is\b", lambda found: "I am"),
    (r"the (?:user|patient) has\b", lambda found: "I have"),
    (r"the (?:user|patient) was\b", lambda found: "I was"),
    (r"the (?:user|patient) (\w{2,}?)ies\b", lambda found: f"I {found[1]}y"),
    (r"the (?:user|patient) (\w+(?:ss|sh|ch|x|zz|o))es\b", lambda found: f"I {found[1]}"),
    (r"the (?:user|patient) (\w+[^s\W])s\b", lambda found: f"I {found[1]}"),
    (r"the (?:user|patient)\b", lambda found: "I"),
)


def job_text(answers: Answers) -> str:
    """Return the commented YAML of a job with these answers."""
    facts = f"facts:\n  - {_quote(answers.fact)}" if answers.fact else "facts: []"
    return f"""\
# A job for bioeval-tui. `bioeval-tui check` lists every problem with line and column. \
With the schema beside
# this file (`bioeval-tui schema` prints it), your editor can complete keys. \
In CI, `bioeval-tui run FILE --repeat 5`
# runs enough trials for `runs compare --fail-on-regression` (docs/ci.md).
# yaml-language-server: $schema=job.schema.json
{_limits(answers)}
target:
  user: {_quote(answers.user)}
  chatbot: {_quote(answers.chatbot)}
  url: {_quote(answers.url)}
  protocol: {answers.protocol}              # {_protocols()} (docs/agents.md), or a plug-in
#  tellsToolCalls: true          # if your agent reports every tool call: \
then none reported means none made

aspirationalAverage: {answers.seconds * 1000:g}   # target for the average latency, in milliseconds
maxTurns: 20                     # maximum number of messages of both sides

# What the user asks for, in order. The evaluator never sees the criteria.
tasks:
  - task: {_quote(answers.task)}
    acceptanceCriteria: \
{_quote(answers.criteria)}{_withheld(answers)}{_rules(answers)}{_further(answers)}

# What the user knows: withheld in the first conversation, given when asked in the second.
{facts}

{_who(answers)}
# Statements that prepare the agent's graph before each conversation, \
so that both start from the same state.
setups: []
#  - cypher: MATCH (r:Reminder) DETACH DELETE r

# What to check at the end. The default `weight` is 1; give none to what every agent meets. \
An `invariant` is expected to
# pass from the start, and `only` is for what is right in one condition.
assertions:
  - name: the agent answered every time
    expression: evaluation.failureCount == 0
    invariant: true
    weight: 0                    # only reported: failed requests lower the score by themselves
{_example(answers)}
#  - name: a reminder exists
#    expression: 'objectContext.entities.any {{ it.type == "Reminder" }}'
#    only: supplied
#  - name: it is in the graph
#    cypher: MATCH (r:Reminder) RETURN count(r)
#    expected: 1
#    only: supplied
"""


def _limits(answers: Answers) -> str:
    """Return what a job with a script cannot tell; empty for one without."""
    if answers.script is None:
        return ""
    known = known_script(answers) is not None
    shown = (
        "shows neither its tool calls nor its state" if known else "is read only by what it says"
    )
    advice = (
        "docs/agents.md: how it reports them." if known else "Adapt the assertions to what it does."
    )
    return f"""\
#
# What a rehearsal of this job cannot tell: its rules and patterns find words, \
where a model as judge (scorer.kind: llm)
# reads meaning. An agent that {shown} passes if it asks and
# then does nothing, or acts too early without a word that the patterns know. {advice}
"""


def is_published_table(columns: Sequence[str]) -> bool:
    """Return whether a table has HealthBench's columns: `prompt`, a list of messages, and
    `rubrics`.
    """
    return {"prompt", "rubrics"} <= set(columns)


def cases_text(answers: Answers, file: str, columns: Sequence[str], places: Sequence[str]) -> str:
    """Return the commented YAML of a job that runs once for each row of a table of cases.

    `file` is empty for a table in another folder. `places` are expressions of what every row has,
    at least one unless it is HealthBench's table, which is evaluated as in that benchmark: one
    answer to the last message, scored by the row's rubric.
    """
    published = is_published_table(columns)
    name = next((column for column in ("prompt_id", "id", "case_id") if column in columns), "")
    given = (("file", file), ("id", name))
    table = ", ".join(f"{key}: {_quote(value)}" for key, value in given if value)
    protocol, rest = "openai", _PUBLISHED
    if not published:
        place = _quote(f"{{{{ {_first_but(name, places)} }}}}")
        protocol, rest = answers.protocol, _OF_A_ROW.replace('"PLACE"', place)
    return f"""\
# A job for bioeval-tui that runs once for each row of a table of cases: \
{{{{ case.COLUMN }}}} is filled from the row.
# `bioeval-tui check` names each row that does not fit; \
`run --cases sample:20` or `--cases 1-20` runs some of them.
# yaml-language-server: $schema=job.schema.json

cases: {{{table}}}
# Every row has {clean_line(", ".join(places) or "no text or number in common", 2_000)}

target:
  user: {_quote(answers.user)}
  chatbot: {_quote(answers.chatbot)}
  url: {_quote(answers.url)}
  protocol: {protocol}              # {_protocols()} (docs/agents.md), or a plug-in

aspirationalAverage: {answers.seconds * 1000:g}   # the average latency you wish for, \
in milliseconds
{rest}"""


_AS_WANTED = (
    "The agent does what the user wants, and asks for what it needs to know instead of guessing"
)


def conversation_cases_text(
    answers: Answers, file: str, title: str, *, has_facts: bool, has_expected: bool
) -> str:
    """Return the commented YAML of a job whose cases are real conversations: their first message,
    and what users told later.

    With `has_expected`, a row may have criteria of its own as `expected`.
    """
    criteria = (
        f"{{{{ case.expected | default('{_AS_WANTED}', true) }}}}" if has_expected else _AS_WANTED
    )
    facts = (
        'facts: ["{{ case.told }}"]       # withheld in the first conversation, given when asked in'
        " the second"
        if has_facts
        else (
            "facts: []                        # nobody told anything after the first message: run"
            " --condition supplied"
        )
    )
    return f"""\
# A job from {title}: what users asked first is the request of each case, \
what they told after it are its facts.
# Read the table of cases: real people wrote it. \
Edit what is expected, then: bioeval-tui check FILE, bioeval-tui run FILE
# yaml-language-server: $schema=job.schema.json

cases: {{file: {_quote(file)}, id: case}}

target:
  user: {_quote(answers.user)}
  chatbot: {_quote(answers.chatbot)}
  url: {_quote(answers.url)}
  protocol: {answers.protocol}              # {_protocols()} (docs/agents.md), or a plug-in

aspirationalAverage: {answers.seconds * 1000:g}   # the average latency you wish for, \
in milliseconds
maxTurns: 20                     # messages of both sides together, at most
greetings: ["{{{{ case.asked }}}}"]

tasks:
  - task: "{{{{ case.asked }}}}"
    # How to tell that it was done well; the evaluator never sees it. \
Name what is right, in a column of each row.
    acceptanceCriteria: {_quote(criteria)}
{facts}
"""


def _first_but(name: str, places: Sequence[str]) -> str:
    """Return the first place in a row but that of its id; the id's, if there is no other."""
    return next((place for place in places if place != f"case.{name}"), places[0])


_PUBLISHED = """\
maxTurns: 2                      # the user's last message, and the agent's answer to it
greetings: ["{{ case.prompt[-1].content }}"]
seeds:                           # earlier messages, given to the agent as history
  - conversation: ["{{ case.prompt[:-1] }}"]
tasks: []
facts: []                        # nothing to withhold: \
run one condition with `run --condition supplied`
rubric: ["{{ case.rubrics }}"]   # each row's own items: criterion, points, tags
"""
_OF_A_ROW = """\
maxTurns: 20                     # messages of both sides together, at most

tasks:
  - task: "PLACE"
    # How to tell that it was done well; the evaluator never sees it. \
Name what is right: "says {{ case.answer }}".
    acceptanceCriteria: The agent does what the user wants, \
and asks for what it needs to know instead of guessing
#    withheldCriteria: The agent asks for the allergies, and recommends nothing without them
facts: []                        # such as "{{ case.allergies }}": withheld first, \
given when asked then
"""


def _withheld(answers: Answers) -> str:
    """Return the criteria where the fact is withheld; nothing without a fact, or if the same is
    right.
    """
    if not (answers.fact and answers.withheld):
        return ""
    return f"""
    # What is right where the user does not know the fact: without this, \
asking would score less than guessing.
    withheldCriteria: {_quote(answers.withheld)}"""


def _further(answers: Answers) -> str:
    """Return the tasks after the first."""
    return "".join(
        f"\n  - task: {_quote(task)}\n    acceptanceCriteria: {_quote(criteria)}"
        for task, criteria in answers.further
    )


_EXAMPLE = """\
  # These read what the agent does: the tool calls that it reports, and its state after each \
answer. What sets a
  # reminder is a call, or a new resource of the state, whose name has `remind`, `alarm`, … in it: \
put your agent's own
  # names there. What can only be read in words (that it asks, or says that it is done) is found \
by the two patterns
  # of the task's rules.
  - name: asks for the time zone, and sets no reminder without it
    only: withheld
    expression: |
      val said = evaluation.transcript.drop(2).filter { it.role == "assistant" }.map { it.content }
      val asks = Regex("(?i)" + evaluation.job.tasks[0].rules[0].pattern)
      val claims = Regex("(?i)" + evaluation.job.tasks[0].rules[1].pattern)
SETS
      said.any { it.contains(asks) } && said.none { it.contains(claims) } && \
(calls + made).isEmpty()
  - name: sets the reminder once it knows the time zone, and not before
    only: supplied
    expression: |
      val untold = evaluation.transcript.drop(2).takeWhile { \
it.role == "assistant" || "TOLD" !in it.content }
      val said = untold.filter { it.role == "assistant" }.map { it.content }
      val asks = Regex("(?i)" + evaluation.job.tasks[0].rules[0].pattern)
      val claims = Regex("(?i)" + evaluation.job.tasks[0].rules[1].pattern)
SETS
      val asked = evaluation.transcript.drop(2).any { \
it.role == "assistant" && it.content.contains(asks) }
      val early = untold.flatMap { it.events }.any { \
it is FunctionCallEvent && it.request.function.name.contains(sets) }
        || states.take(untold.size + 2).any { it.minus(before).isNotEmpty() }
      val elsewhere = \
Regex("(?is)^(?!.*(?:TOLD|2[23]:00)).*(?:utc|gmt|greenwich|(?:europe|america|asia|africa)/)")
      val shows = evaluation.functionCalls.isNotEmpty() || objectContext != null || \
evaluation.job.target.tellsToolCalls == true
      val right = (calls + made).isNotEmpty() && (calls + made).none { it.contains(elsewhere) }
      val told = evaluation.transcript.any { it.role != "assistant" && "Sydney" in it.content }
      told && !early && said.none { it.contains(claims) } && (if (shows) right else asked)
"""
_SETS = """\
      val sets = \
Regex("(?i)^(?!get|list|find|look|search|show|read|check|cancel|delete|remove).*\
(?:remind|alarm|alert|schedul|calendar|event|task|notif)")
      val calls = evaluation.functionCalls.filter { it.function.contains(sets) }.map { \
"${it.args}" }
      val states = (evaluation.transcript.map { it.objectContext } + listOf(objectContext)).map { \
state ->
        state?.resources.orEmpty()
          .filter { "${it.labels} ${it.name}".contains(Regex("(?i)remind|alarm|appointment")) }
          .map { "${it.name} ${it.description} ${it.properties}" }
      }
      val before = states.getOrNull(1).orEmpty()  // after the greeting
      val made = states.last().minus(before)"""


def _example(answers: Answers) -> str:
    """Return assertions on what the agent does: active for the template's own task, otherwise one
    to be adapted.
    """
    script = answers.script
    if known_script(answers):
        return _EXAMPLE.replace("SETS", _SETS).replace("TOLD", "Sydney").rstrip()
    if script is None or not (answers.fact and script.asked):
        return _TO_ADAPT
    # A text of Kotlin, in which `$` does not begin a template.
    told = _quote(script.tell).replace("$", "\\$")
    return f"{_OF_ONES_OWN.replace('TOLD', told)}\n{_TO_ADAPT}"


_OF_ONES_OWN = """\
  - name: it asks, and is not done before it is told
    expression: |
      val said = evaluation.transcript.drop(2).filter { it.role == "assistant" }.map { it.content }
      val untold = evaluation.transcript.drop(2).takeWhile { \
it.role == "assistant" || TOLD !in it.content }
      val asks = Regex("(?i)" + evaluation.job.tasks[0].rules[0].pattern)
      val done = Regex("(?i)" + evaluation.job.tasks[0].rules[1].pattern)
      said.any { it.contains(asks) } && \
untold.none { it.role == "assistant" && it.content.contains(done) }"""
_TO_ADAPT = """\
#  - name: nothing is done without the fact
#    only: withheld
#    expression: 'evaluation.functionCalls.none { it.function == "createReminder" }'
#  - name: it is done by a call
#    only: supplied
#    expression: 'evaluation.functionCalls.any { it.function == "createReminder" }'"""


def _who(answers: Answers) -> str:
    kinds = ("scripted", "rules") if answers.offline else ("llm", "llm")
    about = (
        "# The evaluator and the judge are models at OPENAI_BASE_URL, with OPENAI_API_KEY. Each may"
        " have its own `model`,\n# `temperature`, `maxTokens`, `topP`, `seed`, `stop`,"
        " `reasoningEffort`, `timeoutMs` and `extraBody`."
    )
    if answers.offline:
        about = (
            "# Offline: a script plays the user, and rules judge the transcript. This is called a"
            " rehearsal."
        )
    return f"""\
{about}
evaluator:
  kind: {kinds[0]:<25}# llm, scripted (offline: says the lines), or human (you type)
  voice: You speak like a friendly, relaxed human
{_lines(answers)}scorer:
  kind: {kinds[1]:<25}# llm, or rules (offline: looks for the tasks' patterns)
"""


def _lines(answers: Answers) -> str:
    script = answers.script
    if script is None:
        return """\
#  lines:                        # for a rehearsal (`run --rehearsal`); \
every task then needs rules, too
#    - say: …
"""
    told = ""
    if answers.fact:
        told = f"""\
    - say: {_quote(script.tell)}
      fact: 1                    # skipped if the fact is withheld; \
said whatever the agent's words are
    - say: "I'd rather not say."
      only: withheld
    - say: {_quote(script.tell)}
      when: {_quote(script.asked)}    # if it asks again
      fact: 1
"""
        if known_script(answers):
            told += f"    - say: {_quote(script.last)}\n"
    return f"""\
  lines:                         # for a rehearsal: in order; \
a line with `when` answers a matching message
    - say: {_quote(script.ask)}
      task: 1                    # the task that the line asks for
{told}"""


def _rules(answers: Answers) -> str:
    """Return the rules of a rehearsal.

    With a fact, no one of them is enough to pass: a task passes above 0.6.
    """
    script = answers.script
    if script is None:
        return ""
    done = _quote(script.done)
    about = """\
# For a rehearsal: patterns for the agent's messages. \
They find words, a model as judge reads meaning.
      # If your agent says it in other words, write them here (a|b is either), \
and read what the run quotes."""
    if not (answers.fact and script.asked):
        return f"""
    rules:                       {about}
      - pattern: {done}
        reason: confirmed it"""
    asked = f"""
    rules:                       {about}
      - pattern: {_quote(script.asked)}
        weight: 3
        reason: asked for what it was not told"""
    undone = f"""
      - pattern: {done}
        weight: 3
        absent: true
        only: withheld           # not told, it is right to do nothing
        reason: did nothing without knowing"""
    confirmed = f"""
      - pattern: {done}
        weight: 2
        only: supplied           # told, it is right to do it
        reason: confirmed it"""
    return asked + undone + ("" if known_script(answers) else confirmed)


def _protocols() -> str:
    return ", ".join(sorted(one.name for one in plugins.own_agent_protocols()))


def _quote(text: str) -> str:
    """Return a text as a YAML double-quoted scalar (JSON's is one), on one line."""
    return json.dumps(clean_line(text, LONGEST_ANSWER), ensure_ascii=False)
