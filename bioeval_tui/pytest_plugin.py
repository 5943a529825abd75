"""An evaluation is also a test: the fixture `bioeval`.

    def test_agent(bioeval):
        bioeval.run("job.yml", agent_url="http://127.0.0.1:8081").assert_score(0.8)

Loaded by pytest in every project where this program is installed, so nothing heavy is imported here.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from bioeval_tui.isolation import program_command


@dataclass(frozen=True)
class Evaluation:
    """What came out of `bioeval.run`: the report of the run as JSON, and what to hold against it."""

    report: dict[str, Any]
    talk: str
    """What the program said while it ran."""

    @property
    def runs(self) -> list[dict[str, Any]]:
        """One result for each job and model."""
        found: list[dict[str, Any]] = self.report["runs"]
        return found

    @property
    def run_id(self) -> str:
        """The (first) run's id: `bioeval-tui runs show` takes it."""
        return str(self.runs[0]["run_id"])

    @property
    def score(self) -> float | None:
        """The (first) run's mean over both conditions, None when it could not be measured."""
        found: float | None = self.runs[0]["score"]
        return found

    def condition(self, name: str) -> dict[str, Any]:
        """Return the statistics of `withheld` or `supplied` over all trials of the first agent and model."""
        found: dict[str, Any] = self.report["summary"][0]["conditions"][name]
        return found

    def assert_score(self, bar: float, *, condition: str | None = None) -> Evaluation:
        """Fail the test when the mean of both conditions, or of one, is below `bar` or was not measured."""
        __tracebackhide__ = True
        held = {name for summary in self.report["summary"] for name in summary["conditions"]}
        if condition is None and len(held) == 1:
            (only,) = held
            pytest.fail(
                f"the mean needs both conditions, and only facts {only} are held: "
                f"write assert_score({bar:g}, condition={only!r})",
                pytrace=False,
            )
        means = [
            (name, found["score"]["mean"])
            for summary in self.report["summary"]
            for name, found in summary["conditions"].items()
            if condition in (None, name)
        ]
        if not means or any(mean is None for _, mean in means):
            pytest.fail(f"the score could not be measured\n{self.why()}", pytrace=False)
        values = [mean for _, mean in means] if condition else [sum(mean for _, mean in means) / len(means)]
        if min(values) < bar - 1e-12:
            what = f"facts {condition}" if condition else "the mean of both conditions"
            pytest.fail(f"{what} scored {min(values):.2f}, the bar is {bar:g}\n{self.why()}", pytrace=False)
        return self

    def assert_assertions(self, *, condition: str | None = None) -> Evaluation:
        """Fail the test when an assertion of the job does not hold at the end, or could not be checked.

        Without `condition` both are looked at.
        """
        __tracebackhide__ = True
        missed = [
            f"{run['job']}, facts {name}: {check['title']} ({check['error'] or check['status'].replace('_', ' ')})"
            for run in self.runs
            for name, held in run["conditions"].items()
            if condition in (None, name)
            for talk in ((held or {}).get("trials") or [held or {}])
            for check in talk.get("assertions", ())
            if check["status"] != "passed"
        ]
        if missed:
            pytest.fail("\n".join(["assertions that do not hold:", *missed, self.why()]), pytrace=False)
        return self

    def assert_pass_k(self, k: int, bar: float) -> Evaluation:
        """Fail the test when pass^k of a condition is below `bar`, or when there were fewer than `k` trials."""
        __tracebackhide__ = True
        for summary in self.report["summary"]:
            for name, found in summary["conditions"].items():
                value = found["pass_k"].get(str(k))
                if value is None or value < bar - 1e-12:
                    shown = "not defined: too few trials" if value is None else f"{value:.2f}"
                    pytest.fail(
                        f"facts {name}: pass^{k} is {shown}, the bar is {bar:g}\n{self.why()}", pytrace=False
                    )
        return self

    def why(self) -> str:
        """Return the scores with their reasons, and where to look on."""
        lines = []
        for run in self.runs:
            for name, held in run["conditions"].items():
                talk = held or {}
                reason = f" ({talk['reason']})" if talk.get("reason") else ""
                lines.append(f"  {run['job']}, facts {name}: score {talk.get('score')}{reason}")
            lines.append(f"  bioeval-tui runs show {run['run_id']}")
        return "\n".join(lines)


class Bioeval:
    """Runs jobs with the installed program, in a process of its own."""

    def __init__(self, folder: Path, timeout_s: float = 3600.0) -> None:
        """`folder` is where job files are looked for: the test's own."""
        self.folder = folder
        self.timeout_s = timeout_s

    def run(
        self,
        *jobs: str | Path,
        agent_url: str | None = None,
        models: Sequence[str] = (),
        repeat: int = 1,
        concurrency: int | None = None,
        rehearsal: bool = False,
        seed: int | None = None,
        options: Sequence[str] = (),
    ) -> Evaluation:
        """Hold the conversations of the jobs and return what came out.

        `options` are further options of `bioeval-tui run`. The test fails when the program could not run.
        """
        __tracebackhide__ = True
        arguments = [str(self.folder / job) for job in jobs]
        for model in models:
            arguments += ["--model", model]
        for name, value in (("--agent-url", agent_url), ("--concurrency", concurrency), ("--seed", seed)):
            arguments += [name, str(value)] if value is not None else []
        arguments += ["--repeat", str(repeat), *(["--rehearsal"] if rehearsal else []), *options]
        with TemporaryDirectory() as folder:
            report = Path(folder) / "report.json"
            command = program_command("run", *arguments, "--headless", f"--json={report}")
            try:
                done = subprocess.run(  # noqa: S603 - our own program, no shell
                    command, capture_output=True, text=True, timeout=self.timeout_s, check=False,
                    stdin=subprocess.DEVNULL,
                )  # fmt: skip
            except subprocess.TimeoutExpired:
                pytest.fail(f"bioeval-tui did not end within {self.timeout_s:g} s", pytrace=False)
            if not report.is_file():
                pytest.fail(
                    f"bioeval-tui could not run (exit {done.returncode})\n{done.stderr}", pytrace=False
                )
            return Evaluation(json.loads(report.read_text(encoding="utf-8")), done.stderr)


@pytest.fixture
def bioeval(request: pytest.FixtureRequest) -> Bioeval:
    """Run evaluation jobs: `bioeval.run("job.yml").assert_score(0.8)`. Paths are relative to the test's file."""
    return Bioeval(request.path.parent)
