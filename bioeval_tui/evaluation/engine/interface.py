"""The interface of the engine process: the file that specifies its runs, without credentials, and a
run as viewers see and control it.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol

from bioeval_tui.base.files import below, private_dir, write_whole
from bioeval_tui.record.run_options import RunOptions
from bioeval_tui.record.runs import new_run_ids

if TYPE_CHECKING:
    from bioeval_tui.record.condition_names import Condition
    from bioeval_tui.record.events import IntentKind, RunEvent


@dataclass(frozen=True, slots=True)
class RunSpec:
    """One run: its job file, model and id."""

    run_id: str
    job_path: str
    model: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRequest(RunOptions):
    """A request to run each job with each model; without models, with the job's own."""

    jobs: tuple[Path, ...]
    models: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class EngineSpec(RunOptions):
    """One batch, for an engine."""

    runs: tuple[RunSpec, ...]
    batch_id: str | None = None
    resume: bool = False
    """Resume existing runs; `force` resumes even if their job has changed, and `trials` may be
    larger.
    """
    force: bool = False
    further: tuple[int, ...] = ()
    """The case of each trial that `--rerun` adds, as its index among the run's cases."""
    plays: bool = False
    """Whether a person can type on a screen, as `evaluator.kind: human` requires."""

    def write(self, path: Path) -> None:
        """Write the file, readable only by its owner. Raises `StorageError`."""
        write_whole(
            below(private_dir(path.parent), path.name), json.dumps(asdict(self)), mode=0o600
        )

    @classmethod
    def read(cls, path: Path) -> EngineSpec:
        """Read what `write` wrote."""
        data: dict[str, Any] = json.loads(path.read_text("utf-8"))
        runs = tuple(RunSpec(**run) for run in data.pop("runs"))
        lists = {name: tuple(value) for name, value in data.items() if isinstance(value, list)}
        return cls(runs=runs, **{**data, **lists})

    def only(self, run_id: str) -> EngineSpec:
        """Return the same batch with one of its runs."""
        return replace(self, runs=tuple(run for run in self.runs if run.run_id == run_id))

    def at_once(self, conditions: int) -> int:
        """Return the maximum number of concurrent conversations of a job with so many
        conditions.
        """
        if self.parallel:
            return self.concurrency or conditions
        return self.concurrency or 1


def spec_of(request: RunRequest, runs_dir: Path) -> EngineSpec:
    """Return the batch that a request asks for: a run of its own, with a new id, for each job and
    model.
    """
    wanted = list(product(map(str, request.jobs), request.models or (None,)))
    ids = new_run_ids(len(wanted), runs_dir)
    return EngineSpec(
        runs=tuple(RunSpec(run_id, *what) for run_id, what in zip(ids, wanted, strict=True)),
        batch_id=ids[0] if len(ids) > 1 else None,
        **request.values(),
    )


@dataclass(frozen=True, slots=True)
class Intent:
    """A viewer's request to the engine. Without `condition`, it concerns the whole run."""

    kind: IntentKind
    condition: Condition | None = None
    text: str = ""


class RunView(Protocol):
    """A view of one run: live, attached from another terminal, or replayed.

    Screens treat all alike.
    """

    run_id: str
    mode: Literal["live", "replay"]
    batch_id: str | None
    """The batch that this screen started, whose other runs are shown, too."""
    late_s: float
    """The age of a live run's newest event when the run was opened, in seconds."""

    def events(self) -> AsyncIterator[Sequence[RunEvent]]:
        """Yield batches of events, at most one per frame, until the run has ended (or its engine
        has died: then a `Warned`).
        """
        ...

    async def send(self, intent: Intent) -> str | None:
        """Send an intent; return None if it was accepted, otherwise one sentence that says why
        not.
        """
        ...

    async def aclose(self) -> None:
        """Detach. The run continues; use the intent `cancel` to end it."""
        ...


Opener = Callable[[], Awaitable[RunView]]
"""Opens a run: a new one, one in progress elsewhere, or a recording."""


class Resolved(NamedTuple):
    """One line: `agent`, `127.0.0.1:8081 · rest`, and that it is `from my-agent.yml`."""

    label: str
    what: str
    source: str = ""
    model: str = ""
    """The model that plays the user or judges, if one does."""
