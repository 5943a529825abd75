"""Hosts that receive transcripts: their names for users, and whether one is this machine."""

from __future__ import annotations

import ipaddress
from urllib.parse import urlsplit

from bioeval_tui.errors import UsageError
from bioeval_tui.text import clean_line

OPENAI_URL = "https://api.openai.com/v1"


def host_of(url: str, *, any_scheme: bool = False) -> str:
    """Return `host` or `host:port` of a URL, without user or password.

    Raises:
        UsageError: it is not an http or https URL or, with `any_scheme`, not a URL with a host.
    """
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        parts, port = urlsplit(""), None
    if not parts.hostname or not (any_scheme or parts.scheme in ("http", "https")):
        kind = "a URL with a host" if any_scheme else "an http or https URL"
        raise UsageError(f"not {kind}: {clean_line(url.rpartition('@')[2], 200)}")
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    return clean_line(f"{host}:{port}" if port else host)


def is_loopback(host: str) -> bool:
    """Return whether `host` or `host:port` is this machine."""
    name = urlsplit(f"//{host}").hostname or ""
    if name == "localhost":
        return True
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False


def chat_url(url: str) -> str:
    """Return the base address of a chat endpoint: `/v1` is added to a URL without a path."""
    return url.rstrip("/") + ("" if urlsplit(url).path.strip("/") else "/v1")


def without_credentials(url: str) -> str:
    """Return a URL without user, password, query and fragment; of an invalid URL, only what follows the last `@`."""
    try:
        parts = urlsplit(url)
        return parts._replace(netloc=parts.netloc.rpartition("@")[2], query="", fragment="").geturl()
    except ValueError:
        return url.rpartition("@")[2]
