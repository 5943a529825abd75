"""Who may open a served application: hosts, origins, the token in the link, and tickets for WebSockets.

The defences are independent of each other. `Host` is checked against what this server is called, so that a foreign name
that resolves to this address (DNS rebinding) is refused. `Origin` must be this server's own, so that another web page
cannot open a WebSocket. No cookie is set, so a browser never sends credentials by itself: only the link gives access,
and each page gets a ticket that opens one WebSocket, once.
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
from typing import Literal

from bioeval_tui.peer_limits import MAX_ADDRESSES

Verdict = Literal["right", "wrong", "wait"]
"""The result of checking a token or ticket."""

TRIES = 10
"""Wrong tokens that an address may give before it is told to wait."""

REFILL_S = 6.0
"""The number of seconds after which an address may try again."""

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


@dataclass(frozen=True, slots=True)
class Hosts:
    """What `Host` may say. `names` go with our port; `exact` is compared whole; `any_address` takes every IP address.

    DNS rebinding needs a name, so addresses are safe to accept.
    """

    port: int
    names: frozenset[str]
    exact: frozenset[str] = frozenset()
    any_address: bool = False

    @classmethod
    def of(cls, bound: str, port: int, allowed: Iterable[str] = ()) -> Hosts:
        """Return the rule for a server bound to `bound`; `allowed` are further names, `name` or `name:port`."""
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
    """Return whether `Origin` is the server's own; behind a proxy that speaks TLS it begins with https."""
    return origin.lower() in (f"http://{host.lower()}", f"https://{host.lower()}")


class Attempts:
    """Counts wrong tries by address: `TRIES` immediately, then one every `REFILL_S` seconds; more are told to wait."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._spent: dict[str, tuple[float, float]] = {}

    def wait_s(self, address: str) -> float:
        """Return how long the address has to wait before its next try, in seconds; 0 when it need not."""
        spent = self._now(address)
        return max(0.0, (spent - TRIES + 1) * REFILL_S) if spent > TRIES - 1 else 0.0

    def wrong(self, address: str) -> None:
        """Note a wrong try."""
        spent = self._now(address)
        self._spent.pop(_network(address), None)
        while len(self._spent) >= MAX_ADDRESSES:
            self._spent.pop(next(iter(self._spent)))
        self._spent[_network(address)] = (spent + 1, self._clock())

    def _now(self, address: str) -> float:
        spent, at = self._spent.get(_network(address), (0.0, 0.0))
        return max(0.0, spent - (self._clock() - at) / REFILL_S)


def _network(address: str) -> str:
    """Return the key of an address: all of an IPv6 /64 counts as one."""
    try:
        ip = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if ip.version == 4:
        return address
    return str(ipaddress.ip_network((ip, 64), strict=False))


class Access:
    """The token of the link, and the tickets that pages carry to their WebSocket."""

    def __init__(self, hosts: Hosts, clock: Callable[[], float] = monotonic) -> None:
        self.hosts = hosts
        self.token = secrets.token_urlsafe(32)
        self.attempts = Attempts(clock)
        self._clock = clock
        self._tickets: dict[str, float] = {}

    def try_token(self, given: str, address: str) -> Verdict:
        """Compare a token in constant time."""
        return self._verdict(address, is_right=hmac.compare_digest(given.encode(), self.token.encode()))

    def new_ticket(self) -> str:
        """Return a ticket that opens one WebSocket within a minute."""
        while len(self._tickets) >= MAX_TICKETS:
            self._tickets.pop(next(iter(self._tickets)))
        ticket = secrets.token_urlsafe(32)
        self._tickets[ticket] = self._clock() + TICKET_S
        return ticket

    def redeem(self, given: str, address: str) -> Verdict:
        """Use up a ticket."""
        matching = [
            ticket for ticket in self._tickets if hmac.compare_digest(ticket.encode(), given.encode())
        ]
        return self._verdict(
            address, is_right=bool(matching) and self._tickets.pop(matching[0]) > self._clock()
        )

    def _verdict(self, address: str, *, is_right: bool) -> Verdict:
        """Let a right secret in at once: nobody can guess 256 bits, and strangers may share the owner's address.

        On a shared machine every user has the address 127.0.0.1, and behind a proxy everyone has the proxy's.
        """
        if is_right:
            return "right"
        if self.attempts.wait_s(address):
            return "wait"
        self.attempts.wrong(address)
        return "wrong"
