"""What an agent that speaks over HTTP imports besides `protocols`; the bundled A2A and AG-UI need nothing else.

`Connection` makes requests with the agent's terms, times them and turns each failure into a `PeerError` without keys.
`StateUrl` reads `target.objectContextUrl`, and `DeclaredTools` answers `target.tools`. The functions for tool calls
write events that assertions, judges and reports understand, and the others clean what was received.
"""

from bioeval_tui.evaluation.agents.connection import (
    EVENT_STREAM,
    TAIL_S,
    Connection,
    StateUrl,
    drain,
    host_of_url,
    is_stream,
    objects,
    parse_object,
    stream_of,
)
from bioeval_tui.evaluation.agents.tools import NO_RESULT, DeclaredTools
from bioeval_tui.evaluation.http.client import Timeouts, timeouts_of
from bioeval_tui.evaluation.http.failures import received_text
from bioeval_tui.peer_limits import MAX_DEPTH, MAX_ROUNDS, MAX_VALUES
from bioeval_tui.record.spans import LENGTH_LIMIT
from bioeval_tui.record.tool_calls import call_event, parse_arguments, request_of, result_event, result_of
from bioeval_tui.text import (
    clean,
    clean_line,
    clean_value,
    count_of,
    excess_of,
    shorten,
    size_of,
)

__all__ = [
    "EVENT_STREAM", "LENGTH_LIMIT", "MAX_DEPTH", "MAX_ROUNDS", "MAX_VALUES", "NO_RESULT", "TAIL_S", "Connection",
    "DeclaredTools", "StateUrl", "Timeouts", "call_event", "clean", "clean_line", "clean_value", "count_of", "drain",
    "excess_of", "host_of_url", "is_stream", "objects", "parse_arguments", "parse_object", "received_text", "request_of",
    "result_event", "result_of", "shorten", "size_of", "stream_of", "timeouts_of",
]  # fmt: skip
