"""The state of an agent: JSON Patch by the examples of RFC 6902's appendix, and the limits."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest

from bioeval_tui.bundled.ag_ui import json_patch
from bioeval_tui.bundled.ag_ui.json_patch import AgentState
from bioeval_tui.protocols import PeerError


@pytest.mark.parametrize(
    ("document", "operation", "expected"),
    [
        ({"foo": "bar"}, {"op": "add", "path": "/baz", "value": "qux"},
            {"baz": "qux", "foo": "bar"}),
        ({"foo": ["bar", "baz"]}, {"op": "add", "path": "/foo/1", "value": "qux"},
            {"foo": ["bar", "qux", "baz"]}),
        ({"baz": "qux", "foo": "bar"}, {"op": "remove", "path": "/baz"}, {"foo": "bar"}),
        ({"foo": ["bar", "qux", "baz"]}, {"op": "remove", "path": "/foo/1"},
            {"foo": ["bar", "baz"]}),
        ({"baz": "qux", "foo": "bar"}, {"op": "replace", "path": "/baz", "value": "boo"},
            {"baz": "boo", "foo": "bar"}),
        ({"foo": {"bar": "baz", "waldo": "fred"}, "qux": {"corge": "grault"}},
            {"op": "move", "from": "/foo/waldo", "path": "/qux/thud"},
            {"foo": {"bar": "baz"}, "qux": {"corge": "grault", "thud": "fred"}}),
        ({"foo": ["all", "grass", "cows", "eat"]},
            {"op": "move", "from": "/foo/1", "path": "/foo/3"},
            {"foo": ["all", "cows", "eat", "grass"]}),
        ({"foo": "bar"}, {"op": "add", "path": "/child", "value": {"grandchild": {}}},
            {"foo": "bar", "child": {"grandchild": {}}}),
        ({"foo": ["bar"]}, {"op": "add", "path": "/foo/-", "value": ["abc", "def"]},
            {"foo": ["bar", ["abc", "def"]]}),
        ({"/": 9, "~1": 10}, {"op": "test", "path": "/~01", "value": 10}, {"/": 9, "~1": 10}),
        ({"a": [1]}, {"op": "copy", "from": "/a", "path": "/b"}, {"a": [1], "b": [1]}),
        ({"a": 1}, {"op": "replace", "path": "", "value": [2]}, [2]),
    ],
)  # fmt: skip
def test_json_patch_operations_follow_the_rfc(
    document: Any, operation: dict[str, Any], expected: Any
) -> None:
    state = AgentState(document)
    state.patch([operation])
    assert state.value == expected


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
        {"op": "test", "path": "/list", "value": [True]},
        {"op": "move", "from": "/list/0", "path": "/list/9"},
    ],
)
def test_a_patch_that_does_not_apply_changes_nothing(operation: dict[str, Any]) -> None:
    document = {"foo": "bar", "list": [1], "deep": {"er": {}}}
    state = AgentState(document)
    with pytest.raises(ValueError, match="does not match"):
        state.patch(
            [
                {"op": "remove", "path": "/foo"},
                {"op": "add", "path": "/list/0", "value": 0},
                {"op": "remove", "path": "/list/0"},
                {"op": "replace", "path": "/deep/er", "value": [1]},
                {"op": "add", "path": "/deep/er/-", "value": 2},
                {"op": "copy", "from": "/deep", "path": "/deep/est"},
                {"op": "move", "from": "/list", "path": "/deep/list"},
                {"op": "move", "from": "/deep/list", "path": "/list"},
                operation,
            ]
        )
    assert state.value == document == {"foo": "bar", "list": [1], "deep": {"er": {}}}


class Untouched(list[Any]):
    """A list of a state that must be neither walked nor copied."""

    def __iter__(self) -> Any:
        raise AssertionError("a patch walks what it does not name")

    __deepcopy__ = __reduce_ex__ = __copy__ = copy = __getitem__ = __iter__  # type: ignore[assignment]


def test_a_patch_costs_what_it_names_and_not_the_size_of_the_state() -> None:
    state = AgentState({})
    state.value = {"rows": Untouched([0] * 9), "turn": {"number": 0}}
    rows = state.value["rows"]
    for number in range(50_000):
        state.patch([{"op": "replace", "path": "/turn/number", "value": number}])
    state.patch([{"op": "move", "from": "/turn/number", "path": "/turn/last"}])
    state.patch([{"op": "add", "path": "/rows/-", "value": 1}])
    assert state.value == {"rows": rows, "turn": {"last": 49_999}}
    assert len(rows) == 10


DOUBLED = [{"op": "copy", "from": "/a", "path": "/a/-"}] * 40
DEEPER = [{"op": "add", "path": "/b" * levels, "value": {}} for levels in range(1, 1500)]
TO_AND_FRO = [
    {"op": "move", "from": "/long", "path": "/b"},
    {"op": "move", "from": "/b", "path": "/long"},
]
SHIFTED = [{"op": "add", "path": "/long/0", "value": 1}, {"op": "remove", "path": "/long/0"}]
OUTSIDE = [{"op": "remove", "path": f"/long/{10**4000}"}]


def patch_all(state: AgentState, patches: list[Any]) -> None:
    for patch in patches:
        with (
            contextlib.nullcontext()
            if patch is not OUTSIDE
            else pytest.raises(ValueError, match="match")
        ):
            state.patch(patch)


@pytest.mark.long
@pytest.mark.parametrize(
    ("patches", "says"),
    [
        ([DOUBLED], "copy and move more than 1,000,000 values"),
        ([[operation] for operation in DOUBLED], "copy and move more than 1,000,000 values"),
        ([DEEPER], "nested deeper than 64"),
        ([TO_AND_FRO] * 20, "copy and move more than 1,000,000 values"),
        ([OUTSIDE, *[SHIFTED] * 2000], "copy and move more than 1,000,000 values"),
        (
            [[{"op": "copy", "from": "/text", "path": f"/{number}"}] for number in range(20)],
            "copy and move",
        ),
    ],
    ids=["doubled", "doubled one by one", "deep", "moved", "shifted", "texts"],
)
def test_few_bytes_cannot_ask_for_much(patches: list[Any], says: str) -> None:
    state = AgentState({"a": [1], "b": {}, "long": [0] * 100_000, "text": "x" * 100_000})
    with pytest.raises(PeerError, match=says):
        patch_all(state, patches)
    assert json_patch.size_of(state.value, 10**9) < 10 * json_patch.MAX_MOVED


def test_a_state_may_be_removed_as_a_whole() -> None:
    state = AgentState({"a": 1})
    state.patch([{"op": "remove", "path": ""}])
    assert state.value is None


def test_a_state_that_grew_too_large_over_many_answers_is_refused() -> None:
    value: Any = {"a": ["x" * 400_000]}
    for number in range(6):
        state = AgentState(value)
        state.patch([{"op": "copy", "from": "/a/0", "path": f"/{number}"}])
        state.patch([{"op": "add", "path": "/a/-", "value": "y" * 400_000}])
        if number < 5:
            state.check()
        value = state.value
    with pytest.raises(PeerError, match="state has more than 5,000,000 values and characters"):
        state.check()
