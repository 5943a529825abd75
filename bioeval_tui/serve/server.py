"""The server: a page for everyone with the link, and for each page a WebSocket and a process.

A tab's process has a process group of its own, which ends with the tab. It is this program with
Textual's driver for the web. It and the server exchange packets over pipes: one byte for the kind
(D data, M JSON), four for the length (big endian), then the payload.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import secrets
import signal
import socket
import time
from asyncio.subprocess import PIPE, Process
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from importlib import resources
from string import Template
from typing import Any, NamedTuple

from aiohttp import WSCloseCode, WSMsgType, web

from bioeval_tui.base.admission import BACKLOG, Admission, serve_app, why_not_bound
from bioeval_tui.base.errors import BioevalError, UnavailableError, UsageError
from bioeval_tui.base.peer_limits import MAX_TAB_MESSAGE, MAX_WEB_BODY
from bioeval_tui.base.text import clean_line
from bioeval_tui.serve.access import Access, Hosts, is_host, same_origin

READY = b"__GANGLION__\n"
"""The line that Textual's driver writes before its first packet."""

START_S = 30.0
KILL = getattr(signal, "SIGKILL", signal.SIGTERM)  # Windows has the one
QUIT_S = 3.0
MAX_PACKET = 16 << 20
SMALLEST, LARGEST = (20, 8), (500, 200)
"""Columns and rows that a tab may have; a tab that asks for more would only cost memory."""


def bounded(width: Any, height: Any) -> tuple[int, int] | None:
    """Return a size within limits; None if it is not a size."""
    if not all(isinstance(n, int) and not isinstance(n, bool) for n in (width, height)):
        return None
    columns, rows = (
        min(max(n, low), high)
        for n, low, high in zip((width, height), SMALLEST, LARGEST, strict=True)
    )
    return columns, rows


class TabProcess:
    """The process behind one tab."""

    def __init__(self, process: Process) -> None:
        self._process = process
        self._stderr = b""
        self._listening = asyncio.create_task(self._listen())

    @classmethod
    async def start(cls, command: Sequence[str], driver: str, size: tuple[int, int]) -> TabProcess:
        """Start the process and wait until it draws.

        Raises:
            UnavailableError: it ended, or did not start in time; with its error output.
        """
        environment = {
            **os.environ,
            "TEXTUAL_DRIVER": driver,
            "TEXTUAL_COLOR_SYSTEM": "truecolor",
            "TERM": "xterm-256color",
            "COLUMNS": str(size[0]),
            "ROWS": str(size[1]),
        }
        process = await asyncio.create_subprocess_exec(
            *command, stdin=PIPE, stdout=PIPE, stderr=PIPE, env=environment, start_new_session=True
        )
        session = cls(process)
        try:
            async with asyncio.timeout(START_S):
                await session._until_ready()
        except BaseException:
            await session.aclose()
            raise
        return session

    async def _until_ready(self) -> None:
        assert self._process.stdout is not None
        with contextlib.suppress(ValueError):  # a line that is too long counts as no start, too
            while line := await self._process.stdout.readline():
                if line == READY:
                    return
        await self._listening
        lines = self._stderr.decode("utf-8", "replace").strip().splitlines()
        raise UnavailableError(
            clean_line(lines[-1], 300) if lines else "the program ended before it showed anything"
        )

    async def _listen(self) -> None:
        """Keep only the end of its error output, which may contain texts of conversations."""
        assert self._process.stderr is not None
        while data := await self._process.stderr.read(4096):
            self._stderr = (self._stderr + data)[-2000:]

    async def drawn(self) -> AsyncIterator[bytes]:
        """Yield the terminal output until the program has ended."""
        assert self._process.stdout is not None
        read = self._process.stdout.readexactly
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                kind, size = await read(1), int.from_bytes(await read(4), "big")
                if size > MAX_PACKET:
                    return
                data = await read(size)
                if kind == b"D":
                    yield data
                elif kind == b"M" and json.loads(data).get("type") == "exit":
                    return  # other wishes (open a link, deliver a file) are not granted

    async def type(self, text: str) -> None:
        """Pass on input; an empty packet would mean the end of input to the driver."""
        if text:
            await self._send(b"D", text.encode("utf-8", "replace"))

    async def tell(self, what: str, **more: int) -> None:
        """Send a message to the driver: resize, focus, blur, quit."""
        await self._send(b"M", json.dumps({"type": what, **more}).encode())

    async def _send(self, kind: bytes, payload: bytes) -> None:
        stdin = self._process.stdin
        assert stdin is not None
        with contextlib.suppress(ConnectionError, RuntimeError):
            stdin.write(kind + len(payload).to_bytes(4, "big") + payload)
            async with asyncio.timeout(QUIT_S):
                await stdin.drain()

    @property
    def failure(self) -> str:
        """The last line of the error output, if the program ended by itself with an error;
        otherwise empty.
        """
        lines = self._stderr.decode("utf-8", "replace").strip().splitlines()
        if (
            self._process.returncode or 0
        ) <= 0:  # it is running, ended normally, or was stopped by a signal
            return ""
        if lines:
            return clean_line(lines[-1], 600)
        return f"exit code {self._process.returncode}"

    async def aclose(self) -> None:
        """End the process and its group: ask first, then terminate, then kill."""
        with contextlib.suppress(TimeoutError):
            await self.tell("quit")
        if self._process.stdin is not None:
            self._process.stdin.close()
        drain = asyncio.create_task(self._drop_output())
        try:
            for stop in (None, signal.SIGTERM, KILL):
                if stop is not None:
                    self._signal(stop)
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(QUIT_S):
                        await self._process.wait()
                    break
        finally:
            self._signal(KILL)  # remaining processes of its group
            drain.cancel()
            await asyncio.wait({self._listening}, timeout=QUIT_S)  # its remaining output
            self._listening.cancel()
            await asyncio.gather(drain, self._listening, return_exceptions=True)

    async def _drop_output(self) -> None:
        """Keep reading, because a program whose output is not read could not end."""
        assert self._process.stdout is not None
        with contextlib.suppress(RuntimeError):
            while await self._process.stdout.read(1 << 16):
                pass

    def _signal(self, number: signal.Signals) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if hasattr(os, "killpg"):
                os.killpg(self._process.pid, number)
            elif self._process.returncode is None:
                self._process.send_signal(number)


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
    "Permissions-Policy": (
        "camera=(), clipboard-read=(), display-capture=(), geolocation=(), microphone=(),"
        " payment=(), usb=()"
    ),
    "Cache-Control": "no-store",
}


def policy(host: str = "", nonce: str = "") -> str:
    """Return the Content-Security-Policy: `none`, or for the page its own resources and
    WebSocket.
    """
    rules = [
        "default-src 'none'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
    ]
    if nonce:
        rules += [
            "script-src 'self'",
            f"style-src 'self' 'nonce-{nonce}'",
            "font-src 'self'",
            # 'self' covers WebSockets in most browsers only
            f"connect-src 'self' ws://{host} wss://{host}",
        ]
    return "; ".join(rules)


def page(ticket: str, nonce: str, *, light: bool) -> str:
    """Return the page for one tab. `ticket` and `nonce` are our own URL-safe random text."""
    return Template(_read("bioeval_tui.serve", "static/page.html").decode()).substitute(
        ticket=ticket, nonce=nonce, look="light" if light else "dark"
    )


def read_asset(name: str) -> tuple[bytes, str] | None:
    """Return an asset's bytes and content type; None for a name that is not one of them."""
    asset = ASSETS.get(name)
    if asset:
        return (_read(asset.package, asset.path), asset.kind)
    return None


def _read(package: str, path: str) -> bytes:
    return resources.files(package).joinpath(path).read_bytes()


DRIVER = "bioeval_tui.tui.shared.output:ServedDriver"
HEARTBEAT_S = 15.0
IDLE_S = 15.0
SENTENCES = 30
"""Maximum number of messages a minute on stderr."""
WRONG_LINK = "Invalid link. Open the one that `bioeval-tui serve` printed."
OTHER_SITE = "Requests from other sites are not allowed."
FULL = "Too many sessions are open. Close a tab, and this page opens."
FULL_AGAIN_S = 1
"""After so many seconds, the page is asked for again: a browser that loads a tab again keeps its
session until it has the answer.
"""

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


@dataclass(frozen=True, slots=True)
class ServeOptions:
    """What to serve and to whom.

    `command` draws one session; `allowed_hosts` are further names of this server.

    `is_light` says whether a page is light until its session has drawn something.
    """

    command: Sequence[str]
    host: str
    port: int
    allowed_hosts: Sequence[str]
    max_sessions: int
    is_light: Callable[[], bool]


class Server:
    """Serves one application to tabs.

    `complain` is given one sentence for each session that could not begin.
    """

    def __init__(self, options: ServeOptions, port: int, complain: Callable[[str], None]) -> None:
        self._options = options
        self._complain = _seldom(complain)
        self.admission: Admission | None = None
        self.access = Access(Hosts.of(options.host, port, options.allowed_hosts))
        self._tabs: dict[web.WebSocketResponse, asyncio.Task[Any]] = {}
        self._ending: set[asyncio.Task[None]] = set()

    def app(self) -> web.Application:
        """Return the web application."""
        app = web.Application(middlewares=[self._guard], client_max_size=MAX_WEB_BODY)
        app.router.add_get("/", self._page)
        app.router.add_get("/static/{name}", self._asset, allow_head=False)
        app.router.add_get("/ws/{ticket}", self._socket, allow_head=False)
        app.on_response_prepare.append(self._add_headers)
        app.on_shutdown.append(self._close_all)
        return app

    @web.middleware
    async def _guard(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Reject requests that don't name this server or come from another page; handles every
        request.
        """
        hosts = request.headers.getall("Host", [])
        if len(hosts) != 1 or not self.access.hosts.allows(hosts[0]):
            return _refusal(421, "Unknown host name.")
        origin = request.headers.get("Origin")
        if origin is not None and not same_origin(origin, hosts[0]):
            return _refusal(403, OTHER_SITE)
        site = request.headers.get("Sec-Fetch-Site", "none")
        if (
            site in ("cross-site", "same-site")
            and request.headers.get("Sec-Fetch-Dest") != "document"
        ):
            return _refusal(403, OTHER_SITE)
        try:
            return await handler(request)
        except web.HTTPException as error:
            return _refusal(error.status, error.reason)

    async def _add_headers(self, request: web.Request, response: web.StreamResponse) -> None:
        for name, value in HEADERS.items():
            response.headers[name] = value
        response.headers.setdefault("Content-Security-Policy", policy())
        if not isinstance(response, web.WebSocketResponse):
            response.force_close()  # only a tab keeps its connection

    async def _page(self, request: web.Request) -> web.StreamResponse:
        # The link has no other parameters, because the terminal's script would act on some of them.
        if list(request.query) != ["token"]:
            return _refusal(403, WRONG_LINK)
        if refused := await self._refused(admitted=self.access.is_token(request.query["token"])):
            return refused
        nonce = secrets.token_urlsafe(16)
        shown = page(self.access.new_ticket(), nonce, light=self._options.is_light())
        answer = web.Response(text=shown, content_type="text/html")
        answer.headers["Content-Security-Policy"] = policy(request.headers["Host"], nonce)
        return answer

    async def _asset(self, request: web.Request) -> web.StreamResponse:
        asset = read_asset(request.match_info["name"])
        if asset is None:
            return _refusal(404, "Not found.")
        body, kind = asset
        return web.Response(body=body, content_type=kind)

    @property
    def _is_full(self) -> bool:
        return len(self._tabs) >= self._options.max_sessions

    async def _refused(self, *, admitted: bool) -> web.Response | None:
        """Return the refusal of a wrong token or ticket, or of one tab too many; None admits the
        request.
        """
        if not admitted:
            return _refusal(403, WRONG_LINK)
        if self._is_full and self._ending:  # such as of the page that is loaded again
            await asyncio.wait(self._ending, return_when=asyncio.FIRST_COMPLETED)
        if self._is_full:
            refused = _refusal(503, FULL)
            refused.headers["Refresh"] = str(FULL_AGAIN_S)
            return refused
        return None

    async def _socket(self, request: web.Request) -> web.StreamResponse:
        if "Origin" not in request.headers:
            return _refusal(403, OTHER_SITE)
        is_ours = self.access.redeem(request.match_info["ticket"])
        if refused := await self._refused(admitted=is_ours):
            return refused
        tab = web.WebSocketResponse(
            heartbeat=HEARTBEAT_S, max_msg_size=MAX_TAB_MESSAGE, compress=False
        )
        task = asyncio.current_task()
        assert task is not None
        self._tabs[tab] = task
        if self.admission is not None:
            self.admission.keep(request.transport)
        try:
            await tab.prepare(request)
            await self._run_tab(tab, _size(request))
        finally:
            self._tabs.pop(tab, None)
        return tab

    async def _run_tab(self, tab: web.WebSocketResponse, size: tuple[int, int]) -> None:
        """Start a process for the tab, pass data in both directions, and end it with the tab."""
        try:
            session = await TabProcess.start(self._options.command, DRIVER, size)
        except (BioevalError, OSError, TimeoutError) as error:
            self._complain(
                f"a session could not start: {clean_line(str(error)) or 'it took too long'}"
            )
            await tab.close(code=WSCloseCode.INTERNAL_ERROR)
            return
        drawing = asyncio.create_task(_draw(session, tab))
        try:
            # The process takes nothing in any more, or the tab is gone while it is answered.
            with contextlib.suppress(TimeoutError, ConnectionError):
                await _obey(tab, session)
        finally:
            drawing.cancel()
            ending = asyncio.create_task(self._end(tab, session))
            self._ending.add(ending)
            ending.add_done_callback(self._ending.discard)
            await asyncio.shield(ending)

    async def _end(self, tab: web.WebSocketResponse, session: TabProcess) -> None:
        await session.aclose()
        self._tabs.pop(tab, None)
        if session.failure:
            self._complain(f"a session ended early: {session.failure}")

    async def _close_all(self, app: web.Application) -> None:
        tabs = dict(self._tabs)
        for tab, task in tabs.items():
            with contextlib.suppress(ConnectionError, RuntimeError, TimeoutError):
                async with asyncio.timeout(1.0):
                    await tab.close(code=WSCloseCode.GOING_AWAY)
            task.cancel()
        if tabs:
            await asyncio.wait(tabs.values())
        if self._ending:
            await asyncio.wait(self._ending)


async def _draw(session: TabProcess, tab: web.WebSocketResponse) -> None:
    """Send the output; if the program has ended, close the tab."""
    with contextlib.suppress(ConnectionError, RuntimeError, ValueError):
        async for data in session.drawn():
            await tab.send_bytes(data)
    await tab.close()


async def _obey(tab: web.WebSocketResponse, session: TabProcess) -> None:
    """Pass on the tab's messages until it is closed. Unknown ones are ignored."""
    async for message in tab:
        if message.type is not WSMsgType.TEXT:
            continue
        try:
            order = json.loads(message.data)
        except (ValueError, RecursionError):
            continue
        match order:
            case ["stdin", str(text)]:
                await session.type(text)
            case ["resize", {"width": width, "height": height}]:
                if (size := bounded(width, height)) is not None:
                    await session.tell("resize", width=size[0], height=size[1])
            case ["ping", str(mark)]:
                await tab.send_json(["pong", mark[:20]])
            case ["focus" | "blur" as what]:
                await session.tell(what)


def _seldom(complain: Callable[[str], None]) -> Callable[[str], None]:
    """Return `complain` limited to that many messages a minute, so that a log cannot fill the
    disk.
    """
    times: deque[float] = deque(maxlen=SENTENCES)

    def say(sentence: str) -> None:
        now = time.monotonic()
        if len(times) == SENTENCES and now - times[0] < 60:
            return
        times.append(now)
        complain(sentence)

    return say


def _size(request: web.Request) -> tuple[int, int]:
    """Return the initial size of the tab."""
    given = [request.query.get(name, "") for name in ("width", "height")]
    if not all(text.isascii() and text.isdigit() and len(text) < 6 for text in given):
        return 80, 24
    return bounded(*map(int, given)) or (80, 24)


def _refusal(status: int, sentence: str) -> web.Response:
    return web.Response(status=status, text=sentence + "\n")


@contextlib.asynccontextmanager
async def serving(options: ServeOptions, complain: Callable[[str], None]) -> AsyncIterator[str]:
    """Serve until the context ends, which ends all sessions; yields the link.

    Raises:
        UsageError: host and port cannot be used.
    """
    listener = _listen(options)
    port = listener.getsockname()[1]
    server = Server(options, port, complain)
    async with serve_app(server.app(), listener, __name__, idle_s=IDLE_S) as server.admission:
        yield f"http://{link_host(options.host)}:{port}/?token={server.access.token}"


def _listen(options: ServeOptions) -> socket.socket:
    if not options.host.strip() or not options.host.isprintable():
        raise UsageError("--host: give an address or name of this machine, such as 127.0.0.1")
    if not all(map(is_host, options.allowed_hosts)):
        raise UsageError(
            "--allow-host: give a name as browsers send it, or NAME:PORT, such as eval.example.org"
        )
    family = socket.AF_INET6 if ":" in options.host else socket.AF_INET
    try:
        return socket.create_server((options.host, options.port), family=family, backlog=BACKLOG)
    except (OSError, OverflowError, UnicodeError) as error:
        raise UsageError(
            f"port {options.port} on {clean_line(options.host, 80)} cannot be used:"
            f" {why_not_bound(error)}; give --host an address of this machine, and use --port 0 for"
            " a free port"
        ) from None


def link_host(host: str) -> str:
    """Return the host name under which a browser on this network reaches the server."""
    if host in ("0.0.0.0", "::"):  # noqa: S104 (compared, not bound)  # nosec B104
        return socket.gethostname()
    if ":" in host:
        return f"[{host}]"
    return host
