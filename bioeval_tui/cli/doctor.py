"""`doctor`: check the installation."""

from __future__ import annotations

import click

from bioeval_tui.errors import ExitCode
from bioeval_tui.evaluation.wiring.doctor import examine
from bioeval_tui.terminal import print_json, say


@click.command(epilog="\b\nExample:\n  bioeval-tui doctor --json")
@click.option("--json", "as_json", is_flag=True, help="Print a list of objects.")
def doctor(as_json: bool) -> int:
    """Check each component, and print the command that installs it if it is missing.

    Exit codes: 0 the demo, grading and the web view work; 3 something that they need is missing or broken.
    """
    findings = examine()
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
