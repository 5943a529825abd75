"""The structure of the package: no new circle of imports, and no more imports inside functions than there are.

Imports inside functions and under TYPE_CHECKING count: they tie two files together as any other import does.
"""

from __future__ import annotations

import ast
from collections import Counter
from pathlib import Path

import grimp  # import-linter brings it: the same graph as `lint-imports` judges

PACKAGE = Path(__file__).parents[1] / "bioeval_tui"

KNOWN_CIRCLES: list[set[str]] = [
    {
        "bioeval_tui.evaluate.wiring.parts",
        "bioeval_tui.evaluate.wiring.resume",
    },
    {
        "bioeval_tui.grade.baselines.csv",
        "bioeval_tui.grade.baselines.folds",
        "bioeval_tui.grade.baselines.h5ad",
        "bioeval_tui.grade.baselines.run",
    },
    {
        "bioeval_tui.grade.files.h5ad",
        "bioeval_tui.grade.files.quick_csv",
        "bioeval_tui.grade.grader",
        "bioeval_tui.grade.leaderboard",
        "bioeval_tui.grade.scorers",
        "bioeval_tui.grade.tasks.task",
    },
    {
        "bioeval_tui.grade.grade",
        "bioeval_tui.grade.validate",
    },
]
"""The circles that are still to be cut. Take one off the list when it is gone; never add one."""

MOST_FUNCTION_LEVEL_IMPORTS = 244
"""How many imports stand inside functions. Lower it with each one that moves to the top of its file."""


def import_circles() -> list[list[str]]:
    """Return each group of modules in which every one imports every other, directly or through the others."""
    graph = grimp.build_graph(PACKAGE.name, cache_dir=None)
    below = {
        module: graph.find_upstream_modules(module)  # what it imports, directly or not
        for module in graph.modules
    }
    circles = {
        frozenset({module, *(other for other in below[module] if module in below[other])}) for module in below
    }
    return sorted(sorted(circle) for circle in circles if len(circle) > 1)


def function_level_imports() -> Counter[str]:
    """Return for each file of the package how many import statements stand inside its functions."""
    found: Counter[str] = Counter()
    for path in sorted(PACKAGE.rglob("*.py")):
        functions = [
            node
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        ]
        lines = {
            node.lineno
            for function in functions
            for node in ast.walk(function)
            if isinstance(node, ast.Import | ast.ImportFrom)
        }
        if lines:
            found[path.relative_to(PACKAGE).as_posix()] = len(lines)
    return found


def test_there_is_no_new_circle_of_imports() -> None:
    new = [circle for circle in import_circles() if not any(set(circle) <= known for known in KNOWN_CIRCLES)]
    assert new == [], "these modules import each other, lazily or not"


def test_every_known_circle_still_is_one() -> None:
    circles = import_circles()
    gone = [sorted(known) for known in KNOWN_CIRCLES if not any(set(circle) <= known for circle in circles)]
    assert gone == [], "these are no circles any more: take them off the list"


def test_no_more_imports_stand_inside_functions_than_before() -> None:
    found = function_level_imports()
    assert found.total() <= MOST_FUNCTION_LEVEL_IMPORTS, found.most_common(10)
