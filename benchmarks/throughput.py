"""How many turns a second the harness holds: against inspect_ai, and against a bare script with the
same requests.

    uv run python benchmarks/throughput.py    # 50 conversations of 10 turns, five times
    uv run python benchmarks/throughput.py --conversations 500
    uv run python benchmarks/throughput.py --inspect PYTHON

PYTHON belongs to another environment, with inspect_ai 0.3.285.

One process answers as agent, evaluator and judge at once (`peer.py`); each program runs in a
process of its own, headless, with its recording on. *Whole* is the process from start to exit;
*conversations* from the first conversation's beginning to the last verdict, as the program's own
log says. A turn is one message of the evaluator and its answer.

*Bare* sends the requests that one recorded conversation of ours sent, the same but for the
session's id, through the same HTTP client, and does nothing with the answers. *Bare, openai* is the
script that most people would write: the openai package for the models, aiohttp for the agent.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

from measure import RUNS, Taken, in_turn, ratio, spread, timed

from bioeval_tui.base.isolation import program_command

HERE = Path(__file__).parent
TURNS = 10
JOB = f"""
target: {{user: ada, chatbot: bench}}
aspirationalAverage: 1500
facts: []
maxTurns: {2 * TURNS}
evaluator: {{kind: llm}}
scorer: {{kind: llm, model: judge}}
tasks:
  - task: Hear about the plan
"""


@contextmanager
def peer() -> Iterator[str]:
    """Run the peer; give its address."""
    process = subprocess.Popen(
        [sys.executable, str(HERE / "peer.py")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdin
    assert process.stdout
    try:
        yield process.stdout.readline().strip()
    finally:
        process.stdin.close()
        process.wait(10)


def environment(url: str, data: Path) -> dict[str, str]:
    """Return the environment of a program that talks to the peer."""
    return {
        **os.environ,
        "OPENAI_API_KEY": "none",
        "OPENAI_BASE_URL": f"{url}/v1",
        "BIOEVAL_DATA_DIR": str(data),
    }


def ours(url: str, folder: Path, conversations: int) -> Taken:
    """Run our program."""
    data = Path(tempfile.mkdtemp(dir=folder))
    job = folder / "job.yml"
    job.write_text(JOB)
    command = [
        *program_command("run", str(job), "--agent-url", url, "--headless", "--json"),
        *(
            "--graph",
            "none",
            "--repeat",
            str(conversations // 2),
            "--concurrency",
            str(conversations),
        ),
    ]
    whole, printed = timed(command, environment(url, data))
    recording = next((data / "runs").glob("*.jsonl"))
    lines = [json.loads(line) for line in recording.read_text().splitlines()]
    turns = sum(
        line["kind"] == "message_completed" and line["role"] == "assistant" for line in lines
    )
    if turns != conversations * TURNS:
        raise SystemExit(f"{turns} turns were held: {printed[-1500:]}")
    began = next(line for line in lines if line["kind"] == "conversation_started")["at"]
    return whole._replace(held=seconds(began, lines[-1]["at"]))


def seconds(began: str, ended: str) -> float:
    """Return the seconds between two times of day."""
    return (datetime.fromisoformat(ended) - datetime.fromisoformat(began)).total_seconds()


def one_conversation(url: str, folder: Path, turns: int = TURNS) -> list[dict[str, Any]]:
    """Return the requests that one of our conversations sends."""
    with urllib.request.urlopen(f"{url}/requests") as given:
        given.read()
    data = Path(tempfile.mkdtemp(dir=folder))
    job = folder / "one.yml"
    job.write_text(JOB.replace(f"maxTurns: {2 * TURNS}", f"maxTurns: {2 * turns}"))
    command = [
        *program_command("run", str(job), "--agent-url", url, "--headless", "--json"),
        *("--graph", "none"),
    ]
    timed(command, environment(url, data))
    with urllib.request.urlopen(f"{url}/requests") as given:
        both: list[dict[str, Any]] = json.loads(given.read())
    opened = [number for number, one in enumerate(both) if one["path"].endswith("/sessions")]
    return both[opened[0] : opened[1]]


async def hold(
    ask_agent: Callable[[str, str, Any], Awaitable[Any]],
    url: str,
    requests: list[dict[str, Any]],
    ask_model: Callable[[dict[str, Any]], Awaitable[None]],
) -> None:
    """Send the requests of one conversation, those to models by `ask_model`, others by
    `ask_agent`.
    """
    session = ""
    for one in requests:
        path, body = one["path"], one["body"]
        if path.endswith("/completions"):
            await ask_model(body)
            continue
        body = {**body, "sessionId": session} if body and "sessionId" in body else body
        path = path.rpartition("/")[0] + f"/{session}" if "objectContexts" in path else path
        given = await ask_agent(one["method"], url + path, body)
        session = session or given["sessionId"]


async def bare(url: str, requests: list[dict[str, Any]], conversations: int) -> None:
    """Send the requests of so many conversations at once through the program's own HTTP client."""
    from bioeval_tui.peers.http import make_client
    from bioeval_tui.peers.models.model import MOST_CONNECTIONS
    from bioeval_tui.peers.timeouts import Timeouts

    async def ask_model(body: dict[str, Any]) -> None:
        await models.post(f"{url}/v1/chat/completions", json=body)

    async def one() -> None:
        async with make_client([url], Timeouts()) as agent:

            async def ask_agent(method: str, address: str, body: Any) -> Any:
                return (await agent.request(method, address, json=body)).json()

            await hold(ask_agent, url, requests, ask_model)

    async with make_client([url], Timeouts(), connections=MOST_CONNECTIONS) as models:
        began = time.perf_counter()
        await asyncio.gather(*(one() for _ in range(conversations)))
        print(json.dumps(time.perf_counter() - began))


def run_bare(
    url: str,
    folder: Path,
    requests: list[dict[str, Any]],
    conversations: int,
    script: Sequence[str] = (),
) -> Taken:
    """Run the bare script, or another that takes the same arguments."""
    file = folder / "requests.json"
    file.write_text(json.dumps(requests))
    script = script or (sys.executable, __file__)
    command = [*script, "--bare", str(file), "--url", url, "--conversations", str(conversations)]
    whole, printed = timed(command, {**os.environ, "PYTHONPATH": str(HERE.parent)})
    return whole._replace(held=float(json.loads(printed)))


def run_inspect(python: str, url: str, folder: Path, conversations: int) -> Taken:
    """Run inspect_ai; its log says how long the evaluation took."""
    command = [
        python,
        str(HERE / "inspect_task.py"),
        str(conversations),
        str(TURNS),
        str(folder / "inspect"),
    ]
    whole, printed = timed(command, environment(url, folder))
    return whole._replace(held=float(json.loads(printed.splitlines()[-1])))


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--conversations", type=int, default=50)
    parser.add_argument("--runs", type=int, default=RUNS)
    parser.add_argument("--inspect", help="the Python of an environment with inspect_ai 0.3.285")
    parser.add_argument("--bare", help=argparse.SUPPRESS)
    parser.add_argument("--url", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.bare:
        asyncio.run(
            bare(options.url, json.loads(Path(options.bare).read_text()), options.conversations)
        )
        return
    with tempfile.TemporaryDirectory() as name, peer() as url:
        folder, number = Path(name), options.conversations
        requests = one_conversation(url, folder)
        script = (sys.executable, str(HERE / "bare_openai.py"))
        ways: dict[str, Callable[[], Taken]] = {
            "ours": lambda: ours(url, folder, number),
            "bare": lambda: run_bare(url, folder, requests, number),
            "bare, openai": lambda: run_bare(url, folder, requests, number, script),
        }
        if options.inspect:
            ways["inspect_ai"] = lambda: run_inspect(options.inspect, url, folder, number)
        times = in_turn(ways, options.runs)
    print(
        f"{number} conversations of {TURNS} turns, {len(requests)} requests each; medians,"
        " smallest–largest"
    )
    print(
        f"{'':12}"
        + "".join(
            f"{title:>20} {'× ours':>6}" for title in ("whole, s", "CPU, s", "conversations, s")
        )
    )
    for who, taken in times.items():
        columns = zip(zip(*taken, strict=True), zip(*times["ours"], strict=True), strict=True)
        print(
            f"{who:12}"
            + "".join(f"{spread(found):>20} {ratio(found, base):6.2f}" for found, base in columns)
        )


if __name__ == "__main__":
    main()
