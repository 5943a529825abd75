"""Where the data of tasks and their leaderboards come from.

Data comes by the `type` of `data_source` in config.yaml. Each source answers the same two questions
(see `TaskSource`): download the raw files, give the leaderboard. Those that download are in
`downloads`, and `source_types` has the table of all of them. No source has scores of people: a task
includes them.

The published leaderboards, ProteinGym's supervised results and those of Open Problems, are
included, one board for each task: `scripts/collect-leaderboards` created the files in
`grade/published`; `sources.json` names the commits.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Protocol

from bioeval_tui.base.errors import InputError, UnavailableError
from bioeval_tui.base.text import plural
from bioeval_tui.grade.score_numbers import better_words


class SourceError(UnavailableError):
    """Data could not be obtained; the message says what to install, or where to put which file."""


@dataclass(frozen=True, slots=True)
class BoardRow:
    """One row of a leaderboard."""

    team_name: str
    score: float
    submission_date: str = ""


class TaskSource(Protocol):
    """A source of tasks' data. `config` is `data_source` of the task's config.yaml."""

    def download(self, config: Mapping[str, Any], raw: Path) -> Path | None:
        """Put the raw files into the existing folder `raw`; return the archive if one was
        downloaded.

        An archive is unpacked by the caller, its checksum verified before.

        Raises:
            SourceError: no network, a package or credentials are missing, or the other side
                refused.
        """

    def leaderboard(self, config: Mapping[str, Any]) -> list[BoardRow]:
        """Return the leaderboard, best first; empty if the source has none.

        Raises:
            SourceError: as for `download`.
        """


def required(config: Mapping[str, Any], key: str, kind: str) -> str:
    """Return the text under `key` of a data source's config.

    Raises:
        InputError: it is missing or no text.
    """
    value = config.get(key)
    if not isinstance(value, str) or not value.strip():
        raise InputError(
            f"data_source.{key} is missing: a task of type {kind} needs it in its config.yaml"
        )
    return value.strip()


PUBLISHED = Path(__file__).parents[1] / "published"
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
    """A method's result, as published: `score` is the source's text, `date` empty where the source
    has none.
    """

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
        return (
            f"{source.title} ({self.metric}), {source.date}, commit {source.commit[:12]}, {entries}"
        )

    def why_unfit(self, graders: tuple[str, ...], is_lower_better: bool | None) -> str | None:
        """Return why the leaderboard cannot rank these graders' scores; None if it can.

        Args:
            graders: the names of the task's grader and metric.
            is_lower_better: the task's direction; None if its config does not say.
        """
        if not set(self.graders) & {name.lower().replace("_", "-") for name in graders}:
            return f"it ranks {self.metric}, the task's grader is {' or '.join(graders)}"
        if is_lower_better is not None and is_lower_better != self.is_lower_better:
            return f"it says {better_words(self.is_lower_better)}, the task the opposite"
        return None


def published_board(task_id: str, data_source: Mapping[str, Any]) -> PublishedBoard | None:
    """Return the included leaderboard of a task; None without one.

    Args:
        task_id: its last part identifies tasks of Open Problems.
        data_source: the task's; `benchmark_id` identifies ProteinGym's assays.
    """
    if data_source.get("type") == "proteingym-dms":
        return _proteingym().get(str(data_source.get("benchmark_id")))
    # That people download the data says of no benchmark, so the task's name has to tell.
    if data_source.get("type") == "manual":
        return _open_problems().get(task_id.rpartition("/")[2])
    return None


@cache
def _sources() -> dict[str, BoardSource]:
    text = (PUBLISHED / "sources.json").read_text(encoding="utf-8")
    return {name: BoardSource(**values) for name, values in json.loads(text).items()}


def _rows(name: str) -> Iterator[dict[str, str]]:
    with (PUBLISHED / name).open(encoding="utf-8", newline="") as file:
        yield from csv.DictReader(file)


@cache
def _proteingym() -> dict[str, PublishedBoard]:
    boards = {}
    for name in ("proteingym_substitutions.csv", "proteingym_indels.csv"):
        for row in _rows(name):
            assay = row.pop("DMS_id")
            entries = [BoardEntry(team, score) for team, score in row.items() if score]
            boards[assay] = PublishedBoard(
                _sources()["proteingym"],
                "Spearman",
                False,
                _PROTEINGYM_GRADERS,
                _best_first(entries, False),
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
