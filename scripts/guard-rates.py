"""Print how often each guard hits and how often it raises a false alarm, as the table of docs/guards.md.

    uv run python scripts/guard-rates.py [--show] [--split first|second]

`--show` lists the messages that were missed or wrongly flagged.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from bioeval_tui.guards import RULES, check
from bioeval_tui.jobs.models import EvaluationJob
from bioeval_tui.protocols import EvaluatorView, TranscriptMessage

GOLDEN = Path(__file__).parent.parent / "tests" / "golden"


def load_messages() -> list[dict[str, Any]]:
    """Return the labelled messages."""
    return [json.loads(line) for line in (GOLDEN / "guards.jsonl").read_text(encoding="utf-8").splitlines()]


def view_of(message: dict[str, Any]) -> EvaluatorView:
    """Return what the evaluator had before it when it said the message."""
    given = json.loads((GOLDEN / "guards_jobs.json").read_text(encoding="utf-8"))[message["job"]]
    job = EvaluationJob.model_validate(
        {
            "target": {"user": given["user"], "chatbot": given["chatbot"]},
            "aspirationalAverage": 1000.0,
            "tasks": tuple({"task": task} for task in given["tasks"]),
            "facts": tuple(given["facts"]),
        }
    )
    transcript = [
        TranscriptMessage(n, role, text) for n, (role, text) in enumerate(message["transcript"], start=1)
    ]
    facts = job.facts if message["condition"] == "supplied" else ()
    return EvaluatorView(job, message["condition"], 1, facts, transcript)


def rates(split: str) -> dict[str, tuple[int, int, int, int]]:
    """Return for each rule: hits, messages that break it, false alarms, messages that do not break it."""
    counts = {rule: [0, 0, 0, 0] for rule in [*RULES, "any"]}
    for message in load_messages():
        if message["split"] != split:
            continue
        found = {violation.rule for violation in check(view_of(message), message["message"])}
        labels = set(message["labels"])
        for rule, count in counts.items():
            broken, flagged = (
                (bool(labels), bool(found)) if rule == "any" else (rule in labels, rule in found)
            )
            count[1 if broken else 3] += 1
            count[0 if broken else 2] += flagged
    return {rule: (count[0], count[1], count[2], count[3]) for rule, count in counts.items()}


def table(split: str) -> list[str]:
    """Return the rows of a split's table."""
    return [
        f"| `{rule}` | {hits} of {broken} ({hits / broken:.0%}) | {alarms} of {kept} ({alarms / kept:.1%}) |"
        for rule, (hits, broken, alarms, kept) in rates(split).items()
    ]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--show", action="store_true")
    parser.add_argument("--split", choices=["first", "second"])
    options = parser.parse_args()
    splits = [options.split] if options.split else ["first", "second"]
    for split in splits:
        print(f"\n{split}\n\n| guard | hits | false alarms |\n|---|---|---|")
        for rule, (hits, broken, alarms, kept) in rates(split).items():
            print(
                f"| `{rule}` | {hits} of {broken} ({hits / broken:.0%}) | {alarms} of {kept} ({alarms / kept:.1%}) |"
            )
        for message in load_messages() if options.show else []:
            found = {v.rule: v.detail for v in check(view_of(message), message["message"])}
            if message["split"] == split and set(found) != set(message["labels"]):
                print(f"\n{message['id']} {message['condition']} {message['job']}: {message['message']}")
                print(f"    labelled {message['labels']}, found {found}")


if __name__ == "__main__":
    main()
