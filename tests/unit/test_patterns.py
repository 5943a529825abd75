"""Patterns from job files can neither hang nor crash a run."""

import pytest

from bioeval_tui.errors import InputError, NotMeasuredError
from bioeval_tui.patterns import MAX_PATTERN, pattern_problem, search


def test_patterns_ignore_case():
    found = search("noon", "At NOON.")
    assert found is not None
    assert (found.start, found.end) == (3, 7)
    assert search("noon", "At night") is None


def test_runaway_backtracking_ends_with_a_reason():
    with pytest.raises(NotMeasuredError, match="took longer than"):
        search(r"(x+x+)+y", "x" * 200, limit_s=0.05)


@pytest.mark.parametrize(
    "pattern", ["(", "[a", "a{3", "a" * (MAX_PATTERN + 1), "(" * 900 + ")" * 900, r"\p{Nope}", "*"]
)
def test_any_pattern_works_or_is_an_input_error(pattern):
    problem = pattern_problem(pattern)
    if problem is None:
        search(pattern, "a")
    else:
        assert "pattern" in problem
        with pytest.raises(InputError):
            search(pattern, "a")


def test_a_pattern_error_names_its_column():
    assert "column 5" in (pattern_problem("abc(") or "")
