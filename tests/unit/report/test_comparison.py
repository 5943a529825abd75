"""Two runs compared: what counts as a difference, what is refused, and what fails a build."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable, Sequence
from dataclasses import astuple, replace
from pathlib import Path
from random import Random
from typing import Any

import pytest
from rich.console import Console

from bioeval_tui.formats import RunResult
from bioeval_tui.record.cases import JobCase
from bioeval_tui.report.comparison import Comparison, are_compared, compare, distinct_names
from bioeval_tui.report.formats.console import print_comparison
from bioeval_tui.report.gate import GateRules, evaluate
from bioeval_tui.report.plans import planned
from bioeval_tui.report.result import load_run
from bioeval_tui.report.sentences import counted_words, difference_words
from bioeval_tui.report.summary import rankings, summarise_runs
from bioeval_tui.statistics.estimates import Sample
from bioeval_tui.statistics.paired_differences import Difference, corrected, difference
from bioeval_tui.statistics.planning import VarianceComponents, trials_for_difference
from tests.command import call
from tests.documents import pair_comparison
from tests.simulations.comparing import Design, alarms, compared
from tests.unit.report.recorded import Recorded, Talk, import_scores, scoring

AWAY = Talk(reason="evaluator_failed", fault="infrastructure", tasks=None)


def against(a: Recorded, b: Recorded) -> Comparison:
    return compare(a.loaded(), b.loaded())


def values(*scores: float) -> list[Talk]:
    return [scoring(score) for score in scores]


def test_the_answer_names_the_better_run_and_gives_the_paired_difference_with_its_interval() -> (
    None
):
    a = Recorded([Talk(tasks=(0.5, 0.5, 0.9, 0.5), holds=()) for _ in range(10)])
    b = Recorded([Talk(tasks=(0.7 + n / 100, 0.8, 0.6, 0.9), holds=()) for n in range(10)])
    answer = against(a, b).answer
    assert answer.what == "B scored higher: in 10 of 10 pairs without the facts (+0.11)."
    assert answer.sure.startswith("yes: B − A +0.11, 95 % interval ")
    assert answer.sure.endswith(": better")
    assert answer.why.startswith(
        "without the facts, B's tasks +0.11: “task 4”: 0.50 in A, 0.90 in B"
    )


def test_the_parts_that_moved_add_up_to_the_difference_of_the_scores() -> None:
    slow = Talk(tasks=(1.0,), latencies_ms=(2000.0,), failures=1)
    found = against(Recorded([Talk(tasks=(1.0,))]), Recorded([slow])).conditions[0]
    moved = {part.name: part.difference.mean or 0.0 for part in found.parts}
    assert list(moved) == ["penalty", "timing", "task", "assertion"]
    assert sum(moved.values()) == pytest.approx(found.score.mean, abs=0.005)
    assert found.most_apart is not None
    assert (found.most_apart.part, found.most_apart.by) == ("penalty", pytest.approx(-0.3))
    bad = Talk(tasks=(0.0,), holds=(False,), latencies_ms=(10_000.0,), failures=2)
    floored = against(Recorded([Talk()]), Recorded([bad])).conditions[0]
    assert sum(part.b.mean or 0.0 for part in floored.parts) == pytest.approx(0.0)
    timed = against(Recorded([Talk()], concurrency=4), Recorded([slow])).conditions[0]
    assert "timing" not in [part.name for part in timed.parts]


def test_what_counts_in_one_condition_only_is_not_compared_in_the_other() -> None:
    talks = [Talk(tasks=(1.0,), holds=(True,))], [Talk(tasks=(1.0, 0.5), holds=(True, True))]
    run = Recorded(*talks)
    loaded = run.loaded()
    job = loaded.started.job
    tasks = [{"task": "task 1"}, {"task": "task 2", "only": "supplied"}]
    checks = [
        {"expression": "true", "name": "check 1"},
        {"expression": "true", "name": "check 2", "only": "supplied"},
    ]
    run.started = {"job": {**job, "tasks": tasks, "assertions": checks}}
    listed = {
        found.condition: (
            [one.title for one in found.tasks],
            [one.title for one in found.assertions],
        )
        for found in against(run, run).conditions
    }
    assert listed == {
        "withheld": (["task 1"], ["check 1"]),
        "supplied": (["task 1", "task 2"], ["check 1", "check 2"]),
    }


@pytest.mark.parametrize(
    ("a", "b", "advice"),
    [
        ([AWAY], [Talk()], "Nothing can be concluded: no pair of conversations has both scores."),
        (
            values(0.7),
            values(0.7),
            (
                "One pair shows what happened, not what to expect: 5 trials of each run could tell"
                " a large difference."
            ),
        ),
        (
            values(0.5, 0.6),
            values(0.7, 0.9),
            (
                "2 pairs show what happened, not what to expect: 5 trials of each run could tell a"
                " large difference."
            ),
        ),
        (
            values(*[0.7] * 5),
            values(*[0.7] * 5),
            (
                "A difference in up to 52 % of trials could have been missed; "
                "36 trials of each run without one would leave less than 10 %."
            ),
        ),
        (
            values(0.5, 0.9, 0.4, 0.8, 0.6),
            values(0.9, 0.5, 0.8, 0.5, 0.65),
            (
                "The difference may be chance; about 114 trials of each run would show one of 0.1"
                " (80 % power)."
            ),
        ),
        (values(*[0.4] * 5), values(*[0.7] * 5), ""),
    ],
)
def test_a_comparison_says_what_remains_open_and_how_many_trials_would_tell(
    a: list[Talk], b: list[Talk], advice: str
) -> None:
    found = against(Recorded(a), Recorded(b)).conditions[0]
    assert found.advice == advice
    if "power" in advice:
        within = VarianceComponents(0.0, (found.score.estimate.standard_error or 0.0) ** 2 * len(a))
        planned = trials_for_difference(within, 0.1, 1)  # what `plan` says
        assert f"about {planned} trials" in advice


def test_a_difference_within_chance_is_not_called_better() -> None:
    found = against(
        Recorded(values(0.5, 0.9, 0.4, 0.8, 0.6)), Recorded(values(0.9, 0.5, 0.8, 0.5, 0.65))
    )
    assert found.conditions[0].score.direction == "not distinguishable"
    assert "not yet distinguishable" in found.answer.sure
    assert found.regressions == ()


def test_fewer_than_five_pairs_give_no_conclusion() -> None:
    found = against(Recorded(values(0.5, 0.6)), Recorded(values(0.7, 0.9)))
    assert (
        difference_words(found.conditions[0].score)
        == "+0.25, 2 pairs from +0.20 to +0.30: too few to tell"
    )


def test_latencies_at_different_concurrency_are_not_compared() -> None:
    slow = Talk(holds=(), tasks=(0.5,), latencies_ms=(4000,))
    quick = Talk(holds=(), tasks=(0.5,), latencies_ms=(500,))
    found = against(Recorded([slow] * 5, concurrency=4), Recorded([quick] * 5))
    assert (
        "timing is not compared: A ran 4 conversations at a time with its agent, B 1"
        in found.timing_refused
    )
    side = found.conditions[0]
    assert (side.latency, side.averages_ms) == (None, (None, None))
    assert {turn.difference_ms for turn in side.turns} == {None}
    assert side.score.direction == "same"  # the timing part is left out of both composites
    equal = against(Recorded([slow] * 5), Recorded([quick] * 5)).conditions[0]
    assert equal.latency is not None
    assert (equal.latency.mean, equal.latency.direction) == (-3500, "better")
    assert equal.averages_ms == (4000, 500)
    assert [turn.difference_ms for turn in equal.turns] == [-3500] * 5


def test_a_changed_target_for_response_times_is_no_regression() -> None:
    a, b = (Recorded([replace(scoring(0.5), latencies_ms=(ms,))] * 5) for ms in (900, 2000))
    (told,) = against(a, b).regressions
    assert told.startswith("without the facts: the score fell, ")
    job = {**a.loaded().started.job, "aspirationalAverage": 400.0}
    found = against(a, replace(b, started={"job_sha256": "1" * 64, "job": job}))
    assert found.regressions == ()
    assert found.conditions[0].latency is not None  # the times themselves are compared
    assert found.conditions[0].latency.mean == 1100
    assert any("targets for response times differ" in note for note in found.notes)


def test_unpaired_trials_are_left_out_and_counted() -> None:
    found = against(Recorded(values(0.5, 0.5, 0.5)), Recorded([scoring(0.7), AWAY]))
    assert (
        counted_words(found.conditions[0].score.estimate.counted)
        == "1 of 3 used (the measurement failed in 1, 1 not run on both sides)"
    )
    assert "A has 3 trials, B 2: only trials with the same number are paired" in found.notes


@pytest.mark.parametrize(
    ("a", "b", "regressed", "undecided"),
    [
        ([0.9] * 5, [0.5] * 5, True, ""),
        ([0.9, 0.85, 0.9, 0.88, 0.9], [0.5, 0.45, 0.55, 0.5, 0.4], True, ""),
        ([0.5] * 5, [0.9] * 5, False, ""),
        ([0.5] * 5, [0.5] * 5, False, ""),
        (
            [0.9],
            [0.5],
            False,
            "1 trial that both runs scored may differ by chance alone; at least 5 trials",
        ),
        (
            [0.9] * 4,
            [0.5] * 4,
            False,
            "4 trials that both runs scored may differ by chance alone; at least 5 trials",
        ),
        ([0.5], [0.5], False, "1 trial"),
    ],
)
def test_a_regression_is_a_fall_beyond_chance_and_few_trials_cannot_tell(
    a: list[float], b: list[float], regressed: bool, undecided: str
) -> None:
    found = against(Recorded(values(*a)), Recorded(values(*b)))
    assert bool(found.regressions) is regressed
    assert undecided in found.undecided
    assert bool(undecided) is bool(found.undecided)


def test_a_regression_cannot_hide_in_conversations_that_a_user_or_judge_took_out() -> None:
    """An agent's words may make either of them fail, just where it does badly."""
    lost = Talk(reason="evaluator_failed", fault="evaluator", tasks=None)
    before = Recorded(values(*[0.9] * 12))
    found = against(before, Recorded([*values(*[0.9] * 7), *[lost] * 5]))
    assert found.regressions == ()
    assert found.undecided.startswith(
        "cannot tell whether B is worse: without the facts, 5 conversations of B without a score"
    )
    assert against(before, Recorded([*values(*[0.9] * 11), lost])).undecided == ""


def test_a_regression_cannot_hide_behind_a_second_try() -> None:
    """An agent may break the connection where it does badly; the conversation is held again."""
    before = Recorded(values(*[0.9] * 8))
    again = Talk(tasks=(0.9,), holds=(), again=True)
    found = against(before, Recorded([*values(*[0.9] * 6), again, again]))
    assert found.undecided.startswith(
        "cannot tell whether B is worse: 2 conversations of B held again"
    )
    assert against(Recorded([again] * 8), before).undecided == ""


def test_nothing_hides_where_every_conversation_has_a_score() -> None:
    """Half of the trials fell, which is beyond chance only as long as nothing else is tested."""
    before, after = Recorded(values(*[1.0] * 8)), Recorded(values(*[0.0, 1.0] * 4))
    found = against(before, after)
    (one,) = found.conditions
    assert (one.score.direction, one.lowest.direction) != ("worse", "worse")
    assert (found.regressions, found.undecided) == ((), "")


def test_trials_of_few_cases_are_not_independent(tmp_path: Path) -> None:
    def run(name: str, cases: int, score: float) -> RunResult:
        return load_run(import_scores(tmp_path, name, [[score] * 10] * cases))

    few = compare(run("a", 4, 0.9), run("b", 4, 0.5))
    assert few.regressions == ()
    assert "4 cases that both runs scored" in few.undecided
    assert "at least 7 cases are needed" in few.undecided
    assert few.advice == ("4 cases cannot tell a difference from chance: at least 7 are needed.",)
    five = compare(run("c", 5, 0.9), run("d", 5, 0.5)).conditions[0].score
    assert difference_words(five) == "−0.40 in each of 50 pairs: too few to tell"
    seven = compare(run("e", 7, 0.9), run("f", 7, 0.5))
    tested = seven.conditions[0].score
    assert tested.p == pytest.approx(2 / 2**7 * tested.tests)
    assert seven.regressions
    assert not seven.undecided


@pytest.mark.parametrize(
    "design",
    [
        pytest.param(Design(1), marks=pytest.mark.long),
        Design(3),
        pytest.param(Design(5), marks=pytest.mark.long),
        pytest.param(Design(5, passes=True), marks=pytest.mark.long),
        pytest.param(Design(24, passes=True, cases=12, shared=0.2), marks=pytest.mark.long),
    ],
)
def test_the_same_agent_twice_rarely_has_a_regression_an_arrow_or_an_effect_of_facts(
    design: Design,
) -> None:
    """Forty pairs of runs; `scripts/validate-statistics regressions` has more, and more designs."""
    enough = design.trials >= 5
    assert max(astuple(alarms(40, design))) <= (0.09 if enough else 0)
    assert bool(compared(Random(1), design).undecided) is not enough


def test_what_stands_beside_the_scores_takes_a_fifth_of_five_percent_once_it_could_be_told() -> (
    None
):
    def tested(pairs: int) -> Difference:
        sides = [(0.2 + n / 1000, 0.8) for n in range(pairs)]
        return difference([Sample("job", b - a, sides=(a, b)) for a, b in sides])

    few, many = (
        corrected({"score": tested(n)}, {f"task {i}": tested(n) for i in range(6)}) for n in (5, 10)
    )
    assert (few["score"].tests, few["task 0"].tests, few["task 0"].direction) == (1, 30, "too few")
    assert (many["score"].tests, many["task 0"].tests, many["task 0"].direction) == (
        1.25,
        30,
        "better",
    )


def test_only_what_is_beyond_chance_is_coloured_on_screen() -> None:
    few = against(Recorded([Talk(holds=(True,))]), Recorded([Talk(holds=(False,))]))
    many = against(Recorded([Talk(holds=(True,))] * 5), Recorded([Talk(holds=(False,))] * 5))
    assert [one.conditions[0].assertions[0].change for one in (few, many)] == ["broken", "broken"]
    verdicts = []
    for one in (few, many):
        tested = one.conditions[0].assertions[0].difference
        assert tested is not None
        verdicts.append(tested.direction)
    assert verdicts == ["too few", "worse"]


def test_five_trials_show_that_all_tasks_fell_though_no_single_one_is_beyond_chance() -> None:
    random = Random(7)

    def run(mean: float) -> Recorded:
        holds = [tuple(random.random() < 0.8 for _ in range(3)) for _ in range(10)]
        talks = [
            Talk(tasks=tuple(random.gauss(mean, 0.08) for _ in range(3)), holds=one)
            for one in holds
        ]
        return Recorded(talks[:5], talks[5:])

    found = against(run(0.7), run(0.4))
    assert any(": the score from tasks fell, " in line for line in found.regressions)
    assert not any("task “" in line for line in found.regressions)


def test_an_assertion_that_passed_before_and_fails_now_is_a_regression() -> None:
    found = against(
        Recorded([Talk(holds=(True, False))] * 5), Recorded([Talk(holds=(False, True))] * 5)
    )
    changes = {check.title: check.change for check in found.conditions[0].assertions}
    assert changes == {"check 1": "broken", "check 2": "fixed"}
    assert found.regressions == (
        "without the facts: assertion “check 1” fell, −1.00 in each of 5 pairs: worse (p 0.020)",
    )
    once = against(Recorded([Talk(holds=(True, False))]), Recorded([Talk(holds=(False, True))]))
    assert (once.regressions, bool(once.undecided)) == ((), True)


def test_different_jobs_judges_and_unclean_runs_are_noted() -> None:
    a = Recorded([Talk(tasks=(1.0, 1.0))], started={"judge": "x"})
    b = Recorded(
        [Talk(tasks=(1.0,))], clean=False, started={"job_sha256": "1" * 64, "prompts": {"p": "q"}}
    )
    found = against(a, b)
    assert len([note for note in found.notes if "differ" in note]) == 2
    assert any("judge: A x, B judge; prompts: A none, B “p q”" in note for note in found.notes)
    assert any("B: not clean, " in note for note in found.notes)
    lone = found.conditions[0].tasks[1]
    assert (lone.title, lone.b, lone.difference) == ("task 2", None, None)


def test_a_copy_by_another_agent_program_and_seed_says_so_in_one_line() -> None:
    other = {
        "agent": "elsewhere:9", "model": "big", "program_version": "9.9",
        "graph": "neo4j at elsewhere", "seed": 8,
    }  # fmt: skip
    found = against(Recorded([Talk()]), Recorded([Talk()], started=other))
    (note,) = found.notes
    assert found.answer.what.startswith("A (agent) and B (elsewhere:9 · big) score the same")
    for words in (
        "agent: A ",
        "B elsewhere:9",
        "agent's model: A none, B big",
        "B “neo4j at elsewhere”",
        "B 9.9",
        "B 8",
    ):
        assert words in note


def test_text_that_a_note_cuts_ends_in_an_ellipsis() -> None:
    (note,) = against(Recorded([Talk()]), Recorded([Talk()], started={"model": "word " * 30})).notes
    assert "agent's model: A none, B “word word word" in note
    assert "…”" in note
    assert "cut after" not in note


@pytest.mark.parametrize(
    ("agents", "names"),
    [
        (("127.0.0.1:29101", "127.0.0.1:29102"), ("29101", "29102")),
        (("127.0.0.1:2910 · small", "127.0.0.1:2910 · large"), ("small", "large")),
        (("one", "two"), ("one", "two")),
        (("same:1", "same:1"), ("", "")),
    ],
)
def test_agents_are_told_apart_by_what_differs(
    agents: tuple[str, str], names: tuple[str, str]
) -> None:
    runs = [Recorded([Talk()], started={"agent": agent}).loaded() for agent in agents]
    assert distinct_names(runs[0], runs[1]) == names


def test_failed_requests_are_the_reason_where_they_moved_the_score_most() -> None:
    a = Recorded([Talk(), Talk()], started={"agent": "127.0.0.1:29102"})
    b = Recorded([Talk(failures=2), Talk(failures=1)], started={"agent": "127.0.0.1:29103"})
    found = against(a, b)
    assert found.answer.what.startswith(
        "A (29102) scored higher: in 2 of 2 pairs without the facts (+0."
    )
    assert found.answer.why.startswith("without the facts, B's penalty −0.")
    assert "0 of 2 requests failed in A, 3 of 5 requests failed in B, first “" in found.answer.why
    assert found.answer.why.endswith("”; tasks and assertions are equal")
    rows = [
        line.split() for line in printed(found).splitlines() if line.startswith("failed requests")
    ]
    assert rows == [["failed", "requests", *["0", "of", "2"], *["3", "of", "5"], "+3"]]
    worse = replace(b, withheld=[Talk(failures=2, tasks=(0.9,)), Talk(failures=1)])
    assert "are equal" not in against(a, worse).answer.why
    assert "failed requests" not in printed(against(a, a))


def test_runs_of_jobs_without_a_common_task_are_not_compared_and_say_what_differs() -> None:
    a = Recorded([Talk()], started=scored_by([{"task": "ask for a dose"}]), job="dose")
    b = Recorded([Talk()], started=scored_by([{"task": "ask for a reminder"}]), job="reminder")
    found = against(a, b)
    shown = printed(found)
    assert (
        found.answer.what
        == "A and B are not compared: their jobs share no task (A dose, B reminder)."
    )
    assert "tasks[0].task: A “ask for a dose”, B “ask for a reminder”" in found.answer.why
    assert "find two runs of one job: `bioeval-tui runs list`" in shown
    assert shown.count("ask for a reminder”") == 1, "once, as the reason"
    assert found.compared == ()
    assert "difference" not in shown, "no table of dashes"


def test_facts_that_differ_are_labelled_and_the_same_facts_stand_once() -> None:
    a, b = (
        Recorded([Talk()], started=scored_by([{"task": "t"}], facts=[fact])) for fact in ("x", "y")
    )
    assert [line for line in against(a, b).brief_words if "facts" in line] == [
        "A facts  1 x",
        "B facts  1 y",
    ]
    assert [line for line in against(a, a).brief_words if "facts" in line] == ["facts  1 x"]


def test_runs_that_differ_in_a_drawn_seed_alone_are_the_same_and_in_a_chosen_one_are_not() -> None:
    assert against(Recorded([Talk()]), Recorded([Talk()], started={"seed": 8})).notes == ()
    chosen = Recorded([Talk()]).loaded().started.job | {"seed": 8}
    (note,) = [
        note
        for note in against(
            Recorded([Talk()]), Recorded([Talk()], started={"seed": 8, "job": chosen})
        ).notes
        if "seed" in note
    ]
    assert "seed: A 1, B 8" in note


def test_a_comparison_names_what_differs_between_the_jobs() -> None:
    strict = {
        "aspirationalAverage": 300.0,
        "tasks": [{"task": "task 1", "passAbove": 0.6}],
        "facts": ["\x1b[2J" + "x" * 99],
    }
    a, b = Recorded([Talk()]), Recorded([Talk()], started={"job_sha256": "1" * 64, "job": strict})
    (note,) = [note for note in against(a, b).notes if "files differ" in note]
    assert note.startswith(
        "the job files differ (aspirationalAverage: A 1000.0, B 300.0; assertions[0].expression: A"
        " true, B none;"
    )
    assert "; and 2 more)" in note
    (unchanged,) = against(a, Recorded([Talk()], started={"job_sha256": "1" * 64})).notes
    assert unchanged == "the job files differ (only in layout or comments)"


def by_person(*talks: Talk) -> Recorded:
    job = Recorded([Talk()]).loaded().started.job
    return Recorded(list(talks), started={"job": job | {"evaluator": {"kind": "human"}}})


def test_a_person_in_place_of_the_simulated_user_says_how_far_its_scores_lie_from_theirs() -> None:
    person, simulated = by_person(*values(*[0.5] * 9, 0.6)), Recorded(values(*[0.7] * 9, 0.9))
    words = (
        "without the facts: simulated users score the agent 0.21 higher than a person (10 trials,"
        " 95 % interval"
    )
    for found in (against(person, simulated), against(simulated, person)):
        (note,) = [note for note in found.notes if "simulated" in note]
        assert note.startswith(words)
    (few,) = [
        note
        for note in against(by_person(*values(0.5)), Recorded(values(0.7))).notes
        if "simulated" in note
    ]
    assert (
        few
        == "without the facts: scores with simulated users lie +0.20 from a person's (1 trial, too"
        " few for an interval): too few to tell"
    )
    assert not [note for note in against(person, person).notes if "simulated" in note]


def test_runs_are_compared_on_the_condition_that_both_have_and_say_so() -> None:
    found = compare(
        Recorded([scoring(0.2)], [scoring(0.5)]).loaded(), Recorded((), [scoring(0.6)]).loaded()
    )
    assert [side.condition for side in found.conditions] == ["supplied"]
    assert found.measured
    assert "B was run in one condition only: with the facts" in found.notes


def test_runs_without_a_common_condition_cannot_be_compared() -> None:
    found = against(Recorded(values(0.5)), Recorded(supplied=values(0.5)))
    assert (found.conditions, found.measured) == ((), False)


def test_console_and_json_show_the_same_comparison() -> None:
    found = against(
        Recorded([Talk(says="[red]A[/] said")]), Recorded([Talk(tasks=(0.2,), says="B said")])
    )
    file = io.StringIO()
    print_comparison(found, Console(file=file, width=160), texts=True)
    text, data = file.getvalue(), pair_comparison(found)
    side = data["conditions"]["withheld"]
    for line in ("what", "sure", "why"):
        assert data["answer"][line] in text
    assert re.search(r"  from tasks +0\.286 +0\.057 +−0\.229", text)
    assert side["parts"][0]["name"] == "task"
    assert "[red]A[/] said" in text
    assert re.search(r"average answer +0\.50 s +0\.50 s +±0 ms", text)
    assert all(line in text for line in data["regressions"])
    assert side["tasks"][0]["difference"]["mean"] == pytest.approx(-0.8)
    assert side["turns"][0]["b"]["messages"][1]["content"] == "B said"


def of_cases(*values: float, contents: Callable[[int], str] = str, **more: Any) -> Recorded:
    """Return a run of a case for each value, whose task is filled in with `contents` of its
    number.
    """
    task = {
        "task": "Find out about {{ case.complaint }}",
        "acceptanceCriteria": "names it",
        "passAbove": 0.6,
    }
    cases = tuple(
        JobCase(
            name=f"case {n}",
            parts={"tasks": [{**task, "task": f"Find out about {contents(n)}"}]} | more,
        )
        for n in range(len(values))
    )
    job = {"aspirationalAverage": 1000.0, "tasks": [task], "assertions": [], "facts": []}
    return Recorded(
        supplied=[scoring(value) for value in values],
        cases=len(cases),
        started={"job": job, "cases": cases},
    )


def test_cases_of_the_same_names_with_other_contents_are_no_regression_and_are_named() -> None:
    found = against(of_cases(*[0.9] * 10), of_cases(*[0.3] * 10, contents=lambda n: f"another {n}"))
    side = found.conditions[0]
    assert (found.regressions, found.measured) == ((), False)
    (note,) = [note for note in found.notes if "contents" in note]
    assert (
        note
        == "10 of 10 cases have other contents in B than in A, and they are not compared: case 0,"
        " case 1, case 2 and 7 more (the first: tasks[0].task: A “Find out about 0”, B “Find out"
        " about another 0”)"
    )
    assert note in found.incomparable
    (task,) = side.tasks
    numbers = (
        side.a.mean,
        side.b.mean,
        side.score.mean,
        task.a and task.a.mean,
        task.change,
        tuple(side.turns),
        side.cost_a.held,
    )
    assert numbers == (None, None, None, None, None, (), 0)
    assert "±" not in printed(found)


def test_of_cases_whose_contents_changed_only_the_others_are_compared() -> None:
    b = of_cases(*[0.2] * 5, *[0.9] * 5, contents=lambda n: f"another {n}" if n < 5 else str(n))
    found = against(of_cases(*[0.9] * 10), b)
    side = found.conditions[0]
    assert (side.a.mean, side.b.mean, side.score.mean, side.score.units) == (0.9, 0.9, 0.0, 5)
    assert found.regressions == ()
    assert any(note.startswith("5 of 10 cases have other contents") for note in found.notes)


@pytest.mark.parametrize("facts", [["I live in Sydney"], []])
def test_a_case_with_other_facts_is_another_case(facts: list[str]) -> None:
    found = against(of_cases(0.9, facts=["I live in Perth"]), of_cases(0.3, facts=facts))
    assert not found.measured
    assert any("facts[0]: A “I live in Perth”, B " in note for note in found.notes)


def test_columns_are_over_the_cases_that_both_runs_have() -> None:
    found = against(of_cases(*[0.9] * 3), of_cases(0.9, 0.9, 0.9, 0.1, 0.1))
    side = found.conditions[0]
    assert (side.a.mean, side.b.mean, side.score.mean) == (
        0.9,
        pytest.approx(0.9),
        pytest.approx(0.0),
    )
    assert [part.b.mean for part in side.parts if part.b] == [
        part.a.mean for part in side.parts if part.a
    ]
    assert side.tasks[0].b is not None
    assert side.tasks[0].b.mean == pytest.approx(0.9)
    assert (side.cost_a.held, side.cost_b.held) == (3, 3)
    assert "2 cases are only in B and not compared: case 3, case 4" in found.notes
    assert not any("only trials with the same number" in note for note in found.notes)


def test_a_pair_that_one_run_could_not_measure_is_in_neither_column() -> None:
    side = against(Recorded(values(0.9, 0.1)), Recorded([scoring(0.9), AWAY])).conditions[0]
    assert (side.a.mean, side.b.mean, side.score.mean) == (0.9, 0.9, 0.0)
    assert side.a.counted.held == 2


def scored_by(
    tasks: Sequence[dict[str, Any]],
    checks: Sequence[dict[str, Any]] = (),
    facts: Sequence[str] = (),
) -> dict[str, Any]:
    job = {
        "aspirationalAverage": 1000.0,
        "tasks": list(tasks),
        "assertions": list(checks),
        "facts": list(facts),
    }
    return {"job_sha256": str(len(str(job)))[0] * 64, "job": job}


def test_a_job_with_another_task_is_compared_over_the_tasks_that_both_have() -> None:
    first, second = ({"task": f"task {n}", "acceptanceCriteria": "done"} for n in (1, 2))
    a = Recorded([Talk(tasks=(0.9,), holds=())] * 5, started=scored_by([first]))
    b = Recorded([Talk(tasks=(0.9, 0.0), holds=())] * 5, started=scored_by([first, second]))
    found = against(a, b)
    side = found.conditions[0]
    assert (side.score.mean, found.regressions) == (0.0, ())
    assert [(task.title, task.change) for task in side.tasks] == [("task 1", 0.0), ("task 2", None)]
    assert any(
        "only tasks and assertions that are the same are compared (tasks[1].task: A none" in n
        for n in found.notes
    )
    assert found.answer.what.endswith(
        "score the same over 5 pairs without the facts, on what both jobs share."
    )
    fallen = against(a, replace(b, withheld=[Talk(tasks=(0.1, 1.0), holds=())] * 5))
    assert fallen.conditions[0].score.mean == pytest.approx(-0.53, abs=0.01), (
        "of the task that both have"
    )
    assert fallen.regressions


def test_a_task_with_other_criteria_and_an_assertion_of_another_expression_are_not_compared() -> (
    None
):
    task = {"task": "task 1", "acceptanceCriteria": "done"}
    checks = [
        {"expression": e, "name": n}
        for e, n in (("evaluation.done", "check 1"), ("1 == 1", "check 2"))
    ]
    other = [{**checks[0], "expression": "evaluation.failureCount == 0"}, checks[1]]
    a = Recorded([Talk(tasks=(0.9,), holds=(True, True))] * 5, started=scored_by([task], checks))
    b = Recorded(
        [Talk(tasks=(0.0,), holds=(False, True))] * 5,
        started=scored_by([{**task, "acceptanceCriteria": "done well"}], other),
    )
    side = against(a, b).conditions[0]
    assert side.tasks[0].change is None
    assert side.tasks[0].a is not None
    assert side.tasks[0].a.mean is None
    assert [check.change for check in side.assertions] == ["not comparable", "same"]
    assert (side.score.mean, [part.name for part in side.parts]) == (0.0, ["timing", "assertion"])


def test_where_nothing_but_response_times_is_the_same_there_is_no_score() -> None:
    task = {"task": "task 1", "acceptanceCriteria": "done"}
    a = Recorded([Talk(tasks=(0.9,), holds=())] * 5, started=scored_by([task]))
    b = Recorded(
        [Talk(tasks=(0.1,), holds=())] * 5,
        started=scored_by([{**task, "acceptanceCriteria": "well"}]),
    )
    found = against(a, b)
    assert (found.conditions[0].score.mean, found.regressions, bool(found.incomparable)) == (
        None,
        (),
        True,
    )


def test_another_weight_is_applied_to_both_sides_and_other_facts_of_a_job_leave_nothing() -> None:
    tasks = [{"task": f"task {n}", "acceptanceCriteria": "done"} for n in (1, 2)]
    heavy = [{**tasks[0], "weight": 9}, tasks[1]]
    talks = [Talk(tasks=(0.0, 1.0), holds=())] * 5
    found = against(
        Recorded(talks, started=scored_by(tasks)), Recorded(talks, started=scored_by(heavy))
    )
    assert (found.conditions[0].score.mean, found.regressions) == (0.0, ())
    other = against(
        Recorded(talks, started=scored_by(tasks)),
        Recorded(talks, started=scored_by(tasks, facts=["x"])),
    )
    assert not other.measured
    assert any(
        "is not the same in both runs: nothing is compared (facts[0]: A none, B x)" in n
        for n in other.notes
    )


def test_keys_that_an_older_recording_lacks_and_names_make_no_difference() -> None:
    new = [
        {
            "expression": "1 == 1",
            "name": "x",
            "expected": None,
            "timeline": True,
            "only": None,
            "invariant": False,
        }
    ]
    old = [{"expression": "1 == 1", "name": "x"}]
    task = {"task": "task  1", "acceptanceCriteria": "done "}
    a = Recorded(
        started=scored_by([{**task, "type": "task", "passAbove": 0.6, "rules": []}], new),
        withheld=[Talk()],
    )
    b = Recorded(
        started=scored_by([{"task": "task 1", "acceptanceCriteria": "done"}], old),
        withheld=[Talk()],
    )
    found = against(a, b)
    assert found.measured
    assert not any("not the same" in note for note in found.notes)


def test_agents_are_ranked_on_cases_with_the_same_contents_only() -> None:
    one = of_cases(*[0.9] * 10)
    two = of_cases(*[0.5] * 10, contents=lambda n: "another" if n else "0")
    two.started = {**two.started, "agent": "other"}
    (ranked,) = rankings(summarise_runs([one.loaded(), two.loaded()]))
    assert (ranked.ranking.cases, ranked.ranking.left_out) == (1, 9)


def test_a_case_with_several_personas_is_one_case_for_ranks_and_plans() -> None:
    def run(agent: str, value: float) -> Recorded:
        recorded = of_cases(*[value, value - 0.1] * 6)
        personas = (
            case.model_copy(update={"name": f"case {n // 2}"})
            for n, case in enumerate(recorded.started["cases"])
        )
        recorded.started = {**recorded.started, "agent": agent, "cases": tuple(personas)}
        return recorded

    runs = [run("one", 0.9).loaded(), run("other", 0.5).loaded()]
    (ranked,) = rankings(summarise_runs(runs))
    assert (ranked.ranking.cases, ranked.ranking.left_out, ranked.enough) == (6, 0, False)
    assert planned(runs, detect=0.1).cases == 6


@pytest.mark.parametrize(
    ("protocol", "labels"),
    [("rest", ["host · careful", "host · careless"]), ("openai", ["host"])],
)
def test_two_chatbots_of_one_server_are_two_agents(protocol: str, labels: list[str]) -> None:
    def run(chatbot: str, value: float) -> Recorded:
        recorded = of_cases(value)
        target = {"user": "ada", "chatbot": chatbot, "protocol": protocol}
        job = {**recorded.started["job"], "target": target}
        recorded.started = {**recorded.started, "agent": "host", "job": job}
        return recorded

    runs = [run("careful", 0.9).loaded(), run("careless", 0.3).loaded()]
    assert [summary.label for summary in summarise_runs(runs)] == labels


def test_a_job_whose_file_has_another_name_for_another_agent_is_the_same_job() -> None:
    one, two = of_cases(*[0.9] * 10), of_cases(*[0.5] * 10)
    two.started = {**two.started, "agent": "other"}
    two.job = "job of the other"
    runs = [one.loaded(), two.loaded()]
    (ranked,) = rankings(summarise_runs(runs))
    assert (ranked.ranking.cases, ranked.ranking.left_out) == (10, 0)
    assert are_compared(runs)
    assert planned(runs, detect=0.1).cases == 10


def test_the_command_says_why_nothing_is_compared_and_exits_with_3(tmp_path: Path) -> None:
    a, b = of_cases(*[0.9] * 10), of_cases(*[0.3] * 10, contents=lambda n: f"another {n}")
    b.run_id = "20260102-030405-bbbb"
    files = [run.write(tmp_path) for run in (a, b)]
    for options in ((), ("--json",)):
        done = call("runs", "compare", *files, "--fail-on-regression", *options)
        assert done.return_value == 3
        assert (
            "cannot tell whether B is worse: no score is of the same in both runs; 10 of 10 cases"
            in done.stderr
        )
    assert json.loads(done.stdout)["measured"] is False


def test_runs_of_a_job_that_was_changed_between_them_are_not_pooled_in_a_report_or_a_gate(
    tmp_path: Path,
) -> None:
    task = {"task": "task 1", "acceptanceCriteria": "done"}
    a = Recorded([Talk(tasks=(1.0,), holds=())], started=scored_by([task]))
    b = Recorded(
        [Talk(tasks=(0.2,), holds=())],
        started=scored_by([{**task, "acceptanceCriteria": "well"}]),
        run_id="20260102-030405-bbbb",
    )
    runs = [a.loaded(), b.loaded()]
    (summary,) = summarise_runs(runs)
    assert [(task.job, task.score.mean) for task in summary.conditions[0].tasks] == [
        (f"job · run {a.run_id}", 1.0),
        (f"job · run {b.run_id}", 0.2),
    ]
    assert summary.conditions[0].pass_k[0].tasks == 2
    checks = evaluate(runs, GateRules.parse(["withheld:0.9"])).checks
    assert [(check.job, check.status) for check in checks] == [
        (f"job · run {a.run_id}", "passed"),
        (f"job · run {b.run_id}", "failed"),
    ]


def printed(found: Comparison) -> str:
    file = io.StringIO()
    print_comparison(found, Console(file=file, width=160))
    return file.getvalue()


def test_two_runs_are_not_called_the_same_or_better_over_what_one_of_them_lost() -> None:
    lost = Talk(reason="evaluator_failed", fault="evaluator", tasks=None)
    level, higher = Recorded(values(*[0.9] * 12)), Recorded(values(*[0.5] * 12))
    loses = Recorded([*values(*[0.9] * 7), *[lost] * 5])
    for a, b in ((level, loses), (higher, loses), (loses, higher)):
        answer = against(a, b).answer
        assert "not with the 5 missing scores as 0" in answer.sure, answer.sure
        assert answer.sure.startswith("no: ")
    assert against(higher, level).answer.sure.startswith("yes: ")
