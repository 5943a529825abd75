"""Run by an interpreter that has polaris-lib: `python polaris_download.py OWNER/NAME FOLDER`.

Imports nothing of ours.
"""

import json
import sys
from pathlib import Path


def main() -> None:
    """Write the benchmark's training and test data, targets included, and the names of the targets
    into the folder.
    """
    import polaris  # type: ignore[import-not-found]  # in its own environment

    benchmark = polaris.load_benchmark(sys.argv[1])
    train, _ = benchmark.get_train_test_split()
    # The public interface hides the targets of the test set, which become the answers.
    test = benchmark._get_test_sets(hide_targets=False)
    part = next(iter(test.values())) if isinstance(test, dict) else test
    folder = Path(sys.argv[2])
    train.as_dataframe().to_csv(folder / "polaris_train_data.csv", index=False)
    part.as_dataframe().to_csv(folder / "polaris_test_data.csv", index=False)
    # Preparers ask for this later, in an environment without polaris.
    (folder / "polaris_benchmark.json").write_text(
        json.dumps({"target_cols": list(benchmark.target_cols)})
    )


if __name__ == "__main__":
    main()
