"""What an agent answers besides text: files and pictures, of which a recording keeps the name, type
and size.

A file is the event `{"attachment": {"name"?, "type"?, "bytes"?, "url"?}}`, a part of an A2A message
without text, or a picture that the Responses API made. Data that stands in a text as a `data:`
address is one, too. JSON that an agent answers instead of words is a part of an A2A message, too.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bioeval_tui.base.text import clean_line, compact_json, plural
from bioeval_tui.base.units import size

SHORTEST_DATA = 200
"""Characters. Shorter data in a text is left there."""
MOST_FILES = 20
"""Most files of one message that are named."""
KEPT_DATA = 200
"""Characters that a recording keeps of a picture's data."""
_DATA = re.compile(
    r"data:(?P<type>[\w.+-]{1,60}/[\w.+-]{1,80})?"
    r"(?:;[\w.+-]{1,60}=[\w.+-]{1,60}){0,5}(?P<base64>;base64)?,"
    rf"(?P<data>[^\s\"'<>()\[\]`]{{{SHORTEST_DATA},}})",
    re.IGNORECASE,
)
_KINDS = {"image": "picture", "audio": "sound", "video": "film"}


@dataclass(frozen=True, slots=True)
class Attachment:
    """A file: its name, its media type and its size in bytes; empty and None where the agent does
    not say.
    """

    name: str = ""
    type: str = ""
    bytes: int | None = None
    url: str = ""

    @property
    def words(self) -> str:
        """What it is, in brackets: `[picture: scan.png, image/png, 12 kB]`."""
        told = [self.name, self.type, "" if self.bytes is None else _size(self.bytes), self.url]
        kind = _KINDS.get(self.type.partition("/")[0].lower(), "file")
        return f"[{kind}: {', '.join(filter(None, told)) or 'nothing is known of it'}]"


def attachment_event(
    name: str = "", media_type: str = "", count: int | None = None, url: str = ""
) -> dict[str, Any]:
    """Return a file as the recording keeps it; `count` is its size in bytes."""
    told = {"name": clean_line(name, 200), "type": clean_line(media_type, 100), "bytes": count}
    return {"attachment": {**told, "url": clean_line(url, 300)}}


def attached_files(events: Sequence[Mapping[str, Any]]) -> list[Attachment]:
    """Return the files among an answer's events."""
    return [found for event in events if (found := attached_file(event)) is not None]


def file_words(events: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return words for each file among an answer's events, at most `MOST_FILES` of them."""
    if not events:  # as of each message of the user, in each prompt
        return []
    files = [attachment.words for attachment in attached_files(events)]
    more = len(files) - MOST_FILES
    if more <= 0:
        return files
    return [*files[:MOST_FILES], f"[and {plural(more, 'more file')}]"]


def attached_file(event: Mapping[str, Any]) -> Attachment | None:
    """Return an event's file; None if it is none."""
    match event:
        case {"attachment": Mapping() as told}:
            return _told(told, "name", "type", told.get("bytes"))
        case {"part": Mapping() as part} if "raw" in part or "url" in part:
            return _told(part, "filename", "mediaType", part.get("bytes"))
        case {"item": {"type": "image_generation_call"} as item}:
            made = item.get("result")
            kept = {"type": f"image/{item.get('output_format') or 'png'}"}
            count = item.get("bytes", bytes_of(made) if isinstance(made, str) else None)
            return _told(kept, "name", "type", count)
    return None


def shorten_picture(item: Mapping[str, Any]) -> dict[str, Any]:
    """Return an item of the Responses API with the beginning of the picture that it holds, if any,
    and its size.
    """
    made = item.get("result")
    if item.get("type") != "image_generation_call" or not isinstance(made, str):
        return dict(item)
    return {**item, "result": made[:KEPT_DATA], "bytes": bytes_of(made)}


def answered_json(events: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the JSON that an agent answers in parts of a message."""
    parts = (event.get("part") for event in events)
    return [
        compact_json(part["data"]) for part in parts if isinstance(part, Mapping) and "data" in part
    ]


def has_contents(events: Sequence[Mapping[str, Any]]) -> bool:
    """Return whether an answer without words still contains something: a file or JSON."""
    return bool(attached_files(events) or answered_json(events))


def _told(given: Mapping[str, Any], name: str, media_type: str, count: Any) -> Attachment:
    texts = [clean_line(str(given.get(key) or ""), 200) for key in (name, media_type, "url")]
    known = count if isinstance(count, int) and not isinstance(count, bool) and count >= 0 else None
    return Attachment(texts[0], texts[1], known, texts[2])


def bytes_of(base64: str) -> int:
    """Return how many bytes a text in base64 stands for."""
    return len(base64.rstrip("=")) * 3 // 4


def replace_data(text: str) -> str:
    """Return a text with words for each long `data:` address in it: what it is, and that its data
    is left out.
    """
    if "data:" not in text.casefold():
        return text
    return _DATA.sub(_words_of_data, text)


def _words_of_data(found: re.Match[str]) -> str:
    count = bytes_of(found["data"]) if found["base64"] else len(found["data"])
    words = Attachment(type=found["type"] or "text/plain", bytes=count).words
    return f"{words[:-1]}; its data is left out]"


def _size(count: int) -> str:
    if count < 1000:
        return plural(count, "byte")
    return size(count, "kB" if count < 1_000_000 else "MB")
