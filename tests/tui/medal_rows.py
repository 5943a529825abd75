"""Graded submissions in every state, on leaderboards of several sizes and both directions."""

from __future__ import annotations

from bisect import bisect_left
from datetime import datetime

from bioeval_tui.grade.task_report import ReportExtra
from bioeval_tui.grading import TaskReport
from bioeval_tui.tui.grading_items import MedalRow


def board(size: int, worst: float, best: float) -> tuple[float, ...]:
    """Return a leaderboard, best first, thinning out towards the best."""
    steps = [(1 - (place / (size - 1)) ** 0.5) if size > 1 else 1.0 for place in range(size)]
    return tuple(round(worst + (best - worst) * step, 5) for step in sorted(steps, reverse=True))


def graded(
    task: str,
    agent: str,
    score: float,
    scores: tuple[float, ...],
    *,
    lower: bool = False,
    human: float | None = None,
    warnings: tuple[str, ...] = (),
    rows: tuple[int, int] = (171, 171),
) -> MedalRow:
    """Return a valid row whose thresholds stand at fixed shares of the leaderboard."""
    sign = -1 if lower else 1
    ordered = sorted((sign * value for value in scores), reverse=True)
    size = len(ordered)
    places = {
        "gold": max(1, size // 100),
        "silver": max(1, size // 20),
        "bronze": max(1, size // 10),
    }
    marks = {name: sign * ordered[place - 1] for name, place in places.items()}
    median = sign * ordered[size // 2]
    position = bisect_left([-value for value in ordered], -sign * score) + 1
    won = [name for name in ("gold", "silver", "bronze") if sign * score >= sign * marks[name]]
    best = won[0] if won else None
    following = {"gold": None, "silver": "gold", "bronze": "silver", None: "bronze"}[best]
    report = TaskReport(
        task_id=task,
        score=score,
        gold_threshold=marks["gold"],
        silver_threshold=marks["silver"],
        bronze_threshold=marks["bronze"],
        median_threshold=median,
        any_medal=best is not None,
        gold_medal=best == "gold",
        silver_medal=best == "silver",
        bronze_medal=best == "bronze",
        above_median=sign * score > sign * median,
        submission_exists=True,
        valid_submission=True,
        is_lower_better=lower,
        created_at=datetime(2026, 11, 20, 9, 0),
        submission_path=f"{agent}/{task}.csv",
        leaderboard_percentile=round(100 * sum(v < sign * score for v in ordered) / size, 1),
        leaderboard_size=size,
        beats_human=None if human is None else sign * score > sign * human,
        human_percentile=None if human is None else 62.5,
        extra=ReportExtra(
            agent=agent,
            leaderboard_position=position,
            score_needed=marks[following] if following else None,
            next_medal=following,
            warnings=warnings,
            self_trained_leaderboard=True,
            rows_scored=rows[0],
            rows_expected=rows[1],
        ),
    )
    return MedalRow(task, agent, report.submission_path, report, None, scores, human)


def invalid(task: str, agent: str, error: str) -> MedalRow:
    """Return a row whose file is at fault."""
    report = TaskReport(
        task_id=task,
        score=None,
        gold_threshold=1.0,
        silver_threshold=0.9,
        bronze_threshold=0.8,
        median_threshold=0.5,
        any_medal=False,
        gold_medal=False,
        silver_medal=False,
        bronze_medal=False,
        above_median=False,
        submission_exists=True,
        valid_submission=False,
        is_lower_better=False,
        created_at=datetime(2026, 11, 20, 9, 0),
        submission_path=f"{agent}/{task}.csv",
        extra=ReportExtra(agent=agent, error=error),
    )
    return MedalRow(task, agent, report.submission_path, report)


def sample_rows() -> list[MedalRow]:
    """Return one row of every kind."""
    cancer = board(1043, 0.52, 0.995)
    survival = board(300, 0.51, 0.74)
    diabetes = board(60, 92.0, 41.5)
    return [
        graded("oncology/breast-cancer", "aide", 0.9912, cancer, human=0.962),
        graded("oncology/breast-cancer", "stella", 0.9105, cancer, human=0.962),
        graded("oncology/gbsg2-survival", "aide", 0.6702, survival, rows=(2, 171)),
        graded("single-cell/pbmc-label-projection", "biomni", 0.5712, survival),
        graded("metabolic/diabetes-progression", "aide", 44.2, diabetes, lower=True, human=48.0),
        graded(
            "metabolic/diabetes-progression",
            "stella",
            71.3,
            diabetes,
            lower=True,
            warnings=("direction guessed from the leaderboard",),
        ),
        invalid(
            "metabolic/diabetes-progression",
            "biomni",
            "17 ids of the answers are missing: p0004, p0011, p0019, p0032, p0040 …",
        ),
        MedalRow(
            "oncology/breast-cancer",
            "biomni",
            "biomni/bc.csv",
            not_graded="grader ran longer than 60 s",
        ),
    ]
