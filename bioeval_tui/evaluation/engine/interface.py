"""The interface of the engine process: the file that specifies its runs, without credentials, and a run as viewers see and control it."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol

from bioeval_tui.files import below, private_dir, write_whole
from bioeval_tui.record.names import CONDITIONS, Condition
from bioeval_tui.record.runs import new_run_ids

if TYPE_CHECKING:
    from bioeval_tui.record.events import RunEvent
    from bioeval_tui.record.names import Condition


Order = Literal["withheld-first", "supplied-first", "random"]
OTLP_PORT = 4318
"""Where exporters of OTLP over HTTP send spans by default."""


@dataclass(frozen=True, slots=True)
class RunSpec:
    """One run: its job file, model and id."""

    run_id: str
    job_path: str
    model: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """The options of a run, shared by the command line, the run dialog and `runs resume`.

    None means the value of the job or of the environment.
    """

    agent_url: str | None = None
    agent_url_is_given: bool = False
    """Whether the user passed the agent's URL, so that it does not come from a job or recording."""
    allow_hosts: tuple[str, ...] = ()
    """Hosts from `--allow-host`, to which a job's keys and transcripts may be sent."""
    submissions: tuple[str, ...] = ()
    """Folders outside the job's own in which medal assertions may look for an agent's files."""
    leaderboard: str | None = None
    """The leaderboard of medal assertions: `own`, `published` or a file."""
    code: tuple[str, ...] = ()
    """Folders from which the job's functions may be loaded; only the command line can set them."""
    agent_function: Callable[..., Any] | None = None
    """The agent that a Python program passed, in place of the job's own; it is never written to a file."""
    sample_agent: bool = False
    """Start the sample agent for these runs, and stop it at their end."""
    local_model: bool = False
    """Start a small language model as the agent for these runs, and stop it at their end."""
    mode: Literal["job", "rehearsal", "llm"] = "job"
    """The evaluator and judge: the job's own, the script and rules, or models."""
    evaluator_model: str | None = None
    judge_model: str | tuple[str, ...] | None = None
    """The judge's model; several are a panel."""
    order: Order | None = None
    conditions: tuple[Condition, ...] = CONDITIONS
    """Which conditions each trial runs: both, or only one."""
    parallel: bool = False
    concurrency: int | None = None
    """Maximum number of concurrent conversations; None is one, or both conditions of a trial if `parallel`."""
    requests_per_minute: float | None = None
    max_calls: int | None = None
    max_cost: float | None = None
    trials: int = 1
    until: str | None = None
    """What to decide: `difference` (of two models), or a threshold such as `supplied:0.8`. `trials` is then the maximum."""
    seed: int | None = None
    cases_file: str | None = None
    """A table of cases, instead of the job's own."""
    cases: str | None = None
    """Which cases, by row and id, and how many to draw: `1-20,case_7,sample:5`."""
    sample: int | None = None
    """The size of a random sample of cases, drawn with the seed."""
    graph: str = "auto"
    """auto, embedded, neo4j, none, or the name of a plug-in."""
    unrestricted_setups: bool = False
    """Whether setups are passed to Neo4j unchanged, with schema changes, procedures and files; only the command line can set it."""
    otlp: int | None = None
    """The port of 127.0.0.1 on which the agent's spans are received; None for the job's `telemetry`, if any."""
    keep_prompts: bool = True
    typing_delay_s: float = 0.0
    """Pause of a scripted evaluator after every few words, in seconds, so that a viewer can read along."""

    @property
    def starts_agent(self) -> bool:
        """Whether the run itself starts its agent, so that there is no URL, key or other host."""
        return self.sample_agent or self.local_model

    def recorded(self) -> dict[str, Any]:
        """Return the options stored in a recording; `options_of` reads them back."""
        return {name: getattr(self, name) for name in RECORDED}


RECORDED = (
    "agent_url", "sample_agent", "local_model", "evaluator_model", "judge_model", "order", "parallel", "concurrency",
    "requests_per_minute", "graph", "keep_prompts", "submissions",
    "leaderboard", "otlp",
)  # fmt: skip


def options_of(recorded: Mapping[str, Any]) -> RunOptions:
    """Return a run's options from its recording; unknown ones have their defaults."""
    known = {name: recorded[name] for name in RECORDED if recorded.get(name) is not None}
    known |= {name: tuple(value) for name, value in known.items() if isinstance(value, list)}
    return RunOptions(**known)


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
    """Resume existing runs; `force` resumes even if their job has changed, and `trials` may be larger."""
    force: bool = False
    further: tuple[int, ...] = ()
    """The case of each trial that `--rerun` adds, as its index among the run's cases."""
    plays: bool = False
    """Whether a person can type on a screen, as `evaluator.kind: human` requires."""

    def write(self, path: Path) -> None:
        """Write the file, readable only by its owner. Raises `StorageError`."""
        write_whole(below(private_dir(path.parent), path.name), json.dumps(asdict(self)), mode=0o600)

    @classmethod
    def read(cls, path: Path) -> EngineSpec:
        """Read what `write` wrote."""
        data: dict[str, Any] = json.loads(path.read_text("utf-8"))
        runs = tuple(RunSpec(**run) for run in data.pop("runs"))
        for name in ("judge_model", "conditions", "allow_hosts", "submissions", "code", "further"):
            if isinstance(data.get(name), list):
                data[name] = tuple(data[name])
        return cls(runs=runs, **data)

    def only(self, run_id: str) -> EngineSpec:
        """Return the same batch with one of its runs."""
        return replace(self, runs=tuple(run for run in self.runs if run.run_id == run_id))

    @property
    def at_once(self) -> int:
        """The maximum number of concurrent conversations."""
        return self.concurrency or (len(self.conditions) if self.parallel else 1)

    @property
    def conversations(self) -> int:
        """The number of conversations in the batch."""
        return len(self.runs) * self.trials * len(self.conditions)


def spec_of(request: RunRequest, runs_dir: Path) -> EngineSpec:
    """Return the batch that a request asks for: a run of its own, with a new id, for each job and model."""
    wanted = [(str(job), model) for job in request.jobs for model in request.models or (None,)]
    ids = new_run_ids(len(wanted), runs_dir)
    options = {field.name: getattr(request, field.name) for field in fields(RunOptions)}
    return EngineSpec(
        runs=tuple(RunSpec(run_id, *what) for run_id, what in zip(ids, wanted, strict=True)),
        batch_id=ids[0] if len(ids) > 1 else None,
        **options,
    )


IntentKind = Literal["pause", "resume", "step", "take_over", "say", "give_back", "cancel"]


@dataclass(frozen=True, slots=True)
class Intent:
    """A viewer's request to the engine. Without `condition`, it concerns the whole run."""

    kind: IntentKind
    condition: Condition | None = None
    text: str = ""


class RunView(Protocol):
    """A view of one run: live, attached from another terminal, or replayed. Screens treat all alike."""

    run_id: str
    mode: Literal["live", "replay"]
    batch_id: str | None
    """The batch that this screen started, whose other runs are shown, too."""
    late_s: float
    """The age of a live run's newest event when the run was opened, in seconds."""

    def events(self) -> AsyncIterator[Sequence[RunEvent]]:
        """Yield batches of events, at most one per frame, until the run has ended (or its engine has died: then a `Warned`)."""
        ...

    async def send(self, intent: Intent) -> str | None:
        """Send an intent; return None if it was accepted, otherwise one sentence that says why not."""
        ...

    async def aclose(self) -> None:
        """Detach. The run continues; use the intent `cancel` to end it."""
        ...


Opener = Callable[[], Awaitable[RunView]]
"""Opens a run: a new one, one in progress elsewhere, or a recording."""
