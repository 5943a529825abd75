"""How a score is explained, and that what is counted once is told of as one."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from bioeval_tui.record.score import assertion_part
from bioeval_tui.record.tool_calls import tool_calls_text
from bioeval_tui.report.explanation import explain, print_explanation
from tests.unit.report.recorded import Recorded, Talk


@pytest.mark.parametrize(
    ("failures", "said"), [(1, "−0.30 for 1 failure\n"), (2, "−0.50 for 2 failures\n")]
)
def test_the_penalty_names_how_many_failures_it_is_for(failures: int, said: str) -> None:
    run = Recorded([Talk(failures=failures)], [Talk()]).loaded()
    shown = io.StringIO()
    print_explanation(explain(run, 0.8, {}), 0.8, Console(file=shown, width=100))
    assert said in shown.getvalue()


def test_one_call_and_one_assertion_are_told_of_as_one() -> None:
    assert tool_calls_text({"maxCalls": {"*": 2, "remind": 1}}).endswith(
        "at most 2 calls; at most 1 call of remind"
    )
    assert assertion_part([(1.0, None)]).reason == "1 of 1 assertion could not be measured"
