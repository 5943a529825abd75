"""Means, shares, percentiles and intervals are worked out in one room; what else divides by a count
is named here.
"""

from __future__ import annotations

import ast

from tests.sources import nodes

ROOM = "statistics/"
ELSEWHERE = {
    "grade/tally.py": "the mean with the others as zeros",
    "grade/metrics.py": "a published metric is the score",
    "grade/scorers.py": "a published metric is the score",
    "grade/biomlbench.py": "a published metric is the score",
    "grade/grade.py": "the published comparison with people's median",
    "grade/baselines.py": "what a baseline predicts",
    "grade/explaining/cells.py": "errors of cells and genes, which are shown as they are",
    "grade/explaining/groups.py": "where quarters of the values begin",
    "grade/explaining/views.py": "errors of rows, which are shown as they are",
    "grade/chances.py": "arrays of draws, whose spread is a number of the method",
    "grade/code_draws.py": "arrays of draws, whose ends the room gives",
    "grade/resampling.py": "arrays of draws, whose ends the room gives",
    "languages/english.py": "how much of a text is English",
    "report/manner.py": "how much of the facts a message has",
}
OF_NUMPY = {"mean", "median", "quantile", "percentile", "std", "var", "average"}


def divides_a_sum(node: ast.AST) -> bool:
    """Whether it is `sum(…) / len(…)`, or a sum divided by anything that a length is part of."""
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Div):
        return False
    top = {name.id for name in ast.walk(node.left) if isinstance(name, ast.Name)}
    bottom = {name.id for name in ast.walk(node.right) if isinstance(name, ast.Name)}
    return bool(top & {"sum", "fsum"}) and "len" in bottom


def asks_numpy(node: ast.AST) -> bool:
    """Whether it calls `np.mean(…)` or the like."""
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in OF_NUMPY
        and isinstance(node.func.value, ast.Name)
        and node.func.value.id == "np"
    )


def test_no_mean_or_quantile_is_worked_out_elsewhere() -> None:
    found = {
        path
        for path, here in nodes().items()
        if not path.startswith((ROOM, "sample/"))
        and any(divides_a_sum(node) or asks_numpy(node) for node in here)
    }
    assert found - ELSEWHERE.keys() == set(), "use bioeval_tui.statistics, or say here why not"
    assert ELSEWHERE.keys() - found == set(), "no longer there: take it off the list"
