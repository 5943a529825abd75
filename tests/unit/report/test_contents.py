"""What conversations were about, as damaged recordings have it, too."""

from __future__ import annotations

from typing import Any

import pytest

from bioeval_tui.jobs.models import KINDS, AssertionPart
from bioeval_tui.record.cases import OF_EVERY_ASSERTION
from bioeval_tui.report.contents import common_contents, job_contents

JOB: dict[str, Any] = {
    "facts": ["It is 5 mg"],
    "tasks": [{"task": "Learn the dose", "weight": 2}],
    "assertions": [{"expression": "done", "weight": 3}],
}


@pytest.mark.parametrize(
    "changes",
    [
        {"facts": 5},
        {"facts": {"a": 1}},
        {"tasks": [{"task": "Learn the dose", "weight": 10**400}]},
        {"tasks": [{"task": ["x"], "weight": "heavy"}]},
        {"assertions": 7},
        {"assertions": [{"expression": "done", "weight": -(10**400)}, "x", None]},
        {"scorer": [], "evaluator": "x"},
    ],
)
def test_the_contents_of_a_damaged_job_are_compared_without_a_crash(
    changes: dict[str, Any],
) -> None:
    whole, damaged = (job_contents(job, job, "supplied") for job in (JOB, {**JOB, **changes}))
    assert common_contents(damaged, damaged).whole
    assert damaged.digest
    assert common_contents(whole, damaged) is not None


def test_what_an_assertion_of_an_unknown_kind_asserts_is_compared() -> None:
    """As a newer version recorded it, or as somebody adds it here."""
    one, other = ({**JOB, "assertions": [{"endsWith": text}]} for text in (".", "!"))
    contents = [job_contents(job, job, "supplied") for job in (one, other)]
    assert contents[0].digest != contents[1].digest
    assert not common_contents(*contents).checked


def test_the_keys_of_every_assertion_are_told_from_what_it_asserts() -> None:
    assert set(AssertionPart.model_fields) == OF_EVERY_ASSERTION
    for kind, part in KINDS["assertions"].items():
        own = [field.alias or name for name, field in part.model_fields.items()]
        assert next(key for key in own if key not in OF_EVERY_ASSERTION) == kind
