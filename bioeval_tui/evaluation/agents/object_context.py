"""The object context of agents whose protocol has none, read from `target.objectContextUrl`."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from bioeval_tui.evaluation.agents.connection import Connection
from bioeval_tui.evaluation.agents.rest import read_state
from bioeval_tui.evaluation.http.client import Timeouts

SESSION = "{sessionId}"
"""The placeholder for the id of the session."""


class StateUrl:
    """Reads the object context of one conversation, without sending keys or the job's headers."""

    def __init__(self, url: str | None, timeouts: Timeouts) -> None:
        self._url = url
        self._timeouts = timeouts

    @property
    def names_session(self) -> bool:
        """Whether the URL contains the session's id, which the agent must then know."""
        return self._url is not None and SESSION in self._url

    async def read(self, session: str) -> dict[str, Any] | None:
        """Return the object context; None without one. Raises `PeerError`."""
        if self._url is None:
            return None
        url = filled_in(self._url, quote(session, safe=""))
        connection = Connection((url,), self._timeouts, headers={})
        try:
            return await read_state(connection, url)
        finally:
            await connection.aclose()


def filled_in(value: Any, session: str) -> Any:
    """Return a JSON-like value with `{sessionId}` replaced by the session's id in every text."""
    match value:
        case str():
            return value.replace(SESSION, session)
        case dict():
            return {key: filled_in(item, session) for key, item in value.items()}
        case list() | tuple():
            return [filled_in(item, session) for item in value]
        case _:
            return value
