"""Numbers and states as text, the same in every format of a report."""

from __future__ import annotations

from collections.abc import Sequence

from bioeval_tui.base import units
from bioeval_tui.base.text import compact_json, plural, shorten
from bioeval_tui.base.units import DASH, count, dollars, number, number3
from bioeval_tui.grade.task_report import TaskReport
from bioeval_tui.grade.uncertainty import NO_MEDAL, percent
from bioeval_tui.record.condition_names import Condition
from bioeval_tui.record.events import AssertionChecked, TaskScored
from bioeval_tui.report.costs import PeerCost, Spent
from bioeval_tui.report.rows import AssertionRow
from bioeval_tui.report.sentences import (
    concurrency_words,
    counted_words,
    difference_words,
    spread_words,
)
from bioeval_tui.report.summary import Asking, ConditionSummary, Summary
from bioeval_tui.statistics.estimates import Estimate, LatencySummary, PassK
from bioeval_tui.statistics.intervals import LEVEL

SHOWN_K = 5
"""Of pass^k, so many are written, and the last."""
SIGNS = {"passed": "✓", "failed": "✗", "not_measured": "?"}
STATUS = {"passed": "passed", "failed": "failed", "not_measured": "could not be measured"}
NOT_CHECKED = "could not be checked"
"""Said of an assertion whose error was not recorded."""
NOT_HERE = "not for this condition"
"""Said of a task or assertion that counts in the other condition only."""
FINAL = {
    "passed": "✓ passed",
    "failed": "✗ failed",
    "not_measured": "? not measured",
    "elsewhere": f"– {NOT_HERE}",
    "": "– not checked",
}
TONE = "tone (not in the score)"
"""The label of the judge's rating of tone, which is not part of any score."""
UNPROVED = "the judge quotes words that are not in the transcript, or only the user's"
FROM_START = "held from the start"
"""Said of an assertion that passed before the greeting already."""

TONES = {
    "passed": "good",
    "failed": "bad",
    "not_measured": "warn",
    "elsewhere": "quiet",
    "": "quiet",
}
MEDALS = {"gold": "● Gold", "silver": "◐ Silver", "bronze": "◔ Bronze"}


def verdict(task: TaskScored) -> str:
    """Return whether a task was passed, its score, and whether that is unproved: `✓ 0.90 unproved`,
    `✗ 0 of +5`, `? unasked`.
    """
    words = f"{SIGNS[task.outcome]} {task.words}"
    if task.unproved:
        return f"{words} unproved"
    return words


def final(row: AssertionRow, condition: Condition) -> str:
    """Return an assertion's outcome in a condition: `✓ passed`, `✓ passed, held from the start`."""
    outcome = FINAL[row.outcome(condition)]
    if row.held_from_start(condition):
        return f"{outcome}, {FROM_START}"
    return outcome


def who(identity: str, role: str) -> str:
    """Return a peer with its role, without repeating either."""
    name = identity.removeprefix("rehearsal: ")
    if role in name:
        return name
    if name in ("human", "rules", "scripted"):
        return f"{name} {role}"
    return f"{role} {name}"


def value_text(value: object) -> str:
    """Return an observed or expected value on one line."""
    return shorten(value if isinstance(value, str) else compact_json(value), 160)


def dot_tone(status: str, checks: Sequence[AssertionChecked], place: int) -> str:
    """Return the tone of a dot: quiet if the assertion never passed, bad if it no longer passes."""
    if status == "failed":
        if any(check.status == "passed" for check in checks[:place]):
            return "bad"
        return "quiet"
    return TONES[status]


def pass_words(shares: Sequence[PassK]) -> str:
    """Return pass^1 … pass^N on one line, such as `k = 1: 0.67, 2: 0.33`, or with intervals `k = 1:
    0.420 [0.321, 0.526]`.
    """

    def one(each: PassK) -> str:
        interval = each.interval
        if interval is None:
            return f"{each.k}: {number(each.value)}"
        return (
            f"{each.k}: {number3(each.value)} [{number3(interval.low)}, {number3(interval.high)}]"
        )

    if not shares:
        return "no trials"
    listed = list(map(one, shares[:SHOWN_K]))
    if len(shares) > SHOWN_K:
        listed.append(f"… {one(shares[-1])}")
    return f"k = {', '.join(listed)}"


def token_words(spent: Spent) -> str:
    """Return the tokens of each peer's models, such as `agent unknown; evaluator 1,204 in, 88 out;
    judge at least 812 in, 40 out`.
    """
    by_peer = {
        each.peer: peer_tokens(each) or ("unknown" if each.dollars is None else "")
        for each in spent.peers
    }
    return "; ".join(f"{peer} {words}" for peer, words in by_peer.items() if words) or "none"


def peer_tokens(cost: PeerCost) -> str:
    """Return a peer's tokens, a lower bound if some answers have no count; empty if nothing is
    known.
    """
    if cost.tokens_in is None and cost.tokens_out is None:
        return ""
    least = "at least " if cost.uncounted else ""
    return f"{least}{count(cost.tokens_in)} in, {count(cost.tokens_out)} out"


def tokens(used: int | None, peer: PeerCost) -> str:
    """Return a count of tokens; a dash if no model was called, `unknown` if it reported none."""
    if used is None:
        if peer.dollars == 0:
            return DASH
        return count(used)
    if peer.uncounted:
        return f"at least {count(used)}"
    return count(used)


def peer_dollars(cost: PeerCost) -> str:
    """Return a peer's cost: `$0.0123`, `at least $0.0123`, or `unknown`."""
    if cost.is_partly_known:
        return f"at least {dollars(cost.known)}"
    return dollars(cost.dollars)


def cost_words(spent: Spent) -> str:
    """Return the known cost, and the peers of whose cost nothing is known: `at least $0.0123; the
    agent's is unknown`.
    """
    unknown = [peer for peer in spent.unknown if not peer.is_partly_known]
    least = "at least " if len(unknown) < len(spent.unknown) else ""
    parts = []
    if spent.known or not unknown:
        parts.append(f"{least}{dollars(spent.known)}")
    if unknown:
        whose = " and ".join(f"the {peer.peer}'s" for peer in unknown)
        verb = "is" if len(unknown) == 1 else "are"
        parts.append(f"{whose} {verb} unknown")
    return "; ".join(parts)


def cost_short(spent: Spent) -> str:
    """Return the known cost for a narrow cell: `$0.0123`, `at least $0.0123` or `unknown`."""
    if not spent.unknown:
        return dollars(spent.known)
    if spent.known:
        return f"at least {dollars(spent.known)}"
    return "unknown"


def why_unknown(spent: Spent) -> str:
    """Return why some of the cost is unknown, by peer; empty if all of it is known."""
    return "; ".join(f"{peer.peer}: {peer.why_unknown}" for peer in spent.unknown)


def medal_word(report: TaskReport) -> str:
    """Return the medal as a word and a sign."""
    if report.medal:
        return MEDALS[report.medal]
    if report.valid_submission:
        return "– No medal"
    return "! Invalid"


def standing(report: TaskReport) -> str:
    """Return a submission's place, such as `score 0.991, would place 3 of 1,043, percentile
    99.8`.
    """
    parts = []
    if report.score is not None:
        better = "lower is better" if report.is_lower_better else "higher is better"
        parts.append(f"{report.score_words}, {better}")
    if report.rows_words:
        parts.append(report.rows_words)
    if report.doubts:
        parts.append(f"in doubt: {report.doubt_words}")
    if report.place_words:
        parts.append(f"would place {report.place_words}")
    if report.leaderboard_percentile is not None:
        parts.append(f"percentile {units.number1(report.leaderboard_percentile)}")
    if report.beats_human is not None:
        above = "above" if report.beats_human else "not above"
        parts.append(f"{above} the human median")
    if report.needed_words:
        parts.append(report.needed_words)
    if report.looks_words:
        parts.append(report.looks_words)
    return "; ".join(parts) or "no score"


def sure_words(report: TaskReport) -> str:
    """Return whether other rows would give the same medal, with its chance, the interval and the
    places; empty if unknown.

    Such as `no: 70 % for gold on other rows; 95 % interval 0.9906 to 1.0000, place 1 to 4; more
    test rows would tell`.
    """
    uncertainty = report.uncertainty
    if uncertainty is None:
        return ""
    if uncertainty.low is None:
        return uncertainty.interval_words
    medal = report.medal or NO_MEDAL
    same = dict(uncertainty.medals).get(medal, 0.0)
    chance = percent(same)
    if chance == percent(LEVEL):
        chance = units.share_near(same, LEVEL)  # 94.8 % is not sure, 95 % would be
    found = (
        f"{chance} for {medal} on other rows; 95 % interval {uncertainty.interval_words},"
        f" place {uncertainty.place_words}"
    )
    if report.doubts:
        return f"no: {found}; more test rows would tell; in doubt: {report.doubt_words}"
    if same < LEVEL:
        return f"no: {found}; more test rows would tell"
    return f"yes: {found}"


def next_words(report: TaskReport) -> str:
    """Return what is missing: why a submission is invalid, or where the next medal begins."""
    if not report.valid_submission:
        return report.why_invalid
    return report.needed_words


def unproved_words(condition: ConditionSummary) -> str:
    """Return how many verdicts are unproved, and what that means; empty if none are."""
    if not condition.unproved:
        return ""
    return f"{condition.unproved} of {plural(condition.verdicts, 'verdict')} unproved: {UNPROVED}"


def summary_lines(summary: Summary) -> list[tuple[str, str]]:
    """Return lines as (label, value)."""
    lines: list[tuple[str, str]] = []
    for condition in summary.conditions:
        about = condition.title
        lines += [
            (about, _estimate(condition.score)),
            (about, f"pass^k over tasks {pass_words(condition.pass_k)}"),
            *(
                (about, line)
                for line in (
                    rounds_words(condition),
                    asking_words(condition.asking),
                    words_told(summary, condition),
                )
                if line
            ),
            *((about, line) for line in [unproved_words(condition)] if line),
            *tag_lines(condition),
            (about, f"{_times(summary, condition)}; {plural(condition.failures, 'failure')}"),
        ]
    lines += cost_lines(summary)
    if summary.shared is not None and summary.shared.is_nothing:
        lines.append(("difference", summary.uplift_words))
    elif summary.uplift is not None and summary.uplift.mean is not None:
        counted = summary.uplift.estimate.counted
        difference = summary.uplift_words
        if counted.excluded:
            difference += f"; {counted_words(counted)}"
        lines.append(("difference", difference))
        lines += [
            (f"difference of “{uplift.title}”", difference_words(uplift.difference))
            for uplift in summary.task_uplifts
            if uplift.difference.mean is not None
        ]
    return lines


def rounds_words(condition: ConditionSummary) -> str:
    """Return how many cases passed in their first, second, … trial; empty unless several had
    several, all as many.
    """
    tries = [list(one.passed.values()) for one in condition.tries]
    sizes = {len(passed) for passed in tries}
    if len(tries) < 2 or len(sizes) > 1 or sizes <= {0, 1}:
        return ""
    passed = ", ".join(count(sum(trials)) for trials in zip(*tries, strict=True))
    return f"passed in the trials, one after another, {passed} of {count(len(tries))}"


WORDS_TOLD = "words that the user told"


def words_told(summary: Summary, condition: ConditionSummary) -> str:
    """Return how many words the user told in a conversation; empty of runs without a placebo."""
    if summary.control is None or condition.words_told is None:
        return ""
    return f"{units.number1(condition.words_told)} {WORDS_TOLD} in a conversation"


def asking_words(asking: Asking | None) -> str:
    """Return how often the agent asked and how many facts it obtained; empty where that is not
    known.
    """
    if asking is None:
        return ""
    questions = "questions not known"
    if asking.questions is not None:
        each = number(asking.questions / asking.conversations)
        questions = f"{plural(asking.questions, 'question')} asked, {each} in each conversation"
    unread = f" ({count(asking.unread)} not known)" if asking.unread else ""
    return (
        f"{questions}; {count(asking.obtained)} of {plural(asking.facts, 'fact')} obtained by"
        f" asking{unread}"
    )


def tag_lines(condition: ConditionSummary) -> list[tuple[str, str]]:
    """Return a line for each tag of the rubric's items, as `summary_lines` does."""
    return [
        (condition.title, f"rubric, {tag.tag}: {_estimate(tag.score)}") for tag in condition.tags
    ]


def cost_lines(summary: Summary) -> list[tuple[str, str]]:
    """Return the tokens and the cost of all conversations, as `summary_lines` does."""
    return [("tokens", token_words(summary.spent)), ("cost", cost_words(summary.spent))]


def _times(summary: Summary, condition: ConditionSummary) -> str:
    if condition.latency.p50_ms is None and all(run.started.source for run in summary.runs):
        return "response times unknown"
    return latency_words(condition.latency)


def latency_words(found: LatencySummary) -> str:
    """Return response times on one line, with the concurrency under which they were measured."""
    times = (
        ("median", found.p50_ms), ("p90", found.p90_ms), ("p95", found.p95_ms),
        ("longest", found.max_ms),
        ("median first token", found.first_token_ms),
    )  # fmt: skip
    listed = ", ".join(f"{name} {units.latency(value)}" for name, value in times)
    return f"response time {listed} ({concurrency_words(found)})"


def _estimate(score: Estimate) -> str:
    notes = f"{spread_words(score)}; {counted_words(score.counted)}"
    if score.standard_error is not None:
        notes += f", standard error {units.number3(score.standard_error)}"
    if score.counted.excluded:
        notes += f"; {units.number(score.with_excluded_as_zero)} with the excluded as 0"
    return f"{units.number(score.mean)} ({notes})"
