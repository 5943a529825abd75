"""Prints the estimate of a dry run."""

from __future__ import annotations

import json
from collections.abc import Sequence

from rich.table import Table
from rich.text import Text

from bioeval_tui.consoles import plain_console
from bioeval_tui.evaluation.wiring.estimate import MESSAGE_TOKENS, RoleEstimate, RunEstimate, total_cost
from bioeval_tui.text import clean_line, plural
from bioeval_tui.units import dollars


def print_estimates(found: Sequence[RunEstimate]) -> None:
    """Print conversations, maximum calls and costs of each run by role, and the totals."""
    console = plain_console()
    hosts = list(dict.fromkeys(host for run in found for host in run.hosts))
    table = Table("job", "role", "who", box=None, pad_edge=False)
    for title in ("max. calls", "max. cost"):
        table.add_column(title, justify="right")
    for run in found:
        job = run.job
        for role in run.roles:
            table.add_row(*map(Text, (job, role.role, _who(role), f"{role.calls:,}", dollars(role.cost))))
            job = ""
    console.print(Text(f"{plural(sum(run.conversations for run in found), 'conversation')}, nothing is sent"))
    console.print(table)
    console.print(
        Text(
            f"at most {sum(run.calls for run in found):,} calls, {dollars(total_cost(found))} in total; a failed request is tried up to 4 times"
        )
    )
    for why in dict.fromkeys(role.why_unknown for run in found for role in run.roles if role.why_unknown):
        console.print(Text(f"unknown: {why}"), soft_wrap=True)
    console.print(
        Text(f"costs assume {MESSAGE_TOKENS} tokens per message and conversations of maximum length")
    )
    for line in dict.fromkeys(_options(role) for run in found for role in run.roles if role.options):
        console.print(Text(line), soft_wrap=True)
    console.print(Text(f"transcripts would go to: {', '.join(hosts)}"), soft_wrap=True)
    for sentence in dict.fromkeys(run.judge_sees for run in found if run.judge_sees):
        console.print(Text(sentence), soft_wrap=True)
    for warning in dict.fromkeys(warning for run in found for warning in run.warnings):
        console.print(Text(f"note: {warning}"), soft_wrap=True)


def _who(role: RoleEstimate) -> str:
    return " at ".join(filter(None, (role.model, role.host)))


def _options(role: RoleEstimate) -> str:
    given = (
        f"{key} {clean_line(json.dumps(value, ensure_ascii=False))}" for key, value in role.options.items()
    )
    return f"options ({role.role}): {', '.join(given)}"
