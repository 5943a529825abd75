"""Grading's speed against a plain loop that reads everything again for every submission, in one
run.

    uv run python benchmarks/grading.py                all rows, medians of five
    uv run python benchmarks/grading.py --quick        smaller, once
    uv run python benchmarks/grading.py --unchanged    only graders that are code in files
    uv run python benchmarks/grading.py --memory       only the peak memory of whole processes

Two comparisons. Declared metrics beside a plain loop that reads everything again for every
submission: our own writing of the published procedure (tests/golden holds its numbers, and this
script checks the loop against them first). And graders that are code in files, unchanged, beside
`published_loop.py`, a stand-in for the published program: whole processes, the same graders in
both. Every report of both ways is compared.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import yaml
from measure import RUNS

from bioeval_tui.base.isolation import program_command
from bioeval_tui.grade import GraderPool, Registry
from bioeval_tui.grade.batch.containment import below
from bioeval_tui.grade.batch.run import grade_batch
from bioeval_tui.grade.leaderboard import rank

GOLDEN = Path(__file__).parents[1] / "tests" / "golden"
ONE_THREAD = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
"""As our workers have it, so that both ways of grading use as many threads."""


# The plain loop
# ---------------------------------------------------------------------------------------


def plain_rank(score: float, board: pd.DataFrame) -> dict[str, Any]:
    """Rank by counting rows, as the published procedure does."""
    scores = board["score"]
    lower = bool(scores.iloc[0] < scores.iloc[-1])
    n = len(scores)
    if n < 100:
        places = max(1, int(0.1 * n)), max(1, int(0.2 * n)), max(1, int(0.4 * n))
    elif n < 250:
        places = 10, int(0.2 * n), int(0.4 * n)
    elif n < 1000:
        places = 10 + int(0.002 * n), 50, 100
    else:
        places = 10 + int(0.002 * n), int(0.05 * n), int(0.1 * n)
    gold, silver, bronze = (float(scores.iloc[place - 1]) for place in places)
    median = float(scores.median())

    def reaches(threshold: float) -> bool:
        return bool(score <= threshold if lower else score >= threshold)

    worse = (scores > score).sum() if lower else (scores < score).sum()
    is_gold = reaches(gold)
    is_silver = not is_gold and reaches(silver)
    return {
        "gold_medal": is_gold,
        "silver_medal": is_silver,
        "bronze_medal": not is_gold and not is_silver and reaches(bronze),
        "above_median": bool(score < median if lower else score > median),
        "gold_threshold": gold,
        "silver_threshold": silver,
        "bronze_threshold": bronze,
        "median_threshold": median,
        "leaderboard_percentile": float(round(worse / n * 100, 1)),
        "leaderboard_size": n,
        "is_lower_better": lower,
    }


def plain_csv(metric: Callable[[Any, Any], Any]) -> Callable[[Path, Path], float]:
    """Score a CSV as a published grader does: check, sort both by id, compute."""

    def grade(submission_path: Path, answers_path: Path) -> float:
        submission = pd.read_csv(submission_path, float_precision="round_trip")
        answers = pd.read_csv(answers_path, float_precision="round_trip")
        if "id" not in submission.columns or "y" not in submission.columns:
            raise ValueError("columns")
        if (
            len(submission) != len(answers)
            or submission["id"].duplicated().any()
            or submission["y"].isna().any()
        ):
            raise ValueError("rows")
        submission = submission.sort_values("id").reset_index(drop=True)
        answers = answers.sort_values("id").reset_index(drop=True)
        if (submission["id"].to_numpy() != answers["id"].to_numpy()).any():
            raise ValueError("ids")
        return round(metric(answers["y"], submission["y"]), 5)

    return grade


def plain_h5ad(submission_path: Path, answers_path: Path) -> float:
    """Score an h5ad layer: read both files whole, align by name, root mean squared error."""
    import anndata

    submission = anndata.read_h5ad(submission_path)
    answers = anndata.read_h5ad(answers_path)
    if set(submission.obs_names) != set(answers.obs_names) or set(submission.var_names) != set(
        answers.var_names
    ):
        raise ValueError("names")
    submission = submission[answers.obs_names, answers.var_names]
    difference = submission.layers["prediction"].astype(np.float64) - answers.layers[
        "prediction"
    ].astype(np.float64)
    return round(float(np.sqrt(np.mean(difference**2))), 5)


def plain_metrics() -> dict[str, Callable[[Path, Path], float]]:
    """Return how the plain loop scores each task."""
    from scipy.stats import spearmanr
    from sklearn.metrics import mean_absolute_error, roc_auc_score

    return {
        "bench/mae": plain_csv(mean_absolute_error),
        "bench/auc": plain_csv(roc_auc_score),
        "bench/spearman": plain_csv(lambda true, guess: spearmanr(true, guess).statistic),
        "bench/h5ad": plain_h5ad,
        "bench/tiny": plain_csv(mean_absolute_error),
    }


def plain_loop(lines: list[tuple[str, Path]], world: World, output: Path) -> list[dict[str, Any]]:
    """Grade one submission after another, reading answers and leaderboard each time, and write the
    reports.
    """
    metrics = plain_metrics()
    reports = []
    for task_id, path in lines:
        suffix = path.suffix
        score = metrics[task_id](
            path, world.data / task_id / "prepared" / "private" / f"answers{suffix}"
        )
        board = pd.read_csv(world.tasks / task_id / "leaderboard.csv")
        reports.append(
            {
                "task_id": task_id,
                "score": float(score),
                "submission_path": str(path),
                **plain_rank(score, board),
            }
        )
    output.mkdir(parents=True, exist_ok=True)
    (output / "report.json").write_text(json.dumps({"task_reports": reports}, indent=2))
    for number, report in enumerate(reports):
        (output / f"{number}.json").write_text(json.dumps(report, indent=2))
    return reports


# Graders in files, as tasks of BioML-bench have them
# ---------------------------------------------------

_CHECKED = """import numpy as np
import pandas as pd
from sklearn.metrics import mean_absolute_error, roc_auc_score
from scipy.stats import spearmanr

class InvalidSubmissionError(Exception):
    pass

def grade(submission, answers):
    for name in ("id", "y"):
        if name not in submission.columns:
            raise InvalidSubmissionError(f"no column {name}")
    if len(submission) != len(answers):
        raise InvalidSubmissionError("rows")
    if submission["id"].duplicated().any() or submission["y"].isna().any():
        raise InvalidSubmissionError("rows")
    if set(submission["id"]) != set(answers["id"]):
        raise InvalidSubmissionError("ids")
    submission = submission.sort_values("id").reset_index(drop=True)
    answers = answers.sort_values("id").reset_index(drop=True)
    return METRIC
"""
_H5AD = """import anndata
import numpy as np

def grade(submission_path, answers_path):
    submission, answers = anndata.read_h5ad(submission_path), anndata.read_h5ad(answers_path)
    if submission.shape != answers.shape or list(submission.obs_names) != list(answers.obs_names):
        raise ValueError("shape")
    expected = answers.layers["prediction"].astype(float)
    difference = expected - submission.layers["prediction"].astype(float)
    return float(np.sqrt(np.mean(difference**2)))
"""
GRADERS = {
    "mae": _CHECKED.replace("METRIC", 'mean_absolute_error(answers["y"], submission["y"])'),
    "auc": _CHECKED.replace(
        "METRIC", 'roc_auc_score(y_true=answers["y"], y_score=submission["y"])'
    ),
    "spearman": _CHECKED.replace("METRIC", 'float(spearmanr(answers["y"], submission["y"])[0])'),
    "tiny": _CHECKED.replace("METRIC", 'mean_absolute_error(answers["y"], submission["y"])'),
    "h5ad": _H5AD,
}


# The world to grade
# ------------------------------------------------------------------------------------


class World:
    """Tasks, answers, leaderboards and submissions with fixed seeds in a temporary folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.tasks, self.data, self.files = (
            folder / "tasks",
            folder / "data",
            folder / "submissions",
        )
        self.random = np.random.default_rng(7)

    def add_task(self, name: str, grader: dict[str, Any], board: np.ndarray, answers: str) -> Path:
        """Write config and leaderboard; return where the answers go."""
        folder = self.tasks / "bench" / name
        private = self.data / "bench" / name / "prepared" / "private"
        for path in (folder, private, self.files / name):
            path.mkdir(parents=True)
        config = {
            "id": f"bench/{name}",
            "name": name,
            "dataset": {
                "answers": f"bench/{name}/prepared/private/{answers}",
                "sample_submission": f"bench/{name}/prepared/public/{answers}",
            },
            "grader": {"name": name, **grader},
        }
        (folder / "config.yaml").write_text(yaml.safe_dump(config))
        frame = pd.DataFrame({"teamName": [f"team{i}" for i in range(len(board))], "score": board})
        frame.to_csv(folder / "leaderboard.csv", index=False)
        return private / answers

    def csv_task(
        self, name: str, metric: str, rows: int, count: int, *, binary: bool, lower: bool
    ) -> None:
        """A CSV task with `count` submissions of `rows` rows."""
        board = np.sort(self.random.random(1_200).round(5))
        grader = {"metric": metric, "id": "id", "target": "y"}
        answers = self.add_task(name, grader, board if lower else board[::-1], "answers.csv")
        true = (
            self.random.integers(0, 2, rows).astype(float)
            if binary
            else self.random.normal(size=rows)
        )
        ids = np.arange(rows)
        pd.DataFrame({"id": ids, "y": true.astype(int) if binary else true}).to_csv(
            answers, index=False
        )
        distinct = min(count, 50)
        for number in range(distinct):
            guess = true + self.random.normal(scale=0.2 + number / 40, size=rows)
            pd.DataFrame({"id": ids, "y": guess}).to_csv(
                self.files / name / f"{number}.csv", index=False
            )
        for number in range(distinct, count):
            shutil.copyfile(
                self.files / name / f"{number % distinct}.csv", self.files / name / f"{number}.csv"
            )

    def h5ad_task(self, cells: int, genes: int, count: int) -> None:
        """An h5ad task: a dense layer of float32, `count` submissions of which a few are distinct
        files.
        """
        import anndata

        board = np.sort(self.random.random(1_200).round(5))
        grader = {"metric": "rmse", "h5ad": {"layers": "prediction"}}
        answers = self.add_task("h5ad", grader, board, "answers.h5ad")
        true = self.random.normal(size=(cells, genes)).astype(np.float32)

        def write(values: np.ndarray, path: Path) -> None:
            table = anndata.AnnData(obs=pd.DataFrame(index=[f"c{i}" for i in range(cells)]))
            table = anndata.AnnData(
                obs=table.obs, var=pd.DataFrame(index=[f"g{i}" for i in range(genes)])
            )
            table.layers["prediction"] = values
            table.write_h5ad(path)

        write(true, answers)
        distinct = min(count, 4)
        for number in range(distinct):
            noise = self.random.normal(scale=0.1 + number / 10, size=true.shape).astype(np.float32)
            write(true + noise, self.files / "h5ad" / f"{number}.h5ad")
        for number in range(distinct, count):
            os.link(
                self.files / "h5ad" / f"{number % distinct}.h5ad",
                self.files / "h5ad" / f"{number}.h5ad",
            )

    def with_code(self) -> Path:
        """Return a folder of the same tasks whose graders are code."""
        folder = self.folder / "tasks-with-code"
        if not folder.exists():
            shutil.copytree(self.tasks, folder)
            for name, text in GRADERS.items():
                if (folder / "bench" / name).is_dir():
                    config = folder / "bench" / name / "config.yaml"
                    values = yaml.safe_load(config.read_text())
                    values["grader"] = {"name": name, "grade_fn": "grade:grade"}
                    config.write_text(yaml.safe_dump(values))
                    (config.parent / "grade.py").write_text(text)
        return folder

    def list_submissions(self, names: list[str], count: int) -> tuple[Path, list[tuple[str, Path]]]:
        """Write the JSONL of all submissions of these tasks, tasks in turn."""
        lines = []
        for number in range(count):
            for name in names:
                suffix = ".h5ad" if name == "h5ad" else ".csv"
                lines.append((f"bench/{name}", self.files / name / f"{number}{suffix}"))
        path = self.folder / f"{'-'.join(names)}.jsonl"
        path.write_text(
            "".join(json.dumps({"task_id": t, "submission_path": str(p)}) + "\n" for t, p in lines)
        )
        return path, lines


# What is measured
# --------------------------------------------------------------------------------------


def check_plain_loop() -> None:
    """The plain loop's ranking must reproduce the goldens, or it is no bar to compare with."""
    data = json.loads((GOLDEN / "medals.json").read_text())
    for case in data["cases"]:
        board = data["leaderboards"][case["leaderboard"]]
        if "scores" not in board or case["score"] is None:
            continue
        got = plain_rank(case["score"], pd.DataFrame({"score": board["scores"]}))
        assert got == case["expect"], case["id"]


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    """Return seconds and result."""
    started = time.perf_counter()
    result = work()
    return time.perf_counter() - started, result


def compare(reports: list[dict[str, Any]], path: Path) -> None:
    """Every report of ours equals the plain loop's, key for key."""
    ours = json.loads(path.read_text())["task_reports"]
    assert len(ours) == len(reports)
    for mine, plain in zip(ours, reports, strict=True):
        for key, value in plain.items():
            assert mine[key] == value, (key, mine[key], value, plain["submission_path"])


def throughput(
    world: World, names: list[str], count: int, repeats: int, plain_count: int | None = None
) -> tuple[float, float, float]:
    """Return medians: plain submissions a second, ours (warm workers), ours with the workers'
    start.
    """
    listing, lines = world.list_submissions(names, count)
    some = lines[: plain_count or len(lines)]
    plain_rates, warm_rates, cold_rates = [], [], []
    for repeat in range(repeats):
        output = world.folder / f"out-{'-'.join(names)}-{repeat}"
        seconds, reports = timed(
            lambda some=some, output=output: plain_loop(some, world, output / "plain")
        )
        plain_rates.append(len(some) / seconds)
        started = time.perf_counter()
        with GraderPool(Registry([world.tasks], world.data), workers=2) as pool:
            cold, result = timed(
                lambda pool=pool, output=output: grade_batch(listing, output / "cold", pool)
            )
            cold = time.perf_counter() - started
            warm, result = timed(
                lambda pool=pool, output=output: grade_batch(listing, output / "warm", pool)
            )
        if len(some) == len(lines):
            compare(reports, result.report_path)
        warm_rates.append(len(lines) / warm)
        cold_rates.append(len(lines) / cold)
        shutil.rmtree(output)
    return (
        statistics.median(plain_rates),
        statistics.median(warm_rates),
        statistics.median(cold_rates),
    )


@dataclass(frozen=True)
class Took:
    """Seconds of a whole process: by the clock, and of the processor with all it started; and what
    it printed.
    """

    clock: float
    processor: float
    printed: str = ""


def whole_processes(
    world: World, names: list[str], count: int, output: Path, workers: int
) -> tuple[list[str], list[str]]:
    """Return the commands that grade the same submissions with the same graders: the stand-in's,
    and ours.
    """
    tasks = world.with_code()
    listing, _ = world.list_submissions(names, count)
    plain = [sys.executable, str(Path(__file__).with_name("published_loop.py"))]
    plain += map(str, (tasks, world.data, listing, output / "plain"))
    mine = program_command(
        "grade", str(listing), "--output-dir", str(output / "ours"), "--intervals", "none"
    )
    mine += ["--tasks-dir", str(tasks), "--data-dir", str(world.data), "--workers", str(workers)]
    return plain, mine


def unchanged_graders(
    world: World, names: list[str], count: int, repeats: int
) -> tuple[Took, Took, float]:
    """Return the quickest of each, whole processes: the stand-in for the published loop, ours on
    two workers.

    Both run the same graders, which are code in files; every report of ours equals the loop's. The
    third is the processor time of the graders' own functions.
    """
    loops, ours = [], []
    for repeat in range(repeats):
        output = world.folder / f"code-{'-'.join(names)}-{repeat}"
        plain, mine = whole_processes(world, names, count, output, 2)
        loops.append(process_took(plain, ONE_THREAD))
        ours.append(process_took(mine, ONE_THREAD))
        (report,) = (output / "ours").glob("*_grading_report.json")
        compare(json.loads((output / "plain" / "report.json").read_text())["task_reports"], report)
        shutil.rmtree(output)
    loop = min(loops, key=lambda took: took.processor)
    return loop, min(ours, key=lambda took: took.processor), float(loop.printed)


def proportional_megabytes(pid: int) -> float:
    """The memory of a process, its share of what it shares; 0 for one that is ending."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("Pss:")) / 1024
    except (OSError, StopIteration):
        return 0.0


def peak_of_all(command: list[str]) -> float:
    """Peak memory of a command and all that it starts, in MB, shared memory counted once, looked at
    every 50 ms (Linux).
    """
    peak = 0.0
    with subprocess.Popen(command, env=ONE_THREAD, stdout=subprocess.DEVNULL) as process:
        while process.poll() is None:
            peak = max(peak, sum(map(proportional_megabytes, below(os.getpid()))))
            time.sleep(0.05)
    assert process.returncode == 0
    return peak


def memory(world: World, count: int) -> None:
    """Print the peak memory of whole processes."""
    print("peak memory of whole processes, MB: the stand-in, ours on two workers, on one")
    for names in (["auc"], ["h5ad"], ["mae", "auc", "spearman", "h5ad"]):
        peaks = []
        for workers in (2, 1):
            output = world.folder / f"memory-{'-'.join(names)}-{workers}"
            commands = whole_processes(world, names, count, output, workers)
            peaks += [peak_of_all(command) for command in (commands if not peaks else commands[1:])]
            shutil.rmtree(output)
        plain, *ours = peaks
        shown = ", ".join(f"{peak:.0f} ({peak / plain:.2f}×)" for peak in ours)
        title = f"{count * len(names)} × {', '.join(names)}"
        print(f"{title:44} {plain:.0f}, {shown}")


def ranking_microseconds() -> float:
    """Microseconds to rank one score on a board of a million rows."""
    board = np.sort(np.random.default_rng(1).random(1_000_000))
    scores = np.random.default_rng(2).random(2_000).tolist()
    seconds, _ = timed(lambda: [rank(score, board, True) for score in scores])
    return seconds / len(scores) * 1e6


def process_took(command: list[str], env: dict[str, str]) -> Took:
    """Run a process to its end."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds, done = timed(
        lambda: subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert done.returncode == 0, done.stderr
    processor = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Took(seconds, processor, done.stdout)


def process_seconds(command: list[str], env: dict[str, str]) -> float:
    """Wall-clock seconds of a whole process."""
    return process_took(command, env).clock


def grade_sample_against_imports(world: World, repeats: int) -> tuple[float, float]:
    """Return medians: `grade-sample` of 100 rows, and importing pandas and sklearn.metrics, whole
    processes.
    """
    env = {**os.environ, "BIOEVAL_TASKS_DIR": str(world.tasks)}
    file = str(world.files / "tiny" / "0.csv")
    grade = program_command("grade-sample", file, "bench/tiny", "--data-dir", str(world.data))
    bare = [sys.executable, "-c", "import pandas, sklearn.metrics"]
    pairs = [(process_seconds(grade, env), process_seconds(bare, env)) for _ in range(repeats + 1)][
        1:
    ]
    return statistics.median(a for a, _ in pairs), statistics.median(b for _, b in pairs)


def peak_megabytes(world: World, count: int) -> float:
    """Peak resident memory of a program, its workers and their template that grade `count` tiny
    submissions (Linux).
    """
    listing, _ = world.list_submissions(["tiny"], count)
    code = (
        "import os\nfrom pathlib import Path\nfrom bioeval_tui.grade.batch.containment import"
        " below\nfrom bioeval_tui.grading import GraderPool, Registry\nfrom"
        " bioeval_tui.grade.batch.run import grade_batch\ndef peak(pid):\n    lines ="
        " Path(f'/proc/{pid}/status').read_text().splitlines()\n    return int(next(line for"
        " line in lines if line.startswith('VmHWM')).split()[1]) / 1024\nwith"
        f" GraderPool(Registry([{str(world.tasks)!r}], {str(world.data)!r}), workers=2) as pool:\n "
        f"   grade_batch(Path({str(listing)!r}),"
        f" Path({str(world.folder / 'memory' / str(count))!r}), pool)\n    print(peak('self') +"
        " sum(map(peak, below(os.getpid()))))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return float(done.stdout)


def declared(world: World, each: int, many: int, repeats: int, quick: bool) -> None:
    """Print declared metrics beside the plain loop."""
    rows = []
    for names in (["mae"], ["auc"], ["spearman"], ["h5ad"], ["mae", "auc", "spearman", "h5ad"]):
        if quick or len(names) > 1:
            rows.append(
                (
                    f"{each * len(names)} × {', '.join(names)}",
                    *throughput(world, names, each, repeats),
                )
            )
    rows.append(
        (
            f"{many:,} × 100 rows",
            *throughput(world, ["tiny"], many, repeats, many if quick else many // 5),
        )
    )
    print(f"{'submissions':44} {'plain/s':>9} {'ours/s':>9} {'ratio':>7} {'with start':>11}")
    for name, plain, warm, cold in rows:
        print(f"{name:44} {plain:9.1f} {warm:9.1f} {warm / plain:6.1f}× {cold / plain:10.1f}×")


def unchanged(world: World, each: int, small: int, repeats: int) -> None:
    """Print unchanged graders beside the stand-in for the published program."""
    print("unchanged graders, whole processes: seconds by the clock (of the processor)")
    for title, names, number in (
        (f"{each} × auc", ["auc"], each),
        (f"{each * 4} × mae, auc, spearman, h5ad", ["mae", "auc", "spearman", "h5ad"], each),
        (f"{small:,} × 100 rows", ["tiny"], small),
    ):
        loop, ours, own = unchanged_graders(world, names, number, repeats)
        print(
            f"{title:44} loop {loop.clock:.1f} ({loop.processor:.1f}), ours {ours.clock:.1f}"
            f" ({ours.processor:.1f}): {loop.clock / ours.clock:.1f}×; the graders' functions alone"
            f" {own:.1f}, at most {loop.processor / (own / 2):.1f}× on two cores"
        )


def single(world: World, many: int, repeats: int) -> None:
    """Print ranking, one file, memory."""
    print(f"rank on 1,000,000 rows: {ranking_microseconds():.1f} µs")
    grade, bare = grade_sample_against_imports(world, repeats)
    print(
        f"grade-sample {grade:.2f} s, import pandas and sklearn.metrics {bare:.2f} s:"
        f" {grade - bare:+.2f} s"
    )
    small, large = peak_megabytes(world, 100), peak_megabytes(world, many // 2)
    print(
        f"peak memory: {small:.0f} MB for 100, {large:.0f} MB for {many // 2:,}:"
        f" {large / small:.2f}×"
    )


def main() -> None:
    """Build the world, measure, print a table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    parser.add_argument(
        "--unchanged", action="store_true", help="only graders that are code in files"
    )
    parser.add_argument(
        "--memory", action="store_true", help="only the peak memory of whole processes"
    )
    chosen = parser.parse_args()
    quick = chosen.quick
    repeats, many, each = (1, 2_000, 20) if quick else (RUNS, 20_000, 100)
    check_plain_loop()
    plain_metrics()["bench/spearman"]  # its libraries are loaded before anything is timed
    with tempfile.TemporaryDirectory(prefix="bioeval-bench-") as folder:
        world = World(Path(folder))
        world.csv_task("mae", "mean_absolute_error", 10_000, each, binary=False, lower=True)
        world.csv_task("auc", "roc_auc", 50_000, each, binary=True, lower=False)
        world.csv_task("spearman", "spearman", 20_000, each, binary=False, lower=False)
        world.h5ad_task(5_000, 2_000, each)
        world.csv_task("tiny", "mean_absolute_error", 100, many, binary=False, lower=True)
        if chosen.memory:
            memory(world, each)
            return
        if not chosen.unchanged:
            declared(world, each, many, repeats, quick)
        unchanged(world, each, 600 if quick else 6_000, repeats)
        if not chosen.unchanged:
            single(world, many, repeats)


if __name__ == "__main__":
    main()
