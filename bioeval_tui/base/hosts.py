"""Hosts that are called: what users call them, and which headers they may be sent."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

from bioeval_tui.base.addresses import HTTP, url_problem
from bioeval_tui.base.errors import UsageError
from bioeval_tui.base.text import clean_line

OPENAI_URL = "https://api.openai.com/v1"


HEADER_NAME = r"^[A-Za-z0-9!#$%&'*+.^_`|~-]+$"


"""A header's name (RFC 9110)."""


OUR_HEADERS = frozenset(
    {"host", "content-length", "content-type", "transfer-encoding", "connection", "upgrade", "te",
        "trailer",
     "expect", "accept", "accept-encoding"}
)  # fmt: skip


"""The headers that say how a request is sent: neither a job nor a peer sets them."""


def may_be_set(header: str) -> bool:
    """Return whether a job, or what an agent says of itself, may set a header of this name."""
    return re.fullmatch(HEADER_NAME, header) is not None and header.lower() not in OUR_HEADERS


def host_of(url: str, *, any_scheme: bool = False, name: str = "") -> str:
    """Return `host` or `host:port` of a URL, without user or password; `name` is what a user calls
    the URL's setting.

    Raises:
        UsageError: it is not an http or https URL or, with `any_scheme`, not a URL with a host.
    """
    if problem := url_problem(url, () if any_scheme else HTTP):
        raise UsageError(": ".join(filter(None, (name, problem))))
    parts = urlsplit(url)
    host = str(parts.hostname)
    if ":" in host:
        host = f"[{host}]"
    if parts.port:
        host += f":{parts.port}"
    return clean_line(host)


def chat_url(url: str) -> str:
    """Return the base address of a chat endpoint: `/v1` is added to a URL without a path."""
    base = url.rstrip("/")
    if urlsplit(url).path.strip("/"):
        return base
    return f"{base}/v1"
