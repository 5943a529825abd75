"""The two conditions of a run: facts withheld and facts supplied. Imports nothing heavy."""

from typing import Literal

ConditionName = Literal["withheld", "supplied"]
CONDITIONS: tuple[ConditionName, ...] = ("withheld", "supplied")
"""Both, in the order in which they run and are shown."""
