"""Guards: checks of the simulated user's messages, and the ledger of facts that it disclosed."""
