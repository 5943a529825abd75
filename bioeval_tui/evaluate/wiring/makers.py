"""Makes the agent, evaluator and judge that a job names. The only place that imports concrete ones."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict

from bioeval_tui import plugins
from bioeval_tui.errors import UsageError
from bioeval_tui.evaluate.assertions.checker import Checker, GradeMedal, holds_on_nothing
from bioeval_tui.evaluate.conversation.control import Control
from bioeval_tui.evaluate.conversation.plan import Guard, Parts
from bioeval_tui.evaluate.engine.budget import Rates
from bioeval_tui.evaluate.engine.spec import EngineSpec
from bioeval_tui.evaluate.job.models import EvaluationJob, TextSeed
from bioeval_tui.evaluate.job.withholding import for_evaluator
from bioeval_tui.evaluate.prices import FILE_NAME, Price, Prices, load_prices
from bioeval_tui.evaluate.seams import Agent, Condition, Evaluator, Judge, KnowledgeGraph
from bioeval_tui.evaluate.wiring.hosts import host_of
from bioeval_tui.settings import DEFAULT_MODEL, Settings, env_file_hint
from bioeval_tui.text import clean_line

if TYPE_CHECKING:
    from bioeval_tui.evaluate.http.exchange import Timeouts
    from bioeval_tui.evaluate.models.model import ChatModel

OPENAI_URL = "https://api.openai.com"


class _Endpoint(TypedDict):
    api_key: str
    base_url: str | None
    timeouts: Timeouts


class Makers:
    """Makes what each conversation of one run needs."""

    def __init__(
        self,
        job: EvaluationJob,
        job_dir: Path | None,
        spec: EngineSpec,
        model: str | None,
        settings: Settings,
    ) -> None:
        """`model` is the agent's, None for the job's own or the usual one.

        Without `job_dir` there are the program's own prompts alone, and no submissions.
        """
        self.job = job
        self.job_dir = job_dir
        self.spec = spec
        self.settings = settings
        self.model = model or job.target.model or DEFAULT_MODEL
        self.agent_url = (spec.agent_url or job.target.url or settings.agent_url).rstrip("/")
        self.control: Control | None = None
        self._evaluator_chat: ChatModel | None = None

    async def aclose(self) -> None:
        """Close what the run's conversations shared."""
        if self._evaluator_chat is not None:
            await self._evaluator_chat.aclose()

    def parts(self, judge: Judge, graph: KnowledgeGraph | None, why_not: str) -> Parts:
        """Return what the run is given."""
        from bioeval_tui.evaluate import guards

        return Parts(
            open_agent=self.agent,
            open_evaluator=self.evaluator,
            judge=judge,
            check=Checker(graph, why_not, self.grade_medal()),
            graph=graph,
            no_graph=why_not,
            guard=self._guard(),
            find_facts=guards.disclosed,
            asked_for=guards.asked,
            holds_on_nothing=holds_on_nothing,
        )

    def _guard(self) -> Guard | None:
        """Return the check of what a model says as the user; None where a person, a script or a plug-in plays."""
        from bioeval_tui.evaluate import guards
        from bioeval_tui.evaluate.models.prompting import find_prompt

        evaluator = self.job.evaluator
        if evaluator.kind != "llm" or evaluator.guards == "off":
            return None
        return partial(guards.check, prompt=find_prompt(evaluator.prompt, self.job_dir))

    def agent(self, condition: Condition, trial: int) -> Agent:
        """Return a new agent of the job's protocol."""
        target, settings = self.job.target, self.settings
        if target.protocol == "openai":
            from bioeval_tui.evaluate.agents.openai_chat import OpenAIChatAgent

            return OpenAIChatAgent.from_settings(settings, target, self.model, self.agent_url)
        if target.protocol != "rest":
            return plugins.make_agent(target.protocol, target=target, url=self.agent_url, model=self.model)
        from bioeval_tui.evaluate.agents.rest import RestAgent, Timeouts

        whole = target.timeout_ms / 1000 if target.timeout_ms else None
        return RestAgent(
            base_url=self.agent_url,
            api_key=settings.agent_api_key.get_secret_value() if settings.agent_api_key else None,
            user=target.user,
            chatbot=target.chatbot,
            model=self.model,
            knowledge_url=self.knowledge_url(),
            timeouts=Timeouts(whole=whole) if whole else Timeouts(),
        )

    def evaluator(self, condition: Condition, trial: int) -> Evaluator:
        """Return a new evaluator: a script, a person or a model."""
        job = self.job
        if job.evaluator.kind == "scripted":
            from bioeval_tui.evaluate.evaluators.scripted import ScriptedEvaluator

            return ScriptedEvaluator(job, typing_delay_s=self.spec.typing_delay_s)
        if job.evaluator.kind == "human":
            from bioeval_tui.evaluate.evaluators.human import HumanEvaluator, TypedLines

            lines = TypedLines()
            if self.control is not None:
                self.control.of(condition).person = lines.say
            return HumanEvaluator(job, lines)
        if job.evaluator.kind != "llm":
            make_evaluator: plugins.MakeEvaluator = plugins.load("evaluators", job.evaluator.kind)
            return make_evaluator(for_evaluator(job, job.facts if condition == "supplied" else ()))
        from bioeval_tui.evaluate.evaluators.llm import LLMEvaluator
        from bioeval_tui.evaluate.models.model import ChatModel

        # One for all conversations of the run: its connections, and what it learnt of the options that a server refuses.
        self._evaluator_chat = self._evaluator_chat or ChatModel("evaluator", **self._openai())
        return LLMEvaluator(
            job, model=self.evaluator_model(), job_dir=self.job_dir, chat=self._evaluator_chat
        )

    def evaluator_model(self) -> str:
        """Return the model that plays the user where a model does."""
        return self.spec.evaluator_model or self.job.evaluator.model or self.settings.evaluator_model

    def judge_models(self) -> tuple[str, ...]:
        """Return the models that judge; none where rules do."""
        if self.job.scorer.kind != "llm":
            return ()
        models = self.spec.judge_model or self.job.scorer.model or self.settings.judge_model
        return (models,) if isinstance(models, str) else models

    def judge(self) -> Judge:
        """Return the judge, which all conversations of a run share."""
        job = self.job
        if job.scorer.kind == "rules":
            from bioeval_tui.evaluate.judges.rules import RulesJudge

            return RulesJudge()
        if job.scorer.kind != "llm":
            make_judge: plugins.MakeJudge = plugins.load("judges", job.scorer.kind)
            return make_judge(job)
        from bioeval_tui.evaluate.judges.llm import JudgeRetries, LLMJudge

        return LLMJudge(
            models=self.judge_models(),
            job_dir=self.job_dir,
            repeats=job.scorer.repeats,
            retries=JudgeRetries(longest_wait_s=self.settings.longest_wait_s),
            **self._openai(),
        )

    def grade_medal(self) -> GradeMedal:
        """Return what grades a file for a medal assertion."""
        from bioeval_tui.evaluate.assertions.medal import medal_grader

        return medal_grader(self.settings, self.job_dir, tuple(map(Path, self.spec.submissions)))

    def hosts(self) -> tuple[str, ...]:
        """Return every host that will receive transcripts, or texts that the job hands to the agent."""
        found = ["127.0.0.1" if self.spec.sample_agent else self.agent_host()]
        found += [*self._reader_host("evaluators", self.job.evaluator.kind), *self.judge_hosts()]
        if any(isinstance(seed, TextSeed) for seed in self.job.seeds) and not self.spec.sample_agent:
            found.append(host_of(self.knowledge_url()))
        return tuple(dict.fromkeys(found))

    def judge_hosts(self) -> tuple[str, ...]:
        """Return the hosts that receive what the judge reads; none where rules judge."""
        return tuple(self._reader_host("judges", self.job.scorer.kind))

    def _reader_host(self, group: plugins.Group, kind: str) -> list[str]:
        """Return where an evaluator's or judge's transcripts go: of a plug-in nobody here can know."""
        if kind == "llm":
            return [self.models_host()]
        if kind in plugins.BUILT_IN[group]:
            return []
        return [f"wherever the plug-in {clean_line(kind, 80)} sends them"]

    def knowledge_url(self) -> str:
        """Return where text seeds go."""
        if self.spec.sample_agent:
            return self.agent_url
        return self.job.target.knowledge_url or self.settings.knowledge_url

    def agent_host(self) -> str:
        """Return the agent's host as it is named to people."""
        return host_of(self.agent_url, any_scheme=self.job.target.protocol not in plugins.BUILT_IN["agents"])

    def models_host(self) -> str:
        """Return the host of the evaluator's and judge's models."""
        return host_of(self.settings.openai_base_url or OPENAI_URL)

    def uses_models(self) -> bool:
        """Say whether a model plays the user or judges."""
        return "llm" in (self.job.evaluator.kind, self.job.scorer.kind)

    def prompt_hashes(self) -> dict[str, str]:
        """Return what identifies the prompts that models are given."""
        if not self.uses_models():
            return {}
        from bioeval_tui.evaluate.models.prompting import prompt_hashes

        return prompt_hashes(self.job, self.job_dir)

    def rates(self) -> Rates:
        """Return what calls cost.

        Raises:
            UsageError: the cost is to be bounded, and a price is unknown.
            InputError: the user's price file is wrong.
        """
        prices = load_prices(self.settings.data_dir / FILE_NAME)
        plays, judges = self.job.evaluator.kind == "llm", self.judge_models()
        panel = [prices.of(model, self.models_host()) for model in judges] if judges else []
        if self.spec.max_cost is not None:
            self._need_prices(prices)
        known = [price for price in panel if price is not None]
        return Rates(
            agent=self.agent_price(prices),
            evaluator=prices.of(self.evaluator_model(), self.models_host()) if plays else None,
            # Tokens of a panel are told as one sum: count them at its dearest price, never too low.
            judge=max(known, key=lambda price: price.tokens_in)
            if len(known) == len(panel) and known
            else None,
            judge_calls=len(judges) * self.job.scorer.repeats,
            evaluator_is_model=plays,
        )

    def agent_price(self, prices: Prices) -> Price | None:
        """Return the price of the agent's model where this program pays for it: a chat endpoint."""
        return prices.of(self.model, self.agent_host()) if self.job.target.protocol == "openai" else None

    def _need_prices(self, prices: Prices) -> None:
        wanted = [(model, self.models_host()) for model in self.judge_models()]
        if self.job.evaluator.kind == "llm":
            wanted.append((self.evaluator_model(), self.models_host()))
        if self.job.target.protocol == "openai":
            wanted.append((self.model, self.agent_host()))
        unknown = sorted({model for model, host in wanted if prices.of(model, host) is None})
        if unknown:
            raise UsageError(
                f"--max-cost needs the price of {', '.join(unknown)}; write it into "
                f"{self.settings.data_dir / FILE_NAME}, such as `{unknown[0]}: {{in: 0.4, out: 1.6}}`"
            )

    def _openai(self) -> _Endpoint:
        from bioeval_tui.evaluate.models.model import MODEL_TIMEOUTS

        if self.settings.openai_api_key is None:
            instead = (
                "leave out --llm"
                if self.spec.mode == "llm"
                else "ask for the offline stand-ins with --rehearsal"
            )
            raise UsageError(
                "OPENAI_API_KEY is not set, and this job's evaluator or judge is a model; set it (and "
                f"OPENAI_BASE_URL for another server than OpenAI's), or {instead}{env_file_hint()}"
            )
        return _Endpoint(
            api_key=self.settings.openai_api_key.get_secret_value(),
            base_url=self.settings.openai_base_url,
            timeouts=MODEL_TIMEOUTS.within(self.settings.model_timeout_s),
        )
