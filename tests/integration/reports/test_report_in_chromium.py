"""A report of a hostile transcript, in a real browser: no script runs, no request leaves."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from bioeval_tui.report.result import load_run
from tests.documents import document_of
from tests.integration.reports.browser import canary, visit
from tests.unit.report.recorded import GOLDEN, Recorded, Talk

pytestmark = pytest.mark.real_server

PWN = "document.documentElement.dataset.pwned=1"
LOADS = (
    '<img src="{leak}/img">',
    '<img src=x onerror="{pwn}">',
    '<svg onload="{pwn}"></svg>',
    "<script>{pwn}</script>",
    '<script src="{leak}/script"></script>',
    '<iframe src="{leak}/frame"></iframe>',
    "<iframe srcdoc=\"<script>fetch('{leak}/srcdoc')</script>\"></iframe>",
    '<link rel="stylesheet" href="{leak}/sheet">',
    '<style>@import "{leak}/import"; body{{background:url({leak}/css)}}</style>',
    '<p style="background:url({leak}/attribute)">x</p>',
    '<object data="{leak}/object"></object><embed src="{leak}/embed">',
    '<video src="{leak}/video" poster="{leak}/poster"></video>',
    (
        '\n\n[x]({leak}/link "t") ![i]({leak}/image) <{leak}/auto>\n\n| [y](javascript:{pwn})'
        " |\n|---|\n| ![]({leak}/cell) |\n\n"
    ),
    '<details open ontoggle="{pwn}">x</details><input autofocus onfocus="{pwn}">',
)
BREAKS = (
    '</style><script>{pwn}</script>', "</title><script>{pwn}</script>",
    "</svg><img src='{leak}/svg'>",
    '"><img src="{leak}/quote">', "'><img src='{leak}/single'>", "--><img src='{leak}/comment'>",
    "]]><img src='{leak}/cdata'>", '<base href="{leak}/base">',
    '<meta http-equiv="refresh" content="0;url={leak}/meta">',
    '<form action="{leak}/form"><button autofocus>', "{{{{ ''.__class__ }}}}", "<plaintext>",
)  # fmt: skip


def payload(port: int, parts: tuple[str, ...]) -> str:
    return "".join(part.format(leak=f"http://127.0.0.1:{port}/leak", pwn=PWN) for part in parts)


def hostile_report(text: str) -> str:
    talk = Talk(says=text, tasks=(0.2,), holds=(False,), failures=1)
    fields = dict.fromkeys(("agent", "evaluator", "judge", "model", "job_path"), text) | {
        "prompts": {text: text}
    }
    run = Recorded([talk], [talk], job=text, started=fields).loaded()
    for conversation in run.state.conversations.values():
        for message in conversation.messages:
            message.speaker = text
    return document_of("html", run)


def test_a_hostile_transcript_runs_no_script_and_makes_no_request(tmp_path: Path) -> None:
    with canary() as server:
        page = tmp_path / "report.html"
        page.write_text(hostile_report(payload(server.port, BREAKS + LOADS)), encoding="utf-8")
        document, logged = visit(page, server.port)
        assert "data-pwned" not in document.split(">", 2)[1]
        assert "The conversations, side by side" in document
        assert server.leaks == []
        # nothing even tried: escaping held by itself
        assert "Content Security Policy" not in logged


def test_the_content_security_policy_holds_even_without_escaping(tmp_path: Path) -> None:
    with canary() as server:
        raw = payload(server.port, LOADS)
        document = document_of("html", load_run(GOLDEN))
        page = tmp_path / "raw.html"
        page.write_text(document.replace("<article>", f"<article>{raw}"), encoding="utf-8")
        rendered, logged = visit(page, server.port)
        assert "data-pwned" not in rendered.split(">", 2)[1]
        assert server.leaks == []
        assert "Content Security Policy" in logged


def test_without_escaping_and_policy_the_same_page_leaks(tmp_path: Path) -> None:
    """Shows that the two tests above can fail."""
    with canary() as server:
        page = tmp_path / "bare.html"
        page.write_text(f"<!doctype html><html><body>{payload(server.port, LOADS)}</body></html>")
        rendered, _ = visit(page, server.port)
        assert "data-pwned" in rendered.split(">", 2)[1]
        assert len(server.leaks) >= 5


def test_the_demos_page_renders_without_console_errors(tmp_path: Path) -> None:
    with canary() as server:
        page = tmp_path / "demo.html"
        page.write_text(document_of("html", load_run(GOLDEN)), encoding="utf-8")
        picture = tmp_path / "demo.png"
        _, logged = visit(page, server.port, f"--screenshot={picture}", "--window-size=1180,900")
        assert picture.read_bytes().startswith(b"\x89PNG")
        assert picture.stat().st_size > 20_000  # styled text, not an empty or unstyled page
        assert "Content Security Policy" not in logged
        assert server.leaks == []


@pytest.mark.parametrize("width", [390, 320])
def test_a_report_needs_no_horizontal_scrolling_on_a_phone(tmp_path: Path, width: int) -> None:
    report = tmp_path / "report.html"
    report.write_text(document_of("html", load_run(GOLDEN)), encoding="utf-8")
    frame = tmp_path / "frame.html"
    frame.write_text(
        f'<iframe id="f" src="{report.name}" width="{width}" height="800"'
        " style=\"border:0\"></iframe><script>const f = document.getElementById('f'); f.onload ="
        " () => { const parts = [...f.contentDocument.querySelectorAll('html, section,"
        " table')]; document.title = 'needs ' + Math.max(...parts.map(part =>"
        " part.scrollWidth)); };</script>",
        encoding="utf-8",
    )
    with canary() as found:
        document, _ = visit(frame, found.port, "--dump-dom", "--allow-file-access-from-files")
    needs = re.search(r"<title>needs (\d+)</title>", document)
    assert needs is not None
    assert int(needs[1]) <= width


def test_a_line_that_cannot_be_broken_stays_in_its_conditions_column(tmp_path: Path) -> None:
    # Such as 2,000 vowel signs after one letter; `clean` leaves 8, so they are put in afterwards.
    talk = Talk(says="one long LINE")
    report = tmp_path / "report.html"
    page = document_of("html", Recorded([talk], [talk]).loaded())
    report.write_text(page.replace("LINE", "L" + "\u0903" * 2_000), encoding="utf-8")
    frame = tmp_path / "frame.html"
    frame.write_text(
        f'<iframe id="f" src="{report.name}" width="1080"'
        " height=\"800\"></iframe><script>const f = document.getElementById('f'); f.onload = () =>"
        " { const cells = [...f.contentDocument.querySelectorAll('.talk td')]; const texts ="
        " [...f.contentDocument.querySelectorAll('.talk .text')]; document.title = 'beyond ' +"
        " Math.max(...cells.map(cell => cell.scrollWidth - cell.clientWidth)) + ', text ' +"
        " Math.max(...texts.map(text => text.scrollWidth)); };</script>",
        encoding="utf-8",
    )
    with canary() as found:
        document, _ = visit(frame, found.port, "--dump-dom", "--allow-file-access-from-files")
    measured = re.search(r"<title>beyond (\d+), text (\d+)</title>", document)
    assert measured is not None
    assert int(measured[1]) == 0
    assert int(measured[2]) > 2_000, "the line is as long as it was meant to be"
