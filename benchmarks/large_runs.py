"""What looking at a recorded run costs as it has ten and a hundred times as many conversations.

    uv run python benchmarks/large_runs.py                 # 400, 4,000 and 40,000 conversations
    uv run python benchmarks/large_runs.py --sizes 400,4000

Each command is a process of its own: its processor time (user and system) and the peak of its
memory. *First* is before any rows of the recording are kept, *again* with them. The recordings are
of an import in two conditions: five trials a case, eight messages a conversation, 25 words from the
user and 60 from the agent. Compare ratios: the last column is the cost of the largest run over that
of the one before it, for ten times as many conversations.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bioeval_tui.base.isolation import program_command

SIZES = "400,4000,40000"
TRIALS, MESSAGES = 5, 8
LENGTHS = {"user": 25, "assistant": 60}
"""How many words a message has."""
WORDS = ("pain", "since", "when", "the", "left", "arm")
CONDITIONS = ("withheld", "supplied")
RUNS = ("20261129-183936-0000000a", "20261129-183937-0000000b")
COMMANDS = {
    "list, first": ("list",),
    "list, again": ("list",),
    "show, first": ("show", RUNS[0]),
    "show, again": ("show", RUNS[0]),
    "compare, first": ("compare", *RUNS),
    "compare, again": ("compare", *RUNS),
    "show --json": ("show", RUNS[0], "--json"),
    "gate": ("gate", RUNS[0], "--fail-under", "0.4"),
    "report": ("report", RUNS[0]),
    "report, json": ("report", RUNS[0], "--format", "json"),
    "report, md": ("report", RUNS[0], "--format", "md"),
    "report, junit": ("report", RUNS[0], "--format", "junit"),
    "report, csv": ("report", RUNS[0], "--format", "csv"),
}
AT = "2026-11-29T18:39:36Z"


def recording(run_id: str, conversations: int) -> Iterator[dict[str, Any]]:
    """Yield the events of an imported run with so many conversations."""
    chance = random.Random(run_id)
    trials = conversations // len(CONDITIONS)
    source = {"format": "chat", "file": "x", "sha256": "0" * 64, "licence": "", "origin": "",
              "times": "unknown"}  # fmt: skip
    yield {
        "kind": "run_started", "schema_version": 2, "job_name": "large", "job_path": "",
        "job": {"tasks": [{"task": "diagnosis", "acceptanceCriteria": ""}], "facts": []},
        "job_sha256": "0" * 64, "program_version": "0.1.0", "agent": run_id[-1],
        "evaluator": "user",
        "judge": "grader", "rehearsal": False, "hosts": [], "prompts": {}, "model": run_id[-1],
        "seed": 0, "trials": trials, "conditions": CONDITIONS, "concurrency": 1, "options": {},
        "source": source, "cases": [],
    }  # fmt: skip
    for trial in range(1, trials + 1):
        for condition in CONDITIONS:
            for event in conversation(trial, chance):
                yield {"condition": condition, "trial": trial, "attempt": 1, **event}
    yield {"kind": "run_ended", "status": "completed", "scores": {}, "clean": True}


def conversation(trial: int, chance: random.Random) -> Iterator[dict[str, Any]]:
    """Yield the events of one conversation."""
    number, of_case = divmod(trial - 1, TRIALS)
    case = {"name": f"case_{number}", "trial": of_case + 1, "facts": [f"fact {number}" * 20]}
    yield {"kind": "conversation_started", "session_id": str(trial), "greeting": "",
           "max_messages": MESSAGES, "case": case}  # fmt: skip
    for message in range(1, MESSAGES + 1):
        role = "assistant" if message % 2 == 0 else "user"
        words = " ".join(chance.choices(WORDS, k=LENGTHS[role]))
        yield {"kind": "message_completed", "message": message, "turn": (message + 1) // 2,
               "role": role, "speaker": role, "content": words}  # fmt: skip
    score = float(chance.random() < 0.5)
    yield {"kind": "conversation_ended", "reason": "signed_off", "fault": "none"}
    yield {
        "kind": "transcript_scored",
        "judge": "grader",
        "tasks": [
            {"task": 1, "title": "diagnosis", "score": score, "passed": score > 0, "reason": "so"}
        ],
    }
    yield {"kind": "conversation_scored", "score": score, "penalty": 0.0, "failures": 0,
           "parts": [{"name": "task", "weight": 2.0, "value": score}]}  # fmt: skip


def write(folder: Path, conversations: int) -> None:
    """Write both runs below a data folder."""
    runs = folder / "runs"
    runs.mkdir(parents=True)
    for run_id in RUNS:
        with (runs / f"{run_id}.jsonl").open("w", encoding="utf-8") as file:
            for seq, event in enumerate(recording(run_id, conversations), start=1):
                file.write(json.dumps({"run_id": run_id, "seq": seq, "at": AT, **event}) + "\n")
        (runs / f"{run_id}.imported").touch()


def cost(folder: Path, command: tuple[str, ...]) -> tuple[float, float]:
    """Return a command's processor time in seconds, and its peak of memory in MB."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    script = (
        "import resource, subprocess, sys;"
        "code = subprocess.call(sys.argv[1:], stdout=subprocess.DEVNULL);"
        "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, code)"
    )
    program = program_command("runs", *command)
    ran = subprocess.run(
        [sys.executable, "-c", script, *program],
        env={**os.environ, "BIOEVAL_DATA_DIR": str(folder)},
        stdout=subprocess.PIPE,
        check=True,
        text=True,
    )
    kilobytes, code = map(int, ran.stdout.split())
    if code:
        raise SystemExit(f"{' '.join(program)} ended with {code}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return used, kilobytes / 1024


def main() -> None:
    """Print a table of all commands at all sizes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", default=SIZES)
    sizes = [int(size) for size in parser.parse_args().sizes.split(",")]
    costs: dict[str, list[tuple[float, float]]] = {name: [] for name in COMMANDS}
    for size in sizes:
        with tempfile.TemporaryDirectory() as folder:
            write(Path(folder), size)
            for name, command in COMMANDS.items():
                costs[name].append(cost(Path(folder), command))
    print(f"load {os.getloadavg()[0]:.1f}")
    print("| runs | " + " | ".join(f"{size:,}" for size in sizes) + " | grew |")
    print("|---" * (len(sizes) + 2) + "|")
    for name, each in costs.items():
        cells = [f"{seconds:.1f} s, {peak:.0f} MB" for seconds, peak in each]
        grew = each[-1][0] / each[-2][0] if len(each) > 1 else 1.0
        print(f"| {name} | " + " | ".join(cells) + f" | {grew:.1f} × |")


if __name__ == "__main__":
    main()
