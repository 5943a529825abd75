"""Three scripted experts on every case of a MediQ file, and whether the counts come out as
`mediq_expected.py` has them.

    uv run python benchmarks/mediq.py all_dev_good.jsonl
    uv run python benchmarks/mediq.py all_dev_good.jsonl --expert asks

*asks* asks once for each fact, by the fact's own words, and answers right only if the user gave
them all; *first* asks nothing and says A; *guesses* draws an option with a published seed. Each is
a REST agent of its own process.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import measure  # noqa: F401 (its environment and the load)
from aiohttp import web

from bioeval_tui.base.isolation import program_command

SEED = 20241211
EXPERTS = ("asks", "first", "guesses")
HERE = Path(__file__)


def serve(expert: str, file: Path) -> None:
    """Serve an expert on a free port, and print its address."""
    cases = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
    known = {opening(case): case for case in cases}
    talks: list[dict[str, Any]] = []

    async def session(_: web.Request) -> web.Response:
        talks.append({"case": None, "asked": 0, "heard": []})
        return web.json_response({"sessionId": str(len(talks) - 1)})

    async def message(request: web.Request) -> web.Response:
        body = await request.json()
        talk = talks[int(body["sessionId"])]
        content = next_words(expert, talk, known, body["message"]["content"])
        answer = {"content": content, "role": "assistant"}
        return web.json_response({"sessionId": body["sessionId"], "message": answer, "events": []})

    app = web.Application()
    app.router.add_put("/api/v1/chat/sessions", session)
    app.router.add_put("/api/v1/chat/messages", message)
    web.run_app(
        app,
        host="127.0.0.1",
        port=0,
        print=lambda text: print(address_in(text), flush=True),
        access_log=None,
    )


def opening(case: dict[str, Any]) -> str:
    """Return the beginning of the user's first message about a case, which no other case shares."""
    told = "".join(case["context"][:1])
    return "\n".join(
        [
            told,
            case["question"],
            *(f"{letter}: {words}" for letter, words in case["options"].items()),
        ]
    )


def address_in(text: str) -> str:
    """Return the address in aiohttp's greeting."""
    return re.search(r"http://[\d.]+:\d+", text)[0]


def next_words(expert: str, talk: dict[str, Any], known: dict[str, Any], said: str) -> str:
    """Return what an expert says to a message of the user."""
    if talk["case"] is None:
        talk["case"] = next(case for words, case in known.items() if said.startswith(words))
    else:
        talk["heard"].append(said)
    case = talk["case"]
    right = case["answer_idx"]
    if expert == "first":
        return "Answer: A"
    if expert == "guesses":
        drawn = random.Random(f"{SEED}/{case['id']}").choice("ABCD")
        return f"Answer: {drawn}"
    facts = [re.sub(r"^\d+\. ", "", fact) for fact in case["facts"]]
    if talk["asked"] < len(facts):
        talk["asked"] += 1
        return f"{facts[talk['asked'] - 1]}?"
    has_all = all(fact in heard for fact, heard in zip(facts, talk["heard"], strict=True))
    return f"Answer: {right if has_all else 'ABCD'['ABCD'.index(right) - 1]}"


def held(expert: str, file: Path) -> tuple[dict[str, Any], float]:
    """Return the result of a run with an expert, and how long the run took in seconds."""
    agent = subprocess.Popen(
        [sys.executable, HERE, "--serve", expert, file], stdout=subprocess.PIPE, text=True
    )
    try:
        url = agent.stdout.readline().strip()
        with tempfile.TemporaryDirectory() as folder:
            began = time.monotonic()
            done = subprocess.run(
                [*program_command(), "run", "mediq", "--agent-url", url, "--cases-file", file,
                    "--headless", "--json",
                 "--graph", "none", "--concurrency", "8"],
                capture_output=True, text=True, check=False,
                env={**os.environ, "BIOEVAL_DATA_DIR": os.environ.get("BIOEVAL_DATA_DIR", folder)},
            )  # fmt: skip
            took = time.monotonic() - began
        if done.returncode not in (0, 1):
            raise SystemExit(done.stderr[-3000:])
        return json.loads(done.stdout), took
    finally:
        agent.terminate()


def counted(result: dict[str, Any]) -> dict[str, int]:
    """Return what `mediq_expected.py` counts, from a run's own JSON."""
    held = result["conditions"]
    right = {
        name: sum(trial["tasks"][0]["passed"] for trial in one["trials"])
        for name, one in held.items()
    }
    questions = {one["asking"]["questions"] for one in held.values()}
    given = {trial["trial"]: trial["facts"] for trial in held["supplied"]["trials"]}
    assert not any(trial["facts"] for trial in held["withheld"]["trials"])
    assert all(fact["asked"] for facts in given.values() for fact in facts)
    return {**right, "questions": questions.pop(), "facts": held["supplied"]["asking"]["obtained"]}


def main() -> None:
    """Run each expert, and say whether its counts are the expected ones; the exit code is 1 if one
    differs.
    """
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("--expert", choices=EXPERTS, action="append")
    parser.add_argument("--serve", choices=EXPERTS)
    asked = parser.parse_args()
    if asked.serve:
        serve(asked.serve, asked.file)
        return
    script = HERE.with_name("mediq_expected.py")
    expected = json.loads(subprocess.check_output([sys.executable, script, asked.file], text=True))
    print(f"{expected['cases']} cases, {expected['pairs']} with a pair of conditions")
    differs = False
    for expert in asked.expert or EXPERTS:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        result, took = held(expert, asked.file)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        found = counted(result)
        same = found == expected[expert]
        differs |= not same
        print(
            f"{expert}: {found}, {'as expected' if same else f'expected {expected[expert]}'};"
            f" {took:.0f} s, CPU {cpu:.0f} s"
        )
    raise SystemExit(differs)


if __name__ == "__main__":
    main()
