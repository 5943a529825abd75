"""Which pandas is installed: its versions read some numbers and texts differently."""

from __future__ import annotations

import pandas as pd


def pandas_version() -> tuple[int, ...]:
    """Return the first two numbers of the version, such as (2, 3)."""
    return tuple(int(part) for part in pd.__version__.split(".")[:2])
