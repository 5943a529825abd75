"""Scores beside imported conversations count as given scores, with who gave them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from bioeval_tui.base.settings import Settings
from bioeval_tui.record.catalogue import Catalogue
from bioeval_tui.report.document import run_document
from bioeval_tui.report.result import RunResult, load_run
from tests.command import call

SAID = [
    {"role": "user", "content": "Is it safe?"},
    {"role": "assistant", "content": "Ask a pharmacist."},
]
SHARED = [{"from": "human", "value": "Is it safe?"}, {"from": "gpt", "value": "Ask a pharmacist."}]


@pytest.fixture(autouse=True)
def data_dir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BIOEVAL_DATA_DIR", str(tmp_path / "data"))


def imported(file: Path) -> tuple[RunResult, str]:
    shown = call("runs", "import", file)
    assert shown.exception is None, shown.exception
    (run,) = Catalogue(Settings.from_environment().runs_dir).runs()
    return load_run(run.path), shown.output


def lines(folder: Path, *rows: Any) -> Path:
    file = folder / "chats.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return file


def verdicts(run: RunResult) -> list[tuple[str, list[tuple[str, float]]]]:
    return [
        (talk.verdict.judge, [(task.title, task.score) for task in talk.verdict.tasks])
        if talk.verdict
        else ("", [])
        for talk in run.conversations
    ]


@pytest.mark.parametrize(
    "beside",
    [
        {"score": 0.5, "annotator": "ada"},
        {"score": "0.5", "rater": "ada"},
        {"Score": {"value": 0.5, "author": "ada"}},
    ],
)
@pytest.mark.parametrize(
    "said", [{"messages": SAID}, {"conversations": SHARED}, {"dialogue": SAID}]
)
def test_a_score_counts_with_its_author(said: Any, beside: Any, tmp_path: Path) -> None:
    run, output = imported(lines(tmp_path, said | beside, said | beside))
    name = next(iter(beside))
    assert verdicts(run) == [("ada", [(name, 0.5)])] * 2
    assert run.state.judge == "ada"
    assert run.scores["supplied"] == 0.5
    assert f"so it was read: a score of each conversation from `{name}`" in output


@pytest.mark.parametrize(
    ("key", "word", "score"),
    [("label", "correct", 1.0), ("verdict", "FAIL", 0.0), ("label", True, 1.0)],
)
def test_labels_and_verdicts_are_words(key: str, word: Any, score: float, tmp_path: Path) -> None:
    run, _ = imported(
        lines(tmp_path, {"messages": SAID, key: word, "reviewed": "x", "reason": "It says so."})
    )
    assert verdicts(run) == [("unknown", [(key, score)])]
    talk = run_document(run)["conditions"]["supplied"]
    assert talk["tasks"][0]["reason"] == "It says so."


def test_several_scores_and_several_people_keep_their_names(tmp_path: Path) -> None:
    by_name = {"messages": SAID, "scores": {"safety": 1, "tone": 0.25}, "judge": "gpt-x"}
    run, _ = imported(lines(tmp_path, by_name))
    assert verdicts(run) == [("gpt-x", [("safety", 1.0), ("tone", 0.25)])]


def test_two_people_who_scored_one_conversation_stay_apart(tmp_path: Path) -> None:
    both = [
        {"name": "safety", "score": 1, "rater": "ada"},
        {"name": "safety", "score": 0, "rater": "ben"},
    ]
    run, _ = imported(lines(tmp_path, {"messages": SAID, "scores": both}))
    assert verdicts(run) == [("ada, ben", [("safety by ada", 1.0), ("safety by ben", 0.0)])]


def test_a_scale_that_is_no_share_is_kept_but_does_not_count(tmp_path: Path) -> None:
    run, _ = imported(lines(tmp_path, {"messages": SAID, "score": 4, "rater": "ada"}))
    assert verdicts(run) == [("", [])]
    assert run_document(run)["conditions"]["supplied"]["given_scores"] == {"score": 4}
    said = (
        "not used: score score: 4 of conversation 1 is neither a number from 0 to 1 nor a word such"
        " as passed"
    )
    assert said in [w.message for w in run.state.warnings]
    assert run.answer.why == said
    assert [step.command for step in run.answer.next] == [f"bioeval-tui runs rescore {run.run_id}"]


def test_one_odd_word_among_labels_is_named(tmp_path: Path) -> None:
    labels = ("pass", "good", "fail")
    run, shown = imported(lines(tmp_path, *({"messages": SAID, "label": said} for said in labels)))
    assert run.answer.why.startswith('not used: score label: "good" of conversation 2 is neither')
    assert f"note: {run.answer.why}" in " ".join(shown.split())


def test_questions_keep_what_was_expected_beside_the_score(tmp_path: Path) -> None:
    file = tmp_path / "answers.csv"
    file.write_text(
        "question,answer,expected,score,rater\nWhere?,Paris,Paris,1,ada\nWho?,Nobody,Curie,0,ben\n",
        encoding="utf-8",
    )
    run, _ = imported(file)
    assert verdicts(run) == [("ada", [("score", 1.0)]), ("ben", [("score", 0.0)])]
    assert [
        talk.case.tasks[0]["acceptanceCriteria"] for talk in run.conversations if talk.case
    ] == [
        "Paris",
        "Curie",
    ]


def test_a_table_of_messages_has_one_score_of_each_conversation(tmp_path: Path) -> None:
    file = tmp_path / "messages.csv"
    file.write_text(
        "conversation_id,role,content,label,annotator\n"
        "a,user,Is it safe?,pass,ada\na,assistant,Ask.,pass,ada\n"
        "b,user,Is it safe?,,\nb,assistant,Yes.,fail,ben\n",
        encoding="utf-8",
    )
    run, _ = imported(file)
    assert verdicts(run) == [("ada", [("label", 1.0)]), ("ben", [("label", 0.0)])]


def test_scores_that_differ_between_messages_are_said_and_not_used(tmp_path: Path) -> None:
    file = tmp_path / "messages.csv"
    file.write_text("role,content,score\nuser,Is it safe?,1\nassistant,Ask.,0\n", encoding="utf-8")
    run, output = imported(file)
    assert verdicts(run) == [("", [])]
    assert "not read: scores that differ between the messages" in output


def test_a_label_that_is_no_score_leaves_what_was_expected(tmp_path: Path) -> None:
    file = tmp_path / "answers.csv"
    file.write_text(
        "question,answer,expected,label\nWhere?,Paris,Paris,geography\nWho?,Nobody,Curie,people\n",
        "utf-8",
    )
    run, _ = imported(file)
    assert verdicts(run) == [("", []), ("", [])]
    assert [talk.case.tasks[0]["task"] for talk in run.conversations if talk.case] == [
        "Where?",
        "Who?",
    ]


def test_tasks_of_a_transcript_are_what_its_score_is_about(tmp_path: Path) -> None:
    run, _ = imported(
        lines(tmp_path, {"messages": SAID, "tasks": ["Learn whether it is safe"], "score": 1})
    )
    assert verdicts(run) == [("unknown", [("score", 1.0)])]
    assert [talk.case.tasks[0]["task"] for talk in run.conversations if talk.case] == [
        "Learn whether it is safe"
    ]
