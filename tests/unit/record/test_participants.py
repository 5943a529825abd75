"""What a judge is called says how each of its models is asked."""

from __future__ import annotations

import pytest

from bioeval_tui.record.participants import judge_name, name_parts


@pytest.mark.parametrize(
    ("models", "repeats", "items", "models_said", "how"),
    [
        (["a"], 1, None, "a", ""),
        (["a"], 3, 1, "a", " × 3 (one criterion a request)"),
        (["a"], 1, 4, "a", " (up to 4 criteria a request)"),
        (["a", "b"], 1, None, "a, b", ""),
        (["a", "b"], 1, 1, "a, b", " (each: one criterion a request)"),
        (["a", "b"], 2, 4, "a, b", " × 2 (each: up to 4 criteria a request)"),
    ],
)
def test_a_judges_name_says_how_all_of_its_models_are_asked(
    models: list[str], repeats: int, items: int | None, models_said: str, how: str
) -> None:
    name = judge_name(models, repeats, items)
    assert name == models_said + how
    assert name_parts(name) == (models_said, how)
