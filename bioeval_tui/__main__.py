"""`python -m bioeval_tui` and the `bioeval-tui` command."""

import gc

# Modules, events and answers hold few cycles. Looking for garbage at the usual pace would be a tenth of the start.
gc.set_threshold(10_000, 20, 20)

from bioeval_tui.cli import main  # noqa: E402 - imported after that, which is the point

if __name__ == "__main__":
    main()
