"""One self-contained HTML file: no network, no script, light and dark, printable.

Every text is escaped by Jinja's autoescape; no text is ever marked as safe. The Markdown of
messages is written as elements from a fixed list around escaped text, so it cannot make others,
links or attributes. In addition, a strict Content-Security-Policy allows only the file's
stylesheet, by its hash.

The charts are laid out in `html_charts.py`; templates draw them, escaped, as inline SVG.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined

from bioeval_tui import __version__
from bioeval_tui.base import units
from bioeval_tui.base.files import write_numbered
from bioeval_tui.base.text import upper_first
from bioeval_tui.base.units import score_text
from bioeval_tui.languages import language_of
from bioeval_tui.peers.prices import Prices
from bioeval_tui.record import reviews
from bioeval_tui.record.masking import masking
from bioeval_tui.record.participants import SPEAKERS
from bioeval_tui.report import words
from bioeval_tui.report.comparison import pair_comparison
from bioeval_tui.report.explanation import BarPiece, composite_bar
from bioeval_tui.report.formats.html_charts import latency_chart, medal_scale
from bioeval_tui.report.formats.registry import Asked
from bioeval_tui.report.messages import MessageBlock, message_blocks, plain
from bioeval_tui.report.result import RunResult, ShownMessage, load_run, report_title
from bioeval_tui.report.run import ConversationResult, why_not_asked
from bioeval_tui.report.sentences import (
    PARTS,
    concurrency_words,
    counted_words,
    difference_words,
    spread_words,
)
from bioeval_tui.report.shown import shown_trials
from bioeval_tui.report.summary import rankings, summarise_runs


def write_report(paths: Sequence[Path], folder: Path, prices: Prices | None = None) -> Path:
    """Write one HTML report of these recordings, readable only by its owner, to an unused file
    name.

    Without `prices`, the included prices are used.

    Raises:
        RecordingError: a recording cannot be read.
        StorageError: the disk is full, or the folder cannot be written.
    """
    text = write_runs([load_run(path, prices=prices) for path in paths], Asked())
    names = paths[0].stem
    if len(paths) > 1:
        names += f"-and-{len(paths) - 1}-more"
    return write_numbered(folder, f"bioeval-tui-report-{names}", ".html", text)


def write_runs(runs: Sequence[RunResult], asked: Asked) -> str:
    """Return the document for these runs."""
    results, summaries = [replace(run, target=asked.target) for run in runs], summarise_runs(runs)
    comparison = pair_comparison(runs)
    pages = [(run, shown_trials(run, asked.trials)) for run in results]
    return (
        environment()
        .get_template("report.html.jinja")
        .render(
            policy=policy(),
            title=report_title(results),
            program_version=__version__,
            pages=pages,
            summaries=summaries,
            comparison=comparison,
            ranks=[] if comparison else rankings(summaries),
            masked=masking(),
        )
    )


@lru_cache(maxsize=1)
def policy() -> str:
    """Return the Content-Security-Policy: nothing may load or run; only our own stylesheet
    applies.
    """
    style = environment().get_template("report.css").render()
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    return f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"


@lru_cache(maxsize=1)
def environment() -> Environment:
    """Return the environment that renders the templates: it escapes everything, and a missing name
    is an error.
    """
    environment = Environment(
        loader=PackageLoader("bioeval_tui.report.formats", "templates"),
        autoescape=True,
        undefined=StrictUndefined,  # a misspelt name must not become an empty cell of a report
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "number": units.number,
        "reviewed": reviews.words,
        "number3": units.number3,
        "number1": units.number1,
        "score_text": score_text,
        "number_up": units.number_up,
        "signed": units.signed,
        "latency": units.latency,
        "latency_short": units.latency_short,
        "token_words": words.token_words,
        "tokens": words.tokens,
        "cost_words": words.cost_words,
        "why_unknown": words.why_unknown,
        "peer_dollars": words.peer_dollars,
        "duration": units.duration,
        "who": words.who,
        "value": words.value_text,
        "part_name": PARTS.__getitem__,
        "status": words.STATUS.__getitem__,
        "dot": {"passed": "●", "failed": "○", "not_measured": "?"}.__getitem__,
        "sign": words.SIGNS.__getitem__,
        "why_not_asked": why_not_asked,
        "tone": words.dot_tone,
        "final_tone": words.TONES.__getitem__,
        "final_words": words.FINAL.__getitem__,
        "final": words.final,
        "medal_word": words.medal_word,
        "next_words": words.next_words,
        "spread_words": spread_words,
        "counted_words": counted_words,
        "difference_words": difference_words,
        "unproved_words": words.unproved_words,
        "concurrency_words": concurrency_words,
        "standing": words.standing,
        "sure_words": words.sure_words,
        "medal_scale": medal_scale,
        "latency_chart": latency_chart,
        "composite_bar": _composite_bar,
        "pass_words": words.pass_words,
        "upper_first": upper_first,
        "language_code": _language_code,
        "speaker": SPEAKERS.__getitem__,
        "message_blocks": _message_blocks,
        "plain": plain,
    }
    environment.globals["tone_words"] = words.TONE
    environment.globals["words_told"] = words.WORDS_TOLD
    return environment


def _language_code(text: str) -> str:
    """Return what `lang` says of a text; empty if its language is unknown, or that of the page."""
    language = language_of(text)
    known = language is not None and language.code != "en" and not language.code.startswith("und")
    if language is not None and known:
        return language.code
    return ""


def _composite_bar(talk: ConversationResult) -> tuple[BarPiece, ...]:
    return composite_bar(talk.parts, talk.penalty)


def _message_blocks(message: ShownMessage) -> tuple[MessageBlock, ...]:
    return message_blocks(message.text, message.quotations)
