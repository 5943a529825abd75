"""JUnit XML: a suite for each job, condition and trial; a case for each assertion and task, latency
and score.

There is no official specification; this follows the form that Jenkins, GitLab and pytest's schema
accept. The file fails exactly if the gate fails: `failure` is below a threshold, `error` could not
be measured. Values without a threshold (such as a task that fails because facts are withheld) are
`skipped`, with their value. Readers identify cases by suite, class and name, and GitLab drops one
of two with the same name, so names are unique.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, count
from typing import Literal
from xml.etree import ElementTree as ET

from bioeval_tui.base.errors import ExitCode
from bioeval_tui.base.text import plural
from bioeval_tui.base.units import NO_REASON, latency, number
from bioeval_tui.record.condition_names import Condition, published_title
from bioeval_tui.record.events import RESULT_REASONS
from bioeval_tui.record.masking import masking
from bioeval_tui.record.score import NEVER_ANSWERED
from bioeval_tui.report.formats.registry import Asked
from bioeval_tui.report.gate import GateResult, GateRules, evaluate
from bioeval_tui.report.result import RunResult
from bioeval_tui.report.run import ConversationResult, reason_of, why_not_asked
from bioeval_tui.report.words import NOT_CHECKED, UNPROVED
from bioeval_tui.statistics.means import average

_FORBIDDEN = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_LONGEST = 4000

CaseStatus = Literal["passed", "failure", "error", "skipped"]


@dataclass(frozen=True, slots=True)
class JUnitCase:
    """One test case; `time_s` in seconds."""

    name: str
    status: CaseStatus
    words: str = ""
    time_s: float = 0.0
    gated: bool = False
    """Whether a threshold covers it; otherwise it is only reported."""
    note: str = ""
    """A note that is shown even if it passed."""


def junit_xml(runs: Sequence[RunResult], rules: GateRules) -> Iterator[str]:
    """Yield the document for these runs, in pieces.

    `rules` has the thresholds; one over several conversations (the mean, pass^k) is a case of an
    extra suite, `gate`. Without thresholds nothing fails.
    """
    checked = evaluate(runs, rules)
    totals = Counter(_counts(()))
    seconds = 0.0
    # The totals stand before the suites. As text, these take a tenth of the memory of elements.
    suites = []
    for run, parts in zip(runs, _names(runs), strict=True):
        for condition, trial in run.planned:
            suite, counts, took = _suite(run, parts, condition, trial, rules, checked)
            suites.append(_indented(suite))
            seconds += took
            totals.update(counts)
    gate = _gate_cases(checked)
    if gate:
        counts = _counts(gate)
        suite = ET.Element("testsuite", {"name": "gate", **_texts(counts), "time": "0.000"})
        suite.extend(_elements(gate, "gate"))
        suites.append(_indented(suite))
        totals.update(counts)
    # Jenkins' schema knows no total of skipped cases at the root; each suite has its own.
    totals.pop("skipped")
    named = {"name": "bioeval-tui", **_texts(totals), "time": f"{seconds:.3f}"}
    attributes = "".join(f' {name}="{value}"' for name, value in named.items())
    yield f'<?xml version="1.0" encoding="UTF-8"?>\n<testsuites{attributes}>\n'
    yield from suites
    yield "</testsuites>\n"


def _indented(suite: ET.Element) -> str:
    ET.indent(suite, level=1)
    suite.tail = "\n"
    return f"  {ET.tostring(suite, encoding='unicode')}"


def write_runs(runs: Sequence[RunResult], asked: Asked) -> Iterator[str]:
    """Yield the document without thresholds, as the table of formats requires."""
    return junit_xml(runs, GateRules())


def write_gate(runs: Sequence[RunResult], rules: GateRules, result: GateResult) -> Iterator[str]:
    """Yield the document with the gate's thresholds, with the signature of the table of
    formats.
    """
    return junit_xml(runs, rules)


def xml_text(text: str) -> str:
    """Return `text` without the characters that XML 1.0 forbids, at a length that readers can
    show.
    """
    return _FORBIDDEN.sub("", text)[:_LONGEST]


def _names(runs: Sequence[RunResult]) -> list[tuple[str, ...]]:
    """Return the name of each run: its job, its model if any, and its id if the names would be
    equal.
    """
    plain = [tuple(filter(None, (run.brief.job, run.started.model))) for run in runs]
    alike = Counter(plain)
    return [
        (*name, run.run_id) if alike[name] > 1 else name
        for run, name in zip(runs, plain, strict=True)
    ]


def _suite(
    run: RunResult,
    name: tuple[str, ...],
    condition: Condition,
    trial: int,
    rules: GateRules,
    checked: GateResult,
) -> tuple[ET.Element, dict[str, int], float]:
    talk = run.conversation(condition, trial)
    cases = [
        _following(checked, case) for case in _cases(run, talk, condition, trial, rules, checked)
    ]
    counts, took, begun, unproved = _counts(cases), 0.0, run.started_at, 0
    if talk:
        unproved, begun = talk.unproved, talk.started_at or run.started_at
        if talk.ended:
            took = talk.ended.duration_ms / 1000
    suite = ET.Element(
        "testsuite",
        {
            "name": _line(" · ".join((*name, published_title(condition), run.trial_words(trial)))),
            **_texts(counts),
            "time": f"{took:.3f}",
            "timestamp": begun.replace(microsecond=0).isoformat(),
        },
    )
    properties = ET.SubElement(suite, "properties")
    # A dashboard knows a suite by its name, so that one never changes with the job's own names.
    # Unproved verdicts quote words that are not in the transcript.
    own = {"condition": run.condition_title(condition), "unproved": str(unproved)}
    for key, value in {**_properties(run), **own}.items():
        ET.SubElement(properties, "property", {"name": key, "value": xml_text(value)})
    # GitLab shows the class as the suite; Jenkins uses the part before the last dot as the package.
    suite.extend(_elements(cases, ".".join((*name, condition, _part(run, trial)))))
    return suite, counts, took


def _part(run: RunResult, trial: int) -> str:
    """Return the trial as the last part of a class name, without a dot of its own."""
    case = run.case(trial)
    if case is None:
        return f"trial{trial}"
    return case.title.replace(".", "_")


def _counts(cases: Sequence[JUnitCase]) -> dict[str, int]:
    return {
        "tests": len(cases),
        "failures": sum(case.status == "failure" for case in cases),
        "errors": sum(case.status == "error" for case in cases),
        "skipped": sum(case.status == "skipped" for case in cases),
    }


def _texts(counts: dict[str, int]) -> dict[str, str]:
    return {name: str(number) for name, number in counts.items()}


def _following(checked: GateResult, case: JUnitCase) -> JUnitCase:
    """Return a case with the status that the gate gives it."""
    if case.status == "failure" and not case.gated:
        return replace(case, status="skipped", words=f"no threshold covers this: {case.words}")
    if case.status == "error" and checked.exit_code != ExitCode.NOT_MEASURED:
        return replace(
            case, status="skipped", words=f"not measured, as the gate allows: {case.words}"
        )
    return case


def _gate_cases(checked: GateResult) -> list[JUnitCase]:
    """Return the checks that no single conversation's suite can show."""
    statuses: dict[str, CaseStatus] = {
        "passed": "passed",
        "failed": "failure",
        "not_measured": "error",
    }
    cases = []
    for check in checked.checks:
        if check.bar is not None and (check.condition is None or check.rule != "score"):
            where = check.job
            if check.model:
                where += f" · {check.model}"
            if check.condition:
                where += f", {published_title(check.condition)}"
            least = "at most" if check.unit else "at least"
            name = f"{where}: {check.rule} {least} {check.bar_words}"
            cases.append(
                JUnitCase(name, statuses[check.status], f"{check.value_words}; {check.words}")
            )
    return cases


def _properties(run: RunResult) -> dict[str, str]:
    started = run.started
    return {
        "run_id": started.run_id,
        "agent": started.agent,
        "evaluator": run.brief.evaluator,
        "judge": run.brief.judge,
        "rehearsal": str(started.rehearsal).lower(),
        "seed": str(started.seed),
        **({} if masking() else {"job_sha256": started.job_sha256}),
        "program_version": started.program_version,
    }


def _line(text: str) -> str:
    return " ".join(xml_text(text).split())


def _elements(cases: Sequence[JUnitCase], classname: str) -> Iterator[ET.Element]:
    """Yield the elements of a suite's cases; repeated names are numbered."""
    taken: set[str] = set()
    for case in cases:
        plain = _line(case.name)
        numbered = (f"{plain} ({number})" for number in count(2))
        name = next(name for name in chain((plain,), numbered) if name not in taken)
        taken.add(name)
        yield _case(replace(case, name=name), classname)


def _case(case: JUnitCase, classname: str) -> ET.Element:
    attributes = {"name": case.name, "classname": _line(classname), "time": f"{case.time_s:.3f}"}
    element = ET.Element("testcase", attributes)
    if case.status != "passed":
        # GitLab shows the text and Jenkins the message; an element without text is a table of its
        # attributes to GitLab.
        words = xml_text(case.words).strip() or NO_REASON
        why = {"message": _line(words)}
        if case.status != "skipped":
            why["type"] = case.status
        ET.SubElement(element, case.status, why).text = words
    if case.note:
        ET.SubElement(element, "system-out").text = xml_text(case.note)
    return element


def _cases(
    run: RunResult,
    talk: ConversationResult | None,
    condition: Condition,
    trial: int,
    rules: GateRules,
    checked: GateResult,
) -> list[JUnitCase]:
    missing = _not_executed(talk)
    scored = talk is not None and talk.score is not None
    cases = [
        replace(
            _assertion_case(f"assertion: {title}", talk, index, missing),
            gated=rules.on_assertion and scored,
        )
        for index, (title, _) in run.assertion_titles(condition, trial).items()
    ]
    cases += [
        _task_case(f"task: {title}", talk, number, missing)
        for number, title in run.task_titles(condition, trial).items()
    ]
    cases.append(_latency_case(run, talk, missing))
    below = any(
        (check.job, check.model, check.rule, check.condition, check.status)
        == (run.brief.job, run.started.model, "score", condition, "failed")
        for check in checked.checks
    )
    score = _score_case(run, talk, missing, rules.under.get(condition))
    cases.append(replace(score, gated=below))
    return cases


def _not_executed(talk: ConversationResult | None) -> JUnitCase | None:
    """Return how every case of a conversation without a result ends; None when there is a
    result.
    """
    if talk is None:
        return JUnitCase("", "skipped", "the conversation was not run")
    why, detail = talk.excluded, talk.reason
    if why in ("cancelled", "not finished"):
        words = ": ".join(filter(None, (f"the conversation was {why}", detail)))
        return JUnitCase("", "skipped", words)
    if talk.ended is not None and talk.ended.reason not in RESULT_REASONS:
        return JUnitCase("", "error", f"no result, fault {why}: {detail}")
    if talk.is_scored and talk.score is None and not talk.answered:
        # the agent was never reached: nothing could be checked
        return JUnitCase("", "error", detail)
    return None


def _assertion_case(
    name: str, talk: ConversationResult | None, index: int, missing: JUnitCase | None
) -> JUnitCase:
    check = talk.final_checks.get(index) if talk else None
    if check is None:
        return replace(missing or JUnitCase("", "skipped", "not checked"), name=name)
    if check.status == "passed":
        return JUnitCase(name, "passed")
    if check.status == "not_measured":
        return JUnitCase(name, "error", check.error or NOT_CHECKED)
    seen = f"observed {check.observed!r}, expected {check.expected!r}"
    return JUnitCase(name, "failure", check.reason or seen)


def _task_case(
    name: str, talk: ConversationResult | None, number: int, missing: JUnitCase | None
) -> JUnitCase:
    task = talk.task(number) if talk else None
    if task is not None:
        if not task.measured:
            return JUnitCase(name, "error", why_not_asked(task))
        words = f"score {task.words}" if task.points is None else f"{task.words} points"
        if reason_of(task):
            words += f": {reason_of(task)}"
        note = ""
        if task.unproved:
            words = note = f"unproved, {UNPROVED}; {words}"
        return JUnitCase(name, _status(task.passed), words, note=note)
    error = talk.judge_error if talk else None
    return replace(missing or JUnitCase("", "error", error or "not judged"), name=name)


def _latency_case(
    run: RunResult, talk: ConversationResult | None, missing: JUnitCase | None
) -> JUnitCase:
    budget = run.target_ms
    name = f"latency: {budget / 1000:g} s on average"
    if talk is None or not talk.latencies_ms:
        return replace(missing or JUnitCase("", "failure", NEVER_ANSWERED), name=name)
    average_ms = average(talk.latencies_ms)
    words = f"average {latency(average_ms)} over {plural(len(talk.latencies_ms), 'answer')}"
    passed = not average_ms > budget > 0
    return JUnitCase(name, _status(passed), words, average_ms / 1000)


def _status(passed: bool) -> CaseStatus:
    return "passed" if passed else "failure"


def _score_case(
    run: RunResult, talk: ConversationResult | None, missing: JUnitCase | None, bar: float | None
) -> JUnitCase:
    """Return the case of the score: its text is the run's answer, of which the message is one
    line.
    """
    name, passed = "score", True
    if bar is not None:
        name = f"score at least {bar:g}"
        passed = talk is None or talk.score is None or talk.score >= bar
    if talk is None or talk.score is None:
        why = talk.reason if talk and talk.is_scored else "not scored"
        return replace(missing or JUnitCase("", "error", why), name=name)
    told = (f"{label} {text}" for label, text in run.answer.lines)
    words = "\n".join((f"score {number(talk.score)}", *told))
    return JUnitCase(name, _status(passed), words)
