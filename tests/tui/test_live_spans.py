"""Spans on the live screen: lines below the answer as they arrive, and the waterfall of a turn."""

from __future__ import annotations

from driving import NARROW, WIDE, is_a, loaded, opened, screen_text, until
from fakes import FakeView
from run_script import BEGAN, RUN_ID, scripted_run

from bioeval_tui.formats import AgentSpan
from bioeval_tui.record import events
from bioeval_tui.record.events import RunEvent

TRACE, ROOT = "11" * 16, "22" * 8


def span(
    number: int, parent: str, name: str, start_ms: int, end_ms: int, **more: object
) -> AgentSpan:
    began = int(BEGAN.timestamp() * 1000)
    times = {"start_ns": (began + start_ms) * 10**6, "end_ns": (began + end_ms) * 10**6}
    return AgentSpan.model_validate(
        {
            "trace_id": TRACE,
            "span_id": f"{number:016x}",
            "parent_id": parent,
            "name": name,
            **times,
            **more,
        }
    )


def received(
    message: int, *spans: AgentSpan, late: bool = False, doubled: tuple[str, ...] = ()
) -> RunEvent:
    return events.SpansReceived(
        run_id=RUN_ID, seq=0, at=BEGAN, condition="withheld", trial=1, attempt=1,
        message=message, spans=spans, late=late, doubled=doubled,
    )  # fmt: skip


def traced_run() -> list[RunEvent]:
    """Return the scripted run, up to an answer of the first conversation that is given a trace."""
    found = []
    for event in scripted_run():
        if (
            isinstance(event, events.MessageStarted)
            and event.condition == "withheld"
            and event.message == 4
        ):
            event = event.model_copy(update={"traceparent": f"00-{TRACE}-{ROOT}-01"})
        found.append(event)
        if (
            isinstance(event, events.MessageCompleted)
            and event.condition == "withheld"
            and event.message == 4
        ):
            return [*found, scripted_run()[-1]]
    raise AssertionError("there is no such answer")


LOOK_UP = span(
    2, f"{1:016x}", "execute_tool lookUp", 100, 300,
    attributes={"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "lookUp",
                "gen_ai.tool.call.arguments": '{"drug": "[red]warfarin"}',
                "gen_ai.tool.call.result": "found"},
)  # fmt: skip
CHAT = span(
    3, f"{1:016x}", "chat small", 300, 900,
    attributes={"gen_ai.operation.name": "chat", "gen_ai.request.model": "small",
                "gen_ai.usage.input_tokens": 1204, "gen_ai.usage.output_tokens": 31},
)  # fmt: skip
WHOLE = span(1, ROOT, "invoke_agent helper", 0, 1000)


async def test_spans_appear_below_their_answer_as_they_arrive() -> None:
    run = traced_run()
    view = FakeView(run, hold_at=len(run) - 1)
    async with opened(view, WIDE) as (app, pilot):
        await loaded(app, pilot)
        assert "lookUp" not in screen_text(app)
        view.give_event(received(4, LOOK_UP))
        await until(pilot, lambda: 'lookUp(drug="[red]warfarin") → found' in screen_text(app))
        view.give_event(received(4, CHAT, WHOLE, late=True, doubled=(LOOK_UP.span_id,)))
        await until(pilot, lambda: "1,204 → 31 tokens" in screen_text(app))
        shown = screen_text(app)
        assert "found, received twice" in shown
        assert "tokens, late" in shown
        assert "0.20 s" in shown


async def test_of_many_spans_the_last_are_shown_and_the_others_counted() -> None:
    run = traced_run()
    view = FakeView(run, hold_at=len(run) - 1)
    async with opened(view, WIDE) as (app, pilot):
        many = [
            span(number, ROOT, f"step {number}", number, number + 1) for number in range(1, 101)
        ]
        view.give_event(received(4, *many))
        await until(pilot, lambda: "step 100" in screen_text(app))
        assert "88 spans before these" in screen_text(app)


async def test_w_opens_the_waterfall_of_a_turn() -> None:
    run = traced_run()
    view = FakeView(run, hold_at=len(run) - 1)
    async with opened(view, NARROW) as (app, pilot):
        await loaded(app, pilot)
        assert app.live.conversations.check_action("waterfall", ()) is False, (
            "there is nothing to see yet"
        )
        view.give_event(received(4, LOOK_UP, CHAT))
        await until(pilot, lambda: "lookUp" in screen_text(app))
        await pilot.press("w")
        await until(pilot, lambda: is_a(app.screen, "Waterfall") and "━" in screen_text(app))
        assert "1 span missing that others refer to" in screen_text(app)
        view.give_event(received(4, WHOLE))
        await until(pilot, lambda: "invoke_agent helper" in screen_text(app))
        lines = [line for line in screen_text(app).splitlines() if "━" in line]
        first, second, third = (line.index("━") for line in lines)
        assert lines[0].lstrip().startswith("invoke_agent")
        assert lines[1].index("lookUp") > lines[0].index("invoke_agent")
        assert first < second < third
        assert "did not come" not in screen_text(app)
        view.give_event(received(2, span(9, "", "earlier", 0, 1)))
        await until(pilot, lambda: app.screen.check_action("turn", (-1,)) is True)
        await pilot.press("left")
        await until(pilot, lambda: "earlier" in screen_text(app))
        await pilot.press("right")
        await until(pilot, lambda: "invoke_agent helper" in screen_text(app))
        assert "← → turn" in screen_text(app)
        failed = span(
            8, "33" * 8, "invoke_agent first", -1000, -500, trace_id="44" * 16, status="error"
        )
        view.give_event(received(4, failed))
        await until(pilot, lambda: "a failed attempt" in screen_text(app))

        def bars(name: str) -> list[str]:
            return [line for line in screen_text(app).splitlines() if "━" in line and name in line]

        await until(pilot, lambda: bool(bars("first") and bars("helper")))
        lines, (tried,), (answered,) = bars(""), bars("first"), bars("helper")
        assert lines[0] == tried
        assert tried.index("━") < tried.rindex("━") < answered.index("━"), "both on one time axis"
        await pilot.press("tab")
        await until(pilot, lambda: "No spans of this turn have arrived." in screen_text(app))
        await pilot.press("escape")
        await until(pilot, lambda: not is_a(app.screen, "Waterfall"))
