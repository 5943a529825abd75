"""The table of formats. To add one, add a file in this folder and a line here.

`--format`, `--to`, the names of `--output`, the export dialog, docs/reports.md and error messages come from it. A writer
is imported when its format is asked for: HTML needs a template engine, and the others do not.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Literal

from bioeval_tui.errors import UsageError

Content = Literal["run", "runs", "gate", "comparison", "medals", "table"]
"""The kinds of content of a document. Its writer is called as

- run: `(run, asked)`, runs: `(runs, asked)`, gate: `(runs, rules, result)`,
- comparison: `(comparison)`, medals: `(reports, reviews, not_graded)`, table: `(heading, rows)`,

and returns the document, as text or bytes.
"""


TARGET = 0.8
"""The score for which reports say what is missing, unless another is asked for."""


@dataclass(frozen=True, slots=True)
class Asked:
    """The options of a document: its target score, and its output path (None: stdout)."""

    target: float = TARGET
    output: Path | None = None


@dataclass(frozen=True, slots=True)
class Format:
    """One format. `writers` has, for each content that it can hold, `module:function` of this package.

    `name_of` returns a file name for a run, if readers of the format expect certain names.
    """

    name: str
    endings: tuple[str, ...]
    about: str
    writers: Mapping[Content, str]
    name_of: str = ""
    name_note: str = ""
    """`module:function` that returns what is wrong with a user's file name; empty if nothing is."""

    def write(self, content: Content, *given: Any) -> str | bytes:
        """Return the document."""
        made: str | bytes = _function(self.writers[content])(*given)
        return made

    def file_name(self, run: Any) -> str:
        """Return the default file name of a run."""
        return str(_function(self.name_of)(run)) if self.name_of else f"{run.run_id}{self.endings[0]}"

    def note_on(self, output: Path) -> str:
        """Return why readers of the format would not find a file of this name; empty if they would."""
        return str(_function(self.name_note)(output)) if self.name_note else ""


FORMATS = (
    Format("html", (".html", ".htm"), "one self-contained page, to read and print",
           {"runs": "html:write_runs", "medals": "medal_pages:medals_html"}),
    Format("md", (".md",), "Markdown, for pull requests and notes",
           {"runs": "markdown:write_runs", "gate": "markdown:write_gate", "medals": "medal_pages:medals_markdown",
            "table": "tables:table_markdown"}),
    Format("json", (".json",), "all values; `bioeval-tui schema result` prints the schema",
           {"runs": "json_report:write_runs", "gate": "json_report:write_gate",
            "comparison": "json_report:write_comparison", "medals": "medal_pages:medals_json"}),
    Format("csv", (".csv",), "one row per turn, or per graded submission",
           {"runs": "tables:turns_csv", "medals": "medal_pages:medals_csv", "table": "tables:table_csv"}),
    Format("parquet", (".parquet",), "one row per turn, in typed columns",
           {"runs": "parquet:write_runs"}),
    Format("junit", (".xml",), "JUnit XML, for CI",
           {"runs": "junit:write_runs", "gate": "junit:write_gate"}),
    Format("atif", (".atif.jsonl",), "one ATIF trajectory per line; a single conversation is one document",
           {"runs": "atif:write_runs"}),
    Format("otlp", (".otlp.jsonl",), "OpenTelemetry traces, one per conversation, as OTLP JSON",
           {"runs": "otlp:write_runs"}),
    Format("openai-jsonl", (".jsonl",), "one conversation per line, in OpenAI's chat format",
           {"runs": "tables:openai_lines"}),
    Format("inspect", (".eval",), "an Inspect log, for `inspect view` and `read_eval_log`",
           {"run": "inspect_log:write_run"}, name_of="inspect_log:file_name", name_note="inspect_log:name_note"),
)  # fmt: skip


def holding(*contents: Content) -> list[Format]:
    """Return the formats that support one of these contents."""
    return [found for found in FORMATS if any(content in found.writers for content in contents)]


def names(*contents: Content) -> list[str]:
    """Return the names of the formats that support one of these contents."""
    return [found.name for found in holding(*contents)]


def format_of(name: str) -> Format:
    """Return the format of that name."""
    return next(found for found in FORMATS if found.name == name)


def choose(output: Path | None, name: str | None, *contents: Content, default: str | None = None) -> Format:
    """Return the format by its name, otherwise by the file's extension.

    Raises:
        UsageError: the extension belongs to no format; the message lists the valid ones.
    """
    if name is not None:
        return format_of(name)
    fitting = holding(*contents)
    if default is not None and (output is None or output.is_dir()):
        return format_of(default)
    found = next((f for f in fitting if output is not None and output.name.lower().endswith(f.endings)), None)
    if found is None:
        *most, last = (f.endings[0] for f in fitting)
        raise UsageError(f"{output}: unknown extension; use {', '.join(most)} or {last}, or give --format")
    return found


def write_runs(found: Format, runs: Any, asked: Asked) -> str | bytes:
    """Return one document of these runs.

    Raises:
        UsageError: the format supports one run, and there are several.
    """
    if "runs" in found.writers:
        return found.write("runs", runs, asked)
    if len(runs) != 1:
        raise UsageError(f"the format {found.name} contains one run; write each run to its own file")
    return found.write("run", runs[0], asked)


def _function(where: str) -> Callable[..., Any]:
    module, _, name = where.partition(":")
    function: Callable[..., Any] = getattr(import_module(f"bioeval_tui.report.formats.{module}"), name)
    return function
