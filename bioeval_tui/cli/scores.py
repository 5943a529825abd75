"""`scores`: rank agents, and compare raters, from a table of scores without conversations."""

from __future__ import annotations

from pathlib import Path

import click

from bioeval_tui.base.consoles import plain_console
from bioeval_tui.base.errors import ExitCode
from bioeval_tui.base.terminal import print_json, say
from bioeval_tui.cli.options import EXISTING_FILE, JSON
from bioeval_tui.record.masking import current, masked
from bioeval_tui.report.formats.scores import print_board
from bioeval_tui.report.scores import ScoreColumns, board, board_dict, read_scores


@click.command(
    epilog=(
        "\b\nExamples:\n  bioeval-tui scores matrix.csv\n  bioeval-tui scores matrix.csv --json\n "
        " bioeval-tui scores ratings.csv --agent model --unit prompt --rater annotator --score"
        " stars"
    )
)
@click.argument("file", type=EXISTING_FILE)
@click.option(
    "--unit",
    default="",
    show_default=False,
    help="The column with what was scored [task, case, item, …].",
)
@click.option(
    "--agent", "agents", multiple=True,
    help="The column with the agents [agent, backend, system, model, …, with condition]. Repeat to"
         " join several.",
)  # fmt: skip
@click.option(
    "--rater",
    default="",
    show_default=False,
    help="The column with the rater of each row [rater, judge, annotator, …].",
)
@click.option(
    "--score", "scores", multiple=True,
    help="The column with the scores [score, rating, label, verdict, …]. Repeat for a column of"
         " each rater or, if no column names the agents, of each agent.",
)  # fmt: skip
@JSON
def scores(
    file: Path,
    unit: str,
    agents: tuple[str, ...],
    rater: str,
    scores: tuple[str, ...],
    as_json: bool,
) -> int:
    """Rank agents, and compare raters, from a table of scores, without conversations. Nothing is
    recorded.

    FILE is CSV with a header, JSON Lines or a JSON list. Each row has a unit (a task, a case), an
    agent, and a score with its rater, or a column of scores for each rater; or it has a column of
    scores for each agent. Scores are numbers, or words such as passed and failed. Prints means with
    intervals clustered by unit, the ranks that each agent may truly have, and Krippendorff's alpha
    of the raters. Exit code 3: there are too few units for ranks.
    """
    found = board(read_scores(file, ScoreColumns(unit, agents, rater, scores)))
    say(masked(found.columns_words), err=True)
    for note in found.notes:
        say(f"note: {masked(note)}", err=True)
    if as_json:
        print_json(current().value(board_dict(found)), indent=2)
    else:
        print_board(found, plain_console())
    if found.has_ranks:
        return ExitCode.OK
    return ExitCode.NOT_MEASURED
