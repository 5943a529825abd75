"""`bioeval-tui serve`: what a real browser shows, and what others are refused."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest
from aiohttp import ClientSession, WSCloseCode, WSMsgType, web

from tests.integration.program import children_of, run, started, wait_for
from tests.integration.reports.browser import chromium

if TYPE_CHECKING:
    from playwright.async_api import Browser, BrowserContext, Page

GOLDEN = Path(__file__).parents[1] / "golden" / "demo-run.jsonl"
RUN = "20261120-210356-44c7"
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync", "--no-first-run",
)  # fmt: skip
SEQUENCE = re.compile(r"\x1b(?:\[[0-9;:?$<=>]*[ -/]*[@-~]|[()][0-9A-B]|[=>78])")
PATIENCE_MS = 300_000


@dataclass(frozen=True)
class Served:
    """A server: its link, its process, and where its recordings are."""

    link: str
    process: subprocess.Popen[str]
    data_dir: Path

    @property
    def port(self) -> int:
        """Where it listens."""
        found = urlsplit(self.link).port
        assert found is not None
        return found

    @property
    def tabs(self) -> set[int]:
        """The processes that it started."""
        return set(children_of(self.process.pid))


def alive(pid: int) -> bool:
    """Say whether a process runs."""
    found = subprocess.run(
        ["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True
    ).stdout
    return bool(found.strip()) and not found.startswith("Z")


def recorded(data_dir: Path) -> Path:
    """Put a recording of a whole run into a data folder."""
    (data_dir / "runs").mkdir()
    shutil.copy(GOLDEN, data_dir / "runs" / f"{RUN}.jsonl")
    return data_dir


@contextmanager
def served(data_dir: Path, *options: str) -> Iterator[Served]:
    """Serve a data folder's recordings."""
    with started("serve", *options, data_dir=data_dir) as process:
        assert process.stdout is not None
        link = process.stdout.readline().strip()
        assert link, process.stderr.read() if process.stderr else ""
        yield Served(link, process, data_dir)


# Without a browser


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server that is asked over a bare socket."""
    with served(recorded(tmp_path_factory.mktemp("bare")), "--read-only") as server:
        yield server


def ask(
    server: Served, path: str, *headers: str, host: str | None = "", method: str = "GET"
) -> str:
    """Send a request as it is and return the answer, headers and all."""
    name = f"127.0.0.1:{server.port}" if host == "" else host
    lines = [
        f"{method} {path} HTTP/1.1",
        *([] if name is None else [f"Host: {name}"]),
        *headers,
        "Connection: close",
    ]
    with socket.create_connection(("127.0.0.1", server.port), 30) as peer:
        peer.sendall("\r\n".join([*lines, "", ""]).encode())
        answer = b""
        while data := peer.recv(65536):
            answer += data
            if b"101 Switching" in answer:
                break
    return answer.decode("utf-8", "replace")


def status(answer: str) -> int:
    return int(answer.split(" ", 2)[1])


def door(server: Served) -> str:
    parts = urlsplit(server.link)
    return f"{parts.path}?{parts.query}"


def ticket(server: Served) -> str:
    found = re.search(r'data-ticket="([\w-]+)"', ask(server, door(server)))
    assert found is not None
    return found[1]


UPGRADE = (
    "Upgrade: websocket",
    "Connection: Upgrade",
    "Sec-WebSocket-Version: 13",
    "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==",
)


def test_the_link_opens_a_page_that_loads_nothing_from_elsewhere(bare: Served) -> None:
    answer = ask(bare, door(bare))
    head, _, page = answer.partition("\r\n\r\n")
    assert status(answer) == 200
    headers = {
        name.lower(): value
        for name, _, value in (line.partition(": ") for line in head.split("\r\n")[1:])
    }
    policy = headers["content-security-policy"]
    assert policy.startswith(
        "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none';"
        " script-src 'self';"
    )
    assert "unsafe" not in policy
    assert "*" not in policy
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["x-frame-options"] == "DENY"
    assert headers["referrer-policy"] == "no-referrer"
    assert (
        headers["cross-origin-opener-policy"]
        == headers["cross-origin-resource-policy"]
        == "same-origin"
    )
    assert headers["cache-control"] == "no-store"
    assert headers["server"] == "bioeval-tui"
    assert "set-cookie" not in headers
    assert "access-control-allow-origin" not in headers
    assert not re.search(r"https?://|\s//", page)
    for name in re.findall(r'(?:src|href)="(/static/[\w.-]+)"', page):
        asset = ask(bare, name)
        assert status(asset) == 200, name
        assert "default-src 'none'" in asset
    assert 'url("http' not in ask(bare, "/static/page.css") + ask(bare, "/static/xterm.css")


@pytest.mark.parametrize(
    "host",
    [
        None,
        "evil.example",
        "evil.example:{port}",
        "127.0.0.1",
        "127.0.0.1:1",
        "127.0.0.1:{port}.evil.example",
    ],
)
def test_an_unknown_host_name_is_refused_so_that_dns_rebinding_fails(
    bare: Served, host: str | None
) -> None:
    named = host.format(port=bare.port) if host else host
    for path in (door(bare), "/static/boot.js", "/ws/" + ticket(bare)):
        answer = ask(bare, path, *UPGRADE, f"Origin: http://{named}", host=named)
        assert status(answer) in (400, 421), answer
        assert "data-ticket" not in answer


@pytest.mark.parametrize(
    "origin",
    [
        None,
        "null",
        "http://evil.example",
        "http://127.0.0.1:1",
        "http://localhost:{port}",
        "http://127.0.0.1:{port}.evil.example",
    ],
)
def test_a_page_of_another_origin_opens_no_websocket_even_with_a_ticket(
    bare: Served, origin: str | None
) -> None:
    headers = [f"Origin: {origin.format(port=bare.port)}"] if origin else []
    answer = ask(bare, "/ws/" + ticket(bare), *UPGRADE, *headers)
    assert status(answer) == 403, answer
    assert bare.tabs == set()


def test_a_page_of_another_origin_reads_nothing(bare: Served) -> None:
    for headers in (
        ["Origin: http://evil.example"],
        ["Sec-Fetch-Site: cross-site", "Sec-Fetch-Dest: script"],
        ["Sec-Fetch-Site: cross-site", "Sec-Fetch-Dest: iframe"],
    ):
        assert status(ask(bare, door(bare), *headers)) == 403
        assert status(ask(bare, "/static/boot.js", *headers)) == 403
    # A link in a mail or a chat is followed from another site, and carries its token.
    assert (
        status(ask(bare, door(bare), "Sec-Fetch-Site: cross-site", "Sec-Fetch-Dest: document"))
        == 200
    )


def test_only_the_whole_link_opens_the_page(bare: Served) -> None:
    own = f"Origin: http://127.0.0.1:{bare.port}"
    for path in (
        "/",
        "/?token=",
        "/?ping=http://evil.example",
        door(bare) + "&ping=http://evil.example",
    ):
        assert status(ask(bare, path)) == 403, path
    for path in (
        "/static/",
        "/static/..%2f..%2fserver.py",
        "/static/page.html",
        "/download/x",
        "/.env",
        "//evil.example/",
    ):
        assert status(ask(bare, path)) == 404, path
    assert status(ask(bare, door(bare), method="POST")) == 405
    used = ticket(bare)
    assert status(ask(bare, f"/ws/{used}", *UPGRADE, own)) == 101
    assert status(ask(bare, f"/ws/{used}", *UPGRADE, own)) == 403
    wait_for(lambda: not bare.tabs, "the tab's process ending")


async def test_malformed_messages_of_a_tab_are_survived(bare: Served) -> None:
    own = f"http://127.0.0.1:{bare.port}"
    strange = [
        "", "[", '["stdin", 5]', '["stdin"]', '{"stdin": "q"}', '["quit", {}]',
        '["deliver_file_end", "x"]', "[" * 60_000,
        '["resize", {"width": 1e9, "height": -1}]', '["resize", {"width": "a"}]',
        '["resize", [1, 2]]',
    ]  # fmt: skip
    async with (
        ClientSession() as client,
        client.ws_connect(f"{own}/ws/{ticket(bare)}", headers={"Origin": own}) as tab,
    ):
        for text in strange:
            await tab.send_str(text)
        await tab.send_bytes(b"\x00" * 1000)
        await tab.send_json(["ping", "still here"])
        async for message in tab:
            if message.type is WSMsgType.TEXT:
                assert message.json() == ["pong", "still here"]
                break
        await tab.send_str("x" * 70_000)
        async for _ in tab:  # what was drawn meanwhile
            pass
        assert tab.close_code == WSCloseCode.MESSAGE_TOO_BIG
    wait_for(lambda: not bare.tabs, "the tab's process ending")


async def test_the_only_tab_can_be_reloaded_and_whoever_leaves_suddenly_leaves_no_traceback(
    tmp_path: Path,
) -> None:
    with served(recorded(tmp_path), "--read-only", "--max-sessions", "1") as server:
        origin = f"http://127.0.0.1:{server.port}"
        for _ in range(3):
            mine = ticket(server)
            async with ClientSession() as client:
                tab = await client.ws_connect(f"{origin}/ws/{mine}", origin=origin)
                assert (await tab.receive()).type is WSMsgType.BINARY
                # A browser ends a tab's session when it has the answer, and asks again.
                full = ask(server, door(server))
                assert status(full) == 503
                assert "\r\nRefresh: 1\r\n" in full
                for number in range(50):  # answered when nobody is there any more
                    await tab.send_json(["ping", str(number)])
                await tab.close()
        server.process.terminate()
        _, said = server.process.communicate()
    assert "Traceback" not in said


@pytest.mark.long
async def test_the_owner_gets_in_while_another_user_of_the_machine_gives_wrong_tokens(
    tmp_path: Path,
) -> None:
    with served(recorded(tmp_path), "--read-only") as server:
        enough = threading.Event()

        def guess() -> None:
            while not enough.is_set():
                ask(server, "/?token=guess")
                ask(server, "/ws/guess", f"Origin: http://127.0.0.1:{server.port}")

        guessing = [threading.Thread(target=guess) for _ in range(3)]
        try:
            for number in range(11):
                assert status(ask(server, f"/?token=guess{number}")) == 403
            for thread in guessing:
                thread.start()
            origin = f"http://127.0.0.1:{server.port}"
            mine = ticket(server)
            async with (
                ClientSession() as client,
                client.ws_connect(f"{origin}/ws/{mine}", origin=origin) as tab,
            ):
                assert (await tab.receive()).type is WSMsgType.BINARY
        finally:
            enough.set()
            for thread in guessing:
                thread.join()


def test_wrong_options_of_serve_are_one_sentence(tmp_path: Path) -> None:
    recorded(tmp_path)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        for options, said in (
            (["--port", port], f"port {port} on 127.0.0.1 cannot be used"),
            (["--host", "no.such.host.invalid"], "cannot be used"),
            *(
                (["--host", host], "--host: give an address")
                for host in ("", "a\x1b[31mb", "\udcff", "a\nb")
            ),
            *(
                (["--allow-host", host], "--allow-host: give a name as browsers send it, or NAME:")
                for host in ("", "http://eval.example.org", "bad host", "a\x1b[31mb")
            ),
            (["--run", "ffff"], "no such run"),
            (["nowhere"], "nowhere does not exist"),
            (["--read-only", "."], "--read-only shows recordings"),
        ):
            done = run("serve", *options, data_dir=tmp_path)
            assert done.returncode == 2, done
            assert said in done.stderr
            assert done.stderr.startswith("error: ")
            assert done.stderr.count("\n") == 1, done.stderr


# With a browser


@dataclass
class Tab:
    """A page, and everything that was written to its terminal."""

    page: Page
    written: list[str] = field(default_factory=list)
    before: list[str] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)
    logged: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        """What was written, without the terminal's sequences."""
        return SEQUENCE.sub("", "".join(self.written))

    @property
    def ever(self) -> str:
        """What was written since the tab was opened."""
        return SEQUENCE.sub("", "".join(self.before + self.written))

    def forget(self) -> None:
        """Let `text` begin anew."""
        self.before += self.written
        self.written.clear()

    async def until(self, words: str, *, ever: bool = False) -> None:
        """Wait until something was written, or was already since the tab was opened."""
        for _ in range(PATIENCE_MS // 20):
            if words in (self.ever if ever else self.text):
                return
            await self.page.wait_for_timeout(20)  # lets the browser's messages in
        raise AssertionError(f"never written: {words}; but: {self.text[-3000:]}")

    async def press(self, key: str) -> None:
        """Press a key; what was written before is forgotten."""
        self.forget()
        await self.page.keyboard.press(key)

    async def close(self) -> None:
        """Close the tab."""
        await self.page.close()


async def paper(page: Page) -> str:
    """Return the colour of what lies around the terminal's cells."""
    return str(await page.evaluate("getComputedStyle(document.body).backgroundColor"))


@asynccontextmanager
async def browser(profile: Path) -> AsyncIterator[BrowserContext]:
    """A browser whose every other name resolves to nothing."""
    from playwright.async_api import async_playwright  # only with a browser

    async with async_playwright() as playwright:
        launched: Browser = await playwright.chromium.launch(
            executable_path=chromium(),
            args=[*FLAGS, "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"],
            env={**os.environ, "HOME": str(profile)},
        )  # fmt: skip
        try:
            yield await launched.new_context(viewport={"width": 1180, "height": 700})
        finally:
            await launched.close()


async def opened(context: BrowserContext, link: str) -> Tab:
    """Open a tab and wait until it has painted."""
    from playwright.async_api import TimeoutError  # only with a browser

    tab = Tab(await context.new_page())

    def wrote(data: bytes | str) -> None:
        if isinstance(data, bytes):
            tab.written.append(data.decode("utf-8", "replace"))

    tab.page.on("websocket", lambda channel: channel.on("framereceived", wrote))
    tab.page.on("request", lambda request: tab.asked.append(request.url))
    # Only errors, which a broken policy is: xterm.js warns of a slow frame, which says how busy the
    # machine is.
    tab.page.on(
        "console",
        lambda message: tab.logged.append(message.text) if message.type == "error" else None,
    )
    tab.page.on("pageerror", lambda error: tab.logged.append(str(error)))
    answer = await tab.page.goto(link)
    assert answer is not None
    assert answer.status == 200
    try:
        await tab.page.wait_for_selector(
            "body.-loaded.-first-byte", state="attached", timeout=PATIENCE_MS
        )
    except TimeoutError:
        raise AssertionError(f"no terminal: {tab.logged}, {tab.asked}, {tab.written}") from None
    return tab


@pytest.mark.real_server
async def test_two_browser_tabs_are_separate_sessions(tmp_path: Path) -> None:
    (tmp_path / "rules.yml").write_text("identifiers: [warfarin]\n")
    options = ("--read-only", "--max-sessions", "2", "--redact", str(tmp_path / "rules.yml"))
    with served(recorded(tmp_path), *options) as server:
        async with browser(tmp_path) as context:
            # A wrong token is refused.
            page = await context.new_page()
            answer = await page.goto(server.link[:-1] + ("A" if server.link[-1] != "A" else "B"))
            assert answer is not None
            assert answer.status == 403
            assert "Invalid link" in await page.content()
            assert server.tabs == set()

            # Keys work, and a replay runs in its own time: the first words come before the last.
            first = await opened(context, server.link)
            await first.until("1 run")
            await first.press("Space")
            await first.until("as recorded")
            await first.press("Enter")
            await first.until("REPLAY")
            await first.until("[ID-1]")
            early = first.text
            await first.until("signed off")
            assert "signed off" not in early
            picture = await first.page.screenshot()
            assert picture.startswith(b"\x89PNG")
            assert len(picture) > 20_000  # painted text, not an empty page

            # What is done in one tab happens in that one only.
            second = await opened(context, server.link)
            assert len(server.tabs) == 2
            await second.until("1 run")
            assert await second.page.screenshot() != picture
            first.forget()
            await second.press("?")
            await second.until("compare")
            assert "compare" not in first.text

            # No third tab; nothing was asked of another host, nothing broke the policy.
            answer = await page.goto(server.link)
            assert answer is not None
            assert answer.status == 503
            await page.goto("about:blank")  # else it would open as soon as another is closed
            asked = {urlsplit(url).netloc for url in first.asked + second.asked}
            assert asked == {f"127.0.0.1:{server.port}"}
            assert not first.logged + second.logged

            # What is masked never reaches a browser, streamed or not.
            assert "[ID-1]" in first.ever
            assert not [
                name
                for name in ("socrates", "warfarin")
                if name in (first.ever + second.ever).lower()
            ]

            # A closed tab ends its process; the other one goes on.
            both = server.tabs
            await second.close()
            gone = wait_for(lambda: both - server.tabs, "the tab's process ending")
            assert len(gone) == 1
            await first.page.bring_to_front()
            # The score card, when the replay has ended.
            await first.until("how the score adds up", ever=True)
            await first.press("Escape")
            await first.until("ENDED")
            await first.press("3")
            await first.until("1 run")

            # Leaving the program is said, and a new session can begin: in the look that was chosen
            # last, edges and all.
            assert await paper(first.page) == "rgb(21, 23, 30)"
            (tmp_path / "preferences.json").write_text('{"theme": "light"}')
            await first.press("q")
            await first.page.wait_for_selector("text=This session has ended", timeout=PATIENCE_MS)
            wait_for(lambda: not server.tabs, "the process ending")
            first.forget()
            await first.page.click("text=Start again")
            await first.page.wait_for_selector(
                "html.light .opening", state="attached", timeout=PATIENCE_MS
            )
            await first.until("1 run")
            assert await paper(first.page) == "rgb(251, 251, 249)"

            # Ctrl-C ends everything.
            tabs = server.tabs
            assert len(tabs) == 1
            server.process.send_signal(signal.SIGINT)
            assert server.process.wait(300) == 130
            assert not any(map(alive, tabs))


TRIED_BY_A_FOREIGN_PAGE = """async ([link, socket]) => {
    const loaded = (kind, name, address) => new Promise(done => {
        const element = document.createElement(kind);
        element.onload = () => done("loaded");
        element.onerror = () => done("refused");
        element[name] = address;
        document.body.append(element);
    });
    return {
        read: await fetch(link).then(answer => answer.text()).catch(() => "refused"),
        script: await loaded("script", "src", new URL("/static/boot.js", link).href),
        picture: await loaded("img", "src", link),
        socket: await new Promise(done => {
            const tried = new WebSocket(socket);
            tried.onopen = () => done("open");
            tried.onerror = () => done("refused");
        }),
        frame: await loaded("iframe", "src", link).then(() => "loaded"),
        opened: (() => { try { return open(link).document.body.innerHTML; } \
catch { return "refused"; } })(),
    };
}"""


@pytest.mark.real_server
async def test_another_site_gets_nothing_even_with_the_link(tmp_path: Path) -> None:
    async def hello(request: web.Request) -> web.Response:
        return web.Response(text="<body>hello</body>", content_type="text/html")

    other = web.Application()
    other.router.add_get("/", hello)
    runner = web.AppRunner(other)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    with served(recorded(tmp_path), "--read-only") as server:
        async with browser(tmp_path) as context:
            page = await context.new_page()
            await page.goto(f"http://127.0.0.1:{runner.addresses[0][1]}/")
            stolen = f"ws://127.0.0.1:{server.port}/ws/{ticket(server)}"
            got = await page.evaluate(TRIED_BY_A_FOREIGN_PAGE, [server.link, stolen])
            framed = [await frame.content() for frame in page.frames[1:]]
        assert {
            name: got[name] for name in ("read", "script", "picture", "socket")
        } == dict.fromkeys(("read", "script", "picture", "socket"), "refused")
        assert "data-ticket" not in str(got["opened"])
        assert len(framed) == 1
        assert "data-ticket" not in framed[0]
        # The window that it opened was a visitor's who has the link; the page could not look into
        # it.
        wait_for(lambda: not server.tabs, "the opened window's session ending")
    await runner.cleanup()


@pytest.mark.real_server
async def test_a_killed_server_leaves_no_session_process_behind(tmp_path: Path) -> None:
    with served(recorded(tmp_path)) as server:
        async with browser(tmp_path) as context:
            tab = await opened(context, server.link)
            await tab.until("› Home")
            (pid,) = server.tabs
            server.process.kill()
            wait_for(lambda: not alive(pid), "the session ending")


@pytest.mark.long
def test_serve_is_listed_in_the_help(tmp_path: Path) -> None:
    assert "serve" in run("--help", data_dir=tmp_path).stdout
    assert json.dumps(run("serve", "--help", data_dir=tmp_path).stdout).count("--read-only") >= 1
