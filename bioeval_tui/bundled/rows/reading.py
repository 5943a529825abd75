"""Messages, or questions and answers, one per row."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bioeval_tui.bundled.rows.columns import (
    ANSWER,
    CONTENT,
    CONVERSATION,
    EXPECTED,
    LISTS,
    MODEL,
    NAME,
    QUESTION,
    ROLE,
    ROWS,
    SPANS,
    TIME,
    column,
)
from bioeval_tui.formats import (
    FileLook,
    GivenScore,
    Header,
    ImportedConversation,
    ImportedPart,
    InputError,
    Message,
    as_chat,
    chat_pieces,
    entries,
    messages_in,
    messages_of,
    moment,
    note,
    object_at,
    scores_beside,
    speaker,
    text_of,
)

MOST_MESSAGES = 1_000_000
"""Maximum number of messages of a file whose rows name their conversation: these may be anywhere in
it.
"""


def fits_messages(look: FileLook) -> bool:
    """Return whether a file has a message, or a list of messages, in each row."""
    if look.listed:
        return as_chat(look.listed if _is_pair(look.listed) else look.listed[0]) is not None
    if _list_key(look.first) is not None:
        return True
    if look.shape in ("list", "lines") and as_chat(look.first) is not None:
        return True
    is_row = look.shape in ("table", "list", "lines")
    return is_row and all(column(look.first, usual) for usual in (ROLE, CONTENT))


def _list_key(row: Mapping[str, Any]) -> str | None:
    """Return the key under which an entry has a list of messages."""
    return next((key for key in LISTS if _is_list_of_messages(row.get(key))), None)


def _is_list_of_messages(value: Any) -> bool:
    if not isinstance(value, list) or not value:
        return False
    first = value[0]
    return as_chat(first) is not None or (
        isinstance(first, dict) and all(column(first, usual) for usual in (ROLE, CONTENT))
    )


def fits_questions(look: FileLook) -> bool:
    """Return whether a file has a question and its answer in each row."""
    row = _first_row(look)
    return bool(column(row, QUESTION) and column(row, ANSWER)) and not SPANS & row.keys()


def _first_row(look: FileLook) -> dict[str, Any]:
    lists = (look.first.get(key) for key in ROWS)
    listed: list[dict[str, Any]] | None = next(
        (rows for rows in lists if isinstance(rows, list) and rows and isinstance(rows[0], dict)),
        None,
    )
    if look.shape == "object" and listed is not None:
        return listed[0]
    return look.first


def read_messages(file: Path) -> Iterator[Header | ImportedConversation]:
    """Yield the conversations of a file: each list of messages, the messages of each conversation
    named, or all messages.

    Raises:
        InputError: a row is no message, or its role is unknown; the text has the place.
    """
    look = FileLook.at(file)
    key = _list_key(look.first)
    if key is not None or (look.listed and not (look.shape == "list" and _is_pair(look.listed))):
        yield from _lists(file, key)
    else:
        yield from _messages(file, look)


def _is_pair(listed: list[Any]) -> bool:
    """Return whether a list is a message, `["human", "…"]`, and no list of messages."""
    return all(isinstance(each, str) for each in listed)


def _lists(file: Path, key: str | None) -> Iterator[Header | ImportedConversation]:
    """Yield a conversation for each list of messages, which an entry may have under a key."""
    under = ""
    if key:
        under = f" under `{key}`"
    note(
        f"so it was read: each list of messages{under} is a conversation, by who speaks and what is"
        " said"
    )
    for place, entry in entries(file, what="conversation"):
        listed, about = entry, object_at(entry)
        if key and isinstance(entry, dict):
            listed = entry.get(key)
        if not isinstance(listed, list):
            raise InputError(f"{place}: must have a list of messages{under}, as the ones before")
        named = column(about, NAME)
        messages: list[Message] = []
        for number, each in enumerate(listed, start=1):
            messages += _message(each, f"{place}, message {number}")
        scores, author = scores_beside(about)
        yield ImportedConversation(
            name=str(about[named] or "") if named else "",
            messages=messages_of(chat_pieces(messages)),
            scores=scores,
            scored_by=author,
            record={"raw": entry},
        )
    yield Header()


def _message(value: Any, place: str) -> list[Message]:
    found = as_chat(value)
    if found is not None:
        return found
    if isinstance(value, dict):
        by, says = column(value, ROLE), column(value, CONTENT)
        if by and says:
            role = speaker(value[by])
            if role is None:
                raise InputError(
                    f"{place}: `{by}` is {str(value[by])[:40]!r}; it must be user, assistant,"
                    " system or tool, or another usual name of these, such as human or bot"
                )
            return [{**value, "role": role, "content": value[says]}]
    raise InputError(f"{place}: must have a role and a content, as the messages before")


def _messages(file: Path, look: FileLook) -> Iterator[Header | ImportedConversation]:
    names = list(look.first)
    talk_key, at_key, model_key = (column(names, usual) for usual in (CONVERSATION, TIME, MODEL))
    by, says = column(names, ROLE) or "role", column(names, CONTENT) or "content"
    talks: dict[str, list[tuple[Any, ImportedPart]]] = {}
    models: dict[str, None] = {}
    count = 0
    for place, row in entries(file, what="message"):
        count += 1
        if count > MOST_MESSAGES:
            raise InputError(
                f"{place}: more than {MOST_MESSAGES:,} messages; split the file by conversation"
            )
        talk = _named(row, talk_key, place)
        for piece in chat_pieces(_message(row, place)):
            piece.raw, piece.at = row, _time(row, at_key)
            talks.setdefault(talk, []).append((row, piece))
        if model_key and isinstance(row, dict) and row.get(model_key):
            models[str(row[model_key])] = None
    how = f"all {count:,} messages are one conversation: no key names it"
    if talk_key:
        how = f"conversations by `{talk_key}`"
    how += f"; who speaks from `{by}`, what is said from `{says}`"
    if at_key:
        how += f", times from `{at_key}`"
    note(f"so it was read: {how}")
    for name, said in talks.items():
        times = [piece.at for _, piece in said if piece.at is not None]
        scores, author = _shared_scores([row for row, _ in said])
        yield ImportedConversation(
            name="",
            messages=messages_of(piece for _, piece in said),
            session=name,
            scores=scores,
            scored_by=author,
            started_at=min(times, default=None),
            ended_at=max(times, default=None),
            record={"raw": [row for row, _ in said]},
        )
    yield Header(model=", ".join([*models][:3]))


def _shared_scores(rows: list[Any]) -> tuple[list[GivenScore], str]:
    """Return the scores of a conversation whose messages are rows: those that its rows have alike,
    or only one of them has.
    """
    found = [scores_beside(row) for row in rows if isinstance(row, dict)]
    scored = [each for each in found if each[0]]
    if any(each != scored[0] for each in scored):
        note("not read: scores that differ between the messages of a conversation")
        return [], ""
    if scored:
        return scored[0]
    return ([], "")


def _named(row: Any, key: str | None, place: str) -> str:
    if key is None:
        return ""
    value = object_at(row).get(key)
    if value in (None, ""):
        raise InputError(f"{place}: `{key}` must name the conversation, as in the rows before")
    return str(value)


def _time(row: Any, key: str | None) -> datetime | None:
    """Return a row's time: ISO 8601, or seconds or milliseconds since 1970."""
    if key is None:
        return None
    value: Any = object_at(row).get(key)
    try:
        number = float(value)
    except (TypeError, ValueError):
        return moment(value)
    if number > 1e11:
        number /= 1000
    try:
        return datetime.fromtimestamp(number, UTC)
    except (ValueError, OverflowError, OSError):
        return None


def read_questions(file: Path) -> Iterator[Header | ImportedConversation]:
    """Yield a conversation for each row, of a question and its answer.

    Raises:
        InputError: a row has no question or no answer; the text has the place.
    """
    names = list(_first_row(FileLook.at(file)))
    asks, answers = column(names, QUESTION) or "question", column(names, ANSWER) or "answer"
    expects, named, model = (column(names, usual) for usual in (EXPECTED, NAME, MODEL))
    context = "input" if asks == "instruction" and "input" in names else None  # as Alpaca has it
    how = f"each row is a conversation; the question from `{asks}`, the answer from `{answers}`"
    if expects:
        how += f", what is expected from `{expects}`"
    note(f"so it was read: {how}")
    models: dict[str, None] = {}
    unanswered = 0
    for place, row in entries(file, *ROWS, what="row"):
        if not isinstance(row, dict) or answers not in row:
            raise InputError(f"{place}: must have `{asks}` and `{answers}`")
        said = messages_in(row.get(asks), "user")
        if not said:
            raise InputError(f"{place}: `{asks}` must have what was asked")
        if context and str(row.get(context) or "").strip():
            said[-1] = {**said[-1], "content": f"{text_of(said[-1]['content'])}\n{row[context]}"}
        answered = messages_in(row.get(answers), "assistant")
        unanswered += not answered
        said += answered
        if model and row.get(model):
            models[str(row[model])] = None
        question = ""
        if len(said) == 2:
            question = text_of(said[0].get("content"))
        tasks = _tasks(question, row, expected_column=expects)
        scores, author = scores_beside(row)
        yield ImportedConversation(
            name=str(row.get(named) or "") if named else "",
            messages=messages_of(chat_pieces(said)),
            tasks=tasks,
            request=tasks[0] if scores and tasks else None,
            scores=scores,
            scored_by=author,
            record={"raw": row},
        )
    if unanswered:
        note(f"questions without an answer: {unanswered:,}; the agent said nothing there")
    yield Header(model=", ".join([*models][:3]))


def _tasks(
    question: str, row: Mapping[str, Any], *, expected_column: str | None
) -> tuple[tuple[str, str], ...]:
    """Return what is expected as one task, (title, criteria), so that a judge can be asked; none if
    the file has no such column, or the row nothing in it.

    The question is the title. It is empty for a row with several messages, whose task is called
    "question".
    """
    if not expected_column:
        return ()
    wanted = text_of(row.get(expected_column)).strip()
    if wanted:
        return ((question or "question", wanted),)
    return ()
