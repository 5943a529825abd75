"""A recorded demo looks as the user has chosen, and changes nothing that is kept."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bioeval_tui.base.settings import Settings
from bioeval_tui.cli import show_recorded_demo
from bioeval_tui.tui.demo_app import DemoApp


@pytest.mark.parametrize("name", ["batch", "failure"])
def test_a_recorded_demo_has_the_users_theme(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = tmp_path / "preferences.json"
    kept.write_text(json.dumps({"theme": "light"}), encoding="utf-8")
    shown: list[DemoApp] = []
    monkeypatch.setattr(show_recorded_demo, "need_terminal", lambda _: None)
    monkeypatch.setattr(show_recorded_demo, "run_app", shown.append)
    settings = Settings(data_dir_override=str(tmp_path))
    show_recorded_demo.show_recorded_demo(settings, name, pace="fast", loop=False)
    (app,) = shown
    assert app.theme == "light"
    app.use_theme("dark")
    assert json.loads(kept.read_text(encoding="utf-8")) == {"theme": "light"}
