"""Rankings have intervals, and looking at many tasks is corrected for."""

from __future__ import annotations

import io
import json
from pathlib import Path
from random import Random

import pytest
from rich.console import Console
from scipy.stats import mannwhitneyu, ttest_1samp, wilcoxon

from bioeval_tui.formats import RunResult
from bioeval_tui.report.comparison import compare
from bioeval_tui.report.formats.console import print_rankings
from bioeval_tui.report.result import load_run
from bioeval_tui.report.sentences import rank_words
from bioeval_tui.report.summary import ranking_dicts, rankings, summarise_runs
from bioeval_tui.statistics.estimates import Sample
from bioeval_tui.statistics.paired_differences import Difference, difference, differences
from tests.command import call
from tests.documents import document_of
from tests.unit.report.recorded import Recorded, Talk, import_scores

MEANS = {"first": 0.8, "also first": 0.8, "middle": 0.55, "last": 0.3}


def results(folder: Path, name: str, mean: float, cases: int = 40) -> Path:
    def score(case: int) -> float:
        return mean + Random(case).uniform(-0.1, 0.1) + Random(f"{name} {case}").uniform(-0.1, 0.1)

    return import_scores(folder, name, [[score(case)] for case in range(cases)])


@pytest.fixture
def agents(tmp_path: Path) -> list[RunResult]:
    return [load_run(results(tmp_path, name, mean)) for name, mean in MEANS.items()]


def test_leading_agents_are_separated_and_a_tie_stays_a_tie(agents: list[RunResult]) -> None:
    (found,) = rankings(summarise_runs(agents))
    assert {one.name: rank_words(one) for one in found.ranking.ranks} == {
        "first": "rank 1–2", "also first": "rank 1–2", "middle": "rank 3", "last": "rank 4",
    }  # fmt: skip
    assert (
        found.note == "with 95 % confidence, all true ranks are in these intervals; 40 common cases"
    )


def test_every_report_and_the_command_show_the_ranks(
    agents: list[RunResult], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "| also first | 0." in document_of("md", *agents)
    assert "rank 1–2" in document_of("md", *agents)
    assert "rank 1–2" in document_of("html", *agents)
    (ranks,) = json.loads(document_of("json", *agents))["ranks"]
    assert [(one["best"], one["worst"]) for one in ranks["agents"]] == [
        (1, 2),
        (1, 2),
        (3, 3),
        (4, 4),
    ]
    monkeypatch.setenv("BIOEVAL_DATA_DIR", str(tmp_path))
    shown = call("runs", "compare", *(run.run_id for run in agents)).stdout
    assert "rank 3" in shown
    assert "40 common cases" in shown


def test_too_few_common_cases_give_no_ranking(tmp_path: Path) -> None:
    few = [load_run(results(tmp_path, name, mean, cases=4)) for name, mean in MEANS.items()]
    (found,) = rankings(summarise_runs(few))
    assert {rank_words(one) for one in found.ranking.ranks} == {"rank 1–4"}
    assert {rank for _, _, rank in found.rows} == {"–"}, "no rank that says nothing"
    assert not found.enough
    (printed,) = ranking_dicts([found])
    assert {(one["place"], one["best"], one["worst"]) for one in printed["agents"]} == {
        (None, None, None)
    }
    file = io.StringIO()
    print_rankings([found], Console(file=file, width=120))
    for shown in (file.getvalue(), *(document_of(kind, *few) for kind in ("md", "html"))):
        assert "rank 1" not in shown
        assert ">rank<" not in shown
        assert "| rank" not in shown
        assert "4 common cases: too few for ranks" in shown
    assert found.note == "4 common cases: too few for ranks that hold on other cases, 10 are needed"


@pytest.mark.parametrize("agents", [("first", "second"), ("same", "same")])
def test_a_report_of_two_runs_says_what_their_comparison_says(
    agents: tuple[str, str], tmp_path: Path
) -> None:
    good, bad = [Talk()] * 5, [Talk(holds=(False,))] * 5
    paths = [
        Recorded(
            good, talks, run_id=f"20260102-03040{number}-abcd", started={"agent": agent}
        ).write(tmp_path)
        for number, (talks, agent) in enumerate(zip((good, bad), agents, strict=True))
    ]
    worse = "B − A −0.57 in each of 5 pairs: worse"
    assert worse in call("runs", "compare", *paths).stdout
    for kind in ("md", "html"):
        report = call("runs", "report", *paths, "--format", kind).stdout
        assert report.count(worse) == 1
        assert "Ranks" not in report
        assert "too few for ranks" not in report
    report = json.loads(call("runs", "report", *paths, "--format", "json").stdout)
    compared = json.loads(call("runs", "compare", *paths, "--json").stdout)
    for condition in compared["conditions"].values():
        condition["turns"] = []  # its messages are in the runs
    assert (report["comparison"], report["ranks"]) == (compared, [])


def test_two_runs_of_different_jobs_are_not_compared_in_their_report(tmp_path: Path) -> None:
    talks = {"one": Talk(), "two": Talk(tasks=(1.0, 1.0))}
    runs = [Recorded([talk] * 5, job=job).loaded() for job, talk in talks.items()]
    assert json.loads(document_of("json", *runs))["comparison"] is None
    assert "Compared" not in document_of("md", *runs)
    assert "Compared" not in document_of("html", *runs)


def test_the_p_value_is_that_of_the_t_test_or_of_the_strongest_result_of_so_few() -> None:
    values = [0.3, 0.1, 0.4, -0.1, 0.2, 0.25]
    found = difference([Sample("job", value) for value in values])
    assert found.p == pytest.approx(ttest_1samp(values, 0).pvalue, abs=1e-12)
    for equal in (5, 6, 10):
        signs = wilcoxon([0.01] * equal, method="exact").pvalue
        assert difference([Sample("job", 0.01)] * equal).p == pytest.approx(signs)
    nearly = difference([Sample("job", value) for value in (0.3, 0.3, 0.3, 0.3, 0.31)])
    assert (nearly.p, nearly.direction) == (2 / 2**5, "too few")
    assert difference([Sample("job", 0.2)] * 4).p is None


def test_trials_of_two_runs_are_two_independent_samples() -> None:
    def tested(first: list[float], second: list[float]) -> Difference:
        pairs = zip(first, second, strict=True)
        return difference(
            differences([(Sample("job", one), Sample("job", two)) for one, two in pairs])
        )

    first, second = [0.9, 0.91, 0.92, 0.93, 0.94], [0.5, 0.51, 0.52, 0.53, 0.54]
    apart = tested(first, second)
    assert apart.p == pytest.approx(mannwhitneyu(first, second, method="exact").pvalue)
    assert apart.direction == "worse"
    overlapping = tested([0.1, 0.9, 0.5, 0.2, 0.7], [0.09, 0.89, 0.49, 0.19, 0.69])
    assert overlapping.p == pytest.approx(2 / 2**5)
    assert tested([0.9] * 5, [0.5] * 5).p == pytest.approx(2 * 0.5**10)


def test_among_many_tasks_a_fall_by_chance_is_not_a_regression() -> None:
    random = Random(2)
    names = 12

    def talks() -> list[Talk]:
        return [
            Talk(tasks=tuple(random.uniform(0.2, 0.8) for _ in range(names))) for _ in range(10)
        ]

    pairs = [
        compare(Recorded((), talks()).loaded(), Recorded((), talks()).loaded()) for _ in range(25)
    ]
    by_interval = sum(
        any(
            task.difference
            and task.difference.estimate.interval
            and task.difference.estimate.interval.high < 0
            for task in one.conditions[0].tasks
        )
        for one in pairs
    )
    corrected = sum(any("task" in line for line in one.regressions) for one in pairs)
    assert by_interval >= 4, "without a correction chance finds some in many comparisons"
    assert corrected <= 2
    assert any("none is significantly different" in one.conditions[0].corrected for one in pairs)


def test_among_many_tasks_a_real_fall_is_a_regression() -> None:
    good = [Talk(tasks=(0.9, 0.8, 0.7 + 0.01 * n)) for n in range(8)]
    bad = [Talk(tasks=(0.2 + 0.01 * n, 0.8, 0.7 + 0.01 * n)) for n in range(8)]
    found = compare(Recorded((), good).loaded(), Recorded((), bad).loaded())
    assert any("task" in line for line in found.regressions)
    assert "significantly different: task" in found.conditions[0].corrected
