"""The command line: parse, load the command that is called, own exit codes and what is said of errors."""

from __future__ import annotations

import io
import os
import sys
import traceback
from typing import NoReturn

import click

from bioeval_tui import __version__
from bioeval_tui.cli.env_file import env_file_option, with_env_file
from bioeval_tui.cli.lazy import LazyGroup, Table
from bioeval_tui.cli.redaction import COMMANDS_THAT_SHOW, with_redact
from bioeval_tui.errors import BioevalError, ExitCode, InputError, NotMeasuredError, ScreenCrashError

COMMANDS: Table = {
    "app": ("app", "Open the terminal application: jobs, runs, benchmarks, medals."),
    "demo": ("demo", "Watch it work: a real conversation, offline, no key, no server."),
    "run": ("run", "Evaluate an agent: hold the conversations of one or more jobs."),
    "plan": ("plan", "Say how many cases and trials a difference or an interval needs."),
    "watch": ("watch", "Attach this terminal to a run in progress elsewhere."),
    "serve": ("serve", "Open the application in a browser, for you or for an audience."),
    "review": ("review", "Accept or correct judged scores and graded submissions; judges against people."),
    "judge-test": ("judge_test", "Ask a judge again after changes that should not matter to it."),
    "runs": ("runs", "List, show and replay recorded runs."),
    "new": ("jobs_new", "Write a commented job file from a few questions."),
    "check": ("jobs", "Check job files before anything runs."),
    "schema": ("jobs", "Print the JSON Schema of job files or of results."),
    "guards": ("guards", "Check what a simulated user says in recorded conversations."),
    "assert": ("jobs", "Evaluate one assertion against a saved state or the graph."),
    "samples": ("samples", "List the sample jobs and submissions, or copy them into a folder."),
    "agent": ("agent", "Serve the sample agent alone."),
    "grade": ("grade", "Grade submissions against leaderboards."),
    "grade-sample": ("grade", "Grade one file for one task."),
    "validate": ("grade", "Say everything that is wrong with a submission."),
    "tasks": ("tasks", "List, show, prepare and check machine-learning tasks."),
    "medals": ("medals", "Show graded reports as a medal table."),
    "ledger": ("ledger", "Check the ledger of looks at the answers."),
    "baseline": ("baseline", "Write baseline submissions for a task."),
    "docs": ("docs", "Read the documentation, offline."),
    "doctor": ("doctor", "Say what works here and, where something is missing, what brings it."),
    "engine": ("engine", ""),
    "tui": ("app", ""),
    "serve-tab": ("serve_tab", ""),
}


def _with_common_options(name: str, command: click.Command) -> click.Command:
    return with_env_file(with_redact(command) if name in COMMANDS_THAT_SHOW else command)


EXAMPLE = """
\b
Examples:
  bioeval-tui demo                     watch two conversations being evaluated
  bioeval-tui run JOB.yml              evaluate your own agent
  bioeval-tui grade submissions.jsonl --output-dir results
"""


@click.group(
    cls=LazyGroup,
    table=COMMANDS,
    change=_with_common_options,
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
        _write(context.get_help(), err=False)
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
        shown = io.StringIO()
        error.show(file=shown)  # it may name a file of somebody else's folder
        _write(shown.getvalue().rstrip("\n"))
        sys.exit(ExitCode.BAD_INPUT)
    except (KeyboardInterrupt, click.Abort):
        _write("interrupted")
        sys.exit(ExitCode.INTERRUPTED)
    except BioevalError as error:
        _say_traceback(error) if debug else _say(error)
        sys.exit(error.exit_code)
    except BrokenPipeError:
        # Whoever read us is gone; keep Python from complaining about it at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(ExitCode.OK)
    except MemoryError:
        _write("error: there is not enough memory for this; is a file much larger than it should be?")
        sys.exit(ExitCode.NOT_MEASURED)
    except Exception as error:
        # The last stop of every defect: one sentence for the user, the whole traceback in the log file.
        if debug:
            _say_traceback(error)
        elif isinstance(error, ModuleNotFoundError) and (sentence := _missing_package(error)) is not None:
            _say(sentence)
        else:
            _defect(error)
        sys.exit(ExitCode.NOT_MEASURED)


def _write(text: str, *, err: bool = True) -> None:
    from bioeval_tui.terminal import say  # a tenth of the time that `--help` takes, which does without

    say(text, err=err)


def _say_traceback(error: Exception) -> None:
    _write("".join(traceback.format_exception(error)).rstrip("\n"))


def _missing_package(error: ModuleNotFoundError) -> BioevalError | None:
    """Return what to say when a package that this program asks for is not installed; None for any other module."""
    # Here and below: only what failed waits for it.
    from bioeval_tui.installation import install_command, package_of

    package = package_of(error.name or "")
    if package is None:
        return None
    command = install_command([package])
    return NotMeasuredError(f"this needs {package}, which is not installed: install with `{command}`")


def _say(error: BioevalError) -> None:
    from bioeval_tui.record.masking.current import current, masking

    problems = error.problems if isinstance(error, InputError) else ()
    lines = [str(problem) for problem in problems] or [str(error)]
    for line in lines:
        _write(f"error: {current().text(line) if masking() else line}")


def _defect(error: Exception) -> None:
    """Keep the traceback in a log file; tell the user one sentence and where it is."""
    from bioeval_tui.record.masking.current import current, masking
    from bioeval_tui.settings import Settings, private_dir
    from bioeval_tui.text import clean_line, home_relative

    try:
        log = private_dir(Settings.from_environment().logs_dir) / "errors.log"
        descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        with os.fdopen(descriptor, "a", encoding="utf-8") as file:
            file.write("".join(traceback.format_exception(error)))
        where = f"; to report it, send {home_relative(log)} and what `bioeval-tui doctor` prints"
    except OSError:
        where = "; run again with --debug to see the details"
    crashed = isinstance(error, ScreenCrashError)
    what = "the screen crashed, a defect" if crashed else "this is a defect"
    message = clean_line(str(error) if crashed else f"{type(error).__name__}: {error}", 300)
    notes = "".join(f"; {note}" for note in getattr(error, "__notes__", ()))
    sentence = f"{what} of bioeval-tui ({message}){where}{notes}"
    _write(f"error: {current().text(sentence) if masking() else sentence}")
