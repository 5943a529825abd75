"""A table of scores without conversations: ranks with intervals, and how far its raters agree."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from random import Random
from typing import Any

import jsonschema
import pytest

from bioeval_tui.base.errors import ExitCode, InputError
from tests.command import call, schema_of

AGENTS = {"ahead": 0.80, "b": 0.60, "c": 0.59, "d": 0.61}


def cells(units: int = 40) -> list[dict[str, Any]]:
    """Return scores of which one agent's are clearly higher, and the others' are not to be told
    apart; two raters nearly agree.
    """
    drawn = Random(3)
    rows = []
    for unit in range(units):
        hard = drawn.uniform(-0.1, 0.1)
        for agent, mean in AGENTS.items():
            score = min(1.0, max(0.0, mean + hard + drawn.uniform(-0.15, 0.15)))
            other = min(1.0, max(0.0, score + drawn.uniform(-0.04, 0.06)))
            rows.append(
                {
                    "backend": agent,
                    "task": f"t{unit}",
                    "ada": round(score, 4),
                    "ben": round(other, 4),
                }
            )
    return rows


def table(folder: Path, rows: list[dict[str, Any]], name: str = "matrix.csv") -> Path:
    file = folder / name
    with file.open("w", encoding="utf-8", newline="") as opened:
        writer = csv.DictWriter(opened, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return file


def as_long(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [
        {"item": row["task"], "system": row["backend"], "annotator": rater, "rating": row[rater]}
        for row in rows
        for rater in ("ada", "ben")
    ]


def printed(*arguments: object) -> Any:
    shown = call("scores", *arguments, "--json")
    assert shown.return_value == ExitCode.OK, shown.output
    found = json.loads(shown.stdout)
    jsonschema.Draft202012Validator(schema_of("scores")).validate(found)
    return found


def test_one_is_apart_and_the_others_are_tied(tmp_path: Path) -> None:
    found = printed(table(tmp_path, cells()))
    assert found["ranks"][0]["agent"] == "ahead"
    ranks = {one["agent"]: (one["best"], one["worst"]) for one in found["ranks"]}
    assert ranks == {"ahead": (1, 1), "b": (2, 4), "c": (2, 4), "d": (2, 4)}
    first = found["means"][0]
    assert first["interval"][0] < first["mean"] < first["interval"][1]
    assert first["units"] == 40
    assert first["mean"] == pytest.approx(sum(first["by_rater"].values()) / 2)
    (pair,) = found["pairs"]
    assert pair["n"] == 160
    assert 0.8 < pair["alpha"] < 1
    assert pair["bias"] < 0, "ben is more lenient"
    assert found["alpha"] == pair["alpha"]


def test_a_row_per_rater_and_a_column_per_rater_are_the_same_table(tmp_path: Path) -> None:
    wide = printed(table(tmp_path, cells()))
    long = printed(table(tmp_path, as_long(cells()), "long.csv"))
    lines = tmp_path / "long.jsonl"
    lines.write_text("".join(json.dumps(row) + "\n" for row in as_long(cells())), encoding="utf-8")
    for other in (long, printed(lines)):
        for key in ("ranks", "means", "alpha", "pairs", "ranks_by_rater"):
            assert other[key] == wide[key]


def test_a_column_for_each_agent_gives_the_same_ranks(tmp_path: Path) -> None:
    rows = cells()
    tall = [{name: row[name] for name in ("backend", "task", "ada")} for row in rows]
    wide: dict[str, dict[str, Any]] = {}
    for row in rows:
        of_unit = wide.setdefault(row["task"], {"task": row["task"], "why": "a word"})
        of_unit[row["backend"]] = row["ada"]
    matrix = [{**row, "mean": sum(row[name] for name in AGENTS) / 4} for row in wide.values()]
    expected = printed(table(tmp_path, tall, "tall.csv"))
    shown = call("scores", table(tmp_path, matrix), "--json")
    found = json.loads(shown.stdout)
    assert found["ranks"] == expected["ranks"]
    assert [one["interval"] for one in found["means"]] == [
        one["interval"] for one in expected["means"]
    ]
    assert "scores from `ahead` and `b` and `c` and `d`, an agent each" in shown.stderr
    two = printed(table(tmp_path, matrix), "--score", "b", "--score", "mean")
    assert {one["agent"] for one in two["ranks"]} == {"b", "mean"}


def test_a_column_that_is_the_mean_of_the_others_is_no_rater(tmp_path: Path) -> None:
    rows = [
        row | {"dual_mean": round((row["ada"] + row["ben"]) / 2, 4), "status": "ok", "trial": 1}
        for row in cells()
    ]
    shown = call("scores", table(tmp_path, rows))
    assert (
        "units from `task`, agents from `backend`, scores from `ada` and `ben`, a rater each"
        in shown.stderr
    )
    assert "not read: dual_mean, status, trial" in shown.stderr
    assert "rank 1" in shown.stdout
    assert "rank 2–4" in shown.stdout
    assert "ada and ben" in shown.stdout
    assert "with 95 % confidence, all true ranks are in these intervals" in shown.stdout


@pytest.mark.parametrize(
    ("said", "where"),
    [
        ({0: "5", 1: "see line 3"}, "not read: note"),  # one of its words is a number
        ({0: "see line 3", 159: "5"}, "not read: note"),
        ({}, "not read: note"),  # empty throughout
    ],
)
def test_a_column_of_words_is_no_rater_though_one_of_them_is_a_number(
    tmp_path: Path, said: dict[int, str], where: str
) -> None:
    rows = [row | {"note": said.get(at, "")} for at, row in enumerate(cells())]
    shown = call("scores", table(tmp_path, rows))
    assert shown.return_value == ExitCode.OK, shown.output
    assert "scores from `ada` and `ben`, a rater each" in shown.stderr
    assert where in shown.stderr
    assert "empty:" not in shown.stderr


@pytest.mark.parametrize(
    ("off", "raters"),
    [(0.0004, "`ada` and `ben`"), (0.0006, "`ada` and `ben` and `carl`")],
)
def test_a_column_is_the_mean_of_others_up_to_rounding(
    tmp_path: Path, off: float, raters: str
) -> None:
    rows = [row | {"carl": (row["ada"] + row["ben"]) / 2} for row in cells()]
    rows[7]["carl"] += off
    shown = call("scores", table(tmp_path, rows))
    assert f"scores from {raters}, a rater each" in shown.stderr


def test_of_two_columns_that_may_be_it_the_first_is_used(tmp_path: Path) -> None:
    rows = [
        {"Case": row["task"], "case": "same", "Agent": row["backend"], "agent": "same"}
        | {"ada": row["ada"], "ben": row["ben"]}
        for row in cells()
    ]
    shown = call("scores", table(tmp_path, rows))
    assert "units from `Case`, agents from `Agent`" in shown.stderr


def test_named_columns_words_and_other_scales(tmp_path: Path) -> None:
    rows = [
        {
            "what": row["task"],
            "who": row["backend"],
            "by": "ada",
            "said": "pass" if row["ada"] > 0.6 else "fail",
        }
        for row in cells()
    ]
    named = ("--unit", "what", "--agent", "who", "--rater", "by", "--score", "said")
    found = printed(table(tmp_path, rows), *named)
    assert found["ranks"][0]["agent"] == "ahead"
    assert found["pairs"] == []
    stars = [row | {"ada": 1 + 4 * row["ada"], "ben": 1 + 4 * row["ben"]} for row in cells()]
    found = printed(table(tmp_path, stars, "stars.csv"))
    assert found["means"][0]["mean"] > 3
    assert found["ranks"][0]["best"] == found["ranks"][0]["worst"] == 1


def test_conditions_are_agents_of_their_own_and_what_one_rater_lacks_is_left_out(
    tmp_path: Path,
) -> None:
    rows = [
        {
            "case": row["task"],
            "agent": "a",
            "condition": row["backend"],
            "ada": row["ada"],
            "ben": row["ben"],
        }
        for row in cells()
    ]
    rows[0]["ben"] = ""
    shown = call("scores", table(tmp_path, rows), "--json")
    assert "empty: 1 score" in shown.stderr
    assert "left out: 1 unit of an agent that not every rater scored" in shown.stderr
    found = json.loads(shown.stdout)
    assert found["ranks"][0]["agent"] == "a · ahead"
    assert (found["units"], found["left_out"]) == (39, 1)


def test_too_few_units_have_no_ranks(tmp_path: Path) -> None:
    shown = call("scores", table(tmp_path, cells(5)), "--json")
    assert shown.return_value == ExitCode.NOT_MEASURED
    assert json.loads(shown.stdout)["ranks"] == []


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (
            lambda rows: rows[3].update(ada="good"),
            r"matrix\.csv: line 5: ada is 'good'; it must be a number",
        ),
        (lambda rows: rows[3].update(task=" "), r"matrix\.csv: line 5: task is empty"),
    ],
)
def test_a_bad_cell_is_named_with_its_line(tmp_path: Path, change: Any, says: str) -> None:
    rows = cells()
    change(rows)
    shown = call("scores", table(tmp_path, rows), "--score", "ada", "--score", "ben")
    assert isinstance(shown.exception, InputError)
    with pytest.raises(InputError, match=says):
        raise shown.exception


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        (
            [{"x": "t1", "backend": "a", "score": 1}],
            "no column names what was scored; name one with --unit",
        ),
        (
            [{"task": "t1", "x": "a", "score": 1}],
            "no column names the agents; name one with --agent",
        ),
        ([{"task": "t1", "agent": "a", "x": "good"}], "no column has scores"),
    ],
)
def test_a_missing_column_is_named(tmp_path: Path, rows: list[dict[str, Any]], says: str) -> None:
    shown = call("scores", table(tmp_path, rows))
    assert isinstance(shown.exception, InputError)
    assert says in str(shown.exception)
    assert "it has" in str(shown.exception)


def test_an_import_of_a_table_of_scores_names_the_command_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BIOEVAL_DATA_DIR", str(tmp_path / "data"))
    shown = call("runs", "import", table(tmp_path, cells()))
    assert "bioeval-tui scores" in str(shown.exception)


def test_an_empty_file_says_what_is_needed(tmp_path: Path) -> None:
    file = tmp_path / "empty.csv"
    file.touch()
    assert "is empty; it must be CSV with a header" in str(call("scores", file).exception)
