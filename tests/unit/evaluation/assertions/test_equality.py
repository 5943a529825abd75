"""When an observed value equals the expected one: numbers by value, the rest by type, spelling with
a warning.
"""

from __future__ import annotations

from typing import Any

import pytest

from bioeval_tui.evaluation.assertions import compare


@pytest.mark.parametrize(
    ("observed", "expected"),
    [
        (1, 1),
        (1, 1.0),
        (0.5, 0.5),
        ("a", "a"),
        (True, True),
        (None, None),
        ([1, "a"], [1.0, "a"]),
        ({"a": 1}, {"a": 1.0}),
        ((1, 2), [1, 2]),
    ],
)
def test_equal_values_pass_without_a_warning(observed: Any, expected: Any) -> None:
    assert compare(observed, expected) == (True, None)


@pytest.mark.parametrize(
    ("observed", "expected"), [(1, "1"), ("true", True), ("null", None), ("0.5", 0.5)]
)
def test_values_with_the_same_spelling_pass_with_a_warning(observed: Any, expected: Any) -> None:
    passed, warning = compare(observed, expected)
    assert passed
    assert warning is not None
    assert "equal only as text" in warning


@pytest.mark.parametrize(
    ("observed", "expected"),
    [
        (1, 2),
        (1, True),
        (0, False),
        ("1.0", 1),
        (None, 0),
        ("", 0),
        ("NaN", 0),
        (False, 0),
        ([], 0),
        ("", None),
        ([1], ["1"]),
        ([1, 2], [2, 1]),
        ({"a": 1}, {"a": 2}),
        ("A", "a"),
    ],
)
def test_different_values_fail(observed: Any, expected: Any) -> None:
    assert compare(observed, expected) == (False, None)
