"""Codes of warnings that are looked for again in a recording, and what two of them say."""

from __future__ import annotations

FACTS_UNREAD = "facts_unread"
"""Code of the warning that the ledger cannot tell whether the user gave the facts that it does not
have.
"""
NOT_CLEAN = ("not_clean", "clean_unknown")
"""Codes of the warnings after which a run shows no uplift."""
STARTS_DIFFER = "the conditions did not start from the same state"
"""How the warning `not_clean` begins if it lists what differs."""
NOTHING_OBSERVED = (
    "the agent had no object context before its first answer, and no knowledge graph can be read,"
    " so it is unknown whether both conditions started from the same state"
)
"""What the warning `clean_unknown` says if there was no state to compare."""
