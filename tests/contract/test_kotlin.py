"""An expression has Kotlin's result or is refused when the job is checked; it never has another
result.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from bioeval_tui.base.errors import ExpressionError
from bioeval_tui.expressions import evaluate, parse
from bioeval_tui.expressions.scopes import CONSTANTS
from bioeval_tui.expressions.signatures import FUNCTIONS, METHODS, PROPERTIES
from tests.contract.kotlin import NAMES, Verdict, verdicts

DOCS = (Path(__file__).parents[2] / "docs" / "assertions.md").read_text("utf-8")
FILES = ("kotlin_expressions.json", "kotlin_more.json")
OURS_TOO = re.compile(r"it\.role\b|it\.type\b|first\(\)\.output$")
"""What Kotlin refuses and this program understands: a role as a text, a resource's type, any
event's output.
"""


@pytest.mark.parametrize("name", FILES)
def test_at_least_nine_of_ten_expressions_agree_with_kotlin(name: str) -> None:
    conditions = [row for row in verdicts(name) if isinstance(row.kotlin, bool)]
    agreed = sum(row.agrees for row in conditions)
    assert agreed >= 0.9 * len(conditions)
    assert len(conditions) >= 100


@pytest.mark.parametrize("name", FILES)
def test_no_expression_disagrees_with_kotlin(name: str) -> None:
    different = [row for row in verdicts(name) if isinstance(row.kotlin, bool) and not row.agrees]
    assert [row.expression for row in different if row.ours != "error"] == []


@pytest.mark.parametrize("name", FILES)
def test_what_kotlin_refuses_is_refused_with_the_documented_exceptions(name: str) -> None:
    lax = [row for row in verdicts(name) if row.kotlin == "error" and row.ours != "error"]
    assert [row.expression for row in lax if not OURS_TOO.search(row.expression)] == []


def test_unsupported_kotlin_is_refused_by_check_with_an_alternative() -> None:
    def refused(row: Verdict) -> bool:
        try:
            parse(row.expression)
        except ExpressionError as error:
            return error.column > 0 and len(error.message) > 10
        return False

    left_out = [
        row
        for name in FILES
        for row in verdicts(name)
        if isinstance(row.kotlin, bool) and not row.agrees
    ]
    assert [row.expression for row in left_out if not refused(row)] == []


def test_the_documentation_lists_exactly_the_available_functions() -> None:
    table = DOCS.partition("<!-- functions")[2].partition("<!-- end of functions")[0]
    assert set(re.findall(r"`(\w+(?:\.\w+)?)`", table)) == {
        *METHODS,
        *FUNCTIONS,
        *PROPERTIES,
        *CONSTANTS,
    }


def test_every_documented_construct_is_evaluated() -> None:
    section = DOCS.partition("### Constructs")[2].partition("### ")[0]
    rows = section.partition("```kotlin\n")[2].partition("\n```")[0].splitlines()
    assert len(rows) >= 25
    assert [row for row in rows if evaluate(parse(row), NAMES) is not True] == []
