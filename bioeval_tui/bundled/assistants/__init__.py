"""The data that people may export from ChatGPT and Claude."""

from bioeval_tui.protocols import ImportFormat

_READING = f"{__name__}.reading:"
chatgpt_reader = ImportFormat(
    "chatgpt",
    "ChatGPT's exported conversations.json",
    _READING + "fits_chatgpt",
    _READING + "read_chatgpt",
    place=14,
    shape=(
        '[{"title", "mapping": {"ID": {"message": {"author", "content"}, "parent", "children"}},'
        ' "current_node"}]'
    ),
)
claude_reader = ImportFormat(
    "claude",
    "Claude's exported conversations.json",
    _READING + "fits_claude",
    _READING + "read_claude",
    place=15,
    shape='[{"uuid", "name", "chat_messages": [{"sender": "human", "text": "…", "created_at"}]}]',
)
