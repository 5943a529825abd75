"""`--redact` on screen: the real services, every screen, its picture, and what is copied from it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from textual.pilot import Pilot

from bioeval_tui.masking.current import use
from bioeval_tui.masking.mask import Mask
from bioeval_tui.masking.rules_file import load_rules
from bioeval_tui.settings import Settings
from bioeval_tui.tui.app import BioevalApp
from bioeval_tui.wiring.services import AppServices
from tests.integration.marked import leaks
from tests.integration.test_masking import RUN, recorded, unmasked

__all__ = ["recorded", "unmasked"]

WALKS = {
    "2": ("escape", "home", "i", "enter", "e", "slash", "Z", "enter", "escape", "question_mark"),
    "1": ("home", "y", "e"),
    "3": ("m", "m", "equals_sign", "escape", "p"),
    "5": ("enter", "escape", "g"),
    "4": ("enter",),
}
"""By the key of each screen, what is pressed there."""


@pytest.fixture
def services(recorded: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[AppServices]:
    """The services of a folder about a person; nobody's other settings count."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLORTERM", "truecolor")
    settings = Settings(data_dir_override=str(recorded / "data"))
    found = AppServices(settings, reports=[recorded / "reports.json"], job_places=[recorded / "jobs"])
    yield found
    found.close()


async def settled(pilot: Pilot[None]) -> None:
    """Wait until nothing is under way."""
    app = pilot.app
    while short := [worker for worker in app.workers if worker.group != "feed" and not worker.is_finished]:
        await app.workers.wait_for_complete(short)
    for _ in range(2):
        await pilot.pause()


def shown(app: BioevalApp) -> str:
    """Return every character that goes to the terminal now."""
    lines = app.screen._compositor.render_strips()
    return "\n".join("".join(segment.text for segment in strip) for strip in lines)


async def walk(
    services: AppServices, size: tuple[int, int], pictures: Path, *, far: bool
) -> dict[str, list[str]]:
    """Go through the screens; return by screen what was seen, copied and drawn into a picture on the way."""
    app = BioevalApp(
        services, partial(services.open_recording, RUN), on_quit="leave", pictures=pictures, clock=lambda: 0.0
    )
    found = {}
    async with app.run_test(size=size, notifications=True) as pilot:
        await settled(pilot)
        for screen, keys in WALKS.items():
            seen = found[screen] = []
            if screen == "2":
                seen.append(shown(app))  # the score card
            for key in (screen, *keys) if far else (("escape",) if screen == "2" else (screen,)):
                await pilot.press(key)
                await settled(pilot)
                seen += [shown(app), app.clipboard]
            seen.append(app.export_screenshot())
            while len(app.screen_stack) > 1:
                await pilot.press("escape")
                await settled(pilot)
        assert app.is_running
    return found


async def test_no_screen_names_the_person(services: AppServices, recorded: Path, tmp_path: Path) -> None:
    use(Mask(load_rules(recorded / "rules.yml", recorded)))
    found = await walk(services, (140, 40), tmp_path, far=True)
    lines = [line for seen in found.values() for text in seen for line in text.splitlines()]
    assert [line for line in lines if leaks(line)] == []
    assert [screen for screen, seen in found.items() for text in seen if leaks(text)] == []
    assert any("[PATIENT-1]" in line for line in lines)


async def test_without_rules_the_same_screens_would(services: AppServices, tmp_path: Path) -> None:
    """Shows that the test above can fail."""
    found = await walk(services, (140, 40), tmp_path, far=False)
    assert {screen for screen, seen in found.items() if any(map(leaks, seen))} == {"1", "2", "3", "5"}
