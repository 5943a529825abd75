"""What goes to a pipe or a file is neither wrapped nor cut, whatever the terminal beside it."""

from __future__ import annotations

import pytest
from rich.table import Table
from rich.text import Text

from bioeval_tui.consoles import plain_console

LONG = " ".join(f"word{number}" for number in range(200))


@pytest.mark.parametrize("name", ["COLUMNS", "FORCE_COLOR"])
def test_piped_lines_and_cells_stay_whole(
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
