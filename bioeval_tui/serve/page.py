"""The page and its assets: this program's page, and textual-serve's terminal. Nothing comes from another host."""

from __future__ import annotations

from importlib import resources
from string import Template
from typing import NamedTuple


class Asset(NamedTuple):
    """A file of the page."""

    package: str
    path: str
    kind: str


ASSETS = {
    "page.css": Asset("bioeval_tui.serve", "static/page.css", "text/css"),
    "boot.js": Asset("bioeval_tui.serve", "static/boot.js", "text/javascript"),
    "xterm.css": Asset("textual_serve", "static/css/xterm.css", "text/css"),
    "textual.js": Asset("textual_serve", "static/js/textual.js", "text/javascript"),
    "mono.ttf": Asset("textual_serve", "static/fonts/RobotoMono-VariableFont_wght.ttf", "font/ttf"),
    "mono-italic.ttf": Asset(
        "textual_serve", "static/fonts/RobotoMono-Italic-VariableFont_wght.ttf", "font/ttf"
    ),
}

HEADERS = {
    "Server": "bioeval-tui",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), clipboard-read=(), display-capture=(), geolocation=(), microphone=(), payment=(), usb=()",
    "Cache-Control": "no-store",
}


def policy(host: str = "", nonce: str = "") -> str:
    """Return the Content-Security-Policy: `none`, or for the page its own resources and WebSocket."""
    rules = ["default-src 'none'", "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'"]
    if nonce:
        rules += [
            "script-src 'self'",
            f"style-src 'self' 'nonce-{nonce}'",
            "font-src 'self'",
            # 'self' covers WebSockets in most browsers only
            f"connect-src 'self' ws://{host} wss://{host}",
        ]
    return "; ".join(rules)


def page(ticket: str, nonce: str, *, light: bool = False) -> str:
    """Return the page for one tab. `ticket` and `nonce` are our own URL-safe random text."""
    return Template(_read("bioeval_tui.serve", "static/page.html").decode()).substitute(
        ticket=ticket, nonce=nonce, look="light" if light else "dark"
    )


def read_asset(name: str) -> tuple[bytes, str] | None:
    """Return an asset's bytes and content type; None for a name that is not one of them."""
    asset = ASSETS.get(name)
    return (_read(asset.package, asset.path), asset.kind) if asset else None


def _read(package: str, path: str) -> bytes:
    return resources.files(package).joinpath(path).read_bytes()
