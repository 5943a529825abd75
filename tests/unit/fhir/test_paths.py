"""FHIRPath: what is wrong with a path is said with its column, and none runs for long."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from bioeval_tui.base.errors import InvalidQueryError, QueryError
from bioeval_tui.fhir import paths
from bioeval_tui.fhir.paths import Paths, asks_nothing, check_path

WARFARIN = "Bundle.entry.resource.where(medicationCodeableConcept.text = 'warfarin')"
WRONG = [
    ("a b", "`b` is not expected here", 3),
    ("a.count(", "ends too early", 9),
    ("entry..resource", "`.` is not expected here", 7),
    ("a\n.b c", "`c` is not expected here", 6),
    ("'abc", "no meaning here", 1),
    ("a ! b", "no meaning here", 3),
    ("", "a path is needed", 1),
    ("a.cuont()", "no function `cuont`; did you mean count?", 3),
    ("a.`cuont`()", "no function `cuont`; did you mean count?", 3),
    ("containsOp(a, b)", "no function `containsOp`", 1),
    ("Bundle.entry.where()", "`where` takes 1 argument, not 0", 14),
    ("a.count(b)", "`count` takes no argument, not 1", 3),
    ("iif(a)", "`iif` takes 2 or 3 arguments, not 1", 1),
    ("a.where(b.exists(c, d))", "`exists` takes 0 or 1 argument, not 2", 11),
    ("a = %foo", "no `%foo`: only %context, what the query returned, and %ucum are known", 5),
    ("%'vs-x'.a", "no `%'vs-x'`", 1),
    ("a.where(b.trace('x').exists())", "`trace` prints", 11),
    ("a." * 500 + "a", "400 words and marks", 0),
    ("a" * 2001, "2,000 characters", 0),
    ("(" * 5000, "2,000 characters", 0),
]


@pytest.mark.parametrize(("text", "why", "column"), WRONG)
def test_what_is_wrong_with_a_path_is_said_with_its_column(
    text: str, why: str, column: int
) -> None:
    with pytest.raises(QueryError) as refused:
        check_path(text)
    assert why in str(refused.value)
    assert refused.value.column == column


def test_without_the_library_one_sentence_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(paths, "missing", lambda packages: packages)
    with pytest.raises(QueryError, match=r"FHIRPath needs fhirpathpy: `.*` installs it"):
        check_path("Patient.name.given.first()")


def test_a_path_that_looks_at_nothing_is_known() -> None:
    assert asks_nothing("true")
    assert asks_nothing("1 = 1")
    assert not asks_nothing("count() = 1")
    assert not asks_nothing("%context.entry = 1")


@pytest.fixture
async def process() -> AsyncIterator[Paths]:
    one = Paths()
    yield one
    await one.aclose()


BUNDLE: dict[str, Any] = {
    "resourceType": "Bundle",
    "entry": [
        {
            "resource": {
                "resourceType": "MedicationRequest",
                "authoredOn": "2024-01-02",
                "medicationCodeableConcept": {"text": "warfarin"},
                "dosageInstruction": [
                    {"doseAndRate": [{"doseQuantity": {"value": 2.5, "unit": "mg"}}]}
                ],
            }
        }
    ],
}
VALUES: list[tuple[str, list[Any]]] = [
    (f"{WARFARIN}.count()", [1]),
    ("entry.resource.medication.text", ["warfarin"]),
    ("entry.resource.dosageInstruction.doseAndRate.dose.value", [2.5]),
    ("entry.resource.dosageInstruction.doseAndRate.dose.value * 2", [5]),
    ("entry.resource.authoredOn", ["2024-01-02"]),
    ("entry.resource.authoredOn < @2024-02-01", [True]),
    ("1.5 'mg'", ["1.5 'mg'"]),
    ("entry.resource.status", []),
    ("entry.resource.medication", [{"text": "warfarin"}]),
]


async def test_values_are_as_json_has_them(process: Paths) -> None:
    for path, values in VALUES:
        assert await process.evaluate(path, BUNDLE, "4.0.1") == tuple(values), path


async def test_of_a_resource_that_is_not_there_nothing_is_found(process: Paths) -> None:
    assert await process.evaluate("Patient.exists()", [], "4.0.1") == (False,)
    assert await process.evaluate("Patient.name.given", [], "5.0.0") == ()


BEGINNINGS = [
    (
        "Bundel.entry.count()",
        "Bundle",
        "begins with `Bundel`, and the query gives a Bundle; did you mean Bundle?",
        1,
    ),
    (
        "MedicationRequest.id",
        "Bundle",
        "gives a Bundle; its resources are `Bundle.entry.resource`",
        1,
    ),
    ("MedicationRequst.exists()", "MedicationRequest", "did you mean MedicationRequest?", 1),
    ("Resource.id", "Observation", "begins with `Resource`, and the query gives an Observation", 1),
    ("1 + (`Bundel`.entry.count())", "Bundle", "this part of the path begins with `Bundel`", 6),
    ("iif(Bundel.exists(), 1, 2)", "Bundle", "this part of the path begins with `Bundel`", 5),
    ("entry.resource.ofType(Medication.Request)", "Bundle", "no type `Medication.Request`", 23),
    ("entry.resource.ofType(Patiant)", "", "no type `Patiant`; did you mean Patient?", 23),
    ("entry.first() is System.Strin", "", "no type `System.Strin`; did you mean String?", 18),
    ("entry.ofType(1 + 2)", "", "no type `1+2`", 14),
]


@pytest.mark.parametrize(("text", "given", "why", "column"), BEGINNINGS)
def test_a_type_that_is_not_given_or_not_there_is_said_with_its_column(
    text: str, given: str, why: str, column: int
) -> None:
    with pytest.raises(QueryError) as refused:
        check_path(text, given)
    assert why in str(refused.value)
    assert refused.value.column == column


TYPES = [
    ("entry.resource.ofType(MedicationOrder)", "Bundle"),
    ("entry.resource.value.ofType(FHIR.Quantity)", "Bundle"),
    ("(value as Quantity).unit is System.String", "Observation"),
    ("entry.resource.all($this is `Patient`)", "Bundle"),
    ("Bundle.entry.where(resource.id = 'a').exists() and Bundle.total = 1", "Bundle"),
    ("exists()", "Patient"),
    ("Bundel.entry", ""),
]


@pytest.mark.parametrize(("text", "given"), TYPES)
def test_types_of_any_version_of_fhir_and_of_fhirpath_are_known(text: str, given: str) -> None:
    check_path(text, given)


RIGHT = [
    "a.exists()",
    "a.exists(b)",
    "a.toQuantity('mg')",
    "coalesce(a, b)",
    "%`context`.a",
    "%ucum",
]


@pytest.mark.parametrize("path", RIGHT)
def test_arguments_and_constants_that_there_are_may_be_used(path: str) -> None:
    check_path(path)


async def test_a_path_that_does_not_fit_or_gives_too_much_is_an_error(process: Paths) -> None:
    two = {**BUNDLE, "entry": BUNDLE["entry"] * 2}
    misfits = ["entry.resource.authoredOn + 'a'", "entry.single()", "entry.resource is Patient"]
    for path in misfits:
        with pytest.raises(QueryError) as refused:
            await process.evaluate(path, two, "4.0.1")
        assert not isinstance(refused.value, InvalidQueryError), path
        assert str(refused.value) == (
            "the path cannot be evaluated on what the query returned: a function or an operator is"
            " given values of a kind, or a number of values, that it does not take"
        )
    many = {"resourceType": "Bundle", "entry": [{"fullUrl": str(n)} for n in range(1_001)]}
    with pytest.raises(QueryError, match="more than 1,000 values"):
        await process.evaluate("entry.fullUrl", many, "4.0.1")


NEVER = [
    ("entry.where(1 + 'a' = 2)", "a function or an operator is given values of a kind"),
    ("$total", "`$total` has no meaning here"),
    ("entry.where($total > 1)", "`$total` has no meaning here"),
]


@pytest.mark.parametrize(("path", "why"), NEVER)
async def test_what_fails_whatever_there_is_to_find_is_the_paths_own_mistake(
    path: str, why: str, process: Paths
) -> None:
    with pytest.raises(InvalidQueryError) as refused:
        await process.evaluate(path, BUNDLE, "4.0.1")
    assert str(refused.value).startswith("the path cannot be evaluated, whatever the query returns")
    assert why in str(refused.value)


@pytest.mark.parametrize(
    "path", ["'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!'.matches('(a+)+$')", "(1|2).repeat($this + 1)"]
)
async def test_a_path_without_an_end_is_stopped_and_the_next_one_evaluated(
    path: str, process: Paths, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(paths, "CPU_S", 1)
    with pytest.raises(QueryError, match="it takes"):
        await process.evaluate(path, BUNDLE, "4.0.1")
    assert await process.evaluate("entry.count()", BUNDLE, "4.0.1") == (1,)
