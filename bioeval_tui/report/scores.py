"""A table of scores, without any conversation: each unit (a task, a case) scored for several
agents, by one or several raters.

It gives each agent's mean and ranks with intervals, clustered by unit, and how far the raters
agree. A row has one score and names its rater, or has a column of scores for each rater; or it has
a column of scores for each agent, as a matrix of units and agents.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, combinations
from math import inf
from pathlib import Path
from typing import Annotated, Any

from typing_extensions import TypedDict

from bioeval_tui.base.errors import InputError
from bioeval_tui.base.printed import Fields
from bioeval_tui.base.text import clean_line, join_names, plural
from bioeval_tui.record.importing.file_look import entries
from bioeval_tui.record.importing.given import AGENTS, RATERS, SCORES, UNITS, score_value, usual
from bioeval_tui.report.findings import RanksBasis
from bioeval_tui.report.sentences import sentence
from bioeval_tui.report.summary import RANK
from bioeval_tui.statistics.intervals import FEWEST_UNITS, UNIT, Bounds, Measured, ends, mean_of
from bioeval_tui.statistics.judges import krippendorff_alpha, rated_units
from bioeval_tui.statistics.means import average
from bioeval_tui.statistics.ranks import AgentRanking, rank

NO_SCORES = frozenset(
    {
        "trial", "repeat", "seed", "rank", "place", "n", "count", "index", "row", "status",
        "seconds", "latency_ms", "cost",
        "tokens", "tokens_in", "tokens_out", "turns",
    }
)  # fmt: skip
"""Columns of numbers that are no scores."""
CONDITION = "condition"
ROUNDING = 5e-4
"""Means are printed with few decimals: a column that is so close to the mean of the others is
theirs.
"""
MOST_SCORES = 2_000_000
READ = "so it was read"
ONE_RATER = "score"
"""Who gave the scores of a table with a column for each agent."""


@dataclass(frozen=True, slots=True)
class ScoreColumns:
    """Which columns of a table are what. Without `rater`, each of `scores` is a rater's column;
    of a table that was read, without `agents`, each is an agent's.
    """

    unit: str = ""
    agents: tuple[str, ...] = ()
    rater: str = ""
    scores: tuple[str, ...] = ()


@dataclass(slots=True)
class ScoreTable:
    """The scores of a table: of each agent and unit, by rater; those of repeated rows in order."""

    columns: ScoreColumns
    scores: dict[str, dict[str, dict[str, list[float]]]] = field(default_factory=dict)
    """Agent to unit to rater to scores."""
    notes: list[str] = field(default_factory=list)

    @property
    def raters(self) -> list[str]:
        """The raters in the order of the table."""
        return list(dict.fromkeys(chain.from_iterable(self.cells())))

    def cells(self) -> Iterator[Mapping[str, Sequence[float]]]:
        """Yield the scores of each unit of each agent, by rater."""
        for units in self.scores.values():
            yield from units.values()


def read_scores(file: Path, given: ScoreColumns = ScoreColumns()) -> ScoreTable:
    """Return the scores of a table: CSV with a header, JSON Lines or a JSON list.

    Columns that are not given are found by name.

    Raises:
        InputError: the file is no table, lacks a column, or a score is no number; the text has the
            line.
    """
    rows: list[tuple[str, dict[str, Any]]] = []
    try:
        if not file.stat().st_size:
            raise InputError("is empty; it must be CSV with a header, JSON Lines or a JSON list")
        for place, row in entries(file, what="row"):
            if not isinstance(row, dict):
                raise InputError(f"{place}: must be an object with a unit, an agent and a score")
            rows.append((place, row))
            if len(rows) > MOST_SCORES:
                raise InputError(f"{place}: more than {MOST_SCORES:,} rows; split the file")
    except InputError as error:
        raise InputError(f"{file}: {error}") from None
    except OSError as error:
        raise InputError(f"{file}: cannot be read: {error.strerror}") from None
    if not rows:
        raise InputError(f"{file}: has no row of scores")
    table = ScoreTable(_columns(file, rows, given))
    _take(table, file, rows)
    left = [name for name in rows[0][1] if name not in _used(table.columns)]
    if left:
        table.notes.append(
            f"not read: {join_names([clean_line(name, 60) for name in left], most=8)}"
        )
    return table


def _used(columns: ScoreColumns) -> set[str]:
    return {columns.unit, *columns.agents, columns.rater, *columns.scores} - {""}


def _columns(
    file: Path, rows: Sequence[tuple[str, dict[str, Any]]], given: ScoreColumns
) -> ScoreColumns:
    """Return which columns are what, the given ones first.

    Raises:
        InputError: one is missing.
    """
    names = list(dict.fromkeys(chain.from_iterable(row for _, row in rows)))
    for name in filter(None, (given.unit, *given.agents, given.rater, *given.scores)):
        if name not in names:
            raise InputError(f"{file}: has no column {name!r}; it has {_listed(names)}")

    def found(names_of: Sequence[str], free: Sequence[str]) -> str:
        by_name = {usual(name): name for name in reversed(free)}
        return next((by_name[each] for each in names_of if each in by_name), "")

    free = [name for name in names if name not in _used(given)]
    agents = given.agents or tuple(filter(None, (found(AGENTS, free),)))
    free = [name for name in free if name not in agents]
    condition = next((name for name in free if usual(name) == CONDITION), "")
    if agents and not given.agents and condition:
        agents = (*agents, condition)  # one agent in two conditions is not one agent
    unit = given.unit or found(UNITS, [name for name in free if name not in agents])
    free = [name for name in free if name not in (*agents, unit)]
    if unit and not agents and not given.rater:
        each = given.scores or tuple(_columns_of_scores(rows, free))
        if len(each) > 1:
            return ScoreColumns(unit, scores=each)
    for what, column, option, called in (
        ("the agents", "".join(agents), "--agent", AGENTS),
        ("what was scored", unit, "--unit", UNITS),
    ):
        if not column:
            raise InputError(
                f"{file}: no column names {what}; name one with {option}, or call it"
                f" {' or '.join(called[:3])}; it has {_listed(names)}"
            )
    rater = given.rater or found(RATERS, free)
    scores = given.scores or tuple(
        filter(None, (found(SCORES, [name for name in free if name != rater]),))
    )
    if not scores:
        scores, rater = tuple(_columns_of_scores(rows, free)), given.rater
    if not scores:
        raise InputError(
            f"{file}: no column has scores: numbers, or words such as passed and failed; name it"
            f" with --score; it has {_listed(names)}"
        )
    if rater and len(scores) > 1:
        raise InputError(
            f"{file}: {rater!r} names the rater of each row, so there is one column of scores"
        )
    return ScoreColumns(unit, agents, rater, scores)


def _listed(names: Sequence[str]) -> str:
    return join_names([clean_line(name, 60) for name in names], most=12)


def _columns_of_scores(
    rows: Sequence[tuple[str, dict[str, Any]]], free: Sequence[str]
) -> list[str]:
    """Return the columns that have nothing but scores, each of a rater or an agent; not one that is
    the mean of the others.
    """
    scores = {
        name: [score_value(row.get(name)) for _, row in rows]
        for name in free
        if usual(name) not in NO_SCORES and _is_scores([row.get(name) for _, row in rows])
    }
    for name in reversed(list(scores)):  # a mean comes after what it is of
        others = [values for other, values in scores.items() if other != name]
        if len(others) > 1 and _is_mean(scores[name], others):
            del scores[name]
    return list(scores)


def _is_scores(cells: Sequence[Any]) -> bool:
    told = [cell for cell in cells if not _is_empty(cell)]
    return bool(told) and all(score_value(cell) is not None for cell in told)


def _is_mean(values: Sequence[float | None], others: Sequence[Sequence[float | None]]) -> bool:
    for value, *rest in zip(values, *others, strict=True):
        known = [each for each in rest if each is not None]
        if value is not None and (not known or abs(value - average(known)) > ROUNDING):
            return False
    return True


def _is_empty(cell: Any) -> bool:
    return cell is None or (isinstance(cell, str) and not cell.strip())


def _take(table: ScoreTable, file: Path, rows: Sequence[tuple[str, dict[str, Any]]]) -> None:
    columns = table.columns
    missing = 0
    for place, row in rows:
        unit = _named(file, place, row, (columns.unit,))
        by = _named(file, place, row, columns.agents)
        for column in columns.scores:
            cell = row.get(column)
            if _is_empty(cell):
                missing += 1
                continue
            value = score_value(cell)
            if value is None:
                raise InputError(
                    f"{file}: {place}: {column} is {clean_line(str(cell), 40)!r}; it must be a"
                    " number, or a word such as passed or failed, or empty"
                )
            agent, rater = by, clean_line(column, 60)
            if columns.rater:
                rater = _named(file, place, row, (columns.rater,))
            elif not columns.agents:
                agent, rater = rater, ONE_RATER
            cells = table.scores.setdefault(agent, {}).setdefault(unit, {})
            cells.setdefault(rater, []).append(value)
    if not table.scores:
        raise InputError(f"{file}: all scores are empty")
    if missing:
        table.notes.append(f"empty: {plural(missing, 'score')}")


def _named(file: Path, place: str, row: Mapping[str, Any], columns: Sequence[str]) -> str:
    for column in columns:
        if _is_empty(row.get(column)):
            raise InputError(f"{file}: {place}: {column} is empty; each row must name it")
    return " · ".join(clean_line(str(row[column]).strip(), 100) for column in columns)


@dataclass(frozen=True, slots=True)
class RatersAgree:
    """Two raters on what both scored. `bias` is the mean of a − b: above 0, a is more lenient."""

    a: str
    b: str
    n: int
    alpha: float | None
    mean_absolute_difference: float
    bias: float


@dataclass(frozen=True, slots=True)
class Board:
    """The agents of a table by their means, and the agreement of its raters.

    `means` has each agent's mean over the units that every agent has, `by_rater` that of each
    rater. `ranking` is over all raters together, `by_rater_ranking` of each alone.
    """

    columns: ScoreColumns
    raters: tuple[str, ...]
    ranking: AgentRanking
    means: Mapping[str, Measured]
    by_rater: Mapping[str, AgentRanking]
    alpha: float | None
    pairs: tuple[RatersAgree, ...]
    notes: tuple[str, ...]

    @property
    def has_ranks(self) -> bool:
        """Whether there are enough common units for ranks."""
        return len(self.ranking.ranks) > 1 and self.ranking.cases >= FEWEST_UNITS

    @property
    def basis(self) -> str:
        """What the ranks rest on, in one sentence."""
        return sentence(RanksBasis(self.ranking.cases, self.ranking.left_out, FEWEST_UNITS))

    @property
    def columns_words(self) -> str:
        """Which columns were taken for what, in one sentence."""
        columns = self.columns
        agents, scores = (
            " and ".join(f"`{name}`" for name in names)
            for names in (columns.agents, columns.scores)
        )
        if not columns.agents:
            return (
                f"so it was read: units from `{columns.unit}`, scores from {scores}, an agent each"
            )
        if columns.rater:
            who = f"the rater from `{columns.rater}`, scores from {scores}"
        elif len(columns.scores) > 1:
            who = f"scores from {scores}, a rater each"
        else:
            who = f"scores from {scores}, of one rater"
        return f"{READ}: units from `{columns.unit}`, agents from {agents}, {who}"


def board(table: ScoreTable) -> Board:
    """Return the agents by their means, with ranks and agreement.

    The same table gives the same figures.

    A unit counts for an agent if every rater scored it: the mean of a strict rater alone would be
    lower.
    """
    raters = table.raters
    whole: dict[str, dict[str, dict[str, float]]] = {}
    partly = 0
    for agent, units in table.scores.items():
        whole[agent] = {}
        for unit, cells in units.items():
            if len(cells) < len(raters):
                partly += 1
            else:
                whole[agent][unit] = {rater: average(cells[rater]) for rater in raters}
    notes = list(table.notes)
    if partly:
        notes.append(f"left out: {plural(partly, 'unit')} of an agent that not every rater scored")
    given = chain.from_iterable(cell.values() for cell in table.cells())
    repeated = sum(len(values) > 1 for values in given)
    if repeated:
        notes.append(
            f"scored several times: {plural(repeated, 'unit')} of an agent; the mean of a rater's"
            " scores counts"
        )
    ranking = rank(
        {
            agent: {unit: list(cells.values()) for unit, cells in units.items()}
            for agent, units in whole.items()
        }
    )
    common = set.intersection(*(set(units) for units in whole.values()))
    bounds = _bounds(table)
    means = {
        agent: measured
        for agent, units in whole.items()
        if (
            measured := mean_of(
                {u: list(units[u].values()) for u in sorted(common)}, bounds, unit="unit"
            )
        )
    }
    return Board(
        columns=table.columns,
        raters=tuple(raters),
        ranking=ranking,
        means=means,
        by_rater={
            rater: rank(
                {
                    agent: {unit: [cells[rater]] for unit, cells in units.items()}
                    for agent, units in whole.items()
                }
            )
            for rater in (raters if len(raters) > 1 else ())
        },
        **_agreement(table),
        notes=tuple(notes),
    )


def _bounds(table: ScoreTable) -> Bounds:
    """Return from where to where scores go: 0 to 1, or unknown."""
    scores = chain.from_iterable(cell.values() for cell in table.cells())
    values = chain.from_iterable(scores)
    if all(0 <= value <= 1 for value in values):
        return UNIT
    return (-inf, inf)


def _agreement(table: ScoreTable) -> dict[str, Any]:
    """Return the agreement of all raters, and of each two, over all agents' units."""
    ratings: dict[str, dict[tuple[str, str], float]] = {rater: {} for rater in table.raters}
    for agent, units in table.scores.items():
        for unit, cells in units.items():
            for rater, values in cells.items():
                ratings[rater][agent, unit] = average(values)
    pairs = []
    for a, b in combinations(ratings, 2):
        both = [(ratings[a][item], ratings[b][item]) for item in ratings[a] if item in ratings[b]]
        if both:
            gaps = [x - y for x, y in both]
            alpha = krippendorff_alpha(Counter(both))
            pairs.append(
                RatersAgree(a, b, len(both), alpha, average(map(abs, gaps)), average(gaps))
            )
    alpha = krippendorff_alpha(rated_units(ratings)) if len(ratings) > 1 else None
    return {"alpha": alpha, "pairs": tuple(pairs)}


class PrintedMean(TypedDict):
    """An agent's mean over the units that all agents have, with its 95 % interval, and by rater."""

    agent: str
    mean: float
    interval: list[float] | None
    units: int
    by_rater: dict[str, float]


PAIR = Fields(RatersAgree)


class PrintedBoard(TypedDict):
    """A table of scores as `scores --json` prints it: ranks over all raters and by each, means, and
    the raters' agreement.
    """

    columns: dict[str, list[str]]
    raters: list[str]
    units: int
    left_out: int
    note: str
    ranks: list[Annotated[dict[str, Any], RANK]]
    means: list[PrintedMean]
    ranks_by_rater: dict[str, list[Annotated[dict[str, Any], RANK]]]
    alpha: float | None
    pairs: list[Annotated[dict[str, Any], PAIR]]
    notes: list[str]


def board_dict(found: Board) -> PrintedBoard:
    """Return a board for JSON. Too few units have no ranks."""
    columns = found.columns
    rater_means = {
        rater: {one.name: one.mean for one in ranking.ranks}
        for rater, ranking in found.by_rater.items()
    }
    return {
        "columns": {
            "unit": [columns.unit],
            "agent": list(columns.agents),
            "rater": [columns.rater] if columns.rater else [],
            "score": list(columns.scores),
        },
        "raters": list(found.raters),
        "units": found.ranking.cases,
        "left_out": found.ranking.left_out,
        "note": found.basis,
        "ranks": [RANK.of(one) for one in found.ranking.ranks] if found.has_ranks else [],
        "means": [
            {
                "agent": one.name,
                "mean": measured.value,
                "interval": ends(measured.interval),
                "units": measured.units,
                "by_rater": {rater: means[one.name] for rater, means in rater_means.items()},
            }
            for one in found.ranking.ranks
            if (measured := found.means.get(one.name)) is not None
        ],
        "ranks_by_rater": {
            rater: [RANK.of(one) for one in ranking.ranks]
            for rater, ranking in found.by_rater.items()
            if found.has_ranks and ranking.cases >= FEWEST_UNITS
        },
        "alpha": found.alpha,
        "pairs": [PAIR.of(pair) for pair in found.pairs],
        "notes": list(found.notes),
    }
