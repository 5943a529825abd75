"""`demo`: the sample agent, evaluated live, or a recording that comes with the program."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from bioeval_tui.cli.run_options import with_options
from bioeval_tui.errors import UsageError
from bioeval_tui.evaluate.engine.spec import RunRequest, spec_of
from bioeval_tui.sample.paths import DEMO_JOB, sample_jobs
from bioeval_tui.settings import Settings

if TYPE_CHECKING:
    from bioeval_tui.evaluate.engine.attach import FollowedRun
    from bioeval_tui.tui.demo_app import Pace


@click.command(
    epilog="\b\nExamples:\n  bioeval-tui demo\n  bioeval-tui demo --pace slow --loop\n  bioeval-tui demo --show batch"
    "\n  bioeval-tui demo --headless --json\n  OPENAI_API_KEY=… bioeval-tui demo --llm"
)
@click.option(
    "--show",
    type=click.Choice(["conversation", "batch", "failure"]),
    default="conversation",
    show_default=True,
    help="conversation: held now. batch: recorded, models compared. failure: recorded, an agent that fails.",
)
@click.option(
    "--pace",
    type=click.Choice(["slow", "normal", "fast"]),
    default="normal",
    show_default=True,
    help="How fast it is shown. What was measured stays what it was.",
)
@click.option("--loop", is_flag=True, help="Begin again at the end, for a booth.")
@click.option("--headless", is_flag=True, help="No screen: progress on stderr, the score card on stdout.")
@click.option("--json", "as_json", is_flag=True, help="With --headless: print one JSON object.")
@click.option("--llm", is_flag=True, help="Evaluator and judge are models (needs OPENAI_API_KEY).")
@click.option("--neo4j", is_flag=True, help="Keep the agent's graph in Neo4j (NEO_URI, NEO_PASSWORD).")
@with_options("seed")
def demo(
    headless: bool, as_json: bool, llm: bool, neo4j: bool, seed: int | None, show: str, pace: Pace, loop: bool
) -> int:
    """Watch it work: the sample agent, evaluated live. Offline, no key, no server to start.

    Without --llm this is a rehearsal: a script plays the user and rules judge the transcript. `space` stops it anywhere.
    """
    settings = Settings.from_environment()
    if show != "conversation":
        if headless or as_json or llm or neo4j or seed is not None:
            raise UsageError(
                f"--show {show} plays a recording: --headless, --json, --llm, --neo4j and --seed are for a run"
            )
        from bioeval_tui.cli.show_demo import (
            show_recorded_demo,  # a run without a screen does not wait for it
        )

        return show_recorded_demo(settings, show, pace=pace, loop=loop)
    request = RunRequest(
        jobs=(sample_jobs() / DEMO_JOB,),
        sample_agent=True,
        mode="llm" if llm else "rehearsal",
        graph="neo4j" if neo4j else "embedded",
        seed=seed,
    )
    spec = spec_of(request, settings.runs_dir)
    if headless or as_json:
        from bioeval_tui.cli.headless import run_headless  # the screen does not wait for it

        return run_headless(spec, settings, as_json=as_json)
    from bioeval_tui.cli.show_run import show_run  # a run without a screen does not wait for it

    def open_demo(source: FollowedRun) -> None:
        from bioeval_tui.cli.show_demo import show_demo  # the engine starts while it loads

        show_demo(spec, settings, source, pace=pace, loop=loop)

    return show_run(spec, settings, leave_running=False, show=open_demo)


COMMANDS: list[click.Command] = [demo]
