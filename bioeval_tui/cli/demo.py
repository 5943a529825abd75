"""`demo`: the sample agent, evaluated live, or a recording that comes with the program."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from bioeval_tui.base.errors import ExitCode, UsageError
from bioeval_tui.base.installation import need_local_model
from bioeval_tui.base.settings import Settings
from bioeval_tui.base.streams import is_plain
from bioeval_tui.cli.options import HEADLESS
from bioeval_tui.evaluation.engine.interface import RunRequest, spec_of
from bioeval_tui.record.runs import recording_path
from bioeval_tui.sample.paths import (
    DEMO_JOB,
    GUESSING,
    LOCAL_MODEL_JOB,
    careful_recording,
    sample_jobs,
)

if TYPE_CHECKING:
    from bioeval_tui.tui.demo_app import Pace


@click.command(
    epilog=(
        "\b\nExamples:\n  bioeval-tui demo\n  bioeval-tui demo --pace slow --loop\n  bioeval-tui"
        " demo --show batch\n  bioeval-tui demo --local-model\n  bioeval-tui demo --headless"
        " --json\n  OPENAI_API_KEY=… bioeval-tui demo --llm"
    )
)
@click.option(
    "--show",
    type=click.Choice(["conversation", "batch", "failure"]),
    default="conversation",
    help=(
        "conversation: run one now. batch: recorded, a careful agent beside one that guesses."
        " failure: a recorded run in which the agent fails."
    ),
)
@click.option(
    "--pace",
    type=click.Choice(["slow", "normal", "fast"]),
    default="normal",
    help="How fast it is shown; this does not change what is measured.",
)
@click.option("--loop", is_flag=True, help="Repeat the demo until you quit.")
@HEADLESS
@click.option("--json", "as_json", is_flag=True, help="With --headless: print one JSON object.")
@click.option(
    "--llm", is_flag=True, help="Use models as evaluator and judge (needs OPENAI_API_KEY)."
)
@click.option(
    "--local-model",
    is_flag=True,
    help=(
        "A small language model on this machine is the agent, in place of the sample agent (needs"
        " two more packages)."
    ),
)
@click.option(
    "--neo4j", is_flag=True, help="Use Neo4j for the agent's graph (NEO_URI, NEO_PASSWORD)."
)
def demo(
    headless: bool,
    as_json: bool,
    llm: bool,
    local_model: bool,
    neo4j: bool,
    show: str,
    pace: Pace,
    loop: bool,
) -> int:
    """Watch a live evaluation of the sample agent, offline, without an API key or a server.

    The agent guesses what it is not told; a recorded careful one stands beside it at the end.
    Without --llm this is a rehearsal: a script plays the user, and rules judge the transcript.
    `space` pauses.

    With --local-model the agent is a real language model, SmolLM2-135M, which runs offline on this
    machine. It is fluent and often wrong; assertions find its mistakes in its answers.
    """
    settings = Settings.from_environment()
    if show != "conversation":
        if headless or as_json or llm or local_model or neo4j:
            raise UsageError(
                f"--show {show} plays a recording; it cannot be combined with --headless, --json,"
                " --llm, --local-model or --neo4j"
            )
        from bioeval_tui.cli.show_recorded_demo import (
            show_recorded_demo,  # a headless run does not need it
        )

        return show_recorded_demo(settings, show, pace=pace, loop=loop)
    if local_model:
        need_local_model()
    graph = "none" if local_model else "embedded"
    request = RunRequest(
        jobs=(sample_jobs() / (LOCAL_MODEL_JOB if local_model else DEMO_JOB),),
        models=() if local_model else (GUESSING,),
        sample_agent=not local_model,
        local_model=local_model,
        mode="llm" if llm else "rehearsal",
        graph="neo4j" if neo4j else graph,
    )
    spec = spec_of(request, settings.runs_dir)
    if headless or as_json or is_plain():
        from bioeval_tui.cli.headless import run_headless  # the screen does not need it
        from bioeval_tui.report.formats.console import print_other_run

        code = run_headless(spec, settings, as_json=as_json)
        if code == ExitCode.OK and not as_json and spec.mode == "rehearsal" and not local_model:
            print_other_run(
                recording_path(settings.runs_dir, spec.runs[0].run_id), careful_recording()
            )
        return code
    if llm or neo4j:  # a key or an address may be missing; nothing else of the demo is the user's
        from bioeval_tui.cli.show_run import announce  # it asks for everything that a run loads

        announce(spec, settings)
    from bioeval_tui.cli.show_demo import show_demo  # a headless run does not need it

    return show_demo(spec, settings, pace=pace, loop=loop)
