"""Samples are found by name wherever the program is installed, and copied without overwriting
anything.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bioeval_tui.base.errors import UsageError
from bioeval_tui.evaluation.wiring.check_job import check_job
from bioeval_tui.sample.named import copy_samples, find_job, find_list, find_submission
from bioeval_tui.sample.paths import sample_jobs, sample_submissions
from tests.command import call

TASK = "oncology/breast-cancer"


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_bare_name_selects_a_sample_job() -> None:
    assert find_job(Path("medication_reminder")) == sample_jobs() / "medication_reminder.yml"
    assert find_list(Path("submissions")) == sample_submissions() / "submissions.jsonl"
    (broken,) = sample_submissions().glob("*_broken/breast-cancer.csv")
    assert find_submission(Path("broken"), TASK) == broken


def test_a_bare_name_selects_the_job_of_a_plug_in() -> None:
    found = find_job(Path("mediq"))
    assert (found.name, found.is_file()) == ("mediq.yml", True)


def test_a_file_of_that_name_takes_precedence_over_a_sample(here: Path) -> None:
    (here / "medication_reminder").write_text("target: {}\n", "utf-8")
    assert find_job(Path("medication_reminder")) == Path("medication_reminder")


@pytest.mark.parametrize(
    "text", ["medication_reminder.yml", "./medication_reminder", "jobs/medication_reminder", "../x"]
)
def test_a_path_never_selects_a_sample_job(text: str) -> None:
    # `Path` drops the dot of "./name": the command line says such a name as its folder.
    path = Path(text) if not text.startswith("./") else Path.cwd() / text[2:]
    assert find_job(path) == path


def test_an_unknown_sample_name_lists_the_samples() -> None:
    with pytest.raises(
        UsageError, match="is neither a file nor a sample job; use one of cohort_question, "
    ):
        find_job(Path("medication_remindr"))
    with pytest.raises(UsageError, match="nor a sample agent; use one of broken, careful, hasty"):
        find_submission(Path("best"), TASK)
    with pytest.raises(
        UsageError, match="hasty has no submission for proteins/antimicrobial-peptides"
    ):
        find_submission(Path("hasty"), "proteins/antimicrobial-peptides")


def test_copying_the_samples_twice_changes_nothing(here: Path) -> None:
    written = copy_samples(here / "try")
    assert (here / "try" / "sample_jobs" / "medication_reminder.yml") in written
    listed = (
        (here / "try" / "sample_submissions" / "submissions.jsonl").read_text("utf-8").splitlines()
    )
    for line in listed:
        assert (here / "try" / "sample_submissions" / json.loads(line)["submission_path"]).is_file()
    assert copy_samples(here / "try") == []


def test_a_benchmark_is_copied_with_its_cases_and_their_source(here: Path) -> None:
    copy_samples(here)
    assert {path.name for path in (here / "benchmarks" / "mediq").iterdir()} == {
        "mediq.yml",
        "mediq.jsonl",
        "SOURCE.md",
    }
    assert check_job(here / "benchmarks" / "mediq" / "mediq.yml").case_count == 100


def test_a_changed_copy_is_overwritten_only_with_force(here: Path) -> None:
    copy_samples(here)
    changed, gone = (
        here / "sample_jobs" / "drug_interaction.yml",
        here / "sample_jobs" / "variant_triage.yml",
    )
    changed.write_text("mine\n", "utf-8")
    gone.unlink()
    with pytest.raises(UsageError, match=r"drug_interaction\.yml would be overwritten: .* --force"):
        copy_samples(here)
    assert changed.read_text("utf-8") == "mine\n"
    assert not gone.exists()
    assert sorted(copy_samples(here, force=True)) == [changed, gone]


def test_every_command_accepts_the_names_that_samples_lists() -> None:
    listed = json.loads(call("samples", "--json").stdout)
    result = call("check", *listed["jobs"])
    assert result.return_value == 0, result.output
