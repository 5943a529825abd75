"""An evaluation is also a test: the fixtures `bioeval` and `bioeval_session`.

    def test_agent(bioeval):
        bioeval.run("job.yml", agent_url="http://127.0.0.1:8081").assert_score(0.8)

Loaded by pytest in every project where this program is installed, so nothing heavy is imported
here.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from numbers import Integral, Real
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

import pytest

from bioeval_tui.base.errors import BioevalError
from bioeval_tui.base.isolation import program_command
from bioeval_tui.base.streams import break_commands, is_runner
from bioeval_tui.base.text import clean_line, listed, shorten
from bioeval_tui.base.units import number_near
from bioeval_tui.record.condition_names import of_mean_words, published_title, without_placebo
from bioeval_tui.report.answer_labels import LABELS
from bioeval_tui.statistics.means import exact_mean, reaches

NotMeasured = Literal["fail", "skip"]
INI = "bioeval_not_measured"
FIXTURES = {"bioeval", "bioeval_session"}


@dataclass(frozen=True, repr=False)
class Evaluation:
    """The result of `bioeval.run`: the run's report as JSON, and assertions on it."""

    report: dict[str, Any]
    talk: str
    """The program's output on stderr."""
    not_measured: NotMeasured = "fail"
    """What to do with a test whose scores could not be measured: fail or skip."""

    def __repr__(self) -> str:
        """Return the run ids and scores: pytest prints it, and the whole report has what an agent
        said.
        """
        scores = ", ".join(f"{run['run_id']}: {run['score']}" for run in self.runs)
        return f"Evaluation({scores})"

    @property
    def runs(self) -> list[dict[str, Any]]:
        """One result for each job and model (`bioeval-tui schema result` describes it)."""
        runs: list[dict[str, Any]] = self.report["runs"]
        return runs

    @property
    def run_id(self) -> str:
        """The (first) run's id: `bioeval-tui runs show` takes it."""
        return str(self.runs[0]["run_id"])

    @property
    def score(self) -> float | None:
        """The (first) run's mean over both conditions; None if it could not be measured."""
        score: float | None = self.runs[0]["score"]
        return score

    def condition(self, name: str) -> dict[str, Any]:
        """Return the statistics of `withheld` or `supplied` over all trials of the first agent and
        model.

        Raises:
            ValueError: the condition was not run.
        """
        conditions: dict[str, dict[str, Any]] = self.report["summary"][0]["conditions"]
        if name not in conditions:
            raise ValueError(
                f"the condition {name!r} was not run; the run has {listed(conditions)}"
            )
        return conditions[name]

    def assert_score(self, bar: float, *, condition: str | None = None) -> Evaluation:
        """Fail the test unless each job reaches `bar` with each model: the mean of both conditions,
        or of one.

        Raises:
            ValueError: the condition does not exist, or `bar` is not from 0 to 1.
        """
        __tracebackhide__ = True
        _require_share(bar)
        for run, conditions in self._chosen_runs(condition):
            if condition is None and len(conditions) == 1:
                pytest.fail(
                    "the mean needs both conditions, and only"
                    f" {published_title(conditions[0])} was run: "
                    f"write assert_score({bar:g}, condition={conditions[0]!r})",
                    pytrace=False,
                )
            wanted = conditions if condition is None else (condition,)
            means = [_mean(run, name) for name in wanted]
            known = [mean for mean in means if mean is not None]
            if len(known) < len(wanted):
                self._not_measured(f"{_name(run)}: the score could not be measured")
            self._require_measured()
            single = condition is None and all(len(_trials(run, name)) == 1 for name in conditions)
            value = run["score"] if single else exact_mean(known)
            if not reaches(value, bar):
                what = (
                    published_title(condition)
                    if condition
                    else f"the mean of {of_mean_words(conditions)} conditions"
                )
                pytest.fail(
                    f"{_name(run)}: {what} scored {number_near(value, bar)}, the threshold is"
                    f" {bar:g}\n{self.why()}",
                    pytrace=False,
                )
            lowest = exact_mean([_mean(run, name, "mean_at_least") or 0.0 for name in wanted])
            if not reaches(lowest, min(bar, exact_mean(known))):
                self._not_measured(
                    f"{_name(run)}: {number_near(value, bar)} reaches the threshold {bar:g}, and"
                    f" {number_near(lowest, bar)} does not, with 0 for what was left out and the"
                    " time of requests that were sent again"
                )
        return self

    def assert_assertions(self, *, condition: str | None = None) -> Evaluation:
        """Fail the test if an assertion of a job failed at the end, or could not be checked.

        Without `condition`, both are checked.

        Raises:
            ValueError: the condition does not exist.
        """
        __tracebackhide__ = True
        checks = []
        for run, conditions in self._chosen_runs(condition):
            for name in conditions:
                where = f"{_name(run)}, {published_title(name)}"
                for check in chain.from_iterable(talk["assertions"] for talk in _trials(run, name)):
                    if check["status"] != "passed":
                        checks.append((f"{where}: {check['title']}", check))
        failed = [
            f"{where} ({check['error'] or 'failed'})"
            for where, check in checks
            if check["status"] == "failed"
        ]
        if failed:
            pytest.fail("\n".join(["failed assertions:", *failed, self.why()]), pytrace=False)
        if checks:
            missed = [f"{where} ({check['error'] or 'not measured'})" for where, check in checks]
            self._not_measured("\n".join(["assertions that could not be checked:", *missed]))
        return self

    def assert_pass_k(self, k: int, bar: float, *, condition: str | None = None) -> Evaluation:
        """Fail the test unless pass^k over the tasks of each job reaches `bar`, in each condition
        or in one.

        With fewer than `k` trials that count, pass^k is not measured. A report has it for a `k` up
        to 200.

        Raises:
            ValueError: the condition does not exist, `k` is below 1, or `bar` is not from 0 to 1.
        """
        __tracebackhide__ = True
        _require_share(bar)
        _require_count(k)
        for run, conditions in self._chosen_runs(condition):
            for name in conditions:
                value, where = _pass_k(run, name, k), f"{_name(run)}, {published_title(name)}"
                if value is None:
                    reported = run["conditions"][name]["pass_k"]
                    why = "is not defined: too few trials"
                    if k < max(map(int, reported), default=0):
                        why = "is not reported for so many trials; use a smaller k"
                    self._not_measured(f"{where}: pass^{k} {why}")
                self._require_measured()
                if value is not None and not reaches(value, bar):
                    pytest.fail(
                        f"{where}: pass^{k} is {number_near(value, bar)}, the threshold is"
                        f" {bar:g}\n{self.why()}",
                        pytrace=False,
                    )
        return self

    def why(self) -> str:
        """Return each run's answer, the scores with their reasons, and how to show more."""
        lines = []
        for run in self.runs:
            answer = run["answer"]
            told = ((label, answer[name]) for label, name in LABELS.items())
            lines += [f"  {_name(run)}: {label} {text}" for label, text in told if text]
            for name in run["conditions"]:
                for talk in _trials(run, name):
                    reason = f" ({talk['reason']})" if talk["reason"] else ""
                    lines.append(
                        f"  {_name(run)}, {published_title(name)}, trial {talk['trial']}: score"
                        f" {talk['score']}{reason}"
                    )
            lines.append(f"  bioeval-tui runs show {run['run_id']}")
        return "\n".join(lines)

    def _chosen_runs(self, condition: str | None) -> Iterator[tuple[dict[str, Any], list[str]]]:
        """Yield each run with the requested conditions."""
        for run in self.runs:
            conditions = list(run["conditions"])
            if condition is not None and condition not in conditions:
                raise ValueError(
                    f"{_name(run)}: the condition {condition!r} was not run; the run has"
                    f" {listed(conditions)}"
                )
            yield run, list(without_placebo(conditions)) if condition is None else [condition]

    def _require_measured(self) -> None:
        """Fail or skip the test if too few conversations count, or one was left out over what the
        agent sent.
        """
        __tracebackhide__ = True
        if self.report["not_measured"]:
            self._not_measured("; ".join(self.report["not_measured"]))

    def _not_measured(self, why: str) -> None:
        """Fail or skip the test, as `bioeval_not_measured` says, because the agent could not be
        measured.
        """
        __tracebackhide__ = True
        message = f"not measured: {why}\n{self.why()}"
        if self.not_measured == "skip":
            pytest.skip(message)
        pytest.fail(message, pytrace=False)


def _require_types(jobs: Sequence[object], agent: object, options: object) -> None:
    for job in jobs:
        if not isinstance(job, str | Path):
            raise TypeError(
                f"bioeval.run: a job is a YAML file or the name of a sample, not {_shown(job)}"
            )
    if agent is not None and not callable(agent):
        raise TypeError(
            "bioeval.run: agent is a function or an object that can be called, not"
            f" {_shown(agent)}; agent_url takes a URL"
        )
    if isinstance(options, str) or not isinstance(options, Sequence):
        raise TypeError(
            'bioeval.run: options is a list of texts, such as ["--cases", "1-3"], not'
            f" {_shown(options)}"
        )


def _shown(value: object) -> str:
    return shorten(clean_line(repr(value)), 100)


def _require_share(bar: object) -> None:
    if isinstance(bar, bool) or not isinstance(bar, Real):
        raise TypeError(f"the threshold must be a number from 0 to 1, not {_shown(bar)}")
    if not 0 <= float(bar) <= 1:
        raise ValueError(f"the threshold must be from 0 to 1, not {float(bar):g}")


def _require_count(k: object) -> None:
    if isinstance(k, bool) or not isinstance(k, Integral):
        raise TypeError(f"pass^k needs a whole number as k, not {_shown(k)}")
    if int(k) < 1:
        raise ValueError(f"pass^k needs a k of 1 or more, not {k}")


def _name(run: dict[str, Any]) -> str:
    return " · ".join(part for part in (run["job"], run["model"]) if part)


def _trials(run: dict[str, Any], condition: str) -> list[dict[str, Any]]:
    trials: list[dict[str, Any]] = (run["conditions"].get(condition) or {}).get("trials", [])
    return trials


def _mean(run: dict[str, Any], condition: str, key: str = "mean_of_used") -> float | None:
    """Return the mean over the trials that have a score, or another one."""
    mean: float | None = (run["conditions"].get(condition) or {}).get(key)
    return mean


def _pass_k(run: dict[str, Any], condition: str, k: int) -> float | None:
    """Return how likely `k` trials of a task all pass, as the report says; None if a task has fewer
    trials that count.
    """
    found = run["conditions"][condition]["pass_k"].get(str(k))
    return None if found is None else found["value"]


class Bioeval:
    """Runs jobs with the installed program, in a process of its own unless the agent is in this
    one.
    """

    def __init__(
        self, folder: Path, timeout_s: float = 3600.0, not_measured: NotMeasured = "fail"
    ) -> None:
        """`folder` is where job files are looked for."""
        self.folder = folder
        self.timeout_s = timeout_s
        self.not_measured = not_measured

    def run(
        self,
        *jobs: str | Path,
        agent: Callable[..., Any] | None = None,
        models: Sequence[str] = (),
        options: Sequence[str] = (),
        **asked: Any,
    ) -> Evaluation:
        """Run the conversations of the jobs and return the result.

        `agent` is a function, or any object that can be called: it runs in this process. Keywords
        are the options of `bioeval-tui run`: `agent_url="…"`, `repeat=3`, `rehearsal=True`.
        `options` are further options as on the command line. The test fails if the program could
        not run.

        Raises:
            TypeError: a job is no path, the agent cannot be called, or `options` is one text.
        """
        __tracebackhide__ = True
        _require_types(jobs, agent, options)
        arguments = [str(self.folder / job) for job in jobs]
        for name, value in {"model": models, **asked}.items():
            option = f"--{name.replace('_', '-')}"
            if isinstance(value, bool):
                if value:
                    arguments.append(option)
            elif isinstance(value, list | tuple):
                for one in value:
                    arguments += [option, str(one)]
            elif value is not None:
                arguments += [option, str(value)]
        if agent is not None:
            return self._evaluate_here([*arguments, *options], agent)
        with TemporaryDirectory() as folder:
            report = Path(folder) / "report.json"
            command = program_command(
                "run", *arguments, *options, "--headless", "--exit-with-stdin", f"--json={report}"
            )
            # if this process is killed, its end is closed, and the run is cancelled
            read, write = os.pipe()
            try:
                done = subprocess.run(  # noqa: S603 - our own program, no shell
                    command, capture_output=True, encoding="utf-8", errors="replace",
                    timeout=self.timeout_s, check=False,
                    stdin=read, env={**os.environ, "PYTHONIOENCODING": "utf-8"},
                )  # fmt: skip
            except subprocess.TimeoutExpired:
                pytest.fail(f"bioeval-tui did not end within {self.timeout_s:g} s", pytrace=False)
            finally:
                os.close(read)
                os.close(write)
            if not report.is_file():
                pytest.fail(
                    f"bioeval-tui could not run (exit {done.returncode})\n{done.stderr}",
                    pytrace=False,
                )
            return Evaluation(
                json.loads(report.read_text(encoding="utf-8")), done.stderr, self.not_measured
            )

    def _evaluate_here(self, arguments: Sequence[str], agent: Callable[..., Any]) -> Evaluation:
        __tracebackhide__ = True
        from bioeval_tui.library import report_of_run  # no other project's tests wait for it

        try:
            return Evaluation(report_of_run(arguments, agent), "", self.not_measured)
        except BioevalError as error:
            pytest.fail(
                f"bioeval-tui could not run (exit {error.exit_code:d})\n{error}", pytrace=False
            )


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the ini option `bioeval_not_measured`."""
    parser.addini(INI, "fail or skip a test whose scores could not be measured", default="fail")


@pytest.fixture
def bioeval(request: pytest.FixtureRequest) -> Bioeval:
    """Run evaluation jobs: `bioeval.run("job.yml").assert_score(0.8)`.

    Paths are relative to the test's file.
    """
    return Bioeval(request.path.parent, not_measured=_choice(request.config))


@pytest.fixture(scope="session")
def bioeval_session(request: pytest.FixtureRequest) -> Bioeval:
    """Run evaluation jobs once for many tests, from a fixture of any scope.

    Paths are relative to pytest's rootdir.
    """
    return Bioeval(request.config.rootpath, not_measured=_choice(request.config))


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    """Break CI runners' commands in what pytest prints of a test that uses a fixture of this
    plug-in.

    Failures, and what the test printed, quote agents; pytest writes them into the runner's log.
    """
    outcome = yield
    if not is_runner() or not FIXTURES & set(getattr(item, "fixturenames", ())):
        return
    report: pytest.TestReport = outcome.get_result()  # type: ignore[attr-defined]
    report.sections = [(title, break_commands(text)) for title, text in report.sections]
    if isinstance(report.longrepr, tuple):  # where and why the test was skipped
        path, line, reason = report.longrepr
        report.longrepr = path, line, break_commands(reason)
    elif report.longrepr is not None and (text := break_commands(str(report.longrepr))) != str(
        report.longrepr
    ):
        report.longrepr = text  # without colours


def _choice(config: pytest.Config) -> NotMeasured:
    chosen = config.getini(INI)
    if chosen == "skip":
        return "skip"
    if chosen == "fail":
        return "fail"
    raise pytest.UsageError(f"{INI} = {chosen}: use fail or skip")
