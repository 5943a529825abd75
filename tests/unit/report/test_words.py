"""Every format uses the same words."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from bioeval_tui.base import units
from bioeval_tui.grade.task_report import ReportExtra
from bioeval_tui.grade.uncertainty import Uncertainty
from bioeval_tui.peers.transcript import sent_messages
from bioeval_tui.record.attachments import attachment_event, file_words
from bioeval_tui.record.condition_names import PUBLISHED_NAMES
from bioeval_tui.report import words
from bioeval_tui.report.document import run_document
from bioeval_tui.report.frames import table_rows
from bioeval_tui.statistics.estimates import PassK
from tests.documents import document_of
from tests.tui.test_transcript import seen, shown
from tests.unit.report.formats.test_documents import graded
from tests.unit.report.recorded import Recorded, Talk


@pytest.mark.parametrize("says", ["I help, and", " "])
async def test_an_answer_that_is_empty_or_cut_off_is_marked_in_every_view(says: str) -> None:
    run = Recorded([Talk(says=says, cut_off=says != " ")]).loaded()
    told = "empty answer" if says == " " else "cut off at its model's length limit"
    for text in (document_of("html", run).replace("&#39;", "'"), document_of("md", run)):
        assert told in text
    message = run_document(run)["conditions"]["withheld"]["messages"][1]
    (turn,) = table_rows([run], "turns")
    for found in (message, turn):
        assert (found["cut_off"], found["empty"]) == (says != " ", says == " ")
    sample = json.loads(document_of("inspect", run))["samples"][0]
    reasons = [sample["output"]["choices"][0]["stop_reason"]]
    reasons += [
        each["output"]["choices"][0]["stop_reason"]
        for each in sample["events"]
        if each["event"] == "model"
    ]
    assert set(reasons) == {"stop" if says == " " else "max_tokens"}
    assert ("finish_reasons" in document_of("otlp", run)) is (says != " ")
    assert ('"cut_off": true' in document_of("atif", run)) is (says != " ")
    talk = run.state.conversation("withheld")
    assert talk is not None
    async with shown(talk, (140, 24)) as (transcript, _):
        assert told in seen(transcript)


async def test_a_file_is_named_in_every_view_and_an_answer_with_nothing_else_is_not_empty() -> None:
    run = Recorded(
        [Talk(says="", does=[attachment_event("scan.png", "image/png", 12_000)])]
    ).loaded()
    words = "[picture: scan.png, image/png, 12 kB]"
    assert words in document_of("html", run)
    assert words.replace("[", r"\[").replace("]", r"\]") in document_of("md", run)
    assert run_document(run)["conditions"]["withheld"]["messages"][1]["empty"] is False
    (turn,) = table_rows([run], "turns")
    assert turn["empty"] is False
    talk = run.state.conversation("withheld")
    assert talk is not None
    async with shown(talk, (140, 24)) as (transcript, _):
        assert words in seen(transcript)
        assert "empty answer" not in seen(transcript)
    said = sent_messages(talk, "So long")
    assert [(message.role, file_words(message.generation)) for message in said][1] == (
        "assistant",
        [words],
    )


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        (units.number(None), "–"),
        (units.number_up(0.7801), "0.79"),
        (units.number_up(0.78), "0.78"),
        (units.latency(None), "–"),
        (units.latency_change(-1500), "−1.50 s"),
        (units.latency_change(0.1), "+0.1 ms"),
        (units.count(12345), "12,345"),
        (units.duration(59.4), "59 s"),
        (units.duration(108), "1 m 48 s"),
        (units.duration(7500), "2 h 05 m"),
        (words.who("rehearsal: rules judge", "judge"), "rules judge"),
        (words.who("gpt-4.1-mini", "judge"), "judge gpt-4.1-mini"),
        (words.value_text({"a": [1, None]}), '{"a":[1,null]}'),
        (words.pass_words(()), "no trials"),
        (words.pass_words([PassK(k, 1 / k, 1) for k in range(1, 8)]),
         "k = 1: 1.00, 2: 0.50, 3: 0.33, 4: 0.25, 5: 0.20, … 7: 0.14"),
    ],
)  # fmt: skip
def test_values_are_written_with_units_and_signs(said: str, expected: str) -> None:
    assert said == expected


def test_the_end_of_a_conversation_names_who_caused_it() -> None:
    failed = Talk(reason="agent_failed", fault="agent", detail="503 four times")
    run = Recorded([Talk()], [failed]).loaded()
    assert [run.conversation(condition, 1).ending for condition in PUBLISHED_NAMES] == [
        "signed off",
        "the agent failed, fault: agent: 503 four times",
    ]


def test_a_medal_is_a_word_and_a_symbol() -> None:
    none = {"silver_medal": False, "any_medal": False}
    assert words.medal_word(graded()) == "◐ Silver"
    assert words.medal_word(graded(**none)) == "– No medal"
    assert words.medal_word(graded(**none, valid_submission=False)) == "! Invalid"
    missing = graded(**none, valid_submission=False, submission_exists=False)
    assert words.medal_word(missing) == "! Invalid", "as it is counted"
    assert words.next_words(missing) == "nothing was submitted"


def test_a_rank_is_described_as_far_as_it_is_known() -> None:
    extra = ReportExtra(leaderboard_position=39, next_medal="gold", score_needed=0.95)
    report = graded(
        leaderboard_size=1043, leaderboard_percentile=96.4, beats_human=True, extra=extra
    )
    assert (
        words.standing(report)
        == "score 0.9, higher is better; rows scored: not known; would place 39 of 1,044;"
        " percentile 96.4; above the human median; gold begins at 0.95"
    )
    assert words.standing(graded(score=None)) == "no score"


def test_a_chance_just_below_the_level_does_not_read_as_the_level() -> None:
    sure = Uncertainty(low=0.5, high=0.9, gold=0.0521, place_best=2, place_worst=3)
    report = replace(graded(), gold_medal=False, silver_medal=False, bronze_medal=False)
    assert words.sure_words(replace(report, uncertainty=sure)).startswith("no: 94.8 % for no medal")
    surer = replace(sure, gold=0.048)
    assert words.sure_words(replace(report, uncertainty=surer)).startswith("yes: 95 % for no medal")
