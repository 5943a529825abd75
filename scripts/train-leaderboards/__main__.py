"""Earn the leaderboards of the shipped tasks: train real models with fixed seeds, grade them, write
the board.

    uv run python scripts/train-leaderboards    # all tasks, half an hour on one core
    uv run python scripts/train-leaderboards oncology/breast-cancer
    uv run python scripts/train-leaderboards --check TASK    # compare with the board in place

A score depends on the versions of scikit-learn, NumPy and the processor's arithmetic in its last
digits; `--check` allows a difference of 0.005.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
import warnings

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

# After the number of threads is set:
from boards import check, train, write, write_predictions  # noqa: E402
from plans import PLANS  # noqa: E402


def main() -> int:
    """Train the boards that are asked for; return 1 if a check fails."""
    parser = argparse.ArgumentParser(description="Earn the leaderboards of the shipped tasks.")
    parser.add_argument("tasks", nargs="*", help="ids of tasks; all without any")
    parser.add_argument("--check", action="store_true", help="compare instead of writing")
    parser.add_argument(
        "--predictions", action="store_true", help="with --check: write the entries' predictions"
    )
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")  # models that do not converge are part of the spread
    plans = [plan for plan in PLANS if not arguments.tasks or plan.task in arguments.tasks]
    unknown = set(arguments.tasks) - {plan.task for plan in PLANS}
    if unknown:
        parser.error(
            f"no plan for {', '.join(sorted(unknown))}; there are"
            f" {', '.join(p.task for p in PLANS)}"
        )
    failed = False
    for plan in plans:
        began = time.perf_counter()
        board, reference, predictions = train(plan)
        if arguments.check:
            failed |= not check(plan.task, board, reference)
            if arguments.predictions and not failed:
                write_predictions(plan.task, predictions)
        else:
            write(plan.task, board, reference, predictions)
        seconds = time.perf_counter() - began
        print(
            f"{plan.task}: {len(board)} entries in {seconds:.0f} s, reference"
            f" {reference.score.iloc[0]:.5f}, best {board.score.iloc[0]:.5f}, median"
            f" {board.score.median():.5f}, worst {board.score.iloc[-1]:.5f}",
            file=sys.stderr,
        )
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
