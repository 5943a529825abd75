"""The cases of a run: that of each trial, and the job filled in from it."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import ItemsView, Iterable, Iterator, Mapping, Sequence
from typing import Annotated, Any, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, PlainSerializer

from bioeval_tui.record.condition_names import Condition, counts_in
from bioeval_tui.record.conditions import find_condition
from bioeval_tui.record.tool_calls import tool_calls_text

MET_ABOVE = 0.5
"""An item of a rubric is met if its score, the median of the verdicts, is above this."""
MOST_TRIALS = 100_000
"""Ten times the maximum of `run --repeat`, because `runs resume --rerun` adds trials."""
Trial = Annotated[int, Field(ge=1, le=MOST_TRIALS)]

CaseKey = tuple[str, str, str]
"""The name of a case, its persona's, and its user's model."""


class Case(BaseModel):
    """The case of a conversation, and what the user wants and knows in it.

    `trial` counts the trials of the case (and its persona and user) from 1. `tasks` have `task` and
    `acceptanceCriteria`, in the order of the job's, which they replace; empty if the job's apply to
    all cases.
    """

    model_config = ConfigDict(frozen=True, defer_build=True)
    name: str
    trial: Trial = 1
    tasks: tuple[dict[str, str], ...] = ()
    facts: tuple[str, ...] = ()
    persona: str = ""
    """Who the simulated user is, by the name of one of the job's personas; empty without any."""
    user: str = ""
    """The model that plays the user, where a run has several of them; empty otherwise."""

    @property
    def key(self) -> CaseKey:
        """What tells it from the other cases of its run."""
        return self.name, self.persona, self.user

    @property
    def words(self) -> str:
        """The name, with the persona's and the user's if there are any: `case_840 · in a hurry`."""
        return " · ".join(filter(None, self.key))

    @property
    def title(self) -> str:
        """The name of one of its trials: `case case_840`, and from the second on `case case_840,
        trial 2`; without a case `user gpt-4.1`.
        """
        what = "case" if self.name else "user"
        return f"{what} {self.words}" + (f", trial {self.trial}" if self.trial > 1 else "")

    def in_trial(self, trial: int) -> Case:
        """Return the case of another of its trials, which shares everything else with it."""
        if trial == self.trial:
            return self
        copy = self.model_copy(update={"trial": trial})
        # pydantic's own copy is as large as the case, and a run may have 50,000 trials
        object.__setattr__(copy, "__pydantic_fields_set__", self.__pydantic_fields_set__)
        return copy


class PackedParts(Mapping[str, Any]):
    """The filled-in parts of a case as JSON: each look makes them anew.

    As dictionaries they take five times as much memory, and a run may have ten thousand cases.
    """

    __slots__ = ("_packed",)

    def __init__(self, parts: Mapping[str, Any]) -> None:
        self._packed = json.dumps(plain_parts(parts)).encode()

    def items(self) -> ItemsView[str, Any]:
        """Return all of them, made at once."""
        parts: dict[str, Any] = json.loads(self._packed)
        return parts.items()

    def __getitem__(self, key: str) -> Any:
        return plain_parts(self)[key]

    def __iter__(self) -> Iterator[str]:
        return iter(plain_parts(self))

    def __len__(self) -> int:
        return len(self.items())


def plain_parts(parts: Mapping[str, Any]) -> dict[str, Any]:
    """Return the filled-in parts of a case as a dictionary."""
    return dict(parts.items())


_LISTS = ("tasks", "facts", "rubric", "assertions", "personas", "setups", "seeds")
"""What views go through item by item."""
JobParts = TypeVar("JobParts", bound=Mapping[str, Any])


def require_lists(job: JobParts) -> JobParts:
    """Return a job's snapshot, or parts of it.

    Raises:
        ValueError: something else stands in the place of a list, as a foreign recording may have.
    """
    for key in _LISTS:
        if not isinstance(job.get(key) or (), list | tuple):
            raise ValueError(f"the job's {key} must be a list")
    return job


class JobCase(BaseModel):
    """A case of a run: its name, its persona's, its user's model, and the filled-in parts that
    replace the job's own.
    """

    model_config = ConfigDict(frozen=True, defer_build=True)
    name: str
    """Empty without a table of cases and personas, in a run with several users."""
    persona: str = ""
    user: str = ""
    """The model that plays the user, where a run has several of them; empty otherwise."""
    parts: Annotated[
        Mapping[str, Any],
        AfterValidator(require_lists),
        AfterValidator(PackedParts),
        PlainSerializer(plain_parts),
    ] = Field(default_factory=lambda: PackedParts({}))

    @property
    def key(self) -> CaseKey:
        """What tells it from the other cases of its run."""
        return self.name, self.persona, self.user


def case_places(cases: int, trials: int) -> list[int]:
    """Return the case of each trial, counting from 0: all cases in order, then again from the
    first.
    """
    if cases:
        return [trial % cases for trial in range(trials)]
    return []


def trial_cases(
    job: Mapping[str, Any],
    cases: Sequence[JobCase],
    places: Iterable[int],
    before: Sequence[Case] = (),
) -> list[Case]:
    """Return the case of each trial from its place among the `cases` of a job's snapshot; `before`
    are the cases of the earlier trials.
    """
    met = Counter(case.key for case in before)
    of_place: dict[int, Case] = {}
    made = []
    for place in places:
        if place >= len(cases):
            continue  # the file was changed by hand
        if place not in of_place:
            of_place[place] = _first_trial(job, cases[place])
        case = of_place[place]
        met[case.key] += 1
        made.append(case.in_trial(met[case.key]))
    return made


def _first_trial(job: Mapping[str, Any], case: JobCase) -> Case:
    filled = {**job, **plain_parts(case.parts)}
    return Case(
        name=case.name,
        persona=case.persona,
        user=case.user,
        tasks=case_tasks(filled),
        facts=tuple(map(str, filled.get("facts") or ())),
    )


def job_with_case(job: dict[str, Any], case: Case) -> dict[str, Any]:
    """Return a job's snapshot with the tasks and facts of an imported case, if it has its own."""
    if case.facts:
        job = {**job, "facts": list(case.facts)}
    if case.tasks and isinstance(job.get("tasks"), list):
        tasks = [
            {**task, **case.tasks[min(place, len(case.tasks) - 1)]}
            for place, task in enumerate(job["tasks"])
            if isinstance(task, dict)
        ]
        job = {**job, "tasks": tasks}
    return job


_PLACEHOLDER = re.compile(r"\{\{([^{}]*)\}\}")


def name_placeholders(text: str) -> str:
    """Return a text of a job with cases as it reads for all of them: `{{ case.drug }}` becomes
    ‹drug›.
    """
    return _PLACEHOLDER.sub(_named, text)


def _named(placeholder: re.Match[str]) -> str:
    path = re.match(r"\s*([\w.]+)", placeholder[1])
    return f"‹{path[1].rpartition('.')[2] if path else '…'}›"


def judged(job: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return what a judge scores in a job's snapshot: the items of its rubric, otherwise its tasks.

    An item has `task` and `passAbove` like a task, and also `points` and `tags`. A rubric that
    comes from the cases is empty in the job itself.
    """
    if rubric := job.get("rubric"):
        items = [item for item in rubric if isinstance(item, dict)]
        if len(items) < len(rubric):
            return []
        return [
            {**item, "task": item.get("criterion", ""), "passAbove": MET_ABOVE} for item in items
        ]
    return [item if isinstance(item, dict) else {"task": item} for item in job.get("tasks") or []]


def judged_items(job: Mapping[str, Any], condition: Condition | None) -> dict[int, dict[str, Any]]:
    """Return what a judge scores in a condition (None: in any), by its number from 1."""
    return {
        number: item
        for number, item in enumerate(judged(job), start=1)
        if is_counted(item, condition)
    }


def case_tasks(job: Mapping[str, Any]) -> tuple[dict[str, str], ...]:
    """Return the tasks of a job's snapshot in the form of `Case.tasks`."""
    return tuple(
        {
            "task": str(task.get("task", "")),
            "acceptanceCriteria": str(task.get("acceptanceCriteria", "")),
        }
        | ({"withheldCriteria": str(own)} if (own := task.get("withheldCriteria")) else {})
        for task in job.get("tasks") or ()
        if isinstance(task, dict)
    )


def task_criteria(
    job: Mapping[str, Any], item: Mapping[str, Any], condition: Condition | None
) -> str:
    """Return the criteria of a task of a job's snapshot in a condition (None: what else holds)."""
    shared, own = str(item.get("acceptanceCriteria") or ""), str(item.get("withheldCriteria") or "")
    if condition is None:
        return shared
    return find_condition(job, condition).choose_criteria(shared, own)


def judge_question(
    job: Mapping[str, Any], item: Mapping[str, Any], condition: Condition | None
) -> dict[str, Any]:
    """Return what a judge, or a person, is asked about a task or item of a job's snapshot in a
    condition.

    Its words, criteria and points, and the rules that count there.
    """
    rules = [rule for rule in item.get("rules") or () if isinstance(rule, dict)]
    return {
        "task": str(item.get("task") or ""),
        "criteria": task_criteria(job, item, condition),
        "points": item.get("points"),
        "rules": [
            {key: rule.get(key, default) for key, default in _RULE.items()}
            for rule in rules
            if is_counted(rule, condition)
        ],
    }


_RULE = {"pattern": "", "who": "agent", "absent": False, "weight": 1.0}
"""What a rule asks, and the values of what it leaves out."""
_SETTINGS = (
    "kind", "context", "options", "temperature", "topP", "maxTokens", "seed", "stop",
    "reasoningEffort", "extraBody", "itemsPerRequest",
)  # fmt: skip
"""The settings of a judge that change what it is asked, besides its models and its prompt."""


def job_part(job: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Return a part of a job's snapshot, such as its `target`; empty where a foreign recording has
    none, or something else in its place.
    """
    part = job.get(name)
    if isinstance(part, dict):
        return part
    return {}


def judge_settings(job: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the job of a snapshot sets of its judge, besides its models and its prompt."""
    settings = job_part(job, "scorer")
    return {key: settings[key] for key in _SETTINGS if settings.get(key) not in (None, [], {}, "")}


def question_hash(
    job: Mapping[str, Any], condition: Condition, prompts: Mapping[str, str], judge: str
) -> str:
    """Return the SHA-256 of what a judge is asked about a conversation of a job's snapshot.

    It is that of the compact JSON, its keys sorted, of an object with `judge` (its name: models,
    repeats and how many criteria a request asks about), `scorer` (its other settings, as far as
    they are set), `prompts` (the hash of each, by name) and `criteria`: by number, the
    `judge_question` each task or item of the rubric in this condition. Rules are left out where a
    model judges, criteria where rules do.
    """
    settings = judge_settings(job)
    unasked = {"llm": "rules", "rules": "criteria"}.get(str(settings.get("kind") or "llm"))
    asked = {
        "judge": judge,
        "scorer": settings,
        "prompts": dict(prompts),
        "criteria": {
            str(number): {
                key: value
                for key, value in judge_question(job, item, condition).items()
                if key != unasked
            }
            for number, item in judged_items(job, condition).items()
        },
    }
    return hashlib.sha256(
        json.dumps(asked, sort_keys=True, separators=(",", ":")).encode()
    ).hexdigest()


def is_counted(item: Mapping[str, Any], condition: Condition | None) -> bool:
    """Return whether a task or assertion of a job's snapshot counts in a condition (None: in
    any).
    """
    return condition is None or counts_in(item.get("only"), condition)


OF_EVERY_ASSERTION = frozenset({"name", "weight", "only", "timeline", "invariant"})
"""The keys that every assertion of a job may have.

All others say what it asserts, also those of a newer version's kinds.
"""


def asserted(item: Mapping[str, Any]) -> dict[str, Any]:
    """Return what an assertion of a job's snapshot asserts: its own keys, the one of its kind
    first.
    """
    return {key: value for key, value in item.items() if key not in OF_EVERY_ASSERTION}


def assertion_title(item: Mapping[str, Any], index: int) -> str:
    """Return what an assertion of a job's snapshot is called: its name, or what it asserts."""
    if item.get("name"):
        return str(item["name"])
    kind, asked = next(iter(asserted(item).items()), ("", ""))
    return asserted_text(kind, asked) or f"assertion {index + 1}"


def asserted_text(key: str, value: Any) -> str:
    """Return the value of one of the keys of `asserted` as a text."""
    if key == "toolCalls" and isinstance(value, dict):
        return tool_calls_text(value)
    return str(value or "")
