"""`run --scheduler` on a real Dask cluster of three workers, one of which dies in mid-run."""

from __future__ import annotations

import json
import re
import sys
import threading
import warnings
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from bioeval_tui.base import clusters
from bioeval_tui.base.errors import BioevalError, UsageError
from bioeval_tui.evaluation.wiring import cluster as on_cluster
from bioeval_tui.peers.prices import FILE_NAME
from tests.command import call
from tests.integration.program import events_of, of_kind

distributed = pytest.importorskip("distributed")

pytestmark = pytest.mark.filterwarnings("ignore")

WORKERS, CASES = 3, 12
AGENT = '''
import os, signal
from pathlib import Path

DEADLY = Path(__file__).with_name("deadly")


def answer(message, conversation):
    """Answer; kill this process in the second conversation of case_7, the first time that it is
    held.
    """
    if "case_7 " in message and DEADLY.exists():
        with DEADLY.open("a") as counting:
            counting.write("x")
        if DEADLY.stat().st_size == 2:
            os.kill(os.getpid(), signal.SIGKILL)
    return f"I made a note of {message}"
'''
JOB = """\
target: {user: ada, chatbot: bot, protocol: python, function: many_machines_agent:answer}
aspirationalAverage: 100000
seed: 3
order: random
cases: {file: cases.csv, id: id}
evaluator:
  kind: scripted
  lines: [{say: "Note {{ case.id }} please."}, {say: "And {{ case.fact }}, too.", fact: 1}]
scorer: {kind: rules}
facts: ["{{ case.fact }}"]
greetings: [Hello, Hi there, Good day]
tasks:
  - task: Have a note made
    rules: [{pattern: "note of note {{ case.id }}"}]
  - task: Have the fact noted
    rules: [{pattern: "[02468], too"}]
"""
MODEL_JOB = """\
target: {user: ada, chatbot: bot, protocol: openai, model: agent-1, url: "URL", streaming: false,
  maxRequestsPerMinute: 90000}
aspirationalAverage: 100000
evaluator: {kind: scripted, lines: [{say: "Note it."}, {say: "And this."}]}
scorer: {kind: rules}
facts: []
tasks: [{task: Have a note made, rules: [{pattern: note}]}]
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("machines")
    rows = [f"case_{n},fact {n}" for n in range(CASES)]
    files = {
        "many_machines_agent.py": AGENT,
        "job.yml": JOB,
        "cases.csv": "\n".join(["id,fact", *rows, ""]),
    }
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BIOEVAL_DATA_DIR", str(folder / "data"))
        yield folder
    sys.modules.pop("many_machines_agent", None)  # these tests may come again, with another folder


@pytest.fixture(scope="module")
def scheduler(folder: Path) -> Iterator[str]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with distributed.LocalCluster(
            n_workers=WORKERS,
            threads_per_worker=1,
            processes=True,
            dashboard_address=None,
            host="127.0.0.1",
        ) as cluster:
            yield cluster.scheduler_address


class Model(BaseHTTPRequestHandler):
    """A model of which each answer costs a dollar at the prices of `PRICES`."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        message = {"role": "assistant", "content": "I made a note."}
        answer = {
            "id": "1", "object": "chat.completion", "created": 1, "model": "agent-1",
            "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 1000, "completion_tokens": 1, "total_tokens": 1001},
        }  # fmt: skip
        body = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        pass


PRICES = "agent-1: {in: 1000, out: 0}\n"


@pytest.fixture
def model() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Model) as server:
        threading.Thread(target=server.serve_forever).start()
        yield f"http://127.0.0.1:{server.server_port}/v1"
        server.shutdown()


def run(folder: Path, *options: object, job: str = "job.yml", graph: str = "none") -> Any:
    """Return what `run --json` printed, its exit code, and the events of its recording."""
    done = call(
        "run", folder / job, "--code", folder, "--graph", graph, "--json", *options,
        catch_exceptions=False,
    )  # fmt: skip
    document = json.loads(done.stdout)
    path = folder / "data" / "runs" / f"{document['run_id']}.jsonl"
    return document, done, events_of(path)


def told(events: list[dict[str, Any]]) -> dict[Any, Any]:
    """Return what each attempt at a conversation was, without its times and the recording's
    order.
    """
    kinds = ("message_completed", "conversation_started", "conversation_ended", "transcript_scored",
        "conversation_scored", "assertion_checked", "fact_disclosed")  # fmt: skip
    left_out = ("seq", "at", "run_id", "session_id", "latency_ms", "waited_ms", "first_token_ms",
        "thought_ms",
        "duration_ms", "average_latency_ms", "parts")  # fmt: skip
    found: dict[Any, Any] = {}
    for event in events:
        if event["kind"] in kinds:
            key = (event["trial"], event["condition"], event["attempt"])
            kept = {name: value for name, value in event.items() if name not in left_out}
            found.setdefault(key, []).append(kept)
    return found


def test_a_run_is_that_of_one_machine_though_a_worker_dies(folder: Path, scheduler: str) -> None:
    alone, _, here = run(folder)
    (folder / "deadly").touch()
    document, done, there = run(folder, "--scheduler", scheduler)
    assert done.return_value == 0, done.stderr
    assert (folder / "deadly").stat().st_size == 4, "the worker was killed, and its unit held again"

    assert told(there) == told(here)
    assert [event["seq"] for event in there] == list(range(1, len(there) + 1))
    assert {event["run_id"] for event in there} == {document["run_id"]}
    begun, ended = there[0], there[-1]
    assert (begun["seed"], begun["trials"], begun["concurrency"]) == (3, CASES, WORKERS)
    assert (ended["kind"], ended["status"]) == ("run_ended", "completed")
    assert [(ended["scores"], ended["mean"])] == [(here[-1]["scores"], here[-1]["mean"])]
    for name, condition in alone["conditions"].items():
        other = document["conditions"][name]
        assert [trial["case"] for trial in other["trials"]] == [f"case_{n}" for n in range(CASES)]
        assert [trial["score"] for trial in other["trials"]] == [
            trial["score"] for trial in condition["trials"]
        ]
    assert "3 workers of tcp://127.0.0.1" in done.stderr
    assert f"[{2 * CASES} of {2 * CASES}]" in done.stderr
    hosts = begun["hosts"]
    assert any(host.startswith("the Dask scheduler 127.0.0.1") for host in hosts), hosts


def test_what_is_spent_is_that_of_all_workers_and_the_rest_is_resumed_here(
    folder: Path, scheduler: str, model: str
) -> None:
    (folder / "model.yml").write_text(MODEL_JOB.replace("URL", model))
    (folder / "data" / FILE_NAME).write_text(PRICES)
    trials, limit = 12, 15
    document, done, there = run(
        folder, "--repeat", trials, "--max-cost", limit, "--scheduler", scheduler, job="model.yml"
    )
    assert done.return_value == 3
    assert "calls and cost are counted when a unit comes back" in done.stderr
    units = re.search(r"hold (\d) units of conversations at once", done.stderr)
    assert units, "two of them, where the one that was killed has not begun again"
    assert f"each unit may send {90_000 // int(units[1])} requests a minute" in done.stderr
    answers = [one for one in of_kind(there, "message_completed") if one["role"] == "assistant"]
    in_a_unit = 2 * 3  # two conversations of a greeting and two lines
    assert limit <= len(answers) < limit + WORKERS * in_a_unit
    assert f"about ${len(answers):.2f} spent, the limit is $15" in there[-1]["detail"]
    assert there[-1]["status"] == "cancelled"

    again = call("runs", "resume", document["run_id"], catch_exceptions=False)
    assert again.return_value == 0, again.stderr
    whole = events_of(folder / "data" / "runs" / f"{document['run_id']}.jsonl")
    finished = [one for one in of_kind(whole, "conversation_scored") if not one["cancelled"]]
    assert sorted((one["trial"], one["condition"]) for one in finished) == [
        (trial, condition)
        for trial in range(1, trials + 1)
        for condition in ("supplied", "withheld")
    ]


def test_what_a_worker_lacks_is_said_before_the_start(
    folder: Path, scheduler: str, model: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Else a worker would go on with the code that it has loaded.
    code = tmp_path / "changed_agent.py"
    code.write_text(AGENT)
    (folder / "code.yml").write_text(JOB.replace("many_machines_agent", "changed_agent"))
    options = ("--code", tmp_path, "--cases", "1", "--scheduler", scheduler)
    run(folder, *options, job="code.yml")
    code.write_text(AGENT + "# changed\n")
    with pytest.raises(BioevalError, match=r"changed_agent\.py was changed .*; restart the work"):
        run(folder, *options, job="code.yml")
    runs = folder / "data" / "runs"
    before = sorted(runs.glob("*"))
    closed = model.rpartition(":")[0] + ":1/v1"
    (folder / "away.yml").write_text(MODEL_JOB.replace("URL", closed))
    with pytest.raises(BioevalError, match=r"does not reach the agent at 127\.0\.0\.1:1 \("):
        run(folder, "--scheduler", scheduler, job="away.yml")
    # The environment of this process is not that of the workers.
    monkeypatch.setenv("MANY_MACHINES_KEY", "secret-1")
    (folder / "key.yml").write_text(
        MODEL_JOB.replace("URL", model).replace(
            "streaming", "headersEnv: {X-Key: MANY_MACHINES_KEY}, streaming"
        )
    )
    with pytest.raises(
        BioevalError, match=r"MANY_MACHINES_KEY.* keys in each worker's env"
    ) as said:
        run(folder, "--scheduler", scheduler, "--allow-host", model.split("/")[2], job="key.yml")
    assert "secret-1" not in str(said.value)
    monkeypatch.setattr(on_cluster, "__version__", "9.9")
    with pytest.raises(BioevalError, match=r"worker tcp://.* has bioeval-tui 0.* this machine 9.9"):
        run(folder, "--scheduler", scheduler)
    monkeypatch.setattr(on_cluster, "NAME", "bioeval-tui-elsewhere")
    with pytest.raises(BioevalError, match=r"has no bioeval-tui-elsewhere; install version 9\.9"):
        run(folder, "--scheduler", scheduler)
    assert sorted(runs.glob("*")) == before


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--fail-under", "0.5", "--until-decided"), "--until-decided decides after each trial"),
        (("--otlp",), "spans are received on this machine only"),
        (("--evaluator-model", "human"), "needs a person at the keyboard"),
        ((), r"the Dask scheduler tcp://127\.0\.0\.1:9 cannot be used"),
    ],
)
def test_what_cannot_be_distributed_is_refused_by_name(
    folder: Path, monkeypatch: pytest.MonkeyPatch, options: tuple[str, ...], said: str
) -> None:
    monkeypatch.setattr(clusters, "CONNECT_TIMEOUT_S", 1)
    with pytest.raises(BioevalError, match=said):
        run(folder, "--scheduler", "tcp://127.0.0.1:9", *options)


@pytest.mark.parametrize("address", ["nonsense", "", "http://127.0.0.1:9", "tcp://127.0.0.1:x"])
def test_what_is_no_address_of_a_scheduler_is_one_sentence_and_leaves_no_thread(
    folder: Path, address: str
) -> None:
    before = set(threading.enumerate())
    with pytest.raises(UsageError, match="--scheduler: give the address of a Dask scheduler, such"):
        run(folder, "--scheduler", address)
    assert not [one for one in set(threading.enumerate()) - before if "IO loop" in one.name]


def test_conversations_that_share_a_graph_are_not_held_at_once(folder: Path) -> None:
    with pytest.raises(BioevalError, match="share one knowledge graph or FHIR server"):
        run(folder, "--scheduler", "tcp://127.0.0.1:9", graph="neo4j")


def test_a_url_with_a_password_does_not_pass_through_the_scheduler(folder: Path) -> None:
    (folder / "rest.yml").write_text(
        MODEL_JOB.replace("protocol: openai, ", "").replace("URL", "http://127.0.0.1:1")
    )
    with pytest.raises(BioevalError, match="the agent's URL has more than an address") as refused:
        run(
            folder, "--scheduler", "tcp://127.0.0.1:9", "--agent-url", "http://ada:secret@127.0.0.1",
            job="rest.yml",
        )  # fmt: skip
    assert "secret@" not in str(refused.value)
