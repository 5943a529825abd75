"""Which of a job's conditions show what the facts change."""

from __future__ import annotations

from typing import Any

import pytest

from bioeval_tui.record.conditions import ConditionConfig, job_conditions, job_contrast

NONE = {"name": "bare", "facts": "none"}
ASKED = {"name": "asked"}
TOLD = {"name": "told", "tells": "all"}
SOME = {"name": "some", "facts": [2]}


@pytest.mark.parametrize(
    ("conditions", "contrast"),
    [
        ([TOLD, ASKED], ("asked", "told")),
        ([ASKED, SOME, TOLD], ("asked", "told")),
        ([ASKED, NONE], ("bare", "asked")),
        ([TOLD, ASKED, NONE], ("bare", "told")),
        ([ASKED, SOME], None),
        ([TOLD], None),
    ],
)
def test_the_contrast_is_with_none_of_the_facts_or_else_with_having_to_ask(
    conditions: list[dict[str, Any]], contrast: tuple[str, str] | None
) -> None:
    assert job_contrast({"conditions": conditions}) == contrast


def test_only_a_condition_that_tells_at_once_says_so_in_recordings() -> None:
    asked, told = ConditionConfig(name="asked"), ConditionConfig(name="told", tells="all")
    assert "tells" not in asked.model_dump(mode="json")
    assert told.model_dump(mode="json")["tells"] == "all"
    written = [each.model_dump(mode="json") for each in (asked, told)]
    assert job_conditions({"conditions": written}) == (asked, told)
