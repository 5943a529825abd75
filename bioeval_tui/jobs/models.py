"""The evaluation job, as embabel-agent-eval publishes it (camelCase in YAML), with this program's
extensions.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal, Self, get_args

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

from bioeval_tui import plugins
from bioeval_tui.base.hosts import HEADER_NAME, OUR_HEADERS
from bioeval_tui.base.text import clean_line
from bioeval_tui.record.cases import MET_ABOVE
from bioeval_tui.record.condition_names import Condition, counts_in
from bioeval_tui.record.conditions import (
    PUBLISHED,
    ConditionConfig,
    ConditionList,
    ConditionName,
    Order,
    named,
    with_placebo,
)
from bioeval_tui.record.persona_facts import HeldUntil, value_pattern
from bioeval_tui.record.tool_calls import InjectedFailure, tool_calls_text

DEFAULT_SIGNOFF = "So Long, and Thanks for All the Fish"
SCORE_PROMPT, RUBRIC_PROMPT = "eval/score", "eval/rubric"
DEFAULT_GREETINGS = ("Hello", "Hi", "Greetings", "Yo", "Hey")

Unit = Annotated[float, Field(ge=0, le=1)]
Temperature = Annotated[float, Field(ge=0, le=2)]
Positive = Annotated[float, Field(gt=0, le=1e9)]
Text = Annotated[str, Field(min_length=1)]
VariableName = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]
FunctionName = Annotated[str, Field(pattern=r"^[A-Za-z_][\w.]*:[A-Za-z_][\w.]*$")]
_SECRET_HEADERS = frozenset(
    {"authorization", "proxy-authorization", "cookie", "x-api-key", "api-key"}
)


def _no_header_of_ours(name: str) -> str:
    if name.lower() in OUR_HEADERS:
        raise PydanticCustomError("header", "this header is set by the program itself")
    return name


def _no_secret_header(name: str) -> str:
    if name.lower() in _SECRET_HEADERS:
        raise PydanticCustomError(
            "header",
            "a job must not contain secrets: name the variable with this value in `headersEnv`",
        )
    return _no_header_of_ours(name)


HeaderName = Annotated[str, Field(pattern=HEADER_NAME), AfterValidator(_no_secret_header)]
HeaderOfSecret = Annotated[str, Field(pattern=HEADER_NAME), AfterValidator(_no_header_of_ours)]
HeaderValue = Annotated[str, Field(pattern=r"^[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?$")]
HeaderFrom = Annotated[str, Field(pattern=r"^([A-Za-z][A-Za-z0-9-]* )?[A-Za-z_][A-Za-z0-9_]*$")]
Api = Literal["chat", "responses"]
ReasoningEffort = Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"]
# YAML reads a bare `off` as false.
GuardMode = Annotated[
    Literal["off", "mark", "strict"],
    BeforeValidator(lambda value: "off" if value is False else value),
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
        defer_build=True,  # a job's parts are built with the job, not each when it is imported
    )


class OfCondition(JobPart):
    """What can be meant for one of the conditions."""

    only: ConditionName | None = None
    """The only condition in which it counts, such as withheld or supplied; the default is all."""

    def applies(self, condition: Condition) -> bool:
        """Return whether it counts in a condition."""
        return counts_in(self.only, condition)


class ScriptLine(OfCondition):
    """One line of a scripted evaluator.

    With `when`, it answers an agent's message in which that pattern is found; otherwise lines are
    said in order. A line with `fact` (counting from 1) discloses that fact, so it is said only
    where facts are supplied. With `only`, a line is said in that condition only.
    """

    say: Text
    """What the user says."""
    when: str | None = None
    """A pattern. The line answers an agent's message that contains it."""
    fact: Annotated[int, Field(ge=1)] | None = None
    """The number (from 1) of the fact that the line gives; it is said only if facts are supplied.
    """
    task: Annotated[int, Field(ge=1)] | None = None
    """The number (from 1) of the task that the line asks for.

    A task of which no such line is said was never asked for.
    """


class ModelOptions(JobPart):
    """What a request asks of a model besides its messages.

    What a job leaves out, the model's server decides.
    """

    temperature: Temperature | None = None
    """The model's temperature."""
    top_p: Annotated[float, Field(gt=0, le=1)] | None = None
    """The probability mass from which tokens are drawn (nucleus sampling)."""
    max_tokens: Annotated[int, Field(ge=1, le=100_000_000)] | None = None
    """The maximum number of tokens of one answer, reasoning included."""
    seed: Annotated[int, Field(ge=0, le=2**62)] | None = None
    """The model's random seed in the first trial.

    Each later trial, and each repeat of a judge, uses the next number.
    """
    stop: Annotated[tuple[Text, ...], Field(max_length=16)] = ()
    """Texts at which the model stops writing."""
    reasoning_effort: ReasoningEffort | None = None
    """How much a reasoning model thinks before it answers."""
    timeout_ms: Positive | None = None
    """The timeout for a complete answer, in milliseconds; the default of a model is
    BIOEVAL_MODEL_TIMEOUT_S, of an agent 180,000.
    """
    extra_body: dict[str, Any] = {}
    """Additional keys for the body of every request."""
    streaming: bool = True
    """Whether to ask for the answer in pieces, as it is written; a judge's is asked for whole
    unless the job says so.
    """

    def given_options(self) -> dict[str, Any]:
        """Return what is set of these options, under the keys of a job."""
        own = set(ModelOptions.model_fields) - {"streaming"}
        options = self.model_dump(mode="json", by_alias=True, include=own)
        return {key: value for key, value in options.items() if value not in (None, [], {})}

    def seeded(self, number: int) -> Self:
        """Return the options for the repeat with that number, from 1; each has its own seed."""
        if self.seed is None:
            return self
        return self.model_copy(update={"seed": self.seed + number - 1})


NO_OPTIONS = ModelOptions()


class ModelEndpoint(ModelOptions):
    """A model and its endpoint.

    `api_key_env` is the name of the environment variable with the key, never the key itself. A
    `url` without a key for its host in the environment is called only with `--allow-host`.
    """

    model: Text | None = None
    """The model."""
    url: Text | None = None
    """The URL of its endpoint; the default comes from the environment."""
    api_key_env: VariableName | None = None
    """The name of the environment variable with its key."""
    api: Api = "chat"
    """Chat completions (chat) or the Responses API (responses)."""


class EvaluatorConfig(ModelEndpoint):
    """The evaluator, which plays the user. `kind` may also name a plug-in.

    `guards` says what happens to a message that a guard objects to, if a model plays the user.
    """

    name: Text = "Socrates"
    """The simulated user's name on screen and in reports."""
    voice: str = "You speak like a friendly, relaxed human"
    """How the simulated user speaks: a sentence in its prompt."""
    prompt: Text = "eval/socrates"
    """The prompt's template: a file beside the job, or a template in the package."""
    temperature: Temperature = 0.5
    """The model's temperature."""
    signoff: Text = DEFAULT_SIGNOFF
    """The text that ends the conversation; it is not sent to the agent."""
    kind: Literal["llm", "scripted", "human"] | Text = "llm"
    """Who plays the user: a model (llm), the `lines` (scripted), a person (human), or the name of a
    plug-in.
    """
    model: Text | tuple[Text, ...] | None = None  # type: ignore[assignment]  # or several users
    """The model that plays the user, or a list of models, with each of which each trial is held;
    the default is BIOEVAL_EVALUATOR_MODEL.
    """
    lines: tuple[ScriptLine, ...] = ()
    """The lines of a scripted user."""
    options: dict[str, Any] = {}
    """Options for a plug-in; see its documentation."""
    max_message_length: Annotated[int, Field(ge=50, le=100_000)] = 1500
    """The maximum number of characters of a model's message.

    A longer one is stopped and asked for once more.
    """
    guards: GuardMode = "mark"
    """What to do if the model leaves its role: nothing (off), mark the message (mark), or ask for
    it again (strict).
    """


class ToolFailure(JobPart):
    """How a tool fails in some of its calls, which are the same in every condition of a trial."""

    how: InjectedFailure
    """What goes wrong: no answer (timeout), the first half of it (truncated), a value of another
    type (wrong_type), or an answer that is ready only when the same call is made again (delayed).
    """
    share: Unit | None = None
    """The share of its calls that fail, drawn with the seed."""
    calls: tuple[Annotated[int, Field(ge=1)], ...] = ()
    """Which calls fail: their numbers in the conversation, counted for each tool from 1."""

    @model_validator(mode="after")
    def _says_how_often(self) -> ToolFailure:
        if (self.share is None) == (not self.calls):
            raise PydanticCustomError(
                "tool_failure", "a failure needs `share` or `calls`, and not both"
            )
        return self


ONE, SEVERAL = "(one)", "(several)"


def _one_or_several(value: Any) -> str:
    if isinstance(value, list | tuple):
        return SEVERAL
    return ONE


ToolFailures = Annotated[
    Annotated[ToolFailure, Tag(ONE)] | Annotated[tuple[ToolFailure, ...], Tag(SEVERAL)],
    Discriminator(_one_or_several),
]


class ToolConfig(JobPart):
    """A tool that the job offers to the agent and answers itself, in one of four ways."""

    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9_.-]{1,64}$")]
    """The tool's name."""
    description: str = ""
    """A description for the agent."""
    parameters: dict[str, Any] = {"type": "object", "properties": {}}
    """The JSON Schema of its arguments."""
    answer: Any = None
    """A fixed answer: text or JSON."""
    template: str | None = None
    """A Jinja template of the answer; variables are the arguments by name, and `arguments`."""
    function: FunctionName | None = None
    """A Python function that answers, as `module:function`; it is called with `arguments`."""
    error: Text | None = None
    """An error message: the tool always fails with it."""
    fails: ToolFailures = ()
    """How the tool fails in some calls instead of answering, and how often; of several, the first
    that meets a call.
    """

    @property
    def failures(self) -> tuple[ToolFailure, ...]:
        """How it fails, as a list."""
        if isinstance(self.fails, ToolFailure):
            return (self.fails,)
        return self.fails

    @model_validator(mode="after")
    def _answers_in_one_way(self) -> ToolConfig:
        if (
            sum(way is not None for way in (self.answer, self.template, self.function, self.error))
            != 1
        ):
            raise PydanticCustomError(
                "tool_answers", "a tool needs `answer`, `template`, `function` or `error`"
            )
        if self.failures and self.error is not None:
            raise PydanticCustomError(
                "tool_fails", "a tool with `error` always fails, so `fails` has no effect"
            )
        return self


class TargetConfig(ModelOptions):
    """The agent under test. docs/agents.md lists the keys of each protocol."""

    user: Text
    """The user's name in the agent."""
    chatbot: Text
    """The chatbot's name in the agent."""
    url: Text | None = None
    """The agent's URL; --agent-url overrides it, and the default is BIOEVAL_AGENT_URL."""
    protocol: str = "rest"
    """The agent's protocol: rest (the embabel-agent-eval API), openai (chat completions or the
    Responses API), a2a, ag-ui, python, or the name of a plug-in.
    """
    model: Text | None = None
    """The agent's model; --model overrides it."""
    knowledge_url: Text | None = None
    """The URL that receives text seeds; the default is BIOEVAL_KNOWLEDGE_URL."""
    object_context_url: Text | None = None
    """The URL of the agent's object context, for protocols other than rest; {sessionId} is
    replaced.
    """
    system_prompt: Text | None = None
    """The system prompt, with openai and ag-ui."""
    api_key_env: VariableName | None = None
    """The name of the environment variable with the agent's key; the default is
    BIOEVAL_AGENT_API_KEY.
    """
    # The same four keys as a `ModelEndpoint`, each with another meaning to describe: an agent need
    # not be a model.
    api: Api = "chat"
    """The API with openai: chat completions (chat) or the Responses API (responses)."""
    headers: dict[HeaderName, HeaderValue] = {}
    """Headers sent with every request. Use headersEnv for secrets."""
    headers_env: dict[HeaderOfSecret, HeaderFrom] = {}
    """Headers with secret values: the name of an environment variable, with an optional scheme
    before it: `Bearer MY_TOKEN`.
    """
    tools: tuple[ToolConfig, ...] = ()
    """Tools that the agent may call and the job answers, with openai and ag-ui."""
    function: FunctionName | None = None
    """The agent with python, as `module:function`."""
    python: Text | None = None
    """The Python interpreter that runs the agent's function, such as `venv/bin/python`, in a folder
    given with --code; the default is the one that runs this program.
    """
    tells_tool_calls: bool = False
    """Whether the agent reports every tool call, so that none reported means none made."""
    remembers: bool | None = None
    """Whether the agent keeps something of one conversation for the next.

    The default depends on its protocol: with openai and ag-ui it does not, because each request has
    the whole conversation; of others it is unknown.
    """
    record_events: bool = True
    """Whether the recording keeps the agent's prompts, retrieved contexts and outputs."""
    max_requests_per_minute: Positive | None = None
    """The maximum number of requests per minute to the agent; the same again to all models
    together. In a batch, the smallest counts.
    """
    options: dict[str, Any] = {}
    """Options for a Python function or plug-in; see its documentation."""

    @property
    def injects_failures(self) -> bool:
        """Whether the job makes some of its tools fail."""
        return any(tool.failures for tool in self.tools)

    @property
    def keeps_nothing(self) -> bool:
        """Whether nothing is left of one conversation for the next: as the job says or, if it does
        not, by the agent's protocol.
        """
        if self.remembers is not None:
            return not self.remembers
        protocol = plugins.agent_protocol(self.protocol)
        return protocol is not None and protocol.keeps_nothing and self.object_context_url is None


class ScorerConfig(ModelEndpoint):
    """The judge (the published key is `scorer`). `kind` may also name a plug-in."""

    prompt: Text = SCORE_PROMPT
    """The prompt's template: a file beside the job, or a template in the package.

    The default with a rubric is eval/rubric.
    """
    temperature: Temperature = 0.0
    """The model's temperature."""
    streaming: bool = False
    """Whether to ask for the answer in pieces, for gateways that close a connection on which
    nothing arrives.
    """
    kind: Literal["llm", "rules"] | Text = "llm"
    """Who judges: a model (llm), the `rules` of the tasks (rules), or the name of a plug-in."""
    model: Text | tuple[Text, ...] | None = None  # type: ignore[assignment]  # or a panel of them
    """The model that judges, or a list of models (a panel); the default is BIOEVAL_JUDGE_MODEL."""
    repeats: Annotated[int, Field(ge=1, le=25)] = 1
    """How many times each model judges; the median counts."""
    items_per_request: Annotated[int, Field(ge=1)] | None = None
    """The maximum number of tasks or rubric items that one request to a model asks about; the
    default is all at once.
    """
    options: dict[str, Any] = {}
    """Options for a plug-in; see its documentation."""
    context: Literal["none", "tools", "all"] = "tools"
    """What the judge sees besides the messages: nothing (none), the agent's tool calls (tools), or
    also events and states (all).
    """
    evidence: Literal["mark", "require"] = "mark"
    """What to do with a verdict that quotes words the judge was not shown: mark it (mark), or not
    measure it (require).
    """
    user_faults: bool = False
    """Whether the judge also lists, in one more request, what the simulated user did wrong (a model
    as evaluator only).
    """
    sentinels: bool = False
    """Whether the judge is also asked about twelve conversations with known verdicts, before and
    after all others.
    """
    exam: bool | None = None
    """Whether the judge is first asked about three conversations that deserve nothing; one that
    believes such a control judges nothing [with --fail-under or --min-pass-k].
    """

    def split(self, numbers: Sequence[int]) -> list[tuple[int, ...]]:
        """Return the numbers of the tasks in groups, each of which a model is asked about in a
        request of its own.
        """
        each = self.items_per_request or max(1, len(numbers))
        return [tuple(numbers[at : at + each]) for at in range(0, len(numbers), each)]


class FhirConfig(JobPart):
    """The FHIR server that has the patients' records."""

    url: Text = "/fhir"
    """Its base URL; a path, such as /fhir, is at the agent's own address."""
    headers_env: dict[HeaderOfSecret, HeaderFrom] = {}
    """Headers with secret values: the name of an environment variable, with an optional scheme
    before it: `Bearer FHIR_TOKEN`.
    """


class TelemetryConfig(JobPart):
    """Receive the agent's OpenTelemetry spans, as with `run --otlp`."""

    port: Annotated[int, Field(ge=0, le=65_535)] = 4318
    """The port of 127.0.0.1 on which spans are received (OTLP over HTTP); 0 chooses a free one.
    --otlp overrides it.
    """
    wait_ms: Annotated[float, Field(ge=0, le=600_000)] = 6_000.0
    """How long to wait for spans after the last answer, before the conversation is checked, in
    milliseconds.
    """


def _only_a_placeholder(text: str) -> str:
    if not text.strip().startswith("{{") or not text.strip().endswith("}}"):
        raise PydanticCustomError(
            "placeholder",
            "must be a mapping of keys or, in a job with cases, a placeholder such as `{{"
            " case.messages }}`",
        )
    return text


def _item_or_placeholder(value: Any) -> str:
    if isinstance(value, str):
        return PLACEHOLDER
    return ITEM


ITEM, PLACEHOLDER = "(item)", "(placeholder)"
TAGS = (ITEM, PLACEHOLDER, ONE, SEVERAL)
"""What pydantic adds to the paths of such values."""
_ITEM_OR_PLACEHOLDER = Discriminator(_item_or_placeholder)
_Placeholder = Annotated[str, AfterValidator(_only_a_placeholder), Tag(PLACEHOLDER)]


class SeedMessage(JobPart):
    """One message of a conversation seed."""

    content: Text
    """The text of the message."""
    role: Literal["user", "assistant"] = "user"
    """The role of the speaker."""


SeedMessageOrPlaceholder = Annotated[
    Annotated[SeedMessage, Tag(ITEM)] | _Placeholder, _ITEM_OR_PLACEHOLDER
]


class TextSeed(JobPart):
    """A text for the agent's knowledge service."""

    text: Text
    """A text for the agent's knowledge service."""


class ConversationSeed(JobPart):
    """Messages that are replayed before the conversation begins."""

    conversation: Annotated[tuple[SeedMessageOrPlaceholder, ...], Field(min_length=1)]
    """Messages that the agent gets before the greeting; with cases, also a placeholder for a list
    of messages.
    """

    @property
    def messages(self) -> tuple[SeedMessage, ...]:
        """The messages, without placeholders."""
        return tuple(message for message in self.conversation if isinstance(message, SeedMessage))


class CypherSetup(JobPart):
    """A Cypher statement that prepares the graph before each condition."""

    cypher: Text
    """A Cypher statement that prepares the graph; it may write."""

    @property
    def title(self) -> str:
        """The statement."""
        return self.cypher


class FhirWrite(JobPart):
    """What is written to the FHIR server."""

    method: Literal["PUT", "POST", "DELETE"]
    """Create or replace the resource (PUT), create another one (POST), or delete (DELETE)."""
    path: Text
    """Where, below the server's URL: Patient/ada with PUT, Patient with POST; with DELETE also a
    search, all of whose resources are deleted.
    """
    resource: dict[str, Any] | None = None
    """The resource, with its resourceType and, with PUT, its id."""

    @model_validator(mode="after")
    def _has_a_resource(self) -> FhirWrite:
        if (self.resource is None) != (self.method == "DELETE"):
            what = "no `resource` is sent" if self.method == "DELETE" else "a `resource` is needed"
            raise PydanticCustomError("resource", f"{what} with {self.method}")
        return self


class FhirSetup(JobPart):
    """A request that prepares the patients' records before each condition."""

    fhir: FhirWrite
    """What is written to the FHIR server, or deleted."""

    @property
    def title(self) -> str:
        """The method and the path."""
        return f"{self.fhir.method} {self.fhir.path}"


class RuleConfig(OfCondition):
    """One thing the rules judge looks for in the transcript.

    `pattern` is searched (ignoring case) in messages of `who`. With `absent`, the rule passes if
    the pattern is not found.
    """

    pattern: Text
    """A regular expression to search for, ignoring case."""
    who: Literal["agent", "user"] = "agent"
    """Whose messages to search."""
    absent: bool = False
    """The rule passes if the pattern is not found."""
    weight: Positive = 1.0
    """The weight of the rule among the task's rules."""
    reason: str = ""
    """What is right, such as "asked for the dose": a verdict lists it with its points or after “No
    points for”.
    """


class JobTask(OfCondition):
    """Something to ask the agent for."""

    task: Text
    """What the user wants from the agent."""
    type: Literal["task", "question"] = "task"
    """The type: a task or a question."""
    acceptance_criteria: str = ""
    """Criteria for the judge; the evaluator never sees them."""
    withheld_criteria: str = ""
    """Criteria where the facts are withheld, instead of acceptanceCriteria: what is right when the
    user does not know.
    """
    rules: tuple[RuleConfig, ...] = ()
    """The rules for the rules judge."""
    pass_above: Unit = 0.6
    """The task passes above this score."""
    weight: Positive = 1.0
    """The weight of its score in the mean of the tasks."""

    def criteria(self, condition: ConditionConfig) -> str:
        """Return the criteria of a condition."""
        return condition.choose_criteria(self.acceptance_criteria, self.withheld_criteria)


class RubricItem(OfCondition):
    """A criterion of a rubric. The judge says whether it is met."""

    criterion: Text
    """What must be true for the item to be met."""
    points: Annotated[float, Field(ge=-1000, le=1000)]
    """The points if it is met; below 0 for something that the agent must not do."""
    tags: tuple[Text, ...] = ()
    """Names under which scores are also reported, such as `axis:accuracy`."""
    rules: tuple[RuleConfig, ...] = ()
    """What the rules judge looks for."""

    @model_validator(mode="after")
    def _counts(self) -> RubricItem:
        if not self.points:
            raise PydanticCustomError(
                "points", "`points` must not be 0: such an item would count for nothing"
            )
        return self


RubricItemOrPlaceholder = Annotated[
    Annotated[RubricItem, Tag(ITEM)] | _Placeholder, _ITEM_OR_PLACEHOLDER
]


class PersonaFactsConfig(JobPart):
    """What a forgetful, confused or distrustful user does to the facts; drawn with the seed, the
    same in every condition of a trial.
    """

    holds_back: Annotated[
        Annotated[Unit, Tag(ONE)]
        | Annotated[tuple[Annotated[int, Field(ge=1)], ...], Tag(SEVERAL)],
        Discriminator(_one_or_several),
    ] = ()
    """The facts that it holds back: a share of them, drawn, or their numbers, from 1."""
    until: HeldUntil = "never"
    """When it tells these: never, or once the agent has asked for one twice (asked_twice)."""
    wrong: dict[Text, Text] = {}
    """Values that it gets wrong, as they stand in a fact, each with what it says instead."""

    @model_validator(mode="after")
    def _says_something_else(self) -> PersonaFactsConfig:
        for right, wrong in self.wrong.items():
            if value_pattern(right).search(wrong):
                raise PydanticCustomError(
                    "wrong_value", f"`wrong`: “{clean_line(wrong, 60)}” still has the right value"
                )
        return self


class Persona(JobPart):
    """Who the simulated user is, apart from its tasks and facts.

    Each case runs with each persona.
    """

    name: Text
    """Its name on screen and in reports."""
    voice: Text | None = None
    """How it speaks, instead of the evaluator's `voice`."""
    patience: Literal["low", "usual", "high"] = "usual"
    """How soon it loses patience with questions and long answers."""
    literacy: Literal["low", "usual", "high"] = "usual"
    """How well it knows the technical terms."""
    language: Text | None = None
    """The language in which it writes, such as Spanish."""
    tells: Literal["asked", "some", "all"] = "asked"
    """Which facts it gives: those that the agent asks for, some without being asked, or all at the
    first opportunity.
    """
    rules: tuple[Text, ...] = ()
    """What it keeps to, in short sentences, such as “You never give a number unless asked twice”.
    """
    facts: PersonaFactsConfig | None = None
    """Which facts it holds back or gets wrong; without it, it tells them as they are."""

    def manner(self, voice: str) -> str:
        """Return its description for a prompt, given the evaluator's own `voice`."""
        told = [self.voice or voice, _PATIENCE.get(self.patience), _LITERACY.get(self.literacy)]
        if self.language:
            told.append(f"You write {self.language} and no other language")
        return ". ".join(sentence.strip(". ") for sentence in told if sentence)


_PATIENCE = {
    "low": (
        "You have little patience: you answer in a few words, and long answers or many questions"
        " annoy you"
    ),
    "high": "You have all the time in the world and answer every question at length",
}
_LITERACY = {
    "low": (
        "You do not know technical terms: you use everyday words, and ask what a term means when"
        " the chatbot uses one"
    ),
    "high": "You know the field well and use its technical terms",
}


class CasesConfig(JobPart):
    """The rows of a table, each of which fills in the job's texts: `{{ case.COLUMN }}`."""

    file: Text | None = None
    """A CSV, JSON, JSONL or Parquet file in the job's folder; --cases-file overrides it."""
    id: Text | None = None
    """The column with each case's id; the default is the row's number."""


class AssertionPart(OfCondition):
    """The fields of every assertion.

    An `invariant` is expected to pass from the start ("nothing was deleted"), which does not make a
    run unclean.
    """

    weight: Annotated[float, Field(ge=0, le=1e9)] = 1.0
    """The weight of the assertion in the score; with 0, it is only reported."""
    name: Text | None = None
    """Its name on screen and in reports."""
    timeline: bool = True
    """Whether to check it after each turn, too, and not only at the end."""
    invariant: bool = False
    """Whether it is expected to pass from the start; then this does not make a run unclean."""


class ExpressionAssertion(AssertionPart):
    """A condition over `objectContext` and `evaluation`."""

    expression: Text
    """A condition in a subset of Kotlin, with the variables objectContext and evaluation."""

    @property
    def title(self) -> str:
        """`name`, or embabel-agent-eval's default title."""
        return self.name or f"ObjectContextAssertion: {self.expression}"


class CypherAssertion(AssertionPart):
    """A query whose only value must equal `expected`."""

    cypher: Text
    """A read-only query that returns one row; its first value is compared."""
    expected: Any
    """The expected value."""

    @property
    def title(self) -> str:
        """`name`, or embabel-agent-eval's default title."""
        return self.name or f"CypherAssertion: {self.cypher}"


class FhirAssertion(AssertionPart):
    """A FHIRPath over what a query of a FHIR server returns must find `expected`."""

    fhir: Text
    """A query below the server's URL: Type?name=value, Type/_search?name=value or Type/id."""
    path: Text
    """A FHIRPath over the Bundle of a search, or over the resource of Type/id."""
    expected: Any
    """The expected value; with a list, all values; with null, none."""

    @property
    def title(self) -> str:
        """The given name, or the path and the query."""
        return self.name or f"FhirAssertion: {self.path} of {self.fhir}"


class MedalAssertion(AssertionPart):
    """A file from the agent must reach a medal in a machine-learning task."""

    medal: MedalName
    """The required medal."""
    task: Text
    """The id of the machine-learning task; see `bioeval-tui tasks list`."""
    submission: Text
    """The path or pattern of the agent's file."""

    @property
    def title(self) -> str:
        """The given name, or a description of the assertion."""
        return self.name or f"MedalAssertion: {self.medal} on {self.task}"


class CallConfig(JobPart):
    """An expected tool call."""

    name: Text
    """The tool's name."""
    arguments: dict[str, Any] | None = None
    """The expected arguments; the default is any."""
    compare: Literal["some", "exact"] = "some"
    """Whether other arguments are allowed (some) or not (exact)."""
    where: Text | None = None
    """A condition on the call, as in an expression: `it.args["dose"] == 5`."""


def _one_call(value: Any) -> Any:
    if isinstance(value, str):
        return {"name": value}
    return value


def _most_calls(value: Any) -> Any:
    if isinstance(value, int) and not isinstance(value, bool):
        return {"*": value}
    return value


ExpectedCall = Annotated[
    CallConfig, BeforeValidator(_one_call, json_schema_input_type=str | CallConfig)
]
CallCount = Annotated[int, Field(ge=0)]
MostCalls = Annotated[
    dict[Text, CallCount],
    BeforeValidator(_most_calls, json_schema_input_type=CallCount | dict[str, CallCount]),
]


class ToolCallsConfig(JobPart):
    """Conditions on the agent's tool calls; all must be met."""

    calls: tuple[ExpectedCall, ...] | None = None
    """The expected calls, compared according to `match`. A name alone means any arguments."""
    match: Literal["strict", "unordered", "subset", "superset"] = "strict"
    """How to compare `calls`: exactly these in this order (strict) or any order (unordered), no
    others (subset), or at least these (superset).
    """
    must_call: tuple[ExpectedCall, ...] = ()
    """Calls that must be made at least once."""
    must_not_call: tuple[ExpectedCall, ...] = ()
    """Calls that must not be made."""
    order: tuple[Text, ...] = ()
    """Tools whose first calls must be in this order."""
    max_calls: MostCalls = {}
    """The maximum number of calls: in total, or by tool as a mapping."""
    no_errors: bool = False
    """Whether calls must not fail; uses the reported results."""
    turn: Annotated[int, Field(ge=1)] | Literal["each"] | None = None
    """The turn to check: a number (the user's first message is 1) or `each`; the default is the
    whole conversation.
    """

    @model_validator(mode="after")
    def _asks_for_something(self) -> ToolCallsConfig:
        rest = (self.must_call, self.must_not_call, self.order, self.max_calls, self.no_errors)
        if self.calls is None and not any(rest):
            raise PydanticCustomError(
                "tool_calls",
                "one of the keys `calls`, `mustCall`, `mustNotCall`, `order`, `maxCalls` or"
                " `noErrors` is required",
            )
        if len(set(self.order)) < len(self.order):
            raise PydanticCustomError(
                "order",
                "`order` names a tool twice, but compares the tools' first calls; use `calls` for"
                " repeated ones",
            )
        return self


class ToolCallsAssertion(AssertionPart):
    """Conditions on the agent's tool calls, for every protocol."""

    tool_calls: ToolCallsConfig
    """The conditions."""

    @property
    def title(self) -> str:
        """The given name, or a description of the assertion."""
        asked = self.tool_calls.model_dump(mode="json", by_alias=True)
        return self.name or f"ToolCallsAssertion: {tool_calls_text(asked)}"


def _tagged_classes(kinds: Any) -> dict[str, type[JobPart]]:
    """Return the classes of a union by their tags: the key that says which kind an item is."""
    tagged = (get_args(kind) for kind in get_args(kinds))
    return {tag.tag: part for part, tag in tagged}


def _kind_chooser(kinds: Any) -> Discriminator:
    keys = tuple(_tagged_classes(kinds))

    def choose(value: Any) -> str | None:
        if isinstance(value, BaseModel):
            return next((key for key in keys if to_snake(key) in type(value).model_fields), None)
        return next((key for key in keys if isinstance(value, dict) and key in value), None)

    expected = " or ".join(f"`{key}`" for key in keys)
    return Discriminator(
        choose,
        custom_error_type="kind_unknown",
        custom_error_message=f"one of the keys {expected} is needed",
    )


_SeedKind = Annotated[TextSeed, Tag("text")] | Annotated[ConversationSeed, Tag("conversation")]
_SetupKind = Annotated[CypherSetup, Tag("cypher")] | Annotated[FhirSetup, Tag("fhir")]
_AssertionKind = (
    Annotated[ExpressionAssertion, Tag("expression")]
    | Annotated[CypherAssertion, Tag("cypher")]
    | Annotated[FhirAssertion, Tag("fhir")]
    | Annotated[MedalAssertion, Tag("medal")]
    | Annotated[ToolCallsAssertion, Tag("toolCalls")]
)
Seed = Annotated[_SeedKind, _kind_chooser(_SeedKind)]
Setup = Annotated[_SetupKind, _kind_chooser(_SetupKind)]
Assertion = Annotated[_AssertionKind, _kind_chooser(_AssertionKind)]

KINDS: dict[str, dict[str, type[JobPart]]] = {
    "seeds": _tagged_classes(_SeedKind), "setups": _tagged_classes(_SetupKind),
    "assertions": _tagged_classes(_AssertionKind),
}  # fmt: skip
"""The lists of a job whose items are of several kinds: the class of each kind, by the key that
tells it.
"""


def _one_file(value: Any) -> Any:
    if isinstance(value, str):
        return {"file": value}
    return value


class EvaluationJob(JobPart):
    """An evaluation job.

    With `compat: embabel`, assertions read the state exactly as published. Without it, they do so
    as well, and this program's extensions are allowed.
    """

    about: Annotated[str, Field(max_length=200)] = ""
    """What the job is about, in one line, for screens and reports; without it, they name the tasks.
    """
    target: TargetConfig
    """The agent under test."""
    aspirational_average: Positive | None
    """The target for the average latency, in milliseconds; with null, response times are no part of
    the score.
    """
    tasks: tuple[JobTask, ...]
    """The tasks that the user asks for, in order."""
    facts: tuple[Text, ...]
    """Facts that the user knows: withheld in one condition, given when asked in the other."""
    evaluator: EvaluatorConfig = EvaluatorConfig()
    """The evaluator, which plays the user."""
    scorer: ScorerConfig = ScorerConfig()
    """The judge, which scores the transcript."""
    max_turns: Annotated[int, Field(ge=2, le=100_000)] = 20
    """The maximum number of messages of both sides.

    The agent's last answer may exceed it by one.
    """
    greetings: Annotated[tuple[Text, ...], Field(min_length=1)] = DEFAULT_GREETINGS
    """Greetings of the user; one is chosen at random."""
    seeds: tuple[Seed, ...] = ()
    """Texts and earlier messages that the agent gets before the greeting."""
    setups: tuple[Setup, ...] = ()
    """What prepares the graph and the patients' records before each conversation."""
    assertions: tuple[Assertion, ...] = ()
    """Assertions: expressions, Cypher and FHIR queries, medals, tool calls."""
    fhir: FhirConfig | None = None
    """The FHIR server of setups and assertions."""
    seed: int | None = None
    """The random seed."""
    conditions: ConditionList | None = None
    """The conditions in which conversations are held, in order; the default is withheld and
    supplied.
    """
    controls: bool = False
    """Whether to add the condition placebo: where the user with facts would give one, this user
    says that it does not know and adds as much that has nothing to do with the tasks.
    """
    placebo_facts: tuple[Text, ...] = ()
    """What the user says in the condition placebo instead of facts; the default is drawn from a
    table in the package.
    """
    order: Order | None = None
    """The order of the conditions; with parallel, all run at the same time, and conversations must
    not affect each other.
    """
    telemetry: TelemetryConfig | None = None
    """Receive the agent's spans (OpenTelemetry); docs/traces.md says how."""
    sensitive: bool = False
    """Whether to reject every host other than this machine."""
    rubric: tuple[RubricItemOrPlaceholder, ...] = ()
    """Items with points that the judge scores instead of the tasks; with cases, also a placeholder
    for a list of items.
    """
    cases: Annotated[
        CasesConfig | None,
        BeforeValidator(_one_file, json_schema_input_type=str | CasesConfig | None),
    ] = None
    """A file whose rows fill the placeholders in the job's texts; the job runs once with each row.
    """
    personas: tuple[Persona, ...] = ()
    """Personas of the simulated user; the job runs once with each."""
    compat: Literal["embabel"] | None = None
    """How assertions and scores are read: exactly as published (embabel), without this program's
    extensions.
    """

    @model_validator(mode="after")
    def _has_distinct_personas_and_points(self) -> EvaluationJob:
        names = [persona.name for persona in self.personas]
        if twice := next((name for name in names if names.count(name) > 1), None):
            raise PydanticCustomError(
                "personas", f"`personas`: two are called {twice!r}; give each a name of its own"
            )
        items = [item for item in self.rubric if isinstance(item, RubricItem)]
        if (
            self.rubric
            and len(items) == len(self.rubric)
            and all(item.points < 0 for item in items)
        ):
            raise PydanticCustomError("rubric", "`rubric`: at least one item needs points above 0")
        return self

    @property
    def held_in(self) -> tuple[ConditionConfig, ...]:
        """The conditions in which conversations are held, in order."""
        conditions = self.conditions or PUBLISHED
        if self.controls:
            return with_placebo(conditions)
        return conditions

    def condition(self, name: Condition) -> ConditionConfig:
        """Return a condition by its name."""
        return named(self.held_in, name)

    def facts_known_in(self, condition: Condition) -> list[int]:
        """Return the numbers (from 1) of the facts that the user knows in a condition."""
        held = self.condition(condition)
        return [number for number in range(1, len(self.facts) + 1) if held.knows(number)]

    def facts_told_in(self, condition: Condition) -> list[int]:
        """Return the numbers of the facts that are told if the agent asks: in the placebo all, each
        as something else.
        """
        if self.condition(condition).is_placebo:
            return list(range(1, len(self.facts) + 1))
        return self.facts_known_in(condition)

    @property
    def condition_with_facts(self) -> Condition | None:
        """The first condition in which the user knows all facts; None without one."""
        return next((each.name for each in self.held_in if each.facts == "all"), None)

    @property
    def asks_graph(self) -> bool:
        """Whether it has setups or assertions in Cypher."""
        items = (*self.setups, *self.assertions)
        return any(isinstance(item, CypherSetup | CypherAssertion) for item in items)

    @property
    def writes_records(self) -> bool:
        """Whether it has setups that write to its FHIR server."""
        return any(isinstance(setup, FhirSetup) for setup in self.setups)

    @property
    def record_queries(self) -> tuple[str, ...]:
        """What its assertions ask of its FHIR server, each query once."""
        asked = (item.fhir for item in self.assertions if isinstance(item, FhirAssertion))
        return tuple(dict.fromkeys(asked))

    @property
    def medal_assertions(self) -> list[MedalAssertion]:
        """Its assertions on medals."""
        return [item for item in self.assertions if isinstance(item, MedalAssertion)]

    @property
    def can_be_rehearsed(self) -> bool:
        """Whether a script can play the user, and rules can judge."""
        return bool(self.evaluator.lines) and all(task.rules for task in self.judged)

    @property
    def judged(self) -> tuple[JobTask, ...]:
        """What the judge scores: the tasks or, with a rubric, its items."""
        if not self.rubric:
            return self.tasks
        items = (item for item in self.rubric if isinstance(item, RubricItem))
        return tuple(
            JobTask(task=item.criterion, rules=item.rules, pass_above=MET_ABOVE, only=item.only)
            for item in items
        )

    def judged_in(self, condition: Condition) -> dict[int, JobTask]:
        """Return what the judge scores in a condition, by its number from 1."""
        return {
            number: task
            for number, task in enumerate(self.judged, start=1)
            if task.applies(condition)
        }

    @property
    def max_messages(self) -> int:
        """The maximum number of messages in a transcript: while there are fewer than `maxTurns`,
        user and agent each send another.
        """
        return self.max_turns + self.max_turns % 2
