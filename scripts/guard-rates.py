"""Print what the guards find in published conversations, as the tables of docs/guards.md.

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

from bioeval_tui.guards.checks import Hit, check_transcripts
from bioeval_tui.record.events import ROLE_RULES
from bioeval_tui.statistics.intervals import share_interval

DATA = Path(__file__).parent.parent / "tests" / "golden" / "guards"
CRAFT = DATA / "craft-md-gpt4.jsonl"
TAU = DATA / "tau-bench-gpt-4o-airline.jsonl"
SMOLLM = DATA / "smollm2.jsonl"
Key = tuple[str, int]


@dataclass
class Rates:
    """Counts over messages of the simulated user; `shown` are those that were missed or wrongly
    void.
    """

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
            f"| {self.name} | {self.marked} {of} ({self.marked / self.in_role:.2%}) | {self.void}"
            f" {of} ({self.void / self.in_role:.2%}) | {caught}{share} |"
        )


def labels() -> dict[Key, str]:
    """Return the labels of the CRAFT-MD messages that have one, by conversation and message."""
    rows = map(
        json.loads, (DATA / "craft-md-labels.jsonl").read_text(encoding="utf-8").splitlines()
    )
    return {(row["id"], row["message"]): row["label"] for row in rows}


@cache
def effects(path: Path) -> dict[Key, set[str]]:
    """Return what the guards found in each message."""
    found: defaultdict[Key, set[str]] = defaultdict(set)
    with path.open("rb") as lines:
        for hit in check_transcripts(lines, path.name):
            # read by hand: see docs/guards.md
            if isinstance(hit, Hit) and hit.violation.rule != "non_answer":
                found[hit.id, hit.message].add(hit.violation.effect)
    return found


def rates() -> list[Rates]:
    """Return the rates of both halves of CRAFT-MD and of tau-bench."""
    return [
        _rates("CRAFT-MD, first half", CRAFT, 0, 2, labels()),
        _rates("CRAFT-MD, second half", CRAFT, 1, 2, labels()),
        _rates("tau-bench, airline", TAU, 0, 1, {}),
    ]


@dataclass
class RoleRates:
    """What the rules about the role found in messages of one label; `shown` are the misses and
    false findings.
    """

    label: str
    messages: int = 0
    void: int = 0
    noticed: int = 0
    shown: tuple[str, ...] = ()

    @property
    def row(self) -> str:
        """The row of the table, with 95 % intervals."""
        return f"| {self.label} | {self._share(self.void)} | {self._share(self.noticed)} |"

    def _share(self, count: int) -> str:
        interval = share_interval(count / self.messages, self.messages)
        return (
            f"{count} of {self.messages} ({count / self.messages:.0%}, {interval.low:.0%} to"
            f" {interval.high:.0%})"
        )


def role_rates() -> list[RoleRates]:
    """Return the rates of the messages of SmolLM2, by label."""
    found: defaultdict[str, set[str]] = defaultdict(set)
    with SMOLLM.open("rb") as lines:
        hits = [hit for hit in check_transcripts(lines, SMOLLM.name) if isinstance(hit, Hit)]
    rows = [json.loads(line) for line in SMOLLM.read_text(encoding="utf-8").splitlines()]
    last = {row["id"]: len(row["messages"]) for row in rows}
    for hit in hits:
        if hit.violation.rule in ROLE_RULES and hit.message == last[hit.id]:
            found[hit.id].add(hit.violation.effect)
    names = {
        "role_swap": "speaks as the helper",
        "meta": "says it is a model, or speaks of its prompt",
        "in_role": "in role",
    }
    counts = {label: RoleRates(name) for label, name in names.items()}
    for row in rows:
        if (one := counts.get(row["label"])) is None:
            continue
        one.messages += 1
        one.void += "void" in found[row["id"]]
        one.noticed += bool(found[row["id"]])
        if bool(found[row["id"]]) == (row["label"] == "in_role"):
            one.shown += (f"{row['label']} {row['id']}: {row['messages'][-1]['content']}",)
    return list(counts.values())


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
                shown.append(
                    f"{'missed' if is_out else 'void'} {key[0]} {number}: {message['content']}"
                )
    counts.shown = tuple(shown)
    return counts


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--show", action="store_true")
    show = parser.parse_args().show
    print(
        "| messages of the simulated user | in role, marked | in role, void | out of role, void |"
    )
    print("|---|---|---|---|")
    found = rates()
    print("\n".join(one.row for one in found))
    roles = role_rates()
    print("\n| messages of SmolLM2-135M-Instruct | void | void or marked |\n|---|---|---|")
    print("\n".join(one.row for one in roles))
    if show:
        print("\n".join(line for one in (*found, *roles) for line in one.shown))


if __name__ == "__main__":
    main()
