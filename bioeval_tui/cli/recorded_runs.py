"""The recorded run that an argument names: found by its id, or completed in the shell."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem

from bioeval_tui.base.settings import Settings
from bioeval_tui.record.catalogue import Catalogue

MOST_COMPLETED = 100


def complete_run(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[Any]:
    """Return the ids that start or end with the typed text, newest first, with their job."""
    typed = incomplete.lower()
    runs = Catalogue(Settings.from_environment().runs_dir).runs()
    return [
        CompletionItem(run.run_id, help=f"{run.job}, {run.status}")
        for run in runs
        if run.run_id.startswith(typed) or run.run_id.endswith(typed)
    ][:MOST_COMPLETED]


def find_run(run_id: str, *, least: int = 1) -> tuple[Settings, Path]:
    """Return the settings and the recording of the run with this id, or this beginning or end of
    one.

    `least` is the minimum number of characters.

    Raises:
        UsageError: no run matches, or several do.
    """
    settings = Settings.from_environment()
    return settings, Catalogue(settings.runs_dir).find(run_id, least=least)
