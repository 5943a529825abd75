"""A replay in a file shows what the screen showed, in a terminal emulator and in a browser."""

import json
import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

import pyte
import pytest
from rich.style import Style

from bioeval_tui.base.errors import UsageError
from bioeval_tui.base.settings import Settings
from bioeval_tui.cli.write_replay import write_replay
from bioeval_tui.record.events import MessageCompleted
from bioeval_tui.record.masking import use
from bioeval_tui.record.masking.mask import Mask
from bioeval_tui.record.masking.rules import load_rules
from bioeval_tui.record.reading import read_recording
from bioeval_tui.tui import casting
from tests.unit.report.recorded import GOLDEN

SIZE = (100, 30)


def written(folder: Path, **asked: object) -> tuple[Path, Path]:
    """Write the golden run as a cast and a page; return both."""
    cast, page = folder / "run.cast", folder / "run.html"
    settings = Settings(data_dir_override=str(folder / "data"))
    options = {
        "size": f"{SIZE[0]}x{SIZE[1]}",
        "theme": "dark",
        "times": "reading",
    }
    given: dict[str, Any] = {**options, **asked}
    write_replay(settings, str(GOLDEN), {"cast": cast, "html": page}, **given)
    return cast, page


Cell = tuple[str, str, str, bool]
"""A character, the colours of its front and back, and whether it is bold."""


def seen_in(char: pyte.screens.Char) -> Cell | None:
    """Return a cell of the emulator; None for the second half of a wide character."""
    return (char.data, char.fg, char.bg, char.bold) if char.data else None


def wanted(text: str, style: Style) -> list[Cell]:
    """Return the cells that the application drew."""
    front, back = (
        "default"
        if colour is None or colour.is_default
        else colour.get_truecolor().hex.removeprefix("#")
        for colour in (style.color, style.bgcolor)
    )
    return [(character, front, back, bool(style.bold)) for character in text]


@pytest.mark.long
def test_a_written_replay_shows_the_screen_at_every_marker(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn: list[casting.Frame] = []
    frames = casting.replay_frames

    async def kept(*asked: object) -> list[casting.Frame]:
        drawn.extend(await frames(*asked))  # type: ignore[arg-type]
        return drawn

    monkeypatch.setattr("bioeval_tui.cli.write_replay.replay_frames", kept)
    cast, page = written(tmp_path)
    header, *lines = cast.read_text(encoding="utf-8").splitlines()
    assert json.loads(header)["version"] == 3
    assert json.loads(header)["term"]["cols"] == SIZE[0]
    screen = pyte.Screen(*SIZE)
    stream, at, seen = pyte.Stream(screen), 0, []
    for wait, code, data in map(json.loads, lines):
        assert wait >= 0
        if code == "o" and at < len(drawn):
            stream.feed(data)
            for row, line in enumerate(drawn[at].lines):
                assert [
                    cell for x in range(SIZE[0]) if (cell := seen_in(screen.buffer[row][x]))
                ] == [cell for text, style in line for cell in wanted(text, style)]
            at += 1
        elif code == "m":
            seen.append(data)
            assert data == drawn[at - 1].marker
    assert seen[0] == "start"
    said = next(
        event.content
        for event in read_recording(GOLDEN).events
        if isinstance(event, MessageCompleted)
    )
    opening = "\n".join("".join(text for text, _ in line) for line in drawn[0].lines)
    assert said[:20] in opening, "it opens on the first message"
    assert "0…5" not in opening, "it names no keys, which nobody can press"
    assert "without the facts, turn 3" in seen
    assert seen[-2:] == ["end", "score card"]
    assert "0.44 → 1.00 with the facts" in "\n".join(screen.display)
    assert page.stat().st_size < 1_000_000 * len(seen) / 40, "40 turns fit into a megabyte"
    assert oct(cast.stat().st_mode)[-3:] == "600"
    if chromium := os.environ.get("CHROMIUM") or shutil.which("chromium"):
        plays_offline(page, chromium)


def plays_offline(page: Path, chromium: str) -> None:
    """Open the page in a browser without a network, and go through it by keys."""
    api = pytest.importorskip("playwright.sync_api")
    with (
        api.sync_playwright() as play,
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile,
    ):
        browser = play.chromium.launch_persistent_context(
            profile, executable_path=chromium, headless=True, args=["--no-sandbox"], offline=True
        )
        tab = browser.new_page()
        troubles: list[str] = []
        tab.on("pageerror", lambda error: troubles.append(str(error)))
        tab.on(
            "request",
            lambda request: troubles.append(request.url) if request.url != page.as_uri() else None,
        )
        tab.goto(page.as_uri())
        tab.keyboard.press("End")
        assert "0.44 → 1.00 with the facts" in tab.inner_text("#screen")
        tab.keyboard.press("Home")
        tab.keyboard.press("ArrowRight")
        assert "without the facts" in tab.inner_text("#screen")
        assert troubles == []
        browser.close()


def test_a_written_replay_contains_no_masked_words(tmp_path: Path) -> None:
    rules = tmp_path / "rules.yml"
    rules.write_text("names: [Sydney]\nidentifiers: [warfarin]\n", encoding="utf-8")
    use(Mask(load_rules(rules, tmp_path)), rules)
    try:
        cast, page = written(tmp_path)
    finally:
        use(Mask(), None)
    for file in (cast, page):
        text = file.read_text(encoding="utf-8").lower()
        assert "sydney" not in text
        assert "warfarin" not in text


@pytest.mark.parametrize(
    ("asked", "says"), [({"size": "9x9"}, "columns x rows"), ({"theme": "mauve"}, "unknown theme")]
)
def test_a_replay_that_cannot_be_written_says_why(
    asked: dict[str, str], says: str, tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match=says):
        written(tmp_path, **asked)
    assert not (tmp_path / "run.cast").exists()
