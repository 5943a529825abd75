"""Comparisons, reports and previews of runs for the screens. All functions block; call them in a thread."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from statistics import fmean

from bioeval_tui.evaluation.prices import Prices
from bioeval_tui.files import write_beside
from bioeval_tui.record.names import CONDITIONS
from bioeval_tui.report.comparison import Comparison, compare
from bioeval_tui.report.conclusion import conclude, conclude_batch
from bioeval_tui.report.costs import spent
from bioeval_tui.report.formats.html import html_report
from bioeval_tui.report.gains import gains, lost_points
from bioeval_tui.report.loading import load_run
from bioeval_tui.report.run_summary import RunPreview
from bioeval_tui.report.sentences import LONGEST_LOSS, sentence
from bioeval_tui.report.words import ways_out
from bioeval_tui.text import clean_line, shorten
from bioeval_tui.units import signed

GAINS, LOSSES, LAST = 4, 2, 2
"""How much of the lowest conversation a preview shows: gains, the reasons behind the largest or, without any, messages."""


def compare_recordings(a: Path, b: Path) -> Comparison:
    """Compare run B with run A.

    Raises:
        RecordingError: a recording cannot be read.
    """
    return compare(load_run(a), load_run(b))


def write_report(paths: Sequence[Path], folder: Path, prices: Prices | None = None) -> Path:
    """Write one HTML report of these recordings, readable only by its owner, to an unused file name.

    Without `prices`, the included prices are used.

    Raises:
        RecordingError: a recording cannot be read.
        StorageError: the disk is full, or the folder cannot be written.
    """
    text = html_report([load_run(path, prices=prices) for path in paths])
    names = paths[0].stem if len(paths) == 1 else f"{paths[0].stem}-and-{len(paths) - 1}-more"
    return write_beside(folder, f"bioeval-tui-report-{names}", ".html", text)


def concluded(paths: Sequence[Path]) -> str:
    """Return the conclusion of these recordings in one sentence.

    Raises:
        RecordingError: one of them cannot be read.
    """
    return conclude_batch([load_run(path) for path in paths]).sentence if paths else ""


def preview(path: Path) -> RunPreview:
    """Return a recording's conclusion, and where its lowest conversation lost points.

    Raises:
        RecordingError: it cannot be read.
    """
    run = load_run(path)
    state = run.state
    held = list(state.conversations.values())
    scored = [(talk.score.score, talk) for talk in held if talk.score and talk.score.score is not None]
    talk = min(scored, key=lambda one: one[0])[1] if scored else (held[-1] if held else None)
    found = conclude(state)
    trials = state.started.trials if state.started else 0
    names: dict[str, str] = {condition: state.condition_name(condition) for condition in CONDITIONS}
    if talk is None:
        return RunPreview(found.sentence, names=names, brief=found.brief, trials=trials)
    times = [talk.ended.duration_ms / 1000 for talk in held if talk.ended and talk.ended.duration_ms]
    signed_off = talk.ended is not None and talk.ended.reason == "signed_off"
    said = [m for m in talk.messages if not (signed_off and m is talk.messages[-1] and m.role == "user")]
    cost = spent((run, talk) for talk in held).dollars
    possible = gains(state, talk)[:GAINS]
    which = f", {talk.trial_words}" if len(run.trials) > 1 or talk.case else ""
    return RunPreview(
        found.sentence,
        names[talk.key.condition] + which,
        lost_points(talk, possible[:LOSSES]),
        tuple((sentence(gain), signed(gain.by)) for gain in possible),
        ways_out(talk),
        () if possible else tuple((m.role, shorten(clean_line(m.text), LONGEST_LOSS)) for m in said[-LAST:]),
        names,
        found.brief,
        trials,
        fmean(times) if times else None,
        None if cost is None else cost / len(held),
    )
