"""`demo`: the sample agent, evaluated live."""

from __future__ import annotations

import click

from bioeval_tui.cli.run_options import with_options
from bioeval_tui.evaluate.engine.spec import RunRequest, spec_of
from bioeval_tui.sample.paths import DEMO_JOB, sample_jobs
from bioeval_tui.settings import Settings

READING_PACE_S = 0.08
"""The demo's script types at about this pace, a few words at a time, so that a person can follow."""


@click.command(
    epilog="\b\nExamples:\n  bioeval-tui demo\n  bioeval-tui demo --headless --json\n  OPENAI_API_KEY=… bioeval-tui demo --llm"
)
@click.option("--headless", is_flag=True, help="No screen: progress on stderr, the score card on stdout.")
@click.option("--json", "as_json", is_flag=True, help="With --headless: print one JSON object.")
@click.option("--llm", is_flag=True, help="Evaluator and judge are models (needs OPENAI_API_KEY).")
@click.option("--neo4j", is_flag=True, help="Keep the agent's graph in Neo4j (NEO_URI, NEO_PASSWORD).")
@with_options("seed")
def demo(headless: bool, as_json: bool, llm: bool, neo4j: bool, seed: int | None) -> int:
    """Watch it work: the sample agent, evaluated live. Offline, no key, no server to start.

    Without --llm this is a rehearsal: a script plays the user and rules judge the transcript.
    """
    settings = Settings.from_environment()
    request = RunRequest(
        jobs=(sample_jobs() / DEMO_JOB,),
        sample_agent=True,
        mode="llm" if llm else "rehearsal",
        graph="neo4j" if neo4j else "embedded",
        seed=seed,
        typing_delay_s=0.0 if headless or as_json else READING_PACE_S,
    )
    spec = spec_of(request, settings.runs_dir)
    if headless or as_json:
        from bioeval_tui.cli.headless import run_headless  # the screen does not wait for it

        return run_headless(spec, settings, as_json=as_json)
    from bioeval_tui.cli.show_run import show_run  # a run without a screen does not wait for it

    return show_run(spec, settings, leave_running=False)


COMMANDS: list[click.Command] = [demo]
