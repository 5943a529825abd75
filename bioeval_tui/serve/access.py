"""Who may open a served application: hosts, origins, the token in the link, and tickets for
WebSockets.

The defences are independent of each other. `Host` is checked against what this server is called, so
that a foreign name that resolves to this address (DNS rebinding) is refused. `Origin` must be this
server's own, so that another web page cannot open a WebSocket. No cookie is set, so a browser never
sends credentials by itself: only the link gives access, and each page gets a ticket that opens one
WebSocket, once.
"""

from __future__ import annotations

import hmac
import ipaddress
import re
import secrets
import socket
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from time import monotonic

TICKET_S = 60.0
MAX_TICKETS = 64

LOOPBACK_NAMES = frozenset({"127.0.0.1", "localhost", "[::1]"})
_HOST = re.compile(r"(\[[0-9a-f:.]{2,45}\]|[a-z0-9._-]{1,253})(?::([0-9]{1,5}))?")


def is_loopback(host: str) -> bool:
    """Return whether binding to `host` (a name or an address) reaches this machine only."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def is_host(text: str) -> bool:
    """Return whether a text is what `Host` may say: a name or an address, perhaps with a port."""
    return _HOST.fullmatch(text.lower()) is not None


@dataclass(frozen=True, slots=True)
class Hosts:
    """What `Host` may say.

    `names` go with our port; `exact` is compared whole; `any_address` takes every IP address.

    DNS rebinding needs a name, so addresses are safe to accept.
    """

    port: int
    names: frozenset[str]
    exact: frozenset[str] = frozenset()
    any_address: bool = False

    @classmethod
    def of(cls, bound: str, port: int, allowed: Iterable[str] = ()) -> Hosts:
        """Return the rule for a server bound to `bound`; `allowed` are further names, `name` or
        `name:port`.
        """
        exact = frozenset(name.lower() for name in allowed)
        if is_loopback(bound):
            own = f"[{bound}]" if ":" in bound else bound
            return cls(port, LOOPBACK_NAMES | {own.lower()}, exact)
        own_names = {bound, socket.gethostname(), socket.getfqdn(), "localhost"}
        return cls(port, frozenset(name.lower() for name in own_names), exact, any_address=True)

    def allows(self, host: str) -> bool:
        """Return whether a request's `Host` is one of ours."""
        host = host.lower()
        if host in self.exact:
            return True
        match = _HOST.fullmatch(host)
        if match is None or int(match[2] or 80) != self.port:
            return False
        return match[1] in self.names or (self.any_address and _is_address(match[1]))


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name.strip("[]"))
    except ValueError:
        return False
    return True


def same_origin(origin: str, host: str) -> bool:
    """Return whether `Origin` is the server's own; behind a proxy that speaks TLS it begins with
    https.
    """
    return origin.lower() in (f"http://{host.lower()}", f"https://{host.lower()}")


class Access:
    """The token of the link, and the tickets that pages carry to their WebSocket.

    Wrong ones are not counted: nobody can guess 256 bits, and the owner may share an address with
    whoever tries, since every user of a machine has 127.0.0.1, and everyone behind a proxy has the
    proxy's.
    """

    def __init__(self, hosts: Hosts, clock: Callable[[], float] = monotonic) -> None:
        self.hosts = hosts
        self.token = secrets.token_urlsafe(32)
        self._clock = clock
        self._tickets: dict[str, float] = {}

    def is_token(self, given: str) -> bool:
        """Compare a token in constant time."""
        return hmac.compare_digest(given.encode(), self.token.encode())

    def new_ticket(self) -> str:
        """Return a ticket that opens one WebSocket within a minute."""
        while len(self._tickets) >= MAX_TICKETS:
            self._tickets.pop(next(iter(self._tickets)))
        ticket = secrets.token_urlsafe(32)
        self._tickets[ticket] = self._clock() + TICKET_S
        return ticket

    def redeem(self, given: str) -> bool:
        """Use up a ticket; return whether it was one."""
        matching = [
            ticket
            for ticket in self._tickets
            if hmac.compare_digest(ticket.encode(), given.encode())
        ]
        return bool(matching) and self._tickets.pop(matching[0]) > self._clock()
