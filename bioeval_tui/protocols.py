"""What a plug-in imports: the protocols of `bioeval_tui.evaluate.seams`, their types, and the current `traceparent`."""

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
from bioeval_tui.evaluate.traces.registry import traceparent

__all__ = [
    "Agent", "AssertionView", "CheckResult", "Condition", "Delta", "Evaluator", "EvaluatorView", "Evidence",
    "Generation", "GraphSnapshot", "Judge", "JudgeView", "KnowledgeGraph", "Peer", "PeerError", "Reply", "Role",
    "Rows", "TaskVerdict", "TranscriptMessage", "Utterance", "Verdict", "Violation", "traceparent",
]  # fmt: skip
