"""What a run's answer says is true for each kind of outcome."""

from dataclasses import replace
from pathlib import Path

import pytest

from bioeval_tui.formats import RunResult
from bioeval_tui.grade.outcomes import NotGraded
from bioeval_tui.grade.task_report import ReportExtra, now
from bioeval_tui.grade.tasks.registry import Registry, UnknownTaskError
from bioeval_tui.grading import TaskReport
from bioeval_tui.record import events
from bioeval_tui.record.cases import JobCase
from bioeval_tui.record.events import RunEvent, write_event
from bioeval_tui.record.warning_codes import NOTHING_OBSERVED
from bioeval_tui.report.answer import Answer, answer_batch, answer_grading, answer_medals
from bioeval_tui.report.comparison import compare
from bioeval_tui.report.result import load_run
from bioeval_tui.report.sentences import LET_MODELS_PLAY
from bioeval_tui.sample.paths import sample_recordings
from tests.simulations.sets import sentences
from tests.unit.report.recorded import GOLDEN, Recorded, Talk, import_scores, scoring

FAILS = Talk(holds=(False,))
KNOWS = Talk(fact=True)


def concluded(recorded: Recorded, folder: Path, *changed: RunEvent) -> Answer:
    """Write the recording, with these events in the place of the last ones, read it back and
    conclude.
    """
    path = recorded.write(folder)
    if changed:
        kept = recorded.events()[: -len(changed)]
        path.write_bytes(b"".join(write_event(event) for event in (*kept, *changed)))
    return load_run(path).answer


def said(answer: Answer) -> str:
    """Return the lines of an answer as one text, each with its label."""
    return " ".join(f"{label} {text}" for label, text in answer.lines)


def ended(recorded: Recorded, **fields: object) -> events.RunEnded:
    last = recorded.events()[-1]
    assert isinstance(last, events.RunEnded)
    return last.model_copy(update=fields)


def test_what_would_halve_an_interval_is_counted_in_what_it_is_clustered_by(
    tmp_path: Path,
) -> None:
    path = import_scores(tmp_path, "study", [(1.0, float(case % 2)) for case in range(20)])
    assert "clustered by case, 20 cases); 80 would halve that" in load_run(path).answer.sure


def test_the_demo_says_what_knowing_the_facts_changes_and_why() -> None:
    found = load_run(GOLDEN).answer
    assert found.outcome == "too_few"
    assert (
        found.what
        == "0.44 → 1.00 with the facts. Fails without the facts only: task 1 “Get a reminder to"
        " take…” and 3 more."
    )
    assert found.sure == (
        "no: only a rehearsal: a script speaks and rules judge; it takes models and at least 5"
        " trials"
    )


def test_why_quotes_the_agent_without_its_markdown_and_cuts_after_a_word(tmp_path: Path) -> None:
    done = "Done: I'll remind you"
    _, guessing = sample_recordings("batch")
    spoken = guessing.read_text(encoding="utf-8")
    path = tmp_path / guessing.name
    path.write_text(spoken.replace(done, "**Done:** I'll *remind* you"), encoding="utf-8")
    assert load_run(path).answer.why.endswith(
        "— “Done: I'll remind you to take warfarin on Monday 30 November 2026 at 09:00 (UTC)…”"
    )


def test_rules_are_said_to_judge_only_where_they_do(tmp_path: Path) -> None:
    judged = tmp_path / "judged.jsonl"
    text = GOLDEN.read_text("utf-8")
    judged.write_text(
        text.replace('"judge":"rehearsal: rules judge"', '"judge":"gpt-4.1"'), "utf-8"
    )
    assert load_run(judged).answer.sure == (
        "no: only a rehearsal: no model speaks as the user; it takes models and at least 5 trials"
    )


@pytest.mark.parametrize(
    ("withheld", "supplied", "outcome", "says"),
    [
        ([FAILS], [KNOWS], "too_few",
            "WHAT 0.43 → 1.00 with the facts. Fails without the facts only: “check 1”. SURE no: "
            "one trial is too few to tell what the facts change; at least 5 are needed WHY "
            "without the facts, assertion: “check 1” fails NEXT "),
        ([FAILS] * 5, [KNOWS] * 5, "facts_help",
            "SURE yes: the facts help, +0.57 in each of 5 trials"),
        ([Talk()], [Talk(holds=(False,), fact=True)], "too_few",
            "1.00 → 0.43 with the facts. Fails with the facts only: “check 1”."),
        ([Talk()] * 5, [Talk(holds=(False,), fact=True)] * 5, "facts_hurt",
            "SURE yes: the facts hurt, −0.57 in each of 5 trials"),
        ([FAILS], [replace(FAILS, fact=True)], "too_few",
            "WHAT 0.43 → 0.43 with the facts. Fails both times: “check 1”."),
        ([FAILS] * 5, [replace(FAILS, fact=True)] * 5, "no_difference",
            "SURE yes: the facts change nothing in each of 5 trials"),
        ([Talk()], [KNOWS], "perfect",
            "WHAT 1.00 → 1.00 with the facts. SURE no: one trial; nothing was left to gain"),
        ([FAILS] * 3, [KNOWS] * 3, "too_few",
            "three trials are too few to tell what the facts change; at least 5 are needed"),
        ([Talk(tasks=(0.2,))] * 3, [KNOWS] * 3, "too_few",
            "Fails without the facts only: task 1 “task 1”."),
        ([Talk()] * 3, [replace(FAILS, fact=True)] * 3, "too_few",
            "Fails with the facts only: “check 1”."),
        ([Talk()], [Talk()], "facts_not_given", "SURE no: the user gave the agent no fact"),
        ([FAILS], [Talk(unread=True)], "facts_unread",
            "SURE no: whether it was given cannot be told, so nothing is said about what the facts "
            "change"),
        ([FAILS], [replace(KNOWS, unread=True)], "too_few",
            "one trial is too few to tell what the facts change"),
        ([FAILS] * 5, [*[Talk(tasks=None, fact=True)] * 4, KNOWS], "not_measured",
            "4 of 10 conversations have no score; the others: 0.43 → 1.00 with the facts. Fails "
            "without the facts only: “check 1”. SURE no: more than 10 % of the conversations have "
            "no score WHY no score in 4 of 10 conversations, first in the conversation with the "
            "facts of trial 1: task not measured: away NEXT run it again"),
        ([FAILS] * 5, [Talk(tasks=None, fact=True), *[KNOWS] * 4], "too_few",
            "no: 4 of 5 trials with both scores are too few to tell what the facts change; at "
            "least 5 are needed"),
        ([Talk(ends=False)], [Talk(ends=False)], "not_measured",
            "nothing was scored, so the run has no result. SURE no: nothing was measured"),
        ([Talk(tasks=None)] * 3, [Talk(tasks=None)] * 3, "judge_failed",
            "failed in 6 of 6 conversations, first in the conversation without"),
        ([Talk(holds=(None,))], [Talk(holds=(None,))], "not_measured",
            "No conversation has a score. SURE no: nothing was measured WHY assertion not "
            "measured"),
        ([Talk(reason="timed_out")], [Talk(reason="agent_failed", failures=1)], "agent_failed",
            "and the conversation ran out of time at"),
        ([Talk(reason="agent_failed", failures=2)], [Talk(reason="agent_failed", failures=1)],
            "agent_failed",
         "WHAT The agent failed in 2 of 2 conversations: 0.50 → 0.70 with the facts. SURE yes: the "
         "agent failed; a run without failures would tell the rest WHY "
         "the agent failed at turn 1 in both conversations; the failed requests alone "
         "lowered the score by 0.50 "
         "without the facts and by 0.30 with the facts"),
        ([*[FAILS] * 5, *[KNOWS] * 5], [], "one_condition",
            "WHAT 0.71 without the facts, a full score in 5 of 10 conversations. SURE yes, to "
            "about ±0.23 (95 % interval 0.44 to 0.91, this job only, 10 trials); 40 would "
            "halve that"),
        ([FAILS, KNOWS], [], "one_condition", "SURE no: 2 trials, too few for an interval"),
        ([FAILS], [], "one_condition",
            "WHAT 0.43 without the facts. Fails at the end: “check 1”. SURE no: one trial"),
        ([Talk(tasks=None)], [KNOWS], "judge_failed",
            "The judge failed in the conversation without the facts (the judge was away)"),
        ([Talk()], [Talk(holds=(None,))], "not_measured",
            "In the conversation with the facts, the agent has no score. SURE no: one condition "
            "says nothing of the other WHY assertion not measured"),
        ([Talk(reason="agent_failed", fault="agent")], [KNOWS], "agent_failed",
            "failed at turn 1 in the conversation without the facts"),
        ([replace(FAILS, failures=1)],
            [Talk(reason="agent_failed", fault="agent", failures=3, fact=True)], "agent_failed",
         "WHAT The agent failed in 1 of 2 conversations: 0.13 → 0.50 with the facts. "),
        ([Talk(reason="timed_out", fault="agent")], [KNOWS], "timed_out",
            "WHY the conversation ran out of time at turn 1"),
        ([Talk(reason="evaluator_failed", fault="evaluator", unsent="x")], [KNOWS],
            "evaluator_failed", "stepped out of its role at turn 2"),
        ([Talk(reason="evaluator_failed", fault="evaluator", unsent="x", detail="leak: x"),
          *[Talk(reason="evaluator_failed", fault="evaluator", detail="cut off")] * 4], [KNOWS] * 5,
          "evaluator_failed",
         "stepped out of its role at turn 2 in the conversation without the facts of trial 1 "
         "(leak: x) and failed in 4 of 10 "
         "conversations, first at turn 1 in the conversation without the facts of trial 2 (cut "
         "off), so they say nothing"),
        ([Talk(reason="max_turns", holds=(None,), detail="6 messages without a sign-off")] * 2, [],
            "not_measured",
         "No conversation has a score. SURE no: nothing was measured WHY assertion not measured: 1 "
         "of 1 assertion could not be measured"),
        ([Talk(reason="evaluator_failed", fault="infrastructure")], [KNOWS], "evaluator_failed",
            "The simulated user failed at turn 1"),
    ],
)  # fmt: skip
def test_each_kind_of_outcome_has_its_answer(
    withheld: list[Talk], supplied: list[Talk], outcome: str, says: str, tmp_path: Path
) -> None:
    found = concluded(Recorded(withheld, supplied), tmp_path)
    assert found.outcome == outcome, said(found)
    assert says in said(found)
    assert found.what.endswith(".")
    assert "\n" not in said(found)


@pytest.mark.parametrize(
    ("withheld", "supplied", "attributed"),
    [
        ([FAILS] * 5, [KNOWS] * 5, 0.57),
        ([Talk()] * 5, [Talk(holds=(False,), fact=True)] * 5, -0.57),
        ([FAILS] * 5, [replace(FAILS, fact=True)] * 5, 0.0),
        ([Talk()] * 5, [KNOWS] * 5, 0.0),
        ([FAILS] * 4, [KNOWS] * 4, None),
        ([FAILS] * 5, [Talk()] * 5, None),
        ([FAILS, Talk()] * 3, [KNOWS, replace(FAILS, fact=True)] * 3, None),
        ([FAILS] * 5, [], None),
        ([Talk(tasks=None)] * 5, [KNOWS] * 5, None),
    ],
)  # fmt: skip
def test_a_difference_is_attributed_to_the_facts_only_where_the_answer_does_so(
    withheld: list[Talk], supplied: list[Talk], attributed: float | None, tmp_path: Path
) -> None:
    """Not of four trials, without a fact given, within chance, of one condition, or without
    scores.
    """
    found = concluded(Recorded(withheld, supplied), tmp_path).attributed
    assert found == (None if attributed is None else pytest.approx(attributed, abs=0.005))


def test_no_difference_is_attributed_to_the_facts_of_a_run_that_is_not_clean(
    tmp_path: Path,
) -> None:
    assert concluded(Recorded([FAILS] * 5, [KNOWS] * 5, clean=False), tmp_path).attributed is None


@pytest.mark.parametrize(
    ("withheld", "supplied", "says"),
    [
        (
            [FAILS] * 5,
            [KNOWS] * 5,
            "0.43 in “no card” → 1.00 in “has the card”. Fails in “no card” only: “check 1”.",
        ),
        ([FAILS], [], "WHAT 0.43 in “no card”."),
        ([FAILS] * 3, [KNOWS] * 3, "WHAT 0.43 in “no card” → 1.00 in “has the card”"),
        (
            [Talk(reason="timed_out", fault="agent")],
            [KNOWS],
            "at turn 1 in the conversation “no card”",
        ),
    ],
)
def test_an_answer_calls_the_conditions_what_the_job_calls_them(
    withheld: list[Talk], supplied: list[Talk], says: str, tmp_path: Path
) -> None:
    named = Recorded(withheld, supplied, names=("no card", "has the card"))
    assert says in said(concluded(named, tmp_path))


def test_an_interval_is_named_where_trials_differ(tmp_path: Path) -> None:
    low = [scoring(value) for value in (0.2, 0.3, 0.25, 0.3, 0.2) * 2]
    high = [replace(scoring(value), fact=True) for value in (0.8, 0.9, 0.85, 0.8, 0.9) * 2]
    found = concluded(Recorded(low, high), tmp_path)
    assert found.outcome == "facts_help"
    assert "over 10 trials (95 % interval of the difference 0." in found.sure


@pytest.mark.parametrize(
    ("withheld", "supplied"),
    [
        ([FAILS, FAILS, Talk()], [KNOWS] * 3),
        ([FAILS] * 3, [KNOWS, KNOWS, replace(FAILS, fact=True)]),
        ([*[FAILS] * 5, Talk()], [KNOWS] * 6),
        ([*[Talk(tasks=(0.2,))] * 2, Talk(tasks=(0.65,))], [KNOWS] * 3),
    ],
)
def test_what_fails_in_some_trials_only_is_not_said_to_fail(
    withheld: list[Talk], supplied: list[Talk], tmp_path: Path
) -> None:
    assert "Fails" not in concluded(Recorded(withheld, supplied), tmp_path).what


def test_a_difference_within_chance_is_not_called_an_effect(tmp_path: Path) -> None:
    low = [scoring(value) for value in (0.2, 0.9, 0.5, 0.3, 0.8)]
    high = [replace(scoring(value), fact=True) for value in (0.8, 0.3, 0.6, 0.2, 0.9)]
    found = concluded(Recorded(low, high), tmp_path)
    assert found.outcome == "no_difference"
    assert "cannot be distinguished from chance" in found.sure


def test_a_penalty_for_failed_requests_is_not_attributed_to_the_facts(tmp_path: Path) -> None:
    found = concluded(Recorded([replace(FAILS, failures=1)], [KNOWS]), tmp_path)
    assert found.outcome == "too_few"
    assert found.attributed is None


def test_different_starting_states_leave_no_uplift(tmp_path: Path) -> None:
    found = concluded(Recorded([FAILS], [KNOWS], clean=False), tmp_path)
    assert found.outcome == "not_clean"
    assert "cannot be attributed to the facts" in found.sure
    assert found.attributed is None


@pytest.mark.parametrize(
    ("message", "remedies"),
    [
        ("a starting state could not be observed: 500", []),
        (
            NOTHING_OBSERVED,
            [
                "if your agent keeps nothing of one conversation for the next, say `remembers:"
                " false` under the job's `target`"
            ],
        ),
    ],
)
def test_starting_states_that_were_not_seen_leave_no_uplift_and_a_remedy(
    message: str, remedies: list[str], tmp_path: Path
) -> None:
    run = Recorded([FAILS], [KNOWS])
    last = ended(run, clean=False, seq=len(run.events()) + 1)
    warned = events.Warned(
        run_id=run.run_id, seq=last.seq - 1, at=last.at, code="clean_unknown", message=message
    )
    concluded(run, tmp_path, warned)
    path = tmp_path / f"{run.run_id}.jsonl"
    path.write_bytes(path.read_bytes() + write_event(last))
    result = load_run(path)
    found = result.answer
    assert found.outcome == "clean_unknown"
    assert "it is unknown whether" in found.sure
    assert [step.before for step in found.next if step.action == "again"] == remedies
    # what the answer leaves out is said below it
    assert result.no_uplift == f"cleanliness unknown: {message}"


@pytest.mark.parametrize(
    ("status", "detail", "outcome", "says"),
    [
        ("cancelled", "", "cancelled", "The run was cancelled with 2 of 2 conversations scored"),
        ("cancelled", "the budget of 3 calls is spent", "cancelled",
            "cancelled (the budget of 3 calls is spent)"),
        ("failed", "the disk is full", "not_run",
            "could not be started. SURE no: nothing was measured WHY the disk is full"),
    ],
)  # fmt: skip
def test_a_run_that_did_not_complete_says_how_it_ended(
    status: str, detail: str, outcome: str, says: str, tmp_path: Path
) -> None:
    run = Recorded([FAILS], [KNOWS])
    found = concluded(run, tmp_path, ended(run, status=status, detail=detail, mean=None))
    assert found.outcome == outcome
    assert says in said(found)


def test_a_run_in_progress_says_how_far_it_is(tmp_path: Path) -> None:
    run = Recorded([FAILS], [KNOWS])
    path = run.write(tmp_path)
    path.write_bytes(b"".join(write_event(event) for event in run.events()[:-1]))
    found = load_run(path).answer
    assert found.outcome == "unfinished"
    assert found.what == "The run has not ended: 2 of 2 conversations scored."
    assert found.sure == "not yet: the run has not ended"
    assert found.next[0].command == f"bioeval-tui runs resume {run.run_id}"


@pytest.mark.parametrize(
    ("unreachable", "outcome", "says"),
    [
        (True, "agent_unreached", "The agent could not be reached, so nothing was measured."),
        (False, "agent_failed", "No conversation took place, so nothing was measured."),
    ],
)
def test_an_agent_that_answered_with_an_error_is_not_called_unreachable(
    unreachable: bool, outcome: str, says: str, tmp_path: Path
) -> None:
    away = Talk(
        None, (None,), (), reason="agent_failed", fault="agent", failures=4, unreachable=unreachable
    )
    found = concluded(Recorded([away], [away]), tmp_path)
    assert found.outcome == outcome
    assert found.what.startswith(says)


@pytest.mark.parametrize(
    ("withheld", "supplied", "started", "words", "command"),
    [
        ([], [KNOWS], {}, "4 more trials", "job.yml --condition supplied --repeat 5"),
        ([Talk()] * 3, [KNOWS] * 3, {}, "2 more trials", "job.yml --repeat 5"),
        ([Talk()] * 5, [KNOWS] * 5, {}, "", ""),
        ([], [KNOWS], {"rehearsal": True}, f"{LET_MODELS_PLAY}, then run it again",
            "job.yml --repeat 5 --condition supplied"),
        ([FAILS] * 6, [KNOWS] * 6, {"rehearsal": True, "options": {"mode": "rehearsal"}},
            f"{LET_MODELS_PLAY}, then run it again", "job.yml --repeat 6"),
    ],
)  # fmt: skip
def test_what_makes_an_answer_sure_is_what_to_do_next(
    withheld: list[Talk],
    supplied: list[Talk],
    started: dict[str, object],
    words: str,
    command: str,
    tmp_path: Path,
) -> None:
    given = {"job_path": "job.yml", "model": None, **started}
    found = concluded(Recorded(withheld, supplied, started=given), tmp_path)
    steps = [step for step in found.next if step.action in ("trials", "again")]
    expected = [(words, f"bioeval-tui run {command}")] if words else []
    assert [(step.words, step.command) for step in steps] == expected


@pytest.mark.parametrize(
    ("options", "job", "started", "command"),
    [
        ({}, {}, {}, "job.yml"),
        ({"mode": "rehearsal", "agent_url": "http://h:1/a b"}, {}, {},
            "job.yml --agent-url 'http://h:1/a b' --rehearsal"),
        ({"mode": "llm", "judge_model": ["a", "b"], "control": True, "graph": "none"}, {}, {},
            "job.yml --judge-model a --judge-model b --control --graph none"),
        ({"mode": "job", "control": False, "graph": "auto", "judge_model": [], "agent_url": ""},
            {}, {}, "job.yml"),
        # What the job says itself is left to the job.
        ({"agent_url": "http://a:1", "judge_model": ["j"], "evaluator_model": ["u", "v"]},
            {"target": {"url": "http://a:1"}, "evaluator": {"model": ["u", "v"]},
                "scorer": {"model": "j"}}, {}, "job.yml"),
        ({"agent_url": "http://b:1", "otlp": 4318, "concurrency": 4, "exam": "off"},
            {"target": {"url": "http://a:1"}}, {"model": "m x", "trials": 5},
            "job.yml --model 'm x' --agent-url http://b:1 --otlp 4318 --no-exam --repeat 5"
            " --concurrency 4"),
        ({"otlp": 4319}, {"target": {"model": "m"}}, {"model": "m", "conditions": ("supplied",)},
            "job.yml --otlp 4319 --condition supplied"),
        ({"cases": "1-9,a b", "sample": 5}, {},
            {"trials": 6, "cases": (JobCase(name="1"), JobCase(name="2"))},
            "job.yml --repeat 3 --cases '1-9,a b,sample:5'"),
        # what allows a job more is not suggested by a recording, which another may have written
        ({"unrestricted_setups": True}, {}, {}, "job.yml"),
        ({}, {"target": {"protocol": "python", "function": "agent:answer"}}, {},
            "job.yml --code DIR"),
        # only what held it can start the agent
        ({"agent_function": "Reminders"}, {"target": {"protocol": "python", "function": "x:y"}}, {},
            ""),
        ({"sample_agent": True}, {}, {}, ""),
        ({}, {}, {"agent": "sample agent"}, ""),  # as version 1 recorded it
        ({"local_model": True}, {}, {}, ""),
    ],
)  # fmt: skip
def test_running_it_again_names_the_options_without_which_it_would_be_another_run(
    options: dict[str, object],
    job: dict[str, object],
    started: dict[str, object],
    command: str,
    tmp_path: Path,
) -> None:
    away = Talk(None, (None,), (), reason="agent_failed", fault="agent", failures=4)
    run = Recorded([away], [away])
    first = run.events()[0]
    assert isinstance(first, events.RunStarted)
    about = {"options": options, "job": {**first.job, "target": {}, **job}, "job_path": "job.yml"}
    about |= {"trials": 1, "model": None} | started
    path = run.write(tmp_path)
    path.write_bytes(
        write_event(first.model_copy(update=about)) + b"".join(map(write_event, run.events()[1:]))
    )
    steps = {step.action: step.command for step in load_run(path).answer.next}
    assert steps["again"] == (f"bioeval-tui run {command}" if command else "")


def test_where_one_condition_has_a_score_nobody_says_that_nothing_was_measured(
    tmp_path: Path,
) -> None:
    away = Talk(
        None, (None,), (), reason="agent_failed", fault="agent", failures=4, unreachable=False
    )
    found = concluded(Recorded([FAILS], [away]), tmp_path)
    assert found.what == "In the conversation with the facts, the agent has no score."
    assert found.sure == "no: one condition says nothing of the other"


def test_a_job_without_facts_has_nothing_that_could_help(tmp_path: Path) -> None:
    run = Recorded(
        [FAILS],
        [Talk()],
        started={
            "job": {"aspirationalAverage": 1000.0, "tasks": [{"task": "task 1"}], "assertions": []}
        },
    )
    found = concluded(run, tmp_path)
    assert found.outcome == "no_facts"


def test_a_hostile_title_is_short_and_on_one_line(tmp_path: Path) -> None:
    run = Recorded([FAILS], [KNOWS])
    path = run.write(tmp_path)
    path.write_text(
        path.read_text(encoding="utf-8").replace(
            '"title":"check 1"', '"title":"' + "\\u001b[31m\\nx" * 200 + '"'
        ),
        encoding="utf-8",
    )
    answer = load_run(path).answer
    assert "\x1b" not in said(answer)
    assert len(answer.what) < 120
    assert len(answer.why) < 220


# Several runs


def run_of(model: str, values: list[float]) -> RunResult:
    talks = [scoring(value) for value in values]
    return Recorded(
        talks, talks, run_id=f"20260102-030405-{model}", started={"model": model}
    ).loaded()


def test_a_model_that_beats_every_other_wins() -> None:
    runs = [
        run_of("small", [0.3, 0.35, 0.3, 0.35, 0.3]),
        run_of("large", [0.8, 0.85, 0.8, 0.8, 0.85]),
    ]
    found = answer_batch(runs)
    assert found.outcome == "winner"
    assert (
        found.what
        == "Mean of both conditions: large 0.82 (0.82 → 0.82 with the facts), small 0.32 (0.32 →"
        " 0.32)."
    )
    assert found.sure.startswith("yes: large does better than small, by 0.50")


@pytest.mark.parametrize(
    ("one", "other", "says"),
    [
        (
            [0.3, 0.9, 0.5, 0.6, 0.4],
            [0.8, 0.3, 0.6, 0.5, 0.7],
            "cannot be distinguished from chance",
        ),
        (
            [0.3],
            [0.8],
            (
                "b 0.80 (0.80 → 0.80 with the facts), a 0.30 (0.30 → 0.30). SURE no: 1 trial is too"
                " few to tell which is best; at least 5 are needed"
            ),
        ),
        ([0.3] * 3, [0.8] * 3, "3 trials are too few to tell"),
        ([0.5] * 5, [0.5] * 5, "SURE no: a and b score the same"),
        (
            [0.5] * 2,
            [0.5] * 2,
            "SURE no: a and b score the same; 2 trials are too few to tell more",
        ),
    ],
)
def test_no_model_wins_by_chance(one: list[float], other: list[float], says: str) -> None:
    found = answer_batch([run_of("a", one), run_of("b", other)])
    assert found.outcome == "no_winner"
    assert says in said(found)


def test_models_with_different_jobs_are_not_compared() -> None:
    first, second = run_of("a", [0.3] * 3), run_of("b", [0.9] * 3)
    job = {**second.started.job, "facts": ["another"]}
    update = {"job_name": "another", "job": job}
    second = replace(second, started=second.started.model_copy(update=update))
    second.state.started = second.started
    assert "not run on the same jobs" in answer_batch([first, second]).sure


# Submissions


LIMITS = (
    "by the leaderboard, bronze begins at 0.97, silver at 0.98, gold at 0.995; the median of its"
    " 119 entries is 0.95"
)


def graded(**fields: object) -> TaskReport:
    whole: dict[str, object] = {
        "task_id": "breast-cancer", "score": 0.99, "gold_threshold": 0.995,
        "silver_threshold": 0.98, "bronze_threshold": 0.97,
        "median_threshold": 0.95, "any_medal": True, "gold_medal": False, "silver_medal": True,
        "bronze_medal": False,
        "above_median": True, "submission_exists": True, "valid_submission": True,
        "is_lower_better": False, "created_at": now(),
        "submission_path": "x.csv", "leaderboard_size": 119,
        "extra": ReportExtra(leaderboard_position=11, score_needed=0.995, next_medal="gold"),
    }  # fmt: skip
    return TaskReport(**{**whole, **fields})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("report", "outcome", "what", "why"),
    [
        (graded(), "medal",
         "Silver on breast-cancer: score 0.99, place 11 of 120, 0.005 short of gold.", LIMITS),
        (graded(gold_medal=True, silver_medal=False, score=0.9961,
                extra=ReportExtra(metric="roc_auc", leaderboard_position=1)), "medal",
                "Gold on breast-cancer: roc_auc 0.9961, place 1 of 120, 0.0011 better than gold "
                "needs.", LIMITS),
        (graded(silver_medal=False, any_medal=False), "no_medal",
            "No medal on breast-cancer: score 0.99, place 11 of 120, above the median, 0.005 short "
            "of gold.", LIMITS),
        (graded(valid_submission=False, score=None, extra=ReportExtra(error="17 ids are missing")),
            "invalid", "The submission for breast-cancer is invalid: it has no score.",
            "17 ids are missing"),
        (graded(submission_exists=False, submission_path=""), "invalid",
            "Nothing was submitted for breast-cancer.", ""),
    ],
)  # fmt: skip
def test_a_graded_submission_has_an_answer(
    report: TaskReport, outcome: str, what: str, why: str
) -> None:
    found = answer_grading(report)
    assert (found.outcome, found.what, found.why) == (outcome, what, why)
    assert found.sure


def test_a_medal_table_has_an_answer() -> None:
    bad = graded(
        valid_submission=False,
        silver_medal=False,
        score=None,
        extra=ReportExtra(error="17 ids are missing", agent="b"),
        submission_path="b/x 1.csv",
    )
    none = graded(
        silver_medal=False,
        any_medal=False,
        leaderboard_percentile=12.0,
        extra=ReportExtra(agent="a"),
    )
    failed = NotGraded("breast-cancer", "c.csv", "grader ran longer than 60 s", agent="a")
    found = answer_medals([graded(extra=ReportExtra(agent="a")), none, bad, failed])
    assert found.outcome == "medal"
    assert found.what.startswith(
        "a leads 2 agents on 1 shared task: mean percentile 6.0, then b 0.0; 1 silver, 1 no medal,"
        " 1 invalid, 1 not graded of 4;"
    )
    assert (
        found.sure
        == "no: who is better cannot be told: ranks need 10 tasks that all agents have; there is 1"
    )
    assert found.why == "breast-cancer by b: invalid: 17 ids are missing"
    assert [step.words for step in found.next] == [
        "go to the invalid file",
        "list all findings",
        "compare the agents",
    ]
    assert found.next[1].command == "bioeval-tui validate 'b/x 1.csv' breast-cancer"
    assert (
        answer_medals([none, failed]).why
        == "breast-cancer by a: not graded: grader ran longer than 60 s"
    )
    furthest = answer_medals([none, graded(leaderboard_percentile=99.0)])
    assert furthest.why.startswith("furthest from a medal: breast-cancer by a: percentile 12.0")
    assert furthest.sure.startswith("no: 1 task: too few")
    assert furthest.next[0].command.startswith("bioeval-tui grade-sample "), "what WHY names"
    command = answer_medals([failed], ("--data-dir", "d")).next[0].command
    assert command == "bioeval-tui grade-sample c.csv breast-cancer --data-dir d"
    with pytest.raises(UnknownTaskError) as unknown:
        Registry([]).entry("oncology/brest-cancer")
    typo = NotGraded("oncology/brest-cancer", "c.csv", str(unknown.value), agent="a")
    assert answer_medals([none, typo]).sure.startswith("no: 1 task: too few")
    assert answer_medals([none, replace(failed, task_id="other")]).sure.startswith("no: 2 tasks:")
    everything = [
        replace(none, task_id=f"t{number}", valid_submission=True) for number in range(10)
    ]
    assert answer_medals(everything).sure == "yes: over 10 tasks"
    assert answer_medals([]).what == "Nothing is graded."


def test_what_to_do_about_a_missing_file_is_no_look_at_it() -> None:
    lost = {"valid_submission": False, "submission_exists": False, "score": None}
    missing = graded(**lost, submission_path="a/x.csv", extra=ReportExtra(error="a/x.csv is gone"))
    unnamed = graded(**lost, submission_path="")
    bad = graded(valid_submission=False, score=None, submission_path="b.csv")
    where = ("--tasks-dir", "my tasks")

    def steps(*reports: TaskReport) -> list[tuple[str, str]]:
        found = answer_medals(reports, where).next
        return [(step.words, step.command) for step in found if step.command]

    mend = "put the file there, then grade it again"
    again = "bioeval-tui grade-sample a/x.csv breast-cancer --tasks-dir 'my tasks'"
    assert steps(unnamed, missing) == [(mend, again)]
    assert steps(unnamed) == [
        (
            "check the file, then name it in the list",
            "bioeval-tui validate FILE breast-cancer --tasks-dir 'my tasks'",
        )
    ]
    assert steps(unnamed, missing, bad)[0][1].startswith("bioeval-tui validate b.csv ")
    assert answer_medals([unnamed, bad]).why == "breast-cancer: invalid: no reason was recorded"
    one = answer_grading(missing, where)
    assert (one.why, [step.command for step in one.next]) == ("a/x.csv is gone", [again])
    assert not answer_grading(unnamed).next


def test_what_nothing_changes_without_is_the_first_thing_to_do_next() -> None:
    away = Talk(None, (None,), (), reason="agent_failed", fault="agent", failures=4)
    recorded = Recorded([away], [away])
    state = recorded.loaded().state
    for talk in state.conversations.values():
        assert talk.ended is not None
        talk.ended = talk.ended.model_copy(update={"ways": ("set the key",)})
    (again, *_) = replace(recorded.loaded(), state=state).answer.next
    assert again.words == "set the key, then run it again"


def test_an_assertion_that_was_never_met_quotes_nothing_that_does_not_show_why() -> None:
    failing = Recorded([Talk(holds=(False,), says="a right answer")], [Talk()]).loaded()
    assert "“check 1” fails" in failing.answer.why
    assert "—" not in failing.answer.why, "no message of it says why"
    assert failing.answer.passage is None


def test_an_assertion_that_could_not_be_looked_at_says_so() -> None:
    recorded = Recorded([Talk(holds=(False,))], [Talk()])
    state = recorded.loaded().state
    talk = state.conversation("withheld")
    assert talk is not None
    error = "127.0.0.1:8081 answered something that is not JSON"
    talk.final_checks[0] = talk.final_checks[0].model_copy(update={"error": error})
    found = replace(recorded.loaded(), state=state).answer
    assert found.why.endswith(f"assertion: “check 1” fails: {error}")


def test_a_batch_without_a_score_says_why_and_what_can_be_done() -> None:
    failed = Talk(reason="agent_failed", latencies_ms=(), tasks=None)
    runs = [Recorded([failed], [failed], "dose", f"20260102-030405-{at}").loaded() for at in "ab"]
    found = answer_batch(runs)
    assert found.what == "No run of this batch could be measured, so nothing can be compared."
    assert found.why == runs[0].answer.what
    assert "nothing was measured" in found.why
    assert found.step("again") is not None


def test_no_sentence_claims_more_than_its_result_set_shows() -> None:
    """`scripts/validate-statistics sentences` prints the table of tests/golden, of which
    docs/validation.md shows rows.
    """
    root = Path(__file__).parents[3]
    found = list(sentences())
    rows = [f"| {name} | {words} |" for name, words in found]
    golden = (root / "tests" / "golden" / "sentences.md").read_text(encoding="utf-8")
    assert [row for row in rows if row not in golden] == []
    page = (
        (root / "docs" / "validation.md")
        .read_text(encoding="utf-8")
        .partition("statistics sentences`\n")[2]
    )
    shown = [line for line in page.partition("### ")[0].splitlines() if line.startswith("| ")][1:]
    assert len(shown) == 2
    assert [row for row in shown if row not in rows] == []
    claims = ("facts help", "facts hurt", "change nothing", "better", "worse", "left to gain")
    claimed = [
        name
        for name, words in found
        if "Sure: yes" in words and any(f" {claim}" in words for claim in claims)
    ]
    assert len(claimed) == 8
    assert not any(name.startswith(("one", "two", "three")) for name in claimed)


@pytest.mark.parametrize("fault", ["agent", "infrastructure"])
def test_trials_that_were_added_for_lost_ones_are_told_in_every_answer(
    tmp_path: Path, fault: events.Fault
) -> None:
    """Else whoever reads it takes them for trials like the others."""
    lost = Talk(tasks=None, fault=fault, reason="agent_failed", detail="no session was opened")
    before = Recorded([lost, scoring(0.9)], [scoring(1.0)] * 2, job="before", trials=2)
    told = "1 trial added by --rerun"
    assert told not in before.loaded().answer.sure
    after = Recorded([lost, *[scoring(0.9)] * 2], [scoring(1.0)] * 3, trials=2)
    *talks, end = after.events()
    resumed = events.RunResumed(
        run_id=end.run_id, seq=end.seq + 1, at=end.at, program_version="0", trials=3
    )
    again = [*talks, end, resumed, end.model_copy(update={"seq": end.seq + 2})]
    path = tmp_path / f"{end.run_id}.jsonl"
    path.write_bytes(b"".join(map(write_event, again)))
    run = load_run(path)
    assert run.answer.sure.endswith(f"; {told}")
    assert told in run.warnings
    assert not any("interrupted" in warning for warning in run.warnings)
    assert told in answer_batch([run, before.loaded()]).sure
    assert told in compare(before.loaded(), run).answer.sure
