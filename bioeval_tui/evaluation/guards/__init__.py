"""Guards: checks of the simulated user's messages, and the ledger of facts that it disclosed."""

from bioeval_tui.evaluation.guards.checks import RULES, check
from bioeval_tui.evaluation.guards.content import brings_up_nothing
from bioeval_tui.evaluation.guards.ending import keeps_saying_goodbye
from bioeval_tui.evaluation.guards.ledger import asked, disclosed

__all__ = ["RULES", "asked", "brings_up_nothing", "check", "disclosed", "keeps_saying_goodbye"]
