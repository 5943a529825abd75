"""What a plug-in imports: what its agent or file format says of itself and is called with, the
protocols of `bioeval_tui.peers.seams`, their types, and the current `traceparent`.
"""

from bioeval_tui.guards import (
    AgentFinding as AgentFinding,
    AgentRule as AgentRule,
    HeldMessage as HeldMessage,
    HeldTalk as HeldTalk,
)
from bioeval_tui.peers.seams import (
    Agent as Agent,
    AgentTerms as AgentTerms,
    AssertionView as AssertionView,
    CheckResult as CheckResult,
    Delta as Delta,
    Evaluator as Evaluator,
    EvaluatorView as EvaluatorView,
    Evidence as Evidence,
    Generation as Generation,
    GraphSnapshot as GraphSnapshot,
    Judge as Judge,
    JudgeView as JudgeView,
    KnowledgeGraph as KnowledgeGraph,
    PeerError as PeerError,
    Reply as Reply,
    Rows as Rows,
    TaskVerdict as TaskVerdict,
    TranscriptMessage as TranscriptMessage,
    Utterance as Utterance,
    Verdict as Verdict,
    Violation as Violation,
)
from bioeval_tui.peers.traces import traceparent as traceparent
from bioeval_tui.plugins import AgentProtocol as AgentProtocol
from bioeval_tui.record.condition_names import Condition as Condition
from bioeval_tui.record.importing.formats import ImportFormat as ImportFormat
from bioeval_tui.record.participants import Peer as Peer, Role as Role
from bioeval_tui.report.formats.registry import Format as Format
