"""Output to a pipe or file is neither wrapped nor cut, and never controls the terminal."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len
from rich.console import Console
from rich.table import Column, Table
from rich.text import Text

from bioeval_tui.base import consoles
from bioeval_tui.base.consoles import PlainConsole, finished_table, plain_console, write_lines
from bioeval_tui.base.terminal import (
    print_document,
    print_json,
    print_json_piecewise,
    print_json_text,
    say,
)
from tests.forked import completed

LONG = " ".join(f"word{number}" for number in range(200))


@pytest.mark.parametrize("name", ["COLUMNS", "FORCE_COLOR"])
def test_piped_lines_and_table_cells_are_not_wrapped(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(name, "40")
    table = Table("reason", box=None)
    table.add_row(Text(LONG))
    console = plain_console()
    console.print(f"[/b] :smile: {LONG}")
    console.print(table)
    out = capsys.readouterr().out
    assert f"[/b] :smile: {LONG}\n" in out, "no markup, no emoji"
    assert len([line for line in out.splitlines() if LONG in line]) == 2
    plain_console(stderr=True).print(LONG)
    assert capsys.readouterr().err == f"{LONG}\n"


HOSTILE = "a\x1b[2Jb\x9b31mc\u202ed\x07"


def test_no_printed_text_controls_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    table = Table(HOSTILE, box=None)
    table.add_row(Text(HOSTILE), style="bold")
    console = plain_console()
    console.print(HOSTILE, Text(HOSTILE, style="red"), table)
    say(HOSTILE)
    say(HOSTILE, err=True)
    write_lines(console, f"{HOSTILE}\n")
    print_document(f"{HOSTILE}\n")
    print_json_text(json.dumps([HOSTILE], ensure_ascii=False))
    print_json({"name": HOSTILE, "tag": "\U000e0041"})
    printed = capsys.readouterr()
    assert not set(printed.out + printed.err) & {"\x1b", "\x9b", "\u202e", "\x07", "\U000e0041"}
    assert json.loads(printed.out.splitlines()[-1]) == {"name": HOSTILE, "tag": "\U000e0041"}


@pytest.mark.parametrize(
    "value",
    [
        {},
        [],
        {
            "a": [],
            "b": {},
            "c": {"d": [1, {"e": "line\nline"}], '"f': None},
            "g": HOSTILE + "é\u2028",
        },
        [{"a": [1.5, True]}, "x", []],
    ],
)
def test_json_is_printed_piece_by_piece_as_it_would_be_whole(
    value: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    print_json_piecewise(value)
    print_json(value, indent=2)
    pieces = (
        iter(value)
        if isinstance(value, list)
        else {name: _lazy(item) for name, item in value.items()}
    )
    print_json_piecewise(pieces)
    size = len(printed := capsys.readouterr().out) // 3
    assert printed == printed[:size] * 3


def _lazy(value: Any) -> Any:
    return iter(value) if isinstance(value, list) else value


def test_a_document_is_printed_exactly_as_in_a_file(
    capfdbinary: pytest.CaptureFixture[bytes],
) -> None:
    print_document("a,b\r\n" * 300_000)
    print_document("no newline")
    assert capfdbinary.readouterr().out == b"a,b\r\n" * 300_000 + b"no newline"


@pytest.mark.long
def test_a_file_name_in_an_error_or_traceback_does_not_control_the_terminal(tmp_path: Path) -> None:
    hostile = tmp_path / "a\x1b[31mb"
    hostile.mkdir()
    (tmp_path / "c\x1b[31md.yml").write_text("[")
    for arguments in (
        ["runs", "import", str(hostile)],
        ["grade", "x.jsonl", "--output-dir", str(tmp_path / "c\x1b[31md.yml")],
        ["--debug", "run", str(tmp_path / "c\x1b[31md.yml"), "--dry-run"],
        ["check", str(hostile), str(tmp_path / "c\x1b[31md.yml")],
    ):
        done = completed(*arguments, env={**os.environ}, cwd=tmp_path)
        assert done.returncode == 2, done.stderr
        assert "\x1b" not in done.stdout + done.stderr


def test_printed_json_is_standard_json() -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        print_json({"score": float("nan")})


def test_a_closed_pipe_neither_stops_the_work_nor_changes_the_exit_code() -> None:
    code = (
        "import sys\n"
        "from bioeval_tui.base.consoles import plain_console\n"
        "from bioeval_tui.report.formats.console import say\n"
        "for stderr in (False, True):\n"
        "    console = plain_console(stderr=stderr)\n"
        "    for number in range(1000):\n"
        "        console.print('line'); say(console, 'line')\n"
        "sys.exit(7)\n"
    )
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(
        [sys.executable, "-c", code], stdout=write, stderr=write, timeout=300, check=False
    )
    os.close(write)
    assert done.returncode == 7


def table_text(
    width: int, height: int, paged: bool, monkeypatch: pytest.MonkeyPatch
) -> tuple[str, list[str]]:
    shown: list[str] = []
    monkeypatch.setattr(consoles.SystemPager, "show", lambda self, text: shown.append(text))
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True)
    out = io.StringIO()
    columns = [
        consoles.CellColumn("task", ["oncology/breast-cancer", "a\u4e2d"], lead=True),
        consoles.CellColumn("score", ["0.5", "10.25"], right=True),
    ]
    console = Console(file=out, force_terminal=True, color_system=None, width=width, height=height)
    consoles.write_table(console, columns, gap=2, paged=paged)
    return out.getvalue(), shown


def test_a_table_is_aligned_and_its_names_stand_above_where_they_do_not_fit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    out, shown = table_text(80, 40, True, monkeypatch)
    assert out.splitlines() == [
        "task                    score",
        "oncology/breast-cancer    0.5",
        "a\u4e2d                     10.25",
    ]
    assert not shown
    out, _ = table_text(17, 40, True, monkeypatch)
    assert out.splitlines() == [
        "task",
        "score",
        "oncology/breast-cancer",
        "  0.5",
        "a\u4e2d",
        "10.25",
    ]
    out, _ = table_text(4, 40, True, monkeypatch)
    assert out.split() == [
        "task",
        "oncology/breast-cancer:",
        "score",
        "0.5",
        "a\u4e2d:",
        "score",
        "10.25",
    ]


@pytest.mark.parametrize(
    "name", ["a" + "\u200b" * 20, "so\u00adft", "\u200fab\u2066c", "가" + "\u1161" * 400]
)
def test_a_table_is_aligned_whatever_its_names_are_made_of(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    console = consoles.PlainConsole(width=80)
    columns = [
        consoles.CellColumn("job", [name, "short"]),
        consoles.CellColumn("mean", ["1.00", "0.50"], right=True),
    ]
    consoles.write_table(console, columns)
    table = Table("job", Column("mean", justify="right"), box=None, pad_edge=False)
    table.add_row(name, "1.00")
    table.add_row("short", "0.50")
    console.print(table)
    written = capsys.readouterr().out.splitlines()
    for lines in (written[:3], written[3:]):
        assert len({cell_len(line) for line in lines}) == 1, lines


def test_a_dot_for_nothing_is_a_word_in_plain_lines() -> None:
    assert [consoles.plain_text(text) for text in ("·", "✗ no", "a · b")] == ["none", "no", "a, b"]


def test_a_table_longer_than_the_terminal_is_paged(monkeypatch: pytest.MonkeyPatch) -> None:
    out, shown = table_text(80, 3, True, monkeypatch)
    assert out == ""
    assert "oncology/breast-cancer" in shown[0]
    assert not table_text(80, 3, False, monkeypatch)[1]


@pytest.mark.parametrize("title", ["score", "as recorded\nrules", "a\nb\nc"])
@pytest.mark.parametrize("cells", [["✗ 0.00", "–"], ["心 1", "x" * 30], ["tab\t", "line\nend"]])
def test_a_finished_table_is_what_rich_writes(title: str, cells: list[str]) -> None:
    titles, rows = ["task", "as recorded", title], [["1 Find out", *cells], ["score", "1", "0.5"]]
    written = io.StringIO()
    console = PlainConsole(file=written, width=200)
    table = Table("task", box=None, pad_edge=False)
    for each in titles[1:]:
        table.add_column(Text(each), justify="right")
    for row in rows:
        table.add_row(*map(Text, row))
    console.print(table)
    finished = finished_table(console, titles, rows)
    if not all(map(str.isprintable, cells)):
        assert finished is None, "Rich has to lay it out"
    else:
        assert finished == written.getvalue()
    assert finished_table(PlainConsole(file=io.StringIO(), width=20), titles, rows) is None
