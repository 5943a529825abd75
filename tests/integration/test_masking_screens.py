"""`--redact` on screen: the real services, every screen, its picture, and what is copied from it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from textual.pilot import Pilot

from bioeval_tui.record.masking.current import use
from bioeval_tui.record.masking.mask import Mask
from bioeval_tui.record.masking.rules import load_rules
from bioeval_tui.sample.paths import sample_submissions
from bioeval_tui.settings import Settings
from bioeval_tui.tui.app import BioevalApp
from bioeval_tui.tui.data.services import AppServices
from bioeval_tui.tui.items import Given, ReviewSource
from tests.integration.marked import NAME, leaks
from tests.integration.test_masking import RUN, recorded, report, unmasked

__all__ = ["recorded", "unmasked"]

WALKS = {
    "2": ("escape", "home", "i", "enter", "e", "slash", "Z", "enter", "escape", "question_mark"),
    "1": ("home", "y", "y", "ctrl+e"),
    "3": ("m", "m", "equals_sign", "escape", "space"),
    "5": ("enter", "escape", "tab"),
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


async def test_without_rules_the_same_screens_name_the_person(services: AppServices, tmp_path: Path) -> None:
    """Shows that the test above can fail."""
    found = await walk(services, (140, 40), tmp_path, far=False)
    assert {screen for screen, seen in found.items() if any(map(leaks, seen))} == {"1", "2", "3", "5"}


async def test_doctor_checks_the_masking_rules_and_names_nobody(
    recorded: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file lies under the person's name: it is found all the same, and so is what reviewers said of it."""
    monkeypatch.setenv("COLORTERM", "truecolor")
    (broken,) = sample_submissions().glob("*run-group_broken/breast-cancer.csv")
    file = tmp_path / NAME / f"breast-cancer of {NAME}.csv"
    file.parent.mkdir()
    file.write_text(broken.read_text("utf-8") + f"{NAME},1.0\n", "utf-8")
    graded = replace(report(), submission_path=str(file), score=None, valid_submission=False)
    (tmp_path / "reports.json").write_text(json.dumps(graded.to_dict()), "utf-8")
    settings = Settings(data_dir_override=str(recorded / "data"))
    services = AppServices(settings, reports=[tmp_path / "reports.json"], reviewer="ada")
    try:
        (item,) = await services.review_queue(ReviewSource(reports=(tmp_path / "reports.json",)))
        await services.give_review(item, Given("note", why="seen"))
        await services.give_review(item, Given("override", mark="suspicious", why=f"{NAME} sent it twice"))
        use(Mask(load_rules(recorded / "rules.yml", recorded)))
        app = BioevalApp(services, "medals", on_quit="leave", clock=lambda: 0.0)
        async with app.run_test(size=(140, 40), notifications=True) as pilot:
            await settled(pilot)
            seen = [shown(app)]
            await pilot.press("V")
            for _ in range(3000):  # a worker process looks at the file
                await pilot.pause(0.02)
                if "Validated for" in shown(app):
                    break
            seen += [shown(app), app.export_screenshot()]
            await pilot.press("escape", "v")
            await settled(pilot)
            seen.append(shown(app))
    finally:
        services.close()
    assert "suspicious: [PATIENT-1] sent it" in " ".join(seen[0].split())
    assert "[PATIENT-1]" in seen[1]
    assert "2 ids are not expected: 9999, [PATIENT-1]" in seen[1]
    assert [text for text in seen if leaks(text)] == []
