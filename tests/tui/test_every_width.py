"""At every width from 60 to 200 columns: names and differences are whole, and wider never shows less."""

from __future__ import annotations

import io

from rich.console import Console

from bioeval_tui.report.comparison import Comparison, compare
from bioeval_tui.report.formats.comparison_console import print_comparison
from bioeval_tui.tui.runs import comparison_view
from tests.unit.report.recorded import Recorded, Talk

WIDTHS = range(60, 201)
TASK = "Learn which daily dose of metformin is safe with kidneys that work at a third of what they should"
CHECK = "no dose was named before the agent knew how well the kidneys work"
JOB = "kidney-function-and-the-daily-dose-of-metformin"


def long_names() -> Comparison:
    """Return a comparison with long names, unpriced models, three trials and failures."""
    job = {
        "tasks": [{"task": TASK}],
        "assertions": [{"expression": "true", "name": CHECK, "weight": 2}],
        "facts": ["The user's kidney function (eGFR) is 25"],
    }
    started = {"agent": "agents.clinic.example:9405", "model": "medic-large-2026-11-01-preview"}
    started |= {"job": job, "evaluator": "nobody-prices-this", "judge": "nor-that"}
    poor = Talk(tasks=(0.2,), holds=(False,), failures=1, fault="agent")
    a = Recorded([poor] * 3, [Talk()] * 3, JOB, started=started)
    b = Recorded([Talk()] * 3, [Talk()] * 3, JOB, "20260102-030405-ef01", started=started)
    return compare(a.loaded(), b.loaded())


NAMES = f"{TASK} {CHECK} {JOB} agents.clinic.example:9405 medic-large-2026-11-01-preview +0.80".split()


def test_a_printed_comparison_keeps_names_and_the_difference_at_every_width() -> None:
    found = long_names()
    for width in (*WIDTHS, 10_000):  # the last is a pipe
        file = io.StringIO()
        print_comparison(found, Console(file=file, width=width, color_system=None))
        words = file.getvalue()
        assert [name for name in NAMES if name not in words] == [], width
        assert "…" not in words, width


def test_a_shown_comparison_keeps_names_and_the_difference_at_every_width() -> None:
    found = long_names()
    for width in WIDTHS:
        rows = [row for row in comparison_view.table(found, width) if row.title]
        words = "\n".join("".join(cell.text for cell in row.line) + " ".join(row.more) for row in rows)
        assert [name for name in f"{TASK} {CHECK} +0.80".split() if name not in words] == [], width
        assert "…" not in words, width
