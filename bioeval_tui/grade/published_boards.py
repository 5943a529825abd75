"""The published leaderboards: ProteinGym's supervised results and those of Open Problems, one board for each task.

The files in `published` were created by `scripts/collect-leaderboards`; `sources.json` names the commits.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from bioeval_tui.text import plural

HERE = Path(__file__).parent / "published"
_PROTEINGYM_GRADERS = ("proteingym-metric", "spearman")


@dataclass(frozen=True, slots=True)
class BoardSource:
    """Where a board comes from; `date` is the commit's."""

    title: str
    url: str
    licence: str
    commit: str
    date: str


@dataclass(frozen=True, slots=True)
class BoardEntry:
    """A method's result, as published: `score` is the source's text, `date` empty where the source has none."""

    team: str
    score: str
    date: str = ""


@dataclass(frozen=True, slots=True)
class PublishedBoard:
    """A published leaderboard; entries are ordered best first.

    `graders` are the names of graders and metrics that compute the board's metric.
    """

    source: BoardSource
    metric: str
    is_lower_better: bool
    graders: tuple[str, ...]
    entries: tuple[BoardEntry, ...]

    @property
    def origin(self) -> str:
        """The leaderboard on one line: source, metric, date, commit, number of entries."""
        entries = plural(len(self.entries), "entry", "entries")
        source = self.source
        return f"{source.title} ({self.metric}), {source.date}, commit {source.commit[:12]}, {entries}"

    def why_unfit(self, graders: tuple[str, ...], is_lower_better: bool | None) -> str | None:
        """Return why the leaderboard cannot rank these graders' scores; None if it can.

        Args:
            graders: the names of the task's grader and metric.
            is_lower_better: the task's direction; None if its config does not say.
        """
        if not set(self.graders) & {name.lower().replace("_", "-") for name in graders}:
            return f"it ranks {self.metric}, the task's grader is {' or '.join(graders)}"
        if is_lower_better is not None and is_lower_better != self.is_lower_better:
            better = "lower is better" if self.is_lower_better else "higher is better"
            return f"it says {better}, the task the opposite"
        return None


def published_board(task_id: str, data_source: Mapping[str, Any]) -> PublishedBoard | None:
    """Return the included leaderboard of a task; None without one.

    Args:
        task_id: its last part identifies tasks of Open Problems.
        data_source: the task's; `benchmark_id` identifies ProteinGym's assays.
    """
    if data_source.get("type") == "proteingym-dms":
        return _proteingym().get(str(data_source.get("benchmark_id")))
    if data_source.get("type") == "manual":
        return _open_problems().get(task_id.rpartition("/")[2])
    return None


@cache
def _sources() -> dict[str, BoardSource]:
    text = (HERE / "sources.json").read_text(encoding="utf-8")
    return {name: BoardSource(**values) for name, values in json.loads(text).items()}


def _rows(name: str) -> Iterator[dict[str, str]]:
    with (HERE / name).open(encoding="utf-8", newline="") as file:
        yield from csv.DictReader(file)


@cache
def _proteingym() -> dict[str, PublishedBoard]:
    boards = {}
    for name in ("proteingym_substitutions.csv", "proteingym_indels.csv"):
        for row in _rows(name):
            assay = row.pop("DMS_id")
            entries = [BoardEntry(team, score) for team, score in row.items() if score]
            boards[assay] = PublishedBoard(
                _sources()["proteingym"], "Spearman", False, _PROTEINGYM_GRADERS, _best_first(entries, False)
            )
    return boards


@cache
def _open_problems() -> dict[str, PublishedBoard]:
    rows: dict[str, list[dict[str, str]]] = {}
    for row in _rows("openproblems.csv"):
        rows.setdefault(row["task"], []).append(row)
    boards = {}
    for task, of_task in rows.items():
        first = of_task[0]
        lower = first["lower_is_better"] == "true"
        entries = [BoardEntry(row["team"], row["score"], row["date"]) for row in of_task]
        boards[task] = PublishedBoard(
            _sources()["openproblems"],
            f"{first['metric']} on {first['dataset']}",
            lower,
            (first["grader"],),
            _best_first(entries, lower),
        )
    return boards


def _best_first(entries: list[BoardEntry], is_lower_better: bool) -> tuple[BoardEntry, ...]:
    return tuple(sorted(entries, key=lambda entry: float(entry.score), reverse=not is_lower_better))
