"""The rule for URLs: what two programs could read differently is refused, so that all that read one
mean the same host.

A host is a name, an IPv4 address of four numbers, or an IPv6 address in brackets. Resolvers also
take `127.1`, `0x7f.1` and `2130706433` for this machine, and libraries disagree about each: it
could be called through a proxy, or not at all.
"""

from __future__ import annotations

import ipaddress
import re
import socket
from urllib.parse import urlsplit

import idna

from bioeval_tui.base.text import clean_line, join_names

HTTP = ("http", "https")
NEO4J = ("bolt", "neo4j", "bolt+s", "neo4j+s", "bolt+ssc", "neo4j+ssc")
EXAMPLE = "http://127.0.0.1:8081"
MAX_URL = 8_000
"""Maximum number of characters; HTTP clients and servers have limits of their own."""
_PLACE = re.compile(r"(\[[^\[\]]*\]|[^:\[\]]*)(?::([0-9]*))?")
_LABEL = re.compile(r"[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?")
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")


def url_problem(url: str, schemes: tuple[str, ...] = HTTP) -> str:
    """Return what is wrong with a URL and what would be right, without its user and password; empty
    if it can be called.

    Without `schemes`, it may have any.
    """
    hint = url_hint(url, schemes)
    if not hint:
        return ""
    kind = {HTTP: "an http or https URL", NEO4J: "a Neo4j URI"}.get(schemes, "a URL with a host")
    return f"not {kind}: {clean_line(url.rpartition('@')[2], 200)}; {hint}"


def url_hint(url: str, schemes: tuple[str, ...] = HTTP) -> str:
    """Return what would be right instead of a URL, for where it is seen; empty if it can be
    called.
    """
    if len(url) > MAX_URL:
        return f"it has more than {MAX_URL:,} characters"
    # Parsers skip or encode these, or take a backslash for a slash, each in its own way.
    if not url.isprintable() or " " in url or "\\" in url:
        return "it has a space, a backslash or an invisible character; write a space as %20"
    scheme, mark, rest = url.partition("://")
    if not mark or not scheme or (schemes and scheme.lower() not in schemes):
        begins = join_names([f"{one}://" for one in schemes], " or ") or "a scheme, as in http://"
        if schemes == HTTP:
            begins += f", such as {EXAMPLE}"
        return f"it must begin with {begins}"
    return _place_problem(re.split(r"[/?#]", rest, maxsplit=1)[0]) or _syntax_problem(url)


def _syntax_problem(url: str) -> str:
    try:
        urlsplit(url)
    except ValueError as error:
        return clean_line(str(error), 100)
    return ""


def _place_problem(place: str) -> str:
    user, _, place = place.rpartition("@")
    if "@" in user:
        return "write an @ in a user name or password as %40"
    parts = _PLACE.fullmatch(place)
    if parts is None:
        return (
            "only a port may follow the host, and an IPv6 address stands in brackets, such as"
            " http://[::1]:8081"
        )
    host, port = parts[1], parts[2]
    if not host:
        return f"it has no host; give one such as {EXAMPLE}"
    if port and (len(port) > 5 or not 1 <= int(port) <= 65_535):
        return "a port is a number from 1 to 65535"
    if host.startswith("["):
        return _ipv6_problem(host[1:-1])
    return _name_problem(host.lower())


def _ipv6_problem(host: str) -> str:
    if "%" in host:
        return (
            "an address with a zone (%) cannot be called; use a name or another address of that"
            " machine"
        )
    try:
        ipaddress.IPv6Address(host)
    except ValueError:
        return f"{clean_line(host, 100)} is no IPv6 address"
    return ""


def _name_problem(host: str) -> str:
    shown = clean_line(host, 100)
    try:
        labels = idna.encode(host).decode() if not host.isascii() else host
    except (idna.IDNAError, UnicodeError):
        return f"{shown} is no host's name"
    # which separate labels, too, and make `localhost。` of localhost
    if any(mark in host for mark in "。．｡"):
        return f"write the dots of {shown} as `.`"
    name = labels.removesuffix(".")
    parts = name.split(".")
    if _NUMBER.fullmatch(parts[-1]):
        return _ipv4_problem(labels, name)
    if len(name) > 253 or not all(map(_LABEL.fullmatch, parts)):
        return f"{shown} is no host's name, which has letters, digits and hyphens between dots"
    return ""


def _ipv4_problem(host: str, name: str) -> str:
    try:
        ipaddress.IPv4Address(host)
    except ValueError:
        pass
    else:
        return ""
    try:
        usual = ipaddress.IPv4Address(socket.inet_aton(name))
    except (OSError, ValueError):
        return f"{clean_line(host, 100)} is no IPv4 address"
    return f"write {usual} instead of {clean_line(host, 100)}"
