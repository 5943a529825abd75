"""Commands about recorded runs."""

from __future__ import annotations

import click

from bioeval_tui.cli.common_options import with_env_file, with_redact
from bioeval_tui.cli.lazy import LazyGroup, Table

RUNS: Table = {
    "agreement": ("runs_report", "Compare judges with people's reviews."),
    "compare": ("runs_report", "Compare two runs side by side, or rank several."),
    "delete": ("runs_manage", "Delete runs permanently."),
    "explain": ("runs_report", "Explain a run's score, and what would reach a target."),
    "export": ("runs_report", "Export recorded runs for other tools."),
    "gate": ("runs_report", "Check recorded runs against thresholds, for CI."),
    "import": ("runs_manage", "Import a recording, or another tool's conversations."),
    "list": ("runs_list", "List the recorded runs, newest first."),
    "prune": ("runs_manage", "Delete old runs permanently."),
    "record-to": ("runs_manage", "Move the recording of a run in progress to another folder."),
    "replay": ("watch", "Replay a run on the live screen, or write the replay to a file."),
    "report": ("runs_report", "Write a report of one or more runs."),
    "rescore": ("runs_rescore", "Judge recorded transcripts again, without calling the agent."),
    "resume": ("runs_resume", "Resume an interrupted or stopped run."),
    "show": ("runs_show", "Show a run's score card."),
}


@click.group(
    cls=LazyGroup,
    table=RUNS,
    change=lambda _name, command: with_env_file(with_redact(command)),
    epilog="\b\nExamples:\n  bioeval-tui runs list\n  bioeval-tui runs replay 7f3a --speed 4",
)
def runs() -> None:
    """List, show, replay, resume, judge again, import and delete recorded runs."""


COMMANDS: list[click.Command] = [runs]
