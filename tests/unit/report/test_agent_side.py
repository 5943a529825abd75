"""What rules find about an agent stands in every view of a run that is asked for it, and in no
other.
"""

from __future__ import annotations

import html
import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from bioeval_tui import plugins
from bioeval_tui.guards.agent_side import AGENT_RULES
from bioeval_tui.protocols import AgentFinding, AgentRule, HeldTalk
from tests.command import call
from tests.unit.report.recorded import Recorded, Talk

RUN = "20260101-000000-aaaa"
SAYS = "How often do you have the headaches?"


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("BIOEVAL_DATA_DIR", str(tmp_path))
    (tmp_path / "runs").mkdir()
    unsure = Talk(told="I'm not sure.", says=SAYS, latencies_ms=(1.0, 2.0))
    Recorded(withheld=[unsure], supplied=[Talk()], run_id=RUN).write(tmp_path / "runs")
    return RUN


def test_the_table_stands_where_it_is_asked_for(run: str, tmp_path: Path) -> None:
    shown = call("runs", "show", run, "--agent-side").stdout
    assert "agent's side (in no score)" in shown
    assert "without the facts, trial 1, message 4  asks_again  asks again what" in shown
    (row,) = json.loads(call("runs", "show", run, "--agent-side", "--json").stdout)["agent_side"]
    assert (row["condition"], row["message"], row["rule"]) == ("withheld", 4, "asks_again")
    for name in ("run.md", "run.html"):
        page = tmp_path / name
        assert call("runs", "report", run, "--agent-side", "--output", str(page)).exit_code == 0
        assert "asks again what the user could not answer" in page.read_text("utf-8")
    assert "the agent's side: something found in 1 of 3 messages" in shown
    plain = call("runs", "show", run)
    assert "agent's side" not in plain.stdout
    assert json.loads(call("runs", "show", run, "--json").stdout)["agent_side"] == []


def test_nothing_found_is_said_in_every_view(run: str, tmp_path: Path) -> None:
    path = Recorded(withheld=[Talk()], run_id="20260102-000000-bbbb").write(tmp_path / "runs")
    said = (
        "the agent's side: nothing found in 1 message; `unsaid` was not looked for: the recording"
        " has neither the agent's prompt nor what its tools or state said"
    )
    asked = ("runs", "show", path.stem)
    assert f"\n{said}\n" in call(*asked, "--agent-side").stdout
    assert json.loads(call(*asked, "--agent-side", "--json").stdout)["agent_side_words"] == said
    assert json.loads(call(*asked, "--json").stdout)["agent_side_words"] is None
    for name in ("run.md", "run.html"):
        page = tmp_path / name
        assert call("runs", "report", path.stem, "--agent-side", "--output", page).exit_code == 0
        assert "he agent's side: nothing found in 1 message;" in html.unescape(
            page.read_text("utf-8").replace("\\", "")
        )


def test_no_plugin_takes_the_name_of_a_rule() -> None:
    assert set(plugins.BUILT_IN["agent_rules"]) == set(AGENT_RULES)


def shouting(talk: HeldTalk, others: Sequence[HeldTalk]) -> Iterator[AgentFinding]:
    for answer in talk.answers:
        if answer.text.isupper():
            raise ValueError("too loud\x1b[31m")
        yield AgentFinding("anything", answer.number, "speaks \x1b[31m softly")


def test_a_plugin_adds_what_it_finds(run: str, monkeypatch: pytest.MonkeyPatch) -> None:
    unknown = call("runs", "show", run, "--agent-rules", "loud")
    assert "there is no agent_rule `loud`" in str(unknown.exception)
    monkeypatch.setattr(plugins, "load", lambda group, name: AgentRule("x", "is loud", shouting))
    shown = call("runs", "show", run, "--agent-rules", "loud").stdout
    assert "message 2  loud" in shown
    assert "speaks" in shown
    assert "\x1b" not in shown
