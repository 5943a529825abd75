"""A dict that is made of a value has the keys and types that its schema says."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import jsonschema
import pytest
from pydantic import TypeAdapter

from bioeval_tui.base.printed import Fields


@dataclass(frozen=True)
class Mean:
    """A mean, and where it is kept."""

    name: str
    value: float | None
    folder: str

    @property
    def words(self) -> str:
        """The mean as text."""
        return f"about {self.value}"


MEAN = Mean("ada", 0.5, "/tmp")


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        (Fields(Mean), {"name": "ada", "value": 0.5, "folder": "/tmp"}),
        (
            Fields(Mean, without=("folder",), named={"agent": "name"}, words=str),
            {"agent": "ada", "value": 0.5, "words": "about 0.5"},
        ),
        (
            Fields(Mean, "words", "agent", named={"agent": "name"}, words=str),
            {"words": "about 0.5", "agent": "ada"},
        ),
    ],
)
def test_a_value_is_printed_in_the_order_of_its_fields_or_keys_as_its_schema_says(
    fields: Fields, expected: dict[str, Any]
) -> None:
    printed = fields.of(MEAN)
    assert list(printed.items()) == list(expected.items())
    schema = TypeAdapter(Annotated[dict[str, Any], fields]).json_schema()
    assert list(schema["properties"]) == list(expected) == schema["required"]
    jsonschema.Draft202012Validator({**schema, "additionalProperties": False}).validate(printed)


def test_a_key_that_is_given_replaces_the_field_in_its_place_with_its_own_type() -> None:
    fields = Fields(Mean, called="PrintedMean", about="A mean.", value=list[float])
    assert list(fields.of(MEAN, value=[0.5]).items()) == [
        ("name", "ada"),
        ("value", [0.5]),
        ("folder", "/tmp"),
    ]
    schema = TypeAdapter(Annotated[dict[str, Any], fields]).json_schema()
    assert (schema["title"], schema["description"]) == ("PrintedMean", "A mean.")
    assert schema["properties"]["value"]["type"] == "array"


def test_a_key_that_no_schema_has_is_not_printed() -> None:
    with pytest.raises(AssertionError):
        Fields(Mean, without=("folder",)).of(MEAN, folder="/home")
