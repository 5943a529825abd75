"""Means over trials and cases: never rounded but in words, free of binary noise, and compared with
thresholds as they are.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bioeval_tui.base.files import private_dir
from bioeval_tui.record.events import RunEnded
from bioeval_tui.record.reading import read_recording
from bioeval_tui.report.comparison import compare
from bioeval_tui.report.document import run_document
from bioeval_tui.report.formats.json_report import json_report
from bioeval_tui.report.frames import TABLES, table_rows
from bioeval_tui.report.gate import GateRules, evaluate
from bioeval_tui.report.result import load_run
from tests.command import call
from tests.documents import document_of, pair_comparison
from tests.unit.record.test_versions import GOLDEN
from tests.unit.report.recorded import Recorded, Talk, import_scores, scoring

NOISE = re.compile(r"\.\d*(?:0{9}|9{9})\d")
"""The digits of a binary fraction beside a decimal one: 0.30000000000000004, 0.19999999999999998.
"""


def floats(value: Any, path: str = "") -> Iterator[tuple[str, float]]:
    match value:
        case dict():
            for key, item in value.items():
                yield from floats(item, f"{path}.{key}")
        case list() | tuple():
            for number, item in enumerate(value):
                yield from floats(item, f"{path}.{number}")
        case float():
            yield path, value


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a data folder with 636 cases, of which 170 succeeded."""
    monkeypatch.setenv("BIOEVAL_DATA_DIR", str(tmp_path))
    private_dir(tmp_path / "runs")
    return import_scores(tmp_path, "clinic", [[1.0]] * 170 + [[0.0]] * 466)


def test_a_mean_over_cases_is_rounded_only_in_words(runs: Path) -> None:
    (ended,) = (event for event in read_recording(runs).events if isinstance(event, RunEnded))
    assert ended.scores == {"supplied": 170 / 636}
    shown = json.loads(call("runs", "show", runs.stem, "--json", catch_exceptions=False).stdout)
    condition = shown["conditions"]["supplied"]
    assert (
        condition["score"]
        == condition["mean_of_used"]
        == condition["pass_k"]["1"]["value"]
        == 170 / 636
    )
    (listed,) = json.loads(call("runs", "list", "--json", catch_exceptions=False).stdout)
    assert listed["scores"] == {"supplied": 170 / 636}
    assert "0.27" in call("runs", "show", runs.stem, catch_exceptions=False).stdout


@pytest.mark.parametrize(
    ("bar", "code"), [("0.27", 1), ("0.2673", 1), (f"{170 / 636}", 0), ("0.2672", 0)]
)
def test_a_threshold_is_compared_with_the_mean_that_is_not_rounded(
    runs: Path, bar: str, code: int
) -> None:
    found = call(
        "runs", "gate", runs.stem, "--fail-under", f"supplied:{bar}", catch_exceptions=False
    )
    assert found.return_value == code, found.output
    if bar == "0.27":
        assert "score 0.267, the threshold is 0.27" in found.stdout, (
            "rounded, it would read as reached"
        )


def test_a_mean_of_both_conditions_is_rounded_only_for_one_conversation_each() -> None:
    once = Recorded([scoring(0.5)], [scoring(0.53)]).loaded()
    assert run_document(once)["score"] == 0.52, (
        "half-even, as embabel-agent-eval rounds its average"
    )
    assert evaluate([once], GateRules.parse(["0.52"])).exit_code == 0
    twice = Recorded([scoring(0.5), scoring(0.51)], [scoring(0.53)] * 2).loaded()
    document = run_document(twice)
    assert document["conditions"]["withheld"]["score"] == 0.505
    assert twice.state.mean() == 0.5175
    assert [evaluate([twice], GateRules.parse([bar])).exit_code for bar in ("0.5175", "0.52")] == [
        0,
        1,
    ]


def test_no_number_has_the_noise_of_binary_fractions(tmp_path: Path) -> None:
    talks = [Talk(tasks=tasks) for tasks in ((0.1, 0.2), (0.9, 0.8), (0.7, 0.1))]
    one, two = (
        load_run(Recorded(withheld, supplied, run_id=f"20260102-030405-{name}").write(tmp_path))
        for name, withheld, supplied in (("aaaa", talks, talks[::-1]), ("bbbb", talks[::-1], talks))
    )
    printed = {
        "run": run_document(one),
        "report": json_report([one, two]),
        "comparison": pair_comparison(compare(one, two)),
        "gate": evaluate([one, two], GateRules.parse(["0.15,task:0.15"])).to_dict(),
        "inspect": json.loads(document_of("inspect", one)),
        "frames": {name: table_rows([one, two], name) for name in TABLES},
        "state": one.state.scores(),
    }
    printed = json.loads(json.dumps(printed, default=str))
    found = [(path, value) for path, value in floats(printed) if NOISE.search(repr(value))]
    assert not found, found


def test_a_task_at_its_threshold_passes(tmp_path: Path) -> None:
    run = Recorded([Talk(tasks=(0.1,)), Talk(tasks=(0.2,))]).loaded()
    checks = evaluate([run], GateRules.parse(["withheld.task1:0.15"])).checks
    assert [(check.status, check.value) for check in checks] == [("passed", 0.15)]


def test_runs_list_compares_and_prints_means_that_are_not_rounded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BIOEVAL_DATA_DIR", str(tmp_path))
    folder = private_dir(tmp_path / "runs")
    run = Recorded([scoring(0.1), scoring(0.1), scoring(0.2)], [scoring(0.3)] * 3)
    run.write(folder)
    state = run.loaded().state
    assert state.ended is not None
    ended = state.ended.model_copy(update={"scores": state.scores(), "mean": state.mean()})
    path = folder / f"{run.run_id}.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(
        b"".join(lines[:-1]) + json.dumps(ended.model_dump(mode="json")).encode() + b"\n"
    )
    mean = 0.21666666666666667
    (listed,) = json.loads(call("runs", "list", "--json", catch_exceptions=False).stdout)
    assert listed["score"] == mean
    for least, count in ((0.22, 0), (mean, 1), (0.2166, 1)):
        found = call("runs", "list", "--json", "--min-score", least, catch_exceptions=False)
        assert len(json.loads(found.stdout)) == count, least


def test_an_old_recording_is_read_as_it_is() -> None:
    run = load_run(GOLDEN / "version-1.jsonl")
    assert run.ended is not None
    assert run_document(run)["score"] == run.ended.mean
