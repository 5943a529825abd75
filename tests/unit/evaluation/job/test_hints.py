"""What `check` points out although nothing is wrong with it."""

from __future__ import annotations

from pathlib import Path

import pytest

from bioeval_tui.evaluation.wiring.check_job import check_job

JOB = """
target: {user: ada, chatbot: bot}
aspirationalAverage: 1000
evaluator: {lines: [{say: At nine in Rome., when: where}, {say: It is Sydney., when: zone, fact: 1}]}
facts: [The user lives in Sydney, The user takes 5 mg]
tasks: [{task: Set a reminder for 9}]
assertions:
  - ASSERTION
"""


@pytest.mark.parametrize(
    ("assertion", "word"),
    [
        ("""{expression: 'evaluation.transcript.any { "Sydney" in it.content }'}""", "Sydney"),
        ("""{expression: 'evaluation.transcript.any { "Sydney" in it.content }', only: supplied}""", ""),
        ("""{cypher: "MATCH (r {city: 'Sydney'}) RETURN count(r)", expected: 1}""", "Sydney"),
        ("{cypher: MATCH (r) RETURN r.city, expected: sydney}", "sydney"),
        ("{toolCalls: {mustCall: [{name: remind, arguments: {dose: 5}}]}}", "5"),
        ("{toolCalls: {mustCall: [{name: remind, arguments: {hour: 9, city: Rome}}]}}", ""),
        ("""{expression: 'evaluation.transcript.any { "done" in it.content }'}""", ""),
    ],
)
def test_an_assertion_that_only_a_guess_can_meet_is_pointed_out(
    assertion: str, word: str, tmp_path: Path
) -> None:
    path = tmp_path / "job.yml"
    path.write_text(JOB.replace("ASSERTION", assertion), encoding="utf-8")
    found = check_job(path)
    assert found.problems == ()
    assert [f"says “{word}”" in str(hint) for hint in found.hints] == [True] * bool(word)
