"""The command line: every command has an example, errors are one sentence, exit codes are
documented.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import click
import pytest

from bioeval_tui.graphs.embedded import available
from tests.command import call, group
from tests.forked import completed


def run(*arguments: str, data_dir: Path) -> subprocess.CompletedProcess[str]:
    """Run the real program as a user does."""
    environment = {
        "PATH": "/usr/bin:/bin",
        "HOME": str(data_dir),
        "BIOEVAL_DATA_DIR": str(data_dir / "data"),
    }
    return completed(*arguments, env=environment, cwd=data_dir)


def leaf_commands() -> list[list[str]]:
    found = []
    program, names = group()
    for name in names:
        found.append([name])
        if isinstance(program.get_command(click.Context(program), name), click.Group):
            found += [[name, sub] for sub in group(name)[1]]
    return found


@pytest.mark.parametrize("path", leaf_commands(), ids=" ".join)
def test_help_of_every_command_shows_an_example(path: list[str]) -> None:
    result = call(*path, "--help")
    assert result.exit_code == 0
    assert "Example" in result.output
    assert "bioeval-tui " + path[0] in result.output


def test_a_misspelt_command_suggests_the_nearest(tmp_path: Path) -> None:
    done = run("demmo", data_dir=tmp_path)
    assert done.returncode == 2
    assert "did you mean demo?" in done.stderr


def test_an_invalid_job_lists_every_problem_and_exits_2(tmp_path: Path) -> None:
    (tmp_path / "job.yml").write_text(
        "target: {user: a, chatbot: b}\naspirationalAverage: 1\ntaks: []\nfacts: no\n"
        "evaluator: {kind: scripted, lines: [{say: a, when: '['}]}\n"
        "assertions:\n  - expression: 1 +\n  - {cypher: CREATE (n)}\n"
    )
    done = run("check", "job.yml", data_dir=tmp_path)
    assert done.returncode == 2
    assert done.stdout.splitlines() == [
        "job.yml:1:1: tasks: required key is missing",
        "job.yml:3:1: taks: unknown key, did you mean tasks?",
        "job.yml:4:8: facts: must be a list, not the yes/no value false",
        (
            "job.yml:5:52: evaluator.lines[0].when: the pattern `[` cannot be read: unterminated"
            " character set (column 2)"
        ),
        "job.yml:7:20: assertions[0].expression: the expression ends too early",
        "job.yml:8:5: assertions[1].expected: required key is missing",
        "job.yml:8:14: assertions[1].cypher: CREATE writes; only reading is allowed here",
    ]
    assert run("run", "job.yml", "--headless", data_dir=tmp_path).returncode == 2


def test_a_model_without_a_key_is_refused_and_never_replaced_by_a_rehearsal(tmp_path: Path) -> None:
    (tmp_path / "job.yml").write_text(
        "target: {user: a, chatbot: b}\naspirationalAverage: 1\ntasks: [{task: x}]\nfacts: []\n"
    )
    done = run("run", "job.yml", "--headless", data_dir=tmp_path)
    assert done.returncode == 2
    assert "OPENAI_API_KEY is not set" in done.stderr
    assert "--rehearsal" not in done.stderr, "there is no script to rehearse with"
    demo = run("demo", "--llm", "--headless", data_dir=tmp_path)
    assert (demo.returncode, demo.stderr.count("\n")) == (2, 1)
    assert "OPENAI_BASE_URL" in demo.stderr
    assert demo.stderr.endswith("or leave out --llm\n")


def test_a_sensitive_job_refuses_a_host_that_is_not_this_machine(tmp_path: Path) -> None:
    (tmp_path / "job.yml").write_text(
        "target: {user: a, chatbot: b, url: 'https://agent.example.org'}\naspirationalAverage:"
        " 1\nfacts: []\ntasks: [{task: x, rules: [{pattern: x}]}]\nsensitive: true\nevaluator:"
        " {kind: scripted, lines: [{say: hi}]}\nscorer: {kind: rules}\n"
    )
    done = run("run", "job.yml", "--headless", data_dir=tmp_path)
    assert done.returncode == 2
    assert "agent.example.org" in done.stderr
    assert "only loopback" in done.stderr


def test_run_without_a_job_says_what_to_give(tmp_path: Path) -> None:
    screen = run("app", data_dir=tmp_path)
    assert screen.returncode == 2
    assert (
        screen.stderr
        == "error: this needs a terminal; without one, `bioeval-tui --help` lists the commands that"
        " print\n"
    )
    nothing = run("run", "--headless", data_dir=tmp_path)
    assert nothing.returncode == 2
    assert "bioeval-tui new job.yml" in nothing.stderr


def test_without_runs_the_list_says_how_to_start_one(tmp_path: Path) -> None:
    done = run("runs", "list", data_dir=tmp_path)
    assert (done.returncode, done.stdout) == (0, "")
    assert "bioeval-tui demo" in done.stderr
    assert json.loads(run("runs", "list", "--json", data_dir=tmp_path).stdout) == []


def test_an_internal_error_is_one_sentence_and_its_traceback_is_saved(tmp_path: Path) -> None:
    code = (
        "import sys, bioeval_tui.cli.main as c\n"
        "c.app.main = lambda **k: 1 / 0\n"
        "sys.argv = ['bioeval-tui']\nc.main()"
    )
    environment = {
        "PATH": "/usr/bin:/bin",
        "HOME": str(tmp_path),
        "BIOEVAL_DATA_DIR": str(tmp_path / "data"),
    }
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=300, env=environment
    )
    assert done.returncode == 3
    assert done.stderr.count("\n") == 1
    assert "ZeroDivisionError" in (tmp_path / "data" / "logs" / "errors.log").read_text()


def test_an_enormous_file_is_not_an_internal_error(tmp_path: Path) -> None:
    resource = pytest.importorskip("resource")
    with (tmp_path / "state.json").open("wb") as file:
        file.truncate(1 << 40)
    done = subprocess.run(
        [sys.executable, "-m", "bioeval_tui", "assert", "true", "--context",
            str(tmp_path / "state.json")],
        capture_output=True, text=True, cwd=tmp_path,
        env={**os.environ, "BIOEVAL_DATA_DIR": str(tmp_path)},
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30)),
    )  # fmt: skip
    assert done.returncode == 3
    assert done.stderr.startswith("error: out of memory")


def test_assert_evaluates_one_expression_against_a_saved_state(tmp_path: Path) -> None:
    (tmp_path / "state.json").write_text(
        json.dumps(
            {"objectContext": {"resources": [{"id": "r", "labels": ["DomainNode", "Reminder"]}]}}
        )
    )
    yes = run(
        "assert", "objectContext.resources.size == 1", "--context", "state.json", data_dir=tmp_path
    )
    assert (yes.returncode, yes.stdout) == (0, "true\n")
    no = run(
        "assert",
        'objectContext.entities.none { it.type == "Reminder" }',
        "--context",
        "state.json",
        data_dir=tmp_path,
    )
    assert (no.returncode, no.stdout) == (1, "false\n")
    assert "objectContext.entities is [{" in no.stderr
    both = "(objectContext.resources.size >= 1 && objectContext.resources.size == 2 + 1) || 1 > 2"
    why = run("assert", both, "--context", "state.json", data_dir=tmp_path)
    assert (why.returncode, json.loads(why.stdout)) == (1, False)
    assert why.stderr.splitlines() == [
        "true: objectContext.resources.size >= 1",
        "  objectContext.resources.size is 1",
        "false: objectContext.resources.size == 2 + 1",
        "  objectContext.resources.size is 1",
        "false: 1 > 2",
    ]
    minus = run("assert", "-7 / 2 == -3", "--context", "state.json", data_dir=tmp_path)
    assert (minus.returncode, minus.stdout) == (0, "true\n")
    misspelt = run("assert", "1 == 1", "--contxt", "state.json", data_dir=tmp_path)
    assert "No such option '--contxt'" in misspelt.stderr
    wrong = run(
        "assert", "objectContext.resources.siez == 1", "--context", "state.json", data_dir=tmp_path
    )
    assert wrong.returncode == 2
    assert "^" in wrong.stderr


def test_resume_says_why_it_takes_no_option_that_is_decided_when_a_run_starts() -> None:
    for option, why in (
        ("--scheduler", "a run is resumed on this machine"),
        ("--concurrency", "--concurrency is decided when a run starts"),
        ("--bla", "No such option '--bla'"),
    ):
        refused = call("runs", "resume", "7f3a", option, "3").exception
        assert isinstance(refused, click.UsageError)
        assert why in refused.format_message()


@pytest.mark.skipif(bool(available()), reason=str(available()))
@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["MATCH (n) RETURN count(n)", "--expected", "0"], 0, "0\n"),
        (["MATCH (n) RETURN count(n)", "--expected", "1"], 1, "0\n"),
        (
            ["MATCH (n)\nDELETE n"],
            2,
            "error: DELETE writes; only reading is allowed here\nDELETE n\n^\n",
        ),
    ],
)
def test_assert_queries_the_graph_and_puts_a_caret_under_the_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], code: int, said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("BIOEVAL_DATA_DIR", str(tmp_path))
    done = call("assert", "--graph", "embedded", "--cypher", *arguments)
    assert done.return_value == code
    assert done.output.startswith(said)


def test_without_a_command_or_terminal_the_help_is_printed(tmp_path: Path) -> None:
    done = run(data_dir=tmp_path)
    assert done.returncode == 2
    assert "Open the terminal application" in done.stdout
    assert "tui " not in [line.strip()[:4] for line in done.stdout.splitlines()]


@pytest.mark.parametrize("name", ["app", "tui"])
def test_without_a_terminal_the_application_does_not_open(tmp_path: Path, name: str) -> None:
    done = run(name, data_dir=tmp_path)
    assert done.returncode == 2
    assert "needs a terminal" in done.stderr
    assert "Traceback" not in done.stderr


def test_an_unknown_screen_name_is_reported(tmp_path: Path) -> None:
    done = run("app", "nowhere", data_dir=tmp_path)
    assert done.returncode == 2
    assert done.stderr == "error: nowhere does not exist; give folders or job files\n"
