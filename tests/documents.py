"""Documents as `runs report`, `runs export` and `medals` write them, by the names of their
formats.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bioeval_tui.formats import Asked
from bioeval_tui.report.formats.registry import format_of, write_runs


def document_of(kind: str, *runs: Any, output: Path | None = None) -> Any:
    """Return the document of these runs: text, or bytes if the format has them."""
    return write_runs(format_of(kind), runs, Asked(output=output))


def medals_of(kind: str, reports: Sequence[Any]) -> Any:
    """Return the document of graded reports."""
    return format_of(kind).write("medals", reports)


def comparison_of(comparison: Any) -> Any:
    """Return a comparison as the JSON that `runs compare --json` prints."""
    return json.loads(format_of("json").write("comparison", comparison))


def gate_of(kind: str, runs: Sequence[Any], rules: Any, result: Any = None) -> Any:
    """Return the document of a gate over these runs."""
    return format_of(kind).write("gate", runs, rules, result)
