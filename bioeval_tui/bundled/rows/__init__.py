"""Logs without a format of their own: a message, or a question and its answer, in each row of a
table, line or list.
"""

from bioeval_tui.protocols import ImportFormat

_READING = f"{__name__}.reading:"
messages_reader = ImportFormat(
    "messages",
    "messages one after another: a JSON list, a list or a message per line, or CSV with role and"
    " content",
    _READING + "fits_messages",
    _READING + "read_messages",
    place=20,
    shape=(
        '[{"role": "user", "content": "…"}, {"role": "assistant", "content": "…"}], or CSV with'
        ' "role", "content" and, for several conversations, "conversation_id"'
    ),
    is_general=True,
)
questions_reader = ImportFormat(
    "questions",
    "a question and its answer per row: CSV, JSON Lines or a JSON list",
    _READING + "fits_questions",
    _READING + "read_questions",
    place=21,
    shape='CSV or JSON with "question" and "answer" in each row',
    is_general=True,
)
