"""Which run an id names, in commands and for the shell's tab key."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem

from bioeval_tui.record.catalogue import Catalogue
from bioeval_tui.settings import Settings

MOST = 100


def complete_run(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[Any]:
    """Return the ids that begin or end with what was typed, newest first, with their job."""
    typed = incomplete.lower()
    found = Catalogue(Settings.from_environment().runs_dir).runs()
    return [
        CompletionItem(run.run_id, help=f"{run.job}, {run.status}")
        for run in found
        if run.run_id.startswith(typed) or run.run_id.endswith(typed)
    ][:MOST]


def find_run(run_id: str, *, least: int = 1) -> tuple[Settings, Path]:
    """Return the settings, and the recording of the run that an id, or the beginning or end of one, names.

    `least` is how many characters there have to be.

    Raises:
        UsageError: there is no such run, or several.
    """
    settings = Settings.from_environment()
    return settings, Catalogue(settings.runs_dir).find(run_id, least=least)
