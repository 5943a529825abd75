"""Rules give the same score for the same transcript, and say why."""

from contextlib import suppress
from dataclasses import replace

import pytest

from bioeval_tui.base.errors import NotMeasuredError
from bioeval_tui.jobs.models import EvaluationJob
from bioeval_tui.peers.offline import RulesJudge
from bioeval_tui.peers.seams import PeerError
from bioeval_tui.protocols import JudgeView, TranscriptMessage
from tests.command import call


def view(rules, *said):
    job = EvaluationJob.model_validate(
        {
            "target": {"user": "u", "chatbot": "c"},
            "aspirationalAverage": 1000.0,
            "tasks": ({"task": "Set a reminder", "rules": tuple(rules)},),
            "facts": (),
        }
    )
    roles = ("user", "assistant")
    return JudgeView(
        job, "withheld", [TranscriptMessage(i + 1, roles[i % 2], t) for i, t in enumerate(said)]
    )


async def verdict(rules, *said):
    (found,) = await RulesJudge().score(view(rules, *said))
    return found.tasks[0]


async def test_the_score_is_the_weighted_share_of_rules_that_match():
    rules = [{"pattern": "reminder is SET", "weight": 3.0}, {"pattern": "8:15"}]
    task = await verdict(rules, "Hi", "Hello. Your reminder is set! Bye.")
    assert task.score == pytest.approx(0.75)
    assert (
        task.reason
        == "3 of 4 points = 0.75: the agent said `reminder is SET` (3). No points for “the agent"
        " said `8:15`” (1)."
    )


async def test_evidence_quotes_the_sentence_and_its_message():
    task = await verdict([{"pattern": "is set"}], "Hi", "Hello. Your reminder is set! Bye.")
    assert [(e.quote, e.message) for e in task.evidence] == [("Your reminder is set!", 2)]


async def test_long_evidence_is_cut_around_the_match():
    task = await verdict([{"pattern": "needle"}], "Hi", "word " * 500 + "needle " + "word " * 500)
    assert "needle" in task.evidence[0].quote
    assert len(task.evidence[0].quote) <= 240


@pytest.mark.parametrize("sign", ["\u00a0", "\u202f", "\u3000", " \u034f", "\u00ad ", " \u200d"])
async def test_what_reads_the_same_is_the_same_to_a_rule(sign):
    """Else an agent would not have said what must not be said."""
    said = f"It is{sign}set."
    absent = await verdict([{"pattern": "is set", "absent": True}], "Set it", said)
    assert absent.score == 0
    assert absent.evidence[0].message == 2
    assert (await verdict([{"pattern": "is set"}], "Set it", said)).score == 1


async def test_absent_inverts_a_rule_and_who_selects_the_speaker():
    assert (await verdict([{"pattern": "8:15", "absent": True}], "8:15", "Done.")).score == 1
    assert (await verdict([{"pattern": "8:15", "who": "user"}], "8:15", "Done.")).score == 1
    broken = await verdict([{"pattern": "8:15", "absent": True}], "Hi", "At 8:15.")
    assert broken.score == 0
    assert broken.reason.endswith("No points for “the agent avoided `8:15`” (1).")


async def test_a_rule_of_one_condition_counts_there_only():
    rules = [
        {"pattern": "done", "only": "supplied", "reason": "set it"},
        {"pattern": "done", "absent": True, "only": "withheld", "reason": "set none"},
    ]
    asked = view(rules, "Hi", "Which time zone?")
    done = view(rules, "Hi", "Done.")
    scores = {}
    for name, one in (("asked", asked), ("done", done)):
        for condition in ("withheld", "supplied"):
            (found,) = await RulesJudge().score(replace(one, condition=condition))
            scores[name, condition] = found.tasks[0].score
    assert scores == {
        ("asked", "withheld"): 1.0,
        ("asked", "supplied"): 0.0,
        ("done", "withheld"): 0.0,
        ("done", "supplied"): 1.0,
    }


async def test_a_rules_own_reason_is_used():
    task = await verdict([{"pattern": "set", "reason": "confirms the reminder"}], "Hi", "set")
    assert "confirms the reminder" in task.reason


@pytest.mark.parametrize(
    ("rules", "says"),
    [
        ([], r"task 1 \(Set a reminder\) has no rules; add `rules`"),
        ([{"pattern": "(a|aa)+$"}], "took longer than"),
        ([{"pattern": "["}], "cannot be read"),
    ],
)
async def test_a_task_whose_rules_cannot_be_applied_is_not_measured(rules, says):
    with pytest.raises((NotMeasuredError, PeerError), match=says):
        await verdict(rules, "Hi", "a" * 60 + "!")


@pytest.mark.parametrize(
    "pattern", ["(", "[a", "a{3", "a" * 1001, "(" * 900 + ")" * 900, r"\p{Nope}", "*"]
)
async def test_any_pattern_is_searched_or_cannot_be_read(pattern):
    with suppress(NotMeasuredError):
        assert (await verdict([{"pattern": pattern}], "Hi", "a")).score in (0, 1)


def test_checking_a_job_names_the_column_of_a_pattern_that_cannot_be_read(tmp_path):
    path = tmp_path / "job.yml"
    path.write_text(
        "target: {user: u, chatbot: c}\naspirationalAverage: 1000\nfacts: []\nscorer: {kind:"
        " rules}\ntasks: [{task: Set a reminder, rules: [{pattern: abc(}]}]\n"
    )
    assert "column 5" in call("check", path).stdout


@pytest.mark.parametrize(
    ("pattern", "said"), [("Zu\u0308rich", "Z\u00fcrich"), ("Z.rich|서울", "Zu\u0308rich")]
)
async def test_a_letter_with_its_accent_is_one_however_it_is_written(pattern, said):
    assert (await verdict([{"pattern": pattern}], "Hi", f"It is in {said}.")).score == 1.0
