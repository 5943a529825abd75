"""Summaries of latencies, always with the concurrency, because a busy agent answers later."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil
from statistics import fmean


@dataclass(frozen=True, slots=True)
class LatencySummary:
    """All times in ms, over the answers of successful attempts; None without answers."""

    answers: int
    average_ms: float | None
    p50_ms: float | None
    p90_ms: float | None
    p95_ms: float | None
    max_ms: float | None
    first_token_ms: float | None
    """The median time to the first token, over the answers that were streamed."""

    streamed: int
    concurrency: tuple[int, ...]


def percentile(values: Sequence[float], share: float) -> float | None:
    """Return the smallest value that at least `share` of the values do not exceed (nearest rank)."""
    if not values:
        return None
    ranked = sorted(values)
    return ranked[max(0, ceil(share * len(ranked) - 1e-9) - 1)]


def summarise(
    latencies_ms: Sequence[float], first_tokens_ms: Sequence[float], concurrency: Sequence[int]
) -> LatencySummary:
    """Sum up the answers' latencies and first tokens (ms), measured at these numbers of conversations at once."""
    return LatencySummary(
        answers=len(latencies_ms),
        average_ms=fmean(latencies_ms) if latencies_ms else None,
        p50_ms=percentile(latencies_ms, 0.5),
        p90_ms=percentile(latencies_ms, 0.9),
        p95_ms=percentile(latencies_ms, 0.95),
        max_ms=max(latencies_ms, default=None),
        first_token_ms=percentile(first_tokens_ms, 0.5),
        streamed=len(first_tokens_ms),
        concurrency=tuple(sorted(set(concurrency))),
    )
