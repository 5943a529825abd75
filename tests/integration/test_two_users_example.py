"""The example of two users in docs/evaluate-your-agent.md, as it is printed there."""

from __future__ import annotations

import re
from pathlib import Path

from bioeval_tui.report.result import load_run
from tests.servers.whole_runs import hold

PAGE = Path(__file__).parents[2] / "docs" / "evaluate-your-agent.md"


async def test_the_example_of_two_users_gives_the_line_that_stands_below_it(
    tmp_path: Path,
) -> None:
    section = PAGE.read_text("utf-8").partition("### Several users")[2]
    job = re.search(r"```yaml\n(.*?)```", section, re.DOTALL)
    said = re.search(r"^USERS (.*)$", section, re.MULTILINE)
    assert job is not None
    assert said is not None
    whole = await hold(job[1], tmp_path, sample_agent=True)
    loaded = load_run(whole.path)
    assert loaded.answer.users == said[1]
    # Personas were chosen, not drawn: they are no cases for which an interval would hold.
    assert not loaded.has_cases
    assert loaded.summary.conditions[0].score.cases == 0
