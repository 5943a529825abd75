"""Screens and reports show the same figures of a trial."""

from __future__ import annotations

from bioeval_tui.report import rows
from bioeval_tui.report.formats.markdown import markdown_report
from bioeval_tui.tui.live import score_card_view
