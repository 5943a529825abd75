"""The published name of `bioeval_tui.evaluate.seams`: what a plug-in implements, and the values that cross."""

from bioeval_tui.evaluate.seams import (
    Agent,
    AssertionView,
    CheckResult,
    Condition,
    Delta,
    Evaluator,
    EvaluatorView,
    Evidence,
    Generation,
    GraphSnapshot,
    Judge,
    JudgeView,
    KnowledgeGraph,
    Peer,
    PeerError,
    Reply,
    Role,
    Rows,
    TaskVerdict,
    TranscriptMessage,
    Utterance,
    Verdict,
    Violation,
)

__all__ = [
    "Agent", "AssertionView", "CheckResult", "Condition", "Delta", "Evaluator", "EvaluatorView", "Evidence",
    "Generation", "GraphSnapshot", "Judge", "JudgeView", "KnowledgeGraph", "Peer", "PeerError", "Reply", "Role",
    "Rows", "TaskVerdict", "TranscriptMessage", "Utterance", "Verdict", "Violation",
]  # fmt: skip
