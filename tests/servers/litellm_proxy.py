"""LiteLLM's proxy on 127.0.0.1 with mock answers.

It pins too much to stand beside this project: BIOEVAL_LITELLM_PYTHON names the Python of an
environment of its own.
"""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

KEY = "sk-litellm-test"
SAYS = "The reminder is set."
STARTS_S = 300
CONFIG = """
model_list:
  - model_name: mock
    litellm_params: {{model: openai/mock, api_key: none, mock_response: "{says}"}}
  # A provider without a Responses API: the proxy makes responses of its own streamed completions.
  - model_name: bridged
    litellm_params: {{model: deepseek/mock, api_key: {key}, api_base: "http://127.0.0.1:{port}/v1"}}
"""


@contextlib.contextmanager
def litellm_proxy(folder: Path) -> Iterator[str]:
    """Run the proxy; give the address of its API."""
    with socket.socket() as free:  # it takes a port's number only, and its configuration needs it
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    (folder / "litellm.yml").write_text(CONFIG.format(says=SAYS, key=KEY, port=port))
    command = [
        Path(os.environ["BIOEVAL_LITELLM_PYTHON"]).with_name("litellm"),
        "--config",
        "litellm.yml",
    ]
    command += ["--host", "127.0.0.1", "--port", str(port), "--telemetry", "False"]
    variables = {**os.environ, "LITELLM_MASTER_KEY": KEY, "LITELLM_LOCAL_MODEL_COST_MAP": "True"}
    with (folder / "litellm.log").open("wb") as log:
        process = subprocess.Popen(command, cwd=folder, env=variables, stdout=log, stderr=log)
    try:
        _wait_for(f"http://127.0.0.1:{port}/health/liveliness", process, folder / "litellm.log")
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        process.terminate()
        process.wait(300)


def _wait_for(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    ends = time.monotonic() + STARTS_S
    while process.poll() is None and time.monotonic() < ends:
        with contextlib.suppress(OSError), urllib.request.urlopen(url, timeout=5):
            return
        time.sleep(0.2)
    raise AssertionError(f"LiteLLM did not start: {log.read_text(errors='replace')[-2000:]}")
