"""The variables of expressions: `objectContext` and `evaluation`, their types, and their values
from JSON.

Classes and properties are those of the published system. A part that an agent leaves out has an
empty value, so that a missing list is not an error.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bioeval_tui.base.errors import ExpressionError
from bioeval_tui.expressions.comparing import ordered_set
from bioeval_tui.expressions.kotlin_types import (
    DOUBLE,
    INT,
    LONG,
    UNKNOWN,
    Type,
    declare,
    read_type,
)
from bioeval_tui.expressions.values import (
    INT_MAX,
    INT_MIN,
    LONG_MAX,
    LONG_MIN,
    Budget,
    EnumValue,
    Limits,
    Long,
    Record,
    Value,
    encode_units,
    whole,
)
from bioeval_tui.record.tool_calls import INJECTED_FAILURES, REPORTED, request_of

DOMAIN_NODE = "DomainNode"

ENUMS: dict[str, tuple[str, ...]] = {
    "MessageRole": ("user", "assistant", "system", "tool"),
    "TaskType": ("question", "task"),
    "RegexOption": ("IGNORE_CASE", "MULTILINE", "DOT_MATCHES_ALL"),
}
TEXT_ENUMS = ("MessageRole", "TaskType")
"""Enums whose values can also be compared with texts, because some jobs do."""


@dataclass(frozen=True, slots=True)
class Property:
    """A property of a record.

    `ours` is not in the published system; `component` is part of its text and equality.
    """

    type: Type
    component: bool
    ours: bool


def _properties(text: str) -> dict[str, Property]:
    """Read `name: Type, …; derived: Type; ours: Type`."""
    properties: dict[str, Property] = {}
    for place, part in enumerate(text.split("; ")):
        for item in (
            part.replace(", ", "\n")
            .replace("String\nAny?", "String, Any?")
            .replace("String\nAny>", "String, Any>")
            .splitlines()
        ):
            name, _, kind = item.partition(": ")
            if name:
                properties[name] = Property(read_type(kind), place == 0, place == 2)
    return properties


RECORDS: dict[str, dict[str, Property]] = {
    kind: _properties(text)
    for kind, text in {
        "ObjectContext": (
            "context: String, resources: List<Resource>, functions: List<FunctionMetadata>; "
            "entities: List<Resource>"
        ),
        "Resource": (
            "id: String, name: String, description: String, properties: Map<String, Any?>, "
            "labels: Set<String>, aliases: Set<String>; ; type: String"
        ),
        "FunctionMetadata": (
            "name: String, description: String, label: String?, view: String?, "
            "staticMethod: Boolean, inputTypeSchema: String"
        ),
        "TimedOpenAiCompatibleMessage": (
            "content: String, role: MessageRole, timeTakenMillis: Long, "
            "events: List<GenerationEvent>; ; objectContext: ObjectContext?"
        ),
        "FunctionCall": "function: String, args: Map<String, Any>; ; failure: String?",
        "GenerationEvent": (
            "; ; systemPrompt: *, request: *, output: *, content: *, summaryDirection: *"
        ),
        "SystemPromptEvent": "systemPrompt: String",
        "FunctionCallEvent": "request: FunctionCallRequest",
        "FunctionResponseEvent": "output: String",
        "BoogieRequestEvent": "content: *, summaryDirection: *",
        "FunctionCallRequest": (
            "function: FunctionIdentification, arguments: Map<String, Any>, context: String"
        ),
        "FunctionIdentification": "name: String",
        "Evaluation": (
            "sessionId: String, model: String, job: EvaluationJob, "
            "transcript: List<TimedOpenAiCompatibleMessage>, done: Boolean, failureCount: Int; "
            "events: List<GenerationEvent>, functionCalls: List<FunctionCall>"
        ),
        "EvaluationJob": (
            "evaluator: Evaluator, aspirationalAverage: Long, target: SessionCreationRequest,"
            " scorer: Scorer, maxTurns: Int, greetings: List<String>, tasks: List<Task>, facts:"
            " List<String>, assertions: List<*>"
        ),
        "Evaluator": (
            "name: String, voice: String, prompt: String, temperature: Double, signoff: String"
        ),
        "Scorer": "prompt: String, temperature: Double",
        "SessionCreationRequest": "user: String, chatbot: String",
        "Task": "type: TaskType, task: String, acceptanceCriteria: String",
    }.items()
}
"""The classes of the state with their properties, in the published order."""

CLOSED: dict[tuple[str, str], tuple[str, ...]] = {
    ("FunctionCall", "failure"): (*INJECTED_FAILURES, REPORTED),
}
"""The properties that have no other values than these, apart from null, by class and name."""
for _kind, _known in RECORDS.items():
    for _name, _property in _known.items():
        if _property.type.name in ENUMS:
            CLOSED[_kind, _name] = ENUMS[_property.type.name]
for _kind in TEXT_ENUMS:
    CLOSED[_kind, "name"] = ENUMS[_kind]

_EVENTS = {
    "systemPrompt": "SystemPromptEvent",
    "request": "FunctionCallEvent",
    "output": "FunctionResponseEvent",
}
_OPEN = ("EvaluationJob", "Evaluator", "Scorer", "SessionCreationRequest", "Task")
"""Classes whose values may have more properties than the published ones: those of this program's
jobs.
"""

_DEFAULTS: dict[str, dict[str, Any]] = {
    "EvaluationJob": {"maxTurns": 20, "greetings": ["Hello", "Hi", "Greetings", "Yo", "Hey"]},
    "Evaluator": {
        "name": "Socrates",
        "voice": "You speak like a friendly, relaxed human",
        "prompt": "eval/socrates",
        "temperature": 0.5,
        "signoff": "So Long, and Thanks for All the Fish",
    },
    "Scorer": {"prompt": "eval/score", "temperature": 0.0},
    "Task": {"type": "task"},
}
"""The published classes' defaults for keys that a job leaves out."""

declare("GenerationEvent")
for _kind in RECORDS:
    if _kind.endswith("Event") and _kind != "GenerationEvent":
        declare(f"{_kind}: GenerationEvent", final=True)
    elif _kind != "GenerationEvent":
        declare(_kind, final=True)
for _kind in TEXT_ENUMS:
    declare(f"{_kind}: Comparable<{_kind}>", final=True, also="String")

ROOTS: dict[str, Type] = {"objectContext": Type("ObjectContext"), "evaluation": Type("Evaluation")}
"""The names in scope, with their types."""

CONSTANTS: dict[str, tuple[Type, Value]] = {
    "Int.MAX_VALUE": (INT, INT_MAX),
    "Int.MIN_VALUE": (INT, INT_MIN),
    "Long.MAX_VALUE": (LONG, Long(LONG_MAX)),
    "Long.MIN_VALUE": (LONG, Long(LONG_MIN)),
    "Double.MAX_VALUE": (DOUBLE, 1.7976931348623157e308),
    "Double.NaN": (DOUBLE, float("nan")),
    "Double.POSITIVE_INFINITY": (DOUBLE, float("inf")),
    "Double.NEGATIVE_INFINITY": (DOUBLE, float("-inf")),
}
"""Constants of a type, such as `Int.MAX_VALUE` or `MessageRole.user`."""
for _kind, _names in ENUMS.items():
    CONSTANTS |= {
        f"{_kind}.{_name}": (Type(_kind), EnumValue(_kind, _name, _place))
        for _place, _name in enumerate(_names)
    }

_MAX_DEPTH = 60
_WIDE = Limits(steps=2**40, seconds=1e6, memory=2**50)


class Scope(dict[str, Value]):
    """Names with their values, shaped. Build it once per state; many expressions can share it."""


def find_property(kind: str, name: str) -> Property | None:
    """Return a property of a class of the state; unknown properties of a job's parts have the type
    `Any?`.
    """
    known = RECORDS.get(kind, {}).get(name)
    if known is None and kind in _OPEN:
        return Property(UNKNOWN, component=False, ours=True)
    return known


def scope(object_context: Mapping[str, Any] | None, evaluation: Mapping[str, Any]) -> Scope:
    """Return the names that expressions see.

    Args:
        object_context: the agent's state `{"context", "resources", "functions"}`; None without one.
        evaluation: `{"transcript": [{"content", "role", "timeTakenMillis", "events",
            "objectContext"?}], "functionCalls": [{"function", "args", "failure"?}], "events",
            "failureCount", "done", "model", "sessionId", "job"}`; what is missing is empty.

    Raises:
        ExpressionError: a part has the wrong type, such as `resources` that is not a list.
    """
    context = None
    if object_context is not None:
        context = _value(object_context, ROOTS["objectContext"], "objectContext")
    return Scope(
        objectContext=context, evaluation=_value(evaluation, ROOTS["evaluation"], "evaluation")
    )


def shaped(names: Mapping[str, Any]) -> Scope:
    """Return `names` shaped; a `Scope` is returned as it is."""
    if isinstance(names, Scope):
        return names
    return scope(names.get("objectContext"), names.get("evaluation") or {})


def _value(value: Any, kind: Type, place: str) -> Value:
    """Return a JSON value as a value of the type in the published system."""
    if kind.name in RECORDS:
        return _record(value, kind.name, place)
    if kind.name in ("List", "Set") and kind.args:
        items = [] if value is None else value
        if not isinstance(items, list | tuple):
            raise ExpressionError(f"{place} must be a list, not {type(value).__name__}")
        listed = [_value(item, kind.args[0], place) for item in items]
        if kind.name == "List":
            return listed
        return ordered_set(listed, Budget(_WIDE))
    if kind.name == "Map":
        if value is not None and not isinstance(value, Mapping):
            raise ExpressionError(f"{place} must be a map, not {type(value).__name__}")
        return _plain(value or {}, 0)
    if kind.name in ENUMS and isinstance(value, str):
        names = ENUMS[kind.name]  # an unknown name comes after the known ones
        return EnumValue(
            kind.name, encode_units(value), names.index(value) if value in names else len(names)
        )
    if kind.name == "Long" and type(value) in (int, type(None)):
        return Long(value or 0)
    if value is None and kind.name in ("Int", "Boolean"):
        if kind.name == "Int":
            return 0
        return False
    return _plain(value, 0)


def _record(value: Any, kind: str, place: str) -> Record | None:
    if value is None and kind not in ("Evaluation", "TimedOpenAiCompatibleMessage"):
        return None
    if not isinstance(value, Mapping):
        raise ExpressionError(
            f"{place} must be an object with properties, not {type(value).__name__}"
        )
    if kind == "GenerationEvent":
        kind = _kind_of_event(value)
    known = RECORDS[kind]
    value = {**_DEFAULTS.get(kind, {}), **value}
    fields = {
        name: _value(value.get(name), prop.type, f"{name} of {place}")
        for name, prop in known.items()
        if kind not in _OPEN or value.get(name) is not None
    }
    if kind in _OPEN:
        rest = {
            key: item for key, item in value.items() if isinstance(key, str) and key not in fields
        }
        fields.update({key: _job_part(key, item, 0) for key, item in rest.items()})
    if kind.endswith("Event"):
        fields = {**dict.fromkeys(RECORDS["GenerationEvent"]), **fields}
    _derive(kind, fields)
    return Record(
        kind,
        fields,
        tuple(name for name, prop in known.items() if prop.component and name in fields),
    )


def _kind_of_event(event: Mapping[str, Any]) -> str:
    """Return the class of an event.

    One odd event of an agent must not fail the expressions that never look at it.
    """
    kind = next(
        (name for key, name in _EVENTS.items() if event.get(key) is not None), "BoogieRequestEvent"
    )
    if kind == "FunctionCallEvent" and request_of(event) is None:
        return "BoogieRequestEvent"
    return kind


def _derive(kind: str, fields: dict[str, Value]) -> None:
    """Add the properties that the published classes compute from others."""
    if kind == "ObjectContext":
        fields["entities"] = [
            item for item in fields["resources"] if item and DOMAIN_NODE in item["labels"]
        ]
    elif kind == "Resource":
        if fields["description"] is None:
            fields["description"] = fields["name"]
        kinds = [label for label in fields["labels"] if label != DOMAIN_NODE]
        fields["type"] = next(iter(kinds), None)


def _job_part(kind: str, value: Any, depth: int) -> Value:
    """Return a part of a job that the published classes do not have: every object is read with a
    dot.
    """
    if isinstance(value, Mapping) and depth < _MAX_DEPTH:
        return Record(
            kind, {str(key): _job_part(str(key), item, depth + 1) for key, item in value.items()}
        )
    if isinstance(value, list | tuple) and depth < _MAX_DEPTH:
        return [_job_part(kind, item, depth + 1) for item in value]
    return _plain(value, depth)


def _plain(value: Any, depth: int) -> Value:
    """Return a JSON value as a value of expressions: maps, lists, texts, numbers, true, false,
    null.
    """
    kind = type(value)
    if kind is str:
        return encode_units(value)
    if value is None or kind is bool or kind is float or kind in (Long, Record):
        return value
    if kind is int:
        if LONG_MIN <= value <= LONG_MAX:
            return whole(value)
        return float(value)
    if depth > _MAX_DEPTH:
        raise ExpressionError(f"the state is nested more than {_MAX_DEPTH} deep")
    if isinstance(value, Mapping):
        return {encode_units(str(key)): _plain(item, depth + 1) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item, depth + 1) for item in value]
    raise ExpressionError(f"the state contains a {kind.__name__}, which is not JSON")
