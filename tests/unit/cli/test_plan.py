"""Plans from recorded runs or assumptions: cases, trials, calls, cost and hours."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Any

import pytest

from bioeval_tui.base.errors import UsageError
from tests.command import call
from tests.unit.report.recorded import Recorded, Talk, import_scores


def planned(*arguments: object) -> dict[str, Any]:
    """Return what `plan --json` prints; its first plan takes the fewest conversations, if it is the
    best.
    """
    found: dict[str, Any] = json.loads(
        call("plan", *arguments, "--json", catch_exceptions=False).stdout
    )
    return found


def test_assumed_variances_give_the_validated_plan() -> None:
    assumed = ("--sd-between", 0.03**0.5, "--sd-within", 0.2)
    found = planned("--detect", 0.1, *assumed)
    assert [(each["cases"], each["trials"]) for each in found["plans"]] == [
        (89, 1),
        (57, 2),
        (47, 3),
        (39, 5),
        (32, 10),
        (29, 20),
    ]
    assert found["plans"][0]["conversations"] == 178
    shown = call("plan", "--detect", "0.1").stdout
    assert "89 cases with 1 trial each, 178 conversations in all" in shown
    assert "(assumed, the agents' case means correlating by 0.5)" in shown


def results(folder: Path, name: str, shift: float) -> Path:
    def scores(case: int) -> list[float]:
        hard = Random(case).uniform(0.2, 0.6)
        return [
            hard + shift + Random(f"{name} {case} {trial}").uniform(-0.1, 0.1) for trial in range(3)
        ]

    return import_scores(folder, name, map(scores, range(40)))


def test_two_agents_runs_plan_for_their_paired_difference(tmp_path: Path) -> None:
    one, two = (results(tmp_path, name, shift) for name, shift in (("a", 0.0), ("b", 0.1)))
    first, *rest = two.read_text("utf-8").splitlines(keepends=True)
    renamed = json.dumps({**json.loads(first), "agent": "another"})
    two.write_text("".join([renamed, "\n", *rest]), "utf-8")
    both = planned("--from", one, "--from", two, "--detect", 0.05)
    alone = planned("--from", one, "--detect", 0.05)
    assert both["basis"] == "from 240 trials of both agents on 40 cases"
    assert both["components"]["between"] < alone["components"]["between"], (
        "what one finds hard the other does, too"
    )
    assert min(each["conversations"] for each in both["plans"]) < min(
        each["conversations"] for each in alone["plans"]
    )
    assert planned("--from", one, "--width", 0.1)["basis"] == "from 120 trials of 40 cases"


def test_a_single_job_plans_its_trials_and_says_that_cases_are_assumed(tmp_path: Path) -> None:
    talks = [Talk(tasks=(score,)) for score in (0.2, 0.9, 0.5, 0.7)]
    found = planned("--from", Recorded(talks, talks).write(tmp_path), "--width", 0.2)
    assert found["basis"].endswith("that between cases is assumed")
    assert found["cases"] == 1
    assert found["plans"][0]["calls"] is not None


def test_a_wrong_option_of_plan_is_one_sentence() -> None:
    for arguments, words in (
        ((), "give --detect"),
        (("--detect", "0.1", "--width", "0.1"), "give --detect"),
        (("--detect", "0.1", "--from", "x", "--sd-within", "0.1"), "not both"),
    ):
        with pytest.raises(UsageError, match=words):
            raise call("plan", *arguments).exception or AssertionError
