"""The preview of a run beside a list."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from statistics import fmean

from bioeval_tui.record.names import CONDITIONS
from bioeval_tui.report.brief import Brief
from bioeval_tui.report.result import RunResult
from bioeval_tui.report.run import Loss
from bioeval_tui.report.sentences import LONGEST_LOSS, sentence
from bioeval_tui.text import clean_line, shorten
from bioeval_tui.units import signed

GAINS, LAST = 4, 2
"""How much of the lowest conversation a preview shows: gains or, without any, messages."""


@dataclass(frozen=True, slots=True)
class RunPreview:
    """The result of an ended run, for a preview beside a list."""

    sentence: str
    lowest: str = ""
    """The conversation that scored lowest, such as `withheld, trial 2`, to which the next four belong."""
    lost: tuple[Loss, ...] = ()
    """Why it lost points; empty if it lost none or has no score."""
    gains: tuple[tuple[str, str], ...] = ()
    """The largest possible gains of its score, and their size."""
    ways: tuple[str, ...] = ()
    """What to do about it if it never took place."""
    last: tuple[tuple[str, str], ...] = ()
    """Its last messages, role and text, if it has no loss to show."""
    names: Mapping[str, str] = field(default_factory=dict)
    """What the job calls the conditions."""
    brief: str = ""
    """The sentence in a few words."""
    about: Brief | None = None
    """Who was tested by whom, on what."""
    trials: int = 0
    seconds: float | None = None
    """How long a conversation took on average."""
    dollars: float | None = None
    """What a conversation cost on average; None if a part of it is unknown."""


def preview_of(run: RunResult) -> RunPreview:
    """Return a run's conclusion, and where its lowest conversation lost points."""
    conclusion, trials = run.conclusion, run.planned_trials
    names: dict[str, str] = {condition: run.condition_name(condition) for condition in CONDITIONS}
    conversations = run.as_begun
    talk = run.lowest or next(reversed(conversations), None)
    if talk is None:
        return RunPreview(
            conclusion.sentence, names=names, brief=conclusion.brief, about=run.brief, trials=trials
        )
    times = [talk.ended.duration_ms / 1000 for talk in conversations if talk.ended and talk.ended.duration_ms]
    messages = talk.messages
    if talk.end_reason == "signed_off" and messages and messages[-1].role == "user":
        messages = messages[:-1]
    cost = run.summary.spent.dollars
    possible = talk.gains[:GAINS]
    return RunPreview(
        conclusion.sentence,
        run.place_words(talk),
        talk.why_lost,
        tuple((sentence(gain), signed(gain.by)) for gain in possible),
        talk.ways,
        ()
        if possible
        else tuple((m.role, shorten(clean_line(m.text), LONGEST_LOSS)) for m in messages[-LAST:]),
        names,
        conclusion.brief,
        run.brief,
        trials,
        fmean(times) if times else None,
        None if cost is None else cost / len(conversations),
    )
