"""The proxy that the environment or the system names for a URL; this machine is always called
directly.

Every client of this program asks `proxy_for` and tells its HTTP library the answer: none reads the
variables itself.
"""

from __future__ import annotations

import ipaddress
import os
from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from bioeval_tui.base.addresses import url_problem
from bioeval_tui.base.errors import UsageError
from bioeval_tui.base.text import clean_line, join_names

_USUAL_PORTS = {"http": 80, "https": 443}


def proxy_for(url: str) -> str | None:
    """Return the URL of the proxy for a URL, by HTTPS_PROXY, HTTP_PROXY, ALL_PROXY and NO_PROXY, or
    by the system's settings.

    None for this machine, whatever they say: what is sent to it must not leave it.

    Raises:
        UsageError: the URL or the proxy is not an http or https URL.
    """
    if problem := url_problem(url):
        raise UsageError(problem)
    parts = urlsplit(url)
    host = (parts.hostname or "").rstrip(".")
    if _is_here(host) or host.endswith(".localhost"):
        return None
    proxies = getproxies()
    kind = parts.scheme if proxies.get(parts.scheme) else "all"
    proxy = proxies.get(kind)
    if not proxy or _is_excepted(host, parts.port or _USUAL_PORTS.get(parts.scheme)):
        return None
    if "://" not in proxy:
        proxy = f"http://{proxy}"
    try:
        place = urlsplit(proxy)
        usable = place.scheme in _USUAL_PORTS and bool(place.hostname) and place.port != 0
    except ValueError:
        usable = False
    if not usable:
        shown = clean_line(f"{proxy.partition('://')[0]}://{proxy_host(proxy)}", 200)
        raise UsageError(
            f"{clean_line(host, 200)} cannot be called through the proxy {shown} of"
            f" {_setting(kind)}, which is not an http or https URL; change that, or add the host to"
            " NO_PROXY"
        )
    return proxy


def proxy_host(proxy: str) -> str:
    """Return `host:port` of a proxy's URL, without user and password."""
    place = proxy.partition("://")[2]
    return clean_line(place.rpartition("@")[2].partition("/")[0], 200)


def proxy_phrases(urls: Iterable[str]) -> Iterator[str]:
    """Yield a phrase for each proxy that gets what is sent to the URLs, and to which hosts.

    Raises:
        UsageError: a proxy is not an http or https URL.
    """
    carried: dict[str, dict[str, None]] = {}
    for url in urls:
        if (proxy := proxy_for(url)) is not None:
            host = clean_line(urlsplit(url).hostname or "", 200)
            carried.setdefault(proxy_host(proxy), {})[host] = None
    for proxy, hosts in carried.items():
        yield f"the proxy {proxy} (for {join_names(list(hosts), ' and ')})"


def is_loopback(host: str) -> bool:
    """Return whether a call to `host` or `host:port` surely reaches this machine: by its address,
    or as `localhost`.

    A name server is asked about `localhost.` and names below it: these are called directly, but are
    not sure.
    """
    url = f"http://{host}"
    return not url_problem(url) and _is_here(urlsplit(url).hostname or "")


def _is_here(name: str) -> bool:
    address = _address(name)
    return name == "localhost" or (
        address is not None and (address.is_loopback or address.is_unspecified)
    )


def _address(name: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """Return a host's IP address, which is written in one way only (`addresses`); None for a
    name.
    """
    try:
        address = ipaddress.ip_address(name)
    except ValueError:
        return None
    return getattr(address, "ipv4_mapped", None) or address


def _is_excepted(host: str, port: int | None) -> bool:
    """Return whether NO_PROXY or the system names a host: it or one above it, a pattern, an address
    or a range of addresses.
    """
    if proxy_bypass(host):
        return True
    address = _address(host)
    for entry in getproxies().get("no", "").lower().replace(",", " ").split():
        name, its_port = _split_port(entry)
        if its_port and its_port != str(port):
            continue
        try:
            network = ipaddress.ip_network(name, strict=False)
        except ValueError:
            if fnmatchcase(host, name) or host.endswith(f".{name}"):
                return True
        else:
            if address is not None and address in network:
                return True
    return False


def _split_port(entry: str) -> tuple[str, str]:
    """Return the host of an entry of NO_PROXY, and its port or nothing.

    An address of version 6 has a port only behind brackets.
    """
    name, port = entry, ""
    if entry.count(":") == 1 or "]:" in entry:
        name, _, port = entry.rpartition(":")
    return name.strip("[]").lstrip("."), port


def _setting(kind: str) -> str:
    """Return what names the proxy for `http`, `https` or `all` URLs, as the user spelled it."""
    for variable in (f"{kind}_proxy", f"{kind}_proxy".upper()):
        if os.environ.get(variable):
            return variable
    return "the system's settings"
