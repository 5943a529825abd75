"""Names that docs/ tell people to import stay available."""

from __future__ import annotations

import importlib
import re
from importlib.metadata import entry_points
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"

PUBLISHED = {
    "bioeval_tui": ["Results", "evaluate", "evaluate_async", "load_run"],
    "bioeval_tui.compat": ["biomlbench"],
    "bioeval_tui.formats": [
        "LARGEST", "ROLES", "SPEAKERS", "AgentSpan", "Archive", "ArchiveError", "Asked", "Case",
        "ChatRole", "ConditionConfig", "ConversationKey", "ConversationResult",
        "ConversationState", "EndReason", "Fault", "FileLook", "GivenScore", "Header", "InputError",
        "MessageState",
        "Output", "RunResult", "ImportedCall", "ImportedConversation", "ImportedMessage",
        "ImportedPart",
        "calls_of", "chat", "chat_messages",
        "chat_pieces", "compact_json", "grouped", "in_unit", "is_archive", "lines", "members",
        "messages_of", "milliseconds",
        "moment", "object_at", "objects", "open_archive", "paired", "reason_of", "scores_beside",
        "text_of", "to_arrow", "whole_number",
    ],
    "bioeval_tui.grading": [
        "Grader", "GraderPool", "Invalid", "InvalidSubmissionError", "Leaderboard", "NotGraded",
        "NotGradedError", "Outcome",
        "Ranking", "Registry", "Task", "TaskEntry", "TaskReport", "aggregate_reports",
        "calculate_human_performance_metrics",
        "extract_agent_from_submission_path", "grade_csv", "grade_jsonl", "grade_submission",
        "load_leaderboard", "load_reports",
        "medal_places", "prepare_task", "rank", "registry", "validate_submission",
    ],
    "bioeval_tui.grading.metrics": ["METRICS", "Metric"],
    "bioeval_tui.http_agents": [
        "EVENT_STREAM", "LENGTH_LIMIT", "MAX_DEPTH", "MAX_ROUNDS", "MAX_VALUES", "NO_RESULT",
        "TAIL_S", "Connection",
        "DeclaredTools", "StateUrl", "Timeouts", "call_event", "clean", "clean_line", "clean_value",
        "count_of", "drain",
        "excess_of", "host_of_url", "is_stream", "objects", "parse_arguments", "parse_object",
        "received_text", "request_of",
        "result_event", "result_of", "shorten", "size_of", "stream_of", "timeouts_of",
        "words_of_error",
    ],
    "bioeval_tui.plugins": ["installed", "load", "require"],
    "bioeval_tui.protocols": [
        "Agent", "AgentProtocol", "AgentTerms", "AssertionView", "CheckResult", "Delta",
        "Evaluator", "EvaluatorView", "Evidence", "Format", "Generation", "GraphSnapshot",
        "ImportFormat",
        "Judge", "JudgeView", "KnowledgeGraph", "PeerError", "Reply", "Rows", "TaskVerdict",
        "TranscriptMessage", "Utterance",
        "Verdict", "Violation",
    ],
    "bioeval_tui.pytest_plugin": ["bioeval"],
}  # fmt: skip


@pytest.mark.parametrize("module", PUBLISHED)
def test_a_published_name_can_be_imported(module: str) -> None:
    found = importlib.import_module(module)
    assert [name for name in PUBLISHED[module] if not hasattr(found, name)] == []


def test_every_import_in_the_documentation_is_published() -> None:
    texts = [
        path.read_text(encoding="utf-8") for path in [*DOCS.glob("*.md"), DOCS.parent / "README.md"]
    ]
    told = {
        (module, name.strip())
        for text in texts
        for module, names in re.findall(
            r"^from (bioeval_tui[\w.]*) import ([\w, ]+)$", text, flags=re.MULTILINE
        )
        for name in names.split(",")
    }
    assert told, "the docs name some"
    assert [
        (m, n) for m, n in told if n not in PUBLISHED.get(m, []) and f"{m}.{n}" not in PUBLISHED
    ] == []


def test_an_unknown_name_in_grading_is_an_attribute_error() -> None:
    from bioeval_tui import grading

    with pytest.raises(AttributeError, match="no attribute 'grade_everything'"):
        _ = grading.grade_everything


def test_the_pytest_plugin_is_installed_under_its_published_name() -> None:
    assert entry_points(group="pytest11")["bioeval"].value == "bioeval_tui.pytest_plugin"
