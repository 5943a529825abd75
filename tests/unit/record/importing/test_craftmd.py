"""A folder of CRAFT-MD's results becomes one run with four conditions, told apart by how the model
was asked.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bioeval_tui.base.errors import BioevalError
from bioeval_tui.record.importing.into_runs import import_file
from bioeval_tui.report.document import run_document
from bioeval_tui.report.result import RunResult, load_run
from tests.command import call

CONDITIONS = ["vignette", "multiturn", "singleturn", "summary"]
INVENTED = {
    "case_1": (
        "A gardener has red hands after a day among the roses.",
        "Thorn scratches",
        "Dermatology",
        "garden",
    ),
    "case_2": (
        "A baker sneezes whenever the flour is sifted.",
        "Baker's asthma",
        "Other",
        "kitchen",
    ),
    "case_10": ("A piper has sore lips after the festival.", "Overuse", "Other", "kitchen"),
}
"""Vignette, right answer, category and data set: no case of the study."""
PASSES = {
    "case_1": {"vignette": 5, "multiturn": 3, "singleturn": 0, "summarized": 2},
    "case_2": {"vignette": 4, "multiturn": 0, "singleturn": 0, "summarized": 0},
    "case_10": {"vignette": 0, "multiturn": 0, "singleturn": 1, "summarized": 5},
}
"""How many of five trials pass."""


def case_file(name: str, *, instructed_by: str = "system") -> dict[str, Any]:
    vignette, answer, *_ = INVENTED[name]
    case: dict[str, Any] = {
        "case_id": name,
        "case_vignette": vignette,
        "question": "What is the final diagnosis?",
        "correct_ans": answer.lower(),
    }
    for number in range(5):
        trial: dict[str, Any] = {
            "multiturn_conversation": [
                {
                    "role": instructed_by,
                    "content": "You are an AI doctor. Ask one question at a time.",
                },
                {"role": "assistant", "content": "Hi! What symptoms are you facing today?"},
                {"role": "user", "content": f"It hurts, for the {number}. time."},
                {"role": "assistant", "content": "Since when?"},
                {"role": "user", "content": "Since yesterday."},
                {"role": "assistant", "content": "**Final Diagnosis:** something else"},
            ],
            "summarized_conversation": "Somebody hurts since yesterday.",
        }
        for kind, passes in PASSES[name].items():
            trial[f"{kind}_frq"] = f"{answer if number < passes else 'a cold'}, {kind}"
            trial[f"extracted_ans_{kind}_frq"] = answer.lower() if number < passes else "a cold"
            trial[f"evaluation_{kind}_frq"] = int(number < passes)
            trial[f"{kind}_mcq"] = "Herpes"
        case[f"trial_{number}"] = trial
    return case


def copy_of_the_study(
    folder: Path,
    change: Callable[[dict[str, dict[str, Any]]], object] = lambda cases: None,
    **asked: Any,
) -> Path:
    """Write a copy of the study with one model, and return the model's folder."""
    model = folder / "craft-md" / "results" / "gpt4_1106"
    model.mkdir(parents=True)
    (folder / "craft-md" / "data").mkdir()
    rows = [
        f'{at},"{told}",a,b,c,d,{answer},{category},{data},{name}'
        for at, (name, (told, answer, category, data)) in enumerate(INVENTED.items())
    ]
    header = ",case_vignette,choice_1,choice_2,choice_3,choice_4,answer,category,dataset,case_id"
    table = folder / "craft-md" / "data" / "usmle_and_derm_dataset.csv"
    table.write_text("\n".join([header, *rows, ""]), "utf-8")
    cases = {name: case_file(name, **asked) for name in INVENTED}
    change(cases)
    for name, case in cases.items():
        (model / f"{name}.json").write_text(json.dumps(case), "utf-8")
    return model


def imported(model: Path, tmp_path: Path) -> RunResult:
    return load_run(import_file(model, tmp_path / "runs").path)


def test_a_models_folder_is_one_run_of_all_cases_and_trials_in_four_conditions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BIOEVAL_DATA_DIR", str(tmp_path))
    done = call("runs", "import", copy_of_the_study(tmp_path))
    assert done.exception is None
    assert "CRAFT-MD's results: 60 conversations" in done.stderr
    run = load_run(tmp_path / "runs" / f"{done.stdout.strip()}.jsonl")
    assert run.started.source is not None
    assert run.started.source.format == "craft-md"
    assert run.started.source.licence == "MIT"
    assert run.started.source.origin == "rajpurkarlab/craft-md"
    assert (run.started.job_name, run.started.model) == ("CRAFT-MD gpt4_1106", "gpt4_1106")
    assert list(run.started.conditions) == CONDITIONS
    cases = [
        (each.case.name, each.case.trial)
        for each in run.talks
        if each.case and each.key.condition == "multiturn"
    ]
    assert cases == [
        (name, trial) for name in ("case_1", "case_2", "case_10") for trial in range(1, 6)
    ]
    found = run_document(run)["conditions"]
    assert [round(found[each]["score"], 3) for each in CONDITIONS] == [0.6, 0.2, 0.067, 0.467]
    assert [round(found["vignette"]["pass_k"][k]["value"], 3) for k in "15"] == [0.6, 0.333]
    assert found["multiturn"]["pass_k"]["5"]["value"] == 0
    shown = call("runs", "show", run.run_id)
    assert shown.exception is None
    for words in ("vignette", "multi-turn", "single turn", "summary"):
        assert words in shown.stdout
    again = call("runs", "import", tmp_path / "craft-md" / "results" / "gpt4_1106")
    assert f"already imported: {run.run_id}" in again.stderr


def test_the_first_two_conditions_are_the_facts_supplied_and_withheld(tmp_path: Path) -> None:
    run = imported(copy_of_the_study(tmp_path), tmp_path)
    assert run.state.contrast is not None
    assert tuple(run.state.contrast) == ("multiturn", "vignette")
    shown = call("runs", "show", run.run_id, env={"BIOEVAL_DATA_DIR": str(tmp_path)}).stdout
    assert "difference: +0.40" in shown
    assert "the job has no facts" not in shown  # which the files do not say
    assert "the user gave no fact" not in shown


@pytest.mark.parametrize("instructed_by", ["system", "user"])
def test_each_condition_has_what_was_said_in_it_without_the_instructions(
    instructed_by: str, tmp_path: Path
) -> None:
    run = imported(copy_of_the_study(tmp_path, instructed_by=instructed_by), tmp_path)
    said = {
        each.key.condition: [(message.role, message.text) for message in each.messages]
        for each in run.talks
        if each.case and (each.case.name, each.case.trial) == ("case_1", 2)
    }
    question = "What is the final diagnosis?"
    assert said["vignette"] == [
        ("user", f"{INVENTED['case_1'][0]} {question}"),
        ("assistant", "Thorn scratches, vignette"),
    ]
    assert said["summary"] == [
        ("user", f"Somebody hurts since yesterday. {question}"),
        ("assistant", "Thorn scratches, summarized"),
    ]
    began = [
        ("assistant", "Hi! What symptoms are you facing today?"),
        ("user", "It hurts, for the 1. time."),
    ]
    assert said["singleturn"] == [*began, ("assistant", "a cold, singleturn")]
    assert said["multiturn"] == [
        *began,
        ("assistant", "Since when?"),
        ("user", "Since yesterday."),
        ("assistant", "**Final Diagnosis:** something else"),
    ]


def test_a_verdict_says_what_was_read_and_what_was_expected_and_the_case_where_it_is_from(
    tmp_path: Path,
) -> None:
    run = imported(copy_of_the_study(tmp_path), tmp_path)
    talk = next(each for each in run.talks if each.key.condition == "multiturn")
    assert talk.case is not None
    assert talk.case.tasks == (
        {"task": "What is the final diagnosis?", "acceptanceCriteria": "thorn scratches"},
    )
    assert talk.begun is not None
    assert talk.begun.record is not None
    assert {key: talk.begun.record[key] for key in ("category", "dataset", "trial", "answer")} == {
        "category": "Dermatology",
        "dataset": "garden",
        "trial": "trial_0",
        "answer": "Thorn scratches, multiturn",
    }
    recorded = run.path.read_text("utf-8")
    assert (
        "answered 'Thorn scratches, multiturn', read as 'thorn scratches'; expected 'thorn"
        " scratches'" in recorded
    )


def test_only_conditions_in_which_somebody_answers_have_a_manner_of_the_user(
    tmp_path: Path,
) -> None:
    run = imported(copy_of_the_study(tmp_path), tmp_path)
    assert [each.condition for each in run.manners] == ["multiturn", "singleturn"]


def unjudged(cases: dict[str, dict[str, Any]]) -> None:
    """The grader's code for what it did not judge: an answer with its price, one that never came,
    and an unfinished trial.
    """
    for number, answer in ((0, ["Overuse.", 0.002]), (1, None)):
        trial = cases["case_10"][f"trial_{number}"]
        trial |= {
            "summarized_frq": answer,
            "extracted_ans_summarized_frq": "None",
            "evaluation_summarized_frq": -1,
        }
    unfinished = cases["case_2"]["trial_4"]
    del unfinished["multiturn_frq"]
    unfinished["evaluation_multiturn_frq"] = -1


def test_codes_below_0_are_not_judged_counted_and_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BIOEVAL_DATA_DIR", str(tmp_path))
    done = call("runs", "import", copy_of_the_study(tmp_path, unjudged))
    said = "not judged, because the grader's code is below 0: 3 (multi-turn 1, summary 2)"
    assert f"note: {said}" in done.stderr
    run = load_run(tmp_path / "runs" / f"{done.stdout.strip()}.jsonl")
    assert any(said in warning.message for warning in run.state.warnings)
    found = run_document(run)["conditions"]
    assert found["summary"]["mean_of_used"] == pytest.approx(5 / 13)
    assert list(found["summary"]["pass_k"]) == ["1", "2", "3"]
    talk = next(
        each
        for each in run.talks
        if each.key.condition == "summary" and each.case and each.case.name == "case_10"
    )
    assert [message.text for message in talk.messages][-1] == "Overuse."


def wrong_verdict(cases: dict[str, dict[str, Any]]) -> None:
    cases["case_2"]["trial_1"]["evaluation_vignette_frq"] = "yes"


def no_conversation(cases: dict[str, dict[str, Any]]) -> None:
    del cases["case_2"]["trial_1"]["multiturn_conversation"]


def wrong_role(cases: dict[str, dict[str, Any]]) -> None:
    cases["case_2"]["trial_1"]["multiturn_conversation"][2]["role"] = "nurse"


def unknown_case(cases: dict[str, dict[str, Any]]) -> None:
    cases["case_2"]["case_id"] = "case_77"


def no_trials(cases: dict[str, dict[str, Any]]) -> None:
    for number in range(5):
        del cases["case_2"][f"trial_{number}"]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            wrong_verdict,
            "case_2.json: `trial_1`, `evaluation_vignette_frq`: must be 1, 0, or below 0",
        ),
        (
            no_conversation,
            "case_2.json: `trial_1`, `multiturn_conversation`: must be a list of messages",
        ),
        (
            wrong_role,
            (
                "case_2.json: `trial_1`, `multiturn_conversation`, after its first message: message"
                " 2: `role`"
            ),
        ),
        (
            unknown_case,
            "case_2.json: `case_id`: case_77 is no case of data/usmle_and_derm_dataset.csv",
        ),
        (no_trials, "case_2.json: must have trials: `trial_0`, …"),
        (
            lambda cases: cases.update(case_2=[]),
            "case_2.json: must be a JSON object with `case_id`",
        ),
    ],
)
def test_a_file_that_does_not_follow_the_format_is_refused_by_name_and_field(
    change: Callable[[dict[str, dict[str, Any]]], object], said: str, tmp_path: Path
) -> None:
    with pytest.raises(BioevalError) as refused:
        imported(copy_of_the_study(tmp_path, change), tmp_path)
    assert said in str(refused.value)
    assert not [*(tmp_path / "runs").glob("*.jsonl")]


def test_the_model_that_was_shown_pictures_is_refused_by_name(tmp_path: Path) -> None:
    pictures = copy_of_the_study(tmp_path).rename(tmp_path / "craft-md" / "results" / "gpt4v")
    with pytest.raises(BioevalError, match=r"results/gpt4v: its cases are others, with pictures"):
        imported(pictures, tmp_path)


def test_a_folder_without_the_studys_table_says_where_it_has_to_stand(tmp_path: Path) -> None:
    model = copy_of_the_study(tmp_path)
    (tmp_path / "craft-md" / "data" / "usmle_and_derm_dataset.csv").unlink()
    with pytest.raises(
        BioevalError,
        match=r"usmle_and_derm_dataset\.csv, which says .* cannot be read: No such file",
    ):
        imported(model, tmp_path)
    (tmp_path / "craft-md" / "data" / "usmle_and_derm_dataset.csv").write_text(
        "case_id,category\n", "utf-8"
    )
    with pytest.raises(
        BioevalError, match=r"usmle_and_derm_dataset\.csv, line 1: must have the column dataset"
    ):
        imported(model, tmp_path)


def test_another_folder_is_none_of_the_formats_and_a_file_is_no_models_folder(
    tmp_path: Path,
) -> None:
    with pytest.raises(
        BioevalError, match=r"a folder, of none of the formats that are one \(craft-md"
    ):
        import_file(tmp_path, tmp_path / "runs")
    file = tmp_path / "case_0.json"
    file.write_text("{}", "utf-8")
    with pytest.raises(BioevalError, match="must be a model's folder"):
        import_file(file, tmp_path / "runs", kind="craft-md")
