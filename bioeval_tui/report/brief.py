"""What a run is about, before any result: who was tested by whom, which facts the user had, what
was asked for.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bioeval_tui.base.text import plural
from bioeval_tui.record.cases import job_part, judged, name_placeholders
from bioeval_tui.record.condition_names import Condition
from bioeval_tui.record.conditions import job_conditions
from bioeval_tui.report.rows import criteria_words, job_of_trial

if TYPE_CHECKING:
    from bioeval_tui.record.events import ImportedFrom, RunStarted
    from bioeval_tui.record.state import RunState

LONGEST_ABOUT = 120
"""The most characters of task titles that say what a job is about, if the job does not."""
_PLAYERS = {"scripted": "a script", "human": "a person", "rules": "rules, no model"}
_RULES = ("rules", "rehearsal: rules judge")
"""What the rules judge is called; the second in older recordings."""


@dataclass(frozen=True, slots=True)
class Brief:
    """Who was tested by whom, and on what."""

    job: str
    conditions: Mapping[Condition, str]
    """What the job's conditions are called, by name."""
    about: str
    """What the job says that it is about, in one line; empty if it says nothing."""
    agent: str
    """What the job or its address calls the agent."""
    agent_identity: str
    """The name and version that the agent gave itself; empty if it gave none."""
    model: str | None
    """The agent's model, if somebody asked for one or its server named one: `asked for X, served Y`
    where they differ.
    """
    served_model: str | None
    """The agent's model by the name that its server gave it; None if it gave none."""
    protocol: str
    """The protocol that the agent was spoken to in; empty for the usual one."""
    evaluator: str
    """Who played the user: `scripted`, `human`, or a model."""
    judge: str
    judge_prompt: str
    """The judge's prompt and its version; empty if no model judged."""
    rehearsal: bool
    """Whether no model and no person played the user."""
    graph: str | None
    """The knowledge graph, with a note if it is unknown whether the agent uses it; None without
    one.
    """
    fhir: str | None
    """The FHIR server of setups and assertions; None without one."""
    facts: tuple[str, ...]
    """What the simulated user knows, where the facts are supplied."""
    tasks: tuple[tuple[str, str], ...]
    """What the agent is asked for, with the acceptance criteria."""
    own_facts: bool
    """Whether each case has facts of its own, which the job does not list."""
    cases: int
    """How many cases fill in the job; 0 for a job without cases."""
    source: ImportedFrom | None
    """Where an imported run comes from; None for one that was held here."""

    @property
    def agent_words(self) -> str:
        """The agent by all its names: `127.0.0.1:8081 · Nurse 1.2 · gpt-4o · a2a`."""
        named = [self.agent]
        named += [
            name
            for name in (self.agent_identity, self.model, self.protocol)
            if name and name not in self.agent
        ]
        return " · ".join(filter(None, named))

    @property
    def topic_words(self) -> str:
        """What the job is about: its own words, otherwise as many of its tasks as fit, none of them
        cut.
        """
        if self.about:
            return self.about
        titles = [title for title, _ in self.tasks]
        shown = titles[:1]
        while (
            len(shown) < len(titles) and len("; ".join(titles[: len(shown) + 1])) <= LONGEST_ABOUT
        ):
            shown.append(titles[len(shown)])
        left_out = len(titles) - len(shown)
        if left_out:
            shown.append(f"and {plural(left_out, 'more task')}")
        return "; ".join(shown)

    @property
    def user_words(self) -> str:
        """Who played the user: `a script`, `a person`, or a model."""
        return _PLAYERS.get(self.evaluator, self.evaluator)

    @property
    def judge_words(self) -> str:
        """Who judged: `rules`, or models."""
        return _PLAYERS.get(self.judge, self.judge)

    @property
    def judged_by_rules(self) -> bool:
        """Whether rules judged, and no model or plug-in."""
        return self.judge in _RULES

    @property
    def others_words(self) -> str:
        """Who played the user and who judged: `user: a script · judge: rules`."""
        return f"user: {self.user_words} · judge: {self.judge_words}"

    @property
    def has_facts(self) -> bool:
        """Whether the simulated user can know any fact."""
        return bool(self.facts) or self.own_facts

    @property
    def facts_words(self) -> str:
        """The facts in one line: `1 The user lives in Sydney   2 …`, or that there are none."""
        if not self.facts and self.own_facts:
            return "each case has its own"
        facts = [name_placeholders(fact) for fact in self.facts] if self.cases else self.facts
        listed = "   ".join(f"{n} {fact}" for n, fact in enumerate(facts, start=1)) or "none"
        if tuple(facts) == self.facts:
            return listed
        return f"filled in from {plural(self.cases, 'case')}: {listed}"


def make_brief(state: RunState, started: RunStarted, trial: int | None = None) -> Brief:
    """Return a run's brief, or that of one trial, with the facts and tasks of its case."""
    job = job_of_trial(state, trial)
    tasks = [(str(item.get("task", "")), criteria_words(job, item)) for item in judged(job)]
    cases = 0
    if trial is None:
        tasks = [
            (name_placeholders(title), name_placeholders(criteria)) for title, criteria in tasks
        ]
        cases = len({case.name for case in started.cases if case.name})
    own_facts = bool(trial is None and state.trial_job(1).get("facts"))
    protocol = str(job_part(state.job, "target").get("protocol") or "")
    return Brief(
        job=started.job_name,
        about=str(state.job.get("about") or ""),
        agent=started.agent,
        agent_identity=state.agent_identity,
        model=state.agent_model,
        served_model=state.served_model,
        protocol="" if protocol == "rest" else protocol,
        evaluator=state.evaluator,
        judge=state.judge,
        judge_prompt=state.judge_prompt,
        rehearsal=started.rehearsal,
        graph=_graph_words(state, started),
        fhir=started.fhir,
        facts=tuple(map(str, job.get("facts") or ())),
        tasks=tuple(tasks),
        own_facts=own_facts,
        cases=cases,
        source=started.source,
        conditions={one.name: one.title for one in job_conditions(state.job)},
    )


def _graph_words(state: RunState, started: RunStarted) -> str | None:
    unknown = any(talk.agents_graph == "unknown" for talk in state.conversations.values())
    if unknown:
        note = " (unknown whether it is the agent's, which does not say which graph it uses)"
        return (started.graph or "") + note
    return started.graph or None
