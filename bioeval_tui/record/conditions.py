"""The conditions of a run as data: what each is called, which of the job's facts the user has, and
which criteria hold.

embabel-agent-eval has two, which are the default: the facts withheld, and supplied when asked for.
A job may list others. Nothing else in this program knows how many there are, or what they are
called.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    SerializerFunctionWrapHandler,
    TypeAdapter,
    model_serializer,
)
from pydantic_core import PydanticCustomError

from bioeval_tui.base.text import clean_line, shorten
from bioeval_tui.record.condition_names import (
    IS_ORDER,
    PLACEBO_NAME,
    PLACEBO_TITLE,
    PUBLISHED_NAMES,
    PUBLISHED_TITLES,
    Condition,
    first_condition,
    is_name,
    without_placebo,
)

LONGEST_WORDS = 20
"""Maximum number of characters of what a condition is called: screens have narrow columns for it.
"""
MOST_CONDITIONS = 8


@lru_cache(maxsize=256)  # each event that is written or read names its condition
def _named(text: str) -> str:
    if not is_name(text):
        raise PydanticCustomError(
            "condition",
            "must be a name of at most 20 small letters, digits and _, and no word of options such"
            " as mean or task2",
        )
    return text


ConditionName = Annotated[str, AfterValidator(_named)]
Conditions = Annotated[tuple[ConditionName, ...], Field(max_length=MOST_CONDITIONS)]
"""The names of the conditions of a run, in the order in which each trial holds them."""


def _order(order: str) -> str:
    if re.fullmatch(IS_ORDER, order) is None:
        raise PydanticCustomError(
            "order", "must be random, parallel, or a condition with -first, such as supplied-first"
        )
    return order


Order = Annotated[str, AfterValidator(_order)]


def put_first(names: Sequence[Condition], order: Order | None) -> tuple[Condition, ...]:
    """Return the conditions in an order; the one that comes first leaves the others as listed."""
    first = first_condition(order)
    if first:
        return tuple(sorted(names, key=lambda name: name != first))
    return tuple(names)


def _words(text: str) -> str:
    if not (cleaned := clean_line(text)):
        raise PydanticCustomError("condition_words", "must not be blank")
    return cleaned


def _tupled(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(value)
    return value


def _facts(value: Any) -> Any:
    """Return which facts the user has, from a word or a list of numbers."""
    if value in ("all", "none"):
        return value
    if isinstance(value, list | tuple) and all(
        isinstance(n, int) and n is not True and n > 0 for n in value
    ):
        return tuple(sorted(set(value))) or "none"
    raise PydanticCustomError(
        "facts", "must be all, none, or a list of the numbers (from 1) of facts"
    )


class ConditionConfig(BaseModel):
    """A condition in which conversations are held: in it, the simulated user knows some of the
    job's facts.
    """

    model_config = ConfigDict(
        strict=True,
        extra="forbid",
        frozen=True,
        defer_build=True,  # a job that lists none needs no validator
    )

    name: ConditionName
    """The name in files, options and assertions' `only`."""
    words: (
        Annotated[str, Field(min_length=1, max_length=LONGEST_WORDS), AfterValidator(_words)] | None
    ) = None
    """What screens and reports call it, such as `knows nothing`; the default is its name."""
    facts: Annotated[
        Literal["all", "none"] | tuple[Annotated[int, Field(ge=1)], ...], BeforeValidator(_facts)
    ] = "all"
    """Which of the job's facts the user has and gives when asked: all, none, or the numbers (from
    1) of some.
    """
    criteria: Literal["acceptance", "withheld"] = "acceptance"
    """Whether tasks with `withheldCriteria` are judged by these: what is right when the user does
    not know.
    """
    tells: Literal["asked", "all"] = "asked"
    """When the user gives these facts: each when the agent asks for it, or all of them at once, at
    the end of the greeting.
    """

    @model_serializer(mode="wrap")
    def _without_default_of_tells(self, as_data: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Return the condition as data.

        Releases that know no `tells` refuse the key: they could not read any recording.
        """
        data: dict[str, Any] = as_data(self)
        if data.get("tells") == "asked":
            del data["tells"]
        return data

    @property
    def title(self) -> str:
        """What it is called: `without the facts`, or as the job names it."""
        return self.words or self.name

    @property
    def is_placebo(self) -> bool:
        """Whether its user tells what has nothing to do with the tasks instead of the facts."""
        return self.name == PLACEBO_NAME

    def knows(self, fact: int) -> bool:
        """Return whether the user has the fact of that number, from 1."""
        return self.facts == "all" or (self.facts != "none" and fact in self.facts)

    def known(self, facts: Sequence[str]) -> tuple[str, ...]:
        """Return those of the job's facts that the user has."""
        return tuple(fact for number, fact in enumerate(facts, start=1) if self.knows(number))

    def choose_criteria(self, acceptance: str, withheld: str) -> str:
        """Return the criteria of a task, given its `acceptanceCriteria` and `withheldCriteria`."""
        return (withheld if self.criteria == "withheld" else "") or acceptance


# Unchecked, because they are right: a check would build the validator at every start.
WITHHELD, SUPPLIED = PUBLISHED = (
    ConditionConfig.model_construct(
        name=PUBLISHED_NAMES[0],
        words=PUBLISHED_TITLES[PUBLISHED_NAMES[0]],
        facts="none",
        criteria="withheld",
    ),
    ConditionConfig.model_construct(
        name=PUBLISHED_NAMES[1], words=PUBLISHED_TITLES[PUBLISHED_NAMES[1]]
    ),
)
"""embabel-agent-eval's conditions."""
PLACEBO = ConditionConfig.model_construct(
    name=PLACEBO_NAME, words=PLACEBO_TITLE, facts="none", criteria="withheld"
)
"""What `controls: true` adds to a job's conditions."""


def with_placebo(conditions: tuple[ConditionConfig, ...]) -> tuple[ConditionConfig, ...]:
    """Return the conditions and, last, the placebo."""
    if any(condition.is_placebo for condition in conditions):
        return conditions
    return (*conditions, PLACEBO)


def _are_distinct(conditions: tuple[ConditionConfig, ...]) -> tuple[ConditionConfig, ...]:
    if not 0 < len(conditions) <= MOST_CONDITIONS:
        raise PydanticCustomError(
            "conditions", f"must list 1 to {MOST_CONDITIONS} conditions, not {len(conditions)}"
        )
    for kind, called in (
        ("name", [condition.name for condition in conditions]),
        ("words", [condition.title for condition in conditions]),
    ):
        if twice := next((each for each in called if called.count(each) > 1), None):
            raise PydanticCustomError(
                "conditions", f"two conditions have the {kind} {twice!r}; give each its own"
            )
    return conditions


ConditionList = Annotated[
    tuple[ConditionConfig, ...],
    AfterValidator(_are_distinct),
    Field(json_schema_extra={"minItems": 1, "maxItems": MOST_CONDITIONS}),
]
_READER: TypeAdapter[tuple[ConditionConfig, ...]] = TypeAdapter(
    Annotated[ConditionList, BeforeValidator(_tupled)], config=ConfigDict(defer_build=True)
)


def job_conditions(job: Mapping[str, Any]) -> tuple[ConditionConfig, ...]:
    """Return the conditions of a job's snapshot, in the order in which they run and are shown.

    Raises pydantic's `ValidationError`, a `ValueError`: a recording with others cannot be read.
    """
    conditions = _listed_conditions(job.get("conditions"))
    if job.get("controls") is True:
        return with_placebo(conditions)
    return conditions


def _listed_conditions(listed: Any) -> tuple[ConditionConfig, ...]:
    if listed is None:
        return PUBLISHED
    try:
        written = json.dumps(listed)
    except (TypeError, ValueError):  # not as a file has them
        return _read(listed)
    return _read_once(written)


@lru_cache(maxsize=64)
def _read_once(written: str) -> tuple[ConditionConfig, ...]:
    """Return the conditions that were written so: a run asks for them several times for each
    conversation.
    """
    return _read(json.loads(written))


def _read(listed: Iterable[Any]) -> tuple[ConditionConfig, ...]:
    return _READER.validate_python([_cut(each) for each in listed])


def _cut(condition: Any) -> Any:
    """Return a recorded condition with its words cut again: a mask may have made them longer."""
    words = condition.get("words") if isinstance(condition, dict) else None
    if not isinstance(words, str):
        return condition
    return {**condition, "words": shorten(clean_line(words), LONGEST_WORDS)}


def condition_names(job: Mapping[str, Any]) -> tuple[Condition, ...]:
    """Return the names of the conditions of a job's snapshot, in order."""
    return tuple(condition.name for condition in job_conditions(job))


def scored_conditions(job: Mapping[str, Any]) -> tuple[Condition, ...]:
    """Return the names of the conditions of which a job's mean is: all but the placebo.

    With the placebo in it, a run with the control would have another score than one without.
    """
    return without_placebo(condition_names(job))


def find_condition(job: Mapping[str, Any], name: Condition) -> ConditionConfig:
    """Return a condition of a job's snapshot by its name; one that is not listed has all facts."""
    return named(job_conditions(job), name)


def named(conditions: Collection[ConditionConfig], name: Condition) -> ConditionConfig:
    """Return the condition of that name; one that is not listed has all facts."""
    found = (condition for condition in conditions if condition.name == name)
    # Unchecked: a name that nobody lists is only shown.
    return next(found, None) or ConditionConfig.model_construct(name=name)


def sort_conditions(
    conditions: Sequence[ConditionConfig], some: Collection[Condition]
) -> tuple[Condition, ...]:
    """Return `some` of the conditions' names in the order of the conditions, and then the
    others.
    """
    listed = tuple(condition.name for condition in conditions if condition.name in some)
    return (*listed, *(name for name in some if name not in listed))


def most_informed(conditions: Sequence[ConditionConfig]) -> Condition:
    """Return the first of the conditions in which the user knows most: all facts, else some."""
    return max(
        conditions, key=lambda condition: (condition.facts == "all", condition.facts != "none")
    ).name


class Contrast(NamedTuple):
    """The two conditions whose difference is the effect of the facts."""

    without: Condition
    """The first in which the user knows none of the facts or, if there is no such one, must be
    asked for each.
    """
    with_facts: Condition
    """The first in which the user knows all of them or, where it knows them in both, tells all at
    once.
    """


def job_contrast(job: Mapping[str, Any]) -> Contrast | None:
    """Return the conditions of a job's snapshot that show what the facts change; None if there are
    no such two.
    """
    conditions = [each for each in job_conditions(job) if not each.is_placebo]
    informed = [condition for condition in conditions if condition.facts == "all"]
    without = next((condition.name for condition in conditions if condition.facts == "none"), None)
    if without and informed:
        return Contrast(without, informed[0].name)
    asked = next((condition.name for condition in informed if condition.tells == "asked"), None)
    told = next((condition.name for condition in informed if condition.tells == "all"), None)
    if asked and told:
        return Contrast(asked, told)
    return None
