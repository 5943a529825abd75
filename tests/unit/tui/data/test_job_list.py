"""Which files are jobs, what is wrong with them, and that only changed ones are read again."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from bioeval_tui.base.settings import Settings
from bioeval_tui.record.events import RunEnded, write_event
from bioeval_tui.record.masking import use
from bioeval_tui.record.masking.mask import Mask
from bioeval_tui.record.masking.rules import LiteralRule, Rules
from bioeval_tui.record.runs import LiveInfo, process_start, write_live
from bioeval_tui.sample.paths import sample_jobs
from bioeval_tui.tui.data.services import AppServices
from bioeval_tui.tui.job_items import JobItem
from bioeval_tui.tui.shared.editor import edit
from tests.unit.report.recorded import START, Recorded, Talk, scoring

JOB = """\
target: {user: a, chatbot: b}
aspirationalAverage: 1000
tasks: [{task: say hello}]
facts: []
"""
BUDGET = "bioeval_tui.tui.data.job_list.BUDGET_S"


@pytest.fixture(autouse=True)
def no_hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every file be checked at once, however slow this machine is."""
    monkeypatch.setattr(BUDGET, 60.0)


@pytest.fixture
def jobs(tmp_path: Path) -> Path:
    """A folder for jobs."""
    folder = tmp_path / "jobs"
    folder.mkdir()
    return folder


@pytest.fixture
def services(tmp_path: Path, jobs: Path) -> Iterator[AppServices]:
    settings = Settings(data_dir_override=str(tmp_path / "data"))
    settings.runs_dir.mkdir(parents=True)
    made = AppServices(settings, job_places=[jobs])
    yield made
    made.close()


def listed(folder: Path, *places: Path) -> Sequence[JobItem]:
    """Return the jobs of these places, as they are listed first."""
    services = AppServices(Settings(data_dir_override=str(folder / "data")), job_places=places)
    found = services.job_list.items()
    services.close()
    return found


def held(
    folder: Path, job: str, day: int, *talks: Talk, ended: bool = True, alone: bool = False
) -> None:
    """Write the recording of a run of this job and day."""
    made = Recorded([] if alone else talks, talks, job=job, run_id=f"202601{day:02}-000000-aaaa")
    shift = datetime(2026, 1, day, tzinfo=UTC) - START
    events = [event.model_copy(update={"at": event.at + shift}) for event in made.events()]
    kept = [event for event in events if ended or not isinstance(event, RunEnded)]
    path = folder / "data" / "runs" / f"{made.run_id}.jsonl"
    path.write_bytes(b"".join(map(write_event, kept)))
    if not ended:
        write_live(path, LiveInfo(os.getpid(), process_start(os.getpid()), 1, "token"))


def test_jobs_are_distinguished_from_other_yaml_files(services: AppServices, jobs: Path) -> None:
    (jobs / "job.yml").write_text(JOB)
    (jobs / "broken.yaml").write_text(JOB.replace("tasks: [", "tasks: ["[:-1]))
    (jobs / "compose.yml").write_text("services: {a: 1}\n")
    (jobs / "notes.txt").write_text(JOB)
    found = services.job_list.items()
    assert [item.name for item in found] == ["broken", "job"]
    assert [item.runnable for item in found] == [False, True]


def test_a_file_that_you_name_is_always_listed(tmp_path: Path) -> None:
    path = tmp_path / "compose.yml"
    path.write_text("services: {a: 1}\n")
    (item,) = listed(tmp_path, path)
    assert not item.runnable
    assert item.problems


def test_a_job_with_a_python_agent_needs_the_folder_of_its_code(tmp_path: Path, jobs: Path) -> None:
    (jobs / "job.yml").write_text(
        JOB.replace("{user: a", "{protocol: python, function: 'mine:answer', user: a")
    )
    (jobs / "worse.yml").write_text((jobs / "job.yml").read_text().replace("say hello", ""))
    job, worse = listed(tmp_path, jobs)
    assert (job.runnable, job.needs_code) == (False, True)
    assert not worse.needs_code
    (jobs / "python").touch(mode=0o755)
    (jobs / "worse.yml").write_text(
        (jobs / "job.yml").read_text().replace("user: a", "python: ./python, user: a")
    )
    worse = (listed(tmp_path, jobs))[1]
    assert (worse.runnable, worse.needs_code) == (False, True)


def test_problems_carry_lines_and_expressions_are_checked(
    services: AppServices, jobs: Path
) -> None:
    (jobs / "job.yml").write_text(JOB + "assertions:\n  - expression: 'objectContext.size ==='\n")
    (item,) = services.job_list.items()
    assert not item.runnable
    assert item.errors[0].line == 6
    assert item.assertions == 1


def test_only_changed_jobs_are_read_again(services: AppServices, jobs: Path) -> None:
    one, two = jobs / "one.yml", jobs / "two.yml"
    one.write_text(JOB)
    two.write_text(JOB)
    first = services.job_list.items()
    assert all(a is b for a, b in zip(first, services.job_list.items(), strict=True))
    two.write_text(JOB.replace("hello", "goodbye"))
    os.utime(two, ns=(1, 1))
    second = services.job_list.items()
    assert second[0] is first[0]
    assert "goodbye" in second[1].text
    two.unlink()
    assert [item.name for item in services.job_list.items()] == ["one"]


def test_a_jobs_scores_are_listed_oldest_first_without_running_ones(
    services: AppServices, jobs: Path, tmp_path: Path
) -> None:
    (jobs / "job.yml").write_text(JOB)
    held(tmp_path, "job", 3, scoring(0.5))
    held(tmp_path, "job", 2, Talk(tasks=None))
    held(tmp_path, "job", 1, scoring(0.2))
    held(tmp_path, "other", 4, scoring(0.9))
    held(tmp_path, "job", 5, scoring(0.9), ended=False)
    (item,) = services.job_list.items()
    assert item.scores == (0.2, None, 0.5)
    assert item.runs == 3
    assert item.last_run is not None
    assert item.last_run - datetime(2026, 1, 3, tzinfo=UTC) < timedelta(hours=1)


def test_a_run_of_one_condition_is_no_gap_among_the_means(
    services: AppServices, jobs: Path, tmp_path: Path
) -> None:
    (jobs / "job.yml").write_text(JOB)
    held(tmp_path, "job", 2, scoring(0.9), alone=True)
    held(tmp_path, "job", 1, scoring(0.2))
    (item,) = services.job_list.items()
    assert (item.scores, item.runs) == ((0.2,), 2)


def test_unreadable_files_are_listed_with_the_reason(tmp_path: Path) -> None:
    bad, escape = tmp_path / "latin.yml", tmp_path / "escape.yml"
    bad.write_bytes(JOB.encode() + b"# caf\xe9\n")
    escape.write_text(JOB + "# \x1b]52;c;eA==\x07\n")
    item, cleaned = listed(tmp_path, bad, escape)
    assert "UTF-8" in item.problems[0].message
    assert "\x1b" not in cleaned.text


def test_a_deleted_folder_has_no_jobs(tmp_path: Path) -> None:
    assert listed(tmp_path, tmp_path / "nowhere") == []


def test_the_sample_jobs_are_listed_by_default(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    found = listed(tmp_path)
    assert sample_jobs() in {item.path.parent for item in found}
    assert all(item.runnable for item in found)
    assert {item.name for item in found if not item.sample} == {
        "missed_dose",
        "craftmd",
        "mediq",
        "symptomcheck",
    }, "of packages, or with a model as the agent"


def test_the_editor_is_the_one_in_the_environment(
    services: AppServices, jobs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = jobs / "my job.yml"
    path.write_text("a")
    script = tmp_path / "editor.py"
    script.write_text("import sys, pathlib; pathlib.Path(sys.argv[1]).write_text('edited')")
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.setenv("EDITOR", f'"{sys.executable}" "{script}"')
    if os.name != "nt":
        assert edit(path, 3) is None
        assert path.read_text() == "edited"
    monkeypatch.setenv("EDITOR", "/no/such/editor")
    assert "could not start the editor" in (edit(path) or "")
    monkeypatch.setenv("EDITOR", '"unbalanced')
    assert "could not start the editor" in (edit(path) or "")


def test_many_new_files_are_listed_at_once_and_checked_gradually(
    services: AppServices, jobs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a", "b", "c"):
        (jobs / f"{name}.yml").write_text(JOB)
    monkeypatch.setattr(BUDGET, 0.0)
    first = services.job_list.items()
    assert [item.checked for item in first] == [False] * 3
    assert all(not item.runnable and item.text for item in first)
    monkeypatch.setattr(BUDGET, 60.0)
    assert all(item.checked and item.runnable for item in services.job_list.items())


def test_a_job_with_a_masked_name_has_its_runs_and_is_not_opened_in_an_editor(
    services: AppServices, jobs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = jobs / "about_ada.yml"
    path.write_text(JOB)
    held(tmp_path, "about_ada", 1, scoring(0.5))
    monkeypatch.setenv("VISUAL", f"{sys.executable} -c pass")
    use(Mask(Rules((LiteralRule.of("Ada", "[NAME]", is_name=True),))))
    try:
        (item,) = services.job_list.items()
        assert (item.name, item.runs, item.scores) == ("about_[NAME]", 1, (0.5,))
        assert item.path == path
        assert edit(path) == "names are masked, and an editor would show the file as it is"
    finally:
        use(Mask())
    assert edit(path) is None
