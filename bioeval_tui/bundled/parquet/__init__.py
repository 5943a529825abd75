"""Parquet files."""

from bioeval_tui.protocols import Format

_ABOUT = "one row per turn, in typed columns"
writer = Format("parquet", (".parquet",), _ABOUT, {"runs": f"{__name__}.writing:write_runs"}, place=5)
