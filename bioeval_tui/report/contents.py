"""What a conversation was about, and what two conversations have in common, so that it can be
compared.

Cases and jobs keep their names while somebody changes what they say. Two conversations are about
the same if their facts are the same, and what else the case filled in for the user, and if the user
asked for one task at least in both. Of these, only tasks with the same words and criteria, and
equal assertions, are compared.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from bioeval_tui.base.text import compact_json
from bioeval_tui.record.cases import asserted, is_counted, job_part, judged_items, task_criteria
from bioeval_tui.record.condition_names import Condition

OF_CASES = ("seeds", "setups", "greetings")
"""Parts of a job, besides facts and tasks, that belong to the contents of a case which fills them
in.
"""
OF_USERS = ("voice", "lines")
"""The parts of a job's evaluator that do."""
LARGEST_WEIGHT = 1e100
"""No job has a larger one: the recording is damaged."""


@dataclass(frozen=True)
class Contents:
    """What one conversation was about.

    Numbers of judged items count from 1, those of assertions from 0.
    """

    situation: Mapping[str, Any]
    """What the user knows, and where the conversation starts."""
    asked: tuple[str, ...]
    """What the user is to ask for."""
    judged: Mapping[int, Mapping[str, Any]]
    """What is judged: its words and criteria."""
    checked: Mapping[int, Mapping[str, Any]]
    """What is asserted."""
    weights: Mapping[str, Mapping[int, float]]
    """The weights of what is judged and asserted."""

    @cached_property
    def digest(self) -> str:
        """A hash of everything, by which equal contents are found."""
        whole = [
            self.situation,
            self.asked,
            [*self.judged.values()],
            [*self.checked.values()],
            self.weights,
        ]
        text = compact_json(whole)
        return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()

    @property
    def named(self) -> dict[str, Any]:
        """Everything under the keys of a job, to say what differs."""
        tasks = [*self.judged.values()]
        return {**self.situation, "tasks": tasks, "assertions": [*self.checked.values()]}


def job_contents(
    job: Mapping[str, Any], unfilled: Mapping[str, Any], condition: Condition
) -> Contents:
    """Return what a conversation in a condition is about, by its job filled in and as it is for all
    cases.
    """
    situation: dict[str, Any] = {"facts": list(map(str, _listed(job, "facts")))}
    situation |= {key: job.get(key) for key in OF_CASES if job.get(key) != unfilled.get(key)}
    user, for_all = (job_part(each, "evaluator") for each in (job, unfilled))
    situation |= {key: user.get(key) for key in OF_USERS if user.get(key) != for_all.get(key)}
    by_rules = job_part(job, "scorer").get("kind") == "rules"
    items = judged_items(dict(job), condition)
    checks = {
        index: check
        for index, check in enumerate(_listed(job, "assertions"))
        if isinstance(check, dict) and is_counted(check, condition)
    }
    tasks = (
        task
        for task in _listed(job, "tasks")
        if isinstance(task, dict) and is_counted(task, condition)
    )
    return Contents(
        situation,
        tuple(_words(task.get("task")) for task in tasks),
        {
            number: _judged(job, item, condition, by_rules=by_rules)
            for number, item in items.items()
        },
        {index: _bare(asserted(check)) for index, check in checks.items()},
        {
            "judged": {number: _weight(item) for number, item in items.items()},
            "checked": {index: _weight(check) for index, check in checks.items()},
        },
    )


def _listed(job: Mapping[str, Any], key: str) -> Sequence[Any]:
    listed = job.get(key)
    if isinstance(listed, list | tuple):
        return listed
    return ()


def _words(text: Any) -> str:
    return " ".join(str(text or "").split())


def _weight(item: Mapping[str, Any]) -> float:
    weight = item.get("weight")
    if isinstance(weight, int | float) and abs(weight) <= LARGEST_WEIGHT:
        return float(weight)
    return 1.0


def _judged(
    job: Mapping[str, Any], item: Mapping[str, Any], condition: Condition, *, by_rules: bool
) -> dict[str, Any]:
    content = {
        "task": _words(item.get("task")),
        "acceptanceCriteria": _words(task_criteria(job, item, condition)),
    }
    if item.get("points") is not None:
        content["points"] = item["points"]
    if by_rules:
        content["rules"] = _bare(item.get("rules"))
    return content


def _bare(value: Any) -> Any:
    """Return a value without the keys that say nothing, which another version may not have
    recorded; in one order.
    """
    if isinstance(value, dict):
        inside = ((key, _bare(item)) for key, item in sorted(value.items()))
        return {key: item for key, item in inside if item not in (None, "", [], {})}
    if isinstance(value, list | tuple):
        return [_bare(item) for item in value]
    return value


@dataclass(frozen=True, slots=True)
class InCommon:
    """What two conversations have in common. The numbers and indices are A's, each with B's."""

    same_topic: bool
    """Whether they can be compared at all."""
    judged: Mapping[int, int] = field(default_factory=dict)
    checked: Mapping[int, int] = field(default_factory=dict)
    whole: bool = True
    """Whether nothing else is scored in either, and with the same weights."""


NOTHING = InCommon(same_topic=False, whole=False)


def common_contents(a: Contents, b: Contents) -> InCommon:
    """Return what two conversations have in common."""
    if a == b:
        return InCommon(
            True, {number: number for number in a.judged}, {index: index for index in a.checked}
        )
    asks_the_same = bool({*a.asked} & {*b.asked}) or not (a.asked or b.asked)
    if a.situation != b.situation or not asks_the_same:
        return NOTHING
    judged, checked = dict(_matched(a.judged, b.judged)), dict(_matched(a.checked, b.checked))
    whole = (
        len(judged) == len(a.judged) == len(b.judged)
        and len(checked) == len(a.checked) == len(b.checked)
        and all(
            a.weights["judged"][one] == b.weights["judged"][other] for one, other in judged.items()
        )
        and all(
            a.weights["checked"][one] == b.weights["checked"][other]
            for one, other in checked.items()
        )
    )
    return InCommon(True, judged, checked, whole)


def _matched(a: Mapping[int, Any], b: Mapping[int, Any]) -> Iterator[tuple[int, int]]:
    """Yield the places of equal things; of several equal ones, the first with the first."""
    places: defaultdict[str, list[int]] = defaultdict(list)
    for place, content in b.items():
        places[compact_json(content)].append(place)
    for place, content in a.items():
        if found := places[compact_json(content)]:
            yield place, found.pop(0)
