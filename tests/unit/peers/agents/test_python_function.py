"""Agents that are Python functions, in this process and in another interpreter's: what they return,
raise and tell, and where they are loaded from.
"""

from __future__ import annotations

import ast
import asyncio
import contextlib
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any
from venv import EnvBuilder

import pytest

from bioeval_tui.base.errors import UsageError
from bioeval_tui.evaluation.wiring.check_job import check_job
from bioeval_tui.jobs.models import TargetConfig
from bioeval_tui.protocols import Agent, AgentTerms, Delta, Generation, PeerError, Reply
from bioeval_tui.record.tool_calls import transcript_calls
from tests.servers.agents import agent_of

SCRIPT = Path(__file__).parents[4] / "bioeval_tui" / "peers" / "function_calls.py"
"""What another interpreter runs."""
CODE = """
import asyncio, time
print("a word of the import")

def plain(message):
    print("a word on stdout")
    return f"You said {message}."

async def waits(message, conversation):
    await asyncio.sleep(0)
    conversation.tool_called("lookUp", {"drug": "warfarin"}, result={"found": True})
    conversation.used_tokens(3, 4)
    return f"{len(conversation.messages)} before, {conversation.user}, \
{conversation.options['mode']}"

async def streams(message):
    for word in ("One ", "two."):
        yield word

def steps(message, conversation):
    yield "One "
    conversation.tool_called("fails", [1], error="out of order")
    conversation.happened({"thought": {1, 2} and object})
    yield "two."

def names(message, conversation):
    conversation.tool_called("lookUp", '{"drug": "warfarin"}', "found", call_id="call_1")
    conversation.tool_called("lookUp", '{"drug": "warf', call_id="call_2")
    conversation.tool_called("lookUp", "warfarin")
    conversation.tool_called("lookUp", '["warfarin"]')
    return "named"

def by_name(message, *, conversation):
    return f"{message} in {type(conversation).__name__}"

def keeps(message, conversation):
    conversation.state["n"] = conversation.state.get("n", 0) + 1
    conversation.object_context = {"context": "", \
"resources": [{"id": str(conversation.state["n"])}]}
    return "kept"

class Starts:
    def start(self, conversation):
        conversation.state["began"] = [conversation.session_id]
        conversation.object_context = {"context": "", "resources": [{"id": conversation.chatbot}]}
    async def __call__(self, message, conversation):
        started = conversation.state["began"] == [conversation.session_id]
        return f"{started} {[one['content'] for one in conversation.messages]}"

class CannotStart:
    def start(self, conversation): raise OSError("no disk")
    def __call__(self, message): return "never"

starts, cannot_start = Starts(), CannotStart()

def from_threads(message, conversation):
    from threading import Thread
    for n in range(3):
        thread = Thread(target=conversation.tool_called, args=("lookUp", {"n": n}, n))
        thread.start()
        thread.join()
    return "told"

def odd(message, conversation):
    conversation.tool_called(5, {1: float("nan"), "who": object})
    conversation.happened({"text": "\\x1b[2J\\ud800"})
    return "a\\x1b[2Jb"

def large(message, conversation):
    conversation.happened({"a": [1, 10**400]})
    return "told"

class Agent:
    def __call__(self, message): return "from an object"
    def method(self, message): return "from a method"

instance = Agent()

def raises(message): raise ValueError("no \\x1b[2J such thing")
def nothing(message): pass
def number(message): return 5
async def gives_number(message): yield 5
async def hangs(message): await asyncio.Event().wait()
def blocks(message): time.sleep(600)
def ends(message): raise StopIteration("done")
def exits(message): raise SystemExit(3)
class Mute(Exception):
    def __str__(self): raise SystemExit(0)
def mute(message): raise Mute
async def mute_too(message): raise Mute
async def exits_too(message): raise SystemExit(3)
def other(text): return text
def greedy(message, session): return message
constant = 5
"""


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    (tmp_path / "my_test_agent.py").write_text(CODE, encoding="utf-8")
    (tmp_path / "my_test_broken.py").write_text("import nowhere_at_all\n", encoding="utf-8")
    before = list(sys.path)
    yield tmp_path
    sys.path[:] = before
    for name in ("my_test_agent", "my_test_broken"):
        sys.modules.pop(name, None)


Connect = Callable[..., Awaitable[Any]]


@pytest.fixture(scope="session")
def other_python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Another interpreter, which has no packages."""
    folder = tmp_path_factory.mktemp("other") / "venv"
    EnvBuilder(symlinks=sys.platform != "win32").create(folder)
    return next(
        path
        for path in (folder / "bin" / "python", folder / "Scripts" / "python.exe")
        if path.exists()
    )


@pytest.fixture
async def elsewhere(folder: Path, other_python: Path) -> AsyncIterator[Connect]:
    """Open agents whose function another interpreter runs."""
    async with contextlib.AsyncExitStack() as stack:

        async def connect(function: str, python: Path = other_python, **target: Any) -> Agent:
            agent = agent_of(terms(folder, function, python=python, **target))
            stack.push_async_callback(agent.aclose)
            await agent.open()
            return agent

        yield connect


@pytest.fixture(params=["here", "elsewhere"])
def connect(request: pytest.FixtureRequest, folder: Path, elsewhere: Connect) -> Connect:
    """Open agents of both kinds: the function runs in this process, or in another interpreter's."""

    async def here(function: str, **target: Any) -> Agent:
        agent = agent_of(terms(folder, function, **target))
        await agent.open()
        return agent

    return here if request.param == "here" else elsewhere


def terms(folder: Path, function: str, python: Path | None = None, **target: Any) -> AgentTerms:
    reference = function if ":" in function else f"my_test_agent:{function}"
    config = TargetConfig(user="ada", chatbot="b", protocol="python", function=reference, **target)
    return AgentTerms(target=config, url="", model="m", code=(folder,), python=python)


async def say(agent: Agent, words: str = "hello") -> tuple[list[Any], Reply]:
    pieces: list[Any] = [piece async for piece in agent.send(words)]
    assert isinstance(pieces[-1], Reply)
    assert list(pieces[-1].generation) == [
        piece.data for piece in pieces if isinstance(piece, Generation)
    ]
    return pieces[:-1], pieces[-1]


async def test_only_a_function_in_this_process_can_make_it_stand_still(
    connect: Connect, request: pytest.FixtureRequest
) -> None:
    agent = await connect("plain")
    in_this_one = request.node.callspec.params["connect"] == "here"
    assert agent.runs_here == in_this_one  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("function", "says"),
    [
        ("plain", "You said hello."),
        ("waits", "0 before, ada, fast"),
        ("streams", "One two."),
        ("steps", "One two."),
        ("instance", "from an object"),
        ("instance.method", "from a method"),
    ],
)
async def test_functions_of_every_kind_can_be_agents(
    connect: Connect, function: str, says: str
) -> None:
    pieces, reply = await say(await connect(function, options={"mode": "fast"}))
    assert reply.content == says
    assert "".join(piece.text for piece in pieces if isinstance(piece, Delta)) in ("", says)
    assert reply.started <= (reply.first_token or reply.started) <= reply.ended


async def test_a_number_that_no_double_holds_is_named_from_another_process_too(
    elsewhere: Connect,
) -> None:
    with pytest.raises(PeerError, match=r"larger than a double holds at told\.event\.a\[1\]"):
        await say(await elsewhere("large"))


async def test_a_function_reports_tool_calls_like_any_agent(connect: Connect) -> None:
    _, reply = await say(await connect("waits", options={"mode": "x"}))
    call, result = reply.generation
    assert call["request"]["function"] == {"name": "lookUp"}
    assert result == {"output": {"found": True}, "id": call["request"]["id"]}
    assert (reply.tokens_in, reply.tokens_out) == (3, 4)
    pieces, _ = await say(await connect("steps"))
    assert [type(piece) for piece in pieces] == [
        Delta,
        Generation,
        Generation,
        Generation,
        Delta,
    ], "in their order"
    assert pieces[2].data["error"] is True
    assert "class 'object'" in pieces[3].data["thought"]


async def test_a_function_reports_the_models_id_and_arguments_as_they_were_written(
    connect: Connect,
) -> None:
    _, reply = await say(await connect("names"))
    told = transcript_calls([{"role": "assistant", "events": reply.generation}])
    assert [(call.arguments, call.failed) for call in told] == [
        ({"drug": "warfarin"}, False),
        ('{"drug": "warf', True),
        ({"arguments": "warfarin"}, False),
        ('["warfarin"]', True),
    ]
    ids = [event["request"]["id"] for event in reply.generation if "request" in event]
    assert ids[:2] == ["call_1", "call_2"]
    assert reply.generation[1] == {"output": "found", "id": "call_1"}


async def test_a_function_may_take_the_conversation_by_name_only(connect: Connect) -> None:
    _, reply = await say(await connect("by_name"))
    assert reply.content.endswith(" in Conversation")


async def test_each_conversation_has_its_own_state(connect: Connect) -> None:
    one, other = await connect("keeps"), await connect("keeps")
    await say(one)
    await say(one)
    await say(other)
    assert [(await agent.observe() or {})["resources"] for agent in (one, other)] == [
        [{"id": "2"}],
        [{"id": "1"}],
    ]
    assert await one.open() != await other.open()
    assert await one.seed_history("assistant", "Hi")
    assert await (await connect("plain")).observe() is None


async def test_what_a_function_prints_is_in_no_report(
    connect: Connect, capsys: pytest.CaptureFixture[str]
) -> None:
    own = sys.stdout
    try:
        await say(await connect("plain"))
        print("the report")
    finally:
        sys.stdout = own
    out, err = capsys.readouterr()
    assert (out, err) == ("the report\n", "a word of the import\na word on stdout\n")


@pytest.mark.parametrize(
    ("function", "says"),
    [
        ("raises", "my_test_agent:raises raised ValueError: no ␛ such thing"),
        ("nothing", "returned nothing where text was expected"),
        ("number", "returned a value of type int where text was expected"),
        ("gives_number", "yielded a value of type int where text was expected"),
        ("hangs", r"did not finish its answer within 0\.05 s"),
        ("blocks", r"did not finish its answer within 0\.05 s"),
        ("exits_too", "raised SystemExit: 3"),
        ("exits", "raised RuntimeError: SystemExit: 3"),
        ("ends", "raised RuntimeError: StopIteration: done"),
        ("mute", "raised Mute: its text cannot be read"),
        ("mute_too", "raised Mute: its text cannot be read"),
    ],
)
async def test_any_error_in_a_function_is_the_agents_failure(
    connect: Connect, function: str, says: str
) -> None:
    agent = await connect(function)
    if function in ("hangs", "blocks"):
        agent._whole_s = 0.05  # its start may take longer
    with pytest.raises(PeerError, match=says) as caught:
        await say(agent)
    assert (caught.value.peer, caught.value.retryable) == ("agent", False)


ENDS = """
import asyncio

def end(how):
    if how == "cancel":
        asyncio.current_task().cancel()
    raise {"GeneratorExit": GeneratorExit, "BaseException": BaseException}.get(
        how, asyncio.CancelledError)

async def one(message, conversation):
    end(conversation.options["how"])

async def pieces(message, conversation):
    yield "so far"
    end(conversation.options["how"])

def steps(message, conversation):
    yield "so far"
    end(conversation.options["how"])

class Starts:
    async def start(self, conversation): end(conversation.options["how"])
    def __call__(self, message): return "never"

starts = Starts()
"""


@pytest.mark.parametrize("function", ["one", "pieces", "steps", "starts"])
@pytest.mark.parametrize("how", ["CancelledError", "cancel", "GeneratorExit", "BaseException"])
async def test_no_function_ends_the_run_or_counts_as_cancelled(
    folder: Path, function: str, how: str
) -> None:
    (folder / "my_test_agent.py").write_text(ENDS, encoding="utf-8")
    agent = agent_of(terms(folder, function, options={"how": how}))
    if function != "starts":
        await agent.open()
    with pytest.raises(PeerError) as caught:
        await (agent.open() if function == "starts" else say(agent))
    assert caught.value.peer == "agent"
    assert how == "cancel" or any(name in str(caught.value) for name in (how, "RuntimeError"))


async def test_cancelling_stops_the_function(connect: Connect) -> None:
    agent = await connect("hangs")
    pieces = agent.send("hello")
    task = asyncio.create_task(anext(pieces))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert len(asyncio.all_tasks()) == 1


async def test_a_start_comes_before_the_first_message(connect: Connect) -> None:
    agent = await connect("starts")
    assert (await agent.observe() or {})["resources"] == [{"id": "b"}]
    assert await agent.seed_history("user", "Hi")
    _, first = await say(agent)
    _, second = await say(agent, "again")
    assert first.content == "True ['Hi']"
    assert second.content == f"True {['Hi', 'hello', first.content]}"
    with pytest.raises(
        PeerError, match="my_test_agent:cannot_start: its start raised OSError: no disk"
    ):
        await connect("cannot_start")


async def test_threads_of_a_function_report_too(connect: Connect) -> None:
    _, reply = await say(await connect("from_threads"))
    told = transcript_calls([{"role": "assistant", "events": reply.generation}])
    assert [(call.arguments, call.result) for call in told] == [({"n": n}, n) for n in range(3)]


async def test_what_a_function_tells_is_cleaned_and_is_json(connect: Connect) -> None:
    _, reply = await say(await connect("odd"))
    assert reply.content == "a␛b"
    call, event = reply.generation
    assert call["request"]["function"] == {"name": "5"}
    assert call["request"]["arguments"] == {"1": "nan", "who": "<class 'object'>"}
    assert event == {"text": "␛⍰"}


PROCESS = """
import os, sys, subprocess
sys.stderr.write("a word\\n")

def where(message, conversation):
    names = ["OPENAI_API_KEY", "BIOEVAL_JUDGE_API_KEY", "NEO_PASSWORD", "PYTHONPATH", \
"BIOEVAL_DATA_DIR"]
    return "|".join([sys.prefix, str(sys.stdin.read()), \
*(os.environ.get(name, "-") for name in names)])

def ends(message):
    print("out of memory", file=sys.stderr, flush=True)
    os._exit(3)

def floods(message):
    while True:
        yield "x" * 100_000

def large(message, conversation):
    conversation.happened({"x": "x" * 6_000_000})
    return "?"

CHILD = "import socket, sys; s = socket.create_connection(('127.0.0.1', int(sys.argv[1]))); \
s.sendall(b'x'); input()"

def starts_another(message, conversation):
    conversation.state["child"] = subprocess.Popen([sys.executable, "-c", CHILD, message], \
stdin=subprocess.PIPE)
    return "started"

def writes_at_its_end(message):
    import atexit, pathlib
    atexit.register(pathlib.Path(message).write_text, "the last spans")
    return "soon"

def stops(message, conversation):
    os.close(2)
    os.kill(os.getpid(), 19)  # SIGSTOP
    return "?"

def find(message):
    import my_working_folder
    return "found"
"""


@pytest.fixture
def process_code(folder: Path) -> None:
    (folder / "my_process.py").write_text(PROCESS, encoding="utf-8")


async def test_another_interpreter_has_its_own_packages_and_none_of_this_programs_keys(
    process_code: None, elsewhere: Connect, other_python: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in (
        "OPENAI_API_KEY",
        "BIOEVAL_JUDGE_API_KEY",
        "NEO_PASSWORD",
        "PYTHONPATH",
        "BIOEVAL_DATA_DIR",
    ):
        monkeypatch.setenv(name, "x")
    _, reply = await say(await elsewhere("my_process:where"))
    prefix = str(other_python.parents[1])
    assert reply.content == f"{prefix}||x|-|-|-|x"


async def test_another_interpreter_does_not_search_the_working_folder_or_pythonpath(
    process_code: None, elsewhere: Connect, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "my_working_folder.py").write_text("", encoding="utf-8")
    monkeypatch.chdir(tmp_path / "work")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "work"))
    with pytest.raises(PeerError, match="my_process:find raised ModuleNotFoundError"):
        await say(await elsewhere("my_process:find"))


@pytest.mark.parametrize(
    ("function", "message", "says"),
    [
        ("ends", "", r"my_process:ends: its process ended \(exit code 3\): out of memory"),
        ("floods", "", "my_process:floods answered more than 1,000,000 characters"),
        ("large", "", "my_process:large answered with more than 5,000,000 bytes"),
    ],
)
async def test_a_process_that_ends_or_says_too_much_is_the_agents_failure(
    process_code: None, elsewhere: Connect, function: str, message: str, says: str
) -> None:
    agent = await elsewhere(f"my_process:{function}")
    with pytest.raises(PeerError, match=says) as caught:
        await say(agent, message)
    assert (caught.value.peer, caught.value.retryable) == ("agent", False)
    with pytest.raises(PeerError, match="its process has ended"):
        await agent.observe()


@pytest.mark.parametrize("written",
    ["no json", "[1]", '{"number": 2}', '{"number": 2, "told": {"piece": 5}}',
                                     '{"number": 2, "done": {"a": 1}}', "[" * 100_000])  # fmt: skip
@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="the descriptor is found on Linux")
async def test_what_is_no_message_of_the_process_is_the_agents_failure(
    folder: Path, elsewhere: Connect, written: str
) -> None:
    code = f"""
import os, threading
def answer(message):
    for number in range(3, 20):  # the descriptor of the messages is no secret
        try:
            if "pipe" in os.readlink(f"/proc/self/fd/{{number}}"):
                os.write(number, {written!r}.encode() + b"\\n")
        except OSError:
            pass
    threading.Event().wait()
"""
    (folder / "my_forger.py").write_text(code, encoding="utf-8")
    with pytest.raises(
        PeerError, match=r"my_forger:answer ((sent|told) something|answered with JSON nested)"
    ):
        await say(await elsewhere("my_forger:answer"))


async def test_a_process_may_finish_when_its_conversation_ends(
    process_code: None, elsewhere: Connect, tmp_path: Path
) -> None:
    agent = await elsewhere("my_process:writes_at_its_end")
    await say(agent, str(tmp_path / "spans"))
    await agent.aclose()
    assert (tmp_path / "spans").read_text(encoding="utf-8") == "the last spans"


async def test_a_process_that_stands_still_keeps_nobody_waiting(
    process_code: None, elsewhere: Connect
) -> None:
    agent = await elsewhere("my_process:stops")
    agent._whole_s = 0.5
    with pytest.raises(PeerError, match=r"did not finish its answer within 0\.5 s"):
        await say(agent, "stop")
    with pytest.raises(PeerError, match="its process has ended"):
        await say(agent, "again")


async def test_what_a_function_started_ends_with_its_conversation(
    process_code: None, elsewhere: Connect
) -> None:
    connected: asyncio.Queue[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = asyncio.Queue()

    async def keep(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connected.put_nowait((reader, writer))

    async with await asyncio.start_server(keep, "127.0.0.1", 0) as server:
        agent = await elsewhere("my_process:starts_another")
        await say(agent, str(server.sockets[0].getsockname()[1]))
        reader, writer = await connected.get()
        assert await reader.readexactly(1) == b"x"
        await agent.aclose()
        with contextlib.suppress(ConnectionError):
            assert await reader.read() == b"", "it holds the connection as long as it lives"
        writer.close()


async def test_an_interpreter_that_cannot_run_the_function_says_why(
    folder: Path, elsewhere: Connect, tmp_path: Path
) -> None:
    with pytest.raises(PeerError, match="my_test_nowhere:answer is not there"):
        await elsewhere("my_test_nowhere:answer")
    with pytest.raises(
        PeerError, match="my_test_broken:answer cannot be loaded: ModuleNotFoundError"
    ):
        await elsewhere("my_test_broken:answer")
    with pytest.raises(PeerError, match="first parameter must be called `message`"):
        await elsewhere("other")
    wrong = tmp_path / "wrong"
    wrong.write_text("#!/nowhere/at/all\n", encoding="utf-8")
    wrong.chmod(0o755)
    with pytest.raises(PeerError, match="wrong cannot be started: No such file"):
        await elsewhere("plain", python=wrong)
    wrong.write_text("#!/bin/sh\necho no Python >&2\nexit 4\n", encoding="utf-8")
    with pytest.raises(PeerError, match=r"its process ended \(exit code 4\): no Python"):
        await elsewhere("plain", python=wrong)


def test_the_script_needs_only_an_old_python_and_nothing_of_this_package() -> None:
    tree = ast.parse(SCRIPT.read_bytes(), feature_version=(3, 9))
    imported = {
        (node.module if isinstance(node, ast.ImportFrom) else node.names[0].name) or ""
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
    }
    assert {name.partition(".")[0] for name in imported} <= sys.stdlib_module_names


@pytest.mark.parametrize(
    ("reference", "says"),
    [
        ("my_test_agent:other", "its first parameter must be called `message`"),
        (
            "my_test_agent:greedy",
            "is given `message` and `conversation`, and needs `session`, too: give it a default",
        ),
        ("my_test_agent:constant", "is not a function"),
        ("my_test_agent:missing", "has no function missing"),
        ("my_test_broken:answer", "has no function answer"),
        ("my_test_broken:nowhere_at_all", "cannot be loaded: ModuleNotFoundError"),
        (
            "my_test_nowhere:answer",
            "module my_test_nowhere not found: it is not installed, nor in ",
        ),
        ("os:system", "module os not found: it is not installed, nor in"),
        ("subprocess:getoutput", "module subprocess not found"),
        ("pandas:read_pickle", "was not written for this"),
        ("pandas.io.nowhere:f", r"module pandas\.io\.nowhere not found"),
    ],
)
def test_only_functions_written_as_agents_are_called(
    folder: Path, reference: str, says: str
) -> None:
    with pytest.raises(UsageError, match=says):
        agent_of(terms(folder, reference))


def test_a_function_is_not_searched_for_in_the_working_folder_or_pythonpath(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    monkeypatch.syspath_prepend(folder)
    job = folder / "job.yml"
    job.write_text(JOB.format(more=", function: my_test_agent:plain"), encoding="utf-8")
    (error,) = check_job(job, code=()).errors
    assert "no folder was given with --code DIR" in str(error)


@pytest.mark.parametrize("function", ["my_test_agent:plain", "my_test_package.inside:plain"])
def test_checking_a_job_imports_nothing(folder: Path, function: str) -> None:
    package = folder / "my_test_package"
    package.mkdir()
    for name in ("__init__", "inside"):
        (package / f"{name}.py").write_text(CODE, encoding="utf-8")
    job = folder / "job.yml"
    job.write_text(JOB.format(more=f", function: {function}"), encoding="utf-8")
    assert check_job(job, code=(folder,)).errors == ()
    assert not {"my_test_agent", "my_test_package"} & {*sys.modules}


def test_a_module_is_not_confused_with_another_of_the_same_name(folder: Path) -> None:
    (folder / "pytest.py").write_text("def answer(message): return message\n", encoding="utf-8")
    with pytest.raises(UsageError, match="has the name of another module"):
        agent_of(terms(folder, "pytest:answer"))


JOB = """
target: {{user: a, chatbot: b, protocol: python{more}}}
aspirationalAverage: 1
tasks: []
facts: []
"""


@pytest.mark.parametrize(
    ("more", "with_code", "says"),
    [
        (", function: my_test_agent:plain", True, ""),
        (", function: my_test_agent:plain", False,
            "2:59: target.function: module my_test_agent not found: it is not installed, and no"
            " folder"),
        ("", True, "2:41: target.protocol: an agent in Python needs the key `function`"),
        (", function: my_test_agent", True, "target.function: must be of the form module:function"),
        (", function: my_test_agent:plain, python: venv/bin/python", True, ""),
        (", function: only_there:plain, python: venv/bin/python", True, ""),
        (", function: my_test_agent:missing, python: venv/bin/python", True,
            "has no function missing"),
        (", function: os:system, python: venv/bin/python", True,
            "target.function: module os not found"),
        (", function: my_test_agent:plain, python: venv/bin/python", False,
            "target.python: venv/bin/python is in no folder that was given with --code DIR"),
        (", function: my_test_agent:plain, python: ../linked", True,
            "target.python: ../linked is in no folder that was given with --code DIR"),
        (", function: my_test_agent:plain, python: /bin/sh", True,
            "target.python: /bin/sh is in no folder that was given with --code DIR"),
        (", function: my_test_agent:plain, python: link/sh", True,
            "target.python: link/sh is in no folder that was given with --code DIR"),
        (", function: my_test_agent:plain, python: nowhere/python", True,
            "target.python: interpreter nowhere/python not found, beside the job or in"),
        (", function: my_test_agent:plain, python: my_test_agent.py", True,
            "target.python: my_test_agent.py is not a program: it must be executable"),
    ],
)  # fmt: skip
def test_check_reports_a_missing_function(
    folder: Path, more: str, with_code: bool, says: str
) -> None:
    job = folder / "job.yml"
    job.write_text(JOB.format(more=more), encoding="utf-8")
    (folder / "venv" / "bin").mkdir(parents=True)
    (folder / "venv" / "bin" / "python").symlink_to(sys.executable)
    (folder / "link").symlink_to("/bin")
    (folder.parent / "linked").unlink(missing_ok=True)
    (folder.parent / "linked").symlink_to(sys.executable)
    errors = [
        str(problem) for problem in check_job(job, code=(folder,) if with_code else ()).errors
    ]
    assert errors == [] if not says else any(says in error for error in errors), errors
