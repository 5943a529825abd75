"""What the shell offers for a run's id when the tab key is pressed."""

from __future__ import annotations

from typing import Any

import click
from click.shell_completion import CompletionItem

MOST = 100


def complete_run(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[Any]:
    """Return the ids that begin or end with what was typed, newest first, with their job."""
    from bioeval_tui.record.catalogue import Catalogue
    from bioeval_tui.settings import Settings

    typed = incomplete.lower()
    found = Catalogue(Settings.from_environment().runs_dir).runs()
    return [
        CompletionItem(run.run_id, help=f"{run.job}, {run.status}")
        for run in found
        if run.run_id.startswith(typed) or run.run_id.endswith(typed)
    ][:MOST]
