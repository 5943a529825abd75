"""A job's headers and keys: taken from the environment, sent only to their host, and in no
recording.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from bioeval_tui.peers.http import make_client
from bioeval_tui.peers.timeouts import Timeouts
from tests.integration.program import run_job
from tests.integration.test_key_hosts import job
from tests.servers.rest_agent import RestAgentServer


class Noting(RestAgentServer):
    """A REST agent that keeps the headers that it was sent, and streams in a shape of its own where
    that is asked for.
    """

    def __init__(self) -> None:
        super().__init__(answer_s=0)
        self.headers: list[dict[str, str]] = []

    def routes(self, app):  # type: ignore[no-untyped-def]
        async def note(request, handler):  # type: ignore[no-untyped-def]
            self.headers.append({name.lower(): value for name, value in request.headers.items()})
            return await handler(request)

        note.__middleware_version__ = 1  # type: ignore[attr-defined]
        app.middlewares.append(note)
        super().routes(app)


SECRET = "s3cret-of-mine-2026"


@pytest.mark.parametrize("how", ["base_url", "allow_host"])
async def test_a_header_from_the_environment_is_in_no_recording(tmp_path: Path, how: str) -> None:
    async with Noting() as agent:
        what = job(agent.url)
        what["target"] |= {
            "headers": {"X-Tenant": "t1"},
            "headersEnv": {"Authorization": "Bearer MY_AGENT_TOKEN"},
            "streaming": False,
        }
        variables = {"MY_AGENT_TOKEN": SECRET}
        if how == "base_url":
            variables["MY_AGENT_BASE_URL"] = agent.url
        options = [] if how == "base_url" else ["--allow-host", "127.0.0.1"]
        done = await run_job(tmp_path, what, *options, **variables)
        assert done.returncode == 0, done.stderr
    assert {(one["authorization"], one["x-tenant"]) for one in agent.headers} == {
        (f"Bearer {SECRET}", "t1")
    }
    assert all("text/event-stream" not in one["accept"] for one in agent.headers)
    written = "".join(
        path.read_text("utf-8", "replace") for path in (tmp_path / "data").rglob("*.jsonl")
    )
    assert "MY_AGENT_TOKEN" in written
    assert SECRET not in written + done.stdout + done.stderr


@pytest.mark.parametrize(
    ("variables", "says"),
    [
        ({"MY_AGENT_TOKEN": SECRET}, "the job sends the key in MY_AGENT_TOKEN to 127.0.0.1:"),
        (
            {"MY_AGENT_TOKEN": SECRET, "MY_AGENT_BASE_URL": "https://elsewhere.example"},
            "a host that it does not belong to",
        ),
        ({}, "target.headersEnv.Authorization names MY_AGENT_TOKEN, which is not set"),
    ],
)
async def test_a_job_cannot_send_a_variable_to_another_host(
    tmp_path: Path, variables: dict[str, str], says: str
) -> None:
    async with Noting() as agent:
        what = job(agent.url)
        what["target"] |= {"headersEnv": {"Authorization": "Bearer MY_AGENT_TOKEN"}}
        done = await run_job(tmp_path, what, **variables)
    assert done.returncode == 2
    assert says in done.stderr
    assert SECRET not in done.stderr
    assert agent.headers == []


async def test_code_is_loaded_only_from_the_folder_that_the_user_names(tmp_path: Path) -> None:
    (tmp_path / "my_test_answers.py").write_text(
        "def answer(message):\n    print('noise')\n    return f'I made a note of {message}'\n"
    )
    what = job("http://127.0.0.1:9")
    what["target"] |= {"protocol": "python", "function": "my_test_answers:answer"}
    refused = await run_job(tmp_path, what)
    assert refused.returncode == 2
    assert (
        "module my_test_answers not found: it is not installed, and no folder was given with"
        " --code DIR" in refused.stderr
    )
    done = await run_job(tmp_path, what, "--code", ".")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("{")
    assert '"agent": "my_test_answers:answer"' in done.stdout
    assert "noise" not in done.stdout
    assert "wherever my_test_answers:answer sends them" in done.stderr
    sensitive = await run_job(tmp_path, {**what, "sensitive": True}, "--code", ".")
    assert sensitive.returncode == 2


class Baking(RestAgentServer):
    """A REST agent that sets a cookie whose age no clock can hold."""

    async def _message(self, request):  # type: ignore[no-untyped-def]
        response = await super()._message(request)
        response.headers["Set-Cookie"] = f"a=b; Max-Age={'9' * 400}"
        return response


async def test_a_cookie_is_never_read_so_an_odd_one_prints_nothing(tmp_path: Path) -> None:
    async with Baking() as agent:
        done = await run_job(tmp_path, job(agent.url), "--fail-under", "withheld:0.99")
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    assert "cookie" not in done.stderr


async def test_what_a_library_says_of_a_header_it_refuses_has_no_key_in_it() -> None:
    """None of the names that can be given reaches it; a library may learn to refuse another one."""
    headers = {"Content-Length": SECRET}
    async with (
        Noting() as agent,
        make_client([agent.url], Timeouts(), headers=headers, secrets=[SECRET]) as client,
    ):
        with pytest.raises(ValueError, match=r"Content-Length header: '\[key\]'"):
            await client.post(agent.url, json={})
    assert agent.headers == []
