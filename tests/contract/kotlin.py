"""Expressions that authors of jobs write, with the results of Kotlin 1.9.25 and of this program.

The verdicts of both golden files were printed by Kotlin's own script engine
(kotlin-scripting-jsr223 1.9.25), with the published classes and the state of kotlin_state.json.
"error" is what does not compile, or throws.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from bioeval_tui.base.errors import ExpressionError
from bioeval_tui.expressions import evaluate, parse, scope

GOLDEN = Path(__file__).parents[1] / "golden"
STATE = json.loads((GOLDEN / "kotlin_state.json").read_text("utf-8"))
NAMES = scope(STATE["objectContext"], STATE["evaluation"])


@dataclass(frozen=True, slots=True)
class Verdict:
    """One expression: Kotlin's verdict (true, false or "error") and ours, with the reason of an
    error.
    """

    expression: str
    kotlin: bool | str
    ours: Any
    reason: str = ""

    @property
    def agrees(self) -> bool:
        """Whether both say the same."""
        return self.kotlin is self.ours or (self.kotlin == "error" and self.ours == "error")


@cache
def verdicts(name: str) -> list[Verdict]:
    """Return the verdicts of one of the golden files."""
    rows = json.loads((GOLDEN / name).read_text("utf-8"))
    return [_verdict(text, kotlin) for text, kotlin in rows]


def _verdict(text: str, kotlin: bool | str) -> Verdict:
    try:
        return Verdict(text, kotlin, evaluate(parse(text), NAMES))
    except ExpressionError as error:
        return Verdict(text, kotlin, "error", f"{error.column}: {error.message}")
