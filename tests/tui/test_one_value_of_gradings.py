"""Every door gives one value for each quantity of gradings: agents with several files of a task,
some without a score.

What is expected is worked out here, by hand, from the reports that the file holds.
"""

from __future__ import annotations

import csv
import io
import json
import re
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from driving import loaded, opened, screen_text, until
from fakes import FakeServices
from medal_rows import board, graded, invalid

from bioeval_tui.grade.outcomes import NotGraded
from tests.command import call

WIDE = (220, 50)
CANCER, SURVIVAL = board(1043, 0.52, 0.995), board(300, 0.51, 0.74)
ROWS = [
    graded("oncology/breast-cancer", "aide", 0.9912, CANCER),
    graded("oncology/breast-cancer", "aide", 0.7, CANCER),
    graded("oncology/gbsg2-survival", "aide", 0.6702, SURVIVAL),
    invalid("single-cell/labels", "aide", "7 ids are missing"),
    graded("oncology/breast-cancer", "stella", 0.9105, CANCER),
    graded("oncology/gbsg2-survival", "stella", 0.52, SURVIVAL),
]
UNKNOWN = graded("single-cell/labels", "stella", 0.5712, SURVIVAL)
"""Valid, on a task without a leaderboard: its percentile is unknown, which is not 0."""
FAILED = NotGraded(
    "oncology/gbsg2-survival", "stella/x.csv", "grader ran longer than 60 s", agent="stella"
)


def reports() -> list[Any]:
    assert UNKNOWN.report is not None
    unknown = replace(UNKNOWN.report, leaderboard_percentile=None)
    return [*(row.report for row in ROWS), unknown]


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("gradings") / "runs_grading_report.json"
    written = {
        "task_reports": [one.to_dict() for one in reports()],
        "not_graded": [FAILED.to_dict()],
    }
    path.write_text(json.dumps(written), encoding="utf-8")
    return path


def mean(values: list[Fraction]) -> Fraction:
    return sum(values, Fraction()) / len(values)


def percentiles(agent: str, *, zeros: bool) -> dict[str, list[Fraction]]:
    found: dict[str, list[Fraction]] = {}
    for one in reports():
        if one.agent == agent and one.leaderboard_percentile is not None:
            found.setdefault(one.task_id, []).append(Fraction(one.leaderboard_percentile))
        elif one.agent == agent and not one.valid_submission and zeros:
            found.setdefault(one.task_id, []).append(Fraction())
    if agent == "stella" and zeros:
        found[FAILED.task_id].append(Fraction())
    return found


def over_tasks(agent: str, *, zeros: bool) -> str:
    return (
        f"{float(mean([mean(values) for values in percentiles(agent, zeros=zeros).values()])):.1f}"
    )


KNOWN = [
    Fraction(one.leaderboard_percentile)
    for one in reports()
    if one.leaderboard_percentile is not None
]
VALID, WITH_ZEROS = (
    f"{float(mean(KNOWN)):.1f}",
    f"{float(mean([*KNOWN, Fraction(), Fraction()])):.1f}",
)
"""Over all submissions: five valid ones have a percentile; one is invalid, and one was not graded.
"""
AGENTS = {
    agent: (over_tasks(agent, zeros=False), over_tasks(agent, zeros=True))
    for agent in ("aide", "stella")
}
MEDALS = {"gold": 1, "silver": 1, "bronze": 1}
SHARES = {"aide": 100 * (Fraction(1, 2) + 1 + 0) / 3, "stella": 100 * (Fraction(1) + 0 + 0) / 3}
"""Any medal: the mean over tasks of the share of submissions with one."""


def test_the_example_tells_the_formulas_apart() -> None:
    medals = [one.medal for one in reports() if one.valid_submission]
    assert {name: medals.count(name) for name in MEDALS} == MEDALS, medals
    pooled = [value for values in percentiles("aide", zeros=False).values() for value in values]
    assert f"{float(mean(pooled)):.1f}" != AGENTS["aide"][0] != AGENTS["aide"][1]
    assert len({VALID, WITH_ZEROS, *AGENTS["aide"], *AGENTS["stella"]}) == 6


@pytest.mark.parametrize(
    "options", [("--table",), ("--format", "md"), ("--format", "html")], ids=" ".join
)
def test_tables_and_documents(file: Path, options: tuple[str, ...]) -> None:
    text = " ".join(
        re.sub(r"<[^>]+>", " ", call("medals", file, *options, width=400).stdout).split()
    )
    assert f"average percentile {VALID}" in text
    assert WITH_ZEROS in text
    for name, count in MEDALS.items():
        assert f"{count} {name}" in text
    for agent, (valid, everything) in AGENTS.items():
        share = f"{float(SHARES[agent]):.1f} %"
        cells = (
            rf"{agent}[ |]+\d of 4 graded[ |]+{share}[ |]+[\d.]+ %[ |]+{everything}[ |]+{valid}[ |]"
        )
        assert re.search(cells, text), (cells, text[-2500:])


def test_agents_as_json(file: Path) -> None:
    found = {
        one["agent"]: one for one in json.loads(call("medals", file, "--agents", "--json").stdout)
    }
    for agent, (valid, everything) in AGENTS.items():
        one = found[agent]
        assert (f"{one['percentile_graded']:.1f}", f"{one['percentile']:.1f}") == (
            valid,
            everything,
        )
        assert one["any_medal_share"] == pytest.approx(float(SHARES[agent] / 100))
        assert (one["submissions"], one["graded"]) == (4, 3)


def test_rows(file: Path) -> None:
    rows = json.loads(call("medals", file, "--json").stdout)
    table = list(csv.DictReader(io.StringIO(call("medals", file, "--format", "csv").stdout)))
    assert len(rows) == len(table) == 8
    for found in (
        [row.get("leaderboard_percentile") for row in rows],
        [row["leaderboard_percentile"] for row in table],
    ):
        known = [Fraction(str(value)) for value in found if value not in (None, "")]
        assert f"{float(mean(known)):.1f}" == VALID


async def test_screens() -> None:
    failed = replace(
        ROWS[0], task_id=FAILED.task_id, agent="stella", report=None, not_graded=FAILED.reason
    )
    rows = [*ROWS, replace(UNKNOWN, report=reports()[-1]), failed]
    async with opened(None, WIDE, services=FakeServices(rows=rows), start="medals") as (app, pilot):
        await loaded(app, pilot)
        table = " ".join(screen_text(app).split())
        await pilot.press("tab")
        await until(pilot, lambda: "…" not in screen_text(app).splitlines()[3])
        await loaded(app, pilot)
        text = screen_text(app)
    assert (
        f"average percentile {VALID} over 5 of 6 valid ({WITH_ZEROS} with 2 without a score as 0)"
        in table
    )
    for agent, (valid, everything) in AGENTS.items():
        (line,) = (line for line in text.splitlines() if re.match(rf"\W*{agent} ", line))
        assert re.search(rf" {valid} +{everything} +{float(SHARES[agent]):.1f} %", line), line
