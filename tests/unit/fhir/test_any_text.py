"""Whatever stands in a job is read, or refused with one sentence."""

from __future__ import annotations

import contextlib

from hypothesis import example, given, strategies as st

from bioeval_tui.base.errors import QueryError
from bioeval_tui.fhir.paths import asks_nothing, check_path
from bioeval_tui.fhir.queries import parse_query

WORDS = st.lists(
    st.sampled_from(
        [
            "Patient",
            "/",
            "ada",
            "?",
            "&",
            "=",
            "..",
            "%2e",
            "_search",
            "$everything",
            ":",
            " ",
            "\\",
        ]
    ),
    max_size=9,
).map("".join)
PIECES = st.lists(
    st.sampled_from(
        ["a", ".", "where", "(", ")", "'", "`", "@2024", "T", "%x", "{", "}", "[", "1.5", "=",
         "and", " ", "//", "/*", "\\", "$this", "is", "System.", "~", "é", "\x00"]
    ),
    max_size=12,
).map("".join)  # fmt: skip


@given(st.one_of(st.text(max_size=60), WORDS))
@example("Patient/ada/_history/")
def test_any_query_is_sent_as_it_was_checked_or_refused(text: str) -> None:
    with contextlib.suppress(QueryError):
        query = parse_query(text)
        assert query.path.isascii()
        assert query.encoded.isascii()
        assert not {"", ".", ".."} & set(query.path.split("/"))
        assert "%" not in query.path


@given(st.one_of(st.text(max_size=60), PIECES))
@example("a.b(")
@example("\ud800")
def test_any_path_is_read_or_refused_with_one_sentence(text: str) -> None:
    refused = None
    try:
        check_path(text)
        asks_nothing(text)
    except QueryError as error:
        refused = error
    if refused is not None:
        assert "\n" not in str(refused)
        assert 0 <= refused.column <= len(text) + 1
