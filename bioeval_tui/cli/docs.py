"""`docs`: the documentation that comes with the program."""

from __future__ import annotations

import difflib
from pathlib import Path

import click

import bioeval_tui
from bioeval_tui.errors import ExitCode, UsageError
from bioeval_tui.streams import has_screen
from bioeval_tui.terminal import say
from bioeval_tui.text import clean_line
from bioeval_tui.tui.docs_app import DocsApp


@click.command(
    "docs",
    epilog="\b\nExamples:\n  bioeval-tui docs\n  bioeval-tui docs scoring\n  bioeval-tui docs grading | less",
)
@click.argument("page", required=False)
@click.option("--list", "as_list", is_flag=True, help="List the pages.")
def docs(page: str | None, as_list: bool) -> int:
    """Read the documentation in the terminal, offline. PAGE is a page's name, such as `scoring`.

    When the output is piped, prints the page's Markdown instead.
    """
    folder = docs_folder()
    names = sorted(path.stem for path in folder.glob("*.md"))
    if as_list:
        for name in names:
            say(name)
        return ExitCode.OK
    name = (page or "index").removesuffix(".md")
    if name not in names:
        near = difflib.get_close_matches(name, names, 1)
        hint = f"did you mean {near[0]}?" if near else "`bioeval-tui docs --list` shows the pages"
        raise UsageError(f"there is no page called {clean_line(name, 80)}; {hint}")
    if has_screen():
        DocsApp(folder, f"{name}.md").run()
    else:
        say((folder / f"{name}.md").read_text(encoding="utf-8").rstrip("\n"))
    return ExitCode.OK


def docs_folder() -> Path:
    """Return the folder of the pages: inside an installed package, or in the checkout."""
    package = Path(bioeval_tui.__file__).parent
    installed = package / "docs"
    return installed if installed.is_dir() else package.parent / "docs"


COMMANDS: list[click.Command] = [docs]
