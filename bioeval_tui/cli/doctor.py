"""`doctor`: check the installation."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from bioeval_tui.cli.options import JSON_LIST, with_options
from bioeval_tui.errors import ExitCode
from bioeval_tui.evaluation.engine.spec import RunRequest
from bioeval_tui.evaluation.wiring.doctor import connections, examine
from bioeval_tui.sample.paths import find_job
from bioeval_tui.settings import Settings
from bioeval_tui.terminal import print_json, say


@click.command(epilog="\b\nExamples:\n  bioeval-tui doctor --json\n  bioeval-tui doctor job.yml")
@click.argument("job", required=False, type=click.Path(path_type=Path))
@with_options("models", "agent_url", "evaluator_model", "judge_models", "allow_hosts", "code")
@JSON_LIST
def doctor(job: Path | None, as_json: bool, **options: Any) -> int:
    """Check each component, and print the command that installs it if it is missing.

    With JOB, its agent is asked whether it is there, and its model servers whether they serve the job's models.

    Exit codes: 0 everything that is needed works; 3 something is missing or broken.
    """
    settings = Settings.from_environment()
    findings = examine(settings)
    if job is not None:
        asked = RunRequest(
            jobs=(find_job(job),),
            models=options["models"],
            agent_url=options["agent_url"],
            agent_url_is_given=options["agent_url"] is not None,
            evaluator_model=options["evaluator_model"],
            judge_model=options["judge_models"] or None,
            allow_hosts=options["allow_hosts"],
            code=tuple(str(folder.absolute()) for folder in options["code"]),
        )
        findings += [replace(found, part=f"job: {found.part}") for found in connections(asked, settings)]
    if as_json:
        print_json([finding.to_dict() for finding in findings], indent=2)
    else:
        for finding in findings:
            sign = {"works": "✓", "broken": "✗", "absent": "–"}[finding.state]
            say(f"{sign} {finding.part:<18} {finding.said}")
            if finding.to_do:
                say(f"  {'':<18} → {finding.to_do}")
    return ExitCode.NOT_MEASURED if any(finding.state == "broken" for finding in findings) else ExitCode.OK


COMMANDS: list[click.Command] = [doctor]
