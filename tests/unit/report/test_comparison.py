"""Two runs compared: what counts as a difference, what is refused, and what fails a build."""

from __future__ import annotations

import io
import re
from dataclasses import astuple, replace
from pathlib import Path
from random import Random

import pytest
from rich.console import Console

from bioeval_tui.formats import RunResult
from bioeval_tui.report.comparison import Comparison, compare
from bioeval_tui.report.formats.console import print_comparison
from bioeval_tui.report.result import load_run
from bioeval_tui.report.sentences import counted_words, difference_words
from bioeval_tui.report.statistics.differences import Difference, corrected, difference
from bioeval_tui.report.statistics.estimates import Sample
from bioeval_tui.report.statistics.planning import VarianceComponents, trials_for_difference
from tests.documents import comparison_of
from tests.simulations.comparing import Design, alarms, compared
from tests.unit.report.recorded import Recorded, Talk, import_scores, scoring

AWAY = Talk(reason="evaluator_failed", fault="infrastructure", tasks=None)


def against(a: Recorded, b: Recorded) -> Comparison:
    return compare(a.loaded(), b.loaded())


def values(*scores: float) -> list[Talk]:
    return [scoring(score) for score in scores]


def test_the_conclusion_counts_tasks_and_gives_the_paired_difference_with_its_interval() -> None:
    a = Recorded([Talk(tasks=(0.5, 0.5, 0.9, 0.5), holds=()) for _ in range(10)])
    b = Recorded([Talk(tasks=(0.7 + n / 100, 0.8, 0.6, 0.9), holds=()) for n in range(10)])
    sentence = against(a, b).conditions[0].sentence
    assert sentence.startswith("Facts withheld: B scores higher on 3 of 4 tasks and lower on 1; overall +0.")
    assert "95 % interval" in sentence
    assert sentence.endswith(": better. By part: tasks +0.11.")


def test_the_parts_that_moved_add_up_to_the_difference_of_the_scores() -> None:
    slow = Talk(tasks=(1.0,), latencies_ms=(2000.0,), failures=1)
    found = against(Recorded([Talk(tasks=(1.0,))]), Recorded([slow])).conditions[0]
    moved = {part.name: part.difference.mean or 0.0 for part in found.parts}
    assert list(moved) == ["penalty", "timing", "task", "assertion"]
    assert sum(moved.values()) == pytest.approx(found.score.mean, abs=0.005)
    assert found.sentence.endswith("By part: penalty −0.30, timing −0.07.")
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
        found.condition: ([one.title for one in found.tasks], [one.title for one in found.assertions])
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
            "One pair shows what happened, not what to expect: 5 trials of each run could tell a large difference.",
        ),
        (
            values(0.5, 0.6),
            values(0.7, 0.9),
            "2 pairs show what happened, not what to expect: 5 trials of each run could tell a large difference.",
        ),
        (
            values(*[0.7] * 5),
            values(*[0.7] * 5),
            "A difference in up to 52 % of trials could have been missed; "
            "36 trials of each run without one would leave less than 10 %.",
        ),
        (
            values(0.5, 0.9, 0.4, 0.8, 0.6),
            values(0.9, 0.5, 0.8, 0.5, 0.65),
            "The difference may be chance; about 114 trials of each run would show one of 0.1 (80 % power).",
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
    found = against(Recorded(values(0.5, 0.9, 0.4, 0.8, 0.6)), Recorded(values(0.9, 0.5, 0.8, 0.5, 0.65)))
    assert found.conditions[0].score.verdict == "not distinguishable"
    assert "not yet distinguishable" in found.conditions[0].sentence
    assert found.regressions == ()


def test_fewer_than_five_pairs_give_no_conclusion() -> None:
    found = against(Recorded(values(0.5, 0.6)), Recorded(values(0.7, 0.9)))
    assert (
        difference_words(found.conditions[0].score) == "+0.25, 2 pairs from +0.20 to +0.30: too few to tell"
    )


def test_latencies_at_different_concurrency_are_not_compared() -> None:
    slow = Talk(holds=(), tasks=(0.5,), latencies_ms=(4000,))
    quick = Talk(holds=(), tasks=(0.5,), latencies_ms=(500,))
    found = against(Recorded([slow] * 5, concurrency=4), Recorded([quick] * 5))
    assert (
        "timing is not compared: A ran 4 conversations at a time with its agent, B 1" in found.timing_refused
    )
    side = found.conditions[0]
    assert (side.latency, side.averages_ms) == (None, (None, None))
    assert {turn.difference_ms for turn in side.turns} == {None}
    assert side.score.verdict == "same"  # the timing part is left out of both composites
    equal = against(Recorded([slow] * 5), Recorded([quick] * 5)).conditions[0]
    assert equal.latency is not None
    assert (equal.latency.mean, equal.latency.verdict) == (-3500, "better")
    assert equal.averages_ms == (4000, 500)
    assert [turn.difference_ms for turn in equal.turns] == [-3500] * 5


def test_a_changed_target_for_response_times_is_no_regression() -> None:
    a, b = (Recorded([replace(scoring(0.5), latencies_ms=(ms,))] * 5) for ms in (900, 2000))
    (told,) = against(a, b).regressions
    assert told.startswith("facts withheld: the score fell, ")
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
        ([0.9], [0.5], False, "1 trial that both runs scored may differ by chance alone; 5 trials"),
        ([0.9] * 4, [0.5] * 4, False, "4 trials that both runs scored may differ by chance alone; 5 trials"),
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


def test_trials_of_few_cases_are_not_independent(tmp_path: Path) -> None:
    def run(name: str, cases: int, score: float) -> RunResult:
        return load_run(import_scores(tmp_path, name, [[score] * 10] * cases))

    few = compare(run("a", 4, 0.9), run("b", 4, 0.5))
    assert few.regressions == ()
    assert "4 cases that both runs scored" in few.undecided
    assert "7 cases would do" in few.undecided
    assert few.advice == ("4 cases cannot tell a difference from chance: 7 would do.",)
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
def test_the_same_agent_twice_rarely_has_a_regression_an_arrow_or_an_effect_of_facts(design: Design) -> None:
    """Forty pairs of runs; `scripts/validate-statistics regressions` has more, and more designs."""
    enough = design.trials >= 5
    assert max(astuple(alarms(40, design))) <= (0.09 if enough else 0)
    assert bool(compared(Random(1), design).undecided) is not enough


def test_what_stands_beside_the_scores_takes_a_fifth_of_five_percent_once_it_could_be_told() -> None:
    def tested(pairs: int) -> Difference:
        sides = [(0.2 + n / 1000, 0.8) for n in range(pairs)]
        return difference([Sample("job", b - a, sides=(a, b)) for a, b in sides])

    few, many = (corrected({"score": tested(n)}, {f"task {i}": tested(n) for i in range(6)}) for n in (5, 10))
    assert (few["score"].tests, few["task 0"].tests, few["task 0"].verdict) == (1, 30, "too few")
    assert (many["score"].tests, many["task 0"].tests, many["task 0"].verdict) == (1.25, 30, "better")


def test_only_what_is_beyond_chance_is_coloured_on_screen() -> None:
    few = against(Recorded([Talk(holds=(True,))]), Recorded([Talk(holds=(False,))]))
    many = against(Recorded([Talk(holds=(True,))] * 5), Recorded([Talk(holds=(False,))] * 5))
    assert [one.conditions[0].assertions[0].change for one in (few, many)] == ["broken", "broken"]
    verdicts = []
    for one in (few, many):
        tested = one.conditions[0].assertions[0].difference
        assert tested is not None
        verdicts.append(tested.verdict)
    assert verdicts == ["too few", "worse"]


def test_five_trials_show_that_all_tasks_fell_though_no_single_one_is_beyond_chance() -> None:
    random = Random(7)

    def run(mean: float) -> Recorded:
        holds = [tuple(random.random() < 0.8 for _ in range(3)) for _ in range(10)]
        talks = [Talk(tasks=tuple(random.gauss(mean, 0.08) for _ in range(3)), holds=one) for one in holds]
        return Recorded(talks[:5], talks[5:])

    found = against(run(0.7), run(0.4))
    assert any(": the score from tasks fell, " in line for line in found.regressions)
    assert not any("task “" in line for line in found.regressions)


def test_an_assertion_that_passed_before_and_fails_now_is_a_regression() -> None:
    found = against(Recorded([Talk(holds=(True, False))] * 5), Recorded([Talk(holds=(False, True))] * 5))
    changes = {check.title: check.change for check in found.conditions[0].assertions}
    assert changes == {"check 1": "broken", "check 2": "fixed"}
    assert found.regressions == (
        "facts withheld: assertion “check 1” fell, −1.00 in each of 5 pairs: worse (p 0.020)",
    )
    once = against(Recorded([Talk(holds=(True, False))]), Recorded([Talk(holds=(False, True))]))
    assert (once.regressions, bool(once.undecided)) == ((), True)


def test_different_jobs_judges_and_unclean_runs_are_noted() -> None:
    a = Recorded([Talk(tasks=(1.0, 1.0))], started={"judge": "x"})
    b = Recorded([Talk(tasks=(1.0,))], clean=False, started={"job_sha256": "1" * 64, "prompts": {"p": "q"}})
    found = against(a, b)
    assert len([note for note in found.notes if "differ" in note]) == 2
    assert any("judge: A x, B judge; prompts: A none, B p q" in note for note in found.notes)
    assert any("B: not clean, " in note for note in found.notes)
    lone = found.conditions[0].tasks[1]
    assert (lone.title, lone.b, lone.difference) == ("task 2", None, None)


def test_a_copy_by_another_agent_program_and_seed_says_so_in_one_line() -> None:
    other = {
        "agent": "elsewhere:9", "model": "big", "program_version": "9.9", "graph": "neo4j at elsewhere", "seed": 8,
    }  # fmt: skip
    (note,) = against(Recorded([Talk()]), Recorded([Talk()], started=other)).notes
    for words in (
        "agent: A ",
        "B elsewhere:9",
        "agent's model: A none, B big",
        "B neo4j at elsewhere",
        "B 9.9",
        "B 8",
    ):
        assert words in note


def test_runs_that_differ_in_a_drawn_seed_alone_are_the_same_and_in_a_chosen_one_are_not() -> None:
    assert against(Recorded([Talk()]), Recorded([Talk()], started={"seed": 8})).notes == ()
    chosen = Recorded([Talk()]).loaded().started.job | {"seed": 8}
    (note,) = [
        note
        for note in against(Recorded([Talk()]), Recorded([Talk()], started={"seed": 8, "job": chosen})).notes
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
        "the job files differ (aspirationalAverage: A 1000.0, B 300.0; assertions[0].expression: A true, B none;"
    )
    assert "; and 2 more)" in note
    (unchanged,) = against(a, Recorded([Talk()], started={"job_sha256": "1" * 64})).notes
    assert unchanged.startswith("the job files differ (only in layout or comments)")


def by_person(*talks: Talk) -> Recorded:
    job = Recorded([Talk()]).loaded().started.job
    return Recorded(list(talks), started={"job": job | {"evaluator": {"kind": "human"}}})


def test_a_person_in_place_of_the_simulated_user_says_how_far_its_scores_lie_from_theirs() -> None:
    person, simulated = by_person(*values(*[0.5] * 9, 0.6)), Recorded(values(*[0.7] * 9, 0.9))
    words = (
        "facts withheld: simulated users score the agent 0.21 higher than a person (10 trials, 95 % interval"
    )
    for found in (against(person, simulated), against(simulated, person)):
        (note,) = [note for note in found.notes if "simulated" in note]
        assert note.startswith(words)
    (few,) = [
        note for note in against(by_person(*values(0.5)), Recorded(values(0.7))).notes if "simulated" in note
    ]
    assert (
        few
        == "facts withheld: scores with simulated users lie +0.20 from a person's (1 trial, too few for an interval): too few to tell"
    )
    assert not [note for note in against(person, person).notes if "simulated" in note]


def test_runs_are_compared_on_the_condition_that_both_have_and_say_so() -> None:
    found = compare(Recorded([scoring(0.2)], [scoring(0.5)]).loaded(), Recorded((), [scoring(0.6)]).loaded())
    assert [side.condition for side in found.conditions] == ["supplied"]
    assert found.measured
    assert "B was run with facts supplied only" in found.notes


def test_runs_without_a_common_condition_cannot_be_compared() -> None:
    found = against(Recorded(values(0.5)), Recorded(supplied=values(0.5)))
    assert (found.conditions, found.measured) == ((), False)


def test_console_and_json_show_the_same_comparison() -> None:
    found = against(Recorded([Talk(says="[red]A[/] said")]), Recorded([Talk(tasks=(0.2,), says="B said")]))
    file = io.StringIO()
    print_comparison(found, Console(file=file, width=160), texts=True)
    text, data = file.getvalue(), comparison_of(found)
    side = data["conditions"]["withheld"]
    assert side["sentence"] in text
    assert side["advice"] in text
    assert re.search(r"  from tasks +0\.286 +0\.057 +−0\.229", text)
    assert side["parts"][0]["name"] == "task"
    assert "[red]A[/] said" in text
    assert re.search(r"average answer +0\.50 s +0\.50 s +±0 ms", text)
    assert all(line in text for line in data["regressions"])
    assert side["tasks"][0]["difference"]["mean"] == pytest.approx(-0.8)
    assert side["turns"][0]["b"]["messages"][1]["content"] == "B said"
