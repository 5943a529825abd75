"""Speed of the screen: the transcript against Textual's own Markdown stream, in the same process
and run.

    uv run python benchmarks/ui.py --only streams --shapes text,code    # medians of five; 5 minutes
    uv run python benchmarks/ui.py    # all shapes, histories, hostile texts; eight minutes

Lag is how late a ticker of 10 ms wakes up in the event loop of the screen (p95 and worst); CPU is
of the whole process while the message streams in. Read the ratios: the absolute figures are of one
machine and one day.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import resource
import statistics
import time
import tracemalloc
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from itertools import count

from measure import RUNS
from textual.app import App, ComposeResult
from textual.containers import VerticalScroll
from textual.widgets import Markdown

from bioeval_tui.record.state import ConversationKey, ConversationState, MessageState
from bioeval_tui.tui.live.transcript import Transcript

SIZE = (160, 45)
BATCH_S = 0.033
HISTORY = 2_000


def tokens(shape: str) -> Iterator[str]:
    """Yield the tokens (word and space, or line end) of an endless message of one shape."""
    for number in count(1):
        match shape:
            case "text":
                body = (
                    f"In trial {number} the **dose** of warfarin was kept, and `INR` stayed between"
                    " 2 and 3. " * 3
                )
                yield from _split(body + "\n\n")
            case "lists":
                yield from _split(
                    f"- item {number} with *some* words\n  - and one below it, a little longer\n"
                )
            case "tables":
                heading = "| drug | effect | level |\n|---|---|---:|\n" if number % 40 == 1 else ""
                last = "\n" if number % 40 == 0 else ""
                yield from _split(
                    f"{heading}| drug {number} | more bleeding than before | {number % 7} |\n{last}"
                )
            case _:
                opening = "```python\n" if number % 60 == 1 else ""
                closing = "```\n\n" if number % 60 == 0 else ""
                yield from _split(
                    f"{opening}value_{number} = compute({number}, name='x')  # note\n{closing}"
                )


def _split(text: str) -> Iterator[str]:
    for line in text.splitlines(keepends=True):
        words = line.split(" ")
        yield from [f"{word} " for word in words[:-1]]
        yield words[-1]


@dataclass
class Lag:
    """How late the ticker was, in milliseconds, and the CPU seconds used meanwhile."""

    late_ms: list[float]
    cpu_s: float = 0.0
    wall_s: float = 0.0

    @property
    def p95(self) -> float:
        """The 95th percentile."""
        return statistics.quantiles(self.late_ms, n=20)[-1]


@asynccontextmanager
async def lag_measured() -> AsyncIterator[Lag]:
    """Measure the event loop while the body runs."""
    settle_garbage()
    lag = Lag([])

    async def ticker() -> None:
        while True:
            due = time.perf_counter() + 0.01
            await asyncio.sleep(0.01)
            lag.late_ms.append((time.perf_counter() - due) * 1000)

    task = asyncio.create_task(ticker())
    cpu, wall = time.process_time(), time.perf_counter()
    try:
        yield lag
    finally:
        lag.cpu_s, lag.wall_s = time.process_time() - cpu, time.perf_counter() - wall
        task.cancel()


async def feed(
    shape: str, total: int, per_second: int, write: Callable[[str], Awaitable[None]]
) -> None:
    """Write `total` tokens at their pace, joined to one piece per 33 ms as a recording does."""
    source = tokens(shape)
    begun, sent = time.perf_counter(), 0
    while sent < total:
        await asyncio.sleep(BATCH_S)
        due = min(total, int((time.perf_counter() - begun) * per_second))
        await write("".join(next(source) for _ in range(due - sent)))
        sent = due


def message(number: int, text: str, *, done: bool = True) -> MessageState:
    """Return a message as the fold would have made it."""
    role = "user" if number % 2 else "assistant"
    made = MessageState(
        number, (number + 1) // 2, role, "Socrates" if number % 2 else "agent", datetime.now(UTC)
    )
    made.replace(text)
    made.done = done
    made.latency_ms = 900.0 if role == "assistant" and done else None
    return made


def history(length: int) -> ConversationState:
    """Return a conversation of `length` messages with some Markdown in them."""
    talk = ConversationState(ConversationKey("supplied", 1))
    for number in range(1, length + 1):
        text = (
            f"Message {number}: take **one** tablet\n\n- in the morning\n- with `water`\n\n"
            + "and rest. " * 12
        )
        talk.messages.append(message(number, text))
    return talk


class TranscriptApp(App[None]):
    """One transcript."""

    def compose(self) -> ComposeResult:
        """Compose."""
        yield Transcript()


class MarkdownApp(App[None]):
    """Textual's own way."""

    def compose(self) -> ComposeResult:
        """Compose."""
        with VerticalScroll():
            yield Markdown()


async def stream_here(
    shape: str, total: int, per_second: int, length: int = HISTORY
) -> tuple[Lag, float]:
    """Stream into the transcript over `length` messages; return the lag and the milliseconds to the
    first word.
    """
    app = TranscriptApp()
    async with app.run_test(size=SIZE) as pilot:
        transcript = app.query_one(Transcript)
        talk = history(length)
        transcript.show(talk)
        await pilot.pause()
        streamed = message(length + 2, "", done=False)
        talk.messages.append(streamed)
        transcript.update({streamed.message})
        await pilot.pause()
        first = await _first_token(transcript, streamed)

        async def write(piece: str) -> None:
            streamed.add(piece)
            transcript.update({streamed.message})

        async with lag_measured() as lag:
            await feed(shape, total, per_second, write)
            streamed.done = True
            transcript.update({streamed.message})
            await pilot.pause()
    return lag, first


async def _first_token(transcript: Transcript, streamed: MessageState) -> float:
    """Return the milliseconds from an update with the first word to the screen's painting of it."""

    def write() -> None:
        streamed.add("First ")
        transcript.update({streamed.message})

    return await until_painted(transcript, write)


async def until_painted(transcript: Transcript, act: Callable[[], object]) -> float:
    """Return the milliseconds from an action to the end of the first painting of the screen that it
    led to.
    """
    painted = asyncio.Event()
    compositor = transcript.screen._compositor
    render = compositor.render_update

    def spy(*args: object, **kwargs: object) -> object:
        update = render(*args, **kwargs)  # type: ignore[arg-type]
        painted.set()
        return update

    compositor.render_update = spy  # type: ignore[method-assign, assignment]
    begun = time.perf_counter()
    act()
    await asyncio.wait_for(painted.wait(), 10)
    spent = (time.perf_counter() - begun) * 1000
    compositor.render_update = render  # type: ignore[method-assign]
    return spent


async def stream_there(shape: str, total: int, per_second: int) -> Lag:
    """Stream into Textual's Markdown through its MarkdownStream, without any history."""
    app = MarkdownApp()
    async with app.run_test(size=SIZE) as pilot:
        app.query_one(VerticalScroll).anchor()
        stream = Markdown.get_stream(app.query_one(Markdown))
        async with lag_measured() as lag:
            await feed(shape, total, per_second, stream.write)
            await stream.stop()
            await pilot.pause()
    return lag


async def idle() -> Lag:
    """Measure the ticker in an app that does nothing, for two seconds."""
    async with TranscriptApp().run_test(size=SIZE), lag_measured() as lag:
        await asyncio.sleep(2)
    return lag


async def streams(shapes: list[str], total: int, per_second: int, runs: int) -> None:
    """Print a table of both ways for each shape, medians of the runs."""
    print(
        f"\nStreaming {total:,} tokens at {per_second:,}/s; transcript over {HISTORY:,} messages of"
        " history"
    )
    print(f"{'':8} {'transcript':^40}  {'Textual Markdown + stream':^34}")
    print(
        f"{'shape':8} {'p95 ms':>7} {'max ms':>7} {'CPU s':>6} {'wall s':>6} {'first ms':>9}",
        end="  ",
    )
    print(f"{'p95 ms':>7} {'max ms':>7} {'CPU s':>6} {'wall s':>6} {'CPU ratio':>9}")
    print(f"{'idle':8} {_row(await idle())}   (the machine's own noise)")
    for shape in shapes:
        pairs = []
        for _ in range(runs):
            here = await stream_here(shape, total, per_second)
            pairs.append((here, await stream_there(shape, total, per_second)))
        first = statistics.median(first for (_, first), _ in pairs)
        ratio = statistics.median(here.cpu_s / there.cpu_s for (here, _), there in pairs)
        print(f"{shape:8} {_row(*[here for (here, _), _ in pairs])} {first:>9.0f}", end="  ")
        print(f"{_row(*[there for _, there in pairs])} {ratio:>9.2f}", flush=True)


def _row(*lags: Lag) -> str:
    figures = [(lag.p95, max(lag.late_ms), lag.cpu_s, lag.wall_s) for lag in lags]
    p95, most, cpu, wall = (statistics.median(column) for column in zip(*figures, strict=True))
    return f"{p95:>7.1f} {most:>7.0f} {cpu:>6.1f} {wall:>6.1f}"


async def histories() -> None:
    """Print what mounting, appending to and resizing long histories costs: milliseconds until
    painted.
    """
    print(
        f"\n{'history':>8} {'mount':>8} {'append':>8} {'page up':>8} {'find':>8} {'next':>8}"
        f" {'resize':>8}  ms, and MB"
    )
    for length in (200, 2_000, 20_000):
        await _history(length)


async def _history(length: int) -> None:
    talk = history(length)
    settle_garbage()
    app = TranscriptApp()
    async with app.run_test(size=SIZE) as pilot:
        transcript = app.query_one(Transcript)
        transcript.focus()
        transcript.show(history(40))  # what is done once: imports, caches
        await pilot.pause()
        figures = [await until_painted(transcript, lambda: transcript.show(talk))]

        def append() -> None:
            talk.messages.append(message(len(talk.messages) + 1, "One more, **short**."))
            transcript.update({len(talk.messages)})

        figures.append(
            statistics.median([await until_painted(transcript, append) for _ in range(10)])
        )
        figures.append(
            statistics.median(
                [await until_painted(transcript, transcript.action_page_up) for _ in range(10)]
            )
        )
        figures.append(await until_painted(transcript, lambda: transcript.find("tablet")))
        figures.append(await until_painted(transcript, lambda: transcript.find_next(1)))
        begun = time.perf_counter()
        await pilot.resize_terminal(120, 40)
        figures.append((time.perf_counter() - begun) * 1000)
    print(
        f"{length:>8,}", *(f"{figure:>8.1f}" for figure in figures), f"  {await _memory(talk):.1f}"
    )


async def _memory(talk: ConversationState) -> float:
    """Return the megabytes that a transcript adds to the conversation that it shows."""
    app = TranscriptApp()
    async with app.run_test(size=SIZE) as pilot:
        await pilot.pause()
        tracemalloc.start()
        app.query_one(Transcript).show(talk)
        await pilot.pause()
        used = tracemalloc.get_traced_memory()[0] / 1e6
        tracemalloc.stop()
    return used


def settle_garbage() -> None:
    """Leave what earlier measurements made out of later collections; those would stop either way
    alike.
    """
    gc.collect()
    gc.freeze()


async def hostile() -> None:
    """Print how long a first look at a megabyte takes."""
    cases = {
        "1 MB of short lines": "a\n" * 500_000,
        "1 MB of paragraphs": "a\n\n" * 333_333,
        "1 MB code fence": "```python\n" + "x = 1\n" * 166_000,
        "1 MB without a space": "w" * 1_000_000,
        "1 MB table": "| a | b |\n|---|---|\n" + "| 1 | 2 |\n" * 100_000,
        "1 MB of brackets": "[" * 1_000_000,
        "10,000 combining marks": "a" + "\u0301" * 10_000,
    }
    print(f"\n{'one message of':24} {'first look ms':>14}")
    for name, text in cases.items():
        talk = ConversationState(ConversationKey("supplied", 1))
        talk.messages.append(message(2, text))
        app = TranscriptApp()
        async with app.run_test(size=SIZE) as pilot:
            transcript = app.query_one(Transcript)
            transcript.show(history(40))
            await pilot.pause()
            spent = await until_painted(transcript, partial(transcript.show, talk))
            print(f"{name:24} {spent:>14.0f}")


async def main() -> None:
    """Run what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--quick", action="store_true", help="a tenth of the tokens")
    parser.add_argument("--tokens-per-second", type=int, default=1000)
    parser.add_argument("--runs", type=int, default=RUNS, help="of each stream")
    parser.add_argument("--shapes", default="text,lists,tables,code")
    parser.add_argument("--only", choices=("streams", "histories", "hostile"))
    chosen = parser.parse_args()
    total = chosen.tokens_per_second * (2 if chosen.quick else 10)
    if chosen.only in (None, "histories"):
        await histories()
    if chosen.only in (None, "hostile"):
        await hostile()
    if chosen.only in (None, "streams"):
        await streams(chosen.shapes.split(","), total, chosen.tokens_per_second, chosen.runs)
    print(
        "\npeak memory of the process"
        f" {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB"
    )


if __name__ == "__main__":
    asyncio.run(main())
