"""Parquet files."""

from bioeval_tui.protocols import Format

writer = Format(
    "parquet",
    (".parquet",),
    "one row per turn, in typed columns",
    {"runs": "bioeval_tui.bundled.parquet.writing:write_runs"},
    place=5,
)
