"""Plug-ins: found without being imported, loaded when named, and the example of the docs works."""

from __future__ import annotations

import asyncio
import re
import sys
import tomllib
from pathlib import Path

import pytest

from bioeval_tui import plugins
from bioeval_tui.errors import UsageError
from bioeval_tui.jobs.models import TargetConfig
from bioeval_tui.protocols import Delta, Reply

DOCS = Path(__file__).parents[2] / "docs" / "plugins.md"
TARGET = TargetConfig(user="ann", chatbot="bot", protocol="line")


def install(folder, name, entry_points, **modules):
    """Put a distribution into `folder`, as an installer would."""
    info = folder / f"{name.replace('-', '_')}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(entry_points)
    for module, code in modules.items():
        (folder / f"{module}.py").write_text(code)


@pytest.fixture
def site(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        if str(tmp_path) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]


@pytest.fixture
def example(site):
    """The example of the docs, installed."""
    files = dict(
        re.findall(r"<!-- file: (\S+) -->\n```\w+\n(.*?)```", DOCS.read_text(encoding="utf-8"), re.DOTALL)
    )
    project = tomllib.loads(files["pyproject.toml"])["project"]
    lines = [
        f"[{group}]\n" + "".join(f"{name} = {value}\n" for name, value in entries.items())
        for group, entries in project["entry-points"].items()
    ]
    install(site, project["name"], "\n".join(lines), line_agent=files["line_agent.py"])
    return files["line_agent.py"]


async def test_the_example_of_the_docs_holds_a_turn(example):
    async def shout(reader, writer):
        while line := await reader.readline():
            writer.write(line.upper())
        writer.close()
        await writer.wait_closed()

    server = await asyncio.start_server(shout, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    agent = plugins.make_agent("line", target=TARGET, url=f"http://127.0.0.1:{port}", model="m")
    await agent.open()
    pieces = [piece async for piece in agent.send("hello\nthere")]
    await agent.aclose()
    server.close()
    await server.wait_closed()
    assert pieces[0] == Delta("HELLO THERE")
    assert isinstance(pieces[-1], Reply)
    assert len(example.strip().splitlines()) <= 40


def test_listing_imports_nothing(example):
    (found,) = [plugin for plugin in plugins.installed("agents") if plugin.name == "line"]
    assert (found.target, found.package) == ("line_agent:LineAgent", "line-agent 1.0")
    assert "line_agent" not in sys.modules


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("lime", "no agent `lime` (did you mean line?); known are: line, openai, rest"),
        ("zzz", "known are: line, openai, rest"),
    ],
)
def test_a_missing_name_lists_the_others(example, name, says):
    with pytest.raises(UsageError, match=re.escape(says)):
        plugins.load("agents", name)


def test_a_group_without_any_says_so():
    with pytest.raises(UsageError, match=r"no plug-in of the group bioeval_tui\.metrics is installed"):
        plugins.load("metrics", "x")


def test_a_plugin_that_breaks_on_import_is_one_sentence(site):
    entry_points = "[bioeval_tui.judges]\nbroken = broken_judge:Judge\ngone = no_such_module:Judge\n"
    install(site, "broken-judge", entry_points, broken_judge="raise RuntimeError('no\\nluck')")
    with pytest.raises(
        UsageError, match=r"broken of broken-judge 1\.0 cannot be loaded: RuntimeError: no luck"
    ):
        plugins.load("judges", "broken")
    with pytest.raises(UsageError, match="No module named 'no_such_module'"):
        plugins.load("judges", "gone")


def test_a_plugin_cannot_take_the_name_of_a_part_of_this_program(site):
    install(site, "thief", "[bioeval_tui.agents]\nrest = thief:Agent\n", thief="raise AssertionError")
    assert "rest" not in [plugin.name for plugin in plugins.installed("agents")]
    with pytest.raises(UsageError, match="no agent `rest`"):
        plugins.load("agents", "rest")
