"""The transcript with keys, mouse and a growing conversation."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from textual.app import App, ComposeResult
from textual.geometry import Offset
from textual.pilot import Pilot
from textual.selection import Selection

from bioeval_tui.formats import ConversationKey, ConversationState, MessageState
from bioeval_tui.record import events
from bioeval_tui.tui.live.transcript import Transcript

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
CONTEXT: dict[str, Any] = {
    "run_id": "r",
    "seq": 1,
    "at": NOON,
    "condition": "supplied",
    "trial": 1,
    "attempt": 1,
}


class OneTranscript(App[None]):
    """A transcript and what it told."""

    def __init__(self) -> None:
        super().__init__()
        self.told: list[bool] = []
        self.clicked = False

    def compose(self) -> ComposeResult:
        yield Transcript()

    def on_mount(self) -> None:
        self.watch(self.query_one(Transcript), "following", self.follow_changed, init=False)

    def follow_changed(self, following: bool) -> None:
        self.told.append(following)

    def action_clicked(self) -> None:
        self.clicked = True


def say(talk: ConversationState, text: str, **more: Any) -> MessageState:
    """Add a message; speakers take turns, the evaluator first."""
    number = len(talk.messages) + 1
    role = "user" if number % 2 else "assistant"
    message = MessageState(
        number, (number + 1) // 2, role, "Socrates" if number % 2 else "agent", NOON
    )
    message.replace(text)
    message.done = True
    for name, value in more.items():
        setattr(message, name, value)
    talk.messages.append(message)
    return message


def conversation(*texts: str) -> ConversationState:
    talk = ConversationState(ConversationKey("supplied", 1), phase="agent", started_at=NOON)
    for text in texts:
        say(talk, text)
    return talk


def long_conversation(length: int = 300) -> ConversationState:
    """Messages of very different heights, whose estimates are wrong."""
    talk = ConversationState(ConversationKey("supplied", 1))
    for number in range(1, length + 1):
        table = "\n\n| a | b |\n|---|---|\n" + "| 1 | 2 |\n" * (number % 7)
        say(
            talk,
            f"[line {number}]"
            + " and some words" * (number % 23)
            + (table if number % 3 == 0 else ""),
        )
    return talk


@asynccontextmanager
async def shown(
    talk: ConversationState | None, size: tuple[int, int] = (80, 24), theme: str = "textual-dark"
) -> AsyncIterator[tuple[Transcript, Pilot[None]]]:
    app = OneTranscript()
    app.theme = theme
    async with app.run_test(size=size, notifications=True) as pilot:
        transcript = app.query_one(Transcript)
        transcript.focus()
        transcript.show(talk)
        await pilot.pause()
        yield transcript, pilot


def lines(transcript: Transcript) -> list[str]:
    """Return the lines in view."""
    return [transcript.render_line(y).text.rstrip() for y in range(transcript.size.height)]


def seen(transcript: Transcript) -> str:
    return "\n".join(lines(transcript))


async def test_speaker_text_and_latency_are_columns() -> None:
    talk = conversation("Remind me at 9?")
    say(talk, "Which **time zone**?", latency_ms=1340.0, first_token_ms=310.0)
    async with shown(talk) as (transcript, _):
        assert lines(transcript)[0].startswith("▌user   Remind me at 9?")
        assert lines(transcript)[1].startswith("┃agent  Which time zone?")
        assert lines(transcript)[1].endswith("▸0.31 s  1.34 s")


async def test_events_are_shown_with_their_message() -> None:
    talk = conversation("Hello", "Where?")
    fact = events.FactDisclosed(**CONTEXT, fact=1, text="Sydney", message=3, turn=2, asked=True)
    blurted = events.FactDisclosed(**CONTEXT, fact=2, text="5 mg", message=3, turn=2, asked=False)
    broken = events.EvaluatorViolated(
        **CONTEXT, rule="spoke_as_agent", detail="d", message=3, content="c"
    )
    marked = events.EvaluatorViolated(
        **CONTEXT, rule="invention", detail="d", message=3, content="c", effect="mark"
    )
    say(talk, "Sydney", facts=[fact, blurted], violations=[broken, marked])
    failure = events.RequestFailed(
        **CONTEXT,
        peer="agent",
        request_attempt=1,
        error="busy",
        status=503,
        wait_ms=100,
        counted=True,
    )
    say(talk, "Done.", failures=[failure])
    say(talk, "Typed here.", operator=True)
    say(talk, "Fine.")
    say(talk, "Bye.", signs_off=True)
    talk.ended = events.ConversationEnded(
        **CONTEXT, reason="signed_off", fault="none", duration_ms=108_000
    )
    async with shown(talk) as (transcript, _):
        page = seen(transcript)
    for words in (
        "◆ fact 1, asked",
        "◆ fact 2, not asked",
        "! evaluator, not sent: spoke as agent",
        "! evaluator, marked: invention",
        "↻ retried after 0.10 s: 503",
        "✎ typed by the operator",
        "■ signs off",
        "■ signed off · 3 turns · took 1 m 48 s",
    ):
        assert words in page
    assert "Bye." not in page  # the agreed words of a sign-off say nothing to a reader


async def test_a_pending_answer_shows_how_long_it_takes() -> None:
    talk = conversation("Hello")
    say(talk, "", done=False)
    async with shown(talk) as (transcript, pilot):
        transcript.tick(NOON + timedelta(seconds=1.3))
        await pilot.pause()
        assert "answering…" in lines(transcript)[1]
        assert lines(transcript)[1].endswith("1.3 s…")


async def test_an_empty_transcript_says_so() -> None:
    async with shown(None) as (transcript, pilot):
        assert "no conversation yet" in seen(transcript)
        transcript.show(conversation("Hello"))
        await pilot.pause()
        assert "Hello" in seen(transcript)


async def test_the_first_words_of_a_stream_show_at_once_and_the_last_are_not_lost() -> None:
    talk = conversation("Hello")
    answer = say(talk, "", done=False)
    async with shown(talk) as (transcript, pilot):
        answer.add("First")
        transcript.update({2})
        assert "First" in seen(transcript)
        for number in range(500):
            answer.add(f" w{number}")
            transcript.update({2})
        answer.done = True
        answer.latency_ms = 900.0
        transcript.update({2})
        await pilot.pause()
        assert "w499" in seen(transcript)
        assert "…" not in seen(transcript)


async def test_the_last_streamed_text_is_painted_without_another_update() -> None:
    talk = conversation("Hello")
    answer = say(talk, "", done=False)
    async with shown(talk) as (transcript, pilot):
        answer.add("First")
        transcript.update({2})
        answer.add(" second")
        transcript.update({2})
        async with asyncio.timeout(10):
            while "First second" not in seen(transcript):
                await pilot.pause(0.01)


async def test_the_end_is_followed_until_you_scroll_up() -> None:
    talk = long_conversation()
    async with shown(talk) as (transcript, pilot):
        assert "[line 300]" in seen(transcript)
        await pilot.press("up", "up", "up")
        before = lines(transcript)
        assert not transcript.following
        say(talk, "[line 301]")
        transcript.update({301})
        await pilot.pause()
        assert lines(transcript) == before
        await pilot.press("f")
        assert "[line 301]" in seen(transcript)
        await pilot.press("pageup", "end")
        assert transcript.following
        app = pilot.app
        assert isinstance(app, OneTranscript)
        assert app.told == [False, True, False, True]


async def test_paging_up_through_history_skips_no_message() -> None:
    talk = long_conversation(120)
    async with shown(talk) as (transcript, pilot):
        met: set[str] = set()
        for _ in range(200):
            met.update(line for line in seen(transcript).split() if line.endswith("]"))
            if transcript.scroll_offset.y == 0:
                break
            await pilot.press("pageup")
        assert met == {f"{number}]" for number in range(1, 121)}


async def test_home_shows_the_first_line_even_when_it_was_never_visible() -> None:
    talk = long_conversation(12)
    talk.warnings.extend(
        events.Warned(**CONTEXT, code="c", message=f"warning {n}") for n in range(9)
    )
    async with shown(talk) as (transcript, pilot):
        await pilot.press("home")
        assert "warning 0" in lines(transcript)[0]


async def test_jumping_works_before_the_first_layout() -> None:
    app = OneTranscript()
    async with app.run_test(size=(80, 24)) as pilot:
        late = Transcript()
        late.show(long_conversation())
        assert late.show_message(150, "line 150")
        assert not late.show_message(150, "never said")
        late.show_message(150)
        await app.mount(late)
        app.query_one(Transcript).remove()
        await pilot.pause()
        await pilot.pause()
        assert "[line 150]" in seen(late)


async def test_links_are_shown_with_their_url_and_no_words_are_left_out() -> None:
    talk = conversation(
        "see [the leaflet](https://example.org/a) and ![a scan](b.png)\n\n"
        "[1]: https://example.org/b"
    )
    say(talk, ">" * 20 + " so deep")
    async with shown(talk) as (transcript, _):
        assert "see the leaflet (https://example.org/a) and" in lines(transcript)[0]
        for words in ("[image: a scan]", "[1]: https://example.org/b", "> so deep"):
            assert words in seen(transcript)


async def test_one_line_up_shows_the_same_lines_one_lower() -> None:
    async with shown(long_conversation(), (70, 20)) as (transcript, pilot):
        for _ in range(25):
            before = lines(transcript)
            await pilot.press("up")
            assert lines(transcript)[1:] == before[:-1]


async def test_a_resize_keeps_the_line_that_was_on_top() -> None:
    async with shown(long_conversation(), (100, 30)) as (transcript, pilot):
        transcript.show_message(150)
        await pilot.pause()
        top = next(line for line in lines(transcript) if "[line" in line).split("]")[0]
        for size in ((60, 20), (140, 50), (100, 30)):
            await pilot.resize_terminal(*size)
            await pilot.pause()
            assert top in seen(transcript)
        assert not transcript.following


async def test_a_resize_while_following_stays_at_the_end() -> None:
    async with shown(long_conversation(), (100, 30)) as (transcript, pilot):
        await pilot.resize_terminal(50, 10)
        await pilot.pause()
        assert transcript.following
        assert "[line 300]" in seen(transcript)


def with_events() -> ConversationState:
    talk = conversation("Hello")
    request = {
        "request": {"function": {"name": "createReminder"}, "arguments": {"date": "2026-11-21"}}
    }
    say(
        talk,
        "Done.",
        generation=[{"systemPrompt": "You are kind."}, request, {"output": "reminder 17"}],
    )
    return talk


async def test_enter_expands_and_collapses_generation_events() -> None:
    async with shown(with_events()) as (transcript, pilot):
        assert 'ƒ createReminder(date="2026-11-21")' in seen(transcript)
        assert "⚙ system prompt, 3 words" in seen(transcript)
        assert "← reminder 17" in seen(transcript)
        await pilot.press("j", "j")
        assert next(line for line in lines(transcript) if "ƒ" in line).endswith("⏎ open")
        await pilot.press("enter")
        assert '"date": "2026-11-21"' in seen(transcript)
        await pilot.press("k", "enter")
        assert "You are kind." in seen(transcript)
        await pilot.press("enter", "j", "enter")
        assert "You are kind." not in seen(transcript)
        assert '"date": "2026-11-21"' not in seen(transcript)


async def test_clicking_an_event_expands_it() -> None:
    async with shown(with_events()) as (transcript, pilot):
        row = next(y for y, line in enumerate(lines(transcript)) if "⚙" in line)
        await pilot.click(Transcript, offset=(20, row))
        assert "You are kind." in seen(transcript)


async def test_events_can_be_hidden() -> None:
    async with shown(with_events()) as (transcript, pilot):
        await pilot.press("e")
        assert "ƒ" not in seen(transcript)
        await pilot.press("e")
        assert "ƒ" in seen(transcript)


async def test_search_counts_matches_and_wraps_around() -> None:
    talk = long_conversation()
    say(talk, "A **long\nacting** drug, long acting indeed")
    async with shown(talk) as (transcript, pilot):
        await pilot.press("home")
        assert transcript.find("LONG acting") == 2
        assert transcript.find_next(1) == (1, 2)
        await pilot.pause()
        assert "acting drug" in seen(transcript)
        assert transcript.find_next(1) == (2, 2)
        assert transcript.find_next(1) == (1, 2)
        assert transcript.find_next(-1) == (2, 2)
        say(talk, "more long acting")
        transcript.update({302})
        assert transcript.matches == (2, 3)
        assert transcript.find("no such words") == 0
        assert transcript.find_next(1) == (0, 0)
        assert transcript.find("") == 0


async def test_matches_that_wrap_are_highlighted() -> None:
    talk = conversation("word " * 12 + "needle thread " + "word " * 12)
    async with shown(talk, (81, 10)) as (transcript, _):
        plain = [transcript.render_line(y) for y in range(3)]
        transcript.find("needle thread")
        marked = [transcript.render_line(y) for y in range(3)]
        assert [strip.text for strip in plain] == [strip.text for strip in marked]

        def boxes(strips: list[Any]) -> set[Any]:
            return {segment.style.bgcolor for strip in strips for segment in strip if segment.style}

        assert len(boxes(marked)) == len(boxes(plain)) + 1


async def test_evidence_is_scrolled_into_view_and_highlighted() -> None:
    talk = long_conversation()
    talk.messages[100].replace("x " * 900 + "\n\nThe dose is **5 mg** a day.")
    async with shown(talk) as (transcript, pilot):
        assert transcript.show_message(101, "dose is 5 mg")
        await pilot.pause()
        assert "The dose is 5 mg a day." in seen(transcript)
        assert not transcript.show_message(101, "was never said")
        assert not transcript.show_message(999)


async def test_selected_text_is_the_text_of_the_message() -> None:
    talk = conversation("one **two** three", "four", "five")
    async with shown(talk) as (transcript, _):
        everything = transcript.get_selection(Selection(None, None))
        assert everything is not None
        assert [line for line in everything[0].splitlines() if line] == [
            "one **two** three",
            "four",
            "five",
        ]
        start = _offset_at(transcript, 12, 0)
        end = _offset_at(transcript, 10, 1)
        some = transcript.get_selection(Selection.from_offsets(start, end))
        assert some is not None
        assert some[0].splitlines() == ["two three", "fo"]


def _offset_at(transcript: Transcript, x: int, y: int) -> Offset:
    offset = transcript.screen.get_widget_and_offset_at(x, y)[1]
    assert offset is not None
    return offset


async def test_text_selected_with_the_mouse_can_be_copied_and_stays_readable() -> None:
    async with shown(conversation("one two three", "four")) as (transcript, pilot):
        await pilot.mouse_down(Transcript, offset=(12, 0))
        await pilot.hover(Transcript, offset=(9, 1))
        await pilot.mouse_up(Transcript, offset=(9, 1))
        await pilot.pause()
        assert transcript.screen.get_selected_text() == "two three\nfo"
        for segment in transcript.render_line(0):
            assert segment.style is not None
            assert not segment.text.strip() or segment.style.color != segment.style.bgcolor


async def test_selected_code_is_copied_without_its_border() -> None:
    async with shown(conversation("```\nfirst\nsecond\n```")) as (transcript, _):
        assert "│ first" in lines(transcript)[0]
        selection = Selection.from_offsets(
            _offset_at(transcript, 0, 0), _offset_at(transcript, 14, 1)
        )
        assert transcript.get_selection(selection) == ("first\nseco", "\n")


async def test_a_selection_survives_new_messages() -> None:
    talk = conversation("one two", "four")
    async with shown(talk) as (transcript, _):
        selection = Selection.from_offsets(
            _offset_at(transcript, 8, 0), _offset_at(transcript, 11, 0)
        )
        say(talk, "five\n\nsix")
        transcript.update({3})
        assert transcript.get_selection(selection) == ("one", "\n")


class TwoTranscripts(App[None]):
    """One to scroll in, and one that comes and goes."""

    CSS = "Transcript { height: 1fr; } #comes { display: none; }"

    def compose(self) -> ComposeResult:
        yield Transcript(id="stays")
        yield Transcript(id="comes")


async def test_a_hidden_transcript_is_painted_when_it_becomes_visible() -> None:
    app = TwoTranscripts()
    async with app.run_test(size=(80, 24)) as pilot:
        stays, comes = app.query_one("#stays", Transcript), app.query_one("#comes", Transcript)
        stays.show(conversation("Hi"))
        comes.show(conversation("Hello", "There."))
        await pilot.pause()
        comes.display = True
        # As after a scroll: asking arranges the screen anew, and its next layout finds nothing
        # shown or resized.
        app.screen._compositor._full_map_invalidated = True
        assert app.screen._compositor.full_map[comes].region
        await pilot.pause()
        await pilot.pause()
        assert "There." in seen(comes)


async def test_messages_that_arrived_while_hidden_are_there_when_shown() -> None:
    talk = long_conversation()
    async with shown(talk) as (transcript, pilot):
        transcript.display = False
        await pilot.pause()
        for number in range(301, 311):
            say(talk, f"[line {number}]\n\n" + "some words " * number)
            transcript.update({number})
        await pilot.pause()
        transcript.display = True
        await pilot.pause()
        await pilot.pause()
        assert transcript.scroll_offset.y == transcript.max_scroll_y
        assert "some words" in lines(transcript)[-1]
        transcript.display = False
        await pilot.pause()
        transcript.show(conversation("another"))
        transcript.display = True
        await pilot.pause()
        await pilot.pause()
        assert "another" in seen(transcript)


HOSTILE = (
    "[/INST] [/foo] [b +",
    "[@click=app.clicked]press me[/]",
    "\x1b[31mred\x1b[0m \x1b]52;c;aGk=\x07 \x9b2J",
    "\u202eabc\u202c &#x202e; &#27;[31m",
    "a" + "\u0301" * 10_000,
    "<script>x</script> <kbd>k",
    "[![i](http://a/b.png)](http://c) [x](javascript:y)",
    "> " * 40 + "deep",
    "- " * 60 + "deep",
    "| a |\n|---|\n| b | c | d |\n",
    "```\nnever closed",
    "[" * 3000,
    "👨‍👩‍👧‍👦 漢字 " * 50,
    "\t\ttab\r\nreturn\u2028line",
)


@pytest.mark.parametrize("size", [(80, 24), (20, 5)])
async def test_hostile_text_is_shown_and_does_nothing(size: tuple[int, int]) -> None:
    talk = ConversationState(ConversationKey("supplied", 1))
    for text in HOSTILE:
        request = {"request": {"function": {"name": text}, "arguments": {text: text}}}
        message = say(talk, text, generation=[{"output": text}, request, {text: text}])
        message.speaker = text
    async with shown(talk, size) as (transcript, pilot):
        await pilot.press("home")
        for _ in range(40):
            for y in range(transcript.size.height):
                for segment in transcript.render_line(y):
                    assert not any(
                        ord(letter) < 32 or 0x7F <= ord(letter) < 0xA0 for letter in segment.text
                    )
                    assert "\u202e" not in segment.text
                    style = segment.style
                    assert style is None or (style.link is None and set(style.meta) <= {"offset"})
            await pilot.click(Transcript, offset=(15, 1))
            if transcript.scroll_offset.y >= transcript.max_scroll_y:
                break
            transcript.action_page_down()
            await pilot.pause()
        app = pilot.app
        assert isinstance(app, OneTranscript)
        assert not app.clicked


@pytest.mark.parametrize(
    "text",
    [
        "a\n" * 500_000,
        "```py\n" + "x = 1\n" * 166_000,
        "w" * 1_000_000,
        "| a |\n|---|\n" + "| 1 |\n" * 160_000,
    ],
)
async def test_of_a_megabyte_of_text_only_the_visible_part_is_painted(text: str) -> None:
    async with shown(conversation(text)) as (transcript, _):
        painted = [block for block in transcript._page.blocks(1) if block.lines is not None]
        assert len(transcript._page.blocks(1)) > 400
        assert 0 < len(painted) < 10


async def test_appending_paints_only_the_new_message(monkeypatch: pytest.MonkeyPatch) -> None:
    talk = long_conversation(2000)
    async with shown(talk) as (transcript, pilot):
        painter = transcript._page.painter
        assert painter is not None
        painted: list[str] = []
        paint = painter.paint
        monkeypatch.setattr(
            painter, "paint", lambda block: painted.append(block.text) or paint(block)
        )
        say(talk, "the new one")
        transcript.update({2001})
        await pilot.pause()
        assert [text for text in painted if text] == ["the new one"]


async def test_changing_the_theme_repaints_the_transcript() -> None:
    async with shown(conversation("Hello")) as (transcript, pilot):
        before = transcript.render_line(0)
        pilot.app.theme = "textual-light"
        await pilot.pause()
        after = transcript.render_line(0)
        assert after.text == before.text
        assert list(after) != list(before)


async def test_changing_the_theme_leaves_no_colour_of_the_previous_one() -> None:
    async with shown(conversation("Hello", "How are you?")) as (transcript, pilot):
        pilot.app.theme = "textual-light"
        await pilot.pause()
        await pilot.pause()
        switched = [segment.style for y in range(4) for segment in transcript.render_line(y)]
        pilot.app.theme = "textual-dark"
        await pilot.pause()
        await pilot.pause()
        back = [segment.style for y in range(4) for segment in transcript.render_line(y)]
    async with shown(conversation("Hello", "How are you?"), theme="textual-light") as (
        transcript,
        _,
    ):
        assert switched == [
            segment.style for y in range(4) for segment in transcript.render_line(y)
        ]
        assert switched != back


async def test_search_finds_words_that_are_formatted_or_wrapped_and_is_no_pattern() -> None:
    for words, text in (
        ("take ONE tablet", "please take **one** tablet"),
        ("take **one** tablet", "take one\ntablet"),
        ("a.b (c)", "see A.B (c)"),
        ("**", "two ** stars"),
        ("interact (major)**: avoid", "they interact (major): avoid both"),
    ):
        async with shown(conversation(text)) as (transcript, _):
            assert transcript.find(words) == 1, words
    async with shown(conversation("anything", "a • " * 1000)) as (transcript, _):
        assert transcript.find(".*") == 0
        assert transcript.find("a • " * 100 + "b") == 0
        assert transcript.find("  ") == 0


async def test_a_match_over_two_lines_is_highlighted_on_both() -> None:
    async with shown(conversation("a needle\\\n  thread b\n\nneedle thread"), (81, 10)) as (
        transcript,
        _,
    ):
        plain = [list(transcript.render_line(y)) for y in range(4)]
        transcript.find("needle thread")
        marked = [list(transcript.render_line(y)) for y in range(4)]
        assert [line != before for line, before in zip(marked, plain, strict=True)] == [
            True,
            True,
            False,
            True,
        ]


async def test_generation_events_collapse_to_one_line() -> None:
    listed: list[tuple[dict[str, Any], str]] = [
        (
            {
                "request": {
                    "function": {"name": "createReminder"},
                    "arguments": {"date": "2026-11-21", "n": 2},
                }
            },
            'ƒ createReminder(date="2026-11-21", n=2)',
        ),
        ({"request": {"function": {"name": "now"}}}, "ƒ now()"),
        ({"systemPrompt": "You are kind."}, "⚙ system prompt, 3 words"),
        ({"output": "done"}, "← done"),
        ({"output": ""}, "← (nothing)"),
        ({"content": "warfarin", "summaryDirection": "short"}, "◇ knowledge request: warfarin"),
        ({"else": [1]}, '· {"else":[1]}'),
        ({"request": "odd"}, '· {"request":"odd"}'),
    ]
    talk = conversation("Hello")
    say(talk, "Done.", generation=[event for event, _ in listed])
    async with shown(talk, (100, 24)) as (transcript, _):
        assert [words for _, words in listed if words not in seen(transcript)] == []


async def test_unfinished_bold_text_and_code_are_closed_while_they_are_streamed() -> None:
    for written, painted in (
        ("**Warfarin and", "Warfarin and"),
        ("**Warfarin** and **", "Warfarin and"),
        ("**Warfarin** and", "Warfarin and"),
        ("run `a ** b", "run a ** b"),
        ("`a ** b` is **so", "a ** b is so"),
        ("2 ** 3", "2 ** 3"),
    ):
        talk = conversation("Hello")
        say(talk, written, done=False)
        async with shown(talk) as (transcript, _):
            assert painted in seen(transcript), written
            assert "**" not in seen(transcript) or "**" in painted, written
