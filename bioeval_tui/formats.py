"""What a file format of another program imports besides `protocols`; the bundled ones need nothing else.

A writer is given `LoadedRun`s, whose conversations `talks` yields, and `Asked`. `calls_of`, `chat_messages` and `paired`
give the tool calls among a message's generation events, and `to_arrow` a table of runs.
"""

from bioeval_tui.record.events import Case
from bioeval_tui.record.importing.chat import calls_of, chat_messages
from bioeval_tui.record.importing.conversations import ToldMessage
from bioeval_tui.record.names import SPEAKERS
from bioeval_tui.record.spans import AgentSpan
from bioeval_tui.record.state import ConversationKey, ConversationState, MessageState
from bioeval_tui.record.tool_calls import paired
from bioeval_tui.report.formats.registry import Asked
from bioeval_tui.report.frames import to_arrow
from bioeval_tui.report.loading import LoadedRun
from bioeval_tui.report.rows import talks
from bioeval_tui.report.statistics.estimates import grouped
from bioeval_tui.text import compact_json

__all__ = [
    "SPEAKERS", "AgentSpan", "Asked", "Case", "ConversationKey", "ConversationState", "LoadedRun", "MessageState",
    "ToldMessage", "calls_of", "chat_messages", "compact_json", "grouped", "paired", "talks", "to_arrow",
]  # fmt: skip
