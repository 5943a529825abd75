"""Submissions: CSV and h5ad files, graded and validated as in a worker."""

from __future__ import annotations

import gzip
import io
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml
from hypothesis import strategies as st

from tests.fuzz.kinds.base import Kind
from tests.fuzz.kinds.h5ad_files import CELLS, GENES, MADE, TRUTH, made, plain
from tests.fuzz.mutate import bytes_of, tokens_of
from tests.fuzz.watch import Canaries, Watch

ROWS, MEGABYTE = 40, 1_000_000


def add_task(folder: Path, name: str, grader: dict[str, Any], suffix: str, answers: bytes) -> str:
    """Write a task with its answers; return its id."""
    task_id = f"lab/{name}"
    task, data = folder / "tasks" / task_id, folder / "taskdata" / task_id / "prepared"
    for made_folder in (task, data / "private", data / "public"):
        made_folder.mkdir(parents=True)
    paths = dict.fromkeys(
        ("answers", "sample_submission"), f"{task_id}/prepared/private/answers{suffix}"
    )
    config = {
        "id": task_id,
        "name": name,
        "description": "description.md",
        "dataset": paths,
        "grader": grader,
    }
    (task / "config.yaml").write_text(yaml.safe_dump(config))
    (task / "leaderboard.csv").write_text(
        "teamName,score,submissionDate\n" + "".join(f"t{n},0.{n},2025-01-01\n" for n in range(9))
    )
    (data / "private" / f"answers{suffix}").write_bytes(answers)
    return task_id


class Submissions(Kind):
    """One file, given to every task that takes its kind."""

    suffix = ".csv"

    def __init__(self, folder: Path, watch: Watch) -> None:
        super().__init__(folder, watch)
        from bioeval_tui.grading import Registry

        self.path = folder / f"submission{self.suffix}"
        self.canary = folder.parent / f"{folder.name}-canary{self.suffix}"
        ids = self.add_tasks()
        registry = Registry([folder / "tasks"], folder / "taskdata")
        self.tasks = [registry.get_task(task_id) for task_id in ids]

    def add_tasks(self) -> list[str]:
        raise NotImplementedError

    def prepare(self, case: bytes) -> None:
        self.path.write_bytes(case)

    def close(self) -> None:
        """Nothing was started."""

    def run(self, case: bytes) -> str:
        from bioeval_tui.grade.grade import grading_of
        from bioeval_tui.grade.outcome_json import outcome_to_dict, to_text
        from bioeval_tui.grading import Invalid, NotGraded

        outcomes = set()
        # what is long is read before it is scored
        for task in self.tasks if len(case) < MEGABYTE else self.tasks[:1]:
            grading = grading_of(task)
            self.watch.next_look()
            outcome = grading.grade(self.path)
            to_text(outcome_to_dict(outcome))
            assert not isinstance(outcome, NotGraded), (
                f"not graded by {task.name}: {outcome.reason}"
            )
            self.watch.next_look()
            found = grading.examine(self.path)
            if isinstance(outcome, Invalid):
                assert "\x1b" not in outcome.reason
                assert found or "score" in outcome.reason, (
                    f"invalid, but nothing found: {outcome.reason}"
                )
            outcomes.add("invalid" if isinstance(outcome, Invalid) else "graded")
        return "graded" if "graded" in outcomes else "invalid"


class CsvSubmissions(Submissions):
    """CSV: numbers, probabilities, labels."""

    def add_tasks(self) -> list[str]:
        numbers = "id,y\n" + "".join(f"{n},{n / 7}\n" for n in range(ROWS))
        flags = "id,y\n" + "".join(f"p{n},{n % 2}\n" for n in range(ROWS))
        labels = "id,y\n" + "".join(f"c{n},{'ABC'[n % 3]}\n" for n in range(ROWS))
        self.files = [text.encode() for text in (numbers, flags, labels)]
        metrics = ("mean_absolute_error", "roc_auc", "accuracy")
        graders = [
            {"name": metric, "metric": metric, "id": "id", "target": "y"} for metric in metrics
        ]
        return [
            add_task(self.folder, metric, grader, ".csv", data)
            for metric, grader, data in zip(metrics, graders, self.files, strict=True)
        ]

    def cases(self) -> st.SearchStrategy[bytes]:
        tokens = tokens_of(
            ",", ",,,,,,,,", '"', '""', "\t", ";", "id", "y", "id,y\n", "inf", "-inf", "NaN",
            "1e400", "1e-400", "0.1e99942857142857", "1E+3000000000", "1e4294967299", "0x1F",
            "1_000", "True", "#", "\\",
            "2026-01-01", "1,5", "+1", " 1 ", "１２", "null", "<NA>", "Unnamed: 0",
            "18446744073709551616", "\x1a", "a\nb", "\r", "\u2028", "c1", "p1",
        )  # fmt: skip
        packed = [
            gzip.compress(self.files[0]),
            _zipped(self.files[0]),
            _zipped(_zipped(b"id,y\n")),
            self.files[0].decode().encode("utf-32"),
        ]
        return bytes_of(self.files, tokens) | bytes_of([*self.files, *packed], tokens)

    def always(self) -> Sequence[bytes]:
        wide = b",".join(b"c%d" % n for n in range(10**6))
        return [
            *self.files, wide + b"\n", wide + b"\n" + b"1," * 10**6 + b"1\n", b"," * 10**6,
            b"id,y\n" + b"," * 10**6,
            (b"," * 10_000 + b"\n") * 100, b"id,y\n" + b"1,1\n" * 10**6, b"\n" * 10**6,
            b'"' * 10**6, b'id,y\n"' + b"x" * 10**7,
            b"id,y\n" + b"9" * 10**6, b"id," * 10_000 + b"y\n" + b"1," * 10_000 + b"1\n", b"",
            b"id,y", b"\x00" * 10**7, b"id,y\n" + b"0,1e5\n" * 10**5,
            gzip.compress(b"\x00" * 10**8), _zipped(b"\x00" * 10**8),
            _zipped(_zipped(_zipped(b"id,y\n" * 10**6))),
        ]  # fmt: skip


def _zipped(data: bytes) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("submission.csv", data)
    return packed.getvalue()


class H5adSubmissions(Submissions):
    """h5ad: every place a task may look at, dense and sparse, made wrong, and with its bytes
    changed.
    """

    suffix = ".h5ad"

    def __init__(self, folder: Path, watch: Watch) -> None:
        super().__init__(folder, watch)
        from bioeval_tui.grade.batch.containment import own_process

        own_process()  # as a worker does: what reading may take is bounded
        plain(self.canary, TRUTH)
        self.canaries = Canaries(self.canary)
        scratch = folder / "scratch.h5ad"
        self.built = {name: made(name, scratch, self.canary) for name in MADE}
        plain(scratch, TRUTH, packed=True)
        self.files = [
            scratch.read_bytes(),
            *(self.built[name] for name in ("plain", "sparse", "categories", "chunked")),
        ]
        assert self.canaries.touched() in (True, False)  # making the files may have looked at it

    def add_tasks(self) -> list[str]:
        scratch = self.folder / "answers.h5ad"
        plain(scratch, TRUTH)
        dense = scratch.read_bytes()
        plain(scratch, TRUTH, sparse=True)
        thin = scratch.read_bytes()
        places = {
            "X": ("rmse", dense),
            "layers": ("mse", thin),
            "obsm": ("rmse", dense),
            "obs": ("accuracy", dense),
        }
        keys = {"X": "X", "layers": "prediction", "obsm": "embedding", "obs": "kind"}
        return [
            add_task(
                self.folder,
                f"in-{kind}",
                {"name": kind, "metric": metric, "h5ad": {kind: keys[kind]}},
                ".h5ad",
                data,
            )
            for kind, (metric, data) in places.items()
        ]

    def cases(self) -> st.SearchStrategy[bytes]:
        tokens = tokens_of(
            "OHDR",
            "TREE",
            "HEAP",
            "SNOD",
            "FRHP",
            "\x89HDF\r\n\x1a\n",
            "\xff\xff\xff\xff",
            "\x00\x00\x00\x00",
            "_index",
            "X",
            "obs",
        )
        few = st.lists(
            st.tuples(st.integers(0, 10**6), st.integers(0, 255)), min_size=1, max_size=8
        )
        return bytes_of(self.files, tokens) | st.builds(
            _overwritten, st.sampled_from(list(self.built.values())), few
        )

    def always(self) -> Sequence[bytes]:
        return list(self.built.values())

    def run(self, case: bytes) -> str:
        outcome = super().run(case)
        assert not self.canaries.touched(), "another file was opened"
        return outcome

    def close(self) -> None:
        self.canaries.close()


def _overwritten(data: bytes, places: list[tuple[int, int]]) -> bytes:
    """Change a few bytes where they stand: the file's structure stays, its numbers do not."""
    changed = bytearray(data)
    for at, value in places:
        changed[at % len(changed)] = value
    return bytes(changed)


assert len(CELLS) * len(GENES) == TRUTH.size
