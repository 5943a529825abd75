"""What expressions can see: `objectContext` and `evaluation`, shaped from their JSON.

Names and derived properties (`it.type`, `objectContext.entities`) are those of the published system's
jobs; a part that an agent leaves out has an empty value, so that a missing list is not an error.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bioeval_tui.errors import ExpressionError
from bioeval_tui.evaluate.assertions.expressions.values import (
    LONG_MAX,
    LONG_MIN,
    Long,
    Record,
    Value,
    to_units,
    whole,
)

DOMAIN_NODE = "DomainNode"

# A record's properties with what stands for one that is missing.
_RESOURCE: dict[str, Any] = {
    "id": None, "name": None, "description": None, "properties": {}, "labels": [], "aliases": [], "type": None,
}  # fmt: skip
_FUNCTION: dict[str, Any] = dict.fromkeys(
    ("name", "description", "label", "view", "staticMethod", "inputTypeSchema")
)
_MESSAGE: dict[str, Any] = {"content": "", "role": None, "timeTakenMillis": 0, "events": []}
_CALL: dict[str, Any] = {"function": None, "args": {}}
_EVENT: dict[str, Any] = dict.fromkeys(("systemPrompt", "request", "output", "content", "summaryDirection"))
_CONTEXT: dict[str, Any] = {"context": None, "resources": [], "functions": [], "entities": []}
_EVALUATION: dict[str, Any] = {
    "transcript": [], "functionCalls": [], "events": [], "failureCount": 0, "done": False, "model": None,
    "sessionId": None, "job": None,
}  # fmt: skip
_JOB = [
    "name",
    "prompt",
    "voice",
    "temperature",
    "signoff",
    "user",
    "chatbot",
    "url",
    "protocol",
    "model",
    "knowledgeUrl",
    "objectContextUrl",
    "timeoutMs",
    "kind",
    "lines",
    "say",
    "maxTurns",
    "greetings",
    "seeds",
    "text",
    "conversation",
    "role",
    "content",
    "setups",
    "cypher",
    "tasks",
    "task",
    "acceptanceCriteria",
    "type",
    "rules",
    "passAbove",
    "facts",
    "assertions",
    "expression",
    "expected",
    "weight",
    "medal",
    "timeline",
    "submission",
    "evaluator",
    "target",
    "scorer",
    "aspirationalAverage",
    "repeats",
    "seed",
    "order",
    "sensitive",
    "arguments",
]

ROOTS: dict[str, frozenset[str]] = {
    "objectContext": frozenset(_CONTEXT),
    "evaluation": frozenset(_EVALUATION),
}
"""The names in scope, with their properties."""

PROPERTIES_OF_RECORDS = frozenset().union(
    _RESOURCE, _FUNCTION, _MESSAGE, _CALL, _EVENT, _CONTEXT, _EVALUATION, _JOB
)
"""Every property that any record can have."""

_MAX_DEPTH = 60


class Scope(dict[str, Value]):
    """Names with their values, shaped. Build it once per state; many expressions can share it."""


def scope(object_context: Mapping[str, Any] | None, evaluation: Mapping[str, Any]) -> Scope:
    """Return the names that expressions see.

    Args:
        object_context: the agent's answer `{"context", "resources", "functions"}`; None when there is none.
        evaluation: `{"transcript": [{"content", "role", "timeTakenMillis", "events"}], "functionCalls":
            [{"function", "args"}], "events", "failureCount", "done", "model", "sessionId", "job"}`; what
            is missing is empty.

    Raises:
        ExpressionError: a part has the wrong shape, such as `resources` that is no list.
    """
    return Scope(objectContext=_context(object_context), evaluation=_evaluation(evaluation))


def shaped(names: Mapping[str, Any]) -> Scope:
    """Return `names` shaped; a `Scope` is returned as it is."""
    if isinstance(names, Scope):
        return names
    result = scope(names.get("objectContext"), names.get("evaluation") or {})
    for name in names:
        if name not in ROOTS:
            result[name] = _plain(names[name], 0)
    return result


def _context(value: Mapping[str, Any] | None) -> Record | None:
    if value is None:
        return None
    context = _record("objectContext", value, _CONTEXT)
    resources = [_resource(item) for item in _items(value, "resources")]
    context["resources"] = resources
    context["functions"] = [_record("function", item, _FUNCTION) for item in _items(value, "functions")]
    context["entities"] = [item for item in resources if DOMAIN_NODE in item["labels"]]
    return context


def _resource(value: Any) -> Record:
    resource = _record("resource", value, _RESOURCE)
    if resource["description"] is None:
        resource["description"] = resource["name"]
    kinds = [label for label in resource["labels"] if label != DOMAIN_NODE]
    resource["type"] = kinds[0] if kinds else None
    return resource


def _evaluation(value: Mapping[str, Any]) -> Record:
    record = _record("evaluation", value, _EVALUATION)
    messages = []
    for item in _items(value, "transcript"):
        message = _record("message", item, _MESSAGE)
        taken = message["timeTakenMillis"]
        if type(taken) is int:
            message["timeTakenMillis"] = Long(taken)
        message["events"] = [_event(event) for event in _items(item, "events")]
        messages.append(message)
    record["transcript"] = messages
    record["functionCalls"] = [
        _record("functionCall", item, _CALL) for item in _items(value, "functionCalls")
    ]
    record["events"] = [_event(item) for item in _items(value, "events")]
    record["job"] = _records("job", value.get("job"), 0)
    return record


def _event(value: Any) -> Record:
    event = _record("event", value, _EVENT)
    if isinstance(value.get("request"), Mapping):
        request = _record("request", value["request"], {"function": None, "arguments": {}, "context": None})
        if isinstance(value["request"].get("function"), Mapping):
            request["function"] = _record("function", value["request"]["function"], {"name": None})
        event["request"] = request
    return event


def _record(kind: str, value: Any, defaults: Mapping[str, Any]) -> Record:
    """Return a record of the fields in `value`, each a plain value; null lists and maps become empty."""
    if not isinstance(value, Mapping):
        raise ExpressionError(f"a {kind} must be an object with properties, not {type(value).__name__}")
    fields = {name: _plain(item, 0) for name, item in value.items() if isinstance(name, str)}
    for name, default in defaults.items():
        given = fields.get(name)
        if given is None:
            fields[name] = type(default)() if isinstance(default, list | dict) else default
        elif isinstance(default, list | dict) and type(given) is not type(default) and name != "args":
            wanted = "list" if isinstance(default, list) else "map"
            raise ExpressionError(f"{name} of a {kind} must be a {wanted}, not {type(value[name]).__name__}")
    return Record(kind, fields)


def _items(value: Mapping[str, Any], name: str) -> list[Any]:
    items = value.get(name)
    if items is None:
        return []
    if not isinstance(items, list | tuple):
        raise ExpressionError(f"{name} must be a list, not {type(items).__name__}")
    return list(items)


def _records(kind: str, value: Any, depth: int) -> Value:
    """Return a job's part: every object is read with a dot."""
    if isinstance(value, Mapping) and depth < _MAX_DEPTH:
        return Record(kind, {str(key): _records(str(key), item, depth + 1) for key, item in value.items()})
    if isinstance(value, list | tuple) and depth < _MAX_DEPTH:
        return [_records(kind, item, depth + 1) for item in value]
    return _plain(value, depth)


def _plain(value: Any, depth: int) -> Value:
    """Return a JSON value as a value of expressions: maps, lists, texts, numbers, true, false, null."""
    kind = type(value)
    if kind is str:
        return to_units(value)
    if value is None or kind is bool or kind is float or kind in (Long, Record):
        return value
    if kind is int:
        return whole(value) if LONG_MIN <= value <= LONG_MAX else float(value)
    if depth > _MAX_DEPTH:
        raise ExpressionError(f"the state is nested more than {_MAX_DEPTH} deep")
    if isinstance(value, Mapping):
        return {to_units(str(key)): _plain(item, depth + 1) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item, depth + 1) for item in value]
    raise ExpressionError(f"the state holds a {kind.__name__}, which is no JSON")
