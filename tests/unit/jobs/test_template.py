"""A new job is right as it is written, whatever is answered."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from bioeval_tui.cli import app
from bioeval_tui.jobs.template import Answers, job_text
from bioeval_tui.wiring.jobs import check_job


@pytest.mark.parametrize(
    "answers",
    [
        Answers(),
        Answers(rehearsal=True),
        Answers(fact="", rehearsal=True),
        Answers(user='a "quoted": #user', task="- [x] {y}\nnext: line", criteria="\x1b[2J", fact="no"),
    ],
)
def test_the_written_job_has_no_problem(answers: Answers, tmp_path: Path) -> None:
    path = tmp_path / "job.yml"
    path.write_text(job_text(answers), encoding="utf-8")
    assert [str(problem) for problem in check_job(path).problems] == []


def test_the_questions_end_in_a_file_and_an_existing_one_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "job.yml"
    lines = ["grace", "bot", "http://127.0.0.1:9000", "rest", "2", "Find a trial", "It names one", "", "y"]
    result = CliRunner().invoke(app, ["new", str(path)], input="\n".join(lines) + "\n")
    assert result.exit_code == 0, result.output
    checked = check_job(path)
    assert checked.loaded is not None
    assert checked.loaded.job.target.user == "grace"
    assert checked.loaded.job.aspirational_average == 2000
    before = path.read_text()
    assert CliRunner().invoke(app, ["new", str(path), "--yes"]).exit_code != 0
    assert path.read_text() == before
