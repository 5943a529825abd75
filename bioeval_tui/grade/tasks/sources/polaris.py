"""Benchmarks of Polaris (https://polarishub.io), through its own client in an environment of its own.

polaris-lib 0.13 wants older releases of pyarrow and zarr than this program, so the two cannot share an
environment: `BIOEVAL_POLARIS_PYTHON` names the Python that has it.
"""

from __future__ import annotations

import math
import os
import re
import subprocess
from collections.abc import Mapping
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

from bioeval_tui.grade.tasks.sources.base import BoardRow, HumanRow, SourceError, required
from bioeval_tui.grade.tasks.sources.http import fetch_text
from bioeval_tui.isolation import find_installed, script_command
from bioeval_tui.settings import plain_environment
from bioeval_tui.text import clean_line

HUB = "https://polarishub.io"
POLARIS_PYTHON = "BIOEVAL_POLARIS_PYTHON"
TIMEOUT_S = 1800
SCRIPT = Path(__file__).parent / "scripts" / "polaris_download.py"
# It has its own folder, because Python first looks for modules beside a script, and would import ours instead of theirs.
TRAIN, TEST = "polaris_train_data.csv", "polaris_test_data.csv"


class PolarisSource:
    """Training and test data of a benchmark; `benchmark_id` is `owner/name`."""

    def __init__(self, hub: str = HUB) -> None:
        self.hub = hub

    def download(self, config: Mapping[str, Any], raw: Path) -> Path | None:
        """Write `polaris_train_data.csv` and, with targets, `polaris_test_data.csv` into `raw`.

        Raises:
            SourceError: there is no Python with Polaris, or Polaris does not return the data.
        """
        benchmark_id = required(config, "benchmark_id", "polaris")
        by_hand = f"or put {TRAIN} and {TEST} into {raw}"
        command = script_command(str(SCRIPT), benchmark_id, str(raw), python=_interpreter(by_hand))
        try:
            done = subprocess.run(  # noqa: S603 (the user's own interpreter, no shell)
                command,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=TIMEOUT_S,
                env=plain_environment(keep=("POLARIS", "AUTH0")),
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise SourceError(
                f"{POLARIS_PYTHON} cannot be used: {clean_line(str(error))}; {by_hand}"
            ) from None
        if done.returncode != 0 or not (raw / TEST).is_file():
            lines = [line for line in done.stderr.splitlines() if line.strip()] or ["no reason given"]
            raise SourceError(
                f"Polaris did not return {clean_line(benchmark_id)}: {clean_line(lines[-1])}; sign in with "
                f"`polaris login`, {by_hand}"
            )
        return None

    def leaderboard(self, config: Mapping[str, Any]) -> list[BoardRow]:
        """Return the leaderboard from the benchmark's page, in the page's order (its main metric, best first).

        Raises:
            SourceError: the page cannot be reached, or has no readable leaderboard.
        """
        benchmark_id = required(config, "benchmark_id", "polaris")
        hint = "put leaderboard.csv beside the task's config.yaml"
        url = f"{self.hub}/benchmarks/{benchmark_id}"
        board = read_board(fetch_text(url, hint))
        if not board:
            raise SourceError(f"{url} has no readable leaderboard; {hint}")
        return board

    def human_baselines(self, config: Mapping[str, Any]) -> list[HumanRow]:
        """Return nothing: Polaris has no scores of people."""
        return []


def _interpreter(by_hand: str) -> str | None:
    """Return the Python that has the client, None for this one."""
    chosen = os.environ.get(POLARIS_PYTHON)
    if chosen:
        return chosen
    if find_installed("polaris") is not None:
        return None
    raise SourceError(
        "Polaris' client needs an environment of its own: install polaris-lib==0.13.0 in one with Python 3.12 and "
        f"set {POLARIS_PYTHON} to its python, {by_hand}"
    )


def read_board(page: str) -> list[BoardRow]:
    """Return the rows of the first table of a page that has a column of names and one of numbers after it."""
    parser = _Tables()
    parser.feed(page)
    for header, *rows in (table for table in parser.tables if len(table) > 1):
        heads = [clean_line(cell).lower() for cell in header]
        name = next((i for i, head in enumerate(heads) if "name" in head or "model" in head), None)
        metric = next((i for i, head in enumerate(heads) if head and not _OTHER.search(head)), None)
        if name is None or metric is None:
            continue
        board = [
            BoardRow(clean_line(row[name]), value)
            for row in rows
            if len(row) > max(name, metric) and (value := _number(row[metric])) is not None
        ]
        if board:
            return board
    return []


_OTHER = re.compile(r"^#|rank|name|model|contributor|reference|date|owner")


def _number(text: str) -> float | None:
    match = re.match(r"\s*[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?", text.replace("−", "-"))
    value = float(match.group()) if match else math.nan
    return value if math.isfinite(value) else None


class _Tables(HTMLParser):
    """Collects the text of all cells: tables → rows → cells."""

    def __init__(self) -> None:
        super().__init__()
        self.tables: list[list[list[str]]] = []
        self._in_cell = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "table":
            self.tables.append([])
        elif tag == "tr" and self.tables:
            self.tables[-1].append([])
        elif tag in ("td", "th") and self.tables and self.tables[-1]:
            self.tables[-1][-1].append("")
            self._in_cell = True

    def handle_endtag(self, tag: str) -> None:
        if tag in ("td", "th"):
            self._in_cell = False

    def handle_data(self, data: str) -> None:
        if self._in_cell:
            self.tables[-1][-1][-1] += data
