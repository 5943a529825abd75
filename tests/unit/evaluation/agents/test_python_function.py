"""Agents that are Python functions: their return values, their exceptions, and where they are loaded from."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bioeval_tui.errors import UsageError
from bioeval_tui.evaluation import python_code
from bioeval_tui.evaluation.agents.python_function import PythonAgent, make_agent
from bioeval_tui.evaluation.agents.terms import AgentTerms
from bioeval_tui.evaluation.job.models import TargetConfig
from bioeval_tui.evaluation.seams import Delta, Generation, PeerError, Reply
from bioeval_tui.evaluation.wiring.check_job import check_job
from bioeval_tui.record.tool_calls import calls_of

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
    return f"{len(conversation.messages)} before, {conversation.user}, {conversation.options['mode']}"

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
    return "named"

def keeps(message, conversation):
    conversation.state["n"] = conversation.state.get("n", 0) + 1
    conversation.object_context = {"context": "", "resources": [{"id": str(conversation.state["n"])}]}
    return "kept"

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
def exits(message): raise SystemExit(3)
async def exits_too(message): raise SystemExit(3)
def other(text): return text
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


def connect(folder: Path, function: str, **target: Any) -> PythonAgent:
    config = TargetConfig(
        user="ada", chatbot="b", protocol="python", function=f"my_test_agent:{function}", **target
    )
    return make_agent(AgentTerms(target=config, url="", model="m", code=(folder,)))


async def say(agent: PythonAgent, words: str = "hello") -> tuple[list[Any], Reply]:
    pieces: list[Any] = [piece async for piece in agent.send(words)]
    assert isinstance(pieces[-1], Reply)
    assert list(pieces[-1].generation) == [piece.data for piece in pieces if isinstance(piece, Generation)]
    return pieces[:-1], pieces[-1]


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
async def test_functions_of_every_kind_can_be_agents(folder: Path, function: str, says: str) -> None:
    pieces, reply = await say(connect(folder, function, options={"mode": "fast"}))
    assert reply.content == says
    assert "".join(piece.text for piece in pieces if isinstance(piece, Delta)) in ("", says)
    assert reply.started <= (reply.first_token or reply.started) <= reply.ended


async def test_a_function_reports_tool_calls_like_any_agent(folder: Path) -> None:
    _, reply = await say(connect(folder, "waits", options={"mode": "x"}))
    call, result = reply.generation
    assert call["request"]["function"] == {"name": "lookUp"}
    assert result == {"output": {"found": True}, "id": call["request"]["id"]}
    assert (reply.tokens_in, reply.tokens_out) == (3, 4)
    pieces, _ = await say(connect(folder, "steps"))
    assert [type(piece) for piece in pieces] == [Delta, Generation, Generation, Generation, Delta], (
        "in their order"
    )
    assert pieces[2].data["error"] is True
    assert "class 'object'" in pieces[3].data["thought"]


async def test_a_function_reports_the_models_id_and_arguments_as_they_were_written(folder: Path) -> None:
    _, reply = await say(connect(folder, "names"))
    told = calls_of([{"role": "assistant", "events": reply.generation}])
    assert [(call.arguments, call.failed) for call in told] == [
        ({"drug": "warfarin"}, False),
        ('{"drug": "warf', True),
        ({"arguments": "warfarin"}, False),
    ]
    ids = [event["request"]["id"] for event in reply.generation if "request" in event]
    assert ids[:2] == ["call_1", "call_2"]
    assert reply.generation[1] == {"output": "found", "id": "call_1"}


async def test_each_conversation_has_its_own_state(folder: Path) -> None:
    one, other = connect(folder, "keeps"), connect(folder, "keeps")
    await say(one)
    await say(one)
    await say(other)
    assert [(await agent.observe() or {})["resources"] for agent in (one, other)] == [
        [{"id": "2"}],
        [{"id": "1"}],
    ]
    assert await one.open() != await other.open()
    assert await one.seed_history("assistant", "Hi")
    assert await connect(folder, "plain").observe() is None


async def test_what_a_function_prints_is_in_no_report(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    own = sys.stdout
    try:
        await say(connect(folder, "plain"))
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
    ],
)
async def test_any_error_in_a_function_is_the_agents_failure(folder: Path, function: str, says: str) -> None:
    with pytest.raises(PeerError, match=says) as caught:
        await say(connect(folder, function, timeout_ms=50.0 if function in ("hangs", "blocks") else None))
    assert (caught.value.peer, caught.value.retryable) == ("agent", False)


async def test_cancelling_stops_the_function(folder: Path) -> None:
    pieces = connect(folder, "hangs").send("hello")
    task = asyncio.create_task(anext(pieces))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert len(asyncio.all_tasks()) == 1


@pytest.mark.parametrize(
    ("reference", "says"),
    [
        ("my_test_agent:other", "its first parameter must be called `message`"),
        ("my_test_agent:constant", "is not a function"),
        ("my_test_agent:missing", "has no function missing"),
        ("my_test_broken:answer", "has no function answer"),
        ("my_test_broken:nowhere_at_all", "cannot be loaded: ModuleNotFoundError"),
        ("my_test_nowhere:answer", "module my_test_nowhere not found: it is not installed, nor in "),
        ("os:system", "module os not found: it is not installed, nor in"),
        ("subprocess:getoutput", "module subprocess not found"),
        ("pandas:read_pickle", "was not written for this"),
        ("pandas.io.nowhere:f", r"module pandas\.io\.nowhere not found"),
    ],
)
def test_only_functions_written_as_agents_are_called(folder: Path, reference: str, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        python_code.load(reference, (folder,), "message")


def test_a_function_is_not_searched_for_in_the_working_folder_or_pythonpath(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    monkeypatch.syspath_prepend(folder)
    with pytest.raises(UsageError, match="no folder was given with --code DIR"):
        python_code.locate("my_test_agent:plain", ())


def test_finding_a_function_imports_nothing(folder: Path) -> None:
    python_code.locate("my_test_agent:plain", (folder,))
    python_code.locate("pydantic_ai.models.test:TestModel", ())
    assert "my_test_agent" not in sys.modules


def test_a_module_is_not_confused_with_another_of_the_same_name(folder: Path) -> None:
    (folder / "pytest.py").write_text("def answer(message): return message\n", encoding="utf-8")
    with pytest.raises(UsageError, match="has the name of another module"):
        python_code.load("pytest:answer", (folder,), "message")


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
        (", function: my_test_agent:plain", False, "2:59: target.function: module my_test_agent not found: it is not installed, and no folder"),
        ("", True, "2:41: target.protocol: an agent in Python needs the key `function`"),
        (", function: my_test_agent", True, "target.function: must be of the form module:function"),
    ],
)  # fmt: skip
def test_check_reports_a_missing_function(folder: Path, more: str, with_code: bool, says: str) -> None:
    job = folder / "job.yml"
    job.write_text(JOB.format(more=more), encoding="utf-8")
    errors = [str(problem) for problem in check_job(job, code=(folder,) if with_code else ()).errors]
    assert errors == [] if not says else any(says in error for error in errors), errors
