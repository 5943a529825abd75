"""What a file format of another program imports besides `protocols`; the bundled ones need nothing
else.

A writer is given `RunResult`s, with their `conversations` (`ConversationResult`), and `Asked`.
`calls_of`, `chat_messages` and `paired` give the tool calls among a message's generation events,
and `to_arrow` a table of runs.

A reader recognises a file by its `FileLook`, reads it in pieces with `members` and `lines`, a zip
with `open_archive`, and yields a `Header` and `ImportedConversation`s, whose messages `messages_of`
and `chat` make; it raises `InputError` for what it cannot read, and calls `note` with what it takes
over without understanding it, as `text_of` does. `entries` lists what JSON Lines, a list or a
document has. `messages_in` finds what was said in whatever a framework passes on, and
`conversations_of` makes conversations of traces, whose spans a reader gives as `Step`s.
`scores_beside` gives the scores beside a conversation, and who gave them.
"""

from bioeval_tui.base.archives import (
    Archive as Archive,
    ArchiveError as ArchiveError,
    is_archive as is_archive,
    open_archive as open_archive,
)
from bioeval_tui.base.errors import InputError as InputError
from bioeval_tui.base.text import (
    compact_json as compact_json,
    json_or_text as json_or_text,
    objects as objects,
)
from bioeval_tui.record.agent_span import AgentSpan as AgentSpan
from bioeval_tui.record.cases import Case as Case
from bioeval_tui.record.condition_names import is_name as is_name
from bioeval_tui.record.conditions import ConditionConfig as ConditionConfig
from bioeval_tui.record.events import EndReason as EndReason, Fault as Fault
from bioeval_tui.record.importing.chat import (
    ROLES as ROLES,
    calls_of as calls_of,
    chat as chat,
    chat_messages as chat_messages,
    chat_pieces as chat_pieces,
)
from bioeval_tui.record.importing.conversations import (
    ChatRole as ChatRole,
    GivenScore as GivenScore,
    Header as Header,
    ImportedCall as ImportedCall,
    ImportedConversation as ImportedConversation,
    ImportedMessage as ImportedMessage,
    ImportedPart as ImportedPart,
    Output as Output,
    in_unit as in_unit,
    messages_of as messages_of,
    milliseconds as milliseconds,
    moment as moment,
    note as note,
    object_at as object_at,
    text_of as text_of,
    unscored as unscored,
    whole_number as whole_number,
)
from bioeval_tui.record.importing.file_look import FileLook as FileLook, entries as entries
from bioeval_tui.record.importing.given import scores_beside as scores_beside
from bioeval_tui.record.importing.json_pieces import (
    LARGEST as LARGEST,
    json_value as json_value,
    lines as lines,
    members as members,
)
from bioeval_tui.record.importing.said import (
    Message as Message,
    as_chat as as_chat,
    messages_in as messages_in,
    speaker as speaker,
)
from bioeval_tui.record.importing.traces import Step as Step, conversations_of as conversations_of
from bioeval_tui.record.participants import SPEAKERS as SPEAKERS
from bioeval_tui.record.spans import (
    Meaning as Meaning,
    SpanKind as SpanKind,
    meaning_of as meaning_of,
)
from bioeval_tui.record.state import (
    ConversationKey as ConversationKey,
    ConversationState as ConversationState,
    MessageState as MessageState,
)
from bioeval_tui.record.tool_calls import paired as paired
from bioeval_tui.report.formats.registry import Asked as Asked
from bioeval_tui.report.frames import to_arrow as to_arrow
from bioeval_tui.report.result import RunResult as RunResult
from bioeval_tui.report.run import ConversationResult as ConversationResult, reason_of as reason_of
from bioeval_tui.statistics.estimates import grouped as grouped
from bioeval_tui.statistics.means import exact_mean as exact_mean
