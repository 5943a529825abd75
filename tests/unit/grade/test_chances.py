"""The chance of a medal on other rows."""

from __future__ import annotations

import gzip
import tracemalloc
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from bioeval_tui.grade import intervals
from bioeval_tui.grade.chances import medal_chances
from bioeval_tui.grade.grade import TaskGrading
from bioeval_tui.grade.intervals import measure_uncertainty
from bioeval_tui.grade.uncertainty import percent


def test_the_best_of_many_equal_entries_is_likely_to_be_only_lucky() -> None:
    random = np.random.default_rng(1)
    drawn = random.normal(scale=0.02, size=(200, 20))
    scores = 0.8 + np.sort(drawn[0])[::-1]
    gold, silver, bronze = medal_chances(scores, scores + drawn, 19)
    assert 0 < gold < 0.25, (
        "it would be 1 in 20 for equal entries, and the plain bootstrap says 0.6"
    )
    assert gold + silver + bronze < 0.7


def test_a_large_board_is_not_held_once_for_each_draw() -> None:
    random, entries = np.random.default_rng(1), 50_000
    scores = random.random(1 + entries)
    tracemalloc.start()
    medal_chances(scores, random.normal(scores[0], 0.01, (2000, 1)), entries)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2000 * entries, "a byte for each of half the draws and each entry"


@pytest.mark.parametrize("lead", [-0.5, 0.5])
@pytest.mark.parametrize("board", ["scored anew", "as it is"])
def test_no_chance_is_0_or_1(lead: float, board: str) -> None:
    random = np.random.default_rng(1)
    scores = np.array([0.5 + lead, *np.linspace(0.3, 0.6, 10)])
    drawn = scores + random.normal(scale=1e-4, size=(200, 11))
    gold, silver, bronze = medal_chances(
        scores, drawn if board == "scored anew" else drawn[:, :1], 10
    )
    assert min(gold, silver, bronze) > 0
    assert gold + silver + bronze < 1
    assert (gold > 0.9) == (lead > 0)


@pytest.mark.parametrize(
    ("better", "medal"),
    [
        (0, "gold"),
        (9, "gold"),
        (10, "silver"),
        (19, "silver"),
        (20, "bronze"),
        (39, "bronze"),
        (40, None),
    ],
)
@pytest.mark.parametrize("board", ["scored anew", "as it is"])
def test_a_score_that_is_all_but_certain_has_the_medal_of_its_place(
    better: int, medal: str | None, board: str
) -> None:
    """Of a hundred entries, the first 10 have gold, 20 silver, 40 bronze: with ten better, a file
    is the eleventh.
    """
    entries = np.linspace(1.0, 0.01, 100)
    scores = np.array([1.005 - better / 100, *entries])
    drawn = scores + np.random.default_rng(1).normal(scale=1e-6, size=(200, 101))
    chances = medal_chances(scores, drawn if board == "scored anew" else drawn[:, :1], 100)
    likely = dict(zip(("gold", "silver", "bronze"), chances, strict=True))
    assert [name for name, chance in likely.items() if chance > 0.9] == ([medal] if medal else [])


def noisy(entries: int, lead: float) -> tuple[Any, Any]:
    """Return scores of a file and a board, and those on other rows, most of whose luck is
    shared.
    """
    random = np.random.default_rng(5)
    scores = np.array([0.5 + lead, *np.linspace(0.4, 0.6, entries)])
    shared = random.normal(scale=0.03, size=(200, 1))
    return scores, scores + shared + random.normal(scale=0.015, size=(200, entries + 1))


@pytest.mark.parametrize(
    ("entries", "lead", "anew", "as_it_is"),
    [
        (5, -0.02, (0.001, 0.0, 0.011), (0.010, 0.0, 0.057)),
        (12, 0.0, (0.001, 0.004, 0.051), (0.017, 0.015, 0.127)),
        (12, 0.08, (0.210, 0.312, 0.399), (0.293, 0.135, 0.326)),
        (40, 0.05, (0.076, 0.272, 0.526), (0.188, 0.162, 0.373)),
    ],
)
def test_chances_are_those_that_were_published(
    entries: int, lead: float, anew: tuple[float, ...], as_it_is: tuple[float, ...]
) -> None:
    """Where these change, so do the chances beside every earlier score: say so in the
    changelog.
    """
    scores, drawn = noisy(entries, lead)
    assert medal_chances(scores, drawn, entries) == pytest.approx(anew, abs=0.006)
    assert medal_chances(scores, drawn[:, :1], entries) == pytest.approx(as_it_is, abs=0.006)


@pytest.mark.parametrize(
    ("entries", "counts", "widths"),
    [
        # gold, silver, bronze and none: how many of 400 draws, half a draw more where there is such
        # a place, and how many places there are
        (10, (400.5, 0.5, 0.5, 0.5), (1, 1, 2, 7)),
        (5, (400.5, 0.0, 0.5, 0.5), (1, 0, 1, 4)),
        (2, (400.5, 0.0, 0.0, 0.5), (1, 0, 0, 2)),
    ],
)
def test_what_is_certain_leaves_half_a_draw_and_a_twentieth_in_doubt(
    entries: int, counts: tuple[float, ...], widths: tuple[int, ...]
) -> None:
    """In doubt are the others, if only the file has other rows."""
    scores = np.array([2.0, *np.linspace(0.1, 1.0, entries)])
    drawn = scores + np.random.default_rng(1).normal(scale=1e-6, size=(200, entries + 1))
    certain = [count / sum(counts) for count in counts]
    assert medal_chances(scores, drawn, entries) == pytest.approx(certain[:3], abs=1e-9)
    doubted = [
        0.95 * share + 0.05 * width / (entries + 1)
        for share, width in zip(certain, widths, strict=True)
    ]
    alone = medal_chances(scores, drawn[:, :1], entries)
    assert alone == pytest.approx(doubted[:3], abs=1e-9)


@pytest.mark.parametrize("moved", [10.0, -0.3])
def test_chances_do_not_depend_on_where_the_scale_begins_and_how_long_it_is(moved: float) -> None:
    scores, drawn = noisy(12, 0.05)
    plain = medal_chances(scores, drawn, 12), medal_chances(scores, drawn[:, :1], 12)
    other, anew = 7 * scores + moved, 7 * drawn + moved
    assert medal_chances(other, anew, 12) == pytest.approx(plain[0], abs=0.01)
    assert medal_chances(other, anew[:, :1], 12) == pytest.approx(plain[1], abs=0.01)


def test_entries_whose_errors_are_shared_keep_their_places(tasks: Any) -> None:
    """A hard set of rows costs all entries the same: only with their predictions is that known."""
    random = np.random.default_rng(2)
    true = random.normal(size=60).round(4)
    hard = random.normal(size=60) * np.where(np.arange(60) % 6 == 0, 6, 0.1)
    ids = [f"r{n}" for n in range(60)]
    entries = {f"t{n}": true + hard * (1 + n / 10) for n in range(1, 11)}
    scores = [float(np.abs(guess - true).mean()) for guess in entries.values()]
    tasks.add(
        answers="id,y\n" + "".join(f"{i},{y}\n" for i, y in zip(ids, true, strict=True)),
        scores=scores,
    )
    task = tasks.registry.get_task("lab/numbers")
    file = tasks.submit(
        "id,y\n" + "".join(f"{i},{y}\n" for i, y in zip(ids, true + hard, strict=True))
    )
    alone = measure_uncertainty(TaskGrading(task), file)
    board = task.leaderboard.read_text().splitlines()
    names = [line.split(",")[0] for line in board[1:]]
    rows = (
        ",".join([i, *(str(entries[f"t{n}"][k]) for n in range(1, 11))]) for k, i in enumerate(ids)
    )
    text = ",".join(["id", *names]) + "\n" + "\n".join(rows) + "\n"
    (task.folder / "predictions.csv.gz").write_bytes(gzip.compress(text.encode()))
    both = measure_uncertainty(TaskGrading(task), file)
    assert "whole board" in both.chance_words
    assert "only this file" in alone.chance_words
    assert (both.gold or 0) > 0.8 > 0.6 > (alone.gold or 0)
    (task.folder / "predictions.csv.gz").write_bytes(
        gzip.compress(text.replace(names[0], "another").encode())
    )
    assert measure_uncertainty(TaskGrading(task), file) == alone, (
        "predictions of other entries do not count"
    )


@pytest.mark.parametrize(("known", "anew"), [(4, False), (5, False), (6, True), (9, True)])
def test_a_board_is_scored_anew_if_most_draws_have_a_score_of_every_entry(
    tasks: Any, monkeypatch: pytest.MonkeyPatch, known: int, anew: bool
) -> None:
    """Of ten rows, the first is of the rows as they are; the others are drawn."""
    random = np.random.default_rng(3)
    true = random.normal(size=60).round(4)
    answers = "id,y\n" + "".join(f"r{n},{y}\n" for n, y in enumerate(true))
    tasks.add(answers=answers, scores=[0.5, 0.6, 0.7])
    guessed = "id,y\n" + "".join(f"r{n},{y + n % 3}\n" for n, y in enumerate(true))
    file = tasks.submit(guessed)
    drawn = random.normal(size=(10, 3))
    drawn[known + 1 :, 1] = np.nan
    rivals = SimpleNamespace(score=lambda path: np.linspace(0.1, 0.2, 10), drawn=drawn)
    monkeypatch.setattr(intervals, "load_rivals", lambda ready: rivals)
    ready = TaskGrading(tasks.registry.get_task("lab/numbers"))
    assert measure_uncertainty(ready, file).board_scored_anew == anew


@pytest.mark.parametrize(
    ("share", "shown"),
    [
        (0.0, "0 %"), (1e-9, "< 1 %"), (0.0049, "< 1 %"), (0.005, "< 1 %"), (0.0051, "1 %"),
        (0.015, "2 %"), (0.985, "98 %"),
        (0.9949, "99 %"), (0.995, "> 99 %"), (0.9951, "> 99 %"), (0.999999, "> 99 %"),
        (1.0, "100 %"),
    ],
)  # fmt: skip
def test_a_chance_is_shown_as_none_or_certain_only_if_it_is(share: float, shown: str) -> None:
    assert percent(share) == shown
