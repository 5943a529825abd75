"""Which files are jobs, what is wrong with them, and that only changed ones are read again."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from bioeval_tui.record.masking.current import masked, use
from bioeval_tui.record.masking.mask import Mask
from bioeval_tui.record.masking.rules import LiteralRule, Rules
from bioeval_tui.report.run_summary import RunSummary
from bioeval_tui.sample.paths import sample_jobs
from bioeval_tui.tui.data import job_list
from bioeval_tui.tui.data.job_list import JobList

JOB = """\
target: {user: a, chatbot: b}
aspirationalAverage: 1000
tasks: [{task: say hello}]
facts: []
"""


@pytest.fixture(autouse=True)
def no_hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every file be checked at once, however slow this machine is."""
    monkeypatch.setattr(job_list, "BUDGET_S", 60.0)


def run(job: str, score: float | None, day: int, status: str = "completed") -> RunSummary:
    at = datetime(2026, 11, day, tzinfo=UTC)
    return RunSummary(f"r{day}", job, status, at, score, "none", {}, 3, Path("x"))  # type: ignore[arg-type]


def test_jobs_are_distinguished_from_other_yaml_files(tmp_path: Path) -> None:
    (tmp_path / "job.yml").write_text(JOB)
    (tmp_path / "broken.yaml").write_text(JOB.replace("tasks: [", "tasks: ["[:-1]))
    (tmp_path / "compose.yml").write_text("services: {a: 1}\n")
    (tmp_path / "notes.txt").write_text(JOB)
    found = JobList([tmp_path]).items([])
    assert [item.name for item in found] == ["broken", "job"]
    assert [item.runnable for item in found] == [False, True]


def test_a_file_that_you_name_is_always_listed(tmp_path: Path) -> None:
    path = tmp_path / "compose.yml"
    path.write_text("services: {a: 1}\n")
    (item,) = JobList([path]).items([])
    assert not item.runnable
    assert item.problems


def test_a_job_with_a_python_agent_needs_the_folder_of_its_code(tmp_path: Path) -> None:
    (tmp_path / "job.yml").write_text(
        JOB.replace("{user: a", "{protocol: python, function: 'mine:answer', user: a")
    )
    (tmp_path / "worse.yml").write_text((tmp_path / "job.yml").read_text().replace("say hello", ""))
    job, worse = JobList([tmp_path]).items([])
    assert (job.runnable, job.needs_code) == (False, True)
    assert not worse.needs_code
    (tmp_path / "python").touch(mode=0o755)
    (tmp_path / "worse.yml").write_text(
        (tmp_path / "job.yml").read_text().replace("user: a", "python: ./python, user: a")
    )
    worse = JobList([tmp_path]).items([])[1]
    assert (worse.runnable, worse.needs_code) == (False, True)


def test_problems_carry_lines_and_expressions_are_checked(tmp_path: Path) -> None:
    (tmp_path / "job.yml").write_text(JOB + "assertions:\n  - expression: 'objectContext.size ==='\n")
    (item,) = JobList([tmp_path]).items([])
    assert not item.runnable
    assert item.errors[0].line == 6
    assert item.assertions == 1


def test_only_changed_jobs_are_read_again(tmp_path: Path) -> None:
    one, two = tmp_path / "one.yml", tmp_path / "two.yml"
    one.write_text(JOB)
    two.write_text(JOB)
    jobs = JobList([tmp_path])
    first = jobs.items([])
    assert all(a is b for a, b in zip(first, jobs.items([]), strict=True))
    two.write_text(JOB.replace("hello", "goodbye"))
    os.utime(two, ns=(1, 1))
    second = jobs.items([])
    assert second[0] is first[0]
    assert "goodbye" in second[1].text
    two.unlink()
    assert [item.name for item in jobs.items([])] == ["one"]


def test_a_jobs_scores_are_listed_oldest_first_without_running_ones(tmp_path: Path) -> None:
    (tmp_path / "job.yml").write_text(JOB)
    runs = [
        run("job", 0.5, 3),
        run("job", None, 2),
        run("job", 0.2, 1),
        run("other", 0.9, 1),
        run("job", None, 4, "running"),
    ]
    (item,) = JobList([tmp_path]).items(runs)
    assert item.scores == (0.2, None, 0.5)
    assert item.runs == 3
    assert item.last_run == datetime(2026, 11, 3, tzinfo=UTC)


def test_a_run_of_one_condition_is_no_gap_among_the_means(tmp_path: Path) -> None:
    (tmp_path / "job.yml").write_text(JOB)
    alone = replace(run("job", None, 2), scores={"supplied": 0.9})
    (item,) = JobList([tmp_path]).items([alone, run("job", 0.2, 1)])
    assert (item.scores, item.runs) == ((0.2,), 2)


def test_unreadable_files_are_listed_with_the_reason(tmp_path: Path) -> None:
    bad = tmp_path / "latin.yml"
    bad.write_bytes(JOB.encode() + b"# caf\xe9\n")
    (item,) = JobList([bad]).items([])
    assert "UTF-8" in item.problems[0].message
    assert "\x1b" not in job_list.read_job(_with_escape(tmp_path)).text  # type: ignore[union-attr]


def _with_escape(folder: Path) -> Path:
    path = folder / "escape.yml"
    path.write_text(JOB + "# \x1b]52;c;eA==\x07\n")
    return path


def test_a_deleted_folder_has_no_jobs(tmp_path: Path) -> None:
    assert JobList([tmp_path / "nowhere"]).items([]) == []


def test_the_sample_jobs_are_listed_by_default(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    found = JobList().items([])
    assert sample_jobs() in {item.path.parent for item in found}
    assert all(item.runnable for item in found)
    assert {item.name for item in found if not item.sample} == {"missed_dose", "mediq", "symptomcheck"}, (
        "of packages, or with a model as the agent"
    )


def test_the_editor_is_the_one_in_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "my job.yml"
    path.write_text("a")
    script = tmp_path / "editor.py"
    script.write_text("import sys, pathlib; pathlib.Path(sys.argv[1]).write_text('edited')")
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.setenv("EDITOR", f'"{sys.executable}" "{script}"')
    if os.name != "nt":
        assert job_list.edit(path, 3) is None
        assert path.read_text() == "edited"
    monkeypatch.setenv("EDITOR", "/no/such/editor")
    assert "could not start the editor" in (job_list.edit(path) or "")
    monkeypatch.setenv("EDITOR", '"unbalanced')
    assert "could not start the editor" in (job_list.edit(path) or "")


def test_many_new_files_are_listed_at_once_and_checked_gradually(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a", "b", "c"):
        (tmp_path / f"{name}.yml").write_text(JOB)
    jobs = JobList([tmp_path])
    monkeypatch.setattr(job_list, "BUDGET_S", 0.0)
    first = jobs.items([])
    assert [item.checked for item in first] == [False] * 3
    assert all(not item.runnable and item.text for item in first)
    monkeypatch.setattr(job_list, "BUDGET_S", 60.0)
    assert all(item.checked and item.runnable for item in jobs.items([]))


def test_a_job_with_a_masked_name_has_its_runs_and_is_not_opened_in_an_editor(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "about_ada.yml"
    path.write_text(JOB)
    monkeypatch.setenv("VISUAL", f"{sys.executable} -c pass")
    use(Mask(Rules((LiteralRule.of("Ada", "[NAME]", is_name=True),))))
    try:
        (item,) = JobList([path]).items(masked([run("about_ada", 0.5, 1)]))
        assert (item.name, item.runs, item.scores) == ("about_[NAME]", 1, (0.5,))
        assert item.path == path
        assert job_list.edit(path) == "names are masked, and an editor would show the file as it is"
    finally:
        use(Mask())
    assert job_list.edit(path) is None
