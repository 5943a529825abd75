"""What `check` says of tools that are to fail (`target.tools[].fails`): what of it does nothing,
and which shares, of calls and of facts, are drawn.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from bioeval_tui.base.yaml_positions import Path as FieldPath
from bioeval_tui.record.cases import job_part


def failures_without_effect(tools: Any) -> Iterator[tuple[FieldPath, str]]:
    """Yield what of the `fails` of tools in a job's data does nothing, each with its path."""
    for index, tool in _mappings(tools):
        path: FieldPath = ("target", "tools", index, "fails")
        if tool.get("fails") == []:
            yield path, "lists no failure: the tool never fails"
        always = None
        for number, failure in _mappings(tool.get("fails")):
            if always is not None:
                yield (
                    (*path, number),
                    f"never comes: `{always}` before it has `share: 1`, so meets every call",
                )
            elif failure.get("share") == 1:
                always = failure.get("how")
        for number, failure in _mappings(tool.get("fails"), alone=True):
            own = path if number is None else (*path, number)
            yield from _listed_twice(own, failure.get("calls"))


def drawn_shares(data: dict[str, Any]) -> Iterator[FieldPath]:
    """Yield where a job's data has a share of facts or calls that is drawn."""
    for index, persona in _mappings(data.get("personas")):
        facts = persona.get("facts")
        if isinstance(facts, dict) and _is_drawn(facts.get("holdsBack")):
            yield "personas", index, "facts", "holdsBack"
    for index, tool in _mappings(job_part(data, "target").get("tools")):
        for number, failure in _mappings(tool.get("fails"), alone=True):
            if _is_drawn(failure.get("share")):
                own = () if number is None else (number,)
                yield "target", "tools", index, "fails", *own, "share"


def _listed_twice(path: FieldPath, calls: Any) -> Iterator[tuple[FieldPath, str]]:
    if not isinstance(calls, list):
        return
    for call, times in Counter(call for call in calls if isinstance(call, int)).items():
        if times > 1:
            yield (*path, "calls"), f"lists call {call} {times} times, and it fails once"


def _is_drawn(share: Any) -> bool:
    return isinstance(share, int | float) and 0 < share < 1


def _mappings(listed: Any, *, alone: bool = False) -> Iterator[tuple[Any, dict[str, Any]]]:
    """Yield the mappings of a list with their indexes; with `alone`, also one that is not in a
    list, without an index.
    """
    if isinstance(listed, dict) and alone:
        yield None, listed
    for index, item in enumerate(listed if isinstance(listed, list) else ()):
        if isinstance(item, dict):
            yield index, item
