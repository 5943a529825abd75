"""What an engine process is told to do: a small file, without a credential in it."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from bioeval_tui.evaluate.seams import Condition

Order = Literal["withheld-first", "supplied-first", "random"]


@dataclass(frozen=True, slots=True)
class RunSpec:
    """One run: which job file, against which model, under which id."""

    run_id: str
    job_path: str
    model: str | None = None


@dataclass(frozen=True, slots=True)
class EngineSpec:
    """One batch. `sample_agent` lets the engine start and stop the sample agent itself."""

    runs: tuple[RunSpec, ...]
    agent_url: str | None = None
    submissions: tuple[str, ...] = ()
    """Folders outside the job's own in which medal assertions may look for an agent's files."""
    sample_agent: bool = False
    mode: Literal["job", "rehearsal", "llm"] = "job"
    """Who plays the user and judges: what the job says, the offline stand-ins, or models."""
    evaluator_model: str | None = None
    judge_model: str | tuple[str, ...] | None = None
    order: Order | None = None
    conditions: tuple[Condition, ...] = ("withheld", "supplied")
    """What each trial holds: both, or only one."""
    parallel: bool = False
    concurrency: int | None = None
    """Most conversations at once; None is one, or the conditions of one trial where `parallel`."""
    requests_per_minute: float | None = None
    max_calls: int | None = None
    max_cost: float | None = None
    resume: bool = False
    """The runs exist and go on; `force` goes on although their job has changed, `trials` may be more."""
    force: bool = False
    trials: int = 1
    seed: int | None = None
    batch_id: str | None = None
    graph: str = "auto"
    """auto, embedded, neo4j, none, or the name of a plug-in."""
    keep_prompts: bool = True
    plays: bool = False
    """Somebody can type: a screen follows the run. `evaluator.kind: human` needs it."""
    typing_delay_s: float = 0.0
    """Pause of a scripted evaluator after each few words, so that a viewer can read along."""

    def write(self, path: Path) -> None:
        """Write the file for its owner alone."""
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            json.dump(asdict(self), file)

    @classmethod
    def read(cls, path: Path) -> EngineSpec:
        """Read what `write` wrote."""
        data: dict[str, Any] = json.loads(path.read_text("utf-8"))
        runs = tuple(RunSpec(**run) for run in data.pop("runs"))
        for name in ("judge_model", "conditions", "submissions"):
            if isinstance(data.get(name), list):
                data[name] = tuple(data[name])
        return cls(runs=runs, **data)

    def only(self, run_id: str) -> EngineSpec:
        """Return the same batch with one of its runs."""
        return replace(self, runs=tuple(run for run in self.runs if run.run_id == run_id))

    @property
    def at_once(self) -> int:
        """How many conversations may go on at the same time."""
        return self.concurrency or (len(self.conditions) if self.parallel else 1)

    @property
    def conversations(self) -> int:
        """How many conversations the batch holds in all."""
        return len(self.runs) * self.trials * len(self.conditions)
