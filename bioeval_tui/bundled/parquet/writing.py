"""Turns as a Parquet file: the columns of `to_frame("turns")`, typed and described."""

from __future__ import annotations

import io
from collections.abc import Sequence

import pyarrow.parquet

from bioeval_tui.formats import Asked, RunResult, to_arrow


def write_runs(runs: Sequence[RunResult], asked: Asked) -> bytes:
    """Return the file."""
    file = io.BytesIO()
    pyarrow.parquet.write_table(to_arrow(runs, "turns"), file)
    return file.getvalue()
