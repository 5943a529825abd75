"""Who takes part in a run: the peers and the two speakers, whose fault something is, and what
models are called, as asked for and as served.

Imports nothing heavy.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import Literal

from bioeval_tui.base.text import clean_line

Peer = Literal["agent", "evaluator", "judge", "graph", "fhir", "knowledge"]
Role = Literal["user", "assistant"]
SPEAKERS: dict[Role, str] = {"user": "user", "assistant": "agent"}
"""What readers call the two speakers, whatever a job calls its user."""
SAMPLE_AGENT = "sample agent"
"""What recordings call the agent that comes with this program."""
Fault = Literal["agent", "evaluator", "judge", "infrastructure", "unclear", "program", "none"]
"""`infrastructure`: a model's provider, the graph, the FHIR server, or this machine.

`unclear`: the agent, or what lies between it and this program, and nobody can tell which.
`program`: a defect of this program, met over what a peer sent.
"""


def judge_name(models: Sequence[str], repeats: int, items_per_request: int | None) -> str:
    """Return what a judge of these models is called: each one's name, how often each is asked, and
    whether a request is only about some of the criteria, which makes it another judge.
    """
    names = ", ".join(clean_line(model, 100) for model in models)
    if repeats > 1:
        names += f" × {repeats}"
    if items_per_request is None:
        return names
    # Else a reader would take it to be about the last one alone.
    each = "each: " if len(models) > 1 else ""
    if items_per_request == 1:
        return f"{names} ({each}one criterion a request)"
    return f"{names} ({each}up to {items_per_request} criteria a request)"


_HOW_ASKED = re.compile(
    r"(?: × \d+)?(?: \((?:each: )?(?:one criterion|up to \d+ criteria) a request\))?$"
)
"""What stands after the models in a judge's name."""


def name_parts(identity: str) -> tuple[str, str]:
    """Return the models in an evaluator's or judge's name, and what it says about how they are
    asked.
    """
    found = _HOW_ASKED.search(identity)
    at = found.start() if found else len(identity)
    return identity[:at], identity[at:]


def asked_and_served(asked: str, served: Collection[str]) -> str:
    """Return a model's name, with the names in the server's answers where they differ: `asked for
    X, served Y`.
    """
    if all(name == asked for name in served):
        return asked
    return f"asked for {asked}, served {' and '.join(served)}"


def add_served(identity: str, served: dict[str, list[str]]) -> str:
    """Return the same of an evaluator's or judge's identity, such as `a, b × 3`; `served` is by
    what was asked for.
    """
    if all(names == [asked] for asked, names in served.items()):
        return identity
    models, how = name_parts(identity)
    names = [asked_and_served(model, served.get(model, ())) for model in models.split(", ")]
    return "; ".join(names) + how


_SERVED = re.compile(r"asked for (?P<asked>.+?), served (?P<served>.+)")


def model_names(identity: str) -> list[list[str]]:
    """Return the names of every model in that of an agent's model, an evaluator or a judge: what
    was asked for, and then what servers called it.
    """
    models, _ = name_parts(identity)
    between = ", "
    if "; " in models or _SERVED.fullmatch(models):
        between = "; "
    names: list[list[str]] = []
    for model in filter(None, models.split(between)):
        found = _SERVED.fullmatch(model)
        if found is None:
            names.append([model])
        else:
            names.append([found["asked"], *found["served"].split(" and ")])
    return names
