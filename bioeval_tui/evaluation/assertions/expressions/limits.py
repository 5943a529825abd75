"""Limits of one evaluation: steps, time, memory, nesting.

An expression may come from an untrusted job file, and it runs after every turn.
Steps make the outcome the same on a slow and a fast machine; the clock is the second line of defence. It is the thread's
own, which stands still while a busy machine lets others work: waiting for a processor is no reason to fail.
Memory counts values that may still be reachable: what a lambda built and did not return is
returned to the budget when the lambda ends (nothing in the language can keep it alive).
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from bioeval_tui.errors import ExpressionError

CELL = 96
"""Bytes counted for each element of a collection."""

_CHARACTERS_PER_STEP = 512
_STEPS_PER_LOOK_AT_THE_CLOCK = 200


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds on one expression. Lengths in characters, time in seconds, memory in bytes."""

    text_length: int = 10_000
    depth: int = 60
    steps: int = 150_000
    seconds: float = 0.4
    memory: int = 12_000_000


class LimitError(ExpressionError):
    """An expression exceeds its limit of steps, time, memory or nesting."""


@dataclass(slots=True)
class Budget:
    """The remaining part of `limits` during one evaluation. Every method raises `LimitError` when it is used up."""

    limits: Limits = field(default_factory=Limits)
    steps: int = 0
    memory: int = 0
    _deadline: float = 0.0
    _until_clock: int = _STEPS_PER_LOOK_AT_THE_CLOCK

    def __post_init__(self) -> None:
        self._deadline = time.thread_time() + self.limits.seconds

    def step(self, count: int = 1) -> None:
        """Count `count` steps of work.

        Raises:
            LimitError: the steps or the time are used up.
        """
        self.steps += count
        if self.steps > self.limits.steps:
            raise LimitError(f"takes more than {self.limits.steps:,} steps")
        self._until_clock -= count
        if self._until_clock < 0:
            self._until_clock = _STEPS_PER_LOOK_AT_THE_CLOCK
            if time.thread_time() > self._deadline:
                raise LimitError(f"takes longer than {self.limits.seconds:g} s")

    def seconds_left(self) -> float:
        """Return the remaining time, for work with its own deadline."""
        return max(0.001, self._deadline - time.thread_time())

    def hold(self, size: int) -> None:
        """Count `size` bytes that are about to be built.

        Raises:
            LimitError: the memory is used up.
        """
        self.memory += size
        if self.memory > self.limits.memory:
            raise LimitError(f"builds more than {self.limits.memory // 1_000_000} MB of values")

    def read_text(self, length: int) -> None:
        """Count the work of one pass over `length` characters."""
        self.step(1 + length // _CHARACTERS_PER_STEP)

    def build_text(self, length: int) -> None:
        """Count a text of `length` characters that is about to be built."""
        self.hold(2 * length)
        self.read_text(length)

    def each(self, values: Iterable[Any]) -> Iterator[Any]:
        """Yield from `values`, one step each."""
        for value in values:
            self.step()
            yield value

    def collect(self, values: Iterable[Any]) -> list[Any]:
        """Return `values` as a list, counting steps and memory while it grows."""
        result = []
        for value in values:
            self.step()
            self.hold(CELL)
            result.append(value)
        return result
