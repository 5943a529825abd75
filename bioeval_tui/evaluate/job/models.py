"""The evaluation job, as embabel-agent-eval publishes it (camelCase in YAML), with this program's extensions."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Discriminator, Field, Tag
from pydantic.alias_generators import to_camel

DEFAULT_SIGNOFF = "So Long, and Thanks for All the Fish"
DEFAULT_GREETINGS = ("Hello", "Hi", "Greetings", "Yo", "Hey")

Unit = Annotated[float, Field(ge=0, le=1)]
Temperature = Annotated[float, Field(ge=0, le=2)]
Positive = Annotated[float, Field(gt=0, le=1e9)]
Text = Annotated[str, Field(min_length=1)]
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
    when: str | None = None
    fact: Annotated[int, Field(ge=1)] | None = None


class EvaluatorConfig(JobPart):
    """Who plays the user, and how. `kind` may name a plug-in, too.

    `guards` says what becomes of a message that a guard objects to, where a model plays the user.
    """

    name: Text = "Socrates"
    voice: str = "You speak like a friendly, relaxed human"
    prompt: Text = "eval/socrates"
    temperature: Temperature = 0.5
    signoff: Text = DEFAULT_SIGNOFF
    kind: Literal["llm", "scripted", "human"] | Text = "llm"
    model: Text | None = None
    lines: tuple[ScriptLine, ...] = ()
    guards: GuardMode = "mark"


class TargetConfig(JobPart):
    """The agent under test. `system_prompt` and `object_context_url` are for chat endpoints (`openai`)."""

    user: Text
    chatbot: Text
    url: Text | None = None
    protocol: str = "rest"
    model: Text | None = None
    knowledge_url: Text | None = None
    object_context_url: Text | None = None
    system_prompt: Text | None = None
    timeout_ms: Positive | None = None


class ScorerConfig(JobPart):
    """The judge (the published key is `scorer`). `kind` may name a plug-in, too."""

    prompt: Text = "eval/score"
    temperature: Temperature = 0.0
    kind: Literal["llm", "rules"] | Text = "llm"
    model: Text | tuple[Text, ...] | None = None
    repeats: Annotated[int, Field(ge=1, le=25)] = 1


class SeedMessage(JobPart):
    """One message of a conversation seed."""

    content: Text
    role: Literal["user", "assistant"] = "user"


class TextSeed(JobPart):
    """A text for the agent's knowledge service."""

    text: Text


class ConversationSeed(JobPart):
    """Messages that are replayed before the conversation begins."""

    conversation: Annotated[tuple[SeedMessage, ...], Field(min_length=1)]


class Setup(JobPart):
    """A Cypher statement that prepares the graph before each condition."""

    cypher: Text


class RuleConfig(JobPart):
    """One thing the rules judge looks for in the transcript.

    `pattern` is searched (case-insensitive) in messages of `who`; `absent` turns it round: the rule
    holds when the pattern is nowhere.
    """

    pattern: Text
    who: Literal["agent", "user"] = "agent"
    absent: bool = False
    weight: Positive = 1.0
    reason: str = ""


class JobTask(JobPart):
    """Something to ask the agent for."""

    task: Text
    type: Literal["task", "question"] = "task"
    acceptance_criteria: str = ""
    rules: tuple[RuleConfig, ...] = ()
    pass_above: Unit = 0.6


class AssertionPart(JobPart):
    """What every assertion has.

    An `invariant` is meant to hold from the start ("nothing was deleted"); that it does proves nothing, and
    does not make a run unclean.
    """

    weight: Positive = 1.0
    name: Text | None = None
    timeline: bool = True
    invariant: bool = False


class ExpressionAssertion(AssertionPart):
    """A condition over `objectContext` and `evaluation`."""

    expression: Text

    @property
    def title(self) -> str:
        """The published name, or the given one."""
        return self.name or f"ObjectContextAssertion: {self.expression}"


class CypherAssertion(AssertionPart):
    """A query whose only value must equal `expected`."""

    cypher: Text
    expected: Any

    @property
    def title(self) -> str:
        """The published name, or the given one."""
        return self.name or f"CypherAssertion: {self.cypher}"


class MedalAssertion(AssertionPart):
    """A file that the agent left must reach a medal on a machine-learning task."""

    medal: MedalName
    task: Text
    submission: Text

    @property
    def title(self) -> str:
        """The given name, or what is asked for."""
        return self.name or f"MedalAssertion: {self.medal} on {self.task}"


def _kind_of(*keys: str) -> Discriminator:
    def choose(value: Any) -> str | None:
        if isinstance(value, BaseModel):
            return next((key for key in keys if key in type(value).model_fields), None)
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
    | Annotated[MedalAssertion, Tag("medal")],
    _kind_of("expression", "cypher", "medal"),
]


class EvaluationJob(JobPart):
    """What to evaluate. `aspirational_average` is the wished-for average latency in milliseconds."""

    target: TargetConfig
    aspirational_average: Positive
    tasks: tuple[JobTask, ...]
    facts: tuple[Text, ...]
    evaluator: EvaluatorConfig = EvaluatorConfig()
    scorer: ScorerConfig = ScorerConfig()
    max_turns: Annotated[int, Field(ge=2, le=100_000)] = 20
    greetings: Annotated[tuple[Text, ...], Field(min_length=1)] = DEFAULT_GREETINGS
    seeds: tuple[Seed, ...] = ()
    setups: tuple[Setup, ...] = ()
    assertions: tuple[Assertion, ...] = ()
    seed: int | None = None
    order: Literal["withheld-first", "supplied-first", "random"] | None = None
    sensitive: bool = False

    @property
    def max_messages(self) -> int:
        """The most messages in a transcript: what the published key `maxTurns` bounds."""
        return self.max_turns
