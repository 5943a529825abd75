"""Four stable states look as in their snapshots."""

from __future__ import annotations

from typing import Any

import pytest
from driving import NARROW, WIDE, loaded, opened
from fakes import FakeServices, FakeView
from medal_rows import sample_rows
from run_script import scripted_run
from svg_snapshots import same_as_snapshot


@pytest.mark.usefixtures("paints")  # the screen behind a box is what was painted there
@pytest.mark.parametrize(
    ("name", "size", "hold_at", "options"),
    [
        ("live-wide-dark", WIDE, 170, {}),
        ("live-narrow-light", NARROW, 170, {"theme": "light"}),
        ("score-card-wide-light", WIDE, None, {"theme": "light"}),
        ("medals-wide-dark", WIDE, None, {"start": "medals"}),
    ],
)
async def test_every_screen_matches_its_snapshot(
    name: str, size: tuple[int, int], hold_at: int | None, options: dict[str, Any]
) -> None:
    services = FakeServices(FakeView(scripted_run(), hold_at=hold_at), sample_rows())
    async with opened(None, size, services=services, **options) as (app, pilot):
        await loaded(app, pilot)
        assert same_as_snapshot(app.export_screenshot(), name) == ""
