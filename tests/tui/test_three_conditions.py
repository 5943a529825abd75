"""A job with three conditions of its own on the screens: a frame, a column and a bar for each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from driving import WIDE, is_a, loaded, opened, screen_text, until
from fakes import FakeServices, FakeView

from bioeval_tui.record.reading import read_recording
from bioeval_tui.record.state import RunState, apply_all
from bioeval_tui.tui.runs.batch_view import run_glances
from bioeval_tui.tui.runs.board_view import board
from tests.command import call
from tests.integration.test_three_conditions import AGENT, ARGUMENTS, JOB, NAMES, TITLES


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("screens")
    (folder / "on_screens_agent.py").write_text(AGENT, encoding="utf-8")
    (folder / "job.yml").write_text(
        JOB.replace("three_agent", "on_screens_agent"), encoding="utf-8"
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("BIOEVAL_DATA_DIR", str(folder / "data"))
        held = call(*ARGUMENTS, "--repeat", "2")
        assert held.return_value == 0, held.stderr
        (path,) = (folder / "data" / "runs").glob("*.jsonl")
        yield path


@pytest.mark.parametrize("size", [WIDE, (80, 24)])
async def test_the_card_and_the_conversations_have_all_three(
    recorded: Path, size: tuple[int, int]
) -> None:
    services = FakeServices(FakeView([*read_recording(recorded).events]))
    async with opened(None, size, services=services) as (app, pilot):
        await until(pilot, lambda: is_a(app.screen, "ScoreCard"))
        await loaded(app, pilot)
        card = screen_text(app)
        assert all(word in card for title in TITLES for word in title.split()), "a heading may wrap"
        await pilot.press("full_stop", *["down"] * 4)
        await loaded(app, pilot)
        assert "mean of all 3: 0.48" in " ".join(screen_text(app).split("\n"))
        await pilot.press("escape")
        await until(pilot, lambda: len(app.screen.query("ConversationFrame")) == len(NAMES))
        await loaded(app, pilot)
        assert [frame.id for frame in app.screen.query("ConversationFrame")] == [
            f"frame-{n}" for n in NAMES
        ]
        shown = screen_text(app).lower()
        assert all(title in shown for title in TITLES)


def test_the_grid_has_a_bar_for_each(recorded: Path) -> None:
    glances = run_glances(apply_all(RunState(), read_recording(recorded).events))
    models = [replace(glance, model=model) for model in ("large", "small") for glance in glances]
    heads, *rows = [
        "".join(cell.text for cell in line) for line in board(models, 160, 40, None)[:3]
    ]
    assert all(title in heads for title in TITLES)
    assert all(value in row for row in rows for value in ("0.14", "1.00", "0.29")), rows
