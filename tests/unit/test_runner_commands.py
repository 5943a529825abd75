"""What a CI runner would obey is broken by a space in all text that leaves, and by an escape in
JSON; files stay as they are.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from random import Random

import pytest

from bioeval_tui.base.consoles import plain_console
from bioeval_tui.base.files import write_whole
from bioeval_tui.base.streams import CommandBreaker, break_commands
from bioeval_tui.base.terminal import (
    print_document,
    print_json,
    print_json_piecewise,
    print_json_text,
    say,
)

OBEYED = re.compile(r"(?:^|(?<=\r))\s*::\w|##(?:vso|teamcity)?\[", re.MULTILINE | re.IGNORECASE)
RUNNERS = ("GITHUB_ACTIONS", "TF_BUILD", "TEAMCITY_VERSION")
EVIL = (
    "::add-mask::x\n \t::set-output name=a::b\r::x::y\n##vso[task.x]a ##VSO[b]"
    " ##[add-path]c\n##teamcity[d] \u00a0::e::\n\u2003::f::"
)


@pytest.fixture(autouse=True)
def in_no_runner(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in RUNNERS:
        monkeypatch.delenv(name, raising=False)


def test_each_command_is_broken_once_and_nothing_else_is_changed() -> None:
    assert len(OBEYED.findall(EVIL)) == 8
    broken = break_commands(EVIL)
    assert not OBEYED.search(broken)
    assert len(broken) == len(EVIL) + 8
    assert break_commands(broken) == broken
    kept = (
        "a ::b:: [::1]:80 :: \n: :x #[x] # vso[y] std::vector\n## Heading [link]\n:not a command:"
    )
    assert break_commands(kept) == kept


@pytest.mark.parametrize("seed", range(20))
def test_a_command_that_is_written_in_pieces_is_broken(seed: int) -> None:
    random = Random(seed)
    pieces = (
        "#",
        "##",
        "v",
        "vso",
        "so[",
        "[",
        "teamcity[",
        " ",
        " " * 20,
        "\n",
        "\r",
        ":",
        "::",
        "add",
        "a long word ",
    )
    for _ in range(500):
        written = random.choices(pieces, k=random.randint(1, 9))
        breaker = CommandBreaker()
        found = "".join(map(breaker.feed, written))
        assert not OBEYED.search(found), written
        assert re.sub(" ", "", found) == re.sub(" ", "", "".join(written))


@pytest.mark.parametrize("runner", RUNNERS)
def test_whatever_prints_breaks_commands_in_a_runner_only(
    runner: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Also in a program that calls this one, whose streams are its own."""

    def print_all() -> None:
        say(EVIL)
        say(EVIL, err=True)
        print_document(EVIL)
        plain_console().print(EVIL)
        plain_console(stderr=True).print(EVIL)

    print_all()
    printed = capsys.readouterr()
    assert OBEYED.search(printed.out)
    assert OBEYED.search(printed.err)
    monkeypatch.setenv(runner, "1")
    print_all()
    printed = capsys.readouterr()
    assert not OBEYED.search(printed.out + printed.err)
    assert printed.out.count("task.x") == 3
    write_whole(tmp_path / "out.csv", EVIL)
    assert (tmp_path / "out.csv").read_bytes() == EVIL.encode(), "what has a file's name is a file"


def test_json_keeps_its_values(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    value = {EVIL: [EVIL, {"a": f"\\{EVIL}"}], "b": "###vso[x]##"}
    monkeypatch.setenv("TF_BUILD", "True")
    for prints in (
        lambda: print_json(value),
        lambda: print_json(value, indent=2),
        lambda: print_json_text(json.dumps(value, indent=1)),
        lambda: print_json_piecewise(value),
        lambda: print_document(json.dumps(value, ensure_ascii=False)),
    ):
        prints()
        printed = capsys.readouterr().out
        assert not OBEYED.search(printed), printed
        assert json.loads(printed) == value


LOUD = "\n".join(
    ["＃＃vso[task.x]a", "#\u200b#vso[task.x]b", "：：add-mask：：c", "\u00ad::add-mask::d",
        "é::e ##vso[task.x]f"]
)  # fmt: skip


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "cp1252", "utf-8"])
def test_what_becomes_a_command_only_in_the_streams_encoding_is_broken(encoding: str) -> None:
    script = (
        "import sys; from bioeval_tui.base.streams import make_lasting; make_lasting()\n"
        "from bioeval_tui.base.terminal import print_document, say\n"
        f"print({LOUD!r}); say({LOUD!r}); print_document({LOUD!r}); say({LOUD!r}, err=True)\n"
    )
    done = subprocess.run(
        [sys.executable, "-P", "-c", script], capture_output=True, check=True,
        env={**os.environ, "GITHUB_ACTIONS": "true", "PYTHONIOENCODING": encoding},
    )  # fmt: skip
    printed = (done.stdout + b"\n" + done.stderr).decode(encoding, "replace")
    assert printed.count("task.x") == 12
    assert not OBEYED.search(printed), printed


@pytest.mark.skipif(not Path("/dev/stdout").exists(), reason="a name for stdout")
@pytest.mark.parametrize("name", ["/dev/stdout", "/dev/fd/1"])
def test_a_file_that_stands_for_stdout_is_a_runners_log(name: str) -> None:
    script = (
        "import pathlib; from bioeval_tui.base.files import write_named;"
        f" write_named(pathlib.Path({name!r}), {EVIL!r})"
    )
    run = [sys.executable, "-P", "-c", script]
    for runner, obeyed in (("", True), ("true", False)):
        done = subprocess.run(
            run,
            capture_output=True,
            check=True,
            text=True,
            env={**os.environ, "GITHUB_ACTIONS": runner},
        )
        assert bool(OBEYED.search(done.stdout)) is obeyed, done.stdout
