"""Shared settings of all tests.

Hypothesis tries the same examples in every run, so that a red run means a change and not luck, and
sets no deadline, as time is measured in benchmarks/ only. `HYPOTHESIS_PROFILE=search` looks for new
examples.

`pytest` runs what proves the main things, in about 3 minutes on two cores; `pytest --all` runs
everything. A test that you name on the command line always runs. Each process begins with a part of
the list and takes from another's when it has ended (`--dist worksteal`), so that most files are
prepared in one.

With BIOEVAL_REQUIRE_REAL=1 a skipped test is a failed one: nothing goes unproved because a server,
a browser or a package was not there.
"""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import tempfile
from collections.abc import AsyncIterator, Generator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import hypothesis
import pytest
from hypothesis.internal.conjecture import providers
from textual.app import App
from textual.pilot import Pilot

from bioeval_tui.record import masking
from tests import forked, leftovers

hypothesis.settings.register_profile("quick", derandomize=True, deadline=None, max_examples=25)
hypothesis.settings.register_profile("fixed", derandomize=True, deadline=None, max_examples=30)
hypothesis.settings.register_profile("search", deadline=None, max_examples=5_000)
TESTS = Path(__file__).parent
FEW_FILES = 3
REQUIRED = os.environ.get("BIOEVAL_REQUIRE_REAL") == "1"

ONLY_WITH_ALL = (
    "tests/faults/",
    "tests/fuzz/",
    "tests/hostile/",
    "tests/integration/fhir/",
    "tests/integration/grading/test_grading_cluster.py",
    "tests/integration/grading/test_grading_containment.py",
    "tests/integration/neo4j/",
    "tests/integration/openai/test_litellm.py",
    "tests/integration/reports/",
    "tests/integration/test_half_requests.py",
    "tests/integration/test_large_recordings.py",
    "tests/integration/test_many_machines.py",
    "tests/integration/test_masking.py",
    "tests/integration/test_masking_screens.py",
    "tests/integration/test_one_condition.py",
    "tests/integration/test_other_systems.py",
    "tests/integration/test_runs_ci.py",
    "tests/integration/test_runs_resume.py",
    "tests/integration/test_working_folder.py",
    "tests/integration/test_written_replay.py",
    "tests/peers/",
    "tests/real_model/",
    "tests/test_deleting.py",
    "tests/tui/test_every_key.py",
    "tests/tui/test_hostile.py",
    "tests/tui/test_in_terminal.py",
    "tests/unit/guards/test_guard_rates.py",
    "tests/unit/grade/tasks/test_leaderboards.py",
    "tests/unit/test_peer_texts.py",
)
"""Where every case of something is tried, or a server is needed that most machines do not have."""
FIRST = (
    "tests/fuzz/",
    "tests/hostile/",
    "tests/integration/neo4j/",
    "tests/integration/openai/test_litellm.py",
    "tests/integration/test_serve.py",
    "tests/integration/test_working_folder.py",
    "tests/terminal/",
    "tests/test_deleting.py",
    "tests/tui/test_every_width.py",
    "tests/tui/test_in_terminal.py",
    "tests/unit/guards/test_guard_rates.py",
)
"""The longest tests begin before the others: no process ends with one of them alone."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--all`."""
    parser.addoption(
        "--all", action="store_true", dest="everything", help="run every test, the long ones too"
    )


def pytest_configure(config: pytest.Config) -> None:
    """Choose how many examples property tests try, and make signals arrive.

    Take SIGINT, SIGQUIT and SIGHUP as a terminal's programs do, though whoever started the tests
    ignores them (`&`, `nohup`).

    What is ignored stays ignored in every program that a test starts and then interrupts.
    """
    profile = "fixed" if config.getoption("everything") else "quick"
    profile = os.environ.get("HYPOTHESIS_PROFILE", profile)
    hypothesis.settings.load_profile(profile)
    if profile != "search":
        # By default examples also come from the constants of all modules that are loaded: other
        # tests in the same process would change what is tried, and each process would parse the
        # whole package.
        providers._get_local_constants = lambda: providers._local_constants
    # Tests start hundreds of Python processes: without bytecode each would compile what it imports.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if hasattr(signal, "SIGQUIT") and signal.getsignal(signal.SIGQUIT) is signal.SIG_IGN:
        signal.signal(signal.SIGQUIT, signal.SIG_DFL)
    if hasattr(signal, "SIGHUP") and signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
        # still no end of the tests, but not passed on
        signal.signal(signal.SIGHUP, lambda number, frame: None)
    if "PYTEST_XDIST_WORKER" not in os.environ:
        # Else a test that names no data folder would write to that of whoever runs the tests.
        folder = tempfile.TemporaryDirectory(prefix="bioeval-data-")
        config.add_cleanup(folder.cleanup)
        os.environ["BIOEVAL_DATA_DIR"] = folder.name
    leftovers.watch()
    forked.share()


def pytest_sessionstart() -> None:
    """Collect no garbage while tests are collected: there is none, and a million objects that live
    to the end.
    """
    gc.disable()


def pytest_collection_finish() -> None:
    """Leave out of each later collection of garbage what is there now, and collect as seldom as the
    program does.
    """
    gc.freeze()
    gc.set_threshold(200_000, 20, 20)
    gc.enable()


def pytest_sessionfinish() -> None:
    """Leave out also what the tests have made: pytest collects garbage twice at its end."""
    gc.freeze()


def pytest_runtest_setup() -> None:
    """Handle SIGTERM again: an event loop of the test before may have put the default in its
    place.
    """
    signal.signal(signal.SIGTERM, signal.default_int_handler)


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """Run more tests at once than there are cores: some wait for servers and terminals; each
    process collects all.

    Tests of a few files run in this process: others would take longer to start than the tests.
    """
    if len(config.args) <= FEW_FILES and all(
        Path(arg.partition("::")[0]).is_file() for arg in config.args
    ):
        return 0
    return (2 if config.getoption("everything") else 1) + (os.cpu_count() or 1)


@pytest.fixture(autouse=True)
def tasks_start_as_in_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Start tasks eagerly from Python 3.12 on, as `App.run` does and `App.run_test` does not.

    Eager tasks change the order in which screens and widgets begin: without them tests pass on what
    users see crash.
    """
    eager = getattr(asyncio, "eager_task_factory", None)
    run_test = App.run_test

    @asynccontextmanager
    async def run_eagerly(app: App[Any], **options: Any) -> AsyncIterator[Pilot[Any]]:
        asyncio.get_running_loop().set_task_factory(eager)
        async with run_test(app, **options) as pilot:
            yield pilot

    monkeypatch.setattr(App, "run_test", run_eagerly)


@pytest.fixture(autouse=True)
def no_mask_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave no mask behind: `--redact` sets one for the whole process, in which no editor would
    open afterwards.
    """
    monkeypatch.setattr(masking, "_chosen", masking._chosen)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Do not import the files whose tests are all left out: an eighth of what collecting costs each
    process.
    """
    left_out = not _runs_everything(config) and collection_path.is_relative_to(TESTS)
    return (left_out and _path(collection_path).startswith(ONLY_WITH_ALL)) or None


def _path(path: Path) -> str:
    return path.relative_to(TESTS.parent).as_posix() + ("/" if path.is_dir() else "")


def _runs_everything(config: pytest.Config) -> bool:
    """Whether no test is left out: all are asked for, or some by name."""
    return (
        config.getoption("everything")
        or config.args_source is not pytest.Config.ArgsSource.TESTPATHS
    )


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the long tests unless they were asked for, and begin with the longest."""
    for item in items:
        if item.nodeid.startswith(ONLY_WITH_ALL):
            item.add_marker(pytest.mark.long)
    if not _runs_everything(config):
        leave_out(config, items, {"long", "real_server"})
    elif config.getoption("everything"):
        leave_out(config, items, {"part"})
    items.sort(key=lambda item: (not item.nodeid.startswith(FIRST), item.path))


def leave_out(config: pytest.Config, items: list[pytest.Item], marks: set[str]) -> None:
    """Deselect the tests that have one of these marks."""
    left_out = {item for item in items if marks & {mark.name for mark in item.iter_markers()}}
    config.hook.pytest_deselected(items=[*left_out])
    items[:] = [item for item in items if item not in left_out]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print what tests have measured (`record_property`)."""
    for report in terminalreporter.getreports("passed"):
        for name, value in report.user_properties:
            terminalreporter.write_line(f"{name}: {value}")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Fail a test that was skipped."""
    report = yield
    if REQUIRED and report.skipped and not hasattr(report, "wasxfail"):
        report.outcome, report.longrepr = "failed", f"skipped, but required here: {report.longrepr}"
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Fail a module that was skipped as a whole.

    In a fresh clone, what is imported is compiled, and the assertions of a test file rewritten,
    which takes half a minute of CPU time: each process begins with other files and finds what the
    others have prepared.
    """
    report = yield
    if isinstance(collector, pytest.Directory) and report.result:
        process = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
        first = (
            len(report.result) * process // int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
        )
        report.result = report.result[first:] + report.result[:first]
    if REQUIRED and report.skipped:
        report.outcome, report.longrepr = "failed", f"skipped, but required here: {report.longrepr}"
    return report
