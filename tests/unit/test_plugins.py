"""Plug-ins are found without importing them and loaded when named; the documented example works."""

from __future__ import annotations

import asyncio
import os
import re
import runpy
import sys
import tomllib
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from bioeval_tui import __version__, plugins
from bioeval_tui.base.errors import UsageError
from bioeval_tui.base.settings import Secret, Settings
from bioeval_tui.evaluation.wiring.check_job import check_job
from bioeval_tui.evaluation.wiring.doctor import examine
from bioeval_tui.grading import GraderPool
from bioeval_tui.jobs.models import TargetConfig
from bioeval_tui.peers.traces import Traces
from bioeval_tui.protocols import Delta, PeerError, Reply
from bioeval_tui.sample import named
from tests.forked import each
from tests.servers.whole_runs import hold
from tests.unit.report.recorded import GOLDEN

TaskFolder = runpy.run_path(str(Path(__file__).parent / "grade" / "conftest.py"))["TaskFolder"]

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


def documented_files():
    """Return the files of docs/plugins.md by name."""
    text = DOCS.read_text(encoding="utf-8")
    return dict(re.findall(r"<!-- file: (\S+) -->\n```\w+\n(.*?)```", text, re.DOTALL))


@pytest.fixture
def example(site):
    """The example of the docs, installed."""
    files = documented_files()
    project = tomllib.loads(files["pyproject.toml"])["project"]
    lines = [
        f"[{group}]\n" + "".join(f"{name} = {value}\n" for name, value in entries.items())
        for group, entries in project["entry-points"].items()
    ]
    install(site, project["name"], "\n".join(lines), line_agent=files["line_agent.py"])
    return files["line_agent.py"]


@pytest.fixture
async def shouting():
    """An agent that gives each line back in capitals; its address."""

    async def shout(reader, writer):
        while line := await reader.readline():
            writer.write(line.upper())
        writer.close()
        await writer.wait_closed()

    async with await asyncio.start_server(shout, "127.0.0.1", 0) as server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"


async def test_the_documented_plugin_answers_a_message(example, shouting):
    make = plugins.agent_protocol("line").load()
    agent = make(SimpleNamespace(target=TARGET, url=shouting, model="m"))
    await agent.open()
    pieces = [piece async for piece in agent.send("hello\nthere")]
    await agent.aclose()
    assert pieces[0] == Delta("HELLO THERE")
    assert isinstance(pieces[-1], Reply)
    assert len(example.strip().splitlines()) <= 40


JOB = """
target: {user: ann, chatbot: bot, protocol: line}
aspirationalAverage: 60000
evaluator: {kind: scripted, lines: [{say: make a note}]}
scorer: {kind: rules}
facts: []
tasks: [{task: Have a note made, rules: [{pattern: MAKE A NOTE}]}]
setups: [{cypher: "CREATE (:Note)"}]
assertions: [{cypher: "MATCH (n:Note) RETURN count(n)", expected: 7, invariant: true}]
"""
GRAPH = """
from bioeval_tui.protocols import GraphSnapshot, Rows

class Sevens:
    identity = "sevens"
    told = []
    def __init__(self, uri): self.told.append(uri)
    async def query(self, cypher, parameters=None, *, timeout_s=10.0): return Rows(("n",), ((7,),))
    async def execute(self, cypher, *, timeout_s=30.0): self.told.append(cypher)
    async def snapshot(self): return GraphSnapshot()
    async def aclose(self): self.told.append("closed")
"""


async def test_a_job_runs_with_the_documented_agent_and_a_plugins_graph(
    example, shouting, site, tmp_path_factory
):
    install(site, "sevens", "[bioeval_tui.graphs]\nsevens = sevens:Sevens\n", sevens=GRAPH)
    folder = tmp_path_factory.mktemp("run")
    settings = {"graph_uri": Secret("sevens://u:secret@here")}
    run = await hold(JOB, folder, settings=settings, agent_url=shouting, graph="sevens")
    assert run.state.scores() == {"withheld": 1.0, "supplied": 1.0}
    assert run.state.started.graph == "sevens"
    assert sys.modules["sevens"].Sevens.told == [
        "sevens://u:secret@here",
        *["CREATE (:Note)"] * 2,
        "closed",
    ]
    assert "secret" not in run.path.read_text(encoding="utf-8")
    with pytest.raises(
        UsageError, match=re.escape("no graph `seven` (did you mean sevens?); known are: embedded,")
    ):
        await hold(JOB, folder, agent_url=shouting, graph="seven")


@pytest.mark.parametrize(("most", "score"), [(1000, 1.0), (3, 0.0)])
async def test_the_documented_judge_judges(example, shouting, site, tmp_path_factory, most, score):
    code = documented_files()["length_judge.py"]
    point = "[bioeval_tui.judges]\nlength = length_judge:LengthJudge\n"
    install(site, "length-judge", point, length_judge=code)
    scorer = f"scorer: {{kind: length, options: {{most: {most}}}}}"
    text = JOB.partition("setups:")[0].replace("scorer: {kind: rules}", scorer)
    text = text.replace("aspirationalAverage: 60000", "aspirationalAverage: null")
    run = await hold(text, tmp_path_factory.mktemp("run"), agent_url=shouting)
    assert run.state.scores() == {"withheld": score, "supplied": score}
    assert {event.judge for event in run.of("transcript_scored")} == {"length"}


AWAY = """
import asyncio
from bioeval_tui.peers.agents.rest import RestAgent

class Away:
    async def open(self): return "s1"
    async def send(self, content):
        raise ConnectionRefusedError(111, "Connection refused")
        yield
    async def observe(self): return None
    async def seed_text(self, text): pass
    async def seed_history(self, role, content): return True
    async def aclose(self): pass

def make(*, target, url, model): return Away()

def cannot(*, target, url, model): return {}["key"]

class Ends(Away):
    async def send(self, content):
        raise SystemExit(0)
        yield

def ends(*, target, url, model): return Ends()

class Cancels(Away):
    async def send(self, content):
        raise asyncio.CancelledError
        yield

def cancels(*, target, url, model): return Cancels()

def nothing(*, target, url, model): return None
"""


@pytest.mark.parametrize(
    ("name", "says"),
    [
        (
            "away",
            "the agent plug-in away failed: ConnectionRefusedError: [Errno 111] Connection refused",
        ),
        ("broken", "the agent plug-in broken failed: KeyError: 'key'"),
        ("ends", "the agent plug-in ends failed: SystemExit: 0"),
        ("cancels", "the agent plug-in cancels failed: CancelledError"),
        ("nothing", "the agent plug-in nothing failed: TypeError: a NoneType has no `open`, no"),
    ],
)
async def test_an_exception_in_a_plugin_is_the_plugins_fault(site, tmp_path_factory, name, says):
    points = "[bioeval_tui.agents]\naway = away:make\nbroken = away:cannot\n"
    points += "ends = away:ends\ncancels = away:cancels\nnothing = away:nothing\n"
    install(site, "away", points, away=AWAY)
    text = JOB.partition("setups:")[0].replace("protocol: line", f"protocol: {name}")
    run = await hold(
        text, tmp_path_factory.mktemp("run"), agent_url="http://127.0.0.1:1", graph="none"
    )
    assert run.state.scores() == {"withheld": None, "supplied": None}
    ended = run.of("conversation_ended")
    assert {(event.reason, event.fault) for event in ended} == {("agent_failed", "agent")}
    assert all(event.detail.startswith(says) for event in ended), ended[0].detail
    assert "a bug in this program" not in run.path.read_text(encoding="utf-8")


ODD = """
import time
from bioeval_tui.protocols import (
    AgentProtocol, Delta, Generation, PeerError, Reply, TaskVerdict, Utterance, Verdict
)

NOW = time.monotonic()

class Good:
    identity = "good"
    def __init__(self, *given, **named): pass
    async def open(self): return ""
    async def send(self, content): yield Reply("make a note", NOW, NOW)
    async def observe(self): return None
    async def seed_text(self, text): pass
    async def seed_history(self, role, content): return True
    async def speak(self, view): yield Utterance("make a note")
    async def score(self, view): return [Verdict("good", [TaskVerdict(1, 1)])]
    async def query(self, cypher, parameters=None, *, timeout_s=10.0): return 5
    async def execute(self, cypher, *, timeout_s=30.0): pass
    async def snapshot(self): return "empty"
    async def aclose(self): pass

class NumberedSession(Good):
    async def open(self): return 17

class NoSession(Good):
    async def open(self): return None

class PlainOpen(Good):
    def open(self): return ""

class Plain(Good):
    def send(self, content): return "text"

class Awaited(Good):
    async def send(self, content): return "text"

class Text(Good):
    async def send(self, content): yield "text"

class NoReply(Good):
    async def send(self, content): yield Delta("text")

class Untimed(Good):
    async def send(self, content): yield Reply("text", None, None)

class Backwards(Good):
    async def send(self, content): yield Reply("text", NOW, NOW - 5)

class NotText(Good):
    async def send(self, content): yield Reply({"a": 1}, NOW, NOW)

class OddEvent(Good):
    async def send(self, content):
        yield Generation({"x": object()})
        yield Reply("text", NOW, NOW)

class OddState(Good):
    async def observe(self): return {"x": object()}

class ListedState(Good):
    async def observe(self): return ["x"]

class NumberedName(Good):
    identity = 5

class OddFacts(Good):
    async def speak(self, view): yield Utterance("make a note", facts=(7, "x"))

class OddScore(Good):
    async def score(self, view): return [Verdict("good", (TaskVerdict(1, "good"),))]

class OneVerdict(Good):
    async def score(self, view): return Verdict("good", (TaskVerdict(1, 1.0),))

class NoVerdict(Good):
    async def score(self, view): return None
"""


@pytest.mark.parametrize(
    ("key", "name", "says"),
    [
        ("agent", "NumberedSession", "`open` gave a value of the type int: Input should be a"),
        ("agent", "NoSession", "`open` gave a value of the type NoneType: Input should be a"),
        ("agent", "PlainOpen", "`open` must be `async`"),
        ("agent", "Plain", "`send` must be an async generator, which yields"),
        ("agent", "Awaited", "`send` must be an async generator, which yields"),
        ("agent", "Text", "`send` must yield a Delta or Generation or Reply, not a str"),
        ("agent", "NoReply", "`send` must yield a Reply last"),
        ("agent", "Untimed", "the Reply of `send` gave started of the type NoneType: Input"),
        ("agent", "Backwards", "the Reply of `send` ended before it started: both are times"),
        ("agent", "NotText", "the Reply of `send` gave content of the type dict: Input should"),
        ("agent", "OddEvent", "Unable to serialize unknown type: <class 'object'>"),
        ("agent", "OddState", "Unable to serialize unknown type: <class 'object'>"),
        ("agent", "ListedState", "`observe` gave a value of the type list: Input should be a"),
        ("evaluator", "NumberedName", "`identity` gave a value of the type int: Input should be"),
        ("evaluator", "OddFacts", "the Utterance of `speak` gave facts.1 of the type str: Input"),
        ("judge", "OddScore", "`score` gave 0.tasks.0.score of the type str: Input should be a"),
        ("judge", "OneVerdict", "`score` gave a value of the type Verdict: Input should be an"),
        ("judge", "NoVerdict", "`score` gave a value of the type NoneType: Input should be an"),
        ("graph", "Good", "`query` gave a value of the type int: Input should be a dictionary"),
    ],
)
async def test_what_a_plugin_gives_of_another_type_is_the_plugins_fault(
    site, tmp_path_factory, key, name, says
):
    points = f"[bioeval_tui.{key}s]\n{name} = odd:{name}\n"
    install(site, "odd", points + "[bioeval_tui.agents]\nline = odd:Good\n", odd=ODD)
    text = JOB if key == "graph" else JOB.partition("setups:")[0]
    said = {"agent": "protocol: line", "evaluator": "kind: scripted", "judge": "kind: rules"}
    if key in said:
        text = text.replace(said[key], f"{said[key].partition(':')[0]}: {name}")
    graph = name if key == "graph" else "none"
    wrong = f"the {key} plug-in {name} failed: TypeError: {says}"
    folder = tmp_path_factory.mktemp("run")
    found = ""
    try:
        run = await hold(text, folder, agent_url="http://127.0.0.1:1", graph=graph)
        found = run.path.read_text(encoding="utf-8")
    except PeerError as error:  # before there is a run
        found = str(error)
    assert wrong in found
    assert "a bug in this program" not in found


OPTIONS = """
import time
from bioeval_tui.peers.offline import ScriptedEvaluator
from bioeval_tui.peers.offline import RulesJudge
from bioeval_tui.jobs.models import ScriptLine
from bioeval_tui.protocols import Reply, traceparent

told = {}

class Agent:
    async def open(self): return "s1"
    async def send(self, content):
        told["traceparent"] = traceparent()
        yield Reply(content, time.monotonic(), time.monotonic())
    async def observe(self): return None
    async def seed_history(self, role, content): return True
    async def aclose(self): pass

def agent(*, target, url, model):
    told["agent"] = target.options
    return Agent()

def evaluator(job):
    told["evaluator"] = job.evaluator.options
    told["hidden"] = (job.scorer.options, job.target.options)
    told.setdefault("jobs", []).append(job.model_dump_json())
    line = ScriptLine(say=job.evaluator.options["line"])
    scripted = job.evaluator.model_copy(update={"lines": (line,)})
    return ScriptedEvaluator(job.model_copy(update={"evaluator": scripted}))

def judge(job):
    if "threshold" not in job.scorer.options:
        raise ValueError("scorer.options needs a threshold")
    told["judge"] = job.scorer.options
    return RulesJudge()
"""


async def test_a_plugin_gets_only_its_own_options_and_its_agent_the_traceparent(
    site, tmp_path_factory
):
    points = "".join(
        f"[bioeval_tui.{kind}s]\ntuned = tuned:{kind}\n" for kind in ("agent", "evaluator", "judge")
    )
    install(site, "tuned", points, tuned=OPTIONS)
    text = """
target: {user: ann, chatbot: bot, protocol: tuned, options: {depth: 3}}
aspirationalAverage: 60000
evaluator: {kind: tuned, options: {line: make a note}, lines: [{say: A LINE, fact: 1}]}
scorer: {kind: tuned, options: {threshold: 0.5}}
facts: [THE FACT]
tasks:
  - task: Have a note made
    acceptanceCriteria: THE CRITERION
    rules: [{pattern: make a note}]
telemetry: {waitMs: 0}
"""
    run = await hold(
        text,
        tmp_path_factory.mktemp("run"),
        agent_url="http://127.0.0.1:1",
        graph="none",
        otlp=0,
        traces=Traces(),
    )
    assert run.state.scores() == {"withheld": 1.0, "supplied": 1.0}
    answers = [
        event.traceparent for event in run.of("message_started") if event.role == "assistant"
    ]
    assert sys.modules["tuned"].told.pop("traceparent") == answers[-1] != ""
    jobs = sys.modules["tuned"].told.pop("jobs")
    assert "THE FACT" not in jobs[0], "withheld"
    assert "THE FACT" in jobs[-1], "supplied"
    assert not any(word in job for job in jobs for word in ("THE CRITERION", "A LINE"))
    assert sys.modules["tuned"].told == {
        "agent": {"depth": 3}, "evaluator": {"line": "make a note"}, "hidden": ({}, {}),
        "judge": {"threshold": 0.5},
    }  # fmt: skip
    with pytest.raises(
        PeerError,
        match=r"the judge plug-in tuned failed: ValueError: scorer\.options needs a threshold",
    ):
        await hold(
            text.replace(", options: {threshold: 0.5}", ""),
            tmp_path_factory.mktemp("run"),
            graph="none",
        )


TERMS = """
from bioeval_tui.protocols import AgentProtocol
from own_agent import Agent

told = []

def make(terms):
    told.append(terms)
    return Agent()

uses = ("apiKeyEnv", "headers", "headersEnv")
protocol = AgentProtocol("own", "speaks its own protocol", make, tells={}, uses=uses)
named = AgentProtocol("named", "is imported when needed", "own_agent:make", tells={}, uses=())
unstated = AgentProtocol("unstated", "says nothing of keys", make, tells={})
paid = AgentProtocol("paid", "is a model's endpoint", make, tells={}, is_model=True)
number = 3
"""
OWN_AGENT = (
    OPTIONS.partition("def agent(")[0]
    + """
def make(terms): return Agent()
"""
)
OWN_JOB = """
target:
  user: ann
  chatbot: bot
  protocol: own
  url: http://127.0.0.1:1
  apiKeyEnv: OWN_KEY
  headersEnv: {X-Lab: OWN_TOKEN}
aspirationalAverage: 60000
evaluator: {kind: scripted, lines: [{say: make a note}]}
scorer: {kind: rules}
facts: []
tasks: [{task: Have a note made, rules: [{pattern: make a note}]}]
"""


@pytest.fixture
def own_protocols(site, monkeypatch):
    """A plug-in with protocols of its own, and the keys that its job names."""
    points = "[bioeval_tui.agents]\n" + "".join(
        f"{name} = own_terms:{value}\n"
        for name, value in [
            ("own", "protocol"),
            ("named", "named"),
            ("unstated", "unstated"),
            ("paid", "paid"),
            ("number", "number"),
        ]
    )
    install(site, "own-terms", points, own_terms=TERMS, own_agent=OWN_AGENT)
    for name in ("OWN_KEY", "OWN_TOKEN"):
        monkeypatch.setenv(name, f"the {name}")


async def test_a_plugins_protocol_gets_the_terms_of_a_built_in_one(own_protocols, tmp_path_factory):
    folder = tmp_path_factory.mktemp("run")
    with pytest.raises(
        UsageError, match=r"sends the key in OWN_KEY to 127\.0\.0\.1:1, a host that it does not"
    ):
        await hold(OWN_JOB, folder, agent_url="http://127.0.0.1:1", graph="none")
    run = await hold(
        OWN_JOB, folder, agent_url="http://127.0.0.1:1", graph="none", allow_hosts=("127.0.0.1:1",)
    )
    assert run.state.scores() == {"withheld": 1.0, "supplied": 1.0}
    terms = sys.modules["own_terms"].told[-1]
    assert (terms.url, terms.key, terms.headers) == (
        "http://127.0.0.1:1",
        "the OWN_KEY",
        {"X-Lab": "the OWN_TOKEN"},
    )
    assert terms.secrets == ("the OWN_TOKEN",)
    assert terms.may_call("http://127.0.0.1:1/other")
    assert not terms.may_call("http://192.0.2.1/")
    assert "the OWN_" not in run.path.read_text(encoding="utf-8")


async def test_a_plugin_that_states_no_key_is_given_none(own_protocols, tmp_path_factory):
    text = OWN_JOB.replace("protocol: own", "protocol: unstated")
    run = await hold(
        text, tmp_path_factory.mktemp("run"), agent_url="http://127.0.0.1:1", graph="none"
    )
    assert run.state.scores() == {"withheld": 1.0, "supplied": 1.0}
    terms = sys.modules["own_terms"].told[-1]
    assert (terms.key, terms.headers, terms.secrets) == (None, {}, ())


def test_check_says_which_keys_a_plugins_protocol_does_not_use(own_protocols, tmp_path_factory):
    job = tmp_path_factory.mktemp("job") / "job.yml"
    job.write_text(OWN_JOB.replace("protocol: own", "protocol: named"))
    said = [str(problem) for problem in check_job(job).problems]
    assert any(
        "an agent that speaks named does not use this key; it is for" in line for line in said
    ), said


async def test_whether_a_plugins_agent_is_a_model_is_recorded_and_seen_without_the_plugin(
    own_protocols, tmp_path_factory
):
    text = OWN_JOB.replace("protocol: own", "protocol: paid")
    run = await hold(
        text, tmp_path_factory.mktemp("run"), agent_url="http://127.0.0.1:1", graph="none"
    )
    assert run.of("run_started")[0].agent_is_model
    del sys.modules["own_terms"]
    assert run.state.agent_is_model
    assert "own_terms" not in sys.modules
    rest = run.state.started.model_copy(update={"agent_is_model": None})
    assert not replace(run.state, started=rest).agent_is_model
    older = rest.model_copy(update={"job": {"target": {"protocol": "openai"}}})
    assert replace(run.state, started=older).agent_is_model


def test_what_is_no_agent_is_one_sentence(own_protocols):
    says = "neither an AgentProtocol nor a callable, but of the type int"
    with pytest.raises(UsageError, match=says):
        plugins.agent_protocol("number")


def test_check_says_that_a_plugin_is_no_agent(own_protocols, tmp_path_factory):
    job = tmp_path_factory.mktemp("job") / "job.yml"
    job.write_text(OWN_JOB.replace("protocol: own", "protocol: number"))
    assert any(
        "neither an AgentProtocol nor" in str(problem) for problem in check_job(job).problems
    )


async def test_plugins_that_receive_transcripts_are_listed_and_refused_for_sensitive_jobs(
    example, shouting, site, tmp_path_factory
):
    code = "from bioeval_tui.peers.offline import RulesJudge\ndef make(job): return RulesJudge()\n"
    install(site, "own-judge", "[bioeval_tui.judges]\nown = own_judge:make\n", own_judge=code)
    text = JOB.replace("kind: rules", "kind: own").partition("setups:")[0]
    run = await hold(text, tmp_path_factory.mktemp("run"), agent_url=shouting, graph="none")
    assert run.state.scores() == {"withheld": 1.0, "supplied": 1.0}
    assert run.state.started.hosts[1:] == ("wherever the plug-in own sends them",)
    with pytest.raises(UsageError, match="wherever the plug-in own sends them; only loopback"):
        await hold(text + "sensitive: true\n", tmp_path_factory.mktemp("run"), agent_url=shouting)


def test_a_task_can_be_graded_by_a_plugins_metric(site, tmp_path_factory, monkeypatch):
    code = (
        "from bioeval_tui.grading.metrics import Metric\nworst = Metric('worst', lambda true,"
        " given: float(abs(true - given).max()), True)\nnone = 3\n"
    )
    entry_points = "[bioeval_tui.metrics]\nworst = worst_error:worst\nnone = worst_error:none\n"
    install(site, "worst-error", entry_points, worst_error=code)
    monkeypatch.setenv("PYTHONPATH", str(site))
    tasks = TaskFolder(tmp_path_factory.mktemp("tasks"))
    tasks.add("lab/worst", grader={"metric": "worst", "target": "y"})
    with GraderPool(tasks.registry, workers=1) as pool:
        found = pool.grade(tasks.submit("id,y\na,1.0\nb,2.5\nc,3.1\n"), "lab/worst")
    assert (found.score, found.is_lower_better) == (0.5, True)
    for name, wrong in (("worse", "did you mean worst"), ("none", "is not a bioeval_tui")):
        tasks.add(f"lab/{name}", grader={"metric": name, "target": "y"})
        assert wrong in str(tasks.registry.entry(f"lab/{name}").problem)


SHOUT = """
from bioeval_tui.protocols import Format

def write_runs(runs, asked):
    return "".join(
        f"{run.run_id} {talk.condition}!\\n".upper() for run in runs for talk in run.conversations
    )

shout = Format("any", (".shout",), "ids, loud", {"runs": write_runs})
named = Format("named", (".named.shout",), "ids", {"run": "loud:write_run"}, name_of="loud:name")
fails = Format("fails", (".fails",), "raises", {"runs": lambda runs, asked: {}["key"]})
new = Format("new", (".new",), "conditions", {"runs": lambda runs, asked: " ".join(
    f"{talk.condition} {talk.score}" for run in runs for talk in run.conversations)})
opens = Format("opens", (".opens",), "reads", {"runs": lambda runs, asked: open("/not/there")})
number = Format("number", (".number",), "returns a number", {"runs": lambda runs, asked: 3})
pieces = Format("pieces", (".pieces",), "yields a number", {"runs": lambda runs, asked: iter([3])})
"""
QUIET = """
from bioeval_tui.protocols import Format

if __name__ == "quiet":
    nothing = Format("nothing", (".nothing",), "has no function", {})
dotted = Format("dotted", ".dotted", "a text in the place of a tuple", {"runs": print})
"""


EXPORTS = [
    (["--to", "shout"], "20261120-210356-44C7 WITHHELD!"),
    (["--output", "a.shout"], "wrote a.shout"),
    (["--to", "new"], "withheld 0.44 supplied 1.0"),
    (["--to", "fails"], "the format plug-in fails failed: KeyError: 'key'"),
    (["--to", "opens"],
        "the format plug-in opens failed: FileNotFoundError: [Errno 2] No such file or directory"),
    (["--to", "number"], "the format plug-in number failed: it returned a value of the type int"),
    (["--to", "nothing"],
        "ValueError: the format nothing has no tuple of extensions, or no function that writes"),
    (["--to", "dotted"],
        "ValueError: the format dotted has no tuple of extensions, or no function that writes"),
    (["--to", "pieces"],
        "the format plug-in pieces failed: TypeError: it yielded a value of the type int"),
    (["--to", "named"],
        "the format plug-in named failed: AttributeError: module 'loud' has no attribute"),
    (["--to", "plain"], "the format plug-in plain is no Format, but of the type str"),
    (["--to", "away"], "the plug-in away of loud 1.0 cannot be loaded: ModuleNotFoundError"),
    (["--to", "json"], '"run_id"'),
    (["--output", "a.away"], "a.away: unknown extension; use .html, .md, "),
    (["--help"],
        "inspect: an Inspect log, for `inspect view` and `read_eval_log`;"
        " away: a plug-in of loud 1.0;"),
]  # fmt: skip


def said_by_each(folder, *commands):
    """Run commands where a plug-in was installed; return what each said."""
    env = {
        **os.environ,
        "PYTHONPATH": str(folder),
        "BIOEVAL_DATA_DIR": str(folder / "data"),
        "COLUMNS": "200",
    }
    loaded = "from bioeval_tui.cli import runs, runs_manage, runs_report"
    found = each(commands, env=env, cwd=folder, before=loaded)
    said = [" ".join((done.stdout + done.stderr).split()) for done in found]
    assert "Traceback" not in "".join(said)
    return said


def test_another_packages_format_is_used_as_a_built_in_one(tmp_path):
    names = ("shout", "new", "named", "fails", "opens", "number", "pieces")
    points = "".join(f"{name} = loud:{name}\n" for name in names)
    points += (
        "plain = loud:__name__\naway = not_there:away\nnothing = quiet:nothing\njson = loud:fails\n"
        "dotted = dotted:dotted\n"
    )
    points = f"[bioeval_tui.formats]\n{points}"
    install(tmp_path, "loud", points, loud=SHOUT, quiet=QUIET, dotted=QUIET)
    commands = [["runs", "export", str(GOLDEN), *arguments] for arguments, _ in EXPORTS]
    for said, (arguments, says) in zip(said_by_each(tmp_path, *commands), EXPORTS, strict=True):
        assert says in said, arguments


DIARY = """
from bioeval_tui.formats import (
    Header, ImportedConversation, ImportedPart, InputError, lines, messages_of
)
from bioeval_tui.protocols import ImportFormat

def fits(look): return "diary" in look.first

def read(file):
    with file.open("rb") as opened:
        for number, line in lines(opened):
            if "diary" not in line:
                raise InputError(f"line {number}: must have `diary`")
            pieces = []
            for place, text in enumerate(line["diary"]):
                role = ("user", "assistant")[place % 2]
                pieces.append(ImportedPart(role, text, text))
            yield ImportedConversation(line["name"], messages_of(pieces))
    yield Header(name="diary", agent="a dentist")

diary = ImportFormat("any", "diaries", "diary:fits", read)
fails = ImportFormat("fails", "raises", lambda look: False, lambda file: {}["key"])

def odd(**fields):
    part = {"role": "user", "text": "Hello", "raw": None, **fields}
    talk = ImportedConversation(part.pop("name", "a"), messages_of([ImportedPart(**part)]))
    return ImportFormat("odd", "odd", lambda look: False, lambda file: iter([talk]))

doctor, number, unnamed = odd(role="doctor"), odd(text=5), odd(name=5)
other = ImportFormat("other", "odd", lambda look: False, lambda file: iter([{"name": "a"}]))
"""


IMPORTS = [
    ('{"name": "a", "diary": ["Hello", "Open wide"]}', [], "diary a dentist ↓ imported"),
    ('{"name": "a", "diary": ["Hi"], "question": "Hi", "answer": "Hello"}', [],
        "diaries: 2 conversations"),
    ('{"name": "a", "dairy": ["Hello", "Open wide"]}', ["--format", "diary"],
        "line 1: must have `diary`"),
    ('{"name": "a", "dairy": []}', ["--format", "fails"],
        "the importer plug-in fails failed: KeyError: 'key'"),
    ("{}", ["--format", "doctor"], "importer plug-in doctor failed: TypeError: an Imported"
        "Conversation gave messages.0.parts.0.role of the type str: Input should be 'system',"),
    ("{}", ["--format", "number"], "gave messages.0.parts.0.text of the type int: Input should be"),
    ("{}", ["--format", "unnamed"], "an ImportedConversation gave name of the type int: Input"),
    ("{}", ["--format", "other"], "other failed: TypeError: it yielded a value of the type dict"),
    ('{"name": "a"}', [],
        ", away, diary, doctor, fails, number, other, unnamed; if it is one of them, name it with"),
    ('{"name": "a"}', ["--format", "away"], "the plug-in away of diary 1.0 cannot be loaded"),
    ("", ["--help"], "; away: a plug-in of diary 1.0; diary:"),
]  # fmt: skip


@pytest.mark.long
def test_another_packages_importer_is_used_as_a_built_in_one(tmp_path):
    names = ("diary", "fails", "doctor", "number", "unnamed", "other")
    points = "".join(f"{name} = diary:{name}\n" for name in names) + "away = not_there:away\n"
    install(tmp_path, "diary", f"[bioeval_tui.importers]\n{points}", diary=DIARY)
    commands = []
    for number, (line, arguments, _) in enumerate(IMPORTS):
        (tmp_path / f"{number}.jsonl").write_text(f"{line}\n{line}\n")
        commands.append(["runs", "import", f"{number}.jsonl", *arguments])
    *imported, listed = said_by_each(tmp_path, *commands, ["runs", "list"])
    for said, (line, arguments, says) in zip(imported, IMPORTS, strict=True):
        assert says in (listed if line == IMPORTS[0][0] and not arguments else said), (
            line,
            arguments,
        )


def test_a_plugins_job_that_is_no_path_is_one_sentence_and_hides_no_other(site):
    install(site, "odd", "[bioeval_tui.jobs]\nfive = odd:five\n", odd="five = 5\n")
    named.plugin_jobs.cache_clear()
    assert {path.stem for path in named.plugin_jobs()} == {"craftmd", "mediq", "symptomcheck"}
    with pytest.raises(UsageError, match="the job plug-in five is no path of a job file, but of"):
        named.find_job(Path("five"))


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"tells": ["pieces"]}, "`tells` must have keys of pieces, tool calls, tool results"),
        ({"tells": {"smells": "yes"}}, "`tells` must have keys of pieces, tool calls, tool"),
        ({"tells": {}, "takes": "history"}, "`takes` must have names of history, texts"),
        ({"tells": {}, "takes": ("everything",)}, "`takes` must have names of history, texts"),
    ],
)
def test_a_protocol_that_says_odd_things_of_itself_cannot_be_made(fields, says):
    with pytest.raises(ValueError, match=re.escape(says)):
        plugins.AgentProtocol("odd", "odd", "odd:make", **fields)


def test_a_plugin_whose_name_is_taken_is_refused_in_one_sentence(site):
    points = "[bioeval_tui.formats]\njson = mine:json\natif = mine:atif\n"
    install(site, "mine", f"{points}[bioeval_tui.judges]\nstrict = mine:strict\n", mine="")
    found = next(
        one for one in examine(Settings.from_environment(), online=False) if one.part == "plug-ins"
    )
    assert (found.state, found.said) == (
        "broken",
        (
            "judge strict (mine 1.0); not used, because their names are this program's, or no"
            " names: format json (mine 1.0), format atif (mine 1.0)"
        ),
    )
    assert {plugin.package for plugin in plugins.installed("formats")} == {
        f"bioeval-tui {__version__}"
    }


def test_names_that_flood_or_are_no_names_make_no_sentence_long(site, tmp_path):
    long, odd = "x" * 5_000, "a\x1b]52;c;aGk\x07"
    entries = "".join(
        f"{name} = odd:thing\n" for name in (long, odd, *(f"n{number}" for number in range(500)))
    )
    install(site, "odd", "".join(f"[bioeval_tui.{group}]\n{entries}" for group in plugins.GROUPS))
    assert not {long, odd} & set(plugins.names("agents"))
    found = next(
        one for one in examine(Settings.from_environment(), online=False) if one.part == "plug-ins"
    )
    assert "no names: agent xxxxx" in found.said
    (tmp_path / "job.yml").write_text(JOB.replace("line", long))
    said = [
        found.said,
        *map(str, check_job(tmp_path / "job.yml").errors),
        plugins.help_line("formats", []),
    ]
    with pytest.raises(UsageError, match="and 485 more") as unknown:
        plugins.load("agents", "nothing")
    assert len(said) >= 3
    assert [
        text for text in [*said, str(unknown.value)] if len(text) > 2_500 or "\x1b" in text
    ] == []


def test_listing_plugins_imports_nothing(example):
    (found,) = [plugin for plugin in plugins.installed("agents") if plugin.name == "line"]
    assert (found.target, found.package) == ("line_agent:LineAgent", "line-agent 1.0")
    assert "line_agent" not in sys.modules


@pytest.mark.parametrize(
    ("name", "says"),
    [
        (
            "lime",
            (
                "no agent `lime` (did you mean line?); known are: a2a, ag-ui, line, openai, python,"
                " rest"
            ),
        ),
        ("zzz", "known are: a2a, ag-ui, line, openai, python, rest"),
    ],
)
def test_an_unknown_plugin_name_lists_the_others(example, name, says):
    with pytest.raises(UsageError, match=re.escape(says)):
        plugins.load("agents", name)


def test_a_group_without_plugins_says_so():
    with pytest.raises(
        UsageError, match=r"no plug-in of the group bioeval_tui\.metrics is installed"
    ):
        plugins.load("metrics", "x")


def test_a_plugin_that_breaks_on_import_is_one_sentence(site):
    entry_points = (
        "[bioeval_tui.judges]\nbroken = broken_judge:Judge\ngone = no_such_module:Judge\n"
    )
    install(site, "broken-judge", entry_points, broken_judge="raise RuntimeError('no\\nluck')")
    with pytest.raises(
        UsageError, match=r"broken of broken-judge 1\.0 cannot be loaded: RuntimeError: no luck"
    ):
        plugins.load("judges", "broken")
    with pytest.raises(UsageError, match="No module named 'no_such_module'"):
        plugins.load("judges", "gone")


def test_a_plugin_that_is_a_script_ends_no_program_and_prints_nothing_among_its_data(site, capsys):
    code = "import sys\nprint('ready')\nsys.exit()"
    install(site, "script", "[bioeval_tui.judges]\nscript = a_script:Judge\n", a_script=code)
    with pytest.raises(UsageError, match=r"script 1\.0 cannot be loaded: SystemExit"):
        plugins.load("judges", "script")
    printed = capsys.readouterr()
    assert (printed.out, printed.err) == ("", "ready\n")


def test_a_format_that_ends_the_program_is_one_sentence(site):
    with pytest.raises(UsageError, match="the format plug-in loud failed: SystemExit: 0"):
        plugins.call("formats", "loud", sys.exit, 0)


def test_a_plugin_cannot_take_a_built_in_name(site):
    points = "[bioeval_tui.agents]\nrest = thief:Agent\na2a = thief:Agent\n"
    install(site, "thief", points, thief="raise AssertionError")
    assert "rest" not in [plugin.name for plugin in plugins.installed("agents")]
    assert plugins.agent_protocol("a2a").about == "A2A 1.0 or 0.3"
    with pytest.raises(UsageError, match="no agent `rest`"):
        plugins.load("agents", "rest")
