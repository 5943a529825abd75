"""Every door gives one value for each quantity of a run with cases and personas: what the trials'
scores add up to.

What is expected is worked out here, by hand, from the scores in the recording; the interval is the
one that the JSON document has, clustered by case.
"""

from __future__ import annotations

import asyncio
import csv
import io
import json
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import islice
from math import comb
from pathlib import Path
from typing import Any

import pytest
import yaml
from driving import WIDE, is_a, loaded, opened, screen_text, until
from fakes import FakeServices, FakeView

from bioeval_tui import load_run
from bioeval_tui.base.settings import Settings
from bioeval_tui.base.units import latency_short
from bioeval_tui.evaluation.engine.interface import RunRequest, spec_of
from bioeval_tui.evaluation.wiring.start import prepare_batch, run_prepared
from bioeval_tui.pytest_plugin import Evaluation
from bioeval_tui.record.condition_names import published_title
from bioeval_tui.record.reading import read_recording
from bioeval_tui.record.runs import recording_path
from bioeval_tui.report import result
from bioeval_tui.tui.runs.batch_view import run_glances
from bioeval_tui.tui.runs.board_view import board
from tests.command import call

CONDITIONS = ("withheld", "supplied")
COMPLAINTS = [
    "cough",
    "fever",
    "rash",
    "ache",
    "burn",
    "nausea",
    "cramp",
    "chill",
    "itch",
    "sprain",
    "wheeze",
    "dizzy",
]
AGENT = '''\
from collections import Counter

OFTEN = {
    "cough": 6, "fever": 5, "rash": 4, "ache": 6, "burn": 2, "nausea": 1, "cramp": 6, "chill": 3,
    "sprain": 5,
}
seen = Counter()


def answer(message):
    """Help with some complaints more often than with others, and nearly always once the age is
    known."""
    word = message.split()[-1]
    seen[word] += 1
    often = OFTEN.get(word, 0)
    helps = often * seen[word] % 7 < often or message.startswith("I am") and word != "itch"
    return f"Rest, and mind the {word}?" if helps else "I cannot say."
'''
JOB = r"""
target:
  {user: patient, chatbot: doctor, protocol: python, remembers: false,
   function: one_value_agent:answer}
aspirationalAverage: 30000
cases: {file: cases.csv, id: id}
personas: [{name: hurried, tells: all}, {name: plain}]
tasks:
  - task: "Get help with {{ case.complaint }}"
    rules: [{pattern: "mind the {{ case.complaint }}"}]
  - {task: Be asked back, rules: [{pattern: '\?'}]}
facts: ["{{ case.fact }}"]
evaluator:
  kind: scripted
  lines:
    - {say: "I have a {{ case.complaint }}", task: 1}
    - {say: "Ask me about the {{ case.complaint }}", task: 2}
    - {say: "{{ case.fact }} with {{ case.complaint }}", fact: 1}
scorer: {kind: rules}
assertions:
  - {name: helps, expression: 'evaluation.transcript.any { it.content.contains("mind") }'}
"""


@dataclass(frozen=True)
class Held:
    """A run, and what comes out of it by hand."""

    run_id: str
    path: Path
    document: dict[str, Any]
    means: dict[str, Fraction]
    pass_2: dict[str, Fraction]
    difference: Fraction
    p90_ms: dict[str, float]

    def interval(self, condition: str) -> tuple[float, float]:
        found = self.document["summary"][0]["conditions"][condition]["score"]["interval"]
        return found["low"], found["high"]

    def words(self, condition: str) -> str:
        low, high = self.interval(condition)
        return f"95 % interval {low:.2f} to {high:.2f}, clustered by case, 12 cases"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("one")


@pytest.fixture(scope="module")
def held(folder: Path) -> Iterator[Held]:
    """Hold 96 conversations: 12 cases, 2 personas, 2 trials, 2 conditions."""
    table = "".join(f"c{n},{word},I am {20 + n}\n" for n, word in enumerate(COMPLAINTS, 1))
    for name, text in (
        ("one_value_agent.py", AGENT),
        ("job.yml", JOB),
        ("cases.csv", f"id,complaint,fact\n{table}"),
    ):
        (folder / name).write_text(text, encoding="utf-8")
    settings = replace(Settings.from_environment(), data_dir_override=str(folder / "data"))
    request = RunRequest(jobs=(folder / "job.yml",), code=(str(folder),), graph="none", trials=2)
    spec = spec_of(request, settings.runs_dir)
    asyncio.run(run_prepared(prepare_batch(spec, settings), spec, settings))
    path = recording_path(settings.runs_dir, spec.runs[0].run_id)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BIOEVAL_DATA_DIR", str(folder / "data"))
        document = json.loads(call("runs", "export", path.stem, "--to", "json").stdout)
        yield worked_out(path, document)
    # Tests that come in another order hold the run again, in a folder of its own.
    sys.modules.pop("one_value_agent", None)


def worked_out(path: Path, document: dict[str, Any]) -> Held:
    events = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    scores = {
        (event["condition"], event["trial"]): Fraction(str(event["score"]))
        for event in events
        if event["kind"] == "conversation_scored"
    }
    passed = {
        (event["condition"], event["trial"], task["task"]): task["score"] > 0.6
        for event in events
        if event["kind"] == "transcript_scored"
        for task in event["tasks"]
    }
    latencies = {name: sorted(latencies_of(events, (name,))) for name in CONDITIONS}
    latencies["both"] = sorted(latencies_of(events, CONDITIONS))
    trials = sorted({trial for _, trial in scores})
    gains = [scores["supplied", trial] - scores["withheld", trial] for trial in trials]
    return Held(
        path.stem,
        path,
        document,
        {
            name: sum((scores[name, trial] for trial in trials), Fraction()) / len(trials)
            for name in CONDITIONS
        },
        {name: pass_2(passed, name, trials) for name in CONDITIONS},
        sum(gains, Fraction()) / len(gains),
        {name: times[-(-9 * len(times) // 10) - 1] for name, times in latencies.items()},
    )


def latencies_of(events: list[dict[str, Any]], conditions: Sequence[str]) -> list[float]:
    ended = (
        event
        for event in events
        if event["kind"] == "message_completed" and event["condition"] in conditions
    )
    return [event["latency_ms"] for event in ended if event.get("latency_ms") is not None]


def pass_2(passed: dict[tuple[str, int, int], bool], condition: str, trials: list[int]) -> Fraction:
    """Return pass^2 over the tasks of each case and persona, of which trial n and n + 24 are the
    two.
    """
    half = len(trials) // 2
    assert half == 24
    of_tasks = []
    for first in islice(trials, half):
        for task in (1, 2):
            wins = passed[condition, first, task] + passed[condition, first + half, task]
            of_tasks.append(Fraction(comb(wins, 2), comb(2, 2)))
    return sum(of_tasks, Fraction()) / len(of_tasks)


def test_the_example_tells_the_formulas_apart(held: Held) -> None:
    assert 0 < held.pass_2["withheld"] < held.means["withheld"] < 1
    assert 0 < held.pass_2["supplied"] < 1
    low, high = held.interval("withheld")
    assert high - low > 0.3, "far wider than 48 independent trials would say"


def test_json(held: Held) -> None:
    (run,), (summary,) = held.document["runs"], held.document["summary"]
    for name in CONDITIONS:
        mean, pass_2 = float(held.means[name]), float(held.pass_2[name])
        assert run["conditions"][name]["mean_of_used"] == run["conditions"][name]["score"] == mean
        assert run["conditions"][name]["pass_k"]["2"]["value"] == pass_2
        there = summary["conditions"][name]
        assert (there["score"]["mean"], there["pass_k"]["2"]) == (mean, pass_2)
        assert there["latency"]["p90_ms"] == held.p90_ms[name]
    assert run["score"] == float(sum(held.means.values()) / 2)
    assert (
        summary["difference"]["mean"]
        == run["difference"]["mean"]
        == pytest.approx(float(held.difference))
    )
    assert run["answer"]["attributed"] == pytest.approx(float(held.difference))


def test_python(held: Held) -> None:
    results = load_run(held.path)
    for name in CONDITIONS:
        found = results.conditions[name].score
        assert found.mean == float(held.means[name])
        assert (found.interval.low, found.interval.high) == held.interval(name)
        assert results.conditions[name].latency.p90_ms == held.p90_ms[name]
    assert results.difference.estimate.mean == pytest.approx(float(held.difference))
    frame = results.to_frame()
    assert frame.groupby("condition").score.mean().to_dict() == pytest.approx(
        {name: float(held.means[name]) for name in CONDITIONS}
    )


@pytest.mark.parametrize(
    "command",
    [("runs", "show", "RUN"), ("runs", "export", "RUN", "--to", "html")],
    ids=lambda command: " ".join(command[1:]),
)
def test_words(held: Held, command: tuple[str, ...]) -> None:
    text = call(*(held.run_id if word == "RUN" else word for word in command), width=400).stdout
    text = " ".join(re.sub(r"<[^>]+>", " ", text).split())
    for name in CONDITIONS:
        assert f"{float(held.means[name]):.2f}" in text
        assert held.words(name) in text
        assert f"2: {float(held.pass_2[name]):.3f} [" in text
    assert f"{float(held.difference):+.2f}, 95 % interval" in text


def test_markdown(held: Held) -> None:
    text = call("runs", "export", held.run_id, "--to", "md").stdout
    mean = float(sum(held.means.values()) / 2)
    withheld, supplied = (float(held.means[name]) for name in CONDITIONS)
    assert f"**WHAT** {withheld:.2f} → {supplied:.2f} with the facts." in text
    assert f"Mean of both: **{mean:.2f}**" in text
    assert f"- difference: {float(held.difference):+.2f}" in text
    for name in CONDITIONS:
        assert (
            f"- {published_title(name)}: {float(held.means[name]):.2f} ({held.words(name)}" in text
        )
        assert f"2: {float(held.pass_2[name]):.3f} \\[" in text


def test_gate_and_junit(held: Held, tmp_path: Path) -> None:
    """Each threshold is reached exactly, and a trillionth more is not; the file for CI says the
    same.
    """
    for more, code in ((0.0, 0), (1e-9, 1)):
        for name in CONDITIONS:
            for option, value in (
                ("--fail-under", f"{name}:{float(held.means[name]) + more!r}"),
                ("--min-pass-k", f"2:{min(float(one) for one in held.pass_2.values()) + more!r}"),
            ):
                done = call(
                    "runs", "gate", held.run_id, option, value, "--junit", tmp_path / "out.xml"
                )
                assert done.return_value == code, done.output
                assert ("<failure" in (tmp_path / "out.xml").read_text(encoding="utf-8")) is bool(
                    code
                )


def test_pytest_plug_in(held: Held) -> None:
    tested = Evaluation(held.document, "")
    for name in CONDITIONS:
        mean, pass_2 = float(held.means[name]), float(held.pass_2[name])
        tested.assert_score(mean, condition=name).assert_pass_k(2, pass_2, condition=name)
        with pytest.raises(pytest.fail.Exception):
            tested.assert_score(mean + 1e-9, condition=name)
        with pytest.raises(pytest.fail.Exception):
            tested.assert_pass_k(2, pass_2 + 1e-9, condition=name)


def test_tables(held: Held) -> None:
    text = call("runs", "export", held.run_id, "--to", "csv").stdout
    scores: dict[str, dict[str, float]] = {}
    for row in csv.DictReader(io.StringIO(text)):
        scores.setdefault(row["condition"], {})[row["trial"]] = float(row["score"])
    for name in CONDITIONS:
        assert sum(scores[name].values()) / 48 == pytest.approx(float(held.means[name]))


def test_other_tools(held: Held) -> None:
    inspected = json.loads(call("runs", "export", held.run_id, "--to", "inspect").stdout)
    (composite,) = (one for one in inspected["results"]["scores"] if one["name"] == "composite")
    for name in CONDITIONS:
        assert composite["metrics"][name]["value"] == float(held.means[name])
    assert composite["metrics"]["mean"]["value"] == float(sum(held.means.values()) / 2)
    spans = call("runs", "export", held.run_id, "--to", "otlp").stdout
    told = re.findall(
        r'"conversation (withheld|supplied)/\d+".*?"score"}}, {"key":'
        r' "gen_ai.evaluation.score.value", '
        r'"value": {"doubleValue": ([\d.]+)',
        spans,
    )
    for name in CONDITIONS:
        values = [Fraction(value) for condition, value in told if condition == name]
        assert (len(values), sum(values, Fraction()) / 48) == (48, held.means[name])


def test_compare(held: Held) -> None:
    text = call("runs", "compare", held.run_id, held.run_id, width=200).stdout
    for name in CONDITIONS:
        mean = f"{float(held.means[name]):.2f}"
        assert re.search(rf"{published_title(name)} .*\nscore +{mean} +{mean} +±0\.00", text), text


def test_the_action(held: Held, tmp_path: Path) -> None:
    root = Path(__file__).parents[2]
    action = yaml.safe_load((root / "action.yml").read_text(encoding="utf-8"))
    (step,) = (one["run"] for one in action["runs"]["steps"] if one.get("name") == "Evaluate")
    (code,) = re.findall(r"<<'END'\n(.*?)\nEND", step, re.DOTALL)
    (tmp_path / "out.json").write_text(json.dumps(held.document), encoding="utf-8")
    (tmp_path / "runs.json").write_text("[]", encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-I", "-c", code], env={"REPORTS": str(tmp_path)}, capture_output=True,
        check=True, text=True
    )  # fmt: skip
    mean, difference = float(sum(held.means.values()) / 2), float(held.difference)
    assert done.stdout.splitlines()[:2] == [
        f"score={round(mean, 4)}",
        f"difference={round(difference, 4)}",
    ]


async def test_the_card(held: Held) -> None:
    services = FakeServices(FakeView(read_recording(held.path).events))
    async with opened(None, WIDE, services=services) as (app, pilot):
        await until(pilot, lambda: is_a(app.screen, "ScoreCard"))
        await loaded(app, pilot)
        card = " ".join(screen_text(app).split())
        await pilot.press("full_stop", "end")
        await loaded(app, pilot)
        more = " ".join(screen_text(app).split())
    mean = float(sum(held.means.values()) / 2)
    withheld, supplied = (float(held.means[name]) for name in CONDITIONS)
    assert f"WHAT {withheld:.2f} → {supplied:.2f} with the facts." in card
    assert f"score {withheld:.2f} {supplied:.2f} {float(held.difference):+.2f}" in card
    assert f"mean of both: {mean:.2f}" in more
    for name in CONDITIONS:
        low, high = held.interval(name)
        assert f"{low:.2f} to {high:.2f}" in more


def test_the_grid_of_a_batch(held: Held) -> None:
    """Two models in a batch: each row has its own run's mean, interval, difference and p90, here
    the same.
    """
    glances = run_glances(result.load_run(held.path).state)
    models = [replace(glance, model=model) for model in ("large", "small") for glance in glances]
    width = 141
    rows = {
        "".join(cell.text for cell in line).split()[0]: line
        for line in board(models, width, 40, None)[1:3]
    }
    assert set(rows) == {"large", "small"}
    for row in rows.values():
        text = "".join(cell.text for cell in row)
        drawn = re.findall(r"(\d\.\d\d) ([^ ]+)  ", text)
        assert [value for value, _ in drawn] == [
            f"{float(held.means[name]):.2f}" for name in CONDITIONS
        ]
        for name, (_, bar) in zip(CONDITIONS, drawn, strict=True):
            last = len(bar) - 1
            ends = [round(end * last) for end in held.interval(name)]
            assert [bar.index("├"), bar.index("┤")] == ends, (bar, held.interval(name))
        difference, p90 = re.split("  +", text.rstrip())[-2:]
        assert difference.strip() == f"{float(held.difference):+.2f}"
        assert p90 == latency_short(held.p90_ms["both"])
