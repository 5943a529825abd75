"""Marked credentials in every place that takes one appear only at the peer that they are for."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import os
import threading
from pathlib import Path
from typing import Any

import pytest
import yaml
from aiohttp import web

from bioeval_tui.jobs.loading import load_job
from tests.forked import completed
from tests.hostile.world import ROOT, make_world, program
from tests.servers import openai_server as srv
from tests.servers.models import StandIns

MARK = "MARKED-"
AGENT_KEY, OPENAI_KEY = f"{MARK}agent-key-1", f"{MARK}openai-key-2"


class EchoingAgent:
    """An agent that refuses the first message and quotes every credential that it was given, then
    answers.
    """

    def __init__(self, makes: Path) -> None:
        """`makes` is the file that each answer writes: a medal counts only what its conversation
        made.
        """
        self.url, self._makes = "", makes
        self.keys: set[str] = set()
        self._refusals = 2

    async def __aenter__(self) -> EchoingAgent:
        app = web.Application()
        app.router.add_route("*", "/{tail:.*}", self._answer)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        host, port = self._runner.addresses[0][:2]
        self.url = f"{host}:{port}"
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._runner.cleanup()

    async def _answer(self, request: web.Request) -> web.Response:
        if request.path.endswith("/about"):  # which graph it uses, asked without a key
            return web.Response(status=404)
        self.keys.add(request.headers.get("X-API-KEY", ""))
        if request.path.endswith("/sessions"):
            return web.json_response({"sessionId": "s1"})
        if request.path.endswith("/messages") and self._refusals:
            self._refusals -= 1
            quoted = (
                f"bad key {request.headers.get('X-API-KEY')} {request.headers.get('Authorization')}"
            )
            return web.Response(status=503, reason="no", text=quoted)
        if request.path.endswith("/messages"):
            body = await request.json()
            self._makes.write_text("id,y\na,1\nb,2\n")
            said = {"content": "I made a note of it.", "role": "assistant"}
            return web.json_response(
                {"sessionId": body["sessionId"], "message": said, "events": []}
            )
        return web.json_response({"context": "", "resources": [], "functions": []})


class Processes:
    """Looks at what the processes below one show to others: command lines, and environments of
    those that need no credential.
    """

    def __init__(self, root: int) -> None:
        self.root, self.lines, self.environments = root, set[bytes](), dict[bytes, bytes]()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Stop looking."""
        self._stop.set()
        self._thread.join()

    def _look(self) -> None:
        while not self._stop.wait(0.05):
            waiting = [str(self.root)]
            while waiting:
                process = Path("/proc", waiting.pop())
                with contextlib.suppress(OSError):
                    line = (process / "cmdline").read_bytes()
                    self.lines.add(line + (process / "comm").read_bytes())
                    if b"grade.batch.worker" in line or b"\0agent\0" in line or b"git\0" in line:
                        self.environments[line] = (process / "environ").read_bytes()
                    for children in process.glob("task/*/children"):
                        waiting += children.read_text().split()


async def ran(
    command: list[str], environment: dict[str, str], folder: Path
) -> tuple[bytes, Processes]:
    """Run a command, looking at its processes; return all that it said."""
    process = await asyncio.create_subprocess_exec(
        *command, cwd=folder, env=environment, stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
    )  # fmt: skip
    seen = Processes(process.pid)
    said, _ = await process.communicate()
    seen.stop()
    return said, seen


def job_file(folder: Path, agent: str) -> Path:
    """Write a job whose every URL carries a password, with models, a judge and a medal."""
    job: dict[str, Any] = yaml.safe_load(
        (ROOT / "sample_jobs" / "medication_reminder.yml").read_text("utf-8")
    )
    job["evaluator"]["kind"] = job["scorer"]["kind"] = "llm"
    job["target"] |= {"url": f"http://user:{MARK}job-url-3@{agent}", "model": "m"}
    job["target"]["knowledgeUrl"] = f"http://user:{MARK}knowledge-url-5@{agent}"
    job["maxTurns"] = 6
    job["setups"] = []
    job["assertions"].append({"medal": "bronze", "task": "lab/hostile", "submission": "out.csv"})
    path = folder / "job.yml"
    path.write_text(yaml.safe_dump(job))
    return path


async def whole(root: Path) -> tuple[list[bytes], list[Processes], EchoingAgent, srv.OpenAIServer]:
    environment = make_world(root, "harmless", "harmless")
    script = load_job(ROOT / "sample_jobs" / "medication_reminder.yml").job
    first = [
        srv.status(401, f"Incorrect API key provided: {OPENAI_KEY}"),
        srv.status(500, f"sorry {OPENAI_KEY}"),
    ]
    models = StandIns(script, evaluator_first=first, judge_first=first)
    async with (
        EchoingAgent(root / "out.csv") as agent,
        srv.OpenAIServer(otherwise=models) as server,
    ):
        environment |= {
            "OPENAI_API_KEY": OPENAI_KEY,
            "OPENAI_BASE_URL": server.url.replace("http://", f"http://user:{MARK}openai-url-6@"),
            "BIOEVAL_AGENT_API_KEY": AGENT_KEY,
            "BIOEVAL_KNOWLEDGE_URL": f"http://user:{MARK}env-knowledge-7@{agent.url}/",
            "NEO_URI": f"bolt://neo4j:{MARK}neo-url-8@127.0.0.1:9",
            "NEO_PASSWORD": f"{MARK}neo-password-9",
            "KAGGLE_KEY": f"{MARK}kaggle-10",
            "SOME_TOKEN": f"{MARK}token-11",
            "BIOEVAL_LONGEST_WAIT_S": "0.05",  # between the tries of what was refused
        }
        job = job_file(root, agent.url)
        commands = [
            ["run", str(job), "--headless", "--json", "--graph", "embedded"],
            ["demo", "--headless"],
            ["doctor"],
            ["assert", "--cypher", "RETURN 1", "--graph", "neo4j"],
        ]
        found = [await ran(program(*words), environment, root) for words in commands]
        run_id = max(
            (root / "data" / "runs").glob("*.jsonl"), key=lambda path: path.stat().st_mtime
        ).stem
        shown = [
            await asyncio.to_thread(completed, *words, env=environment, cwd=root)
            for words in (
                ("runs", "report", run_id),
                ("runs", "show", run_id),
                ("runs", "export", run_id, "--to", "inspect"),
            )
        ]
        await picture(environment, root)
        said = [said for said, _ in found] + [f"{one.stdout}{one.stderr}".encode() for one in shown]
        return said, [seen for _, seen in found], agent, server


async def picture(environment: dict[str, str], root: Path) -> None:
    """Save a picture of the screens of the runs and of the score card, as the key `s` does."""
    from bioeval_tui.base.settings import Settings
    from bioeval_tui.tui.app import BioevalApp
    from bioeval_tui.tui.data.services import AppServices

    app = BioevalApp(AppServices(Settings.from_environment(environment)), "runs")
    async with app.run_test(size=(160, 45)) as pilot:
        while app.current_mode != "runs":  # it is loaded after the first paint
            await pilot.pause(0.01)
        for key in ("enter", "tab", "escape", "1"):
            await pilot.press(key)
            await pilot.pause(0.05)
            (root / f"picture-{key}.svg").write_text(app.export_screenshot())


@pytest.fixture(scope="module")
def outcome(tmp_path_factory: pytest.TempPathFactory) -> Any:
    root = tmp_path_factory.mktemp("secrets")
    return root, *asyncio.run(whole(root))


def test_each_peer_got_its_own_credential(outcome: Any) -> None:
    _, said, _, agent, server = outcome
    assert agent.keys == {AGENT_KEY}, said[0][-2000:]
    sent = {one.headers.get("Authorization") for one in server.received}
    # A user in the base URL takes the key's place.
    assert sent == {"Basic " + base64.b64encode(f"user:{MARK}openai-url-6".encode()).decode()}, (
        said[0][-2000:]
    )
    assert not any(AGENT_KEY in str(one.headers) + str(one.body) for one in server.received)


def test_no_output_or_file_contains_a_credential(outcome: Any) -> None:
    root, said, *_ = outcome
    for text in said:
        assert MARK.encode() not in text, text[max(0, text.index(MARK.encode()) - 300) :][:600]
    files = [path for path in root.rglob("*") if path.is_file() and path.name != "job.yml"]
    assert any(path.suffix == ".svg" for path in files)
    assert len([path for path in files if path.suffix == ".jsonl"]) >= 3
    for path in files:
        data = path.read_bytes()
        assert MARK.encode() not in data, (
            path,
            data[max(0, data.index(MARK.encode()) - 200) :][:400],
        )


def test_no_process_shows_a_credential_and_graders_and_agents_get_none(outcome: Any) -> None:
    _, _, processes, *_ = outcome
    lines = set[bytes]().union(*(seen.lines for seen in processes))
    environments = {
        line: variables for seen in processes for line, variables in seen.environments.items()
    }
    assert not [line for line in lines if MARK.encode() in line]
    assert any(b"grade.batch.worker" in line for line in environments)
    assert any(b"\0agent\0" in line for line in environments)
    for line, variables in environments.items():
        leaked = [
            one
            for one in variables.split(b"\0")
            if MARK.encode() in one and not one.startswith(b"NEO_")
        ]
        assert not leaked, (line, leaked)


assert os.name == "posix"
