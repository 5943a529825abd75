"""Of a run with many conversations, a page shows the worst and says how to see the others."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from bioeval_tui.record import runs as record_runs
from bioeval_tui.record.cases import JobCase
from bioeval_tui.report import shown
from tests.command import call
from tests.documents import document_of
from tests.unit.report.recorded import Recorded, Talk, scoring

MOST = 4
"""How many conversations a page shows here."""
UNJUDGED = Talk(tasks=None)


@pytest.fixture(autouse=True)
def small_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shown, "MOST_CONVERSATIONS", MOST)


def headings(page: str) -> list[str]:
    """Return the headings of the trials, in order."""
    return re.findall(r"<h2[^>]*>(Trial \d+)", page)


def test_up_to_the_limit_every_conversation_is_shown_as_before(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run = Recorded([scoring(0.9), scoring(0.1)], [scoring(0.8), scoring(0.2)]).loaded()
    page = document_of("html", run)
    monkeypatch.setattr(shown, "MOST_CONVERSATIONS", 10**6)
    assert page == document_of("html", run)
    assert headings(page) == ["Trial 1", "Trial 2"]
    assert "went worst" not in page


@pytest.mark.parametrize(
    ("run", "trials", "words"),
    [
        pytest.param(
            Recorded([scoring(value) for value in (0.9, 0.3, 0.8, 0.5, 0.7)]),
            [2, 4, 5, 3],
            "the 4 conversations that went worst, those in which the judge failed a task first; 1",
            id="one more than fits: the lowest score first",
        ),
        pytest.param(
            Recorded([scoring(0.7), UNJUDGED, Talk(tasks=(0.5,)), scoring(0.65), scoring(0.9)]),
            [3, 4, 1, 5],
            "1 is left out",
            id="failed by the judge first, though its score is higher; without a score last",
        ),
        pytest.param(
            Recorded(
                [scoring(0.8), scoring(0.2), scoring(0.8)],
                [scoring(0.9), scoring(0.9), scoring(0.1)],
            ),
            [3, 2],
            "the 4 conversations that went worst, those in which the judge failed a task first; 2",
            id="a trial stays whole, by the mean of its conditions",
        ),
        pytest.param(
            Recorded(
                [scoring(0.8), scoring(0.7)],
                [scoring(0.9), scoring(0.7)],
                placebo=[scoring(0.1), scoring(0.9)],
            ),
            [2],
            "the 3 conversations that went worst, those in which the judge failed a task first; 3",
            id="where only the placebo went badly is not read first",
        ),
    ],
)
def test_above_the_limit_the_worst_come_first(run: Recorded, trials: list[int], words: str) -> None:
    loaded = run.loaded()
    page = document_of("html", loaded)
    assert headings(page) == [f"Trial {trial}" for trial in trials]
    assert words in page
    assert f"bioeval-tui runs report {loaded.run_id} --trial 1-50 --output page.html" in page
    links = re.findall(r'<a href="#([^"]+)">', page)
    assert [re.sub(".*-", "", link) for link in links[: len(trials)]] == list(map(str, trials))
    assert set(links) <= set(re.findall(r' id="([^"]+)"', page))


def test_figures_are_of_all_conversations() -> None:
    run = Recorded([scoring(value) for value in (0.9, 0.3, 0.8, 0.5, 0.7)]).loaded()
    assert '<p class="number">0.64</p>' in document_of("html", run)


def test_hostile_names_stay_text_in_the_list_of_the_worst() -> None:
    evil = "<script>alert(1)</script>"
    cases = tuple(JobCase(name=f"{evil}{number}") for number in range(3))
    talks = [scoring(0.5)] * 3
    run = Recorded(talks, talks, started={"cases": cases}, job=evil).loaded()
    page = document_of("html", run)
    assert "went worst" in page
    assert "case &lt;script&gt;alert(1)&lt;/script&gt;0</a>" in page
    assert "<script" not in page


@pytest.fixture
def runs_dir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("BIOEVAL_DATA_DIR", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "runs"
    folder.mkdir()
    talks = [Talk(tasks=(score,), says=f"I am Ada {score}") for score in (0.9, 0.3, 0.8, 0.5, 0.7)]
    Recorded(talks, run_id="20260102-030405-aaaa").write(folder)
    return folder


def report(*arguments: str) -> str:
    result = call("runs", "report", "aaaa", *arguments)
    if result.exception is not None:
        return f"{type(result.exception).__name__}: {result.exception}"
    return result.stdout


def test_trials_are_chosen_on_the_command_line(
    runs_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chosen = report("--trial", "4-5", "--trial", "1")
    assert headings(chosen) == ["Trial 1", "Trial 4", "Trial 5"]
    assert "Shown are the 3 conversations of the trials that were chosen." in chosen
    monkeypatch.setattr(record_runs, "LARGE", 0)
    assert report("--trial", "4-5", "--trial", "1") == chosen
    for given, words in (
        ("6", "there is no trial 6: the run has 5 trials"),
        ("4-6", "there is no trial 6"),
        ("5-4", "ends before it begins"),
        ("0", "'0' is no trial; give one, such as 7, or some, such as 1-50"),
        ("1-", "is no trial"),
    ):
        assert words in report("--trial", given)
    assert "--trial is for HTML; md has" in report("--trial", "1", "--format", "md")


def test_a_masked_run_shows_its_worst_masked(
    runs_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(record_runs, "LARGE", 0)
    rules = tmp_path / "rules.yml"
    rules.write_text("names:\n  - Ada\n", encoding="utf-8")
    page = report("--redact", str(rules))
    assert headings(page) == ["Trial 2", "Trial 4", "Trial 5", "Trial 3"]
    assert "I am [PATIENT-1] 0.3" in page
    assert "Ada" not in page
