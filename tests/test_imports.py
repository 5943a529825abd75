"""Heavy modules are imported only when they are needed, seen in processes of their own."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Set

HEAVY = {
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
}


RUN = "import sys, bioeval_tui.cli.main as c; sys.argv = ['bioeval-tui', {!r}]; c.main()"
SCREENS = "import bioeval_tui.tui.app, bioeval_tui.tui.data.services, bioeval_tui.tui.runs.runs"
BATCH = (
    "import bioeval_tui.cli.grade, bioeval_tui.grade.printing.reports,"
    " bioeval_tui.grade.batch.output, bioeval_tui.grade.batch.pool"
)
LIST = "import bioeval_tui.cli.runs, bioeval_tui.record.catalogue, bioeval_tui.base.settings"
MODELS = {"pydantic.main", "jinja2"}
WATCHED = "import bioeval_tui.cli.demo, bioeval_tui.cli.show_demo, bioeval_tui.cli.watch"
LIVE = "bioeval_tui.tui.live.live"
HOME = "import bioeval_tui.cli.app, bioeval_tui.tui.home"
OPTIONS = {"bioeval_tui.record.run_options", "bioeval_tui.report.formats.registry"}
SIGNED_RANKS = "import bioeval_tui.statistics.p_values as p; p.signed_rank_p([0.1, 0.2, -0.3])"
LOADS: dict[str, tuple[str, Set[str], Set[str]]] = {
    "the command line": ("import bioeval_tui.cli.main", HEAVY, set()),
    "the library": ("import bioeval_tui.library", HEAVY, set()),
    "grading": ("import bioeval_tui.grading", HEAVY, set()),
    "the state of a run": ("import bioeval_tui.record.state", HEAVY, set()),
    "graded reports": ("import bioeval_tui.grade.task_report", HEAVY, set()),
    "--version": (RUN.format("--version"), HEAVY, set()),
    "--help": (RUN.format("--help"), HEAVY, set()),
    "screens": ("import bioeval_tui.tui.app", HEAVY, {"textual"}),
    "screens and their services": (SCREENS, MODELS, set()),
    # The rest waits for a task that needs it: a batch starts a worker for each core, and one for
    # each that ended.
    "a grading worker": (
        "import bioeval_tui.grade.batch.item_grader",
        HEAVY,
        {"pandas", "pyarrow"},
    ),
    # Its workers have it: the batch is to need little more memory than the published program.
    "the process of a batch": (f"{BATCH}, bioeval_tui.grade.tasks.registry", {"numpy"}, set()),
    # The first paint of `demo` and `run` waits for it.
    "the start of an engine": (
        "import bioeval_tui.cli.show_run, bioeval_tui.cli.demo",
        HEAVY,
        set(),
    ),
    "the first paint of a demo and a replay": (WATCHED, {*MODELS, LIVE}, set()),
    "the first paint of Home": (HOME, {*MODELS, *OPTIONS, "bioeval_tui.plugins"}, set()),
    "check": (
        "import bioeval_tui.cli.check",
        {"bioeval_tui.record.events", "bioeval_tui.record.catalogue", "bioeval_tui.protocols"},
        set(),
    ),
    "the signed-rank test": (SIGNED_RANKS, {"scipy"}, set()),
    "the list of runs": (LIST, {*MODELS, "asyncio"}, set()),
    "the help of run": ("import bioeval_tui.cli.run", {"pydantic", "jinja2"}, set()),
}
"""Code, the modules that are looked for afterwards, and those of them that it loads."""
LOADED_AFTER = """
import json, os, sys
for name, code, sought in json.loads(sys.argv[1]):
    if child := os.fork():
        assert os.waitpid(child, 0)[1] == 0, name
        continue
    out = os.dup(1)
    os.dup2(2, 1)
    try:
        exec(code)
    except SystemExit as end:
        assert not end.code, end.code
    with open(out, "w") as said:
        print(json.dumps([name, [module for module in sought if module in sys.modules]]), file=said)
    os._exit(0)
"""


def test_heavy_modules_are_loaded_when_they_are_needed() -> None:
    asked = [(name, code, sorted(sought)) for name, (code, sought, _) in LOADS.items()]
    done = subprocess.run(
        [sys.executable, "-c", LOADED_AFTER, json.dumps(asked)],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    found = {name: set(loaded) for name, loaded in map(json.loads, done.stdout.splitlines())}
    assert found == {name: set(loaded) for name, (_, _, loaded) in LOADS.items()}
