"""What a file format of another program imports besides `protocols`; the bundled ones need nothing else.

A writer is given `RunResult`s, with their `conversations` (`ConversationResult`), and `Asked`. `calls_of`, `chat_messages` and `paired`
give the tool calls among a message's generation events, and `to_arrow` a table of runs.

A reader recognises a file by its `FileLook`, reads it in pieces with `members` and `lines`, and yields a `Header` and
`ToldConversation`s, whose messages `messages_of` and `chat` make; it raises `InputError` for what it cannot read.
"""

from bioeval_tui.errors import InputError
from bioeval_tui.record.events import Case, EndReason, Fault
from bioeval_tui.record.importing.chat import ROLES, calls_of, chat, chat_messages, chat_pieces
from bioeval_tui.record.importing.conversations import (
    ChatRole,
    GivenScore,
    Header,
    Output,
    ToldCall,
    ToldConversation,
    ToldMessage,
    ToldPiece,
    in_unit,
    messages_of,
    milliseconds,
    moment,
    object_at,
    objects,
    text_of,
    whole_number,
)
from bioeval_tui.record.importing.json_reading import LARGEST, lines, members
from bioeval_tui.record.importing.looking import BadZipFile, FileLook, ZipFile, is_zipfile
from bioeval_tui.record.names import CONDITIONS, SPEAKERS
from bioeval_tui.record.spans import AgentSpan
from bioeval_tui.record.state import ConversationKey, ConversationState, MessageState
from bioeval_tui.record.tool_calls import paired
from bioeval_tui.report.formats.registry import Asked
from bioeval_tui.report.frames import to_arrow
from bioeval_tui.report.loading import LoadedRun
from bioeval_tui.report.result import ConversationResult, RunResult
from bioeval_tui.report.rows import talks
from bioeval_tui.report.statistics.estimates import grouped
from bioeval_tui.report.words import reason_of
from bioeval_tui.text import compact_json

__all__ = [
    "CONDITIONS",
    "LARGEST",
    "ROLES",
    "SPEAKERS",
    "AgentSpan",
    "Asked",
    "BadZipFile",
    "Case",
    "ChatRole",
    "ConversationKey",
    "ConversationResult",
    "ConversationState",
    "EndReason",
    "Fault",
    "FileLook",
    "GivenScore",
    "Header",
    "InputError",
    "LoadedRun",
    "MessageState",
    "Output",
    "RunResult",
    "ToldCall",
    "ToldConversation",
    "ToldMessage",
    "ToldPiece",
    "ZipFile",
    "calls_of",
    "chat",
    "chat_messages",
    "chat_pieces",
    "compact_json",
    "grouped",
    "in_unit",
    "is_zipfile",
    "lines",
    "members",
    "messages_of",
    "milliseconds",
    "moment",
    "object_at",
    "objects",
    "paired",
    "reason_of",
    "talks",
    "text_of",
    "to_arrow",
    "whole_number",
]  # fmt: skip
