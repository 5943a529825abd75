"""`runs resume` and `rescore`, and `judge-test`: run what is missing, judge and check transcripts
again, and ask a judge again after changes that should not matter, and about what is known.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path
from typing import Annotated, Any

import click
from rich.console import Console
from typing_extensions import TypedDict

from bioeval_tui.base.consoles import plain_console
from bioeval_tui.base.errors import ExitCode, UsageError
from bioeval_tui.base.printed import Fields
from bioeval_tui.base.settings import Settings
from bioeval_tui.base.streams import has_screen
from bioeval_tui.base.terminal import print_json, say
from bioeval_tui.base.text import plural
from bioeval_tui.cli.options import EXISTING_FILE, HEADLESS, JOB_FILE, JSON, add_job_file
from bioeval_tui.cli.recorded_runs import complete_run, find_run
from bioeval_tui.cli.run_options import with_options
from bioeval_tui.evaluation.conversation.call_counts import Calls, total_calls
from bioeval_tui.evaluation.conversation.sentinels import sentinel_contents
from bioeval_tui.evaluation.engine.attach import sender_name
from bioeval_tui.evaluation.wiring.endpoints import sent_to_words
from bioeval_tui.evaluation.wiring.judge_tests import (
    CHANGES,
    CONTROLLED,
    CONTROLS,
    ONE_AT_A_TIME,
    JudgeAsked,
    JudgeChange,
    JudgeTester,
    draw,
    in_other_words,
)
from bioeval_tui.evaluation.wiring.rescore import Rescored, Rescorer
from bioeval_tui.evaluation.wiring.resuming import rerun_offer, resume_spec
from bioeval_tui.record.catalogue import find_recordings
from bioeval_tui.record.condition_names import Condition, published_title
from bioeval_tui.record.events import CheckStatus, SentinelsJudged
from bioeval_tui.record.masking import current, masked
from bioeval_tui.record.run_options import kinds
from bioeval_tui.record.state import ConversationState
from bioeval_tui.report.agreement import RatedTask, change, rated_tasks
from bioeval_tui.report.findings import JudgeFault
from bioeval_tui.report.formats.agreement import (
    PrintedChange,
    PrintedReworded,
    change_dict,
    change_words,
    print_reactions,
    print_reworded,
    print_sentinels,
    print_stability,
)
from bioeval_tui.report.formats.console import print_judged_again
from bioeval_tui.report.judge_checks import (
    Reaction,
    SentinelCheck,
    Stability,
    judge_reactions,
    sentinel_checks,
    sentinel_scores,
    stability_by_change,
)
from bioeval_tui.report.result import RunResult, load_run
from bioeval_tui.report.reviews import PrintedJudging, judged_again_dicts


class _ResumeCommand(click.Command):
    """Explains why an option of `run` cannot be given to a run that is resumed."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the arguments.

        Raises:
            click.UsageError: an option is unknown, or decided when a run starts.
        """
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as refused:
            name = refused.option_name
            if name == "--scheduler":
                raise click.UsageError(
                    "--scheduler: a run is resumed on this machine, since only a new run is given"
                    " out to a cluster; leave it out, or start the job again with `bioeval-tui run"
                    " JOB --scheduler URL`",
                    ctx,
                ) from None
            if name in {kind.option.flag for kind in kinds()}:
                raise click.UsageError(
                    f"{name} is decided when a run starts: a resumed run keeps it"
                    " recorded; leave it out, or start the job again with `bioeval-tui run JOB"
                    f" {name}`",
                    ctx,
                ) from None
            raise


@click.command(
    cls=_ResumeCommand,
    epilog=(
        "\b\nExamples:\n  bioeval-tui runs resume 7f3a\n  bioeval-tui runs resume 7f3a --headless"
        " --rerun"
    ),
)
@click.argument("run_id", metavar="RUN", shell_complete=complete_run)
@with_options("agent_url", "allow_hosts", "submissions", "code")
@add_job_file("The job file [as recorded]. Required for an imported run.")
@click.option(
    "--force", is_flag=True, help="Resume with the job as recorded, even if its file has changed."
)
@click.option(
    "--rerun",
    is_flag=True,
    help=(
        "Add a trial for each one in which a conversation does not count, whoever's fault it is;"
        " results say so, and keep those."
    ),
)
@with_options("max_calls", "max_cost", "unrestricted_setups")
@HEADLESS
@click.option("--json", "as_json", is_flag=True, help="Headless: print one JSON object.")
def resume(run_id: str, headless: bool, as_json: bool, **options: Any) -> int:
    """Resume an interrupted or stopped run: run only the missing conversations.

    Finished conversations are not repeated; where some could not be measured, the command that
    makes up for them is shown. RUN is a run's id, or its beginning or end.
    """
    settings, path = find_run(run_id)
    spec = resume_spec(path, **options)
    if spec is None:
        complete = (
            f"{path.stem}: already complete; show it with `bioeval-tui runs show {path.stem}`"
        )
        say(rerun_offer(path) or complete, err=True)
        return ExitCode.OK
    if headless or as_json or not has_screen():
        from bioeval_tui.cli.headless import run_headless  # the screen does not need it

        return run_headless(spec, settings, as_json=as_json)
    from bioeval_tui.cli.show_run import announce, show_run  # a headless run does not need it

    announce(spec, settings)
    return show_run(spec, settings)


class PrintedAssertionChanged(TypedDict):
    """An assertion with another outcome than the recorded one; null where one of the jobs does not
    have it.
    """

    condition: Condition
    trial: int
    title: str
    old: CheckStatus | None
    new: CheckStatus | None
    why: str
    job: str


class PrintedRescored(TypedDict):
    """A run that was judged again: its scores now, every verdict, the assertions whose outcome
    changed, and the change of the agreement with people.
    """

    # A `CataloguedRun` only knows whether a run was judged again; `judged_again` here are the
    # verdicts.

    run_id: str
    scores: dict[str, float | None]
    score: float | None
    judged_again: list[PrintedJudging]
    changed_assertions: list[PrintedAssertionChanged]
    agreement: PrintedChange | None


@click.command(
    epilog=(
        "\b\nExamples:\n  bioeval-tui runs rescore 7f3a --judge-model gpt-4.1\n  bioeval-tui runs"
        " rescore 7f3a 91c2 --rules\n  bioeval-tui runs rescore 7f3a --job changed.yml"
    )
)
@click.argument("run_ids", metavar="RUN...", nargs=-1, required=True, shell_complete=complete_run)
@click.option(
    "--judge-model", "judge_model", multiple=True,
    help="The judge's model [the job's judge]. Repeat for a panel.",
)  # fmt: skip
@click.option(
    "--allow-host", "allow_hosts", metavar="HOST", multiple=True,
    help="Allow the recorded job to send transcripts and its key to this host. Repeatable.",
)  # fmt: skip
@click.option("--rules", is_flag=True, help="Use the job's rules judge.")
@JOB_FILE
@with_options("cases_file")
@click.option(
    "--json", "as_json", is_flag=True, help="Print a list of objects with old and new scores."
)
def rescore(run_ids: tuple[str, ...], as_json: bool, **judge: Any) -> int:
    """Judge recorded transcripts again, without calling the agent. The recording does not change.

    With --job, the criteria, rubric, assertions and judge are those of a changed job; tasks and
    facts stay those of the conversations. Its assertions are checked again on the recorded state,
    transcript and tool calls, and each changed verdict is listed, old and new. One on the graph or
    a file keeps its verdict if it asks the same, and is not measured otherwise. A judge that would
    be asked the same as before is not asked then. The new verdicts count only once every
    conversation has one. After an interruption, run the same command again to continue. If people
    reviewed the scores, also prints whether the new verdicts agree better with them. Exit code 3:
    something could not be judged or checked.
    """
    runs = list({run[1]: run for run in map(find_run, run_ids)}.values())
    rescorers = [Rescorer(path, settings, **judge) for settings, path in runs]
    _say_hosts(rescorers)
    told = [rescorer.judge_sees for rescorer in rescorers]
    told += [current().text(rescorer.judge_family) for rescorer in rescorers]
    for sentence in dict.fromkeys(filter(None, told)):
        say(sentence, err=True)
    printed: list[PrintedRescored] = []
    rated: list[RatedTask] = []
    code = ExitCode.OK
    for rescorer in rescorers:
        for note in rescorer.notes:
            say(f"note: {current().text(note)}", err=True)
        judged = asyncio.run(rescorer.judge_again(sender_name()))
        if rescorer.already_judged:
            before = plural(rescorer.already_judged, "conversation")
            say(f"{rescorer.run_id}: {before} had been judged before it was interrupted", err=True)
        for item in judged:
            for warning in (*item.warnings, *([item.error] if item.error else [])):
                say(
                    f"{rescorer.run_id}, {published_title(item.key.condition)},"
                    f" trial {item.key.trial}: {current().text(warning)}",
                    err=True,
                )
        if not judged:
            say(f"{rescorer.run_id}: has no conversation that can be judged", err=True)
        for words in dict.fromkeys(_unchecked(judged)):
            say(f"{rescorer.run_id}: {current().text(words)}", err=True)
        if not judged or any(item.error or item.is_unmeasured for item in judged):
            code = ExitCode.NOT_MEASURED
        judged.clear()  # the run has them, too, and thousands need not be in memory twice
        run = load_run(rescorer.path)
        own, _ = rated_tasks([run])
        if as_json:
            closer = change_dict(change(own))
            shown = judged_again_dicts(run.judged_again)
            printed.append(
                {
                    "run_id": rescorer.run_id,
                    "scores": run.scores,
                    "score": run.mean,
                    "judged_again": shown,
                    "changed_assertions": _changed_assertions(run),
                    "agreement": closer,
                }
            )
        else:
            print_judged_again(run, plain_console())
            rated += own
    if as_json:
        print_json(printed, indent=2)
    elif (found_closer := change(rated)) is not None:
        for line in ("", *change_words(found_closer)):
            say(line)
    return code


def _unchecked(judged: Sequence[Rescored]) -> Iterator[str]:
    """Yield which assertion could not be checked again, and why."""
    for item in judged:
        for one in item.checks:
            if one.unchecked:
                yield f"“{one.check.title}” cannot be checked again: {one.unchecked}"


def _changed_assertions(run: RunResult) -> list[PrintedAssertionChanged]:
    changed: list[PrintedAssertionChanged] = []
    for again in run.judged_again.values():
        for one in again.changed_assertions:
            changed.append(
                {
                    "condition": again.key.condition,
                    "trial": again.key.trial,
                    "title": one.title,
                    "old": one.recorded or None,
                    "new": one.given or None,
                    "why": one.why,
                    "job": one.job,
                }
            )
    return changed


def _say_hosts(judges: Sequence[Rescorer]) -> None:
    if hosts := dict.fromkeys(chain.from_iterable(judge.hosts for judge in judges)):
        say(sent_to_words(hosts), err=True)


class PrintedSentinels(TypedDict):
    """What the judge gets wrong about conversations with known verdicts, its scores of them, and a
    hash of each.
    """

    contents: dict[str, str]
    faults: dict[JudgeFault, Annotated[dict[str, Any], Fields(SentinelCheck, accused=bool)]]
    scores: dict[str, float]


class PrintedJudgeTestForecast(TypedDict):
    """How many requests to models a test makes, as `judge-test --dry-run --json` prints it."""

    conversations: int
    calls: int
    """How many there are if nothing is sent twice."""
    most_calls: int
    """The maximum, whatever fails, is refused or has to be asked again."""


class PrintedJudgeTest(TypedDict):
    """What changes do to a judge's verdicts, as `judge-test --json` prints it."""

    conversations: int
    changes: dict[str, Annotated[dict[str, Any], Fields(Stability, accused=bool)]]
    reworded: list[PrintedReworded]
    """The other words of each criterion, with --reworded or --reword."""
    controls: dict[str, Annotated[dict[str, Any], Fields(Reaction, reacts=bool)]]
    sentinels: PrintedSentinels
    errors: list[str]


@click.command(
    "judge-test",
    epilog=(
        "\b\nExamples:\n  bioeval-tui judge-test 7f3a\n  bioeval-tui judge-test 7f3a 91c2"
        " --conversations 60 --judge-model gpt-4.1 --json"
    ),
)
@click.argument("run", metavar="RUN...", nargs=-1, required=True, shell_complete=complete_run)
@click.option(
    "--conversations",
    type=click.IntRange(1),
    default=60,
    help="Number of conversations to sample from all runs.",
)
@click.option("--seed", type=int, default=1, help="Random seed of the sample.")
@with_options("judge_model", "allow_hosts")
@click.option("--rules", is_flag=True, help="Test the job's rules judge.")
@JOB_FILE
@with_options("cases_file")
@click.option(
    "--one-at-a-time",
    is_flag=True,
    help=(
        "Also ask about each criterion in a request of its own: one more request for each criterion"
        " of each conversation."
    ),
)
@click.option(
    "--reworded",
    type=EXISTING_FILE,
    metavar="JOB.yml",
    help=(
        "Also ask by the criteria of this job, which say the same in other words: each conversation"
        " once more."
    ),
)
@click.option(
    "--reword",
    is_flag=True,
    help=(
        "Also let the judge say each criterion in other words (one request for each), and ask by"
        " these: each conversation once more."
    ),
)
@click.option(
    "--dry-run", is_flag=True, help="Print the number of requests to models, and send nothing."
)
@click.option(
    "--fail-on-accused",
    is_flag=True,
    help="Exit with 1 if a change has a significant effect on the judge.",
)
@click.option(
    "--since",
    type=EXISTING_FILE,
    help=(
        "What --json printed earlier: also say how far the judge's scores of the sentinels have"
        " moved since."
    ),
)
@JSON
def judge_test(
    run: tuple[str, ...],
    conversations: int,
    seed: int,
    one_at_a_time: bool,
    reworded: Path | None,
    reword: bool,
    dry_run: bool,
    fail_on_accused: bool,
    since: Path | None,
    as_json: bool,
    **judge: Any,
) -> int:
    """Ask the judge about recorded conversations again, unchanged and after changes that should not
    matter; then about others.

    The changes are other speaker names, reversed tasks, meaningless padding, a polite ending, and
    "this deserves 1.0". For a sound judge, at most 1 % of all tests find an effect by chance. The
    controls, for the first five conversations, are an empty conversation, swapped roles, another
    topic, and an agent that always says "Go away, I don't care."; a judge that does not score them
    clearly lower fails (exit code 1). The sentinels are twelve conversations with known verdicts,
    asked first and last; a judge that is too lenient or too strict about them, drifts, or invents
    quotations fails, too. Nothing is recorded. RUN is a run's id, its beginning or end, or a
    recording file.
    """
    if reworded is not None and reword:
        raise UsageError("give --reworded or --reword, not both")
    settings = Settings.from_environment()
    earlier = _earlier_scores(since) if since else None
    paths = find_recordings(run, settings.runs_dir)
    testers = [JudgeTester(path, settings, **judge) for path in paths]
    for tester in testers:
        if one_at_a_time:
            tester.require_model("--one-at-a-time")
        if reworded is not None or reword:
            tester.require_model("--reword" if reword else "--reworded")
    _say_hosts(testers)
    for sentence in dict.fromkeys(filter(None, (tester.judge_family for tester in testers))):
        say(f"note: {current().text(sentence)}", err=True)
    drawn = list(draw(testers, conversations, seed))
    if not drawn:
        raise UsageError("these runs have no conversation that can be judged")
    test = _JudgeTest(drawn, one_at_a_time=one_at_a_time, rewords=reword)
    if reworded is not None:
        test.take_words(reworded)
    if dry_run:
        _print_forecast(test, as_json=as_json)
        return ExitCode.OK
    say(test.plan_words(), err=True)
    found = test.ask(earlier)
    for error in found.errors:
        say(f"note: {error}", err=True)
    if as_json:
        print_json(found.to_dict(), indent=2)
    else:
        found.print(plain_console())
    return found.exit_code(fail_on_accused=fail_on_accused)


def _print_forecast(test: _JudgeTest, *, as_json: bool) -> None:
    calls = test.calls
    if as_json:
        forecast: PrintedJudgeTestForecast = {
            "conversations": test.conversations,
            "calls": calls.usual,
            "most_calls": calls.most,
        }
        print_json(forecast, indent=2)
        return
    say(f"{plural(test.conversations, 'conversation')}, nothing is sent; {_calls_words(calls)}")


@dataclass(frozen=True, slots=True)
class _TestedJudge:
    """What a test found about the judges."""

    test: _JudgeTest
    stability: dict[str, Stability]
    reactions: dict[str, Reaction]
    checks: list[SentinelCheck]
    sentinel_scores: dict[str, float]
    errors: list[str]

    def to_dict(self) -> PrintedJudgeTest:
        """Return what `--json` prints."""
        stability, reactions = self.stability.items(), self.reactions.items()
        return {
            "conversations": self.test.conversations,
            "changes": {name: {**asdict(one), "accused": one.accused} for name, one in stability},
            "reworded": self.test.printed_words(),
            "controls": {name: {**asdict(one), "reacts": one.reacts} for name, one in reactions},
            "sentinels": {
                "contents": sentinel_contents(),
                "faults": {
                    one.fault: {**asdict(one), "accused": one.accused} for one in self.checks
                },
                "scores": self.sentinel_scores,
            },
            "errors": self.errors,
        }

    def print(self, console: Console) -> None:
        """Print the tables."""
        changes = {change.name: change.about for change in self.test.changes}
        print_stability(self.stability, changes, console)
        print_reworded(self.test.printed_words(), console)
        controls = {control.name: control.about for control in CONTROLS}
        print_reactions(self.reactions, controls, console)
        print_sentinels(self.checks, console)

    def exit_code(self, *, fail_on_accused: bool) -> ExitCode:
        """Return 1 for a judge that is not sound, 3 if that could not be measured."""
        reactions = self.reactions.values()
        if not self.stability or not all(one.is_comparable for one in reactions):
            return ExitCode.NOT_MEASURED
        if not all(one.reacts for one in reactions) or any(one.accused for one in self.checks):
            return ExitCode.BELOW
        if fail_on_accused and any(one.accused for one in self.stability.values()):
            return ExitCode.BELOW
        return ExitCode.OK


class _JudgeTest:
    """What is asked besides controls and sentinels: the changes, with two that have to be asked
    for.
    """

    def __init__(
        self,
        drawn: Sequence[tuple[JudgeTester, list[ConversationState]]],
        *,
        one_at_a_time: bool,
        rewords: bool,
    ) -> None:
        self.changes: tuple[JudgeChange, ...] = CHANGES
        if one_at_a_time:
            self.changes = (*self.changes, ONE_AT_A_TIME)
        self.words: dict[str, str] = {}
        """The criteria in other words."""
        self.rewords = rewords
        """Whether the judge is still to say the criteria in other words."""
        self._drawn = drawn
        self.conversations = sum(len(own) for _, own in drawn)
        self._controlled = min(self.conversations, CONTROLLED)
        """The controls are asked for so many conversations, the first ones."""

    def plan_words(self) -> str:
        """Return what is going to be asked."""
        times = 1 + len(self.changes) + self.rewords
        words = (
            f"{plural(self.conversations, 'conversation')}, each asked up to {times} times, "
            f"and {plural(self._controlled * len(CONTROLS), 'control')}"
        )
        if self._drawn[0][0].job.scorer.kind != "rules":
            words += f"; {len(sentinel_contents())} sentinels, twice"
        calls = self.calls
        if calls.most:
            words += f"; {_calls_words(calls)}"
        return words

    def take_words(self, file: Path) -> None:
        """Take the words of another job file.

        Raises:
            JobError: the file is wrong.
            UsageError: it has other criteria, or no other words.
        """
        for tester, own in self._drawn:
            self.words |= tester.given_words(file, own)
        if not self.words:
            raise UsageError(f"{file}: says no criterion of these runs in other words")
        self.changes = (*self.changes, in_other_words(self.words))

    def ask(self, earlier: Mapping[str, float] | None) -> _TestedJudge:
        """Ask the judges everything, the sentinels before and after all else; `earlier` are their
        scores of the sentinels on another day.
        """
        asked: list[JudgeAsked] = []
        controlled = self._controlled
        first = self._drawn[0][0]
        sentinels = [_sentinels(first, after=False)]
        failures = self._ask_words() if self.rewords else []
        for tester, own in self._drawn:
            asked_again, more = asyncio.run(tester.ask(own, controlled, self.changes))
            controlled -= min(controlled, len(own))
            asked += asked_again
            failures += more
        sentinels.append(_sentinels(first, after=True))
        failures += chain.from_iterable(one.errors for one in sentinels)
        return _TestedJudge(
            self,
            stability_by_change(asked),
            judge_reactions(asked),
            sentinel_checks(sentinels, earlier),
            sentinel_scores(sentinels[0]),
            [current().text(error) for error in failures],
        )

    def _ask_words(self) -> list[str]:
        """Ask the judges for other words; return why some criteria have none."""
        failures: list[str] = []
        for tester, own in self._drawn:
            words, more = asyncio.run(tester.reword(own))
            self.words |= words
            failures += more
        self.rewords = False
        self.changes = (*self.changes, in_other_words(self.words))
        return failures

    def printed_words(self) -> list[PrintedReworded]:
        """Return the criteria with their other words, as this process may show them."""
        words: list[PrintedReworded] = [
            {"criterion": own, "reworded": other} for own, other in self.words.items()
        ]
        return masked(words)

    @property
    def calls(self) -> Calls:
        """How many requests all of it makes, sentinels included."""
        sentinel_calls = self._drawn[0][0].sentinel_calls()
        calls = [sentinel_calls, sentinel_calls]  # before and after all others
        changes = self.changes
        if self.rewords:  # whichever words the judge finds, each criterion has some
            every = chain.from_iterable(tester.criteria(own) for tester, own in self._drawn)
            changes = (*changes, in_other_words({text: text for text in every}))
        controlled = self._controlled
        for tester, own in self._drawn:
            calls.append(tester.calls(own, controlled, changes, rewords=self.rewords))
            controlled -= min(controlled, len(own))
        return total_calls(calls)


def _calls_words(calls: Calls) -> str:
    return f"{plural(calls.usual, 'request')}, at most {calls.most:,} if any has to be repeated"


def _sentinels(tester: JudgeTester, *, after: bool) -> SentinelsJudged:
    fields = asyncio.run(tester.ask_sentinels(after=after))
    return SentinelsJudged(run_id=tester.run_id, seq=0, at=datetime.now(UTC), **fields)


def _earlier_scores(file: Path) -> dict[str, float]:
    """Return the scores of the sentinels in what `--json` printed earlier, of those that still say
    the same.

    Raises:
        UsageError: the file is something else, or all of its sentinels say something else now.
    """
    try:
        printed = json.loads(file.read_text(encoding="utf-8"))["sentinels"]
        scores = {str(name): float(score) for name, score in printed["scores"].items()}
        contents = {str(name): str(digest) for name, digest in printed.get("contents", {}).items()}
    except (ValueError, RecursionError, KeyError, TypeError, AttributeError):
        raise UsageError(
            f"{file}: not what `judge-test --json` prints: no scores of sentinels"
        ) from None
    now = sentinel_contents()
    # Each score is named by its sentinel and the number of its task.
    same = {
        name: score
        for name, score in scores.items()
        if (sentinel := name.rpartition(" ")[0]) in now
        and contents.get(sentinel, now[sentinel]) == now[sentinel]
    }
    if scores and not same:
        raise UsageError(
            f"{file}: its sentinels are not those of this version, so there is nothing to compare"
        )
    if len(same) < len(scores):
        left = plural(len(scores) - len(same), "score")
        say(
            f"note: {left} in {file} of sentinels that say something else now: not compared",
            err=True,
        )
    return same
