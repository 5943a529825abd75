"""The result as JSON follows one documented schema."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from bioeval_tui.report.comparison import compare
from bioeval_tui.report.document import RunDocument, run_document
from bioeval_tui.report.result import load_run
from tests.command import schema_of
from tests.documents import document_of, pair_comparison
from tests.unit.report.recorded import GOLDEN, Recorded, Talk, scoring


def test_a_conditions_score_is_the_mean_and_each_trial_is_listed() -> None:
    run = Recorded([scoring(0.2), scoring(0.6)], [scoring(1.0), scoring(1.0)]).loaded()
    withheld = run_document(run)["conditions"]["withheld"]
    assert withheld["score"] == 0.4
    assert [(trial["trial"], trial["score"]) for trial in withheld["trials"]] == [
        (1, 0.2),
        (2, 0.6),
    ]
    assert "messages" not in withheld, "one trial's words must not pass for all of them"


def test_a_condition_with_an_unmeasured_trial_has_no_score_but_a_mean_of_the_others() -> None:
    run = Recorded([scoring(0.2), Talk(tasks=None)]).loaded()
    withheld = run_document(run)["conditions"]["withheld"]
    assert withheld["score"] is None
    assert (withheld["trials_used"], withheld["trials_held"], withheld["mean_of_used"]) == (
        1,
        2,
        0.2,
    )


def test_a_result_names_job_agent_and_model() -> None:
    result = run_document(
        Recorded([scoring(0.5)], started={"model": "small", "batch_id": "b"}).loaded()
    )
    assert (result["job"], result["agent"], result["model"], result["batch_id"]) == (
        "job",
        "agent",
        "small",
        "b",
    )


def test_a_finished_conversation_without_a_score_names_who_caused_it() -> None:
    unjudged = run_document(Recorded([Talk(tasks=None)]).loaded())["conditions"]["withheld"]
    assert (unjudged["end_reason"], unjudged["fault"]) == ("signed_off", "judge")
    broken = Talk(reason="agent_failed", fault="agent", tasks=None)
    assert run_document(Recorded([broken]).loaded())["conditions"]["withheld"]["fault"] == "agent"


def test_a_run_of_one_condition_is_neither_clean_nor_unclean() -> None:
    assert run_document(Recorded([scoring(0.5)]).loaded())["clean"] is None
    assert run_document(Recorded([scoring(0.5)], [scoring(0.5)]).loaded())["clean"] is True


def test_an_unsent_message_is_marked_in_the_result() -> None:
    messages = run_document(Recorded([Talk(unsent="I am a model")]).loaded())["conditions"][
        "withheld"
    ]["messages"]
    assert [message["sent"] for message in messages] == [True, True, False]


@pytest.mark.parametrize("keep", ["whole", "begun", "nothing"])
def test_every_result_follows_the_printed_schema(keep: str) -> None:
    if keep == "nothing":
        result = run_document(None)
    elif keep == "begun":
        result = run_document(Recorded([Talk(ends=False, unsent="x")], trials=3).loaded())
    else:
        result = run_document(load_run(GOLDEN))
    # the model that the schema was made of
    RunDocument.model_validate_json(json.dumps(result), strict=True)


def test_the_documentation_shows_only_keys_of_the_schema() -> None:
    page = (Path(__file__).parents[3] / "docs" / "reports.md").read_text(encoding="utf-8")
    shown = json.loads(page.partition("```json\n")[2].partition("```")[0].replace("…", ""))
    whole = schema_of("result")
    names = {
        name for part in [whole, *whole["$defs"].values()] for name in part.get("properties", {})
    }
    assert keys(shown) - names - {"withheld", "supplied", "1", "task"} == set()


def keys(value: Any) -> set[str]:
    """Return the keys of a JSON value, at any depth."""
    if isinstance(value, list):
        return {key for item in value for key in keys(item)}
    return (
        {*value, *(key for item in value.values() for key in keys(item))}
        if isinstance(value, dict)
        else set()
    )


@pytest.mark.parametrize("part", ["target", "evaluator", "scorer"])
def test_a_foreign_recording_may_have_anything_in_place_of_a_part_of_its_job(part: str) -> None:
    told = Talk(unsent="bye", reason="evaluator_failed")
    recorded = Recorded([Talk()], [told])
    recorded.started["job"] = {**recorded.loaded().state.job, part: "a text"}
    run = recorded.loaded()
    for kind in ("html", "json", "md", "csv", "junit"):
        assert document_of(kind, run)
    assert pair_comparison(compare(run, run))
