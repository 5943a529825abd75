"""Record the checksums of the shipped tasks' prepared data in each checksums.yaml.

    uv run python scripts/write-checksums.py

Run it after a change of data or split; a difference that you did not intend shows up in `git diff`.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import yaml

sys.path.insert(0, str(Path(__file__).parent / "train-leaderboards"))

from boards import TASKS, prepare

from bioeval_tui.grade.tasks.prepare import folder_checksums


def main() -> None:
    """Prepare every task in a temporary folder and write its checksums."""
    for config in sorted(TASKS.glob("*/*/config.yaml")):
        task = config.parent.relative_to(TASKS).as_posix()
        with tempfile.TemporaryDirectory() as folder:
            public, private = prepare(task, Path(folder))
            checksums = {"private": folder_checksums(private), "public": folder_checksums(public)}
        text = yaml.safe_dump(checksums, sort_keys=True, width=120)
        (config.parent / "checksums.yaml").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
