"""The result as JSON follows one documented schema."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from bioeval_tui.cli.jobs import schema
from bioeval_tui.record.state import RunState
from bioeval_tui.report.document import RunDocument, document_of, document_schema, run_document
from bioeval_tui.report.loading import load_run
from tests.unit.report.recorded import GOLDEN, Recorded, Talk, scoring


def test_a_conditions_score_is_the_mean_and_each_trial_is_listed() -> None:
    run = Recorded([scoring(0.2), scoring(0.6)], [scoring(1.0), scoring(1.0)]).loaded()
    withheld = run_document(run)["conditions"]["withheld"]
    assert withheld["score"] == 0.4
    assert [(trial["trial"], trial["score"]) for trial in withheld["trials"]] == [(1, 0.2), (2, 0.6)]
    assert "messages" not in withheld, "one trial's words must not pass for all of them"


def test_a_condition_with_an_unmeasured_trial_has_no_score_but_a_mean_of_the_others() -> None:
    run = Recorded([scoring(0.2), Talk(tasks=None)]).loaded()
    withheld = run_document(run)["conditions"]["withheld"]
    assert withheld["score"] is None
    assert (withheld["trials_used"], withheld["trials_held"], withheld["mean_of_used"]) == (1, 2, 0.2)


def test_a_result_names_job_agent_and_model() -> None:
    result = run_document(Recorded([scoring(0.5)], started={"model": "small", "batch_id": "b"}).loaded())
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
    messages = run_document(Recorded([Talk(unsent="I am a model")]).loaded())["conditions"]["withheld"][
        "messages"
    ]
    assert [message["sent"] for message in messages] == [True, True, False]


@pytest.mark.parametrize("keep", ["whole", "begun", "nothing"])
def test_every_result_follows_the_printed_schema(keep: str) -> None:
    printed = CliRunner().invoke(schema, ["result"]).output
    assert json.loads(printed) == json.loads(json.dumps(document_schema()))
    if keep == "nothing":
        result = document_of(RunState())
    elif keep == "begun":
        result = run_document(Recorded([Talk(ends=False, unsent="x")], trials=3).loaded())
    else:
        result = run_document(load_run(GOLDEN))
    RunDocument.model_validate_json(json.dumps(result), strict=True)  # the model that the schema was made of


def field_tables() -> str:
    """Return the tables of docs/reports.md, as the schema has them."""
    schema_ = document_schema()
    parts = {"A run (`RunResult`)": schema_}
    for name in (
        "Conclusion",
        "Condition",
        "PassK",
        "Conversation",
        "Message",
        "Latency",
        "Task",
        "Quote",
        "Assertion",
        "Part",
        "Fact",
        "Guard",
        "UserFault",
    ):
        parts[f"`{name}Result`"] = schema_["$defs"][f"{name}Result"]
    lines = []
    for title, part in parts.items():
        about = " ".join(part["description"].split()) if part is not schema_ else ""
        lines += [f"{title}{': ' if about else ''}{about}", "", "| field | type | |", "|---|---|---|"]
        lines += [
            f"| `{name}` | {type_words(field)} | {' '.join(field.get('description', '').split())} |"
            for name, field in part["properties"].items()
        ]
        lines.append("")
    return "\n".join(lines)


def type_words(field: dict[str, Any]) -> str:
    """Return a field's type in a few words."""
    if "anyOf" in field:
        return " or ".join(dict.fromkeys(map(type_words, field["anyOf"])))
    if "$ref" in field:
        return f"`{field['$ref'].rpartition('/')[2]}`"
    if "enum" in field or "const" in field:
        return ", ".join(f"`{value}`" for value in field.get("enum", [field.get("const")]))
    if field.get("type") == "array":
        return f"list of {type_words(field['items'])}"
    if field.get("type") == "object" and isinstance(field.get("additionalProperties"), dict):
        return f"object of {type_words(field['additionalProperties'])}"
    return str(field.get("type", "any"))


def test_the_documentation_has_every_field_of_the_schema() -> None:
    page = (Path(__file__).parents[3] / "docs" / "reports.md").read_text(encoding="utf-8")
    assert field_tables() in page, f"put these tables into docs/reports.md:\n{field_tables()}"
