"""Recognises files of OpenTelemetry traces by their beginning."""

from bioeval_tui.formats import FileLook

RESOURCES = ("resourceSpans", "resource_spans")


def fits(look: FileLook) -> bool:
    """Return whether a file contains traces in OTLP."""
    if look.shape == "other":
        return is_protobuf(look.head)
    return any(isinstance(look.first.get(key), list) for key in RESOURCES)


def is_protobuf(head: bytes) -> bool:
    """Return whether bytes begin a `TracesData`, alone or after its length in four bytes."""
    return _begins_message(head) or (head[:1] == b"\x00" and _begins_message(head[4:]))


def _begins_message(head: bytes) -> bool:
    """Return whether bytes begin with field 1, whose message begins with its own resource or
    scopes.
    """
    if head[:1] != b"\x0a" or not any(byte < 9 for byte in head):  # text has no such bytes
        return False
    size = next((at for at in range(1, 6) if at < len(head) and head[at] < 0x80), 0)
    return bool(size) and head[size + 1 : size + 2] in (b"\x0a", b"\x12", b"\x1a")
