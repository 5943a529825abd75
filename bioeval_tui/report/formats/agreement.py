"""How far a judge can be trusted, in the terminal, as JSON, and as CSV: agreement with people, and
the results of `judge-test`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Annotated, Any, Literal

from rich.console import Console
from rich.table import Table
from rich.text import Text
from typing_extensions import TypedDict

from bioeval_tui.base.files import csv_text
from bioeval_tui.base.printed import Fields
from bioeval_tui.base.text import clean_line, plural, shorten, spreadsheet_cell
from bioeval_tui.base.units import number, share, signed
from bioeval_tui.record.events import Reviewed
from bioeval_tui.report.agreement import (
    AgreementChange,
    AgreementReport,
    AmongJudges,
    RatedPair,
    RatedTask,
    TaskOfTalk,
)
from bioeval_tui.report.correction import Correction
from bioeval_tui.report.findings import JudgeFault
from bioeval_tui.report.formats.console import print_lines, text_table
from bioeval_tui.report.judge_checks import Reaction, SentinelCheck, Stability, sentinel_finding
from bioeval_tui.report.sentences import difference_words, p_words, sentence
from bioeval_tui.statistics.intervals import Interval, ends
from bioeval_tui.statistics.judges import Agreement, CorrectedMean, Figure, JudgeAgreement

SHOWN = 12
"""Maximum number of disagreements of a pair that are listed in the terminal; CSV and JSON have all.
"""
COLUMNS = (
    "run_id", "job", "condition", "trial", "task", "title", "judge", "prompt", "judge_score",
    "people_score",
    "difference", "judge_passed", "people_passed", "reviewers", "scores", "blind", "why",
)  # fmt: skip


def print_agreement(
    report: AgreementReport, console: Console, corrected: Sequence[Correction]
) -> None:
    """Print a row for each judge and each two people, then where they differ most."""
    tasks, people = plural(len(report.items), "task"), plural(len(report.reviewers), "reviewer")
    console.print(Text(f"{tasks} scored by {people}", style="bold"))
    print_lines((f"note: {note}" for note in report.notes), console)
    pairs = [*report.judges, *report.people]
    if not pairs:
        console.print(Text("nothing to compare: only one person, and no judge, scored these tasks"))
        return
    numbers = ["tasks", "kappa", "weighted", "alpha", "mean |difference|", "bias"]
    table = text_table(["against people", "prompt"], numbers)
    for pair in pairs:
        name = pair.a if pair in report.judges else f"{pair.a} and {pair.b}"
        table.add_row(
            Text(shorten(name, 50)),
            Text(shorten(pair.prompt, 40)),
            *map(Text, _cells(pair.agreement)),
        )
    if report.people_alpha is not None and len(report.reviewers) > 2:
        table.add_row(Text("all people"), "", "", "", "", Text(number(report.people_alpha)), "", "")
    console.print(table)
    for pair in report.judges:
        if pair.detail is not None:
            _print_detail(pair, pair.detail, console)
            for each in corrected:
                if each.judge == (pair.a, pair.prompt) and (each.found or each.what == "score"):
                    console.print(Text(f"  {each.words}"), soft_wrap=True)
                    if each.worth:
                        console.print(Text(f"  {each.worth}"), soft_wrap=True)
    if report.among is not None:
        _print_among(report.among, console)
    for pair in pairs:
        _print_gaps(pair, console)


def _clusters_words(count: int) -> str:
    return plural(count, "conversation or case", "conversations or cases")


def _print_detail(pair: RatedPair, detail: JudgeAgreement, console: Console) -> None:
    """Print a judge's statistics with their intervals, and the confusion table."""
    judge = shorten(pair.a, 60)
    if pair.prompt:
        judge += shorten(f", {pair.prompt}", 40)
    console.print(Text(f"\n{judge}: against people", style="bold"))
    figures = (
        ("sensitivity", detail.sensitivity),
        ("specificity", detail.specificity),
        ("kappa", detail.kappa),
        ("weighted kappa", detail.kappa_quadratic),
        ("alpha", detail.alpha),
    )
    shown = ", ".join(f"{name} {figure_words(figure)}" for name, figure in figures)
    console.print(
        Text(f"  {shown} ({_clusters_words(detail.clusters)})"),
        soft_wrap=True,
    )
    confusion = detail.confusion
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("")
    table.add_column("people: passed", justify="right")
    table.add_column("failed", justify="right")
    table.add_row("  judge: passed", str(confusion.true_positives), str(confusion.false_positives))
    table.add_row("  failed", str(confusion.false_negatives), str(confusion.true_negatives))
    console.print(table)


def figure_words(figure: Figure) -> str:
    """Return `0.79 [0.61, 0.90]`; without an interval the value alone."""
    if interval := figure.interval:
        return f"{number(figure.value)} [{number(interval.low)}, {number(interval.high)}]"
    return number(figure.value)


def _print_among(among: AmongJudges, console: Console) -> None:
    console.print(
        Text(
            f"\nagreement between judges: alpha {number(among.alpha)} over"
            f" {plural(among.tasks, 'task')}",
            style="bold",
        )
    )
    for judge, deviation in among.deviations.items():
        meanings = {
            "better": "scores higher than the others",
            "worse": "scores lower than the others",
        }
        verdict = meanings.get(deviation.direction, "no significant deviation")
        mean = signed(deviation.mean)
        if interval := deviation.estimate.interval:
            mean += f" [{signed(interval.low)}, {signed(interval.high)}]"
        console.print(Text(f"  {shorten(judge.judge, 60)}: {mean}, {verdict}"), soft_wrap=True)


def change_words(change: AgreementChange) -> list[str]:
    """Return whether judging again agrees better with the people: that in a sentence, then the
    numbers before and after, and the change of the difference.
    """
    before, after = change.before, change.after
    verdict = {
        "better": "the new verdicts are closer to the people",
        "worse": "the new verdicts are further from the people",
        "same": "both differ from the people equally",
    }.get(change.closer.direction, "no significant difference yet")
    numbers = [
        ("mean |difference|", before.mean_absolute_difference, after.mean_absolute_difference),
        ("kappa", before.kappa, after.kappa),
        ("weighted kappa", before.weighted_kappa, after.weighted_kappa),
        ("alpha", before.alpha, after.alpha),
        ("bias", before.bias, after.bias),
    ]
    changes = ", ".join(f"{name} {number(old)} → {number(new)}" for name, old, new in numbers)
    return [
        f"against {plural(after.n, 'task')} that people scored: {verdict}",
        changes,
        f"change of the difference: {difference_words(change.closer)}",
    ]


class PrintedChange(TypedDict):
    """How judging again changed the agreement with people."""

    before: Annotated[dict[str, Any], Fields(Agreement)]
    after: Annotated[dict[str, Any], Fields(Agreement)]
    verdict: str
    words: str
    mean_change_of_difference: float | None


GAP = Fields(
    TaskOfTalk,
    called="PrintedGap",
    about="A task on which two raters differ.",
    condition=str,
    a=float,
    b=float,
    difference=float,
    passes_differ=bool,
)
PrintedGap = Annotated[dict[str, Any], GAP]


REVIEWER = Fields(
    Reviewed,
    "reviewer", "score", "blind", "action", "why",
    named={"score": "after"},
    called="PrintedReviewer",
    about="One person's score of a task.",
    reviewer=str,
    score=float | None,
    action=str,
)  # fmt: skip


class PrintedVerdict(TypedDict):
    """One judge's score of a task."""

    judge: str
    prompt: str
    score: float


ITEM = Fields(
    TaskOfTalk,
    called="PrintedItem",
    about="A task with everybody's scores.",
    condition=str,
    pass_above=float,
    people_score=float,
    people=list[Annotated[dict[str, Any], REVIEWER]],
    judges=list[PrintedVerdict],
)


class PrintedDeviation(TypedDict):
    """How far a judge is from the others."""

    judge: str
    prompt: str
    mean: float | None
    interval: list[float] | None


AMONG = Fields(
    AmongJudges,
    called="PrintedAmong",
    about="The agreement of judges with each other.",
    deviations=list[PrintedDeviation],
)


class PrintedRefusal(TypedDict):
    """Why what people would say cannot be estimated."""

    words: str
    refused: str | None


class PrintedPeople(TypedDict):
    """The agreement of people with each other."""

    alpha: float | None
    pairs: list[
        Annotated[dict[str, Any], Fields(Agreement, a=str, b=str, disagreements=list[PrintedGap])]
    ]


_Corrected = Fields(CorrectedMean, words=str, refused=str | None)
_Judge = Fields(
    Agreement,
    judge=str,
    prompt=str,
    against_people=Annotated[dict[str, Any], Fields(JudgeAgreement)] | None,
    corrected=dict[str, Annotated[dict[str, Any], _Corrected] | PrintedRefusal],
    disagreements=list[PrintedGap],
)


class PrintedAgreement(TypedDict):
    """The agreement of judges with people, as `runs agreement --json` prints it."""

    format: Literal["bioeval-tui agreement"]
    version: int
    tasks: int
    reviewers: list[str]
    scores_given: int
    scores_given_blind: int
    notes: Sequence[str]
    judges: list[Annotated[dict[str, Any], _Judge]]
    judges_among_themselves: Annotated[dict[str, Any], AMONG] | None
    people: PrintedPeople
    items: list[Annotated[dict[str, Any], ITEM]]


def change_dict(change: AgreementChange | None) -> PrintedChange | None:
    """Return the change as JSON; None without one."""
    if change is None:
        return None
    # The numbers in the other lines have their own keys.
    verdict_words, *_ = change_words(change)
    return {
        "before": asdict(change.before),
        "after": asdict(change.after),
        "verdict": change.closer.direction,
        "words": verdict_words,
        "mean_change_of_difference": change.closer.mean,
    }


def agreement_dict(report: AgreementReport, corrected: Sequence[Correction]) -> PrintedAgreement:
    """Return everything: each pair with every disagreement, and every task with all scores."""
    return {
        "format": "bioeval-tui agreement",
        "version": 1,
        "tasks": len(report.items),
        "reviewers": list(report.reviewers),
        "scores_given": report.given,
        "scores_given_blind": report.blind,
        "notes": report.notes,
        "judges": [
            {
                "judge": pair.a,
                "prompt": pair.prompt,
                **asdict(pair.agreement),
                "against_people": asdict(pair.detail) if pair.detail else None,
                "corrected": {
                    each.what: _correction(each)
                    for each in corrected
                    if each.judge == (pair.a, pair.prompt)
                },
                "disagreements": _gaps(pair),
            }
            for pair in report.judges
        ],
        "judges_among_themselves": _among(report.among) if report.among else None,
        "people": {
            "alpha": report.people_alpha,
            "pairs": [
                {"a": pair.a, "b": pair.b, **asdict(pair.agreement), "disagreements": _gaps(pair)}
                for pair in report.people
            ],
        },
        "items": [_item(item) for item in report.items],
    }


def _correction(made: Correction) -> dict[str, Any]:
    words: dict[str, Any] = {"words": made.words, "refused": made.refused or None}
    if made.found:
        return words | asdict(made.found)
    return words


def agreement_csv(report: AgreementReport) -> str:
    """Return one row for each task and judge, to calibrate the judge with.

    Text that a spreadsheet would read as a formula is prefixed with an apostrophe.
    """
    rows: list[Sequence[object]] = [COLUMNS]
    for item in report.items:
        for judge, score in item.judges.items():
            people, entries = item.people_score, item.people.values()
            row: dict[str, object] = {
                "run_id": item.run_id,
                "job": item.job,
                "condition": item.condition,
                "trial": item.trial,
                "task": item.task,
                "title": item.title,
                "judge": judge.judge,
                "prompt": judge.prompt,
                "judge_score": score,
                "people_score": people,
                "difference": round(score - people, 6),  # binary fractions leave a tiny rest
                "judge_passed": item.passed(score),
                "people_passed": item.passed(people),
                "reviewers": "; ".join(item.people),
                "scores": "; ".join(f"{entry.after:g}" for entry in entries),
                "blind": all(entry.blind for entry in entries),
                "why": "; ".join(entry.why for entry in entries if entry.why),
            }
            values = (row[name] for name in COLUMNS)
            rows.append(
                [spreadsheet_cell(value) if isinstance(value, str) else value for value in values]
            )
    return csv_text(rows, end="\r\n")  # the line ends of RFC 4180


def _among(among: AmongJudges) -> dict[str, Any]:
    deviations: list[PrintedDeviation] = [
        {
            "judge": judge.judge,
            "prompt": judge.prompt,
            "mean": deviation.mean,
            "interval": ends(deviation.estimate.interval),
        }
        for judge, deviation in among.deviations.items()
    ]
    return AMONG.of(among, deviations=deviations)


def _print_gaps(pair: RatedPair, console: Console) -> None:
    if not pair.gaps:
        return
    console.print(
        Text(
            f"\n{shorten(pair.a, 60)} and {shorten(pair.b, 60)} differ on {len(pair.gaps)}",
            style="bold",
        )
    )
    titles = shorten(pair.a, 16), shorten(pair.b, 16), "difference"
    table = text_table([], [*map(Text, titles)])
    table.add_column("passes")
    table.add_column("task", overflow="fold")
    table.add_column("run", overflow="fold")
    for gap in pair.gaps[:SHOWN]:
        where = f"{gap.item.run_id} {gap.item.condition} {gap.item.trial}"
        table.add_row(
            Text(number(gap.a)),
            Text(number(gap.b)),
            Text(signed(gap.difference)),
            Text("differ" if gap.passes_differ else ""),
            Text(f"{gap.item.task} {shorten(gap.item.title, 50)}"),
            Text(where),
        )
    console.print(table)
    if len(pair.gaps) > SHOWN:
        console.print(Text(f"and {len(pair.gaps) - SHOWN} more; --json or --csv has them all"))


def _cells(agreement: Agreement) -> Sequence[str]:
    values = (
        agreement.kappa,
        agreement.weighted_kappa,
        agreement.alpha,
        agreement.mean_absolute_difference,
    )
    bias = signed(agreement.bias)
    return (str(agreement.n), *map(number, values), bias)


def _gaps(pair: RatedPair) -> list[PrintedGap]:
    return [
        GAP.of(
            gap.item, a=gap.a, b=gap.b, difference=gap.difference, passes_differ=gap.passes_differ
        )
        for gap in pair.gaps
    ]


def _item(item: RatedTask) -> dict[str, Any]:
    people = [REVIEWER.of(entry, reviewer=name) for name, entry in item.people.items()]
    judges: list[PrintedVerdict] = [
        {"judge": judge.judge, "prompt": judge.prompt, "score": score}
        for judge, score in item.judges.items()
    ]
    return ITEM.of(item, people=people, judges=judges)


def print_stability(
    by_change: Mapping[str, Stability], about: Mapping[str, str], console: Console
) -> None:
    """Print a row for each change, and one sentence on the changes that affect the judge
    significantly.
    """
    if not by_change:
        console.print(Text("the judge gave no verdicts that can be compared"))
        return
    table = text_table(
        ["change"], ["verdicts", "flipped", "95 % interval", "shift", "95 % interval"]
    )
    table.add_column("")
    for name, one in by_change.items():
        table.add_row(
            Text(f"{name}: {about.get(name, '')}"),
            str(one.items),
            share(one.flip_rate, 1),
            _interval(one.flip_interval, as_share=True),
            signed(one.shift),
            _interval(one.shift_interval),
            Text("has an effect", style="bold") if one.accused else "",
        )
    console.print(table)
    accused = [name for name, one in by_change.items() if one.accused]
    clusters = max(one.clusters for one in by_change.values())
    if accused:
        verdict = f"changes with a significant effect on this judge: {', '.join(accused)}"
    else:
        verdict = "no change has a significant effect on this judge"
    held = _clusters_words(clusters)
    if clusters < 20:
        held += "; to find an effect, you need about twenty conversations"
    console.print(
        Text(f"{verdict} ({held})"),
        soft_wrap=True,
    )


class PrintedReworded(TypedDict):
    """A criterion, and what says the same in other words."""

    criterion: str
    reworded: str


def print_reworded(words: Sequence[PrintedReworded], console: Console) -> None:
    """Print each criterion with its other words, for people to see whether they mean the same."""
    for one in words:
        own, other = clean_line(one["criterion"]), clean_line(one["reworded"])
        console.print(Text(f"reworded: “{own}” as “{other}”"), soft_wrap=True)


def print_reactions(
    by_change: Mapping[str, Reaction], about: Mapping[str, str], console: Console
) -> None:
    """Print the score of each control beside the recorded one, and one sentence on whether the
    judge reacts.
    """
    if not by_change:
        return
    table = text_table(["control"], ["score", "recorded"])
    for name, one in by_change.items():
        table.add_row(
            Text(f"{name}: {about.get(name, '')}"), number(one.score), number(one.recorded)
        )
    console.print(table)
    console.print(Text(reaction_words(by_change)), soft_wrap=True)


SENTINELS: dict[JudgeFault, str] = {
    "lenient": "lenient: score of what is not met",
    "strict": "strict: what the score of what is met lacks",
    "drifting": "drifting: last minus first calls",
    "changed": "changed: now minus the earlier test",
    "inventing": "inventing: share with an invented quotation",
}


def print_sentinels(checks: Sequence[SentinelCheck], console: Console) -> None:
    """Print the size of each fault on conversations with known verdicts, and one sentence on those
    beyond chance.
    """
    if not checks:
        return
    table = text_table(["sentinels"], ["size", "p"])
    table.add_column("")
    for one in checks:
        size = share(one.size) if one.fault == "inventing" else signed(one.size)
        fault = Text("a fault", style="bold") if one.accused else ""
        table.add_row(Text(SENTINELS[one.fault]), size, p_words(one.p), fault)
    console.print(table)
    console.print(Text(sentence(sentinel_finding(checks))), soft_wrap=True)


def reaction_words(by_change: Mapping[str, Reaction]) -> str:
    """Return whether a judge reacts to what a conversation contains, as one sentence."""
    if not all(one.is_comparable for one in by_change.values()):
        return (
            "the recorded conversations have scores too low to tell whether the judge reacts;"
            " choose runs of a better agent"
        )
    if same := [name for name, one in by_change.items() if not one.reacts]:
        return (
            f"this judge does not react to the conversation: it scores {', '.join(same)} more than"
            " half as high as the recorded ones"
        )
    return "this judge scores the controls clearly lower than the recorded conversations"


def _interval(interval: Interval | None, *, as_share: bool = False) -> str:
    if interval is None:
        return ""
    if as_share:
        return f"{share(interval.low, 1)} to {share(interval.high, 1)}"
    return f"{signed(interval.low)} to {signed(interval.high)}"
