"""`serve`: the application in a browser."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import click

from bioeval_tui.base.errors import UsageError
from bioeval_tui.base.isolation import program_command
from bioeval_tui.base.settings import Settings
from bioeval_tui.base.terminal import say
from bioeval_tui.cli.options import require_places
from bioeval_tui.cli.recorded_runs import complete_run
from bioeval_tui.cli.terminal import code_of_signal
from bioeval_tui.record.catalogue import Catalogue
from bioeval_tui.record.masking import rules_path
from bioeval_tui.serve.access import is_loopback
from bioeval_tui.serve.server import ServeOptions, serving
from bioeval_tui.tui.data.services import Preferences


@click.command(
    epilog=(
        "\b\nExamples:\n  bioeval-tui serve\n  bioeval-tui serve --read-only --run 7f3a"
        "\n  bioeval-tui serve --read-only --redact rules.yml --host 192.168.1.20"
    )
)
@click.argument("places", metavar="[FOLDER_OR_JOB]...", nargs=-1, type=click.Path(path_type=Path))
@click.option(
    "--read-only",
    is_flag=True,
    help="Show recordings only; nothing can be run, changed or written.",
)
@click.option(
    "--run",
    "run_id",
    metavar="RUN",
    shell_complete=complete_run,
    help="Open the replay of this run in each tab.",
)
@click.option("--host", default="127.0.0.1", help="The address to listen on.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=0,
    help="The port; 0 chooses a free one.",
)
@click.option(
    "--allow-host",
    "allowed_hosts",
    multiple=True,
    metavar="NAME[:PORT]",
    help="Another name of this server, for example behind a proxy. Repeatable.",
)
@click.option(
    "--max-sessions",
    type=click.IntRange(1, 100),
    default=4,
    help="Maximum number of open tabs.",
)
def serve(
    places: tuple[Path, ...],
    read_only: bool,
    run_id: str | None,
    host: str,
    port: int,
    allowed_hosts: tuple[str, ...],
    max_sessions: int,
) -> int:
    """Serve the application in a browser until you press Ctrl-C, and print the link that opens it.

    Each tab is a separate process. A run that was started in a tab continues when the tab closes.
    Anyone with the link can do what you can do on this machine, unless you pass --read-only.
    """
    command = _tab_command(places, read_only, run_id)
    warning = ""
    if not is_loopback(host):
        can = "see every recording" if read_only else "run jobs and read files as you can"
        warning = (
            f"Other machines can reach this server: anyone with the link can {can}. Nothing is"
            " encrypted."
        )
    options = ServeOptions(command, host, port, allowed_hosts, max_sessions, _is_light)
    return asyncio.run(_serve(options, warning))


def _is_light() -> bool:
    """Whether the last theme was the light one."""
    return Preferences(Settings.from_environment().data_dir).values.get("theme") == "light"


def _tab_command(places: tuple[Path, ...], read_only: bool, run_id: str | None) -> list[str]:
    """Return the command of a tab, after checking its arguments once for all tabs."""
    command = program_command("serve-tab")
    if read_only:
        if places:
            raise UsageError("--read-only shows recordings only: don't give job files or folders")
        command.append("--read-only")
    require_places(places)
    if run_id is not None:
        command += ["--run", Catalogue(Settings.from_environment().runs_dir).find(run_id).stem]
    if (rules := rules_path()) is not None:
        command += ["--redact", str(rules.absolute())]
    return [*command, "--", *(str(place.absolute()) for place in places)]


async def _serve(options: ServeOptions, warning: str) -> int:
    stop = code_of_signal()
    async with serving(options, lambda sentence: say(sentence, err=True)) as link:
        say(link)
        sys.stdout.flush()
        say("Open the link in a browser. Ctrl-C stops the server and all sessions.", err=True)
        if warning:
            say(warning, err=True)
        return await stop
