"""Addresses are called as they are written, or refused at once in one sentence with the setting and
what would be right.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.command import call
from tests.faults.peers import Agent, serving

HINTS = {
    "http://127.1:8081": "write 127.0.0.1 instead of 127.1",
    "http://2130706433": "write 127.0.0.1 instead of 2130706433",
    "http://0x7f.1:8081/v1": "write 127.0.0.1 instead of 0x7f.1",
    "http://127.0.0.1.": "write 127.0.0.1 instead of 127.0.0.1.",
    "http://1.2.3.4.5": "1.2.3.4.5 is no IPv4 address",
    "http://127.0.0.1:0": "a port is a number from 1 to 65535",
    "http://127.0.0.1:99999": "a port is a number from 1 to 65535",
    "http://127.0.0.1:٣": "only a port may follow the host",
    "http://::1": "an IPv6 address stands in brackets",
    "http://[::1": "an IPv6 address stands in brackets",
    "http://[127.0.0.1]": "127.0.0.1 is no IPv6 address",
    "http://[fe80::1%25eth0]": "use a name or another address",
    "http:///x": "it has no host",
    "127.0.0.1:8081": "it must begin with http:// or https://",
    "http://a b": "write a space as %20",
    "http://evil.example.org\\@127.0.0.1": "a space, a backslash",
    "http://ada:my@word@127.0.0.1": "write an @ in a user name or password as %40",
    "http://a..b": "a..b is no host's name",
    "http://-a.example.org": "-a.example.org is no host's name",
    f"http://{'a' * 64}.example.org": "is no host's name",
    "http://💩.example.org": "is no host's name",
    f"http://127.0.0.1/{'a' * 8000}": "more than 8,000 characters",
}
FIELDS = {
    "target.url": "{user: u, chatbot: b, url: %s}\nevaluator: {kind: scripted, lines: [{say: Hi}]}",
    "target.knowledgeUrl": "{user: u, chatbot: b, knowledgeUrl: %s}",
    "target.objectContextUrl": "{user: u, chatbot: b, objectContextUrl: %s}",
    "evaluator.url": "{user: u, chatbot: b}\nevaluator: {model: m, url: %s}",
    "scorer.url": "{user: u, chatbot: b}\nscorer: {model: m, url: %s}",
}
REST = "\nscorer: {kind: rules}\ntasks: []\nfacts: []\naspirationalAverage: 1000\n"


def written(folder: Path, field: str, url: str) -> Path:
    quoted = "'" + url.replace("'", "''") + "'"
    rest = REST.replace("scorer: {kind: rules}\n", "") if field == "scorer.url" else REST
    job = folder / "job.yml"
    job.write_text(f"target: {FIELDS[field] % quoted}{rest}", encoding="utf-8")
    return job


@pytest.mark.parametrize("url", HINTS)
def test_check_names_the_field_its_line_and_what_would_be_right(url: str, tmp_path: Path) -> None:
    for field in FIELDS:
        done = call("check", written(tmp_path, field, url))
        problem = next(line for line in done.output.splitlines() if "URL" in line)
        line = 1 if field.startswith("target") else 2
        assert problem.startswith(f"{tmp_path / 'job.yml'}:{line}:"), problem
        assert f"{field}: not an http or https URL" in problem
        assert HINTS[url] in problem
        assert "my@" not in problem, "no user, no password"


SETTINGS = {
    "BIOEVAL_AGENT_URL": "{user: u, chatbot: b}\nevaluator: {kind: scripted, lines: [{say: Hi}]}",
    "--agent-url": "{user: u, chatbot: b}\nevaluator: {kind: scripted, lines: [{say: Hi}]}",
    "OPENAI_BASE_URL": "{user: u, chatbot: b, url: 'http://127.0.0.1:1'}",
    "BIOEVAL_EVALUATOR_BASE_URL": "{user: u, chatbot: b, url: 'http://127.0.0.1:1'}",
    "NEO_URI": (
        "{user: u, chatbot: b, url: 'http://127.0.0.1:1'}\nevaluator: {kind: scripted, lines:"
        " [{say: Hi}]}"
    ),
}


@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize(
    "url",
    ["http://127.1:8081", "http://127.0.0.1:99999", "http://[::1", "http:///x", "127.0.0.1:8081"],
)
def test_a_run_names_the_setting_before_anything_is_called(
    setting: str, url: str, tmp_path: Path
) -> None:
    job = tmp_path / "job.yml"
    job.write_text(f"target: {SETTINGS[setting]}{REST}", encoding="utf-8")
    given = url.replace("http://", "bolt://") if setting == "NEO_URI" else url
    options = ("--agent-url", given) if setting == "--agent-url" else ()
    env = {"BIOEVAL_DATA_DIR": str(tmp_path), "OPENAI_API_KEY": "sk-0123456789"}
    if not options:
        env[setting] = given
    done = call("run", job, "--headless", *options, env=env)
    kind = "a Neo4j URI" if setting == "NEO_URI" else "an http or https URL"
    assert str(done.exception).startswith(f"{setting}: not {kind}: {given}; "), done.exception


@pytest.mark.parametrize("host", ["127.0.0.1", "LOCALHOST", "[::ffff:127.0.0.1]", "0.0.0.0"])
def test_an_address_of_this_machine_is_called_as_it_is_written(
    host: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://192.0.2.1:9")
    agent = Agent()
    with serving(agent):
        job = tmp_path / "job.yml"
        url = agent.url.replace("127.0.0.1", host)
        job.write_text(f"sensitive: true\ntarget: {SETTINGS['NEO_URI']}{REST}", encoding="utf-8")
        done = call(
            "run", job, "--headless", "--agent-url", url, "--graph", "none",
            env={"BIOEVAL_DATA_DIR": str(tmp_path)},
        )  # fmt: skip
        assert done.return_value == 0, done.output
        assert agent.asked.count("Hi") == 2
