"""Every rule of the gate exactly at its threshold, and two of them at once, where a user stands:
`runs gate`.
"""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st
from rich.console import Console

from bioeval_tui.base.errors import ExitCode, UsageError
from bioeval_tui.record.conditions import PUBLISHED
from bioeval_tui.record.events import Fault
from bioeval_tui.report.gate import Gate, GateRules, evaluate, print_checks
from bioeval_tui.report.summary import why_unmeasured
from bioeval_tui.statistics.estimates import Counted
from tests.command import call
from tests.unit.report.recorded import Recorded, Talk, scoring

LOST = Talk(reason="evaluator_failed", fault="infrastructure", tasks=None)
SILENT = Talk(latencies_ms=())
HALF = Talk(holds=(None,), tasks=(0.0,), latencies_ms=(9000.0,))
"""Without a score, because its assertion could not be measured: its other parts were."""


def gated(folder: Path, runs: list[Recorded], *options: str) -> tuple[int, list[str]]:
    """Return the exit code of `runs gate` and its lines."""
    paths = []
    for number, run in enumerate(runs):
        run.run_id = f"20260102-030405-{number:04x}"
        paths.append(run.write(folder))
    done = call("runs", "gate", *paths, *options)
    assert isinstance(done.return_value, int), done.exception
    not_examined = "note: judge not examined"  # which has tests of its own
    lines = done.stdout.splitlines()
    return done.return_value, [line for line in lines if not line.startswith(not_examined)]


@pytest.mark.parametrize(
    ("runs", "options", "code", "lines"),
    [
        # at the threshold, and a hundredth above and below
        ([Recorded([scoring(0.8)])], ("withheld:0.8",), 0,
            ["✓ job · without the facts: score 0.80, the threshold is 0.8 (1 of 1 used)"]),
        ([Recorded([scoring(0.79)])], ("withheld:0.8",), 1,
            ["✗ job · without the facts: score 0.79, the threshold is 0.8 (1 of 1 used)"]),
        ([Recorded([scoring(0.0)])], ("withheld:0",), 0,
            ["✓ job · without the facts: score 0.00, the threshold is 0 (1 of 1 used)"]),
        ([Recorded([scoring(1.0)])], ("withheld:1",), 0,
            ["✓ job · without the facts: score 1.00, the threshold is 1 (1 of 1 used)"]),
        ([Recorded([scoring(0.99)] * 2 + [scoring(1.0)])], ("withheld:1",), 1,
            ["✗ job · without the facts: score 0.99, the threshold is 1 (3 of 3 used)"]),
        # two at once: the worse of both is the exit code, and every threshold has its line, in the
        # order given
        ([Recorded([scoring(0.5)], [scoring(0.9)])], ("withheld:0.6,supplied:0.9",), 1,
            ["✗ job · without the facts: score 0.50", "✓ job · with the facts: score 0.90"]),
        ([Recorded([scoring(0.5)], [scoring(0.9)])], ("supplied:0.9,withheld:0.6",), 1,
            ["✓ job · with the facts: score 0.90", "✗ job · without the facts: score 0.50"]),
        ([Recorded([scoring(0.5)], [scoring(0.9)])], ("mean:0.7,timing:1",), 1,
            ["✓ job: mean of both 0.70", "✗ job · without the facts: timing 0.50",
                "✗ job · with the facts: timing 0.90"]),
    ],
)  # fmt: skip
def test_a_threshold_has_a_line_with_its_value(
    tmp_path: Path, runs: list[Recorded], options: tuple[str, ...], code: int, lines: list[str]
) -> None:
    found, printed = gated(
        tmp_path, runs, *(part for option in options for part in ("--fail-under", option))
    )
    assert found == code, printed
    assert len(printed) == len(lines), printed
    for line, begin in zip(printed, lines, strict=True):
        assert line.startswith(begin), printed


@pytest.mark.parametrize(
    ("run", "options", "statuses", "code"),
    [
        # a percentile at its limit
        (Recorded([Talk(latencies_ms=(100.0, 2000.0))]), {"fail_slower": ["p50:100ms"]}, ["passed"],
            0),
        (Recorded([Talk(latencies_ms=(100.0, 2000.0))]), {"fail_slower": ["p51:100ms"]}, ["failed"],
            1),
        (Recorded([Talk(latencies_ms=(100.0, 2000.0))]), {"fail_slower": ["p51:2s"]}, ["passed"],
            0),
        (Recorded([Talk(latencies_ms=(100.0, 2000.0))]), {"fail_slower": ["p51:1.999999s"]},
            ["failed"], 1),
        (Recorded([SILENT]), {"fail_slower": ["p50:1s"]}, ["not_measured"], 3),
        # of one condition, and of each
        (Recorded([Talk()], [Talk(latencies_ms=(900.0,))]), {"fail_slower": ["supplied.p50:0.5s"]},
            ["failed"], 1),
        (Recorded([Talk()], [Talk(latencies_ms=(900.0,))]), {"fail_slower": ["withheld.p50:0.5s"]},
            ["passed"], 0),
        (Recorded([Talk()], [Talk(latencies_ms=(900.0,))]), {"fail_slower": ["p50:0.5s"]},
            ["passed", "failed"], 1),
        # what has no score counts as the worst in any threshold, and its answers took their time
        (Recorded([Talk()] * 9 + [HALF]),
            {"fail_slower": ["p90:500ms"], "fail_under": ["timing:0.9,task:0.9,task1:0.9"]},
            ["passed"] * 4, 0),
        (Recorded([Talk()] * 9 + [HALF]),
            {"fail_slower": ["p91:500ms"], "fail_under": ["timing:0.91,task:0.91,task1:0.91"]},
            ["not_measured"] * 3 + ["failed"], 3),
        (Recorded([Talk()] * 8 + [HALF]),
            {"fail_slower": ["p50:500ms"], "fail_under": ["timing:0.5,task:0.5,task1:0.5"]},
            ["passed"] * 4, 3),
        (Recorded([HALF]), {"fail_under": ["timing:0", "task:0", "task1:0", "assertion:0"]},
            ["not_measured"] * 4, 3),
        # pass^k at its share
        (Recorded([Talk()] * 3 + [Talk(tasks=(0.6,))]), {"min_pass_k": ["1:0.75"]}, ["passed"], 0),
        (Recorded([Talk()] * 3 + [Talk(tasks=(0.6,))]), {"min_pass_k": ["1:0.7500001"]}, ["failed"],
            1),
        (Recorded([Talk()] * 3), {"min_pass_k": ["3:1"]}, ["passed"], 0),
        (Recorded([Talk()] * 3), {"min_pass_k": ["4:1"]}, ["not_measured"], 3),
        (Recorded([Talk()] * 2, [Talk(tasks=(0.1,))] * 2), {"min_pass_k": ["2:1"]},
            ["passed", "failed"], 1),
        # assertions: failed, and not measured where the conversation counts all the same
        (Recorded([Talk(holds=(False, None), weight=0.0)]), {"fail_on_assertion": True},
            ["failed", "not_measured"], 1),
        (Recorded([Talk(holds=(False, True))]), {"fail_on_assertion": True}, ["failed"], 1),
        (Recorded([Talk(holds=(True, True))]), {"fail_on_assertion": True}, [], 0),
        (Recorded([HALF] + [Talk()] * 9), {"fail_on_assertion": True}, ["not_measured"], 3),
        # a score of 0 is a score
        (Recorded([Talk(tasks=(0.0,), holds=(False,), latencies_ms=())]),
            {"fail_on_assertion": True}, ["failed"], 1),
        (Recorded([Talk(tasks=(0.0,), holds=(None,), latencies_ms=(), weight=0.0)]),
            {"fail_on_assertion": True}, ["not_measured"], 3),
        (Recorded([Talk(tasks=(0.0,), holds=(False,), latencies_ms=())]),
            {"fail_under": ["withheld:0", "task:0", "task1:0", "assertion:0", "timing:0"],
                "min_pass_k": ["1:0"]}, ["passed"] * 6, 0),
        # two things at once: what is below is below, whatever was not measured
        (Recorded([scoring(0.2)]), {"fail_under": ["withheld:0.9"], "min_pass_k": ["2:0.1"]},
            ["failed", "not_measured"], 1),
        (Recorded([Talk(holds=(False,))]),
            {"fail_under": ["withheld:1"], "fail_on_assertion": True}, ["failed", "failed"], 1),
    ],
)  # fmt: skip
def test_each_rule_passes_at_its_limit_and_fails_beyond_it(
    run: Recorded, options: dict[str, Any], statuses: list[str], code: int
) -> None:
    result = evaluate([run.loaded()], GateRules.parse(**options))
    assert [check.status for check in result.checks] == statuses, result.to_dict()
    assert result.exit_code == code, result.to_dict()


def test_why_a_part_of_a_conversation_does_not_count_is_whose_fault_it_was() -> None:
    result = evaluate(
        [Recorded([Talk()] * 9 + [HALF]).loaded()], GateRules.parse(["timing:0.9", "task1:0.9"])
    )
    why = "assertion not measured: 1 of 1 assertion could not be measured"
    assert [check.words for check in result.checks] == [
        f"9 of 10 used (the measurement failed in 1: {why})"
    ] * 2
    missing = evaluate(
        [Recorded([Talk()] * 9, trials=10).loaded()], GateRules.parse(["timing:0.9"])
    )
    assert missing.checks[0].words == "9 of 10 used (1 not run)"
    unended = evaluate(
        [Recorded([*[Talk()] * 9, Talk(ends=False)]).loaded()], GateRules.parse(["task1:0.9"])
    )
    assert unended.checks[0].words == "9 of 10 used (1 not run)"


def test_a_part_that_only_one_condition_has_is_checked_only_there() -> None:
    either = Recorded([Talk(holds=())], [Talk()])
    rules = GateRules.parse(["assertion:1"])
    assert [
        (each.condition, each.status) for each in evaluate([either.loaded()], rules).checks
    ] == [("supplied", "passed")]
    later = Recorded([Talk(), Talk(holds=())], [Talk(holds=()), Talk()])
    assert [each.condition for each in evaluate([later.loaded()], rules).checks] == [
        "withheld",
        "supplied",
    ], "one is enough"
    assert [each.status for each in evaluate([later.loaded()], rules).checks] == ["passed"] * 2
    neither = Recorded([Talk(holds=())], [Talk(holds=())])
    found = evaluate([neither.loaded()], rules)
    assert [(each.condition, each.status) for each in found.checks] == [
        ("withheld", "not_measured"),
        ("supplied", "not_measured"),
    ]
    no_such_task = evaluate([Recorded([Talk()], [Talk()]).loaded()], GateRules.parse(["task2:0"]))
    assert [each.words for each in no_such_task.checks] == ["0 of 1 used (1 no such task)"] * 2


def test_a_task_that_only_one_condition_counts_is_checked_only_there() -> None:
    tasks = [{"task": "one"}, {"task": "two", "only": "supplied"}]
    only_there = Recorded([Talk()], [Talk(tasks=(1.0, 0.7))], started={"job": {"tasks": tasks}})
    found = evaluate([only_there.loaded()], GateRules.parse(["task2:0.7"]))
    assert [(each.condition, each.status) for each in found.checks] == [("supplied", "passed")]


@pytest.mark.parametrize(
    ("used", "held", "found"),
    [(0, 0, ["NothingRun"]), (9, 10, []), (90, 100, []), (89, 100, ["ManyExcluded"]),
        (8, 9, ["ManyExcluded"]), (0, 1, ["ManyExcluded"])],
)  # fmt: skip
def test_a_tenth_may_be_left_out(used: int, held: int, found: list[str]) -> None:
    assert [type(each).__name__ for each in why_unmeasured(Counted(used, held))] == found


def test_all_reasons_why_no_threshold_is_met_are_said_in_their_order() -> None:
    every = Counted(8, 10, again=1, unexcused=1)
    assert [type(each).__name__ for each in why_unmeasured(every)] == [
        "ManyExcluded",
        "NotExcused",
        "HeldAgain",
    ]
    assert [type(each).__name__ for each in why_unmeasured(every, gated=False)] == [
        "ManyExcluded",
        "NotExcused",
    ]
    assert why_unmeasured(Counted(10, 10, again=1), gated=False) == ()
    assert [type(each).__name__ for each in why_unmeasured(Counted(10, 10, again=1))] == [
        "HeldAgain"
    ]
    assert [type(each).__name__ for each in why_unmeasured(Counted(99, 100, unexcused=1))] == [
        "NotExcused"
    ]


@pytest.mark.parametrize("fault", ["agent", "unclear", "program"])
def test_a_threshold_that_does_not_rest_on_the_conversation_left_out_passes_in_its_own_line(
    fault: Fault,
) -> None:
    """The exit code is 3 all the same, and a note says why."""
    lost = Talk(reason="cancelled", fault=fault)
    run = Recorded([scoring(0.9)] * 19 + [lost], [scoring(0.9)] * 20)
    result = evaluate(
        [run.loaded()], GateRules.parse(["withheld:0.8,supplied:0.8,withheld:0.905", "mean:0.8"])
    )
    assert [(each.condition, each.status) for each in result.checks] == [
        ("withheld", "failed"),  # the last value of a condition counts
        ("supplied", "passed"),
        (None, "not_measured"),
    ]
    assert result.exit_code == ExitCode.NOT_MEASURED


def test_each_job_and_model_has_its_own_thresholds_and_none_hides_another(tmp_path: Path) -> None:
    models = [
        Recorded([scoring(value)], started={"model": name})
        for name, value in (("x", 0.9), ("y", 0.5))
    ]
    code, lines = gated(tmp_path, models, "--fail-under", "withheld:0.8")
    assert code == 1
    assert [line.split(":")[0] for line in lines] == [
        "✓ job · x · without the facts",
        "✗ job · y · without the facts",
    ]
    one = [Recorded([scoring(0.9)], started={"model": "x"})]
    assert gated(tmp_path, one, "--fail-under", "withheld:0.8")[1][0].startswith(
        "✓ job · without the facts"
    )


def test_runs_that_are_not_clean_are_noted_beside_thresholds_or_other_runs(tmp_path: Path) -> None:
    def unclean(**more: Any) -> Recorded:
        return Recorded([scoring(0.9)], [scoring(0.9)], clean=False, started=more)

    note = "note: job: not clean, the conditions cannot be compared"
    assert gated(tmp_path, [unclean()], "--fail-under", "0.5")[1][1:] == [note]
    assert evaluate([unclean().loaded()], GateRules()).notes == (), "its card says it"
    two = [unclean(model="x"), unclean(model="y")]
    assert list(evaluate([run.loaded() for run in two], GateRules()).notes) == [
        "job · x: not clean, the conditions cannot be compared",
        "job · y: not clean, the conditions cannot be compared",
    ]
    same = [unclean(model="x"), unclean(model="x")]
    assert evaluate([run.loaded() for run in same], GateRules()).notes == (
        note.removeprefix("note: "),
    ), "once"
    one_named = [unclean(model="x"), unclean()]
    assert evaluate([run.loaded() for run in one_named], GateRules()).notes[1] == note.removeprefix(
        "note: "
    )


@pytest.mark.parametrize(
    ("options", "rules"),
    [
        ({"fail_under": ["0.8"]}, GateRules({"mean": 0.8})),
        ({"fail_under": ["mean:0"]}, GateRules({"mean": 0.0})),
        ({"fail_under": [" supplied:1 , withheld:0.5 ,, "]},
            GateRules({"supplied": 1.0, "withheld": 0.5})),
        ({"fail_under": ["0.8", "0.9"]}, GateRules({"mean": 0.9})),
        ({"min_pass_k": ["2:0.9, 3:0.8"]}, GateRules(pass_k=((2, 0.9), (3, 0.8)))),
        ({"min_pass_k": ["1:0"]}, GateRules(pass_k=((1, 0.0),))),
        ({"fail_on_assertion": True}, GateRules(on_assertion=True)),
    ],
)  # fmt: skip
def test_options_are_read(options: dict[str, Any], rules: GateRules) -> None:
    found = GateRules.parse(**options)
    assert found == rules
    assert found.given
    assert not GateRules().given


@pytest.mark.parametrize(
    ("text", "condition", "part", "task", "name"),
    [
        ("task:0.5", None, "task", None, "task"), ("task1:0.5", None, "task", 1, "task 1"),
        ("task 12:0.5", None, "task", 12, "task 12"),
        ("x_1.task9999:0.5", "x_1", "task", 9999, "task 9999"),
        ("supplied.timing:0.5", "supplied", "timing", None, "timing"),
        ("assertion:0.5", None, "assertion", None, "assertion"),
    ],
)  # fmt: skip
def test_parts_are_read(
    text: str, condition: str | None, part: str, task: int | None, name: str
) -> None:
    (rule,) = GateRules.parse([text]).parts
    assert (rule.condition, rule.part, rule.task, rule.name, rule.bar) == (
        condition,
        part,
        task,
        name,
        0.5,
    )
    assert GateRules.parse([text]).given


@pytest.mark.parametrize(
    "text", ["timing 2:0.5", "task0:0.5", "task10000:0.5", "Task:0.5", "1x.task:0.5", "task  1:0.5"]
)
def test_what_is_no_part_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="is not a condition"):
        GateRules.parse([text])


@pytest.mark.parametrize("text", ["-0.000001", "1.000001", "inf", "-1"])
def test_a_threshold_beyond_0_and_1_is_refused(text: str) -> None:
    for options in ({"fail_under": [text]}, {"min_pass_k": [f"2:{text}"]}):
        with pytest.raises(UsageError, match="a threshold is between 0 and 1"):
            GateRules.parse(**options)


@pytest.mark.parametrize(
    ("text", "percent", "limit_ms", "condition"),
    [("p1:1ms", 1, 1.0, None), ("p99:0.5 s", 99, 500.0, None), ("x.p50:2s", 50, 2000.0, "x"),
        ("p9:999999999.999999ms", 9, 999999999.999999, None)],
)  # fmt: skip
def test_limits_are_read(text: str, percent: int, limit_ms: float, condition: str | None) -> None:
    (rule,) = GateRules.parse(fail_slower=[text]).slower
    assert (rule.percent, rule.limit_ms, rule.condition) == (percent, limit_ms, condition)
    assert rule.name == f"p{percent} of response times"
    assert GateRules.parse(fail_slower=[text]).given


@pytest.mark.parametrize(
    ("rules", "held", "words"),
    [
        (["supplied.task:0.5"], ("withheld",),
            "--fail-under supplied.task:0.5: the run has without the facts only"),
        (["supplied:0.5"], ("withheld",),
            "--fail-under supplied:0.5 needs with the facts, but the run has without the facts "
            "only; give withheld:0.5, or run both"),
        (["0.5"], ("withheld",),
            "--fail-under 0.5 asks for the mean of both, which needs both conditions, "
            "but the run has without the facts only"),
        (["mean:0.5"], ("withheld", "supplied"), ""),
        (["withheld:0.5,timing:1"], ("withheld",), ""),
    ],
)  # fmt: skip
def test_a_threshold_needs_its_condition(
    rules: list[str], held: tuple[str, ...], words: str
) -> None:
    parsed = GateRules.parse(rules)
    if not words:
        parsed.require_conditions(held, PUBLISHED)
        return
    with pytest.raises(UsageError) as caught:
        parsed.require_conditions(held, PUBLISHED)
    assert words in str(caught.value)
    with pytest.raises(UsageError, match="the job has"):
        parsed.require_conditions(held, PUBLISHED, "the job")


@pytest.mark.parametrize(("count", "fine"), [(1, False), (2, True), (3, True)])
def test_a_threshold_needs_its_task(count: int, fine: bool) -> None:
    rules = GateRules.parse(["task2:0.5,timing:0.5"])
    if fine:
        rules.require_tasks(count, "job.yml")
        return
    with pytest.raises(UsageError, match=r"--fail-under task 2:0\.5: job\.yml has 1 task$"):
        rules.require_tasks(count, "job.yml")


def test_the_values_of_a_check_are_written_beside_their_threshold() -> None:
    (score,) = evaluate(
        [Recorded([scoring(0.8)]).loaded()], GateRules.parse(["withheld:0.8"])
    ).checks
    assert (score.value_words, score.bar_words) == ("0.80", "0.8")
    (near,) = evaluate(
        [Recorded([scoring(0.8), scoring(0.79)]).loaded()], GateRules.parse(["withheld:0.8"])
    ).checks
    assert (near.status, near.value_words) == ("failed", "0.795"), "not 0.80, which would pass"
    (slow,) = evaluate(
        [Recorded([Talk()]).loaded()], GateRules.parse(fail_slower=["p50:2s"])
    ).checks
    assert (slow.value_words, slow.bar_words) == ("0.50 s", "2.00 s")
    (missed,) = evaluate(
        [Recorded([Talk(holds=(False,))]).loaded()], GateRules.parse(fail_on_assertion=True)
    ).checks
    assert (missed.value_words, missed.bar_words) == ("–", "–")


def test_files_are_refused_before_anything_runs(tmp_path: Path) -> None:
    Gate(files={"md": tmp_path / "gate.md"}).check_paths()
    with pytest.raises(UsageError, match=r"the folder .*nowhere does not exist"):
        Gate(files={"md": tmp_path / "nowhere" / "gate.md"}).check_paths()
    with pytest.raises(UsageError, match="is a folder; give the name of a file"):
        Gate(files={"md": tmp_path}).check_paths()


def test_notes_of_others_come_before_the_gates_own() -> None:
    result = Gate(GateRules.parse(["withheld:0.5"])).check(
        [Recorded([scoring(0.9)] * 8 + [LOST]).loaded()], ("first",)
    )
    assert result.notes[0] == "first"
    assert result.notes[1].startswith("more than 10 %")


def test_a_line_is_not_broken_where_a_terminal_ends() -> None:
    """A log is read with grep: each threshold and each note is a line."""
    run = Recorded([scoring(0.9)] * 8 + [LOST], clean=False, started={"model": "m" * 50})
    result = evaluate([run.loaded()], GateRules.parse(["withheld:0.8", "timing:0.9"]))
    printed = io.StringIO()
    print_checks(result, Console(file=printed, width=40))
    lines = printed.getvalue().splitlines()
    assert len(lines) == len(result.checks) + len(result.notes)
    assert min(map(len, lines)) > 40
    assert "m" * 50 not in printed.getvalue(), "of one model alone"


def test_each_model_is_named_in_its_line_and_a_response_time_has_a_limit() -> None:
    runs = [Recorded([Talk()], started={"model": name}).loaded() for name in ("x", "y")]
    printed = io.StringIO()
    rules = GateRules.parse(["withheld:1"], fail_slower=["p50:2s"], fail_on_assertion=True)
    print_checks(evaluate(runs, rules), Console(file=printed))
    begins = [
        "✓ job · x · without the facts: score 1.00, the threshold is 1 (",
        "✓ job · x · without the facts: p50 of response times 0.50 s, the limit is 2.00 s (",
        "✓ job · y · without the facts: score 1.00, the threshold is 1 (",
        "✓ job · y · without the facts: p50 of response times 0.50 s, the limit is 2.00 s (",
    ]
    for line, begin in zip(printed.getvalue().splitlines(), begins, strict=False):
        assert line.startswith(begin)


SCORES = st.lists(st.integers(0, 100).map(lambda value: value / 100), min_size=1, max_size=5)


@given(SCORES, st.integers(0, 100), st.integers(0, 100))
def test_a_lower_threshold_is_never_harder_to_reach(
    values: list[float], one: int, other: int
) -> None:
    run = Recorded([scoring(value) for value in values]).loaded()
    low, high = (
        evaluate([run], GateRules.parse([f"withheld:{bar / 100}"])).exit_code
        for bar in sorted((one, other))
    )
    assert low <= high
    assert {low, high} <= {ExitCode.OK, ExitCode.BELOW}
