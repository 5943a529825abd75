"""The parts of an answer, in the order in which every view has them, and what each is called.

Imports nothing: the pytest plug-in shows them in projects that evaluate nothing.
"""

NEXT = "NEXT"
"""What a view calls the steps; on a screen they have keys, in a shell commands."""
LABELS = {
    "WHAT": "what",
    "SURE": "sure",
    "FACTS": "control",
    "USERS": "users",
    "TOOLS": "tools",
    "WHY": "why",
}
"""Each label, and the name of its part in `Answer` and in a result as JSON; a part can be empty."""
WIDTH = 1 + max(map(len, LABELS))
"""How many cells a label takes, with the space behind it."""
