"""Every attempt in attempts.txt is refused or has no effect; files, calls and processes are
watched.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from bioeval_tui.base.errors import InputError, JobError, QueryError, UsageError
from bioeval_tui.evaluation.assertions import check_expression
from bioeval_tui.evaluation.medal_assertions import matching
from bioeval_tui.graphs import cypher as cypher_guard
from bioeval_tui.graphs.embedded import EmbeddedGraph
from bioeval_tui.jobs.loading import parse_job
from bioeval_tui.jobs.models import EvaluationJob
from bioeval_tui.peers.models.prompting import Prompt, find_prompt
from bioeval_tui.protocols import AssertionView, EvaluatorView, PeerError, TranscriptMessage
from bioeval_tui.record.catalogue import Catalogue
from bioeval_tui.record.runs import is_run_id
from tests.fuzz.kinds.submissions import add_task
from tests.fuzz.watch import Canaries, Watch
from tests.rendered import evaluator_prompt

CANARY = "CANARY-51c7"
SECRET = "SECRET-90ab"
HOLES = 3_000_000_000
ANSWERS = "id,y\na,1.0\nb,2.0\nc,3.0\n"


def attempts() -> list[tuple[str, str]]:
    """Return every attempt as (kind, text)."""
    kind, found = "", []
    for line in (Path(__file__).parent / "attempts.txt").read_text("utf-8").splitlines():
        if line.startswith("## "):
            kind = line[3:].partition(":")[0]
        elif line and not line.startswith("# "):
            found.append((kind, line))
    return found


def written_out(text: str, names: dict[str, str]) -> str:
    """Return an attempt as it is tried."""
    for name, value in names.items():
        text = text.replace(f"⟨{name}⟩", value)
    while "⟨" in text:
        before, _, rest = text.rpartition("⟨")
        inner, _, after = rest.partition("⟩")
        piece, _, times = inner.rpartition("×")
        text = before + piece * int(times) + after
    return text.replace("⏎", "\n")


@dataclass
class Place:
    """A job's folder with everything in it that could lead out, and what lies outside."""

    root: Path
    job: Path
    answers: Path
    canaries: Canaries
    watch: Watch


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    root = tmp_path_factory.mktemp("hostile")
    job, away = root / "job", root / "away"
    for folder in (job / "inside", job / "folder", job / "folder.csv", away):
        folder.mkdir(parents=True)
    outside = [
        root / "canary.txt",
        root / "canary.csv",
        root / "secret.txt",
        away / "canary.csv",
        away / "canary.txt",
    ]
    for path in outside:
        path.write_text(f"{CANARY},y\n1,2\n")
    (root / "canary.jsonl").write_text("{}\n")
    grader = {"name": "mae", "metric": "mean_absolute_error", "id": "id", "target": "y"}
    task_id = add_task(root, "numbers", grader, ".csv", ANSWERS.encode())
    answers = root / "taskdata" / task_id / "prepared" / "private" / "answers.csv"
    (job / "inside.txt").write_text("inside")
    links = {
        "link-out": root / "canary.txt", "link-out.csv": root / "canary.csv",
        "link-to-folder": away, "link-to-link": job / "link-out",
        "link-to-link.csv": job / "link-out.csv", "link-to-device": Path("/dev/zero"),
        "link-to-device.csv": Path("/dev/zero"),
        "link-to-answers.csv": answers,
    }  # fmt: skip
    for name, target in links.items():
        (job / name).symlink_to(target)
    os.mkfifo(job / "pipe")
    os.mkfifo(job / "pipe.csv")
    (job / "hard-link-to-answers.csv").hardlink_to(answers)
    with (job / "holes.csv").open("wb") as file:
        file.truncate(HOLES)
    canaries = Canaries(*outside)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OPENAI_API_KEY", SECRET)
        yield Place(root, job, answers, canaries, Watch([root / "graph"]))
    canaries.close()


def expression(text: str, place: Place) -> None:
    view = AssertionView(
        {"context": "", "resources": [], "functions": []}, {"transcript": [], "failureCount": 1}
    )
    result = check_expression(text, view)
    assert result.passed is False
    assert result.error or result.observed is False


def template(text: str, place: Place) -> None:
    job = EvaluationJob.model_validate(
        {"target": {"user": "Ann", "chatbot": "Bot"}, "aspirationalAverage": 1.0, "facts": ("F",),
         "tasks": ({"task": "T", "acceptanceCriteria": SECRET},)}
    )  # fmt: skip
    view = EvaluatorView(job, "supplied", 1, job.facts, [TranscriptMessage(1, "user", "Hi")])
    before = job.model_copy(deep=True)
    try:
        told = evaluator_prompt(Prompt("p", text, "job"), view)
    except UsageError as refused:
        told = str(refused) if len(str(refused)) > 1000 else ""
    assert not [
        mark
        for mark in (SECRET, CANARY, "<class", "<function", "<module", "root:", " object at 0x")
        if mark in told
    ]
    assert len(told) < 2_100_000
    assert job == before


def yaml(text: str, place: Place) -> None:
    head = "target: {user: a, chatbot: b}\naspirationalAverage: 1\ntasks: [{task: t}]\nfacts:\n  - "
    sys.modules.pop("zipapp", None)
    try:
        loaded = parse_job(head + text + "\n", place.job / "job.yml")
    except JobError:
        assert "zipapp" not in sys.modules, "refused, but done"
        return
    assert "zipapp" not in sys.modules
    assert all(type(fact) is str for fact in loaded.job.facts)
    assert not [mark for mark in (SECRET, CANARY, "root:", "\x1b") if mark in str(loaded.job)]


def cypher(text: str, place: Place) -> None:
    with pytest.raises(QueryError):
        cypher_guard.check_read_only(text)
    # graphqlite reads files by itself: there the guard is the only line of defence
    if "LOAD CSV" not in text:
        asyncio.run(_on_the_graph(text, place))


async def _on_the_graph(text: str, place: Place) -> None:
    """Past the guard the second line of defence holds: what is asked for does not happen."""
    from bioeval_tui.graphs.embedded import Allowance, EmbeddedFile

    graph = EmbeddedGraph(place.root / "graph" / "g.db")
    try:
        before = (await graph.snapshot()).digest
        file = EmbeddedFile(place.root / "graph" / "g.db", 1.0)
        try:
            file.read(text, None, Allowance(2.0))
        except (QueryError, PeerError):
            pass
        finally:
            file.close()
        assert (await graph.snapshot()).digest == before
    finally:
        await graph.aclose()


def setup(text: str, place: Place) -> None:
    with pytest.raises(QueryError):
        cypher_guard.check_setup(text)


def prompt(text: str, place: Place) -> None:
    try:
        found = find_prompt(text, place.job).text
    except UsageError:
        return
    assert found == "inside"


def medal(text: str, place: Place) -> None:
    pattern = text.encode().decode("unicode_escape") if text.startswith("\\x") else text
    for found in matching(place.job, pattern):
        assert found.resolve().is_relative_to(place.job.resolve())
        assert found.stat().st_size < HOLES or "*" in text


def submission(text: str, place: Place) -> None:
    from bioeval_tui.grading import Registry, grade_jsonl

    listed = place.job / "list.jsonl"
    written = text if "\\u" in text else json.dumps(text)[1:-1]
    listed.write_text(f'{{"task_id": "lab/numbers", "submission_path": "{written}"}}\n')
    try:
        report, _ = grade_jsonl(
            listed, place.job / "reports", Registry([place.root / "tasks"], place.root / "taskdata")
        )
    except InputError as refused:
        said = str(refused)
    else:
        said = report.read_text("utf-8")
        assert json.loads(said)["total_valid_submissions"] == 0
    assert not [mark for mark in (CANARY, SECRET, "root:", "daemon:") if mark in said]


def run(text: str, place: Place) -> None:
    assert not is_run_id(text)
    with pytest.raises(UsageError):
        Catalogue(place.job).find(text)


TRIED: dict[str, Callable[[str, Place], None]] = {
    one.__name__: one
    for one in (expression, template, yaml, cypher, setup, prompt, medal, submission, run)
}


@pytest.mark.parametrize("kind", TRIED)
def test_no_escape_attempt_succeeds(kind: str, place: Place) -> None:
    names = {"canary": str(place.root / "canary.csv"), "answers": str(place.answers)}
    writes = {"submission": [place.job], "cypher": [place.root / "graph"]}
    place.watch.allow(*writes.get(kind, []))
    for text in [text for its_kind, text in attempts() if its_kind == kind]:
        with place.watch.case() as noticed:
            TRIED[kind](written_out(text, names), place)
        assert noticed == [], text
        assert not place.canaries.touched(), text


def test_there_are_enough_escape_attempts() -> None:
    assert len(set(attempts())) >= 300
    assert {kind for kind, _ in attempts()} == set(TRIED)
