"""Job files, runs and machine-learning tasks in every state, and services with them, for the
screens that list them.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from fakes import FakeServices, FakeView
from medal_rows import board as scores_of

from bioeval_tui.base.errors import Problem
from bioeval_tui.formats import RunResult
from bioeval_tui.record.events import RunEvent
from bioeval_tui.record.runs import CataloguedRun, Status
from bioeval_tui.record.state import RunState, apply_all
from bioeval_tui.report.comparison import Comparison, compare
from bioeval_tui.tui.grading_items import BenchmarkDetail, BenchmarkItem, Board
from bioeval_tui.tui.job_items import JobItem
from tests.unit.report.recorded import Recorded, Talk

JOB_TEXT = """\
# A reminder needs a time zone, which only the second conversation may give.
evaluator:
  name: Socrates
  kind: scripted
target:
  user: ada
  chatbot: reminders
aspirationalAverage: 1500
maxTurns: 20
tasks:
  - task: Set a reminder to take warfarin tomorrow at 9
    acceptanceCriteria: |
      The reminder has a date: the next day, at nine in the morning.
      It has a time zone, too.
  - type: question
    task: What does warfarin interact with?
facts:
  - The user lives in Sydney
assertions:
  - name: reminder exists
    expression: 'objectContext.entities.any { it.type == "Reminder" }'
    weight: 3
  - cypher: MATCH (n:Deleted) RETURN count(n)
    expected: 0
"""
BROKEN_TEXT = JOB_TEXT.replace("aspirationalAverage: 1500", "aspirationalAvarage: 1500").replace(
    "it.type ==", "it.type ="
)


def jobs(now: datetime | None = None) -> list[JobItem]:
    """Return jobs: one with a history, one with a warning, one broken, one never run."""
    now = now or datetime.now(UTC)
    return [
        JobItem(
            Path("/home/ada/jobs/medication_reminder.yml"),
            "medication_reminder",
            JOB_TEXT,
            2,
            1,
            2,
            runs=14,
            scores=(
                0.31,
                0.42,
                0.4,
                None,
                0.55,
                0.52,
                0.6,
                0.58,
                0.71,
                0.69,
                0.74,
                0.76,
                None,
                0.78,
            ),
            last_run=now - timedelta(minutes=12),
            sample=True,
        ),
        JobItem(
            Path("/home/ada/jobs/variant_triage.yml"),
            "variant_triage",
            JOB_TEXT.replace("maxTurns: 20", "maxTurns: 4"),
            6,
            4,
            9,
            (
                Problem(
                    "4 messages are few for 6 tasks: at least 14 are needed",
                    "",
                    9,
                    11,
                    "maxTurns",
                    "warning",
                ),
            ),
            runs=3,
            scores=(0.22, 0.91, 0.64),
            last_run=now - timedelta(days=2),
            sample=True,
        ),
        JobItem(
            Path("/home/ada/jobs/drug_interaction.yml"),
            "drug_interaction",
            BROKEN_TEXT,
            problems=(
                Problem(
                    "unknown key, did you mean aspirationalAverage?",
                    "",
                    8,
                    1,
                    "aspirationalAvarage",
                ),
                Problem(
                    "expected `==`; an assignment is no condition",
                    "",
                    21,
                    54,
                    "assertions[0].expression",
                ),
            ),
            runnable=False,
            sample=True,
        ),
        JobItem(Path("/home/ada/jobs/cohort_question.yml"), "cohort_question", JOB_TEXT, 3, 2, 4),
    ]


def run(
    number: int,
    job: str,
    score: float | None,
    *,
    ago: timedelta,
    status: Status = "completed",
    fault: str = "none",
    now: datetime | None = None,
    rehearsal: bool = False,
    model: str = "gpt-4.1-mini",
    agent: str = "127.0.0.1:8081",
) -> CataloguedRun:
    """Return a run; the supplied condition is 0.3 better than the withheld one."""
    scores = {"withheld": None, "supplied": None}
    difference = None
    if score is not None:
        low, high = round(max(0.0, score - 0.15), 2), round(min(1.0, score + 0.15), 2)
        scores, difference = {"withheld": low, "supplied": high}, high - low
    run_id = f"20261120-0900{number:02}-{number:04x}"
    began = (now or datetime.now(UTC)) - ago
    return CataloguedRun(
        run_id,
        job,
        status,
        began.isoformat(),
        score,
        fault,
        dict(scores),
        16 + number,
        model,
        rehearsal,
        None,
        Path("/data/runs"),
        identity={"agent": agent},
        difference=difference,
    )


def history(now: datetime | None = None) -> list[CataloguedRun]:
    """Return runs in every state, newest first."""
    hours = [0.02, 0.2, 1.1, 3, 22, 30, 51, 75, 120, 170]
    return [
        run(
            1, "medication_reminder", None, ago=timedelta(hours=hours[0]), status="running", now=now
        ),
        run(2, "medication_reminder", 0.78, ago=timedelta(hours=hours[1]), now=now),
        run(3, "variant_triage", 0.64, ago=timedelta(hours=hours[2]), now=now, model="gpt-4.1"),
        run(
            4,
            "medication_reminder",
            None,
            ago=timedelta(hours=hours[3]),
            status="failed",
            fault="judge",
            now=now,
        ),
        run(5, "medication_reminder", 0.71, ago=timedelta(hours=hours[4]), now=now, fault="agent"),
        run(6, "medication_reminder", 0.58, ago=timedelta(hours=hours[5]), now=now, rehearsal=True),
        run(
            7, "variant_triage", None, ago=timedelta(hours=hours[6]), status="interrupted", now=now
        ),
        run(8, "medication_reminder", 0.42, ago=timedelta(hours=hours[7]), now=now),
        run(9, "variant_triage", 0.22, ago=timedelta(hours=hours[8]), status="cancelled", now=now),
        run(
            10, "medication_reminder", 0.31, ago=timedelta(hours=hours[9]), now=now, rehearsal=True
        ),
    ]


COMPARED_JOB = {
    "aspirationalAverage": 1000.0,
    "tasks": [
        {"task": "Set a reminder to take warfarin tomorrow at 9", "passAbove": 0.6},
        {"task": "What does warfarin interact with?", "passAbove": 0.6},
    ],
    "assertions": [
        {"expression": "true", "name": name, "weight": weight}
        for name, weight in (
            ("reminder exists", 3.0),
            ("nothing was deleted", 1.0),
            ("date has a zone", 2.0),
        )
    ],
}


def compared(change: Callable[[RunEvent], RunEvent] = lambda event: event) -> Comparison:
    """Return a comparison of two runs in which most got better and one assertion broke; `change`
    changes their events.
    """

    def talks(shift: float, *, later: bool) -> list[Talk]:
        return [
            Talk(
                tasks=(
                    0.2 + shift + 0.4 * later + 0.01 * trial * later,
                    0.7 - 0.1 * later - 0.01 * trial * later,
                ),
                holds=(later, trial % 2 == 0 or not later, not later),
                latencies_ms=(1430.0 if later else 1820.0,),
                failures=0 if later else 1,
            )
            for trial in range(6)
        ]

    def loaded(*, later: bool) -> RunResult:
        run = Recorded(
            withheld=talks(0.0, later=later),
            supplied=talks(0.3, later=later),
            job="reminder",
            run_id=f"20260102-03040{5 + later}-abcd",
            started={
                "job": COMPARED_JOB,
                "judge": "gpt-4.1-mini" if later else "rules",
                "rehearsal": not later,
                "model": "gpt-4.1-mini" if later else None,
            },
        )
        state = apply_all(RunState(), map(change, run.events()))
        assert state.started is not None
        return RunResult(Path("run.jsonl"), state, state.started)

    return compare(loaded(later=False), loaded(later=True))


DESCRIPTION = """\
# Breast cancer diagnosis from cell nuclei

Tell malignant from benign breast masses by the shape of cell nuclei in a digitised image of a \
fine needle
aspirate, as [described by the authors](https://example.org/paper).

## Data

| file | rows | columns |
|---|---|---|
| `train.csv` | 398 | `id`, 30 features, `malignant` |
| `test.csv` | 171 | `id`, 30 features |

- 30 % of each diagnosis is held out.
- The labels are public.
"""


def benchmarks() -> list[BenchmarkItem]:
    """Return tasks: prepared, not prepared in three ways, lower is better, broken."""
    return [
        BenchmarkItem(
            "epidemiology/nhefs-mortality",
            "Mortality after twenty years",
            "epidemiology",
            "classification",
            "medium",
            "builtin",
            "roc-auc",
            how="Its data comes with bioeval-tui or an installed package; nothing is downloaded.",
            awards_medals=True,
            time_limit_s=3600,
        ),
        BenchmarkItem(
            "metabolism/diabetes-progression",
            "Diabetes progression after one year",
            "metabolism",
            "regression",
            "easy",
            "builtin",
            "root mean squared error",
            True,
            awards_medals=True,
        ),
        BenchmarkItem(
            "oncology/breast-cancer",
            "Breast cancer diagnosis from cell nuclei",
            "oncology",
            "classification",
            "easy",
            "builtin",
            "roc-auc",
            True,
            awards_medals=True,
            time_limit_s=3600,
        ),
        BenchmarkItem(
            "polarishub/tdcommons-caco2-wang",
            "Caco-2 permeability",
            "polarishub",
            "regression",
            "medium",
            "polaris",
            "mean absolute error",
            how="Its data is downloaded from the Polaris hub.",
        ),
        BenchmarkItem(
            "proteins/unfinished",
            "proteins/unfinished",
            "proteins",
            problem="config.yaml:3:1: `dataset` is missing",
        ),
        BenchmarkItem(
            "single-cell/pbmc-cell-types",
            "Cell types of blood cells",
            "single-cell",
            "label projection",
            "hard",
            "builtin",
            "accuracy",
            True,
            file_kind="h5ad",
        ),
    ]


def details() -> dict[str, BenchmarkDetail]:
    """Return descriptions and leaderboards of the tasks above."""
    higher = scores_of(1043, 0.52, 0.995)
    lower = tuple(sorted(scores_of(60, 92.0, 41.5)))
    few = scores_of(7, 0.4, 0.8)
    warning = (
        "the leaderboard is self-trained: made by models trained for this program, not by"
        " competitors"
    )
    small = "the leaderboard has only 7 entries"

    def board(
        scores: tuple[float, ...],
        lower_is_better: bool,
        humans: tuple[float, ...] = (),
        *warnings: str,
    ) -> Board:
        size = len(scores)
        places = (max(1, size // 100), max(1, size // 20), max(1, size // 10), size // 2 + 1)
        gold, silver, bronze, median = (scores[place - 1] for place in places)
        return Board(scores, lower_is_better, gold, silver, bronze, median, humans, warnings)

    return {
        "epidemiology/nhefs-mortality": BenchmarkDetail(
            "Who died within twenty years?", board(higher[:300], False)
        ),
        "metabolism/diabetes-progression": BenchmarkDetail(
            DESCRIPTION, board(lower, True, (48.0, 55.0), warning)
        ),
        "oncology/breast-cancer": BenchmarkDetail(
            DESCRIPTION, board(higher, False, (0.94, 0.96, 0.97), warning)
        ),
        "polarishub/tdcommons-caco2-wang": BenchmarkDetail(
            "", None, "the leaderboard is missing: it comes with the data"
        ),
        "single-cell/pbmc-cell-types": BenchmarkDetail(
            "Name each cell's type.", board(few, False, (), small)
        ),
    }


usual_comparison = functools.cache(compared)


def filled_services(view: FakeView | None = None, **options: Any) -> FakeServices:
    """Return services with something on every list; each option replaces an attribute."""
    services = FakeServices(view)
    services.job_items, services.history, services.comparison = (
        jobs(),
        history(),
        usual_comparison(),
    )
    services.tasks, services.details = benchmarks(), details()
    services.preferences.update(options.pop("preferences", {}))
    for name, value in options.items():
        assert hasattr(services, name), name
        setattr(services, name, value)
    return services
