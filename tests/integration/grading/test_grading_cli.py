"""The grading commands as a user runs them: data on stdout, messages on stderr, documented exit
codes.
"""

from __future__ import annotations

import csv
import json
import os
import re
import shutil
import signal
import sys
import time
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from click.testing import Result

from bioeval_tui.base.errors import InputError, UsageError
from tests.command import call
from tests.forked import Program, completed


@pytest.fixture
def run(tasks, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Run a command with the tasks on the spot; the exit code is what the command returns or
    raises.
    """
    monkeypatch.setenv("BIOEVAL_TASKS_DIR", str(tasks.root))
    monkeypatch.setenv("BIOEVAL_DATA_DIR", str(own_data(tasks)))

    def run_(name: str, *args: object) -> Result:
        words = [str(arg) for arg in args]
        if name not in ("medals", "ledger") and "list" not in words[:1]:
            words += ["--data-dir", str(tasks.data)]
        return call(name, *words, catch_exceptions=False)

    return run_


def own_data(tasks) -> Path:
    """The program's own data folder; the tasks' data is elsewhere."""
    return tasks.root.parent / "own"


def lines(tasks, *wishes: tuple[str, str | None]) -> Path:
    text = "".join(
        json.dumps({"task_id": task, "submission_path": path}) + "\n" for task, path in wishes
    )
    return tasks.submit(text, "submissions.jsonl")


def test_the_exit_code_of_grade_distinguishes_three_outcomes(
    tasks, run: Any, tmp_path: Path
) -> None:
    task = tasks.add()
    tasks.submit("id,y\na,1.5\nb,2.5\nc,3.5\n", "good.csv")
    tasks.submit("id,y\na,1.5\n", "bad.csv")
    fine = run(
        "grade", lines(tasks, (task, "good.csv")), "--output-dir", tmp_path / "out", "--json"
    )
    assert fine.return_value == 0
    value = json.loads(fine.stdout)
    assert (value["total_valid_submissions"], value["total_invalid"], value["not_graded"]) == (
        1,
        0,
        [],
    )
    assert json.loads(Path(value["report"]).read_text())["task_reports"][0]["score"] == 0.5
    invalid = run(
        "grade",
        lines(tasks, (task, "good.csv"), (task, "bad.csv")),
        "--output-dir",
        tmp_path / "out",
    )
    assert invalid.return_value == 1
    assert invalid.stdout.startswith("WHAT  1 no medal, 1 invalid of 2;")
    (named,) = [line for line in invalid.stdout.splitlines() if line.startswith("invalid: ")]
    assert f"{task} {tasks.submissions}/bad.csv: " in named
    unknown = run(
        "grade", lines(tasks, ("lab/nambers", "good.csv")), "--output-dir", tmp_path / "out"
    )
    assert unknown.return_value == 3
    assert "did you mean lab/numbers?" in unknown.stdout


def test_grade_sample_prints_a_card_or_the_published_report(tasks, run: Any) -> None:
    task = tasks.add()
    file = tasks.submit("id,y\na,1.5\nb,2.5\nc,3.5\n")
    card = run("grade-sample", file, task)
    assert card.return_value == 0
    assert "WHAT  No medal on lab/numbers: mae 0.5," in card.stdout
    assert "better than 45.5 % of the leaderboard" in card.stdout
    report = json.loads(run("grade-sample", file, "numbers", "--json").stdout)
    assert (report["task_id"], report["score"], report["valid_submission"]) == (task, 0.5, True)


def test_what_to_do_next_keeps_the_options_and_asks_for_what_sure_lacks(
    tasks, run: Any, tmp_path: Path
) -> None:
    task = tasks.add(
        code="def grade(submission, answers):\n    return 0.5\n",
        grader={"name": "own", "grade_fn": "grade:grade"},
    )
    file = tasks.submit("id,y\na,1.5\nb,2.5\nc,3.5\n")
    board = tmp_path / "a board.csv"
    board.write_text("teamName,score\nx,0.5\n")
    where = ("--tasks-dir", tasks.root, "--data-dir", tasks.data)
    card = run("grade-sample", file, task, *where, "--leaderboard", board).stdout
    words = f"--tasks-dir {tasks.root} --data-dir {tasks.data}"
    assert (
        f"NEXT  grade it again: `bioeval-tui grade-sample {file} {task} {words}"
        f" --leaderboard '{board}' --intervals all`\n" in card
    )
    bad = tasks.submit("id,y\na,1.5\n", "bad.csv")
    plain = tasks.add("lab/declared")
    card = run("grade-sample", bad, plain, *where, "--intervals", "none").stdout
    assert f"`bioeval-tui validate {bad} {plain} {words}`" in card
    assert f"grade it again: `bioeval-tui grade-sample {bad} {plain} {words} --intervals none`" in (
        card
    )
    listing = lines(tasks, (plain, "bad.csv"))
    done = run("grade", listing, "--output-dir", tmp_path / "out", "--data-dir", tasks.data)
    assert f"`bioeval-tui validate {bad} {plain} --data-dir {tasks.data}`" in done.stdout
    table = run("medals", tmp_path / "out", "--table", "--data-dir", tasks.data).stdout
    assert f"{bad} {plain} --data-dir {tasks.data}`" in table
    for kind in ("md", "html"):
        page = run("medals", tmp_path / "out", "--format", kind, "--data-dir", tasks.data).stdout
        assert f"{bad} {plain} --data-dir {tasks.data}" in page.replace("\\", "")


@pytest.mark.skipif(sys.platform != "linux", reason="other file systems hold no such name")
def test_a_file_whose_name_is_not_utf8_has_an_interval_where_it_can_be_found(
    tasks, run: Any, tmp_path: Path
) -> None:
    task = tasks.add("lab/many", answers="id,y\n" + "".join(f"{n},{n}.5\n" for n in range(30)))
    rows = "".join(f"{n},{n + n % 7 / 10}\n" for n in range(30))
    file = tasks.submit("id,y\n" + rows)
    odd = file.rename(file.parent / os.fsdecode(b"caf\xe9.csv"))
    where = ("--tasks-dir", tasks.root, "--data-dir", tasks.data)
    card = run("grade-sample", odd, task, *where).stdout
    assert re.search(r"SURE  .*95 % interval 0", card), card
    assert "No such file" not in card
    listing = tmp_path / "list.jsonl"
    listing.write_text(json.dumps({"task_id": task, "submission_path": str(odd)}))
    run("grade", listing, "--output-dir", tmp_path / "out", *where)
    (report,) = json.loads(run("medals", tmp_path / "out", "--json", *where).stdout)
    assert report["valid_submission"]
    assert report["uncertainty"]["why_not"] == "the file was moved, or its name is not UTF-8"


def test_rounding_that_decides_a_medal_is_said_and_the_threshold_is_one_number(
    tasks, run: Any
) -> None:
    exact = 0.6917458762676749  # ranked as 0.69175
    task = tasks.add(
        code=f"def grade(submission, answers):\n    return {exact!r}\n",
        grader={"name": "rmse", "grade_fn": "grade:grade", "is_lower_better": True},
        scores=[exact + step / 10 for step in range(5)],
    )
    card = run("grade-sample", tasks.submit("id,y\na,1.5\nb,2.5\nc,3.5\n"), task).stdout
    assert "rmse 0.69175, place 2 of 6, 0.00001 short of gold" in card
    assert "silver at 0.69174, gold at 0.69174;" in card
    assert "\n  gold begins at 0.69174\n" in card
    assert "lower is better: gold 0.69174, silver 0.69174, bronze 0.79174\n" in card
    assert (
        "warning: rounding alone decides: scores are ranked with 5 decimals; with all of them"
        " this one would earn gold\n" in card
    )
    assert "0.69174, silver" in run("tasks", "show", task).stdout
    checked = run("validate", tasks.submissions / "submission.csv", task).stdout
    assert "rounding alone" not in checked


def test_a_missing_file_is_reported_once_before_anything_else(tasks, run: Any) -> None:
    missing = tasks.submissions / "nothing.csv"
    for words in (
        ("grade-sample", missing, "lab/nope"),
        ("validate", missing, "lab/nope"),
        ("grade", missing),
    ):
        with pytest.raises(UsageError, match=f"{missing} does not exist; give a") as problem:
            run(*words)
        assert problem.value.exit_code == 2
    with pytest.raises(UsageError, match=r"give a folder for the reports: --output-dir DIR"):
        run("grade", tasks.submit("", "empty.jsonl"))


def test_a_line_of_a_list_that_is_nested_too_deeply_is_named_with_what_would_be_right(
    tasks, run: Any, tmp_path: Path
) -> None:
    listed = tasks.submit("[" * 100_000 + "\n", "deep.jsonl")
    with pytest.raises(
        InputError, match=r"deep\.jsonl:1: nested too deeply; use at most 64 levels$"
    ):
        run("grade", listed, "--output-dir", tmp_path / "out")


def test_a_misspelt_task_suggests_the_nearest_only(tasks, run: Any) -> None:
    for name in ("lab/numbers", "lab/labels", "other/lambs"):
        tasks.add(name)
    with pytest.raises(InputError, match=r"did you mean lab/numbers\?$"):
        run("tasks", "show", "lab/nmbers")
    table = run("tasks", "list").stdout
    assert "✗" not in table


PAGE = Path(__file__).parents[3] / "docs" / "grading.md"


def test_a_task_of_ones_own_is_graded_as_the_page_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = PAGE.read_text(encoding="utf-8").partition("### Your own task")[2].partition("\n### ")[0]
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("BIOEVAL_DATA_DIR", str(tmp_path / "own"))
    for file, text in re.findall(r"<!-- file: (\S+) -->\n```\w*\n(.*?)```", page, re.DOTALL):
        Path(file).parent.mkdir(parents=True, exist_ok=True)
        Path(file).write_text(text, encoding="utf-8")
    Path("submission.csv").write_text("id,seizure\np1,0.9\np2,0.8\np3,0.7\np4,0.1\n")
    check, grade = re.findall(r"^bioeval-tui (.*)$", page, re.MULTILINE)
    checked = call(*check.split(), "--json")
    (own,) = [one for one in json.loads(checked.stdout) if one["task_id"] == "neuro/seizure"]
    assert (own["problem"], own["warnings"]) == (None, [])
    result = call(*grade.split())
    assert "WHAT  No medal on neuro/seizure: roc_auc 0.75, place 2 of 3" in result.stdout


def test_validate_reports_every_finding(tasks, run: Any) -> None:
    task = tasks.add()
    good = run("validate", tasks.submit("id,y\na,1\nb,2\nc,3\n"), task)
    assert (good.return_value, good.stdout) == (
        0,
        f"{tasks.submissions}/submission.csv: valid for lab/numbers\n",
    )
    bad = run("validate", tasks.submit("id,y\na,x\nd,\n"), task, "--json")
    assert bad.return_value == 1
    value = json.loads(bad.stdout)
    assert value["status"] == "invalid"
    assert value["findings"] == [
        "2 ids are missing: b, c",
        "1 id is not expected: d",
        "the file has 2 rows where 3 are expected",
        "column `y` must contain numbers, found `x` in line 2",
        "column `y` has no value (NaN) in line 3",
    ]


@pytest.mark.long
def test_validate_explains_files_on_which_a_custom_grader_crashes(tasks, run: Any) -> None:
    task = tasks.add(code="def grade(s, a):\n    return float(s['y'].mean())\n")
    result = run("validate", tasks.submit("id,Y\na,1\nb,2\nc,3\n"), task, "--json")
    assert result.return_value == 1
    findings = json.loads(result.stdout)["findings"]
    assert findings == ["column `y` is missing; the file has id, Y"]


@pytest.mark.long
def test_a_grader_that_exceeds_its_time_limit_is_stopped(tasks, run: Any) -> None:
    task = tasks.add(code="import time\ndef grade(s, a):\n    time.sleep(600)\n")
    result = run("grade-sample", tasks.submit("id,y\na,1\nb,2\nc,3\n"), task, "--time-limit", "0.5")
    assert result.return_value == 3
    assert "stopped after 0.5 s, the time limit" in result.stderr


@pytest.mark.long
def test_the_leaderboard_used_is_printed_and_can_be_chosen(tasks, run: Any, tmp_path: Path) -> None:
    assay = "A4_HUMAN_Seuma_2022_indels"
    source = {"type": "proteingym-dms", "benchmark_id": assay}
    task = tasks.add(
        f"proteingym-dms/{assay}",
        code="def grade(s, a):\n    return 0.81\n",
        grader={"name": "proteingym-metric", "grade_fn": "grade:grade"},
        config={"data_source": source},
    )
    file = tasks.submit("id,y\na,1\nb,2\nc,3\n")
    assert (
        run("tasks", "leaderboard", task, "--csv").stdout
        == (tasks.root / task / "leaderboard.csv").read_text()
    )
    published = run("tasks", "leaderboard", task, "--csv", "--leaderboard", "published")
    assert (
        published.stdout == "teamName,score,submissionDate\nTranception Embeddings,0.814,\nESM-1v"
        " Embeddings,0.806,\nMSA Transformer Embeddings,0.785,\n"
    )
    card = run("grade-sample", file, task, "--leaderboard", "published").stdout
    assert "place 2 of 4" in card
    assert (
        "leaderboard: published: ProteinGym, supervised (Spearman), 2025-07-21, commit"
        " bb685245f8f4, 3 entries" in card
    )
    assert "gold, silver and bronze are all first place" in card
    (tmp_path / "board.csv").write_text("teamName,score,submissionDate\nx,0.5,\n")
    given = run("grade-sample", file, task, "--leaderboard", tmp_path / "board.csv")
    assert "place 1 of 2" in given.stdout
    assert "leaderboard: the given file board.csv, 1 entry" in given.stdout
    rows = "x,0.5,\nx,inf,\nx,nan,\nx,0.9,\n"
    (tmp_path / "board.csv").write_text(f"teamName,score,submissionDate\n{rows}")
    given = run("grade-sample", file, task, "--leaderboard", tmp_path / "board.csv")
    assert "the median of its 2 entries is 0.7" in given.stdout
    assert "leaderboard: the given file board.csv, 2 entries in 4 rows\n" in given.stdout
    assert "1 leaderboard row without a score left out" in given.stdout
    assert "1 leaderboard row with an infinite score left out" in given.stdout
    with pytest.raises(
        UsageError, match=r"none\.csv does not exist; give own, published, or a CSV file"
    ):
        run("grade-sample", file, task, "--leaderboard", tmp_path / "none.csv")
    (listed,) = [
        row for row in json.loads(run("tasks", "list", "--json").stdout) if row["task_id"] == task
    ]
    assert listed["leaderboard"] == "the task's own leaderboard.csv, 11 entries"


def test_tasks_can_be_listed_shown_and_checked(tasks, run: Any) -> None:
    task = tasks.add(config={"domain": "oncology"})
    broken = tasks.root / "lab" / "broken"
    broken.mkdir()
    (broken / "config.yaml").write_text("a: b: c\n")
    (tasks.root / task / "description.md").write_text("# Numbers\n\nText with \x1b[31mcolour.\n")
    listed = {row["task_id"]: row for row in json.loads(run("tasks", "list", "--json").stdout)}
    assert listed[task]["domain"] == "oncology"
    assert listed["lab/broken"]["line"] == 1
    table = run("tasks", "list").stdout
    assert f"broken: {broken.resolve()}/config.yaml:1:5: not valid YAML" in table
    shown = run("tasks", "show", task)
    assert "leaderboard: the task's own leaderboard.csv, 11 entries" in shown.stdout
    assert "scores from 0 to 1, lower is better" in shown.stdout
    assert "\x1b" not in shown.stdout
    checked = run("tasks", "check", task, "lab/broken", "--json")
    assert checked.return_value == 1
    problems = {row["task_id"]: row["problem"] for row in json.loads(checked.stdout)}
    assert problems[task] is None
    assert "config.yaml:1:5" in problems["lab/broken"]


def test_a_filter_that_no_task_passes_says_which_values_there_are(tasks, run: Any) -> None:
    tasks.add(config={"domain": "neurology"})
    result = run("tasks", "list", "--domain", "cancer", "--type", "regression")
    assert "no task has the domain `cancer`; there are drug_discovery, neurology" in result.stderr
    assert "has the type" not in result.stderr


def test_medals_prints_a_table_without_a_terminal(tasks, run: Any, tmp_path: Path) -> None:
    task = tasks.add()
    tasks.submit("id,y\na,1\nb,2\nc,3\n", "2025_run-group_tidy/s.csv")
    listing = lines(tasks, (task, "2025_run-group_tidy/s.csv"), (task, None))
    run("grade", listing, "--output-dir", tmp_path / "out")
    result = run("medals", tmp_path / "out")
    assert result.return_value == 0
    assert result.stdout.startswith("WHAT  1 gold, 1 invalid of 2;")
    row = next(line for line in result.stdout.splitlines() if "gold  " in line)
    assert row.split() == [
        "lab/numbers",
        "tidy",
        "gold",
        "0",
        "90.9",
        "1",
        "of",
        "12",
        "✓",
        "yes",
        "·",
    ]
    assert "average percentile 90.9 (45.5 with 1 invalid as 0)" in result.stdout


@pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX signals")
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
@pytest.mark.long
def test_finished_reports_survive_a_kill_and_resume_completes_the_batch(
    tasks, tmp_path: Path, how: signal.Signals
) -> None:
    task = tasks.add(
        code=(
            "import time\ndef grade(s, a):\n    time.sleep(0.02)\n    return"
            " float(s['y'].iloc[0])\n"
        )
    )
    count = 100
    for n in range(count):
        tasks.submit(f"id,y\na,0.{n:03}\n", f"s{n}.csv")
    listing = lines(tasks, *[(task, f"s{n}.csv") for n in range(count)])
    out = tmp_path / "out"
    command = [
        "grade", str(listing), "--output-dir", str(out), "--tasks-dir", str(tasks.root),
        "--data-dir", str(tasks.data), "--workers", "1", "--resume",
    ]  # fmt: skip
    env = {**os.environ, "BIOEVAL_DATA_DIR": str(tmp_path / "home")}
    process = Program(command, env)
    deadline = time.monotonic() + 60
    while len(list(out.glob("*_individual_reports/*.json"))) < 20:
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.02)
    process.send_signal(how)
    _, talk = process.communicate(timeout=300)
    if how == signal.SIGINT:
        assert process.returncode == 130
        assert "continue with --resume" in talk
    finished = len(list(out.glob("*_individual_reports/*.json")))
    assert 20 <= finished < count
    done = completed(*command, env=env)
    assert done.returncode == 0, done.stderr
    reports = json.loads(next(out.glob("*_grading_report.json")).read_text())["task_reports"]
    assert [report["score"] for report in reports] == [n / 1000 for n in range(count)]
    assert len(list(out.glob("*_individual_reports/*.json"))) == count


@pytest.mark.long
def test_escape_sequences_in_task_and_file_names_reach_no_terminal(
    tasks, run: Any, tmp_path: Path
) -> None:
    name = "lab/evil\x1b]0;owned\x07\x1b[2J"
    tasks.add(name)
    (tasks.root / name / "config.yaml").write_text("a: b: c\n")
    file = tasks.submit("id,y\n", "s\x1b[2J.csv")
    outputs = [
        run("grade", lines(tasks, (name + "?", file.name)), "--output-dir", tmp_path / "out"),
        run(
            "grade",
            lines(tasks, (name + "?", file.name)),
            "--output-dir",
            tmp_path / "out",
            "--json",
        ),
        run("tasks", "list"),
        run("tasks", "list", "--json"),
        run("tasks", "check"),
        run("medals", tmp_path / "out", "--table"),
        run("medals", tmp_path / "out", "--json"),
        run("validate", file, tasks.add("lab/fine")),
    ]
    for result in outputs:
        assert "\x1b" not in result.stdout + result.stderr
        assert "\x07" not in result.stdout + result.stderr


@pytest.mark.long
def test_ungraded_submissions_are_counted_in_every_format(tasks, run: Any, tmp_path: Path) -> None:
    task = tasks.add()
    tasks.submit("id,y\na,1\nb,2\nc,3\n", "s.csv")
    listing = lines(
        tasks, (task, "s.csv"), ("lab/unknown", "2025_run-group_aide/s.csv"), (task, None)
    )
    graded = run("grade", listing, "--output-dir", tmp_path / "out")
    assert "(30.3 with 2 without a score as 0)" in graded.stdout
    assert f"invalid: {task}: nothing was submitted" in graded.stdout
    table = run("medals", tmp_path / "out", "--table").stdout
    assert "1 invalid, 1 not graded of 3;" in table
    assert "30.3 with 2 without a score as 0" in table
    for kind in ("md", "html"):
        text = run("medals", tmp_path / "out", "--format", kind).stdout
        assert "average percentile 90.9 (30.3 with 2 without a score as 0)" in text
        assert "? Not graded" in text
    rows = csv.DictReader(run("medals", tmp_path / "out", "--format", "csv").stdout.splitlines())
    assert [row["outcome"] for row in rows] == ["graded", "invalid", "not graded"]
    listed = json.loads(run("medals", tmp_path / "out", "--json").stdout)
    assert [item.get("not_graded", "")[:30] for item in listed] == [
        "",
        "",
        "unknown task `lab/unknown`; `b",
    ]


@pytest.mark.long
def test_medals_finds_the_runs_of_a_checkout_by_itself(
    tasks, run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a new user has it: tasks inside the checkout, data in the published cache, a list with
    absolute paths.
    """
    monkeypatch.delenv("BIOEVAL_TASKS_DIR")
    checkout = tmp_path / "biomlbench"
    tasks.add("lab/numbers")
    tasks.add("lab/away")
    shutil.move(tasks.root, checkout / "biomlbench" / "tasks")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    shutil.move(tasks.data, tmp_path / "cache" / "bioml-bench" / "data")
    shutil.rmtree(tmp_path / "cache" / "bioml-bench" / "data" / "lab" / "away")
    group = checkout / "runs" / "2025-07-01T10-00-00-GMT_run-group_careful"
    group.mkdir(parents=True)
    file = tasks.submit("id,y\na,1\nb,2\nc,3\n")
    lines = [
        {"task_id": task, "submission_path": str(file)} for task in ("lab/numbers", "lab/away")
    ]
    (group / "submission.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    done = run("medals", checkout / "runs", "--json")
    first, second = json.loads(done.stdout)
    assert (first["gold_medal"], first["score"]) == (True, 0.0)
    assert "not prepared" in second["not_graded"]
    assert "cache/bioml-bench/data has 1 of 2 tasks, taken" in done.stderr
    assert "biomlbench/tasks" in done.stderr


def test_runs_and_the_reports_beside_and_in_them_are_one_table(
    tasks, run: Any, tmp_path: Path
) -> None:
    """A mended file counts as it is now, a run that left none as its agent's, one whose file is not
    here by its report.
    """
    tasks.add("lab/numbers")
    runs = tmp_path / "runs"
    groups = {
        name: runs / f"2025-07-01T10-00-00-GMT_run-group_{name}" for name in ("ada", "bob", "cut")
    }
    for group in groups.values():
        group.mkdir(parents=True)
    file = groups["ada"] / f"lab/numbers_{UUID(int=1)}" / "submission" / "submission.csv"
    file.parent.mkdir(parents=True)
    names = [f"lab/numbers_{UUID(int=n)}" for n in (1, 2)]
    (groups["ada"] / "metadata.json").write_text(json.dumps({"runs": {name: {} for name in names}}))
    (groups["cut"] / "submission.jsonl").write_text("version https://git-lfs.github.com/spec/v1\n")
    away = "/elsewhere/2025-07-01T10-00-00-GMT_run-group_bob/x.csv"
    listed = groups["bob"] / "submission.jsonl"
    lines = [{"task_id": "lab/numbers", "submission_path": path} for path in (away, None)]
    listed.write_text("".join(json.dumps(line) + "\n" for line in lines))
    file.write_text("id,y\na,1\n")
    lists = tasks.submit(
        json.dumps({"task_id": "lab/numbers", "submission_path": str(file)}) + "\n", "one.jsonl"
    )
    run("grade", lists, "--output-dir", runs)
    report = next(runs.glob("*_grading_report.json"))
    (before,) = json.loads(report.read_text())["task_reports"]
    assert not before["valid_submission"]
    gold = {
        **before,
        "valid_submission": True,
        "score": 0.0,
        "gold_medal": True,
        "submission_path": away,
        "extra": {},
    }
    (groups["bob"] / "grading_report_1.json").write_text(json.dumps([gold]))
    file.write_text("id,y\na,1\nb,2\nc,3\n")
    where = ("--data-dir", tasks.data)
    done = run("medals", runs, "--table", *where)
    assert "2 gold, 2 invalid of 4;" in done.stdout
    assert done.stdout.count("1 of 2 graded") == 2
    assert "submission.jsonl is a Git LFS pointer" in done.stderr
    assert "4 in 3 run groups" in done.stderr
    for place in (runs, tmp_path):
        found = {
            one["agent"]: one
            for one in json.loads(run("medals", place, *where, "--agents", "--json").stdout)
        }
        assert {name: one["any_medal_share"] for name, one in found.items()} == {
            "ada": 0.5,
            "bob": 0.5,
        }


@pytest.mark.long
def test_medals_uses_the_leaderboard_that_you_force(tasks, run: Any, tmp_path: Path) -> None:
    tasks.add("lab/numbers")
    group = tmp_path / "runs" / "2025-07-01T10-00-00-GMT_run-group_careful"
    group.mkdir(parents=True)
    file = tasks.submit("id,y\na,1.5\nb,2.5\nc,3.5\n")
    line = {"task_id": "lab/numbers", "submission_path": str(file)}
    (group / "submission.jsonl").write_text(json.dumps(line) + "\n")
    board = tmp_path / "board.csv"
    board.write_text("teamName,score,submissionDate\na,0.9,2025\nb,1.0,2025\n")
    where = ("--tasks-dir", tasks.root, "--data-dir", tasks.data)
    own = json.loads(run("medals", tmp_path / "runs", "--json", *where).stdout)[0]
    other = json.loads(
        run("medals", tmp_path / "runs", "--json", *where, "--leaderboard", board).stdout
    )[0]
    assert (own["leaderboard_size"], other["leaderboard_size"]) == (11, 2)
    assert other["gold_medal"]
    with pytest.raises(UsageError, match="does not exist"):
        run("medals", tmp_path / "runs", "--leaderboard", tmp_path / "none.csv")


def test_score_intervals_are_added_to_reports_afterwards(tasks, run: Any, tmp_path: Path) -> None:
    rows = range(30)
    task = tasks.add(answers="id,y\n" + "".join(f"r{n},{n % 7}\n" for n in rows))
    tasks.submit("id,y\n" + "".join(f"r{n},{n % 7 + n % 3 / 4}\n" for n in rows), "good.csv")
    tasks.submit("id,y\n", "bad.csv")
    listing = lines(tasks, (task, "good.csv"), (task, "bad.csv"))
    done = run("grade", listing, "--output-dir", tmp_path / "out", "--json")
    report = json.loads(Path(json.loads(done.stdout)["report"]).read_text())
    first, second = report["task_reports"]
    assert first["uncertainty"]["low"] < first["score"] < first["uncertainty"]["high"]
    assert "uncertainty" not in second
    (folder,) = (tmp_path / "out").glob("*_individual_reports")
    assert json.loads((folder / "lab_numbers.json").read_text()) == first
    assert list(report) == [
        *(key for key in report if key not in ("not_graded", "extra")), "not_graded", "extra",
    ]  # fmt: skip
    table = run("medals", tmp_path / "out", "--table").stdout
    assert "95 % interval" in table
    card = run("grade-sample", tasks.submissions / "good.csv", task).stdout
    assert (
        f"95 % interval {first['uncertainty']['low']:.4f} to {first['uncertainty']['high']:.4f} (30"
        " test rows" in card
    )
    plain = run(
        "grade", listing, "--output-dir", tmp_path / "plain", "--json", "--intervals", "none"
    )
    assert "uncertainty" not in Path(json.loads(plain.stdout)["report"]).read_text()


def test_every_grading_is_counted_in_the_ledger_which_can_be_verified(
    tasks, run: Any, tmp_path: Path
) -> None:
    rows = range(40)
    task = tasks.add(answers="id,y\n" + "".join(f"r{n},{n % 7}\n" for n in rows))
    for try_ in range(4):
        tasks.submit(
            "id,y\n" + "".join(f"r{n},{n % 7 + (n + try_) % 5 / 4}\n" for n in rows),
            f"try{try_}.csv",
        )
    listing = lines(tasks, *((task, f"try{n}.csv") for n in range(3)))
    done = run("grade", listing, "--output-dir", tmp_path / "out", "--workers", "2", "--json")
    report = json.loads(Path(json.loads(done.stdout)["report"]).read_text())
    assert sorted(item["extra"]["looks"] for item in report["task_reports"]) == [1, 2, 3]
    card = run("grade-sample", tasks.submissions / "try3.csv", task).stdout
    assert "4 different files scored against these answers\n" in card
    again = json.loads(run("grade-sample", tasks.submissions / "try3.csv", task, "--json").stdout)
    assert again["extra"]["looks"] == 4, "the same file again tells nothing new"
    run("validate", tasks.submissions / "try3.csv", task)
    ledger = own_data(tasks) / "grading-ledger.jsonl"
    assert len(ledger.read_text().splitlines()) == 5, "validating shows no score"
    assert not (tasks.data / ledger.name).exists()
    whole = run("ledger", "verify")
    assert (whole.return_value, "5 lines, intact" in whole.stdout) == (0, True)
    ledger.write_text(ledger.read_text().replace('"score":', '"score":1'))
    changed = run("ledger", "verify", ledger)
    assert changed.return_value == 1
    assert "entry 1 was changed" in changed.stdout


@pytest.mark.long
def test_a_ledger_that_was_cut_stays_changed_after_one_more_grading(tasks, run: Any) -> None:
    task = tasks.add()
    for number in range(3):
        run(
            "grade-sample",
            tasks.submit(f"id,y\na,1\nb,2\nc,{number}\n"),
            task,
            "--intervals",
            "none",
        )
    ledger = own_data(tasks) / "grading-ledger.jsonl"
    first, *_ = ledger.read_text().splitlines(keepends=True)
    ledger.write_text(first)
    run("grade-sample", tasks.submit("id,y\na,1\nb,2\nc,9\n"), task, "--intervals", "none")
    found = run("ledger", "verify", ledger)
    assert (found.return_value, "3 lines, changed" in found.stdout) == (1, True)
    assert "before entry 2 was written: the last 2 of 3 entries are missing" in found.stdout


def test_medals_ranks_the_agents(tasks, run: Any, tmp_path: Path) -> None:
    task = tasks.add()
    good, poor = "id,y\na,1\nb,2\nc,3\n", "id,y\na,1.6\nb,2.6\nc,3.6\n"
    for agent, text in (("tidy", good), ("rash", poor)):
        tasks.submit(text, f"2025_run-group_{agent}/s.csv")
    listing = lines(tasks, *((task, f"2025_run-group_{agent}/s.csv") for agent in ("tidy", "rash")))
    run("grade", listing, "--output-dir", tmp_path / "out")
    table = run("medals", tmp_path / "out", "--table").stdout
    assert "ranks need 10 tasks that all agents have; there is 1" in table
    for width in (60, 71, 100):
        ranks = call("medals", tmp_path / "out", "--table", width=width).stdout.partition("\n\n")[2]
        assert max(map(len, ranks.splitlines())) <= width
        assert {"tidy", "rash", "percentile", "submissions"} <= {*ranks.replace(":", "").split()}
        assert "rank rank" not in ranks
    first, second = json.loads(run("medals", tmp_path / "out", "--agents", "--json").stdout)
    assert (first["agent"], first["any_medal_share"], first["rank"]) == ("tidy", 1.0, None)
    assert second["behind_next"] < 0
    assert "## Agents" in run("medals", tmp_path / "out", "--format", "md").stdout
    assert "<h2>Agents</h2>" in run("medals", tmp_path / "out", "--format", "html").stdout


def test_error_views_are_printed_and_kept_in_reports_with_answers_only_when_asked(
    tasks, run: Any, tmp_path: Path
) -> None:
    rows = range(40)
    task = tasks.add(answers="id,y\n" + "".join(f"r{n},{n % 7}\n" for n in rows))
    file = tasks.submit("id,y\n" + "".join(f"r{n},{n % 7 + n % 3}\n" for n in rows), "good.csv")
    closed = run("grade-sample", file, task, "--explain", "--by", "y").stdout
    assert "the task keeps its answers private" in closed
    assert "residuals" not in closed
    ledger = own_data(tasks) / "grading-ledger.jsonl"
    assert "answers shown" not in ledger.read_text()
    shown = run("grade-sample", file, task, "--explain", "--show-answers", "--by", "y").stdout
    assert "worst rows" in shown
    assert "score of y by y" in shown
    assert json.loads(ledger.read_text().splitlines()[-1])["kind"] == "answers shown"
    assert run("ledger", "verify", ledger).return_value == 0
    listing = lines(tasks, (task, "good.csv"))
    run("grade", listing, "--output-dir", tmp_path / "out", "--explain", "--show-answers")
    page = run("medals", tmp_path / "out", "--format", "html").stdout
    assert "<summary>residuals of y, predicted − true</summary>" in page
    wrong = run("grade-sample", file, task, "--explain", "--show-answers", "--by", "nothing").stdout
    assert "has a column `nothing` for these rows; there are y" in wrong


@pytest.mark.long
def test_reports_of_200_made_up_files_show_nothing_of_private_answers_but_scores(
    tasks, run: Any, tmp_path: Path
) -> None:
    """Whatever the file and the column: no view, in JSON, HTML or Markdown.

    The attempts are scores that the reports have.
    """
    answers = "".join(f"r{n},{n * 7 % 3 % 2}\n" for n in range(40))
    grader = {"name": "auc", "metric": "roc_auc", "id": "id", "target": "y"}
    task = tasks.add(grader=grader, answers="id,y\n" + answers)
    names = [f"try{n}.csv" for n in range(200)]
    for number, name in enumerate(names):
        tasks.submit("id,y\n" + "".join(f"r{n},{(n * number + n) % 41}\n" for n in range(40)), name)
    listing = lines(tasks, *((task, name) for name in names))
    options = ("--intervals", "none", "--explain", "--by", "id")
    done = run("grade", listing, "--output-dir", tmp_path / "out", "--json", *options)
    reports = json.loads(Path(json.loads(done.stdout)["report"]).read_text())["task_reports"]
    scores = {f"{report['score']:.5g}" for report in reports}
    for report in reports:
        private, attempts = report["explanation"]
        assert (private["title"], private["rows"]) == ("the task keeps its answers private", [])
        assert attempts["title"] == "scores so far of files that name no agent"
        assert {row[1] for row in attempts["rows"]} <= scores
    for form in ("html", "md"):
        page = run("medals", tmp_path / "out", "--format", form).stdout
        assert not re.search("thresholds of|confusion|calibration|worst rows|by id", page)
