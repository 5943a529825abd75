# What type checkers see of the names that `__getattr__` brings.
from bioeval_tui.library import (
    Results as Results,
    evaluate as evaluate,
    evaluate_async as evaluate_async,
    load_run as load_run,
)

__version__: str
