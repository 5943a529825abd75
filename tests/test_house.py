"""The structure of the package: no circle of imports, and few imports inside functions.

Imports inside functions and under TYPE_CHECKING count: they tie two files together as any other import does.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from pathlib import Path

import grimp  # import-linter brings it: the same graph as `lint-imports` judges

PACKAGE = Path(__file__).parents[1] / "bioeval_tui"

MOST_FUNCTION_LEVEL_IMPORTS = 150
"""How many imports may stand inside functions: each buys start-up time, or a package that a system may not have."""

NAMES_OF_TWO = {
    "Block",
    "Entry",
    "Evaluation",
    "Evidence",
    "Form",
    "Interval",
    "Key",
    "Mark",
    "Row",
    "Transcript",
}
"""Names that two classes still share."""


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


def test_no_modules_import_each_other() -> None:
    assert import_circles() == [], "these modules import each other, directly or through others"


def test_few_imports_stand_inside_functions() -> None:
    found = function_level_imports()
    assert found.total() <= MOST_FUNCTION_LEVEL_IMPORTS, found.most_common(10)


def test_imports_inside_functions_say_why() -> None:
    """A comment on the import or above it, once for each file, says what it is that does not wait for it."""
    silent = []
    for name in function_level_imports():
        lines = (PACKAGE / name).read_text(encoding="utf-8").splitlines()
        places = [at for at, line in enumerate(lines) if re.match(r"\s+(import|from) [\w.]+", line)]
        if not any("  # " in lines[at] or lines[at - 1].lstrip().startswith("# ") for at in places):
            silent.append(name)
    assert silent == []


def test_a_class_has_a_name_of_its_own() -> None:
    """One thing, one name (docs/glossary.md). Of the names left here each is to go; add none."""
    places: dict[str, list[str]] = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places.setdefault(node.name, []).append(path.relative_to(PACKAGE).as_posix())
    twice = {name: where for name, where in places.items() if len(where) > 1}
    assert set(twice) <= NAMES_OF_TWO, {name: twice[name] for name in set(twice) - NAMES_OF_TWO}
    assert set(twice) == NAMES_OF_TWO, "these have one place now: take them off the list"
