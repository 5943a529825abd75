"""The command line: parse arguments, load the command, report errors and set the exit code."""

from __future__ import annotations

import io
import os
import re
import signal
import sys
import traceback
from typing import NoReturn

import click

from bioeval_tui import __version__
from bioeval_tui.base.errors import (
    BioevalError,
    ExitCode,
    InputError,
    NotMeasuredError,
    ScreenCrashError,
    exhausted,
    forbidden,
)
from bioeval_tui.base.streams import has_screen, lost_stdout, make_lasting, needs_stdout
from bioeval_tui.cli.common_options import (
    COMMANDS_THAT_SHOW,
    LazyGroup,
    Table,
    env_file_option,
    plain_option,
    with_env_file,
    with_redact,
)

COMMANDS: Table = {
    "app": ("app", "Open the terminal application."),
    "demo": ("demo", "Watch a live evaluation, offline, without an API key or a server."),
    "run": ("run", "Evaluate an agent with one or more jobs."),
    "plan": ("runs_report", "Plan how many cases and trials you need."),
    "watch": ("watch", "Attach to a run in progress."),
    "serve": ("serve", "Open the application in a browser."),
    "review": ("review", "Review judged scores and graded submissions."),
    "judge-test": ("runs_again", "Test whether a judge changes its mind."),
    "runs": ("runs", "List, show, replay, report and manage recorded runs."),
    "new": ("jobs", "Create a job file from a few questions."),
    "check": ("check", "Check job files for errors."),
    "schema": ("schemas", "Print the JSON Schema of job files, or of what a command prints."),
    "guards": ("guards", "Check the simulated user's messages in transcripts."),
    "assert": ("try_assertion", "Try an assertion on a saved state or the graph."),
    "samples": ("installed", "List or copy the sample jobs and submissions."),
    "agent": ("agent", "Start the sample agent."),
    "grade": ("grade", "Grade submissions against leaderboards."),
    "grade-sample": ("grade", "Grade one file."),
    "validate": ("grade", "List everything that is wrong with a submission."),
    "tasks": ("tasks", "List, show, prepare and check machine-learning tasks."),
    "medals": ("medals", "Show graded reports as a medal table."),
    "scores": ("scores", "Rank agents, and compare raters, from a table of scores."),
    "ledger": ("grade", "Check the ledger of graded submissions."),
    "baseline": ("baseline", "Create baseline submissions for a task."),
    "docs": ("installed", "Read the documentation, offline."),
    "doctor": ("installed", "Check the installation and suggest fixes."),
    "engine": ("engine", ""),
    "tui": ("app", ""),
    "serve-tab": ("app", ""),
}


def _add_common_options(name: str, command: click.Command) -> click.Command:
    return with_env_file(with_redact(command) if name in COMMANDS_THAT_SHOW else command)


EXAMPLE = """
\b
Examples:
  bioeval-tui demo                     watch a live evaluation
  bioeval-tui run JOB.yml              evaluate your own agent
  bioeval-tui grade submissions.jsonl --output-dir results
"""


@click.group(
    cls=LazyGroup,
    table=COMMANDS,
    change=_add_common_options,
    suggested=("runs",),
    epilog=EXAMPLE,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "show_default": True},
    params=[env_file_option(), plain_option()],
)
@click.version_option(__version__, prog_name="bioeval-tui")
@click.option("--debug", is_flag=True, help="If something fails, show the traceback.")
@click.pass_context
def app(context: click.Context, debug: bool) -> int:
    """Evaluate conversational agents for biomedicine, and grade machine-learning submissions, in
    the terminal.

    Without a command, in a terminal, this opens the application.
    """
    if context.invoked_subcommand is not None:
        return ExitCode.OK
    if not has_screen():
        _write(context.get_help(), err=False)
        return ExitCode.BAD_INPUT
    command = context.command
    assert isinstance(command, LazyGroup)
    opening = command.get_command(context, "app")
    assert opening is not None
    code: int = context.invoke(opening, places=())
    return code


def main() -> NoReturn:
    """Run the command line and exit with a code from `errors.ExitCode`."""
    make_lasting()
    code = _run(debug="--debug" in sys.argv[1:])
    if (lost := lost_stdout()) is not None:
        from bioeval_tui.base.files import storage_error  # only then

        _write(f"error: {storage_error('stdout', lost)}")
        if code == ExitCode.OK and needs_stdout():
            code = ExitCode.NOT_MEASURED
    sys.exit(code)


def _run(*, debug: bool) -> int:
    try:
        code = app.main(prog_name="bioeval-tui", standalone_mode=False)
        if isinstance(code, int):
            return code
        return ExitCode.OK
    except click.exceptions.Exit as exit_:
        return exit_.exit_code
    except click.ClickException as error:
        shown = io.StringIO()
        error.show(file=shown)  # its text may contain a foreign file name, which must be cleaned
        _write(
            re.sub(
                "^Error: ", "error: ", shown.getvalue().rstrip("\n"), count=1, flags=re.MULTILINE
            )
        )
        return ExitCode.BAD_INPUT
    except (KeyboardInterrupt, click.Abort):
        _write("interrupted")
        return ExitCode.INTERRUPTED
    except BioevalError as error:
        _say_traceback(error) if debug else _say(error)
        return error.exit_code
    except MemoryError:
        _write("error: out of memory; is an input file much larger than expected?")
        return ExitCode.NOT_MEASURED
    except Exception as error:
        # A bug: one sentence for the user, the full traceback in the log file.
        if debug:
            _say_traceback(error)
        elif sentence := exhausted(error) or forbidden(error):
            _write_error(sentence)
        elif (
            isinstance(error, ModuleNotFoundError)
            and (missing := _missing_package(error)) is not None
        ):
            _say(missing)
        else:
            _defect(error)
        return ExitCode.NOT_MEASURED
    except BaseException as ended:
        # By SIGTERM: see `cli/show_demo.py`.
        if isinstance(ended, SystemExit) and ended.code == 128 + signal.SIGTERM:
            raise
        # A task or signal handler of the agent's, say: with its code of success, a gate would pass.
        how = type(ended).__name__
        _write(f"error: code that this program called ended it ({how}), before its work was done")
        return ExitCode.NOT_MEASURED


def _write(text: str, *, err: bool = True) -> None:
    # `--help` needs none of it and is a tenth faster without
    from bioeval_tui.base.terminal import (
        say,
    )

    say(text, err=err)


def _say_traceback(error: Exception) -> None:
    _write(_traceback_text(error).rstrip("\n"))


def _traceback_text(error: Exception) -> str:
    return _masked("".join(traceback.format_exception(error)))


def _masked(text: str) -> str:
    from bioeval_tui.record.masking import masked  # only after a failure

    return masked(text)


def _missing_package(error: ModuleNotFoundError) -> BioevalError | None:
    """Return an error that names the missing package; None if the module is not a dependency of
    this program.
    """
    # Here and below: imported only after a failure.
    from bioeval_tui.base.installation import install_command, providing_package

    package = providing_package(error.name or "")
    if package is None:
        return None
    command = install_command([package])
    return NotMeasuredError(
        f"this needs {package}, which is not installed: install with `{command}`"
    )


def _say(error: BioevalError) -> None:
    problems = error.problems if isinstance(error, InputError) else ()
    lines = [str(problem) for problem in problems] or [str(error)]
    for line in lines:
        _write_error(line)


def _write_error(sentence: str) -> None:
    _write(f"error: {_masked(sentence)}")


def _defect(error: Exception) -> None:
    """Write the traceback to a log file; show the user one sentence with its path."""
    from bioeval_tui.base import files, settings, text

    try:
        folder = files.private_dir(settings.Settings.from_environment().logs_dir)
        log = files.below(folder, "errors.log")
        descriptor = files.open_own(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        with os.fdopen(descriptor, "a", encoding="utf-8") as file:
            file.write(_traceback_text(error))
        where = (
            f"; to report it (`bioeval-tui docs install`), send {text.home_relative(log)} and what"
            " `bioeval-tui doctor` prints"
        )
    except (OSError, BioevalError):
        where = "; run again with --debug to see the details"
    crashed = isinstance(error, ScreenCrashError)
    what = "the screen crashed, a bug" if crashed else "this is a bug"
    message = text.clean_line(str(error) if crashed else f"{type(error).__name__}: {error}", 300)
    notes = "".join(f"; {note}" for note in getattr(error, "__notes__", ()))
    sentence = f"{what} in bioeval-tui ({message}){where}{notes}"
    _write_error(sentence)
