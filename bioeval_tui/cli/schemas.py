"""`schema`: the JSON Schema of job files and of everything that a command prints as JSON.

Each schema is made of the types of the code that prints it; `OUTPUTS` says which.
`tests/integration/test_json_outputs.py` runs the commands and checks what they print.
"""

from __future__ import annotations

import json
import pkgutil
from collections.abc import Sequence
from pathlib import Path
from types import GenericAlias
from typing import Any, Union

import click
from click.shell_completion import CompletionItem
from pydantic import TypeAdapter
from pydantic.alias_generators import to_camel

from bioeval_tui.base.errors import ExitCode, UsageError
from bioeval_tui.base.files import folder_below, folder_file, write_whole
from bioeval_tui.base.printed import describe
from bioeval_tui.base.terminal import print_document, say
from bioeval_tui.base.text import plural
from bioeval_tui.jobs import models
from bioeval_tui.record import conditions

VERSION = 1
"""It rises when a key goes or changes its meaning; new keys do not change it."""
_DIALECT = "https://json-schema.org/draft/2020-12/schema"

_REPORT, _RESULT = "report.formats.json_report:", "report.document:RunDocument"
OUTPUTS: dict[str, tuple[str, ...]] = {
    "agent": ("cli.agent:PrintedAgent",),
    "assert": (),
    "baseline": ("cli.baseline:PrintedBaselines",),
    "check": ("list", "cli.check:PrintedProblem"),
    "demo": (_RESULT,),
    "doctor": ("list", "evaluation.wiring.doctor:ComponentState"),
    "grade": ("cli.grade:PrintedBatch",),
    "grade-sample": ("grade.task_report:TaskReport", "cli.grade:PrintedFailure"),
    "guards": ("guards.checks:PrintedHit", "guards.checks:GuardTotals"),
    "judge-test": ("cli.runs_again:PrintedJudgeTest",),
    "judge-test-dry-run": ("cli.runs_again:PrintedJudgeTestForecast",),
    "ledger-verify": ("grade.ledger:Verified",),
    "medals": (
        "list",
        "grade.task_report:TaskReport",
        "report.formats.medal_pages:PrintedNotGraded",
    ),
    "medals-agents": ("list", "report.agents:PrintedStanding"),
    "plan": ("report.plans:Planned",),
    "report": (_REPORT + "PrintedReport",),
    "result": (_RESULT,),
    "run": ("one or list", _RESULT),
    "run-dry-run": ("list", "evaluation.wiring.estimate:PrintedEstimate"),
    "runs-agreement": ("report.formats.agreement:PrintedAgreement",),
    "runs-compare": ("report.formats.json_comparison:PrintedComparison",),
    "runs-compare-several": ("list", "report.summary:PrintedRanking"),
    "runs-explain": ("report.explanation:PrintedExplanation",),
    "runs-gate": (_REPORT + "PrintedReport",),
    "runs-list": ("list", "cli.runs:PrintedRun"),
    "runs-rescore": ("list", "cli.runs_again:PrintedRescored"),
    "runs-resume": (_RESULT,),
    "runs-show": (_RESULT,),
    "samples": ("cli.installed:PrintedSamples", "cli.installed:PrintedCopies"),
    "scores": ("report.scores:PrintedBoard",),
    "tasks-check": ("list", "grade.batch.pool:CheckedTask"),
    "tasks-list": (
        "list",
        "grade.printing.tasks:PrintedTaskRow",
        "grade.printing.tasks:PrintedBroken",
    ),
    "tasks-prepare": ("list", "cli.tasks:PrintedPrepared"),
    "tasks-show": ("grade.printing.tasks:PrintedDetails",),
    "tasks-split": ("cli.tasks:PrintedSplit",),
    "validate": ("cli.grade:PrintedValidation",),
}
"""What each command prints: one of these types, or a list of them; nothing stands for any value.
`guards` prints one a line.
"""
NAMES = ("job", *OUTPUTS)


def schema_of(name: str) -> dict[str, Any]:
    """Return the schema of job files (`job`), or of what a command prints.

    Raises:
        UsageError: no schema has that name.
    """
    if name == "job":
        job = models.EvaluationJob.model_json_schema(by_alias=True)
        described = describe(describe(job, models, "EvaluationJob", to_camel), conditions, "")
        made = described | {"title": "bioeval-tui job"}
    elif name in OUTPUTS:
        # `check` and `new` do not need it
        document = pkgutil.resolve_name("bioeval_tui.report.document")
        made = describe(
            TypeAdapter(_output_type(OUTPUTS[name])).json_schema(), document, "RunDocument"
        )
    else:
        raise UsageError(f"there is no schema named {name}; there are {', '.join(NAMES)}")
    return {"$schema": _DIALECT, "$id": f"urn:bioeval-tui:schema:{name}:{VERSION}", **made}


def _output_type(output: Sequence[str]) -> Any:
    kinds = [
        pkgutil.resolve_name(f"bioeval_tui.{one}")
        for one in output
        if one not in ("list", "one or list")
    ]
    if not kinds:
        return Any
    one: Any = Union[tuple(kinds)]  # noqa: UP007 (they are known only now)
    several = GenericAlias(list, (one,))
    if output[0] == "list":
        return several
    return Union[one, several] if output[0] == "one or list" else one  # noqa: UP007


def schema_text(name: str) -> str:
    """Return `schema_of` as text."""
    return json.dumps(schema_of(name), indent=2, ensure_ascii=False) + "\n"


def _complete(
    context: click.Context, parameter: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    return [CompletionItem(name) for name in NAMES if name.startswith(incomplete)]


@click.command(
    epilog="\b\nExamples:\n  bioeval-tui schema > job.schema.json\n  bioeval-tui schema runs list"
    "\n  bioeval-tui schema --output-dir schemas"
)
@click.argument("what", nargs=-1, shell_complete=_complete)
@click.option(
    "--output-dir",
    type=click.Path(file_okay=False, path_type=Path),
    help="Write every schema to this folder, as NAME.schema.json.",
)
def schema(what: tuple[str, ...], output_dir: Path | None) -> int:
    """Print the JSON Schema of job files [default], or of what a command prints with --json.

    WHAT is a command, such as `runs list`; `result` is one run's result, `report` what `run --json
    FILE` and `runs report` write.
    """
    if output_dir is None:
        print_document(schema_text("-".join(what) or "job"))
        return ExitCode.OK
    folder = folder_below(output_dir)
    for name in NAMES:
        write_whole(folder_file(folder, f"{name}.schema.json"), schema_text(name))
    say(f"wrote {plural(len(NAMES), 'schema')} to {output_dir}")
    return ExitCode.OK
