"""Heavy modules are imported only when they are needed, seen in a process of its own."""

from __future__ import annotations

import subprocess
import sys

import pytest

HEAVY = (
    "textual",
    "pandas",
    "anndata",
    "sklearn",
    "openai",
    "neo4j",
    "pyarrow",
    "scipy",
    "aiohttp",
    "httpx",
    "httpx2",
)


def loaded_after(code: str) -> set[str]:
    """Return which heavy modules a fresh interpreter has loaded after running `code`."""
    probe = (
        f"{code}\nimport sys\nprint(' '.join(m for m in {HEAVY!r} if m in sys.modules), file=sys.__stderr__)"
    )
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return set(done.stderr.strip().splitlines()[-1].split()) if done.stderr.strip() else set()


@pytest.mark.parametrize(
    "module",
    [
        "bioeval_tui.cli.main",
        "bioeval_tui.library",
        "bioeval_tui.grading",
        "bioeval_tui.record.state",
        "bioeval_tui.grade.task_report",
    ],
)
def test_importing_the_package_loads_nothing_heavy(module: str) -> None:
    assert loaded_after(f"import {module}") == set()


@pytest.mark.parametrize("argument", ["--version", "--help"])
def test_version_and_help_load_nothing_heavy(argument: str) -> None:
    code = (
        "import sys, bioeval_tui.cli.main as c\n"
        f"sys.argv = ['bioeval-tui', {argument!r}]\n"
        "try:\n    c.main()\nexcept SystemExit as end:\n    assert not end.code, end.code"
    )
    assert loaded_after(code) == set()


def test_the_screens_load_no_client_and_no_data_frames() -> None:
    assert loaded_after("import bioeval_tui.tui.app") <= {"textual"}


def test_the_screens_and_their_services_wait_for_no_event_model() -> None:
    code = "import bioeval_tui.tui.app, bioeval_tui.tui.data.services, bioeval_tui.tui.runs.runs"
    probe = f"import sys\n{code}\nassert not [m for m in ('pydantic.main', 'jinja2') if m in sys.modules]"
    subprocess.run([sys.executable, "-c", probe], check=True, timeout=300)


def test_a_grading_worker_loads_what_every_task_needs() -> None:
    """The rest waits for a task that needs it: a batch starts a worker for each core, and one for each that ended."""
    assert loaded_after("import bioeval_tui.grade.batch.item_grader") == {"pandas", "pyarrow"}


def test_the_process_of_a_batch_loads_no_numpy() -> None:
    """Its workers have it: the batch is to need little more memory than the published program."""
    code = """
import sys
import bioeval_tui.cli.grade, bioeval_tui.grade.console
import bioeval_tui.grade.batch.output, bioeval_tui.grade.batch.pool, bioeval_tui.grade.tasks.registry
assert "numpy" not in sys.modules"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=300)


def test_starting_an_engine_loads_no_http_client() -> None:
    """The first paint of `demo` and `run` waits for it."""
    assert loaded_after("import bioeval_tui.cli.show_run, bioeval_tui.cli.demo") == set()


def test_listing_runs_does_not_load_the_event_models() -> None:
    code = "import bioeval_tui.cli.runs, bioeval_tui.record.catalogue, bioeval_tui.settings, bioeval_tui.cli.runs"
    probe = f"import sys\n{code}\nassert not [m for m in ('pydantic.main', 'asyncio', 'jinja2') if m in sys.modules]"
    subprocess.run([sys.executable, "-c", probe], check=True, timeout=300)


def test_the_help_of_run_waits_for_no_event_model() -> None:
    probe = (
        "import sys, bioeval_tui.cli.run\nassert not [m for m in ('pydantic', 'jinja2') if m in sys.modules]"
    )
    subprocess.run([sys.executable, "-c", probe], check=True, timeout=300)


OPENAI_AS_IT_IS = "import openai"
OPENAI_FROM_HERE = "from bioeval_tui.evaluation.models.openai_package import openai"
NAMES = """
import json, sys, threading
everything = sorted(name for name in sys.modules if name.split(".")[0] == "openai")
print(len(everything))
found = []
def look():
    from openai.types import ChatModel, Completion
    from openai.types.responses import Response
    found.append((Response.__module__, Completion.__module__))
threads = [threading.Thread(target=look) for _ in range(8)]
for thread in threads: thread.start()
for thread in threads: thread.join()
assert len(found) == 8, found
print(json.dumps({name: [dir(sys.modules[name]), str(sys.modules[name].__spec__.loader.path)]
    for name in sorted(sys.modules) if name.startswith("openai.types")}))
"""


def test_openai_is_imported_without_its_types_and_has_them_all_the_same() -> None:
    as_it_is, from_here = (
        subprocess.run(
            [sys.executable, "-c", first + NAMES], capture_output=True, text=True, timeout=300, check=True
        ).stdout.splitlines()
        for first in (OPENAI_AS_IT_IS, OPENAI_FROM_HERE)
    )
    assert int(from_here[0]) < 0.7 * int(as_it_is[0])
    assert from_here[1] == as_it_is[1]
