"""The commands for recorded runs: private files, documented exit codes, one sentence for an
error.
"""

from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest

from tests.command import call
from tests.unit.report.recorded import Recorded, Talk, scoring


@pytest.fixture
def data_dir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("BIOEVAL_DATA_DIR", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "runs"
    folder.mkdir()
    Recorded([Talk()], [Talk()], run_id="20260102-030405-aaaa").write(folder)
    Recorded([Talk(tasks=(0.2,))], [Talk()], run_id="20260102-030405-bbbb").write(folder)
    return tmp_path


@pytest.mark.parametrize(
    ("name", "starts"),
    [("r.html", "<!doctype html>"), ("r.md", "# job"), ("r.json", '{\n  "format"')],
)
def test_the_file_name_decides_the_format_of_a_private_report(
    data_dir: Path, name: str, starts: str
) -> None:
    result = call("runs", "report", "aaaa", "--output", name)
    assert (result.exception, result.return_value) == (None, 0)
    written = data_dir / name
    assert written.read_text(encoding="utf-8").startswith(starts)
    assert stat.S_IMODE(written.stat().st_mode) == 0o600
    assert result.stdout == ""
    # no half-written file is left
    assert sorted(path.name for path in data_dir.iterdir()) == sorted(["runs", name])


def test_without_output_the_report_is_printed(data_dir: Path) -> None:
    assert call("runs", "report", "aaaa", "--format", "md").stdout.startswith("# job\n")
    assert call("runs", "report", "aaaa", "bbbb").stdout.startswith("<!doctype html>")


def test_a_recording_file_can_be_reported_without_importing_it(
    data_dir: Path, tmp_path: Path
) -> None:
    path = Recorded([Talk()], job="mailed").write(tmp_path)
    assert "# mailed" in call("runs", "report", str(path), "--format", "md").stdout


def test_a_damaged_line_is_noted_and_the_rest_is_shown(data_dir: Path) -> None:
    path = data_dir / "runs" / "20260102-030405-aaaa.jsonl"
    path.write_bytes(path.read_bytes() + b"{broken}\n")
    result = call("runs", "report", "aaaa", "--format", "md")
    assert "damaged line" in result.stderr
    assert result.stdout.startswith("# job")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["report", "cccc"], "no such run"),
        (["report", "aaaa", "--output", "missing/r.html"], "cannot be written"),
        (
            ["report", "aaaa", "--output", "r.pdf"],
            (
                "unknown extension; use .html, .md, .json, .csv, .parquet, .xml, .atif.jsonl,"
                " .otlp.jsonl, .jsonl or .eval"
            ),
        ),
        (["export", "aaaa", "bbbb", "--to", "inspect"], "the format inspect contains one run"),
        (["explain", "aaaa", "--weights", "speed=1"], "not a part"),
    ],
)
def test_a_wrong_option_of_report_is_one_sentence(
    data_dir: Path, arguments: list[str], words: str
) -> None:
    assert words in str(call("runs", *arguments).exception)


def test_compare_fails_on_a_regression_only_when_asked(data_dir: Path) -> None:
    for name, score in (("cccc", 0.9), ("dddd", 0.5)):
        talks = [scoring(score)] * 5
        Recorded(talks, talks, run_id=f"20260102-030405-{name}").write(data_dir / "runs")
    assert call("runs", "compare", "cccc", "dddd").return_value == 0
    assert call("runs", "compare", "cccc", "dddd", "--fail-on-regression").return_value == 1
    assert call("runs", "compare", "dddd", "cccc", "--fail-on-regression").return_value == 0
    assert call("runs", "compare", "cccc", "cccc", "--fail-on-regression").return_value == 0


def test_compare_cannot_tell_from_one_trial_whether_it_is_a_regression(data_dir: Path) -> None:
    found = call("runs", "compare", "aaaa", "bbbb", "--fail-on-regression")
    assert (found.return_value, found.stderr) == (
        3,
        (
            "--fail-on-regression: cannot tell whether B is worse: 1 trial that both runs scored"
            " may differ by chance alone; at least 5 trials of each run (--repeat 5) are needed\n"
        ),
    )
    assert call("runs", "compare", "aaaa", "bbbb").stderr == ""
    assert (
        json.loads(call("runs", "compare", "aaaa", "bbbb", "--json").stdout)["undecided"]
        in found.stderr
    )
    away = Talk(reason="evaluator_failed", fault="infrastructure")
    Recorded([away] * 5, [scoring(1.0)] * 5, run_id="20260102-030405-cccc").write(data_dir / "runs")
    assert call("runs", "compare", "cccc", "cccc", "--fail-on-regression").return_value == 3


def test_a_regression_gate_says_in_what_the_runs_differ_besides_their_results(
    data_dir: Path,
) -> None:
    talks = [scoring(0.9)] * 5
    for name, agent in (("cccc", "old"), ("dddd", "new")):
        run = Recorded(talks, talks, run_id=f"20260102-030405-{name}", started={"agent": agent})
        run.write(data_dir / "runs")
    differs = "the runs differ in more than their results (agent: A old, B new)"
    assert (
        f"note: {differs}\n"
        in call("runs", "compare", "cccc", "dddd", "--fail-on-regression").stdout
    )
    found = call("runs", "compare", "cccc", "dddd", "--fail-on-regression", "--json")
    assert found.stderr == f"--fail-on-regression: {differs}\n"
    assert differs in json.loads(found.stdout)["notes"]


def test_compare_prints_json_alone_when_asked(data_dir: Path) -> None:
    data = json.loads(call("runs", "compare", "aaaa", "bbbb", "--json").stdout)
    assert (data["a"], data["b"]) == ("20260102-030405-aaaa", "20260102-030405-bbbb")
    result = call("runs", "compare", "aaaa", "bbbb", "--output", "c.json")
    assert json.loads((data_dir / "c.json").read_text())["regressions"] == data["regressions"]
    assert "\nA  agent " in result.stdout


def test_explain_can_print_json(data_dir: Path) -> None:
    data = json.loads(call("runs", "explain", "aaaa", "--json", "--target", "0.9").stdout)
    assert (data["target"], len(data["conversations"])) == (0.9, 2)


@pytest.mark.parametrize(
    ("kind", "starts"),
    [("inspect", '{\n  "version": 2'), ("openai-jsonl", '{"messages"'), ("csv", "run_id,")],
)
def test_export_writes_each_format(data_dir: Path, kind: str, starts: str) -> None:
    assert call("runs", "export", "aaaa", "--to", kind).stdout.startswith(starts)
    assert call("runs", "export", "aaaa", "--to", kind, "--output", "out.json").return_value == 0
    assert (data_dir / "out.json").read_text(encoding="utf-8").startswith(starts)


def test_inspect_gets_a_folder_or_an_extension_that_it_reads(data_dir: Path) -> None:
    given = ("runs", "export", "aaaa", "--to", "inspect", "--output")
    assert call(*given, "logs").return_value == 0
    (log,) = (data_dir / "logs").iterdir()
    assert log.suffix == ".eval"
    (data_dir / "file").write_text("")
    for name, says in (("run.txt", "reads .eval and .json files"), ("file/logs", "file/logs")):
        assert says in str(call(*given, name).exception)


@pytest.mark.parametrize(
    "arguments", [["report", "aaaa", "--output", "-"], ["compare", "aaaa", "bbbb", "--output", "-"],
        ["gate", "aaaa", "--md", "-"]]
)  # fmt: skip
def test_a_dash_is_no_file(data_dir: Path, arguments: list[str]) -> None:
    found = call("runs", *arguments)
    assert "- is not the name of a file; /dev/stdout is standard output" in str(found.stderr) + str(
        found.exception
    )
    assert not Path("-").exists()
