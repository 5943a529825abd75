"""`python -m bioeval_tui` and the `bioeval-tui` command."""

import gc

from bioeval_tui.base import isolation

isolation.is_program = True
isolation.leave_out_working_folder(run_by_name=__name__ == "__main__")

# Starting creates about 90,000 objects that live to the end; collecting garbage among them would
# take a tenth of the time. The screen and the engine set their own thresholds once they have
# started.
gc.set_threshold(200_000, 20, 20)

from bioeval_tui.cli.main import main  # noqa: E402 - imported after both, which is the point

if __name__ == "__main__":
    main()
