"""`python -m bioeval_tui` and the `bioeval-tui` command."""

import gc

# What is imported lives to the end. Looking through it for garbage again and again would be a tenth of the start.
gc.set_threshold(10_000, 20, 20)

from bioeval_tui.cli import main  # noqa: E402 - imported after that, which is the point

if __name__ == "__main__":
    main()
