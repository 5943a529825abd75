"""The table of formats.

To add one, add a file in this folder and a line here; those of other systems are plug-ins.

`--format`, `--to`, the names of `--output`, the export dialog, docs/reports.md and error messages
come from it. A writer is imported when its format is asked for: HTML needs a template engine, and
the others do not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, Literal

from bioeval_tui import plugins
from bioeval_tui.base.errors import UsageError
from bioeval_tui.base.terminal import Document

Content = Literal["run", "runs", "gate", "comparison", "medals"]
"""The kinds of content of a document. Its writer is called as

- run: `(run, asked)`, runs: `(runs, asked)`, gate: `(runs, rules, result)`,
- comparison: `(comparison)`, medals: `(reports, reviews, not_graded, options)`, where
  `options` tell a command for a shell where the tasks are,

and returns the document: text, bytes, or an iterator of text, each piece of whole lines.
"""
_RUNS = frozenset({"run", "runs"})

TARGET = 0.8
"""The score for which reports say what is missing, unless another is asked for."""


@dataclass(frozen=True, slots=True)
class Asked:
    """The options of a document: its target score, its output path (None: stdout), and the trials
    whose conversations a page shows (empty: all, or the worst of a large run).
    """

    target: float = TARGET
    output: Path | None = None
    trials: Sequence[range] = ()


Function = str | Callable[..., Any]


@dataclass(frozen=True, slots=True)
class Format:
    """One format: a line of the table below, or the entry point of a plug-in, which holds runs
    only.

    `writers` has a function for each content that it can hold; as `module:function` it is imported
    only when it is called. `name_of` returns a file name for a run, if readers of the format expect
    certain names. `place` orders lists.
    """

    name: str
    endings: tuple[str, ...]
    about: str
    writers: Mapping[Content, Function]
    name_of: Function = ""
    name_note: Function = ""
    """Returns what is wrong with a user's file name; empty if nothing is."""
    place: int = 100

    def __post_init__(self) -> None:
        """Raise `ValueError` unless it has an extension, and a function that writes runs.

        A text in the place of the tuple would be taken for extensions of one character.
        """
        has_ending = isinstance(self.endings, tuple) and bool(self.endings)
        if not has_ending or not _RUNS & self.writers.keys():
            raise ValueError(
                f"the format {self.name} has no tuple of extensions, or no function that writes"
                " runs"
            )

    def write(self, content: Content, *given: Any) -> Document:
        """Return the document, or its pieces, which are made when they are asked for.

        Raises:
            UsageError: another package's plug-in failed.
        """
        made: Document = self._call(self.writers[content], (str, bytes, Iterator), *given)
        return self._blamed(made) if isinstance(made, Iterator) else made

    def _blamed(self, pieces: Iterator[str]) -> Iterator[str]:
        # What a plug-in of another package raises comes only now.
        with plugins.blamed("formats", self.name):
            for piece in pieces:
                if not isinstance(piece, str):
                    raise TypeError(f"it yielded a value of the type {type(piece).__name__}")
                yield piece

    def file_name(self, run: Any) -> str:
        """Return the default file name of a run."""
        if self.name_of:
            return str(self._call(self.name_of, str, run))
        return f"{run.run_id}{self.endings[0]}"

    def name_warning(self, output: Path) -> str:
        """Return why readers of the format would not find a file of this name; empty if they
        would.
        """
        if self.name_note:
            return str(self._call(self.name_note, str, output))
        return ""

    def _call(self, function: Function, returns: Any, *given: Any) -> Any:
        made = plugins.call("formats", self.name, function, *given)
        if not isinstance(made, returns):
            raise UsageError(
                f"the format plug-in {self.name} failed: it returned a value of the type"
                f" {type(made).__name__}"
            )
        return made


_HERE = "bioeval_tui.report.formats."
FORMATS = (
    Format("html", (".html", ".htm"), "one self-contained page, to read and print",
           {"runs": _HERE + "html:write_runs", "medals": _HERE + "medal_pages:medals_html"},
           place=1),
    Format("md", (".md",), "Markdown, for pull requests and notes",
           {"runs": _HERE + "markdown:write_runs", "gate": _HERE + "markdown:write_gate",
            "medals": _HERE + "medal_pages:medals_markdown"}, place=2),
    Format("json", (".json",), "all values; `bioeval-tui schema report` prints the schema",
           {"runs": _HERE + "json_report:write_runs", "gate": _HERE + "json_report:write_gate",
            "comparison": _HERE + "json_comparison:write_comparison",
            "medals": _HERE + "medal_pages:medals_json"}, place=3),
    Format("csv", (".csv",), "one row per turn, or per graded submission",
           {"runs": "bioeval_tui.report.frames:turns_csv",
               "medals": _HERE + "medal_pages:medals_csv"}, place=4),
    Format("parquet", (".parquet",), "one row per turn, in typed columns",
           {"runs": "bioeval_tui.report.frames:turns_parquet"}, place=5),
    Format("junit", (".xml",), "JUnit XML, for CI",
           {"runs": _HERE + "junit:write_runs", "gate": _HERE + "junit:write_gate"}, place=6),
    Format("openai-jsonl", (".jsonl",), "one conversation per line, in OpenAI's chat format",
           {"runs": "bioeval_tui.report.frames:openai_lines"}, place=9),
)  # fmt: skip


def known(*contents: Content) -> list[Format]:
    """Return this program's formats of one of these contents, and the bundled ones if they are
    runs.
    """
    formats = (
        plugins.sorted_descriptions(Format, "formats", FORMATS)
        if _RUNS.intersection(contents)
        else FORMATS
    )
    return [one for one in formats if one.writers.keys() & set(contents)]


def names(*contents: Content) -> list[str]:
    """Return the names of the formats that support one of these contents; other packages' are for
    runs.
    """
    others = plugins.other_plugins("formats") if _RUNS.intersection(contents) else ()
    return [*(each.name for each in known(*contents)), *(each.name for each in others)]


def named_format(name: str) -> Format:
    """Return the format of that name.

    Raises:
        UsageError: there is none, or it is a plug-in that cannot be used.
    """
    return plugins.find(Format, "formats", FORMATS, name)


def choose(
    output: Path | None, name: str | None, *contents: Content, default: str | None = None
) -> Format:
    """Return the format by its name, otherwise by the file's extension: other packages' are tried
    last.

    Raises:
        UsageError: the extension belongs to no format; the message lists the valid ones.
    """
    if name is not None:
        return named_format(name)
    fitting = known(*contents)
    if default is not None and (output is None or output.is_dir()):
        return named_format(default)
    tried: Iterable[Format] = fitting
    if _RUNS.intersection(contents):
        tried = chain(fitting, plugins.usable(Format, "formats"))
    chosen = next(
        (f for f in tried if output is not None and output.name.lower().endswith(f.endings)), None
    )
    if chosen is None:
        *most, last = (f.endings[0] for f in fitting)
        raise UsageError(
            f"{output}: unknown extension; use {', '.join(most)} or {last}, or give --format"
        )
    return chosen


def write_runs(format_: Format, runs: Any, asked: Asked) -> Document:
    """Return one document of these runs.

    Raises:
        UsageError: the format supports one run, and there are several.
    """
    if "runs" in format_.writers:
        return format_.write("runs", runs, asked)
    if len(runs) != 1:
        raise UsageError(
            f"the format {format_.name} contains one run; write each run to its own file"
        )
    return format_.write("run", runs[0], asked)
