"""`compat: embabel` takes only what the published program understands."""

from __future__ import annotations

from pathlib import Path

import pytest

from bioeval_tui.evaluation.wiring.check_job import check_job

JOB = """\
target: {{user: bob, chatbot: bot}}
aspirationalAverage: 1000
tasks: [{{task: say hello, acceptanceCriteria: c}}]
facts: []
{compat}
assertions:
  - expression: {expression}
"""


def problems(folder: Path, expression: str, compat: str = "") -> list[tuple[str, int]]:
    path = folder / "job.yml"
    path.write_text(
        JOB.format(expression=expression, compat=f"compat: {compat}" if compat else ""), "utf-8"
    )
    return [(problem.severity, problem.line) for problem in check_job(path).problems]


@pytest.mark.parametrize(
    "expression",
    [
        'evaluation.transcript.any { it.role == "user" }',
        'objectContext.resources.none { it.type == "Drug" }',
    ],
)
def test_strict_mode_refuses_what_only_this_program_understands(
    tmp_path: Path, expression: str
) -> None:
    assert problems(tmp_path, expression) == []
    assert problems(tmp_path, expression, "embabel") == [("error", 7)]


def test_role_enums_work_in_both_modes(tmp_path: Path) -> None:
    for text in ('it.role.name == "user"', "it.role == MessageRole.user"):
        expression = "evaluation.transcript.any { " + text + " }"
        assert problems(tmp_path, expression) == problems(tmp_path, expression, "embabel") == []


def test_a_published_job_is_warned_of_keys_by_which_its_score_is_another(tmp_path: Path) -> None:
    path = tmp_path / "job.yml"
    text = """\
target: {user: bob, chatbot: bot}
aspirationalAverage: 1000
compat: embabel
tasks: [{task: say hello, acceptanceCriteria: c, withheldCriteria: d, weight: 2}]
facts: []
assertions:
  - {expression: evaluation.failureCount == 0, only: supplied, weight: 2}
"""
    path.write_text(text, "utf-8")
    found = [
        (problem.severity, problem.field, problem.message) for problem in check_job(path).problems
    ]
    says = (
        "embabel-agent-eval does not know `{}`, so with compat: embabel the score is still another"
    )
    assert found == [
        ("warning", "tasks[0].withheldCriteria", says.format("withheldCriteria")),
        ("warning", "tasks[0].weight", says.format("weight")),
        ("warning", "assertions[0].only", says.format("only")),
    ]
    path.write_text(text.replace("compat: embabel\n", ""), "utf-8")
    assert not [problem for problem in check_job(path).problems if problem.severity == "warning"]
