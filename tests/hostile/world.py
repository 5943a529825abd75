"""A user's folders with hostile text in every job, recording, report, task and submission."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[2]
HOSTILE = (
    "\x1b[77;88H\x1b[2J\x1b]52;c;SE9TVElMRQ==\x07\x1b]8;;http://evil.example/\x07press\x1b]8;;\x07"
    "\x1bP1$r0m\x1b\\\x1b]0;owned\x07"
    "\x9b77;88H\x9d52;c;SE9TVElMRQ==\x9c\x90q\x9c\x1bc\x1b#8\x1b(0\x0e"
    "\x1b_apc\x1b\\\x1b^pm\x1b\\\x05\x07\x08\x0b\x0c\x7f"
    " [@click=app.leave_app]click[/] [/INST] [b + [link=http://evil.example]x[/link]"
    " \u202eabc\u202c\u2066x\u2069 zero\u200bwidth\ufeff $(touch OWNED) `touch OWNED` %n%s {{ 7*7"
    " }} \n::add-mask::x\n ##vso[task.setvariable variable=PATH]x ##[add-path]x ##teamcity[x]"
    " ＃＃vso[task.x]\n：：add-mask：：x "
)
LONG = HOSTILE + "a" + "\u0301" * 10_000 + "w" * 1_000_000
"""With 10,000 combining marks, and a line of a megabyte."""
HARMLESS = "a harmless text "
RUN_ID = "20261120-210356-44c7"
_KEPT = frozenset(
    {"kind", "run_id", "at", "condition", "role", "status", "fault", "reason_kind", "what", "peer",
        "session_id", "job_sha256",
     "batch_id", "type", "protocol", "order"}
)  # fmt: skip


def with_text(value: Any, text: str, key: str = "") -> Any:
    """Return a JSON-like value with `text` after every text in it that is no word of the format."""
    match value:
        case str():
            return value if key in _KEPT else value + text
        case dict():
            return {name: with_text(item, text, name) for name, item in value.items()}
        case list():
            return [with_text(item, text, key) for item in value]
        case _:
            return value


def hostile_recording(text: str, long: str) -> bytes:
    """Return the golden recording with `text` everywhere that it stays a recording, and `long` in
    one message.
    """
    from bioeval_tui.record.events import UnknownEvent, read_event

    lines, done = [], False
    for line in (ROOT / "tests/golden/demo-run.jsonl").read_bytes().splitlines():
        event = json.loads(line)
        for change in (_all_texts, _some_texts):
            changed = json.dumps(change(event, text)).encode()
            try:
                good = not isinstance(read_event(changed), UnknownEvent)
            except ValueError:
                good = False
            if good:
                break
        else:
            changed = line
        if event["kind"] == "message_completed" and not done:
            changed, done = json.dumps({**json.loads(changed), "content": long}).encode(), True
        lines.append(changed)
    return b"\n".join([*lines, b""])


def _all_texts(event: dict[str, Any], text: str) -> dict[str, Any]:
    changed: dict[str, Any] = with_text(event, text)
    return changed


def _some_texts(event: dict[str, Any], text: str) -> dict[str, Any]:
    free = (
        "content",
        "text",
        "reason",
        "detail",
        "error",
        "message",
        "cypher",
        "name",
        "speaker",
        "greeting",
        "observed",
        "title",
    )
    return {
        name: value + text if name in free and isinstance(value, str) else value
        for name, value in event.items()
    }


def make_world(root: Path, text: str, long: str) -> dict[str, str]:
    """Write the folders below `root`; return the environment in which the program finds them."""
    data, jobs, tasks = root / "data", root / "jobs", root / "tasks"
    for folder in (data / "runs", jobs, root / "reports", root / "home"):
        folder.mkdir(parents=True, mode=0o700)
    (data / "runs" / f"{RUN_ID}.jsonl").write_bytes(hostile_recording(text, long))
    sample = yaml.safe_load((ROOT / "sample_jobs" / "medication_reminder.yml").read_text("utf-8"))
    for part, name in (("evaluator", "name"), ("target", "chatbot"), ("target", "user")):
        sample[part][name] = str(sample[part].get(name, "")) + text
    sample["facts"] = [fact + text for fact in sample["facts"]]
    sample["tasks"] = [
        {**task, "task": task["task"] + text, "acceptanceCriteria": text}
        for task in sample["tasks"]
    ]
    sample["assertions"] = [
        {**one, "name": text + str(number)} for number, one in enumerate(sample["assertions"])
    ]
    (jobs / "good.yml").write_text(json.dumps(sample), encoding="utf-8")
    (jobs / "broken.yml").write_text(json.dumps({text: text, "tasks": text}), encoding="utf-8")
    _add_task(root, tasks, text)
    shown = (
        text.replace("\x00", "")
        .replace("/", "_")
        .encode("utf-8", "replace")[:150]
        .decode("utf-8", "ignore")
    )
    (root / "reports" / f"{shown}.csv").write_text(f"id,{text}\n{text},1\n", encoding="utf-8")
    (root / "reports" / "one.json").write_text(json.dumps(_report(text)), encoding="utf-8")
    kept = {name: os.environ[name] for name in ("PATH", "PYTHONPATH", "LANG") if name in os.environ}
    return {
        **kept, "HOME": str(root / "home"), "BIOEVAL_DATA_DIR": str(data),
        "BIOEVAL_TASKS_DIR": str(tasks), "NO_PROXY": "*",
        "TERM": "xterm-256color", "COLORTERM": "truecolor", "TEXTUAL_ANIMATIONS": "none",
        "LC_ALL": "C.UTF-8", "EDITOR": "touch OWNED",
    }  # fmt: skip


def _add_task(root: Path, tasks: Path, text: str) -> None:
    folder = tasks / "lab" / "hostile"
    folder.mkdir(parents=True)
    prepared = root / "data" / "tasks" / "lab" / "hostile" / "prepared"
    for name in ("private", "public"):
        (prepared / name).mkdir(parents=True)
        (prepared / name / "answers.csv").write_text("id,y\na,1\nb,2\n")
    path = "lab/hostile/prepared/private/answers.csv"
    config = {
        "id": "lab/hostile", "name": text, "description": "description.md", "task_type": text,
        "domain": text, "difficulty": text,
        "dataset": {"answers": path, "sample_submission": path},
        "grader": {"name": text, "metric": "mean_absolute_error", "id": "id", "target": "y"},
        "biomedical_metadata": {"modality": text, "data_type": text},
    }  # fmt: skip
    (folder / "config.yaml").write_text(json.dumps(config), encoding="utf-8")
    (folder / "description.md").write_text(
        f"# {text}\n\n{text}\n\n[{text}](http://evil.example)\n", encoding="utf-8"
    )
    rows = "".join(f'"{text}{n}",0.{n},"{text}"\n'.replace("\n\n", "\n") for n in range(9))
    (folder / "leaderboard.csv").write_text(
        "teamName,score,submissionDate\n" + rows, encoding="utf-8"
    )


def _report(text: str) -> dict[str, Any]:
    return {
        "task_id": "lab/hostile", "score": 0.3, "gold_threshold": 0.1, "silver_threshold": 0.2,
        "bronze_threshold": 0.3,
        "median_threshold": 0.4, "any_medal": True, "gold_medal": False, "silver_medal": False,
        "bronze_medal": True,
        "above_median": True, "submission_exists": True, "valid_submission": True,
        "is_lower_better": True,
        "created_at": "2026-01-01T00:00:00", "submission_path": f"2026_run-group_{text}/x.csv",
        "leaderboard_percentile": 50.0,
        "leaderboard_size": 9, "beats_human": None, "human_percentile": None,
        "extra": {"agent": text, "error": text, "warnings": [text]},
    }  # fmt: skip


def program(*arguments: str) -> list[str]:
    """Return the command that runs the program."""
    return [sys.executable, "-m", "bioeval_tui", *arguments]
