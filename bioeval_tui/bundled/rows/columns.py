"""What columns and keys are usually called."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

ROLE = ("role", "speaker", "from", "sender", "author", "author_role", "message_role")
CONTENT = ("content", "text", "message", "value", "utterance", "body", "message_text")
CONVERSATION = (
    "conversation_id", "conversation", "session_id", "session", "thread_id", "thread", "chat_id",
    "chat", "dialogue_id",
    "dialog_id", "transcript_id", "case_id", "case",
)  # fmt: skip
TIME = ("timestamp", "created_at", "time", "datetime", "sent_at", "date")
QUESTION = (
    "question", "query", "prompt", "instruction", "input", "inputs", "user_input", "user_message",
    "user", "request",
    "problem",
)  # fmt: skip
ANSWER = (
    "answer", "response", "output", "outputs", "actual_output", "completion", "reply", "assistant",
    "bot", "model_output", "model_answer",
    "model_response", "generated_answer", "prediction",
)  # fmt: skip
EXPECTED = (
    "expected", "expected_answer", "expected_output", "reference", "reference_answer",
    "reference_output", "ground_truth",
    "gold", "gold_answer", "target", "ideal", "correct_answer",
)  # fmt: skip
LISTS = (
    "conversation",
    "conversations",
    "dialogue",
    "dialog",
    "turns",
    "chat",
    "transcript",
    "chat_history",
    "history",
)
"""What a list of messages is called in an entry that has other keys besides."""
ROWS = ("test_cases", "data", "rows", "examples", "items", "records")
"""What the list of rows is called in a document that has other keys besides."""
SPANS = frozenset(
    {"span_id", "spanId", "root_span_id", "parent_id", "parent_run_id", "context.span_id"}
)
"""Keys of a step inside of a trace, which is no conversation."""
NAME = ("id", "name", "case", "case_id", "key", "question_id")
MODEL = ("model", "model_name", "model_id")


def column(names: Iterable[str], usual: Sequence[str]) -> str | None:
    """Return the name among these that is the first of the usual ones, however it is written; None
    without one.
    """
    written = {
        name.strip().lower().replace(" ", "_").replace("-", "_"): name
        for name in reversed([*names])
    }
    return next((written[each] for each in usual if each in written), None)
