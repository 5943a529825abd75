"""What comes out with each of several simulated users of a run: the models that played the user,
or the job's personas.

They are what was chosen, so results are given for each. From `FEWEST` models on, they can also
stand for others like them, and have an interval of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Literal

from bioeval_tui.record import score as composite
from bioeval_tui.record.cases import Case
from bioeval_tui.record.condition_names import Condition
from bioeval_tui.report import findings as of
from bioeval_tui.report.run import ConversationResult, RecordedRun
from bioeval_tui.report.summary import scored_conditions
from bioeval_tui.statistics.estimates import Sample
from bioeval_tui.statistics.intervals import CHANGE, FEWEST, UNIT, Interval, mean_of
from bioeval_tui.statistics.means import average_if_any
from bioeval_tui.statistics.paired_differences import (
    Difference,
    corrected,
    difference,
    differences,
)

UserKind = Literal["user", "persona"]


def user_spreads(run: RecordedRun) -> tuple[of.UserSpread, ...]:
    """Return the results with each of several users, and with each of several personas; empty if
    the run has one user.
    """
    kinds: tuple[UserKind, ...] = ("user", "persona")
    spreads = (_spread(run, kind) for kind in kinds)
    return tuple(spread for spread in spreads if spread is not None)


def user_means(run: RecordedRun, condition: Condition | None) -> dict[str, float | None]:
    """Return the mean score with each of several models as the user, in a condition or over all
    (the mean of the conditions); empty if the run has one user.
    """
    users = _users(run, "user")
    if len(users) < 2:
        return {}
    conditions = [condition] if condition is not None else list(scored_conditions([run]))
    return {user: _mean(trials, run, conditions) for user, trials in users.items()}


def _mean(trials: list[int], run: RecordedRun, conditions: list[Condition]) -> float | None:
    """Return the mean of the conditions' means; None if one of them has no score."""
    return composite.mean_of(_score(run, trials, condition) for condition in conditions)


def _users(run: RecordedRun, kind: UserKind) -> dict[str, list[int]]:
    """Return the trials with each user, or persona, in the order of the run."""
    name_of = _persona_of(run) if kind == "persona" else _user_of
    users: dict[str, list[int]] = {}
    for trial in run.trials:
        case = run.case(trial)
        name = name_of(case) if case is not None else ""
        if name:
            users.setdefault(name, []).append(trial)
    return users


def _user_of(case: Case) -> str:
    return case.user


def _persona_of(run: RecordedRun) -> Callable[[Case], str]:
    """Return what finds a case's persona, which is its name in a job without a table of cases."""

    def find(case: Case) -> str:
        if run.has_personas_alone:
            return case.name
        return case.persona

    return find


def _spread(run: RecordedRun, kind: UserKind) -> of.UserSpread | None:
    users = _users(run, kind)
    if len(users) < 2:
        return None
    effects, conditions = _effects(run, users), scored_conditions([run])
    scores = tuple(
        of.UserScore(
            user,
            tuple(_score(run, trials, name) for name in conditions),
            effects[user].mean if user in effects else None,
            effects[user].direction if user in effects else "",
        )
        for user, trials in users.items()
    )
    interval = None
    if kind == "user":
        interval = interval_of_users(scores, is_effect=bool(effects))
    return of.UserSpread(kind, scores, interval, is_effect=bool(effects))


def _effects(run: RecordedRun, users: dict[str, list[int]]) -> dict[str, Difference]:
    """Return the effect of the facts with each user alone, corrected for looking at each; empty if
    conditions are not compared.
    """
    if run.contrast is None or run.only_condition is not None or not run.clean:
        return {}
    found = {user: difference(differences(_pairs(run, trials))) for user, trials in users.items()}
    return corrected(found, {})


def _pairs(run: RecordedRun, trials: list[int]) -> Iterator[tuple[Sample | None, Sample | None]]:
    assert run.contrast is not None
    for trial in trials:
        if run.why_not_compared(trial):
            continue
        without, with_facts = (run.conversation(name, trial) for name in run.contrast)
        yield (
            without.shared_sample if without is not None else None,
            with_facts.shared_sample if with_facts is not None else None,
        )


def _score(run: RecordedRun, trials: list[int], condition: Condition) -> float | None:
    """Return the mean score of these trials in a condition."""
    talks = (run.conversation(condition, trial) for trial in trials)
    return average_if_any([score for talk in talks if (score := _known(talk)) is not None])


def _known(talk: ConversationResult | None) -> float | None:
    if talk is None:
        return None
    return talk.score


def interval_of_users(scores: tuple[of.UserScore, ...], *, is_effect: bool) -> Interval | None:
    """Return the interval for other users like these, with this run's cases: of the effect, or of
    the score of a single condition.
    """
    if is_effect:
        values = [one.effect for one in scores]
    elif all(len(one.scores) == 1 for one in scores):
        values = [one.scores[0] for one in scores]
    else:
        return None
    known = {one.user: [value] for one, value in zip(scores, values, strict=True)
             if value is not None}  # fmt: skip
    if len(known) < max(len(scores), FEWEST):
        return None
    bounds = CHANGE if is_effect else UNIT
    measured = mean_of(known, bounds, unit="user", paired=is_effect, fewest=FEWEST)
    if measured is None:
        return None
    return measured.interval
