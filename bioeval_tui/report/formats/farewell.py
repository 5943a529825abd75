"""The lines printed when a run's screen closes: how it ended, and how to open it again."""

from __future__ import annotations

import signal
from collections.abc import Sequence
from pathlib import Path

from rich.text import Text

from bioeval_tui.consoles import plain_console
from bioeval_tui.errors import BioevalError, ExitCode
from bioeval_tui.record.live import is_live
from bioeval_tui.record.names import CANCELLED_AT_START
from bioeval_tui.record.reading import read_recording
from bioeval_tui.record.state import RunState, apply_all
from bioeval_tui.report.conclusion import conclude
from bioeval_tui.report.formats.console import score_line
from bioeval_tui.report.result import RunResult, result_of


def say_goodbye(paths: Sequence[Path], engine: int | None) -> ExitCode:
    """Print each run's scores, id and how to replay it; return the exit code.

    `engine` is the engine's exit code, None while it runs: it may not have begun a recording yet.
    0: scored, or left running. 3: ended without a score, or never started. 130: cancelled from the screen.
    """
    found = [_one(path) for path in paths if path.exists()]
    if not found and engine is None:
        _say([_CONTINUES, *_what_next(paths[0].stem, ExitCode.OK, True)])
        return ExitCode.OK
    if not found and engine == -signal.SIGTERM:
        _say(["the run was stopped before it began; nothing was recorded"])
        return ExitCode.INTERRUPTED
    return max(found, default=ExitCode.NOT_MEASURED)


def _one(path: Path) -> ExitCode:
    try:
        result = result_of(apply_all(RunState(), read_recording(path).events), path)
    except BioevalError:
        return ExitCode.NOT_MEASURED  # the screen has said what is wrong with the recording
    live = is_live(path)
    code = ExitCode.OK if live else _code_of(result)
    _say([*_how_it_ended(result, code, live=live), *_what_next(path.stem, code, live)])
    return code


def _say(lines: Sequence[str]) -> None:
    console = plain_console()
    for line in lines:
        console.print(Text(line), soft_wrap=True)


def _code_of(result: RunResult | None) -> ExitCode:
    if result is None:
        return ExitCode.NOT_MEASURED
    if result.measured:
        return ExitCode.OK
    # A spent budget cancels with a reason, a person on the screen without one.
    by_hand = result.status == "cancelled" and result.detail in ("", CANCELLED_AT_START)
    return ExitCode.INTERRUPTED if by_hand else ExitCode.NOT_MEASURED


def _how_it_ended(result: RunResult | None, code: ExitCode, *, live: bool) -> list[str]:
    if live:
        return [_CONTINUES]
    if code == ExitCode.INTERRUPTED:
        return ["the run was interrupted; its engine and its servers have stopped"]
    if result is None:
        return [conclude(RunState()).sentence]
    lines = [result.conclusion.sentence, score_line(result)]
    if code == ExitCode.NOT_MEASURED:
        reasons = (
            talk.why_no_score for talk in result.conversations if talk.is_scored and talk.score is None
        )
        lines += [f"no score: {reason}" for reason in dict.fromkeys(reasons)]
    return lines


def _what_next(run_id: str, code: ExitCode, live: bool) -> list[str]:
    if live:
        return [f"attach to it: bioeval-tui watch {run_id}"]
    lines = [f"replay it: bioeval-tui runs replay {run_id}"]
    if code != ExitCode.OK:
        lines += [f"continue it: bioeval-tui runs resume {run_id}"] if code == ExitCode.INTERRUPTED else []
        lines.append(f"exit code {int(code)}: {_MEANS[code]}")
    return lines


_CONTINUES = "the run continues in the background"
_MEANS = {ExitCode.NOT_MEASURED: "could not be measured", ExitCode.INTERRUPTED: "interrupted"}
