"""The read-only application: recorded runs and the live screen.

Keys are only hidden here. The session's services refuse to run, change or write anything.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from textual.actions import ActionParseResult
from textual.dom import DOMNode

from bioeval_tui.tui.app import BioevalApp

PLACES = ("runs", "live")
CLOSED = frozenset(
    {
        "accept", "again", "cancel", "cancel_all", "delete", "edit", "export", "fault", "give_back", "grade", "medals",
        "note", "override", "pause", "picture", "prepare", "report", "resume", "run", "step", "take_over", "undo", "validate",
    }
)  # fmt: skip
"""Actions that are disabled in a read-only session."""


class ReadOnlyApp(BioevalApp):
    """Shows recordings."""

    TITLE: ClassVar[str] = "bioeval-tui · read-only"  # type: ignore[misc]
    READ_ONLY: ClassVar[bool] = True

    def _check_action_state(self, action: str, default_namespace: DOMNode) -> bool | None:
        if self._is_closed(action, default_namespace):
            return False
        return super()._check_action_state(action, default_namespace)

    async def run_action(
        self,
        action: str | ActionParseResult,
        default_namespace: DOMNode | None = None,
        namespaces: Mapping[str, DOMNode] | None = None,
    ) -> bool:
        """Disable actions that a read-only session does not have."""
        if self._is_closed(action, default_namespace or self):
            return False
        return await super().run_action(action, default_namespace, namespaces)

    def _is_closed(self, action: str | ActionParseResult, namespace: DOMNode) -> bool:
        _, name, parameters = self._parse_action(action, namespace)
        if name == "go" and parameters and isinstance(parameters[0], str):
            return parameters[0] not in PLACES
        return name in CLOSED

    async def action_go(self, mode: Any) -> None:
        """Go to the recorded runs or to the live screen."""
        if mode in PLACES:
            await super().action_go(mode)
