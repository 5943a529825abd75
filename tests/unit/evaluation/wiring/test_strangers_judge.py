"""A recording that came from elsewhere is judged at the user's own endpoint, whatever its job says
of the judge.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from bioeval_tui.base.errors import UsageError
from bioeval_tui.base.settings import Secret, Settings
from bioeval_tui.evaluation.wiring.rescore import Rescorer
from bioeval_tui.record.importing.into_runs import import_recording
from tests.servers import openai_server as srv
from tests.unit.evaluation.wiring.test_rescore import verdict
from tests.unit.record.test_versions import GOLDEN


def strangers(folder: Path, **scorer: Any) -> Path:
    """Import a recording whose job says this of its judge."""
    rows = [json.loads(line) for line in (GOLDEN / "version-1.jsonl").read_bytes().splitlines()]
    rows[0]["job"]["scorer"] |= {"kind": "llm", **scorer}
    path = folder / f"{rows[0]['run_id']}.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return import_recording(path, folder / "data" / "runs").path


async def test_neither_address_nor_key_nor_body_of_a_strangers_judge_is_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTHER_API_KEY", "other")
    async with (
        srv.OpenAIServer(otherwise=verdict) as own,
        srv.OpenAIServer(otherwise=verdict) as theirs,
    ):
        monkeypatch.setenv("OTHER_BASE_URL", theirs.url)
        tool = {"type": "mcp", "server_url": theirs.url}
        path = strangers(
            tmp_path,
            url=theirs.url,
            apiKeyEnv="OTHER_API_KEY",
            api="responses",
            extraBody={"tools": [tool]},
        )
        settings = Settings(
            data_dir_override=str(tmp_path / "data"),
            openai_api_key=Secret("k"),
            openai_base_url=own.url,
        )
        rescorer = Rescorer(path, settings, judge_model=("mine",))
        assert rescorer.hosts == (own.url.removeprefix("http://").removesuffix("/v1"),)
        found = await rescorer.judge_again("ada")
    assert [item.error for item in found] == ["", ""]
    assert (len(own.received), len(theirs.received)) == (2, 0)
    assert all("tools" not in request.body for request in own.received)
    assert {request.headers["Authorization"] for request in own.received} == {"Bearer k"}


def test_a_plug_in_that_a_stranger_names_is_not_loaded(tmp_path: Path) -> None:
    path = strangers(tmp_path, kind="their-plug-in")
    rescorer = Rescorer(path, Settings(data_dir_override=str(tmp_path / "data")))
    with pytest.raises(
        UsageError,
        match="came from elsewhere, so its judge, the plug-in their-plug-in, is not used",
    ):
        rescorer.make_judge()
