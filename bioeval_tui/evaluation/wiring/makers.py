"""Creates the agent, evaluator and judge that a job names.

Only this module imports concrete ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bioeval_tui import plugins
from bioeval_tui.base.errors import UsageError
from bioeval_tui.base.hosts import host_of
from bioeval_tui.base.proxies import is_loopback, proxy_phrases
from bioeval_tui.base.text import clean_line
from bioeval_tui.evaluation.assertions import Checker
from bioeval_tui.evaluation.conversation import exam
from bioeval_tui.evaluation.conversation.control import Control
from bioeval_tui.evaluation.conversation.plan import Guard, Parts, RunLimits, RunPlan
from bioeval_tui.evaluation.wiring import endpoints, records
from bioeval_tui.evaluation.wiring.participants import Participants
from bioeval_tui.evaluation.wiring.placebo import (
    draw_placebo,
    unknowing,
    yoked_plugin,
    yoked_script,
)
from bioeval_tui.guards import check as check_message
from bioeval_tui.jobs.models import (
    EvaluationJob,
    EvaluatorConfig,
    ScorerConfig,
    TextSeed,
)
from bioeval_tui.peers import python_code
from bioeval_tui.peers.models.prompting import (
    complete_prompt,
    find_prompt,
    prompt_hashes,
    shown_to_judge,
)
from bioeval_tui.peers.offline import HUMAN, HumanEvaluator, RulesJudge, ScriptedEvaluator
from bioeval_tui.peers.persona_facts import KeepingScript, draw_persona_facts
from bioeval_tui.peers.placebo import Placebo
from bioeval_tui.peers.prices import FILE_NAME, Price, Prices, load_prices
from bioeval_tui.peers.retry import MODEL_RULE
from bioeval_tui.peers.seams import (
    Agent,
    AgentTerms,
    Evaluator,
    Judge,
    KnowledgeGraph,
    PatientRecords,
    evaluator_job,
    wrap_plugin,
)
from bioeval_tui.peers.spending import Rates
from bioeval_tui.record.condition_names import Condition
from bioeval_tui.record.events import Fault
from bioeval_tui.record.persona_facts import PersonaFacts

if TYPE_CHECKING:
    from bioeval_tui.evaluation.medal_assertions import MedalGrader
    from bioeval_tui.peers.models.model import ChatModel


class Makers(Participants):
    """Makes what each conversation of one run needs.

    A recording of somebody else is only judged, by the program's own prompts, without submissions
    or plug-ins, and at the user's own endpoint.
    """

    plan: RunPlan | None = None
    """The run's plan, which knows each trial's job."""
    control: Control | None = None
    _evaluator_chat: ChatModel | None = None

    @cached_property
    def _refused(self) -> dict[str, set[str]]:
        """`AgentTerms.refused`, which the agents of all conversations share."""
        return {}

    @property
    def telling_url(self) -> str:
        """Where the agent may say which graph it uses; empty if its protocol has no place for
        that.
        """
        if self._protocol.name == "rest":
            return self.agent_url
        return ""

    @property
    def begins(self) -> str:
        """What the agent shows by an answer to `open`; empty if it is called only with the first
        message.
        """
        return self._protocol.begins

    async def aclose(self) -> None:
        """Close the resources that the run's conversations share."""
        if self._evaluator_chat is not None:
            await self._evaluator_chat.aclose()

    def parts(
        self,
        judge: Judge,
        graph: KnowledgeGraph | None,
        why_not: str,
        server: PatientRecords | None = None,
    ) -> Parts:
        """Return the run's parts."""
        submissions = [item.submission for item in self.job.medal_assertions]
        medals: dict[str, Any] = {}
        grade = None
        if submissions:
            grader = self.medal_grader()
            grade = grader.grade
            medals["files_before"] = partial(grader.files, submissions)
        # Else an agent that keeps the records could take its own bad conversations out of the mean.
        at_agent = records.is_at_agent(self.job, self.agent_url)
        fault: Fault = "unclear" if at_agent else "infrastructure"
        check = Checker(graph, why_not, grade, server, fault)
        return Parts(
            open_agent=self.agent,
            open_evaluator=self.evaluator,
            judge=judge,
            check=check,
            graph=graph,
            records=server,
            no_graph=why_not,
            does_without_graph=self.spec.graph == "none",
            guard=self._guard(),
            placebo=self.placebo_texts,
            **medals,
            exams=self.settings.data_dir / exam.FOLDER,
        )

    def _guard(self) -> Guard | None:
        """Return what checks a model's messages; None if a person, script or plug-in plays the
        user.
        """
        evaluator = self.job.evaluator
        if evaluator.kind != "llm" or evaluator.guards == "off":
            return None
        prompt = complete_prompt(find_prompt(evaluator.prompt, self.job_dir))
        return partial(check_message, prompt=prompt)

    def agent(self, condition: Condition, trial: int) -> Agent:
        """Return a new agent of the job's protocol."""
        target, settings = self.job.target.seeded(trial), self.settings
        if not self._protocol.maker:
            plugins.require("agents", target.protocol)
        headers, secrets = self.agent_headers()
        terms = AgentTerms(
            target=target,
            url=self.agent_url,
            model=self.model,
            named_model=self.agent_model,
            key=self.agent_key(),
            headers=headers,
            secrets=secrets,
            may_call=self._may_call,
            function=self.spec.agent_function,
            code=tuple(map(Path, self.spec.code)),
            python=self._interpreter(),
            knowledge_url=self.knowledge_url(),
            provider=settings.agent_api_type or "openai",
            account=self._protocol.is_model and endpoints.is_openai(self.agent_url, settings),
            drawn_by=f"{self._seed(self.job)}/{trial}",
            refused=self._refused,
        )

        def make() -> Agent:
            agent: Agent = self._protocol.load()(terms)
            return agent

        if plugins.is_own("agents", target.protocol):
            return make()
        return wrap_plugin("agent", target.protocol, make)

    def agent_key(self) -> str | None:
        """Return the agent's key; an agent that the run starts itself is given none, nor one whose
        protocol does not state `apiKeyEnv`.

        Raises:
            UsageError: the key was given for another host than the agent's, or its knowledge
                service's.
        """
        target, allowed = self.job.target, self.spec.allow_hosts
        if self.spec.starts_agent or not self._protocol.has("apiKeyEnv"):
            return None
        given = self.spec.agent_url_is_given
        key = endpoints.agent_key(
            target, self.agent_url, self.settings, allowed, url_is_given=given
        )
        if key is not None and "texts" in self._protocol.takes and self._hands_texts():
            endpoints.require_agents_host(
                self.knowledge_url(), self.settings, (*allowed, self.agent_host())
            )
        return key

    def agent_headers(self) -> tuple[dict[str, str], tuple[str, ...]]:
        """Return the job's own headers for the agent, and which of their values are secrets.

        Raises:
            UsageError: a variable is not set, or was given for another host than the agent's.
        """
        if not self._protocol.has("headers"):
            return {}, ()
        return endpoints.own_headers(
            self.job.target, self.agent_url, self.settings, self.spec.allow_hosts
        )

    def _may_call(self, url: str) -> bool:
        """Return whether an address that the agent names itself may be called: never another
        machine for a sensitive job.
        """
        allowed = endpoints.may_call(self.agent_url, url, self.spec.allow_hosts)
        return allowed and (not self.job.sensitive or is_loopback(host_of(url)))

    def _interpreter(self) -> Path | None:
        """Return the interpreter that runs the agent's function, if the job names one.

        Raises `UsageError`.
        """
        named, is_given = self.job.target.python, self.spec.agent_function is not None
        if named is None or is_given or not self._protocol.is_function:
            return None
        return python_code.interpreter(named, self.job_dir, tuple(map(Path, self.spec.code)))

    def load_functions(self) -> None:
        """Load the Python functions that the job names, so that problems are reported before the
        run.

        Raises:
            UsageError: one cannot be loaded.
        """
        target, code = self.job.target, tuple(map(Path, self.spec.code))
        given = self.spec.agent_function is not None
        if self._protocol.is_function and target.function and not given:
            if (python := self._interpreter()) is not None:
                from bioeval_tui.peers.agents.python_function import require_function

                require_function(target, python, code)
            else:
                python_code.load(target.function, code, "message")
        for tool in target.tools:
            if tool.function:
                python_code.load(tool.function, code, "arguments")

    def evaluator(self, condition: Condition, trial: int) -> Evaluator:
        """Return a new evaluator: a script, a person or a model."""
        job = self.job
        if self.plan is not None:
            job = self.plan.trial_plan(trial).job
        is_placebo = job.condition(condition).is_placebo
        if job.evaluator.kind == "scripted":
            script: Evaluator = ScriptedEvaluator(job, typing_delay_s=self.spec.typing_delay_s)
            if (drawn := self._persona_facts(job, trial)) is not None:
                script = KeepingScript(script, job, drawn, unknowing(job))
            if is_placebo:
                return yoked_script(script, job, self._placebo(job, trial))
            return script
        if job.evaluator.kind == HUMAN:
            person = HumanEvaluator()
            if self.control is not None:
                self.control.conversation(condition).person = person.say
            return person
        if job.evaluator.kind != "llm":
            return self._plugin_user(job, condition, trial)
        # Here and below: each run loads the parts that its job names, and no others.
        from bioeval_tui.peers.models.evaluator import LLMEvaluator

        # Shared by all conversations of the run: its connections, and the options that a server is
        # known to reject.
        self._evaluator_chat = self._evaluator_chat or self._chat("evaluator")
        asked = job.model_copy(update={"evaluator": job.evaluator.seeded(trial)})
        model, *other_users = self.evaluator_models()
        if other_users and isinstance(job.evaluator.model, str):
            model = job.evaluator.model  # the user of this trial
        return LLMEvaluator(asked, model=model, job_dir=self.job_dir, chat=self._evaluator_chat)

    def _plugin_user(self, job: EvaluationJob, condition: Condition, trial: int) -> Evaluator:
        make_evaluator: plugins.MakeEvaluator = plugins.load("evaluators", job.evaluator.kind)
        held = job.condition(condition)
        known = job.facts_told_in(condition)
        facts = tuple(job.facts[number - 1] for number in known)
        if (drawn := self._persona_facts(job, trial)) is not None:
            facts = drawn.known_facts(job.facts, known)
        seen = evaluator_job(job, facts, condition)
        evaluator: Evaluator = wrap_plugin(
            "evaluator", job.evaluator.kind, lambda: make_evaluator(seen)
        )
        if not held.is_placebo:
            return evaluator
        told = job.model_copy(update={"facts": facts})
        return yoked_plugin(evaluator, told, self._placebo(job, trial))

    def _placebo(self, job: EvaluationJob, trial: int) -> Placebo:
        return draw_placebo(job, self._seed(job), trial)

    def _seed(self, job: EvaluationJob) -> int:
        """Return the run's seed; the job's while there is no plan."""
        if self.plan is not None:
            return self.plan.seed
        return job.seed or 0

    def placebo_texts(self, job: EvaluationJob, trial: int) -> tuple[str, ...]:
        """Return what the placebo's user tells in a trial in the place of each fact that is told
        with the facts.
        """
        told = job.facts
        if (drawn := self._persona_facts(job, trial)) is not None:
            told = drawn.known_facts(job.facts, range(1, len(job.facts) + 1))
        return self._placebo(job, trial).texts(told)

    def _persona_facts(self, job: EvaluationJob, trial: int) -> PersonaFacts | None:
        """Return which of all facts the job's persona holds back or gets wrong in a trial."""
        every = range(1, len(job.facts) + 1)
        return draw_persona_facts(job, self._seed(job), trial, every)

    def judge(self) -> Judge:
        """Return the judge, which all conversations of a run share.

        Raises:
            UsageError: it cannot be made, or a stranger's job names a plug-in.
        """
        job, kind = self.job, self.job.scorer.kind
        if kind == "rules":
            return RulesJudge()
        if kind == "llm":
            from bioeval_tui.peers.models.judge import LLMJudge  # only for a job that has one

            return LLMJudge(
                models=self.judge_models(),
                job_dir=self.job_dir,
                repeats=job.scorer.repeats,
                items_per_request=job.scorer.items_per_request,
                retries=replace(MODEL_RULE, longest_wait_s=self.settings.longest_wait_s),
                chat=self._chat("judge"),
            )
        if self.job_dir is None:
            raise UsageError(
                "the recording came from elsewhere, so its judge, the plug-in"
                f" {clean_line(kind, 80)}, is not used; name yours with --job or --judge-model"
            )
        make_judge: plugins.MakeJudge = plugins.load("judges", kind)
        judge: Judge = wrap_plugin("judge", kind, lambda: make_judge(job))
        return judge

    def medal_grader(self) -> MedalGrader:
        """Return the grader of the files that medal assertions name."""
        # Only for jobs with medals, because it loads pandas.
        from bioeval_tui.evaluation.medal_assertions import MedalGrader

        settings = replace(self.settings, leaderboard=self.spec.leaderboard)
        return MedalGrader(settings, self.job_dir, tuple(map(Path, self.spec.submissions)))

    def hosts(self) -> tuple[str, ...]:
        """Return every host that will receive transcripts, or texts from the job for the agent, and
        the proxies in between.
        """
        if self._protocol.is_function:
            hosts = [f"wherever {self.agent_host()} sends them"]
        elif self.spec.starts_agent:
            hosts = ["127.0.0.1"]
        else:
            hosts = [self.agent_host()]
        hosts += [*self._reader_host("evaluator"), *self._reader_host("judge")]
        if self._hands_texts() and not self.spec.sample_agent:
            setting = "BIOEVAL_KNOWLEDGE_URL"
            if self.job.target.knowledge_url:
                setting = "target.knowledgeUrl"
            hosts.append(host_of(self.knowledge_url(), name=setting))
        if state := self.job.target.object_context_url:  # it receives the session's id
            hosts.append(host_of(state, name="target.objectContextUrl"))
        if (fhir := records.fhir_url(self.job, self.agent_url)) and not (
            self.spec.starts_agent and fhir.startswith(self.agent_url)
        ):  # it receives what setups write
            hosts.append(host_of(fhir, name="fhir.url"))
        models = [*self._model_urls("evaluator"), *self._model_urls("judge")]
        if self.pays_agent and not self.spec.starts_agent:
            models.insert(0, self.agent_url)
        return tuple(dict.fromkeys([*hosts, *proxy_phrases(models)]))

    def called_urls(self) -> list[tuple[str, str]]:
        """Return whom the conversations call by HTTP, as far as that is known: what it is, and its
        URL.
        """
        called = [("agent", self.agent_url)]
        called += [("evaluator's model", url) for url in self._model_urls("evaluator")]
        called += [("judge's model", url) for url in self._model_urls("judge")]
        if self._hands_texts():
            called.append(("knowledge service", self.knowledge_url()))
        called.append(("agent's state", self.job.target.object_context_url or ""))
        called.append(("FHIR server", records.fhir_url(self.job, self.agent_url)))
        return [(name, url) for name, url in called if url]

    def judge_hosts(self) -> tuple[str, ...]:
        """Return the hosts that receive the judge's input, and the proxies in between; none for the
        rules judge.
        """
        return (*self._reader_host("judge"), *proxy_phrases(self._model_urls("judge")))

    def _reader_host(self, role: endpoints.ModelRole) -> list[str]:
        """Return where an evaluator's or judge's transcripts are sent; for a plug-in this is
        unknown.
        """
        kind = self._asked(role).kind
        if kind == "llm":
            return [self.model_host(role)]
        if plugins.is_own("evaluators" if role == "evaluator" else "judges", kind):
            return []
        return [f"wherever the plug-in {clean_line(kind, 80)} sends them"]

    def knowledge_url(self) -> str:
        """Return where text seeds go."""
        if self.spec.sample_agent:
            return self.agent_url
        return self.job.target.knowledge_url or self.settings.knowledge_url

    def agent_host(self) -> str:
        """Return the displayed host of the agent, or its function."""
        if self._protocol.is_function:
            return clean_line(self.job.target.function or "", 200)
        return host_of(
            self.agent_url,
            any_scheme=self._protocol.any_scheme,
            name=self._agent_url_setting(),
        )

    def _agent_url_setting(self) -> str:
        """Return what a user calls the setting that names the agent's URL."""
        if self.spec.agent_url:
            return "--agent-url"
        if self.job.target.url:
            return "target.url"
        return "BIOEVAL_AGENT_URL"

    def _hands_texts(self) -> bool:
        return any(isinstance(seed, TextSeed) for seed in self.job.seeds)

    def model_host(self, role: endpoints.ModelRole) -> str:
        """Return the host of the evaluator's or judge's model."""
        asked = self._asked(role)
        url = endpoints.model_url(role, asked, self.settings)
        return host_of(url, name=endpoints.url_setting(role, asked, self.settings))

    def _model_urls(self, role: endpoints.ModelRole) -> list[str]:
        """Return where the evaluator's or judge's model is called, if it is one."""
        asked = self._asked(role)
        if asked.kind == "llm":
            return [endpoints.model_url(role, asked, self.settings)]
        return []

    def _asked(self, role: endpoints.ModelRole) -> EvaluatorConfig | ScorerConfig:
        if role == "evaluator":
            return self.job.evaluator
        return self.job.scorer

    def prompt_hashes(self) -> dict[str, str]:
        """Return the hashes of the models' prompts."""
        if "llm" not in (self.job.evaluator.kind, self.job.scorer.kind):
            return {}
        return prompt_hashes(self.job, self.job_dir)

    def judge_sees(self) -> str:
        """Return a sentence on what the judge sees besides the transcript; empty if nothing."""
        kind, shown = self.job.scorer.kind, self.job.scorer.context
        if kind == "llm":
            shown = shown_to_judge(find_prompt(self.job.scorer.prompt, self.job_dir), self.job)
        hosts = self._reader_host("judge")
        if not hosts or shown == "none" or not (self.job.tasks or self.job.rubric):
            return ""
        what = "the agent's tool calls"
        if shown == "all":
            what = "the agent's tool calls, other events and its state"
        return f"the judge ({', '.join(hosts)}) is also shown {what} (scorer.context: {shown})"

    def rates(self) -> Rates:
        """Return the cost of calls.

        Raises:
            UsageError: the cost is to be bounded, and a price is unknown.
            InputError: the user's price file is wrong.
        """
        prices = load_prices(self.settings.data_dir)
        plays, judges = self.job.evaluator.kind == "llm", self.judge_models()
        panel = [prices.of(model, self.model_host("judge")) for model in judges]
        if self.spec.max_cost is not None:
            self._need_prices(prices)
        user = None
        if plays:
            user = _dearest(
                [
                    prices.of(model, self.model_host("evaluator"))
                    for model in self.evaluator_models()
                ]
            )
        return Rates(
            agent=self.agent_price(prices),
            evaluator=user,
            judge=_dearest(panel),
            evaluator_is_model=plays,
        )

    def agent_price(self, prices: Prices) -> Price | None:
        """Return the price of the agent's model, if it is a chat endpoint that this program's user
        pays for.
        """
        if self.pays_agent:
            return prices.of(self.model, self.agent_host())
        return None

    def _need_prices(self, prices: Prices) -> None:
        wanted = [(model, self.model_host("judge")) for model in self.judge_models()]
        if self.job.evaluator.kind == "llm":
            wanted += [(model, self.model_host("evaluator")) for model in self.evaluator_models()]
        if self.pays_agent:
            wanted.append((self.model, self.agent_host()))
        unknown = sorted({model for model, host in wanted if prices.of(model, host) is None})
        if unknown:
            raise UsageError(
                f"--max-cost needs the price of {', '.join(unknown)}; write it into"
                f" {self.settings.data_dir / FILE_NAME}, such as `{unknown[0]}: {{in: 0.4, out:"
                " 1.6}`"
            )

    def endpoint(self, role: endpoints.ModelRole) -> endpoints.Endpoint:
        """Return the endpoint and key of the evaluator's or the judge's model.

        Raises:
            UsageError: a key is missing, or was not given for that host.
        """
        instead = ""
        if self.spec.mode == "llm":
            instead = "leave out --llm"
        elif self.job.can_be_rehearsed:
            instead = "hold a rehearsal, which needs none (--rehearsal)"
        return endpoints.model_endpoint(
            role, self._asked(role), self.settings, self.spec.allow_hosts, instead
        )

    @property
    def judge_s(self) -> float:
        """The limit for a verdict, in seconds: at least two answers' time."""
        return max(RunLimits().judge_s, 2.5 * self.answer_s("judge"))

    def answer_s(self, role: endpoints.ModelRole) -> float:
        """Return the limit for one answer, in seconds: slightly longer than the model's timeout,
        whose error names the host.
        """
        return self._timeout_s(role) + 1.0

    def _timeout_s(self, role: endpoints.ModelRole) -> float:
        own_ms = self._asked(role).timeout_ms
        if own_ms is None:
            return self.settings.model_timeout_s
        return own_ms / 1000

    def _chat(self, role: endpoints.ModelRole) -> ChatModel:
        from bioeval_tui.peers.models.model import MODEL_TIMEOUTS, ChatModel

        where = self.endpoint(role)
        whole = self._timeout_s(role)
        return ChatModel(
            role,
            api_key=where.api_key,
            base_url=where.base_url,
            provider=where.provider,
            api=where.api,
            account=where.account,
            timeouts=replace(
                MODEL_TIMEOUTS, connect=min(MODEL_TIMEOUTS.connect, whole), whole=whole
            ),
        )


def _dearest(panel: Sequence[Price | None]) -> Price | None:
    """Return the highest price of several models, whose tokens are one sum, so that the cost is
    never too low; None if one is unknown.
    """
    known = [price for price in panel if price is not None]
    if len(known) < len(panel):
        return None
    return max(known, key=lambda price: price.tokens_in, default=None)
