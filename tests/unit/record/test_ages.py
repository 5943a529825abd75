"""Times as people type them."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from bioeval_tui.base.errors import UsageError
from tests.command import call
from tests.unit.report import recorded
from tests.unit.report.recorded import Recorded, Talk


@pytest.mark.parametrize(
    ("text", "since"),
    [
        ("30m", timedelta(minutes=30)),
        ("12h", timedelta(hours=12)),
        ("7d", timedelta(days=7)),
        ("2W", timedelta(weeks=2)),
        ("1.5d", timedelta(hours=36)),
        ("2026-11-01T10:00+02:00", datetime(2026, 11, 1, 8, tzinfo=UTC)),
    ],
)
def test_runs_are_listed_since_an_age_or_a_date(
    text: str, since: timedelta | datetime, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BIOEVAL_DATA_DIR", str(tmp_path))
    (tmp_path / "runs").mkdir(mode=0o700)
    begin = since if isinstance(since, datetime) else datetime.now(UTC) - since
    for name, minutes in (("before", -10), ("after", 10)):
        monkeypatch.setattr(recorded, "START", begin + timedelta(minutes=minutes))
        Recorded(
            [Talk()], job=name, run_id=f"20260102-030405-{'abcd' if minutes < 0 else 'abce'}"
        ).write(tmp_path / "runs")
    listed = json.loads(
        call("runs", "list", "--since", text, "--json", catch_exceptions=False).stdout
    )
    assert [run["job"] for run in listed] == ["after"]


@pytest.mark.parametrize(
    "text", ["", "7", "7y", "yesterday", "2026-13-01", "99999999999w", "\x1b[2J"]
)
def test_an_invalid_time_says_what_is_allowed(text: str) -> None:
    with pytest.raises(UsageError, match="is not a time; use a date"):
        call("runs", "prune", "--older-than", text, "--dry-run", catch_exceptions=False)
