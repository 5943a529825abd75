"""The gate: exit 1 below a threshold, 3 when too much could not be measured."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from bioeval_tui.base.errors import UsageError
from bioeval_tui.record.conditions import PUBLISHED
from bioeval_tui.record.events import Fault, Warned, write_event
from bioeval_tui.record.state import RunState
from bioeval_tui.report.formats.markdown import write_gate
from bioeval_tui.report.gate import GateResult, GateRules, evaluate
from bioeval_tui.report.result import load_run, result_of
from tests.command import call
from tests.documents import gate_of
from tests.unit.report.recorded import Recorded, Talk, scoring

AWAY = Talk(reason="evaluator_failed", fault="infrastructure", tasks=None)


def gate(runs: Recorded | Sequence[Recorded], *under: str, **options: Any) -> GateResult:
    runs = [runs] if isinstance(runs, Recorded) else runs
    return evaluate([run.loaded() for run in runs], GateRules.parse(under, **options))


@pytest.mark.parametrize(
    ("bar", "code"),
    [("0.7", 0), ("0.70", 0), ("0.71", 1), ("supplied:0.9,withheld:0.5", 0), ("supplied:0.95", 1),
        ("withheld:0.51", 1),
     ("mean:0.7", 0)],
)  # fmt: skip
def test_a_threshold_applies_to_the_mean_or_a_condition(bar: str, code: int) -> None:
    assert gate(Recorded([scoring(0.5)], [scoring(0.9)]), bar).exit_code == code


@pytest.mark.parametrize(
    ("bars", "heading"),
    [
        ([], "## No threshold was given"),
        (["0.1"], "## Passed"),
        (["0.9"], "## Below the threshold"),
    ],
)
def test_the_summary_of_ci_has_a_verdict_only_with_a_threshold(
    bars: list[str], heading: str
) -> None:
    run, rules = Recorded([scoring(0.2)], [scoring(0.4)]).loaded(), GateRules.parse(bars)
    assert write_gate([run], rules, evaluate([run], rules)).splitlines()[0] == heading


def test_without_a_threshold_nothing_is_measured_either_where_nothing_was() -> None:
    run = Recorded([AWAY], [AWAY]).loaded()
    summary = write_gate([run], GateRules(), evaluate([run], GateRules()))
    assert summary.startswith("## Could not be measured")


@pytest.mark.parametrize(
    ("bar", "code"),
    [
        ("task:0.5", 1), ("supplied.task:0.5", 0), ("withheld.task:0.4", 0), ("task1:1", 1),
        ("supplied.task1:1", 0),
        ("supplied.task 2:0.6", 0), ("supplied.task2:0.7", 1), ("assertion:1", 0),
        ("timing:0.9", 0), ("task3:0.1", 3),
        ("0.1,supplied.task2:0.7", 1),
    ],
)  # fmt: skip
def test_a_threshold_can_be_of_one_part_or_task_in_each_condition_or_in_one(
    bar: str, code: int
) -> None:
    talks = [Talk(tasks=(0.2, 0.6))], [Talk(tasks=(1.0, 0.6))]
    result = gate(Recorded(*talks), bar)
    assert result.exit_code == code, [check.to_dict() for check in result.checks]


@pytest.mark.parametrize(
    ("limit", "code"),
    [("p95:900ms", 0), ("p95:899.9ms", 1), ("p50:0.2s", 0), ("p50:199ms", 1),
        ("supplied.p50:0.1s", 0), ("withheld.p50:0.1 s", 1),
     ("p99:1s,p1:99ms", 1)],
)  # fmt: skip
def test_a_limit_can_be_of_a_percentile_of_the_response_times(limit: str, code: int) -> None:
    run = Recorded(
        [Talk(latencies_ms=(100.0, 200.0, 900.0), failures=1)], [Talk(latencies_ms=(100.0,))]
    )
    result = gate(run, fail_slower=[limit])
    assert result.exit_code == code, [check.to_dict() for check in result.checks]


def test_a_limit_that_is_not_met_is_said_in_one_sentence_and_its_unit_in_json(
    tmp_path: Path,
) -> None:
    slow = Recorded([Talk(latencies_ms=(100.0, 2130.0))])
    result = gate(slow, fail_slower=["p95:2s"])
    assert (
        call("runs", "gate", slow.write(tmp_path), "--fail-slower", "p95:2s").stdout
        == "✗ job · without the facts: p95 of response times 2.13 s, the limit is 2.00 s (of 2"
        " answers, so few that p95 is the longest)\n"
    )
    (check,) = result.to_dict()["checks"]
    assert (check["value"], check["bar"], check["unit"]) == (2130.0, 2000.0, "ms")


def test_a_slow_answer_is_slow_whoever_took_its_conversation_out_of_the_mean() -> None:
    """Else an agent that makes the user fail where it is slow would be a quick one."""
    slow = Talk(
        reason="evaluator_failed", fault="infrastructure", tasks=None, latencies_ms=(9000.0,)
    )
    run = Recorded([Talk(latencies_ms=(100.0,))] * 9 + [slow])
    assert gate(run, fail_slower=["p99:1s"]).exit_code == 1
    assert gate(run, fail_slower=["p90:1s"]).exit_code == 0
    assert gate(Recorded([slow]), fail_slower=["p99:1s"]).exit_code == 3


@pytest.mark.parametrize(
    ("rules", "code", "says"),
    [
        ({"fail_slower": ["p95:1s"]}, 3, "2.10 s with the time of failed requests"),
        ({"fail_slower": ["p95:3s"]}, 0, ""),
        ({"fail_slower": ["p95:50ms"]}, 1, ""),
        ({"fail_under": ["0.99"]}, 3, "0.93 with the excluded as 0 and the time of requests that"),
        ({"fail_under": ["withheld:0.99"]}, 3, "0.93 with the excluded as 0 and the time of"),
        ({"fail_under": ["timing:0.9"]}, 3, "0.48 with the excluded as 0 and the time of"),
        ({"fail_under": ["0.9", "task:1", "assertion:1", "task1:0.99"]}, 0, ""),
    ],
)
def test_an_agent_that_refuses_what_it_works_on_is_not_quick(
    rules: dict[str, Any], code: int, says: str
) -> None:
    """A 429 among other requests is no failure, and the answer after it has its own time."""
    talk = Talk(latencies_ms=(100.0, 100.0), refused_ms=2000.0)
    run = Recorded([talk] * 5, [talk] * 5, concurrency=4)
    result = gate(run, *rules.pop("fail_under", ()), **rules)
    assert result.exit_code == code, [check.words for check in result.checks]
    assert all(says in check.words for check in result.checks)
    assert run.loaded().answer.sure.endswith(
        "10 scores would be lower with the time of requests that were sent again"
    )
    at_once = Recorded([Talk(latencies_ms=(100.0,))] * 5, [Talk(latencies_ms=(100.0,))] * 5)
    assert "sent again" not in at_once.loaded().answer.sure


def test_an_answer_that_never_came_is_not_quick() -> None:
    lost = Talk(latencies_ms=(100.0,), reason="agent_failed", fault="agent", unanswered=True)
    for limit, code in (("p50:1s", 0), ("p90:1s", 3)):
        result = gate(Recorded([Talk(latencies_ms=(100.0,))] * 5 + [lost]), fail_slower=[limit])
        assert result.exit_code == code, [check.words for check in result.checks]
    assert "answers that never came would be the longest" in result.checks[0].words


@pytest.mark.parametrize(
    "limit", ["2s", "p95", "p95:2", "p0:1s", "p100:1s", "p95:-1s", "p95:0s", "p95:nan s", "max:1s",
        "p95:1e9s", "Other.p95:1s"]
)  # fmt: skip
def test_a_limit_that_makes_no_sense_is_refused(limit: str) -> None:
    with pytest.raises(UsageError, match="use a percentile from p1 to p99 and a time in s or ms"):
        GateRules.parse(fail_slower=[limit])


def test_a_limit_for_a_condition_that_is_not_run_is_refused() -> None:
    with pytest.raises(
        UsageError, match=r"--fail-slower supplied\.p95: the run has without the facts only"
    ):
        GateRules.parse(fail_slower=["supplied.p95:2s"]).require_conditions(
            ("withheld",), PUBLISHED
        )


def test_a_part_that_one_condition_lacks_is_no_threshold_there() -> None:
    run = Recorded([Talk(tasks=(1.0,), holds=())], [Talk(tasks=(1.0,), holds=(True,))])
    assert gate(run, "assertion:1").exit_code == 0
    assert gate(run, "withheld.assertion:1").exit_code == 3


@pytest.mark.parametrize("rule", ["withheld", "task", "task1", "timing", "assertion"])
def test_a_threshold_is_met_whatever_was_left_out_or_not_at_all(rule: str) -> None:
    """An agent whose words make the user or judge fail would else lose its bad conversations only:
    each counts as the worst that it can have been.
    """
    for lost in (
        Talk(tasks=(0.0,), holds=(None,)),  # the graph was away at the end
        Talk(reason="evaluator_failed", fault="evaluator", tasks=None),
        Talk(tasks=None),  # no verdict
    ):
        run = Recorded([Talk()] * 19 + [lost])
        assert gate(run, f"{rule}:0.95").exit_code == 0, (rule, lost)
        beyond = gate(run, f"{rule}:0.9500001")
        assert beyond.exit_code == 3, (rule, lost)
        assert "0.95 with the excluded as 0, so it may not be met" in beyond.checks[0].words
    assert gate(Recorded([Talk(tasks=(0.0,), holds=(None,))]), "task1:0").exit_code == 3


def test_pass_k_is_not_below_for_sure_where_trials_were_never_held() -> None:
    run = Recorded([Talk(), Talk(), Talk(tasks=(0.1,))], trials=4)
    result = gate(run, min_pass_k=["1:0.7"])
    assert [check.status for check in result.checks] == ["failed"]
    assert result.exit_code == 3, "a fourth trial that passes would make it 0.75"


def test_a_mean_of_both_conditions_is_met_whatever_was_left_out_of_either() -> None:
    lost = Talk(reason="evaluator_failed", fault="evaluator", tasks=None)
    run = Recorded([Talk()] * 9 + [lost], [Talk()] * 10)
    assert gate(run, "0.95").exit_code == 0
    beyond = gate(run, "0.96")
    assert (beyond.exit_code, beyond.checks[0].value) == (3, 1.0)
    assert beyond.checks[0].words.endswith("0.95 with the excluded as 0, so it may not be met")


def test_a_trial_that_was_left_out_counts_as_failed_for_pass_k() -> None:
    lost = Talk(reason="evaluator_failed", fault="evaluator", tasks=None)
    run = Recorded([Talk()] * 19 + [lost])
    assert gate(run, min_pass_k=["2:0.9"]).exit_code == 0
    beyond = gate(run, min_pass_k=["2:0.91"])
    assert (beyond.exit_code, beyond.checks[0].value) == (3, 1.0)
    assert beyond.checks[0].words == (
        "over 1 task; 0.90 with the excluded as 0, so it may not be met"
    )


def test_a_threshold_of_a_part_is_also_of_a_condition_in_which_nothing_has_run_yet() -> None:
    run = Recorded([Talk()], started={"conditions": ("withheld", "supplied")})
    result = gate(run, "assertion:1")
    assert [(check.condition, check.status) for check in result.checks] == [
        ("withheld", "passed"),
        ("supplied", "not_measured"),
    ]
    assert result.exit_code == 3


def test_a_gate_fails_if_any_job_is_below_its_threshold() -> None:
    runs = [Recorded([scoring(1.0)], job="good"), Recorded([scoring(0.4)], job="bad")]
    result = gate(runs, "withheld:0.6")
    assert result.exit_code == 1
    assert [(check.job, check.status) for check in result.checks] == [
        ("good", "passed"),
        ("bad", "failed"),
    ]


def test_up_to_ten_per_cent_may_be_excluded() -> None:
    assert gate(Recorded([scoring(0.9)] * 9 + [AWAY]), "withheld:0.8").exit_code == 0
    result = gate(Recorded([scoring(0.9)] * 8 + [AWAY]), "withheld:0.8")
    assert result.exit_code == 3
    assert result.notes == (
        (
            "more than 10 % of the conversations could not be used: 8 of 9 used (the measurement"
            " failed in 1)"
        ),
        "judge not examined: it was asked about no control",
    )


@pytest.mark.parametrize(
    ("under", "options", "noted"),
    [
        (("withheld:0.5",), {}, True), (("task:0.5",), {}, True), (("timing:0.5",), {}, True),
        ((), {"min_pass_k": ["1:0"]}, True), ((), {"fail_slower": ["p50:1s"]}, False),
        ((), {"fail_on_assertion": True}, False), ((), {}, False),
    ],
)  # fmt: skip
def test_a_judge_that_was_not_examined_is_noted_where_a_threshold_rests_on_scores(
    under: tuple[str, ...], options: dict[str, Any], noted: bool
) -> None:
    result = gate(Recorded([scoring(0.9)]), *under, **options)
    assert any("judge not examined" in note for note in result.notes) is noted


@pytest.mark.parametrize("fault", ["agent", "unclear", "program"])
def test_what_an_agent_may_have_caused_is_never_allowed_for_however_rare(fault: Fault) -> None:
    lost = Talk(reason="cancelled", fault=fault)
    result = gate(Recorded([scoring(0.9)] * 99 + [lost]), "withheld:0.8")
    assert result.exit_code == 3
    assert [check.status for check in result.checks] == ["not_measured"], (
        "it must not look as if it had passed"
    )
    assert "no gate passes over that" in result.notes[0]


def test_what_is_below_its_threshold_whatever_is_missing_is_below() -> None:
    """Else an agent that breaks one conversation would turn a failed gate into one that was not
    measured, over which many a pipeline goes on.
    """
    lost = Talk(reason="cancelled", fault="unclear")
    result = gate(Recorded([scoring(0.2)] * 9 + [lost]), "withheld:0.29")
    assert [check.status for check in result.checks] == ["failed"]
    assert result.exit_code == 1
    result = gate(Recorded([scoring(0.2)] * 9 + [lost]), "withheld:0.28")
    assert [check.status for check in result.checks] == ["failed"]
    assert result.exit_code == 3, "with a full score, it would reach 0.28"


def test_a_conversation_that_was_held_again_meets_no_threshold_and_is_a_result_without_one(
    tmp_path: Path,
) -> None:
    *before, scored, ended = Recorded([scoring(0.9)]).events()
    where = scored.model_dump(include={"run_id", "seq", "at", "condition", "trial", "attempt"})
    again = Warned(
        **where, code="held_again", message="the connection to the agent broke at message 3"
    )
    path = tmp_path / "20260102-030405-abcd.jsonl"
    path.write_bytes(b"".join(map(write_event, (*before, again, scored, ended))))
    assert evaluate([load_run(path)], GateRules()).exit_code == 0
    assert call("runs", "gate", path, "--fail-under", "withheld:0.5").return_value == 3


@pytest.mark.parametrize("fault", ["evaluator", "judge", "infrastructure"])
def test_what_models_graphs_and_this_machine_caused_is_allowed_for_if_rare(fault: Fault) -> None:
    lost = Talk(reason="evaluator_failed", fault=fault)
    assert gate(Recorded([scoring(0.9)] * 9 + [lost]), "withheld:0.8").exit_code == 0
    assert gate(Recorded([scoring(0.9)] * 8 + [lost]), "withheld:0.8").exit_code == 3


def test_calls_that_an_agent_does_not_report_are_not_allowed_for() -> None:
    silent = Talk(reason="cancelled", fault="none")
    assert gate(Recorded([scoring(0.9)] * 19 + [silent]), "withheld:0.8").exit_code == 0, (
        "somebody cancelled it"
    )
    unreported = Talk(holds=(None,), unmeasured="none")
    assert gate(Recorded([scoring(0.9)] * 19 + [unreported]), "withheld:0.8").exit_code == 3


def test_the_line_of_a_threshold_says_how_many_were_left_out_and_why() -> None:
    lost = Talk(reason="evaluator_failed", fault="judge", detail="gave no verdict within 60 s")
    result = gate(Recorded([scoring(0.9)] * 9 + [lost]), "withheld:0.8")
    assert result.checks[0].words == "9 of 10 used (the judge failed in 1: evaluator_failed)"


def test_planned_conversations_that_never_ran_count_as_excluded() -> None:
    result = gate(Recorded([scoring(0.9)], trials=4), "withheld:0.8")
    assert result.exit_code == 3
    assert dict(result.counted.reasons) == {"not run": 3}


@pytest.mark.parametrize(
    ("run", "bar", "options", "code"),
    [
        (Recorded([scoring(0.2)] * 9 + [AWAY]), 0.28, ("--min-pass-k", "11:0.1"), 3),
        (Recorded([scoring(0.2)] * 9 + [AWAY]), 0.29, ("--min-pass-k", "11:0.1"), 1),
        (Recorded([scoring(0.2)] * 3 + [AWAY]), 0.4, (), 3),
        (Recorded([scoring(0.2)] * 3 + [AWAY]), 0.41, (), 1),
        (Recorded([scoring(0.2)] * 3, trials=4), 0.4, (), 3),
        (Recorded([scoring(0.2)] * 3, trials=4), 0.41, (), 1),
    ],
)
def test_what_could_not_be_measured_is_said_before_what_it_could_have_raised(
    tmp_path: Path, run: Recorded, bar: float, options: tuple[str, ...], code: int
) -> None:
    """Exit 1 says that the agent is what has to be mended."""
    done = call("runs", "gate", run.write(tmp_path), "--fail-under", f"withheld:{bar}", *options)
    assert "✗" in done.stdout
    assert done.return_value == code


def test_an_unmeasured_run_exits_3_even_without_a_threshold() -> None:
    assert gate(Recorded([AWAY], [scoring(1.0)])).exit_code == 3
    assert gate([]).exit_code == 3
    assert gate(Recorded([scoring(0.1)])).exit_code == 0


def test_a_threshold_for_a_condition_that_was_not_run_cannot_be_checked() -> None:
    assert gate(Recorded([scoring(0.9)]), "supplied:0.8").exit_code == 3


def test_the_mean_of_one_condition_is_not_measured() -> None:
    result = gate(Recorded([scoring(0.9)]), "0.5")
    assert result.exit_code == 3
    assert result.checks[0].words == "needs both conditions; without the facts 1 of 1 used"


@pytest.mark.parametrize("bar", ["0.5", "mean:0.5", "withheld:0.5", "supplied:0.5,withheld:0.5"])
def test_thresholds_that_need_the_other_condition_are_refused(bar: str) -> None:
    rules = GateRules.parse([bar])
    rules.require_conditions(("supplied", "withheld"), PUBLISHED)
    with pytest.raises(
        UsageError, match=r"has with the facts only; give supplied:0\.5, or run both"
    ):
        rules.require_conditions(("supplied",), PUBLISHED)
    GateRules.parse(["supplied:0.5"]).require_conditions(("supplied",), PUBLISHED)


@pytest.mark.parametrize(
    ("rules", "words"),
    [
        ({"fail_under": ["suplied:0.5"]},
            "'suplied' is not a condition; the job has withheld and supplied"),
        ({"fail_under": ["suplied.task:0.5"]},
            "--fail-under suplied.task:0.5: the run has without the facts and with the facts only"),
        ({"fail_slower": ["suplied.p95:2s"]},
            "--fail-slower suplied.p95: the run has without the facts and with the facts only"),
    ],
)  # fmt: skip
def test_a_condition_that_the_job_does_not_have_is_refused(
    rules: dict[str, list[str]], words: str
) -> None:
    with pytest.raises(UsageError) as caught:
        GateRules.parse(**rules).require_conditions(("withheld", "supplied"), PUBLISHED)
    assert words in str(caught.value)


def test_a_task_of_a_threshold_may_be_the_jobs_last_one_and_none_after_it() -> None:
    for accepted in ("task1:0.5", "task2:0.5", "supplied.task2:0.5", "task:0.5"):
        GateRules.parse([accepted]).require_tasks(2, "job.yml")
    with pytest.raises(
        UsageError, match=r"--fail-under supplied\.task 3:0\.5: job\.yml has 2 tasks"
    ):
        GateRules.parse(["task2:0.5,supplied.task3:0.5"]).require_tasks(2, "job.yml")


def test_a_failed_assertion_fails_only_when_asked() -> None:
    run = Recorded([Talk(holds=(True, False))])
    assert gate(run).exit_code == 0
    result = gate(run, fail_on_assertion=True)
    assert result.exit_code == 1
    assert [check.rule for check in result.checks] == ["assertion “check 2”"]


def test_an_assertion_without_weight_that_could_not_be_checked_has_not_failed(
    tmp_path: Path,
) -> None:
    """The conversation has its score without it; a gate over assertions has no answer."""
    run = Recorded([Talk(holds=(None,), weight=0.0), Talk(holds=(True,), weight=0.0)])
    assert gate(run, "withheld:1").exit_code == 0
    done = call("runs", "gate", run.write(tmp_path), "--fail-on-assertion")
    assert done.return_value == 3
    assert done.stdout.startswith(
        "? job · without the facts: assertion “check 1” (trial 1: could not be checked)"
    )
    failed = Recorded([Talk(holds=(None,), weight=0.0), Talk(holds=(False,), weight=0.0)])
    assert [check.status for check in gate(failed, fail_on_assertion=True).checks] == [
        "not_measured",
        "failed",
    ]


@pytest.mark.parametrize(
    ("option", "code"), [("2:0.5", 0), ("2:0.51", 1), ("5:0.1", 3), ("1:0.7,2:0.5", 0)]
)
def test_a_pass_k_threshold_counts_trials_that_all_pass(option: str, code: int) -> None:
    run = Recorded([Talk(), Talk(), Talk(), Talk(tasks=(0.1,))])  # pass^2 = 3/6
    assert gate(run, min_pass_k=[option]).exit_code == code


def test_the_task_with_the_fewest_trials_says_how_many_there_are_for_pass_k() -> None:
    run = Recorded([Talk()] * 5, cases=2)  # three trials of one case, two of the other
    assert gate(run, min_pass_k=["2:1"]).checks[0].words == "over 2 tasks"
    assert gate(Recorded([Talk()] * 2), min_pass_k=["2:1"]).checks[0].words == "over 1 task"
    short = gate(run, min_pass_k=["3:0.1"])
    assert (short.exit_code, short.checks[0].words) == (3, "3 trials are needed, there are 2")


def test_a_trial_lost_to_infrastructure_does_not_count_for_pass_k() -> None:
    lost = Talk(holds=(None,))  # the graph was away at the end
    assert gate(Recorded([Talk(), lost, Talk()]), min_pass_k=["2:1.0"]).checks[0].value == 1.0
    assert gate(Recorded([Talk(tasks=(0.1,)), lost, lost]), min_pass_k=["2:0.1"]).exit_code == 3


def test_pass_k_of_a_job_without_tasks_cannot_be_checked() -> None:
    result = gate(Recorded([Talk(tasks=())]), min_pass_k=["1:0.5"])
    assert result.exit_code == 3
    assert "no tasks" in result.checks[0].words


@pytest.mark.parametrize(
    ("under", "pass_k", "words"),
    [
        (["abc"], [], "'abc' is not a number"),
        (["1.2"], [], "between 0 and 1"),
        (["nan"], [], "between 0 and 1"),
        (["Given:0.5"], [], "'Given' is not a condition"),
        ([], ["2"], "use K:SHARE"),
        ([], ["0:0.9"], "use K:SHARE"),
        ([], ["x:0.9"], "use K:SHARE"),
        ([], ["2:high"], "'high' is not a number"),
    ],
)
def test_an_invalid_gate_option_says_what_is_allowed(
    under: list[str], pass_k: list[str], words: str
) -> None:
    with pytest.raises(UsageError, match=words):
        GateRules.parse(under, min_pass_k=pass_k)


def test_a_run_that_never_started_is_not_in_the_result() -> None:
    assert result_of(RunState()) is None


def test_the_gates_result_can_be_json_or_markdown() -> None:
    run = Recorded([scoring(0.5)], [scoring(0.9)], job="job | <b>")
    result = gate(run, "supplied:0.95")
    data = result.to_dict()
    assert (data["exit_code"], data["used"], data["held"]) == (1, 2, 2)
    assert data["checks"][0]["value"] == pytest.approx(0.9)
    text = gate_of("md", [run.loaded()], None, result)
    assert text.startswith("## Below the threshold\n")
    assert "|  | job | condition | rule | threshold | value |  |" in text
    assert "| ✗ | job \\| &lt;b&gt; | with the facts | score | 0.95 | 0.90 | 1 of 1 used |" in text
    assert "| job \\| &lt;b&gt; | 0.50 | 0.90 | 0.70 |" in text


def junit(run: Recorded, **options: Any) -> ET.Element:
    return ET.fromstring(gate_of("junit", [run.loaded()], GateRules.parse(**options)))


def outcomes(suite: ET.Element) -> dict[str, str]:
    return {
        case.attrib["name"]: next((child.tag for child in case), "passed")
        for case in suite.iter("testcase")
    }


def test_junit_has_a_suite_for_each_conversation_and_a_test_case_for_each_check() -> None:
    root = junit(
        Recorded(
            [Talk(tasks=(0.3,), holds=(True, False), latencies_ms=(1500,))],
            [Talk(holds=(True, True))],
        ),
        fail_on_assertion=True,
    )
    names = [suite.attrib["name"] for suite in root]
    assert names == ["job · without the facts · trial 1", "job · with the facts · trial 1"]
    assert outcomes(root[0]) == {
        "assertion: check 1": "passed", "assertion: check 2": "failure", "task: task 1": "skipped",
        "latency: 1 s on average": "skipped", "score": "passed",
    }  # fmt: skip
    assert set(outcomes(root[1]).values()) == {"passed"}


WITHHELD_FAILS = Recorded([Talk(tasks=(0.0,), holds=(False,))], [Talk()])


@pytest.mark.parametrize(
    ("run", "options"),
    [
        (WITHHELD_FAILS, {}),
        (WITHHELD_FAILS, {"fail_under": ["supplied:0.8"]}),
        (WITHHELD_FAILS, {"fail_under": ["supplied:0.8,withheld:0.9"]}),
        (WITHHELD_FAILS, {"fail_under": ["0.99"]}),
        (WITHHELD_FAILS, {"fail_on_assertion": True}),
        (WITHHELD_FAILS, {"min_pass_k": ["1:0.9"]}),
        (
            Recorded([scoring(0.5), scoring(1.0)], [scoring(1.0)] * 2),
            {"fail_under": ["withheld:0.7"]},
        ),
        (Recorded([scoring(0.5)] * 20 + [AWAY], [scoring(0.5)] * 21), {"fail_under": ["0.4"]}),
        (Recorded([scoring(0.5), AWAY], [scoring(0.5)] * 2), {"fail_under": ["0.4"]}),
        (Recorded([AWAY], [scoring(0.5)]), {}),
        (Recorded([Talk(holds=(None,), weight=0.0)]), {"fail_on_assertion": True}),
        (Recorded([Talk(holds=(False,), weight=0.0)]), {"fail_on_assertion": True}),
    ],
)
def test_junit_fails_exactly_when_the_gate_fails(run: Recorded, options: dict[str, Any]) -> None:
    loaded, rules = run.loaded(), GateRules.parse(**options)
    root = ET.fromstring(gate_of("junit", [loaded], rules))
    red = {
        "failure" if int(root.attrib["failures"]) else "",
        "error" if int(root.attrib["errors"]) else "",
    }
    code = evaluate([loaded], rules).exit_code
    assert bool(red - {""}) is (code != 0)
    assert ("error" in red) is (code == 3)


def test_junit_totals_agree_with_the_cases_and_times_are_seconds() -> None:
    root = junit(
        Recorded([Talk(holds=(True, None)), AWAY, Talk(ends=False)]), fail_under=["withheld:0.99"]
    )
    for element in [root, *root.iter("testsuite")]:
        cases = list(element.iter("testcase"))
        assert int(element.attrib["tests"]) == len(cases)
        for total, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
            if element is root and total == "skipped":
                assert total not in element.attrib  # Jenkins' schema refuses it here
                continue
            assert int(element.attrib[total]) == sum(
                1 for case in cases if case.find(tag) is not None
            )
    assert root[0].attrib["time"] == "1.000"
    assert root[0].attrib["timestamp"].startswith("2026-01-02T03:04:05")


def test_junit_distinguishes_failures_errors_and_skipped_checks() -> None:
    root = junit(Recorded([AWAY, Talk(reason="cancelled"), Talk(tasks=None)], trials=4))
    kinds = [set(outcomes(suite).values()) for suite in root]
    assert kinds[0] - {"failure", "passed"} == {"error"}
    assert outcomes(root[1])["task: task 1"] == "skipped"
    assert outcomes(root[2])["task: task 1"] == "error"
    assert outcomes(root[2])["score"] == "error"
    assert kinds[3] == {"skipped"}


def test_junit_shows_thresholds_over_several_conversations_in_their_own_suite() -> None:
    root = junit(
        Recorded([scoring(0.5)] * 2, [scoring(0.9)] * 2), fail_under=["0.8"], min_pass_k=["2:0.5"]
    )
    assert outcomes(root[-1]) == {
        "job: mean of both at least 0.8": "failure",
        "job, without the facts: pass^2 at least 0.5": "failure",
        "job, with the facts: pass^2 at least 0.5": "passed",
    }


def test_junit_leaves_out_characters_that_xml_forbids() -> None:
    run = Recorded([Talk(holds=(False,))], job='a\x00b\x0b\ufffe<&"\U0001f600')
    root = junit(run)
    assert root[0].attrib["name"].startswith('ab<&"\U0001f600 · ')
