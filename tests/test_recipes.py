"""The recipes in docs/architecture.md: one file and one line in one table each."""

from __future__ import annotations

import os
import subprocess
import sys
from io import BytesIO
from pathlib import Path
from pkgutil import resolve_name
from types import ModuleType

import click
import pytest

from bioeval_tui import plugins
from bioeval_tui.guards import checks
from bioeval_tui.protocols import EvaluatorView, Violation
from bioeval_tui.report.formats.registry import FORMATS, choose, known
from tests.command import call, group
from tests.forked import each
from tests.unit.evaluation.conversation.fakes import job
from tests.unit.report.recorded import GOLDEN

DOCS = Path(__file__).parents[1] / "docs"
CONTENTS = ("runs", "gate", "comparison", "medals")


def test_each_recipe_names_an_existing_file_and_table() -> None:
    page = (
        (DOCS / "architecture.md").read_text(encoding="utf-8").partition("## Add something else")[2]
    )
    for place in (
        "report/formats/registry.py",
        "plugins.py",
        "entry points",
        "guards/checks.py",
        "cli/main.py",
    ):
        assert place in page


A_NEW_FORMAT = """
import sys, types
from bioeval_tui.report.formats import registry

module = types.ModuleType("bioeval_tui.report.formats.shout")  # the file
module.write_runs = lambda runs, asked: " ".join(run.started.job_name.upper() for run in runs)
sys.modules[module.__name__] = module
registry.FORMATS += (  # the line
    registry.Format("shout", (".shout",), "job names, loud",
        {"runs": "bioeval_tui.report.formats.shout:write_runs"}),
)
"""
FORMATTED = [
    (["report", str(GOLDEN), "--format", "shout"], "MEDICATION_REMINDER"),
    (["export", str(GOLDEN), "--to", "shout"], "MEDICATION_REMINDER"),
    (["report", str(GOLDEN), "--output", "a.shout"], "wrote a.shout"),
    (["report", str(GOLDEN), "--output", "a.pdf"], ".eval or .shout, or give --format"),
    (["report", "--help"], "job names, loud"),
]


def said_by_each(folder: Path, before: str, commands: list[list[str]]) -> list[str]:
    """Run commands of a program with what `before` adds to it; return what each said."""
    env = {
        **os.environ,
        "BIOEVAL_DATA_DIR": str(folder),
        "PYTHONPATH": str(DOCS.parent),
        "COLUMNS": "200",
    }
    loaded = "from bioeval_tui.cli import headless, jobs, run, runs_report"
    found = each(commands, env=env, cwd=folder, before=f"{before}\n{loaded}")
    return [" ".join((done.stdout + done.stderr).split()) for done in found]


def test_adding_a_format_takes_one_file_and_one_line(tmp_path: Path) -> None:
    commands = [["runs", *arguments] for arguments, _ in FORMATTED]
    for said, (_, says) in zip(
        said_by_each(tmp_path, A_NEW_FORMAT, commands), FORMATTED, strict=True
    ):
        assert says in said


def test_every_line_of_the_table_of_formats_names_functions_that_exist() -> None:
    formats = known("run", "runs")
    for found in formats:
        for where in filter(None, (*found.writers.values(), found.name_of, found.name_note)):
            assert callable(resolve_name(where))
    assert plugins.BUILT_IN["formats"] == tuple(sorted(found.name for found in FORMATS))
    assert len({found.name for found in formats}) == len(formats)
    for found in formats:  # an extension that several formats have stands for the first of them
        assert choose(Path(f"run{found.endings[0]}"), None, "run", "runs").name == found.name


def format_table() -> str:
    """Return the table of docs/reports.md, as the formats have it."""
    lines = []
    for found in known("run", "runs"):
        runs = "✓" if "runs" in found.writers else "one" if "run" in found.writers else ""
        held = [runs, *("✓" if content in found.writers else "" for content in CONTENTS[1:])]
        endings = ", ".join(f"`{ending}`" for ending in found.endings)
        lines.append(f"| `{found.name}` | {endings} | {found.about} | {' | '.join(held)} |")
    return "\n".join(lines)


def test_the_documentation_has_every_format() -> None:
    assert format_table() in (DOCS / "reports.md").read_text(encoding="utf-8"), format_table()


@pytest.mark.parametrize("group", plugins.GROUPS)
def test_adding_a_plugin_takes_one_file_and_one_entry_point(
    group: plugins.Group, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / f"my_{group}.py").write_text(
        "def make(*given, **named): return 'made'\n", encoding="utf-8"
    )
    info = tmp_path / "mine-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: mine\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[bioeval_tui.{group}]\nmine = my_{group}:make\n")
    monkeypatch.syspath_prepend(tmp_path)
    assert "mine" in [part.name for part in plugins.installed(group)]
    assert plugins.load(group, "mine")() == "made"


A_NEW_PROTOCOL = """
import sys, time, types
from bioeval_tui import plugins
plugins.PROTOCOLS += (  # the line
    plugins.AgentProtocol("echo", "says it again", "bioeval_tui.peers.agents.echo:make_agent",
        tells={}),
)
names = tuple(one.name for one in plugins.PROTOCOLS)
plugins.BUILT_IN = {**plugins.BUILT_IN, "agents": names}  # as when it is loaded
from bioeval_tui.protocols import Reply

class Echo:  # the file
    def __init__(self, terms): pass
    async def open(self): return "echo-1"
    async def send(self, content):
        yield Reply(f"You said: {content}", time.monotonic(), time.monotonic())
    async def observe(self): return None
    async def seed_history(self, role, content): return True
    async def aclose(self): pass

module = types.ModuleType("bioeval_tui.peers.agents.echo")
module.make_agent = Echo
sys.modules[module.__name__] = module
"""
ECHO_JOB = """
target: {user: ada, chatbot: echo, protocol: %s}
aspirationalAverage: 1000
tasks: [{task: Say it again, rules: [{pattern: "you said: remind me"}]}]
facts: []
greetings: [Hello]
evaluator: {kind: scripted, lines: [{say: Remind me}]}
scorer: {kind: rules}
"""


def test_adding_a_protocol_takes_one_file_and_one_line(tmp_path: Path) -> None:
    for name in ("echo", "ecco"):
        (tmp_path / f"{name}.yml").write_text(ECHO_JOB % name, encoding="utf-8")
    commands = [
        ["run", "echo.yml", "--headless", "--json"],
        ["check", "echo.yml"],
        ["check", "ecco.yml"],
    ]
    ran, checked, unknown = said_by_each(tmp_path, A_NEW_PROTOCOL, commands)
    assert '"status": "completed"' in ran
    assert "no problems" in checked
    assert "no server was asked: `bioeval-tui doctor echo.yml` does that" in checked
    assert (
        "there is no protocol `ecco` (did you mean echo?); known are: a2a, ag-ui, echo, " in unknown
    )


def test_every_line_of_the_table_of_protocols_names_a_maker_that_exists() -> None:
    own = plugins.own_agent_protocols()
    for protocol in own:
        assert callable(protocol.load())
    assert [one.name for one in own] == ["rest", "openai", "python", "a2a", "ag-ui"]


def protocol_table() -> str:
    """Return the table of docs/agents.md, as the protocols have it."""
    told = ("pieces", "tool calls", "tool results", "tokens", "state")
    lines = []
    for one in plugins.own_agent_protocols():
        cells = [
            *(one.tells.get(what, "") for what in told),
            *("✓" if what in one.takes else "" for what in ("history", "texts")),
        ]
        lines.append(f"| `{one.name}` | {one.about} | {' | '.join(cells)} |")
    return "\n".join(lines)


def test_the_documentation_has_every_protocol() -> None:
    assert protocol_table() in (DOCS / "agents.md").read_text(encoding="utf-8"), protocol_table()


def test_adding_a_guard_takes_one_function_and_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def shouting(view: EvaluatorView, text: str) -> Violation | None:
        return (
            Violation("shouting", "speaks in capitals", "Do not shout.", "mark")
            if text.isupper()
            else None
        )

    monkeypatch.setattr(checks, "_GUARDS", (*checks._GUARDS, shouting))
    view = EvaluatorView(job(), "supplied", 1, (), ())
    assert [found.rule for found in checks.check(view, "REMIND ME")] == ["shouting"]
    assert checks.check(view, "Remind me") == []
    said = b'{"messages": [{"role": "user", "content": "REMIND ME"}]}'
    *_, totals = checks.check_transcripts(BytesIO(said), "said.jsonl")
    assert totals.by_rule["shouting"] == 1


def a_command(name: str) -> ModuleType:
    """Return the file of a new command that prints its own name."""
    module = ModuleType(f"bioeval_tui.cli.{name}")
    command = click.Command(name, callback=lambda: click.echo(f"this is {name}"))
    module.command = command  # type: ignore[attr-defined]
    return module


@pytest.mark.parametrize("before", [[], ["runs"]], ids=["top", "runs"])
def test_adding_a_command_takes_one_file_and_one_line(
    before: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "bioeval_tui.cli.hello", a_command("hello"))
    monkeypatch.setitem(group(*before)[0].table, "hello", ("hello", "Say hello."))
    assert call(*before, "hello").output == "this is hello\n"
    assert "Say hello." in call(*before, "--help").output
    misspelt = call(*before, "helo")
    assert "did you mean hello?" in str(misspelt.exception)


def test_a_command_that_is_not_called_is_not_loaded() -> None:
    code = "import sys; from bioeval_tui.cli.main import main; main()"
    probe = (
        "import atexit, sys; atexit.register(lambda: print(*sorted(m for m in sys.modules if"
        f" m.startswith('bioeval_tui.cli.'))))\n{code}"
    )
    for arguments, loaded in ([["--help"], set()], [["runs", "--help"], {"runs"}]):
        done = subprocess.run(
            [sys.executable, "-c", probe, *arguments], capture_output=True, text=True, check=True
        )
        modules = {
            name.removeprefix("bioeval_tui.cli.") for name in done.stdout.splitlines()[-1].split()
        }
        assert modules - {"main", "common_options", "options"} == loaded
