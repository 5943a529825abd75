"""JSON Patch, by the examples of RFC 6902's appendix."""

from __future__ import annotations

from typing import Any

import pytest

from bioeval_tui.evaluation.agents.json_patch import patched


@pytest.mark.parametrize(
    ("document", "operation", "expected"),
    [
        ({"foo": "bar"}, {"op": "add", "path": "/baz", "value": "qux"}, {"baz": "qux", "foo": "bar"}),
        ({"foo": ["bar", "baz"]}, {"op": "add", "path": "/foo/1", "value": "qux"}, {"foo": ["bar", "qux", "baz"]}),
        ({"baz": "qux", "foo": "bar"}, {"op": "remove", "path": "/baz"}, {"foo": "bar"}),
        ({"foo": ["bar", "qux", "baz"]}, {"op": "remove", "path": "/foo/1"}, {"foo": ["bar", "baz"]}),
        ({"baz": "qux", "foo": "bar"}, {"op": "replace", "path": "/baz", "value": "boo"}, {"baz": "boo", "foo": "bar"}),
        ({"foo": {"bar": "baz", "waldo": "fred"}, "qux": {"corge": "grault"}}, {"op": "move", "from": "/foo/waldo", "path": "/qux/thud"}, {"foo": {"bar": "baz"}, "qux": {"corge": "grault", "thud": "fred"}}),
        ({"foo": ["all", "grass", "cows", "eat"]}, {"op": "move", "from": "/foo/1", "path": "/foo/3"}, {"foo": ["all", "cows", "eat", "grass"]}),
        ({"foo": "bar"}, {"op": "add", "path": "/child", "value": {"grandchild": {}}}, {"foo": "bar", "child": {"grandchild": {}}}),
        ({"foo": ["bar"]}, {"op": "add", "path": "/foo/-", "value": ["abc", "def"]}, {"foo": ["bar", ["abc", "def"]]}),
        ({"/": 9, "~1": 10}, {"op": "test", "path": "/~01", "value": 10}, {"/": 9, "~1": 10}),
        ({"a": [1]}, {"op": "copy", "from": "/a", "path": "/b"}, {"a": [1], "b": [1]}),
        ({"a": 1}, {"op": "replace", "path": "", "value": [2]}, [2]),
    ],
)  # fmt: skip
def test_json_patch_operations_follow_the_rfc(
    document: Any, operation: dict[str, Any], expected: Any
) -> None:
    assert patched(document, [operation]) == expected


@pytest.mark.parametrize(
    "operation",
    [
        {"op": "add", "path": "/baz/bat", "value": "qux"},
        {"op": "remove", "path": "/none"},
        {"op": "replace", "path": "/none", "value": 1},
        {"op": "test", "path": "/foo", "value": "x"},
        {"op": "add", "path": "/list/5", "value": 1},
        {"op": "remove", "path": "/list/-"},
        {"op": "remove", "path": "/list/00"},
        {"op": "move", "from": "/deep", "path": "/deep/er"},
        {"op": "sing", "path": "/foo"},
        {"path": "/foo"},
        {"op": "remove", "path": 5},
        {"op": "add", "path": "foo", "value": 1},
    ],
)
def test_a_patch_that_does_not_apply_changes_nothing(operation: dict[str, Any]) -> None:
    document = {"foo": "bar", "list": [1], "deep": {"er": {}}}
    with pytest.raises(ValueError, match="does not match"):
        patched(document, [{"op": "remove", "path": "/foo"}, operation])
    assert document == {"foo": "bar", "list": [1], "deep": {"er": {}}}
