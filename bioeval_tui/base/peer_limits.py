"""How much is taken in of what others send: the only place that says so.

What is larger is refused, or cut where a part of it is still of use. CPU time follows from these
sizes, because everything that reads a peer's text takes linear time
(`tests/unit/test_peer_texts.py`); the patterns of a job have a deadline of their own (`patterns`).
AG-UI's plug-in adds two limits for its patches. `tests/hostile/test_floods.py` floods every door.
"""

from __future__ import annotations

import sys

# Any text and JSON of a peer
MAX_TEXT = 1_000_000
"""Maximum length of a text from a peer, in characters."""
MAX_DEPTH, MAX_VALUES = 64, 500_000
"""Maximum depth and number of values of a peer's JSON; an honest 5 MB has fewer values, and code
that walks them is recursive.
"""
MAX_NUMBER = sys.float_info.max
"""The largest number: what no double holds cannot be compared, added up or written for other
programs.
"""
MAX_COMBINING = 8
"""Maximum number of combining characters in a row."""
MAX_LETTER = 12
"""Maximum number of characters that are drawn as one letter or emoji; the longest emoji, a couple
with skin tones, has 10.
"""

# Answers of agents and models, agent cards and states
MAX_ANSWER_BYTES = 5_000_000
"""Default maximum size of an answer, in bytes; a longer one, or one without an end, is an error."""
MAX_HEADER_BYTES, MAX_HEADERS = 1 << 16, 250
"""Maximum number of bytes of a header, and of headers of an answer: long policies and many cookies
are usual, also of proxies. Together they are no larger than a model's answer.
"""
MAX_REFUSAL_BYTES = 100_000
"""Maximum number of bytes read of an error response."""
MAX_MODEL_BYTES = 16_000_000
"""Maximum number of bytes of one answer of a model; a streamed one has about 200 bytes per token.
"""
MAX_MODEL_LIST = 2_000_000
"""Maximum number of bytes of a list of models; OpenRouter's has 700,000."""
MAX_STATE = 1_000_000
"""Maximum number of characters of an agent's state that is recorded after a turn."""
MAX_EVENT_TEXT = 100_000
"""Maximum number of recorded characters of a text in an agent's events, tool calls and state."""
MAX_SESSION = 1000
"""The most characters of the id that an agent gives a session."""
MAX_ROUNDS = 20
"""Maximum number of rounds of tool calls before the agent must answer a message."""
MAX_HIDDEN = 100_000
"""Maximum number of characters of reasoning and other text before a message of the evaluator's
model.
"""

# Spans, by OTLP
MAX_OTLP_BODY = 4 << 20
"""Maximum number of bytes of an uncompressed request, as in OTLP over gRPC: an SDK sends 512 spans
at a time.
"""
MAX_OTLP_STRANGERS = 4 * MAX_OTLP_BODY
"""Maximum number of bytes of all requests without a known trace id so far; the connection of the
oldest is closed.
"""
MAX_OTLP_WAITING = 16 * MAX_OTLP_BODY
"""Maximum number of bytes that wait to be decoded; senders beyond that are asked to try again."""
MOST_OTLP_CONNECTIONS = 64
"""Connections that have not sent a span of our traces yet."""
MOST_OTLP_IDS = 20_000
"""Maximum number of possible trace ids that are looked up for one request."""
MOST_OTLP_CONTAINERS = 200_000
"""Maximum number of brackets and braces of a request in JSON, counted before it is parsed without a
pause.
"""
MOST_OTLP_PARTS = 100_000
"""Maximum number of spans, events and links of a request: an empty one has 2 bytes in protobuf, and
50 in a recording.
"""
MAX_SPAN_DEPTH = 20
"""Maximum depth of a span's attribute."""
MAX_SPAN_VALUE = 100_000
"""Maximum number of recorded characters of an attribute."""
MOST_SPAN_ATTRIBUTES = 256
"""Maximum number of attributes, events and links kept of a span; the SDKs' own limit is 128."""
MOST_SPANS = 10_000
"""Maximum number of spans kept of one attempt to answer."""
MAX_TRACE = 32 << 20
"""Maximum number of bytes of the requests with spans of one attempt to answer; what comes after
them is left out.
"""

# Recordings and other files that are imported
MAX_LINE = 16 << 20
"""Maximum number of bytes of a line; a document with a longer first line is read in pieces."""
MAX_BLANK_LINES = 1_000_000
"""Maximum number of blank lines in a file of lines."""
MAX_DAMAGED = 10_000
"""Maximum number of damaged lines; the rest of the file is left out, because describing each takes
time.
"""
MAX_OVERLAY = 64_000_000
"""Maximum number of bytes of the later scores and reviews beside a recording."""

# Commands to a run in progress
MAX_HELLO = 4096
"""Maximum number of bytes before the token has been checked."""
MAX_INTENT = 100_000
"""Maximum number of bytes of a command."""

# The web view
MAX_WEB_BODY = 1024
"""Maximum number of bytes of a request."""
MAX_TAB_MESSAGE = 1 << 16
"""Maximum number of bytes of what a tab sends at once."""
