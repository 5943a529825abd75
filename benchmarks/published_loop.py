"""A stand-in for the published grading program, as a process of its own: one submission after
another, nothing kept.

    python published_loop.py TASKS DATA SUBMISSIONS.jsonl OUTPUT

Our own writing of the published procedure: for each submission the task's config is read and its
grader's file imported where it was not yet, pandas reads submission and answers with correctly
rounded numbers and the leaderboard, the score is ranked by counting rows, and the human baselines
are looked for. Reports are written at the end. Prints the processor seconds that the graders' own
functions took: no program that calls them can take less.
"""

from __future__ import annotations

import importlib.util
import json
import sys
import time
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd
import yaml


@cache
def grader_in(path: Path) -> Any:
    """Import a grader's file once, as Python does."""
    spec = importlib.util.spec_from_file_location(path.parent.name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.grade


def places(entries: int) -> tuple[int, int, int]:
    """Return the last places of gold, silver and bronze."""
    if entries < 100:
        return max(1, int(0.1 * entries)), max(1, int(0.2 * entries)), max(1, int(0.4 * entries))
    if entries < 250:
        return 10, int(0.2 * entries), int(0.4 * entries)
    gold = 10 + int(0.002 * entries)
    return (gold, 50, 100) if entries < 1000 else (gold, int(0.05 * entries), int(0.1 * entries))


def ranked(score: float, board: pd.DataFrame) -> dict[str, Any]:
    """Rank by counting rows."""
    scores = board["score"]
    lower = bool(scores.iloc[0] < scores.iloc[-1])
    gold, silver, bronze = (float(scores.iloc[place - 1]) for place in places(len(scores)))
    median = float(scores.median())
    reaches = [bool(score <= mark if lower else score >= mark) for mark in (gold, silver, bronze)]
    worse = (scores > score).sum() if lower else (scores < score).sum()
    return {
        "gold_medal": reaches[0],
        "silver_medal": reaches[1] and not reaches[0],
        "bronze_medal": reaches[2] and not reaches[1] and not reaches[0],
        "above_median": bool(score < median if lower else score > median),
        "gold_threshold": gold,
        "silver_threshold": silver,
        "bronze_threshold": bronze,
        "median_threshold": median,
        "leaderboard_percentile": float(round(worse / len(scores) * 100, 1)),
        "leaderboard_size": len(scores),
        "is_lower_better": lower,
    }


class Clock:
    """Processor time spent in the graders' own functions."""

    seconds = 0.0

    def call(self, function: Any, *arguments: Any) -> Any:
        """Call a grader and count how long it takes."""
        started = time.process_time()
        found = function(*arguments)
        self.seconds += time.process_time() - started
        return found


CLOCK = Clock()


def graded(tasks: Path, data: Path, task_id: str, path: Path) -> dict[str, Any]:
    """Grade one submission, reading everything that it needs."""
    folder = tasks / task_id
    config = yaml.safe_load((folder / "config.yaml").read_text())
    answers_path = data / config["dataset"]["answers"]
    grade = grader_in(folder / "grade.py")
    if path.suffix == ".h5ad":
        score = round(CLOCK.call(grade, path, answers_path), 5)
    else:
        submission = pd.read_csv(path, float_precision="round_trip")
        answers = pd.read_csv(answers_path, float_precision="round_trip")
        score = round(CLOCK.call(grade, submission, answers), 5)
    report = ranked(score, pd.read_csv(folder / "leaderboard.csv"))
    humans = data / task_id / "prepared" / "public" / "human_baselines.csv"
    assert not humans.exists()
    return {
        "task_id": task_id,
        "score": float(score),
        "submission_path": str(path),
        **report,
    }


def main() -> None:
    """Grade the list, then write the report and one file for each submission."""
    tasks, data, listing, output = map(Path, sys.argv[1:])
    reports = []
    for line in listing.read_text().splitlines():
        item = json.loads(line)
        reports.append(graded(tasks, data, item["task_id"], Path(item["submission_path"])))
    output.mkdir(parents=True)
    (output / "report.json").write_text(json.dumps({"task_reports": reports}, indent=2))
    for number, report in enumerate(reports):
        (output / f"{number}.json").write_text(json.dumps(report, indent=2))
    print(CLOCK.seconds)


if __name__ == "__main__":
    main()
