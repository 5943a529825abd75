"""The evaluation job, as embabel-agent-eval publishes it (camelCase in YAML), with this program's extensions."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    Tag,
    model_validator,
)
from pydantic.alias_generators import to_camel, to_snake
from pydantic_core import PydanticCustomError

from bioeval_tui.evaluate.tool_calls import tool_calls_text
from bioeval_tui.record.events import MET_ABOVE

DEFAULT_SIGNOFF = "So Long, and Thanks for All the Fish"
SCORE_PROMPT, RUBRIC_PROMPT = "eval/score", "eval/rubric"
DEFAULT_GREETINGS = ("Hello", "Hi", "Greetings", "Yo", "Hey")

Unit = Annotated[float, Field(ge=0, le=1)]
Temperature = Annotated[float, Field(ge=0, le=2)]
Positive = Annotated[float, Field(gt=0, le=1e9)]
Text = Annotated[str, Field(min_length=1)]
VariableName = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]
FunctionName = Annotated[str, Field(pattern=r"^[A-Za-z_][\w.]*:[A-Za-z_][\w.]*$")]
_HEADER = r"^[A-Za-z0-9!#$%&'*+.^_`|~-]+$"
_SECRET_HEADERS = frozenset({"authorization", "proxy-authorization", "cookie", "x-api-key", "api-key"})
_OUR_HEADERS = frozenset(
    {"host", "content-length", "content-type", "transfer-encoding", "connection", "upgrade", "te", "trailer",
     "expect", "accept", "accept-encoding"}
)  # fmt: skip


def _no_header_of_ours(name: str) -> str:
    if name.lower() in _OUR_HEADERS:
        raise PydanticCustomError("header", "this header is set by the program itself")
    return name


def _no_secret_header(name: str) -> str:
    if name.lower() in _SECRET_HEADERS:
        raise PydanticCustomError(
            "header",
            "a job is written down and passed on: name the variable that holds this value in `headersEnv`",
        )
    return _no_header_of_ours(name)


HeaderName = Annotated[str, Field(pattern=_HEADER), AfterValidator(_no_secret_header)]
HeaderOfSecret = Annotated[str, Field(pattern=_HEADER), AfterValidator(_no_header_of_ours)]
HeaderValue = Annotated[str, Field(pattern=r"^[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?$")]
HeaderFrom = Annotated[str, Field(pattern=r"^([A-Za-z][A-Za-z0-9-]* )?[A-Za-z_][A-Za-z0-9_]*$")]
Api = Literal["chat", "responses"]
# YAML reads a bare `off` as false.
GuardMode = Annotated[
    Literal["off", "mark", "strict"], BeforeValidator(lambda value: "off" if value is False else value)
]
MedalName = Literal["bronze", "silver", "gold", "above_median"]


class JobPart(BaseModel):
    """Base of every part: strict types, no unknown keys, immutable."""

    model_config = ConfigDict(
        strict=True,
        allow_inf_nan=False,
        extra="forbid",
        frozen=True,
        alias_generator=to_camel,
        validate_by_name=True,
        validate_by_alias=True,
    )


class ScriptLine(JobPart):
    """One line of a scripted evaluator.

    With `when`, it answers an agent's message in which that pattern is found; otherwise lines are said in
    order. A line with `fact` (counting from 1) discloses that fact, so it is said only where facts are supplied.
    """

    say: Text
    """What the user says."""
    when: str | None = None
    """A pattern; the line answers the message of the agent in which it is found."""
    fact: Annotated[int, Field(ge=1)] | None = None
    """The fact (from 1) that the line gives: said only where facts are supplied."""


class ModelEndpoint(JobPart):
    """Which model is asked and where.

    `api_key_env` is the name of the environment variable that holds the key, never the key itself. A `url` to which
    the environment binds no key is asked only with `--allow-host`.
    """

    model: Text | None = None
    """The model."""
    url: Text | None = None
    """The address of its endpoint, in place of the one that the environment names."""
    api_key_env: VariableName | None = None
    """The environment variable that holds its key."""
    api: Api = "chat"
    """Chat completions (chat) or the Responses API (responses)."""


class EvaluatorConfig(ModelEndpoint):
    """Who plays the user, and how. `kind` may name a plug-in, too.

    `guards` says what becomes of a message that a guard objects to, where a model plays the user.
    """

    name: Text = "Socrates"
    """How the simulated user is called on screen and in reports."""
    voice: str = "You speak like a friendly, relaxed human"
    """How it speaks: a sentence of its prompt."""
    prompt: Text = "eval/socrates"
    """The prompt's template, looked for beside the job, then in the program."""
    temperature: Temperature = 0.5
    """The model's temperature."""
    signoff: Text = DEFAULT_SIGNOFF
    """The words that end the conversation; they are not sent to the agent."""
    kind: Literal["llm", "scripted", "human"] | Text = "llm"
    """Who plays the user: a model (llm), the `lines` (scripted), a person (human), or a plug-in by its name."""
    model: Text | None = None
    """The model that plays the user; BIOEVAL_EVALUATOR_MODEL where it is left out."""
    lines: tuple[ScriptLine, ...] = ()
    """What a scripted user says."""
    options: dict[str, Any] = {}
    """With a plug-in: what it is told besides, as it documents it."""
    guards: GuardMode = "mark"
    """What becomes of messages in which a model leaves its part: nothing (off), a mark (mark), or said again (strict)."""


class ToolConfig(JobPart):
    """A tool that the job offers to the agent and answers itself, in one of four ways."""

    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9_.-]{1,64}$")]
    """The tool's name."""
    description: str = ""
    """What it does, as the agent is told."""
    parameters: dict[str, Any] = {"type": "object", "properties": {}}
    """The JSON Schema of its arguments."""
    answer: Any = None
    """What it always answers: a text, or anything that JSON can say."""
    template: str | None = None
    """What it answers, as a Jinja template in which the arguments stand by name (and all of them as `arguments`)."""
    function: FunctionName | None = None
    """What answers: a Python function as `module:function`, called with `arguments`."""
    error: Text | None = None
    """With what it always fails."""

    @model_validator(mode="after")
    def _answers_in_one_way(self) -> ToolConfig:
        if sum(way is not None for way in (self.answer, self.template, self.function, self.error)) != 1:
            raise PydanticCustomError(
                "tool_answers", "a tool needs one of the keys `answer`, `template`, `function` or `error`"
            )
        return self


class TargetConfig(JobPart):
    """The agent under test. docs/agents.md says which keys go with which protocol."""

    user: Text
    """The user's name, as the agent knows it."""
    chatbot: Text
    """The chatbot's name, as the agent knows it."""
    url: Text | None = None
    """The agent's address; --agent-url wins, BIOEVAL_AGENT_URL is next."""
    protocol: str = "rest"
    """How the agent is spoken to: rest (the embabel-agent-eval API), openai (chat completions or the Responses API), a2a, ag-ui, python, or a plug-in by its name."""
    model: Text | None = None
    """The agent's model; --model wins."""
    knowledge_url: Text | None = None
    """Where text seeds go; BIOEVAL_KNOWLEDGE_URL where it is left out."""
    object_context_url: Text | None = None
    """Where the state of an agent is read that does not speak rest; {sessionId} in it is filled in."""
    system_prompt: Text | None = None
    """With openai and ag-ui: the system prompt."""
    timeout_ms: Positive | None = None
    """How long the agent has for one whole answer, in milliseconds (180,000)."""
    api_key_env: VariableName | None = None
    """The environment variable that holds the agent's key, in place of BIOEVAL_AGENT_API_KEY."""
    api: Api = "chat"
    """With openai: chat completions (chat) or the Responses API (responses)."""
    headers: dict[HeaderName, HeaderValue] = {}
    """Headers that go out with every request, as they stand here; for secrets there is headersEnv."""
    headers_env: dict[HeaderOfSecret, HeaderFrom] = {}
    """Headers whose values are secrets: the environment variable that holds each, if need be after a word: `Bearer MY_TOKEN`."""
    streaming: bool = True
    """Whether the agent is asked to stream its answers."""
    extra_body: dict[str, Any] = {}
    """With openai: what else goes into the body of every request."""
    tools: tuple[ToolConfig, ...] = ()
    """With openai and ag-ui: tools that the agent may call and that the job answers."""
    function: FunctionName | None = None
    """With python: the agent, as `module:function`."""
    tells_tool_calls: bool = False
    """The agent tells every tool call: where it told none, it made none."""
    options: dict[str, Any] = {}
    """With python or a plug-in: what the agent is told besides, as it documents it."""


class ScorerConfig(ModelEndpoint):
    """The judge (the published key is `scorer`). `kind` may name a plug-in, too."""

    prompt: Text = SCORE_PROMPT
    """The prompt's template, looked for beside the job, then in the program; with a rubric eval/rubric where it is left out."""
    temperature: Temperature = 0.0
    """The model's temperature."""
    kind: Literal["llm", "rules"] | Text = "llm"
    """Who judges: a model (llm), the `rules` of the tasks (rules), or a plug-in by its name."""
    model: Text | tuple[Text, ...] | None = None  # type: ignore[assignment]  # or a panel of them
    """The model that judges, or a list of them, a panel; BIOEVAL_JUDGE_MODEL where it is left out."""
    repeats: Annotated[int, Field(ge=1, le=25)] = 1
    """How often each model judges; the median counts."""
    options: dict[str, Any] = {}
    """With a plug-in: what it is told besides, as it documents it."""
    context: Literal["none", "tools", "all"] = "tools"
    """What the judge sees besides the words: nothing, the agent's tool calls, or events and states as well."""
    evidence: Literal["mark", "require"] = "mark"
    """What becomes of a verdict whose quotation the judge was not shown: marked, or not measured."""


class TelemetryConfig(JobPart):
    """Spans that the agent tells by OpenTelemetry are received, as with `run --otlp`."""

    port: Annotated[int, Field(ge=0, le=65_535)] = 4318
    """Where on 127.0.0.1 OTLP over HTTP is received; 0 takes a free port. --otlp wins."""
    wait_ms: Annotated[float, Field(ge=0, le=600_000)] = 6_000.0
    """How long spans are awaited after the last answer before the conversation is checked, in milliseconds."""


def _only_a_gap(text: str) -> str:
    if not text.strip().startswith("{{") or not text.strip().endswith("}}"):
        raise PydanticCustomError(
            "gap", "must be a mapping of keys or, in a job with cases, a gap such as `{{ case.messages }}`"
        )
    return text


def _item_or_gap(value: Any) -> str:
    return GAP if isinstance(value, str) else ITEM


ITEM, GAP = "(item)", "(gap)"
_ITEM_OR_GAP = Discriminator(_item_or_gap)
_Gap = Annotated[str, AfterValidator(_only_a_gap), Tag(GAP)]


class SeedMessage(JobPart):
    """One message of a conversation seed."""

    content: Text
    """What was said."""
    role: Literal["user", "assistant"] = "user"
    """Who said it."""


SeedMessageOrGap = Annotated[Annotated[SeedMessage, Tag(ITEM)] | _Gap, _ITEM_OR_GAP]


class TextSeed(JobPart):
    """A text for the agent's knowledge service."""

    text: Text
    """A text for the agent's knowledge service."""


class ConversationSeed(JobPart):
    """Messages that are replayed before the conversation begins."""

    conversation: Annotated[tuple[SeedMessageOrGap, ...], Field(min_length=1)]
    """Messages that the agent is told before the greeting; with cases, also a gap that a list of them fills."""

    @property
    def messages(self) -> tuple[SeedMessage, ...]:
        """The messages, without gaps."""
        return tuple(message for message in self.conversation if isinstance(message, SeedMessage))


class Setup(JobPart):
    """A Cypher statement that prepares the graph before each condition."""

    cypher: Text
    """A Cypher statement that prepares the graph; it may write."""


class RuleConfig(JobPart):
    """One thing the rules judge looks for in the transcript.

    `pattern` is searched (case-insensitive) in messages of `who`; `absent` turns it round: the rule
    holds when the pattern is nowhere.
    """

    pattern: Text
    """A regular expression that is looked for, whatever the case."""
    who: Literal["agent", "user"] = "agent"
    """In whose messages it is looked for."""
    absent: bool = False
    """The rule holds where the pattern is nowhere."""
    weight: Positive = 1.0
    """How much the rule counts among the task's rules."""
    reason: str = ""
    """What is said of the rule in the verdict."""


class JobTask(JobPart):
    """Something to ask the agent for."""

    task: Text
    """What the user wants from the agent."""
    type: Literal["task", "question"] = "task"
    """Something to be done, or a question."""
    acceptance_criteria: str = ""
    """How the judge can tell that it was done well; the evaluator never sees it."""
    rules: tuple[RuleConfig, ...] = ()
    """What the rules judge looks for."""
    pass_above: Unit = 0.6
    """The task counts as passed above this score."""


class RubricItem(JobPart):
    """A criterion of a rubric: what the judge says of it is whether it is met."""

    criterion: Text
    """What must be so for the item to be met."""
    points: Annotated[float, Field(ge=-1000, le=1000)]
    """What it is worth where it is met; less than 0 for what the agent must not do."""
    tags: tuple[Text, ...] = ()
    """Under which names its points are summed up besides, such as `axis:accuracy`."""
    rules: tuple[RuleConfig, ...] = ()
    """What the rules judge looks for."""

    @model_validator(mode="after")
    def _counts(self) -> RubricItem:
        if not self.points:
            raise PydanticCustomError(
                "points", "`points` must not be 0: such an item would count for nothing"
            )
        return self


RubricItemOrGap = Annotated[Annotated[RubricItem, Tag(ITEM)] | _Gap, _ITEM_OR_GAP]


class Persona(JobPart):
    """Who the simulated user is, besides what it wants and knows. Each case is held with each persona."""

    name: Text
    """How it is called on screen and in reports."""
    voice: Text | None = None
    """How it speaks, in the place of the evaluator's `voice`."""
    patience: Literal["low", "usual", "high"] = "usual"
    """How soon it loses patience with questions and long answers."""
    literacy: Literal["low", "usual", "high"] = "usual"
    """How well it knows the words of the field."""
    language: Text | None = None
    """The language that it writes, such as Spanish."""
    tells: Literal["asked", "some", "all"] = "asked"
    """What it says of its facts: what it is asked for, some unasked, or all of them at the first occasion."""

    def manner(self, voice: str) -> str:
        """Return how it speaks, in sentences of a prompt, given the evaluator's own `voice`."""
        told = [self.voice or voice, _PATIENCE.get(self.patience), _LITERACY.get(self.literacy)]
        if self.language:
            told.append(f"You write {self.language} and no other language")
        return ". ".join(sentence.strip(". ") for sentence in told if sentence)


_PATIENCE = {
    "low": "You have little patience: you answer in a few words, and long answers or many questions annoy you",
    "high": "You have all the time in the world and answer every question at length",
}
_LITERACY = {
    "low": "You do not know technical terms: you use everyday words, and ask what a term means when the chatbot uses one",
    "high": "You know the field well and use its technical terms",
}


class CasesConfig(JobPart):
    """Rows of a table, each of which fills the gaps in the job's texts: `{{ case.COLUMN }}`."""

    file: Text | None = None
    """A CSV, JSONL or Parquet file in the job's folder; --cases-file wins."""
    id: Text | None = None
    """The column with each case's id; the number of the row where it is left out."""


class AssertionPart(JobPart):
    """What every assertion has.

    An `invariant` is meant to hold from the start ("nothing was deleted"); that it does proves nothing, and
    does not make a run unclean.
    """

    weight: Positive = 1.0
    """How much the assertion counts in the score's assertion part."""
    name: Text | None = None
    """How it is called on screen and in reports."""
    timeline: bool = True
    """Check it after each turn as well, not at the end alone."""
    invariant: bool = False
    """It is meant to hold from the start; that it does marks no run as not clean."""


class ExpressionAssertion(AssertionPart):
    """A condition over `objectContext` and `evaluation`."""

    expression: Text
    """A condition in the published Kotlin subset over objectContext and evaluation."""

    @property
    def title(self) -> str:
        """The published name, or the given one."""
        return self.name or f"ObjectContextAssertion: {self.expression}"


class CypherAssertion(AssertionPart):
    """A query whose only value must equal `expected`."""

    cypher: Text
    """A query that only reads; the first value of its only row is compared."""
    expected: Any
    """What that value must equal."""

    @property
    def title(self) -> str:
        """The published name, or the given one."""
        return self.name or f"CypherAssertion: {self.cypher}"


class MedalAssertion(AssertionPart):
    """A file that the agent left must reach a medal on a machine-learning task."""

    medal: MedalName
    """The medal that must be reached."""
    task: Text
    """The machine-learning task, as `bioeval-tui tasks` lists it."""
    submission: Text
    """The file that the agent leaves."""

    @property
    def title(self) -> str:
        """The given name, or what is asked for."""
        return self.name or f"MedalAssertion: {self.medal} on {self.task}"


class CallConfig(JobPart):
    """A tool call as it is expected."""

    name: Text
    """The tool's name."""
    arguments: dict[str, Any] | None = None
    """Its arguments; without it, any."""
    compare: Literal["some", "exact"] = "some"
    """Whether the call may have more arguments than these (some) or not (exact)."""
    where: Text | None = None
    """A condition on the call, as in an expression: `it.args["dose"] == 5`."""


def _one_call(value: Any) -> Any:
    return {"name": value} if isinstance(value, str) else value


def _most_calls(value: Any) -> Any:
    return {"*": value} if isinstance(value, int) and not isinstance(value, bool) else value


ExpectedCall = Annotated[CallConfig, BeforeValidator(_one_call, json_schema_input_type=str | CallConfig)]
CallCount = Annotated[int, Field(ge=0)]
MostCalls = Annotated[
    dict[Text, CallCount],
    BeforeValidator(_most_calls, json_schema_input_type=CallCount | dict[str, CallCount]),
]


class ToolCallsConfig(JobPart):
    """What must be true of the agent's tool calls: all of the keys that are given."""

    calls: tuple[ExpectedCall, ...] | None = None
    """The calls that are expected; a name alone is a call with any arguments. `match` says how they are compared."""
    match: Literal["strict", "unordered", "subset", "superset"] = "strict"
    """The agent made these calls and no others, in this order (strict) or any (unordered); none besides these (subset); all of these (superset)."""
    must_call: tuple[ExpectedCall, ...] = ()
    """Each of these calls is made at least once."""
    must_not_call: tuple[ExpectedCall, ...] = ()
    """None of these calls is made."""
    order: tuple[Text, ...] = ()
    """Tools whose first calls come in this order."""
    max_calls: MostCalls = {}
    """The most calls: a number for all together, or a mapping of numbers by tool."""
    no_errors: bool = False
    """No call fails, as far as results are told."""
    turn: Annotated[int, Field(ge=1)] | Literal["each"] | None = None
    """Of which turn: a number (the user's first message is 1), or each by itself; without it the whole conversation."""

    @model_validator(mode="after")
    def _asks_for_something(self) -> ToolCallsConfig:
        rest = (self.must_call, self.must_not_call, self.order, self.max_calls, self.no_errors)
        if self.calls is None and not any(rest):
            raise PydanticCustomError(
                "tool_calls",
                "one of the keys `calls`, `mustCall`, `mustNotCall`, `order`, `maxCalls`, `noErrors` is needed",
            )
        return self


class ToolCallsAssertion(AssertionPart):
    """What the agent's tool calls must be, whatever protocol told of them."""

    tool_calls: ToolCallsConfig
    """What must be true of them."""

    @property
    def title(self) -> str:
        """The given name, or what is asked for."""
        asked = self.tool_calls.model_dump(mode="json", by_alias=True)
        return self.name or f"ToolCallsAssertion: {tool_calls_text(asked)}"


def _kind_of(*keys: str) -> Discriminator:
    def choose(value: Any) -> str | None:
        if isinstance(value, BaseModel):
            return next((key for key in keys if to_snake(key) in type(value).model_fields), None)
        return next((key for key in keys if isinstance(value, dict) and key in value), None)

    expected = " or ".join(f"`{key}`" for key in keys)
    return Discriminator(
        choose, custom_error_type="kind_unknown", custom_error_message=f"one of the keys {expected} is needed"
    )


Seed = Annotated[
    Annotated[TextSeed, Tag("text")] | Annotated[ConversationSeed, Tag("conversation")],
    _kind_of("text", "conversation"),
]
Assertion = Annotated[
    Annotated[ExpressionAssertion, Tag("expression")]
    | Annotated[CypherAssertion, Tag("cypher")]
    | Annotated[MedalAssertion, Tag("medal")]
    | Annotated[ToolCallsAssertion, Tag("toolCalls")],
    _kind_of("expression", "cypher", "medal", "toolCalls"),
]


def _one_file(value: Any) -> Any:
    return {"file": value} if isinstance(value, str) else value


class EvaluationJob(JobPart):
    """What to evaluate. `aspirational_average` is the wished-for average latency in milliseconds.

    `compat` says how assertions read the state where readings differ: `embabel` exactly as published, `v0.1` as
    version 0.1 of this program. Without it they read as published, and more is understood.
    """

    target: TargetConfig
    """The agent under test."""
    aspirational_average: Positive
    """The average latency that you wish for, in milliseconds."""
    tasks: tuple[JobTask, ...]
    """What the user asks for, in this order."""
    facts: tuple[Text, ...]
    """What the user knows: withheld in the first conversation, given when asked in the second."""
    evaluator: EvaluatorConfig = EvaluatorConfig()
    """Who plays the user, and how."""
    scorer: ScorerConfig = ScorerConfig()
    """Who judges the transcript, and how."""
    max_turns: Annotated[int, Field(ge=2, le=100_000)] = 20
    """Most messages of both sides together; while there are fewer, each side says one more."""
    greetings: Annotated[tuple[Text, ...], Field(min_length=1)] = DEFAULT_GREETINGS
    """First words of the user; one is drawn."""
    seeds: tuple[Seed, ...] = ()
    """What the agent is told before the greeting: texts and earlier conversations."""
    setups: tuple[Setup, ...] = ()
    """Statements that prepare the graph before each conversation."""
    assertions: tuple[Assertion, ...] = ()
    """What must hold at the end: conditions, Cypher queries, medals, tool calls."""
    seed: int | None = None
    """Seed of everything that is drawn."""
    order: Literal["withheld-first", "supplied-first", "random"] | None = None
    """Which condition comes first."""
    telemetry: TelemetryConfig | None = None
    """Receive the agent's spans (OpenTelemetry); docs/traces.md says how."""
    sensitive: bool = False
    """Refuse every host but this machine."""
    rubric: tuple[RubricItemOrGap, ...] = ()
    """What the judge scores in the place of the tasks: items with points; with cases, also a gap that a list of them fills."""
    cases: Annotated[
        CasesConfig | None, BeforeValidator(_one_file, json_schema_input_type=str | CasesConfig | None)
    ] = None
    """A file whose rows fill the gaps in the job's texts: the job is held once with each."""
    personas: tuple[Persona, ...] = ()
    """Who the simulated user is: the job is held once with each."""
    compat: Literal["embabel", "v0.1"] | None = None
    """How assertions read the state where readings differ: exactly as published, or as version 0.1 of this program."""

    @model_validator(mode="after")
    def _has_distinct_personas_and_points(self) -> EvaluationJob:
        names = [persona.name for persona in self.personas]
        if twice := next((name for name in names if names.count(name) > 1), None):
            raise PydanticCustomError(
                "personas", f"`personas`: two are called {twice!r}; give each a name of its own"
            )
        items = [item for item in self.rubric if isinstance(item, RubricItem)]
        if self.rubric and len(items) == len(self.rubric) and all(item.points < 0 for item in items):
            raise PydanticCustomError("rubric", "`rubric`: at least one item needs points above 0")
        return self

    @property
    def judged(self) -> tuple[JobTask, ...]:
        """What the judge scores: the tasks or, where there is a rubric, its items."""
        if not self.rubric:
            return self.tasks
        items = (item for item in self.rubric if isinstance(item, RubricItem))
        return tuple(JobTask(task=item.criterion, rules=item.rules, pass_above=MET_ABOVE) for item in items)

    @property
    def max_messages(self) -> int:
        """The most messages in a transcript: while there are fewer than `maxTurns`, user and agent say one more each."""
        return self.max_turns + self.max_turns % 2
