"""The command line: parse, pick a front end, own stdout, stderr and exit codes. Heavy imports stay inside commands."""

from __future__ import annotations

import importlib
import os
import sys
from typing import Any, NoReturn

import click

from bioeval_tui import __version__
from bioeval_tui.cli.env_file import env_file_option, with_env_file
from bioeval_tui.cli.redaction import COMMANDS_THAT_SHOW, with_redact
from bioeval_tui.errors import BioevalError, ExitCode, InputError

COMMANDS: dict[str, tuple[str, str]] = {
    "app": ("app", "Open the terminal application: jobs, runs, benchmarks, medals."),
    "demo": ("run", "Watch it work: a real conversation, offline, no key, no server."),
    "run": ("run", "Evaluate an agent: hold the conversations of one or more jobs."),
    "watch": ("run", "Attach this terminal to a run that goes on elsewhere."),
    "serve": ("serve", "Open the application in a browser, for you or for an audience."),
    "review": ("review", "Accept or correct judged scores and graded submissions; judges against people."),
    "runs": ("runs", "List, show and replay recorded runs."),
    "new": ("jobs_new", "Write a commented job file from a few questions."),
    "check": ("jobs", "Check job files before anything runs."),
    "schema": ("jobs", "Print the JSON Schema of job files or of results."),
    "guards": ("guards", "Check what a simulated user says in recorded conversations."),
    "assert": ("jobs", "Evaluate one assertion against a saved state or the graph."),
    "agent": ("agent", "Serve the sample agent alone."),
    "grade": ("grade", "Grade submissions against leaderboards."),
    "grade-sample": ("grade", "Grade one file for one task."),
    "validate": ("grade", "Say everything that is wrong with a submission."),
    "tasks": ("grade", "List, show, prepare and check machine-learning tasks."),
    "medals": ("grade", "Show graded reports as a medal table."),
    "baseline": ("baseline", "Write baseline submissions for a task."),
    "doctor": ("doctor", "Say what works here and, where it does not, the one thing to do."),
    "engine": ("run", ""),
    "tui": ("app", ""),
    "serve-tab": ("serve", ""),
}
HIDDEN = {"engine", "serve-tab", "tui"}


class LazyGroup(click.Group):
    """A group whose commands are imported when they are used: `--help` and `--version` load almost nothing."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names that help shows."""
        return [name for name in COMMANDS if name not in HIDDEN]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the command's module and return the command."""
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(f"bioeval_tui.cli.{COMMANDS[cmd_name][0]}")
        commands: list[click.Command] = module.COMMANDS
        found = next((command for command in commands if command.name == cmd_name), None)
        if found is None:
            return None
        return with_env_file(with_redact(found) if cmd_name in COMMANDS_THAT_SHOW else found)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list from the table above, without importing a command."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, COMMANDS[name][1]) for name in self.list_commands(ctx)])

    def resolve_command(self, ctx: click.Context, args: list[str]) -> tuple[str | None, Any, list[str]]:
        """Find the command; a misspelt one names the nearest."""
        name = args[0] if args else ""
        if name and name not in COMMANDS and not name.startswith("-"):
            import difflib

            near = difflib.get_close_matches(name, self.list_commands(ctx), 1)
            hint = f", did you mean {near[0]}?" if near else "; `bioeval-tui --help` lists them"
            raise click.UsageError(f"no such command: {name!r}{hint}")
        return super().resolve_command(ctx, args)


EXAMPLE = """
\b
Examples:
  bioeval-tui demo                     watch two conversations being evaluated
  bioeval-tui run JOB.yml              evaluate your own agent
  bioeval-tui grade submissions.jsonl --output-dir results
"""


@click.group(
    cls=LazyGroup,
    epilog=EXAMPLE,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    params=[env_file_option()],
)
@click.version_option(__version__, prog_name="bioeval-tui")
@click.option("--debug", is_flag=True, help="Show tracebacks instead of one sentence.")
@click.pass_context
def app(context: click.Context, debug: bool) -> int:
    """Evaluate conversational agents for biomedicine, and grade machine-learning submissions, in the terminal.

    Without a command, in a terminal, this opens the application.
    """
    if context.invoked_subcommand is not None:
        return ExitCode.OK
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        click.echo(context.get_help())
        return ExitCode.BAD_INPUT
    command = context.command
    assert isinstance(command, LazyGroup)
    opening = command.get_command(context, "app")
    assert opening is not None
    code: int = context.invoke(opening, places=())
    return code


def main() -> NoReturn:
    """Run the command line and exit with a code that means something (see `errors.ExitCode`)."""
    debug = "--debug" in sys.argv[1:]
    try:
        code = app.main(prog_name="bioeval-tui", standalone_mode=False)
        sys.stdout.flush()
        sys.exit(code if isinstance(code, int) else ExitCode.OK)
    except click.exceptions.Exit as exit_:
        sys.exit(exit_.exit_code)
    except click.ClickException as error:
        error.show()
        sys.exit(ExitCode.BAD_INPUT)
    except (KeyboardInterrupt, click.Abort):
        click.echo("interrupted", err=True)
        sys.exit(ExitCode.INTERRUPTED)
    except BioevalError as error:
        if debug:
            raise
        _say(error)
        sys.exit(error.exit_code)
    except BrokenPipeError:
        # Whoever read us is gone; keep Python from complaining about it at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(ExitCode.OK)
    except Exception as error:
        # The last stop of every defect: one sentence for the user, the whole traceback in the log file.
        if debug:
            raise
        _defect(error)
        sys.exit(ExitCode.NOT_MEASURED)


def _say(error: BioevalError) -> None:
    from bioeval_tui.record.masking.current import current, masking
    from bioeval_tui.text import clean

    problems = error.problems if isinstance(error, InputError) else ()
    lines = [str(problem) for problem in problems] or [str(error)]
    for line in lines:
        click.echo(f"error: {current().text(line) if masking() else clean(line)}", err=True)


def _defect(error: Exception) -> None:
    """Keep the traceback in a log file; tell the user one sentence and where it is."""
    import traceback

    from bioeval_tui.settings import Settings, private_dir
    from bioeval_tui.text import clean_line, home_relative

    try:
        log = private_dir(Settings.from_environment().logs_dir) / "errors.log"
        descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        with os.fdopen(descriptor, "a", encoding="utf-8") as file:
            file.write("".join(traceback.format_exception(error)))
        where = f"; the details are in {home_relative(log)}"
    except OSError:
        where = "; run again with --debug to see the details"
    message = clean_line(f"{type(error).__name__}: {error}", 300)
    click.echo(f"error: this is a defect of bioeval-tui ({message}){where}", err=True)
