"""What an assertion may ask of a FHIR server, and a setup may write."""

from __future__ import annotations

from typing import Any

import pytest

from bioeval_tui.base.errors import QueryError
from bioeval_tui.fhir.queries import check_write, parse_query, record_of, resource_path

READ_ONLY = [
    ("MedicationRequest?patient=ada&status=active", "MedicationRequest", False),
    ("MedicationRequest/_search?patient=ada", "MedicationRequest", False),
    ("Patient/ada", "Patient", True),
    ("Patient/ada/_history", "Patient", False),
    ("Patient/ada/_history/2", "Patient", True),
    ("Patient/ada/Observation?code=1", "Observation", False),
    ("Patient/ada/$everything", "Patient", False),
    ("Observation", "Observation", False),
]


@pytest.mark.parametrize(("text", "kind", "is_read"), READ_ONLY)
def test_queries_of_each_form_are_read(text: str, kind: str, is_read: bool) -> None:
    query = parse_query(text)
    assert (str(query), query.type, query.is_read) == (text, kind, is_read)
    assert query.given == (kind if is_read else "Bundle")


REFUSED = [
    ("http://evil.example/Patient/ada", "not an address", 1),
    ("//evil.example/Patient", "not an address", 1),
    ("file:/etc/passwd", "not an address", 1),
    ("/Patient/ada", "leave out the /", 1),
    ("Patient/../admin", "does not leave", 9),
    ("../admin", "does not leave", 1),
    ("Patient/.", "does not leave", 9),
    ("Patient//ada", "does not leave", 9),
    ("Patient/%2e%2e/admin", "is not a valid id", 9),
    ("Patient\\..\\admin", "a backslash", 8),
    ("Patient/ada#x", "# or an invisible character is not allowed", 12),
    ("Patient/ada\nHost: x", "a line break", 12),
    ("Patient/\u202eada", "invisible", 9),
    ("patient/ada", "not a resource type", 1),
    ("metadata", "not a resource type", 1),
    ("$export", "not a resource type", 1),
    ("Patient/$everything", "name the patient", 9),
    ("Patient/ada/$delete", "an operation may write", 13),
    ("Patient/$expunge", "an operation may write", 9),
    ("Observation/x/$everything", "not a query", 1),
    ("Patient/ada/Observation/x/y", "not a query", 1),
    ("Observation?code", "needs name=value", 13),
    ("Observation?", "needs name=value", 13),
    ("Observation?a=1&&b=2", "needs name=value", 17),
    ("Observation?_format=xml", "leave out `_format`", 13),
    ("Observation?code=%ff", "hexadecimal", 13),
    ("Observation?code=%0d%0aHost:x", "an invisible character is not allowed", 13),
    ("", "a query is needed", 1),
    ("A" * 5000, "more than 4,000 characters", 0),
]


@pytest.mark.parametrize(("text", "why", "column"), REFUSED)
def test_whatever_leaves_the_server_or_may_write_is_refused(
    text: str, why: str, column: int
) -> None:
    with pytest.raises(QueryError, match=why.replace("$", "\\$")) as refused:
        parse_query(text)
    assert refused.value.column == column


def test_what_is_sent_is_what_was_checked() -> None:
    query = parse_query(
        "Observation?code=http://loinc.org|1 a&date=ge2024-01-01T00:00+02:00&x=%C3%A9"
    )
    assert query.encoded == (
        "code=http%3A%2F%2Floinc.org%7C1%20a&date=ge2024-01-01T00%3A00%2B02%3A00&x=%C3%A9"
    )


WRITES: list[tuple[Any, str, dict[str, Any] | None, str]] = [
    ("PUT", "Patient/ada", {"resourceType": "Patient", "id": "ada"}, ""),
    ("POST", "Patient", {"resourceType": "Patient"}, ""),
    ("DELETE", "Patient/ada", None, ""),
    ("DELETE", "Observation?patient=ada", None, ""),
    ("PUT", "Patient/ada", {"resourceType": "Patient", "id": "bob"}, "needs `id: ada`"),
    ("PUT", "Patient/ada", {"resourceType": "Observation", "id": "ada"}, "names Patient"),
    ("PUT", "Patient", {"resourceType": "Patient"}, "PUT needs Type/id"),
    ("PUT", "Patient?identifier=x", {"resourceType": "Patient"}, "PUT needs Type/id"),
    ("POST", "Patient/ada", {"resourceType": "Patient"}, "POST needs Type"),
    ("DELETE", "Patient", None, "DELETE needs"),
    ("DELETE", "Patient?identifier=", None, "DELETE needs"),
    ("DELETE", "Patient/ada/_history", None, "DELETE needs"),
    ("DELETE", "Patient/_history", None, "DELETE needs"),
    ("POST", "Patient/$expunge", {"resourceType": "Parameters"}, "an operation may write"),
    ("DELETE", "http://evil.example/Patient/ada", None, "not an address"),
]


@pytest.mark.parametrize(("method", "path", "resource", "why"), WRITES)
def test_a_setup_writes_the_resource_that_it_names(
    method: Any, path: str, resource: dict[str, Any] | None, why: str
) -> None:
    if not why:
        check_write(method, path, resource)
        return
    with pytest.raises(QueryError, match=why.replace("$", "\\$")):
        check_write(method, path, resource)


def test_the_record_is_everything_of_a_patient_of_each_type_that_is_asked_for() -> None:
    queries = [
        "MedicationRequest?patient=ada&status=active",
        "MedicationRequest?status=stopped&patient=ada",
        "Observation?code=1",
        "Patient/ada",
    ]
    found = [str(query) for query in record_of(map(parse_query, queries))]
    assert found == ["MedicationRequest?patient=ada", "Observation?code=1", "Patient/ada"]


@pytest.mark.parametrize("key", ["..", "a/b", "a?x=1", "", None, "x" * 65])
def test_an_id_of_a_server_leads_nowhere_else(key: Any) -> None:
    with pytest.raises(QueryError, match="an invalid id"):
        resource_path("Patient", key)
