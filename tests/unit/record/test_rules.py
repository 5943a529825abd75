"""The rules by which events become a state, a later verdict counts, and an event is kept: at each
threshold, and two at once.
"""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from bioeval_tui.formats import ConversationKey
from bioeval_tui.record import events, recorder, score as composite
from bioeval_tui.record.cases import JobCase
from bioeval_tui.record.events import RunEvent, ScorePart, TaskScored
from bioeval_tui.record.overlay import (
    Judging,
    Overlay,
    append_numbered,
    append_reviews,
    counting,
    judgings,
    last_seq,
    read_overlay,
    state_in_force,
)
from bioeval_tui.record.recorder import Recorder, drop_prompts
from bioeval_tui.record.runs import overlay_path
from bioeval_tui.record.state import (
    ConversationState,
    MessageState,
    RunState,
    WorkClock,
    apply,
    apply_all,
    lighten,
)
from bioeval_tui.record.warning_codes import STARTS_DIFFER
from tests.unit.evaluation.conversation.fakes import AT, where
from tests.unit.report.recorded import START, Recorded, Talk, reviewed, scoring

KEY = ConversationKey("withheld", 1)
PARTS = {"b": [1, 1.0], "a": {"z": None, "y": "é\u2028", "x": True}, "c": 2**70}


def later(second: float) -> Any:
    return AT + timedelta(seconds=second)


# The clock


@pytest.mark.parametrize(
    ("begin", "end", "seconds"),
    [(0, 40, 30), (0, 10, 10), (0, 11, 10), (15, 40, 20), (12, 18, 0), (10, 20, 0), (20, 40, 20),
        (0, 20, 10), (40, 0, 0), (5, 15, 5)],
)  # fmt: skip
def test_work_is_the_time_outside_of_pauses(begin: float, end: float, seconds: float) -> None:
    clock = WorkClock()
    clock.resume(later(1))  # nothing stood still
    clock.stop(later(10))
    clock.resume(later(20))
    clock.resume(later(30))
    assert clock.seconds(later(begin), later(end)) == seconds


def test_a_pause_that_goes_on_counts_until_the_time_asked_for() -> None:
    clock = WorkClock()
    clock.stop(later(10))
    assert clock.seconds(AT, later(25)) == 10
    clock.stop(later(20))  # what began and has not ended was work
    assert clock.seconds(AT, later(25)) == 20
    assert clock.seconds(AT, later(15)) == 15


# Messages


def message(number: int, role: str = "assistant", **more: Any) -> events.MessageCompleted:
    told = {
        "message": number,
        "turn": (number + 1) // 2,
        "role": role,
        "speaker": "a",
        "content": "x",
    }
    return events.MessageCompleted(**where(**(told | more)))


def talk_of(*given_: RunEvent) -> ConversationState:
    (talk,) = apply_all(RunState(), given_).conversations.values()
    return talk


@pytest.mark.parametrize(
    ("messages", "turns"),
    [
        ([], 0), ([message(1, "user")], 1),
        ([message(1, "user"), message(2), message(3, "user")], 2),
        ([message(1, "user"), message(2), message(3, "user", signs_off=True)], 1),
        ([message(1, "user"), message(2), message(3, "user", signs_off=True), message(4)], 2),
        ([message(1, "user"), message(2), message(3, "user", signs_off=True), message(4, turn=2),
                message(5, "user", signs_off=True)], 2),
    ],
)  # fmt: skip
def test_a_bare_sign_off_begins_no_turn(messages: list[RunEvent], turns: int) -> None:
    if not messages:
        assert ConversationState(KEY).turns == 0
        return
    assert talk_of(*messages).turns == turns


def test_a_message_that_streams_has_begun_no_turn() -> None:
    streams = events.MessageStarted(**where(message=3, turn=2, role="user", speaker="u"))
    talk = talk_of(message(1, "user"), message(2), streams)
    assert talk.turns == 1
    last = talk.messages[-1]
    assert (last.done, last.operator, last.signs_off, last.told_cut_off) == (
        False,
        False,
        False,
        False,
    )
    assert (last.latency_ms, last.blocked_ms, last.waited_ms, last.tokens) == (
        None,
        None,
        0.0,
        (None, None),
    )


def test_latencies_are_of_answers_that_have_one() -> None:
    talk = talk_of(
        message(1, "user", latency_ms=7.0), message(2, latency_ms=1.0),
        message(3, "user", blocked_ms=0.0),
        message(4, blocked_ms=5.0), message(6, latency_ms=0.0),
    )  # fmt: skip
    assert talk.latencies_ms == [1.0, 0.0]
    assert talk.blocked_answers == 2


@pytest.mark.parametrize(
    ("role", "done", "content", "generation", "empty"),
    [("assistant", True, "", (), True), ("assistant", True, " \n", (), True),
        ("assistant", True, "x", (), False), ("user", True, "", (), False),
     ("assistant", False, "", (), False)],
)  # fmt: skip
def test_an_answer_without_a_word_is_empty(
    role: str, done: bool, content: str, generation: tuple[Any, ...], empty: bool
) -> None:
    begun = events.MessageStarted(**where(message=1, turn=1, role=role, speaker="a"))
    more = [message(1, role, content=content, generation=generation)] if done else []
    assert talk_of(begun, *more).messages[0].is_empty == empty


@pytest.mark.parametrize(
    ("told", "tokens"),
    [
        ((None, None), (None, None)),
        ((0, None), (0, None)),
        ((None, 3), (None, 3)),
        ((1, 2), (1, 2)),
    ],
)
def test_tokens_are_as_the_endpoint_says(
    told: tuple[int | None, int | None], tokens: tuple[int | None, int | None]
) -> None:
    one = MessageState(1, 1, "assistant", "a", AT, tokens_in=told[0], tokens_out=told[1])
    assert one.tokens == tokens


def test_a_message_is_found_by_number_also_where_some_are_missing_or_out_of_order() -> None:
    talk = talk_of(message(2), message(4), message(3))
    assert [talk.message(n) is not None for n in range(6)] == [
        False,
        False,
        True,
        True,
        True,
        False,
    ]
    found = talk.message(3)
    assert found is not None
    assert found.message == 3


def test_pieces_are_joined_and_nothing_is_no_piece() -> None:
    one = MessageState(1, 1, "assistant", "a", AT)
    assert one.text == ""
    for piece in ("", "a", "", "b"):
        one.add(piece)
    assert one.text == one.text == "ab"
    one.replace("c")
    assert one.text == "c"


def test_a_light_conversation_keeps_what_counts() -> None:
    quoted = events.EvidenceQuoted(quote="q", message=2), events.EvidenceQuoted(quote="nowhere")
    task = TaskScored(task=1, title="t", score=0.5, evidence=quoted)
    given_ = events.TranscriptScored(**where(judge="j", tasks=(task,), verdicts=({"judge": "j"},)))
    checked = {
        "index": 0,
        "title": "t",
        "weight": 1.0,
        "observed": 1,
        "expected": 1,
        "after_turn": 1,
        "status": "passed",
    }
    talk = talk_of(
        message(1, "user", content="Hello."),
        message(2, content="Are you there?", generation=({"a": 1},), tokens_in=5,
            record={"r": 1}), given_,
        events.AssertionChecked(**where(**checked)),
        events.AssertionChecked(**where(**checked), final=True),
    )  # fmt: skip
    lighten(talk)
    asked, answer = talk.messages
    assert (asked.text, asked.asks) == ("", None), "nobody counts what the user asks"
    assert (answer.text, answer.asks) == ("", True)
    assert (answer.generation, answer.record, answer.tokens) == ([], None, (5, None))
    assert talk.checks == {}
    assert [each.status for each in talk.latest_checks()] == ["passed"]
    assert talk.verdict is not None
    assert [each.quote for each in talk.verdict.tasks[0].evidence] == ["nowhere"]
    assert talk.verdict.verdicts == ()
    assert talk.verdict.tasks[0].score == 0.5


# Whose fault


def end(reason: Any = "signed_off", fault: Any = "none") -> events.ConversationEnded:
    return events.ConversationEnded(**where(reason=reason, fault=fault))


def scored(
    value: float | None = 0.5, *, parts: bool = True, **more: Any
) -> events.ConversationScored:
    of = (ScorePart(name="timing", weight=1.0, value=value),) if parts else ()
    return events.ConversationScored(
        **where(score=value, parts=of, penalty=0.0, failures=0, **more)
    )


@pytest.mark.parametrize(
    ("ended", "score", "fault"),
    [
        (None, None, None), (None, scored(None, fault="judge"), None), (end(), None, "none"),
        (end(fault="agent"), None, "agent"),
        (end(), scored(None, fault="judge"), "judge"),
        (end(fault="agent"), scored(None, fault="judge"), "agent"),
        (end(fault="unclear"), scored(None, fault="none"), "unclear"), (end(), scored(), "none"),
    ],
)  # fmt: skip
def test_how_a_conversation_ended_explains_a_missing_score_before_what_was_not_measured(
    ended: Any, score: Any, fault: str | None
) -> None:
    assert ConversationState(KEY, ended=ended, score=score).fault == fault


@pytest.mark.parametrize(
    ("ended", "score", "answers", "judged"),
    [
        (end(), scored(), True, True), (end("max_turns"), scored(), True, True),
        (end("agent_failed"), scored(None), True, True),
        (end("timed_out"), scored(), True, True), (end("unknown"), scored(), True, True),
        (None, scored(), True, False),
        (end("cancelled"), scored(), True, False), (end("evaluator_failed"), scored(), True, False),
        (end(), None, True, False),
        (end(), scored(cancelled=True), True, False), (end(), scored(parts=False), True, False),
        (end(), scored(), False, False),
    ],
)  # fmt: skip
def test_a_result_with_answers_can_be_judged(
    ended: Any, score: Any, answers: bool, judged: bool
) -> None:
    talk = talk_of(message(1, "user"), *([message(2)] if answers else []))
    talk.ended, talk.score = ended, score
    assert talk.can_be_judged == judged
    streaming = talk_of(
        events.MessageStarted(**where(message=1, turn=1, role="assistant", speaker="a"))
    )
    streaming.ended, streaming.score = end(), scored()
    assert not streaming.can_be_judged


def test_what_a_check_found_is_not_said_again_by_the_judge() -> None:
    def fault(kind: str, number: int) -> events.UserFault:
        return events.UserFault(kind=kind, message=number, quote="q", found_by="judge")

    violated = events.EvaluatorViolated(
        **where(rule="leak", detail="d", message=1, content="words", mended=False, effect="mark")
    )
    listed = (fault("leak", 1), fault("leak", 3), fault("other", 1))
    talk = talk_of(
        message(1, "user"),
        violated,
        events.TranscriptScored(**where(judge="j", tasks=(), user_faults=listed)),
    )
    assert [(each.kind, each.message, each.found_by) for each in talk.user_faults] == [
        ("leak", 1, "check"),
        ("leak", 3, "judge"),
        ("other", 1, "judge"),
    ]


# The run


def test_the_numbers_of_events_never_fall_and_the_newest_conversation_is_of_the_last_event() -> (
    None
):
    state = RunState()
    for seq in (3, 1, 5, 4):
        apply(state, message(1).model_copy(update={"seq": seq}))
    assert (state.last_seq, state.newest) == (5, KEY)
    apply(state, message(1).model_copy(update={"seq": 6, "condition": "supplied"}))
    assert state.newest == ConversationKey("supplied", 1)


@pytest.mark.parametrize(
    ("attempts", "at_last", "known"),
    [
        ([1, 1], 1, [1]),
        ([1, 2], 2, [2, 1]),
        ([2, 1], 2, [2]),
        ([1, 3, 2], 3, [3, 1]),
        ([None, 1, 2, 3], 3, [3, 2, 1]),
    ],
)
def test_the_highest_attempt_is_the_conversation(
    attempts: list[int | None], at_last: int, known: list[int]
) -> None:
    state = RunState()
    kinds = [
        apply(state, message(1).model_copy(update={"attempt": number})).kind for number in attempts
    ]
    (talk,) = state.conversations.values()
    assert talk.attempt == at_last
    assert [each.attempt for each in talk.attempts] == known
    late = [
        at
        for at, number in enumerate(attempts)
        if any((before or 1) > (number or 1) for before in attempts[:at])
    ]
    assert [at for at, kind in enumerate(kinds) if kind == "abandoned"] == late


@pytest.mark.parametrize(
    ("warnings", "ended", "cleanness", "why"),
    [
        ([], True, "clean", ""),
        ([], False, "not clean", "the conditions cannot be compared"),
        ([("other", "x")], True, "clean", ""),
        ([("clean_unknown", "x")], True, "cleanliness unknown",
            "it is unknown whether the conditions started from the same state"),
        ([("not_clean", "they share"), ("not_clean", "second")], True, "not clean", "they share"),
        ([("clean_unknown", "x"), ("not_clean", "they share")], True, "not clean", "they share"),
        ([("not_clean", f"{STARTS_DIFFER}: the graph")], True, "not clean",
            STARTS_DIFFER),
    ],
)  # fmt: skip
@pytest.mark.parametrize("of_run", [True, False])
def test_a_run_is_clean_unless_something_says_otherwise(
    warnings: list[tuple[str, str]], ended: bool, cleanness: str, why: str, of_run: bool
) -> None:
    place = {"condition": None, "trial": None, "attempt": None} if of_run else {}
    warned = [events.Warned(**where(code=code, message=said) | place) for code, said in warnings]
    closing = events.RunEnded(run_id="r", seq=9, at=AT, status="completed", clean=ended)
    state = apply_all(RunState(), [*warned, closing])
    assert (state.cleanness, state.why_not_clean) == (cleanness, why)
    assert state.clean == (cleanness == "clean")


def test_means_are_of_every_planned_trial() -> None:
    def state_of(run: Recorded) -> RunState:
        return apply_all(RunState(), run.events())

    both = state_of(Recorded([scoring(0.5), scoring(0.7)], [scoring(0.9), scoring(0.9)]))
    assert both.scores() == {"withheld": 0.6, "supplied": 0.9}
    assert both.mean() == 0.75
    assert state_of(Recorded([scoring(0.5)], [scoring(0.76)])).mean() == 0.63
    assert state_of(Recorded([scoring(0.5)], trials=2)).scores() == {"withheld": None}
    assert state_of(Recorded([scoring(0.5), Talk(ends=False)])).scores() == {"withheld": None}
    assert state_of(Recorded([scoring(0.5)])).mean() is None, "the job has two conditions"
    assert RunState().scores() == {}
    assert RunState().mean() is None


@pytest.mark.parametrize(
    ("conditions", "only"),
    [((), None), (("supplied",), "supplied"), (("supplied", "withheld"), None)],
)
def test_a_run_may_have_one_condition_alone(conditions: tuple[str, ...], only: str | None) -> None:
    begun = Recorded([Talk()], started={"conditions": conditions}).events()[0]
    state = apply_all(RunState(), [begun])
    assert state.only_condition == only
    assert state.conditions == tuple(sorted(conditions, reverse=True)), "in the job's order"
    assert state.all_conditions == ("withheld", "supplied")
    assert RunState().only_condition is None
    assert RunState().conditions == ("withheld", "supplied")


@pytest.mark.parametrize(
    ("names", "told"),
    [((), ""), (("",), ""), (("bot 1",), "bot 1"), (("bot 1", "", "bot 1"), "bot 1"),
        (("bot 1", "bot 2"), "bot 1 and bot 2")],
)  # fmt: skip
def test_an_agent_that_changed_during_the_run_has_both_names(
    names: tuple[str, ...], told: str
) -> None:
    begun = [
        events.ConversationStarted(
            **where(trial=trial), session_id="s", greeting="Hi", max_messages=4, agent_identity=name
        )
        for trial, name in enumerate(names, start=1)
    ]
    assert apply_all(RunState(), begun).agent_identity == told


@pytest.mark.parametrize(
    ("trial", "name"),
    [(-1, None), (0, None), (1, "case 0"), (2, "case 1"), (3, "case 0"), (4, "case 1"),
        (5, None)],
)  # fmt: skip
def test_a_trial_has_its_case_before_it_begins_and_no_other_trial_has_one(
    trial: int, name: str | None
) -> None:
    planned = Recorded([scoring(0.5)], trials=4, cases=2).events()
    state = apply_all(RunState(), planned[:1])
    case = state.case(trial)
    assert (case and case.name) == name
    if name is None:
        assert state.trial_words(trial) == f"trial {trial}"


def test_a_case_that_only_the_conversation_tells_is_that_of_its_trial() -> None:
    told = Recorded([Talk(), Talk(), Talk()], cases=2).events()
    told[0] = told[0].model_copy(update={"cases": ()})
    state = apply_all(RunState(), told)
    found = [state.case(trial) for trial in range(5)]
    assert [(case.name, case.trial) if case else None for case in found] == [
        None,
        ("case 0", 1),
        ("case 1", 1),
        ("case 0", 2),
        None,
    ]


def act(action: str, second: float = 0, condition: str | None = None) -> events.OperatorActed:
    return events.OperatorActed(
        run_id="r", seq=1, at=later(second), condition=condition, action=action, sender="me"
    )


def test_a_run_stands_still_once_every_condition_is_paused() -> None:
    begun = Recorded([scoring(0.5)], [scoring(0.5)]).events()[0].model_copy(update={"at": AT})
    state = apply_all(RunState(), [begun, act("pause", 10, "withheld")])
    assert (state.paused, state.all_paused) == ({"withheld"}, False)
    apply(state, act("pause", 20, "supplied"))
    assert state.all_paused
    assert state.seconds(later(30)) == 20
    apply(state, act("pause", 40))
    assert state.seconds(later(50)) == 20, "a second pause begins none"
    apply(state, act("say", 55))
    assert state.seconds(later(60)) == 20
    apply(state, act("resume", 60, "supplied"))
    assert (state.paused, state.all_paused) == ({"withheld"}, False)
    assert state.seconds(later(70)) == 30
    apply(state, act("resume", 80, "withheld"))
    assert state.seconds(later(90)) == 50
    apply(state, act("step", 100))
    assert state.all_paused
    assert [each.action for each in state.operator] == [
        "pause",
        "pause",
        "pause",
        "say",
        "resume",
        "resume",
        "step",
    ]
    apply(state, events.RunEnded(run_id="r", seq=1, at=later(110), status="completed", trials=7))
    assert state.paused == set()
    assert state.started is not None
    assert state.started.trials == 7
    assert state.seconds(later(999)) == state.seconds()
    apply(state, events.RunResumed(run_id="r", seq=1, at=later(200), program_version="0"))
    assert state.ended is None
    assert (state.started.trials, state.resumed) == (7, 1)


def test_a_run_without_a_start_has_no_time() -> None:
    state = apply_all(RunState(), [act("pause")])
    assert state.seconds(later(5)) is None
    assert not state.all_paused


def test_models_that_answered_are_named_once() -> None:
    def served(name: str, peer: str = "agent", asked: str = "m") -> events.ModelServed:
        return events.ModelServed(run_id="r", seq=1, at=AT, peer=peer, asked=asked, served=name)

    state = apply_all(
        RunState(),
        [served("a"), served("b"), served("a"), served("c", "judge"), served("b", asked="n")],
    )
    assert state.served_model == "a and b"
    assert state.served == {"agent": {"m": ["a", "b"], "n": ["b"]}, "judge": {"m": ["c"]}}
    assert RunState().served_model is None


@pytest.mark.parametrize(
    ("verdicts", "judge", "prompt"),
    [
        # nobody has judged: the run's own
        ([], "judge", "score 11112222"),
        # the run's own, with or without a prompt of a resumed run
        ([{}], "judge", "score 11112222"),
        ([{"prompts": {"score": "3333444455"}}], "judge", "score 33334444"),
        # somebody later, alone or beside it
        ([{"author": "ada", "judge": "other"}], "other", ""),
        ([{"author": "ada", "judge": "other", "prompts": {"again": "5555666677"}}], "other",
            "again 55556666"),
        ([{}, {"author": "ada", "judge": "other"}], "judge, other", "score 11112222"),
        ([{}, {"author": "ada", "judge": "judge"}], "judge", "score 11112222"),
    ],
)  # fmt: skip
def test_who_judged_is_the_runs_judge_and_who_judged_again(
    verdicts: list[dict[str, Any]], judge: str, prompt: str
) -> None:
    run = Recorded([scoring(0.5)] * 2, started={"prompts": {"score": "1111222233"}}).events()
    begun = run[0].model_copy(update={"job": {"scorer": {"prompt": "score"}}})
    given = [
        events.TranscriptScored(**where(trial=trial), **({"judge": "judge"} | more))
        for trial, more in enumerate(verdicts, start=1)
    ]
    state = apply_all(RunState(), [begun, *given])
    assert (state.judge, state.judge_prompt) == (judge, prompt)
    assert (RunState().judge, RunState().judge_prompt) == ("", "")


def test_the_parts_of_a_case_are_written_as_they_were_read() -> None:
    (told, *_) = Recorded([Talk()], started={"cases": ({"name": "a", "parts": PARTS},)}).events()
    line = events.write_event(told)
    read = events.read_event(line)
    assert isinstance(read, events.RunStarted)
    (case,) = read.cases
    assert json.dumps(dict(case.parts)) == json.dumps(PARTS), "in their order, too"
    assert (len(case.parts), list(case.parts), case.parts["b"]) == (3, ["b", "a", "c"], [1, 1.0])
    assert events.write_event(read) == line
    assert read == told
    with pytest.raises(ValueError, match="parts"):
        events.read_event(line.replace(b'"parts":{', b'"parts":7,"more":{'))


def test_other_criteria_are_those_of_every_case_begun_or_not() -> None:
    of_case = ({"name": f"case {n}", "parts": {"facts": [f"fact {n}"]}} for n in (0, 1))
    cases = tuple(JobCase(**each) for each in of_case)
    told = Recorded([Talk()], trials=2, cases=2, started={"cases": cases}).events()
    state = apply_all(RunState(), told)
    new = [{"task": "new", "acceptanceCriteria": "more"}]
    judging = events.CriteriaGiven(
        run_id="r", seq=1, at=AT, judging="x", job_name="job", job={"tasks": new},
        cases=(JobCase(name="case 1", parts={"tasks": [{"task": "of case 1"}]}),),
    )  # fmt: skip
    anew = state.judged_anew(judging)
    tasks = [[task["task"] for task in anew.trial_job(trial)["tasks"]] for trial in (1, 2)]
    assert tasks == [["new"], ["of case 1"]]
    assert [anew.trial_job(trial)["facts"] for trial in (1, 2)] == [["fact 0"], ["fact 1"]]
    of_trials = [anew.case(trial) for trial in (1, 2)]
    assert [case and [task["task"] for task in case.tasks] for case in of_trials] == tasks
    held = anew.conversation("withheld")
    assert held is not None
    assert held.case is not None
    assert [task["task"] for task in held.case.tasks] == ["new"]
    assert state.trial_job(1)["tasks"] != anew.trial_job(1)["tasks"], "the run itself stays"
    assert RunState().judged_anew(judging) == RunState()


# Later verdicts


def verdict(
    seq: int,
    value: float,
    *,
    judging: str = "",
    trial: int = 1,
    attempt: int = 1,
    given_: bool | None = None,
    **more: Any,
) -> list[RunEvent]:
    at = {
        "run_id": "r",
        "at": START,
        "condition": "withheld",
        "trial": trial,
        "attempt": attempt,
        "author": "ada",
    } | more
    task = TaskScored(task=1, title="t", score=value)
    by_given = bool(judging) if given_ is None else given_
    return [
        events.TranscriptScored(
            **at, seq=seq, judge="j", tasks=(task,), judging=judging, by_given=by_given
        ),
        events.ConversationScored(
            **at, seq=seq + 1, score=value, parts=(), penalty=0.0, failures=0
        ),
    ]


def criteria(seq: int, judging: str, says: str) -> events.CriteriaGiven:
    job = {"tasks": [{"task": "task 1", "acceptanceCriteria": [says]}]}
    return events.CriteriaGiven(
        run_id="r", seq=seq, at=START, judging=judging, job_name="job", job=job
    )


def run_of(*talks: Talk) -> RunState:
    return apply_all(RunState(), Recorded(talks).events())


TWO = (Talk(), Talk())


@pytest.mark.parametrize(
    ("later_", "values"),
    [
        ([], {}),
        (verdict(1, 0.2), {1: 0.2}),
        (verdict(1, 0.2) + verdict(3, 0.3), {1: 0.3}),
        (verdict(1, 0.2) + verdict(3, 0.3, trial=2), {1: 0.2, 2: 0.3}),
        # other criteria count once every conversation was judged by them
        ([criteria(1, "x", "new"), *verdict(2, 0.2, judging="x")], {}),
        ([criteria(1, "x", "new"), *verdict(2, 0.2, judging="x"),
                *verdict(4, 0.3, judging="x", trial=2)], {1: 0.2, 2: 0.3}),
        ([*verdict(1, 0.1), criteria(3, "x", "new"), *verdict(4, 0.2, judging="x")], {1: 0.1}),
        # two judgings by the same criteria are one
        ([criteria(1, "x", "new"), *verdict(2, 0.2, judging="x"), criteria(4, "y", "new"),
                *verdict(5, 0.3, judging="y", trial=2)], {1: 0.2, 2: 0.3}),
        # of two complete ones the newest counts, by its last verdict
        ([criteria(1, "x", "a"), *verdict(2, 0.2, judging="x"),
                *verdict(4, 0.3, judging="x", trial=2),
          criteria(6, "y", "b"), *verdict(7, 0.4, judging="y"),
          *verdict(9, 0.5, judging="y", trial=2)], {1: 0.4, 2: 0.5}),
        ([criteria(1, "x", "a"), *verdict(2, 0.2, judging="x"),
                *verdict(4, 0.3, judging="x", trial=2),
          criteria(6, "y", "b"), *verdict(7, 0.4, judging="y")], {1: 0.2, 2: 0.3}),
        ([criteria(1, "x", "a"), *verdict(2, 0.2, judging="x"),
                *verdict(4, 0.3, judging="x", trial=2),
          criteria(6, "y", "b"), *verdict(7, 0.4, judging="y"),
          *verdict(9, 0.5, judging="y", trial=2), *verdict(11, 0.6)], {1: 0.6}),
        # a damaged line, another attempt, an unknown conversation
        (verdict(1, 0.2, judging="lost"), {}),
        (verdict(1, 0.2, attempt=2), {}),
        (verdict(1, 0.2, trial=3), {}),
        (verdict(1, 0.1) + verdict(3, 0.2, judging="lost"), {1: 0.1}),
    ],
)  # fmt: skip
def test_the_newest_criteria_by_which_every_conversation_was_judged_count(
    later_: list[RunEvent], values: dict[int, float]
) -> None:
    state, overlay = run_of(*TWO), Overlay(tuple(later_))
    found = counting(state, judgings(state, overlay))
    assert {each.key.trial: each.score.score for each in found if each.score} == values
    now = state_in_force(state, overlay)
    for trial in (1, 2):
        talk = now.conversation("withheld", trial)
        assert talk is not None
        assert talk.score is not None
        assert talk.score.score == values.get(trial, 0.86 if trial > 2 else 1.0)
    assert now.ended is not None
    assert now.ended.scores == now.scores()
    before = state.conversation("withheld", 1)
    assert before is not None
    assert before.score is not None
    assert before.score.score == 1.0, "the state itself does not change"


@pytest.mark.parametrize("others", [False, True])
def test_recorded_assertions_stay_in_force_unless_the_criteria_have_others(others: bool) -> None:
    by_new = criteria(1, "x", "new")
    if others:
        by_new.job["assertions"] = []
    scored = verdict(2, 0.2, judging="x")
    state = run_of(Talk(holds=(True, False)))
    now = state_in_force(state, Overlay((by_new, *scored))).conversation("withheld", 1)
    assert now is not None
    assert now.score is not None
    assert now.score.score == 0.2
    latest = [check.status for check in now.latest_checks()]
    assert latest == ([] if others else ["passed", "failed"])
    before = state.conversation("withheld", 1)
    assert before is not None
    assert len(before.final_checks) == 2, "the state itself does not change"


def test_a_conversation_that_cannot_be_judged_need_not_be() -> None:
    state = run_of(Talk(), Talk(reason="cancelled"))
    by_new = Overlay((criteria(1, "x", "new"), *verdict(2, 0.2, judging="x")))
    assert len(counting(state, judgings(state, by_new))) == 1
    unjudged = run_of(Talk(), Talk(tasks=None))
    assert counting(unjudged, judgings(unjudged, by_new)) == []


@pytest.mark.parametrize(
    ("second", "with_assertions", "count"),
    [
        (Talk(), False, 0), (Talk(), True, 0),
        # its assertions can be checked again, though nothing was answered
        (Talk(reason="agent_failed", fault="agent", latencies_ms=()), False, 1),
        (Talk(reason="agent_failed", fault="agent", latencies_ms=()), True, 0),
        # it is no result
        (Talk(reason="cancelled"), False, 1), (Talk(reason="cancelled"), True, 1),
        (Talk(ends=False), False, 1), (Talk(ends=False), True, 1),
    ],
)  # fmt: skip
def test_new_criteria_count_once_each_conversation_was_judged_that_they_apply_to(
    second: Talk, with_assertions: bool, count: int
) -> None:
    state = run_of(Talk(), second)
    by_new = criteria(1, "x", "new")
    if with_assertions:
        by_new.job["assertions"] = []
    overlay = Overlay((by_new, *verdict(2, 0.2, judging="x")))
    assert len(counting(state, judgings(state, overlay))) == count


def test_a_score_belongs_to_the_verdict_before_it() -> None:
    state = run_of(*TWO)
    one, two = verdict(1, 0.2), verdict(3, 0.3)
    (same,) = judgings(state, Overlay((one[0], two[0], two[1]))).values()
    assert [each.score and each.score.score for each in same] == [None, 0.3]
    assert judgings(state, Overlay((one[1],))) == {}
    (lost,) = judgings(state, Overlay((*one, *verdict(3, 0.9, judging="lost")))).values()
    assert [each.score and each.score.score for each in lost] == [0.2]
    (known,) = judgings(state, Overlay((verdict(1, 0.2, author=None)[0],))).values()
    assert isinstance(known[0], Judging)
    assert known[0].author == "unknown"
    for lacks in ({"condition": None}, {"trial": None}):
        of_no_talk = verdict(1, 0.2)[0].model_copy(update=lacks)
        assert judgings(state, Overlay((of_no_talk,))) == {}
    first_attempt = verdict(1, 0.2)[0].model_copy(update={"attempt": None})
    assert list(judgings(state, Overlay((first_attempt,)))) == [KEY]


def test_a_short_overlay_says_the_same_as_the_whole_one(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    path.touch()
    state = run_of(*TWO)
    for new in (
        verdict(1, 0.1), [criteria(3, "x", "a")], verdict(4, 0.2, judging="x"),
        verdict(4, 0.3, judging="x", trial=2), [reviewed(9)],
        verdict(1, 0.4)[:1], [criteria(3, "y", "a")], verdict(1, 0.5, judging="y"),
        verdict(1, 0.6, judging="y", trial=2)[:1],
        verdict(1, 0.7, attempt=2),
    ):  # fmt: skip
        append_numbered(path, new)
        whole, short = read_overlay(path), read_overlay(path, in_force_only=True)
        assert state_in_force(state, short) == state_in_force(state, whole)
    assert len(short.events) < len(whole.events)
    assert [event.seq for event in whole.events] == list(range(1, len(whole.events) + 1))


def test_reviews_that_are_there_are_not_added_again(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    path.touch()
    assert append_reviews(path, [reviewed(1), reviewed(2)]) == 2
    assert append_reviews(path, [reviewed(2), reviewed(3)]) == 1
    found = read_overlay(path)
    assert [
        (event.seq, event.review) for event in found.events if isinstance(event, events.Reviewed)
    ] == [
        (1, "1"),
        (2, "2"),
        (3, "3"),
    ]
    assert (last_seq(found), last_seq(Overlay())) == (3, 0)
    assert overlay_path(path).read_bytes().count(b"\n") == 3


# What the recorder keeps


CALL = {"request": {"function": {"name": "f"}, "context": "prompt"}, "span": "s", "other": 1}
BARE = {"request": {"function": {"name": "f"}}, "span": "s"}


@pytest.mark.parametrize(
    ("event", "kept"),
    [
        (message(1), message(1)),
        (message(1, generation=({"thought": "x"},)), message(1)),
        (message(1, generation=(CALL, {"request": "text"})), message(1, generation=(BARE,))),
        (message(1, generation=(BARE,)), message(1, generation=(BARE,))),
        (events.MessageDelta(**where(message=1, text="x", generation=({"a": 1},))),
            events.MessageDelta(**where(message=1, text="x"))),
        (events.MessageDelta(**where(message=1, generation=({"a": 1},))), None),
        (events.MessageDelta(**where(message=1, generation=(CALL,))),
            events.MessageDelta(**where(message=1, generation=(BARE,)))),
        (events.MessageDelta(**where(message=1, text="x")),
            events.MessageDelta(**where(message=1, text="x"))),
        (events.CallsTraced(**where(message=1, generation=({"a": 1},))), None),
        (events.CallsTraced(**where(message=1, generation=(CALL,))),
            events.CallsTraced(**where(message=1, generation=(BARE,)))),
        (events.CallsTraced(**where(message=1, generation=({"request": {"n": 1}},))),
            events.CallsTraced(**where(message=1, generation=({"request": {"n": 1}},)))),
        (scored(), scored()),
    ],
)  # fmt: skip
def test_without_prompts_function_calls_and_texts_are_kept(
    event: RunEvent, kept: RunEvent | None
) -> None:
    assert drop_prompts(event) == kept


@pytest.mark.parametrize("chunk", [1, 2, 3, 64])
@pytest.mark.parametrize(
    "text", [b"", b"x", b"xx", b"a\n", b"a\nb", b"a\nbb\n", b"a\nbb\ncccc", b"\n", b"\nx"]
)
async def test_a_torn_line_is_cut_whatever_is_read_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: bytes, chunk: int
) -> None:
    monkeypatch.setattr(recorder, "CHUNK", chunk)
    path = tmp_path / "run.jsonl"
    path.write_bytes(text)
    await Recorder(path, resume=True).aclose()
    assert path.read_bytes() == text[: text.rfind(b"\n") + 1]


async def test_after_its_end_a_recorder_ignores_events_and_moves_nothing(tmp_path: Path) -> None:
    one = Recorder(tmp_path / "run.jsonl", keep_prompts=False)
    await one.written()
    one.append(message(1, generation=({"thought": "secret"},)))
    one.append(events.MessageDelta(**where(message=2, generation=({"thought": "secret"},))))
    await one.written()
    await one.aclose()
    one.append(message(3))
    text = one.path.read_text()
    assert text.count("\n") == 1
    assert "secret" not in text
    with pytest.raises(recorder.RecordingError, match="the run has ended"):
        one.move(tmp_path)


# Scores


def part(name: Any, weight: float, value: float | None = 0.5, **more: Any) -> ScorePart:
    return ScorePart(name=name, weight=weight, value=value, **more)


@pytest.mark.parametrize(("failures", "penalty"), [(0, 0.0), (1, 0.3), (2, 0.5), (3, 0.5)])
def test_the_penalty_is_a_half_at_most(failures: int, penalty: float) -> None:
    assert composite.failure_penalty(failures) == penalty
    assert composite.compose([part("timing", 1.0, 0.4)], failures).score == max(
        0.0, round(0.4 - penalty, 2)
    )


@pytest.mark.parametrize(
    ("target", "value"),
    [
        (0.5, 0.5),
        (0.0, 0.0),
        (0.1, 0.0),
        (0.75, 1.0),
        (0.76, None),
        (1.0, None),
        (0.25, 0.0),
        (0.26, 0.02),
    ],
)
def test_what_a_part_needs_is_from_0_to_1_or_it_cannot(target: float, value: float | None) -> None:
    first, _ = composite.needed([part("timing", 1.0), part("task", 1.0)], 0, target)
    assert first.value == (None if value is None else pytest.approx(value))
    assert (first.part, first.now, first.best) == ("timing", 0.5, 0.75)


def test_parts_that_need_nothing_are_not_listed() -> None:
    assert composite.needed([part("timing", 1.0, None)], 0, 0.5) == ()
    parts = [part("timing", 1.0), part("task", 1.0, None, left_out=True), part("assertion", 0.0)]
    assert [each.part for each in composite.needed(parts, 0, 0.5)] == ["timing"]
    (with_failure,) = composite.needed([part("timing", 1.0)], 1, 0.5)
    assert with_failure.value == pytest.approx(0.8)
    assert with_failure.best == 0.7


def test_contributions_add_up_to_the_score() -> None:
    parts = [
        part("timing", 1.0, 0.2),
        part("task", 2.0, 0.6),
        part("assertion", 4.0, None, left_out=True),
    ]
    added = composite.contributions(parts, 0.3)
    assert added == pytest.approx({"timing": 0.2 / 3, "task": 0.4, "penalty": -0.3})
    assert composite.contributions(parts, 0.5)["penalty"] == pytest.approx(-(0.2 / 3 + 0.4))
    assert composite.contributions([], 0.5) == {"penalty": 0.0}
    assert composite.contributions([part("task", 2.0, None)], 0.0) == {"penalty": 0.0}


def test_other_weights_leave_out_what_weighs_nothing() -> None:
    parts = [part("timing", 1.0, 0.0), part("task", 2.0, 1.0)]
    assert composite.reweighted(parts, 0, {"timing": 0}).score == 1.0
    assert composite.reweighted(parts, 0, {"timing": 0}).reason == "timing has the weight 0"
    assert composite.reweighted(parts, 0, {"timing": 2.0}).score == 0.5
    assert composite.reweighted(parts, 1, {}).score == 0.37
    assert composite.reweighted(parts, 0, {"timing": 0, "task": 0}).score is None


@pytest.mark.parametrize(
    ("average", "value"),
    [(0.0, 1.0), (999.0, 1.0), (1000.0, 1.0), (1001.0, 1000 / 1001), (2000.0, 0.5)],
)
def test_timing_is_full_up_to_the_target(average: float, value: float) -> None:
    assert composite.timing_part(1000.0, [average, average]).value == pytest.approx(value)
