"""A batch of many conversations as the grid sees them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from bioeval_tui.tui.runs.batch_view import Glance, GlanceKey, Rank
from bioeval_tui.tui.shared.cells import Cell

NOW = datetime(2026, 11, 20, 9, 5, 0, tzinfo=UTC)
JOBS = ("medication_reminder", "drug_interaction", "cohort_question")
MODELS = ("gpt-4.1-mini", "local-llama")


def glances(count: int = 24, now: datetime = NOW) -> list[Glance]:
    """Return so many conversations, in every state that there is, as they are at a moment."""
    found = []
    for number in range(count):
        job, model = JOBS[number // 2 % len(JOBS)], MODELS[number // 6 % len(MODELS)]
        key = GlanceKey(
            f"20261120-090000-{number // 12:04x}",
            ("withheld", "supplied")[number % 2],
            1 + number // 12,
        )
        times = tuple(400.0 + 300 * ((number * 7 + turn * 3) % 5) for turn in range(number % 7 + 1))
        found.append(_glance(number, key, job, model, times, now))
    return found


def _glance(
    number: int, key: GlanceKey, job: str, model: str, times: tuple[float, ...], now: datetime
) -> Glance:
    value = round(0.25 + (number * 13 % 70) / 100, 2)
    if number == 3:
        state, rank = Cell("! user failed · 6 messages", "warn"), Rank.NOT_MEASURED
    elif number == 9:
        state, rank = Cell("✗ agent failed · 4 messages", "bad"), Rank.AGENT_FAILED
    elif number == 14:
        state, rank = Cell("‖ turn 3", "warn"), Rank.WAITING
    elif number % 4 == 1:
        since = now - timedelta(seconds=21 if number == 5 else 1)
        state = Cell(f"● turn {len(times) + 1}", "busy")
        return Glance(
            key,
            Rank.RUNNING,
            state,
            job=job,
            model=model,
            latencies_ms=times,
            slow_ms=3000.0,
            since=since,
        )
    elif number % 6 == 4:
        return Glance(key, Rank.QUEUED, Cell("◌ queued", "quiet"), job=job, model=model)
    else:
        state, rank = Cell(f"■ signed off · {len(times)} turns", "good"), Rank.DONE
        return Glance(
            key, rank, state, Cell(f"{value:.2f}", "strong"), value, job, model, times, 3000.0
        )
    return Glance(key, rank, state, job=job, model=model, latencies_ms=times, slow_ms=3000.0)
