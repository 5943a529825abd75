"""Print what the guards find in published conversations, as the table of docs/guards.md.

    uv run python scripts/guard-rates.py [--show]

`--show` lists the messages that were missed or wrongly found void.
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from bioeval_tui.evaluation.guards.transcripts import Hit, check_transcripts

DATA = Path(__file__).parent.parent / "tests" / "golden" / "guards"
CRAFT = DATA / "craft-md-gpt4.jsonl"
TAU = DATA / "tau-bench-gpt-4o-airline.jsonl"
Key = tuple[str, int]


@dataclass
class Rates:
    """Counts over messages of the simulated user; `shown` are those that were missed or wrongly void."""

    name: str
    in_role: int = 0
    marked: int = 0
    void: int = 0
    out_of_role: int = 0
    caught: int = 0
    shown: tuple[str, ...] = ()

    @property
    def row(self) -> str:
        """The row of the table."""
        caught = f"{self.caught:,} of {self.out_of_role:,}" if self.out_of_role else "–"
        share = f" ({self.caught / self.out_of_role:.1%})" if self.out_of_role else ""
        of = f"of {self.in_role:,}"
        return (
            f"| {self.name} | {self.marked} {of} ({self.marked / self.in_role:.2%}) | {self.void} {of} "
            f"({self.void / self.in_role:.2%}) | {caught}{share} |"
        )


def labels() -> dict[Key, str]:
    """Return the labels of the CRAFT-MD messages that have one, by conversation and message."""
    rows = map(json.loads, (DATA / "craft-md-labels.jsonl").read_text(encoding="utf-8").splitlines())
    return {(row["id"], row["message"]): row["label"] for row in rows}


@cache
def effects(path: Path) -> dict[Key, set[str]]:
    """Return what the guards found in each message."""
    found: defaultdict[Key, set[str]] = defaultdict(set)
    with path.open("rb") as lines:
        for hit in check_transcripts(lines, path.name):
            if isinstance(hit, Hit):
                found[hit.id, hit.message].add(hit.effect)
    return found


def rates() -> list[Rates]:
    """Return the rates of both halves of CRAFT-MD and of tau-bench."""
    return [
        _rates("CRAFT-MD, first half", CRAFT, 0, 2, labels()),
        _rates("CRAFT-MD, second half", CRAFT, 1, 2, labels()),
        _rates("tau-bench, airline", TAU, 0, 1, {}),
    ]


def _rates(name: str, path: Path, start: int, step: int, known: dict[Key, str]) -> Rates:
    counts, found, shown = Rates(name), effects(path), []
    for line in path.read_text(encoding="utf-8").splitlines()[start::step]:
        conversation = json.loads(line)
        for number, message in enumerate(conversation["messages"], start=1):
            if message["role"] != "user":
                continue
            key = (conversation["id"], number)
            is_void, is_out = "void" in found[key], known.get(key) == "out_of_role"
            counts.out_of_role += is_out
            counts.in_role += not is_out
            counts.caught += is_out and is_void
            counts.void += is_void and not is_out
            counts.marked += found[key] == {"mark"} and not is_out
            if is_void != is_out:
                shown.append(f"{'missed' if is_out else 'void'} {key[0]} {number}: {message['content']}")
    counts.shown = tuple(shown)
    return counts


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--show", action="store_true")
    show = parser.parse_args().show
    print("| messages of the simulated user | in role, marked | in role, void | out of role, void |")
    print("|---|---|---|---|")
    found = rates()
    print("\n".join(one.row for one in found))
    if show:
        print("\n".join(line for one in found for line in one.shown))


if __name__ == "__main__":
    main()
