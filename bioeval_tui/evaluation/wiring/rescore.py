"""Judges recorded transcripts again, and checks the assertions of a changed job, without calling
the agent; the verdicts go to the run's overlay.

`runs rescore` makes a `Rescorer` for each run. Its subclass in `judge_tests.py` asks the judge
without recording anything.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import chain, zip_longest
from pathlib import Path
from typing import Any, TypeVar

from bioeval_tui.base.errors import JobError, UsageError
from bioeval_tui.base.settings import Settings
from bioeval_tui.base.text import clean_line, plural, shorten
from bioeval_tui.evaluation.conversation import exam
from bioeval_tui.evaluation.conversation.blame import blame_for_score
from bioeval_tui.evaluation.conversation.scoring import Held, counts_elsewhere, judge_transcript
from bioeval_tui.evaluation.engine.interface import EngineSpec
from bioeval_tui.evaluation.recheck import CheckedAgain, check_again
from bioeval_tui.evaluation.wiring.case_table import CaseChoice
from bioeval_tui.evaluation.wiring.cases import Cases
from bioeval_tui.evaluation.wiring.endpoints import require_local
from bioeval_tui.evaluation.wiring.makers import Makers
from bioeval_tui.evaluation.wiring.prepare import is_examined
from bioeval_tui.jobs.loading import job_snapshot, load_job, recorded_job
from bioeval_tui.jobs.models import EvaluationJob, JobTask, RubricItem
from bioeval_tui.peers.models.prompting import find_prompt
from bioeval_tui.peers.offline import RulesJudge
from bioeval_tui.peers.seams import Judge, JudgeView
from bioeval_tui.peers.spending import UNLIMITED, counting
from bioeval_tui.peers.transcript import judge_view, sent_messages
from bioeval_tui.record import events, score as composite
from bioeval_tui.record.cases import Case, JobCase, question_hash
from bioeval_tui.record.model_families import family_note
from bioeval_tui.record.overlay import NumberedOverlay, judgings, read_overlay
from bioeval_tui.record.participants import add_served
from bioeval_tui.record.run_options import recorded_options
from bioeval_tui.record.runs import is_own, only_here
from bioeval_tui.record.state import PASSED, ConversationKey, ConversationState, RunState
from bioeval_tui.record.stored import state_as_written

AT_ONCE = 4
KEPT_FROM = 10
"""After so many verdicts, and then a tenth of those kept so far, they are written, so that an
interruption loses few.
"""
MOST_CASES_NAMED = 3
"""Of so many cases a refusal says how their tasks differ."""
MOST_JOBS = 256
"""So many jobs of cases are kept in memory."""
Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class Rescored:
    """One conversation's new verdict and score, or the reason why it has none; a
    `ConversationState` keeps the recorded ones.
    """

    key: ConversationKey
    verdict: events.TranscriptScored | None = None
    score: events.ConversationScored | None = None
    error: str = ""
    warnings: tuple[str, ...] = ()
    checks: tuple[CheckedAgain, ...] = ()
    """The assertions' outcomes; empty if they are the recorded ones."""

    @property
    def is_unmeasured(self) -> bool:
        """Whether an assertion that counts could not be checked again."""
        return any(
            one.unchecked and one.check.status == "not_measured" and one.check.weight
            for one in self.checks
        )


class GivenJob:
    """A job file whose criteria, rubric, assertions and judge take the place of the recorded
    job's.
    """

    def __init__(self, file: Path, cases_file: Path | None, recorded: Sequence[JobCase]) -> None:
        """Read the job, and fill it in for each of the `recorded` cases.

        Raises:
            JobError: the job or its table of cases is wrong.
            UsageError: the run has cases that the job does not have, or the other way round.
        """
        self.loaded = load_job(file)
        self._filled: dict[tuple[str, str], EvaluationJob] = {}
        if not recorded:
            if not all(isinstance(item, RubricItem) for item in self.loaded.job.rubric):
                raise UsageError(
                    f"{self.name}: its rubric comes from its cases, and the run has none"
                )
            return
        choice = CaseChoice(file=str(cases_file) if cases_file is not None else None)
        cases = Cases(self.loaded, choice)
        if cases.problems:
            raise JobError("\n".join(map(str, cases.problems)), tuple(cases.problems))
        for case in cases.jobs:
            self._filled[case.key] = case.job
        missing = [
            case
            for case in recorded
            if self._filled and (case.name, case.persona) not in self._filled
        ]
        if missing:
            first = " · ".join(filter(None, (missing[0].name, missing[0].persona)))
            which = f"case {clean_line(first, 80)}"
            if len(missing) > 1:
                which += f" and {len(missing) - 1:,} more of the run"
            raise UsageError(
                f"{self.name} has no {which}; name the run's table of cases with --cases-file"
            )

    @property
    def name(self) -> str:
        """The file's name."""
        return clean_line(self.loaded.path.name, 80)

    def case_job(self, case: Case | JobCase | None) -> EvaluationJob:
        """Return the job, filled in for a case."""
        if case is None:
            return self.loaded.job
        return self._filled.get((case.name, case.persona), self.loaded.job)


_Verdicts = dict[tuple[ConversationKey, str], events.TranscriptScored]
"""Verdicts by their conversation and the hash of their question."""


class Rescorer:
    """Judges one recording again."""

    _may_keep = True
    """Whether a verdict is kept where only assertions are others."""

    def __init__(
        self,
        path: Path,
        settings: Settings,
        *,
        judge_model: tuple[str, ...] = (),
        allow_hosts: tuple[str, ...] = (),
        rules: bool = False,
        job_file: Path | None = None,
        cases_file: Path | None = None,
    ) -> None:
        """Without `job_file`, the criteria are the recorded ones; without `judge_model` or `rules`,
        the job's own judge is used.

        With it, that job's criteria, rubric, assertions and judge are used, and its prompt is
        beside it. What the conversation was held with stays as recorded: tasks, facts, user,
        limits. Without it, the prompt is looked for where the run's own job was, but not for an
        imported run, or a file that is not among the runs.

        Raises:
            RecordingError: the recording cannot be read.
            JobError: the job file, or its table of cases, is wrong.
            UsageError: the job's tasks are not the run's, the judge cannot be created, or it would
                send a sensitive job's transcripts elsewhere.
        """
        self.path = path
        state, started = state_as_written(path)
        self.run_id, self._started = started.run_id, started
        self._cases = _own_cases(state, started)
        self._settings = settings
        self.already_judged = 0
        """How many conversations an interrupted judging had judged before `judge_again` continued
        it.
        """
        self._models, self._rules = judge_model, rules
        if cases_file is not None and job_file is None:
            raise UsageError("--cases-file is the table of the job that --job names")
        self._given: GivenJob | None = None
        if job_file is not None:
            self._given = GivenJob(job_file, cases_file, started.cases)
        self._jobs: dict[object, EvaluationJob] = {}
        self._held_jobs: dict[object, EvaluationJob] = {}
        self._questions: dict[object, str] = {}
        self.job = self._judging_job(None)
        self._checks_again = self._has_other_assertions()
        self._kept_keys: tuple[str, ...] = ("tasks", "rubric")
        if self._checks_again:
            self._kept_keys = ("tasks", "rubric", "assertions")
        self._require_same_tasks()
        if started.source is not None and not self.job.judged:
            raise UsageError(
                f"{started.run_id}: the imported file has no tasks to judge; import it with --job"
                " FILE to use that job's tasks"
            )
        folder: Path | None = None
        if job_file is not None:
            folder = job_file.parent
        elif is_own(path, settings.runs_dir):
            folder = Path(started.options.get("job_file") or started.job_path).parent
        if folder is None and self.job.scorer.kind == "llm":
            _require_own_prompt(path, self.job.scorer.prompt)
        spec = EngineSpec(runs=(), judge_model=judge_model, allow_hosts=allow_hosts)
        self._makers = Makers(self.job, folder, spec, started.asked_model, settings)
        self.hosts: Sequence[str] = ()
        self.judge_sees = ""
        self.judge_family = ""
        if self._asks_judge(self._judgeable(state), self._latest_verdicts(state)):
            self.hosts = self._makers.judge_hosts()
            self.judge_sees = self._makers.judge_sees()
            if self.job.scorer.kind == "llm":
                agent, user = state.agent_model or "", state.user_model
                self.judge_family = family_note(self._makers.judge_identity(), agent, user)
        require_local(self.job, self.hosts)

    def _recorded(self, case: Case | None) -> EvaluationJob:
        """Return the job that a conversation was held with, filled in for its case."""
        return recorded_job(self._started, self.path.name, case)

    def _judging_job(self, case: Case | None) -> EvaluationJob:
        """Return the job that a conversation is judged by: as it was held, with what of it the
        given job replaces.
        """
        held = self._recorded(case)
        if self._given is None:
            return _set_judge(held, self._models, self._rules)
        given = self._given.case_job(case)
        update = {
            "tasks": given.tasks,
            "rubric": given.rubric,
            "assertions": given.assertions,
            "scorer": given.scorer,
            "compat": given.compat,
        }
        update["sensitive"] = held.sensitive or given.sensitive
        return _set_judge(held.model_copy(update=update), self._models, self._rules)

    def _has_other_assertions(self) -> bool:
        """Return whether the given job's assertions are not those that were checked; nobody checked
        an imported run's.
        """
        if self._given is None:
            return False
        never_checked = self._started.source is not None and bool(self.job.assertions)
        return never_checked or any(
            _final_assertions(self._judging_job(case)) != _final_assertions(self._recorded(case))
            for case in self._cases
        )

    def _require_same_tasks(self) -> None:
        """Refuse a job that asks for other tasks than the conversations were held with, task by
        task.
        """
        if self._given is None:
            return
        found = [
            (case, differ)
            for case in self._cases
            if (
                differ := list(
                    _other_tasks(self._recorded(case).tasks, self._given.case_job(case).tasks)
                )
            )
        ]
        # What differs in the same way in every case is said once.
        alike = {"; ".join(differ) for _, differ in found}
        if len(alike) == 1 and len(found) == len(self._cases):
            found = [(None, found[0][1])]
        if found:
            told = []
            for case, differ in found[:MOST_CASES_NAMED]:
                if case is not None:
                    told.append(f"case {case.words}: {'; '.join(differ)}")
                else:
                    told += differ
            if (rest := len(found) - MOST_CASES_NAMED) > 0:
                told.append(f"and in {plural(rest, 'more case')}")
            raise UsageError(
                f"{self._given.name} has other tasks than {self.run_id}, whose conversations can"
                f" only be judged by other criteria: {'; '.join(told)}"
            )

    @property
    def notes(self) -> list[str]:
        """What of the given job is not used although it differs, as sentences."""
        if self._given is None:
            return []
        if all(
            self._recorded(case).facts == self._given.case_job(case).facts for case in self._cases
        ):
            return []
        return [
            f"{self._given.name} has other facts than {self.run_id}; the judge is told those that"
            " its user knew"
        ]

    async def judge_again(self, author: str) -> list[Rescored]:
        """Judge every conversation that counts as a result, and append the verdicts to the overlay.

        The recording is locked against other writers first, and then read again. If the same
        judging was interrupted, only the conversations that it lacks are judged. Verdicts are kept
        as they come, and only there.

        Raises:
            UsageError: the judge cannot be created.
            RecordingError: the run is in progress in another process, or the overlay cannot be
                written.
        """
        with only_here(self.path):
            return await self._judge_all(author)

    async def _judge_all(self, author: str) -> list[Rescored]:
        state, _ = state_as_written(self.path)
        every, before = self._judgeable(state), self._latest_verdicts(state)
        if self._asks_judge(every, before):
            judge = self.make_judge()
            identity = judge.identity
        else:
            judge = RulesJudge()
            identity = self._makers.judge_identity() or self.job.scorer.kind
        given = self._criteria_given(author)
        judging, owed = self._interrupted(state, every, identity, given)
        self.already_judged = len(every) - len(owed)
        is_new = judging == ""
        judging = judging or secrets.token_hex(8)
        first: list[events.RunEvent] = []
        if given is not None and is_new:
            first = [given.model_copy(update={"judging": judging})]
        if owed and is_examined(recorded_options(self._started.options), self.job):
            examined = await self._examine(judge, author, judging)
            if examined.refusal:  # the earlier verdicts stand
                await judge.aclose()
                return [Rescored(talk.key, error=examined.refusal) for talk in owed]
            first.append(examined)
        kept = _Kept(self.path, state.last_seq, first, is_new=is_new)
        slots = asyncio.Semaphore(AT_ONCE)

        async def one(talk: ConversationState) -> Rescored:
            async with slots:
                talk = talk.whole
                earlier = before.get((talk.key, self.question(talk, identity)))
                rescored = await self._judge(
                    judge,
                    identity,
                    talk,
                    author,
                    judging,
                    by_given=given is not None,
                    earlier=earlier,
                )
                kept.take(rescored)
                # The overlay gets them, and thousands would take more memory than all else.
                return replace(rescored, verdict=None, score=None)

        try:
            rescored = list(await asyncio.gather(*map(one, owed)))
        finally:
            kept.write()
            await judge.aclose()
        return rescored

    async def _examine(self, judge: Judge, author: str, judging: str) -> events.JudgeExamined:
        """Return the judge's exam, by the criteria of this judging."""
        jobs = [(case.name if case else "", self._judging_job(case)) for case in self._cases]
        hosts, folder = ",".join(self.hosts), self._settings.data_dir / exam.FOLDER
        asked = exam.choose_exam(
            jobs, self._started.conditions, judge.identity, hosts, self._prompt()
        )
        fields = await exam.hold_exam(asked, judge, self._makers.judge_s, UNLIMITED, folder)
        return events.JudgeExamined(
            run_id=self.run_id,
            seq=0,
            at=datetime.now(UTC),
            author=author,
            judging=judging,
            **fields,
        )

    def _interrupted(
        self,
        state: RunState,
        every: list[ConversationState],
        judge: str,
        given: events.CriteriaGiven | None,
    ) -> tuple[str, list[ConversationState]]:
        """Return the last judging, if it asked the same and was interrupted, and the conversations
        that it lacks.

        Otherwise an empty id and `every` conversation: a judging that is complete is repeated as a
        whole.
        """
        overlay = read_overlay(self.path, as_written=True)
        later = list(chain.from_iterable(judgings(state, overlay).values()))
        last = max(later, key=lambda each: each.verdict.seq, default=None)
        if last is None or not last.verdict.judging:
            return "", every
        same_judging = [each for each in later if each.verdict.judging == last.verdict.judging]
        verdicts = {each.key: each.verdict for each in same_judging}
        asked = {talk.key: self.question(talk, judge) for talk in every if talk.key in verdicts}
        if any(verdicts[key].question != question for key, question in asked.items()):
            return "", every
        owed = [talk for talk in every if talk.key not in verdicts or verdicts[talk.key].error]
        criteria = given.criteria if given is not None else ""
        if not owed or last.criteria != criteria:
            return "", every
        return last.verdict.judging, owed

    def _criteria_given(self, author: str) -> events.CriteriaGiven | None:
        """Return by which criteria is judged; None if they are the recorded ones."""
        keys = self._kept_keys
        if self._given is None or (
            not self._checks_again
            and all(
                _published_criteria(self._judging_job(case), keys)
                == _published_criteria(self._recorded(case), keys)
                for case in self._cases
            )
        ):
            return None
        job = _published_criteria(self.job, keys)
        cases = [
            JobCase(name=case.name, persona=case.persona, user=case.user, parts=parts)
            for case in self._cases
            if case is not None
            and (parts := _published_criteria(self._judging_job(case), keys)) != job
        ]
        return events.CriteriaGiven(
            run_id=self.run_id,
            seq=0,
            at=datetime.now(UTC),
            author=author,
            judging="",
            job_name=self._given.name,
            job=job,
            cases=tuple(cases),
        )

    async def _judge(
        self,
        judge: Judge,
        identity: str,
        talk: ConversationState,
        author: str,
        judging: str,
        *,
        by_given: bool,
        earlier: events.TranscriptScored | None,
    ) -> Rescored:
        """Judge one conversation, or keep the `earlier` verdict, and check its assertions again.

        Args:
            judge: who is asked.
            identity: the judge's name, as recorded.
            talk: the conversation.
            author: the person who has it judged.
            judging: the id of this judging, which every verdict of it has.
            by_given: whether the criteria are those of a given job, and not the recorded ones.
            earlier: the verdict on the same question, if there is one.
        """
        where = self._where(talk, author)
        asked: dict[str, Any] = {
            "prompts": self._prompt(),
            "question": self.question(talk, identity),
            "judging": judging,
            "by_given": by_given,
        }
        # First, because a score has them, whatever the judge says.
        checks = await self._check(talk, where)

        def scored(verdict: events.TranscriptScored) -> Rescored:
            score = self._score(talk, verdict, author, checks)
            return Rescored(talk.key, verdict, score, checks=checks)

        if not self.job_of(talk).judged_in(talk.key.condition):
            # A verdict on nothing: a conversation without one would count as still to be judged.
            return scored(events.TranscriptScored(**where, **asked, judge=identity))
        if earlier is not None:
            # What it cost was counted when it was given.
            kept = {"kept": True, "tokens_in": None, "tokens_out": None}
            return scored(earlier.model_copy(update={**where, **asked, **kept}))
        with counting(UNLIMITED) as used:
            judged = await judge_transcript(
                judge, self.view_of(talk), self._makers.judge_s, self._held(talk)
            )
        fields = {**judged.fields, "judge": add_served(judged.fields["judge"], used.served)}
        warnings = tuple(message for _, message in judged.warnings)
        verdict = events.TranscriptScored(**where, **fields, **asked)
        if judged.tasks is not None:
            return replace(scored(verdict), warnings=warnings)
        # With the recorded criteria, the earlier verdict stands. With changed criteria there is no
        # verdict yet, and a judge that gives none is at fault. One that could not be reached says
        # nothing about the conversation.
        if by_given and judged.fault != "infrastructure":
            score = self._score(talk, verdict, author, checks, judged.fault)
            return Rescored(talk.key, verdict, score, judged.error, warnings, checks)
        return Rescored(talk.key, error=judged.error, warnings=warnings)

    async def _check(
        self, talk: ConversationState, where: Mapping[str, Any]
    ) -> tuple[CheckedAgain, ...]:
        """Return the outcomes of the given job's assertions; empty if those are the recorded
        ones.
        """
        if not self._checks_again:
            return ()
        held, job = self._held_job(talk), self.job_of(talk)
        # An expression may take a while on a large state; the event loop must not.
        return tuple(
            await asyncio.to_thread(check_again, job, held, talk, self._started.model, where)
        )

    def question(self, talk: ConversationState, judge: str) -> str:
        """Return the hash of what this judge is asked about a conversation."""
        condition = talk.key.condition
        return _known(
            self._questions,
            (self._place(talk), condition, judge),
            lambda: question_hash(
                job_snapshot(self.job_of(talk)), condition, self._prompt(), judge
            ),
        )

    def job_of(self, talk: ConversationState) -> EvaluationJob:
        """Return the job that a conversation is judged by: with its case's own tasks and facts,
        where it has some.
        """
        if talk.case is None:
            return self.job
        return _known(self._jobs, self._place(talk), lambda: self._judging_job(talk.case))

    def _held_job(self, talk: ConversationState) -> EvaluationJob:
        """Return the job that a conversation was held with."""
        return _known(self._held_jobs, self._place(talk), lambda: self._recorded(talk.case))

    def _place(self, talk: ConversationState) -> object:
        """Return what conversations with the same job have in common."""
        if talk.case is None:
            return None
        if self._started.cases:
            return talk.case.key
        return talk.key  # the cases of an imported file may have the same name

    def _held(self, talk: ConversationState) -> Held:
        ended = talk.ended.reason if talk.ended is not None else "unknown"
        if self._started.source is not None:
            return Held(None, ended)
        return Held(self._held_job(talk), ended)

    def view_of(self, talk: ConversationState) -> JudgeView:
        """Return a conversation as a judge sees it."""
        before = talk.start.object_context if talk.start is not None else None
        after = talk.observations[-1].object_context if talk.observations else None
        messages = sent_messages(talk, self.job.evaluator.signoff)
        return judge_view(
            self.job_of(talk), talk.key.condition, messages, before, after, talk.persona_facts
        )

    def make_judge(self) -> Judge:
        """Return the judge, to be closed by the caller.

        Raises:
            UsageError: it cannot be made.
        """
        return self._makers.judge()

    def judgeable(self) -> list[ConversationState]:
        """Return the conversations that count as a result and have answers to judge."""
        return self._judgeable(state_as_written(self.path)[0])

    def _judgeable(self, state: RunState) -> list[ConversationState]:
        """Return the conversations that can be judged, and in which something is, or was, judged or
        checked.
        """
        return [
            talk
            for talk in state.conversations.values()
            if (talk.is_result and self._checks_again)
            or (
                talk.can_be_judged
                and (talk.verdict is not None or self.job_of(talk).judged_in(talk.key.condition))
            )
        ]

    def _latest_verdicts(self, state: RunState) -> _Verdicts:
        """Return the latest verdict on each question, if assertions alone may be others; empty if
        the judge is asked again.
        """
        if not (self._checks_again and self._may_keep):
            return {}
        later = judgings(state, read_overlay(self.path, as_written=True))
        found: _Verdicts = {}
        for key, talk in state.conversations.items():
            again = (judging.verdict for judging in later.get(key, ()))
            for verdict in (*filter(None, (talk.verdict,)), *again):
                if verdict.question and not verdict.error:
                    found[key, verdict.question] = verdict
        return found

    def _asks_judge(self, talks: Sequence[ConversationState], before: _Verdicts) -> bool:
        """Return whether a judge is needed: not for assertions alone, nor where it would be asked
        what it was asked before.
        """
        identity = self._makers.judge_identity()
        return not talks or any(
            self.job_of(talk).judged_in(talk.key.condition)
            and not (identity and (talk.key, self.question(talk, identity)) in before)
            for talk in talks
        )

    def _prompt(self) -> dict[str, str]:
        """Return the hash of the judge's prompt, by name; none where rules judge."""
        if self.job.scorer.kind != "llm":
            return {}
        name = self.job.scorer.prompt
        return {name: self._makers.prompt_hashes()[name]}

    def _score(
        self,
        talk: ConversationState,
        verdict: events.TranscriptScored,
        author: str,
        checked: Sequence[CheckedAgain],
        judges_fault: events.Fault = "judge",
    ) -> events.ConversationScored:
        """Return the composite with the new task part, and the new part of assertions that were
        checked again.

        Timing and failures are as recorded.
        """
        assert talk.score is not None
        count = len(self.job_of(talk).judged_in(talk.key.condition))
        new = composite.judged_part(
            verdict.tasks if not verdict.error else None, count, verdict.error or ""
        )
        new = counts_elsewhere(new, self.job_of(talk))
        parts = [new if part.name == "task" else part for part in talk.score.parts]
        checks = list(talk.final_checks.values())
        if self._checks_again:
            checks = [one.check for one in checked]
            part = counts_elsewhere(_assertion_part(checks), self.job_of(talk))
            parts = [*(each for each in parts if each.name != "assertion"), part]
        whole = composite.compose(parts, talk.score.failures)
        unchecked = [
            check.fault for check in checks if check.status == "not_measured" and check.weight
        ]
        fault: events.Fault = "none"
        if whole.score is None:
            if verdict.error:
                unchecked.insert(0, judges_fault)
            fault = blame_for_score(unchecked, verdict.tasks)
        return events.ConversationScored(
            **self._where(talk, author),
            score=whole.score,
            parts=whole.parts,
            penalty=whole.penalty,
            failures=talk.score.failures,
            average_latency_ms=talk.score.average_latency_ms,
            reason=whole.reason,
            fault=fault,
        )

    def _where(self, talk: ConversationState, author: str) -> Mapping[str, Any]:
        return {
            "run_id": self.run_id,
            "seq": 0,
            "at": datetime.now(UTC),
            "condition": talk.key.condition,
            "trial": talk.key.trial,
            "attempt": talk.attempt,
            "author": author,
        }


class _Kept:
    """Writes verdicts to the overlay as they come, with the first what stands before them."""

    def __init__(
        self, path: Path, after: int, first: Sequence[events.RunEvent], *, is_new: bool
    ) -> None:
        self._overlay = NumberedOverlay(path, after=after)
        self._first = first
        self._held_back: list[Rescored] = []
        """Without a verdict that could be used; if no other conversation gets one, the judge says
        nothing of any.
        """
        self._waiting: list[Rescored] = []
        self._written = 0 if is_new else 1  # an interrupted judging has some

    def take(self, rescored: Rescored) -> None:
        """Keep one verdict; several are written at once, since each writing waits for the disk."""
        if rescored.verdict is None:
            return
        if rescored.error:
            self._held_back.append(rescored)
        else:
            self._waiting.append(rescored)
        if len(self._waiting) >= max(KEPT_FROM, self._written / 10):
            self.write()

    def write(self) -> None:
        """Write what was not written yet."""
        ready = self._waiting
        if self._waiting or self._written:
            ready = [*self._waiting, *self._held_back]
            self._held_back = []
        judged = list(chain.from_iterable(map(_events, ready)))
        if judged:
            self._overlay.append([*self._first, *judged])
            self._first, self._waiting = (), []
            self._written += len(ready)


def _known(known: dict[object, Value], place: object, make: Callable[[], Value]) -> Value:
    """Return what is made for a place; the last ones are made once."""
    if place not in known:
        if len(known) >= MOST_JOBS:
            known.clear()
        known[place] = make()
    return known[place]


def _events(one: Rescored) -> Iterator[events.RunEvent]:
    """Yield what the overlay gets of a conversation: verdict, assertions, score, in this order."""
    if one.verdict is not None:
        yield one.verdict
        yield from (each.check for each in one.checks)
    if one.score is not None:
        yield one.score


def _assertion_part(checks: Sequence[events.AssertionChecked]) -> events.ScorePart:
    unmeasured = [check for check in checks if check.status == "not_measured" and check.weight]
    reason = next((check.error or "" for check in unmeasured), "")
    return composite.assertion_part(
        [(check.weight, PASSED[check.status]) for check in checks], reason
    )


def _own_cases(state: RunState, started: events.RunStarted) -> list[Case | None]:
    """Return the cases that have tasks of their own; None for the one job of a run without such."""
    cases = [Case(name=case.name, persona=case.persona, user=case.user) for case in started.cases]
    imported = (talk.case for talk in state.conversations.values() if talk.case is not None)
    return [*(cases or [case for case in imported if case.tasks])] or [None]


def _published_criteria(job: EvaluationJob, keys: Sequence[str]) -> dict[str, Any]:
    """Return what a job says about how its conversations are judged and checked, under these
    published keys.
    """
    snapshot = job_snapshot(job)
    return {key: snapshot[key] for key in keys}


def _final_assertions(job: EvaluationJob) -> list[dict[str, Any]]:
    """Return a job's assertions, without whether they are checked after each turn, too: only the
    end is checked again.
    """
    return [
        {key: value for key, value in each.items() if key != "timeline"}
        for each in job_snapshot(job)["assertions"]
    ]


def _other_tasks(held: Sequence[JobTask], given: Sequence[JobTask]) -> Iterator[str]:
    """Yield how each task of a given job differs from those that a conversation was held with."""
    for number, (one, other) in enumerate(zip_longest(held, given), start=1):
        if other is None:
            yield f"task {number} (“{_words(one)}”) is missing"
        elif one is None:
            yield f"task {number} (“{_words(other)}”) was not asked for"
        elif one.task != other.task:
            yield f"task {number} is “{_words(other)}” instead of “{_words(one)}”"
        elif one.only != other.only:
            yield f"task {number} (“{_words(one)}”) {_counts(other)} instead of {_counts(one)}"
        elif one.type != other.type:
            yield f"task {number} (“{_words(one)}”) is a {other.type} instead of a {one.type}"


def _words(task: JobTask) -> str:
    return shorten(clean_line(task.task), 80)


def _counts(task: JobTask) -> str:
    if task.only:
        return f"counts in {task.only} only"
    return "counts in all conditions"


def _require_own_prompt(path: Path, name: str) -> None:
    """Refuse to look for an imported run's prompt in a folder that its recording names."""
    try:
        find_prompt(name, None)
    except UsageError:
        raise UsageError(
            f"{path.stem} came from elsewhere, and its judge's prompt `{clean_line(name, 100)}` is"
            " not one of this program's; give your copy of its job with --job FILE, the prompt"
            " beside it"
        ) from None


def _set_judge(job: EvaluationJob, models: tuple[str, ...], rules: bool) -> EvaluationJob:
    if models and rules:
        raise UsageError("give --judge-model or --rules, not both")
    kind = job.scorer.kind
    if models:
        kind = "llm"
    if rules:
        kind = "rules"
    if kind == "rules" and not all(task.rules for task in job.judged):
        raise UsageError("the rules judge needs rules for every task of the recorded job")
    return job.model_copy(update={"scorer": job.scorer.model_copy(update={"kind": kind})})
