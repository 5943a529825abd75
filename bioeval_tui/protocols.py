"""What a plug-in imports: what its agent or file format says of itself and is called with, the protocols of `bioeval_tui.evaluation.seams`, their types, and the current `traceparent`."""

from bioeval_tui.agent_protocols import AgentProtocol
from bioeval_tui.evaluation.agents.terms import AgentTerms
from bioeval_tui.evaluation.seams import (
    Agent,
    AssertionView,
    CheckResult,
    Delta,
    Evaluator,
    EvaluatorView,
    Evidence,
    Generation,
    GraphSnapshot,
    Judge,
    JudgeView,
    KnowledgeGraph,
    PeerError,
    Reply,
    Rows,
    TaskVerdict,
    TranscriptMessage,
    Utterance,
    Verdict,
    Violation,
)
from bioeval_tui.evaluation.traces.joined import traceparent
from bioeval_tui.record.importing.formats import ImportFormat
from bioeval_tui.record.names import Condition, Peer, Role
from bioeval_tui.report.formats.registry import Format

__all__ = [
    "Agent", "AgentProtocol", "AgentTerms", "AssertionView", "CheckResult", "Condition", "Delta", "Evaluator", "EvaluatorView", "Evidence",
    "Format", "Generation", "GraphSnapshot", "ImportFormat", "Judge", "JudgeView", "KnowledgeGraph", "Peer", "PeerError", "Reply", "Role",
    "Rows", "TaskVerdict", "TranscriptMessage", "Utterance", "Verdict", "Violation", "traceparent",
]  # fmt: skip
