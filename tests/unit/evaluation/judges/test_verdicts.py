"""Which answers of a judge are usable, and where quotations are found."""

import json
import re
import sys

import pytest

from bioeval_tui.jobs.models import JobTask
from bioeval_tui.peers.models.judge import enough
from bioeval_tui.peers.models.quotations import locate, only_of_the_user
from bioeval_tui.peers.models.verdicts import (
    Question,
    answer_schema,
    message_words,
    nameable,
    quoted_from_nowhere,
    read_answer,
)
from bioeval_tui.protocols import Evidence, TaskVerdict, TranscriptMessage, Verdict
from tests.unit.evaluation.conversation.fakes import FakeAgent, FakeEvaluator, FakeJudge, Stage, job

TASKS = (JobTask(task="Ask for a reminder"), JobTask(task="Ask the price"))
SAID = [
    TranscriptMessage(1, "user", "Remind me at 8:15"),
    TranscriptMessage(
        2, "assistant", "I’ve set the\nreminder — at 8:15. It costs 3 euros, in all shops."
    ),
]


def entry(task, **more):
    return {
        "task": task,
        "scored": "x",
        "score": 0.5,
        "reason": "r",
        "evidence": ["3 euros"],
        **more,
    }


def read_text(text, published=False):
    """Return the verdicts of a usable answer, and its tone."""
    found = read_answer(
        text,
        Question(TASKS, SAID, prompt="Give it. A reason of one sentence.", published=published),
    )
    assert not found.problems, found.problems
    return [found.verdicts[task] for task in sorted(found.verdicts)], found.tone


def problems_of(text):
    return "; ".join(read_answer(text, Question(TASKS, SAID, prompt=PROMPT)).problems)


def answer(tasks, **more):
    return json.dumps({"tone": 0.5, "tasks": tasks, **more})


def read(tasks, **more):
    return read_text(answer(tasks, **more))


def test_a_verdict_scores_every_task_once_in_any_order():
    verdicts, tone = read([entry(2, score=1), entry(1, score=0, evidence=[])])
    assert [(v.task, v.score) for v in verdicts] == [(1, 0.0), (2, 1.0)]
    assert tone == 0.5


def test_a_custom_prompt_may_answer_in_the_published_shape():
    tasks = [{"scored": "a reminder", "score": 0.9}, {"scored": "the price", "score": 0.4}]
    verdicts, _ = read_text(answer(tasks), published=True)
    assert [(v.task, v.score, v.reason, v.evidence) for v in verdicts] == [
        (1, 0.9, "", ()),
        (2, 0.4, "", ()),
    ]
    assert "does not say which task" in problems_of(answer(tasks))


EXAMPLE = {"tone": 0.8, "tasks": [{"scored": "…", "score": 0.9}, {"scored": "…", "score": 0.4}]}
OWN = [{"scored": "a reminder", "score": 0.9}, {"scored": "the price", "score": 0.4}]


@pytest.mark.parametrize(
    ("answered", "is_copied"),
    [
        (EXAMPLE, True),
        ({**EXAMPLE, "tone": 0.3}, False),
        ({**EXAMPLE, "tasks": OWN}, False),
        (
            {**EXAMPLE, "tasks": [{**each, "reason": "It said so."} for each in EXAMPLE["tasks"]]},
            False,
        ),
    ],
)
def test_the_example_of_a_published_prompt_is_no_verdict(answered, is_copied):
    asked = Question(
        TASKS,
        SAID,
        published=True,
        examples=f"Judge it {{well}}. Answer like {json.dumps(EXAMPLE)}",
    )
    found = read_answer(json.dumps(answered), asked)
    assert (
        found.problems[:1] == ["it is the example of the instructions, word for word"] * is_copied
    )
    assert (not found.verdicts) == is_copied


def test_a_quotation_of_a_tool_call_is_found_in_the_message_that_made_it():
    call = {"request": {"function": {"name": "createReminder"}, "arguments": {"at": "9:00"}}}
    said = [*SAID, TranscriptMessage(4, "assistant", "", generation=(call,))]
    assert locate('"function": "createReminder", "arguments": {"at": "9:00"}', said) == 4
    assert locate("deleteReminder", said) is None


def test_the_published_shape_names_tasks_by_their_text():
    tasks = [{**entry(0), "scored": task.task} for task in TASKS]
    for task in tasks:
        del task["task"]
    assert [v.task for v in read(tasks)[0]] == [1, 2]


PROMPT = (
    "Facts:\n- She takes warfarin, 5 mg every evening\nGive it. A reason of one sentence. Answer"
    ' like {"score": 0.9, "reason": "Short and to the point"}'
)


@pytest.mark.parametrize(
    ("tasks", "says"),
    [
        ([entry(1)], "no score for task 2 (of 2)"),
        ([entry(1), entry(1), entry(2)], "task 1 is scored twice"),
        ([entry(1), entry(3)], "there is no task 3"),
        ([entry(1), entry(0)], "there is no task 0; tasks are numbered from 1 to 2"),
        ([entry(1), entry(True)], "does not say which task"),
        ([entry(1), entry("2 euros")], "does not say which task"),
        ([entry(1), entry("2: Ask for a reminder")], "does not say which task"),
        ([entry(1), entry(2, score=1.2)], "the score of task 2 is 1.2; it must be from 0 to 1"),
        ([entry(1), entry(2, score="8")], "the score of task 2 is 8; it must be from 0 to 1"),
        ([entry(1), entry(2, score=-0.1)], "must be from 0 to 1"),
        ([entry(1), entry(2, score="-.5")], "must be from 0 to 1"),
        ([entry(1), entry(2, score=10**400)], "is not a number"),
        ([entry(1), entry(2, score="4/5")], "the score of task 2 is not a number"),
        ([entry(1), entry(2, score=True)], "is not a number"),
        ([entry(1), entry(2, score=None)], "is not a number"),
        ([entry(1), entry(2, reason=" ")], "task 2 has no reason"),
        ([entry(1), entry(2, reason=" ,")], "task 2 has no reason"),
        ([entry(1), entry(2, reason="1.2.3.1.2")], "task 2 has no reason"),
        ([entry(1), entry(2, reason="A reason of one sentence.")], "copied from the instructions"),
        (
            [entry(1), entry(2, evidence=["a reason of one sentence"])],
            "copied from the instructions",
        ),
        ([entry(1), entry(2, reason="Short and to the point")], "copied from the instructions"),
        (
            [entry(1), entry(2, evidence=[f"Done when: {TASKS[0].task}"])],
            "copied from the instructions",
        ),
        ([entry(1), entry(2, evidence=["takes warfarin, 5 mg"])], "copied from the instructions"),
        ([entry(1), entry(2, reason=f"{TASKS[1].task.lower()}.")], "only repeats words"),
        (
            [entry(1), entry(2, reason=f"{SAID[0].content}. {SAID[1].content}")],
            "only repeats words",
        ),
        ([entry(1), entry(2, evidence=[])], "task 2 has a score above 0 and no evidence"),
        (
            [entry(1), entry(2, evidence=None, messages=[0])],
            "task 2 has a score above 0 and no evidence",
        ),
        ([entry(1), entry(2, evidence=[9])], "message 9, which has no words"),
        ([entry(1), entry(2, evidence=[True])], "neither messages nor quotations"),
        ([entry(1), 7], "no score for task 2"),
        ("none", "no score for task 1, 2 (of 2)"),
    ],
)
def test_what_cannot_be_used_is_named_and_the_rest_is_kept(tasks, says):
    found = read_answer(answer(tasks), Question(TASKS, SAID, prompt=PROMPT))
    assert says in "; ".join(found.problems)
    assert set(found.verdicts) <= ({2} if "task 1 is" in says else {1})
    assert "there is no task" not in says or not found.verdicts, (
        "the others may be counted from 0, too"
    )


@pytest.mark.parametrize(
    "text", ["", "[]", "nothing", '{"tasks": NaN}', '{"tasks": [}', "{" * 5000]
)
def test_text_that_is_no_json_object_is_malformed(text):
    assert "no" in problems_of(text)


def test_the_messages_that_a_judge_names_are_quoted_in_their_own_words():
    long = TranscriptMessage(
        5, "assistant", "Some words. " * 40 + "The pharmacy is open until eight. Bye now."
    )
    call = {"request": {"function": {"name": "createReminder"}, "arguments": {"at": "9:00"}}}
    silent = [
        TranscriptMessage(6, "assistant", "", generation=(call,)),
        TranscriptMessage(7, "assistant", " "),
    ]
    said = [*SAID, TranscriptMessage(4, "assistant", "…"), long, *silent]
    assert message_words(long, "when the pharmacy opens") == "The pharmacy is open until eight."
    assert "createReminder" in message_words(silent[0])
    assert nameable(said) == [1, 2, 5, 6]
    tasks = [
        entry(1, evidence=None, messages=[5, 0, 5]),
        entry(2, evidence=None, message="message 6"),
    ]
    found = read_answer(answer(tasks), Question(TASKS, said))
    assert [[item.message for item in v.evidence] for v in found.verdicts.values()] == [[5], [6]]
    assert not quoted_from_nowhere(list(found.verdicts.values()))


def test_an_answer_that_was_cut_off_counts_as_far_as_it_is_complete():
    whole = answer([entry(1), entry(2)])
    for end in range(len(whole)):
        found = read_answer(whole[:end], Question(TASKS, SAID))
        assert set(found.verdicts) <= {1, 2}
        assert all(verdict.score == 0.5 for verdict in found.verdicts.values())
        assert (1 in found.verdicts) == (end > whole.index("}"))


@pytest.mark.long
@pytest.mark.parametrize(
    "text",
    ["{", "[", '{"a":', '"', '{"score":1}', '\\"', ",", "/*", "//", "{'a':", "```", "- ", " ,"],
)
def test_hostile_answers_are_read_in_linear_time(text):
    asked = Question(TASKS, SAID)

    def steps(count):
        seen = 0

        def step(frame, event, arg):
            nonlocal seen
            seen += 1

        sys.setprofile(step)
        try:
            read_answer(text * count + '"', asked)
        finally:
            sys.setprofile(None)
        return seen

    steps(1)  # imports what reading needs; a short answer takes another way
    assert steps(16_000) < 3 * steps(8_000)


@pytest.mark.parametrize(
    ("quote", "message"),
    [
        ("I've set the reminder - at 8:15.", 2),
        ('"I’VE SET THE reminder"', 2),
        ("set the … in all shops", 2),
        ("in all shops ... set the", None),
        ("8:15", 2),
        ("Remind me", 1),
        ("It costs 4 euros", None),
        ("…", None),
        ("Assistant: I've set the reminder — at 8:15!", 2),
        ("**I've set** the reminder", 2),
        ("«it costs 3 euros»", 2),
        ("I have booked a flight to Mars", None),
        ("e", None),
        ("all", 2),
        ("in a", None),
        ("3", 2),
    ],
)
def test_quotations_are_located_in_the_transcript(quote, message):
    assert locate(quote, SAID) == message


@pytest.mark.parametrize("quotes", [False, True])
def test_the_verdict_schema_is_strict_throughout_and_asks_for_exactly_these_tasks(quotes):
    schema = answer_schema([2, 3], [1, 2, 4], quotes=quotes)
    tasks = schema["properties"]["tasks"]
    for part in (schema, tasks["items"]):
        assert part["additionalProperties"] is False
        assert set(part["required"]) == set(part["properties"])
    assert (tasks["minItems"], tasks["maxItems"]) == (2, 2)
    assert tasks["items"]["properties"]["task"]["enum"] == [2, 3]
    assert ("evidence" in tasks["items"]["properties"]) == quotes
    strict = {
        "type",
        "properties",
        "required",
        "additionalProperties",
        "items",
        "minItems",
        "maxItems",
        "enum",
        "pattern",
    }
    assert (
        set(re.findall(r'"(\w+)":', json.dumps(schema)))
        - {"tasks", "tone", *tasks["items"]["properties"]}
        <= strict
    )


@pytest.mark.parametrize("reason", ["1.2.1.2.1", "- - - -", "..........", " Yes, fine", "No"])
def test_the_schema_admits_no_reason_that_begins_without_a_word(reason):
    task = answer_schema([1])["properties"]["tasks"]["items"]["properties"]
    assert re.match(task["reason"]["pattern"], "It named the price.")
    assert not re.match(task["reason"]["pattern"], reason)


def test_the_schema_of_a_very_long_conversation_does_not_list_its_messages():
    items = answer_schema([1], range(1, 2000))["properties"]["tasks"]["items"]["properties"][
        "messages"
    ]["items"]
    assert items == {"type": "integer"}


class Panel(FakeJudge):
    """Gives these verdicts about every conversation."""

    def __init__(self, *verdicts):
        super().__init__()
        self.verdicts = verdicts

    async def score(self, view):
        return self.verdicts


async def judged(job_, *verdicts, says=()):
    """Return the recorded scores of the tasks of `SAID`, which goes on with what the user says."""
    agents = {"withheld": FakeAgent([SAID[1].content])}
    stage = Stage(job_, agents, {"withheld": FakeEvaluator([*says])}, Panel(*verdicts))
    talk = (await stage.run(conditions=("withheld",))).conversation("withheld")
    return talk.verdict.tasks


@pytest.mark.parametrize(("score", "is_passed"), [(0.59, False), (0.6, False), (0.61, True)])
async def test_a_task_passes_above_its_bar_and_not_at_it(score, is_passed):
    """Judges like 0.6, which is the bar if the job has no other."""
    (task,) = await judged(job(tasks=[{"task": "a"}]), Verdict("j", (TaskVerdict(1, score),)))
    assert task.passed is is_passed


@pytest.mark.parametrize(("score", "met"), [(0.5, False), (0.51, True)])
async def test_an_item_of_a_rubric_is_met_above_a_half_whatever_its_points(score, met):
    rubric = [{"criterion": "It answers", "points": 5}, {"criterion": "It invents", "points": -3}]
    both = Verdict("j", (TaskVerdict(1, score), TaskVerdict(2, score)))
    wanted, undesired = await judged(job(tasks=[], rubric=rubric), both)
    assert (wanted.passed, undesired.passed) == (met, not met)
    assert (wanted.earned, undesired.earned) == ((5, -3) if met else (0, 0))


async def test_a_panels_score_is_the_median_per_task_with_its_spread():
    verdicts = [
        Verdict(str(n), (TaskVerdict(1, a), TaskVerdict(2, b)))
        for n, (a, b) in enumerate([(0, 1), (1, 1), (0.4, 0)])
    ]
    two = job(tasks=[{"task": "a"}, {"task": "b"}])
    found = [(task.task, task.score, task.spread) for task in await judged(two, *verdicts)]
    assert found == [(1, 0.4, 1), (2, 1, 1)]


@pytest.mark.parametrize(
    ("seed", "asked"),
    [
        (
            {
                "conversation": [
                    {"role": "user", "content": "Remind me"},
                    {"role": "assistant", "content": "When?"},
                ]
            },
            None,
        ),
        ({"text": "Shops close at nine."}, 0),
    ],
    ids=["an earlier conversation", "a text"],
)
async def test_an_earlier_conversation_may_have_asked_for_a_task(seed, asked):
    seeded = job(tasks=[{"task": "a"}], seeds=[seed])
    (task,) = await judged(seeded, Verdict("j", (TaskVerdict(1, 0.5, "It did.", asked=0),)))
    assert (task.asked, task.measured) == (asked, asked is None)


@pytest.mark.parametrize(
    ("named", "asked"),
    [
        ((0, 0, 3), 0),
        ((0, 3), 3),
        ((0, 0, 3, 5, 7), 3),
        ((3, 5, 5), 5),
        ((0, None, None), 0),
        ((None,), None),
    ],
    ids=[
        "most say no",
        "split",
        "they name three messages",
        "most name one",
        "one says",
        "none says",
    ],
)
async def test_a_panel_first_decides_whether_a_task_was_asked_for(named, asked):
    verdicts = [Verdict("j", (TaskVerdict(1, 0.5, "It did.", asked=each),)) for each in named]
    says = [f"Message {number}" for number in (3, 5, 7)]
    (task,) = await judged(job(tasks=[{"task": "a"}]), *verdicts, says=says)
    assert task.asked == asked


@pytest.mark.parametrize(
    ("given", "wanted", "is_enough"),
    [(0, 1, False), (1, 1, True), (2, 3, True), (1, 2, False), (3, 5, False), (4, 6, True)],
)
def test_two_thirds_of_a_panel_are_enough(given, wanted, is_enough):
    assert enough(given, wanted) is is_enough


async def test_the_place_of_a_quotation_is_looked_up_and_not_taken_from_the_judge() -> None:
    job_ = job(tasks=[{"task": "a"}], greetings=[SAID[0].content])
    quotes = (
        Evidence("It costs 3 euros", 1),
        Evidence("Remind me", None),
        Evidence("a flight to Mars", 2),
    )
    (task,) = await judged(job_, Verdict("j", (TaskVerdict(1, 1.0, "r", quotes),)))
    assert [item.message for item in task.evidence] == [2, 1, None]
    assert task.fabricated == ("a flight to Mars",)
    assert task.unproved


CALLED = {"request": {"function": {"name": "remind"}, "arguments": {"at": "8:15"}}}


@pytest.mark.parametrize(
    ("score", "evidence", "kind", "unproved"),
    [
        (1.0, [Evidence("Remind me at 8:15", 1)], "llm", True),
        (0.1, [Evidence("Remind me at 8:15", 1)], "llm", True),
        (1.0, [Evidence("Thanks!", 3), Evidence("Remind me", None)], "llm", True),
        (0.0, [Evidence("Remind me at 8:15", 1)], "llm", False),
        (1.0, [Evidence("Remind me at 8:15", 1), Evidence("It costs 3 euros", 2)], "llm", False),
        (1.0, [Evidence("I’ve set the reminder", None)], "llm", False),
        (1.0, [Evidence("8:15", None)], "llm", False),
        (1.0, [], "llm", False),
        (1.0, [Evidence("Remind me at 8:15", 1)], "rules", False),
    ],
)
async def test_what_only_the_user_said_proves_nothing_that_the_agent_did(
    score: float, evidence: list[Evidence], kind: str, unproved: bool
) -> None:
    job_ = job(
        tasks=[{"task": "a", "rules": [{"pattern": "x"}]}],
        greetings=[SAID[0].content],
        scorer={"kind": kind},
    )
    (task,) = await judged(
        job_, Verdict("j", (TaskVerdict(1, score, "r", tuple(evidence)),)), says=["Thanks!"]
    )
    assert (task.unproved, task.fabricated) == (unproved, ())


async def test_a_job_that_requires_evidence_takes_none_of_the_user_alone() -> None:
    job_ = job(tasks=[{"task": "a"}], greetings=[SAID[0].content], scorer={"evidence": "require"})
    stage = Stage(
        job_,
        judge=Panel(Verdict("j", (TaskVerdict(1, 1.0, "r", (Evidence(SAID[0].content, 1),)),))),
    )
    talk = (await stage.run(conditions=("withheld",))).conversation("withheld")
    assert talk is not None
    assert talk.score is not None
    assert (talk.score.score, talk.score.fault) == (None, "judge")
    assert (
        "names only what the user said, which does not show what the agent did (scorer.evidence:"
        " require)" in (talk.score.reason)
    )


def test_a_call_with_the_users_words_is_the_agents() -> None:
    said = [SAID[0], TranscriptMessage(2, "assistant", "Done.", generation=(CALLED,))]
    by_quote = TaskVerdict(1, 1.0, "r", (Evidence("8:15", 1),))
    assert only_of_the_user(by_quote, said) == ""
    of_user = [TranscriptMessage(1, "user", "8:15", generation=(CALLED,)), SAID[1]]
    assert "only what the user said" in only_of_the_user(
        TaskVerdict(1, 1.0, "r", (Evidence("8:15", 1),)), of_user
    )
    state = '{"resources":[{"name":"Remind me at 8:15"}]}'
    assert (
        only_of_the_user(
            TaskVerdict(1, 1.0, "r", (Evidence("Remind me … 8:15", 1),)), SAID, [state]
        )
        == ""
    )
