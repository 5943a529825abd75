"""Which answers of a judge are usable, and where quotations are found."""

import json

import pytest

from bioeval_tui.evaluation.conversation.scoring import combine_verdicts
from bioeval_tui.evaluation.job.models import JobTask
from bioeval_tui.evaluation.judges.panel import enough
from bioeval_tui.evaluation.judges.verdicts import MalformedAnswerError, answer_schema, locate, read_verdict
from bioeval_tui.evaluation.seams import Evidence, TaskVerdict, TranscriptMessage, Verdict
from tests.unit.evaluation.conversation.fakes import job

TASKS = (JobTask(task="Ask for a reminder"), JobTask(task="Ask the price"))
SAID = [
    TranscriptMessage(1, "user", "Remind me at 8:15"),
    TranscriptMessage(2, "assistant", "I’ve set the\nreminder — at 8:15. It costs 3 euros, in all shops."),
]


def entry(task, **more):
    return {"task": task, "scored": "x", "score": 0.5, "reason": "r", "evidence": ["3 euros"], **more}


def read(tasks, **more):
    return read_verdict(json.dumps({"tone": 0.5, "tasks": tasks, **more}), TASKS, SAID)


def test_a_verdict_scores_every_task_once_in_any_order():
    verdicts, tone = read([entry(2, score=1), entry(1, score=0, evidence=[])])
    assert [(v.task, v.score) for v in verdicts] == [(1, 0.0), (2, 1.0)]
    assert tone == 0.5


def test_a_custom_prompt_may_answer_in_the_published_shape():
    tasks = [{"scored": "a reminder", "score": 0.9}, {"scored": "the price", "score": 0.4}]
    answer = json.dumps({"tone": 0.5, "tasks": tasks})
    verdicts, _ = read_verdict(answer, TASKS, SAID, published=True)
    assert [(v.task, v.score, v.reason, v.evidence) for v in verdicts] == [(1, 0.9, "", ()), (2, 0.4, "", ())]
    with pytest.raises(MalformedAnswerError, match="does not say which task"):
        read_verdict(answer, TASKS, SAID)


def test_reasoning_text_is_not_part_of_a_verdict():
    answer = json.dumps({"tone": 0.5, "tasks": [entry(1), entry(2)]})
    verdicts, _ = read_verdict(f'<think>maybe {{"tone": 0}} or ```{{}}```</think>\n{answer}', TASKS, SAID)
    assert [v.score for v in verdicts] == [0.5, 0.5]


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


@pytest.mark.parametrize(
    ("tasks", "says"),
    [
        ([entry(1)], r"no score for task 2 \(of 2\)"),
        ([entry(1), entry(1), entry(2)], "task 1 is scored twice"),
        ([entry(1), entry(3)], "there is no task 3"),
        ([entry(1), entry(0)], "there is no task 0"),
        ([entry(1), entry(True)], "does not say which task"),
        ([entry(1), entry(2, score=1.2)], "the score of task 2 is 1.2; it must be from 0 to 1"),
        ([entry(1), entry(2, score=-0.1)], "must be from 0 to 1"),
        ([entry(1), entry(2, score="0.5")], "the score of task 2 is not a number"),
        ([entry(1), entry(2, score=True)], "is not a number"),
        ([entry(1), entry(2, score=None)], "is not a number"),
        ([entry(1), entry(2, reason=" ")], "task 2 has no reason"),
        ([entry(1), entry(2, evidence=[])], "task 2 has a score above 0 and no evidence"),
        ([entry(1), entry(2, evidence=[3])], "not a list of quotations"),
        ([entry(1), 7], "not an object"),
        ("none", "`tasks` is not a list"),
    ],
)
def test_any_other_verdict_is_malformed(tasks, says):
    with pytest.raises(MalformedAnswerError, match=says):
        read(tasks)


@pytest.mark.parametrize("text", ["", "[]", "nothing", '{"tasks": NaN}', '{"tasks": [}', "{" * 5000])
def test_text_that_is_no_json_object_is_malformed(text):
    with pytest.raises(MalformedAnswerError, match="not"):
        read_verdict(text, TASKS, SAID)


def test_json_is_found_inside_other_text():
    text = "Sure:\n```json\n" + json.dumps({"tasks": [entry(1), entry(2)]}) + "\n```\nAnything else?"
    assert len(read_verdict(text, TASKS, SAID)[0]) == 2


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


def test_the_verdict_schema_is_strict_throughout():
    schema = answer_schema()
    entry_schema = schema["properties"]["tasks"]["items"]
    for part in (schema, entry_schema):
        assert part["additionalProperties"] is False
        assert set(part["required"]) == set(part["properties"])


def test_a_panels_score_is_the_median_per_task_with_its_spread():
    verdicts = [
        Verdict(str(n), (TaskVerdict(1, a), TaskVerdict(2, b)))
        for n, (a, b) in enumerate([(0, 1), (1, 1), (0.4, 0)])
    ]
    two = job(tasks=[{"task": "a"}, {"task": "b"}])
    found = [(task.task, task.score, task.spread) for task in combine_verdicts(two, verdicts, SAID)]
    assert found == [(1, 0.4, 1), (2, 1, 1)]


@pytest.mark.parametrize(
    ("given", "wanted", "is_enough"),
    [(0, 1, False), (1, 1, True), (2, 3, True), (1, 2, False), (3, 5, False), (4, 6, True)],
)
def test_two_thirds_of_a_panel_are_enough(given, wanted, is_enough):
    assert enough(given, wanted) is is_enough


def test_the_place_of_a_quotation_is_looked_up_and_not_taken_from_the_judge() -> None:
    job_ = job(tasks=[{"task": "a"}])
    quotes = (Evidence("It costs 3 euros", 1), Evidence("Remind me", None), Evidence("a flight to Mars", 2))
    (task,) = combine_verdicts(job_, [Verdict("j", (TaskVerdict(1, 1.0, "r", quotes),))], SAID)
    assert [item.message for item in task.evidence] == [2, 1, None]
    assert task.fabricated == ("a flight to Mars",)
    assert task.unproved
