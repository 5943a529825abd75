"""The preview of a run beside a list."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from statistics import fmean

from bioeval_tui.record.names import CONDITIONS
from bioeval_tui.report.conclusion import conclude
from bioeval_tui.report.costs import spent
from bioeval_tui.report.gains import Loss, gains, lost_points
from bioeval_tui.report.loading import LoadedRun
from bioeval_tui.report.sentences import LONGEST_LOSS, sentence
from bioeval_tui.report.words import ways_out
from bioeval_tui.text import clean_line, shorten
from bioeval_tui.units import signed

GAINS, LOSSES, LAST = 4, 2, 2
"""How much of the lowest conversation a preview shows: gains, the reasons behind the largest or, without any, messages."""


@dataclass(frozen=True, slots=True)
class RunPreview:
    """The result of an ended run, for a preview beside a list."""

    sentence: str
    lowest: str = ""
    """The conversation that scored lowest, such as `withheld, trial 2`, to which the next four belong."""
    lost: tuple[Loss, ...] = ()
    """Why it lost most of its points, the largest loss first; empty if it lost nothing or has no score."""
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
    trials: int = 0
    seconds: float | None = None
    """How long a conversation took on average."""
    dollars: float | None = None
    """What a conversation cost on average; None if a part of it is unknown."""


def preview_of(run: LoadedRun) -> RunPreview:
    """Return a run's conclusion, and where its lowest conversation lost points."""
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
