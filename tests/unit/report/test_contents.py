"""What conversations were about, as damaged recordings have it, too."""

from __future__ import annotations

from typing import Any

import pytest

from bioeval_tui.report.contents import contents_of, in_common

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
def test_the_contents_of_a_damaged_job_are_compared_without_a_crash(changes: dict[str, Any]) -> None:
    whole, damaged = (contents_of(job, job, "supplied") for job in (JOB, {**JOB, **changes}))
    assert in_common(damaged, damaged).whole
    assert damaged.digest
    assert in_common(whole, damaged) is not None
