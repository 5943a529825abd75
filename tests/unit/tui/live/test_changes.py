"""What changed between two observed states."""

from bioeval_tui.tui.live.details import changes


def test_items_are_matched_by_their_id() -> None:
    before = {"resources": [{"id": "a", "name": "x"}, {"id": "b", "name": "y"}]}
    after = {"resources": [{"id": "b", "name": "z"}, {"id": "c", "name": "w"}]}
    assert changes(before, after) == [
        '− resources.a: {"id":"a","name":"x"}',
        '~ resources.b.name: "y" → "z"',
        '+ resources.c: {"id":"c","name":"w"}',
    ]


def test_equal_states_show_no_changes() -> None:
    assert changes({"a": [1, {"b": None}]}, {"a": [1, {"b": None}]}) == []


def test_a_long_list_of_changes_is_cut_and_counted() -> None:
    lines = changes({}, {str(number): number for number in range(100)})
    assert len(lines) == 41
    assert lines[-1] == "… and 60 more changes"
