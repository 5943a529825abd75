"""What an agent that speaks over HTTP imports besides `protocols`; the bundled A2A and AG-UI need
nothing else.

`Connection` makes requests with the agent's terms, times them and turns each failure into a
`PeerError` without keys. `StateUrl` reads `target.objectContextUrl`, and `DeclaredTools` answers
`target.tools`. The functions for tool calls write events that assertions, judges and reports
understand, and the others clean what was received.
"""

from bioeval_tui.base.hosts import may_be_set as may_be_set
from bioeval_tui.base.peer_limits import (
    MAX_DEPTH as MAX_DEPTH,
    MAX_ROUNDS as MAX_ROUNDS,
    MAX_VALUES as MAX_VALUES,
)
from bioeval_tui.base.text import (
    clean as clean,
    clean_line as clean_line,
    clean_value as clean_value,
    count_of as count_of,
    excess_of as excess_of,
    objects as objects,
    shorten as shorten,
    size_of as size_of,
)
from bioeval_tui.peers.agents.connection import (
    EVENT_STREAM as EVENT_STREAM,
    Connection as Connection,
    StateUrl as StateUrl,
    host_of_url as host_of_url,
    is_stream as is_stream,
    parse_object as parse_object,
    stream_of as stream_of,
    told_history as told_history,
    words_of_error as words_of_error,
)
from bioeval_tui.peers.agents.tools import NO_RESULT as NO_RESULT, DeclaredTools as DeclaredTools
from bioeval_tui.peers.failures import received_text as received_text
from bioeval_tui.peers.sse import TAIL_S as TAIL_S, drain as drain
from bioeval_tui.peers.timeouts import Timeouts as Timeouts, timeouts_of as timeouts_of
from bioeval_tui.record.attachments import (
    attachment_event as attachment_event,
    bytes_of as bytes_of,
)
from bioeval_tui.record.spans import LENGTH_LIMIT as LENGTH_LIMIT
from bioeval_tui.record.tool_calls import (
    INJECTED as INJECTED,
    call_event as call_event,
    parse_arguments as parse_arguments,
    request_of as request_of,
    result_event as result_event,
    result_of as result_of,
)
