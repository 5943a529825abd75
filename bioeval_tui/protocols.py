"""The public name of `bioeval_tui.evaluate.seams`: the protocols that a plug-in implements, and their values."""

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
