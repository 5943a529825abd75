"""Who takes part in a run: which agent and models the job, the options and the settings name.

`makers.py` makes them; checking a job only asks who they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from bioeval_tui import plugins
from bioeval_tui.base.settings import DEFAULT_MODEL, Settings
from bioeval_tui.base.text import clean_line
from bioeval_tui.evaluation.engine.interface import EngineSpec
from bioeval_tui.jobs.models import EvaluationJob
from bioeval_tui.peers.offline import RulesJudge
from bioeval_tui.record.model_families import family_note
from bioeval_tui.record.participants import judge_name


class Participants:
    """The agent, the simulated user and the judge of one run, by name."""

    def __init__(
        self,
        job: EvaluationJob,
        job_dir: Path | None,
        spec: EngineSpec,
        model: str | None,
        settings: Settings,
    ) -> None:
        """`model` is the agent's, None for the job's own or the usual one.

        `job_dir` is the folder of the user's own job file. A recording of somebody else has none
        here, as nothing that its job names may be read.
        """
        self.job = job if job_dir is not None else _judged_at_home(job)
        self.job_dir = job_dir
        self.spec = spec
        self.settings = settings
        named_model = model or job.target.model
        self.model = named_model or DEFAULT_MODEL
        """The model that an agent of a model's endpoint is: the usual one if none was named."""
        named = job.target.protocol
        absent = plugins.AgentProtocol(named, about="", maker="", tells={}, any_scheme=True)
        self._protocol = plugins.agent_protocol(named) or absent
        """The agent's protocol. Nothing is known of one that is not installed, as of a recorded job
        that is only judged.
        """
        self.agent_model = self.model if self.pays_agent else named_model
        """The agent's model as far as it is known, for what is printed and recorded; None if none
        was named and the agent is no model's endpoint, as only such an agent itself knows it.
        """
        url = spec.agent_url or job.target.url or settings.agent_url
        # Without the / at the end, as paths are appended.
        self.agent_url = "" if self._protocol.is_function else url.rstrip("/")

    @property
    def pays_agent(self) -> bool:
        """Whether the agent is a model's endpoint, whose tokens this program's user pays for."""
        return self._protocol.is_model

    def evaluator_models(self) -> tuple[str, ...]:
        """Return the models that play the user, one in each conversation."""
        given = self.spec.evaluator_model or self.job.evaluator.model
        return given_models(given) or (self.settings.evaluator_model,)

    def judge_models(self) -> tuple[str, ...]:
        """Return the judge's models; none for the rules judge."""
        if self.job.scorer.kind != "llm":
            return ()
        models = self.spec.judge_model or self.job.scorer.model or self.settings.judge_model
        if isinstance(models, str):
            return (models,)
        return models

    def judge_identity(self) -> str:
        """Return what the judge calls itself, without making it; empty for a plug-in's, which may
        call itself anything.
        """
        kind = self.job.scorer.kind
        if kind == "llm":
            scorer = self.job.scorer
            return judge_name(self.judge_models(), scorer.repeats, scorer.items_per_request)
        if kind == "rules":
            return RulesJudge.identity
        return ""

    def judge_family(self) -> str:
        """Return a sentence on a judge of the agent's or the simulated user's model family; empty
        if it is of another, or no model.
        """
        if self.job.scorer.kind != "llm":
            return ""
        agent = user = ""
        if not self.spec.sample_agent:
            agent = clean_line(self.agent_model or "")
        if self.job.evaluator.kind == "llm":
            user = ", ".join(map(clean_line, self.evaluator_models()))
        return family_note(self.judge_identity(), agent, user)


def given_models(given: str | Sequence[str] | None) -> tuple[str, ...]:
    """Return the models of an option or a key of the job, each once; none if it is not given."""
    if not given:
        return ()
    if isinstance(given, str):
        return (given,)
    return tuple(dict.fromkeys(given))


def _judged_at_home(job: EvaluationJob) -> EvaluationJob:
    """Return a stranger's job without its judge's address and key."""
    return job.model_copy(
        update={
            "scorer": job.scorer.model_copy(
                update={"url": None, "api_key_env": None, "api": "chat"}
            )
        }
    )
