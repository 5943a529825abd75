# What type checkers see of the names that `__getattr__` brings.
from bioeval_tui.library import Results as Results
from bioeval_tui.library import evaluate as evaluate
from bioeval_tui.library import evaluate_async as evaluate_async
from bioeval_tui.library import load_run as load_run

__version__: str
