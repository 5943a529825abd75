"""The grid ranks the models of a batch with intervals, if enough jobs were run."""

from __future__ import annotations

from random import Random

from bioeval_tui.tui.runs.batch_view import Glance, GlanceKey, Rank, standings
from bioeval_tui.tui.shared.cells import Cell


def batch(jobs: int) -> list[Glance]:
    found = []
    for model, mean in (("small", 0.4), ("large", 0.8), ("huge", 0.8)):
        for job in range(jobs):
            for trial in (1, 2):
                value = (
                    mean
                    + Random(f"{job}").uniform(-0.1, 0.1)
                    + Random(f"{model} {job} {trial}").uniform(-0.05, 0.05)
                )
                key = GlanceKey(f"{model}{job}", "supplied", trial)
                found.append(
                    Glance(key, Rank.DONE, Cell("done"), value=value, job=f"job {job}", model=model)
                )
    return found


def test_models_that_cannot_be_distinguished_share_their_ranks() -> None:
    told = standings(batch(12))
    assert told.startswith("with the facts: ")
    assert "small rank 3" in told
    assert "large rank 1–2" in told
    assert "huge rank 1–2" in told


def test_few_jobs_or_a_single_model_have_no_ranks() -> None:
    assert standings(batch(4)) == ""
    assert standings([glance for glance in batch(12) if glance.model == "small"]) == ""
