"""Two agents beside each other: what came out, why, and how sure it is."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bioeval_tui.jobs.loading import job_from_data, load_job
from bioeval_tui.record.events import read_event, write_event
from bioeval_tui.report.beside import BesideEachOther, pair_outcomes
from bioeval_tui.report.comparison import compare
from bioeval_tui.report.result import load_run
from bioeval_tui.sample.paths import DEMO_JOB, careful_recording, sample_jobs, sample_recordings

CAREFUL, GUESSING = sample_recordings("batch")


@pytest.fixture(scope="module")
def pair() -> BesideEachOther:
    return pair_outcomes(compare(load_run(GUESSING), load_run(careful_recording())))


def test_each_agent_has_its_scores_in_both_conditions(pair: BesideEachOther) -> None:
    assert pair.conditions == ("without the facts", "with the facts")
    assert dict(pair.scores) == {"guessing": (0.5, 1.0), "careful": (1.0, 1.0)}


def test_the_reason_is_what_each_said_where_their_answers_part(pair: BesideEachOther) -> None:
    assert (pair.condition, pair.assertion) == (
        "without the facts",
        "no reminder is set without a time zone",
    )
    assert pair.user == "I'd rather not say where I live."
    guessing, careful = pair.said
    assert (guessing.agent, guessing.passed, careful.agent, careful.passed) == (
        "guessing",
        False,
        "careful",
        True,
    )
    assert "09:00 (UTC)" in guessing.words
    assert careful.words.startswith("I can't set a reminder without your time zone")


def test_agents_that_do_the_same_differ_in_nothing() -> None:
    same = pair_outcomes(compare(load_run(CAREFUL), load_run(CAREFUL)))
    assert (same.assertion, same.user, same.said) == ("", "", ())
    assert same.scores[0] == same.scores[1]


@pytest.mark.parametrize("path", sample_recordings("batch") + sample_recordings("failure"))
def test_the_recorded_demos_have_the_job_as_it_is(path: Path) -> None:
    """A demo that was recorded with an earlier job would stand beside a live run with another."""
    recorded = json.loads(path.read_text(encoding="utf-8").splitlines()[0])["job"]
    assert job_from_data(recorded) == load_job(sample_jobs() / DEMO_JOB).job


@pytest.mark.parametrize("path", sample_recordings("batch") + sample_recordings("failure"))
def test_the_recorded_demos_are_as_this_program_writes_them(path: Path) -> None:
    """The program reads no older form only for them: `scripts/record-demos` records them anew."""
    for line in path.read_bytes().splitlines():
        assert json.loads(line) == json.loads(write_event(read_event(line))), (
            "run scripts/record-demos"
        )
