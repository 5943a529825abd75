"""`demo --local-model`: the model is the agent, its mistakes are found in its words, and its server
ends with the demo.
"""

from __future__ import annotations

import json
import signal
import subprocess
from pathlib import Path

from tests.integration.program import events_of, of_kind, recording_in, run, started, wait_for
from tests.servers.real_model import NAME, PACKAGES, wait_until

DEMO = ("demo", "--local-model", "--headless")


def servers(data_dir: Path) -> list[int]:
    """Return the model servers that a run with this data folder started and that still live."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            called = (process / "cmdline").read_bytes()
            variables = (process / "environ").read_bytes().split(b"\0")
        except OSError:  # it ended meanwhile, or is somebody else's
            continue
        if (
            b"bioeval_tui.sample.local_model" in called
            and f"BIOEVAL_DATA_DIR={data_dir}".encode() in variables
        ):
            found.append(int(process.name))
    return found


def test_the_models_mistakes_are_found_in_its_words(tmp_path: Path) -> None:
    done = run(*DEMO, "--json", data_dir=tmp_path, PYTHONPATH=PACKAGES)
    print(done.stdout, done.stderr)
    assert done.returncode == 0
    assert servers(tmp_path) == []
    recording = recording_in(tmp_path)
    assert recording is not None
    events = events_of(recording)
    (begun,) = of_kind(events, "run_started")
    assert (begun["agent"], begun["evaluator"], begun["judge"]) == (NAME, "scripted", "rules")
    assert begun["hosts"] == ["127.0.0.1"]
    assert not of_kind(events, "request_failed")
    said = [
        message
        for message in of_kind(events, "message_completed")
        if message["role"] == "assistant"
    ]
    assert len(said) == 3 + 4
    assert all(0 < message["first_token_ms"] < message["latency_ms"] for message in said), (
        "streamed"
    )
    for held in json.loads(done.stdout)["conditions"].values():
        answers = " ".join(
            each["content"] for each in held["messages"] if each["role"] == "assistant"
        )
        failed = {each["title"] for each in held["assertions"] if each["status"] == "failed"}
        denies = "does not interact" in answers or "doesn't interact" in answers
        assert ("no answer denies that warfarin interacts with ibuprofen" in failed) == denies
        assert ("an answer warns of bleeding" in failed) == ("bleed" not in answers.lower())
        assert failed, "a model this small makes no mistake?"


def test_the_models_server_ends_with_a_demo_that_is_killed(tmp_path: Path) -> None:
    with started(*DEMO, data_dir=tmp_path, PYTHONPATH=PACKAGES) as demo:
        after(tmp_path, "message_delta", demo)
        assert len(servers(tmp_path)) == 1
        demo.kill()
        demo.communicate()
    wait_until(lambda: servers(tmp_path) == [], lambda: f"still there: {servers(tmp_path)}")


def test_a_stopped_demo_leaves_no_server_and_resumes_with_one_of_its_own(tmp_path: Path) -> None:
    with started(*DEMO, data_dir=tmp_path, PYTHONPATH=PACKAGES) as demo:
        after(tmp_path, "conversation_scored", demo)
        demo.send_signal(signal.SIGTERM)
        _, err = demo.communicate()
    assert (demo.returncode, "Traceback" in err) == (130, False)
    assert servers(tmp_path) == []
    recording = recording_in(tmp_path)
    assert recording is not None
    done = run("runs", "resume", recording.stem, "--json", data_dir=tmp_path, PYTHONPATH=PACKAGES)
    print(done.stdout, done.stderr)
    assert (done.returncode, json.loads(done.stdout)["status"]) == (0, "completed")
    assert servers(tmp_path) == []


def after(data_dir: Path, kind: str, process: subprocess.Popen[str]) -> None:
    """Wait for the first event of a kind."""
    wait_for(
        lambda: (found := recording_in(data_dir)) and of_kind(events_of(found), kind),
        f"a {kind}",
        process,
    )
