"""YAML of others: what would end the process, or fill its memory, is refused with its place."""

from __future__ import annotations

import pytest
import yaml

from bioeval_tui.base.yaml_positions import load_yaml

BOMB = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{chr(98 + n)}: &{chr(98 + n)} [{', '.join([f'*{chr(97 + n)}'] * 9)}]\n" for n in range(9)
)
LIMITS = "too large or too deep: at most 500,000 values and 50 levels"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[" * 100_000, LIMITS),
        ("x: " + "{a: " * 1000 + "}" * 1000, LIMITS),
        (BOMB, LIMITS),
        ("a: &a [*a]\n", "contains an alias of itself, so it has no end"),
        ("a: &a {b: [1, &c {d: *a}]}\n", "contains an alias of itself, so it has no end"),
    ],
    ids=["lists", "mappings", "aliases", "itself", "around"],
)
def test_yaml_of_others_that_would_end_the_process_is_refused(text: str, says: str) -> None:
    for written in (text, text.encode()):
        with pytest.raises(yaml.YAMLError, match=says):
            load_yaml(written)
        with pytest.raises(yaml.YAMLError, match=says):
            load_yaml(written, yaml.BaseLoader)


def test_yaml_with_usual_aliases_is_loaded() -> None:
    assert load_yaml("a: &a [1, 2]\nb: [*a, *a]\nc: &c {d: *a}\ne: *c\n") == {
        "a": [1, 2],
        "b": [[1, 2], [1, 2]],
        "c": {"d": [1, 2]},
        "e": {"d": [1, 2]},
    }
