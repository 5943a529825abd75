"""Does a job written from a failed conversation fail again?

`new --from`, `check` and a rehearsal, for failed conversations of a run.

    uv run python benchmarks/failures_to_jobs.py RUN --conversations 20

The agent is the one of the recording: it says what it said then, answer by answer. The job
reproduces the failure if its assertion fails where facts are supplied, and `check` has nothing to
say about it.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import subprocess
import tempfile
from pathlib import Path

import measure  # noqa: F401 (its environment and the load)
from aiohttp import web

from bioeval_tui.base.isolation import program_command
from bioeval_tui.cli.recorded_runs import find_run
from bioeval_tui.record.state import ConversationState
from bioeval_tui.report.result import load_run


async def serve(answers: list[str]) -> tuple[web.AppRunner, str]:
    """Serve an agent that says these answers in order, in each session; return it and its
    address.
    """
    sessions: list[int] = []

    async def session(_: web.Request) -> web.Response:
        sessions.append(0)
        return web.json_response({"sessionId": str(len(sessions) - 1)})

    async def message(request: web.Request) -> web.Response:
        name = (await request.json())["sessionId"]
        at = sessions[int(name)]
        sessions[int(name)] += 1
        said = {"content": answers[min(at, len(answers) - 1)], "role": "assistant"}
        return web.json_response({"sessionId": name, "message": said, "events": []})

    app = web.Application()
    app.router.add_put("/api/v1/chat/sessions", session)
    app.router.add_put("/api/v1/chat/messages", message)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    host, port = runner.addresses[0][:2]
    return runner, f"http://{host}:{port}"


def program(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a command of the program."""
    return subprocess.run(
        [*program_command(), *arguments], capture_output=True, text=True, check=False
    )


def answers_of(talk: ConversationState) -> list[str]:
    """Return what the agent said to each message of the user; of several messages in a row, all of
    them.
    """
    found: list[list[str]] = []
    for message in talk.messages:
        if message.role == "user":
            found.append([])
        elif found and message.text.strip():
            found[-1].append(message.text)
    return ["\n\n".join(texts) or "One moment." for texts in found]


async def reproduces(run_id: str, trial: int, answers: list[str], folder: Path) -> str:
    """Return what came out of one conversation: `reproduced`, or what did not hold."""
    job = str(folder / f"trial-{trial}.yml")
    written = await asyncio.to_thread(program, "new", job, "--from", run_id, "--trial", str(trial))
    if written.returncode:
        return f"not written: {written.stderr.strip()}"
    checked = await asyncio.to_thread(program, "check", job)
    if "no problems" not in checked.stdout:
        return f"check: {checked.stdout.strip()}"
    runner, url = await serve(answers)
    try:
        given = ("--rehearsal", "--headless", "--json", "--graph", "none", "--agent-url", url)
        done = await asyncio.to_thread(program, "run", job, *given)
    finally:
        await runner.cleanup()
    if done.returncode not in (0, 1):
        return f"rehearsal: {done.stderr.strip()[-300:]}"
    supplied = json.loads(done.stdout)["conditions"]["supplied"]["trials"][0]
    failed = [check["status"] for check in supplied["assertions"]]
    return "reproduced" if "failed" in failed else f"not reproduced: {failed}"


async def main() -> None:
    """Try failed conversations, and print how many are reproduced; the exit code is 1 if one is
    not.
    """
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run")
    parser.add_argument("--conversations", type=int, default=20)
    asked = parser.parse_args()
    path = find_run(asked.run)[1]
    held = load_run(path).conversations
    failed = [talk for talk in held if any(task.outcome == "failed" for task in talk.tasks)][
        : asked.conversations
    ]
    said = {talk.key.trial: answers_of(talk) for talk in load_run(path).talks}
    found: dict[str, int] = {}
    with tempfile.TemporaryDirectory() as folder:
        for talk in failed:
            outcome = await reproduces(path.stem, talk.trial, said[talk.trial], Path(folder))
            found[outcome] = found.get(outcome, 0) + 1
    print(f"{len(failed)} failed conversations of {path.stem}: {found}")
    raise SystemExit(set(found) != {"reproduced"})


if __name__ == "__main__":
    asyncio.run(main())
