"""A user and password that stand in an address."""

from __future__ import annotations

from base64 import b64encode
from urllib.parse import unquote, urlsplit


def without_user(url: str) -> tuple[str, dict[str, str]]:
    """Return a URL without user and password, and the header that says them, {} where there are none.

    aiohttp refuses a URL with a user beside a header of that kind. Raises `ValueError` when it is no URL.
    """
    parts = urlsplit(url)
    user, given, place = parts.netloc.rpartition("@")
    if not given:
        return url, {}
    name, _, password = user.partition(":")
    said = b64encode(f"{unquote(name)}:{unquote(password)}".encode()).decode("ascii")
    return parts._replace(netloc=place).geturl(), {"Authorization": f"Basic {said}"}
