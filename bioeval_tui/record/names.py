"""The names that events, seams and screens share: conditions, peers and roles. Imports nothing heavy."""

from typing import Literal

Condition = Literal["withheld", "supplied"]
CONDITIONS: tuple[Condition, ...] = ("withheld", "supplied")
"""Both, in the order in which they run and are shown."""
Peer = Literal["agent", "evaluator", "judge", "graph", "knowledge"]
Role = Literal["user", "assistant"]
SPEAKERS: dict[Role, str] = {"user": "user", "assistant": "agent"}
"""What readers call the two speakers, whatever a job calls its user."""
