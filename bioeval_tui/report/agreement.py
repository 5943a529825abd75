"""Agreement of judges with people, from reviews or a table of labels, and of people with each
other.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import chain, combinations
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from bioeval_tui.base.errors import InputError
from bioeval_tui.base.text import clean_line, plural
from bioeval_tui.record import reviews
from bioeval_tui.record.condition_names import Condition, is_name
from bioeval_tui.record.events import Reviewed, TranscriptScored
from bioeval_tui.record.score import LABEL_WORDS
from bioeval_tui.record.state import ConversationKey
from bioeval_tui.report.reviews import recorded_prompts
from bioeval_tui.report.run import RecordedRun
from bioeval_tui.statistics.estimates import Sample
from bioeval_tui.statistics.judges import (
    Agreement,
    JudgeAgreement,
    RatedTwice,
    agreement,
    judge_agreement,
    krippendorff_alpha,
    rated_units,
)
from bioeval_tui.statistics.means import average, median
from bioeval_tui.statistics.paired_differences import Difference, difference, differences

if TYPE_CHECKING:
    from bioeval_tui.record.state import ConversationState

NO_PROMPT = "no prompt"


class JudgeId(NamedTuple):
    """A judge, identified by its name, its prompt's name, and the beginning of the prompt's
    hash.
    """

    judge: str
    prompt: str


@dataclass(frozen=True, slots=True)
class TaskOfTalk:
    """A task of a conversation."""

    run_id: str
    job: str
    condition: Condition
    trial: int
    task: int
    title: str

    @property
    def key(self) -> ConversationKey:
        """The conversation in its run."""
        return ConversationKey(self.condition, self.trial)


@dataclass(frozen=True, slots=True)
class RatedTask(TaskOfTalk):
    """One task that people scored: their scores, and every judge's.

    `recorded` is the score of the recorded verdict; `latest` that of the last one that was judged
    again.
    """

    pass_above: float
    people: Mapping[str, Reviewed]
    blind: Mapping[str, Reviewed]
    """What people scored before they saw the judge's score."""
    judges: Mapping[JudgeId, float]
    recorded: float | None = None
    latest: float | None = None
    counts: JudgeId | None = None
    """Whose verdict is the latest or, without one, was recorded."""
    judged_at: Mapping[JudgeId, int] = field(default_factory=dict)
    """Where in the overlay each judge's first verdict is; 0 of a recorded one."""
    case: str = ""
    case_trial: int = 1
    panels: frozenset[str] = frozenset()
    """Names of judges that are panels of others."""

    @property
    def cluster(self) -> str:
        """The cluster of the verdict: its case or conversation."""
        where = self.case or f"{self.run_id} {self.condition} {self.trial}"
        return f"{self.job}: {where}"

    @property
    def blind_score(self) -> float | None:
        """The mean over the blind reviewers; None without any."""
        return reviews.reviewed_score(self.blind)

    @property
    def people_score(self) -> float:
        """The mean over the reviewers."""
        score = reviews.reviewed_score(self.people)
        assert score is not None
        return score

    def passed(self, score: float) -> bool:
        """Return whether a score passes the task."""
        return score > self.pass_above


@dataclass(frozen=True, slots=True)
class RatingGap:
    """A task on which two raters differ; `difference` is a − b."""

    item: RatedTask
    a: float
    b: float

    @property
    def difference(self) -> float:
        """a − b."""
        return self.a - self.b

    @property
    def passes_differ(self) -> bool:
        """Whether one says passed and the other does not."""
        return self.item.passed(self.a) != self.item.passed(self.b)


@dataclass(frozen=True, slots=True)
class RatedPair:
    """Two raters, their agreement, and every task on which they differ, largest difference
    first.
    """

    a: str
    b: str
    prompt: str
    agreement: Agreement
    gaps: tuple[RatingGap, ...]
    detail: JudgeAgreement | None = None
    """A judge compared with people: intervals, sensitivity, specificity and the confusion table."""


@dataclass(frozen=True, slots=True)
class AmongJudges:
    """Several judges on the same tasks: their alpha, and how far each is from the mean of the
    others, signed.
    """

    tasks: int
    alpha: float | None
    deviations: Mapping[JudgeId, Difference]


@dataclass(frozen=True, slots=True)
class AgreementReport:
    """Every judge against the people, every two people against each other, and all people
    together.
    """

    judges: tuple[RatedPair, ...]
    people: tuple[RatedPair, ...]
    people_alpha: float | None
    items: tuple[RatedTask, ...]
    reviewers: tuple[str, ...]
    blind: int
    """The number of people's scores that were given before the judge's was seen."""
    given: int
    problems: tuple[str, ...]
    among: AmongJudges | None
    """How far several judges agree with each other; None where no task has two."""

    @property
    def notes(self) -> list[str]:
        """The caveats on the numbers."""
        notes = []
        if self.given > self.blind:
            scores = plural(self.given, "score was", "scores were")
            notes.append(
                f"{self.given - self.blind} of {scores} given with the judge's in view, which"
                " influences people; --blind uses only blind ones"
            )
        if 0 < len(self.items) < 30:
            notes.append(f"{plural(len(self.items), 'task')}: too few for reliable numbers")
        return [*notes, *self.problems]


def rated_tasks(
    runs: Iterable[RecordedRun], *, blind: bool = False, every: bool = False
) -> tuple[list[RatedTask], list[str]]:
    """Return the tasks of these runs that people scored, and the damaged lines of the files.

    With `blind`, only scores given before the judge's was seen count. With `every`, tasks without
    people's scores are included.
    """
    rated: list[RatedTask] = []
    problems: list[str] = []
    for run in runs:
        problems += map(str, run.problems)
        rated += _run_tasks(run, blind=blind, every=every)
    return rated, problems


def agreement_report(
    every: Sequence[RatedTask], problems: Sequence[str] = (), *, judge: str = ""
) -> AgreementReport:
    """Compare all raters over these tasks. `judge` keeps judges with this in their name."""
    items = [item for item in every if item.people]
    judges = set(chain.from_iterable(item.judges for item in items))
    names = sorted(name for name in judges if judge.lower() in name.judge.lower())
    people = sorted(set(chain.from_iterable(item.people for item in items)))
    given = list(chain.from_iterable(item.people.values() for item in items))
    by_person = {
        name: {
            (item.run_id, item.key, item.task): item.people[name].after or 0.0
            for item in items
            if name in item.people
        }
        for name in people
    }
    return AgreementReport(
        judges=tuple(_judge_pair(name, items) for name in names),
        people=tuple(
            pair for a, b in combinations(people, 2) if (pair := _people_pair(a, b, items))
        ),
        people_alpha=krippendorff_alpha(rated_units(by_person)) if len(people) > 1 else None,
        items=tuple(items),
        reviewers=tuple(people),
        blind=sum(entry.blind for entry in given),
        given=len(given),
        problems=tuple(problems),
        among=_among(every),
    )


def _among(items: Sequence[RatedTask]) -> AmongJudges | None:
    """Compare the judges of the same tasks with each other; the members of a panel, but not the
    panel itself.
    """
    scored = []
    for item in items:
        members = {
            name: score for name, score in item.judges.items() if name.judge not in item.panels
        }
        if len(members) > 1:
            scored.append((item, members))
    if not scored:
        return None
    names = dict.fromkeys(chain.from_iterable(members for _, members in scored))
    ratings = {
        f"{name.judge} {name.prompt}": {
            (item.run_id, item.key, item.task): members[name]
            for item, members in scored
            if name in members
        }
        for name in names
    }
    deviations = {
        name: difference(
            [
                Sample(
                    item.job,
                    members[name] - average(s for other, s in members.items() if other != name),
                    case=item.cluster,
                )
                for item, members in scored
                if name in members
            ]
        )
        for name in names
    }
    return AmongJudges(len(scored), krippendorff_alpha(rated_units(ratings)), deviations)


@dataclass(frozen=True, slots=True)
class AgreementChange:
    """The recorded verdicts and the latest ones against the people, over tasks that have both.

    `closer` is the paired difference of the absolute errors, new − old: below 0, the new ones are
    nearer.
    """

    before: Agreement
    after: Agreement
    closer: Difference


def change(items: Sequence[RatedTask]) -> AgreementChange | None:
    """Return whether judging again agrees better with the people; None when no such task was judged
    again.
    """
    rated = [
        (item, item.recorded, item.latest)
        for item in items
        if item.recorded is not None and item.latest is not None
    ]
    if not rated:
        return None
    both, old, new = zip(*rated, strict=True)
    people = [(item.people_score, item.passed(item.people_score)) for item in both]
    errors = [
        (
            Sample(i.job, abs(a - i.people_score), case=i.cluster),
            Sample(i.job, abs(b - i.people_score), case=i.cluster),
        )
        for i, a, b in zip(both, old, new, strict=True)
    ]
    return AgreementChange(
        before=agreement([(s, i.passed(s)) for s, i in zip(old, both, strict=True)], people),
        after=agreement([(s, i.passed(s)) for s, i in zip(new, both, strict=True)], people),
        closer=difference(differences(errors, independent=False), higher_is_better=False),
    )


def _run_tasks(run: RecordedRun, *, blind: bool, every: bool) -> list[RatedTask]:
    given: dict[reviews.TaskKey, Mapping[str, Reviewed]] = dict(run.people.tasks)
    verdicts = {talk.key: _verdicts(run, talk) for talk in run.talks}
    if every:
        for key, many in verdicts.items():
            # Of all verdicts, since the first judge may have failed.
            for judged in chain.from_iterable(verdict.tasks for verdict, _ in many):
                given.setdefault(reviews.TaskKey(key, judged.task), {})
    rated = []
    for (key, task), opinions in sorted(given.items()):
        given_blind = run.people.blind.get(reviews.TaskKey(key, task), {})
        people = given_blind if blind else opinions
        talk = run.conversation(*key)
        if talk is None or not (people or every):
            continue
        scores = [(verdict, _scores(verdict, judge, task)) for verdict, judge in verdicts[key]]
        own = [
            next(iter(each.items())) for verdict, each in scores if verdict.author is None and each
        ]
        later = [
            next(iter(each.items()))
            for verdict, each in scores
            if verdict.author is not None and each
        ]
        judges: dict[JudgeId, float] = {}
        for _, each in scores:
            judges |= each
        judged_at: dict[JudgeId, int] = {}
        for verdict, each in reversed(scores):
            judged_at |= dict.fromkeys(each, 0 if verdict.author is None else verdict.seq)
        case, case_trial = "", 1
        if talk.case is not None:
            case, case_trial = talk.case.name, talk.case.trial
        rated.append(
            RatedTask(
                run_id=run.path.stem,
                job=clean_line(run.started.job_name, 80),
                condition=key.condition,
                trial=key.trial,
                task=task,
                title=clean_line(run.task_titles(trial=key.trial).get(task, "")),
                pass_above=reviews.pass_above(run.state, key.trial, task),
                people=people,
                blind=given_blind,
                judges=judges,
                recorded=next((score for _, score in own), None),
                latest=next((score for _, score in reversed(later)), None),
                counts=next((name for name, _ in [*reversed(later), *own]), None),
                judged_at=judged_at,
                panels=frozenset(
                    next(iter(scored)).judge for _, scored in scores if len(scored) > 1
                ),
                case=case,
                case_trial=case_trial,
            )
        )
    return rated


def _verdicts(run: RecordedRun, talk: ConversationState) -> list[tuple[TranscriptScored, JudgeId]]:
    """Return every verdict on a conversation with its judge, the recorded one first.

    They are without tasks about which the judge was asked something else than what counts: neither
    people nor other judges were asked the same.
    """
    if again := run.judged_again.get(talk.key):
        found = [(row.comparable, row.prompts) for row in again.rows]
    elif talk.verdict:
        found = [(talk.verdict, recorded_prompts(run.state, talk.verdict))]
    else:
        found = []
    return [
        (
            verdict,
            JudgeId(
                clean_line(verdict.judge, 100),
                ", ".join(f"{clean_line(n, 60)} {h[:8]}" for n, h in sorted(prompts.items()))
                or NO_PROMPT,
            ),
        )
        for verdict, prompts in found
    ]


def _scores(verdict: TranscriptScored, judge: JudgeId, task: int) -> dict[JudgeId, float]:
    """Return the judge's score of a task, first as a whole, then each member's of a panel; none of
    a task that the user never asked for.
    """
    scored = next((one.score for one in verdict.tasks if one.task == task and one.measured), None)
    if verdict.error or scored is None:
        return {}
    scores = {judge: scored}
    members: dict[str, list[float]] = {}
    for one in verdict.verdicts:
        for given in one.get("tasks") or ():
            if not isinstance(given, dict) or given.get("task") != task:
                continue
            value = given.get("score")
            if isinstance(value, int | float) and 0 <= value <= 1:
                members.setdefault(clean_line(str(one.get("judge")), 100), []).append(float(value))
    if len(members) > 1:
        scores |= {JudgeId(name, judge.prompt): median(values) for name, values in members.items()}
    return scores


def _judge_pair(name: JudgeId, items: Sequence[RatedTask]) -> RatedPair:
    scored = [(item, item.judges[name], item.people_score) for item in items if name in item.judges]
    units = [
        RatedTwice(item.cluster, judge, item.passed(judge), people, item.passed(people))
        for item, judge, people in scored
    ]
    return replace(_pair(name.judge, "people", name.prompt, scored), detail=judge_agreement(units))


def _people_pair(a: str, b: str, items: Sequence[RatedTask]) -> RatedPair | None:
    both = [
        (item, item.people[a].after or 0.0, item.people[b].after or 0.0)
        for item in items
        if a in item.people and b in item.people
    ]
    if both:
        return _pair(a, b, "", both)
    return None


def _pair(
    a: str, b: str, prompt: str, scored: Sequence[tuple[RatedTask, float, float]]
) -> RatedPair:
    figures = agreement(
        [(x, item.passed(x)) for item, x, _ in scored],
        [(y, item.passed(y)) for item, _, y in scored],
    )
    gaps = sorted(
        (RatingGap(item, x, y) for item, x, y in scored if abs(x - y) > 1e-9),
        key=lambda gap: (-abs(gap.difference), gap.item.run_id, gap.item.key, gap.item.task),
    )
    return RatedPair(a, b, prompt, figures, tuple(gaps))


COLUMNS = ("people_score", "label", "score", "passed", "people")
"""Default names of the label column."""
_NUMBER = re.compile(r"[0-9]{1,9}")
_RIGHT: tuple[tuple[str, str, Callable[[str], object]], ...] = (
    ("case_trial", "a whole number", _NUMBER.fullmatch),
    ("trial", "a whole number", _NUMBER.fullmatch),
    ("condition", "a name such as withheld or supplied", is_name),
)
"""The columns that identify a conversation: what is right in them, and how to tell."""


def label_tasks(items: Sequence[RatedTask], file: Path, column: str = "") -> list[RatedTask]:
    """Return the tasks with the labels of a table instead of reviews.

    A row identifies its conversation by `case` (and `case_trial`, default 1) or by `trial` (and
    `condition`), its run by `run_id` and its task by `task`, a number or title, if there are
    several. A label is a number from 0 to 1, or a word such as `true` or `failed`; rows with an
    empty label are left out.

    Raises:
        InputError: the table cannot be read, lacks a column, or a row fits no task or several.
    """
    try:
        with file.open(encoding="utf-8-sig", newline="") as opened:
            reader = csv.DictReader(opened)
            rows = [(reader.line_num, row) for row in reader]
    except (OSError, UnicodeDecodeError, csv.Error) as problem:
        raise InputError(f"{file}: cannot be read: {problem}") from None
    heading = list(rows[0][1]) if rows else []
    wanted = column or next((name for name in COLUMNS if name in heading), "")
    if wanted not in heading:
        missing = f"a column of labels ({', '.join(COLUMNS)}; --column names another)"
        if wanted:
            missing = f"column {wanted!r}"
        raise InputError(f"{file}: {missing} is missing")
    if not {"case", "trial"} & set(heading):
        raise InputError(
            f"{file}: a column `case` or `trial` is required, to identify the conversation"
        )
    reviews = {place: dict[str, Reviewed]() for place in range(len(items))}
    for number, row in rows:
        if not (row.get(wanted) or "").strip():
            continue
        _check(row, file, number)
        fitting = [place for place, item in enumerate(items) if _fits(item, row)]
        if len(fitting) != 1:
            what = "no judged task fits"
            if fitting:
                what = f"{len(fitting)} judged tasks fit; name run_id, condition or task"
            raise InputError(f"{file}, line {number}: {what}")
        author = clean_line(row.get("reviewer") or wanted, 80)
        value = _value(row[wanted], file, number, wanted)
        reviews[fitting[0]][author] = _review(items[fitting[0]], author, value)
    return [
        replace(item, people=reviews[place], blind=reviews[place])
        for place, item in enumerate(items)
    ]


def _check(row: Mapping[str, str | None], file: Path, number: int) -> None:
    for column, right, fits in _RIGHT:
        cell = (row.get(column) or "").strip()
        if cell and not fits(cell):
            raise InputError(
                f"{file}, line {number}: {column} is {clean_line(cell, 40)!r}, not {right}"
            )


def _fits(item: RatedTask, row: Mapping[str, str | None]) -> bool:
    def cell(name: str) -> str:
        return (row.get(name) or "").strip()

    if cell("case"):
        if cell("case") != item.case or int(cell("case_trial") or 1) != item.case_trial:
            return False
    elif int(cell("trial") or 0) != item.trial:
        return False
    return (
        (not cell("run_id") or cell("run_id") == item.run_id)
        and (not cell("condition") or cell("condition") == item.condition)
        and (not cell("task") or cell("task") in (str(item.task), item.title))
    )


def _value(text: str, file: Path, number: int, column: str) -> float:
    word = text.strip().lower()
    try:
        value = LABEL_WORDS[word] if word in LABEL_WORDS else float(word)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 1:
        raise InputError(
            f"{file}, line {number}: {column} is {clean_line(text, 40)!r}, not a number from 0 to 1"
        )
    return value


def _review(item: RatedTask, author: str, value: float) -> Reviewed:
    return Reviewed(
        run_id=item.run_id,
        seq=0,
        at=datetime.now(UTC),
        condition=item.condition,
        trial=item.trial,
        author=author,
        review="label",
        action="override",
        task=item.task,
        after=value,
        blind=True,
    )
