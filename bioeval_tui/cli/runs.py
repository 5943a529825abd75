"""Commands about recorded runs."""

from __future__ import annotations

import click

from bioeval_tui.cli.env_file import with_env_file
from bioeval_tui.cli.lazy import LazyGroup, Table
from bioeval_tui.cli.redaction import with_redact

RUNS: Table = {
    "agreement": ("runs_agreement", "Compare judges with the people who reviewed their scores."),
    "compare": ("runs_report", "Compare two runs: per task, assertion and turn, side by side."),
    "delete": ("runs_manage", "Delete runs for good: recording, later scores and log."),
    "explain": ("runs_report", "Explain a run's scores, and what each part would have to be."),
    "export": ("runs_report", "Export recorded runs for other tools."),
    "gate": ("runs_agreement", "Hold recorded runs against thresholds, and exit accordingly."),
    "import": ("runs_manage", "Take in a recording that somebody sent."),
    "list": ("runs_list", "List the recorded runs, newest first; interrupted ones too."),
    "prune": ("runs_manage", "Delete for good the runs that began before a time."),
    "record-to": ("runs_record_to", "Record a run that is under way in another folder."),
    "replay": ("watch", "Play a run again on the live screen, true to its recorded times."),
    "report": ("runs_report", "Write a report of one or more runs."),
    "rescore": ("runs_rescore", "Judge recorded transcripts again, without talking to the agent."),
    "resume": ("runs_resume", "Resume an interrupted or stopped run with what is missing."),
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
