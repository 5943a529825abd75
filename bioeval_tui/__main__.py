"""`python -m bioeval_tui` and the `bioeval-tui` command."""

from bioeval_tui.cli import main

if __name__ == "__main__":
    main()
