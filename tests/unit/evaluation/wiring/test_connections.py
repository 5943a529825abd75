"""Testing connections sends one request to each peer, with no text of the job, and a key only to
its own host.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from bioeval_tui.base.settings import Settings
from bioeval_tui.evaluation.engine.interface import RunRequest
from bioeval_tui.evaluation.wiring import doctor
from bioeval_tui.evaluation.wiring.doctor import connections, why_no_key
from bioeval_tui.sample.paths import DEMO_JOB, sample_jobs

JOB = sample_jobs() / DEMO_JOB


class Server(HTTPServer):
    """Answers every request, and remembers path, body and key."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, str | None, int]] = []
        super().__init__(("127.0.0.1", 0), Handler)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        body = int(self.headers.get("Content-Length") or 0)
        self.server.seen.append((self.path, self.headers.get("Authorization"), body))
        lists = self.path.endswith("/models")
        self.send_response(200 if lists else 404)
        self.end_headers()
        if lists:
            self.wfile.write(b'{"data": [{"id": "gpt-4.1-mini"}, {"id": "m"}]}')

    def do_PUT(self) -> None:
        self.server.seen.append((self.path, self.headers.get("Authorization"), 0))
        body = self.rfile.read(int(self.headers["Content-Length"]))
        assert json.loads(body).keys() == {"user", "chatbot"}
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b'{"sessionId": "s"}')

    def log_message(self, *about: object) -> None:
        """Say nothing."""


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as served:
        thread = threading.Thread(target=served.serve_forever, args=(0.01,))
        thread.start()
        yield served
        served.shutdown()
        thread.join()


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wait longer than a person would, since the machine may be busy."""
    monkeypatch.setattr(doctor, "PROBE_S", 60.0)


def settings(tmp_path: Path, **variables: str) -> Settings:
    return Settings.from_environment({"BIOEVAL_DATA_DIR": str(tmp_path), **variables})


def test_testing_connections_sends_one_request_each_and_the_key_to_its_host_only(
    server: Server, tmp_path: Path
) -> None:
    found = connections(
        RunRequest(jobs=(JOB,), agent_url=server.url, agent_url_is_given=True, mode="llm"),
        settings(tmp_path, OPENAI_API_KEY="sk-1", OPENAI_BASE_URL=f"{server.url}/v1"),
    )
    assert [(one.part, one.state) for one in found] == [
        ("agent", "works"),
        ("evaluator", "works"),
        ("judge", "works"),
    ]
    assert found[0].said.endswith(" opened a session")
    assert server.seen == [
        ("/api/v1/chat/sessions", None, 0),
        *[("/v1/models", "Bearer sk-1", 0)] * 2,
    ]


@pytest.mark.parametrize(
    ("target", "state", "said"),
    [
        ("protocol: a2a", "broken", "404"),
        ("protocol: ag-ui", "absent", "answers, but not /agent (404)"),
        ("protocol: openai, model: m", "works", "serves m"),
    ],
)
def test_a_web_server_that_answers_is_not_yet_an_agent(
    server: Server, tmp_path: Path, target: str, state: str, said: str
) -> None:
    job = tmp_path / "job.yml"
    text = (
        f"target: {{user: u, chatbot: c, {target}, url:"
        f" '{server.url}/agent'}}\naspirationalAverage: 1\nfacts: []\ntasks: [{{task: t, rules:"
        " [{pattern: x}]}]\n"
    )
    job.write_text(
        text + "evaluator: {kind: scripted, lines: [{say: x}]}\nscorer: {kind: rules}\n", "utf-8"
    )
    (agent,) = connections(RunRequest(jobs=(job,)), settings(tmp_path))
    assert (agent.state, said in agent.said) == (state, True), agent.said


def test_missing_settings_are_reported_and_another_host_needs_consent(tmp_path: Path) -> None:
    job = tmp_path / "job.yml"
    text = JOB.read_text("utf-8").replace(
        "kind: scripted", "kind: llm\n  url: https://models.invalid/v1"
    )
    job.write_text(text, encoding="utf-8")
    agent, evaluator = connections(
        RunRequest(jobs=(job,), agent_url="http://127.0.0.1:9"),
        settings(tmp_path, OPENAI_API_KEY="sk-1"),
    )
    assert (agent.state, agent.said) == ("broken", "127.0.0.1:9 refused the connection")
    assert evaluator.state == "broken"
    assert "--allow-host" in evaluator.said


def test_a_missing_key_is_said_in_the_same_words_before_a_run_without_asking_anybody(
    tmp_path: Path,
) -> None:
    asked = RunRequest(jobs=(JOB,), agent_url="http://127.0.0.1:9", mode="llm")
    without = settings(tmp_path)
    said = {one.part: one.said for one in connections(asked, without)}
    assert said["evaluator"].startswith("OPENAI_API_KEY is not set")
    assert why_no_key(asked, without) == said["evaluator"]
    assert why_no_key(replace(asked, mode="rehearsal"), without) == ""
    assert why_no_key(asked, settings(tmp_path, OPENAI_API_KEY="sk-1")) == ""
    job = tmp_path / "job.yml"
    target = "target:\n  protocol: openai\n  url: https://api.openai.com/v1"
    job.write_text(JOB.read_text("utf-8").replace("target:", target), encoding="utf-8")
    assert "the agent is a model of api.openai.com" in why_no_key(RunRequest(jobs=(job,)), without)
    assert why_no_key(RunRequest(jobs=(job,), sample_agent=True), without) == ""


def test_a_rehearsal_is_suggested_only_where_there_is_a_script_and_refused_before_the_run(
    tmp_path: Path,
) -> None:
    job = tmp_path / "job.yml"
    target = "target: {user: u, chatbot: c, url: 'http://127.0.0.1:9'}"
    job.write_text(
        f"{target}\naspirationalAverage: 1\nfacts: []\ntasks: [{{task: t, acceptanceCriteria:"
        " c}]\n"
    )
    asked = RunRequest(jobs=(job,))
    assert "needs none)" in why_no_key(asked, settings(tmp_path))
    assert "rehearsal" not in why_no_key(asked, settings(tmp_path))
    assert why_no_key(replace(asked, mode="rehearsal"), settings(tmp_path)).startswith(
        "a rehearsal needs"
    )


def test_testing_connections_does_not_call_a_sample_agent_that_is_not_running(
    tmp_path: Path,
) -> None:
    (agent,) = connections(
        RunRequest(jobs=(JOB,), sample_agent=True, mode="rehearsal"), settings(tmp_path)
    )
    assert agent.said == "the sample agent is started with the run"
