"""Job files and recordings."""

from __future__ import annotations

import asyncio
import io
import json
import re
import shutil
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import yaml
from hypothesis import strategies as st
from rich.console import Console

from bioeval_tui.base.errors import BioevalError, UsageError
from bioeval_tui.base.text import clean
from tests.documents import document_of, pair_comparison
from tests.fuzz.kinds.base import ROOT, Kind
from tests.fuzz.mutate import bytes_of, to_json, tokens_of, trees_of
from tests.fuzz.watch import Watch


def _to_yaml(value: Any) -> bytes:
    as_json = to_json(value)
    if len(as_json) > 200_000:  # JSON is YAML, and the YAML writer needs minutes for what is large
        return as_json[:3_000_000]
    try:
        return yaml.safe_dump(value, allow_unicode=True).encode("utf-8", "surrogatepass")
    except (yaml.YAMLError, RecursionError, ValueError):
        return as_json


class _Files(Kind):
    def close(self) -> None:
        """Nothing was started."""


class Jobs(_Files):
    """A job file is checked and, where nothing is wrong with it, its prompts are written and its
    assertions asked.
    """

    def __init__(self, folder: Path, watch: Watch) -> None:
        super().__init__(folder, watch)
        self.path = folder / "job.yml"
        self.files = [path.read_bytes() for path in sorted((ROOT / "sample_jobs").glob("*.yml"))]

    def cases(self) -> st.SearchStrategy[bytes]:
        tokens = tokens_of(
            "!!python/object/apply:os.system [id]", "&a [*a]", "*a", "<<: *a", "? [", "- - - -",
            "!!binary aGk=", "|\n", ">-\n",
            "%YAML 9.9\n", "---\n", "...\n", "{a: b", "\t", "!!set {a}", "2026-02-30", "0o17",
            "1_000", "~", "!!timestamp 1-1-1",
            "!!float .nan", "!!int 1:2:3:4", "{{", "#", "'", '"\\x', '"\\ud800"', "<<", "=",
        )  # fmt: skip
        trees = [yaml.safe_load(data) for data in self.files]
        return bytes_of(self.files, tokens) | trees_of(trees, _to_yaml)

    def always(self) -> Sequence[bytes]:
        laughs = b"a: &a [x, x, x, x, x, x, x, x, x]\n" + b"".join(
            b"%c: &%c [%s]\n" % (n, n, b", ".join([b"*%c" % (n - 1)] * 9))
            for n in range(ord("b"), ord("m"))
        )
        return [
            *self.files, laughs, b"- " * 20_000, b"{" * 50_000, b"[" * 50_000, b"a: &a {b: *a}\n",
            b"? " * 5_000,
            b"tasks:\n" + b"- {}\n" * 99_000, b"x" * 5_000_001, b"\xff\xfe",
            b"a: !!python/name:os.system x\n",
            b"&a " * 5000, b"!!int " + b"9" * 5_000, b"a: " + b"9" * 5_000, b"? |\n a\n: b\n",
            b"<<: {a: 1}\n",
        ]  # fmt: skip

    def prepare(self, case: bytes) -> None:
        self.path.write_bytes(case)

    def run(self, case: bytes) -> str:
        from bioeval_tui.base.credentials import strip_credentials
        from bioeval_tui.base.hosts import host_of
        from bioeval_tui.evaluation.assertions import holds_on_nothing
        from bioeval_tui.evaluation.wiring.check_job import check_job
        from bioeval_tui.jobs.loading import job_from_data, job_snapshot
        from bioeval_tui.peers.models.prompting import find_prompt
        from bioeval_tui.protocols import EvaluatorView, JudgeView, TranscriptMessage
        from tests.rendered import evaluator_prompt, judge_prompt

        checked = check_job(self.path)
        for problem in checked.problems:
            assert clean(str(problem)) == str(problem), "an uncleaned message"
        if checked.loaded is None or checked.errors:
            return "refused"
        job = checked.loaded.job
        assert job_from_data(json.loads(json.dumps(job_snapshot(job)))) == job
        for assertion in job.assertions:
            holds_on_nothing(assertion)
        transcript = [TranscriptMessage(1, "user", "hello")]
        try:
            evaluator = find_prompt(job.evaluator.prompt, self.folder)
            evaluator_prompt(
                evaluator, EvaluatorView(job, "supplied", 1, tuple(job.facts), transcript)
            )
            judge_prompt(
                find_prompt(job.scorer.prompt, self.folder), JudgeView(job, "supplied", transcript)
            )
            for url in filter(None, [job.target.url, job.target.knowledge_url]):
                host_of(url)
                strip_credentials(url)
        except UsageError:
            return "prompt refused"
        return "fine"


REPORTS = 8


class Recordings(_Files):
    """A recording is listed, folded, reported in every format, played, imported."""

    ID = "20260102-030405-abcd"

    def __init__(self, folder: Path, watch: Watch) -> None:
        super().__init__(folder, watch)
        self.runs = folder / "runs"
        self.runs.mkdir()
        self.path = self.runs / f"{self.ID}.jsonl"
        demo = (ROOT / "tests/golden/demo-run.jsonl").read_bytes().split(b"\n")[:-1]
        old = (ROOT / "tests/golden/recordings/version-1.jsonl").read_bytes()
        # Every kind of event, and few of each: a case is read in milliseconds.
        kinds: dict[str, int] = {}
        kept = []
        for line in demo:
            kind = json.loads(line)["kind"]
            kinds[kind] = kinds.get(kind, 0) + 1
            if kinds[kind] <= 4 or kind in (
                "conversation_scored",
                "conversation_ended",
                "run_ended",
            ):
                kept.append(line)
        self.files = [b"\n".join([*kept, b""]), old]

    def cases(self) -> st.SearchStrategy[bytes]:
        tokens = tokens_of(
            '{"kind":"run_started"}\n',
            "}\n{",
            '"seq":',
            "\n\n",
            '{"kind":"x"}\n',
            "NaN",
            "Infinity",
            "1e999",
        )
        trees = [[json.loads(line) for line in data.split(b"\n") if line] for data in self.files]
        lines = trees_of(trees, lambda events: b"".join(to_json(event) + b"\n" for event in events))
        return bytes_of(self.files, tokens) | lines | lines

    def always(self) -> Sequence[bytes]:
        numbers = re.compile(rb"(?<=[:\[,])\d+\.\d+(?=[,}\]])")
        whole = [
            numbers.sub(number, self.files[0])
            for number in (b"1e308", b"-1e14", b"1e999", b"NaN", b"9" * 400)
        ]
        lines = self.files[0].splitlines(keepends=True)
        whole += [b"".join(lines[:most]) for most in (1, 2, 4)]  # ended as it began
        return [*self.files, *(data + b"\n" * end for data in whole for end in self._endings(data)),
                b"", b"\n" * 10_000, b"[" * 100_000 + b"\n", b'{"kind":"run_started"}\n' * 5_000,
                b"\x00" * 100_000,
                b"x" * 17_000_000]  # fmt: skip

    def _endings(self, data: bytes) -> list[int]:
        """Return with how many empty lines at its end a case meets each report."""
        meets = {zlib.crc32(data + b"\n" * end) % REPORTS: end for end in range(20 * REPORTS)}
        assert len(meets) == REPORTS
        return list(meets.values())

    def prepare(self, case: bytes) -> None:
        for path in self.runs.iterdir():
            path.unlink()
        shutil.rmtree(self.folder / "imported", ignore_errors=True)
        self.path.write_bytes(case)

    def run(self, case: bytes) -> str:
        try:
            return self._read(case)
        except BioevalError as error:
            return type(error).__name__

    def _read(self, case: bytes) -> str:
        from bioeval_tui.record.catalogue import Catalogue
        from bioeval_tui.record.importing.into_runs import import_recording
        from bioeval_tui.record.replay import Player
        from bioeval_tui.report.comparison import compare
        from bioeval_tui.report.document import run_document
        from bioeval_tui.report.formats.console import print_score_card
        from bioeval_tui.report.result import load_run
        from tests.command import call

        as_json([run.to_dict() for run in Catalogue(self.runs).runs()])
        loaded = load_run(self.path)
        as_json(run_document(loaded))
        reports: list[Callable[[], object]] = [
            lambda: document_of("html", loaded),
            lambda: (
                document_of("md", loaded),
                document_of("csv", loaded),
                document_of("openai-jsonl", loaded),
            ),
            lambda: (
                document_of("json", loaded),
                document_of("junit", loaded),
                document_of("inspect", loaded),
            ),
            lambda: as_json(pair_comparison(compare(loaded, loaded))),
            lambda: print_score_card(loaded, Console(file=io.StringIO(), width=100)),
            lambda: call("runs", "explain", self.path, "--target", 0.8, catch_exceptions=False),
            lambda: asyncio.run(_played(Player, self.path)),
            lambda: import_recording(self.path, self.folder / "imported"),
        ]
        assert len(reports) == REPORTS
        reports[zlib.crc32(case) % REPORTS]()  # one a case: all of them would take 0.2 s
        return "damaged" if loaded.problems else "read"


def as_json(value: object) -> None:
    """See that it can be written as JSON, which knows no infinity."""
    json.dumps(value, allow_nan=False)


async def _played(player: Any, path: Path) -> int:
    from bioeval_tui.record.reading import read_recording

    return sum([len(batch) async for batch in player(read_recording(path).events, None).play()])
