"""Documents as `runs report`, `runs export` and `medals` write them, by the names of their
formats.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from bioeval_tui.formats import Asked
from bioeval_tui.report.formats.registry import named_format, write_runs


def document_of(kind: str, *runs: Any, output: Path | None = None) -> Any:
    """Return the document of these runs: text, or bytes if the format has them."""
    return _whole(write_runs(named_format(kind), runs, Asked(output=output)))


def medals_of(kind: str, reports: Sequence[Any]) -> Any:
    """Return the document of graded reports."""
    return named_format(kind).write("medals", reports)


def pair_comparison(comparison: Any) -> Any:
    """Return a comparison as the JSON that `runs compare --json` prints."""
    return json.loads(named_format("json").write("comparison", comparison))


def gate_of(kind: str, runs: Sequence[Any], rules: Any, result: Any = None) -> Any:
    """Return the document of a gate over these runs."""
    return _whole(named_format(kind).write("gate", runs, rules, result))


def _whole(document: Any) -> Any:
    """Return a document that may come in pieces as a whole."""
    return "".join(document) if isinstance(document, Iterator) else document
